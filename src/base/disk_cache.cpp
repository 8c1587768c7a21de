// See disk_cache.h.
#include "disk_cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "options.h"

namespace calotype {

// ---- hashing ------------------------------------------------------------------------------------

namespace {

uint64_t mixed(uint64_t x) {  // splitmix64's finaliser
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t rotated(uint64_t x, int by) { return x << by | x >> (64 - by); }

}  // namespace

Hash &Hash::add(const char *bytes, size_t n) {
  const auto word = [&](uint64_t w) {
    a_ = rotated(a_ ^ mixed(w + 0x9e3779b97f4a7c15u), 27) * 0x9fb21c651e98df25u + 1;
    b_ = rotated(b_ + mixed(w ^ 0xd6e8feb86659fd93u), 31) * 0xa0761d6478bd642fu + a_;
  };
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t w;
    std::memcpy(&w, bytes + i, 8);
    word(w);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, bytes + i, n - i);
  word(rest);
  word(n);  // so that ("ab", "c") and ("a", "bc") differ
  return *this;
}

std::string Hash::text() const {
  char out[33];
  std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(mixed(a_ ^ b_)),
                static_cast<unsigned long long>(mixed(b_ + rotated(a_, 32))));
  return out;
}

uint64_t Hash::low() const { return mixed(a_ ^ rotated(b_, 32)); }

// ---- who compiles -------------------------------------------------------------------------------

namespace {

struct BuildId {
  uintptr_t address;
  std::string text;
};

int find_build_id(dl_phdr_info *info, size_t, void *data) {
  auto *want = static_cast<BuildId *>(data);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &h = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + h.p_vaddr;
    mine = mine ||
           (h.p_type == PT_LOAD && want->address >= start && want->address < start + h.p_memsz);
  }
  if (!mine) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &h = info->dlpi_phdr[i];
    if (h.p_type != PT_NOTE) continue;
    const auto *at = reinterpret_cast<const char *>(info->dlpi_addr + h.p_vaddr);
    for (const char *end = at + h.p_memsz; at + sizeof(ElfW(Nhdr)) < end;) {
      const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      const char *name = at + sizeof *note, *body = name + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !std::memcmp(name, "GNU", 4)) {
        for (unsigned k = 0; k < note->n_descsz; k++) {
          char byte[3];
          std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(body[k]));
          want->text += byte;
        }
      }
      at = body + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

}  // namespace

std::string build_id_of(const void *address) {
  BuildId id{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(find_build_id, &id);
  if (!id.text.empty()) return id.text;
  Dl_info info = {};
  struct stat s = {};
  if (!dladdr(address, &info) || !info.dli_fname || stat(info.dli_fname, &s) != 0) return "unknown";
  return std::string(info.dli_fname) + " " + std::to_string(s.st_size) + " " +
         std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec);
}

// ---- the folder ---------------------------------------------------------------------------------

namespace {

constexpr uint64_t kMagic = 0x3145484341434c43u;  // "CLCACHE1" in the file
constexpr time_t kStaleSeconds = 3600;  // a temporary file of this age has lost its writer
constexpr time_t kTouchSeconds = 3600;  // dates of last use need be no finer

struct Trailer {
  uint64_t content_bytes, identity_bytes, checksum, magic;
};

class File {
public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File &) = delete;
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool finish() { return close(std::exchange(fd_, -1)) == 0; }

private:
  int fd_;
};

uint64_t checksum_of(const char *content, size_t bytes, const std::string &identity) {
  return Hash().add(content, bytes).add(identity).low();
}

std::string entry_bytes(const std::string &identity, const std::string &content) {
  const Trailer t{content.size(), identity.size(),
                  checksum_of(content.data(), content.size(), identity), kMagic};
  std::string bytes = content + identity;
  bytes.append(reinterpret_cast<const char *>(&t), sizeof t);
  return bytes;
}

bool read_all(int fd, std::string *bytes) {
  struct stat s = {};
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid() ||
      (s.st_mode & 022) != 0) {
    return false;
  }
  bytes->resize(static_cast<size_t>(s.st_size));
  size_t used = 0;
  while (used < bytes->size()) {
    const ssize_t got = read(fd, &(*bytes)[used], bytes->size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    used += static_cast<size_t>(got);
  }
  return true;
}

/// Cuts an entry's file down to its content; false if it is not whole, or of another writer.
bool unwrap(const std::string &identity, std::string *bytes) {
  Trailer t;
  if (bytes->size() < sizeof t) return false;
  std::memcpy(&t, bytes->data() + bytes->size() - sizeof t, sizeof t);
  if (t.magic != kMagic || t.content_bytes > bytes->size() || t.identity_bytes != identity.size() ||
      t.content_bytes + t.identity_bytes + sizeof t != bytes->size() ||
      bytes->compare(t.content_bytes, t.identity_bytes, identity) != 0 ||
      t.checksum != checksum_of(bytes->data(), t.content_bytes, identity)) {
    return false;
  }
  bytes->resize(t.content_bytes);
  return true;
}

