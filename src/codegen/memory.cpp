// Loads and stores of the Emitter: see emit.h.
//
// The index decides the form: a ramp of stride 1 is one vector access, -1 the same reversed, 2 to 4 a few overlapping
// vectors that stay inside [first, last] and a shuffle, a broadcast one scalar; everything else goes lane by lane, in
// order. Addresses: index.cpp.
#include "emit.h"

#include "../base/diagnostic.h"
#include "../ir/equal.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>

namespace calotype::codegen {

using ir::NodeKind;

namespace {

std::vector<int> run(int first, int step, int count) {
  std::vector<int> r(count);
  for (int i = 0; i < count; i++) r[i] = first + i * step;
  return r;
}

}  // namespace

// ---- one access ---------------------------------------------------------------------------------------------------

void Emitter::annotate(Value *access, const ir::Name &name) {
  auto it = scopes_.find(name);
  auto *instruction = llvm::dyn_cast<llvm::Instruction>(access);
  if (it == scopes_.end() || !instruction) return;
  instruction->setMetadata(llvm::LLVMContext::MD_alias_scope, it->second.first);
  instruction->setMetadata(llvm::LLVMContext::MD_noalias, it->second.second);
}

Value *Emitter::from_memory(Type t, Value *v) { return t.is_bool() ? b_.CreateIsNotNull(v) : v; }

Value *Emitter::to_memory(Type t, Value *v) {
  return t.is_bool() ? b_.CreateZExt(v, ops_.memory_type(t)) : v;
}

Value *Emitter::load_at(const ir::Name &name, Type t, Value *pointer) {
  llvm::LoadInst *v = b_.CreateAlignedLoad(ops_.memory_type(t), pointer, llvm::Align(t.bytes()));
  annotate(v, name);
  return from_memory(t, v);
}

void Emitter::store_at(const ir::Name &name, Type t, Value *value, Value *pointer) {
  annotate(b_.CreateAlignedStore(to_memory(t, value), pointer, llvm::Align(t.bytes())), name);
}

// Whether the machine has masked moves of this element; LLVM otherwise tests and moves each lane.
bool Emitter::masks_are_cheap(Type t) const {
  bool bytes_too = target_.features_any_of({Target::AVX512_Skylake, Target::AVX512_Cannonlake,
                                            Target::AVX512_Zen4, Target::AVX512_Zen5,
                                            Target::AVX512_SapphireRapids, Target::AVX10_1});
  bool words = bytes_too || target_.features_any_of(
                                {Target::AVX, Target::AVX2, Target::AVX512, Target::AVX512_KNL});
  return t.bytes() >= 4 ? words : bytes_too;
}

bool Emitter::is_whole(const ir::Name &name) const {
  const Symbol *s = symbols_.find(name);
  return s && s->whole;
}

Value *Emitter::masked_load(const ir::Name &name, Type t, Value *pointer, Value *mask) {
  llvm::Type *memory = ops_.memory_type(t);
  if (is_whole(name)) {
    Value *v = load_at(name, t, pointer);
    return b_.CreateSelect(mask, v, llvm::Constant::getNullValue(v->getType()));
  }
  llvm::Align align(t.bytes());
  auto masked = [&] {
    Value *v =
        b_.CreateMaskedLoad(memory, pointer, align, mask, llvm::Constant::getNullValue(memory));
    annotate(v, name);
    return v;
  };
  if (masks_are_cheap(t)) return from_memory(t, masked());
  // Nearly always every lane is wanted: one whole access then.
  llvm::BasicBlock *whole = new_block("whole"), *part = new_block("part"),
                   *after = new_block("loaded");
  b_.CreateCondBr(b_.CreateAndReduce(mask), whole, part);
  b_.SetInsertPoint(whole);
  llvm::LoadInst *all = b_.CreateAlignedLoad(memory, pointer, align);
  annotate(all, name);
  b_.CreateBr(after);
  b_.SetInsertPoint(part);
  Value *some = masked();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode *phi = b_.CreatePHI(memory, 2);
  phi->addIncoming(all, whole);
  phi->addIncoming(some, part);
  return from_memory(t, phi);
}

void Emitter::masked_store(const ir::Name &name, Type t, Value *value, Value *pointer,
                           Value *mask) {
  // Only whole accesses let the memory become registers.
  if (is_whole(name)) {
    value = b_.CreateSelect(mask, value, load_at(name, t, pointer));
    return store_at(name, t, value, pointer);
  }
  value = to_memory(t, value);
  llvm::Align align(t.bytes());
  auto masked = [&] { annotate(b_.CreateMaskedStore(value, pointer, align, mask), name); };
  if (masks_are_cheap(t)) return masked();
  llvm::BasicBlock *whole = new_block("whole"), *part = new_block("part"),
                   *after = new_block("stored");
  b_.CreateCondBr(b_.CreateAndReduce(mask), whole, part);
  b_.SetInsertPoint(whole);
  annotate(b_.CreateAlignedStore(value, pointer, align), name);
  b_.CreateBr(after);
  b_.SetInsertPoint(part);
  masked();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

// ---- loads --------------------------------------------------------------------------------------------------------

Value *Emitter::load(const ir::Load *op) {
  if (updated_ && op->name == updated_->name && ir::equal(op->index, updated_->index)) {
    depth_ = std::max(depth_, frame_.loops);
    return old_value_;
  }
  Value *mask = nullptr;
  if (op->predicate.defined() && !ir::is_const_one(op->predicate)) mask = expr(op->predicate);
  if (mask_) {
    bool same = Ops::lanes(mask_) == op->type.lanes();
    Value *enclosing = same ? mask_ : ops_.splat(any_lane(mask_), op->type.lanes());
    mask = mask ? b_.CreateAnd(mask, enclosing) : enclosing;
  }
  Value *v = load_lanes(op->name, op->type, op->index, mask);
  depth_ = std::max(depth_, frame_.loops);
  return v;
}

Value *Emitter::load_lanes(const ir::Name &name, Type t, const Expr &index, Value *mask) {
  int n = t.lanes();
  llvm::Type *type = ops_.type(t);
  if (n == 1) {
    if (!mask) return load_at(name, t, address(name, t, index));
    return when(mask, type, [&] { return load_at(name, t, address(name, t, index)); });
  }
  const auto *nested = index.as<ir::Ramp>();
  if (nested && nested->base.type().is_vector()) {
    int inner = nested->base.type().lanes();
    std::vector<Value *> parts;
    for (int i = 0; i < nested->lanes; i++) {
      Expr step = ir::make_mul(nested->stride, ir::make_int(nested->stride.type(), i));
      Expr at = i == 0 ? nested->base : ir::make_add(nested->base, step);
      Value *m = mask ? ops_.shuffle(mask, run(i * inner, 1, inner)) : nullptr;
      parts.push_back(load_lanes(name, t.with_lanes(inner), at, m));
    }
    return ops_.concat(parts);
  }
  if (auto at = linear(index)) {
    const int64_t *stride = ir::as_const_int(at->stride);
    if (stride && *stride == 0) {
      if (!mask) return ops_.splat(load_at(name, t.element_of(), address(name, t, at->base)), n);
      Value *one = when(any_lane(mask), ops_.type(t.element_of()),
                        [&] { return load_at(name, t.element_of(), address(name, t, at->base)); });
      return b_.CreateSelect(mask, ops_.splat(one, n), llvm::Constant::getNullValue(type));
    }
    if (stride && *stride == 1) {
      Value *p = address(name, t, at->base);
      return mask ? masked_load(name, t, p, mask) : load_at(name, t, p);
    }
    if (stride && *stride == -1) {
      Value *p = address(name, t, ir::make_sub(at->base, ir::make_int(at->base.type(), n - 1)));
      std::vector<int> backwards = run(n - 1, -1, n);
      if (mask) mask = ops_.shuffle(mask, backwards);
      return ops_.shuffle(mask ? masked_load(name, t, p, mask) : load_at(name, t, p), backwards);
    }
    constexpr int64_t kMostStride = 4;
    if (stride && *stride > 1 && *stride <= kMostStride && !mask && n >= 4) {
      return strided_load(name, t, *at, static_cast<int>(*stride));
    }
  }
  if (!mask && n >= 4) {
    Expr rest, common;
    split_uniform(index, &rest, &common);
    if (auto at = clamped_ramp(rest)) return clamped_load(name, t, common, *at);
  }
  std::vector<Value *> pointers = lane_addresses(name, t, index), lanes;
  for (int k = 0; k < n; k++) {
    auto one = [&] { return load_at(name, t.element_of(), pointers[k]); };
    lanes.push_back(mask ? when(ops_.lane(mask, k), ops_.type(t.element_of()), one) : one());
  }
  return ops_.concat(lanes);
}

// Clamped coordinates next to each other: one vector where no clamp bites, else a function that
// gathers lane by lane. Its code is far from small, it runs at edges only, and an unrolled schedule
// has dozens of such loads.
Value *Emitter::clamped_load(const ir::Name &name, Type t, const Expr &common,
                             const ClampedRamp &at) {
  std::vector<Value *> args = {address(name, t, common), wide(at.base)};
  Value *first = args[1], *inside = nullptr;
  Value *last = b_.CreateAdd(first, b_.getInt64(static_cast<uint64_t>(t.lanes() - 1)));
  for (const auto &bound : at.bounds) {
    Value *limit = wide(bound.second);
    args.push_back(limit);
    Value *c = bound.first ? b_.CreateICmpSLE(last, limit) : b_.CreateICmpSGE(first, limit);
    inside = inside ? b_.CreateAnd(inside, c) : c;
  }
  llvm::BasicBlock *dense = new_block("dense"), *edge = new_block("edge");
  llvm::BasicBlock *after = new_block("loaded");
  b_.CreateCondBr(inside, dense, edge, llvm::MDBuilder(cx_).createLikelyBranchWeights());
  llvm::Type *memory = ops_.memory_type(t);
  b_.SetInsertPoint(dense);
  Value *whole = b_.CreateAlignedLoad(memory, offset(t, args[0], first), llvm::Align(t.bytes()));
  annotate(whole, name);
  b_.CreateBr(after);
  b_.SetInsertPoint(edge);
  Value *parts = b_.CreateCall(edge_function(t, at), args);
  annotate(parts, name);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode *phi = b_.CreatePHI(memory, 2);
  phi->addIncoming(whole, dense);
  phi->addIncoming(parts, edge);
  return from_memory(t, phi);
}

// elements EDGE(base, first coordinate, bounds): one for each type and order of clamps in a module.
llvm::Function *Emitter::edge_function(Type t, const ClampedRamp &at) {
  std::string name = "edge." + to_string(t) + ".";
  std::vector<llvm::Type *> params = {b_.getPtrTy(), b_.getInt64Ty()};
  for (const auto &bound : at.bounds) {
    name += bound.first ? "l" : "g";
    params.push_back(b_.getInt64Ty());
  }
  if (llvm::Function *f = module_.getFunction(name)) return f;
  llvm::Type *memory = ops_.memory_type(t);
  auto *type = llvm::FunctionType::get(memory, params, false);
  llvm::Function *f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module_);
  f->addFnAttr(llvm::Attribute::NoInline);
  f->addFnAttr(llvm::Attribute::Cold);
  f->setOnlyAccessesArgMemory();
  f->setOnlyReadsMemory();
  llvm::IRBuilder<>::InsertPointGuard keep(b_);
  b_.SetInsertPoint(llvm::BasicBlock::Create(cx_, "entry", f));
  std::vector<Value *> lanes;
  for (int k = 0; k < t.lanes(); k++) {
    Value *i = b_.CreateAdd(f->getArg(1), b_.getInt64(static_cast<uint64_t>(k)));
    for (size_t j = 0; j < at.bounds.size(); j++) {
      auto id = at.bounds[j].first ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
      i = b_.CreateBinaryIntrinsic(id, i, f->getArg(static_cast<unsigned>(j + 2)));
    }
    Value *p = offset(t, f->getArg(0), i);
    lanes.push_back(b_.CreateAlignedLoad(memory->getScalarType(), p, llvm::Align(t.bytes())));
  }
  b_.CreateRet(ops_.concat(lanes));
  return f;
}

// `stride` whole vectors cover the elements; the last ends exactly at the last element, so nothing outside is read.
Value *Emitter::strided_load(const ir::Name &name, Type t, const Linear &at, int stride) {
  int n = t.lanes(), total = (n - 1) * stride + 1;
  Value *first = address(name, t, at.base);
  std::vector<Value *> vectors;
  std::vector<int> starts;
  for (int j = 0; j < stride; j++) {
    int start = std::min(j * n, total - n);
    starts.push_back(start);
    Value *p = start == 0 ? first : offset(t, first, b_.getInt64(static_cast<uint64_t>(start)));
    vectors.push_back(load_at(name, t, p));
  }
  std::vector<int> picks;
  for (int k = 0; k < n; k++) {
    int element = k * stride, j = std::min(element / n, stride - 1);
    if (element < starts[j]) j--;
    picks.push_back(j * n + element - starts[j]);
  }
  if (stride == 2) return b_.CreateShuffleVector(vectors[0], vectors[1], picks);
  return ops_.shuffle(ops_.concat(vectors), picks);
}

// ---- stores -------------------------------------------------------------------------------------------------------

void Emitter::store(const ir::Store *op) {
  if (ir::as_intrinsic(op->value, ir::Intrinsic::undef)) return;
  if (shared_) return atomic_store(op);
  Value *mask = nullptr;
  if (op->predicate.defined() && !ir::is_const_one(op->predicate)) mask = expr(op->predicate);
  store_lanes(op->name, op->value.type(), expr(op->value), op->index, mask);
}

void Emitter::store_lanes(const ir::Name &name, Type t, Value *value, const Expr &index,
                          Value *mask) {
  int n = t.lanes();
  if (n == 1) {
    auto one = [&]() -> Value * {
      store_at(name, t, value, address(name, t, index));
      return nullptr;
    };
    if (mask) {
      when(mask, nullptr, one);
    } else {
      one();
    }
    return;
  }
  const auto *nested = index.as<ir::Ramp>();
  if (nested && nested->base.type().is_vector()) {
    int inner = nested->base.type().lanes();
    for (int i = 0; i < nested->lanes; i++) {
      Expr step = ir::make_mul(nested->stride, ir::make_int(nested->stride.type(), i));
      Expr at = i == 0 ? nested->base : ir::make_add(nested->base, step);
      auto slice = [&](Value *v) { return ops_.shuffle(v, run(i * inner, 1, inner)); };
      store_lanes(name, t.with_lanes(inner), slice(value), at, mask ? slice(mask) : nullptr);
    }
    return;
  }
  if (auto at = linear(index)) {
    const int64_t *stride = ir::as_const_int(at->stride);
    if (stride && (*stride == 1 || *stride == -1)) {
      Expr base = at->base;
      if (*stride == -1) {
        std::vector<int> backwards = run(n - 1, -1, n);
        value = ops_.shuffle(value, backwards);
        if (mask) mask = ops_.shuffle(mask, backwards);
        base = ir::make_sub(base, ir::make_int(base.type(), n - 1));
      }
      Value *p = address(name, t, base);
      if (mask) return masked_store(name, t, value, p, mask);
      return store_at(name, t, value, p);
    }
  }
  std::vector<Value *> pointers = lane_addresses(name, t, index);
  for (int k = 0; k < n; k++) {
    auto one = [&]() -> Value * {
      store_at(name, t.element_of(), ops_.lane(value, k), pointers[k]);
      return nullptr;
    };
    if (mask) {
      when(ops_.lane(mask, k), nullptr, one);
    } else {
      one();
    }
  }
}

}  // namespace calotype::codegen
