// Halide::Runtime::Buffer and the C buffer under it: shapes, views, ownership, walks, misuse.

#include "runtime/HalideBuffer.h"

#include <doctest/doctest.h>

#include <numeric>
#include <string>
#include <vector>

using Halide::Runtime::AnyDims;
using Halide::Runtime::Buffer;

namespace {

int g_allocs = 0, g_frees = 0;
void *counting_malloc(size_t n) {
  g_allocs++;
  return malloc(n);
}
void counting_free(void *p) {
  g_frees++;
  free(p);
}

/// [w, h] with b(x, y) == x + 100 * y at all coordinates.
Buffer<int, 2> numbered(int w, int h) {
  Buffer<int, 2> b(w, h);
  b.for_each_element([&](int x, int y) { b(x, y) = x + 100 * y; });
  return b;
}

}  // namespace

// ---- the C structures ---------------------------------------------------------------------------

TEST_CASE("abi: sizes and offsets are the published ones") {
  CHECK(sizeof(halide_type_t) == 4);
  CHECK(sizeof(halide_dimension_t) == 16);
  CHECK(sizeof(halide_buffer_t) == 56);
  CHECK(offsetof(halide_buffer_t, host) == 16);
  CHECK(offsetof(halide_buffer_t, type) == 32);
  CHECK(offsetof(halide_buffer_t, dimensions) == 36);
  CHECK(offsetof(halide_buffer_t, dim) == 40);
  CHECK(sizeof(halide_scalar_value_t) == 8);
  CHECK(sizeof(halide_filter_argument_t) == 64);
  CHECK(sizeof(halide_filter_metadata_t) == 32);
  CHECK(sizeof(halide_trace_event_t) == 56);
  CHECK(sizeof(halide_device_interface_t) == 128);
  CHECK(halide_error_code_access_out_of_bounds == -4);
  CHECK(halide_error_code_host_is_null == -34);
  CHECK(halide_error_code_bad_dimensions == -43);
}

TEST_CASE("abi: halide_type_of names each C++ type") {
  CHECK(halide_type_of<bool>() == halide_type_t(halide_type_uint, 1));
  CHECK(halide_type_of<int8_t>() == halide_type_t(halide_type_int, 8));
  CHECK(halide_type_of<char>().bits == 8);
  CHECK(halide_type_of<uint64_t>() == halide_type_t(halide_type_uint, 64));
  CHECK(halide_type_of<long long>() == halide_type_t(halide_type_int, 64));
  CHECK(halide_type_of<float>() == halide_type_t(halide_type_float, 32));
  CHECK(halide_type_of<const double>() == halide_type_t(halide_type_float, 64));
  CHECK(halide_type_of<std::string *>() == halide_type_t(halide_type_handle, 64));
  const halide_type_t v = halide_type_of<uint16_t>().with_lanes(8);
  CHECK(v.lanes == 8);
  CHECK(v.bytes() == 2);
  CHECK(v != halide_type_of<uint16_t>());
  CHECK(v.element_of() == halide_type_of<uint16_t>());
  CHECK(halide_type_t::from_u32(v.as_u32()) == v);
  CHECK(halide_type_t(halide_type_uint, 1).bytes() == 1);
}

TEST_CASE("abi: begin and end of a raw buffer follow its strides") {
  int memory[60] = {};
  halide_dimension_t shape[2] = {{10, 4, -1}, {20, 3, 16}};
  halide_buffer_t b = {};
  b.host = reinterpret_cast<uint8_t *>(memory + 3);  // dimension 0 runs downwards
  b.type = halide_type_of<int>();
  b.dimensions = 2;
  b.dim = shape;
  CHECK(b.number_of_elements() == 12);
  CHECK(b.begin() == reinterpret_cast<uint8_t *>(memory));
  CHECK(b.end() == reinterpret_cast<uint8_t *>(memory + 3 + 32 + 1));
  CHECK(b.size_in_bytes() == 36 * 4);
  const int pos[] = {12, 21};
  CHECK(b.address_of(pos) == reinterpret_cast<uint8_t *>(memory + 3 - 2 + 16));
  shape[0].extent = 0;
  CHECK(b.size_in_bytes() == 0);
  CHECK(!b.is_bounds_query());
  b.host = nullptr;
  CHECK(b.is_bounds_query());
  b.set_host_dirty();
  CHECK(b.host_dirty());
  CHECK(!b.device_dirty());
  CHECK(b.flags == 1);
  b.set_host_dirty(false);
  CHECK(b.flags == 0);
}

