// Symbolic bounds of scalar and vector expressions.
#include "bounder.h"

#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "linear_ops.h"
#include "simplifier.h"
#include "steps.h"

namespace calotype::analysis {

using namespace ir;

namespace {

constexpr int kMaxChoices = 3;  // nested conditions that narrow; beyond, both sides count in full

/// What to blame in a message: the smallest expression that names the culprit.
std::string blame(const Expr &e) {
  if (const Call *c = e.as<Call>()) {
    if (c->call_type == CallType::Halide || c->call_type == CallType::Image) {
      return "the value of " + c->name.str() + "(...), which may be any " + to_string(e.type());
    }
    return "the result of " + c->name.str() + "(...)";
  }
  if (const Load *l = e.as<Load>()) return "a value loaded from " + l->name.str();
  if (const ir::Variable *v = e.as<ir::Variable>()) return "the variable " + v->name.str();
  if (const Cast *c = e.as<Cast>())
    return "a cast from " + to_string(c->value.type()) + " to " + to_string(e.type());
  return "an operation on " + to_string(e.type()) + " without known bounds";
}

Expr flip(const Expr &e) { return make_sub(make_zero(e.type()), e); }

Interval constant_interval(ConstInterval r, Type t) {
  Interval i;
  if (r.min_defined) i.min = make_int(t, r.min);
  if (r.max_defined) i.max = make_int(t, r.max);
  return i;
}

}  // namespace

Bounder::Bounder(const FuncValues *values) : values_(values) {}
Bounder::~Bounder() = default;

Expr Bounder::tidy(const Expr &e) {
  if (!e.defined()) return e;
  if (!simplifier_) simplifier_ = std::make_unique<Simplifier>(facts_);
  return simplifier_->simplify(e);
}

void Bounder::push(Name n, Interval r) {
  facts_.ranges.push(n, {});
  variables_.push_back({n, std::move(r)});
  exchange(variables_.size() - 1, variables_.back().range);
}

void Bounder::pop() {
  facts_.ranges.pop(variables_.back().name);
  variables_.pop_back();
  changed();
}

Interval Bounder::exchange(size_t index, Interval r) {
  Variable &v = variables_[index];
  ConstInterval c;
  // Ends may use outer variables; their ranges are facts already.
  if (r.has_lower()) {
    ConstInterval low = const_range(r.min);
    c.min_defined = low.min_defined;
    c.min = low.min;
  }
  if (r.has_upper()) {
    ConstInterval high = const_range(r.max);
    c.max_defined = high.max_defined;
    c.max = high.max;
  }
  // A range known to be empty says nothing anyone could rely on.
  if (c.min_defined && c.max_defined && c.min > c.max) c = {};
  *facts_.ranges.find(v.name) = c;
  std::swap(v.range, r);
  changed();
  return r;
}

int Bounder::find(Name n) const {
  for (size_t i = variables_.size(); i-- > 0;) {
    if (variables_[i].name == n) return static_cast<int>(i);
  }
  return -1;
}

void Bounder::changed() {
  simplifier_.reset();
  memo_.clear();
  whole_.clear();
  depends_.clear();
  keep_.clear();
}

// A vector as a function of the lane: ramps of equal length share the lane, so they stay correlated.
// `lane` runs over e's lanes of one copy; copies > 1 is not needed by callers but for nested vectors.
Expr Bounder::scalar_form(const Expr &e, const Expr &lane, int lanes) {
  if (e.type().is_scalar()) return e;
  if (e.type().lanes() != lanes) return {};
  auto part = [&](const Expr &x) { return scalar_form(x, lane, lanes); };
  switch (e.kind()) {
    case NodeKind::Broadcast: {
      const Broadcast *op = e.as<Broadcast>();
      if (op->value.type().is_scalar()) return op->value;
      int inner = op->value.type().lanes();
      return scalar_form(op->value, make_mod(lane, make_int(Int(32), inner)), inner);
    }
    case NodeKind::Ramp: {
      const Ramp *op = e.as<Ramp>();
      Type s = e.type().element_of();
      if (op->base.type().is_scalar())
        return make_add(op->base, make_mul(make_cast(s, lane), op->stride));
      int inner = op->base.type().lanes();
      Expr low = make_mod(lane, make_int(Int(32), inner)),
           high = make_div(lane, make_int(Int(32), inner));
      Expr b = scalar_form(op->base, low, inner), st = scalar_form(op->stride, low, inner);
      if (!b.defined() || !st.defined()) return {};
      return make_add(b, make_mul(make_cast(s, high), st));
    }
#define BINARY_NODE(K)                                                           \
  case NodeKind::K: {                                                            \
    Expr a = part(e.as<K>()->a), b = part(e.as<K>()->b);                         \
    return a.defined() && b.defined() ? make_binary(NodeKind::K, a, b) : Expr(); \
  }
#include "../ir/binary_nodes.def"
#undef BINARY_NODE
    case NodeKind::Not: {
      Expr a = part(e.as<Not>()->a);
      return a.defined() ? make_not(a) : a;
    }
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      Expr c = part(op->condition), t = part(op->true_value), f = part(op->false_value);
      return c.defined() && t.defined() && f.defined() ? make_select(c, t, f) : Expr();
    }
    case NodeKind::Cast: {
      Expr v = part(e.as<Cast>()->value);
      return v.defined() ? make_cast(e.type().element_of(), v) : v;
    }
    default: return {};
  }
}

