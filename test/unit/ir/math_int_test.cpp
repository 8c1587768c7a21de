// Compound integer operations, lerp and random against plain arithmetic in 64 bits.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "unit/ir/batch_function.h"

namespace calotype::test {
namespace {

using ir::Intrinsic;

int64_t floor_half(int64_t v) { return v >= 0 ? v / 2 : -((1 - v) / 2); }
int64_t shift_down(int64_t v, int64_t n) {
  return n >= 0 ? (n > 62 ? (v < 0 ? -1 : 0) : v >> n) : v * (int64_t(1) << -n);
}

template <typename T> void all_pairs(std::vector<T> *xs, std::vector<T> *ys) {
  for (int i = 0; i < 65536; i++) {
    xs->push_back(static_cast<T>(i & 255));
    ys->push_back(static_cast<T>(i >> 8));
  }
}

// op(x, y) for all pairs of 8-bit values equals `expected`, wrapped to the result's type R.
template <typename T, typename R>
void check_pairs(Intrinsic op, const std::function<int64_t(int64_t, int64_t)> &expected) {
  std::vector<T> xs, ys;
  all_pairs(&xs, &ys);
  const Type t = type_of<T>();
  BatchFunction f(ir::make_intrinsic(type_of<R>(), op, {variable("x", t), variable("y", t)}),
                  {t, t});
  const std::vector<R> got = f.operator()<R>(xs, ys);
  int wrong = 0;
  for (size_t i = 0; i < xs.size(); i++) wrong += got[i] != static_cast<R>(expected(xs[i], ys[i]));
  CAPTURE(ir::intrinsic_name(op));
  CAPTURE(to_string(t));
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("math_int: averages and widening operations hold for every pair of 8-bit values") {
  const auto both = [](Intrinsic op, const std::function<int64_t(int64_t, int64_t)> &f) {
    check_pairs<uint8_t, uint8_t>(op, f);
    check_pairs<int8_t, int8_t>(op, f);
  };
  both(Intrinsic::halving_add, [](int64_t a, int64_t b) { return floor_half(a + b); });
  both(Intrinsic::halving_sub, [](int64_t a, int64_t b) { return floor_half(a - b); });
  both(Intrinsic::rounding_halving_add, [](int64_t a, int64_t b) { return floor_half(a + b + 1); });
  both(Intrinsic::sorted_avg, [](int64_t a, int64_t b) {
    return a <= b ? floor_half(a + b) : floor_half(a + b + (a - b > 0 ? 256 : 0));
  });
  check_pairs<uint8_t, uint16_t>(Intrinsic::widening_add,
                                 [](int64_t a, int64_t b) { return a + b; });
  check_pairs<int8_t, int16_t>(Intrinsic::widening_add, [](int64_t a, int64_t b) { return a + b; });
  check_pairs<uint8_t, int16_t>(Intrinsic::widening_sub,
                                [](int64_t a, int64_t b) { return a - b; });
  check_pairs<int8_t, int16_t>(Intrinsic::widening_sub, [](int64_t a, int64_t b) { return a - b; });
  check_pairs<uint8_t, uint16_t>(Intrinsic::widening_mul,
                                 [](int64_t a, int64_t b) { return a * b; });
  check_pairs<int8_t, int16_t>(Intrinsic::widening_mul, [](int64_t a, int64_t b) { return a * b; });
}

TEST_CASE("math_int: rounding shifts round half up and accept any amount") {
  const auto rounded = [](int64_t a, int64_t n) {
    if (n <= 0) return shift_down(a, std::max<int64_t>(n, -9));
    return n > 40 ? 0 : shift_down(a + (int64_t(1) << (n - 1)), n);
  };
  check_pairs<int8_t, int8_t>(Intrinsic::rounding_shift_right, rounded);
  check_pairs<uint8_t, uint8_t>(Intrinsic::rounding_shift_right, rounded);
  check_pairs<int8_t, int8_t>(Intrinsic::rounding_shift_left,
                              [&](int64_t a, int64_t n) { return rounded(a, -n); });
}

TEST_CASE("math_int: saturating_cast clamps between all integer types") {
  Bits bits(7);
  std::vector<int64_t> xs = {
      0,          1,          -1,         127,           128,           -128,
      -129,       255,        256,        32767,         32768,         65535,
      65536,      2147483647, 2147483648, -2147483648LL, -2147483649LL, 4294967295,
      4294967296, INT64_MAX,  INT64_MIN};
  for (int i = 0; i < 2000; i++)
    xs.push_back(static_cast<int64_t>(bits.next()) >> (bits.next() % 64));
  const auto check = [&](auto to) {
    using T = decltype(to);
    BatchFunction f(
        ir::make_intrinsic(type_of<T>(), Intrinsic::saturating_cast, {variable("x", Int(64))}),
        {Int(64)});
    const std::vector<T> got = f.operator()<T>(xs);
    for (size_t i = 0; i < xs.size(); i++) {
      const __int128 low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max(),
                     x = xs[i];
      CHECK(got[i] == static_cast<T>(x < low ? low : x > high ? high : x));
    }
  };
  check(int8_t());
  check(uint8_t());
  check(int16_t());
  check(uint32_t());
  check(int32_t());
  check(uint64_t());
  BatchFunction from_float(
      ir::make_intrinsic(UInt(8), Intrinsic::saturating_cast, {variable("x", Float(32))}),
      {Float(32)});
  const std::vector<uint8_t> f =
      from_float.operator()<uint8_t>(std::vector<float>{-3, 255.9f, 256, 1e30f, NAN});
  CHECK(f == std::vector<uint8_t>{0, 255, 255, 255, 0});
}

TEST_CASE("math_int: mul_shift_right saturates the shifted product") {
  const Type t = Int(16);
  BatchFunction plain(
      ir::make_intrinsic(t, Intrinsic::mul_shift_right,
                         {variable("x", t), variable("y", t), variable("z", UInt(16))}),
      {t, t, UInt(16)});
  BatchFunction rounding(
      ir::make_intrinsic(t, Intrinsic::rounding_mul_shift_right,
                         {variable("x", t), variable("y", t), variable("z", UInt(16))}),
      {t, t, UInt(16)});
  Bits bits(8);
  std::vector<int16_t> xs = {-32768, 32767, -32768, 1}, ys = {-32768, 32767, 32767, 1};
  std::vector<uint16_t> ns = {15, 15, 0, 1};
  for (int i = 0; i < 5000; i++) {
    xs.push_back(static_cast<int16_t>(bits.next()));
    ys.push_back(static_cast<int16_t>(bits.next()));
    ns.push_back(static_cast<uint16_t>(bits.next() % 20));
  }
  const std::vector<int16_t> a = plain.operator()<int16_t>(xs, ys, ns),
                             b = rounding.operator()<int16_t>(xs, ys, ns);
  for (size_t i = 0; i < xs.size(); i++) {
    const int64_t p = static_cast<int64_t>(xs[i]) * ys[i],
                  half = ns[i] ? int64_t(1) << (ns[i] - 1) : 0;
    CHECK(a[i] == std::clamp<int64_t>(p >> ns[i], -32768, 32767));
    CHECK(b[i] == std::clamp<int64_t>((p + half) >> ns[i], -32768, 32767));
  }
}

// --- lerp ------------------------------------------------------------------------------------------------------------
namespace {

template <typename T, typename W>
std::vector<T> lerp(const std::vector<T> &a, const std::vector<T> &b, const std::vector<W> &w) {
  const Type t = type_of<T>(), u = type_of<W>();
  BatchFunction f(ir::make_intrinsic(t, Intrinsic::lerp,
                                     {variable("x", t), variable("y", t), variable("z", u)}),
                  {t, t, u});
  return f.template operator()<T>(a, b, w);
}

template <typename T> int64_t nearest(T a, T b, uint64_t w, int bits) {
  const __int128 m = (__int128(1) << bits) - 1,
                 n = static_cast<__int128>(a) * (m - w) + static_cast<__int128>(b) * w;
  const __int128 twice = 2 * n + m;
  return static_cast<int64_t>(twice >= 0 ? twice / (2 * m) : -((-twice + 2 * m - 1) / (2 * m)));
}

template <typename T> void check_lerp_nearest() {
  using W = std::make_unsigned_t<T>;
  Bits bits(9);
  std::vector<T> a, b;
  std::vector<W> w;
  for (int i = 0; i < 20000; i++) {
    a.push_back(static_cast<T>(bits.next() >> 20));
    b.push_back(static_cast<T>(bits.next() >> 20));
    w.push_back(i % 10 == 0 ? 0 : i % 10 == 1 ? W(-1) : static_cast<W>(bits.next() >> 20));
  }
  const std::vector<T> got = lerp(a, b, w);
  int wrong = 0;
  for (size_t i = 0; i < a.size(); i++)
    wrong += got[i] != static_cast<T>(nearest(a[i], b[i], w[i], 8 * sizeof(T)));
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("math_int: lerp rounds to nearest for weights of the value's width") {
  check_lerp_nearest<uint8_t>();
  check_lerp_nearest<int8_t>();
  check_lerp_nearest<uint16_t>();
  check_lerp_nearest<int16_t>();
  check_lerp_nearest<uint32_t>();
  check_lerp_nearest<int32_t>();
}

TEST_CASE("math_int: lerp brings other weights to the value's width by truncation") {
  // Values observed from Halide 21 for the same arguments.
  CHECK(lerp<uint8_t, uint32_t>({5, 220}, {223, 8}, {2401218113u, 354812918u}) ==
        std::vector<uint8_t>{126, 203});
  CHECK(lerp<int8_t, uint16_t>({5, -36}, {-33, 8}, {44609, 1014}) == std::vector<int8_t>{-21, -35});
  CHECK(lerp<uint16_t, uint32_t>({22021, 61660}, {16863, 24840}, {2401218113u, 354812918u}) ==
        std::vector<uint16_t>{19137, 58619});
  CHECK(lerp<uint32_t, uint8_t>({3979630085u, 1091825884u}, {65356255u, 3696255240u}, {65, 246}) ==
        std::vector<uint32_t>{2981874011u, 3604334204u});
  const std::vector<float> weights = {0, 0.25f, 0.5f,
                                      1, 2,     -1};  // 0.25 * 255 = 63.75 becomes 63 of 255
  CHECK(lerp<uint8_t, float>(std::vector<uint8_t>(6, 0), std::vector<uint8_t>(6, 200), weights) ==
        std::vector<uint8_t>{0, 49, 100, 200, 200, 0});
}

TEST_CASE("math_int: lerp of floats is exact at both ends") {
  for (const float a : {0.1f, -3.7f, 1e20f}) {
    CHECK(lerp<float, float>({a, a}, {0.3f, 0.3f}, {0, 1}) == std::vector<float>{a, 0.3f});
    CHECK(lerp<float, uint8_t>({a, a}, {0.3f, 0.3f}, {0, 255}) == std::vector<float>{a, 0.3f});
    CHECK(lerp<float, uint16_t>({a, a}, {0.3f, 0.3f}, {0, 65535}) == std::vector<float>{a, 0.3f});
  }
}

// --- random ----------------------------------------------------------------------------------------------------------
TEST_CASE("math_int: random is uniform, depends on every argument and repeats") {
  std::vector<int32_t> xs, ys, seeds;
  for (int i = 0; i < 65536; i++) {
    xs.push_back(i % 256);
    ys.push_back(i / 256);
    seeds.push_back(7);
  }
  const std::vector<Expr> args = {variable("x", Int(32)), variable("y", Int(32)),
                                  variable("z", Int(32))};
  const std::vector<Type> types(3, Int(32));
  BatchFunction real(ir::make_intrinsic(Float(32), Intrinsic::random, args), types);
  BatchFunction integer(ir::make_intrinsic(UInt(32), Intrinsic::random, args), types);
  const std::vector<float> f = real.operator()<float>(xs, ys, seeds);
  const std::vector<uint32_t> u = integer.operator()<uint32_t>(xs, ys, seeds);
  double sum = 0, sum2 = 0, neighbours = 0;
  for (size_t i = 0; i < f.size(); i++) {
    CHECK_UNARY(f[i] >= 0 && f[i] < 1);
    sum += f[i];
    sum2 += f[i] * f[i];
    if (i > 0) neighbours += (f[i] - 0.5) * (f[i - 1] - 0.5);
  }
  const double n = static_cast<double>(f.size());
  // Standard deviations over 65536 samples: 0.0011 of the mean, 0.0012 of the mean square, 0.00033 of the product.
  CHECK(std::fabs(sum / n - 0.5) < 0.005);
  CHECK(std::fabs(sum2 / n - 1.0 / 3) < 0.005);
  CHECK(std::fabs(neighbours / n) < 0.0015);
  for (int bit = 0; bit < 32; bit++) {
    int ones = 0;
    for (uint32_t v : u) ones += v >> bit & 1;
    CHECK(std::abs(ones - 32768) < 640);  // five standard deviations of 128
  }
  CHECK(std::set<uint32_t>(u.begin(), u.end()).size() > 65000);
  std::vector<int32_t> other_seed(seeds.size(), 8);
  const std::vector<uint32_t> v = integer.operator()<uint32_t>(xs, ys, other_seed);
  int equal = 0;
  for (size_t i = 0; i < u.size(); i++) equal += u[i] == v[i];
  CHECK(equal < 5);
  CHECK(integer.operator()<uint32_t>(xs, ys, seeds) == u);
}

TEST_CASE("math_int: is_nan, is_inf and is_finite classify") {
  const std::vector<double> xs = {0, -1, 1e308, INFINITY, -INFINITY, NAN};
  const auto run = [&](Intrinsic op) {
    return BatchFunction(ir::make_intrinsic(Bool(), op, {variable("x", Float(64))}), {Float(64)})
        .operator()<uint8_t>(xs);
  };
  CHECK(run(Intrinsic::is_nan) == std::vector<uint8_t>{0, 0, 0, 0, 0, 1});
  CHECK(run(Intrinsic::is_inf) == std::vector<uint8_t>{0, 0, 0, 1, 1, 0});
  CHECK(run(Intrinsic::is_finite) == std::vector<uint8_t>{1, 1, 1, 0, 0, 0});
}

}  // namespace calotype::test