TEST_CASE("abi: offsets beyond 32 bits don't wrap") {
  halide_dimension_t shape[2] = {{0, 3, 1}, {0, 4, INT32_MAX}};
  halide_buffer_t b = {};
  b.type = halide_type_of<double>();
  b.dimensions = 2;
  b.dim = shape;
  const int pos[] = {2, 3};
  CHECK(b.address_of(pos) - b.host == (int64_t(INT32_MAX) * 3 + 2) * 8);
  shape[1] = {INT32_MIN, 2, 1};
  const int far[] = {0, INT32_MAX};
  CHECK(b.address_of(far) - b.host == (int64_t(INT32_MAX) - INT32_MIN) * 8);
}

// ---- making buffers -----------------------------------------------------------------------------

TEST_CASE("Buffer: a new one is dense, starts at 0 and is aligned") {
  Buffer<uint16_t> b(5, 3, 2);
  CHECK(b.dimensions() == 3);
  CHECK(b.type() == halide_type_of<uint16_t>());
  CHECK(b.dim(0).stride() == 1);
  CHECK(b.dim(1).stride() == 5);
  CHECK(b.dim(2).stride() == 15);
  CHECK(b.dim(2).max() == 1);
  CHECK(b.width() == 5);
  CHECK(b.height() == 3);
  CHECK(b.channels() == 2);
  CHECK(b.right() == 4);
  CHECK(b.bottom() == 2);
  CHECK(b.number_of_elements() == 30);
  CHECK(b.size_in_bytes() == 60);
  CHECK(reinterpret_cast<uintptr_t>(b.data()) % 128 == 0);
  CHECK(b.owns_host_memory());
  CHECK(!b.is_bounds_query());
  CHECK(b.begin() == b.data());
  CHECK(b.end() == b.data() + 30);
}

TEST_CASE("Buffer: extents may come as a list, a vector or with a run-time type") {
  CHECK(Buffer<int>({4, 5}).height() == 5);
  CHECK(Buffer<int>(std::vector<int>{4, 5, 6}).channels() == 6);
  Buffer<> b(halide_type_of<float>(), 7, 8);
  CHECK(b.type() == halide_type_of<float>());
  CHECK(b.size_in_bytes() == 7 * 8 * 4);
  CHECK(Buffer<float, 2>(halide_type_of<float>(), {2, 2}).dimensions() == 2);
  CHECK(Buffer<int>({3, 4, 5}, std::vector<int>{2, 0, 1}).stride(2) == 1);
}

TEST_CASE("Buffer: default and zero-extent ones have no memory and ask for bounds") {
  CHECK(Buffer<int>().is_bounds_query());
  CHECK(Buffer<int, 3>().dimensions() == 3);
  Buffer<uint8_t> query(0, 4);
  CHECK(query.data() == nullptr);
  CHECK(query.is_bounds_query());
  int calls = 0;
  query.for_each_element([&](int, int) { calls++; });
  query.for_each_value([&](uint8_t) { calls++; });
  CHECK(calls == 0);
  query.raw_buffer()->dim[0].extent = 4;  // what a bounds query might have answered
  query.allocate();
  query.fill(3);
  CHECK(query.all_equal(3));
}

TEST_CASE("Buffer: views of other memory write through and own nothing") {
  float memory[12];
  std::iota(memory, memory + 12, 0.0f);
  Buffer<float> v(memory, 4, 3);
  CHECK(v(1, 2) == 9);
  v(1, 2) = -1;
  CHECK(memory[9] == -1);
  CHECK(!v.owns_host_memory());
  Buffer<float> w(memory, std::vector<int>{6, 2});
  CHECK(w(0, 1) == 6);
  const halide_dimension_t shape[] = {{1, 3, 4}, {0, 4, 1}};
  Buffer<float> t(memory, 2, shape);
  CHECK(t(2, 3) == memory[7]);
  Buffer<void> any(halide_type_of<float>(), memory, 4, 3);
  CHECK(any.as<float>()(3, 0) == 3);
  Buffer<const float> c(memory, 12);
  CHECK(c(5) == 5);
  int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
  Buffer<int> rows(table);
  CHECK(rows.width() == 3);
  CHECK(rows(2, 1) == 6);
}