Interval Bounder::of(const Expr &e) {
  auto it = whole_.find(e.get());
  if (it != whole_.end()) return it->second;
  Interval r;
  if (e.type().is_vector()) {
    const int lanes = e.type().lanes();
    Name lane("lane~" + std::to_string(variables_.size()));
    Expr s = scalar_form(e, make_var(lane), lanes);
    if (s.defined()) {
      push(lane, {make_int(Int(32), 0), make_int(Int(32), lanes - 1), {}});
      r = of(s);
      pop();
    } else {
      r = constant_interval(const_range(e), e.type().element_of());
      if (!r.bounded()) r.unbounded_because = blame(e);
    }
  } else {
    r = range(tidy(substitute_in_lets(e)));
    if (r.has_lower() && r.has_upper() && r.min.same_as(r.max))
      r.min = r.max = tidy(r.min);
    else {
      if (r.has_lower()) r.min = tidy(r.min);
      if (r.has_upper()) r.max = tidy(r.max);
    }
  }
  whole_.emplace(e.get(), r);
  keep_.push_back(e);
  return r;
}

Interval Bounder::value(const Expr &e, bool *maybe_nan) {
  return e.type().is_float() ? of_float(tidy(substitute_in_lets(e)), maybe_nan) : of(e);
}

// What is in memory varies too: the end of a region is no place to read it.
bool Bounder::depends(const Expr &e) {
  auto it = depends_.find(e.get());
  if (it != depends_.end()) return it->second;
  bool found = false;
  for_each_expr(e, [&](const Expr &x) {
    const ir::Variable *v = x.as<ir::Variable>();
    if (v && !found) found = find(v->name) >= 0;
    const Call *c = x.as<Call>();
    found = found || x.as<Load>() ||
            (c && (c->call_type == CallType::Halide || c->call_type == CallType::Image));
  });
  depends_.emplace(e.get(), found);
  keep_.push_back(e);
  return found;
}

Interval Bounder::range(const Expr &e) {
  if (is_const(e) || !depends(e)) return Interval::point(e);
  auto it = memo_.find(e.get());
  if (it != memo_.end()) return it->second;
  Interval r = compute(e);
  memo_.emplace(e.get(), r);
  keep_.push_back(e);
  return r;
}

// Replaces variables that e is monotone in, innermost first. False if there are none with the end that is needed.
bool Bounder::eliminate(const Expr &e, bool upper, Expr *result) {
  Expr current = e;
  bool any = false;
  for (size_t i = variables_.size(); i-- > 0;) {
    const Variable &v = variables_[i];
    if (find(v.name) != static_cast<int>(i) || !uses_var(current, v.name)) continue;
    ConstInterval step = Steps(v.name, &facts_.ranges).of(current);
    bool rises = step.min_defined && step.min >= 0, falls = step.max_defined && step.max <= 0;
    const Expr &end = rises == upper ? v.range.max : v.range.min;
    if ((!rises && !falls) || !end.defined()) continue;
    current = tidy(substitute(v.name, end, current));
    any = true;
  }
  *result = current;
  return any;
}

