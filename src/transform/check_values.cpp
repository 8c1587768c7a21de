// See check_values.h and check.h.
#include "check_values.h"

#include <cmath>

#include "../ir/equal.h"
#include "../ir/eval.h"
#include "../ir/visit.h"
#include "factor.h"

namespace calotype::transform {

using namespace ir;

CheckEvaluator::~CheckEvaluator() = default;

// ---- structure -------------------------------------------------------------------------------------

CheckValue CheckEvaluator::of(const Expr &e) { return compute(e); }

bool CheckEvaluator::in_loop(const Expr &e) {
  const auto it = in_loop_.find(e.get());
  if (it != in_loop_.end()) return it->second;
  keep_.push_back(e);
  return in_loop_[e.get()] = uses_any_var(e, loop_vars);
}

CheckValue CheckEvaluator::compute(const Expr &e) {
  const auto whole = [](int64_t i) {
    CheckValue v;
    v.i = i;
    return v;
  };
  const auto boolean = [&](bool b) { return whole(b); };
  double number;
  if (e.type().is_float() && literal(e, &number)) return constant(e.type(), number);
  if (const int64_t *i = as_const_int(e)) return whole(*i);
  if (const uint64_t *u = as_const_uint(e)) return whole(static_cast<int64_t>(*u));
  if (const Variable *v = e.as<Variable>()) return variable(v);
  if (const Select *op = e.as<Select>())
    return of(truth(op->condition) ? op->true_value : op->false_value);
  if (const And *op = e.as<And>()) return boolean(truth(op->a) && truth(op->b));
  if (const Or *op = e.as<Or>()) return boolean(truth(op->a) || truth(op->b));
  if (const Not *op = e.as<Not>()) return boolean(!truth(op->a));
  if (const Cast *op = e.as<Cast>()) return cast(op->type, op->value.type(), of(op->value));
  if (const Call *op = e.as<Call>()) {
    if (op->op == Intrinsic::None) return access(op);
    std::vector<CheckValue> args;
    for (const Expr &a : op->args) args.push_back(of(a));
    return call(op, args);
  }
  switch (e.kind()) {
#define BINARY(K) \
  case NodeKind::K: return binary(NodeKind::K, e.type(), of(e.as<K>()->a), of(e.as<K>()->b));
    BINARY(Add)
    BINARY(Sub)
    BINARY(Mul)
    BINARY(Div)
    BINARY(Mod)
    BINARY(Min)
    BINARY(Max)
#undef BINARY
#define COMPARE(K) \
  case NodeKind::K: return compare(NodeKind::K, e.as<K>()->a, e.as<K>()->b);
    COMPARE(LT)
    COMPARE(LE)
    COMPARE(GT)
    COMPARE(GE)
    COMPARE(EQ)
    COMPARE(NE)
#undef COMPARE
    default: return random(e.type(), mix(hash(e), static_cast<uint64_t>(point)), false);
  }
}

CheckValue CheckEvaluator::variable(const Variable *v) {
  const auto it = vars.find(v->name);
  if (it != vars.end()) return it->second;
  const uint64_t h = mix(std::hash<std::string>()(v->name.str()), seed_);
  double low;
  const bool positive = v->param && !v->param->is_buffer && v->param->min_value.defined() &&
                        literal(v->param->min_value, &low) && low >= 0;
  if (v->type.is_float()) return random(v->type, h, positive);
  CheckValue r;
  r.i = v->type.is_bool() ? static_cast<int64_t>(h & 1) : static_cast<int64_t>(20 + h % 13);
  return r;
}

CheckValue CheckEvaluator::access(const Call *op) {
  uint64_t h = mix(std::hash<std::string>()(op->name.str()), seed_);
  h = mix(h, static_cast<uint64_t>(op->value_index));
  for (const Expr &a : op->args) {
    const CheckValue v = of(a);
    h = mix(h, static_cast<uint64_t>(v.i) ^ v.p);
    if (a.type().is_float()) h = mix(h, static_cast<uint64_t>(std::llround(v.d * 1048576)));
  }
  return random(op->type, h, false);
}

// Brought to less-than and equality, so that opposite forms agree.
CheckValue CheckEvaluator::compare(NodeKind kind, const Expr &x, const Expr &y) {
  const bool swapped = kind == NodeKind::GT || kind == NodeKind::LE;
  const bool negated = kind == NodeKind::LE || kind == NodeKind::GE || kind == NodeKind::NE;
  const bool equality = kind == NodeKind::EQ || kind == NodeKind::NE;
  const CheckValue a = of(swapped ? y : x), b = of(swapped ? x : y);
  bool holds;
  if (x.type().is_float()) {
    holds = equality ? same(a, b) : less(a, b);
    // NaN: ordered comparisons are false both ways
    if (negated && !equality && (std::isnan(a.d) || std::isnan(b.d))) holds = true;
  } else if (in_loop(x) || in_loop(y)) {
    holds = mask(mix(mix(static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i)), equality));
  } else {
    holds = equality ? a.i == b.i : a.i < b.i;
  }
  CheckValue r;
  r.i = holds != negated;
  return r;
}

