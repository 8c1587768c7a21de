// Numeric settling: the floating-point value of a definition, decided once on its own expression (design: Numerics).
// a*b + c becomes an explicit fma, division by a constant a multiplication by its reciprocal, constants in one chain of
// multiplications merge; nothing else is reassociated. strict_float() subtrees are left alone.
#pragma once

#include "function.h"

namespace calotype::ir {

CALO_EXPORT Expr settle(const Expr &e, bool fma);
/// Settles values of every definition; `f += a*b` (value: self call + product) fuses too.
CALO_EXPORT void settle(Function &f, bool fma);

}  // namespace calotype::ir
