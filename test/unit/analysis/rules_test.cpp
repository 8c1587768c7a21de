// Every row of the rule table: proved by Z3, tried on random and extreme values by the evaluator, and smaller on the
// right than on the left. And the proofs themselves: broken rows are refuted.
//
// Integers are proved as bit vectors, signed and unsigned, of 8 and 32 bits (16 and 64 in the slow suite). Where Z3 gives
// up at a larger width, the proof at 8 bits stands; where it gives up at 8 bits, all values are tried. Rows for any type are proved over an uninterpreted sort with an arbitrary `<`.
#include "analysis/rules.h"

#include <doctest/doctest.h>
#include <z3++.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "analysis/int_math.h"
#include "analysis/intern.h"
#include "helpers.h"
#include "ir/eval.h"

using namespace analysis_test;
namespace an = calotype::analysis;
using an::Pattern;
using ir::NodeKind;

namespace {

// --- Proofs --------------------------------------------------------------------------------------------------------

enum class Verdict { Proved, Refuted, Unknown };

/// Translates patterns to Z3 terms over T: bit vectors (width > 0), an uninterpreted sort (width 0).
class Prover {
public:
  Prover(int width, bool is_signed, unsigned ms)
      : width_(width), signed_(is_signed), solver_(c_), sort_(c_) {
    sort_ = width > 0 ? c_.bv_sort(static_cast<unsigned>(width)) : c_.uninterpreted_sort("T");
    z3::params p(c_);
    p.set("timeout", ms);
    solver_.set(p);
  }