// ---- integers, the same for all --------------------------------------------------------------------

namespace {

CheckValue integer(int64_t i) {
  CheckValue v;
  v.i = i;
  return v;
}

CheckValue integer_binary(NodeKind op, int64_t a, int64_t b) {
  const auto floor_div = [](int64_t x, int64_t y) {
    if (y == 0) return int64_t{0};
    int64_t r = x % y;
    if (r < 0) r += std::abs(y);
    return (x - r) / y;
  };
  switch (op) {
    case NodeKind::Add: return integer(a + b);
    case NodeKind::Sub: return integer(a - b);
    case NodeKind::Mul: return integer(a * b);
    case NodeKind::Div: return integer(floor_div(a, b));
    case NodeKind::Mod: return integer(b == 0 ? 0 : a - floor_div(a, b) * b);
    case NodeKind::Min: return integer(a < b ? a : b);
    default: return integer(a > b ? a : b);
  }
}

CheckValue integer_call(const Call *op, const std::vector<CheckValue> &args) {
  if (intrinsic_class(op->op) == IntrinsicClass::Marker) return args[0];
  uint64_t h = static_cast<uint64_t>(op->op);
  for (const CheckValue &a : args) h = mix(h, static_cast<uint64_t>(a.i) ^ a.p);
  if (op->op == Intrinsic::abs && !op->args[0].type().is_float())
    return integer(std::abs(args[0].i));
  return integer(op->type.is_bool() ? static_cast<int64_t>(h & 1) : static_cast<int64_t>(h % 1000));
}

// ---- fields ----------------------------------------------------------------------------------------

uint64_t times_mod(uint64_t a, uint64_t b, uint64_t m) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % m);
}

uint64_t power_mod(uint64_t a, uint64_t n, uint64_t m) {
  uint64_t r = 1;
  for (a %= m; n; n >>= 1) {
    if (n & 1) r = times_mod(r, a, m);
    a = times_mod(a, a, m);
  }
  return r;
}

bool is_prime(uint64_t n) {
  for (uint64_t a : {2u, 3u, 5u, 7u, 11u, 13u, 17u, 19u, 23u, 29u, 31u, 37u}) {
    if (n % a == 0) return n == a;
    uint64_t d = n - 1, x;
    int s = 0;
    while (d % 2 == 0) d /= 2, s++;
    x = power_mod(a, d, n);
    if (x == 1 || x == n - 1) continue;
    bool composite = true;
    for (int i = 1; i < s && composite; i++) {
      x = times_mod(x, x, n);
      composite = x != n - 1;
    }
    if (composite) return false;
  }
  return true;
}

struct Field {
  uint64_t q = 2147483629, p = 0, w = 0;
  Field() {
    uint64_t k = 2;
    while (!is_prime(k * q + 1)) k++;
    p = k * q + 1;
    uint64_t g = 2;
    while (power_mod(g, (p - 1) / q, p) == 1) g++;
    w = power_mod(g, (p - 1) / q, p);
  }
};

