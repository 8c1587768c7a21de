// Updates of memory that other threads update as well (ir::Atomic with `shared`): one instruction where the machine has it
// and the value is that simple, else a loop that computes the new value from the old one until nobody came between.
#include "emit.h"

#include "../base/diagnostic.h"
#include "../ir/equal.h"

namespace calotype::codegen {

using llvm::AtomicOrdering;

void Emitter::atomic(const ir::Atomic *op) {
  const bool before = shared_;
  shared_ = op->shared;
  stmt(op->body);
  shared_ = before;
}

void Emitter::atomic_store(const ir::Store *op) {
  CALO_ASSERT(op->value.type().is_scalar(), "an atomic update of several lanes at once");
  const auto update = [&]() -> Value * {
    Value *pointer = address(op->name, op->value.type(), op->index);
    return single_instruction(op, pointer) ? nullptr : exchange_loop(op, pointer);
  };
  if (op->predicate.defined() && !ir::is_const_one(op->predicate)) {
    when(expr(op->predicate), nullptr, update);
  } else {
    update();
  }
}

// old + g, old - g, min, max, and, or, xor on integers, where g does not read the element.
bool Emitter::single_instruction(const ir::Store *op, Value *pointer) {
  using RMW = llvm::AtomicRMWInst;
  const Type t = op->value.type();
  if (!t.is_int_or_uint() || t.is_bool()) return false;
  const auto is_old = [&](const Expr &e) {
    const auto *load = e.as<ir::Load>();
    return load && load->name == op->name && ir::equal(load->index, op->index);
  };
  const auto reads = [&](const Expr &e) {
    bool found = false;
    ir::for_each_expr(e, [&](const Expr &x) { found |= is_old(x); });
    return found;
  };
  RMW::BinOp kind = RMW::BAD_BINOP;
  Expr g;
  const auto match = [&](const Expr &a, const Expr &b, RMW::BinOp k, bool commutes) {
    if (is_old(a) && !reads(b)) {
      g = b;
      kind = k;
    } else if (commutes && is_old(b) && !reads(a)) {
      g = a;
      kind = k;
    }
  };
  const Expr &v = op->value;
  if (const auto *n = v.as<ir::Add>()) match(n->a, n->b, RMW::Add, true);
  if (const auto *n = v.as<ir::Sub>()) match(n->a, n->b, RMW::Sub, false);
  if (const auto *n = v.as<ir::Min>()) match(n->a, n->b, t.is_int() ? RMW::Min : RMW::UMin, true);
  if (const auto *n = v.as<ir::Max>()) match(n->a, n->b, t.is_int() ? RMW::Max : RMW::UMax, true);
  const std::pair<ir::Intrinsic, RMW::BinOp> bits[] = {{ir::Intrinsic::bitwise_and, RMW::And},
                                                       {ir::Intrinsic::bitwise_or, RMW::Or},
                                                       {ir::Intrinsic::bitwise_xor, RMW::Xor}};
  for (const auto &b : bits) {
    if (const ir::Call *call = ir::as_intrinsic(v, b.first))
      match(call->args[0], call->args[1], b.second, true);
  }
  if (kind == RMW::BAD_BINOP) return false;
  annotate(
      b_.CreateAtomicRMW(kind, pointer, expr(g), llvm::Align(t.bytes()), AtomicOrdering::Monotonic),
      op->name);
  return true;
}

Value *Emitter::exchange_loop(const ir::Store *op, Value *pointer) {
  const Type t = op->value.type();
  llvm::Type *memory = ops_.memory_type(t);
  llvm::Type *word = b_.getIntNTy(static_cast<unsigned>(t.bytes() * 8));
  const llvm::Align align(t.bytes());
  llvm::LoadInst *first = b_.CreateAlignedLoad(word, pointer, align);
  first->setAtomic(AtomicOrdering::Monotonic);
  annotate(first, op->name);
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *body = new_block("update"), *after = new_block("updated");
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode *old = b_.CreatePHI(word, 2);
  old->addIncoming(first, before);
  Value *value = nullptr;
  {
    CacheScope scope(*this, true);
    updated_ = op;
    old_value_ = from_memory(t, b_.CreateBitCast(old, memory));
    frame_.loops++;
    value = b_.CreateBitCast(to_memory(t, expr(op->value)), word);
    frame_.loops--;
    updated_ = nullptr;
  }
  Value *done = b_.CreateAtomicCmpXchg(pointer, old, value, align, AtomicOrdering::Monotonic,
                                       AtomicOrdering::Monotonic);
  annotate(done, op->name);
  old->addIncoming(b_.CreateExtractValue(done, 0), b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateExtractValue(done, 1), after, body);
  b_.SetInsertPoint(after);
  return nullptr;
}

}  // namespace calotype::codegen
