// Reads a cascade off a Program: the members' updates in one set of loop variables, pure Funcs between them put in,
// uses of earlier members as references, and what each update does to its own old value taken off it.
#include "collect.h"

#include <algorithm>
#include <unordered_set>

#include "../analysis/simplify.h"
#include "../ir/equal.h"
#include "../ir/print.h"
#include "../ir/visit.h"

namespace calotype::transform {

using namespace ir;

void refuse(const char *code, SrcLoc loc, std::string what, std::string why, std::string help,
            SrcLoc why_at) {
  Diagnostic d(code, loc, std::move(what));
  if (!why.empty()) d.why.push_back({std::move(why), why_at});
  if (!help.empty()) d.help.push_back(std::move(help));
  throw Refusal{std::move(d)};
}

Expr identity_of(Combine c, Type t) {
  switch (c) {
    case Combine::Add: return make_zero(t);
    case Combine::Mul: return make_one(t);
    case Combine::Max:
    case Combine::ArgMax: return t.min();
    case Combine::Min:
    case Combine::ArgMin: return t.max();
    case Combine::And: return make_bool(true);
    case Combine::Or: return make_bool(false);
  }
  return {};
}

Expr apply(Combine c, const Expr &a, const Expr &b) {
  switch (c) {
    case Combine::Add: return make_add(a, b);
    case Combine::Mul: return make_mul(a, b);
    case Combine::Max: return make_max(a, b);
    case Combine::Min: return make_min(a, b);
    case Combine::And: return make_and(a, b);
    case Combine::Or: return make_or(a, b);
    default: return {};
  }
}

namespace {

std::string list(const std::vector<std::string> &names) {
  std::string all;
  for (const std::string &n : names) all += (all.empty() ? "" : ", ") + n;
  return all;
}

/// What an update does: op and term, acc = acc op term.
struct Step {
  Combine op = Combine::Add;
  Expr term;  ///< undefined: the old value unchanged
  bool known = false;
};

class Collector {
public:
  Collector(const Program &p, const OnlineRequest &request) : p_(p), request_(request) {}

  OnlinePlan run() {
    plan_.func = request_.func;
    plan_.stage = request_.stage;
    plan_.var = request_.var;
    target_ = p_.find(request_.func);
    if (!target_) {
      refuse("S0101", request_.loc, "there is no Func " + request_.func, "", "");
    }
    check_stage(*target_);
    plan_.rvars = target_->definitions[1].rvars;
    check_var();
    for (const Function *f : in_order()) add(*f);
    check_predicates();
    find_later_readers();
    return std::move(plan_);
  }

private:
  // ---- what may carry or belong to a pass ------------------------------------------------------------

  void check_stage(const Function &f) {
    const bool is_target = f.name == request_.func;
    if (is_target && request_.stage == 0) {
      refuse("S0805", request_.loc,
             "online on the pure definition of " + f.name + ", which is not a reduction",
             "one pass gives reductions; a Func indexed by " + request_.var +
                 " needs their final values, so a second pass",
             "put online on an update that reduces over " + request_.var + ", and compute " +
                 f.name + " in a loop of its own after it",
             f.loc);
    }
    if (is_target && request_.stage >= f.stages()) {
      refuse("S0106", request_.loc,
             "there is no " + f.name + ".update(" + std::to_string(request_.stage - 1) + ")", "",
             "");
    }
    if (!f.has_updates()) {
      refuse("S0805", request_.loc, f.name + " is in the list of online, but it is no reduction",
             f.name + " has no update definition", "name only reductions over the same domain",
             f.loc);
    }
    if (f.stages() > 2) {
      refuse("S0814", request_.loc,
             f.name + " has " + std::to_string(f.stages() - 1) +
                 " update definitions, and their order matters",
             "a pass repairs one update per Func", "give the second update a Func of its own",
             f.definitions[2].loc);
    }
    check_left_side(f);
  }