const Field &field() {
  static const Field f;
  return f;
}

uint64_t inverse(uint64_t a, uint64_t m) { return power_mod(a, m - 2, m); }

/// A double is an integer times a power of two.
uint64_t residue(double v, uint64_t m) {
  int exponent;
  const double mantissa = std::frexp(v, &exponent);
  const int64_t whole = static_cast<int64_t>(std::ldexp(mantissa, 53));
  const int64_t r = whole % static_cast<int64_t>(m);
  const uint64_t u = static_cast<uint64_t>(r < 0 ? r + static_cast<int64_t>(m) : r);
  exponent -= 53;
  const uint64_t two = power_mod(2, static_cast<uint64_t>(std::abs(exponent)), m);
  return times_mod(u, exponent < 0 ? inverse(two, m) : two, m);
}

CheckValue from_hash(uint64_t h) {
  CheckValue v;
  v.p = mix(h, 1) % field().p;
  v.q = mix(h, 2) % field().q;
  return v;
}

CheckValue infinity(int sign) {
  CheckValue v;
  v.infinite = sign;
  return v;
}

uint64_t hash_of(const CheckValue &v) {
  return mix(mix(v.p, static_cast<uint64_t>(v.infinite)), static_cast<uint64_t>(v.i));
}

}  // namespace

CheckValue FieldEvaluator::constant(Type, double v) {
  if (std::isinf(v)) return infinity(v < 0 ? -1 : 1);
  CheckValue r;
  r.p = residue(v, field().p);
  r.q = residue(v, field().q);
  r.d = v;  // kept for whole exponents
  return r;
}

CheckValue FieldEvaluator::random(Type t, uint64_t h, bool) {
  if (t.is_float()) return from_hash(h);
  return integer(t.is_bool() ? static_cast<int64_t>(h & 1) : static_cast<int64_t>(h % 1000));
}

CheckValue FieldEvaluator::binary(NodeKind op, Type t, const CheckValue &a, const CheckValue &b) {
  if (!t.is_float()) return integer_binary(op, a.i, b.i);
  const uint64_t p = field().p, q = field().q;
  if (op == NodeKind::Min || op == NodeKind::Max) {
    const int lost = op == NodeKind::Max ? -1 : 1;
    if (a.infinite == lost) return b;
    if (b.infinite == lost) return a;
    const uint64_t x = hash_of(a), y = hash_of(b);
    if (x == y) return a;
    return from_hash(mix(mix(x < y ? x : y, x < y ? y : x), static_cast<uint64_t>(op)));
  }
  if (a.infinite || b.infinite) {
    if (op == NodeKind::Sub && !a.infinite) return infinity(-b.infinite);
    return infinity(a.infinite ? a.infinite : b.infinite);
  }
  CheckValue r;
  const auto whole = [](const CheckValue &v) {
    return v.d != 0 && v.d == std::floor(v.d) && std::abs(v.d) <= 64;
  };
  switch (op) {
    case NodeKind::Add:
      r.p = (a.p + b.p) % p, r.q = (a.q + b.q) % q, r.g = times_mod(a.g, b.g, p);
      break;
    case NodeKind::Sub:
      r.p = (a.p + p - b.p) % p, r.q = (a.q + q - b.q) % q;
      r.g = b.g == 1 ? a.g : times_mod(a.g, inverse(b.g, p), p);
      break;
    case NodeKind::Mul:
      r.p = times_mod(a.p, b.p, p), r.q = times_mod(a.q, b.q, q);
      if (a.g != 1 || b.g != 1) {
        const CheckValue &log = a.g != 1 ? a : b, &by = a.g != 1 ? b : a;
        const uint64_t n = power_mod(log.g, static_cast<uint64_t>(std::abs(by.d)), p);
        if (whole(by)) r.g = by.d < 0 ? inverse(n, p) : n;
        if (!whole(by)) r.g = 1 + mix(hash_of(a), hash_of(b)) % (p - 1);
      }
      break;
    case NodeKind::Div:
      r.p = times_mod(a.p, inverse(b.p, p), p), r.q = times_mod(a.q, inverse(b.q, q), q);
      break;
    default: return from_hash(mix(mix(hash_of(a), hash_of(b)), static_cast<uint64_t>(op)));
  }
  return r;
}

