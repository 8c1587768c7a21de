// Indices that other Funcs compute: regions come from what those Funcs' definitions say of their values.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "calotype.h"
#include "support/check_diag.h"

using namespace calotype;

namespace {

/// in(i) = 10 i, i from 0 to 9.
Buffer<int> tens() {
  Buffer<int> b(10);
  for (int i = 0; i < 10; i++) b(i) = 10 * i;
  return b;
}

}  // namespace

TEST_CASE("func values: an index that a Func clamps needs no clamp of its own") {
  Var x("x");
  ImageParam at(Int(32), 1, "at");
  Func index("index"), table("table"), f("f");
  index(x) = clamp(at(x), 0, 9);
  table(x) = 10 * x;
  f(x) = table(index(x)) + table(index(x) / 2);
  index.compute_root();
  table.compute_root();
  Buffer<int> where(5);
  const int given[] = {-5, 0, 3, 9, 70};
  for (int i = 0; i < 5; i++) where(i) = given[i];
  at.set(where);
  const Buffer<int> got = f.realize({5});
  const int expected[] = {0, 0, 40, 130, 130};
  for (int i = 0; i < 5; i++) CHECK(got(i) == expected[i]);
}

TEST_CASE(
    "func values: of floats, where NaN counts as index 0, and through updates and reductions") {
  Var x("x");
  ImageParam at(Float(32), 1, "at");
  Param<float> scale("scale");
  Func value("value"), table("table"), f("f"), steps("steps");
  value(x) = clamp(at(x), 1.0f, 2.0f);
  table(x) = 10 * x;
  f(x) = table(cast<int>(value(x) * scale + 0.5f));
  value.compute_root();
  table.compute_root();
  Buffer<float> where(4);
  const float given[] = {-1.0f, 1.5f, 9.0f, NAN};
  for (int i = 0; i < 4; i++) where(i) = given[i];
  at.set(where);
  scale.set(3.0f);
  Buffer<int> got = f.realize({4});
  const int expected[] = {30, 50, 60, 0};
  for (int i = 0; i < 4; i++) CHECK(got(i) == expected[i]);

  RDom r(0, 4, "r");
  Func chosen("chosen"), g("g");
  chosen(x) = 7;
  chosen(r) = min(r, 3) + 2;
  g(x) = table(chosen(x));
  chosen.compute_root();
  got = g.realize({6});
  const int picked[] = {20, 30, 40, 50, 70, 70};
  for (int i = 0; i < 6; i++) CHECK(got(i) == picked[i]);
}

TEST_CASE("func values: what has no bounds is refused, for readers and for updates that write") {
  Var x("x");
  ImageParam at(Int(32), 1, "at");
  Func index("index"), table("table"), f("f");
  index(x) = at(x);
  table(x) = 10 * x;
  f(x) = table(index(x));
  index.compute_root();
  table.compute_root();
  at.set(tens());
  CHECK_DIAG(f.realize({5}), "B0101", "the region of table that its readers need is unbounded");

  RDom r(0, 5, "r");
  Func count("count"), g("g");
  count(x) = 0;
  count(index(r)) += 1;
  g(x) = count(x);
  count.compute_root();
  CHECK_DIAG(g.realize({5}), "B0101", "the region of count that its updates write is unbounded");

  Func itself("itself"), h("h");  // its own values are not known while they are being found
  itself(x) = 0;
  itself(r) = itself(r) + 1;
  h(x) = table(itself(x));
  itself.compute_root();
  CHECK_DIAG(h.realize({5}), "B0101", "table");
}
