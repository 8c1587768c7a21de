// Where Funcs run, judged on the complete state. The findings carry the Funcs they are about, so that apply.cpp can drop
// those that follow from another mistake.
#pragma once

#include "../base/diagnostic.h"
#include "loop_state.h"

namespace calotype::schedule {

struct PlacementFault {
  ir::Name func;      ///< the Func that is misplaced
  ir::Name consumer;  ///< the Func whose loop was named; may be empty
  Diagnostic diagnostic;
};
std::vector<PlacementFault> placement_faults(const ir::Program &p, const ScheduleState &state);

/// Those of compute_with (share_loops.cpp).
std::vector<PlacementFault> sharing_faults(const ir::Program &p, const ScheduleState &state);

/// Those of prefetch (prefetch.cpp).
std::vector<PlacementFault> prefetch_faults(const ir::Program &p, const ScheduleState &state);

/// Those of async and ring_buffer (async.cpp).
std::vector<PlacementFault> async_faults(const ir::Program &p, const ScheduleState &state);

}  // namespace calotype::schedule
