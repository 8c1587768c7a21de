// TIFF through libtiff, in memory: grey or RGB with any further channels, 8 or 16 bits unsigned or 32 bits
// float, in strips. Tiled files, palettes and other colour models are refused by name.
#include <tiffio.h>

#include "io/formats.h"

#include <cstdarg>
#include <cstring>
#include <memory>

namespace calotype::io {

namespace {

// LZW, the densest of the usual compressions, repeats 4096 bytes in 12 bits at best.
constexpr uint64_t kMostRatio = 4096;
constexpr tmsize_t kMostSingleAllocation = tmsize_t(1) << 30;

struct Memory {
  Bytes bytes;
  uint64_t at = 0;
  std::string message;
};

Memory *memory_of(thandle_t handle) { return static_cast<Memory *>(handle); }

tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t count) {
  Memory *m = memory_of(handle);
  if (m->at >= m->bytes.size() || count <= 0) return 0;
  const auto got = std::min<uint64_t>(count, m->bytes.size() - m->at);
  std::memcpy(to, m->bytes.data() + m->at, got);
  m->at += got;
  return static_cast<tmsize_t>(got);
}

tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t count) {
  Memory *m = memory_of(handle);
  if (count <= 0) return 0;
  if (m->bytes.size() < m->at + count) m->bytes.resize(m->at + count);
  std::memcpy(m->bytes.data() + m->at, from, count);
  m->at += count;
  return count;
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  Memory *m = memory_of(handle);
  if (whence == SEEK_CUR) offset += m->at;
  if (whence == SEEK_END) offset += m->bytes.size();
  return m->at = offset;
}

toff_t size_of(thandle_t handle) { return memory_of(handle)->bytes.size(); }
int close_nothing(thandle_t) { return 0; }

int on_error(TIFF *, void *user, const char *, const char *format, va_list arguments) {
  char text[200];
  std::vsnprintf(text, sizeof text, format, arguments);
  auto *m = static_cast<Memory *>(user);
  if (m->message.empty()) m->message = text;  // the first is the cause, the rest follow from it
  return 1;
}

int on_warning(TIFF *, void *, const char *, const char *, va_list) { return 1; }

struct CloseTiff {
  void operator()(TIFF *tiff) const { TIFFClose(tiff); }
};
using TiffHandle = std::unique_ptr<TIFF, CloseTiff>;

TiffHandle open(Memory &memory, const char *mode) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, on_error, &memory);
  TIFFOpenOptionsSetWarningHandlerExtR(options, on_warning, nullptr);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMostSingleAllocation);
  TIFF *tiff = TIFFClientOpenExt("memory", mode, &memory, read_bytes, write_bytes, seek,
                                 close_nothing, size_of, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  return TiffHandle(tiff);
}

struct Layout {
  uint16_t bits = 1, channels = 1, format = SAMPLEFORMAT_UINT, planes = PLANARCONFIG_CONTIG;
  uint16_t photometric = PHOTOMETRIC_MINISBLACK;
};

Layout layout_of(TIFF *tiff) {
  Layout layout;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &layout.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &layout.channels);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &layout.format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &layout.planes);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &layout.photometric);
  return layout;
}

void check_layout(const std::string &path, TIFF *tiff, const Layout &layout) {
  const bool whole = layout.format == SAMPLEFORMAT_UINT && (layout.bits == 8 || layout.bits == 16);
  const bool real = layout.format == SAMPLEFORMAT_IEEEFP && layout.bits == 32;
  if (!whole && !real) {
    throw FileError(path, "TIFF with " + std::to_string(layout.bits) + "-bit samples of format " +
                              std::to_string(layout.format) +
                              "; expected 8 or 16 bits unsigned or 32 bits float");
  }
  if (layout.photometric != PHOTOMETRIC_MINISBLACK && layout.photometric != PHOTOMETRIC_RGB) {
    throw FileError(path, "TIFF of colour model " + std::to_string(layout.photometric) +
                              "; expected grey (1) or RGB (2)");
  }
  if (TIFFIsTiled(tiff)) throw FileError(path, "a tiled TIFF; expected one in strips");
}

