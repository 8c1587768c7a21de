// Whether an update is a reduction: old values combined with new ones by an associative operation that has an identity,
// so that parts of it may be computed apart and combined afterwards. Proved on the definition alone.
#pragma once

#include <string>
#include <vector>

#include "../ir/function.h"

namespace calotype::schedule {

/// The operation on one value, where each value of a Tuple is reduced by itself.
enum class Combine {
  None,
  Add,
  Mul,
  Min,
  Max,
  And,
  Or,
  BitAnd,
  BitOr,
  BitXor,
  SaturatingAdd,
  Keep
};

struct Reduction {
  bool proved = false;
  std::string because;  ///< if not: why, with the sub-expression that stands in the way
  SrcLoc loc;           ///< of the definition
  /// Operands may be swapped as well. Else parts are combined in the order of the definition (the first of equal minima).
  bool commutative = true;
  /// Any grouping gives the same bits. Else it is a floating-point reduction, whose rounding depends on the order.
  bool exact = true;
  std::vector<Combine> ops;    ///< one per value; all None where the values are reduced together
  std::vector<Expr> identity;  ///< one per value
  std::vector<Expr>
      combined;  ///< one per value, over the Variables left_value(i) and right_value(i)
};

/// Stand-ins in Reduction::combined: what came first, and what comes after it.
CALO_EXPORT ir::Name left_value(int i);
CALO_EXPORT ir::Name right_value(int i);

CALO_EXPORT Reduction prove_reduction(const ir::Function &f, int stage);

/// a op b, for one value.
CALO_EXPORT Expr combine(Combine op, const Expr &a, const Expr &b);
/// Combine with it changes nothing, not even the sign of a zero.
CALO_EXPORT Expr identity_of(Combine op, Type t);
CALO_EXPORT const char *combine_word(Combine op);

}  // namespace calotype::schedule
