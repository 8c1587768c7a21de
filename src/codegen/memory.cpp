// Loads and stores of the Emitter: see emit.h.
//
// The index decides the form: a ramp of stride 1 is one vector access, -1 the same reversed, 2 to 4 a few overlapping
// vectors that stay inside [first, last] and a shuffle, a broadcast one scalar; everything else goes lane by lane, in
// order. An address is built outermost loop first (host, then what changes with each inner loop, then the constant), so
// that each partial sum is invariant in the loops further in and neighbouring accesses share all but the constant.
#include "emit.h"

#include "../base/diagnostic.h"

#include <algorithm>

namespace calotype::codegen {

using ir::NodeKind;

namespace {

Expr sum(const Expr &a, const Expr &b, bool minus) {
  const int64_t *x = ir::as_const_int(a), *y = ir::as_const_int(b);
  if (x && y) return ir::make_int(a.type(), minus ? *x - *y : *x + *y);
  if (y && *y == 0) return a;
  if (x && *x == 0 && !minus) return b;
  return minus ? ir::make_sub(a, b) : ir::make_add(a, b);
}

Expr product(const Expr &a, const Expr &b) {
  const int64_t *x = ir::as_const_int(a), *y = ir::as_const_int(b);
  if (x && y) return ir::make_int(a.type(), *x * *y);
  if ((x && *x == 0) || (y && *y == 1)) return a;
  if ((y && *y == 0) || (x && *x == 1)) return b;
  return ir::make_mul(a, b);
}

const ir::Call *as_marker(const Expr &e) {
  const auto *c = e.as<ir::Call>();
  bool intrinsic =
      c && (c->call_type == ir::CallType::PureIntrinsic || c->call_type == ir::CallType::Intrinsic);
  return intrinsic && ir::intrinsic_class(c->op) == ir::IntrinsicClass::Marker ? c : nullptr;
}

std::vector<int> run(int first, int step, int count) {
  std::vector<int> r(count);
  for (int i = 0; i < count; i++) r[i] = first + i * step;
  return r;
}

}  // namespace

// ---- addresses ----------------------------------------------------------------------------------------------------

std::optional<Emitter::Linear> Emitter::linear(const Expr &index) {
  Type scalar = index.type().element_of();
  if (const auto *op = index.as<ir::Ramp>()) {
    if (op->base.type().is_vector()) return std::nullopt;
    return Linear{op->base, op->stride, op->lanes};
  }
  if (const auto *op = index.as<ir::Broadcast>()) {
    if (op->value.type().is_vector()) return std::nullopt;
    return Linear{op->value, ir::make_zero(scalar), op->lanes};
  }
  if (const auto *op = as_marker(index)) return linear(op->args[0]);
  bool minus = index.kind() == NodeKind::Sub;
  if (index.kind() == NodeKind::Add || minus) {
    auto a = linear(minus ? index.as<ir::Sub>()->a : index.as<ir::Add>()->a);
    if (!a) return std::nullopt;
    auto b = linear(minus ? index.as<ir::Sub>()->b : index.as<ir::Add>()->b);
    if (!b) return std::nullopt;
    return Linear{sum(a->base, b->base, minus), sum(a->stride, b->stride, minus), a->lanes};
  }
  if (const auto *op = index.as<ir::Mul>()) {
    auto a = linear(op->a);
    if (!a) return std::nullopt;
    auto b = linear(op->b);
    if (!b) return std::nullopt;
    if (ir::is_const_zero(a->stride)) std::swap(a, b);
    if (!ir::is_const_zero(b->stride)) return std::nullopt;
    return Linear{product(a->base, b->base), product(a->stride, b->base), a->lanes};
  }
  return std::nullopt;
}

// Splits scale * e into a constant and terms, each with the depth at which it changes.
void Emitter::terms(const Expr &e, int64_t scale, std::vector<Term> *out, int64_t *constant) {
  constexpr size_t kMostTerms =
      64;  // beyond, wide() goes on: it evaluates shared subexpressions once
  constexpr int64_t kMostScale = int64_t(1) << 20;
  bool index_type = e.type().is_int() && e.type().bits() >= 32;
  if (index_type && out->size() < kMostTerms) {
    if (const auto *imm = e.as<ir::IntImm>()) {
      *constant += scale * imm->value;
      return;
    }
    if (const auto *op = e.as<ir::Add>()) {
      terms(op->a, scale, out, constant);
      return terms(op->b, scale, out, constant);
    }
    if (const auto *op = e.as<ir::Sub>()) {
      terms(op->a, scale, out, constant);
      return terms(op->b, -scale, out, constant);
    }
    if (const auto *op = e.as<ir::Mul>()) {
      const int64_t *a = ir::as_const_int(op->a), *b = ir::as_const_int(op->b);
      const int64_t *c = a ? a : b;
      if (c && std::abs(*c) <= kMostScale && std::abs(scale) <= kMostScale) {
        return terms(a ? op->b : op->a, scale * *c, out, constant);
      }
    }
    if (const auto *op = as_marker(e)) return terms(op->args[0], scale, out, constant);
  }
  int before = depth_;
  depth_ = 0;
  Value *v = wide(e);
  if (scale != 1) v = b_.CreateMul(v, b_.getInt64(static_cast<uint64_t>(scale)), "", false, true);
  out->push_back({v, depth_});
  depth_ = std::max(depth_, before);
}

Value *Emitter::host(const ir::Name &name) {
  const Symbol *s = symbols_.find(name);
  CALO_ASSERT(s != nullptr, "memory " + name.str() + " is not defined where it is used");
  depth_ = std::max(depth_, s->depth);
  return s->value;
}

Value *Emitter::offset(Type element, Value *pointer, Value *elements) {
  return b_.CreateGEP(ops_.memory_type(element.element_of()), pointer, elements);
}

Value *Emitter::address(const ir::Name &name, Type element, const Expr &scalar_index) {
  bool outer = in_index_;
  in_index_ = true;
  std::vector<Term> parts;
  int64_t constant = 0;
  terms(scalar_index, 1, &parts, &constant);
  in_index_ = outer;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Term &a, const Term &b) { return a.depth < b.depth; });
  Value *p = host(name);
  for (size_t i = 0; i < parts.size();) {
    Value *group = parts[i].value;
    size_t j = i + 1;
    for (; j < parts.size() && parts[j].depth == parts[i].depth; j++) {
      group = b_.CreateAdd(group, parts[j].value, "", false, true);
    }
    p = offset(element, p, group);
    i = j;
  }
  return constant == 0 ? p : offset(element, p, b_.getInt64(static_cast<uint64_t>(constant)));
}

