// Inputs that trip other compilers: tiny, empty, interleaved, cropped, huge, strange numbers; files of every
// depth and damage. Each gives the right result or a clear error, by JIT and through the command.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "calotype.h"
#include "io/image.h"
#include "support/check_diag.h"
#include "support/skip.h"

using namespace calotype;
namespace fs = std::filesystem;

namespace {

// ---- by JIT -------------------------------------------------------------------------------------

/// A 3x3 box sum with plain vectorize, as people write it.
struct Box {
  ImageParam in{UInt(8), 2, "in"};
  Func edge, rows{"rows"}, out{"out"};
  Var x{"x"}, y{"y"};
  explicit Box(TailStrategy inner = TailStrategy::Auto) {
    edge = BoundaryConditions::repeat_edge(in);
    rows(x, y) = cast<int>(edge(x - 1, y)) + edge(x, y) + edge(x + 1, y);
    out(x, y) = rows(x, y - 1) + rows(x, y) + rows(x, y + 1);
    out.vectorize(x, 16);
    rows.compute_root().vectorize(x, 16, inner);
  }
};

int at(const Buffer<uint8_t> &b, int x, int y) {
  x = std::min(std::max(x, b.dim(0).min()), b.dim(0).max());
  y = std::min(std::max(y, b.dim(1).min()), b.dim(1).max());
  return b(x, y);
}

void check_box(const Buffer<uint8_t> &in, const Buffer<int> &out) {
  int wrong = 0;
  for (int y = out.dim(1).min(); y <= out.dim(1).max(); y++) {
    for (int x = out.dim(0).min(); x <= out.dim(0).max(); x++) {
      int sum = 0;
      for (int j = -1; j <= 1; j++) {
        for (int i = -1; i <= 1; i++) sum += at(in, x + i, y + j);
      }
      wrong += out(x, y) != sum;
    }
  }
  CHECK(wrong == 0);
}

Buffer<uint8_t> noise(int w, int h) {
  Buffer<uint8_t> b(w, h);
  for (int y = 0; y < h; y++) {
    for (int x = 0; x < w; x++) b(x, y) = static_cast<uint8_t>(37 * x + 101 * y + x * y);
  }
  return b;
}

}  // namespace

TEST_CASE("awkward: any size under plain vectorize, in our buffers and in the caller's") {
  for (const TailStrategy tail : {TailStrategy::Auto, TailStrategy::RoundUp}) {
    Box box(tail);
    for (const auto &[w, h] :
         {std::pair<int, int>{1, 1}, {1, 9}, {7, 1}, {13, 3}, {16, 1}, {33, 5}}) {
      CAPTURE(w);
      const Buffer<uint8_t> in = noise(w, h);
      box.in.set(in);
      const Buffer<int> made = box.out.realize({w, h});
      check_box(in, made);
      Buffer<int> own(w, h);
      box.out.realize(own);
      check_box(in, own);
    }
  }
}

TEST_CASE("awkward: negative mins, crops and outputs larger than the input") {
  Box box;
  Buffer<uint8_t> in = noise(40, 30);
  in.set_min(-20, -7);
  box.in.set(in);
  Buffer<int> out(60, 41);
  out.set_min(-31, -11);
  box.out.realize(out);
  check_box(in, out);
  const Buffer<uint8_t> crop = in.cropped(0, -3, 5).cropped(1, 2, 4);
  box.in.set(crop);
  Buffer<int> part(9, 3);
  part.set_min(-6, 4);
  box.out.realize(part);
  check_box(crop, part);
}

TEST_CASE("awkward: reading past a crop names the Func that reads, the range and the remedy") {
  ImageParam in(UInt(8), 1, "photo");
  Func shifted("shifted");
  Var x("x");
  shifted(x) = in(x + 2);
  const Buffer<uint8_t> whole(10), crop = Buffer<uint8_t>(10).cropped(0, 2, 5);
  in.set(crop);
  CHECK_DIAG(shifted.realize({8}), "R0102", "photo");
  try {
    shifted.realize({8});
  } catch (const Error &e) {
    const std::string text = e.what();
    CHECK_MESSAGE(text.find("shifted") != std::string::npos, text);
    CHECK_MESSAGE(text.find("awkward_test.cpp:") != std::string::npos, text);
  }
  Buffer<uint8_t> fits(5);
  shifted.realize(fits);
}

