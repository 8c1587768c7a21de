// Generator: a pipeline as a class with named inputs, outputs and parameters, found by name.
//
//   class Blur : public Generator<Blur> {
//    public:
//     GeneratorParam<int> radius{"radius", 1};
//     Input<Buffer<uint8_t, 2>> input{"input"};
//     Output<Buffer<uint8_t, 2>> output{"output"};
//     void generate() { output(x, y) = ...; }
//   };
//   HALIDE_REGISTER_GENERATOR(Blur, blur)
//
// Members register themselves with the Generator that is being constructed. configure(), if there is
// one, runs before inputs take their types; schedule(), if there is one, after generate().
//
// From another Generator: auto blur = context().apply<Blur>(f); Func g = blur->output;
#pragma once

#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../base/target.h"
#include "../lang/func.h"
#include "../lang/param.h"
#include "../lang/prelude.h"
#include "pipeline.h"

namespace calotype {

class GeneratorBase;
template <typename T> class GeneratorParam;

/// What a Generator is made for.
class CALO_EXPORT GeneratorContext {
public:
  explicit GeneratorContext(const Target &t = get_host_target()) : target_(t) {}
  const Target &target() const { return target_; }
  const Target &get_target() const { return target_; }
  GeneratorContext with_target(const Target &t) const { return GeneratorContext(t); }
  /// A Generator with its parameters still to be set.
  template <typename T> std::unique_ptr<T> create() const { return T::create(*this); }
  /// Made, its inputs bound in their order, and run: its outputs are Funcs of the caller's program.
  template <typename T, typename... Args> std::unique_ptr<T> apply(const Args &...args) const {
    std::unique_ptr<T> g = T::create(*this);
    g->apply(args...);
    return g;
  }

private:
  Target target_;
};

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

/// The name of a member with the line that declares it.
struct CALO_EXPORT Named {
  std::string text;
  SrcLoc at;
  Named(const char *name, SrcLoc where = SrcLoc::here()) : text(name), at(where) {}
  Named(const std::string &name, SrcLoc where = SrcLoc::here()) : text(name), at(where) {}
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

struct BoundInput;
class InputImage;

/// An input or output: name, types and rank, possibly still open.
class CALO_EXPORT Port {
public:
  enum class Kind { Scalar, Buffer, Function };
  /// A type without bits, and a rank of -1, are still open.
  Port(const std::string &name, Kind kind, bool is_output, Type type, int dimensions, SrcLoc at);
  Port(const Port &) = delete;
  Port &operator=(const Port &) = delete;
  virtual ~Port();
  const std::string &name() const { return name_; }
  Kind kind() const { return kind_; }
  bool is_output() const { return is_output_; }
  /// Throw L0501 while still open.
  const std::vector<Type> &types() const;
  Type type() const;
  int dims() const;
  bool has_types() const { return !types_.empty(); }
  bool has_dims() const { return dims_ >= 0; }
  /// Throw L0501 where the declaration says otherwise.
  void set_types(std::vector<Type> t);
  void set_type(const Type &t) { set_types({t}); }
  void set_dimensions(int d);
  SrcLoc loc() const { return loc_; }