void touch(const std::string &path, int fd) {
  struct stat s = {};
  if (fstat(fd, &s) == 0 && time(nullptr) - s.st_mtime > kTouchSeconds) {
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // fails in a read-only folder: no matter
  }
}

bool write_all(int fd, const std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool is_temporary(const std::string &name) { return name.compare(0, 4, "tmp.") == 0; }

std::string folder_fault(const std::string &folder) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
  std::filesystem::create_directories(parent.parent_path(), error);
  (void)mkdir(parent.c_str(), 0700);  // if it fails, so does what follows
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return folder + " cannot be made: " + std::strerror(errno);
  }
  struct stat s = {};
  if (lstat(folder.c_str(), &s) != 0) return folder + ": " + std::strerror(errno);
  if (!S_ISDIR(s.st_mode)) return folder + " is no folder";
  if (s.st_uid != geteuid()) return folder + " belongs to another user";
  if ((s.st_mode & 077) != 0 && chmod(folder.c_str(), 0700) != 0) {
    return folder + " is open to other users";
  }
  return {};
}

struct Kept {
  std::string path;
  uint64_t bytes;
  time_t used;
};

}  // namespace

DiskCache::DiskCache(const std::string &folder, uint64_t most_bytes)
    : folder_(folder), why_not_(folder_fault(folder)), most_bytes_(most_bytes) {}

bool DiskCache::get(const std::string &key, const std::string &identity, std::string *content) {
  if (!why_not_.empty()) return false;
  const std::string file = path(key);
  const File f(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!f) return false;
  if (!read_all(f.fd(), content) || !unwrap(identity, content)) {
    unlink(file.c_str());
    content->clear();
    return false;
  }
  touch(file, f.fd());
  return true;
}

bool DiskCache::write_entry(const std::string &name, const std::string &key,
                            const std::string &bytes) noexcept {
  File f(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!f) return false;
  const bool whole = write_all(f.fd(), bytes) && fsync(f.fd()) == 0;
  if (f.finish() && whole && rename(name.c_str(), path(key).c_str()) == 0) return true;
  unlink(name.c_str());
  return false;
}

bool DiskCache::put(const std::string &key, const std::string &identity,
                    const std::string &content) noexcept {
  if (!why_not_.empty()) return false;
  try {
    const std::string bytes = entry_bytes(identity, content);
    if (bytes.size() > most_bytes_ / 4) return false;  // one entry must not push out all others
    make_room(bytes.size());
    static std::atomic<unsigned> number{0};
    const std::string name = folder_ + "/tmp." + std::to_string(getpid()) + "." +
                             std::to_string(number++) + "." + key.substr(0, 8);
    return write_entry(name, key, bytes);
  } catch (const std::exception &) {  // out of memory: no cache then
    return false;
  }
}

/// Counts the folder once per process, then adds up; counts again when the sum passes the bound.
void DiskCache::make_room(uint64_t added) noexcept try {
  if (counted_ && known_bytes_ + added <= most_bytes_) {
    known_bytes_ += added;
    return;
  }
  std::vector<Kept> all;
  known_bytes_ = added;
  counted_ = true;
  const std::unique_ptr<DIR, int (*)(DIR *)> dir(opendir(folder_.c_str()), closedir);
  if (!dir) return;
  const time_t now = time(nullptr);
  while (const dirent *e = readdir(dir.get())) {
    const std::string file = path(e->d_name);
    struct stat s = {};
    if (lstat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) continue;
    if (is_temporary(e->d_name)) {
      if (now - s.st_mtime > kStaleSeconds) unlink(file.c_str());
      continue;
    }
    all.push_back({file, static_cast<uint64_t>(s.st_size), s.st_mtime});
    known_bytes_ += all.back().bytes;
  }
  if (known_bytes_ <= most_bytes_) return;
  std::sort(all.begin(), all.end(), [](const Kept &x, const Kept &y) { return x.used < y.used; });
  for (const Kept &k : all) {  // to three quarters, so that not every put() has to
    if (known_bytes_ <= most_bytes_ / 4 * 3) break;
    if (unlink(k.path.c_str()) == 0) known_bytes_ -= k.bytes;
  }
} catch (const std::exception &) {
}

DiskCache *shared_cache(const char *part) {
  static std::mutex mutex;
  static auto *all = new std::map<std::string, std::unique_ptr<DiskCache>>;
  if (options().cache_dir.empty()) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<DiskCache> &c = (*all)[part];
  if (!c) c = std::make_unique<DiskCache>(options().cache_dir + "/" + part);
  return c.get();
}

}  // namespace calotype
