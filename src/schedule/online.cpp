// online: a cascade of reductions becomes one pass over blocks of their domain. What the pass computes comes from
// transform/online_rewrite.h; here the loops that were said of the update go to the Funcs of the pass:
//
//   O.update():  for io: for ko: for i: for ki: for d          O.update().split(i, io, i).split(k, ko, ki) ...
//   O:           for io: [states' pure definitions; block loop; then] for i: for d: O = ... O_state, L_state ...
//   block loop:  for ko: { M_part; M_state.update; L_part; L_state.update; O_part; O_state.update }
//   O_part:      for i: for ki: for d                          O_state.update: for i: for d
//
// The loops outside of ko go to O, those inside to O's part, and the pure ones among them to its state and to O too.
// Tests: test/unit/schedule/online_test.cpp, test/pipelines/online_test.cpp.
#include <algorithm>
#include <map>

#include "../base/options.h"
#include "../ir/settle.h"
#include "../ir/visit.h"
#include "../transform/check.h"
#include "../transform/online_rewrite.h"
#include "make_funcs.h"

namespace calotype::schedule {

namespace {

using namespace ir;

class Online {
public:
  Online(ReplayContext &cx, Scheduled &s, const Directive &d) : cx_(cx), s_(s), d_(d) {}

  Reason run() {
    for (const auto step : {&Online::find_stage, &Online::find_members, &Online::find_block_loop,
                            &Online::check_loops, &Online::make_plan}) {
      if (Reason r = (this->*step)(); !r) return r;
    }
    rewritten_ = transform::rewrite_online(s_.program, *plan_, block_);
    rename_funcs();
    if (Reason r = check_names(); !r) return r;
    if (Reason r = check_gone(); !r) return r;
    put_in();
    return {};
  }

private:
  const Function &func() const { return *s_.program.find(d_.func); }
  const Definition &definition() const { return func().definitions[static_cast<size_t>(d_.stage)]; }
  const StageState &stage() const {
    return s_.of(func().name).stages[static_cast<size_t>(d_.stage)];
  }
  std::string subject() const { return stage_name(d_.func, d_.stage); }
  Diagnostic refusal(const char *code, std::string what) const {
    return Diagnostic(code, d_.loc, std::move(what));
  }

  // ---- what is asked for -----------------------------------------------------------------------------
  Reason find_stage() {
    const Function *f = s_.program.find(d_.func);
    if (!f)
      return no(no_such_func(d_.func, s_.program, d_.func_loc.defined() ? d_.func_loc : d_.loc));
    if (d_.stage == 0) {
      Diagnostic d = refusal("S0108", "online makes no sense on the pure definition of " + d_.func);
      d.why.push_back({"it runs reductions in one pass, and only updates reduce", f->loc});
      if (f->has_updates()) d.help.push_back(d_.func + ".update(0).online(...)");
      return no(std::move(d));
    }
    if (d_.stage >= f->stages()) {
      return no(refusal("S0106", "there is no " + subject())
                    .because(d_.func + " has " + std::to_string(f->stages() - 1) +
                             " update definitions"));
    }
    return {};
  }

  Reason find_members() {
    const bool fits = d_.args.size() == 2 && d_.args[0].kind == Arg::Kind::Name &&
                      d_.args[1].kind == Arg::Kind::List;
    if (!fits) {
      return no(refusal("S0105", "wrong arguments of online")
                    .because("it takes the loop over blocks, and the other reductions of the pass")
                    .fix("online(ko, {M, L})"));
    }
    for (const Arg &a : d_.args[1].items) {
      const SrcLoc at = a.loc.defined() ? a.loc : d_.loc;
      if (a.kind != Arg::Kind::Func || !s_.program.find(a.func))
        return no(no_such_func(a.func, s_.program, at));
      if (std::find(members_.begin(), members_.end(), a.func) != members_.end() ||
          a.func == d_.func)
        return no(Diagnostic("S0114", at, "online names " + a.func + " twice")
                      .because("it takes the reductions before " + d_.func));
      members_.push_back(a.func);
    }
    return {};
  }

