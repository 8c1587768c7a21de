// Inputs and outputs of Generators: named members whose type and rank may be left open until the Generator runs.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../lang/func.h"
#include "../lang/param.h"
#include "../lang/prelude.h"
#include "generator_params.h"

namespace calotype {

namespace driver {

/// The Generator whose members are being constructed on this thread. Throws L0501 if there is none.
GeneratorBase &owner_of(const std::string &member);

/// The name of a member with the line that declares it.
struct CALO_EXPORT Named {
  std::string text;
  SrcLoc at;
  Named(const char *name, SrcLoc where = SrcLoc::here()) : text(name), at(where) {}
  Named(const std::string &name, SrcLoc where = SrcLoc::here()) : text(name), at(where) {}
};

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
  /// What is set so far was asked for from outside: configure() cannot change it.
  void keep_given();
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
  bool given_ = false;  ///< from outside, not declared
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
  void keep_given();  ///< as Port's, for elements to come too
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
  bool given_ = false;
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

}  // namespace calotype
