#pragma once
// Halide::Runtime::Buffer<T, Dims>: a typed, optionally owning view on a halide_buffer_t.
//
// Header only, std and the C interface only, so that callers of compiled pipelines need no library.
// Copies share memory; the last owner frees it. Slicing, cropping, translating and transposing make
// new views on the same memory and cost no copy. T = void means the element type is known only at
// run time; Dims = AnyDims the same for the number of dimensions. Dimension 0 is innermost; strides
// count elements; all offsets are computed in 64 bits. Misuse (a wrong type in a conversion, an
// impossible shape) throws std::logic_error, or aborts where exceptions are off. Not synchronised:
// one thread per Buffer object, though many objects may share memory.
// Define HALIDE_RUNTIME_BUFFER_CHECK_INDICES to 1 to check the coordinates of each access.

#include "HalideBufferCore.h"

#include <initializer_list>

namespace Halide {
namespace Runtime {

/// The number of dimensions is known at run time only.
constexpr int AnyDims = -1;

template <typename T = void, int Dims = AnyDims,
          int InClassDimStorage = (Dims == AnyDims ? 4 : (Dims > 1 ? Dims : 1))>
class Buffer : private detail::BufferCore<InClassDimStorage> {
  using Core = detail::BufferCore<InClassDimStorage>;
  using Core::buf_;
  using Core::device_block_;
  using Core::host_block_;

  template <typename T2, int D2, int S2> friend class Buffer;

  using VoidLikeT = typename std::conditional<std::is_const<T>::value, const void, void>::type;
  // What operator() returns a reference to; char only keeps the declaration legal for void.
  using Element = typename std::conditional<std::is_void<T>::value, char, T>::type;
  static constexpr int kFewer = Dims == AnyDims ? AnyDims : Dims - 1;
  static constexpr int kMore = Dims == AnyDims ? AnyDims : Dims + 1;

public:
  using ElemType = T;

  static constexpr bool has_static_halide_type = !std::is_void<T>::value;
  static constexpr bool has_static_dimensions = Dims != AnyDims;
  static constexpr bool static_has_static_type = has_static_halide_type;
  static constexpr halide_type_t static_halide_type() {
    return halide_type_of<typename std::remove_cv<Element>::type>();
  }
  static constexpr int static_dimensions() { return Dims; }

  // ---- making one ---------------------------------------------------------------------------

  /// No memory; every dimension of a static rank has extent 0.
  Buffer() { start(default_type(), Dims == AnyDims ? 0 : Dims); }

  Buffer(const Buffer &other) : Core() { Core::share(other); }
  Buffer(Buffer &&other) noexcept : Core() { Core::steal(other); }

  /// Shares memory with a buffer of another static type or rank; throws if they don't agree.
  template <typename T2, int D2, int S2> Buffer(const Buffer<T2, D2, S2> &other) {
    assert_can_convert_from(other);
    Core::share(other);
  }
  template <typename T2, int D2, int S2> Buffer(Buffer<T2, D2, S2> &&other) {
    assert_can_convert_from(other);
    Core::steal(other);
  }

  /// A view: neither memory nor device handle will be freed by it.
  explicit Buffer(const halide_buffer_t &raw) {
    require_type(raw.type);
    require_rank(raw.dimensions);
    Core::view(raw);
    mark_unowned();
  }

  Buffer &operator=(const Buffer &other) {
    if (this != &other) {
      Core::release();
      Core::share(other);
    }
    return *this;
  }
  Buffer &operator=(Buffer &&other) noexcept {
    if (this != &other) {
      Core::release();
      Core::steal(other);
    }
    return *this;
  }
  template <typename T2, int D2, int S2> Buffer &operator=(const Buffer<T2, D2, S2> &other) {
    return *this = Buffer(other);
  }
  template <typename T2, int D2, int S2> Buffer &operator=(Buffer<T2, D2, S2> &&other) {
    return *this = Buffer(std::move(other));
  }

