// rfactor: an update becomes two. A new Func reduces over some of the loops for each value of the others (the partial
// results); the update then reduces the partial results. What splits, fuses and renames said of the RVars moves into the
// two definitions, whose loops carry the names they had. Tests: test/unit/schedule/rfactor_test.cpp.
#include <algorithm>
#include <map>

#include "../ir/print.h"
#include "../ir/visit.h"
#include "make_funcs.h"
#include "value.h"

namespace calotype::schedule {

namespace {

using namespace ir;

struct LoopRange {
  Expr min, extent;
};

class Partial {
public:
  Partial(ReplayContext &cx, Scheduled &s, const Directive &d) : cx_(cx), s_(s), d_(d) {}

  Reason run() {
    for (const auto step : {&Partial::find_stage, &Partial::find_loops, &Partial::check_loops,
                            &Partial::check_names, &Partial::check_proof}) {
      if (Reason r = (this->*step)(); !r) return r;
    }
    replay_relations();
    Function part = partial_func();
    Definition merge = merging_update();
    if (!proof_.exact) s_.reordered.push_back("rfactor on " + stage_name(d_.func, d_.stage));
    const std::vector<Name> part_order = order_of_partial();
    const std::vector<Name> merge_order = order_of_merge();
    Function &f = s_.program.funcs[static_cast<size_t>(index_)];
    f.definitions[static_cast<size_t>(d_.stage)] = std::move(merge);
    cx_.order.forget(f.name);
    StageState &stage = s_.state.funcs.at(f.name).stages[static_cast<size_t>(d_.stage)];
    stage = StageState();
    stage.loops = initial_loops(f, d_.stage);
    put_in_order(stage.loops, merge_order);
    insert_func(s_, index_ - 1, std::move(part), {});
    const Function &made = *s_.program.find(d_.made);
    FuncState state = initial_func_state(s_.program, made);
    put_in_order(state.stages[1].loops, part_order);
    s_.state.funcs[d_.made] = std::move(state);
    s_.made[d_.made] = {MadeFunc::Kind::Partial, d_.func, false};
    return {};
  }

private:
  using Names = std::vector<Name>;

  const Function &func() const { return s_.program.funcs[static_cast<size_t>(index_)]; }
  const Definition &definition() const { return func().definitions[static_cast<size_t>(d_.stage)]; }
  const StageState &stage() const {
    return s_.of(func().name).stages[static_cast<size_t>(d_.stage)];
  }
  std::string subject() const { return stage_name(d_.func, d_.stage); }
  Diagnostic refusal(const char *code, const Arg *a, std::string what) const {
    return Diagnostic(code, a && a->loc.defined() ? a->loc : d_.loc, std::move(what));
  }

  Reason find_stage() {
    index_ = -1;
    for (size_t i = 0; i < s_.program.funcs.size(); i++) {
      if (s_.program.funcs[i].name == d_.func) index_ = static_cast<int>(i);
    }
    if (index_ < 0) {
      return no(no_such_func(d_.func, s_.program, d_.func_loc.defined() ? d_.func_loc : d_.loc));
    }
    if (d_.stage == 0) {
      Diagnostic d =
          refusal("S0108", nullptr, "rfactor makes no sense on the pure definition of " + d_.func);
      d.why.push_back({"it splits a reduction, and only updates reduce", func().loc});
      if (func().has_updates()) d.help.push_back(d_.func + ".update(0).rfactor(...)");
      return no(std::move(d));
    }
    if (d_.stage < 0 || d_.stage >= func().stages()) {
      return no(refusal("S0106", nullptr, "there is no " + subject())
                    .because(d_.func + " has " + std::to_string(func().stages() - 1) +
                             " update definitions"));
    }
    return {};
  }

