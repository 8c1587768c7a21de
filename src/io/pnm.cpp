// The portable any-map formats: P2, P3 (text) and P5, P6 (binary), up to 16 bits.
//
// A maximum of 255 or 65535 is taken as it is; samples of another maximum are scaled to the full range
// of 8 or 16 bits, to the nearest, because that is what the number in the header means.
#include "io/formats.h"

#include <cctype>
#include <cstring>

namespace calotype::io {

namespace {

class Scanner {
public:
  Scanner(const std::string &path, const Bytes &file, size_t at)
      : path_(path), file_(file), at_(at) {}

  /// The next decimal number, at most `most`, past white space and comments.
  uint32_t number(const char *what, uint32_t most) {
    skip_space();
    uint32_t value = 0;
    bool any = false;
    for (; at_ < file_.size() && std::isdigit(file_[at_]); at_++, any = true) {
      value = value * 10 + (file_[at_] - '0');
      if (value > most)
        throw FileError(path_, std::string(what) + " above " + std::to_string(most));
    }
    if (!any) {
      const char *problem = at_ < file_.size() ? "damaged PNM: no number for " : "truncated: no ";
      throw FileError(path_, problem + std::string(what));
    }
    return value;
  }

  /// Past the one white-space byte that ends a binary header.
  size_t data_start() {
    if (at_ >= file_.size() || !std::isspace(file_[at_])) {
      throw FileError(path_, "damaged PNM: no white space after the header");
    }
    return at_ + 1;
  }

  size_t left() const { return file_.size() - at_; }

private:
  void skip_space() {
    while (at_ < file_.size()) {
      if (file_[at_] == '#') {
        while (at_ < file_.size() && file_[at_] != '\n') at_++;
      } else if (std::isspace(file_[at_])) {
        at_++;
      } else {
        return;
      }
    }
  }

  const std::string &path_;
  const Bytes &file_;
  size_t at_;
};

class Store {
public:
  Store(const std::string &path, Pixels &pixels, uint32_t most)
      : path_(path), pixels_(pixels), most_(most), full_(most < 256 ? 255 : 65535) {}

  void put(size_t i, uint32_t value) {
    if (value > most_) {
      throw FileError(path_, "a sample of " + std::to_string(value) + " above the maximum " +
                                 std::to_string(most_));
    }
    if (most_ != full_)
      value = static_cast<uint32_t>((uint64_t(value) * full_ + most_ / 2) / most_);
    if (full_ == 255) {
      pixels_.data[i] = static_cast<uint8_t>(value);
    } else {
      const auto wide = static_cast<uint16_t>(value);
      std::memcpy(&pixels_.data[2 * i], &wide, 2);
    }
  }

private:
  const std::string &path_;
  Pixels &pixels_;
  uint32_t most_, full_;
};

}  // namespace

Pixels decode_pnm(const std::string &path, const Bytes &file) {
  const char kind = static_cast<char>(file[1]);
  const bool text = kind == '2' || kind == '3';
  Scanner scanner(path, file, 2);
  Pixels pixels;
  pixels.width = static_cast<int>(scanner.number("width", kMaxSide));
  pixels.height = static_cast<int>(scanner.number("height", kMaxSide));
  pixels.channels = kind == '2' || kind == '5' ? 1 : 3;
  const uint32_t most = scanner.number("maximum", 65535);
  if (most == 0) throw FileError(path, "damaged PNM: a maximum of 0");
  pixels.bits = most < 256 ? 8 : 16;
  allocate_pixels(path, pixels, file.size(), 1);  // no compression: text is larger still
  const size_t count = pixels.data.size() / (pixels.bits / 8);
  Store store(path, pixels, most);
  if (text) {
    for (size_t i = 0; i < count; i++) store.put(i, scanner.number("sample", 65535));
    return pixels;
  }
  const size_t start = scanner.data_start();
  if (file.size() - start < pixels.data.size()) {
    throw FileError(path, "truncated: " + std::to_string(file.size() - start) +
                              " bytes of samples, expected " + std::to_string(pixels.data.size()));
  }
  for (size_t i = 0; i < count; i++) {
    const uint8_t *p = file.data() + start + i * (pixels.bits / 8);
    store.put(i, pixels.bits == 8 ? p[0] : p[0] << 8 | p[1]);  // 16 bits: the high byte first
  }
  return pixels;
}

Bytes encode_pnm(const std::string &path, const Pixels &pixels, int channels) {
  if (pixels.channels != channels) {
    throw FileError(path,
                    std::string(channels == 1 ? "PGM holds 1 channel" : "PPM holds 3 channels") +
                        ", not " + std::to_string(pixels.channels));
  }
  const std::string header = std::string(channels == 1 ? "P5" : "P6") + "\n" +
                             std::to_string(pixels.width) + " " + std::to_string(pixels.height) +
                             "\n" + (pixels.bits == 8 ? "255" : "65535") + "\n";
  Bytes out(header.begin(), header.end());
  out.insert(out.end(), pixels.data.begin(), pixels.data.end());
  if (pixels.bits == 16) {
    for (size_t i = header.size(); i + 1 < out.size(); i += 2) std::swap(out[i], out[i + 1]);
  }
  return out;
}

}  // namespace calotype::io
