// The published interface around a compiled function: see object.h. Part of the Emitter.
//
//   int NAME(arguments)            collects pointers to them and calls the body
//   int NAME_argv(void **args)     args[i]: a halide_buffer_t *, or a pointer to the scalar
//   ..._t *NAME_metadata(void)     constant data
// With the user_context feature the context is the first argument of all three. Wrappers are compiled for any x86-64:
// they ask the processor before a function with other instructions is entered.
#include "../base/diagnostic.h"
#include "../lang/buffer.h"
#include "emit.h"
#include "metadata.h"
#include "module.h"

namespace calotype::codegen {

namespace {

using Kind = lower::LoweredArgument::Kind;

/// What of the processor's abilities the target names, as people write it.
std::string instruction_names(const Target &t) {
  std::string all;
  const std::string text = t.to_string();
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('-', at), text.size());
    const std::string word = text.substr(at, end - at);
    for (const char *known : {"sse41", "avx", "fma", "f16c"}) {
      if (word.compare(0, std::string(known).size(), known) != 0) continue;
      all += (all.empty() ? "" : ", ") + word;
      break;
    }
    at = end + 1;
  }
  return all;
}

}  // namespace

// ---- functions ----------------------------------------------------------------------------------------------------

std::vector<llvm::Type *> Emitter::wrapper_params(const lower::LoweredFunction &f) const {
  std::vector<llvm::Type *> params;
  llvm::Type *pointer = llvm::PointerType::get(cx_, 0);
  if (target_.has_feature(Target::UserContext)) params.push_back(pointer);
  for (const lower::LoweredArgument &a : f.args) {
    params.push_back(a.kind == Kind::InputScalar ? ops_.memory_type(a.type) : pointer);
  }
  return params;
}

llvm::Function *Emitter::start_wrapper(const std::string &name,
                                       const std::vector<llvm::Type *> &params) {
  llvm::Function *f = start_function(name, params, false);
  f->addFnAttr(kBaseline);
  frame_.context = llvm::ConstantPointerNull::get(b_.getPtrTy());
  return f;
}

Value *Emitter::can_run(const Target &t) {
  const ExternFunction has{"calo_cpu_has", "calo_cpu_has", false, Bool(), {UInt(32)}};
  return call_extern(has, {b_.getInt32(instructions_of(t).cpu)});
}

/// Can it, and does the program not say otherwise?
Value *Emitter::may_run(const Target &t) {
  std::vector<llvm::Constant *> words;
  for (int first = 0; first < Target::FeatureEnd; first += 64) {
    uint64_t word = 0;
    for (int i = first; i < std::min<int>(first + 64, Target::FeatureEnd); i++)
      word |= uint64_t(t.has_feature(static_cast<Target::Feature>(i))) << i % 64;
    words.push_back(b_.getInt64(word));
  }
  auto *type = llvm::ArrayType::get(b_.getInt64Ty(), words.size());
  Value *features = constant(llvm::ConstantArray::get(type, words), ".features");
  const ExternFunction ask{"halide_can_use_target_features",
                           "halide_can_use_target_features",
                           false,
                           Int(32),
                           {Int(32), Handle()}};
  Value *allowed = call_extern(ask, {b_.getInt32(static_cast<uint32_t>(words.size())), features});
  return b_.CreateAnd(can_run(t), b_.CreateIsNotNull(allowed));
}

void Emitter::refuse_processor() {
  if (instructions_of(target_).cpu == 0) return;
  llvm::BasicBlock *bad = new_block("unable"), *good = new_block("able");
  b_.CreateCondBr(can_run(target_), good, bad);
  b_.SetInsertPoint(bad);
  b_.CreateRet(call_extern(*find_extern("calo_error_cannot_run"),
                           {string_const(pipeline_), string_const(target_.to_string()),
                            string_const(instruction_names(target_))}));
  b_.SetInsertPoint(good);
}

