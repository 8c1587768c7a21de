// Evaluation against plain C++ written from nodes.def, over edge values of every type; folding against evaluation.
#include "ir/eval.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/diagnostic.h"
#include "ir/equal.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "support/ir_gen.h"

using namespace calotype;
using namespace calotype::ir;

namespace {

template <typename T> std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    return {T(0),           T(-0.0),        T(1),     T(-1),           T(0.5),
            T(1.5),         T(-2.5),        T(3),     T(1e10),         T(-1e10),
            L::max(),       L::lowest(),    L::min(), L::denorm_min(), L::infinity(),
            -L::infinity(), L::quiet_NaN(), T(0.1),   T(255.7),        T(-128.4),
            T(2147483648.0)};
  } else {
    return {T(0),
            T(1),
            T(2),
            T(3),
            T(7),
            T(-1),
            T(-2),
            T(-7),
            T(100),
            L::max(),
            L::min(),
            T(L::max() - 1),
            T(L::min() + 1),
            T(L::max() / 2)};
  }
}

template <typename T> Expr constant(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return make_float(type_of<T>(), v);
  else
    return make_int(type_of<T>(), static_cast<int64_t>(v));
}

template <typename T> T get(const Value &v, int lane = 0) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(v.as_float(lane));
  else
    return static_cast<T>(v.lanes[lane]);
}

template <typename T> bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Evaluates e, and checks that its fold, where there is one, is the same.
template <typename T> void check_value(const Expr &e, T expected) {
  const std::optional<Value> v = evaluate(e);
  REQUIRE_MESSAGE(v.has_value(), to_string(e));
  CHECK_MESSAGE(same(get<T>(*v), expected),
                to_string(e) << " gave " << +get<T>(*v) << ", not " << +expected);
  const Expr folded = fold(e);
  if (folded.defined()) {
    CHECK(folded.type() == e.type());
    const std::optional<Value> w = evaluate(folded);
    REQUIRE(w.has_value());
    CHECK_MESSAGE(same(get<T>(*w), expected), to_string(e) << " folded to " << to_string(folded));
  }
}

// Euclidean division by definition: the remainder lies in [0, |b|).
template <typename T> T div_by_definition(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a / b;
  } else {
    if (b == 0) return 0;
    __int128 q = __int128(a) / b, r = __int128(a) % b;
    if (r < 0) q -= b > 0 ? 1 : -1;
    return static_cast<T>(q);
  }
}
template <typename T> T mod_by_definition(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T q = std::floor(a / b), p = b * q;
    return a - p;
  } else {
    if (b == 0) return 0;
    __int128 r = __int128(a) % b;
    if (r < 0) r += b > 0 ? __int128(b) : -__int128(b);
    return static_cast<T>(r);
  }
}

