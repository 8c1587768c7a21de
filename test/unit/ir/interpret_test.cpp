// The interpreter against plain C++ loops written from the definitions.
#include "ir/interpret.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/diagnostic.h"
#include "runtime/HalideRuntime.h"
#include "unit/ir/batch_function.h"

namespace calotype::test {
namespace {

using namespace ir;

/// A buffer with its pixels: dimension 0 innermost.
template <typename T> class Pixels {
public:
  explicit Pixels(const std::vector<int> &extents, const std::vector<int> &mins = {},
                  Type type = type_of<T>())
      : dims_(extents.size()) {
    int stride = 1;
    for (size_t d = 0; d < extents.size(); d++) {
      dims_[d].min = d < mins.size() ? mins[d] : 0;
      dims_[d].extent = extents[d];
      dims_[d].stride = stride;
      stride *= extents[d];
    }
    data.resize(stride);
    buffer_.type = type;
    buffer_.dimensions = static_cast<int>(extents.size());
  }
  halide_buffer_t *raw() {
    buffer_.dim = dims_.data();
    buffer_.host = reinterpret_cast<uint8_t *>(data.data());
    return &buffer_;
  }
  T &at(int x, int y = 0, int z = 0) {
    const int c[3] = {x, y, z};
    int i = 0;
    for (size_t d = 0; d < dims_.size(); d++) i += (c[d] - dims_[d].min) * dims_[d].stride;
    return data[i];
  }
  void fill_random(uint64_t seed) {
    Bits bits(seed);
    for (T &v : data) v = static_cast<T>(bits.next() >> 13);
  }
  std::vector<T> data;

private:
  std::vector<halide_dimension_t> dims_;
  halide_buffer_t buffer_ = {};
};

Expr x = make_var("x"), y = make_var("y"), c = make_var("c");
Expr i32(int v) { return make_int(Int(32), v); }
Expr clamp(const Expr &e, int low, int high) { return make_max(i32(low), make_min(i32(high), e)); }

ParameterRef image(const char *name, Type t, int dimensions) {
  Ref<Parameter> p(new Parameter);
  p->name = name;
  p->type = t;
  p->is_buffer = true;
  p->dimensions = dimensions;
  return p;
}

Function pure(const char *name, const std::vector<Expr> &args, const std::vector<Expr> &values) {
  Function f;
  f.name = name;
  f.loc = SrcLoc::here();
  Definition d;
  d.args = args;
  d.values = values;
  d.loc = f.loc;
  for (const Expr &a : args) f.args.push_back(a.as<Variable>()->name);
  for (const Expr &v : values) f.types.push_back(v.type());
  f.definitions.push_back(d);
  return f;
}
void update(Function &f, const std::vector<Expr> &args, const std::vector<Expr> &values,
            const std::vector<ReductionVariable> &rvars = {}, const Expr &predicate = {}) {
  Definition d;
  d.args = args;
  d.values = values;
  d.rvars = rvars;
  d.predicate = predicate;
  d.loc = SrcLoc::here();
  f.definitions.push_back(d);
}
ReductionVariable rvar(const Expr &v, int min, int extent) {
  return {v.as<Variable>()->name, i32(min), i32(extent)};
}
Expr call(const Function &f, const std::vector<Expr> &args, int index = 0) {
  return make_func_call(f.types[index], f.name, args, index);
}

Program program(const std::vector<Function> &funcs) {
  Program p;
  p.name = "test";
  p.funcs = funcs;
  p.outputs = {funcs.back().name};
  return p;
}

std::string failure_of(const std::function<void()> &f, const char *code) {
  try {
    f();
  } catch (const Error &e) {
    CHECK(e.diagnostic().code == code);
    return e.what();
  }
  FAIL("nothing was thrown");
  return "";
}

}  // namespace

TEST_CASE("interpret: a blur of a picture computes every point of every Func once") {
  const int w = 512, h = 512;
  Pixels<uint16_t> in({w, h, 3}), out({w, h, 3});
  in.fill_random(1);
  const ParameterRef input = image("input", UInt(16), 3);
  const Function edges =
      pure("edges", {x, y, c},
           {make_image_call(UInt(16), input, {clamp(x, 0, w - 1), clamp(y, 0, h - 1), c})});
  const auto third = [](const Expr &a, const Expr &b, const Expr &d) {
    const Expr sum =
        make_add(make_add(make_cast(UInt(32), a), make_cast(UInt(32), b)), make_cast(UInt(32), d));
    return make_cast(UInt(16), make_div(sum, make_uint(UInt(32), 3)));
  };
  const Function across =
      pure("across", {x, y, c},
           {third(call(edges, {make_sub(x, i32(1)), y, c}), call(edges, {x, y, c}),
                  call(edges, {make_add(x, i32(1)), y, c}))});
  const Function blur =
      pure("blur", {x, y, c},
           {third(call(across, {x, make_sub(y, i32(1)), c}), call(across, {x, y, c}),
                  call(across, {x, make_add(y, i32(1)), c}))});
  const InterpretReport report =
      interpret(program({edges, across, blur}), {out.raw()}, {{"input", in.raw()}});
  Pixels<uint16_t> row({w, h, 3});
  int wrong = 0;
  const auto edge = [](int v, int n) { return std::min(std::max(v, 0), n - 1); };
  for (int k = 0; k < 3; k++) {
    for (int j = 0; j < h; j++) {
      for (int i = 0; i < w; i++) {
        row.at(i, j, k) = static_cast<uint16_t>(
            (in.at(edge(i - 1, w), j, k) + in.at(i, j, k) + in.at(edge(i + 1, w), j, k)) / 3);
      }
    }
    for (int j = 0; j < h; j++) {
      for (int i = 0; i < w; i++) {
        const int v =
            (row.at(i, edge(j - 1, h), k) + row.at(i, j, k) + row.at(i, edge(j + 1, h), k)) / 3;
        wrong += v != out.at(i, j, k);
      }
    }
  }
  CHECK(wrong == 0);
  // At most 13 operations a point in `across` and `blur`, 5 in `edges`; the margin is the border rows and columns.
  CHECK(report.operations < uint64_t(w + 4) * (h + 4) * 3 * 31);
}

TEST_CASE("interpret: a histogram scatters, in a slice without coordinates") {
  Pixels<uint8_t> in({70, 33}, {-5, 2});
  Pixels<int32_t> out({256});
  in.fill_random(2);
  const Expr rx = make_var("r.x"), ry = make_var("r.y");
  Function hist = pure("hist", {x}, {i32(0)});
  const Expr bin = make_cast(Int(32), make_image_call(UInt(8), image("in", UInt(8), 2), {rx, ry}));
  update(hist, {bin}, {make_add(call(hist, {bin}), i32(1))}, {rvar(rx, -5, 70), rvar(ry, 2, 33)});
  interpret(program({hist}), {out.raw()}, {{"in", in.raw()}});
  std::vector<int32_t> expected(256);
  for (uint8_t v : in.data) expected[v]++;
  CHECK(out.data == expected);
}

TEST_CASE("interpret: scans along two dimensions give a summed-area table") {
  const int w = 37, h = 29;
  Pixels<int32_t> in({w, h}), out({w, h});
  in.fill_random(3);
  const Expr r = make_var("r.x"), q = make_var("q.x");
  Function sat = pure("sat", {x, y}, {make_image_call(Int(32), image("in", Int(32), 2), {x, y})});
  update(sat, {r, y}, {make_add(call(sat, {make_sub(r, i32(1)), y}), call(sat, {r, y}))},
         {rvar(r, 1, w - 1)});
  update(sat, {x, q}, {make_add(call(sat, {x, make_sub(q, i32(1))}), call(sat, {x, q}))},
         {rvar(q, 1, h - 1)});
  interpret(program({sat}), {out.raw()}, {{"in", in.raw()}});
  std::vector<uint32_t> v(in.data.begin(), in.data.end());
  for (int j = 0; j < h; j++) {
    for (int i = 1; i < w; i++) v[j * w + i] += v[j * w + i - 1];
  }
  for (int j = 1; j < h; j++) {
    for (int i = 0; i < w; i++) v[j * w + i] += v[(j - 1) * w + i];
  }
  for (size_t i = 0; i < v.size(); i++) CHECK(out.data[i] == static_cast<int32_t>(v[i]));
}

TEST_CASE("interpret: a reduction runs its domain in order, the first RVar innermost") {
  Pixels<uint32_t> out({5});
  const Expr rx = make_var("r.x"), ry = make_var("r.y"), seven = make_uint(UInt(32), 7);
  Function f = pure("f", {x}, {make_cast(UInt(32), x)});
  const Expr digit = make_cast(UInt(32), make_add(make_mul(ry, i32(10)), rx));
  update(f, {x}, {make_add(make_mul(call(f, {x}), seven), digit)},
         {rvar(rx, 2, 3), rvar(ry, -1, 4)});
  interpret(program({f}), {out.raw()}, {});
  for (int i = 0; i < 5; i++) {
    uint32_t v = i;
    for (int q = -1; q < 3; q++) {
      for (int p = 2; p < 5; p++) v = v * 7 + static_cast<uint32_t>(q * 10 + p);
    }
    CHECK(out.data[i] == v);
  }
}

TEST_CASE("interpret: a matrix product accumulates floats in order, fused as settled") {
  const int n = 23;
  Pixels<float> a({n, n}), b({n, n}), out({n, n}), twice({n, n});
  Bits bits(4);
  for (float &v : a.data) v = static_cast<float>(bits.next() >> 40) * 0x1p-24f;
  for (float &v : b.data) v = static_cast<float>(bits.next() >> 40) * 0x1p-24f;
  const Expr k = make_var("k.x");
  Function f = pure("f", {x, y}, {make_float(Float(32), 0)});
  const Expr ma = make_image_call(Float(32), image("a", Float(32), 2), {k, y});
  const Expr mb = make_image_call(Float(32), image("b", Float(32), 2), {x, k});
  update(f, {x, y}, {make_intrinsic(Float(32), Intrinsic::fma, {ma, mb, call(f, {x, y})})},
         {rvar(k, 0, n)});
  interpret(program({f}), {out.raw()}, {{"a", a.raw()}, {"b", b.raw()}});
  InterpretOptions nofma;
  nofma.fma = false;
  interpret(program({f}), {twice.raw()}, {{"a", a.raw()}, {"b", b.raw()}}, {}, nofma);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) {
      float once = 0, separate = 0;
      for (int m = 0; m < n; m++) {
        once = std::fma(a.at(m, j), b.at(i, m), once);
        const float product = a.at(m, j) * b.at(i, m);
        separate += product;
      }
      CHECK(out.at(i, j) == once);
      CHECK(twice.at(i, j) == separate);
    }
  }
}

