// NumPy's .npy (versions 1 to 3, C and Fortran order, both byte orders) and raw samples.
#include "io/tensor.h"

#include "io/formats.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace calotype::io {

namespace {

constexpr size_t kMostHeader = 1 << 16;  // NumPy's own are under 200 bytes
constexpr size_t kMostRank = 16;

/// Reads the header, a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class NpyHeader {
public:
  NpyHeader(const std::string &path, std::string text) : path_(path), text_(std::move(text)) {
    parse();
  }

  std::string descr;
  bool fortran_order = false;
  std::vector<int> shape;

private:
  [[noreturn]] void fail(const std::string &what) const {
    throw FileError(path_, "damaged npy header: " + what);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) at_++;
  }

  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("expected ") + c + " at byte " + std::to_string(at_));
  }

  bool accept_word(const char *word) {
    skip_space();
    if (text_.compare(at_, std::strlen(word), word) != 0) return false;
    at_ += std::strlen(word);
    return true;
  }

  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"')
      fail("expected a quoted text at byte " + std::to_string(at_));
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("an open quote");
    const std::string out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }

  void parse_shape() {
    expect('(');
    while (!accept(')')) {
      skip_space();
      const size_t digits =
          std::min(text_.find_first_not_of("0123456789", at_), text_.size()) - at_;
      if (digits == 0) fail("expected an extent at byte " + std::to_string(at_));
      if (digits > 10) fail("an extent above 2147483647");
      const long long extent = std::atoll(text_.substr(at_, digits).c_str());
      if (extent > INT32_MAX) fail("an extent above 2147483647");
      if (shape.size() == kMostRank) fail("more than 16 dimensions");
      shape.push_back(static_cast<int>(extent));
      at_ += digits;
      if (!accept(',')) {
        expect(')');
        return;
      }
    }
  }

  void parse() {
    unsigned seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        skip_space();
        if (at_ < text_.size() && text_[at_] == '[') fail("structured samples are not supported");
        descr = quoted();
        seen |= 1;
      } else if (key == "fortran_order") {
        fortran_order = accept_word("True");
        if (!fortran_order && !accept_word("False"))
          fail("fortran_order is neither True nor False");
        seen |= 2;
      } else if (key == "shape") {
        shape.clear();
        parse_shape();
        seen |= 4;
      } else {
        fail("unknown key " + key);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (seen != 7) fail("descr, fortran_order or shape is missing");
  }

  const std::string &path_;
  const std::string text_;
  size_t at_ = 0;
};

halide_type_t type_of(const std::string &path, const std::string &descr) {
  struct Known {
    const char *name;
    halide_type_t type;
  };
  static const Known kKnown[] = {{"b1", {halide_type_uint, 1}},   {"u1", {halide_type_uint, 8}},
                                 {"u2", {halide_type_uint, 16}},  {"u4", {halide_type_uint, 32}},
                                 {"u8", {halide_type_uint, 64}},  {"i1", {halide_type_int, 8}},
                                 {"i2", {halide_type_int, 16}},   {"i4", {halide_type_int, 32}},
                                 {"i8", {halide_type_int, 64}},   {"f2", {halide_type_float, 16}},
                                 {"f4", {halide_type_float, 32}}, {"f8", {halide_type_float, 64}}};
  if (descr.size() == 3 && std::strchr("<>|=", descr[0])) {
    for (const Known &known : kKnown) {
      if (descr.compare(1, 2, known.name) == 0) return known.type;
    }
  }
  throw FileError(path, "npy samples of type '" + descr + "'; expected b1, u1-u8, i1-i8 or f2-f8");
}

