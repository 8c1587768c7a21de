// Numbers of schedules.
#include <doctest/doctest.h>

#include "programs.h"
#include "run.h"
#include "schedule/value.h"
#include "schedule/value_text.h"

using namespace calotype;
using namespace calotype::test;

TEST_CASE("value: constants fold with the language's division") {
  int64_t v = 0;
  CHECK(schedule::constant_value(ir::make_div(num(-7), num(2)), &v));
  CHECK(v == -4);
  CHECK(schedule::constant_value(ir::make_mod(num(-7), num(2)), &v));
  CHECK(v == 1);
  CHECK(schedule::constant_value(ir::make_div(num(7), num(0)), &v));
  CHECK(v == 0);
  CHECK(schedule::constant_value(ir::make_div(num(-7), num(-2)), &v));
  CHECK(v == 4);
  CHECK_FALSE(schedule::constant_value(var("x"), &v));
  CHECK_FALSE(schedule::constant_value(ir::make_add(num(INT32_MAX), num(1)), &v));
}

TEST_CASE("value: names are lets, parameters, buffer fields or vec") {
  const auto p = ProgramBuilder("p").param("n", UInt(8)).func("f", {"x"}, var("x")).build();
  const Target target = test_target();
  const ir::Substitution lets{{"m", num(5)}};
  const schedule::ValueScope scope{p, target, lets};
  Diagnostic why;
  CHECK(ir::is_const_value(schedule::resolve_value(var("m") + num(1), scope, {}, &why), 6));
  CHECK(
      ir::is_const_value(schedule::resolve_value(schedule::vec_of(Float(32)), scope, {}, &why), 8));
  const Expr n = schedule::resolve_value(var("n") + num(1), scope, {}, &why);
  REQUIRE(n.defined());
  CHECK(n.type() == Int(32));
  CHECK_FALSE(schedule::resolve_value(var("nn"), scope, {}, &why).defined());
  CHECK(why.code == "S0103");
  CHECK_FALSE(schedule::resolve_value(call("f", {num(1)}), scope, {}, &why).defined());
}

TEST_CASE("value: text keeps the structure with few parentheses") {
  using schedule::value_text;
  using schedule::ValueStyle;
  const Expr a = var("a"), b = var("b");
  CHECK(value_text(ir::make_mul(a + b, num(2)), ValueStyle::Schedule) == "(a + b) * 2");
  CHECK(value_text(a - (b - num(1)), ValueStyle::Schedule) == "a - (b - 1)");
  CHECK(value_text(a - b - num(1), ValueStyle::Schedule) == "a - b - 1");
  CHECK(value_text(schedule::buffer_field("in", "extent", 1), ValueStyle::Schedule) ==
        "in.extent(1)");
  CHECK(value_text(schedule::buffer_field("in", "extent", 1), ValueStyle::Cpp) ==
        "in.dim(1).extent()");
  CHECK(value_text(schedule::vec_of(UInt(16)), ValueStyle::Cpp) ==
        "get_target().natural_vector_size(UInt(16))");
}
