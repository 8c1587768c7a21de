// Cuts innermost loops in three where `likely` conditions depend on them: before, steady state, after. In the steady
// state the conditions hold for every iteration and every lane, so clamps, selects and masks there disappear.
//
//   for x in [0, n):  f[x] = in[max(min(likely(x - 1), w), 0)]
//   -->  for x in [0, a): ... as before;  for x in [a, b): f[x] = in[x - 1];  for x in [b, n): ... as before
//
// The bounds of the steady state are solved from the conditions (analysis/linear.h, solve_inner); where one has no
// solution it stays in all three. Guards that a loop does not change come first: the loop is built without them for where
// they all hold, and as it was for elsewhere, so that an outer loop can decide them in turn:
//
//   for y: for r: if likely(y < h): f[y] += ...
//   -->  for y: if likely(y < h): { for r: f[y] += ... } else: { for r: if y < h: f[y] += ... }
#include <map>
#include <set>

#include "../analysis/bounds.h"
#include "../analysis/linear.h"
#include "../analysis/simplify.h"
#include "../ir/equal.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using analysis::Interval;
using analysis::simplify;
using namespace ir;

namespace {

Expr c32(int64_t v) { return make_int(Int(32), v); }

Expr strip_broadcast(Expr e) {
  while (const Broadcast *b = e.as<Broadcast>()) e = b->value;
  return e;
}

// If `e` is marked likely, directly or below min and max, the value it has when all marked sides win; collects what
// must hold for that. Undefined: not marked.
Expr likely_value(const Expr &e, std::vector<Expr> *conditions) {
  if (const Call *c = e.as<Call>()) {
    if (c->op == Intrinsic::likely || c->op == Intrinsic::likely_if_innermost) return c->args[0];
    return {};
  }
  if (const Broadcast *b = e.as<Broadcast>()) {
    Expr v = likely_value(b->value, conditions);
    return v.defined() ? make_broadcast(v, b->lanes) : v;
  }
  bool is_min = e.as<Min>() != nullptr;
  if (!is_min && !e.as<Max>()) return {};
  const Expr &a = is_min ? e.as<Min>()->a : e.as<Max>()->a;
  const Expr &b = is_min ? e.as<Min>()->b : e.as<Max>()->b;
  Expr va = likely_value(a, conditions), vb = likely_value(b, conditions);
  if (va.defined() == vb.defined()) return {};
  Expr marked = va.defined() ? va : vb, other = va.defined() ? b : a;
  conditions->push_back(is_min ? make_le(marked, other) : make_ge(marked, other));
  return marked;
}

// A scalar that is not negative only if `c` holds in all lanes; undefined if c is not a comparison of integers.
Expr in_all_lanes(const Expr &c) {
  auto decide = [](const Expr &a, const Expr &b, bool strict) -> Expr {  // a <= b or a < b
    if (!a.type().is_int_or_uint() || a.type().element_of() != Int(32)) return {};
    Interval ia = analysis::bounds_of_expr(a, {}), ib = analysis::bounds_of_expr(b, {});
    if (!ia.has_upper() || !ib.has_lower()) return {};
    return simplify(make_sub(make_sub(ib.min, ia.max), c32(strict ? 1 : 0)));
  };
  Expr e = strip_broadcast(c);
  if (const LE *op = e.as<LE>()) return decide(op->a, op->b, false);
  if (const LT *op = e.as<LT>()) return decide(op->a, op->b, true);
  if (const GE *op = e.as<GE>()) return decide(op->b, op->a, false);
  if (const GT *op = e.as<GT>()) return decide(op->b, op->a, true);
  return {};
}

// Conditions without min and max around the loop variable that together imply `difference` >= 0.
//   a positive min, or a negative max: both of its sides must do;  otherwise one side is enough, the one that moves
void split_min_max(const Expr &difference, Name loop, std::vector<Expr> *conditions) {
  analysis::LinearForm f = analysis::linear_form(difference);
  for (size_t i = 0; i < f.terms.size(); i++) {
    const Expr term = f.terms[i].first;
    const Min *min = term.as<Min>();
    const Max *max = term.as<Max>();
    if ((!min && !max) || !uses_var(term, loop)) continue;
    const Expr &p = min ? min->a : max->a, &q = min ? min->b : max->b;
    auto with = [&](const Expr &side) {
      analysis::LinearForm g = f;
      g.terms[i].first = side;
      split_min_max(simplify(analysis::to_expr(g, Int(32))), loop, conditions);
    };
    bool both = (f.terms[i].second > 0) == (min != nullptr);
    if (both || uses_var(p, loop)) with(p);
    if (both || !uses_var(p, loop)) with(q);
    return;
  }
  conditions->push_back(simplify(make_ge(difference, c32(0))));
}

// Finds conditions marked likely, and rewrites as if the accepted ones held.
class Steady final : public IRMutator {
public:
  /// A minimum or maximum whose one side wins in the steady state, as it looks where it is not marked.
  using Decided = std::map<Expr, Expr, ExprLess>;  // unmarked -> its value
  enum class Look {
    Moving,    ///< for conditions that change in the loop
    Invariant  ///< for guards that do not
  };
  Steady(Name loop, Decided known, Look look = Look::Moving)
      : loop_(loop), look_(look), decided(std::move(known)) {}
  std::vector<Expr> accepted;       // scalar conditions on the loop variable
  std::vector<Expr> preconditions;  // scalar conditions that do not depend on it
  using IRMutator::mutate;
  using IRMutator::visit;

