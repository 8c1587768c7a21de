// Simplification: one normal form for affine integer expressions, a table of proved rewrite rules for the rest, facts
// in scope. Never changes the value of a float expression, not even in the last bit.
#pragma once

#include "alignment.h"
#include "interval.h"

namespace calotype::analysis {

/// What is known where an expression stands.
struct Facts {
  ir::Scope<ConstInterval> ranges;         ///< constant ranges of int variables
  ir::Scope<ModulusRemainder> alignments;  ///< residues of int variables
  std::vector<Expr> truths;                ///< conditions known to hold
};

CALO_EXPORT Expr simplify(const Expr &e);
CALO_EXPORT Expr simplify(const Expr &e, const Facts &facts);

/// While one lives, expressions simplified without facts in this thread are remembered. Keeps them alive.
class CALO_EXPORT SimplifyScope {
public:
  SimplifyScope();
  SimplifyScope(const SimplifyScope &) = delete;
  ~SimplifyScope();

private:
  class Simplifier *before_;
};
/// Also removes dead lets, loops of one or no iteration, branches that are never taken; substitutes cheap lets; learns
/// from conditions, loop ranges and asserts on the way down.
CALO_EXPORT ir::Stmt simplify(const ir::Stmt &s, const Facts &facts = {});
/// True if `condition` provably holds always; false means "not proved".
CALO_EXPORT bool can_prove(const Expr &condition, const Facts &facts = {});
/// The constant that `e` equals, or an upper (lower) bound that is constant. Nothing if none is found.
CALO_EXPORT bool constant_upper_bound(const Expr &e, const ir::Scope<Interval> &scope,
                                      int64_t *bound, const Facts &facts = {});
CALO_EXPORT bool constant_lower_bound(const Expr &e, const ir::Scope<Interval> &scope,
                                      int64_t *bound, const Facts &facts = {});

}  // namespace calotype::analysis
