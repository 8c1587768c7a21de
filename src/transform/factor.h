// The symbolic normaliser behind online(): an expression over loop values (K) and reduced values (R) as a sum of
// products of powers and exponentials, so that the two kinds come apart where they can.
//
// Maximal subexpressions of one kind stay whole, as atoms; only what mixes the kinds is taken apart. What mixes them
// and cannot be taken apart is thrown as Stuck.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../ir/nodes.h"

namespace calotype::transform {

enum class Side : uint8_t { None = 0, K = 1, R = 2, Both = 3 };
inline Side operator|(Side a, Side b) {
  return static_cast<Side>(static_cast<int>(a) | static_cast<int>(b));
}

/// Which kinds an expression depends on.
class Sides {
public:
  std::unordered_set<ir::Name> k, r;
  Side of(const Expr &e);

private:
  std::unordered_map<const ir::IRNode *, Side> memo_;
  std::vector<Expr> keep_;
};

struct Monomial;
using Polynomial = std::vector<Monomial>;

struct Power {
  Expr base;
  double exponent = 1;
};
/// base^exponent; base 0 stands for e.
struct Exponential {
  double base = 0;
  Polynomial exponent;
  Expr argument;  ///< the exponent as it was written
};
/// coefficient * powers * exponentials where all conditions hold, else 0.
struct Monomial {
  double coefficient = 1;
  std::vector<Power> powers;
  std::vector<Expr> conditions;
  std::vector<Exponential> exponentials;
};

/// What stopped the factoring: a code of codes.def and the subexpression.
struct Stuck {
  const char *code;
  Expr at;
};

class Factoring {
public:
  explicit Factoring(Sides &sides) : sides_(sides) {}
  Polynomial run(const Expr &e);
  Side side(const Monomial &m);

  static Polynomial multiply(const Polynomial &a, const Polynomial &b);
  static Polynomial add(Polynomial a, const Polynomial &b, double factor = 1);
  static int compare(const Monomial &a, const Monomial &b);  ///< but for the coefficient
  static bool equal(const Polynomial &a, const Polynomial &b);

private:
  Polynomial take_apart(const Expr &e);
  Polynomial call(const ir::Call *op, const Expr &e);
  Polynomial power(const Expr &base, double exponent, const Expr &e);
  Polynomial exponential(double base, const Expr &argument, const Expr &e);
  Polynomial logarithm(const Expr &e, const Expr &argument);
  Polynomial choice(const Expr &condition, const Polynomial &t, const Polynomial &f);
  Sides &sides_;
  bool in_exponent_ = false;
};

/// fma as a sum of a product, lets put in, hints dropped: only where K and R mix.
Expr plain_form(const Expr &e, Sides &sides);
/// The value as an Expr of float type t.
Expr emit(const Monomial &m, Type t);
Expr emit(const Polynomial &p, Type t);
Expr emit_power(const Expr &base, double exponent, Type t);
Expr emit_exp(double base, const Expr &exponent);
Expr convert(const Expr &e, Type t);       ///< cast; folds constants
Expr times(const Expr &a, const Expr &b);  ///< a * b; undefined or the constant 1 vanish
Expr plus(const Expr &a, const Expr &b);   ///< undefined or the constant 0 vanish
/// The literal's value, through casts and broadcasts.
bool literal(const Expr &e, double *value);
/// Negation of a condition.
Expr opposite(const Expr &condition);

}  // namespace calotype::transform