  /// Called when types and ranks are final, before generate().
  virtual void open();
  /// Inputs: the parameters it becomes. Outputs: the Funcs.
  virtual std::vector<Ref<ir::Parameter>> params() const;
  virtual std::vector<Func> funcs() const;
  /// Inputs: takes values from the caller's program instead. Throws L0501.
  virtual void bind(const BoundInput &value);

protected:
  void need(bool ok, const std::string &what, const std::string &why) const;
  std::string name_;
  Kind kind_;
  bool is_output_, types_fixed_, dims_fixed_;
  std::vector<Type> types_;
  int dims_;
  SrcLoc loc_;
  GeneratorBase *owner_;
};

/// One value of Generator::apply.
struct CALO_EXPORT BoundInput {
  Func func;         ///< pixels
  ImageParam image;  ///< the same, where they have a size
  Expr scalar;
  BoundInput(const Func &f);
  BoundInput(const ImageParam &p);
  BoundInput(const InputImage &input);
  BoundInput(const Expr &e) : scalar(e) {}
  template <typename T, int D> BoundInput(const Buffer<T, D> &b) : BoundInput(embedded(b)) {}
  template <typename T, typename std::enable_if<std::is_arithmetic<T>::value, int>::type = 0>
  BoundInput(T v) : scalar(v) {}
  template <typename T> BoundInput(const GeneratorParam<T> &p) : BoundInput(p.value()) {}
  template <typename T, typename std::enable_if<std::is_convertible<const T &, Expr>::value &&
                                                    !std::is_arithmetic<T>::value,
                                                int>::type = 0>
  BoundInput(const T &e, int = 0) : scalar(e) {}
  ~BoundInput();

private:
  template <typename T, int D> static ImageParam embedded(const Buffer<T, D> &b) {
    return of_load(b(std::vector<Expr>(b.dimensions(), Expr(0))));
  }
  static ImageParam of_load(const Expr &load);
};

/// A port of several elements, named name_0, name_1 ... The number is declared, or set later: by
/// `name.size=N`, resize() in configure(), or the vector that apply() is given.
class CALO_EXPORT PortArrayBase {
public:
  PortArrayBase(const Named &name, bool is_output, int size);
  PortArrayBase(const PortArrayBase &) = delete;
  PortArrayBase &operator=(const PortArrayBase &) = delete;
  virtual ~PortArrayBase();
  const std::string &name() const { return name_; }
  bool has_size() const { return size_ >= 0; }
  size_t size() const;    ///< throws L0501 while open
  void resize(size_t n);  ///< throws L0501 if the size is already another
  void set_types(const std::vector<Type> &t);
  void set_type(const Type &t) { set_types({t}); }
  void set_dimensions(int d);
  const std::vector<Port *> &ports() const { return ports_; }
  SrcLoc loc() const { return loc_; }

protected:
  void fill();
  virtual Port *make(const std::string &name) = 0;
  virtual void clear() = 0;

private:
  std::string name_;
  SrcLoc loc_;
  GeneratorBase *owner_;
  int size_;
  std::vector<Type> types_;  ///< set while there were no elements
  int dims_ = -1;
  std::vector<Port *> ports_;
};

template <typename Element> class PortArray : public PortArrayBase {
public:
  class Iterator {
  public:
    explicit Iterator(const std::unique_ptr<Element> *at) : at_(at) {}
    Element &operator*() const { return **at_; }
    Iterator &operator++() { return ++at_, *this; }
    bool operator!=(const Iterator &o) const { return at_ != o.at_; }

  private:
    const std::unique_ptr<Element> *at_;
  };

  template <typename... Args>
  PortArray(bool is_output, int size, const Named &name, const Args &...args)
      : PortArrayBase(name, is_output, size) {
    const auto make = [=](const std::string &element) {
      return std::make_unique<Element>(element, args..., name.at);
    };
    maker_.reset(new MakerOf<decltype(make)>(make));
    fill();
  }
  Element &operator[](size_t i) const { return (void)size(), *elements_.at(i); }
  Element &at(size_t i) const { return (*this)[i]; }
  Iterator begin() const { return (void)size(), Iterator(elements_.data()); }
  Iterator end() const { return Iterator(elements_.data() + size()); }

protected:
  Port *make(const std::string &name) override {
    elements_.push_back(maker_->make(name));
    return elements_.back().get();
  }
  void clear() override { elements_.clear(); }

private:
  struct Maker {  // no std::function: <functional> is a fifth of what a generator costs to parse
    virtual ~Maker() = default;
    virtual std::unique_ptr<Element> make(const std::string &name) const = 0;
  };
  template <typename F> struct MakerOf : Maker {
    explicit MakerOf(const F &f) : f_(f) {}
    std::unique_ptr<Element> make(const std::string &name) const override { return f_(name); }
    F f_;
  };
  std::unique_ptr<Maker> maker_;
  std::vector<std::unique_ptr<Element>> elements_;
};

/// Input of pixels: an ImageParam, or a Func read from one.
class CALO_EXPORT InputImage : public Port {
public:
  InputImage(const std::string &name, Kind kind, Type type, int dimensions, SrcLoc at);
  ~InputImage() override;
  void open() override;
  std::vector<Ref<ir::Parameter>> params() const override;
  void bind(const BoundInput &value) override;
  /// Throws L0501 where apply() gave a Func, which has no size.
  const ImageParam &image() const;
  template <typename... Args>
  Expr operator()(const lang::Coordinate &first, const Args &...args) const {
    const lang::Coordinate all[] = {first, lang::Coordinate(args, first.loc)...};
    return load(all, 1 + sizeof...(args), first.loc);
  }
  Expr operator()(const std::vector<Expr> &coords, SrcLoc at = SrcLoc::here()) const;
  Expr operator()(const std::vector<Var> &coords, SrcLoc at = SrcLoc::here()) const;
  Expr operator()(SrcLoc at = SrcLoc::here()) const { return load(nullptr, 0, at); }
  operator Func() const;
  operator const ImageParam &() const { return image(); }
  BoundaryConditions::Source boundary_source() const;