void Emitter::add_wrappers(const lower::LoweredFunction &f, llvm::Function *body) {
  const bool context = target_.has_feature(Target::UserContext);
  llvm::Function *plain = start_wrapper(symbol_, wrapper_params(f));
  if (context) frame_.context = plain->getArg(0);
  auto *array = llvm::ArrayType::get(b_.getPtrTy(), std::max<size_t>(f.args.size(), 1));
  Value *args = b_.CreateAlloca(array);
  for (size_t i = 0; i < f.args.size(); i++) {
    Value *arg = plain->getArg(static_cast<unsigned>(i + context));
    Value *pointer = arg;
    if (f.args[i].kind == Kind::InputScalar) {
      pointer = b_.CreateAlloca(arg->getType());
      b_.CreateStore(arg, pointer);
    }
    b_.CreateStore(pointer, b_.CreateConstInBoundsGEP2_64(array, args, 0, i));
  }
  refuse_processor();
  b_.CreateRet(b_.CreateCall(body, {frame_.context, args}));

  llvm::Function *argv = start_wrapper(symbol_ + "_argv", {b_.getPtrTy()});
  Value *list = argv->getArg(0);
  if (context) {
    frame_.context = b_.CreateLoad(b_.getPtrTy(), b_.CreateLoad(b_.getPtrTy(), list));
    list = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, 1);
  }
  refuse_processor();
  b_.CreateRet(b_.CreateCall(body, {frame_.context, list}));
}

void Emitter::dispatcher(const lower::LoweredFunction &f, const std::string &symbol,
                         const std::vector<Choice> &choices) {
  pipeline_ = symbol_ = symbol;
  for (const char *suffix : {"", "_argv"}) {
    const bool argv = *suffix != 0;
    std::vector<llvm::Type *> params =
        argv ? std::vector<llvm::Type *>{b_.getPtrTy()} : wrapper_params(f);
    llvm::Function *outer = start_wrapper(symbol + suffix, params);
    std::vector<Value *> args;
    for (llvm::Argument &a : outer->args()) args.push_back(&a);
    for (size_t i = 0; i < choices.size(); i++) {
      const bool last = i + 1 == choices.size();
      llvm::BasicBlock *next = last ? nullptr : new_block("next");
      if (!last) {
        llvm::BasicBlock *here = new_block("call");
        b_.CreateCondBr(may_run(choices[i].target), here, next);
        b_.SetInsertPoint(here);
      }
      auto callee =
          module_.getOrInsertFunction(choices[i].symbol + suffix, outer->getFunctionType());
      b_.CreateRet(b_.CreateCall(callee, args));
      if (!last) b_.SetInsertPoint(next);
    }
  }
  llvm::Function *get = start_metadata();
  frame_ = Frame();
  frame_.function = get;
  for (size_t i = 0; i + 1 < choices.size(); i++) {
    llvm::BasicBlock *here = new_block("chosen"), *next = new_block("next");
    b_.CreateCondBr(may_run(choices[i].target), here, next);
    b_.SetInsertPoint(here);
    b_.CreateRet(metadata(f, choices[i].target));
    b_.SetInsertPoint(next);
  }
  b_.CreateRet(metadata(f, choices.back().target));
}

// ---- metadata -----------------------------------------------------------------------------------------------------

llvm::Constant *Emitter::constant(llvm::Constant *value, const std::string &name) {
  return new llvm::GlobalVariable(module_, value->getType(), true,
                                  llvm::GlobalValue::InternalLinkage, value, symbol_ + name);
}

llvm::Constant *Emitter::argument_metadata(const ArgumentFacts &a) {
  auto *null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  auto number = [&](int64_t n) { return b_.getInt32(static_cast<uint32_t>(n)); };
  auto scalar = [&](const std::optional<uint64_t> &bits) -> llvm::Constant * {
    return bits ? constant(b_.getInt64(*bits), ".value") : null;
  };
  llvm::Constant *estimates = null;
  if (!a.estimates.empty()) {
    std::vector<llvm::Constant *> all;
    for (const std::optional<int64_t> &n : a.estimates) {
      all.push_back(n ? constant(b_.getInt64(static_cast<uint64_t>(*n)), ".estimate") : null);
    }
    auto *type = llvm::ArrayType::get(b_.getPtrTy(), all.size());
    estimates = constant(llvm::ConstantArray::get(type, all), ".estimates");
  }
  return llvm::ConstantStruct::getAnon({llvm::cast<llvm::Constant>(string_const(a.name)),
                                        number(a.kind), number(a.dimensions), b_.getInt32(a.type),
                                        scalar(a.value), scalar(a.min), scalar(a.max),
                                        scalar(a.estimate), estimates});
}

