// The walker behind bounds_of_expr and the regions: variables with symbolic intervals, outermost first.
//
// A variable in which the expression is monotone is replaced by the end of its interval that gives the wanted extreme:
// exact, and correlations between its occurrences are kept. What is left goes by interval arithmetic.
#pragma once

#include <memory>
#include <unordered_map>

#include "bounds.h"
#include "const_ranges.h"
#include "func_values.h"
#include "simplify.h"

namespace calotype::analysis {

class Bounder {
public:
  struct Variable {
    ir::Name name;  ///< occurs in no interval but those of variables after this one
    Interval range;
  };

  /// `values`: what is known of the Funcs that expressions call, or null.
  explicit Bounder(const FuncValues *values = nullptr);
  ~Bounder();
  void push(ir::Name n, Interval range);
  void pop();
  /// Replaces the range of an existing variable until the old one is put back.
  Interval exchange(size_t index, Interval range);
  const std::vector<Variable> &variables() const { return variables_; }
  /// Where `n` is in variables(), or -1.
  int find(ir::Name n) const;

  /// Over all lanes of e, free of the variables.
  Interval of(const Expr &e);
  /// The same for a scalar of any type; maybe_nan is set if it may be NaN.
  Interval value(const Expr &e, bool *maybe_nan);

private:
  Expr scalar_form(const Expr &e, const Expr &lane, int copies);
  Interval range(const Expr &e);  ///< e: simplified, scalar
  Interval compute(const Expr &e);
  Interval structural(const Expr &e);
  Interval of_sum(const Expr &e);
  Interval of_product(const Expr &a, const Expr &b);
  Interval of_quotient(const Expr &a, const Expr &b);
  Interval of_remainder(const Expr &a, const Expr &b);
  Interval of_cast(const ir::Cast *op);
  Interval of_call(const ir::Call *op);
  Interval of_choice(const Expr &condition, const Expr &t, const Expr &f);
  Interval of_float(const Expr &e, bool *maybe_nan);
  Interval of_float_product(const Expr &a, const Expr &b, const Expr &c, Expr (*join)(Expr, Expr),
                            bool *maybe_nan);
  Interval by_type(const Expr &e);
  bool depends(const Expr &e);
  bool eliminate(const Expr &e, bool upper, Expr *result);
  Expr tidy(const Expr &e);
  ConstInterval const_range(const Expr &e) { return const_bounds(e, facts_.ranges); }
  void changed();

  const FuncValues *values_;
  std::vector<Variable> variables_;
  Facts facts_;                                   ///< constant ranges of the variables
  std::unique_ptr<class Simplifier> simplifier_;  ///< under facts_, until they change
  std::unordered_map<const ir::IRNode *, Interval> memo_, whole_;
  std::unordered_map<const ir::IRNode *, bool> depends_;
  std::vector<Expr> keep_;
  int choices_ = 0;  ///< depth of conditions under which ranges are narrowed
};

}  // namespace calotype::analysis
