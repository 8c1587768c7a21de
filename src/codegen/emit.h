// Turns one lowered function into LLVM IR. Internal: llvm.cpp holds functions and statements, expr.cpp expressions,
// memory.cpp loads and stores.
//
// Scalars and vectors become SSA values directly; the only memory is the Funcs' storage. Int32 arithmetic inside an
// index is carried out in 64 bits, where it cannot overflow, so addresses are linear in 64-bit loop counters. An error
// leaves through a chain of blocks that free the heap allocations alive at that point.
#pragma once

#include "../ir/visit.h"
#include "../lower/lowered.h"
#include "debug_lines.h"
#include "externs.h"
#include "ops.h"

#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace calotype::codegen {

/// Marks functions that programs call by name: not the runtime's.
constexpr const char *kForeignFunction = "calo-foreign";

/// What the module defines besides the function itself.
enum class Interface {
  Jit,     ///< int NAME(void *context, const void *const *args): args as JitFunction::call's
  Object,  ///< the published interface, interface.cpp
};

/// Attribute of functions that every x86-64 must be able to run: they find out what may run.
constexpr char kBaseline[] = "calo-baseline";

struct ArgumentFacts;

class Emitter {
public:
  Emitter(llvm::Module &module, const Target &target, Interface interface);
  /// `symbol`: the name in the module; messages use f.name.
  void function(const lower::LoweredFunction &f, const std::string &symbol);
  /// The published function `symbol` over functions of several targets, best first: calls the first
  /// one that the processor can run. The last one judges for itself.
  struct Choice {
    Target target;
    std::string symbol;
  };
  void dispatcher(const lower::LoweredFunction &f, const std::string &symbol,
                  const std::vector<Choice> &choices);

private:
  /// constant + sum of coefficient * leaf: an index in 64 bits. Terms are sorted by leaf, none has
  /// coefficient 0.
  struct Form {
    std::vector<std::pair<int, int64_t>> terms;
    int64_t constant = 0;
  };
  /// An i64 value that forms are made of. depth: how many loops must run for it to change (0: none).
  struct Leaf {
    Value *value;
    int depth;
  };
  /// A name in scope.
  struct Symbol {
    Value *value = nullptr;  ///< null if it is an index
    bool is_index = false;   ///< an Int32 loop variable, or bound to index arithmetic
    Form form;               ///< of an index
    int depth = 0;
    Type type;
    bool whole =
        false;  ///< memory of type Register: lanes that are masked off lie inside of it, too
  };
  struct Cached {
    Value *value;
    int depth;
    Expr keep;  ///< the node stays alive while its address is a key
    Form form;
  };
  /// A heap allocation to free on the way out, innermost last.
  struct Cleanup {
    Value *pointer;
    llvm::BasicBlock *block = nullptr;
    llvm::PHINode *code = nullptr;
  };
  /// State of the LLVM function being filled; parallel bodies nest.
  struct Frame {
    llvm::Function *function = nullptr;
    Value *context = nullptr;
    llvm::BasicBlock *entry = nullptr;
    std::vector<Cleanup> cleanups;  ///< [0] is the plain return
    int64_t stack_bytes = 0;
    // Of allocations that ended, by name: storage under different names must not overlap.
    std::map<std::pair<std::string, llvm::Type *>, std::vector<llvm::AllocaInst *>> free_stack;
    int loops = 0;
  };
  /// An index of the form base + stride * lane.
  struct Linear {
    Expr base, stride;  ///< scalars
    int lanes;
  };
  using Key = std::vector<int64_t>;

  /// A region whose values do not reach beyond it: forgets, when it ends, what was evaluated since it
  /// began. `fresh`: instead hides cached expressions from before, where names mean something else.
  class CacheScope {
  public:
    CacheScope(Emitter &e, bool fresh);
    ~CacheScope();

  private:
    Emitter &e_;
    bool fresh_;
    size_t mark_, index_mark_;
    std::unordered_map<uintptr_t, Cached> outer_;
    std::vector<uintptr_t> outer_log_;
  };

