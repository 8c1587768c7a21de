// The interpreter's operations, from nodes.def's meaning. Tests: test/unit/ir/interpret_test.cpp (edge values).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")  // GCC 12 does not vectorise these loops at -O2
#endif
#include "interpret_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "../base/diagnostic.h"

namespace calotype::ir::interpreter {

// --- float16 and bfloat16 --------------------------------------------------------------------------------------------
namespace {
template <typename To, typename From> To bit_copy(From x) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To r;
  std::memcpy(&r, &x, sizeof r);
  return r;
}
}  // namespace

float round_to_float16(float x) {
  const uint32_t sign = bit_copy<uint32_t>(x) & 0x80000000u;
  const float a = std::fabs(x);
  if (!(a < 65520.0f)) return a != a ? x : bit_copy<float>(sign | 0x7f800000u);
  // Adding and subtracting a power of two 10 places above rounds to nearest even at the right place: 2^-24 at least.
  int e = 0;
  std::frexp(a, &e);
  const float magic = std::ldexp(1.5f, std::max(e - 11, -24) + 23);
  volatile float sum = a + magic;
  return bit_copy<float>(bit_copy<uint32_t>(sum - magic) | sign);
}

float round_to_bfloat16(float x) {
  if (x != x) return x;
  const uint32_t b = bit_copy<uint32_t>(x);
  return bit_copy<float>((b + 0x7fffu + ((b >> 16) & 1)) & 0xffff0000u);
}

uint16_t float16_bits(float x) {
  const uint32_t b = bit_copy<uint32_t>(x);
  const uint16_t sign = static_cast<uint16_t>((b >> 16) & 0x8000);
  const float a = std::fabs(x);
  if (a != a) return sign | 0x7e00;
  if (std::isinf(a)) return sign | 0x7c00;
  if (a < 0x1p-14f) return static_cast<uint16_t>(sign | static_cast<uint16_t>(a * 0x1p24f));
  return static_cast<uint16_t>(sign | (((b & 0x7fffffffu) - 0x38000000u) >> 13));
}

float float16_from_bits(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, m = h & 0x3ff, e = (h >> 10) & 31;
  float a;
  if (e == 31)
    a = bit_copy<float>(0x7f800000u | (m << 13));
  else if (e == 0)
    a = static_cast<float>(m) * 0x1p-24f;
  else
    a = bit_copy<float>(((e + 112) << 23) | (m << 13));
  return bit_copy<float>(bit_copy<uint32_t>(a) | sign);
}

// --- Types -----------------------------------------------------------------------------------------------------------
Scalar scalar_of(Type t) {
  if (t.is_bool()) return Scalar::Bool;
  const int b = t.bits();
  if (t.is_bfloat() && b == 16) return Scalar::BF16;
  if (t.is_float() && !t.is_bfloat()) {
    if (b == 32) return Scalar::F32;
    if (b == 64) return Scalar::F64;
    if (b == 16) return Scalar::F16;
  }
  if (t.is_int_or_uint() && (b == 8 || b == 16 || b == 32 || b == 64)) {
    const int i = b == 8 ? 0 : b == 16 ? 1 : b == 32 ? 2 : 3;
    return static_cast<Scalar>(i + (t.is_uint() ? 4 : 0));
  }
  raise(Diagnostic("L0901", {}, "the interpreter has no values of type " + to_string(t)));
}

int scalar_size(Scalar s) {
  static const int sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 4, 4, 1};
  return sizes[static_cast<int>(s)];
}

