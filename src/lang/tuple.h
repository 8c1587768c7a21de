// Tuple: several values of one Func at one point.
#pragma once

#include <vector>

#include "expr.h"

namespace calotype {

class CALO_EXPORT Tuple {
public:
  explicit Tuple(const Expr &e) : exprs_{e} {}
  /// Throws L0208 if empty.
  explicit Tuple(const std::vector<Expr> &e);
  /// All values of a Func at this point.
  Tuple(const FuncRef &f);
  template <typename... Rest>
  Tuple(const Expr &a, const Expr &b, const Rest &...rest) : exprs_{a, b, Expr(rest)...} {}

  size_t size() const { return exprs_.size(); }
  /// Throws L0212 if out of range.
  Expr &operator[](size_t i);
  const Expr &operator[](size_t i) const;
  const std::vector<Expr> &as_vector() const { return exprs_; }

private:
  std::vector<Expr> exprs_;
};

template <typename... Rest>
Tuple select(const Expr &c0, const Tuple &v0, const Expr &c1, const Tuple &v1,
             const Rest &...rest) {
  return select(c0, v0, Tuple(select(c1, v1, rest...)));
}

}  // namespace calotype
