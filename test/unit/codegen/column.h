// Arrays of any element type for the code generation tests, and the meaning of types written out in long double and
// 128-bit integers, sharing nothing with the compiler.
#pragma once

#include "base/type.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace codegen_test {

using calotype::Type;
using Wide = __int128;

/// An element value: `whole` for integers and bools, `real` for floats (long double holds every 64-bit value).
struct Scalar {
  Wide whole = 0;
  long double real = 0;
};

inline Wide wrap(Type t, Wide v) {
  int bits = t.bits();
  unsigned __int128 mask = (static_cast<unsigned __int128>(1) << bits) - 1;
  unsigned __int128 low = static_cast<unsigned __int128>(v) & mask;
  if (t.is_int() && (low >> (bits - 1)) & 1)
    return static_cast<Wide>(low) - (static_cast<Wide>(1) << bits);
  return static_cast<Wide>(low);
}

/// Bits of precision and the exponent of the smallest normal number.
struct FloatFormat {
  int precision, min_exponent, max_exponent;
};
inline FloatFormat format_of(Type t) {
  if (t.is_bfloat()) return {8, -126, 127};
  if (t.bits() == 16) return {11, -14, 15};
  if (t.bits() == 32) return {24, -126, 127};
  return {53, -1022, 1023};
}

/// The nearest value of float type `t`, ties to even.
inline long double round_to(Type t, long double x) {
  if (!std::isfinite(x) || x == 0) return x;
  FloatFormat f = format_of(t);
  int e = std::max(std::ilogb(x), f.min_exponent);
  long double unit = std::ldexp(1.0L, e - f.precision + 1);
  long double r = std::nearbyint(x / unit) * unit;
  if (std::fabs(r) >= std::ldexp(1.0L, f.max_exponent + 1)) {
    r = std::copysign(std::numeric_limits<long double>::infinity(), x);
  }
  return r == 0 ? std::copysign(0.0L, x) : r;
}

inline uint64_t encode(Type t, long double x) {
  x = round_to(t, x);
  if (t.bits() == 32) {
    float v = static_cast<float>(x);
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    return bits;
  }
  if (t.bits() == 64) {
    double v = static_cast<double>(x);
    uint64_t bits;
    std::memcpy(&bits, &v, 8);
    return bits;
  }
  FloatFormat f = format_of(t);
  int fraction = f.precision - 1;
  uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  uint64_t top = (static_cast<uint64_t>(f.max_exponent) * 2 + 1) << fraction;
  if (std::isnan(x)) return sign | top | (uint64_t(1) << (fraction - 1));
  if (std::isinf(x)) return sign | top;
  x = std::fabs(x);
  if (x == 0) return sign;
  int e = std::max(std::ilogb(x), f.min_exponent);
  auto whole = static_cast<uint64_t>(std::ldexp(x, fraction - e));
  // A normal number has the leading bit set; adding instead of masking carries it into the exponent.
  return sign | ((static_cast<uint64_t>(e - f.min_exponent) << fraction) + whole);
}

inline long double decode(Type t, uint64_t bits) {
  if (t.bits() == 32) {
    float v;
    auto b = static_cast<uint32_t>(bits);
    std::memcpy(&v, &b, 4);
    return v;
  }
  if (t.bits() == 64) {
    double v;
    std::memcpy(&v, &bits, 8);
    return v;
  }
  FloatFormat f = format_of(t);
  int fraction = f.precision - 1;
  auto exponent = static_cast<int>((bits & 0x7fff) >> fraction);
  uint64_t low = bits & ((uint64_t(1) << fraction) - 1);
  long double v;
  if (exponent == f.max_exponent * 2 + 1) {
    v = low ? std::numeric_limits<long double>::quiet_NaN()
            : std::numeric_limits<long double>::infinity();
  } else if (exponent == 0) {
    v = std::ldexp(static_cast<long double>(low), f.min_exponent - fraction);
  } else {
    v = std::ldexp(static_cast<long double>(low + (uint64_t(1) << fraction)),
                   exponent - 1 + f.min_exponent - fraction);
  }
  return bits & 0x8000 ? -v : v;
}