  // ko: an RVar, or the outer part of a split of one.
  Reason find_block_loop() {
    const Arg &a = d_.args[0];
    const int i = find_loop(func(), stage().loops, a.text);
    if (i < 0)
      return no(no_such_loop("online", a.loc.defined() ? a.loc : d_.loc, a.text, subject(), stage(),
                             i == -2));
    at_ = static_cast<size_t>(i);
    const Loop &loop = stage().loops[at_];
    const auto &relations = stage().relations;
    Name whole = loop.var;
    block_ = make_int(Int(32), 1);
    for (size_t k = relations.size(); k-- > 0;) {
      const Relation &r = relations[k];
      if (r.kind == Relation::Kind::Split && r.outer == loop.var) {
        split_ = static_cast<int>(k);
        whole = r.old;
        block_ = r.factor;
      }
      if (makes(r, loop.var)) break;
    }
    bool root = loop.reduction && is_rvar(whole);
    const size_t before = split_ < 0 ? relations.size() : static_cast<size_t>(split_);
    for (size_t k = 0; k < before; k++) root = root && !uses(relations[k], whole);
    if (!root) {
      Diagnostic d("S0815", a.loc.defined() ? a.loc : d_.loc,
                   loop.var + " of " + subject() + " is no loop over blocks");
      d.why.push_back({loop.reduction ? "it is made of other loops of the reduction"
                                      : "it is a loop of a pure variable: its iterations are apart",
                       loop.loc});
      d.help.push_back("name an RVar, or the outer loop of one split of an RVar");
      return no(std::move(d));
    }
    var_ = whole;
    if (loop.kind != ForType::Serial) {
      return no(Diagnostic("S0815", a.loc.defined() ? a.loc : d_.loc,
                           "the block loop " + loop.var + " of " + subject() + " is not serial")
                    .because("each block goes on from where the one before has come", loop.loc)
                    .fix("make it serial; parallel belongs to a loop outside of it"));
    }
    return {};
  }
  static bool uses(const Relation &r, Name v) {
    return r.old == v || (r.kind == Relation::Kind::Fuse && (r.inner == v || r.outer == v));
  }
  static bool makes(const Relation &r, Name v) {
    return r.kind == Relation::Kind::Fuse ? r.old == v : r.outer == v || r.inner == v;
  }

  // Pure loops outside of the block loop; relations that keep pure variables and RVars apart; no other directives that
  // would be lost.
  Reason check_loops() {
    const auto roots = root_vars(func(), stage(), d_.stage);
    for (size_t i = at_ + 1; i < stage().loops.size(); i++) {
      const Loop &loop = stage().loops[i];
      if (!loop.reduction) continue;
      return no(refusal("S0815", "loop " + loop.var + " of " + subject() +
                                     " lies outside of the block loop " + block_loop().var)
                    .because("a block goes through all of the reduction's other loops", loop.loc)
                    .fix("reorder it into " + block_loop().var));
    }
    for (const Loop &loop : stage().loops) {
      bool pure = false, reduction = false;
      for (Name v : roots.at(loop.var)) (is_rvar(v) ? reduction : pure) = true;
      if (!pure || !reduction) continue;
      return no(refusal("S0815", "loop " + loop.var + " of " + subject() +
                                     " is fused of a pure variable and an RVar")
                    .because("the result has no such loop", loop.loc)
                    .fix("fuse pure variables with each other"));
    }
    if (stage().races) {
      return no(refusal("S0815", subject() + " allows race conditions")
                    .because("nothing can be proved of it then")
                    .fix("remove allow_race_conditions"));
    }
    std::vector<Name> all = members_;
    all.push_back(d_.func);
    for (Name m : all) {
      const FuncState &s = s_.of(m);
      for (size_t k = 0; k < s.stages.size(); k++) {
        if (m == d_.func && static_cast<int>(k) == d_.stage) continue;
        if (as_made(*s_.program.find(m), static_cast<int>(k), s.stages[k])) continue;
        Diagnostic d = refusal("S0815", stage_name(m, static_cast<int>(k)) +
                                            " got directives on its loops before online");
        d.why.push_back({"its loops are other ones afterwards", s.loops_loc});
        d.help.push_back("say them after online: of " + m + " (its result), " + part_name(m) +
                         " or " + state_name(m));
        return no(std::move(d));
      }
    }
    return {};
  }
  bool is_rvar(Name v) const {
    for (const ReductionVariable &r : definition().rvars) {
      if (r.var == v) return true;
    }
    return false;
  }
  const Loop &block_loop() const { return stage().loops[at_]; }
  static bool as_made(const Function &f, int stage, const StageState &s) {
    const std::vector<Loop> initial = initial_loops(f, stage);
    bool same = s.relations.empty() && initial.size() == s.loops.size() && !s.atomic && !s.races &&
                s.specializations.empty() && !s.shared.defined() && !s.fails();
    for (size_t i = 0; same && i < initial.size(); i++) {
      const Loop &a = initial[i], &b = s.loops[i];
      same = a.var == b.var && a.kind == b.kind && a.partition == b.partition;
    }
    return same;
  }

