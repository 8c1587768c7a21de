// A folder of compiled things that processes share: at worst there is no cache, never a wrong entry.
//
// An entry is one file, named by a hash of all that its content depends on: content, then a trailer with
// the sizes, the identity of what made it (compiler and target) and a checksum. It is written to a
// temporary file, flushed and renamed, so that a reader sees all of it or nothing, whenever the writer
// dies. The folder belongs to its owner alone, since what comes out of it is run. Content comes first so
// that a shared object can be loaded from its entry. Tests: test/unit/base/disk_cache_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "export.h"

namespace calotype {

/// 128 bits of a sequence of texts. Not for adversaries: only the owner of a cache writes what is hashed.
class CALO_EXPORT Hash {
public:
  Hash &add(const char *bytes, size_t n);
  Hash &add(const std::string &text) { return add(text.data(), text.size()); }
  std::string text() const;  ///< 32 hexadecimal digits
  uint64_t low() const;

private:
  uint64_t a_ = 0x9ae16a3b2f90404fu, b_ = 0xc3a5c85c97cb3127u;
};

/// Names the build of the library or program that `address` lies in: its build id, else path, size, date.
CALO_EXPORT std::string build_id_of(const void *address);

class CALO_EXPORT DiskCache {
public:
  static constexpr uint64_t kMostBytes = uint64_t(512) << 20;

  /// Makes the folder where it is missing. An unusable one makes every get() and put() fail.
  explicit DiskCache(const std::string &folder, uint64_t most_bytes = kMostBytes);
  /// Empty, or why nothing is kept: the folder belongs to another user, cannot be made ...
  const std::string &why_not() const { return why_not_; }

  /// The content kept under `key`, if `identity` is that of its writer. Anything else in the file's place
  /// is removed and counts as missing.
  bool get(const std::string &key, const std::string &identity, std::string *content);
  /// Keeps it; false if that failed. The oldest entries go when all take more than the folder's bound.
  bool put(const std::string &key, const std::string &identity,
           const std::string &content) noexcept;
  /// The file of a key, content first.
  std::string path(const std::string &key) const { return folder_ + "/" + key; }

private:
  bool write_entry(const std::string &name, const std::string &key,
                   const std::string &bytes) noexcept;
  void make_room(uint64_t added) noexcept;
  std::string folder_, why_not_;
  uint64_t most_bytes_, known_bytes_ = 0;
  bool counted_ = false;
};

/// The folder `part` of the cache that the options name; null with CALO_CACHE=off. One for the process.
CALO_EXPORT DiskCache *shared_cache(const char *part);

}  // namespace calotype
