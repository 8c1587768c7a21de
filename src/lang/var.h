// Var: the name of a dimension. Two Vars are the same if their names are equal.
#pragma once

#include <string>

#include "expr.h"

namespace calotype {

class Var;
namespace lang {
/// The Var that a Variable node is.
CALO_EXPORT Var var_of(const Expr &variable);
}  // namespace lang

/// A dimension of a Func, or a loop over it. Usable as an Expr of type int32.
class CALO_EXPORT Var {
public:
  /// A Var unlike all others; printed as v0, v1 ...
  Var();
  /// Throws L0214 for an empty name or one that starts with the reserved character '$'.
  Var(const std::string &name, SrcLoc at = SrcLoc::here());
  Var(const char *name, SrcLoc at = SrcLoc::here()) : Var(std::string(name), at) {}
  const std::string &name() const;
  bool same_as(const Var &o) const { return name() == o.name(); }
  operator const Expr &() const { return expr_; }

  /// _0, _1 ...: the dimensions that `_` stands for.
  static Var implicit(int n);
  static bool is_implicit(const std::string &name);
  static bool is_implicit_placeholder(const std::string &name) { return name == "_"; }
  bool is_implicit() const { return is_implicit(name()); }
  static bool is_placeholder(const std::string &name) { return name == "_"; }
  bool is_placeholder() const { return name() == "_"; }
  /// The place around all loops of a stage, for compute_at.
  static Var outermost();

private:
  friend Var lang::var_of(const Expr &variable);
  Expr expr_;
};

/// All remaining dimensions: f(x, _) = g(x, _) * 2.
CALO_EXPORT extern const Var _;
CALO_EXPORT extern const Var _0, _1, _2, _3, _4, _5, _6, _7, _8, _9;

namespace lang {

/// One argument of a call f(x, y - 1, r.x): an expression and where it was written.
struct CALO_EXPORT Coordinate {
  Expr expr;
  SrcLoc loc;
  template <typename T, typename std::enable_if<std::is_convertible<const T &, Expr>::value &&
                                                    !std::is_arithmetic<T>::value,
                                                int>::type = 0>
  Coordinate(const T &e, SrcLoc at = SrcLoc::here()) : expr(e), loc(at) {}
  template <typename T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
  Coordinate(T e, SrcLoc at = SrcLoc::here()) : expr(static_cast<int32_t>(e)), loc(at) {}
  /// Things that stand for a whole number, as GeneratorParam<int> does.
  template <typename T, typename std::enable_if<!std::is_convertible<const T &, Expr>::value &&
                                                    std::is_convertible<const T &, int>::value &&
                                                    std::is_class<T>::value,
                                                int>::type = 0>
  Coordinate(const T &e, SrcLoc at = SrcLoc::here(), long = 0)
      : expr(static_cast<int32_t>(e)), loc(at) {}
  /// Refused where it is used, with a message of its own.
  template <typename T, typename std::enable_if<std::is_floating_point<T>::value, int>::type = 0>
  Coordinate(T e, SrcLoc at = SrcLoc::here(), int = 0) : expr(static_cast<float>(e)), loc(at) {}
};

}  // namespace lang
}  // namespace calotype
