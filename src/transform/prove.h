// Facts that online()'s obligations rest on: signs, and what becomes of a term where an earlier member's element is that
// member's identity. Data are taken to be finite or an infinity of the identity's sign; "no" means "not proved".
#pragma once

#include <unordered_map>

#include "../ir/function.h"

namespace calotype::transform {

/// Which signs a value can have; NaN aside.
struct Signs {
  bool negative = true, zero = true, positive = true;
  bool not_negative() const { return !negative; }
  bool not_positive() const { return !positive; }
};
using KnownSigns = std::unordered_map<ir::Name, Signs>;
Signs signs_of(const Expr &e, const KnownSigns &known);

/// Pure Funcs without updates put in everywhere; undefined if that gets too large.
Expr inline_everything(const ir::Program &p, const Expr &e);

/// Whether every case in which `element` is the infinity `identity` (of a float type) makes `term` zero.
bool vanishes_with(const ir::Program &p, const Expr &term, const Expr &element,
                   const Expr &identity, const KnownSigns &known);

/// Whether e <= 0 wherever `conditions` hold.
bool never_positive(const ir::Program &p, const Expr &e, const std::vector<Expr> &conditions,
                    const KnownSigns &known);

}  // namespace calotype::transform
