// See factor.h. Products of sums are multiplied out, up to kMostTerms.
#include "factor.h"

#include <algorithm>
#include <cmath>

#include "../ir/equal.h"
#include "../ir/visit.h"

namespace calotype::transform {

using namespace ir;

namespace {

constexpr size_t kMostTerms = 64;
constexpr double kTolerance = 1e-12;

Polynomial atom(const Expr &e) {
  Monomial m;
  m.powers.push_back({e, 1});
  return {m};
}

Polynomial constant(double v) {
  if (v == 0) return {};
  Monomial m;
  m.coefficient = v;
  return {m};
}

bool is_bare(const Monomial &m) {
  return m.powers.empty() && m.conditions.empty() && m.exponentials.empty();
}

bool is_rounding(Intrinsic op) {
  return op == Intrinsic::floor || op == Intrinsic::ceil || op == Intrinsic::round ||
         op == Intrinsic::trunc || op == Intrinsic::saturating_cast;
}

bool is_hint(Intrinsic op) {
  return op == Intrinsic::likely || op == Intrinsic::likely_if_innermost;
}

int compare_doubles(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

bool widens(const Cast *op) {
  const Type from = op->value.type();
  return op->type.is_float() && from.is_float() && op->type.bits() >= from.bits() &&
         op->type.is_bfloat() == from.is_bfloat();
}

// Constants whose products are exact are multiplied out; others stay what they are, to be rounded once.
bool folds(double v) {
  int exponent;
  const double mantissa = std::frexp(v, &exponent) * 4096;
  return std::isinf(v) || (mantissa == std::floor(mantissa) && std::abs(exponent) < 32);
}

// A Select that mixes, inside `e`, reached through arithmetic only.
Expr find_choice(const Expr &e, Sides &sides) {
  if (sides.of(e) != Side::Both) return {};
  if (e.as<Select>()) return e;
  std::vector<Expr> children;
  if (const Add *op = e.as<Add>()) children = {op->a, op->b};
  if (const Sub *op = e.as<Sub>()) children = {op->a, op->b};
  if (const Mul *op = e.as<Mul>()) children = {op->a, op->b};
  if (const Div *op = e.as<Div>()) children = {op->a, op->b};
  if (const Cast *op = e.as<Cast>()) children = {op->value};
  for (const Expr &c : children) {
    if (Expr found = find_choice(c, sides); found.defined()) return found;
  }
  return {};
}

Expr exchange(const Expr &in, const Expr &what, const Expr &by) {
  return replace(in, [&](const Expr &x) { return x.same_as(what) ? by : Expr(); });
}

}  // namespace

// ---- sides -----------------------------------------------------------------------------------------

Side Sides::of(const Expr &e) {
  if (!e.defined()) return Side::None;
  const auto it = memo_.find(e.get());
  if (it != memo_.end()) return it->second;
  Side s = Side::None;
  struct Children : IRVisitor {
    std::vector<Expr> found;
    const IRNode *root = nullptr;
    bool enter(const IRNode *n) override {
      if (n == root) return true;
      found.push_back(static_cast<const BaseExprNode *>(n));
      return false;
    }
  } children;
  if (const Variable *v = e.as<Variable>()) {
    if (k.count(v->name)) s = Side::K;
    if (r.count(v->name)) s = Side::R;
  } else {
    children.root = e.get();
    children.visit_expr(e);
    for (const Expr &c : children.found) s = s | of(c);
  }
  keep_.push_back(e);
  memo_[e.get()] = s;
  return s;
}

// ---- algebra ---------------------------------------------------------------------------------------

bool literal(const Expr &e, double *value) {
  if (const Cast *c = e.as<Cast>()) {
    if (!c->type.is_float()) return false;
    return literal(c->value, value);
  }
  if (const double *f = as_const_float(e)) return *value = *f, true;
  if (const int64_t *i = as_const_int(e)) return *value = static_cast<double>(*i), true;
  if (const uint64_t *u = as_const_uint(e)) return *value = static_cast<double>(*u), true;
  return false;
}

int Factoring::compare(const Monomial &a, const Monomial &b) {
  if (a.powers.size() != b.powers.size()) return a.powers.size() < b.powers.size() ? -1 : 1;
  if (a.conditions.size() != b.conditions.size())
    return a.conditions.size() < b.conditions.size() ? -1 : 1;
  if (a.exponentials.size() != b.exponentials.size())
    return a.exponentials.size() < b.exponentials.size() ? -1 : 1;
  for (size_t i = 0; i < a.powers.size(); i++) {
    if (int c = ir::compare(a.powers[i].base, b.powers[i].base)) return c;
    if (int c = compare_doubles(a.powers[i].exponent, b.powers[i].exponent)) return c;
  }
  for (size_t i = 0; i < a.conditions.size(); i++) {
    if (int c = ir::compare(a.conditions[i], b.conditions[i])) return c;
  }
  for (size_t i = 0; i < a.exponentials.size(); i++) {
    const Exponential &x = a.exponentials[i], &y = b.exponentials[i];
    if (int c = compare_doubles(x.base, y.base)) return c;
    if (x.exponent.size() != y.exponent.size())
      return x.exponent.size() < y.exponent.size() ? -1 : 1;
    for (size_t j = 0; j < x.exponent.size(); j++) {
      if (int c = compare(x.exponent[j], y.exponent[j])) return c;
      const double p = x.exponent[j].coefficient, q = y.exponent[j].coefficient;
      if (std::abs(p - q) > kTolerance * std::abs(p)) return p < q ? -1 : 1;
    }
  }
  return 0;
}

bool Factoring::equal(const Polynomial &a, const Polynomial &b) {
  Monomial x, y;
  x.exponentials.push_back({0, a, {}});
  y.exponentials.push_back({0, b, {}});
  return compare(x, y) == 0;
}

Polynomial Factoring::add(Polynomial a, const Polynomial &b, double factor) {
  for (const Monomial &m : b) {
    const auto at =
        std::lower_bound(a.begin(), a.end(), m,
                         [](const Monomial &x, const Monomial &y) { return compare(x, y) < 0; });
    const double c = m.coefficient * factor;
    if (at != a.end() && compare(*at, m) == 0) {
      const double sum = at->coefficient + c;
      if (std::abs(sum) <= kTolerance * std::abs(c)) {
        a.erase(at);
      } else {
        at->coefficient = sum;
      }
    } else {
      Monomial scaled = m;
      scaled.coefficient = c;
      a.insert(at, std::move(scaled));
    }
  }
  return a;
}

namespace {

void multiply_into(Monomial &m, const Power &p) {
  const auto at = std::lower_bound(
      m.powers.begin(), m.powers.end(), p,
      [](const Power &x, const Power &y) { return ir::compare(x.base, y.base) < 0; });
  if (at == m.powers.end() || !ir::equal(at->base, p.base)) {
    m.powers.insert(at, p);
  } else if ((at->exponent += p.exponent) == 0) {
    m.powers.erase(at);
  }
}

void multiply_into(Monomial &m, const Exponential &e) {
  for (size_t i = 0; i < m.exponentials.size(); i++) {
    Exponential &x = m.exponentials[i];
    if (x.base != e.base) continue;
    x.exponent = Factoring::add(x.exponent, e.exponent);
    x.argument = make_add(convert(x.argument, e.argument.type().bits() > x.argument.type().bits()
                                                  ? e.argument.type()
                                                  : x.argument.type()),
                          convert(e.argument, e.argument.type().bits() > x.argument.type().bits()
                                                  ? e.argument.type()
                                                  : x.argument.type()));
    if (x.exponent.empty()) m.exponentials.erase(m.exponentials.begin() + static_cast<long>(i));
    return;
  }
  m.exponentials.push_back(e);
  std::sort(m.exponentials.begin(), m.exponentials.end(),
            [](const Exponential &a, const Exponential &b) { return a.base < b.base; });
}

void condition_into(Monomial &m, const Expr &c) {
  const auto at = std::lower_bound(m.conditions.begin(), m.conditions.end(), c, ExprLess());
  if (at == m.conditions.end() || !ir::equal(*at, c)) m.conditions.insert(at, c);
}

Monomial product(const Monomial &a, const Monomial &b) {
  Monomial m = a;
  m.coefficient *= b.coefficient;
  for (const Power &p : b.powers) multiply_into(m, p);
  for (const Expr &c : b.conditions) condition_into(m, c);
  for (const Exponential &e : b.exponentials) multiply_into(m, e);
  return m;
}

Exponential scaled(const Exponential &e, double by) {
  Exponential r = e;
  for (Monomial &m : r.exponent) m.coefficient *= by;
  r.argument = make_mul(e.argument, make_float(e.argument.type(), by));
  return r;
}

Monomial raised(const Monomial &m, double exponent) {
  Monomial r;
  r.coefficient = std::pow(m.coefficient, exponent);
  for (const Power &p : m.powers) r.powers.push_back({p.base, p.exponent * exponent});
  for (const Exponential &e : m.exponentials) r.exponentials.push_back(scaled(e, exponent));
  r.conditions = m.conditions;
  return r;
}

}  // namespace

Polynomial Factoring::multiply(const Polynomial &a, const Polynomial &b) {
  Polynomial r;
  for (const Monomial &x : a) {
    for (const Monomial &y : b) r = add(r, {product(x, y)});
  }
  return r;
}

Side Factoring::side(const Monomial &m) {
  Side s = Side::None;
  for (const Power &p : m.powers) s = s | sides_.of(p.base);
  for (const Expr &c : m.conditions) s = s | sides_.of(c);
  for (const Exponential &e : m.exponentials) {
    for (const Monomial &x : e.exponent) s = s | side(x);
  }
  return s;
}

// ---- taking expressions apart ----------------------------------------------------------------------

Polynomial Factoring::run(const Expr &e) {
  double v;
  if (literal(e, &v) && folds(v)) return constant(v);
  const Side s = sides_.of(e);
  if (s != Side::Both && !(in_exponent_ && s == Side::R)) return atom(e);
  Polynomial p = take_apart(e);
  if (p.size() > kMostTerms) throw Stuck{"S0801", e};
  return p;
}

Polynomial Factoring::take_apart(const Expr &e) {
  if (const Add *op = e.as<Add>()) return add(run(op->a), run(op->b));
  if (const Sub *op = e.as<Sub>()) return add(run(op->a), run(op->b), -1);
  if (const Mul *op = e.as<Mul>()) return multiply(run(op->a), run(op->b));
  if (const Div *op = e.as<Div>(); op && e.type().is_float())
    return multiply(run(op->a), power(op->b, -1, e));
  if (const Cast *op = e.as<Cast>()) {
    if (widens(op)) return run(op->value);
    if (sides_.of(e) == Side::Both) throw Stuck{"S0802", e};
    return atom(e);
  }
  if (const Select *op = e.as<Select>()) {
    if (sides_.of(op->condition) == Side::Both) throw Stuck{"S0803", op->condition};
    return choice(op->condition, run(op->true_value), run(op->false_value));
  }
  if (const Call *op = e.as<Call>()) return call(op, e);
  if (sides_.of(e) != Side::Both) return atom(e);
  if (e.type().is_bool()) throw Stuck{"S0803", e};
  throw Stuck{"S0801", e};
}

Polynomial Factoring::choice(const Expr &condition, const Polynomial &t, const Polynomial &f) {
  Polynomial r;
  const auto guarded = [&](const Polynomial &p, const Expr &c) {
    for (Monomial m : p) {
      condition_into(m, c);
      r = add(r, {m});
    }
  };
  if (equal(t, f)) return t;
  guarded(t, condition);
  guarded(f, opposite(condition));
  return r;
}

Polynomial Factoring::call(const Call *op, const Expr &e) {
  double v;
  switch (op->op) {
    case Intrinsic::exp:
    case Intrinsic::fast_exp: return exponential(0, op->args[0], e);
    case Intrinsic::pow:
    case Intrinsic::fast_pow:
      if (literal(op->args[1], &v)) return power(op->args[0], v, e);
      if (literal(op->args[0], &v) && v > 0) return exponential(v, op->args[1], e);
      break;
    case Intrinsic::sqrt: return power(op->args[0], 0.5, e);
    case Intrinsic::fast_inverse: return power(op->args[0], -1, e);
    case Intrinsic::fast_inverse_sqrt: return power(op->args[0], -0.5, e);
    case Intrinsic::log:
    case Intrinsic::fast_log: return logarithm(e, op->args[0]);
    default: break;
  }
  if (sides_.of(e) != Side::Both) return atom(e);
  if (is_rounding(op->op)) throw Stuck{"S0802", e};
  const bool external = op->call_type == CallType::Extern || op->call_type == CallType::PureExtern;
  throw Stuck{external ? "S0813" : "S0801", e};
}

Polynomial Factoring::power(const Expr &base, double exponent, const Expr &e) {
  if (sides_.of(base) != Side::Both) {
    Monomial m;
    m.powers.push_back({base, exponent});
    return {m};
  }
  const Polynomial p = run(base);
  const bool whole = exponent == std::floor(exponent);
  if (whole && exponent >= 0 && exponent <= 8) {
    Polynomial r = constant(1);
    for (int i = 0; i < static_cast<int>(exponent); i++) r = multiply(r, p);
    return r;
  }
  // A quotient or root of a product; roots only where nothing can be negative.
  if (p.size() != 1 || !p[0].conditions.empty()) throw Stuck{"S0801", e};
  if (!whole && (!p[0].powers.empty() || p[0].coefficient < 0)) throw Stuck{"S0801", e};
  return {raised(p[0], exponent)};
}

Polynomial Factoring::exponential(double base, const Expr &argument, const Expr &e) {
  if (sides_.of(e) != Side::Both) return atom(e);
  if (const Expr c = find_choice(argument, sides_); c.defined()) {
    const Select *s = c.as<Select>();
    if (sides_.of(s->condition) == Side::Both) throw Stuck{"S0803", s->condition};
    const Expr t = exchange(argument, c, s->true_value), f = exchange(argument, c, s->false_value);
    const auto branch = [&](const Expr &x) -> Polynomial {
      double v;
      if (literal(x, &v) && std::isinf(v) && (v < 0) == (base == 0 || base > 1)) return {};
      if (sides_.of(x) == Side::Both) return exponential(base, x, e);
      return atom(emit_exp(base, x));
    };
    return choice(s->condition, branch(t), branch(f));
  }
  const bool outer = in_exponent_;
  in_exponent_ = true;
  Polynomial p;
  try {
    p = run(argument);
  } catch (const Stuck &) {
    in_exponent_ = outer;
    throw;
  }
  in_exponent_ = outer;
  for (const Monomial &m : p) {
    if (is_bare(m) && std::isinf(m.coefficient)) {
      if ((m.coefficient < 0) == (base == 0 || base > 1)) return {};
      throw Stuck{"S0801", e};
    }
    if (side(m) == Side::Both) throw Stuck{"S0801", e};
  }
  Monomial m;
  m.exponentials.push_back({base, p, argument});
  return {m};
}

// log of a product whose factors cannot be negative. A reduced factor's sign is the caller's business: a sum of
// exponentials gives the logarithm of what it is, and the textbook form has it too.
Polynomial Factoring::logarithm(const Expr &e, const Expr &argument) {
  if (sides_.of(e) != Side::Both) return atom(e);
  const Polynomial p = run(argument);
  if (p.size() != 1 || !p[0].conditions.empty() || p[0].coefficient <= 0) throw Stuck{"S0801", e};
  Polynomial r = constant(std::log(p[0].coefficient));
  for (const Power &x : p[0].powers) {
    if (sides_.of(x.base) != Side::R) throw Stuck{"S0801", e};
    Monomial m;
    m.coefficient = x.exponent;
    m.powers.push_back({make_intrinsic(x.base.type(), Intrinsic::log, {x.base}), 1});
    r = add(r, {m});
  }
  for (const Exponential &x : p[0].exponentials)
    r = add(r, x.exponent, x.base == 0 ? 1 : std::log(x.base));
  return r;
}

// ---- back to expressions ---------------------------------------------------------------------------

Expr convert(const Expr &e, Type t) {
  double v;
  if (e.type() == t) return e;
  if (t.is_float() && literal(e, &v)) return make_float(t, v);
  return make_cast(t, e);
}

namespace {
bool is_literal(const Expr &e, double what) {
  double v;
  return literal(e, &v) && v == what;
}
}  // namespace

Expr times(const Expr &a, const Expr &b) {
  if (!a.defined() || (b.defined() && is_literal(a, 1))) return b;
  if (!b.defined() || is_literal(b, 1)) return a;
  return make_mul(a, b);
}

Expr plus(const Expr &a, const Expr &b) {
  if (!a.defined() || (b.defined() && is_literal(a, 0))) return b;
  if (!b.defined() || is_literal(b, 0)) return a;
  double v;
  if (literal(b, &v) && v < 0) return make_sub(a, make_float(b.type(), -v));
  if (const Mul *m = b.as<Mul>(); m && is_literal(m->b, -1)) return make_sub(a, m->a);
  return make_add(a, b);
}

Expr opposite(const Expr &condition) {
  if (const Not *n = condition.as<Not>()) return n->a;
  if (condition.type().is_bool() && !condition.type().is_vector()) {
    const bool whole = [&] {
      if (const LT *c = condition.as<LT>()) return !c->a.type().is_float();
      if (const LE *c = condition.as<LE>()) return !c->a.type().is_float();
      if (const GT *c = condition.as<GT>()) return !c->a.type().is_float();
      if (const GE *c = condition.as<GE>()) return !c->a.type().is_float();
      return true;
    }();
    if (whole) {
      if (const LT *c = condition.as<LT>()) return make_ge(c->a, c->b);
      if (const LE *c = condition.as<LE>()) return make_gt(c->a, c->b);
      if (const GT *c = condition.as<GT>()) return make_le(c->a, c->b);
      if (const GE *c = condition.as<GE>()) return make_lt(c->a, c->b);
      if (const EQ *c = condition.as<EQ>()) return make_ne(c->a, c->b);
      if (const NE *c = condition.as<NE>()) return make_eq(c->a, c->b);
    }
  }
  return make_not(condition);
}

Expr emit_exp(double base, const Expr &exponent) {
  const Type t = exponent.type();
  if (base == 0) return make_intrinsic(t, Intrinsic::exp, {exponent});
  return make_intrinsic(t, Intrinsic::pow, {make_float(t, base), exponent});
}

Expr emit_power(const Expr &base, double exponent, Type t) {
  const Expr b = convert(base, t);
  const double size = std::abs(exponent);
  Expr r;
  if (size == std::floor(size) && size <= 8) {
    for (int i = 0; i < static_cast<int>(size); i++) r = times(r, b);
  } else if (size == 0.5) {
    r = make_intrinsic(t, Intrinsic::sqrt, {b});
  } else {
    r = make_intrinsic(t, Intrinsic::pow, {b, make_float(t, size)});
  }
  return exponent < 0 ? make_div(make_float(t, 1), r) : r;
}

Expr emit(const Monomial &m, Type t) {
  Expr above, below;
  for (const Exponential &x : m.exponentials)
    above = times(above, convert(emit_exp(x.base, x.argument), t));
  for (const Power &p : m.powers) {
    Expr &to = p.exponent < 0 ? below : above;
    to = times(to, emit_power(p.base, std::abs(p.exponent), t));
  }
  if (m.coefficient != 1 || !above.defined()) above = times(above, make_float(t, m.coefficient));
  if (!above.defined()) above = make_float(t, 1);
  if (below.defined()) above = make_div(above, below);
  if (m.conditions.empty()) return above;
  Expr all = m.conditions[0];
  for (size_t i = 1; i < m.conditions.size(); i++) all = make_and(all, m.conditions[i]);
  return make_select(all, above, make_float(t, 0));
}

Expr emit(const Polynomial &p, Type t) {
  Expr sum;
  for (const Monomial &m : p) sum = plus(sum, emit(m, t));
  return sum.defined() ? sum : make_float(t, 0);
}

Expr plain_form(const Expr &e, Sides &sides) {
  const Expr flat = substitute_in_lets(e);
  return rewrite(flat, [&](const Expr &x) -> Expr {
    const Call *op = x.as<Call>();
    if (!op || sides.of(x) != Side::Both) return x;
    if (is_hint(op->op)) return op->args[0];
    if (op->op != Intrinsic::fma) return x;
    return plus(times(op->args[0], op->args[1]), op->args[2]);
  });
}

}  // namespace calotype::transform
