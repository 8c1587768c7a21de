// async and ring_buffer: the same bits with any number of threads, errors once, refusals with reasons. Each case runs many
// times, since what goes wrong between threads goes wrong now and then.
#include <doctest/doctest.h>

#include <atomic>

#include "../unit/lower/programs.h"
#include "compat/Halide.h"
#include "runtime/runtime.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {

constexpr int kRepeats = 20;
const CaseSize kSize{{3, -4}, {21, 37}, 0};

struct Threads {
  explicit Threads(int n) : before_(runtime::set_num_threads(n)) {}
  ~Threads() { runtime::set_num_threads(before_); }
  int before_;
};

/// Three Funcs in a row; `a` is read by `b` alone.
const char *const kChain =
    "program chain {\n"
    "  param in0: i32[2]\n"
    "  func a(x, y): i32 {\n"
    "    a(x, y) = @in0(x, y) * 3 + y\n"
    "  }\n"
    "  func b(x, y): i32 {\n"
    "    b(x, y) = a(x, y - 1) - a(x + 1, y + 1)\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = b(x, y) + b(x, y + 2) * 5\n"
    "  }\n"
    "  output out\n"
    "}\n";

/// A Func with an update, read at two places of two stages; it reads no input.
const char *const kOwn =
    "program own {\n"
    "  func f(x, y): i32 {\n"
    "    f(x, y) = x + y\n"
    "    f(x, y) = f(x, y) + r.x for r.x in 0 +: 3\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = f(x, y) + f(x, y + 1)\n"
    "    out(x, y) = out(x, y) + f(x + 1, y)\n"
    "  }\n"
    "  output out\n"
    "}\n";

void same(const std::string &program, const std::string &lines, const CaseSize &size = kSize) {
  const CompiledCase c(ir::parse_program(program),
                       schedule::parse_schedule("calotype 1\n" + lines, "test.sched"),
                       get_host_target());
  CAPTURE(lines);
  CAPTURE(c.compiled().text);
  REQUIRE(c.compiled().kind == CaseResult::Same);
  for (int threads : {1, 2, 8}) {
    const Threads n(threads);
    int bad = 0;
    std::string text;
    for (int i = 0; i < kRepeats; i++) {
      const CaseResult r = c.run(size, static_cast<uint64_t>(i + 1));
      if (r.kind != CaseResult::Same) text = r.text;
      bad += r.kind != CaseResult::Same;
    }
    CAPTURE(threads);
    CAPTURE(text);
    CHECK(bad == 0);
  }
}
std::string lowered(const std::string &program, const std::string &lines) {
  return ir::to_string(LoweredCase(program, lines).lowered.body);
}

}  // namespace

TEST_CASE("async: computed and stored at one place") {
  same(blur_text(), "bx.compute_root().async()\n");
  same(blur_text(), "bx.compute_at(out, y).async()\n");
  same(kChain, "a.compute_root().async()\nb.compute_root().async()\n");
}

TEST_CASE("async: a sliding window, folded or not") {
  same(blur_text(), "bx.store_root().compute_at(out, y).async()\n");
  same(blur_text(),
       "bx.store_root().compute_at(out, y).vectorize(x, 8).async()\nout.vectorize(x, 8)\n");
  same(blur_text(), "bx.store_root().compute_at(out, y).fold_storage(y, 3).async()\n");
  same(blur_text(), "bx.store_root().compute_at(out, y).fold_storage(y, 7).async()\n");
  same(blur_text(), "out.reorder(y, x)\nbx.store_root().compute_at(out, x).async()\n");
  same(blur_text(), "out.split(y, yo, yi, 8)\nbx.store_root().compute_at(out, yi).async()\n");
  same(blur_text(), "out.split(y, yo, yi, 8)\nbx.store_at(out, yo).compute_at(out, yi).async()\n");
}

TEST_CASE("async: what is computed again in each iteration goes in turn") {
  same(blur_text(),
       "out.tile(x, y, xo, yo, xi, yi, 8, 4)\nbx.store_root().compute_at(out, xo).async()\n");
  same(kOwn, "f.store_root().compute_at(out, y).async()\n");
}

TEST_CASE("ring_buffer: with and without async") {
  for (const char *ring : {".ring_buffer(1)", ".ring_buffer(2)", ".ring_buffer(3)"}) {
    for (const char *async : {"", ".async()"}) {
      const std::string tail = std::string(ring) + async + "\n";
      same(blur_text(), "bx.compute_at(out, y).hoist_storage_root()" + tail);
      same(blur_text(),
           "out.tile(x, y, xo, yo, xi, yi, 8, 4)\nbx.compute_at(out, xo)"
           ".hoist_storage_root()" +
               tail);
      same(blur_text(),
           "out.tile(x, y, xo, yo, xi, yi, 8, 4).parallel(yo)\n"
           "bx.compute_at(out, xo).hoist_storage(out, yo).reorder_storage(y, x)" +
               tail);
      same(blur_text(),
           "out.tile(x, y, xo, yo, xi, yi, 8, 4)\nbx.store_at(out, xo)"
           ".compute_at(out, yi).hoist_storage_root()" +
               tail);
    }
  }
}

