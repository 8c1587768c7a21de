// Effects inside expressions: print, require and trace, and calls of C functions that are not the runtime's.
//
// Vectors are taken apart: each lane that is evaluated (mask_) has the effect, in order. Tests:
// test/unit/driver/effects_test.cpp.
#include "emit.h"

#include "../base/diagnostic.h"
#include "../runtime/HalideRuntime.h"

#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>

namespace calotype::codegen {

using IntrinsicOp = ir::Intrinsic;

// body(k) for each lane that is evaluated; a scalar inside vector code runs where any lane does.
template <typename F> void Emitter::each_lane(int lanes, F body) {
  for (int k = 0; k < lanes; k++) {
    auto one = [&]() -> Value * {
      body(k);
      return nullptr;
    };
    if (!mask_) {
      one();
    } else {
      when(Ops::lanes(mask_) == lanes ? ops_.lane(mask_, k) : any_lane(mask_), nullptr, one);
    }
  }
}

// A constant-size array of the frame, written where it is used.
Value *Emitter::stack_array(llvm::Type *element, const std::vector<Value *> &values) {
  auto *type = llvm::ArrayType::get(element, std::max<size_t>(values.size(), 1));
  llvm::IRBuilder<> entry(frame_.entry, frame_.entry->begin());
  Value *array = entry.CreateAlloca(type);
  for (size_t i = 0; i < values.size(); i++)
    b_.CreateStore(values[i], b_.CreateConstInBoundsGEP2_64(type, array, 0, i));
  return array;
}

// Scalars as the 64-bit slots that runtime/message.cpp reads.
Value *Emitter::as_slot(Type t, Value *v) {
  if (t.is_float()) return b_.CreateBitCast(ops_.cast(Float(64), t, v), b_.getInt64Ty());
  if (t.is_handle()) return b_.CreatePtrToInt(v, b_.getInt64Ty());
  return t.is_int() ? b_.CreateSExt(v, b_.getInt64Ty()) : b_.CreateZExt(v, b_.getInt64Ty());
}

// The parts side by side, with a space between them: literals as they are, values by their type.
std::string Emitter::format_of(const std::vector<Expr> &parts) {
  std::string format;
  for (const Expr &e : parts) {
    if (!format.empty()) format += ' ';
    if (const auto *s = e.as<ir::StringImm>()) {
      for (char c : s->value) format += c == '%' ? std::string("%%") : std::string(1, c);
      continue;
    }
    const Type t = e.type();
    format += t.is_float()    ? (t.bits() == 64 ? "%e" : "%f")
              : t.is_handle() ? "%p"
              : t.is_int()    ? "%i"
                              : "%u";
  }
  return format;
}

// print(value, parts...) and print_when(condition, value, parts...): value.
Value *Emitter::print(const ir::Call *op) {
  const bool conditional = op->op == IntrinsicOp::print_when;
  const size_t first = conditional ? 1 : 0;
  Value *when_true = conditional ? expr(op->args[0]) : nullptr;
  Value *result = expr(op->args[first]);
  std::vector<Expr> parts(op->args.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                          op->args.end());
  std::vector<Value *> values;
  for (const Expr &e : parts) {
    const bool same = e.same_as(op->args[first]);
    values.push_back(e.as<ir::StringImm>() ? nullptr : same ? result : expr(e));
  }
  Value *format = string_const(format_of(parts) + "\n");
  each_lane(op->type.lanes(), [&](int k) {
    auto line = [&]() -> Value * {
      std::vector<Value *> slots;
      for (size_t i = 0; i < parts.size(); i++) {
        if (values[i])
          slots.push_back(as_slot(parts[i].type().element_of(), ops_.lane(values[i], k)));
      }
      call_extern(*find_extern("calo_print_values"), {format, stack_array(b_.getInt64Ty(), slots)});
      return nullptr;
    };
    if (when_true) {
      when(ops_.lane(when_true, k), nullptr, line);
    } else {
      line();
    }
  });
  return result;
}

// require(condition, value, "file:line", "condition's text", message parts...): value, or the function fails.
Value *Emitter::require(const ir::Call *op) {
  Value *bad = b_.CreateNot(expr(op->args[0]));
  const int lanes = Ops::lanes(bad);
  if (mask_) {
    bad =
        b_.CreateAnd(bad, Ops::lanes(mask_) == lanes ? mask_ : ops_.splat(any_lane(mask_), lanes));
  }
  llvm::BasicBlock *failed = new_block("failed"), *good = new_block("checked");
  b_.CreateCondBr(any_lane(bad), failed, good, llvm::MDBuilder(cx_).createUnlikelyBranchWeights());
  b_.SetInsertPoint(failed);
  {
    CacheScope scope(*this, false);
    Value *lane = nullptr;  // the first that fails
    if (bad->getType()->isVectorTy()) {
      Value *bits = b_.CreateBitCast(bad, b_.getIntNTy(static_cast<unsigned>(lanes)));
      lane = b_.CreateZExtOrTrunc(
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, b_.getInt1(false)),
          b_.getInt32Ty());
    }
    std::vector<Expr> parts(op->args.begin() + 4, op->args.end());
    std::vector<Value *> slots;
    for (const Expr &e : parts) {
      if (e.as<ir::StringImm>()) continue;
      Value *v = expr(e);
      if (lane && v->getType()->isVectorTy()) v = b_.CreateExtractElement(v, lane);
      slots.push_back(as_slot(e.type().element_of(), v));
    }
    Value *where = expr(op->args[2]), *text = expr(op->args[3]);
    fail(call_extern(*find_extern("calo_error_requirement_values"),
                     {string_const(pipeline_), text, where, string_const(format_of(parts)),
                      stack_array(b_.getInt64Ty(), slots)}));
  }
  b_.SetInsertPoint(good);
  return expr(op->args[1]);
}

