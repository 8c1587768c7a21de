// Linear forms of integer expressions: sum of coefficient * term + constant; solving and monotonicity.
#pragma once

#include <vector>

#include "interval.h"

namespace calotype::analysis {

/// constant + sum of coefficient * term. Terms are non-linear or atomic, distinct, in ir::compare order.
struct LinearForm {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;
};
/// Of a scalar or vector Int(32) or Int(64) expression (Int(32) arithmetic is assumed not to overflow).
CALO_EXPORT LinearForm linear_form(const Expr &e);
CALO_EXPORT Expr to_expr(const LinearForm &f, Type t);
/// a - b is this constant, if it provably is one.
CALO_EXPORT bool constant_difference(const Expr &a, const Expr &b, int64_t *difference);

enum class Monotonic {
  Constant,
  Increasing,
  Decreasing,
  Unknown
};  // increasing: never decreases as var grows
CALO_EXPORT Monotonic monotonic(const Expr &e, ir::Name var);

/// The set of `var` for which `condition` (comparisons, and, or, not; affine in var) holds: as an interval that contains
/// it (outer) or is contained in it (inner). Unbounded ends are undefined.
CALO_EXPORT Interval solve_outer(const Expr &condition, ir::Name var);
CALO_EXPORT Interval solve_inner(const Expr &condition, ir::Name var);

}  // namespace calotype::analysis