  /// Allocates extents[0] x extents[1] x ... elements, dense, mins 0, contents undefined.
  /// With an extent of 0 nothing is allocated: such a buffer serves as a bounds query.
  template <typename... Args, detail::AllIntegers<Args...> = 0>
  explicit Buffer(int first, Args... rest) : Buffer(static_type(), first, rest...) {}
  explicit Buffer(const std::vector<int> &extents) : Buffer(static_type(), extents) {}
  /// So that Buffer({w, h}) is no choice between a vector and a copy of Buffer(w, h).
  explicit Buffer(std::initializer_list<int> extents)
      : Buffer(static_type(), std::vector<int>(extents)) {}
  template <typename... Args, detail::AllIntegers<Args...> = 0>
  explicit Buffer(halide_type_t t, int first, Args... rest)
      : Buffer(t, std::vector<int>{first, int(rest)...}) {}
  Buffer(halide_type_t t, const std::vector<int> &extents) {
    start(t, extents);
    for (int extent : extents) {
      if (extent == 0) {
        return;
      }
    }
    allocate();
  }

  /// The order names dimensions from innermost to outermost in memory.
  Buffer(const std::vector<int> &extents, const std::vector<int> &order)
      : Buffer(static_type(), extents, order) {}
  Buffer(halide_type_t t, const std::vector<int> &extents, const std::vector<int> &order)
      : Buffer(t, permuted(extents, order)) {
    std::vector<int> back(order.size());
    for (size_t i = 0; i < order.size(); i++) {
      back[order[i]] = (int)i;
    }
    transpose(back);
  }

  /// Views of memory that the caller keeps alive: dense with these extents ...
  template <typename... Args, detail::AllIntegers<Args...> = 0>
  explicit Buffer(T *data, int first, Args... rest)
      : Buffer(static_type(), data, std::vector<int>{first, int(rest)...}) {}
  Buffer(T *data, const std::vector<int> &extents) : Buffer(static_type(), data, extents) {}
  template <typename... Args, detail::AllIntegers<Args...> = 0>
  explicit Buffer(halide_type_t t, VoidLikeT *data, int first, Args... rest)
      : Buffer(t, data, std::vector<int>{first, int(rest)...}) {}
  Buffer(halide_type_t t, VoidLikeT *data, const std::vector<int> &extents) {
    start(t, extents);
    set_host(data);
  }
  /// ... or with any strides and mins; data is the element at the mins.
  Buffer(T *data, int rank, const halide_dimension_t *shape)
      : Buffer(static_type(), data, rank, shape) {}
  Buffer(T *data, const std::vector<halide_dimension_t> &shape)
      : Buffer(static_type(), data, (int)shape.size(), shape.data()) {}
  Buffer(halide_type_t t, VoidLikeT *data, const std::vector<halide_dimension_t> &shape)
      : Buffer(t, data, (int)shape.size(), shape.data()) {}
  Buffer(halide_type_t t, VoidLikeT *data, int rank, const halide_dimension_t *shape) {
    start(t, rank);
    std::copy(shape, shape + rank, buf_.dim);
    set_host(data);
  }
  /// A view of a C array; its last index is dimension 0.
  template <typename Row, size_t N> explicit Buffer(Row (&array)[N]) {
    using Scalar = typename std::remove_all_extents<Row>::type;
    std::vector<int> extents;
    array_extents<Row[N]>(extents);
    start(halide_type_of<typename std::remove_cv<Scalar>::type>(), extents);
    set_host((VoidLikeT *)(void *)&array);
  }

  /// One element, no dimensions.
  static Buffer<T, Dims> make_scalar() {
    return Buffer<T, Dims>(static_type(), std::vector<int>());
  }
  static Buffer<T, Dims> make_scalar(halide_type_t t) {
    return Buffer<T, Dims>(t, std::vector<int>());
  }
  static Buffer<T, Dims> make_scalar(T *data) { return Buffer<T, Dims>(data, std::vector<int>()); }

  /// [width, height, channels] with the channels of a pixel side by side in memory.
  static Buffer<T, Dims> make_interleaved(int width, int height, int channels) {
    return make_interleaved(static_type(), width, height, channels);
  }
  static Buffer<T, Dims> make_interleaved(halide_type_t t, int width, int height, int channels) {
    return Buffer<T, Dims>(t, {width, height, channels}, {2, 0, 1});
  }
  static Buffer<T, Dims> make_interleaved(T *data, int width, int height, int channels) {
    return make_interleaved(static_type(), data, width, height, channels);
  }
  static Buffer<T, Dims> make_interleaved(halide_type_t t, VoidLikeT *data, int width, int height,
                                          int channels) {
    Buffer<T, Dims> result(t, data, std::vector<int>{channels, width, height});
    result.transpose(std::vector<int>{1, 2, 0});
    return result;
  }