Interval Bounder::compute(const Expr &e) {
  if (!is_index(e.type())) return structural(e);
  Expr low, high;
  bool has_low = eliminate(e, false, &low), has_high = eliminate(e, true, &high);
  Interval r;
  Interval rest;
  if (!has_low || !has_high) rest = structural(e);
  Interval low_range = has_low ? range(low) : rest, high_range = has_high ? range(high) : rest;
  r.min = low_range.min;
  r.max = high_range.max;
  if (!r.bounded()) {
    r.unbounded_because =
        r.has_lower() ? high_range.unbounded_because : low_range.unbounded_because;
  }
  return r;
}

Interval Bounder::by_type(const Expr &e) {
  Interval i;
  if (e.type().is_int_or_uint()) i = constant_interval(const_range(e), e.type());
  if (!i.bounded()) i.unbounded_because = blame(e);
  return i;
}

Interval Bounder::of_sum(const Expr &e) {
  const Type t = e.type();
  LinearForm f = linear_form(e), low, high;
  low.constant = high.constant = f.constant;
  bool has_low = true, has_high = true;
  Interval r;
  auto add = [&](LinearForm *into, const Expr &end, int64_t c) {
    LinearForm x = linear_form(end);
    *into = combine(*into, 1, x, c);
  };
  for (auto &[term, c] : f.terms) {
    Interval i = range(term);
    const Expr &l = c > 0 ? i.min : i.max, &h = c > 0 ? i.max : i.min;
    has_low = has_low && l.defined();
    has_high = has_high && h.defined();
    if (!i.bounded() && r.unbounded_because.empty()) r.unbounded_because = i.unbounded_because;
    if (has_low) add(&low, l, c);
    if (has_high) add(&high, h, c);
  }
  if (has_low) r.min = to_expr(low, t);
  if (has_high) r.max = to_expr(high, t);
  return r;
}

Interval Bounder::of_product(const Expr &a, const Expr &b) {
  Interval x = range(a), y = range(b);
  if (!depends(a)) std::swap(x, y);
  ConstInterval cx = const_range(a), cy = const_range(b);
  if (!depends(a)) std::swap(cx, cy);
  Interval r;
  if (!depends(a) || !depends(b)) {
    const Expr &k = y.min;
    bool positive = cy.min_defined && cy.min >= 0, negative = cy.max_defined && cy.max <= 0;
    if (positive || negative) {
      const Expr &l = positive ? x.min : x.max, &h = positive ? x.max : x.min;
      if (l.defined()) r.min = make_mul(l, k);
      if (h.defined()) r.max = make_mul(h, k);
    } else if (x.bounded()) {
      Expr p = make_mul(x.min, k), q = make_mul(x.max, k);
      r = {make_min(p, q), make_max(p, q), {}};
    }
  } else if (cx.min_defined && cx.min >= 0 && cy.min_defined && cy.min >= 0) {
    if (x.has_lower() && y.has_lower()) r.min = make_mul(x.min, y.min);
    if (x.has_upper() && y.has_upper()) r.max = make_mul(x.max, y.max);
  } else if (x.bounded() && y.bounded()) {
    Expr p[4] = {make_mul(x.min, y.min), make_mul(x.min, y.max), make_mul(x.max, y.min),
                 make_mul(x.max, y.max)};
    r.min = make_min(make_min(p[0], p[1]), make_min(p[2], p[3]));
    r.max = make_max(make_max(p[0], p[1]), make_max(p[2], p[3]));
  }
  if (!r.bounded()) {
    r.unbounded_because = !x.unbounded_because.empty() ? x.unbounded_because : y.unbounded_because;
    if (r.unbounded_because.empty()) r.unbounded_because = "a product of unknown sign";
  }
  return r;
}

