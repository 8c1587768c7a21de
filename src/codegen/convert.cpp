// Conversions of Ops between integers, floats and the 16-bit floats, and rounding to whole numbers: see ops.h.
//
// Each conversion rounds once. Where a 16-bit float comes from something wider than float, the step to float rounds to
// odd (the last bit is set when anything was lost), after which the second rounding cannot go wrong: float has more
// than two bits beyond both 16-bit formats.
#include "ops.h"

#include <llvm/IR/Intrinsics.h>

namespace calotype::codegen {

using ir::NodeKind;

Value *Ops::cast(Type to, Type from, Value *v) {
  if (to.element_of() == from.element_of()) return v;
  llvm::Type *target = type(to.with_lanes(from.lanes()));
  if (to.is_handle() || from.is_handle()) return reinterpret(to, from, v);
  if (to.is_bool()) {
    if (!from.is_float()) return b_.CreateIsNotNull(v);
    Value *x = from.bits() == 16 ? widen_float(from, v) : v;
    return b_.CreateFCmpUNE(x, llvm::Constant::getNullValue(x->getType()));
  }
  if (!to.is_float()) {
    if (from.is_float()) return float_to_int(to, from, v);
    return from.is_int() ? b_.CreateSExtOrTrunc(v, target) : b_.CreateZExtOrTrunc(v, target);
  }
  if (!from.is_float()) return int_to_float(to, from, v);
  if (from.bits() == 16) {
    Value *wide = widen_float(from, v);
    if (to.bits() == 16) return narrow_float(to, wide);
    return to.bits() == 64 ? b_.CreateFPExt(wide, target) : wide;
  }
  if (to.bits() == 16) return narrow_float(to, from.bits() == 64 ? round_to_odd(v) : v);
  return to.bits() == 64 ? b_.CreateFPExt(v, target) : b_.CreateFPTrunc(v, target);
}

Value *Ops::reinterpret(Type to, Type from, Value *v) {
  llvm::Type *target = type(to);
  if (target == v->getType()) return v;
  if (to.is_handle()) {
    Value *bits = from.bits() == 64 ? v : cast(UInt(64, from.lanes()), from, v);
    return b_.CreateIntToPtr(bits, target);
  }
  if (from.is_handle()) {
    Value *bits = b_.CreatePtrToInt(v, type(UInt(64, from.lanes())));
    return to.is_int_or_uint() ? b_.CreateZExtOrTrunc(bits, target)
                               : b_.CreateBitCast(bits, target);
  }
  return b_.CreateBitCast(v, target);
}

// Truncates, saturates; NaN gives 0. LLVM's saturating conversions are good for scalars, but take vectors apart.
Value *Ops::float_to_int(Type to, Type from, Value *v) {
  if (from.bits() == 16) {
    v = widen_float(from, v);
    from = Float(32, from.lanes());
  }
  llvm::Type *target = type(to.with_lanes(from.lanes()));
  if (to.bits() == 64 || (to.bits() == 32 && from.is_scalar())) {
    auto id = to.is_int() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {target, v->getType()}, {v});
  }
  if (to.bits() == 32) return float_to_int32(to, from, v);
  // The clamp is done in float and the conversion goes through i32, which has an instruction. A comparison that NaN
  // fails picks the lower end: 0 for unsigned results.
  Value *low = real(v->getType(), static_cast<double>(to.min_int()));
  Value *high = real(v->getType(), static_cast<double>(to.max_uint()));
  if (to.is_int()) v = b_.CreateSelect(b_.CreateFCmpORD(v, v), v, real(v->getType(), 0.0));
  v = float_extreme(true, v, low);
  v = float_extreme(false, v, high);
  Value *whole = b_.CreateFPToSI(v, with_lanes_of(b_.getInt32Ty(), v));
  return b_.CreateTrunc(whole, target, "", to.is_uint(), to.is_int());  // packs without masking
}