  Expr visit(const Min *op) override { return clamp(op); }
  Expr visit(const Max *op) override { return clamp(op); }
  Expr visit(const Select *op) override {
    const Call *l = as_intrinsic(strip_broadcast(op->condition), Intrinsic::likely);
    if (l && look_ == Look::Moving && accept({l->args[0]})) return mutate(op->true_value);
    return IRMutator::visit(op);
  }
  Stmt visit(const IfThenElse *op) override {
    const Call *l = as_intrinsic(op->condition, Intrinsic::likely);
    if (l && guard(l->args[0])) return mutate(op->then_case);
    return IRMutator::visit(op);
  }
  Expr visit(const Load *op) override {
    Expr p = predicate(op->predicate), index = mutate(op->index);
    return make_load(op->type.element_of(), op->name, index, p, op->param);
  }
  Stmt visit(const Store *op) override {
    Expr p = predicate(op->predicate), index = mutate(op->index), value = mutate(op->value);
    return make_store(op->name, value, index, p, op->param);
  }
  Stmt visit(const For *op) override { return op; }  // inner loops are cut on their own
  Stmt visit(const LetStmt *op) override {
    Expr value = mutate(op->value);
    known_.push(op->name,
                value);  // conditions are decided before the loop, where the name means nothing
    Stmt body = mutate(op->body);
    known_.pop(op->name);
    return make_let_stmt(op->name, value, body);
  }

private:
  bool guard(const Expr &condition) {
    return look_ == Look::Moving ? accept({condition}) : accept_invariant(condition);
  }

  template <typename T> Expr clamp(const T *op) {
    if (look_ == Look::Invariant) return IRMutator::visit(op);
    std::vector<Expr> conditions;
    Expr v = likely_value(op, &conditions);
    if (v.defined()) {
      if (!accept(conditions)) return IRMutator::visit(op);
      if (op->type == Int(32)) {
        Expr &plain = plain_[op];
        if (!plain.defined()) plain = simplify(without_likely(op));
        decided.emplace(plain, v);
      }
      return mutate(v);
    }
    auto known = decided.find(op);
    return known != decided.end() ? mutate(known->second) : IRMutator::visit(op);
  }

