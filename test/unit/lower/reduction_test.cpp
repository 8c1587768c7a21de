// Reductions in parts, in vectors and in parallel, run against the interpreter.
#include <doctest/doctest.h>

#include "codegen/jit.h"
#include "codegen/object.h"
#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {

// f(x) op= in0(x + r): over 13, not a multiple of any vector.
std::string reduction(const std::string &type, const std::string &init, const std::string &value) {
  return "program p {\n  param in0: " + type + "[2]\n  func f(x): " + type +
         " {\n    f(x) = " + init + "\n    f(x) = " + value +
         " for r.x in 0 +: 13, r.y in -1 +: 5\n  }\n  func out(x, y): " + type +
         " {\n    out(x, y) = f(x)\n  }\n  output out\n}\n";
}

const char *const kHistogram =
    "program p {\n  param in0: u8[2]\n  func h(i): u32 {\n    h(i) = 0:u32\n"
    "    h(i32(@in0(r.x, r.y))) = h(i32(@in0(r.x, r.y))) + 1:u32 for r.x in 0 +: 37, r.y in 0 +: "
    "19\n"
    "  }\n  func out(x, y): u32 {\n    out(x, y) = h(max(min(x, 255), 0)) + u32(y)\n  }\n"
    "  output out\n}\n";

const char *const kArgmin =
    "program p {\n  param in0: u8[2]\n  func f(x): {i32, u8} {\n    f(x) = {-7, 255:u8}\n"
    "    f(x) = {select(@in0(x + r.x, 3) / 32:u8 < f(x).1, r.x, f(x)), select(@in0(x + r.x, 3) / "
    "32:u8 < f(x).1, @in0(x + r.x, 3) / 32:u8, f(x).1)} for r.x in 0 +: 29\n  }\n"
    "  func out(x, y): i32 {\n    out(x, y) = f(x) * 256 + i32(f(x).1) + y\n  }\n  output out\n}\n";

void agree(const std::string &program, const std::string &lines) {
  CAPTURE(lines);
  for (const CaseSize &size :
       {CaseSize{{0, 0}, {33, 5}, 0}, CaseSize{{-3, 2}, {7, 1}, 3}, CaseSize{{5, -1}, {1, 1}, 0}}) {
    const CaseResult r = run_lines(program, lines, size, 3);
    CHECK_MESSAGE(r.kind == CaseResult::Same, r.text);
  }
}

const char *const kSchedules[] = {
    "f.compute_root().update(0).rfactor({r.y: u}).compute_root()\n",
    "f.compute_root().update(0).rfactor({r.y: u}).compute_root().update(0).parallel(u)\n",
    "f.compute_root().update(0).split(r.x, ro, ri, 4).rfactor({ri: u}).compute_at(f, "
    "x).vectorize(u)"
    ".update(0).vectorize(u)\n",
    "f.compute_root().update(0).rfactor({r.x: u, r.y: v}).compute_root().vectorize(x, 8)\n",
    "f.compute_root().update(0).atomic().vectorize(r.x, 8)\n",
    "f.compute_root().update(0).atomic().vectorize(r.x)\n",
    "f.compute_root().update(0).atomic().vectorize(r.y)\n",
    "f.compute_root().update(0).atomic().parallel(r.y)\n",
    "f.compute_root().update(0).atomic().parallel(r.y).vectorize(r.x, 4)\n",
    "f.compute_root().update(0).atomic().reorder(x, r.x, r.y).parallel(r.y).vectorize(x, 8)\n",
    "f.compute_root().update(0).atomic().fuse(r.x, r.y, t).parallel(t, 8)\n",
    "f.compute_root().update(0).atomic().reorder(r.y, r.x).unroll(r.y).vectorize(x, 8)\n",
};

}  // namespace

TEST_CASE("reductions: integers give the same bits in any order") {
  for (const char *lines : kSchedules) {
    agree(reduction("i32", "x", "f(x) + @in0(x + r.x, r.y) * 3"), lines);
    agree(reduction("u8", "1:u8", "f(x) * @in0(x + r.x, r.y)"), lines);
    agree(reduction("i16", "7:i16", "max(f(x), @in0(x + r.x, r.y))"), lines);
  }
  agree(reduction("u16", "9:u16", "bitwise_xor(f(x), @in0(x + r.x, r.y))"), kSchedules[4]);
  agree(reduction("u16", "9:u16", "bitwise_xor(f(x), @in0(x + r.x, r.y))"), kSchedules[8]);
  agree(reduction("u64", "9:u64", "bitwise_and(f(x), @in0(x + r.x, r.y))"), kSchedules[7]);
  agree(reduction("u8", "9:u8", "saturating_add(f(x), @in0(x + r.x, r.y) / 16:u8)"), kSchedules[8]);
}