Interval Bounder::of_quotient(const Expr &a, const Expr &b) {
  Interval x = range(a), y = range(b), r;
  ConstInterval cx = const_range(a), cy = const_range(b);
  const bool positive = cy.min_defined && cy.min > 0, negative = cy.max_defined && cy.max < 0;
  if (!depends(b) && (positive || negative)) {
    const Expr &l = positive ? x.min : x.max, &h = positive ? x.max : x.min;
    if (l.defined()) r.min = make_div(l, b);
    if (h.defined()) r.max = make_div(h, b);
  } else if (positive && x.bounded() && y.bounded()) {
    // Divisors in [p, q], both positive: a / p or a / q, by the sign of a.
    bool up = cx.min_defined && cx.min >= 0;
    r.min = up ? make_div(x.min, y.max) : make_min(make_div(x.min, y.min), make_div(x.min, y.max));
    r.max = up ? make_div(x.max, y.min) : make_max(make_div(x.max, y.min), make_div(x.max, y.max));
  } else if (!depends(b) && x.bounded()) {
    Expr p = make_div(x.min, b), q = make_div(x.max, b);
    r = {make_min(p, q), make_max(p, q), {}};
  } else if (x.bounded()) {
    // Whatever the divisor, the quotient is no larger than the dividend.
    Expr m = make_max(make_max(x.max, flip(x.min)), make_zero(a.type()));
    r = {flip(m), m, {}};
  }
  if (!r.bounded()) {
    r.unbounded_because = !x.unbounded_because.empty() ? x.unbounded_because : y.unbounded_because;
    if (r.unbounded_because.empty()) r.unbounded_because = "a division of unbounded values";
  }
  return r;
}

Interval Bounder::of_remainder(const Expr &a, const Expr &b) {
  const Type t = a.type();
  Interval x = range(a), r;
  const int64_t *k = as_const_int(b);
  if (k && *k > 0 && x.bounded()) {
    // Within one period the remainder rises with a.
    Expr p = tidy(make_div(x.min, b)), q = tidy(make_div(x.max, b));
    if (is_const_one(tidy(make_eq(p, q)))) return {make_mod(x.min, b), make_mod(x.max, b), {}};
  }
  r.min = make_zero(t);
  Interval y = range(b);
  ConstInterval cy = const_range(b);
  if (cy.min_defined && cy.min > 0 && y.has_upper()) {
    r.max = make_sub(y.max, make_one(t));
  } else if (y.bounded()) {
    r.max = make_max(make_sub(make_max(y.max, flip(y.min)), make_one(t)), make_zero(t));
  } else {
    r.unbounded_because = y.unbounded_because;
  }
  ConstInterval cx = const_range(a);
  if (cx.min_defined && cx.min >= 0 && x.has_upper())
    r.max = r.has_upper() ? make_min(r.max, x.max) : x.max;
  if (r.bounded()) r.unbounded_because.clear();
  return r;
}

Interval Bounder::of_cast(const Cast *op) {
  const Type t = op->type, from = op->value.type();
  const Expr self(op);
  if (from.is_float() && t.is_int_or_uint() && !t.is_bool()) {
    bool maybe_nan = false;
    Interval i = of_float(op->value, &maybe_nan);
    Interval limits = by_type(self), r = limits;
    // Casts saturate and never reverse the order; NaN gives 0.
    if (i.has_lower()) r.min = make_cast(t, i.min);
    if (i.has_upper()) r.max = make_cast(t, i.max);
    if (maybe_nan && i.has_lower()) r.min = make_min(r.min, make_zero(t));
    if (maybe_nan && i.has_upper()) r.max = make_max(r.max, make_zero(t));
    if (!r.bounded()) r.unbounded_because = i.unbounded_because;
    return r;
  }
  if (!t.is_int_or_uint() || !from.is_int_or_uint() || t.is_bool()) return by_type(self);
  Interval i = range(op->value);
  ConstInterval c = const_range(op->value);
  if (i.bounded() && !(c.min_defined && c.max_defined)) {
    // The symbolic ends may have constant bounds where the expression itself had none.
    ConstInterval low = const_range(i.min), high = const_range(i.max);
    c = {low.min_defined, high.max_defined, low.min, high.max};
  }
  bool fits =
      t.can_represent(from) || (c.min_defined && c.max_defined && c.min >= t.min_int() &&
                                (t.bits() == 64 || c.max <= static_cast<int64_t>(t.max_uint())));
  // Int(64) to Int(32) and the like: indices are taken to fit.
  if (is_index(t) && is_index(from)) fits = true;
  if (!fits) return by_type(self);
  Interval r = by_type(self);
  if (i.has_lower()) r.min = make_cast(t, i.min);
  if (i.has_upper()) r.max = make_cast(t, i.max);
  if (!r.bounded())
    r.unbounded_because = i.unbounded_because;
  else
    r.unbounded_because.clear();
  return r;
}

