// The text form: what it looks like, and that it reads back as the same program.
#include "ir/print.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "base/diagnostic.h"
#include "base/stack.h"
#include "ir/equal.h"
#include "ir/parse.h"
#include "support/ir_gen.h"

using namespace calotype;
using namespace calotype::ir;

namespace {
const Expr x = make_var("x"), y = make_var("y");

void check_same(const Expr &e) {
  const std::string text = to_string(e);
  const Expr back = parse_expr(text);
  CHECK_MESSAGE(equal(e, back), text << "\nreads back as\n" << to_string(back));
}
void check_same(const Stmt &s) {
  const std::string text = to_string(s);
  const Stmt back = parse_stmt(text);
  CHECK_MESSAGE(equal(s, back), text << "\nreads back as\n" << to_string(back));
}
}  // namespace

TEST_CASE("print: constants show their type unless it is int32") {
  CHECK(to_string(make_int(Int(32), -3)) == "-3");
  CHECK(to_string(make_int(Int(16), -5)) == "-5:i16");
  CHECK(to_string(make_uint(UInt(8), 3)) == "3:u8");
  CHECK(to_string(make_bool(true)) == "true");
  CHECK(to_string(make_float(Float(32), 1.5)) == "1.5f");
  CHECK(to_string(make_float(Float(64), 1.5)) == "1.5");
  CHECK(to_string(make_float(Float(64), 3)) == "3.0");
  CHECK(to_string(make_float(Float(32), 0.1)) == "0.1f");
  CHECK(to_string(make_float(Float(32), -HUGE_VAL)) == "-inf:f32");
  CHECK(to_string(make_float(Float(64), NAN)) == "nan");
  CHECK(to_string(make_string("a\"b\n")) == "\"a\\\"b\\n\"");
  CHECK(to_string(make_int(Int(32, 8), 7)) == "x8(7)");
}

TEST_CASE("print: parentheses stand only where they are needed") {
  CHECK(to_string((make_add(make_mul(x, y), make_int(Int(32), 1)))) == "x*y + 1");
  CHECK(to_string(make_mul(make_add(x, y), x)) == "(x + y)*x");
  CHECK(to_string(make_sub(x, make_sub(y, x))) == "x - (y - x)");
  CHECK(to_string(make_sub(make_sub(x, y), x)) == "x - y - x");
  CHECK(to_string(make_and(make_lt(x, y), make_not(make_or(make_eq(x, y), make_ge(x, y))))) ==
        "x < y && !(x == y || x >= y)");
}

TEST_CASE("print: variables, calls, loads and vectors") {
  const Expr w = make_var("w", Float(32));
  CHECK(to_string(make_add(w, make_float(Float(32), 1))) == "w:f32 + 1.0f");
  CHECK(to_string(make_let("t", w, make_add(make_var("t", Float(32)), make_var("t", Float(32))))) ==
        "(let t = w:f32 in t + t)");
  CHECK(to_string(make_func_call(UInt(16), "f", {x, y}, 1)) == "f(x, y).1:u16");
  CHECK(to_string(make_func_call(Int(32), "g[0]", {x})) == "`g[0]`(x)");
  CHECK(to_string(make_func_call(Int(32), "round", {x})) == "`round`(x)");
  CHECK(to_string(make_load(UInt(8), "f", make_ramp(x, make_int(Int(32), 1), 8))) ==
        "f[ramp(x, 1, 8)]:u8");
  CHECK(to_string(make_load(Int(32), "f", x, make_lt(x, y))) == "f[x if x < y]");
  CHECK(to_string(make_cast(UInt(16), x)) == "u16(x)");
  CHECK(to_string(make_reinterpret(Float(32), x)) == "reinterpret(f32, x)");
  CHECK(to_string(make_var("let")) == "`let`");
}

TEST_CASE("print: statements") {
  const Stmt s = make_realize(
      "f", {UInt(16)}, MemoryType::Heap, {{x, make_int(Int(32), 10)}}, {},
      make_block(make_producer("f", make_for("x", make_int(Int(32), 0), y, ForType::Parallel,
                                             make_provide("f", {make_cast(UInt(16), x)}, {x}))),
                 make_consumer(
                     "f", make_let_stmt(
                              "t", make_func_call(UInt(16), "f", {y}),
                              make_if(make_lt(x, y), make_store("out", make_var("t", UInt(16)), y),
                                      make_store("out", make_uint(UInt(16), 0), y))))));
  CHECK(to_string(s) ==
        "realize f:u16 [x +: 10] in heap\n"
        "produce f {\n"
        "  parallel x in 0 +: y {\n"
        "    f(x) = u16(x)\n"
        "  }\n"
        "}\n"
        "consume f {\n"
        "  let t = f(y)\n"
        "  if x < y {\n"
        "    out[y] = t\n"
        "  } else {\n"
        "    out[y] = 0:u16\n"
        "  }\n"
        "}\n");
  check_same(s);
}

