// The math expansions against C's libm in a wider type: sampled here, all of float32 in the suite "slow".
#include "ir/math.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include "unit/ir/batch_function.h"

namespace calotype::test {
namespace {

using ir::Intrinsic;
using Wide = long double;

struct Unary {
  const char *name;
  std::function<double(double)> in_double;
  std::function<Wide(Wide)> in_wide;
  double bound_fma, bound_nofma;  // ulp, as math.h states them
  double bound64_fma, bound64_nofma;
  bool symmetric;  // even or odd: one sign suffices for exhaustive tests
};

#define CALO_UNARY(f) #f, [](double x) { return std::f(x); }, [](Wide x) { return std::f(x); }
const std::vector<Unary> &unary_functions() {
  static const std::vector<Unary> table = {
      {CALO_UNARY(exp), 1.1, 1.1, 1.1, 1.1, false},   {CALO_UNARY(log), 0.9, 0.9, 0.9, 0.9, false},
      {CALO_UNARY(sin), 1.7, 2.6, 1.7, 2.6, true},    {CALO_UNARY(cos), 1.7, 2.6, 1.7, 2.6, true},
      {CALO_UNARY(tan), 4.0, 4.8, 4.0, 4.8, true},    {CALO_UNARY(asin), 2.4, 2.4, 2.4, 2.4, true},
      {CALO_UNARY(acos), 1.5, 1.5, 1.5, 1.5, false},  {CALO_UNARY(atan), 1.6, 1.6, 1.6, 1.6, true},
      {CALO_UNARY(sinh), 2.0, 2.0, 2.0, 2.0, true},   {CALO_UNARY(cosh), 1.8, 1.8, 1.8, 1.8, true},
      {CALO_UNARY(tanh), 1.6, 1.6, 1.6, 1.6, true},   {CALO_UNARY(asinh), 2.2, 2.4, 2.2, 2.4, true},
      {CALO_UNARY(acosh), 2.0, 2.4, 2.0, 2.4, false}, {CALO_UNARY(atanh), 2.6, 2.6, 2.6, 2.6, true},
      {CALO_UNARY(erf), 2.0, 2.6, 4.0, 4.0, true},
  };
  return table;
}
struct Binary {
  const char *name;
  std::function<double(double, double)> in_double;
  std::function<Wide(Wide, Wide)> in_wide;
  double bound, bound64;
};
const std::vector<Binary> &binary_functions() {
  static const std::vector<Binary> table = {
      {"pow", [](double x, double y) { return std::pow(x, y); },
       [](Wide x, Wide y) { return std::pow(x, y); }, 0.6, 1.5},
      {"atan2", [](double x, double y) { return std::atan2(x, y); },
       [](Wide x, Wide y) { return std::atan2(x, y); }, 2.0, 2.0},
      {"hypot", [](double x, double y) { return std::hypot(x, y); },
       [](Wide x, Wide y) { return std::hypot(x, y); }, 0.6, 1.5},
  };
  return table;
}

template <typename T> Type float_type() { return Float(8 * sizeof(T)); }

// |got - want| in ulp of T at `want`; infinity where NaN, infinity or the sign of a zero differ.
template <typename T, typename W> double ulp_error(T got, W want) {
  constexpr int digits = std::numeric_limits<T>::digits,
                least = std::numeric_limits<T>::min_exponent - 1;
  const T rounded = static_cast<T>(want);
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(rounded) || std::isnan(got))
    return std::isnan(rounded) && std::isnan(got) ? 0 : wrong;
  if (std::isinf(rounded) && std::isinf(got)) return rounded == got ? 0 : wrong;
  if (want == 0 || got == 0) {
    if (std::signbit(got) != std::signbit(want)) return wrong;
  }
  if (std::isinf(want)) return wrong;
  if (std::isinf(got)) {  // allowed where the exact value is within an ulp of overflow
    const W top = std::ldexp(W(1), std::numeric_limits<T>::max_exponent);
    return std::fabs(want) > top - std::ldexp(W(2), std::numeric_limits<T>::max_exponent - digits)
               ? 1
               : wrong;
  }
  int e = 0;
  if constexpr (sizeof(W) == 8) {  // float32 against double: never denormal as a double
    e = static_cast<int>(bit_copy<uint64_t>(want) >> 52 & 2047) - 1022;
    const uint64_t unit = static_cast<uint64_t>(std::max(e - 1, least) - digits + 1024) << 52;
    return std::fabs(got - want) / bit_copy<double>(unit);
  } else {
    std::frexp(want, &e);
    const W unit = std::ldexp(W(1), std::max(e - 1, least) - digits + 1);
    return static_cast<double>(std::fabs(got - want) / unit);
  }
}

Expr call_of(const char *name, Type t, int arguments) {
  std::vector<Expr> args = {variable("x", t)};
  if (arguments == 2) args.push_back(variable("y", t));
  return ir::make_intrinsic(t, ir::intrinsic_by_name(name), args);
}

template <typename T> std::vector<T> edges() {
  using L = std::numeric_limits<T>;
  std::vector<T> v;
  for (T x : {T(0),
              L::denorm_min(),
              L::min() / 2,
              L::min(),
              std::nextafter(L::min(), T(0)),
              L::epsilon(),
              T(1e-5),
              T(0.1),
              T(0.25),
              T(0.5),
              T(0.625),
              T(0.7071068),
              T(0.78539816),
              T(0.99999),
              std::nextafter(T(1), T(0)),
              T(1),
              std::nextafter(T(1), T(2)),
              T(1.5),
              T(1.5707964),
              T(2),
              T(2.5),
              T(3),
              T(3.1415927),
              T(4),
              T(5),
              T(7),
              T(8.5),
              T(11),
              T(33),
              T(88.7),
              T(88.72284),
              T(88.73),
              T(89.4),
              T(103.9),
              T(104),
              T(127),
              T(128),
              T(149),
              T(150),
              T(710),
              T(745.2),
              T(1e6),
              T(16777215),
              T(16777216),
              T(16777217),
              T(1e10),
              T(1e30),
              L::max(),
              L::infinity()}) {
    v.push_back(x);
    v.push_back(-x);
  }
  v.push_back(L::quiet_NaN());
  return v;
}

// Half the samples are random bits: all magnitudes; half are where most functions do something.
template <typename T> std::vector<T> samples(size_t n, uint64_t seed) {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  Bits bits(seed);
  std::vector<T> v = edges<T>();
  while (v.size() < n) {
    v.push_back(bit_copy<T>(static_cast<U>(bits.next())));
    const T x = std::ldexp(T(1) + static_cast<T>(bits.next() >> 11) * T(0x1p-53),
                           static_cast<int>(bits.next() % 18) - 10);
    v.push_back(bits.next() & 1 ? x : -x);
  }
  return v;
}

template <typename T, typename F>
void check_unary(const char *name, const F &reference, double bound, bool fma,
                 const std::vector<T> &xs) {
  BatchFunction f(call_of(name, float_type<T>(), 1), {float_type<T>()}, fma);
  const std::vector<T> got = f.operator()<T>(xs);
  double worst = 0;
  T where = 0, value = 0;
  for (size_t i = 0; i < xs.size(); i++) {
    const double error = ulp_error(got[i], reference(xs[i]));
    if (error > worst) {
      worst = error;
      where = xs[i];
      value = got[i];
    }
  }
  CAPTURE(name);
  CAPTURE(fma);
  CAPTURE(where);
  CAPTURE(value);
  CHECK(worst <= bound);
}

}  // namespace

