// Steps of expressions and monotonicity. The step of a floor division by k lies between floor(step / k) and
// ceil(step / k); that of a min or max between the steps of its operands.
#include "steps.h"

#include <algorithm>

#include "linear_ops.h"

namespace calotype::analysis {

using namespace ir;

namespace {

ConstInterval zero() { return const_point(0); }
bool is_zero(ConstInterval s) { return s.min_defined && s.max_defined && s.min == 0 && s.max == 0; }
bool rises(ConstInterval s) { return s.min_defined && s.min >= 0; }
bool falls(ConstInterval s) { return s.max_defined && s.max <= 0; }
ConstInterval minus(ConstInterval a, ConstInterval b) { return const_add(a, const_scale(b, -1)); }

ConstInterval divided(ConstInterval s, int64_t k) {  // k > 0
  ConstInterval r;
  r.min_defined = s.min_defined;
  r.max_defined = s.max_defined;
  if (r.min_defined) r.min = floor_div(s.min, k);
  if (r.max_defined) r.max = -floor_div(-s.max, k);
  return r;
}

/// Of a condition that can only turn true (direction >= 0 everywhere) or only false.
ConstInterval of_condition(ConstInterval direction) {
  if (is_zero(direction)) return zero();
  return {true, true, rises(direction) ? 0 : -1, falls(direction) ? 0 : 1};
}

}  // namespace

ConstInterval Steps::of(const Expr &e) {
  auto it = memo_.find(e.get());
  if (it != memo_.end()) return it->second;
  ConstInterval s = compute(e);
  memo_.emplace(e.get(), s);
  keep_.push_back(e);
  return s;
}

ConstInterval Steps::of_sum(const Expr &e) {
  LinearForm f = linear_form(e);
  ConstInterval s = zero();
  for (auto &[t, c] : f.terms) s = const_add(s, const_scale(of(t), c));
  return s;
}

ConstInterval Steps::compute(const Expr &e) {
  const Type t = e.type();
  switch (e.kind()) {
    case NodeKind::IntImm:
    case NodeKind::UIntImm:
    case NodeKind::FloatImm:
    case NodeKind::StringImm: return zero();
    case NodeKind::Variable: {
      Name n = e.as<Variable>()->name;
      if (const ConstInterval *s = lets_.find(n)) return *s;
      return n == var_ ? const_point(1) : zero();
    }
    case NodeKind::Add:
    case NodeKind::Sub:
      if (is_index(t)) return of_sum(e);
      break;
    case NodeKind::Mul: {
      if (!is_index(t)) break;
      const Mul *op = e.as<Mul>();
      ConstInterval a = of(op->a), b = of(op->b);
      if (is_zero(b)) return const_mul(a, ranges_.of(op->b));
      if (is_zero(a)) return const_mul(b, ranges_.of(op->a));
      break;
    }
    case NodeKind::Div: {
      const Div *op = e.as<Div>();
      ConstInterval a = of(op->a), b = of(op->b);
      if (is_zero(a) && is_zero(b)) return zero();
      if (!is_index(t) || !is_zero(b)) break;
      if (const int64_t *k = as_const_int(op->b)) {
        if (*k == 0) return zero();
        if (*k > 0) return divided(a, *k);
        return *k > INT32_MIN ? const_scale(divided(a, -*k), -1) : ConstInterval();
      }
      ConstInterval k = ranges_.of(op->b);
      if (k.min_defined && k.min > 0) {  // the sign stays, the size does not grow
        return {rises(a), falls(a), 0, 0};
      }
      break;
    }
    case NodeKind::Mod: {
      const Mod *op = e.as<Mod>();
      ConstInterval a = of(op->a), b = of(op->b);
      if (is_zero(a) && is_zero(b)) return zero();
      const int64_t *k = as_const_int(op->b);
      if (!is_index(t) || !k || *k <= 0) break;
      return minus(a, const_scale(divided(a, *k), *k));
    }
    case NodeKind::Min: {
      ConstInterval a = of(e.as<Min>()->a), b = of(e.as<Min>()->b);
      return const_hull(a, b);
    }
    case NodeKind::Max: {
      ConstInterval a = of(e.as<Max>()->a), b = of(e.as<Max>()->b);
      return const_hull(a, b);
    }
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      if (!is_zero(of(op->condition))) break;
      return const_hull(of(op->true_value), of(op->false_value));
    }
    case NodeKind::LT: return of_condition(minus(of(e.as<LT>()->b), of(e.as<LT>()->a)));
    case NodeKind::LE: return of_condition(minus(of(e.as<LE>()->b), of(e.as<LE>()->a)));
    case NodeKind::GT: return of_condition(minus(of(e.as<GT>()->a), of(e.as<GT>()->b)));
    case NodeKind::GE: return of_condition(minus(of(e.as<GE>()->a), of(e.as<GE>()->b)));
    case NodeKind::And: return const_hull(of(e.as<And>()->a), of(e.as<And>()->b));
    case NodeKind::Or: return const_hull(of(e.as<Or>()->a), of(e.as<Or>()->b));
    case NodeKind::Not: return const_scale(of(e.as<Not>()->a), -1);
    case NodeKind::Cast: {
      const Expr &v = e.as<Cast>()->value;
      ConstInterval s = of(v);
      if (is_zero(s)) return s;
      if (!t.is_int_or_uint() || !v.type().is_int_or_uint() || t.is_bool()) break;
      ConstInterval r = ranges_.of(v);
      bool fits = t.can_represent(v.type()) ||
                  (t.bits() < 64 && r.min_defined && r.max_defined && r.min >= t.min_int() &&
                   r.max <= static_cast<int64_t>(t.max_uint()));
      if (fits) return s;
      break;
    }
    case NodeKind::Broadcast: return of(e.as<Broadcast>()->value);
    case NodeKind::Let: {
      const Let *op = e.as<Let>();
      ScopedBinding<ConstInterval> bind(lets_, op->name, of(op->value));
      auto outer = std::move(memo_);
      memo_.clear();
      ConstInterval s = of(op->body);
      memo_ = std::move(outer);
      return s;
    }
    case NodeKind::Call: {
      const Call *op = e.as<Call>();
      if (op->op == Intrinsic::likely || op->op == Intrinsic::likely_if_innermost)
        return of(op->args[0]);
      for (const Expr &a : op->args) {
        if (!is_zero(of(a))) return {};
      }
      return zero();
    }
    default: break;
  }
  // Anything else does not change if nothing in it does.
  return uses_var(e, var_) ? ConstInterval() : lets_.items().empty() ? zero() : ConstInterval();
}

Monotonic monotonic(const Expr &e, Name var) {
  ConstInterval s = Steps(var, nullptr).of(e);
  if (is_zero(s)) return Monotonic::Constant;
  if (rises(s)) return Monotonic::Increasing;
  if (falls(s)) return Monotonic::Decreasing;
  return Monotonic::Unknown;
}

}  // namespace calotype::analysis
