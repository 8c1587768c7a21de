// Compute and store levels on the complete schedule.
#include <doctest/doctest.h>

#include "programs.h"
#include "run.h"
#include "schedule/legality.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {
auto blur(const std::string &lines) { return run_schedule(blur_program(), lines); }
auto sums(const std::string &lines) { return run_schedule(sum_program(), lines); }
}  // namespace

TEST_CASE("placement: a producer may be computed at a loop of its only reader") {
  const auto s =
      blur("output.split(y, yo, yi, 8)\nblur_x.store_at(output, yo).compute_at(output, yi)\n");
  CHECK(s.of("blur_x").compute.func == "output");
  CHECK(s.of("blur_x").compute.var == "yi");
  CHECK(s.of("blur_x").store.var == "yo");
}

TEST_CASE("placement: storage is at the computation level where nothing is said") {
  const auto s = blur("blur_x.compute_at(output, y)\n");
  CHECK(s.of("blur_x").store.kind == schedule::Level::Kind::At);
  CHECK(s.of("blur_x").store.var == "y");
}

TEST_CASE("placement: a level may be named before its loop exists") {
  CHECK(blur("blur_x.compute_at(output, yo)\noutput.split(y, yo, yi, 8)\n")
            .of("blur_x")
            .compute.var == "yo");
}

TEST_CASE("placement: readers through inlined Funcs count") {
  // `in` is read by blur_x, which is inlined into output.
  CHECK(blur("in.compute_at(output, x)\n").of("in").compute.func == "output");
  CHECK_DIAG_AT(blur("in.compute_at(blur_x, x)\n"), "S0104", "blur_x is inlined", "2:23");
}

TEST_CASE("placement: a reader outside the loop is named, with the loops and legal places") {
  const auto run = [] {
    return run_schedule(diamond_program(),
                        "g.compute_root()\nh.compute_root()\nf.compute_at(g, y)\n");
  };
  CHECK_DIAG_AT(run(), "S0104", "f cannot be computed at g.y", "4:17");
  CHECK_DIAG(run(), "S0104", "h also reads f, and it runs outside the loop g.y");
  CHECK_DIAG(run(), "S0104", "reads: g (algorithm.cpp:11), h (algorithm.cpp:12)");
  CHECK_DIAG(run(), "S0104", "loops: g.y");
  CHECK_DIAG(run(), "S0104", "use a loop around all readers: compute_root()");
}

TEST_CASE("placement: legal places lie around all readers") {
  CHECK_DIAG(run_schedule(diamond_program(),
                          "g.compute_at(output, y)\nh.compute_at(output, x)\nf.compute_at(g, x)\n"),
             "S0104", "compute_root(), or compute_at(output, y)");
  const auto s =
      run_schedule(diamond_program(),
                   "g.compute_at(output, y)\nh.compute_at(output, x)\nf.compute_at(output, y)\n");
  CHECK(s.of("f").compute.var == "y");
}

TEST_CASE("placement: a chain of levels is climbed") {
  const auto s =
      run_schedule(diamond_program(), "g.compute_at(output, y)\nf.compute_at(output, y)\n");
  CHECK(s.of("f").compute.func == "output");
}

TEST_CASE("placement: unknown consumers and loops are named") {
  CHECK_DIAG_AT(blur("blur_x.compute_at(outptu, y)\n"), "S0101", "did you mean output?", "2:19");
  CHECK_DIAG_AT(blur("blur_x.compute_at(output, yy)\n"), "S0103", "did you mean y?", "2:27");
  CHECK_DIAG(blur("blur_x.compute_at(blur_x, y)\n"), "S0104", "a loop of blur_x itself");
  CHECK_DIAG(blur("in.compute_root()\nin.compute_at(in, y)\n"), "S0104", "itself");
}

TEST_CASE("placement: outputs stay at root") {
  CHECK_DIAG(blur("output.compute_at(blur_x, y)\n"), "S0108", "an output of blur");
  CHECK_DIAG(blur("output.compute_inline()\n"), "S0108", "an output");
  CHECK(blur("output.compute_root()\n").of("output").compute.is_root());
}

TEST_CASE("placement: directives on a Func that is inlined away are refused") {
  CHECK_DIAG_AT(blur("blur_x.vectorize(x, 8)\n"), "S0108", "blur_x, which is inlined", "2:8");
  CHECK_DIAG(blur("blur_x.bound(x, 0, 8)\n"), "S0108", "compute_root(), or compute_at(output, x)");
}

TEST_CASE("placement: storage needs a computation level around which it lies") {
  CHECK_DIAG(blur("blur_x.store_root()\n"), "S0115", "compute_root or compute_at is missing");
  CHECK_DIAG(blur("blur_x.compute_root().store_at(output, y)\n"), "S0115",
             "stored at output.y but computed at root");
  CHECK_DIAG(blur("blur_x.compute_at(output, y).store_at(output, x)\n"), "S0115",
             "a loop around it");
  CHECK(blur("blur_x.store_root().compute_at(output, y)\n").of("blur_x").store.is_root());
}