template <typename T> T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T> T sub(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T> T mul(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename T> void check_binary_operations() {
  for (T a : edges<T>()) {
    for (T b : edges<T>()) {
      const Expr x = constant(a), y = constant(b);
      check_value(make_add(x, y), add(a, b));
      check_value(make_sub(x, y), sub(a, b));
      check_value(make_mul(x, y), mul(a, b));
      check_value(make_div(x, y), div_by_definition(a, b));
      check_value(make_mod(x, y), mod_by_definition(a, b));
      check_value(make_min(x, y), a < b ? a : b);
      check_value(make_max(x, y), a > b ? a : b);
      check_value<uint8_t>(make_eq(x, y), a == b);
      check_value<uint8_t>(make_ne(x, y), a != b);
      check_value<uint8_t>(make_lt(x, y), a < b);
      check_value<uint8_t>(make_le(x, y), a <= b);
      check_value<uint8_t>(make_gt(x, y), a > b);
      check_value<uint8_t>(make_ge(x, y), a >= b);
    }
  }
}

// Casts by definition, without the conversions of C++ that are undefined.
template <typename To, typename From> To cast_by_definition(From v) {
  using L = std::numeric_limits<To>;
  if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    if (std::isnan(v)) return 0;
    const long double t = std::trunc(static_cast<long double>(v));
    if (t >= static_cast<long double>(L::max())) return L::max();
    if (t <= static_cast<long double>(L::min())) return L::min();
    return static_cast<To>(t);
  } else {
    return static_cast<To>(v);
  }
}

template <typename To, typename From> void check_cast() {
  for (From v : edges<From>()) {
    // A cast node even of a constant: make_cast would fold it.
    Ref<Cast> n = new Cast;
    n->type = type_of<To>();
    n->value = constant(v);
    check_value(Expr(n.get()), cast_by_definition<To>(v));
    check_value(make_cast(type_of<To>(), constant(v)), cast_by_definition<To>(v));
    check_value<uint8_t>(make_cast(Bool(), constant(v)), v != 0);
  }
}
template <typename From> void check_casts_from() {
  check_cast<int8_t, From>(), check_cast<int16_t, From>(), check_cast<int32_t, From>(),
      check_cast<int64_t, From>();
  check_cast<uint8_t, From>(), check_cast<uint16_t, From>(), check_cast<uint32_t, From>(),
      check_cast<uint64_t, From>();
  check_cast<float, From>(), check_cast<double, From>();
}

Expr intrinsic(Type t, Intrinsic op, std::vector<Expr> args) {
  return make_intrinsic(t, op, std::move(args));
}

template <typename T> T clamp_to(__int128 v) {
  using L = std::numeric_limits<T>;
  return v < L::min() ? L::min() : v > L::max() ? L::max() : static_cast<T>(v);
}

template <typename T> void check_integer_intrinsics() {
  using U = std::make_unsigned_t<T>;
  const Type t = type_of<T>(), u = type_of<U>();
  const int bits = t.bits();
  for (T a : edges<T>()) {
    const Expr x = constant(a);
    const U raw = static_cast<U>(a);
    int ones = 0, leading = bits, trailing = bits;
    for (int i = 0; i < bits; i++) {
      if (!(static_cast<uint64_t>(raw) >> i & 1)) continue;
      ones++;
      leading = bits - 1 - i;
      if (trailing == bits) trailing = i;
    }
    check_value<T>(intrinsic(t, Intrinsic::popcount, {x}), static_cast<T>(ones));
    check_value<T>(intrinsic(t, Intrinsic::count_leading_zeros, {x}), static_cast<T>(leading));
    check_value<T>(intrinsic(t, Intrinsic::count_trailing_zeros, {x}), static_cast<T>(trailing));
    check_value<T>(intrinsic(t, Intrinsic::bitwise_not, {x}), static_cast<T>(~a));
    check_value<U>(intrinsic(u, Intrinsic::abs, {x}), a < 0 ? static_cast<U>(0 - raw) : raw);
    for (T b : edges<T>()) {
      const Expr y = constant(b);
      const __int128 p = a, q = b;
      check_value<T>(intrinsic(t, Intrinsic::bitwise_and, {x, y}), static_cast<T>(a & b));
      check_value<T>(intrinsic(t, Intrinsic::bitwise_xor, {x, y}), static_cast<T>(a ^ b));
      check_value<U>(intrinsic(u, Intrinsic::absd, {x, y}), static_cast<U>(p > q ? p - q : q - p));
      check_value<T>(intrinsic(t, Intrinsic::saturating_add, {x, y}), clamp_to<T>(p + q));
      check_value<T>(intrinsic(t, Intrinsic::saturating_sub, {x, y}), clamp_to<T>(p - q));
      check_value<T>(intrinsic(t, Intrinsic::halving_add, {x, y}), static_cast<T>((p + q) >> 1));
      check_value<T>(intrinsic(t, Intrinsic::rounding_halving_add, {x, y}),
                     static_cast<T>((p + q + 1) >> 1));
    }
    for (int n = -bits - 2; n <= bits + 2; n++) {
      // Bit by bit: bit i of a << n is bit i - n of a; above the top the sign, below the bottom 0.
      const auto shifted = [&](int by) {
        uint64_t r = 0;
        for (int i = 0; i < bits; i++) {
          const int from = i - by;
          const uint64_t bit = from < 0      ? 0
                               : from < bits ? static_cast<uint64_t>(raw) >> from & 1
                                             : a < 0;
          r |= bit << i;
        }
        return static_cast<T>(r);
      };
      const Expr amount = make_int(Int(32), n);
      check_value<T>(intrinsic(t, Intrinsic::shift_left, {x, amount}), shifted(n));
      check_value<T>(intrinsic(t, Intrinsic::shift_right, {x, amount}), shifted(-n));
    }
  }
}

std::optional<Value> value_of(const std::string &text, const EvalContext &cx = {}) {
  return evaluate(parse_expr(text), cx);
}

}  // namespace