  /// New memory with the mins, extents and stride order of src, but dense.
  template <typename T2, int D2, int S2>
  static Buffer<T, Dims> make_with_shape_of(const Buffer<T2, D2, S2> &src,
                                            void *(*alloc_fn)(size_t) = nullptr,
                                            void (*free_fn)(void *) = nullptr) {
    return make_with_shape_of(has_static_halide_type ? static_type() : src.type(), src.buf_,
                              alloc_fn, free_fn);
  }

  // ---- what it is ---------------------------------------------------------------------------

  /// One dimension; iterates over its coordinates.
  class Dimension {
    halide_dimension_t d_;

  public:
    explicit Dimension(const halide_dimension_t &d) : d_(d) {}
    int min() const { return d_.min; }
    int extent() const { return d_.extent; }
    int stride() const { return d_.stride; }
    int max() const { return d_.min + d_.extent - 1; }

    struct iterator {
      int at;
      int operator*() const { return at; }
      iterator &operator++() {
        ++at;
        return *this;
      }
      bool operator!=(const iterator &o) const { return at != o.at; }
    };
    iterator begin() const { return {d_.min}; }
    iterator end() const { return {d_.min + d_.extent}; }
  };

  Dimension dim(int i) const {
    this->check_dim(i);
    return Dimension(buf_.dim[i]);
  }
  int min(int i) const { return dim(i).min(); }
  int extent(int i) const { return dim(i).extent(); }
  int stride(int i) const { return dim(i).stride(); }
  int dimensions() const { return buf_.dimensions; }
  halide_type_t type() const { return buf_.type; }
  size_t number_of_elements() const { return buf_.number_of_elements(); }
  size_t size_in_bytes() const { return buf_.size_in_bytes(); }

  /// Names for pictures: dimensions 0, 1, 2; a missing one counts as extent 1.
  int width() const { return dimensions() > 0 ? extent(0) : 1; }
  int height() const { return dimensions() > 1 ? extent(1) : 1; }
  int channels() const { return dimensions() > 2 ? extent(2) : 1; }
  int left() const { return dim(0).min(); }
  int right() const { return dim(0).max(); }
  int top() const { return dim(1).min(); }
  int bottom() const { return dim(1).max(); }

  /// The element at the mins.
  T *data() const { return (T *)buf_.host; }
  /// The lowest element and one past the highest.
  T *begin() const { return (T *)buf_.begin(); }
  T *end() const { return (T *)buf_.end(); }

  bool is_bounds_query() const { return buf_.is_bounds_query(); }
  bool owns_host_memory() const { return host_block_ != nullptr; }

  halide_buffer_t *raw_buffer() { return &buf_; }
  const halide_buffer_t *raw_buffer() const { return &buf_; }
  /// Compiled pipelines take non-const pointers for inputs too, hence the const version.
  operator halide_buffer_t *() const { return const_cast<halide_buffer_t *>(&buf_); }

  template <typename... Args, detail::AllIntegers<Args...> = 0>
  bool contains(Args... coords) const {
    return contains(std::vector<int>{int(coords)...});
  }
  bool contains(const std::vector<int> &coords) const {
    detail::require((int)coords.size() <= dimensions(), "more coordinates than dimensions");
    for (size_t d = 0; d < coords.size(); d++) {
      if (coords[d] < min((int)d) || (int64_t)coords[d] - min((int)d) >= extent((int)d)) {
        return false;
      }
    }
    return true;
  }

  // ---- elements -----------------------------------------------------------------------------

  /// Fewer coordinates than dimensions: the others are at their mins.
  template <typename... Args, detail::AllIntegers<Args...> = 0>
  HALIDE_ALWAYS_INLINE Element &operator()(int first, Args... rest) {
    return element(first, rest...);
  }
  template <typename... Args, detail::AllIntegers<Args...> = 0>
  HALIDE_ALWAYS_INLINE const Element &operator()(int first, Args... rest) const {
    return element(first, rest...);
  }
  Element &operator()() { return element(); }
  const Element &operator()() const { return element(); }
  Element &operator()(const int *pos) { return element_at(pos); }
  const Element &operator()(const int *pos) const { return element_at(pos); }

