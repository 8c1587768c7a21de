// sin, cos, tan and the inverse functions over core operations, in the width of their operands.
//
// The argument is reduced exactly, whatever its size: x = m * 2^e times a window of the binary digits of 2/pi, as
// integers (Payne and Hanek's idea); the window is found by selects, so that there is no branch and no table in memory.
// Polynomials: as in math_exp.cpp. Bounds: math.h. Tests: test/unit/ir/math_test.cpp.
#include <limits>

#include "math_builder.h"

namespace calotype::ir::math {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// (sin(r) - r) / r^3 and (cos(r) - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4; errors 2^-27.9, 2^-57.9; 2^-33, 2^-63.9.
constexpr double kSin32[] = {-0.166666552, 0.00833218917, -0.000195182758};
constexpr double kSin64[] = {-0.1666666666666663,     0.0083333333333218407,
                             -0.00019841269829358514, 2.7557313538504832e-06,
                             -2.5050734387115919e-08, 1.5895433129252785e-10};
constexpr double kCos32[] = {0.0416666456, -0.00138873095, 2.44323273e-05};
constexpr double kCos64[] = {0.041666666666666595,   -0.0013888888888873333,
                             2.480158728899288e-05,  -2.7557314213556126e-07,
                             2.0875704833123576e-09, -1.13587162472249e-11};
// (atan(x) - x) / x^3 in x^2, |x| <= 1; errors 2^-28.2, 2^-57.6.
constexpr double kAtan32[] = {-0.333332986, 0.199985296,   -0.142640471, 0.109513469,   -0.08401867,
                              0.057949245,  -0.0311902631, 0.0109327519, -0.00180021033};
constexpr double kAtan64[] = {
    -0.33333333333333287,   0.19999999999990617,   -0.14285714285045076,    0.11111111086674223,
    -0.09090908551070849,   0.076922997553981715,  -0.066665840801409276,   0.058817183280999177,
    -0.052594438616954689,  0.047449622857733874,  -0.042864927530790055,   0.038212327887355256,
    -0.032789413679784864,  0.026157211807856427,  -0.018620259432293153,   0.011322787449179332,
    -0.005615692840999012,  0.0021531475974500888, -0.00059340176919917031, 0.00010397424670295085,
    -8.6637845365750208e-06};
// (asin(x) - x) / x^3 in x^2, |x| <= 1/2; errors 2^-27.6, 2^-55.9.
constexpr double kAsin32[] = {0.166667521, 0.0749530941, 0.0454691499, 0.0241847821, 0.0421582907};
constexpr double kAsin64[] = {0.16666666666665408,  0.075000000003371439,  0.044642856828213444,
                              0.030381959141961342, 0.022371757925510286,  0.017359706744703725,
                              0.013885214596038876, 0.012169359450535201,  0.0065272810434851411,
                              0.019530333039300591, -0.016227780754391765, 0.031914890795331281};

// 2/pi after the binary point, 32 bits a word, behind one word (float32) or two words (float64) of zeros.
constexpr uint32_t kTwoOverPi[] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
    0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
    0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
    0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
    0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
    0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20};

// A constant as a sum of two floats of its type.
struct Split {
  double high, low;
};
Split half_pi(const Num &x) {
  return is_double(x) ? Split{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}
                      : Split{0x1.921fb6p+0, -0x1.777a5cp-25};
}

// `count` consecutive 32-bit words of the digits of 2/pi, from bit `position` (UInt(32)) on.
// A barrel shifter: by 16, 8, 4, 2 and 1 words with selects, then by bits.
std::vector<Num> window(MathBuilder &b, const Num &position, int largest, int leading_zero_words,
                        int count) {
  const Type t = position.type();
  const Num word = b.let(position >> 5), shift = b.let(position & number(t, 31)),
            back = b.let(31 - shift);
  const int top = largest / 32;
  std::vector<Num> words;
  for (int i = 0; i < top + count + 1; i++)
    words.push_back(make_uint(t, kTwoOverPi[2 - leading_zero_words + i]));
  int step = 1;
  while (step * 2 <= top) step *= 2;
  for (; step > 0; step /= 2) {
    const Num moved = b.let((word & number(t, step)) != 0);
    const int keep = step - 1 + count + 1;  // later steps reach that far
    std::vector<Num> next;
    for (int i = 0; i < keep && i < static_cast<int>(words.size()); i++) {
      const bool exists = i + step < static_cast<int>(words.size());
      next.push_back(exists ? b.let(select(moved, words[i + step], words[i])) : words[i]);
    }
    words = next;
  }
  std::vector<Num> out;
  for (int i = 0; i < count; i++)
    out.push_back(b.let((words[i] << shift) | ((words[i + 1] >> 1) >> back)));
  return out;
}

