// The helpers of a C source: integer operations with the meaning of ir/nodes.def, where C's own differ or are undefined.
#include "c_emit.h"

namespace calotype::codegen {

std::string c_prelude() {
  return R"c(#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "-ffast-math changes results; this file must be compiled without it"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#if defined(__GNUC__)
#define CALO_MAY_ALIAS(bytes) __attribute__((may_alias, aligned(bytes)))
#define CALO_ALIGNED(n) __attribute__((aligned(n)))
#define CALO_UNUSED __attribute__((unused))
#else
#error "this file needs gcc or clang"
#endif

/* The published types; laid out as in HalideRuntime.h. */
typedef struct {
  int32_t min, extent, stride;
  uint32_t flags;
} calo_dim;
typedef struct {
  uint64_t device;
  const void *device_interface;
  uint8_t *host;
  uint64_t flags;
  uint32_t type;
  int32_t dimensions;
  calo_dim *dim;
  void *padding;
} calo_buffer;
typedef struct {
  const char *name;
  int32_t kind, dimensions;
  uint32_t type;
  const uint64_t *scalar_def, *scalar_min, *scalar_max, *scalar_estimate;
  const int64_t *const *buffer_estimates;
} calo_argument;
typedef struct {
  int32_t version, num_arguments;
  const calo_argument *arguments;
  const char *target, *name;
} calo_metadata;

/* Elements in memory. */
#define CALO_MEMORY(name, type) typedef type CALO_MAY_ALIAS(1) calo_m_##name;
CALO_MEMORY(b1, uint8_t)
CALO_MEMORY(i8, int8_t)
CALO_MEMORY(u8, uint8_t)
CALO_MEMORY(i16, int16_t)
CALO_MEMORY(u16, uint16_t)
CALO_MEMORY(i32, int32_t)
CALO_MEMORY(u32, uint32_t)
CALO_MEMORY(i64, int64_t)
CALO_MEMORY(u64, uint64_t)
CALO_MEMORY(f32, float)
CALO_MEMORY(f64, double)

static inline int calo_amount_s(int64_t n) { return n < -64 ? -64 : n > 64 ? 64 : (int)n; }
static inline int calo_amount_u(uint64_t n) { return n > 64 ? 64 : (int)n; }

/* x / 0 = x % 0 = 0, remainders are never negative, sums and products wrap, shifts by too much give 0 or the sign. */
#define CALO_UNSIGNED(S, T, BITS)                                                        \
  CALO_UNUSED static inline T calo_div_##S(T a, T b) { return b ? (T)(a / b) : (T)0; }   \
  CALO_UNUSED static inline T calo_mod_##S(T a, T b) { return b ? (T)(a % b) : (T)0; }   \
  CALO_UNUSED static inline T calo_shr_##S(T a, int n) {                                 \
    if (n < 0) return -n >= BITS ? (T)0 : (T)((uint64_t)a << -n);                        \
    return n >= BITS ? (T)0 : (T)(a >> n);                                               \
  }                                                                                      \
  CALO_UNUSED static inline T calo_shl_##S(T a, int n) { return calo_shr_##S(a, -n); }   \
  CALO_UNUSED static inline T calo_addsat_##S(T a, T b) {                                \
    T r;                                                                                 \
    return __builtin_add_overflow(a, b, &r) ? (T)~(T)0 : r;                              \
  }                                                                                      \
  CALO_UNUSED static inline T calo_subsat_##S(T a, T b) { return a < b ? (T)0 : (T)(a - b); }