  /// Sets every element, through whatever strides.
  template <typename V> Buffer &fill(V value) {
    const Element v = static_cast<Element>(value);
    for_each_value([v](Element &e) { e = v; });
    set_host_dirty();
    return *this;
  }

  bool all_equal(Element value) const {
    bool same = true;
    for_each_value([&](const Element &e) { same = same && e == value; });
    return same;
  }

  /// Calls f(element, element of others...) for each element, in memory order of this buffer.
  /// The others have the same extents; mins may differ. Elements of const Buffers are const.
  template <typename Fn, typename... Others> Buffer &for_each_value(Fn &&f, Others &&...others) {
    walk_values<Element>(f, others...);
    return *this;
  }
  template <typename Fn, typename... Others>
  const Buffer &for_each_value(Fn &&f, Others &&...others) const {
    walk_values<const Element>(f, others...);
    return *this;
  }

  /// Calls f at each coordinate, dimension 0 fastest. f takes `const int *pos` or ints: with fewer
  /// ints than dimensions the outer dimensions are not walked, with more the rest are 0.
  template <typename Fn> const Buffer &for_each_element(Fn &&f) const {
    if constexpr (std::is_invocable<Fn, const int *>::value) {
      walk_coords(dimensions(), dimensions(), [&](const int *pos) { f(pos); });
    } else {
      constexpr int n = int_arity<Fn>();
      static_assert(n >= 0, "the function takes neither `const int *` nor up to 16 ints");
      walk_coords(std::min(n, dimensions()), n, [&](const int *pos) {
        call_with_ints(f, pos, std::make_index_sequence<(size_t)n>());
      });
    }
    return *this;
  }
  template <typename Fn> Buffer &for_each_element(Fn &&f) {
    static_cast<const Buffer *>(this)->for_each_element(std::forward<Fn>(f));
    return *this;
  }

  // ---- copies -------------------------------------------------------------------------------

  /// A dense copy in memory of its own, with the same order of strides.
  Buffer<typename std::remove_const<T>::type, Dims> copy(void *(*alloc_fn)(size_t) = nullptr,
                                                         void (*free_fn)(void *) = nullptr) const {
    using Result = Buffer<typename std::remove_const<T>::type, Dims>;
    Result result = Result::make_with_shape_of(*this, alloc_fn, free_fn);
    result.copy_from(*this);
    return result;
  }
  Buffer<typename std::remove_const<T>::type, Dims> copy_to_interleaved() const {
    return copy_in_order({2, 0, 1});
  }
  Buffer<typename std::remove_const<T>::type, Dims> copy_to_planar() const {
    std::vector<int> order(dimensions());
    for (int d = 0; d < dimensions(); d++) {
      order[d] = d;
    }
    return copy_in_order(order);
  }

  /// Copies the elements at coordinates that both buffers have.
  template <typename T2, int D2, int S2> void copy_from(const Buffer<T2, D2, S2> &src) {
    static_assert(!std::is_const<T>::value, "the destination of a copy can't be const");
    detail::require(src.dimensions() == dimensions() && src.type() == type(),
                    "copy_from needs buffers of equal type and rank");
    detail::require(!src.device_dirty() && !device_dirty(),
                    "copy_from works on host memory: copy_to_host() first");
    detail::copy_overlap(src.buf_, buf_);
    set_host_dirty();
  }

  // ---- other views on the same memory -------------------------------------------------------

  /// Shares memory without owning a part of it.
  Buffer<T, Dims> alias() const { return Buffer<T, Dims>(buf_); }

  Buffer<T, Dims> cropped(int d, int min, int extent) const {
    this->check_dim(d);
    detail::require(extent >= 0 && min >= buf_.dim[d].min &&
                        (int64_t)min + extent <= (int64_t)buf_.dim[d].min + buf_.dim[d].extent,
                    "a crop must lie inside the buffer");
    Buffer<T, Dims> part = without_device();
    part.crop_host(d, min, extent);
    const halide_buffer_t *whole = &buf_;
    halide_buffer_t *view = &part.buf_;
    part.cut_device(const_cast<Buffer &>(*this), [=](const halide_device_interface_t *api) {
      return api->device_crop(nullptr, whole, view);
    });
    return part;
  }
  /// One {min, extent} per leading dimension.
  Buffer<T, Dims> cropped(const std::vector<std::pair<int, int>> &rect) const {
    Buffer<T, Dims> part = *this;
    for (size_t d = 0; d < rect.size(); d++) {
      part = part.cropped((int)d, rect[d].first, rect[d].second);
    }
    return part;
  }
  void crop(int d, int min, int extent) { *this = cropped(d, min, extent); }
  void crop(const std::vector<std::pair<int, int>> &rect) { *this = cropped(rect); }