  // rfactor({r: u, ...}) or rfactor(r, u)
  Reason find_loops() {
    std::vector<Arg> items;
    if (d_.args.size() == 2) {
      items = {d_.args[1]};
      items[0].key = d_.args[0].text;
    } else if (d_.args.size() == 1) {
      items = d_.args[0].items;
    }
    bool fits = !items.empty();
    for (const Arg &a : items) fits = fits && a.kind == Arg::Kind::Name && !a.key.empty();
    if (!fits) {
      return no(refusal("S0105", nullptr, "wrong arguments of rfactor")
                    .because("it takes loops of the reduction and names for the new dimensions")
                    .fix("rfactor({r.x: u}), or for several loops rfactor({r.x: u, r.y: v})"));
    }
    for (const Arg &a : items) {
      const int i = find_loop(func(), stage().loops, a.key);
      if (i < 0)
        return no(no_such_loop("rfactor", a.loc.defined() ? a.loc : d_.loc, a.key, subject(),
                               stage(), i == -2));
      const Loop &loop = stage().loops[static_cast<size_t>(i)];
      if (!loop.reduction) {
        return no(
            refusal("S0123", &a, "rfactor cannot keep " + a.key + " of " + subject() + " apart")
                .because(loop.var +
                         " is no loop of the reduction: its iterations are apart already")
                .fix("name an RVar, or a loop made from one"));
      }
      if (kept_.count(loop.var))
        return no(
            refusal("S0114", &a, "rfactor names " + a.key + " twice").fix("name each loop once"));
      kept_[loop.var] = a.text;
      vars_.push_back({loop.var, a.text});
      where_.push_back(a);
    }
    return {};
  }

  // Loops of pure variables must be as they were, and all must be serial: there is no telling which of the two Funcs
  // was meant.
  Reason check_loops() {
    const auto roots = root_vars(func(), stage(), d_.stage);
    for (const Relation &r : stage().relations) {
      if (r.exact) continue;
      return no(refusal("S0123", nullptr,
                        "rfactor comes after " + r.old + " of " + subject() + " was changed")
                    .because("which of the two Funcs that should hold for is not said", r.loc)
                    .fix("rfactor first, then split loops of " + subject() + " or of " + d_.made));
    }
    for (const Loop &loop : stage().loops) {
      if (loop.kind != ForType::Serial) {
        return no(refusal("S0123", nullptr,
                          "rfactor comes after " + loop.var + " of " + subject() + " got its kind")
                      .because("which of the two Funcs that should hold for is not said", loop.loc)
                      .fix("rfactor first, then say how loops of " + subject() + " and of " +
                           d_.made + " run"));
      }
      bool pure = false;
      for (Name v : roots.at(loop.var)) pure |= !is_rvar(v);
      if (pure && loop.reduction) {
        return no(refusal("S0123", nullptr,
                          "rfactor meets " + loop.var + " of " + subject() +
                              ", fused of a pure variable and an RVar")
                      .because("it belongs to neither Func alone")
                      .fix("rfactor first, then fuse"));
      }
    }
    return {};
  }
  bool is_rvar(Name v) const {
    for (const ReductionVariable &r : definition().rvars) {
      if (r.var == v) return true;
    }
    return false;
  }

  Reason check_names() {
    for (size_t i = 0; i < vars_.size(); i++) {
      const Name v = vars_[i].second;
      bool used = std::find(func().args.begin(), func().args.end(), v) != func().args.end();
      for (size_t j = 0; j < i; j++) used |= vars_[j].second == v;
      for (const Loop &loop : stage().loops) used |= loop.var == v && !kept_.count(v);
      for (const ReductionVariable &r : definition().rvars) used |= r.var == v;
      if (used) {
        return no(refusal("S0109", &where_[i], "the name " + v + " is already used in " + subject())
                      .because("the new dimension of " + d_.made + " needs a name of its own"));
      }
    }
    for (const Loop &loop : stage().loops) {
      const bool clash = loop.reduction && std::find(func().args.begin(), func().args.end(),
                                                     loop.var) != func().args.end();
      if (clash)
        return no(refusal("S0109", nullptr,
                          "loop " + loop.var + " of " + subject() +
                              " is called like a dimension of " + d_.func)
                      .fix("rename it before rfactor"));
    }
    return check_made_name(s_, d_);
  }

