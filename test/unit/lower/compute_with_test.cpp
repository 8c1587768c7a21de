// Shared loops: which stages run in them, how they lie on one another, what is refused.
#include <doctest/doctest.h>

#include "programs.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {

// Two stencils of one input, and what reads both of them over different regions; g has an update.
const char *kTwo =
    "program p {\n"
    "  param in0: i32[2]\n"
    "  func p0(x, y): i32 {\n"
    "    p0(x, y) = @in0(x, y) * 3\n"
    "  }\n"
    "  func f(x, y): i32 {\n"
    "    f(x, y) = p0(x - 1, y) + p0(x + 1, y)\n"
    "  }\n"
    "  func g(x, y): i32 {\n"
    "    g(x, y) = @in0(x, y - 1) - @in0(x, y + 1)\n"
    "    g(x, y) = g(x, y) + @in0(x + r.x, y) for r.x in 0 +: 3\n"
    "  }\n"
    "  func h(x, y): i32 {\n"
    "    h(x, y) = @in0(x, y) + 7\n"
    "    h(x, y) = h(x, y) * 2\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = f(x, y) + f(x, y + 3) + g(x + 2, y - 1) + h(x, y)\n"
    "  }\n"
    "  output out\n"
    "}\n";

const char *kOutputs =
    "program p {\n"
    "  param in0: f32[2]\n"
    "  func a(x, y): {f32, i32} {\n"
    "    a(x, y) = {@in0(x, y) * 2.0f, x + y}\n"
    "    a(x, y) = {a(x, y).0 + 1.0f, a(x, y).1 * 3}\n"
    "  }\n"
    "  func b(x, y): f32 {\n"
    "    b(x, y) = @in0(x + 1, y) - 1.0f\n"
    "  }\n"
    "  output a\n"
    "  output b\n"
    "}\n";

const std::string kRoot = "f.compute_root()\ng.compute_root()\nh.compute_root()\n";

std::string two(const std::string &lines) {
  return first_difference(kTwo, kRoot + lines, 12, 9, -3);
}
std::string nest(const std::string &lines) {
  return schedule::to_string(*LoweredCase(kTwo, kRoot + lines).context.tree);
}

}  // namespace

TEST_CASE("compute_with: the loop nest") {
  const std::string text = nest("g.compute_with(f, y)\n");
  CAPTURE(text);
  CHECK(text.find("    produce f, g:\n"
                  "      for y of f, g:\n"
                  "        for x:\n"
                  "          f(...) = ...\n"
                  "        for x:\n"
                  "          g(...) = ...\n"
                  "      for y:\n"
                  "        for x:\n"
                  "          for r.x:\n"
                  "            g.update(0)(...) = ...\n") != std::string::npos);
}

TEST_CASE("compute_with: same values at every alignment, split, tail and kind of loop") {
  for (const char *align : {"", ", AlignStart", ", AlignEnd", ", NoAlign", ", Auto"}) {
    const std::string a = align;
    CAPTURE(a);
    CHECK(two("g.compute_with(f, y" + a + ")\n") == "");
    CHECK(two("g.compute_with(f, x" + a + ")\n") == "");
    CHECK(two("f.split(y, yo, yi, 4)\ng.split(y, yo, yi, 4)\ng.compute_with(f, yi" + a + ")\n") ==
          "");
  }
  CHECK(
      two("f.parallel(y).vectorize(x, 4)\ng.parallel(y).vectorize(x, 8)\ng.compute_with(f, y)\n") ==
      "");
  CHECK(two("f.tile(x, y, xo, yo, xi, yi, 4, 3).vectorize(xi)\n"
            "g.tile(x, y, xo, yo, xi, yi, 5, 2).unroll(xi)\n"
            "g.compute_with(f, xo, {yo: AlignEnd, xo: AlignStart})\n") == "");
}

TEST_CASE("compute_with: three stages at different depths, and updates") {
  CHECK(two("g.compute_with(f, x)\nh.compute_with(f, y)\n") == "");
  CHECK(two("g.update(0).compute_with(h.update(0), y)\ng.compute_with(h, x)\n") == "");
  CHECK(two("g.update(0).compute_with(f, y)\n") == "");
  CHECK(two("f.compute_with(h.update(0), y)\n") == "");
}