// x = quadrant * pi/2 + r, |r| <= pi/4 (and a little), for x >= 0; the quadrant modulo 4 as Int of x's width.
struct Reduced {
  Num r, quadrant;
};

// x * 2/pi modulo 4 with 62 bits after the point: 24 bits of mantissa times a window of 96 bits.
Reduced reduce32(MathBuilder &b, const Num &x) {
  const Type t = x.type(), u = UInt(32, t.lanes()), wide = UInt(64, t.lanes());
  const Num i = b.let(make_reinterpret(u, x.e)), exponent = i >> 23;
  // x = m * 2^(exponent - 150). The window ends with the digit of weight 2^-(exponent - 56).
  const Num m = b.let((i & number(u, 0x7fffff)) | number(u, 0x800000));
  const Num position = b.let(max(exponent, number(u, 126)) - 120);
  const std::vector<Num> w = window(b, position, 254 - 120, 1, 3);
  const Num m64 = b.let(cast(wide, m));
  const Num product = b.let((cast(wide, m * w[0]) << 32) + m64 * cast(wide, w[1]) +
                            ((m64 * cast(wide, w[2])) >> 32));
  const Num quadrant =
      cast(Int(32, t.lanes()), (product + Num(make_uint(wide, uint64_t(1) << 61))) >> 62);
  // The signed fraction in units of 2^-64, as two floats: 24 bits cut off towards zero (so that the two
  // never cancel), and the 31 after them.
  const Type integer = Int(32, t.lanes());
  const Num high = b.let(make_reinterpret(integer, cast(u, product >> 30).e));
  const Num low = make_reinterpret(integer, (cast(u, product << 2) >> 9).e);
  const Num cut = b.let((high + ((high >> 31) & number(integer, 255))) & number(integer, -256));
  const Num f_high = b.let(cast(t, cut) * 0x1p-32);
  const Num rest = ((high - cut) << 23) + low;
  const Num f_low = cast(t, rest) * 0x1p-55;
  const Split c = half_pi(x);
  const Num r = fma(f_high, c.high, fma(f_high, c.low, f_low * c.high));
  const Num small = b.let(x <= 0x1.921fb4p-1);  // largest float32 below pi/4
  return {b.let(select(small, x, r)), b.let(select(small, number(quadrant.type(), 0), quadrant))};
}

// The same for float64 with 126 bits after the point: 53 bits times 192, in 32-bit digits.
Reduced reduce64(MathBuilder &b, const Num &x) {
  const Type t = x.type(), u = UInt(32, t.lanes()), wide = UInt(64, t.lanes());
  const Num i = b.let(make_reinterpret(wide, x.e));
  const Num exponent = cast(u, i >> 52);
  // x = m * 2^(exponent - 1075); result digits end at 2^-126 with 64 more below: the window ends with the digit of
  // weight 2^-(exponent - 1075 + 190) and has 192 digits.
  const Num position = b.let(max(exponent, number(u, 1022)) - (1022 - 9));
  const std::vector<Num> w = window(b, position, 2046 - 1013, 2, 6);
  const Num m = b.let((i & Num(make_uint(wide, (uint64_t(1) << 52) - 1))) |
                      Num(make_uint(wide, uint64_t(1) << 52)));
  const Num low32 = make_uint(wide, 0xffffffff);
  const Num m_high = b.let(m >> 32), m_low = b.let(m & low32);
  // Column k holds the digits of weight 2^(32 k): from w[5 - k] * m_low and w[6 - k] * m_high.
  Num carry = make_uint(wide, 0);
  std::vector<Num> digit(6);
  Num high_part = make_uint(wide, 0);  // upper halves of the last column's products
  for (int k = 0; k < 6; k++) {
    const Num p = b.let(cast(wide, w[5 - k]) * m_low);
    const Num q = k > 0 ? b.let(cast(wide, w[6 - k]) * m_high) : number(wide, 0);
    const Num sum = b.let((p & low32) + (q & low32) + high_part + carry);
    digit[k] = b.let(sum & low32);
    carry = b.let(sum >> 32);
    high_part = b.let((p >> 32) + (q >> 32));
  }
  // digit[5] digit[4] . digit[3] digit[2]: 4 * 32 bits, of which the top 2 are the quadrant.
  const Num top = b.let((digit[5] << 32) | digit[4]), bottom = b.let((digit[3] << 32) | digit[2]);
  const Num quadrant =
      cast(Int(64, t.lanes()), (top + Num(make_uint(wide, uint64_t(1) << 61))) >> 62);
  const Num f = b.let((top << 2) | (bottom >> 62)),
            g = b.let(bottom << 2);  // signed fraction in 2^-64, and its rest
  const auto as_real = [&](const Num &v) {
    return cast(t, make_reinterpret(Int(32, t.lanes()), cast(u, v).e));
  };
  const auto as_positive = [&](const Num &v) { return cast(t, cast(u, v)); };
  const Num a = b.let(as_real(f >> 32) * 0x1p-32), c = b.let(as_positive(f & low32) * 0x1p-64);
  const Num high = b.let(a + c);
  const Num low =
      b.let((c - (high - a)) + (as_positive(g >> 32) * 0x1p-96 + as_positive(g) * 0x1p-128));
  const Split p = half_pi(x);
  const Num r = fma(high, p.high, fma(high, p.low, low * p.high));
  const Num small = b.let(x <= 0x1.921fb54442d18p-1);
  return {b.let(select(small, x, r)), b.let(select(small, number(quadrant.type(), 0), quadrant))};
}

