// What all members have in common: checks of types, references, counts of points, results. And all members in turn.
#include "solve.h"

#include "../analysis/simplify.h"
#include "../ir/equal.h"

namespace calotype::transform {

using namespace ir;

Expr all_of(const std::vector<Expr> &conditions) {
  Expr r;
  for (const Expr &c : conditions) r = r.defined() ? make_and(r, c) : c;
  return r;
}

bool is_zero(const Expr &e) {
  double v;
  return literal(e, &v) && v == 0;
}

Expr without_casts(Expr e) {
  while (const Cast *c = e.as<Cast>()) e = c->value;
  return e;
}

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

void MemberSolver::run() {
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

const Function &MemberSolver::func() const { return *p_.find(m_.func); }

std::string MemberSolver::suffix() const {
  return func().types.size() > 1 ? "." + std::to_string(m_.value_index) : "";
}

std::string MemberSolver::used_members(const Expr &e) {
  std::string all;
  for (const Reference &r : m_.references) {
    if (!uses_var(e, r.symbol)) continue;
    const Name n = plan_name(r);
    if (all.find(n.str()) == std::string::npos) all += (all.empty() ? "" : ", ") + n.str();
  }
  return all.empty() ? "no member" : all;
}

Name MemberSolver::plan_name(const Reference &r) const { return member_of(r).func; }

const Member &MemberSolver::member_of(const Reference &r) const {
  return r.member >= kFirstCount ? counts_[r.member - kFirstCount] : plan_.members[r.member];
}

void MemberSolver::check_types() {
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
    if (!c || (c->op != Intrinsic::exp && c->op != Intrinsic::fast_exp && c->op != Intrinsic::pow &&
               c->op != Intrinsic::fast_pow))
      return;
    if (sides_.of(x) != Side::Both || (c->type.bits() >= 32 && !c->type.is_bfloat())) return;
    refuse("S0811", func().loc,
           "`" + pretty(x) + "` of " + m_.func + " is computed in " + calotype::to_string(c->type),
           "a repair multiplies by such exponentials again and again; 16 bits lose too much",
           "take the exponential in float32: exp(cast<float>(...))", m_.loc);
  });
}

void MemberSolver::refuse_stuck(const Stuck &s) {
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

void MemberSolver::keep(const Expr &term, const Expr &repair) {
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

Expr MemberSolver::with_init(const Expr &value) const {
  return m_.init[0].defined() ? transform::apply(m_.combine, m_.init[0], value) : value;
}

Expr MemberSolver::guarded(const Expr &value) {
  const Expr some = not_empty();
  const Expr none = m_.init[0].defined() ? m_.init[0] : identity_of(m_.combine, t_);
  return some.defined() ? make_select(some, with_init(value), none) : with_init(value);
}

Expr MemberSolver::not_empty() {
  if (m_.predicate.defined()) return counted(m_.predicate);
  std::vector<Expr> conditions;
  for (const ReductionVariable &r : plan_.rvars) {
    const Expr c = analysis::simplify(make_gt(r.extent, make_zero(r.extent.type())));
    if (!is_const_one(c)) conditions.push_back(c);
  }
  return all_of(conditions);
}

Expr MemberSolver::counted(const Expr &condition) {
  std::vector<Expr> at;
  for (const Name &n : m_.args) at.push_back(make_var(n));
  return make_gt(count(m_, condition, at), make_int(Int(32), 0));
}

Expr MemberSolver::where_taken(const Expr &condition, const Expr &value) {
  const Expr c = m_.predicate.defined() ? make_and(m_.predicate, condition) : condition;
  return make_select(counted(c), value, make_zero(value.type()));
}

Expr MemberSolver::count(const Member &of, const Expr &predicate, const std::vector<Expr> &at) {
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

void MemberSolver::add_count(const Member &of, const Expr &predicate, Name name) {
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

Expr MemberSolver::to_now(const Expr &e) const {
  Substitution map;
  for (const Center &c : m_.centers) {
    if (c.reference >= 0) map[m_.references[c.reference].symbol] = make_var(c.now, c.type);
  }
  return substitute(map, e);
}

const Reference *MemberSolver::reference_named(const Expr &e) const {
  const Expr inner = without_casts(e);
  const Variable *v = inner.as<Variable>();
  if (!v) return nullptr;
  for (const Reference &r : m_.references) {
    if (r.symbol == v->name) return &r;
  }
  return nullptr;
}

namespace {

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
