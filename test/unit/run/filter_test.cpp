// Arguments of compiled pipelines: sources, sizes, defaults, files, refusals. The pipeline here is a C
// function written by hand, with the interface that compiled ones have.
#include "run/filter.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "io/image.h"

using namespace calotype::run;

namespace {

/// What a hand-made pipeline wants of its buffers: [input, output], -1 where it does not say.
struct Wants {
  int rank = 3;
  halide_type_t input_type{halide_type_uint, 8}, output_type{halide_type_uint, 8};
  std::vector<int> input_channels;  ///< min, extent in dimension 2
  std::vector<int> input_strides, output_extents;
  int border = 0;  ///< the input is read that far outside of the output
  int calls = 0, queries = 0;
};

ArgumentInfo buffer(const char *name, halide_argument_kind_t kind, halide_type_t t, int rank) {
  ArgumentInfo a;
  a.name = name;
  a.kind = kind;
  a.type = t;
  a.dimensions = rank;
  return a;
}

ArgumentInfo scalar(const char *name, halide_type_t t) {
  ArgumentInfo a;
  a.name = name;
  a.type = t;
  return a;
}

void answer(Wants &w, halide_buffer_t &in, halide_buffer_t &out) {
  w.queries++;
  for (int d = 0; d < w.rank; d++) {
    if (!w.output_extents.empty() && w.output_extents[d] >= 0)
      out.dim[d].extent = w.output_extents[d];
  }
  int stride = 1;
  for (int d = 0; d < w.rank; d++) {
    const int grow = d < 2 ? w.border : 0;
    in.dim[d].min = out.dim[d].min - grow;
    in.dim[d].extent = out.dim[d].extent + 2 * grow;
    if (d == 2 && !w.input_channels.empty()) {
      in.dim[d].min = w.input_channels[0];
      in.dim[d].extent = w.input_channels[1];
    }
    in.dim[d].stride = stride;
    if (!w.input_strides.empty() && w.input_strides[d] > 0) in.dim[d].stride = w.input_strides[d];
    stride = in.dim[d].stride * in.dim[d].extent;
  }
}

Filter make(Wants &w) {
  Filter f;
  f.name = "hand";
  f.target = "x86-64-linux";
  f.args = {buffer("input", halide_argument_kind_input_buffer, w.input_type, w.rank),
            scalar("gain", halide_type_t(halide_type_float, 32)),
            scalar("count", halide_type_t(halide_type_int, 16)),
            buffer("output", halide_argument_kind_output_buffer, w.output_type, w.rank)};
  f.args[1].value = 0x3fc00000;  // 1.5f
  f.args[2].estimate = 7;
  f.call = [&w](void **argv) {
    auto &in = *static_cast<halide_buffer_t *>(argv[0]);
    auto &out = *static_cast<halide_buffer_t *>(argv[3]);
    if (!in.host || !out.host) return answer(w, in, out);
    w.calls++;
  };
  return f;
}

Values bound(Wants &w, const Settings &values, const Options &more = {}) {
  Options o = more;
  o.values = values;
  return bind(make(w), o);
}

/// "CODE: text | help", or "" if nothing was thrown.
std::string refusal(Wants &w, const Settings &values, const Options &more = {}) {
  try {
    bound(w, values, more);
  } catch (const Error &e) {
    return e.code + ": " + e.what() + " | " + e.help;
  }
  return "";
}

#define CHECK_REFUSED(text, part)                                                \
  do {                                                                           \
    const std::string got = (text);                                              \
    CHECK_MESSAGE(got.find(part) != std::string::npos, "got \"" << got << "\""); \
  } while (false)

struct Scratch {
  std::filesystem::path path;
  Scratch() {
    char name[] = "/tmp/calo_run_test.XXXXXX";
    path = mkdtemp(name);
  }
  ~Scratch() { std::filesystem::remove_all(path); }
  std::string file(const char *name, const std::string &bytes) const {
    const std::string f = (path / name).string();
    std::ofstream(f, std::ios::binary) << bytes;
    return f;
  }
};

std::vector<int> extents(const Image &image) {
  std::vector<int> all;
  for (int d = 0; d < image.dimensions(); d++) all.push_back(image.dim(d).extent());
  return all;
}

uint8_t pixel(const Image &image, int x, int y, int c) {
  const int at[] = {x, y, c};
  return *image.raw_buffer()->address_of(at);
}

const Settings kCount = {{"count", "1"}};

Settings with(const Settings &more) {
  Settings all = kCount;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

TEST_CASE("run sources: made-up inputs have the extents and values asked for") {
  Wants w;
  Values v = bound(w, with({{"input", "random:3:[5,4,3]"}}));
  CHECK(extents(v.images[0]) == std::vector<int>{5, 4, 3});
  CHECK(extents(v.images[3]) == std::vector<int>{5, 4, 3});
  const Values again = bound(w, with({{"input", "random:3:[5,4,3]"}}));
  const Values other = bound(w, with({{"input", "random:4:[5,4,3]"}}));
  CHECK(std::memcmp(v.images[0].begin(), again.images[0].begin(), 60) == 0);
  CHECK(std::memcmp(v.images[0].begin(), other.images[0].begin(), 60) != 0);
  CHECK(pixel(bound(w, with({{"input", "constant:200:[2,2,1]"}})).images[0], 1, 1, 0) == 200);
  const Values i = bound(w, with({{"input", "identity:[3,3,3]"}}));
  CHECK(pixel(i.images[0], 2, 2, 2) == 1);
  CHECK(pixel(i.images[0], 2, 1, 2) == 0);
  CHECK(extents(bound(w, with({{"input", "zero:[0,4,1]"}})).images[3]) ==
        std::vector<int>{0, 4, 1});
}

TEST_CASE("run sources: auto is what the outputs need, mins included") {
  Wants w;
  w.border = 2;
  Options o;
  o.output_extents = "[10,6,3]";
  const Values v = bound(w, with({{"input", "zero:auto"}}), o);
  CHECK(extents(v.images[0]) == std::vector<int>{14, 10, 3});
  CHECK(v.images[0].dim(0).min() == -2);
  o.default_buffers = "random:0:auto";
  CHECK(extents(bound(w, kCount, o).images[0]) == std::vector<int>{14, 10, 3});
  o.output_extents.clear();
  CHECK_REFUSED(refusal(w, with({{"input", "zero:auto"}}), o), "R0202: the size of output output");
}

TEST_CASE("run sizes: outputs of different rank have extents by name") {
  Filter f;
  f.name = "two";
  f.args = {buffer("a", halide_argument_kind_output_buffer, {halide_type_int, 32}, 2),
            buffer("b", halide_argument_kind_output_buffer, {halide_type_int, 32}, 1)};
  f.call = [](void **) {};
  Options o;
  o.output_extents = "a=[3,2],b=[5]";
  const Values v = bind(f, o);
  CHECK(extents(v.images[0]) == std::vector<int>{3, 2});
  CHECK(extents(v.images[1]) == std::vector<int>{5});
}

TEST_CASE("run sources: estimates give sizes, scalars and outputs") {
  Wants w;
  Filter f = make(w);
  f.args[0].estimates = {{-1, 8}, {0, 6}, {0, 3}};
  f.args[3].estimates = {{0, 4}, {0, 4}, {std::nullopt, 3}};
  Options o;
  o.values = {{"input", "zero:estimate"}, {"count", "estimate"}};
  o.output_extents = "estimate";
  const Values v = bind(f, o);
  CHECK(extents(v.images[0]) == std::vector<int>{8, 6, 3});
  CHECK(v.images[0].dim(0).min() == -1);
  CHECK(extents(v.images[3]) == std::vector<int>{4, 4, 3});
  CHECK(v.scalars[2] == 7);
  CHECK_REFUSED(refusal(w, with({{"input", "zero:estimate"}})),
                "R0202: argument input has no estimates");
  o.values = {{"input", "zero:estimate_then_auto"}, {"count", "1"}};
  f.args[0].estimates.clear();
  CHECK(extents(bind(f, o).images[0]) == std::vector<int>{4, 4, 3});
}

TEST_CASE("run scalars: text, defaults and estimates, in the order asked for") {
  Wants w;
  const Settings input = {{"input", "zero:[1,1,1]"}};
  CHECK_REFUSED(refusal(w, input),
                "L0401: input count was not given | count=VALUE, a number of type int16");
  Options o;
  o.default_scalars = "estimate,default,0";
  const Values v = bound(w, input, o);
  CHECK(v.scalars[1] == 0x3fc00000);
  CHECK(v.scalars[2] == 7);
  o.default_scalars = "3";
  CHECK(bound(w, input, o).scalars[2] == 3);
  CHECK(bound(w, {{"input", "zero:[1,1,1]"}, {"count", "-2"}}).scalars[2] == 0xfffe);
  CHECK_REFUSED(refusal(w, {{"input", "zero:[1,1,1]"}, {"count", "40000"}}),
                "R0101: argument count=40000");
  CHECK_REFUSED(refusal(w, {{"input", "zero:[1,1,1]"}, {"count", "default"}}), "it has no default");
  CHECK_REFUSED(refusal(w, {{"input", "zero:[1,1,1]"}, {"gain", "much"}}),
                "expected a number of type float32");
}

TEST_CASE("run arguments: refusals name the argument and what would do") {
  Wants w;
  CHECK_REFUSED(refusal(w, kCount), "L0401: input input was not given");
  CHECK_REFUSED(refusal(w, with({{"in", "x"}})), "it has input, gain, count, output");
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[1,1]"}})), "expected 3 extents");
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[1,-1,1]"}})), "expected zero:SIZE");
  CHECK_REFUSED(refusal(w, with({{"input", "random:[1,1,1]"}})), "expected random:SEED:SIZE");
  CHECK_REFUSED(refusal(w, with({{"input", "random:x:[1,1,1]"}})), "expected random:SEED:SIZE");
  CHECK_REFUSED(refusal(w, with({{"input", "constant:300:[1,1,1]"}})),
                "expected a number of type uint8");
  CHECK_REFUSED(refusal(w, with({{"input", ""}})), "has no value");
  CHECK_REFUSED(refusal(w, with({{"input", "/none.png"}})), "R0201: /none.png");
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[60000,60000,60000]"}})), "R0104");
  Options o;
  o.output_extents = "[4,4]";
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[4,4,1]"}}), o), "R0202: --output_extents=[4,4]");
  o.output_extents = "output=[4,4]";
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[4,4,1]"}}), o), "does not give the 3 extents");
  o.output_extents = "outputs=[4,4,1]";
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[4,4,1]"}}), o),
                "names 'outputs', which is no output");
  for (const char *broken : {"output=[4,4,1", "output=[4,4,1],", "output=[4,4,1]x", "output=4"}) {
    CAPTURE(broken);
    o.output_extents = broken;
    CHECK_REFUSED(refusal(w, with({{"input", "zero:[4,4,1]"}}), o), "does not end");
  }
}

TEST_CASE("run sizes: what the generator fixes counts, and a contradiction is refused") {
  Wants w;
  w.output_extents = {16, -1, 1};
  CHECK(extents(bound(w, with({{"input", "zero:[8,4,3]"}})).images[3]) ==
        std::vector<int>{16, 4, 1});
  Options o;
  o.output_extents = "[8,4,1]";
  CHECK_REFUSED(refusal(w, with({{"input", "zero:[8,4,3]"}}), o), "output output has extent 16");
}

TEST_CASE("run layout: a pipeline that wants interleaved channels gets them") {
  Wants w;
  w.input_strides = {3, -1, 1};
  w.input_channels = {0, 3};
  const Values v = bound(w, with({{"input", "zero:[8,4,3]"}}));
  CHECK(v.images[0].dim(2).stride() == 1);
  CHECK(v.images[0].dim(0).stride() == 3);
  CHECK(v.images[0].dim(1).stride() == 24);
}

TEST_CASE("run files: grey becomes colour where colour is read, and only there") {
  const Scratch s;
  const std::string grey = s.file("grey.pgm", std::string("P5\n2 1\n255\n") + "\x10\x20");
  const std::string rgb = s.file("rgb.ppm", std::string("P6\n1 1\n255\n") + "\x01\x02\x03");
  Wants plain, colour, alpha;
  CHECK(extents(bound(plain, with({{"input", grey}})).images[0]) == std::vector<int>{2, 1, 1});
  colour.input_channels = {0, 3};
  const Values v = bound(colour, with({{"input", grey}}));
  CHECK(extents(v.images[0]) == std::vector<int>{2, 1, 3});
  CHECK(pixel(v.images[0], 1, 0, 2) == 0x20);
  CHECK(extents(v.images[3]) == std::vector<int>{2, 1, 3});  // the output follows
  alpha.input_channels = {0, 4};
  const Values a = bound(alpha, with({{"input", rgb}}));
  CHECK(pixel(a.images[0], 0, 0, 1) == 2);
  CHECK(pixel(a.images[0], 0, 0, 3) == 255);
  Wants flat;
  flat.rank = 2;
  CHECK_REFUSED(refusal(flat, with({{"input", rgb}})), "colours are never thrown away");
  CHECK(extents(bound(flat, with({{"input", grey}})).images[0]) == std::vector<int>{2, 1});
}

TEST_CASE("run files: raw samples need their extents and exactly their bytes") {
  const Scratch s;
  const std::string raw = s.file("a.raw", "abcdef");
  Wants w;
  const Values v = bound(w, with({{"input", "raw:[3,2,1]:" + raw}}));
  CHECK(pixel(v.images[0], 1, 1, 0) == 'e');
  CHECK_REFUSED(refusal(w, with({{"input", "raw:[3,3,1]:" + raw}})), "truncated: 6 bytes");
  CHECK_REFUSED(refusal(w, with({{"input", "raw:" + raw}})), "expected raw:[extents]:FILE");
}

TEST_CASE("run describe: names, types, defaults, estimates") {
  Wants w;
  Filter f = make(w);
  f.args[0].estimates = {{0, 640}, {-3, 480}, {0, 3}};
  const std::string text = describe(f);
  for (const char *part :
       {"hand (x86-64-linux)\n", "  input: input, 3-dimensional buffer of uint8",
        "estimated 640 x 480 x 3 from [0,-3,0]", "  gain: input, scalar float32, default 1.5\n",
        "  count: input, scalar int16, estimate 7\n", "  output: output, 3-dim"}) {
    CHECK_MESSAGE(text.find(part) != std::string::npos, text);
  }
}

TEST_CASE("run call: a failure comes back with the pipeline's own words") {
  static const halide_filter_metadata_t metadata = {1, 0, nullptr, "t", "failing"};
  const Filter f =
      filter_of([](void **) { return -7; }, metadata, [] { return std::string("no!"); });
  CHECK_THROWS_WITH(f.call(nullptr), "no!");
  const Filter silent =
      filter_of([](void **) { return -7; }, metadata, [] { return std::string(); });
  CHECK_THROWS_WITH(silent.call(nullptr), "failing failed with code -7");
}
