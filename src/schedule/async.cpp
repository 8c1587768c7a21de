// Judges async and ring_buffer on the complete state, as far as it tells; what depends on regions and on what loops
// compute beside one another is judged by lowering (lower/fork_async.h). Tests: test/pipelines/async_test.cpp.
#include "loop_groups.h"
#include "placement.h"

namespace calotype::schedule {

namespace {

// Empty: nothing against it.
std::string against_async(const ir::Program &p, const ScheduleState &state, const ir::Function &f) {
  const FuncState &s = state.of(f.name);
  if (s.memoize) return "it is memoized: whether it is produced is known too late";
  if (s.trace_realizations) return "trace_realizations reports events in program order";
  if (funcs_sharing(p, state, f.name).size() > 1)
    return "its loops are shared with another Func's by compute_with";
  if (f.extern_stage()) return "it is an extern stage: a C function produces it";
  for (const ir::Function &g : p.funcs) {
    if (!g.extern_stage()) continue;
    for (ir::Name read : ir::called_funcs(g.pure())) {
      if (read == f.name) return "extern stage " + g.name + " reads it";
    }
  }
  return {};
}

}  // namespace

std::vector<PlacementFault> async_faults(const ir::Program &p, const ScheduleState &state) {
  std::vector<PlacementFault> faults;
  for (const ir::Function &f : p.funcs) {
    const FuncState &s = state.of(f.name);
    if (s.async) {
      std::string why = against_async(p, state, f);
      if (!why.empty()) {
        faults.push_back(
            {f.name,
             {},
             Diagnostic("S0137", s.async_loc, f.name + " cannot be produced beside its readers")
                 .because(std::move(why))
                 .fix("leave async away")});
      }
    }
    if (s.ring.defined() && (s.hoist.is_inlined() || f.dimensions() == 0)) {
      faults.push_back(
          {f.name,
           {},
           Diagnostic("S0139", s.ring_loc, f.name + " cannot have a ring of copies")
               .because(f.dimensions() == 0 ? "it has no dimension to lay them out in"
                                            : "its storage is not hoisted: no loop would use "
                                              "one copy after the other")
               .fix(f.dimensions() == 0 ? "leave ring_buffer away"
                                        : "hoist_storage(consumer, loop) around the loop that "
                                          "computes it")});
    }
  }
  return faults;
}

}  // namespace calotype::schedule
