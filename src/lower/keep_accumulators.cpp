// Elements that a serial loop updates again and again are kept in memory of the loop's own, small and indexed by
// constants once loops are unrolled, so that code generation holds them in registers:
//
//   for k: for yi (unrolled): for xi (vectorised): f(x + xi, y + yi) = f(x + xi, y + yi) + ...
//   -->  for yi: for xi: kept[xi, yi] = f(x + xi, y + yi)
//        for k: for yi: for xi: kept[xi, yi] = kept[xi, yi] + ...
//        for yi: for xi: f(x + xi, y + yi) = kept[xi, yi]
//
// The loop is the outermost one that no index of the element depends on. Only loops of fixed length may lie between it
// and the element, and serial ones that the element does not depend on either; nothing else in it may touch the Func.
// Conditions that do not depend on the loop also guard the copies. Tests: test/unit/lower/accumulators_test.cpp.
#include <algorithm>
#include <map>
#include <optional>

#include "../analysis/linear.h"
#include "../analysis/simplify.h"
#include "../ir/equal.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

constexpr int64_t kMostRegisters =
    64;  // twice what AVX-512 has: what is spilled is where it was before

Expr c32(int64_t v) { return make_int(Int(32), v); }

bool reads_memory(const Expr &e) {
  bool reads = false;
  for_each_expr(e, [&](const Expr &x) {
    const Call *c = x.as<Call>();
    reads |= x.as<Load>() || (c && c->call_type != CallType::PureIntrinsic);
  });
  return reads;
}

/// Counts all ways to touch a Func's memory.
class Mentions final : public IRVisitor {
public:
  explicit Mentions(Name func) : func_(func) {}
  int count = 0;
  using IRVisitor::visit;
  void visit(const Call *op) override {
    count += op->call_type == CallType::Halide && op->name == func_;
    IRVisitor::visit(op);
  }
  void visit(const Variable *op) override {
    const std::string of = func_.str() + ".";
    count += op->type.is_handle() && op->name.str().compare(0, of.size(), of) == 0;
  }
  void visit(const StringImm *op) override { count += op->value == func_.str(); }
  void visit(const Provide *op) override {
    count += op->name == func_;
    IRVisitor::visit(op);
  }
  void visit(const Realize *op) override {
    count += op->name == func_;
    IRVisitor::visit(op);
  }

private:
  Name func_;
};

/// The statements between a loop and a Provide in it, the loop first.
using Path = std::vector<const BaseStmtNode *>;

class Accumulator {
public:
  /// `lanes`: vectorised loops around the path.
  Accumulator(const PassContext &cx, const std::vector<Name> &lanes, const Path &path,
              const Provide *provide)
      : cx_(cx),
        lanes_(lanes),
        path_(path),
        provide_(provide),
        func_(*cx.program.find(provide->name)) {}

  /// The loop with its elements kept; undefined where that cannot be done.
  Stmt run() {
    if (provide_->predicate.defined() && !is_const_one(provide_->predicate)) return {};
    if (!classify() || !indices_differ() || !only_here() || !fits()) return {};
    Stmt loop = replace_stmts(
        path_[0], [&](const Stmt &s) { return s.get() == provide_ ? updated() : Stmt(); });
    std::vector<Stmt> stmts{for_each_element(load(), true), loop, for_each_element(store(), true)};
    // What conditions leave out has a value, too, lest an earlier one live on in a register.
    if (conditions_) stmts.insert(stmts.begin(), for_each_element(clear(), false));
    Stmt s = make_block(stmts);
    for (size_t i = func_.types.size(); i-- > 0;)
      s = make_allocate(name(i), func_.types[i], MemoryType::Register, {c32(elements_)}, {}, s);
    return s;
  }

private:
  struct Fixed {  ///< a loop of fixed length that the element depends on
    const For *loop;
    int64_t extent, stride;
  };

  Name name(size_t i) const { return func_.name + ".kept." + std::to_string(i); }
  Expr resolve(const Expr &e) const { return substitute(lets_, e); }
  bool repeats(const Expr &e) const { return uses_any_var(e, repeating_); }