  bool defined() const { return image_.defined() || func_.defined(); }
  int dimensions() const { return dims(); }
  lang::Dimension dim(int i) { return image().dim(i); }
  Expr width() const { return image().width(); }
  Expr height() const { return image().height(); }
  Expr channels() const { return image().channels(); }
  Expr left() const { return image().left(); }
  Expr right() const { return image().right(); }
  Expr top() const { return image().top(); }
  Expr bottom() const { return image().bottom(); }
  InputImage &set_estimates(const Region &estimates);
  InputImage &set_estimates(std::initializer_list<Range> estimates);
  InputImage &set_estimate(const Var &v, const Expr &min, const Expr &extent);
  InputImage &set_host_alignment(int bytes);
  Func in(SrcLoc at = SrcLoc::here()) const;
  Func in(const Func &consumer, SrcLoc at = SrcLoc::here()) const;
  Func in(const std::vector<Func> &consumers, SrcLoc at = SrcLoc::here()) const;

private:
  friend struct BoundInput;
  Expr load(const lang::Coordinate *coords, size_t n, SrcLoc at) const;
  ImageParam image_;
  mutable Func func_;  ///< bound by apply(), or made from image_ when first asked for
  bool bound_ = false;
};

class CALO_EXPORT InputScalar : public Port {
public:
  InputScalar(const std::string &name, Type t, SrcLoc at);
  ~InputScalar() override;
  std::vector<Ref<ir::Parameter>> params() const override;
  void bind(const BoundInput &value) override;
  operator Expr() const { return bound_.defined() ? bound_ : lang::parameter_expr(param_); }
  void set_estimate(const Expr &e);

protected:
  Ref<ir::Parameter> param_;
  Expr bound_;
};

/// An output is a Func; assigning a Func to it gives that Func the output's name.
class CALO_EXPORT OutputFunc : public Port, public Func {
public:
  OutputFunc(const std::string &name, Kind kind, Type type, int dimensions, SrcLoc at);
  OutputFunc(const std::string &name, Kind kind, const std::vector<Type> &types, int dimensions,
             SrcLoc at);
  ~OutputFunc() override;
  void open() override;
  std::vector<Func> funcs() const override;
  using Func::defined;
  using Func::name;
  using Func::type;
  using Func::types;
  OutputFunc &operator=(const Func &f);
  OutputFunc &operator=(const OutputFunc &o) { return *this = static_cast<const Func &>(o); }
  using Func::set_estimates;
  OutputFunc &set_estimates(std::initializer_list<Range> estimates, SrcLoc at = SrcLoc::here());
  lang::Dimension dim(int i) { return output_buffer().dim(i); }
  Expr width() const { return output_buffer().width(); }
  Expr height() const { return output_buffer().height(); }
  Expr channels() const { return output_buffer().channels(); }
  Expr left() const { return output_buffer().left(); }
  Expr right() const { return output_buffer().right(); }
  Expr top() const { return output_buffer().top(); }
  Expr bottom() const { return output_buffer().bottom(); }
  void set_host_alignment(int bytes);
};

}  // namespace driver

// ---- parameters ---------------------------------------------------------------------------------

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

// ---- inputs and outputs -------------------------------------------------------------------------

namespace driver {
template <typename T> Type static_type() {
  if constexpr (std::is_void<T>::value) {
    return Type();
  } else {
    return type_of<T>();
  }
}
}  // namespace driver

/// T: an arithmetic type, Buffer<T, D>, Func, or an array of these.
template <typename T, typename Enable = void> class GeneratorInput;

template <typename T>
class GeneratorInput<T, typename std::enable_if<std::is_arithmetic<T>::value>::type>
    : public driver::InputScalar {
public:
  explicit GeneratorInput(const std::string &name, SrcLoc at = SrcLoc::here())
      : InputScalar(name, type_of<T>(), at) {}
  GeneratorInput(const std::string &name, T value, SrcLoc at = SrcLoc::here())
      : GeneratorInput(name, at) {
    lang::set_parameter_bits(*param_, type_of<T>(), lang::bits_of(value), at);
  }
  GeneratorInput(const std::string &name, T value, const Expr &min, const Expr &max,
                 SrcLoc at = SrcLoc::here())
      : GeneratorInput(name, value, at) {
    param_->min_value = cast<T>(min);
    param_->max_value = cast<T>(max);
  }
};

template <typename T, int D> class GeneratorInput<Buffer<T, D>> : public driver::InputImage {
public:
  explicit GeneratorInput(const std::string &name, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Buffer, driver::static_type<T>(), D, at) {}
  GeneratorInput(const std::string &name, int dimensions, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Buffer, driver::static_type<T>(), dimensions, at) {}
  GeneratorInput(const std::string &name, const Type &t, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Buffer, t, D, at) {}
  GeneratorInput(const std::string &name, const Type &t, int dimensions, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Buffer, t, dimensions, at) {}
};

template <> class GeneratorInput<Func> : public driver::InputImage {
public:
  explicit GeneratorInput(const std::string &name, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Function, Type(), -1, at) {}
  GeneratorInput(const std::string &name, int dimensions, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Function, Type(), dimensions, at) {}
  GeneratorInput(const std::string &name, const Type &t, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Function, t, -1, at) {}
  GeneratorInput(const std::string &name, const Type &t, int dimensions, SrcLoc at = SrcLoc::here())
      : InputImage(name, Kind::Function, t, dimensions, at) {}
};

template <typename T, size_t N>
class GeneratorInput<T[N]> : public driver::PortArray<GeneratorInput<T>> {
public:
  template <typename... Args>
  explicit GeneratorInput(const driver::Named &name, const Args &...args)
      : driver::PortArray<GeneratorInput<T>>(false, static_cast<int>(N), name, args...) {}
};
template <typename T> class GeneratorInput<T[]> : public driver::PortArray<GeneratorInput<T>> {
public:
  template <typename... Args>
  explicit GeneratorInput(const driver::Named &name, const Args &...args)
      : driver::PortArray<GeneratorInput<T>>(false, -1, name, args...) {}
  template <typename... Args>
  GeneratorInput(size_t n, const driver::Named &name, const Args &...args)
      : driver::PortArray<GeneratorInput<T>>(false, static_cast<int>(n), name, args...) {}
};

template <typename T, typename Enable = void> class GeneratorOutput;

template <typename T>
class GeneratorOutput<T, typename std::enable_if<std::is_arithmetic<T>::value>::type>
    : public driver::OutputFunc {
public:
  explicit GeneratorOutput(const std::string &name, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Scalar, type_of<T>(), 0, at) {}
  using OutputFunc::operator=;
};

template <typename T, int D> class GeneratorOutput<Buffer<T, D>> : public driver::OutputFunc {
public:
  explicit GeneratorOutput(const std::string &name, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Buffer, driver::static_type<T>(), D, at) {}
  GeneratorOutput(const std::string &name, int dimensions, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Buffer, driver::static_type<T>(), dimensions, at) {}
  GeneratorOutput(const std::string &name, const Type &t, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Buffer, t, D, at) {}
  GeneratorOutput(const std::string &name, const Type &t, int dimensions,
                  SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Buffer, t, dimensions, at) {}
  GeneratorOutput(const std::string &name, const std::vector<Type> &t, int dimensions,
                  SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Buffer, t, dimensions, at) {}
  using OutputFunc::operator=;
};

template <> class GeneratorOutput<Func> : public driver::OutputFunc {
public:
  explicit GeneratorOutput(const std::string &name, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Function, Type(), -1, at) {}
  GeneratorOutput(const std::string &name, int dimensions, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Function, Type(), dimensions, at) {}
  GeneratorOutput(const std::string &name, const Type &t, SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Function, t, -1, at) {}
  GeneratorOutput(const std::string &name, const Type &t, int dimensions,
                  SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Function, t, dimensions, at) {}
  GeneratorOutput(const std::string &name, const std::vector<Type> &t, int dimensions,
                  SrcLoc at = SrcLoc::here())
      : OutputFunc(name, Kind::Function, t, dimensions, at) {}
  using OutputFunc::operator=;
};

template <typename T, size_t N>
class GeneratorOutput<T[N]> : public driver::PortArray<GeneratorOutput<T>> {
public:
  template <typename... Args>
  explicit GeneratorOutput(const driver::Named &name, const Args &...args)
      : driver::PortArray<GeneratorOutput<T>>(true, static_cast<int>(N), name, args...) {}
};
template <typename T> class GeneratorOutput<T[]> : public driver::PortArray<GeneratorOutput<T>> {
public:
  template <typename... Args>
  explicit GeneratorOutput(const driver::Named &name, const Args &...args)
      : driver::PortArray<GeneratorOutput<T>>(true, -1, name, args...) {}
  template <typename... Args>
  GeneratorOutput(size_t n, const driver::Named &name, const Args &...args)
      : driver::PortArray<GeneratorOutput<T>>(true, static_cast<int>(n), name, args...) {}
};

// ---- Generator ----------------------------------------------------------------------------------

/// The names of the language as members, so that a Generator needs no `using namespace`.
struct NamesInterface {
  using Expr = calotype::Expr;
  using Var = calotype::Var;
  using RVar = calotype::RVar;
  using RDom = calotype::RDom;
  using Func = calotype::Func;
  using Tuple = calotype::Tuple;
  using Type = calotype::Type;
  using Target = calotype::Target;
  using LoopLevel = calotype::LoopLevel;
  using TailStrategy = calotype::TailStrategy;
  using MemoryType = calotype::MemoryType;
  using Pipeline = calotype::Pipeline;
  using ImageParam = calotype::ImageParam;
  using ExternFuncArgument = calotype::ExternFuncArgument;
  template <typename T> using Param = calotype::Param<T>;
  template <typename T> using GeneratorParam = calotype::GeneratorParam<T>;
  template <typename T = void, int D = -1> using Buffer = calotype::Buffer<T, D>;
  template <typename T> using Input = GeneratorInput<T>;
  template <typename T> using Output = GeneratorOutput<T>;