TEST_CASE("awkward: interleaved pictures, declared and not") {
  Var x("x"), y("y"), c("c");
  for (const bool declared : {false, true}) {
    ImageParam in(UInt(8), 3, "in");
    Func out("out");
    out(x, y, c) = in(x, y, c) / 2 + cast<uint8_t>(c);
    if (declared) {
      in.dim(0).set_stride(3);
      in.dim(2).set_stride(1).set_bounds(0, 3);
      out.output_buffer().dim(0).set_stride(3);
      out.output_buffer().dim(2).set_stride(1).set_bounds(0, 3);
    }
    out.vectorize(x, 8);
    auto photo = Buffer<uint8_t>::make_interleaved(19, 5, 3),
         result = Buffer<uint8_t>::make_interleaved(19, 5, 3);
    photo.for_each_element([&](int i, int j, int k) {
      photo(i, j, k) = static_cast<uint8_t>(i * 11 + j * 7 + k * 50);
    });
    in.set(photo);
    if (!declared) {  // planar is what everything assumes
      CHECK_DIAG(out.realize(result), "R0103", "in.stride.0 is 3, expected 1");
      continue;
    }
    out.realize(result);
    int wrong = 0;
    result.for_each_element([&](int i, int j, int k) {
      wrong += result(i, j, k) != static_cast<uint8_t>(i * 11 + j * 7 + k * 50) / 2 + k;
    });
    CHECK(wrong == 0);
    Buffer<uint8_t> planar(19, 5, 3);
    in.set(planar);
    CHECK_DIAG(out.realize(result), "R0103", "stride");
  }
}

