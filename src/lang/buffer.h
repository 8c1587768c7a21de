// Buffer: pixels in this process, shared by all copies of the handle; usable in Exprs directly.
//
// Wraps a Runtime::Buffer (runtime/HalideBuffer.h), which brings shapes, views and element access.
// [extents, innermost first], strides in elements. Memory is freed with the last handle or Expr.
#pragma once

#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "../ir/parameter.h"
#include "../runtime/HalideBuffer.h"
#include "rdom.h"
#include "var.h"

namespace calotype {

namespace lang {

using RuntimeBuffer = Halide::Runtime::Buffer<void, Halide::Runtime::AnyDims, 4>;

/// What Buffers share.
struct CALO_EXPORT BufferContents final : ir::BufferHandle {
  RuntimeBuffer buffer;
  std::string name;
  bool unnamed = false;  ///< pipelines name it
  ir::Parameter *param =
      nullptr;  ///< while Exprs use the Buffer: what they refer to, and what owns this
  explicit BufferContents(RuntimeBuffer b) : buffer(std::move(b)) {}
  ~BufferContents() override;
  halide_buffer_t *raw() const override {
    return const_cast<halide_buffer_t *>(buffer.raw_buffer());
  }
};

CALO_EXPORT Ref<BufferContents> make_contents(RuntimeBuffer b, const std::string &name);
/// New memory, contents undefined; `order`: dimensions from the innermost outwards, empty for their own order. Throws R0104
/// with the size, L0105 for a negative one.
CALO_EXPORT Ref<BufferContents> new_contents(Type t, const std::vector<int> &sizes,
                                             const std::vector<int> &order,
                                             const std::string &name);
/// Throws L0403 unless the contents have this type (bits 0: any) and rank (-1: any).
CALO_EXPORT void check_contents(const Ref<BufferContents> &c, Type t, int rank);
CALO_EXPORT Expr load_buffer(const Ref<BufferContents> &c, const Coordinate *coords, size_t n,
                             SrcLoc at);
CALO_EXPORT Region region_of(const Ref<BufferContents> &c);
[[noreturn]] CALO_EXPORT void no_devices(const char *what);
[[noreturn]] CALO_EXPORT void undefined_buffer();

template <typename... Args>
using IfInts = typename std::enable_if<
    std::conjunction<std::is_integral<typename std::decay<Args>::type>...>::value, int>::type;
/// Sizes, perhaps with a name behind them: Buffer<float>(640, 480, "photo").
struct SizesAndName {
  std::vector<int> sizes;
  std::string name;
  template <typename... Args> explicit SizesAndName(int first, const Args &...rest) : sizes{first} {
    (add(rest), ...);
  }

private:
  void add(int n) { sizes.push_back(n); }
  void add(const std::string &n) { name = n; }
};
/// All are whole numbers but the last one, which is a name.
template <typename First, typename... Rest> constexpr bool ends_in_name() {
  if constexpr (sizeof...(Rest) == 0) {
    return !std::is_integral<First>::value &&
           std::is_convertible<const First &, std::string>::value;
  } else {
    return std::is_integral<First>::value && ends_in_name<Rest...>();
  }
}
template <typename... Args>
using IfName = typename std::enable_if<ends_in_name<int, Args...>(), int>::type;
template <typename... Args>
using IfExprs = typename std::enable_if<
    !std::conjunction<std::is_integral<typename std::decay<Args>::type>...>::value &&
        std::conjunction<std::is_convertible<const Args &, Coordinate>...>::value,
    int>::type;

}  // namespace lang

/// T = void: the element type is known at run time only; D = -1 the same for the rank.
template <typename T = void, int D = -1> class Buffer {
  using Element = typename std::conditional<std::is_void<T>::value, char, T>::type;
  using Value = typename std::remove_const<T>::type;

public:
  using ElemType = T;
  using RuntimeView = Halide::Runtime::Buffer<T, D, 4>;
  static constexpr bool has_static_halide_type = !std::is_void<T>::value;
  static constexpr bool has_static_dimensions = D != -1;

  Buffer() = default;
  Buffer(std::nullptr_t) {}
  /// Shares the pixels; throws L0403 if type or rank differ.
  template <typename T2, int D2> Buffer(const Buffer<T2, D2> &o) : contents_(o.contents_) {
    if (contents_) lang::check_contents(contents_, static_type(), D);
  }
  template <typename T2, int D2, int S>
  Buffer(const Halide::Runtime::Buffer<T2, D2, S> &b, const std::string &name = {})
      : contents_(lang::make_contents(lang::RuntimeBuffer(b), name)) {
    lang::check_contents(contents_, static_type(), D);
  }
  template <typename T2, int D2, int S>
  Buffer(Halide::Runtime::Buffer<T2, D2, S> &&b, const std::string &name = {})
      : contents_(lang::make_contents(lang::RuntimeBuffer(std::move(b)), name)) {
    lang::check_contents(contents_, static_type(), D);
  }
  explicit Buffer(Ref<lang::BufferContents> c) : contents_(std::move(c)) {
    if (contents_) lang::check_contents(contents_, static_type(), D);
  }
  /// A view that owns nothing.
  explicit Buffer(const halide_buffer_t &raw, const std::string &name = {})
      : Buffer(lang::RuntimeBuffer(raw), name) {}

  /// Buffer<float>(w, h, ...): new memory, contents undefined.
  template <typename... Args, lang::IfInts<Args...> = 0>
  explicit Buffer(int first, Args... rest)
      : Buffer(std::vector<int>{first, static_cast<int>(rest)...}) {}
  template <typename... Args, lang::IfName<Args...> = 0>
  explicit Buffer(int first, const Args &...rest) : Buffer(lang::SizesAndName(first, rest...)) {}
  explicit Buffer(const std::vector<int> &sizes, const std::string &name = {})
      : Buffer(static_type(), sizes, name) {}
  explicit Buffer(std::initializer_list<int> sizes) : Buffer(std::vector<int>(sizes)) {}
  Buffer(const std::vector<int> &sizes, const std::vector<int> &storage_order,
         const std::string &name = {})
      : Buffer(lang::new_contents(static_type(), sizes, storage_order, name)) {}
  Buffer(Type t, const std::vector<int> &sizes, const std::string &name = {})
      : Buffer(lang::new_contents(t, sizes, {}, name)) {}
  template <typename... Args, lang::IfInts<Args...> = 0>
  explicit Buffer(Type t, int first, Args... rest)
      : Buffer(t, std::vector<int>{first, static_cast<int>(rest)...}) {}
  template <typename... Args, lang::IfName<Args...> = 0>
  explicit Buffer(Type t, int first, const Args &...rest)
      : Buffer(t, lang::SizesAndName(first, rest...)) {}
  /// Views of the caller's memory.
  template <typename... Args, lang::IfInts<Args...> = 0>
  explicit Buffer(T *data, int first, Args... rest)
      : Buffer(data, std::vector<int>{first, static_cast<int>(rest)...}) {}
  Buffer(T *data, const std::vector<int> &sizes, const std::string &name = {})
      : Buffer(static_type(), const_cast<Value *>(data), sizes, name) {}
  Buffer(T *data, const std::vector<halide_dimension_t> &shape, const std::string &name = {})
      : Buffer(lang::RuntimeBuffer(halide_type_t(static_type()), const_cast<Value *>(data), shape),
               name) {}
  Buffer(Type t, void *data, const std::vector<int> &sizes, const std::string &name = {})
      : Buffer(lang::RuntimeBuffer(halide_type_t(t), data, sizes), name) {}
  template <typename Row, size_t N>
  explicit Buffer(Row (&array)[N], const std::string &name = {})
      : Buffer(lang::RuntimeBuffer(Halide::Runtime::Buffer<T, D>(array)), name) {}

  static Buffer make_scalar(const std::string &name = {}) {
    return Buffer(std::vector<int>(), name);
  }
  static Buffer make_scalar(Type t, const std::string &name = {}) {
    return Buffer(t, std::vector<int>(), name);
  }
  static Buffer make_scalar(T *data, const std::string &name = {}) {
    return Buffer(data, std::vector<int>(), name);
  }
  static Buffer make_interleaved(int w, int h, int c, const std::string &name = {}) {
    return Buffer(std::vector<int>{w, h, c}, std::vector<int>{2, 0, 1}, name);
  }
  static Buffer make_interleaved(Type t, int w, int h, int c, const std::string &name = {}) {
    return Buffer(
        lang::new_contents(t, std::vector<int>{w, h, c}, std::vector<int>{2, 0, 1}, name));
  }
  static Buffer make_interleaved(T *data, int w, int h, int c, const std::string &name = {}) {
    return Buffer(data, std::vector<halide_dimension_t>{{0, w, c}, {0, h, c * w}, {0, c, 1}}, name);
  }
  template <typename T2, int D2>
  static Buffer make_with_shape_of(const Buffer<T2, D2> &b, const std::string &name = {}) {
    return Buffer(Halide::Runtime::Buffer<T, D>::make_with_shape_of(*b.get()), name);
  }

  // ---- what it is -------------------------------------------------------------------------------
  bool defined() const { return contents_.defined(); }
  template <typename T2, int D2> bool same_as(const Buffer<T2, D2> &o) const {
    return contents_.same_as(o.contents());
  }
  int use_count() const { return contents_ ? contents_->ref_count() : 0; }
  const std::string &name() const { return held().name; }
  void set_name(const std::string &n) {
    held().name = n;
    held().unnamed = false;
  }
  Type type() const { return held().buffer.type(); }
  static Type static_type() {
    if constexpr (std::is_void<T>::value) {
      return Type();
    } else {
      return type_of<Value>();
    }
  }
  int dimensions() const { return held().buffer.dimensions(); }
  auto dim(int i) const { return held().buffer.dim(i); }
  int width() const { return held().buffer.width(); }
  int height() const { return held().buffer.height(); }
  int channels() const { return held().buffer.channels(); }
  int min(int i) const { return dim(i).min(); }
  int extent(int i) const { return dim(i).extent(); }
  int stride(int i) const { return dim(i).stride(); }
  int left() const { return min(0); }
  int right() const { return dim(0).max(); }
  int top() const { return min(1); }
  int bottom() const { return dim(1).max(); }
  size_t number_of_elements() const { return held().buffer.number_of_elements(); }
  size_t size_in_bytes() const { return held().buffer.size_in_bytes(); }
  T *data() const { return get()->data(); }
  T *begin() const { return get()->begin(); }
  T *end() const { return get()->end(); }
  Region region() const { return lang::region_of(contents_); }

  // ---- elements ---------------------------------------------------------------------------------
  template <typename... Args, lang::IfInts<Args...> = 0>
  Element &operator()(int first, Args... rest) const {
    return (*view())(first, rest...);
  }
  Element &operator()() const { return (*view())(); }
  Element &operator()(const int *pos) const { return (*view())(pos); }
  /// An Expr: the pipeline reads this buffer.
  template <typename First, typename... Rest, lang::IfExprs<First, Rest...> = 0>
  Expr operator()(const First &first, const Rest &...rest) const {
    const SrcLoc at = lang::recent_position();
    const lang::Coordinate all[] = {lang::Coordinate(first, at), lang::Coordinate(rest, at)...};
    return lang::load_buffer(contents_, all, 1 + sizeof...(rest), at);
  }
  Expr operator()(const std::vector<Expr> &coords, SrcLoc at = SrcLoc::here()) const {
    const std::vector<lang::Coordinate> all(coords.begin(), coords.end());
    return lang::load_buffer(contents_, all.data(), all.size(), at);
  }
  template <typename V> Buffer &fill(V value) {
    get()->fill(value);
    return *this;
  }
  template <typename Fn> const Buffer &for_each_element(Fn &&f) const {
    get()->for_each_element(std::forward<Fn>(f));
    return *this;
  }
  template <typename Fn, typename... Others>
  const Buffer &for_each_value(Fn &&f, const Others &...others) const {
    view()->for_each_value(std::forward<Fn>(f), *others.view()...);
    return *this;
  }
  bool all_equal(Element v) const { return get()->all_equal(v); }
  template <typename... Args> bool contains(Args... coords) const {
    return held().buffer.contains(coords...);
  }

  // ---- copies and views -------------------------------------------------------------------------
  Buffer<Value, D> copy() const { return Buffer<Value, D>(get()->copy()); }
  template <typename T2, int D2> void copy_from(const Buffer<T2, D2> &o) {
    held().buffer.copy_from(o.contents()->buffer);
  }
  Buffer cropped(int d, int min, int extent) const {
    return Buffer(get()->cropped(d, min, extent));
  }
  void crop(int d, int min, int extent) { get()->crop(d, min, extent); }
  Buffer<T, (D > 0 ? D - 1 : D)> sliced(int d, int pos) const {
    return Buffer<T, (D > 0 ? D - 1 : D)>(get()->sliced(d, pos));
  }
  void slice(int d, int pos) { get()->slice(d, pos); }
  Buffer<T, (D >= 0 ? D + 1 : D)> embedded(int d, int pos = 0) const {
    return Buffer<T, (D >= 0 ? D + 1 : D)>(get()->embedded(d, pos));
  }
  void embed(int d, int pos = 0) { get()->embed(d, pos); }
  void add_dimension() { get()->add_dimension(); }
  Buffer translated(int d, int by) const { return Buffer(get()->translated(d, by)); }
  void translate(int d, int by) { get()->translate(d, by); }
  void translate(const std::vector<int> &by) { get()->translate(by); }
  Buffer transposed(int d1, int d2) const { return Buffer(get()->transposed(d1, d2)); }
  void transpose(int d1, int d2) { get()->transpose(d1, d2); }
  template <typename... Args> void set_min(Args... mins) { held().buffer.set_min(mins...); }
  template <typename T2, int D2 = D> Buffer<T2, D2> as() const { return Buffer<T2, D2>(*this); }
  Buffer<typename std::add_const<T>::type, D> as_const() const {
    return Buffer<typename std::add_const<T>::type, D>(*this);
  }

  // ---- memory -----------------------------------------------------------------------------------
  void allocate() { held().buffer.allocate(); }
  void deallocate() { held().buffer.deallocate(); }
  void reset() { contents_ = nullptr; }
  halide_buffer_t *raw_buffer() const { return held().raw(); }
  operator halide_buffer_t *() const { return raw_buffer(); }
  /// The view underneath; it lives as long as this Buffer.
  RuntimeView *get() const { return view(); }
  bool host_dirty() const { return held().buffer.host_dirty(); }
  bool device_dirty() const { return held().buffer.device_dirty(); }
  void set_host_dirty(bool on = true) { held().buffer.set_host_dirty(on); }
  void set_device_dirty(bool on = true) { held().buffer.set_device_dirty(on); }
  bool has_device_allocation() const { return held().buffer.has_device_allocation(); }
  int copy_to_host(void *cx = nullptr) { return held().buffer.copy_to_host(cx); }
  /// Refused by L0901: there are no devices yet.
  template <typename... Args> int copy_to_device(const Args &...) const {
    lang::no_devices("Buffer::copy_to_device");
  }
  template <typename... Args> int device_malloc(const Args &...) const {
    lang::no_devices("Buffer::device_malloc");
  }
  int device_sync(void *cx = nullptr) { return held().buffer.device_sync(cx); }
  int device_free(void *cx = nullptr) { return held().buffer.device_free(cx); }
  const Ref<lang::BufferContents> &contents() const { return contents_; }

private:
  template <typename T2, int D2> friend class Buffer;
  explicit Buffer(const lang::SizesAndName &s) : Buffer(s.sizes, s.name) {}
  Buffer(Type t, const lang::SizesAndName &s) : Buffer(t, s.sizes, s.name) {}
  lang::BufferContents &held() const {
    if (!contents_) lang::undefined_buffer();
    return *contents_;
  }
  RuntimeView *view() const { return &held().buffer.template as<T, D>(); }
  Ref<lang::BufferContents> contents_;
};

}  // namespace calotype
