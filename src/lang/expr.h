// What people write inside definitions: operators, casts, selection and functions of Exprs.
//
// Operand types are matched as ir/build.h says: constants adapt to the other operand, floating point
// wins over integers, the wider type wins, signed and unsigned of equal width give signed. Numbers of
// C++ that are integers must fit the other operand's type (L0104). Tests: test/unit/lang.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include "../base/export.h"
#include "../base/source.h"
#include "../base/type.h"
#include "../ir/expr.h"

namespace calotype {

class FuncRef;
class Tuple;

namespace lang {

/// The position of the latest call that carried one: operators can't have default arguments, so their
/// messages point there.
CALO_EXPORT SrcLoc recent_position();
CALO_EXPORT void note_position(SrcLoc at);

CALO_EXPORT Expr binary(ir::NodeKind op, const Expr &a, const Expr &b);
/// `constant` in the type that it takes beside `other`.
CALO_EXPORT Expr literal(const Expr &other, const Expr &constant);
CALO_EXPORT Expr shift_left(const Expr &a, const Expr &b);
CALO_EXPORT Expr shift_right(const Expr &a, const Expr &b);
CALO_EXPORT Expr bit_and(const Expr &a, const Expr &b);
CALO_EXPORT Expr bit_or(const Expr &a, const Expr &b);
CALO_EXPORT Expr bit_xor(const Expr &a, const Expr &b);
CALO_EXPORT Expr select_list(const std::vector<Expr> &conditions_and_values);
CALO_EXPORT Expr print_list(const std::vector<Expr> &values);
CALO_EXPORT Expr print_when_list(const Expr &condition, const std::vector<Expr> &values);
CALO_EXPORT Expr require_list(const Expr &condition, const std::vector<Expr> &value_and_message);

template <typename T>
using IfNumber = typename std::enable_if<std::is_arithmetic<T>::value, int>::type;

}  // namespace lang

// ---- operators ----------------------------------------------------------------------------------

/// `a op b` for two expressions, and with a C++ number on either side.
#define CALO_OPERATOR(op, function)                                                   \
  inline Expr operator op(const Expr &a, const Expr &b) { return function(a, b); }    \
  template <typename T, lang::IfNumber<T> = 0> Expr operator op(const Expr &a, T b) { \
    return function(a, lang::literal(a, Expr(b)));                                    \
  }                                                                                   \
  template <typename T, lang::IfNumber<T> = 0> Expr operator op(T a, const Expr &b) { \
    return function(lang::literal(b, Expr(a)), b);                                    \
  }
#define CALO_NODE_OPERATOR(op, Kind)                      \
  namespace lang {                                        \
  inline Expr make_##Kind(const Expr &a, const Expr &b) { \
    return binary(ir::NodeKind::Kind, a, b);              \
  }                                                       \
  }                                                       \
  CALO_OPERATOR(op, lang::make_##Kind)

CALO_NODE_OPERATOR(+, Add)
CALO_NODE_OPERATOR(-, Sub)
CALO_NODE_OPERATOR(*, Mul)
CALO_NODE_OPERATOR(/, Div)  // integers: rounds so that the remainder is never negative; x / 0 is 0
CALO_NODE_OPERATOR(%, Mod)  // never negative for integers; x % 0 is 0
CALO_NODE_OPERATOR(==, EQ)
CALO_NODE_OPERATOR(!=, NE)
CALO_NODE_OPERATOR(<, LT)
CALO_NODE_OPERATOR(<=, LE)
CALO_NODE_OPERATOR(>, GT)
CALO_NODE_OPERATOR(>=, GE)
CALO_NODE_OPERATOR(&&, And)
CALO_NODE_OPERATOR(||, Or)
CALO_OPERATOR(&, lang::bit_and)
CALO_OPERATOR(|, lang::bit_or)
CALO_OPERATOR(^, lang::bit_xor)
CALO_OPERATOR(<<, lang::shift_left)   // by a negative amount: to the right
CALO_OPERATOR(>>, lang::shift_right)  // arithmetic for signed types
#undef CALO_NODE_OPERATOR
#undef CALO_OPERATOR

CALO_EXPORT Expr operator-(const Expr &a);
CALO_EXPORT Expr operator~(const Expr &a);
CALO_EXPORT Expr operator!(const Expr &a);
/// The result keeps a's type.
CALO_EXPORT Expr &operator+=(Expr &a, const Expr &b);
CALO_EXPORT Expr &operator-=(Expr &a, const Expr &b);
CALO_EXPORT Expr &operator*=(Expr &a, const Expr &b);
CALO_EXPORT Expr &operator/=(Expr &a, const Expr &b);

CALO_EXPORT std::ostream &operator<<(std::ostream &o, const Expr &e);
CALO_EXPORT std::ostream &operator<<(std::ostream &o, const Type &t);

// ---- casts --------------------------------------------------------------------------------------

/// Integers wrap; float to integer truncates and saturates, NaN gives 0; to bool: x != 0.
CALO_EXPORT Expr cast(Type t, const Expr &e);
template <typename T> Expr cast(const Expr &e) { return cast(type_of<T>(), e); }
/// The same bits as another type of equal width.
CALO_EXPORT Expr reinterpret(Type t, const Expr &e);
template <typename T> Expr reinterpret(const Expr &e) { return reinterpret(type_of<T>(), e); }
/// Clamps to the range of `t` first.
CALO_EXPORT Expr saturating_cast(Type t, const Expr &e);
template <typename T> Expr saturating_cast(const Expr &e) {
  return saturating_cast(type_of<T>(), e);
}

// ---- selection ----------------------------------------------------------------------------------

CALO_EXPORT Expr min(const Expr &a, const Expr &b);  ///< a < b ? a : b
CALO_EXPORT Expr max(const Expr &a, const Expr &b);  ///< a > b ? a : b
template <typename T, lang::IfNumber<T> = 0> Expr min(const Expr &a, T b) {
  return min(a, lang::literal(a, Expr(b)));
}
template <typename T, lang::IfNumber<T> = 0> Expr min(T a, const Expr &b) {
  return min(lang::literal(b, Expr(a)), b);
}
template <typename T, lang::IfNumber<T> = 0> Expr max(const Expr &a, T b) {
  return max(a, lang::literal(a, Expr(b)));
}
template <typename T, lang::IfNumber<T> = 0> Expr max(T a, const Expr &b) {
  return max(lang::literal(b, Expr(a)), b);
}
template <typename... Rest>
Expr min(const Expr &a, const Expr &b, const Expr &c, const Rest &...rest) {
  return min(a, min(b, c, rest...));
}
template <typename... Rest>
Expr max(const Expr &a, const Expr &b, const Expr &c, const Rest &...rest) {
  return max(a, max(b, c, rest...));
}
/// max(lo, min(hi, e)): lo and hi take e's type.
CALO_EXPORT Expr clamp(const Expr &e, const Expr &lo, const Expr &hi);

/// condition ? t : f. Both values are computed.
CALO_EXPORT Expr select(const Expr &condition, const Expr &t, const Expr &f);
CALO_EXPORT Expr select(const Expr &condition, const FuncRef &t, const FuncRef &f);
CALO_EXPORT Tuple select(const Expr &condition, const Tuple &t, const Tuple &f);
CALO_EXPORT Tuple select(const Tuple &condition, const Tuple &t, const Tuple &f);
/// The value behind the first condition that holds, else the last argument.
template <typename... Rest>
Expr select(const Expr &c0, const Expr &v0, const Expr &c1, const Expr &v1, const Rest &...rest) {
  return lang::select_list({c0, v0, c1, v1, Expr(rest)...});
}
template <typename... Rest>
Tuple select(const Expr &c0, const Tuple &v0, const Expr &c1, const Tuple &v1, const Rest &...rest);
/// values[index]; the last one for every index beyond.
CALO_EXPORT Expr mux(const Expr &index, const std::vector<Expr> &values);
CALO_EXPORT Expr mux(const Expr &index, std::initializer_list<Expr> values);
CALO_EXPORT Tuple mux(const Expr &index, const std::vector<Tuple> &values);
CALO_EXPORT Expr mux(const Expr &index, const Tuple &values);

// ---- arithmetic without surprises at the ends of the range --------------------------------------

CALO_EXPORT Expr abs(const Expr &a);                  ///< signed integers give unsigned ones
CALO_EXPORT Expr absd(const Expr &a, const Expr &b);  ///< |a - b| without overflow
CALO_EXPORT Expr lerp(const Expr &zero, const Expr &one, const Expr &weight);
CALO_EXPORT Expr div_round_to_zero(const Expr &a, const Expr &b);
CALO_EXPORT Expr mod_round_to_zero(const Expr &a, const Expr &b);
CALO_EXPORT Expr widening_add(const Expr &a, const Expr &b);
CALO_EXPORT Expr widening_sub(const Expr &a, const Expr &b);
CALO_EXPORT Expr widening_mul(const Expr &a, const Expr &b);
CALO_EXPORT Expr widening_shift_left(const Expr &a, const Expr &b);
CALO_EXPORT Expr widening_shift_right(const Expr &a, const Expr &b);
CALO_EXPORT Expr widen_right_add(const Expr &a, const Expr &b);
CALO_EXPORT Expr widen_right_sub(const Expr &a, const Expr &b);
CALO_EXPORT Expr widen_right_mul(const Expr &a, const Expr &b);
CALO_EXPORT Expr saturating_add(const Expr &a, const Expr &b);
CALO_EXPORT Expr saturating_sub(const Expr &a, const Expr &b);
CALO_EXPORT Expr halving_add(const Expr &a, const Expr &b);
CALO_EXPORT Expr halving_sub(const Expr &a, const Expr &b);
CALO_EXPORT Expr rounding_halving_add(const Expr &a, const Expr &b);
CALO_EXPORT Expr rounding_shift_left(const Expr &a, const Expr &b);
CALO_EXPORT Expr rounding_shift_right(const Expr &a, const Expr &b);
CALO_EXPORT Expr mul_shift_right(const Expr &a, const Expr &b, const Expr &shift);
CALO_EXPORT Expr mul_shift_right(const Expr &a, const Expr &b, int shift);
CALO_EXPORT Expr rounding_mul_shift_right(const Expr &a, const Expr &b, const Expr &shift);
CALO_EXPORT Expr rounding_mul_shift_right(const Expr &a, const Expr &b, int shift);
CALO_EXPORT Expr popcount(const Expr &a);
CALO_EXPORT Expr count_leading_zeros(const Expr &a);
CALO_EXPORT Expr count_trailing_zeros(const Expr &a);

// ---- floating-point functions: integers become float32 first ------------------------------------

#define CALO_FLOAT_FUNCTIONS(X) \
  X(sqrt)                       \
  X(sin)                        \
  X(cos)                        \
  X(tan)                        \
  X(asin)                       \
  X(acos)                       \
  X(atan)                       \
  X(sinh)                       \
  X(cosh)                       \
  X(tanh)                       \
  X(asinh)                      \
  X(acosh)                      \
  X(atanh)                      \
  X(exp)                        \
  X(log)                        \
  X(erf)                        \
  X(floor)                      \
  X(ceil)                       \
  X(trunc)                      \
  X(round)                      \
  X(fast_exp)                   \
  X(fast_log)                   \
  X(fast_sin)                   \
  X(fast_cos)                   \
  X(fast_tan)                   \
  X(fast_asin)                  \
  X(fast_acos)                  \
  X(fast_atan)                  \
  X(fast_tanh)                  \
  X(fast_inverse)               \
  X(fast_inverse_sqrt)
#define CALO_FLOAT_FUNCTION(name) CALO_EXPORT Expr name(const Expr &x);
CALO_FLOAT_FUNCTIONS(CALO_FLOAT_FUNCTION)
#undef CALO_FLOAT_FUNCTION
CALO_EXPORT Expr fract(const Expr &x);  ///< x - trunc(x)
CALO_EXPORT Expr atan2(const Expr &y, const Expr &x);
CALO_EXPORT Expr hypot(const Expr &x, const Expr &y);
/// A constant integral exponent up to 16 in size becomes multiplications.
CALO_EXPORT Expr pow(const Expr &x, const Expr &y);
CALO_EXPORT Expr fast_pow(const Expr &x, const Expr &y);
CALO_EXPORT Expr fast_atan2(const Expr &y, const Expr &x);
CALO_EXPORT Expr is_nan(const Expr &x);
CALO_EXPORT Expr is_inf(const Expr &x);
CALO_EXPORT Expr is_finite(const Expr &x);
/// Numeric settling leaves e as it is written.
CALO_EXPORT Expr strict_float(const Expr &e);

// ---- hints and effects --------------------------------------------------------------------------

/// The branch or bound that the steady state of a loop should be built for.
CALO_EXPORT Expr likely(const Expr &e);
CALO_EXPORT Expr likely_if_innermost(const Expr &e);
/// The promise that e lies in [lo, hi] already (either end may be undefined). Checked once, before anything runs, where
/// e's range follows from the loops alone (R0105); else at each point under the target feature `debug`.
CALO_EXPORT Expr unsafe_promise_clamped(const Expr &e, const Expr &lo, const Expr &hi);
CALO_EXPORT Expr promise_clamped(const Expr &e, const Expr &lo, const Expr &hi);
CALO_EXPORT Expr undef(Type t);
template <typename T> Expr undef() { return undef(type_of<T>()); }
/// Uniform in [0, 1), or over all integers of 32 bits: a function of the coordinates of the definition
/// and the seed (without one: of the place of the call in its Func).
CALO_EXPORT Expr random_float(const Expr &seed = Expr());
CALO_EXPORT Expr random_uint(const Expr &seed = Expr());
CALO_EXPORT Expr random_int(const Expr &seed = Expr());

/// The first argument's value; when it is computed, all arguments are printed.
template <typename... Args> Expr print(const Expr &value, const Args &...more) {
  return lang::print_list({value, Expr(more)...});
}
template <typename... Args>
Expr print_when(const Expr &condition, const Expr &value, const Args &...more) {
  return lang::print_when_list(condition, {value, Expr(more)...});
}
/// The value, if the condition holds; else the pipeline fails with R0105 and the further arguments.
template <typename... Args>
Expr require(const Expr &condition, const Expr &value, const Args &...message) {
  return lang::require_list(condition, {value, Expr(message)...});
}

namespace lang {
/// A call of the C function `name`; constants take the parameter's type, other types must match (L0102).
CALO_EXPORT Expr extern_call(Type result, const char *name, const std::vector<Type> &params,
                             const std::vector<Expr> &args, bool pure);
CALO_EXPORT Expr memoize_tag_list(const Expr &e, const std::vector<Expr> &keys);
}  // namespace lang
/// e, which a memoized Func that uses it is remembered by `keys` for, instead of by what e depends on.
template <typename... Keys> Expr memoize_tag(const Expr &e, const Keys &...keys) {
  return lang::memoize_tag_list(e, {Expr(keys)...});
}

}  // namespace calotype
