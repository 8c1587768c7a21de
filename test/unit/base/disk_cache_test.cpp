// The disk cache: entries whole or missing, whoever dies, however many write, whatever the disk does.
#include "base/disk_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

namespace fs = std::filesystem;
using calotype::DiskCache;
using calotype::Hash;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    char name[] = "/tmp/calo_cache_test.XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string cache() const { return (path / "cache").string(); }
};

const std::string kMe = "test 1";

std::string key_of(int i) { return Hash().add(std::to_string(i)).text(); }

/// The one right content of key i: its length and bytes follow from i.
std::string content_of(int i) {
  std::mt19937 random(static_cast<unsigned>(i));
  std::string bytes(random() % 40000, 0);
  for (char &c : bytes) c = static_cast<char>(random());
  return bytes;
}

pid_t in_child(const std::function<int()> &work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  return child;
}
int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// The number of entries that are there; each must be right.
int check_all(const std::string &folder, int keys) {
  DiskCache cache(folder);
  int found = 0;
  for (int i = 0; i < keys; i++) {
    std::string content;
    if (!cache.get(key_of(i), kMe, &content)) continue;
    found++;
    CHECK_MESSAGE(content == content_of(i), "entry " << i << " is torn or mixed");
  }
  return found;
}

}  // namespace

TEST_CASE("disk cache: gives back what was put, to its writer's kind only") {
  const Folder f;
  DiskCache cache(f.cache());
  CHECK(cache.why_not().empty());
  std::string content;
  CHECK_FALSE(cache.get(key_of(1), kMe, &content));
  REQUIRE(cache.put(key_of(1), kMe, content_of(1)));
  REQUIRE(cache.put(key_of(2), kMe, ""));
  REQUIRE(cache.get(key_of(1), kMe, &content));
  CHECK(content == content_of(1));
  REQUIRE(cache.get(key_of(2), kMe, &content));
  CHECK(content.empty());
  CHECK_FALSE(cache.get(key_of(1), "test 2", &content));
  CHECK_FALSE(fs::exists(cache.path(key_of(1))));  // of another compiler: gone
}

