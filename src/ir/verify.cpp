// Checks what nodes.def promises. Three walks: each node once for the types of its operands (shared nodes are not
// looked at again), each path of statements for names, and Programs for their declarations.
// Tests: test/unit/ir/verify_test.cpp.
#include "verify.h"

#include <algorithm>
#include <unordered_set>

#include "../base/stack.h"
#include "print.h"
#include "visit.h"

namespace calotype::ir {

namespace {

constexpr size_t kMostViolations = 20;

std::string lanes_text(int n) { return std::to_string(n) + (n == 1 ? " lane" : " lanes"); }

// --- Single nodes ------------------------------------------------------------------------------------------------

std::string same_types(const Expr &a, const Expr &b) {
  if (a.type() == b.type()) return "";
  return "operands have types " + to_string(a.type()) + " and " + to_string(b.type());
}

struct Arity {
  int least, most;
};

Arity arity_of(Intrinsic op) {
  constexpr int kAny = 1 << 20;
  switch (op) {
    case Intrinsic::undef: return {0, 0};
    case Intrinsic::fma:
    case Intrinsic::lerp:
    case Intrinsic::mul_shift_right:
    case Intrinsic::rounding_mul_shift_right:
    case Intrinsic::unsafe_promise_clamped:
    case Intrinsic::promise_clamped:
    case Intrinsic::buffer_set_type: return {3, 3};
    case Intrinsic::if_then_else: return {2, 3};
    case Intrinsic::prefetch: return {1, 3};
    case Intrinsic::random:
    case Intrinsic::print:
    case Intrinsic::trace:
    case Intrinsic::extern_stage:
    case Intrinsic::memoize_tag:
    case Intrinsic::error: return {1, kAny};
    case Intrinsic::memo_lookup:
    case Intrinsic::memo_store: return {3, kAny};
    case Intrinsic::buffer_make:
    case Intrinsic::require:
    case Intrinsic::print_when: return {2, kAny};
    case Intrinsic::buffer_set_bounds: return {5, 5};
    case Intrinsic::buffer_min:
    case Intrinsic::buffer_extent:
    case Intrinsic::buffer_stride:
    case Intrinsic::bitwise_and:
    case Intrinsic::bitwise_or:
    case Intrinsic::bitwise_xor:
    case Intrinsic::shift_left:
    case Intrinsic::shift_right:
    case Intrinsic::absd:
    case Intrinsic::saturating_add:
    case Intrinsic::saturating_sub:
    case Intrinsic::widening_add:
    case Intrinsic::widening_sub:
    case Intrinsic::widening_mul:
    case Intrinsic::widening_shift_left:
    case Intrinsic::widening_shift_right:
    case Intrinsic::widen_right_add:
    case Intrinsic::widen_right_sub:
    case Intrinsic::widen_right_mul:
    case Intrinsic::halving_add:
    case Intrinsic::halving_sub:
    case Intrinsic::rounding_halving_add:
    case Intrinsic::rounding_shift_left:
    case Intrinsic::rounding_shift_right:
    case Intrinsic::sorted_avg:
    case Intrinsic::pow:
    case Intrinsic::atan2:
    case Intrinsic::hypot:
    case Intrinsic::fast_pow:
    case Intrinsic::fast_atan2:
    case Intrinsic::return_second: return {2, 2};
    default: return {1, 1};
  }
}

// Whether all operands and the result have one type.
bool is_uniform(Intrinsic op) {
  switch (op) {
    case Intrinsic::bitwise_and:
    case Intrinsic::bitwise_or:
    case Intrinsic::bitwise_xor:
    case Intrinsic::bitwise_not:
    case Intrinsic::fma:
    case Intrinsic::sqrt:
    case Intrinsic::floor:
    case Intrinsic::ceil:
    case Intrinsic::trunc:
    case Intrinsic::round:
    case Intrinsic::saturating_add:
    case Intrinsic::saturating_sub:
    case Intrinsic::halving_add:
    case Intrinsic::halving_sub:
    case Intrinsic::rounding_halving_add:
    case Intrinsic::sorted_avg:
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost:
    case Intrinsic::strict_float: return true;
    default: return false;
  }
}

bool needs_floats(Intrinsic op) {
  return op == Intrinsic::fma || op == Intrinsic::sqrt || op == Intrinsic::floor ||
         op == Intrinsic::ceil || op == Intrinsic::trunc || op == Intrinsic::round;
}

bool needs_integers(Intrinsic op) {
  switch (op) {
    case Intrinsic::shift_left:
    case Intrinsic::shift_right:
    case Intrinsic::popcount:
    case Intrinsic::count_leading_zeros:
    case Intrinsic::count_trailing_zeros:
    case Intrinsic::saturating_add:
    case Intrinsic::saturating_sub:
    case Intrinsic::halving_add:
    case Intrinsic::halving_sub:
    case Intrinsic::rounding_halving_add:
    case Intrinsic::rounding_shift_left:
    case Intrinsic::rounding_shift_right: return true;
    default: return false;
  }
}

std::string intrinsic_problem(const Call *op) {
  const std::string name = intrinsic_name(op->op);
  const auto [least, most] = arity_of(op->op);
  const int n = static_cast<int>(op->args.size());
  if (n < least || n > most) {
    return name + " takes " + std::to_string(least) + (most == least ? "" : " or more") +
           " arguments, not " + std::to_string(n);
  }
  const IntrinsicClass cls = intrinsic_class(op->op);
  if (cls != IntrinsicClass::Core && cls != IntrinsicClass::Expand && cls != IntrinsicClass::Marker)
    return "";
  for (const Expr &a : op->args) {
    const bool scalar_condition =
        op->op == Intrinsic::if_then_else && a.type().is_bool() && a.type().is_scalar();
    if (a.type().lanes() != op->type.lanes() && !scalar_condition) {
      return name + " of " + lanes_text(op->type.lanes()) + " has an operand of " +
             lanes_text(a.type().lanes());
    }
  }
  const Type first = op->args[0].type();
  if (is_uniform(op->op)) {
    for (const Expr &a : op->args) {
      if (a.type() != op->type)
        return name + " of " + to_string(op->type) + " has an operand of " + to_string(a.type());
    }
  }
  if (needs_floats(op->op) && !first.is_float())
    return name + " needs floating point, not " + to_string(first);
  if (needs_integers(op->op) && !first.is_int_or_uint())
    return name + " needs integers, not " + to_string(first);
  return "";
}

std::string load_or_store_problem(const Expr &index, const Expr &predicate, int lanes) {
  const Type i = index.type();
  if (!i.is_int_or_uint() || i.is_bool()) return "index has type " + to_string(i);
  if (i.lanes() != lanes)
    return "index has " + lanes_text(i.lanes()) + ", the value " + lanes_text(lanes);
  if (predicate.type() != Bool(lanes)) return "predicate has type " + to_string(predicate.type());
  return "";
}

// Problems of each kind of node. Children are defined when these are called.
struct NodeProblem {
  Expr e;
  std::string expect(Type t) const {
    return e.type() == t
               ? ""
               : "has type " + to_string(e.type()) + ", its operands give " + to_string(t);
  }
  std::string arithmetic(const Expr &a, const Expr &b) const {
    const std::string problem = same_types(a, b);
    if (!problem.empty()) return problem;
    return a.type().is_handle() ? "arithmetic on handles" : expect(a.type());
  }
  std::string comparison(const Expr &a, const Expr &b) const {
    const std::string problem = same_types(a, b);
    return problem.empty() ? expect(Bool(a.type().lanes())) : problem;
  }
  std::string logic(const Expr &a, const Expr &b) const {
    return a.type().is_bool() ? arithmetic(a, b)
                              : "operand has type " + to_string(a.type()) + ", not bool";
  }
  std::string check(const IntImm *op) const {
    if (!op->type.is_int() || op->type.is_vector())
      return "integer constant of type " + to_string(op->type);
    return op->type.can_represent(op->value) ? "" : "constant does not fit " + to_string(op->type);
  }
  std::string check(const UIntImm *op) const {
    if (!op->type.is_uint() || op->type.is_vector())
      return "unsigned constant of type " + to_string(op->type);
    return op->type.can_represent(op->value) ? "" : "constant does not fit " + to_string(op->type);
  }
  std::string check(const FloatImm *op) const {
    if (!op->type.is_float() || op->type.is_vector())
      return "floating-point constant of type " + to_string(op->type);
    return op->type.can_represent(op->value) ? "" : "constant does not fit " + to_string(op->type);
  }
  std::string check(const StringImm *) const { return expect(Handle()); }
  std::string check(const Cast *op) const {
    if (op->value.type().lanes() != op->type.lanes()) return "cast changes the number of lanes";
    const bool handle = op->type.is_handle() != op->value.type().is_handle();
    return handle && op->type.is_float() ? "cast of a handle to floating point" : "";
  }
  std::string check(const Reinterpret *op) const {
    const Type t = op->type, v = op->value.type();
    return t.bits() * t.lanes() == v.bits() * v.lanes() ? "" : "reinterpret changes the size";
  }
  std::string check(const Variable *op) const {
    if (op->name.empty()) return "variable without a name";
    return op->type.bits() > 0 && op->type.lanes() > 0 ? "" : "variable without a type";
  }
  std::string check(const Add *op) const { return arithmetic(op->a, op->b); }
  std::string check(const Sub *op) const { return arithmetic(op->a, op->b); }
  std::string check(const Mul *op) const { return arithmetic(op->a, op->b); }
  std::string check(const Div *op) const { return arithmetic(op->a, op->b); }
  std::string check(const Mod *op) const { return arithmetic(op->a, op->b); }
  std::string check(const Min *op) const { return arithmetic(op->a, op->b); }
  std::string check(const Max *op) const { return arithmetic(op->a, op->b); }
  std::string check(const EQ *op) const { return comparison(op->a, op->b); }
  std::string check(const NE *op) const { return comparison(op->a, op->b); }
  std::string check(const LT *op) const { return comparison(op->a, op->b); }
  std::string check(const LE *op) const { return comparison(op->a, op->b); }
  std::string check(const GT *op) const { return comparison(op->a, op->b); }
  std::string check(const GE *op) const { return comparison(op->a, op->b); }
  std::string check(const And *op) const { return logic(op->a, op->b); }
  std::string check(const Or *op) const { return logic(op->a, op->b); }
  std::string check(const Not *op) const { return logic(op->a, op->a); }
  std::string check(const Select *op) const {
    const Type c = op->condition.type();
    if (!c.is_bool()) return "condition has type " + to_string(c);
    if (c.is_vector() && c.lanes() != e.type().lanes())
      return "condition has " + lanes_text(c.lanes());
    const std::string problem = same_types(op->true_value, op->false_value);
    return problem.empty() ? expect(op->true_value.type()) : problem;
  }
  std::string check(const Load *op) const {
    return op->name.empty() ? "load without a name"
                            : load_or_store_problem(op->index, op->predicate, op->type.lanes());
  }
  std::string check(const Ramp *op) const {
    if (op->lanes < 2) return "ramp of " + lanes_text(op->lanes);
    const std::string problem = same_types(op->base, op->stride);
    return problem.empty() ? expect(op->base.type().with_lanes(op->base.type().lanes() * op->lanes))
                           : problem;
  }
  std::string check(const Broadcast *op) const {
    if (op->lanes < 2) return "broadcast to " + lanes_text(op->lanes);
    return expect(op->value.type().with_lanes(op->value.type().lanes() * op->lanes));
  }
  std::string check(const Call *op) const {
    if (op->name.empty()) return "call without a name";
    const bool intrinsic =
        op->call_type == CallType::Intrinsic || op->call_type == CallType::PureIntrinsic;
    if (intrinsic != (op->op != Intrinsic::None)) return "call type and intrinsic disagree";
    if (intrinsic) return intrinsic_problem(op);
    if (op->call_type == CallType::Image && !op->param) return "image call without a parameter";
    if (op->call_type != CallType::Halide && op->call_type != CallType::Image) return "";
    for (const Expr &a : op->args) {
      if (a.type().element_of() != Int(32))
        return "coordinate has type " + to_string(a.type()) + ", not i32";
    }
    return op->value_index >= 0 ? "" : "negative Tuple element";
  }
  std::string check(const Let *op) const {
    return op->name.empty() ? "let without a name" : expect(op->body.type());
  }
  std::string check(const Shuffle *op) const {
    int lanes = 0;
    for (const Expr &v : op->vectors) {
      if (v.type().element_of() != e.type().element_of()) return same_types(v, op->vectors[0]);
      lanes += v.type().lanes();
    }
    for (int i : op->indices) {
      if (i < 0 || i >= lanes)
        return "there is no lane " + std::to_string(i) + " among " + std::to_string(lanes);
    }
    return expect(e.type().with_lanes(static_cast<int>(op->indices.size())));
  }
  std::string check(const VectorReduce *op) const {
    if (op->value.type().element_of() != op->type.element_of())
      return "result and operand differ in type";
    if (op->value.type().lanes() % op->type.lanes() != 0)
      return "lanes of the result do not divide the operand's";
    const bool logical = op->op == ReduceOp::And || op->op == ReduceOp::Or;
    return logical && !op->type.is_bool() ? "logical reduction of " + to_string(op->type) : "";
  }
};

// Whether an undefined child is an error.
bool missing(const Expr &e) { return !e.defined(); }
bool missing(const std::vector<Expr> &es) {
  return std::any_of(es.begin(), es.end(), [](const Expr &e) { return !e.defined(); });
}
bool missing(const Region &r) {
  return std::any_of(r.begin(), r.end(),
                     [](const Range &x) { return !x.min.defined() || !x.extent.defined(); });
}
bool missing(const Stmt &s) { return !s.defined(); }
template <typename T> bool missing(const T &) { return false; }

std::string statement_problem(const For *op) {
  if (op->name.empty()) return "loop without a name";
  return op->min.type() == Int(32) && op->extent.type() == Int(32)
             ? ""
             : "loop over " + to_string(op->min.type()) + " and " + to_string(op->extent.type()) +
                   ", not i32";
}
std::string statement_problem(const Store *op) {
  return op->name.empty()
             ? "store without a name"
             : load_or_store_problem(op->index, op->predicate, op->value.type().lanes());
}
std::string statement_problem(const Provide *op) {
  if (op->values.empty()) return "no value";
  for (const Expr &a : op->args) {
    if (a.type().element_of() != Int(32))
      return "coordinate has type " + to_string(a.type()) + ", not i32";
  }
  return op->predicate.type().is_bool() ? ""
                                        : "predicate has type " + to_string(op->predicate.type());
}
std::string statement_problem(const Allocate *op) {
  for (const Expr &x : op->extents) {
    if (!x.type().is_int_or_uint() || !x.type().is_scalar())
      return "extent has type " + to_string(x.type());
  }
  return op->condition.type() == Bool() ? ""
                                        : "condition has type " + to_string(op->condition.type());
}
std::string statement_problem(const Realize *op) {
  for (const Range &r : op->bounds) {
    if (r.min.type() != Int(32) || r.extent.type() != Int(32)) return "bounds are not i32";
  }
  if (op->types.empty()) return "no type";
  return op->condition.type() == Bool() ? ""
                                        : "condition has type " + to_string(op->condition.type());
}
std::string statement_problem(const IfThenElse *op) {
  return op->condition.type() == Bool() ? ""
                                        : "condition has type " + to_string(op->condition.type());
}
std::string statement_problem(const AssertStmt *op) {
  return op->condition.type() == Bool() ? ""
                                        : "condition has type " + to_string(op->condition.type());
}
std::string statement_problem(const LetStmt *op) {
  return op->name.empty() ? "let without a name" : "";
}
template <typename T> std::string statement_problem(const T *) { return ""; }

// --- Walks -------------------------------------------------------------------------------------------------------

struct Report {
  std::vector<std::string> lines;
  bool full() const { return lines.size() >= kMostViolations; }
  template <typename Node> void add(const std::string &problem, const Node &node) {
    if (!full()) lines.push_back(problem + ": " + to_short_string(node));
  }
};

void check_expr(const Expr &e, Report *report, std::unordered_set<const IRNode *> *seen) {
  if (!e.defined() || !seen->insert(e.get()).second || report->full()) return;
  const std::string problem = node_problem(e);
  if (!problem.empty()) report->add(problem, e);
  switch (e.kind()) {
    // Enters the children by the field list, so that each is entered once.
#define FIELD(T, n) child(op->n);
#define STMT(Name, fields)
#define EXPR(Name, fields)                                                \
  case NodeKind::Name: {                                                  \
    const Name *op = e.as<Name>();                                        \
    auto child = [&](const auto &c) {                                     \
      using T = std::decay_t<decltype(c)>;                                \
      if constexpr (std::is_same_v<T, Expr>) check_expr(c, report, seen); \
      if constexpr (std::is_same_v<T, std::vector<Expr>>)                 \
        for (const Expr &x : c) check_expr(x, report, seen);              \
    };                                                                    \
    (void)child, (void)op;                                                \
    fields break;                                                         \
  }
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    default: break;
  }
}

class StmtVerifier {
public:
  StmtVerifier(const StmtProperties &properties, Report *report)
      : properties_(properties), report_(report) {
    for (Name n : properties.free) free_.insert(n);
  }