TEST_CASE("interpret: Tuples update together, as an arg-max does") {
  const int n = 1000;
  Pixels<int16_t> in({n});
  in.fill_random(5);
  Pixels<int32_t> where({});
  Pixels<int16_t> most({});
  const Expr r = make_var("r.x");
  Function best = pure("best", {}, {i32(-1), make_int(Int(16), -32768)});
  const Expr value = make_image_call(Int(16), image("in", Int(16), 1), {r});
  const Expr better = make_gt(value, call(best, {}, 1));
  update(best, {},
         {make_select(better, r, call(best, {}, 0)), make_select(better, value, call(best, {}, 1))},
         {rvar(r, 0, n)});
  interpret(program({best}), {where.raw(), most.raw()}, {{"in", in.raw()}});
  const auto it = std::max_element(in.data.begin(), in.data.end());
  CHECK(most.data[0] == *it);
  CHECK(where.data[0] == static_cast<int>(it - in.data.begin()));
}

TEST_CASE("interpret: swapping the values of a Tuple reads both before writing") {
  Pixels<int32_t> a({4}), b({4});
  const Expr r = make_var("r.x");
  Function f = pure("f", {x}, {x, make_mul(x, i32(10))});
  update(f, {x}, {call(f, {x}, 1), make_add(call(f, {x}, 0), i32(1))}, {rvar(r, 0, 3)});
  interpret(program({f}), {a.raw(), b.raw()}, {});
  for (int i = 0; i < 4; i++) {
    int p = i, q = i * 10;
    for (int k = 0; k < 3; k++) {
      const int old = p;
      p = q;
      q = old + 1;
    }
    CHECK(a.data[i] == p);
    CHECK(b.data[i] == q);
  }
}

