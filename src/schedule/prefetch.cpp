// Judges prefetch on the complete state: its loops are there, one inside the other, and what it fetches has memory.
// Tests: test/pipelines/prefetch_test.cpp.
#include "placement.h"
#include "replay.h"

namespace calotype::schedule {

namespace {

Diagnostic refused(const ir::Function &f, int stage, const Prefetch &p, std::string why,
                   std::string help) {
  return Diagnostic("S0136", p.loc,
                    stage_name(f.name, stage) + " cannot fetch " + p.func + " ahead")
      .because(std::move(why))
      .fix(std::move(help));
}

// Empty if nothing is wrong.
std::vector<Diagnostic> judge(const ir::Program &program, const ScheduleState &state,
                              const ir::Function &f, int stage, const StageState &s,
                              const Prefetch &p) {
  const int at = find_loop(f, s.loops, p.at), from = find_loop(f, s.loops, p.from);
  for (const auto &[name, i] : {std::make_pair(p.at, at), std::make_pair(p.from, from)}) {
    if (i < 0)
      return {no_such_loop("prefetch", p.loc, name, variant_name(f.name, stage, s), s, i == -2)};
  }
  if (from < at) {
    return {refused(f, stage, p, "loop " + p.from + " runs inside loop " + p.at,
                    "fetch ahead of a loop that is " + p.at + " or around it")};
  }
  for (size_t i = static_cast<size_t>(at); i < s.loops.size(); i++) {
    if (s.loops[i].kind != ir::ForType::Vectorized) continue;
    return {refused(f, stage, p,
                    "loop " + s.loops[i].var + " is vectorised: its iterations are lanes",
                    "fetch at a loop around it")};
  }
  const ir::Function *subject = program.find(p.func);
  if (subject && state.of(p.func).compute.is_inlined() && !program.is_output(p.func) &&
      !subject->has_updates()) {
    return {refused(f, stage, p, p.func + " is inlined: it has no memory",
                    "fetch what it reads, or compute_root() it")};
  }
  if (s.shared.defined()) {
    return {refused(f, stage, p, "its loops are shared by compute_with",
                    "say it of a stage with loops of its own")};
  }
  return {};
}

}  // namespace

std::vector<PlacementFault> prefetch_faults(const ir::Program &p, const ScheduleState &state) {
  std::vector<PlacementFault> faults;
  for (const ir::Function &f : p.funcs) {
    for (int stage = 0; stage < f.stages(); stage++) {
      for (const StageState *s : variants_of(state.of(f.name).stages[static_cast<size_t>(stage)])) {
        for (const Prefetch &fetch : s->prefetches) {
          for (Diagnostic &d : judge(p, state, f, stage, *s, fetch))
            faults.push_back({f.name, {}, std::move(d)});
        }
        if (!faults.empty()) return faults;
      }
    }
  }
  return faults;
}

}  // namespace calotype::schedule