  // Blocks and the bodies of let, allocate and realize are followed in a loop.
  void verify(const Stmt &start) {
    std::vector<Name> bound;
    Stmt s = start;
    while (s.defined() && !report_->full()) {
      const std::string problem = node_problem(s);
      if (!problem.empty()) report_->add(problem, s);
      check_kind(s);
      s = step(s, &bound);
    }
    for (Name n : bound) leave(n);
  }

private:
  const StmtProperties &properties_;
  Report *report_;
  std::unordered_set<const IRNode *> seen_;
  std::unordered_set<Name> free_;
  std::unordered_map<Name, int> scope_;

  void enter(Name n, const Stmt &s) {
    if (properties_.unique_names && scope_.count(n))
      report_->add("name " + n + " is defined again inside itself", s);
    scope_[n]++;
  }
  void leave(Name n) {
    if (--scope_[n] == 0) scope_.erase(n);
  }

  void expr(const Expr &e) {
    if (!e.defined()) return;
    check_expr(e, report_, &seen_);
    if (!properties_.closed) return;
    for (Name n : free_vars(e)) {
      if (!scope_.count(n) && !free_.count(n)) report_->add("variable " + n + " is not defined", e);
    }
  }
  void calls(const Expr &e) {
    if (!properties_.flat_storage || !e.defined()) return;
    for_each_expr(e, [&](const Expr &x) {
      const Call *c = x.as<Call>();
      if (c && (c->call_type == CallType::Halide || c->call_type == CallType::Image)) {
        report_->add("call of a Func or image after storage is flat", x);
      }
    });
  }
  void field(const Expr &e) { expr(e), calls(e); }
  void field(const std::vector<Expr> &es) {
    for (const Expr &e : es) field(e);
  }
  void field(const Region &bounds) {
    for (const Range &r : bounds) field(r.min), field(r.extent);
  }
  template <typename T> void field(const T &) {}