// Two steps of Cody and Waite: n * (the first two parts of pi/2) is exact for n < 2^13.
Reduced reduce_fast(MathBuilder &b, const Num &x) {
  const Num t = b.let(fma(x, 0x1.45f306dc9c883p-1, number(x.type(), 0x1.8p23)));
  const Num n = b.let(t - 0x1.8p23);
  const Num r = fma(n, 0x1.5777a6p-21, fma(n, -0x1.fcp-12, fma(n, -0x1.92p0, x)));
  return {b.let(r), b.let(bits(t) & number(Int(32, x.type().lanes()), 3))};
}

Reduced reduce(MathBuilder &b, const Num &x, bool fast) {
  if (is_double(x)) return reduce64(b, x);
  return fast ? reduce_fast(b, x) : reduce32(b, x);
}

struct SinCos {
  Num sin, cos;  // of the reduced argument
};
SinCos reduced_sin_cos(MathBuilder &b, const Num &r) {
  const Num u = b.let(r * r);
  const Num s = fma(r * u, evaluate(is_double(r) ? poly(kSin64) : poly(kSin32), u), r);
  const Num c = fma(u * u, evaluate(is_double(r) ? poly(kCos64) : poly(kCos32), u),
                    fma(u, number(r.type(), -0.5), 1));
  return {b.let(s), b.let(c)};
}

Num bit_to_sign(const Num &quadrant, int bit) {  // bit `bit` of quadrant moved to the sign's place
  const Type t = quadrant.type();
  return (quadrant << (t.bits() - 1 - bit)) & Num(make_uint(t, uint64_t(1) << (t.bits() - 1)));
}

Num finite_or_nan(const Num &magnitude, const Num &y) {
  return select(magnitude < kInf, y, number(y.type(), kNan));
}

Num sine(MathBuilder &b, const Num &x, bool fast) {
  const Num a = b.let(magnitude(x));
  const Reduced q = reduce(b, a, fast);
  const SinCos v = reduced_sin_cos(b, q.r);
  const Num odd = (q.quadrant & number(q.quadrant.type(), 1)) != 0;
  const Num y =
      as_float(bits(select(odd, v.cos, v.sin)) ^ bit_to_sign(q.quadrant, 1) ^ sign_bits(x));
  return fast ? y : finite_or_nan(a, y);
}

Num cosine(MathBuilder &b, const Num &x, bool fast) {
  const Num a = b.let(magnitude(x));
  const Reduced q = reduce(b, a, fast);
  const SinCos v = reduced_sin_cos(b, q.r);
  const Num odd = (q.quadrant & number(q.quadrant.type(), 1)) != 0;
  const Num y = as_float(bits(select(odd, v.sin, v.cos)) ^ bit_to_sign(b.let(q.quadrant + 1), 1));
  return fast ? y : finite_or_nan(a, y);
}

