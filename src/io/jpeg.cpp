// JPEG through libjpeg, grey and RGB. As in png.cpp its errors are longjmps: functions with setjmp have
// no local with a destructor. Warnings about damaged data count as errors.
#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include "io/formats.h"

#include <csetjmp>

namespace calotype::io {

namespace {

constexpr int kQuality = 95;
constexpr int kMostScans = 200;  // of a progressive file; real ones have about ten

struct Failure {
  jpeg_error_mgr base;  // first: libjpeg hands back a pointer to it
  jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto *failure = reinterpret_cast<Failure *>(info->err);
  info->err->format_message(info, failure->message);
  longjmp(failure->leave, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level < 0) on_error(info);  // damaged data; positive levels are a trace
}

void init(Failure &failure, jpeg_error_mgr *&slot) {
  slot = jpeg_std_error(&failure.base);
  failure.base.error_exit = on_error;
  failure.base.emit_message = on_message;
  failure.message[0] = 0;
}

void limit_scans(j_common_ptr info) {
  const auto *in = reinterpret_cast<j_decompress_ptr>(info);
  if (in->input_scan_number > kMostScans) {
    auto *failure = reinterpret_cast<Failure *>(info->err);
    std::snprintf(failure->message, sizeof failure->message, "more than %d scans", kMostScans);
    longjmp(failure->leave, 1);
  }
}

struct Reader {
  jpeg_decompress_struct info = {};
  Failure failure;
  jpeg_progress_mgr progress = {};
  Pixels pixels;

  Reader() { init(failure, info.err); }
  ~Reader() { jpeg_destroy_decompress(&info); }
};

bool read_header(Reader &r, const Bytes &file) {
  if (setjmp(r.failure.leave)) return false;
  jpeg_create_decompress(&r.info);
  r.progress.progress_monitor = limit_scans;
  r.info.progress = &r.progress;
  jpeg_mem_src(&r.info, file.data(), file.size());
  jpeg_read_header(&r.info, TRUE);
  if (r.info.jpeg_color_space != JCS_GRAYSCALE) r.info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&r.info);
  r.pixels.width = static_cast<int>(r.info.output_width);
  r.pixels.height = static_cast<int>(r.info.output_height);
  r.pixels.channels = r.info.output_components;
  return true;
}

bool read_rows(Reader &r) {
  if (setjmp(r.failure.leave)) return false;
  while (r.info.output_scanline < r.info.output_height) {
    JSAMPROW row = r.pixels.data.data() + r.info.output_scanline * r.pixels.row_bytes();
    jpeg_read_scanlines(&r.info, &row, 1);
  }
  jpeg_finish_decompress(&r.info);
  return true;
}

struct Writer {
  jpeg_compress_struct info = {};
  Failure failure;
  unsigned char *out = nullptr;  // malloc'ed by libjpeg
  unsigned long size = 0;

  Writer() { init(failure, info.err); }
  ~Writer() {
    jpeg_destroy_compress(&info);
    std::free(out);
  }
};

bool write_all(Writer &w, const Pixels &pixels) {
  if (setjmp(w.failure.leave)) return false;
  jpeg_create_compress(&w.info);
  jpeg_mem_dest(&w.info, &w.out, &w.size);
  w.info.image_width = pixels.width;
  w.info.image_height = pixels.height;
  w.info.input_components = pixels.channels;
  w.info.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&w.info);
  jpeg_set_quality(&w.info, kQuality, TRUE);
  jpeg_start_compress(&w.info, TRUE);
  while (w.info.next_scanline < w.info.image_height) {
    JSAMPROW row =
        const_cast<JSAMPROW>(pixels.data.data() + w.info.next_scanline * pixels.row_bytes());
    jpeg_write_scanlines(&w.info, &row, 1);
  }
  jpeg_finish_compress(&w.info);
  return true;
}

}  // namespace

Pixels decode_jpeg(const std::string &path, const Bytes &file) {
  Reader reader;
  if (!read_header(reader, file)) {
    throw FileError(path, std::string("damaged JPEG: ") + reader.failure.message);
  }
  allocate_pixels(path, reader.pixels, file.size(), 0);
  if (!read_rows(reader)) {
    throw FileError(path, std::string("damaged JPEG: ") + reader.failure.message);
  }
  return std::move(reader.pixels);
}

Bytes encode_jpeg(const std::string &path, const Pixels &pixels) {
  if (pixels.channels != 1 && pixels.channels != 3) {
    throw FileError(path, "JPEG holds 1 or 3 channels, not " + std::to_string(pixels.channels));
  }
  if (pixels.width > JPEG_MAX_DIMENSION || pixels.height > JPEG_MAX_DIMENSION) {
    throw FileError(path, "JPEG sides have at most 65500 samples");
  }
  Writer writer;
  if (!write_all(writer, pixels)) {
    throw FileError(path, std::string("cannot be encoded: ") + writer.failure.message);
  }
  return Bytes(writer.out, writer.out + writer.size);
}

}  // namespace calotype::io
