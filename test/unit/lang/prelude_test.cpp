// Inline reductions, edges and lambda, by the interpreter, against loops written from their definitions.
#include <doctest/doctest.h>

#include <algorithm>

#include "support.h"
#include "support/check_diag.h"

using namespace calotype;
using calotype::test::interpret_row;
using calotype::test::interpret_scalar;
using calotype::test::program;

namespace {
Var x("x"), y("y");

ImageParam row_input(int min, const std::vector<int> &values) {
  ImageParam im(Int(32), 1, "im");
  Buffer<int> b(static_cast<int>(values.size()));
  std::copy(values.begin(), values.end(), b.begin());
  b.set_min(min);
  im.set(b);
  return im;
}
using Ints = std::vector<int>;

/// What an edge should read at i, from the picture in its documentation.
int repeat(int i, int lo, int n) { return std::min(std::max(i, lo), lo + n - 1); }
int wrap(int i, int lo, int n) {
  while (i < lo) i += n;
  while (i >= lo + n) i -= n;
  return i;
}
int mirror(int i, int lo, int n) {
  for (;;) {
    if (i < lo) {
      i = 2 * lo - 1 - i;
    } else if (i >= lo + n) {
      i = 2 * (lo + n) - 1 - i;
    } else {
      return i;
    }
  }
}
int mirror_inner(int i, int lo, int n) {
  if (n == 1) return lo;
  for (;;) {
    if (i < lo) {
      i = 2 * lo - i;
    } else if (i >= lo + n) {
      i = 2 * (lo + n - 1) - i;
    } else {
      return i;
    }
  }
}

template <typename Edge>
void check_edge(Func (*condition)(const BoundaryConditions::Source &, const Region &, SrcLoc),
                Edge edge) {
  for (int n : {1, 2, 5}) {
    for (int lo : {0, -3, 7}) {
      Ints values;
      for (int i = 0; i < n; i++) values.push_back(100 + i * i);
      ImageParam im = row_input(lo, values);
      const Func f = condition(im, Region(), SrcLoc());
      const Ints got = interpret_row<int>(f, lo - 12, 24 + n);
      for (int i = lo - 12; i < lo + 12 + n; i++) {
        CAPTURE(n);
        CAPTURE(lo);
        CAPTURE(i);
        CHECK(got[static_cast<size_t>(i - (lo - 12))] ==
              values[static_cast<size_t>(edge(i, lo, n) - lo)]);
      }
    }
  }
}
}  // namespace

TEST_CASE("edges: repeat_edge") { check_edge(BoundaryConditions::repeat_edge, repeat); }
TEST_CASE("edges: repeat_image") { check_edge(BoundaryConditions::repeat_image, wrap); }
TEST_CASE("edges: mirror_image") { check_edge(BoundaryConditions::mirror_image, mirror); }
TEST_CASE("edges: mirror_interior") {
  check_edge(BoundaryConditions::mirror_interior, mirror_inner);
}

TEST_CASE("edges: constant_exterior") {
  ImageParam im = row_input(2, {5, 6, 7});
  const Func f = BoundaryConditions::constant_exterior(im, 9);
  CHECK(interpret_row<int>(f, 0, 7) == Ints{9, 9, 5, 6, 7, 9, 9});
}

namespace {
template <typename Input> Func edge_in_template(const Input &input) {
  return BoundaryConditions::repeat_edge(input, {});
}
}  // namespace

TEST_CASE("edges: empty bounds are the source's own") {
  ImageParam im = row_input(2, {5, 6, 7});
  CHECK(interpret_row<int>(edge_in_template(im), 0, 7) == Ints{5, 5, 5, 6, 7, 7, 7});
  CHECK(interpret_row<int>(BoundaryConditions::constant_exterior(im, 9, {}), 0, 4) ==
        Ints{9, 9, 5, 6});
  // Bounds as pairs of min and extent.
  CHECK(interpret_row<int>(BoundaryConditions::constant_exterior(im, 9, 3, 2), 2, 4) ==
        Ints{9, 6, 7, 9});
  Func f("f");
  f(x) = 10 * x;
  CHECK(interpret_row<int>(BoundaryConditions::repeat_edge(f, 1, 2), 0, 4) == Ints{10, 10, 20, 20});
  CHECK_DIAG(BoundaryConditions::mirror_image(f, 1, 2, 3), "L0105", "pairs of a min and an extent");
}

