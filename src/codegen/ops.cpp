// Integer and common arithmetic of Ops: see ops.h. Conversions between floats and integers are in convert.cpp.
#include "ops.h"

#include "../base/diagnostic.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/DivisionByConstantInfo.h>
#include <llvm/Support/KnownBits.h>

#include <cmath>

namespace calotype::codegen {

using ir::NodeKind;
using IntrinsicOp = ir::Intrinsic;

Ops::Ops(llvm::IRBuilder<> &builder, const Target &target) : b_(builder) {
  bool wide = target.features_any_of(
      {Target::AVX512, Target::AVX512_KNL, Target::AVX512_Skylake, Target::AVX512_Cannonlake,
       Target::AVX512_Zen4, Target::AVX512_Zen5, Target::AVX512_SapphireRapids, Target::AVX10_1});
  fma_ = target.fuses_multiply_add();
  f16c_ = wide || target.has_feature(Target::F16C);
  rounds_ = wide || target.features_any_of({Target::SSE41, Target::AVX, Target::AVX2});
}

llvm::Type *Ops::type(Type t) const {
  llvm::LLVMContext &cx = b_.getContext();
  llvm::Type *scalar = nullptr;
  if (t.is_handle()) {
    scalar = llvm::PointerType::getUnqual(cx);
  } else if (t.is_float() && t.bits() == 32) {
    scalar = llvm::Type::getFloatTy(cx);
  } else if (t.is_float() && t.bits() == 64) {
    scalar = llvm::Type::getDoubleTy(cx);
  } else {
    scalar = llvm::IntegerType::get(cx, t.bits());
  }
  return t.lanes() == 1 ? scalar : llvm::FixedVectorType::get(scalar, t.lanes());
}

llvm::Type *Ops::memory_type(Type t) const { return type(t.is_bool() ? t.with_bits(8) : t); }

int Ops::lanes(Value *v) {
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return vector ? static_cast<int>(vector->getNumElements()) : 1;
}

llvm::Type *Ops::with_lanes_of(llvm::Type *scalar, Value *v) const {
  int n = lanes(v);
  return n == 1 && !v->getType()->isVectorTy() ? scalar : llvm::FixedVectorType::get(scalar, n);
}

Value *Ops::constant(llvm::Type *like, uint64_t bits) const {
  unsigned width = like->getScalarSizeInBits();
  return llvm::ConstantInt::get(like, llvm::APInt(64, bits).trunc(width));
}

Value *Ops::real(llvm::Type *like, double value) const {
  return llvm::ConstantFP::get(like, value);
}

Value *Ops::int_const(Type t, int64_t value) const {
  if (t.is_handle()) {
    Value *bits = b_.getInt64(static_cast<uint64_t>(value));
    return value == 0 ? llvm::Constant::getNullValue(type(t)) : b_.CreateIntToPtr(bits, type(t));
  }
  llvm::APInt bits = llvm::APInt(64, static_cast<uint64_t>(value)).trunc(t.bits());
  return llvm::ConstantInt::get(type(t), bits);
}

Value *Ops::float_const(Type t, double value) const {
  if (t.bits() > 16) return llvm::ConstantFP::get(type(t), value);
  llvm::APFloat x(value);
  bool lost = false;
  x.convert(t.is_bfloat() ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
            llvm::APFloat::rmNearestTiesToEven, &lost);
  return llvm::ConstantInt::get(type(t), x.bitcastToAPInt());
}

// ---- lanes --------------------------------------------------------------------------------------------------------

Value *Ops::splat(Value *v, int n) { return n == 1 ? v : b_.CreateVectorSplat(n, v); }

Value *Ops::lane(Value *v, int i) {
  return v->getType()->isVectorTy() ? b_.CreateExtractElement(v, i) : v;
}

Value *Ops::shuffle(Value *v, const std::vector<int> &picks) {
  if (picks.size() == 1) return lane(v, picks[0]);
  if (!v->getType()->isVectorTy()) return splat(v, static_cast<int>(picks.size()));
  return b_.CreateShuffleVector(v, picks);
}

// Scalars become elements; vectors are joined pairwise, the shorter one padded first.
Value *Ops::concat(const std::vector<Value *> &parts) {
  if (parts.size() == 1) return parts[0];
  bool scalars = true;
  for (Value *p : parts) scalars = scalars && !p->getType()->isVectorTy();
  if (scalars) {
    auto *t = llvm::FixedVectorType::get(parts[0]->getType(), static_cast<unsigned>(parts.size()));
    Value *all = llvm::PoisonValue::get(t);
    for (size_t i = 0; i < parts.size(); i++) all = b_.CreateInsertElement(all, parts[i], i);
    return all;
  }
  std::vector<Value *> level;
  for (Value *p : parts) {
    if (!p->getType()->isVectorTy()) p = b_.CreateVectorSplat(1, p);
    level.push_back(p);
  }
  while (level.size() > 1) {
    std::vector<Value *> next;
    for (size_t i = 0; i + 1 < level.size(); i += 2) {
      Value *a = level[i], *c = level[i + 1];
      int na = lanes(a), nc = lanes(c), n = std::max(na, nc);
      auto pad = [&](Value *v, int has) {
        if (has == n) return v;
        std::vector<int> picks(n, -1);
        for (int k = 0; k < has; k++) picks[k] = k;
        return b_.CreateShuffleVector(v, picks);
      };
      std::vector<int> picks;
      for (int k = 0; k < na; k++) picks.push_back(k);
      for (int k = 0; k < nc; k++) picks.push_back(n + k);
      next.push_back(b_.CreateShuffleVector(pad(a, na), pad(c, nc), picks));
    }
    if (level.size() % 2) next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

// ---- comparison, minimum, arithmetic ------------------------------------------------------------------------------

Value *Ops::compare(NodeKind op, Type t, Value *a, Value *b) {
  if (t.is_float()) {
    switch (op) {
      case NodeKind::EQ: return b_.CreateFCmpOEQ(a, b);
      case NodeKind::NE: return b_.CreateFCmpUNE(a, b);
      case NodeKind::LT: return b_.CreateFCmpOLT(a, b);
      case NodeKind::LE: return b_.CreateFCmpOLE(a, b);
      case NodeKind::GT: return b_.CreateFCmpOGT(a, b);
      default: return b_.CreateFCmpOGE(a, b);
    }
  }
  bool s = t.is_int();
  switch (op) {
    case NodeKind::EQ: return b_.CreateICmpEQ(a, b);
    case NodeKind::NE: return b_.CreateICmpNE(a, b);
    case NodeKind::LT: return s ? b_.CreateICmpSLT(a, b) : b_.CreateICmpULT(a, b);
    case NodeKind::LE: return s ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b);
    case NodeKind::GT: return s ? b_.CreateICmpSGT(a, b) : b_.CreateICmpUGT(a, b);
    default: return s ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b);
  }
}

// fcmp olt + select becomes one minps: the second operand where one is NaN or both are zero, as nodes.def says.
// InstCombine (LLVM 22) takes the outer one of max(max(c, x), c) away, although only that turns a NaN x into c. Here
// the inner one goes, which never matters.
Value *Ops::float_extreme(bool larger, Value *a, Value *b) {
  const auto order = larger ? llvm::CmpInst::FCMP_OGT : llvm::CmpInst::FCMP_OLT;
  if (auto *inner = llvm::dyn_cast<llvm::SelectInst>(a)) {
    auto *c = llvm::dyn_cast<llvm::FCmpInst>(inner->getCondition());
    Value *x = inner->getFalseValue();
    if (c && c->getPredicate() == order && c->getOperand(0) == b && c->getOperand(1) == x &&
        inner->getTrueValue() == b) {
      a = x;
    }
  }
  return b_.CreateSelect(b_.CreateFCmp(order, a, b), a, b);
}

Value *Ops::float_binary(NodeKind op, Type t, Value *a, Value *b) {
  bool narrow = t.bits() == 16;
  auto wide = [&](Value *v) { return narrow ? widen_float(t, v) : v; };
  switch (op) {
    case NodeKind::Min:
      if (!narrow) return float_extreme(false, a, b);
      return b_.CreateSelect(b_.CreateFCmpOLT(wide(a), wide(b)), a, b);
    case NodeKind::Max:
      if (!narrow) return float_extreme(true, a, b);
      return b_.CreateSelect(b_.CreateFCmpOGT(wide(a), wide(b)), a, b);
    case NodeKind::Mod: {
      Value *whole = round_float(IntrinsicOp::floor, t, float_binary(NodeKind::Div, t, a, b));
      return float_binary(NodeKind::Sub, t, a, float_binary(NodeKind::Mul, t, b, whole));
    }
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div: break;
    default: return compare(op, t, wide(a), wide(b));
  }
  Value *x = wide(a), *y = wide(b), *r = nullptr;
  switch (op) {
    case NodeKind::Add: r = b_.CreateFAdd(x, y); break;
    case NodeKind::Sub: r = b_.CreateFSub(x, y); break;
    case NodeKind::Mul: r = b_.CreateFMul(x, y); break;
    default: r = b_.CreateFDiv(x, y); break;
  }
  return narrow ? narrow_float(t, r) : r;
}

// One bit: addition is exclusive or; x / 1 = x and x / 0 = 0; x % 1 = x % 0 = 0.
Value *Ops::bool_binary(NodeKind op, Value *a, Value *b) {
  switch (op) {
    case NodeKind::Add:
    case NodeKind::Sub: return b_.CreateXor(a, b);
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Min: return b_.CreateAnd(a, b);
    case NodeKind::Max: return b_.CreateOr(a, b);
    default: return llvm::Constant::getNullValue(a->getType());
  }
}

Value *Ops::binary(NodeKind op, Type t, Value *a, Value *b) {
  if (t.is_float()) return float_binary(op, t, a, b);
  if (op == NodeKind::And) return b_.CreateAnd(a, b);
  if (op == NodeKind::Or) return b_.CreateOr(a, b);
  bool compares = op >= NodeKind::EQ && op <= NodeKind::GE;
  if (compares) return compare(op, t, a, b);
  if (t.is_bool()) return bool_binary(op, a, b);
  bool s = t.is_int();
  switch (op) {
    case NodeKind::Add: return b_.CreateAdd(a, b);
    case NodeKind::Sub: return b_.CreateSub(a, b);
    case NodeKind::Mul: return b_.CreateMul(a, b);
    case NodeKind::Div: return divide(t, a, b);
    case NodeKind::Mod: return modulo(t, a, b);
    case NodeKind::Min:
      return b_.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case NodeKind::Max:
      return b_.CreateBinaryIntrinsic(s ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    default: CALO_ASSERT(false, "not a binary operation"); return nullptr;
  }
}

// ---- division -----------------------------------------------------------------------------------------------------

// floor(a / divisor) for a signed `a` and a positive divisor. Away from powers of two: with s = a < 0 ? -1 : 0, a ^ s
// is a or -a - 1, never negative, and floor(a / d) = ((a ^ s) / d) ^ s; an unsigned division of a value whose top bit
// is clear is LLVM's cheapest (one multiply-high and a shift).
Value *Ops::floor_div(Value *a, const llvm::APInt &divisor) {
  unsigned bits = divisor.getBitWidth();
  if (divisor.isPowerOf2()) return b_.CreateAShr(a, divisor.logBase2());
  Value *sign = b_.CreateAShr(a, bits - 1);
  Value *magnitude = b_.CreateXor(a, sign);
  // LLVM does not see that the top bit is clear; told by a mask, it finds a multiplier that needs no correction.
  if (llvm::UnsignedDivisionByConstantInfo::get(divisor).IsAdd) {
    llvm::APInt low = llvm::APInt::getSignedMaxValue(bits);
    magnitude = b_.CreateAnd(magnitude, llvm::ConstantInt::get(a->getType(), low));
  }
  Value *q = b_.CreateUDiv(magnitude, llvm::ConstantInt::get(a->getType(), divisor));
  return b_.CreateXor(q, sign);
}

// a / divisor for a vector of 32-bit integers that are known to be below 2^22, else null: three instructions where a
// multiply-high takes seven, and far less work for LLVM. With r = 1 / divisor rounded up, a * r is at least the exact
// quotient (as rounding is monotone, also where that is an integer) and exceeds it by less than a * 1.5 * 2^-23 /
// divisor, so it does not reach the next integer.
Value *Ops::float_quotient(Value *a, const llvm::APInt &divisor) {
  constexpr unsigned kMostBits = 22;
  if (!a->getType()->isVectorTy() || divisor.getBitWidth() != 32 || divisor.isPowerOf2())
    return nullptr;
  const llvm::DataLayout &layout = b_.GetInsertBlock()->getModule()->getDataLayout();
  if (llvm::computeKnownBits(a, layout).countMaxActiveBits() > kMostBits) return nullptr;
  if (divisor.getActiveBits() > kMostBits) return llvm::Constant::getNullValue(a->getType());
  auto d = static_cast<double>(divisor.getZExtValue());
  auto r = static_cast<float>(1.0 / d);
  if (static_cast<double>(r) * d < 1.0) r = std::nextafter(r, 2.0f);
  llvm::Type *f = with_lanes_of(b_.getFloatTy(), a);
  Value *q = b_.CreateFMul(b_.CreateSIToFP(a, f), real(f, static_cast<double>(r)));
  return b_.CreateFPToSI(q, a->getType());
}

Value *Ops::divide(Type t, Value *a, Value *b) {
  const llvm::APInt *c = nullptr;
  Value *zero = llvm::Constant::getNullValue(a->getType());
  if (llvm::PatternMatch::match(b, llvm::PatternMatch::m_APInt(c))) {
    if (c->isZero()) return zero;
    llvm::APInt magnitude = t.is_int() ? c->abs() : *c;
    if (Value *q = float_quotient(a, magnitude))
      return t.is_int() && c->isNegative() ? b_.CreateNeg(q) : q;
    if (t.is_uint()) return c->isPowerOf2() ? b_.CreateLShr(a, c->logBase2()) : b_.CreateUDiv(a, b);
    Value *q = floor_div(a, c->abs());
    return c->isNegative() ? b_.CreateNeg(q) : q;
  }
  Value *by_zero = b_.CreateICmpEQ(b, zero);
  Value *one = constant(a->getType(), 1);
  if (t.is_uint()) {
    Value *q = quotient(t, a, b_.CreateSelect(by_zero, one, b));
    return b_.CreateSelect(by_zero, zero, q);
  }
  // The machine's division traps on min / -1: -1 is a negation instead.
  Value *by_minus_one = b_.CreateICmpEQ(b, constant(a->getType(), ~uint64_t(0)));
  Value *divisor = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, b);
  Value *q = quotient(t, a, divisor);
  Value *r = b_.CreateSub(a, b_.CreateMul(q, divisor));
  // Truncated to Euclidean: where the remainder is negative, one further from it in the divisor's direction.
  Value *negative = b_.CreateAShr(r, t.bits() - 1);
  Value *step = b_.CreateOr(b_.CreateAShr(divisor, t.bits() - 1), one);
  q = b_.CreateSub(q, b_.CreateAnd(step, negative));
  q = b_.CreateSelect(by_minus_one, b_.CreateNeg(a), q);
  return b_.CreateSelect(by_zero, zero, q);
}

Value *Ops::modulo(Type t, Value *a, Value *b) {
  const llvm::APInt *c = nullptr;
  Value *zero = llvm::Constant::getNullValue(a->getType());
  if (llvm::PatternMatch::match(b, llvm::PatternMatch::m_APInt(c))) {
    if (c->isZero()) return zero;
    llvm::APInt d = t.is_int() ? c->abs() : *c;
    Value *divisor = llvm::ConstantInt::get(a->getType(), d);
    if (d.isPowerOf2()) return b_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), d - 1));
    Value *q = float_quotient(a, d);
    if (!q) q = t.is_uint() ? b_.CreateUDiv(a, divisor) : floor_div(a, d);
    return b_.CreateSub(a, b_.CreateMul(q, divisor));
  }
  Value *by_zero = b_.CreateICmpEQ(b, zero);
  Value *one = constant(a->getType(), 1);
  Value *special = by_zero;  // x % -1 = x % 1 = 0
  if (t.is_int()) {
    special = b_.CreateOr(by_zero, b_.CreateICmpEQ(b, constant(a->getType(), ~uint64_t(0))));
  }
  Value *divisor = b_.CreateSelect(special, one, b);
  Value *q = quotient(t, a, divisor);
  Value *r = b_.CreateSub(a, b_.CreateMul(q, divisor));  // 0 where the divisor became 1
  if (t.is_uint()) return r;
  Value *magnitude = absolute(t, divisor);
  return b_.CreateAdd(r, b_.CreateAnd(b_.CreateAShr(r, t.bits() - 1), magnitude));
}

