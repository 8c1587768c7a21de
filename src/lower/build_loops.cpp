// From the loop tree to loops: walks the tree from the root, finds at each site the regions its Funcs must provide
// (site_regions.h), and builds storage (func_storage.h), loops and definitions below them.
//
// Pure stages whose blocks end in vectors are built twice where their extent is not known: blocks that shift inwards
// where the extent allows, else loops that end early (stage_loops.h).
#include <algorithm>
#include <utility>

#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "check_promises.h"
#include "extern_stages.h"
#include "func_storage.h"
#include "loop_builder.h"

namespace calotype::lower {

using analysis::Box;
using analysis::simplify;
using schedule::LoopNode;
using schedule::StageRef;
using namespace ir;

namespace {

std::string output_buffer(const Function &f) {
  return f.types.size() > 1 ? f.name + ".0" : f.name.str();
}

[[noreturn]] void refuse_unknown_extent(Name func, const schedule::Loop &loop) {
  const bool vector = loop.kind == ForType::Vectorized;
  const std::string verb = vector ? "vectorize" : "unroll";
  raise(Diagnostic("S0112", loop.loc,
                   func.str() + " cannot " + verb + " " + loop.var.str() +
                       ": how far this loop runs is not a constant")
            .fix(verb + "(" + loop.var.str() + ", n) for blocks of n, or bound() the dimension"));
}

StageRef stage_of(const LoopNode &n) {
  if (n.kind == LoopNode::Kind::Loop || n.kind == LoopNode::Kind::Compute ||
      n.kind == LoopNode::Kind::Branch)
    return n.members[0];
  for (const auto &c : n.children) {  // a stage without loops whose reader needs storage around it
    if (c->kind != LoopNode::Kind::Produce) return stage_of(*c);
  }
  CALO_ASSERT(false, "a stage without a definition");
  return {};
}

bool has_effects(const Definition &d) {
  bool any = false;
  for (const Expr &e : d.values) {
    for_each_expr(e, [&](const Expr &x) {
      const Call *c = x.as<Call>();
      any = any || (c && (c->call_type == CallType::Extern || c->op == Intrinsic::print ||
                          c->op == Intrinsic::print_when));
    });
  }
  return any;
}

}  // namespace

Stmt LoopBuilder::build() {
  RegionFinder::Site site;
  site.root = true;
  std::unordered_map<Name, Box> given;
  for (Name out : c_.program.outputs) {
    const Function &f = *c_.program.find(out);
    Box box;
    std::string buffer = output_buffer(f);
    for (int d = 0; d < f.dimensions(); d++) {
      Expr min = make_var(buffer + ".min." + std::to_string(d));
      Expr extent = make_var(buffer + ".extent." + std::to_string(d));
      box.push_back({min, make_sub(make_add(min, extent), c32(1)), {}});
    }
    given[out] = box;
  }
  at_root_ = true;
  return build_site(*c_.cx.tree, site, given);
}

Stmt LoopBuilder::build_site(const LoopNode &parent, RegionFinder::Site site,
                             const std::unordered_map<Name, Box> &given) {
  SiteRegions here;
  const size_t outer = c_.symbols.count();
  bool root = at_root_;
  at_root_ = false;
  find_regions(c_, parent, site, given, here);
  if (root) {
    if (c_.queries_inputs) {
      for (const Let &l : here.lets) c_.cx.early_lets.emplace_back(l.name, l.value);
    }
    check_promises(c_, here.found);
    for (auto &[name, box] : here.found.inputs) c_.cx.input_regions[name] = c_.symbols.expand(box);
    for (auto &[name, region] : here.found.funcs) {
      bool bounded = false;
      for (const schedule::Bound &b : c_.state.of(name).bounds) bounded |= b.extent.defined();
      if (bounded) c_.cx.bounded_reads[name] = c_.symbols.expand(region.read);
    }
    for (Name out : c_.program.outputs)
      c_.cx.output_regions[out] = c_.symbols.expand(here.found.funcs.at(out).stored);
  }
  Stmt body = build_children(parent, here);
  c_.symbols.forget(outer);
  return with_lets(here.lets, body);
}

// Loops cannot be shared with a Func that nothing needs: it has no loops.
void LoopBuilder::refuse_unread_member(const LoopNode &n, const RegionFinder::Result &found) {
  std::string unread;
  SrcLoc loc;
  for (const StageRef &m : n.members) {
    if (!found.funcs.count(m.func)) unread = m.func;
    for (const schedule::StageState &st : c_.state.of(m.func).stages) {
      if (st.shared.defined()) loc = st.shared.loc;
    }
  }
  raise(Diagnostic("S0133", loc, "loops cannot be shared with " + unread)
            .because("nothing that is computed reads " + unread + ", so it has no loops")
            .fix("leave compute_with away"));
}

Stmt LoopBuilder::build_children(const LoopNode &parent, const SiteRegions &here) {
  std::vector<Stmt> stmts;
  for (const auto &child : parent.children) {
    const LoopNode &n = *child;
    bool unread = (n.kind == LoopNode::Kind::Produce || n.kind == LoopNode::Kind::Store) &&
                  !here.found.funcs.count(n.func);
    switch (n.kind) {
      case LoopNode::Kind::Store:
        if (unread) {
          stmts.push_back(build_children(n, here));
        } else {
          stmts.push_back(build_store(c_, n, here, [&] { return build_children(n, here); }));
        }
        break;
      case LoopNode::Kind::Hoist:
        stmts.push_back(build_hoist(c_, n, [&] { return build_children(n, here); }));
        break;
      case LoopNode::Kind::Produce: {
        std::vector<Name> funcs;
        if (n.members.empty()) funcs.push_back(n.func);
        for (const StageRef &m : n.members) funcs.push_back(m.func);
        funcs.erase(std::remove_if(funcs.begin(), funcs.end(),
                                   [&](Name f) { return !here.found.funcs.count(f); }),
                    funcs.end());
        if (funcs.empty()) break;
        if (funcs.size() < n.members.size()) refuse_unread_member(n, here.found);
        std::vector<Stmt> all{build_produce(n, here.constant_max)};
        for (Name f : funcs) {
          all[0] = make_producer(f, all[0]);
          if (c_.state.of(f).memoize)
            all[0] = memoized(c_, *c_.program.find(f), here.found.funcs.at(f), all[0]);
          auto mark = here.marks.find(f);
          if (mark != here.marks.end()) all.push_back(advance_mark(f, mark->second));
        }
        auto guard = guards_.find(funcs[0]);
        Stmt s = make_block(all);
        stmts.push_back(guard != guards_.end() ? make_if(guard->second, s) : s);
        break;
      }
      case LoopNode::Kind::Branch:
      case LoopNode::Kind::Case: CALO_ASSERT(false, "a specialization outside of its Func");
      case LoopNode::Kind::Loop:
      case LoopNode::Kind::Compute: {
        if (n.members.size() > 1) {
          stmts.push_back(n.in_order ? build_loop_in_order(n) : build_shared_loop(n));
          break;
        }
        // In a shared loop a member runs in its own iterations only.
        OpenStage &open = c_.open_of(n.members[0]);
        const Expr active = std::exchange(open.active, Expr());
        Stmt s = n.kind == LoopNode::Kind::Loop ? build_loop(n) : build_compute(n.members[0]);
        open.active = active;
        stmts.push_back(active.defined() ? make_if(active, s) : s);
        break;
      }
      case LoopNode::Kind::Root: break;
    }
  }
  return make_block(stmts);
}

Stmt LoopBuilder::advance_mark(Name func, Name mark) {
  const Function &f = *c_.program.find(func);
  int dim = 0;
  while (mark_name(func, f.args[dim]) != mark) dim++;
  const Slide &slide = c_.slides.at(func);
  return make_store(mark,
                    slide.advanced(make_var(StageLoops::min_symbol(func, 0, f.args[dim])),
                                   make_var(StageLoops::max_symbol(func, 0, f.args[dim]))),
                    c32(0));
}

Stmt LoopBuilder::build_produce(const LoopNode &n, const ConstantMax &constant_max) {
  std::vector<Stmt> stmts;
  for (const auto &child : n.children) {
    if (child->kind == LoopNode::Kind::Loop && child->members.size() > 1) {
      stmts.push_back(build_shared_stages(*child, constant_max));
      continue;
    }
    const auto known = constant_max.find(stage_of(*child).func);
    if (known == constant_max.end()) continue;  // of several Funcs, one that nothing here reads
    stmts.push_back(build_stage(*c_.program.find(known->first), *child, known->second));
  }
  return make_block(stmts);
}

Expr LoopBuilder::may_shift(const Function &f, int stage, const StageLoops &loops) const {
  Expr fits = loops.fits();
  if (!fits.defined()) return fits;
  // A block that shifts inwards would have effects twice.
  if (has_effects(f.definitions[stage])) return make_bool(false);
  if (proved_here(fits)) fits = make_bool(true);
  if (c_.cx.in_place.count(f.name))
    fits = make_and(fits, make_not(make_var(in_place_flag(f.name), Bool())));
  return fits;
}

Stmt LoopBuilder::build_stage(const Function &f, const LoopNode &n,
                              const std::vector<std::unordered_map<Name, Expr>> &constant_max) {
  if (n.kind == LoopNode::Kind::Branch) return build_branch(f, n, constant_max);
  const StageRef s = stage_of(n);
  auto max_is = constant_max[s.stage];
  know_extents(f, s, max_is);
  StageLoops shifted(f, s.stage, *s.state, c_.mode, max_is);
  const Expr fits = c_.mode == TailMode::Shift ? may_shift(f, s.stage, shifted) : Expr();
  if (!fits.defined() || is_const_one(fits)) return with_stage(s, shifted, n);
  StageLoops guarded(f, s.stage, *s.state, TailMode::Guard, max_is);
  TailMode saved = c_.mode;
  c_.mode = TailMode::Guard;
  Stmt small = with_stage(s, guarded, n);
  c_.mode = saved;
  return is_const_zero(fits) ? small : make_if(fits, with_stage(s, shifted, n), small);
}

Stmt LoopBuilder::build_branch(const Function &f, const LoopNode &n,
                               const std::vector<std::unordered_map<Name, Expr>> &constant_max) {
  Stmt result;
  for (size_t i = n.children.size(); i-- > 0;) {
    const LoopNode &c = *n.children[i];
    Stmt body;
    if (c.children.empty()) {
      Expr fail = make_intrinsic(
          Int(32), Intrinsic::error,
          {make_string("calo_error_specialize_fail"), make_string(c_.cx.program.name),
           make_string(c.members[0].state->failure)});
      body = make_assert(make_bool(false), fail);
    } else {
      if (c.condition.defined()) c_.facts.truths.push_back(c.condition);
      body = build_stage(f, *c.children[0], constant_max);
      if (c.condition.defined()) c_.facts.truths.pop_back();
    }
    result = result.defined() ? make_if(c.condition, body, result) : body;
  }
  return result;
}

void LoopBuilder::know_extents(const Function &f, const StageRef &s,
                               std::unordered_map<Name, Expr> &max_is) {
  if (s.state->assumed.empty()) return;
  for (size_t d = 0; d < f.args.size(); d++) {
    Name v = pure_arg(f, f.definitions[s.stage], d);
    if (!v.empty()) know_extent(f, s, v, max_is);
  }
  for (const ReductionVariable &r : f.definitions[s.stage].rvars) know_extent(f, s, r.var, max_is);
}
void LoopBuilder::know_extent(const Function &f, const StageRef &s, Name v,
                              std::unordered_map<Name, Expr> &max_is) {
  Expr min = make_var(StageLoops::min_symbol(f.name, s.stage, v)),
       max = make_var(StageLoops::max_symbol(f.name, s.stage, v));
  Expr last = simplify(schedule::under_conditions(
      make_sub(c_.symbols.expand(max), c_.symbols.expand(min)), s.state->assumed));
  if (as_const_int(last) && !max_is.count(v)) max_is[v] = simplify(make_add(min, last));
}

bool LoopBuilder::proved_here(const Expr &condition) const {
  return !c_.facts.truths.empty() && analysis::can_prove(c_.symbols.expand(condition), c_.facts);
}

Stmt LoopBuilder::with_stage(const StageRef &s, const StageLoops &loops, const LoopNode &n) {
  OpenStage open{s, &loops, {}, {}, {}};
  c_.stages.push_back(&open);
  Stmt result;
  if (n.kind == LoopNode::Kind::Loop) {
    result = build_loop(n);
  } else {
    result = build_innermost(n);
  }
  c_.stages.pop_back();
  return result;
}

Stmt LoopBuilder::build_innermost(const LoopNode &n) {
  struct Borrowed {  // the tree keeps the node, whatever is thrown
    LoopNode parent;
    ~Borrowed() { parent.children[0].release(); }
  } borrowed;
  borrowed.parent.children.push_back(std::unique_ptr<LoopNode>(const_cast<LoopNode *>(&n)));
  return build_site(borrowed.parent, owner_site(stage_of(n)), {});
}

RegionFinder::Site LoopBuilder::owner_site(const StageRef &stage) {
  OpenStage &open = c_.open_of(stage);
  RegionFinder::Site site;
  RegionFinder::Owner owner{open.stage, {}};
  for (Name v : open.loops->roots()) owner.ranges[v] = open.loops->range(v, open.fixed);
  site.owners.push_back(std::move(owner));
  return site;
}

Stmt LoopBuilder::build_loop(const LoopNode &n) {
  OpenStage &open = c_.open_of(n.members[0]);
  Name var = n.loop.var;
  OpenLoop loop{open.loops->loop_name(var),
                open.loops->loop_kind(var),
                open.loops->loop_min(var),
                open.loops->loop_extent(var),
                {}};
  bool fixed_length = loop.kind == ForType::Vectorized || loop.kind == ForType::Unrolled;
  if (fixed_length && !as_const_int(loop.extent)) {
    if (c_.mode == TailMode::Shift) refuse_unknown_extent(open.stage.func, n.loop);
    loop.kind = ForType::Serial;
  }
  if (n.loop.partition != Partition::Auto) c_.cx.partition[loop.name] = n.loop.partition;
  c_.loops.push_back(loop);
  open.fixed.insert(var);
  // Beyond the edge nothing is asked of producers either: what they read need not exist there.
  std::map<int, Expr> guards;
  const bool produces = std::any_of(n.children.begin(), n.children.end(), [](const auto &c) {
    return c->kind != LoopNode::Kind::Loop && c->kind != LoopNode::Kind::Compute;
  });
  if (produces) guards = open.loops->guards(open.fixed);
  for (auto g = guards.begin(); g != guards.end();)
    g = open.guarded.insert(g->first).second ? std::next(g) : guards.erase(g);
  Stmt body = build_site(n, owner_site(n.members[0]), {});
  for (const auto &g : guards) {
    body = make_if(make_likely(g.second), body);
    open.guarded.erase(g.first);
  }
  open.fixed.erase(var);
  loop = c_.loops.back();
  c_.loops.pop_back();
  return with_marks(loop.marks, make_for(loop.name, loop.min, loop.extent, loop.kind, body));
}

Stmt LoopBuilder::build_compute(const StageRef &s) {
  const Function &f = *c_.program.find(s.func);
  const Definition &d = f.definitions[s.stage];
  const StageLoops &loops = *c_.open_of(s).loops;
  if (f.extern_stage()) return run_extern(f, loops);
  Substitution map;
  std::vector<Let> lets;
  for (Name v : loops.roots()) {
    Expr value = loops.value(v);
    if (value.as<Variable>()) {
      map[v] = value;
    } else {
      Name at = f.name + ".s" + std::to_string(s.stage) + "." + v.str() + ".at";
      lets.push_back({at, value});
      map[v] = make_var(at);
    }
  }
  std::vector<Expr> values, args;
  for (const Expr &e : d.values) values.push_back(substitute(map, e));
  for (const Expr &e : d.args) args.push_back(substitute(map, e));
  Stmt body = make_provide(f.name, values, args);
  body = combined(s, body);
  if (d.predicate.defined()) body = make_if(substitute(map, d.predicate), body);
  const OpenStage &open = c_.open_of(s);
  for (const auto &g : loops.guards(open.fixed)) {
    if (!open.guarded.count(g.first))
      body = make_if(make_likely(g.second), body);  // apart: some are scalar in vector code
  }
  return with_lets(lets, body);
}

Stmt LoopBuilder::combined(const StageRef &s, const Stmt &provide) {
  const schedule::StageState &st = *s.state;
  if (!st.atomic) return provide;
  const Function &f = *c_.program.find(s.func);
  const schedule::OrderFacts &facts = order_.of(f, s.stage);
  const auto roots = schedule::root_vars(f, st, s.stage);
  bool shared = false, lanes = false;
  for (const schedule::Loop &loop : st.loops) {
    if (facts.is_free(roots.at(loop.var))) continue;
    shared |= loop.kind == ForType::Parallel;
    lanes |= loop.kind == ForType::Vectorized;
  }
  return shared || lanes ? make_atomic(s.func, s.stage, shared, provide) : provide;
}

Stmt build_loops(const Stmt &, PassContext &cx) {
  find_in_place(cx);
  cx.tree = schedule::build_loop_tree(cx.program, *cx.state);
  return LoopBuilder(cx).build();
}

}  // namespace calotype::lower
