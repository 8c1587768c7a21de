// Resolution and folding of the numbers in schedules. Tests: test/unit/schedule/value_test.cpp.
#include "value.h"

#include <cstdlib>
#include <optional>
#include <unordered_map>

namespace calotype::schedule {

namespace {

using ir::NodeKind;

// Folds int64 arithmetic with the language's division; gives up on overflow and on anything else. Shared nodes once.
class Folder {
public:
  std::optional<int64_t> fold(const Expr &e) {
    if (!e.defined()) return std::nullopt;
    if (const int64_t *i = ir::as_const_int(e)) return *i;
    if (const uint64_t *u = ir::as_const_uint(e)) {
      return *u <= INT64_MAX ? std::optional<int64_t>(static_cast<int64_t>(*u)) : std::nullopt;
    }
    const auto it = done_.find(e.get());
    if (it != done_.end()) return it->second;
    const std::optional<int64_t> value = compute(e);
    done_[e.get()] = value;
    return value;
  }

private:
  std::optional<int64_t> compute(const Expr &e) {
    if (!e.type().is_int_or_uint() || !e.type().is_scalar()) return std::nullopt;
    switch (e.kind()) {
      case NodeKind::Cast: return cast(e.as<ir::Cast>());
      case NodeKind::Add: return binary(e.as<ir::Add>(), e.kind());
      case NodeKind::Sub: return binary(e.as<ir::Sub>(), e.kind());
      case NodeKind::Mul: return binary(e.as<ir::Mul>(), e.kind());
      case NodeKind::Div: return binary(e.as<ir::Div>(), e.kind());
      case NodeKind::Mod: return binary(e.as<ir::Mod>(), e.kind());
      case NodeKind::Min: return binary(e.as<ir::Min>(), e.kind());
      case NodeKind::Max: return binary(e.as<ir::Max>(), e.kind());
      case NodeKind::EQ: return binary(e.as<ir::EQ>(), e.kind());
      case NodeKind::NE: return binary(e.as<ir::NE>(), e.kind());
      case NodeKind::LT: return binary(e.as<ir::LT>(), e.kind());
      case NodeKind::LE: return binary(e.as<ir::LE>(), e.kind());
      case NodeKind::GT: return binary(e.as<ir::GT>(), e.kind());
      case NodeKind::GE: return binary(e.as<ir::GE>(), e.kind());
      case NodeKind::Select: return select(e.as<ir::Select>());
      default: return std::nullopt;
    }
  }

  std::optional<int64_t> cast(const ir::Cast *op) {
    const std::optional<int64_t> v = fold(op->value);
    if (!v || !op->type.can_represent(*v)) return std::nullopt;
    return v;
  }

  std::optional<int64_t> select(const ir::Select *op) {
    const std::optional<int64_t> c = fold(op->condition);
    if (!c) return std::nullopt;
    return fold(*c ? op->true_value : op->false_value);
  }

  template <typename T> std::optional<int64_t> binary(const T *op, NodeKind kind) {
    const std::optional<int64_t> a = fold(op->a), b = fold(op->b);
    if (!a || !b) return std::nullopt;
    const std::optional<int64_t> r = apply(kind, *a, *b);
    if (r && !op->type.is_bool() && !op->type.can_represent(*r)) return std::nullopt;
    return r;
  }

  static std::optional<int64_t> apply(NodeKind kind, int64_t a, int64_t b) {
    int64_t r = 0;
    switch (kind) {
      case NodeKind::Add:
        return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
      case NodeKind::Sub:
        return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
      case NodeKind::Mul:
        return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional<int64_t>(r);
      case NodeKind::Div: return divide(a, b);
      case NodeKind::Mod:
        return b == 0 || b == INT64_MIN ? 0 : ((a % b) + std::llabs(b)) % std::llabs(b);
      case NodeKind::Min: return a < b ? a : b;
      case NodeKind::Max: return a > b ? a : b;
      case NodeKind::EQ: return a == b;
      case NodeKind::NE: return a != b;
      case NodeKind::LT: return a < b;
      case NodeKind::LE: return a <= b;
      case NodeKind::GT: return a > b;
      case NodeKind::GE: return a >= b;
      default: return std::nullopt;
    }
  }

  // The quotient that leaves a remainder in [0, |b|).
  static std::optional<int64_t> divide(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (a == INT64_MIN || b == INT64_MIN) return std::nullopt;
    const int64_t q = a / b;
    return a % b >= 0 ? q : b > 0 ? q - 1 : q + 1;
  }

