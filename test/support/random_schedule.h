// Random schedules over all directives that are available, drawn through the legality module: each line was accepted with
// all before it. Deterministic in the seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"
#include "schedule_draft.h"

namespace calotype::test {

struct ScheduleShape {
  std::vector<int> mins, extents;  ///< of the outputs in one run: what bound() may promise
  int most_directives = 5;         ///< per stage
};

struct RandomSchedule {
  std::string text;
  std::vector<CoverageCell> cells;    ///< what the text holds
  std::vector<RefusedPiece> refused;  ///< what was drawn and refused on the way
};

RandomSchedule random_schedule(const ir::Program &p, uint64_t seed, const ScheduleShape &shape);

/// The schedule that changes least: Funcs with updates, and those that would grow beyond reason when inlined, are computed at
/// root.
std::string plain_schedule(const ir::Program &p);

/// What coverage asks for: every directive that is available, with each tail it takes, on each kind of stage it may be
/// said of.
std::vector<CoverageCell> possible_cells();

}  // namespace calotype::test
