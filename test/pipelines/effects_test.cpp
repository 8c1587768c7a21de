// print, print_when, require, requirements of pipelines, promises and scalar C functions: compiled, scalar and in
// vectors with tails, against what they say and against the interpreter.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "compat/Halide.h"
#include "support/agree.h"
#include "support/check_diag.h"

using namespace Halide;
using calotype::test::disagreement;

namespace {

Var x("x"), y("y"), xo("xo"), xi("xi");
std::string g_printed;
void keep_print(JITUserContext *, const char *text) { g_printed += text; }
int lines() { return static_cast<int>(std::count(g_printed.begin(), g_printed.end(), '\n')); }

int calls_of_counted = 0;
extern "C" int counted(int v, float w) {
  calls_of_counted++;
  return v * 3 + static_cast<int>(w);
}
extern "C" bool is_odd_byte(uint8_t v) { return v % 2 == 1; }
extern "C" int16_t negate_short(int16_t v) { return static_cast<int16_t>(-v); }

// The macros below add overloads that take Exprs.
const ExternCFunction kCounted(&counted), kIsOdd(&is_odd_byte), kNegate(&negate_short);

}  // namespace

HalideExtern_2(int, counted, int, float);
HalideExtern_1(bool, is_odd_byte, uint8_t);
HalidePureExtern_1(int16_t, negate_short, int16_t);
HalidePureExtern_2(float, atan2f, float, float);

TEST_CASE("print: one line for each value computed, parts by type") {
  Func f("f");
  f(x) = print(x * 2, "<- at", x, cast<float>(x) / 2, cast<uint8_t>(x));
  f.jit_handlers().custom_print = keep_print;
  g_printed.clear();
  const Buffer<int> b = f.realize({3});
  CHECK(b(2) == 4);
  CHECK(g_printed == "0 <- at 0 0.000000 0\n2 <- at 1 0.500000 1\n4 <- at 2 1.000000 2\n");
  CHECK(disagreement(f, {5}) == "");
}

TEST_CASE("print: in vectors, lane by lane, only those of the domain") {
  for (TailStrategy tail : {TailStrategy::GuardWithIf, TailStrategy::Predicate}) {
    Func f("f");
    f(x) = print(x + 1);
    f.vectorize(x, 8, tail);
    f.jit_handlers().custom_print = keep_print;
    g_printed.clear();
    const Buffer<int> b = f.realize({11});
    CHECK(b(10) == 11);
    CHECK(lines() == 11);
    CHECK(g_printed.substr(0, 4) == "1\n2\n");
  }
}

TEST_CASE("print_when: only where the condition holds") {
  Func f("f");
  f(x, y) = print_when(x == y && x > 1, x * 10, "of", y);
  f.vectorize(x, 4);
  f.jit_handlers().custom_print = keep_print;
  g_printed.clear();
  f.realize({5, 4});
  CHECK(g_printed == "20 of 2\n30 of 3\n");
}

TEST_CASE(
    "require: the value where the condition holds, else R0105 with the place and the message") {
  Param<int> n("n", 3);
  Func f("f");
  f(x, y) = require(x + y < n, x * y, "sum", x + y, "is not below", n);
  f.vectorize(x, 4);
  n.set(100);
  CHECK(disagreement(f, {7, 5}) == "");
  n.set(6);
  CHECK_DIAG(f.realize({7, 5}), "R0105", "sum 6 is not below 6");
  CHECK_DIAG(f.realize({7, 5}), "R0105", "x + y < n");
  CHECK_DIAG(f.realize({7, 5}), "R0105", "effects_test.cpp:");
  CHECK_DIAG(disagreement(f, {1, 7}), "R0105", "sum 6 is not below 6");
  // The interpreter stops at the same condition, with the same words.
  const ir::Program program = driver::program_of(Pipeline(f), get_host_target());
  Buffer<int> out(1, 7);
  CHECK_DIAG(ir::interpret(program, {out.raw_buffer()}, {}), "R0105", "sum 6 is not below 6");
}

TEST_CASE("require: in parallel loops and producers, with the code of the published interface") {
  Func g("g"), f("f");
  Param<int> limit("limit", 50);
  g(x, y) = require(x < limit, x + y, "too wide");
  f(x, y) = g(x, y) + g(x + 1, y);
  g.compute_at(f, y).vectorize(x, 8);
  f.parallel(y);
  CHECK(disagreement(f, {20, 6}) == "");
  limit.set(20);
  CHECK_DIAG(f.realize({20, 6}), "R0105", "too wide");
  limit.set(21);
  CHECK(disagreement(f, {20, 6}) == "");
}

TEST_CASE("require: a rule that drops an operand keeps the check") {
  Param<int> n("n", 0);
  Func f("f");
  f(x) = require(n > 0, x) * 0 + 7;
  CHECK_DIAG(f.realize({4}), "R0105", "n > 0");
  n.set(1);
  CHECK(disagreement(f, {4}) == "");
}

