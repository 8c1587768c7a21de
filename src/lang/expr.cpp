// Operators, casts and selection.
#include "expr.h"

#include <ostream>

#include "../base/diagnostic.h"
#include "../ir/build.h"
#include "../ir/nodes.h"
#include "internal.h"
#include "tuple.h"
#include "var.h"

namespace calotype {

using ir::Intrinsic;
using ir::NodeKind;

namespace lang {

namespace {
thread_local SrcLoc recent;

Expr bitwise(Intrinsic op, const char *text, Expr a, Expr b) {
  const SrcLoc at = recent_position();
  ir::match_types(a, b, text, at);
  if (!a.type().is_int_or_uint()) {
    raise(Diagnostic("L0103", at, std::string(text) + " is not defined for " + to_string(a.type()))
              .because("bit operations need integers or bools")
              .fix("reinterpret<uint32_t>(e) gives the bits of a float"));
  }
  return ir::make_intrinsic(a.type(), op, {a, b});
}

/// Shifts keep the left type; the amount may be signed or unsigned, of the same width.
Expr shift(Intrinsic op, const char *text, Expr a, Expr b) {
  const SrcLoc at = recent_position();
  const std::string operand = std::string("an operand of ") + text;
  ir::require_defined(a, operand.c_str(), at);
  ir::require_defined(b, operand.c_str(), at);
  if (!a.type().is_int_or_uint() || !b.type().is_int_or_uint()) {
    raise(Diagnostic("L0103", at, std::string(text) + " needs integers")
              .because("the types are " + to_string(a.type()) + " and " + to_string(b.type())));
  }
  if (a.type().lanes() == 1 && b.type().lanes() > 1) a = ir::make_broadcast(a, b.type().lanes());
  if (b.type().lanes() == 1 && a.type().lanes() > 1) b = ir::make_broadcast(b, a.type().lanes());
  b = ir::make_cast(a.type().with_code(b.type().code()), b);
  return ir::make_intrinsic(a.type(), op, {a, b});
}

Expr assign_op(Expr &a, const Expr &b, NodeKind op) {
  const Type t = a.type();
  a = binary(op, a, b);
  if (t.bits() && a.type() != t) a = ir::make_cast(t, a);
  return a;
}
}  // namespace

SrcLoc recent_position() { return recent; }
void note_position(SrcLoc at) {
  if (at.defined()) recent = at;
}

Expr binary(NodeKind op, const Expr &a, const Expr &b) {
  return ir::build_binary(op, a, b, recent_position());
}

Expr literal(const Expr &other, const Expr &constant) {
  const Type t = other.type();
  if (!other.defined() || !t.is_int_or_uint() || constant.type().is_float()) return constant;
  if (constant.type().is_bool() != t.is_bool()) return constant;  // mixing with bool: as Exprs do
  return ir::lossless_constant(t, constant, recent_position());
}

Expr shift_left(const Expr &a, const Expr &b) { return shift(Intrinsic::shift_left, "<<", a, b); }
Expr shift_right(const Expr &a, const Expr &b) { return shift(Intrinsic::shift_right, ">>", a, b); }
Expr bit_and(const Expr &a, const Expr &b) { return bitwise(Intrinsic::bitwise_and, "&", a, b); }
Expr bit_or(const Expr &a, const Expr &b) { return bitwise(Intrinsic::bitwise_or, "|", a, b); }
Expr bit_xor(const Expr &a, const Expr &b) { return bitwise(Intrinsic::bitwise_xor, "^", a, b); }

Expr select_list(const std::vector<Expr> &list) {
  if (list.size() % 2 == 0) {
    raise(Diagnostic("L0105", recent_position(), "select has a condition without a value behind it")
              .because("select takes condition, value, condition, value, ..., value otherwise")
              .fix("give a last value for when no condition holds"));
  }
  Expr result = list.back();
  for (size_t i = list.size() - 1; i >= 2; i -= 2)
    result = select(list[i - 2], list[i - 1], result);
  return result;
}

}  // namespace lang

Expr operator-(const Expr &a) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(a, "the operand of -", at);
  if (const int64_t *i = ir::as_const_int(a)) {
    if (a.type().is_scalar())
      return ir::make_int(a.type(), static_cast<int64_t>(0 - static_cast<uint64_t>(*i)));
  }
  if (a.type().is_float()) {  // 0 - x would lose the sign of zero
    if (const double *f = ir::as_const_float(a)) {
      if (a.type().is_scalar()) return ir::make_float(a.type(), -*f);
    }
    return lang::binary(NodeKind::Mul, a, ir::make_float(a.type(), -1));
  }
  return lang::binary(NodeKind::Sub, ir::make_zero(a.type()), a);
}

