// Every directive on loops: the nest it makes and what it refuses.
#include <doctest/doctest.h>

#include "programs.h"
#include "run.h"
#include "schedule/legality.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;
using schedule::ScheduleState;

namespace {
ScheduleState blur(const std::string &lines) { return run_schedule(blur_program(), lines); }
ScheduleState sums(const std::string &lines, Type t = Int(32)) {
  return run_schedule(sum_program(t), "sum.compute_root()\n" + lines);
}
const schedule::Relation &last_relation(const ScheduleState &s, const std::string &func,
                                        int stage = 0) {
  return s.of(func).stages[stage].relations.back();
}
}  // namespace

TEST_CASE("split: puts the inner loop inside, in the place of the old one") {
  const auto s = blur("output.split(x, xo, xi, 16)\n");
  CHECK(loops_of(s, "output") == "y, xo, xi");
  CHECK(ir::is_const_value(last_relation(s, "output").factor, 16));
  CHECK(last_relation(s, "output").tail == TailStrategy::Auto);
}

TEST_CASE("split: the outer or inner loop may keep the name") {
  CHECK(loops_of(blur("output.split(x, x, xi, 4).split(x, x, xj, 2)\n"), "output") ==
        "y, x, xj, xi");
  CHECK(loops_of(blur("output.split(x, xo, x, 4)\n"), "output") == "y, xo, x");
}

TEST_CASE("split: every tail is taken for a pure definition") {
  for (const char *tail :
       {"RoundUp", "GuardWithIf", "Predicate", "PredicateLoads", "PredicateStores", "ShiftInwards",
        "ShiftInwardsAndBlend", "RoundUpAndBlend", "Auto"}) {
    CAPTURE(tail);
    const auto s = blur("output.split(x, xo, xi, 16, " + std::string(tail) + ")\n");
    CHECK(std::string(schedule::tail_name(last_relation(s, "output").tail)) == tail);
  }
}

TEST_CASE(
    "split: an update guards its tail, and needs none where the factor divides a promised extent") {
  CHECK(last_relation(sums("sum.update(0).split(x, xo, xi, 8)\n"), "sum", 1).tail ==
        TailStrategy::GuardWithIf);
  const auto s = sums("sum.bound_extent(x, 32)\nsum.update(0).split(x, xo, xi, 8, RoundUp)\n");
  CHECK(last_relation(s, "sum", 1).tail == TailStrategy::RoundUp);
}

TEST_CASE("split: an update refuses tails that compute twice or beyond") {
  CHECK_DIAG_AT(sums("sum.update(0).split(x, xo, xi, 8, ShiftInwards)\n"), "S0113",
                "ShiftInwards cannot be used", "3:35");
  CHECK_DIAG(sums("sum.update(0).split(x, xo, xi, 8, RoundUp)\n"), "S0113",
             "beyond those asked for");
  CHECK_DIAG(sums("sum.update(0).split(r.x, xo, xi, 2, RoundUp)\n"), "S0113",
             "belongs to a reduction");
}

TEST_CASE("split: a reduction's split is exact") {
  const auto s = sums("sum.update(0).split(r.x, ro, ri, 2)\n");
  CHECK(loops_of(s, "sum", 1) == "y, x, r.y, ro, ri");
  CHECK(last_relation(s, "sum", 1).exact);
  CHECK(last_relation(s, "sum", 1).tail == TailStrategy::GuardWithIf);
}

TEST_CASE("split: a shifted block needs room") {
  CHECK_DIAG(blur("output.split(x, xo, xi, 8).split(xi, a, b, 16, ShiftInwards)\n"), "S0113",
             "extent 8 is smaller than factor 16");
  const auto s = blur("output.split(x, xo, xi, 8).split(xi, a, b, 16)\n");
  CHECK(last_relation(s, "output").tail == TailStrategy::GuardWithIf);
}

TEST_CASE("split: bad numbers are refused") {
  CHECK_DIAG_AT(blur("output.split(x, xo, xi, 0)\n"), "S0110", "factor of split is 0", "2:25");
  CHECK_DIAG(blur("output.split(x, xo, xi, -3)\n"), "S0110", "at least 1");
  CHECK_DIAG(blur("output.split(x, xo, xi, 1.5f)\n"), "S0110", "no integer");
  CHECK_DIAG(blur("output.split(x, xo, xi, 65536 * 65536)\n"), "S0110", "");
}

