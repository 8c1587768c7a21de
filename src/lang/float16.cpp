// Conversions of 16-bit floats. Tests: test/unit/lang/float16_test.cpp.
#include "float16.h"

#include <cmath>

namespace calotype::lang {

uint16_t float_to_bits16(double v, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isnan(v)) return static_cast<uint16_t>(sign | infinity | 1 << (mantissa_bits - 1));
  if (std::isinf(v)) return sign | infinity;
  if (v == 0) return sign;
  int exponent = 0;
  std::frexp(v, &exponent);       // |v| in [0.5, 1) * 2^exponent
  const int smallest = 2 - bias;  // below, numbers are denormal and share the smallest spacing
  const int unit = (exponent > smallest ? exponent : smallest) - 1 - mantissa_bits;
  // In units of the last place, rounded to even; then a carry into the exponent is plain addition.
  const double places = std::nearbyint(std::ldexp(std::fabs(v), -unit));
  const int base = exponent > smallest ? (exponent - 1 + bias - 1) << mantissa_bits : 0;
  const double bits = base + places;
  return static_cast<uint16_t>(sign | (bits >= infinity ? infinity : static_cast<uint16_t>(bits)));
}

double bits16_to_float(uint16_t bits, int mantissa_bits) {
  const int exponent_bits = 15 - mantissa_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

}  // namespace calotype::lang
