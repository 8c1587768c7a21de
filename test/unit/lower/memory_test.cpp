// Where storage lies and how much of it: store_in, hoist_storage, fold_storage, align_storage, bound_storage, the budget.
#include <doctest/doctest.h>

#include "programs.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {

std::string blur(const std::string &lines, int last = 24, int second = 19) {
  return first_difference(blur_text(), lines, last, second, -3);
}

// The memory types of all allocations of a Func.
std::string memory_of(const LoweredCase &c, const std::string &func) {
  const auto it = c.context.storage.find(func);
  return it == c.context.storage.end() ? "" : it->second.memory;
}

const std::string kTiles = "out.tile(x, y, xo, yo, xi, yi, 8, 4)\nbx.compute_at(out, xo)";

// f walks downwards through g's rows.
const char *kDown =
    "program p {\n"
    "  func f(x, y): i32 {\n"
    "    f(x, y) = x * 3 + y * y\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = f(x, 50 - y) + f(x, 51 - y)\n"
    "  }\n"
    "  output out\n"
    "}\n";

}  // namespace

TEST_CASE("store_in: stack and heap as asked, within the budget") {
  CHECK(blur(kTiles + ".store_in(Stack)\n") == "");
  CHECK(blur(kTiles + ".store_in(Heap)\n") == "");
  CHECK(blur(kTiles + ".store_in(Register)\n") == "");
  CHECK(memory_of(LoweredCase(blur_text(), kTiles + "\n"), "bx").find("stack, ") == 0);
  CHECK(memory_of(LoweredCase(blur_text(), kTiles + ".store_in(Heap)\n"), "bx") ==
        "heap, as asked");
  CHECK(memory_of(LoweredCase(blur_text(), "bx.compute_root()\n"), "bx").find("heap") == 0);
}

TEST_CASE("store_in: refusals name the size, the budget, the target") {
  CHECK_DIAG(LoweredCase(blur_text(), "bx.compute_root().store_in(Stack)\n"), "S0131",
             "its size is not constant");
  CHECK_DIAG(LoweredCase(blur_text(),
                         "out.tile(x, y, xo, yo, xi, yi, 512, 64)\n"
                         "bx.compute_at(out, xo).store_in(Stack)\n"),
             "S0131", "67584");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".store_in(GPUShared)\n"), "S0130", "GPUShared");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".store_in(Attic)\n"), "S0105", "Attic");
  CHECK_DIAG(LoweredCase(blur_text(), "out.store_in(Heap)\n"), "S0108", "output");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.store_in(Heap)\n"), "S0108", "inlined");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".store_in(Heap).store_in(Stack)\n"), "S0117",
             "contradicts");
}

TEST_CASE("store_in: stages that do not fit the budget together go to the heap, outer ones first") {
  std::string text = "program p {\n";
  std::string lines = "out.tile(x, y, xo, yo, xi, yi, 128, 32)\n", last = "x + y";
  for (int i = 0; i < 5; i++) {  // 16 KB each
    const std::string f = "f" + std::to_string(i);
    text += "  func " + f + "(x, y): i32 {\n    " + f + "(x, y) = " + last + " + " +
            std::to_string(i) + "\n  }\n";
    last = f + "(x, y) * 2";
    lines += f + ".compute_at(out, xo)\n";
  }
  text += "  func out(x, y): i32 {\n    out(x, y) = " + last + "\n  }\n  output out\n}\n";
  const LoweredCase c(text, lines);
  int heap = 0;
  for (int i = 0; i < 5; i++) {
    const std::string m = memory_of(c, "f" + std::to_string(i));
    heap += m.find("heap: 16384 bytes would exceed") == 0;
  }
  CHECK(heap == 1);
  CHECK(c.context.stack_bytes <= lower::kStackBudget);
  CHECK(first_difference(text, lines, 140, 33) == "");
}

TEST_CASE("hoist_storage: memory outside, meaning unchanged") {
  CHECK(blur(kTiles + ".hoist_storage_root()\n") == "");
  CHECK(blur(kTiles + ".hoist_storage(out, yo)\n") == "");
  CHECK(blur("out.split(y, yo, yi, 8)\n"
             "bx.store_at(out, yo).compute_at(out, yi).hoist_storage_root()\n") == "");
  CHECK(blur("bx.compute_at(out, y).hoist_storage_root().vectorize(x, 8)\n") == "");
  CHECK(blur("out.parallel(y)\nbx.compute_at(out, y).hoist_storage(out, y)\n") == "");
  const LoweredCase c(blur_text(), "bx.compute_at(out, y).hoist_storage_root()\n");
  CHECK(schedule::to_string(*c.context.tree) ==
        "allocate bx:\n"
        "  produce out:\n"
        "    for y:\n"
        "      store bx:\n"
        "        produce bx:\n"
        "          for y:\n"
        "            for x:\n"
        "              bx(...) = ...\n"
        "        for x:\n"
        "          out(...) = ...\n");
  int inside = 0;  // allocations below a loop
  ir::for_each_stmt(c.lowered.body, [&](const ir::Stmt &s) {
    if (const auto *loop = s.as<ir::For>())
      ir::for_each_stmt(loop->body, [&](const ir::Stmt &t) { inside += !!t.as<ir::Allocate>(); });
  });
  CHECK(inside == 0);
}

