// The cache behind memoize: copies of computed buffers, found by key, least recently used dropped first.
//
// One lock, one hash table with chains, one list in order of use. Plain C inside: the ahead-of-time runtime takes this file
// as it is. A failed allocation keeps nothing; a lookup never fails. Tests: test/pipelines/memoize_test.cpp.

#include "runtime.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kBuckets = 1024;
constexpr int64_t kDefaultBytes = int64_t(16) << 20;

struct Entry {
  Entry *chain, *newer, *older;
  uint64_t hash, evict_key;
  size_t key_bytes, data_bytes;
  uint8_t *key, *data;  // both behind the Entry, in one block
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Entry *g_table[kBuckets];
Entry *g_newest, *g_oldest;
int64_t g_bytes, g_most_bytes = kDefaultBytes;

size_t element_bytes(const halide_buffer_t *b) { return (b->type.bits + 7u) / 8u; }

size_t data_bytes(const halide_buffer_t *b) {
  size_t n = element_bytes(b);
  for (int d = 0; d < b->dimensions; d++)
    n *= static_cast<size_t>(b->dim[d].extent > 0 ? b->dim[d].extent : 0);
  return n;
}

// Between a buffer and its elements side by side, dimension 0 innermost.
void copy_dimension(const halide_buffer_t *b, int d, uint8_t *host, uint8_t **packed, bool out) {
  const size_t bytes = element_bytes(b);
  if (d < 0) {
    memcpy(out ? *packed : host, out ? host : *packed, bytes);
    *packed += bytes;
    return;
  }
  if (d == 0 && b->dim[0].stride == 1) {
    const size_t row = bytes * static_cast<size_t>(b->dim[0].extent);
    memcpy(out ? *packed : host, out ? host : *packed, row);
    *packed += row;
    return;
  }
  const int64_t step = static_cast<int64_t>(b->dim[d].stride) * static_cast<int64_t>(bytes);
  for (int i = 0; i < b->dim[d].extent; i++) copy_dimension(b, d - 1, host + i * step, packed, out);
}

struct Query {
  const char *text;
  const uint64_t *values;
  int32_t value_count;
  halide_buffer_t *const *buffers;
  int32_t buffer_count;
};

// Calls put(bytes, n) for each part of the key.
template <typename F> void key_parts(const Query &q, F put) {
  put(q.text, strlen(q.text) + 1);
  put(q.values, sizeof(uint64_t) * static_cast<size_t>(q.value_count));
  for (int i = 0; i < q.buffer_count; i++) {
    const halide_buffer_t *b = q.buffers[i];
    const uint32_t type = b->type.as_u32();
    put(&type, sizeof type);
    for (int d = 0; d < b->dimensions; d++) {
      put(&b->dim[d].min, sizeof b->dim[d].min);
      put(&b->dim[d].extent, sizeof b->dim[d].extent);
    }
  }
}

uint64_t hash_of(const Query &q, size_t *bytes) {
  uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  *bytes = 0;
  key_parts(q, [&](const void *p, size_t n) {
    *bytes += n;
    for (size_t i = 0; i < n; i++) h = (h ^ static_cast<const uint8_t *>(p)[i]) * 0x100000001b3u;
  });
  return h;
}

bool same_key(const Query &q, const Entry *e) {
  size_t at = 0;
  bool same = true;
  key_parts(q, [&](const void *p, size_t n) {
    same = same && at + n <= e->key_bytes && memcmp(e->key + at, p, n) == 0;
    at += n;
  });
  return same && at == e->key_bytes;
}

Entry *find(const Query &q, uint64_t hash) {
  for (Entry *e = g_table[hash % kBuckets]; e; e = e->chain) {
    if (e->hash == hash && same_key(q, e)) return e;
  }
  return nullptr;
}

void unlink_use(Entry *e) {
  (e->newer ? e->newer->older : g_newest) = e->older;
  (e->older ? e->older->newer : g_oldest) = e->newer;
}
void make_newest(Entry *e) {
  e->newer = nullptr;
  e->older = g_newest;
  (g_newest ? g_newest->newer : g_oldest) = e;
  g_newest = e;
}

void drop(Entry *e) {
  Entry **at = &g_table[e->hash % kBuckets];
  while (*at != e) at = &(*at)->chain;
  *at = e->chain;
  unlink_use(e);
  g_bytes -= static_cast<int64_t>(e->data_bytes);
  free(e);
}

void make_room(int64_t added) {
  while (g_oldest && g_bytes + added > g_most_bytes) drop(g_oldest);
}

}  // namespace