  void check_kind(const Stmt &s) {
    const bool tree = s.as<Provide>() || s.as<Realize>();
    if (properties_.flat_storage && tree) report_->add("not allowed after storage is flat", s);
    const For *f = s.as<For>();
    if (properties_.no_vector_loops && f &&
        (f->for_type == ForType::Vectorized || f->for_type == ForType::Unrolled)) {
      report_->add("vectorised or unrolled loop is left", s);
    }
  }

  // Checks the statement's expressions and nested statements; returns what follows it in the same scope.
  Stmt step(const Stmt &s, std::vector<Name> *bound) {
    switch (s.kind()) {
#define FIELD(T, n) field(op->n);
#define EXPR(Name, fields)
#define STMT(Name, fields)         \
  case NodeKind::Name: {           \
    const Name *op = s.as<Name>(); \
    fields break;                  \
  }
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
      default: break;
    }
    if (const LetStmt *let = s.as<LetStmt>()) {
      enter(let->name, s);
      bound->push_back(let->name);
      return let->body;
    }
    if (const Block *b = s.as<Block>()) {
      verify(b->first);
      return b->rest;
    }
    if (const For *f = s.as<For>()) {
      enter(f->name, s);
      verify(f->body);
      leave(f->name);
    } else if (const IfThenElse *i = s.as<IfThenElse>()) {
      verify(i->then_case);
      return i->else_case;
    } else if (const ProducerConsumer *pc = s.as<ProducerConsumer>()) {
      return pc->body;
    } else if (const Atomic *atomic = s.as<Atomic>()) {
      return atomic->body;
    } else if (const Allocate *a = s.as<Allocate>()) {
      return a->body;
    } else if (const Realize *r = s.as<Realize>()) {
      return r->body;
    }
    return {};
  }
};

// --- Programs ----------------------------------------------------------------------------------------------------

class ProgramVerifier {
public:
  ProgramVerifier(const Program &p, Report *report) : program_(p), report_(report) {}