  Reason check_proof() {
    proof_ = prove_reduction(func(), d_.stage);
    if (!proof_.proved) {
      return no(refusal("S0122", nullptr, subject() + " cannot be split into partial reductions")
                    .because(proof_.because, proof_.loc)
                    .fix("rfactor takes sums, products, min, max, and, or, xor of the old value, "
                         "argmin and argmax, "
                         "and complex products"));
    }
    if (proof_.commutative) return {};
    // Loops of the reduction, innermost first: those kept must be the outer ones.
    Name inner;
    for (size_t i = stage().loops.size(); i-- > 0;) {
      const Loop &loop = stage().loops[i];
      if (!loop.reduction) continue;
      if (!kept_.count(loop.var)) inner = loop.var;
      if (kept_.count(loop.var) && !inner.empty()) {
        return no(refusal("S0122", &where_[0],
                          "rfactor cannot keep " + loop.var + " of " + subject() +
                              " apart, which lies inside " + inner)
                      .because("parts must be combined in the order of the definition: of equal "
                               "candidates the "
                               "first is kept, or the product does not commute",
                               proof_.loc)
                      .fix("keep the outermost loops of the reduction: split " + loop.var +
                           " and keep the outer part"));
      }
    }
    return {};
  }

  // ---- the loops' meaning --------------------------------------------------------------------------
  void replay_relations() {
    std::map<std::string, LoopRange> ranges;
    for (const ReductionVariable &r : definition().rvars) ranges[r.var] = {r.min, r.extent};
    const auto &relations = stage().relations;
    std::vector<LoopRange> of(relations.size());     // the old loop's, or of a fuse the inner one's
    std::vector<LoopRange> other(relations.size());  // of a fuse the outer one's
    const Expr zero = make_int(Int(32), 0), one = make_int(Int(32), 1);
    for (size_t k = 0; k < relations.size(); k++) {
      const Relation &r = relations[k];
      const auto take = [&](Name n) {
        LoopRange range = ranges[n];
        ranges.erase(n);
        return range;
      };
      if (r.kind == Relation::Kind::Split) {
        of[k] = take(r.old);
        ranges[r.outer] = {zero, round_up(of[k].extent, r.factor)};
        ranges[r.inner] = {zero, r.factor};
      } else if (r.kind == Relation::Kind::Fuse) {
        of[k] = take(r.inner);
        other[k] = take(r.outer);
        ranges[r.old] = {zero, fold(make_mul(of[k].extent, other[k].extent))};
      } else {
        ranges[r.outer] = take(r.old);
      }
    }
    ranges_ = ranges;
    Substitution values;
    for (const auto &range : ranges) values[range.first] = make_var(range.first);
    for (size_t k = relations.size(); k-- > 0;) {
      const Relation &r = relations[k];
      const auto take = [&](Name n) {
        Expr e = values[n];
        values.erase(n);
        return e;
      };
      if (r.kind == Relation::Kind::Split) {
        const Expr outer = take(r.outer), inner = take(r.inner);
        const Expr offset = make_add(make_mul(outer, r.factor), inner);
        if (!divides(of[k].extent, r.factor)) guard(make_lt(offset, of[k].extent));
        values[r.old] = plus(offset, of[k].min);
      } else if (r.kind == Relation::Kind::Fuse) {
        const Expr fused = take(r.old);
        values[r.inner] = plus(make_mod(fused, of[k].extent), of[k].min);
        values[r.outer] = plus(make_div(fused, of[k].extent), other[k].min);
      } else {
        values[r.old] = take(r.outer);
      }
    }
    values_ = std::move(values);
  }

  void guard(const Expr &e) { guard_ = guard_.defined() ? make_and(guard_, e) : e; }
  static Expr plus(const Expr &a, const Expr &b) { return is_const_zero(b) ? a : make_add(a, b); }
  static bool divides(const Expr &extent, const Expr &factor) {
    const int64_t *e = as_const_int(extent), *f = as_const_int(factor);
    return e && f && *f > 0 && *e % *f == 0;
  }
  static Expr fold(const Expr &e) {
    int64_t value;
    return constant_value(e, &value) ? make_int(Int(32), value) : e;
  }
  static Expr round_up(const Expr &extent, const Expr &factor) {
    const Expr one = make_int(Int(32), 1);
    return fold(make_div(make_add(extent, make_sub(factor, one)), factor));
  }

  // ---- the two definitions -------------------------------------------------------------------------
  std::vector<Expr> variables(const Names &names) const {
    std::vector<Expr> all;
    for (Name n : names) all.push_back(make_var(n));
    return all;
  }

