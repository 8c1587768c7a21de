// Pipelines by JIT: results, caching, inputs, errors of runs.
#include "driver/pipeline.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "calotype.h"
#include "ir/definition.h"
#include "support/check_diag.h"

using namespace calotype;

namespace {
Var x("x"), y("y"), xo("xo"), xi("xi");

Func blur(const ImageParam &in) {
  Func edge = BoundaryConditions::repeat_edge(in), bx("blur_x"), out("output");
  bx(x, y) = cast<uint16_t>((cast<uint32_t>(edge(x - 1, y)) + edge(x, y) + edge(x + 1, y)) / 3);
  out(x, y) = cast<uint16_t>((cast<uint32_t>(bx(x, y - 1)) + bx(x, y) + bx(x, y + 1)) / 3);
  return out;
}

Buffer<uint16_t> picture(int w, int h) {
  Buffer<uint16_t> b(w, h);
  b.for_each_element(
      [&](int i, int j) { b(i, j) = static_cast<uint16_t>((i * 7919 + j * 104729) % 65536); });
  return b;
}

int at(const Buffer<uint16_t> &b, int i, int j) {
  const auto clamp_to = [](int v, int n) { return v < 0 ? 0 : v >= n ? n - 1 : v; };
  return b(clamp_to(i, b.width()), clamp_to(j, b.height()));
}

void check_blur(const Buffer<uint16_t> &in, const Buffer<uint16_t> &out) {
  int wrong = 0;
  for (int j = 0; j < out.height(); j++) {
    for (int i = 0; i < out.width(); i++) {
      int sum = 0;
      for (int dj = -1; dj <= 1; dj++) {
        // The intermediate image has no edge of its own: it is computed beyond, from clamped reads.
        sum += (at(in, i - 1, j + dj) + at(in, i, j + dj) + at(in, i + 1, j + dj)) / 3;
      }
      wrong += out(i, j) != sum / 3;
    }
  }
  CHECK(wrong == 0);
}
}  // namespace

TEST_CASE("pipeline: a Func is realized by its definition") {
  Func f("f");
  f(x, y) = x + 10 * y;
  const Buffer<int> out = f.realize({5, 3});
  CHECK(out.width() == 5);
  CHECK(out.height() == 3);
  for (int j = 0; j < 3; j++) {
    for (int i = 0; i < 5; i++) CHECK(out(i, j) == i + 10 * j);
  }
}

TEST_CASE("pipeline: blur under schedules written in C++ and loaded") {
  ImageParam in(UInt(16), 2, "input");
  const Buffer<uint16_t> pixels = picture(67, 31);
  in.set(pixels);
  check_blur(pixels, blur(in).realize({67, 31}));

  Func scheduled = blur(in);
  scheduled.split(y, y, Var("yi"), 8).parallel(y).vectorize(x, 8);
  check_blur(pixels, scheduled.realize({67, 31}));

  Pipeline loaded(scheduled);
  loaded.load_schedule_text(
      "calotype 1\nblur_x.compute_root().vectorize(x, 16)\noutput.vectorize(x, 16)\n");
  check_blur(pixels, loaded.realize({67, 31}));
  CHECK(loaded.schedule_text().find("blur_x.compute_root()") != std::string::npos);
  CHECK_DIAG(loaded.load_schedule_text("calotype 1\noutput.vectorise(x)\n"), "S0102", "vectorise");
}

TEST_CASE("pipeline: updates, Tuples and scalars") {
  RDom r(1, 9);
  Func fib("fib");
  fib(x) = 1;
  fib(r + 1) = fib(r) + fib(r - 1);
  const Buffer<int> f = fib.realize({11});
  CHECK(f(10) == 89);

  Func t("t");
  t(x) = Tuple(x, cast<float>(x) * 0.5f);
  const Realization two = t.realize({4});
  CHECK(two.size() == 2);
  CHECK(Buffer<int>(two[0])(3) == 3);
  CHECK(Buffer<float>(two[1])(3) == 1.5f);
  CHECK_DIAG(Buffer<int>(t.realize({4})), "L0208", "2 buffers used as one");

  CHECK(evaluate<int>(Expr(3) + 4) == 7);
  CHECK(evaluate<float>(sqrt(Expr(2.25f))) == 1.5f);
  int a = 0;
  float b = 0;
  evaluate(Tuple(Expr(5), Expr(2.5f)), &a, &b);
  CHECK(a == 5);
  CHECK(b == 2.5f);
}

TEST_CASE("pipeline: parameters are read at each run") {
  Param<int> p("p");
  Param<float> scale("scale", 2.0f);
  Func f("f");
  f(x) = cast<float>(x + p) * scale;
  CHECK_DIAG(f.realize({2}), "L0401", "the parameter p has no value");
  p.set(3);
  CHECK(Buffer<float>(f.realize({2}))(1) == 8.0f);
  scale.set(0.5f);
  CHECK(Buffer<float>(f.realize({2}))(1) == 2.0f);
}