  /// Fixes dimension d at pos (default: its min) and removes it.
  Buffer<T, kFewer> sliced(int d, int pos) const {
    static_assert(Dims == AnyDims || Dims > 0, "no dimension to slice");
    this->check_dim(d);
    detail::require(pos >= dim(d).min() && pos <= dim(d).max(),
                    "a slice must lie inside the buffer");
    Buffer<T, AnyDims, InClassDimStorage> part = without_device();
    part.slice_host(d, pos);
    const halide_buffer_t *whole = &buf_;
    halide_buffer_t *view = &part.buf_;
    part.cut_device(const_cast<Buffer &>(*this), [=](const halide_device_interface_t *api) {
      return api->device_slice(nullptr, whole, d, pos, view);
    });
    return part;
  }
  Buffer<T, kFewer> sliced(int d) const { return sliced(d, dim(d).min()); }
  void slice(int d, int pos) {
    static_assert(Dims == AnyDims, "the rank is part of this buffer's type: use sliced()");
    *this = sliced(d, pos);
  }
  void slice(int d) { slice(d, dim(d).min()); }

  /// Inserts a dimension of extent 1 at coordinate pos before dimension d.
  Buffer<T, kMore> embedded(int d, int pos = 0) const {
    Buffer<T, AnyDims, InClassDimStorage + 1> result(*this);
    result.embed_at(d, pos);
    return result;
  }
  void embed(int d, int pos = 0) {
    static_assert(Dims == AnyDims, "the rank is part of this buffer's type: use embedded()");
    this->embed_at(d, pos);
  }
  void add_dimension() { embed(dimensions(), 0); }

  /// Moves coordinates, not data: what was at x is at x + delta.
  Buffer<T, Dims> translated(int d, int delta) const {
    Buffer<T, Dims> result = *this;
    result.translate(d, delta);
    return result;
  }
  Buffer<T, Dims> translated(const std::vector<int> &delta) const {
    Buffer<T, Dims> result = *this;
    result.translate(delta);
    return result;
  }
  void translate(int d, int delta) {
    this->check_dim(d);
    this->move_min(d, delta);
  }
  void translate(const std::vector<int> &delta) {
    for (size_t d = 0; d < delta.size(); d++) {
      translate((int)d, delta[d]);
    }
  }
  template <typename... Args, detail::AllIntegers<Args...> = 0> void set_min(Args... mins) {
    set_min(std::vector<int>{int(mins)...});
  }
  void set_min(const std::vector<int> &mins) {
    detail::require((int)mins.size() <= dimensions(), "more mins than dimensions");
    for (size_t d = 0; d < mins.size(); d++) {
      buf_.dim[d].min = mins[d];
    }
  }

  Buffer<T, Dims> transposed(int d1, int d2) const {
    Buffer<T, Dims> result = *this;
    result.transpose(d1, d2);
    return result;
  }
  /// Dimension i of the result is dimension order[i] of this buffer.
  Buffer<T, Dims> transposed(const std::vector<int> &order) const {
    Buffer<T, Dims> result = *this;
    result.transpose(order);
    return result;
  }
  void transpose(int d1, int d2) {
    this->check_dim(d1);
    this->check_dim(d2);
    std::swap(buf_.dim[d1], buf_.dim[d2]);
  }
  void transpose(const std::vector<int> &order) {
    bool each_once = (int)order.size() == dimensions();
    for (size_t i = 0; i < order.size(); i++) {
      each_once = each_once && order[i] >= 0 && order[i] < dimensions();
      for (size_t j = 0; j < i; j++) {
        each_once = each_once && order[i] != order[j];
      }
    }
    detail::require(each_once, "an order names each dimension once");
    const std::vector<halide_dimension_t> old(buf_.dim, buf_.dim + dimensions());
    for (int d = 0; d < dimensions(); d++) {
      buf_.dim[d] = old[order[d]];
    }
  }

