// Checks of promise_clamped (see check_promises.h).
#include "check_promises.h"

#include "../analysis/bounds.h"
#include "../ir/print.h"
#include "extern_stages.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using namespace ir;

namespace {

// Each of these names at most once, in sums and constant multiples: an interval of it is exact.
bool is_affine(const Expr &e, std::unordered_set<Name> &used) {
  if (is_const(e)) return true;
  if (const Variable *v = e.as<Variable>()) return v->param || used.insert(v->name).second;
  if (const Add *op = e.as<Add>()) return is_affine(op->a, used) && is_affine(op->b, used);
  if (const Sub *op = e.as<Sub>()) return is_affine(op->a, used) && is_affine(op->b, used);
  if (const Mul *op = e.as<Mul>()) return as_const_int(op->b) && is_affine(op->a, used);
  return false;
}
bool is_uniform(const Expr &e) {
  bool yes = true;
  for_each_expr(e, [&](const Expr &x) {
    const Variable *v = x.as<Variable>();
    yes = yes && !(v && !v->param) && !x.as<Call>();
  });
  return yes;
}

void check_promise(LoopContext &c, const Function &f, const Definition &d, const Call *call,
                   const Scope<Interval> &scope) {
  std::unordered_set<Name> used;
  if (!is_affine(call->args[0], used) || !is_uniform(call->args[1]) || !is_uniform(call->args[2]))
    return;
  const Interval i = analysis::bounds_of_expr(call->args[0], scope);
  if (!i.bounded()) return;
  const Expr holds =
      simplify(make_and(make_ge(i.min, call->args[1]), make_le(i.max, call->args[2])));
  if (is_const_one(holds)) return;
  c.cx.promises.push_back(make_intrinsic(
      Bool(), Intrinsic::require,
      {holds, make_bool(true), make_string(d.loc.defined() ? to_string(d.loc) : ""),
       make_string("promise_clamped(" + ir::to_string(call->args[0]) + ", ...) in " + f.name),
       make_string("the values go from"), i.min, make_string("to"), i.max,
       make_string("promised were"), call->args[1], make_string("to"), call->args[2]}));
}

}  // namespace

void check_promises(LoopContext &c, const RegionFinder::Result &found) {
  for (const Function &f : c.program.funcs) {
    auto it = found.funcs.find(f.name);
    if (it == found.funcs.end()) continue;
    for (int k = 0; k < f.stages(); k++) {
      const Definition &d = f.definitions[k];
      if (d.predicate.defined()) continue;  // points that never run would count
      VarRanges ranges = it->second.stage_ranges[k];
      Box all;
      for (auto &[name, i] : ranges)
        all.push_back({c.symbols.expand(i.min), c.symbols.expand(i.max), {}});
      if (asks_c_function(all)) continue;
      Scope<Interval> scope;
      for (auto &[name, i] : ranges)
        scope.push(name, {c.symbols.expand(i.min), c.symbols.expand(i.max), {}});
      auto look = [&](const Expr &root) {
        for_each_expr(root, [&](const Expr &x) {
          const Call *call = x.as<Call>();
          if (call && (call->op == Intrinsic::unsafe_promise_clamped ||
                       call->op == Intrinsic::promise_clamped))
            check_promise(c, f, d, call, scope);
        });
      };
      for (const Expr &e : d.values) look(e);
      for (const Expr &e : d.args) look(e);
    }
  }
}

}  // namespace calotype::lower
