// exp, log, pow, the hyperbolic functions and their inverses, hypot and erf over core operations, in the width of their
// operands. Only operations that are exact or correctly rounded everywhere: the bits are the same on every target.
//
// All polynomials: minimax in the weighted relative error of the whole function, computed with the Remez exchange
// algorithm in 50 digits, coefficients rounded one by one and the rest refitted; "error" is what is left after rounding.
// Bounds of the functions: math.h. Tests: test/unit/ir/math_test.cpp, every float32 in the slow ones.
#include <cmath>
#include <limits>

#include "math_builder.h"

namespace calotype::ir::math {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// (e^r - 1 - r) / r^2 on |r| <= ln(2)/2; error of e^r 2^-28.2 and 2^-57.9.
constexpr double kExp32[] = {0.49999994, 0.166665137, 0.0416680612, 0.00836955011, 0.00138438377};
constexpr double kExp64[] = {0.50000000000000111,    0.16666666666666408,    0.041666666666525361,
                             0.0083333333334955715,  0.0013888888945057247,  0.00019841269508690448,
                             2.4801491474500002e-05, 2.7557580424660951e-06, 2.763087321434576e-07,
                             2.5003228722222777e-08};
// e^r on |r| <= ln(2)/2; error 2^-23.
constexpr double kFastExp[] = {1.00000012, 1.00000036,   0.499984801,
                               0.16664657, 0.0419551618, 0.00852421485};
// (log(1+f) - f + f^2/2) / f^3 on [sqrt(1/2) - 1, sqrt(2) - 1]; error of log(1+f) 2^-27.3.
constexpr double kLog32[] = {0.333333313, -0.250008196, 0.200012296, -0.166233644,
                             0.142016992, -0.131600529, 0.127619311, -0.0763526708};
// log(1+f) / f on the same interval; error 2^-19.7.
constexpr double kFastLog[] = {1.00000095,  -0.500011146, 0.333145082, -0.249097422,
                               0.204963312, -0.186678678, 0.118961111};
// (2 atanh(s) - 2 s) / s^3 in z = s^2, s = f / (2 + f); error of log(1+f) 2^-59.5.
constexpr double kLog64[] = {0.6666666666666734,  0.39999999999416946, 0.28571428741930044,
                             0.22222198616561673, 0.1818356222296198,  0.15314101051058823,
                             0.1479547365205284};
// log2(1+f) / f in double, for pow of float32; error 2^-35.8.
constexpr double kLog2[] = {1.4426950408687185,   -0.72134752086938869, 0.48089836139516101,
                            -0.3606736747559473,  0.28853729343636769,  -0.24045316847820161,
                            0.20617536168302561,  -0.18030054755568484, 0.15876974611073488,
                            -0.14315693948143463, 0.14474908442560822,  -0.14283767384074811,
                            0.077367679835908379};
// 2^x on |x| <= 1/2 in double; error 2^-29.
constexpr double kExp2[] = {1.000000000554256,     0.69314720573620581,   0.24022646889789742,
                            0.055503287783850101,  0.0096184890475631574, 0.0013399930860573837,
                            0.00015345789023112974};
// (tanh(x) - x) / x^3 in x^2, |x| <= 5/8; error of tanh 2^-27.7 and 2^-56.4.
constexpr double kTanh32[] = {-0.333332807, 0.133314058, -0.0537365153, 0.0206281673,
                              -0.00569229526};
constexpr double kTanh64[] = {
    -0.33333333333332854,    0.13333333333261924,    -0.053968253931188426,  0.02186948757427153,
    -0.0088632209787663958,  0.003591988981776074,   -0.0014549578945389941, 0.00058631332607631708,
    -0.00022855772028453387, 7.7136988865857649e-05, -1.60689603490322e-05};
// (sinh(x) - x) / x^3 in x^2, |x| <= 1; error of sinh 2^-31.6 and 2^-62.9.
constexpr double kSinh32[] = {0.166666672, 0.00833331048, 0.000198428956, 2.78221319e-06};
constexpr double kSinh64[] = {
    0.16666666666666666,    0.0083333333333335726,  0.00019841269841061159, 2.7557319310090205e-06,
    2.5052089412908809e-08, 1.6061339138294526e-10, 7.5032684286573079e-13, 6.4752034196970358e-15};
// erf(x) / x - 1 in x^2, |x| <= 1; error of erf 2^-29.4 and 2^-56.3.
constexpr double kErf32[] = {0.128379166,  -0.37612626,    0.112835787,   -0.0268533472,
                             0.0051871622, -0.00079978531, 7.80690316e-05};
constexpr double kErf64[] = {
    0.12837916709551259,     -0.37612638903183754,    0.11283791670955126,
    -0.026866170645131211,   0.0052239776254415834,   -0.00085483270233968622,
    0.00012055332978604639,  -1.4925650228528073e-05, 1.646211060029011e-06,
    -1.6365765882791049e-07, 1.4805997569864091e-08,  -1.2277517482102024e-09,
    9.3226850445724569e-11,  -6.1938233747583892e-12, 2.8030890725148098e-13};
// -log(erfc(x)) in v: x = 2.5 + 1.5 v (float32) and x = 3.5 + 2.5 v (float64), |v| <= 1; error of erf 2^-27.8, 2^-52.7.
constexpr double kLogErfc32[] = {7.80681515,     8.02901936,    2.12375522,    0.0368301086,
                                 -0.00998249743, 0.00508899195, 0.00077302783, 0.000816951739};
constexpr double kLogErfc64[] = {
    14.112437402147807,      18.165248970917023,      6.0422065924251553,
    0.081650912636251738,    -0.034128407247860114,   0.014384444796622773,
    -0.0059544132209275388,  0.0023724548265689938,   -0.00089095385350142155,
    0.00033133402588744119,  -3.3754362614426952e-05, 6.3397177715264979e-05,
    -9.679597337031493e-05,  -0.00035617435437268821, -0.00052984803167616047,
    -0.00048893969187933516, -0.00027710297320597782, -9.2930603905007144e-05,
    -1.3739246644431128e-05};

constexpr double kLog2e = 0x1.71547652b82fep+0;

// What differs between the widths.
struct Format {
  int mantissa;  // stored bits
  int bias;
  double magic;              // adding it rounds to an integer, kept in the low bits
  double ln2_high, ln2_low;  // the high part times any exponent is exact
  double exp_low, exp_high;  // e^x is 0 below and infinite above
  uint64_t sqrt_half_bits;
  double smallest_normal;
};
constexpr Format kFormat32 = {23,   127, 0x1.8p23,   0x1.62e4p-1, 0x1.7f7d1cp-20,
                              -104, 90,  0x3f3504f3, 0x1p-126};
constexpr Format kFormat64 = {
    52,   1023, 0x1.8p52,           0x1.62e42fefa4p-1, -0x1.8432a1b0e2634p-43,
    -746, 711,  0x3fe6a09e667f3bcd, 0x1p-1022};
const Format &format(const Num &x) { return is_double(x) ? kFormat64 : kFormat32; }

// Nearest integer to a * scale as a float and, offset by magic's bits, as an integer.
struct Rounded {
  Num value, integer;
};
Rounded round_scaled(MathBuilder &b, const Num &a, double scale) {
  const double magic = format(a).magic;
  const Num t = b.let(fma(a, scale, number(a.type(), magic)));
  return {b.let(t - magic), bits(t) - bits(number(a.type(), magic))};
}

Num power_of_two(const Num &n, const Format &f) { return as_float((n + f.bias) << f.mantissa); }

// x = 2^exponent * m, m in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct Split {
  Num mantissa, exponent;
};
// For normal x; anything for others. Unsigned, because the bits of negative numbers would overflow.
Split split_bits(MathBuilder &b, const Num &x) {
  const Format &f = format(x);
  const Type i = x.type().with_code(Type::Int), u = x.type().with_code(Type::UInt);
  const Num v = b.let(make_reinterpret(u, x.e));
  const Num e =
      b.let(Num(make_reinterpret(i, (v - Num(make_uint(u, f.sqrt_half_bits))).e)) >> f.mantissa);
  return {b.let(as_float(v - (Num(make_reinterpret(u, e.e)) << f.mantissa))), e};
}
Split split_float(MathBuilder &b, const Num &x) {
  const Format &f = format(x);
  const Num tiny = b.let(x < f.smallest_normal);
  const double up = std::ldexp(1.0, f.mantissa + 1);
  const auto [m, e] = split_bits(b, select(tiny, x * up, x));
  return {m, b.let(e - select(tiny, number(e.type(), f.mantissa + 1), number(e.type(), 0)))};
}

