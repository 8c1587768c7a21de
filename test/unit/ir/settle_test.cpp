// Settling: which operations fuse and merge, and which must not.
#include "ir/settle.h"

#include <doctest/doctest.h>

#include <cmath>

#include "ir/equal.h"
#include "unit/ir/batch_function.h"

namespace calotype::test {
namespace {

using namespace ir;

const Type kFloat = Float(32);
Expr v(const char *name, Type t = kFloat) { return make_var(name, t); }
Expr c(double x, Type t = kFloat) { return make_float(t, x); }
Expr fma(const Expr &a, const Expr &b, const Expr &d) {
  return make_intrinsic(d.type(), Intrinsic::fma, {a, b, d});
}

}  // namespace

TEST_CASE("settle: a product added or subtracted fuses, the left one of two") {
  const Expr ab = make_mul(v("a"), v("b")), cd = make_mul(v("c"), v("d"));
  CHECK(equal(settle(make_add(ab, v("c")), true), fma(v("a"), v("b"), v("c"))));
  CHECK(equal(settle(make_add(v("c"), ab), true), fma(v("a"), v("b"), v("c"))));
  CHECK(equal(settle(make_add(ab, cd), true), fma(v("a"), v("b"), cd)));
  CHECK(equal(settle(make_sub(ab, v("c")), true), fma(v("a"), v("b"), make_mul(v("c"), c(-1)))));
  CHECK(equal(settle(make_sub(ab, c(2)), true), fma(v("a"), v("b"), c(-2))));
  CHECK(equal(settle(make_sub(v("c"), ab), true), fma(make_mul(v("a"), c(-1)), v("b"), v("c"))));
  CHECK(equal(settle(make_sub(v("c"), make_mul(v("a"), c(3))), true), fma(v("a"), c(-3), v("c"))));
}

TEST_CASE("settle: without fused multiply-add products stay, constants still merge") {
  const Expr e = make_add(make_mul(make_mul(v("a"), c(2)), c(3)), v("b"));
  CHECK(equal(settle(e, false), make_add(make_mul(v("a"), c(6)), v("b"))));
}

TEST_CASE("settle: division by a constant multiplies by the rounded reciprocal") {
  CHECK(equal(settle(make_div(v("a"), c(3)), true), make_mul(v("a"), c(1.0f / 3.0f))));
  CHECK(equal(settle(make_div(v("a", Float(64)), c(3, Float(64))), true),
              make_mul(v("a", Float(64)), c(1.0 / 3.0, Float(64)))));
  CHECK(
      equal(settle(make_add(make_div(v("a"), c(4)), v("b")), true), fma(v("a"), c(0.25), v("b"))));
  // No usable reciprocal: 0, infinity, and 1/x that would be denormal.
  for (const double d : {0.0, HUGE_VAL, 3e38, 1e-42}) {
    const Expr e = make_div(v("a"), c(d));
    CHECK(equal(settle(e, true), e));
  }
  const Expr one_over = make_div(c(3), v("a"));
  CHECK(equal(settle(one_over, true), one_over));
}

TEST_CASE("settle: constants of one chain of multiplications merge, factors keep their order") {
  const Expr chain = make_mul(make_mul(make_mul(c(2), v("a")), v("b")), make_mul(v("d"), c(8)));
  CHECK(equal(settle(chain, true), make_mul(make_mul(make_mul(v("a"), v("b")), v("d")), c(16))));
  CHECK(equal(settle(make_div(make_mul(v("a"), c(10)), c(5)), true),
              make_mul(v("a"), c(10 * (1.0f / 5.0f)))));
  const Expr huge = make_mul(make_mul(v("a"), c(1e30)), c(1e30));  // a may be 1e-35
  CHECK(equal(settle(huge, true), huge));
  const Expr through_sum = make_mul(make_mul(make_add(v("a"), v("b")), c(2)), c(4));
  CHECK(equal(settle(through_sum, true), make_mul(make_add(v("a"), v("b")), c(8))));
}

TEST_CASE("settle: strict_float, half floats and integers are left alone") {
  const Expr e = make_add(make_mul(v("a"), v("b")), make_div(v("c"), c(3)));
  const Expr strict = make_intrinsic(kFloat, Intrinsic::strict_float, {e});
  CHECK(settle(strict, true).same_as(strict));
  const Expr outside = make_add(strict, make_mul(v("a"), v("b")));
  CHECK(equal(settle(outside, true), fma(v("a"), v("b"), strict)));
  for (const Type t : {Float(16), BFloat(16), Int(32)}) {
    const Expr a = v("a", t), three = make_const(t, 3);
    const Expr half = make_add(make_mul(make_mul(a, three), three), make_div(a, three));
    CHECK(settle(half, true).same_as(half));
  }
}

TEST_CASE("settle: reaches into selects, calls and casts") {
  const Expr e = make_add(make_mul(v("a"), v("b")), v("c")), f = fma(v("a"), v("b"), v("c"));
  const Expr cond = make_lt(v("a"), v("b"));
  CHECK(equal(settle(make_select(cond, e, v("c")), true), make_select(cond, f, v("c"))));
  CHECK(equal(settle(make_cast(Int(32), e), true), make_cast(Int(32), f)));
  CHECK(equal(settle(make_intrinsic(kFloat, Intrinsic::sqrt, {e}), true),
              make_intrinsic(kFloat, Intrinsic::sqrt, {f})));
}

TEST_CASE("settle: f += a * b fuses the product into the self call") {
  Function fn;
  fn.name = "f";
  fn.args = {"x"};
  fn.types = {kFloat};
  const Expr self = make_func_call(kFloat, "f", {v("x", Int(32))});
  Definition pure, update;
  pure.args = update.args = {v("x", Int(32))};
  pure.values = {c(0)};
  update.values = {make_add(self, make_mul(v("a"), v("b")))};
  fn.definitions = {pure, update};
  settle(fn, true);
  CHECK(equal(fn.definitions[1].values[0], fma(v("a"), v("b"), self)));
}

TEST_CASE("settle: shared products of many levels take linear time") {
  Expr x = make_mul(v("a"), c(1.5));
  for (int i = 0; i < 200; i++) x = make_mul(x, x);  // 2^200 factors as a tree
  CHECK(settle(x, true).type() == kFloat);
}

TEST_CASE("settle: a settled difference keeps the value of the fused form") {
  const Expr e = settle(make_sub(v("z"), make_mul(v("x"), v("y"))), true);
  BatchFunction f(e, {kFloat, kFloat, kFloat});
  const std::vector<float> x = {1.0000001f, 3, 0}, y = {1.0000001f, 5, 2}, z = {1, 15, -0.0f};
  const std::vector<float> got = f.operator()<float>(x, y, z);
  for (size_t i = 0; i < x.size(); i++)
    CHECK(bit_copy<uint32_t>(got[i]) == bit_copy<uint32_t>(std::fma(-x[i], y[i], z[i])));
}

}  // namespace calotype::test
