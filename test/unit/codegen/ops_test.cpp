// Every operation on every type at its edge values, in several vector widths and instruction sets, against its
// definition in 128-bit integers and long double (column.h).
#include "column.h"
#include "run.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <functional>
#include <set>

using namespace codegen_test;
using ir::Intrinsic;
using ir::NodeKind;

namespace {

using Reference = std::function<Scalar(Scalar, Scalar)>;

/// An operation on a and b: how to build it, what it should give.
struct Operation {
  std::string name;
  Type result;  // of one lane
  std::function<Expr(Expr, Expr)> build;
  Reference reference;
};

Scalar whole(Wide v) {
  Scalar s;
  s.whole = v;
  return s;
}
Scalar real(long double v) {
  Scalar s;
  s.real = v;
  return s;
}

const std::vector<Target> &targets() {
  static const std::vector<Target> all = {
      Target("x86-64-linux"), Target("x86-64-linux-avx-avx2-f16c-fma-sse41"),
      Target("x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-sse41")};
  return all;
}

/// Whether code for `t` runs here; where it does not, tests still generate it.
bool runs_here(const Target &t) {
  bool runs = why_not_runnable_here(t).empty();
  static bool told = false;
  if (!runs && !told) std::printf("[skip] codegen: results for %s\n", t.to_string().c_str());
  told = told || !runs;
  return runs;
}

/// Runs all of `operations` over the columns, `lanes` at a time, and compares.
void check(const std::vector<Operation> &operations, Column &a, Column &b, int lanes,
           const Target &target) {
  size_t n = a.size;
  std::vector<Column> outs;
  std::vector<Array> arrays = {{"a", a.type, a.data()}, {"b", b.type, b.data()}};
  for (const Operation &o : operations) outs.emplace_back(o.result, n);
  ir::Stmt body;
  Expr first = ir::make_mul(ir::make_var("i"), lanes);
  Expr index = lanes == 1 ? first : ir::make_ramp(first, 1, lanes);
  Expr x = ir::make_load(a.type.with_lanes(lanes), "a", index),
       y = ir::make_load(b.type.with_lanes(lanes), "b", index);
  for (size_t k = 0; k < operations.size(); k++) {
    std::string name = "out" + std::to_string(k);
    arrays.push_back({name, operations[k].result, outs[k].data(), true});
    Expr value = operations[k].build(x, y);
    REQUIRE(value.type() == operations[k].result.with_lanes(lanes));
    body = ir::make_block(body, ir::make_store(name, value, index));
  }
  body = ir::make_for("i", 0, static_cast<int>(n) / lanes, ir::ForType::Serial, body);
  if (!runs_here(target)) {
    CHECK(codegen::compile_object(function(body, arrays), target, "f", codegen::ObjectForm::Object)
              .size() > 0);
    return;
  }
  REQUIRE(run(body, arrays, target) == 0);
  for (size_t k = 0; k < operations.size(); k++) {
    const Operation &o = operations[k];
    CHECK(outs[k].guards_intact());
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
      Column expected(o.result, 1);
      expected.set(0, o.reference(a.get(i), b.get(i)));
      if (same(o.result, outs[k].bits(i), expected.bits(0))) continue;
      if (wrong++) continue;
      FAIL_CHECK(o.name << " " << to_string(a.type) << "x" << lanes << " on " << target.to_string()
                        << ": a="
                        << (a.type.is_float() ? static_cast<double>(a.get(i).real)
                                              : static_cast<double>(a.get(i).whole))
                        << " b="
                        << (b.type.is_float() ? static_cast<double>(b.get(i).real)
                                              : static_cast<double>(b.get(i).whole))
                        << " gave " << outs[k].bits(i) << ", not " << expected.bits(0));
    }
  }
}

void check_widths(const std::vector<Operation> &operations, Type t, Type u,
                  const std::vector<int> &widths) {
  std::vector<Scalar> x, y;
  pairs(t, u, &x, &y);
  Column a(t, x), b(u, y);
  for (const Target &target : targets()) {
    for (int lanes : widths) check(operations, a, b, lanes, target);
  }
}

// ---- definitions --------------------------------------------------------------------------------------------------