// Value for positive finite arguments, else what C's log gives.
Num log_specials(const Num &x, const Num &y) {
  const Type t = x.type();
  return select(x > 0, select(x < kInf, y, x), select(x == 0, number(t, -kInf), number(t, kNan)));
}

Num log_of_positive(MathBuilder &b, const Num &x) {
  const Format &f = format(x);
  const Split s = split_float(b, x);
  const Num e = b.let(cast(x.type(), s.exponent)), r = b.let(s.mantissa - 1), r2 = b.let(r * r);
  if (is_double(x)) {
    const Num q = b.let(r / (r + 2)), z = b.let(q * q), half = b.let(r2 * 0.5);
    const Num tail = b.let(fma(q, fma(z, evaluate(poly(kLog64), z), half), e * f.ln2_low));
    return fma(e, f.ln2_high, r - (half - tail));
  }
  const Num tail = fma(r * r2, evaluate(poly(kLog32), r), e * f.ln2_low);
  return fma(e, f.ln2_high, r + fma(r2, -0.5, tail));
}

// log(1 + t), t > -1: log of the rounded sum u, and what rounding lost, c, as c / u.
Num log1p_kernel(MathBuilder &b, const Num &arg) {
  const Num t = b.let(arg), u = b.let(t + 1);
  const Num c = select(t > 1, 1 - (u - t), t - (u - 1));
  return b.let(log_kernel(b, u)) + select(t < kInf, c / u, number(t.type(), 0));
}

