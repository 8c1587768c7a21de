// Lanes of updates (combine_lanes.h). Tests: test/unit/lower/atomic_test.cpp.
#include "combine_lanes.h"

#include <algorithm>

#include "../ir/equal.h"
#include "../ir/visit.h"
#include "../schedule/associative.h"

namespace calotype::lower {

using namespace ir;
using schedule::Combine;
using schedule::Reduction;

namespace {

constexpr int kMostTurns = 64;  ///< lanes that take turns: each is code of its own

bool reduce_op(Combine op, Type t, ReduceOp *out) {
  if (t.is_float()) return false;  // VectorReduce adds floats from the first lane to the last
  switch (op) {
    case Combine::Add: *out = ReduceOp::Add; return true;
    case Combine::Mul: *out = ReduceOp::Mul; return true;
    case Combine::Min: *out = ReduceOp::Min; return true;
    case Combine::Max: *out = ReduceOp::Max; return true;
    case Combine::And: *out = ReduceOp::And; return t.is_bool();
    case Combine::Or: *out = ReduceOp::Or; return t.is_bool();
    case Combine::SaturatingAdd: *out = ReduceOp::SaturatingAdd; return true;
    default: return false;
  }
}

std::vector<int> picks(int first, int step, int count) {
  std::vector<int> p(static_cast<size_t>(count));
  for (int i = 0; i < count; i++) p[static_cast<size_t>(i)] = first + i * step;
  return p;
}

// What an Atomic holds: stores, and lets around them put into their values.
struct Update {
  std::vector<const Store *> stores;
  std::vector<Expr> values;
  std::vector<Stmt> keep;

  bool collect(const Stmt &s, const Substitution &lets) {
    if (const LetStmt *let = s.as<LetStmt>()) {
      Substitution inner = lets;
      inner[let->name] = substitute(lets, let->value);
      return collect(let->body, inner);
    }
    if (const Block *block = s.as<Block>())
      return collect(block->first, lets) && collect(block->rest, lets);
    if (const Atomic *atomic = s.as<Atomic>()) return collect(atomic->body, lets);
    if (is_no_op(s)) return true;
    const Store *store = s.as<Store>();
    if (!store) return false;
    if (lets.empty()) {
      stores.push_back(store);
    } else {  // coordinates are lets too
      keep.push_back(make_store(store->name, substitute(lets, store->value),
                                substitute(lets, store->index), substitute(lets, store->predicate),
                                store->param));
      stores.push_back(keep.back().as<Store>());
    }
    values.push_back(stores.back()->value);
    return true;
  }
};

class LaneCombiner {
public:
  LaneCombiner(const Atomic *op, const LaneContext &lc)
      : op_(op), lc_(lc), func_(*lc.cx.program.find(op->name)) {}

  Stmt run() {
    if (!update_.collect(op_->body, {})) return {};
    if (update_.stores.empty()) return make_no_op();
    proof_ = schedule::prove_reduction(func_, op_->stage);
    if (!proof_.proved) return {};
    bool one_place = true;
    for (const Store *s : update_.stores) {
      if (s->predicate.defined() && !is_const_one(s->predicate)) return {};
      indices_.push_back(lc_.vector_of(s->index));
      one_place = one_place && indices_.back().type().is_scalar();
    }
    if (!one_place) return lc_.lanes <= kMostTurns ? in_turns() : Stmt();
    return proof_.ops[0] == Combine::None ? together() : one_by_one();
  }

private:
  // ---- one element ---------------------------------------------------------------------------------
  int element_of(const Store *s) const {
    for (size_t i = 0; i < func_.types.size(); i++) {
      if (s->name == func_.name + "." + std::to_string(i)) return static_cast<int>(i);
    }
    return 0;
  }
  static bool is_old(const Expr &e, const Store *s) {
    const Load *load = e.as<Load>();
    return load && load->name == s->name && equal(load->index, s->index);
  }
  // What the lanes add to the old values: those are the identity.
  Expr contribution(size_t k) const {
    const Expr scalar = replace(update_.values[k], [&](const Expr &x) -> Expr {
      for (const Store *s : update_.stores) {
        if (is_old(x, s)) return proof_.identity[static_cast<size_t>(element_of(s))];
      }
      return {};
    });
    Expr v = lc_.vector_of(scalar);
    if (v.type().is_scalar()) v = make_broadcast(v, lc_.lanes);
    if (!lc_.mask.defined()) return v;
    const Expr nothing = proof_.identity[static_cast<size_t>(element_of(update_.stores[k]))];
    return make_select(lc_.mask, v, make_broadcast(nothing, lc_.lanes));
  }
  Expr old_value(size_t k) const {
    const Store *s = update_.stores[k];
    return make_load(s->value.type(), s->name, indices_[k], {}, s->param);
  }
  Stmt store(size_t k, const Expr &value) const {
    const Store *s = update_.stores[k];
    return make_store(s->name, value, indices_[k], {}, s->param);
  }

