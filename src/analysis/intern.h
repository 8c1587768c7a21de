// Hash-consing: one node per structure, so that equal expressions are equal pointers and comparing DAGs stays cheap.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "../ir/nodes.h"

namespace calotype::analysis {

/// Keeps every node it has seen alive.
class Interner {
public:
  /// The node that stands for all expressions equal to `e`; children are interned first.
  Expr intern(const Expr &e);
  size_t size() const { return keep_.size() + nodes_.size(); }

private:
  struct ShallowHash {
    size_t operator()(const Expr &e) const;
  };
  struct ShallowEqual {
    bool operator()(const Expr &a, const Expr &b) const;
  };
  Expr with_interned_children(const Expr &e);
  std::unordered_set<Expr, ShallowHash, ShallowEqual> nodes_;
  std::unordered_map<const ir::IRNode *, Expr> done_;
  std::vector<Expr> keep_;
};

}  // namespace calotype::analysis
