// See online_rewrite.h.
#include "online_rewrite.h"

#include <algorithm>
#include <unordered_set>

#include "../analysis/simplify.h"
#include "../ir/equal.h"
#include "../ir/visit.h"

namespace calotype::transform {

using namespace ir;

namespace {

class Rewriter {
public:
  Rewriter(const Program &p, const OnlinePlan &plan, const Expr &block, const Expr &splits)
      : p_(p), plan_(plan), block_(block), splits_(splits) {}

  OnlineRewrite run() {
    name_loops();
    find_shared();
    std::unordered_set<Name> done;
    out_.program.name = p_.name;
    out_.program.outputs = p_.outputs;
    out_.program.params = p_.params;
    out_.program.requirements = p_.requirements;
    out_.program.renamed = p_.renamed;
    for (const Function &f : p_.funcs) {
      bool member = false;
      for (size_t i = 0; i < plan_.members.size(); i++) {
        const Member &m = plan_.members[i];
        if (m.counts || m.func != f.name) continue;
        member = true;
        add_counts_of(m, done);
        add_member(i);
      }
      out_.program.funcs.push_back(member ? result_of(f) : f);
      if (member) out_.results.push_back(f.name);
    }
    keep_reachable();
    return std::move(out_);
  }

private:
  // ---- names -----------------------------------------------------------------------------------------

  void name_loops() {
    outer_ = plan_.var + ".o";
    inner_ = plan_.var + ".i";
    time_ = plan_.var + ".t";
    for (const ReductionVariable &r : plan_.rvars) {
      if (r.var != plan_.var) continue;
      min_ = r.min;
      extent_ = r.extent;
    }
    split_ = plan_.var + ".s";
    out_.block_var = outer_;
    const Expr blocks = quotient_up(extent_, block_);
    out_.blocks = splits_.defined() ? quotient_up(blocks, splits_) : blocks;
    if (splits_.defined()) out_.split_var = plan_.var + ".m";
  }

  static Expr quotient_up(const Expr &a, const Expr &b) {
    const Expr one = make_int(Int(32), 1);
    return analysis::simplify(make_div(make_add(a, make_sub(b, one)), b));
  }

  static std::string name_of(const Member &m, const Program &p) {
    const Function *f = p.find(m.func);
    const bool tuple = f && f->types.size() > 1 && m.written.size() == 1;
    return m.func + (tuple ? "." + std::to_string(m.value_index) : "");
  }
  Name part(const Member &m) const { return name_of(m, p_) + ".part"; }
  Name state(const Member &m) const { return name_of(m, p_) + ".state"; }
  Name now(const Member &m) const { return name_of(m, p_) + ".now"; }
  Name merge(const Member &m) const { return name_of(m, p_) + ".merge"; }
  Name whole(const Member &m) const { return name_of(m, p_) + ".whole"; }

  static std::vector<Expr> vars(const std::vector<Name> &names) {
    std::vector<Expr> r;
    for (const Name &n : names) r.push_back(make_var(n));
    return r;
  }
  /// A state: after some block (of some split), or the merged one after some split.
  struct Place {
    bool merged = false;
    std::vector<Expr> index;
  };
  Place after(const Expr &t) const {
    return splits_.defined() ? Place{false, {make_var(split_), t}} : Place{false, {t}};
  }
  static std::vector<Expr> with(std::vector<Expr> args, const Place &at) {
    args.insert(args.end(), at.index.begin(), at.index.end());
    return args;
  }
  static Expr before(const Expr &t) { return make_sub(t, make_int(Int(32), 1)); }

  Function function(Name name, const Member &m, std::vector<Type> types, bool with_time) const {
    Function f;
    f.name = name;
    f.loc = m.loc;
    f.args = m.args;
    if (with_time && splits_.defined()) f.args.push_back(split_);
    if (with_time) f.args.push_back(time_);
    f.types = std::move(types);
    return f;
  }

  static Definition pure(const Function &f, std::vector<Expr> values) {
    Definition d;
    d.args = vars(f.args);
    d.values = std::move(values);
    d.loc = f.loc;
    return d;
  }

  /// The state after everything.
  Place last() const {
    const Expr &n = splits_.defined() ? splits_ : out_.blocks;
    return {splits_.defined(), {analysis::simplify(before(n))}};
  }

  // ---- references and centers at a time --------------------------------------------------------------

  /// m's references as the values at a place.
  Substitution references_at(const Member &m, const Place &at) const {
    Substitution map;
    for (const Reference &r : m.references) {
      const Member &o = plan_.members[static_cast<size_t>(r.member)];
      map[r.symbol] =
          make_func_call(r.type, at.merged ? whole(o) : now(o), with(r.args, at), r.value);
    }
    return map;
  }

