// Inlining and the loop tree (see loop_nest.h). Both assume a legal state.
#include "loop_nest.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <unordered_set>

#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "loop_groups.h"
#include "value_text.h"

namespace calotype::schedule {

namespace {

using ir::Name;

// --- Inlining --------------------------------------------------------------------------------------------------------

bool inlined(const ir::Program &p, const ir::Function &f, const ScheduleState &state) {
  return state.of(f.name).compute.is_inlined() && !f.has_updates() && !p.is_output(f.name);
}

// Replaces calls of inlined Funcs; the bodies put in are themselves free of such calls.
class Inliner final : public ir::IRGraphMutator {
public:
  explicit Inliner(const std::unordered_map<Name, const ir::Function *> &bodies)
      : bodies_(bodies) {}
  using ir::IRGraphMutator::visit;
  Expr visit(const ir::Call *op) override {
    auto it = op->call_type == ir::CallType::Halide ? bodies_.find(op->name) : bodies_.end();
    if (it == bodies_.end()) return IRMutator::visit(op);
    const ir::Function &f = *it->second;
    ir::Substitution map;
    for (size_t i = 0; i < f.args.size(); i++) map[f.args[i]] = mutate(op->args[i]);
    return ir::substitute(map, f.pure().values[op->value_index]);
  }

private:
  const std::unordered_map<Name, const ir::Function *> &bodies_;
};

// Each inlined reader multiplies its producers' expressions: a chain of n Funcs with two reads each makes 2^n.
void refuse_large(const ir::Function &f) {
  constexpr double kLargest = 200000;  // operations; a few seconds of compilation
  for (const ir::Definition &d : f.definitions) {
    std::vector<Expr> all = d.values;
    all.insert(all.end(), d.args.begin(), d.args.end());
    if (d.predicate.defined()) all.push_back(d.predicate);
    for (const ir::ReductionVariable &r : d.rvars) all.insert(all.end(), {r.min, r.extent});
    for (const Expr &e : all) {
      if (ir::tree_size(e, kLargest) < kLargest) continue;
      raise(Diagnostic(
                "S0118", d.loc,
                "with everything it reads inlined, " + f.name + " has more than 200000 operations")
                .fix("compute_root() or compute_at(...) on some of the Funcs it reads"));
    }
  }
}

}  // namespace

ir::Program inline_funcs(const ir::Program &p, const ScheduleState &state) {
  ir::Program result;
  result.name = p.name;
  result.outputs = p.outputs;
  result.params = p.params;
  result.requirements = p.requirements;
  std::vector<ir::Function> all = p.funcs;  // producers first: each body is clean when it is put in
  std::unordered_map<Name, const ir::Function *> bodies;
  for (ir::Function &f : all) {
    Inliner inliner(bodies);
    for (ir::Definition &d : f.definitions) {
      for (Expr &e : d.args) e = inliner.mutate(e);
      for (Expr &e : d.values) e = inliner.mutate(e);
      for (ir::ReductionVariable &r : d.rvars) {
        r.min = inliner.mutate(r.min);
        r.extent = inliner.mutate(r.extent);
      }
      d.predicate = inliner.mutate(d.predicate);
    }
    refuse_large(f);
    if (inlined(p, f, state)) bodies[f.name] = &f;
  }
  for (const ir::Function &f : all) {
    if (!bodies.count(f.name)) result.funcs.push_back(f);
  }
  return result;
}

// --- The tree ----------------------------------------------------------------------------------------------------------

namespace {

class TreeBuilder {
public:
  TreeBuilder(const ir::Program &p, const ScheduleState &s)
      : program_(p), state_(s), order_(grouped_order(p, s)) {
    for (const ir::Function &f : p.funcs) {
      for (int k = 0; k < f.stages(); k++)
        calls_[f.name].push_back(ir::called_funcs(f.definitions[k]));
    }
  }

  std::unique_ptr<LoopNode> build() {
    auto root = std::make_unique<LoopNode>();
    Site site;  // root
    root->children = fill(site, {});
    return root;
  }

private:
  using Nodes = std::vector<std::unique_ptr<LoopNode>>;
  struct Site {
    enum Kind { AtRoot, AtLoop, AtCompute } kind = AtRoot;
    StageRef owner;
    Name var;  // AtLoop
  };

