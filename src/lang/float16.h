// float16_t and bfloat16_t: 16-bit floats as C++ values, converted in software.
#pragma once

#include <cstdint>

#include "../base/export.h"
#include "../runtime/HalideRuntime.h"

namespace calotype {

namespace lang {
/// `v` rounded once, to nearest even, to a float of 16 bits with this many mantissa bits.
CALO_EXPORT uint16_t float_to_bits16(double v, int mantissa_bits);
CALO_EXPORT double bits16_to_float(uint16_t bits, int mantissa_bits);
}  // namespace lang

/// Common to both: `Mantissa` bits of fraction, 15 - Mantissa of exponent.
template <typename Self, int Mantissa> struct Float16Base {
  Float16Base() = default;
  explicit Float16Base(double v) : bits_(lang::float_to_bits16(v, Mantissa)) {}
  uint16_t to_bits() const { return bits_; }
  static Self make_from_bits(uint16_t bits) {
    Self s;
    s.bits_ = bits;
    return s;
  }
  static Self make_zero() { return make_from_bits(0); }
  static Self make_negative_zero() { return make_from_bits(0x8000); }
  static Self make_infinity() { return make_from_bits(kInfinity); }
  static Self make_negative_infinity() { return make_from_bits(kInfinity | 0x8000); }
  static Self make_nan() { return make_from_bits(kInfinity | 1 << (Mantissa - 1)); }
  operator float() const { return static_cast<float>(lang::bits16_to_float(bits_, Mantissa)); }
  explicit operator double() const { return lang::bits16_to_float(bits_, Mantissa); }
  bool is_nan() const { return (bits_ & 0x7fff) > kInfinity; }
  bool is_infinity() const { return (bits_ & 0x7fff) == kInfinity; }
  bool is_negative() const { return (bits_ & 0x8000) != 0; }
  bool is_zero() const { return (bits_ & 0x7fff) == 0; }

private:
  static constexpr uint16_t kInfinity = 0x7fff & ~((1 << Mantissa) - 1);
  uint16_t bits_ = 0;
};

/// IEEE 754 binary16.
struct float16_t : Float16Base<float16_t, 10> {
  using Float16Base::Float16Base;
  explicit float16_t(float v) : Float16Base(static_cast<double>(v)) {}
  explicit float16_t(int v) : Float16Base(static_cast<double>(v)) {}
};
/// The upper half of a float32.
struct bfloat16_t : Float16Base<bfloat16_t, 7> {
  using Float16Base::Float16Base;
  explicit bfloat16_t(float v) : Float16Base(static_cast<double>(v)) {}
  explicit bfloat16_t(int v) : Float16Base(static_cast<double>(v)) {}
};
static_assert(sizeof(float16_t) == 2 && sizeof(bfloat16_t) == 2, "elements of buffers");

}  // namespace calotype

template <> struct halide_type_of_helper<calotype::float16_t> {
  static constexpr halide_type_t value() { return halide_type_t(halide_type_float, 16); }
};
template <> struct halide_type_of_helper<calotype::bfloat16_t> {
  static constexpr halide_type_t value() { return halide_type_t(halide_type_bfloat, 16); }
};