TEST_CASE("Buffer: interleaved pictures have their channels innermost") {
  auto b = Buffer<uint8_t>::make_interleaved(6, 4, 3);
  CHECK(b.width() == 6);
  CHECK(b.stride(0) == 3);
  CHECK(b.stride(1) == 18);
  CHECK(b.stride(2) == 1);
  b.fill(9);
  CHECK(b.all_equal(9));
  uint8_t pixels[6] = {1, 2, 3, 4, 5, 6};
  CHECK(Buffer<uint8_t, 3>::make_interleaved(pixels, 2, 1, 3)(1, 0, 2) == 6);
  auto planar = b.copy_to_planar();
  CHECK(planar.stride(0) == 1);
  CHECK(planar.all_equal(9));
  CHECK(planar.copy_to_interleaved().stride(2) == 1);
}

TEST_CASE("Buffer: a scalar has one element and no dimension") {
  auto s = Buffer<double>::make_scalar();
  s() = 2.5;
  CHECK(s.dimensions() == 0);
  CHECK(s.number_of_elements() == 1);
  CHECK(s() == 2.5);
  int calls = 0;
  s.for_each_element([&](const int *) { calls++; });
  s.for_each_value([&](double &v) { v += calls; });
  CHECK(calls == 1);
  CHECK(s() == 3.5);
  int x = 4;
  CHECK(Buffer<int>::make_scalar(&x)() == 4);
}

// ---- elements -----------------------------------------------------------------------------------

TEST_CASE("Buffer: coordinates left out are at their mins") {
  Buffer<int> b = numbered(4, 3);
  b.set_min(10, -5);
  CHECK(b(11) == 1);
  CHECK(b() == 0);
  CHECK(b(11, -4) == 101);
  const int pos[] = {13, -3};
  CHECK(b(pos) == 203);
  const auto &c = b;
  CHECK(c(13, -3) == 203);
  CHECK(b.contains(13, -3));
  CHECK(!b.contains(14, -3));
  CHECK(!b.contains(9));
}

TEST_CASE("Buffer: for_each_element visits dimension 0 fastest, in both forms") {
  Buffer<int> b(3, 2);
  b.set_min(-1, 7);
  std::vector<int> seen;
  b.for_each_element([&](int x, int y) { seen.push_back(10 * y + x); });
  CHECK(seen == std::vector<int>{69, 70, 71, 79, 80, 81});
  std::vector<int> again;
  b.for_each_element([&](const int *pos) { again.push_back(10 * pos[1] + pos[0]); });
  CHECK(again == seen);
  int calls = 0, sum = 0;
  b.for_each_element([&](int x) { calls++, sum += x; });  // the outer dimension isn't walked
  CHECK(calls == 3);
  CHECK(sum == 0);
  calls = 0;
  b.for_each_element([&](int, int, int z) { calls++, sum += z; });  // one too many is 0
  CHECK(calls == 6);
  CHECK(sum == 0);
  b.for_each_element([&](int x, int y, auto... none) { sum += x * x * y + int(sizeof...(none)); });
  CHECK(sum == 2 * (7 + 8));
}

TEST_CASE("Buffer: for_each_value walks several buffers of different layouts together") {
  Buffer<int> a = numbered(5, 4);
  Buffer<int> b = a.transposed(0, 1).copy().transposed(0, 1);  // columns dense
  CHECK(b.copy_to_planar().stride(0) == 1);
  Buffer<float> sum(5, 4);
  sum.set_min(100, 100);  // mins need not agree
  sum.for_each_value([](float &s, int x, const int &y) { s = float(x + y); }, a,
                     static_cast<const Buffer<int> &>(b));
  int wrong = 0;
  a.for_each_element([&](int x, int y) { wrong += sum(x + 100, y + 100) != 2.0f * a(x, y); });
  CHECK(wrong == 0);
  CHECK_THROWS_WITH_AS(sum.for_each_value([](float, int) {}, a.cropped(0, 0, 2)),
                       doctest::Contains("equal extents"), std::logic_error);
}

