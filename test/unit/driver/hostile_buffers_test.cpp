// Buffers that are wrong, by JIT and ahead of time: each is refused with its code before the first store. The output's
// pages are read-only and have inaccessible pages on both sides, so a store, or a read beyond the end, is a crash.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>

#include "base/diagnostic.h"
#include "calotype.h"
#include "driver/compiled.h"
#include "driver/program.h"
#include "runtime/runtime.h"
#include "support/shell.h"
#include "support/skip.h"

using namespace calotype;

namespace {

constexpr int kW = 20, kH = 10;
constexpr size_t kPage = 4096;

/// One page between two that nobody may touch; the data ends where the page ends.
class GuardedPage {
public:
  explicit GuardedPage(size_t bytes) {
    void *all = mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(all != MAP_FAILED);
    page_ = static_cast<uint8_t *>(all) + kPage;
    allow(true);
    std::memset(page_, 7, kPage);
    data = page_ + kPage - bytes;
  }
  ~GuardedPage() { munmap(page_ - kPage, 3 * kPage); }
  void allow(bool writing) { mprotect(page_, kPage, writing ? PROT_READ | PROT_WRITE : PROT_READ); }
  uint8_t *data;

private:
  uint8_t *page_;
};

/// What a call gets: a mistake changes something of it.
struct Call {
  halide_dimension_t in_dims[4] = {{0, kW, 1}, {0, kH, kW}},
                     out_dims[4] = {{0, kW, 1}, {0, kH, kW}};
  halide_buffer_t in{}, out{};
  float gain = 0.5f;
  bool no_in = false, no_out = false;
};

struct Mistake {
  const char *name;
  int code;
  std::function<void(Call &)> make;
};

constexpr int kMin = INT32_MIN, kMax = INT32_MAX;

// f(x, y) = input(x, y) + input(x + 1, y) [edge repeated in x] as uint16, gain in [0, 1].
std::vector<Mistake> mistakes() {
  const int null = halide_error_code_buffer_argument_is_null, type = halide_error_code_bad_type,
            rank = halide_error_code_bad_dimensions,
            negative = halide_error_code_buffer_extents_negative,
            large = halide_error_code_buffer_extents_too_large,
            constraint = halide_error_code_constraint_violated,
            outside = halide_error_code_access_out_of_bounds, host = halide_error_code_host_is_null,
            unaligned = halide_error_code_unaligned_host_ptr,
            device = halide_error_code_device_dirty_with_no_device_support,
            overlap = calo_error_code_buffers_overlap;
  auto typed = [](bool in, halide_type_code_t code, int bits, int lanes = 1) {
    return [=](Call &c) {
      (in ? c.in : c.out).type =
          halide_type_t(code, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes));
    };
  };
  auto dim = [](bool in, int d, int min, int extent, int stride) {
    return [=](Call &c) { (in ? c.in_dims : c.out_dims)[d] = {min, extent, stride}; };
  };
  auto device_of = [](bool in, uint64_t handle, uint64_t flags) {
    return [=](Call &c) {
      (in ? c.in : c.out).device = handle;
      (in ? c.in : c.out).flags = flags;
    };
  };
  auto moved = [](bool in, int bytes) {
    return [=](Call &c) { (in ? c.in : c.out).host += bytes; };
  };
  return {
      {"input null", null, [](Call &c) { c.no_in = true; }},
      {"output null", null, [](Call &c) { c.no_out = true; }},
      {"both null", null, [](Call &c) { c.no_in = c.no_out = true; }},
      {"input uint8", type, typed(true, halide_type_uint, 8)},
      {"input int16", type, typed(true, halide_type_int, 16)},
      {"input float16", type, typed(true, halide_type_float, 16)},
      {"input bfloat16", type, typed(true, halide_type_bfloat, 16)},
      {"input uint32", type, typed(true, halide_type_uint, 32)},
      {"input handle", type, typed(true, halide_type_handle, 64)},
      {"input of 2 lanes", type, typed(true, halide_type_uint, 16, 2)},
      {"input of no lanes", type, typed(true, halide_type_uint, 16, 0)},
      {"input of unknown code", type, typed(true, static_cast<halide_type_code_t>(99), 16)},
      {"input of no bits", type, typed(true, halide_type_uint, 0)},
      {"output uint8", type, typed(false, halide_type_uint, 8)},
      {"output float", type, typed(false, halide_type_float, 32)},
      {"output of 16 lanes", type, typed(false, halide_type_uint, 16, 16)},
      {"output of type 0", type, typed(false, halide_type_int, 0, 0)},
      {"input of rank 0", rank, [](Call &c) { c.in.dimensions = 0; }},
      {"input of rank 1", rank, [](Call &c) { c.in.dimensions = 1; }},
      {"input of rank 3", rank, [](Call &c) { c.in.dimensions = 3; }},
      {"input of rank -1", rank, [](Call &c) { c.in.dimensions = -1; }},
      {"input of a huge rank", rank, [](Call &c) { c.in.dimensions = kMax; }},
      {"output of rank 1", rank, [](Call &c) { c.out.dimensions = 1; }},
      {"output of the least rank", rank, [](Call &c) { c.out.dimensions = kMin; }},
      {"input without dim", rank, [](Call &c) { c.in.dim = nullptr; }},
      {"output without dim", rank, [](Call &c) { c.out.dim = nullptr; }},
      {"a query without dim", rank,
       [](Call &c) {
         c.in.dim = nullptr;
         c.in.host = nullptr;
       }},
      {"input extent -1", negative, dim(true, 0, 0, -1, 1)},
      {"input extent least", negative, dim(true, 1, 0, kMin, kW)},
      {"output extent -1", negative, dim(false, 1, 0, -1, kW)},
      {"output extent least", negative, dim(false, 0, 0, kMin, 1)},
      {"input extent and stride most", large, dim(true, 1, 0, kMax, kMax)},
      {"input stride least", large, dim(true, 1, 0, kMax, kMin)},
      {"output stride most", large, dim(false, 1, 0, kMax, kMax)},
      {"output stride least", large, dim(false, 1, 0, kMax, kMin)},
      {"input min least", constraint, dim(true, 0, kMin, kW, 1)},
      {"input min least in y", constraint, dim(true, 1, kMin, kH, kW)},
      {"input end beyond the most", constraint, dim(true, 0, kMax - 3, kW, 1)},
      {"input end wraps", constraint, dim(true, 1, kMax, kMax, 0)},
      {"output min least", constraint, dim(false, 1, kMin, kH, kW)},
      {"output min least plus one", constraint, dim(false, 0, kMin + 1, kW, 1)},
      {"output end beyond the most", constraint, dim(false, 1, kMax - kH, kH, kW)},
      {"input stride 2 in x", constraint, dim(true, 0, 0, kW, 2)},
      {"input stride 0 in x", constraint, dim(true, 0, 0, kW, 0)},
      {"input stride -1 in x", constraint, dim(true, 0, 0, kW, -1)},
      {"output stride 3 in x", constraint, dim(false, 0, 0, kW, 3)},
      {"output stride least in x", constraint, dim(false, 0, 0, kW, kMin)},
      {"input starts late in y", outside, dim(true, 1, 1, kH, kW)},
      {"input ends early in y", outside, dim(true, 1, 0, kH - 1, kW)},
      {"input elsewhere in y", outside, dim(true, 1, 1000, kH, kW)},
      {"input has no rows", outside, dim(true, 1, 0, 0, kW)},
      {"output begins before the input", outside, dim(false, 1, -3, kH, kW)},
      {"input host null, device given", host,
       [](Call &c) {
         c.in.host = nullptr;
         c.in.device = 5;
       }},
      {"output host null, device given", host,
       [](Call &c) {
         c.out.host = nullptr;
         c.out.device = ~uint64_t(0);
       }},
      {"input misaligned", unaligned, moved(true, 1)},
      {"output misaligned", unaligned, moved(false, -1)},
      {"both misaligned", unaligned,
       [](Call &c) {
         c.in.host++;
         c.out.host--;
       }},
      {"input device dirty", device, device_of(true, 0, halide_buffer_flag_device_dirty)},
      {"input dirty on both sides", device, device_of(true, 3, 3)},
      {"output device dirty", device, device_of(false, 9, halide_buffer_flag_device_dirty)},
      {"all flags", device, device_of(true, 0, ~uint64_t(0))},
      {"the same memory shifted", overlap, [](Call &c) { c.out.host = c.in.host + 2; }},
      {"the same memory a row apart", overlap, [](Call &c) { c.in.host = c.out.host - 2 * kW; }},
      {"input around the output", overlap,
       [](Call &c) {
         c.in.host = c.out.host - 20;
         c.in_dims[1] = {0, kH, kW + 2};
       }},
      {"the same memory backwards", overlap,
       [](Call &c) {
         c.in.host = c.out.host + 2 * kW * (kH - 1);
         c.in_dims[1] = {0, kH, -kW};
       }},
      {"every output row at one address", overlap, dim(false, 1, 0, kH, 0)},
      {"output rows one apart", overlap, dim(false, 1, 0, kH, 1)},
      {"output rows one apart, backwards", overlap, dim(false, 1, 0, kH, -1)},
      {"output rows too near by one", overlap, dim(false, 1, 0, kH, kW - 1)},
      {"query: output as large as can be written", constraint,
       [=](Call &c) {
         c.in.host = nullptr;
         c.out_dims[0].extent = c.out_dims[1].extent = kMax;
       }},
      {"query: the same without memory", constraint,
       [=](Call &c) {
         c.in.host = c.out.host = nullptr;
         c.out_dims[0].extent = c.out_dims[1].extent = kMax;
       }},
      {"query: output extent -3", negative,
       [](Call &c) {
         c.in.host = nullptr;
         c.out_dims[1].extent = -3;
       }},
      {"query: output extent least", negative,
       [=](Call &c) {
         c.out.host = nullptr;
         c.out_dims[0].extent = kMin;
       }},
      {"query: output min most", constraint,
       [=](Call &c) {
         c.in.host = nullptr;
         c.out_dims[0].min = kMax - 2;
       }},
      {"query: output min least", constraint,
       [=](Call &c) {
         c.in.host = c.out.host = nullptr;
         c.out_dims[1].min = kMin;
       }},
      {"gain below its range", halide_error_code_param_too_small, [](Call &c) { c.gain = -0.1f; }},
      {"gain above its range", halide_error_code_param_too_large, [](Call &c) { c.gain = 1e30f; }},
      {"gain not a number", halide_error_code_param_too_small,
       [](Call &c) { c.gain = std::nanf(""); }},
  };
}

