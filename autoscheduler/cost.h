// Predicted time of a schedule, from the loops that lowering makes of it and a few figures of the machine.
//
// T = sum over stages of max(instructions, memory), plus what allocations and parallel loops cost. Instructions are counted
// per point and lane; memory per level of the cache that the producer's storage fits into. Relative order is what counts.
#pragma once

#include "../src/schedule/loop_state.h"
#include "facts.h"

namespace calotype::autoscheduler {

/// Per core where not said otherwise. Defaults: a current x86 server core at 3 GHz.
struct Machine {
  int threads = 1;
  int vector_bytes = 32;
  double ns_per_cycle = 0.33;
  double l1 = 32e3, l2 = 1e6, l3 = 16e6;  ///< bytes
  double l2_rate = 32, l3_rate = 12,
         memory_rate = 6;  ///< bytes per cycle; memory: all cores together
  double parallel_ns = 5000, task_ns = 300, allocation_ns = 60, page_ns_per_byte = 0.03;
};
Machine machine_for(const Problem &p);

/// Nanoseconds. Throws what lowering throws (regions that cannot be bounded).
CALO_EXPORT double predict(const Problem &p, const schedule::Scheduled &s, const Machine &m);

}  // namespace calotype::autoscheduler
