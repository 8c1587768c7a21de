// See values.h.
#include "values.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "../io/image.h"

namespace calotype::run {

bool parse_int(const std::string &text, int64_t *value) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return false;
  char *end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, 0);
  return *end == 0 && errno == 0;
}

bool parse_double(const std::string &text, double *value) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0]))) return false;
  char *end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return *end == 0;
}

bool parse_extents(const std::string &text, std::vector<int> *extents) {
  extents->clear();
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  std::string item;
  for (size_t i = 1; i < text.size(); i++) {
    if (text[i] != ',' && i + 1 < text.size()) {
      item += text[i];
      continue;
    }
    int64_t value;
    if (item.empty() && extents->empty() && i + 1 == text.size()) return true;  // []
    if (!parse_int(item, &value) || value < 0 || value > INT32_MAX) return false;
    extents->push_back(static_cast<int>(value));
    item.clear();
  }
  return true;
}

bool parse_scalar(const std::string &text, halide_type_t t, uint64_t *bits) {
  *bits = 0;
  const bool whole = t.code == halide_type_int || t.code == halide_type_uint;
  if (whole && t.bits == 1) {
    *bits = text == "true" || text == "1";
    return *bits || text == "false" || text == "0";
  }
  if (t.code == halide_type_float && (t.bits == 32 || t.bits == 64)) {
    double value;
    if (!parse_double(text, &value)) return false;
    const float narrow = static_cast<float>(value);
    if (t.bits == 32) std::memcpy(bits, &narrow, 4);
    if (t.bits == 64) std::memcpy(bits, &value, 8);
    return true;
  }
  if (t.code == halide_type_handle) return text == "0" || text == "null";
  if (!whole) return false;
  if (t.code == halide_type_uint && t.bits == 64) {
    char *end = nullptr;
    errno = 0;
    *bits = std::strtoull(text.c_str(), &end, 0);
    return !text.empty() && text[0] != '-' && *end == 0 && errno == 0;
  }
  int64_t value;
  if (!parse_int(text, &value)) return false;
  if (t.bits < 64) {
    const bool is_signed = t.code == halide_type_int;
    const int64_t most = (int64_t(1) << (t.bits - (is_signed ? 1 : 0))) - 1;
    if (value > most || value < (is_signed ? -most - 1 : 0)) return false;
  }
  *bits = static_cast<uint64_t>(value);
  if (t.bits < 64) *bits &= (uint64_t(1) << t.bits) - 1;
  return true;
}

std::string scalar_expected(halide_type_t t) {
  if (t.code == halide_type_uint && t.bits == 1) return "true or false";
  return "a number of type " + io::type_name(t);
}

namespace {

struct Form {
  const char *name;
  Source::Kind kind;
  bool has_middle;
  const char *shown;
};
constexpr Form kForms[] = {
    {"random", Source::Kind::Random, true, "random:SEED:SIZE"},
    {"zero", Source::Kind::Zero, false, "zero:SIZE"},
    {"constant", Source::Kind::Constant, true, "constant:VALUE:SIZE"},
    {"identity", Source::Kind::Identity, false, "identity:SIZE"},
};

[[noreturn]] void refuse(const std::string &argument, const std::string &text,
                         const std::string &expected) {
  throw Error("R0101", "argument " + argument + "=" + text + ": expected " + expected,
              "SIZE is [extents] with dimension 0 first, auto, estimate or estimate_then_auto");
}

bool parse_size(const std::string &text, Source *s) {
  if (text == "auto") {
    s->size = Source::Size::Auto;
  } else if (text == "estimate") {
    s->size = Source::Size::Estimate;
  } else if (text == "estimate_then_auto") {
    s->size = Source::Size::EstimateThenAuto;
  } else {
    s->size = Source::Size::Given;
    return parse_extents(text, &s->extents);
  }
  return true;
}

}  // namespace

Source parse_source(const std::string &argument, const std::string &text) {
  Source s;
  if (text.rfind("raw:", 0) == 0) {
    const size_t end = text.find(':', 4);
    s.kind = Source::Kind::Raw;
    s.size = Source::Size::Given;
    if (end == std::string::npos || !parse_extents(text.substr(4, end - 4), &s.extents)) {
      refuse(argument, text, "raw:[extents]:FILE");
    }
    s.path = text.substr(end + 1);
    return s;
  }
  for (const Form &f : kForms) {
    const std::string head = std::string(f.name) + ":";
    if (text.rfind(head, 0) != 0) continue;
    s.kind = f.kind;
    const size_t last = text.rfind(':');
    const bool middle = last >= head.size();
    if (middle != f.has_middle || !parse_size(text.substr(last + 1), &s)) {
      refuse(argument, text, f.shown);
    }
    if (middle) s.value = text.substr(head.size(), last - head.size());
    if (s.kind == Source::Kind::Random && !parse_int(s.value, &s.seed)) {
      refuse(argument, text, f.shown);
    }
    return s;
  }
  if (text.empty()) throw Error("R0101", "argument " + argument + "= has no value");
  s.path = text;
  return s;
}

}  // namespace calotype::run
