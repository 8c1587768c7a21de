// Functions and statements of the Emitter: see emit.h.
//
// Shape of the code: loops are emitted rotated (guard, then do-while), so that LLVM's loop passes need no rotation;
// small constant allocations are allocas in the entry block; a parallel loop's body becomes a function of its own that
// gets the values it uses through a struct.
#include "emit.h"

#include "../base/diagnostic.h"

#include <llvm/IR/MDBuilder.h>

#include <set>

namespace calotype::codegen {

using ir::NodeKind;

namespace {

constexpr int64_t kStackBudget = 64 << 10;  // bytes of allocas per function; beyond that the heap
constexpr int64_t kStackAlign = 64;         // one cache line, one AVX-512 register
constexpr size_t kMostScopes = 256;         // alias lists grow with the square

/// Every name that a statement reads, writes or defines.
class UsedNames : public ir::IRGraphVisitor {
public:
  std::set<ir::Name> values, memory;
  using IRVisitor::visit;
  void visit(const ir::Variable *op) override { values.insert(op->name); }
  void visit(const ir::Load *op) override {
    memory.insert(op->name);
    IRVisitor::visit(op);
  }
  void visit(const ir::Store *op) override {
    memory.insert(op->name);
    IRVisitor::visit(op);
  }
};

}  // namespace

Emitter::Emitter(llvm::Module &module, const Target &target, Interface interface)
    : module_(module),
      cx_(module.getContext()),
      target_(target),
      interface_(interface),
      b_(module.getContext()),
      ops_(b_, target) {}

// ---- functions ----------------------------------------------------------------------------------------------------

llvm::BasicBlock *Emitter::new_block(const char *name) {
  return llvm::BasicBlock::Create(cx_, name, frame_.function);
}

llvm::Function *Emitter::start_function(const std::string &name,
                                        const std::vector<llvm::Type *> &params, bool internal) {
  auto *type = llvm::FunctionType::get(b_.getInt32Ty(), params, false);
  auto linkage = internal ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage;
  llvm::Function *f = llvm::Function::Create(type, linkage, name, module_);
  frame_ = Frame();
  frame_.function = f;
  frame_.context = f->getArg(0);
  frame_.entry = llvm::BasicBlock::Create(cx_, "entry", f);
  b_.SetInsertPoint(frame_.entry);
  frame_.cleanups.push_back({});
  return f;
}

void Emitter::finish_function() { b_.CreateRet(b_.getInt32(0)); }

void Emitter::enter(const ir::Name &label) {
  if (lines_) b_.SetCurrentDebugLocation(lines_->inside(label.str(), b_.getCurrentDebugLocation()));
}

void Emitter::function(const lower::LoweredFunction &f, const std::string &symbol) {
  pipeline_ = f.name.str();
  symbol_ = symbol;
  const bool jit = interface_ == Interface::Jit;
  llvm::Type *ptr = b_.getPtrTy();
  add_scopes(f.body);
  llvm::Function *body = start_function(jit ? symbol : symbol + ".body", {ptr, ptr}, !jit);
  if (wants_debug_info(target_)) {
    lines_ = std::make_unique<DebugLines>(module_, f);
    b_.SetCurrentDebugLocation(lines_->function(body, pipeline_));
  }
  bind_arguments(f, body->getArg(1));
  stmt(f.body);
  finish_function();
  b_.SetCurrentDebugLocation(llvm::DebugLoc());
  if (lines_) lines_->finish();
  if (!jit) {
    add_wrappers(f, body);
    add_metadata(f);
  }
}

void Emitter::bind_arguments(const lower::LoweredFunction &f, Value *args) {
  size_t i = 0;
  auto slot = [&]() -> Value * {
    Value *at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), args, i++);
    return b_.CreateLoad(b_.getPtrTy(), at);
  };
  for (const lower::LoweredArgument &a : f.args) {
    Symbol s;
    s.value = slot();
    if (a.kind == lower::LoweredArgument::Kind::InputScalar) {
      s.type = a.type;
      s.value = from_memory(a.type, b_.CreateLoad(ops_.memory_type(a.type), s.value));
      symbols_.push(a.name, s);
    } else {
      s.type = Handle();
      symbols_.push(a.name + ".buffer", s);
    }
  }
  for (const ir::ParameterRef &p : f.embedded) {
    Symbol s;
    s.type = Handle();
    s.value = interface_ == Interface::Jit ? slot() : embedded_image(*p);
    symbols_.push(p->name + ".buffer", s);
  }
}