#define CALO_SIGNED(S, T, U, BITS)                                                       \
  CALO_UNUSED static inline T calo_div_##S(T a, T b) {                                   \
    if (b == 0) return 0;                                                                \
    if (b == -1) return (T)((U)0 - (U)a);                                                \
    T q = (T)(a / b), r = (T)(a % b);                                                    \
    return r < 0 ? (T)(b > 0 ? q - 1 : q + 1) : q;                                       \
  }                                                                                      \
  CALO_UNUSED static inline T calo_mod_##S(T a, T b) {                                   \
    if (b == 0 || b == -1) return 0;                                                     \
    T r = (T)(a % b);                                                                    \
    return r < 0 ? (T)((U)r + (b < 0 ? (U)0 - (U)b : (U)b)) : r;                         \
  }                                                                                      \
  CALO_UNUSED static inline T calo_shr_##S(T a, int n) {                                 \
    if (n < 0) return -n >= BITS ? (T)0 : (T)((uint64_t)(U)a << -n);                     \
    return (T)(a >> (n >= BITS ? BITS - 1 : n));                                         \
  }                                                                                      \
  CALO_UNUSED static inline T calo_shl_##S(T a, int n) { return calo_shr_##S(a, -n); }   \
  CALO_UNUSED static inline T calo_addsat_##S(T a, T b) {                                \
    const T most = (T)((U)~(U)0 >> 1);                                                   \
    T r;                                                                                 \
    return __builtin_add_overflow(a, b, &r) ? (b < 0 ? (T)(-most - 1) : most) : r;       \
  }                                                                                      \
  CALO_UNUSED static inline T calo_subsat_##S(T a, T b) {                                \
    const T most = (T)((U)~(U)0 >> 1);                                                   \
    T r;                                                                                 \
    return __builtin_sub_overflow(a, b, &r) ? (b < 0 ? most : (T)(-most - 1)) : r;       \
  }
CALO_UNSIGNED(u8, uint8_t, 8)
CALO_UNSIGNED(u16, uint16_t, 16)
CALO_UNSIGNED(u32, uint32_t, 32)
CALO_UNSIGNED(u64, uint64_t, 64)
CALO_SIGNED(i8, int8_t, uint8_t, 8)
CALO_SIGNED(i16, int16_t, uint16_t, 16)
CALO_SIGNED(i32, int32_t, uint32_t, 32)
CALO_SIGNED(i64, int64_t, uint64_t, 64)

/* Floats to integers: truncate, saturate, NaN gives 0. `end` is the first float beyond the largest integer. */
#define CALO_TO_SIGNED(F, S, T, U, end)                                                  \
  CALO_UNUSED static inline T calo_##F##_to_##S(calo_##F v) {                            \
    const T most = (T)((U)~(U)0 >> 1);                                                   \
    return v != v ? (T)0 : v >= end ? most : v <= -end ? (T)(-most - 1) : (T)v;          \
  }
#define CALO_TO_UNSIGNED(F, S, T, end)                                                   \
  CALO_UNUSED static inline T calo_##F##_to_##S(calo_##F v) {                            \
    return !(v > 0) ? (T)0 : v >= end ? (T)~(T)0 : (T)v;                                 \
  }
typedef float calo_f32;
typedef double calo_f64;
#define CALO_TO_INTEGERS(F)                         \
  CALO_TO_SIGNED(F, i8, int8_t, uint8_t, 0x1p7f)    \
  CALO_TO_SIGNED(F, i16, int16_t, uint16_t, 0x1p15f) \
  CALO_TO_SIGNED(F, i32, int32_t, uint32_t, 0x1p31f) \
  CALO_TO_SIGNED(F, i64, int64_t, uint64_t, 0x1p63f) \
  CALO_TO_UNSIGNED(F, u8, uint8_t, 0x1p8f)          \
  CALO_TO_UNSIGNED(F, u16, uint16_t, 0x1p16f)       \
  CALO_TO_UNSIGNED(F, u32, uint32_t, 0x1p32f)       \
  CALO_TO_UNSIGNED(F, u64, uint64_t, 0x1p64f)
CALO_TO_INTEGERS(f32)
CALO_TO_INTEGERS(f64)

CALO_UNUSED static inline float calo_float(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
CALO_UNUSED static inline double calo_double(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
)c";
}

}  // namespace calotype::codegen
