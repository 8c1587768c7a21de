// Solving conditions for one variable. Comparisons become `form <= 0`; a single affine occurrence of the variable gives
// an exact end; divisions, min, max and select around it are opened first.
#include "../ir/visit.h"
#include "linear_ops.h"
#include "simplify.h"

namespace calotype::analysis {

using namespace ir;

namespace {

constexpr int kMaxDepth = 24;

class Solver {
public:
  Solver(Name var, bool outer) : var_(var), outer_(outer) {}

  Interval solve(const Expr &c, bool value, int depth = 0) {
    if (depth > kMaxDepth) return unknown();
    if (is_const(c)) return is_const_zero(c) == value ? empty() : Interval{};
    switch (c.kind()) {
      case NodeKind::Not: return solve(c.as<Not>()->a, !value, depth + 1);
      case NodeKind::Broadcast: return solve(c.as<Broadcast>()->value, value, depth + 1);
      case NodeKind::And: return join(c.as<And>()->a, c.as<And>()->b, value, value, depth);
      case NodeKind::Or: return join(c.as<Or>()->a, c.as<Or>()->b, value, !value, depth);
      case NodeKind::LT: return compare(c.as<LT>()->a, c.as<LT>()->b, true, value, depth);
      case NodeKind::LE: return compare(c.as<LE>()->a, c.as<LE>()->b, false, value, depth);
      case NodeKind::GT: return compare(c.as<GT>()->b, c.as<GT>()->a, true, value, depth);
      case NodeKind::GE: return compare(c.as<GE>()->b, c.as<GE>()->a, false, value, depth);
      case NodeKind::EQ: return equality(c.as<EQ>()->a, c.as<EQ>()->b, value, depth);
      case NodeKind::NE: return equality(c.as<NE>()->a, c.as<NE>()->b, !value, depth);
      case NodeKind::Let: return solve(substitute_in_lets(c), value, depth + 1);
      case NodeKind::Call:
        if (c.as<Call>()->op == Intrinsic::likely ||
            c.as<Call>()->op == Intrinsic::likely_if_innermost) {
          return solve(c.as<Call>()->args[0], value, depth + 1);
        }
        return unknown();
      default: return unknown();
    }
  }

private:
  static Interval empty() { return {make_int(Int(32), 1), make_int(Int(32), 0), {}}; }
  static bool is_empty(const Interval &i) {
    const int64_t *a = i.has_lower() ? as_const_int(i.min) : nullptr,
                  *b = i.has_upper() ? as_const_int(i.max) : nullptr;
    return a && b && *a > *b;
  }
  Interval unknown() const { return outer_ ? Interval{} : empty(); }

  Interval both(const Interval &a, const Interval &b) const {
    if (is_empty(a)) return a;
    return is_empty(b) ? b : intersection(a, b);
  }
  Interval either(const Interval &a, const Interval &b) const {
    if (is_empty(a)) return b;
    if (is_empty(b)) return a;
    if (outer_) return hull(a, b);
    // The union need not be an interval: one of the two is inside for sure. The one with fewer ends is larger.
    return a.has_lower() + a.has_upper() <= b.has_lower() + b.has_upper() ? a : b;
  }
  Interval join(const Expr &a, const Expr &b, bool value, bool conjunction, int depth) {
    Interval x = solve(a, value, depth + 1), y = solve(b, value, depth + 1);
    return conjunction ? both(x, y) : either(x, y);
  }

  /// a < b or a <= b is `value`.
  Interval compare(const Expr &a, const Expr &b, bool strict, bool value, int depth) {
    if (!is_index(a.type()) || !a.type().is_scalar()) return unknown();
    LinearForm f = value ? combine(linear_form(a), 1, linear_form(b), -1)
                         : combine(linear_form(b), 1, linear_form(a), -1);
    if (strict == value) f.constant = wrap_add(f.constant, 1);
    return at_most_zero(f, a.type(), depth + 1);
  }
  Interval equality(const Expr &a, const Expr &b, bool value, int depth) {
    if (!is_index(a.type()) || !a.type().is_scalar() || !value) return unknown();
    LinearForm f = combine(linear_form(a), 1, linear_form(b), -1);
    return both(at_most_zero(f, a.type(), depth + 1),
                at_most_zero(scale(f, -1), a.type(), depth + 1));
  }