TEST_CASE("Buffer: fill writes every element of a view and none beside it") {
  Buffer<int> whole(8, 8);
  whole.fill(1);
  whole.cropped(0, 2, 3).cropped(1, 5, 2).fill(7);
  int sevens = 0;
  whole.for_each_value([&](int v) { sevens += v == 7; });
  CHECK(sevens == 6);
  CHECK(whole(2, 5) == 7);
  CHECK(whole(4, 6) == 7);
  CHECK(whole.host_dirty());
}

// ---- views --------------------------------------------------------------------------------------

TEST_CASE("Buffer: crop keeps coordinates, translate moves them") {
  Buffer<int, 2> b = numbered(6, 5);
  auto c = b.cropped(0, 2, 3).cropped(1, 1, 2);
  CHECK(c.min(0) == 2);
  CHECK(c.extent(1) == 2);
  CHECK(c(4, 2) == 204);
  CHECK(c.data() == &b(2, 1));
  auto both = b.cropped({{1, 2}, {3, 1}});
  CHECK(both(2, 3) == 302);
  CHECK(both.number_of_elements() == 2);
  auto t = c.translated({-2, 10});
  CHECK(t(2, 12) == 204);
  t.translate(0, 2);
  CHECK(t(4, 12) == 204);
  b.crop(1, 4, 1);
  CHECK(b(5, 4) == 405);
  CHECK_THROWS_WITH_AS(b.crop(1, 3, 1), doctest::Contains("inside"), std::logic_error);
  CHECK_THROWS_WITH_AS(b.crop(2, 0, 1), doctest::Contains("no such dimension"), std::logic_error);
}

TEST_CASE("Buffer: slice removes a dimension, embed adds one") {
  Buffer<int, 3> b(4, 3, 2);
  b.for_each_element([&](int x, int y, int c) { b(x, y, c) = x + 10 * y + 100 * c; });
  Buffer<int, 2> row = b.sliced(1, 2);
  CHECK(row.dimensions() == 2);
  CHECK(row(3, 1) == 123);
  CHECK(b.sliced(2)(1, 1) == 11);
  Buffer<int, 3> back = row.embedded(1, 2);
  CHECK(back(3, 2, 1) == 123);
  CHECK(back.extent(1) == 1);
  Buffer<int> any = b;
  any.slice(0, 1);
  CHECK(any.dimensions() == 2);
  CHECK(any(2, 1) == 121);
  any.add_dimension();
  CHECK(any(2, 1, 0) == 121);
  CHECK(any.stride(2) == 24);
  any.embed(0, 5);
  CHECK(any(5, 2, 1, 0) == 121);
  CHECK_THROWS_WITH_AS(b.sliced(1, 3), doctest::Contains("inside"), std::logic_error);
}

TEST_CASE("Buffer: transpose reorders dimensions, not data") {
  Buffer<int, 3> b(2, 3, 4);
  b.for_each_element([&](int x, int y, int c) { b(x, y, c) = x + 10 * y + 100 * c; });
  CHECK(b.transposed(0, 2)(3, 2, 1) == 321);
  auto t = b.transposed({2, 0, 1});
  CHECK(t.width() == 4);
  CHECK(t(3, 1, 2) == 321);
  CHECK_THROWS_WITH_AS(b.transpose({0, 0, 1}), doctest::Contains("once"), std::logic_error);
}

TEST_CASE("Buffer: more dimensions than the object has room for work the same") {
  Buffer<uint8_t> b(1, 2, 1, 2, 1, 2, 3);
  b.fill(4);
  CHECK(b.dimensions() == 7);
  CHECK(b.stride(6) == 8);
  Buffer<uint8_t> copy = b, moved = std::move(copy);
  CHECK(moved(0, 1, 0, 1, 0, 1, 2) == 4);
  CHECK(copy.dimensions() == 0);
  moved.slice(6, 1);
  moved.slice(4, 0);
  CHECK(moved.dimensions() == 5);
  Buffer<uint8_t, 5> fixed = moved;
  CHECK(fixed(0, 1, 0, 1, 1) == 4);
  Buffer<uint8_t, AnyDims, 1> narrow = std::move(fixed);
  CHECK(narrow.dimensions() == 5);
  CHECK(narrow.all_equal(4));
}