  /// m's references as results; counts have no Func of their own.
  Substitution results(const Member &m) const {
    Substitution map;
    for (const Reference &r : m.references) {
      const Member &o = plan_.members[static_cast<size_t>(r.member)];
      const int value = o.written.size() > 1 ? r.value : o.value_index;
      map[r.symbol] = make_func_call(r.type, o.func, r.args, value);
    }
    const Substitution at_end = references_at(m, last());
    for (const Reference &r : m.references) {
      if (plan_.members[static_cast<size_t>(r.member)].counts) map[r.symbol] = at_end.at(r.symbol);
    }
    return map;
  }

  void bind_centers(const Member &m, const Place &at, bool old, Substitution &map) const {
    const Substitution values = references_at(m, at);
    for (const Center &c : m.centers) map[old ? c.before : c.now] = substitute(values, c.running);
  }

  void bind_accumulators(const Member &m, const Place &at, Substitution &map) const {
    for (size_t i = 0; i < m.accumulators.size(); i++) {
      const Accumulator &a = m.accumulators[i];
      map[a.symbol] = make_func_call(a.type, at.merged ? merge(m) : state(m),
                                     with(vars(m.args), at), static_cast<int>(i));
    }
  }

  /// The accumulators at a place, brought from its centers to those of another.
  std::vector<Expr> repaired(const Member &m, const Place &from, const Place &to) const {
    Substitution map;
    bind_centers(m, from, true, map);
    bind_centers(m, to, false, map);
    bind_accumulators(m, from, map);
    std::vector<Expr> r;
    for (const Accumulator &a : m.accumulators) r.push_back(substitute(map, a.repair));
    return r;
  }

  // ---- what is computed once -------------------------------------------------------------------------

  // An exponential or the like, in a part's term or in a repair.
  struct Costly {
    Expr e;
    bool repair = false;
    std::vector<size_t> members;
    bool narrow =
        false;  ///< some member has it at every point of a dimension it does not depend on
    Name func;  ///< once it was made
    std::vector<Name> vars;
  };

  static bool is_costly(const Expr &e) {
    const Call *c = e.as<Call>();
    return c && c->type.is_float() && c->op != Intrinsic::None &&
           intrinsic_class(c->op) == IntrinsicClass::Expand;
  }
  // The outermost of them.
  template <typename F> static void for_each_costly(const Expr &e, const F &visit) {
    class Finder final : public IRVisitor {
    public:
      explicit Finder(const F &f) : f_(f) {}
      bool enter(const IRNode *node) override {
        if (node->node_type != NodeKind::Call) return true;
        const Expr e(static_cast<const Call *>(node));
        if (!is_costly(e)) return true;
        f_(e);
        return false;
      }

    private:
      const F &f_;
    };
    Finder finder(visit);
    finder.visit_expr(e);
  }

  // m's terms over the domain's variables, at the centers after this block; and its repairs.
  std::vector<Expr> terms_of(const Member &m) const {
    Substitution map;
    bind_centers(m, after(make_var(time_)), false, map);
    std::vector<Expr> terms;
    for (const Accumulator &a : m.accumulators) terms.push_back(substitute(map, a.term));
    return terms;
  }
  std::vector<Expr> repairs_of(const Member &m) const {
    return repaired(m, after(before(make_var(outer_))), after(make_var(outer_)));
  }

  void find_shared() {
    for (size_t i = 0; i < plan_.members.size(); i++) {
      for (bool repair : {false, true}) {
        const Member &m = plan_.members[i];
        for (const Expr &e : repair ? repairs_of(m) : terms_of(m))
          for_each_costly(e, [&](const Expr &c) { note_costly(c, repair, i); });
      }
    }
  }

  void note_costly(const Expr &e, bool repair, size_t member) {
    Costly *found = nullptr;
    for (Costly &c : costly_) {
      if (c.repair == repair && equal(c.e, e)) found = &c;
    }
    if (!found) {
      costly_.push_back({e, repair, {}, false, {}, {}});
      found = &costly_.back();
      for (Name v : free_vars(e)) {
        const bool known =
            std::any_of(plan_.members.begin(), plan_.members.end(), [&](const Member &m) {
              return std::find(m.args.begin(), m.args.end(), v) != m.args.end();
            });
        const bool domain = std::any_of(plan_.rvars.begin(), plan_.rvars.end(),
                                        [&](const ReductionVariable &r) { return r.var == v; });
        if (known || domain || v == outer_ || v == time_ || v == split_) found->vars.push_back(v);
      }
    }
    if (std::find(found->members.begin(), found->members.end(), member) == found->members.end())
      found->members.push_back(member);
    for (Name v : plan_.members[member].args)
      found->narrow |= std::find(found->vars.begin(), found->vars.end(), v) == found->vars.end();
  }