  void check_left_side(const Function &f) {
    const Definition &d = f.definitions[1];
    std::unordered_set<Name> rvars;
    for (const ReductionVariable &r : d.rvars) rvars.insert(r.var);
    for (size_t i = 0; i < d.args.size(); i++) {
      const Variable *v = d.args[i].as<Variable>();
      if (v && v->name == f.args[i]) continue;
      if (uses_any_var(d.args[i], rvars)) {
        refuse("S0805", request_.loc,
               f.name + " is indexed by " + pretty(d.args[i]) +
                   ", which the pass runs over: it needs a second pass",
               "one pass gives reductions over its loop; what is indexed by the loop needs their "
               "final values",
               "fuse only the reductions, and leave " + f.name + " to a loop after them", d.loc);
      }
      refuse("S0814", request_.loc,
             "the update of " + f.name + " writes " + pretty(d.args[i]) +
                 " only, so its order matters",
             "an update in a pass has the pure definition's Vars on its left side",
             "write the reduction over all of " + f.args[i], d.loc);
    }
  }

  void check_var() {
    std::vector<std::string> names;
    for (const ReductionVariable &r : plan_.rvars) {
      if (r.var == request_.var) return;
      names.push_back(r.var);
    }
    for (const Name &a : target_->args) {
      if (a != request_.var) continue;
      refuse(
          "S0805", request_.loc,
          target_->name + " is indexed by " + request_.var + ": a pass over it needs a second one",
          "online runs over a variable of the reduction: " + list(names), "name one of these",
          target_->definitions[1].loc);
    }
    refuse("S0103", request_.loc, "the update of " + target_->name + " has no RVar " + request_.var,
           "its RVars are: " + list(names), "", target_->definitions[1].loc);
  }

  std::vector<const Function *> in_order() {
    std::unordered_set<Name> wanted(request_.members.begin(), request_.members.end());
    wanted.erase(target_->name);
    for (const Name &n : request_.members) {
      if (!p_.find(n)) refuse("S0101", request_.loc, "there is no Func " + n, "", "");
    }
    group_ = wanted;
    std::vector<const Function *> order;
    for (const Function &f : p_.funcs) {
      if (!wanted.count(f.name)) continue;
      check_stage(f);
      if (reaches(f, target_->name)) {
        refuse("S0804", request_.loc,
               f.name + " consumes " + target_->name + " before the pass ends",
               "the Func that carries online is the last of its group",
               "put online on " + f.name + ", with " + target_->name + " in its list", f.loc);
      }
      order.push_back(&f);
    }
    order.push_back(target_);
    return order;
  }

  bool reaches(const Function &f, Name goal) {
    std::unordered_set<Name> seen;
    std::vector<const Function *> todo{&f};
    while (!todo.empty()) {
      const Function *g = todo.back();
      todo.pop_back();
      for (const Definition &d : g->definitions) {
        for (const Name &n : called_funcs(d)) {
          if (n == goal && g->name != goal) return true;
          if (const Function *h = seen.insert(n).second ? p_.find(n) : nullptr) todo.push_back(h);
        }
      }
    }
    return false;
  }

  /// Whether f's values depend on a member of the group.
  bool depends(Name func) {
    const auto it = depends_.find(func);
    if (it != depends_.end()) return it->second;
    depends_[func] = false;
    bool found = false;
    if (const Function *f = p_.find(func)) {
      for (const Definition &d : f->definitions) {
        for (const Name &n : called_funcs(d)) {
          if (n != func && (group_.count(n) || depends(n))) found = true;
        }
      }
    }
    return depends_[func] = found;
  }

  // ---- one member ------------------------------------------------------------------------------------

