// Finds, for every member of a cascade, what is kept while the pass runs and how it is repaired.
//
// In order: factors that depend on reduced values alone wait until the end (strip); what is left either uses no reduced
// value, or has them in an exponent (Scale: the accumulator is multiplied by exp of the difference), or is a sum of few
// products (FiniteRank: one accumulator per product, or, where the reduced value is a mean, the Taylor coefficients
// about the mean so far, whose repair is a binomial matrix and which do not cancel).
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "../analysis/simplify.h"
#include "../ir/equal.h"
#include "../ir/visit.h"
#include "collect.h"
#include "prove.h"

namespace calotype::transform {

using namespace ir;

namespace {

constexpr size_t kMostAccumulators = 4;
constexpr int kFirstCount =
    1 << 20;  ///< references to counting members, until they get their places

using Wrap = std::function<Expr(const Expr &)>;

struct Stripped {
  Expr core;  ///< undefined: 1
  std::vector<Wrap> wraps;
  Expr wrapped(Expr x) const {
    for (const Wrap &w : wraps) x = w(x);
    return x;
  }
};

Expr all_of(const std::vector<Expr> &conditions) {
  Expr r;
  for (const Expr &c : conditions) r = r.defined() ? make_and(r, c) : c;
  return r;
}

bool is_zero(const Expr &e) {
  double v;
  return literal(e, &v) && v == 0;
}

bool is_log(const Expr &e) {
  const Call *c = e.as<Call>();
  return c && (c->op == Intrinsic::log || c->op == Intrinsic::fast_log);
}

Expr without_casts(Expr e) {
  while (const Cast *c = e.as<Cast>()) e = c->value;
  return e;
}

struct Addend {
  Expr e;
  bool negative;
};

void split_sum(const Expr &e, bool negative, std::vector<Addend> &out) {
  if (const Add *op = e.as<Add>()) {
    split_sum(op->a, negative, out);
    split_sum(op->b, negative, out);
  } else if (const Sub *sub = e.as<Sub>()) {
    split_sum(sub->a, negative, out);
    split_sum(sub->b, !negative, out);
  } else {
    out.push_back({e, negative});
  }
}

Expr join_sum(const std::vector<Addend> &parts, Type t) {
  Expr r;
  for (const Addend &a : parts) {
    if (!r.defined()) {
      r = a.negative ? make_mul(a.e, make_float(a.e.type(), -1)) : a.e;
    } else {
      r = a.negative ? make_sub(r, a.e) : make_add(r, a.e);
    }
  }
  return r.defined() ? r : make_zero(t);
}

/// coefficient * k * product of A_i^power_i
struct TaylorTerm {
  double coefficient = 1;
  std::vector<int> powers;
  Expr k;
};
using TaylorSum = std::vector<TaylorTerm>;

class MemberSolver {
public:
  MemberSolver(const Program &p, OnlinePlan &plan, Member &m, std::vector<Member> &counts,
               const KnownSigns &known)
      : p_(p),
        plan_(plan),
        m_(m),
        counts_(counts),
        known_(known),
        sides_(sides_of(plan, m)),
        factoring_(sides_) {}

  void run() {
    if (m_.combine == Combine::ArgMax || m_.combine == Combine::ArgMin) return best();
    t_ = m_.written[0].type();
    acc_ = make_var(m_.func + suffix() + ".acc", t_);
    check_types();
    if (sides_.of(m_.written[0]) != Side::R && sides_.of(m_.written[0]) != Side::Both) {
      keep(m_.written[0], acc_);
      m_.values = {with_init(acc_)};
      return;
    }
    const Expr f = plain_form(m_.written[0], sides_);
    try {
      if (m_.combine == Combine::Add) return sum(f);
      if (m_.combine == Combine::Max || m_.combine == Combine::Min) return extreme(f);
    } catch (const Stuck &s) {
      refuse_stuck(s);
    }
    refuse("S0801", func().loc,
           m_.func + " combines by " + to_string(m_.combine) + " what uses " + used_members(f),
           "no repair distributes over " + std::string(to_string(m_.combine)),
           "only sums, max and min may use earlier reductions of the pass", m_.loc);
  }

private:
  const Function &func() const { return *p_.find(m_.func); }
  std::string suffix() const {
    return func().types.size() > 1 ? "." + std::to_string(m_.value_index) : "";
  }