// Truncated a / b for a divisor that is neither 0 nor (signed) -1. x86 has no vector division of integers; the float
// quotient of 16-bit (double: 32-bit) integers truncates to the exact one: a / b lies at least 1/b below the next
// integer, which is a 2^-16 (2^-32) part of it at least, and rounding errs by 2^-24 (2^-53).
Value *Ops::quotient(Type t, Value *a, Value *b) {
  bool s = t.is_int();
  if (t.is_scalar() || t.bits() > 32) return s ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
  llvm::Type *real_type = with_lanes_of(t.bits() <= 16 ? b_.getFloatTy() : b_.getDoubleTy(), a);
  llvm::Type *whole = with_lanes_of(b_.getInt32Ty(), a);
  auto convert = [&](Value *v) {
    v = s ? b_.CreateSExt(v, whole) : b_.CreateZExt(v, whole);
    return s || t.bits() <= 16 ? b_.CreateSIToFP(v, real_type) : b_.CreateUIToFP(v, real_type);
  };
  Value *q = b_.CreateFDiv(convert(a), convert(b));
  q = s || t.bits() <= 16 ? b_.CreateFPToSI(q, whole) : b_.CreateFPToUI(q, whole);
  return b_.CreateTrunc(q, a->getType());
}

// ---- intrinsics ---------------------------------------------------------------------------------------------------

