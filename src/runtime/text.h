#pragma once
// Text for the runtime's messages, without the C++ library.
//
// The runtime is compiled twice, into libcalotype and into the object that every static library carries.
// The second must link into plain C programs, so nothing in this folder needs libstdc++.so: only libc
// and inline templates. Text drops what finds no memory; a message is then shorter, never an exception.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace calotype::runtime {

/// A growing string. Holds a null pointer while empty.
class Text {
public:
  Text() = default;
  Text(const char *s) { add(s, s ? strlen(s) : 0); }
  Text(const Text &o) { add(o.data_, o.size_); }
  Text(Text &&o) noexcept : data_(o.data_), size_(o.size_), capacity_(o.capacity_) { o.forget(); }
  Text &operator=(const Text &o) {
    if (this != &o) {
      size_ = 0;
      add(o.data_, o.size_);
    }
    return *this;
  }
  Text &operator=(Text &&o) noexcept {
    if (this != &o) {
      free(data_);
      data_ = o.data_;
      size_ = o.size_;
      capacity_ = o.capacity_;
      o.forget();
    }
    return *this;
  }
  ~Text() { free(data_); }

  bool empty() const { return size_ == 0; }
  const char *c_str() const { return size_ ? data_ : ""; }
  operator std::string() const { return c_str(); }  // for the front end
  Text &operator+=(const Text &o) { return add(o.data_, o.size_); }
  Text &operator+=(const char *s) { return add(s, strlen(s)); }
  bool operator==(const char *s) const { return strcmp(c_str(), s) == 0; }

private:
  __attribute__((noinline)) Text &add(const char *s, size_t n) {
    if (n == 0 || !reserve(size_ + n + 1)) {
      return *this;
    }
    memcpy(data_ + size_, s, n);
    size_ += n;
    data_[size_] = 0;
    return *this;
  }
  bool reserve(size_t bytes) {
    if (bytes <= capacity_) {
      return true;
    }
    const size_t wanted = bytes < 128 ? 128 : bytes * 2;
    char *more = static_cast<char *>(realloc(data_, wanted));
    if (!more) {
      return false;
    }
    data_ = more;
    capacity_ = wanted;
    return true;
  }
  void forget() {
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

  char *data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

inline Text operator+(Text a, const Text &b) { return static_cast<Text &&>(a += b); }
inline Text operator+(Text a, const char *b) { return static_cast<Text &&>(a += b); }

inline Text to_text(int64_t v) {
  char digits[24];
  snprintf(digits, sizeof digits, "%lld", static_cast<long long>(v));
  return digits;
}
inline Text to_text(int v) { return to_text(int64_t(v)); }
inline Text to_text(uint64_t v) {
  char digits[24];
  snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(v));
  return digits;
}
inline Text to_text(double v) {
  char digits[32];
  for (int n = 6; n <= 17; n++) {  // the shortest that reads back as v
    snprintf(digits, sizeof digits, "%.*g", n, v);
    if (strtod(digits, nullptr) == v) {
      break;
    }
  }
  return digits;
}

}  // namespace calotype::runtime
