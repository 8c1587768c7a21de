// Lane-wise meaning of operations (see scalar_ops.h). Integers are computed in 128 bits and wrapped, so that nothing
// here overflows; float32 is computed in float, 16-bit floats in double and rounded (for + - * / sqrt this equals one
// rounding, as 53 >= 2 * 11 + 2). Tests: test/unit/ir/eval_test.cpp.
#include "scalar_ops.h"

#include <algorithm>
#include <cmath>

namespace calotype::ir {

namespace {

using Wide = __int128;

Wide wide(Type t, uint64_t lane) {
  return t.is_int() ? Wide(static_cast<int64_t>(lane)) : Wide(lane);
}

uint64_t wrap_wide(Type t, Wide v) { return wrap_lane(t, static_cast<uint64_t>(v)); }

uint64_t clamp_wide(Type t, Wide v) {
  return wrap_wide(t, std::min(std::max(v, Wide(t.min_int())), Wide(t.max_uint())));
}

// Wraps a result of the signed arithmetic whose overflow is unspecified.
uint64_t signed_result(Type t, Wide v, ScalarFlags *flags) {
  const uint64_t wrapped = wrap_wide(t, v);
  if (t.bits() >= 32 && wide(t, wrapped) != v) flags->unspecified = true;
  return wrapped;
}

// Remainder in [0, |b|).
Wide divide(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide q = a / b;
  return a % b < 0 ? (b > 0 ? q - 1 : q + 1) : q;
}
Wide modulo(Wide a, Wide b) {
  if (b == 0) return 0;
  const Wide r = a % b;
  return r < 0 ? r + (b < 0 ? -b : b) : r;
}

bool integer_binary(NodeKind op, Type t, uint64_t x, uint64_t y, uint64_t *out,
                    ScalarFlags *flags) {
  const Wide a = wide(t, x), b = wide(t, y);
  const auto give = [&](Wide v) {
    *out = t.is_int() ? signed_result(t, v, flags) : wrap_wide(t, v);
  };
  switch (op) {
    case NodeKind::Add: give(a + b); return true;
    case NodeKind::Sub: give(a - b); return true;
    case NodeKind::Mul:
      if (t.is_int())
        give(a * b);
      else
        *out = wrap_lane(t, x * y);  // the product of two u64 exceeds Wide
      return true;
    case NodeKind::Div: give(divide(a, b)); return true;
    case NodeKind::Mod: give(modulo(a, b)); return true;
    case NodeKind::Min: *out = a < b ? x : y; return true;
    case NodeKind::Max: *out = a > b ? x : y; return true;
    case NodeKind::EQ: *out = a == b; return true;
    case NodeKind::NE: *out = a != b; return true;
    case NodeKind::LT: *out = a < b; return true;
    case NodeKind::LE: *out = a <= b; return true;
    case NodeKind::GT: *out = a > b; return true;
    case NodeKind::GE: *out = a >= b; return true;
    case NodeKind::And: *out = x & y; return t.is_bool();
    case NodeKind::Or: *out = x | y; return t.is_bool();
    default: return false;
  }
}

template <typename F> F arithmetic(NodeKind op, F a, F b) {
  switch (op) {
    case NodeKind::Add: return a + b;
    case NodeKind::Sub: return a - b;
    case NodeKind::Mul: return a * b;
    default: return a / b;
  }
}

double rounded_arithmetic(NodeKind op, Type t, double a, double b) {
  if (t.bits() == 32) return arithmetic<float>(op, static_cast<float>(a), static_cast<float>(b));
  return round_to(t, arithmetic<double>(op, a, b));
}

double float_mod(Type t, double a, double b) {
  const double quotient = std::floor(rounded_arithmetic(NodeKind::Div, t, a, b));
  return rounded_arithmetic(NodeKind::Sub, t, a, rounded_arithmetic(NodeKind::Mul, t, b, quotient));
}

bool float_binary(NodeKind op, Type t, uint64_t x, uint64_t y, uint64_t *out) {
  const double a = lane_to_double(x), b = lane_to_double(y);
  switch (op) {
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div: *out = lane_of_double(rounded_arithmetic(op, t, a, b)); return true;
    case NodeKind::Mod: *out = lane_of_double(float_mod(t, a, b)); return true;
    case NodeKind::Min: *out = a < b ? x : y; return true;
    case NodeKind::Max: *out = a > b ? x : y; return true;
    case NodeKind::EQ: *out = a == b; return true;
    case NodeKind::NE: *out = a != b; return true;
    case NodeKind::LT: *out = a < b; return true;
    case NodeKind::LE: *out = a <= b; return true;
    case NodeKind::GT: *out = a > b; return true;
    case NodeKind::GE: *out = a >= b; return true;
    default: return false;
  }
}

uint64_t float_to_integer(Type to, double v) {
  if (std::isnan(v)) return 0;
  const double limit = std::ldexp(1.0, to.is_int() ? to.bits() - 1 : to.bits());
  const double t = std::trunc(v);
  if (t >= limit) return to.max_uint();
  if (to.is_int())
    return t < -limit ? static_cast<uint64_t>(to.min_int())
                      : static_cast<uint64_t>(static_cast<int64_t>(t));
  return t <= 0 ? 0 : static_cast<uint64_t>(t);
}

// For 16-bit floats the way over double must not round twice: lost bits leave a mark in the last one kept.
double integer_to_double_with_mark(Type from, uint64_t v) {
  const bool negative = from.is_int() && static_cast<int64_t>(v) < 0;
  uint64_t magnitude = negative ? 0 - v : v;
  if (magnitude >> 53) magnitude = (magnitude >> 11 << 11) | ((magnitude & 0x7ff) ? 0x800 : 0);
  return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude);
}

double integer_to_float(Type to, Type from, uint64_t v) {
  if (to.bits() == 16) return round_to(to, integer_to_double_with_mark(from, v));
  if (to.bits() == 32)
    return from.is_int() ? static_cast<float>(static_cast<int64_t>(v)) : static_cast<float>(v);
  return from.is_int() ? static_cast<double>(static_cast<int64_t>(v)) : static_cast<double>(v);
}

uint64_t shift(Type t, uint64_t v, Type amount_type, uint64_t amount, bool left) {
  const Wide n = left ? wide(amount_type, amount) : -wide(amount_type, amount);
  if (n >= t.bits()) return 0;
  if (n >= 0) return wrap_lane(t, v << static_cast<int>(n));
  if (n <= -t.bits()) return t.is_int() && static_cast<int64_t>(v) < 0 ? ~uint64_t(0) : 0;
  const int by = static_cast<int>(-n);
  return t.is_int() ? static_cast<uint64_t>(static_cast<int64_t>(v) >> by) : v >> by;
}

uint64_t magnitude_bits(Type t, uint64_t v) {
  return t.bits() >= 64 ? v : v & ((uint64_t(1) << t.bits()) - 1);
}

double fused(Type t, double a, double b, double c, bool fma, ScalarFlags *flags) {
  double once, twice;
  if (t.bits() == 32) {
    const float x = static_cast<float>(a), y = static_cast<float>(b), z = static_cast<float>(c);
    const volatile float product = x * y;  // volatile: the host compiler may not fuse these
    once = std::fma(x, y, z);
    twice = product + z;
  } else {
    const volatile double product = round_to(t, a * b);
    once = round_to(t, std::fma(a, b, c));
    twice = round_to(t, product + c);
  }
  if (lane_of_double(once) != lane_of_double(twice) && !(std::isnan(once) && std::isnan(twice)))
    flags->fma_matters = true;
  return fma ? once : twice;
}

bool float_intrinsic(const ScalarCall &c, uint64_t *out, ScalarFlags *flags) {
  const Type t = c.types[0];
  const double a = lane_to_double(c.args[0]), b = c.count > 1 ? lane_to_double(c.args[1]) : 0;
  const auto give = [&](double v) { *out = lane_of_double(v); };
  switch (c.op) {
    case Intrinsic::abs: give(std::fabs(a)); return true;
    case Intrinsic::absd: give(std::fabs(rounded_arithmetic(NodeKind::Sub, t, a, b))); return true;
    case Intrinsic::fma: give(fused(t, a, b, lane_to_double(c.args[2]), c.fma, flags)); return true;
    case Intrinsic::sqrt:
      give(t.bits() == 32 ? std::sqrt(static_cast<float>(a)) : round_to(t, std::sqrt(a)));
      return true;
    case Intrinsic::floor: give(std::floor(a)); return true;
    case Intrinsic::ceil: give(std::ceil(a)); return true;
    case Intrinsic::trunc: give(std::trunc(a)); return true;
    case Intrinsic::round: give(std::nearbyint(a)); return true;
    case Intrinsic::is_nan: *out = std::isnan(a); return true;
    case Intrinsic::is_inf: *out = std::isinf(a); return true;
    case Intrinsic::is_finite: *out = std::isfinite(a); return true;
    case Intrinsic::saturating_cast:
      if (c.result.is_float()) return false;
      *out = float_to_integer(c.result, a);
      return true;
    default: return false;
  }
}

bool bit_intrinsic(const ScalarCall &c, uint64_t *out) {
  const Type t = c.types[0];
  const uint64_t a = c.args[0], b = c.count > 1 ? c.args[1] : 0, bits = magnitude_bits(t, a);
  switch (c.op) {
    case Intrinsic::bitwise_and: *out = a & b; return true;
    case Intrinsic::bitwise_or: *out = a | b; return true;
    case Intrinsic::bitwise_xor: *out = a ^ b; return true;
    case Intrinsic::bitwise_not: *out = wrap_lane(t, ~a); return true;
    case Intrinsic::shift_left: *out = shift(t, a, c.types[1], b, true); return true;
    case Intrinsic::shift_right: *out = shift(t, a, c.types[1], b, false); return true;
    case Intrinsic::popcount: *out = static_cast<uint64_t>(__builtin_popcountll(bits)); break;
    case Intrinsic::count_leading_zeros:
      *out = static_cast<uint64_t>(bits ? __builtin_clzll(bits) - (64 - t.bits()) : t.bits());
      break;
    case Intrinsic::count_trailing_zeros:
      *out = static_cast<uint64_t>(bits ? __builtin_ctzll(bits) : t.bits());
      break;
    case Intrinsic::bool_to_mask: *out = a ? ~uint64_t(0) : 0; break;
    default: return false;
  }
  *out = wrap_lane(c.result, *out);
  return true;
}

bool integer_intrinsic(const ScalarCall &c, uint64_t *out) {
  if (bit_intrinsic(c, out)) return true;
  const Wide a = wide(c.types[0], c.args[0]), b = c.count > 1 ? wide(c.types[1], c.args[1]) : 0;
  const auto give = [&](Wide v) { *out = wrap_wide(c.result, v); };
  switch (c.op) {
    case Intrinsic::abs: give(a < 0 ? -a : a); return true;
    case Intrinsic::absd: give(a < b ? b - a : a - b); return true;
    case Intrinsic::saturating_add: *out = clamp_wide(c.result, a + b); return true;
    case Intrinsic::saturating_sub: *out = clamp_wide(c.result, a - b); return true;
    case Intrinsic::saturating_cast:
      if (c.result.is_float())
        *out = lane_of_double(integer_to_float(c.result, c.types[0], c.args[0]));
      else
        *out = clamp_wide(c.result, a);
      return true;
    case Intrinsic::widening_add:
    case Intrinsic::widen_right_add: give(a + b); return true;
    case Intrinsic::widening_sub:
    case Intrinsic::widen_right_sub: give(a - b); return true;
    case Intrinsic::widening_mul:
    case Intrinsic::widen_right_mul:
      *out = wrap_lane(c.result, static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
      return true;
    case Intrinsic::halving_add: give((a + b) >> 1); return true;
    case Intrinsic::halving_sub: give((a - b) >> 1); return true;
    case Intrinsic::rounding_halving_add: give((a + b + 1) >> 1); return true;
    default: return false;
  }
}

}  // namespace

bool scalar_binary(NodeKind op, Type t, uint64_t a, uint64_t b, uint64_t *out, ScalarFlags *flags) {
  if (t.is_float()) return float_binary(op, t, a, b, out);
  return integer_binary(op, t, a, b, out, flags);
}

uint64_t scalar_cast(Type to, Type from, uint64_t v) {
  if (to.is_bool()) return from.is_float() ? lane_to_double(v) != 0 : v != 0;
  if (from.is_float()) {
    const double d = lane_to_double(v);
    return to.is_float() ? lane_of_double(round_to(to, d)) : float_to_integer(to, d);
  }
  return to.is_float() ? lane_of_double(integer_to_float(to, from, v)) : wrap_lane(to, v);
}

uint64_t lane_to_memory(Type t, uint64_t lane) {
  if (!t.is_float()) return magnitude_bits(t, lane);
  if (t.bits() == 64) return lane;
  const double d = lane_to_double(lane);
  if (t.bits() == 32 || t.is_bfloat()) {  // a bfloat16 is the upper half of a float32
    const float f = static_cast<float>(d);
    uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    return t.is_bfloat() ? bits >> 16 : bits;
  }
  const uint64_t sign = std::signbit(d) ? 0x8000 : 0;
  if (std::isnan(d)) return sign | 0x7e00;
  if (std::isinf(d)) return sign | 0x7c00;
  const double m = std::fabs(d);
  if (m < 0x1p-14) return sign | static_cast<uint64_t>(m * 0x1p24);
  int exponent = 0;
  const double fraction = std::frexp(m, &exponent);  // in [0.5, 1)
  return sign | static_cast<uint64_t>(exponent + 14) << 10 |
         (static_cast<uint64_t>(fraction * 0x1p11) & 0x3ff);
}

uint64_t lane_from_memory(Type t, uint64_t bits) {
  if (!t.is_float()) return wrap_lane(t, bits);
  if (t.bits() == 64) return bits;
  if (t.bits() == 32 || t.is_bfloat()) {
    const uint32_t pattern = static_cast<uint32_t>(t.is_bfloat() ? bits << 16 : bits);
    float f;
    std::memcpy(&f, &pattern, sizeof f);
    return lane_of_double(f);
  }
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 0x3ff);
  double m = exponent == 0 ? fraction * 0x1p-24 : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) m = fraction == 0 ? HUGE_VAL : std::nan("");
  return lane_of_double(bits & 0x8000 ? -m : m);
}

