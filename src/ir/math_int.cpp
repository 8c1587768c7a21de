// Compound integer operations, lerp and random numbers over core operations. None of them overflows its own type:
// where a wider type would be needed and is not cheap, an identity on halves is used. Tests: test/unit/ir/math_test.cpp.
#include <cmath>

#include "math_builder.h"

namespace calotype::ir::math {

namespace {

// Values of `from` that `to` can hold, as bounds in `from`'s own type: what a saturating cast clamps to.
Expr clamp_to_range(const Expr &x, Type to) {
  const Type from = x.type();
  Expr e = x;
  const bool low_matters = from.is_int() && (to.is_uint() || from.bits() > to.bits());
  const bool high_matters = to.is_int() ? (from.bits() - from.is_int() > to.bits() - 1)
                                        : (from.bits() - from.is_int() > to.bits());
  if (high_matters) {
    const uint64_t top = to.is_int()
                             ? (uint64_t(1) << (to.bits() - 1)) - 1
                             : (to.bits() == 64 ? ~uint64_t(0) : (uint64_t(1) << to.bits()) - 1);
    e = make_min(e, make_uint(from, top));
  }
  if (low_matters)
    e = make_max(e,
                 to.is_uint() ? make_zero(from) : make_int(from, -(int64_t(1) << (to.bits() - 1))));
  return e;
}

Expr saturating_cast(Type to, const Expr &x) {
  const Type from = x.type();
  if (!from.is_int_or_uint() || !to.is_int_or_uint() || to.is_bool())
    return make_cast(to, x);  // floats saturate
  return make_cast(to, clamp_to_range(x, to));
}

// The shift amount may have a sign of its own.
Num shift_amount(const Expr &amount, int result_bits) {
  return make_cast(amount.type().with_bits(result_bits), amount);
}

// a / 2^n to nearest, ties up; a negative n shifts left. Bit n-1 of a is what was lost.
Num rounding_shift_right(MathBuilder &b, const Num &value, const Num &amount) {
  const Num a = b.let(value), n = b.let(amount);
  const Num lost = (a >> (n - 1)) & number(a.type(), 1);
  return (a >> n) + select(n > 0, lost, number(a.type(), 0));
}

Expr multiply_and_shift(const Call *op) {
  const Type t = op->args[0].type();
  if (t.bits() > 32) {
    raise(Diagnostic("L0901", {},
                     std::string(op->name.str()) + " is not available for 64-bit integers"));
  }
  const bool is_signed = t.is_int() || op->args[1].type().is_int();
  const Type wide = Type(is_signed ? Type::Int : Type::UInt, t.bits() * 2, t.lanes());
  const Num product = make_mul(make_cast(wide, op->args[0]), make_cast(wide, op->args[1]));
  const Num amount = shift_amount(op->args[2], wide.bits());
  MathBuilder b;
  const Num shifted = op->op == Intrinsic::mul_shift_right
                          ? product >> amount
                          : rounding_shift_right(b, product, amount);
  return b.finish(saturating_cast(op->type, shifted.e));
}

Num halve(Intrinsic op, const Num &a, const Num &b) {
  if (op == Intrinsic::halving_add) return (a & b) + ((a ^ b) >> 1);
  if (op == Intrinsic::rounding_halving_add) return (a | b) - ((a ^ b) >> 1);
  return ((a >> 1) - (b >> 1)) -
         (~a & b & number(a.type(), 1));  // halving_sub: one less where 0 - 1 was dropped
}

}  // namespace

Expr expand_integer(const Call *op) {
  const Type t = op->type;
  const auto wide = [&](int i) { return make_cast(t, op->args[i]); };
  switch (op->op) {
    case Intrinsic::saturating_cast: return saturating_cast(t, op->args[0]);
    case Intrinsic::widening_add: return make_add(wide(0), wide(1));
    case Intrinsic::widening_sub: return make_sub(wide(0), wide(1));
    case Intrinsic::widening_mul: return make_mul(wide(0), wide(1));
    case Intrinsic::widening_shift_left:
      return (Num(wide(0)) << shift_amount(op->args[1], t.bits())).e;
    case Intrinsic::widening_shift_right:
      return (Num(wide(0)) >> shift_amount(op->args[1], t.bits())).e;
    case Intrinsic::widen_right_add: return make_add(op->args[0], wide(1));
    case Intrinsic::widen_right_sub: return make_sub(op->args[0], wide(1));
    case Intrinsic::widen_right_mul: return make_mul(op->args[0], wide(1));
    case Intrinsic::mul_shift_right:
    case Intrinsic::rounding_mul_shift_right: return multiply_and_shift(op);
    case Intrinsic::halving_add:
    case Intrinsic::halving_sub:
    case Intrinsic::rounding_halving_add:
    case Intrinsic::rounding_shift_left:
    case Intrinsic::rounding_shift_right:
    case Intrinsic::sorted_avg: break;
    default: return {};
  }
  MathBuilder b;
  const Num x = b.let(op->args[0]), y = b.let(op->args[1]);
  switch (op->op) {
    case Intrinsic::rounding_shift_right: return b.finish(rounding_shift_right(b, x, y));
    case Intrinsic::rounding_shift_left:
      return b.finish(y.type().is_int() ? rounding_shift_right(b, x, 0 - y) : x << y);
    case Intrinsic::sorted_avg: {
      const Type u = t.with_code(Type::UInt);  // y - x fits it
      return b.finish(x + cast(t, (cast(u, y) - cast(u, x)) >> 1));
    }
    default: return b.finish(halve(op->op, x, y));
  }
}

// --- lerp ----------------------------------------------------------------------------------------------------------
namespace {

double largest(int bits) {
  return bits == 64 ? 18446744073709551615.0 : static_cast<double>((uint64_t(1) << bits) - 1);
}

Num float_weight(Type t, const Num &w) {
  if (w.type().is_float()) return cast(t, w);
  return cast(t, w) * (1.0 / largest(w.type().bits()));  // 1 for the largest weight of every width
}

// The weight as an unsigned integer of `bits` bits: float ones truncate w * max, wider ones drop precision the same way.
Num integer_weight(Type t, const Num &w) {
  const int bits = t.bits(), from = w.type().bits();
  if (w.type().is_float()) return cast(t, w * largest(bits));
  if (from == bits) return cast(t, w);
  const uint64_t max_to = (uint64_t(1) << bits) - 1,
                 max_from = from == 64 ? ~uint64_t(0) : (uint64_t(1) << from) - 1;
  if (from > bits) return cast(t, w / Num(make_uint(w.type(), max_from / max_to)));
  return cast(t, w) * Num(make_uint(t, max_to / max_from));
}

}  // namespace

// Floats: b * w + a * (1 - w), the product with b fused; exact at w = 0 and w = 1.
// Integers of n bits: round((a * (M - w) + b * w) / M), M = 2^n - 1; the quotient by M is exact as (s + (s >> n)) >> n
// with s = numerator + 2^(n-1). Signed values are biased to unsigned ones.
Expr expand_lerp(const Call *op) {
  const Type t = op->type;
  MathBuilder b;
  if (t.is_float()) {
    const Num w = b.let(float_weight(t, op->args[2]));
    return b.finish(fma(Num(op->args[1]), w, Num(op->args[0]) * (1 - w)));
  }
  if (t.is_bool()) {
    const Num w = integer_weight(UInt(8, t.lanes()), op->args[2]);
    return b.finish(select(w > 127, op->args[1], op->args[0]));
  }
  const int n = t.bits();
  if (n > 32) raise(Diagnostic("L0901", {}, "lerp is not available for 64-bit integers"));
  const Type u = t.with_code(Type::UInt), wide = u.widen();
  const Num bias = make_uint(u, t.is_int() ? uint64_t(1) << (n - 1) : 0);
  const Num w = b.let(integer_weight(u, op->args[2]));
  const auto unbiased = [&](int i) {
    return t.is_int() ? cast(u, op->args[i]) ^ bias : Num(op->args[i]);
  };
  const Num max = make_uint(u, (uint64_t(1) << n) - 1);
  const Num sum =
      cast(wide, unbiased(0)) * cast(wide, max - w) + cast(wide, unbiased(1)) * cast(wide, w);
  const Num s = b.let(sum + Num(make_uint(wide, uint64_t(1) << (n - 1))));
  const Num q = cast(u, (s + (s >> n)) >> n);
  return b.finish(t.is_int() ? cast(t, q ^ bias) : q);
}

// --- random --------------------------------------------------------------------------------------------------------
namespace {
// Two rounds of xor-shift and multiply; the constants are those of Chris Wellons' low-bias 32-bit hash (public domain).
Num mix(MathBuilder &b, Num h) {
  const Type t = h.type();
  h = b.let(h);
  h = b.let((h ^ (h >> 16)) * Num(make_uint(t, 0x7feb352d)));
  h = b.let((h ^ (h >> 15)) * Num(make_uint(t, 0x846ca68b)));
  return b.let(h ^ (h >> 16));
}
}  // namespace

// A hash of all arguments: absorbs one, mixes, absorbs the next. Floats take the high bits: [0, 1) in steps of the
// type's precision below 1.
Expr expand_random(const Call *op) {
  const Type t = op->type, u = UInt(32, t.lanes());
  MathBuilder b;
  Num h = make_uint(u, 0x9e3779b9);
  for (const Expr &arg : op->args) h = mix(b, h * Num(make_uint(u, 5)) + cast(u, arg));
  if (t.is_float() && t.bits() == 64) {
    const Num low = mix(b, h + Num(make_uint(u, 0x85ebca6b)));
    const Num high = cast(t, h >> 5) * 0x1p-27;
    return b.finish(high + cast(t, low >> 6) * 0x1p-53);
  }
  if (t.is_float()) {
    const int precision = t.is_bfloat() ? 8 : t.bits() == 16 ? 11 : 24;
    const Num f = cast(Float(32, t.lanes()), h >> (32 - precision)) * std::pow(2.0, -precision);
    return b.finish(cast(t, f));
  }
  if (t.bits() == 64) {
    const Num low = mix(b, h + Num(make_uint(u, 0x85ebca6b)));
    const Type w = UInt(64, t.lanes());
    return b.finish(cast(t, (cast(w, h) << 32) | cast(w, low)));
  }
  if (t.is_bool()) return b.finish((h & Num(make_uint(u, 1))) != 0);
  return b.finish(cast(t, h >> (32 - t.bits())));
}

}  // namespace calotype::ir::math
