// Sums of products of narrow integers, two steps at once (pair_products): the instruction, and the interpreter's bits.
#include <doctest/doctest.h>

#include "codegen/object.h"
#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {

// out(x, y) = sum over 21 terms of a(k, y) * b(x, k), in 32 bits.
std::string product(const std::string &a, const std::string &b, const std::string &sum = "i32") {
  return "program p {\n  param a: " + a + "[2]\n  param b: " + b + "[2]\n  func out(x, y): " + sum +
         " {\n    out(x, y) = 0:" + sum + "\n    out(x, y) = out(x, y) + " + sum +
         "(@a(k.x, y)) * " + sum + "(@b(x, k.x)) for k.x in 0 +: 21\n  }\n  output out\n}\n";
}

const char *const kPairs =
    "out.update(0).split(k.x, k, kp, 2).split(x, x, xi, 16).split(y, y, yi, 3)"
    ".reorder(kp, xi, yi, k, x, y).vectorize(xi, 8).unroll(xi).unroll(yi).unroll(kp)\n";

std::string assembly(const std::string &program, const std::string &lines,
                     const std::string &target) {
  const Target t(target);
  const ir::Program p = ir::parse_program(program);
  const auto s = schedule::parse_schedule("calotype 1\n" + lines, "test.sched");
  return codegen::compile_object(lower::lower(schedule::apply(p, s, t), t), t, "f",
                                 codegen::ObjectForm::Assembly);
}

int count(const std::string &text, const std::string &what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
  return n;
}

}  // namespace

TEST_CASE("pair_products: every type that fits 16 bits, at every size") {
  for (const char *a : {"i8", "u8", "i16"}) {
    for (const char *b : {"i8", "u8", "i16"}) {
      CHECK(first_difference(product(a, b), kPairs, 33, 4, -2) == "");
    }
  }
  CHECK(first_difference(product("i16", "u8", "u32"), kPairs, 19) == "");
  CHECK(first_difference(product("u16", "i8"), kPairs, 19) == "");  // does not fit
}

TEST_CASE("pair_products: one instruction for two steps of eight elements") {
  const char *const avx2 = "x86-64-linux-avx-avx2-f16c-fma-sse41";
  const std::string text = assembly(product("i16", "i16"), kPairs, avx2);
  CHECK(count(text, "vpmaddwd") >= 6);
  CHECK(count(assembly(product("u16", "i16"), kPairs, avx2), "vpmaddwd") == 0);
  CHECK(count(assembly(product("i8", "i8"), kPairs, "x86-64-linux-sse41"), "pmaddwd") >= 6);
  // Where one instruction also adds to the sum, it does.
  const std::string vnni = assembly(product("i16", "i16"), kPairs,
                                    "x86-64-linux-avx-avx2-avx512-avx512_skylake-avx512_cannonlake-"
                                    "avx512_zen4-f16c-fma-sse41");
  CHECK(count(vnni, "vpdpwssd") >= 6);
}
