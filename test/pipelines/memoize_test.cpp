// memoize: what is kept between runs, by which key, and what is dropped.
#include <doctest/doctest.h>

#include "compat/Halide.h"
#include "runtime/runtime.h"
#include "support/check_diag.h"

using namespace Halide;

namespace {
Var x("x"), y("y");
int g_calls = 0;
extern "C" int count_call(int v) {
  g_calls++;
  return v * 5;
}
struct Counted {
  Func f{"f"}, g{"g"};
  Pipeline p;
  template <typename Value> Counted(const Value &value, const EvictionKey &key = EvictionKey()) {
    f(x, y) =
        calotype::lang::extern_call(Int(32), "count_call", {Int(32)}, {Expr(x + y)}, false) + value;
    g(x, y) = f(x, y) + f(x + 1, y);
    f.compute_root().memoize(key);
    p = Pipeline(g);
    p.set_jit_externs({{"count_call", &count_call}});
  }
  /// Calls of count_call that one run makes; its values are checked.
  int run(int w, int h, int plus) {
    g_calls = 0;
    const Buffer<int> b = p.realize({w, h});
    int wrong = 0;
    b.for_each_element(
        [&](int i, int j) { wrong += b(i, j) != 5 * (i + j) + 5 * (i + 1 + j) + 2 * plus; });
    CHECK(wrong == 0);
    return g_calls;
  }
};
}  // namespace

TEST_CASE("memoize: a run with the same parameters and sizes computes nothing again") {
  calo_memo_clear();
  Param<int> k("k", 3);
  Counted c{Expr(k)};
  CHECK(c.run(7, 4, 3) == 32);
  CHECK(c.run(7, 4, 3) == 0);
  CHECK(c.run(6, 4, 3) == 28);  // another region
  CHECK(c.run(7, 4, 3) == 0);
  k.set(9);
  CHECK(c.run(7, 4, 9) == 32);
  k.set(3);
  CHECK(c.run(7, 4, 3) == 0);
}

TEST_CASE("memoize: another pipeline with other definitions has other keys") {
  calo_memo_clear();
  Counted a{Expr(1)}, b{Expr(2)};
  CHECK(a.run(5, 5, 1) == 30);
  CHECK(b.run(5, 5, 2) == 30);
  CHECK(a.run(5, 5, 1) == 0);
}

TEST_CASE("memoize: the bound drops what was used longest ago") {
  calo_memo_clear();
  JITSharedRuntime::memoization_cache_set_size(3 * 8 * 8 * 4);
  Param<int> k("k", 0);
  Counted c{Expr(k)};
  auto run = [&](int v) {
    k.set(v);
    return c.run(7, 8, v);
  };
  CHECK(run(1) == 64);
  CHECK(run(2) == 64);
  CHECK(run(3) == 64);
  CHECK(run(1) == 0);
  CHECK(run(4) == 64);  // drops 2
  CHECK(run(1) == 0);
  CHECK(run(3) == 0);
  CHECK(run(2) == 64);
  CHECK(calo_memo_bytes() <= 3 * 8 * 8 * 4);
  JITSharedRuntime::memoization_cache_set_size(0);
  CHECK(calo_memo_bytes() == 0);
  CHECK(run(2) == 64);
  CHECK(run(2) == 64);
  JITSharedRuntime::memoization_cache_set_size(16 << 20);
}

TEST_CASE("memoize: an eviction key drops its entries") {
  calo_memo_clear();
  Param<int> k("k", 1), which("which", 11);
  Counted c{Expr(k), EvictionKey(which)};
  CHECK(c.run(4, 4, 1) == 20);
  k.set(2);
  which.set(12);
  CHECK(c.run(4, 4, 2) == 20);
  JITSharedRuntime::memoization_cache_evict(11);
  CHECK(c.run(4, 4, 2) == 0);
  k.set(1);
  CHECK(c.run(4, 4, 1) == 20);
}

TEST_CASE("memoize: in a loop, each iteration's region is an entry of its own") {
  calo_memo_clear();
  Func f("f"), g("g");
  f(x, y) = calotype::lang::extern_call(Int(32), "count_call", {Int(32)}, {Expr(x + y)}, false);
  g(x, y) = f(x, y);
  f.compute_at(g, y).memoize();
  Pipeline p(g);
  p.set_jit_externs({{"count_call", &count_call}});
  g_calls = 0;
  p.realize({5, 3});
  CHECK(g_calls == 15);
  const Buffer<int> b = p.realize({5, 4});
  CHECK(g_calls == 20);
  CHECK(b(4, 3) == 35);
}

TEST_CASE("memoize: inputs need a tag, outputs and outer storage are refused") {
  calo_memo_clear();
  ImageParam in(Int(32), 2, "in");
  Param<int> version("version", 1);
  Func f("f"), g("g");
  f(x, y) = in(x, y) + 1;
  g(x, y) = f(x, y);
  f.compute_root().memoize();
  in.set(Buffer<int>(4, 4));
  CHECK_DIAG(g.realize({4, 4}), "S0108", "it reads the input in");
  Func tagged("tagged"), out("out");
  tagged(x, y) = memoize_tag(in(x, y), version) + 1;
  out(x, y) = tagged(x, y);
  tagged.compute_root().memoize();
  Buffer<int> data(4, 4);
  data.fill(7);
  in.set(data);
  Buffer<int> r = out.realize({4, 4});
  CHECK(r(1, 1) == 8);
  data.fill(20);
  r = out.realize({4, 4});
  CHECK(r(1, 1) == 8);  // as promised by the tag: the version is the same
  version.set(2);
  r = out.realize({4, 4});
  CHECK(r(1, 1) == 21);
  Func o("o");
  o(x) = x;
  o.memoize();
  CHECK_DIAG(o.realize({4}), "S0108", "an output");
  Func s("s"), t("t");
  s(x, y) = x + y;
  t(x, y) = s(x, y) + s(x, y + 1);
  s.store_root().compute_at(t, y).memoize();
  CHECK_DIAG(t.realize({4, 4}), "S0115", "memoized");
}