  Verdict check(const Pattern &from, const Pattern &to, const Pattern *when) {
    z3::expr lhs = term(from), rhs = term(to);
    if (when) solver_.add(condition(*when));
    solver_.add(lhs != rhs);
    switch (solver_.check()) {
      case z3::unsat: return Verdict::Proved;
      case z3::sat: return Verdict::Refuted;
      default: return Verdict::Unknown;
    }
  }

private:
  z3::expr constant(int64_t v) {
    return width_ > 0 ? c_.bv_val(v, static_cast<unsigned>(width_))
                      : c_.constant(("k" + std::to_string(v)).c_str(), sort_);
  }
  z3::expr leaf(const char *letters, int id, const z3::sort &s) {
    return c_.constant((std::string(letters) + std::to_string(id)).c_str(), s);
  }
  z3::expr less(const z3::expr &a, const z3::expr &b) {
    if (width_ > 0) return signed_ ? z3::slt(a, b) : z3::ult(a, b);
    return c_.function("less", sort_, sort_, c_.bool_sort())(a, b);
  }
  z3::expr modulo(const z3::expr &a, const z3::expr &b) {
    z3::expr zero = constant(0);
    if (!signed_) return z3::ite(b == zero, zero, z3::urem(a, b));
    z3::expr r = z3::srem(a, b), size = z3::ite(b < zero, -b, b);
    return z3::ite(b == zero, zero, z3::ite(r < zero, r + size, r));
  }
  z3::expr divide(const z3::expr &a, const z3::expr &b) {
    z3::expr zero = constant(0);
    if (!signed_) return z3::ite(b == zero, zero, z3::udiv(a, b));
    // Truncated quotient, one step away from zero where the remainder would be negative.
    z3::expr q = a / b, r = z3::srem(a, b), one = constant(1);
    return z3::ite(b == zero, zero, z3::ite(r < zero, z3::ite(b > zero, q - one, q + one), q));
  }
  z3::expr term(const Pattern &p) {
    switch (p.kind) {
      case Pattern::Kind::Any: return leaf("x", p.id, sort_);
      case Pattern::Kind::Condition: return leaf("p", p.id, c_.bool_sort());
      case Pattern::Kind::Constant: return leaf("c", p.id, sort_);
      case Pattern::Kind::Literal: return p.is_bool ? c_.bool_val(p.value != 0) : constant(p.value);
      case Pattern::Kind::Limit: {
        int64_t max = width_ == 64 ? (signed_ ? INT64_MAX : -1)
                                   : (int64_t(1) << (signed_ ? width_ - 1 : width_)) - 1;
        return constant(p.id ? max : signed_ ? -max - 1 : 0);
      }
      case Pattern::Kind::Lanes: throw std::runtime_error("lanes outside ramp and broadcast");
      case Pattern::Kind::Node: break;
    }
    // One lane stands for all: lane i of a ramp is base + i * stride.
    if (p.node == NodeKind::Broadcast) return term(p.args[0]);
    if (p.node == NodeKind::Ramp)
      return term(p.args[0]) + leaf("lane", p.args[2].id, sort_) * term(p.args[1]);
    z3::expr a = term(p.args[0]);
    if (p.node == NodeKind::Not) return !a;
    z3::expr b = term(p.args[1]);
    switch (p.node) {
      case NodeKind::Add: return a + b;
      case NodeKind::Sub: return a - b;
      case NodeKind::Mul: return a * b;
      case NodeKind::Div: return divide(a, b);
      case NodeKind::Mod: return modulo(a, b);
      case NodeKind::Min: return z3::ite(less(a, b), a, b);
      case NodeKind::Max: return z3::ite(less(b, a), a, b);
      case NodeKind::EQ: return a == b;
      case NodeKind::NE: return a != b;
      case NodeKind::LT: return less(a, b);
      case NodeKind::LE: return !less(b, a);
      case NodeKind::And: return a && b;
      case NodeKind::Or: return a || b;
      case NodeKind::Select: return z3::ite(a, b, term(p.args[2]));
      default: throw std::runtime_error("no term for this node");
    }
  }
  /// `when` speaks of mathematical integers: enough bits that nothing overflows.
  z3::expr wide(const Pattern &p) {
    const unsigned extra = static_cast<unsigned>(width_) + 8;
    switch (p.kind) {
      case Pattern::Kind::Constant:
      case Pattern::Kind::Limit:
        return signed_ ? z3::sext(term(p), extra) : z3::zext(term(p), extra);
      case Pattern::Kind::Literal: return c_.bv_val(p.value, static_cast<unsigned>(width_) + extra);
      default: break;
    }
    z3::expr a = wide(p.args[0]), b = wide(p.args[1]);
    switch (p.node) {
      case NodeKind::Add: return a + b;
      case NodeKind::Sub: return a - b;
      case NodeKind::Mul: return a * b;
      case NodeKind::Mod: return z3::srem(a, b);  // `when` uses it on positive numbers only
      default: throw std::runtime_error("no condition term for this node");
    }
  }
  z3::expr condition(const Pattern &p) {
    if (p.node == NodeKind::And) return condition(p.args[0]) && condition(p.args[1]);
    if (p.node == NodeKind::Or) return condition(p.args[0]) || condition(p.args[1]);
    z3::expr a = wide(p.args[0]), b = wide(p.args[1]);
    switch (p.node) {
      case NodeKind::LT: return a < b;
      case NodeKind::LE: return a <= b;
      case NodeKind::GT: return a > b;
      case NodeKind::GE: return a >= b;
      case NodeKind::EQ: return a == b;
      case NodeKind::NE: return a != b;
      default: throw std::runtime_error("no condition for this node");
    }
  }