  static Expr without_likely(const Expr &e) {
    return rewrite(e, [](const Expr &x) {
      const Call *c = x.as<Call>();
      bool marker = c && (c->op == Intrinsic::likely || c->op == Intrinsic::likely_if_innermost);
      return marker ? c->args[0] : x;
    });
  }

  Expr predicate(const Expr &p) {
    if (const And *a = p.as<And>()) {
      Expr x = predicate(a->a), y = predicate(a->b);
      if (is_const_one(x)) return y;
      if (is_const_one(y)) return x;
      return make_and(x, y);
    }
    const Call *l = as_intrinsic(strip_broadcast(p), Intrinsic::likely);
    if (l && guard(l->args[0])) return make_bool(true, p.type().lanes());
    return mutate(p);
  }

  // Memory may change in the loop.
  static bool reads_memory(const Expr &e) {
    bool reads = false;
    for_each_expr(e, [&](const Expr &x) { reads |= x.as<Load>() || !is_pure(x); });
    return reads;
  }

  // In terms of the loop variable, through lets.
  Expr resolve(Expr e) const {
    for (int i = 0; i < 64; i++) {
      Substitution map;
      for (Name n : free_vars(e)) {
        if (const Expr *v = known_.find(n)) map[n] = *v;
      }
      if (map.empty()) break;
      e = substitute(map, e);
    }
    return e;
  }

  bool accept(const std::vector<Expr> &conditions) {
    bool moves = false;
    std::vector<Expr> scalars;
    for (const Expr &c : conditions) {
      const Condition &known = condition(resolve(c));
      if (!known.solved) return false;
      scalars.insert(scalars.end(), known.scalars.begin(), known.scalars.end());
      moves = moves || known.moves;
    }
    if (!moves && !scalars.empty()) return false;  // decided outside of this loop
    for (const Expr &e : scalars) {
      if (taken_.insert(e).second) (uses_var(e, loop_) ? accepted : preconditions).push_back(e);
    }
    return true;
  }

  bool accept_invariant(const Expr &c) {
    const Condition &known = condition(resolve(c));
    if (!known.solved || known.moves) return false;
    for (const Expr &e : known.scalars) {
      if (taken_.insert(e).second) preconditions.push_back(e);
    }
    return true;
  }

  /// What a condition asks of scalars; unrolled copies ask the same again and again.
  struct Condition {
    bool solved = false, moves = false;
    std::vector<Expr> scalars;
  };
  const Condition &condition(const Expr &c) {
    auto [it, first] = conditions_.try_emplace(c);
    if (first) it->second = solve(c);
    return it->second;
  }
  Condition solve(const Expr &c) const {
    Condition r;
    std::vector<Expr> simple;
    if (!conjuncts(simplify(c), &simple)) return r;
    for (const Expr &e : simple) {
      if (is_const_one(e)) continue;
      if (is_const_zero(e) || reads_memory(e)) return r;
      if (uses_var(e, loop_)) {
        Interval i = analysis::solve_inner(e, loop_);
        if (!i.has_lower() && !i.has_upper()) return r;
        r.moves = true;
      }
      r.scalars.push_back(e);
    }
    r.solved = true;
    return r;
  }

  bool conjuncts(const Expr &c, std::vector<Expr> *simple) const {
    Expr e = strip_broadcast(c);
    if (const And *op = e.as<And>()) return conjuncts(op->a, simple) && conjuncts(op->b, simple);
    if (is_const(e)) {
      simple->push_back(e);
      return true;
    }
    Expr difference = in_all_lanes(e);
    if (!difference.defined()) return false;
    split_min_max(difference, loop_, simple);
    return true;
  }

  Name loop_;
  Look look_;
  Scope<Expr> known_;  // lets inside the loop
  std::map<Expr, Condition, ExprLess> conditions_;
  std::map<Expr, Expr, ExprLess> plain_;
  std::set<Expr, ExprLess> taken_;

public:
  Decided decided;
};

class Partitioner final : public IRMutator {
public:
  explicit Partitioner(const PassContext &cx) : cx_(cx) {}
  using IRMutator::visit;
  Expr mutate(const Expr &e) override { return e; }
  Stmt mutate(const Stmt &s) override { return IRMutator::mutate(s); }