// Vectors to 32 bits: clamp to the largest float below the limit, convert, put in the limit where it was reached.
// Unsigned values from 2^31 on are converted less 2^31, which is exact, and get their top bit afterwards.
Value *Ops::float_to_int32(Type to, Type from, Value *v) {
  llvm::Type *f = v->getType();
  llvm::Type *target = type(to.with_lanes(from.lanes()));
  bool is_double = from.bits() == 64;
  Value *below_2_31 = real(f, is_double ? 2147483647.0 : 2147483520.0);
  auto capped = [&](Value *x) { return float_extreme(false, x, below_2_31); };
  if (to.is_int()) {
    Value *low = real(f, -0x1p31);
    Value *clamped = capped(float_extreme(true, v, low));
    Value *whole = b_.CreateFPToSI(clamped, target);
    if (!is_double) {
      Value *high = b_.CreateFCmpOGE(v, real(f, 0x1p31));
      whole = b_.CreateSelect(high, constant(target, 0x7fffffff), whole);
    }
    return b_.CreateSelect(b_.CreateFCmpORD(v, v), whole, llvm::Constant::getNullValue(target));
  }
  Value *zero = real(f, 0.0);
  Value *positive = float_extreme(true, v, zero);
  Value *large = b_.CreateFCmpOGE(positive, real(f, 0x1p31));
  Value *rest = b_.CreateFSub(positive, b_.CreateSelect(large, real(f, 0x1p31), zero));
  Value *whole = b_.CreateFPToSI(capped(rest), target);
  Value *top = b_.CreateSelect(large, constant(target, 0x80000000u), constant(target, 0));
  whole = b_.CreateOr(whole, top);
  Value *over = b_.CreateFCmpOGE(positive, real(f, 0x1p32));
  return b_.CreateSelect(over, constant(target, 0xffffffffu), whole);
}

Value *Ops::int_to_float(Type to, Type from, Value *v) {
  auto convert = [&](Value *x, llvm::Type *t) {
    return from.is_int() ? b_.CreateSIToFP(x, t) : b_.CreateUIToFP(x, t);
  };
  if (to.bits() > 16) return convert(v, type(to.with_lanes(from.lanes())));
  if (from.bits() <= 16) return narrow_float(to, convert(v, with_lanes_of(b_.getFloatTy(), v)));
  if (from.bits() == 64) {
    // Beyond 2^52 the low 12 bits only matter as "some bit is set": keep that in bit 11, and double holds the rest.
    Value *low = b_.CreateAnd(v, constant(v->getType(), 0xfff));
    Value *sticky = b_.CreateSelect(b_.CreateIsNotNull(low), constant(v->getType(), 0x800),
                                    constant(v->getType(), 0));
    Value *coarse = b_.CreateOr(b_.CreateAnd(v, constant(v->getType(), ~uint64_t(0xfff))), sticky);
    Value *magnitude = absolute(from, v);
    Value *huge = b_.CreateICmpUGT(magnitude, constant(v->getType(), uint64_t(1) << 52));
    v = b_.CreateSelect(huge, coarse, v);
  }
  return narrow_float(to, round_to_odd(convert(v, with_lanes_of(b_.getDoubleTy(), v))));
}

// double to float: toward zero, then the last bit set if that lost something.
Value *Ops::round_to_odd(Value *v) {
  llvm::Type *f = with_lanes_of(b_.getFloatTy(), v);
  llvm::Type *i = with_lanes_of(b_.getInt32Ty(), v);
  Value *nearest = b_.CreateFPTrunc(v, f);
  Value *back = b_.CreateFPExt(nearest, v->getType());
  Value *bits = b_.CreateBitCast(nearest, i);
  Value *up = b_.CreateFCmpOGT(unary(llvm::Intrinsic::fabs, back), unary(llvm::Intrinsic::fabs, v));
  Value *toward_zero = b_.CreateSub(bits, b_.CreateZExt(up, i));
  Value *odd = b_.CreateOr(toward_zero, constant(i, 1));
  Value *inexact = b_.CreateFCmpONE(back, v);  // false for NaN, which needs nothing
  return b_.CreateBitCast(b_.CreateSelect(inexact, odd, bits), f);
}

Value *Ops::widen_float(Type from, Value *v) {
  llvm::Type *f = with_lanes_of(b_.getFloatTy(), v);
  llvm::Type *i = with_lanes_of(b_.getInt32Ty(), v);
  if (from.is_bfloat()) return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, i), 16), f);
  if (f16c_) {
    return b_.CreateFPExt(b_.CreateBitCast(v, with_lanes_of(b_.getHalfTy(), v)), f);
  }
  // Exponent and fraction moved into place are the value scaled by 2^-112, subnormals included.
  Value *bits = b_.CreateZExt(v, i);
  Value *magnitude = b_.CreateShl(b_.CreateAnd(bits, constant(i, 0x7fff)), 13);
  Value *scaled = b_.CreateFMul(b_.CreateBitCast(magnitude, f), real(f, 0x1p112));
  Value *special = b_.CreateICmpUGE(magnitude, constant(i, 0x7c00u << 13));
  Value *finite = b_.CreateBitCast(scaled, i);
  Value *result = b_.CreateSelect(special, b_.CreateOr(magnitude, constant(i, 0x7f800000)), finite);
  Value *sign = b_.CreateShl(b_.CreateAnd(bits, constant(i, 0x8000)), 16);
  return b_.CreateBitCast(b_.CreateOr(result, sign), f);
}

