// Buffers of the command: made, filled, compared, described and saved.
#include <algorithm>
#include <cstring>

#include "../io/image.h"
#include "../ir/nodes.h"
#include "calo.h"

namespace calotype::cli {

namespace {

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The bits of element number i of a random buffer: integers over their type, floats in [0, 1).
uint64_t random_bits(Type t, uint64_t seed, uint64_t i) {
  const uint64_t r = mixed(seed * 0x632be59bd9b4e019u + i);
  uint64_t bits = 0;
  if (t == Float(32)) {
    const float f = static_cast<float>(r >> 40) * (1.0f / 16777216.0f);
    std::memcpy(&bits, &f, 4);
  } else if (t == Float(64)) {
    const double f = static_cast<double>(r >> 11) * (1.0 / 9007199254740992.0);
    std::memcpy(&bits, &f, 8);
  } else {
    bits = t.is_bool() ? r & 1 : r;
  }
  return bits;
}

/// Calls f(host pointer, coordinates, running number) for each element, dimension 0 fastest.
template <typename F> void each_element(const Image &image, F &&f) {
  const int rank = image.dimensions();
  std::vector<int> pos(rank);
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

}  // namespace

// ---- making -----------------------------------------------------------------------------------------

/// Dimensions in memory order: those whose stride must be 1 first.
std::vector<int> storage_order(int rank, const ir::Parameter *p) {
  std::vector<int> order;
  const auto must_be_dense = [&](int d) {
    if (!p || d >= static_cast<int>(p->dims.size())) return false;
    const Expr &stride = p->dims[d].stride;
    return stride.defined() && ir::is_const_one(stride);
  };
  for (int d = 0; d < rank; d++) {
    if (must_be_dense(d)) order.push_back(d);
  }
  for (int d = 0; d < rank; d++) {
    if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
  }
  return order;
}

Image allocate(Type t, const std::vector<int> &extents, const ir::Parameter *p) {
  double bytes = t.bytes();
  for (int e : extents) bytes *= std::max(e, 1);
  if (bytes > 64e9) {
    raise(
        Diagnostic("R0104", {}, "a buffer of " + std::to_string(bytes / 1e9) + " GB is too large"));
  }
  return Image(halide_type_t(t), extents, storage_order(static_cast<int>(extents.size()), p));
}

void fill_random(const Image &image, Type t, uint64_t seed) {
  each_element(image, [&](uint8_t *at, const std::vector<int> &, uint64_t n) {
    const uint64_t bits = random_bits(t, seed, n);
    std::memcpy(at, &bits, t.bytes());
  });
}

void fill_constant(const Image &image, Type t, uint64_t bits, bool diagonal_only) {
  each_element(image, [&](uint8_t *at, const std::vector<int> &pos, uint64_t) {
    bool diagonal = true;
    for (int p : pos) diagonal = diagonal && p == pos[0];
    const uint64_t value = diagonal || !diagonal_only ? bits : 0;
    std::memcpy(at, &value, t.bytes());
  });
}

// ---- describing -------------------------------------------------------------------------------------

std::string extents_text(const std::vector<int> &extents) {
  std::string text;
  for (int e : extents) text += (text.empty() ? "" : " x ") + std::to_string(e);
  return text.empty() ? "scalar" : text;
}

std::vector<int> extents_of(const Image &image) {
  std::vector<int> extents;
  for (int d = 0; d < image.dimensions(); d++) extents.push_back(image.dim(d).extent());
  return extents;
}

std::string type_text(Type t) {
  if (t.is_bool()) return "bool";
  const char *kind = t.is_bfloat()  ? "bfloat"
                     : t.is_float() ? "float"
                     : t.is_uint()  ? "uint"
                                    : "int";
  return kind + std::to_string(t.bits());
}

std::string shape_text(const Image &image) {
  return extents_text(extents_of(image)) + " " + type_text(Type(image.type()));
}

Image Output::make() const {
  Image image = Image(halide_type_t(type), extents, order);
  for (size_t d = 0; d < mins.size(); d++) image.translate(static_cast<int>(d), mins[d]);
  return image;
}

// ---- comparing --------------------------------------------------------------------------------------

namespace {

bool is_nan(Type t, uint64_t bits) {
  if (!t.is_float()) return false;
  const int mantissa = t.is_bfloat() ? 7 : t.bits() == 16 ? 10 : t.bits() == 32 ? 23 : 52;
  const uint64_t sign_off = bits & ((uint64_t(1) << (t.bits() - 1)) - 1);
  const uint64_t infinity = ((uint64_t(1) << (t.bits() - 1 - mantissa)) - 1) << mantissa;
  return sign_off > infinity;
}

std::string value_text(Type t, uint64_t bits) {
  char out[64];
  if (t == Float(32)) {
    float f;
    std::memcpy(&f, &bits, 4);
    std::snprintf(out, sizeof out, "%.9g", static_cast<double>(f));
  } else if (t == Float(64)) {
    double f;
    std::memcpy(&f, &bits, 8);
    std::snprintf(out, sizeof out, "%.17g", f);
  } else if (t.is_int()) {
    const int unused = 64 - t.bits();
    std::snprintf(out, sizeof out, "%lld",
                  static_cast<long long>(static_cast<int64_t>(bits << unused) >> unused));
  } else {
    std::snprintf(out, sizeof out, "%llu", static_cast<unsigned long long>(bits));
  }
  return out;
}

std::string difference(const std::string &name, const Image &x, const Image &y) {
  if (std::memcmp(x.begin(), y.begin(), x.size_in_bytes()) == 0)
    return {};  // both dense, same order
  const Type t(x.type());
  const auto *base_x = x.raw_buffer()->host, *base_y = y.raw_buffer()->host;
  std::string text;
  uint64_t count = 0;
  each_element(x, [&](const uint8_t *at, const std::vector<int> &pos, uint64_t) {
    uint64_t a = 0, b = 0;
    std::memcpy(&a, at, t.bytes());
    std::memcpy(&b, base_y + (at - base_x), t.bytes());
    if (a == b || (is_nan(t, a) && is_nan(t, b))) return;
    if (count++ > 0) return;
    for (size_t d = 0; d < pos.size(); d++) {
      text += (d ? ", " : "") + std::to_string(pos[d] + x.dim(static_cast<int>(d)).min());
    }
    text = name + "(" + text + ") is " + value_text(t, a) + ", not " + value_text(t, b);
  });
  if (count > 1) text += " (" + std::to_string(count) + " values differ)";
  return text;
}

}  // namespace

std::string first_difference(const Arguments &a, const std::vector<Image> &x,
                             const std::vector<Image> &y) {
  for (size_t i = 0; i < x.size(); i++) {
    const std::string text = difference(a.outputs[i].name, x[i], y[i]);
    if (!text.empty()) return text;
  }
  return {};
}

void save(const std::string &file, const Image &image) {
  try {
    io::save(file, *image.raw_buffer());
  } catch (const io::FileError &e) {
    raise(Diagnostic("R0201", {}, e.what()));
  } catch (const std::invalid_argument &e) {
    raise(Diagnostic("R0201", {}, file + ": " + e.what()));
  }
}

}  // namespace calotype::cli
