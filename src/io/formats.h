// What the files of io share: whole files in memory, limits, and one decoder and encoder per format.
#pragma once

#include "io/image.h"

#include <cstdint>
#include <string>
#include <vector>

namespace calotype::io {

using Bytes = std::vector<uint8_t>;

/// A picture as file formats have it: rows from the top, channels interleaved, no padding.
struct Pixels {
  int width = 0, height = 0, channels = 0;
  int bits = 8;  // 8 or 16: unsigned; 32: float. In the machine's byte order
  Bytes data;

  size_t row_bytes() const { return size_t(width) * channels * (bits / 8); }
};

constexpr uint64_t kMaxBytes = uint64_t(64) << 30;  // of an array, and of a file of plain samples
constexpr uint64_t kMaxCompressed = uint64_t(2)
                                    << 30;  // of a compressed file, and of what it decodes to
constexpr int kMaxSide = 1 << 20;           // of a picture

/// `plain`: the samples as they are; else the first bytes tell whether the file is compressed, which bounds its size.
Bytes read_file(const std::string &path, bool plain = false);
/// What a buffer of so many bytes could not get: for FileError.
std::string no_memory(uint64_t bytes);
void write_file(const std::string &path, const Bytes &bytes);

/// Checks the size a header claims and takes the memory. `most_ratio` bounds decoded to file bytes where
/// the compression has such a bound, so that a small file cannot ask for a huge buffer; 0 for none.
void allocate_pixels(const std::string &path, Pixels &pixels, size_t file_bytes,
                     uint64_t most_ratio);

Pixels decode_png(const std::string &path, const Bytes &file);
Pixels decode_jpeg(const std::string &path, const Bytes &file);
Pixels decode_tiff(const std::string &path, const Bytes &file);
Pixels decode_pnm(const std::string &path, const Bytes &file);
Array decode_npy(const std::string &path, const Bytes &file);

Bytes encode_png(const std::string &path, const Pixels &pixels);
Bytes encode_jpeg(const std::string &path, const Pixels &pixels);
Bytes encode_tiff(const std::string &path, const Pixels &pixels);
Bytes encode_pnm(const std::string &path, const Pixels &pixels, int channels);
Bytes encode_npy(const std::string &path, const halide_buffer_t &view);

/// The samples of a buffer of any strides, dense, dimension 0 innermost.
Array dense_copy(const halide_buffer_t &view);

/// Calls `use(coordinates)` for each row of the view, x at its min.
template <typename Use> void for_each_row(const halide_buffer_t &view, Use use) {
  const int rank = view.dimensions;
  std::vector<int> at(static_cast<size_t>(rank > 0 ? rank : 1));
  for (int d = 0; d < rank; d++) {
    if (view.dim[d].extent <= 0) return;
    at[d] = view.dim[d].min;
  }
  while (true) {
    use(at.data());
    int d = 1;
    for (; d < rank; d++) {
      if (++at[d] < view.dim[d].min + view.dim[d].extent) break;
      at[d] = view.dim[d].min;
    }
    if (d >= rank) return;
  }
}

/// convert() without the checks of extents and memory; false where there is no such conversion.
bool convert_types(const Array &source, halide_buffer_t &dst);

/// "[512, 512, 3]"
std::string extents_name(const std::vector<int> &extents);
std::vector<int> extents_of(const halide_buffer_t &view);

}  // namespace calotype::io
