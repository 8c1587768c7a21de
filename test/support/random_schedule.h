// Random schedules of the spine's directives for a program, as text. Loops are tracked while directives are written, so
// most schedules are legal; with `mistakes`, now and then one directive is wrong on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"

namespace calotype::test {

struct ScheduleShape {
  std::vector<int> mins, extents;  ///< of the outputs in one run: what bound() may promise
  int mistakes = 0;                ///< percent of schedules with a wrong directive
  int most_directives = 5;         ///< per stage
};

std::string random_schedule(const ir::Program &p, uint64_t seed, const ScheduleShape &shape);

/// The schedule that changes least: Funcs that would grow beyond reason when inlined are computed at root.
std::string plain_schedule(const ir::Program &p);

}  // namespace calotype::test