TEST_CASE("eval: binary operations over edge values agree with C++ for every type") {
  check_binary_operations<int8_t>();
  check_binary_operations<int16_t>();
  check_binary_operations<int32_t>();
  check_binary_operations<int64_t>();
  check_binary_operations<uint8_t>();
  check_binary_operations<uint16_t>();
  check_binary_operations<uint32_t>();
  check_binary_operations<uint64_t>();
  check_binary_operations<float>();
  check_binary_operations<double>();
}

TEST_CASE("eval: casts between all types wrap, saturate and round") {
  check_casts_from<int8_t>(), check_casts_from<int16_t>(), check_casts_from<int32_t>(),
      check_casts_from<int64_t>();
  check_casts_from<uint8_t>(), check_casts_from<uint16_t>(), check_casts_from<uint32_t>(),
      check_casts_from<uint64_t>();
  check_casts_from<float>(), check_casts_from<double>();
}

TEST_CASE("eval: integer intrinsics agree with their definitions") {
  check_integer_intrinsics<int8_t>();
  check_integer_intrinsics<int16_t>();
  check_integer_intrinsics<int32_t>();
  check_integer_intrinsics<int64_t>();
  check_integer_intrinsics<uint8_t>();
  check_integer_intrinsics<uint16_t>();
  check_integer_intrinsics<uint32_t>();
  check_integer_intrinsics<uint64_t>();
}

TEST_CASE("eval: widening operations are exact") {
  for (int8_t a : edges<int8_t>()) {
    for (int8_t b : edges<int8_t>()) {
      const Expr x = constant(a), y = constant(b), wide = constant(static_cast<int16_t>(1000));
      check_value<int16_t>(intrinsic(Int(16), Intrinsic::widening_mul, {x, y}),
                           static_cast<int16_t>(a * b));
      check_value<int16_t>(intrinsic(Int(16), Intrinsic::widening_add, {x, y}),
                           static_cast<int16_t>(a + b));
      check_value<int16_t>(intrinsic(Int(16), Intrinsic::widen_right_sub, {wide, y}),
                           static_cast<int16_t>(1000 - b));
      const Expr u = constant(static_cast<uint8_t>(a)), v = constant(static_cast<uint8_t>(b));
      check_value<int16_t>(intrinsic(Int(16), Intrinsic::widening_sub, {u, v}),
                           static_cast<int16_t>(uint8_t(a) - uint8_t(b)));
      check_value<uint8_t>(intrinsic(UInt(8), Intrinsic::saturating_cast, {wide}), 255);
    }
  }
}

TEST_CASE("eval: float intrinsics round in their own type") {
  for (float a : edges<float>()) {
    check_value(intrinsic(Float(32), Intrinsic::sqrt, {constant(a)}), std::sqrt(a));
    check_value(intrinsic(Float(32), Intrinsic::floor, {constant(a)}), std::floor(a));
    check_value(intrinsic(Float(32), Intrinsic::ceil, {constant(a)}), std::ceil(a));
    check_value(intrinsic(Float(32), Intrinsic::trunc, {constant(a)}), std::trunc(a));
    check_value(intrinsic(Float(32), Intrinsic::round, {constant(a)}), std::nearbyint(a));
    check_value(intrinsic(Float(32), Intrinsic::abs, {constant(a)}), std::fabs(a));
    check_value<uint8_t>(intrinsic(Bool(), Intrinsic::is_nan, {constant(a)}), std::isnan(a));
    for (float b : edges<float>()) {
      for (float c : edges<float>()) {
        check_value(intrinsic(Float(32), Intrinsic::fma, {constant(a), constant(b), constant(c)}),
                    std::fma(a, b, c));
      }
    }
  }
}

TEST_CASE("eval: fma rounds once or twice by mode, and is folded only where that is the same") {
  const Expr e = parse_expr("fma(0.1f, 10.0f, -1.0f)");
  EvalContext fused, apart;
  apart.fma = false;
  const float product = 0.1f * 10.0f;
  CHECK(evaluate(e, fused)->as_float() == static_cast<double>(std::fma(0.1f, 10.0f, -1.0f)));
  CHECK(evaluate(e, apart)->as_float() == static_cast<double>(product - 1.0f));
  CHECK(!fold(e).defined());
  CHECK(equal(fold(parse_expr("fma(2.0f, 3.0f, 1.0f)")), parse_expr("7.0f")));
}

