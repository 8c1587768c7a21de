// Symbolic intervals and boxes of them. An undefined end is unbounded.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "../ir/visit.h"

namespace calotype::analysis {

/// All x with min <= x <= max (scalar Exprs). Empty intervals cannot be told from others: min > max is possible at run time.
struct Interval {
  Expr min, max;
  std::string
      unbounded_because;  ///< why an end is missing: the sub-expression that lost it, for messages
  static Interval everything(std::string because = {});
  static Interval point(Expr e) { return {e, e, {}}; }
  bool has_lower() const { return min.defined(); }
  bool has_upper() const { return max.defined(); }
  bool bounded() const { return min.defined() && max.defined(); }
  bool is_point() const { return min.defined() && min.same_as(max); }
};
/// The smallest interval that contains both.
CALO_EXPORT Interval hull(const Interval &a, const Interval &b);
CALO_EXPORT Interval intersection(const Interval &a, const Interval &b);

/// A box: one interval per dimension.
using Box = std::vector<Interval>;
CALO_EXPORT void merge(Box &into,
                       const Box &other);  ///< hull per dimension; an empty `into` takes `other`

/// Intervals with constant ends, for quick proofs. Ends saturate; `min_defined` etc tell infinity.
struct ConstInterval {
  bool min_defined = false, max_defined = false;
  int64_t min = 0, max = 0;
};

}  // namespace calotype::analysis
