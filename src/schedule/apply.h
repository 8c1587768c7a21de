// Replays a schedule on a program: names, types and loop transforms in call order, then placement on the whole.
#pragma once

#include <string>
#include <vector>

#include "../base/diagnostic.h"
#include "../base/target.h"
#include "directive.h"
#include "loop_state.h"

namespace calotype::schedule {

/// Applies every directive, in order, those that give bounds first (they tell which extents are constant). Collects independent mistakes (20 at most) and throws them as one CompileError;
/// `stop_at_first` for C++ schedules. Includes check_placement. The result satisfies everything lowering assumes.
CALO_EXPORT Scheduled apply(const ir::Program &p, const Schedule &s, const Target &t,
                            bool stop_at_first = false);

/// Fills func names from func_ids (C++ calls), gives unnamed Vars canonical names and expands globs. Unknown ids are dropped silently only if the Func is
/// not part of the program (its schedule does not matter here).
CALO_EXPORT Schedule resolve(const ir::Program &p, const Schedule &s);

/// Completes a state after the last directive: where no storage level was said, storage is where the computation is;
/// level loops get their full names. Idempotent. apply() does it.
CALO_EXPORT void finish(const ir::Program &p, ScheduleState &state);

}  // namespace calotype::schedule
