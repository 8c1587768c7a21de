// Small programs in Halide's spelling, compiled through compat/Halide.h and run.
#include "compat/Halide.h"

#include <doctest/doctest.h>

using namespace Halide;
using namespace Halide::ConciseCasts;

TEST_CASE("halide: a gradient, brightened") {
  Buffer<uint8_t> input(20, 10, 3);
  input.for_each_element(
      [&](int i, int j, int k) { input(i, j, k) = static_cast<uint8_t>(i * 10 + j + k); });
  Func brighter;
  Var x, y, c;
  Expr value = input(x, y, c);
  value = cast<float>(value);
  value = value * 1.5f;
  value = min(value, 255.0f);
  value = cast<uint8_t>(value);
  brighter(x, y, c) = value;
  Buffer<uint8_t> output = brighter.realize({input.width(), input.height(), input.channels()});
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < 20; i++) {
      const float want = std::min(static_cast<float>(i * 10 + 5 + k) * 1.5f, 255.0f);
      CHECK(output(i, 5, k) == static_cast<uint8_t>(want));
    }
  }
}

TEST_CASE("halide: a histogram with its cumulative sum") {
  Halide::Runtime::Buffer<uint8_t> raw(16, 16);
  raw.for_each_value([n = 0](uint8_t &v) mutable { v = static_cast<uint8_t>(n++ * 37); });
  Buffer<uint8_t> in(raw);
  Func hist("hist"), cdf("cdf");
  Var i("i");
  RDom r(in), b(1, 255);
  hist(in(r.x, r.y)) += 1;
  cdf(i) = hist(0);
  cdf(b) = cdf(b - 1) + hist(b);
  hist.compute_root();
  Buffer<int32_t> result = cdf.realize({256});
  int counts[256] = {}, total = 0;
  for (int j = 0; j < 16; j++) {
    for (int k = 0; k < 16; k++) counts[in(k, j)]++;
  }
  for (int v = 0; v < 256; v++) {
    total += counts[v];
    CHECK(result(v) == total);
  }
}

TEST_CASE("halide: schedules of a producer and a consumer") {
  Var x("x"), y("y"), x_outer, y_outer, x_inner, y_inner, tile_index;
  Func producer("producer"), consumer("consumer");
  producer(x, y) = sin(cast<float>(x * y));
  consumer(x, y) =
      (producer(x, y) + producer(x, y + 1) + producer(x + 1, y) + producer(x + 1, y + 1)) / 4;
  consumer.tile(x, y, x_outer, y_outer, x_inner, y_inner, 16, 8)
      .fuse(x_outer, y_outer, tile_index)
      .parallel(tile_index);
  producer.compute_at(consumer, x_inner);
  Buffer<float> scheduled = consumer.realize({40, 24});

  Func plain_producer, plain;
  plain_producer(x, y) = sin(cast<float>(x * y));
  plain(x, y) = (plain_producer(x, y) + plain_producer(x, y + 1) + plain_producer(x + 1, y) +
                 plain_producer(x + 1, y + 1)) /
                4;
  Buffer<float> reference = plain.realize({40, 24});
  int different = 0;
  scheduled.for_each_element(
      [&](int i, int j) { different += scheduled(i, j) != reference(i, j); });
  CHECK(different == 0);
}

TEST_CASE("halide: errors are Halide's types") {
  Func f, g;
  Var x;
  bool caught = false;
  try {
    g(x) = f(x);
  } catch (const Halide::CompileError &e) {
    caught = std::string(e.what()).find("L0201") != std::string::npos;
  }
  CHECK(caught);
}

TEST_CASE("halide: names, casts and types as programs use them") {
  Expr e = u8_sat(i32(Var("x")) + 3);
  CHECK(e.type() == UInt(8));
  CHECK(Halide::type_of<float>() == Halide::Float(32));
  Halide::Target t = Halide::get_jit_target_from_environment();
  CHECK(!t.has_gpu_feature());
  Halide::TailStrategy tail = TailStrategy::GuardWithIf;
  Func f("f");
  Var x("x"), xi("xi");
  f(x) = x;
  f.split(x, x, xi, 8, tail).vectorize(xi);
  CHECK(Halide::Internal::Dimension(f.output_buffer().dim(0)).extent().defined());
}
