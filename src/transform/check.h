// Tests of a plan against the algorithm it came from, on the plan's own Exprs: identities that hold for every value of
// the data, in finite fields, and floats on rows made to break them. A plan that fails is a mistake of Calotype.
//
// In fields: values are numbers modulo a prime p, exponents modulo a prime q that divides p - 1, exp(a) = w^a with w of
// order q; logarithms, roots, comparisons are fixed random functions. References are random too: the identity may not
// depend on which ones a pass happens to use.
#pragma once

#include <cstdint>
#include <string>

#include "cascade.h"

namespace calotype::transform {

struct CheckOptions {
  uint64_t seed = 1;
  int points = 23;  ///< of the domain
  int block = 5;
  bool same_infinities =
      true;  ///< floats: where the textbook form is not finite, the same NaN or infinity
};

/// Empty, or what differs: streaming with random references, streaming with the plan's own, merging two halves.
CALO_EXPORT std::string check_in_fields(const ir::Program &p, const OnlinePlan &plan,
                                        const CheckOptions &options = {});
/// Empty, or what differs: rows that are masked everywhere, in the first or last block, but for one point, with values
/// around 1 and up to 1e4. In double closely, in float within 8 times the textbook form's error and the plan's bound.
CALO_EXPORT std::string check_in_floats(const ir::Program &p, const OnlinePlan &plan,
                                        const CheckOptions &options = {});
/// Both, with several seeds. Raises X0001 with the certificate if one fails.
CALO_EXPORT void verify_plan(const ir::Program &p, const OnlinePlan &plan);

}  // namespace calotype::transform
