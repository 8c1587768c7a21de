// Buffers of a run: made in the layout that a pipeline wants, filled, described.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../runtime/HalideBuffer.h"

namespace calotype::run {

using Image = Halide::Runtime::Buffer<void>;

struct Range {
  int min = 0, extent = 0;
};
using Shape = std::vector<Range>;

/// Dense memory; `order`: dimensions from the innermost outwards. Throws Error R0104 above 64 GB.
Image allocate(halide_type_t t, const Shape &shape, const std::vector<int> &order);
/// The same layout, new memory.
Image allocate_like(const Image &image);
/// Dimensions by the strides of `b`, as a bounds query answers them: a dimension whose stride is not what
/// dense memory in the usual order would have has been asked for, and 1 means innermost.
std::vector<int> storage_order(const halide_buffer_t &b);
Shape shape_of(const Image &image);

/// Integers over their whole type, floats in [0, 1); the same for a seed on every machine.
void fill_random(const Image &image, uint64_t seed);
/// `bits` everywhere, or only where all coordinates are equal and 0 elsewhere.
void fill_constant(const Image &image, uint64_t bits, bool diagonal_only);

std::string extents_text(const std::vector<int> &extents);  ///< "512 x 512 x 3"
std::string extents_text(const Shape &shape);

/// Calls f(host pointer, position from the mins, running number) for each element, dimension 0 fastest.
template <typename F> void each_element(const Image &image, F &&f) {
  const int rank = image.dimensions();
  std::vector<int> pos(static_cast<size_t>(rank));
  for (int d = 0; d < rank; d++) {
    if (image.dim(d).extent() <= 0) return;
  }
  const halide_buffer_t &raw = *image.raw_buffer();
  const int64_t bytes = raw.type.bytes();
  for (uint64_t n = 0;; n++) {
    int64_t offset = 0;
    for (int d = 0; d < rank; d++) offset += int64_t(pos[d]) * raw.dim[d].stride;
    f(raw.host + offset * bytes, pos, n);
    int d = 0;
    while (d < rank && ++pos[d] == raw.dim[d].extent) pos[d++] = 0;
    if (d == rank) return;
  }
}

}  // namespace calotype::run
