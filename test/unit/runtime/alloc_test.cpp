// Pooled allocation: alignment, reuse, counters, limits. Sizes in bytes.

#include "runtime/runtime.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace rt = calotype::runtime;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooled = false;  // nothing is kept there, by design
#else
constexpr bool kPooled = true;
#endif

}  // namespace

TEST_CASE("alloc: memory is aligned, writable to its end and distinct") {
  std::vector<unsigned char *> blocks;
  const uint64_t sizes[] = {0, 1, 127, 128, 255, 256, 257, 1000, 4096, 65536, 65537, 3000001};
  unsigned char mark = 1;
  for (uint64_t bytes : sizes) {
    auto *p = static_cast<unsigned char *>(rt::allocate(bytes));
    REQUIRE(p != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(p) % rt::kAlignment == 0);
    memset(p, mark++, bytes);
    blocks.push_back(p);
  }
  mark = 1;
  for (size_t i = 0; i < blocks.size(); i++, mark++) {
    CHECK(std::count(blocks[i], blocks[i] + sizes[i], mark) == int64_t(sizes[i]));
    rt::deallocate(blocks[i]);
  }
  CHECK(std::set<unsigned char *>(blocks.begin(), blocks.end()).size() == blocks.size());
}

TEST_CASE("alloc: a returned block serves the next request of its size") {
  rt::release_pool();
  for (uint64_t bytes : {uint64_t(300), uint64_t(5) << 20}) {
    void *first = rt::allocate(bytes);
    rt::deallocate(first);
    const int64_t before = rt::memory_stats().system_calls;
    void *second = rt::allocate(bytes - 1);
    CHECK((second == first) == kPooled);
    CHECK((rt::memory_stats().system_calls == before) == kPooled);
    rt::deallocate(second);
  }
}

TEST_CASE("alloc: counters follow what is live, its peak and what is cached") {
  rt::release_pool();
  const rt::MemoryStats start = rt::memory_stats();
  CHECK(start.cached_bytes == 0);
  rt::reset_memory_peak();
  void *a = rt::allocate(1000), *b = rt::allocate(50000);
  CHECK(rt::memory_stats().live_bytes == start.live_bytes + 51000);
  rt::deallocate(b);
  CHECK(rt::memory_stats().live_bytes == start.live_bytes + 1000);
  CHECK(rt::memory_stats().peak_bytes == start.live_bytes + 51000);
  CHECK(rt::memory_stats().allocations == start.allocations + 2);
  if (kPooled) {
    CHECK(rt::memory_stats().cached_bytes >= 50000);
    CHECK(rt::memory_stats().cached_bytes <= 50000 * 5 / 4);  // at most a quarter of waste
  }
  rt::deallocate(a);
  rt::release_pool();
  CHECK(rt::memory_stats().cached_bytes == 0);
  CHECK(rt::memory_stats().live_bytes == start.live_bytes);
}

TEST_CASE("alloc: the pool never keeps more than its limit") {
  rt::release_pool();
  std::vector<void *> blocks;
  for (int i = 0; i < 5; i++) {  // untouched pages: no real memory is used
    blocks.push_back(rt::allocate(uint64_t(rt::kPoolLimit) / 3));
    REQUIRE(blocks.back() != nullptr);
  }
  for (void *p : blocks) {
    rt::deallocate(p);
    CHECK(rt::memory_stats().cached_bytes <= rt::kPoolLimit);
  }
  void *huge = rt::allocate(uint64_t(rt::kPoolLimit) * 2);
  const int64_t before = rt::memory_stats().cached_bytes;
  rt::deallocate(huge);  // larger than the pool: straight back to the system
  CHECK(rt::memory_stats().cached_bytes == before);
  rt::release_pool();
}

TEST_CASE("alloc: what can't be had is null and changes no counter") {
  const rt::MemoryStats before = rt::memory_stats();
  CHECK(rt::allocate(uint64_t(1) << 60) == nullptr);
  CHECK(rt::allocate(~uint64_t(0)) == nullptr);
  CHECK(calo_malloc(nullptr, -1) == nullptr);
  CHECK(rt::memory_stats().live_bytes == before.live_bytes);
  CHECK(rt::memory_stats().allocations == before.allocations);
  rt::deallocate(nullptr);
  calo_free(nullptr, nullptr);
}

TEST_CASE("alloc: the context's handlers replace the pool") {
  struct Own {
    int mallocs = 0, frees = 0;
    char room[64];
  } own;
  rt::JitContext cx;
  cx.handler_context = &own;
  cx.handlers.malloc = [](void *user, size_t bytes) -> void * {
    auto *o = static_cast<Own *>(user);
    o->mallocs += int(bytes);
    return o->room;
  };
  cx.handlers.free = [](void *user, void *ptr) {
    auto *o = static_cast<Own *>(user);
    o->frees += ptr == o->room;
  };
  void *p = calo_malloc(&cx, 40);
  CHECK(p == own.room);
  calo_free(&cx, p);
  CHECK(own.mallocs == 40);
  CHECK(own.frees == 1);
}

TEST_CASE("alloc: threads may allocate, pass on and free at once") {
  const int64_t live = rt::memory_stats().live_bytes;
  std::vector<std::thread> threads;
  std::atomic<unsigned *> handed_on[16] = {};
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 2000; i++) {
        auto *p = static_cast<unsigned *>(rt::allocate(64 + 40 * (i % 50)));
        p[0] = p[9] = t * 10000 + i;
        unsigned *other = handed_on[(t + i) % 16].exchange(p);
        if (other) {
          wrong += other[0] != other[9];
          rt::deallocate(other);
        }
      }
    });
  }
  for (std::thread &t : threads) {
    t.join();
  }
  for (auto &p : handed_on) {
    rt::deallocate(p.load());
  }
  CHECK(wrong == 0);
  CHECK(rt::memory_stats().live_bytes == live);
}
