// Loading by first bytes, saving by extension. Sample conversions: convert.cpp.
#include "io/image.h"

#include "io/formats.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace calotype::io {

namespace {

bool starts_with(const Bytes &file, const char *magic, size_t length) {
  return file.size() >= length && std::memcmp(file.data(), magic, length) == 0;
}

Pixels decode_picture(const std::string &path, const Bytes &file) {
  if (starts_with(file, "\x89PNG", 4)) return decode_png(path, file);
  if (starts_with(file, "\xff\xd8\xff", 3)) return decode_jpeg(path, file);
  if (starts_with(file, "II*\0", 4) || starts_with(file, "MM\0*", 4))
    return decode_tiff(path, file);
  if (starts_with(file, "II+\0", 4) || starts_with(file, "MM\0+", 4))
    return decode_tiff(path, file);
  if (file.size() > 1 && file[0] == 'P' && std::strchr("2356", file[1]))
    return decode_pnm(path, file);
  throw FileError(path, "unknown format; expected png, jpg, tiff, pgm, ppm or npy");
}

template <typename T> void planar_from(const Pixels &pixels, T *planar) {
  const size_t area = size_t(pixels.width) * pixels.height;
  const T *in = reinterpret_cast<const T *>(pixels.data.data());
  for (size_t i = 0; i < area; i++) {
    for (int c = 0; c < pixels.channels; c++) planar[c * area + i] = *in++;
  }
}

template <typename T> void interleaved_from(const T *planar, Pixels &pixels) {
  const size_t area = size_t(pixels.width) * pixels.height;
  T *out = reinterpret_cast<T *>(pixels.data.data());
  for (size_t i = 0; i < area; i++) {
    for (int c = 0; c < pixels.channels; c++) *out++ = planar[c * area + i];
  }
}

// ---- saving ----------------------------------------------------------------------------------------

/// A dense [width, height, channels] of `type` made from a view, for a picture file.
Array picture_samples(const std::string &path, const halide_buffer_t &view, halide_type_t type) {
  Array dense = dense_copy(view);
  if (dense.type == halide_type_t(halide_type_uint, 1)) {
    for (uint8_t &v : dense.data) v = v ? 255 : 0;
    dense.type = halide_type_t(halide_type_uint, 8);
  }
  const bool scaled = dense.type.code == halide_type_float ||
                      (dense.type.code == halide_type_uint && dense.type.bits <= 16);
  Array out{type, dense.extents, {}, false};
  out.data.resize(out.count() * type.bytes());
  std::vector<halide_dimension_t> dims;
  int stride = 1;
  for (const int extent : out.extents) {
    dims.emplace_back(0, extent, stride);
    stride *= extent;
  }
  halide_buffer_t target = {};
  target.host = out.data.data();
  target.type = type;
  target.dimensions = static_cast<int>(dims.size());
  target.dim = dims.data();
  if (!scaled || !convert_types(dense, target)) {
    throw FileError(path, "a picture file cannot hold " + type_name(view.type) +
                              "; expected bool, uint8, uint16 or float (or save as .npy)");
  }
  return out;
}

Pixels pixels_of(const std::string &path, const halide_buffer_t &view, bool eight_bits) {
  if (view.dimensions < 2 || view.dimensions > 3) {
    throw FileError(path, "a picture has 2 or 3 dimensions [width, height, channels], not " +
                              std::to_string(view.dimensions));
  }
  const bool narrow = eight_bits || (view.type.code == halide_type_uint && view.type.bits <= 8);
  const Array samples =
      picture_samples(path, view, halide_type_t(halide_type_uint, narrow ? 8 : 16));
  Pixels pixels;
  pixels.width = samples.extents[0];
  pixels.height = samples.extents[1];
  pixels.channels = view.dimensions == 3 ? samples.extents[2] : 1;
  pixels.bits = narrow ? 8 : 16;
  pixels.data.resize(samples.data.size());
  if (narrow)
    interleaved_from(samples.data.data(), pixels);
  else
    interleaved_from(reinterpret_cast<const uint16_t *>(samples.data.data()), pixels);
  return pixels;
}

std::string lower_extension(const std::string &path) {
  const size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && slash > dot)) return "";
  std::string extension = path.substr(dot + 1);
  for (char &c : extension) c = (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

void check_view(const std::string &path, const halide_buffer_t &view) {
  uint64_t bytes = view.type.bytes();
  for (int d = 0; d < view.dimensions; d++) {
    const int extent = view.dim[d].extent;
    if (extent <= 0) {
      throw FileError(path, "cannot save a buffer of size zero: " + extents_name(extents_of(view)));
    }
    bytes *= static_cast<uint64_t>(extent);
    if (bytes > kMaxBytes) {
      throw FileError(path, "more than 64 GiB: " + extents_name(extents_of(view)));
    }
  }
  if (!view.host) throw FileError(path, "the buffer to save has no host memory");
}

}  // namespace

