// simplify on statements: what goes, what is learned on the way down, names that shadow.
#include <doctest/doctest.h>

#include <chrono>

#include "analysis/simplify.h"
#include "helpers.h"
#include "ir/equal.h"

using namespace analysis_test;
namespace an = calotype::analysis;

namespace {

using ir::Stmt;
const E x = var("x"), y = var("y"), z = var("z"), w = var("w");

Stmt store(const E &index, const E &value = 0) { return ir::make_store("g", value, index); }
Stmt loop(const char *v, const E &min, const E &extent, Stmt body,
          ir::ForType t = ir::ForType::Serial) {
  return ir::make_for(v, min, extent, t, std::move(body));
}
Stmt let(const char *n, const E &v, Stmt body) { return ir::make_let_stmt(n, v, std::move(body)); }
Stmt block(Stmt a, Stmt b) { return ir::make_block(std::move(a), std::move(b)); }

/// One line: what remains.
std::string text(const Stmt &s) {
  using analysis_test::text;
  if (const ir::Block *b = s.as<ir::Block>()) return ::text(b->first) + "; " + ::text(b->rest);
  if (const ir::Store *st = s.as<ir::Store>()) {
    std::string mask = ir::is_const_one(st->predicate) ? "" : " if " + text(st->predicate);
    return "g[" + text(st->index) + "] = " + text(st->value) + mask;
  }
  if (const ir::For *f = s.as<ir::For>()) {
    return "for " + f->name.str() + " in " + text(f->min) + ", " + text(f->extent) + " {" +
           ::text(f->body) + "}";
  }
  if (const ir::LetStmt *l = s.as<ir::LetStmt>())
    return "let " + l->name.str() + " = " + text(l->value) + ": " + ::text(l->body);
  if (const ir::IfThenElse *i = s.as<ir::IfThenElse>()) {
    return "if " + text(i->condition) + " {" + ::text(i->then_case) + "}" +
           (i->else_case.defined() ? " else {" + ::text(i->else_case) + "}" : "");
  }
  if (const ir::AssertStmt *a = s.as<ir::AssertStmt>()) return "assert " + text(a->condition);
  if (ir::is_no_op(s)) return "nothing";
  return "?";
}
std::string simple(const Stmt &s, const an::Facts &facts = {}) {
  return text(an::simplify(s, facts));
}

}  // namespace

TEST_CASE("simplify statements: dead code") {
  CHECK(simple(loop("x", 0, 0, store(x))) == "nothing");
  CHECK(simple(loop("x", 0, min(w, 0), store(x))) == "nothing");
  CHECK(simple(loop("x", y, 1, store(x + 2))) == "g[(y + 2)] = 0");
  CHECK(simple(loop("x", 0, 8, ir::make_no_op())) == "nothing");
  CHECK(simple(let("t", x * y, store(x))) == "g[x] = 0");
  CHECK(simple(let("t", x + 1, store(E(var("t")) * 2))) == "g[((x*2) + 2)] = 0");
  CHECK(simple(let("t", x * y, store(var("t")))) == "let t = (x*y): g[t] = 0");
  CHECK(simple(block(ir::make_no_op(), block(store(x), ir::make_no_op()))) == "g[x] = 0");
  CHECK(simple(ir::make_if(x < x, store(x), store(y))) == "g[y] = 0");
  CHECK(simple(ir::make_if(x < y, ir::make_no_op(), store(y))) == "if (y <= x) {g[y] = 0}");
  CHECK(simple(ir::make_if(x < y, store(y), store(y))) == "g[y] = 0");
  CHECK(simple(ir::make_store("g", E(1), x, y < y)) == "nothing");
  CHECK(simple(ir::make_evaluate(x + 1)) == "nothing");
  CHECK(simple(ir::make_producer("f", ir::make_no_op())) == "nothing");
}