  /// The same object under another static type or rank; throws if they don't agree.
  template <typename T2, int D2 = Dims> Buffer<T2, D2, InClassDimStorage> &as() & {
    Buffer<T2, D2, InClassDimStorage>::assert_can_convert_from(*this);
    // All data are members of the common base, so both views name the same objects.
    return static_cast<Buffer<T2, D2, InClassDimStorage> &>(static_cast<Core &>(*this));
  }
  template <typename T2, int D2 = Dims> const Buffer<T2, D2, InClassDimStorage> &as() const & {
    Buffer<T2, D2, InClassDimStorage>::assert_can_convert_from(*this);
    return static_cast<const Buffer<T2, D2, InClassDimStorage> &>(static_cast<const Core &>(*this));
  }
  template <typename T2, int D2 = Dims> Buffer<T2, D2, InClassDimStorage> as() && {
    return Buffer<T2, D2, InClassDimStorage>(std::move(*this));
  }
  const Buffer<typename std::add_const<T>::type, Dims, InClassDimStorage> &as_const() const & {
    return as<typename std::add_const<T>::type>();
  }

  template <typename T2, int D2, int S2>
  static bool can_convert_from(const Buffer<T2, D2, S2> &other) {
    return (!has_static_halide_type || other.type() == static_halide_type()) &&
           (!has_static_dimensions || other.dimensions() == Dims);
  }
  template <typename T2, int D2, int S2>
  static void assert_can_convert_from(const Buffer<T2, D2, S2> &other) {
    static_assert(std::is_const<T>::value || !std::is_const<T2>::value,
                  "a Buffer<const T> doesn't become a Buffer<T>");
    static_assert(std::is_void<T>::value || std::is_void<T2>::value ||
                      std::is_same<typename std::remove_cv<T>::type,
                                   typename std::remove_cv<T2>::type>::value,
                  "the element types differ");
    static_assert(Dims == AnyDims || D2 == AnyDims || Dims == D2, "the ranks differ");
    require_type(other.type());
    require_rank(other.dimensions());
  }

  // ---- memory -------------------------------------------------------------------------------

  /// Gives the present shape memory of its own (strides kept). Throws std::bad_alloc.
  void allocate(void *(*alloc_fn)(size_t) = nullptr, void (*free_fn)(void *) = nullptr) {
    this->allocate_host(alloc_fn, free_fn);
  }
  /// Throws if the size in bytes can't be addressed.
  void check_overflow() const {
    size_t bytes = 0;
    detail::require(this->size_fits(&bytes), "the buffer's size overflows");
  }
  /// Gives up host and device memory; the shape stays.
  void deallocate() {
    this->release_host();
    this->release_device();
  }
  void device_deallocate() { this->release_device(); }
  void reset() { *this = Buffer(); }

  bool host_dirty() const { return buf_.host_dirty(); }
  bool device_dirty() const { return buf_.device_dirty(); }
  void set_host_dirty(bool on = true) { buf_.set_host_dirty(on); }
  void set_device_dirty(bool on = true) { buf_.set_device_dirty(on); }
  bool has_device_allocation() const { return this->has_device(); }