  void add(const Function &f) {
    const Definition &d = f.definitions[1];
    current_ = &f;
    rename_.clear();
    check_domain(f, d);
    Member m;
    m.func = f.name;
    m.loc = d.loc;
    m.args = f.args;
    references_ = &m.references;
    if (d.predicate.defined()) {
      m.predicate = expand(substitute(rename_, d.predicate));
      if (!m.references.empty()) {
        refuse("S0803", f.loc,
               "the predicate " + pretty(m.predicate) + " of " + f.name +
                   " depends on a reduction of the same pass",
               "which points count is not known before the pass ends",
               "move " + pretty(m.predicate) + " out of the cascade, or leave " + f.name +
                   " out of online",
               d.loc);
      }
    }
    std::vector<Expr> values, init;
    for (const Expr &v : d.values) values.push_back(expand(substitute(rename_, v)));
    for (const Expr &v : f.pure().values) init.push_back(expand(v));
    references_ = nullptr;
    if (values.size() > 1 && add_best(m, values, init)) return;
    for (size_t v = 0; v < values.size(); v++) {
      Member one = m;
      one.value_index = static_cast<int>(v);
      const Step s = match(values[v], static_cast<int>(v));
      if (!s.known) refuse_order(f, values[v]);
      one.combine = s.op;
      const Type t = values[v].type();
      const Expr identity = identity_of(s.op, t);
      one.written = {s.term.defined() ? s.term : identity};
      one.init = {equal(init[v], identity) ? Expr() : init[v]};
      push(std::move(one));
    }
  }

  void push(Member m) {
    members_of_[m.func].push_back(static_cast<int>(plan_.members.size()));
    plan_.members.push_back(std::move(m));
  }

  [[noreturn]] void refuse_order(const Function &f, const Expr &value) {
    refuse("S0814", f.loc, "the order of the updates of " + f.name + " matters",
           "its value `" + pretty(value) +
               "` is not an old value combined by +, *, min, max, && or "
               "|| with something that does not use it",
           "only associative and commutative reductions can be merged block by block",
           f.definitions[1].loc);
  }

  // The members' loops become the target's, position by position.
  void check_domain(const Function &f, const Definition &d) {
    const auto describe = [](const std::vector<ReductionVariable> &rvars) {
      std::vector<std::string> all;
      for (const ReductionVariable &r : rvars)
        all.push_back("[" + pretty(r.min) + ", " +
                      pretty(analysis::simplify(make_add(r.min, r.extent))) + ")");
      return list(all);
    };
    bool same = d.rvars.size() == plan_.rvars.size();
    for (size_t i = 0; same && i < d.rvars.size(); i++) {
      const ReductionVariable &a = d.rvars[i], &b = plan_.rvars[i];
      same = equal(a.min, b.min) || analysis::can_prove(make_eq(a.min, b.min));
      same =
          same && (equal(a.extent, b.extent) || analysis::can_prove(make_eq(a.extent, b.extent)));
      if (a.var != b.var) rename_[a.var] = make_var(b.var);
    }
    if (same) return;
    refuse("S0806", f.loc,
           "different domains: " + f.name + " over " + describe(d.rvars) + ", " + target_->name +
               " over " + describe(plan_.rvars),
           "all reductions of a pass run over the same points",
           "give them one RDom, or take " + f.name + " out of the list", d.loc);
  }

  // ---- putting pure Funcs in -------------------------------------------------------------------------

  class Expander : public IRGraphMutator {
  public:
    explicit Expander(Collector &c) : c_(c) {}
    using IRGraphMutator::visit;
    Expr visit(const Call *op) override {
      c_.check_call(op);
      const Expr e = IRGraphMutator::visit(op);
      const Call *call = e.as<Call>();
      if (call->call_type != CallType::Halide || call->name == c_.current_->name) return e;
      if (c_.group_.count(call->name)) return c_.reference(call);
      if (!c_.depends(call->name)) return e;
      return mutate(c_.body_of(call));
    }

  private:
    Collector &c_;
  };
  friend class Expander;