TEST_CASE("math: float32 functions keep their stated error, in both modes") {
  const std::vector<float> xs = samples<float>(200000, 1);
  for (const Unary &u : unary_functions()) {
    check_unary<float>(u.name, u.in_double, u.bound_fma, true, xs);
    check_unary<float>(u.name, u.in_double, u.bound_nofma, false, xs);
  }
}

TEST_CASE("math: float64 functions keep their stated error, in both modes") {
  const std::vector<double> xs = samples<double>(20000, 2);
  for (const Unary &u : unary_functions()) {
    check_unary<double>(u.name, u.in_wide, u.bound64_fma, true, xs);
    check_unary<double>(u.name, u.in_wide, u.bound64_nofma, false, xs);
  }
}

namespace {

template <typename T, typename F>
void check_binary(const char *name, const F &reference, double bound, bool fma) {
  std::vector<T> xs, ys;
  for (T x : edges<T>()) {
    for (T y : edges<T>()) {
      xs.push_back(x);
      ys.push_back(y);
    }
  }
  const size_t n = sizeof(T) == 4 ? 200000 : 20000;
  const std::vector<T> more_x = samples<T>(n, 3), more_y = samples<T>(n, 4);
  for (size_t i = 100; i + 1 < more_x.size(); i++) {  // every pairing of the two kinds of sample
    xs.push_back(more_x[i]);
    ys.push_back(more_y[i % 4 < 2 ? i : i - 1]);
  }
  BatchFunction f(call_of(name, float_type<T>(), 2), {float_type<T>(), float_type<T>()}, fma);
  const std::vector<T> got = f.operator()<T>(xs, ys);
  double worst = 0;
  size_t where = 0;
  for (size_t i = 0; i < xs.size(); i++) {
    const double error = ulp_error(got[i], reference(xs[i], ys[i]));
    if (error > worst) {
      worst = error;
      where = i;
    }
  }
  CAPTURE(name);
  CAPTURE(fma);
  CAPTURE(xs[where]);
  CAPTURE(ys[where]);
  CAPTURE(got[where]);
  CHECK(worst <= bound);
}

}  // namespace