Wide euclid_div(Wide a, Wide b) {
  if (b == 0) return 0;
  Wide q = a / b, r = a % b;
  if (r < 0) q += b > 0 ? -1 : 1;
  return q;
}
Wide euclid_mod(Wide a, Wide b) { return b == 0 ? 0 : a - euclid_div(a, b) * b; }

// Shifts by any amount, negative ones the other way, by the definition floor(a * 2^n) without the lost high bits.
Wide shift(Type t, Wide a, Wide n) {
  Wide limit = 200;
  n = std::max(-limit, std::min(limit, n));
  if (n >= t.bits()) return 0;
  if (n >= 0)
    return wrap(t, static_cast<Wide>(static_cast<unsigned __int128>(a) << static_cast<int>(n)));
  int right = static_cast<int>(std::min<Wide>(-n, 127));
  return a >> right;
}

Wide clamp_to(Type t, Wide v) {
  Wide low = t.is_int() ? -(static_cast<Wide>(1) << (t.bits() - 1)) : 0;
  Wide high = (static_cast<Wide>(1) << (t.bits() - t.is_int())) - 1;
  return std::max(low, std::min(high, v));
}

std::vector<Operation> arithmetic(Type t) {
  std::vector<Operation> all;
  auto binary = [&](const char *name, NodeKind op, std::function<Wide(Wide, Wide)> f) {
    all.push_back({name, t, [op](Expr a, Expr b) { return ir::make_binary(op, a, b); },
                   [t, f](Scalar a, Scalar b) { return whole(wrap(t, f(a.whole, b.whole))); }});
  };
  binary("add", NodeKind::Add, [](Wide a, Wide b) { return a + b; });
  binary("sub", NodeKind::Sub, [](Wide a, Wide b) { return a - b; });
  binary("mul", NodeKind::Mul, [t](Wide a, Wide b) {
    return static_cast<Wide>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
  });
  binary("div", NodeKind::Div, euclid_div);
  binary("mod", NodeKind::Mod, euclid_mod);
  binary("min", NodeKind::Min, [](Wide a, Wide b) { return std::min(a, b); });
  binary("max", NodeKind::Max, [](Wide a, Wide b) { return std::max(a, b); });
  auto intrinsic = [&](Intrinsic op, Type result, int operands, std::function<Wide(Wide, Wide)> f) {
    auto build = [op, result, operands](Expr a, Expr b) {
      std::vector<Expr> args = {a};
      if (operands == 2) args.push_back(b);
      return ir::make_intrinsic(result.with_lanes(a.type().lanes()), op, args);
    };
    all.push_back({ir::intrinsic_name(op), result, build, [result, f](Scalar a, Scalar b) {
                     return whole(wrap(result, f(a.whole, b.whole)));
                   }});
  };
  Type u = t.with_code(Type::UInt);
  intrinsic(Intrinsic::bitwise_and, t, 2, [](Wide a, Wide b) { return a & b; });
  intrinsic(Intrinsic::bitwise_or, t, 2, [](Wide a, Wide b) { return a | b; });
  intrinsic(Intrinsic::bitwise_xor, t, 2, [](Wide a, Wide b) { return a ^ b; });
  intrinsic(Intrinsic::bitwise_not, t, 1, [](Wide a, Wide) { return ~a; });
  intrinsic(Intrinsic::shift_left, t, 2, [t](Wide a, Wide b) { return shift(t, a, b); });
  intrinsic(Intrinsic::shift_right, t, 2, [t](Wide a, Wide b) { return shift(t, a, -b); });
  intrinsic(Intrinsic::abs, u, 1, [](Wide a, Wide) { return a < 0 ? -a : a; });
  intrinsic(Intrinsic::absd, u, 2, [](Wide a, Wide b) { return a < b ? b - a : a - b; });
  intrinsic(Intrinsic::saturating_add, t, 2, [t](Wide a, Wide b) { return clamp_to(t, a + b); });
  intrinsic(Intrinsic::saturating_sub, t, 2, [t](Wide a, Wide b) { return clamp_to(t, a - b); });
  intrinsic(Intrinsic::popcount, t, 1, [t](Wide a, Wide) {
    return Wide(__builtin_popcountll(static_cast<uint64_t>(wrap(UInt(t.bits()), a))));
  });
  intrinsic(Intrinsic::count_leading_zeros, t, 1, [t](Wide a, Wide) {
    auto bits = static_cast<uint64_t>(wrap(UInt(t.bits()), a));
    return Wide(bits == 0 ? t.bits() : __builtin_clzll(bits) - (64 - t.bits()));
  });
  intrinsic(Intrinsic::count_trailing_zeros, t, 1, [t](Wide a, Wide) {
    auto bits = static_cast<uint64_t>(wrap(UInt(t.bits()), a));
    return Wide(bits == 0 ? t.bits() : __builtin_ctzll(bits));
  });
  return all;
}

