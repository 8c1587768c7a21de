// Expressions of the Emitter: see emit.h.
//
// A node that several expressions share is evaluated once per statement (cache_): values made in a conditional block
// leave the cache when the block ends.
#include "emit.h"

#include "../base/diagnostic.h"
#include "../runtime/HalideRuntime.h"

#include <cstddef>

namespace calotype::codegen {

using ir::NodeKind;
using IntrinsicOp = ir::Intrinsic;

namespace {
[[noreturn]] void no_code_for(const std::string &what) {
  raise(Diagnostic("T0103", {}, "no code for " + what));
}
}  // namespace

Emitter::CacheScope::CacheScope(Emitter &e, bool fresh)
    : e_(e), fresh_(fresh), mark_(e.cache_log_.size()), index_mark_(e.index_log_.size()) {
  if (!fresh_) return;
  outer_.swap(e_.cache_);
  outer_log_.swap(e_.cache_log_);
}

Emitter::CacheScope::~CacheScope() {
  if (fresh_) {
    outer_.swap(e_.cache_);
    outer_log_.swap(e_.cache_log_);
    return;
  }
  // Statements inside may have emptied the cache.
  for (size_t i = mark_; i < e_.cache_log_.size(); i++) e_.cache_.erase(e_.cache_log_[i]);
  e_.cache_log_.resize(std::min(mark_, e_.cache_log_.size()));
  for (size_t i = index_mark_; i < e_.index_log_.size(); i++) {
    e_.index_values_.erase(e_.index_log_[i]);
  }
  e_.index_log_.resize(index_mark_);
}

void Emitter::forget_values() {
  cache_.clear();
  cache_log_.clear();
}

Value *Emitter::expr(const Expr &e) {
  bool shared =
      e.get()->ref_count() > 1 && e.kind() > NodeKind::StringImm && e.kind() != NodeKind::Variable;
  if (!shared) return compute(e);
  auto key = reinterpret_cast<uintptr_t>(e.get());
  auto it = cache_.find(key);
  if (it != cache_.end()) {
    depth_ = std::max(depth_, it->second.depth);
    return it->second.value;
  }
  int before = depth_;
  depth_ = 0;
  Value *v = compute(e);
  const auto *c = e.as<ir::Call>();
  bool effect =
      c && (c->call_type == ir::CallType::Extern || c->call_type == ir::CallType::Intrinsic);
  if (!effect && cache_.insert({key, {v, depth_, e, {}}}).second) cache_log_.push_back(key);
  depth_ = std::max(depth_, before);
  return v;
}

Value *Emitter::compute(const Expr &e) {
  switch (e.kind()) {
    case NodeKind::IntImm: return ops_.int_const(e.type(), e.as<ir::IntImm>()->value);
    case NodeKind::UIntImm: {
      return ops_.int_const(e.type(), static_cast<int64_t>(e.as<ir::UIntImm>()->value));
    }
    case NodeKind::FloatImm: return ops_.float_const(e.type(), e.as<ir::FloatImm>()->value);
    case NodeKind::StringImm: return string_const(e.as<ir::StringImm>()->value);
    case NodeKind::Cast: {
      const Expr &v = e.as<ir::Cast>()->value;
      return ops_.cast(e.type(), v.type(), expr(v));
    }
    case NodeKind::Reinterpret: {
      const Expr &v = e.as<ir::Reinterpret>()->value;
      return ops_.reinterpret(e.type(), v.type(), expr(v));
    }
    case NodeKind::Variable: return variable(e.as<ir::Variable>());
    case NodeKind::Not: return b_.CreateNot(expr(e.as<ir::Not>()->a));
    case NodeKind::Select: return select(e.as<ir::Select>());
    case NodeKind::Load: return load(e.as<ir::Load>());
    case NodeKind::Ramp: return ramp(e.as<ir::Ramp>());
    case NodeKind::Broadcast: {
      const auto *op = e.as<ir::Broadcast>();
      Value *v = expr(op->value);
      if (!v->getType()->isVectorTy()) return ops_.splat(v, op->lanes);
      std::vector<int> picks(e.type().lanes());
      for (size_t i = 0; i < picks.size(); i++) picks[i] = static_cast<int>(i) % Ops::lanes(v);
      return ops_.shuffle(v, picks);
    }
    case NodeKind::Call: return call(e.as<ir::Call>());
    case NodeKind::Let: return let(e.as<ir::Let>());
    case NodeKind::Shuffle: return shuffle(e.as<ir::Shuffle>());
    case NodeKind::VectorReduce: {
      const auto *op = e.as<ir::VectorReduce>();
      if (Value *v = dot_product(op)) return v;
      return ops_.reduce(op->op, op->value.type(), expr(op->value), e.type().lanes());
    }
    default: return binary(e);
  }
}

Value *Emitter::variable(const ir::Variable *op) {
  const Symbol *s = symbols_.find(op->name);
  CALO_ASSERT(s != nullptr, "variable " + op->name.str() + " is not defined where it is used");
  depth_ = std::max(depth_, s->depth);
  if (!s->is_index) return s->value;
  return b_.CreateTrunc(materialise(s->form), b_.getInt32Ty());
}

Value *Emitter::binary(const Expr &e) {
  switch (e.kind()) {
#define BINARY_NODE(K)                                             \
  case NodeKind::K: {                                              \
    const auto *op = e.as<ir::K>();                                \
    Value *a = expr(op->a);                                        \
    return ops_.binary(NodeKind::K, op->a.type(), a, expr(op->b)); \
  }
#include "../ir/binary_nodes.def"
#undef BINARY_NODE
    default: no_code_for("this kind of expression");
  }
}

// select(scalar condition, vectors) picks whole vectors; LLVM's select takes a scalar condition there too.
Value *Emitter::select(const ir::Select *op) {
  // The rest of a chain first: all of its choices would be held in registers until the last is known.
  Value *chain = op->false_value.as<ir::Select>() ? expr(op->false_value) : nullptr;
  Value *c = expr(op->condition);
  Value *t = expr(op->true_value);
  return b_.CreateSelect(c, t, chain ? chain : expr(op->false_value));
}

Value *Emitter::ramp(const ir::Ramp *op) {
  Value *base = expr(op->base), *stride = expr(op->stride);
  int inner = op->base.type().lanes();
  int count = op->lanes;
  Type t = op->type, part = op->base.type();
  std::vector<Value *> parts;
  if (inner == 1) {
    // base + stride * (0, 1, ...), as vectors.
    std::vector<Value *> steps;
    Value *wide_base = ops_.splat(base, count), *wide_stride = ops_.splat(stride, count);
    std::vector<llvm::Constant *> counts;
    for (int i = 0; i < count; i++) {
      Value *c =
          t.is_float() ? ops_.float_const(t.element_of(), i) : ops_.int_const(t.element_of(), i);
      counts.push_back(llvm::cast<llvm::Constant>(c));
    }
    Value *offsets = llvm::ConstantVector::get(counts);
    return ops_.binary(NodeKind::Add, t, wide_base,
                       ops_.binary(NodeKind::Mul, t, wide_stride, offsets));
  }
  for (int i = 0; i < count; i++) {
    Value *c = t.is_float() ? ops_.float_const(part, i) : ops_.int_const(part, i);
    Value *step = ops_.binary(NodeKind::Mul, part, stride, c);
    parts.push_back(ops_.binary(NodeKind::Add, part, base, step));
  }
  return ops_.concat(parts);
}

// Sums, products, minima and the like of Int32 become forms (index.cpp).
Emitter::Symbol Emitter::define(const Expr &value) {
  bool index = false;
  switch (value.kind()) {
    case NodeKind::IntImm:
    case NodeKind::Variable:
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::Min:
    case NodeKind::Max: index = value.type() == Int(32); break;
    default: break;
  }
  int before = depth_;
  depth_ = 0;
  Symbol s;
  if (index) {
    s = index_symbol(form(value));
  } else {
    s.value = expr(value);
    s.depth = depth_;
    s.type = value.type();
  }
  depth_ = before;
  return s;
}

Value *Emitter::let(const ir::Let *op) {
  Symbol s = define(op->value);
  // Entries made under this name must not be seen outside; if it hides another, nor the outer ones inside.
  CacheScope scope(*this, symbols_.contains(op->name));
  ir::ScopedBinding<Symbol> bind(symbols_, op->name, s);
  return expr(op->body);
}

Value *Emitter::shuffle(const ir::Shuffle *op) {
  std::vector<Value *> parts;
  for (const Expr &v : op->vectors) parts.push_back(expr(v));
  bool identity = true;
  size_t total = 0;
  for (const Expr &v : op->vectors) total += static_cast<size_t>(v.type().lanes());
  for (size_t i = 0; i < op->indices.size(); i++)
    identity = identity && op->indices[i] == static_cast<int>(i);
  if (parts.size() == 2 && parts[0]->getType() == parts[1]->getType() &&
      parts[0]->getType()->isVectorTy() && op->indices.size() > 1) {
    return b_.CreateShuffleVector(parts[0], parts[1], op->indices);
  }
  if (op->indices.size() == 1) {  // one lane: no need to join first
    int i = op->indices[0];
    for (Value *p : parts) {
      if (i < Ops::lanes(p)) return ops_.lane(p, i);
      i -= Ops::lanes(p);
    }
  }
  Value *all = ops_.concat(parts);
  if (identity && total == op->indices.size()) return all;
  return ops_.shuffle(all, op->indices);
}

Value *Emitter::string_const(const std::string &text) {
  Value *&global = strings_[text];
  if (!global) global = b_.CreateGlobalString(text, "text");
  return global;
}

// ---- calls --------------------------------------------------------------------------------------------------------

Value *Emitter::call(const ir::Call *op) {
  if (op->call_type == ir::CallType::Extern || op->call_type == ir::CallType::PureExtern)
    return extern_call(op);
  if (op->call_type != ir::CallType::Intrinsic && op->call_type != ir::CallType::PureIntrinsic) {
    CALO_ASSERT(false, "a call of " + op->name.str() + " reached code generation");
  }
  switch (ir::intrinsic_class(op->op)) {
    case ir::IntrinsicClass::Marker: return expr(op->args[0]);
    case ir::IntrinsicClass::Buffer: return buffer_field(op);
    default: break;
  }
  switch (op->op) {
    case IntrinsicOp::if_then_else: return guarded(op);
    case IntrinsicOp::return_second: expr(op->args[0]); return expr(op->args[1]);
    case IntrinsicOp::print:
    case IntrinsicOp::print_when: return print(op);
    case IntrinsicOp::require: return require(op);
    case IntrinsicOp::trace: return trace(op);
    case IntrinsicOp::buffer_make: return buffer_make(op);
    case IntrinsicOp::prefetch: return prefetch(op);
    case IntrinsicOp::extern_stage: return extern_stage(op);
    case IntrinsicOp::memo_lookup:
    case IntrinsicOp::memo_store: return memo(op);
    case IntrinsicOp::undef: return llvm::Constant::getNullValue(ops_.type(op->type));
    case IntrinsicOp::buffer_set_bounds:
    case IntrinsicOp::buffer_set_type:
      set_buffer(op);
      return llvm::Constant::getNullValue(ops_.type(op->type));
    case IntrinsicOp::error: {
      Value *code = error_call(op);
      fail(code);
      b_.SetInsertPoint(new_block("unreached"));
      return op->type.is_int() ? b_.CreateSExtOrTrunc(code, ops_.type(op->type))
                               : llvm::Constant::getNullValue(ops_.type(op->type));
    }
    default: break;
  }
  if (ir::intrinsic_class(op->op) != ir::IntrinsicClass::Core) {
    no_code_for(std::string("the operation ") + ir::intrinsic_name(op->op));
  }
  std::vector<Type> types;
  std::vector<Value *> args;
  for (const Expr &a : op->args) {
    types.push_back(a.type());
    args.push_back(expr(a));
  }
  return ops_.core(op->op, op->type, types, args);
}

Value *Emitter::extern_call(const ir::Call *op) {
  const ExternFunction *f = find_extern(op->name.str());
  if (!f) return foreign_call(op);
  CALO_ASSERT(op->args.size() == f->params.size(),
              "wrong number of arguments for " + op->name.str());
  std::vector<Value *> args;
  for (size_t i = 0; i < op->args.size(); i++) {
    const Expr &a = op->args[i];
    bool null = f->params[i].is_handle() && ir::is_const_zero(a);
    args.push_back(null ? ops_.int_const(Handle(), 0) : ops_.cast(f->params[i], a.type(), expr(a)));
  }
  Value *result = call_extern(*f, args);
  if (result->getType()->isVoidTy()) return llvm::Constant::getNullValue(ops_.type(op->type));
  return ops_.cast(op->type, f->result, result);
}

// if_then_else(c, a, b): only the chosen side runs. For a vector condition the loads of each side read only the lanes
// that chose it (mask_).
Value *Emitter::guarded(const ir::Call *op) {
  Value *c = expr(op->args[0]);
  llvm::Type *t = ops_.type(op->type);
  if (!c->getType()->isVectorTy()) {
    Value *chosen = when(c, t, [&] { return expr(op->args[1]); });
    if (op->args.size() < 3) return chosen;
    Value *other = when(b_.CreateNot(c), t, [&] { return expr(op->args[2]); });
    return b_.CreateSelect(c, chosen, other);
  }
  auto side = [&](const Expr &e, Value *lanes) {
    Value *outer = mask_;
    CacheScope scope(*this, true);
    mask_ = outer && outer->getType() == lanes->getType() ? b_.CreateAnd(outer, lanes) : lanes;
    Value *v = expr(e);
    mask_ = outer;
    return v;
  };
  Value *a = side(op->args[1], c);
  Value *b =
      op->args.size() < 3 ? llvm::Constant::getNullValue(t) : side(op->args[2], b_.CreateNot(c));
  return b_.CreateSelect(c, a, b);
}

Value *Emitter::any_lane(Value *mask) {
  return mask->getType()->isVectorTy() ? b_.CreateOrReduce(mask) : mask;
}

// ---- buffers ------------------------------------------------------------------------------------------------------

Value *Emitter::buffer_field(const ir::Call *op) {
  Value *buffer = expr(op->args[0]);
  auto field = [&](llvm::Type *t, size_t bytes) {
    return b_.CreateLoad(t, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), buffer, bytes));
  };
  auto dim_field = [&](size_t bytes) {
    Value *dims = field(b_.getPtrTy(), offsetof(halide_buffer_t, dim));
    Value *at = b_.CreateMul(wide(op->args[1]), b_.getInt64(sizeof(halide_dimension_t)));
    at = b_.CreateAdd(at, b_.getInt64(bytes));
    return b_.CreateLoad(b_.getInt32Ty(), b_.CreateGEP(b_.getInt8Ty(), dims, at));
  };
  auto host_of = [&](Value *b) {
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(
                                            b_.getInt8Ty(), b, offsetof(halide_buffer_t, host)));
  };
  switch (op->op) {
    case IntrinsicOp::buffer_host: return host_of(buffer);
    case IntrinsicOp::buffer_min: return dim_field(offsetof(halide_dimension_t, min));
    case IntrinsicOp::buffer_extent: return dim_field(offsetof(halide_dimension_t, extent));
    case IntrinsicOp::buffer_stride: return dim_field(offsetof(halide_dimension_t, stride));
    case IntrinsicOp::buffer_type_code:
      return field(b_.getInt32Ty(), offsetof(halide_buffer_t, type));
    case IntrinsicOp::buffer_dimensions: {  // -1 where there should be an array of them and is none
      Value *n = field(b_.getInt32Ty(), offsetof(halide_buffer_t, dimensions));
      Value *none =
          b_.CreateAnd(b_.CreateIsNull(field(b_.getPtrTy(), offsetof(halide_buffer_t, dim))),
                       b_.CreateICmpNE(n, b_.getInt32(0)));
      return b_.CreateSelect(none, b_.getInt32(~0u), n);
    }
    case IntrinsicOp::buffer_is_bounds_query: {
      Value *device = field(b_.getInt64Ty(), offsetof(halide_buffer_t, device));
      return b_.CreateAnd(b_.CreateIsNull(host_of(buffer)), b_.CreateIsNull(device));
    }
    default: no_code_for(std::string("the operation ") + ir::intrinsic_name(op->op));
  }
}

