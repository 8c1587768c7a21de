// Every kind of violation is found and quoted; what the makers and the generator build is well formed.
#include "ir/verify.h"

#include <doctest/doctest.h>

#include "ir/parse.h"
#include "ir/print.h"
#include "support/ir_gen.h"

using namespace calotype;
using namespace calotype::ir;

namespace {

template <typename T> Expr raw_binary(Type t, Expr a, Expr b) {
  Ref<T> n = new T;
  n->type = t;
  n->a = std::move(a);
  n->b = std::move(b);
  return Expr(n.get());
}

std::string first(const std::vector<std::string> &lines) { return lines.empty() ? "" : lines[0]; }

std::vector<std::string> verify_text(const std::string &text, const StmtProperties &p = {}) {
  return verify(parse_stmt(text), p);
}

const Expr x = make_var("x"), u = make_var("u", UInt(8)), v4 = make_var("v", Int(32, 4));

}  // namespace

TEST_CASE("verify: operands of different types") {
  CHECK(first(verify(raw_binary<Add>(Int(32), x, u))) ==
        "operands have types i32 and u8: x + u:u8");
  CHECK(first(verify(raw_binary<Add>(Int(32), x, v4))) ==
        "operands have types i32 and i32x4: x + v:i32x4");
  CHECK(first(verify(raw_binary<Add>(UInt(8), x, x))) ==
        "has type u8, its operands give i32: x + x");
  CHECK(first(verify(raw_binary<LT>(Int(32), x, x))) ==
        "has type i32, its operands give bool: x < x");
  CHECK(first(verify(raw_binary<And>(Int(32), x, x))) == "operand has type i32, not bool: x && x");
}

TEST_CASE("verify: an undefined operand is found below other nodes") {
  const Expr bad = raw_binary<Mul>(Int(32), x, Expr());
  CHECK(first(verify(make_add(x, bad))) == "undefined operand: x*undefined");
  CHECK(verify(Expr()).size() == 1);
}

TEST_CASE("verify: constants that do not fit their type") {
  Ref<IntImm> n = new IntImm;
  n->type = Int(8);
  n->value = 300;
  CHECK(first(verify(Expr(n.get()))) == "constant does not fit i8: 300:i8");
}

TEST_CASE("verify: intrinsics with the wrong number or kind of operands") {
  CHECK(first(verify(make_intrinsic(Int(32), Intrinsic::bitwise_and, {x}))) ==
        "bitwise_and takes 2 arguments, not 1: bitwise_and(x)");
  CHECK(first(verify(make_intrinsic(Int(32), Intrinsic::floor, {x}))) ==
        "floor needs floating point, not i32: floor(x)");
  CHECK(first(verify(make_intrinsic(Int(32), Intrinsic::saturating_add, {x, u}))) ==
        "saturating_add of i32 has an operand of u8: saturating_add(x, u:u8)");
}

TEST_CASE("verify: what makers and generator build is well formed") {
  test::IrGenerator gen(11);
  for (int i = 0; i < 1500; i++) {
    const Expr e = gen.expr(gen.any_type(), 5);
    const std::vector<std::string> problems = verify(e);
    CHECK_MESSAGE(problems.empty(), first(problems));
  }
  for (int i = 0; i < 300; i++) {
    const std::vector<std::string> problems = verify(gen.stmt(4), {});
    CHECK_MESSAGE(problems.empty(), first(problems));
  }
}

TEST_CASE("verify: names must be defined where a closed program is promised") {
  StmtProperties closed;
  closed.closed = true;
  CHECK(first(verify_text("f[x] = 1", closed)) == "variable x is not defined: x");
  CHECK(verify_text("f[@x] = 1", closed).empty());
  CHECK(verify_text("for x in 0 +: 4 {\n  let y = x\n  f[x] = y\n}", closed).empty());
  CHECK(first(verify_text("for x in 0 +: 4 {\n  let y = x\n}\nf[y] = 1", closed)) ==
        "variable y is not defined: y");
  CHECK(first(verify_text("let x = x\nf[0] = x", closed)) == "variable x is not defined: x");
  closed.free = {"x"};
  CHECK(verify_text("f[x] = 1", closed).empty());
}

