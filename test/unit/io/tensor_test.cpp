// npy and raw files: round trips, what NumPy writes, and damaged headers.
#include "io/tensor.h"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "io/formats.h"

namespace fs = std::filesystem;
using namespace calotype;

namespace {

struct Scratch {
  fs::path folder;
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "calo_io_XXXXXX").string();
    folder = mkdtemp(pattern.data());
  }
  ~Scratch() { fs::remove_all(folder); }
  std::string operator()(const std::string &name) const { return (folder / name).string(); }
};

/// An .npy file with this header text and these sample bytes.
io::Bytes npy(const std::string &header, const std::string &samples, char version = 1) {
  std::string out("\x93NUMPY", 6);
  out += version;
  out += '\0';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  if (version > 1) out += std::string(2, '\0');
  out += header + samples;
  return io::Bytes(out.begin(), out.end());
}

std::string failure_of(const std::string &path) {
  try {
    io::load(path);
  } catch (const io::FileError &e) {
    return e.what();
  }
  return "(no failure)";
}

halide_buffer_t view_of(io::Array &array, std::vector<halide_dimension_t> &dims) {
  int stride = 1;
  for (const int extent : array.extents) {
    dims.emplace_back(0, extent, stride);
    stride *= extent;
  }
  halide_buffer_t view = {};
  view.host = array.data.data();
  view.type = array.type;
  view.dimensions = static_cast<int>(dims.size());
  view.dim = dims.data();
  return view;
}

}  // namespace

TEST_CASE("io/npy: every type and rank comes back as it was saved") {
  const Scratch scratch;
  const halide_type_t types[] = {
      {halide_type_uint, 1},   {halide_type_uint, 8},   {halide_type_uint, 16},
      {halide_type_uint, 32},  {halide_type_uint, 64},  {halide_type_int, 8},
      {halide_type_int, 16},   {halide_type_int, 32},   {halide_type_int, 64},
      {halide_type_float, 16}, {halide_type_float, 32}, {halide_type_float, 64}};
  const std::vector<int> shapes[] = {{}, {5}, {3, 2}, {4, 3, 2}, {2, 1, 3, 2}};
  for (const halide_type_t type : types) {
    for (const auto &extents : shapes) {
      io::Array array{type, extents, {}};
      array.data.resize(array.count() * type.bytes());
      for (size_t i = 0; i < array.data.size(); i++)
        array.data[i] = static_cast<uint8_t>(i * 37 % 251);
      std::vector<halide_dimension_t> dims;
      io::save(scratch("a.npy"), view_of(array, dims));
      const io::Array back = io::load(scratch("a.npy"));
      CHECK((back.type == type));
      CHECK(back.extents == extents);
      CHECK(back.data == array.data);
      CHECK(io::read_file(scratch("a.npy")).size() % 64 == array.data.size() % 64);
    }
  }
}

TEST_CASE("io/npy: the last axis of a C-ordered shape is dimension 0, of a Fortran one the first") {
  const Scratch scratch;
  io::write_file(
      scratch("c.npy"),
      npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }\n", std::string(12, 'x')));
  CHECK(io::load(scratch("c.npy")).extents == std::vector<int>{3, 2});
  io::write_file(
      scratch("f.npy"),
      npy("{'descr': '<u2', 'fortran_order': True, 'shape': (2, 3), }\n", std::string(12, 'x')));
  CHECK(io::load(scratch("f.npy")).extents == std::vector<int>{2, 3});
}

TEST_CASE("io/npy: big-endian samples, versions 2 and 3 and any key order are read") {
  const Scratch scratch;
  const std::string samples("\x01\x02\x03\x04", 4);
  for (const char version : {1, 2, 3}) {
    io::write_file(
        scratch("a.npy"),
        npy("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\">i2\"}", samples, version));
    const io::Array array = io::load(scratch("a.npy"));
    int16_t values[2];
    std::memcpy(values, array.data.data(), 4);
    CHECK(values[0] == 0x0102);
    CHECK(values[1] == 0x0304);
  }
}

TEST_CASE("io/npy: damaged and hostile headers are refused with the reason") {
  const Scratch scratch;
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  const auto shaped = [](const std::string &shape) {
    return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }",
               std::string(8, 'x'));
  };
  const auto typed = [](const std::string &descr) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }",
               std::string(8, 'x'));
  };
  const std::pair<io::Bytes, const char *> cases[] = {
      {npy(good, "1234567"), "truncated: 7 bytes of samples, expected 8"},
      {npy(good, "123456789"), "too long: 9 bytes of samples, expected 8"},
      {npy(good, "12345678", 4), "npy version 4; expected 1, 2 or 3"},
      {npy("", "12345678"), "expected { at byte 0"},
      {npy("{'descr': '<f4'}", "12345678"), "descr, fortran_order or shape is missing"},
      {npy("{'what': 1}", "12345678"), "unknown key what"},
      {npy("{'descr", "12345678"), "an open quote"},
      {shaped("(0, 2)"), "an array of size zero: [2, 0]"},
      {shaped("(2147483647, 2147483647, 2147483647)"), "more than 64 GiB"},
      {shaped("(99999999999,)"), "an extent above 2147483647"},
      {shaped("(-1,)"), "expected an extent at byte"},
      {shaped("(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)"), "more than 16 dimensions"},
      {shaped("2"), "expected ( at byte"},
      {typed("'<c8'"), "npy samples of type '<c8'; expected b1, u1-u8, i1-i8 or f2-f8"},
      {typed("'O'"), "npy samples of type 'O'"},
      {typed("[('a', '<f4')]"), "structured samples are not supported"}};
  for (const auto &[bytes, expected] : cases) {
    io::write_file(scratch("a.npy"), bytes);
    const std::string failure = failure_of(scratch("a.npy"));
    INFO(failure);
    CHECK(failure.find(expected) != std::string::npos);
  }
  const io::Bytes whole = npy(good, "12345678");
  for (size_t keep = 6; keep < whole.size(); keep++) {
    io::write_file(scratch("a.npy"), io::Bytes(whole.begin(), whole.begin() + ptrdiff_t(keep)));
    CHECK(failure_of(scratch("a.npy")) != "(no failure)");
  }
}

TEST_CASE("io/raw: needs exactly the bytes its type and extents say") {
  const Scratch scratch;
  io::write_file(scratch("a.raw"), io::Bytes(24, 1));
  const halide_type_t u16(halide_type_uint, 16);
  CHECK(io::load_raw(scratch("a.raw"), u16, {4, 3}).count() == 12);
  CHECK_THROWS_WITH_AS(io::load_raw(scratch("a.raw"), u16, {5, 3}),
                       (scratch("a.raw") + ": truncated: 24 bytes of samples, expected 30").c_str(),
                       io::FileError);
  CHECK_THROWS_WITH_AS(io::load_raw(scratch("a.raw"), u16, {2, 3}),
                       (scratch("a.raw") + ": too long: 24 bytes of samples, expected 12").c_str(),
                       io::FileError);
  io::Array array = io::load_raw(scratch("a.raw"), u16, {4, 3});
  std::vector<halide_dimension_t> dims;
  io::save(scratch("b.raw"), view_of(array, dims));
  CHECK(io::read_file(scratch("b.raw")) == array.data);
}