  Function partial_func() const {
    const Function &f = func();
    Function part;
    part.name = d_.made;
    part.id = d_.made_id;
    part.loc = d_.loc;
    part.args = f.args;
    part.types = f.types;
    for (const auto &v : vars_) part.args.push_back(v.second);
    Definition start;
    start.loc = d_.loc;
    start.args = variables(part.args);
    start.values = proof_.identity;
    part.definitions.push_back(std::move(start));
    part.definitions.push_back(partial_update());
    return part;
  }

  Definition partial_update() const {
    Definition d = definition();
    std::vector<Expr> place = d.args;
    for (const auto &v : vars_) place.push_back(make_var(v.second));
    // Reads of the Func itself become reads of the partial result, before loops get their new meaning.
    change_definition(d, [&](const Expr &e) {
      return rewrite(e, [&](const Expr &x) -> Expr {
        const Call *call = x.as<Call>();
        if (!call || call->call_type != CallType::Halide || call->name != func().name) return x;
        return make_func_call(call->type, d_.made, place, call->value_index);
      });
    });
    d.args = place;
    d.rvars.clear();
    Substitution to_vars, values = values_;
    for (const auto &v : vars_) to_vars[v.first] = make_var(v.second);
    for (auto &value : values) value.second = substitute(to_vars, value.second);
    change_definition(d, [&](const Expr &e) { return substitute(values, e); });
    if (guard_.defined()) {
      const Expr g = substitute(to_vars, guard_);
      d.predicate = d.predicate.defined() ? make_and(g, d.predicate) : g;
    }
    for (const Loop &loop : stage().loops) {
      if (!loop.reduction || kept_.count(loop.var)) continue;
      const LoopRange &range = ranges_.at(loop.var);
      d.rvars.push_back({loop.var, range.min, range.extent});
    }
    return d;
  }

  Definition merging_update() const {
    const Function &f = func();
    Definition d;
    d.loc = definition().loc;
    d.args = variables(f.args);
    std::vector<Expr> place = d.args;
    for (const auto &v : vars_) place.push_back(make_var(v.first));
    Substitution operands;
    for (size_t i = 0; i < f.types.size(); i++) {
      const int index = static_cast<int>(i);
      operands[left_value(index)] = make_func_call(f.types[i], f.name, d.args, index);
      operands[right_value(index)] = make_func_call(f.types[i], d_.made, place, index);
    }
    for (const Expr &e : proof_.combined) d.values.push_back(substitute(operands, e));
    for (const Loop &loop : stage().loops) {
      if (!kept_.count(loop.var)) continue;
      const LoopRange &range = ranges_.at(loop.var);
      d.rvars.push_back({loop.var, range.min, range.extent});
    }
    return d;
  }

  // ---- the order of loops --------------------------------------------------------------------------
  Names order_of_partial() const {
    Names order;
    for (const Loop &loop : stage().loops) {
      const auto it = kept_.find(loop.var);
      order.push_back(it == kept_.end() ? loop.var : Name(it->second));
    }
    return order;
  }
  Names order_of_merge() const {
    Names order;
    for (const Loop &loop : stage().loops) {
      if (!loop.reduction || kept_.count(loop.var)) order.push_back(loop.var);
    }
    return order;
  }
  // Loops that `order` does not name stay outermost.
  static void put_in_order(std::vector<Loop> &loops, const Names &order) {
    const auto rank = [&](const Loop &l) {
      return std::find(order.begin(), order.end(), l.var) - order.begin();
    };
    std::stable_sort(loops.begin(), loops.end(),
                     [&](const Loop &a, const Loop &b) { return rank(a) < rank(b); });
  }

  ReplayContext &cx_;
  Scheduled &s_;
  const Directive &d_;
  int index_ = -1;
  std::map<std::string, std::string> kept_;  ///< loop -> new dimension
  std::vector<std::pair<Name, Name>> vars_;  ///< the same, as asked for
  std::vector<Arg> where_;
  Reduction proof_;
  std::map<std::string, LoopRange> ranges_;
  Substitution values_;  ///< the definition's RVars in terms of the loops
  Expr guard_;           ///< loops stay within the RVars' ranges
};

}  // namespace

Reason make_partial(ReplayContext &cx, Scheduled &s, const Directive &d) {
  return Partial(cx, s, d).run();
}

}  // namespace calotype::schedule