Num tanh(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x)), u = b.let(a * a);
  const Num small = fma(a * u, evaluate(is_double(x) ? poly(kTanh64) : poly(kTanh32), u), a);
  const Num large = 1 - 2 / (exp_kernel(b, a + a, 0) + 1);
  return with_sign(select(a < 0.625, small, large), sign_bits(x));
}

Num sinh(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x)), u = b.let(a * a);
  const Num small = fma(a * u, evaluate(is_double(x) ? poly(kSinh64) : poly(kSinh32), u), a);
  const Num h = b.let(exp_kernel(b, a, -1));  // e^a / 2: does not overflow before sinh does
  return with_sign(select(a < 1, small, h - 0.25 / h), sign_bits(x));
}

Num cosh(MathBuilder &b, const Num &x) {
  const Num h = b.let(exp_kernel(b, b.let(magnitude(x)), -1));
  return h + 0.25 / h;
}

// Where x^2 dominates 1 beyond the precision; x^2 is still finite there.
double large_argument(const Num &x) { return is_double(x) ? 0x1p60 : 0x1p30; }
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

Num asinh(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x)), u = b.let(a * a), large = b.let(a > large_argument(x));
  const Num t = select(large, a, a + u / (1 + sqrt(u + 1)));
  const Num y = log1p_kernel(b, t) + select(large, number(x.type(), kLn2), number(x.type(), 0));
  return with_sign(y, sign_bits(x));
}

Num acosh(MathBuilder &b, const Num &x) {
  const Num d = b.let(x - 1), large = b.let(x > large_argument(x));
  const Num t = select(large, x, d + sqrt(fma(d, d, d + d)));
  const Num y = log1p_kernel(b, t) + select(large, number(x.type(), kLn2), number(x.type(), 0));
  return select(x < 1, number(x.type(), kNan), y);
}