TEST_CASE("placement: no parallel loop between storage and computation") {
  CHECK_DIAG(blur("output.parallel(y)\nblur_x.store_root().compute_at(output, x)\n"), "S0107",
             "parallel loop output.y between");
  CHECK_DIAG(blur("output.parallel(y)\nblur_x.store_root().compute_at(output, y)\n"), "S0107",
             "store_at(output, y)");
  CHECK(blur("output.parallel(y)\nblur_x.store_at(output, y).compute_at(output, x)\n")
            .of("blur_x")
            .store.var == "y");
}

TEST_CASE("placement: nothing is computed inside a vectorised loop") {
  CHECK_DIAG(blur("output.split(x, xo, xi, 8).vectorize(xi)\nblur_x.compute_at(output, xi)\n"),
             "S0104", "is vectorised");
  CHECK(blur("output.split(x, xo, xi, 8).unroll(xi)\nblur_x.compute_at(output, xi)\n")
            .of("blur_x")
            .compute.var == "xi");
}

TEST_CASE(
    "placement: an inlined reduction runs at its readers' innermost loop, vectorised or not") {
  CHECK(sums("output.vectorize(x, 8)\n").of("sum").compute.is_inlined());
  CHECK_DIAG(sums("output.vectorize(x, 8)\nin.compute_at(sum, r.y)\n"), "S0104",
             "inside a vectorised loop");
  CHECK_DIAG(sums("output.vectorize(x, 8)\nsum.vectorize(x, 4)\n"), "S0112",
             "inside a vectorised loop");
}

TEST_CASE("placement: a level of one stage needs the readers there") {
  CHECK(sums("sum.compute_root()\nin.compute_at(sum, r.y)\n").of("in").compute.var == "r.y");
  CHECK(sums("sum.compute_root()\nin.compute_at(sum.update(0), y)\n").of("in").compute.stage == 1);
  CHECK_DIAG(sums("sum.compute_root()\nin.compute_at(sum.update(1), y)\n"), "S0106",
             "sum.update(1)");
}

TEST_CASE("placement: one vector loop per stage, and no parallel loop inside it") {
  CHECK_DIAG(blur("output.tile(x, y, xo, yo, xi, yi, 8, 8).vectorize(xi).vectorize(yi)\n"), "S0112",
             "inside a vectorised loop");
  CHECK_DIAG(blur("output.split(y, yo, yi, 8).vectorize(yi).parallel(x)\n"), "S0112",
             "parallel loop x");
}

TEST_CASE("placement: an output's vectorised loop has a constant extent") {
  CHECK_DIAG_AT(blur("output.vectorize(x)\n"), "S0112",
                "vectorize(x, n), or promise its extent: bound_extent(x, n)", "2:8");
  CHECK_DIAG(blur("output.unroll(y)\n"), "S0112", "cannot be unrolled");
}

TEST_CASE("placement: a producer's extent is left to bounds inference") {
  CHECK(loops_of(blur("output.tile(x, y, xo, yo, xi, yi, 16, 8)\nblur_x.compute_at(output, "
                      "xo).unroll(y)\n"),
                 "blur_x") == "y!u, x");
}

TEST_CASE("placement: an RDom of unknown extent cannot be unrolled") {
  ProgramBuilder b("p");
  b.param("n");
  const auto p =
      b.func("f", {"x"}, num(0))
          .update({var("x")}, call("f", {var("x")}) + var("r.x"), {{"r.x", b.param_value("n")}})
          .build();
  CHECK_DIAG(run_schedule(p, "f.update(0).unroll(r.x)\n"), "S0112", "RDom");
}

TEST_CASE("placement: a long chain of levels is judged quickly") {
  ProgramBuilder b("chain");
  const int n = 800;
  b.func("f0", {"x"}, var("x"));
  std::string lines;
  for (int i = 1; i < n; i++) {
    const std::string before = "f" + std::to_string(i - 1), now = "f" + std::to_string(i);
    b.func(now, {"x"}, call(before, {var("x")}));
    lines += before + ".compute_at(" + now + ", x)\n";
  }
  const auto s = run_schedule(b.build(), lines);
  CHECK(s.of("f0").compute.func == "f1");
}

TEST_CASE("check_placement: reports all violations") {
  const auto p = blur_program();
  auto state = schedule::initial_state(p);
  state.funcs.at("blur_x").touched = true;
  state.funcs.at("output").stages[0].loops[0].kind = ir::ForType::Vectorized;
  const auto all = schedule::check_placement(p, state, test_target());
  REQUIRE(all.size() == 2);
  CHECK(all[0].code == "S0108");
  CHECK(all[1].code == "S0112");
}
