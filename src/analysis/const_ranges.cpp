// Constant ranges of integer expressions, from types, literals and known ranges of variables. Ends that would overflow
// 64 bits are dropped, which only widens.
#include "const_ranges.h"

#include <algorithm>

#include "linear_ops.h"

namespace calotype::analysis {

using namespace ir;

ConstInterval const_hull(ConstInterval a, ConstInterval b) {
  ConstInterval r;
  r.min_defined = a.min_defined && b.min_defined;
  r.max_defined = a.max_defined && b.max_defined;
  if (r.min_defined) r.min = std::min(a.min, b.min);
  if (r.max_defined) r.max = std::max(a.max, b.max);
  return r;
}

ConstInterval const_intersection(ConstInterval a, ConstInterval b) {
  ConstInterval r = a;
  if (b.min_defined && (!a.min_defined || b.min > a.min)) r.min_defined = true, r.min = b.min;
  if (b.max_defined && (!a.max_defined || b.max < a.max)) r.max_defined = true, r.max = b.max;
  return r;
}

ConstInterval const_add(ConstInterval a, ConstInterval b) {
  ConstInterval r;
  r.min_defined = a.min_defined && b.min_defined && !add_overflows(a.min, b.min, &r.min);
  r.max_defined = a.max_defined && b.max_defined && !add_overflows(a.max, b.max, &r.max);
  return r;
}

ConstInterval const_scale(ConstInterval a, int64_t k) {
  if (k == 0) return const_point(0);
  ConstInterval r;
  if (k < 0) {
    std::swap(a.min, a.max);
    std::swap(a.min_defined, a.max_defined);
  }
  r.min_defined = a.min_defined && !mul_overflows(a.min, k, &r.min);
  r.max_defined = a.max_defined && !mul_overflows(a.max, k, &r.max);
  return r;
}

ConstInterval const_mul(ConstInterval a, ConstInterval b) {
  if (a.min_defined && a.max_defined && a.min == a.max) return const_scale(b, a.min);
  if (b.min_defined && b.max_defined && b.min == b.max) return const_scale(a, b.min);
  if (a.min_defined && a.max_defined && b.min_defined && b.max_defined) {
    int64_t p[4];
    if (!mul_overflows(a.min, b.min, &p[0]) && !mul_overflows(a.min, b.max, &p[1]) &&
        !mul_overflows(a.max, b.min, &p[2]) && !mul_overflows(a.max, b.max, &p[3])) {
      return {true, true, *std::min_element(p, p + 4), *std::max_element(p, p + 4)};
    }
    return {};
  }
  ConstInterval r;
  if (a.min_defined && b.min_defined && a.min >= 0 && b.min >= 0) {
    r.min_defined = !mul_overflows(a.min, b.min, &r.min);
  }
  if (a.max_defined && b.max_defined && a.max <= 0 && b.max <= 0) {
    r.min_defined = !mul_overflows(a.max, b.max, &r.min);
  }
  // Opposite signs: at most the product of the ends next to zero.
  if (a.max_defined && b.min_defined && a.max <= 0 && b.min >= 0)
    r.max_defined = !mul_overflows(a.max, b.min, &r.max);
  if (b.max_defined && a.min_defined && b.max <= 0 && a.min >= 0)
    r.max_defined = !mul_overflows(b.max, a.min, &r.max);
  return r;
}

ConstInterval const_range_of(Type t) {
  if (!t.is_int_or_uint() || is_index(t)) return {};
  if (t.bits() == 64) return {true, false, 0, 0};
  return {true, true, t.min_int(), static_cast<int64_t>(t.max_uint())};
}

namespace {

bool is_point(ConstInterval a) { return a.min_defined && a.max_defined && a.min == a.max; }
bool is_finite(ConstInterval a) { return a.min_defined && a.max_defined; }

ConstInterval div_ranges(ConstInterval a, ConstInterval b) {
  if (is_point(b) && b.min != 0) {
    ConstInterval r;
    if (b.min < 0) {
      std::swap(a.min, a.max);
      std::swap(a.min_defined, a.max_defined);
    }
    // Exact for b < 0 too: the rounding error of the Euclidean quotient never reverses the order.
    r.min_defined = a.min_defined && !(b.min == -1 && a.min == INT64_MIN);
    r.max_defined = a.max_defined && !(b.min == -1 && a.max == INT64_MIN);
    if (r.min_defined) r.min = floor_div(a.min, b.min);
    if (r.max_defined) r.max = floor_div(a.max, b.min);
    return r;
  }
  if (b.min_defined && b.min > 0) {
    ConstInterval r;
    // Towards zero as the divisor grows: the extremes are at b.min, or at 0 / -1 far out.
    if (a.min_defined) {
      r.min_defined = true;
      r.min = a.min >= 0 ? (b.max_defined ? floor_div(a.min, b.max) : 0) : floor_div(a.min, b.min);
    }
    if (a.max_defined) {
      r.max_defined = true;
      r.max = a.max >= 0 ? floor_div(a.max, b.min) : (b.max_defined ? floor_div(a.max, b.max) : -1);
    }
    return r;
  }
  // |quotient| <= |a| for every other divisor, and x / 0 = 0; rounding can add one for negative a.
  if (is_finite(a) && a.min > -(int64_t(1) << 62) && a.max < (int64_t(1) << 62)) {
    int64_t m = std::max({a.max, -a.min, int64_t(0)});
    return {true, true, -m, m};
  }
  return {};
}

ConstInterval mod_ranges(ConstInterval a, ConstInterval b) {
  ConstInterval r{true, false, 0, 0};
  if (is_finite(b) && b.min > INT64_MIN) {
    int64_t m = std::max(b.max, -b.min);
    r.max_defined = true;
    r.max = std::max<int64_t>(m - 1, 0);
  }
  if (a.min_defined && a.min >= 0 && a.max_defined && (!r.max_defined || a.max < r.max)) {
    r.max_defined = true;
    r.max = a.max;
  }
  if (a.min_defined && a.min >= 0 && a.max_defined && b.min_defined && a.max < b.min) r.min = a.min;
  return r;
}

ConstInterval min_ranges(ConstInterval a, ConstInterval b) {
  ConstInterval r;
  r.min_defined = a.min_defined && b.min_defined;
  if (r.min_defined) r.min = std::min(a.min, b.min);
  r.max_defined = a.max_defined || b.max_defined;
  r.max = a.max_defined && b.max_defined ? std::min(a.max, b.max) : a.max_defined ? a.max : b.max;
  return r;
}
ConstInterval negate(ConstInterval a) { return const_scale(a, -1); }
ConstInterval max_ranges(ConstInterval a, ConstInterval b) {
  return negate(min_ranges(negate(a), negate(b)));
}

/// The range, if `t` holds all of it; else what the type says.
ConstInterval fit(ConstInterval a, Type t) {
  if (is_index(t)) return a;
  ConstInterval all = const_range_of(t);
  if (!a.min_defined || a.min < all.min) return all;
  if (all.max_defined && (!a.max_defined || a.max > all.max)) return all;
  return a;
}

ConstInterval boolean(bool known, bool value) {
  return known ? const_point(value) : ConstInterval{true, true, 0, 1};
}

}  // namespace

ConstInterval ConstRanges::of(const LinearForm &f) {
  ConstInterval r = const_point(f.constant);
  for (auto &[e, c] : f.terms) {
    r = const_add(r, const_scale(of(e), c));
    if (!r.min_defined && !r.max_defined) break;
  }
  return r;
}

ConstInterval ConstRanges::of(const Expr &e) {
  if (!e.type().is_int_or_uint()) return {};
  auto it = memo_.find(e.get());
  if (it != memo_.end()) return it->second;
  ConstInterval r = compute(e);
  memo_.emplace(e.get(), r);
  keep_.push_back(e);
  return r;
}

ConstInterval ConstRanges::of_compare(const Expr &e, const Expr &a, const Expr &b) {
  if (!a.type().is_int_or_uint()) return boolean(false, false);
  ConstInterval x = of(a), y = of(b);
  bool less = x.max_defined && y.min_defined && x.max < y.min;
  bool less_equal = x.max_defined && y.min_defined && x.max <= y.min;
  bool greater = x.min_defined && y.max_defined && x.min > y.max;
  bool greater_equal = x.min_defined && y.max_defined && x.min >= y.max;
  switch (e.kind()) {
    case NodeKind::LT: return boolean(less || greater_equal, less);
    case NodeKind::LE: return boolean(less_equal || greater, less_equal);
    case NodeKind::GT: return boolean(greater || less_equal, greater);
    case NodeKind::GE: return boolean(greater_equal || less, greater_equal);
    case NodeKind::EQ:
      return boolean(less || greater || (less_equal && greater_equal), less_equal && greater_equal);
    default: return boolean(less || greater || (less_equal && greater_equal), less || greater);
  }
}

ConstInterval ConstRanges::of_let(const Let *op) {
  ConstInterval value = of(op->value);
  ScopedBinding<ConstInterval> bind(lets_, op->name, value);
  if (seen_.insert(op->name).second) return of(op->body);
  // Another variable of this name was seen: what the memo holds may be about that one.
  auto outer = std::move(memo_);
  memo_.clear();
  ConstInterval r = of(op->body);
  memo_ = std::move(outer);
  return r;
}

ConstInterval ConstRanges::of_call(const Call *op) {
  const Type t = op->type;
  switch (op->op) {
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost:
    case Intrinsic::strict_float: return of(op->args[0]);
    case Intrinsic::promise_clamped:
    case Intrinsic::unsafe_promise_clamped:
      if (op->args.size() < 3) return of(op->args[0]);
      return const_intersection(of(op->args[0]),
                                {of(op->args[1]).min_defined, of(op->args[2]).max_defined,
                                 of(op->args[1]).min, of(op->args[2]).max});
    case Intrinsic::return_second: return of(op->args[1]);
    case Intrinsic::if_then_else:
      return op->args.size() > 2 ? const_hull(of(op->args[1]), of(op->args[2])) : const_range_of(t);
    case Intrinsic::abs: {
      ConstInterval a = of(op->args[0]);
      if (!op->args[0].type().is_int_or_uint() || !is_finite(a) || a.min == INT64_MIN) break;
      int64_t low = a.min > 0 ? a.min : a.max < 0 ? -a.max : 0;
      return fit({true, true, low, std::max(a.max, -a.min)}, t);
    }
    case Intrinsic::bitwise_and: {
      // A non-negative operand bounds the result.
      ConstInterval a = of(op->args[0]), b = of(op->args[1]), r = const_range_of(t);
      for (ConstInterval x : {a, b}) {
        if (x.min_defined && x.min >= 0 && x.max_defined)
          r = const_intersection(r, {true, true, 0, x.max});
      }
      return r;
    }
    case Intrinsic::shift_right: {
      ConstInterval a = of(op->args[0]), b = of(op->args[1]);
      if (is_point(b) && b.min >= 0 && b.min < 62)
        return div_ranges(a, const_point(int64_t(1) << b.min));
      break;
    }
    case Intrinsic::shift_left: {
      ConstInterval a = of(op->args[0]), b = of(op->args[1]);
      if (is_point(b) && b.min >= 0 && b.min < 62 && b.min < t.bits()) {
        return fit(const_scale(a, int64_t(1) << b.min), t);
      }
      break;
    }
    case Intrinsic::popcount:
    case Intrinsic::count_leading_zeros:
    case Intrinsic::count_trailing_zeros: return {true, true, 0, op->args[0].type().bits()};
    default: break;
  }
  return const_range_of(t);
}

ConstInterval ConstRanges::compute(const Expr &e) {
  const Type t = e.type();
  switch (e.kind()) {
    case NodeKind::IntImm: return const_point(e.as<IntImm>()->value);
    case NodeKind::UIntImm: {
      uint64_t v = e.as<UIntImm>()->value;
      if (v <= static_cast<uint64_t>(INT64_MAX)) return const_point(static_cast<int64_t>(v));
      return {true, false, INT64_MAX, 0};
    }
    case NodeKind::Cast: {
      const Expr &v = e.as<Cast>()->value;
      if (!v.type().is_int_or_uint())
        return t.is_bool() ? boolean(false, false) : const_range_of(t);
      ConstInterval a = of(v);
      if (t.is_bool()) {
        bool never = is_point(a) && a.min == 0;
        bool always = (a.min_defined && a.min > 0) || (a.max_defined && a.max < 0);
        return boolean(never || always, always);
      }
      // An index of unknown range may still be cut off by a cast to Int(32).
      if (is_index(t)) {
        if (t.can_represent(v.type())) return a;
        bool fits =
            is_finite(a) && a.min >= t.min_int() && a.max <= static_cast<int64_t>(t.max_uint());
        return fits ? a : ConstInterval();
      }
      return fit(a, t);
    }
    case NodeKind::Variable: {
      Name n = e.as<Variable>()->name;
      seen_.insert(n);
      ConstInterval type_range = const_range_of(t);
      if (const ConstInterval *r = lets_.find(n)) return const_intersection(type_range, *r);
      const ConstInterval *r = scope_ ? scope_->find(n) : nullptr;
      return r ? const_intersection(type_range, *r) : type_range;
    }
    case NodeKind::Add: return fit(const_add(of(e.as<Add>()->a), of(e.as<Add>()->b)), t);
    case NodeKind::Sub: return fit(const_add(of(e.as<Sub>()->a), negate(of(e.as<Sub>()->b))), t);
    case NodeKind::Mul: return fit(const_mul(of(e.as<Mul>()->a), of(e.as<Mul>()->b)), t);
    case NodeKind::Div: return fit(div_ranges(of(e.as<Div>()->a), of(e.as<Div>()->b)), t);
    case NodeKind::Mod: return fit(mod_ranges(of(e.as<Mod>()->a), of(e.as<Mod>()->b)), t);
    case NodeKind::Min: return min_ranges(of(e.as<Min>()->a), of(e.as<Min>()->b));
    case NodeKind::Max: return max_ranges(of(e.as<Max>()->a), of(e.as<Max>()->b));
    case NodeKind::EQ: return of_compare(e, e.as<EQ>()->a, e.as<EQ>()->b);
    case NodeKind::NE: return of_compare(e, e.as<NE>()->a, e.as<NE>()->b);
    case NodeKind::LT: return of_compare(e, e.as<LT>()->a, e.as<LT>()->b);
    case NodeKind::LE: return of_compare(e, e.as<LE>()->a, e.as<LE>()->b);
    case NodeKind::GT: return of_compare(e, e.as<GT>()->a, e.as<GT>()->b);
    case NodeKind::GE: return of_compare(e, e.as<GE>()->a, e.as<GE>()->b);
    case NodeKind::And: return min_ranges(of(e.as<And>()->a), of(e.as<And>()->b));
    case NodeKind::Or: return max_ranges(of(e.as<Or>()->a), of(e.as<Or>()->b));
    case NodeKind::Not: {
      ConstInterval a = of(e.as<Not>()->a);
      return const_add(const_point(1), negate(a));
    }
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      ConstInterval c = of(op->condition);
      if (is_point(c)) return of(c.min ? op->true_value : op->false_value);
      return const_hull(of(op->true_value), of(op->false_value));
    }
    case NodeKind::Broadcast: return of(e.as<Broadcast>()->value);
    case NodeKind::Ramp: {
      const Ramp *op = e.as<Ramp>();
      return fit(const_add(of(op->base), const_mul(of(op->stride), {true, true, 0, op->lanes - 1})),
                 t);
    }
    case NodeKind::Let: return of_let(e.as<Let>());
    case NodeKind::Shuffle: {
      const Shuffle *op = e.as<Shuffle>();
      ConstInterval r = of(op->vectors[0]);
      for (size_t i = 1; i < op->vectors.size(); i++) r = const_hull(r, of(op->vectors[i]));
      return r;
    }
    case NodeKind::VectorReduce: {
      const VectorReduce *op = e.as<VectorReduce>();
      int factor = op->value.type().lanes() / t.lanes();
      if (op->op == ReduceOp::Add) return fit(const_scale(of(op->value), factor), t);
      if (op->op == ReduceOp::Mul || op->op == ReduceOp::SaturatingAdd) return const_range_of(t);
      return of(op->value);
    }
    case NodeKind::Call: return of_call(e.as<Call>());
    default: return const_range_of(t);
  }
}

ConstInterval const_bounds(const Expr &e, const Scope<ConstInterval> &vars) {
  return ConstRanges(&vars).of(e);
}

}  // namespace calotype::analysis
