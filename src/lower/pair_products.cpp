// Sums of products of narrow integers, two steps at once. Copies of an unrolled reduction loop add one product after
// another to one element:
//
//   f[i] = f[i] + i32(a0) * i32(b0);  f[i] = f[i] + i32(a1) * i32(b1)
//   -->  f[i] = f[i] + the sum of neighbours of i32(a0 a1 a0 a1 ...) * i32(b0 b1 ...), lanes interleaved
//
// which is one instruction of x86 for int16 (codegen/dot_product.cpp). Integers: any order gives the same bits.
// Tests: test/unit/lower/dot_product_test.cpp.
#include "../analysis/linear.h"
#include "../ir/equal.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

// A factor as int16, if it is a widening of what fits one; scalar if all lanes agree.
Expr as_int16(Expr e) {
  if (const Broadcast *b = e.as<Broadcast>()) e = b->value;
  const Cast *cast = e.as<Cast>();
  if (!cast) return {};
  Expr narrow = cast->value;
  if (const Broadcast *b = narrow.as<Broadcast>()) narrow = b->value;
  const Type from = narrow.type();
  const bool fits = (from.is_int() && from.bits() <= 16) || (from.is_uint() && from.bits() <= 8);
  if (!fits) return {};
  return make_cast(Int(16, from.lanes()), narrow);
}

// a's and b's lanes in turn; scalars stand for `lanes` of them.
Expr interleaved(const Expr &a, const Expr &b, int lanes) {
  std::vector<int> picks;
  const bool scalars = a.type().is_scalar();
  for (int i = 0; i < lanes; i++) {
    picks.push_back(scalars ? 0 : i);
    picks.push_back(scalars ? 1 : lanes + i);
  }
  // Neighbours in memory are one access.
  const Load *x = a.as<Load>(), *y = b.as<Load>();
  int64_t step = 0;
  if (scalars && x && y && x->name == y->name && is_const_one(x->predicate) &&
      is_const_one(y->predicate) && analysis::constant_difference(y->index, x->index, &step) &&
      step == 1) {
    const Expr both = make_ramp(x->index, make_int(x->index.type(), 1), 2);
    return make_shuffle({make_load(x->type, x->name, both, {}, x->param)}, picks);
  }
  return make_shuffle({a, b}, picks);
}

/// name[index] = name[index] + a * b, in lanes of 32-bit integers.
struct Step {
  const Store *store = nullptr;
  Expr a, b;  ///< as int16
  Stmt keep;

  static Step of(Stmt s) {
    Substitution lets;
    while (const LetStmt *let = s.as<LetStmt>()) {
      lets[let->name] = substitute(lets, let->value);
      s = let->body;
    }
    if (!s.as<Store>()) return {};
    Step step;
    step.keep = lets.empty() ? s : substitute(lets, s);
    const Store *store = step.keep.as<Store>();
    const Type t = store->value.type();
    const Add *sum = store->value.as<Add>();
    if (!sum || t.lanes() < 4 || t.lanes() % 4 != 0 || t.bits() != 32 || !t.is_int_or_uint() ||
        (store->predicate.defined() && !is_const_one(store->predicate)))
      return {};
    const bool first = is_element(sum->a, store);
    if (!first && !is_element(sum->b, store)) return {};
    const Mul *product = (first ? sum->b : sum->a).as<Mul>();
    if (!product) return {};
    step.a = as_int16(product->a);
    step.b = as_int16(product->b);
    bool again = false;
    for_each_expr(Expr(product), [&](const Expr &e) {
      const Load *load = e.as<Load>();
      again |= (load && load->name == store->name) || !is_pure(e);
    });
    if (!step.a.defined() || !step.b.defined() || again) return {};
    step.store = store;
    return step;
  }

  /// Undefined if the two do not belong together.
  static Stmt pair(const Step &p, const Step &q) {
    if (!p.store || !q.store || p.store->name != q.store->name ||
        !equal(p.store->index, q.store->index) || p.store->value.type() != q.store->value.type())
      return {};
    const Type t = p.store->value.type();
    if (p.a.type() != q.a.type() || p.b.type() != q.b.type()) return {};
    const Type wide = t.with_lanes(2 * t.lanes());
    const Expr a = make_cast(wide, interleaved(p.a, q.a, t.lanes())),
               b = make_cast(wide, interleaved(p.b, q.b, t.lanes()));
    const Expr sum = make_vector_reduce(ReduceOp::Add, make_mul(a, b), t.lanes());
    const Expr old = make_load(t.element_of(), p.store->name, p.store->index, {}, p.store->param);
    return make_store(p.store->name, make_add(old, sum), p.store->index, {}, p.store->param);
  }

private:
  static bool is_element(const Expr &e, const Store *store) {
    const Load *load = e.as<Load>();
    return load && load->name == store->name && equal(load->index, store->index) &&
           is_const_one(load->predicate);
  }
};

class Pairer final : public IRMutator {
public:
  using IRMutator::visit;
  Expr mutate(const Expr &e) override { return e; }
  Stmt mutate(const Stmt &s) override { return IRMutator::mutate(s); }

  Stmt visit(const Block *op) override {
    std::vector<Stmt> all;
    flatten(op, all);
    std::vector<Stmt> result;
    bool changed = false;
    for (size_t i = 0; i < all.size(); i++) {
      if (i + 1 < all.size()) {
        const Step first = Step::of(all[i]);
        const Stmt both = first.store ? Step::pair(first, Step::of(all[i + 1])) : Stmt();
        if (both.defined()) {
          result.push_back(both);
          changed = true;
          i++;
          continue;
        }
      }
      result.push_back(mutate(all[i]));
      changed |= !result.back().same_as(all[i]);
    }
    return changed ? make_block(result) : Stmt(op);
  }

private:
  static void flatten(const Stmt &s, std::vector<Stmt> &all) {
    Stmt at = s;
    while (const Block *block = at.as<Block>()) {
      flatten(block->first, all);
      at = block->rest;
    }
    if (at.defined()) all.push_back(at);
  }
};

}  // namespace

Stmt pair_products(const Stmt &s, PassContext &cx) {
  return cx.target.arch == Target::X86 ? Pairer().mutate(s) : s;
}

}  // namespace calotype::lower