// Storage under different names never overlaps (the front end checks the arguments): loads may move across stores.
void Emitter::add_scopes(const ir::Stmt &body) {
  UsedNames used;
  used.visit_stmt(body);
  if (used.memory.size() < 2 || used.memory.size() > kMostScopes) return;
  llvm::MDBuilder md(cx_);
  llvm::MDNode *domain = md.createAnonymousAliasScopeDomain(pipeline_);
  std::vector<std::pair<ir::Name, llvm::MDNode *>> all;
  for (const ir::Name &n : used.memory)
    all.push_back({n, md.createAnonymousAliasScope(domain, n.str())});
  for (size_t i = 0; i < all.size(); i++) {
    std::vector<llvm::Metadata *> others;
    for (size_t j = 0; j < all.size(); j++) {
      if (j != i) others.push_back(all[j].second);
    }
    llvm::Metadata *own[] = {all[i].second};
    scopes_[all[i].first] = {llvm::MDNode::get(cx_, own), llvm::MDNode::get(cx_, others)};
  }
}

// ---- leaving early ------------------------------------------------------------------------------------------------

llvm::BasicBlock *Emitter::exit_block(size_t depth) {
  if (frame_.cleanups[depth].block) return frame_.cleanups[depth].block;
  llvm::IRBuilder<>::InsertPointGuard keep(b_);
  llvm::BasicBlock *block = new_block("leave");
  b_.SetInsertPoint(block);
  llvm::PHINode *code = b_.CreatePHI(b_.getInt32Ty(), 2);
  frame_.cleanups[depth].block = block;
  frame_.cleanups[depth].code = code;
  if (depth == 0) {
    b_.CreateRet(code);
    return block;
  }
  call_extern(*find_extern("calo_free"), {frame_.cleanups[depth].pointer});
  llvm::BasicBlock *outer = exit_block(depth - 1);
  frame_.cleanups[depth - 1].code->addIncoming(code, block);
  b_.CreateBr(outer);
  return block;
}

void Emitter::fail(Value *code) {
  size_t depth = frame_.cleanups.size() - 1;
  llvm::BasicBlock *leave = exit_block(depth);
  frame_.cleanups[depth].code->addIncoming(code, b_.GetInsertBlock());
  b_.CreateBr(leave);
}

void Emitter::pop_cleanup() {
  call_extern(*find_extern("calo_free"), {frame_.cleanups.back().pointer});
  frame_.cleanups.pop_back();
}

Value *Emitter::call_extern(const ExternFunction &f, const std::vector<Value *> &args) {
  std::string name = interface_ == Interface::Jit ? f.name : f.object_name;
  llvm::Function *callee = module_.getFunction(name);
  if (!callee) {
    std::vector<llvm::Type *> params;
    if (f.takes_context) params.push_back(b_.getPtrTy());
    for (Type t : f.params) params.push_back(ops_.type(t));
    llvm::Type *result = f.result.bits() == 0 ? b_.getVoidTy() : ops_.type(f.result);
    auto *type = llvm::FunctionType::get(result, params, false);
    callee = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, module_);
    callee->setDoesNotThrow();
    if (std::string(f.name) == "calo_malloc") callee->addRetAttr(llvm::Attribute::NoAlias);
  }
  std::vector<Value *> all;
  if (f.takes_context) all.push_back(frame_.context);
  all.insert(all.end(), args.begin(), args.end());
  return b_.CreateCall(callee, all);
}

// error(reporter's name, its arguments after the context): the call of the reporter, which gives the code.
Value *Emitter::error_call(const ir::Call *op) {
  const auto *name = op->args.empty() ? nullptr : op->args[0].as<ir::StringImm>();
  CALO_ASSERT(name != nullptr, "an error without a reporter");
  const ExternFunction *f = find_extern(name->value);
  CALO_ASSERT(f != nullptr, "no such reporter: " + name->value);
  std::vector<Expr> rest(op->args.begin() + 1, op->args.end());
  Expr report = ir::make_extern_call(Int(32), name->value, rest, false);
  return extern_call(report.as<ir::Call>());
}