template <typename F> void add_comparisons(std::vector<Operation> *all, F value) {
  auto compare = [&](const char *name, NodeKind op, auto f) {
    all->push_back({name, Bool(), [op](Expr a, Expr b) { return ir::make_binary(op, a, b); },
                    [f, value](Scalar a, Scalar b) { return whole(f(value(a), value(b))); }});
  };
  compare("eq", NodeKind::EQ, [](auto a, auto b) { return a == b; });
  compare("ne", NodeKind::NE, [](auto a, auto b) { return a != b; });
  compare("lt", NodeKind::LT, [](auto a, auto b) { return a < b; });
  compare("le", NodeKind::LE, [](auto a, auto b) { return a <= b; });
  compare("gt", NodeKind::GT, [](auto a, auto b) { return a > b; });
  compare("ge", NodeKind::GE, [](auto a, auto b) { return a >= b; });
}

std::vector<Operation> with_constant(Type t, Wide c) {
  std::vector<Operation> all;
  auto add = [&](const char *name, std::function<Expr(Expr, Expr)> build,
                 std::function<Wide(Wide, Wide)> f) {
    all.push_back({name + std::string(" by ") + std::to_string(static_cast<long long>(c)), t,
                   [t, c, build](Expr a, Expr) {
                     auto bits = static_cast<int64_t>(c);
                     Type v = t.with_lanes(a.type().lanes());
                     return build(a, t.is_int() ? ir::make_int(v, bits)
                                                : ir::make_uint(v, static_cast<uint64_t>(bits)));
                   },
                   [t, c, f](Scalar a, Scalar) { return whole(wrap(t, f(a.whole, c))); }});
  };
  add("div", [](Expr a, Expr b) { return ir::make_div(a, b); }, euclid_div);
  add("mod", [](Expr a, Expr b) { return ir::make_mod(a, b); }, euclid_mod);
  auto intrinsic = [](Intrinsic op) {
    return [op](Expr a, Expr b) { return ir::make_intrinsic(a.type(), op, {a, b}); };
  };
  add("shift_left", intrinsic(Intrinsic::shift_left),
      [t](Wide a, Wide b) { return shift(t, a, b); });
  add("shift_right", intrinsic(Intrinsic::shift_right),
      [t](Wide a, Wide b) { return shift(t, a, -b); });
  return all;
}

const Type kInts[] = {Int(8), Int(16), Int(32), Int(64), UInt(8), UInt(16), UInt(32), UInt(64)};
const Type kFloats[] = {Float(16), BFloat(16), Float(32), Float(64)};

}  // namespace

static void integer_operations(const std::vector<int> &widths) {
  for (Type t : kInts) {
    std::vector<Operation> all = arithmetic(t);
    add_comparisons(&all, [](Scalar s) { return s.whole; });
    check_widths(all, t, t, widths);
  }
}

TEST_CASE("codegen/ops: integer operations follow their definitions at the edges") {
  integer_operations({1, 16});
}

TEST_CASE("codegen/ops: integer operations in all widths" * doctest::test_suite("slow")) {
  integer_operations({4, 8, 32, 64});
}

TEST_CASE("codegen/ops: odd widths, bools and selections") {
  check_widths(arithmetic(UInt(16)), UInt(16), UInt(16), {4});
  check_widths(arithmetic(Int(8)), Int(8), Int(8), {64});
  std::vector<Operation> bools;
  add_comparisons(&bools, [](Scalar s) { return s.whole; });
  bools.push_back(
      {"and", Bool(), ir::make_and, [](Scalar a, Scalar b) { return whole(a.whole & b.whole); }});
  bools.push_back(
      {"or", Bool(), ir::make_or, [](Scalar a, Scalar b) { return whole(a.whole | b.whole); }});
  bools.push_back({"not", Bool(), [](Expr a, Expr) { return ir::make_not(a); },
                   [](Scalar a, Scalar) { return whole(!a.whole); }});
  bools.push_back({"select", Int(32),
                   [](Expr a, Expr b) {
                     Type t = Int(32, a.type().lanes());
                     return ir::make_select(ir::make_and(a, b), make_int(t, -7), make_int(t, 9));
                   },
                   [](Scalar a, Scalar b) { return whole(a.whole & b.whole ? -7 : 9); }});
  check_widths(bools, Bool(), Bool(), {1, 4, 16, 32});
}

