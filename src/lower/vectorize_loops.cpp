// Loops of kind Vectorized become vector operations: the loop variable becomes a ramp, and everything that depends on it
// as many lanes. Conditions on lanes become predicates of the loads and stores below them; `likely` conditions (tails)
// hold for at least one lane, others are guarded so that nothing runs where no lane does. Storage allocated inside gets
// one copy per lane, lanes innermost. What cannot be vectorised (loops whose extents differ per lane, assertions, foreign
// calls) runs as a serial loop instead.
#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "combine_lanes.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

Expr c32(int64_t v) { return make_int(Int(32), v); }

struct CannotVectorize {};  // internal to this pass

Expr widen(const Expr &e, int lanes) {
  if (!e.defined() || e.type().lanes() == lanes) return e;
  CALO_ASSERT(e.type().is_scalar());
  return make_broadcast(e, lanes);
}

class VectorSubstituter final : public IRMutator {
public:
  VectorSubstituter(const PassContext &cx, Name var, Expr ramp)
      : cx_(cx), var_(var), ramp_(std::move(ramp)), lanes_(ramp_.type().lanes()) {}
  using IRMutator::mutate;
  using IRMutator::visit;

  Expr mutate(const Expr &e) override {
    if (!e.defined()) return e;
    if (e->ref_count() == 1) return IRMutator::mutate(e);
    auto it = memo_.find(e.get());
    if (it != memo_.end()) return it->second;
    Expr r = IRMutator::mutate(e);
    memo_.emplace(e.get(), r);
    keep_.push_back(e);
    return r;
  }

  Expr visit(const Variable *op) override {
    if (op->name == var_) return ramp_;
    if (const Expr *lanes = lets_.find(op->name)) return *lanes;
    return op;
  }

#define BINARY_NODE(N)                                         \
  Expr visit(const N *op) override {                           \
    Expr a = mutate(op->a), b = mutate(op->b);                 \
    if (a.same_as(op->a) && b.same_as(op->b)) return op;       \
    return make_binary(NodeKind::N, a, b); /* matches lanes */ \
  }
#include "../ir/binary_nodes.def"
#undef BINARY_NODE

  Expr visit(const Select *op) override {
    Expr c = mutate(op->condition), t = mutate(op->true_value), f = mutate(op->false_value);
    if (c.same_as(op->condition) && t.same_as(op->true_value) && f.same_as(op->false_value))
      return op;
    return make_select(c, t, f);
  }
  Expr visit(const Reinterpret *op) override {
    Expr v = mutate(op->value);
    return v.same_as(op->value) ? Expr(op)
                                : make_reinterpret(op->type.with_lanes(v.type().lanes()), v);
  }
  Expr visit(const Load *op) override {
    Expr index = storage_index(op->name, mutate(op->index));
    Expr predicate = mutate(op->predicate);
    if (predicate.type().is_vector()) index = widen(index, lanes_);
    if (index.type().is_vector() && mask_.defined())
      predicate = both(widen(predicate, lanes_), mask_);
    if (index.same_as(op->index) && predicate.same_as(op->predicate)) return op;
    return make_load(op->type.element_of(), op->name, index, widen(predicate, index.type().lanes()),
                     op->param);
  }
  Expr visit(const Call *op) override {
    std::vector<Expr> args;
    bool changed = false, vector = false;
    for (const Expr &a : op->args) {
      args.push_back(mutate(a));
      changed |= !args.back().same_as(a);
      vector |= args.back().type().is_vector();
    }
    if (!changed) return op;
    IntrinsicClass cls = intrinsic_class(op->op);
    const bool foreign = op->call_type == CallType::Extern || op->call_type == CallType::PureExtern;
    if (cls == IntrinsicClass::Buffer || !has_lanes(op)) throw CannotVectorize();
    if (vector) {
      const size_t first =
          op->op == Intrinsic::trace ? 5 : 0;  // an event's kind and parent have no lanes
      for (size_t i = first; i < args.size(); i++) {
        if (!args[i].type().is_handle()) args[i] = widen(args[i], lanes_);
      }
    }
    const Type t = op->type.with_lanes(vector ? lanes_ : 1);
    if (!foreign && cls != IntrinsicClass::Effect) return make_intrinsic(t, op->op, args);
    Expr e = foreign ? make_extern_call(t, op->name, args, op->call_type == CallType::PureExtern)
                     : make_intrinsic(t, op->op, args);
    // An effect belongs to the lanes that run.
    if (!vector || !mask_.defined() || op->op == Intrinsic::return_second) return e;
    return make_intrinsic(t, Intrinsic::if_then_else, {mask_, e, make_zero(t)});
  }
  Expr visit(const Let *op) override {
    Expr value = mutate(op->value);
    if (value.type().is_scalar()) {
      return make_let(op->name, value, mutate(op->body));
    }
    ScopedBinding<Expr> b(lets_, op->name, make_var(op->name, value.type().with_lanes(lanes_)));
    memo_.clear();
    Expr body = mutate(op->body);
    memo_.clear();
    return make_let(op->name, value, body);
  }
  Expr visit(const Ramp *op) override {
    check_scalar(mutate(op->base));
    return op;
  }
  Expr visit(const Shuffle *op) override { return keep_if_invariant(op); }
  Expr visit(const VectorReduce *op) override { return keep_if_invariant(op); }

