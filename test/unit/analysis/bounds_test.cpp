// bounds_of_expr and regions: exact where the header promises it, sound on random expressions.
#include "analysis/bounds.h"

#include <doctest/doctest.h>

#include <chrono>

#include "analysis/linear.h"
#include "analysis/simplify.h"
#include "helpers.h"

using namespace analysis_test;
namespace an = calotype::analysis;

namespace {

const E x = var("x"), y = var("y"), z = var("z"), w = var("w"), a = var("a"), b = var("b");

std::string text(const an::Interval &i) {
  return (i.has_lower() ? analysis_test::text(i.min) : "-inf") + " .. " +
         (i.has_upper() ? analysis_test::text(i.max) : "inf");
}
/// Bounds with x in a..b and y in 0..7.
std::string bounds(const Expr &e) {
  ir::Scope<an::Interval> scope;
  scope.push("x", {a, b, {}});
  scope.push("y", {num(0), num(7), {}});
  return text(an::bounds_of_expr(e, scope));
}
Expr call(const char *f, std::vector<Expr> args, Type t = Int(32)) {
  return ir::make_func_call(t, f, std::move(args));
}
ir::Stmt store(const char *f, std::vector<Expr> args, const E &value = 0) {
  return ir::make_provide(f, {value}, std::move(args));
}
ir::Stmt loop(const char *v, const E &min, const E &extent, ir::Stmt body) {
  return ir::make_for(v, min, extent, ir::ForType::Serial, std::move(body));
}

}  // namespace

TEST_CASE("bounds: tight where promised") {
  CHECK(bounds(x) == "a .. b");
  CHECK(bounds(x * 3 - y * 2 + z) == "(((a*3) + z) - 14) .. ((b*3) + z)");
  CHECK(bounds(x - x) == "0 .. 0");
  CHECK(bounds(clamp(x - 1, 0, w - 1)) == "(max(min(a, w), 1) - 1) .. (max(min(b, w), 1) - 1)");
  CHECK(bounds((x / 2) * 2) == "((a/2)*2) .. ((b/2)*2)");
  CHECK(bounds((x * 3) / 2 + 1) == "((a + (a/2)) + 1) .. ((b + (b/2)) + 1)");
  CHECK(bounds(x % 4) == "0 .. 3");
  CHECK(bounds(y % 16) == "0 .. 7");
  CHECK(bounds((y + 32) % 16) == "0 .. 7");
  CHECK(bounds(select(y < 3, y, E(0))) == "0 .. 2");
  CHECK(bounds(select(y < 3, y, E(10) - y)) == "0 .. 7");
  CHECK(bounds(y - min(y, 3)) == "0 .. 4");
  CHECK(bounds(x - (x / 8) * 8) == "0 .. 7");
  CHECK(bounds(y * y) == "0 .. 49");
  CHECK(bounds(ir::make_cast(Int(32), call("f", {x}, UInt(8)))) == "0 .. 255");
  CHECK(bounds(x + ir::make_cast(Int(32), call("f", {x}, Int(8)))) == "(a - 128) .. (b + 127)");
  CHECK(bounds(call("f", {x})) == "-inf .. inf");
  CHECK(bounds(clamp(call("f", {x}), 0, 9)) == "0 .. 9");
  CHECK(bounds(min(call("f", {x}), x)) == "-inf .. b");
  CHECK(bounds(ramp(x, 2, 4)) == "a .. (b + 6)");
  CHECK(bounds(ramp(x, 1, 4) - ramp(x, 1, 4) + broadcast(y, 4)) == "0 .. 7");
  CHECK(bounds(min(ramp(y * 4, 1, 4), broadcast(z, 4))) == "min(z, 0) .. min(z, 31)");
  CHECK(bounds(ir::make_let("t", x * 2, E(var("t")) + var("t"))) == "(a*4) .. (b*4)");
  CHECK(bounds(ir::make_cast(UInt(8), y)) == "0u .. 7u");
  CHECK(bounds(ir::make_cast(UInt(8), x)) == "0u .. 255u");
  an::Interval i = an::bounds_of_expr(call("f", {x}), {});
  CHECK(!i.has_lower());  // memory may change: a value in it is no symbol of a region
  CHECK(!i.has_upper());
  ir::Scope<an::Interval> scope;
  scope.push("x", {a, b, {}});
  CHECK(an::bounds_of_expr(call("f", {x}), scope).unbounded_because.find("f(...)") !=
        std::string::npos);
}