// trace(func, event, parent, value index, tag, value, coordinates...): the event's id.
Value *Emitter::trace(const ir::Call *op) {
  const Type t = op->args[5].type();
  const bool has_value = *ir::as_const_int(op->args[1]) <= 1;
  Value *func = expr(op->args[0]), *event = expr(op->args[1]), *parent = expr(op->args[2]),
        *index = expr(op->args[3]);
  const auto *tag_text = op->args[4].as<ir::StringImm>();
  Value *null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  Value *tag = tag_text && !tag_text->value.empty() ? expr(op->args[4]) : null;
  Value *value = has_value ? expr(op->args[5]) : nullptr;
  std::vector<Value *> coordinates;
  int lanes = t.lanes();
  for (size_t i = 6; i < op->args.size(); i++) {
    coordinates.push_back(expr(op->args[i]));
    lanes = std::max(lanes, op->args[i].type().lanes());
  }
  const Type element = t.element_of();
  const int packed = has_value ? element.code() | element.bits() << 8 | 1 << 16 : 0;
  Value *id = nullptr;
  each_lane(lanes, [&](int k) {
    std::vector<Value *> at;
    for (Value *c : coordinates) at.push_back(ops_.lane(c, k));
    Value *memory = null;
    if (value)
      memory = stack_array(ops_.memory_type(element), {to_memory(element, ops_.lane(value, k))});
    id = call_extern(*find_extern("calo_trace_event"),
                     {func, tag, b_.getInt32(static_cast<uint32_t>(packed)), event, parent, index,
                      b_.getInt32(static_cast<uint32_t>(at.size())), memory,
                      at.empty() ? null : stack_array(b_.getInt32Ty(), at)});
  });
  const bool plain = op->type.is_scalar() && !mask_;
  return plain ? id : llvm::Constant::getNullValue(ops_.type(op->type));
}

// ---- buffers for C functions ------------------------------------------------------------------------------------------