TEST_CASE("interpret: predicates select points of the domain, and guard what they read") {
  Pixels<int32_t> in({10}), out({}), walk({20});
  std::iota(in.data.begin(), in.data.end(), 100);
  const Expr rx = make_var("r.x"), ry = make_var("r.y");
  Function f = pure("f", {}, {i32(0)});
  const Expr value = make_image_call(Int(32), image("in", Int(32), 1), {make_add(rx, ry)});
  update(f, {}, {make_add(make_mul(call(f, {}), i32(3)), value)},
         {rvar(rx, 0, 40), rvar(ry, 0, 40)}, make_lt(make_add(rx, ry), i32(10)));
  interpret(program({f}), {out.raw()}, {{"in", in.raw()}});
  uint32_t expected = 0;
  for (int j = 0; j < 40; j++) {
    for (int i = 0; i + j < 10; i++) expected = expected * 3 + in.data[i + j];
  }
  CHECK(out.data[0] == static_cast<int32_t>(expected));

  // A predicate that reads the Func itself: each point is marked unless its left neighbour is.
  Function g = pure("g", {x}, {i32(0)});
  update(g, {rx}, {i32(1)}, {rvar(rx, 1, 18)}, make_eq(call(g, {make_sub(rx, i32(1))}), i32(0)));
  interpret(program({g}), {walk.raw()}, {});
  for (int i = 0; i < 20; i++) CHECK(walk.data[i] == (i % 2 == 1 && i < 19 ? 1 : 0));
}