  Stmt visit(const LetStmt *op) override {
    Expr value = mutate(op->value);
    if (value.type().is_scalar()) {
      Stmt body = mutate(op->body);
      return make_let_stmt(op->name, value, body);
    }
    // A ramp stays visible to the indices made from it: only its scalar base gets the name.
    if (op->value.type() == Int(32)) value = analysis::simplify(value);
    const Ramp *ramp = value.as<Ramp>();
    const Broadcast *same = value.as<Broadcast>();
    if ((ramp && is_const(ramp->stride) && ramp->base.type().is_scalar()) ||
        (same && same->value.type().is_scalar())) {
      Name base = op->name + ".base";
      Expr b = make_var(base, op->value.type());
      Expr lanes = ramp ? make_ramp(b, ramp->stride, ramp->lanes) : make_broadcast(b, same->lanes);
      ScopedBinding<Expr> bind(lets_, op->name, lanes);
      memo_.clear();
      Stmt body = mutate(op->body);
      memo_.clear();
      return make_let_stmt(base, ramp ? ramp->base : same->value, body);
    }
    ScopedBinding<Expr> b(lets_, op->name, make_var(op->name, value.type().with_lanes(lanes_)));
    memo_.clear();
    Stmt body = mutate(op->body);
    memo_.clear();
    return make_let_stmt(op->name, value, body);
  }
  Stmt visit(const For *op) override {
    Expr min = mutate(op->min), extent = mutate(op->extent);
    if (op->for_type == ForType::Vectorized) throw CannotVectorize();
    if (extent.type().is_vector()) throw CannotVectorize();
    if (min.type().is_vector()) {
      if (!is_const_one(extent)) throw CannotVectorize();
      ScopedBinding<Expr> b(lets_, op->name, make_var(op->name, min.type().with_lanes(lanes_)));
      memo_.clear();
      Stmt body = mutate(op->body);
      memo_.clear();
      return make_let_stmt(op->name, min, body);
    }
    return make_for(op->name, min, extent, op->for_type, mutate(op->body));
  }
  Stmt visit(const Store *op) override {
    Expr value = mutate(op->value), index = storage_index(op->name, mutate(op->index)),
         predicate = mutate(op->predicate);
    bool vector = value.type().is_vector() || index.type().is_vector() ||
                  predicate.type().is_vector() || mask_.defined();
    if (!vector) return make_store(op->name, value, index, predicate, op->param);
    if (index.type().is_scalar()) {
      // All lanes write one place. The last of them would win; with no mask it is known which one that is.
      if (mask_.defined() || predicate.type().is_vector()) throw CannotVectorize();
      return make_store(op->name, make_shuffle({value}, {lanes_ - 1}), index, predicate, op->param);
    }
    predicate = widen(predicate, lanes_);
    if (mask_.defined()) predicate = both(predicate, mask_);
    return make_store(op->name, widen(value, lanes_), index, predicate, op->param);
  }
  Stmt visit(const IfThenElse *op) override {
    Expr outer = mask_, c = mutate(op->condition);
    if (c.type().is_scalar()) {
      Stmt t = mutate(op->then_case), e = mutate(op->else_case);
      return make_if(c, t, e);
    }
    Stmt then_case = under(c, outer, op->then_case);
    Stmt else_case = op->else_case.defined() ? under(make_not(c), outer, op->else_case) : Stmt();
    return make_block(then_case, else_case);
  }
  Stmt visit(const Atomic *op) override {
    const LaneContext lanes{cx_, lanes_, mask_, [this](const Expr &e) { return mutate(e); }};
    Stmt s = combine_lanes(op, lanes);
    if (!s.defined()) throw CannotVectorize();
    return s;
  }
  Stmt visit(const Allocate *op) override {
    std::vector<Expr> extents{c32(lanes_)};
    for (const Expr &e : op->extents) extents.push_back(check_scalar(mutate(e)));
    ScopedBinding<int> b(storage_, op->name, 0);
    memo_.clear();
    Stmt body = mutate(op->body);
    memo_.clear();
    return make_allocate(op->name, op->type, op->memory_type, extents,
                         check_scalar(mutate(op->condition)), body);
  }
  Stmt visit(const AssertStmt *op) override {
    if (mutate(op->condition).type().is_vector()) throw CannotVectorize();
    return op;
  }
  Stmt visit(const Evaluate *op) override {
    if (is_pure(op->value)) return make_no_op();
    return make_evaluate(check_scalar(mutate(op->value)));
  }

private:
  // Code generation does the effects and calls of a vector lane by lane.
  static bool has_lanes(const Call *op) {
    if (op->call_type == CallType::Extern || op->call_type == CallType::PureExtern) {
      bool numbers = !op->type.is_handle();
      for (const Expr &a : op->args) numbers = numbers && !a.type().is_handle();
      return numbers;
    }
    if (intrinsic_class(op->op) != IntrinsicClass::Effect) return true;
    return op->op == Intrinsic::undef || op->op == Intrinsic::print ||
           op->op == Intrinsic::print_when || op->op == Intrinsic::require ||
           op->op == Intrinsic::trace || op->op == Intrinsic::return_second;
  }
  static Expr check_scalar(const Expr &e) {
    if (e.type().is_vector()) throw CannotVectorize();
    return e;
  }
  Expr keep_if_invariant(const Expr &e) {
    if (uses_var(e, var_)) throw CannotVectorize();
    for (Name n : free_vars(e)) {
      if (lets_.contains(n)) throw CannotVectorize();
    }
    return e;
  }
  static Expr both(const Expr &a, const Expr &b) { return is_const_one(a) ? b : make_and(a, b); }

