// An update whose iterations meet at one element (ir::Atomic), as lanes of a vector: lanes that write one element are
// reduced to one value first; lanes that may write different ones take their turns.
#pragma once

#include <functional>

#include "passes.h"

namespace calotype::lower {

struct LaneContext {
  const PassContext &cx;
  int lanes;
  Expr mask;  ///< lanes that take part; undefined: all
  std::function<Expr(const Expr &)>
      vector_of;  ///< a scalar expression in all lanes; scalar if they agree
};

/// Undefined where that cannot be done.
ir::Stmt combine_lanes(const ir::Atomic *op, const LaneContext &lanes);

}  // namespace calotype::lower