TEST_CASE("bounds: an index computed in floats") {
  Expr f = call("f", {x}, calotype::Float(32));
  Expr zero = ir::make_float(calotype::Float(32), 0), one = ir::make_float(calotype::Float(32), 1);
  Expr value = ir::make_max(ir::make_min(f, one), zero);
  Expr index = ir::make_cast(
      Int(32), ir::make_add(ir::make_mul(value, ir::make_float(calotype::Float(32), 8)),
                            ir::make_float(calotype::Float(32), 0.5)));
  ir::Scope<an::Interval> scope;
  scope.push("x", {a, b, {}});
  an::Interval i = an::bounds_of_expr(index, scope);
  CHECK(i.bounded());
  CHECK_FALSE(an::bounds_of_expr(ir::make_cast(Int(32), f), scope).bounded());
  // clamp() lets NaN through; its cast is 0.
  index =
      ir::make_cast(Int(32), ir::make_max(ir::make_float(calotype::Float(32), 2),
                                          ir::make_min(ir::make_float(calotype::Float(32), 9), f)));
  CHECK(text(an::bounds_of_expr(index, scope)) == "0 .. 9");
}

TEST_CASE("regions: loops, lets, conditions") {
  // A stencil in a tile.
  auto touched = [](const ir::Stmt &s, const char *f) {
    std::string r;
    for (const an::Interval &i : an::region_touched(s, f, {})) r += "[" + text(i) + "]";
    return r;
  };
  E sum = E(call("f", {x - 1, y})) + call("f", {x + 1, y}) + call("f", {x, y + 1});
  ir::Stmt tile = loop("y", w, 8, loop("x", z * 16, 16, store("g", {x, y}, sum)));
  CHECK(touched(tile, "f") == "[((z*16) - 1) .. ((z*16) + 16)][w .. (w + 8)]");
  CHECK(touched(tile, "g") == "[(z*16) .. ((z*16) + 15)][w .. (w + 7)]");
  // The inner loop depends on the outer one, and the access undoes it.
  ir::Stmt split = loop("y", 0, w, loop("x", y * 8, 8, store("g", {x - y * 8, x})));
  CHECK(touched(split, "g") == "[0 .. 7][0 .. ((w*8) - 1)]");
  ir::Stmt let = ir::make_let_stmt(
      "t", y * 2,
      ir::make_let_stmt("u", E(var("t")) + x, store("g", {var("u"), E(var("u")) - var("t")})));
  CHECK(touched(loop("y", 0, 4, loop("x", 0, w, let)), "g") == "[0 .. (w + 5)][0 .. (w - 1)]");
  ir::Stmt guarded =
      loop("x", 0, w, ir::make_if(x < 5 && x >= z, store("g", {x}), store("g", {E(100)})));
  CHECK(touched(guarded, "g") == "[max(min(z, 100), 0) .. 100]");
  ir::Stmt half = loop("x", 0, 10, ir::make_if(x < 5, store("g", {x})));
  CHECK(touched(half, "g") == "[0 .. 4]");
  ir::Stmt masked = loop("x", 0, 10, ir::make_provide("g", {call("f", {x + 1})}, {x}, x >= 3));
  CHECK(touched(masked, "g") == "[3 .. 9]");
  CHECK(touched(masked, "f") == "[4 .. 10]");
  // Both sides of a select are evaluated; only one of an if_then_else.
  Expr chosen = select(x < 5, call("f", {x}), E(0));
  CHECK(touched(loop("x", 0, 10, store("g", {x}, chosen)), "f") == "[0 .. 9]");
  Expr guarded_read =
      ir::make_intrinsic(Int(32), ir::Intrinsic::if_then_else, {x < 5, call("f", {x}), num(0)});
  CHECK(touched(loop("x", 0, 10, store("g", {x}, guarded_read)), "f") == "[0 .. 4]");
  // Ends may use the name of the variable itself.
  ir::Scope<an::Interval> scope;
  scope.push("x", {x, x + 7, {}});
  auto boxes = an::regions_read(call("f", {x * 2}), scope);
  CHECK(text(boxes["f"][0]) == "(x*2) .. ((x*2) + 14)");
}

TEST_CASE("regions take time in proportion") {
  auto start = std::chrono::steady_clock::now();
  // A 15 x 15 stencil at the bottom of split loops.
  E u = E(var("xo")) * 32 + var("xi"), v = E(var("yo")) * 16 + var("yi"), sum = 0;
  for (int i = -7; i <= 7; i++) {
    for (int j = -7; j <= 7; j++)
      sum = sum + call("f", {clamp(u + i, 0, w - 1), clamp(v + j, 0, z - 1)});
  }
  ir::Stmt s = loop("xi", 0, 32, store("g", {u, v}, sum));
  s = loop("yo", 0, (z + 15) / 16, loop("xo", 0, (w + 31) / 32, loop("yi", 0, 16, s)));
  auto boxes = an::regions_touched(s, {});
  CHECK(boxes["f"][0].bounded());
  CHECK(boxes["g"].size() == 2);
  // Each let uses the one before twice.
  ir::Stmt lets = store("g", {var("t60")});
  for (int i = 60; i > 0; i--) {
    std::string name = "t" + std::to_string(i), before = i > 1 ? "t" + std::to_string(i - 1) : "x";
    E t = var(before.c_str());
    lets = ir::make_let_stmt(name, min(t + 1, max(t * 2, y)), lets);
  }
  CHECK(an::regions_touched(loop("x", 0, w, lets), {})["g"][0].bounded());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MESSAGE("regions: ", seconds, " s");
  CHECK(seconds < 10);
}

