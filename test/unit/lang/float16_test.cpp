// 16-bit floats against their definition.
#include "lang/float16.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "calotype.h"

using namespace calotype;

TEST_CASE("float16: every value survives the way to float and back") {
  int wrong = 0;
  for (int i = 0; i < 65536; i++) {
    const float16_t h = float16_t::make_from_bits(static_cast<uint16_t>(i));
    const bfloat16_t b = bfloat16_t::make_from_bits(static_cast<uint16_t>(i));
    wrong += !h.is_nan() && float16_t(static_cast<float>(h)).to_bits() != i;
    wrong += !b.is_nan() && bfloat16_t(static_cast<float>(b)).to_bits() != i;
    wrong += h.is_nan() != std::isnan(static_cast<float>(h));
  }
  CHECK(wrong == 0);
}

TEST_CASE("float16: a bfloat16 is the upper half of a float") {
  for (uint32_t bits : {0x3f800000u, 0x40490000u, 0x00010000u, 0xff7f0000u}) {
    float f;
    std::memcpy(&f, &bits, 4);
    CHECK(bfloat16_t(f).to_bits() == bits >> 16);
  }
}

TEST_CASE("float16: rounds to nearest even, once") {
  CHECK(float16_t(1.0f).to_bits() == 0x3c00);
  CHECK(float16_t(65504.0f).to_bits() == 0x7bff);
  CHECK(float16_t(65519.0f).to_bits() == 0x7bff);
  CHECK(float16_t(65520.0f).is_infinity());
  CHECK(float16_t(1.0 + 1.0 / 2048).to_bits() == 0x3c00);  // half way: to even
  CHECK(float16_t(1.0 + 3.0 / 2048).to_bits() == 0x3c02);
  CHECK(float16_t(1.0 + 1.0 / 2048 + 1e-12).to_bits() ==
        0x3c01);                                          // a float in between would lose this
  CHECK(float16_t(std::ldexp(1.0, -24)).to_bits() == 1);  // smallest denormal
  CHECK(float16_t(std::ldexp(1.0, -25)).to_bits() == 0);
  CHECK(float16_t(std::ldexp(1.5, -25)).to_bits() == 1);
  CHECK(float16_t(-0.0).to_bits() == 0x8000);
}

TEST_CASE("float16: elements of Buffers") {
  Buffer<float16_t> b(3);
  b.fill(float16_t(2.0f));
  CHECK(static_cast<float>(b(1)) == 2.0f);
  CHECK(b.type() == Float(16));
}