  void verify() {
    for (const ParameterRef &p : program_.params) {
      if (!params_.insert(p->name).second) say("two parameters are called " + p->name);
    }
    for (const Function &f : program_.funcs) {
      if (known_.count(f.name)) say("two Funcs are called " + f.name.str());
      known_[f.name] = &f;
      function(f);
    }
    for (Name n : program_.outputs) {
      if (!known_.count(n)) say("output " + n + " is no Func of the program");
    }
    if (program_.outputs.empty()) say("no outputs");
  }

private:
  const Program &program_;
  Report *report_;
  std::unordered_map<Name, const Function *> known_;
  std::unordered_set<std::string> params_;
  std::unordered_set<const IRNode *> seen_;

  void say(const std::string &text) {
    if (!report_->full()) report_->lines.push_back(text);
  }

  void function(const Function &f) {
    if (f.definitions.empty()) return say(f.name + " has no definition");
    for (size_t i = 0; i < f.definitions.size(); i++) {
      const Definition &d = f.definitions[i];
      const std::string where =
          i == 0 ? f.name.str() : f.name + ".update(" + std::to_string(i - 1) + ")";
      if (d.args.size() != f.args.size())
        say(where + " has " + std::to_string(d.args.size()) + " arguments");
      if (d.values.size() != f.types.size())
        say(where + " has " + std::to_string(d.values.size()) + " values");
      for (size_t v = 0; v < d.values.size() && v < f.types.size(); v++) {
        if (d.values[v].defined() && d.values[v].type() != f.types[v]) {
          report_->add(where + " has type " + to_string(f.types[v]) + " but value " +
                           std::to_string(v) + " has " + to_string(d.values[v].type()),
                       d.values[v]);
        }
      }
      if (i == 0) pure(f, d, where);
      definition(f, d, where);
    }
  }

