// Operand types, literals and functions of Exprs.
#include <doctest/doctest.h>

#include "support.h"
#include "support/check_diag.h"

using namespace calotype;
using calotype::test::text;

namespace {
Expr of(Type t) { return Expr(ir::make_var("e", t)); }

struct Row {
  Type a, b, sum;
};
}  // namespace

TEST_CASE("expr: two operands take their common type") {
  const Row table[] = {
      {UInt(8), UInt(8), UInt(8)},       {UInt(8), UInt(16), UInt(16)},
      {Int(8), Int(32), Int(32)},        {UInt(8), Int(8), Int(8)},
      {UInt(32), Int(32), Int(32)},      {UInt(64), Int(32), Int(64)},
      {UInt(8), Int(32), Int(32)},       {Int(32), Float(32), Float(32)},
      {UInt(64), Float(32), Float(32)},  {Float(32), Float(64), Float(64)},
      {Bool(), Int(32), Int(32)},        {Bool(), UInt(8), UInt(8)},
      {Float(16), Float(32), Float(32)}, {Float(16), BFloat(16), Float(32)},
  };
  for (const Row &row : table) {
    CAPTURE(to_string(row.a));
    CAPTURE(to_string(row.b));
    CHECK((of(row.a) + of(row.b)).type() == row.sum);
    CHECK((of(row.b) * of(row.a)).type() == row.sum);
    CHECK((of(row.a) < of(row.b)).type() == Bool());
    CHECK(max(of(row.a), of(row.b)).type() == row.sum);
  }
}

TEST_CASE("expr: a C++ number takes the type of the expression beside it") {
  CHECK((of(UInt(8)) + 1).type() == UInt(8));
  CHECK((255 - of(UInt(8))).type() == UInt(8));
  CHECK((of(Int(64)) * 3).type() == Int(64));
  CHECK((of(Float(32)) * 2).type() == Float(32));
  CHECK((of(Float(32)) * 0.5).type() == Float(32));
  CHECK((of(Float(64)) * 0.5f).type() == Float(64));
  CHECK((of(Int(32)) * 0.5f).type() == Float(32));
  CHECK((of(UInt(16)) + uint8_t(7)).type() == UInt(16));
  CHECK((of(Int(32)) + int64_t(7)).type() == Int(32));
  CHECK((of(Int(32)) + size_t(7)).type() == Int(32));
  CHECK(min(of(UInt(8)), 9).type() == UInt(8));
  CHECK(text(of(UInt(8)) + 1) == "e:u8 + 1:u8");
}

TEST_CASE("expr: a C++ number that does not fit is refused") {
  CHECK_DIAG(of(UInt(8)) + 256, "L0104", "256 does not fit the type u8");
  CHECK_DIAG(of(UInt(8)) == -1, "L0104", "-1 does not fit the type u8");
  CHECK_DIAG(of(Int(8)) * 128, "L0104", "128 does not fit the type i8");
  CHECK_DIAG(of(Int(32)) + (int64_t(1) << 40), "L0104", "does not fit the type i32");
  // An Expr that holds a constant has a type of its own: it widens instead.
  CHECK((of(UInt(8)) + Expr(256)).type() == Int(32));
  CHECK((of(UInt(8)) + Expr(255)).type() == UInt(8));
}

TEST_CASE("expr: undefined operands are refused by every kind of operation") {
  const Expr none, one = of(Int(32));
  CHECK_DIAG(none + one, "L0101", "undefined expression used as operand of +");
  CHECK_DIAG(one < none, "L0101", "operand of <");
  CHECK_DIAG(-none, "L0101", "operand of -");
  CHECK_DIAG(~none, "L0101", "operand of ~");
  CHECK_DIAG(!none, "L0101", "operand of !");
  CHECK_DIAG(none >> 2, "L0101", "operand of >>");
  CHECK_DIAG(cast<int>(none), "L0101", "operand of cast");
  CHECK_DIAG(select(none, one, one), "L0101", "condition of select");
  CHECK_DIAG(select(one == 1, one, none), "L0101", "operand of select");
  CHECK_DIAG(sqrt(none), "L0101", "argument of sqrt");
  CHECK_DIAG(clamp(one, none, one), "L0101", "lower end of clamp");
  CHECK_DIAG(abs(none), "L0101", "argument of abs");
}

TEST_CASE("expr: operations refuse types they are not defined for") {
  CHECK_DIAG(of(Float(32)) & of(Float(32)), "L0103", "& is not defined for f32");
  CHECK_DIAG(of(Float(32)) << 2, "L0103", "<< needs integers");
  CHECK_DIAG(of(Int(32)) && of(Int(32)), "L0103", "&& needs boolean operands");
  CHECK_DIAG(!of(Int(32)), "L0103", "! needs a boolean operand");
  CHECK_DIAG(select(of(Int(32)), 1, 2), "L0103", "condition of select is i32");
  CHECK_DIAG(is_nan(of(Int(32))), "L0103", "is_nan");
  CHECK_DIAG(widening_mul(of(Int(64)), of(Int(64))), "L0103", "widening_mul");
  CHECK_DIAG(of(Int(32)) + Expr("text"), "L0102", "have types that nothing converts");
  CHECK_DIAG(reinterpret<float>(of(Int(16))), "L0103", "different numbers of bits");
  CHECK_DIAG(ir::make_broadcast(of(Int(32)), 4) + ir::make_broadcast(of(Int(32)), 8), "L0102",
             "lanes");
}