static void divisions_by_constants(const std::vector<int> &some, const std::vector<int> &widths) {
  for (Type t : kInts) {
    std::vector<Operation> all;
    std::set<Wide> constants;
    for (int c : some) constants.insert(wrap(t, c));
    constants.insert(wrap(t, static_cast<Wide>(1) << (t.bits() - 1)));
    constants.insert(wrap(t, (static_cast<Wide>(1) << (t.bits() - 1)) - 1));
    for (Wide c : constants) {
      for (Operation &o : with_constant(t, c)) all.push_back(o);
    }
    check_widths(all, t, t, widths);
  }
}

TEST_CASE("codegen/ops: division and shifts by constants") {
  divisions_by_constants({3, 7, 8, 10, 100, 0, -1, -7, -8}, {16});
}

TEST_CASE("codegen/ops: division and shifts by many constants" * doctest::test_suite("slow")) {
  divisions_by_constants(
      {1, 2, 3, 4, 5, 7, 8, 9, 10, 16, 64, 100, 127, 0, -1, -2, -3, -8, -7, -127}, {1, 8, 32});
}

static void float_operations(const std::vector<int> &widths) {
  for (Type t : kFloats) {
    std::vector<Operation> all;
    auto binary = [&](const char *name, NodeKind op,
                      std::function<long double(long double, long double)> f) {
      all.push_back({name, t, [op](Expr a, Expr b) { return ir::make_binary(op, a, b); },
                     [f](Scalar a, Scalar b) { return real(f(a.real, b.real)); }});
    };
    // For double, long double would round twice: use the machine's double there.
    bool d = t.bits() == 64;
    binary("add", NodeKind::Add,
           [d](long double a, long double b) { return d ? (double)a + (double)b : a + b; });
    binary("sub", NodeKind::Sub,
           [d](long double a, long double b) { return d ? (double)a - (double)b : a - b; });
    binary("mul", NodeKind::Mul,
           [d](long double a, long double b) { return d ? (double)a * (double)b : a * b; });
    binary("div", NodeKind::Div,
           [d](long double a, long double b) { return d ? (double)a / (double)b : a / b; });
    binary("min", NodeKind::Min, [](long double a, long double b) { return a < b ? a : b; });
    binary("max", NodeKind::Max, [](long double a, long double b) { return a > b ? a : b; });
    binary("mod", NodeKind::Mod, [t, d](long double a, long double b) {
      if (d) return (long double)((double)a - (double)b * std::floor((double)a / (double)b));
      long double q = std::floor(round_to(t, a / b));
      return round_to(t, a - round_to(t, b * q));
    });
    add_comparisons(&all, [](Scalar s) { return s.real; });
    auto unary = [&](Intrinsic op, std::function<long double(long double)> f) {
      all.push_back({ir::intrinsic_name(op), t,
                     [op](Expr a, Expr) { return ir::make_intrinsic(a.type(), op, {a}); },
                     [f](Scalar a, Scalar) { return real(f(a.real)); }});
    };
    unary(Intrinsic::abs, [](long double a) { return std::fabs(a); });
    unary(Intrinsic::floor, [](long double a) { return std::floor(a); });
    unary(Intrinsic::ceil, [](long double a) { return std::ceil(a); });
    unary(Intrinsic::trunc, [](long double a) { return std::trunc(a); });
    unary(Intrinsic::round, [](long double a) { return std::nearbyint(a); });
    unary(Intrinsic::sqrt, [d](long double a) { return d ? std::sqrt((double)a) : std::sqrt(a); });
    check_widths(all, t, t, widths);
  }
}

TEST_CASE("codegen/ops: float operations round once and order NaN and zeros as defined") {
  float_operations({1, 8});
}

