// What is too deep, too large, without memory or without a known extent is refused with a code, and what is merely large is
// not.
#include <doctest/doctest.h>

#include <ctime>

#include "base/diagnostic.h"
#include "base/source.h"
#include "calotype.h"
#include "support/check_diag.h"

using namespace calotype;

namespace {

// Seconds of processor time that `work` takes. The limits below are several times what a quiet machine needs.
template <typename F> double processor_seconds(F work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Func blur_of(ImageParam &in) {
  Var x("x"), y("y");
  Func edge = BoundaryConditions::repeat_edge(in), across("across"), blur("blur");
  const auto mean = [](Expr a, Expr b, Expr c) {
    return cast<uint16_t>((cast<uint32_t>(a) + cast<uint32_t>(b) + cast<uint32_t>(c)) / 3);
  };
  across(x, y) = mean(edge(x - 1, y), edge(x, y), edge(x + 1, y));
  blur(x, y) = mean(across(x, y - 1), across(x, y), across(x, y + 1));
  return blur;
}

}  // namespace

TEST_CASE("limits: unrolling is limited by what the copies hold, at the directive") {
  ImageParam in(UInt(16), 2, "in");
  Var x("x");
  Func much = blur_of(in);
  much.unroll(x, 1024);
  const int line = __LINE__ - 1;
  CHECK(processor_seconds([&] {
          try {
            much.compile_jit();
            FAIL("not refused");
          } catch (const CompileError &e) {
            CHECK(e.diagnostic().code == "S0112");
            CHECK(e.diagnostic().what.find("the limit is 32768") != std::string::npos);
            CHECK(e.diagnostic().loc.line == line);
          }
        }) < 3);
  Func some = blur_of(in);
  some.unroll(x, 64);
  CHECK(processor_seconds([&] { some.compile_jit(); }) < 6);
}

TEST_CASE("limits: 60 splits of one loop compile quickly, whichever side is split again") {
  for (bool outer : {false, true}) {
    Var x("x"), y("y");
    Func f("f");
    f(x, y) = x + 10 * y;
    Var at = x;
    for (int i = 0; i < 60; i++) {
      Var o("o" + std::to_string(i)), n("i" + std::to_string(i));
      f.split(at, o, n, i < 4 ? 2 : 1);
      at = outer ? o : n;
    }
    CHECK(processor_seconds([&] { f.compile_jit(); }) < 6);
    Buffer<int> out = f.realize({7, 3});
    CHECK(out(6, 2) == 26);
    CHECK(out(0, 1) == 10);
  }
}

TEST_CASE("limits: long chains, wide stencils and deep selects compile quickly") {
  Var x("x"), y("y");
  ImageParam in(Int(32), 2, "in");
  CHECK(processor_seconds([&] {
          Func last = BoundaryConditions::repeat_edge(in);
          for (int i = 0; i < 200; i++) {
            Func f("f" + std::to_string(i));
            f(x, y) = last(x - 1, y) + last(x + 1, y) + last(x, y - 1) + last(x, y + 1);
            f.compute_root();
            last = f;
          }
          last.compile_jit();
        }) < 8);
  CHECK(processor_seconds([&] {
          Expr e = x;
          for (int i = 0; i < 300; i++) e = select(x < i, in(clamp(x - i, 0, 100), y), e);
          Func f("f");
          f(x, y) = e;
          f.compile_jit();
        }) < 8);
}

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

TEST_CASE("limits: an expression that shares itself 40 times is refused at once") {
  Var x("x"), y("y");
  Expr e = x;
  for (int i = 0; i < 40; i++) e = select(x + y * i < i * 3, e + 1, e * 2 - y);
  CHECK(processor_seconds([&] {
          Func f("f");
          f(x, y) = e;
          CHECK_DIAG(f.realize({4, 4}), "S0118", "200000");
          CHECK_DIAG(f.print_loop_nest(), "S0118", "200000");
          RDom r(0, 4);
          Expr sums = x;
          for (int i = 0; i < 40; i++) sums = select(r < i, sums + r, sums * 2);
          Func g("g");
          g(x) = 0;
          g(x) += sums;
          CHECK_DIAG(g.realize({4}), "S0118", "200000");
          Func k("k");
          k(x) = sum(sums);
          CHECK_DIAG(k.realize({4}), "S0118", "200000");
          Func h("h");
          h(x, y) = f(x, y) + 1;
          f.compute_root();
          CHECK_DIAG(h.realize({4, 4}), "S0118", "200000");
        }) < 3);
}

TEST_CASE("limits: no other place of an expression hangs over one that shares itself 40 times") {
  Var x("x"), y("y");
  const auto shared = [](Expr e) {
    for (int i = 0; i < 40; i++) e = e * 3 + (e + i) % 5;
    return e;
  };
  Param<int> n("n");
  ImageParam in(Int(32), 1, "in");
  CHECK(processor_seconds([&] {
          Func at("at");
          RDom r4(0, 4);
          at(x) = 0;
          at(clamp(shared(r4), 0, 3)) = 1;
          CHECK_DIAG(at.realize({4}), "S0118", "200000");
          Func read("read");
          read(x) = in(clamp(shared(x), 0, 3));
          CHECK_DIAG(read.compile_jit(), "S0118", "200000");
          RDom to(0, shared(n));
          Func walk("walk");
          walk(x) = 0;
          walk(x) += to;
          CHECK_DIAG(walk.compile_jit(), "S0118", "200000");
          RDom some(0, 4);
          some.where(shared(x + some) > 0);
          Func where("where");
          where(x) = 0;
          where(x) += some;
          CHECK_DIAG(where.compile_jit(), "S0118", "200000");
          Func real("real");
          Expr r = cast<float>(x);
          for (int i = 0; i < 40; i++) r = r * r + r * 0.5f;
          real(x) = r;
          CHECK_DIAG(real.compile_jit(), "S0118", "200000");
          Func truth("truth");
          Expr t = x > 3;
          for (int i = 0; i < 40; i++) t = (t && x > i) || !t;
          truth(x) = t;
          CHECK_DIAG(truth.compile_jit(), "S0118", "200000");
          Func two("two");
          two(x) = Tuple(shared(x), x);
          CHECK_DIAG(two.compile_jit(), "S0118", "200000");
        }) < 3);
}

TEST_CASE("limits: expressions of directives, requirements and constraints do not hang either") {
  Var x("x"), xo("xo"), xi("xi");
  Param<int> n("n");
  ImageParam in(Int(32), 1, "in");
  Expr e = n;
  for (int i = 0; i < 40; i++) e = e * 3 + (e + i) % 5;
  CHECK(processor_seconds([&] {
          Func f("f");
          f(x) = require(e > 2, x, "too small");
          CHECK_DIAG(f.specialize(e > 3), "L0216", "directive has more than 10000 operations");
          CHECK_DIAG(f.split(x, xo, xi, e), "L0216", "directive");
          CHECK_DIAG(f.bound(x, 0, e), "L0216", "directive");
          CHECK_DIAG(Pipeline(f).add_requirement(e > 3, "too small"), "L0216", "requirement");
          CHECK_DIAG(in.dim(0).set_extent(e), "L0216", "constraint");
          CHECK_DIAG(f.realize({4}), "S0118", "200000");
        }) < 3);
}

TEST_CASE("compute_at Var::outermost() is outside of the consumer's loops") {
  Var x("x"), y("y");
  Func f("f"), g("g"), out("out");
  f(x, y) = x + y;
  g(x, y) = f(x, y) + f(x + 1, y);
  out(x, y) = g(x, y) * 2;
  g.compute_at(out, y);
  f.compute_at(g, Var::outermost());
  Buffer<int> result = out.realize({5, 3});
  CHECK(result(4, 2) == 26);
  CHECK(Pipeline(out).schedule_text().find("outermost") != std::string::npos);
  f.compute_at(LoopLevel(g, Var::outermost()));
  Buffer<int> again = out.realize({5, 3});
  CHECK(again(4, 2) == 26);
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

TEST_CASE("limits: realize of more elements than there is memory is a typed error") {
  Var x("x"), y("y");
  Func f("f");
  f(x, y) = x + y;
  CHECK_DIAG(f.realize({2000000, 200000}), "R0104", "no memory for the buffer f");
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
