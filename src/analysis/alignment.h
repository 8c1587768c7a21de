// What is known of an integer expression modulo a constant.
#pragma once

#include "../ir/visit.h"

namespace calotype::analysis {

/// x == modulus * k + remainder for some k. modulus 0: x is the constant `remainder`; modulus 1: nothing known.
struct ModulusRemainder {
  int64_t modulus = 1, remainder = 0;
};
CALO_EXPORT ModulusRemainder modulus_remainder(const Expr &e,
                                               const ir::Scope<ModulusRemainder> &scope = {});

}  // namespace calotype::analysis
