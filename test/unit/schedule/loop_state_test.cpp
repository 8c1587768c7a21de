// The state before directives, names of loops, constant extents.
#include <doctest/doctest.h>

#include "programs.h"
#include "run.h"

using namespace calotype;
using namespace calotype::test;

TEST_CASE("loop_state: a pure definition loops over its arguments, the first innermost") {
  CHECK(loops_of(schedule::initial_state(blur_program()), "output") == "y, x");
}

TEST_CASE("loop_state: an update loops over its RVars inside its pure variables") {
  const auto state = schedule::initial_state(sum_program());
  CHECK(loops_of(state, "sum", 1) == "y, x, r.y, r.x");
  CHECK(state.of("sum").stages[1].loops[0].reduction);
  CHECK_FALSE(state.of("sum").stages[1].loops[2].reduction);
}

TEST_CASE("loop_state: an update's constant arguments are no loops") {
  const auto p =
      ProgramBuilder("p").func("f", {"x", "y"}, num(0)).update({num(3), var("y")}, num(1)).build();
  CHECK(loops_of(schedule::initial_state(p), "f", 1) == "y");
}

TEST_CASE("loop_state: outputs start at root, everything else inlined") {
  const auto state = schedule::initial_state(blur_program());
  CHECK(state.of("output").compute.is_root());
  CHECK(state.of("blur_x").compute.is_inlined());
}

TEST_CASE("loop_state: a loop is found by name, position or an RVar's last part") {
  const auto p = sum_program();
  const auto state = schedule::initial_state(p);
  const auto &f = *p.find("sum");
  const auto &loops = state.of("sum").stages[1].loops;
  CHECK(schedule::find_loop(f, loops, "r.x") == 0);
  CHECK(schedule::find_loop(f, loops, "x") == 2);  // a loop of that very name wins over r.x
  CHECK(schedule::find_loop(f, loops, "_1") == 3);
  CHECK(schedule::find_loop(f, loops, "_7") == -1);
  CHECK(schedule::find_loop(f, loops, "z") == -1);
}

TEST_CASE("loop_state: two RVars that end alike are ambiguous") {
  const auto p = ProgramBuilder("p")
                     .func("f", {"i"}, num(0))
                     .update({var("r.x") + var("s.x")}, num(1), {{"r.x", num(2)}, {"s.x", num(2)}})
                     .build();
  const auto state = schedule::initial_state(p);
  CHECK(schedule::find_loop(*p.find("f"), state.of("f").stages[1].loops, "x") == -2);
}

TEST_CASE("loop_state: extents are constant where factors, bounds and RDoms make them so") {
  const auto p = sum_program();
  const auto state = run_schedule(
      p,
      "sum.compute_root().bound_extent(y, 20).split(x, xo, xi, 8).split(y, yo, yi, 8)\n"
      "sum.update(0).fuse(r.x, r.y, t).split(t, to, ti, 4)\n");
  const auto pure = schedule::constant_extents(*p.find("sum"), state.of("sum"), 0);
  CHECK(pure.at("xi") == 8);
  CHECK(pure.count("xo") == 0);
  CHECK(pure.at("yo") == 3);
  const auto update = schedule::constant_extents(*p.find("sum"), state.of("sum"), 1);
  CHECK(update.at("to") == 4);
  CHECK(update.at("ti") == 4);
  CHECK(update.at("y") == 20);
}

TEST_CASE("loop_state: loops know the variables they derive from") {
  const auto p = sum_program();
  const auto state = run_schedule(p, "sum.compute_root().fuse(x, y, xy).split(xy, o, i, 8)\n");
  const auto roots = schedule::root_vars(*p.find("sum"), state.of("sum").stages[0], 0);
  CHECK(roots.at("o") == std::vector<ir::Name>{"x", "y"});
  CHECK(roots.at("i") == std::vector<ir::Name>{"x", "y"});
}
