// The walker behind modulus_remainder, with a memo that callers may keep.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "alignment.h"
#include "linear.h"

namespace calotype::analysis {

/// Both of `a` and `b` have this residue.
ModulusRemainder unify(ModulusRemainder a, ModulusRemainder b);
ModulusRemainder residue_add(ModulusRemainder a, ModulusRemainder b);
ModulusRemainder residue_mul(ModulusRemainder a, ModulusRemainder b);

/// Residues of expressions under a scope. The memo holds while the scope's entries for names seen stay the same.
class Residues {
public:
  explicit Residues(const ir::Scope<ModulusRemainder> *scope) : scope_(scope) {}
  ModulusRemainder of(const Expr &e);
  ModulusRemainder of(const LinearForm &f);

private:
  ModulusRemainder compute(const Expr &e);
  ModulusRemainder of_let(const ir::Let *op);
  ModulusRemainder of_call(const ir::Call *op);
  const ir::Scope<ModulusRemainder> *scope_;
  ir::Scope<ModulusRemainder> lets_;
  std::unordered_map<const ir::IRNode *, ModulusRemainder> memo_;
  std::unordered_set<ir::Name> seen_;
  std::vector<Expr> keep_;
};

}  // namespace calotype::analysis
