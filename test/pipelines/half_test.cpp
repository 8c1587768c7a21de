// float16 and bfloat16 in pipelines: compiled code (with F16C and without) against the reference interpreter and
// against the definition - compute in float32, round once to nearest even.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "calotype.h"
#include "support/agree.h"

using namespace calotype;

namespace {

Var x("x"), y("y");

std::vector<Target> targets() {
  std::vector<Target> all{Target("x86-64-linux-sse41"), Target("x86-64-linux-avx-avx2-fma")};
  const Target f16c("x86-64-linux-avx-avx2-f16c-fma");
  if (get_host_target().has_feature(Target::F16C)) all.push_back(f16c);
  return all;
}

/// Pairs of operands: every one of the first with a few of the second, denormals, infinities and NaN among them.
const uint16_t kOthers[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                            0x3c01, 0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x4248};
constexpr int kPairs = 65536;

template <typename T> void check_arithmetic(const Target &t) {
  Buffer<uint16_t> others(16);
  for (int i = 0; i < 16; i++) others(i) = kOthers[i];
  const Expr u = reinterpret(type_of<T>(), cast<uint16_t>(x)),
             v = reinterpret(type_of<T>(), others(y));
  Func all("all");
  all(x, y) = Tuple(reinterpret<uint16_t>(u + v), reinterpret<uint16_t>(u - v),
                    reinterpret<uint16_t>(u * v), reinterpret<uint16_t>(u / v),
                    reinterpret<uint16_t>(sqrt(u)), cast<uint8_t>(u < v));
  all.vectorize(x, 16);
  const Realization r = all.realize({kPairs, 16}, t);
  Buffer<uint16_t> got[5] = {r[0], r[1], r[2], r[3], r[4]};
  Buffer<uint8_t> less = r[5];
  int wrong[6] = {};
  for (int j = 0; j < 16; j++) {
    const T tv = T::make_from_bits(kOthers[j]);
    const float fv = static_cast<float>(tv);
    for (int i = 0; i < kPairs; i++) {
      const float fu = static_cast<float>(T::make_from_bits(static_cast<uint16_t>(i)));
      const float want[5] = {fu + fv, fu - fv, fu * fv, fu / fv, std::sqrt(fu)};
      for (int k = 0; k < 5; k++) {
        const T w(want[k]);
        const T g = T::make_from_bits(got[k](i, j));
        wrong[k] += w.is_nan() ? !g.is_nan() : w.to_bits() != g.to_bits();
      }
      wrong[5] += (less(i, j) != 0) != (fu < fv);
    }
  }
  for (int k = 0; k < 6; k++) {
    CAPTURE(k);
    CHECK(wrong[k] == 0);
  }
}

}  // namespace

TEST_CASE("half: arithmetic computes in float32 and rounds once, on every CPU") {
  for (const Target &t : targets()) {
    CAPTURE(t.to_string());
    check_arithmetic<float16_t>(t);
    check_arithmetic<bfloat16_t>(t);
  }
}

TEST_CASE("half: conversions from double and wide integers round once") {
  // Values next to ties, where a step through float32 would round twice.
  std::vector<double> values;
  for (int i = 0; i < 400; i++) {
    const double base = std::ldexp(1.0 + (i % 97) / 1024.0, i % 40 - 26);
    for (double tie : {0.5 / 1024, 0.5 / 128}) {
      for (double off : {0.0, 1e-12, -1e-12, 1e-9, -1e-9})
        values.push_back((i % 2 ? -1 : 1) * base * (1 + tie + off));
    }
  }
  values.insert(values.end(), {65519.999999, 65520.0, 3.4e38, 1e300, -1e-300, NAN, INFINITY});
  Buffer<double> d(static_cast<int>(values.size()));
  Buffer<int64_t> n(static_cast<int>(values.size()));
  for (int i = 0; i < d.width(); i++) {
    d(i) = values[static_cast<size_t>(i)];
    n(i) = int64_t(1) << (i % 62) | i;
  }
  for (const Target &t : targets()) {
    CAPTURE(t.to_string());
    Func f("f");
    f(x) = Tuple(reinterpret<uint16_t>(cast(Float(16), d(x))),
                 reinterpret<uint16_t>(cast(BFloat(16), d(x))),
                 reinterpret<uint16_t>(cast(Float(16), n(x))),
                 reinterpret<uint16_t>(cast(BFloat(16), n(x))));
    f.vectorize(x, 8);
    const Realization r = f.realize({d.width()}, t);
    Buffer<uint16_t> h = r[0], b = r[1], hn = r[2], bn = r[3];
    int wrong = 0;
    for (int i = 0; i < d.width(); i++) {
      if (std::isnan(d(i))) {
        wrong +=
            !float16_t::make_from_bits(h(i)).is_nan() || !bfloat16_t::make_from_bits(b(i)).is_nan();
        continue;
      }
      wrong += h(i) != float16_t(d(i)).to_bits() || b(i) != bfloat16_t(d(i)).to_bits();
      // float64 holds these numbers: a bit far up and nine below it are at most 62 apart, which matters only for ties.
      if (n(i) < (int64_t(1) << 53))
        wrong += hn(i) != float16_t(static_cast<double>(n(i))).to_bits() ||
                 bn(i) != bfloat16_t(static_cast<double>(n(i))).to_bits();
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("half: a pipeline of 16-bit floats in buffers, Params and Funcs equals the interpreter") {
  ImageParam in(Float(16), 2, "in");
  Param<float> k("k", 1.7f);
  Func blur("blur"), wide("wide"), out("out");
  blur(x, y) =
      (in(x, y) + in(x + 1, y)) * cast(Float(16), 0.25f) + min(in(x, y + 1), cast(Float(16), 2.0f));
  wide(x, y) = cast(BFloat(16), blur(x, y)) / cast(BFloat(16), k) +
               cast(BFloat(16), exp(cast<float>(blur(x, y)))) + fast_exp(cast(BFloat(16), x));
  out(x, y) = cast(Float(16), select(wide(x, y) > cast(BFloat(16), 1.5f), wide(x, y),
                                     -wide(x, y) % cast(BFloat(16), 0.75f)));
  blur.compute_root().vectorize(x, 8);
  wide.compute_at(out, y).vectorize(x, 5);
  out.vectorize(x, 16);
  Buffer<float16_t> image(34, 10);
  image.for_each_element([&](int i, int j) {
    image(i, j) = float16_t(static_cast<float>((i * 37 + j * 91) % 64) / 16 - 2);
  });
  image(3, 3) = float16_t::make_nan();
  image(4, 4) = float16_t::make_infinity();
  image(5, 5) = float16_t::make_from_bits(3);  // denormal
  in.set(image);
  for (const Target &t : targets()) {
    CAPTURE(t.to_string());
    for (const std::vector<int> &size : {std::vector<int>{33, 9}, {1, 1}, {7, 2}, {16, 4}})
      CHECK(test::disagreement(out, size, t) == "");
  }
}

TEST_CASE("half: sums of 16-bit floats round at each step") {
  RDom r(0, 3000);
  Func sum16("sum16");
  sum16(x) = cast(Float(16), 0.0f);
  sum16(x) += select(r < 5000, cast(Float(16), 1.0f), cast(Float(16), 0.0f));
  const Buffer<float16_t> b = sum16.realize({5});
  CHECK(static_cast<float>(b(2)) == 2048.0f);  // 2049 is no float16: the sum stays
}
