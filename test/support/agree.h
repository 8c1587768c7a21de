// A pipeline written in C++ against the reference interpreter: the first difference, or empty.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "calotype.h"
#include "driver/program.h"
#include "ir/interpret.h"

namespace calotype::test {

/// Element `i` of memory as a number, so that all NaNs count as one value.
inline bool same_element(Type t, const uint8_t *a, const uint8_t *b) {
  if (std::memcmp(a, b, static_cast<size_t>(t.bytes())) == 0) return true;
  if (!t.is_float()) return false;
  auto is_nan = [&](const uint8_t *p) {
    uint64_t v = 0;
    std::memcpy(&v, p, static_cast<size_t>(t.bytes()));
    if (t.bits() == 64) return (v << 1) > 0xffe0000000000000u;
    if (t.bits() == 32) return (v & 0x7fffffff) > 0x7f800000;
    return (v & 0x7fff) > (t.is_bfloat() ? 0x7f80u : 0x7c00u);
  };
  return is_nan(a) && is_nan(b);
}

inline std::string difference(const Buffer<void, -1> &a, const Buffer<void, -1> &b) {
  const size_t bytes = static_cast<size_t>(a.type().bytes());
  const auto *p = static_cast<const uint8_t *>(static_cast<const void *>(a.data()));
  const auto *q = static_cast<const uint8_t *>(static_cast<const void *>(b.data()));
  for (size_t i = 0; i < a.number_of_elements(); i++) {
    if (!same_element(a.type(), p + i * bytes, q + i * bytes))
      return "element " + std::to_string(i) + " of " + std::to_string(a.number_of_elements());
  }
  return {};
}

/// Realizes by JIT and by the interpreter. Inputs are the ones bound to its parameters.
inline std::string disagreement(Pipeline p, const std::vector<int> &sizes,
                                const Target &t = get_host_target()) {
  const Realization got = p.realize(sizes, t);
  const ir::Program program = driver::program_of(p, t);
  std::vector<Buffer<void, -1>> expected;
  std::vector<halide_buffer_t *> raw;
  for (size_t i = 0; i < got.size(); i++) expected.emplace_back(got[i].type(), sizes);
  for (auto &b : expected) raw.push_back(b.raw_buffer());
  ir::InterpretOptions options;
  options.fma = t.fuses_multiply_add();
  ir::interpret(program, raw, {}, {}, options);
  for (size_t i = 0; i < got.size(); i++) {
    const std::string d = difference(got[i], expected[i]);
    if (!d.empty()) return "output " + std::to_string(i) + ": " + d;
  }
  return {};
}

}  // namespace calotype::test
