// Which updates may change their order.
#include <doctest/doctest.h>

#include "programs.h"
#include "schedule/order.h"

using namespace calotype;
using namespace calotype::test;
using schedule::order_facts;

namespace {
ir::Program updated(const std::vector<Expr> &args, const Expr &value, Type t = Int(32)) {
  return ProgramBuilder("p")
      .func("f", {"x", "y"}, ir::make_zero(t))
      .update(args, value, {{"r.x", num(4)}, {"r.y", num(5)}})
      .build();
}
Expr f_at(const Expr &a, const Expr &b, Type t = Int(32)) { return call("f", {a, b}, t); }
}  // namespace

TEST_CASE("order: an integer sum commutes, its pure variables are free, its RVars are not") {
  const auto p = updated({var("x"), var("y")}, f_at(var("x"), var("y")) + var("r.x"));
  const auto facts = order_facts(*p.find("f"), 1);
  CHECK(facts.commutative);
  CHECK(facts.is_free({"x", "y"}));
  CHECK_FALSE(facts.is_free({"r.x"}));
}

TEST_CASE("order: a float sum does not commute") {
  const auto p =
      updated({var("x"), var("y")},
              f_at(var("x"), var("y"), Float(32)) + ir::make_float(Float(32), 1), Float(32));
  const auto facts = order_facts(*p.find("f"), 1);
  CHECK_FALSE(facts.commutative);
  CHECK(facts.ordered_because.find("f32") != std::string::npos);
}

TEST_CASE("order: g - f does not commute, f - g does") {
  const Expr self = f_at(var("x"), var("y"));
  CHECK(order_facts(*updated({var("x"), var("y")}, self - var("r.x")).find("f"), 1).commutative);
  CHECK_FALSE(
      order_facts(*updated({var("x"), var("y")}, var("r.x") - self).find("f"), 1).commutative);
}

TEST_CASE("order: f + f reads itself in the summand") {
  const Expr self = f_at(var("x"), var("y"));
  CHECK_FALSE(order_facts(*updated({var("x"), var("y")}, self + self).find("f"), 1).commutative);
}

TEST_CASE("order: a plain store without a self read does not commute") {
  CHECK_FALSE(order_facts(*updated({var("x"), var("y")}, var("r.x")).find("f"), 1).commutative);
}

TEST_CASE("order: an RVar that is an index everywhere keeps iterations apart") {
  const auto p = updated({var("r.x"), var("r.y")}, f_at(var("r.x"), var("r.y") - num(1)));
  const auto facts = order_facts(*p.find("f"), 1);
  CHECK(facts.is_free({"r.x"}));
  CHECK_FALSE(facts.is_free({"r.y"}));  // read at r.y - 1
}

TEST_CASE("order: a shifted RVar is free, a scaled or data-dependent one is not proved") {
  CHECK(
      order_facts(*updated({var("r.x") + num(2), var("y")}, num(1)).find("f"), 1).is_free({"r.x"}));
  CHECK_FALSE(
      order_facts(*updated({ir::make_div(var("r.x"), num(2)), var("y")}, num(1)).find("f"), 1)
          .is_free({"r.x"}));
  CHECK_FALSE(order_facts(*updated({var("r.x") + var("r.y"), var("y")}, num(1)).find("f"), 1)
                  .is_free({"r.x"}));
}

TEST_CASE("order: a pure variable read elsewhere is not free") {
  const auto p = updated({var("x"), var("y")}, f_at(var("x") - num(1), var("y")));
  CHECK_FALSE(order_facts(*p.find("f"), 1).is_free({"x"}));
  CHECK(order_facts(*p.find("f"), 1).is_free({"y"}));
}

TEST_CASE("order: a histogram commutes though it names no element") {
  const Expr bin = call("g", {var("r.x"), var("r.y")});
  const auto p = ProgramBuilder("h")
                     .func("g", {"x", "y"}, var("x"))
                     .func("f", {"x", "y"}, num(0))
                     .update({bin, num(0)}, call("f", {bin, num(0)}) + num(1),
                             {{"r.x", num(4)}, {"r.y", num(5)}})
                     .build();
  CHECK(order_facts(*p.find("f"), 1).commutative);
}