TEST_CASE("async: inside a parallel loop") {
  same(blur_text(),
       "out.split(y, yo, yi, 4).parallel(yo)\n"
       "bx.store_at(out, yo).compute_at(out, yi).async()\n");
  same(blur_text(),
       "out.split(y, yo, yi, 4).parallel(yo)\n"
       "bx.compute_at(out, yo).async().parallel(y)\n");
}

TEST_CASE("async: nested, side by side, and in each other") {
  same(kChain,
       "a.store_root().compute_at(out, y).async()\nb.store_root().compute_at(out, y).async()\n");
  same(kChain, "a.store_root().compute_at(b, y).async()\nb.compute_root().async().parallel(x)\n");
  same(kChain,
       "a.store_root().compute_at(b, y).async()\nb.store_root().compute_at(out, y).async()\n");
  same(kChain, "a.compute_at(b, y).async()\nb.store_root().compute_at(out, y).async()\n");
  same(kChain, "a.compute_at(out, y)\nb.store_root().compute_at(out, y).async()\n");
  same(kChain,
       "out.split(y, yo, yi, 4).parallel(yo)\na.compute_at(out, yo).async()\n"
       "b.store_at(out, yo).compute_at(out, yi).async()\n");
}

TEST_CASE("async: two sides, the ring with room for both") {
  const std::string text = lowered(blur_text(), "bx.store_root().compute_at(out, y).async()\n");
  CAPTURE(text);
  CHECK(text.find("concurrent") != std::string::npos);
  CHECK(text.find("calo_async_wait") != std::string::npos);
  CHECK(LoweredCase(blur_text(), "bx.store_root().compute_at(out, y).async()\n").folds("bx") ==
        "folds y to 4, for two threads");
}

TEST_CASE("async: refused with the reason") {
  const auto refused = [](const std::string &lines, const char *code, const std::string &why) {
    CAPTURE(lines);
    CHECK_DIAG(LoweredCase(kChain, lines), code, why);
  };
  refused("out.async()\n", "S0108", "output");
  refused("b.async()\n", "S0108", "");
  CHECK_DIAG(LoweredCase(kOwn, "f.compute_root().async().memoize()\n"), "S0137", "memoized");
  refused("b.compute_root().ring_buffer(0)\n", "S0110", "at least 1");
  refused("b.compute_root().ring_buffer(2)\n", "S0139", "not hoisted");
  const char *both =
      "program both {\n"
      "  func a(x, y): i32 {\n"
      "    a(x, y) = x + y\n"
      "  }\n"
      "  func b(x, y): i32 {\n"
      "    b(x, y) = a(x, y) * 2\n"
      "  }\n"
      "  func out(x, y): i32 {\n"
      "    out(x, y) = b(x, y) + a(x, y)\n"
      "  }\n"
      "  output out\n"
      "}\n";
  const std::string beside = "a.compute_at(out, y)\nb.store_root().compute_at(out, y).async()\n";
  CHECK_DIAG(LoweredCase(both, beside), "S0137", "reads a");
}

namespace {
std::atomic<int> g_left{0};  // allocations that still succeed
void *some_memory(JITUserContext *, size_t bytes) {
  return g_left-- > 0 ? std::malloc(bytes) : nullptr;
}
void give_back(JITUserContext *, void *p) { std::free(p); }
}  // namespace

TEST_CASE("async: an error on either side stops the other and is reported once") {
  Var x("x"), y("y");
  for (bool in_producer : {true, false}) {
    Param<int> bad("bad", 1000);
    Func f("f"), g("g");
    const Expr checked_f = require(y != bad || !in_producer, x * y, "row", y);
    f(x, y) = in_producer ? checked_f : x * y;
    g(x, y) =
        in_producer ? f(x, y) + f(x, y + 1) : require(y != bad, f(x, y) + f(x, y + 1), "row", y);
    f.store_root().compute_at(g, y).async();
    for (int threads : {1, 2, 8}) {
      const Threads n(threads);
      for (int i = 0; i < kRepeats; i++) {
        bad.set(i);
        CHECK_DIAG(g.realize({16, 32}), "R0105", "row");
        bad.set(1000);
        const Buffer<int> b = g.realize({16, 32});
        CHECK(b(3, 4) == 3 * 4 + 3 * 5);
      }
    }
  }
}

TEST_CASE("async: a failed allocation on either side is reported once, and nothing leaks") {
  Var x("x"), y("y"), yo("yo"), yi("yi");
  Func f("f"), h("h"), g("g");
  h(x, y) = x + y;
  f(x, y) = h(x, y) + h(x + 1, y);
  g(x, y) = f(x, y) + f(x, y + 1);
  h.compute_at(f, y).store_in(MemoryType::Heap);
  f.store_root().compute_at(g, y).async();
  Pipeline p(g);
  p.jit_handlers().custom_malloc = some_memory;
  p.jit_handlers().custom_free = give_back;
  Buffer<int> out(16, 32);
  for (int threads : {1, 2, 8}) {
    const Threads n(threads);
    for (int left = 0; left < kRepeats; left++) {
      g_left = left;
      CHECK_DIAG(p.realize(out), "R0104", "");
    }
    g_left = 1 << 20;
    p.realize(out);
    CHECK(out(2, 3) == 2 * (2 * 2 + 2 * 3 + 1) + 2);
  }
}
