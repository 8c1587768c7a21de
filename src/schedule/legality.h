// "Legal, or the reason why not" for directives: each function returns a Reason, empty if legal.
#pragma once

#include <string>
#include <vector>

#include "../base/diagnostic.h"
#include "../base/target.h"
#include "directive.h"
#include "loop_state.h"

namespace calotype::schedule {

/// Empty: legal. Otherwise a complete diagnostic.
struct Reason {
  bool legal = true;
  Diagnostic diagnostic;
  explicit operator bool() const { return legal; }
};

/// Would applying `d` to `state` be legal? (names, types, arity, loop transforms, reductions' order)
CALO_EXPORT Reason check_directive(const ir::Program &p, const ScheduleState &state, const Directive &d,
                                   const Target &t);
/// Placement, judged on the complete state: compute and store levels exist and contain all readers, no parallel loop
/// between store and compute level, storage order and bounds name all dimensions, vector and unrolled loops have constant
/// extents, outputs are at root ...  All violations, most important first.
CALO_EXPORT std::vector<Diagnostic> check_placement(const ir::Program &p, const ScheduleState &state, const Target &t);

}  // namespace calotype::schedule
