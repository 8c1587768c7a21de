// Evaluates expressions and runs flat statements, lane by lane, from the meaning of nodes.def (scalar_ops.cpp); folds
// constants. Shared parts of an expression are evaluated once per scope. Intrinsics of class Expand without a meaning of
// their own in scalar_ops.cpp are evaluated through their expansion, which is the definition of their value.
// Tests: test/unit/ir/eval_test.cpp.
#include "eval.h"

#include <algorithm>
#include <unordered_map>

#include "../base/diagnostic.h"
#include "../base/stack.h"
#include "math.h"
#include "print.h"
#include "scalar_ops.h"
#include "visit.h"

namespace calotype::ir {

double Value::as_float(int lane) const { return lane_to_double(lanes[lane]); }

Value Value::of_int(Type t, int64_t v) {
  return {t, std::vector<uint64_t>(t.lanes(), wrap_lane(t, static_cast<uint64_t>(v)))};
}

Value Value::of_float(Type t, double v) {
  return {t, std::vector<uint64_t>(t.lanes(), lane_of_double(round_to(t, v)))};
}

namespace {

constexpr int kDeep = 300;  // nesting that the caller's stack carries
constexpr int64_t kMostElements = int64_t(1)
                                  << 28;  // of an allocation: a mistake must not take all memory

// The lane of a constant, looking through broadcasts: all its lanes are equal.
bool constant_lane(const Expr &e, uint64_t *lane) {
  const Expr *p = &e;
  while (const Broadcast *b = p->as<Broadcast>()) p = &b->value;
  if (const IntImm *i = p->as<IntImm>())
    *lane = static_cast<uint64_t>(i->value);
  else if (const UIntImm *u = p->as<UIntImm>())
    *lane = u->value;
  else if (const FloatImm *f = p->as<FloatImm>())
    *lane = lane_of_double(round_to(f->type, f->value));
  else
    return false;
  return true;
}

class Evaluator {
public:
  explicit Evaluator(const EvalContext &cx) : cx_(cx), fma_(cx.fma) {}
  ScalarFlags flags;
  std::string why;  // the first reason for a failure

  bool eval(const Expr &e, Value *out);
  /// The statement; empty if it ran to its end.
  std::string run(const Stmt &start, EvalContext &cx);

private:
  using Memo = std::unordered_map<const IRNode *, Value>;
  const EvalContext &cx_;
  const bool fma_;
  int depth_ = 0;
  Scope<Value> vars_;
  Memo memo_;
  std::unordered_map<const IRNode *, Expr> expansions_;

  bool fail(const std::string &reason) {
    if (why.empty()) why = reason;
    return false;
  }
  bool node(const Expr &e, Value *out);
  bool variable(const Variable *op, Value *out);
  bool binary(const Expr &a, const Expr &b, NodeKind op, Type t, Value *out);
  bool select(const Expr &condition, const Expr &t, const Expr &f, Value *out);
  bool load(const Load *op, Value *out);
  bool ramp(const Ramp *op, Value *out);
  bool let(const Expr &e, Value *out);
  bool shuffle(const Shuffle *op, Value *out);
  bool reduce(const VectorReduce *op, Value *out);
  bool reinterpret(const Reinterpret *op, Value *out);
  bool call(const Call *op, const Expr &e, Value *out);
  bool intrinsic(const Call *op, Value *out);
  bool conditional(const Call *op, Value *out);
  bool scalar(const Expr &e, int64_t *out);