  // Functions and statements: llvm.cpp.
  llvm::Function *start_function(const std::string &name, const std::vector<llvm::Type *> &params,
                                 bool internal);
  void bind_arguments(const lower::LoweredFunction &f, Value *args);
  void add_scopes(const ir::Stmt &body);
  void finish_function();
  /// What follows belongs to this loop, or to this Func's computation, for debuggers.
  void enter(const ir::Name &label);
  void stmt(const ir::Stmt &s);
  void atomic(const ir::Atomic *op);
  void assertion(const ir::AssertStmt *op);
  void loop(const ir::For *op);
  void loop_body(const ir::For *op, Value *i);
  void parallel_loop(const ir::For *op, Value *min, Value *extent);
  void allocate(const ir::Allocate *op);
  llvm::AllocaInst *stack_memory(const ir::Name &name, llvm::Type *array, int64_t bytes);
  Value *heap_allocation(const ir::Allocate *op);
  void branch_stmt(const ir::IfThenElse *op);
  void set_buffer(const ir::Call *op);
  /// Leaves the function with `code` when the builder's position is reached; the position is unusable afterwards.
  void fail(Value *code);
  llvm::BasicBlock *exit_block(size_t depth);
  void pop_cleanup();
  llvm::BasicBlock *new_block(const char *name);
  Value *call_extern(const ExternFunction &f, const std::vector<Value *> &args);
  Value *error_call(const ir::Call *op);

  // The published interface: interface.cpp.
  void add_wrappers(const lower::LoweredFunction &f, llvm::Function *body);
  std::vector<llvm::Type *> wrapper_params(const lower::LoweredFunction &f) const;
  llvm::Function *start_wrapper(const std::string &name, const std::vector<llvm::Type *> &params);
  void refuse_processor();
  Value *can_run(const Target &t);
  Value *may_run(const Target &t);
  void add_metadata(const lower::LoweredFunction &f);
  llvm::Function *start_metadata();
  llvm::Constant *metadata(const lower::LoweredFunction &f, const Target &t);
  llvm::Constant *argument_metadata(const ArgumentFacts &a);
  llvm::Constant *constant(llvm::Constant *value, const std::string &name);
  llvm::Constant *embedded_image(const ir::Parameter &p);

  // Expressions: expr.cpp.
  Value *expr(const Expr &e);
  Value *compute(const Expr &e);
  void forget_values();
  Value *variable(const ir::Variable *op);
  Value *binary(const Expr &e);
  Value *select(const ir::Select *op);
  Value *ramp(const ir::Ramp *op);
  Value *let(const ir::Let *op);
  Value *call(const ir::Call *op);
  Value *extern_call(const ir::Call *op);
  Value *buffer_field(const ir::Call *op);
  Value *guarded(const ir::Call *op);
  Value *shuffle(const ir::Shuffle *op);
  Value *string_const(const std::string &text);
  Symbol define(const Expr &value);  ///< what a let binds its name to
  Value *condition(const Expr &e);   ///< a scalar bool
  Value *any_lane(Value *mask);
  Value *dot_product(const ir::VectorReduce *op);

  // Effects and foreign functions: effects.cpp.
  template <typename F> void each_lane(int lanes, F body);
  Value *print(const ir::Call *op);
  Value *require(const ir::Call *op);
  Value *trace(const ir::Call *op);
  Value *buffer_make(const ir::Call *op);
  Value *extern_stage(const ir::Call *op);
  Value *memo(const ir::Call *op);
  Value *foreign_call(const ir::Call *op);
  llvm::Function *foreign_function(const ir::Call *op);
  Value *stack_array(llvm::Type *element, const std::vector<Value *> &values);
  Value *as_slot(Type t, Value *v);
  static std::string format_of(const std::vector<Expr> &parts);

  // Indices: index.cpp.
  /// An Int(32) or Int(64) scalar in 64 bits; Int(32) arithmetic is widened to the leaves.
  Value *wide(const Expr &e) { return materialise(form(e)); }
  Form form(const Expr &e);
  Form compute_form(const Expr &e);
  Form product(const Expr &a, const Expr &b);
  Form extreme(const Expr &a, const Expr &b, bool is_min);
  Form quotient(const Expr &a, const Expr &b, bool remainder);
  Form plain(const Expr &e);
  Form leaf(Value *v, int depth);
  static Form combine(const Form &a, const Form &b, int64_t scale);
  static Form scaled(const Form &a, int64_t scale);
  int depth_of(const Form &f) const;
  Value *materialise(const Form &f);
  /// The form of what `make` computes, or of what an equal key gave before.
  template <typename F> Form remembered(Key key, int depth, F make);
  Value *remember(Key key, Value *v);
  static void append(Key *key, const Form &f);
  Symbol index_symbol(const Form &f);
  std::optional<Linear> linear(const Expr &index);
  Value *address(const ir::Name &name, Type element, const Expr &scalar_index);
  Value *offset(Type element, Value *pointer, Value *elements);
  Value *host(const ir::Name &name);
  Value *wide_lanes(const Expr &index);
  std::vector<Value *> lane_addresses(const ir::Name &name, Type element, const Expr &index);
  /// `index` is rest + common in every lane, with as much in common as its sums allow.
  void split_uniform(const Expr &index, Expr *rest, Expr *common);
  /// A ramp of stride 1 under minima and maxima with scalars, the innermost first.
  struct ClampedRamp {
    Expr base;
    std::vector<std::pair<bool, Expr>> bounds;  ///< is a minimum, with what
  };
  std::optional<ClampedRamp> clamped_ramp(const Expr &index);