TEST_CASE("interpret: gathers and chases through a Func's own values") {
  const int n = 300;
  Pixels<uint8_t> in({n});
  in.fill_random(6);
  Pixels<int32_t> out({n}), chased({n});
  const Function lut = pure("lut", {x}, {make_mul(x, x)});
  const Function f = pure(
      "f", {x},
      {call(lut,
            {make_sub(i32(0), make_cast(Int(32), make_image_call(UInt(8), image("in", UInt(8), 1),
                                                                 {x})))})});
  interpret(program({lut, f}), {out.raw()}, {{"in", in.raw()}});
  for (int i = 0; i < n; i++) CHECK(out.data[i] == in.data[i] * in.data[i]);

  const Expr r = make_var("r.x");
  Function g = pure("g", {x}, {make_mod(make_mul(x, i32(13)), i32(n))});
  update(g, {r}, {make_mod(make_add(call(g, {call(g, {r})}), r), i32(n))}, {rvar(r, 0, n)});
  interpret(program({g}), {chased.raw()}, {});
  std::vector<int> v(n);
  for (int i = 0; i < n; i++) v[i] = i * 13 % n;
  for (int i = 0; i < n; i++) v[i] = (v[v[i]] + i) % n;
  CHECK(chased.data == v);
}

TEST_CASE("interpret: an update at fixed coordinates, and undef, leave the rest alone") {
  Pixels<int32_t> a({3, 4}), b({3, 4});
  Function f = pure("f", {x, y}, {make_add(x, make_mul(y, i32(10))), i32(5)});
  update(f, {x, i32(2)}, {make_intrinsic(Int(32), Intrinsic::undef, {}), make_add(x, i32(100))});
  const Expr odd = make_eq(make_mod(x, i32(2)), i32(1));
  update(f, {x, y},
         {make_select(odd, i32(-1), make_intrinsic(Int(32), Intrinsic::undef, {})),
          call(f, {x, y}, 1)});
  interpret(program({f}), {a.raw(), b.raw()}, {});
  for (int j = 0; j < 4; j++) {
    for (int i = 0; i < 3; i++) {
      CHECK(a.at(i, j) == (i == 1 ? -1 : i + j * 10));
      CHECK(b.at(i, j) == (j == 2 ? i + 100 : 5));
    }
  }
}

