// Loading by first bytes, saving by extension, and the sample conversions stated in image.h.
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

// ---- sample conversions ----------------------------------------------------------------------------

template <typename To, typename From> To convert_sample(From v) {
  constexpr bool from_real = std::is_floating_point<From>::value;
  constexpr bool to_real = std::is_floating_point<To>::value;
  if constexpr (std::is_same<From, To>::value || (from_real && to_real)) {
    return static_cast<To>(v);
  } else if constexpr (to_real) {
    return static_cast<To>(v) / static_cast<To>(From(~From(0)));
  } else if constexpr (from_real) {
    if (!(v > 0)) return 0;  // NaN too
    const double most = To(~To(0));
    return static_cast<To>(std::lround(std::min<double>(v, 1.0) * most));
  } else if constexpr (sizeof(To) > sizeof(From)) {
    return static_cast<To>(v * 257);
  } else {
    return static_cast<To>((v + 128u) / 257u);  // nearest; 65535 -> 255, and undoes * 257
  }
}

/// Calls `use(coordinates)` for each row of the view, x at its min.
template <typename Use> void for_each_row(const halide_buffer_t &view, Use use) {
  const int rank = view.dimensions;
  std::vector<int> at(std::max(rank, 1));
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

template <typename To, typename From> void convert_all(const Array &source, halide_buffer_t &dst) {
  const From *in = reinterpret_cast<const From *>(source.data.data());
  const int extent = dst.dimensions ? dst.dim[0].extent : 1;
  const ptrdiff_t stride = dst.dimensions ? dst.dim[0].stride : 1;
  for_each_row(dst, [&](const int *at) {
    To *out = reinterpret_cast<To *>(dst.address_of(at));
    for (int x = 0; x < extent; x++) out[x * stride] = convert_sample<To>(*in++);
  });
}

template <typename From> bool convert_from(const Array &source, halide_buffer_t &dst) {
  const halide_type_t to = dst.type;
  if (to == halide_type_t(halide_type_uint, 8))
    convert_all<uint8_t, From>(source, dst);
  else if (to == halide_type_t(halide_type_uint, 16))
    convert_all<uint16_t, From>(source, dst);
  else if (to == halide_type_t(halide_type_float, 32))
    convert_all<float, From>(source, dst);
  else if (to == halide_type_t(halide_type_float, 64))
    convert_all<double, From>(source, dst);
  else
    return false;
  return true;
}

template <typename Word> void copy_words(const Array &source, halide_buffer_t &dst) {
  convert_all<Word, Word>(source, dst);
}

void copy_same_type(const Array &source, halide_buffer_t &dst) {
  switch (source.type.bytes()) {
    case 1: copy_words<uint8_t>(source, dst); break;
    case 2: copy_words<uint16_t>(source, dst); break;
    case 4: copy_words<uint32_t>(source, dst); break;
    default: copy_words<uint64_t>(source, dst); break;
  }
}

bool convert_types(const Array &source, halide_buffer_t &dst) {
  const halide_type_t from = source.type;
  if (from == dst.type) return copy_same_type(source, dst), true;
  if (from == halide_type_t(halide_type_uint, 8)) return convert_from<uint8_t>(source, dst);
  if (from == halide_type_t(halide_type_uint, 16)) return convert_from<uint16_t>(source, dst);
  if (from == halide_type_t(halide_type_float, 32)) return convert_from<float>(source, dst);
  if (from == halide_type_t(halide_type_float, 64)) return convert_from<double>(source, dst);
  return false;
}

std::vector<int> without_trailing_ones(std::vector<int> extents) {
  while (!extents.empty() && extents.back() == 1) extents.pop_back();
  return extents;
}

// ---- saving ----------------------------------------------------------------------------------------

/// A dense [width, height, channels] of `type` made from a view, for a picture file.
Array picture_samples(const std::string &path, const halide_buffer_t &view, halide_type_t type) {
  Array dense = dense_copy(view);
  if (dense.type == halide_type_t(halide_type_uint, 1)) {
    for (uint8_t &v : dense.data) v = v ? 255 : 0;
    dense.type = halide_type_t(halide_type_uint, 8);
  }
  Array out{type, dense.extents, {}};
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
  if (!convert_types(dense, target)) {
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
      throw FileError(path, "more than 2 GiB: " + extents_name(extents_of(view)));
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
  Array out{view.type, extents_of(view), {}};
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
  const Bytes file = read_file(path);
  if (file.empty()) throw FileError(path, "the file is empty");
  if (starts_with(file, "\x93NUMPY", 6)) return decode_npy(path, file);
  const Pixels pixels = decode_picture(path, file);
  Array out;
  out.type = pixels.bits == 32 ? halide_type_t(halide_type_float, 32)
                               : halide_type_t(halide_type_uint, static_cast<uint8_t>(pixels.bits));
  out.extents = {pixels.width, pixels.height, pixels.channels};
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

void convert(const Array &source, halide_buffer_t &dst) {
  const std::vector<int> wanted = extents_of(dst);
  if (without_trailing_ones(wanted) != without_trailing_ones(source.extents)) {
    throw std::invalid_argument("the samples have extents " + extents_name(source.extents) +
                                ", the buffer " + extents_name(wanted));
  }
  if (!dst.host) throw std::invalid_argument("the buffer has no host memory");
  if (!convert_types(source, dst)) {
    throw std::invalid_argument("no conversion from " + type_name(source.type) + " to " +
                                type_name(dst.type));
  }
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
