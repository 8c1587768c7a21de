// Sums: what waits until the end, exponentials that follow a maximum, sums of products. See solve.h.
#include "solve.h"

#include <algorithm>
#include <cmath>

#include "../ir/equal.h"

namespace calotype::transform {

using namespace ir;

namespace {

bool is_log(const Expr &e) {
  const Call *c = e.as<Call>();
  return c && (c->op == Intrinsic::log || c->op == Intrinsic::fast_log);
}

}  // namespace

Stripped MemberSolver::strip(const Expr &e) {
  Stripped s;
  const Side side = sides_.of(e);
  if (side == Side::R) {
    s.wraps.push_back([e](const Expr &x) { return make_mul(x, convert(e, x.type())); });
    return s;
  }
  s.core = e;
  if (side != Side::Both) return s;
  if (const Mul *op = e.as<Mul>()) {
    const Stripped a = strip(op->a), b = strip(op->b);
    s.core = times(a.core, b.core);
    s.wraps = a.wraps;
    s.wraps.insert(s.wraps.end(), b.wraps.begin(), b.wraps.end());
  } else if (const Div *div = e.as<Div>()) {
    strip_quotient(div, s);
  } else if (const Cast *cast = e.as<Cast>(); cast && cast->type.is_float() &&
                                              cast->value.type().is_float() &&
                                              cast->value.type().bits() <= cast->type.bits()) {
    s = strip(cast->value);
    if (s.core.defined()) s.core = make_cast(cast->type, s.core);
  } else if (const Select *select = e.as<Select>()) {
    strip_choice(select, s);
  } else if (const Call *call = e.as<Call>()) {
    strip_call(call, s);
  }
  return s;
}

void MemberSolver::strip_quotient(const Div *op, Stripped &s) {
  const Side below = sides_.of(op->b);
  if (below == Side::Both) return;
  const Stripped a = strip(op->a);
  s.wraps = a.wraps;
  if (below == Side::R) {
    s.core = a.core;
    const Expr b = op->b;
    s.wraps.push_back([b](const Expr &x) { return make_div(x, convert(b, x.type())); });
  } else {
    s.core = make_div(a.core.defined() ? a.core : make_one(op->type), op->b);
  }
}

void MemberSolver::strip_choice(const Select *op, Stripped &s) {
  const Side side = sides_.of(op->condition);
  const bool zero_true = is_zero(op->true_value), zero_false = is_zero(op->false_value);
  if (side == Side::Both || (!zero_true && !zero_false)) return;
  const Stripped inner = strip(zero_true ? op->false_value : op->true_value);
  const Expr c = op->condition;
  s = inner;
  if (side == Side::R) {
    s.wraps.push_back([c, zero_true](const Expr &x) {
      const Expr zero = make_zero(x.type());
      return zero_true ? make_select(c, zero, x) : make_select(c, x, zero);
    });
    return;
  }
  const Expr core = inner.core.defined() ? inner.core : make_one(op->type);
  const Expr zero = make_zero(core.type());
  s.core = zero_true ? make_select(c, zero, core) : make_select(c, core, zero);
  if (s.wraps.empty()) return;
  const Expr taken = zero_true ? opposite(c) : c;
  s.wraps.push_back([this, taken](const Expr &x) { return where_taken(taken, x); });
}

void MemberSolver::strip_call(const Call *op, Stripped &s) {
  double base = 0;
  Expr argument;
  if (op->op == Intrinsic::exp || op->op == Intrinsic::fast_exp) argument = op->args[0];
  if (op->op == Intrinsic::pow && literal(op->args[0], &base) && base > 0) argument = op->args[1];
  if (!argument.defined()) return;
  std::vector<Addend> parts, stay;
  split_sum(argument, false, parts);
  for (const Addend &a : parts) {
    Expr factor = a.e;
    double scale = 1;
    if (const Mul *m = factor.as<Mul>(); m && literal(m->b, &scale)) factor = m->a;
    if (sides_.of(a.e) != Side::R || !is_log(factor)) {
      stay.push_back(a);
      continue;
    }
    const Expr inside = factor.as<Call>()->args[0];
    if (base == 0 && std::abs(scale) == 1) {
      const bool below = a.negative != (scale < 0);
      s.wraps.push_back([inside, below](const Expr &x) {
        const Expr l = convert(inside, x.type());
        return below ? make_div(x, l) : make_mul(x, l);
      });
    } else {
      const Expr term = a.negative ? make_mul(a.e, make_float(a.e.type(), -1)) : a.e;
      s.wraps.push_back([term, base](const Expr &x) {
        return make_mul(x, convert(emit_exp(base, term), x.type()));
      });
    }
  }
  if (stay.size() == parts.size()) return;
  const Expr left = join_sum(stay, argument.type());
  s.core =
      op->op == Intrinsic::pow ? emit_exp(base, left) : make_intrinsic(op->type, op->op, {left});
}

void MemberSolver::sum(const Expr &f) {
  const Stripped s = strip(f);
  const Expr core = s.core.defined() ? convert(s.core, t_) : make_one(t_);
  m_.repair_class = RepairClass::Scale;
  const Side side = sides_.of(core);
  if (side != Side::R && side != Side::Both) {
    keep(core, acc_);
  } else {
    const Polynomial p = factoring_.run(core);
    const std::vector<Exponential> exponents = shared_exponents(p, core);
    const std::vector<Group> groups = grouped(p);
    if (groups.empty()) {
      keep(make_zero(t_), acc_);  // what is added cancels out
    } else if (groups.size() == 1 && bare(groups[0].r)) {
      scale(core, p, exponents);
    } else if (exponents.empty() && centred(core)) {
      finish(s, s.wrapped(acc_of(0)));
      return;
    } else {
      return raw(core, groups, exponents, s);
    }
  }
  finish(s, s.wrapped(acc_));
}

Expr MemberSolver::acc_of(size_t i) const {
  return make_var(m_.accumulators[i].symbol, m_.accumulators[i].type);
}

void MemberSolver::finish(const Stripped &s, const Expr &value) {
  const bool plain = value.as<Variable>() != nullptr;
  m_.values = {plain ? with_init(value) : guarded(value)};
  if (!s.wraps.empty() || (!plain && m_.deferred.empty()))
    m_.deferred = pretty(s.wrapped(make_var(m_.func, t_)));
}

bool MemberSolver::bare(const Monomial &m) { return m.powers.empty() && m.conditions.empty(); }

std::vector<Group> MemberSolver::grouped(const Polynomial &p) {
  std::vector<Group> groups;
  for (const Monomial &m : p) {
    Monomial r, k;
    k.coefficient = m.coefficient;
    k.exponentials = m.exponentials;
    for (const Power &x : m.powers) (sides_.of(x.base) == Side::R ? r : k).powers.push_back(x);
    for (const Expr &c : m.conditions) (sides_.of(c) == Side::R ? r : k).conditions.push_back(c);
    size_t i = 0;
    while (i < groups.size() && Factoring::compare(groups[i].r, r) != 0) i++;
    if (i == groups.size()) groups.push_back({r, {}});
    groups[i].k = Factoring::add(groups[i].k, {k});
  }
  return groups;
}

std::vector<Exponential> MemberSolver::shared_exponents(const Polynomial &p, const Expr &core) {
  std::vector<Exponential> first;
  for (size_t i = 0; i < p.size(); i++) {
    std::vector<Exponential> now;
    for (const Exponential &x : p[i].exponentials) {
      Exponential r{x.base, {}, x.argument};
      for (const Monomial &m : x.exponent) {
        if (factoring_.side(m) == Side::R) r.exponent.push_back(m);
      }
      if (!r.exponent.empty()) now.push_back(r);
    }
    if (i == 0) first = now;
    bool same = now.size() == first.size();
    for (size_t j = 0; same && j < now.size(); j++)
      same = now[j].base == first[j].base && Factoring::equal(now[j].exponent, first[j].exponent);
    if (!same) throw Stuck{"S0801", core};
  }
  return first;
}

Factor MemberSolver::factor_of(const std::vector<Exponential> &exponents) {
  Factor f;
  for (const Exponential &x : exponents) {
    Expr difference;
    const Type t = x.argument.type();
    for (const Monomial &m : x.exponent) {
      const Expr part = difference_of(m, x, t, f.centers);
      difference = difference.defined() ? make_add(difference, part) : part;
    }
    f.factor = times(f.factor, convert(emit_exp(x.base, difference), t_));
  }
  return f;
}

Expr MemberSolver::difference_of(const Monomial &m, const Exponential &x, Type t,
                                 std::vector<int> &centers) {
  Monomial c = m;
  const Reference *r = nullptr;
  for (size_t i = 0; i < c.powers.size(); i++) {
    if (sides_.of(c.powers[i].base) != Side::R) continue;
    const Reference *found = reference_named(c.powers[i].base);
    if (r || !found || c.powers[i].exponent != 1) refuse_growth(x, emit(m, t));
    r = found;
    c.powers.erase(c.powers.begin() + static_cast<long>(i--));
  }
  const Expr shown = emit(m, t);
  if (!r || !c.exponentials.empty() || !c.conditions.empty()) refuse_growth(x, shown);
  const Member &o = member_of(*r);
  const bool key = r->value == (o.written.size() > 1 ? o.value_index : 0);
  const bool largest = key && (o.combine == Combine::Max || o.combine == Combine::ArgMax);
  const bool smallest = key && (o.combine == Combine::Min || o.combine == Combine::ArgMin);
  if ((!largest && !smallest) || o.repair_class != RepairClass::Independent)
    refuse_growth(x, shown);
  // The exponent may only fall: base^(sign * c * (new - old)) with c >= 0.
  const bool falls = largest == (x.base == 0 || x.base > 1);
  c.coefficient *= falls ? -1 : 1;
  if (!signs_of(emit(c, t), known_).not_negative()) refuse_growth(x, shown);
  const int index = center(*r);
  if (std::find(centers.begin(), centers.end(), index) == centers.end()) centers.push_back(index);
  const Center &at = m_.centers[index];
  const Expr before = convert(make_var(at.before, at.type), t);
  const Expr now = convert(make_var(at.now, at.type), t);
  const Expr change = falls ? make_sub(before, now) : make_sub(now, before);
  return is_one(c) ? change : make_mul(change, emit(c, t));
}

bool MemberSolver::is_one(const Monomial &m) {
  return m.coefficient == 1 && m.powers.empty() && m.conditions.empty() && m.exponentials.empty();
}

void MemberSolver::refuse_growth(const Exponential &x, const Expr &part) {
  refuse("S0808", func().loc,
         "the exponent `" + pretty(x.argument) + "` of " + m_.func +
             " follows a reference that is not monotone: correction may overflow",
         "`" + pretty(part) +
             "` is not provably a falling multiple of a maximum (or a rising one of a minimum), "
             "so exp of its change has no bound",
         "subtract the maximum of the exponent; a parameter that scales it needs "
         "set_min_value(0) or more",
         m_.loc);
}

int MemberSolver::center(const Reference &r) {
  for (size_t i = 0; i < m_.centers.size(); i++) {
    if (m_.centers[i].reference >= 0 && m_.references[m_.centers[i].reference].symbol == r.symbol)
      return static_cast<int>(i);
  }
  Center c;
  const std::string text = r.symbol.str().substr(0, r.symbol.str().size() - 4);
  c.before = text + ".old";
  c.now = text + ".new";
  c.type = r.type;
  c.running = c.last = make_var(r.symbol, r.type);
  c.reference = static_cast<int>(&r - m_.references.data());
  m_.centers.push_back(c);
  return static_cast<int>(m_.centers.size()) - 1;
}

Expr MemberSolver::repaired(const Expr &acc, const Factor &f) {
  std::vector<Expr> same;
  Expr lost;
  for (int i : f.centers) {
    const Center &c = m_.centers[i];
    const Member &o = member_of(m_.references[c.reference]);
    const Expr before = make_var(c.before, c.type);
    same.push_back(make_eq(before, make_var(c.now, c.type)));
    const Expr none = make_eq(before, identity_of(o.combine, c.type));
    lost = lost.defined() ? make_or(lost, none) : none;
  }
  Expr r = make_select(lost, make_zero(t_), make_mul(acc, f.factor));
  if (m_.combine != Combine::Add) {
    const Expr e = identity_of(m_.combine, t_);
    r = make_select(make_eq(acc, e), e, r);
  }
  return make_select(all_of(same), acc, r);
}

void MemberSolver::check_identity(const Expr &term, const Factor &f) {
  for (int i : f.centers) {
    const Reference &r = m_.references[m_.centers[i].reference];
    const Member &o = member_of(r);
    const Expr element = element_of(r);
    const Expr identity = identity_of(o.combine, element.type());
    if (vanishes_with(p_, term, element, identity, known_)) continue;
    refuse("S0809", func().loc,
           "the factor of " + o.func + " may be infinite where " + m_.func + " is not zero",
           "where `" + pretty(element) + "` is " + pretty(identity) + " at every point so far, " +
               o.func + " is too, and `" + pretty(term) + "` is not provably 0 there",
           "let " + o.func + " be the " + to_string(o.combine) +
               " of the same (masked) values that the exponent has",
           m_.loc);
  }
}

void MemberSolver::check_ceiling(const Polynomial &p, const Factor &f) {
  Substitution elements;
  for (int i : f.centers) {
    const Reference &r = m_.references[m_.centers[i].reference];
    elements[r.symbol] = element_of(r);
  }
  for (const Monomial &m : p) {
    for (const Exponential &x : m.exponentials) {
      Expr e = substitute(elements, x.argument);
      if (e.same_as(x.argument)) continue;  // of loop values alone: as in the textbook form
      if (x.base != 0 && x.base < 1) e = make_mul(e, make_float(e.type(), -1));
      if (never_positive(p_, e, m.conditions, known_)) continue;
      refuse("S0808", func().loc,
             "the exponent `" + pretty(x.argument) + "` of " + m_.func +
                 " is not bounded while the pass runs: terms may overflow before " +
                 plan_name(m_.references[m_.centers[f.centers[0]].reference]).str() + " has grown",
             "`" + pretty(e) + "` is not provably 0 or less",
             "take the maximum of the exponent's own values", m_.loc);
    }
  }
}

Expr MemberSolver::element_of(const Reference &r) const {
  const Member &o = member_of(r);
  Substitution map;
  for (size_t a = 0; a < o.args.size(); a++) map[o.args[a]] = r.args[a];
  return substitute(map, o.written[o.written.size() > 1 ? o.value_index : 0]);
}

void MemberSolver::scale(const Expr &core, const Polynomial &p,
                         const std::vector<Exponential> &exponents) {
  if (exponents.empty()) throw Stuck{"S0801", core};
  const Factor f = factor_of(exponents);
  check_identity(core, f);
  check_ceiling(p, f);
  keep(core, repaired(acc_, f));
}

void MemberSolver::raw(const Expr &core, const std::vector<Group> &groups,
                       const std::vector<Exponential> &exponents, const Stripped &s) {
  if (groups.size() > kMostAccumulators) throw Stuck{"S0801", core};
  if (groups.size() > 1) m_.repair_class = RepairClass::FiniteRank;
  const Factor f = factor_of(exponents);
  Expr value;
  for (size_t j = 0; j < groups.size(); j++) {
    const Expr term = emit(groups[j].k, t_);
    acc_ = make_var(m_.func + suffix() + ".acc" + std::to_string(j), t_);
    if (!f.centers.empty()) {
      check_identity(term, f);
      check_ceiling(groups[j].k, f);
    }
    keep(term, f.centers.empty() ? acc_ : repaired(acc_, f));
    Expr part = acc_;
    Monomial h = groups[j].r;
    const std::vector<Expr> conditions = std::move(h.conditions);
    h.conditions.clear();
    if (!bare(h)) part = make_mul(acc_, emit(h, t_));
    if (const Expr taken = taken_in(groups[j].k); taken.defined() && !bare(h))
      part = where_taken(taken, part);
    if (!conditions.empty()) part = make_select(all_of(conditions), part, make_zero(t_));
    value = plus(value, part);
  }
  m_.deferred = pretty(s.wrapped(value));
  m_.values = {guarded(s.wrapped(value))};
}

Expr MemberSolver::taken_in(const Polynomial &p) {
  Expr any;
  for (const Monomial &m : p) {
    const Expr all = all_of(m.conditions);
    if (!all.defined()) return {};
    any = any.defined() ? make_or(any, all) : all;
  }
  return any;
}

}  // namespace calotype::transform