namespace {

// The C++ type of a register, and how results are brought back into range.
template <typename T> struct Plain {
  using Reg = T;
  static T settle(T x) { return x; }
};
struct Half {
  using Reg = float;
  static float settle(float x) { return round_to_float16(x); }
};
struct Brain {
  using Reg = float;
  static float settle(float x) { return round_to_bfloat16(x); }
};
struct Truth {
  using Reg = uint8_t;
  static uint8_t settle(uint8_t x) { return x; }
};

// Calls f(tag) with the type's tag: the one place that lists the types.
template <typename F> Loop for_type(Scalar s, const F &f) {
  switch (s) {
    case Scalar::I8: return f(Plain<int8_t>());
    case Scalar::I16: return f(Plain<int16_t>());
    case Scalar::I32: return f(Plain<int32_t>());
    case Scalar::I64: return f(Plain<int64_t>());
    case Scalar::U8: return f(Plain<uint8_t>());
    case Scalar::U16: return f(Plain<uint16_t>());
    case Scalar::U32: return f(Plain<uint32_t>());
    case Scalar::U64: return f(Plain<uint64_t>());
    case Scalar::F32: return f(Plain<float>());
    case Scalar::F64: return f(Plain<double>());
    case Scalar::F16: return f(Half());
    case Scalar::BF16: return f(Brain());
    case Scalar::Bool: return f(Truth());
  }
  return nullptr;
}

template <typename Tag, typename R, R (*F)(typename Tag::Reg)>
void unary(void *dst, const void *a, const void *, const void *, int begin, int end) {
  using T = typename Tag::Reg;
  const T *x = static_cast<const T *>(a);
  R *d = static_cast<R *>(dst);
  for (int i = begin; i < end; i++) d[i] = F(x[i]);
}
template <typename Tag, typename R, R (*F)(typename Tag::Reg, typename Tag::Reg)>
void binary(void *dst, const void *a, const void *b, const void *, int begin, int end) {
  using T = typename Tag::Reg;
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b);
  R *d = static_cast<R *>(dst);
  for (int i = begin; i < end; i++) d[i] = F(x[i], y[i]);
}

// --- Arithmetic ------------------------------------------------------------------------------------------------------
// Integers are computed as unsigned numbers of at least 32 bits: they wrap, and nothing is undefined.
template <typename T>
using Wrap = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <typename Tag, bool IsInt = std::is_integral_v<typename Tag::Reg>>
struct Arith {  // integers
  using T = typename Tag::Reg;
  using W = Wrap<T>;
  static T add(T a, T b) { return static_cast<T>(static_cast<W>(a) + static_cast<W>(b)); }
  static T sub(T a, T b) { return static_cast<T>(static_cast<W>(a) - static_cast<W>(b)); }
  static T mul(T a, T b) { return static_cast<T>(static_cast<W>(a) * static_cast<W>(b)); }
  static T mod(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
      const T r = static_cast<T>(a % b);
      if (r >= 0) return r;
      return b < 0 ? sub(r, b) : add(r, b);
    }
    return static_cast<T>(a % b);
  }
  static T div(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return sub(0, a);
      const T q = static_cast<T>(a / b), r = static_cast<T>(a % b);
      if (r >= 0) return q;
      return b < 0 ? add(q, 1) : sub(q, 1);
    }
    return static_cast<T>(a / b);
  }
};
template <typename Tag> struct Arith<Tag, false> {
  using T = typename Tag::Reg;
  static T add(T a, T b) { return Tag::settle(a + b); }
  static T sub(T a, T b) { return Tag::settle(a - b); }
  static T mul(T a, T b) { return Tag::settle(a * b); }
  static T div(T a, T b) { return Tag::settle(a / b); }
  static T mod(T a, T b) { return sub(a, mul(b, std::floor(div(a, b)))); }
};

template <typename T> struct Compare {
  static uint8_t eq(T a, T b) { return a == b; }
  static uint8_t ne(T a, T b) { return a != b; }
  static uint8_t lt(T a, T b) { return a < b; }
  static uint8_t le(T a, T b) { return a <= b; }
  static uint8_t gt(T a, T b) { return a > b; }
  static uint8_t ge(T a, T b) { return a >= b; }
  static T min(T a, T b) { return a < b ? a : b; }
  static T max(T a, T b) { return a > b ? a : b; }
};
uint8_t truth_and(uint8_t a, uint8_t b) { return a & b; }
uint8_t truth_or(uint8_t a, uint8_t b) { return a | b; }
uint8_t truth_not(uint8_t a) { return !a; }