TEST_CASE("split: a factor may be an expression over a parameter") {
  const auto p = ProgramBuilder("p").param("n").func("f", {"x"}, var("x")).build();
  const auto s = run_schedule(p, "let m = n / 2\nf.split(x, xo, xi, m + 1)\n");
  const Expr factor = s.of("f").stages[0].relations[0].factor;
  CHECK(factor.as<ir::Max>() != nullptr);  // at least 1, whatever n is
  CHECK(factor.type() == Int(32));
}

TEST_CASE("split: names must be new, different and known") {
  CHECK_DIAG_AT(blur("output.split(x, y, xi, 8)\n"), "S0109", "loop name y is already used",
                "2:17");
  CHECK_DIAG_AT(blur("output.split(x, xi, xi, 8)\n"), "S0114", "xi", "2:21");
  CHECK_DIAG_AT(blur("output.split(z, zo, zi, 8)\n"), "S0103", "output has no loop z", "2:14");
  CHECK_DIAG(blur("output.split(x, xo, xi, 8).split(y, x, yi, 8)\n"), "S0109", "was used before");
  CHECK_DIAG(blur("output.split(x, xo, xi, 8).split(x, a, b, 8)\n"), "S0103", "x became xo and xi");
}

TEST_CASE("split: arguments are counted and their kinds checked") {
  CHECK_DIAG(blur("output.split(x, xo, xi)\n"), "S0105", "factor is missing");
  CHECK_DIAG(blur("output.split(x, xo, xi, 8, Auto, 1)\n"), "S0105", "too many");
  CHECK_DIAG(blur("output.split(3, xo, xi, 8)\n"), "S0105", "expected the name of a loop");
  CHECK_DIAG(blur("output.split(x, xo, xi, 8, Nonsense)\n"), "S0105", "no TailStrategy Nonsense");
  CHECK(loops_of(blur("output.split(x, xo, xi, tail=GuardWithIf, factor=8)\n"), "output") ==
        "y, xo, xi");
}

TEST_CASE("fuse: the fused loop takes the inner one's place") {
  CHECK(loops_of(blur("output.fuse(x, y, t)\n"), "output") == "t");
  CHECK(loops_of(blur("output.split(x, xo, xi, 8).fuse(xi, y, t)\n"), "output") == "xo, t");
  CHECK(loops_of(blur("output.fuse(x, y, x)\n"), "output") == "x");
}

TEST_CASE("fuse: refuses itself, other kinds and used names") {
  CHECK_DIAG(blur("output.fuse(x, x, t)\n"), "S0114", "with itself");
  CHECK_DIAG(blur("output.parallel(y).fuse(x, y, t)\n"), "S0117", "parallel loop y");
  CHECK_DIAG(blur("output.split(x, xo, xi, 8).fuse(xi, xo, y)\n"), "S0109", "already used");
}

TEST_CASE("fuse: obeys the order of a reduction") {
  CHECK(loops_of(sums("sum.update(0).fuse(r.x, r.y, t)\n", Float(32)), "sum", 1) == "y, x, t");
  CHECK_DIAG(sums("sum.update(0).fuse(r.y, r.x, t)\n", Float(32)), "S0111", "order of a reduction");
  CHECK(loops_of(sums("sum.update(0).fuse(r.y, r.x, t)\n"), "sum", 1) == "y, x, t");
}

TEST_CASE("reorder: named loops share the places they hold, innermost first") {
  CHECK(loops_of(blur("output.reorder(y, x)\n"), "output") == "x, y");
  CHECK(loops_of(blur("output.split(x, xo, xi, 8).reorder(y, xo)\n"), "output") == "xo, y, xi");
  CHECK(loops_of(blur("output.reorder({y, x})\n"), "output") == "x, y");
}

TEST_CASE("reorder: refuses repeated and unknown names") {
  CHECK_DIAG_AT(blur("output.reorder(x, y, x)\n"), "S0114", "x twice", "2:22");
  CHECK_DIAG(blur("output.reorder(x, yy)\n"), "S0103", "did you mean y?");
  CHECK_DIAG(blur("output.reorder()\n"), "S0105", "needs the loops' names");
}

TEST_CASE("reorder: RVars of an integer sum may change places, those of a float sum may not") {
  CHECK(loops_of(sums("sum.update(0).reorder(r.y, r.x)\n"), "sum", 1) == "y, x, r.x, r.y");
  CHECK_DIAG_AT(sums("sum.update(0).reorder(r.y, r.x)\n", Float(32)), "S0111", "floating-point",
                "3:15");
}

TEST_CASE("reorder: pure variables may go inside RVars") {
  CHECK(loops_of(sums("sum.update(0).reorder(x, y, r.x, r.y)\n", Float(32)), "sum", 1) ==
        "r.y, r.x, y, x");
}