TEST_CASE("interpret: if_then_else evaluates the chosen side only, select both") {
  Pixels<int32_t> in({8}), out({12}, {-2});
  std::iota(in.data.begin(), in.data.end(), 7);
  const Expr read = make_image_call(Int(32), image("in", Int(32), 1), {x});
  const Expr inside = make_and(make_ge(x, i32(0)), make_lt(x, i32(8)));
  const Function lazy =
      pure("lazy", {x},
           {make_intrinsic(Int(32), Intrinsic::if_then_else, {inside, read, make_sub(i32(0), x)})});
  interpret(program({lazy}), {out.raw()}, {{"in", in.raw()}});
  for (int i = -2; i < 10; i++) CHECK(out.at(i) == (i >= 0 && i < 8 ? i + 7 : -i));
  const Function eager = pure("eager", {x}, {make_select(inside, read, i32(0))});
  failure_of([&] { interpret(program({eager}), {out.raw()}, {{"in", in.raw()}}); }, "R0102");

  ir::InterpretOptions lenient;
  lenient.ignore_unused_reads = true;
  interpret(program({eager}), {out.raw()}, {{"in", in.raw()}}, {}, lenient);
  for (int i = -2; i < 10; i++) CHECK(out.at(i) == (i >= 0 && i < 8 ? i + 7 : 0));
  const Function used = pure("used", {x}, {make_select(inside, i32(0), read)});
  failure_of([&] { interpret(program({used}), {out.raw()}, {{"in", in.raw()}}, {}, lenient); },
             "R0102");
}

TEST_CASE("interpret: a read outside an input names reader, place, index and bounds") {
  Pixels<uint8_t> in({10, 5}, {3, 0}), out({10, 5}, {3, 0});
  const Function shifted =
      pure("shifted", {x, y},
           {make_image_call(UInt(8), image("photo", UInt(8), 2), {make_add(x, i32(2)), y})});
  const std::string text = failure_of(
      [&] { interpret(program({shifted}), {out.raw()}, {{"photo", in.raw()}}); }, "R0102");
  CHECK(text.find("shifted reads photo(13, 0)") != std::string::npos);
  CHECK(text.find("index 13 in dimension 0 is outside [3, 12]") != std::string::npos);
  CHECK(text.find("interpret_test.cpp") != std::string::npos);
  CHECK(text.find("repeat_edge(photo)") != std::string::npos);
}

TEST_CASE("interpret: wrong and missing arguments are named") {
  Pixels<uint8_t> in({4});
  Pixels<int32_t> out({4});
  const Function f = pure("f", {x}, {make_image_call(Int(32), image("in", Int(32), 1), {x})});
  CHECK(failure_of([&] { interpret(program({f}), {out.raw()}, {{"in", in.raw()}}); }, "R0101")
            .find("type u8, expected i32") != std::string::npos);
  failure_of([&] { interpret(program({f}), {out.raw()}, {}); }, "L0401");
  failure_of([&] { interpret(program({f}), {in.raw()}, {}); }, "R0101");
  const Function g = pure("g", {x}, {make_extern_call(Int(32), "rand", {}, false)});
  failure_of([&] { interpret(program({g}), {out.raw()}, {}); }, "L0901");
  Function moves = pure("moves", {x}, {i32(0)});
  update(moves, {x}, {call(moves, {make_sub(x, i32(1))})});
  CHECK(failure_of([&] { interpret(program({moves}), {out.raw()}, {}); }, "L0901")
            .find("moves along x") != std::string::npos);
  InterpretOptions few;
  few.max_operations = 3;
  const Function square = pure("square", {x}, {make_mul(x, x)});
  failure_of([&] { interpret(program({square}), {out.raw()}, {}, {}, few); }, "R0106");
}

TEST_CASE("interpret: scalar parameters and the fields of buffers are constants of the run") {
  Pixels<float> in({6, 2}, {-3, 0});
  Pixels<float> out({4});
  const ParameterRef image_param = image("in", Float(32), 2);
  Ref<Parameter> gain(new Parameter);
  gain->name = "x";  // same as the Var's
  gain->type = Float(32);
  gain->bits = bit_copy<uint32_t>(2.5f);
  const Expr field = make_add(make_var("in.min.0", Int(32), image_param),
                              make_var("in.extent.1", Int(32), image_param));
  const Function f =
      pure("f", {x},
           {make_mul(make_cast(Float(32), make_add(x, field)), make_var("x", Float(32), gain))});
  failure_of([&] { interpret(program({f}), {out.raw()}, {{"in", in.raw()}}); }, "L0401");
  gain->is_set = true;
  interpret(program({f}), {out.raw()}, {{"in", in.raw()}});
  for (int i = 0; i < 4; i++) CHECK(out.data[i] == (i - 1) * 2.5f);
  interpret(program({f}), {out.raw()}, {{"in", in.raw()}}, {{"x", bit_copy<uint32_t>(-1.0f)}});
  CHECK(out.data[3] == -2);
}

