// Loads and stores in every form an index can have, with and without predicates: values, and nothing touched outside.
#include "column.h"
#include "run.h"

#include <doctest/doctest.h>

#include <sys/mman.h>

using namespace codegen_test;

namespace {

const Type kTypes[] = {UInt(8), UInt(16), Int(32), Float(32), Float(64), Bool()};

/// Memory whose last byte lies before an inaccessible page and whose first lies after one.
class Fenced {
public:
  Fenced(size_t bytes, bool at_end) {
    const size_t page = 4096;
    size_t inner = (bytes + page - 1) / page * page;
    total_ = inner + 2 * page;
    base_ = static_cast<uint8_t *>(
        mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) == 0);
    data_ = at_end ? base_ + page + inner - bytes : base_ + page;
  }
  ~Fenced() { munmap(base_, total_); }
  Fenced(const Fenced &) = delete;
  Fenced &operator=(const Fenced &) = delete;
  uint8_t *data() { return data_; }

private:
  size_t total_;
  uint8_t *base_, *data_;
};

Column counting(Type t, int n) {
  Column c(t, n);
  for (int i = 0; i < n; i++) {
    Scalar s;
    s.whole = t.is_bool() ? (i * 7 / 3) % 2 : (i * 3 + 1) % 251;
    s.real = i * 3 + 1;
    c.set(i, s);
  }
  return c;
}

std::vector<Target> targets() {
  std::vector<Target> all;
  for (const char *text : {"x86-64-linux", "x86-64-linux-avx-avx2-f16c-fma-sse41"}) {
    if (why_not_runnable_here(Target(text)).empty()) all.push_back(Target(text));
  }
  return all;
}

/// A mask over lanes: bit k of `bits`, read from memory so that nothing folds.
Expr mask_expr(int lanes) { return ir::make_load(Bool(lanes), "mask", ir::make_ramp(0, 1, lanes)); }

}  // namespace

TEST_CASE("codegen/memory: strided loads read exactly the elements between first and last") {
  for (const Target &target : targets()) {
    for (Type t : kTypes) {
      for (int lanes : {4, 8, 16, 32}) {
        for (int stride : {-3, -2, -1, 0, 1, 2, 3, 4, 5, 7}) {
          for (bool masked : {false, true}) {
            int span = std::abs(stride) * (lanes - 1) + 1;
            Column values = counting(t, span);
            for (bool at_end : {false, true}) {
              Fenced in(span * t.bytes(), at_end);
              std::memcpy(in.data(), values.data(), span * t.bytes());
              Column out(t, lanes), mask(Bool(), lanes);
              for (int k = 0; k < lanes; k++) mask.set(k, {(k * 5 / 3 + 1) % 2, 0});
              int first = stride < 0 ? span - 1 : 0;
              Expr index = stride == 0 ? ir::make_broadcast(first, lanes)
                                       : ir::make_ramp(first, stride, lanes);
              Expr v = ir::make_load(t.with_lanes(lanes), "in", index,
                                     masked ? mask_expr(lanes) : Expr());
              REQUIRE(run(ir::make_store("out", v, ir::make_ramp(0, 1, lanes)),
                          {{"in", t, in.data()},
                           {"mask", Bool(), mask.data()},
                           {"out", t, out.data(), true}},
                          target) == 0);
              CHECK(out.guards_intact());
              for (int k = 0; k < lanes; k++) {
                bool on = !masked || mask.get(k).whole;
                uint64_t expected = on ? values.bits(first + k * stride) : 0;
                CHECK_MESSAGE(out.bits(k) == expected, to_string(t) << "x" << lanes << " stride "
                                                                    << stride << " lane " << k);
              }
              if (t.bits() == 64 || masked) break;  // one end is enough for the slower forms
            }
          }
        }
      }
    }
  }
}

