// Specializations: which branch runs, what is known in it, what is refused.
#include <doctest/doctest.h>

#include "programs.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {

std::string blur(const std::string &lines, int last = 40, int second = 5) {
  return first_difference(blur_text(), lines, last, second, -3);
}

std::string body_of(const std::string &lines) {
  return ir::to_string(LoweredCase(blur_text(), lines).lowered.body);
}

const char *kSum =
    "program p {\n"
    "  param n: i32\n"
    "  param fast: bool\n"
    "  param gain: f32\n"
    "  func f(x, y): i32 {\n"
    "    f(x, y) = x * 3 + y\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = f(x, y) + f(x + 1, y)\n"
    "    out(x, y) = out(x, y) + f(r.x, y) for r.x in 0 +: 4\n"
    "  }\n"
    "  output out\n"
    "}\n";

}  // namespace

TEST_CASE("specialize: wide outputs run vectors, narrow ones the general loops") {
  CHECK(blur("out.specialize(out.width() >= 16).vectorize(x, 16)\n") == "");
  CHECK(blur("out.specialize(out.extent(0) >= 8 && in0.stride(0) == 1).tile(x, y, xi, yi, 8, 2)."
             "vectorize(xi)\nout.parallel(y)\n") == "");
}

TEST_CASE("specialize: later directives on the general stage stay there") {
  const std::string nest =
      schedule::to_string(*LoweredCase(blur_text(),
                                       "out.split(y, yo, yi, 4)\n"
                                       "out.specialize(out.width() >= 16).vectorize(x, 16)\n"
                                       "out.parallel(yo)\n"
                                       "out.specialize(out.width() >= 16).unroll(yi)\n")
                               .context.tree);
  CHECK(nest ==
        "produce out:\n"
        "  if out.extent(0) >= 16:\n"
        "    for yo:\n"
        "      unrolled yi:\n"
        "        for x:\n"
        "          vectorized x.v:\n"
        "            out(...) = ...\n"
        "  else:\n"
        "    parallel yo:\n"
        "      for yi:\n"
        "        for x:\n"
        "          out(...) = ...\n");
}

TEST_CASE("specialize: nested, on updates, and with producers inside every branch") {
  CHECK(blur("out.split(y, yo, yi, 4)\n"
             "out.specialize(out.width() >= 16).vectorize(x, 16)\n"
             "   .specialize(out.height() >= 8).unroll(yi)\n"
             "bx.compute_at(out, yo)\n") == "");
  CHECK(blur("bx.compute_at(out, y)\nbx.specialize(out.width() >= 8).vectorize(x, 8)\n") == "");
  CHECK(blur("bx.store_root().compute_at(out, y)\n"
             "bx.specialize(out.width() >= 8).vectorize(x, 8)\n"
             "out.specialize(out.width() >= 8).vectorize(x, 8)\n") == "");
  CHECK(first_difference(kSum,
                         "f.compute_at(out, y)\n"
                         "out.update(0).specialize(out.width() >= 8).vectorize(x, 8)\n"
                         "out.specialize(out.width() == 12).unroll(x)\n",
                         20) == "");
}

TEST_CASE("specialize: what the condition fixes is a constant inside") {
  // a whole row as one vector, a stride known to be 1
  CHECK(blur("out.specialize(out.width() == 12).vectorize(x)\n") == "");
  const std::string body = body_of("out.specialize(out.width() == 12).vectorize(x)\n");
  CHECK(body.find("x12") != std::string::npos);
  // the shifted blocks need no second version: the extent allows them
  const std::string wide = body_of("out.specialize(out.width() >= 64).vectorize(x, 64)\n");
  const std::string any = body_of("out.vectorize(x, 64)\n");
  CHECK(any.find("if") != std::string::npos);
  CHECK(wide.find("x64") != std::string::npos);
}

