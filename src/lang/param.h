// Param and ImageParam: what a pipeline takes from outside; the constraints and estimates of buffers.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "../ir/parameter.h"
#include "buffer.h"
#include "expr.h"
#include "var.h"

namespace calotype {

class Func;

namespace lang {

CALO_EXPORT Ref<ir::Parameter> make_scalar_parameter(Type t, const std::string &name, SrcLoc at);
CALO_EXPORT Expr parameter_expr(const Ref<ir::Parameter> &p);
CALO_EXPORT void set_parameter_bits(ir::Parameter &p, Type given, uint64_t bits, SrcLoc at);

template <typename T> uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

/// One dimension of an image parameter or output: its size as Exprs, its constraints and estimates.
class CALO_EXPORT Dimension {
public:
  Expr min() const;
  Expr extent() const;
  Expr max() const;
  Expr stride() const;
  Expr min_estimate() const;
  Expr extent_estimate() const;
  Dimension set_min(const Expr &e);
  Dimension set_extent(const Expr &e);
  Dimension set_stride(const Expr &e);
  Dimension set_bounds(const Expr &min, const Expr &extent);
  Dimension set_estimate(const Expr &min, const Expr &extent);
  Dimension set_bounds_estimate(const Expr &min, const Expr &extent) {
    return set_estimate(min, extent);
  }
  Dimension dim(int i) const;

private:
  friend class calotype::OutputImageParam;
  Dimension(Ref<ir::Parameter> p, int d) : param_(std::move(p)), d_(d) {}
  Ref<ir::Parameter> param_;
  int d_;
};

}  // namespace lang

/// A scalar that is set between runs.
template <typename T = void> class Param {
public:
  Param(SrcLoc at = SrcLoc::here()) : Param(std::string(), at) {}
  explicit Param(const std::string &name, SrcLoc at = SrcLoc::here())
      : param_(lang::make_scalar_parameter(type_of<T>(), name, at)) {}
  explicit Param(const char *name, SrcLoc at = SrcLoc::here()) : Param(std::string(name), at) {}
  explicit Param(T value, SrcLoc at = SrcLoc::here()) : Param(std::string(), value, at) {}
  Param(const std::string &name, T value, SrcLoc at = SrcLoc::here()) : Param(name, at) {
    set(value);
  }
  Param(T value, const Expr &min, const Expr &max, SrcLoc at = SrcLoc::here())
      : Param(std::string(), value, min, max, at) {}
  Param(const std::string &name, T value, const Expr &min, const Expr &max,
        SrcLoc at = SrcLoc::here())
      : Param(name, value, at) {
    set_range(min, max);
  }

  const std::string &name() const { return param_->name; }
  Type type() const { return param_->type; }
  bool defined() const { return param_.defined(); }
  /// Throws L0104 if a number of another type doesn't fit.
  template <typename U> void set(const U &value, SrcLoc at = SrcLoc::here()) {
    const T v = static_cast<T>(value);
    if (static_cast<U>(v) != value && value == value) refuse(at);
    lang::set_parameter_bits(*param_, type(), lang::bits_of(v), at);
  }
  T get() const {
    T value{};
    std::memcpy(&value, &param_->bits, sizeof(T));
    return value;
  }
  void set_range(const Expr &min, const Expr &max) {
    set_min_value(min);
    set_max_value(max);
  }
  void set_min_value(const Expr &e) { param_->min_value = e.defined() ? cast(type(), e) : e; }
  void set_max_value(const Expr &e) { param_->max_value = e.defined() ? cast(type(), e) : e; }
  Expr min_value() const { return param_->min_value; }
  Expr max_value() const { return param_->max_value; }
  template <typename U> void set_estimate(const U &value) {
    param_->estimate = cast(type(), Expr(value));
  }
  const Ref<ir::Parameter> &parameter() const { return param_; }
  operator Expr() const { return lang::parameter_expr(param_); }

private:
  void refuse(SrcLoc at) const { lang::set_parameter_bits(*param_, Type(), 0, at); }
  Ref<ir::Parameter> param_;
};

/// A scalar whose type is chosen when the program runs.
template <> class Param<void> {
public:
  explicit Param(Type t, const std::string &name = {}, SrcLoc at = SrcLoc::here())
      : param_(lang::make_scalar_parameter(t, name, at)) {}
  const std::string &name() const { return param_->name; }
  Type type() const { return param_->type; }
  template <typename U> void set(const U &value, SrcLoc at = SrcLoc::here()) {
    lang::set_parameter_bits(*param_, type_of<U>(), lang::bits_of(value), at);
  }
  const Ref<ir::Parameter> &parameter() const { return param_; }
  operator Expr() const { return lang::parameter_expr(param_); }

private:
  Ref<ir::Parameter> param_;
};

/// A buffer of a pipeline seen from outside: an output, or (ImageParam) an input.
class CALO_EXPORT OutputImageParam {
public:
  OutputImageParam() = default;
  explicit OutputImageParam(Ref<ir::Parameter> p) : param_(std::move(p)) {}
  const std::string &name() const;
  Type type() const;
  int dimensions() const;
  bool defined() const { return param_.defined(); }
  /// Throws L0105 if out of range.
  lang::Dimension dim(int i) const;
  Expr width() const { return dim(0).extent(); }
  Expr height() const { return dim(1).extent(); }
  Expr channels() const { return dim(2).extent(); }
  Expr left() const { return dim(0).min(); }
  Expr right() const { return dim(0).max(); }
  Expr top() const { return dim(1).min(); }
  Expr bottom() const { return dim(1).max(); }
  int host_alignment() const;
  OutputImageParam &set_host_alignment(int bytes);
  OutputImageParam &set_estimates(const Region &estimates);
  const Ref<ir::Parameter> &parameter() const { return param_; }

protected:
  Ref<ir::Parameter> param_;
};

/// An input buffer that is bound between runs.
class CALO_EXPORT ImageParam : public OutputImageParam {
public:
  ImageParam() = default;
  ImageParam(Type t, int dimensions, SrcLoc at = SrcLoc::here())
      : ImageParam(t, dimensions, std::string(), at) {}
  ImageParam(Type t, int dimensions, const std::string &name, SrcLoc at = SrcLoc::here());
  explicit ImageParam(Ref<ir::Parameter> p) : OutputImageParam(std::move(p)) {}