TEST_CASE("codegen/memory: masked accesses touch no byte of a lane that is off") {
  for (const Target &target : targets()) {
    for (Type t : kTypes) {
      const int lanes = 16;
      // The first lanes that are on end at the fence.
      for (int on : {0, 1, 5, 15, 16}) {
        Fenced in(std::max(on, 1) * t.bytes(), true), out(std::max(on, 1) * t.bytes(), true);
        Column values = counting(t, lanes), mask(Bool(), lanes);
        std::memcpy(in.data(), values.data(), on * t.bytes());
        for (int k = 0; k < lanes; k++) mask.set(k, {k < on, 0});
        Expr index = ir::make_ramp(0, 1, lanes);
        Expr v = ir::make_load(t.with_lanes(lanes), "in", index, mask_expr(lanes));
        REQUIRE(
            run(ir::make_store("out", v, index, mask_expr(lanes)),
                {{"in", t, in.data()}, {"mask", Bool(), mask.data()}, {"out", t, out.data(), true}},
                target) == 0);
        CHECK(std::memcmp(in.data(), out.data(), on * t.bytes()) == 0);
      }
    }
  }
}

TEST_CASE("codegen/memory: stores of every stride, masked or not, write only their lanes") {
  for (const Target &target : targets()) {
    for (Type t : kTypes) {
      for (int lanes : {4, 16}) {
        for (int stride : {-2, -1, 1, 2, 3}) {
          for (bool masked : {false, true}) {
            int span = std::abs(stride) * (lanes - 1) + 1, first = stride < 0 ? span - 1 : 0;
            Column in = counting(t, lanes), out = counting(t, span), before = out,
                   mask(Bool(), lanes);
            for (int k = 0; k < lanes; k++) mask.set(k, {(k * 5 / 3 + 1) % 2, 0});
            Expr v = ir::make_load(t.with_lanes(lanes), "in", ir::make_ramp(0, 1, lanes));
            ir::Stmt s = ir::make_store("out", v, ir::make_ramp(first, stride, lanes),
                                        masked ? mask_expr(lanes) : Expr());
            REQUIRE(run(s,
                        {{"in", t, in.data()},
                         {"mask", Bool(), mask.data()},
                         {"out", t, out.data(), true}},
                        target) == 0);
            CHECK(out.guards_intact());
            for (int i = 0; i < span; i++) {
              int k = (i - first) / stride;
              bool hit = (i - first) % stride == 0 && (!masked || mask.get(k).whole);
              CHECK(out.bits(i) == (hit ? in.bits(k) : before.bits(i)));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("codegen/memory: gathers and scatters take any index, and the last of equal ones wins") {
  const int n = 8;
  std::vector<int32_t> index = {3, 0, 7, 3, 5, 1, 0, 6};
  for (Type t : kTypes) {
    for (bool masked : {false, true}) {
      Column in = counting(t, n), gathered(t, n), scattered = counting(t, n), before = scattered,
             mask(Bool(), n);
      for (int k = 0; k < n; k++) mask.set(k, {k != 3 && k != 4, 0});
      Expr dense = ir::make_ramp(0, 1, n);
      Expr at = ir::make_load(Int(32, n), "index", dense);
      Expr predicate = masked ? mask_expr(n) : Expr();
      ir::Stmt s = ir::make_block(
          ir::make_store("gathered", ir::make_load(t.with_lanes(n), "in", at, predicate), dense),
          ir::make_store("scattered", ir::make_load(t.with_lanes(n), "in", dense), at, predicate));
      REQUIRE(run(s, {{"in", t, in.data()},
                      {"mask", Bool(), mask.data()},
                      {"index", Int(32), index.data()},
                      {"gathered", t, gathered.data(), true},
                      {"scattered", t, scattered.data(), true}}) == 0);
      Column expected = before;
      for (int k = 0; k < n; k++) {
        bool on = !masked || mask.get(k).whole;
        CHECK(gathered.bits(k) == (on ? in.bits(index[k]) : 0));
        if (on) expected.set(index[k], in.get(k));
      }
      for (int k = 0; k < n; k++) CHECK(scattered.bits(k) == expected.bits(k));
    }
  }
}

TEST_CASE("codegen/memory: nested ramps, sums of ramps and lets in an index") {
  const int w = 40;
  Column in = counting(UInt(16), w * 4), out(UInt(16), 16);
  // Four rows of four, at (5 + column, row).
  Expr row = ir::make_ramp(5, 1, 4);
  Expr square = ir::make_ramp(row, ir::make_broadcast(w, 4), 4);
  REQUIRE(
      run(ir::make_store("out", ir::make_load(UInt(16, 16), "in", square), ir::make_ramp(0, 1, 16)),
          {{"in", UInt(16), in.data()}, {"out", UInt(16), out.data(), true}}) == 0);
  for (int k = 0; k < 16; k++) CHECK(out.bits(k) == in.bits(5 + k % 4 + k / 4 * w));

  // The transposed way round, stored through a nested ramp.
  Column transposed = counting(UInt(16), w * 4), before = transposed;
  REQUIRE(
      run(ir::make_store("out", ir::make_load(UInt(16, 16), "in", ir::make_ramp(0, 1, 16)), square),
          {{"in", UInt(16), in.data()}, {"out", UInt(16), transposed.data(), true}}) == 0);
  for (int i = 0; i < w * 4; i++) {
    int x = i % w - 5, y = i / w;
    CHECK(transposed.bits(i) == (x >= 0 && x < 4 ? in.bits(x + 4 * y) : before.bits(i)));
  }

  // (ramp(0, 1) + x) * 2 - 1 with x let, at x = 3: elements 5, 7, ...
  Expr x = ir::make_var("x");
  Expr lanes = ir::make_add(ir::make_ramp(0, 1, 8), ir::make_broadcast(x, 8));
  Expr at = ir::make_sub(ir::make_mul(lanes, ir::make_broadcast(2, 8)), ir::make_broadcast(1, 8));
  Column odd(UInt(16), 8);
  ir::Stmt s = ir::make_store("out", ir::make_load(UInt(16, 8), "in", at), ir::make_ramp(0, 1, 8));
  REQUIRE(run(ir::make_let_stmt("x", 3, s),
              {{"in", UInt(16), in.data()}, {"out", UInt(16), odd.data(), true}}) == 0);
  for (int k = 0; k < 8; k++) CHECK(odd.bits(k) == in.bits(5 + 2 * k));
}

TEST_CASE("codegen/memory: index arithmetic over several loops reaches the right element") {
  const int w = 7, h = 5, c = 3;
  std::vector<int32_t> in(w * h * c), out(w * h * c, -1);
  for (size_t i = 0; i < in.size(); i++) in[i] = static_cast<int32_t>(i * i);
  Expr x = ir::make_var("x"), y = ir::make_var("y"), k = ir::make_var("k"),
       stride = ir::make_var("stride");
  // Loops from negative minima; host pointers at the element of coordinates (-2, -1, 0).
  Expr px = ir::make_add(x, 2), py = ir::make_add(y, 1);
  Expr from = ir::make_add(ir::make_add(ir::make_mul(py, stride), px), ir::make_mul(k, w * h));
  Expr to = ir::make_add(ir::make_mul(ir::make_add(ir::make_mul(py, w), px), c), k);
  ir::Stmt s = ir::make_store("out", ir::make_load(Int(32), "in", from), to);
  s = ir::make_for("x", -2, w, ir::ForType::Serial, s);
  s = ir::make_for("y", -1, h, ir::ForType::Serial, s);
  s = ir::make_for("k", 0, c, ir::ForType::Serial, s);
  s = ir::make_let_stmt("stride", ir::make_load(Int(32), "w", 0), s);
  int32_t width = w;
  REQUIRE(run(s, {{"in", Int(32), in.data()},
                  {"w", Int(32), &width},
                  {"out", Int(32), out.data(), true}}) == 0);
  for (int z = 0; z < c; z++) {
    for (int j = 0; j < h; j++) {
      for (int i = 0; i < w; i++) CHECK(out[(j * w + i) * c + z] == in[(z * h + j) * w + i]);
    }
  }
}

TEST_CASE("codegen/memory: shuffles interleave, deinterleave, slice and join") {
  const int n = 8;
  Column in = counting(UInt(8), 4 * n), out(UInt(8), 4 * n);
  std::vector<Expr> planes;
  std::vector<int> order;
  for (int p = 0; p < 4; p++)
    planes.push_back(ir::make_load(UInt(8, n), "in", ir::make_ramp(p * n, 1, n)));
  for (int count : {2, 3, 4}) {
    std::vector<Expr> some(planes.begin(), planes.begin() + count);
    order.clear();
    for (int k = 0; k < n; k++) {
      for (int p = 0; p < count; p++) order.push_back(p * n + k);
    }
    REQUIRE(
        run(ir::make_store("out", ir::make_shuffle(some, order), ir::make_ramp(0, 1, count * n)),
            {{"in", UInt(8), in.data()}, {"out", UInt(8), out.data(), true}}) == 0);
    for (int k = 0; k < count * n; k++) CHECK(out.bits(k) == in.bits(order[k]));
  }
  // Joining pieces of different widths, scalars among them, and picking across them.
  Expr scalar = ir::make_load(UInt(8), "in", 30),
       three = ir::make_load(UInt(8, 3), "in", ir::make_ramp(9, 1, 3));
  Expr joined = ir::make_shuffle({planes[0], scalar, three}, {11, 8, 0, 9, 7, 10, 8, 2});
  REQUIRE(run(ir::make_store("out", joined, ir::make_ramp(0, 1, n)),
              {{"in", UInt(8), in.data()}, {"out", UInt(8), out.data(), true}}) == 0);
  int expected[] = {11, 30, 0, 9, 7, 10, 30, 2};
  for (int k = 0; k < n; k++) CHECK(out.bits(k) == in.bits(expected[k]));
}

TEST_CASE("codegen/memory: a vector if_then_else reads only the lanes that chose a side") {
  const int n = 8;
  Fenced in(4 * 4, true);  // four Int32, then the fence
  auto *values = reinterpret_cast<int32_t *>(in.data());
  for (int k = 0; k < 4; k++) values[k] = 10 + k;
  std::vector<int32_t> out(n, -1);
  Column mask(Bool(), n);
  for (int k = 0; k < n; k++) mask.set(k, {k < 4, 0});
  Expr at = ir::make_ramp(0, 1, n);
  Expr v = ir::make_intrinsic(
      Int(32, n), ir::Intrinsic::if_then_else,
      {mask_expr(n), ir::make_load(Int(32, n), "in", at), make_int(Int(32, n), 7)});
  REQUIRE(run(ir::make_store("out", v, at), {{"in", Int(32), values},
                                             {"mask", Bool(), mask.data()},
                                             {"out", Int(32), out.data(), true}}) == 0);
  for (int k = 0; k < n; k++) CHECK(out[k] == (k < 4 ? 10 + k : 7));
}

TEST_CASE("codegen/memory: clamped coordinates read the same inside and at both edges") {
  const int w = 40, rows = 3, n = 8;
  for (Type t : kTypes) {
    for (const Target &target : targets()) {
      Fenced in(w * rows * t.bytes(), true);
      Column values = counting(t, w * rows);
      std::memcpy(in.data(), values.data(), w * rows * t.bytes());
      int32_t bounds[] = {3, w - 4};
      Expr low = ir::make_load(Int(32), "bounds", 0), high = ir::make_load(Int(32), "bounds", 1);
      Expr x = ir::make_var("x");
      Expr ramp = ir::make_ramp(ir::make_mul(x, 4), 1, n);
      Expr clamped = ir::make_max(ir::make_min(ir::make_broadcast(ir::make_var("high"), n), ramp),
                                  ir::make_broadcast(ir::make_var("low"), n));
      const int count = 16;
      Column out(t, count * n);
      // x from -3: coordinates from -12, all in row 1.
      Expr index = ir::make_add(clamped, ir::make_broadcast(w, n));
      ir::Stmt s = ir::make_store("out", ir::make_load(t.with_lanes(n), "in", index),
                                  ir::make_ramp(ir::make_mul(ir::make_add(x, 3), n), 1, n));
      s = ir::make_for("x", -3, count, ir::ForType::Serial, s);
      s = ir::make_let_stmt("low", low, ir::make_let_stmt("high", high, s));
      REQUIRE(run(s,
                  {{"in", t, in.data()}, {"bounds", Int(32), bounds}, {"out", t, out.data(), true}},
                  target) == 0);
      CHECK(out.guards_intact());
      for (int i = 0; i < count * n; i++) {
        int c = (i / n - 3) * 4 + i % n;
        CHECK(out.bits(i) == values.bits(w + std::max(3, std::min(w - 4, c))));
      }
    }
  }
}
