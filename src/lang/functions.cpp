// Functions of Exprs: exact integer arithmetic, mathematics, hints. All become intrinsics or core nodes.
#include <algorithm>
#include <cmath>
#include <string>

#include "../base/diagnostic.h"
#include "../ir/build.h"
#include "../ir/nodes.h"
#include "../ir/print.h"
#include "../ir/visit.h"
#include "expr.h"
#include "internal.h"

namespace calotype {

using ir::Intrinsic;

namespace {

void need_defined(const Expr &e, Intrinsic op) {
  ir::require_defined(e, (std::string("an argument of ") + ir::intrinsic_name(op)).c_str(),
                      lang::recent_position());
}

[[noreturn]] void wrong_type(Intrinsic op, Type t, const char *needs) {
  raise(Diagnostic("L0103", lang::recent_position(),
                   std::string(ir::intrinsic_name(op)) + " is not defined for " + to_string(t))
            .because(std::string("it needs ") + needs));
}

/// Both operands as one integer type.
Type match_integers(Intrinsic op, Expr &a, Expr &b) {
  need_defined(a, op);
  need_defined(b, op);
  ir::match_types(a, b, ir::intrinsic_name(op), lang::recent_position());
  if (!a.type().is_int_or_uint()) wrong_type(op, a.type(), "integers");
  return a.type();
}

Expr integer_op(Intrinsic op, Expr a, Expr b) {
  const Type t = match_integers(op, a, b);
  return ir::make_intrinsic(t, op, {a, b});
}

Type widened(Intrinsic op, Type t) {
  if (t.bits() > 32 || t.is_bool()) wrong_type(op, t, "a type with a wider one: 8, 16 or 32 bits");
  return t.widen();
}

/// Shift amounts have the width of the shifted value; their sign is their own.
Expr shift_amount(Intrinsic op, Type t, const Expr &b) {
  need_defined(b, op);
  if (!b.type().is_int_or_uint()) wrong_type(op, b.type(), "an integer number of bits");
  Expr amount = ir::make_cast(t.element_of().with_code(b.type().code()), b);
  return amount.type().lanes() < t.lanes() ? ir::make_broadcast(amount, t.lanes()) : amount;
}

Expr shift_op(Intrinsic op, const Expr &a, const Expr &b, bool widen) {
  need_defined(a, op);
  if (!a.type().is_int_or_uint()) wrong_type(op, a.type(), "integers");
  const Type t = widen ? widened(op, a.type()) : a.type();
  return ir::make_intrinsic(t, op, {a, shift_amount(op, a.type(), b)});
}

/// Type of a mathematical function's value: floats stay, integers become float32.
Expr as_float(Intrinsic op, const Expr &x) {
  need_defined(x, op);
  if (x.type().is_handle()) wrong_type(op, x.type(), "a number");
  return x.type().is_float() ? x : ir::make_cast(Float(32), x);
}

Expr float_op(Intrinsic op, const Expr &x) {
  const Expr v = as_float(op, x);
  return ir::make_intrinsic(v.type(), op, {v});
}

Expr float_op(Intrinsic op, const Expr &x, const Expr &y) {
  Expr a = as_float(op, x), b = as_float(op, y);
  if (ir::is_const(x) && x.type().is_int_or_uint()) a = ir::make_cast(b.type(), x);
  if (ir::is_const(y) && y.type().is_int_or_uint()) b = ir::make_cast(a.type(), y);
  ir::match_types(a, b, ir::intrinsic_name(op), lang::recent_position());
  return ir::make_intrinsic(a.type(), op, {a, b});
}

Expr float_question(Intrinsic op, const Expr &x) {
  need_defined(x, op);
  if (!x.type().is_float()) wrong_type(op, x.type(), "floating point");
  return ir::make_intrinsic(Bool(x.type().lanes()), op, {x});
}

Expr marker(Intrinsic op, const Expr &e) {
  need_defined(e, op);
  return ir::make_intrinsic(e.type(), op, {e});
}

}  // namespace

// ---- integers -----------------------------------------------------------------------------------

Expr abs(const Expr &a) {
  need_defined(a, Intrinsic::abs);
  const Type t = a.type();
  if (t.is_uint()) return a;
  if (t.is_handle()) wrong_type(Intrinsic::abs, t, "a number");
  return ir::make_intrinsic(t.is_int() ? t.with_code(Type::UInt) : t, Intrinsic::abs, {a});
}

Expr absd(const Expr &x, const Expr &y) {
  Expr a = x, b = y;
  ir::match_types(a, b, "absd", lang::recent_position());
  const Type t = a.type();
  if (t.is_float()) return abs(a - b);
  return ir::make_intrinsic(t.is_int() ? t.with_code(Type::UInt) : t, Intrinsic::absd, {a, b});
}

Expr lerp(const Expr &zero, const Expr &one, const Expr &weight) {
  const SrcLoc at = lang::recent_position();
  Expr a = zero, b = one, w = weight;
  ir::match_types(a, b, "lerp", at);
  need_defined(w, Intrinsic::lerp);
  if (w.type().is_int()) {
    if (!ir::is_const(w))
      wrong_type(Intrinsic::lerp, w.type(), "an unsigned or floating-point weight");
    w = ir::make_cast(a.type().is_float() ? a.type() : Float(32), w);
  }
  if (a.type().is_float() && w.type().is_uint()) {
    wrong_type(Intrinsic::lerp, w.type(), "a floating-point weight for floating-point values");
  }
  if (a.type().is_float() && w.type().bits() != a.type().bits()) w = ir::make_cast(a.type(), w);
  if (w.type().lanes() < a.type().lanes()) w = ir::make_broadcast(w, a.type().lanes());
  return ir::make_intrinsic(a.type(), Intrinsic::lerp, {a, b, w});
}

Expr div_round_to_zero(const Expr &x, const Expr &y) {
  Expr a = x, b = y;
  ir::match_types(a, b, "div_round_to_zero", lang::recent_position());
  if (!a.type().is_int()) return a / b;
  // Euclidean division is off by one toward the sign of b where a < 0 leaves a remainder.
  const Expr q = a / b, exact = (q * b == a) || (a >= ir::make_zero(a.type()));
  const Expr one = ir::make_one(a.type());
  return select(exact, q, select(b > ir::make_zero(b.type()), q + one, q - one));
}

Expr mod_round_to_zero(const Expr &x, const Expr &y) {
  Expr a = x, b = y;
  ir::match_types(a, b, "mod_round_to_zero", lang::recent_position());
  if (!a.type().is_int()) return a % b;
  return select(b == ir::make_zero(b.type()), ir::make_zero(a.type()),
                a - div_round_to_zero(a, b) * b);
}

Expr widening_add(const Expr &x, const Expr &y) {
  Expr a = x, b = y;
  const Type t = match_integers(Intrinsic::widening_add, a, b);
  return ir::make_intrinsic(widened(Intrinsic::widening_add, t), Intrinsic::widening_add, {a, b});
}

Expr widening_sub(const Expr &x, const Expr &y) {
  Expr a = x, b = y;
  const Type t = match_integers(Intrinsic::widening_sub, a, b);
  return ir::make_intrinsic(widened(Intrinsic::widening_sub, t).with_code(Type::Int),
                            Intrinsic::widening_sub, {a, b});
}

Expr widening_mul(const Expr &x, const Expr &y) {
  const Intrinsic op = Intrinsic::widening_mul;
  Expr a = x, b = y;
  need_defined(a, op);
  need_defined(b, op);
  if (a.type().is_int_or_uint() && b.type().is_int_or_uint() &&
      a.type().bits() == b.type().bits() &&
      a.type().lanes() == b.type().lanes()) {  // signs may differ: the product fits a signed type
    const Type::Code code = a.type().is_int() || b.type().is_int() ? Type::Int : Type::UInt;
    return ir::make_intrinsic(widened(op, a.type()).with_code(code), op, {a, b});
  }
  const Type t = match_integers(op, a, b);
  return ir::make_intrinsic(widened(op, t), op, {a, b});
}

Expr widening_shift_left(const Expr &a, const Expr &b) {
  return shift_op(Intrinsic::widening_shift_left, a, b, true);
}
Expr widening_shift_right(const Expr &a, const Expr &b) {
  return shift_op(Intrinsic::widening_shift_right, a, b, true);
}

namespace {
Expr widen_right(Intrinsic op, const Expr &a, const Expr &b) {
  need_defined(a, op);
  need_defined(b, op);
  if (!a.type().is_int_or_uint() || !b.type().is_int_or_uint() ||
      a.type().bits() != 2 * b.type().bits()) {
    raise(Diagnostic("L0102", lang::recent_position(),
                     std::string(ir::intrinsic_name(op)) + " of " + to_string(a.type()) + " and " +
                         to_string(b.type()))
              .because("the second operand must have half the bits of the first"));
  }
  return ir::make_intrinsic(a.type(), op, {a, b});
}
}  // namespace

Expr widen_right_add(const Expr &a, const Expr &b) {
  return widen_right(Intrinsic::widen_right_add, a, b);
}
Expr widen_right_sub(const Expr &a, const Expr &b) {
  return widen_right(Intrinsic::widen_right_sub, a, b);
}
Expr widen_right_mul(const Expr &a, const Expr &b) {
  return widen_right(Intrinsic::widen_right_mul, a, b);
}
Expr saturating_add(const Expr &a, const Expr &b) {
  return integer_op(Intrinsic::saturating_add, a, b);
}
Expr saturating_sub(const Expr &a, const Expr &b) {
  return integer_op(Intrinsic::saturating_sub, a, b);
}
Expr halving_add(const Expr &a, const Expr &b) { return integer_op(Intrinsic::halving_add, a, b); }
Expr halving_sub(const Expr &a, const Expr &b) { return integer_op(Intrinsic::halving_sub, a, b); }
Expr rounding_halving_add(const Expr &a, const Expr &b) {
  return integer_op(Intrinsic::rounding_halving_add, a, b);
}
Expr rounding_shift_left(const Expr &a, const Expr &b) {
  return shift_op(Intrinsic::rounding_shift_left, a, b, false);
}
Expr rounding_shift_right(const Expr &a, const Expr &b) {
  return shift_op(Intrinsic::rounding_shift_right, a, b, false);
}

namespace {
Expr multiply_shift(Intrinsic op, const Expr &x, const Expr &y, const Expr &q) {
  Expr a = x, b = y;
  const Type t = match_integers(op, a, b);
  widened(op, t);
  need_defined(q, op);
  if (!q.type().is_uint() && !ir::is_const(q))
    wrong_type(op, q.type(), "an unsigned number of bits");
  Expr amount = ir::make_cast(t.element_of().with_code(Type::UInt), q);
  if (amount.type().lanes() < t.lanes()) amount = ir::make_broadcast(amount, t.lanes());
  return ir::make_intrinsic(t, op, {a, b, amount});
}
}  // namespace

Expr mul_shift_right(const Expr &a, const Expr &b, const Expr &q) {
  return multiply_shift(Intrinsic::mul_shift_right, a, b, q);
}
Expr mul_shift_right(const Expr &a, const Expr &b, int q) { return mul_shift_right(a, b, Expr(q)); }
Expr rounding_mul_shift_right(const Expr &a, const Expr &b, const Expr &q) {
  return multiply_shift(Intrinsic::rounding_mul_shift_right, a, b, q);
}
Expr rounding_mul_shift_right(const Expr &a, const Expr &b, int q) {
  return rounding_mul_shift_right(a, b, Expr(q));
}

namespace {
Expr count_op(Intrinsic op, const Expr &a) {
  need_defined(a, op);
  if (!a.type().is_int_or_uint()) wrong_type(op, a.type(), "integers");
  return ir::make_intrinsic(a.type(), op, {a});
}
}  // namespace

Expr popcount(const Expr &a) { return count_op(Intrinsic::popcount, a); }
Expr count_leading_zeros(const Expr &a) { return count_op(Intrinsic::count_leading_zeros, a); }
Expr count_trailing_zeros(const Expr &a) { return count_op(Intrinsic::count_trailing_zeros, a); }

// ---- floating point -----------------------------------------------------------------------------

#define CALO_FLOAT_FUNCTION(name) \
  Expr name(const Expr &x) { return float_op(Intrinsic::name, x); }
CALO_FLOAT_FUNCTIONS(CALO_FLOAT_FUNCTION)
#undef CALO_FLOAT_FUNCTION

Expr fract(const Expr &x) {
  const Expr v = as_float(Intrinsic::trunc, x);
  return v - trunc(v);
}
Expr atan2(const Expr &y, const Expr &x) { return float_op(Intrinsic::atan2, y, x); }
Expr hypot(const Expr &x, const Expr &y) { return float_op(Intrinsic::hypot, x, y); }
Expr fast_pow(const Expr &x, const Expr &y) { return float_op(Intrinsic::fast_pow, x, y); }
Expr fast_atan2(const Expr &y, const Expr &x) { return float_op(Intrinsic::fast_atan2, y, x); }

namespace {
constexpr int kLargestPower = 16;  // beyond, repeated rounding costs more accuracy than pow does

/// Whether y is a constant whole number of at most kLargestPower in size.
bool small_whole(const Expr &y, int *n) {
  double value = 0;
  if (const int64_t *i = ir::as_const_int(y)) {
    value = static_cast<double>(*i);
  } else if (const uint64_t *u = ir::as_const_uint(y)) {
    value = static_cast<double>(*u);
  } else if (const double *f = ir::as_const_float(y)) {
    value = *f;
  } else {
    return false;
  }
  if (value != std::floor(value) || std::fabs(value) > kLargestPower) return false;
  *n = static_cast<int>(value);
  return true;
}

Expr whole_power(const Expr &x, int n) {
  if (n == 0) return ir::make_one(x.type());
  if (n == 1) return x;
  const Expr half = whole_power(x, n / 2);
  return n % 2 ? half * half * x : half * half;
}
}  // namespace

Expr pow(const Expr &x, const Expr &y) {
  need_defined(x, Intrinsic::pow);
  need_defined(y, Intrinsic::pow);
  int n = 0;
  if (small_whole(y, &n)) {
    const Expr base = as_float(Intrinsic::pow, x);
    return n >= 0 ? whole_power(base, n) : ir::make_one(base.type()) / whole_power(base, -n);
  }
  return float_op(Intrinsic::pow, x, y);
}

Expr is_nan(const Expr &x) { return float_question(Intrinsic::is_nan, x); }
Expr is_inf(const Expr &x) { return float_question(Intrinsic::is_inf, x); }
Expr is_finite(const Expr &x) { return float_question(Intrinsic::is_finite, x); }

// ---- hints and effects --------------------------------------------------------------------------

Expr strict_float(const Expr &e) { return marker(Intrinsic::strict_float, e); }
Expr likely(const Expr &e) { return marker(Intrinsic::likely, e); }
Expr likely_if_innermost(const Expr &e) { return marker(Intrinsic::likely_if_innermost, e); }

namespace {
Expr promise(Intrinsic op, const Expr &e, const Expr &lo, const Expr &hi) {
  need_defined(e, op);
  const Type t = e.type();
  return ir::make_intrinsic(
      t, op, {e, lo.defined() ? cast(t, lo) : t.min(), hi.defined() ? cast(t, hi) : t.max()});
}
}  // namespace

Expr unsafe_promise_clamped(const Expr &e, const Expr &lo, const Expr &hi) {
  return promise(Intrinsic::unsafe_promise_clamped, e, lo, hi);
}
Expr promise_clamped(const Expr &e, const Expr &lo, const Expr &hi) {
  return promise(Intrinsic::promise_clamped, e, lo, hi);
}

Expr undef(Type t) { return ir::make_intrinsic(t, Intrinsic::undef, {}); }

namespace {
/// The coordinates are added when a definition takes the call up; "$random" becomes the call's number.
Expr random_call(Type t, const Expr &seed) {
  const Expr s = seed.defined() ? cast(Int(32), seed) : ir::make_var("$random");
  return ir::make_intrinsic(t, Intrinsic::random, {s});
}
}  // namespace

Expr random_float(const Expr &seed) { return random_call(Float(32), seed); }
Expr random_uint(const Expr &seed) { return random_call(UInt(32), seed); }
Expr random_int(const Expr &seed) { return random_call(Int(32), seed); }

namespace lang {

Expr print_list(const std::vector<Expr> &values) {
  for (const Expr &e : values) need_defined(e, Intrinsic::print);
  std::vector<Expr> args{values[0]};
  args.insert(args.end(), values.begin(), values.end());
  return ir::make_intrinsic(values[0].type(), Intrinsic::print, args);
}

Expr print_when_list(const Expr &condition, const std::vector<Expr> &values) {
  need_defined(condition, Intrinsic::print_when);
  for (const Expr &e : values) need_defined(e, Intrinsic::print_when);
  std::vector<Expr> args{condition, values[0]};
  args.insert(args.end(), values.begin(), values.end());
  return ir::make_intrinsic(values[0].type(), Intrinsic::print_when, args);
}

Expr require_list(const Expr &condition, const std::vector<Expr> &value_and_message) {
  need_defined(condition, Intrinsic::require);
  for (const Expr &e : value_and_message) need_defined(e, Intrinsic::require);
  if (!condition.type().is_bool()) wrong_type(Intrinsic::require, condition.type(), "a condition");
  const SrcLoc at = recent_position();
  constexpr size_t kMostText = 200;
  const bool printable = ir::tree_size(condition, 2000) < 2000;
  std::string text = printable ? ir::to_string(condition) : "a condition too long to print";
  text.erase(std::remove(text.begin(), text.end(), '@'),
             text.end());  // marks parameters in text IR
  if (text.size() > kMostText) text = text.substr(0, kMostText) + " ...";
  std::vector<Expr> args{condition, value_and_message[0],
                         ir::make_string(at.defined() ? to_string(at) : std::string()),
                         ir::make_string(text)};
  args.insert(args.end(), value_and_message.begin() + 1, value_and_message.end());
  return ir::make_intrinsic(value_and_message[0].type(), Intrinsic::require, args);
}

Expr memoize_tag_list(const Expr &e, const std::vector<Expr> &keys) {
  need_defined(e, Intrinsic::memoize_tag);
  std::vector<Expr> args{e};
  for (const Expr &k : keys) {
    need_defined(k, Intrinsic::memoize_tag);
    args.push_back(k);
  }
  return ir::make_intrinsic(e.type(), Intrinsic::memoize_tag, args);
}

}  // namespace lang

}  // namespace calotype
