// See prove.h.
#include "prove.h"

#include <cmath>

#include "../analysis/simplify.h"
#include "../ir/equal.h"
#include "../ir/visit.h"
#include "factor.h"

namespace calotype::transform {

using namespace ir;

namespace {

Signs negated(Signs s) { return {s.positive, s.zero, s.negative}; }
Signs only_positive() { return {false, false, true}; }
Signs from_zero() { return {false, true, true}; }

Signs product(Signs a, Signs b) {
  return {(a.negative && b.positive) || (a.positive && b.negative), a.zero || b.zero,
          (a.positive && b.positive) || (a.negative && b.negative)};
}

Signs sum(Signs a, Signs b) {
  return {a.negative || b.negative,
          (a.zero && b.zero) || (a.negative && b.positive) || (a.positive && b.negative),
          a.positive || b.positive};
}

Signs either(Signs a, Signs b) {
  return {a.negative || b.negative, a.zero || b.zero, a.positive || b.positive};
}

Signs of_literal(double v) { return {v < 0, v == 0, v > 0}; }

bool is_extent(const Variable *v) { return v->name.str().find(".extent.") != std::string::npos; }

Signs of_variable(const Variable *v, const KnownSigns &known) {
  const auto it = known.find(v->name);
  if (it != known.end()) return it->second;
  if (v->type.is_uint() || (v->param && is_extent(v))) return from_zero();
  double low;
  if (v->param && !v->param->is_buffer && v->param->min_value.defined() &&
      literal(v->param->min_value, &low)) {
    if (low > 0) return only_positive();
    if (low == 0) return from_zero();
  }
  return {};
}

Signs of_call(const Call *op, const KnownSigns &known) {
  double v;
  switch (op->op) {
    case Intrinsic::exp:
    case Intrinsic::fast_exp: return only_positive();
    case Intrinsic::sqrt:
    case Intrinsic::abs:
    case Intrinsic::absd: return from_zero();
    case Intrinsic::fast_inverse:
    case Intrinsic::fast_inverse_sqrt: return signs_of(op->args[0], known);
    case Intrinsic::pow:
    case Intrinsic::fast_pow:
      if (literal(op->args[0], &v) && v > 0) return only_positive();
      if (literal(op->args[1], &v) && v == 2) return from_zero();
      return signs_of(op->args[0], known).negative ? Signs() : from_zero();
    case Intrinsic::fma:
      return sum(signs_of(make_mul(op->args[0], op->args[1]), known), signs_of(op->args[2], known));
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost: return signs_of(op->args[0], known);
    default: return op->type.is_uint() ? from_zero() : Signs();
  }
}

}  // namespace

Signs signs_of(const Expr &e, const KnownSigns &known) {
  double v;
  if (literal(e, &v)) return of_literal(v);
  if (const Variable *op = e.as<Variable>()) return of_variable(op, known);
  if (const Call *op = e.as<Call>()) return of_call(op, known);
  if (const Mul *op = e.as<Mul>()) {
    if (equal(op->a, op->b)) return from_zero();
    return product(signs_of(op->a, known), signs_of(op->b, known));
  }
  if (const Div *op = e.as<Div>()) {
    Signs below = signs_of(op->b, known);
    below.zero = false;
    Signs s = product(signs_of(op->a, known), below);
    if (!e.type().is_float()) s.zero = true;
    return s;
  }
  if (const Add *op = e.as<Add>()) return sum(signs_of(op->a, known), signs_of(op->b, known));
  if (const Sub *op = e.as<Sub>())
    return sum(signs_of(op->a, known), negated(signs_of(op->b, known)));
  if (const Cast *op = e.as<Cast>()) {
    Signs s = signs_of(op->value, known);
    if (op->type.is_float()) return s;
    return op->type.is_uint() ? from_zero() : Signs();
  }
  if (const Select *op = e.as<Select>())
    return either(signs_of(op->true_value, known), signs_of(op->false_value, known));
  if (const Max *op = e.as<Max>()) {
    const Signs a = signs_of(op->a, known), b = signs_of(op->b, known);
    if (!a.negative && !a.zero) return only_positive();
    if (!b.negative && !b.zero) return only_positive();
    Signs s = either(a, b);
    if (!a.negative || !b.negative) s.negative = false;
    return s;
  }
  if (const Min *op = e.as<Min>()) return either(signs_of(op->a, known), signs_of(op->b, known));
  return e.type().is_uint() ? from_zero() : Signs();
}

Expr inline_everything(const Program &p, const Expr &e) {
  constexpr double kLargest = 20000;
  Expr now = e;
  for (int round = 0; round < 64; round++) {
    bool changed = false;
    now = rewrite(now, [&](const Expr &x) -> Expr {
      const Call *op = x.as<Call>();
      const Function *f = op && op->call_type == CallType::Halide ? p.find(op->name) : nullptr;
      if (!f || f->has_updates() || f->extern_stage()) return x;
      Substitution map;
      for (size_t i = 0; i < f->args.size(); i++) map[f->args[i]] = op->args[i];
      changed = true;
      return substitute(map, f->pure().values[op->value_index]);
    });
    if (tree_size(now, kLargest) >= kLargest) return {};
    if (!changed) return substitute_in_lets(now);
  }
  return {};
}

namespace {

/// Conditions known to hold or not.
class Conditions {
public:
  // Conjunctions that hold and disjunctions that do not say more than one thing.
  void note(const Expr &c, bool value) {
    known_.emplace_back(c, value);
    const And *both = c.as<And>();
    const Or *any = c.as<Or>();
    if (both && value) note(both->a, true), note(both->b, true);
    if (any && !value) note(any->a, false), note(any->b, false);
    if (const Not *n = c.as<Not>()) note(n->a, !value);
  }
  size_t size() const { return known_.size(); }
  void forget(size_t size) { known_.resize(size); }