/// Rows of one plane of `channels_in_row` channels, starting at channel `first` of the picture.
bool read_plane(TIFF *tiff, Pixels &pixels, uint16_t plane, int channels_in_row) {
  const size_t sample = pixels.bits / 8, count = size_t(pixels.width) * channels_in_row;
  const auto bytes = static_cast<size_t>(TIFFScanlineSize(tiff));
  if (bytes != count * sample) return false;
  Bytes row(bytes);
  for (int y = 0; y < pixels.height; y++) {
    if (TIFFReadScanline(tiff, row.data(), y, plane) < 0) return false;
    uint8_t *out = pixels.data.data() + y * pixels.row_bytes();
    if (channels_in_row == pixels.channels) {
      std::memcpy(out, row.data(), bytes);
      continue;
    }
    for (int x = 0; x < pixels.width; x++) {
      std::memcpy(out + (size_t(x) * pixels.channels + plane) * sample, &row[x * sample], sample);
    }
  }
  return true;
}

}  // namespace

Pixels decode_tiff(const std::string &path, const Bytes &file) {
  Memory memory;
  memory.bytes = file;
  const TiffHandle tiff = open(memory, "rm");
  if (!tiff) throw FileError(path, "damaged TIFF: " + memory.message);
  const Layout layout = layout_of(tiff.get());
  check_layout(path, tiff.get(), layout);
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  Pixels pixels;
  pixels.width = static_cast<int>(std::min<uint32_t>(width, INT32_MAX));
  pixels.height = static_cast<int>(std::min<uint32_t>(height, INT32_MAX));
  pixels.channels = layout.channels;
  pixels.bits = layout.bits;
  allocate_pixels(path, pixels, file.size(), kMostRatio);
  const bool separate = layout.planes == PLANARCONFIG_SEPARATE && pixels.channels > 1;
  for (int c = 0; c < (separate ? pixels.channels : 1); c++) {
    if (!read_plane(tiff.get(), pixels, static_cast<uint16_t>(c), separate ? 1 : pixels.channels)) {
      throw FileError(path, "damaged or truncated TIFF: " + memory.message);
    }
  }
  return pixels;
}

Bytes encode_tiff(const std::string &path, const Pixels &pixels) {
  Memory memory;
  TiffHandle tiff = open(memory, "w");
  if (!tiff) throw FileError(path, "cannot be encoded: " + memory.message);
  TIFF *t = tiff.get();
  const bool colour = pixels.channels >= 3;
  TIFFSetField(t, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(pixels.width));
  TIFFSetField(t, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(pixels.height));
  TIFFSetField(t, TIFFTAG_BITSPERSAMPLE, pixels.bits);
  TIFFSetField(t, TIFFTAG_SAMPLESPERPIXEL, pixels.channels);
  TIFFSetField(t, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(t, TIFFTAG_PHOTOMETRIC, colour ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  TIFFSetField(t, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(t, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
  const int extra = pixels.channels - (colour ? 3 : 1);
  if (extra > 0) {
    const std::vector<uint16_t> kinds(extra, EXTRASAMPLE_UNSPECIFIED);
    TIFFSetField(t, TIFFTAG_EXTRASAMPLES, static_cast<uint16_t>(extra), kinds.data());
  }
  TIFFSetField(t, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(t, 0));
  Bytes row(pixels.row_bytes());
  for (int y = 0; y < pixels.height; y++) {
    // A copy: libtiff's predictor works in place.
    std::memcpy(row.data(), pixels.data.data() + y * pixels.row_bytes(), row.size());
    if (TIFFWriteScanline(t, row.data(), y, 0) < 0) {
      throw FileError(path, "cannot be encoded: " + memory.message);
    }
  }
  tiff.reset();  // writes the directory
  return std::move(memory.bytes);
}

}  // namespace calotype::io