  bool is_implicit(const ir::Function &f)
      const {  // a reduction left inline: computed at its readers' innermost point
    return state_.of(f.name).compute.is_inlined() && !program_.is_output(f.name);
  }

  bool matches(const Level &level, const Site &site) const {
    switch (site.kind) {
      case Site::AtRoot: return level.is_root();
      case Site::AtLoop:
        return level.kind == Level::Kind::At && level.func == site.owner.func &&
               (level.stage < 0 || level.stage == site.owner.stage) && names(level, site);
      case Site::AtCompute: return false;
    }
    return false;
  }

  // A name may stand for another loop in each stage: x is r.x where there is no x.
  bool names(const Level &level, const Site &site) const {
    const std::vector<Loop> &loops = site.owner.state->loops;
    const int i = find_loop(*program_.find(site.owner.func), loops, level.var);
    return i >= 0 && loops[i].var == site.var;
  }

  // Everything that one stage's definition reads, directly or through other Funcs.
  const std::unordered_set<Name> &reachable(const StageRef &s) {
    auto &memo = reachable_[s.func.str() + "." + std::to_string(s.stage)];
    if (!memo.empty()) return memo;
    std::vector<Name> work = calls_[s.func][s.stage];
    std::unordered_set<Name> seen;
    while (!work.empty()) {
      Name n = work.back();
      work.pop_back();
      if (n == s.func || !seen.insert(n).second) continue;
      for (const auto &stage : calls_[n]) work.insert(work.end(), stage.begin(), stage.end());
    }
    return memo = seen;
  }

  bool calls_directly(const StageRef &s, Name f) {
    const auto &c = calls_[s.func][s.stage];
    return std::find(c.begin(), c.end(), f) != c.end();
  }

  // The nodes of a site: what is stored and computed here around `inner`.
  Nodes fill(const Site &site, Nodes inner) {
    std::map<std::string, Nodes> none;
    return fill({site}, std::move(inner), none);
  }

  // The same of one place that is a site of several stages, whose own `bodies` stand among the producers.
  Nodes fill(const std::vector<Site> &sites, Nodes inner, std::map<std::string, Nodes> &bodies) {
    Nodes rest = std::move(inner);
    const Site &site = sites[0];
    const auto any = [&](const std::function<bool(const Site &)> &holds) {
      return std::any_of(sites.begin(), sites.end(), holds);
    };
    std::unordered_set<Name> produced;
    for (size_t i = order_.size(); i-- > 0;) {
      const ir::Function &f = *order_[i];
      bool computed, stored, hoisted = false;
      const auto body = bodies.find(f.name);
      if (body != bodies.end()) {
        rest.insert(rest.begin(), std::make_move_iterator(body->second.begin()),
                    std::make_move_iterator(body->second.end()));
        continue;
      }
      if (is_implicit(f)) {
        computed = stored = site.kind == Site::AtCompute && f.name != site.owner.func &&
                            calls_directly(site.owner, f.name);
      } else {
        const FuncState &fs = state_.of(f.name);
        const bool relevant = site.kind == Site::AtRoot || any([&](const Site &at) {
                                return reachable(at.owner).count(f.name) > 0;
                              });
        const auto here = [&](const Level &level) {
          return relevant && any([&](const Site &at) { return matches(level, at); });
        };
        computed = here(fs.compute);
        hoisted = !fs.hoist.is_inlined() && here(fs.hoist);
        stored = here(fs.store) && !program_.is_output(f.name);
      }
      if (computed && !produced.count(f.name)) {
        std::vector<Name> together;
        for (Name g : funcs_sharing(program_, state_, f.name)) {
          if (any([&](const Site &at) { return computed_at(*program_.find(g), at); }))
            together.push_back(g);
        }
        if (together.empty()) together = {f.name};
        produced.insert(together.begin(), together.end());
        rest.insert(rest.begin(), together.size() > 1 ? produce_together(together) : produce(f));
      }
      if (stored) rest = around(LoopNode::Kind::Store, f.name, std::move(rest));
      if (hoisted) rest = around(LoopNode::Kind::Hoist, f.name, std::move(rest));
    }
    return rest;
  }