TEST_CASE("math: angles next to multiples of pi/2 keep the stated error at every size") {
  // Where the reduction cancels most: of each exponent the float32 nearest to a multiple of pi/2 was
  // searched for in 64-bit arithmetic; these are the worst, and one that is just below a multiple.
  std::vector<float> xs;
  for (const float x :
       {0x1.f37c8ap+95f, 0x1.47d0fep+34f, 0x1.f9cbe2p+7f, 0x1.32ede2p+85f, 0x1.628d4cp+40f,
        0x1.13093p+76f, 0x1.b08c4ap+111f, 0x1.4665d2p+25f, 0x1.2d97c8p+2f, 0x1.7b9b4p+126f}) {
    for (const float y : {x, std::nextafter(x, 0.0f), std::nextafter(x, INFINITY), 2 * x, x / 2}) {
      xs.push_back(y);
      xs.push_back(-y);
    }
  }
  const std::vector<double> wide(xs.begin(), xs.end());
  for (const Unary &u : unary_functions()) {
    if (std::string("sin cos tan").find(u.name) == std::string::npos) continue;
    check_unary<float>(u.name, u.in_double, u.bound_fma, true, xs);
    check_unary<float>(u.name, u.in_double, u.bound_nofma, false, xs);
    check_unary<double>(u.name, u.in_wide, u.bound64_fma, true, wide);
    check_unary<double>(u.name, u.in_wide, u.bound64_nofma, false, wide);
  }
}

TEST_CASE("math: pow, atan2 and hypot keep their stated error and C's special cases") {
  for (const Binary &b : binary_functions()) {
    for (const bool fma : {true, false}) {
      check_binary<float>(b.name, b.in_double, b.bound, fma);
      check_binary<double>(b.name, b.in_wide, b.bound64, fma);
    }
  }
}

TEST_CASE("math: fast functions keep their stated error inside their range") {
  Bits bits(5);
  std::vector<float> small, positive, angles;
  for (int i = 0; i < 200000; i++) {
    const double u = static_cast<double>(bits.next() >> 11) * 0x1p-53;
    small.push_back(static_cast<float>(-87.3 + u * 176));
    angles.push_back(static_cast<float>((2 * u - 1) * (i % 2 ? 8192 : 10)));
    positive.push_back(
        bit_copy<float>(static_cast<uint32_t>(0x00800000 + bits.next() % 0x7f000000)));
  }
  const auto worst = [](const char *name, const std::vector<float> &xs, const auto &error) {
    BatchFunction f(call_of(name, Float(32), 1), {Float(32)});
    const std::vector<float> got = f.operator()<float>(xs);
    double most = 0;
    for (size_t i = 0; i < xs.size(); i++)
      most = std::max(most, error(static_cast<double>(xs[i]), got[i]));
    return most;
  };
  CHECK(worst("fast_exp", small,
              [](double x, double g) { return std::fabs(g / std::exp(x) - 1); }) < 0x1p-21 * 0.71);
  CHECK(worst("fast_log", positive, [](double x, double g) {
          return std::fabs(g - std::log(x)) / std::max(1.0, std::fabs(std::log(x)));
        }) < 0x1p-18);
  CHECK(worst("fast_sin", angles, [](double x, double g) { return std::fabs(g - std::sin(x)); }) <
        0x1p-22);
  CHECK(worst("fast_cos", angles, [](double x, double g) { return std::fabs(g - std::cos(x)); }) <
        0x1p-22);
  const std::vector<float> xs = {-INFINITY, -1000, 1000}, none = {0.0f};
  BatchFunction fast_exp(call_of("fast_exp", Float(32), 1), {Float(32)});
  const std::vector<float> ends = fast_exp.operator()<float>(xs);
  CHECK(ends[0] == 0);
  CHECK(ends[1] == 0);
  CHECK(ends[2] > 3e38f);
  CHECK(BatchFunction(call_of("fast_inverse", Float(32), 1), {Float(32)})
            .operator()<float>(std::vector<float>{3})[0] == 1.0f / 3);
}