// Shifts `a` by an amount that is non-negative when read as unsigned and may exceed the width.
Value *Ops::shift_by(bool left, Type t, Value *a, Value *n) {
  llvm::Type *type = a->getType();
  Value *width = constant(type, t.bits());
  if (!left && t.is_int()) {
    Value *most = constant(type, t.bits() - 1);
    return b_.CreateAShr(a, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, n, most));
  }
  Value *shifted = left ? b_.CreateShl(a, n) : b_.CreateLShr(a, n);
  Value *in_range = b_.CreateICmpULT(n, width);
  return b_.CreateSelect(in_range, shifted, llvm::Constant::getNullValue(type));
}

Value *Ops::shift(bool left, Type t, Type amount, Value *a, Value *b) {
  const llvm::APInt *c = nullptr;
  if (llvm::PatternMatch::match(b, llvm::PatternMatch::m_APInt(c))) {
    bool negative = amount.is_int() && c->isNegative();
    uint64_t n = (negative ? c->abs() : *c).getLimitedValue(t.bits());
    bool to_left = left != negative;
    Value *zero = llvm::Constant::getNullValue(a->getType());
    if (!to_left && t.is_int()) return b_.CreateAShr(a, std::min<uint64_t>(n, t.bits() - 1));
    if (n >= static_cast<uint64_t>(t.bits())) return zero;
    return to_left ? b_.CreateShl(a, n) : b_.CreateLShr(a, n);
  }
  // An amount of another width is first brought to t's, keeping "too large" too large.
  Value *negative = nullptr;
  if (amount.is_int()) {
    negative = b_.CreateICmpSLT(b, llvm::Constant::getNullValue(b->getType()));
    b = b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, b, b_.getInt1(false));
  }
  if (amount.bits() > t.bits()) {
    b = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, constant(b->getType(), t.bits()));
  }
  b = b_.CreateZExtOrTrunc(b, a->getType());
  Value *forward = shift_by(left, t, a, b);
  return negative ? b_.CreateSelect(negative, shift_by(!left, t, a, b), forward) : forward;
}

