// Sliding windows and ring buffers: what slides, what folds, and that nothing is computed twice.
#include <doctest/doctest.h>

#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {
const CaseSize kSize{{3, -4}, {21, 17}, 0};

CaseResult::Kind blur(const std::string &lines) {
  return run_lines(blur_text(), lines, kSize).kind;
}
}  // namespace

TEST_CASE("storage: a window stored outside of the rows slides and folds") {
  LoweredCase c(blur_text(), "bx.store_root().compute_at(out, y)\n");
  CHECK(c.slides("bx").find("slides over y") == 0);
  CHECK(c.folds("bx") == "folds y to 4");
  CHECK(blur("bx.store_root().compute_at(out, y)\n") == CaseResult::Same);
}

TEST_CASE("storage: strips of rows slide through both loops") {
  const std::string lines = "out.split(y, yo, yi, 8)\nbx.store_root().compute_at(out, yi)\n";
  CHECK(LoweredCase(blur_text(), lines).slides("bx").find("slides over y") == 0);
  CHECK(blur(lines) == CaseResult::Same);
  CHECK(blur("out.split(y, yo, yi, 8).parallel(yo)\nbx.store_at(out, yo).compute_at(out, yi)\n") ==
        CaseResult::Same);
  CHECK(blur("out.split(y, yo, yi, 8, ShiftInwards)\nbx.store_root().compute_at(out, yi)\n") ==
        CaseResult::Same);
  CHECK(blur("out.split(y, yo, yi, 5).unroll(yi)\nbx.store_root().compute_at(out, yi)\n") ==
        CaseResult::Same);
}

TEST_CASE("storage: a Func with updates does not slide, and says why") {
  const char *updated =
      "program p {\n"
      "  func f(x, y): i32 {\n"
      "    f(x, y) = x + y\n"
      "    f(x, y) = f(x, y) + r.x for r.x in 0 +: 3\n"
      "  }\n"
      "  func out(x, y): i32 {\n"
      "    out(x, y) = f(x, y) + f(x, y + 1)\n"
      "  }\n"
      "  output out\n"
      "}\n";
  LoweredCase c(updated, "f.store_root().compute_at(out, y)\n");
  CHECK(c.slides("f").find("update") != std::string::npos);
  CHECK(run_lines(updated, "f.store_root().compute_at(out, y)\n", kSize).kind == CaseResult::Same);
}

TEST_CASE("storage: a walk that is not steady does not fold") {
  const char *mirrored =
      "program p {\n"
      "  func f(x, y): i32 {\n"
      "    f(x, y) = x * 3 + y\n"
      "  }\n"
      "  func out(x, y): i32 {\n"
      "    out(x, y) = f(x, y) + f(x, 20 - y)\n"
      "  }\n"
      "  output out\n"
      "}\n";
  LoweredCase c(mirrored, "f.store_root().compute_at(out, y)\n");
  CHECK(c.slides("f").find("does not slide") == 0);
  CHECK(run_lines(mirrored, "f.store_root().compute_at(out, y)\n", kSize).kind == CaseResult::Same);
}

TEST_CASE("storage: dimensions may lie in any order") {
  CHECK(blur("bx.compute_root().reorder_storage(y, x)\n") == CaseResult::Same);
  CHECK(blur("bx.compute_at(out, y).reorder_storage(y, x).vectorize(x, 4)\n") == CaseResult::Same);
  CHECK(blur("bx.store_root().compute_at(out, y).reorder_storage(y, x)\n") == CaseResult::Same);
}

TEST_CASE("storage: align_bounds widens what is computed, never what it means") {
  LoweredCase c(blur_text(), "bx.compute_root().align_bounds(x, 8).vectorize(x, 8)\n");
  CHECK(blur("bx.compute_root().align_bounds(x, 8).vectorize(x, 8)\n") == CaseResult::Same);
  CHECK(blur("bx.compute_at(out, y).align_bounds(x, 4, 3)\n") == CaseResult::Same);
}
