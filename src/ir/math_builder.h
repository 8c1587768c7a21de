// Internal to the math expansions: arithmetic on typed values with operators, and let-bound intermediate results.
//
// Every value used twice is bound by MathBuilder::let, so that an expansion is a chain of Lets and its size stays
// linear however it is walked or printed. Names are "math.0", "math.1" ... in order, which no Var or RVar has; the
// arguments come first in the chain, so a name used again in a nested expansion only hides what that one never reads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../base/diagnostic.h"
#include "nodes.h"

namespace calotype::ir::math {

/// An expression that C++ operators apply to; numbers adapt to its type.
struct Num {
  Expr e;
  Num() = default;
  Num(Expr x) : e(std::move(x)) {}
  Type type() const { return e.type(); }
};

inline Num number(Type t, double v) {
  return t.is_float() ? make_float(t, v) : make_int(t, static_cast<int64_t>(v));
}

#define CALO_MATH_BINARY(op, maker)                                                            \
  inline Num operator op(const Num &a, const Num &b) { return maker(a.e, b.e); }               \
  inline Num operator op(const Num &a, double b) { return maker(a.e, number(a.type(), b).e); } \
  inline Num operator op(double a, const Num &b) { return maker(number(b.type(), a).e, b.e); }
CALO_MATH_BINARY(+, make_add)
CALO_MATH_BINARY(-, make_sub)
CALO_MATH_BINARY(*, make_mul)
CALO_MATH_BINARY(/, make_div)
CALO_MATH_BINARY(<, make_lt)
CALO_MATH_BINARY(<=, make_le)
CALO_MATH_BINARY(>, make_gt)
CALO_MATH_BINARY(>=, make_ge)
CALO_MATH_BINARY(==, make_eq)
CALO_MATH_BINARY(!=, make_ne)
#undef CALO_MATH_BINARY

inline Num both(const Num &a, const Num &b) { return make_and(a.e, b.e); }
inline Num either(const Num &a, const Num &b) { return make_or(a.e, b.e); }
inline Num negate(const Num &c) { return make_not(c.e); }
inline Num select(const Num &c, const Num &t, const Num &f) { return make_select(c.e, t.e, f.e); }
inline Num min(const Num &a, const Num &b) { return make_min(a.e, b.e); }
inline Num max(const Num &a, const Num &b) { return make_max(a.e, b.e); }
inline Num cast(Type t, const Num &a) { return make_cast(t, a.e); }
inline Num call(Intrinsic op, const Num &a) { return make_intrinsic(a.type(), op, {a.e}); }
inline Num call(Intrinsic op, const Num &a, const Num &b) {
  return make_intrinsic(a.type(), op, {a.e, b.e});
}
inline Num operator&(const Num &a, const Num &b) { return call(Intrinsic::bitwise_and, a, b); }
inline Num operator|(const Num &a, const Num &b) { return call(Intrinsic::bitwise_or, a, b); }
inline Num operator^(const Num &a, const Num &b) { return call(Intrinsic::bitwise_xor, a, b); }
inline Num operator~(const Num &a) { return call(Intrinsic::bitwise_not, a); }
inline Num operator<<(const Num &a, const Num &b) { return call(Intrinsic::shift_left, a, b); }
inline Num operator>>(const Num &a, const Num &b) { return call(Intrinsic::shift_right, a, b); }
inline Num operator<<(const Num &a, int n) { return a << number(a.type(), n); }
inline Num operator>>(const Num &a, int n) { return a >> number(a.type(), n); }
inline Num fma(const Num &a, const Num &b, const Num &c) {
  return make_intrinsic(a.type(), Intrinsic::fma, {a.e, b.e, c.e});
}
inline Num fma(const Num &a, double b, const Num &c) { return fma(a, number(a.type(), b), c); }
inline Num fma(const Num &a, const Num &b, double c) { return fma(a, b, number(a.type(), c)); }
inline Num sqrt(const Num &a) { return call(Intrinsic::sqrt, a); }
inline Num floor(const Num &a) { return call(Intrinsic::floor, a); }

/// Bits of a float as Int of its width, and back.
inline Num bits(const Num &a) { return make_reinterpret(a.type().with_code(Type::Int), a.e); }
inline Num as_float(const Num &a) { return make_reinterpret(a.type().with_code(Type::Float), a.e); }
inline Num unsigned_constant(Type t, uint64_t v) { return make_uint(t, v); }

/// Collects the Lets of one expansion.
class MathBuilder {
public:
  /// `v`, bound to a name unless it is one already or a constant.
  Num let(const Num &v) {
    if (v.e.as<Variable>() || is_const(v.e)) return v;
    Name name("math." + std::to_string(lets_.size()));
    lets_.emplace_back(name, v.e);
    return make_var(name, v.type());
  }
  Expr finish(const Num &body) const {
    Expr e = body.e;
    for (size_t i = lets_.size(); i-- > 0;) e = make_let(lets_[i].first, lets_[i].second, e);
    return e;
  }

private:
  std::vector<std::pair<Name, Expr>> lets_;
};

// The expansions. Float ones take Float(32) or Float(64) operands of any lanes; null result: not theirs.
Expr expand_integer(const Call *op);
Expr expand_lerp(const Call *op);
Expr expand_random(const Call *op);
Expr expand_exponential(const Call *op);  ///< exp, log, pow, hyperbolic functions, erf, hypot
Expr expand_trigonometric(const Call *op);
Num exp_kernel(MathBuilder &b, const Num &x, int shift);  ///< 2^shift * e^x
Num log_kernel(MathBuilder &b, const Num &x);
Num pow_kernel(MathBuilder &b, const Num &x, const Num &y);

/// A polynomial's coefficients, constant term first.
struct Poly {
  const double *c;
  int n;
};
template <int N> Poly poly(const double (&c)[N]) { return {c, N}; }
/// Horner's rule with fused steps.
inline Num evaluate(const Poly &p, const Num &x) {
  Num r = number(x.type(), p.c[p.n - 1]);
  for (int i = p.n - 2; i >= 0; i--) r = fma(r, x, p.c[i]);
  return r;
}
inline bool is_double(const Num &x) { return x.type().bits() == 64; }
/// x with its sign bit cleared / the sign bit alone, as Int.
inline Num magnitude(const Num &x) { return call(Intrinsic::abs, x); }
inline Num sign_bits(const Num &x) {
  Num i = bits(x);
  return i & Num(make_uint(i.type(), uint64_t(1) << (x.type().bits() - 1)));
}
/// `x` (whose sign bit is clear, or NaN) with the sign bit flipped where `sign` has it.
inline Num with_sign(const Num &x, const Num &sign) { return as_float(bits(x) ^ sign); }

}  // namespace calotype::ir::math
