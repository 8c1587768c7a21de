// Callables, multi-output pipelines and Realizations of several shapes.
#include <doctest/doctest.h>

#include "compat/Halide.h"
#include "support/check_diag.h"

using namespace Halide;

namespace {
Var x("x"), y("y");
}

TEST_CASE("Callable: inputs in the order asked for, then outputs; every kind of buffer") {
  ImageParam in(UInt(8), 2, "in");
  Param<float> scale("scale");
  Param<int8_t> plus("plus");
  Func f("f");
  f(x, y) = in(x, y) * scale + plus;
  const Callable call = f.compile_to_callable({plus, in, scale});
  Buffer<uint8_t> a(6, 4);
  a.fill(3);
  Buffer<float> out(6, 4);
  Halide::Runtime::Buffer<float> raw(6, 4);
  CHECK(call(int8_t(2), a, 1.5f, out) == 0);
  CHECK(out(5, 3) == 6.5f);
  JITUserContext context;
  CHECK(call(&context, int8_t(-2), a.raw_buffer(), 1.0f, raw) == 0);
  CHECK(raw(1, 1) == 1.0f);
  auto function = call.make_std_function<int8_t, Buffer<uint8_t>, float, Buffer<float>>();
  CHECK(function(1, a, 2.0f, out) == 0);
  CHECK(out(0, 0) == 7.0f);
  CHECK_DIAG(call(2, a, 1.5f, out), "L0102", "plus, is a number of type i32");
  CHECK_DIAG(call(int8_t(2), a, out), "L0105", "with 3 arguments");
  CHECK_DIAG((call.make_std_function<int, Buffer<uint8_t>, float, Buffer<float>>()), "L0102",
             "plus");
  CHECK_DIAG(f.compile_to_callable({in}), "L0105", "scale");
  Buffer<uint8_t> small(5, 4);
  CHECK_DIAG(call(int8_t(2), small, 1.5f, out), "R0102", "in");
  context.handlers.custom_error = [](JITUserContext *, const char *) {};
  CHECK(call(&context, int8_t(2), small, 1.5f, out) != 0);
}

TEST_CASE("Callable: a buffer without memory asks for bounds") {
  ImageParam in(Int(32), 1, "in");
  Func f("f");
  f(x) = in(x) + in(x + 3);
  const Callable call = f.compile_to_callable({in});
  Halide::Runtime::Buffer<int> query(nullptr, 0), out(10);
  CHECK(call(query, out) == 0);
  CHECK(query.dim(0).extent() == 13);
}

TEST_CASE("Pipeline: outputs of different types, ranks and sizes, Tuples among them") {
  Func base("base"), f("f"), g("g"), h("h");
  base(x, y) = x + y;
  f(x, y) = base(x, y) * 2;
  g(x) = Tuple(base(x, 7), cast<float>(x) / 4);
  h() = cast<uint8_t>(base(3, 4));
  base.compute_root();
  f.vectorize(x, 8);
  Pipeline p({f, g, h});
  Buffer<int> fb(13, 4), gb(29);
  Buffer<float> gf(29);
  Buffer<uint8_t> hb = Buffer<uint8_t>::make_scalar();
  p.realize({fb, gb, gf, hb});
  CHECK(fb(12, 3) == 30);
  CHECK(gb(28) == 35);
  CHECK(gf(28) == 7.0f);
  CHECK(hb() == 7);
  Realization all({fb, gb, gf, hb});
  fb.fill(0);
  p.realize(all);
  CHECK(fb(12, 3) == 30);
  CHECK_DIAG(p.realize({fb, gb}), "L0105", "realize into 2 buffers");
  CHECK_DIAG(p.realize({4, 4}), "L0105", "has 1 dimension");
  Pipeline same({f, base});
  const Realization r = same.realize({5, 5});
  const Buffer<int> second = r[1];
  CHECK(second(4, 4) == 8);
  CHECK_DIAG(Buffer<int>(r), "L0208", "2 buffers used as one");
}