  // Which loops repeat the element, which ones tell elements apart, which conditions do.
  bool classify() {
    for (const BaseStmtNode *s : path_) {
      if (const LetStmt *let = Stmt(s).as<LetStmt>()) {
        // Indices that read memory could change their minds.
        if (!reads_memory(let->value))
          lets_[let->name] = resolve(let->value);
        else
          opaque_.insert(let->name);
      }
    }
    for (const Expr &a : provide_->args) {
      args_.push_back(resolve(a));
      if (reads_memory(args_.back()) || uses_any_var(args_.back(), opaque_)) return false;
    }
    for (size_t i = 0; i < path_.size(); i++) {
      const For *loop = Stmt(path_[i]).as<For>();
      if (!loop) continue;
      bool moves = false;
      for (const Expr &a : args_) moves |= uses_var(a, loop->name);
      const bool fixed =
          loop->for_type == ForType::Vectorized || loop->for_type == ForType::Unrolled;
      if (loop->for_type == ForType::Parallel || (moves && (!fixed || i == 0))) return false;
      if (!moves) {
        repeating_.insert(loop->name);
        continue;
      }
      const int64_t *n = as_const_int(analysis::simplify(loop->extent));
      const int64_t *first = as_const_int(loop->min);
      if (!n || *n < 1 || !first || *first != 0) return false;
      fixed_.push_back({loop, *n, 0});
    }
    // Lanes around must have elements of their own.
    for (const Name lane : lanes_) {
      bool apart = false;
      for (const Expr &a : args_) apart |= uses_var(a, lane);
      if (!apart) return false;
    }
    for (const BaseStmtNode *s : path_) {
      if (const Atomic *atomic = Stmt(s).as<Atomic>()) {
        if (atomic->shared || func_.types.size() > 1 || !lanes_.empty()) return false;
      }
      const IfThenElse *branch = Stmt(s).as<IfThenElse>();
      if (!branch) continue;
      const Expr c = resolve(branch->condition);
      if (!repeats(c)) {
        if (reads_memory(c) || uses_any_var(c, opaque_)) return false;
        conditions_ = true;
        continue;
      }
      // Elements that no iteration updates are written back, too: they must not depend on which.
      for (const Fixed &f : fixed_) {
        if (uses_var(c, f.loop->name)) return false;
      }
    }
    return true;
  }

  // Each loop tells elements apart: in some index it steps over all that the smaller steps reach.
  bool indices_differ() const {
    std::unordered_set<Name> loops, used;
    for (const Fixed &f : fixed_) loops.insert(f.loop->name);
    for (const Expr &a : args_) {
      std::vector<std::pair<int64_t, int64_t>> steps;  // size, iterations
      for (const auto &[term, coefficient] : analysis::linear_form(analysis::simplify(a)).terms) {
        if (!uses_any_var(term, loops)) continue;
        const Variable *v = term.as<Variable>();
        if (!v) return false;
        used.insert(v->name);
        for (const Fixed &f : fixed_) {
          if (f.loop->name == v->name) steps.emplace_back(std::abs(coefficient), f.extent);
        }
      }
      std::sort(steps.begin(), steps.end());
      int64_t reach = 0;
      for (const auto &[size, iterations] : steps) {
        if (size <= reach) return false;
        reach += size * (iterations - 1);
      }
    }
    return used.size() == loops.size();
  }

  // All that touches the Func is the update, which reads the element alone, if anything.
  bool only_here() const {
    Mentions all(func_.name);
    all.visit_stmt(path_[0]);
    int known = 1;
    bool pure = true;
    for (const Expr &v : provide_->values) {
      pure &= is_pure(v);
      for_each_call(v, [&](const Call *c) { known += is_element(c); });
    }
    return pure && all.count == known;
  }
  template <typename F> void for_each_call(const Expr &v, const F &f) const {
    struct Walk final : IRVisitor {
      const F &f;
      explicit Walk(const F &fn) : f(fn) {}
      using IRVisitor::visit;
      void visit(const Call *op) override {
        f(op);
        IRVisitor::visit(op);
      }
    } walk(f);
    walk.visit_expr(v);
  }
  bool is_element(const Call *c) const {
    if (c->call_type != CallType::Halide || c->name != func_.name) return false;
    for (size_t d = 0; d < c->args.size(); d++) {
      if (!equal(c->args[d], provide_->args[d])) return false;
    }
    return true;
  }

  // Lanes lie side by side.
  bool fits() {
    elements_ = 1;
    int64_t lanes = 1;
    std::vector<Fixed *> order;
    for (Fixed &f : fixed_) order.push_back(&f);
    std::stable_partition(order.begin(), order.end(),
                          [](const Fixed *f) { return f->loop->for_type == ForType::Vectorized; });
    for (Fixed *f : order) {
      f->stride = elements_;
      if (f->loop->for_type == ForType::Vectorized) lanes *= f->extent;
      elements_ *= f->extent;
      if (elements_ > (int64_t(1) << 20)) return false;
    }
    int64_t registers = 0;
    for (const Type &t : func_.types) {
      const int64_t natural = cx_.target.natural_vector_size(t);
      registers += elements_ / lanes * ((lanes + natural - 1) / natural);
    }
    return registers <= kMostRegisters;
  }

  Expr index() const {
    Expr sum = c32(0);
    for (const Fixed &f : fixed_) {
      const Expr i = make_var(f.loop->name);
      const Expr term = f.stride == 1 ? i : make_mul(i, c32(f.stride));
      sum = is_const_zero(sum) ? term : make_add(sum, term);
    }
    return sum;
  }
  Expr kept(size_t i) const { return make_load(func_.types[i], name(i), index()); }