  Interval at_most_zero(const LinearForm &f, Type t, int depth) {
    LinearForm rest;
    rest.constant = f.constant;
    std::vector<std::pair<Expr, int64_t>> mine;
    for (auto &term : f.terms) {
      if (uses_var(term.first, var_))
        mine.push_back(term);
      else
        rest.terms.push_back(term);
    }
    if (mine.empty()) {
      Expr c = simplify(make_le(to_expr(f, t), make_zero(t)));
      return is_const(c) ? (is_const_one(c) ? Interval{} : empty()) : unknown();
    }
    if (depth > kMaxDepth) return unknown();
    const auto &[e, c] = mine[0];
    if (mine.size() == 1 && e.as<Variable>()) {
      // c*v + rest <= 0
      if (c > 0) return {{}, simplify(quotient(scale(rest, -1), c, t)), {}};
      rest.constant = wrap_add(rest.constant, -c - 1);
      return {simplify(quotient(rest, -c, t)), {}, {}};
    }
    for (size_t i = 0; i < mine.size(); i++) {
      Interval r;
      if (open(mine, i, rest, t, depth, &r)) return r;
    }
    return unknown();
  }

  static Expr quotient(const LinearForm &f, int64_t k, Type t) {
    Expr e = to_expr(f, t);
    return k == 1 ? e : make_div(e, make_int(t, k));
  }

  /// Opens the i-th term that has the variable: sum of mine + rest <= 0.
  bool open(const std::vector<std::pair<Expr, int64_t>> &mine, size_t i, const LinearForm &rest,
            Type t, int depth, Interval *r) {
    const auto [e, c] = mine[i];
    LinearForm others = rest;
    for (size_t j = 0; j < mine.size(); j++) {
      if (j != i) others.terms.push_back(mine[j]);
    }
    normalise(others);
    auto with = [&](const Expr &x) {
      return at_most_zero(combine(others, 1, linear_form(x), c), t, depth + 1);
    };
    if (const Min *m = e.as<Min>())
      return *r = c > 0 ? either(with(m->a), with(m->b)) : both(with(m->a), with(m->b)), true;
    if (const Max *m = e.as<Max>())
      return *r = c > 0 ? both(with(m->a), with(m->b)) : either(with(m->a), with(m->b)), true;
    if (const Call *l = e.as<Call>()) {
      if (l->op != Intrinsic::likely && l->op != Intrinsic::likely_if_innermost) return false;
      return *r = with(l->args[0]), true;
    }
    if (const Select *s = e.as<Select>()) {
      if (!outer_) return false;
      return *r = either(both(solve(s->condition, true, depth + 1), with(s->true_value)),
                         both(solve(s->condition, false, depth + 1), with(s->false_value))),
             true;
    }
    const Div *d = e.as<Div>();
    const int64_t *k = d ? as_const_int(d->b) : nullptr;
    if (!k || *k <= 0 || mine.size() != 1) return false;
    if (c > 0) {
      // a / k <= q, with q = floor(-rest / c): a - k*q - (k - 1) <= 0
      LinearForm q = linear_form(simplify(quotient(scale(rest, -1), c, t)));
      LinearForm f = combine(linear_form(d->a), 1, q, -*k);
      f.constant = wrap_sub(f.constant, *k - 1);
      return *r = at_most_zero(f, t, depth + 1), true;
    }
    // a / k >= q, with q = ceil(rest / -c): k*q - a <= 0
    LinearForm up = rest;
    up.constant = wrap_add(up.constant, -c - 1);
    LinearForm q = linear_form(simplify(quotient(up, -c, t)));
    return *r = at_most_zero(combine(q, *k, linear_form(d->a), -1), t, depth + 1), true;
  }

  Name var_;
  bool outer_;
};

Interval simplified(Interval i) {
  if (i.has_lower()) i.min = simplify(i.min);
  if (i.has_upper()) i.max = simplify(i.max);
  return i;
}

}  // namespace

Interval solve_outer(const Expr &condition, Name var) {
  return simplified(Solver(var, true).solve(simplify(condition), true));
}
Interval solve_inner(const Expr &condition, Name var) {
  return simplified(Solver(var, false).solve(simplify(condition), true));
}

}  // namespace calotype::analysis
