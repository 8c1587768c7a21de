// What is too deep, too large, without memory or without a known extent is refused with a code, and what is merely large is
// not.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "base/source.h"
#include "calotype.h"
#include "support/check_diag.h"

using namespace calotype;

TEST_CASE("limits: an expression 5000 levels deep compiles, one of 50,000 is refused") {
  Var x("x"), y("y");
  Expr e = x;
  for (int i = 0; i < 5000; i++) e = e * 3 + y;
  Func f("f");
  f(x, y) = e;
  Buffer<int> out = f.realize({2, 1});
  uint32_t expected = 1;  // x == 1, y == 0: 3^5000, wrapping
  for (int i = 0; i < 5000; i++) expected *= 3;
  CHECK(static_cast<uint32_t>(out(1, 0)) == expected);
  for (int i = 0; i < 50000; i++) e = e + 1;
  Func g("g");
  CHECK_DIAG(g(x, y) = e, "L0216", "nested");
}

TEST_CASE("limits: inlining that doubles 40 times is refused, and compute_root makes it legal") {
  Var x("x");
  std::vector<Func> chain;
  for (int i = 0; i < 40; i++) {
    Func f("f" + std::to_string(i));
    f(x) = i == 0 ? Expr(x) : chain.back()(x) + chain.back()(x + 1);
    chain.push_back(f);
  }
  CHECK_DIAG(chain.back().realize({4}), "S0118", "200000");
  for (Func &f : chain) f.compute_root();
  Buffer<int> out = chain[20].realize({4});
  CHECK(out(0) == 10 * (1 << 20));  // sum of k * C(20, k)
}

TEST_CASE("limits: an input at the end of 150 stages is checked against what all of them need") {
  Var x("x");
  ImageParam in(Int(32), 1, "in");
  Func last = Func("f0");
  last(x) = in(x);
  for (int i = 1; i < 150; i++) {
    Func f("f" + std::to_string(i));
    f(x) = last(x) + last(x + 1) % 2;
    last.compute_root();
    last = f;
  }
  Buffer<int> small(100), enough(160);
  small.fill(2);
  enough.fill(2);
  in.set(small);
  CHECK_DIAG(last.realize({8}), "R0102", "required 0 .. 156, given 0 .. 99");
  in.set(enough);
  Buffer<int> out = last.realize({8});
  CHECK(out(7) == 2);
}

TEST_CASE("limits: realize refuses buffers without memory") {
  Var x("x");
  ImageParam in(Int(32), 1, "in");
  Func f("f");
  f(x) = in(x) + 1;
  in.set(Buffer<int>(static_cast<int *>(nullptr), 8));
  CHECK_DIAG(f.realize({8}), "R0101", "the input in has no memory");
  Buffer<int> good(8), none(static_cast<int *>(nullptr), 8);
  good.fill(1);
  in.set(good);
  CHECK_DIAG(f.realize(none), "R0101", "the output f has no memory");
}

TEST_CASE("limits: a loop of unknown extent is refused at the directive that unrolls it") {
  Var x("x"), y("y");
  Func f("f"), g("g");
  f(x, y) = x + y;
  g(x, y) = f(x, y) + f(x + 1, y);
  f.compute_root().unroll(x);
  const int line = __LINE__ - 1;
  try {
    g.realize({5, 3});
    FAIL("not refused");
  } catch (const CompileError &e) {
    CHECK(e.diagnostic().code == "S0112");
    CHECK(e.diagnostic().what.find("f cannot unroll x") != std::string::npos);
    CHECK(e.diagnostic().loc.line == line);
  }
}

TEST_CASE("source: an excerpt of a long line of broken characters has its caret inside") {
  const char *path = intern_path("long-line.sched");
  std::string line(5000, '\xbf');  // continuation bytes only
  register_text(path, line + "\n");
  for (int column : {1, 60, 2500, 5000, 5001}) {
    const std::string text = excerpt(SrcLoc{path, 1, column, column + 3});
    CHECK(text.find('^') != std::string::npos);
    CHECK(text.size() < 2000);
  }
}
