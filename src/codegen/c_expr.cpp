// Expressions of the CEmitter: see c_emit.h.
#include "../base/diagnostic.h"
#include "c_emit.h"
#include "c_header.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace calotype::codegen {

using ir::Intrinsic;
using ir::NodeKind;

namespace {

[[noreturn]] void no_c_for(const std::string &what) {
  raise(Diagnostic("T0103", {}, "no C source for " + what).fix("-e object has code for it"));
}

/// "i32", "u8", "f64", "b1": the suffix of helpers and vector types.
std::string suffix(Type t) {
  if (t.is_bool()) return "b1";
  if (t.is_handle()) return "h64";
  if (t.is_float() && t.bits() == 16) no_c_for("16-bit floats");
  return (t.is_float() ? "f" : t.is_uint() ? "u" : "i") + std::to_string(t.bits());
}

std::string scalar_type(Type t) {
  suffix(t);  // refuses
  return c_type(t.element_of());
}

/// The unsigned type in which arithmetic of `t` is carried out: at least 32 bits, or C would promote to int.
std::string arithmetic_type(Type t) { return t.bits() == 64 ? "uint64_t" : "uint32_t"; }

std::string unsigned_type(Type t) { return "uint" + std::to_string(t.bits()) + "_t"; }

std::pair<Expr, Expr> operands(const Expr &e) {
  switch (e.kind()) {
#define BINARY_NODE(K) \
  case NodeKind::K: return {e.as<ir::K>()->a, e.as<ir::K>()->b};
#include "../ir/binary_nodes.def"
#undef BINARY_NODE
    default: no_c_for("this kind of expression");
  }
}

}  // namespace

// ---- types and literals -------------------------------------------------------------------------------------------

std::string CEmitter::type_name(Type t) {
  if (t.is_scalar()) return scalar_type(t);
  vectors_.insert(t);
  return "calo_" + suffix(t) + "x" + std::to_string(t.lanes());
}

std::string CEmitter::memory_type(Type t) { return "calo_m_" + suffix(t.element_of()); }

std::string CEmitter::literal_text(Type t, int64_t i) const {
  if (t.is_bool()) return i ? "true" : "false";
  if (t.is_handle()) return i == 0 ? "NULL" : "(void *)" + std::to_string(i) + "LL";
  if (t.is_uint()) {
    char text[32];
    std::snprintf(text, sizeof text, "%" PRIu64 "%s", static_cast<uint64_t>(i),
                  t.bits() == 64 ? "ULL" : "u");
    return "((" + scalar_type(t) + ")" + text + ")";
  }
  if (i == INT64_MIN) return "(-INT64_MAX - 1)";
  if (t.bits() == 32 && i > INT32_MIN)
    return i < 0 ? "(" + std::to_string(i) + ")" : std::to_string(i);
  return "((" + scalar_type(t) + ")" + std::to_string(i) + "LL)";
}

CEmitter::Value CEmitter::literal(const Expr &e) {
  const Type t = e.type();
  if (const auto *i = e.as<ir::IntImm>()) return {literal_text(t, i->value), t};
  if (const auto *u = e.as<ir::UIntImm>()) {
    return {literal_text(t, static_cast<int64_t>(u->value)), t};
  }
  if (const auto *s = e.as<ir::StringImm>()) return {string_text(s->value), Handle()};
  const double d = e.as<ir::FloatImm>()->value;
  char text[64];
  if (t.bits() == 64) {
    uint64_t bits;
    std::memcpy(&bits, &d, sizeof bits);
    std::snprintf(text, sizeof text, "calo_double(0x%" PRIx64 "ULL)", bits);
    if (d - d == 0) std::snprintf(text, sizeof text, "(%a)", d);
  } else {
    suffix(t);
    const auto single = static_cast<float>(d);
    uint32_t bits;
    std::memcpy(&bits, &single, sizeof bits);
    std::snprintf(text, sizeof text, "calo_float(0x%xu)", bits);
    if (d - d == 0) std::snprintf(text, sizeof text, "(%af)", static_cast<double>(single));
  }
  return {text, t};
}

