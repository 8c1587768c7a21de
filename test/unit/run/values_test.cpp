// Numbers, extents and sources as text: what is taken, and that no text does harm.
#include "run/values.h"

#include <doctest/doctest.h>

#include <random>

using namespace calotype::run;

namespace {

const halide_type_t kU8(halide_type_uint, 8), kI8(halide_type_int, 8), kU64(halide_type_uint, 64),
    kI64(halide_type_int, 64), kF32(halide_type_float, 32), kBool(halide_type_uint, 1);

bool takes(const char *text, halide_type_t t) {
  uint64_t bits;
  return parse_scalar(text, t, &bits);
}

uint64_t bits(const char *text, halide_type_t t) {
  uint64_t b = 0;
  CHECK(parse_scalar(text, t, &b));
  return b;
}

}  // namespace

TEST_CASE("run/values: scalars take exactly the numbers of their type") {
  CHECK(bits("255", kU8) == 255);
  CHECK(bits("0xff", kU8) == 255);
  CHECK(bits("-128", kI8) == 0x80);
  CHECK(bits("18446744073709551615", kU64) == UINT64_MAX);
  CHECK(bits("-9223372036854775808", kI64) == uint64_t(1) << 63);
  CHECK(bits("1.5", kF32) == 0x3fc00000);
  CHECK(bits("true", kBool) == 1);
  for (const char *bad : {"", " 1", "1 ", "256", "-1", "1.0", "one", "1e2"})
    CHECK_FALSE(takes(bad, kU8));
  for (const char *bad : {"128", "-129"}) CHECK_FALSE(takes(bad, kI8));
  for (const char *bad : {"-1", "18446744073709551616"}) CHECK_FALSE(takes(bad, kU64));
  for (const char *bad : {"9223372036854775808", "-9223372036854775809"})
    CHECK_FALSE(takes(bad, kI64));
  for (const char *bad : {"", "1f", "1,5", " 1"}) CHECK_FALSE(takes(bad, kF32));
  for (const char *bad : {"", "2", "yes", "True"}) CHECK_FALSE(takes(bad, kBool));
  CHECK_FALSE(takes("1", halide_type_t(halide_type_handle, 64)));
}

TEST_CASE("run/values: extents are whole numbers in brackets") {
  std::vector<int> e;
  CHECK(parse_extents("[]", &e));
  CHECK(e.empty());
  CHECK(parse_extents("[640,480,3]", &e));
  CHECK(e == std::vector<int>{640, 480, 3});
  for (const char *bad : {"", "[", "]", "640", "[640", "640]", "[,]", "[1,]", "[,1]", "[-1]",
                          "[2147483648]", "[1;2]", "[1 2]", "[[1]]"}) {
    CHECK_FALSE_MESSAGE(parse_extents(bad, &e), bad);
  }
}

TEST_CASE("run/values: any text is a source or a refusal") {
  const char *const kParts[] = {
      "random", "zero",  "constant", "identity", "raw",        ":", "::",         "[",    "]", "1",
      "-5",     "[2,3]", "auto",     "estimate", "_then_auto", ",", "/tmp/x.png", "\xff", " "};
  std::mt19937 random(5);
  int sources = 0, refusals = 0;
  for (int n = 0; n < 20000; n++) {
    std::string text;
    for (unsigned k = random() % 7; k > 0; k--) text += kParts[random() % std::size(kParts)];
    try {
      const Source s = parse_source("a", text);
      sources++;
      CHECK((s.kind != Source::Kind::File || s.size == Source::Size::Own));
      CHECK((s.size == Source::Size::Given || s.extents.empty()));
    } catch (const Error &e) {
      refusals++;
      CHECK(e.code == "R0101");
    }
    uint64_t b;
    std::vector<int> extents;
    parse_scalar(text, kU8, &b);
    parse_extents(text, &extents);
  }
  CHECK(sources > 1000);
  CHECK(refusals > 1000);
}