  // ---- the pass --------------------------------------------------------------------------------------
  Reason make_plan() {
    transform::OnlineRequest request;
    request.func = d_.func;
    request.stage = d_.stage;
    request.var = var_;
    request.members = members_;
    request.loc = d_.loc;
    transform::OnlineResult result = transform::plan_online(s_.program, request);
    if (!result) return no(std::move(result.refusal));
    plan_ = std::move(result.plan);
    if (options().verify) {
      transform::verify_plan(s_.program, *plan_);
      return {};
    }
    const std::string wrong = transform::check_in_fields(s_.program, *plan_);
    if (!wrong.empty()) {
      raise(Diagnostic("X0001", d_.loc,
                       "the one-pass form of " + d_.func + " is not what the algorithm says")
                .because(wrong)
                .because(transform::certificate(*plan_)));
    }
    return {};
  }

  // "M.part" becomes M_part, a name that schedules can write.
  void rename_funcs() {
    std::map<std::string, Name> names;
    for (transform::OnlineStage &st : rewritten_.stages) {
      for (Name *n : {&st.func, &st.part, &st.now}) {
        if (n->empty()) continue;
        const Name plain = plain_name(*n);
        names[*n] = plain;
        *n = plain;
      }
    }
    for (Name n : rewritten_.shared) names[n] = plain_name(n);
    for (Function &f : rewritten_.program.funcs) {
      const auto own = names.find(f.name);
      const auto change = [&](const Expr &e) {
        return rewrite(e, [&](const Expr &x) -> Expr {
          const Call *call = x.as<Call>();
          if (!call || call->call_type != CallType::Halide) return x;
          const auto it = names.find(call->name);
          if (it == names.end()) return x;
          return make_func_call(call->type, it->second, call->args, call->value_index);
        });
      };
      for (Definition &d : f.definitions) change_definition(d, change);
      const bool changed =
          own != names.end() || std::find(rewritten_.results.begin(), rewritten_.results.end(),
                                          f.name) != rewritten_.results.end();
      if (own != names.end()) {
        f.name = own->second;
        made_.push_back(f.name);
      }
      if (changed && !cx_.target.has_feature(Target::StrictFloat))
        settle(f, cx_.target.fuses_multiply_add());
    }
  }
  static Name plain_name(const std::string &name) {
    const size_t dot = name.rfind('.');
    const std::string kind = name.substr(dot + 1), func = name.substr(0, dot);
    if (kind == "part") return part_name(func);
    if (kind == "state") return state_name(func);
    return kind == "now" ? state_name(func) + "_value" : plain(func) + "_" + kind;
  }

  Reason check_names() {
    for (Name n : made_) {
      Directive made = d_;
      made.made = n;
      if (Reason r = check_made_name(s_, made); !r) {
        r.diagnostic.help = {"give " + n + " another name: online makes Funcs of these names"};
        return r;
      }
    }
    return {};
  }

  // Funcs that the plan put into their readers and that nothing reads any more.
  Reason check_gone() {
    for (const Function &f : s_.program.funcs) {
      if (rewritten_.program.find(f.name)) continue;
      const FuncState &s = s_.of(f.name);
      if (s.compute.is_inlined() && s.store.is_inlined() && !s.touched) continue;
      SrcLoc at = s.compute.loc.defined() ? s.compute.loc : s.loops_loc;
      return no(refusal("S0815", f.name + " is scheduled, but online leaves nothing of it")
                    .because("it uses what the pass has not finished, so that it becomes part of "
                             "the pass",
                             at)
                    .fix("schedule the parts instead: " + part_name(d_.func)));
    }
    return {};
  }

  // ---- loops of the Funcs made ------------------------------------------------------------------------
  // Which loops of the update come from each relation, as it was applied.
  struct Flow {
    bool old = false, outer = false, inner = false;  ///< some chosen loop derives from it
  };
  std::vector<Flow> flow_of(const std::vector<Name> &chosen) const {
    const auto &relations = stage().relations;
    std::vector<Flow> flows(relations.size());
    std::map<std::string, bool> in;
    for (const Loop &loop : stage().loops) in[loop.var] = false;
    for (Name n : chosen) in[n] = true;
    for (size_t k = relations.size(); k-- > 0;) {
      const Relation &r = relations[k];
      const auto take = [&](Name n) {
        const bool is = in[n];
        in.erase(n);
        return is;
      };
      Flow &f = flows[k];
      if (r.kind == Relation::Kind::Split) {
        f.outer = take(r.outer);
        f.inner = take(r.inner);
        in[r.old] = f.old = f.outer || f.inner;
      } else if (r.kind == Relation::Kind::Fuse) {
        f.old = f.outer = f.inner = take(r.old);
        in[r.inner] = in[r.outer] = f.old;
      } else {
        in[r.old] = f.old = f.outer = take(r.outer);
      }
    }
    return flows;
  }