TEST_CASE("hoist_storage: refusals") {
  CHECK_DIAG(
      LoweredCase(blur_text(), "out.parallel(y)\nbx.compute_at(out, y).hoist_storage_root()\n"),
      "S0107", "parallel");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".store_root().hoist_storage(out, yo)\n"), "S0115",
             "hoisted");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.hoist_storage_root()\n"), "S0108", "inlined");
  CHECK_DIAG(LoweredCase(blur_text(), "out.hoist_storage_root()\n"), "S0108", "output");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".hoist_storage(out, zz)\n"), "S0103", "zz");
}

TEST_CASE("fold_storage: a ring that is large enough, or the number that would be") {
  for (const char *factor : {"3", "4", "5", "8"}) {
    const std::string lines =
        "bx.store_root().compute_at(out, y).fold_storage(y, " + std::string(factor) + ")\n";
    CAPTURE(lines);
    CHECK(LoweredCase(blur_text(), lines).folds("bx").find("folds y to " + std::string(factor)) ==
          0);
    CHECK(blur(lines) == "");
  }
  CHECK_DIAG(LoweredCase(blur_text(), "bx.store_root().compute_at(out, y).fold_storage(y, 2)\n"),
             "S0132", "at least 3");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.compute_root().fold_storage(y, 8)\n"), "S0132",
             "before any of it is read");
  CHECK_DIAG(
      LoweredCase(blur_text(), "bx.store_root().compute_at(out, y).fold_storage(y, 4, false)\n"),
      "S0132", "upwards");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.store_root().compute_at(out, y).fold_storage(x, 4)\n"),
             "S0132", "no constant bound");
  CHECK_DIAG(LoweredCase(blur_text(), "out.fold_storage(y, 4)\n"), "S0108", "output");
  CHECK_DIAG(
      LoweredCase(blur_text(),
                  "bx.store_root().compute_at(out, y).fold_storage(y, 4).fold_storage(x, 4)\n"),
      "S0132", "two dimensions");
  CHECK_DIAG(
      LoweredCase(blur_text(),
                  "bx.store_root().compute_at(out, y).fold_storage(y, 4).fold_storage(y, 8)\n"),
      "S0117", "twice");
  CHECK_DIAG(LoweredCase(blur_text(), "bx.store_root().compute_at(out, y).fold_storage(y, 0)\n"),
             "S0110", "at least 1");
}

TEST_CASE("fold_storage: what does not slide folds where one iteration needs a constant part") {
  const std::string lines =
      "out.tile(x, y, xo, yo, xi, yi, 8, 4)\n"
      "bx.store_root().compute_at(out, xo).fold_storage(y, 6).fold_storage(x, 8)\n";
  CHECK_DIAG(LoweredCase(blur_text(), lines), "S0132", "two dimensions");
  CHECK(blur("out.tile(x, y, xo, yo, xi, yi, 8, 4)\n"
             "bx.store_at(out, yo).compute_at(out, xo).fold_storage(x, 8)\n") == "");
}

TEST_CASE("fold_storage: windows that walk downwards") {
  LoweredCase c(kDown, "f.store_root().compute_at(out, y)\n");
  CHECK(c.slides("f").find("slides over y downwards") == 0);
  CHECK(c.folds("f") == "folds y to 2");
  CHECK(first_difference(kDown, "f.store_root().compute_at(out, y)\n", 9, 17) == "");
  CHECK(first_difference(kDown,
                         "f.store_root().compute_at(out, y).fold_storage(y, 3, "
                         "fold_forward=false).vectorize(x, 4)\n",
                         9, 17) == "");
  CHECK(first_difference(kDown, "out.split(y, yo, yi, 4)\nf.store_root().compute_at(out, yi)\n", 9,
                         17) == "");
  CHECK_DIAG(LoweredCase(kDown, "f.store_root().compute_at(out, y).fold_storage(y, 3)\n"), "S0132",
             "downwards");
}

TEST_CASE("align_storage: strides are multiples") {
  const LoweredCase c(blur_text(), kTiles + ".align_storage(x, 16)\n");
  CHECK(memory_of(c, "bx") == "stack, " + std::to_string(16 * 6 * 2) + " bytes");
  CHECK(blur(kTiles + ".align_storage(x, 16)\n") == "");
  CHECK(blur("bx.compute_root().align_storage(x, 7).align_storage(y, 3)\n") == "");
  CHECK(blur("bx.compute_root().reorder_storage(y, x).align_storage(y, 8).vectorize(x, 4)\n") ==
        "");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".align_storage(z, 16)\n"), "S0103", "z");
  CHECK_DIAG(LoweredCase(blur_text(), kTiles + ".align_storage(x, out.width())\n"), "S0110",
             "constant");
}

TEST_CASE("bound_storage: a constant size, checked when the pipeline runs") {
  const std::string lines =
      "out.split(y, yo, yi, 4)\nbx.compute_at(out, yo).bound_storage(x, 24).store_in(Stack)\n";
  CHECK(blur(lines) == "");
  const CaseResult r = run_lines(blur_text(), lines, {{0, 0}, {25, 9}, 0});
  CHECK(r.kind == CaseResult::Failed);
  CHECK(r.text.find("bounded to 24") != std::string::npos);
  CHECK_DIAG(
      LoweredCase(blur_text(), "out.bound(x, 0, 8)\nbx.compute_root().bound_storage(x, 7)\n"),
      "S0131", "bound_storage(x, 8)");
  CHECK(blur(kTiles + ".bound_storage(x, 9)\n") == "");
}