TEST_CASE("reorder: a recurrence keeps its order") {
  const auto p =
      ProgramBuilder("p")
          .func("f", {"x", "y"}, num(0))
          .update({var("r.x"), var("r.y")}, call("f", {var("r.x") - num(1), var("r.y") - num(1)}),
                  {{"r.x", num(4)}, {"r.y", num(5)}})
          .build();
  CHECK_DIAG(run_schedule(p, "f.update(0).reorder(r.y, r.x)\n"), "S0111", "another iteration");
  CHECK_DIAG(run_schedule(p, "f.update(0).parallel(r.y)\n"), "S0111", "at once");
}

TEST_CASE("tile: splits two loops and orders inner before outer") {
  CHECK(loops_of(blur("output.tile(x, y, xo, yo, xi, yi, 8, 4)\n"), "output") == "yo, xo, yi, xi");
  CHECK(loops_of(blur("output.tile(x, y, xi, yi, 8, 4, GuardWithIf)\n"), "output") ==
        "y, x, yi, xi");
  CHECK(loops_of(blur("output.tile({x, y}, {xo, yo}, {xi, yi}, {8, 4})\n"), "output") ==
        "yo, xo, yi, xi");
  CHECK(loops_of(blur("let w = 8\noutput.tile(x, y, xo, yo, xi, yi, w, w)\n"), "output") ==
        "yo, xo, yi, xi");
}

TEST_CASE("tile: refuses wrong counts and repeated loops") {
  CHECK_DIAG(blur("output.tile(x, y, 8, 8)\n"), "S0105", "tile");
  CHECK_DIAG(blur("output.tile({x, y}, {xo}, {xi, yi}, {8, 4})\n"), "S0105", "different lengths");
  CHECK_DIAG(blur("output.tile(x, x, xo, yo, xi, yi, 8, 4)\n"), "S0114", "x twice");
}

TEST_CASE("rename: the loop has another name") {
  CHECK(loops_of(blur("output.rename(x, u).vectorize(u, 8)\n"), "output") == "y, u, u.v!v");
  CHECK_DIAG(blur("output.rename(x, y)\n"), "S0109", "already used");
}

TEST_CASE("vectorize: with lanes the outer loop keeps the name") {
  const auto s = blur("output.vectorize(x, 8)\n");
  CHECK(loops_of(s, "output") == "y, x, x.v!v");
  CHECK(loops_of(blur("output.split(x, xo, xi, 8).vectorize(xi)\n"), "output") == "y, xo, xi!v");
  CHECK(loops_of(blur("output.vectorize(x, 1)\n"), "output") == "y, x, x.v");
}

TEST_CASE("vectorize: vec(type) is the target's width") {
  const auto s = blur("output.vectorize(x, vec(u16))\n");
  CHECK(ir::is_const_value(last_relation(s, "output").factor, 16));
}

TEST_CASE("vectorize: lanes are constant and not too many") {
  const auto p = ProgramBuilder("p").param("n").func("f", {"x"}, var("x")).build();
  CHECK_DIAG(run_schedule(p, "f.vectorize(x, n)\n"), "S0110", "constant number of lanes");
  CHECK_DIAG(blur("output.vectorize(x, 5000)\n"), "S0110", "1 to 1024");
  CHECK_DIAG(blur("output.vectorize(x, GuardWithIf)\n"), "S0105", "needs a factor");
}

TEST_CASE("vectorize: an RVar needs proof that its iterations are independent") {
  CHECK_DIAG(sums("sum.update(0).vectorize(r.x)\n"), "S0111",
             "use a loop whose iterations are independent: x, y");
  const auto p =
      ProgramBuilder("p")
          .func("f", {"x", "y"}, num(0))
          .update({var("r.x"), num(0)}, call("f", {var("r.x"), num(0)}) + num(1), {{"r.x", num(8)}})
          .build();
  CHECK(loops_of(run_schedule(p, "f.update(0).vectorize(r.x)\n"), "f", 1) == "r.x!v");
}

TEST_CASE("unroll: copies a loop of constant extent") {
  CHECK(loops_of(blur("output.unroll(x, 4)\n"), "output") == "y, x, x.u!u");
  CHECK(loops_of(sums("sum.update(0).unroll(r.x).unroll(r.y)\n", Float(32)), "sum", 1) ==
        "y, x, r.y!u, r.x!u");
}