// ---- statements ---------------------------------------------------------------------------------------------------

void Emitter::stmt(const ir::Stmt &s) {
  std::vector<ir::Name> bound;
  const llvm::DebugLoc outside = b_.getCurrentDebugLocation();
  for (const ir::BaseStmtNode *at = s.get(); at;) {
    const ir::BaseStmtNode *next = nullptr;
    forget_values();
    switch (at->node_type) {
      case NodeKind::Block: {
        const auto *op = static_cast<const ir::Block *>(at);
        if (op->first.defined()) stmt(op->first);
        next = op->rest.get();
        break;
      }
      case NodeKind::LetStmt: {
        const auto *op = static_cast<const ir::LetStmt *>(at);
        symbols_.push(op->name, define(op->value));
        bound.push_back(op->name);
        next = op->body.get();
        break;
      }
      case NodeKind::ProducerConsumer: {
        const auto *op = static_cast<const ir::ProducerConsumer *>(at);
        if (op->is_producer) enter(op->name);
        next = op->body.get();
        break;
      }
      case NodeKind::Atomic: atomic(static_cast<const ir::Atomic *>(at)); break;
      case NodeKind::AssertStmt: assertion(static_cast<const ir::AssertStmt *>(at)); break;
      case NodeKind::For: loop(static_cast<const ir::For *>(at)); break;
      case NodeKind::Store: store(static_cast<const ir::Store *>(at)); break;
      case NodeKind::Allocate: allocate(static_cast<const ir::Allocate *>(at)); break;
      case NodeKind::IfThenElse: branch_stmt(static_cast<const ir::IfThenElse *>(at)); break;
      case NodeKind::Evaluate: {
        const Expr &value = static_cast<const ir::Evaluate *>(at)->value;
        if (!ir::is_const(value)) expr(value);
        break;
      }
      default:
        CALO_ASSERT(false, "a statement that lowering should have removed reached code generation");
    }
    at = next;
  }
  for (size_t i = bound.size(); i-- > 0;) symbols_.pop(bound[i]);
  b_.SetCurrentDebugLocation(outside);
}

void Emitter::assertion(const ir::AssertStmt *op) {
  if (ir::is_const_one(op->condition)) return;
  Value *c = condition(op->condition);
  llvm::BasicBlock *bad = new_block("failed"), *good = new_block("checked");
  b_.CreateCondBr(c, good, bad, llvm::MDBuilder(cx_).createLikelyBranchWeights());
  b_.SetInsertPoint(bad);
  {
    CacheScope scope(*this, false);
    const auto *error = ir::as_intrinsic(op->message, ir::Intrinsic::error);
    CALO_ASSERT(error != nullptr, "the message of an assertion is no error call");
    fail(error_call(error));
  }
  b_.SetInsertPoint(good);
}

void Emitter::branch_stmt(const ir::IfThenElse *op) {
  Value *c = condition(op->condition);
  llvm::BasicBlock *yes = new_block("then"), *after = new_block("after");
  llvm::BasicBlock *no = op->else_case.defined() ? new_block("else") : after;
  b_.CreateCondBr(c, yes, no);
  auto side = [&](llvm::BasicBlock *block, const ir::Stmt &s) {
    CacheScope scope(*this, false);
    b_.SetInsertPoint(block);
    stmt(s);
    b_.CreateBr(after);
  };
  side(yes, op->then_case);
  if (op->else_case.defined()) side(no, op->else_case);
  b_.SetInsertPoint(after);
}

void Emitter::loop_body(const ir::For *op, Value *i) {
  CacheScope scope(*this, false);
  Symbol s = index_symbol(leaf(i, frame_.loops));
  ir::ScopedBinding<Symbol> bind(symbols_, op->name, s);
  stmt(op->body);
}