Interval Bounder::of_choice(const Expr &condition, const Expr &t, const Expr &f) {
  Interval sides[2];
  for (int side = 0; side < 2; side++) {
    const Expr &value = side == 0 ? t : f;
    std::vector<std::pair<size_t, Interval>> saved;
    if (choices_ < kMaxChoices && condition.type().is_scalar()) {
      Expr c = side == 0 ? condition : tidy(make_not(condition));
      std::vector<Name> names = free_vars(c);
      for (Name n : names) {
        int at = find(n);
        if (at < 0) continue;
        Interval solved = solve_outer(c, n);
        for (Expr *end : {&solved.min, &solved.max}) {
          // Ends that need variables themselves would have to be bounded first; most do not.
          if (end->defined() && depends(*end)) *end = {};
        }
        if (!solved.has_lower() && !solved.has_upper()) continue;
        Interval narrowed = intersection(variables_[static_cast<size_t>(at)].range, solved);
        saved.emplace_back(at, exchange(static_cast<size_t>(at), narrowed));
      }
    }
    choices_++;
    sides[side] = range(value);
    choices_--;
    while (!saved.empty()) {
      exchange(saved.back().first, saved.back().second);
      saved.pop_back();
    }
  }
  return hull(sides[0], sides[1]);
}

Interval Bounder::of_call(const Call *op) {
  const Expr self(op);
  const Type t = op->type;
  if (op->call_type == CallType::Halide && values_) {
    bool nan = false;
    Interval r = by_type(self), known = values_->of(op->name, op->value_index, &nan);
    if (known.has_lower()) r.min = known.min;
    if (known.has_upper()) r.max = known.max;
    if (r.bounded()) r.unbounded_because.clear();
    return r;
  }
  switch (op->op) {
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost: return range(op->args[0]);
    case Intrinsic::return_second: return range(op->args[1]);
    case Intrinsic::promise_clamped:
    case Intrinsic::unsafe_promise_clamped: {
      Interval r = range(op->args[0]);
      if (op->args.size() > 1 && op->args[1].defined())
        r = intersection(r, {range(op->args[1]).min, {}, {}});
      if (op->args.size() > 2 && op->args[2].defined())
        r = intersection(r, {{}, range(op->args[2]).max, {}});
      return r;
    }
    case Intrinsic::if_then_else:
      if (op->args.size() > 2) return of_choice(op->args[0], op->args[1], op->args[2]);
      break;
    case Intrinsic::shift_left:
    case Intrinsic::shift_right:
      break;  // by constants: the simplifier made them products and quotients
    case Intrinsic::abs: {
      if (!op->args[0].type().is_int()) break;
      Interval x = range(op->args[0]);
      if (!x.bounded()) break;
      Expr high = make_max(make_max(x.max, flip(x.min)), make_zero(x.min.type()));
      return {make_zero(t), make_cast(t, high), {}};
    }
    default: break;
  }
  return by_type(self);
}