// (memory or "", offset, packed type, min, extent, stride ...): a halide_buffer_t in the frame.
Value *Emitter::buffer_make(const ir::Call *op) {
  const size_t dims = (op->args.size() - 3) / 3;
  llvm::Type *bytes = llvm::ArrayType::get(b_.getInt64Ty(), (sizeof(halide_buffer_t) + 7) / 8);
  llvm::Type *shape = llvm::ArrayType::get(b_.getInt32Ty(), std::max<size_t>(1, 4 * dims));
  llvm::IRBuilder<> entry(frame_.entry, frame_.entry->begin());
  Value *buffer = entry.CreateAlloca(bytes), *dim = entry.CreateAlloca(shape);
  auto put = [&](Value *v, size_t offset) {
    b_.CreateStore(v, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), buffer, offset));
  };
  Value *null = llvm::ConstantPointerNull::get(b_.getPtrTy()), *memory = null;
  const int64_t packed = *ir::as_const_int(op->args[2]);
  if (!op->args[0].as<ir::StringImm>()) {
    const int64_t size = ((packed >> 8 & 0xff) + 7) / 8;
    Value *at = b_.CreateMul(wide(op->args[1]), b_.getInt64(static_cast<uint64_t>(size)));
    memory = b_.CreateGEP(b_.getInt8Ty(), expr(op->args[0]), at);
  }
  put(b_.getInt64(0), offsetof(halide_buffer_t, device));
  put(null, offsetof(halide_buffer_t, device_interface));
  put(memory, offsetof(halide_buffer_t, host));
  put(b_.getInt64(0), offsetof(halide_buffer_t, flags));
  put(b_.getInt32(static_cast<uint32_t>(packed)), offsetof(halide_buffer_t, type));
  put(b_.getInt32(static_cast<uint32_t>(dims)), offsetof(halide_buffer_t, dimensions));
  put(dim, offsetof(halide_buffer_t, dim));
  put(null, offsetof(halide_buffer_t, padding));
  for (size_t i = 0; i < dims; i++) {
    for (size_t k = 0; k < 4; k++) {
      Value *v =
          k < 3 ? ops_.cast(Int(32), op->args[3 + 3 * i + k].type(), expr(op->args[3 + 3 * i + k]))
                : b_.getInt32(0);
      b_.CreateStore(v, b_.CreateConstInBoundsGEP2_64(shape, dim, 0, 4 * i + k));
    }
  }
  depth_ = std::max(depth_, frame_.loops);
  return buffer;
}

