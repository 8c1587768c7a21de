// Loops that several stages share (compute_with).
#include <utility>

#include "loop_builder.h"

namespace calotype::lower {

using analysis::simplify;
using schedule::LoopNode;
using schedule::StageRef;
using namespace ir;

Stmt LoopBuilder::build_shared_stages(const LoopNode &n, const ConstantMax &constant_max) {
  Expr fits;
  for (const StageRef &m : n.members) {
    if (c_.mode == TailMode::Guard) break;
    const StageLoops loops(*c_.program.find(m.func), m.stage, *m.state, TailMode::Shift,
                           constant_max.at(m.func)[m.stage]);
    const Expr f = may_shift(*c_.program.find(m.func), m.stage, loops);
    if (f.defined()) fits = fits.defined() ? make_and(fits, f) : f;
  }
  if (fits.defined()) fits = simplify(fits);
  if (!fits.defined() || is_const_one(fits)) return shared_version(n, constant_max, c_.mode);
  Stmt small = shared_version(n, constant_max, TailMode::Guard);
  return is_const_zero(fits)
             ? small
             : make_if(fits, shared_version(n, constant_max, TailMode::Shift), small);
}

Stmt LoopBuilder::shared_version(const LoopNode &n, const ConstantMax &constant_max,
                                 TailMode mode) {
  std::vector<StageLoops> loops;
  std::vector<OpenStage> open;
  loops.reserve(n.members.size());  // addresses are kept
  open.reserve(n.members.size());
  const size_t outside = c_.stages.size();
  for (const StageRef &m : n.members) {
    loops.emplace_back(*c_.program.find(m.func), m.stage, *m.state, mode,
                       constant_max.at(m.func)[m.stage]);
    open.push_back({m, &loops.back(), {}, {}, {}});
    c_.stages.push_back(&open.back());
  }
  const TailMode saved = std::exchange(c_.mode, mode);
  Stmt s = n.in_order ? build_loop_in_order(n) : build_shared_loop(n);
  c_.mode = saved;
  c_.stages.resize(outside);
  return s;
}

// One loop for several stages. It runs over the hull of their iterations, laid on one another as their alignment says;
// each stage runs in its own ones. Elsewhere its loop variable stands at its first or last iteration.
Stmt LoopBuilder::build_shared_loop(const LoopNode &n) {
  struct Member {
    OpenStage *open;
    OpenLoop loop;
    Expr max, shift, low, high;  // own iteration = shared one + shift; own range in shared ones
  };
  std::vector<Member> members;
  const Name var = n.loop.var;
  for (const StageRef &s : n.members) {
    Member m;
    m.open = &c_.open_of(s);
    m.loop = {m.open->loops->loop_name(var),
              m.open->loops->loop_kind(var),
              m.open->loops->loop_min(var),
              m.open->loops->loop_extent(var),
              {}};
    m.max = simplify(make_sub(make_add(m.loop.min, m.loop.extent), c32(1)));
    const Member &leader = members.empty() ? m : members[0];
    switch (align_of(s, var)) {
      case LoopAlignStrategy::AlignStart:
        m.shift = simplify(make_sub(m.loop.min, leader.loop.min));
        break;
      case LoopAlignStrategy::AlignEnd: m.shift = simplify(make_sub(m.max, leader.max)); break;
      default: m.shift = c32(0); break;
    }
    m.low = simplify(make_sub(m.loop.min, m.shift));
    m.high = simplify(make_sub(m.max, m.shift));
    members.push_back(std::move(m));
  }
  // The hull of those that run at all in this iteration of the loops around.
  Expr low = members[0].low, high = members[0].high, active = members[0].open->active;
  for (size_t i = 1; i < members.size(); i++) {
    const Member &m = members[i];
    Expr a = m.open->active, l = make_min(low, m.low), h = make_max(high, m.high);
    if (a.defined()) {
      l = make_select(make_and(active, a), l, make_select(active, low, m.low));
      h = make_select(make_and(active, a), h, make_select(active, high, m.high));
      active = make_or(active, a);
    }
    low = l;
    high = h;
  }
  const Name shared = members[0].loop.name + ".shared";
  const Expr at = make_var(shared), first = make_var(shared + ".min"),
             last = make_var(shared + ".max");
  std::vector<Let> lets;
  std::vector<Expr> outer;
  const size_t depth = c_.loops.size();
  for (Member &m : members) {
    const Expr own = simplify(make_add(at, m.shift));
    const Name flag = m.loop.name + ".runs";
    Expr runs = make_and(make_ge(own, m.loop.min), make_le(own, m.max));
    if (m.open->active.defined()) runs = make_and(m.open->active, runs);
    lets.push_back({flag, runs});
    lets.push_back({m.loop.name, make_max(make_min(own, m.max), m.loop.min)});
    outer.push_back(std::exchange(m.open->active, make_var(flag, Bool())));
    if (n.loop.partition != Partition::Auto) c_.cx.partition[shared] = n.loop.partition;
    m.open->fixed.insert(var);
    c_.loops.push_back(m.loop);
  }
  Stmt body = build_shared_site(n, lets);
  std::vector<Name> marks;
  for (size_t i = members.size(); i-- > 0;) {
    members[i].open->active = outer[i];
    members[i].open->fixed.erase(var);
    for (Name mark : c_.loops[depth + i].marks) marks.push_back(mark);
  }
  c_.loops.resize(depth);
  Expr extent = make_max(make_sub(make_add(last, c32(1)), first), c32(0));
  Stmt s = make_for(shared, first, extent, members[0].loop.kind, body);
  s = with_lets({{shared + ".min", low}, {shared + ".max", high}}, s);
  return with_marks(marks, s);
}

// What is read below is what any of the stages reads, in terms of the first one's loop.
Stmt LoopBuilder::build_loop_in_order(const LoopNode &n) {
  const Name var = n.loop.var;
  const StageLoops &first = *c_.open_of(n.members[0]).loops;
  const OpenLoop loop{
      first.loop_name(var), first.loop_kind(var), first.loop_min(var), first.loop_extent(var), {}};
  if (n.loop.partition != Partition::Auto) c_.cx.partition[loop.name] = n.loop.partition;
  const size_t outer = c_.symbols.count();
  const Expr at = make_var(loop.name);
  RegionFinder::Site site;
  std::vector<Let> lets;
  Substitution to_first;
  for (const StageRef &m : n.members) {
    OpenStage &open = c_.open_of(m);
    open.fixed.insert(var);
    site.owners.push_back(owner_site(m).owners[0]);
    const Name own = open.loops->loop_name(var);
    if (own == loop.name) continue;
    c_.symbols.define(own, at);
    lets.push_back({own, at});
    to_first[own] = at;
  }
  for (RegionFinder::Owner &o : site.owners) {
    for (auto &[root, range] : o.ranges)
      range = {substitute(to_first, range.min), substitute(to_first, range.max), {}};
  }
  c_.loops.push_back(loop);
  Stmt body = with_lets(lets, build_site(n, site, {}));
  const std::vector<Name> marks = c_.loops.back().marks;
  c_.loops.pop_back();
  for (const StageRef &m : n.members) c_.open_of(m).fixed.erase(var);
  c_.symbols.forget(outer);
  return with_marks(marks, make_for(loop.name, loop.min, loop.extent, loop.kind, body));
}

Stmt LoopBuilder::build_shared_site(const LoopNode &n, std::vector<Let> lets) {
  SiteRegions here;
  RegionFinder::Site site;
  std::vector<Name> guarded;
  const size_t outer = c_.symbols.count();
  for (const StageRef &s : n.members) {
    site = owner_site(s);
    find_regions(c_, n, site, {}, here);
    for (const auto &known : here.constant_max) {
      if (guards_.emplace(known.first, c_.open_of(s).active).second) guarded.push_back(known.first);
    }
  }
  lets.insert(lets.end(), here.lets.begin(), here.lets.end());
  Stmt body = build_children(n, here);
  c_.symbols.forget(outer);
  for (Name f : guarded) guards_.erase(f);
  return with_lets(lets, body);
}

LoopAlignStrategy LoopBuilder::align_of(const StageRef &s, Name loop) const {
  const schedule::SharedLoops &shared = s.state->shared;
  for (const auto &[name, align] : shared.align) {
    const auto &loops = s.state->loops;
    const int i = schedule::find_loop(*c_.program.find(s.func), loops, name);
    if (i >= 0 && loops[i].var == loop) return align;
  }
  return shared.all_align;
}

}  // namespace calotype::lower
