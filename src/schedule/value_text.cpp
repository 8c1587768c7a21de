// Prints the small expressions that schedules hold; what has no spelling of its own here is left to the text form of IR.
// Tests: test/unit/schedule/text_test.cpp.
#include "value_text.h"

#include "../ir/print.h"
#include "../ir/visit.h"

namespace calotype::schedule {

namespace {

using ir::NodeKind;

// "output.extent.0" -> buffer, field and dimension.
bool split_field(const std::string &name, std::string *buffer, std::string *field,
                 std::string *dimension) {
  const size_t second = name.rfind('.');
  if (second == std::string::npos || second == 0) return false;
  const size_t first = name.rfind('.', second - 1);
  if (first == std::string::npos) return false;
  *buffer = name.substr(0, first);
  *field = name.substr(first + 1, second - first - 1);
  *dimension = name.substr(second + 1);
  return *field == "min" || *field == "extent" || *field == "stride";
}

class Printer {
public:
  Printer(ValueStyle style, const std::function<std::string(const std::string &)> &name)
      : style_(style), name_(name) {}

  std::string print(const Expr &e, int around) {
    switch (e.kind()) {
      case NodeKind::IntImm: return integer(e);
      case NodeKind::Variable: return variable(e.as<ir::Variable>());
      case NodeKind::Add: return infix(e.as<ir::Add>(), " + ", 5, around);
      case NodeKind::Sub: return infix(e.as<ir::Sub>(), " - ", 5, around);
      case NodeKind::Mul: return infix(e.as<ir::Mul>(), " * ", 6, around);
      case NodeKind::Div: return infix(e.as<ir::Div>(), " / ", 6, around);
      case NodeKind::Mod: return infix(e.as<ir::Mod>(), " % ", 6, around);
      case NodeKind::LT: return infix(e.as<ir::LT>(), " < ", 4, around);
      case NodeKind::LE: return infix(e.as<ir::LE>(), " <= ", 4, around);
      case NodeKind::GT: return infix(e.as<ir::GT>(), " > ", 4, around);
      case NodeKind::GE: return infix(e.as<ir::GE>(), " >= ", 4, around);
      case NodeKind::EQ: return infix(e.as<ir::EQ>(), " == ", 3, around);
      case NodeKind::NE: return infix(e.as<ir::NE>(), " != ", 3, around);
      case NodeKind::And: return infix(e.as<ir::And>(), " && ", 2, around);
      case NodeKind::Or: return infix(e.as<ir::Or>(), " || ", 1, around);
      case NodeKind::Not: return "!" + print(e.as<ir::Not>()->a, 7);
      case NodeKind::Min: return call("min", {e.as<ir::Min>()->a, e.as<ir::Min>()->b});
      case NodeKind::Max: return call("max", {e.as<ir::Max>()->a, e.as<ir::Max>()->b});
      case NodeKind::Select: {
        const auto *s = e.as<ir::Select>();
        return call("select", {s->condition, s->true_value, s->false_value});
      }
      case NodeKind::Cast: return cast(e.as<ir::Cast>());
      default: return ir::to_string(e);
    }
  }

private:
  std::string integer(const Expr &e) {
    const int64_t v = e.as<ir::IntImm>()->value;
    if (e.type() == Int(32)) return std::to_string(v);
    if (style_ == ValueStyle::Schedule) return ir::to_string(e);
    return "cast(" + type(e.type()) + ", " + std::to_string(v) + ")";
  }

  std::string variable(const ir::Variable *v) {
    std::string buffer, field, dimension;
    const std::string &name = v->name;
    if (style_ == ValueStyle::Schedule) {
      if (split_field(name, &buffer, &field, &dimension))
        return buffer + "." + field + "(" + dimension + ")";
      if (v->param && (v->type.is_float() || v->type.is_bool()))
        return to_string(v->type) + "(" + name + ")";
      return name;
    }
    if (name.rfind("vec(", 0) == 0) {
      const Type t = parse_type(name.substr(4, name.size() - 5));
      return "get_target().natural_vector_size(" + type(t) + ")";
    }
    if (split_field(name, &buffer, &field, &dimension)) {
      return (name_ ? name_(buffer) : buffer) + ".dim(" + dimension + ")." + field + "()";
    }
    return name_ ? name_(name) : name;
  }

  template <typename T> std::string infix(const T *op, const char *text, int level, int around) {
    const std::string s = print(op->a, level) + text + print(op->b, level + 1);
    return level < around ? "(" + s + ")" : s;
  }

  std::string call(const std::string &name, const std::vector<Expr> &args) {
    std::string s = name + "(";
    for (size_t i = 0; i < args.size(); i++) s += (i ? ", " : "") + print(args[i], 0);
    return s + ")";
  }

  std::string cast(const ir::Cast *op) {
    if (style_ == ValueStyle::Schedule) return call(to_string(op->type), {op->value});
    return "cast(" + type(op->type) + ", " + print(op->value, 0) + ")";
  }

  static std::string type(Type t) {
    if (t.is_bool()) return "Bool()";
    const char *kind = t.is_bfloat()  ? "BFloat"
                       : t.is_float() ? "Float"
                       : t.is_uint()  ? "UInt"
                                      : "Int";
    return std::string(kind) + "(" + std::to_string(t.bits()) + ")";
  }

  ValueStyle style_;
  const std::function<std::string(const std::string &)> &name_;
};

}  // namespace

std::string value_text(const Expr &e, ValueStyle style,
                       const std::function<std::string(const std::string &)> &name) {
  return e.defined() ? Printer(style, name).print(e, 0) : std::string();
}

}  // namespace calotype::schedule