TEST_CASE("disk cache: a damaged entry is missing, whatever byte it is") {
  const Folder f;
  DiskCache cache(f.cache());
  const std::string right = "some content of some length";
  REQUIRE(cache.put(key_of(1), kMe, right));
  std::string bytes, content;
  {
    std::ifstream in(cache.path(key_of(1)), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto write = [&](const std::string &b) {
    std::ofstream(cache.path(key_of(1)), std::ios::binary) << b;
    chmod(cache.path(key_of(1)).c_str(), 0600);
  };
  write(bytes);
  CHECK(cache.get(key_of(1), kMe, &content));
  for (size_t i = 0; i < bytes.size(); i++) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    write(bad);
    CHECK_FALSE(cache.get(key_of(1), kMe, &content));
    write(bytes.substr(0, i));
    CHECK_FALSE(cache.get(key_of(1), kMe, &content));
  }
  write(bytes + "x");
  CHECK_FALSE(cache.get(key_of(1), kMe, &content));
}

TEST_CASE("disk cache: the folder is its owner's alone, or is not used") {
  const Folder f;
  {
    DiskCache made(f.cache());
  }
  struct stat s = {};
  REQUIRE(stat(f.cache().c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  {
    DiskCache below((f.path / "top" / "jit").string());  // as shared_cache makes it
  }
  REQUIRE(stat((f.path / "top").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  chmod(f.cache().c_str(), 0777);
  CHECK(DiskCache(f.cache()).why_not().empty());
  REQUIRE(stat(f.cache().c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);

  fs::create_symlink(f.cache(), f.path / "link");
  CHECK(DiskCache((f.path / "link").string()).why_not().find("is no folder") != std::string::npos);
  std::ofstream(f.path / "file") << "text";
  DiskCache below((f.path / "file" / "cache").string());
  CHECK_FALSE(below.why_not().empty());
  CHECK_FALSE(below.put(key_of(1), kMe, "x"));

  DiskCache cache(f.cache());
  std::string content;
  REQUIRE(cache.put(key_of(1), kMe, "x"));
  chmod(cache.path(key_of(1)).c_str(), 0666);  // anyone may have written it
  CHECK_FALSE(cache.get(key_of(1), kMe, &content));
  REQUIRE(cache.put(key_of(1), kMe, "x"));
  fs::rename(cache.path(key_of(1)), f.path / "elsewhere");
  fs::create_symlink(f.path / "elsewhere", cache.path(key_of(1)));
  CHECK_FALSE(cache.get(key_of(1), kMe, &content));
  if (geteuid() == 0) {
    REQUIRE(chown(f.cache().c_str(), 12345, 12345) == 0);
    CHECK(DiskCache(f.cache()).why_not().find("another user") != std::string::npos);
  }
}

TEST_CASE("disk cache: a writer killed at any moment leaves entries whole or missing") {
  const Folder f;
  constexpr int kKeys = 60;
  std::mt19937 random(7);
  int kills = 0, found = 0;
  for (; kills < 200; kills++) {
    const unsigned first = random();
    const pid_t child = in_child([&] {
      DiskCache cache(f.cache());
      for (unsigned i = first;; i++) {
        const int k = static_cast<int>(i % kKeys);
        cache.put(key_of(k), kMe, content_of(k));
      }
      return 0;
    });
    usleep(random() % 4000);
    kill(child, SIGKILL);
    CHECK(exit_code(child) == -SIGKILL);
    if (kills % 10 == 9) found = check_all(f.cache(), kKeys);
  }
  CHECK(found > 3);  // how many depends on how busy the machine is
}

TEST_CASE("disk cache: four processes put and get at once") {
  const Folder f;
  constexpr int kKeys = 40;
  std::vector<pid_t> children;
  for (unsigned p = 0; p < 4; p++) {
    children.push_back(in_child([&] {
      DiskCache cache(f.cache(), 2 << 20);  // small: evictions too
      std::mt19937 random(p);
      for (int n = 0; n < 500; n++) {
        const int k = static_cast<int>(random() % kKeys);
        std::string content;
        if (random() % 3 == 0) {
          if (!cache.put(key_of(k), kMe, content_of(k))) return 2;
        } else if (cache.get(key_of(k), kMe, &content) && content != content_of(k)) {
          return 1;
        }
      }
      return 0;
    }));
  }
  for (const pid_t c : children) CHECK(exit_code(c) == 0);
  CHECK(check_all(f.cache(), kKeys) > 0);
}

TEST_CASE("disk cache: a full disk and a read-only folder mean no cache") {
  const Folder f;
  const pid_t full = in_child([&] {
    DiskCache cache(f.cache());
    if (!cache.put(key_of(1), kMe, content_of(1))) return 1;
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};  // writes fail after 1000 bytes, as on a full disk
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string content;
    if (cache.put(key_of(2), kMe, std::string(5000, 'x'))) return 2;
    if (cache.get(key_of(2), kMe, &content)) return 3;
    return cache.get(key_of(1), kMe, &content) && content == content_of(1) ? 0 : 4;
  });
  CHECK(exit_code(full) == 0);
  for (const auto &e : fs::directory_iterator(f.cache())) {
    CHECK(e.path().filename().string().substr(0, 4) != "tmp.");  // the half-written one is gone
  }

  const pid_t sealed = in_child([&] {
    if (geteuid() == 0) {  // for whom nothing is read-only
      if (chmod(f.path.c_str(), 0755) || chown(f.cache().c_str(), 12345, 12345) ||
          chown((f.cache() + "/" + key_of(1)).c_str(), 12345, 12345) || setuid(12345)) {
        return 1;
      }
    }
    chmod(f.cache().c_str(), 0500);
    DiskCache cache(f.cache());
    std::string content;
    if (cache.put(key_of(3), kMe, "x")) return 2;
    if (cache.get(key_of(3), kMe, &content)) return 3;
    return cache.get(key_of(1), kMe, &content) && content == content_of(1) ? 0 : 4;
  });
  CHECK(exit_code(sealed) == 0);
  if (geteuid() != 0) chmod(f.cache().c_str(), 0700);
}

TEST_CASE("disk cache: the oldest entries go when the bound is reached") {
  const Folder f;
  constexpr uint64_t kBound = 100000;
  DiskCache cache(f.cache(), kBound);
  for (int i = 0; i < 50; i++) {
    REQUIRE(cache.put(key_of(i), kMe, std::string(5000, 'x')));
    const timespec date[2] = {{1000000 + i, 0}, {1000000 + i, 0}};
    utimensat(AT_FDCWD, cache.path(key_of(i)).c_str(), date, 0);
  }
  uint64_t bytes = 0;
  for (const auto &e : fs::directory_iterator(f.cache())) bytes += e.file_size();
  CHECK(bytes <= kBound);
  CHECK(bytes > kBound / 2);
  std::string content;
  CHECK(cache.get(key_of(49), kMe, &content));
  CHECK_FALSE(cache.get(key_of(0), kMe, &content));
  CHECK_FALSE(cache.put(key_of(99), kMe, std::string(kBound / 2, 'x')));  // would push out the rest
}

TEST_CASE("disk cache: a build is named by its build id") {
  const std::string mine = calotype::build_id_of(reinterpret_cast<const void *>(&content_of));
  CHECK(mine.size() >= 16);
  CHECK(mine == calotype::build_id_of(reinterpret_cast<const void *>(&key_of)));
  CHECK(mine != calotype::build_id_of(reinterpret_cast<const void *>(&std::abort)));
}

TEST_CASE("hash: differs where the parts do") {
  CHECK(Hash().add("ab").add("c").text() != Hash().add("a").add("bc").text());
  CHECK(Hash().add("").text() != Hash().text());
  CHECK(Hash().add(std::string(8, 0)).text() != Hash().add(std::string(9, 0)).text());
  CHECK(Hash().add("x").text() == Hash().add("x").text());
}
