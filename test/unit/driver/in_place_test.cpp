// An output may be the same memory as an input that is read only where it is written; other overlap is refused.
#include <doctest/doctest.h>

#include "calotype.h"
#include "support/check_diag.h"

using namespace calotype;

TEST_CASE("in place: a pointwise pipeline may overwrite its input, at every width") {
  Var x("x"), y("y");
  ImageParam in(Int(32), 2, "in");
  Func f("f");
  f(x, y) = in(x, y) * 2 + 1;
  f.vectorize(x, 8).parallel(y);
  for (int width : {1, 7, 8, 9, 16, 37}) {
    Buffer<int> b(width, 5);
    b.for_each_element([&](int i, int j) { b(i, j) = i + 100 * j; });
    in.set(b);
    f.realize(b);
    int wrong = 0;  // a block computed twice would be doubled twice
    b.for_each_element([&](int i, int j) { wrong += b(i, j) != (i + 100 * j) * 2 + 1; });
    CHECK(wrong == 0);
  }
}

TEST_CASE("in place: memory that is read elsewhere, or is shifted, is refused") {
  Var x("x");
  ImageParam in(Int(32), 1, "in");
  Buffer<int> memory(40);
  memory.fill(1);
  Func f("f"), g("g");
  f(x) = in(x) + in(x + 1);
  in.set(memory);
  Buffer<int> out = memory.cropped(0, 0, 37);
  CHECK_DIAG(f.realize(out), "R0101", "share memory");
  g(x) = in(x) + 1;  // pointwise, but the output lies two elements further
  Buffer<int> first = memory.cropped(0, 0, 30), later = memory.cropped(0, 2, 30);
  later.set_min(0);
  in.set(first);
  CHECK_DIAG(g.realize(later), "R0101", "share memory");
  Buffer<int> apart(30);
  g.realize(apart);
  CHECK(apart(29) == 2);
}
