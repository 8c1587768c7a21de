// The proofs behind sliding and folding (see slide_window.h).
//
// Dimension d slides over a suffix of the loops if, for each of them, the window's beginning never decreases as the loop
// advances, and no other dimension's window depends on it: then every slice below the mark that is still needed has been
// computed. Over several loops the walk may step back where an inner loop starts over (blocks that overlap at the edge);
// slices in between must then exist too, so computation starts at the mark. The ring holds the largest window plus the
// largest step back.
#include "slide_window.h"

#include "../analysis/linear.h"
#include "../analysis/simplify.h"

namespace calotype::lower {

using analysis::Interval;
using analysis::Monotonic;
using analysis::simplify;
using namespace ir;

Name mark_name(Name func, Name dim) { return func + "." + dim.str() + ".mark"; }

namespace {
Expr negated(const Expr &e) { return simplify(make_sub(make_int(Int(32), 0), e)); }
Interval mirrored(const Interval &i) { return {negated(i.max), negated(i.min), {}}; }
}  // namespace

Expr Slide::first(const Expr &min) const {
  Expr last = make_load(Int(32), mark, make_int(Int(32), 0));
  Expr next = make_add(last, make_int(Int(32), 1));
  if (from_mark)
    return make_select(make_eq(last, make_int(Int(32), kNoMark)), min,
                       make_max(next, make_min(min, next)));
  return make_max(min, next);
}

Interval Slide::rest(const Interval &range) const {
  if (!down) return {first(range.min), range.max, {}};
  Expr zero = make_int(Int(32), 0);
  return {range.min, make_sub(zero, first(make_sub(zero, range.max))), {}};
}

Expr Slide::advanced(const Expr &min, const Expr &max) const {
  Expr old = make_load(Int(32), mark, make_int(Int(32), 0));
  return make_max(old, down ? make_sub(make_int(Int(32), 0), min) : max);
}

namespace {

bool uses(const Interval &i, Name v) { return uses_var(i.min, v) || uses_var(i.max, v); }

// How many of the innermost loops a window in dimension d may slide over upwards.
size_t slidable(const SlideQuestion &q, size_t d, const Interval &window, std::string *why) {
  size_t n = 0;
  for (size_t i = q.loops.size(); i-- > 0;) {
    const SlideQuestion::Loop &l = q.loops[i];
    if (l.kind != ForType::Serial && l.kind != ForType::Unrolled) {
      *why = "loop " + l.name + " is not serial";
      break;
    }
    Monotonic m = analysis::monotonic(window.min, l.name);
    if (m != Monotonic::Constant && m != Monotonic::Increasing) {
      *why = "the window in " + q.func->args[d] + " is not proved to advance with " + l.name;
      break;
    }
    std::string other;
    for (size_t e = 0; e < q.region.size(); e++) {
      if (e != d && uses(q.region[e], l.name)) other = q.func->args[e];
    }
    if (!other.empty()) {
      *why = "the window moves in " + other + " too with " + l.name;
      break;
    }
    n++;
  }
  return n;
}

Expr last_of(const SlideQuestion::Loop &l) {
  return simplify(make_sub(make_add(l.min, l.extent), make_int(Int(32), 1)));
}

// e at the last iteration of all loops inside loop i, and at the first one of its next iteration.
Expr at_end(const SlideQuestion &q, size_t i, Expr e) {
  for (size_t j = q.loops.size(); j-- > i + 1;)
    e = substitute(q.loops[j].name, last_of(q.loops[j]), e);
  return e;
}
Expr at_next(const SlideQuestion &q, size_t i, Expr e) {
  for (size_t j = q.loops.size(); j-- > i + 1;) e = substitute(q.loops[j].name, q.loops[j].min, e);
  return substitute(q.loops[i].name, make_add(make_var(q.loops[i].name), make_int(Int(32), 1)), e);
}

Scope<Interval> scope_of(const SlideQuestion &q) {
  Scope<Interval> scope;
  for (const SlideQuestion::Loop &l : q.loops) scope.push(l.name, {l.min, last_of(l), {}});
  return scope;
}

// The dimension and direction in which the window slides over most loops.
Interval choose_walk(const SlideQuestion &q, Slide &s) {
  std::string why = "its region does not move with the loops";
  size_t best = 0;
  Interval window;
  for (size_t d = 0; d < q.region.size(); d++) {
    std::string reason;
    for (bool down : {false, true}) {
      std::string no;
      const Interval w = down ? mirrored(q.region[d]) : q.region[d];
      size_t n = slidable(q, d, w, &no);
      if (!down || reason.empty()) reason = no;
      bool moves = false;
      for (size_t i = q.loops.size() - n; i < q.loops.size(); i++)
        moves |= uses(w, q.loops[i].name);
      if (n <= best || !moves) continue;
      best = n;
      s.dim = static_cast<int>(d);
      s.down = down;
      window = w;
    }
    if (s.dim < 0 && !reason.empty()) why = reason;
  }
  if (s.dim < 0) {
    s.report = "does not slide: " + why;
    return window;
  }
  s.mark = mark_name(q.func->name, q.func->args[s.dim]);
  s.first_loop = q.loops.size() - best;
  s.report = "slides over " + q.func->args[s.dim] + (s.down ? " downwards" : "") + " in " +
             q.loops[s.first_loop].name;
  return window;
}

// How many slices of the dimension it slides over must exist at once; 0 and the reason if that is not known.
int64_t ring_of_walk(const SlideQuestion &q, const Interval &window, Slide &s, std::string *why) {
  const Scope<Interval> scope = scope_of(q);
  const Name dim = q.func->args[s.dim];
  int64_t step_back = 0;
  bool bounded_step = true, gapless = true;
  for (size_t i = s.first_loop; i + 1 < q.loops.size(); i++) {
    Expr back = simplify(make_sub(at_end(q, i, window.min), at_next(q, i, window.min)));
    int64_t b;
    if (analysis::constant_upper_bound(back, scope, &b)) {
      step_back = std::max(step_back, b);
    } else {
      bounded_step = false;
    }
    s.from_mark |= !bounded_step || b > 0;
  }
  if (s.from_mark) {  // a gap between windows would be filled by more slices than the ring holds
    for (size_t i = s.first_loop; i < q.loops.size(); i++) {
      Expr gap = simplify(make_sub(at_next(q, i, window.min), at_end(q, i, window.max)));
      int64_t g;
      gapless &= analysis::constant_upper_bound(gap, scope, &g) && g <= 1;
    }
  }
  bool rises = true;
  for (size_t i = s.first_loop; i < q.loops.size(); i++) {
    Monotonic m = analysis::monotonic(window.max, q.loops[i].name);
    rises &= m == Monotonic::Constant || m == Monotonic::Increasing;
  }
  int64_t size;
  if (!is_const_zero(q.rounding_slack[s.dim])) {
    *why = "a rounding tail in " + dim + " writes past the window";
  } else if (!rises || !bounded_step || !gapless) {
    *why = "the walk along " + dim + " is not proved to be steady";
  } else if (!analysis::constant_upper_bound(
                 simplify(make_add(make_sub(window.max, window.min), make_int(Int(32), 1))), scope,
                 &size)) {
    *why = "the window in " + dim + " has no constant bound";
  } else {
    return std::max<int64_t>(size + std::max<int64_t>(step_back, 0), 1);
  }
  return 0;
}

// From one iteration to the next of all loops that it slides over.
int64_t step_of_walk(const SlideQuestion &q, const Interval &window, const Slide &s) {
  const Scope<Interval> scope = scope_of(q);
  int64_t most = 0;
  for (size_t i = s.first_loop; i < q.loops.size(); i++) {
    const Expr step = simplify(make_sub(at_next(q, i, window.max), at_end(q, i, window.max)));
    int64_t n;
    if (!analysis::constant_upper_bound(step, scope, &n)) return 0;
    most = std::max(most, n);
  }
  return most;
}

// The same for a dimension over which nothing slides: all of it is computed anew.
int64_t ring_of_extent(const SlideQuestion &q, size_t d, std::string *why) {
  int64_t size = 0;
  const Interval &i = q.stored[d];
  Expr extent = simplify(make_add(make_sub(i.max, i.min), make_int(Int(32), 1)));
  if (!is_const_zero(q.rounding_slack[d])) {
    *why = "a rounding tail in " + q.func->args[d] + " writes past the window";
  } else if (!analysis::constant_upper_bound(extent, scope_of(q), &size)) {
    *why = "what is needed at once in " + q.func->args[d] + " has no constant bound";
  } else {
    return std::max<int64_t>(size, 1);
  }
  return 0;
}

}  // namespace

Slide plan_slide(const SlideQuestion &q) {
  Slide s;
  s.needs.resize(q.region.size());
  s.no_ring.resize(q.region.size());
  Interval window;
  if (q.func->has_updates()) {
    s.report = "does not slide: it has update definitions";
  } else if (q.loops.empty()) {
    s.report = "does not slide: no loop between storage and computation";
  } else {
    window = choose_walk(q, s);
  }
  for (size_t d = 0; d < q.region.size(); d++) {
    s.needs[d] = static_cast<int>(d) == s.dim ? ring_of_walk(q, window, s, &s.no_ring[d])
                                              : ring_of_extent(q, d, &s.no_ring[d]);
  }
  if (s.dim < 0) return s;
  s.step = step_of_walk(q, window, s);
  const Name dim = q.func->args[s.dim];
  const int64_t need = s.needs[s.dim];
  if (dim == q.innermost_storage) {
    s.fold_report = "not folded: " + dim + " is the dense dimension";
  } else if (need == 0) {
    s.fold_report = "not folded: " + s.no_ring[s.dim];
  } else {
    s.fold_factor = 1;
    while (s.fold_factor < need) s.fold_factor *= 2;
    s.fold_report = "folds " + dim + " to " + std::to_string(s.fold_factor);
  }
  return s;
}

}  // namespace calotype::lower