// ---- copies and ownership -----------------------------------------------------------------------

TEST_CASE("Buffer: copies share memory, copy() doesn't, the last owner frees") {
  g_allocs = g_frees = 0;
  {
    Buffer<int> outer;
    {
      Buffer<int> b(nullptr, 10, 10);
      b.allocate(counting_malloc, counting_free);
      b.fill(5);
      Buffer<int> shared = b, slice = b.sliced(0, 3);
      shared(3, 4) = 6;
      CHECK(slice(4) == 6);
      Buffer<int> own = b.copy();
      own(3, 4) = 7;
      CHECK(b(3, 4) == 6);
      outer = slice;
      Buffer<const int> alias = b.alias().as_const();
      CHECK(!alias.owns_host_memory());
      CHECK(alias(3, 4) == 6);
      outer = *&outer;
    }
    CHECK(g_frees == 0);
    CHECK(outer(4) == 6);
  }
  CHECK(g_allocs == 1);
  CHECK(g_frees == 1);
}

TEST_CASE("Buffer: copy keeps shape and stride order but is dense") {
  Buffer<int> big(10, 10);
  big.for_each_element([&](int x, int y) { big(x, y) = x + 100 * y; });
  Buffer<int> part = big.cropped({{2, 3}, {4, 5}}).transposed(0, 1);
  Buffer<int> c = part.copy();
  CHECK(c.min(0) == 4);
  CHECK(c.min(1) == 2);
  CHECK(c.stride(1) == 1);
  CHECK(c.stride(0) == 3);
  CHECK(c.size_in_bytes() == 15 * 4);
  CHECK(c(8, 4) == 804);
  auto shape = Buffer<double>::make_with_shape_of(part);
  CHECK(shape.stride(0) == 3);
  CHECK(shape.type() == halide_type_of<double>());
}

TEST_CASE("Buffer: copy_from takes what both have") {
  Buffer<int> a = numbered(4, 4), b(6, 2);
  b.fill(-1);
  b.set_min(2, 3);
  b.copy_from(a);
  CHECK(b(2, 3) == 302);
  CHECK(b(3, 3) == 303);
  CHECK(b(4, 3) == -1);
  CHECK(b(2, 4) == -1);
  Buffer<int> mirrored(4, 4);  // through a negative stride
  const halide_dimension_t down[] = {{0, 4, -1}, {0, 4, 4}};
  Buffer<int>(mirrored.data() + 3, 2, down).copy_from(a);
  CHECK(mirrored(0, 2) == 203);
  Buffer<> any = b;
  any.copy_from(a);
  CHECK_THROWS_WITH_AS(any.copy_from(Buffer<float>(2, 2)), doctest::Contains("equal type"),
                       std::logic_error);
  Buffer<int> away = numbered(2, 2);
  away.set_min(100, 100);
  b.copy_from(away);
  CHECK(b(2, 3) == 302);
}

TEST_CASE("Buffer: static and run-time types convert where they agree") {
  Buffer<uint8_t> b(3, 3);
  Buffer<void> any = b;
  Buffer<uint8_t, 2> fixed = any;
  Buffer<const uint8_t> constant = fixed;
  CHECK(constant.data() == b.data());
  any.as<uint8_t>()(1, 1) = 77;
  CHECK(b(1, 1) == 77);
  CHECK(Buffer<uint8_t, 2>::can_convert_from(any));
  CHECK(!Buffer<uint8_t, 3>::can_convert_from(any));
  CHECK(!Buffer<int8_t>::can_convert_from(any));
  CHECK_THROWS_WITH_AS(any.as<float>(), doctest::Contains("element type"), std::logic_error);
  CHECK_THROWS_WITH_AS((Buffer<uint8_t, 3>(any)), doctest::Contains("dimensions"),
                       std::logic_error);
  CHECK(Buffer<uint8_t>::has_static_halide_type);
  CHECK(!Buffer<>::has_static_halide_type);
  halide_buffer_t *raw = fixed;
  CHECK(raw->host == b.data());
  CHECK(Buffer<uint8_t>(*raw)(1, 1) == 77);
}