  std::string used_members(const Expr &e) {
    std::string all;
    for (const Reference &r : m_.references) {
      if (!uses_var(e, r.symbol)) continue;
      const Name n = plan_name(r);
      if (all.find(n.str()) == std::string::npos) all += (all.empty() ? "" : ", ") + n.str();
    }
    return all.empty() ? "no member" : all;
  }
  Name plan_name(const Reference &r) const { return member_of(r).func; }
  const Member &member_of(const Reference &r) const {
    return r.member >= kFirstCount ? counts_[r.member - kFirstCount] : plan_.members[r.member];
  }

  // ---- what may be accumulated at all ------------------------------------------------------------------

  void check_types() {
    const bool adds = m_.combine == Combine::Add || m_.combine == Combine::Mul;
    if (adds && t_.is_float() && (t_.bits() < 32 || t_.is_bfloat())) {
      refuse("S0811", func().loc, m_.func + " accumulates in " + calotype::to_string(t_),
             "one pass adds block sums and repairs them; with so few bits each repair loses too "
             "much",
             "accumulate in float32: " + m_.func + "() = cast<float>(...)", m_.loc);
    }
    const Side s = sides_.of(m_.written[0]);
    if (s != Side::R && s != Side::Both) return;
    if (!t_.is_float()) {
      refuse("S0810", func().loc,
             "integer accumulator " + m_.func + " depends on " + used_members(m_.written[0]),
             "an integer factor has no inverse (2 is no unit modulo 2^32), so what was added with "
             "an older value cannot be repaired",
             "accumulate in float32", m_.loc);
    }
    for_each_expr(m_.written[0], [&](const Expr &x) {
      const Call *c = x.as<Call>();
      if (!c || (c->op != Intrinsic::exp && c->op != Intrinsic::fast_exp &&
                 c->op != Intrinsic::pow && c->op != Intrinsic::fast_pow))
        return;
      if (sides_.of(x) != Side::Both || (c->type.bits() >= 32 && !c->type.is_bfloat())) return;
      refuse(
          "S0811", func().loc,
          "`" + pretty(x) + "` of " + m_.func + " is computed in " + calotype::to_string(c->type),
          "a repair multiplies by such exponentials again and again; 16 bits lose too much",
          "take the exponential in float32: exp(cast<float>(...))", m_.loc);
    });
  }

  [[noreturn]] void refuse_stuck(const Stuck &s) {
    const std::string code = s.code, at = "`" + pretty(s.at) + "`";
    const std::string uses = used_members(s.at), loop = plan_.var;
    if (code == "S0802") {
      refuse("S0802", func().loc, "rounding in " + at + " of " + m_.func + " is not separable",
             "it rounds a value that mixes what " + loop + " runs over with " + uses +
                 ", so no factor repairs it when " + uses + " changes",
             "round after the pass, or leave " + m_.func + " out of it", m_.loc);
    }
    if (code == "S0803") {
      refuse("S0803", func().loc,
             "predicate " + at + " of " + m_.func + " depends on a reduction of the same pass",
             "which points count would change with " + uses,
             "compute " + uses + " in a pass of its own, before", m_.loc);
    }
    if (code == "S0813") {
      refuse("S0813", func().loc, "extern call " + at + " inside the cascade of " + m_.func,
             "it mixes what " + loop + " runs over with " + uses + ", and nothing is known of it",
             "write it as an expression", m_.loc);
    }
    refuse(s.code, func().loc,
           at + " of " + m_.func + " mixes what " + loop + " runs over with " + uses,
           "it is no product of a factor of each, nor a short sum of such products, so terms "
           "added with an older value of " +
               uses + " cannot be repaired",
           "make " + uses + " a reduction that is finished before: leave it out of the list, or " +
               m_.func + " out of the pass",
           m_.loc);
  }

  // ---- parts of the result -----------------------------------------------------------------------------

  void keep(const Expr &term, const Expr &repair) {
    Accumulator a;
    a.symbol = acc_.as<Variable>()->name;
    a.type = t_;
    a.identity = identity_of(m_.combine, t_);
    a.term = to_now(term);
    // A reduced value that cancels out, as in exp(x - m)*exp(m - y), is in the text but in no center.
    for (const Reference &r : m_.references) {
      if (uses_var(a.term, r.symbol)) throw Stuck{"S0801", term};
    }
    a.repair = repair;
    m_.accumulators.push_back(std::move(a));
  }

