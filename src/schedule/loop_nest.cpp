// Inlining and the loop tree (see loop_nest.h). Both assume a legal state.
#include "loop_nest.h"

#include <algorithm>
#include <unordered_set>

#include "../base/diagnostic.h"
#include "../ir/visit.h"

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
    for (const Expr &e : d.values) {
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
  TreeBuilder(const ir::Program &p, const ScheduleState &s) : program_(p), state_(s) {
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
    const std::vector<Loop> &loops = state_.of(site.owner.func).stages[site.owner.stage].loops;
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
    Nodes rest = std::move(inner);
    for (size_t i = program_.funcs.size(); i-- > 0;) {
      const ir::Function &f = program_.funcs[i];
      bool computed, stored;
      if (is_implicit(f)) {
        computed = stored = site.kind == Site::AtCompute && f.name != site.owner.func &&
                            calls_directly(site.owner, f.name);
      } else {
        const FuncState &fs = state_.of(f.name);
        bool relevant = site.kind == Site::AtRoot || reachable(site.owner).count(f.name);
        computed = relevant && matches(fs.compute, site);
        stored = relevant && matches(fs.store, site) && !program_.is_output(f.name);
      }
      if (computed) rest.insert(rest.begin(), produce(f));
      if (stored) {
        auto store = std::make_unique<LoopNode>();
        store->kind = LoopNode::Kind::Store;
        store->func = f.name;
        store->children = std::move(rest);
        rest.clear();
        rest.push_back(std::move(store));
      }
    }
    return rest;
  }

  std::unique_ptr<LoopNode> produce(const ir::Function &f) {
    auto node = std::make_unique<LoopNode>();
    node->kind = LoopNode::Kind::Produce;
    node->func = f.name;
    for (int k = 0; k < f.stages(); k++) {
      for (auto &n : stage({f.name, k})) node->children.push_back(std::move(n));
    }
    return node;
  }

  Nodes stage(const StageRef &s) {
    const StageState &st = state_.of(s.func).stages[s.stage];
    auto compute = std::make_unique<LoopNode>();
    compute->kind = LoopNode::Kind::Compute;
    compute->func = s.func;
    compute->members = {s};
    Nodes body;
    body.push_back(std::move(compute));
    Site site{Site::AtCompute, s, {}};
    body = fill(site, std::move(body));
    for (const Loop &loop : st.loops) {  // innermost first
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
  std::unordered_map<Name, std::vector<std::vector<Name>>> calls_;
  std::unordered_map<std::string, std::unordered_set<Name>> reachable_;
};

void print(const LoopNode &n, int indent, std::string &out) {
  auto line = [&](const std::string &text) { out += std::string(2 * indent, ' ') + text + "\n"; };
  int inner = indent + 1;
  switch (n.kind) {
    case LoopNode::Kind::Root: inner = indent; break;
    case LoopNode::Kind::Store: line("store " + n.func + ":"); break;
    case LoopNode::Kind::Produce: line("produce " + n.func + ":"); break;
    case LoopNode::Kind::Compute: {
      const StageRef &m = n.members[0];
      line(n.func + (m.stage > 0 ? ".update(" + std::to_string(m.stage - 1) + ")" : std::string()) +
           "(...) = ...");
      break;
    }
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
      line(std::string(kind) + " " + n.loop.var + ":");
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
