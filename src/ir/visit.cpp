// Default visits and rebuilds, generated from nodes.def, and the small walks everything uses.
#include "visit.h"

#include <algorithm>

namespace calotype::ir {

// --- Visiting ------------------------------------------------------------------------------------------------------
IRVisitor::~IRVisitor() = default;

namespace {
// Visits one field: children are entered, everything else is skipped.
struct FieldVisitor {
  IRVisitor *v;
  void operator()(const Expr &e) const { v->visit_expr(e); }
  void operator()(const Stmt &s) const { v->visit_stmt(s); }
  void operator()(const std::vector<Expr> &es) const {
    for (const Expr &e : es) v->visit_expr(e);
  }
  void operator()(const Region &r) const {
    for (const Range &x : r) {
      v->visit_expr(x.min);
      v->visit_expr(x.extent);
    }
  }
  template <typename T> void operator()(const T &) const {}
};
}  // namespace

void IRVisitor::visit_expr(const Expr &e) {
  if (!e.defined()) return;
  if (!enter(e.get())) return;
  switch (e.kind()) {
#define FIELD(T, n)
#define EXPR(Name, fields) \
  case NodeKind::Name: return visit(static_cast<const Name *>(e.get()));
#define STMT(Name, fields) \
  case NodeKind::Name: return;
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
  }
}

void IRVisitor::visit_stmt(const Stmt &s) {
  if (!s.defined()) return;
  if (!enter(s.get())) return;
  switch (s.kind()) {
#define FIELD(T, n)
#define EXPR(Name, fields) \
  case NodeKind::Name: return;
#define STMT(Name, fields) \
  case NodeKind::Name: return visit(static_cast<const Name *>(s.get()));
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
  }
}

#define FIELD(T, n) f(op->n);
#define EXPR(Name, fields)                                 \
  void IRVisitor::visit([[maybe_unused]] const Name *op) { \
    [[maybe_unused]] FieldVisitor f{this};                 \
    fields                                                 \
  }
#define STMT(Name, fields) EXPR(Name, fields)
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT

// --- Sizes ---------------------------------------------------------------------------------------

namespace {
struct Children {
  std::vector<const BaseExprNode *> *out;
  void operator()(const Expr &e) const {
    if (e.defined()) out->push_back(e.get());
  }
  void operator()(const std::vector<Expr> &es) const {
    for (const Expr &e : es) (*this)(e);
  }
  template <typename T> void operator()(const T &) const {}
};

std::vector<const BaseExprNode *> children_of(const BaseExprNode *node) {
  std::vector<const BaseExprNode *> result;
  [[maybe_unused]] Children f{&result};
  switch (node->node_type) {
#define FIELD(T, n) f(op->n);
#define EXPR(Name, fields)                                       \
  case NodeKind::Name: {                                         \
    [[maybe_unused]] auto *op = static_cast<const Name *>(node); \
    fields break;                                                \
  }
#define STMT(Name, fields) \
  case NodeKind::Name: break;
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
  }
  return result;
}

// Folds the expression bottom-up without recursion; shared nodes once.
template <typename V, typename Combine> V fold_up(const Expr &e, Combine combine) {
  if (!e.defined()) return V();
  std::unordered_map<const BaseExprNode *, V> done;
  std::vector<std::pair<const BaseExprNode *, bool>> work{{e.get(), false}};
  while (!work.empty()) {
    auto [node, entered] = work.back();
    work.pop_back();
    if (done.count(node)) continue;
    const std::vector<const BaseExprNode *> children = children_of(node);
    if (!entered) {
      work.emplace_back(node, true);
      for (const BaseExprNode *c : children) {
        if (!done.count(c)) work.emplace_back(c, false);
      }
      continue;
    }
    V v = V();
    for (const BaseExprNode *c : children) v = combine(v, done[c]);
    done[node] = v + 1;
  }
  return done[e.get()];
}
}  // namespace

size_t depth(const Expr &e, size_t limit) {
  return std::min(limit, fold_up<size_t>(e, [](size_t a, size_t b) { return std::max(a, b); }));
}

double tree_size(const Expr &e, double limit) {
  return std::min(limit, fold_up<double>(e, [](double a, double b) { return a + b; }));
}

// --- Rewriting -----------------------------------------------------------------------------------------------------
IRMutator::~IRMutator() = default;

Expr IRMutator::mutate(const Expr &e) {
  if (!e.defined()) return e;
  switch (e.kind()) {
#define FIELD(T, n)
#define EXPR(Name, fields) \
  case NodeKind::Name: return visit(static_cast<const Name *>(e.get()));
#define STMT(Name, fields) \
  case NodeKind::Name: break;
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
  }
  return e;
}

Stmt IRMutator::mutate(const Stmt &s) {
  if (!s.defined()) return s;
  switch (s.kind()) {
#define FIELD(T, n)
#define EXPR(Name, fields) \
  case NodeKind::Name: break;
#define STMT(Name, fields) \
  case NodeKind::Name: return visit(static_cast<const Name *>(s.get()));
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
  }
  return s;
}

std::vector<Expr> IRMutator::mutate(const std::vector<Expr> &es, bool *changed) {
  std::vector<Expr> result;
  result.reserve(es.size());
  for (const Expr &e : es) {
    result.push_back(mutate(e));
    *changed |= !result.back().same_as(e);
  }
  return result;
}

namespace {
// Mutates the fields of a node in turn; the node is copied only when the first of them changes.
template <typename Node> struct FieldMutator {
  IRMutator *m;
  const Node *op;
  Ref<Node> copy = {};

  Node *writable() {
    if (!copy) copy = Ref<Node>(new Node(*op));
    return copy.get();
  }
  template <typename H, typename Field> void handle(const H &old, Field field) {
    H r = m->mutate(old);
    if (!r.same_as(old)) writable()->*field = std::move(r);
  }
  void operator()(Expr Node::*field) { handle(op->*field, field); }
  void operator()(Stmt Node::*field) { handle(op->*field, field); }
  void operator()(std::vector<Expr> Node::*field) {
    const std::vector<Expr> &old = op->*field;
    for (size_t i = 0; i < old.size(); i++) {
      Expr r = m->mutate(old[i]);
      if (!r.same_as(old[i])) (writable()->*field)[i] = std::move(r);
    }
  }
  void operator()(Region Node::*field) {
    const Region &old = op->*field;
    for (size_t i = 0; i < old.size(); i++) {
      Expr min = m->mutate(old[i].min), extent = m->mutate(old[i].extent);
      if (!min.same_as(old[i].min)) (writable()->*field)[i].min = std::move(min);
      if (!extent.same_as(old[i].extent)) (writable()->*field)[i].extent = std::move(extent);
    }
  }
  template <typename T> void operator()(T Node::*) {}
};

// The type a rebuilt node has: that of its operands where it follows from them.
template <typename T> Type rebuilt_type(const T &n) { return n.type; }
#define CALO_TYPE_FROM_A(N) \
  Type rebuilt_type(const N &n) { return n.a.type(); }
CALO_TYPE_FROM_A(Add)
CALO_TYPE_FROM_A(Sub)
CALO_TYPE_FROM_A(Mul)
CALO_TYPE_FROM_A(Div)
CALO_TYPE_FROM_A(Mod)
CALO_TYPE_FROM_A(Min)
CALO_TYPE_FROM_A(Max)
CALO_TYPE_FROM_A(And)
CALO_TYPE_FROM_A(Or)
CALO_TYPE_FROM_A(Not)
#undef CALO_TYPE_FROM_A
#define CALO_TYPE_BOOL(N) \
  Type rebuilt_type(const N &n) { return Bool(n.a.type().lanes()); }
CALO_TYPE_BOOL(EQ)
CALO_TYPE_BOOL(NE)
CALO_TYPE_BOOL(LT)
CALO_TYPE_BOOL(LE)
CALO_TYPE_BOOL(GT)
CALO_TYPE_BOOL(GE)
#undef CALO_TYPE_BOOL
Type rebuilt_type(const Cast &n) { return n.type.with_lanes(n.value.type().lanes()); }
Type rebuilt_type(const Select &n) { return n.true_value.type(); }
Type rebuilt_type(const Load &n) { return n.type.with_lanes(n.index.type().lanes()); }
Type rebuilt_type(const Ramp &n) {
  return n.base.type().with_lanes(n.base.type().lanes() * n.lanes);
}
Type rebuilt_type(const Broadcast &n) {
  return n.value.type().with_lanes(n.value.type().lanes() * n.lanes);
}
Type rebuilt_type(const Let &n) { return n.body.type(); }
}  // namespace

#define FIELD(T, n) f(&Self::n);
#define EXPR(Name, fields)                \
  Expr IRMutator::visit(const Name *op) { \
    using Self [[maybe_unused]] = Name;   \
    FieldMutator<Name> f{this, op};       \
    fields if (!f.copy) return Expr(op);  \
    f.copy->type = rebuilt_type(*f.copy); \
    return Expr(f.copy.get());            \
  }
#define STMT(Name, fields)                \
  Stmt IRMutator::visit(const Name *op) { \
    using Self [[maybe_unused]] = Name;   \
    FieldMutator<Name> f{this, op};       \
    fields if (!f.copy) return Stmt(op);  \
    return Stmt(f.copy.get());            \
  }
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT

Expr IRGraphMutator::mutate(const Expr &e) {
  if (!e.defined() || e->ref_count() == 1) return IRMutator::mutate(e);
  auto it = exprs_.find(e.get());
  if (it != exprs_.end()) return it->second;
  Expr r = IRMutator::mutate(e);
  exprs_.emplace(e.get(), r);
  keep_exprs_.push_back(e);
  return r;
}

// --- Lambda forms --------------------------------------------------------------------------------------------------
namespace {
class Caller final : public IRGraphVisitor {
public:
  const std::function<void(const Expr &)> *on_expr = nullptr;
  const std::function<void(const Stmt &)> *on_stmt = nullptr;
#define FIELD(T, n)
#define EXPR(Name, fields)              \
  void visit(const Name *op) override { \
    if (!on_expr) return;               \
    (*on_expr)(Expr(op));               \
    IRVisitor::visit(op);               \
  }
#define STMT(Name, fields)              \
  void visit(const Name *op) override { \
    if (on_stmt) (*on_stmt)(Stmt(op));  \
    IRVisitor::visit(op);               \
  }
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
};

class BottomUp final : public IRGraphMutator {
public:
  explicit BottomUp(const std::function<Expr(const Expr &)> &f) : f_(f) {}
  using IRGraphMutator::mutate;
  Expr mutate(const Expr &e) override {
    if (!e.defined()) return e;
    auto it = done_.find(e.get());
    if (it != done_.end()) return it->second;
    Expr r = f_(IRMutator::mutate(e));
    if (e->ref_count() > 1) {
      done_.emplace(e.get(), r);
      keep_.push_back(e);
    }
    return r;
  }

private:
  const std::function<Expr(const Expr &)> &f_;
  std::unordered_map<const IRNode *, Expr> done_;
  std::vector<Expr> keep_;
};

class TopDown final : public IRMutator {
public:
  explicit TopDown(const std::function<Expr(const Expr &)> &f) : f_(f) {}
  using IRMutator::mutate;
  Expr mutate(const Expr &e) override {
    if (!e.defined()) return e;
    auto it = done_.find(e.get());
    if (it != done_.end()) return it->second;
    Expr r = f_(e);
    if (!r.defined()) r = IRMutator::mutate(e);
    if (e->ref_count() > 1) {
      done_.emplace(e.get(), r);
      keep_.push_back(e);
    }
    return r;
  }

private:
  const std::function<Expr(const Expr &)> &f_;
  std::unordered_map<const IRNode *, Expr> done_;
  std::vector<Expr> keep_;
};

class StmtReplacer final : public IRMutator {
public:
  explicit StmtReplacer(const std::function<Stmt(const Stmt &)> &f) : f_(f) {}
  Expr mutate(const Expr &e) override { return e; }
  Stmt mutate(const Stmt &s) override {
    if (!s.defined()) return s;
    Stmt r = f_(s);
    return r.defined() ? r : IRMutator::mutate(s);
  }

private:
  const std::function<Stmt(const Stmt &)> &f_;
};
}  // namespace

void for_each_expr(const Expr &e, const std::function<void(const Expr &)> &f) {
  Caller c;
  c.on_expr = &f;
  c.visit_expr(e);
}
void for_each_expr(const Stmt &s, const std::function<void(const Expr &)> &f) {
  Caller c;
  c.on_expr = &f;
  c.visit_stmt(s);
}
void for_each_stmt(const Stmt &s, const std::function<void(const Stmt &)> &f) {
  Caller c;
  c.on_stmt = &f;
  c.visit_stmt(s);
}
Expr rewrite(const Expr &e, const std::function<Expr(const Expr &)> &f) {
  return BottomUp(f).mutate(e);
}
Stmt rewrite(const Stmt &s, const std::function<Expr(const Expr &)> &f) {
  return BottomUp(f).mutate(s);
}
Expr replace(const Expr &e, const std::function<Expr(const Expr &)> &f) {
  return TopDown(f).mutate(e);
}
Stmt replace(const Stmt &s, const std::function<Expr(const Expr &)> &f) {
  return TopDown(f).mutate(s);
}
Stmt replace_stmts(const Stmt &s, const std::function<Stmt(const Stmt &)> &f) {
  return StmtReplacer(f).mutate(s);
}

// --- Substitution and free variables --------------------------------------------------------------------------------
namespace {
// Under a binding of one of the names the cache is not valid; such bodies get a substituter of their own.
class Substituter final : public IRGraphMutator {
public:
  explicit Substituter(const Substitution &map) : map_(map) {}
  using IRGraphMutator::visit;
  Expr visit(const Variable *op) override {
    auto it = map_.find(op->name);
    if (it == map_.end()) return op;
    const Expr &r = it->second;
    if (r.type().lanes() == 1 && op->type.lanes() > 1) return make_broadcast(r, op->type.lanes());
    return r;
  }
  Expr visit(const Let *op) override {
    if (!map_.count(op->name)) return IRMutator::visit(op);
    Expr value = mutate(op->value);
    return make_let(op->name, value, substitute(without(op->name), op->body));
  }
  Stmt visit(const LetStmt *op) override {
    if (!map_.count(op->name)) return IRMutator::visit(op);
    Expr value = mutate(op->value);
    return make_let_stmt(op->name, value, substitute(without(op->name), op->body));
  }
  Stmt visit(const For *op) override {
    if (!map_.count(op->name)) return IRMutator::visit(op);
    Expr min = mutate(op->min), extent = mutate(op->extent);
    return make_for(op->name, min, extent, op->for_type, substitute(without(op->name), op->body));
  }

private:
  Substitution without(Name n) const {
    Substitution m = map_;
    m.erase(n);
    return m;
  }
  const Substitution &map_;
};

// A shared node says nothing new where all that was bound at an earlier visit still is; only then it is skipped.
class FreeVars final : public IRVisitor {
public:
  std::vector<Name> found;
  using IRVisitor::visit;
  void visit(const Variable *op) override {
    if (!op->param && !bound_.contains(op->name) && found_set_.insert(op->name).second)
      found.push_back(op->name);
  }
  void visit(const Let *op) override {
    visit_expr(op->value);
    with_bound(op->name, [&] { visit_expr(op->body); });
  }
  void visit(const LetStmt *op) override {
    visit_expr(op->value);
    with_bound(op->name, [&] { visit_stmt(op->body); });
  }
  void visit(const For *op) override {
    visit_expr(op->min);
    visit_expr(op->extent);
    with_bound(op->name, [&] { visit_stmt(op->body); });
  }

protected:
  bool enter(const IRNode *node) override {
    if (node->ref_count() < 2) return true;
    const auto [it, is_new] = seen_in_.emplace(node, scope_);
    if (!is_new && open_[it->second]) return false;
    it->second = scope_;
    return true;
  }

private:
  template <typename F> void with_bound(Name name, F visit_body) {
    ScopedBinding<int> b(bound_, name, 0);
    const size_t outer = scope_;
    scope_ = open_.size();
    open_.push_back(true);
    visit_body();
    open_[scope_] = false;
    scope_ = outer;
  }