void Emitter::loop(const ir::For *op) {
  CALO_ASSERT(op->for_type == ir::ForType::Serial || op->for_type == ir::ForType::Parallel,
              "loop " + op->name.str() + " of this kind should have been lowered");
  const int64_t *count = ir::as_const_int(op->extent);
  if (count && *count <= 0) return;
  Form first = form(op->min);
  if (count && *count == 1) {
    ir::ScopedBinding<Symbol> bind(symbols_, op->name, index_symbol(first));
    enter(op->name);
    return stmt(op->body);
  }
  Value *min = materialise(first);
  Value *extent = wide(op->extent);
  if (op->for_type == ir::ForType::Parallel) return parallel_loop(op, min, extent);

  llvm::BasicBlock *body = new_block(op->name.c_str()), *after = new_block("after");
  Value *end = b_.CreateAdd(min, extent, "", false, true);
  if (count) {
    b_.CreateBr(body);
  } else {
    b_.CreateCondBr(b_.CreateICmpSGT(extent, b_.getInt64(0)), body, after);
  }
  llvm::BasicBlock *before = b_.GetInsertBlock();
  b_.SetInsertPoint(body);
  enter(op->name);
  llvm::PHINode *i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(min, before);
  frame_.loops++;
  loop_body(op, i);
  frame_.loops--;
  Value *next = b_.CreateAdd(i, b_.getInt64(1), "", false, true);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), body, after);
  b_.SetInsertPoint(after);
}

// int BODY(context, i, closure): the closure holds what the body uses of the values around it.
void Emitter::parallel_loop(const ir::For *op, Value *min, Value *extent) {
  UsedNames used;
  used.visit_stmt(op->body);
  std::set<ir::Name> names = used.values;
  names.insert(used.memory.begin(), used.memory.end());
  std::vector<std::pair<ir::Name, Symbol>> captured;
  std::vector<llvm::Type *> fields;
  for (const ir::Name &n : names) {
    const Symbol *s = n == op->name ? nullptr : symbols_.find(n);
    if (!s) continue;
    captured.push_back({n, *s});
    if (s->is_index) captured.back().second.value = materialise(s->form);
    fields.push_back(s->is_index ? b_.getInt64Ty() : ops_.memory_type(s->type));
  }
  auto *closure_type = llvm::StructType::get(cx_, fields);
  llvm::IRBuilder<> entry(frame_.entry, frame_.entry->begin());
  Value *closure = entry.CreateAlloca(closure_type);
  for (size_t i = 0; i < captured.size(); i++) {
    const Symbol &s = captured[i].second;
    Value *at = b_.CreateStructGEP(closure_type, closure, static_cast<unsigned>(i));
    b_.CreateStore(s.is_index ? s.value : to_memory(s.type, s.value), at);
  }

  Frame outer = std::move(frame_);
  auto outer_point = b_.saveIP();
  const llvm::DebugLoc outer_place = b_.getCurrentDebugLocation();
  ir::Scope<Symbol> outer_symbols;
  std::map<Key, Value *> outer_values;
  std::vector<Key> outer_log;
  auto swap_scopes = [&] {
    std::swap(outer_symbols, symbols_);
    outer_values.swap(index_values_);
    outer_log.swap(index_log_);
  };
  swap_scopes();
  llvm::Type *ptr = b_.getPtrTy();
  std::string name = symbol_ + ".par." + loop_label(op->name.str());  // as profilers show it
  if (const int copy = ++bodies_[name]; copy > 1) name += "." + std::to_string(copy);
  llvm::Function *body = start_function(name, {ptr, b_.getInt32Ty(), ptr}, true);
  if (lines_) b_.SetCurrentDebugLocation(lines_->function(body, op->name.str()));
  body->addParamAttr(2, llvm::Attribute::NoAlias);
  for (size_t i = 0; i < captured.size(); i++) {
    Symbol s = captured[i].second;
    Value *at = b_.CreateStructGEP(closure_type, body->getArg(2), static_cast<unsigned>(i));
    Value *v = b_.CreateLoad(fields[i], at);
    if (s.is_index) {
      s = index_symbol(leaf(v, 0));
    } else {
      s.value = from_memory(s.type, v);
      s.depth = 0;
    }
    symbols_.push(captured[i].first, s);
  }
  loop_body(op, b_.CreateSExt(body->getArg(1), b_.getInt64Ty()));
  finish_function();
  swap_scopes();
  frame_ = std::move(outer);
  b_.restoreIP(outer_point);
  b_.SetCurrentDebugLocation(outer_place);
  forget_values();

  Value *low = b_.CreateTrunc(min, b_.getInt32Ty()),
        *count = b_.CreateTrunc(extent, b_.getInt32Ty());
  Value *code = call_extern(*find_extern("calo_par_for"), {body, low, count, closure});
  llvm::BasicBlock *bad = new_block("failed"), *good = new_block("done");
  b_.CreateCondBr(b_.CreateIsNull(code), good, bad,
                  llvm::MDBuilder(cx_).createLikelyBranchWeights());
  b_.SetInsertPoint(bad);
  fail(code);
  b_.SetInsertPoint(good);
}