struct Pipelines {
  ImageParam input{UInt(16), 2, "input"};
  Param<float> gain{"gain", 0.5f, 0.0f, 1.0f};
  Func f{"f"};
  Pipelines() {
    Var x("x"), y("y");
    const Expr right = input(clamp(x + 1, input.dim(0).min(), input.dim(0).max()), y);
    const Expr here = input(clamp(x, input.dim(0).min(), input.dim(0).max()), y);
    f(x, y) = cast<uint16_t>(cast<float>(here + right) * gain);
    f.vectorize(x, 8);
  }
};

using Function = std::function<int(const Call &)>;

void check_all(const char *how, const Function &run) {
  GuardedPage out(2 * kW * kH), in(2 * kW * kH);
  auto sound = [&] {
    auto c = std::make_unique<Call>();
    for (auto *b : {&c->in, &c->out}) {
      b->dimensions = 2;
      b->type = halide_type_of<uint16_t>();
    }
    c->in.host = in.data;
    c->out.host = out.data;
    c->in.dim = c->in_dims;
    c->out.dim = c->out_dims;
    return c;
  };
  CHECK(mistakes().size() >= 60);
  for (const Mistake &m : mistakes()) {
    CAPTURE(how);
    CAPTURE(m.name);
    const auto c = sound();
    m.make(*c);
    out.allow(false);
    in.allow(false);
    const int code = run(*c);
    out.allow(true);
    in.allow(true);
    CHECK(code == m.code);
  }
  CHECK(run(*sound()) == 0);
  CHECK(out.data[0] == 7);  // half of the sum of two equal values
}

}  // namespace

