// Arithmetic on LLVM values with exactly the meaning that ir/nodes.def and ir/intrinsics.def give it. Internal.
//
// LLVM's integers carry no sign, so every function takes the IR type of its operands. 16-bit floats are held as i16
// bits and computed in float (exact for one operation), so no target needs LLVM's half or bfloat support; bools are
// i1. Nothing here may create poison: no nsw, no fast-math flag, every out-of-range case is guarded.
#pragma once

#include <vector>

#include "../base/target.h"
#include "../ir/nodes.h"

#include <llvm/IR/IRBuilder.h>

namespace calotype::codegen {

using llvm::Value;

class Ops {
public:
  Ops(llvm::IRBuilder<> &builder, const Target &target);

  /// The LLVM type of a value, and of what memory holds (bools as bytes).
  llvm::Type *type(Type t) const;
  llvm::Type *memory_type(Type t) const;

  Value *int_const(Type t, int64_t value) const;
  Value *float_const(Type t, double value) const;

  Value *splat(Value *v, int lanes);
  Value *concat(const std::vector<Value *> &parts);
  /// Lanes of `v`; an index of -1 leaves the lane unspecified.
  Value *shuffle(Value *v, const std::vector<int> &lanes);
  Value *lane(Value *v, int i);

  /// Add..Max and EQ..GE; `t` is the type of the operands.
  Value *binary(ir::NodeKind op, Type t, Value *a, Value *b);
  Value *cast(Type to, Type from, Value *v);
  Value *reinterpret(Type to, Type from, Value *v);
  /// A Core intrinsic. Throws T0103 for one that is none.
  Value *core(ir::Intrinsic op, Type result, const std::vector<Type> &types,
              const std::vector<Value *> &args);
  /// Folds groups of adjacent lanes of `v` (type `t`) to `lanes` lanes.
  Value *reduce(ir::ReduceOp op, Type t, Value *v, int lanes);

  static int lanes(Value *v);

private:
  Value *float_binary(ir::NodeKind op, Type t, Value *a, Value *b);
  Value *compare(ir::NodeKind op, Type t, Value *a, Value *b);
  Value *bool_binary(ir::NodeKind op, Value *a, Value *b);
  Value *floor_div(Value *a, const llvm::APInt &divisor);
  Value *float_quotient(Value *a, const llvm::APInt &divisor);
  Value *divide(Type t, Value *a, Value *b);
  Value *modulo(Type t, Value *a, Value *b);
  Value *quotient(Type t, Value *a, Value *b);
  Value *shift(bool left, Type t, Type amount, Value *a, Value *b);
  Value *shift_by(bool left, Type t, Value *a, Value *n);
  Value *float_extreme(bool larger, Value *a, Value *b);
  Value *round_float(ir::Intrinsic op, Type t, Value *v);
  Value *fma(Type t, Value *a, Value *b, Value *c);
  Value *absolute(Type t, Value *v);

  Value *float_to_int(Type to, Type from, Value *v);
  Value *float_to_int32(Type to, Type from, Value *v);
  Value *int_to_float(Type to, Type from, Value *v);
  Value *widen_float(Type from, Value *v);  // 16-bit float to float
  Value *narrow_float(Type to, Value *v);   // float to 16-bit float
  Value *round_to_odd(Value *v);            // double to float
  Value *unary(llvm::Intrinsic::ID id, Value *v) { return b_.CreateUnaryIntrinsic(id, v); }
  Value *constant(llvm::Type *like, uint64_t bits) const;  // integer, splat over like's lanes
  Value *real(llvm::Type *like, double value) const;
  llvm::Type *with_lanes_of(llvm::Type *scalar, Value *v) const;

  llvm::IRBuilder<> &b_;
  bool fma_, f16c_, rounds_;
};

}  // namespace calotype::codegen