TEST_CASE("codegen/ops: float operations in all widths" * doctest::test_suite("slow")) {
  float_operations({4, 16});
}

TEST_CASE("codegen/ops: fma rounds once where the target has it and twice elsewhere") {
  for (Type t : {Float(32), Float(64)}) {
    std::vector<Scalar> x, y;
    pairs(t, t, &x, &y);
    Column a(t, x), b(t, y);
    for (const Target &target : targets()) {
      bool once = target.fuses_multiply_add();
      Operation o{
          "fma", t,
          [](Expr p, Expr q) { return ir::make_intrinsic(p.type(), Intrinsic::fma, {p, q, p}); },
          [once, t](Scalar p, Scalar q) {
            if (t.bits() == 32) {
              auto u = static_cast<float>(p.real), v = static_cast<float>(q.real);
              volatile float product = u * v;
              return real(once ? std::fma(u, v, u) : product + u);
            }
            auto u = static_cast<double>(p.real), v = static_cast<double>(q.real);
            volatile double product = u * v;
            return real(once ? std::fma(u, v, u) : product + u);
          }};
      for (int lanes : {1, 8}) check({o}, a, b, lanes, target);
    }
  }
}

static void casts(const std::vector<int> &widths) {
  std::vector<Type> types(std::begin(kInts), std::end(kInts));
  types.insert(types.end(), std::begin(kFloats), std::end(kFloats));
  types.push_back(Bool());
  for (Type from : types) {
    std::vector<Operation> all;
    for (Type to : types) {
      auto reference = [from, to](Scalar a, Scalar) {
        long double x = from.is_float() ? a.real : static_cast<long double>(a.whole);
        if (to.is_float()) return real(x);
        if (to.is_bool()) return whole(x != 0);
        if (!from.is_float()) return whole(wrap(to, a.whole));
        if (std::isnan(x)) return whole(0);
        if (std::fabs(x) > 1e30L)
          return whole(clamp_to(to, x > 0 ? Wide(1) << 100 : -(Wide(1) << 100)));
        return whole(clamp_to(to, static_cast<Wide>(std::trunc(x))));
      };
      all.push_back(
          {"cast to " + to_string(to), to,
           [to](Expr a, Expr) { return ir::make_cast(to.with_lanes(a.type().lanes()), a); },
           reference});
    }
    std::vector<Scalar> values = edges(from);
    if (from.bits() == 64 && !from.is_float()) {  // neighbours of ties of the narrow formats
      for (int shift : {9, 20, 40, 53, 61}) {
        for (int d : {-1, 0, 1}) values.push_back(whole((Wide(0x101) << shift) + d));
      }
    }
    if (from.bits() == 64 && from.is_float()) {
      for (double d : {-0x1p-50, 0.0, 0x1p-50})
        values.push_back(real(1.0L + 0x1p-11L + d)), values.push_back(real(1.0L + 0x1p-8L + d));
    }
    while (values.size() % 64) values.push_back(values[values.size() % 7 % values.size()]);
    Column a(from, values), b(from, values);
    for (const Target &target : targets()) {
      for (int lanes : widths) check(all, a, b, lanes, target);
    }
  }
}

TEST_CASE("codegen/ops: casts between all types") { casts({1, 16}); }

TEST_CASE("codegen/ops: casts in all widths" * doctest::test_suite("slow")) { casts({4, 8, 32}); }

TEST_CASE("codegen/ops: 16-bit floats convert both ways for every bit pattern") {
  for (Type t : {Float(16), BFloat(16)}) {
    Column a(t, 65536), b(t, 65536);
    for (size_t i = 0; i < 65536; i++) {
      auto bits = static_cast<uint16_t>(i);
      std::memcpy(static_cast<uint8_t *>(a.data()) + 2 * i, &bits, 2);
    }
    Operation widen{"widen", Float(32),
                    [](Expr x, Expr) { return ir::make_cast(Float(32, x.type().lanes()), x); },
                    [](Scalar x, Scalar) { return x; }};
    Operation back{"back", t,
                   [t](Expr x, Expr) {
                     int n = x.type().lanes();
                     Expr third = ir::make_broadcast(Expr(1.0f / 3), n);
                     return ir::make_cast(t.with_lanes(n),
                                          ir::make_mul(ir::make_cast(Float(32, n), x), third));
                   },
                   [](Scalar x, Scalar) { return real(static_cast<float>(x.real) * (1.0f / 3)); }};
    for (const Target &target : targets()) check({widen, back}, a, b, 16, target);
  }
}