TEST_CASE("math: float16 and bfloat16 functions are float32's, rounded") {
  for (const Type t : {Float(16), BFloat(16)}) {
    std::vector<float> xs;
    Bits bits(6);
    const auto round =
        t.is_bfloat() ? ir::interpreter::round_to_bfloat16 : ir::interpreter::round_to_float16;
    for (int i = 0; i < 2000; i++)
      xs.push_back(round(static_cast<float>(bits.next() >> 40) * 0x1p-21f - 4));
    for (const char *name : {"exp", "sin", "tanh"}) {
      BatchFunction half(call_of(name, t, 1), {t}), full(call_of(name, Float(32), 1), {Float(32)});
      const std::vector<float> a = half.operator()<float>(xs), b = full.operator()<float>(xs);
      for (size_t i = 0; i < xs.size(); i++) CHECK(a[i] == round(b[i]));
    }
  }
}

// --- Exhaustive ------------------------------------------------------------------------------------
namespace {

struct Worst {
  double fma = 0, nofma = 0;
};

Worst worst_over(const Unary &u, uint64_t first, uint64_t end) {
  BatchFunction once(call_of(u.name, Float(32), 1), {Float(32)}, true);
  BatchFunction twice(call_of(u.name, Float(32), 1), {Float(32)}, false);
  Worst worst;
  std::vector<float> xs(4096);
  for (uint64_t at = first; at < end; at += xs.size()) {
    for (size_t i = 0; i < xs.size(); i++) xs[i] = bit_copy<float>(static_cast<uint32_t>(at + i));
    const std::vector<float> a = once.operator()<float>(xs), b = twice.operator()<float>(xs);
    for (size_t i = 0; i < xs.size(); i++) {
      const double want = u.in_double(xs[i]);
      worst.fma = std::max(worst.fma, ulp_error(a[i], want));
      worst.nofma = std::max(worst.nofma, ulp_error(b[i], want));
    }
  }
  return worst;
}

}  // namespace

TEST_SUITE("slow") {
  // About 20 minutes on two cores.
  TEST_CASE("math: every float32 keeps the stated error") {
    for (const Unary &u : unary_functions()) {
      const uint64_t count = u.symmetric ? uint64_t(1) << 31 : uint64_t(1) << 32;
      const uint64_t parts = std::max(1u, std::thread::hardware_concurrency());
      std::vector<Worst> worst(parts);
      std::vector<std::thread> threads;
      for (uint64_t k = 0; k < parts; k++) {
        const auto border = [&](uint64_t n) { return count / 4096 * n / parts * 4096; };
        threads.emplace_back(
            [&, k, border] { worst[k] = worst_over(u, border(k), border(k + 1)); });
      }
      Worst all;
      for (uint64_t k = 0; k < parts; k++) {
        threads[k].join();
        all.fma = std::max(all.fma, worst[k].fma);
        all.nofma = std::max(all.nofma, worst[k].nofma);
      }
      MESSAGE(u.name << ": " << all.fma << " ulp, " << all.nofma << " without fma");
      CHECK(all.fma <= u.bound_fma);
      CHECK(all.nofma <= u.bound_nofma);
    }
  }
}

}  // namespace calotype::test
