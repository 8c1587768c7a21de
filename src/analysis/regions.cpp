// Regions that expressions and statements touch. A walk keeps the loops around as variables with symbolic ranges, lets as
// substitutions, and narrows the ranges under conditions. Each access gives one interval per dimension, free of the
// variables; different ones of one dimension are merged at the end.
#include <memory>

#include "../base/diagnostic.h"
#include "../ir/equal.h"
#include "../ir/visit.h"
#include "bounder.h"
#include "linear.h"

namespace calotype::analysis {

using namespace ir;

namespace {

class Regions : public IRVisitor {
public:
  Regions(const Scope<Interval> &scope, bool reads, bool writes, const FuncValues *values = nullptr)
      : reads_(reads), writes_(writes), scope_(scope), bounder_(values) {}

  void only(Name func) { only_ = func; }
  void declare(const std::vector<Name> &free) {
    for (Name n : free) {
      if (const Interval *range = scope_.find(n)) push(n, *range, Int(32));
    }
  }
  void walk(const Expr &e) {
    declare(free_vars(e));
    enter(e);
  }
  void walk(const Stmt &s) {
    declare(free_vars(s));
    visit_stmt(s);
  }

  std::unordered_map<Name, Box> take() {
    std::unordered_map<Name, Box> boxes;
    for (auto &[name, dims] : touched_) {
      Box box;
      for (const std::vector<Interval> &intervals : dims) box.push_back(merged(intervals));
      boxes.emplace(name, std::move(box));
    }
    return boxes;
  }

private:
  // --- Walking --------------------------------------------------------------------------------------------------
  using IRVisitor::visit;

  /// Visits reads inside e, each shared node once per state of the walk.
  void enter(const Expr &e) {
    if (e.defined()) visit_expr(e);
  }
  bool first_visit(const BaseExprNode *node) {
    if (node->ref_count() == 1) return true;
    keep_.push_back(node);
    return visited_.insert(node).second;
  }
  void changed() {
    visited_.clear();
    keep_.clear();
    indices_.clear();
  }

#define CALO_ONCE(K)                           \
  void visit(const K *op) override {           \
    if (first_visit(op)) IRVisitor::visit(op); \
  }
  CALO_ONCE(Cast)
  CALO_ONCE(Add)
  CALO_ONCE(Sub)
  CALO_ONCE(Mul)
  CALO_ONCE(Div)
  CALO_ONCE(Mod)
  CALO_ONCE(Min)
  CALO_ONCE(Max)
  CALO_ONCE(EQ)
  CALO_ONCE(NE)
  CALO_ONCE(LT)
  CALO_ONCE(LE)
  CALO_ONCE(GT)
  CALO_ONCE(GE)
  CALO_ONCE(And)
  CALO_ONCE(Or)
  CALO_ONCE(Not)
  CALO_ONCE(Select)
  CALO_ONCE(Load)
  CALO_ONCE(Ramp)
  CALO_ONCE(Broadcast)
  CALO_ONCE(Shuffle)
  CALO_ONCE(VectorReduce)
  CALO_ONCE(Reinterpret)
#undef CALO_ONCE

  void visit(const Call *op) override {
    if (!first_visit(op)) return;
    if (op->op == Intrinsic::if_then_else) {
      enter(op->args[0]);
      for (size_t i = 1; i < op->args.size(); i++) {
        Narrow narrow(this, op->args[0], i == 1);
        enter(op->args[i]);
      }
      return;
    }
    for (const Expr &a : op->args) enter(a);
    if (reads_ && (op->call_type == CallType::Halide || op->call_type == CallType::Image))
      touch(op->name, op->args);
  }
  void visit(const Let *op) override {
    enter(op->value);
    Binding binding(this, op->name, op->value);
    enter(op->body);
  }
  void visit(const LetStmt *first) override {
    std::vector<std::unique_ptr<Binding>> bindings;
    Stmt rest(first);
    while (const LetStmt *op = rest.as<LetStmt>()) {
      enter(op->value);
      bindings.push_back(std::make_unique<Binding>(this, op->name, op->value));
      Stmt next = op->body;
      rest = next;
    }
    visit_stmt(rest);
    while (!bindings.empty()) bindings.pop_back();
  }
  void visit(const For *op) override {
    enter(op->min);
    enter(op->extent);
    Expr min = resolved(op->min), extent = resolved(op->extent);
    Expr max = make_sub(make_add(min, extent), make_one(min.type()));
    auto old = lets_.find(op->name);
    Expr shadowed = old == lets_.end() ? Expr() : old->second;
    push(op->name, {simplify(min), simplify(max), {}}, min.type());
    visit_stmt(op->body);
    bounder_.pop();
    if (shadowed.defined())
      lets_[op->name] = shadowed;
    else
      lets_.erase(op->name);
    changed();
  }
  void visit(const IfThenElse *op) override {
    enter(op->condition);
    {
      Narrow narrow(this, op->condition, true);
      visit_stmt(op->then_case);
    }
    if (!op->else_case.defined()) return;
    Narrow narrow(this, op->condition, false);
    visit_stmt(op->else_case);
  }
  void visit(const Provide *op) override {
    if (op->predicate.defined()) enter(op->predicate);
    Narrow narrow(this, op->predicate, true);
    for (const Expr &v : op->values) enter(v);
    for (const Expr &a : op->args) enter(a);
    if (writes_) touch(op->name, op->args);
  }

