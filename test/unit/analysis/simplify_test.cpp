// simplify and can_prove: shapes of normal forms, values preserved on random expressions, time on large ones.
#include "analysis/simplify.h"

#include <doctest/doctest.h>

#include <chrono>

#include "helpers.h"
#include "ir/equal.h"
#include "ir/eval.h"

using namespace analysis_test;
namespace an = calotype::analysis;

namespace {

std::string simple(const Expr &e, const an::Facts &facts = {}) {
  return text(an::simplify(e, facts));
}
const E x = var("x"), y = var("y"), z = var("z"), w = var("w");

}  // namespace

TEST_CASE("simplify: sums have one form") {
  CHECK(simple(x + x) == "(x*2)");
  CHECK(simple(x * 3 - x) == "(x*2)");
  CHECK(simple((x + 1) * 4 - x * 4) == "4");
  CHECK(simple(y + x) == simple(x + y));
  CHECK(simple(x - y - x) == "(0 - y)");
  CHECK(simple((y + 3) - (x - 4)) == "((y - x) + 7)");
  CHECK(simple(x * y - y * x) == "0");
  CHECK(simple((x * 2) * (y * 3)) == "((x*y)*6)");
  CHECK(simple(x - 3) == "(x - 3)");
}

TEST_CASE("simplify: division and remainder") {
  CHECK(simple((x * 8 + 3) / 8) == "x");
  CHECK(simple((x * 8 + 3) % 8) == "3");
  CHECK(simple((x * 8 + y) / 4) == "((x*2) + (y/4))");
  CHECK(simple((x * 4 + 3) / 8) == "(x/2)");
  CHECK(simple((x / 4) / 8) == "(x/32)");
  CHECK(simple((x + 7) / 8 - (x - 1) / 8) == "1");
  CHECK(simple((x / 8) * 8 + x % 8) == "x");
  CHECK(simple((x % 16) % 8) == "(x % 8)");
  an::Facts facts;
  facts.ranges.push("y", {true, true, 0, 7});
  CHECK(simple((x * 8 + y) / 8, facts) == "x");
  CHECK(simple((x * 8 + y) % 8, facts) == "y");
  CHECK(simple((x * 8 + y) / 16, facts) == "(x/2)");
  CHECK(simple((x * 8 + y) % 16, facts) == "(y + ((x % 2)*8))");
  facts.alignments.push("z", {8, 0});
  CHECK(simple((z + 3) / 8 - z / 8, facts) == "0");
  CHECK(simple(z % 4, facts) == "0");
}

TEST_CASE("simplify: min and max") {
  CHECK(simple(min(x + 3, x + 5)) == "(x + 3)");
  CHECK(simple(max(x + 3, x + 5)) == "(x + 5)");
  CHECK(simple(min(x + 3, y + 3)) == "(min(x, y) + 3)");
  CHECK(simple(min(x + 3, y + 5) - min(x, y + 2)) == "3");
  CHECK(simple(min(min(x, y), x)) == "min(x, y)");
  CHECK(simple(max(min(x, 3), 5)) == "5");
  CHECK(simple(min(max(x, 3), 5)) == simple(max(min(x, 5), 3)));
  CHECK(simple(min(x, max(x, y))) == "x");
  CHECK(simple(min(x * 8, y * 8)) == "(min(x, y)*8)");
  CHECK(simple(min(x + y, x + z) - x) == "min(y, z)");
  CHECK(simple(min(x, y) + max(x, y)) == "(x + y)");
  CHECK(simple(max(min(max(min(x, 9), 0), 9), 0)) == "max(min(x, 9), 0)");
}

TEST_CASE("simplify: comparisons") {
  CHECK(simple(x + 1 < x + 2) == "true");
  CHECK(simple(x > x + y) == "(y <= -1)");
  CHECK(simple(x * 2 + 1 == y * 2) == "false");
  CHECK(simple(x * 4 <= 15) == "(x <= 3)");
  CHECK(simple(x % 8 < 8) == "true");
  CHECK(simple(!(x < 3)) == simple(x >= 3));
  CHECK(simple(x >= 3 && x >= 5) == simple(x >= 5));
  CHECK(simple(x >= 3 || x >= 5) == simple(x >= 3));
  CHECK(simple(x >= 3 && x < 2) == "false");
  CHECK(simple(min(x, 5) <= 7) == "true");
  CHECK(simple(max(x, 5) <= 7) == simple(x <= 7));
  CHECK(simple(x / 8 <= 3) == simple(x < 32));
}

