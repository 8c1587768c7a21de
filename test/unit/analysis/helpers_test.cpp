// The helpers of the analysis tests; their own evaluator is tested by hand-made values.
#include "helpers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

namespace analysis_test {

using namespace calotype::ir;

namespace {

int64_t mod(int64_t a, int64_t b) {
  if (b == 0) return 0;
  int64_t m = b < 0 ? -b : b, r = a % m;
  return r < 0 ? r + m : r;
}
int64_t div(int64_t a, int64_t b) { return b == 0 ? 0 : (a - mod(a, b)) / b; }

}  // namespace

std::vector<int64_t> lanes_of(const Expr &e, Env env) {
  const size_t n = static_cast<size_t>(e.type().lanes());
  auto binary = [&](const Expr &a, const Expr &b, auto f) {
    std::vector<int64_t> x = lanes_of(a, env), y = lanes_of(b, env), r(n);
    for (size_t i = 0; i < n; i++) r[i] = f(x[i], y[i]);
    return r;
  };
  switch (e.kind()) {
    case NodeKind::IntImm: return {e.as<IntImm>()->value};
    case NodeKind::UIntImm: return {static_cast<int64_t>(e.as<UIntImm>()->value)};
    case NodeKind::Variable: return {env.at(e.as<Variable>()->name.str())};
#define OP(K, expr) \
  case NodeKind::K: \
    return binary(e.as<K>()->a, e.as<K>()->b, [](int64_t a, int64_t b) -> int64_t { return expr; });
      OP(Add, a + b)
      OP(Sub, a - b)
      OP(Mul, a * b)
      OP(Div, div(a, b))
      OP(Mod, mod(a, b))
      OP(Min, a < b ? a : b)
      OP(Max, a > b ? a : b)
      OP(EQ, a == b)
      OP(NE, a != b)
      OP(LT, a < b)
      OP(LE, a <= b)
      OP(GT, a > b)
      OP(GE, a >= b)
      OP(And, a && b)
      OP(Or, a || b)
#undef OP
    case NodeKind::Not: {
      std::vector<int64_t> r = lanes_of(e.as<Not>()->a, env);
      for (int64_t &v : r) v = !v;
      return r;
    }
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      std::vector<int64_t> c = lanes_of(op->condition, env), t = lanes_of(op->true_value, env),
                           f = lanes_of(op->false_value, env);
      for (size_t i = 0; i < n; i++) t[i] = c[c.size() == 1 ? 0 : i] ? t[i] : f[i];
      return t;
    }
    case NodeKind::Ramp: {
      const Ramp *op = e.as<Ramp>();
      std::vector<int64_t> b = lanes_of(op->base, env), s = lanes_of(op->stride, env), r;
      for (int i = 0; i < op->lanes; i++) {
        for (size_t j = 0; j < b.size(); j++) r.push_back(b[j] + i * s[j]);
      }
      return r;
    }
    case NodeKind::Broadcast: {
      std::vector<int64_t> b = lanes_of(e.as<Broadcast>()->value, env), r;
      for (int i = 0; i < e.as<Broadcast>()->lanes; i++) r.insert(r.end(), b.begin(), b.end());
      return r;
    }
    case NodeKind::Let: {
      const Let *op = e.as<Let>();
      int64_t v = lanes_of(op->value, env)[0];
      env[op->name.str()] = v;
      return lanes_of(op->body, env);
    }
    case NodeKind::Cast: {
      std::vector<int64_t> r = lanes_of(e.as<Cast>()->value, env);
      for (int64_t &v : r) {
        if (e.type().bits() < 32)
          v = e.type().is_int() ? int64_t(int8_t(v)) : v & ((1 << e.type().bits()) - 1);
      }
      return r;
    }
    case NodeKind::Call: return lanes_of(e.as<Call>()->args[0], env);  // likely
    default: throw std::runtime_error("lanes_of: node not supported");
  }
}

bool overflows(const Expr &e, const Env &env) {
  bool found = false;
  for_each_expr(e, [&](const Expr &x) {
    if (x.type() != Int(32) || found) return;
    int64_t v = value_of(x, env);
    found = v < INT32_MIN || v > INT32_MAX;
  });
  return found;
}