TEST_CASE("verify: names repeat along a path only where that is allowed") {
  StmtProperties unique;
  unique.unique_names = true;
  const std::string nested = "for x in 0 +: 4 {\n  let x = 1\n  f[x] = 1\n}";
  CHECK(first(verify_text(nested, unique)) == "name x is defined again inside itself: let x = 1");
  CHECK(verify_text(nested).empty());
  CHECK(verify_text("for x in 0 +: 4 {\n  f[x] = 1\n}\nfor x in 0 +: 4 {\n  f[x] = 1\n}", unique)
            .empty());
}

TEST_CASE("verify: flat storage allows no Func left") {
  StmtProperties flat;
  flat.flat_storage = true;
  CHECK(first(verify_text("f(x) = 1", flat)) == "not allowed after storage is flat: f(x) = 1");
  CHECK(first(verify_text("realize f:i32 [0 +: 1]\nf[0] = 1", flat)) ==
        "not allowed after storage is flat: realize f:i32 [0 +: 1]");
  CHECK(first(verify_text("f[0] = g(x) + 1", flat)) ==
        "call of a Func or image after storage is flat: g(x)");
  CHECK(first(verify_text("f[0] = @g(x):i32", flat)) ==
        "call of a Func or image after storage is flat: @g(x)");
  CHECK(verify_text("f[0] = f[1]", flat).empty());
}

TEST_CASE("verify: vector loops must be gone after vectorisation") {
  StmtProperties scalar;
  scalar.no_vector_loops = true;
  CHECK(first(verify_text("vectorized x in 0 +: 4 {\n  f[x] = 1\n}", scalar)) ==
        "vectorised or unrolled loop is left: vectorized x in 0 +: 4 {");
  CHECK(verify_text("parallel x in 0 +: 4 {\n  f[x] = 1\n}", scalar).empty());
}

TEST_CASE("verify: statements with ill-typed parts") {
  CHECK(first(verify(make_if(x, make_no_op()), {})) == "condition has type i32: if x {");
  CHECK(first(verify(make_for("i", u, u, ForType::Serial, make_no_op()), {})) ==
        "loop over u8 and u8, not i32: for i in u:u8 +: u:u8 {");
  CHECK(first(verify(make_store("f", x, x, make_var("p", Int(32))), {})) ==
        "predicate has type i32: f[x if p] = x");
  CHECK(first(verify(make_provide("f", {}, {x}), {})) == "no value: f(x) = {}");
}

TEST_CASE("verify: many violations are reported up to a limit") {
  std::vector<Stmt> stmts;
  for (int i = 0; i < 100; i++) stmts.push_back(make_store("f", raw_binary<Add>(Int(32), x, u), x));
  CHECK(verify(make_block(stmts), {}).size() == 20);
}

TEST_CASE("verify: programs") {
  const auto problem = [](const std::string &body) {
    return first(verify(parse_program("program p {\n" + body + "\n}")));
  };
  CHECK(problem("func f(x): i32 {\n f(x) = x\n}\noutput f") == "");
  CHECK(problem("func f(x): i32 {\n f(x) = x\n}") == "no outputs");
  CHECK(problem("func f(x): u8 {\n f(x) = x\n}\noutput f") ==
        "f has type u8 but value 0 has i32: x");
  CHECK(problem("func f(x): i32 {\n f(x) = y\n}\noutput f") == "f: variable y is not defined: y");
  CHECK(problem("func f(x): i32 {\n f(x) = x\n f(r) = 1 for r in 0 +: 4\n}\noutput f") == "");
  CHECK(problem("func f(x): i32 {\n f(x) = x\n f(r) = 1\n}\noutput f") ==
        "f.update(0): variable r is not defined: r");
  CHECK(problem("func f(x): i32 {\n f(x + 1) = x\n}\noutput f") == "f: argument 0 is not x");
  CHECK(problem("func f(x): i32 {\n f(x) = x\n}\nfunc g(x): i32 {\n g(x) = f(x, x)\n}\noutput g") ==
        "wrong number of coordinates: f(x, x)");
  CHECK(problem("func f(x): i32 {\n f(x) = x\n}\nfunc g(x): i32 {\n g(x) = f(x).1\n}\noutput g") ==
        "no such Tuple element: f(x).1");
}