TEST_CASE("bounds are sound") {
  Generator g(3);
  int exact = 0, total = 0;
  for (int i = 0; i < 6000; i++) {
    Expr e = g.index(4, i % 4 == 3 ? 4 : 1);
    Env fixed = g.env(-9, 9);
    int xl = g.pick(-9, 9), xh = xl + g.pick(0, 6), yw = g.pick(0, 5);
    fixed["a"] = xl;
    fixed["b"] = xh;
    ir::Scope<an::Interval> scope;
    scope.push("x", {a, b, {}});
    scope.push("y", {E(var("c")) - yw, var("c"), {}});
    fixed["c"] = g.pick(-9, 9);
    an::Interval r = an::bounds_of_expr(e, scope);
    REQUIRE(r.bounded());
    int64_t lo = value_of(r.min, fixed), hi = value_of(r.max, fixed), least = INT64_MAX,
            most = INT64_MIN;
    Env env = fixed;
    for (int xv = xl; xv <= xh; xv++) {
      for (int64_t yv = fixed["c"] - yw; yv <= fixed["c"]; yv++) {
        env["x"] = xv;
        env["y"] = yv;
        for (int64_t v : lanes_of(e, env)) {
          least = std::min(least, v);
          most = std::max(most, v);
        }
      }
    }
    if (least < lo || most > hi) {
      INFO(analysis_test::text(e), " in ", text(r), " x=", xl, "..", xh, " y=", fixed["c"] - yw,
           "..", fixed["c"]);
      CHECK(least >= lo);
      REQUIRE(most <= hi);
    }
    exact += (least == lo) + (most == hi);
    total += 2;
  }
  MESSAGE("ends that are exact: ", exact, " of ", total);
}

TEST_CASE("monotonic and solve are sound") {
  Generator g(4);
  int directions = 0, solved = 0;
  for (int i = 0; i < 4000; i++) {
    Expr e = g.index(3);
    an::Monotonic m = an::monotonic(e, "x");
    directions += m != an::Monotonic::Unknown;
    Expr c = g.condition(2);
    an::Interval outer = an::solve_outer(c, "x"), inner = an::solve_inner(c, "x");
    solved += outer.has_lower() || outer.has_upper();
    for (int k = 0; k < 3; k++) {
      Env env = g.env(-20, 20);
      env["x"] = -25;
      int64_t last = value_of(e, env);
      for (int v = -24; v <= 25; v++) {
        env["x"] = v;
        int64_t now = value_of(e, env);
        INFO(analysis_test::text(e), " x=", v, " y=", env["y"], " z=", env["z"]);
        if (m == an::Monotonic::Increasing) REQUIRE(now >= last);
        if (m == an::Monotonic::Decreasing) REQUIRE(now <= last);
        if (m == an::Monotonic::Constant) REQUIRE(now == last);
        last = now;
        auto inside = [&](const an::Interval &r) {
          return (!r.has_lower() || value_of(r.min, env) <= v) &&
                 (!r.has_upper() || v <= value_of(r.max, env));
        };
        bool holds = value_of(c, env) != 0;
        INFO(analysis_test::text(c), " outer ", text(outer), " inner ", text(inner));
        if (holds) REQUIRE(inside(outer));
        if (inside(inner)) REQUIRE(holds);
      }
    }
  }
  MESSAGE("directions known: ", directions, ", conditions with an outer end: ", solved);
}

TEST_CASE("linear forms") {
  int64_t d;
  CHECK(an::constant_difference(x * 2 + y + 3, y + x + x, &d));
  CHECK(d == 3);
  CHECK_FALSE(an::constant_difference(x, y, &d));
  an::LinearForm f = an::linear_form(x * 3 - (y - 2) * 4);
  CHECK(f.constant == 8);
  REQUIRE(f.terms.size() == 2);
  CHECK(analysis_test::text(an::to_expr(f, Int(32))) == "(((x*3) - (y*4)) + 8)");
  CHECK(an::modulus_remainder(x * 8 + 3, {}).modulus == 8);
  CHECK(an::modulus_remainder(x * 8 + 3, {}).remainder == 3);
  CHECK(text(an::solve_outer(x * 2 < y && x >= 3, "x")) == "3 .. (((y + 1)/2) - 1)");
  CHECK(text(an::solve_inner(x / 4 >= 2, "x")) == "8 .. inf");
}
