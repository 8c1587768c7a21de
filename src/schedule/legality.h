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
CALO_EXPORT Reason check_directive(const ir::Program &p, const ScheduleState &state,
                                   const Directive &d, const Target &t);
/// Placement, judged on the complete state: compute and store levels exist and contain all readers, no parallel loop
/// between store and compute level, nothing but lanes inside a vectorised loop, no directives on Funcs that are inlined
/// away, constant extents of vectorised and unrolled loops ... All violations, in the order of the program's Funcs.
/// An extent that only bounds inference can tell (a dimension of a Func computed at a loop or root without `bound`, not an
/// output's) is left to lowering, which raises S0112 where it is not constant.
CALO_EXPORT std::vector<Diagnostic> check_placement(const ir::Program &p,
                                                    const ScheduleState &state, const Target &t);

}  // namespace calotype::schedule