  static Type Int(int bits, int lanes = 1) { return calotype::Int(bits, lanes); }
  static Type UInt(int bits, int lanes = 1) { return calotype::UInt(bits, lanes); }
  static Type Float(int bits, int lanes = 1) { return calotype::Float(bits, lanes); }
  static Type Bool(int lanes = 1) { return calotype::Bool(lanes); }
  static Expr cast(Type t, const Expr &e) { return calotype::cast(t, e); }
  template <typename T> static Expr cast(const Expr &e) { return calotype::cast<T>(e); }
  template <typename T> static Type type_of() { return calotype::type_of<T>(); }
};

namespace driver {
/// Members made in its life belong to this Generator; the previous one comes back at its end.
struct CALO_EXPORT ConstructionScope {
  explicit ConstructionScope(GeneratorBase *g = nullptr);
  ~ConstructionScope();
  ConstructionScope(const ConstructionScope &) = delete;

private:
  GeneratorBase *before_;
};

/// The values of one argument of apply(): one, or those of a vector.
template <typename T> std::vector<BoundInput> bound_inputs(const T &value) {
  if constexpr (std::is_base_of<PortArrayBase, T>::value) {
    std::vector<BoundInput> all;
    for (const auto &v : value) all.emplace_back(v);
    return all;
  } else {
    return {BoundInput(value)};
  }
}
template <typename T> std::vector<BoundInput> bound_inputs(const std::vector<T> &values) {
  return std::vector<BoundInput>(values.begin(), values.end());
}
}  // namespace driver

/// What a Generator is to those who run it.
class CALO_EXPORT GeneratorBase : public NamesInterface {
  // First, since members register themselves while they are constructed.
  std::vector<driver::ParamBase *> params_;
  struct Slot {
    driver::Port *port;
    driver::PortArrayBase *array;
  };
  std::vector<Slot> input_slots_, output_slots_;  // as declared
  std::vector<driver::Port *> inputs_, outputs_;  // arrays spread out
  std::vector<std::string> names_;                // of params, ports and arrays
  std::vector<std::shared_ptr<void>> owned_;
  driver::PortArrayBase *filling_ = nullptr;  // the array whose elements are being made
  std::string registered_name_, schedule_;
  bool built_ = false;

public:
  GeneratorBase();
  GeneratorBase(const GeneratorBase &) = delete;
  GeneratorBase &operator=(const GeneratorBase &) = delete;
  virtual ~GeneratorBase();