TEST_CASE("awkward: nothing to compute, nothing to read, no points to reduce over") {
  Box box;
  box.in.set(noise(4, 4));
  Buffer<int> none(0, 5);
  box.out.realize(none);
  Buffer<uint8_t> empty(0, 0);
  box.in.set(empty);
  box.out.realize(none);
  Buffer<int> one(1, 1);
  CHECK_DIAG(box.out.realize(one), "R0101", "in has no memory");  // no nearest pixel to repeat
  uint8_t somewhere[64] = {};
  Buffer<uint8_t> no_pixels(somewhere, 0, 0);
  box.in.set(no_pixels);
  CHECK_DIAG(box.out.realize(one), "R0102", "in");

  Param<int> n("n");
  RDom r(0, n, "r");
  Func total("total"), most("most");
  Var x("x");
  total(x) = sum(r + x);
  most(x) = maximum(cast<float>(r + x));
  for (const int extent : {0, -3}) {
    n.set(extent);
    const Buffer<int> t = total.realize({2});
    const Buffer<float> m = most.realize({2});
    CHECK(t(1) == 0);
    CHECK(m(1) == -std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("awkward: a Bayer mosaic of even size works, of odd size is named") {
  ImageParam raw(UInt(16), 2, "raw");
  Func rgb("rgb");
  Var x("x"), y("y"), c("c");
  rgb(x, y, c) = mux(c, {raw(2 * x, 2 * y), (raw(2 * x + 1, 2 * y) + raw(2 * x, 2 * y + 1)) / 2,
                         raw(2 * x + 1, 2 * y + 1)});
  rgb.vectorize(x, 8);
  Buffer<uint16_t> mosaic(14, 6);
  mosaic.for_each_element([&](int i, int j) { mosaic(i, j) = static_cast<uint16_t>(i + 20 * j); });
  raw.set(mosaic);
  const Buffer<uint16_t> out = rgb.realize({7, 3, 3});
  CHECK(out(6, 2, 0) == 12 + 80);
  CHECK(out(6, 2, 1) == (13 + 80 + 12 + 100) / 2);
  CHECK(out(6, 2, 2) == 13 + 100);
  raw.set(Buffer<uint16_t>(13, 6));
  CHECK_DIAG(rgb.realize({7, 3, 3}), "R0102", "raw");
}

TEST_CASE("awkward: numbers that are none keep to the rules") {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  Buffer<float> in(6);
  const float given[] = {nan, inf, -inf, 300.f, 1e10f, -0.f};
  for (int i = 0; i < 6; i++) in(i) = given[i];
  Func f("f");
  Var x("x");
  Expr e = in(x);
  f(x) = Tuple(clamp(e, 0.f, 1.f), cast<uint8_t>(e), cast<uint8_t>(clamp(e, 0.f, 255.f)),
               saturating_cast<int>(e), cast<int>(e == e));
  f.vectorize(x, 4);
  const Realization r = f.realize({6});
  const Buffer<float> unit = r[0];
  const Buffer<uint8_t> byte = r[1], level = r[2];
  const Buffer<int> whole = r[3], equal = r[4];
  CHECK(std::isnan(unit(0)));
  CHECK(unit(1) == 1);
  CHECK(unit(2) == 0);
  const int bytes[] = {0, 255, 0, 255, 255, 0};
  for (int i = 0; i < 6; i++) {
    CHECK(byte(i) == bytes[i]);
    CHECK(level(i) == bytes[i]);
    CHECK(equal(i) == (i > 0));
  }
  CHECK(whole(0) == 0);
  CHECK(whole(1) == INT32_MAX);
  CHECK(whole(2) == INT32_MIN);

  Func nested("nested");  // only the outer one replaces the NaN
  const Expr zero = 0.f;
  nested(x) = Tuple(max(max(zero, e), zero), min(min(zero, e), zero), max(zero, max(e, zero)));
  nested.vectorize(x, 4);
  const Realization ends = nested.realize({4});
  for (int k = 0; k < 3; k++) {
    const Buffer<float> end = ends[static_cast<size_t>(k)];
    CHECK(end(0) == 0);
    CHECK(end(3) == (k == 1 ? 0 : 300));
  }

  Param<int> n("n");
  Func over("over");
  over(x) = cast<int>(cast<uint32_t>(n) + 1u > cast<uint32_t>(n));  // wraps, so not always true
  n.set(-1);
  const Buffer<int> o = over.realize({1});
  CHECK(o(0) == 0);
}

TEST_CASE("awkward: wrong types, shapes and overlap are refused by name") {
  ImageParam in(UInt(8), 1, "in");
  CHECK_DIAG(in.set(Buffer<uint16_t>(4)), "L0403", "in");
  CHECK_DIAG(in.set(Buffer<uint8_t>(4, 4)), "L0403", "in");
  Func next("next");
  Var x("x");
  next(x) = in(x + 1);
  Buffer<uint8_t> same(8);
  in.set(same);
  const Buffer<uint8_t> part = same.cropped(0, 0, 7);
  CHECK_DIAG(next.realize(part), "R0101", "");  // writes what it still has to read
}

// ---- through the command ------------------------------------------------------------------------

namespace {

const std::string kCalo = CALO_SDK_DIR "/bin/calo";

class Bench {
public:
  Bench() {
    char name[] = "/tmp/calo_awkward.XXXXXX";
    folder_ = mkdtemp(name);
    std::ofstream(file("g.cpp")) << R"(#include "Halide.h"
using namespace Halide;
template <typename T> struct Soft : Generator<Soft<T>> {
  typename Generator<Soft<T>>::template Input<Buffer<T, 3>> input{"input"};
  typename Generator<Soft<T>>::template Output<Buffer<T, 3>> output{"output"};
  void generate() {
    Var x("x"), y("y"), c("c");
    Func edge = BoundaryConditions::repeat_edge(input);
    output(x, y, c) = max(edge(x, y, c), edge(x + 1, y, c));
    output.vectorize(x, 16);
  }
};
using Soft8 = Soft<uint8_t>;
using Soft16 = Soft<uint16_t>;
using SoftF = Soft<float>;
struct Luma : Generator<Luma> {
  Input<Buffer<uint8_t, 3>> input{"input"};
  Output<Buffer<uint8_t, 3>> output{"output"};
  void generate() {
    Var x("x"), y("y"), c("c");
    Expr luma = (cast<int>(input(x, y, 0)) + 2 * cast<int>(input(x, y, 1)) + input(x, y, 2)) / 4;
    output(x, y, c) = cast<uint8_t>(luma);
    input.dim(0).set_stride(3);
    input.dim(2).set_stride(1);
    output.dim(0).set_stride(3);
    output.dim(2).set_stride(1).set_bounds(0, 3);
  }
};
HALIDE_REGISTER_GENERATOR(Soft8, soft8)
HALIDE_REGISTER_GENERATOR(Soft16, soft16)
HALIDE_REGISTER_GENERATOR(SoftF, softf)
HALIDE_REGISTER_GENERATOR(Luma, luma)
)";
  }
  ~Bench() { fs::remove_all(folder_); }
  std::string file(const std::string &name) const { return (folder_ / name).string(); }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  /// Empty, or what it said.
  std::string operator()(const std::string &generator, const std::string &arguments) const {
    const std::string command = "CALO_CACHE=" + file("cache") + " " + kCalo + " run " +
                                file("g.cpp") + " -g " + generator + " --check " + arguments +
                                " >" + file("log") + " 2>&1";
    const int status = std::system(command.c_str());
    std::stringstream text;
    text << std::ifstream(file("log")).rdbuf();
    CHECK_MESSAGE(WIFEXITED(status), text.str());  // never a signal
    return status == 0 ? "" : text.str();
  }

private:
  fs::path folder_;
};

std::vector<uint16_t> words(const io::Array &a) {
  std::vector<uint16_t> all(a.data.size() / 2);
  std::memcpy(all.data(), a.data.data(), a.data.size());
  return all;
}

#define CHECK_SAYS(text, part)                                                 \
  do {                                                                         \
    const std::string said = (text);                                           \
    CHECK_MESSAGE(said.find(part) != std::string::npos, "\"" << said << "\""); \
  } while (false)

}  // namespace

TEST_CASE("awkward files: every depth, odd sizes and damage, through calo run") {
  if (!fs::exists(kCalo)) CALO_SKIP("%s is not built", kCalo.c_str());
  const Bench run;
  const std::string out = run.file("out.npy"), png = run.file("out.png");
  const auto word = [](int v) { return std::string{char(v >> 8), char(v & 255)}; };

  // 16 and 10 bits
  const std::string deep =
      run.write("deep.pgm", "P5\n# a comment\n2 1\n65535\n" + word(513) + word(70));
  REQUIRE(run("soft16", "input=" + deep + " output=" + out) == "");
  CHECK(words(io::load(out)) == std::vector<uint16_t>{513, 70});
  const std::string raw = run.write("raw.pgm", "P5\n2 1\n1023\n" + word(1023) + word(0));
  REQUIRE(run("soft16", "input=" + raw + " output=" + out) == "");
  CHECK(words(io::load(out)) == std::vector<uint16_t>{65535, 0});
  // ... into 8 bits and float, and out to a picture
  REQUIRE(run("soft8", "input=" + raw + " output=" + out) == "");
  CHECK(io::load(out).data == std::vector<uint8_t>{255, 0});
  REQUIRE(run("softf", "input=" + raw + " output=" + png) == "");
  CHECK(words(io::load(png)) == std::vector<uint16_t>{65535, 0});

  CHECK_SAYS(run("soft16", "input=" + run.write("cut.pgm", "P5\n4 4\n65535\nabc")), "R0201");
  CHECK_SAYS(run("soft8", "input=" + run.write("zero.pgm", "P5\n0 4\n255\n")), "size zero");
  CHECK_SAYS(run("soft8", "input=" + run.write("none.png", "")), "the file is empty");
  CHECK_SAYS(run("soft8", "input=" + run.write("text.png", "hello")), "unknown format");
  CHECK_SAYS(run("soft8", "input=" + run.file("")), "is a folder");
  CHECK_SAYS(run("soft8", "input=" + run.write("huge.pgm", "P5\n1000000 1000000\n255\n")), "R0201");

  for (const char *size : {"[1,1,1]", "[1,9,3]", "[7,1,1]", "[13,3,4]", "[0,4,1]", "[17,5,2]"}) {
    CAPTURE(size);
    CHECK(run("soft8", std::string("input=random:1:") + size) == "");
  }
  // a grey picture where colours are read, interleaved memory as declared
  const std::string grey = run.write("grey.pgm", std::string("P5\n3 1\n255\n") + "\x0a\x14\x1e");
  REQUIRE(run("luma", "input=" + grey + " output=" + png) == "");
  CHECK(io::load(png).extents == std::vector<int>{3, 1, 3});
  CHECK(io::load(png).data == std::vector<uint8_t>{10, 20, 30, 10, 20, 30, 10, 20, 30});
}