Num atanh(MathBuilder &b, const Num &x) {
  const Num a = b.let(magnitude(x));
  const Num y = log1p_kernel(b, (a + a) / (1 - a)) * 0.5;
  return with_sign(select(a > 1, number(x.type(), kNan), y), sign_bits(x));
}

Num erf(MathBuilder &b, const Num &x) {
  const bool wide = is_double(x);
  const Num a = b.let(magnitude(x)), u = b.let(a * a);
  const Num small = fma(a, evaluate(wide ? poly(kErf64) : poly(kErf32), u), a);
  const double middle = wide ? 3.5 : 2.5, radius = wide ? 2.5 : 1.5;
  const Num v = b.let((min(number(x.type(), middle + radius), a) - middle) * (1 / radius));
  const Num large =
      1 - exp_kernel(b, 0 - evaluate(wide ? poly(kLogErfc64) : poly(kLogErfc32), v), 0);
  return with_sign(select(a < 1, small, large), sign_bits(x));
}

// float32: exact in double but for two roundings. float64: operands scaled by a power of two away from the ends.
Num hypot(MathBuilder &b, const Num &x, const Num &y) {
  const Type t = x.type();
  if (!is_double(x)) {
    const Type d = Float(64, t.lanes());
    const Num p = b.let(cast(d, x)), q = b.let(cast(d, y));
    const Num r = cast(t, sqrt(p * p + q * q));
    return select(either(magnitude(x) == kInf, magnitude(y) == kInf), number(t, kInf), r);
  }
  const Num a = b.let(magnitude(x)), c = b.let(magnitude(y)), m = b.let(max(a, c));
  const Num down = b.let(select(m > 0x1p500, number(t, 0x1p-600),
                                select(m < 0x1p-450, number(t, 0x1p600), number(t, 1))));
  const Num up = select(m > 0x1p500, number(t, 0x1p600),
                        select(m < 0x1p-450, number(t, 0x1p-600), number(t, 1)));
  const Num p = b.let(a * down), q = b.let(c * down);
  return select(either(a == kInf, c == kInf), number(t, kInf), sqrt(fma(p, p, q * q)) * up);
}

Num fast_exp(MathBuilder &b, const Num &x) {
  const Format &f = kFormat32;
  const Num c = b.let(max(number(x.type(), -87.3), min(number(x.type(), 88.7), x)));
  const Rounded n = round_scaled(b, c, kLog2e);
  const Num r = b.let(fma(n.value, -f.ln2_low, fma(n.value, -f.ln2_high, c)));
  const Num y = as_float(bits(evaluate(poly(kFastExp), r)) + (n.integer << f.mantissa));
  return select(x < -87.3, number(x.type(), 0), y);
}

Num fast_log(MathBuilder &b, const Num &x) {
  const Split s = split_bits(b, x);
  const Num r = b.let(s.mantissa - 1);
  return fma(cast(x.type(), s.exponent), kLn2, r * evaluate(poly(kFastLog), r));
}

Num fast_pow(MathBuilder &b, const Num &x, const Num &y) {
  const Num r = fast_exp(b, b.let(fast_log(b, x) * y));
  return select(x == 0, select(y == 0, number(x.type(), 1), number(x.type(), 0)), r);
}

}  // namespace

// e^x = 2^n (1 + r + r^2 q(r)), n to nearest; 2^n in two factors, so that results may be denormal.
Num exp_kernel(MathBuilder &b, const Num &x, int shift) {
  const Format &f = format(x);
  const Type t = x.type();
  const Num c = b.let(max(number(t, f.exp_low), min(number(t, f.exp_high), x)));
  const Rounded n = round_scaled(b, c, kLog2e);
  const Num r = b.let(fma(n.value, -f.ln2_low, fma(n.value, -f.ln2_high, c)));
  const Num y = fma(r * r, evaluate(is_double(x) ? poly(kExp64) : poly(kExp32), r), r) + 1;
  const Num k = b.let(shift ? n.integer + shift : n.integer), half = b.let(k >> 1);
  return y * power_of_two(half, f) * power_of_two(k - half, f);
}

Num log_kernel(MathBuilder &b, const Num &x) { return log_specials(x, log_of_positive(b, x)); }