TEST_CASE("eval: 16-bit floats round after each operation") {
  CHECK(value_of("1.0:f16/3.0:f16")->as_float() == round_to(Float(16), 1.0 / 3.0));
  CHECK(value_of("60000.0:f16 + 10000.0:f16")->as_float() == HUGE_VAL);
  CHECK(value_of("bf16(16777217)")->as_float() == 16777216);
  CHECK(value_of("bf16(9007199254740993:i64 + 36028797018963968:i64)")->as_float() ==
        0x1p55 + 0x1p53);
  CHECK(value_of("reinterpret(u16, 1.0:f16)")->as_int() == 0x3c00);
  CHECK(value_of("reinterpret(u16, 1.0:bf16)")->as_int() == 0x3f80);
  for (uint32_t bits = 0; bits < 65536; bits += 7) {
    for (const char *type : {"f16", "bf16"}) {
      const std::string text = "reinterpret(u16, reinterpret(" + std::string(type) + ", " +
                               std::to_string(bits) + ":u16))";
      const bool nan = std::isnan(
          value_of("reinterpret(" + std::string(type) + ", " + std::to_string(bits) + ":u16)")
              ->as_float());
      if (!nan) CHECK(value_of(text)->lanes[0] == bits);
    }
  }
}

TEST_CASE("eval: vectors") {
  CHECK(value_of("ramp(3, 2, 4)")->lanes == std::vector<uint64_t>{3, 5, 7, 9});
  CHECK(value_of("ramp(ramp(0, 1, 2), x2(10), 3)")->lanes ==
        std::vector<uint64_t>{0, 1, 10, 11, 20, 21});
  CHECK(value_of("x2(ramp(0, 1, 2))")->lanes == std::vector<uint64_t>{0, 1, 0, 1});
  CHECK(value_of("shuffle([3, 0], ramp(0, 1, 2), ramp(10, 1, 2))")->lanes ==
        std::vector<uint64_t>{11, 0});
  CHECK(value_of("reduce_add(ramp(1, 1, 4), 2)")->lanes == std::vector<uint64_t>{3, 7});
  CHECK(value_of("reduce_min(ramp(5, -1, 4), 1)")->as_int() == 2);
  CHECK(value_of("select(ramp(0, 1, 3) < 1, x3(7), x3(8))")->lanes ==
        std::vector<uint64_t>{7, 8, 8});
  CHECK(value_of("reinterpret(u8x4, 67305985)")->lanes == std::vector<uint64_t>{1, 2, 3, 4});
}

TEST_CASE("eval: lets, variables and loads") {
  EvalContext cx;
  cx.vars["n"] = Value::of_int(Int(32), 5);
  cx.memory["f"] = {10, 20, 30};
  CHECK(value_of("(let t = n + 1 in t*t)", cx)->as_int() == 36);
  CHECK(value_of("(let n = 1 in let n = n + 1 in n) + n", cx)->as_int() == 7);
  CHECK(value_of("f[ramp(0, 1, 4) if ramp(0, 1, 4) < 3]", cx)->lanes ==
        std::vector<uint64_t>{10, 20, 30, 0});
  CHECK(!value_of("f[3]", cx));
  CHECK(!value_of("f[-1]", cx));
  CHECK(!value_of("m", cx));
  CHECK(!value_of("g(1)", cx));
  CHECK(!value_of("n:u8", cx));
}

TEST_CASE("eval: only the chosen side of if_then_else is evaluated") {
  CHECK(value_of("if_then_else(true, 1, undefined_buffer[0])")->as_int() == 1);
  CHECK(!value_of("select(true, 1, undefined_buffer[0])"));
}

TEST_CASE("eval: a huge shared expression is evaluated once per part") {
  Expr e = make_var("x");
  for (int i = 0; i < 200; i++) e = make_add(e, e);
  EvalContext cx;
  cx.vars["x"] = Value::of_int(Int(32), 1);
  CHECK(evaluate(e, cx)->as_int() == 0);
  Expr deep = make_var("x");
  for (int i = 0; i < 100000; i++) deep = make_max(deep, make_int(Int(32), i));
  CHECK(evaluate(deep, cx)->as_int() == 99999);
}