TEST_CASE("compute_with: producers inside of shared loops") {
  CHECK(two("p0.compute_at(f, y)\ng.compute_with(f, y)\n") == "");
  CHECK(two("p0.compute_at(f, y)\nf.compute_with(g, y)\n") == "");
  CHECK(two("p0.store_root().compute_at(f, y)\nf.compute_with(g, y, AlignEnd)\n") == "");
  CHECK(two("f.split(y, yo, yi, 4)\ng.split(y, yo, yi, 3)\np0.store_at(f, yo).compute_at(f, yi)\n"
            "f.compute_with(g, yi)\n") == "");
  // computed in the reader's loop together
  CHECK(first_difference(kTwo,
                         "f.compute_at(out, y)\ng.compute_at(out, y)\nh.compute_at(out, y)\n"
                         "g.compute_with(f, y)\nh.compute_with(f, x)\n",
                         12, 9) == "");
  CHECK(first_difference(kTwo,
                         "f.store_root().compute_at(out, y)\ng.compute_at(out, y)\n"
                         "h.compute_at(out, y)\nh.compute_with(f, y)\n",
                         12, 9) == "");
}

TEST_CASE("compute_with: outputs and Tuples") {
  for (const char *lines :
       {"b.compute_with(a, y)\n", "a.compute_with(b, x)\n", "b.compute_with(a.update(0), y)\n",
        "a.vectorize(x, 4)\nb.vectorize(x, 4)\nb.compute_with(a, x)\n",
        "a.parallel(y)\nb.parallel(y).vectorize(x, 8)\nb.compute_with(a, y, AlignEnd)\n"}) {
    CAPTURE(lines);
    CHECK(first_difference(kOutputs, lines, 20, 5) == "");
  }
}

TEST_CASE("compute_with: refusals say which dependence, place or loop forbids it") {
  const auto refuse = [](const std::string &lines, const char *code, const char *text) {
    CHECK_DIAG(LoweredCase(kTwo, lines), code, text);
  };
  refuse("p0.compute_root()\nf.compute_root()\nf.compute_with(p0, y)\n", "S0133", "f reads p0");
  refuse("f.compute_root()\nout.compute_with(f, y)\n", "S0133", "out reads f");
  refuse("g.compute_root()\ng.update(0).compute_with(g, y)\n", "S0133", "one Func");
  refuse("f.compute_root()\ng.compute_at(out, y)\ng.compute_with(f, y)\n", "S0133", "f at root");
  refuse("f.compute_root()\ng.compute_with(f, y)\n", "S0133", "inline");
  refuse(kRoot + "g.compute_with(f, zz)\n", "S0103", "zz");
  refuse(kRoot + "g.parallel(y)\ng.compute_with(f, y)\n", "S0133", "not alike");
  refuse(kRoot + "f.reorder(y, x)\ng.compute_with(f, y)\n", "S0133", "not alike");
  refuse(kRoot + "f.vectorize(x, 4)\ng.vectorize(x, 4)\ng.compute_with(f, x.v)\n", "S0133", "x.v");
  refuse(kRoot + "g.compute_with(f, y)\nh.compute_with(g, y)\n", "S0133", "itself shares");
  refuse(kRoot + "g.compute_with(f, y)\ng.compute_with(h, y)\n", "S0117", "twice");
  refuse(kRoot + "g.compute_with(f, y, Sideways)\n", "S0105", "Sideways");
  refuse(kRoot + "g.compute_with(nothing, y)\n", "S0101", "nothing");
  refuse(kRoot + "g.compute_with(f.update(3), y)\n", "S0106", "update(3)");
  refuse(kRoot + "g.specialize(out.width() > 4).compute_with(f, y)\n", "S0133", "specialization");
  refuse(kRoot + "g.specialize(out.width() > 4)\ng.compute_with(f, y)\n", "S0133", "specialized");
  refuse(kRoot + "g.compute_with(f, y, {x: AlignEnd})\n", "S0133", "inside y");
  refuse(kRoot + "g.update(0).compute_with(h, y)\ng.compute_with(h.update(0), y)\n", "S0133",
         "no order");
}