int32_t calo_memo_lookup(void *, const char *key, uint64_t, const uint64_t *values,
                         int32_t value_count, halide_buffer_t *const *buffers,
                         int32_t buffer_count) {
  const Query q{key, values, value_count, buffers, buffer_count};
  size_t bytes = 0;
  const uint64_t hash = hash_of(q, &bytes);
  pthread_mutex_lock(&g_lock);
  Entry *e = find(q, hash);
  if (e) {
    unlink_use(e);
    make_newest(e);
    uint8_t *at = e->data;
    for (int i = 0; i < buffer_count; i++)
      copy_dimension(buffers[i], buffers[i]->dimensions - 1, buffers[i]->host, &at, false);
  }
  pthread_mutex_unlock(&g_lock);
  return e != nullptr;
}

int32_t calo_memo_store(void *, const char *key, uint64_t evict_key, const uint64_t *values,
                        int32_t value_count, halide_buffer_t *const *buffers,
                        int32_t buffer_count) {
  const Query q{key, values, value_count, buffers, buffer_count};
  size_t key_bytes = 0, bytes = 0;
  const uint64_t hash = hash_of(q, &key_bytes);
  for (int i = 0; i < buffer_count; i++) bytes += data_bytes(buffers[i]);
  pthread_mutex_lock(&g_lock);
  const bool fits = static_cast<int64_t>(bytes) <= g_most_bytes && !find(q, hash);
  auto *e = fits ? static_cast<Entry *>(malloc(sizeof(Entry) + key_bytes + bytes)) : nullptr;
  if (e) {
    make_room(static_cast<int64_t>(bytes));
    *e = Entry();
    e->hash = hash;
    e->evict_key = evict_key;
    e->key_bytes = key_bytes;
    e->data_bytes = bytes;
    e->key = reinterpret_cast<uint8_t *>(e + 1);
    e->data = e->key + key_bytes;
    uint8_t *at = e->key;
    key_parts(q, [&](const void *p, size_t n) {
      if (n) memcpy(at, p, n);
      at += n;
    });
    at = e->data;
    for (int i = 0; i < buffer_count; i++)
      copy_dimension(buffers[i], buffers[i]->dimensions - 1, buffers[i]->host, &at, true);
    e->chain = g_table[hash % kBuckets];
    g_table[hash % kBuckets] = e;
    make_newest(e);
    g_bytes += static_cast<int64_t>(bytes);
  }
  pthread_mutex_unlock(&g_lock);
  return 0;
}

void calo_memo_set_size(int64_t bytes) {
  pthread_mutex_lock(&g_lock);
  g_most_bytes = bytes > 0 ? bytes : 0;
  make_room(0);
  pthread_mutex_unlock(&g_lock);
}

void calo_memo_evict(uint64_t evict_key) {
  pthread_mutex_lock(&g_lock);
  for (Entry *e = g_newest; e && evict_key;) {
    Entry *next = e->older;
    if (e->evict_key == evict_key) drop(e);
    e = next;
  }
  pthread_mutex_unlock(&g_lock);
}

void calo_memo_clear(void) {
  pthread_mutex_lock(&g_lock);
  while (g_oldest) drop(g_oldest);
  pthread_mutex_unlock(&g_lock);
}

int64_t calo_memo_bytes(void) {
  pthread_mutex_lock(&g_lock);
  const int64_t n = g_bytes;
  pthread_mutex_unlock(&g_lock);
  return n;
}