  Expr expand(const Expr &e) {
    const Expr result = Expander(*this).mutate(substitute_in_lets(e));
    constexpr double kLargest = 200000;
    if (tree_size(result, kLargest) < kLargest) return result;
    refuse("S0118", current_->loc,
           "with the Funcs between the reductions put in, " + current_->name +
               " has more than 200000 operations",
           "", "make some of these Funcs reductions of the group, or name fewer members");
  }

  void check_call(const Call *op) {
    if (op->op == Intrinsic::strict_float) {
      refuse("S0812", current_->loc, current_->name + " asks for strict_float",
             "online adds up in another order: `" + pretty(op->args[0]) +
                 "` may not take part in that",
             "remove strict_float, or online", current_->definitions[1].loc);
    }
    const bool effect = intrinsic_class(op->op) == IntrinsicClass::Effect;
    if (op->call_type == CallType::Extern || effect) {
      refuse("S0813", current_->loc,
             "`" + pretty(Expr(op)) + "` has effects, inside the cascade of " + current_->name,
             "a pass evaluates terms in another order, and repairs what they gave",
             "compute it in a Func outside the cascade", current_->definitions[1].loc);
    }
  }

  Expr body_of(const Call *call) {
    const Function &g = *p_.find(call->name);
    if (g.has_updates()) {
      std::string which;
      for (const Definition &d : g.definitions) {
        for (const Name &n : called_funcs(d)) {
          if (which.empty() && (group_.count(n) || (n != g.name && depends(n)))) which = n;
        }
      }
      refuse("S0804", current_->loc, which + " is consumed by " + g.name + " before the pass ends",
             g.name + " is a reduction outside the group, and " + current_->name +
                 " needs it while the pass runs",
             "add " + g.name + " to the list of online, if it reduces over the same domain", g.loc);
    }
    if (std::find(plan_.inlined.begin(), plan_.inlined.end(), g.name) == plan_.inlined.end())
      plan_.inlined.push_back(g.name);
    Substitution map;
    for (size_t i = 0; i < g.args.size(); i++) map[g.args[i]] = call->args[i];
    const Expr body = substitute(map, substitute_in_lets(g.pure().values[call->value_index]));
    constexpr double kLargest = 200000;
    if (tree_size(body, kLargest) >= kLargest) {
      refuse("S0118", current_->loc,
             "with the Funcs between the reductions put in, " + current_->name +
                 " has more than 200000 operations",
             "", "make some of these Funcs reductions of the group, or name fewer members");
    }
    return body;
  }

  Expr reference(const Call *call) {
    const auto known = members_of_.find(call->name);
    if (known == members_of_.end()) {  // not collected yet: only a cycle could do that
      refuse("S0804", current_->loc,
             call->name + " is consumed by " + current_->name + " before it is computed", "", "");
    }
    std::unordered_set<Name> rvars;
    for (const ReductionVariable &r : plan_.rvars) rvars.insert(r.var);
    for (const Expr &a : call->args) {
      if (!uses_any_var(a, rvars)) continue;
      refuse("S0805", current_->loc,
             current_->name + " reads " + call->name + " at " + pretty(a) +
                 ", which the pass runs over: it needs a second pass",
             "other points of " + call->name + " are not known yet when this one is reached", "",
             current_->definitions[1].loc);
    }
    Reference r;
    r.member = known->second[0];
    r.value = 0;
    if (known->second.size() > 1) {
      r.member = known->second[call->value_index];
    } else {
      r.value = call->value_index;
    }
    r.args = call->args;
    r.type = call->type;
    int same_member = 0;
    for (const Reference &o : *references_) {
      if (o.member != r.member || o.value != r.value) continue;
      bool same = true;
      for (size_t i = 0; i < r.args.size(); i++) same = same && equal(o.args[i], r.args[i]);
      if (same) return make_var(o.symbol, o.type);
      same_member++;
    }
    std::string text = call->name;
    const bool tuple = known->second.size() > 1 || plan_.members[r.member].written.size() > 1;
    if (tuple) text += "." + std::to_string(call->value_index);
    if (same_member) text += "@" + std::to_string(same_member);
    r.symbol = text + ".ref";
    references_->push_back(r);
    return make_var(r.symbol, r.type);
  }

