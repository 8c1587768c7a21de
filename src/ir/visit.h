// Walking and rewriting IR: visitor and mutator classes, lambda forms, substitution, free variables, scopes.
// Chains of Block and LetStmt are walked in a loop; other depth is bounded by the expression depth limit, and the
// driver runs compilation on a large stack (base/stack.h).
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nodes.h"

namespace calotype::ir {

/// Calls visit(const T *) for each node; the defaults visit all children in field order.
class CALO_EXPORT IRVisitor {
public:
  virtual ~IRVisitor();
  void visit_expr(const Expr &e);  ///< dispatches; undefined is skipped
  void visit_stmt(const Stmt &s);
#define FIELD(T, n)
#define EXPR(Name, fields) virtual void visit(const Name *op);
#define STMT(Name, fields) virtual void visit(const Name *op);
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
protected:
  virtual bool enter(const IRNode *) { return true; }  ///< false: skip this node
};

/// Visits each node once, however often it is shared. For questions whose answer does not depend on the path.
class CALO_EXPORT IRGraphVisitor : public IRVisitor {
protected:
  bool enter(const IRNode *node) override { return seen_.insert(node).second; }

private:
  std::unordered_set<const IRNode *> seen_;
};

/// Rebuilds IR: visit(const T *) returns the replacement; the defaults mutate the children and return the same node
/// when none changed. Types of rebuilt nodes follow their operands where nodes.h's makers infer them (a mutator may
/// change lanes this way).
class CALO_EXPORT IRMutator {
public:
  virtual ~IRMutator();
  virtual Expr mutate(const Expr &e);
  virtual Stmt mutate(const Stmt &s);
#define FIELD(T, n)
#define EXPR(Name, fields) virtual Expr visit(const Name *op);
#define STMT(Name, fields) virtual Stmt visit(const Name *op);
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
protected:
  std::vector<Expr> mutate(const std::vector<Expr> &es, bool *changed);
};

/// A mutator whose result depends on the node alone: shared nodes are rewritten once. Use it for context-free rewrites
/// (substitution of names not shadowed in between, expansion of intrinsics).
class CALO_EXPORT IRGraphMutator : public IRMutator {
public:
  using IRMutator::mutate;
  Expr mutate(const Expr &e) override;

private:
  std::unordered_map<const IRNode *, Expr> exprs_;
  std::vector<Expr> keep_exprs_;  // keeps keys alive
};

/// Calls `f` on every expression node (each shared one once), parents before children.
CALO_EXPORT void for_each_expr(const Expr &e, const std::function<void(const Expr &)> &f);
CALO_EXPORT void for_each_expr(const Stmt &s, const std::function<void(const Expr &)> &f);
/// Calls `f` on every statement node, parents before children; expressions are not entered.
CALO_EXPORT void for_each_stmt(const Stmt &s, const std::function<void(const Stmt &)> &f);
/// Rewrites bottom-up: `f` sees each node with its children already rewritten and returns the node or a replacement.
CALO_EXPORT Expr rewrite(const Expr &e, const std::function<Expr(const Expr &)> &f);
CALO_EXPORT Stmt rewrite(const Stmt &s, const std::function<Expr(const Expr &)> &f);
/// Rewrites top-down: if `f` returns a defined result it replaces the node (and is not entered), else children go on.
CALO_EXPORT Expr replace(const Expr &e, const std::function<Expr(const Expr &)> &f);
CALO_EXPORT Stmt replace(const Stmt &s, const std::function<Expr(const Expr &)> &f);
/// Statement form: `f` top-down on statements; a defined result replaces the statement and is not entered.
CALO_EXPORT Stmt replace_stmts(const Stmt &s, const std::function<Stmt(const Stmt &)> &f);

/// Replaces free Variables by name. Respects shadowing by Let, LetStmt and For.
CALO_EXPORT Expr substitute(Name name, const Expr &value, const Expr &e);
CALO_EXPORT Stmt substitute(Name name, const Expr &value, const Stmt &s);
using Substitution = std::unordered_map<Name, Expr>;
CALO_EXPORT Expr substitute(const Substitution &map, const Expr &e);
CALO_EXPORT Stmt substitute(const Substitution &map, const Stmt &s);
/// Inlines every Let inside `e`.
CALO_EXPORT Expr substitute_in_lets(const Expr &e);

/// Height of the tree below e, shared nodes once; needs no stack. Stops counting at `limit`.
CALO_EXPORT size_t depth(const Expr &e, size_t limit);
/// Nodes of the tree below e, shared nodes as often as they are used; saturates at `limit`.
CALO_EXPORT double tree_size(const Expr &e, double limit);

CALO_EXPORT bool uses_var(const Expr &e, Name name);
CALO_EXPORT bool uses_var(const Stmt &s, Name name);
CALO_EXPORT bool uses_any_var(const Expr &e, const std::unordered_set<Name> &names);
/// Free Variables without a parameter, in order of first occurrence.
CALO_EXPORT std::vector<Name> free_vars(const Expr &e);
CALO_EXPORT std::vector<Name> free_vars(const Stmt &s);

/// A stack of values per name, for walking scopes.
template <typename T> class Scope {
public:
  void push(Name n, T value) { map_[n].push_back(std::move(value)); }
  void pop(Name n) {
    auto it = map_.find(n);
    it->second.pop_back();
    if (it->second.empty()) map_.erase(it);
  }
  bool contains(Name n) const { return find(n) != nullptr; }
  const T *find(Name n) const {
    auto it = map_.find(n);
    if (it != map_.end()) return &it->second.back();
    return outer_ ? outer_->find(n) : nullptr;
  }
  T *find(Name n) { return const_cast<T *>(static_cast<const Scope *>(this)->find(n)); }
  void set_outer(const Scope *outer) { outer_ = outer; }
  const std::unordered_map<Name, std::vector<T>> &items() const { return map_; }

private:
  std::unordered_map<Name, std::vector<T>> map_;
  const Scope *outer_ = nullptr;
};
template <typename T> class ScopedBinding {
public:
  ScopedBinding(Scope<T> &scope, Name n, T value) : scope_(&scope), name_(n) {
    scope.push(n, std::move(value));
  }
  ~ScopedBinding() { scope_->pop(name_); }
  ScopedBinding(const ScopedBinding &) = delete;
  ScopedBinding &operator=(const ScopedBinding &) = delete;

private:
  Scope<T> *scope_;
  Name name_;
};

}  // namespace calotype::ir