TEST_CASE("pipeline: an input without a buffer is refused, or inferred") {
  ImageParam in(UInt(8), 2, "in");
  Func f("f");
  f(x, y) = in(x - 1, y) + in(x + 2, y + 1);
  CHECK_DIAG(f.realize({4, 4}), "L0401", "the input in has no buffer");
  f.infer_input_bounds({4, 4});
  const Buffer<uint8_t> made = in.get();
  CHECK(made.min(0) == -1);
  CHECK(made.extent(0) == 7);
  CHECK(made.min(1) == 0);
  CHECK(made.extent(1) == 5);
}

TEST_CASE("pipeline: a read outside an input is an error that names everything") {
  ImageParam in(UInt(8), 1, "in");
  Func reader("reader");
  reader(x) = in(x + 3);
  in.set(Buffer<uint8_t>(10));
  CHECK_DIAG(reader.realize({10}), "R0102", "in");
  CHECK_DIAG(reader.realize({10}), "R0102", "reader");
}

TEST_CASE("pipeline: a wrong output buffer is an error before anything runs") {
  Func f("f");
  f(x) = x;
  CHECK_DIAG(f.realize(Buffer<float>(3)), "R0101", "f");
  CHECK_DIAG(f.realize(Buffer<int>(3, 3)), "R0101", "f");
  CHECK_DIAG(f.realize({3, 3}), "L0105", "realize of f with 2 sizes");
  CHECK_DIAG(f.realize({-3}), "L0105", "negative size");
  CHECK_DIAG(f.realize({Buffer<int>(3), Buffer<int>(3)}), "L0105", "realize into 2 buffers");
}

TEST_CASE("pipeline: buffers with mins, strides and parts of others") {
  Func f("f");
  f(x, y) = x * 100 + y;
  Buffer<int> big(8, 8);
  big.fill(-1);
  big.set_min(-2, 5);
  Buffer<int> part = big.cropped(0, 0, 3).cropped(1, 6, 2);
  f.realize(part);
  big.for_each_element([&](int i, int j) {
    const bool inside = i >= 0 && i < 3 && j >= 6 && j < 8;
    CHECK(big(i, j) == (inside ? i * 100 + j : -1));
  });
}

TEST_CASE("pipeline: code is kept until a schedule or constraint changes") {
  Func f("f");
  f(x) = x * 2;
  f.compile_jit();
  const Buffer<int> first = f.realize({8});
  f.vectorize(x, 4);
  const Buffer<int> second = f.realize({8});
  CHECK(first(7) == second(7));
  f.output_buffer().dim(0).set_min(0).set_extent(8);
  CHECK_DIAG(f.realize({9}), "R0103", "f");
  CHECK_DIAG(f(x) += 1, "L0209", "f gets a definition after it was used");
}

TEST_CASE("pipeline: Funcs and their compiled code are released") {
  Ref<ir::FunctionBody> body;
  {
    Func f("f");
    f(x) = x;
    f.realize({4});
    body = f.function();
  }
  CHECK(reinterpret_cast<const RefCounted *>(body.get())->ref_count() == 1);
}

TEST_CASE("pipeline: several outputs") {
  Func a("a"), b("b");
  a(x) = x + 1;
  b(x) = a(x) * 2;
  Pipeline p({a, b});
  const Realization r = p.realize({4});
  CHECK(Buffer<int>(r[0])(3) == 4);
  CHECK(Buffer<int>(r[1])(3) == 8);
}

TEST_CASE("pipeline: embedded buffers are read at each run") {
  Buffer<int> table(4);
  table.fill(5);
  Func f("f");
  f(x) = table(x) + 1;
  CHECK(Buffer<int>(f.realize({4}))(2) == 6);
  table(2) = 50;
  CHECK(Buffer<int>(f.realize({4}))(2) == 51);
}

TEST_CASE("pipeline: texts") {
  Func f("f"), g("g");
  g(x) = x;
  f(x) = g(x) + g(x + 1);
  g.compute_root();
  Pipeline p(f);
  const std::string nest = p.loop_nest();
  CHECK(nest.find("g") != std::string::npos);
  const std::string file = "pipeline_test.stmt";
  f.compile_to_lowered_stmt(file, {});
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str().find("for") != std::string::npos);
  std::remove(file.c_str());
  CHECK_DIAG(f.compile_to_lowered_stmt("/proc/no/such/folder/x", {}), "R0201", "cannot write");
}

namespace {
std::string reported;
void keep_error(JITUserContext *, const char *text) { reported = text; }
}  // namespace

TEST_CASE("pipeline: handlers replace the runtime's behaviour") {
  ImageParam in(UInt(8), 1, "in");
  in.set(Buffer<uint8_t>(2));
  Func f("f");
  f(x) = in(x + 100);
  f.jit_handlers().custom_error = keep_error;
  f.realize({4});  // told to the handler, not thrown
  CHECK(reported.find("in") != std::string::npos);
}

TEST_CASE("pipeline: a pipeline without outputs is refused") {
  Pipeline p;
  CHECK_DIAG(p.realize({3}), "L0201", "without outputs");
  CHECK_DIAG(p.compile_jit(), "L0201", "without outputs");
}
