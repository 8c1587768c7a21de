// Sums about a mean: Taylor coefficients with respect to the mean so far, and their repair. See solve.h.
#include "solve.h"

#include <cmath>

#include "../analysis/simplify.h"
#include "../ir/equal.h"

namespace calotype::transform {

using namespace ir;

bool MemberSolver::take_factors(const Expr &e, int power, Product &out) {
  double v;
  if (literal(e, &v)) return out.coefficient *= std::pow(v, power), true;
  const Side side = sides_.of(e);
  if (side == Side::R) return false;
  if (side != Side::Both) {
    out.k = times(out.k, emit_power(e, power, t_));
    return true;
  }
  if (const Mul *op = e.as<Mul>())
    return take_factors(op->a, power, out) && take_factors(op->b, power, out);
  if (const Div *op = e.as<Div>())
    return sides_.of(op->b) != Side::Both && take_factors(op->a, power, out) &&
           take_factors(op->b, -power, out);
  if (const Cast *op = e.as<Cast>()) return take_factors(op->value, power, out);
  if (const Select *op = e.as<Select>(); op && is_zero(op->false_value)) {
    out.conditions.push_back(op->condition);
    return take_factors(op->true_value, power, out);
  }
  if (const Call *op = e.as<Call>(); op && op->op == Intrinsic::pow) {
    if (!literal(op->args[1], &v) || v != std::floor(v) || v < 1 || v > 8) return false;
    return take_factors(op->args[0], power * static_cast<int>(v), out);
  }
  if (power < 0) return false;
  for (size_t i = 0; i < out.sums.size(); i++) {
    if (equal(out.sums[i], e)) return out.powers[i] += power, true;
  }
  out.sums.push_back(e);
  out.powers.push_back(power);
  return true;
}

bool MemberSolver::centred(const Expr &core) {
  Product p;
  if (!take_factors(core, 1, p)) return false;
  std::vector<Expr> atoms;
  std::vector<Polynomial> sums;
  for (const Expr &a : p.sums) {
    sums.push_back(factoring_.run(a));
    for (const Monomial &m : sums.back()) {
      const Power *r = only_reduced(m);
      if (!r && factoring_.side(m) != Side::K && factoring_.side(m) != Side::None) return false;
      if (r && index_of(atoms, r->base) < 0) atoms.push_back(r->base);
    }
  }
  std::vector<Center> centers;
  for (const Expr &a : atoms) {
    Center c;
    if (!mean(a, c)) return false;
    centers.push_back(c);
  }
  for (size_t i = 0; i < p.sums.size(); i++) p.slopes.push_back(slopes(sums[i], atoms, p));
  const auto basis = taylor(p, centers.size());
  if (basis.size() > kMostAccumulators) return false;
  for (size_t j = 0; j < atoms.size(); j++) {
    for (Expr &a : p.sums) a = exchanged(a, atoms[j], centers[j]);
  }
  m_.centers = centers;
  m_.repair_class = RepairClass::FiniteRank;
  m_.repairs_at_end = true;
  keep_basis(p, basis);
  return true;
}

Expr MemberSolver::exchanged(const Expr &e, const Expr &atom, const Center &c) {
  const Expr now = convert(make_var(c.now, c.type), atom.type());
  return replace(e, [&](const Expr &x) { return equal(x, atom) ? now : Expr(); });
}

int MemberSolver::index_of(const std::vector<Expr> &list, const Expr &e) {
  for (size_t i = 0; i < list.size(); i++) {
    if (equal(list[i], e)) return static_cast<int>(i);
  }
  return -1;
}

const Power *MemberSolver::only_reduced(const Monomial &m) {
  const Power *r = nullptr;
  for (const Power &p : m.powers) {
    if (sides_.of(p.base) != Side::R) continue;
    if (r || p.exponent != 1) return nullptr;
    r = &p;
  }
  for (const Expr &c : m.conditions) {
    if (sides_.of(c) == Side::R) return nullptr;
  }
  for (const Exponential &x : m.exponentials) {
    for (const Monomial &y : x.exponent) {
      if (factoring_.side(y) == Side::R) return nullptr;
    }
  }
  return r;
}

std::vector<TaylorSum> MemberSolver::slopes(const Polynomial &a, const std::vector<Expr> &atoms,
                                            const Product &p) {
  std::vector<TaylorSum> result(atoms.size());
  for (const Monomial &m : a) {
    const Power *r = only_reduced(m);
    if (!r) continue;
    Monomial k = m;
    k.powers.erase(k.powers.begin() + (r - m.powers.data()));
    TaylorTerm t;
    t.coefficient = k.coefficient;
    k.coefficient = 1;
    if (!is_one(k)) t.k = emit(k, t_);
    t.powers.assign(p.sums.size(), 0);
    add_term(result[index_of(atoms, r->base)], t);
  }
  return result;
}

void MemberSolver::add_term(TaylorSum &sum, const TaylorTerm &t) {
  for (TaylorTerm &o : sum) {
    const bool same_k = o.k.defined() == t.k.defined() && (!o.k.defined() || equal(o.k, t.k));
    if (o.powers != t.powers || !same_k) continue;
    o.coefficient += t.coefficient;
    return;
  }
  sum.push_back(t);
}

TaylorSum MemberSolver::derivative(const TaylorSum &u, size_t j, double divide, const Product &p) {
  TaylorSum r;
  for (const TaylorTerm &t : u) {
    for (size_t i = 0; i < t.powers.size(); i++) {
      if (t.powers[i] == 0) continue;
      for (const TaylorTerm &slope : p.slopes[i][j]) {
        TaylorTerm n = t;
        n.powers[i]--;
        n.coefficient *= t.powers[i] * slope.coefficient / divide;
        n.k = times(n.k, slope.k);
        add_term(r, n);
      }
    }
  }
  return r;
}

std::map<Order, TaylorSum> MemberSolver::taylor(const Product &p, size_t centers) {
  std::map<Order, TaylorSum> basis;
  TaylorTerm whole;
  whole.powers = p.powers;
  std::vector<Order> todo{Order(centers, 0)};
  basis[todo[0]] = {whole};
  while (!todo.empty() && basis.size() <= kMostAccumulators) {
    const Order at = todo.back();
    todo.pop_back();
    for (size_t j = 0; j < centers; j++) {
      Order next = at;
      next[j]++;
      if (basis.count(next)) continue;
      const TaylorSum d = derivative(basis[at], j, next[j], p);
      if (d.empty()) continue;
      basis[next] = d;
      todo.push_back(next);
    }
  }
  return basis;
}

Expr MemberSolver::emit_taylor(const TaylorSum &u, const Product &p) {
  Expr sum;
  for (const TaylorTerm &t : u) {
    Expr e;
    for (size_t i = 0; i < t.powers.size(); i++) {
      if (t.powers[i]) e = times(e, emit_power(p.sums[i], t.powers[i], t_));
    }
    e = times(times(e, t.k), p.k);
    const double c = t.coefficient * p.coefficient;
    if (c != 1 || !e.defined()) e = times(e, make_float(t_, c));
    sum = plus(sum, e.defined() ? e : make_one(t_));
  }
  const Expr when = all_of(p.conditions);
  return when.defined() ? make_select(when, sum, make_zero(t_)) : sum;
}

double MemberSolver::binomial(int n, int k) {
  double r = 1;
  for (int i = 1; i <= k; i++) r = r * (n - k + i) / i;
  return r;
}

void MemberSolver::keep_basis(const Product &p, const std::map<Order, TaylorSum> &basis) {
  std::vector<Expr> symbols;
  for (size_t i = 0; i < basis.size(); i++)
    symbols.push_back(make_var(m_.func + suffix() + ".acc" + std::to_string(i), t_));
  size_t i = 0;
  for (const auto &[order, u] : basis) {
    acc_ = symbols[i++];
    Expr repair;
    size_t j = 0;
    for (const auto &entry : basis) {
      const Expr from = symbols[j++];
      double factor = 1;
      Expr part = from;
      bool above = true;
      for (size_t c = 0; c < order.size(); c++) {
        const int more = entry.first[c] - order[c];
        if (more < 0) above = false;
        if (more <= 0) continue;
        factor *= binomial(entry.first[c], order[c]);
        part = make_mul(part, emit_power(moved(m_.centers[c]), more, t_));
      }
      if (!above) continue;
      repair = plus(repair, factor == 1 ? part : make_mul(part, make_float(t_, factor)));
    }
    keep(emit_taylor(u, p), repair);
  }
}

Expr MemberSolver::moved(const Center &c) {
  return make_sub(make_var(c.now, c.type), make_var(c.before, c.type));
}

bool MemberSolver::mean(const Expr &atom, Center &c) {
  const Expr e = without_casts(atom);
  Expr sum, by;
  bool inverse = false;
  if (const Div *op = e.as<Div>()) sum = op->a, by = op->b;
  if (const Mul *op = e.as<Mul>()) {
    const bool left = reference_named(op->a) != nullptr;
    sum = left ? op->a : op->b;
    by = left ? op->b : op->a;
    inverse = true;
  }
  if (!sum.defined()) return false;
  const Reference *s = reference_named(sum);
  if (!s || !is_plain_sum(*s)) return false;
  const std::string text = s->symbol.str().substr(0, s->symbol.str().size() - 4) + ".mean";
  c.before = text + ".old";
  c.now = text + ".new";
  c.type = t_;
  c.last = convert(atom, t_);
  const Expr total = convert(make_var(s->symbol, s->type), t_);
  const Reference *weights = inverse ? nullptr : reference_named(by);
  if (weights && is_plain_sum(*weights)) {
    const Expr w = convert(make_var(weights->symbol, weights->type), t_);
    c.running = make_select(make_eq(w, make_zero(t_)), make_zero(t_), make_div(total, w));
    return true;
  }
  if (!is_number_of_points(by, inverse)) return false;
  const Reference summed = *s;  // count() may move the references
  const Member of = member_of(summed);
  const Expr n = count(of, of.predicate, summed.args);
  c.running = make_select(make_eq(n, make_int(Int(32), 0)), make_zero(t_),
                          make_div(total, make_cast(t_, n)));
  return true;
}

bool MemberSolver::is_plain_sum(const Reference &r) const {
  const Member &o = member_of(r);
  return o.combine == Combine::Add && o.repair_class == RepairClass::Independent &&
         !o.init[0].defined();
}

bool MemberSolver::is_number_of_points(const Expr &by, bool inverse) {
  Expr points;
  double n = 1, v = 0;
  bool constant = true;
  for (const ReductionVariable &r : plan_.rvars) {
    points = points.defined() ? make_mul(points, r.extent) : r.extent;
    if (const int64_t *x = as_const_int(r.extent)) {
      n *= static_cast<double>(*x);
    } else {
      constant = false;
    }
  }
  if (literal(by, &v)) return constant && std::abs((inverse ? v * n : v / n) - 1) < 1e-6;
  Expr e = without_casts(by);
  if (inverse) {
    const Div *op = e.as<Div>();
    if (!op || !literal(op->a, &v) || v != 1) return false;
    e = without_casts(op->b);
  }
  return e.type() == points.type() && (equal(e, points) || analysis::can_prove(make_eq(e, points)));
}

}  // namespace calotype::transform