Interval Bounder::structural(const Expr &e) {
  const Type t = e.type();
  const bool index = is_index(t);
  switch (e.kind()) {
    case NodeKind::Variable: {
      int at = find(e.as<ir::Variable>()->name);
      if (at < 0) return Interval::point(e);
      // Ends may use outer variables.
      Interval r, v = variables_[static_cast<size_t>(at)].range;
      if (v.has_lower()) r.min = range(v.min).min;
      if (v.has_upper()) r.max = range(v.max).max;
      if (!r.bounded())
        r.unbounded_because = v.unbounded_because.empty() ? blame(e) : v.unbounded_because;
      return r;
    }
    case NodeKind::Add:
    case NodeKind::Sub: return index ? of_sum(e) : by_type(e);
    case NodeKind::Mul: {
      const Mul *op = e.as<Mul>();
      if (!index) return by_type(e);
      return is_const(op->a) || is_const(op->b) ? of_sum(e) : of_product(op->a, op->b);
    }
    case NodeKind::Div: return index ? of_quotient(e.as<Div>()->a, e.as<Div>()->b) : by_type(e);
    case NodeKind::Mod: return index ? of_remainder(e.as<Mod>()->a, e.as<Mod>()->b) : by_type(e);
    case NodeKind::Min:
    case NodeKind::Max: {
      if (!t.is_int_or_uint()) return by_type(e);
      const bool is_min = e.kind() == NodeKind::Min;
      Interval a = range(is_min ? e.as<Min>()->a : e.as<Max>()->a),
               b = range(is_min ? e.as<Min>()->b : e.as<Max>()->b);
      Interval r;
      if (is_min) {
        if (a.has_lower() && b.has_lower()) r.min = make_min(a.min, b.min);
        r.max = !a.has_upper() ? b.max : !b.has_upper() ? a.max : make_min(a.max, b.max);
      } else {
        if (a.has_upper() && b.has_upper()) r.max = make_max(a.max, b.max);
        r.min = !a.has_lower() ? b.min : !b.has_lower() ? a.min : make_max(a.min, b.min);
      }
      if (!r.bounded())
        r.unbounded_because =
            a.unbounded_because.empty() ? b.unbounded_because : a.unbounded_because;
      return r;
    }
    case NodeKind::Select:
      return t.is_int_or_uint() ? of_choice(e.as<Select>()->condition, e.as<Select>()->true_value,
                                            e.as<Select>()->false_value)
                                : by_type(e);
    case NodeKind::Cast: return of_cast(e.as<Cast>());
    case NodeKind::Call: return t.is_int_or_uint() ? of_call(e.as<Call>()) : by_type(e);
    default: return by_type(e);
  }
}

// Floats: enough to bound an index that was computed as a float and cast. Rounding keeps order, so the ends computed in
// the same operations bound the value. maybe_nan: the value, but not the ends, might be NaN.
Interval Bounder::of_float(const Expr &e, bool *maybe_nan) {
  const Type t = e.type();
  if (is_const(e)) return Interval::point(e);
  if (!depends(e)) {
    bool calls = false;
    for_each_expr(e, [&](const Expr &x) { calls = calls || x.as<Call>() || x.as<Load>(); });
    if (!calls) {
      *maybe_nan = true;
      return Interval::point(e);
    }
  }
  switch (e.kind()) {
    case NodeKind::Cast: {
      const Expr &v = e.as<Cast>()->value;
      if (v.type().is_float()) {
        Interval i = of_float(v, maybe_nan);
        if (i.has_lower()) i.min = make_cast(t, i.min);
        if (i.has_upper()) i.max = make_cast(t, i.max);
        return i;
      }
      Interval i = range(v);
      if (i.has_lower()) i.min = make_cast(t, i.min);
      if (i.has_upper()) i.max = make_cast(t, i.max);
      return i;
    }
    case NodeKind::Min:
    case NodeKind::Max: {
      // The second operand wins against NaN: the result is NaN only if that one is, and then no end counts.
      const bool is_min = e.kind() == NodeKind::Min;
      bool nan_a = false, nan_b = false;
      Interval a = of_float(is_min ? e.as<Min>()->a : e.as<Max>()->a, &nan_a);
      Interval b = of_float(is_min ? e.as<Min>()->b : e.as<Max>()->b, &nan_b);
      if (nan_b) *maybe_nan = true;
      Interval r;
      if (is_min) {
        // A NaN in a gives b, which is in b's bounds and may exceed a's.
        if (a.has_lower() && b.has_lower()) r.min = make_min(a.min, b.min);
        if (b.has_upper())
          r.max = nan_a || !a.has_upper() ? b.max : make_min(a.max, b.max);
        else if (a.has_upper() && !nan_a)
          r.max = a.max;
      } else {
        if (a.has_upper() && b.has_upper()) r.max = make_max(a.max, b.max);
        if (b.has_lower())
          r.min = nan_a || !a.has_lower() ? b.min : make_max(a.min, b.min);
        else if (a.has_lower() && !nan_a)
          r.min = a.min;
      }
      if (!r.bounded())
        r.unbounded_because =
            a.unbounded_because.empty() ? b.unbounded_because : a.unbounded_because;
      return r;
    }
    case NodeKind::Add:
    case NodeKind::Sub: {
      const bool add = e.kind() == NodeKind::Add;
      Interval a = of_float(add ? e.as<Add>()->a : e.as<Sub>()->a, maybe_nan);
      Interval b = of_float(add ? e.as<Add>()->b : e.as<Sub>()->b, maybe_nan);
      Interval r;
      const Expr &bl = add ? b.min : b.max, &bh = add ? b.max : b.min;
      auto join = [&](const Expr &x, const Expr &y) {
        return add ? make_add(x, y) : make_sub(x, y);
      };
      if (a.has_lower() && bl.defined()) r.min = join(a.min, bl);
      if (a.has_upper() && bh.defined()) r.max = join(a.max, bh);
      if (!r.bounded())
        r.unbounded_because =
            a.unbounded_because.empty() ? b.unbounded_because : a.unbounded_because;
      return r;
    }
    case NodeKind::Mul:
      return of_float_product(e.as<Mul>()->a, e.as<Mul>()->b, {}, make_mul, maybe_nan);
    case NodeKind::Div:
      return of_float_product(e.as<Div>()->a, e.as<Div>()->b, {}, make_div, maybe_nan);
    case NodeKind::Call: {
      const Call *op = e.as<Call>();
      if (op->call_type == CallType::Halide && values_) {
        Interval known = values_->of(op->name, op->value_index, maybe_nan);
        if (!known.bounded()) known.unbounded_because = blame(e);
        return known;
      }
      if (op->op == Intrinsic::likely || op->op == Intrinsic::likely_if_innermost ||
          op->op == Intrinsic::strict_float) {
        return of_float(op->args[0], maybe_nan);
      }
      if (op->op == Intrinsic::floor || op->op == Intrinsic::ceil || op->op == Intrinsic::round ||
          op->op == Intrinsic::trunc) {
        Interval i = of_float(op->args[0], maybe_nan);
        if (i.has_lower()) i.min = make_intrinsic(t, op->op, {i.min});
        if (i.has_upper()) i.max = make_intrinsic(t, op->op, {i.max});
        return i;
      }
      if (op->op == Intrinsic::fma) {
        return of_float_product(op->args[0], op->args[1], op->args[2], make_mul, maybe_nan);
      }
      break;
    }
    default: break;
  }
  *maybe_nan = true;
  return Interval::everything(blame(e));
}

