// Pictures in files: what is written comes back, by every format, and damaged or hostile files are refused
// with the reason. References for the conversions are written out from their definitions here.
#include "io/image.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "io/formats.h"

namespace fs = std::filesystem;
using namespace calotype;

namespace {

/// A folder of the test's own, gone afterwards.
struct Scratch {
  fs::path folder;
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "calo_io_XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~Scratch() { fs::remove_all(folder); }
  std::string operator()(const std::string &name) const { return (folder / name).string(); }
};

/// A dense buffer with its own memory and dimensions.
template <typename T> struct Owned {
  std::vector<halide_dimension_t> dims;
  std::vector<T> samples;
  halide_buffer_t view = {};

  Owned(halide_type_t type, const std::vector<int> &extents) {
    int stride = 1;
    for (const int extent : extents) {
      dims.emplace_back(0, extent, stride);
      stride *= extent;
    }
    samples.resize(stride);
    view.host = reinterpret_cast<uint8_t *>(samples.data());
    view.type = type;
    view.dimensions = static_cast<int>(dims.size());
    view.dim = dims.data();
  }
};

const halide_type_t kU8{halide_type_uint, 8}, kU16{halide_type_uint, 16}, kI32{halide_type_int, 32};
const halide_type_t kF32{halide_type_float, 32}, kF64{halide_type_float, 64},
    kBool{halide_type_uint, 1};

template <typename T> void fill(Owned<T> &buffer) {
  uint32_t state = 7;
  for (T &v : buffer.samples) v = static_cast<T>((state = state * 1664525u + 1013904223u) >> 12);
}

template <typename T> std::vector<T> samples_of(const io::Array &array) {
  std::vector<T> out(array.data.size() / sizeof(T));
  std::memcpy(out.data(), array.data.data(), array.data.size());
  return out;
}

std::string failure_of(const std::string &path) {
  try {
    io::load(path);
  } catch (const io::FileError &e) {
    return e.what();
  }
  return "(no failure)";
}

bool contains(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos) return true;
  MESSAGE("not in: " << text);
  return false;
}

template <typename T>
void check_round_trip(const std::string &path, halide_type_t type,
                      const std::vector<int> &extents) {
  Owned<T> buffer(type, extents);
  fill(buffer);
  io::save(path, buffer.view);
  const io::Array back = io::load(path);
  INFO(path);
  CHECK((back.type == type));
  CHECK(back.extents == extents);
  CHECK(samples_of<T>(back) == buffer.samples);
}

io::Bytes text_bytes(const std::string &text) { return io::Bytes(text.begin(), text.end()); }

}  // namespace

TEST_CASE("io/image: lossless formats give back what was saved") {
  const Scratch scratch;
  for (const char *extension : {"png", "tif", "tiff"}) {
    for (int channels = 1; channels <= 4; channels++) {
      for (const auto &[width, height] : {std::pair{1, 1}, {7, 1}, {1, 33}, {33, 7}}) {
        check_round_trip<uint8_t>(scratch(std::string("a.") + extension), kU8,
                                  {width, height, channels});
        check_round_trip<uint16_t>(scratch(std::string("b.") + extension), kU16,
                                   {width, height, channels});
      }
    }
  }
  check_round_trip<uint8_t>(scratch("a.pgm"), kU8, {7, 5, 1});
  check_round_trip<uint16_t>(scratch("b.pgm"), kU16, {7, 5, 1});
  check_round_trip<uint8_t>(scratch("a.ppm"), kU8, {7, 5, 3});
  check_round_trip<uint16_t>(scratch("b.ppm"), kU16, {7, 5, 3});
  check_round_trip<uint8_t>(scratch("UPPER.PNG"), kU8, {7, 5, 3});
}

TEST_CASE("io/image: jpg comes back nearly as it was, with its size and channels") {
  const Scratch scratch;
  for (const int channels : {1, 3}) {
    Owned<uint8_t> smooth(kU8, {40, 24, channels});
    for (int i = 0; i < 40 * 24 * channels; i++)
      smooth.samples[i] = static_cast<uint8_t>(i % 40 * 4 + 20);
    io::save(scratch("a.jpg"), smooth.view);
    const io::Array back = io::load(scratch("a.jpg"));
    CHECK(back.extents == std::vector<int>{40, 24, channels});
    int worst = 0;
    for (size_t i = 0; i < back.data.size(); i++) {
      worst = std::max(worst, std::abs(back.data[i] - smooth.samples[i]));
    }
    CHECK(worst <= 8);  // quality 95 on a ramp
  }
}

