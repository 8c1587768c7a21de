// Directives of C++ become records with the caller's position.
#include <doctest/doctest.h>

#include "driver/program.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support.h"
#include "support/check_diag.h"

using namespace calotype;

namespace {
Var x("x"), y("y"), xo("xo"), xi("xi"), yo("yo"), yi("yi");

std::string schedule_text(const Func &f) {
  const Pipeline p(f);
  ir::Program program = driver::program_of(p, get_host_target());
  return schedule::print_schedule(schedule::resolve(program, driver::schedule_of(p, program)));
}
bool has(const std::string &text, const std::string &part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}
}  // namespace

TEST_CASE("directives: a C++ schedule is text in order of the calls") {
  Func f("f"), g("g");
  g(x, y) = x + y;
  f(x, y) = g(x, y);
  f(x, y) += 1;
  g.compute_at(f, yo);
  f.tile(x, y, xo, yo, xi, yi, 8, 4, TailStrategy::GuardWithIf).vectorize(xi).parallel(yo);
  f.update(0).unroll(x, 2).reorder(y, x);
  g.store_root().bound(x, 0, 16).align_bounds(y, 2).reorder_storage(y, x);
  const std::string text = schedule_text(f);
  CHECK(has(text, "compute_at(f, yo)"));
  CHECK(has(text, "tile(x, y, xo, yo, xi, yi, 8, 4, GuardWithIf)"));
  CHECK(has(text, "update(0)"));
  CHECK(has(text, "reorder(y, x)"));
  CHECK(has(text, "store_root()"));
  CHECK(has(text, "bound(x, 0, 16)"));
  CHECK(text.find("compute_at") < text.find("tile"));
}

TEST_CASE("directives: unnamed Vars and RVars get names") {
  Func f("f");
  Var outer, inner;
  RDom r(0, 8);
  f(x) = 0;
  f(x) += r;
  f.split(x, outer, inner, 8);
  f.update().reorder(x, r);
  const std::string text = schedule_text(f);
  CHECK(has(text, "split(x, v0, v1, 8)"));
  CHECK(has(text, "reorder(x, r.x)"));
}

TEST_CASE("directives: mistakes point to the line of the call") {
  Func f("f");
  f(x, y) = x;
  f.reorder(y, Var("nowhere"));
  const std::string line = std::to_string(__LINE__ - 1);
  CHECK_DIAG_AT(f.compile_jit(), "S0103", "nowhere", line);
}

TEST_CASE("directives: what is not available yet is recorded and refused by name") {
  const auto refused = [](const char *name, void (*use)(Func &)) {
    Func f("f");
    f(x, y) = x + y;
    use(f);
    CHECK_DIAG(f.compile_jit(), "S0901", name);
  };
  refused("async", [](Func &f) { f.async(); });
  refused("atomic", [](Func &f) { f.atomic(); });
}

TEST_CASE("directives: those of devices are refused with the target") {
  const auto refused = [](const char *name, void (*use)(Func &)) {
    Func f("f");
    f(x, y) = x + y;
    use(f);
    CHECK_DIAG(f.compile_jit(), "S0130", name);
    CHECK_DIAG(f.compile_jit(), "S0130", "x86");
  };
  refused("gpu_tile", [](Func &f) { f.gpu_tile(x, y, xo, yo, xi, yi, 8, 8); });
  refused("gpu_blocks", [](Func &f) { f.gpu_blocks(x); });
  refused("gpu_threads", [](Func &f) { f.gpu_threads(x, y); });
  refused("gpu_lanes", [](Func &f) { f.gpu_lanes(x); });
  refused("gpu_single_thread", [](Func &f) { f.gpu_single_thread(); });
  refused("hexagon", [](Func &f) { f.hexagon(); });
}

TEST_CASE("directives: specialize returns the copy, and runs") {
  Func f("f"), g("g");
  Param<float> gain("gain", 2.0f);
  g(x, y) = x + y;
  f(x, y) = g(x, y) + g(x + 1, y);
  g.compute_at(f, y).store_in(MemoryType::Stack).bound_storage(x, 64);
  Stage wide = f.specialize(f.output_buffer().width() >= 16);
  wide.vectorize(x, 8);
  wide.specialize(gain > 1.5f).unroll(y, 2);
  f.parallel(y);
  const std::string text = schedule_text(f);
  CHECK(has(text, "f.specialize(f.extent(0) >= 16).vectorize(x, 8)"));
  CHECK(has(text, "specialize(f32(gain) > "));
  CHECK(has(text, "f.parallel(y)"));
  for (int w : {5, 33}) {
    Buffer<int> out = f.realize({w, 3});
    for (int j = 0; j < 3; j++) {
      for (int i = 0; i < w; i++) CHECK(out(i, j) == 2 * (i + j) + 1);
    }
  }
}

TEST_CASE("directives: factors may be parameters that the algorithm does not use") {
  Func f("f");
  Param<int> n("n", 4);
  f(x) = x;
  f.split(x, xo, xi, n);
  const Pipeline p(f);
  ir::Program program = driver::program_of(p, get_host_target());
  driver::schedule_of(p, program);
  REQUIRE(program.params.size() == 1);
  CHECK(program.params[0]->name == "n");
}