  // ---- taking the old value off ----------------------------------------------------------------------

  bool is_self(const Expr &e, int value) const {
    const Call *c = e.as<Call>();
    if (!c || c->call_type != CallType::Halide || c->name != current_->name) return false;
    if (c->value_index != value) return false;
    for (size_t i = 0; i < c->args.size(); i++) {
      const Variable *v = c->args[i].as<Variable>();
      if (!v || v->name != current_->args[i]) return false;
    }
    return true;
  }

  bool uses_self(const Expr &e) const {
    bool found = false;
    for_each_expr(e, [&](const Expr &x) {
      const Call *c = x.as<Call>();
      found = found || (c && c->call_type == CallType::Halide && c->name == current_->name);
    });
    return found;
  }

  Step match(const Expr &e, int value) {
    if (is_self(e, value)) return {Combine::Add, {}, true};
    if (const Add *op = e.as<Add>()) return match_both(op->a, op->b, Combine::Add, value);
    if (const Mul *op = e.as<Mul>()) return match_both(op->a, op->b, Combine::Mul, value);
    if (const Max *op = e.as<Max>()) return match_both(op->a, op->b, Combine::Max, value);
    if (const Min *op = e.as<Min>()) return match_both(op->a, op->b, Combine::Min, value);
    if (const And *op = e.as<And>()) return match_both(op->a, op->b, Combine::And, value);
    if (const Or *op = e.as<Or>()) return match_both(op->a, op->b, Combine::Or, value);
    if (const Sub *op = e.as<Sub>()) {
      if (uses_self(op->b)) return {};
      const Step s = match(op->a, value);
      if (!s.known || (s.term.defined() && s.op != Combine::Add)) return {};
      const Expr term =
          s.term.defined() ? make_sub(s.term, op->b) : make_sub(make_zero(e.type()), op->b);
      return {Combine::Add, term, true};
    }
    if (const Call *op = as_intrinsic(e, Intrinsic::fma)) {
      if (uses_self(op->args[0]) || uses_self(op->args[1])) return {};
      return extended(match(op->args[2], value), Combine::Add, make_mul(op->args[0], op->args[1]));
    }
    if (const Select *op = e.as<Select>()) return match_choice(op, value);
    return {};
  }

  static Step extended(const Step &s, Combine op, const Expr &by) {
    if (!s.known || (s.term.defined() && s.op != op)) return {};
    return {op, s.term.defined() ? apply(op, s.term, by) : by, true};
  }

  Step match_both(const Expr &a, const Expr &b, Combine op, int value) {
    const bool left = uses_self(a), right = uses_self(b);
    if (left == right) return {};
    return extended(match(left ? a : b, value), op, left ? b : a);
  }

  // select(c, old op term, old): the identity where nothing is added.
  Step match_choice(const Select *op, int value) {
    if (uses_self(op->condition)) return {};
    const Step t = match(op->true_value, value), f = match(op->false_value, value);
    if (!t.known || !f.known) return {};
    if (!t.term.defined() && !f.term.defined()) return t;
    if (t.term.defined() && f.term.defined() && t.op != f.op) return {};
    const Combine c = t.term.defined() ? t.op : f.op;
    const Expr identity = identity_of(c, op->type);
    return {c,
            make_select(op->condition, t.term.defined() ? t.term : identity,
                        f.term.defined() ? f.term : identity),
            true};
  }