  // The state of a stage that has the chosen loops of the update, in their order, and of its own variables those that no
  // chosen loop comes from, outside. A split of which one part is chosen leaves what a site asks for to that part.
  StageState with_loops(const Function &f, int index, const std::vector<Name> &chosen) const {
    const std::vector<Flow> flows = flow_of(chosen);
    StageState s;
    const bool pure = index == 0;
    if (has_var(f, index, inner_var()) && split_ >= 0) {
      Relation r;
      r.kind = Relation::Kind::Rename;
      r.old = inner_var();
      r.outer = stage().relations[static_cast<size_t>(split_)].inner;
      r.exact = true;
      r.loc = d_.loc;
      if (r.old != r.outer) s.relations.push_back(r);
    }
    for (size_t k = 0; k < flows.size(); k++) {
      if (static_cast<int>(k) == split_ || !flows[k].old) continue;
      Relation r = stage().relations[k];
      if (r.kind == Relation::Kind::Split && flows[k].outer != flows[k].inner) {
        r.kind = Relation::Kind::Rename;
        if (flows[k].inner) r.outer = r.inner;
        r.inner = Name();
        r.factor = Expr();
        if (r.old == r.outer) continue;
      }
      if (r.kind == Relation::Kind::Split)
        r.tail = pure && !r.exact ? TailStrategy::Auto : TailStrategy::GuardWithIf;
      s.relations.push_back(std::move(r));
    }
    for (Name n : chosen) {
      for (const Loop &loop : stage().loops) {
        if (loop.var == n) s.loops.push_back(loop);
      }
    }
    std::vector<Name> from;  // variables that the chosen loops come from
    const auto roots = root_vars(func(), stage(), d_.stage);
    for (Name n : chosen) {
      for (Name v : roots.at(n)) from.push_back(v == var_ ? inner_var() : v);
    }
    for (const Loop &loop : initial_loops(f, index)) {
      if (std::find(from.begin(), from.end(), loop.var) == from.end()) s.loops.push_back(loop);
    }
    return s;
  }
  static bool has_var(const Function &f, int index, Name v) {
    for (const ReductionVariable &r : f.definitions[static_cast<size_t>(index)].rvars) {
      if (r.var == v) return true;
    }
    return false;
  }
  Name inner_var() const { return var_ + ".i"; }

  std::vector<Name> loops_where(bool inside, bool outside, bool reductions) const {
    std::vector<Name> names;
    for (size_t i = 0; i < stage().loops.size(); i++) {
      const Loop &loop = stage().loops[i];
      if (i == at_ || (i < at_ ? !inside : !outside) || (loop.reduction && !reductions)) continue;
      names.push_back(loop.var);
    }
    return names;
  }

  // The block loop, outermost of a state's update, under the name that was said.
  void name_block_loop(StageState &s) const {
    Loop loop = block_loop();
    const auto at = std::find_if(s.loops.begin(), s.loops.end(),
                                 [&](const Loop &l) { return l.var == rewritten_.block_var; });
    CALO_ASSERT(at != s.loops.end());
    s.loops.erase(at);
    s.loops.push_back(loop);
    if (loop.var == rewritten_.block_var) return;
    Relation r;
    r.kind = Relation::Kind::Rename;
    r.old = rewritten_.block_var;
    r.outer = loop.var;
    r.exact = true;
    r.loc = d_.loc;
    s.relations.push_back(std::move(r));
  }

  // Loops of the inner part of the blocks, in parts of other members, have the name it has here.
  void name_inner_loop(const Function &f, StageState &s) const {
    if (split_ < 0 || !has_var(f, 1, inner_var())) return;
    const Name name = stage().relations[static_cast<size_t>(split_)].inner;
    if (name == inner_var()) return;
    Relation r;
    r.kind = Relation::Kind::Rename;
    r.old = inner_var();
    r.outer = name;
    r.exact = true;
    r.loc = d_.loc;
    s.relations.push_back(std::move(r));
    for (Loop &l : s.loops) {
      if (l.var == inner_var()) l.var = name;
    }
  }