TEST_CASE("Buffer: impossible sizes are refused") {
  CHECK_THROWS_WITH_AS(Buffer<int>(3, -1), doctest::Contains("negative extent"), std::logic_error);
  CHECK_THROWS_WITH_AS(Buffer<int>(INT32_MAX, INT32_MAX, INT32_MAX), doctest::Contains("overflows"),
                       std::logic_error);
  Buffer<int> b(nullptr, 2, 2);
  b.raw_buffer()->dim[0].extent = INT32_MAX;
  b.raw_buffer()->dim[1].extent = INT32_MAX;
  CHECK_THROWS_WITH_AS(b.check_overflow(), doctest::Contains("overflows"), std::logic_error);
  b.raw_buffer()->dim[1].extent = 2;
  b.check_overflow();  // 16 GiB can be addressed, had or not
}

// ---- devices ------------------------------------------------------------------------------------

namespace {

struct FakeDevice {
  int frees = 0, copies = 0, crops = 0, released = 0;
} g_device;

const halide_device_interface_t *fake_device() {
  static halide_device_interface_t api = {};
  api.device_malloc = [](void *, halide_buffer_t *b, const halide_device_interface_t *a) {
    b->device = 42;
    b->device_interface = a;
    return 0;
  };
  api.device_free = [](void *, halide_buffer_t *b) {
    g_device.frees++;
    b->device = 0;
    b->device_interface = nullptr;
    return 0;
  };
  api.copy_to_host = [](void *, halide_buffer_t *b) {
    g_device.copies++;
    b->set_device_dirty(false);
    return 0;
  };
  api.device_crop = [](void *, const halide_buffer_t *src, halide_buffer_t *dst) {
    g_device.crops++;
    dst->device = src->device + 1;
    dst->device_interface = src->device_interface;
    return 0;
  };
  api.device_slice = [](void *, const halide_buffer_t *, int, int, halide_buffer_t *) {
    return int(halide_error_code_device_crop_unsupported);
  };
  api.device_release_crop = [](void *, halide_buffer_t *b) {
    g_device.released++;
    b->device = 0;
    return 0;
  };
  api.device_sync = [](void *, halide_buffer_t *) { return -17; };
  return &api;
}

}  // namespace

TEST_CASE("Buffer: without a device, moving data is no work and making it is an error") {
  Buffer<int> b(4);
  CHECK(!b.has_device_allocation());
  CHECK(b.copy_to_host() == 0);
  CHECK(b.device_sync() == 0);
  CHECK(b.device_free() == 0);
  CHECK(b.copy_to_device(nullptr) == halide_error_code_no_device_interface);
  CHECK(b.device_malloc(nullptr) == halide_error_code_no_device_interface);
  CHECK(b.device_wrap_native(nullptr, 1) == halide_error_code_no_device_interface);
}

TEST_CASE("Buffer: device memory is shared by copies, cut by crops and freed once") {
  g_device = FakeDevice();
  {
    Buffer<int> crop;
    {
      Buffer<int> b(8);
      REQUIRE(b.device_malloc(fake_device()) == 0);
      CHECK(b.has_device_allocation());
      CHECK(b.device_sync() == -17);
      b.set_device_dirty();
      Buffer<int> copy = b;
      CHECK(copy.raw_buffer()->device == 42);
      CHECK_THROWS_WITH_AS(b.sliced(0, 1), doctest::Contains("copy_to_host"), std::logic_error);
      CHECK(copy.copy_to_host() == 0);
      CHECK(copy.copy_to_host() == 0);  // clean now
      CHECK(g_device.copies == 1);
      b.set_device_dirty(false);
      CHECK(!b.sliced(0, 1).has_device_allocation());
      crop = b.cropped(0, 2, 3);
      CHECK(crop.raw_buffer()->device == 43);
      Buffer<int> view(*b.raw_buffer());  // never frees
    }
    CHECK(g_device.frees == 0);  // the crop needs it
    CHECK(g_device.released == 0);
  }
  CHECK(g_device.released == 1);
  CHECK(g_device.frees == 1);
}