  Stmt clear() const {
    std::vector<Stmt> all;
    for (size_t i = 0; i < func_.types.size(); i++)
      all.push_back(make_store(name(i), make_zero(func_.types[i]), index()));
    return make_block(all);
  }
  Stmt load() const {
    std::vector<Stmt> all;
    for (size_t i = 0; i < func_.types.size(); i++) {
      const Expr element = make_func_call(func_.types[i], func_.name, args_, static_cast<int>(i));
      all.push_back(make_store(name(i), element, index()));
    }
    return make_block(all);
  }
  Stmt store() const {
    std::vector<Expr> values;
    for (size_t i = 0; i < func_.types.size(); i++) values.push_back(kept(i));
    return make_provide(func_.name, values, args_);
  }
  // All values of a Tuple are computed before any is stored.
  Stmt updated() const {
    const size_t n = provide_->values.size();
    std::vector<Expr> values;
    for (const Expr &v : provide_->values) {
      values.push_back(replace(v, [&](const Expr &e) {
        const Call *c = e.as<Call>();
        return c && is_element(c) ? kept(static_cast<size_t>(c->value_index)) : Expr();
      }));
    }
    std::vector<Stmt> all;
    for (size_t i = 0; i < n; i++) {
      const Expr v = n > 1 ? make_var(new_value(i), values[i].type()) : values[i];
      all.push_back(make_store(name(i), v, index()));
    }
    Stmt s = make_block(all);
    for (size_t i = n; n > 1 && i-- > 0;) s = make_let_stmt(new_value(i), values[i], s);
    return s;
  }
  Name new_value(size_t i) const { return func_.name + ".new." + std::to_string(i); }

  // The fixed loops, and perhaps the conditions, around the element, over another body.
  Stmt for_each_element(Stmt body, bool where_computed) const {
    for (size_t i = path_.size(); i-- > 0;) {
      if (const For *loop = Stmt(path_[i]).as<For>()) {
        if (!repeating_.count(loop->name))
          body = make_for(loop->name, loop->min, loop->extent, loop->for_type, body);
      } else if (const IfThenElse *branch = Stmt(path_[i]).as<IfThenElse>()) {
        const Expr c = resolve(branch->condition);
        if (where_computed && !repeats(c)) body = make_if(c, body);
      }
    }
    return body;
  }

  const PassContext &cx_;
  const std::vector<Name> &lanes_;
  const Path &path_;
  const Provide *provide_;
  const Function &func_;
  Substitution lets_;
  std::unordered_set<Name> opaque_, repeating_;
  std::vector<Expr> args_;
  std::vector<Fixed> fixed_;
  bool conditions_ = false;  ///< that the copies are guarded by
  int64_t elements_ = 1;
};

class Keeper final : public IRMutator {
public:
  explicit Keeper(const PassContext &cx) : cx_(cx) {}
  using IRMutator::visit;
  Expr mutate(const Expr &e) override { return e; }
  Stmt mutate(const Stmt &s) override { return IRMutator::mutate(s); }

  Stmt visit(const For *op) override {
    if (op->for_type == ForType::Serial) {
      path_ = {op};
      const Stmt kept = find(op->body);
      if (kept.defined()) return mutate(kept);  // the loop may update other Funcs
    }
    if (op->for_type != ForType::Vectorized) return IRMutator::visit(op);
    lanes_.push_back(op->name);
    const Stmt s = IRMutator::visit(op);
    lanes_.pop_back();
    return s;
  }

private:
  // Tries every Provide below that loops lead to.
  Stmt find(const Stmt &s) {
    const BaseStmtNode *node = s.get();
    if (const Block *block = s.as<Block>()) {
      const Stmt first = find(block->first);
      return first.defined() ? first : find(block->rest);
    }
    path_.push_back(node);
    Stmt result;
    if (const Provide *provide = s.as<Provide>()) {
      path_.pop_back();
      return Accumulator(cx_, lanes_, path_, provide).run();
    }
    if (const LetStmt *let = s.as<LetStmt>()) {
      result = find(let->body);
    } else if (const ProducerConsumer *mark = s.as<ProducerConsumer>()) {
      result = find(mark->body);
    } else if (const Atomic *atomic = s.as<Atomic>()) {
      result = find(atomic->body);
    } else if (const IfThenElse *branch = s.as<IfThenElse>()) {
      if (!branch->else_case.defined()) result = find(branch->then_case);
    } else if (const Realize *realize = s.as<Realize>()) {
      result = find(realize->body);
    } else if (const Allocate *allocate = s.as<Allocate>()) {
      result = find(allocate->body);
    } else if (const For *loop = s.as<For>()) {
      if (loop->for_type != ForType::Parallel) result = find(loop->body);
    }
    path_.pop_back();
    return result;
  }

  const PassContext &cx_;
  std::vector<Name> lanes_;  ///< vectorised loops around
  Path path_;
};

}  // namespace

Stmt keep_accumulators(const Stmt &s, PassContext &cx) { return Keeper(cx).mutate(s); }

}  // namespace calotype::lower