bool FieldEvaluator::less(const CheckValue &a, const CheckValue &b) {
  return mix(mix(hash_of(a), hash_of(b)), seed_) & 1;
}

// Sums with logarithms in them are compared by their exponentials.
bool FieldEvaluator::same(const CheckValue &a, const CheckValue &b) {
  if (a.infinite || b.infinite) return a.infinite == b.infinite;
  if (a.g == 1 && b.g == 1) return a.p == b.p;
  const uint64_t p = field().p;
  const auto exponential = [&](const CheckValue &v) {
    return times_mod(power_mod(field().w, v.q, p), v.g, p);
  };
  return exponential(a) == exponential(b);
}

CheckValue FieldEvaluator::cast(Type to, Type from, const CheckValue &v) {
  if (to.is_float() && from.is_float()) return v;
  if (to.is_float()) return constant(to, static_cast<double>(v.i));
  if (from.is_float()) return integer(static_cast<int64_t>(hash_of(v) % 1000));
  return v;
}

CheckValue FieldEvaluator::call(const Call *op, const std::vector<CheckValue> &args) {
  if (!op->type.is_float()) return integer_call(op, args);
  const uint64_t p = field().p, q = field().q;
  const auto exponential = [&](uint64_t times, const CheckValue &x) {
    if (x.infinite) return x.infinite < 0 ? CheckValue() : infinity(1);
    CheckValue r;
    r.p = times_mod(power_mod(field().w, times_mod(x.q, times, q), p), x.g, p);
    r.q = mix(r.p, 3) % q;
    return r;
  };
  const auto root = [&](const CheckValue &x) { return from_hash(mix(hash_of(x), 4)); };
  CheckValue one;
  one.p = one.q = 1;
  double v;
  switch (op->op) {
    case Intrinsic::exp:
    case Intrinsic::fast_exp: return exponential(1, args[0]);
    case Intrinsic::log:
    case Intrinsic::fast_log: {
      CheckValue r = from_hash(mix(hash_of(args[0]), 5));
      r.q = 0;
      r.g = args[0].p;
      return r;
    }
    case Intrinsic::pow:
    case Intrinsic::fast_pow:
      if (literal(op->args[1], &v) && v == std::floor(v) && v >= 0 && v <= 64) {
        CheckValue r = one;
        for (int i = 0; i < static_cast<int>(v); i++)
          r = binary(NodeKind::Mul, op->type, r, args[0]);
        return r;
      }
      if (literal(op->args[1], &v) && v == 0.5) return root(args[0]);
      if (literal(op->args[0], &v)) return exponential(args[0].p % q, args[1]);
      break;
    case Intrinsic::sqrt: return root(args[0]);
    case Intrinsic::fast_inverse: return binary(NodeKind::Div, op->type, one, args[0]);
    case Intrinsic::fast_inverse_sqrt: return binary(NodeKind::Div, op->type, one, root(args[0]));
    case Intrinsic::fma:
      return binary(NodeKind::Add, op->type, binary(NodeKind::Mul, op->type, args[0], args[1]),
                    args[2]);
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost: return args[0];
    default: break;
  }
  uint64_t h = static_cast<uint64_t>(op->op);
  for (const CheckValue &a : args) h = mix(h, hash_of(a));
  return from_hash(h);
}

// ---- real numbers ----------------------------------------------------------------------------------

CheckValue RealEvaluator::rounded(Type t, double v) {
  CheckValue r;
  r.d = wide_ || t.bits() == 64 ? v : static_cast<double>(static_cast<float>(v));
  return r;
}

