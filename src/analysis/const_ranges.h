// The walker behind const_bounds, with a memo that callers may keep, and arithmetic on constant intervals.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "bounds.h"
#include "linear.h"

namespace calotype::analysis {

inline ConstInterval const_point(int64_t v) { return {true, true, v, v}; }
ConstInterval const_hull(ConstInterval a, ConstInterval b);
ConstInterval const_intersection(ConstInterval a, ConstInterval b);
ConstInterval const_add(ConstInterval a, ConstInterval b);
ConstInterval const_scale(ConstInterval a, int64_t k);
ConstInterval const_mul(ConstInterval a, ConstInterval b);
/// All values of a type that wraps; nothing known for Int(32) and Int(64), whose limits say nothing of use.
ConstInterval const_range_of(Type t);

/// Constant ranges of expressions under a scope. The memo holds while the scope's entries stay the same.
class ConstRanges {
public:
  explicit ConstRanges(const ir::Scope<ConstInterval> *scope) : scope_(scope) {}
  ConstInterval of(const Expr &e);
  ConstInterval of(const LinearForm &f);

private:
  ConstInterval compute(const Expr &e);
  ConstInterval of_let(const ir::Let *op);
  ConstInterval of_call(const ir::Call *op);
  ConstInterval of_compare(const Expr &e, const Expr &a, const Expr &b);
  const ir::Scope<ConstInterval> *scope_;
  ir::Scope<ConstInterval> lets_;
  std::unordered_map<const ir::IRNode *, ConstInterval> memo_;
  std::unordered_set<ir::Name> seen_;
  std::vector<Expr> keep_;
};

}  // namespace calotype::analysis