void Emitter::add_metadata(const lower::LoweredFunction &f) {
  start_metadata();
  b_.CreateRet(metadata(f, target_));
}

llvm::Function *Emitter::start_metadata() {
  llvm::Function *get =
      llvm::Function::Create(llvm::FunctionType::get(b_.getPtrTy(), {}, false),
                             llvm::Function::ExternalLinkage, symbol_ + "_metadata", module_);
  get->addFnAttr(kBaseline);
  b_.SetInsertPoint(llvm::BasicBlock::Create(cx_, "entry", get));
  return get;
}

llvm::Constant *Emitter::metadata(const lower::LoweredFunction &f, const Target &t) {
  std::vector<llvm::Constant *> args;
  auto *null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  auto text = [&](const std::string &s) { return llvm::cast<llvm::Constant>(string_const(s)); };
  for (const ArgumentFacts &a : argument_facts(f, t)) args.push_back(argument_metadata(a));
  llvm::Constant *list = null;
  if (!args.empty()) {
    auto *type = llvm::ArrayType::get(args[0]->getType(), args.size());
    list = constant(llvm::ConstantArray::get(type, args), ".arguments");
  }
  const int version = halide_filter_metadata_t::VERSION;
  llvm::Constant *all = llvm::ConstantStruct::getAnon(
      {b_.getInt32(version), b_.getInt32(static_cast<uint32_t>(args.size())), list,
       text(t.to_string()), text(symbol_)});
  return constant(all, ".metadata.data");
}

// ---- embedded images ----------------------------------------------------------------------------------------------

/// A halide_buffer_t over a dense copy of the image.
llvm::Constant *Emitter::embedded_image(const ir::Parameter &p) {
  const lang::RuntimeBuffer dense = lang::RuntimeBuffer(*p.buffer->raw()).copy();
  const halide_buffer_t &raw = *dense.raw_buffer();
  const size_t bytes = raw.size_in_bytes();
  llvm::StringRef data(reinterpret_cast<const char *>(raw.begin()), bytes);
  auto *pixels = new llvm::GlobalVariable(
      module_, llvm::ArrayType::get(b_.getInt8Ty(), bytes), true,
      llvm::GlobalValue::InternalLinkage,
      llvm::ConstantDataArray::getRaw(data, bytes, b_.getInt8Ty()), symbol_ + "." + p.name);
  pixels->setAlignment(llvm::Align(128));
  std::vector<llvm::Constant *> dims;
  auto *row = llvm::ArrayType::get(b_.getInt32Ty(), 4);
  auto number = [&](int64_t n) { return b_.getInt32(static_cast<uint32_t>(n)); };
  for (int d = 0; d < raw.dimensions; d++) {
    const halide_dimension_t &at = raw.dim[d];
    dims.push_back(llvm::ConstantArray::get(
        row, {number(at.min), number(at.extent), number(at.stride), number(0)}));
  }
  auto *null = llvm::ConstantPointerNull::get(b_.getPtrTy());
  llvm::Constant *shape =
      constant(llvm::ConstantArray::get(llvm::ArrayType::get(row, dims.size()), dims), ".shape");
  auto *host = llvm::ConstantExpr::getGetElementPtr(
      b_.getInt8Ty(), pixels, b_.getInt64(static_cast<uint64_t>(raw.host - raw.begin())));
  return constant(llvm::ConstantStruct::getAnon({b_.getInt64(0), null, host, b_.getInt64(0),
                                                 b_.getInt32(raw.type.as_u32()),
                                                 number(raw.dimensions), shape, null}),
                  "." + p.name + ".buffer");
}

}  // namespace calotype::codegen