TEST_CASE("interpret: long chains of Funcs, and of updates, do not exhaust the stack") {
  const int n = 2000;
  std::vector<Function> chain = {pure("f0", {x}, {x})};
  for (int i = 1; i < n; i++) {
    const std::string name = "f" + std::to_string(i);
    chain.push_back(pure(name.c_str(), {x},
                         {make_add(call(chain.back(), {make_add(x, i32(i % 3 - 1))}), i32(1))}));
  }
  Pixels<int32_t> out({3});
  interpret(program(chain), {out.raw()}, {});
  int shift = 0;
  for (int i = 1; i < n; i++) shift += i % 3 - 1;
  for (int i = 0; i < 3; i++) CHECK(out.data[i] == i + shift + n - 1);

  Function f = pure("f", {x}, {x});
  for (int i = 0; i < n; i++) update(f, {x}, {make_add(call(f, {x}), x)});
  interpret(program({f}), {out.raw()}, {});
  for (int i = 0; i < 3; i++) CHECK(out.data[i] == i * (n + 1));
}

TEST_CASE("interpret: reports overflow and undef when asked") {
  Pixels<int32_t> out({3}), other({3});
  const Expr large = make_add(make_int(Int(32), INT32_MAX - 1), x);
  const Function f = pure("f", {x}, {large, make_intrinsic(Int(32), Intrinsic::undef, {})});
  InterpretOptions track;
  track.track_unspecified = true;
  const InterpretReport quiet = interpret(program({f}), {out.raw(), other.raw()}, {});
  const InterpretReport loud = interpret(program({f}), {out.raw(), other.raw()}, {}, {}, track);
  CHECK(quiet.unspecified.empty());
  REQUIRE(loud.unspecified.size() == 2);
  CHECK(loud.unspecified[0].find("i32 addition overflows in f (") == 0);
  CHECK(loud.unspecified[1].find("undef is read in f (") == 0);
  const Function fits = pure("fits", {x}, {make_mul(x, x), make_add(x, x)});
  CHECK(interpret(program({fits}), {out.raw(), other.raw()}, {}, {}, track).unspecified.empty());
}

// --- Meaning of single operations --------------------------------------------------------------------------------------

TEST_CASE("interpret: integer division and modulo keep a remainder of at least 0, and x / 0 is 0") {
  const auto check = [](auto zero) {
    using T = decltype(zero);
    const Type t = type_of<T>();
    std::vector<T> a, b;
    for (int i = 0; i < 65536; i++) {
      a.push_back(static_cast<T>(i & 255));
      b.push_back(static_cast<T>(i >> 8));
    }
    BatchFunction div(make_div(variable("x", t), variable("y", t)), {t, t});
    BatchFunction mod(make_mod(variable("x", t), variable("y", t)), {t, t});
    const std::vector<T> q = div.template operator()<T>(a, b), m = mod.template operator()<T>(a, b);
    int wrong = 0;
    for (size_t i = 0; i < a.size(); i++) {
      const int p = a[i], d = b[i];
      const int r = d == 0 ? 0 : ((p % d) + std::abs(d)) % std::abs(d);
      wrong += m[i] != static_cast<T>(r) || q[i] != static_cast<T>(d == 0 ? 0 : (p - r) / d);
    }
    CHECK(wrong == 0);
  };
  check(int8_t());
  check(uint8_t());
  const std::vector<int32_t> least = {INT32_MIN, INT32_MIN, 7}, by = {-1, 0, INT32_MIN};
  BatchFunction div(make_div(variable("x", Int(32)), variable("y", Int(32))), {Int(32), Int(32)});
  CHECK(div.operator()<int32_t>(least, by) == std::vector<int32_t>{INT32_MIN, 0, 0});
}