  // Memory: memory.cpp.
  Value *load(const ir::Load *op);
  Value *load_lanes(const ir::Name &name, Type t, const Expr &index, Value *mask);
  void store(const ir::Store *op);
  void atomic_store(const ir::Store *op);
  bool single_instruction(const ir::Store *op, Value *pointer);
  Value *exchange_loop(const ir::Store *op, Value *pointer);
  void store_lanes(const ir::Name &name, Type t, Value *value, const Expr &index, Value *mask);
  Value *strided_load(const ir::Name &name, Type t, const Linear &at, int stride);
  Value *clamped_load(const ir::Name &name, Type t, const Expr &common, const ClampedRamp &at);
  llvm::Function *edge_function(Type t, const ClampedRamp &at);
  Value *load_at(const ir::Name &name, Type t, Value *pointer);
  void store_at(const ir::Name &name, Type t, Value *value, Value *pointer);
  Value *masked_load(const ir::Name &name, Type t, Value *pointer, Value *mask);
  void masked_store(const ir::Name &name, Type t, Value *value, Value *pointer, Value *mask);
  bool masks_are_cheap(Type t) const;
  bool is_whole(const ir::Name &name) const;
  void annotate(Value *access, const ir::Name &name);
  Value *from_memory(Type t, Value *v);
  Value *to_memory(Type t, Value *v);
  /// Runs `then` only where `cond` holds; the result is zero of type `t` otherwise (no result if t is null).
  template <typename F> Value *when(Value *cond, llvm::Type *t, F then);

  llvm::Module &module_;
  llvm::LLVMContext &cx_;
  const Target &target_;
  Interface interface_;
  llvm::IRBuilder<> b_;
  Ops ops_;
  std::string pipeline_;  ///< in messages
  std::string symbol_;
  std::unique_ptr<DebugLines> lines_;  ///< null: no debug information
  Frame frame_;
  ir::Scope<Symbol> symbols_;
  std::unordered_map<uintptr_t, Cached> cache_;  ///< by node address
  std::vector<uintptr_t> cache_log_;
  std::vector<Leaf> leaves_;
  std::unordered_map<Value *, int> leaf_ids_;
  std::map<Key, Value *> index_values_;  ///< index arithmetic done, by operation and operands
  std::vector<Key> index_log_;
  bool shared_ = false;  ///< stores are atomic updates
  /// While the new value of an atomic update is evaluated: loads of that element give this.
  const ir::Store *updated_ = nullptr;
  Value *old_value_ = nullptr;
  int depth_ = 0;          ///< depth of what was evaluated since it was last reset
  Value *mask_ = nullptr;  ///< lanes of an enclosing vector if_then_else that are evaluated
  std::unordered_map<ir::Name, std::pair<llvm::MDNode *, llvm::MDNode *>>
      scopes_;  ///< alias.scope, noalias
  std::unordered_map<std::string, Value *> strings_;
  std::map<std::string, int> bodies_;  ///< of parallel loops, by name
};

template <typename F> Value *Emitter::when(Value *cond, llvm::Type *t, F then) {
  llvm::BasicBlock *before = b_.GetInsertBlock();
  llvm::BasicBlock *run = new_block("then"), *after = new_block("after");
  b_.CreateCondBr(cond, run, after);
  b_.SetInsertPoint(run);
  Value *result = nullptr;
  {
    CacheScope scope(*this, false);
    result = then();
  }
  llvm::BasicBlock *from = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  if (!t) return nullptr;
  llvm::PHINode *phi = b_.CreatePHI(t, 2);
  phi->addIncoming(result, from);
  phi->addIncoming(llvm::Constant::getNullValue(t), before);
  return phi;
}

}  // namespace calotype::codegen
