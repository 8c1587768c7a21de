// Sums of products of narrow integers: pmaddwd multiplies eight (or sixteen) pairs of int16 and adds neighbours in int32.
#include "emit.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace calotype::codegen {

namespace {

// `e` as a value of int16, if it is a widening of something that fits one.
Expr as_int16(const Expr &e) {
  const auto *cast = e.as<ir::Cast>();
  if (!cast || !e.type().is_int_or_uint()) return {};
  const Type from = cast->value.type();
  const bool fits = (from.is_int() && from.bits() <= 16) || (from.is_uint() && from.bits() <= 8);
  if (!fits) return {};
  return ir::make_cast(Int(16, from.lanes()), cast->value);
}

}  // namespace

// VectorReduce Add of a[i] * b[i] in 32 bits; null where it is something else. Sums wrap as those of int32 do.
Value *Emitter::dot_product(const ir::VectorReduce *op) {
  const Type t = op->value.type();
  if (op->op != ir::ReduceOp::Add || t.bits() != 32 || t.is_float() || target_.arch != Target::X86)
    return nullptr;
  const int n = op->type.lanes();
  const int group = t.lanes() / n;
  const auto *mul = op->value.as<ir::Mul>();
  if (!mul || group % 2 != 0) return nullptr;
  const Expr a = as_int16(mul->a), b = as_int16(mul->b);
  if (!a.defined() || !b.defined()) return nullptr;
  const bool wide = target_.has_feature(Target::AVX2) && t.lanes() % 16 == 0;
  const int width = wide ? 16 : 8;
  if (t.lanes() % width != 0) return nullptr;
  const llvm::Intrinsic::ID id =
      wide ? llvm::Intrinsic::x86_avx2_pmadd_wd : llvm::Intrinsic::x86_sse2_pmadd_wd;
  Value *va = expr(a), *vb = expr(b);
  std::vector<Value *> parts;
  for (int start = 0; start < t.lanes(); start += width) {
    std::vector<int> picks(static_cast<size_t>(width));
    for (int i = 0; i < width; i++) picks[static_cast<size_t>(i)] = start + i;
    parts.push_back(b_.CreateIntrinsic(id, {}, {ops_.shuffle(va, picks), ops_.shuffle(vb, picks)}));
  }
  const Type half = t.with_lanes(t.lanes() / 2);
  // Whole parts add up before neighbours meet, where all goes into one sum.
  if (n == 1) {
    Value *sum = parts[0];
    for (size_t i = 1; i < parts.size(); i++) sum = b_.CreateAdd(sum, parts[i]);
    return ops_.reduce(op->op, t.with_lanes(width / 2), sum, 1);
  }
  return ops_.reduce(op->op, half, ops_.concat(parts), n);
}

}  // namespace calotype::codegen