Expr expand_exponential(const Call *op) {
  MathBuilder b;
  const Num x = b.let(op->args[0]);
  const Num y = op->args.size() > 1 ? b.let(op->args[1]) : Num();
  const bool wide = is_double(x);
  const auto one = [&] { return number(x.type(), 1); };
  switch (op->op) {
    case Intrinsic::exp: return b.finish(exp_kernel(b, x, 0));
    case Intrinsic::log: return b.finish(log_kernel(b, x));
    case Intrinsic::pow: return b.finish(pow_kernel(b, x, y));
    case Intrinsic::sinh: return b.finish(sinh(b, x));
    case Intrinsic::cosh: return b.finish(cosh(b, x));
    case Intrinsic::fast_tanh:
    case Intrinsic::tanh: return b.finish(tanh(b, x));
    case Intrinsic::asinh: return b.finish(asinh(b, x));
    case Intrinsic::acosh: return b.finish(acosh(b, x));
    case Intrinsic::atanh: return b.finish(atanh(b, x));
    case Intrinsic::erf: return b.finish(erf(b, x));
    case Intrinsic::hypot: return b.finish(hypot(b, x, y));
    case Intrinsic::fast_exp: return b.finish(wide ? exp_kernel(b, x, 0) : fast_exp(b, x));
    case Intrinsic::fast_log: return b.finish(wide ? log_kernel(b, x) : fast_log(b, x));
    case Intrinsic::fast_pow: return b.finish(wide ? pow_kernel(b, x, y) : fast_pow(b, x, y));
    case Intrinsic::fast_inverse: return b.finish(one() / x);
    case Intrinsic::fast_inverse_sqrt: return b.finish(one() / sqrt(x));
    default: return {};
  }
}

