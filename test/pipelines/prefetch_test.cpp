// prefetch and eager_inline: the same bits, the code that was asked for, and refusals with reasons.
#include <doctest/doctest.h>

#include "../unit/lower/programs.h"
#include "compat/Halide.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {
const CaseSize kSize{{3, -4}, {71, 37}, 0};

int count(const std::string &text, const std::string &what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
  return n;
}
std::string lowered(const std::string &lines) {
  return ir::to_string(LoweredCase(blur_text(), lines).lowered.body);
}
}  // namespace

TEST_CASE("prefetch: the same bits with every strategy, of Funcs and inputs, at any offset") {
  for (const char *strategy : {"GuardWithIf", "Clamp", "NonFaulting"}) {
    for (const char *fetch : {"bx, y, y, 2, ", "in0, y, y, 1, ", "in0, x, y, 3, ",
                              "bx, x, x, 1000000, ", "bx, y, y, -7, "}) {
      const std::string lines =
          "bx.compute_root()\nout.compute_root().prefetch(" + std::string(fetch) + strategy + ")\n";
      CAPTURE(lines);
      const bool reads = std::string(fetch).find("in0") == std::string::npos;
      const std::string of_bx =
          "bx.compute_root().prefetch(" + std::string(fetch) + strategy + ")\n";
      CHECK(run_lines(blur_text(), reads ? lines : of_bx, kSize).kind == CaseResult::Same);
    }
  }
}

TEST_CASE("prefetch: with tiles, windows, rings, vectors and threads") {
  for (const char *lines :
       {"out.tile(x, y, xo, yo, xi, yi, 16, 8).vectorize(xi, 8).parallel(yo)\n"
        "out.prefetch(bx, yi, yo, 1, Clamp)\nbx.compute_root().vectorize(x, 8)\n",
        "bx.store_root().compute_at(out, y).vectorize(x, 8).prefetch(in0, y, y)\n",
        "bx.store_root().compute_at(out, y)\nout.split(x, x, xi, 8).prefetch(bx, x, x)\n"
        "out.vectorize(xi)\n",
        "out.split(y, yo, yi, 8)\nbx.compute_at(out, yi).hoist_storage(out, yo)\n"
        "out.prefetch(in0, yi, yo, 2)\n",
        "out.specialize(out.width() > 20).prefetch(bx, y, y, 2)\nbx.compute_root()\n",
        "bx.compute_root().reorder_storage(y, x)\nout.prefetch(bx, x, x, 4, Clamp)\n"}) {
    CAPTURE(lines);
    const CaseResult r = run_lines(blur_text(), lines, kSize);
    CAPTURE(r.text);
    CHECK(r.kind == CaseResult::Same);
  }
}

TEST_CASE("prefetch: from C++, of a Tuple, an input and an output that is read") {
  Var x("x"), y("y");
  ImageParam in(Int(32), 2, "in");
  Func f("f"), g("g"), out("out");
  f(x, y) = Tuple(in(x, y) + 1, cast<uint8_t>(x));
  g(x, y) = f(x, y)[0] + f(x, y + 1)[1];
  out(x, y) = g(x, y) * 2;
  f.compute_root().prefetch(in, y, y);
  g.prefetch(f, x, y, 2, PrefetchBoundStrategy::Clamp);
  out.prefetch(g, y, y, 1, PrefetchBoundStrategy::NonFaulting);
  Pipeline p({g, out});
  Buffer<int> from(50, 21), a(50, 20), b(50, 20);
  from.for_each_element([&](int i, int j) { from(i, j) = i * 3 - j; });
  in.set(from);
  p.realize({a, b});
  int wrong = 0;
  b.for_each_element(
      [&](int i, int j) { wrong += a(i, j) != from(i, j) + 1 + i || b(i, j) != 2 * a(i, j); });
  CHECK(wrong == 0);
}

TEST_CASE("prefetch: one line at a time, of the memory that a later iteration reads") {
  const std::string text = lowered("bx.compute_root()\nout.prefetch(bx, y, y, 2, NonFaulting)\n");
  CAPTURE(text);
  CHECK(count(text, "prefetch(") == 1);
  CHECK(count(text, "/32 + 1") == 1);  // u16: 32 elements a line
  CHECK(count(lowered("bx.compute_root()\n"), "prefetch(") == 0);
}

TEST_CASE("prefetch: refused with the reason") {
  const auto refused = [](const std::string &lines, const std::string &why) {
    CAPTURE(lines);
    CHECK_DIAG(LoweredCase(blur_text(), lines), "S0136", why);
  };
  refused("out.prefetch(bx, y, y)\n", "bx is inlined");
  refused("bx.compute_root()\nout.prefetch(bx, y, x)\n", "runs inside loop y");
  refused("bx.compute_root()\nout.vectorize(x, 8).prefetch(bx, x.v, x)\n", "vectorised");
  refused("bx.compute_at(out, y)\nout.prefetch(bx, y, y)\n", "computed inside of loop y");
  refused("bx.compute_root()\nout.prefetch(in0, y, y)\n", "nothing in loop y reads in0");
  CHECK_DIAG(LoweredCase(blur_text(), "out.prefetch(nobody, y, y)\n"), "S0101", "nobody");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.compute_root()\nout.prefetch(bx, q, y)\n"), "S0103", "q");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.compute_root()\nout.prefetch(bx, y)\n"), "S0105", "from");
}

TEST_CASE("eager_inline: what follows sees the definition") {
  const char *squares =
      "program p {\n"
      "  func term(x, y): i32 {\n"
      "    term(x, y) = x + y\n"
      "  }\n"
      "  func sum(x): i32 {\n"
      "    sum(x) = 0\n"
      "    sum(x) = term(sum(x), r.x) for r.x in 0 +: 16\n"
      "  }\n"
      "  output sum\n"
      "}\n";
  const std::string factor =
      "let part = sum.update(0).split(r.x, ro, ri, 4).rfactor({ri: u})\n"
      "part.compute_root()\n";
  CHECK_DIAG(LoweredCase(squares, factor), "S0122", "");
  CHECK(run_lines(squares, "term.eager_inline()\n" + factor, {{0}, {9}, 0}).kind ==
        CaseResult::Same);
}

TEST_CASE("eager_inline: the same bits, and globs leave it out") {
  const CaseResult r = run_lines(blur_text(), "bx.eager_inline()\n*.compute_root()\n", kSize);
  CAPTURE(r.text);
  CHECK(r.kind == CaseResult::Same);
}

TEST_CASE("eager_inline: refused with the reason") {
  const auto refused = [](const std::string &lines, const std::string &why) {
    CAPTURE(lines);
    CHECK_DIAG(LoweredCase(blur_text(), lines), "S0108", why);
  };
  refused("out.eager_inline()\n", "output");
  refused("bx.compute_root().eager_inline()\n", "directives before");
  refused("bx.vectorize(x, 8).eager_inline()\n", "directives before");
  refused("bx.eager_inline().compute_root()\n", "substituted into its readers");
  refused("bx.eager_inline().eager_inline()\n", "substituted into its readers");
}

TEST_CASE("no_profiling: is kept, and changes nothing") {
  CHECK(lowered("bx.compute_root().no_profiling()\n") == lowered("bx.compute_root()\n"));
  CHECK_FALSE(
      LoweredCase(blur_text(), "bx.compute_root().no_profiling()\n").scheduled.of("bx").profiled);
}
