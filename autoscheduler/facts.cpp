#include "facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "../src/base/diagnostic.h"
#include "../src/ir/visit.h"
#include "../src/lower/pipeline.h"
#include "../src/lower/walk_loops.h"
#include "../src/schedule/apply.h"
#include "../src/schedule/text.h"
#include "work.h"

namespace calotype::autoscheduler {

namespace {

/// The extents of every stored Func.
class ExtentWalk final : public lower::LoopWalk {
public:
  using LoopWalk::LoopWalk;
  std::map<std::string, std::vector<int64_t>> extents;

protected:
  void at_realize(const ir::Realize *op, double) override {
    std::vector<int64_t> all;
    for (const ir::Range &r : op->bounds) {
      int64_t e = 1;
      all.push_back(value(r.extent, &e) ? e : 1);
    }
    extents[op->name] = std::move(all);
  }
};

/// The extents under a schedule that stores `roots` at root; false if it is refused.
bool extents_under(const Problem &p, const std::vector<std::string> &roots,
                   std::map<std::string, std::vector<int64_t>> *extents) {
  std::string text = "calotype 1\n";
  for (const std::string &name : roots) text += name + ".compute_root()\n";
  try {
    const schedule::Scheduled s =
        schedule::apply(p.program, schedule::parse_schedule(text, "autoscheduler"), p.target);
    lower::PassContext cx;
    const ir::Stmt loops = lower::loops_of(s, p.target, cx);
    ExtentWalk walk(p.sizes);
    walk.walk(loops);
    *extents = std::move(walk.extents);
    return true;
  } catch (const Error &) {
    return false;
  }
}

FuncFacts describe(const Problem &p, const ir::Function &f) {
  FuncFacts facts;
  facts.name = f.name.str();
  for (const ir::Name a : f.args) facts.dims.push_back(a.str());
  for (const Type t : f.types) facts.bits = std::max(facts.bits, std::max(8, t.bits()));
  for (const ir::Definition &d : f.definitions) {
    StageFacts stage;
    for (const ir::ReductionVariable &r : d.rvars) stage.rvars.push_back(r.var.str());
    for (size_t i = 0; i < d.args.size(); i++) {
      const auto *v = d.args[i].as<ir::Variable>();
      stage.walks.push_back(v && v->name == f.args[i]);
    }
    facts.stages.push_back(std::move(stage));
  }
  facts.output = p.program.is_output(f.name);
  facts.may_inline = !facts.output && !f.has_updates() && !f.extern_stage();
  facts.operations = work_of(f, f.pure()).operations;
  return facts;
}

std::vector<int64_t> output_extents(const Problem &p, const ir::Function &f) {
  const std::string buffer = f.types.size() > 1 ? f.name + ".0" : f.name.str();
  std::vector<int64_t> extents;
  for (int d = 0; d < f.dimensions(); d++) {
    const auto v = p.sizes.vars.find(buffer + ".extent." + std::to_string(d));
    extents.push_back(v == p.sizes.vars.end() ? 1 : v->second.as_int());
  }
  return extents;
}

}  // namespace

int Facts::find(const std::string &name) const {
  for (size_t i = 0; i < funcs.size(); i++) {
    if (funcs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Facts facts_of(const Problem &p) {
  Facts facts;
  for (const ir::Function &f : p.program.funcs) facts.funcs.push_back(describe(p, f));
  for (size_t i = 0; i < facts.funcs.size(); i++) {
    for (const ir::Definition &d : p.program.funcs[i].definitions) {
      for (const auto &[producer, calls] : work_of(p.program.funcs[i], d).calls) {
        const int at = facts.find(producer);
        if (at < 0 || at == static_cast<int>(i)) continue;
        FuncFacts &g = facts.funcs[static_cast<size_t>(at)];
        g.calls += calls;
        if (g.readers.empty() || g.readers.back() != static_cast<int>(i))
          g.readers.push_back(static_cast<int>(i));
      }
    }
  }
  // All at root if that is bounded, else one after the other, readers first, as long as it is.
  std::vector<std::string> wanted, roots;
  for (size_t i = facts.funcs.size(); i-- > 0;) {
    if (!facts.funcs[i].output) wanted.push_back(facts.funcs[i].name);
  }
  std::map<std::string, std::vector<int64_t>> extents;
  if (extents_under(p, wanted, &extents)) {
    roots = wanted;
  } else {
    for (const std::string &name : wanted) {
      std::vector<std::string> more = roots;
      more.push_back(name);
      if (extents_under(p, more, &extents)) roots = std::move(more);
    }
    extents_under(p, roots, &extents);
  }
  const std::set<std::string> stored(roots.begin(), roots.end());
  for (size_t i = 0; i < facts.funcs.size(); i++) {
    FuncFacts &f = facts.funcs[i];
    f.may_store = !f.output && stored.count(f.name) > 0;
    f.extents = f.output ? output_extents(p, p.program.funcs[i]) : extents[f.name];
    f.extents.resize(f.dims.size(), 1);
  }
  return facts;
}

}  // namespace calotype::autoscheduler