  /// All of these return an error code, 0 for success. Without device memory there is nothing to
  /// copy back or to wait for, which is no error.
  int copy_to_host(void *cx = nullptr) { return this->to_host(cx); }
  int copy_to_device(const halide_device_interface_t *api, void *cx = nullptr) {
    return this->to_device(api, cx);
  }
  int device_sync(void *cx = nullptr) {
    return buf_.device_interface ? buf_.device_interface->device_sync(cx, &buf_)
                                 : (int)halide_error_code_success;
  }
  int device_malloc(const halide_device_interface_t *api, void *cx = nullptr) {
    return api ? api->device_malloc(cx, &buf_, api) : (int)halide_error_code_no_device_interface;
  }
  int device_free(void *cx = nullptr) {
    if (!buf_.device_interface) {
      return halide_error_code_success;
    }
    detail::require(!device_block_ || device_block_->owners.load() == 1,
                    "device memory shared by several buffers can't be freed through one");
    const int code = buf_.device_interface->device_free(cx, &buf_);
    forget_device_block();
    return code;
  }
  int device_wrap_native(const halide_device_interface_t *api, uint64_t handle,
                         void *cx = nullptr) {
    if (!api) {
      return halide_error_code_no_device_interface;
    }
    mark_device(detail::DeviceBlock::kWrapped);
    return api->wrap_native(cx, &buf_, handle, api);
  }
  int device_detach_native(void *cx = nullptr) {
    if (!buf_.device_interface) {
      return halide_error_code_success;
    }
    const int code = buf_.device_interface->detach_native(cx, &buf_);
    forget_device_block();
    return code;
  }
  int device_and_host_malloc(const halide_device_interface_t *api, void *cx = nullptr) {
    if (!api) {
      return halide_error_code_no_device_interface;
    }
    mark_device(detail::DeviceBlock::kHostAndDevice);
    return api->device_and_host_malloc(cx, &buf_, api);
  }
  int device_and_host_free(void *cx = nullptr) {
    if (!buf_.device_interface) {
      return halide_error_code_success;
    }
    const int code = buf_.device_interface->device_and_host_free(cx, &buf_);
    forget_device_block();
    return code;
  }

private:
  static halide_type_t static_type() {
    detail::require(has_static_halide_type, "this buffer needs an element type");
    return static_halide_type();
  }
  static halide_type_t default_type() {
    return has_static_halide_type ? static_halide_type() : halide_type_t();
  }
  static void require_type(halide_type_t t) {
    detail::require(!has_static_halide_type || t == static_halide_type(),
                    "the element type differs from this Buffer's");
  }
  static void require_rank(int rank) {
    detail::require(!has_static_dimensions || rank == Dims,
                    "the number of dimensions differs from this Buffer's");
  }

  void start(halide_type_t t, int rank) {
    require_type(t);
    require_rank(rank);
    this->set_rank(rank);
    buf_.type = t;
    for (int d = 0; d < rank; d++) {
      buf_.dim[d] = halide_dimension_t();
    }
  }
  void start(halide_type_t t, const std::vector<int> &extents) {
    start(t, (int)extents.size());
    this->set_dense_shape(extents.data(), (int)extents.size());
  }
  void set_host(VoidLikeT *data) { buf_.host = (uint8_t *)const_cast<void *>((const void *)data); }

  /// Views of a raw buffer use its device handle but never free it.
  void mark_unowned() {
    if (buf_.device) {
      device_block_ = new detail::DeviceBlock;
      device_block_->kind = detail::DeviceBlock::kBorrowed;
    }
  }
  void mark_device(detail::DeviceBlock::Kind kind) {
    detail::require(!buf_.device, "the buffer has device memory already");
    device_block_ = new detail::DeviceBlock;
    device_block_->kind = kind;
  }
  void forget_device_block() {
    delete device_block_;
    device_block_ = nullptr;
  }

  Buffer<T, Dims, InClassDimStorage> without_device() const {
    Buffer<T, Dims, InClassDimStorage> result;
    result.view(buf_);
    result.host_block_ = host_block_;
    if (host_block_) {
      host_block_->owners.fetch_add(1, std::memory_order_relaxed);
    }
    result.buf_.device = 0;
    result.buf_.device_interface = nullptr;
    return result;
  }

  static std::vector<int> permuted(const std::vector<int> &v, const std::vector<int> &order) {
    detail::require(v.size() == order.size(), "an order names each dimension once");
    std::vector<int> result;
    for (int d : order) {
      detail::require(d >= 0 && d < (int)v.size(), "an order names each dimension once");
      result.push_back(v[d]);
    }
    return result;
  }

  template <typename A> static void array_extents(std::vector<int> &extents) {
    if constexpr (std::rank<A>::value > 0) {
      array_extents<typename std::remove_extent<A>::type>(extents);
      extents.push_back((int)std::extent<A>::value);
    }
  }

  static Buffer<T, Dims> make_with_shape_of(halide_type_t t, const halide_buffer_t &src,
                                            void *(*alloc_fn)(size_t), void (*free_fn)(void *)) {
    Buffer<T, Dims> result;
    result.set_shape(src);
    result.buf_.type = t;
    std::vector<int> by_stride(src.dimensions);
    for (int d = 0; d < src.dimensions; d++) {
      by_stride[d] = d;
    }
    detail::stable_order(by_stride, [&](int a, int b) {
      return std::abs((int64_t)src.dim[a].stride) < std::abs((int64_t)src.dim[b].stride);
    });
    int64_t stride = 1;
    for (int d : by_stride) {
      result.buf_.dim[d].stride = (int32_t)std::min<int64_t>(stride, INT32_MAX);
      stride = std::min<int64_t>(stride * std::max(src.dim[d].extent, 1), INT32_MAX);
    }
    result.allocate(alloc_fn, free_fn);
    return result;
  }