  Stmt under(const Expr &condition, const Expr &outer, const Stmt &body) {
    mask_ = outer.defined() ? make_and(outer, condition) : condition;
    memo_.clear();  // loads carry the mask
    Stmt s = mutate(body);
    memo_.clear();
    Expr mask = mask_;
    mask_ = outer;
    if (as_intrinsic(condition, Intrinsic::likely)) return s;
    return make_if(make_vector_reduce(ReduceOp::Or, mask, 1), s);
  }

  // Storage made inside the loop holds its lanes side by side.
  Expr storage_index(Name name, const Expr &index) const {
    if (!storage_.contains(name)) return index;
    Expr lane = make_ramp(c32(0), c32(1), lanes_);
    return make_add(make_mul(widen(index, lanes_), widen(c32(lanes_), lanes_)), lane);
  }

  const PassContext &cx_;
  Name var_;
  Expr ramp_;
  int lanes_;
  Expr mask_;           // of the conditions around; undefined: none
  Scope<Expr> lets_;    // names that became vectors, and what they stand for
  Scope<int> storage_;  // allocations with a copy per lane
  std::unordered_map<const IRNode *, Expr> memo_;
  std::vector<Expr> keep_;
};

class Vectorizer final : public IRMutator {
public:
  explicit Vectorizer(const PassContext &cx) : cx_(cx) {}
  using IRMutator::visit;
  Expr mutate(const Expr &e) override { return e; }
  Stmt mutate(const Stmt &s) override { return IRMutator::mutate(s); }
  Stmt visit(const For *op) override {
    Stmt body = mutate(op->body);
    if (op->for_type != ForType::Vectorized)
      return make_for(op->name, op->min, op->extent, op->for_type, body);
    const int64_t *n = as_const_int(op->extent);
    if (!n || *n < 1 || *n > 4096) {
      raise(Diagnostic("S0112", {},
                       "loop " + op->name +
                           " cannot be vectorised: its extent is not a constant from 1 to 4096")
                .fix("vectorize(" + op->name + ", lanes), or bound() the dimension"));
    }
    if (*n == 1) return substitute(op->name, op->min, body);
    try {
      Expr ramp = make_ramp(op->min, c32(1), static_cast<int>(*n));
      return VectorSubstituter(cx_, op->name, ramp).mutate(body);
    } catch (const CannotVectorize &) {
      return make_for(op->name, op->min, op->extent, ForType::Serial, body);
    }
  }

private:
  const PassContext &cx_;
};

}  // namespace

Stmt vectorize_loops(const Stmt &s, PassContext &cx) { return Vectorizer(cx).mutate(s); }

}  // namespace calotype::lower
