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

TEST_CASE("directives: handles of Funcs that directives make") {
  Func f("f"), g("g"), out("out");
  f(x, y) = x + y;
  g(x, y) = f(x, y) * 2;
  out(x, y) = f(x + 1, y) + g(x, y);
  Func w = f.in(g);
  CHECK(w.function().same_as(f.in(g).function()));
  CHECK_FALSE(w.function().same_as(f.in().function()));
  CHECK(w.dimensions() == 2);
  CHECK(w.args()[1].name() == "y");
  w.compute_at(g, y).vectorize(x, 4);
  f.compute_root();
  f.in().compute_at(out, y);
  f.clone_in(out).compute_at(out, y).unroll(x, 2);
  g.compute_root();
  const std::string text = schedule_text(out);
  CHECK(has(text, "let f_in_g = f.in(g)\n"));
  CHECK(has(text, "let f_in = f.in()\n"));
  CHECK(has(text, "f_in_g.compute_at(g, y).vectorize(x, 4)\n"));
  CHECK(has(text, "let f_clone_in_out = f.clone_in(out)\n"));
}

TEST_CASE("directives: handles of inputs and of partial reductions") {
  ImageParam im(Int(32), 1, "im");
  Func total("total"), out("out");
  RDom r(0, 30);
  RVar ro("ro"), ri("ri");
  Var u("u");
  total(x) = 0;
  total(x) += im(x + r);
  out(x) = total(x);
  Func staged = im.in(total);
  staged.compute_root().vectorize(_0, 4);
  total.update().split(r, ro, ri, 8);
  Func part = total.update().rfactor(ro, u);
  part.compute_root().update().parallel(u).unroll(ri, 2);
  total.compute_root();
  const std::string text = schedule_text(out);
  CHECK(has(text, "let im_in_total = im.in(total)\n"));
  CHECK(has(text, "let total_by_u = total.update(0).rfactor({ro: u})\n"));
  CHECK(has(text, "total_by_u.update(0).parallel(u).unroll(ri, 2)\n"));
  Buffer<int> pixels(100);
  for (int i = 0; i < 100; i++) pixels(i) = i * i % 17;
  im.set(pixels);
  Buffer<int> result = out.realize({50});
  int expected = 0;
  for (int i = 0; i < 30; i++) expected += pixels(7 + i);
  CHECK(result(7) == expected);
  // Directives on a handle count although the pipeline was compiled before.
  part.update().atomic();
  staged.serial(_0);
  result = out.realize({50});
  CHECK(result(7) == expected);
}
