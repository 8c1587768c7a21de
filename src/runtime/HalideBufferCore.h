#pragma once
// What Halide::Runtime::Buffer is made of where the element type does not matter: ownership of host and device memory, shapes,
// walks over several buffers at once. Included by HalideBuffer.h alone.

#include "HalideRuntime.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#ifndef HALIDE_RUNTIME_BUFFER_ALLOCATION_ALIGNMENT
#define HALIDE_RUNTIME_BUFFER_ALLOCATION_ALIGNMENT 128  // two cache lines: adjacent ones prefetch
#endif

namespace Halide {
namespace Runtime {

namespace detail {

[[noreturn]] inline void misuse(const char *what) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
  throw std::logic_error(what);
#else
  (void)what;
  std::abort();
#endif
}

inline void require(bool ok, const char *what) {
  if (!ok) {
    misuse(what);
  }
}

template <typename... Args>
using AllIntegers = typename std::enable_if<
    std::conjunction<std::bool_constant<
        std::is_convertible<Args, int>::value &&
        !std::is_floating_point<typename std::decay<Args>::type>::value>...>::value,
    int>::type;

/// Sits at the start of each allocation that Buffers own together; the elements follow, aligned.
struct HostBlock {
  std::atomic<int> owners{1};
  void (*release)(void *) = nullptr;

  void drop() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      void (*free_fn)(void *) = release;
      this->~HostBlock();
      free_fn(this);
    }
  }
};

/// Shared ownership of a device handle. A crop or slice keeps the allocation it was cut from alive.
struct DeviceBlock {
  enum Kind { kAllocated, kWrapped, kHostAndDevice, kPart, kBorrowed };
  std::atomic<int> owners{1};
  Kind kind = kAllocated;
  DeviceBlock *parent = nullptr;
  halide_buffer_t parent_view = halide_buffer_t();

  static void drop(DeviceBlock *block, halide_buffer_t *view) {
    if (block && block->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      return;
    }
    if (view->device && view->device_interface) {
      const halide_device_interface_t *api = view->device_interface;
      switch (block ? block->kind : kAllocated) {
        case kAllocated: (void)api->device_free(nullptr, view); break;
        case kWrapped: (void)api->detach_native(nullptr, view); break;
        case kHostAndDevice: (void)api->device_and_host_free(nullptr, view); break;
        case kPart: (void)api->device_release_crop(nullptr, view); break;
        case kBorrowed: break;
      }
    }
    if (block && block->parent) {
      drop(block->parent, &block->parent_view);
    }
    delete block;
  }
};

/// Insertion sort: a handful of dimensions, and cheaper to compile than the library's.
template <typename V, typename Less> void stable_order(std::vector<V> &v, Less less) {
  for (size_t i = 1; i < v.size(); i++) {
    for (size_t j = i; j > 0 && less(v[j], v[j - 1]); j--) {
      std::swap(v[j], v[j - 1]);
    }
  }
}

/// One loop of a walk over N buffers at once.
template <int N> struct WalkLoop {
  ptrdiff_t extent;
  ptrdiff_t stride[N];
};

/// The fewest loops that visit all elements of N buffers of equal extents, the first buffer's
/// smallest stride innermost. Returns false where there is no element.
template <int N>
bool plan_walk(const halide_buffer_t *const (&bufs)[N], std::vector<WalkLoop<N>> &loops) {
  for (int d = 0; d < bufs[0]->dimensions; d++) {
    WalkLoop<N> loop;
    loop.extent = bufs[0]->dim[d].extent;
    for (int k = 0; k < N; k++) {
      require(bufs[k]->dimensions == bufs[0]->dimensions && bufs[k]->dim[d].extent == loop.extent,
              "buffers walked together need equal extents");
      loop.stride[k] = bufs[k]->dim[d].stride;
    }
    if (loop.extent <= 0) {
      return false;
    }
    if (loop.extent > 1) {
      loops.push_back(loop);
    }
  }
  stable_order(loops, [](const WalkLoop<N> &a, const WalkLoop<N> &b) {
    return std::abs(a.stride[0]) < std::abs(b.stride[0]);
  });
  size_t used = 0;
  for (size_t i = 1; i < loops.size(); i++) {
    WalkLoop<N> &inner = loops[used];
    bool continues = true;  // loops[i] goes on exactly where `inner` ends, in every buffer
    for (int k = 0; k < N; k++) {
      continues = continues && loops[i].stride[k] == inner.stride[k] * inner.extent;
    }
    if (continues) {
      inner.extent *= loops[i].extent;
    } else {
      loops[++used] = loops[i];
    }
  }
  if (!loops.empty()) {
    loops.resize(used + 1);
  }
  return true;
}

