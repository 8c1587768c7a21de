// Whole files in and out of memory, and the size check that stands before every allocation.
#include "io/formats.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>

namespace calotype::io {

namespace {

struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};

std::string last_error() { return std::strerror(errno); }

bool is_plain(const Bytes &start, size_t size) {
  const auto begins = [&](const char *magic, size_t n) {
    return size >= n && std::memcmp(start.data(), magic, n) == 0;
  };
  return begins("\x93NUMPY", 6) || begins("P5", 2) || begins("P6", 2);
}

}  // namespace

std::string no_memory(uint64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "no memory for its %.3g GB", static_cast<double>(bytes) / 1e9);
  return text;
}

Bytes read_file(const std::string &path, bool plain) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw FileError(path, "cannot be opened: " + last_error());
  struct stat status;
  if (fstat(fileno(file.get()), &status) != 0) {
    throw FileError(path, "cannot be read: " + last_error());
  }
  if (S_ISDIR(status.st_mode)) throw FileError(path, "is a folder");
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    throw FileError(path, "is a device, expected a file");  // it may have no end
  }
  Bytes bytes(1 << 16);
  size_t used = std::fread(bytes.data(), 1, bytes.size(), file.get());
  const bool regular = S_ISREG(status.st_mode);
  const auto size = static_cast<uint64_t>(std::max<int64_t>(status.st_size, 0));
  // A pipe may have no end.
  const uint64_t most = regular && (plain || is_plain(bytes, used)) ? kMaxBytes : kMaxCompressed;
  const auto refuse = [&] {
    throw FileError(path, "is larger than " + std::to_string(most >> 30) + " GiB");
  };
  if (regular && size > most) refuse();
  try {
    if (regular && size > used) bytes.resize(size + 1);
    for (;;) {
      if (used > most) refuse();
      if (used == bytes.size())  // grows by half: nobody knows the size of a pipe
        bytes.resize(std::min<uint64_t>(used + used / 2, most + 1));
      const size_t got = std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
      if (got == 0) break;
      used += got;
    }
  } catch (const std::bad_alloc &) {
    throw FileError(path, no_memory(std::max<uint64_t>(size, used)));
  }
  if (std::ferror(file.get())) throw FileError(path, "cannot be read: " + last_error());
  bytes.resize(used);
  return bytes;
}

void write_file(const std::string &path, const Bytes &bytes) {
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "wb"));
  if (!file) throw FileError(path, "cannot be written: " + last_error());
  const bool written =
      bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  const bool closed = std::fclose(file.release()) == 0;
  if (!written || !closed) {
    const std::string why = last_error();
    std::remove(path.c_str());  // half a picture would be taken for a whole one
    throw FileError(path, "cannot be written: " + why);
  }
}

void allocate_pixels(const std::string &path, Pixels &pixels, size_t file_bytes,
                     uint64_t most_ratio) {
  const std::string size = std::to_string(pixels.width) + " x " + std::to_string(pixels.height) +
                           " x " + std::to_string(pixels.channels);
  if (pixels.width <= 0 || pixels.height <= 0 || pixels.channels <= 0) {
    throw FileError(path, "a picture of size zero: " + size);
  }
  if (pixels.width > kMaxSide || pixels.height > kMaxSide || pixels.channels > 64) {
    throw FileError(path, "too large: " + size);
  }
  const uint64_t bytes = uint64_t(pixels.row_bytes()) * pixels.height;  // < 2^50
  const uint64_t most = most_ratio == 1 ? kMaxBytes : kMaxCompressed;
  if (bytes > most) {
    throw FileError(path, "more than " + std::to_string(most >> 30) + " GiB once decoded: " + size);
  }
  if (most_ratio && bytes / most_ratio > file_bytes) {
    throw FileError(path, "truncated: " + size + " samples cannot come from " +
                              std::to_string(file_bytes) + " bytes");
  }
  try {
    pixels.data.resize(bytes);
  } catch (const std::bad_alloc &) {
    throw FileError(path, no_memory(bytes));
  }
}

}  // namespace calotype::io