  Buffer<typename std::remove_const<T>::type, Dims> copy_in_order(
      const std::vector<int> &order) const {
    std::vector<int> extents, mins;
    for (int d = 0; d < dimensions(); d++) {
      extents.push_back(extent(d));
      mins.push_back(min(d));
    }
    Buffer<typename std::remove_const<T>::type, Dims> result(type(), extents, order);
    result.set_min(mins);
    result.copy_from(*this);
    return result;
  }

  template <typename... Args> HALIDE_ALWAYS_INLINE Element &element(Args... coords) const {
    static_assert(has_static_halide_type, "an element needs a type: use as<T>() first");
    static_assert(!has_static_dimensions || (int)sizeof...(coords) <= Dims,
                  "more coordinates than dimensions");
#if defined(HALIDE_RUNTIME_BUFFER_CHECK_INDICES) && HALIDE_RUNTIME_BUFFER_CHECK_INDICES
    detail::require(buf_.host && contains(coords...), "coordinates outside the buffer");
#endif
    ptrdiff_t offset = 0;
    int d = 0;
    ((offset += (ptrdiff_t)buf_.dim[d].stride * ((ptrdiff_t)coords - buf_.dim[d].min), d++), ...);
    (void)d;
    return ((Element *)buf_.host)[offset];
  }
  Element &element_at(const int *pos) const {
    static_assert(has_static_halide_type, "an element needs a type: use as<T>() first");
    return *(Element *)buf_.address_of(pos);
  }

  template <typename E, typename Fn, typename... Others>
  void walk_values(Fn &f, Others &...others) const {
    static_assert(has_static_halide_type, "elements need a type: use as<T>() first");
    constexpr int n = 1 + (int)sizeof...(Others);
    std::vector<detail::WalkLoop<n>> loops;
    const halide_buffer_t *const bufs[n] = {&buf_, others.raw_buffer()...};
    if (detail::plan_walk<n>(bufs, loops)) {
      detail::walk<n>(loops.data(), loops.size(), f, std::make_index_sequence<(size_t)n>(),
                      (E *)buf_.host, values_of(others)...);
    }
  }
  template <typename B> static auto values_of(B &b) {
    using E = typename std::remove_const<B>::type::ElemType;
    static_assert(!std::is_void<E>::value, "elements need a type: use as<T>() first");
    using Seen = typename std::conditional<std::is_const<B>::value, const E, E>::type;
    return (Seen *)b.data();
  }

  template <typename Fn, size_t... I> static constexpr bool takes_ints(std::index_sequence<I...>) {
    return std::is_invocable<Fn, decltype((void)I, 0)...>::value;
  }
  template <typename Fn, int N = 0> static constexpr int int_arity() {
    if constexpr (N > 16) {
      return -1;
    } else if constexpr (takes_ints<Fn>(std::make_index_sequence<(size_t)N>())) {
      return N;
    } else {
      return int_arity<Fn, N + 1>();
    }
  }
  template <typename Fn, size_t... I>
  static void call_with_ints(Fn &f, const int *pos, std::index_sequence<I...>) {
    (void)pos;
    f(pos[I]...);
  }

  /// Walks the first `walked` dimensions; the `room - walked` coordinates after them stay 0.
  template <typename Fn> void walk_coords(int walked, int room, Fn f) const {
    std::vector<int> pos((size_t)std::max(room, walked) + 1, 0);
    for (int d = 0; d < walked; d++) {
      pos[d] = buf_.dim[d].min;
      if (buf_.dim[d].extent <= 0) {
        return;
      }
    }
    for (int d = 0; d < std::max(walked, 0) || walked == 0;) {
      f(pos.data());
      for (d = 0; d < walked; d++) {  // odometer; d == walked after the last element
        if (pos[d]++ - buf_.dim[d].min < buf_.dim[d].extent - 1) {
          break;
        }
        pos[d] = buf_.dim[d].min;
      }
      if (walked == 0) {
        return;
      }
    }
  }
};

}  // namespace Runtime
}  // namespace Halide