TEST_CASE("hostile buffers: refused by the JIT before the first store") {
  Pipelines p;
  const Pipeline pipeline({p.f}, {p.input, p.gain}, "f");
  const Target t = get_host_target();
  ir::Program program = driver::program_of(pipeline, t);
  const schedule::Schedule s = driver::schedule_of(pipeline, program);
  const driver::Compiled compiled(program, s, t);
  check_all("JIT", [&](const Call &c) {
    runtime::JitContext cx;
    cx.handlers.error = [](void *, const char *) {};  // keeps run() from throwing
    compiled.run({c.no_in ? nullptr : &c.in, &c.gain, c.no_out ? nullptr : &c.out}, &cx);
    return cx.error().code;
  });
}

TEST_CASE("hostile buffers: refused by objects and C source before the first store") {
  Pipelines p;
  p.f.compile_to_object(test::temporary("hostile.o"), {p.input, p.gain}, "hostile");
  p.f.compile_to_c(test::temporary("hostile.c"), {p.input, p.gain}, "hostile");
  for (const char *file : {"hostile.o", "hostile.c"}) {
    const test::SharedObject lib(test::temporary(file));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    lib.find<void *(halide_error_handler_t)>("halide_set_error_handler")(
        [](void *, const char *) {});
    auto *f = lib.find<int(const halide_buffer_t *, float, const halide_buffer_t *)>("hostile");
    check_all(file, [&](const Call &c) {
      return f(c.no_in ? nullptr : &c.in, c.gain, c.no_out ? nullptr : &c.out);
    });
  }
}