  Stmt one_by_one() {
    std::vector<Stmt> stmts;
    for (size_t k = 0; k < update_.stores.size(); k++) {
      const Combine op = proof_.ops[static_cast<size_t>(element_of(update_.stores[k]))];
      if (op == Combine::Keep) continue;
      const Expr sum = fold(op, contribution(k));
      Stmt s = store(k, schedule::combine(op, old_value(k), sum));
      stmts.push_back(op_->shared ? make_atomic(op_->name, op_->stage, true, s) : s);
    }
    return around(make_block(stmts));
  }

  Expr fold(Combine op, const Expr &v) const {
    ReduceOp whole;
    if (reduce_op(op, v.type(), &whole)) return make_vector_reduce(whole, v, 1);
    return fold({v}, [&](const std::vector<Expr> &a, const std::vector<Expr> &b) {
      return std::vector<Expr>{schedule::combine(op, a[0], b[0])};
    })[0];
  }

  using Values = std::vector<Expr>;
  // Neighbours are combined, so that the order of lanes stays.
  Values fold(Values v, const std::function<Values(const Values &, const Values &)> &both) const {
    const int n = v[0].type().lanes();
    if (n == 1) return v;
    Values a, b, last;
    for (size_t i = 0; i < v.size(); i++) {
      const Expr name = hoist(v[i]);
      a.push_back(make_shuffle({name}, picks(0, 2, n / 2)));
      b.push_back(make_shuffle({name}, picks(1, 2, n / 2)));
      if (n % 2) last.push_back(make_shuffle({name}, {n - 1}));
    }
    Values half = fold(both(a, b), both);
    return n % 2 ? both(half, last) : half;
  }

  Expr hoist(const Expr &e) const {
    if (e.as<Variable>() || is_const(e)) return e;
    const Name name =
        op_->name + ".lanes" + std::to_string(op_->stage) + "." + std::to_string(lets_.size());
    lets_.push_back({name, e});
    return make_var(name, e.type());
  }

  Stmt together() {
    if (op_->shared) return {};
    const size_t n = func_.types.size();
    std::vector<int> place(n, -1);  // value -> store
    for (size_t k = 0; k < update_.stores.size(); k++)
      place[static_cast<size_t>(element_of(update_.stores[k]))] = static_cast<int>(k);
    Values lanes, old;
    for (int k : place) {
      if (k < 0) return {};
      lanes.push_back(contribution(static_cast<size_t>(k)));
      old.push_back(old_value(static_cast<size_t>(k)));
    }
    const auto both = [&](const Values &a, const Values &b) {
      Substitution map;
      for (size_t i = 0; i < n; i++) {
        map[schedule::left_value(static_cast<int>(i))] = a[i];
        map[schedule::right_value(static_cast<int>(i))] = b[i];
      }
      Values result;
      for (const Expr &e : proof_.combined) result.push_back(hoist(with_lanes(e, map)));
      return result;
    };
    const Values sums = both(old, fold(lanes, both));
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < n; i++) stmts.push_back(store(static_cast<size_t>(place[i]), sums[i]));
    return around(make_block(stmts));
  }
  // A law of scalars on vectors.
  static Expr with_lanes(const Expr &e, const Substitution &map) {
    class Widener final : public IRMutator {
    public:
      explicit Widener(const Substitution &m) : map_(m) {}
      using IRMutator::visit;
      Expr visit(const Variable *op) override {
        const auto it = map_.find(op->name);
        return it == map_.end() ? Expr(op) : it->second;
      }
      Expr visit(const FloatImm *op) override { return wide(op); }
      Expr visit(const IntImm *op) override { return wide(op); }
      Expr visit(const UIntImm *op) override { return wide(op); }
      Expr visit(const Call *op) override {
        std::vector<Expr> args;
        for (const Expr &a : op->args) args.push_back(mutate(a));
        return make_intrinsic(op->type.with_lanes(args[0].type().lanes()), op->op, args);
      }

    private:
      Expr wide(const Expr &e) const {
        const int n = map_.begin()->second.type().lanes();
        return n == 1 ? e : make_broadcast(e, n);
      }
      const Substitution &map_;
    };
    return Widener(map).mutate(e);
  }