  Expr with_init(const Expr &value) const {
    return m_.init[0].defined() ? transform::apply(m_.combine, m_.init[0], value) : value;
  }

  /// The result where `value` is not the accumulator itself: an empty domain still gives what the algorithm says.
  Expr guarded(const Expr &value) {
    const Expr some = not_empty();
    const Expr none = m_.init[0].defined() ? m_.init[0] : identity_of(m_.combine, t_);
    return some.defined() ? make_select(some, with_init(value), none) : with_init(value);
  }

  Expr not_empty() {
    if (m_.predicate.defined()) return counted(m_.predicate);
    std::vector<Expr> conditions;
    for (const ReductionVariable &r : plan_.rvars) {
      const Expr c = analysis::simplify(make_gt(r.extent, make_zero(r.extent.type())));
      if (!is_const_one(c)) conditions.push_back(c);
    }
    return all_of(conditions);
  }

  /// Whether some point of this member's domain fulfils `condition`.
  Expr counted(const Expr &condition) {
    std::vector<Expr> at;
    for (const Name &n : m_.args) at.push_back(make_var(n));
    return make_gt(count(m_, condition, at), make_int(Int(32), 0));
  }
  /// `value` where a term had `condition`, else 0: what was never taken is not multiplied by what may be infinite.
  Expr where_taken(const Expr &condition, const Expr &value) {
    const Expr c = m_.predicate.defined() ? make_and(m_.predicate, condition) : condition;
    return make_select(counted(c), value, make_zero(value.type()));
  }

  /// How many points so far fulfil `predicate` (undefined: all), which is in the Vars of `of`; at `of`'s coordinates `at`
  /// (in this member's Vars).
  Expr count(const Member &of, const Expr &predicate, const std::vector<Expr> &at) {
    size_t i = 0, of_same = 0;
    const std::string owner = predicate.defined() ? of.func.str() : std::string("domain");
    for (; i < counts_.size(); i++) {
      const bool same_owner = counts_[i].func.str().compare(0, owner.size() + 1, owner + ".") == 0;
      const Expr &known = counts_[i].predicate;
      if (same_owner && (known.defined() ? equal(known, predicate) : !predicate.defined())) break;
      of_same += same_owner;
    }
    if (i == counts_.size())
      add_count(of, predicate, owner + ".count" + (of_same ? std::to_string(of_same) : ""));
    const Member &c = counts_[i];
    Reference r;
    r.symbol = c.func + ".ref";
    r.member = kFirstCount + static_cast<int>(i);
    r.type = Int(32);
    for (const Name &n : c.args) {
      for (size_t j = 0; j < of.args.size(); j++) {
        if (of.args[j] == n) r.args.push_back(at[j]);
      }
    }
    for (const Reference &o : m_.references) {
      if (o.symbol == r.symbol) return make_var(r.symbol, r.type);
    }
    m_.references.push_back(r);
    sides_.r.insert(r.symbol);
    return make_var(r.symbol, r.type);
  }

  void add_count(const Member &of, const Expr &predicate, Name name) {
    Member c;
    c.func = name;
    c.counts = true;
    c.loc = of.loc;
    c.predicate = predicate;
    for (const Name &n : of.args) {
      if (c.predicate.defined() && uses_var(c.predicate, n)) c.args.push_back(n);
    }
    const Expr one = make_int(Int(32), 1), acc = make_var(name + ".acc", Int(32));
    c.written = {one};
    c.init = {Expr()};
    c.accumulators.push_back({name + ".acc", Int(32), make_int(Int(32), 0), one, acc});
    c.values = {acc};
    counts_.push_back(std::move(c));
  }

  Expr to_now(const Expr &e) const {
    Substitution map;
    for (const Center &c : m_.centers) {
      if (c.reference >= 0) map[m_.references[c.reference].symbol] = make_var(c.now, c.type);
    }
    return substitute(map, e);
  }

  const Reference *reference_named(const Expr &e) const {
    const Expr inner = without_casts(e);
    const Variable *v = inner.as<Variable>();
    if (!v) return nullptr;
    for (const Reference &r : m_.references) {
      if (r.symbol == v->name) return &r;
    }
    return nullptr;
  }

  // ---- what can wait -----------------------------------------------------------------------------------