template <typename T>
void choose(void *dst, const void *c, const void *t, const void *f, int begin, int end) {
  const uint8_t *cond = static_cast<const uint8_t *>(c);
  const T *x = static_cast<const T *>(t), *y = static_cast<const T *>(f);
  T *d = static_cast<T *>(dst);
  for (int i = begin; i < end; i++) d[i] = cond[i] ? x[i] : y[i];
}

template <typename Tag> Loop arithmetic_loop(NodeKind kind) {
  using T = typename Tag::Reg;
  using A = Arith<Tag>;
  using C = Compare<T>;
  switch (kind) {
    case NodeKind::Add: return binary<Tag, T, A::add>;
    case NodeKind::Sub: return binary<Tag, T, A::sub>;
    case NodeKind::Mul: return binary<Tag, T, A::mul>;
    case NodeKind::Div: return binary<Tag, T, A::div>;
    case NodeKind::Mod: return binary<Tag, T, A::mod>;
    case NodeKind::Min: return binary<Tag, T, C::min>;
    case NodeKind::Max: return binary<Tag, T, C::max>;
    case NodeKind::EQ: return binary<Tag, uint8_t, C::eq>;
    case NodeKind::NE: return binary<Tag, uint8_t, C::ne>;
    case NodeKind::LT: return binary<Tag, uint8_t, C::lt>;
    case NodeKind::LE: return binary<Tag, uint8_t, C::le>;
    case NodeKind::GT: return binary<Tag, uint8_t, C::gt>;
    case NodeKind::GE: return binary<Tag, uint8_t, C::ge>;
    case NodeKind::Select: return choose<T>;
    default: return nullptr;
  }
}

}  // namespace

Loop loop_of_node(NodeKind kind, Scalar t) {
  if (t == Scalar::Bool) {
    if (kind == NodeKind::And) return binary<Truth, uint8_t, truth_and>;
    if (kind == NodeKind::Or) return binary<Truth, uint8_t, truth_or>;
    if (kind == NodeKind::Not) return unary<Truth, uint8_t, truth_not>;
  }
  return for_type(t, [&](auto tag) { return arithmetic_loop<decltype(tag)>(kind); });
}

// --- Integer intrinsics ----------------------------------------------------------------------------------------------
namespace {

template <typename T> struct Bits {
  using U = std::make_unsigned_t<T>;
  static constexpr int kBits = 8 * sizeof(T);
  static T conj(T a, T b) { return static_cast<T>(a & b); }
  static T disj(T a, T b) { return static_cast<T>(a | b); }
  static T diff(T a, T b) { return static_cast<T>(a ^ b); }
  static T inv(T a) { return static_cast<T>(~a); }
  static U abs(T a) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<U>(a < 0 ? U(0) - static_cast<U>(a) : static_cast<U>(a));
    return static_cast<U>(a);
  }
  static U absd(T a, T b) {
    return static_cast<U>(a < b ? static_cast<U>(b) - static_cast<U>(a)
                                : static_cast<U>(a) - static_cast<U>(b));
  }
  static T left(T a, uint64_t n) {
    return n >= kBits ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << n);
  }
  static T right(T a, uint64_t n) {
    if (n >= kBits) return std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
    return static_cast<T>(a >> n);
  }
  static T popcount(T a) { return static_cast<T>(__builtin_popcountll(static_cast<U>(a))); }
  static T leading(T a) {
    return static_cast<T>(a == 0 ? kBits : __builtin_clzll(static_cast<U>(a)) - (64 - kBits));
  }
  static T trailing(T a) {
    return static_cast<T>(a == 0 ? kBits : __builtin_ctzll(static_cast<U>(a)));
  }
  static T saturating_add(T a, T b) {
    T r;
    if (!__builtin_add_overflow(a, b, &r)) return r;
    return std::is_signed_v<T> && b < 0 ? std::numeric_limits<T>::min()
                                        : std::numeric_limits<T>::max();
  }
  static T saturating_sub(T a, T b) {
    T r;
    if (!__builtin_sub_overflow(a, b, &r)) return r;
    return !std::is_signed_v<T> || b > 0 ? std::numeric_limits<T>::min()
                                         : std::numeric_limits<T>::max();
  }
};