  // `e` with what is computed once replaced by calls; makes those Funcs before they are first used.
  Expr with_shared(const Expr &e, bool repair) {
    Expr r = e;
    for_each_costly(e, [&](const Expr &part) {
      for (Costly &c : costly_) {
        if (c.repair != repair || !equal(c.e, part)) continue;
        if (c.vars.empty() || (c.members.size() < 2 && !c.narrow)) continue;
        if (c.func.empty()) make_shared_func(c);
        const Expr call = make_func_call(part.type(), c.func, vars(c.vars));
        r = rewrite(r, [&](const Expr &x) { return equal(x, part) ? call : x; });
      }
    });
    return r;
  }

  void make_shared_func(Costly &c) {
    int &count = c.repair ? repairs_ : terms_;
    c.func = plan_.func + (c.repair ? ".repair" : ".term") + std::to_string(count++);
    Function f;
    f.name = c.func;
    f.loc = plan_.last().loc;
    f.types = {c.e.type()};
    Substitution to_args;
    for (Name v : c.vars) {
      Name arg = v == outer_ ? time_ : v;
      std::string plain = arg;  // of an RVar: a name that a dimension may have
      std::replace(plain.begin(), plain.end(), '.', '_');
      if (arg != time_ && arg != split_) arg = plain;
      f.args.push_back(arg);
      to_args[v] = make_var(arg);
    }
    f.definitions.push_back(pure(f, {substitute(to_args, c.e)}));
    out_.program.funcs.push_back(std::move(f));
    out_.shared.push_back(c.func);
  }

  // ---- the Funcs of one member -----------------------------------------------------------------------

  void add_counts_of(const Member &m, std::unordered_set<Name> &done) {
    for (const Reference &r : m.references) {
      const Member &c = plan_.members[static_cast<size_t>(r.member)];
      if (c.counts && done.insert(c.func).second) add_member(static_cast<size_t>(r.member));
    }
  }

  void add_member(size_t index) {
    const Member &m = plan_.members[index];
    std::vector<Type> types;
    std::vector<Expr> identities;
    for (const Accumulator &a : m.accumulators) {
      types.push_back(a.type);
      identities.push_back(a.identity);
    }
    add_part(m, types, identities);
    add_state(m, types, identities);
    add_values(m, now(m), after(make_var(time_)));
    if (splits_.defined()) {
      add_merge(m, types, identities);
      add_values(m, whole(m), {true, {make_var(split_)}});
    }
    OnlineStage stage;
    if (splits_.defined()) stage.merge = merge(m);
    stage.func = state(m);
    stage.part = part(m);
    if (index + 1 < plan_.members.size()) stage.now = now(m);
    stage.needs_old = is_read_old(static_cast<int>(index));
    out_.stages.push_back(stage);
  }

  bool is_read_old(int index) const {
    for (const Member &m : plan_.members) {
      for (const Center &c : m.centers) {
        for (const Reference &r : m.references) {
          if (r.member == index && uses_var(c.running, r.symbol)) return true;
        }
      }
    }
    return false;
  }

  void add_part(const Member &m, const std::vector<Type> &types,
                const std::vector<Expr> &identities) {
    Function f = function(part(m), m, types, true);
    f.definitions.push_back(pure(f, identities));
    Definition d;
    d.loc = m.loc;
    d.args = vars(f.args);
    Expr number = make_var(time_);
    if (splits_.defined()) number = make_add(make_mul(make_var(split_), out_.blocks), number);
    const Expr offset = analysis::simplify(make_add(make_mul(number, block_), make_var(inner_)));
    Substitution map;
    // The predicate keeps it inside; what a block reads then ends where the domain does.
    const Expr zero = make_int(Int(32), 0);
    const Expr inside = make_intrinsic(Int(32), Intrinsic::unsafe_promise_clamped,
                                       {offset, zero, analysis::simplify(before(extent_))});
    map[plan_.var] = is_const_zero(min_) ? inside : make_add(min_, inside);
    std::vector<Expr> old, terms = terms_of(m);
    for (size_t i = 0; i < m.accumulators.size(); i++) {
      old.push_back(make_func_call(types[i], f.name, d.args, static_cast<int>(i)));
      terms[i] = substitute(map, with_shared(terms[i], false));
    }
    d.values = combine(m, old, terms);
    for (ReductionVariable r : plan_.rvars) {
      if (r.var == plan_.var) r = {inner_, make_int(Int(32), 0), block_};
      d.rvars.push_back(r);
    }
    d.predicate = make_likely(make_lt(offset, extent_));
    if (m.predicate.defined()) {  // which may read data, so only inside the domain
      d.predicate = make_intrinsic(Bool(), Intrinsic::if_then_else,
                                   {d.predicate, substitute(map, m.predicate), make_bool(false)});
    }
    f.definitions.push_back(std::move(d));
    out_.program.funcs.push_back(std::move(f));
  }