  void pure(const Function &f, const Definition &d, const std::string &where) {
    if (!d.rvars.empty() || d.predicate.defined())
      say(where + ": a pure definition has a reduction domain");
    for (size_t i = 0; i < d.args.size() && i < f.args.size(); i++) {
      const Variable *v = d.args[i].as<Variable>();
      if (!v || v->name != f.args[i])
        say(where + ": argument " + std::to_string(i) + " is not " + f.args[i]);
    }
  }

  void definition(const Function &f, const Definition &d, const std::string &where) {
    std::unordered_set<Name> scope(f.args.begin(), f.args.end());
    for (const ReductionVariable &r : d.rvars) {
      expr(f, r.min, scope, where);
      expr(f, r.extent, scope, where);
      if (!scope.insert(r.var).second) say(where + ": " + r.var + " is bound twice");
    }
    for (const Expr &e : d.args) expr(f, e, scope, where);
    for (const Expr &e : d.values) expr(f, e, scope, where);
    if (d.predicate.defined()) expr(f, d.predicate, scope, where);
  }

  void expr(const Function &f, const Expr &e, const std::unordered_set<Name> &scope,
            const std::string &where) {
    if (!e.defined()) return say(where + ": an expression is undefined");
    check_expr(e, report_, &seen_);
    for (Name n : free_vars(e)) {
      if (!scope.count(n)) report_->add(where + ": variable " + n + " is not defined", e);
    }
    for_each_expr(e, [&](const Expr &x) {
      if (const Call *c = x.as<Call>()) {
        if (c->call_type == CallType::Halide) call(f, c, x);
      }
    });
  }