/// An array of elements of one type, with guard bytes around it.
class Column {
public:
  explicit Column(Type t, size_t n) : type(t), size(n), bytes_(n * t.bytes() + 2 * kGuard, 0xa5) {}
  Column(Type t, const std::vector<Scalar> &values) : Column(t, values.size()) {
    for (size_t i = 0; i < values.size(); i++) set(i, values[i]);
  }
  void *data() { return bytes_.data() + kGuard; }
  void set(size_t i, Scalar s) {
    uint64_t bits = type.is_float() ? encode(type, s.real) : static_cast<uint64_t>(s.whole);
    std::memcpy(at(i), &bits, type.bytes());
  }
  uint64_t bits(size_t i) const {
    uint64_t b = 0;
    std::memcpy(&b, const_cast<Column *>(this)->at(i), type.bytes());
    return b;
  }
  Scalar get(size_t i) const {
    Scalar s;
    if (type.is_float()) {
      s.real = decode(type, bits(i));
    } else {
      s.whole = wrap(type.is_bool() ? calotype::UInt(8) : type, static_cast<Wide>(bits(i)));
    }
    return s;
  }
  bool guards_intact() const {
    for (size_t i = 0; i < kGuard; i++) {
      if (bytes_[i] != 0xa5 || bytes_[bytes_.size() - 1 - i] != 0xa5) return false;
    }
    return true;
  }

  Type type;
  size_t size;

private:
  static constexpr size_t kGuard = 64;
  uint8_t *at(size_t i) { return bytes_.data() + kGuard + i * type.bytes(); }
  std::vector<uint8_t> bytes_;
};

/// Same bits, any NaN being as good as another.
inline bool same(Type t, uint64_t a, uint64_t b) {
  if (a == b) return true;
  return t.is_float() && std::isnan(decode(t, a)) && std::isnan(decode(t, b));
}

/// Values at which integer operations of type `t` go wrong.
inline std::vector<Scalar> edges(Type t) {
  std::vector<Scalar> v;
  auto add = [&](Wide x) {
    Scalar s;
    s.whole = wrap(t, x);
    v.push_back(s);
  };
  auto real = [&](long double x) {
    Scalar s;
    s.real = round_to(t, x);
    v.push_back(s);
  };
  if (t.is_bool()) {
    add(0), add(1);
  } else if (!t.is_float()) {
    for (int x : {0, 1, 2, 3, 5, 7, 13, 100, -1, -2, -3, -7, -100}) add(x);
    Wide top = static_cast<Wide>(1) << (t.bits() - 1);
    add(top), add(top - 1), add(top + 1), add(top - 5), add(top / 2), add(top / 3);
  } else {
    FloatFormat f = format_of(t);
    long double tiny = std::ldexp(1.0L, f.min_exponent - f.precision + 1);
    long double huge = std::ldexp(2.0L - std::ldexp(1.0L, 1 - f.precision), f.max_exponent);
    for (long double x : {0.0L,          0.5L,
                          1.0L,          1.5L,
                          2.5L,          3.14159L,
                          100.7L,        127.5L,
                          255.4L,        1e-3L,
                          32767.9L,      65535.5L,
                          2147483647.5L, 1e19L,
                          8388607.5L,    tiny,
                          3 * tiny,      std::ldexp(1.0L, f.min_exponent),
                          huge,          std::numeric_limits<long double>::infinity()}) {
      real(x), real(-x);
    }
    real(std::numeric_limits<long double>::quiet_NaN());
  }
  return v;
}

/// Every pair of edge values, padded to a multiple of 64.
inline void pairs(Type t, Type u, std::vector<Scalar> *a, std::vector<Scalar> *b) {
  for (const Scalar &x : edges(t)) {
    for (const Scalar &y : edges(u)) {
      a->push_back(x);
      b->push_back(y);
    }
  }
  while (a->size() % 64) {
    a->push_back(a->front());
    b->push_back(b->front());
  }
}

}  // namespace codegen_test