  /// Throws L0403 if type or rank differ.
  template <typename T, int D> void set(const Buffer<T, D> &b, SrcLoc at = SrcLoc::here()) {
    bind(b.contents(), at);
  }
  Buffer<void, -1> get() const;
  void reset();

  template <typename... Rest>
  Expr operator()(const lang::Coordinate &first, const Rest &...rest) const {
    const lang::Coordinate all[] = {first, lang::Coordinate(rest, first.loc)...};
    return load(all, 1 + sizeof...(rest), first.loc);
  }
  Expr operator()(const std::vector<Expr> &coords, SrcLoc at = SrcLoc::here()) const;
  Expr operator()(const std::vector<Var> &coords, SrcLoc at = SrcLoc::here()) const;
  Expr operator()(SrcLoc at = SrcLoc::here()) const { return load(nullptr, 0, at); }
  /// A Func of the same values.
  operator Func() const;
  /// A Func that holds a copy of the pixels for its readers, or for these: to be scheduled.
  Func in(SrcLoc at = SrcLoc::here()) const;
  Func in(const Func &consumer, SrcLoc at = SrcLoc::here()) const;
  Func in(const std::vector<Func> &consumers, SrcLoc at = SrcLoc::here()) const;
  /// Refused by L0901.
  void trace_loads(SrcLoc at = SrcLoc::here()) const;

private:
  Expr load(const lang::Coordinate *coords, size_t n, SrcLoc at) const;
  void bind(const Ref<RefCounted> &contents, SrcLoc at);
};

}  // namespace calotype