// b may be of either sign: negative amounts shift the other way.
template <typename T, typename N, bool Left>
void shift(void *dst, const void *a, const void *b, const void *, int begin, int end) {
  const T *x = static_cast<const T *>(a);
  const N *n = static_cast<const N *>(b);
  T *d = static_cast<T *>(dst);
  for (int i = begin; i < end; i++) {
    const bool reverse = std::is_signed_v<N> && n[i] < 0;
    const uint64_t amount =
        reverse ? uint64_t(0) - static_cast<uint64_t>(n[i]) : static_cast<uint64_t>(n[i]);
    d[i] = Left != reverse ? Bits<T>::left(x[i], amount) : Bits<T>::right(x[i], amount);
  }
}
template <typename T, bool Left> Loop shift_loop(Scalar amount) {
  return for_type(amount, [&](auto tag) -> Loop {
    using N = typename decltype(tag)::Reg;
    if constexpr (std::is_integral_v<N>) return shift<T, N, Left>;
    return nullptr;
  });
}

template <typename T> Loop integer_loop(Intrinsic op, Scalar amount) {
  using B = Bits<T>;
  using P = Plain<T>;
  using U = typename B::U;
  switch (op) {
    case Intrinsic::bitwise_and: return binary<P, T, B::conj>;
    case Intrinsic::bitwise_or: return binary<P, T, B::disj>;
    case Intrinsic::bitwise_xor: return binary<P, T, B::diff>;
    case Intrinsic::bitwise_not: return unary<P, T, B::inv>;
    case Intrinsic::abs: return unary<P, U, B::abs>;
    case Intrinsic::absd: return binary<P, U, B::absd>;
    case Intrinsic::popcount: return unary<P, T, B::popcount>;
    case Intrinsic::count_leading_zeros: return unary<P, T, B::leading>;
    case Intrinsic::count_trailing_zeros: return unary<P, T, B::trailing>;
    case Intrinsic::saturating_add: return binary<P, T, B::saturating_add>;
    case Intrinsic::saturating_sub: return binary<P, T, B::saturating_sub>;
    case Intrinsic::shift_left: return shift_loop<T, true>(amount);
    case Intrinsic::shift_right: return shift_loop<T, false>(amount);
    default: return nullptr;
  }
}

Loop truth_loop(Intrinsic op) {
  switch (op) {
    case Intrinsic::bitwise_and: return binary<Truth, uint8_t, truth_and>;
    case Intrinsic::bitwise_or: return binary<Truth, uint8_t, truth_or>;
    case Intrinsic::bitwise_xor: return binary<Truth, uint8_t, Compare<uint8_t>::ne>;
    case Intrinsic::bitwise_not: return unary<Truth, uint8_t, truth_not>;
    default: return nullptr;
  }
}

// --- Float intrinsics ------------------------------------------------------------------------------------------------
template <typename T> struct Real {
  static T abs(T a) { return std::fabs(a); }
  static T sqrt(T a) { return std::sqrt(a); }
  static T floor(T a) { return std::floor(a); }
  static T ceil(T a) { return std::ceil(a); }
  static T trunc(T a) { return std::trunc(a); }
  static T round(T a) { return std::nearbyint(a); }
};
template <typename Tag> typename Tag::Reg settled_sqrt(typename Tag::Reg a) {
  return Tag::settle(std::sqrt(a));
}
template <typename Tag>
typename Tag::Reg absolute_difference(typename Tag::Reg a, typename Tag::Reg b) {
  return std::fabs(Tag::settle(a - b));
}