  // e = core * (something of reduced values alone, which the wraps put back).
  Stripped strip(const Expr &e) {
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

  void strip_quotient(const Div *op, Stripped &s) {
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

  void strip_choice(const Select *op, Stripped &s) {
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

  // Logarithms of reduced values in an exponent are factors like any other: exp(x - log(l)) = exp(x) / l.
  void strip_call(const Call *op, Stripped &s) {
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

  // ---- sums --------------------------------------------------------------------------------------------

  /// Monomials that share what they have of reduced values outside of exponents.
  struct Group {
    Monomial r;
    Polynomial k;
  };

  void sum(const Expr &f) {
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

  Expr acc_of(size_t i) const {
    return make_var(m_.accumulators[i].symbol, m_.accumulators[i].type);
  }

  void finish(const Stripped &s, const Expr &value) {
    const bool plain = value.as<Variable>() != nullptr;
    m_.values = {plain ? with_init(value) : guarded(value)};
    if (!s.wraps.empty() || (!plain && m_.deferred.empty()))
      m_.deferred = pretty(s.wrapped(make_var(m_.func, t_)));
  }

  static bool bare(const Monomial &m) { return m.powers.empty() && m.conditions.empty(); }

  std::vector<Group> grouped(const Polynomial &p) {
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

  /// The parts of exponents that depend on reduced values: the same in every monomial, or nothing repairs them all.
  std::vector<Exponential> shared_exponents(const Polynomial &p, const Expr &core) {
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

  struct Factor {
    Expr factor;  ///< exp(M.old - M.new)
    std::vector<int> centers;
  };

  Factor factor_of(const std::vector<Exponential> &exponents) {
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

  Expr difference_of(const Monomial &m, const Exponential &x, Type t, std::vector<int> &centers) {
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

  static bool is_one(const Monomial &m) {
    return m.coefficient == 1 && m.powers.empty() && m.conditions.empty() && m.exponentials.empty();
  }

  [[noreturn]] void refuse_growth(const Exponential &x, const Expr &part) {
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

  int center(const Reference &r) {
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

  /// acc for the new centers: untouched where they did not move; what was added while a maximum was still its identity
  /// had no value (and is provably nothing for any other maximum), so it goes.
  Expr repaired(const Expr &acc, const Factor &f) {
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

  // N1 and N4: a term is nothing where the maximum's own element is minus infinity.
  void check_identity(const Expr &term, const Factor &f) {
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

  // N3: a term never exceeds the rest of its product, as its exponent is at most 0 with its own point's element in the
  // place of the maximum. Otherwise it might overflow before the maximum has grown.
  void check_ceiling(const Polynomial &p, const Factor &f) {
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
                   plan_name(m_.references[m_.centers[f.centers[0]].reference]).str() +
                   " has grown",
               "`" + pretty(e) + "` is not provably 0 or less",
               "take the maximum of the exponent's own values", m_.loc);
      }
    }
  }

  Expr element_of(const Reference &r) const {
    const Member &o = member_of(r);
    Substitution map;
    for (size_t a = 0; a < o.args.size(); a++) map[o.args[a]] = r.args[a];
    return substitute(map, o.written[o.written.size() > 1 ? o.value_index : 0]);
  }

  void scale(const Expr &core, const Polynomial &p, const std::vector<Exponential> &exponents) {
    if (exponents.empty()) throw Stuck{"S0801", core};
    const Factor f = factor_of(exponents);
    check_identity(core, f);
    check_ceiling(p, f);
    keep(core, repaired(acc_, f));
  }

  // One accumulator for each factor of loop values, what is of reduced values put to them at the end.
  void raw(const Expr &core, const std::vector<Group> &groups,
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

  /// The condition under which some monomial is not nothing; undefined: always.
  static Expr taken_in(const Polynomial &p) {
    Expr any;
    for (const Monomial &m : p) {
      const Expr all = all_of(m.conditions);
      if (!all.defined()) return {};
      any = any.defined() ? make_or(any, all) : all;
    }
    return any;
  }

  // ---- sums about a mean -------------------------------------------------------------------------------

  /// core as a product of loop values and of sums that are affine in means.
  struct Product {
    double coefficient = 1;
    Expr k;
    std::vector<Expr> conditions;
    std::vector<Expr> sums;  ///< A_i
    std::vector<int> powers;
    std::vector<std::vector<TaylorSum>> slopes;  ///< dA_i / dcenter_j
  };

  bool take_factors(const Expr &e, int power, Product &out) {
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

  bool centred(const Expr &core) {
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

  static Expr exchanged(const Expr &e, const Expr &atom, const Center &c) {
    const Expr now = convert(make_var(c.now, c.type), atom.type());
    return replace(e, [&](const Expr &x) { return equal(x, atom) ? now : Expr(); });
  }

  static int index_of(const std::vector<Expr> &list, const Expr &e) {
    for (size_t i = 0; i < list.size(); i++) {
      if (equal(list[i], e)) return static_cast<int>(i);
    }
    return -1;
  }

  /// The reduced value of a monomial that is otherwise of loop values, or null.
  const Power *only_reduced(const Monomial &m) {
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

  std::vector<TaylorSum> slopes(const Polynomial &a, const std::vector<Expr> &atoms,
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

  static void add_term(TaylorSum &sum, const TaylorTerm &t) {
    for (TaylorTerm &o : sum) {
      const bool same_k = o.k.defined() == t.k.defined() && (!o.k.defined() || equal(o.k, t.k));
      if (o.powers != t.powers || !same_k) continue;
      o.coefficient += t.coefficient;
      return;
    }
    sum.push_back(t);
  }

  static TaylorSum derivative(const TaylorSum &u, size_t j, double divide, const Product &p) {
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

  using Order = std::vector<int>;  ///< of derivatives, one per center

  /// core's derivatives with respect to the centers, each divided by the factorials; those that are not zero.
  std::map<Order, TaylorSum> taylor(const Product &p, size_t centers) {
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

  Expr emit_taylor(const TaylorSum &u, const Product &p) {
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

  static double binomial(int n, int k) {
    double r = 1;
    for (int i = 1; i <= k; i++) r = r * (n - k + i) / i;
    return r;
  }

  void keep_basis(const Product &p, const std::map<Order, TaylorSum> &basis) {
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

  static Expr moved(const Center &c) {
    return make_sub(make_var(c.now, c.type), make_var(c.before, c.type));
  }

  // sum / number of points, or the quotient of two sums: so far, the mean of what was seen.
  bool mean(const Expr &atom, Center &c) {
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

  bool is_plain_sum(const Reference &r) const {
    const Member &o = member_of(r);
    return o.combine == Combine::Add && o.repair_class == RepairClass::Independent &&
           !o.init[0].defined();
  }

  bool is_number_of_points(const Expr &by, bool inverse) {
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
    return e.type() == points.type() &&
           (equal(e, points) || analysis::can_prove(make_eq(e, points)));
  }

  // ---- max and min -------------------------------------------------------------------------------------

  void extreme(const Expr &f) {
    if (shifted(f)) return;
    const Stripped s = strip(f);
    const Expr core = s.core.defined() ? convert(s.core, t_) : make_one(t_);
    m_.repair_class = RepairClass::Scale;
    check_positive(s);
    const Side side = sides_.of(core);
    if (side != Side::R && side != Side::Both) {
      keep(core, acc_);
    } else {
      const Polynomial p = factoring_.run(core);
      const std::vector<Exponential> exponents = shared_exponents(p, core);
      const std::vector<Group> groups = grouped(p);
      if (groups.size() != 1 || !bare(groups[0].r)) throw Stuck{"S0801", core};
      scale(core, p, exponents);
    }
    finish(s, s.wrapped(acc_));
  }

  void check_positive(const Stripped &s) {
    if (s.wraps.empty()) return;
    const Name name("positive");
    KnownSigns known = known_;
    known[name] = {false, false, true};
    const Expr h = s.wrapped(make_var(name, t_));
    if (signs_of(h, known).not_negative()) return;
    refuse("S0807", func().loc,
           std::string(to_string(m_.combine)) + " in " + m_.func +
               " with a factor that is not provably positive: `" + pretty(s.wrapped(make_one(t_))) +
               "`",
           "only a positive factor keeps the order of what it multiplies",
           "take the " + std::string(to_string(m_.combine)) +
               " without the factor, or make its sign evident (a sum of exponentials, abs, a "
               "parameter with set_min_value(0))",
           m_.loc);
  }

  // max(x + r) = max(x) + r.
  bool shifted(const Expr &f) {
    std::vector<Addend> parts, loop, reduced;
    split_sum(f, false, parts);
    bool mixed = false;
    for (const Addend &a : parts) {
      const Side side = sides_.of(a.e);
      mixed = mixed || side == Side::Both;
      (side == Side::R ? reduced : loop).push_back(a);
    }
    Expr core = join_sum(loop, t_);
    if (mixed && !shifted_product(f, core, reduced)) return false;
    m_.repair_class = RepairClass::Shift;
    keep(core, acc_);
    Stripped s;  // one after the other, as written: x - m first, which cancels
    for (const Addend &a : reduced) {
      s.wraps.push_back([a](const Expr &x) {
        const Expr r = convert(a.e, x.type());
        return a.negative ? make_sub(x, r) : make_add(x, r);
      });
    }
    finish(s, s.wrapped(acc_));
    return true;
  }

  // The same where only the factoring shows it: log(exp(x - m) / l).
  bool shifted_product(const Expr &f, Expr &core, std::vector<Addend> &reduced) {
    Polynomial p, k;
    std::vector<Addend> r;
    try {
      p = factoring_.run(f);
    } catch (const Stuck &) {
      return false;
    }
    for (const Monomial &m : p) {
      const Side side = factoring_.side(m);
      if (side == Side::Both) return false;
      if (side != Side::R) {
        k.push_back(m);
        continue;
      }
      Monomial positive = m;
      positive.coefficient = std::abs(m.coefficient);
      r.push_back({emit(positive, t_), m.coefficient < 0});
    }
    core = emit(k, t_);
    reduced = std::move(r);
    return true;
  }

  void best() {
    const size_t key = static_cast<size_t>(m_.value_index);
    for (const Expr &w : m_.written) {
      const Side side = sides_.of(w);
      if (side != Side::R && side != Side::Both) continue;
      refuse("S0807", func().loc, "`" + pretty(w) + "` of " + m_.func + " uses " + used_members(w),
             "the place of a largest value is kept, not repaired",
             "take the argmax of what does not depend on " + used_members(w) +
                 ": a positive factor or a shift does not change it",
             m_.loc);
    }
    std::vector<Expr> symbols;
    for (size_t i = 0; i < m_.written.size(); i++) {
      t_ = m_.written[i].type();
      acc_ = make_var(m_.func + "." + std::to_string(i) + ".acc", t_);
      symbols.push_back(acc_);
      keep(m_.written[i], acc_);
      if (i != key) m_.accumulators.back().identity = make_zero(t_);
    }
    const bool largest = m_.combine == Combine::ArgMax;
    const Expr better =
        largest ? make_gt(symbols[key], m_.init[key]) : make_lt(symbols[key], m_.init[key]);
    for (size_t i = 0; i < symbols.size(); i++)
      m_.values.push_back(make_select(better, symbols[i], m_.init[i]));
  }

  const Program &p_;
  OnlinePlan &plan_;
  Member &m_;
  std::vector<Member> &counts_;
  const KnownSigns &known_;
  Sides sides_;
  Factoring factoring_;
  Type t_;
  Expr acc_;
};

// The sign of a member's value; of the elements, as it is only used where there are some.
Signs sign_of_value(const Member &m, int value, const KnownSigns &known) {
  Signs s = signs_of(m.written[value], known);
  if (m.combine == Combine::Add) {
    s.zero = true;
  } else if (m.combine != Combine::Max && m.combine != Combine::Min) {
    return {};
  }
  if (!m.init[value].defined()) return s;
  const Signs i = signs_of(m.init[value], known);
  if (m.combine == Combine::Max && !i.negative) s.negative = false;
  s.negative = s.negative || (i.negative && m.combine != Combine::Max);
  s.zero = s.zero || i.zero;
  s.positive = s.positive || i.positive;
  return s;
}

void place_counts(OnlinePlan &plan, std::vector<Member> counts) {
  const int n = static_cast<int>(counts.size());
  for (Member &m : plan.members) {
    for (Reference &r : m.references)
      r.member = r.member >= kFirstCount ? r.member - kFirstCount : r.member + n;
  }
  plan.members.insert(plan.members.begin(), std::make_move_iterator(counts.begin()),
                      std::make_move_iterator(counts.end()));
}

}  // namespace

void solve_cascade(const Program &p, const OnlineRequest &, OnlinePlan &plan) {
  std::vector<Member> counts;
  for (Member &m : plan.members) {
    KnownSigns known;
    for (const Reference &r : m.references) {
      KnownSigns of_member;  // signs of what the member refers to are not looked at again
      known[r.symbol] = sign_of_value(plan.members[r.member], r.value, of_member);
    }
    MemberSolver(p, plan, m, counts, known).run();
  }
  place_counts(plan, std::move(counts));
}

}  // namespace calotype::transform