// a * b, a / b, or a * b + c in one rounding: `join` says which of the first two.
Interval Bounder::of_float_product(const Expr &a, const Expr &b, const Expr &c,
                                   Expr (*join)(Expr, Expr), bool *maybe_nan) {
  const bool quotient = join == make_div;
  if (!quotient && !depends(a) && depends(b)) return of_float_product(b, a, c, join, maybe_nan);
  Interval x = of_float(a, maybe_nan), y = of_float(b, maybe_nan), add, r;
  if (c.defined()) add = of_float(c, maybe_nan);
  const auto end = [&](const Expr &p, const Expr &q, const Expr &plus) {
    return plus.defined() ? make_intrinsic(p.type(), Intrinsic::fma, {p, q, plus}) : join(p, q);
  };
  const bool has_low = !c.defined() || add.has_lower(), has_high = !c.defined() || add.has_upper();
  const double *k = as_const_float(b);
  if (k && *k != 0) {
    const Expr &l = *k > 0 ? x.min : x.max, &h = *k > 0 ? x.max : x.min;
    if (l.defined() && has_low) r.min = end(l, b, add.min);
    if (h.defined() && has_high) r.max = end(h, b, add.max);
  } else {
    *maybe_nan = true;  // 0 * infinity
    // The extremes lie at the ends, unless a divisor passes through 0.
    if (x.bounded() && (y.is_point() || (!quotient && y.bounded()))) {
      for (const Expr &p : {x.min, x.max}) {
        for (const Expr &q : {y.min, y.max}) {
          if (has_low) {
            Expr v = end(p, q, add.min);
            r.min = r.min.defined() ? make_min(r.min, v) : v;
          }
          if (has_high) {
            Expr v = end(p, q, add.max);
            r.max = r.max.defined() ? make_max(r.max, v) : v;
          }
          if (y.is_point()) break;
        }
      }
    }
  }
  if (!r.bounded()) {
    for (const Interval *i : {&x, &y, &add}) {
      if (r.unbounded_because.empty()) r.unbounded_because = i->unbounded_because;
    }
    if (r.unbounded_because.empty()) r.unbounded_because = "a division by what may be 0";
  }
  return r;
}

}  // namespace calotype::analysis