Num tangent(MathBuilder &b, const Num &x, bool fast) {
  const Num a = b.let(magnitude(x));
  const Reduced q = reduce(b, a, fast);
  const SinCos v = reduced_sin_cos(b, q.r);
  const Num odd = b.let((q.quadrant & number(q.quadrant.type(), 1)) != 0);
  const Num y = select(odd, v.cos, v.sin) / select(odd, v.sin, v.cos);  // -cot in odd quadrants
  const Num sign = bit_to_sign(q.quadrant, 0) ^ sign_bits(x);
  const Num r = as_float(bits(y) ^ sign);
  return fast ? r : finite_or_nan(a, r);
}

// atan(q) for q in [0, 1].
Num atan_kernel(MathBuilder &b, const Num &q) {
  const Num u = b.let(q * q);
  return b.let(fma(q * u, evaluate(is_double(q) ? poly(kAtan64) : poly(kAtan32), u), q));
}

Num atan(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x)), big = b.let(a > 1);
  const Num p = atan_kernel(b, b.let(select(big, 1 / a, a)));
  const Split c = half_pi(x);
  return with_sign(select(big, c.high - (p - c.low), p), sign_bits(x));
}

Num atan2(MathBuilder &b, const Num &y, const Num &x) {
  const Type t = x.type();
  const Num ax = b.let(magnitude(x)), ay = b.let(magnitude(y)), steep = b.let(ay > ax);
  const Num n = b.let(select(steep, ax, ay)), d = b.let(select(steep, ay, ax));
  const Num q = b.let(select(d == 0, number(t, 0), select(n == kInf, number(t, 1), n / d)));
  const Num p = atan_kernel(b, q);
  const Split c = half_pi(x);
  const Num first = b.let(select(steep, c.high - (p - c.low), p));
  const Num left = bits(x) < 0;
  const Num angle = select(left, 2 * c.high - (first - 2 * c.low), first);
  const Num either_nan = either(x != x, y != y);
  return select(either_nan, number(t, kNan), with_sign(angle, sign_bits(y)));
}

// asin(a) for a in [0, 1/2], or asin(sqrt((1 - a) / 2)) = acos(a) / 2 for a in (1/2, 1].
Num asin_kernel(MathBuilder &b, const Num &a, const Num &big) {
  const Num u = b.let(select(big, (1 - a) * 0.5, a * a)), s = b.let(select(big, sqrt(u), a));
  return b.let(fma(s * u, evaluate(is_double(a) ? poly(kAsin64) : poly(kAsin32), u), s));
}

Num asin(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x)), big = b.let(a > 0.5), p = asin_kernel(b, a, big);
  const Split c = half_pi(x);
  return with_sign(select(big, c.high - (p + p - c.low), p), sign_bits(x));
}

Num acos(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x)), big = b.let(a > 0.5), p = asin_kernel(b, a, big);
  const Split c = half_pi(x);
  const Num signed_p = b.let(with_sign(p, sign_bits(x))), twice = b.let(p + p);
  const Num far = select(x < 0, 2 * c.high - (twice - 2 * c.low), twice);
  return select(big, far, c.high - (signed_p - c.low));
}

}  // namespace

Expr expand_trigonometric(const Call *op) {
  MathBuilder b;
  const Num x = b.let(op->args[0]);
  switch (op->op) {
    case Intrinsic::sin: return b.finish(sine(b, x, false));
    case Intrinsic::cos: return b.finish(cosine(b, x, false));
    case Intrinsic::tan: return b.finish(tangent(b, x, false));
    case Intrinsic::fast_sin: return b.finish(sine(b, x, true));
    case Intrinsic::fast_cos: return b.finish(cosine(b, x, true));
    case Intrinsic::fast_tan: return b.finish(tangent(b, x, true));
    case Intrinsic::fast_asin:
    case Intrinsic::asin: return b.finish(asin(b, x));
    case Intrinsic::fast_acos:
    case Intrinsic::acos: return b.finish(acos(b, x));
    case Intrinsic::fast_atan:
    case Intrinsic::atan: return b.finish(atan(b, x));
    case Intrinsic::fast_atan2:
    case Intrinsic::atan2: return b.finish(atan2(b, x, b.let(op->args[1])));
    default: return {};
  }
}

}  // namespace calotype::ir::math