TEST_CASE("reductions: floats differ by rounding alone") {
  for (const char *lines : kSchedules) {
    agree(reduction("f32", "0.0f", "f(x) + @in0(x + r.x, r.y)"), lines);
    agree(reduction("f64", "0.0", "f(x) + @in0(x + r.x, r.y)"), lines);
  }
}

TEST_CASE("reductions: histograms, whose elements collide") {
  for (const char *lines :
       {"h.compute_root().update(0).atomic().vectorize(r.x, 8)\n",
        "h.compute_root().update(0).atomic().parallel(r.y)\n",
        "h.compute_root().update(0).atomic().parallel(r.y).vectorize(r.x, 16)\n",
        "h.compute_root().update(0).rfactor({r.y: u}).compute_root()\n",
        "h.compute_root().update(0).split(r.y, ro, ri, 4).rfactor({ro: u})"
        ".compute_root().vectorize(i, 8).parallel(u).update(0).parallel(u)\n"}) {
    agree(kHistogram, lines);
  }
}

TEST_CASE("reductions: of equal candidates the first is kept") {
  for (const char *lines :
       {"f.compute_root().update(0).atomic().vectorize(r.x, 8)\n",
        "f.compute_root().update(0).atomic().vectorize(r.x)\n",
        "f.compute_root().update(0).split(r.x, ro, ri, 4).rfactor({ro: u}).compute_root()"
        ".vectorize(x, 8).update(0).vectorize(u)\n"}) {
    agree(kArgmin, lines);
  }
  CHECK(
      run_lines(kArgmin, "f.compute_root().update(0).atomic().parallel(r.x)\n", {{0, 0}, {8, 1}, 0})
          .code == "S0124");
  CHECK(run_lines(
            kArgmin,
            "f.compute_root().update(0).split(r.x, ro, ri, 4).rfactor({ri: u}).compute_root()\n",
            {{0, 0}, {8, 1}, 0})
            .code == "S0122");
}

TEST_CASE("reductions: wrappers and clones of Funcs and inputs") {
  for (const char *lines :
       {"in0.in().compute_at(out, y)\nbx.compute_at(out, y)\n",
        "in0.in(bx).compute_root().vectorize(_0, 8)\nbx.compute_root()\n",
        "bx.in().compute_at(out, yi).vectorize(x, 8)\nbx.compute_root()\nout.split(y, y, yi, 2)\n",
        "bx.clone_in(out).compute_at(out, y)\n",
        "out.tile(x, y, xi, yi, 8, 4)\nlet staged = in0.in()\nstaged.compute_at(out, x).unroll(_1, "
        "2)\n"
        "bx.compute_at(out, yi)\n"}) {
    agree(blur_text(), lines);
  }
}

TEST_CASE("reductions: machine code has dot products and atomic updates") {
  const Target t("x86-64-linux-sse41-avx-f16c-fma-avx2");
  const auto assembly = [&](const std::string &program, const std::string &lines) {
    const ir::Program p = ir::parse_program(program);
    const auto s = schedule::parse_schedule("calotype 1\n" + lines, "test.sched");
    return codegen::compile_object(lower::lower(schedule::apply(p, s, t), t), t, "f",
                                   codegen::ObjectForm::Assembly);
  };
  const std::string dot =
      "program p {\n  param in0: u8[1]\n  param in1: i8[1]\n  func out(x): i32 {\n    out(x) = 0\n"
      "    out(x) = out(x) + i32(@in0(x + r.x)) * i32(@in1(r.x)) for r.x in 0 +: 100\n  }\n"
      "  output out\n}\n";
  CHECK(assembly(dot, "out.update(0).atomic().vectorize(r.x, 32)\n").find("pmaddwd") !=
        std::string::npos);
  for (int lanes : {8, 16, 32, 64, 5}) {
    const CaseResult r =
        run_lines(dot, "out.update(0).atomic().vectorize(r.x, " + std::to_string(lanes) + ")\n",
                  {{-2}, {9}, 0});
    CHECK_MESSAGE(r.kind == CaseResult::Same, r.text);
  }
  CHECK(assembly(kHistogram, "h.compute_root().update(0).atomic().parallel(r.y)\n").find("lock") !=
        std::string::npos);
}