// ---- large buffers --------------------------------------------------------------------------------------------------

namespace {

/// Address space without memory: only the pages that are touched exist.
class Sparse {
public:
  Sparse() {
    memory_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    dims_[0] = {0, 40, 1};
    dims_[1] = {0, 60, 1 << 28};  // 60 * 2^28 elements: far beyond 2^31
    raw.dimensions = 2;
    raw.dim = dims_;
    raw.type = halide_type_of<uint8_t>();
    raw.host = static_cast<uint8_t *>(memory_);
  }
  ~Sparse() { munmap(memory_, kBytes); }
  bool usable() const { return memory_ != MAP_FAILED; }
  uint8_t &at(int x, int y) { return raw.host[x + (static_cast<int64_t>(y) << 28)]; }
  halide_buffer_t raw{};

private:
  static constexpr size_t kBytes = size_t(16) << 30;
  void *memory_;
  halide_dimension_t dims_[2];
};

}  // namespace

TEST_CASE("large buffers: elements beyond 2^31 are read and written where they lie") {
  Sparse in, out;
  if (!in.usable() || !out.usable()) CALO_SKIP("no 32 GB of address space");
  for (int y = 0; y < 60; y++) {
    for (int x = 0; x < 40; x++) in.at(x, y) = static_cast<uint8_t>(x * 3 + y * 5);
  }
  for (int schedule = 0; schedule < 6; schedule++) {
    CAPTURE(schedule);
    ImageParam input(UInt(8), 2, "input");
    Func g("g"), f("f");
    Var x("x"), y("y"), yo("yo"), yi("yi");
    g(x, y) = input(x, y) + cast<uint8_t>(1);
    // a gather whose row depends on data, and rows counted backwards
    f(x, y) = g(x, y) + input(x, cast<int>(input(x, y)) % 60) + input(39 - x, 59 - y);
    switch (schedule) {
      case 1: f.vectorize(x, 8); break;
      case 2: f.vectorize(y, 4); break;
      case 3: f.parallel(y).vectorize(x, 8); break;
      case 4:
        f.split(y, yo, yi, 8).parallel(yo).vectorize(x, 4);
        g.compute_at(f, yo);
        break;
      case 5:
        f.reorder(y, x).unroll(y, 3);
        g.compute_root().parallel(y);
        break;
      default: break;
    }
    auto expected = [&](int i, int j) {
      return static_cast<uint8_t>(in.at(i, j) + 1 + in.at(i, in.at(i, j) % 60) +
                                  in.at(39 - i, 59 - j));
    };
    auto check = [&](const char *how) {
      int different = 0;
      for (int j = 0; j < 60; j++) {
        for (int i = 0; i < 40; i++) {
          different += out.at(i, j) != expected(i, j);
          out.at(i, j) = 0;
        }
      }
      CHECK_MESSAGE(different == 0, how);
    };
    input.set(Buffer<uint8_t>(in.raw));
    f.realize(&out.raw);
    check("JIT");
    if (schedule > 3) continue;
    f.compile_to_c(test::temporary("large.c"), {input}, "large");
    const test::SharedObject lib(test::temporary("large.c"));
    REQUIRE_MESSAGE(lib.failure.empty(), lib.failure);
    CHECK(lib.find<int(halide_buffer_t *, halide_buffer_t *)>("large")(&in.raw, &out.raw) == 0);
    check("C");
  }
}