  int width_;
  bool signed_;
  z3::context c_;
  z3::solver solver_;
  z3::sort sort_;
};

bool only_conditions(const Pattern &p) {
  if (p.kind == Pattern::Kind::Condition || (p.kind == Pattern::Kind::Literal && p.is_bool))
    return true;
  if (p.kind != Pattern::Kind::Node) return false;
  return std::all_of(p.args.begin(), p.args.end(), only_conditions);
}

/// The value of a pattern at 8 bits, `env`: Any 0-3, then constants.
int64_t value8(const Pattern &p, const int64_t *env, Type t, bool wrap) {
  if (p.kind == Pattern::Kind::Any) return env[p.id];
  if (p.kind == Pattern::Kind::Constant) return env[4 + p.id];
  if (p.kind == Pattern::Kind::Literal) return p.value;
  if (p.kind == Pattern::Kind::Limit)
    return p.id ? static_cast<int64_t>(t.max_uint()) : t.min_int();
  int64_t a = value8(p.args[0], env, t, wrap), b = value8(p.args[1], env, t, wrap), r = 0;
  switch (p.node) {
    case NodeKind::Add: r = a + b; break;
    case NodeKind::Sub: r = a - b; break;
    case NodeKind::Mul: r = a * b; break;
    case NodeKind::Div: r = an::floor_div(a, b); break;
    case NodeKind::Mod: r = an::floor_mod(a, b); break;
    case NodeKind::Min: r = std::min(a, b); break;
    case NodeKind::Max: r = std::max(a, b); break;
    case NodeKind::LT: return a < b;
    case NodeKind::LE: return a <= b;
    case NodeKind::GT: return a > b;
    case NodeKind::GE: return a >= b;
    case NodeKind::EQ: return a == b;
    case NodeKind::NE: return a != b;
    case NodeKind::And: return a && b;
    case NodeKind::Or: return a || b;
    default: throw std::runtime_error("no 8-bit value for this node");
  }
  return wrap ? an::wrap_to(t, r) : r;
}

/// All values at 8 bits of a rule on x, c0 and c1.
Verdict exhaust8(const an::CompiledRule &r, const Pattern &to, bool is_signed) {
  const Type t = is_signed ? Int(8) : UInt(8);
  int64_t env[8] = {}, low = t.min_int(), high = static_cast<int64_t>(t.max_uint());
  for (env[4] = low; env[4] <= high; env[4]++) {
    for (env[5] = low; env[5] <= high; env[5]++) {
      if (r.has_when && !value8(r.when, env, t, false)) continue;
      for (env[1] = low; env[1] <= high; env[1]++) {
        if (value8(r.from, env, t, true) != value8(to, env, t, true)) return Verdict::Refuted;
      }
    }
  }
  return Verdict::Proved;
}

bool is_about_one_value(const Pattern &p) {
  if (p.kind == Pattern::Kind::Any) return p.id == 1;
  if (p.kind == Pattern::Kind::Constant) return p.id < 2;
  return std::all_of(p.args.begin(), p.args.end(), is_about_one_value);
}

/// Proved if at 8 bits, both signs, and refuted at no width.
Verdict verdict(const an::CompiledRule &r, const Pattern &to, std::initializer_list<int> widths) {
  const Pattern *when = r.has_when ? &r.when : nullptr;
  if (r.rule->types == an::RuleTypes::Any || only_conditions(r.from))
    return Prover(0, false, 2000).check(r.from, to, when);
  Verdict result = Verdict::Proved;
  for (int width : widths) {
    for (bool is_signed : {true, false}) {
      if (r.rule->types == an::RuleTypes::Unsigned && is_signed) continue;
      if (r.rule->types == an::RuleTypes::Index && (!is_signed || width < 32)) continue;
      Verdict v = Prover(width, is_signed, width == 8 ? 2000 : 150).check(r.from, to, when);
      if (v == Verdict::Unknown && width == 8 && is_about_one_value(r.from))
        v = exhaust8(r, to, is_signed);
      if (v == Verdict::Refuted) return v;
      if (v == Verdict::Unknown && width == 8) result = v;
    }
  }
  return result;
}

// --- Values --------------------------------------------------------------------------------------------------------

struct Instance {
  Type t;
  int lanes[4] = {2, 3, 2, 3};
  int64_t constants[4] = {};
};

Expr instance_of(const Pattern &p, const Instance &i) {
  static const char *kNames[] = {"w", "x", "y", "z"};
  static const char *kConditions[] = {"p", "q", "r", "s"};
  switch (p.kind) {
    case Pattern::Kind::Any: return var(kNames[p.id], i.t);
    case Pattern::Kind::Condition: return var(kConditions[p.id], Bool());
    case Pattern::Kind::Constant: return ir::make_int(i.t, i.constants[p.id]);
    case Pattern::Kind::Literal:
      return p.is_bool ? ir::make_bool(p.value != 0) : ir::make_int(i.t, p.value);
    case Pattern::Kind::Limit:
      return p.id ? ir::make_uint(i.t, i.t.max_uint()) : ir::make_int(i.t, i.t.min_int());
    default: break;
  }
  std::vector<Expr> args;
  for (const Pattern &a : p.args) {
    if (a.kind != Pattern::Kind::Lanes) args.push_back(instance_of(a, i));
  }
  switch (p.node) {
    case NodeKind::Not: return ir::make_not(args[0]);
    case NodeKind::Select: return ir::make_select(args[0], args[1], args[2]);
    case NodeKind::Ramp: return ir::make_ramp(args[0], args[1], i.lanes[p.args[2].id]);
    case NodeKind::Broadcast: return ir::make_broadcast(args[0], i.lanes[p.args[1].id]);
    default: return ir::make_binary(p.node, args[0], args[1]);
  }
}

int64_t extreme(Generator &g, Type t) {
  switch (g.pick(0, 5)) {
    case 0: return t.min_int();
    case 1: return static_cast<int64_t>(t.max_uint());
    case 2: return g.pick(-3, 3);
    default: return g.pick(-40, 200);
  }
}

/// Pairs of equal values found, over all types; -1 at the first difference.
int try_values(const an::CompiledRule &r, Generator &g, std::string *failure) {
  std::vector<Type> types;
  for (int bits : {8, 16, 32, 64}) {
    types.push_back(Int(bits));
    types.push_back(UInt(bits));
  }
  if (r.rule->types == an::RuleTypes::Any) types.push_back(calotype::Float(32));
  int matched = 0;
  an::Interner interner;
  for (Type t : types) {
    if (r.rule->types != an::RuleTypes::Bool && !an::rule_is_for(r.rule->types, t)) continue;
    for (int n = 0; n < 60; n++) {
      Instance i;
      i.t = t;
      for (int64_t &c : i.constants)
        c = t.is_float() ? g.pick(-3, 3) : an::wrap_to(t, extreme(g, t));
      Expr from = interner.intern(instance_of(r.from, i)), to = an::apply_rule(r, from);
      if (!to.defined()) continue;
      for (int k = 0; k < 4; k++) {
        ir::EvalContext cx;
        for (const char *name : {"w", "x", "y", "z"}) {
          cx.vars[name] = t.is_float() ? ir::Value::of_float(
                                             t, g.pick(0, 4) ? g.pick(-2, 2) : __builtin_nan(""))
                                       : ir::Value::of_int(t, extreme(g, t));
        }
        for (const char *name : {"p", "q", "r", "s"})
          cx.vars[name] = ir::Value::of_int(Bool(), g.pick(0, 1));
        auto a = ir::evaluate(from, cx), b = ir::evaluate(to, cx);
        if (!a || !b || a->type != b->type || a->lanes != b->lanes) {
          *failure = text(from) + " -> " + text(to) + " for " + calotype::to_string(t);
          return -1;
        }
        matched++;
      }
    }
  }
  return matched;
}

// --- Measures ------------------------------------------------------------------------------------------------------

/// Vector operations, nodes, max below min: each rule must lower this, in that order.
struct Measure {
  int vectors = 0, nodes = 0, max_below_min = 0;
  bool operator<(const Measure &o) const {
    return std::tie(vectors, nodes, max_below_min) < std::tie(o.vectors, o.nodes, o.max_below_min);
  }
};
bool contains(const Pattern &p, std::initializer_list<NodeKind> kinds) {
  if (p.kind != Pattern::Kind::Node) return false;
  if (std::find(kinds.begin(), kinds.end(), p.node) != kinds.end()) return true;
  return std::any_of(p.args.begin(), p.args.end(),
                     [&](const Pattern &a) { return contains(a, kinds); });
}
bool is_computed(const Pattern &p) {
  if (p.kind != Pattern::Kind::Node)
    return p.kind != Pattern::Kind::Any && p.kind != Pattern::Kind::Condition;
  return std::all_of(p.args.begin(), p.args.end(), is_computed);
}
Measure measure(const Pattern &p) {
  Measure m;
  m.nodes = 1;
  if (p.kind != Pattern::Kind::Node || is_computed(p)) return m;
  m.vectors = contains(p, {NodeKind::Ramp, NodeKind::Broadcast});
  m.max_below_min = p.node == NodeKind::Min && contains(p, {NodeKind::Max});
  for (const Pattern &a : p.args) {
    if (a.kind == Pattern::Kind::Lanes) continue;
    Measure x = measure(a);
    m.vectors += x.vectors;
    m.nodes += x.nodes;
    m.max_below_min += x.max_below_min;
  }
  return m;
}

// --- Broken rules --------------------------------------------------------------------------------------------------

/// Versions of `p` with one operator or leaf exchanged.
void mutants(const Pattern &p, std::vector<Pattern> *out) {
  auto swap_node = [&](NodeKind a, NodeKind b) {
    if (p.node != a && p.node != b) return;
    Pattern q = p;
    q.node = p.node == a ? b : a;
    out->push_back(q);
  };
  if (p.kind == Pattern::Kind::Any || p.kind == Pattern::Kind::Condition ||
      p.kind == Pattern::Kind::Constant) {
    Pattern q = p;
    q.id = p.kind == Pattern::Kind::Any ? (p.id == 1 ? 2 : 1) : 1 - (p.id & 1);
    out->push_back(q);
  } else if (p.kind == Pattern::Kind::Literal) {
    Pattern q = p;
    q.value = 1 - (p.value & 1);
    out->push_back(q);
  } else if (p.kind == Pattern::Kind::Node) {
    swap_node(NodeKind::Min, NodeKind::Max);
    swap_node(NodeKind::Add, NodeKind::Sub);
    swap_node(NodeKind::And, NodeKind::Or);
    swap_node(NodeKind::EQ, NodeKind::NE);
    for (size_t i = 0; i < p.args.size(); i++) {
      std::vector<Pattern> inner;
      mutants(p.args[i], &inner);
      for (Pattern &m : inner) {
        Pattern q = p;
        q.args[i] = m;
        out->push_back(q);
      }
    }
  }
}

}  // namespace

