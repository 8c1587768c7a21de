// Ramps, broadcasts, shuffles and reductions. Operations whose operands are all broadcasts become broadcasts.
#include "simplifier.h"

namespace calotype::analysis {

using namespace ir;

namespace {

bool is_scalar_broadcast(const Expr &e) {
  const Broadcast *b = e.as<Broadcast>();
  return b && b->value.type().is_scalar();
}

/// indices are first, first + step, ...
bool is_progression(const std::vector<int> &v, int *step) {
  *step = v.size() > 1 ? v[1] - v[0] : 0;
  for (size_t i = 1; i < v.size(); i++) {
    if (v[i] - v[i - 1] != *step) return false;
  }
  return true;
}

}  // namespace

Expr Simplifier::hoist_broadcast(const Expr &e) {
  if (!e.type().is_vector()) return e;
  auto lower_binary = [&](const Expr &a, const Expr &b) -> Expr {
    if (!is_scalar_broadcast(a) || !is_scalar_broadcast(b)) return e;
    Expr s = make_binary(e.kind(), a.as<Broadcast>()->value, b.as<Broadcast>()->value);
    return make_broadcast(mutate(s), e.type().lanes());
  };
  switch (e.kind()) {
#define CALO_BINARY(K) \
  case NodeKind::K: return lower_binary(e.as<K>()->a, e.as<K>()->b);
    CALO_BINARY(Add)
    CALO_BINARY(Sub)
    CALO_BINARY(Mul)
    CALO_BINARY(Div)
    CALO_BINARY(Mod)
    CALO_BINARY(Min)
    CALO_BINARY(Max)
    CALO_BINARY(EQ)
    CALO_BINARY(NE)
    CALO_BINARY(LT)
    CALO_BINARY(LE)
#undef CALO_BINARY
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      if (!op->condition.type().is_scalar() || !is_scalar_broadcast(op->true_value) ||
          !is_scalar_broadcast(op->false_value)) {
        return e;
      }
      Expr s = make_select(op->condition, op->true_value.as<Broadcast>()->value,
                           op->false_value.as<Broadcast>()->value);
      return make_broadcast(mutate(s), e.type().lanes());
    }
    default: return e;
  }
}

Expr Simplifier::visit_vector(const Expr &e) {
  const Type t = e.type();
  if (const Broadcast *op = e.as<Broadcast>()) {
    Expr v = mutate(op->value);
    if (const Broadcast *inner = v.as<Broadcast>())
      return make_broadcast(inner->value, inner->lanes * op->lanes);
    return make_broadcast(v, op->lanes);
  }
  if (const Ramp *op = e.as<Ramp>()) {
    Expr base = mutate(op->base), stride = mutate(op->stride);
    if (is_const_zero(stride)) return make_broadcast(base, op->lanes);
    // Rows that continue each other: one long ramp.
    const Ramp *inner = base.as<Ramp>();
    if (inner && inner->base.type().is_scalar() && is_index(t)) {
      const Broadcast *row = stride.as<Broadcast>();
      int64_t d;
      if (row && row->value.type().is_scalar() &&
          constant_difference(
              row->value, make_mul(inner->stride, make_int(row->value.type(), inner->lanes)), &d) &&
          d == 0) {
        return make_ramp(inner->base, inner->stride, inner->lanes * op->lanes);
      }
    }
    return make_ramp(base, stride, op->lanes);
  }
  if (const VectorReduce *op = e.as<VectorReduce>()) {
    Expr v = mutate(op->value);
    int factor = v.type().lanes() / t.lanes();
    if (factor == 1) return v;
    if (const Broadcast *b = v.as<Broadcast>()) {
      bool same = op->op != ReduceOp::Mul && op->op != ReduceOp::SaturatingAdd;
      if (b->value.type().is_scalar() && same && (op->op != ReduceOp::Add || t.is_int_or_uint())) {
        Expr r = op->op == ReduceOp::Add
                     ? mutate(make_mul(b->value, make_int(b->value.type(), factor)))
                     : b->value;
        return make_broadcast(r, t.lanes());
      }
    }
    return make_vector_reduce(op->op, v, t.lanes());
  }
  const Shuffle *op = e.as<Shuffle>();
  std::vector<Expr> vectors = mutate_all(op->vectors);
  bool all_same = true;
  for (const Expr &v : vectors) all_same = all_same && v.same_as(vectors[0]);
  const int lanes = static_cast<int>(op->indices.size());
  const Broadcast *b = vectors[0].as<Broadcast>();
  if (all_same && (vectors[0].type().is_scalar() || (b && b->value.type().is_scalar()))) {
    return make_broadcast(vectors[0].type().is_scalar() ? vectors[0] : b->value, lanes);
  }
  int step;
  if (vectors.size() == 1 && is_progression(op->indices, &step)) {
    if (op->indices[0] == 0 && step == 1 && lanes == vectors[0].type().lanes()) return vectors[0];
    const Ramp *r = vectors[0].as<Ramp>();
    if (r && r->base.type().is_scalar()) {
      Type s = r->base.type();
      Expr first = mutate(make_add(r->base, make_mul(r->stride, make_int(s, op->indices[0]))));
      if (lanes == 1) return first;
      return mutate(make_ramp(first, make_mul(r->stride, make_int(s, step)), lanes));
    }
  }
  return make_shuffle(vectors, op->indices);
}

}  // namespace calotype::analysis
