// By how much an expression changes when one variable grows by one.
#pragma once

#include <unordered_map>

#include "const_ranges.h"

namespace calotype::analysis {

/// Constant ranges of e(var + 1) - e(var), whatever the values of var and all others. Booleans count as 0 and 1.
class Steps {
public:
  /// `ranges`: known constant ranges of variables; may be null.
  Steps(ir::Name var, const ir::Scope<ConstInterval> *ranges) : var_(var), ranges_(ranges) {}
  ConstInterval of(const Expr &e);

private:
  ConstInterval compute(const Expr &e);
  ConstInterval of_sum(const Expr &e);
  ir::Name var_;
  ConstRanges ranges_;
  ir::Scope<ConstInterval> lets_;
  std::unordered_map<const ir::IRNode *, ConstInterval> memo_;
  std::vector<Expr> keep_;
};

}  // namespace calotype::analysis
