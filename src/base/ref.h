// Intrusive reference counting for immutable, shared objects (IR nodes, Funcs, parameters).
// A release never recurses: objects whose count drops to zero while another is being destroyed are
// queued and destroyed in a loop, so that a chain of a million nodes dies on a small stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "export.h"

namespace calotype {

/// Base of every object that `Ref` manages. The count is atomic: pipelines may be built in one thread and
/// compiled in another.
class CALO_EXPORT RefCounted {
public:
  RefCounted() = default;
  RefCounted(const RefCounted &) : refs_(0) {}
  RefCounted &operator=(const RefCounted &) { return *this; }
  virtual ~RefCounted();

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
  }
  int ref_count() const { return refs_.load(std::memory_order_relaxed); }

private:
  static void destroy(const RefCounted *object);
  mutable std::atomic<int> refs_{0};
};

/// Shared ownership of a RefCounted `T`. Null by default.
template <typename T> class Ref {
public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  Ref(T *p) : ptr_(p) {
    if (ptr_) ptr_->retain();
  }
  Ref(const Ref &o) : Ref(o.ptr_) {}
  Ref(Ref &&o) noexcept : ptr_(o.ptr_) { o.ptr_ = nullptr; }
  template <typename U> Ref(const Ref<U> &o) : Ref(o.get()) {}
  ~Ref() {
    if (ptr_) ptr_->release();
  }
  Ref &operator=(Ref o) noexcept {
    std::swap(ptr_, o.ptr_);
    return *this;
  }
  T *get() const { return ptr_; }
  T *operator->() const { return ptr_; }
  T &operator*() const { return *ptr_; }
  explicit operator bool() const { return ptr_ != nullptr; }
  bool defined() const { return ptr_ != nullptr; }
  bool same_as(const Ref &o) const { return ptr_ == o.ptr_; }

protected:
  T *ptr_ = nullptr;
};

}  // namespace calotype