template <int N, typename Fn, size_t... K, typename... E>
void walk(const WalkLoop<N> *loops, size_t depth, Fn &f, std::index_sequence<K...> seq, E *...at) {
  if (depth == 0) {
    f(*at...);
    return;
  }
  const WalkLoop<N> &loop = loops[depth - 1];
  if (depth > 1) {
    for (ptrdiff_t i = 0; i < loop.extent; i++) {
      walk<N>(loops, depth - 1, f, seq, (at + i * loop.stride[K])...);
    }
  } else if (((loop.stride[K] == 1) && ...)) {  // apart, so that the host compiler vectorises it
    for (ptrdiff_t i = 0; i < loop.extent; i++) {
      f(at[i]...);
    }
  } else {
    for (ptrdiff_t i = 0; i < loop.extent; i++) {
      f(at[i * loop.stride[K]]...);
    }
  }
}

/// Copies the elements whose coordinates both buffers have; element sizes are equal. (A template, so that only programs
/// which copy pay for compiling it.)
template <int N = 2> void copy_overlap(const halide_buffer_t &src, const halide_buffer_t &dst) {
  static_assert(N == 2, "a source and a destination");
  const int rank = dst.dimensions;
  std::vector<halide_dimension_t> from(rank), to(rank);
  std::vector<int> corner(rank);
  for (int d = 0; d < rank; d++) {
    const halide_dimension_t &s = src.dim[d], &t = dst.dim[d];
    const int64_t lo = std::max(s.min, t.min);
    const int64_t hi = std::min((int64_t)s.min + s.extent, (int64_t)t.min + t.extent);
    if (hi <= lo) {
      return;
    }
    corner[d] = (int)lo;
    from[d] = halide_dimension_t((int)lo, (int)(hi - lo), s.stride);
    to[d] = halide_dimension_t((int)lo, (int)(hi - lo), t.stride);
  }
  halide_buffer_t src_part = src, dst_part = dst;
  src_part.dim = from.data();
  dst_part.dim = to.data();
  std::vector<WalkLoop<N>> loops;
  if (!plan_walk<N>({&dst_part, &src_part}, loops)) {
    return;
  }
  const ptrdiff_t bytes = dst.type.bytes();
  WalkLoop<N> run = {1, {1, 1}};  // the innermost loop, moved by one memcpy where it is dense
  if (!loops.empty() && loops[0].stride[0] == 1 && loops[0].stride[1] == 1) {
    run = loops[0];
    loops.erase(loops.begin());
  }
  for (WalkLoop<N> &loop : loops) {
    loop.stride[0] *= bytes;
    loop.stride[1] *= bytes;
  }
  const size_t run_bytes = (size_t)(run.extent * bytes);
  auto move_run = [run_bytes](uint8_t &t, uint8_t &s) { memcpy(&t, &s, run_bytes); };
  walk<N>(loops.data(), loops.size(), move_run, std::make_index_sequence<N>(),
          dst.address_of(corner.data()), src.address_of(corner.data()));
}