  std::string statement(const Stmt &s, EvalContext &cx);
  std::string loop(const For *op, EvalContext &cx);
  std::string store(const Store *op, EvalContext &cx);
  std::string allocate(const Allocate *op, EvalContext &cx);
  std::string assertion(const AssertStmt *op);
  std::string reason(const Expr &e) const {
    return "cannot evaluate " + to_short_string(e) + ": " + why;
  }
};

bool is_leaf(NodeKind k) { return k <= NodeKind::StringImm || k == NodeKind::Variable; }

bool Evaluator::eval(const Expr &e, Value *out) {
  if (!e.defined()) return fail("undefined expression");
  const bool shared = e->ref_count() > 1 && !is_leaf(e.kind());
  if (shared) {
    auto it = memo_.find(e.get());
    if (it != memo_.end()) return *out = it->second, true;
  }
  bool ok = false;
  if (++depth_ == kDeep) {
    run_on_large_stack([&] { ok = node(e, out); });
  } else {
    ok = node(e, out);
  }
  depth_--;
  if (ok && shared) memo_[e.get()] = *out;
  return ok;
}

bool Evaluator::node(const Expr &e, Value *out) {
  out->type = e.type();
  switch (e.kind()) {
    case NodeKind::IntImm:
    case NodeKind::UIntImm:
    case NodeKind::FloatImm: out->lanes.resize(1); return constant_lane(e, &out->lanes[0]);
    case NodeKind::StringImm: return fail("a string has no value");
    case NodeKind::Variable: return variable(e.as<Variable>(), out);
    case NodeKind::Cast: {
      Value v;
      const Expr &from = e.as<Cast>()->value;
      if (!eval(from, &v)) return false;
      const Type to = e.type().element_of(), t = from.type().element_of();
      if (to.is_handle() || t.is_handle()) return fail("handles have no value");
      out->lanes.resize(v.lanes.size());
      for (size_t i = 0; i < v.lanes.size(); i++) out->lanes[i] = scalar_cast(to, t, v.lanes[i]);
      return true;
    }
    case NodeKind::Reinterpret: return reinterpret(e.as<Reinterpret>(), out);
#define BINARY_NODE(K) \
  case NodeKind::K: return binary(e.as<K>()->a, e.as<K>()->b, NodeKind::K, e.type(), out);
#include "binary_nodes.def"
#undef BINARY_NODE
    case NodeKind::Not:
      if (!eval(e.as<Not>()->a, out)) return false;
      for (uint64_t &lane : out->lanes) lane = !lane;
      return true;
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      return select(op->condition, op->true_value, op->false_value, out);
    }
    case NodeKind::Load: return load(e.as<Load>(), out);
    case NodeKind::Ramp: return ramp(e.as<Ramp>(), out);
    case NodeKind::Broadcast: {
      Value v;
      if (!eval(e.as<Broadcast>()->value, &v)) return false;
      out->lanes.clear();
      for (int i = 0; i < e.as<Broadcast>()->lanes; i++)
        out->lanes.insert(out->lanes.end(), v.lanes.begin(), v.lanes.end());
      return true;
    }
    case NodeKind::Call: return call(e.as<Call>(), e, out);
    case NodeKind::Let: return let(e, out);
    case NodeKind::Shuffle: return shuffle(e.as<Shuffle>(), out);
    case NodeKind::VectorReduce: return reduce(e.as<VectorReduce>(), out);
    default: return fail("no expression");
  }
}

bool Evaluator::variable(const Variable *op, Value *out) {
  const Value *value = vars_.find(op->name);
  if (!value) {
    auto it = cx_.vars.find(op->name.str());
    if (it != cx_.vars.end()) value = &it->second;
  }
  if (!value) return fail("variable " + op->name + " has no value");
  if (value->type != op->type)
    return fail("variable " + op->name + " has type " + to_string(value->type));
  *out = *value;
  return true;
}

bool Evaluator::binary(const Expr &a, const Expr &b, NodeKind op, Type t, Value *out) {
  Value x, y;
  if (!eval(a, &x) || !eval(b, &y)) return false;
  if (x.lanes.size() != y.lanes.size()) return fail("operands differ in lanes");
  out->type = t;
  out->lanes.resize(x.lanes.size());
  const Type element = a.type().element_of();
  for (size_t i = 0; i < x.lanes.size(); i++) {
    if (!scalar_binary(op, element, x.lanes[i], y.lanes[i], &out->lanes[i], &flags))
      return fail("not defined for its type");
  }
  return true;
}

bool Evaluator::select(const Expr &condition, const Expr &t, const Expr &f, Value *out) {
  Value c, x, y;
  if (!eval(condition, &c) || !eval(t, &x) || !eval(f, &y)) return false;
  const size_t n = x.lanes.size();
  if (y.lanes.size() != n || (c.lanes.size() != n && c.lanes.size() != 1))
    return fail("operands differ in lanes");
  out->lanes.resize(n);
  for (size_t i = 0; i < n; i++)
    out->lanes[i] = c.lanes[c.lanes.size() == 1 ? 0 : i] ? x.lanes[i] : y.lanes[i];
  return true;
}

bool Evaluator::load(const Load *op, Value *out) {
  auto memory = cx_.memory.find(op->name.str());
  if (memory == cx_.memory.end()) return fail("buffer " + op->name + " has no memory");
  auto type = cx_.memory_types.find(op->name.str());
  if (type != cx_.memory_types.end() && type->second.element_of() != op->type.element_of()) {
    return fail("buffer " + op->name + " holds " + to_string(type->second));
  }
  Value index, predicate;
  if (!eval(op->index, &index) || !eval(op->predicate, &predicate)) return false;
  if (index.lanes.size() != predicate.lanes.size()) return fail("operands differ in lanes");
  out->lanes.assign(index.lanes.size(), 0);
  for (size_t i = 0; i < index.lanes.size(); i++) {
    if (!predicate.lanes[i]) continue;
    if (index.lanes[i] >= memory->second.size()) {  // negative ones are huge
      return fail(op->name + "[" + std::to_string(index.as_int(static_cast<int>(i))) +
                  "] lies outside its " + std::to_string(memory->second.size()) + " elements");
    }
    out->lanes[i] = memory->second[index.lanes[i]];
  }
  return true;
}

bool Evaluator::ramp(const Ramp *op, Value *out) {
  Value base, stride;
  if (!eval(op->base, &base) || !eval(op->stride, &stride)) return false;
  const Type t = op->base.type().element_of();
  const size_t n = base.lanes.size();
  out->lanes.resize(n * op->lanes);
  for (int j = 0; j < op->lanes; j++) {
    const uint64_t step = scalar_cast(t, Int(32), static_cast<uint64_t>(static_cast<int64_t>(j)));
    for (size_t i = 0; i < n; i++) {
      uint64_t offset = 0;
      if (!scalar_binary(NodeKind::Mul, t, stride.lanes[i], step, &offset, &flags) ||
          !scalar_binary(NodeKind::Add, t, base.lanes[i], offset, &out->lanes[j * n + i], &flags)) {
        return fail("not defined for its type");
      }
    }
  }
  return true;
}

// A chain of lets in a loop; each makes a scope with a memo of its own.
bool Evaluator::let(const Expr &e, Value *out) {
  std::vector<std::pair<Name, Memo>> outer;
  const Expr *body = &e;
  bool ok = true;
  for (const Let *op; ok && (op = body->as<Let>()); body = &op->body) {
    Value v;
    ok = eval(op->value, &v);
    if (!ok) break;
    vars_.push(op->name, std::move(v));
    outer.emplace_back(op->name, std::move(memo_));
    memo_ = Memo();
  }
  ok = ok && eval(*body, out);
  for (; !outer.empty(); outer.pop_back()) {
    vars_.pop(outer.back().first);
    memo_ = std::move(outer.back().second);
  }
  return ok;
}

bool Evaluator::shuffle(const Shuffle *op, Value *out) {
  std::vector<uint64_t> all;
  for (const Expr &e : op->vectors) {
    Value v;
    if (!eval(e, &v)) return false;
    all.insert(all.end(), v.lanes.begin(), v.lanes.end());
  }
  out->lanes.clear();
  for (int i : op->indices) {
    if (i < 0 || static_cast<size_t>(i) >= all.size())
      return fail("shuffle of a lane that is not there");
    out->lanes.push_back(all[i]);
  }
  return true;
}

bool Evaluator::reduce(const VectorReduce *op, Value *out) {
  Value v;
  if (!eval(op->value, &v)) return false;
  const size_t n = op->type.lanes(), group = v.lanes.size() / n;
  out->lanes.resize(n);
  for (size_t i = 0; i < n; i++) {
    uint64_t sum = v.lanes[i * group];
    for (size_t j = 1; j < group; j++) {
      if (!scalar_reduce(op->op, op->type.element_of(), sum, v.lanes[i * group + j], &sum,
                         &flags)) {
        return fail("not defined for its type");
      }
    }
    out->lanes[i] = sum;
  }
  return true;
}

bool Evaluator::reinterpret(const Reinterpret *op, Value *out) {
  Value v;
  if (!eval(op->value, &v)) return false;
  const Type from = op->value.type().element_of(), to = op->type.element_of();
  if (from.is_handle() || to.is_handle()) return fail("handles have no value");
  if (from.bits() % 8 != 0 || to.bits() % 8 != 0) {
    if (from.bits() != to.bits()) return fail("reinterpret of single bits");
    *out = v, out->type = op->type;
    return true;
  }
  std::vector<uint8_t> bytes;
  for (uint64_t lane : v.lanes) {
    const uint64_t bits = lane_to_memory(from, lane);
    for (int i = 0; i < from.bytes(); i++) bytes.push_back(static_cast<uint8_t>(bits >> 8 * i));
  }
  out->lanes.assign(op->type.lanes(), 0);
  for (size_t i = 0; i < out->lanes.size(); i++) {
    uint64_t bits = 0;
    for (int j = 0; j < to.bytes(); j++)
      bits |= static_cast<uint64_t>(bytes[i * to.bytes() + j]) << 8 * j;
    out->lanes[i] = lane_from_memory(to, bits);
  }
  return true;
}

// --- Calls -------------------------------------------------------------------------------------------------------

bool Evaluator::call(const Call *op, const Expr &e, Value *out) {
  if (op->op == Intrinsic::None) return fail("call of " + op->name);
  const IntrinsicClass cls = intrinsic_class(op->op);
  if (op->op == Intrinsic::if_then_else) return conditional(op, out);
  if (has_scalar_meaning(op->op)) {
    if (intrinsic(op, out)) return true;
    if (cls == IntrinsicClass::Core) return fail("not defined for its type");
  }
  if (op->op == Intrinsic::return_second && op->args.size() == 2) {
    Value first;
    return eval(op->args[0], &first) && eval(op->args[1], out);
  }
  if (cls == IntrinsicClass::Marker && !op->args.empty()) return eval(op->args[0], out);
  if (op->op == Intrinsic::require && op->args.size() >= 2) {
    Value condition;
    if (!eval(op->args[0], &condition)) return false;
    for (uint64_t lane : condition.lanes) {
      if (!lane) return fail("a requirement does not hold");
    }
    return eval(op->args[1], out);
  }
  if (cls != IntrinsicClass::Expand) return fail("call of " + op->name);
  Expr &expansion = expansions_[e.get()];
  if (!expansion.defined()) expansion = expand_intrinsic(op);
  const Expr keep = expansion;  // the reference may move when further ones are added
  return eval(keep, out);
}

// False without a reason: this type has no direct meaning.
bool Evaluator::intrinsic(const Call *op, Value *out) {
  constexpr int kMost = 4;
  const int n = static_cast<int>(op->args.size());
  Value values[kMost];
  Type types[kMost];
  if (n < 1 || n > kMost) return fail("wrong number of arguments");
  for (int i = 0; i < n; i++) {
    if (!eval(op->args[i], &values[i])) return false;
    if (values[i].lanes.size() != static_cast<size_t>(op->type.lanes()))
      return fail("operands differ in lanes");
    types[i] = op->args[i].type().element_of();
  }
  out->type = op->type;
  out->lanes.resize(op->type.lanes());
  for (size_t lane = 0; lane < out->lanes.size(); lane++) {
    uint64_t args[kMost];
    for (int i = 0; i < n; i++) args[i] = values[i].lanes[lane];
    if (!scalar_intrinsic({op->op, op->type.element_of(), types, args, n, fma_}, &out->lanes[lane],
                          &flags))
      return false;
  }
  return true;
}

bool Evaluator::conditional(const Call *op, Value *out) {
  Value c;
  if (op->args.size() < 2 || !eval(op->args[0], &c)) return fail("wrong number of arguments");
  if (c.lanes.size() == 1 && c.lanes[0]) return eval(op->args[1], out);
  if (op->args.size() < 3) return fail("if_then_else without a value");
  return c.lanes.size() == 1 ? eval(op->args[2], out)
                             : select(op->args[0], op->args[1], op->args[2], out);
}

// --- Statements --------------------------------------------------------------------------------------------------

bool Evaluator::scalar(const Expr &e, int64_t *out) {
  Value v;
  memo_.clear();
  if (!eval(e, &v)) return false;
  if (v.lanes.size() != 1) return fail("a scalar was expected");
  *out = v.as_int();
  return true;
}

std::string Evaluator::run(const Stmt &start, EvalContext &cx) {
  std::vector<Name> bound;
  std::string error;
  Stmt s = start;
  while (s.defined() && error.empty()) {
    if (const LetStmt *let = s.as<LetStmt>()) {
      Value v;
      memo_.clear();
      if (!eval(let->value, &v)) {
        error = reason(let->value);
        break;
      }
      vars_.push(let->name, std::move(v));
      bound.push_back(let->name);
      s = let->body;
    } else if (const Block *block = s.as<Block>()) {
      error = run(block->first, cx);
      s = block->rest;
    } else if (const ProducerConsumer *pc = s.as<ProducerConsumer>()) {
      s = pc->body;
    } else if (const Atomic *atomic = s.as<Atomic>()) {
      s = atomic->body;
    } else if (const IfThenElse *branch = s.as<IfThenElse>()) {
      int64_t condition = 0;
      if (!scalar(branch->condition, &condition)) error = reason(branch->condition);
      s = condition ? branch->then_case : branch->else_case;
    } else {
      error = statement(s, cx);
      break;
    }
  }
  for (Name n : bound) vars_.pop(n);
  return error;
}

std::string Evaluator::statement(const Stmt &s, EvalContext &cx) {
  if (const For *f = s.as<For>()) return loop(f, cx);
  if (const Store *st = s.as<Store>()) return store(st, cx);
  if (const Allocate *a = s.as<Allocate>()) return allocate(a, cx);
  if (const AssertStmt *assertion_stmt = s.as<AssertStmt>()) return assertion(assertion_stmt);
  if (const Evaluate *e = s.as<Evaluate>()) {
    Value v;
    memo_.clear();
    return eval(e->value, &v) ? "" : reason(e->value);
  }
  return "not a flat statement: " + to_short_string(s);
}

std::string Evaluator::loop(const For *op, EvalContext &cx) {
  int64_t min = 0, extent = 0;
  if (!scalar(op->min, &min)) return reason(op->min);
  if (!scalar(op->extent, &extent)) return reason(op->extent);
  for (int64_t i = 0; i < extent; i++) {
    ScopedBinding<Value> bind(vars_, op->name, Value::of_int(op->min.type(), min + i));
    const std::string error = run(op->body, cx);
    if (!error.empty()) return error;
  }
  return "";
}

std::string Evaluator::store(const Store *op, EvalContext &cx) {
  auto memory = cx.memory.find(op->name.str());
  if (memory == cx.memory.end()) return "buffer " + op->name + " has no memory";
  auto type = cx.memory_types.find(op->name.str());
  if (type != cx.memory_types.end() && type->second.element_of() != op->value.type().element_of()) {
    return "buffer " + op->name + " holds " + to_string(type->second) + ", the value is " +
           to_string(op->value.type());
  }
  Value value, index, predicate;
  memo_.clear();
  if (!eval(op->value, &value)) return reason(op->value);
  if (!eval(op->index, &index)) return reason(op->index);
  if (!eval(op->predicate, &predicate)) return reason(op->predicate);
  for (size_t i = 0; i < index.lanes.size(); i++) {
    if (!predicate.lanes[i]) continue;
    if (index.lanes[i] >= memory->second.size()) {
      return "store to " + op->name + "[" + std::to_string(index.as_int(static_cast<int>(i))) +
             "] outside its " + std::to_string(memory->second.size()) + " elements";
    }
    memory->second[index.lanes[i]] = value.lanes[i];
  }
  return "";
}

// Fresh memory starts as zeros: what a program reads before it writes is its own mistake.
std::string Evaluator::allocate(const Allocate *op, EvalContext &cx) {
  int64_t condition = 0, size = 1;
  if (!scalar(op->condition, &condition)) return reason(op->condition);
  for (const Expr &e : op->extents) {
    int64_t extent = 0;
    if (!scalar(e, &extent)) return reason(e);
    if (extent < 0 || extent > kMostElements || size * extent > kMostElements)
      return "allocation of " + op->name + " is too large";
    size *= extent;
  }
  const std::string name = op->name;
  const auto types = cx.memory_types.find(name);
  const Type outer_type = types == cx.memory_types.end() ? Type() : types->second;
  std::vector<uint64_t> outer;
  const bool shadows = cx.memory.count(name) > 0;
  if (shadows) outer = std::move(cx.memory[name]);
  cx.memory[name].assign(condition ? static_cast<size_t>(size) * op->type.lanes() : 0, 0);
  cx.memory_types[name] = op->type.element_of();
  const std::string error = run(op->body, cx);
  cx.memory.erase(name);
  cx.memory_types.erase(name);
  if (shadows) cx.memory[name] = std::move(outer);
  if (outer_type.bits() > 0) cx.memory_types[name] = outer_type;
  return error;
}

std::string Evaluator::assertion(const AssertStmt *op) {
  int64_t condition = 0;
  if (!scalar(op->condition, &condition)) return reason(op->condition);
  return condition ? ""
                   : "assertion failed: " + to_short_string(op->condition) + ", " +
                         to_short_string(op->message);
}

// --- Folding -----------------------------------------------------------------------------------------------------

Expr constant_of_lane(Type t, uint64_t lane) {
  if (t.is_float()) return make_float(t, lane_to_double(lane));
  return t.is_int() ? make_int(t, static_cast<int64_t>(lane)) : make_uint(t, lane);
}

// An operation whose operands' lanes are all equal gives a vector of equal lanes: computed once.
bool fold_binary(const Expr &e, const Expr &a, const Expr &b, uint64_t *out, ScalarFlags *flags) {
  uint64_t x, y;
  return constant_lane(a, &x) && constant_lane(b, &y) &&
         scalar_binary(e.kind(), a.type().element_of(), x, y, out, flags);
}

bool fold_intrinsic(const Call *op, uint64_t *out, ScalarFlags *flags) {
  constexpr int kMost = 4;
  Type types[kMost];
  uint64_t args[kMost];
  const int n = static_cast<int>(op->args.size());
  if (n < 1 || n > kMost || !has_scalar_meaning(op->op)) return false;
  for (int i = 0; i < n; i++) {
    if (!constant_lane(op->args[i], &args[i])) return false;
    types[i] = op->args[i].type().element_of();
  }
  return scalar_intrinsic({op->op, op->type.element_of(), types, args, n, true}, out, flags);
}

bool is_foldable_call(const Call *op) {
  const IntrinsicClass cls = intrinsic_class(op->op);
  if (cls != IntrinsicClass::Core && cls != IntrinsicClass::Expand) return false;
  uint64_t lane;
  return std::all_of(op->args.begin(), op->args.end(),
                     [&](const Expr &a) { return constant_lane(a, &lane); });
}

// The slow way for the rest: expansions, reductions, shuffles.
bool fold_by_evaluation(const Expr &e, uint64_t *out, ScalarFlags *flags) {
  const EvalContext nothing;
  Evaluator evaluator(nothing);
  Value v;
  if (!evaluator.eval(e, &v)) return false;
  *flags = evaluator.flags;
  *out = v.lanes[0];
  return std::all_of(v.lanes.begin(), v.lanes.end(),
                     [&](uint64_t lane) { return lane == v.lanes[0]; });
}

bool fold_lane(const Expr &e, uint64_t *out, ScalarFlags *flags) {
  uint64_t x;
  switch (e.kind()) {
#define BINARY_NODE(K) \
  case NodeKind::K: return fold_binary(e, e.as<K>()->a, e.as<K>()->b, out, flags);
#include "binary_nodes.def"
#undef BINARY_NODE
    case NodeKind::Not:
      if (!constant_lane(e.as<Not>()->a, &x)) return false;
      *out = !x;
      return true;
    case NodeKind::Cast: {
      const Expr &value = e.as<Cast>()->value;
      if (e.type().is_handle() || !constant_lane(value, &x)) return false;
      *out = scalar_cast(e.type().element_of(), value.type().element_of(), x);
      return true;
    }
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      uint64_t c, y;
      if (!constant_lane(op->condition, &c) || !constant_lane(op->true_value, &x) ||
          !constant_lane(op->false_value, &y)) {
        return false;
      }
      *out = c ? x : y;
      return true;
    }
    case NodeKind::Reinterpret:
      return !e.type().is_handle() && constant_lane(e.as<Reinterpret>()->value, &x) &&
             fold_by_evaluation(e, out, flags);
    case NodeKind::Call: {
      const Call *op = e.as<Call>();
      if (fold_intrinsic(op, out, flags)) return true;
      return is_foldable_call(op) && fold_by_evaluation(e, out, flags);
    }
    case NodeKind::VectorReduce:
      return constant_lane(e.as<VectorReduce>()->value, &x) && fold_by_evaluation(e, out, flags);
    case NodeKind::Shuffle: {
      for (const Expr &v : e.as<Shuffle>()->vectors) {
        if (!constant_lane(v, &x)) return false;
      }
      return fold_by_evaluation(e, out, flags);
    }
    default: return false;
  }
}

}  // namespace

std::optional<Value> evaluate(const Expr &e, const EvalContext &cx) {
  Evaluator evaluator(cx);
  Value v;
  if (!evaluator.eval(e, &v)) return std::nullopt;
  return v;
}

std::string execute(const Stmt &s, EvalContext &cx) {
  std::string error;
  run_on_large_stack([&] { error = Evaluator(cx).run(s, cx); });
  return error;
}

Expr fold(const Expr &e) {
  ScalarFlags flags;
  uint64_t lane = 0;
  if (!e.defined() || !fold_lane(e, &lane, &flags) || flags.unspecified || flags.fma_matters)
    return {};
  return make_broadcast(constant_of_lane(e.type().element_of(), lane), e.type().lanes());
}

}  // namespace calotype::ir
