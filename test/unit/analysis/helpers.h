// Short ways to write IR in the analysis tests, and random index expressions with their values.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/nodes.h"
#include "ir/visit.h"

namespace analysis_test {

using calotype::Bool;
using calotype::Expr;
using calotype::Int;
using calotype::Type;
using calotype::UInt;
namespace ir = calotype::ir;

inline Expr var(const char *name, Type t = Int(32)) { return ir::make_var(ir::Name(name), t); }
inline Expr num(int64_t v, Type t = Int(32)) { return ir::make_int(t, v); }

// Thin wrappers, so that `x * 2 + 1` reads as such without the language layer.
struct E {
  Expr e;
  E(Expr x) : e(std::move(x)) {}
  E(int v) : e(num(v)) {}
  operator Expr() const { return e; }
};
inline E operator+(const E &a, const E &b) { return ir::make_add(a.e, b.e); }
inline E operator-(const E &a, const E &b) { return ir::make_sub(a.e, b.e); }
inline E operator*(const E &a, const E &b) { return ir::make_mul(a.e, b.e); }
inline E operator/(const E &a, const E &b) { return ir::make_div(a.e, b.e); }
inline E operator%(const E &a, const E &b) { return ir::make_mod(a.e, b.e); }
inline E operator<(const E &a, const E &b) { return ir::make_lt(a.e, b.e); }
inline E operator<=(const E &a, const E &b) { return ir::make_le(a.e, b.e); }
inline E operator>(const E &a, const E &b) { return ir::make_gt(a.e, b.e); }
inline E operator>=(const E &a, const E &b) { return ir::make_ge(a.e, b.e); }
inline E operator==(const E &a, const E &b) { return ir::make_eq(a.e, b.e); }
inline E operator!=(const E &a, const E &b) { return ir::make_ne(a.e, b.e); }
inline E operator&&(const E &a, const E &b) { return ir::make_and(a.e, b.e); }
inline E operator||(const E &a, const E &b) { return ir::make_or(a.e, b.e); }
inline E operator!(const E &a) { return ir::make_not(a.e); }
inline E min(const E &a, const E &b) { return ir::make_min(a.e, b.e); }
inline E max(const E &a, const E &b) { return ir::make_max(a.e, b.e); }
inline E clamp(const E &x, const E &lo, const E &hi) { return max(min(x, hi), lo); }
inline E select(const E &c, const E &a, const E &b) { return ir::make_select(c.e, a.e, b.e); }
inline E ramp(const E &b, const E &s, int n) { return ir::make_ramp(b.e, s.e, n); }
inline E broadcast(const E &v, int n) { return ir::make_broadcast(v.e, n); }

using Env = std::map<std::string, int64_t>;
/// Lanes of an integer or boolean expression, computed in 64 bits: no wrapping, as the analyses assume of indices.
std::vector<int64_t> lanes_of(const Expr &e, Env env);
inline int64_t value_of(const Expr &e, const Env &env) { return lanes_of(e, env)[0]; }
/// Whether an Int(32) operation inside `e` leaves its type.
bool overflows(const Expr &e, const Env &env);
/// Compact text for failure messages.
std::string text(const Expr &e);

/// Random index expressions over x, y, z.
class Generator {
public:
  /// data: the leaves are scalar parameters, which may have any value, instead of indices.
  explicit Generator(uint32_t seed, bool data = false) : rng_(seed), data_(data) {}
  Expr index(int depth, int lanes = 1);
  Expr condition(int depth, int lanes = 1);
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng_); }
  Env env(int lo, int hi) {
    return {{"x", pick(lo, hi)}, {"y", pick(lo, hi)}, {"z", pick(lo, hi)}};
  }

private:
  std::mt19937 rng_;
  bool data_;
};

}  // namespace analysis_test