template <typename T>
void fma_twice(void *dst, const void *a, const void *b, const void *c, int begin, int end) {
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b),
          *z = static_cast<const T *>(c);
  T *d = static_cast<T *>(dst);
  for (int i = begin; i < end; i++) {
    const T p = x[i] * y[i];
    d[i] = p + z[i];
  }
}
template <typename T>
void fma_once(void *dst, const void *a, const void *b, const void *c, int begin, int end) {
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b),
          *z = static_cast<const T *>(c);
  T *d = static_cast<T *>(dst);
  for (int i = begin; i < end; i++) d[i] = std::fma(x[i], y[i], z[i]);
}
template <typename Tag>
void fma_half(void *dst, const void *a, const void *b, const void *c, int begin, int end) {
  const float *x = static_cast<const float *>(a), *y = static_cast<const float *>(b),
              *z = static_cast<const float *>(c);
  float *d = static_cast<float *>(dst);
  for (int i = begin; i < end; i++) {
    d[i] = Tag::settle(
        static_cast<float>(static_cast<double>(x[i]) * y[i] + static_cast<double>(z[i])));
  }
}
template <typename Tag>
void fma_half_twice(void *dst, const void *a, const void *b, const void *c, int begin, int end) {
  const float *x = static_cast<const float *>(a), *y = static_cast<const float *>(b),
              *z = static_cast<const float *>(c);
  float *d = static_cast<float *>(dst);
  for (int i = begin; i < end; i++) d[i] = Tag::settle(Tag::settle(x[i] * y[i]) + z[i]);
}

// The same loops for machines that have the instructions: the library's functions cost a call a lane.
#if defined(__x86_64__)
#define CALO_AVX2 __attribute__((target("avx2,fma")))
template <typename T>
CALO_AVX2 void fma_once_avx2(void *dst, const void *a, const void *b, const void *c, int begin,
                             int end) {
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b),
          *z = static_cast<const T *>(c);
  T *d = static_cast<T *>(dst);
  for (int i = begin; i < end; i++) {
    if constexpr (sizeof(T) == 4)
      d[i] = __builtin_fmaf(x[i], y[i], z[i]);
    else
      d[i] = __builtin_fma(x[i], y[i], z[i]);
  }
}
template <typename T>
CALO_AVX2 void floor_avx2(void *dst, const void *a, const void *, const void *, int begin,
                          int end) {
  const T *x = static_cast<const T *>(a);
  T *d = static_cast<T *>(dst);
  for (int i = begin; i < end; i++) {
    if constexpr (sizeof(T) == 4)
      d[i] = __builtin_floorf(x[i]);
    else
      d[i] = __builtin_floor(x[i]);
  }
}
bool has_avx2() {
  static const bool yes = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return yes;
}
#endif

template <typename T> Loop fused_loop() {
#if defined(__x86_64__)
  if (has_avx2()) return fma_once_avx2<T>;
#endif
  return fma_once<T>;
}

template <typename Tag> Loop float_loop(Intrinsic op, bool fma) {
  using T = typename Tag::Reg;
  using R = Real<T>;
  constexpr bool half = !std::is_same_v<Tag, Plain<T>>;
#if defined(__x86_64__)
  if (op == Intrinsic::floor && has_avx2()) return floor_avx2<T>;
#endif
  switch (op) {
    case Intrinsic::abs: return unary<Tag, T, R::abs>;
    case Intrinsic::absd: return binary<Tag, T, absolute_difference<Tag>>;
    case Intrinsic::sqrt: return unary<Tag, T, settled_sqrt<Tag>>;
    case Intrinsic::floor: return unary<Tag, T, R::floor>;
    case Intrinsic::ceil: return unary<Tag, T, R::ceil>;
    case Intrinsic::trunc: return unary<Tag, T, R::trunc>;
    case Intrinsic::round: return unary<Tag, T, R::round>;
    case Intrinsic::fma:
      if constexpr (half)
        return fma ? fma_half<Tag> : fma_half_twice<Tag>;
      else
        return fma ? fused_loop<T>() : fma_twice<T>;
    default: return nullptr;
  }
}

}  // namespace