  void call(const Function &f, const Call *c, const Expr &x) {
    auto it = known_.find(c->name);
    if (it == known_.end())
      return report_->add("call of a Func that " + f.name + " does not come after", x);
    const Function &callee = *it->second;
    const size_t index = static_cast<size_t>(c->value_index);
    if (c->args.size() != callee.args.size()) report_->add("wrong number of coordinates", x);
    if (index >= callee.types.size()) return report_->add("no such Tuple element", x);
    if (c->type != callee.types[index]) report_->add("call has type " + to_string(c->type), x);
  }
};

}  // namespace

std::string node_problem(const Expr &e) {
  if (!e.defined()) return "undefined expression";
  const NodeProblem problem{e};
  switch (e.kind()) {
#define FIELD(T, n) absent |= missing(op->n);
#define STMT(Name, fields)
#define EXPR(Name, fields)                                          \
  case NodeKind::Name: {                                            \
    const Name *op = e.as<Name>();                                  \
    bool absent = false;                                            \
    fields return absent ? "undefined operand" : problem.check(op); \
  }
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    default: return "no expression";
  }
}

std::string node_problem(const Stmt &s) {
  if (!s.defined()) return "undefined statement";
  if (const IfThenElse *i =
          s.as<IfThenElse>()) {  // the only child that may be undefined is its else_case
    return missing(i->condition) || missing(i->then_case) ? "undefined operand"
                                                          : statement_problem(i);
  }
  switch (s.kind()) {
#define FIELD(T, n) absent |= missing(op->n);
#define EXPR(Name, fields)
#define STMT(Name, fields)                                              \
  case NodeKind::Name: {                                                \
    const Name *op = s.as<Name>();                                      \
    bool absent = false;                                                \
    fields return absent ? "undefined operand" : statement_problem(op); \
  }
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
    default: return "no statement";
  }
}

std::vector<std::string> verify(const Expr &e) {
  Report report;
  if (!e.defined()) return {"undefined expression"};
  std::unordered_set<const IRNode *> seen;
  run_on_large_stack([&] { check_expr(e, &report, &seen); });
  return report.lines;
}

std::vector<std::string> verify(const Stmt &s, const StmtProperties &properties) {
  Report report;
  if (!s.defined()) return {"undefined statement"};
  run_on_large_stack([&] { StmtVerifier(properties, &report).verify(s); });
  return report.lines;
}

std::vector<std::string> verify(const Program &p) {
  Report report;
  run_on_large_stack([&] { ProgramVerifier(p, &report).verify(); });
  return report.lines;
}

}  // namespace calotype::ir