  Stmt visit(const For *op) override {
    Stmt body = mutate(op->body);
    Stmt whole = make_for(op->name, op->min, op->extent, op->for_type, body);
    const Partition policy = policy_of(op->name);
    const bool cut = op->for_type == ForType::Serial ||
                     (op->for_type == ForType::Parallel && policy == Partition::Always);
    if (!cut || policy == Partition::Never) return whole;
    Steady outside(op->name, {}, Steady::Look::Invariant);
    const Stmt unguarded = outside.mutate(body);
    if (outside.preconditions.empty()) return partitioned(op, body);
    Expr all;
    for (const Expr &c : outside.preconditions) all = all.defined() ? make_and(all, c) : c;
    return make_if(make_likely(all), partitioned(op, unguarded), guarded(whole));
  }

private:
  // Without the versions made for where guards hold.
  static Stmt guarded(const Stmt &s) {
    return replace_stmts(s, [](const Stmt &x) -> Stmt {
      const IfThenElse *op = x.as<IfThenElse>();
      const bool made =
          op && op->else_case.defined() && as_intrinsic(op->condition, Intrinsic::likely);
      return made ? guarded(op->else_case) : Stmt();
    });
  }

  Stmt partitioned(const For *op, const Stmt &body) {
    const Stmt whole = make_for(op->name, op->min, op->extent, op->for_type, body);
    Steady first_look(op->name, {});  // marks stand below the lets that hold the same minimum
    first_look.mutate(body);
    Steady steady(op->name, std::move(first_look.decided));
    Stmt inside = steady.mutate(body);
    if (steady.accepted.empty()) {
      return inside.same_as(body) ? whole
                                  : make_for(op->name, op->min, op->extent, op->for_type, inside);
    }
    Expr low = op->min, end = make_add(op->min, op->extent), high = make_sub(end, c32(1));
    Expr first = low, last = high;
    for (const Expr &c : steady.accepted) {
      Interval i = analysis::solve_inner(c, op->name);
      if (i.has_lower()) first = make_max(first, i.min);
      if (i.has_upper()) last = make_min(last, i.max);
    }
    for (const Expr &c : steady.preconditions) first = make_select(c, first, end);
    Name first_name = op->name + ".steady", end_name = op->name + ".after",
         loop_end = op->name + ".end";
    Expr a = make_var(first_name), b = make_var(end_name), e = make_var(loop_end);
    Stmt s = make_block({make_for(op->name, low, make_sub(a, low), op->for_type, body),
                         make_for(op->name, a, make_sub(b, a), op->for_type, inside),
                         make_for(op->name, b, make_sub(e, b), op->for_type, body)});
    s = make_let_stmt(end_name, make_max(make_min(simplify(make_add(last, c32(1))), e), a), s);
    s = make_let_stmt(first_name, make_min(simplify(first), make_max(e, low)), s);
    return make_let_stmt(loop_end, simplify(end), s);
  }

  // Loops that have a name's copy inside are called name.1, name.2 ... by the simplifier.
  Partition policy_of(Name loop) const {
    auto it = cx_.partition.find(loop);
    if (it == cx_.partition.end()) {
      const std::string &text = loop;
      const size_t dot = text.rfind('.');
      if (dot != std::string::npos && dot + 1 < text.size() &&
          text.find_first_not_of("0123456789", dot + 1) == std::string::npos)
        it = cx_.partition.find(Name(text.substr(0, dot)));
    }
    return it == cx_.partition.end() ? Partition::Auto : it->second;
  }

  const PassContext &cx_;
};

}  // namespace

Stmt partition_loops(const Stmt &s, PassContext &cx) { return Partitioner(cx).mutate(s); }

}  // namespace calotype::lower