Expr operator~(const Expr &a) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(a, "the operand of ~", at);
  if (!a.type().is_int_or_uint()) {
    raise(Diagnostic("L0103", at, "~ is not defined for " + to_string(a.type())));
  }
  return ir::make_intrinsic(a.type(), Intrinsic::bitwise_not, {a});
}

Expr operator!(const Expr &a) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(a, "the operand of !", at);
  if (!a.type().is_bool()) {
    raise(Diagnostic("L0103", at, "! needs a boolean operand, not " + to_string(a.type()))
              .fix("compare it: x == 0"));
  }
  return ir::make_not(a);
}

Expr &operator+=(Expr &a, const Expr &b) { return lang::assign_op(a, b, NodeKind::Add), a; }
Expr &operator-=(Expr &a, const Expr &b) { return lang::assign_op(a, b, NodeKind::Sub), a; }
Expr &operator*=(Expr &a, const Expr &b) { return lang::assign_op(a, b, NodeKind::Mul), a; }
Expr &operator/=(Expr &a, const Expr &b) { return lang::assign_op(a, b, NodeKind::Div), a; }

std::ostream &operator<<(std::ostream &o, const Type &t) { return o << to_string(t); }

// ---- casts --------------------------------------------------------------------------------------

Expr cast(Type t, const Expr &e) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(e, "the operand of cast", at);
  if (t.bits() == 0) raise(Diagnostic("L0103", at, "cast to an undefined type"));
  if (t.lanes() > 1 && e.type().lanes() == 1)
    return ir::make_broadcast(cast(t.element_of(), e), t.lanes());
  if (t.is_handle() != e.type().is_handle()) {
    if (t.bits() == 64 && e.type().bits() == 64) return ir::make_reinterpret(t, e);
    raise(Diagnostic("L0103", at, "no cast from " + to_string(e.type()) + " to " + to_string(t)));
  }
  return ir::make_cast(t, e);
}

Expr reinterpret(Type t, const Expr &e) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(e, "the operand of reinterpret", at);
  if (t == e.type()) return e;
  if (t.bits() * t.lanes() != e.type().bits() * e.type().lanes()) {
    raise(Diagnostic("L0103", at, "reinterpret from " + to_string(e.type()) + " to " + to_string(t))
              .because("the types have different numbers of bits"));
  }
  return ir::make_reinterpret(t, e);
}

Expr saturating_cast(Type t, const Expr &e) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(e, "the operand of saturating_cast", at);
  t = t.with_lanes(e.type().lanes());
  if (t == e.type() || t.can_represent(e.type())) return ir::make_cast(t, e);
  return ir::make_intrinsic(t, Intrinsic::saturating_cast, {e});
}

// ---- selection ----------------------------------------------------------------------------------

Expr min(const Expr &a, const Expr &b) { return lang::binary(NodeKind::Min, a, b); }
Expr max(const Expr &a, const Expr &b) { return lang::binary(NodeKind::Max, a, b); }

