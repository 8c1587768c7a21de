// What a Type can hold, and its spelling. Type::min and max need expressions: ir/type_limits.cpp.
// Tests: test/unit/base/type_test.cpp.
#include "type.h"

#include "../runtime/HalideRuntime.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace calotype {

namespace {

// Precision and range of a float format; the value with exponent e (as in frexp) has digits down to 2^(e - digits),
// but never below 2^lowest.
struct Format {
  int digits, lowest;
  double largest;
};

Format format_of(Type t) {
  if (t.is_bfloat()) return {8, -133, std::ldexp(255.0, 120)};
  if (t.bits() == 16) return {11, -24, 65504.0};
  if (t.bits() == 32) return {24, -149, std::ldexp(16777215.0, 104)};
  return {53, -1074, HUGE_VAL};
}

bool fits_format(double x, const Format &f) {
  if (!std::isfinite(x) || x == 0) return true;
  if (std::fabs(x) > f.largest) return false;
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - f.digits, f.lowest));
  return std::trunc(x / unit) == x / unit;
}

bool float_holds_integer(const Format &f, uint64_t magnitude) {
  int bits = 64, zeros = 0;
  if (magnitude == 0) return true;
  while (!(magnitude >> (bits - 1) & 1)) bits--;
  while (!(magnitude >> zeros & 1)) zeros++;
  return bits - zeros <= f.digits && static_cast<double>(magnitude) <= f.largest;
}

struct Spelling {
  const char *text;
  Type::Code code;
};
// Longer spellings first where one begins with another.
constexpr Spelling kSpellings[] = {
    {"bfloat", Type::BFloat}, {"bf", Type::BFloat}, {"float", Type::Float}, {"f", Type::Float},
    {"uint", Type::UInt},     {"u", Type::UInt},    {"int", Type::Int},     {"i", Type::Int}};

// Reads decimal digits at *pos; -1 if there are none, they start with 0, or the number exceeds `most`.
int read_number(const std::string &s, size_t *pos, int most) {
  int value = 0;
  const size_t start = *pos;
  while (*pos < s.size() && s[*pos] >= '0' && s[*pos] <= '9') {
    value = value * 10 + (s[(*pos)++] - '0');
    if (value > most || s[start] == '0') return -1;
  }
  return *pos > start ? value : -1;
}

bool valid_bits(Type::Code code, int bits) {
  if (code == Type::BFloat) return bits == 16;
  if (code == Type::Float) return bits == 16 || bits == 32 || bits == 64;
  return bits >= 1 && bits <= 64;
}

Type parse_element(const std::string &s, size_t *pos) {
  for (const char *word : {"bool", "handle"}) {
    if (s.compare(*pos, std::string(word).size(), word) == 0) {
      *pos += std::string(word).size();
      return word[0] == 'b' ? Bool() : Handle();
    }
  }
  for (const Spelling &spelling : kSpellings) {
    const std::string word = spelling.text;
    if (s.compare(*pos, word.size(), word) != 0) continue;
    *pos += word.size();
    const int bits = read_number(s, pos, 64);
    return bits > 0 && valid_bits(spelling.code, bits) ? Type(spelling.code, bits) : Type();
  }
  return Type();
}

}  // namespace

Type::Type(const halide_type_t &t)
    : code_(static_cast<uint8_t>(t.code)), bits_(t.bits), lanes_(t.lanes) {}

Type::operator halide_type_t() const {
  return halide_type_t(static_cast<halide_type_code_t>(code_), bits_, lanes_);
}

bool Type::operator<(const Type &o) const {
  return std::tie(code_, bits_, lanes_) < std::tie(o.code_, o.bits_, o.lanes_);
}

int64_t Type::min_int() const {
  if (!is_int()) return 0;
  return bits_ >= 64 ? INT64_MIN : -(int64_t(1) << (bits_ - 1));
}

uint64_t Type::max_uint() const {
  const int digits = is_int() ? bits_ - 1 : bits_;
  return digits >= 64 ? UINT64_MAX : (uint64_t(1) << digits) - 1;
}

bool Type::can_represent(Type o) const {
  if (*this == o) return true;
  if (lanes_ != o.lanes_ || is_handle() || o.is_handle()) return false;
  if (is_float()) {
    const Format mine = format_of(*this);
    if (o.is_float()) {
      const Format other = format_of(o);
      return mine.digits >= other.digits && mine.lowest <= other.lowest &&
             mine.largest >= other.largest;
    }
    return o.bits_ - (o.is_int() ? 1 : 0) <= mine.digits;
  }
  if (o.is_float()) return false;
  return min_int() <= o.min_int() && max_uint() >= o.max_uint();
}

bool Type::can_represent(double x) const {
  if (is_float()) return fits_format(x, format_of(*this));
  if (!is_int_or_uint() || !std::isfinite(x) || std::trunc(x) != x) return false;
  const double limit =
      std::ldexp(1.0, is_int() ? bits_ - 1 : bits_);  // exact, where max_uint() might round
  return x < limit && x >= (is_int() ? -limit : 0.0);
}

bool Type::can_represent(int64_t x) const {
  if (is_float())
    return float_holds_integer(format_of(*this), x < 0 ? -static_cast<uint64_t>(x) : x);
  return is_int_or_uint() && x >= min_int() && (x < 0 || static_cast<uint64_t>(x) <= max_uint());
}

bool Type::can_represent(uint64_t x) const {
  if (is_float()) return float_holds_integer(format_of(*this), x);
  return is_int_or_uint() && x <= max_uint();
}

bool Type::is_max(int64_t x) const {
  return is_int_or_uint() && x >= 0 && static_cast<uint64_t>(x) == max_uint();
}

bool Type::is_min(int64_t x) const { return is_int_or_uint() && x == min_int(); }

double round_to(Type t, double x) {
  if (t.bits() == 64 || !std::isfinite(x) || x == 0) return x;
  if (t.bits() == 32) return static_cast<float>(x);
  const Format f = format_of(t);
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(
      1.0, std::max(exponent - f.digits, f.lowest));  // of the last digit; division is exact
  const double rounded = std::nearbyint(x / unit) * unit;
  return std::fabs(rounded) > f.largest ? std::copysign(HUGE_VAL, x) : rounded;
}

std::string to_string(Type t) {
  if (t.bits() == 0) return "undefined";
  static const char *const letters[] = {"i", "u", "f", "handle", "bf"};
  std::string s = t.is_bool() ? "bool" : letters[t.code()];
  if (!t.is_bool() && !t.is_handle()) s += std::to_string(t.bits());
  if (t.lanes() != 1) s += "x" + std::to_string(t.lanes());
  return s;
}

Type parse_type(const std::string &text) {
  size_t pos = 0;
  const Type element = parse_element(text, &pos);
  if (element.bits() == 0) return Type();
  int lanes = 1;
  if (pos < text.size()) {
    if (text[pos++] != 'x') return Type();
    lanes = read_number(text, &pos, 65535);
  }
  return pos == text.size() && lanes > 0 ? element.with_lanes(lanes) : Type();
}

}  // namespace calotype
