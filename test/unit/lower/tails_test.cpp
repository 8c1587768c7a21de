// Every tail strategy at every small extent, in one and two levels of splits, against the interpreter.
#include <doctest/doctest.h>

#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {
const char *const kAnySize[] = {"GuardWithIf", "Predicate", "ShiftInwards", "ShiftInwardsAndBlend",
                                "Auto"};
const char *const kAll[] = {"GuardWithIf",     "Predicate",    "PredicateLoads",
                            "PredicateStores", "ShiftInwards", "ShiftInwardsAndBlend",
                            "RoundUpAndBlend", "RoundUp",      "Auto"};

std::string with_tail(std::string lines, const std::string &tail) {
  for (size_t at; (at = lines.find("TAIL")) != std::string::npos;) lines.replace(at, 4, tail);
  return lines;
}

// Reads its input at an update too, so that tails of updates are seen in values.
const char *const kUpdated =
    "program updated {\n"
    "  param in0: i32[2]\n"
    "  func f(x, y): i32 {\n"
    "    f(x, y) = @in0(x, y) % 100\n"
    "    f(x, y) = f(x, y) * 2 + @in0(x + r.x, y) % 50 for r.x in -1 +: 3\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = f(x, y) + 1\n"
    "  }\n"
    "  output out\n"
    "}\n";
}  // namespace

TEST_CASE("tails: a vectorised output works at every width, whatever the tail") {
  for (const char *tail : kAnySize) {
    INFO(tail);
    CHECK(first_difference(blur_text(), with_tail("out.vectorize(x, 8, TAIL)\n", tail), 40) == "");
    CHECK(first_difference(blur_text(), with_tail("out.vectorize(x, 8, TAIL)\n", tail), 20, 3,
                           -7) == "");
  }
}

TEST_CASE("tails: splits of splits") {
  for (const char *outer : kAnySize) {
    for (const char *inner : kAnySize) {
      INFO(outer << " " << inner);
      std::string lines = with_tail("out.split(x, xo, xi, 12, TAIL)", outer) +
                          with_tail(".split(xi, xm, xv, 4, TAIL).vectorize(xv)\n", inner);
      CHECK(first_difference(blur_text(), lines, 30, 2) == "");
    }
  }
}

TEST_CASE("tails: serial, unrolled and parallel inner loops") {
  for (const char *tail : kAnySize) {
    INFO(tail);
    CHECK(first_difference(blur_text(), with_tail("out.split(x, xo, xi, 5, TAIL)\n", tail), 20,
                           2) == "");
    CHECK(first_difference(blur_text(),
                           with_tail("out.split(x, xo, xi, 5, TAIL).unroll(xi)\n", tail), 20,
                           2) == "");
    CHECK(first_difference(blur_text(),
                           with_tail("out.split(x, xo, xi, 5, TAIL).reorder(xo, xi)\n", tail), 20,
                           2) == "");
    CHECK(first_difference(blur_text(),
                           with_tail("out.split(x, xo, xi, 5, TAIL).parallel(xo)\n", tail), 20,
                           2) == "");
    CHECK(first_difference(
              blur_text(),
              with_tail("out.tile(x, y, xi, yi, 7, 3, TAIL).vectorize(xi, 4, TAIL)\n", tail), 20,
              4) == "");
  }
}

TEST_CASE("tails: producers take any tail") {
  for (const char *tail : kAll) {
    INFO(tail);
    CHECK(first_difference(blur_text(),
                           with_tail("bx.compute_root().vectorize(x, 8, TAIL)\n", tail), 20,
                           3) == "");
    CHECK(first_difference(blur_text(),
                           with_tail("bx.compute_at(out, y).vectorize(x, 8, TAIL)\n", tail), 20,
                           3) == "");
    CHECK(first_difference(blur_text(),
                           with_tail("out.tile(x, y, xi, yi, 6, 2)\nbx.compute_at(out, x).split(x, "
                                     "xo, xi, 4, TAIL).vectorize(xi)\n",
                                     tail),
                           20, 5) == "");
  }
}

TEST_CASE("tails: loops of updates compute each element once") {
  for (const char *tail :
       {"GuardWithIf", "Predicate", "Auto", "ShiftInwardsAndBlend", "RoundUpAndBlend"}) {
    INFO(tail);
    CHECK(first_difference(kUpdated,
                           with_tail("f.compute_root().update(0).vectorize(x, 8, TAIL)\n", tail),
                           20, 3) == "");
    CHECK(first_difference(
              kUpdated,
              with_tail("f.compute_at(out, y).update(0).split(x, xo, xi, 3, TAIL)\n", tail), 20,
              3) == "");
  }
  CHECK(first_difference(
            kUpdated,
            "f.compute_root().update(0).split(r.x, ro, ri, 2).reorder(ri, x, ro).vectorize(x, 4)\n",
            20, 3) == "");
}

TEST_CASE("tails: rounding up asks an output for room, and says so") {
  CaseResult fits = run_lines(blur_text(), "out.vectorize(x, 8, RoundUp)\n", {{0, 0}, {16, 3}, 0});
  CHECK(fits.kind == CaseResult::Same);
  CaseResult r = run_lines(blur_text(), "out.vectorize(x, 8, RoundUp)\n", {{0, 0}, {13, 3}, 0});
  CHECK(r.kind == CaseResult::Failed);
  CHECK(r.text.find("out") != std::string::npos);
  CHECK(r.text.find("dimension 0") != std::string::npos);
}

TEST_CASE("tails: a plain vectorize works on the smallest picture") {
  CHECK(run_lines(blur_text(), "out.vectorize(x, 16)\n", {{0, 0}, {7, 1}, 0}).kind ==
        CaseResult::Same);
  CHECK(run_lines(blur_text(), "out.vectorize(x, 16)\nbx.compute_at(out, y).vectorize(x, 16)\n",
                  {{0, 0}, {1, 1}, 0})
            .kind == CaseResult::Same);
  CHECK(run_lines(blur_text(), "out.vectorize(x, 16)\n", {{0, 0}, {0, 5}, 0}).kind ==
        CaseResult::Same);
}