  std::unordered_set<Name> found_set_;
  Scope<int> bound_;
  std::unordered_map<const IRNode *, size_t> seen_in_;  // the scope of its last visit
  std::vector<bool> open_{true};                        // per scope, by number: not left yet
  size_t scope_ = 0;
};

class UsesVar final : public IRGraphVisitor {
public:
  explicit UsesVar(const std::unordered_set<Name> &names) : names_(names) {}
  bool found = false;
  using IRVisitor::visit;
  void visit(const Variable *op) override { found |= names_.count(op->name) > 0; }

private:
  const std::unordered_set<Name> &names_;
};
}  // namespace

Expr substitute(const Substitution &map, const Expr &e) {
  return map.empty() ? e : Substituter(map).mutate(e);
}
Stmt substitute(const Substitution &map, const Stmt &s) {
  return map.empty() ? s : Substituter(map).mutate(s);
}
Expr substitute(Name name, const Expr &value, const Expr &e) {
  Substitution m{{name, value}};
  return substitute(m, e);
}
Stmt substitute(Name name, const Expr &value, const Stmt &s) {
  Substitution m{{name, value}};
  return substitute(m, s);
}

Expr substitute_in_lets(const Expr &e) {
  return rewrite(e, [](const Expr &x) {
    const Let *l = x.as<Let>();
    return l ? substitute(l->name, l->value, l->body) : x;
  });
}

bool uses_any_var(const Expr &e, const std::unordered_set<Name> &names) {
  UsesVar u(names);
  u.visit_expr(e);
  return u.found;
}
bool uses_var(const Expr &e, Name name) { return uses_any_var(e, {name}); }
bool uses_var(const Stmt &s, Name name) {
  std::unordered_set<Name> names{name};
  UsesVar u(names);
  u.visit_stmt(s);
  return u.found;
}
std::vector<Name> free_vars(const Expr &e) {
  FreeVars f;
  f.visit_expr(e);
  return f.found;
}
std::vector<Name> free_vars(const Stmt &s) {
  FreeVars f;
  f.visit_stmt(s);
  return f.found;
}

bool is_pure(const Expr &e) {
  bool pure = true;
  for_each_expr(e, [&](const Expr &x) {
    const Call *c = x.as<Call>();
    if (c && (c->call_type == CallType::Extern || c->call_type == CallType::Intrinsic))
      pure = false;
  });
  return pure;
}

}  // namespace calotype::ir
