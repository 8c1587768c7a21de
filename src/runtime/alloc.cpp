// Memory for what pipelines allocate: aligned, pooled, counted.
//
// A pipeline run again and again asks for the same sizes each time, and fresh pages cost more than
// most stages that fill them. Returned blocks are therefore kept in size classes, four to a power of
// two (at most 25 % waste). Small blocks go to one of a few shards, chosen by thread, so that parallel
// iterations seldom meet at a lock; large ones are shared. When the pool would outgrow kPoolLimit
// it is emptied whole: what fills it is then no longer what is asked for.
// Under AddressSanitizer nothing is kept, so that stale pointers are found.
// Tests: test/unit/runtime/alloc_test.cpp.

#include "runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace calotype::runtime {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr int64_t kCacheLimit = 0;
#else
constexpr int64_t kCacheLimit = kPoolLimit;
#endif

constexpr uint64_t kSmallest = 256;               // bytes of the first class
constexpr uint64_t kLargest = uint64_t(1) << 46;  // beyond any address space in use
constexpr uint64_t kShardedUpTo = 64 << 10;
constexpr int kClasses = 4 * 48;
constexpr int kShards = 9;  // the last one holds the large blocks of all threads

/// Stands in the kAlignment bytes before the memory handed out.
struct Header {
  Header *next;  // in a free list
  uint64_t requested;
  int size_class;
};
static_assert(sizeof(Header) <= kAlignment, "the header takes the room of one alignment unit");

struct Shard {
  Mutex mutex;
  Header *free_list[kClasses] = {};
};

Shard g_shards[kShards];
std::atomic<int64_t> g_live{0}, g_peak{0}, g_cached{0}, g_allocations{0}, g_system_calls{0};

uint64_t capacity(int size_class) { return uint64_t(4 + size_class % 4) << (size_class / 4); }

/// The smallest class that holds `bytes`: the two bits after the leading one, rounded up.
int class_of(uint64_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const int shift = 61 - __builtin_clzll(bytes);
  const int size_class = shift * 4 + int(bytes >> shift) - 4;
  return capacity(size_class) < bytes ? size_class + 1 : size_class;
}

Shard &shard_for(int size_class) {
  static std::atomic<unsigned> threads{0};
  thread_local const unsigned mine = threads.fetch_add(1, std::memory_order_relaxed);
  return g_shards[capacity(size_class) <= kShardedUpTo ? mine % (kShards - 1) : kShards - 1];
}

Header *take_cached(int size_class) {
  Shard &shard = shard_for(size_class);
  const std::lock_guard<Mutex> lock(shard.mutex);
  Header *block = shard.free_list[size_class];
  if (block) {
    shard.free_list[size_class] = block->next;
    g_cached.fetch_sub(int64_t(capacity(size_class)), std::memory_order_relaxed);
  }
  return block;
}

Header *take_from_system(int size_class) {
  void *raw = nullptr;
  const size_t bytes = kAlignment + capacity(size_class);
  if (posix_memalign(&raw, kAlignment, bytes) != 0) {
    release_pool();  // what is cached may be just what is missing
    if (posix_memalign(&raw, kAlignment, bytes) != 0) {
      return nullptr;
    }
  }
  Header *block = new (raw) Header;
  block->size_class = size_class;
  g_system_calls.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void count_allocation(int64_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  const int64_t live = g_live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = g_peak.load(std::memory_order_relaxed);
  while (live > peak && !g_peak.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

}  // namespace

void *allocate(uint64_t bytes) {
  if (bytes > kLargest) {
    return nullptr;
  }
  const int size_class = class_of(bytes);
  Header *block = take_cached(size_class);
  if (!block) {
    block = take_from_system(size_class);
  }
  if (!block) {
    return nullptr;
  }
  block->requested = bytes;
  count_allocation(int64_t(bytes));
  return reinterpret_cast<char *>(block) + kAlignment;
}

void deallocate(void *ptr) {
  if (!ptr) {
    return;
  }
  Header *block = reinterpret_cast<Header *>(static_cast<char *>(ptr) - kAlignment);
  g_live.fetch_sub(int64_t(block->requested), std::memory_order_relaxed);
  const int64_t bytes = int64_t(capacity(block->size_class));
  if (bytes > kCacheLimit) {
    free(block);
    return;
  }
  if (g_cached.fetch_add(bytes, std::memory_order_relaxed) + bytes > kCacheLimit) {
    release_pool();
  }
  Shard &shard = shard_for(block->size_class);
  const std::lock_guard<Mutex> lock(shard.mutex);
  block->next = shard.free_list[block->size_class];
  shard.free_list[block->size_class] = block;
}

void release_pool() {
  for (Shard &shard : g_shards) {
    Header *freed = nullptr;
    int64_t bytes = 0;
    {
      const std::lock_guard<Mutex> lock(shard.mutex);
      for (Header *&list : shard.free_list) {
        while (Header *block = list) {
          list = block->next;
          block->next = freed;
          freed = block;
          bytes += int64_t(capacity(block->size_class));
        }
      }
    }
    g_cached.fetch_sub(bytes, std::memory_order_relaxed);
    while (freed) {
      Header *next = freed->next;
      free(freed);
      freed = next;
    }
  }
}

MemoryStats memory_stats() {
  MemoryStats s;
  s.live_bytes = g_live.load(std::memory_order_relaxed);
  s.peak_bytes = g_peak.load(std::memory_order_relaxed);
  s.cached_bytes = g_cached.load(std::memory_order_relaxed);
  s.allocations = g_allocations.load(std::memory_order_relaxed);
  s.system_calls = g_system_calls.load(std::memory_order_relaxed);
  return s;
}

void reset_memory_peak() { g_peak.store(g_live.load(), std::memory_order_relaxed); }

}  // namespace calotype::runtime