  Stmt around(Stmt s) const {
    for (size_t i = lets_.size(); i-- > 0;) s = make_let_stmt(lets_[i].first, lets_[i].second, s);
    return s;
  }

  // ---- lane after lane -----------------------------------------------------------------------------
  bool reads_old(const Expr &e) const {
    bool found = false;
    for_each_expr(e, [&](const Expr &x) {
      for (const Store *s : update_.stores) found |= is_old(x, s);
    });
    return found;
  }

  // `e` in one lane: what does not read old values is computed for all lanes before.
  class OneLane final : public IRMutator {
  public:
    OneLane(LaneCombiner &owner, int lane) : owner_(owner), lane_(lane) {}
    using IRMutator::mutate;
    Expr mutate(const Expr &e) override {
      if (!e.defined() || is_const(e)) return e;
      for (size_t k = 0; k < owner_.update_.stores.size(); k++) {
        const Store *s = owner_.update_.stores[k];
        if (is_old(e, s))
          return make_load(s->value.type(), s->name, owner_.lane_of(owner_.indices_[k], lane_), {},
                           s->param);
      }
      if (owner_.reads_old(e)) return IRMutator::mutate(e);
      return owner_.lane_of(owner_.all_lanes(e), lane_);
    }

  private:
    LaneCombiner &owner_;
    int lane_;
  };

  Expr all_lanes(const Expr &e) {
    for (const auto &known : vectors_) {
      if (known.first.same_as(e)) return known.second;
    }
    vectors_.push_back({e, hoist(lc_.vector_of(e))});
    return vectors_.back().second;
  }
  static Expr lane_of(const Expr &v, int lane) {
    return v.type().is_scalar() ? v : make_shuffle({v}, {lane});
  }

  Stmt in_turns() {
    for (Expr &index : indices_) index = hoist(index);
    const Expr mask = lc_.mask.defined() ? hoist(lc_.mask) : Expr();
    std::vector<Stmt> turns;
    for (int lane = 0; lane < lc_.lanes; lane++) {
      std::vector<Stmt> stores;
      std::vector<std::pair<Name, Expr>> values;
      const bool several = update_.stores.size() > 1;
      for (size_t k = 0; k < update_.stores.size(); k++) {
        const Store *s = update_.stores[k];
        Expr value = OneLane(*this, lane).mutate(update_.values[k]);
        if (several && !op_->shared) {
          const Name name = op_->name + ".turn" + std::to_string(lane) + "." + std::to_string(k);
          values.push_back({name, value});
          value = make_var(name, value.type());
        }
        Stmt one = make_store(s->name, value, lane_of(indices_[k], lane), {}, s->param);
        stores.push_back(op_->shared ? make_atomic(op_->name, op_->stage, true, one) : one);
      }
      Stmt turn = make_block(stores);
      for (size_t k = values.size(); k-- > 0;)
        turn = make_let_stmt(values[k].first, values[k].second, turn);
      turns.push_back(mask.defined() ? make_if(lane_of(mask, lane), turn) : turn);
    }
    return around(make_block(turns));
  }

  const Atomic *op_;
  const LaneContext &lc_;
  const Function &func_;
  Update update_;
  Reduction proof_;
  std::vector<Expr> indices_;
  mutable std::vector<std::pair<Name, Expr>> lets_;
  std::vector<std::pair<Expr, Expr>> vectors_;
};

}  // namespace

Stmt combine_lanes(const Atomic *op, const LaneContext &lanes) {
  return LaneCombiner(op, lanes).run();
}

}  // namespace calotype::lower