// --- pow -----------------------------------------------------------------------------------------------------------
namespace {

// |x|^y for float32 operands given as doubles: 2^(y log2|x|), rounded once more by the cast at the end.
Num pow_by_double(MathBuilder &b, const Num &a, const Num &y) {
  const Type t = a.type();
  const Split s = split_bits(b, a);
  const Num r = b.let(s.mantissa - 1);
  // The exponent is small: taking it through int32 keeps vectors fast where there is no 64-bit conversion.
  const Num log2 = fma(r, evaluate(poly(kLog2), r), cast(t, cast(Int(32, t.lanes()), s.exponent)));
  const Num log2_any = select(a == 0, number(t, -kInf), select(a < kInf, log2, a));
  const Num p = b.let(max(number(t, -152), min(number(t, 130), log2_any * y)));
  const Rounded n = round_scaled(b, p, 1);
  return evaluate(poly(kExp2), b.let(p - n.value)) * power_of_two(n.integer, kFormat64);
}

// A sum of two doubles that do not overlap.
struct Pair {
  Num high, low;
};
Pair quick_sum(MathBuilder &b, const Num &x, const Num &y) {  // |x| >= |y|
  const Num s = b.let(x + y);
  return {s, b.let(y - (s - x))};
}
// Exact product. Halves by masks, not fma: in mode nofma an fma rounds twice and would give no error term.
Pair product(MathBuilder &b, const Num &x, const Num &y) {
  const auto split = [&](const Num &v) {
    const Num i = bits(v);
    const Num h = b.let(as_float(i & Num(make_uint(i.type(), ~uint64_t(0) << 27))));
    return Pair{h, b.let(v - h)};
  };
  const Num p = b.let(x * y);
  const Pair u = split(x), v = split(y);
  return {p, b.let((u.high * v.high - p) + u.high * v.low + u.low * v.high + u.low * v.low)};
}
Pair product(MathBuilder &b, const Pair &x, const Pair &y) {
  const Pair p = product(b, x.high, y.high);
  return quick_sum(b, p.high, p.low + (x.high * y.low + x.low * y.high));
}

// log(x), finite x > 0, to about 2^-66: 2 atanh(s), s = (m - 1) / (m + 1), its first terms in pairs.
Pair long_log(MathBuilder &b, const Num &x) {
  // 1/(2k+7): the Taylor terms that a double can hold.
  static constexpr double kTail[] = {1. / 7,  1. / 9,  1. / 11, 1. / 13, 1. / 15, 1. / 17,
                                     1. / 19, 1. / 21, 1. / 23, 1. / 25, 1. / 27};
  const Type t = x.type();
  const Split parts = split_float(b, x);
  const Num f = b.let(parts.mantissa - 1), e = b.let(cast(t, parts.exponent));
  const Num d = b.let(parts.mantissa + 1), d_low = parts.mantissa - (d - 1);
  const Num q = b.let(f / d);
  const Pair back = product(b, q, d);
  const Pair s = {q, b.let((((f - back.high) - back.low) - q * d_low) / d)};
  const Pair z = product(b, s, s);
  const auto add_constant = [&](const Pair &p, double high, double low) {
    const Pair r = quick_sum(b, number(t, high), p.high);
    return Pair{r.high, b.let(r.low + (p.low + low))};
  };
  const Pair fifth = add_constant({b.let(z.high * evaluate(poly(kTail), z.high)), number(t, 0)},
                                  0x1.999999999999ap-3, -0x1.999999999999ap-57);
  const Pair third =
      add_constant(product(b, z, fifth), 0x1.5555555555555p-2, 0x1.5555555555555p-56);
  const Pair w = product(b, s, product(b, z, third));
  const Pair r = quick_sum(b, s.high, w.high);
  const Pair m = {b.let(r.high * 2), b.let((r.low + (s.low + w.low)) * 2)};
  const Num scaled = b.let(e * kFormat64.ln2_high);  // exact; larger than m unless 0
  const Num sum = b.let(scaled + m.high);
  const Num lost = m.high - (sum - scaled);
  return quick_sum(b, sum, lost + (m.low + e * kFormat64.ln2_low));
}

Num pow_by_pairs(MathBuilder &b, const Num &a, const Num &y) {
  const Type t = a.type();
  const Pair l = long_log(b, a);
  const Num finite = b.let(both(a > 0, a < kInf));
  const Num high = b.let(select(finite, l.high, select(a == 0, number(t, -kInf), a)));
  const Pair p = product(b, high, y);
  const Num low = select(both(finite, magnitude(p.high) < 0x1p11), p.low + l.low * y, number(t, 0));
  const Format &f = kFormat64;
  const Num c = b.let(max(number(t, f.exp_low), min(number(t, f.exp_high), p.high)));
  const Rounded n = round_scaled(b, c, kLog2e);
  const Num r = b.let(fma(n.value, -f.ln2_low, fma(n.value, -f.ln2_high, c)) + low);
  const Num v = fma(r * r, evaluate(poly(kExp64), r), r) + 1;
  const Num k = b.let(n.integer), half = b.let(k >> 1);
  return v * power_of_two(half, f) * power_of_two(k - half, f);
}

}  // namespace

// The cases of C's pow around |x|^y: signs for odd y, NaN for a negative base with a fraction, and 1 where C says 1.
Num pow_kernel(MathBuilder &b, const Num &x, const Num &y) {
  const Type t = x.type();
  Num r;
  if (is_double(x)) {
    r = pow_by_pairs(b, b.let(magnitude(x)), y);
  } else {
    const Type d = Float(64, t.lanes());
    r = cast(t, pow_by_double(b, b.let(cast(d, magnitude(x))), cast(d, y)));
  }
  const Num half = b.let(y * 0.5), whole = b.let(floor(y) == y);
  const Num odd = both(whole, floor(half) != half);
  const Num sign = sign_bits(x);
  const Num signed_r = as_float(bits(r) ^ select(odd, sign, number(sign.type(), 0)));
  const Num bad = both(both(x<0, x> - kInf), negate(whole));
  const Num one = either(either(x == 1, y == 0), both(magnitude(x) == 1, magnitude(y) == kInf));
  return select(one, number(t, 1), select(bad, number(t, kNan), signed_r));
}

}  // namespace calotype::ir::math
