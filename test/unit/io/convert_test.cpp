// Sample conversions that are no picture's scale: whole numbers by value, bool, channels.
#include <doctest/doctest.h>

#include <cstring>

#include "io/image.h"
#include "runtime/HalideBuffer.h"

using namespace calotype;

namespace {

template <typename T> io::Array array_of(const std::vector<T> &values) {
  io::Array a{halide_type_of<T>(), {static_cast<int>(values.size())}, {}, false};
  a.data.resize(values.size() * sizeof(T));
  std::memcpy(a.data.data(), values.data(), a.data.size());
  return a;
}

template <typename To, typename From> std::vector<To> converted(const std::vector<From> &values) {
  Halide::Runtime::Buffer<To, 1> out(static_cast<int>(values.size()));
  io::convert(array_of(values), *out.raw_buffer());
  return std::vector<To>(out.begin(), out.end());
}

template <typename To, typename From> std::string refused(const std::vector<From> &values) {
  try {
    converted<To>(values);
  } catch (const std::invalid_argument &e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("io/convert: whole numbers keep their value, or are refused") {
  CHECK(converted<int32_t>(std::vector<uint8_t>{0, 200}) == std::vector<int32_t>{0, 200});
  CHECK(converted<int8_t>(std::vector<int64_t>{-128, 127}) == std::vector<int8_t>{-128, 127});
  CHECK(converted<uint64_t>(std::vector<int16_t>{0, 32767}) == std::vector<uint64_t>{0, 32767});
  CHECK(converted<int64_t>(std::vector<uint64_t>{INT64_MAX}) == std::vector<int64_t>{INT64_MAX});
  CHECK(converted<uint8_t>(std::vector<int32_t>{255}) == std::vector<uint8_t>{255});
  CHECK(refused<int8_t>(std::vector<uint8_t>{0, 128}) == "a sample of 128 does not fit int8");
  CHECK(refused<uint32_t>(std::vector<int32_t>{-1}) == "a sample of -1 does not fit uint32");
  CHECK(refused<int64_t>(std::vector<uint64_t>{UINT64_MAX}) ==
        "a sample of 18446744073709551615 does not fit int64");
  CHECK(refused<int16_t>(std::vector<int64_t>{-32769}) == "a sample of -32769 does not fit int16");
}

TEST_CASE("io/convert: other whole numbers go to float by value, pictures by scale") {
  CHECK(converted<float>(std::vector<int32_t>{-3, 1 << 24}) == std::vector<float>{-3, 16777216});
  CHECK(converted<double>(std::vector<uint64_t>{5}) == std::vector<double>{5});
  CHECK(converted<float>(std::vector<uint8_t>{255, 0}) == std::vector<float>{1, 0});
  CHECK(refused<int32_t>(std::vector<float>{1.5f}) == "no conversion from float32 to int32");
}

TEST_CASE("io/convert: black and white pictures become bool from the middle up") {
  const std::vector<uint8_t> grey = {0, 127, 128, 255};
  Halide::Runtime::Buffer<bool, 1> out(4);
  io::convert(array_of(grey), *out.raw_buffer());
  CHECK(!out(0));
  CHECK(!out(1));
  CHECK(out(2));
  CHECK(out(3));
  const std::vector<uint16_t> wide = {32767, 32768};
  Halide::Runtime::Buffer<bool, 1> two(2);
  io::convert(array_of(wide), *two.raw_buffer());
  CHECK(!two(0));
  CHECK(two(1));
}

TEST_CASE("io/convert: channels are added by the rule, never invented otherwise") {
  io::Array grey_alpha{halide_type_of<uint8_t>(), {1, 1, 2}, {9, 50}, true};
  CHECK(io::with_channels(grey_alpha, 3).data == std::vector<uint8_t>{9, 9, 9});
  CHECK(io::with_channels(grey_alpha, 4).data == std::vector<uint8_t>{9, 9, 9, 50});
  io::Array rgb{halide_type_of<uint16_t>(), {1, 1, 3}, {1, 0, 2, 0, 3, 0}, true};
  CHECK(io::with_channels(rgb, 4).data == std::vector<uint8_t>{1, 0, 2, 0, 3, 0, 255, 255});
}
