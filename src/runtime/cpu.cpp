// What this processor can run, read once from cpuid; the system must save the registers too.
#include "runtime.h"

#include <cpuid.h>

#include <atomic>

namespace calotype::runtime {
namespace {

struct Registers {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d)) {
    return Registers();
  }
  return r;
}

/// Which register files the system saves: bits of XCR0.
uint32_t saved_state(const Registers &one) {
  if (!(one.c >> 27 & 1)) {  // no xgetbv
    return 0;
  }
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool all(uint32_t word, std::initializer_list<int> bits) {
  for (int b : bits) {
    if (!(word >> b & 1)) {
      return false;
    }
  }
  return true;
}

uint32_t detect() {
  const Registers one = cpuid(1), seven = cpuid(7), seven_1 = cpuid(7, 1), ext = cpuid(0x80000001);
  const uint32_t saved = saved_state(one);
  const bool ymm = (saved & 6) == 6, zmm = (saved & 0xe6) == 0xe6;
  uint32_t have = all(one.c, {19}) ? calo_cpu_sse41 : 0;
  auto add = [&](bool ok, uint32_t bit) { have |= ok ? bit : 0; };
  if (!ymm) {
    return have;
  }
  add(all(one.c, {28, 23}), calo_cpu_avx);
  add(all(seven.b, {5, 3, 8}) && all(ext.c, {5}), calo_cpu_avx2);
  add(all(one.c, {12}), calo_cpu_fma);
  add(all(one.c, {29}), calo_cpu_f16c);
  add(all(seven_1.a, {4}), calo_cpu_avxvnni);
  if (!zmm || !all(seven.b, {16, 28})) {
    return have;
  }
  have |= calo_cpu_avx512;
  add(all(seven.b, {30, 17, 31}), calo_cpu_skylake);
  add(all(seven.b, {21}) && all(seven.c, {1}), calo_cpu_cannonlake);
  add(all(seven.c, {6, 11, 12, 14, 8}), calo_cpu_icelake);
  add(all(seven_1.a, {5}), calo_cpu_bf16);
  return have;
}

}  // namespace
}  // namespace calotype::runtime

bool calo_cpu_has(uint32_t bits) {
  constexpr uint32_t kKnown = uint32_t(1) << 31;
  static std::atomic<uint32_t> have{0};
  uint32_t now = have.load(std::memory_order_relaxed);
  if (now == 0) {  // two threads may both find out: the same
    now = calotype::runtime::detect() | kKnown;
    have.store(now, std::memory_order_relaxed);
  }
  return (now & bits) == bits;
}
