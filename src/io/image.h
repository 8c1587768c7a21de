// Pictures and arrays in files, on the runtime's buffer view only: png, jpg, tiff, pgm/ppm, npy, raw.
//
// Files come as an Array: dense, dimension 0 innermost. Pictures are planar [width, height, channels],
// always 3-D; a grey picture has one channel, transparency is a channel like any other. What a file
// contains is never trusted: sizes are checked against the file before memory is taken for them.
// Tests: test/unit/io.
#pragma once

#include "runtime/HalideRuntime.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace calotype::io {

/// A file that cannot be read or written; what() is "path: what was found, what was expected".
class FileError : public std::runtime_error {
public:
  FileError(const std::string &path, const std::string &what)
      : std::runtime_error(path + ": " + what) {}
};

/// Dense samples, dimension 0 innermost: sample (x, y, c) is number x + extents[0] * (y + extents[1] * c).
struct Array {
  halide_type_t type;
  std::vector<int> extents;
  std::vector<uint8_t> data;  // count() * type.bytes(), in the machine's byte order
  bool picture = false;       // its third dimension is channels: grey, grey and alpha, RGB, RGBA

  size_t count() const;
};

/// Reads a file of any known format, told by its first bytes, never by its name.
///   errors    FileError: cannot be opened, unknown format, truncated, damaged, a form of its format
///             that is not supported, of size zero, or too large: 64 GiB, where it is compressed 2 GiB once decoded
Array load(const std::string &path);

/// Writes a host buffer in the format of the path's extension (png, jpg, tif, pgm, ppm, npy, raw).
///   view      pictures: [width, height] or [width, height, channels], any strides and mins.
///             uint8 writes 8 bits; uint16 and float write 16 (float clamped to 0..1, * 65535, rounded,
///             NaN as 0); bool writes 0 and 255. jpg has 8 bits only: the rest is scaled down.
///             npy and raw: any type and rank, samples as they are
///   errors    FileError: unknown extension, a type or channel count the format lacks, a write that fails
void save(const std::string &path, const halide_buffer_t &view);

/// Fills a host buffer with an Array of the same extents, converting samples.
///   dst       allocated; its rank may differ by trailing dimensions of extent 1
///   rules     the same type is copied. uint8 -> uint16 * 257; uint16 -> uint8 to the nearest of / 257;
///             uint8 -> float / 255; uint16 -> float / 65535; float -> uint8, uint16 clamped to 0..1,
///             * 255 or 65535, rounded, NaN as 0; float32 <-> float64 by value; uint8, uint16 -> bool
///             from the middle of their range up. All else that is whole (bool, int8 ... uint64) goes by
///             value, to whole numbers only where it fits, and rounded to float. float is 32 or 64 bits
///   errors    std::invalid_argument, naming both types or extents, or the first sample that does not fit
void convert(const Array &source, halide_buffer_t &dst);

/// A picture with `channels` channels, more than it has: grey is repeated as red, green and blue; a fourth
/// channel is opaque.
Array with_channels(const Array &picture, int channels);

/// "float32", "uint16" ...
std::string type_name(halide_type_t type);

}  // namespace calotype::io
