// Expansion of intrinsics: dispatch, and the ones that need no more than a line. Tests: test/unit/ir/math_test.cpp.
#include "math.h"

#include <cmath>
#include <limits>

#include "math_builder.h"
#include "visit.h"

namespace calotype::ir {

using namespace math;

namespace {

bool is_half(Type t) { return t.is_bfloat() || (t.is_float() && t.bits() == 16); }

// float16 and bfloat16: compute in float32, round the result.
Expr expand_in_float32(const Call *op) {
  std::vector<Expr> args;
  for (const Expr &a : op->args) {
    args.push_back(is_half(a.type()) ? make_cast(Float(32, a.type().lanes()), a) : a);
  }
  const Type t = is_half(op->type) ? Float(32, op->type.lanes()) : op->type;
  return make_cast(op->type, make_intrinsic(t, op->op, args));
}

// is_nan, is_inf, is_finite
Expr expand_classification(const Call *op) {
  const Num x = op->args[0];
  if (!x.type().is_float()) return make_bool(op->op == Intrinsic::is_finite, op->type.lanes());
  MathBuilder b;
  const Num v = b.let(x);
  const double inf = std::numeric_limits<double>::infinity();
  if (op->op == Intrinsic::is_nan) return b.finish(v != v);
  if (op->op == Intrinsic::is_inf) return b.finish(magnitude(v) == inf);
  return b.finish(magnitude(v) < inf);
}

class ExpandIntrinsics : public IRGraphMutator {
public:
  using IRGraphMutator::mutate;
  using IRGraphMutator::visit;
  Expr visit(const Call *op) override {
    const IntrinsicClass cls = intrinsic_class(op->op);
    if (cls == IntrinsicClass::Marker) return mutate(op->args[0]);
    const Expr e = IRGraphMutator::visit(op);
    if (cls != IntrinsicClass::Expand) return e;
    return mutate(expand_intrinsic(e.as<Call>()));
  }
};

}  // namespace

Expr expand_intrinsic(const Call *op) {
  switch (op->op) {
    case Intrinsic::is_nan:
    case Intrinsic::is_inf:
    case Intrinsic::is_finite: return expand_classification(op);
    case Intrinsic::lerp:
      if (is_half(op->args[0].type()) || is_half(op->args[2].type())) return expand_in_float32(op);
      return expand_lerp(op);
    case Intrinsic::random: return expand_random(op);
    default: break;
  }
  if (Expr e = expand_integer(op); e.defined()) return e;
  if (is_half(op->args[0].type())) return expand_in_float32(op);
  if (Expr e = expand_exponential(op); e.defined()) return e;
  if (Expr e = expand_trigonometric(op); e.defined()) return e;
  CALO_ASSERT(false, std::string("no expansion of ") + intrinsic_name(op->op));
  return {};
}

Expr expand_intrinsics(const Expr &e) { return ExpandIntrinsics().mutate(e); }
Stmt expand_intrinsics(const Stmt &s) { return ExpandIntrinsics().mutate(s); }

}  // namespace calotype::ir
