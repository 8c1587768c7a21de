#include "work.h"

#include <algorithm>

#include "../src/ir/visit.h"

namespace calotype::autoscheduler {

namespace {

using K = ir::NodeKind;

// Instructions that stand for more than one, in simple instructions of the same width.
double weight(const ir::IRNode *node) {
  switch (node->node_type) {
    case K::Cast:
    case K::Select:
    case K::Add:
    case K::Sub:
    case K::Min:
    case K::Max:
    case K::EQ:
    case K::NE:
    case K::LT:
    case K::LE:
    case K::GT:
    case K::GE:
    case K::And:
    case K::Or:
    case K::Not: return 1;
    case K::Mul: return 1.5;
    case K::Div:
    case K::Mod: return static_cast<const ir::BaseExprNode *>(node)->type.is_float() ? 10 : 20;
    case K::Call: {
      const ir::Intrinsic op = static_cast<const ir::Call *>(node)->op;
      if (op == ir::Intrinsic::None || ir::intrinsic_class(op) == ir::IntrinsicClass::Marker)
        return 0;
      if (op == ir::Intrinsic::fma) return 1;
      const bool is_float = static_cast<const ir::Call *>(node)->type.is_float();
      return ir::intrinsic_class(op) == ir::IntrinsicClass::Expand ? (is_float ? 20 : 3) : 2;
    }
    default: return 0;
  }
}

/// Whether an index depends on what memory holds.
bool loads(const Expr &e) {
  class Finder final : public ir::IRGraphVisitor {
  public:
    using ir::IRGraphVisitor::visit;
    bool found = false;
    void visit(const ir::Call *op) override {
      found =
          found || op->call_type == ir::CallType::Halide || op->call_type == ir::CallType::Image;
      ir::IRGraphVisitor::visit(op);
    }
  } finder;
  finder.visit_expr(e);
  return finder.found;
}

class WorkCounter final : public ir::IRGraphVisitor {
public:
  using ir::IRGraphVisitor::visit;
  explicit WorkCounter(const ir::Function &f) : f_(f) {}
  Work work;

  void visit(const ir::Call *op) override {
    const bool func = op->call_type == ir::CallType::Halide;
    if (!func && op->call_type != ir::CallType::Image) return ir::IRGraphVisitor::visit(op);
    if (func) work.calls[op->name]++;
    Read r;
    r.name = op->name;
    r.bytes = op->type.bytes();
    r.input = !func;
    r.access = access(op->args);
    work.reads.push_back(std::move(r));
    for (const Expr &a :
         op->args) {  // only what indices load is work; the rest is address arithmetic
      if (loads(a)) visit_expr(a);
    }
  }

protected:
  bool enter(const ir::IRNode *node) override {
    if (!ir::IRGraphVisitor::enter(node)) return false;
    const double w = weight(node);
    if (w > 0) {
      work.operations += w;
      work.bits = std::max(work.bits, static_cast<const ir::BaseExprNode *>(node)->type.bits());
    }
    return true;
  }

private:
  Access access(const std::vector<Expr> &args) const {
    if (f_.args.empty() || args.empty()) return Access::Broadcast;
    const ir::Name x = f_.args[0];
    for (size_t d = 1; d < args.size(); d++) {
      if (ir::uses_var(args[d], x)) return Access::Strided;
    }
    if (!ir::uses_var(args[0], x)) return Access::Broadcast;
    return unit_step(args[0], x) ? Access::Dense : Access::Strided;
  }

  /// x plus something without x, within clamps.
  static bool unit_step(const Expr &e, ir::Name x) {
    if (const auto *v = e.as<ir::Variable>()) return v->name == x;
    if (const auto *a = e.as<ir::Add>())
      return ir::uses_var(a->a, x) ? !ir::uses_var(a->b, x) && unit_step(a->a, x)
                                   : unit_step(a->b, x);
    if (const auto *s = e.as<ir::Sub>()) return !ir::uses_var(s->b, x) && unit_step(s->a, x);
    if (const auto *m = e.as<ir::Min>())
      return ir::uses_var(m->a, x) ? !ir::uses_var(m->b, x) && unit_step(m->a, x)
                                   : unit_step(m->b, x);
    if (const auto *m = e.as<ir::Max>())
      return ir::uses_var(m->a, x) ? !ir::uses_var(m->b, x) && unit_step(m->a, x)
                                   : unit_step(m->b, x);
    if (const auto *c = e.as<ir::Call>())
      return c->op != ir::Intrinsic::None && !c->args.empty() &&
             ir::intrinsic_class(c->op) == ir::IntrinsicClass::Marker && unit_step(c->args[0], x);
    return false;
  }

  const ir::Function &f_;
};

}  // namespace

Work work_of(const ir::Function &f, const ir::Definition &d) {
  WorkCounter counter(f);
  for (const Expr &v : d.values) {
    counter.work.bits = std::max(counter.work.bits, v.type().bits());
    counter.visit_expr(v);
  }
  for (const Expr &a : d.args) counter.visit_expr(a);
  if (d.predicate.defined()) counter.visit_expr(d.predicate);
  return counter.work;
}

}  // namespace calotype::autoscheduler