std::string descr_of(const std::string &path, halide_type_t type) {
  const char *kind = nullptr;
  if (type == halide_type_t(halide_type_uint, 1)) return "|b1";
  if (type.code == halide_type_uint) kind = "u";
  if (type.code == halide_type_int) kind = "i";
  if (type.code == halide_type_float) kind = "f";
  if (!kind || type.bits < 8) throw FileError(path, "npy cannot hold " + type_name(type));
  return std::string(type.bits == 8 ? "|" : "<") + kind + std::to_string(type.bytes());
}

/// The bytes an array needs; refuses size zero and more than 64 GiB.
uint64_t checked_bytes(const std::string &path, halide_type_t type,
                       const std::vector<int> &extents) {
  uint64_t bytes = type.bytes();
  for (const int extent : extents) {
    if (extent <= 0) throw FileError(path, "an array of size zero: " + extents_name(extents));
    bytes *= static_cast<uint64_t>(extent);
    if (bytes > kMaxBytes) throw FileError(path, "more than 64 GiB: " + extents_name(extents));
  }
  return bytes;
}

void check_length(const std::string &path, size_t have, uint64_t need) {
  if (have == need) return;
  throw FileError(path, std::string(have < need ? "truncated" : "too long") + ": " +
                            std::to_string(have) + " bytes of samples, expected " +
                            std::to_string(need));
}

void swap_bytes(Bytes &data, size_t size) {
  for (size_t i = 0; i + size <= data.size(); i += size) {
    std::reverse(data.begin() + static_cast<ptrdiff_t>(i),
                 data.begin() + static_cast<ptrdiff_t>(i + size));
  }
}

}  // namespace

Array decode_npy(const std::string &path, const Bytes &file) {
  if (file.size() < 12) throw FileError(path, "truncated: no npy header");
  const int version = file[6];
  if (version < 1 || version > 3) {
    throw FileError(path, "npy version " + std::to_string(version) + "; expected 1, 2 or 3");
  }
  const size_t start = version == 1 ? 10 : 12;
  size_t length = file[8] | size_t(file[9]) << 8;
  if (version > 1) length |= size_t(file[10]) << 16 | size_t(file[11]) << 24;
  if (length > kMostHeader)
    throw FileError(path, "an npy header of " + std::to_string(length) + " bytes");
  if (length > file.size() - start) throw FileError(path, "truncated in the npy header");
  const auto *text = reinterpret_cast<const char *>(file.data()) + start;
  const NpyHeader header(path, std::string(text, length));

  Array out;
  out.type = type_of(path, header.descr);
  out.extents = header.shape;
  if (!header.fortran_order) std::reverse(out.extents.begin(), out.extents.end());
  check_length(path, file.size() - start - length, checked_bytes(path, out.type, out.extents));
  out.data.assign(file.begin() + static_cast<ptrdiff_t>(start + length), file.end());
  if (header.descr[0] == '>') swap_bytes(out.data, out.type.bytes());
  return out;
}

Bytes encode_npy(const std::string &path, const halide_buffer_t &view) {
  const Array dense = dense_copy(view);
  std::string shape;
  for (size_t i = dense.extents.size(); i-- > 0;) shape += std::to_string(dense.extents[i]) + ", ";
  if (dense.extents.size() > 1) shape.resize(shape.size() - 2);
  if (dense.extents.size() == 1) shape.pop_back();
  std::string header = "{'descr': '" + descr_of(path, view.type) +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Samples start at a multiple of 64 bytes; the header ends with a line feed.
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const std::string magic("\x93NUMPY\x01\x00", 8);
  Bytes out(magic.begin(), magic.end());
  out.push_back(static_cast<uint8_t>(header.size() & 255));
  out.push_back(static_cast<uint8_t>(header.size() >> 8));
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), dense.data.begin(), dense.data.end());
  return out;
}

Array load_raw(const std::string &path, halide_type_t type, const std::vector<int> &extents) {
  const uint64_t bytes = checked_bytes(path, type, extents);
  Array out{type, extents, read_file(path, true), false};
  check_length(path, out.data.size(), bytes);
  return out;
}

}  // namespace calotype::io
