// See generator_params.h: values of parameters as text.
#include "generator_params.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "../lang/internal.h"
#include "generator.h"

namespace calotype {

template class GeneratorParam<Target>;

namespace driver {

ParamBase::ParamBase(const std::string &name) : name_(name) {
  GeneratorBase &g = owner_of(name);
  g.claim(name, lang::recent_position());
  g.params_.push_back(this);
}
ParamBase::~ParamBase() = default;

void ParamBase::bad_value(const std::string &text, const std::string &expected) const {
  Diagnostic d("L0502", {}, "the generator parameter " + name_ + " cannot be \"" + text + "\"");
  d.why.push_back({"it takes " + expected, {}});
  std::string names;
  for (const std::string &c : choices()) names += (names.empty() ? "" : ", ") + c;
  if (!names.empty()) d.help.push_back("names: " + names);
  raise(std::move(d));
}

bool parse_value(const std::string &text, bool *value) {
  if (text != "true" && text != "false") return false;
  *value = text == "true";
  return true;
}
bool parse_value(const std::string &text, long long *value) {
  char *end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == 0 && errno == 0;
}
bool parse_value(const std::string &text, unsigned long long *value) {
  char *end = nullptr;
  errno = 0;
  *value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && text[0] != '-' && *end == 0 && errno == 0;
}
bool parse_value(const std::string &text, double *value) {
  char *end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0;
}
std::string legal_types() {
  return "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, "
         "float32, "
         "float64";
}
bool parse_value(const std::string &text, Type *value) {
  const Type t = parse_type(text);  // programs as text know more types: u9, vectors
  const int bits = t.bits();
  const bool word = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (t.lanes() != 1 || t.is_handle() || !(word || t.is_bool())) return false;
  *value = t;
  return true;
}
bool parse_value(const std::string &text, Target *value) {
  *value = Target(text);  // throws T0101 with the nearest names
  return true;
}
bool parse_value(const std::string &text, LoopLevel *value) {
  if (text != "root" && text != "inlined") return false;
  *value = text == "root" ? LoopLevel::root() : LoopLevel::inlined();
  return true;
}

ParamText::ParamText(bool v) : text(print_value(v)) {}
std::string ParamText::number(double v) { return print_value(v); }

std::string print_value(bool v) { return v ? "true" : "false"; }
std::string print_value(const LoopLevel &v) {
  return v.is_root()      ? "root"
         : v.is_inlined() ? "inlined"
         : v.defined()    ? "at a loop"
                          : "undefined";
}
std::string print_value(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}

}  // namespace driver

}  // namespace calotype