/// Everything that does not depend on the element type. Room for S dimensions lies inside.
template <int S> class BufferCore {
protected:
  halide_buffer_t buf_ = halide_buffer_t();
  halide_dimension_t shape_[S];
  HostBlock *host_block_ = nullptr;
  // Made when a handle is first shared: compiled code sets buf_.device without telling us.
  mutable DeviceBlock *device_block_ = nullptr;

  template <int S2> friend class BufferCore;

  BufferCore() { buf_.dim = shape_; }
  ~BufferCore() { release(); }

  void set_rank(int n) {
    require(n >= 0, "a buffer can't have a negative number of dimensions");
    if (buf_.dim != shape_) {
      delete[] buf_.dim;
    }
    buf_.dim = n <= S ? shape_ : new halide_dimension_t[n];
    buf_.dimensions = n;
  }

  void set_shape(const halide_buffer_t &from, int extra_dims = 0) {
    set_rank(from.dimensions + extra_dims);
    std::copy(from.dim, from.dim + from.dimensions, buf_.dim);
  }

  void release_device() {
    if (buf_.device || device_block_) {
      DeviceBlock::drop(device_block_, &buf_);
    }
    device_block_ = nullptr;
    buf_.device = 0;
    buf_.device_interface = nullptr;
    buf_.set_device_dirty(false);
  }

  void release_host() {
    if (host_block_) {
      host_block_->drop();
      host_block_ = nullptr;
      buf_.host = nullptr;
      buf_.set_host_dirty(false);
    }
  }

  void release() {
    release_device();
    release_host();
    set_rank(0);
  }

  DeviceBlock *shared_device() const {
    if (buf_.device && !device_block_) {
      device_block_ = new DeviceBlock;
    }
    if (device_block_) {
      device_block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    return device_block_;
  }

  /// Takes over fields but dim, whose storage is our own.
  void set_fields(const halide_buffer_t &from) {
    halide_dimension_t *dim = buf_.dim;
    const int32_t rank = buf_.dimensions;
    buf_ = from;
    buf_.dim = dim;
    buf_.dimensions = rank;
  }

  void view(const halide_buffer_t &from) {
    set_shape(from);
    set_fields(from);
  }

  template <int S2> void share(const BufferCore<S2> &other) {
    view(other.buf_);
    device_block_ = other.shared_device();
    host_block_ = other.host_block_;
    if (host_block_) {
      host_block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
  }

  template <int S2> void steal(BufferCore<S2> &other) {
    if (other.buf_.dim != other.shape_ && other.buf_.dimensions > S) {
      set_rank(0);
      buf_.dim = other.buf_.dim;  // outside the object in both: the pointer moves
      buf_.dimensions = other.buf_.dimensions;
      other.buf_.dim = other.shape_;
    } else {
      set_shape(other.buf_);
    }
    set_fields(other.buf_);
    host_block_ = other.host_block_;
    device_block_ = other.device_block_;
    other.host_block_ = nullptr;
    other.device_block_ = nullptr;
    const halide_type_t type = other.buf_.type;
    other.set_rank(0);
    other.set_fields(halide_buffer_t());
    other.buf_.type = type;
  }

  void set_dense_shape(const int *extents, int n) {
    set_rank(n);
    int64_t stride = 1;
    for (int d = 0; d < n; d++) {
      require(extents[d] >= 0, "a buffer can't have a negative extent");
      buf_.dim[d] = halide_dimension_t(0, extents[d], (int32_t)stride);
      // A stride that doesn't fit is only harmful if it is used; allocate() checks the size.
      stride = std::min<int64_t>(stride * std::max(extents[d], 1), INT32_MAX);
    }
  }

  bool size_fits(size_t *bytes) const {
    size_t total = (size_t)buf_.type.bytes();
    const size_t limit = (size_t)std::numeric_limits<ptrdiff_t>::max() / 2;
    for (int d = 0; d < buf_.dimensions; d++) {
      const size_t extent = (size_t)buf_.dim[d].extent;
      if (extent && total > limit / extent) {
        return false;
      }
      total *= extent;
    }
    *bytes = total;
    return true;
  }

  void allocate_host(void *(*alloc_fn)(size_t), void (*free_fn)(void *)) {
    size_t bytes = 0;
    require(size_fits(&bytes), "the buffer's size overflows");
    release_host();
    bytes = std::max(bytes, buf_.size_in_bytes());
    const size_t align = HALIDE_RUNTIME_BUFFER_ALLOCATION_ALIGNMENT;
    const size_t whole = sizeof(HostBlock) + 2 * align + bytes / align * align;
    void *raw = alloc_fn ? alloc_fn(whole) : std::malloc(whole);
    if (!raw) {
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
      throw std::bad_alloc();
#else
      std::abort();
#endif
    }
    host_block_ = new (raw) HostBlock;
    host_block_->release = free_fn ? free_fn : std::free;
    const uintptr_t first = (uintptr_t)raw + sizeof(HostBlock) + align - 1;
    uint8_t *base = (uint8_t *)(first / align * align);
    buf_.host = base;                  // begin() is relative to it
    buf_.host += base - buf_.begin();  // negative strides start further up
  }

  void move_min(int d, ptrdiff_t delta) { buf_.dim[d].min = (int32_t)(buf_.dim[d].min + delta); }

  void check_dim(int d) const {
    require(d >= 0 && d < buf_.dimensions, "no such dimension in this buffer");
  }

  /// Narrows dimension d to [min, min + extent); the device handle, if any, is left to the caller.
  void crop_host(int d, int min, int extent) {
    const halide_dimension_t old = buf_.dim[d];
    if (buf_.host) {
      buf_.host += ((ptrdiff_t)min - old.min) * old.stride * buf_.type.bytes();
    }
    buf_.dim[d].min = min;
    buf_.dim[d].extent = extent;
  }

  void slice_host(int d, int pos) {
    crop_host(d, pos, 1);
    std::copy(buf_.dim + d + 1, buf_.dim + buf_.dimensions, buf_.dim + d);
    buf_.dimensions--;
  }

  void embed_at(int d, int pos) {
    require(d >= 0 && d <= buf_.dimensions, "no such place for a new dimension");
    const std::vector<halide_dimension_t> old(buf_.dim, buf_.dim + buf_.dimensions);
    set_rank((int)old.size() + 1);
    std::copy(old.begin(), old.begin() + d, buf_.dim);
    std::copy(old.begin() + d, old.end(), buf_.dim + d + 1);
    buf_.dim[d] = halide_dimension_t(pos, 1, next_stride(old));
  }

  static int32_t next_stride(const std::vector<halide_dimension_t> &shape) {
    int64_t stride = 1;
    for (const halide_dimension_t &d : shape) {
      stride = std::max(stride, std::abs((int64_t)d.stride * d.extent));
    }
    return (int32_t)std::min<int64_t>(stride, INT32_MAX);
  }

  /// Ends a crop or slice of `whole` that this object now describes: cuts the device memory too.
  template <typename Cut> void cut_device(BufferCore &whole, Cut cut) {
    buf_.device = 0;
    buf_.device_interface = nullptr;
    if (!whole.buf_.device) {
      return;
    }
    if (cut(whole.buf_.device_interface) == halide_error_code_success) {
      device_block_ = new DeviceBlock;
      device_block_->kind = DeviceBlock::kPart;
      device_block_->parent = whole.shared_device();
      device_block_->parent_view = whole.buf_;
      device_block_->parent_view.dimensions = 0;
      device_block_->parent_view.dim = nullptr;
    } else {
      require(!whole.buf_.device_dirty(),
              "this device can't cut its memory: copy_to_host() before cropping or slicing");
      buf_.device = 0;
      buf_.device_interface = nullptr;
      buf_.set_device_dirty(false);
    }
  }

  bool has_device() const { return buf_.device != 0; }

  int to_host(void *cx) {
    return buf_.device_dirty() && buf_.device_interface
               ? buf_.device_interface->copy_to_host(cx, &buf_)
               : halide_error_code_success;
  }

  int to_device(const halide_device_interface_t *api, void *cx) {
    if (!api) {
      return halide_error_code_no_device_interface;
    }
    return buf_.host_dirty() || !buf_.device ? api->copy_to_device(cx, &buf_, api)
                                             : halide_error_code_success;
  }
};

}  // namespace detail

}  // namespace Runtime
}  // namespace Halide
