// Proofs about the order of an update's iterations, conservative and syntactic: every read of the Func by its own update
// is compared with the element written.
//   free variable    it stands alone in one dimension on the left (plus what no RVar changes), and every read of the Func
//                    has the same index there: iterations with different values touch different elements
//   commutative      every value is  self op g  with an exact associative and commutative op, g without self
// Tests: test/unit/schedule/order_test.cpp.
#include "order.h"

#include <algorithm>
#include <unordered_set>

#include "../ir/equal.h"
#include "../ir/print.h"
#include "../ir/visit.h"

namespace calotype::schedule {

namespace {

using ir::NodeKind;

bool is_self_call(const Expr &e, ir::Name func) {
  const auto *call = e.as<ir::Call>();
  return call && call->call_type == ir::CallType::Halide && call->name == func;
}

void collect_self_reads(const Expr &e, ir::Name func, std::vector<const ir::Call *> &out) {
  if (!e.defined()) return;
  ir::for_each_expr(e, [&](const Expr &x) {
    if (is_self_call(x, func)) out.push_back(x.as<ir::Call>());
  });
}

std::vector<const ir::Call *> self_reads(const ir::Function &f, const ir::Definition &d) {
  std::vector<const ir::Call *> reads;
  for (const Expr &e : d.values) collect_self_reads(e, f.name, reads);
  for (const Expr &e : d.args) collect_self_reads(e, f.name, reads);
  collect_self_reads(d.predicate, f.name, reads);
  return reads;
}

bool has_self_read(const Expr &e, ir::Name func) {
  std::vector<const ir::Call *> reads;
  collect_self_reads(e, func, reads);
  return !reads.empty();
}

// Is `index` v, v + c, c + v or v - c, where c does not vary from iteration to iteration?
bool is_shifted_var(const Expr &index, ir::Name v, const std::unordered_set<ir::Name> &varying) {
  const auto is_v = [&](const Expr &e) {
    const auto *var = e.as<ir::Variable>();
    return var && var->name == v;
  };
  const auto is_fixed = [&](const Expr &e) {
    bool fixed = true;
    ir::for_each_expr(e, [&](const Expr &x) {
      if (const auto *var = x.as<ir::Variable>()) fixed &= !varying.count(var->name);
      if (x.as<ir::Call>() || x.as<ir::Load>()) fixed = false;
    });
    return fixed;
  };
  if (is_v(index)) return true;
  if (const auto *add = index.as<ir::Add>()) {
    return (is_v(add->a) && is_fixed(add->b)) || (is_v(add->b) && is_fixed(add->a));
  }
  if (const auto *sub = index.as<ir::Sub>()) return is_v(sub->a) && is_fixed(sub->b);
  return false;
}

std::string short_text(const Expr &e) {
  std::string text = ir::to_string(e);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

std::string read_text(const ir::Call *call) {
  std::string text = call->name + "(";
  for (size_t i = 0; i < call->args.size(); i++)
    text += (i ? ", " : "") + short_text(call->args[i]);
  return text + ")";
}

// Empty if `v` keeps iterations apart, else why not.
std::string why_dependent(ir::Name v, const ir::Definition &d,
                          const std::vector<const ir::Call *> &reads,
                          const std::unordered_set<ir::Name> &varying) {
  std::string because =
      v + " is no index of the element written: different iterations write the same one";
  for (size_t i = 0; i < d.args.size(); i++) {
    if (!is_shifted_var(d.args[i], v, varying)) continue;
    const ir::Call *other = nullptr;
    for (const ir::Call *read : reads) {
      if (!other && !ir::equal(read->args[i], d.args[i])) other = read;
    }
    if (!other) return {};
    because =
        "the update reads " + read_text(other) + ", which another iteration of " + v + " may write";
  }
  return because;
}

bool is_exact_type(Type t) { return t.is_int_or_uint(); }

// The operands of a binary node that is exactly associative and commutative on integers (a - g: in g only).
bool accumulation(const Expr &value, Expr *a, Expr *b, bool *only_left) {
  *only_left = false;
  const auto take = [&](const auto *op) {
    *a = op->a;
    *b = op->b;
    return true;
  };
  if (const auto *op = value.as<ir::Add>()) return take(op);
  if (const auto *op = value.as<ir::Mul>()) return take(op);
  if (const auto *op = value.as<ir::Min>()) return take(op);
  if (const auto *op = value.as<ir::Max>()) return take(op);
  if (const auto *op = value.as<ir::And>()) return take(op);
  if (const auto *op = value.as<ir::Or>()) return take(op);
  if (const auto *op = value.as<ir::Sub>()) {
    *only_left = true;
    return take(op);
  }
  for (ir::Intrinsic kind :
       {ir::Intrinsic::bitwise_and, ir::Intrinsic::bitwise_or, ir::Intrinsic::bitwise_xor}) {
    if (const ir::Call *call = ir::as_intrinsic(value, kind)) {
      *a = call->args[0];
      *b = call->args[1];
      return true;
    }
  }
  return false;
}

// Is `e` element `index` of the Func at exactly the place that is written?
bool is_own_element(const Expr &e, const ir::Function &f, const ir::Definition &d, int index) {
  const auto *call = e.as<ir::Call>();
  if (!call || !is_self_call(e, f.name) || call->value_index != index) return false;
  for (size_t i = 0; i < d.args.size(); i++) {
    if (!ir::equal(call->args[i], d.args[i])) return false;
  }
  return true;
}

// Empty if value `index` accumulates exactly, else why not.
std::string why_ordered(const ir::Function &f, const ir::Definition &d, int index) {
  const Expr &value = d.values[index];
  const std::string shown = "the update stores " + short_text(value);
  Expr a, b;
  bool only_left = false;
  if (!accumulation(value, &a, &b, &only_left)) {
    return shown + ", which is no plain sum, product, min, max, and, or";
  }
  if (!is_exact_type(value.type())) {
    return shown + " in " + to_string(value.type()) +
           ": the order of a floating-point reduction is part of its value";
  }
  const bool left = is_own_element(a, f, d, index) && !has_self_read(b, f.name);
  const bool right = !only_left && is_own_element(b, f, d, index) && !has_self_read(a, f.name);
  if (!left && !right) return shown + ", which does not accumulate into the one element written";
  return {};
}

}  // namespace

OrderFacts order_facts(const ir::Function &f, int stage) {
  OrderFacts facts;
  const ir::Definition &d = f.definitions[stage];
  facts.loc = d.loc;
  if (stage == 0) return facts;
  const std::vector<const ir::Call *> reads = self_reads(f, d);
  std::unordered_set<ir::Name> varying(f.args.begin(), f.args.end());
  for (const ir::ReductionVariable &r : d.rvars) varying.insert(r.var);
  for (ir::Name v : varying) {
    std::string because = why_dependent(v, d, reads, varying);
    if (!because.empty()) facts.dependent[v] = std::move(because);
  }
  for (size_t i = 0; i < d.values.size() && facts.commutative; i++) {
    facts.ordered_because = why_ordered(f, d, static_cast<int>(i));
    facts.commutative = facts.ordered_because.empty();
  }
  for (const Expr &e : d.args) facts.commutative &= !has_self_read(e, f.name);
  if (d.predicate.defined()) facts.commutative &= !has_self_read(d.predicate, f.name);
  if (!facts.commutative && facts.ordered_because.empty()) {
    facts.ordered_because = "which elements the update touches depends on values it writes";
  }
  return facts;
}

const OrderFacts &OrderCache::of(const ir::Function &f, int stage) {
  auto &stages = facts_[f.name];
  if (stages.empty()) stages.resize(f.definitions.size());
  auto &facts = stages[stage];
  if (!facts) facts = std::make_unique<OrderFacts>(order_facts(f, stage));
  return *facts;
}

const Reduction &OrderCache::reduction_of(const ir::Function &f, int stage) {
  auto &stages = reductions_[f.name];
  if (stages.empty()) stages.resize(f.definitions.size());
  auto &r = stages[stage];
  if (!r) r = std::make_unique<Reduction>(prove_reduction(f, stage));
  return *r;
}

}  // namespace calotype::schedule