  bool computed_at(const ir::Function &f, const Site &site) {
    if (is_implicit(f)) return false;
    const bool relevant = site.kind == Site::AtRoot || reachable(site.owner).count(f.name);
    return relevant && matches(state_.of(f.name).compute, site);
  }

  // Funcs whose stages share loops.
  std::unique_ptr<LoopNode> produce_together(const std::vector<Name> &funcs) {
    auto node = std::make_unique<LoopNode>();
    node->kind = LoopNode::Kind::Produce;
    node->func = funcs[0];
    for (Name f : funcs) node->members.push_back({f, 0, &state_.of(f).stages[0]});
    for (const auto &item : order_of_stages(program_, state_, funcs)) {
      Nodes nodes = item.size() > 1 ? shared(item, 0) : variants(ref(item[0]));
      for (auto &n : nodes) node->children.push_back(std::move(n));
    }
    return node;
  }

  StageRef ref(const GroupMember &m) const {
    return {m.func, m.stage, &state_.of(m.func).stages[m.stage]};
  }

  // The loops of a group inside of `open` shared ones.
  Nodes shared(const std::vector<GroupMember> &group, int open) {
    std::vector<GroupMember> deeper;
    Nodes all;
    for (const GroupMember &m : group) {
      if (m.depth > open) deeper.push_back(m);
    }
    if (deeper.size() > 1) {
      const StageRef leader = ref(deeper[0]);
      auto node = std::make_unique<LoopNode>();
      node->kind = LoopNode::Kind::Loop;
      node->func = leader.func;
      node->loop = leader.state->loops[leader.state->loops.size() - 1 - static_cast<size_t>(open)];
      std::vector<Site> sites;
      for (const GroupMember &m : deeper) {
        node->members.push_back(ref(m));
        const auto &loops = node->members.back().state->loops;
        sites.push_back({Site::AtLoop, node->members.back(),
                         loops[loops.size() - 1 - static_cast<size_t>(open)].var});
      }
      node->in_order = runs_in_order(program_, state_, deeper);
      if (node->in_order) {
        std::map<std::string, Nodes> bodies;
        for (const GroupMember &m : deeper)
          bodies[m.func] = stage(ref(m), static_cast<size_t>(open) + 1);
        node->children = fill(sites, {}, bodies);
      } else {
        node->children = shared(deeper, open + 1);
        for (const Site &at : sites) node->children = fill(at, std::move(node->children));
      }
      all.push_back(std::move(node));
    }
    for (const GroupMember &m : group) {
      if (m.depth > open && deeper.size() > 1) continue;
      for (auto &n : stage(ref(m), static_cast<size_t>(open))) all.push_back(std::move(n));
    }
    return all;
  }

  static Nodes around(LoopNode::Kind kind, Name func, Nodes children) {
    auto node = std::make_unique<LoopNode>();
    node->kind = kind;
    node->func = func;
    node->children = std::move(children);
    Nodes one;
    one.push_back(std::move(node));
    return one;
  }

  std::unique_ptr<LoopNode> produce(const ir::Function &f) {
    auto node = std::make_unique<LoopNode>();
    node->kind = LoopNode::Kind::Produce;
    node->func = f.name;
    for (int k = 0; k < f.stages(); k++) {
      for (auto &n : variants({f.name, k, &state_.of(f.name).stages[k]}))
        node->children.push_back(std::move(n));
    }
    return node;
  }

  // A stage with its specializations.
  Nodes variants(const StageRef &s) {
    if (s.state->specializations.empty()) return stage(s);
    auto branch = std::make_unique<LoopNode>();
    branch->kind = LoopNode::Kind::Branch;
    branch->func = s.func;
    branch->members = {s};
    for (const Specialization &sp : s.state->specializations) {
      branch->children.push_back(branch_case(s, sp.condition));
      branch->children.back()->children = variants({s.func, s.stage, &sp.state});
    }
    branch->children.push_back(branch_case(s, {}));
    if (!s.state->fails()) branch->children.back()->children = stage(s);
    Nodes one;
    one.push_back(std::move(branch));
    return one;
  }
  static std::unique_ptr<LoopNode> branch_case(const StageRef &s, const Expr &condition) {
    auto node = std::make_unique<LoopNode>();
    node->kind = LoopNode::Kind::Case;
    node->func = s.func;
    node->members = {s};
    node->condition = condition;
    return node;
  }

