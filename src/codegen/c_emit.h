// Turns one lowered function into C. Internal: c_source.cpp holds functions, statements and the interface, c_expr.cpp
// expressions, c_prelude.cpp the helpers that every file starts with.
//
// Every node becomes one temporary, so the order of evaluation is the program's and nothing is written twice. A vector
// is a struct of an array, an operation on it a loop over lanes: the compiler sees plain loops of known length. Int32
// arithmetic inside an index is carried out in int64_t, as the LLVM back end does.
#pragma once

#include "../base/target.h"
#include "../ir/visit.h"
#include "../lower/lowered.h"
#include "externs.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace calotype::codegen {

class CEmitter {
public:
  CEmitter(const lower::LoweredFunction &f, const Target &t, std::string symbol);
  std::string source();

private:
  /// Text that names a value and has no effect: a temporary or a literal.
  struct Value {
    std::string text;
    Type type;
  };
  struct Symbol {
    std::string text;
    Type type;
    bool wide = false;  ///< an Int32 held as int64_t
  };
  /// A value of an enclosing function that a parallel body uses.
  struct Capture {
    ir::Name name;
    Symbol symbol;
    std::string type;
  };
  /// Values known by node; the node stays alive while its address is a key.
  struct Cache {
    std::unordered_map<const void *, std::pair<Expr, Value>> narrow, wide;
    std::vector<const void *> log;
  };
  /// A region whose temporaries do not reach beyond it: forgets what was evaluated in it. `fresh`: also hides what is
  /// known from before.
  class CacheScope {
  public:
    CacheScope(CEmitter &e, bool fresh) : e_(e), fresh_(fresh), mark_(e.cache_.log.size()) {
      if (fresh_) std::swap(outer_, e_.cache_);
    }
    CacheScope(const CacheScope &) = delete;
    CacheScope &operator=(const CacheScope &) = delete;
    ~CacheScope() {
      if (fresh_) {
        std::swap(outer_, e_.cache_);
        return;
      }
      Cache &c = e_.cache_;
      for (size_t i = mark_; i < c.log.size(); i++) {
        c.narrow.erase(c.log[i]);
        c.wide.erase(c.log[i]);
      }
      c.log.resize(std::min(mark_, c.log.size()));
    }

  private:
    CEmitter &e_;
    bool fresh_;
    size_t mark_;
    Cache outer_;
  };

  // Functions and statements: c_source.cpp.
  void body_function();
  void wrappers();
  void metadata();
  std::string embedded_image(const ir::Parameter &p);
  std::string head();
  void line(const std::string &text);
  void open(const std::string &text);
  void close(const std::string &text = "}");
  void stmt(const ir::Stmt &s);
  void assertion(const ir::AssertStmt *op);
  void loop(const ir::For *op);
  void parallel_loop(const ir::For *op, const std::string &min, const std::string &extent);
  void allocate(const ir::Allocate *op);
  void heap_allocation(const ir::Allocate *op, const std::string &name);
  void store(const ir::Store *op);
  void leave(const std::string &code);
  std::string error_call(const ir::Call *op);
  std::string call_text(const ExternFunction &f, const std::vector<std::string> &args);
  std::string fresh(const std::string &hint);
  void bind(const ir::Name &name, const Expr &value);

  // Expressions: c_expr.cpp.
  Value expr(const Expr &e);
  Value compute(const Expr &e);
  Value literal(const Expr &e);
  Value variable(const ir::Variable *op);
  Value load(const ir::Load *op);
  Value shuffle(const ir::Shuffle *op);
  Value reduce(const ir::VectorReduce *op);
  Value call(const ir::Call *op);
  Value guarded(const ir::Call *op);
  Value buffer_field(const ir::Call *op);
  Value extern_call(const ir::Call *op);
  Value reinterpret(const ir::Reinterpret *op);
  void set_buffer(const ir::Call *op);
  Value let(const ir::Let *op);
  /// The lanes of an Int32 or Int64 expression as int64_t.
  Value wide(const Expr &e);
  Value compute_wide(const Expr &e);
  bool carries_wide(const Expr &e) const;
  /// A new value of type `t` whose lanes are what `make` writes for lane "i" (an empty string for scalars).
  template <typename F> Value lanes(Type t, F make);
  static std::string lane(const Value &v, const std::string &i);
  std::string binary_text(ir::NodeKind op, Type t, const std::string &a, const std::string &b);
  std::string cast_text(Type to, Type from, const std::string &v);
  std::string core_text(const ir::Call *op, const std::vector<std::string> &a);
  std::string literal_text(Type t, int64_t i) const;
  std::string type_name(Type t);  ///< scalar or vector, as a variable has it
  static std::string memory_type(Type t);
  static std::string string_text(const std::string &s);

  const lower::LoweredFunction &f_;
  const Target &target_;
  std::string symbol_;
  std::string out_;        ///< of the function being written
  std::string functions_;  ///< finished
  int depth_ = 0;
  int next_ = 0;
  ir::Scope<Symbol> symbols_;
  Cache cache_;
  std::string mask_;  ///< lanes of an enclosing vector if_then_else that are evaluated
  int mask_lanes_ = 0;
  std::vector<std::string> frees_;  ///< heap allocations alive, innermost last
  std::set<Type> vectors_;          ///< vector types in use
  std::set<std::string> externs_;   ///< prototypes in use
};

template <typename F> CEmitter::Value CEmitter::lanes(Type t, F make) {
  const std::string name = fresh("t");
  if (t.is_scalar()) {
    line(type_name(t) + " " + name + " = " + make(std::string()) + ";");
  } else {
    line(type_name(t) + " " + name + ";");
    line("for (int i = 0; i < " + std::to_string(t.lanes()) + "; i++) " + name +
         ".v[i] = " + make(std::string("i")) + ";");
  }
  return {name, t};
}

/// Helper functions and types that every source starts with.
std::string c_prelude();

}  // namespace calotype::codegen
