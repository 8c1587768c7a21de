// Extern stages: C functions that compute a Func, and say which region of their inputs they need.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>

#include "compat/Halide.h"
#include "support/check_diag.h"

using namespace Halide;

namespace {

Var x("x"), y("y"), xi("xi"), yi("yi");
std::atomic<int> g_queries{0}, g_runs{0};
int g_widest = 0;

template <typename T> T &at(const halide_buffer_t *b, int i, int j) {
  return reinterpret_cast<T *>(
      b->host)[(i - b->dim[0].min) * b->dim[0].stride + (j - b->dim[1].min) * b->dim[1].stride];
}

/// out(x, y) = in(x - 1, y) + in(x + 2, y) + k
extern "C" int shifted_sum(halide_buffer_t *in, int k, halide_buffer_t *out) {
  if (in->is_bounds_query()) {
    g_queries++;
    in->dim[0].min = out->dim[0].min - 1;
    in->dim[0].extent = out->dim[0].extent + 3;
    in->dim[1].min = out->dim[1].min;
    in->dim[1].extent = out->dim[1].extent;
    return 0;
  }
  g_runs++;
  g_widest = std::max(g_widest, out->dim[0].extent);
  for (int j = out->dim[1].min; j < out->dim[1].min + out->dim[1].extent; j++) {
    for (int i = out->dim[0].min; i < out->dim[0].min + out->dim[0].extent; i++)
      at<int>(out, i, j) = at<int>(in, i - 1, j) + at<int>(in, i + 2, j) + k;
  }
  return 0;
}

/// No inputs, two outputs.
extern "C" int two_values(halide_buffer_t *a, halide_buffer_t *b) {
  if (a->is_bounds_query()) return 0;
  for (int j = a->dim[1].min; j < a->dim[1].min + a->dim[1].extent; j++) {
    for (int i = a->dim[0].min; i < a->dim[0].min + a->dim[0].extent; i++) {
      at<int>(a, i, j) = i * 100 + j;
      at<float>(b, i, j) = static_cast<float>(i) - static_cast<float>(j);
    }
  }
  return 0;
}

extern "C" int always_fails(halide_buffer_t *out) { return out->is_bounds_query() ? 0 : -77; }

void give(Pipeline &p) {
  p.set_jit_externs({{"shifted_sum", &shifted_sum},
                     {"two_values", &two_values},
                     {"always_fails", &always_fails}});
}

int source(int i, int j) { return i * 7 + j * 13; }
int wanted(int i, int j) { return source(i - 1, j) + source(i + 2, j) + 5; }

struct Pair {
  Func in{"in_f"}, stage{"stage"}, out{"out"};
  Pair() {
    in(x, y) = x * 7 + y * 13;
    stage.define_extern("shifted_sum", {in, 5}, Int(32), {x, y});
    out(x, y) = stage(x, y) * 2 + stage(x, y + 1);
  }
};

void check(const Buffer<int> &b) {
  int wrong = 0;
  b.for_each_element(
      [&](int i, int j) { wrong += b(i, j) != wanted(i, j) * 2 + wanted(i, j + 1); });
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("extern stage: between a producer and a consumer, without a schedule") {
  Pair t;
  CHECK(t.stage.is_extern());
  Pipeline p(t.out);
  give(p);
  for (const std::vector<int> &size : {std::vector<int>{10, 6}, {1, 1}, {33, 2}})
    check(p.realize(size));
}

TEST_CASE("extern stage: computed in its consumer's loops, tiled, parallel, with its producer") {
  Pair t;
  t.out.tile(x, y, xi, yi, 8, 4).parallel(y).vectorize(xi, 8);
  t.stage.compute_at(t.out, x);
  t.in.compute_at(t.out, x).vectorize(x, 4);
  Pipeline p(t.out);
  give(p);
  g_widest = 0;
  check(p.realize({40, 22}));
  CHECK(g_widest == 8);
  check(p.realize({5, 3}));
}

TEST_CASE("extern stage: storage outside, its producer at root, dimensions reordered in memory") {
  Pair t;
  t.stage.store_root().compute_at(t.out, y).reorder_storage(y, x);
  t.in.compute_root();
  Pipeline p(t.out);
  give(p);
  check(p.realize({17, 9}));
}

TEST_CASE("extern stage: as a pipeline's output, with offsets") {
  Pair t;
  Pipeline p(t.stage);
  give(p);
  Buffer<int> b(9, 4);
  b.set_min(-3, 100);
  p.realize(b);
  int wrong = 0;
  b.for_each_element([&](int i, int j) { wrong += b(i, j) != wanted(i, j); });
  CHECK(wrong == 0);
}

TEST_CASE("extern stage: reading an ImageParam; infer_input_bounds asks it") {
  ImageParam in(Int(32), 2, "in");
  Func stage("stage"), out("out");
  stage.define_extern("shifted_sum", {in, 5}, Int(32), 2);
  out(x, y) = stage(x, y);
  Pipeline p(out);
  give(p);
  p.infer_input_bounds({20, 8});
  const Buffer<int> made = in.get();
  CHECK(made.min(0) == -1);
  CHECK(made.width() == 23);
  CHECK(made.height() == 8);
  Buffer<int> narrow(20, 8);
  in.set(narrow);
  CHECK_DIAG(p.realize({20, 8}), "R0102", "in");
}

TEST_CASE("extern stage: several values") {
  Func pair("pair"), out("out");
  pair.define_extern("two_values", {}, {Int(32), Float(32)}, {x, y});
  out(x, y) = cast<float>(pair(x, y)[0]) + pair(x, y)[1];
  Pipeline p(out);
  give(p);
  const Buffer<float> b = p.realize({6, 5});
  CHECK(b(4, 3) == 404.0f);
}

TEST_CASE("extern stage: its error is the pipeline's; the next call works") {
  Func f("f"), out("out");
  f.define_extern("always_fails", {}, Int(32), {x});
  out(x) = f(x);
  Pipeline p(out);
  give(p);
  CHECK_DIAG(p.realize({4}), "R0106", "always_fails");
  CHECK_DIAG(p.realize({4}), "R0106", "-77");
}

TEST_CASE("extern stage: misuse is refused with a reason") {
  Pair t;
  CHECK_DIAG(t.stage(x, y) = 3, "L0202", "extern stage");
  CHECK_DIAG(t.in.define_extern("shifted_sum", {}, Int(32), {x}), "L0202", "defined again");
  Func undefined, f("f"), gpu("gpu");
  CHECK_DIAG(f.define_extern("shifted_sum", {undefined}, Int(32), {x}), "L0201", "");
  CHECK_DIAG(gpu.define_extern("k", {}, Int(32), {x}, NameMangling::Default, DeviceAPI::CUDA),
             "L0901", "on a device");
  t.stage.compute_inline();
  CHECK_DIAG(t.out.realize({4, 4}), "S0108", "stage cannot be inlined: it is an extern stage");
  Pair u;
  u.in.compute_inline();
  CHECK_DIAG(u.out.realize({4, 4}), "S0108", "an extern stage reads it");
  Pair v;
  v.stage.vectorize(x, 8);
  CHECK_DIAG(v.out.realize({4, 4}), "S0103", "");
  Func w("w"), wo("wo");
  w.define_extern("no_such_stage", {}, Int(32), {x});
  wo(x) = w(x);
  CHECK_DIAG(wo.realize({4}), "T0104", "no_such_stage is not found");
}

TEST_CASE("extern stage: C++ names are mangled as the platform does") {
  Func in("in_f"), f("f");
  in(x, y) = x;
  f.define_extern("my::stage", {in, 1, 2.0f}, {Int(32), Int(32)}, {x, y}, NameMangling::CPlusPlus);
  Func out("out");
  out(x, y) = f(x, y)[0];
  CHECK_DIAG(out.realize({3, 3}), "T0104", "_ZN2my5stageEP15halide_buffer_tifS1_S1_");
  Func g("g"), og("og");
  g.define_extern("plain", {in}, Int(32), {x, y}, NameMangling::CPlusPlus);
  og(x, y) = g(x, y);
  CHECK_DIAG(og.realize({3, 3}), "T0104", "_Z5plainP15halide_buffer_tS0_");
}