TEST_CASE("io/image: a view with strides, mins and interleaved channels is saved as it reads") {
  const Scratch scratch;
  Owned<uint8_t> buffer(kU8, {3, 10, 6});  // memory: channels innermost, then x, then y
  fill(buffer);
  halide_dimension_t dims[] = {{5, 4, 6}, {-2, 3, 60}, {0, 3, 1}};  // every second x of a row
  halide_buffer_t view = buffer.view;
  view.dim = dims;
  io::save(scratch("a.png"), view);
  const io::Array back = io::load(scratch("a.png"));
  CHECK(back.extents == std::vector<int>{4, 3, 3});
  for (int c = 0; c < 3; c++) {
    for (int y = 0; y < 3; y++) {
      for (int x = 0; x < 4; x++) {
        CHECK(back.data[x + 4 * (y + 3 * c)] == buffer.samples[6 * x + 60 * y + c]);
      }
    }
  }
}

TEST_CASE("io/image: a negative stride flips the picture") {
  const Scratch scratch;
  Owned<uint16_t> buffer(kU16, {4, 2});
  fill(buffer);
  halide_dimension_t dims[] = {{0, 4, -1}, {0, 2, 4}};
  halide_buffer_t view = buffer.view;
  view.dim = dims;
  view.host += 3 * sizeof(uint16_t);
  io::save(scratch("a.png"), view);
  const auto back = samples_of<uint16_t>(io::load(scratch("a.png")));
  for (int x = 0; x < 4; x++) CHECK(back[x] == buffer.samples[3 - x]);
}

