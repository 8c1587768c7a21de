// Statements: dead code goes, loops of one iteration become lets, and conditions, loop ranges, asserts and lets are known
// to what they enclose. Chains of lets and blocks are walked in a loop.
#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "simplifier.h"

namespace calotype::analysis {

using namespace ir;

namespace {

class StmtChildMutator : public IRMutator {
public:
  explicit StmtChildMutator(Simplifier *s) : s_(s) {}
  Expr mutate(const Expr &e) override { return s_->mutate(e); }
  Stmt mutate(const Stmt &s) override { return s_->mutate(s); }
  Stmt children(const Stmt &s) { return IRMutator::mutate(s); }

private:
  Simplifier *s_;
};

/// Names that occur as variables or as memory (which may be reached through a let-bound pointer).
void add_used_names(const Expr &e, std::unordered_set<Name> *used) {
  for_each_expr(e, [&](const Expr &x) {
    if (const Variable *v = x.as<Variable>()) used->insert(v->name);
    if (const Load *l = x.as<Load>()) used->insert(l->name);
  });
}

/// The names that a statement uses. Those of chains of lets inside it are known already and taken over from there:
/// asking at every level again would be quadratic.
class NamesOfStmt final : public IRGraphVisitor {
public:
  using Known = std::unordered_map<const IRNode *, std::pair<Stmt, std::unordered_set<Name>>>;
  explicit NamesOfStmt(Known *known) : known_(known) {}
  std::unordered_set<Name> used;
  using IRVisitor::visit;
  void visit(const Variable *op) override { used.insert(op->name); }
  void visit(const Load *op) override {
    used.insert(op->name);
    IRVisitor::visit(op);
  }
  void visit(const Store *op) override {
    used.insert(op->name);
    IRVisitor::visit(op);
  }

protected:
  bool enter(const IRNode *node) override {
    auto it = known_->find(node);
    if (it == known_->end()) return IRGraphVisitor::enter(node);
    std::unordered_set<Name> inner = std::move(it->second.second);
    known_->erase(it);
    if (inner.size() > used.size()) inner.swap(used);
    used.insert(inner.begin(), inner.end());
    return false;
  }

private:
  Known *known_;
};

bool is_gpu(ForType t) {
  return t == ForType::GPUBlock || t == ForType::GPUThread || t == ForType::GPULane;
}

void flatten(const Stmt &s, std::vector<Stmt> *out) {
  std::vector<Stmt> work{s};
  while (!work.empty()) {
    Stmt x = std::move(work.back());
    work.pop_back();
    if (const Block *b = x.as<Block>()) {
      work.push_back(b->rest);
      work.push_back(b->first);
    } else if (x.defined()) {
      out->push_back(x);
    }
  }
}

// A rule that drops an operand (x * 0) must not drop what it does: such a value stays as it was.
Expr keep_effects(const Expr &before, const Expr &after) {
  if (before.same_as(after) || is_pure(before)) return after;
  auto effects = [](const Expr &e) {
    size_t n = 0;
    for_each_expr(e, [&](const Expr &x) {
      const Call *c = x.as<Call>();
      n += c && (c->call_type == CallType::Extern || c->call_type == CallType::Intrinsic);
    });
    return n;
  };
  return effects(after) < effects(before) ? before : after;
}

}  // namespace

Stmt Simplifier::mutate(const Stmt &s) {
  if (!s.defined()) return s;
  switch (s.kind()) {
    case NodeKind::LetStmt: return visit_lets(s);
    case NodeKind::Block: return visit_block(s);
    case NodeKind::For: return visit_for(s.as<For>());
    case NodeKind::IfThenElse: return visit_if(s.as<IfThenElse>());
    case NodeKind::AssertStmt: {
      const AssertStmt *op = s.as<AssertStmt>();
      Expr c = mutate(op->condition);
      return is_const_one(c) ? make_no_op() : make_assert(c, mutate(op->message));
    }
    case NodeKind::Store: {
      const Store *op = s.as<Store>();
      Expr p = mutate(op->predicate);
      if (is_const_zero(p)) return make_no_op();
      return make_store(op->name, keep_effects(op->value, mutate(op->value)), mutate(op->index), p,
                        op->param);
    }
    case NodeKind::Provide: {
      const Provide *op = s.as<Provide>();
      Expr p = mutate(op->predicate);
      if (p.defined() && is_const_zero(p)) return make_no_op();
      std::vector<Expr> values = mutate_all(op->values);
      for (size_t i = 0; i < values.size(); i++) values[i] = keep_effects(op->values[i], values[i]);
      return make_provide(op->name, values, mutate_all(op->args), p);
    }
    case NodeKind::Evaluate: {
      Expr v = mutate(s.as<Evaluate>()->value);
      return is_pure(v) ? make_no_op() : make_evaluate(v);
    }
    case NodeKind::ProducerConsumer: {
      const ProducerConsumer *op = s.as<ProducerConsumer>();
      Stmt body = mutate(op->body);
      if (is_no_op(body)) return body;
      return op->is_producer ? make_producer(op->name, body) : make_consumer(op->name, body);
    }
    default: {
      Stmt r = StmtChildMutator(this).children(s);
      if (const Realize *op = r.as<Realize>()) {
        if (is_no_op(op->body)) return op->body;
      }
      if (const Allocate *op = r.as<Allocate>()) {
        if (is_no_op(op->body)) return op->body;
      }
      if (const Atomic *op = r.as<Atomic>()) {
        if (is_no_op(op->body)) return op->body;
      }
      return r;
    }
  }
}

Stmt Simplifier::visit_lets(const Stmt &s) {
  struct Binding {
    Name name;
    Expr value;  ///< undefined: was replaced
    std::unique_ptr<Assume> assume;
  };
  std::vector<Binding> bindings;
  Stmt rest = s;
  while (const LetStmt *op = rest.as<LetStmt>()) {
    Binding b;
    Expr value = mutate(op->value);
    b.assume = std::make_unique<Assume>(this);
    b.name = op->name;
    if (is_cheap(value) && !value.type().is_handle()) {
      b.assume->bind_to(op->name, value);
    } else {
      b.name = b.assume->bind(op->name);
      b.value = value;
      if (b.name != op->name) b.assume->replace(op->name, intern(make_var(b.name, value.type())));
      b.assume->about_new_name();
      learn_let(*b.assume, b.name, value);
    }
    bindings.push_back(std::move(b));
    Stmt next = op->body;
    rest = next;
  }
  Stmt body = mutate(rest);
  NamesOfStmt names(&used_);
  names.visit_stmt(body);
  std::unordered_set<Name> used = std::move(names.used);
  for (size_t i = bindings.size(); i-- > 0;) {
    Binding &b = bindings[i];
    b.assume.reset();
    if (!b.value.defined() || (is_pure(b.value) && !used.count(b.name))) continue;
    add_used_names(b.value, &used);
    body = make_let_stmt(b.name, b.value, body);
  }
  if (body.defined()) used_[body.get()] = {body, std::move(used)};
  return body;
}

Stmt Simplifier::visit_block(const Stmt &s) {
  std::vector<Stmt> parts, done;
  flatten(s, &parts);
  std::vector<std::unique_ptr<Assume>> known_here;
  for (const Stmt &part : parts) {
    Stmt r = mutate(part);
    if (is_no_op(r)) continue;
    if (const AssertStmt *a = r.as<AssertStmt>()) {
      known_here.push_back(std::make_unique<Assume>(this));
      known_here.back()->truth(a->condition);
    }
    flatten(r, &done);
  }
  while (!known_here.empty()) known_here.pop_back();
  return done.empty() ? make_no_op() : make_block(done);
}

void Simplifier::learn_loop(Assume &assume, Name n, const Expr &min, const Expr &extent) {
  if (!is_index(min.type()) || !min.type().is_scalar()) return;
  LinearForm first = form_of(min);
  LinearForm last = combine(first, 1, form_of(extent), 1);
  last.constant = wrap_sub(last.constant, 1);
  ConstInterval range;
  constexpr int kSteps = 40;
  if (std::optional<int64_t> low = lower(first, INT64_MAX, kSteps))
    range.min_defined = true, range.min = *low;
  if (std::optional<int64_t> high = lower(scale(last, -1), INT64_MAX, kSteps)) {
    range.max_defined = true;
    range.max = wrap_sub(0, *high);
  }
  assume.range(n, range);
  LinearForm v = atom(make_var(n, min.type()));
  if (!first.terms.empty()) assume.non_negative(combine(v, 1, first, -1));
  if (!last.terms.empty()) assume.non_negative(combine(last, 1, v, -1));
  // The body runs, so there is an iteration.
  LinearForm some = form_of(extent);
  some.constant = wrap_sub(some.constant, 1);
  assume.non_negative(some);
}

Stmt Simplifier::visit_for(const For *op) {
  Expr min = mutate(op->min), extent = mutate(op->extent);
  std::optional<int64_t> most = upper_bound(extent);
  if (most && *most <= 0) return make_no_op();
  if (is_const_one(extent) && !is_gpu(op->for_type))
    return mutate(make_let_stmt(op->name, min, op->body));
  Assume assume(this);
  Name n = assume.bind(op->name);
  if (n != op->name) assume.replace(op->name, intern(make_var(n, min.type())));
  learn_loop(assume, n, min, extent);
  Stmt body = mutate(op->body);
  if (is_no_op(body)) return body;
  return make_for(n, min, extent, op->for_type, body);
}

Stmt Simplifier::visit_if(const IfThenElse *op) {
  Expr c = mutate(op->condition);
  if (is_const_one(c)) return mutate(op->then_case);
  if (is_const_zero(c)) return op->else_case.defined() ? mutate(op->else_case) : make_no_op();
  Stmt t, f;
  {
    Assume assume(this);
    assume.truth(c, true);
    t = mutate(op->then_case);
  }
  if (op->else_case.defined()) {
    Assume assume(this);
    assume.truth(c, false);
    f = mutate(op->else_case);
    if (is_no_op(f)) f = {};
  }
  if (is_no_op(t)) {
    if (!f.defined()) return is_pure(c) ? make_no_op() : make_evaluate(c);
    return make_if(negated(c), f);
  }
  if (f.defined() && equal(t, f) && is_pure(c)) return t;
  return make_if(c, t, f);
}

}  // namespace calotype::analysis
