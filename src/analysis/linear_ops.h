// Arithmetic on linear forms, for the analyses' own use.
#pragma once

#include "int_math.h"
#include "linear.h"

namespace calotype::analysis {

/// Sorts terms, merges equal ones and drops those that cancel.
void normalise(LinearForm &f);
/// ka * a + kb * b; both normalised, as is the result.
LinearForm combine(const LinearForm &a, int64_t ka, const LinearForm &b, int64_t kb);
LinearForm scale(const LinearForm &f, int64_t k);
/// Each coefficient and the constant divided by k (floor); exact if k divides content(f) and the constant.
LinearForm divide_exactly(const LinearForm &f, int64_t k);
bool same_terms(const LinearForm &a, const LinearForm &b);
int64_t coefficient_of(const LinearForm &f, const Expr &term);
/// Greatest common divisor of the coefficients; 0 if there are none.
int64_t content(const LinearForm &f);

}  // namespace calotype::analysis