Value *Ops::absolute(Type t, Value *v) {
  if (t.is_uint()) return v;
  if (t.is_int()) return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b_.getInt1(false));
  if (t.bits() == 16) return b_.CreateAnd(v, constant(v->getType(), 0x7fff));
  return unary(llvm::Intrinsic::fabs, v);
}

Value *Ops::fma(Type t, Value *a, Value *b, Value *c) {
  if (t.bits() == 16) {
    // The product of two 16-bit floats is exact in double, the sum nearly always: Note [fma16] in convert.cpp.
    Type d = Float(64, t.lanes());
    Value *product = b_.CreateFMul(cast(d, t, a), cast(d, t, b));
    return cast(t, d, b_.CreateFAdd(product, cast(d, t, c)));
  }
  if (!fma_) return b_.CreateFAdd(b_.CreateFMul(a, b), c);
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

Value *Ops::core(IntrinsicOp op, Type result, const std::vector<Type> &types,
                 const std::vector<Value *> &args) {
  Type t = types[0];
  Value *a = args[0], *b = args.size() > 1 ? args[1] : nullptr;
  bool s = t.is_int();
  switch (op) {
    case IntrinsicOp::bitwise_and: return b_.CreateAnd(a, b);
    case IntrinsicOp::bitwise_or: return b_.CreateOr(a, b);
    case IntrinsicOp::bitwise_xor: return b_.CreateXor(a, b);
    case IntrinsicOp::bitwise_not: return b_.CreateNot(a);
    case IntrinsicOp::shift_left: return shift(true, t, types[1], a, b);
    case IntrinsicOp::shift_right: return shift(false, t, types[1], a, b);
    case IntrinsicOp::abs: return absolute(t, a);
    case IntrinsicOp::absd:
      if (t.is_float()) return absolute(t, binary(NodeKind::Sub, t, a, b));
      return b_.CreateSub(binary(NodeKind::Max, t, a, b), binary(NodeKind::Min, t, a, b));
    case IntrinsicOp::fma: return fma(t, a, b, args[2]);
    case IntrinsicOp::sqrt:
      if (t.bits() == 16) {
        return narrow_float(t, unary(llvm::Intrinsic::sqrt, widen_float(t, a)));
      }
      return unary(llvm::Intrinsic::sqrt, a);
    case IntrinsicOp::floor:
    case IntrinsicOp::ceil:
    case IntrinsicOp::trunc:
    case IntrinsicOp::round: return t.is_float() ? round_float(op, t, a) : a;
    case IntrinsicOp::popcount: return unary(llvm::Intrinsic::ctpop, a);
    case IntrinsicOp::count_leading_zeros:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, b_.getInt1(false));
    case IntrinsicOp::count_trailing_zeros:
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, a, b_.getInt1(false));
    case IntrinsicOp::saturating_add:
      if (t.is_float()) return binary(NodeKind::Add, t, a, b);
      return b_.CreateBinaryIntrinsic(s ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat, a,
                                      b);
    case IntrinsicOp::saturating_sub:
      if (t.is_float()) return binary(NodeKind::Sub, t, a, b);
      return b_.CreateBinaryIntrinsic(s ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::usub_sat, a,
                                      b);
    case IntrinsicOp::bool_to_mask:  // all ones where true
      if (t.is_bool()) return b_.CreateSExt(a, type(result));
      return cast(result, t, a);
    default: break;
  }
  raise(Diagnostic(
      "T0103", {},
      std::string("no code for the operation ") + ir::intrinsic_name(op) + " on " + to_string(t)));
}

