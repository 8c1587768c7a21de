// Hulls and intersections of symbolic intervals, and boxes of them.
#include "interval.h"

#include "../base/diagnostic.h"
#include "../ir/equal.h"

namespace calotype::analysis {

Interval Interval::everything(std::string because) {
  Interval i;
  i.unbounded_because = std::move(because);
  return i;
}

namespace {

/// min or max of two ends that both exist, folding what is plain to see.
Expr least(const Expr &a, const Expr &b) {
  if (a.same_as(b) || ir::equal(a, b)) return a;
  const int64_t *ca = ir::as_const_int(a), *cb = ir::as_const_int(b);
  if (ca && cb) return *ca < *cb ? a : b;
  return ir::make_min(a, b);
}
Expr greatest(const Expr &a, const Expr &b) {
  if (a.same_as(b) || ir::equal(a, b)) return a;
  const int64_t *ca = ir::as_const_int(a), *cb = ir::as_const_int(b);
  if (ca && cb) return *ca > *cb ? a : b;
  return ir::make_max(a, b);
}

}  // namespace

Interval hull(const Interval &a, const Interval &b) {
  if (a.is_point() && b.is_point() && ir::equal(a.min, b.min)) return a;
  Interval r;
  if (a.has_lower() && b.has_lower()) r.min = least(a.min, b.min);
  if (a.has_upper() && b.has_upper()) r.max = greatest(a.max, b.max);
  if (!r.bounded())
    r.unbounded_because = a.unbounded_because.empty() ? b.unbounded_because : a.unbounded_because;
  return r;
}

Interval intersection(const Interval &a, const Interval &b) {
  Interval r;
  r.min = !a.has_lower() ? b.min : !b.has_lower() ? a.min : greatest(a.min, b.min);
  r.max = !a.has_upper() ? b.max : !b.has_upper() ? a.max : least(a.max, b.max);
  if (!r.bounded())
    r.unbounded_because = a.unbounded_because.empty() ? b.unbounded_because : a.unbounded_because;
  return r;
}

void merge(Box &into, const Box &other) {
  if (into.empty()) {
    into = other;
    return;
  }
  CALO_ASSERT(into.size() == other.size() || other.empty());
  for (size_t i = 0; i < other.size(); i++) into[i] = hull(into[i], other[i]);
}

}  // namespace calotype::analysis