std::vector<Value *> Emitter::lane_addresses(const ir::Name &name, Type element,
                                             const Expr &index) {
  int n = index.type().lanes();
  std::vector<Value *> result;
  if (auto at = linear(index)) {
    Value *first = address(name, element, at->base);
    in_index_ = true;
    Value *stride = wide(at->stride);
    in_index_ = false;
    for (int k = 0; k < n; k++) {
      Value *step = b_.CreateMul(stride, b_.getInt64(static_cast<uint64_t>(k)), "", false, true);
      result.push_back(k == 0 ? first : offset(element, first, step));
    }
    return result;
  }
  Value *v = expr(index), *base = host(name);
  for (int k = 0; k < n; k++) {
    Value *i = ops_.lane(v, k);
    i = index.type().is_uint() ? b_.CreateZExtOrTrunc(i, b_.getInt64Ty())
                               : b_.CreateSExtOrTrunc(i, b_.getInt64Ty());
    result.push_back(offset(element, base, i));
  }
  return result;
}

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

Value *Emitter::masked_load(const ir::Name &name, Type t, Value *pointer, Value *mask) {
  llvm::Type *memory = ops_.memory_type(t);
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
      Expr step = product(nested->stride, ir::make_int(nested->stride.type(), i));
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
      Value *p = address(name, t, sum(at->base, ir::make_int(at->base.type(), n - 1), true));
      std::vector<int> backwards = run(n - 1, -1, n);
      if (mask) mask = ops_.shuffle(mask, backwards);
      return ops_.shuffle(mask ? masked_load(name, t, p, mask) : load_at(name, t, p), backwards);
    }
    constexpr int64_t kMostStride = 4;
    if (stride && *stride > 1 && *stride <= kMostStride && !mask && n >= 4) {
      return strided_load(name, t, *at, static_cast<int>(*stride));
    }
  }
  std::vector<Value *> pointers = lane_addresses(name, t, index), lanes;
  for (int k = 0; k < n; k++) {
    auto one = [&] { return load_at(name, t.element_of(), pointers[k]); };
    lanes.push_back(mask ? when(ops_.lane(mask, k), ops_.type(t.element_of()), one) : one());
  }
  return ops_.concat(lanes);
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
      Expr step = product(nested->stride, ir::make_int(nested->stride.type(), i));
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
        base = sum(base, ir::make_int(base.type(), n - 1), true);
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