TEST_CASE("interpret: casts wrap, truncate, saturate and round as the language says") {
  const auto cast = [](auto to, const auto &values) {
    using D = decltype(to);
    using S = typename std::decay_t<decltype(values)>::value_type;
    return BatchFunction(make_cast(type_of<D>(), variable("x", type_of<S>())), {type_of<S>()})
        .template operator()<D>(values);
  };
  CHECK(cast(int8_t(), std::vector<int32_t>{300, -129, 128}) == std::vector<int8_t>{44, 127, -128});
  CHECK(cast(uint32_t(), std::vector<int8_t>{-1}) == std::vector<uint32_t>{0xffffffffu});
  CHECK(cast(uint8_t(), std::vector<float>{-1, 255.99f, 1e9f, NAN, 3.7f}) ==
        std::vector<uint8_t>{0, 255, 255, 0, 3});
  CHECK(cast(int32_t(), std::vector<float>{-INFINITY, INFINITY, -2.9f, 2147483648.0f}) ==
        std::vector<int32_t>{INT32_MIN, INT32_MAX, -2, INT32_MAX});
  CHECK(cast(int64_t(), std::vector<double>{1e19, -1e19, NAN}) ==
        std::vector<int64_t>{INT64_MAX, INT64_MIN, 0});
  CHECK(cast(uint64_t(), std::vector<double>{1e20, -1, 1.8446744073709550e19}) ==
        std::vector<uint64_t>{UINT64_MAX, 0, 18446744073709549568ull});
  CHECK(cast(float(), std::vector<int32_t>{16777217, 16777219}) ==
        std::vector<float>{16777216.0f, 16777220.0f});
  CHECK(cast(float(), std::vector<double>{1e300, 0.1}) == std::vector<float>{INFINITY, 0.1f});
  BatchFunction truth(make_cast(Bool(), variable("x", Float(32))), {Float(32)});
  CHECK(truth.operator()<uint8_t>(std::vector<float>{0, -0.0f, 0.25f, NAN}) ==
        std::vector<uint8_t>{0, 0, 1, 1});
}

TEST_CASE("interpret: min and max are comparisons, NaN and signed zeros included") {
  const std::vector<float> a = {NAN, 1, -0.0f, 0.0f}, b = {1, NAN, 0.0f, -0.0f};
  const Expr p = variable("x", Float(32)), q = variable("y", Float(32));
  const auto least = BatchFunction(make_min(p, q), {Float(32), Float(32)}).operator()<float>(a, b);
  const auto most = BatchFunction(make_max(p, q), {Float(32), Float(32)}).operator()<float>(a, b);
  for (size_t i = 0; i < a.size(); i++) {
    CHECK(bit_copy<uint32_t>(least[i]) == bit_copy<uint32_t>(a[i] < b[i] ? a[i] : b[i]));
    CHECK(bit_copy<uint32_t>(most[i]) == bit_copy<uint32_t>(a[i] > b[i] ? a[i] : b[i]));
  }
  CHECK(BatchFunction(make_ne(p, p), {Float(32)}).operator()<uint8_t>(std::vector<float>{NAN, 1}) ==
        std::vector<uint8_t>{1, 0});
}

TEST_CASE("interpret: shifts take any amount of either sign") {
  const auto shift = [](Intrinsic op, Type t, int64_t value, int amount) {
    BatchFunction f(
        make_cast(Int(64), make_intrinsic(t, op,
                                          {make_int(t, value), make_cast(t.with_code(Type::Int),
                                                                         variable("x", Int(32)))})),
        {Int(32)});
    return f.operator()<int64_t>(std::vector<int32_t>{amount})[0];
  };
  CHECK(shift(Intrinsic::shift_left, Int(8), 3, 6) == -64);
  CHECK(shift(Intrinsic::shift_left, Int(8), -100, -3) == -13);
  CHECK(shift(Intrinsic::shift_right, Int(8), -100, 9) == -1);
  CHECK(shift(Intrinsic::shift_right, UInt(8), 200, 3) == 25);
  CHECK(shift(Intrinsic::shift_right, UInt(8), 200, 8) == 0);
  CHECK(shift(Intrinsic::shift_right, UInt(8), 3, -7) == 128);
  CHECK(shift(Intrinsic::shift_left, UInt(32), 1, 32) == 0);
}

