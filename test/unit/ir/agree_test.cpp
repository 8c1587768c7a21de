// The interpreter's register programs against ir/eval, which was written apart from them: random expressions of all
// types and operations give the same bits.
#include <doctest/doctest.h>

#include <cmath>

#include "ir/eval.h"
#include "ir/print.h"
#include "unit/ir/batch_function.h"

namespace calotype::test {
namespace {

using namespace ir;

const std::vector<Type> kTypes = {Int(8),    Int(16),    Int(32),  Int(64),   UInt(8),
                                  UInt(16),  UInt(32),   UInt(64), Float(32), Float(64),
                                  Float(16), BFloat(16), Bool()};

class RandomExpr {
public:
  explicit RandomExpr(uint64_t seed) : bits_(seed) {}

  Expr make(Type t, int depth) {
    if (depth == 0) return leaf(t);
    switch (pick(6)) {
      case 0: return make_cast(t, make(any_type(), depth - 1));
      case 1: return make_select(make(Bool(), depth - 1), make(t, depth - 1), make(t, depth - 1));
      case 2: return leaf(t);
      default: break;
    }
    if (t.is_bool()) return truth(depth);
    if (pick(3) == 0) return t.is_float() ? float_call(t, depth) : integer_call(t, depth);
    static const NodeKind kinds[] = {NodeKind::Add, NodeKind::Sub, NodeKind::Mul, NodeKind::Div,
                                     NodeKind::Mod, NodeKind::Min, NodeKind::Max};
    return make_binary(kinds[pick(7)], make(t, depth - 1), make(t, depth - 1));
  }
  uint64_t next() { return bits_.next(); }

private:
  Bits bits_;

  int pick(int n) { return static_cast<int>(bits_.next() >> 33) % n; }
  Type any_type() { return kTypes[pick(static_cast<int>(kTypes.size()))]; }

  Expr leaf(Type t) {
    if (pick(3) > 0)
      return make_cast(t, pick(2) ? variable("x", Int(32)) : variable("y", Float(64)));
    if (t.is_bool()) return make_bool(pick(2));
    const int64_t values[] = {0, 1, -1, 2, 3, 7, 100, -128, 127, 255, INT32_MIN, INT32_MAX};
    return t.is_float()
               ? make_cast(t, make_float(Float(64), static_cast<double>(values[pick(12)]) / 4))
               : make_int(t, values[pick(12)]);
  }

  Expr truth(int depth) {
    const Type t = any_type();
    if (t.is_bool()) {
      const Expr a = make(Bool(), depth - 1), b = make(Bool(), depth - 1);
      return pick(3) == 0 ? make_not(a) : pick(2) ? make_and(a, b) : make_or(a, b);
    }
    static const NodeKind kinds[] = {NodeKind::EQ, NodeKind::NE, NodeKind::LT,
                                     NodeKind::LE, NodeKind::GT, NodeKind::GE};
    return make_binary(kinds[pick(6)], make(t, depth - 1), make(t, depth - 1));
  }

  Expr float_call(Type t, int depth) {
    static const Intrinsic ops[] = {
        Intrinsic::sqrt, Intrinsic::floor, Intrinsic::ceil, Intrinsic::trunc, Intrinsic::round,
        Intrinsic::abs,  Intrinsic::absd,  Intrinsic::fma,  Intrinsic::exp,   Intrinsic::lerp};
    const Intrinsic op = ops[pick(10)];
    std::vector<Expr> args = {make(t, depth - 1)};
    if (op == Intrinsic::absd || op == Intrinsic::fma || op == Intrinsic::lerp)
      args.push_back(make(t, depth - 1));
    if (op == Intrinsic::fma || op == Intrinsic::lerp) args.push_back(make(t, depth - 1));
    return make_intrinsic(t, op, args);
  }

