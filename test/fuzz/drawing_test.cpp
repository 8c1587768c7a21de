// Schedules as they are drawn, without running them: the directives that need the most of a program are met too.
#include <doctest/doctest.h>

#include <map>

#include "support/random_program.h"
#include "support/random_schedule.h"

using namespace calotype;
using namespace calotype::test;

TEST_CASE("fuzz: random schedules hold the directives that few programs allow") {
  std::map<schedule::DirectiveKind, int> met;
  ScheduleShape shape;
  shape.mins = {0, 0, 0, 0};
  shape.extents = {33, 16, 4, 4};
  for (uint64_t seed = 1; seed <= 150; seed++) {
    const RandomSchedule s = random_schedule(random_program(seed), seed, shape);
    for (const CoverageCell &c : s.cells) met[c.kind]++;
  }
  using Kind = schedule::DirectiveKind;
  for (Kind k : {Kind::rfactor, Kind::compute_with, Kind::atomic, Kind::specialize, Kind::in,
                 Kind::clone_in, Kind::store_at, Kind::store_root, Kind::fold_storage}) {
    CHECK_MESSAGE(met[k] >= 1, schedule::directive_name(k));
  }
}
