// Random IR (see ir_gen.h).
#include "support/ir_gen.h"

#include <cmath>

namespace calotype::test {

using namespace ir;

namespace {
const int64_t kIntegers[] = {0,         1,         -1,        2,         3,         7,      -7,
                             127,       -128,      255,       256,       32767,     -32768, 65535,
                             INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1000000007};
const double kFloats[] = {0.0,    -0.0,     1.0,          -1.0,   0.5,
                          1.5,    0.1,      -2.75,        1e-40,  1e30,
                          255.0,  256.5,    2147483648.0, 1e-310, 0x1.fffffep127,
                          5e-324, HUGE_VAL, -HUGE_VAL,    NAN,    -NAN};
}  // namespace

Type IrGenerator::any_type() {
  static const Type types[] = {Int(8),    Int(16),   Int(32),   Int(64), UInt(8),
                               UInt(16),  UInt(32),  UInt(64),  Bool(),  Float(32),
                               Float(64), Float(16), BFloat(16)};
  const Type t = types[below(halves ? 13 : 11)];
  static const int lanes[] = {1, 1, 2, 4, 8};
  return t.with_lanes(vectors ? lanes[below(5)] : 1);
}

Expr IrGenerator::constant(Type t) {
  if (t.is_float()) {
    double v = kFloats[below(sizeof(kFloats) / sizeof(double))];
    if (t.bits() == 16 && !t.can_represent(v)) v = 0.5;
    return make_float(t, v);
  }
  return make_int(t, kIntegers[below(sizeof(kIntegers) / sizeof(int64_t))]);
}

std::string IrGenerator::name() {
  static const char *const odd[] = {"g[0]", "let", "u16", "x8", "min", "round",
                                    "r.x",  "a`b", "1st", "\n", "f.1", "$t"};
  if (odd_names && below(4) == 0) return odd[below(12)];
  return variables[below(static_cast<int>(variables.size()))];
}

Ref<const Parameter> IrGenerator::param(Type t, bool is_buffer) {
  Ref<Parameter> p = new Parameter;
  p->name = below(2) ? "gain" : name() + "p";
  p->type = t.element_of();
  p->is_buffer = is_buffer;
  return p;
}

Expr IrGenerator::index(int lanes, int depth) { return expr(Int(32, lanes), depth); }

Expr IrGenerator::leaf(Type t) {
  if (below(3) == 0) return constant(t);
  if (params && below(6) == 0) {
    const Ref<const Parameter> p = param(t, false);
    return make_var(below(2) ? p->name : p->name + ".min", t, p);
  }
  return make_var(name(), t);
}

Expr IrGenerator::vector_form(Type t, int depth) {
  const int n = t.lanes();
  switch (below(4)) {
    case 0: return make_broadcast(expr(t.element_of(), depth), n);
    case 1:
      return t.is_bool() ? leaf(t)
                         : make_ramp(expr(t.with_lanes(n / 2), depth),
                                     expr(t.with_lanes(n / 2), depth), n / (n / 2));
    case 2: {
      std::vector<int> lanes;
      for (int i = 0; i < n; i++) lanes.push_back(below(n + 2));
      return make_shuffle({expr(t, depth), expr(t.with_lanes(2), depth)}, lanes);
    }
    default:
      return make_vector_reduce(t.is_bool() ? ReduceOp::And : static_cast<ReduceOp>(below(4)),
                                expr(t.with_lanes(2 * n), depth), n);
  }
}

Expr IrGenerator::intrinsic(Type t, int depth) {
  if (t.is_float()) {
    static const Intrinsic ops[] = {Intrinsic::abs, Intrinsic::floor, Intrinsic::sqrt,
                                    Intrinsic::likely, Intrinsic::trunc};
    if (below(4) == 0 && t.bits() > 16) {
      return make_intrinsic(t, Intrinsic::fma, {expr(t, depth), expr(t, depth), expr(t, depth)});
    }
    return make_intrinsic(t, ops[below(5)], {expr(t, depth)});
  }
  if (t.is_bool()) return make_intrinsic(t, Intrinsic::likely, {expr(t, depth)});
  static const Intrinsic ops[] = {Intrinsic::bitwise_and,    Intrinsic::bitwise_xor,
                                  Intrinsic::shift_left,     Intrinsic::shift_right,
                                  Intrinsic::saturating_add, Intrinsic::saturating_sub,
                                  Intrinsic::halving_add,    Intrinsic::rounding_halving_add};
  if (t.is_uint() && below(3) == 0) {
    return make_intrinsic(
        t, Intrinsic::absd,
        {expr(t.with_code(Type::Int), depth), expr(t.with_code(Type::Int), depth)});
  }
  if (t.bits() > 8 && below(3) == 0) {
    return make_intrinsic(t, Intrinsic::widening_mul,
                          {expr(t.narrow(), depth), expr(t.narrow(), depth)});
  }
  return make_intrinsic(t, ops[below(8)], {expr(t, depth), expr(t, depth)});
}

Expr IrGenerator::expr(Type t, int depth) {
  if (depth <= 0) return leaf(t);
  depth--;
  switch (below(12)) {
    case 0: return leaf(t);
    case 1: return make_cast(t, expr(any_type().with_lanes(t.lanes()), depth));
    case 2:
      return make_select(expr(Bool(below(2) ? t.lanes() : 1), depth), expr(t, depth),
                         expr(t, depth));
    case 3: {
      const std::string n = variables[below(static_cast<int>(variables.size()))];
      const Type v = any_type();
      return make_let(
          n, expr(v, depth),
          below(2) ? expr(t, depth)
                   : make_select(make_eq(make_var(n, v.element_of()), constant(v.element_of())),
                                 expr(t, depth), expr(t, depth)));
    }
    case 4: return intrinsic(t, depth);
    case 5:
      if (t.is_vector()) return vector_form(t, depth);
      return t.bits() > 1 && !t.is_bfloat() ? make_reinterpret(t, expr(UInt(t.bits()), depth))
                                            : leaf(t);
    case 6:
      if (!loads) break;
      return make_load(t.element_of(), name() + "b", index(t.lanes(), depth),
                       below(2) ? Expr() : expr(Bool(t.lanes()), depth),
                       below(3) ? nullptr : param(t, true));
    case 7:
      if (!calls) break;
      switch (below(4)) {
        case 0:
          return make_func_call(t, "f" + name(), {index(1, depth), index(1, depth)}, below(3));
        case 1: return make_extern_call(t, "c_function", {expr(any_type(), depth)}, below(2));
        case 2:
          return t.is_scalar() ? make_image_call(t, param(t, true), {index(1, depth)}) : leaf(t);
        default:
          return make_intrinsic(t, Intrinsic::random,
                                {index(t.lanes(), depth), make_int(Int(32, t.lanes()), 3)});
      }
    default: break;
  }
  if (t.is_bool()) {
    static const NodeKind compare[] = {NodeKind::EQ, NodeKind::NE, NodeKind::LT,
                                       NodeKind::LE, NodeKind::GT, NodeKind::GE};
    if (below(3) == 0) return make_not(expr(t, depth));
    if (below(2))
      return make_binary(below(2) ? NodeKind::And : NodeKind::Or, expr(t, depth), expr(t, depth));
    const Type operands = any_type().with_lanes(t.lanes());
    return make_binary(compare[below(6)], expr(operands, depth), expr(operands, depth));
  }
  static const NodeKind binary[] = {NodeKind::Add, NodeKind::Sub, NodeKind::Mul, NodeKind::Div,
                                    NodeKind::Mod, NodeKind::Min, NodeKind::Max};
  return make_binary(binary[below(7)], expr(t, depth), expr(t, depth));
}

Stmt IrGenerator::stmt(int depth) {
  const auto small = [&] { return expr(Int(32), 2); };
  if (depth <= 0 || below(4) == 0) {
    const Type t = any_type();
    switch (below(4)) {
      case 0:
        return make_store(name(), expr(t, 2), index(t.lanes(), 2),
                          below(2) ? Expr() : expr(Bool(t.lanes()), 2),
                          below(3) ? nullptr : param(t, true));
      case 1:
        return make_provide(name(), {expr(t, 2)}, {small(), small()},
                            below(2) ? Expr() : expr(Bool(), 2));
      case 2: return make_provide(name(), {expr(t, 2), small()}, {});
      default: return make_evaluate(make_extern_call(Int(32), "effect", {expr(t, 2)}, false));
    }
  }
  depth--;
  switch (below(9)) {
    case 0: return make_let_stmt(name(), expr(any_type(), 2), stmt(depth));
    case 1:
      return make_assert(expr(Bool(), 2), make_intrinsic(Int(32), Intrinsic::error,
                                                         {make_string("na\"me\n"), small()}));
    case 2:
      return below(2) ? make_producer(name(), stmt(depth)) : make_consumer(name(), stmt(depth));
    case 3: return make_for(name(), small(), small(), static_cast<ForType>(below(7)), stmt(depth));
    case 4:
      return make_allocate(name(), any_type(), static_cast<MemoryType>(below(9)),
                           {small(), small()}, below(2) ? Expr() : expr(Bool(), 1), stmt(depth));
    case 5:
      return make_realize(name(), {any_type(), any_type()}, static_cast<MemoryType>(below(9)),
                          {{small(), small()}, {small(), small()}},
                          below(2) ? Expr() : expr(Bool(), 1), stmt(depth));
    case 6: return make_if(expr(Bool(), 2), stmt(depth), below(2) ? Stmt() : stmt(depth));
    default: return make_block(stmt(depth), stmt(depth));
  }
}

}  // namespace calotype::test