TEST_CASE("expr: a scalar beside a vector is broadcast") {
  const Expr v = ir::make_broadcast(of(Int(32)), 4);
  CHECK((v + 1).type() == Int(32, 4));
  CHECK((of(Int(32)) * v).type() == Int(32, 4));
}

TEST_CASE("expr: shifts keep the left type and the sign of the amount") {
  CHECK((of(UInt(8)) << 3).type() == UInt(8));
  CHECK((of(Int(16)) >> of(UInt(32))).type() == Int(16));
  const Expr shifted = of(Int(16)) >> of(UInt(32));
  const ir::Call *c = shifted.as<ir::Call>();
  REQUIRE(c);
  CHECK(c->args[1].type() == UInt(16));
}

TEST_CASE("expr: functions have the types they promise") {
  CHECK(abs(of(Int(16))).type() == UInt(16));
  CHECK(abs(of(UInt(16))).same_as(of(UInt(16))) == false);
  CHECK(abs(of(Float(32))).type() == Float(32));
  CHECK(absd(of(Int(8)), of(Int(8))).type() == UInt(8));
  CHECK(sqrt(of(Int(32))).type() == Float(32));
  CHECK(sin(of(Float(64))).type() == Float(64));
  CHECK(floor(of(UInt(8))).type() == Float(32));
  CHECK(pow(of(Float(64)), of(Int(32))).type() == Float(64));
  CHECK(atan2(of(Float(32)), 1).type() == Float(32));
  CHECK(widening_add(of(UInt(8)), of(UInt(8))).type() == UInt(16));
  CHECK(widening_sub(of(UInt(8)), of(UInt(8))).type() == Int(16));
  CHECK(widening_mul(of(UInt(8)), of(Int(8))).type() == Int(16));
  CHECK(saturating_add(of(UInt(8)), 200).type() == UInt(8));
  CHECK(halving_add(of(Int(16)), of(Int(16))).type() == Int(16));
  CHECK(mul_shift_right(of(Int(16)), of(Int(16)), 15).type() == Int(16));
  CHECK(saturating_cast<uint8_t>(of(Int(32))).type() == UInt(8));
  CHECK(popcount(of(UInt(32))).type() == UInt(32));
  CHECK(is_nan(of(Float(32))).type() == Bool());
  CHECK(lerp(of(UInt(8)), of(UInt(8)), of(UInt(8))).type() == UInt(8));
  CHECK(random_float().type() == Float(32));
  CHECK(random_uint().type() == UInt(32));
  CHECK(undef<uint16_t>().type() == UInt(16));
  CHECK(ConciseCasts::u8_sat(of(Int(32))).type() == UInt(8));
}

TEST_CASE("expr: whole powers become multiplications") {
  const Expr x = of(Float(32));
  CHECK(text(pow(x, 2)) == "e:f32*e:f32");
  CHECK(text(pow(x, 3.0f)) == "e:f32*e:f32*e:f32");
  CHECK(text(pow(x, 0)) == "1.0f");
  CHECK(text(pow(x, -2)) == "1.0f/(e:f32*e:f32)");
  CHECK(ir::as_intrinsic(pow(x, 0.5f), ir::Intrinsic::pow));
  CHECK(ir::as_intrinsic(pow(x, 17), ir::Intrinsic::pow));
}

TEST_CASE("expr: clamp is max of min, so that a NaN stays") {
  CHECK(text(clamp(of(Float(32)), 0, 1)) == "max(0.0f, min(1.0f, e:f32))");
  CHECK(clamp(of(UInt(8)), 1, 200).type() == UInt(8));
  CHECK_DIAG(clamp(of(UInt(8)), -1, 200), "L0104", "-1 does not fit");
}

TEST_CASE("expr: select takes many conditions, Tuples and a last value") {
  const Expr x = of(Int(32));
  CHECK(text(select(x == 0, 1, x == 1, 2, 3)) == "select(e == 0, 1, select(e == 1, 2, 3))");
  const Tuple t = select(x > 0, Tuple(x, 1.0f), Tuple(0, 2.0f));
  CHECK(t.size() == 2);
  CHECK(t[1].type() == Float(32));
  const Tuple many = select(x == 0, Tuple(x, x), x == 1, Tuple(x, 2), Tuple(3, 4));
  CHECK(text(many[1]) == "select(e == 0, e, select(e == 1, 2, 4))");
  CHECK_DIAG(lang::select_list({x > 0, x, x > 1, x}), "L0105", "condition without a value");
  CHECK_DIAG(select(x > 0, Tuple(x, x), Tuple(x)), "L0208", "Tuples of 2 and 1");
  CHECK(text(mux(x, {10, 20, 30})) == "select(e == 0, 10, select(e == 1, 20, 30))");
  CHECK_DIAG(mux(x, std::vector<Expr>()), "L0105", "mux of no values");
}

TEST_CASE("expr: assignment operators keep the type") {
  Expr e = of(UInt(8));
  e += of(Int(32));
  CHECK(e.type() == UInt(8));
  e *= 2;
  CHECK(e.type() == UInt(8));
}