TEST_CASE("simplify statements: facts on the way down") {
  CHECK(simple(loop("x", 0, 8, store(x / 8 + min(x, 7)))) == "for x in 0, 8 {g[x] = 0}");
  CHECK(simple(loop("x", y, w, ir::make_if(x >= y && x < y + w, store(x)))) ==
        "for x in y, w {g[x] = 0}");
  CHECK(simple(loop("y", 0, w, loop("x", 0, 8, store((y * 8 + x) / 8, (y * 8 + x) % 8)))) ==
        "for y in 0, w {for x in 0, 8 {g[y] = x}}");
  CHECK(simple(ir::make_if(x < 5, ir::make_if(x < 7, store(x)), ir::make_if(x > 3, store(y)))) ==
        "if (x <= 4) {g[x] = 0} else {g[y] = 0}");
  Stmt check = ir::make_assert(x >= 3, ir::make_string("x"));
  CHECK(simple(block(check, ir::make_if(x > 2, store(x)))) == "assert (2 < x); g[x] = 0");
  // The loop runs, so its extent is positive inside.
  CHECK(simple(loop("x", 0, w, ir::make_if(w > 0, store(x)))) == "for x in 0, w {g[x] = 0}");
  // A let is an equation.
  CHECK(simple(let("t", min(x * 8, w - 8), ir::make_if(E(var("t")) + 7 < w, store(var("t"))))) ==
        "let t = min((w - 8), (x*8)): g[t] = 0");
  CHECK(simple(let("t", x * 8, store(E(var("t")) % 4))) == "g[0] = 0");
  CHECK(simple(loop("x", 0, 16, ir::make_if(ir::make_likely(x < 16), store(x)))) ==
        "for x in 0, 16 {g[x] = 0}");
}

TEST_CASE("simplify statements: masks") {
  Stmt s =
      ir::make_store("g", broadcast(1, 4), ramp(x * 4, 1, 4), ramp(x * 4, 1, 4) < broadcast(16, 4));
  CHECK(simple(loop("x", 0, 4, s)) == "for x in 0, 4 {g[ramp((x*4), 1)x4] = x4(1)}");
  CHECK(simple(loop("x", 4, 4, s)) == "nothing");
}

TEST_CASE("simplify statements: shadowed names") {
  // The inner x is another variable: what is known of the outer one must not reach it, nor a replaced let.
  CHECK(simple(loop("x", 0, 8, loop("x", w, 4, ir::make_if(x < 8, store(x))))) ==
        "for x in 0, 8 {for x.1 in w, 4 {if (x.1 <= 7) {g[x.1] = 0}}}");
  CHECK(simple(let("t", y + 1, loop("y", 0, w, store(var("t"), y)))) ==
        "for y.1 in 0, w {g[(y + 1)] = y.1}");
  CHECK(simple(block(loop("x", 0, 8, ir::make_if(x < 8, store(x))),
                     loop("x", 0, 9, ir::make_if(x < 8, store(x))))) ==
        "for x in 0, 8 {g[x] = 0}; for x in 0, 9 {if (x <= 7) {g[x] = 0}}");
  CHECK(simple(let("t", E(3), let("t", x * y, store(var("t"))))) == "let t = (x*y): g[t] = 0");
}

TEST_CASE("simplify statements: long chains") {
  auto start = std::chrono::steady_clock::now();
  // 2000 lets, each of the one before.
  Stmt s = store(var("t2000"));
  for (int i = 2000; i > 0; i--) {
    std::string name = "t" + std::to_string(i), before = i > 1 ? "t" + std::to_string(i - 1) : "x";
    s = let(name.c_str(), min(E(var(before.c_str())) * 2, y + i), s);
  }
  CHECK(an::simplify(s).as<ir::LetStmt>());
  Stmt blocks = store(x);
  for (int i = 0; i < 5000; i++) blocks = block(store(x + i), blocks);
  CHECK(an::simplify(blocks).as<ir::Block>());
  Stmt nest = store(var("i30"));
  for (int i = 30; i > 0; i--) {
    std::string v = "i" + std::to_string(i), outer = i > 1 ? "i" + std::to_string(i - 1) : "x";
    nest = loop(v.c_str(), E(var(outer.c_str())) * 4, min(w, 4),
                ir::make_if(E(var(v.c_str())) < w * 4, nest));
  }
  CHECK(an::simplify(nest).as<ir::For>());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MESSAGE("long statements: ", seconds, " s");
  CHECK(seconds < 10);
}