  /// Tuples that follow the largest or smallest of a key: select(key > old key, new, old) in every element.
  bool add_best(Member m, const std::vector<Expr> &values, const std::vector<Expr> &init) {
    Expr condition;
    for (size_t i = 0; i < values.size(); i++) {
      const Select *s = values[i].as<Select>();
      if (!s || !is_self(s->false_value, static_cast<int>(i)) || uses_self(s->true_value))
        return false;
      if (condition.defined() && !equal(condition, s->condition)) return false;
      condition = s->condition;
      m.written.push_back(s->true_value);
      m.init.push_back(init[i]);
    }
    Expr above, below;  // above > below
    if (const GT *c = condition.as<GT>()) above = c->a, below = c->b;
    if (const LT *c = condition.as<LT>()) above = c->b, below = c->a;
    if (!above.defined()) return false;
    for (size_t i = 0; i < values.size(); i++) {
      const bool largest = is_self(below, static_cast<int>(i)) && equal(above, m.written[i]);
      const bool smallest = is_self(above, static_cast<int>(i)) && equal(below, m.written[i]);
      if (!largest && !smallest) continue;
      m.combine = largest ? Combine::ArgMax : Combine::ArgMin;
      m.value_index = static_cast<int>(i);  // the key
      push(std::move(m));
      return true;
    }
    return false;
  }

  // ---- all together ----------------------------------------------------------------------------------

  static bool same_predicate(const Expr &a, const Expr &b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    return equal(a, b) || equal(analysis::simplify(a), analysis::simplify(b));
  }

  void check_predicates() {
    std::unordered_set<int> seen;
    for (const Member &m : plan_.members) {
      for (const Reference &r : m.references) {
        const Member &o = plan_.members[r.member];
        Substitution map;
        for (size_t i = 0; i < o.args.size(); i++) map[o.args[i]] = r.args[i];
        check_predicate(o, o.predicate.defined() ? substitute(map, o.predicate) : Expr(), m);
        seen.insert(r.member);
      }
    }
    for (size_t i = 0; i + 1 < plan_.members.size(); i++) {
      if (!seen.count(static_cast<int>(i)))
        check_predicate(plan_.members[i], plan_.members[i].predicate, plan_.last());
    }
  }

  void check_predicate(const Member &o, const Expr &predicate, const Member &m) {
    if (same_predicate(predicate, m.predicate)) return;
    const auto text = [](const Expr &e) { return e.defined() ? pretty(e) : "always"; };
    refuse("S0806", p_.find(o.func)->loc,
           "different domains: " + o.func + " counts where " + text(predicate) + ", " + m.func +
               " where " + text(m.predicate),
           "all reductions of a pass run over the same points", "give them one RDom", o.loc);
  }

  void find_later_readers() {
    std::unordered_set<Name> inside(group_.begin(), group_.end());
    inside.insert(target_->name);
    inside.insert(plan_.inlined.begin(), plan_.inlined.end());
    for (const Function &f : p_.funcs) {
      if (inside.count(f.name)) continue;
      bool reads = false;
      for (const Definition &d : f.definitions) {
        for (const Name &n : called_funcs(d)) reads = reads || group_.count(n);
      }
      if (reads) plan_.read_afterwards.push_back(f.name);
    }
  }

  const Program &p_;
  const OnlineRequest &request_;
  OnlinePlan plan_;
  const Function *target_ = nullptr, *current_ = nullptr;
  std::unordered_set<Name> group_;
  std::unordered_map<Name, bool> depends_;
  std::unordered_map<Name, std::vector<int>> members_of_;
  Substitution rename_;
  std::vector<Reference> *references_ = nullptr;
};

}  // namespace

OnlinePlan collect_cascade(const Program &p, const OnlineRequest &request) {
  return Collector(p, request).run();
}

Sides sides_of(const OnlinePlan &plan, const Member &m) {
  Sides s;
  for (const ReductionVariable &r : plan.rvars) s.k.insert(r.var);
  for (const Reference &r : m.references) s.r.insert(r.symbol);
  for (const Center &c : m.centers) s.r.insert(c.before), s.r.insert(c.now);
  return s;
}

}  // namespace calotype::transform