bool scalar_reduce(ReduceOp op, Type t, uint64_t a, uint64_t b, uint64_t *out, ScalarFlags *flags) {
  switch (op) {
    case ReduceOp::Add: return scalar_binary(NodeKind::Add, t, a, b, out, flags);
    case ReduceOp::Mul: return scalar_binary(NodeKind::Mul, t, a, b, out, flags);
    case ReduceOp::Min: return scalar_binary(NodeKind::Min, t, a, b, out, flags);
    case ReduceOp::Max: return scalar_binary(NodeKind::Max, t, a, b, out, flags);
    case ReduceOp::And: return scalar_binary(NodeKind::And, t, a, b, out, flags);
    case ReduceOp::Or: return scalar_binary(NodeKind::Or, t, a, b, out, flags);
    case ReduceOp::SaturatingAdd: {
      const Type types[] = {t, t};
      const uint64_t args[] = {a, b};
      return scalar_intrinsic({Intrinsic::saturating_add, t, types, args, 2, true}, out, flags);
    }
  }
  return false;
}

bool has_scalar_meaning(Intrinsic op) {
  switch (op) {
    case Intrinsic::saturating_cast:
    case Intrinsic::widening_add:
    case Intrinsic::widening_sub:
    case Intrinsic::widening_mul:
    case Intrinsic::widen_right_add:
    case Intrinsic::widen_right_sub:
    case Intrinsic::widen_right_mul:
    case Intrinsic::halving_add:
    case Intrinsic::halving_sub:
    case Intrinsic::rounding_halving_add:
    case Intrinsic::is_nan:
    case Intrinsic::is_inf:
    case Intrinsic::is_finite: return true;
    default: return intrinsic_class(op) == IntrinsicClass::Core && op != Intrinsic::if_then_else;
  }
}

bool scalar_intrinsic(const ScalarCall &call, uint64_t *out, ScalarFlags *flags) {
  if (call.types[0].is_float()) return float_intrinsic(call, out, flags);
  return call.types[0].is_int_or_uint() && integer_intrinsic(call, out);
}

}  // namespace calotype::ir