std::string text(const Expr &e) {
  auto binary = [&](const Expr &a, const char *op, const Expr &b) {
    return "(" + text(a) + op + text(b) + ")";
  };
  auto call = [&](const char *f, const Expr &a, const Expr &b) {
    return f + ("(" + text(a)) + ", " + text(b) + ")";
  };
  switch (e.kind()) {
    case NodeKind::IntImm: return std::to_string(e.as<IntImm>()->value);
    case NodeKind::UIntImm:
      return e.type().is_bool() ? (e.as<UIntImm>()->value ? "true" : "false")
                                : std::to_string(e.as<UIntImm>()->value) + "u";
    case NodeKind::Variable: return e.as<Variable>()->name.str();
#define OP(K, t) \
  case NodeKind::K: return binary(e.as<K>()->a, t, e.as<K>()->b);
      OP(Add, " + ")
      OP(Sub, " - ")
      OP(Mul, "*")
      OP(Div, "/")
      OP(Mod, " % ")
      OP(EQ, " == ")
      OP(NE, " != ")
      OP(LT, " < ")
      OP(LE, " <= ")
      OP(GT, " > ")
      OP(GE, " >= ")
      OP(And, " && ")
      OP(Or, " || ")
#undef OP
    case NodeKind::Min: return call("min", e.as<Min>()->a, e.as<Min>()->b);
    case NodeKind::Max: return call("max", e.as<Max>()->a, e.as<Max>()->b);
    case NodeKind::Not: return "!" + text(e.as<Not>()->a);
    case NodeKind::Select:
      return "select(" + text(e.as<Select>()->condition) + ", " + text(e.as<Select>()->true_value) +
             ", " + text(e.as<Select>()->false_value) + ")";
    case NodeKind::Ramp:
      return call("ramp", e.as<Ramp>()->base, e.as<Ramp>()->stride) + "x" +
             std::to_string(e.as<Ramp>()->lanes);
    case NodeKind::Broadcast:
      return "x" + std::to_string(e.as<Broadcast>()->lanes) + "(" + text(e.as<Broadcast>()->value) +
             ")";
    case NodeKind::Let:
      return "(let " + e.as<Let>()->name.str() + " = " + text(e.as<Let>()->value) + " in " +
             text(e.as<Let>()->body) + ")";
    case NodeKind::Cast: return to_string(e.type()) + "(" + text(e.as<Cast>()->value) + ")";
    case NodeKind::Call: {
      std::string s = e.as<Call>()->name.str() + "(";
      for (const Expr &a : e.as<Call>()->args) s += text(a) + ",";
      return s + ")";
    }
    default: return "<node " + std::to_string(static_cast<int>(e.kind())) + ">";
  }
}

Expr Generator::index(int depth, int lanes) {
  if (depth <= 0 || pick(0, 9) == 0) {
    if (lanes > 1 && pick(0, 1)) return make_ramp(index(0), num(pick(-2, 3)), lanes);
    static const char *kNames[] = {"x", "y", "z"};
    static const calotype::Ref<const Parameter> kParam(new Parameter);
    const char *name = kNames[pick(0, 2)];
    Expr leaf = pick(0, 3) == 0 ? num(pick(-9, 9))
                : data_         ? make_var(name, Int(32), kParam)
                                : var(name);
    return lanes > 1 ? make_broadcast(leaf, lanes) : leaf;
  }
  auto sub = [&] { return index(depth - 1, lanes); };
  auto constant = [&](int lo, int hi) { return make_int(Int(32, lanes), pick(lo, hi)); };
  switch (pick(0, 11)) {
    case 0:
    case 1: return make_add(sub(), sub());
    case 2: return make_sub(sub(), sub());
    case 3: return make_mul(sub(), constant(-4, 8));
    case 4: return make_div(sub(), constant(-3, 8));
    case 5: return make_mod(sub(), constant(-3, 8));
    case 6: return make_min(sub(), sub());
    case 7: return make_max(sub(), sub());
    case 8: return make_min(sub(), constant(-8, 8));
    case 9: return make_max(sub(), constant(-8, 8));
    case 10: return make_select(condition(depth - 1, lanes), sub(), sub());
    default: {
      if (lanes > 1 || data_) return make_add(sub(), constant(-5, 5));
      std::string name = "t" + std::to_string(pick(0, 1));
      Expr body = make_add(sub(), make_mul(var(name.c_str()), num(pick(-2, 3))));
      return make_let(name, sub(), body);
    }
  }
}

Expr Generator::condition(int depth, int lanes) {
  auto a = [&] { return index(depth - 1, lanes); };
  switch (pick(0, depth > 0 ? 9 : 5)) {
    case 0: return make_lt(a(), a());
    case 1: return make_le(a(), a());
    case 2: return make_gt(a(), a());
    case 3: return make_ge(a(), a());
    case 4: return make_eq(a(), a());
    case 5: return make_ne(a(), a());
    case 6:
    case 7: return make_and(condition(depth - 1, lanes), condition(depth - 1, lanes));
    case 8: return make_or(condition(depth - 1, lanes), condition(depth - 1, lanes));
    default: return make_not(condition(depth - 1, lanes));
  }
}

TEST_CASE("analysis tests: the evaluator") {
  E x = var("x");
  CHECK(value_of((x * 3 - 1) / 2 + x % 4, {{"x", -3}}) == -5 + 1);
  CHECK(value_of(x / -2, {{"x", -3}}) == 2);
  CHECK(lanes_of(ramp(x, 2, 3), {{"x", 5}}) == std::vector<int64_t>{5, 7, 9});
}

}  // namespace analysis_test
