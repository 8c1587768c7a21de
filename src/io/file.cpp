// Whole files in and out of memory, and the size check that stands before every allocation.
#include "io/formats.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace calotype::io {

namespace {

struct CloseFile {
  void operator()(std::FILE *file) const { std::fclose(file); }
};

std::string last_error() { return std::strerror(errno); }

}  // namespace

Bytes read_file(const std::string &path) {
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
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<int64_t>(kMaxBytes)) {
    throw FileError(path, "is larger than 2 GiB");
  }
  Bytes bytes;
  size_t used = 0;
  while (true) {  // grows by half: the file may be a pipe, whose size nobody knows
    bytes.resize(std::min<size_t>(used + std::max<size_t>(used / 2, 1 << 16), kMaxBytes + 1));
    const size_t got = std::fread(bytes.data() + used, 1, bytes.size() - used, file.get());
    used += got;
    if (used > kMaxBytes) throw FileError(path, "is larger than 2 GiB");
    if (got == 0) break;
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
  if (bytes > kMaxBytes) throw FileError(path, "more than 2 GiB once decoded: " + size);
  if (most_ratio && bytes / most_ratio > file_bytes) {
    throw FileError(path, "truncated: " + size + " samples cannot come from " +
                              std::to_string(file_bytes) + " bytes");
  }
  pixels.data.resize(bytes);
}

}  // namespace calotype::io
