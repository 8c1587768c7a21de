// Internal to transform: evaluating Exprs of a plan over other kinds of numbers. Funcs, images and parameters are
// fixed random functions of their names and coordinates.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "../ir/nodes.h"

namespace calotype::transform {

/// An integer (or bool), a real number, or a field element: p its value, exp of it is w^q * g.
struct CheckValue {
  int64_t i = 0;
  double d = 0;
  uint64_t p = 0, q = 0, g = 1;
  int infinite = 0;  ///< -1, 1: an infinity in the field
};

inline uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 32);
}

class CheckEvaluator {
public:
  explicit CheckEvaluator(uint64_t seed) : seed_(seed) {}
  virtual ~CheckEvaluator();
  std::unordered_map<ir::Name, CheckValue> vars;
  std::unordered_set<ir::Name> loop_vars;
  int point = 0;  ///< number of the domain's point, for masks

  CheckValue of(const Expr &e);
  bool truth(const Expr &e) { return of(e).i != 0; }

  virtual CheckValue constant(Type t, double v) = 0;
  virtual CheckValue random(Type t, uint64_t h, bool positive) = 0;
  virtual CheckValue binary(ir::NodeKind op, Type t, const CheckValue &a, const CheckValue &b) = 0;
  virtual bool less(const CheckValue &a, const CheckValue &b) = 0;
  virtual bool same(const CheckValue &a, const CheckValue &b) = 0;
  virtual CheckValue call(const ir::Call *op, const std::vector<CheckValue> &args) = 0;
  virtual CheckValue cast(Type to, Type from, const CheckValue &v) = 0;
  /// What a comparison of integers that depends on the loop gives.
  virtual bool mask(uint64_t h) = 0;

protected:
  uint64_t seed_;

private:
  CheckValue compute(const Expr &e);
  CheckValue variable(const ir::Variable *v);
  CheckValue access(const ir::Call *op);
  CheckValue compare(ir::NodeKind kind, const Expr &a, const Expr &b);
  bool in_loop(const Expr &e);
  std::unordered_map<const ir::IRNode *, bool> in_loop_;
  std::vector<Expr> keep_;
};

class FieldEvaluator : public CheckEvaluator {
public:
  using CheckEvaluator::CheckEvaluator;
  CheckValue constant(Type t, double v) override;
  CheckValue random(Type t, uint64_t h, bool positive) override;
  CheckValue binary(ir::NodeKind op, Type t, const CheckValue &a, const CheckValue &b) override;
  bool less(const CheckValue &a, const CheckValue &b) override;
  bool same(const CheckValue &a, const CheckValue &b) override;
  CheckValue call(const ir::Call *op, const std::vector<CheckValue> &args) override;
  CheckValue cast(Type to, Type from, const CheckValue &v) override;
  bool mask(uint64_t h) override { return mix(h, seed_) & 1; }
};

/// Which points of a row are valid.
enum class Masks { All, None, NotFirst, OnlyFirst, NotLast, OnlyLastPoint, Random, kCount };

class RealEvaluator : public CheckEvaluator {
public:
  RealEvaluator(uint64_t seed, bool wide, double size, Masks masks, int points, int block)
      : CheckEvaluator(seed),
        wide_(wide),
        size_(size),
        masks_(masks),
        points_(points),
        block_(block) {}
  CheckValue constant(Type t, double v) override;
  CheckValue random(Type t, uint64_t h, bool positive) override;
  CheckValue binary(ir::NodeKind op, Type t, const CheckValue &a, const CheckValue &b) override;
  bool less(const CheckValue &a, const CheckValue &b) override { return a.d < b.d; }
  bool same(const CheckValue &a, const CheckValue &b) override { return a.d == b.d; }
  CheckValue call(const ir::Call *op, const std::vector<CheckValue> &args) override;
  CheckValue cast(Type to, Type from, const CheckValue &v) override;
  bool mask(uint64_t h) override;

private:
  CheckValue rounded(Type t, double v);
  bool wide_;  ///< compute everything in double
  double size_;
  Masks masks_;
  int points_, block_;
};

}  // namespace calotype::transform
