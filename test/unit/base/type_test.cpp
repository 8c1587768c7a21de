// Spelling and ranges of types.
#include "base/type.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/HalideRuntime.h"

using namespace calotype;

namespace {
std::vector<Type> all_types() {
  std::vector<Type> types = {Bool(), Handle(), BFloat(16), Float(16), Float(32), Float(64)};
  for (int bits : {8, 16, 32, 64}) types.push_back(Int(bits)), types.push_back(UInt(bits));
  return types;
}
}  // namespace

TEST_CASE("type: every spelling reads back") {
  for (Type t : all_types()) {
    for (int lanes : {1, 2, 16, 1000})
      CHECK(parse_type(to_string(t.with_lanes(lanes))) == t.with_lanes(lanes));
  }
  CHECK(to_string(UInt(8, 16)) == "u8x16");
  CHECK(to_string(Bool(4)) == "boolx4");
  CHECK(to_string(Type()) == "undefined");
}

TEST_CASE("type: long names are understood") {
  CHECK(parse_type("int32") == Int(32));
  CHECK(parse_type("uint8x4") == UInt(8, 4));
  CHECK(parse_type("float32") == Float(32));
  CHECK(parse_type("bfloat16") == BFloat(16));
  CHECK(parse_type("uint1") == Bool());
}

TEST_CASE("type: nonsense is no type") {
  for (const char *text : {"", "i", "i0", "i65", "u08", "f31", "bf32", "u8x", "u8x0", "u8x99999",
                           "u8 ", "i32x4x4", "boolean"}) {
    CHECK_MESSAGE(parse_type(text).bits() == 0, text);
  }
}

TEST_CASE("type: halide_type_t converts both ways") {
  for (Type t : all_types()) {
    const halide_type_t h = t.with_lanes(4);
    CHECK(Type(h) == t.with_lanes(4));
  }
  CHECK(halide_type_t(UInt(16)) == halide_type_t(halide_type_uint, 16));
}

TEST_CASE("type: integer limits") {
  CHECK(Int(8).min_int() == -128);
  CHECK(Int(8).max_uint() == 127);
  CHECK(UInt(64).max_uint() == UINT64_MAX);
  CHECK(Int(64).min_int() == INT64_MIN);
  CHECK(Bool().max_uint() == 1);
  CHECK(UInt(8).is_max(255));
  CHECK(!UInt(8).is_max(-1));
  CHECK(Int(16).is_min(-32768));
}

TEST_CASE("type: can_represent agrees with a round trip through the C++ type") {
  const double values[] = {0,
                           -0.0,
                           1,
                           -1,
                           0.5,
                           127,
                           128,
                           255,
                           256,
                           -128,
                           -129,
                           65504,
                           65505,
                           65536,
                           16777216,
                           16777217,
                           2147483647.0,
                           2147483648.0,
                           4294967295.0,
                           4294967296.0,
                           9223372036854775808.0,
                           1e30,
                           1e39,
                           1e-40,
                           1e-50,
                           0x1p-149,
                           0x1p-150,
                           0x1.fffffep127,
                           0x1.ffffffp127,
                           0x1p-126 * 1.25};
  for (double v : values) {
    CHECK(Float(32).can_represent(v) == (static_cast<double>(static_cast<float>(v)) == v));
    CHECK(Int(8).can_represent(v) == (v >= -128 && v <= 127 && std::trunc(v) == v));
    CHECK(UInt(32).can_represent(v) == (v >= 0 && v <= 4294967295.0 && std::trunc(v) == v));
    CHECK(Int(64).can_represent(v) == (v < 9223372036854775808.0 && std::trunc(v) == v));
    CHECK(Float(64).can_represent(v));
  }
  CHECK(Float(16).can_represent(65504.0));
  CHECK(!Float(16).can_represent(65505.0));
  CHECK(!Float(16).can_represent(65536.0));
  CHECK(Float(16).can_represent(0x1p-24));
  CHECK(!Float(16).can_represent(0x1p-25));
  CHECK(BFloat(16).can_represent(256.0));
  CHECK(!BFloat(16).can_represent(257.0));
  CHECK(!Int(32).can_represent(std::nan("")));
  CHECK(Float(32).can_represent(HUGE_VAL));
}

TEST_CASE("type: can_represent of integers") {
  CHECK(UInt(8).can_represent(int64_t(255)));
  CHECK(!UInt(8).can_represent(int64_t(-1)));
  CHECK(Float(32).can_represent(int64_t(1) << 40));
  CHECK(!Float(32).can_represent((int64_t(1) << 24) + 1));
  CHECK(Float(32).can_represent(INT64_MIN));
  CHECK(!Float(64).can_represent(UINT64_MAX));
  CHECK(!Int(64).can_represent(UINT64_MAX));
  CHECK(!Float(16).can_represent(uint64_t(65536)));
}

TEST_CASE("type: which types hold which") {
  CHECK(Int(32).can_represent(UInt(16)));
  CHECK(!Int(16).can_represent(UInt(16)));
  CHECK(!UInt(32).can_represent(Int(8)));
  CHECK(Float(32).can_represent(UInt(16)));
  CHECK(!Float(32).can_represent(Int(32)));
  CHECK(Float(64).can_represent(Int(32)));
  CHECK(Float(32).can_represent(BFloat(16)));
  CHECK(!BFloat(16).can_represent(Float(16)));
  CHECK(!Float(16).can_represent(BFloat(16)));
  CHECK(!Int(32).can_represent(Float(16)));
  CHECK(!Int(32, 4).can_represent(Int(8)));
}

TEST_CASE(
    "type: rounding to 16 bits is to nearest, ties to even, with gradual underflow and overflow") {
  CHECK(round_to(Float(16), 1 + 0x1p-11) == 1);           // tie: to even
  CHECK(round_to(Float(16), 1 + 0x3p-11) == 1 + 0x1p-9);  // tie: to even, upwards
  CHECK(round_to(Float(16), 65519.9) == 65504);
  CHECK(round_to(Float(16), 65520) == HUGE_VAL);
  CHECK(round_to(Float(16), -65520) == -HUGE_VAL);
  CHECK(round_to(Float(16), 0x1p-25) == 0);
  CHECK(round_to(Float(16), 0x1.8p-25) == 0x1p-24);
  CHECK(round_to(BFloat(16), 257) == 256);
  CHECK(round_to(BFloat(16), 259) == 260);
  CHECK(round_to(Float(32), 0.1) == static_cast<double>(0.1f));
  CHECK(std::isnan(round_to(Float(16), NAN)));
  for (int i = -70000; i <= 70000; i += 7) {
    const double v = i / 16.0, r = round_to(Float(16), v);
    CHECK(Float(16).can_represent(r));
    CHECK(std::fabs(r - v) <= std::fabs(v) * 0x1p-11 + 0x1p-25);
  }
}