TEST_CASE("io/image: float saves as 16 bits, clamped and rounded, NaN as 0") {
  const Scratch scratch;
  Owned<float> buffer(kF32, {7, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = INFINITY;
  buffer.samples = {-0.5f, 0.0f, 0.5f, 1.0f, 1.5f, nan, inf};
  io::save(scratch("a.png"), buffer.view);
  const io::Array back = io::load(scratch("a.png"));
  CHECK((back.type == kU16));
  CHECK(back.extents == std::vector<int>{7, 1, 1});
  CHECK(samples_of<uint16_t>(back) == std::vector<uint16_t>{0, 0, 32768, 65535, 65535, 0, 65535});
}

TEST_CASE("io/image: bool saves as black and white") {
  const Scratch scratch;
  Owned<uint8_t> buffer(kBool, {3, 1});
  buffer.samples = {0, 1, 1};
  io::save(scratch("a.png"), buffer.view);
  CHECK(samples_of<uint8_t>(io::load(scratch("a.png"))) == std::vector<uint8_t>{0, 255, 255});
}

TEST_CASE("io/image: 8 bits read into 16 scale by 257, and 16 into 8 undo it") {
  io::Array bytes{kU8, {256, 1, 1}, {}};
  for (int i = 0; i < 256; i++) bytes.data.push_back(static_cast<uint8_t>(i));
  Owned<uint16_t> wide(kU16, {256, 1, 1});
  io::convert(bytes, wide.view);
  for (int i = 0; i < 256; i++) CHECK(wide.samples[i] == i * 257);

  io::Array words{kU16, {65536, 1, 1}, io::Bytes(2 * 65536)};
  auto *value = reinterpret_cast<uint16_t *>(words.data.data());
  for (int i = 0; i < 65536; i++) value[i] = static_cast<uint16_t>(i);
  Owned<uint8_t> narrow(kU8, {65536, 1, 1});
  io::convert(words, narrow.view);
  int wrong = 0;
  for (int i = 0; i < 65536; i++) wrong += narrow.samples[i] != std::lround(i / 257.0);
  CHECK(wrong == 0);
}

TEST_CASE("io/image: integers read into float lie in 0 to 1 and come back exactly") {
  io::Array bytes{kU8, {256, 1, 1}, {}};
  for (int i = 0; i < 256; i++) bytes.data.push_back(static_cast<uint8_t>(i));
  Owned<float> real(kF32, {256, 1, 1});
  io::convert(bytes, real.view);
  for (int i = 0; i < 256; i++) CHECK(real.samples[i] == i / 255.0f);
  io::Array floats{kF32, {256, 1, 1}, io::Bytes(256 * 4)};
  std::memcpy(floats.data.data(), real.samples.data(), 256 * 4);
  Owned<uint8_t> back(kU8, {256, 1, 1});
  io::convert(floats, back.view);
  CHECK(io::Bytes(back.samples.begin(), back.samples.end()) == bytes.data);
  Owned<double> wide(kF64, {256, 1});
  io::convert(floats, wide.view);
  CHECK(wide.samples[77] == double(real.samples[77]));
}

TEST_CASE("io/image: convert allows a rank that differs by extents of 1, and nothing else") {
  io::Array grey{kU8, {2, 2, 1}, {1, 2, 3, 4}};
  Owned<uint8_t> flat(kU8, {2, 2});
  io::convert(grey, flat.view);
  CHECK(flat.samples == std::vector<uint8_t>{1, 2, 3, 4});
  Owned<uint8_t> colour(kU8, {2, 2, 3});
  CHECK_THROWS_WITH_AS(io::convert(grey, colour.view),
                       "the samples have extents [2, 2, 1], the buffer [2, 2, 3]",
                       std::invalid_argument);
  Owned<int32_t> whole(kI32, {2, 2});
  whole.view.type = halide_type_t(halide_type_bfloat, 16);
  CHECK_THROWS_WITH_AS(io::convert(grey, whole.view), "no conversion from uint8 to bfloat16",
                       std::invalid_argument);
}

TEST_CASE("io/image: a picture that a format cannot hold is refused") {
  const Scratch scratch;
  Owned<uint8_t> five(kU8, {2, 2, 5}), two(kU8, {2, 2, 2}), line(kU8, {4});
  Owned<int32_t> whole(kI32, {2, 2});
  CHECK_THROWS_WITH_AS(io::save("x.png", five.view), "x.png: PNG holds 1 to 4 channels, not 5",
                       io::FileError);
  CHECK_THROWS_WITH_AS(io::save("x.jpg", two.view), "x.jpg: JPEG holds 1 or 3 channels, not 2",
                       io::FileError);
  CHECK_THROWS_WITH_AS(io::save("x.ppm", two.view), "x.ppm: PPM holds 3 channels, not 2",
                       io::FileError);
  CHECK_THROWS_WITH_AS(io::save("x.png", line.view),
                       "x.png: a picture has 2 or 3 dimensions [width, height, channels], not 1",
                       io::FileError);
  CHECK_THROWS_WITH_AS(
      io::save("x.png", whole.view),
      "x.png: a picture file cannot hold int32; expected bool, uint8, uint16 or float "
      "(or save as .npy)",
      io::FileError);
  CHECK_THROWS_WITH_AS(io::save("x.doc", two.view),
                       "x.doc: unknown extension; expected png, jpg, tif, pgm, ppm, npy or raw",
                       io::FileError);
  Owned<uint8_t> none(kU8, {0, 2});
  CHECK_THROWS_WITH_AS(io::save("x.png", none.view),
                       "x.png: cannot save a buffer of size zero: [0, 2]", io::FileError);
  CHECK_THROWS_WITH_AS(
      io::save(scratch("no/x.png"), two.view),
      (scratch("no/x.png") + ": cannot be written: No such file or directory").c_str(),
      io::FileError);
}

TEST_CASE("io/image: what is no picture is refused by name") {
  const Scratch scratch;
  CHECK(contains(failure_of(scratch("none.png")), "none.png: cannot be opened: No such file"));
  CHECK(contains(failure_of(scratch("")), "is a folder"));
  for (const char *device : {"/dev/zero", "/dev/null"}) {
    CHECK(contains(failure_of(device), std::string(device) + ": is a device, expected a file"));
  }
  std::ofstream(scratch("hole.png")).put('x');
  fs::resize_file(scratch("hole.png"), (uint64_t(2) << 30) + 1);  // takes no room on the disk
  CHECK(contains(failure_of(scratch("hole.png")), "is larger than 2 GiB"));
  io::write_file(scratch("empty.png"), {});
  CHECK(contains(failure_of(scratch("empty.png")), "the file is empty"));
  io::write_file(scratch("text.png"), text_bytes("hello"));
  CHECK(contains(failure_of(scratch("text.png")),
                 "unknown format; expected png, jpg, tiff, pgm, ppm or npy"));
}

TEST_CASE("io/image: a file cut off anywhere is refused, never read past its end") {
  const Scratch scratch;
  Owned<uint8_t> buffer(kU8, {33, 20, 3});
  fill(buffer);
  for (const char *name : {"a.png", "a.jpg", "a.tif", "a.ppm"}) {
    io::save(scratch(name), buffer.view);
    const io::Bytes whole = io::read_file(scratch(name));
    // PNG ends with an IEND chunk and JPEG with a marker; both are asked for.
    for (size_t keep = 1; keep < whole.size(); keep += 1 + whole.size() / 97) {
      io::write_file(scratch("cut"), io::Bytes(whole.begin(), whole.begin() + ptrdiff_t(keep)));
      INFO(name << " cut to " << keep << " of " << whole.size());
      CHECK(failure_of(scratch("cut")) != "(no failure)");
    }
  }
}

TEST_CASE("io/image: a file with one damaged byte is read or refused, never more") {
  const Scratch scratch;
  Owned<uint8_t> buffer(kU8, {16, 9, 3});
  fill(buffer);
  int refused = 0;
  for (const char *name : {"a.png", "a.jpg", "a.tif", "a.ppm", "a.npy"}) {
    io::save(scratch(name), buffer.view);
    const io::Bytes whole = io::read_file(scratch(name));
    for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 300) {
      for (const int flip : {0xff, 0x80, 0x01}) {
        io::Bytes damaged = whole;
        damaged[at] = static_cast<uint8_t>(damaged[at] ^ flip);
        io::write_file(scratch("bad"), damaged);
        refused += failure_of(scratch("bad")) != "(no failure)";
      }
    }
  }
  CHECK(refused > 300);  // every byte of a PNG is under a checksum
}

TEST_CASE("io/image: a header that claims more than the file can hold takes no memory") {
  const Scratch scratch;
  io::write_file(scratch("huge.pgm"), text_bytes("P5 1000000 1000000 255 "));
  CHECK(contains(failure_of(scratch("huge.pgm")),
                 "more than 64 GiB once decoded: 1000000 x 1000000 x 1"));
  io::write_file(scratch("big.pgm"), text_bytes("P5 30000 30000 255\nabc"));
  CHECK(contains(failure_of(scratch("big.pgm")),
                 "truncated: 30000 x 30000 x 1 samples cannot come from"));
  io::write_file(scratch("wide.pgm"), text_bytes("P5 99999999999 1 255 "));
  CHECK(contains(failure_of(scratch("wide.pgm")), "width above 1048576"));
}

TEST_CASE("io/image: a picture of size zero is refused") {
  const Scratch scratch;
  io::write_file(scratch("zero.pgm"), text_bytes("P5 0 4 255\n"));
  CHECK(contains(failure_of(scratch("zero.pgm")), "a picture of size zero: 0 x 4 x 1"));
}

TEST_CASE("io/pnm: text, comments and other maxima are understood") {
  const Scratch scratch;
  io::write_file(scratch("a.ppm"), text_bytes("P3 # a comment\n2 1\n# more\n15\n0 7 15 15 0 8\n"));
  const io::Array colour = io::load(scratch("a.ppm"));
  CHECK(colour.extents == std::vector<int>{2, 1, 3});
  // Planar; 7 / 15 of 255 is 119, 8 / 15 is 136.
  CHECK(samples_of<uint8_t>(colour) == std::vector<uint8_t>{0, 255, 119, 0, 255, 136});
  io::write_file(scratch("b.pgm"), text_bytes(std::string("P5 2 1 1023\n\x03\xff\x02\x00", 16)));
  CHECK(samples_of<uint16_t>(io::load(scratch("b.pgm"))) == std::vector<uint16_t>{65535, 32800});
}

TEST_CASE("io/pnm: faults in the text are named") {
  const Scratch scratch;
  const std::pair<const char *, const char *> cases[] = {
      {"P2 2 1 255 1", "truncated: no sample"},
      {"P2 2 1 255 1 x", "no number for sample"},
      {"P2 2 1 0 1 1", "a maximum of 0"},
      {"P2 2 1 70000 1 1", "maximum above 65535"},
      {"P2 2 1 100 1 101", "a sample of 101 above the maximum 100"},
      {"P5 2 1 255", "no white space after the header"},
      {"P5 9 9 255\nabc", "truncated"}};
  for (const auto &[text, expected] : cases) {
    io::write_file(scratch("a.pnm"), text_bytes(text));
    CHECK(contains(failure_of(scratch("a.pnm")), expected));
  }
}

TEST_CASE("io/image: the photos shipped for demos load with their sizes") {
  const std::string folder = std::string(CALO_SOURCE_DIR) + "/apps/support/images/";
  CHECK(io::load(folder + "astronaut.png").extents == std::vector<int>{512, 512, 3});
  CHECK(io::load(folder + "coffee.png").extents == std::vector<int>{600, 400, 3});
  CHECK(io::load(folder + "chelsea.png").extents == std::vector<int>{451, 300, 3});
}