TEST_CASE("interpret: saturating, absolute and counting operations at their edges") {
  const auto run = [](Intrinsic op, Type result, const std::vector<int8_t> &a,
                      const std::vector<int8_t> &b) {
    std::vector<Expr> args = {variable("x", Int(8))};
    if (!b.empty()) args.push_back(variable("y", Int(8)));
    const Expr e = make_cast(Int(32), make_intrinsic(result, op, args));
    BatchFunction f(e, {Int(8), Int(8)});
    return f.operator()<int32_t>(a, b.empty() ? a : b);
  };
  CHECK(run(Intrinsic::saturating_add, Int(8), {100, -100, 5}, {100, -100, 6}) ==
        std::vector<int32_t>{127, -128, 11});
  CHECK(run(Intrinsic::saturating_sub, Int(8), {100, -100, 0}, {-100, 100, -128}) ==
        std::vector<int32_t>{127, -128, 127});
  CHECK(run(Intrinsic::abs, UInt(8), {-128, 127, -1}, {}) == std::vector<int32_t>{128, 127, 1});
  CHECK(run(Intrinsic::absd, UInt(8), {-128, 127, 3}, {127, -128, 5}) ==
        std::vector<int32_t>{255, 255, 2});
  CHECK(run(Intrinsic::count_leading_zeros, Int(8), {0, 1, -1}, {}) ==
        std::vector<int32_t>{8, 7, 0});
  CHECK(run(Intrinsic::count_trailing_zeros, Int(8), {0, 8, -128}, {}) ==
        std::vector<int32_t>{8, 3, 7});
  CHECK(run(Intrinsic::popcount, Int(8), {0, -1, 5}, {}) == std::vector<int32_t>{0, 8, 2});
}

TEST_CASE("interpret: float16 and bfloat16 round to nearest even after each operation") {
  using namespace interpreter;
  // Every float16 survives the way through a float, and rounding moves no representable value.
  int wrong = 0;
  for (int b = 0; b < 65536; b++) {
    const uint16_t h = static_cast<uint16_t>(b);
    const float f = float16_from_bits(h);
    if (f != f) continue;
    wrong +=
        float16_bits(f) != h || bit_copy<uint32_t>(round_to_float16(f)) != bit_copy<uint32_t>(f);
    // Half way to the next value goes to the even one, a little more goes up.
    const float next = float16_from_bits(static_cast<uint16_t>(h + 1));
    if (b < 0x7bff) {
      const float half = (f + next) / 2;
      wrong += round_to_float16(half) != (b % 2 ? next : f);
      wrong += round_to_float16(std::nextafter(half, 1e6f)) != next ||
               round_to_float16(std::nextafter(half, -1.0f)) != f;
    }
  }
  CHECK(wrong == 0);
  CHECK(round_to_float16(65519.0f) == 65504.0f);
  CHECK(std::isinf(round_to_float16(65520.0f)));
  CHECK(round_to_bfloat16(1.00390625f) == 1.0f);       // a tie
  CHECK(round_to_bfloat16(1.01171875f) == 1.015625f);  // a tie the other way

  Pixels<uint16_t> in({4}, {}, Float(16)), out({4}, {}, Float(16));
  const float values[] = {1.0f, 0.333251953125f, 2048, 65504};
  for (int i = 0; i < 4; i++) in.data[i] = float16_bits(values[i]);
  const Expr v = make_image_call(Float(16), image("in", Float(16), 1), {x});
  const Function f = pure("f", {x}, {make_add(make_mul(v, v), v)});
  interpret(program({f}), {out.raw()}, {{"in", in.raw()}});
  for (int i = 0; i < 4; i++) {
    const float expected = round_to_float16(round_to_float16(values[i] * values[i]) + values[i]);
    CHECK(out.data[i] == float16_bits(expected));
  }
  // double to float16 rounds once: 1 + 2^-11 + 2^-40 lies just above a tie that float cannot tell.
  BatchFunction narrow(make_cast(Float(32), make_cast(Float(16), variable("x", Float(64)))),
                       {Float(64)});
  CHECK(narrow.operator()<float>(std::vector<double>{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11}) ==
        std::vector<float>{1 + 0x1p-10f, 1});
}

}  // namespace calotype::test