Expr clamp(const Expr &e, const Expr &lo, const Expr &hi) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(e, "the value of clamp", at);
  ir::require_defined(lo, "the lower end of clamp", at);
  ir::require_defined(hi, "the upper end of clamp", at);
  const Expr l = ir::is_const(lo) ? lang::literal(e, lo) : lo;
  const Expr h = ir::is_const(hi) ? lang::literal(e, hi) : hi;
  return ir::make_max(cast(e.type(), l), ir::make_min(cast(e.type(), h), e));
}

Expr select(const Expr &condition, const Expr &t, const Expr &f) {
  const SrcLoc at = lang::recent_position();
  ir::require_defined(condition, "the condition of select", at);
  Expr a = t, b = f;
  ir::match_types(a, b, "select", at);
  if (!condition.type().is_bool()) {
    raise(Diagnostic("L0103", at,
                     "the condition of select is " + to_string(condition.type()) + ", not bool")
              .fix("compare it: x != 0"));
  }
  const int lanes = condition.type().lanes();
  if (lanes > 1 && a.type().lanes() == 1) {
    a = ir::make_broadcast(a, lanes);
    b = ir::make_broadcast(b, lanes);
  }
  return ir::make_select(condition, a, b);
}

Expr select(const Expr &condition, const FuncRef &t, const FuncRef &f) {
  return select(condition, Expr(t), Expr(f));
}

namespace {
void need_same_size(size_t a, size_t b, const char *what) {
  if (a == b) return;
  raise(Diagnostic("L0208", lang::recent_position(),
                   std::string(what) + " of Tuples of " + std::to_string(a) + " and " +
                       std::to_string(b) + " elements"));
}
}  // namespace

Tuple select(const Expr &condition, const Tuple &t, const Tuple &f) {
  need_same_size(t.size(), f.size(), "select");
  std::vector<Expr> values;
  for (size_t i = 0; i < t.size(); i++) values.push_back(select(condition, t[i], f[i]));
  return Tuple(values);
}

Tuple select(const Tuple &condition, const Tuple &t, const Tuple &f) {
  need_same_size(condition.size(), t.size(), "select");
  need_same_size(t.size(), f.size(), "select");
  std::vector<Expr> values;
  for (size_t i = 0; i < t.size(); i++) values.push_back(select(condition[i], t[i], f[i]));
  return Tuple(values);
}

Expr mux(const Expr &index, const std::vector<Expr> &values) {
  if (values.empty()) raise(Diagnostic("L0105", lang::recent_position(), "mux of no values"));
  Expr result = values.back();
  for (size_t i = values.size() - 1; i > 0; i--) {
    result = select(index == static_cast<int>(i - 1), values[i - 1], result);
  }
  return result;
}

Expr mux(const Expr &index, std::initializer_list<Expr> values) {
  return mux(index, std::vector<Expr>(values));
}

Tuple mux(const Expr &index, const std::vector<Tuple> &values) {
  if (values.empty()) raise(Diagnostic("L0105", lang::recent_position(), "mux of no values"));
  Tuple result = values.back();
  for (size_t i = values.size() - 1; i > 0; i--) {
    result = select(index == static_cast<int>(i - 1), values[i - 1], result);
  }
  return result;
}

Expr mux(const Expr &index, const Tuple &values) { return mux(index, values.as_vector()); }

// ---- Tuple --------------------------------------------------------------------------------------

Tuple::Tuple(const std::vector<Expr> &e) : exprs_(e) {
  if (e.empty()) raise(Diagnostic("L0208", lang::recent_position(), "a Tuple needs an element"));
}

Expr &Tuple::operator[](size_t i) {
  if (i >= exprs_.size()) {
    raise(Diagnostic(
        "L0212", lang::recent_position(),
        "element " + std::to_string(i) + " of a Tuple of " + std::to_string(exprs_.size())));
  }
  return exprs_[i];
}

const Expr &Tuple::operator[](size_t i) const { return const_cast<Tuple &>(*this)[i]; }

}  // namespace calotype