TEST_CASE("print: random expressions read back equal") {
  test::IrGenerator gen(1);
  for (int i = 0; i < 3000; i++) check_same(gen.expr(gen.any_type(), 1 + i % 6));
}

TEST_CASE("print: random statements read back equal") {
  test::IrGenerator gen(2);
  for (int i = 0; i < 600; i++) check_same(gen.stmt(1 + i % 5));
}

TEST_CASE("print: floats of all bit patterns read back with the same bits") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; i++) {
    const uint64_t bits = random();
    double d;
    float f;
    memcpy(&d, &bits, 8);
    memcpy(&f, &bits, 4);
    check_same(make_float(Float(64), d));
    check_same(make_float(Float(32), f));
  }
}

TEST_CASE("print: a let, allocate or realize that ends before its block gets braces") {
  const Stmt store = make_store("f", x, y);
  check_same(make_block(make_let_stmt("x", y, store), store));
  check_same(make_block(make_allocate("f", Int(32), MemoryType::Stack, {}, {}, store),
                        make_let_stmt("y", x, store)));
  CHECK(to_string(make_block(make_let_stmt("x", y, store), store)) ==
        "{\n  let x = y\n  f[y] = x\n}\nf[y] = x\n");
}

TEST_CASE("print: deep and long programs are printed and read back") {
  run_on_large_stack([] {
    Expr deep = x, chain = x, right = x;
    for (int i = 0; i < 5000; i++) deep = make_min(deep, y);
    for (int i = 0; i < 20000; i++) chain = make_add(chain, y);
    for (int i = 0; i < 5000; i++) right = make_add(y, right);
    for (const Expr &e : {deep, chain, right}) {
      const Stmt s = make_store("f", e, x);
      CHECK(equal(s, parse_stmt(to_string(s))));
    }
    Stmt lets = make_store("f", x, y), blocks;
    for (int i = 0; i < 20000; i++) lets = make_let_stmt("t" + std::to_string(i), x, lets);
    CHECK(equal(lets, parse_stmt(to_string(lets))));
    Stmt loops = make_store("f", x, y);
    for (int i = 0; i < 300; i++) loops = make_for("i", x, y, ForType::Serial, loops);
    CHECK(equal(loops, parse_stmt(to_string(loops))));
  });
}

TEST_CASE("print: a deep expression is printed from a small stack") {
  Expr deep = x;
  for (int i = 0; i < 100000; i++)
    deep = make_not(make_lt(make_select(make_eq(x, y), x, y), x)), deep = make_select(deep, x, y);
  for (int i = 0; i < 100000; i++) deep = make_max(deep, y);
  CHECK(to_string(deep).size() > 700000);
}

TEST_CASE("print: a short text of a huge shared expression is cheap") {
  Expr e = x;
  for (int i = 0; i < 200; i++) e = make_add(e, e);
  const std::string text = to_short_string(e, 50);
  CHECK(text.size() <= 53);
  CHECK(text.substr(0, 5) == "x + x");
}

TEST_CASE("print: programs read back") {
  const std::string text =
      "program blur {\n"
      "  param input: u16[2] dim0.min=0 dim0.stride=1\n"
      "  param gain: f32 bits=1069547520:u64 min=0.5f max=2.0f estimate=1.0f\n"
      "  func blur_x(x, y): u16 {\n"
      "    blur_x(x, y) = (@input(x, y) + @input(x + 1, y))/2:u16\n"
      "  }\n"
      "  func hist(x): {i32, f32} {\n"
      "    hist(x) = {0, 0.0f}\n"
      "    hist(i32(blur_x(r.x, r.y))) = {hist(r.x) + 1, hist(r.x).1*@gain} for r.x in 0 +: 10, "
      "r.y in -1 +: 5 if r.x < r.y\n"
      "  }\n"
      "  func `g[0]`(x): i32 {\n"
      "    `g[0]`(x) = hist(x)\n"
      "  }\n"
      "  output `g[0]` {\n"
      "    param `g[0]`: i32[1] dim0.stride=1\n"
      "  }\n"
      "  output blur_x\n"
      "}\n";
  const Program p = parse_program(text);
  CHECK(to_string(p) == text);
  CHECK(p.funcs.size() == 3);
  CHECK(p.funcs[1].definitions[1].rvars.size() == 2);
  CHECK(p.params[1]->bits == 1069547520);
  const Call *call = p.funcs[2].definitions[0].values[0].as<Call>();
  CHECK((call && call->name == "hist"));
}