  bool truth(const Expr &c, bool *holds) const {
    for (const auto &[known, value] : known_) {
      if (equal(known, c)) return *holds = value, true;
      if (equal(opposite(known), c) || equal(known, opposite(c))) return *holds = !value, true;
    }
    bool a, b;
    if (const And *op = c.as<And>()) {
      const bool ka = truth(op->a, &a), kb = truth(op->b, &b);
      if ((ka && !a) || (kb && !b)) return *holds = false, true;
      return *holds = true, ka && kb;
    }
    if (const Or *op = c.as<Or>()) {
      const bool ka = truth(op->a, &a), kb = truth(op->b, &b);
      if ((ka && a) || (kb && b)) return *holds = true, true;
      return *holds = false, ka && kb;
    }
    if (const Not *op = c.as<Not>()) {
      if (!truth(op->a, &a)) return false;
      return *holds = !a, true;
    }
    return false;
  }

private:
  std::vector<std::pair<Expr, bool>> known_;
};

/// What is known of a value in one case.
enum class Fact { Unknown, Finite, Zero, Low, High };  // Low, High: minus and plus infinity

class CaseValue {
public:
  CaseValue(Conditions conditions, Expr leaf, bool low, const KnownSigns &known)
      : conditions_(std::move(conditions)), leaf_(std::move(leaf)), low_(low), known_(known) {}

  Fact of(const Expr &e) {
    if (leaf_.defined() && equal(e, leaf_)) return low_ ? Fact::Low : Fact::High;
    double v;
    if (literal(e, &v)) {
      if (v == 0) return Fact::Zero;
      if (std::isinf(v)) return v < 0 ? Fact::Low : Fact::High;
      return std::isnan(v) ? Fact::Unknown : Fact::Finite;
    }
    if (const Select *op = e.as<Select>()) {
      bool holds;
      if (conditions_.truth(op->condition, &holds))
        return of(holds ? op->true_value : op->false_value);
      const Fact t = of(op->true_value), f = of(op->false_value);
      if (t == f) return t;
      return is_finite(t) && is_finite(f) ? Fact::Finite : Fact::Unknown;
    }
    if (const Add *op = e.as<Add>()) return add(of(op->a), of(op->b));
    if (const Sub *op = e.as<Sub>()) return add(of(op->a), negative(of(op->b)));
    if (const Mul *op = e.as<Mul>()) return multiply(op->a, op->b, false);
    if (const Div *op = e.as<Div>()) return multiply(op->a, op->b, true);
    if (const Cast *op = e.as<Cast>()) return op->type.is_float() ? of(op->value) : Fact::Finite;
    if (const Max *op = e.as<Max>()) return largest(of(op->a), of(op->b), Fact::Low);
    if (const Min *op = e.as<Min>()) return largest(of(op->a), of(op->b), Fact::High);
    if (const Call *op = e.as<Call>()) return call(op);
    return Fact::Finite;  // data and parameters
  }

private:
  static bool is_finite(Fact f) { return f == Fact::Finite || f == Fact::Zero; }
  static Fact negative(Fact f) {
    return f == Fact::Low ? Fact::High : f == Fact::High ? Fact::Low : f;
  }
  static Fact add(Fact a, Fact b) {
    if (a == Fact::Unknown || b == Fact::Unknown) return Fact::Unknown;
    if (a == Fact::Zero && b == Fact::Zero) return Fact::Zero;
    if (is_finite(a) && is_finite(b)) return Fact::Finite;
    if (is_finite(a)) return b;
    return is_finite(b) || a == b ? a : Fact::Unknown;
  }
  static Fact largest(Fact a, Fact b, Fact neutral) {
    if (a == neutral) return b;
    if (b == neutral) return a;
    return is_finite(a) && is_finite(b) ? Fact::Finite : Fact::Unknown;
  }