Value *Ops::narrow_float(Type to, Value *v) {
  llvm::Type *i = with_lanes_of(b_.getInt32Ty(), v);
  llvm::Type *target = with_lanes_of(b_.getInt16Ty(), v);
  if (!to.is_bfloat() && f16c_) {
    return b_.CreateBitCast(b_.CreateFPTrunc(v, with_lanes_of(b_.getHalfTy(), v)), target);
  }
  Value *bits = b_.CreateBitCast(v, i);
  Value *is_nan = b_.CreateFCmpUNO(v, v);
  // Half of the last kept bit's weight, less one where that bit is even: adding it rounds to nearest even.
  auto round_bias = [&](unsigned dropped) {
    Value *last = b_.CreateAnd(b_.CreateLShr(bits, dropped), constant(i, 1));
    return b_.CreateAdd(last, constant(i, (1u << (dropped - 1)) - 1));
  };
  if (to.is_bfloat()) {
    Value *rounded = b_.CreateLShr(b_.CreateAdd(bits, round_bias(16)), 16);
    Value *quiet = b_.CreateOr(b_.CreateLShr(bits, 16), constant(i, 0x40));
    return b_.CreateTrunc(b_.CreateSelect(is_nan, quiet, rounded), target);
  }
  Value *magnitude = b_.CreateAnd(bits, constant(i, 0x7fffffff));
  Value *normal = b_.CreateSub(b_.CreateAdd(magnitude, round_bias(13)), constant(i, 0x38000000));
  normal = b_.CreateLShr(normal, 13);
  // Below 2^-14: 0.5 has the unit 2^-24, so adding it rounds to a multiple of that, in its low bits.
  Value *shifted = b_.CreateFAdd(unary(llvm::Intrinsic::fabs, v), real(v->getType(), 0.5));
  Value *subnormal = b_.CreateSub(b_.CreateBitCast(shifted, i), constant(i, 0x3f000000));
  Value *small = b_.CreateICmpULT(magnitude, constant(i, 0x38800000));
  Value *large = b_.CreateICmpUGE(magnitude, constant(i, 0x47800000));
  Value *result = b_.CreateSelect(small, subnormal, normal);
  result = b_.CreateSelect(large, constant(i, 0x7c00), result);
  result = b_.CreateSelect(is_nan, constant(i, 0x7e00), result);
  Value *sign = b_.CreateAnd(b_.CreateLShr(bits, 16), constant(i, 0x8000));
  return b_.CreateTrunc(b_.CreateOr(result, sign), target);
}

// floor, ceil, trunc, round to even. Without roundps (SSE4.1) LLVM would call libm, so: below 2^23 (2^52) adding and
// subtracting that number rounds to nearest even, and a comparison corrects it; larger values are whole already.
Value *Ops::round_float(ir::Intrinsic op, Type t, Value *v) {
  if (t.bits() == 16) {
    return narrow_float(t, round_float(op, Float(32, t.lanes()), widen_float(t, v)));
  }
  if (rounds_) {
    switch (op) {
      case ir::Intrinsic::floor: return unary(llvm::Intrinsic::floor, v);
      case ir::Intrinsic::ceil: return unary(llvm::Intrinsic::ceil, v);
      case ir::Intrinsic::trunc: return unary(llvm::Intrinsic::trunc, v);
      default: return unary(llvm::Intrinsic::roundeven, v);
    }
  }
  llvm::Type *f = v->getType();
  Value *limit = real(f, t.bits() == 32 ? 0x1p23 : 0x1p52);
  Value *magnitude = unary(llvm::Intrinsic::fabs, v);
  Value *whole = b_.CreateFSub(b_.CreateFAdd(magnitude, limit), limit);  // of |v|, to nearest even
  Value *one = real(f, 1.0), *zero = real(f, 0.0);
  auto step_if = [&](Value *cond) { return b_.CreateSelect(cond, one, zero); };
  if (op == ir::Intrinsic::trunc) {
    whole = b_.CreateFSub(whole, step_if(b_.CreateFCmpOGT(whole, magnitude)));
  }
  Value *result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, whole, v);
  if (op == ir::Intrinsic::floor) {
    result = b_.CreateFSub(result, step_if(b_.CreateFCmpOGT(result, v)));
  } else if (op == ir::Intrinsic::ceil) {
    result = b_.CreateFAdd(result, step_if(b_.CreateFCmpOLT(result, v)));
  }
  result = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, result, v);
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, limit), result, v);
}

// Note [fma16]: the product of two half (bfloat) values needs 22 (16) bits, so it is exact in double. The sum with the
// third may need more than 53 bits only where the two differ by more than 2^29 in size, and then only a sum that lies
// within 2^-53 of a tie of the 16-bit format could round differently.

}  // namespace calotype::codegen