// As the type has it even where everything else is wide: the algorithm's constants are what they are.
CheckValue RealEvaluator::constant(Type t, double v) {
  CheckValue r;
  r.d = t.bits() == 64 ? v : static_cast<double>(static_cast<float>(v));
  return r;
}

CheckValue RealEvaluator::random(Type t, uint64_t h, bool positive) {
  if (!t.is_float())
    return integer(t.is_bool() ? static_cast<int64_t>(h & 1) : static_cast<int64_t>(h % 1000));
  const double unit = static_cast<double>(mix(h, 7) >> 11) / 9007199254740992.0;
  CheckValue r;
  r.d = static_cast<float>(size_ * (positive ? unit : 2 * unit - 1));
  return r;
}

CheckValue RealEvaluator::binary(NodeKind op, Type t, const CheckValue &a, const CheckValue &b) {
  if (!t.is_float()) return integer_binary(op, a.i, b.i);
  switch (op) {
    case NodeKind::Add: return rounded(t, a.d + b.d);
    case NodeKind::Sub: return rounded(t, a.d - b.d);
    case NodeKind::Mul: return rounded(t, a.d * b.d);
    case NodeKind::Div: return rounded(t, a.d / b.d);
    case NodeKind::Mod: return rounded(t, a.d - b.d * std::floor(a.d / b.d));
    case NodeKind::Min: return a.d < b.d ? a : b;
    default: return a.d > b.d ? a : b;
  }
}

CheckValue RealEvaluator::cast(Type to, Type from, const CheckValue &v) {
  if (to.is_float()) return rounded(to, from.is_float() ? v.d : static_cast<double>(v.i));
  if (!from.is_float()) return v;
  return integer(std::isfinite(v.d) ? static_cast<int64_t>(v.d) : 0);
}

CheckValue RealEvaluator::call(const Call *op, const std::vector<CheckValue> &args) {
  if (!op->type.is_float()) return integer_call(op, args);
  const double x = args[0].d, y = args.size() > 1 ? args[1].d : 0;
  switch (op->op) {
    case Intrinsic::exp:
    case Intrinsic::fast_exp: return rounded(op->type, std::exp(x));
    case Intrinsic::log:
    case Intrinsic::fast_log: return rounded(op->type, std::log(x));
    case Intrinsic::pow:
    case Intrinsic::fast_pow: return rounded(op->type, std::pow(x, y));
    case Intrinsic::sqrt: return rounded(op->type, std::sqrt(x));
    case Intrinsic::abs: return rounded(op->type, std::abs(x));
    case Intrinsic::tanh: return rounded(op->type, std::tanh(x));
    case Intrinsic::floor: return rounded(op->type, std::floor(x));
    case Intrinsic::fma: return rounded(op->type, x * y + args[2].d);
    case Intrinsic::fast_inverse: return rounded(op->type, 1 / x);
    case Intrinsic::fast_inverse_sqrt: return rounded(op->type, 1 / std::sqrt(x));
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost: return args[0];
    default: break;
  }
  std::vector<Expr> constants;
  for (size_t i = 0; i < args.size(); i++) {
    const Type t = op->args[i].type();
    constants.push_back(t.is_float() ? make_float(t, args[i].d) : make_const(t, args[i].i));
  }
  const auto v = evaluate(make_intrinsic(op->type, op->op, constants));
  CheckValue r;
  r.d = v ? v->as_float() : 0.5;
  return r;
}

bool RealEvaluator::mask(uint64_t h) {
  const int last = (points_ - 1) / block_ * block_;
  switch (masks_) {
    case Masks::None: return false;
    case Masks::NotFirst: return point >= block_;
    case Masks::OnlyFirst: return point < block_;
    case Masks::NotLast: return point < last;
    case Masks::OnlyLastPoint: return point == points_ - 1;
    case Masks::Random: return mix(h, seed_) & 1;
    default: return true;
  }
}

}  // namespace calotype::transform