  Level states_level() const {
    Level level;
    level.kind = Level::Kind::At;
    level.func = d_.func;
    level.stage = 0;
    level.var = at_ + 1 < stage().loops.size() ? stage().loops[at_ + 1].var.str() : "__outermost";
    level.loc = d_.loc;
    return level;
  }

  void put_in() {
    const std::vector<Name> inside = loops_where(true, false, true),
                            inside_pure = loops_where(true, false, false),
                            all_pure = loops_where(true, true, false);
    const Program &p = rewritten_.program;
    const std::string last = rewritten_.stages.back().func;
    const StageState said = stage();
    std::unordered_map<Name, FuncState> made;
    for (const transform::OnlineStage &st : rewritten_.stages) {
      const bool own = st.func == last;
      const Function &part = *p.find(st.part), &state = *p.find(st.func);
      FuncState part_state = initial_func_state(p, part), own_state = initial_func_state(p, state);
      if (own) {
        part_state.stages[0] = with_loops(part, 0, inside_pure);
        part_state.stages[1] = with_loops(part, 1, inside);
        part_state.stages[1].atomic = said.atomic;
        part_state.stages[1].any_order = said.any_order;
        own_state.stages[0] = with_loops(state, 0, inside_pure);
        own_state.stages[1] = with_loops(state, 1, inside_pure);
      } else {
        name_inner_loop(part, part_state.stages[1]);
      }
      name_block_loop(own_state.stages[1]);
      if (own) own_state.compute = states_level();
      own_state.scan = {state.args.back(), st.needs_old ? 2 : 1, own ? Name() : Name(last)};
      if (st.func != rewritten_.stages[0].func) {
        SharedLoops &shared = own_state.stages[1].shared;
        shared.func = rewritten_.stages[0].func;
        shared.stage = 1;
        shared.var = block_loop().var;
        shared.in_order = true;
        shared.loc = d_.loc;
      }
      part_state.compute.kind = Level::Kind::At;
      part_state.compute.func = st.func;
      part_state.compute.stage = 1;
      part_state.compute.var = block_loop().var;
      part_state.compute.loc = d_.loc;
      made[st.part] = std::move(part_state);
      made[st.func] = std::move(own_state);
    }
    for (Name n : made_) {
      if (!made.count(n)) made[n] = initial_func_state(p, *p.find(n));
    }
    for (Name r : rewritten_.results) {
      FuncState &s = s_.state.funcs.at(r);
      const Function &f = *p.find(r);
      StageState first =
          r == d_.func ? with_loops(f, 0, all_pure) : initial_func_state(p, f).stages[0];
      if (r == d_.func) s.block_loop = {block_loop().var, last, 1};
      s.stages = {std::move(first)};
      s.loops_loc = SrcLoc();  // inlined, it has no loops to lose: those of the pass are others'
      s.touched = s.storage_loc.defined() || !s.bounds.empty() || s.trace_loads || s.trace_stores ||
                  s.trace_realizations;
      cx_.order.forget(r);
    }
    s_.reordered.push_back("online on " + subject());
    s_.certificates.push_back(transform::certificate(*plan_));
    give_ids();
    s_.program = std::move(rewritten_.program);
    for (auto &[name, state] : made) {
      s_.state.funcs[name] = std::move(state);
      cx_.order.forget(name);
    }
    for (auto it = s_.state.funcs.begin(); it != s_.state.funcs.end();) {
      it = s_.program.find(it->first) ? std::next(it) : s_.state.funcs.erase(it);
    }
  }

  void give_ids() {
    const std::vector<std::string> names = online_funcs(d_);
    for (Function &f : rewritten_.program.funcs) {
      const auto at = std::find(names.begin(), names.end(), f.name.str());
      const size_t i = static_cast<size_t>(at - names.begin());
      if (i < d_.online_ids.size()) f.id = d_.online_ids[i];
    }
  }

  ReplayContext &cx_;
  Scheduled &s_;
  const Directive &d_;
  std::vector<Name> members_;
  size_t at_ = 0;   ///< the block loop, in the update's loops
  int split_ = -1;  ///< the relation that made it; -1: it is the RVar itself
  Name var_;        ///< the RVar
  Expr block_;      ///< iterations of the RVar in a block
  std::optional<transform::OnlinePlan> plan_;
  transform::OnlineRewrite rewritten_;
  std::vector<Name> made_;
};

}  // namespace

Reason make_online(ReplayContext &cx, Scheduled &s, const Directive &d) {
  return Online(cx, s, d).run();
}

}  // namespace calotype::schedule