  Fact multiply(const Expr &a, const Expr &b, bool divide) {
    const Fact x = of(a), y = of(b);
    if (x == Fact::Zero) return is_finite(y) || divide ? Fact::Zero : Fact::Unknown;
    if (!divide && y == Fact::Zero) return is_finite(x) ? Fact::Zero : Fact::Unknown;
    if (is_finite(x) && is_finite(y)) return Fact::Finite;
    const bool left = !is_finite(x);
    if (!left && divide) return Fact::Unknown;
    if (x == Fact::Unknown || y == Fact::Unknown || (!is_finite(x) && !is_finite(y)))
      return Fact::Unknown;
    const Signs s = signs_of(left ? b : a, known_);
    const Fact f = left ? x : y;
    if (!s.negative) return f;
    return !s.positive ? negative(f) : Fact::Unknown;
  }

  Fact call(const Call *op) {
    double v;
    switch (op->op) {
      case Intrinsic::exp:
      case Intrinsic::fast_exp: return power(of(op->args[0]), true);
      case Intrinsic::pow:
      case Intrinsic::fast_pow:
        if (literal(op->args[0], &v) && v > 0) return power(of(op->args[1]), v > 1);
        return Fact::Unknown;
      case Intrinsic::fma: return add(multiply(op->args[0], op->args[1], false), of(op->args[2]));
      case Intrinsic::likely:
      case Intrinsic::likely_if_innermost: return of(op->args[0]);
      case Intrinsic::abs:
      case Intrinsic::sqrt: {
        const Fact f = of(op->args[0]);
        return f == Fact::Low ? (op->op == Intrinsic::abs ? Fact::High : Fact::Unknown) : f;
      }
      default: break;
    }
    if (op->op == Intrinsic::None) return Fact::Finite;  // a Func, an image
    for (const Expr &a : op->args) {
      if (!is_finite(of(a))) return Fact::Unknown;
    }
    return Fact::Finite;
  }
  static Fact power(Fact exponent, bool grows) {
    if (exponent == Fact::Unknown || is_finite(exponent))
      return exponent == Fact::Zero ? Fact::Finite : exponent;
    return (exponent == Fact::Low) == grows ? Fact::Zero : Fact::High;
  }

  Conditions conditions_;
  Expr leaf_;
  bool low_;
  const KnownSigns &known_;
};

class Cases {
public:
  Cases(const Expr &term, bool low, const KnownSigns &known)
      : term_(term), low_(low), known_(known) {}

  // The element's Selects give cases; conjunctions that hold say more than one thing.
  bool all(const Expr &element) {
    if (const Select *op = element.as<Select>()) {
      return with(op->condition, true, op->true_value) &&
             with(op->condition, false, op->false_value);
    }
    double v;
    if (literal(element, &v)) {
      if (!std::isinf(v) || (v < 0) != low_) return true;  // never the identity
      return vanishes({});
    }
    if (vanishes(element)) return true;
    // A product by something positive is infinite only with its other factor.
    if (const Mul *op = element.as<Mul>()) {
      if (!signs_of(op->b, known_).negative && vanishes(op->a)) return true;
      return !signs_of(op->a, known_).negative && vanishes(op->b);
    }
    if (const Div *op = element.as<Div>())
      return !signs_of(op->b, known_).negative && vanishes(op->a);
    if (const Cast *op = element.as<Cast>()) return op->type.is_float() && all(op->value);
    return false;
  }

private:
  bool with(const Expr &condition, bool value, const Expr &element) {
    const size_t before = conditions_.size();
    conditions_.note(condition, value);
    const bool result = all(element);
    conditions_.forget(before);
    return result;
  }
  bool vanishes(const Expr &leaf) {
    return CaseValue(conditions_, leaf, low_, known_).of(term_) == Fact::Zero;
  }

  Expr term_;
  bool low_;
  const KnownSigns &known_;
  Conditions conditions_;
};

// Sums with equal parts cancelled, Selects by cases.
class Ceiling {
public:
  explicit Ceiling(const KnownSigns &known) : known_(known) {}
  Conditions conditions;

