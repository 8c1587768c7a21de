// Type's members that give expressions; base itself cannot make them.
#include "nodes.h"

#include <limits>

namespace calotype {

Expr Type::min() const {
  const Type t = element_of();
  if (is_float()) return ir::make_float(t, -std::numeric_limits<double>::infinity());
  return is_int() ? ir::make_int(t, min_int()) : ir::make_uint(t, 0);
}

Expr Type::max() const {
  const Type t = element_of();
  if (is_float()) return ir::make_float(t, std::numeric_limits<double>::infinity());
  return is_int() ? ir::make_int(t, static_cast<int64_t>(max_uint()))
                  : ir::make_uint(t, max_uint());
}

}  // namespace calotype