TEST_CASE("simplify: lets, selects, casts, vectors") {
  E t = var("t");
  auto let = [](const char *n, const E &v, const E &b) { return ir::make_let(n, v, b); };
  CHECK(simple(let("t", y * y, x + 1)) == "(x + 1)");
  CHECK(simple(let("t", x + 1, t - x)) == "1");
  CHECK(simple(let("t", x % 8, select(t < 8, y, z))) == "y");
  CHECK(simple(let("x", y + 1, let("y", E(3), x))) == "(y + 1)");
  CHECK(simple(select(x < y, z, z)) == "z");
  CHECK(simple(ir::make_cast(Int(32), ir::make_cast(Int(16), var("b", UInt(8))))) == "i32(b)");
  CHECK(simple(ir::make_cast(Int(32), var("b", UInt(8))).get()
                   ? E(ir::make_cast(Int(32), var("b", UInt(8)))) < 256
                   : x) == "true");
  CHECK(simple(broadcast(x, 4) + ramp(y, 2, 4)) == "ramp((x + y), 2)x4");
  CHECK(simple(ramp(x, 1, 4) - ramp(x, 1, 4) + broadcast(y, 4)) == "x4(y)");
  CHECK(simple(ramp(x * 8, 1, 8) / broadcast(8, 8)) == "x8(x)");
  CHECK(simple(ramp(x, 1, 4) < broadcast(x + 4, 4)) == "x4(true)");
  CHECK(simple(ramp(x, 1, 4) * broadcast(y, 4)) == "ramp((x*y), y)x4");
  CHECK(simple(ramp(ramp(x, 1, 4), broadcast(4, 4), 2)) == "ramp(x, 1)x8");
}

TEST_CASE("simplify: data may be as large as its type") {
  // The program's own values: nothing may overflow that did not as written.
  E f = ir::make_func_call(Int(32), "f", {}), g = ir::make_func_call(Int(32), "g", {});
  CHECK(simple(max(f, g + 3)) == "max(f(), (g() + 3))");
  CHECK(simple(max(f + 3, g + 3)) == "(max(f(), g()) + 3)");
  CHECK(simple(max(f + 3, g + 5)) == "(max(f(), (g() + 2)) + 3)");
  CHECK(simple(max(f - 3, g + 5)) == "max((f() - 3), (g() + 5))");
  CHECK(simple(f - 3 < g) == "((f() - 3) < g())");
  CHECK(simple(f - 3 < f + g) == simple(g > -3));
  CHECK(simple(f + 3 < 10) == "(f() <= 6)");
  CHECK(simple((f - 1) / 8) == "((f() - 1)/8)");
  CHECK(simple((f - 9) / 8) == "(((f() - 1)/8) - 1)");
  CHECK(simple((f - 5) % 3) == "((f() - 2) % 3)");
  CHECK(simple((f - 5) % 4) == "((f() + 3) % 4)");
  CHECK(simple(min(x - 5, INT32_MAX)) == "(x - 5)");
  CHECK(simple(max(x, INT32_MIN)) == "x");
  CHECK(simple(x <= INT32_MAX) == "true");
  CHECK(simple(min(min(f, g) + 3, x)) == "min(x, (min(f(), g()) + 3))");
  CHECK(simple(ir::make_let("t", f * f, max(g, E(var("t")) + 3))) ==
        "(let t = (f()*f()) in max((t + 3), g()))");
  E small = ir::make_cast(Int(32), ir::make_func_call(UInt(8), "f", {}));
  CHECK(simple(min(small + 3, x)) == "(min(i32(f()), (x - 3)) + 3)");
}

TEST_CASE("can_prove: differences, min and max, facts") {
  CHECK(an::can_prove(min(x, y) <= x));
  CHECK(an::can_prove(x <= max(x, y) + 1));
  CHECK(an::can_prove(min(x * 8 + 7, w - 1) - min(x * 8, w - 8) <= 7));
  CHECK_FALSE(an::can_prove(min(x * 8 + 7, w - 1) - min(x * 8, w - 8) <= 6));
  CHECK(an::can_prove((x / 8) * 8 <= x));
  CHECK(an::can_prove((x / 8) * 8 + 7 >= x));
  CHECK_FALSE(an::can_prove((x / 8) * 8 + 6 >= x));
  an::Facts facts;
  facts.truths = {x >= y, x <= y + z - 1};
  CHECK(an::can_prove(z >= 1, facts));
  CHECK(an::can_prove(x * 2 >= y * 2, facts));
  CHECK_FALSE(an::can_prove(x >= y + 1, facts));
  CHECK(an::can_prove(x >= 4 || x < 4));
  int64_t bound;
  CHECK(an::constant_upper_bound(min(x * 8 + 7, w - 1) - min(x * 8, w - 8) + 1, {}, &bound));
  CHECK(bound == 8);
}