  GeneratorParam<Target> target;

  Target get_target() const { return target; }
  GeneratorContext context() const { return GeneratorContext(target); }
  /// There is none yet: a parameter autoscheduler=NAME is refused by L0901.
  bool using_autoscheduler() const { return false; }
  template <typename T> int natural_vector_size() const {
    return get_target().template natural_vector_size<T>();
  }
  int natural_vector_size(const Type &t) const { return get_target().natural_vector_size(t); }

  /// Sets a GeneratorParam, `input.type`, `input.dim` or `input.size` of a port that left them open, or
  /// `schedule`: a file, or a folder to choose from by target. Throws L0502 with the nearest names.
  void set_generator_param(const std::string &name, const std::string &value);
  /// Whether set_generator_param knows the name.
  bool has_generator_param(const std::string &name) const;
  /// Values of all parameters but `target`, ports left open included, as `when` lines compare them.
  std::vector<std::pair<std::string, std::string>> parameter_values() const;
  void set_generator_param_values(const std::vector<std::pair<std::string, std::string>> &values);
  /// Runs configure, generate and schedule; checks that outputs have the types they declare; loads the
  /// schedule that the parameter `schedule` names. Throws L0501, S0003, S0004.
  Pipeline build_pipeline();
  /// The parameter `schedule`, or empty.
  const std::string &schedule_path() const { return schedule_; }