Loop loop_of_intrinsic(Intrinsic op, Scalar t, Scalar amount, bool fma) {
  if (t == Scalar::Bool) return truth_loop(op);
  return for_type(t, [&](auto tag) -> Loop {
    using T = typename decltype(tag)::Reg;
    if constexpr (std::is_integral_v<T>)
      return integer_loop<T>(op, amount);
    else
      return float_loop<decltype(tag)>(op, fma);
  });
}

// --- Casts -----------------------------------------------------------------------------------------------------------
namespace {

template <typename T, typename F> T saturate(F x) {  // truncates; NaN gives 0
  if (x != x) return 0;
  // Both limits are powers of two or 0, exact in F; the upper one is exclusive.
  const F low = static_cast<F>(std::numeric_limits<T>::min());
  const F high = std::ldexp(F(1), std::numeric_limits<T>::digits);
  if (x < low) return std::numeric_limits<T>::min();
  if (x >= high) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

// Rounds to odd, so that rounding again to fewer bits is as if it were done once.
float sticky_float(double x) {
  const float f = static_cast<float>(x);
  if (static_cast<double>(f) == x || f != f || std::isinf(f)) return f;
  const uint32_t b = bit_copy<uint32_t>(f);
  if (b & 1) return f;
  const bool toward_zero = std::fabs(static_cast<double>(f)) > std::fabs(x);
  return bit_copy<float>(toward_zero ? b - 1 : b + 1);
}

template <typename From, typename To> typename To::Reg convert(typename From::Reg x) {
  using S = typename From::Reg;
  using D = typename To::Reg;
  constexpr bool to_half = std::is_same_v<To, Half> || std::is_same_v<To, Brain>;
  if constexpr (std::is_same_v<To, Truth>)
    return x != 0;
  else if constexpr (to_half)
    return To::settle(sticky_float(static_cast<double>(x)));
  else if constexpr (std::is_integral_v<D> && std::is_floating_point_v<S>)
    return saturate<D>(x);
  else
    return static_cast<D>(x);
}

template <typename From> Loop cast_from(Scalar to) {
  return for_type(to, [](auto tag) -> Loop {
    using To = decltype(tag);
    return unary<From, typename To::Reg, convert<From, To>>;
  });
}

// Bits as they are in memory: half floats are kept as floats in registers.
template <typename From, typename To>
void reinterpret(void *dst, const void *a, const void *, const void *, int begin, int end) {
  using S = typename From::Reg;
  using D = typename To::Reg;
  const S *x = static_cast<const S *>(a);
  D *d = static_cast<D *>(dst);
  for (int i = begin; i < end; i++) {
    uint64_t bits = 0;
    if constexpr (std::is_same_v<From, Half>)
      bits = float16_bits(x[i]);
    else if constexpr (std::is_same_v<From, Brain>)
      bits = bit_copy<uint32_t>(x[i]) >> 16;
    else
      std::memcpy(&bits, &x[i], sizeof(S));
    if constexpr (std::is_same_v<To, Half>)
      d[i] = float16_from_bits(static_cast<uint16_t>(bits));
    else if constexpr (std::is_same_v<To, Brain>)
      d[i] = bit_copy<float>(static_cast<uint32_t>(bits) << 16);
    else
      std::memcpy(&d[i], &bits, sizeof(D));
  }
}
template <typename From> Loop reinterpret_from(Scalar to) {
  return for_type(to, [](auto tag) -> Loop { return reinterpret<From, decltype(tag)>; });
}

}  // namespace

Loop loop_of_cast(Scalar from, Scalar to) {
  return for_type(from, [&](auto tag) { return cast_from<decltype(tag)>(to); });
}

Loop loop_of_reinterpret(Scalar from, Scalar to) {
  return for_type(from, [&](auto tag) { return reinterpret_from<decltype(tag)>(to); });
}

}  // namespace calotype::ir::interpreter