  bool not_positive(const Expr &given) {
    const Expr e = resolved(given);
    double v;
    if (literal(e, &v)) return v <= 0;
    if (const Expr choice = undecided(e); choice.defined()) return by_cases(e, choice);
    if (const Mul *op = e.as<Mul>()) {
      if (sign(op->b).not_negative() && not_positive(op->a)) return true;
      if (sign(op->a).not_negative() && not_positive(op->b)) return true;
    }
    if (const Div *op = e.as<Div>(); op && sign(op->b).not_negative() && not_positive(op->a))
      return true;
    if (const Cast *op = e.as<Cast>(); op && op->type.is_float() && op->value.type().is_float())
      return not_positive(op->value);
    if (e.as<Add>() || e.as<Sub>() || as_intrinsic(e, Intrinsic::fma)) return sum_not_positive(e);
    return sign(e).not_positive();
  }

private:
  struct Part {
    Expr e;
    double coefficient;
  };
  Signs sign(const Expr &e) { return signs_of(resolved(e), known_); }

  Expr resolved(const Expr &e) {
    return replace(e, [&](const Expr &x) -> Expr {
      const Select *s = x.as<Select>();
      bool holds;
      if (!s || !conditions.truth(s->condition, &holds)) return {};
      return resolved(holds ? s->true_value : s->false_value);
    });
  }

  static Expr undecided(const Expr &e) {
    if (const Select *s = e.as<Select>()) return s->condition;
    std::vector<Expr> children;
    if (const Add *op = e.as<Add>()) children = {op->a, op->b};
    if (const Sub *op = e.as<Sub>()) children = {op->a, op->b};
    if (const Mul *op = e.as<Mul>()) children = {op->a, op->b};
    if (const Cast *op = e.as<Cast>()) children = {op->value};
    for (const Expr &c : children) {
      if (const Expr found = undecided(c); found.defined()) return found;
    }
    return {};
  }

  bool by_cases(const Expr &e, const Expr &condition) {
    constexpr int kMostCases = 6;
    if (depth_ >= kMostCases) return false;
    depth_++;
    bool all = true;
    for (bool value : {true, false}) {
      const size_t before = conditions.size();
      conditions.note(condition, value);
      all = all && not_positive(e);
      conditions.forget(before);
    }
    depth_--;
    return all;
  }

  void split(const Expr &e, double coefficient, std::vector<Part> &out) {
    double v;
    if (const Add *op = e.as<Add>()) {
      split(op->a, coefficient, out), split(op->b, coefficient, out);
    } else if (const Sub *sub = e.as<Sub>()) {
      split(sub->a, coefficient, out), split(sub->b, -coefficient, out);
    } else if (const Call *fma = as_intrinsic(e, Intrinsic::fma)) {
      split(make_mul(fma->args[0], fma->args[1]), coefficient, out);
      split(fma->args[2], coefficient, out);
    } else if (const Mul *m = e.as<Mul>(); m && literal(m->b, &v)) {
      split(m->a, coefficient * v, out);
    } else {
      for (Part &p : out) {
        if (!equal(p.e, e)) continue;
        p.coefficient += coefficient;
        return;
      }
      out.push_back({e, coefficient});
    }
  }

  // An infinity of the right sign beats whatever is finite; the wrong one is an element that has no term.
  bool sum_not_positive(const Expr &e) {
    std::vector<Part> parts;
    split(e, 1, parts);
    bool all = true;
    for (const Part &p : parts) {
      double v;
      if (literal(p.e, &v) && std::isinf(v)) return true;
      if (p.coefficient == 0) continue;
      const Signs s = sign(p.e);
      all = all && (p.coefficient > 0 ? s.not_positive() : s.not_negative());
    }
    return all;
  }

  const KnownSigns &known_;
  int depth_ = 0;
};

}  // namespace

bool never_positive(const Program &p, const Expr &e, const std::vector<Expr> &conditions,
                    const KnownSigns &known) {
  const auto proved = [&](const Expr &x, const std::vector<Expr> &given) {
    Ceiling c(known);
    for (const Expr &g : given) c.conditions.note(g, true);
    return c.not_positive(x);
  };
  if (proved(e, conditions)) return true;
  std::vector<Expr> all;
  for (const Expr &c : conditions) {
    const Expr flat = inline_everything(p, c);
    if (flat.defined()) all.push_back(flat);
  }
  const Expr flat = inline_everything(p, e);
  return flat.defined() && proved(flat, all);
}

bool vanishes_with(const Program &p, const Expr &term, const Expr &element, const Expr &identity,
                   const KnownSigns &known) {
  double end;
  if (!literal(identity, &end) || !std::isinf(end)) return false;
  if (Cases(term, end < 0, known).all(element)) return true;
  const Expr t = inline_everything(p, term), x = inline_everything(p, element);
  return t.defined() && x.defined() && Cases(t, end < 0, known).all(x);
}

}  // namespace calotype::transform