TEST_CASE("simplify preserves values") {
  Generator g(1);
  for (int i = 0; i < 20000; i++) {
    int lanes = i % 4 == 3 ? 4 : 1;
    Expr e = i % 3 ? g.index(4, lanes) : g.condition(3, lanes);
    Expr s = an::simplify(e);
    REQUIRE(s.type() == e.type());
    for (int k = 0; k < 8; k++) {
      Env env = g.env(-20, 20);
      if (lanes_of(e, env) != lanes_of(s, env)) {
        INFO(text(e), "\n-> ", text(s), "\nx=", env["x"], " y=", env["y"], " z=", env["z"]);
        REQUIRE(lanes_of(e, env) == lanes_of(s, env));
      }
    }
  }
}

TEST_CASE("simplify preserves values under facts, and keeps what is simple") {
  Generator g(2);
  for (int i = 0; i < 6000; i++) {
    Expr condition = g.condition(2), e = i % 2 ? g.index(4) : g.condition(3);
    int lo = g.pick(-9, 9), hi = lo + g.pick(0, 9), m = g.pick(1, 4), r = g.pick(0, m - 1);
    an::Facts facts;
    facts.truths.push_back(condition);
    facts.ranges.push("y", {true, true, lo, hi});
    facts.alignments.push("z", {m, r});
    Expr s = an::simplify(e, facts);
    Expr again = an::simplify(s, facts);
    if (!ir::equal(s, again)) {
      INFO(text(e), "\n-> ", text(s), "\n-> ", text(again));
      CHECK(lanes_of(s, {{"x", 1}, {"y", lo}, {"z", r}}) ==
            lanes_of(again, {{"x", 1}, {"y", lo}, {"z", r}}));
    }
    for (int k = 0; k < 10; k++) {
      Env env = g.env(-12, 12);
      env["y"] = g.pick(lo, hi);
      env["z"] = g.pick(-4, 4) * m + r;
      if (!value_of(condition, env)) continue;
      if (value_of(e, env) != value_of(s, env)) {
        INFO(text(e), "\n-> ", text(s), "\ngiven ", text(condition), " y in ", lo, "..", hi, " z%",
             m, "=", r);
        INFO("x=", env["x"], " y=", env["y"], " z=", env["z"]);
        REQUIRE(value_of(e, env) == value_of(s, env));
      }
    }
  }
}

TEST_CASE("simplify overflows nowhere where the program did not") {
  Generator g(6, true);
  int compared = 0;
  for (int i = 0; i < 20000; i++) {
    Expr e = i % 2 ? g.index(3) : g.condition(2);
    Expr s = an::simplify(e);
    for (int k = 0; k < 8; k++) {
      Env env = g.env(-9, 9);
      const char *name = k % 3 == 0 ? "x" : k % 3 == 1 ? "y" : "z";
      env[name] = k % 2 ? INT32_MAX - g.pick(0, 12) : INT32_MIN + int64_t(g.pick(0, 12));
      if (overflows(e, env)) continue;
      compared++;
      ir::EvalContext cx;
      for (auto &[n, v] : env) cx.vars[n] = ir::Value::of_int(Int(32), v);
      auto now = ir::evaluate(s, cx);
      REQUIRE(now);
      if (now->as_int() != value_of(e, env)) {
        INFO(text(e), "\n-> ", text(s), "\nx=", env["x"], " y=", env["y"], " z=", env["z"]);
        REQUIRE(now->as_int() == value_of(e, env));
      }
    }
  }
  MESSAGE(compared, " values compared");
}

TEST_CASE("simplify takes time in proportion") {
  auto start = std::chrono::steady_clock::now();
  E e = x;
  for (int i = 0; i < 40; i++) e = e * e + e;
  CHECK(an::simplify(e).defined());
  E sum = x;
  for (int i = 0; i < 40; i++) sum = sum + sum;
  CHECK(an::simplify(sum).defined());
  E chain = x;
  for (int i = 0; i < 200; i++) chain = min(chain, E(var(("v" + std::to_string(i)).c_str())) + i);
  CHECK(an::simplify(chain).defined());
  E mixed = x;
  for (int i = 0; i < 200; i++) {
    mixed =
        i % 2 ? min(mixed + y, E(var(("v" + std::to_string(i)).c_str()))) : max(mixed, z + i * y);
  }
  CHECK(an::simplify(mixed).defined());
  E both = x < 0;
  for (int i = 0; i < 100; i++)
    both = both || (E(var(("v" + std::to_string(i)).c_str())) < x && y < i * z);
  CHECK(an::simplify(both).defined());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MESSAGE("large expressions: ", seconds, " s");
  CHECK(seconds < 10);
}
