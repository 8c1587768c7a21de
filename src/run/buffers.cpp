// See buffers.h.
#include "buffers.h"

#include <algorithm>
#include <cstring>

#include "values.h"

namespace calotype::run {

namespace {

constexpr double kMostBytes = 64e9;

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The bits of element number i of a random buffer.
uint64_t random_bits(halide_type_t t, uint64_t seed, uint64_t i) {
  const uint64_t r = mixed(seed * 0x632be59bd9b4e019u + i);
  uint64_t bits = 0;
  if (t == halide_type_t(halide_type_float, 32)) {
    const float f = static_cast<float>(r >> 40) * (1.0f / 16777216.0f);
    std::memcpy(&bits, &f, 4);
  } else if (t == halide_type_t(halide_type_float, 64)) {
    const double f = static_cast<double>(r >> 11) * (1.0 / 9007199254740992.0);
    std::memcpy(&bits, &f, 8);
  } else {
    bits = t.bits == 1 ? r & 1 : r;
  }
  return bits;
}

std::string size_text(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
  return text;
}

}  // namespace

Image allocate(halide_type_t t, const Shape &shape, const std::vector<int> &order) {
  double bytes = t.bytes();
  std::vector<int> extents;
  for (const Range &r : shape) {
    bytes *= std::max(r.extent, 1);
    extents.push_back(r.extent);
  }
  if (bytes > kMostBytes) {
    throw Error("R0104", "a buffer of " + size_text(bytes) + " is too large");
  }
  Image image;
  try {
    image = Image(t, extents, order);
  } catch (const std::bad_alloc &) {
    throw Error("R0104", "no memory for a buffer of " + size_text(bytes));
  }
  for (size_t d = 0; d < shape.size(); d++) image.translate(static_cast<int>(d), shape[d].min);
  return image;
}

Shape shape_of(const Image &image) {
  Shape shape;
  for (int d = 0; d < image.dimensions(); d++)
    shape.push_back({image.dim(d).min(), image.dim(d).extent()});
  return shape;
}

Image allocate_like(const Image &image) {
  std::vector<int> order;
  for (int d = 0; d < image.dimensions(); d++) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) {
    return std::abs(image.dim(x).stride()) < std::abs(image.dim(y).stride());
  });
  return allocate(image.type(), shape_of(image), order);
}

std::vector<int> storage_order(const halide_buffer_t &b) {
  std::vector<int> innermost, strided, rest;
  int64_t usual = 1;
  for (int d = 0; d < b.dimensions; d++) {
    const int64_t stride = b.dim[d].stride;
    if (stride == 1 && (usual != 1 || d == 0)) {
      // Dimension 0 has stride 1 anyway: it gives way to one that must.
      (d == 0 ? rest : innermost).push_back(d);
    } else if (stride != usual) {
      strided.push_back(d);
    } else {
      rest.push_back(d);
    }
    usual = stride * std::max(b.dim[d].extent, 0);
  }
  std::stable_sort(strided.begin(), strided.end(),
                   [&](int x, int y) { return b.dim[x].stride < b.dim[y].stride; });
  std::vector<int> order = innermost;
  order.insert(order.end(), strided.begin(), strided.end());
  order.insert(order.end(), rest.begin(), rest.end());
  return order;
}

void fill_random(const Image &image, uint64_t seed) {
  const halide_type_t t = image.type();
  each_element(image, [&](uint8_t *at, const std::vector<int> &, uint64_t n) {
    const uint64_t bits = random_bits(t, seed, n);
    std::memcpy(at, &bits, static_cast<size_t>(t.bytes()));
  });
}

void fill_constant(const Image &image, uint64_t bits, bool diagonal_only) {
  const auto bytes = static_cast<size_t>(image.type().bytes());
  const bool same_bytes = bits == (bits & 0xff) * 0x0101010101010101u >> (64 - 8 * bytes);
  if (same_bytes && (!diagonal_only || bits == 0) && image.size_in_bytes() > 0) {
    std::memset(image.raw_buffer()->host, static_cast<int>(bits & 0xff), image.size_in_bytes());
    return;
  }
  each_element(image, [&](uint8_t *at, const std::vector<int> &pos, uint64_t) {
    bool diagonal = true;
    for (int p : pos) diagonal = diagonal && p == pos[0];
    const uint64_t value = diagonal || !diagonal_only ? bits : 0;
    std::memcpy(at, &value, bytes);
  });
}

std::string extents_text(const std::vector<int> &extents) {
  std::string text;
  for (int e : extents) text += (text.empty() ? "" : " x ") + std::to_string(e);
  return text.empty() ? "scalar" : text;
}

std::string extents_text(const Shape &shape) {
  std::vector<int> extents;
  for (const Range &r : shape) extents.push_back(r.extent);
  return extents_text(extents);
}

}  // namespace calotype::run