size_t Array::count() const {
  size_t n = 1;
  for (const int extent : extents) n *= static_cast<size_t>(extent);
  return n;
}

Array dense_copy(const halide_buffer_t &view) {
  Array out{view.type, extents_of(view), {}, false};
  const size_t sample = view.type.bytes();
  out.data.resize(out.count() * sample);
  uint8_t *to = out.data.data();
  const int extent = view.dimensions ? view.dim[0].extent : 1;
  const ptrdiff_t step =
      view.dimensions ? view.dim[0].stride * ptrdiff_t(sample) : ptrdiff_t(sample);
  for_each_row(view, [&](const int *at) {
    const uint8_t *from = view.address_of(at);
    if (step == ptrdiff_t(sample)) {
      std::memcpy(to, from, extent * sample);
      to += extent * sample;
      return;
    }
    for (int x = 0; x < extent; x++, from += step, to += sample) std::memcpy(to, from, sample);
  });
  return out;
}

Array load(const std::string &path) {
  const Bytes file = read_file(path, false);
  if (file.empty()) throw FileError(path, "the file is empty");
  if (starts_with(file, "\x93NUMPY", 6)) return decode_npy(path, file);
  const Pixels pixels = decode_picture(path, file);
  Array out;
  out.type = pixels.bits == 32 ? halide_type_t(halide_type_float, 32)
                               : halide_type_t(halide_type_uint, static_cast<uint8_t>(pixels.bits));
  out.extents = {pixels.width, pixels.height, pixels.channels};
  out.picture = true;
  out.data.resize(pixels.data.size());
  if (pixels.bits == 8)
    planar_from(pixels, out.data.data());
  else if (pixels.bits == 16)
    planar_from(pixels, reinterpret_cast<uint16_t *>(out.data.data()));
  else
    planar_from(pixels, reinterpret_cast<uint32_t *>(out.data.data()));
  return out;
}

void save(const std::string &path, const halide_buffer_t &view) {
  check_view(path, view);
  const std::string extension = lower_extension(path);
  if (extension == "npy") return write_file(path, encode_npy(path, view));
  if (extension == "raw" || extension == "bin") return write_file(path, dense_copy(view).data);
  if (extension == "png") return write_file(path, encode_png(path, pixels_of(path, view, false)));
  if (extension == "tif" || extension == "tiff") {
    return write_file(path, encode_tiff(path, pixels_of(path, view, false)));
  }
  if (extension == "jpg" || extension == "jpeg") {
    return write_file(path, encode_jpeg(path, pixels_of(path, view, true)));
  }
  if (extension == "pgm")
    return write_file(path, encode_pnm(path, pixels_of(path, view, false), 1));
  if (extension == "ppm")
    return write_file(path, encode_pnm(path, pixels_of(path, view, false), 3));
  throw FileError(path, "unknown extension; expected png, jpg, tif, pgm, ppm, npy or raw");
}

Array with_channels(const Array &picture, int channels) {
  const int had = picture.extents.at(2);
  Array out{picture.type, {picture.extents[0], picture.extents[1], channels}, {}, true};
  const size_t plane = picture.data.size() / static_cast<size_t>(had);
  out.data.resize(plane * static_cast<size_t>(channels));
  const bool grey = had < 3;
  for (int c = 0; c < channels; c++) {
    uint8_t *to = out.data.data() + plane * static_cast<size_t>(c);
    // The plane it comes from: -1 for opaque.
    const int from = c < 3 ? (grey ? 0 : c) : (had == 2 ? 1 : had > 3 ? 3 : -1);
    if (from >= 0) {
      std::memcpy(to, picture.data.data() + plane * static_cast<size_t>(from), plane);
    } else if (picture.type.code == halide_type_float) {
      const float opaque = 1.0f;
      for (size_t i = 0; i + sizeof opaque <= plane; i += sizeof opaque) {
        std::memcpy(to + i, &opaque, sizeof opaque);
      }
    } else {
      std::memset(to, 0xff, plane);
    }
  }
  return out;
}

std::string type_name(halide_type_t type) {
  static const char *const kNames[] = {"int", "uint", "float", "handle", "bfloat"};
  if (type == halide_type_t(halide_type_uint, 1)) return "bool";
  const unsigned code = type.code;
  return (code < 5 ? kNames[code] : "type") + std::to_string(type.bits);
}

std::string extents_name(const std::vector<int> &extents) {
  std::string text = "[";
  for (size_t i = 0; i < extents.size(); i++) {
    text += (i ? ", " : "") + std::to_string(extents[i]);
  }
  return text + "]";
}

std::vector<int> extents_of(const halide_buffer_t &view) {
  std::vector<int> extents;
  for (int d = 0; d < view.dimensions; d++) extents.push_back(view.dim[d].extent);
  return extents;
}

}  // namespace calotype::io