TEST_CASE("require: conditions that are no bool are refused") {
  CHECK_DIAG(require(Expr(x), Expr(x)), "L0103", "require");
}

TEST_CASE("add_requirement: checked before anything runs") {
  ImageParam in(UInt(8), 2, "in");
  Param<int> k("k", 2);
  Func f("f");
  f(x, y) = in(x, y) + cast<uint8_t>(k);
  Pipeline p(f);
  p.add_requirement(in.dim(0).extent() % k == 0, "width", in.dim(0).extent(), "is no multiple of",
                    k);
  in.set(Buffer<uint8_t>(8, 4));
  p.realize({8, 4});
  k.set(3);
  CHECK_DIAG(p.realize({8, 4}), "R0105", "width 8 is no multiple of 3");
  CHECK_DIAG(p.add_requirement(Expr(x) > 3), "L0205", "uses x");
}

TEST_CASE(
    "promise_clamped: a promise that loops alone decide is checked once, before anything runs") {
  ImageParam in(Int(32), 1, "in");
  Param<int> n("n", 10);
  Func f("f");
  f(x) = in(unsafe_promise_clamped(x + n, 0, 19));
  Buffer<int> b(20);
  b.for_each_element([&](int i) { b(i) = i; });
  in.set(b);
  const Buffer<int> r = f.realize({10});
  CHECK(r(9) == 19);
  n.set(11);
  CHECK_DIAG(f.realize({10}), "R0105", "the values go from 11 to 20 promised were 0 to 19");
  const Buffer<int> shorter = f.realize({9});
  CHECK(shorter(8) == 19);
}

TEST_CASE("promise_clamped: one about loaded data is checked at each point under debug") {
  ImageParam in(UInt(8), 1, "in");
  Buffer<int> table(16);
  table.fill(5);
  Func f("f");
  f(x) = table(unsafe_promise_clamped(cast<int>(in(x)), 0, 15));
  Buffer<uint8_t> b(9);
  b.fill(3);
  in.set(b);
  const Target debug = get_host_target().with_feature(Target::Debug);
  f.realize({9}, debug);
  b(7) = 16;
  CHECK_DIAG(f.realize({9}, debug), "R0105",
             "a promise does not hold: the value is 16 promised from 0 to 15");
}

TEST_CASE("extern functions: C functions in Exprs, scalar and vector, by registered pointers") {
  Func f("f"), g("g"), h("h");
  f(x) = counted(x, 2.5f) + 1;
  Pipeline p(f);
  p.set_jit_externs({{"counted", kCounted}});
  calls_of_counted = 0;
  const Buffer<int> a = p.realize({6});
  CHECK(calls_of_counted == 6);
  CHECK(a(5) == 18);
  g(x) = select(is_odd_byte(cast<uint8_t>(x)), negate_short(cast<int16_t>(x)), cast<int16_t>(x));
  g.vectorize(x, 8, TailStrategy::GuardWithIf);
  Pipeline q(g);
  q.set_jit_externs({{"is_odd_byte", kIsOdd}, {"negate_short", kNegate}});
  const Buffer<int16_t> b = q.realize({13});
  for (int i = 0; i < 13; i++) CHECK(b(i) == (i % 2 ? -i : i));
}

TEST_CASE(
    "extern functions: names are looked up in the process; an unknown one is refused by name") {
  Func f("f");
  f(x) = atan2f(cast<float>(x), 2.0f);
  f.vectorize(x, 4);
  const Buffer<float> b = f.realize({10});
  for (int i = 0; i < 10; i++) CHECK(b(i) == std::atan2(static_cast<float>(i), 2.0f));
  Func g("g");
  g(x) = calotype::lang::extern_call(Int(32), "no_such_c_function", {Int(32)}, {Expr(x)}, false);
  CHECK_DIAG(g.realize({3}), "T0104", "no_such_c_function is not found");
  CHECK_DIAG(counted(cast<int64_t>(x), 1.0f), "L0102",
             "argument 0 of the C function counted is i64");
  Func half("half");
  half(x) = calotype::lang::extern_call(Float(16), "halves", {Int(32)}, {Expr(x)}, false);
  CHECK_DIAG(half.realize({3}), "T0103", "halves");
  CHECK_DIAG(disagreement(f, {3}), "L0901", "the interpreter cannot call the C function atan2f");
}

namespace {
void *g_context = nullptr;
extern "C" int remember_context(void *context, int v) {
  g_context = context;
  return v;
}
const ExternCFunction kRemember(&remember_context);
}  // namespace
HalideExtern_2(int, remember_context, void *, int);

TEST_CASE("user_context_value: the pointer that realize was given") {
  Func f("f");
  f(x) = remember_context(user_context_value(), x);
  Pipeline p(f);
  p.set_jit_externs({{"remember_context", kRemember}});
  JITUserContext mine;
  p.realize(&mine, {2});
  CHECK(g_context == &mine);
}
