// The language's rules of operand types, for expressions that people write.
#include "build.h"

#include <atomic>
#include <cmath>

#include "../base/diagnostic.h"

namespace calotype::ir {

namespace {

bool is_literal(const Expr &e) {
  if (const Broadcast *b = e.as<Broadcast>()) return is_literal(b->value);
  return e.as<IntImm>() || e.as<UIntImm>() || e.as<FloatImm>();
}

bool is_boolean_op(NodeKind op) { return op == NodeKind::And || op == NodeKind::Or; }

const char *spelling(NodeKind op) {
  switch (op) {
    case NodeKind::Add: return "+";
    case NodeKind::Sub: return "-";
    case NodeKind::Mul: return "*";
    case NodeKind::Div: return "/";
    case NodeKind::Mod: return "%";
    case NodeKind::Min: return "min";
    case NodeKind::Max: return "max";
    case NodeKind::EQ: return "==";
    case NodeKind::NE: return "!=";
    case NodeKind::LT: return "<";
    case NodeKind::LE: return "<=";
    case NodeKind::GT: return ">";
    case NodeKind::GE: return ">=";
    case NodeKind::And: return "&&";
    case NodeKind::Or: return "||";
    default: return "?";
  }
}

std::string describe(const Expr &a, const Expr &b) {
  return to_string(a.type()) + " and " + to_string(b.type());
}

/// Whether literal `e` has its exact value as a `t` (floats may round to a narrower float).
bool representable(Type t, const Expr &e) {
  const Expr scalar = e.as<Broadcast>() ? e.as<Broadcast>()->value : e;
  if (const IntImm *i = scalar.as<IntImm>()) {
    // A float literal that an integer adapts to may round: 16777217 beside a float32 is meant.
    return t.is_float() || t.can_represent(i->value);
  }
  if (const UIntImm *u = scalar.as<UIntImm>()) return t.is_float() || t.can_represent(u->value);
  if (const FloatImm *f = scalar.as<FloatImm>()) {
    if (t.is_float()) return true;
    return t.is_int_or_uint() && std::floor(f->value) == f->value && t.can_represent(f->value);
  }
  return false;
}

Expr convert_literal(Type t, const Expr &e) {
  const Expr scalar = e.as<Broadcast>() ? e.as<Broadcast>()->value : e;
  const Type element = t.element_of();
  Expr result;
  if (const FloatImm *f = scalar.as<FloatImm>()) {
    result = element.is_float() ? make_float(element, f->value) : make_const(element, f->value);
  } else if (const IntImm *i = scalar.as<IntImm>()) {
    result = element.is_float() ? make_float(element, static_cast<double>(i->value))
                                : make_int(element, i->value);
  } else {
    const uint64_t u = scalar.as<UIntImm>()->value;
    result =
        element.is_float() ? make_float(element, static_cast<double>(u)) : make_uint(element, u);
  }
  return e.type().lanes() > 1 ? make_broadcast(result, e.type().lanes()) : result;
}

/// The type both operands of an operation take when neither is a literal that adapts.
Type common_type(Type a, Type b) {
  if (a.is_float() != b.is_float()) return a.is_float() ? a : b;
  if (a.is_float()) {
    if (a.bits() != b.bits()) return a.bits() > b.bits() ? a : b;
    return Float(32);  // float16 beside bfloat16: neither holds the other
  }
  const int bits = a.bits() > b.bits() ? a.bits() : b.bits();
  return Type(a.is_uint() && b.is_uint() ? Type::UInt : Type::Int, bits);
}

void match_lanes(Expr &a, Expr &b, const char *op, SrcLoc loc) {
  const int la = a.type().lanes(), lb = b.type().lanes();
  if (la == lb) return;
  if (la == 1) {
    a = make_broadcast(a, lb);
  } else if (lb == 1) {
    b = make_broadcast(b, la);
  } else {
    raise(Diagnostic("L0102", loc,
                     std::string("operands of ") + op + " have different numbers of lanes")
              .because("their types are " + describe(a, b)));
  }
}

}  // namespace

void require_defined(const Expr &e, const char *what, SrcLoc loc) {
  if (e.defined()) return;
  raise(Diagnostic("L0101", loc, std::string("undefined expression used as ") + what)
            .because("an Expr that was declared but never given a value has no meaning")
            .fix("assign the Expr before it is used"));
}

void match_types(Expr &a, Expr &b, const char *op, SrcLoc loc) {
  const std::string operand = std::string("operand of ") + op;
  require_defined(a, operand.c_str(), loc);
  require_defined(b, operand.c_str(), loc);
  match_lanes(a, b, op, loc);
  if (a.type() == b.type()) return;
  if (a.type().is_handle() || b.type().is_handle()) {
    raise(Diagnostic("L0102", loc,
                     std::string("operands of ") + op + " have types that nothing converts")
              .because("their types are " + describe(a, b)));
  }
  if (is_literal(b) && !is_literal(a) && representable(a.type().element_of(), b)) {
    b = convert_literal(a.type(), b);
  } else if (is_literal(a) && !is_literal(b) && representable(b.type().element_of(), a)) {
    a = convert_literal(b.type(), a);
  } else {
    const Type t = common_type(a.type().element_of(), b.type().element_of());
    a = make_cast(t, a);
    b = make_cast(t, b);
  }
}

Expr build_binary(NodeKind op, Expr a, Expr b, SrcLoc loc) {
  const char *text = spelling(op);
  match_types(a, b, text, loc);
  const Type t = a.type();
  if (is_boolean_op(op) && !t.is_bool()) {
    raise(Diagnostic("L0103", loc, std::string(text) + " needs boolean operands")
              .because("their types are " + describe(a, b))
              .fix(std::string("compare them (x != 0), or use ") + text[0] + " for the bits"));
  }
  const bool compares = op >= NodeKind::EQ && op <= NodeKind::GE;
  if (t.is_handle() && !compares) {
    raise(Diagnostic("L0103", loc, std::string(text) + " is not defined for pointers and strings"));
  }
  return make_binary(op, std::move(a), std::move(b));
}

Expr lossless_constant(Type t, const Expr &e, SrcLoc loc) {
  require_defined(e, "a constant", loc);
  if (!is_literal(e) || t.is_handle() || !representable(t.element_of(), e)) {
    std::string text = "the value";
    if (const int64_t *i = as_const_int(e)) text = std::to_string(*i);
    if (const uint64_t *u = as_const_uint(e)) text = std::to_string(*u);
    if (const double *f = as_const_float(e)) text = std::to_string(*f);
    raise(Diagnostic("L0104", loc, text + " does not fit the type " + to_string(t.element_of()))
              .because("a C++ number takes the type of the expression beside it")
              .fix("cast the expression to a wider type first, e.g. cast<int32_t>(e)"));
  }
  return convert_literal(t, e);
}

Name unique_name(const std::string &prefix) {
  static std::atomic<uint64_t> counter{0};
  return Name(prefix + std::to_string(counter++));
}

}  // namespace calotype::ir
