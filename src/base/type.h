// Scalar and vector types: what a value is made of. Part of the public language.
#pragma once

#include <cstdint>
#include <string>

#include "export.h"

struct halide_type_t;

namespace calotype {

class Expr;

/// The type of an expression: kind, bits per lane and number of lanes.
/// Bool is UInt(1). Handles are 64-bit opaque pointers.
struct CALO_EXPORT Type {
  enum Code : uint8_t {
    Int = 0,
    UInt = 1,
    Float = 2,
    Handle = 3,
    BFloat = 4
  };  // halide_type_code_t's values

  Type() = default;
  Type(int code, int bits, int lanes = 1)
      : code_(static_cast<uint8_t>(code)),
        bits_(static_cast<uint8_t>(bits)),
        lanes_(static_cast<uint16_t>(lanes)) {}
  Type(const halide_type_t &t);  // defined in type.cpp
  operator halide_type_t() const;

  Code code() const { return static_cast<Code>(code_); }
  int bits() const { return bits_; }
  int lanes() const { return lanes_; }
  int bytes() const { return (bits_ + 7) / 8; }  ///< bytes of one lane in memory

  bool is_bool() const { return code_ == UInt && bits_ == 1; }
  bool is_int() const { return code_ == Int; }
  bool is_uint() const { return code_ == UInt; }
  bool is_int_or_uint() const { return code_ == Int || code_ == UInt; }
  bool is_float() const { return code_ == Float || code_ == BFloat; }
  bool is_bfloat() const { return code_ == BFloat; }
  bool is_handle() const { return code_ == Handle; }
  bool is_vector() const { return lanes_ > 1; }
  bool is_scalar() const { return lanes_ == 1; }

  Type with_code(Code c) const { return Type(c, bits_, lanes_); }
  Type with_bits(int b) const { return Type(code_, b, lanes_); }
  Type with_lanes(int l) const { return Type(code_, bits_, l); }
  Type element_of() const { return with_lanes(1); }
  Type widen() const { return with_bits(bits_ * 2); }
  Type narrow() const { return with_bits(bits_ / 2); }

  bool operator==(const Type &o) const {
    return code_ == o.code_ && bits_ == o.bits_ && lanes_ == o.lanes_;
  }
  bool operator!=(const Type &o) const { return !(*this == o); }
  bool operator<(const Type &o) const;

  /// Smallest and largest value of one lane; for floats -infinity and +infinity.
  Expr min() const;
  Expr max() const;
  int64_t min_int() const;    ///< for Int and UInt (UInt: 0)
  uint64_t max_uint() const;  ///< for Int and UInt
  /// True if every value of `o` is a value of this type.
  bool can_represent(Type o) const;
  bool can_represent(double x) const;
  bool can_represent(int64_t x) const;
  bool can_represent(uint64_t x) const;
  bool is_max(int64_t x) const;
  bool is_min(int64_t x) const;

private:
  uint8_t code_ = Int;
  uint8_t bits_ = 0;  // 0: undefined
  uint16_t lanes_ = 0;
};

inline Type Int(int bits, int lanes = 1) { return Type(Type::Int, bits, lanes); }
inline Type UInt(int bits, int lanes = 1) { return Type(Type::UInt, bits, lanes); }
inline Type Float(int bits, int lanes = 1) { return Type(Type::Float, bits, lanes); }
inline Type BFloat(int bits, int lanes = 1) { return Type(Type::BFloat, bits, lanes); }
inline Type Bool(int lanes = 1) { return UInt(1, lanes); }
inline Type Handle(int lanes = 1) { return Type(Type::Handle, 64, lanes); }

struct float16_t;
struct bfloat16_t;

/// The Type of a C++ scalar type. Enums and other types do not compile.
template <typename T> struct TypeOf;
#define CALO_TYPE_OF(T, E)          \
  template <> struct TypeOf<T> {    \
    static Type get() { return E; } \
  };
CALO_TYPE_OF(bool, Bool())
CALO_TYPE_OF(int8_t, Int(8))
CALO_TYPE_OF(int16_t, Int(16))
CALO_TYPE_OF(int32_t, Int(32))
CALO_TYPE_OF(long, Int(64))
CALO_TYPE_OF(long long, Int(64))
CALO_TYPE_OF(uint8_t, UInt(8))
CALO_TYPE_OF(uint16_t, UInt(16))
CALO_TYPE_OF(uint32_t, UInt(32))
CALO_TYPE_OF(unsigned long, UInt(64))
CALO_TYPE_OF(unsigned long long, UInt(64))
CALO_TYPE_OF(float, Float(32))
CALO_TYPE_OF(double, Float(64))
CALO_TYPE_OF(float16_t, Float(16))
CALO_TYPE_OF(bfloat16_t, BFloat(16))
#undef CALO_TYPE_OF
template <typename T> struct TypeOf<T *> {
  static Type get() { return Handle(); }
};
template <typename T> struct TypeOf<const T> : TypeOf<T> {};

template <typename T> Type type_of() { return TypeOf<T>::get(); }

/// x rounded to the nearest value of float type t, ties to even; infinity beyond its range.
CALO_EXPORT double round_to(Type t, double x);
/// Canonical spelling: i32, u8, f32, bf16, bool, handle; vectors u8x16.
CALO_EXPORT std::string to_string(Type t);
/// Reads `to_string`'s spelling (and Halide's int32, uint8, float32). Returns bits() == 0 if it is none.
CALO_EXPORT Type parse_type(const std::string &text);

}  // namespace calotype