std::string CEmitter::string_text(const std::string &s) {
  std::string text = "\"";
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += std::string("\\") + c;
    } else if (u < 32 || u > 126 || c == '?') {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", u);
      text += octal;
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string CEmitter::lane(const Value &v, const std::string &i) {
  return v.type.is_scalar() ? v.text : v.text + ".v[" + (i.empty() ? "0" : i) + "]";
}

// ---- dispatch -----------------------------------------------------------------------------------------------------

CEmitter::Value CEmitter::expr(const Expr &e) {
  if (e.kind() <= NodeKind::StringImm) return literal(e);
  if (const auto *v = e.as<ir::Variable>()) return variable(v);
  const auto it = cache_.narrow.find(e.get());
  if (it != cache_.narrow.end()) return it->second.second;
  const Value v = compute(e);
  const auto *c = e.as<ir::Call>();
  const bool effect =
      c && (c->call_type == ir::CallType::Extern || c->call_type == ir::CallType::Intrinsic);
  if (!effect && cache_.narrow.insert({e.get(), {e, v}}).second) cache_.log.push_back(e.get());
  return v;
}

CEmitter::Value CEmitter::variable(const ir::Variable *op) {
  const Symbol *s = symbols_.find(op->name);
  CALO_ASSERT(s != nullptr, "variable " + op->name.str() + " is not defined where it is used");
  return {s->wide ? "(int32_t)" + s->text : s->text, op->type};
}

CEmitter::Value CEmitter::compute(const Expr &e) {
  const Type t = e.type();
  switch (e.kind()) {
    case NodeKind::Cast: {
      const Value v = expr(e.as<ir::Cast>()->value);
      if (t == v.type) return v;
      return lanes(t, [&](const std::string &i) { return cast_text(t, v.type, lane(v, i)); });
    }
    case NodeKind::Reinterpret: return reinterpret(e.as<ir::Reinterpret>());
    case NodeKind::Not: {
      const Value v = expr(e.as<ir::Not>()->a);
      return lanes(t, [&](const std::string &i) { return "!" + lane(v, i); });
    }
    case NodeKind::Select: {
      const auto *op = e.as<ir::Select>();
      const Value c = expr(op->condition), a = expr(op->true_value), b = expr(op->false_value);
      return lanes(t, [&](const std::string &i) {
        return lane(c, i) + " ? " + lane(a, i) + " : " + lane(b, i);
      });
    }
    case NodeKind::Load: return load(e.as<ir::Load>());
    case NodeKind::Ramp: {
      const auto *op = e.as<ir::Ramp>();
      const Value base = expr(op->base), stride = expr(op->stride);
      const int inner = op->base.type().lanes();
      return lanes(t, [&](const std::string &i) {
        const std::string n = std::to_string(inner);
        const std::string k = inner == 1 ? i : i + " % " + n,
                          step = inner == 1 ? i : "(" + i + " / " + n + ")";
        const std::string times = binary_text(NodeKind::Mul, t.element_of(), lane(stride, k),
                                              "(" + scalar_type(t) + ")" + step);
        return binary_text(NodeKind::Add, t.element_of(), lane(base, k), times);
      });
    }
    case NodeKind::Broadcast: {
      const auto *op = e.as<ir::Broadcast>();
      const Value v = expr(op->value);
      const std::string inner = std::to_string(v.type.lanes());
      return lanes(t, [&](const std::string &i) { return lane(v, i + " % " + inner); });
    }
    case NodeKind::Call: return call(e.as<ir::Call>());
    case NodeKind::Let: return let(e.as<ir::Let>());
    case NodeKind::Shuffle: return shuffle(e.as<ir::Shuffle>());
    case NodeKind::VectorReduce: return reduce(e.as<ir::VectorReduce>());
    default: break;
  }
  const auto [a_expr, b_expr] = operands(e);
  const Value a = expr(a_expr), b = expr(b_expr);
  const Type operand = a.type.element_of();
  return lanes(t, [&](const std::string &i) {
    return binary_text(e.kind(), operand, lane(a, i), lane(b, i));
  });
}

// ---- arithmetic ---------------------------------------------------------------------------------------------------

std::string CEmitter::binary_text(NodeKind op, Type t, const std::string &a, const std::string &b) {
  const auto infix = [&](const char *sign) { return "(" + a + " " + sign + " " + b + ")"; };
  switch (op) {
    case NodeKind::EQ: return infix("==");
    case NodeKind::NE: return infix("!=");
    case NodeKind::LT: return infix("<");
    case NodeKind::LE: return infix("<=");
    case NodeKind::GT: return infix(">");
    case NodeKind::GE: return infix(">=");
    case NodeKind::And: return infix("&");
    case NodeKind::Or: return infix("|");
    default: break;
  }
  if (t.is_bool()) {
    switch (op) {
      case NodeKind::Add:
      case NodeKind::Sub: return infix("^");
      case NodeKind::Mod: return "false";
      case NodeKind::Max: return infix("|");
      default: return infix("&");
    }
  }
  const std::string less = "(" + a + " < " + b + " ? " + a + " : " + b + ")";
  const std::string more = "(" + a + " > " + b + " ? " + a + " : " + b + ")";
  if (op == NodeKind::Min) return less;
  if (op == NodeKind::Max) return more;
  if (t.is_float()) {
    const std::string floor = t.bits() == 64 ? "__builtin_floor" : "__builtin_floorf";
    switch (op) {
      case NodeKind::Add: return infix("+");
      case NodeKind::Sub: return infix("-");
      case NodeKind::Mul: return infix("*");
      case NodeKind::Div: return infix("/");
      default: return "(" + a + " - " + b + " * " + floor + "(" + a + " / " + b + "))";
    }
  }
  const char *sign = op == NodeKind::Add   ? " + "
                     : op == NodeKind::Sub ? " - "
                     : op == NodeKind::Mul ? " * "
                                           : nullptr;
  if (!sign) {
    return std::string(op == NodeKind::Div ? "calo_div_" : "calo_mod_") + suffix(t) + "(" + a +
           ", " + b + ")";
  }
  const std::string u = arithmetic_type(t);
  return "(" + scalar_type(t) + ")((" + u + ")" + a + sign + "(" + u + ")" + b + ")";
}

std::string CEmitter::cast_text(Type to, Type from, const std::string &v) {
  to = to.element_of();
  from = from.element_of();
  if (to == from) return v;
  if (to.is_handle()) return "(void *)(uintptr_t)" + v;
  if (from.is_handle()) return "(" + scalar_type(to) + ")(uintptr_t)" + v;
  if (to.is_bool()) return "(" + v + " != 0)";
  if (from.is_float() && !to.is_float()) {
    return "calo_" + suffix(from) + "_to_" + suffix(to) + "(" + v + ")";
  }
  return "(" + scalar_type(to) + ")" + v;
}

CEmitter::Value CEmitter::reinterpret(const ir::Reinterpret *op) {
  const Value v = expr(op->value);
  const Type t = op->type;
  if (t == v.type) return v;
  if (t.is_handle() || v.type.is_handle()) {
    return lanes(t, [&](const std::string &i) { return cast_text(t, v.type, lane(v, i)); });
  }
  if (t.is_bool() || v.type.is_bool()) no_c_for("a reinterpretation of bools");
  const std::string from = fresh("t"), name = fresh("t");
  line(type_name(v.type) + " " + from + " = " + v.text + "; " + type_name(t) + " " + name +
       "; memcpy(&" + name + ", &" + from + ", sizeof " + name + ");");
  return {name, t};
}

std::string CEmitter::core_text(const ir::Call *op, const std::vector<std::string> &a) {
  const Type t = op->args[0].type().element_of(), result = op->type.element_of();
  const std::string f = t.bits() == 64 ? "" : "f";
  const std::string r = "(" + scalar_type(result) + ")";
  const auto infix = [&](const char *sign) {
    return r + "(" + a[0] + " " + sign + " " + a[1] + ")";
  };
  const auto helper = [&](const char *name) {
    return std::string(name) + suffix(t) + "(" + a[0] + ", " + a[1] + ")";
  };
  const auto amount = [&] {
    const bool is_signed = op->args[1].type().is_int();
    return std::string(is_signed ? "calo_amount_s" : "calo_amount_u") + "(" + a[1] + ")";
  };
  const auto rounding = [&](const char *name) {
    return t.is_float() ? std::string("__builtin_") + name + f + "(" + a[0] + ")" : a[0];
  };
  const std::string u = unsigned_type(t), bits = std::to_string(t.bits());
  switch (op->op) {
    case Intrinsic::bitwise_and: return infix("&");
    case Intrinsic::bitwise_or: return infix("|");
    case Intrinsic::bitwise_xor: return infix("^");
    case Intrinsic::bitwise_not: return t.is_bool() ? "!" + a[0] : r + "~" + a[0];
    case Intrinsic::shift_left: return "calo_shl_" + suffix(t) + "(" + a[0] + ", " + amount() + ")";
    case Intrinsic::shift_right:
      return "calo_shr_" + suffix(t) + "(" + a[0] + ", " + amount() + ")";
    case Intrinsic::abs:
      if (t.is_float()) return "__builtin_fabs" + f + "(" + a[0] + ")";
      if (t.is_uint()) return a[0];
      return "(" + u + ")(" + a[0] + " < 0 ? (" + u + ")0 - (" + u + ")" + a[0] + " : (" + u + ")" +
             a[0] + ")";
    case Intrinsic::absd:
      if (t.is_float()) return "__builtin_fabs" + f + "(" + a[0] + " - " + a[1] + ")";
      return "(" + u + ")(" + a[0] + " > " + a[1] + " ? (" + u + ")" + a[0] + " - (" + u + ")" +
             a[1] + " : (" + u + ")" + a[1] + " - (" + u + ")" + a[0] + ")";
    case Intrinsic::fma:
      if (!target_.fuses_multiply_add()) return "(" + a[0] + " * " + a[1] + " + " + a[2] + ")";
      return "__builtin_fma" + f + "(" + a[0] + ", " + a[1] + ", " + a[2] + ")";
    case Intrinsic::sqrt: return "__builtin_sqrt" + f + "(" + a[0] + ")";
    case Intrinsic::floor: return rounding("floor");
    case Intrinsic::ceil: return rounding("ceil");
    case Intrinsic::trunc: return rounding("trunc");
    case Intrinsic::round: return rounding("rint");  // the default mode is to nearest, ties to even
    case Intrinsic::popcount: return r + "__builtin_popcountll((uint64_t)(" + u + ")" + a[0] + ")";
    case Intrinsic::count_leading_zeros:
      return r + "(" + a[0] + " ? __builtin_clzll((uint64_t)(" + u + ")" + a[0] + ") - (64 - " +
             bits + ") : " + bits + ")";
    case Intrinsic::count_trailing_zeros:
      return r + "(" + a[0] + " ? __builtin_ctzll((uint64_t)(" + u + ")" + a[0] + ") : " + bits +
             ")";
    case Intrinsic::saturating_add:
      return t.is_float() ? "(" + a[0] + " + " + a[1] + ")" : helper("calo_addsat_");
    case Intrinsic::saturating_sub:
      return t.is_float() ? "(" + a[0] + " - " + a[1] + ")" : helper("calo_subsat_");
    case Intrinsic::bool_to_mask:
      return t.is_bool() ? r + "(" + a[0] + " ? -1 : 0)" : cast_text(result, t, a[0]);
    default: break;
  }
  no_c_for(std::string("the operation ") + ir::intrinsic_name(op->op));
}

// ---- indices ------------------------------------------------------------------------------------------------------

bool CEmitter::carries_wide(const Expr &e) const {
  if (e.type().element_of() != Int(32)) return false;
  switch (e.kind()) {
    case NodeKind::IntImm:
    case NodeKind::Variable:
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::Min:
    case NodeKind::Max: return true;
    default: return false;
  }
}

CEmitter::Value CEmitter::wide(const Expr &e) {
  const auto it = cache_.wide.find(e.get());
  if (it != cache_.wide.end()) return it->second.second;
  const Value v = compute_wide(e);
  if (cache_.wide.insert({e.get(), {e, v}}).second) cache_.log.push_back(e.get());
  return v;
}

CEmitter::Value CEmitter::compute_wide(const Expr &e) {
  const Type t = Int(64, e.type().lanes());
  if (const auto *i = e.as<ir::IntImm>()) return {literal_text(Int(64), i->value), t};
  if (const auto *v = e.as<ir::Variable>()) {
    const Symbol *s = symbols_.find(v->name);
    if (s && s->wide) return {s->text, t};
  }
  if (const auto *c = e.as<ir::Call>()) {
    const bool marker =
        (c->call_type == ir::CallType::Intrinsic || c->call_type == ir::CallType::PureIntrinsic) &&
        ir::intrinsic_class(c->op) == ir::IntrinsicClass::Marker;
    if (marker) return wide(c->args[0]);
  }
  if (e.type().element_of() == Int(32)) {
    if (const auto *op = e.as<ir::Ramp>()) {
      const Value base = wide(op->base), stride = wide(op->stride);
      const std::string n = std::to_string(op->base.type().lanes());
      return lanes(t, [&](const std::string &i) {
        return lane(base, i + " % " + n) + " + " + lane(stride, i + " % " + n) + " * (" + i +
               " / " + n + ")";
      });
    }
    if (const auto *op = e.as<ir::Broadcast>()) {
      const Value v = wide(op->value);
      const std::string n = std::to_string(op->value.type().lanes());
      return lanes(t, [&](const std::string &i) { return lane(v, i + " % " + n); });
    }
    if (carries_wide(e) && e.kind() != NodeKind::Variable) {
      const auto [a_expr, b_expr] = operands(e);
      const Value a = wide(a_expr), b = wide(b_expr);
      return lanes(t, [&](const std::string &i) {
        return binary_text(e.kind(), Int(64), lane(a, i), lane(b, i));
      });
    }
  }
  const Value v = expr(e);
  return lanes(t, [&](const std::string &i) { return "(int64_t)" + lane(v, i); });
}

CEmitter::Value CEmitter::let(const ir::Let *op) {
  bind(op->name, op->value);
  const CacheScope scope(*this, false);  // what mentions the name means nothing outside
  const Value v = expr(op->body);
  symbols_.pop(op->name);
  return v;
}

// ---- memory and lanes ---------------------------------------------------------------------------------------------

CEmitter::Value CEmitter::load(const ir::Load *op) {
  const Symbol *memory = symbols_.find(op->name);
  CALO_ASSERT(memory != nullptr, "memory " + op->name.str() + " is not defined where it is used");
  const Type t = op->type;
  std::string mask;
  if (op->predicate.defined() && !ir::is_const_one(op->predicate)) {
    mask = expr(op->predicate).text +
           (t.is_vector() && op->predicate.type().is_vector() ? ".v[i]" : "");
  }
  if (!mask_.empty()) {
    std::string enclosing = mask_ + ".v[i]";
    if (mask_lanes_ != t.lanes()) {
      enclosing = fresh("any");
      line("bool " + enclosing + " = false; for (int i = 0; i < " + std::to_string(mask_lanes_) +
           "; i++) " + enclosing + " |= " + mask_ + ".v[i];");
    }
    mask = mask.empty() ? enclosing : "(" + mask + " & " + enclosing + ")";
  }
  const Value at = wide(op->index);
  return lanes(t, [&](const std::string &i) {
    std::string v = "((const " + memory_type(t) + " *)" + memory->text + ")[" + lane(at, i) + "]";
    if (t.is_bool()) v = "(" + v + " != 0)";
    return mask.empty() ? v : "!" + mask + " ? 0 : " + v;
  });
}

CEmitter::Value CEmitter::shuffle(const ir::Shuffle *op) {
  std::vector<std::string> all;
  for (const Expr &e : op->vectors) {
    const Value v = expr(e);
    for (int i = 0; i < v.type.lanes(); i++) all.push_back(lane(v, std::to_string(i)));
  }
  const std::string name = fresh("t");
  if (op->type.is_scalar()) {
    line(type_name(op->type) + " " + name + " = " + all[static_cast<size_t>(op->indices[0])] + ";");
    return {name, op->type};
  }
  std::string text = type_name(op->type) + " " + name + ";";
  for (size_t i = 0; i < op->indices.size(); i++) {
    const int from = op->indices[i];
    text += " " + name + ".v[" + std::to_string(i) +
            "] = " + (from < 0 ? "0" : all[static_cast<size_t>(from)]) + ";";
  }
  line(text);
  return {name, op->type};
}

// Floats and saturating sums fold from the first lane to the last; the order of the others does not show.
CEmitter::Value CEmitter::reduce(const ir::VectorReduce *op) {
  const Value v = expr(op->value);
  const Type t = op->type, part = t.element_of();
  const int group = v.type.lanes() / t.lanes();
  const auto fold = [&](const std::string &a, const std::string &b) {
    switch (op->op) {
      case ir::ReduceOp::Add: return binary_text(NodeKind::Add, part, a, b);
      case ir::ReduceOp::Mul: return binary_text(NodeKind::Mul, part, a, b);
      case ir::ReduceOp::Min: return binary_text(NodeKind::Min, part, a, b);
      case ir::ReduceOp::Max: return binary_text(NodeKind::Max, part, a, b);
      case ir::ReduceOp::And: return "(" + scalar_type(part) + ")(" + a + " & " + b + ")";
      case ir::ReduceOp::Or: return "(" + scalar_type(part) + ")(" + a + " | " + b + ")";
      default: break;
    }
    return part.is_float() ? "(" + a + " + " + b + ")"
                           : "calo_addsat_" + suffix(part) + "(" + a + ", " + b + ")";
  };
  if (group == 1) return v;
  const std::string name = fresh("t"), n = std::to_string(group);
  line(type_name(t) + " " + name + ";");
  const std::string at = t.is_scalar() ? name : name + ".v[g]";
  open("for (int g = 0; g < " + std::to_string(t.lanes()) + "; g++) {");
  line(scalar_type(part) + " sum = " + v.text + ".v[g * " + n + "];");
  line("for (int k = 1; k < " + n +
       "; k++) sum = " + fold("sum", v.text + ".v[g * " + n + " + k]") + ";");
  line(at + " = sum;");
  close();
  return {name, t};
}

// ---- calls --------------------------------------------------------------------------------------------------------

CEmitter::Value CEmitter::call(const ir::Call *op) {
  if (op->call_type == ir::CallType::Extern || op->call_type == ir::CallType::PureExtern) {
    return extern_call(op);
  }
  switch (ir::intrinsic_class(op->op)) {
    case ir::IntrinsicClass::Marker: return expr(op->args[0]);
    case ir::IntrinsicClass::Buffer: return buffer_field(op);
    default: break;
  }
  const Value nothing{op->type.is_scalar() ? "0" : "", op->type};
  switch (op->op) {
    case Intrinsic::if_then_else: return guarded(op);
    case Intrinsic::return_second: expr(op->args[0]); return expr(op->args[1]);
    case Intrinsic::undef:
      return lanes(op->type, [&](const std::string &) { return std::string("0"); });
    case Intrinsic::buffer_set_bounds:
    case Intrinsic::buffer_set_type: set_buffer(op); return nothing;
    case Intrinsic::error: leave(error_call(op)); return nothing;
    case Intrinsic::prefetch: {
      const int64_t size = ((*ir::as_const_int(op->args[2]) >> 8 & 0xff) + 7) / 8;
      const std::string memory = symbols_.find(op->args[0].as<ir::Variable>()->name)->text;
      line("__builtin_prefetch((const void *)((uintptr_t)" + memory + " + (uintptr_t)(" +
           wide(op->args[1]).text + " * " + std::to_string(size) + ")));");
      return nothing;
    }
    default: break;
  }
  if (ir::intrinsic_class(op->op) != ir::IntrinsicClass::Core) {
    no_c_for(std::string("the operation ") + ir::intrinsic_name(op->op));
  }
  std::vector<Value> args;
  for (const Expr &a : op->args) args.push_back(expr(a));
  return lanes(op->type, [&](const std::string &i) {
    std::vector<std::string> texts;
    for (const Value &a : args) texts.push_back(lane(a, i));
    return core_text(op, texts);
  });
}

CEmitter::Value CEmitter::extern_call(const ir::Call *op) {
  const ExternFunction *f = find_extern(op->name.str());
  if (!f) no_c_for("a call of the C function " + op->name.str());
  std::vector<std::string> args;
  for (size_t i = 0; i < op->args.size(); i++) {
    const Expr &a = op->args[i];
    const bool null = f->params[i].is_handle() && ir::is_const_zero(a);
    args.push_back(null ? "NULL" : cast_text(f->params[i], a.type(), expr(a).text));
  }
  const std::string text = call_text(*f, args);
  if (f->result.bits() == 0) {
    line(text + ";");
    return {"0", op->type};
  }
  return lanes(op->type, [&](const std::string &) { return cast_text(op->type, f->result, text); });
}

// if_then_else(c, a, b): only the chosen side runs. For a vector condition the loads of each side read only the lanes
// that chose it.
CEmitter::Value CEmitter::guarded(const ir::Call *op) {
  const Value c = expr(op->args[0]);
  const Type t = op->type;
  if (c.type.is_scalar()) {
    const std::string name = fresh("t");
    line(type_name(t) + " " + name + "; memset(&" + name + ", 0, sizeof " + name + ");");
    for (size_t side = 1; side < op->args.size(); side++) {
      open(side == 1 ? "if (" + c.text + ") {" : "else {");
      const CacheScope scope(*this, false);
      line(name + " = " + expr(op->args[side]).text + ";");
      close();
    }
    return {name, t};
  }
  std::vector<Value> sides;
  for (size_t side = 1; side < op->args.size(); side++) {
    const std::string outer = mask_;
    const int outer_lanes = mask_lanes_;
    const Value mask = lanes(Bool(c.type.lanes()), [&](const std::string &i) {
      const std::string own = (side == 1 ? "" : "!") + lane(c, i);
      return outer.empty() || outer_lanes != c.type.lanes() ? own : own + " & " + outer + ".v[i]";
    });
    mask_ = mask.text;
    mask_lanes_ = c.type.lanes();
    const CacheScope scope(*this, true);  // loads known were made without the mask, or with another
    sides.push_back(expr(op->args[side]));
    mask_ = outer;
    mask_lanes_ = outer_lanes;
  }
  return lanes(t, [&](const std::string &i) {
    return lane(c, i) + " ? " + lane(sides[0], i) + " : " +
           (sides.size() > 1 ? lane(sides[1], i) : "0");
  });
}

CEmitter::Value CEmitter::buffer_field(const ir::Call *op) {
  const std::string b = "((calo_buffer *)" + expr(op->args[0]).text + ")";
  const auto is = [&](const std::string &text) {
    return lanes(op->type, [&](const std::string &) { return text; });
  };
  switch (op->op) {
    case Intrinsic::buffer_host: return is("(void *)" + b + "->host");
    case Intrinsic::buffer_type_code: return is("(int32_t)" + b + "->type");
    case Intrinsic::buffer_dimensions:  // -1 where there should be an array of them and is none
      return is("(" + b + "->dim == NULL && " + b + "->dimensions != 0 ? -1 : " + b +
                "->dimensions)");
    case Intrinsic::buffer_is_bounds_query:
      return is("(" + b + "->host == NULL && " + b + "->device == 0)");
    case Intrinsic::buffer_min:
    case Intrinsic::buffer_extent:
    case Intrinsic::buffer_stride: {
      const char *field = op->op == Intrinsic::buffer_min      ? "min"
                          : op->op == Intrinsic::buffer_extent ? "extent"
                                                               : "stride";
      return is(b + "->dim[" + wide(op->args[1]).text + "]." + field);
    }
    default: no_c_for(std::string("the operation ") + ir::intrinsic_name(op->op));
  }
}

void CEmitter::set_buffer(const ir::Call *op) {
  const std::string b = "((calo_buffer *)" + expr(op->args[0]).text + ")";
  if (op->op == Intrinsic::buffer_set_type) {
    line(b + "->type = (uint32_t)" + expr(op->args[1]).text + "; " + b +
         "->dimensions = " + expr(op->args[2]).text + ";");
    return;
  }
  const std::string dim = b + "->dim[" + wide(op->args[1]).text + "].";
  const std::string min = expr(op->args[2]).text, extent = expr(op->args[3]).text,
                    stride = expr(op->args[4]).text;
  line(dim + "min = " + min + "; " + dim + "extent = " + extent + "; " + dim +
       "stride = " + stride + ";");
}

}  // namespace calotype::codegen