  // A stage inside of its `open` outermost loops.
  Nodes stage(const StageRef &s, size_t open = 0) {
    const StageState &st = *s.state;
    auto compute = std::make_unique<LoopNode>();
    compute->kind = LoopNode::Kind::Compute;
    compute->func = s.func;
    compute->members = {s};
    Nodes body;
    body.push_back(std::move(compute));
    Site site{Site::AtCompute, s, {}};
    body = fill(site, std::move(body));
    for (size_t i = 0; i + open < st.loops.size(); i++) {  // innermost first
      const Loop &loop = st.loops[i];
      Site at{Site::AtLoop, s, loop.var};
      body = fill(at, std::move(body));
      auto node = std::make_unique<LoopNode>();
      node->kind = LoopNode::Kind::Loop;
      node->func = s.func;
      node->members = {s};
      node->loop = loop;
      node->children = std::move(body);
      body.clear();
      body.push_back(std::move(node));
    }
    return body;
  }

  const ir::Program &program_;
  const ScheduleState &state_;
  std::vector<const ir::Function *> order_;
  std::unordered_map<Name, std::vector<std::vector<Name>>> calls_;
  std::unordered_map<std::string, std::unordered_set<Name>> reachable_;
};

// "f, g.update(0)": the Funcs or stages of a node.
std::string names_of(const LoopNode &n) {
  if (n.members.size() < 2) return n.func;
  std::string text;
  for (const StageRef &m : n.members)
    text += (text.empty() ? "" : ", ") + stage_name(m.func, m.stage);
  return text;
}

void print(const LoopNode &n, int indent, std::string &out) {
  auto line = [&](const std::string &text) { out += std::string(2 * indent, ' ') + text + "\n"; };
  int inner = indent + 1;
  switch (n.kind) {
    case LoopNode::Kind::Root: inner = indent; break;
    case LoopNode::Kind::Hoist: line("allocate " + n.func + ":"); break;
    case LoopNode::Kind::Store: line("store " + n.func + ":"); break;
    case LoopNode::Kind::Produce: line("produce " + names_of(n) + ":"); break;
    case LoopNode::Kind::Compute: {
      const StageRef &m = n.members[0];
      line(n.func + (m.stage > 0 ? ".update(" + std::to_string(m.stage - 1) + ")" : std::string()) +
           "(...) = ...");
      break;
    }
    case LoopNode::Kind::Branch: inner = indent; break;
    case LoopNode::Kind::Case:
      line(n.condition.defined() ? "if " + value_text(n.condition, ValueStyle::Schedule) + ":"
           : n.children.empty()  ? "else fail \"" + n.members[0].state->failure + "\""
                                 : "else:");
      break;
    case LoopNode::Kind::Loop: {
      const char *kind = "for";
      switch (n.loop.kind) {
        case ir::ForType::Parallel: kind = "parallel"; break;
        case ir::ForType::Vectorized: kind = "vectorized"; break;
        case ir::ForType::Unrolled: kind = "unrolled"; break;
        case ir::ForType::GPUBlock: kind = "gpu_block"; break;
        case ir::ForType::GPUThread: kind = "gpu_thread"; break;
        case ir::ForType::GPULane: kind = "gpu_lane"; break;
        case ir::ForType::Serial: break;
      }
      const std::string of = n.members.size() > 1 ? " of " + names_of(n) : "";
      line(std::string(kind) + " " + n.loop.var + of + ":");
      break;
    }
  }
  for (const auto &c : n.children) print(*c, inner, out);
}

}  // namespace

std::unique_ptr<LoopNode> build_loop_tree(const ir::Program &inlined, const ScheduleState &state) {
  return TreeBuilder(inlined, state).build();
}

std::string to_string(const LoopNode &tree) {
  std::string out;
  print(tree, 0, out);
  return out;
}

}  // namespace calotype::schedule
