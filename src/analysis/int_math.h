// Integer arithmetic for analyses: floor division, greatest common divisors, 64-bit operations that wrap or that
// report overflow, and the types that count as index arithmetic.
#pragma once

#include <cstdint>

#include "../base/type.h"

namespace calotype::analysis {

/// Index arithmetic: Int(32) and Int(64), which analyses take not to overflow. Narrower and unsigned types wrap.
inline bool is_index(Type t) { return t.is_int() && t.bits() >= 32; }

inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline bool add_overflows(int64_t a, int64_t b, int64_t *r) {
  return __builtin_add_overflow(a, b, r);
}
inline bool mul_overflows(int64_t a, int64_t b, int64_t *r) {
  return __builtin_mul_overflow(a, b, r);
}

/// Quotient and remainder as the language defines them: remainder in [0, |b|), x / 0 = x % 0 = 0.
inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  int64_t r = a % b;
  return r < 0 ? (b > 0 ? r + b : r - b) : r;
}
inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap_sub(0, a);
  int64_t q = a / b;
  if (a % b < 0) q += b > 0 ? -1 : 1;
  return q;
}
/// Non-negative; gcd(0, x) = |x|. INT64_MIN counts as 2^63 and gives at most 2^62.
inline int64_t gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  uint64_t y = b < 0 ? 0 - static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  while (y != 0) {
    uint64_t t = x % y;
    x = y;
    y = t;
  }
  while (x > static_cast<uint64_t>(INT64_MAX)) x /= 2;
  return static_cast<int64_t>(x);
}
/// `v` as a value of an integer type of `bits` bits.
inline int64_t wrap_to(Type t, int64_t v) {
  int bits = t.bits();
  if (bits >= 64) return v;
  uint64_t low = static_cast<uint64_t>(v) & ((uint64_t(1) << bits) - 1);
  if (t.is_int() && (low >> (bits - 1))) low |= ~uint64_t(0) << bits;
  return static_cast<int64_t>(low);
}

}  // namespace calotype::analysis