// ---- allocation ---------------------------------------------------------------------------------------------------

void Emitter::allocate(const ir::Allocate *op) {
  int64_t bytes = op->type.bytes() * op->type.lanes();
  for (const Expr &e : op->extents) {
    const int64_t *n = ir::as_const_int(e);
    bool small = n && bytes >= 0 && *n >= 0 && *n <= kStackBudget;
    bytes = small ? bytes * *n : -1;
    if (bytes > kStackBudget) bytes = -1;
  }
  bool fits = bytes >= 0 && frame_.stack_bytes + bytes <= kStackBudget;
  const bool registers = op->memory_type == ir::MemoryType::Register;
  bool on_stack = op->memory_type == ir::MemoryType::Stack || registers
                      ? bytes >= 0
                      : fits && op->memory_type != ir::MemoryType::Heap;
  Symbol s;
  s.type = Handle();
  s.whole = registers;
  llvm::AllocaInst *memory = nullptr;
  if (on_stack) {
    int64_t elements = bytes / op->type.bytes();
    auto *array = llvm::ArrayType::get(ops_.memory_type(op->type.element_of()),
                                       std::max<int64_t>(elements, 1));
    memory = stack_memory(op->name, array, bytes);
    s.value = memory;
  } else {
    s.value = heap_allocation(op);
    s.depth = frame_.loops;
    frame_.cleanups.push_back({s.value});
  }
  {
    ir::ScopedBinding<Symbol> bind(symbols_, op->name, s);
    stmt(op->body);
  }
  if (memory) {
    frame_.free_stack[{op->name, memory->getAllocatedType()}].push_back(memory);
  } else {
    pop_cleanup();
  }
}

// Copies of one allocation that do not live at once take turns in one place.
llvm::AllocaInst *Emitter::stack_memory(const ir::Name &name, llvm::Type *array, int64_t bytes) {
  auto &free = frame_.free_stack[{name, array}];
  if (!free.empty()) {
    llvm::AllocaInst *memory = free.back();
    free.pop_back();
    return memory;
  }
  frame_.stack_bytes += bytes;
  llvm::IRBuilder<> entry(frame_.entry, frame_.entry->begin());
  llvm::AllocaInst *memory = entry.CreateAlloca(array);
  memory->setAlignment(llvm::Align(bytes >= kStackAlign ? kStackAlign : 16));
  return memory;
}

Value *Emitter::heap_allocation(const ir::Allocate *op) {
  llvm::Type *i64 = b_.getInt64Ty();
  Value *bytes = b_.getInt64(static_cast<uint64_t>(op->type.bytes()) *
                             static_cast<uint64_t>(op->type.lanes()));
  Value *overflow = b_.getFalse();
  for (const Expr &e : op->extents) {
    Value *n = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide(e), b_.getInt64(0));
    Value *both = b_.CreateIntrinsic(llvm::Intrinsic::smul_with_overflow, {i64}, {bytes, n});
    bytes = b_.CreateExtractValue(both, 0);
    overflow = b_.CreateOr(overflow, b_.CreateExtractValue(both, 1));
  }
  bytes = b_.CreateSelect(overflow, b_.getInt64(~uint64_t(0)), bytes);
  auto request = [&] {
    Value *p = call_extern(*find_extern("calo_malloc"), {bytes});
    llvm::BasicBlock *bad = new_block("failed"), *good = new_block("allocated");
    b_.CreateCondBr(b_.CreateIsNull(p), bad, good,
                    llvm::MDBuilder(cx_).createUnlikelyBranchWeights());
    b_.SetInsertPoint(bad);
    std::vector<Value *> facts = {string_const(pipeline_), string_const(op->name.str()), bytes};
    fail(call_extern(*find_extern("calo_error_out_of_memory"), facts));
    b_.SetInsertPoint(good);
    return p;
  };
  if (!op->condition.defined() || ir::is_const_one(op->condition)) return request();
  return when(condition(op->condition), b_.getPtrTy(), request);
}

}  // namespace calotype::codegen