  const std::vector<driver::ParamBase *> &generator_params() const { return params_; }
  const std::vector<driver::Port *> &inputs() const { return inputs_; }
  const std::vector<driver::Port *> &outputs() const { return outputs_; }
  void set_registered_name(const std::string &n) { registered_name_ = n; }
  const std::string &registered_name() const { return registered_name_; }

  /// For configure(): further inputs and outputs.
  template <typename T, typename... Args>
  GeneratorInput<T> *add_input(const driver::Named &name, const Args &...args) {
    return add<GeneratorInput<T>, std::is_array<T>::value>(name, args...);
  }
  template <typename T, typename... Args>
  GeneratorOutput<T> *add_output(const driver::Named &name, const Args &...args) {
    return add<GeneratorOutput<T>, std::is_array<T>::value>(name, args...);
  }

protected:
  virtual void call_configure() = 0;
  virtual void call_generate() = 0;
  virtual void call_schedule() = 0;

  /// Binds inputs, by position, and runs configure, generate and schedule.
  void apply_inputs(const std::vector<std::vector<driver::BoundInput>> &values);

private:
  friend class driver::ParamBase;
  friend class driver::Port;
  friend class driver::PortArrayBase;
  friend struct driver::ConstructionScope;
  template <typename P, bool IsArray, typename... Args>
  P *add(const driver::Named &name, const Args &...args) {
    const driver::ConstructionScope scope(this);
    std::shared_ptr<P> p;
    if constexpr (IsArray) {
      p = std::make_shared<P>(name, args...);
    } else {
      p = std::make_shared<P>(name.text, args..., name.at);
    }
    owned_.push_back(p);
    return p.get();
  }
  void claim(const std::string &name, SrcLoc at);
  void spread();
  void run_stages(const std::vector<std::vector<driver::BoundInput>> *values);
  void bind_slot(const Slot &slot, const std::vector<driver::BoundInput> &values);
  bool set_port_param(const Slot &slot, const std::string &name, const std::string &value);
  void check_output(const driver::Port &p) const;
};

namespace driver {
template <typename T, typename = void> struct HasConfigure : std::false_type {};
template <typename T>
struct HasConfigure<T, decltype(void(std::declval<T &>().configure()))> : std::true_type {};
template <typename T, typename = void> struct HasSchedule : std::false_type {};
template <typename T>
struct HasSchedule<T, decltype(void(std::declval<T &>().schedule()))> : std::true_type {};
}  // namespace driver

template <typename T> class Generator : public GeneratorBase {
public:
  static std::unique_ptr<T> create(const GeneratorContext &context) {
    const driver::ConstructionScope scope;
    std::unique_ptr<T> g(new T);
    g->target.set(context.target());
    return g;
  }
  static std::unique_ptr<T> create(const GeneratorContext &context, const std::string &name) {
    auto g = create(context);
    g->set_registered_name(name);
    return g;
  }

  /// From within generate(): another Generator for the same target, with its parameters still to be set.
  template <typename Other> std::unique_ptr<Other> create() const {
    return this->context().template create<Other>();
  }
  /// From within generate(): another Generator, run on these inputs.
  template <typename Other, typename... Args>
  std::unique_ptr<Other> apply(const Args &...args) const {
    return this->context().template apply<Other>(args...);
  }

  /// Runs the Generator on Funcs, images, Buffers, numbers, and vectors of them for arrays, in the order of
  /// its inputs. Its outputs are Funcs then: `Func f = g->output`.
  template <typename... Args> void apply(const Args &...args) {
    apply_inputs({driver::bound_inputs(args)...});
  }

protected:
  void call_configure() override {
    if constexpr (driver::HasConfigure<T>::value) static_cast<T *>(this)->configure();
  }
  void call_generate() override { static_cast<T *>(this)->generate(); }
  void call_schedule() override {
    if constexpr (driver::HasSchedule<T>::value) static_cast<T *>(this)->schedule();
  }
};

// ---- registry -----------------------------------------------------------------------------------

namespace driver {

using GeneratorFactory = std::unique_ptr<GeneratorBase> (*)(const GeneratorContext &);

/// Registers for as long as it lives: a plugin's entries go when it is closed.
class CALO_EXPORT GeneratorRegistration {
public:
  GeneratorRegistration(const char *name, GeneratorFactory factory, SrcLoc at = SrcLoc::here());
  GeneratorRegistration(const char *name, GeneratorFactory factory,
                        std::vector<std::pair<std::string, std::string>> preset,
                        SrcLoc at = SrcLoc::here());
  GeneratorRegistration(const GeneratorRegistration &) = delete;
  ~GeneratorRegistration();

private:
  const void *key_;
};

template <typename T>
std::unique_ptr<GeneratorBase> make_generator(const GeneratorContext &context) {
  return T::create(context);
}

/// Names in order of registration.
CALO_EXPORT std::vector<std::string> generator_names();
CALO_EXPORT std::unique_ptr<GeneratorBase> create_generator(const std::string &name,
                                                            const GeneratorContext &context);

}  // namespace driver

using GeneratorParamsMap = std::vector<std::pair<std::string, std::string>>;

}  // namespace calotype

/// Makes a Generator known by name; a third argument (the stub's class) is accepted and not used.
#define HALIDE_REGISTER_GENERATOR(CLASS, NAME, ...)                                   \
  static const ::calotype::driver::GeneratorRegistration calo_registration_of_##NAME( \
      #NAME, &::calotype::driver::make_generator<CLASS>);
/// The same Generator under another name, with parameters set: {{"radius", "2"}}.
#define HALIDE_REGISTER_GENERATOR_ALIAS(ALIAS, NAME, ...)                              \
  static const ::calotype::driver::GeneratorRegistration calo_registration_of_##ALIAS( \
      #ALIAS,                                                                          \
      [](const ::calotype::GeneratorContext &context) {                                \
        return ::calotype::driver::create_generator(#NAME, context);                   \
      },                                                                               \
      __VA_ARGS__);
