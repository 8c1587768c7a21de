// Numeric settling, bottom-up over each definition's own expression. See settle.h and the README's numerics section.
#include "settle.h"

#include <cmath>

#include "visit.h"

namespace calotype::ir {

namespace {

// float16 and bfloat16 round after every operation: nothing of this applies to them.
bool settles(Type t) { return t.is_float() && !t.is_bfloat() && t.bits() >= 32; }

bool is_normal(Type t, double v) {
  return t.bits() == 32 ? std::isnormal(static_cast<float>(v)) : std::isnormal(v);
}

double rounded(Type t, double v) { return t.bits() == 32 ? static_cast<float>(v) : v; }

// The value of a literal, scalar or broadcast.
const double *constant(const Expr &e) { return as_const_float(e); }

Expr negated(const Expr &e) {
  if (const double *c = constant(e)) return make_float(e.type(), -*c);
  return make_mul(
      e, make_float(e.type(), -1));  // exact, signs of zeros included; back ends emit a negation
}

class Settle : public IRGraphMutator {
public:
  explicit Settle(bool fma) : fma_(fma) {}
  using IRGraphMutator::mutate;
  using IRGraphMutator::visit;

  Expr visit(const Call *op) override {
    if (op->op == Intrinsic::strict_float) return op;
    return IRGraphMutator::visit(op);
  }

  // A chain of multiplications keeps its factors in order and at most one constant, last.
  Expr visit(const Mul *op) override {
    const Expr e = IRGraphMutator::visit(op);
    return settles(op->type) ? merge_constants(e) : e;
  }

  Expr visit(const Div *op) override {
    const Expr e = IRGraphMutator::visit(op);
    const Div *div = e.as<Div>();
    if (!div || !settles(op->type)) return e;
    const double *c = constant(div->b);
    if (!c || !is_normal(op->type, *c)) return e;
    const double reciprocal = rounded(op->type, 1 / *c);
    if (!is_normal(op->type, reciprocal)) return e;
    return merge_constants(make_mul(div->a, make_float(op->type, reciprocal)));
  }

  // a*b + c, c + a*b: where both sides are products the left one fuses.
  Expr visit(const Add *op) override {
    const Expr e = IRGraphMutator::visit(op);
    const Add *add = e.as<Add>();
    if (!add || !fma_ || !settles(op->type)) return e;
    if (const Mul *m = add->a.as<Mul>()) return fused(m->a, m->b, add->b);
    if (const Mul *m = add->b.as<Mul>()) return fused(m->a, m->b, add->a);
    return e;
  }

  // a*b - c = a*b + (-c); c - a*b = (-a)*b + c, the sign going to a constant factor if there is one.
  Expr visit(const Sub *op) override {
    const Expr e = IRGraphMutator::visit(op);
    const Sub *sub = e.as<Sub>();
    if (!sub || !fma_ || !settles(op->type)) return e;
    if (const Mul *m = sub->a.as<Mul>()) return fused(m->a, m->b, negated(sub->b));
    if (const Mul *m = sub->b.as<Mul>()) {
      return constant(m->b) ? fused(m->a, negated(m->b), sub->a)
                            : fused(negated(m->a), m->b, sub->a);
    }
    return e;
  }

private:
  bool fma_;
  std::unordered_map<const IRNode *, bool>
      has_constant_;        // of products, which may share factors at every level
  std::vector<Expr> keep_;  // keeps the keys alive

  bool has_constant(const Expr &e) {
    const Mul *m = e.as<Mul>();
    if (!m) return constant(e) != nullptr;
    auto it = has_constant_.find(m);
    if (it != has_constant_.end()) return it->second;
    keep_.push_back(e);
    return has_constant_[m] = has_constant(m->b) || has_constant(m->a);
  }

  static Expr fused(const Expr &a, const Expr &b, const Expr &c) {
    return make_intrinsic(c.type(), Intrinsic::fma, {a, b, c});
  }

  // Takes the constant out of a chain whose parts are settled: `rest` * `factor`, rest undefined if nothing is left.
  bool take_constant(const Expr &e, Expr *rest, double *factor) {
    if (!has_constant(e)) return false;
    if (const double *c = constant(e)) {
      *rest = Expr();
      *factor = *c;
      return true;
    }
    const Mul *m = e.as<Mul>();
    if (!m) return false;
    Expr inner;
    if (take_constant(m->b, &inner, factor)) {
      *rest = inner.defined() ? make_mul(m->a, inner) : m->a;
      return true;
    }
    if (take_constant(m->a, &inner, factor)) {
      *rest = inner.defined() ? make_mul(inner, m->b) : m->b;
      return true;
    }
    return false;
  }

  Expr merge_constants(const Expr &e) {
    const Mul *m = e.as<Mul>();
    if (!m || !has_constant(m->b) || !has_constant(m->a)) return e;
    Expr a, b;
    double ca = 0, cb = 0;
    take_constant(m->a, &a, &ca);
    take_constant(m->b, &b, &cb);
    const double c = rounded(e.type(), ca * cb);
    if (!is_normal(e.type(), c))
      return e;  // merging would lose a value that the separate products keep
    const Expr factor = make_float(e.type(), c);
    if (!a.defined() && !b.defined()) return factor;
    if (!a.defined() || !b.defined()) return make_mul(a.defined() ? a : b, factor);
    return make_mul(make_mul(a, b), factor);
  }
};

}  // namespace

Expr settle(const Expr &e, bool fma) { return Settle(fma).mutate(e); }

void settle(Function &f, bool fma) {
  Settle pass(fma);
  for (Definition &d : f.definitions) {
    for (Expr &v : d.values) v = pass.mutate(v);
  }
}

}  // namespace calotype::ir