// prefetch(memory, index, packed type): for reading, to stay in all caches.
Value *Emitter::prefetch(const ir::Call *op) {
  const int64_t size = ((*ir::as_const_int(op->args[2]) >> 8 & 0xff) + 7) / 8;
  Value *at = b_.CreateMul(wide(op->args[1]), b_.getInt64(static_cast<uint64_t>(size)));
  Value *address = b_.CreateGEP(b_.getInt8Ty(), expr(op->args[0]), at);  // may lie outside
  b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                     {address, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
  return b_.getInt32(0);
}

// extern_stage(C function, arguments...): the function fails where the C function does.
Value *Emitter::extern_stage(const ir::Call *op) {
  const std::string &name = op->args[0].as<ir::StringImm>()->value;
  std::vector<Expr> args(op->args.begin() + 1, op->args.end());
  if (target_.has_feature(Target::UserContext)) {
    args.insert(args.begin(), ir::make_extern_call(Handle(), "calo_user_context", {}, true));
  }
  Expr call = ir::make_extern_call(Int(32), name, args, false);
  Value *code = foreign_call(call.as<ir::Call>());
  llvm::BasicBlock *bad = new_block("failed"), *good = new_block("called");
  b_.CreateCondBr(b_.CreateIsNull(code), good, bad,
                  llvm::MDBuilder(cx_).createLikelyBranchWeights());
  b_.SetInsertPoint(bad);
  fail(call_extern(*find_extern("calo_error_extern_stage"),
                   {string_const(pipeline_), string_const(name), code}));
  b_.SetInsertPoint(good);
  forget_values();
  return b_.getInt32(0);
}

// memo_lookup and memo_store(key text, eviction key, n, n values ..., buffers ...).
Value *Emitter::memo(const ir::Call *op) {
  const size_t n = static_cast<size_t>(*ir::as_const_int(op->args[2]));
  std::vector<Value *> values, buffers;
  for (size_t i = 0; i < n; i++)
    values.push_back(as_slot(op->args[3 + i].type(), expr(op->args[3 + i])));
  for (size_t i = 3 + n; i < op->args.size(); i++) buffers.push_back(expr(op->args[i]));
  const bool store = op->op == IntrinsicOp::memo_store;
  return call_extern(*find_extern(store ? "calo_memo_store" : "calo_memo_lookup"),
                     {expr(op->args[0]), expr(op->args[1]), stack_array(b_.getInt64Ty(), values),
                      b_.getInt32(static_cast<uint32_t>(n)), stack_array(b_.getPtrTy(), buffers),
                      b_.getInt32(static_cast<uint32_t>(buffers.size()))});
}

// ---- C functions ----------------------------------------------------------------------------------------------------

namespace {
[[noreturn]] void no_call(const ir::Call *op, const std::string &why) {
  raise(Diagnostic("T0103", {}, "no code for a call of the C function " + op->name.str())
            .because(why));
}
}  // namespace

llvm::Function *Emitter::foreign_function(const ir::Call *op) {
  std::vector<llvm::Type *> params;
  for (const Expr &a : op->args) {
    const Type t = a.type().element_of();
    if (t.is_float() && t.bits() == 16) no_call(op, "C has no portable " + to_string(t));
    params.push_back(ops_.memory_type(t));
  }
  const Type r = op->type.element_of();
  if (r.is_float() && r.bits() == 16) no_call(op, "C has no portable " + to_string(r));
  auto *type = llvm::FunctionType::get(ops_.memory_type(r), params, false);
  if (llvm::Function *f = module_.getFunction(op->name.str())) {
    if (!f->hasFnAttribute(kForeignFunction))
      no_call(op, "compiled code has a function of its own by this name");
    if (f->getFunctionType() != type) no_call(op, "it is called with two different signatures");
    return f;
  }
  llvm::Function *f =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, op->name.str(), module_);
  f->addFnAttr(kForeignFunction);
  f->setDoesNotThrow();
  // The C ABI of x86-64: callers extend narrow integers.
  auto extension = [](Type t) {
    return t.is_int() ? llvm::Attribute::SExt : llvm::Attribute::ZExt;
  };
  for (size_t i = 0; i < op->args.size(); i++) {
    const Type t = op->args[i].type().element_of();
    if (t.is_int_or_uint() && t.bits() < 32)
      f->addParamAttr(static_cast<unsigned>(i), extension(t));
  }
  if (r.is_int_or_uint() && r.bits() < 32) f->addRetAttr(extension(r));
  return f;
}

Value *Emitter::foreign_call(const ir::Call *op) {
  llvm::Function *f = foreign_function(op);
  std::vector<Value *> args;
  for (const Expr &a : op->args) args.push_back(expr(a));
  const Type r = op->type.element_of();
  auto one = [&](int k) {
    std::vector<Value *> lane;
    for (size_t i = 0; i < args.size(); i++)
      lane.push_back(to_memory(op->args[i].type().element_of(), ops_.lane(args[i], k)));
    llvm::CallInst *call = b_.CreateCall(f, lane);
    call->setAttributes(f->getAttributes().removeFnAttributes(cx_));
    return from_memory(r, call);
  };
  const int lanes = op->type.lanes();
  if (op->call_type != ir::CallType::PureExtern) depth_ = std::max(depth_, frame_.loops);
  std::vector<Value *> results;
  for (int k = 0; k < lanes; k++) {
    if (mask_ && Ops::lanes(mask_) == lanes) {
      results.push_back(when(ops_.lane(mask_, k), ops_.type(r), [&] { return one(k); }));
    } else {
      results.push_back(one(k));
    }
  }
  return ops_.concat(results);
}

}  // namespace calotype::codegen
