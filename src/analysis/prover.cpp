// Lower bounds of linear forms: constant ranges first, then splitting a min, max, select or division in the form, then
// eliminating a term against a known inequality that has it. Every step keeps or lowers the value; a step budget and a
// depth bound the search.
#include <algorithm>
#include <cstdlib>

#include "simplifier.h"

namespace calotype::analysis {

using namespace ir;

namespace {

constexpr int kDepth = 5;

void raise_to(std::optional<int64_t> *best, std::optional<int64_t> candidate) {
  if (candidate && (!*best || *candidate > **best)) *best = candidate;
}
bool reached(const std::optional<int64_t> &best, int64_t enough) { return best && *best >= enough; }

/// f without its i-th term.
LinearForm without(const LinearForm &f, size_t i) {
  LinearForm r = f;
  r.terms.erase(r.terms.begin() + static_cast<long>(i));
  return r;
}

bool small(int64_t x) { return x > -(int64_t(1) << 31) && x < (int64_t(1) << 31); }
bool small(const LinearForm &f) {
  for (auto &t : f.terms) {
    if (!small(t.second)) return false;
  }
  return f.constant > -(int64_t(1) << 60) && f.constant < (int64_t(1) << 60);
}

}  // namespace

std::optional<int64_t> Simplifier::lower(const LinearForm &f, int64_t enough, int steps) {
  return lower_in(f, enough, kDepth, &steps);
}

bool Simplifier::not_negative(const LinearForm &f, int steps) {
  std::optional<int64_t> r = lower(f, 0, steps);
  return r && *r >= 0;
}

// Vectors: the smallest over all lanes. A ramp is linear in the lane, so its first and last lane tell.
std::optional<int64_t> Simplifier::lower_in(LinearForm f, int64_t enough, int depth, int *steps) {
  if (f.terms.empty()) return f.constant;
  if (f.terms[0].first.type().is_scalar()) return lower_scalar(f, enough, depth, steps);
  LinearForm first, last;
  first.constant = last.constant = f.constant;
  bool has_ramp = false;
  for (auto &[e, c] : f.terms) {
    const Broadcast *b = e.as<Broadcast>();
    const Ramp *r = e.as<Ramp>();
    if (b && b->value.type().is_scalar()) {
      first.terms.emplace_back(b->value, c);
      last.terms.emplace_back(b->value, c);
    } else if (r && r->stride.type().is_scalar() && is_const_zero(r->base)) {
      has_ramp = true;
      last = combine(last, 1, scale(form_of(r->stride), r->lanes - 1), c);
    } else {
      ConstInterval range = const_scale(memo_->ranges.of(e), c);
      if (!range.min_defined) return {};
      first.constant = wrap_add(first.constant, range.min);
      last.constant = wrap_add(last.constant, range.min);
    }
  }
  normalise(first);
  normalise(last);
  std::optional<int64_t> a = lower_in(first, enough, depth, steps);
  if (!a || !has_ramp) return a;
  std::optional<int64_t> b = lower_in(last, enough, depth, steps);
  return b ? std::optional<int64_t>(std::min(*a, *b)) : b;
}

std::optional<int64_t> Simplifier::lower_scalar(const LinearForm &f, int64_t enough, int depth,
                                                int *steps) {
  if (--*steps < 0 || !small(f)) return {};
  ConstInterval range = memo_->ranges.of(f);
  std::optional<int64_t> best;
  if (range.min_defined) best = range.min;
  if (reached(best, enough) || f.terms.empty() || depth == 0) return best;
  if (range.max_defined && range.max < enough && enough != INT64_MAX) return best;

  for (size_t i = 0; i < f.terms.size(); i++) {
    const auto &[e, c] = f.terms[i];
    const Expr *x = nullptr, *y = nullptr;
    bool either = false;  // one of the two replacements is enough
    if (const Min *mn = e.as<Min>()) x = &mn->a, y = &mn->b, either = c < 0;
    if (const Max *mx = e.as<Max>()) x = &mx->a, y = &mx->b, either = c > 0;
    if (const Select *sel = e.as<Select>()) x = &sel->true_value, y = &sel->false_value;
    if (const Call *call = e.as<Call>()) {
      if (call->op == Intrinsic::likely || call->op == Intrinsic::likely_if_innermost)
        x = y = &call->args[0];
    }
    if (x) {
      LinearForm rest = without(f, i);
      std::optional<int64_t> a =
          lower_in(combine(rest, 1, form_of(*x), c), enough, depth - (x != y), steps);
      if (either) raise_to(&best, a);
      if (x == y) raise_to(&best, a);
      if (reached(best, enough)) return best;
      if (x == y || (!either && !a)) continue;
      std::optional<int64_t> b =
          lower_in(combine(rest, 1, form_of(*y), c), enough, depth - 1, steps);
      if (either)
        raise_to(&best, b);
      else if (b)
        raise_to(&best, std::min(*a, *b));
      if (reached(best, enough)) return best;
      continue;
    }
    if (const Div *op = e.as<Div>()) {
      const int64_t *k = as_const_int(op->b);
      if (!k || *k <= 1 || !small(*k)) continue;
      // (a - k + 1) / k <= a / k <= a / k, as rationals; all times k.
      LinearForm g = combine(scale(without(f, i), *k), 1, form_of(op->a), c);
      if (c > 0) g.constant = wrap_sub(g.constant, wrap_mul(c, *k - 1));
      int64_t wanted;
      if (mul_overflows(enough, *k, &wanted)) wanted = INT64_MAX;
      std::optional<int64_t> a =
          lower_in(std::move(g), wanted - (wanted != INT64_MAX ? *k - 1 : 0), depth - 1, steps);
      if (a) raise_to(&best, floor_div(wrap_add(*a, *k - 1), *k));  // f is an integer: round up
      if (reached(best, enough)) return best;
    }
  }

  for (size_t i = 0; i < f.terms.size(); i++) {
    const auto &[e, c] = f.terms[i];
    auto it = truths_about_.find(e.get());
    if (it == truths_about_.end()) continue;
    // By index: recursion does not change the lists.
    for (size_t n = it->second.size(); n-- > 0;) {
      const LinearForm &t = truths_[it->second[n]];
      int64_t k = 0;
      for (auto &term : t.terms) {
        if (term.first.same_as(e)) k = term.second;
      }
      if ((k > 0) != (c > 0) || k == 0 || !small(t)) continue;
      // |k| f >= |k| f - |c| t, which lacks the term.
      int64_t g = gcd(k, c), scale_f = std::abs(k) / g, scale_t = std::abs(c) / g;
      int64_t wanted;
      if (mul_overflows(enough, scale_f, &wanted)) wanted = INT64_MAX;
      std::optional<int64_t> a =
          lower_in(combine(f, scale_f, t, -scale_t), wanted, depth - 1, steps);
      if (a) raise_to(&best, floor_div(wrap_add(*a, scale_f - 1), scale_f));
      if (reached(best, enough)) return best;
      if (*steps < 0) return best;
    }
  }
  return best;
}

}  // namespace calotype::analysis