TEST_CASE("specialize: conditions over parameters of every type") {
  const char *lines[] = {
      "out.specialize(n == 4).split(x, xo, xi, n).vectorize(xi)\n",
      "out.specialize(fast).vectorize(x, 4)\n",
      "out.specialize(n > 2 || bool(fast)).parallel(y)\n",
      "out.specialize(float32(gain) > 1.5f).parallel(y)\n",
  };
  for (const char *text : lines) {
    CAPTURE(text);
    CHECK(run_lines(kSum, text, {{0, 0}, {21, 5}, 0}).kind == CaseResult::Same);
  }
  CHECK_DIAG(LoweredCase(kSum, "out.specialize(gain > 1)\n"), "S0110", "f32(gain)");
}

TEST_CASE("specialize_fail: fails where nothing applies, with its message") {
  const std::string lines =
      "out.specialize(out.width() >= 8).vectorize(x, 8)\nout.specialize_fail(\"at least 8\")\n";
  CHECK(run_lines(blur_text(), lines, {{0, 0}, {9, 5}, 0}).kind == CaseResult::Same);
  const CaseResult r = run_lines(blur_text(), lines, {{0, 0}, {7, 5}, 0});
  CHECK(r.kind == CaseResult::Failed);
  CHECK(r.text.find("at least 8") != std::string::npos);
}

TEST_CASE("specialize: refusals") {
  CHECK_DIAG(LoweredCase(blur_text(), "out.specialize_fail(\"no\")\n"), "S0134", "always fail");
  CHECK_DIAG(LoweredCase(blur_text(),
                         "out.specialize(out.width() > 3)\nout.specialize_fail(\"no\")\n"
                         "out.specialize(out.width() > 2)\n"),
             "S0134", "after specialize_fail");
  CHECK_DIAG(LoweredCase(blur_text(), "out.specialize(out.width() > 3).compute_root()\n"), "S0108",
             "compute_root");
  CHECK_DIAG(LoweredCase(blur_text(), "out.specialize(nothing > 3)\n"), "S0103", "nothing");
  CHECK_DIAG(LoweredCase(blur_text(), "out.specialize(out.width() > 3).vectorize(zz, 8)\n"),
             "S0103", "out.specialize(out.extent(0) > 3)");
  // one branch lacks the loop
  CHECK_DIAG(LoweredCase(blur_text(),
                         "out.specialize(out.width() > 3).split(y, yo, yi, 4)\n"
                         "bx.compute_at(out, yi)\n"),
             "S0104", "without a specialization");
  CHECK_DIAG(LoweredCase(blur_text(),
                         "out.specialize(out.width() > 3).fuse(x, y, t)\n"
                         "bx.compute_at(out, y)\n"),
             "S0104", "has no loop y");
}

TEST_CASE("partition: loops are cut or not, as asked") {
  const std::string clamped =
      "program p {\n"
      "  param in0: i32[2]\n"
      "  func out(x, y): i32 {\n"
      "    out(x, y) = @in0(max(min(likely(x - 1), 30), -4), y) + @in0(max(min(likely(x + 1), 30), "
      "-4), y)\n"
      "  }\n"
      "  output out\n"
      "}\n";
  const auto loops = [&](const std::string &lines) {
    const LoweredCase c(clamped, lines);
    int n = 0;
    ir::for_each_stmt(c.lowered.body, [&](const ir::Stmt &s) { n += s.as<ir::For>() != nullptr; });
    return n;
  };
  const int free = loops("");
  CHECK(free > 2);
  CHECK(loops("out.never_partition(x)\n") == 2);
  CHECK(loops("out.never_partition_all()\n") == 2);
  CHECK(loops("out.never_partition_all().partition(x, Auto)\n") == free);
  CHECK(loops("out.parallel(x)\n") == 2);
  CHECK(loops("out.parallel(x).always_partition(x)\n") == free);
  for (const char *lines :
       {"out.never_partition(x, y)\n", "out.parallel(x).always_partition_all()\n",
        "out.partition(x, Never).vectorize(x, 8)\n",
        "out.split(x, xo, xi, 8).partition(xo, "
        "Never).vectorize(xi)\n"}) {
    CHECK(first_difference(clamped, lines, 28, 3) == "");
  }
  CHECK_DIAG(LoweredCase(clamped, "out.vectorize(x, 8).always_partition(x.v)\n"), "S0117",
             "vectorised");
  CHECK_DIAG(LoweredCase(clamped, "out.partition(x, Sometimes)\n"), "S0105", "Sometimes");
}