  Expr integer_call(Type t, int depth) {
    static const Intrinsic ops[] = {Intrinsic::bitwise_and,
                                    Intrinsic::bitwise_or,
                                    Intrinsic::bitwise_xor,
                                    Intrinsic::shift_left,
                                    Intrinsic::shift_right,
                                    Intrinsic::saturating_add,
                                    Intrinsic::saturating_sub,
                                    Intrinsic::halving_add,
                                    Intrinsic::halving_sub,
                                    Intrinsic::sorted_avg,
                                    Intrinsic::rounding_shift_left,
                                    Intrinsic::rounding_shift_right,
                                    Intrinsic::rounding_halving_add,
                                    Intrinsic::bitwise_not,
                                    Intrinsic::popcount,
                                    Intrinsic::count_leading_zeros,
                                    Intrinsic::count_trailing_zeros};
    switch (pick(6)) {
      case 0: return make_intrinsic(t, Intrinsic::saturating_cast, {make(any_type(), depth - 1)});
      case 1: {
        if (t.bits() == 8) break;
        static const Intrinsic wide[] = {Intrinsic::widening_add, Intrinsic::widening_mul,
                                         Intrinsic::widening_shift_left};
        return make_intrinsic(t, wide[pick(3)],
                              {make(t.narrow(), depth - 1), make(t.narrow(), depth - 1)});
      }
      case 2: {
        if (!t.is_uint()) break;
        const Type s = pick(2) ? t : t.with_code(Type::Int);
        return make_intrinsic(t, Intrinsic::absd, {make(s, depth - 1), make(s, depth - 1)});
      }
      case 3: {
        if (t.bits() == 64) break;
        const Type u = t.with_code(Type::UInt);
        return make_intrinsic(t, Intrinsic::lerp,
                              {make(t, depth - 1), make(t, depth - 1), make(u, depth - 1)});
      }
      default: break;
    }
    const Intrinsic op = ops[pick(17)];
    std::vector<Expr> args = {make(t, depth - 1)};
    const bool one = op == Intrinsic::bitwise_not || op == Intrinsic::popcount ||
                     op == Intrinsic::count_leading_zeros || op == Intrinsic::count_trailing_zeros;
    if (!one) args.push_back(make(t, depth - 1));
    return make_intrinsic(t, op, args);
  }
};

// The lane as ir/eval spells it: integers extended, floats as the bits of a double; one NaN.
uint64_t canonical(uint64_t double_bits) {
  const double v = bit_copy<double>(double_bits);
  return v != v ? bit_copy<uint64_t>(std::nan("")) : double_bits;
}

}  // namespace

TEST_CASE("agree: register programs and the evaluator give the same bits on random expressions") {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 1500; seed++) {
    RandomExpr random(seed);
    const Type t = kTypes[seed % kTypes.size()];
    const Expr e = random.make(t, 4);
    // Everything widened to 64 bits, so that one comparison serves all types.
    const Expr wide =
        t.is_float() ? make_reinterpret(UInt(64), make_cast(Float(64), e)) : make_cast(UInt(64), e);
    std::vector<int32_t> xs = {0, 1, -1, INT32_MIN, INT32_MAX, 200};
    std::vector<double> ys = {0, -0.0, 1.5, -3e9, NAN, 70000};
    for (int i = 0; i < 6; i++) {
      xs.push_back(static_cast<int32_t>(random.next()));
      ys.push_back(static_cast<double>(static_cast<int64_t>(random.next()) >> 40) / 64);
    }
    const bool fma = seed % 2 == 0;
    const std::vector<uint64_t> got =
        BatchFunction(wide, {Int(32), Float(64)}, fma).operator()<uint64_t>(xs, ys);
    for (size_t i = 0; i < xs.size(); i++) {
      EvalContext cx;
      cx.fma = fma;
      cx.vars["x"] = Value::of_int(Int(32), xs[i]);
      cx.vars["y"] = Value::of_float(Float(64), ys[i]);
      const std::optional<Value> expected = evaluate(wide, cx);
      if (!expected) continue;  // it declines what the language leaves open
      compared++;
      const uint64_t a = t.is_float() ? canonical(got[i]) : got[i];
      const uint64_t b = t.is_float() ? canonical(expected->lanes[0]) : expected->lanes[0];
      if (a != b) {
        CAPTURE(seed);
        CAPTURE(to_string(e));
        CAPTURE(xs[i]);
        CAPTURE(ys[i]);
        CHECK(a == b);
        break;
      }
    }
  }
  CHECK(compared > 15000);
}

}  // namespace calotype::test