TEST_CASE("rules: Z3 proves every row") {
  int proved = 0;
  for (const an::CompiledRule &r : an::all_rules()) {
    INFO(std::string(r.rule->name), ": ", std::string(r.rule->from), " -> ",
         std::string(r.rule->to));
    Verdict v = verdict(r, r.to, {8, 32});
    CHECK(v == Verdict::Proved);
    proved += v == Verdict::Proved;
  }
  MESSAGE(proved, " rules proved");
}

TEST_CASE("rules: no row is refuted at any width" * doctest::test_suite("slow")) {
  for (const an::CompiledRule &r : an::all_rules()) {
    INFO(std::string(r.rule->name));
    CHECK(verdict(r, r.to, {8, 16, 32, 64}) == Verdict::Proved);
  }
}

TEST_CASE("rules: values agree for every type") {
  Generator g(5);
  for (const an::CompiledRule &r : an::all_rules()) {
    std::string failure;
    int matched = try_values(r, g, &failure);
    INFO(std::string(r.rule->name), ": ", failure);
    CHECK(matched > 0);  // never vacuous
  }
}

TEST_CASE("rules: every row makes things smaller") {
  for (const an::CompiledRule &r : an::all_rules()) {
    INFO(std::string(r.rule->name));
    CHECK(measure(r.to) < measure(r.from));
  }
}

TEST_CASE("rules: broken rows are refuted") {
  int refuted = 0, equivalent = 0;
  for (const an::CompiledRule &r : an::all_rules()) {
    std::vector<Pattern> broken;
    mutants(r.to, &broken);
    for (const Pattern &to : broken) {
      Verdict v = verdict(r, to, {8});
      INFO(std::string(r.rule->name));
      CHECK(v != Verdict::Unknown);
      refuted += v == Verdict::Refuted;
      equivalent += v == Verdict::Proved;  // the change did not matter
    }
  }
  MESSAGE(refuted, " broken rules refuted, ", equivalent, " changes kept the meaning");
  CHECK(refuted >= 100);
}