// ---- reduction ----------------------------------------------------------------------------------------------------

namespace {
llvm::Intrinsic::ID whole_vector_reduction(ir::ReduceOp op, Type t) {
  switch (op) {
    case ir::ReduceOp::Add: return llvm::Intrinsic::vector_reduce_add;
    case ir::ReduceOp::Mul: return llvm::Intrinsic::vector_reduce_mul;
    case ir::ReduceOp::Min:
      return t.is_int() ? llvm::Intrinsic::vector_reduce_smin : llvm::Intrinsic::vector_reduce_umin;
    case ir::ReduceOp::Max:
      return t.is_int() ? llvm::Intrinsic::vector_reduce_smax : llvm::Intrinsic::vector_reduce_umax;
    case ir::ReduceOp::And: return llvm::Intrinsic::vector_reduce_and;
    case ir::ReduceOp::Or: return llvm::Intrinsic::vector_reduce_or;
    default: return llvm::Intrinsic::not_intrinsic;
  }
}
}  // namespace

// Integers fold in any order (as a tree); floats and signed saturating sums from the first lane to the last.
Value *Ops::reduce(ir::ReduceOp op, Type t, Value *v, int n) {
  int group = t.lanes() / n;
  auto fold = [&](Type part, Value *x, Value *y) -> Value * {
    switch (op) {
      case ir::ReduceOp::Add: return binary(NodeKind::Add, part, x, y);
      case ir::ReduceOp::Mul: return binary(NodeKind::Mul, part, x, y);
      case ir::ReduceOp::Min: return binary(NodeKind::Min, part, x, y);
      case ir::ReduceOp::Max: return binary(NodeKind::Max, part, x, y);
      case ir::ReduceOp::And: return b_.CreateAnd(x, y);
      case ir::ReduceOp::Or: return b_.CreateOr(x, y);
      default: return core(IntrinsicOp::saturating_add, part, {part, part}, {x, y});
    }
  };
  auto every = [&](Value *from, int first, int step, int count) {
    std::vector<int> picks(count);
    for (int i = 0; i < count; i++) picks[i] = first + i * step;
    return shuffle(from, picks);
  };
  bool in_order = t.is_float() || (op == ir::ReduceOp::SaturatingAdd && t.is_int());
  if (group == 1) return v;
  llvm::Intrinsic::ID whole = whole_vector_reduction(op, t);
  if (n == 1 && !in_order && whole != llvm::Intrinsic::not_intrinsic) return unary(whole, v);
  while (!in_order && group % 2 == 0) {
    int half = lanes(v) / 2;
    v = fold(t.with_lanes(half), every(v, 0, 2, half), every(v, 1, 2, half));
    group /= 2;
  }
  if (group == 1) return v;
  Value *acc = every(v, 0, group, n);
  for (int k = 1; k < group; k++) acc = fold(t.with_lanes(n), acc, every(v, k, group, n));
  return acc;
}

}  // namespace calotype::codegen
