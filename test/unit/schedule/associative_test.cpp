// Which updates are proved to be reductions, and what stands in the way of the others.
#include <doctest/doctest.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "schedule/associative.h"

using namespace calotype;
using schedule::Combine;
using schedule::prove_reduction;
using schedule::Reduction;

namespace {

Reduction proved(const std::string &type, const std::string &init, const std::string &value) {
  const std::string text = "program p {\n  param in0: " + type + "[1]\n  func f(x): " + type +
                           " {\n    f(x) = " + init + "\n    f(x) = " + value +
                           " for r.x in 0 +: 7\n  }\n  output f\n}\n";
  return prove_reduction(*ir::parse_program(text).find("f"), 1);
}
Combine op(const std::string &type, const std::string &value) {
  const Reduction r = proved(type, "0:" + type, value);
  CAPTURE(r.because);
  CHECK(r.proved);
  return r.proved ? r.ops[0] : Combine::None;
}
std::string why(const std::string &type, const std::string &value) {
  const Reduction r = proved(type, "0:" + type, value);
  CHECK_FALSE(r.proved);
  return r.because;
}
bool has(const std::string &text, const std::string &part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

Reduction proved_tuple(const std::string &definitions) {
  const std::string text =
      "program p {\n  param in0: i32[1]\n  param in1: i32[1]\n" + definitions + "  output f\n}\n";
  return prove_reduction(*ir::parse_program(text).find("f"), 1);
}

}  // namespace

TEST_CASE("associative: the table of operations") {
  CHECK(op("i32", "f(x) + @in0(x + r.x)") == Combine::Add);
  CHECK(op("i32", "@in0(x + r.x) + f(x)") == Combine::Add);
  CHECK(op("i32", "f(x) - @in0(x + r.x)") == Combine::Add);
  CHECK(op("i32", "(f(x) + @in0(x + r.x)) + 3") == Combine::Add);
  CHECK(op("u8", "f(x) * @in0(x + r.x)") == Combine::Mul);
  CHECK(op("u16", "min(f(x), @in0(x + r.x))") == Combine::Min);
  CHECK(op("i8", "max(@in0(x + r.x), f(x))") == Combine::Max);
  CHECK(op("i32", "select(@in0(x + r.x) > 3, f(x) + 1, f(x))") == Combine::Add);
  CHECK(op("u8", "u8(i32(f(x)) + 3)") == Combine::Add);
  CHECK(op("i32", "f(x)") == Combine::Keep);
}

TEST_CASE("associative: what stands in the way is named") {
  CHECK(has(why("i32", "@in0(x + r.x)"), "the last iteration wins"));
  CHECK(has(why("i32", "@in0(x + r.x) - f(x)"), "uses the old value where"));
  CHECK(has(why("i32", "f(x) + f(x)"), "twice"));
  CHECK(has(why("i32", "(f(x) + 1) * 2"), "mixes product and sum"));
  CHECK(has(why("i32", "f(x) * 2 + 1"), "mixes sum and product"));
  CHECK(has(why("i32", "f(x) / 2"), "is no sum, product"));
  CHECK(has(why("i32", "f(x + 1) + 1"), "not the element it writes"));
  CHECK(has(why("i32", "select(f(x) > 3, f(x) + 1, f(x))"), "decides by the old value"));
  CHECK(has(why("f32", "f32(i32(f(x)) + 1)"), "rounds or narrows"));
}

TEST_CASE("associative: floats round by order, integers do not") {
  CHECK(proved("i32", "0", "f(x) + 1").exact);
  const Reduction f = proved("f32", "0.0f", "f(x) + @in0(r.x)");
  CHECK(f.proved);
  CHECK_FALSE(f.exact);
  CHECK(ir::to_string(f.identity[0]) == ir::to_string(ir::make_float(Float(32), -0.0)));
}

TEST_CASE("associative: Tuples") {
  const Reduction two = proved_tuple(
      "  func f(x): {i32, i32} {\n    f(x) = {0, 1}\n"
      "    f(x) = {f(x) + @in0(r.x), f(x).1 * @in1(r.x)} for r.x in 0 +: 7\n  }\n");
  CAPTURE(two.because);
  REQUIRE(two.proved);
  CHECK(two.ops[0] == Combine::Add);
  CHECK(two.ops[1] == Combine::Mul);
  const Reduction best = proved_tuple(
      "  func f(x): {i32, i32} {\n    f(x) = {0, 2147483647}\n"
      "    f(x) = {select(@in0(r.x) < f(x).1, r.x, f(x)), select(@in0(r.x) < f(x).1, @in0(r.x), "
      "f(x).1)} for r.x in 0 +: 7\n  }\n");
  CAPTURE(best.because);
  REQUIRE(best.proved);
  CHECK_FALSE(best.commutative);
  const Reduction complex = proved_tuple(
      "  func f(x): {i32, i32} {\n    f(x) = {1, 0}\n"
      "    f(x) = {f(x) * @in0(r.x) - f(x).1 * @in1(r.x), f(x) * @in1(r.x) + f(x).1 * "
      "@in0(r.x)} for r.x in 0 +: 7\n  }\n");
  CAPTURE(complex.because);
  REQUIRE(complex.proved);
  CHECK(complex.commutative);
  CHECK(ir::is_const_one(complex.identity[0]));
  CHECK(ir::is_const_zero(complex.identity[1]));
  const Reduction swapped = proved_tuple(
      "  func f(x): {i32, i32} {\n    f(x) = {1, 0}\n"
      "    f(x) = {f(x).1 + @in0(r.x), f(x)} for r.x in 0 +: 7\n  }\n");
  CHECK_FALSE(swapped.proved);
}