TEST_CASE("parallel: with a task size the outer loop is parallel") {
  CHECK(loops_of(blur("output.parallel(y)\n"), "output") == "y!p, x");
  CHECK(loops_of(blur("output.parallel(y, 4)\n"), "output") == "y!p, y.t, x");
}

TEST_CASE("serial: takes a kind back") {
  CHECK(loops_of(blur("output.parallel(y).serial(y)\n"), "output") == "y, x");
}

TEST_CASE("kinds: two on one loop conflict") {
  CHECK_DIAG(blur("output.parallel(y).unroll(y)\n"), "S0117", "cannot be unrolled too");
  CHECK_DIAG(blur("output.vectorize(x, 8).split(x.v, a, b, 2)\n"), "S0117", "vectorised loop x.v");
}

TEST_CASE("splitting a parallel loop leaves both parts parallel, vectorize changes the inner one") {
  CHECK(loops_of(blur("output.parallel(y).split(y, yo, yi, 8)\n"), "output") == "yo!p, yi!p, x");
  CHECK(loops_of(blur("output.parallel(x).vectorize(x, 8)\n"), "output") == "y, x!p, x.v!v");
}

TEST_CASE("a refused directive leaves the state as it was") {
  const auto p = blur_program();
  const auto before = schedule::initial_state(p);
  schedule::Directive d;
  d.kind = schedule::DirectiveKind::split;
  d.func = "output";
  d.args = {schedule::Arg::name("x"), schedule::Arg::name("xo"), schedule::Arg::name("xi"),
            schedule::Arg::value(0)};
  const auto reason = schedule::check_directive(p, before, d, test_target());
  CHECK_FALSE(reason.legal);
  CHECK(reason.diagnostic.code == "S0110");
  d.args[3] = schedule::Arg::value(8);
  CHECK(schedule::check_directive(p, before, d, test_target()).legal);
  CHECK(loops_of(before, "output") == "y, x");
}

TEST_CASE("directives on updates need the update") {
  CHECK_DIAG(blur("output.update(0).parallel(y)\n"), "S0106", "output has no update definition");
  CHECK_DIAG(sums("sum.update(1).parallel(y)\n"), "S0106", "one update definition: update(0)");
  CHECK_DIAG(sums("sum.update(0).compute_root()\n"), "S0108", "the Func as a whole");
}

TEST_CASE("bounds: are kept, merged and refused when they contradict") {
  const auto s = blur("output.bound(x, 0, 64).align_bounds(y, 8)\n");
  REQUIRE(s.of("output").bounds.size() == 2);
  CHECK(ir::is_const_value(s.of("output").bounds[0].extent, 64));
  CHECK(ir::is_const_value(s.of("output").bounds[1].modulus, 8));
  CHECK(ir::is_const_value(s.of("output").bounds[1].remainder, 0));
  CHECK_DIAG(blur("output.bound(x, 0, 64).bound_extent(x, 32)\n"), "S0117",
             "extent 64 was given before");
  CHECK_DIAG(blur("output.bound(z, 0, 64)\n"), "S0103", "no dimension z");
  CHECK_DIAG(blur("output.bound_extent(x, 0)\n"), "S0110", "extent of bound_extent is 0");
  CHECK_DIAG(blur("output.align_extent(x, 8).align_bounds(x, 4)\n"), "S0117", "alignment");
}

TEST_CASE("bounds: count whatever their place in the schedule") {
  CHECK(loops_of(blur("output.vectorize(x).bound_extent(x, 16)\n"), "output") == "y, x!v");
}

TEST_CASE("reorder_storage: orders the dimensions named") {
  const auto s = blur("blur_x.compute_root().reorder_storage(y, x)\n");
  CHECK(s.of("blur_x").storage_order == std::vector<ir::Name>{"y", "x"});
  CHECK_DIAG(blur("blur_x.compute_root().reorder_storage(y, y)\n"), "S0114", "y twice");
  CHECK_DIAG(blur("output.reorder_storage(y, x)\n"), "S0108", "output");
}

TEST_CASE("directives for devices are refused by name") {
  CHECK_DIAG(blur("output.gpu_tile(x, y, xi, yi, 8, 8)\n"), "S0130", "gpu_tile");
}

TEST_CASE("the number of loops is bounded") {
  std::string chain = "output";
  for (int i = 0; i < 80; i++) chain += ".unroll(x, 2)";
  CHECK_DIAG(blur(chain + "\n"), "S0002", "split too often");
  CHECK_DIAG(blur("output.unroll(x, 4096).unroll(y, 2)\n"), "S0112", "too long to be unrolled");
}