TEST_CASE("fold: constants fold, unspecified results and unknown operands do not") {
  const auto folded = [](const std::string &text) {
    const Expr e = fold(parse_expr(text));
    return e.defined() ? to_string(e) : std::string("-");
  };
  CHECK(folded("2 + 3") == "5");
  CHECK(folded("2147483647 + 1") == "-");
  CHECK(folded("-2147483648/-1") == "-");
  CHECK(folded("127:i8 + 1:i8") == "-128:i8");
  CHECK(folded("4294967295:u32 + 1:u32") == "0:u32");
  CHECK(folded("x + 1") == "-");
  CHECK(folded("x8(3) + x8(4)") == "x8(7)");
  CHECK(folded("x8(3) < x8(4)") == "x8(true)");
  CHECK(folded("u8(2.5f)") == "2:u8");
  CHECK(folded("select(true, 1, 2)") == "1");
  CHECK(folded("!false") == "true");
  CHECK(folded("abs(-3)") == "3:u32");
  CHECK(folded("reduce_add(x8(2), 2)") == "x2(8)");
  CHECK(folded("shuffle([0, 1], x4(5))") == "x2(5)");
  CHECK(folded("0.1f + 0.2f") == "0.3f");
  CHECK(folded("likely(3)") == "-");
  CHECK(folded("reinterpret(u32, 1.0f)") == "1065353216:u32");
  CHECK(folded("undef():i32") == "-");
  CHECK(!fold(Expr()).defined());
}

TEST_CASE("fold: agrees with evaluation on random constant expressions") {
  test::IrGenerator gen(7);
  gen.calls = gen.loads = gen.params = gen.odd_names = false;
  int folded = 0;
  for (int i = 0; i < 4000; i++) {
    const Type t = gen.any_type();
    const Expr a = gen.constant(t), b = gen.constant(t);
    const NodeKind kinds[] = {NodeKind::Add, NodeKind::Mul, NodeKind::Div,
                              NodeKind::Mod, NodeKind::LT,  NodeKind::NE};
    const Expr e = make_binary(kinds[i % 6], a, b), f = fold(e);
    if (!f.defined()) continue;
    folded++;
    const Value x = *evaluate(e), y = *evaluate(f);
    CHECK(x.type == y.type);
    for (size_t lane = 0; lane < x.lanes.size(); lane++) {
      const bool nan = x.type.is_float() && std::isnan(x.as_float(static_cast<int>(lane)));
      CHECK((nan || x.lanes[lane] == y.lanes[lane]));
    }
  }
  CHECK(folded > 3000);
}

TEST_CASE("execute: loops, lets, branches, allocations and masked stores") {
  EvalContext cx;
  cx.memory["out"] = std::vector<uint64_t>(8, 0);
  cx.memory_types["out"] = Int(32);
  const std::string error =
      execute(parse_stmt("allocate t:i32 [4, 2] in stack\n"
                         "for y in 0 +: 2 {\n"
                         "  parallel x in 0 +: 4 {\n"
                         "    let i = y*4 + x\n"
                         "    if x % 2 == 0 {\n"
                         "      t[i] = i*i\n"
                         "    } else {\n"
                         "      t[i] = -1\n"
                         "    }\n"
                         "  }\n"
                         "}\n"
                         "out[ramp(0, 1, 8) if ramp(0, 1, 8) != 2] = t[ramp(0, 1, 8)]\n"),
              cx);
  CHECK(error == "");
  std::vector<int64_t> out(cx.memory["out"].begin(), cx.memory["out"].end());
  CHECK(out == std::vector<int64_t>{0, -1, 0, -1, 16, -1, 36, -1});
  CHECK(cx.memory.count("t") == 0);
}

TEST_CASE("execute: errors say what went wrong") {
  EvalContext cx;
  cx.memory["f"] = {0, 0};
  cx.memory_types["f"] = Int(32);
  CHECK(execute(parse_stmt("f[2] = 1"), cx) == "store to f[2] outside its 2 elements");
  CHECK(execute(parse_stmt("f[0] = f[-1]"), cx) ==
        "cannot evaluate f[-1]: f[-1] lies outside its 2 elements");
  CHECK(execute(parse_stmt("g[0] = 1"), cx) == "buffer g has no memory");
  CHECK(execute(parse_stmt("f[0] = 1:u8"), cx) == "buffer f holds i32, the value is u8");
  CHECK(execute(parse_stmt("assert 1 == 2, error(\"bad\", 7)"), cx) ==
        "assertion failed: 1 == 2, error(\"bad\", 7)");
  CHECK(execute(parse_stmt("f(0) = 1"), cx) == "not a flat statement: f(0) = 1");
  CHECK(execute(parse_stmt("let n = m\nf[0] = n"), cx) ==
        "cannot evaluate m: variable m has no value");
  CHECK(execute(parse_stmt("allocate big:i32 [100000, 100000]\nf[0] = 1"), cx) ==
        "allocation of big is too large");
}
