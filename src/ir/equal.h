// Structural equality, a total order and hashing of IR.
#pragma once

#include "nodes.h"

namespace calotype::ir {

CALO_EXPORT bool equal(const Expr &a, const Expr &b);
CALO_EXPORT bool equal(const Stmt &a, const Stmt &b);
/// -1, 0, 1: a total order on structure; cheap differences (kind, type) decide first. Floats compare by bits.
CALO_EXPORT int compare(const Expr &a, const Expr &b);
CALO_EXPORT uint64_t hash(const Expr &e);  ///< equal expressions hash alike
CALO_EXPORT uint64_t hash(const Stmt &s);
struct ExprLess {
  bool operator()(const Expr &a, const Expr &b) const { return compare(a, b) < 0; }
};
struct ExprHash {
  size_t operator()(const Expr &e) const { return hash(e); }
};
struct ExprEqual {
  bool operator()(const Expr &a, const Expr &b) const { return equal(a, b); }
};

}  // namespace calotype::ir
