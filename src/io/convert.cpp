// Samples from one type to another, by the rules stated in image.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "io/formats.h"

namespace calotype::io {

namespace {

// ---- what pictures hold: uint8, uint16 and float, by scale ------------------------------------------

template <typename To, typename From> To convert_sample(From v) {
  constexpr bool from_real = std::is_floating_point<From>::value;
  constexpr bool to_real = std::is_floating_point<To>::value;
  if constexpr (std::is_same<From, To>::value || (from_real && to_real)) {
    return static_cast<To>(v);
  } else if constexpr (to_real) {
    return static_cast<To>(v) / static_cast<To>(From(~From(0)));
  } else if constexpr (from_real) {
    if (!(v > 0)) return 0;  // NaN too
    const double most = To(~To(0));
    return static_cast<To>(std::lround(std::min<double>(v, 1.0) * most));
  } else if constexpr (sizeof(To) > sizeof(From)) {
    return static_cast<To>(v * 257);
  } else {
    return static_cast<To>((v + 128u) / 257u);  // nearest; 65535 -> 255, and undoes * 257
  }
}

template <typename To, typename From> void convert_all(const Array &source, halide_buffer_t &dst) {
  const From *in = reinterpret_cast<const From *>(source.data.data());
  const int extent = dst.dimensions ? dst.dim[0].extent : 1;
  const ptrdiff_t stride = dst.dimensions ? dst.dim[0].stride : 1;
  for_each_row(dst, [&](const int *at) {
    To *out = reinterpret_cast<To *>(dst.address_of(at));
    for (int x = 0; x < extent; x++) out[x * stride] = convert_sample<To>(*in++);
  });
}

template <typename From> bool convert_from(const Array &source, halide_buffer_t &dst) {
  const halide_type_t to = dst.type;
  if (to == halide_type_t(halide_type_uint, 8))
    convert_all<uint8_t, From>(source, dst);
  else if (to == halide_type_t(halide_type_uint, 16))
    convert_all<uint16_t, From>(source, dst);
  else if (to == halide_type_t(halide_type_float, 32))
    convert_all<float, From>(source, dst);
  else if (to == halide_type_t(halide_type_float, 64))
    convert_all<double, From>(source, dst);
  else
    return false;
  return true;
}

void copy_same_type(const Array &source, halide_buffer_t &dst) {
  switch (source.type.bytes()) {
    case 1: convert_all<uint8_t, uint8_t>(source, dst); break;
    case 2: convert_all<uint16_t, uint16_t>(source, dst); break;
    case 4: convert_all<uint32_t, uint32_t>(source, dst); break;
    default: convert_all<uint64_t, uint64_t>(source, dst); break;
  }
}

// ---- whole numbers by value -------------------------------------------------------------------------

/// A whole number of any 64-bit type.
struct Whole {
  bool negative;
  uint64_t bits;  // two's complement
};

bool is_whole(halide_type_t t) { return t.code == halide_type_int || t.code == halide_type_uint; }

Whole read_whole(const uint8_t *from, halide_type_t t) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, static_cast<size_t>(t.bytes()));
  if (t.bits == 1) return {false, bits != 0};
  const bool negative = t.code == halide_type_int && (bits >> (t.bits - 1) & 1) != 0;
  if (negative && t.bits < 64) bits |= ~uint64_t(0) << t.bits;
  return {negative, bits};
}

bool fits(Whole v, halide_type_t t) {
  if (t.bits == 1) return !v.negative && v.bits <= 1;
  if (v.negative) {
    return t.code == halide_type_int && (t.bits == 64 || ~v.bits < uint64_t(1) << (t.bits - 1));
  }
  const int digits = t.code == halide_type_int ? t.bits - 1 : t.bits;
  return digits >= 64 || v.bits < uint64_t(1) << digits;
}

std::string text_of(Whole v) {
  return v.negative ? std::to_string(static_cast<int64_t>(v.bits)) : std::to_string(v.bits);
}

double as_double(Whole v) {
  return v.negative ? static_cast<double>(static_cast<int64_t>(v.bits))
                    : static_cast<double>(v.bits);
}

void convert_whole(const Array &source, halide_buffer_t &dst) {
  const auto step = static_cast<size_t>(source.type.bytes());
  const auto bytes = static_cast<size_t>(dst.type.bytes());
  const uint8_t *in = source.data.data();
  const int extent = dst.dimensions ? dst.dim[0].extent : 1;
  const ptrdiff_t stride = (dst.dimensions ? dst.dim[0].stride : 1) * ptrdiff_t(bytes);
  // Pictures of black and white.
  const bool halves = dst.type.bits == 1 && source.type.code == halide_type_uint &&
                      (source.type.bits == 8 || source.type.bits == 16);
  for_each_row(dst, [&](const int *at) {
    uint8_t *out = dst.address_of(at);
    for (int x = 0; x < extent; x++, in += step, out += stride) {
      Whole v = read_whole(in, source.type);
      if (halves) v.bits = v.bits >> (source.type.bits - 1);
      if (dst.type == halide_type_t(halide_type_float, 32)) {
        const auto real = static_cast<float>(as_double(v));
        std::memcpy(out, &real, 4);
      } else if (dst.type == halide_type_t(halide_type_float, 64)) {
        const double real = as_double(v);
        std::memcpy(out, &real, 8);
      } else if (fits(v, dst.type)) {
        std::memcpy(out, &v.bits, bytes);
      } else {
        throw std::invalid_argument("a sample of " + text_of(v) + " does not fit " +
                                    type_name(dst.type));
      }
    }
  });
}

std::vector<int> without_trailing_ones(std::vector<int> extents) {
  while (!extents.empty() && extents.back() == 1) extents.pop_back();
  return extents;
}

}  // namespace

bool convert_types(const Array &source, halide_buffer_t &dst) {
  const halide_type_t from = source.type;
  if (from == dst.type) return copy_same_type(source, dst), true;
  if (from == halide_type_t(halide_type_uint, 8) && convert_from<uint8_t>(source, dst)) return true;
  if (from == halide_type_t(halide_type_uint, 16) && convert_from<uint16_t>(source, dst))
    return true;
  if (from == halide_type_t(halide_type_float, 32)) return convert_from<float>(source, dst);
  if (from == halide_type_t(halide_type_float, 64)) return convert_from<double>(source, dst);
  const bool real = dst.type.code == halide_type_float && dst.type.bits >= 32;
  if (!is_whole(from) || !(is_whole(dst.type) || real)) return false;
  convert_whole(source, dst);
  return true;
}

void convert(const Array &source, halide_buffer_t &dst) {
  const std::vector<int> wanted = extents_of(dst);
  if (without_trailing_ones(wanted) != without_trailing_ones(source.extents)) {
    throw std::invalid_argument("the samples have extents " + extents_name(source.extents) +
                                ", the buffer " + extents_name(wanted));
  }
  if (!dst.host) throw std::invalid_argument("the buffer has no host memory");
  if (!convert_types(source, dst)) {
    throw std::invalid_argument("no conversion from " + type_name(source.type) + " to " +
                                type_name(dst.type));
  }
}

}  // namespace calotype::io