TEST_CASE("codegen/ops: reductions fold groups of lanes, floats in order") {
  const int n = 32;
  for (Type t : {UInt(8), Int(16), Int(32), Float(32), BFloat(16)}) {
    std::vector<Scalar> values;
    for (int i = 0; i < n; i++) {
      Scalar s;
      s.whole = wrap(t, (i * 37 + 11) % 101 - 50);
      s.real = round_to(t, std::pow(10.0L, i % 9 - 4) * (i % 3 - 1.25L));
      values.push_back(s);
    }
    Column a(t, values);
    for (ir::ReduceOp op : {ir::ReduceOp::Add, ir::ReduceOp::Mul, ir::ReduceOp::Min,
                            ir::ReduceOp::Max, ir::ReduceOp::SaturatingAdd}) {
      if (op == ir::ReduceOp::SaturatingAdd && t.is_float()) continue;
      for (int lanes : {1, 2, 4, 8, 16, 32}) {
        Column out(t, lanes);
        Expr v = ir::make_load(t.with_lanes(n), "a", ir::make_ramp(0, 1, n));
        Expr r = ir::make_vector_reduce(op, v, lanes);
        Expr at = lanes == 1 ? Expr(0) : ir::make_ramp(0, 1, lanes);
        CHECK(run(ir::make_store("out", r, at),
                  {{"a", t, a.data()}, {"out", t, out.data(), true}}) == 0);
        int group = n / lanes;
        for (int k = 0; k < lanes; k++) {
          Scalar acc = a.get(k * group);
          for (int j = 1; j < group; j++) {
            Scalar x = a.get(k * group + j);
            switch (op) {
              case ir::ReduceOp::Add:
                acc = {wrap(t, acc.whole + x.whole), round_to(t, acc.real + x.real)};
                break;
              case ir::ReduceOp::Mul:
                acc = {wrap(t, acc.whole * x.whole), round_to(t, acc.real * x.real)};
                break;
              case ir::ReduceOp::Min:
                acc = {std::min(acc.whole, x.whole), std::min(acc.real, x.real)};
                break;
              case ir::ReduceOp::Max:
                acc = {std::max(acc.whole, x.whole), std::max(acc.real, x.real)};
                break;
              default: acc.whole = clamp_to(t, acc.whole + x.whole); break;
            }
          }
          Column expected(t, std::vector<Scalar>{acc});
          CHECK_MESSAGE(out.bits(k) == expected.bits(0),
                        to_string(t) << " reduce " << int(op) << " to " << lanes << " lane " << k);
        }
      }
    }
  }
}

TEST_CASE("codegen/ops: division of numbers known to be small") {
  // a * 64 + 63 with a of 16 bits: up to 2^22 - 1, which the compiler can see.
  for (Type t : {UInt(32), Int(32)}) {
    Column a(UInt(16), 65536), b(UInt(16), 65536);
    for (int i = 0; i < 65536; i++) a.set(i, whole(i));
    std::vector<Operation> all;
    for (int c : {3, 5, 7, 10, 255, 1000, 65537, 4194303, 4194304, 4194305, -7}) {
      if (c < 0 && t.is_uint()) continue;
      for (bool mod : {false, true}) {
        for (int low : {0, 63}) {
          auto build = [t, c, mod, low](Expr x, Expr) {
            Type v = t.with_lanes(x.type().lanes());
            Expr n = ir::make_mul(ir::make_cast(v, x), ir::make_int(v, 64));
            n = ir::make_add(n, ir::make_int(v, low));
            Expr d = ir::make_int(v, c);
            return mod ? ir::make_mod(n, d) : ir::make_div(n, d);
          };
          auto reference = [c, mod, low](Scalar x, Scalar) {
            Wide n = x.whole * 64 + low;
            return whole(mod ? euclid_mod(n, c) : euclid_div(n, c));
          };
          all.push_back({(mod ? "mod by " : "div by ") + std::to_string(c), t, build, reference});
        }
      }
    }
    check(all, a, b, 16, get_host_target());
  }
}
