// GeneratorParam: a constant of a Generator, set by name from text before the Generator runs.
#pragma once

#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../base/target.h"
#include "../lang/func.h"

namespace calotype {

class GeneratorBase;

namespace driver {

/// A parameter of a Generator, set from text before generate() runs.
class CALO_EXPORT ParamBase {
public:
  explicit ParamBase(const std::string &name);
  ParamBase(const ParamBase &) = delete;
  virtual ~ParamBase();
  const std::string &name() const { return name_; }
  /// Throws L0502.
  virtual void set_from_string(const std::string &text) = 0;
  virtual std::string to_string() const = 0;
  virtual std::vector<std::string> choices() const { return {}; }

protected:
  [[noreturn]] void bad_value(const std::string &text, const std::string &expected) const;

private:
  std::string name_;
};

/// A parameter's value as text, from what it is in C++: the members of stubs' GeneratorParams.
struct CALO_EXPORT ParamText {
  std::string text;
  ParamText(const char *t) : text(t) {}
  ParamText(const std::string &t) : text(t) {}
  ParamText(const Type &t) : text(calotype::to_string(t)) {}
  ParamText(const Target &t) : text(t.to_string()) {}
  ParamText(bool v);
  template <typename T, typename std::enable_if<std::is_arithmetic<T>::value, int>::type = 0>
  ParamText(T v) : text(number(v)) {}

private:
  static std::string number(double v);
  static std::string number(float v) { return number(static_cast<double>(v)); }
  template <typename T> static std::string number(T v) { return std::to_string(v); }
};

CALO_EXPORT bool parse_value(const std::string &text, bool *value);
CALO_EXPORT bool parse_value(const std::string &text, long long *value);
CALO_EXPORT bool parse_value(const std::string &text, unsigned long long *value);
CALO_EXPORT bool parse_value(const std::string &text, double *value);
CALO_EXPORT bool parse_value(const std::string &text, Type *value);
CALO_EXPORT bool parse_value(const std::string &text, Target *value);
CALO_EXPORT bool parse_value(const std::string &text, LoopLevel *value);
CALO_EXPORT std::string print_value(bool v);
CALO_EXPORT std::string print_value(double v);
CALO_EXPORT std::string print_value(const LoopLevel &v);
/// "bool, int8, int16 ...": the types that parse_value takes.
CALO_EXPORT std::string legal_types();

}  // namespace driver

/// A constant of the Generator, chosen on its command line or in a build file.
template <typename T> class GeneratorParam : public driver::ParamBase {
public:
  GeneratorParam(const std::string &name, const T &value) : ParamBase(name), value_(value) {}
  GeneratorParam(const std::string &name, const T &value, const T &min, const T &max)
      : ParamBase(name), value_(value), min_(min), max_(max), bounded_(true) {}
  /// Enumerations: the names of the values.
  GeneratorParam(const std::string &name, const T &value,
                 std::initializer_list<std::pair<std::string, T>> names)
      : ParamBase(name), value_(value), names_(names) {}
  template <typename Map, typename = typename Map::mapped_type>
  GeneratorParam(const std::string &name, const T &value, const Map &names)
      : ParamBase(name), value_(value), names_(names.begin(), names.end()) {}

  operator T() const { return value_; }
  const T &value() const { return value_; }
  void set(const T &v) { value_ = v; }

  void set_from_string(const std::string &text) override {
    for (const auto &n : names_) {
      if (n.first == text) {
        value_ = n.second;
        return;
      }
    }
    if (!names_.empty()) bad_value(text, "one of its names");
    T v{value_};
    if constexpr (std::is_same<T, std::string>::value) {
      v = text;
    } else if constexpr (std::is_same<T, bool>::value || !std::is_arithmetic<T>::value) {
      if constexpr (std::is_enum<T>::value) {
        bad_value(text, "a name, but this parameter has none");
      } else if (!driver::parse_value(text, &v)) {
        bad_value(text, expected());
      }
    } else {
      using Wide =
          typename std::conditional<std::is_floating_point<T>::value, double,
                                    typename std::conditional<std::is_signed<T>::value, long long,
                                                              unsigned long long>::type>::type;
      Wide w{};
      if (!driver::parse_value(text, &w)) bad_value(text, expected());
      v = static_cast<T>(w);
      if (!std::is_floating_point<T>::value && static_cast<Wide>(v) != w)
        bad_value(text, expected());
    }
    if (bounded_) check_range(text, v);
    value_ = v;
  }

  std::string to_string() const override {
    for (const auto &n : names_) {
      if constexpr (std::is_enum<T>::value || std::is_arithmetic<T>::value) {
        if (n.second == value_) return n.first;
      }
    }
    if constexpr (std::is_same<T, std::string>::value) {
      return value_;
    } else if constexpr (std::is_same<T, bool>::value) {
      return driver::print_value(value_);
    } else if constexpr (std::is_floating_point<T>::value) {
      return driver::print_value(static_cast<double>(value_));
    } else if constexpr (std::is_integral<T>::value) {
      return std::to_string(value_);
    } else if constexpr (std::is_same<T, Type>::value) {
      return calotype::to_string(value_);
    } else if constexpr (std::is_same<T, Target>::value) {
      return value_.to_string();
    } else if constexpr (std::is_same<T, LoopLevel>::value) {
      return driver::print_value(value_);
    } else {
      return std::to_string(static_cast<long long>(value_));  // an enum's value without a name
    }
  }
  std::vector<std::string> choices() const override {
    std::vector<std::string> all;
    for (const auto &n : names_) all.push_back(n.first);
    return all;
  }

private:
  /// What set_from_string takes, in words.
  std::string expected() const {
    if constexpr (std::is_same<T, bool>::value) {
      return "true or false";
    } else if constexpr (std::is_same<T, Type>::value) {
      return "a type: " + driver::legal_types();
    } else if constexpr (std::is_same<T, LoopLevel>::value) {
      return "root or inlined";
    } else if constexpr (std::is_integral<T>::value) {
      const T least = bounded_ ? min_ : std::numeric_limits<T>::lowest();
      const T most = bounded_ ? max_ : std::numeric_limits<T>::max();
      return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    } else if constexpr (std::is_arithmetic<T>::value) {
      if (!bounded_) return "a number";
      return "a number from " + driver::print_value(static_cast<double>(min_)) + " to " +
             driver::print_value(static_cast<double>(max_));
    } else {
      return "a value of its type";
    }
  }
  void check_range(const std::string &text, const T &v) const {
    if constexpr (std::is_arithmetic<T>::value) {
      if (!(v >= min_ && v <= max_)) bad_value(text, expected());  // NaN too
    }
  }
  T value_, min_{}, max_{};
  bool bounded_ = false;
  std::vector<std::pair<std::string, T>> names_;
};

extern template class CALO_EXPORT GeneratorParam<Target>;

// A GeneratorParam beside anything behaves as its value. (Conversion alone would not do: `e * p` has no
// operator for an Expr and a class.)
#define CALO_PARAM_OPERATOR(op)                                                                \
  template <typename T, typename O>                                                            \
  auto operator op(const GeneratorParam<T> &a, const O &b)->decltype(std::declval<T>() op b) { \
    return a.value() op b;                                                                     \
  }                                                                                            \
  template <typename T, typename O>                                                            \
  auto operator op(const O &a, const GeneratorParam<T> &b)->decltype(a op std::declval<T>()) { \
    return a op b.value();                                                                     \
  }                                                                                            \
  template <typename T, typename U>                                                            \
  auto operator op(const GeneratorParam<T> &a, const GeneratorParam<U> &b)                     \
      ->decltype(std::declval<T>() op std::declval<U>()) {                                     \
    return a.value() op b.value();                                                             \
  }
CALO_PARAM_OPERATOR(+)
CALO_PARAM_OPERATOR(-)
CALO_PARAM_OPERATOR(*)
CALO_PARAM_OPERATOR(/)
CALO_PARAM_OPERATOR(%)
CALO_PARAM_OPERATOR(==)
CALO_PARAM_OPERATOR(!=)
CALO_PARAM_OPERATOR(<)
CALO_PARAM_OPERATOR(<=)
CALO_PARAM_OPERATOR(>)
CALO_PARAM_OPERATOR(>=)
CALO_PARAM_OPERATOR(&&)
CALO_PARAM_OPERATOR(||)
#undef CALO_PARAM_OPERATOR
template <typename T> auto operator!(const GeneratorParam<T> &a) -> decltype(!std::declval<T>()) {
  return !a.value();
}

}  // namespace calotype