  void add_state(const Member &m, const std::vector<Type> &types,
                 const std::vector<Expr> &identities) {
    Function f = function(state(m), m, types, true);
    f.definitions.push_back(pure(f, identities));
    Definition d;
    d.loc = m.loc;
    const Place now = after(make_var(outer_));
    d.args = with(vars(m.args), now);
    std::vector<Expr> left = repairs_of(m);
    for (Expr &e : left) e = with_shared(e, true);
    std::vector<Expr> right;
    for (size_t i = 0; i < m.accumulators.size(); i++)
      right.push_back(make_func_call(types[i], part(m), d.args, static_cast<int>(i)));
    d.values = combine(m, left, right);
    d.rvars.push_back({outer_, make_int(Int(32), 0), out_.blocks});
    f.definitions.push_back(std::move(d));
    out_.program.funcs.push_back(std::move(f));
  }

  void add_merge(const Member &m, const std::vector<Type> &types,
                 const std::vector<Expr> &identities) {
    Function f = function(merge(m), m, types, false);
    f.args.push_back(split_);
    f.definitions.push_back(pure(f, identities));
    Definition d;
    d.loc = m.loc;
    const Expr s = make_var(out_.split_var);
    const Place now{true, {s}};
    d.args = with(vars(m.args), now);
    d.values = combine(m, repaired(m, {true, {before(s)}}, now),
                       repaired(m, {false, {s, analysis::simplify(before(out_.blocks))}}, now));
    d.rvars.push_back({out_.split_var, make_int(Int(32), 0), splits_});
    f.definitions.push_back(std::move(d));
    out_.program.funcs.push_back(std::move(f));
  }

  void add_values(const Member &m, Name name, const Place &at) {
    std::vector<Type> types;
    for (const Expr &v : m.values) types.push_back(v.type());
    Function f = function(name, m, types, !at.merged);
    if (at.merged) f.args.push_back(split_);
    Substitution map = references_at(m, at);
    bind_accumulators(m, at, map);
    std::vector<Expr> values;
    for (const Expr &v : m.values) values.push_back(substitute(map, v));
    f.definitions.push_back(pure(f, std::move(values)));
    out_.program.funcs.push_back(std::move(f));
  }

  // ---- results ---------------------------------------------------------------------------------------

  Function result_of(const Function &f) const {
    Function r = f;
    std::vector<Expr> values(f.types.size());
    for (const Member &m : plan_.members) {
      if (m.counts || m.func != f.name) continue;
      for (size_t i = 0; i < m.values.size(); i++) {
        const size_t at = m.values.size() > 1 ? i : static_cast<size_t>(m.value_index);
        values[at] = result(m, i);
      }
    }
    r.definitions = {pure(r, std::move(values))};
    r.definitions[0].loc = f.pure().loc;
    return r;
  }

  Expr result(const Member &m, size_t value) const {
    const Substitution final_values = results(m);
    Substitution accumulators;
    bind_accumulators(m, last(), accumulators);
    if (m.repairs_at_end) {
      Substitution map = accumulators;
      bind_centers(m, last(), true, map);
      for (const Center &c : m.centers) map[c.now] = substitute(final_values, c.last);
      for (const Accumulator &a : m.accumulators)
        accumulators[a.symbol] = substitute(map, a.repair);
    }
    accumulators.insert(final_values.begin(), final_values.end());
    return substitute(accumulators, m.values[value]);
  }

  void keep_reachable() {
    std::unordered_set<Name> used(p_.outputs.begin(), p_.outputs.end());
    std::vector<Function> kept;
    for (auto f = out_.program.funcs.rbegin(); f != out_.program.funcs.rend(); ++f) {
      if (!used.count(f->name)) continue;
      for (const Definition &d : f->definitions) {
        for (const Name &n : called_funcs(d)) used.insert(n);
      }
      kept.push_back(*f);
    }
    std::reverse(kept.begin(), kept.end());
    out_.program.funcs = std::move(kept);
    const auto gone = [&](const Name &n) { return !used.count(n); };
    out_.stages.erase(std::remove_if(out_.stages.begin(), out_.stages.end(),
                                     [&](const OnlineStage &s) { return gone(s.func); }),
                      out_.stages.end());
    for (std::vector<Name> *names : {&out_.results, &out_.shared})
      names->erase(std::remove_if(names->begin(), names->end(), gone), names->end());
  }

  const Program &p_;
  const OnlinePlan &plan_;
  Expr block_, splits_, min_, extent_;
  Name outer_, inner_, time_, split_;
  std::vector<Costly> costly_;
  int terms_ = 0, repairs_ = 0;
  OnlineRewrite out_;
};

}  // namespace

OnlineRewrite rewrite_online(const Program &p, const OnlinePlan &plan, const Expr &block,
                             const Expr &splits) {
  return Rewriter(p, plan, block, splits).run();
}

}  // namespace calotype::transform
