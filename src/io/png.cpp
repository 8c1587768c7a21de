// PNG through libpng. Its errors are longjmps, so every function that calls setjmp has no local with a
// destructor: what must survive lives in the caller's Codec.
#include <png.h>

#include "io/formats.h"

#include <cstring>

namespace calotype::io {

namespace {

constexpr uint64_t kDeflateRatio = 1100;  // deflate packs at most 1032 : 1

struct Codec {
  png_structp png = nullptr;
  png_infop info = nullptr;
  bool reading = false;
  const Bytes *file = nullptr;  // what is read
  size_t at = 0;
  Bytes out;  // what is written
  Pixels pixels;
  std::vector<png_bytep> rows;
  char message[160] = "";

  ~Codec() {
    if (reading)
      png_destroy_read_struct(&png, &info, nullptr);
    else
      png_destroy_write_struct(&png, &info);
  }
  void point_rows() {
    for (int y = 0; y < pixels.height; y++) {
      rows.push_back(pixels.data.data() + y * pixels.row_bytes());
    }
  }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto *codec = static_cast<Codec *>(png_get_error_ptr(png));
  std::snprintf(codec->message, sizeof codec->message, "%s", message);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, size_t count) {
  auto *codec = static_cast<Codec *>(png_get_io_ptr(png));
  if (count > codec->file->size() - codec->at) png_error(png, "truncated");
  std::memcpy(to, codec->file->data() + codec->at, count);
  codec->at += count;
}

void append_bytes(Codec *codec, png_bytep from, size_t count) {
  codec->out.insert(codec->out.end(), from, from + count);
}

void write_bytes(png_structp png, png_bytep from, size_t count) {
  append_bytes(static_cast<Codec *>(png_get_io_ptr(png)), from, count);
}

void flush(png_structp) {}

bool read_header(Codec &codec) {
  if (setjmp(png_jmpbuf(codec.png))) return false;
  png_set_user_limits(codec.png, kMaxSide, kMaxSide);
  png_set_chunk_malloc_max(codec.png, 1 << 24);
  png_set_chunk_cache_max(codec.png, 128);
  png_set_read_fn(codec.png, &codec, read_bytes);
  png_read_info(codec.png, codec.info);
  png_set_expand(
      codec.png);  // palettes to colours, 1, 2 and 4 bits to 8, a transparent colour to alpha
  if (png_get_bit_depth(codec.png, codec.info) == 16) png_set_swap(codec.png);
  png_set_interlace_handling(codec.png);
  png_read_update_info(codec.png, codec.info);
  codec.pixels.width = static_cast<int>(png_get_image_width(codec.png, codec.info));
  codec.pixels.height = static_cast<int>(png_get_image_height(codec.png, codec.info));
  codec.pixels.channels = png_get_channels(codec.png, codec.info);
  codec.pixels.bits = png_get_bit_depth(codec.png, codec.info);
  return true;
}

bool read_rows(Codec &codec) {
  if (setjmp(png_jmpbuf(codec.png))) return false;
  png_read_image(codec.png, codec.rows.data());
  png_read_end(codec.png, nullptr);
  return true;
}

bool write_all(Codec &codec) {
  static constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                     PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(codec.png))) return false;
  png_set_user_limits(codec.png, kMaxSide, kMaxSide);
  png_set_write_fn(codec.png, &codec, write_bytes, flush);
  // Level 3 writes a photo in half the time of 6, 3 % larger.
  png_set_compression_level(codec.png, 3);
  png_set_IHDR(codec.png, codec.info, codec.pixels.width, codec.pixels.height, codec.pixels.bits,
               kColours[codec.pixels.channels - 1], PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(codec.png, codec.info);
  if (codec.pixels.bits == 16) png_set_swap(codec.png);
  png_write_image(codec.png, codec.rows.data());
  png_write_end(codec.png, codec.info);
  return true;
}

}  // namespace

Pixels decode_png(const std::string &path, const Bytes &file) {
  Codec codec;
  codec.reading = true;
  codec.file = &file;
  codec.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning);
  codec.info = codec.png ? png_create_info_struct(codec.png) : nullptr;
  if (!codec.info) throw FileError(path, "libpng cannot start");
  if (!read_header(codec)) throw FileError(path, std::string("damaged PNG: ") + codec.message);
  allocate_pixels(path, codec.pixels, file.size(), kDeflateRatio);
  codec.point_rows();
  if (!read_rows(codec)) throw FileError(path, std::string("damaged PNG: ") + codec.message);
  return std::move(codec.pixels);
}

Bytes encode_png(const std::string &path, const Pixels &pixels) {
  if (pixels.channels > 4) {
    throw FileError(path, "PNG holds 1 to 4 channels, not " + std::to_string(pixels.channels));
  }
  Codec codec;
  codec.pixels = pixels;
  codec.point_rows();
  codec.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning);
  codec.info = codec.png ? png_create_info_struct(codec.png) : nullptr;
  if (!codec.info) throw FileError(path, "libpng cannot start");
  if (!write_all(codec)) throw FileError(path, std::string("cannot be encoded: ") + codec.message);
  return std::move(codec.out);
}

}  // namespace calotype::io
