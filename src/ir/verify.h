// Well-formedness of IR: types of operands agree, names are defined before use, loops and lets do not shadow when
// unique names are required, and per-stage properties that passes promise (lower/passes.h).
#pragma once

#include <string>
#include <vector>

#include "function.h"

namespace calotype::ir {

/// What must hold of a Stmt at a point of the pass list.
struct StmtProperties {
  bool unique_names = false;     ///< no For or LetStmt name occurs twice on one path
  bool flat_storage = false;     ///< no Provide, Realize, Halide or Image calls
  bool no_vector_loops = false;  ///< no Vectorized or Unrolled loops
  bool closed = false;           ///< no free variables except parameters and `free`
  std::vector<Name> free;
};
/// What is wrong with this node itself (its children's types, lanes, count), not with what is below it; empty: nothing.
CALO_EXPORT std::string node_problem(const Expr &e);
CALO_EXPORT std::string node_problem(const Stmt &s);

/// Every violation (up to 20) as a line of text that quotes the offending node; empty: well formed.
CALO_EXPORT std::vector<std::string> verify(const Expr &e);
CALO_EXPORT std::vector<std::string> verify(const Stmt &s, const StmtProperties &properties);
CALO_EXPORT std::vector<std::string> verify(const Program &p);

}  // namespace calotype::ir