  // --- State ----------------------------------------------------------------------------------------------------
  /// A loop or scope variable: uses of n become a name of its own, which ends of outer ranges cannot mention.
  void push(Name n, Interval range, Type t) {
    Name inner(n + "~" + std::to_string(bounder_.variables().size()));
    bounder_.push(inner, std::move(range));
    lets_[n] = make_var(inner, t);
    changed();
  }
  Expr resolved(const Expr &e) { return lets_.empty() ? e : substitute(lets_, e); }

  struct Binding {
    Binding(Regions *r, Name n, const Expr &value) : regions(r), name(n) {
      auto it = r->lets_.find(n);
      if (it != r->lets_.end()) old = it->second;
      r->lets_[n] = r->resolved(value);
      r->changed();
    }
    ~Binding() {
      if (old.defined())
        regions->lets_[name] = old;
      else
        regions->lets_.erase(name);
      regions->changed();
    }
    Regions *regions;
    Name name;
    Expr old;
  };

  /// Ranges of variables under a condition, until the end of its scope.
  struct Narrow {
    Narrow(Regions *r, const Expr &condition, bool value) : regions(r) {
      if (!condition.defined() || is_const(condition)) return;
      Expr c = r->resolved(condition);
      if (!value) c = make_not(c);
      if (c.type().is_vector() && !c.as<Broadcast>()) return;
      Bounder &b = r->bounder_;
      std::unordered_set<Name> names;
      for (Name n : free_vars(c)) names.insert(n);
      for (size_t i = 0; i < b.variables().size(); i++) {
        Name n = b.variables()[i].name;
        if (!names.count(n)) continue;
        Interval solved = solve_outer(c, n);
        // In terms of what lies outside all variables: the ends may use inner ones.
        if (solved.has_lower()) solved.min = b.of(solved.min).min;
        if (solved.has_upper()) solved.max = b.of(solved.max).max;
        if (!solved.has_lower() && !solved.has_upper()) continue;
        saved.emplace_back(i, b.exchange(i, intersection(b.variables()[i].range, solved)));
      }
      if (!saved.empty()) r->changed();
    }
    ~Narrow() {
      if (saved.empty()) return;
      while (!saved.empty()) {
        regions->bounder_.exchange(saved.back().first, saved.back().second);
        saved.pop_back();
      }
      regions->changed();
    }
    Narrow(const Narrow &) = delete;
    Narrow &operator=(const Narrow &) = delete;
    Regions *regions;
    std::vector<std::pair<size_t, Interval>> saved;
  };

  // --- Results --------------------------------------------------------------------------------------------------
  void touch(Name name, const std::vector<Expr> &args) {
    if (!only_.empty() && name != only_) return;
    std::vector<std::vector<Interval>> &dims = touched_[name];
    if (dims.empty()) dims.resize(args.size());
    CALO_ASSERT(dims.size() == args.size(), "accesses of different dimensions: " + name.str());
    for (size_t d = 0; d < args.size(); d++) {
      const Interval i = of_index(args[d]);
      bool present = false;
      for (const Interval &old : dims[d])
        present = present || (same(old.min, i.min) && same(old.max, i.max));
      if (!present) dims[d].push_back(i);
    }
  }
  /// Stencils and pyramids read at few different indices many times.
  Interval of_index(const Expr &index) {
    for (const auto &[known, interval] : indices_) {
      if (equal(known, index)) return interval;
    }
    indices_.emplace_back(index, bounder_.of(resolved(index)));
    return indices_.back().second;
  }
  static bool same(const Expr &a, const Expr &b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    return equal(a, b);
  }
  static Interval merged(const std::vector<Interval> &intervals) {
    if (intervals.empty()) return Interval::everything("nothing is known");
    Interval r = intervals[0];
    for (size_t i = 1; i < intervals.size(); i++) r = hull(r, intervals[i]);
    if (r.is_point()) return r;
    if (r.has_lower()) r.min = simplify(r.min);
    if (r.has_upper()) r.max = simplify(r.max);
    return r;
  }

  bool reads_, writes_;
  const Scope<Interval> &scope_;
  Name only_;
  Bounder bounder_;
  Substitution lets_;
  std::unordered_map<Name, std::vector<std::vector<Interval>>> touched_;
  std::vector<std::pair<Expr, Interval>> indices_;  ///< of this state of the walk
  std::unordered_set<const IRNode *> visited_;
  std::vector<Expr> keep_;
};

}  // namespace

std::unordered_map<Name, Box> regions_read(const Expr &e, const Scope<Interval> &scope,
                                           const FuncValues *values) {
  Regions r(scope, true, false, values);
  r.walk(e);
  return r.take();
}

std::unordered_map<Name, Box> regions_touched(const Stmt &s, const Scope<Interval> &scope,
                                              bool reads, bool writes) {
  Regions r(scope, reads, writes);
  r.walk(s);
  return r.take();
}

Box region_touched(const Stmt &s, Name func, const Scope<Interval> &scope, bool reads,
                   bool writes) {
  Regions r(scope, reads, writes);
  r.only(func);
  r.walk(s);
  std::unordered_map<Name, Box> boxes = r.take();
  auto it = boxes.find(func);
  return it == boxes.end() ? Box() : std::move(it->second);
}

}  // namespace calotype::analysis
