// Regions smaller than a schedule's blocks: whole vectors and a masked rest, with the interpreter's bits, and without
// touching a byte beyond the buffers.
#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "../unit/lower/programs.h"
#include "compat/Halide.h"

using namespace calotype;
using namespace calotype::test;

namespace {

/// `bytes` bytes that end at a page nobody may touch, and begin behind another one, as near as their size allows.
class Fenced {
public:
  Fenced(size_t bytes, bool at_end) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    pages_ = (bytes + page - 1) / page;
    size_ = (pages_ + 2) * page;
    base_ =
        static_cast<uint8_t *>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(base_ != MAP_FAILED);
    REQUIRE(mprotect(base_ + page, pages_ * page, PROT_READ | PROT_WRITE) == 0);
    data_ = at_end ? base_ + page + pages_ * page - bytes : base_ + page;
  }
  ~Fenced() { munmap(base_, size_); }
  void *data() const { return data_; }

private:
  size_t pages_ = 0, size_ = 0;
  uint8_t *base_ = nullptr, *data_ = nullptr;
};

template <typename T> void fenced_everywhere(const char *lines) {
  Var x("x"), y("y");
  ImageParam in(type_of<T>(), 2, "in");
  Func sum("sum"), out("out");
  sum(x, y) = in(x, y) + cast<T>(in(x, y) / cast<T>(max(x, 1)));
  out(x, y) = sum(x, y) + in(x, y);
  Pipeline p(out);
  p.load_schedule_text(lines);
  for (int w = 1; w <= 40; w++) {
    for (int h : {1, 3, 9}) {
      for (bool at_end : {false, true}) {
        const size_t bytes = sizeof(T) * static_cast<size_t>(w * h);
        Fenced source(bytes, at_end), result(bytes, at_end);
        Buffer<T> from(static_cast<T *>(source.data()), w, h),
            to(static_cast<T *>(result.data()), w, h);
        from.for_each_element([&](int i, int j) { from(i, j) = static_cast<T>(7 * i + 3 * j); });
        in.set(from);
        p.realize(to);
        int wrong = 0;
        to.for_each_element([&](int i, int j) {
          const T v = from(i, j), by = static_cast<T>(std::max(i, 1));
          const T s = static_cast<T>(v + static_cast<T>(v / by));
          wrong += to(i, j) != static_cast<T>(s + v);
        });
        CAPTURE(w);
        CAPTURE(h);
        CHECK(wrong == 0);
      }
    }
  }
}

const char *const kBlocks =
    "calotype 1\n"
    "out.tile(x, y, xo, yo, xi, yi, 32, 4).vectorize(xi, 8).unroll(yi)\n"
    "sum.compute_at(out, xo).vectorize(x, 16)\n";

int count(const std::string &text, const std::string &what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) n++;
  return n;
}
}  // namespace

TEST_CASE("small regions: nothing outside of the buffers is touched, whatever the type") {
  fenced_everywhere<uint8_t>(kBlocks);
  fenced_everywhere<uint16_t>(kBlocks);
  fenced_everywhere<int32_t>(kBlocks);
  fenced_everywhere<float>(kBlocks);
  fenced_everywhere<double>(kBlocks);
}

TEST_CASE("small regions: every width and every tail, with divisions and gathers in masked lanes") {
  for (const char *type : {"u8", "u16", "i32", "f32"}) {
    const std::string t = type;
    const std::string program =
        "program p {\n  param in0: " + t + "[2]\n  func f(x, y): " + t +
        " {\n    f(x, y) = @in0(x, y) / @in0(x + 1, y)\n  }\n  func out(x, y): " + t +
        " {\n    out(x, y) = f(x, y) + f(max(min(x * 2, 5), 0), y)\n  }\n  output out\n}\n";
    for (const char *lines :
         {"out.vectorize(x, 16)\n", "out.vectorize(x, 16)\nf.compute_root().vectorize(x, 8)\n",
          "out.split(x, xo, xi, 32).vectorize(xi, 8)\nf.compute_at(out, xo).vectorize(x, 16)\n",
          "out.tile(x, y, xo, yo, xi, yi, 16, 4).fuse(xo, yo, t).parallel(t).vectorize(xi)\n",
          "out.tile(x, y, xo, yo, xi, yi, 16, 4).vectorize(xi).unroll(yi)\n",
          "out.vectorize(y, 4)\nf.compute_root().reorder(y, x).vectorize(y, 8)\n"}) {
      INFO(t << " " << lines);
      CHECK(first_difference(program, lines, 37, 3) == "");
      CHECK(first_difference(program, lines, 37, 6, -5) == "");
    }
  }
}

TEST_CASE("small regions: no vector loop runs one by one where the machine masks its lanes") {
  const auto serial_rests = [](const std::string &type) {
    const std::string program = "program p {\n  func out(x, y): " + type +
                                " {\n    out(x, y) = " + type + "(x * y)\n  }\n  output out\n}\n";
    return count(
        ir::to_string(
            LoweredCase(program, "out.split(x, xo, xi, 32).vectorize(xi, 8)\n").lowered.body),
        "for out.s0.xi.v in");
  };
  const Target t = get_host_target();
  CHECK(serial_rests("i32") == (t.has_masked_moves(4) ? 0 : 1));
  CHECK(serial_rests("u8") == (t.has_masked_moves(1) ? 0 : 1));
}