  std::unordered_map<const void *, std::optional<int64_t>> done_;
};

bool parse_vec(const std::string &name, Type *t) {
  if (name.rfind("vec(", 0) != 0 || name.back() != ')') return false;
  *t = parse_type(name.substr(4, name.size() - 5));
  return t->bits() != 0;
}

std::string before_dot(const std::string &name) { return name.substr(0, name.find('.')); }

// "input.extent.7" of a 3-dimensional input names nothing.
bool has_dimension(const std::string &name, int dimensions) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || std::atoi(name.c_str() + dot + 1) < dimensions;
}

// The parameter that `name` is, or whose buffer field it is.
ir::ParameterRef find_param(const ir::Program &p, const std::string &name) {
  for (const ir::ParameterRef &param : p.params) {
    if (!param->is_buffer
            ? param->name == name
            : param->name == before_dot(name) && has_dimension(name, param->dimensions)) {
      return param;
    }
  }
  for (const ir::Function &f : p.funcs) {
    for (const ir::ParameterRef &param : f.outputs) {
      if (param && param->is_buffer && has_dimension(name, f.dimensions()) &&
          (param->name == before_dot(name) || f.name == before_dot(name)))
        return param;
    }
  }
  return {};
}

// A field of an output whose buffer has no parameter yet; a Tuple's is its first value's. Empty: none.
std::string output_field(const ir::Program &p, const std::string &name) {
  for (ir::Name out : p.outputs) {
    const ir::Function &f = *p.find(out);
    if (name.rfind(out + ".", 0) != 0 || !has_dimension(name, f.dimensions())) continue;
    const std::string field = name.substr(out.str().size() + 1);
    const bool known = field.rfind("min.", 0) == 0 || field.rfind("extent.", 0) == 0 ||
                       field.rfind("stride.", 0) == 0;
    if (known) return f.types.size() > 1 ? out + ".0." + field : name;
  }
  return {};
}

Diagnostic unknown_name(const std::string &name, const ValueScope &scope, SrcLoc loc) {
  std::vector<std::string> known;
  for (const auto &let : scope.lets) known.push_back(let.first);
  for (const ir::ParameterRef &param : scope.program.params) known.push_back(param->name);
  Diagnostic d("S0103", loc, "no number is called " + name);
  d.why.push_back(
      {"an expression may use constants, let names, parameters, extents of buffers and vec(type)",
       {}});
  for (const std::string &near : nearest_names(name, known))
    d.help.push_back("did you mean " + near + "?");
  return d;
}

// float32(gain): a parameter whose type schedule files cannot know by its name alone.
Expr typed_parameter(const Expr &e, const ValueScope &scope) {
  const auto *cast = e.as<ir::Cast>();
  const auto *var = cast && scope.any_type ? cast->value.as<ir::Variable>() : nullptr;
  if (!var || var->param || scope.lets.count(var->name)) return {};
  const ir::ParameterRef param = find_param(scope.program, var->name);
  if (!param || param->is_buffer || (!param->type.is_float() && !param->type.is_bool())) return {};
  return ir::make_cast(cast->type, ir::make_var(var->name, param->type, param));
}

}  // namespace

Expr vec_of(Type t) { return ir::make_var("vec(" + to_string(t) + ")"); }

Expr buffer_field(const std::string &buffer, const std::string &field, int dimension) {
  return ir::make_var(buffer + "." + field + "." + std::to_string(dimension));
}

bool constant_value(const Expr &e, int64_t *value) {
  const std::optional<int64_t> v = Folder().fold(e);
  if (v) *value = *v;
  return v.has_value();
}

Expr resolve_value(const Expr &e, const ValueScope &scope, SrcLoc loc, Diagnostic *why) {
  bool ok = true;
  const auto refuse = [&](Diagnostic d) {
    if (ok) *why = std::move(d);
    ok = false;
    return Expr();
  };
  Expr resolved = ir::replace(e, [&](const Expr &x) -> Expr {
    if (const auto *call = x.as<ir::Call>()) {
      if (call->call_type == ir::CallType::PureIntrinsic) return {};
      return refuse({"S0110", loc, "a schedule cannot use the value of " + call->name});
    }
    if (const Expr typed = typed_parameter(x, scope); typed.defined()) return typed;
    const auto *var = x.as<ir::Variable>();
    if (!var || var->param) return {};
    const auto let = scope.lets.find(var->name);
    if (let != scope.lets.end()) return ir::make_cast(var->type, let->second);
    Type t;
    if (parse_vec(var->name, &t)) return ir::make_int(Int(32), scope.target.natural_vector_size(t));
    const ir::ParameterRef param = find_param(scope.program, var->name);
    if (!param) {
      const std::string field = output_field(scope.program, var->name);
      if (!field.empty()) return ir::make_var(field);
    }
    if (!param) return refuse(unknown_name(var->name, scope, loc));
    if (param->is_buffer) return ir::make_var(var->name, Int(32), param);
    if (scope.any_type && param->type.is_float()) {
      return refuse(Diagnostic("S0110", loc, "parameter " + var->name + " is no integer")
                        .fix("write " + to_string(param->type) + "(" + var->name + ")"));
    }
    if (!param->type.is_int_or_uint()) {
      return refuse(
          {"S0110", loc, "parameter " + var->name + " is no integer: " + to_string(param->type)});
    }
    return ir::make_cast(var->type, ir::make_var(var->name, param->type, param));
  });
  if (!ok) return {};
  int64_t value = 0;
  if (!ir::is_const(resolved) && constant_value(resolved, &value))
    resolved = ir::make_int(resolved.type(), value);
  return resolved;
}

}  // namespace calotype::schedule
