// Buffers that lie on themselves: usual layouts, interlocking strides, and every small layout against counting.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "runtime/runtime.h"

namespace {

using Dims = std::vector<halide_dimension_t>;

bool overlaps(Dims dims) {
  halide_buffer_t b{};
  b.dimensions = static_cast<int>(dims.size());
  b.dim = dims.data();
  return calo_overlaps_itself(&b);
}

bool repeats(const Dims &dims) {
  std::set<int64_t> seen;
  const auto visit = [&](const auto &self, size_t d, int64_t at) -> bool {
    if (d == dims.size()) return !seen.insert(at).second;
    bool any = false;
    for (int i = 0; i < dims[d].extent; i++)
      any |= self(self, d + 1, at + int64_t(dims[d].stride) * i);
    return any;
  };
  return visit(visit, 0, 0);
}

}  // namespace

TEST_CASE("overlap: usual layouts do not, layouts of one address do") {
  CHECK_FALSE(overlaps({}));
  CHECK_FALSE(overlaps({{0, 640, 1}, {0, 480, 640}, {0, 3, 640 * 480}}));
  CHECK_FALSE(overlaps({{0, 640, 3}, {0, 480, 640 * 3}, {0, 3, 1}}));  // interleaved
  CHECK_FALSE(overlaps({{0, 640, -1}, {0, 480, -700}}));               // mirrored, padded
  CHECK_FALSE(overlaps({{0, 1, 0}, {0, 480, 1}, {0, 1, -5}}));
  CHECK_FALSE(overlaps({{0, 0, 1}, {0, 480, 0}}));  // no elements
  CHECK_FALSE(overlaps({{0, INT32_MAX, 1}, {0, 1 << 28, INT32_MAX}}));
  CHECK_FALSE(overlaps({{0, 3, 1000003}, {0, 1000, 1000000}}));  // interlocked, 3 apart
  CHECK(overlaps({{0, 640, 1}, {0, 480, 1}}));
  CHECK(overlaps({{0, 2, 0}}));
  CHECK(overlaps({{0, 640, 1}, {0, 480, 639}}));
  CHECK(overlaps({{0, 640, 1}, {0, 480, 640}, {0, 3, 0}}));
  CHECK(overlaps({{0, 3, INT32_MIN}, {0, 3, INT32_MIN}}));
  CHECK(overlaps(Dims(100, {0, 2, 1})));
}

TEST_CASE("overlap: what takes too long to prove is refused, soon") {
  Dims dims;
  for (int i = 0; i < 30; i++) dims.push_back({0, 2, (1 << 30) + 7919 * i * i + i});
  CHECK(overlaps(dims));
}

TEST_CASE("overlap: agrees with counting on small layouts") {
  int different = 0, overlapping = 0;
  uint32_t state = 12345;
  const auto draw = [&](int n) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int>((state >> 16) % static_cast<uint32_t>(n));
  };
  for (int round = 0; round < 20000; round++) {
    Dims dims;
    for (int d = draw(4); d >= 0; d--) dims.push_back({draw(9) - 4, draw(5), draw(81) - 40});
    const bool expected = repeats(dims);
    overlapping += expected;
    different += overlaps(dims) != expected;
  }
  CHECK(different == 0);
  CHECK(overlapping > 1000);
  CHECK(overlapping < 19000);
}