TEST_CASE("edges: on Funcs with bounds, on Buffers, on some dimensions only") {
  Func f("f");
  f(x, y) = x + 10 * y;
  const Func edge = BoundaryConditions::repeat_edge(f, {{Expr(), Expr()}, {0, 2}});
  Func row("row");
  row(x) = edge(x, 5) + edge(-1, x) * 0;
  CHECK(interpret_row<int>(row, 0, 3) == Ints{10, 11, 12});
  Buffer<int> b(3);
  b(0) = 4, b(1) = 5, b(2) = 6;
  CHECK(interpret_row<int>(BoundaryConditions::repeat_edge(b), -1, 5) == Ints{4, 4, 5, 6, 6});
  Func pair("pair");
  pair(x) = Tuple(x, x * 2);
  const Func outside = BoundaryConditions::constant_exterior(pair, Tuple(7, 8), {{0, 2}});
  Func second("second");
  second(x) = outside(x)[1];
  CHECK(interpret_row<int>(second, -1, 4) == Ints{8, 0, 2, 8});
}

TEST_CASE("reductions: sum, product, maximum, minimum") {
  ImageParam im = row_input(0, {3, -1, 4, 1, -5, 9});
  RDom r(0, 3);
  Func f("f");
  f(x) = sum(im(x + r)) * 1000000 + (product(im(x + r)) + 500) * 1000 + maximum(im(x + r)) * 10 +
         minimum(im(x + r));
  for (int i = 0; i < 4; i++) {
    const int v[] = {3, -1, 4, 1, -5, 9};
    const int s = v[i] + v[i + 1] + v[i + 2], p = v[i] * v[i + 1] * v[i + 2];
    const int hi = std::max({v[i], v[i + 1], v[i + 2]}), lo = std::min({v[i], v[i + 1], v[i + 2]});
    CHECK(interpret_row<int>(f, i, 1)[0] == s * 1000000 + (p + 500) * 1000 + hi * 10 + lo);
  }
}

TEST_CASE("reductions: over a given RDom, also where it is not used") {
  RDom r(0, 5), s(0, 3);
  Func f("f"), g("g");
  f() = sum(r, 2);
  CHECK(interpret_scalar<int>(f) == 10);
  g(x) = 0;
  g(x) += s * sum(r, r + s);  // s is a free variable of the inner reduction
  CHECK(interpret_row<int>(g, 0, 1)[0] == 0 * 10 + 1 * 15 + 2 * 20);
}

TEST_CASE("reductions: a predicate narrows an inline reduction") {
  RDom r(0, 10);
  r.where(r % 2 == 1);
  Func f("f");
  f() = sum(r);
  CHECK(interpret_scalar<int>(f) == 25);
}

TEST_CASE("reductions: argmax and argmin keep the first of equals") {
  ImageParam im = row_input(0, {1, 7, 3, 7, 0, 0});
  RDom r(0, 6);
  const Tuple hi = argmax(im(r)), lo = argmin(im(r));
  Func f("f");
  f() = hi[0] * 1000 + hi[1] * 100 + lo[0] * 10 + lo[1];
  CHECK(interpret_scalar<int>(f) == 1740);
}

TEST_CASE("lambda: unnamed Funcs in place") {
  const Func f = lambda(x, y, x * 10 + y);
  CHECK(f.dimensions() == 2);
  Func g("g");
  g(x) = lambda(y, y + 1)(x) + f(x, 2);
  CHECK(interpret_row<int>(g, 0, 3) == Ints{3, 14, 25});
}

TEST_CASE("reductions: several of one name get numbers") {
  RDom r(0, 2);
  Func f("f");
  const Expr first = sum(x + r), second = sum(x * r);
  f(x) = first + second;
  std::vector<std::string> names;
  for (const ir::Function &fn : program({f}).funcs) names.push_back(fn.name.str());
  CHECK(names == std::vector<std::string>{"sum[0]", "sum[1]", "f"});
}
