// Buffers of the command: compared, described and saved.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "calo.h"

namespace calotype::cli {

// ---- describing -------------------------------------------------------------------------------------

std::string extents_text(const std::vector<int> &extents) { return run::extents_text(extents); }

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

double number_of(Type t, const uint8_t *at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(t.bytes()));
  if (t == Float(32)) {
    float f;
    std::memcpy(&f, at, 4);
    return static_cast<double>(f);
  }
  if (t == Float(64)) {
    double f;
    std::memcpy(&f, at, 8);
    return f;
  }
  if (t.is_uint()) return static_cast<double>(bits);
  const int unused = 64 - t.bits();
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

std::string difference(const std::string &name, const Image &x, const Image &y) {
  if (x.size_in_bytes() == 0 || std::memcmp(x.begin(), y.begin(), x.size_in_bytes()) == 0)
    return {};  // both dense, same order
  const Type t(x.type());
  const auto *base_x = x.raw_buffer()->host, *base_y = y.raw_buffer()->host;
  std::string text;
  uint64_t count = 0;
  run::each_element(x, [&](const uint8_t *at, const std::vector<int> &pos, uint64_t) {
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

std::string first_difference(const std::vector<std::string> &names, const std::vector<Image> &x,
                             const std::vector<Image> &y) {
  for (size_t i = 0; i < x.size(); i++) {
    const std::string text = difference(names[i], x[i], y[i]);
    if (!text.empty()) return text;
  }
  return {};
}

double largest_error(const std::vector<Image> &x, const std::vector<Image> &y) {
  double error = 0, scale = 0;
  for (size_t i = 0; i < x.size(); i++) {
    const Type t(x[i].type());
    const auto *base_x = x[i].raw_buffer()->host, *base_y = y[i].raw_buffer()->host;
    run::each_element(x[i], [&](const uint8_t *at, const std::vector<int> &, uint64_t) {
      const double a = number_of(t, at), b = number_of(t, base_y + (at - base_x));
      if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
      if (a == b || (std::isnan(a) && std::isnan(b))) return;
      error = std::isfinite(a - b) ? std::max(error, std::abs(a - b)) : INFINITY;
    });
  }
  return error == 0 ? 0 : error / scale;
}

void save(const std::string &file, const Image &image) {
  try {
    run::save(file, image);
  } catch (const run::Error &e) {
    raise_run_error(e, nullptr);
  }
}

}  // namespace calotype::cli