void Emitter::set_buffer(const ir::Call *op) {
  Value *buffer = expr(op->args[0]);
  auto at = [&](Value *from, size_t bytes) {
    return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), from, bytes);
  };
  if (op->op == IntrinsicOp::buffer_set_type) {
    b_.CreateStore(b_.CreateZExtOrTrunc(expr(op->args[1]), b_.getInt32Ty()),
                   at(buffer, offsetof(halide_buffer_t, type)));
    b_.CreateStore(expr(op->args[2]), at(buffer, offsetof(halide_buffer_t, dimensions)));
    return;
  }
  Value *dims = b_.CreateLoad(b_.getPtrTy(), at(buffer, offsetof(halide_buffer_t, dim)));
  Value *bytes = b_.CreateMul(wide(op->args[1]), b_.getInt64(sizeof(halide_dimension_t)));
  Value *dim = b_.CreateGEP(b_.getInt8Ty(), dims, bytes);
  b_.CreateStore(expr(op->args[2]), at(dim, offsetof(halide_dimension_t, min)));
  b_.CreateStore(expr(op->args[3]), at(dim, offsetof(halide_dimension_t, extent)));
  b_.CreateStore(expr(op->args[4]), at(dim, offsetof(halide_dimension_t, stride)));
}

Value *Emitter::condition(const Expr &e) {
  Value *c = expr(e);
  return c->getType()->isVectorTy() ? b_.CreateAndReduce(c) : c;
}

}  // namespace calotype::codegen
