// exp, log, sin ... and the compound integer operations, as IR over core operations: one definition for every target
// and the interpreter.
//
// Largest errors in units in the last place, mode fma / mode nofma. float32: every value (unary) or samples (binary);
// float64: samples. Signed zeros, denormals, infinities and NaN are as C's libm has them. Tested by math_test.cpp.
//
//            float32     float64                  float32     float64                float32     float64
//   exp      1.1 / 1.1   1.1 / 1.1      asin      2.4 / 2.4   2.4 / 2.4     asinh    2.2 / 2.4   2.2 / 2.4
//   log      0.9 / 0.9   0.9 / 0.9      acos      1.5 / 1.5   1.5 / 1.5     acosh    2.0 / 2.4   2.0 / 2.4
//   pow      0.6 / 0.6   1.5 / 1.5      atan      1.6 / 1.6   1.6 / 1.6     atanh    2.6 / 2.6   2.6 / 2.6
//   sin      1.7 / 2.6   1.7 / 2.6      atan2     2.0 / 2.0   2.0 / 2.0     hypot    0.6 / 0.6   1.5 / 1.5
//   cos      1.7 / 2.6   1.7 / 2.6      sinh      2.0 / 2.0   2.0 / 2.0     erf      2.0 / 2.6   4.0 / 4.0
//   tan      4.0 / 4.8   4.0 / 4.8      cosh      1.8 / 1.8   1.8 / 1.8     tanh     1.6 / 1.6   1.6 / 1.6
//
// float16 and bfloat16 compute in float32 and round. The fast_ forms of float64 are the plain ones; of float32:
//   fast_exp   relative error 2^-21.5 for x in [-87.3, 88.7]; 0 below, saturates above
//   fast_log   error 2^-18 max(1, |log x|) for normal x > 0; nothing useful else
//   fast_pow   fast_exp(fast_log(x) * y), x > 0; x = 0 gives 0, or 1 where y is 0
//   fast_sin, fast_cos   absolute error 2^-22 for |x| <= 8192;  fast_tan   their quotient
//   fast_inverse 1 / x;  fast_inverse_sqrt 1 / sqrt(x), two roundings
//   fast_asin, fast_acos, fast_atan, fast_atan2, fast_tanh   the plain ones
// lerp of n-bit integers: round((a * (M - w) + b * w) / M), M = 2^n - 1, the weight brought to n bits by truncation.
#pragma once

#include "nodes.h"

namespace calotype::ir {

/// The core-operation form of an intrinsic of class Expand (one step: the result may contain further ones).
CALO_EXPORT Expr expand_intrinsic(const Call *op);
/// Expands all intrinsics of class Expand and drops Markers, to the end.
CALO_EXPORT Expr expand_intrinsics(const Expr &e);
CALO_EXPORT Stmt expand_intrinsics(const Stmt &s);

}  // namespace calotype::ir
