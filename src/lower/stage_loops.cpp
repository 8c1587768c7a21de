// Loop arithmetic of a stage (see stage_loops.h).
#include "stage_loops.h"

#include <algorithm>
#include <functional>

#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"

namespace calotype::lower {

using analysis::Interval;
using analysis::simplify;
using ir::Name;
using namespace ir;  // makers

namespace {
std::string prefix(Name func, int stage) { return func + ".s" + std::to_string(stage) + "."; }
Expr sum(const Expr &a, const Expr &b) { return simplify(make_add(a, b)); }
Expr sub(const Expr &a, const Expr &b) { return simplify(make_sub(a, b)); }
}  // namespace

Name StageLoops::min_symbol(Name func, int stage, Name var) {
  return prefix(func, stage) + var.str() + ".min";
}
Name StageLoops::max_symbol(Name func, int stage, Name var) {
  return prefix(func, stage) + var.str() + ".max";
}
Name StageLoops::loop_name(Name var) const { return prefix(func_, stage_) + var.str(); }

StageLoops::StageLoops(const ir::Function &f, int stage, const schedule::StageState &state,
                       TailMode mode, const std::unordered_map<Name, Expr> &max_is)
    : func_(f.name), stage_(stage) {
  auto add_root = [&](Name v) {
    int id = add(v);
    vars_[id].min = make_var(min_symbol(func_, stage_, v));
    auto it = max_is.find(v);
    vars_[id].max = it != max_is.end() ? it->second : make_var(max_symbol(func_, stage_, v));
    root_ids_[v] = id;
    roots_.push_back(v);
  };
  const Definition &d = f.definitions[stage];
  for (size_t i = 0; i < f.args.size(); i++) {
    const Variable *v = d.args[i].as<Variable>();
    if (v && !v->param && v->name == f.args[i]) add_root(v->name);
  }
  for (const ReductionVariable &r : d.rvars) add_root(r.var);
  apply_relations(state, stage == 0, mode);
}

int StageLoops::add(Name name) {
  vars_.emplace_back();
  vars_.back().name = name;
  current_[name] = static_cast<int>(vars_.size()) - 1;
  return current_[name];
}

Expr StageLoops::extent(const Var &v) const { return sum(sub(v.max, v.min), make_int(Int(32), 1)); }

void StageLoops::apply_relations(const schedule::StageState &state, bool pure, TailMode mode) {
  using Kind = schedule::Relation::Kind;
  // Shape first: tails need to know which loops a variable ends up in.
  std::vector<std::pair<const schedule::Relation *, int>>
      order;  // relation, id of its old (split, rename) or fused
  for (const schedule::Relation &r : state.relations) {
    if (r.kind == Kind::Split) {
      int old = current_.at(r.old);
      current_.erase(r.old);
      int outer = add(r.outer), inner = add(r.inner);
      vars_[old].how = Var::IsSplit;
      vars_[old].a = outer;
      vars_[old].b = inner;
      vars_[old].factor = simplify(r.factor);
      order.emplace_back(&r, old);
    } else if (r.kind == Kind::Fuse) {
      int inner = current_.at(r.inner), outer = current_.at(r.outer);
      current_.erase(r.inner);
      current_.erase(r.outer);
      int fused = add(r.old);
      vars_[inner].how = Var::IsFuseInner;
      vars_[outer].how = Var::IsFuseOuter;
      vars_[inner].a = vars_[outer].a = fused;
      vars_[inner].b = outer;
      vars_[outer].b = inner;
      order.emplace_back(&r, inner);
    } else {
      int old = current_.at(r.old);
      current_.erase(r.old);
      int renamed = add(r.outer);
      vars_[old].how = Var::IsRenamed;
      vars_[old].a = renamed;
      order.emplace_back(&r, old);
    }
  }
  for (size_t i = 0; i < state.loops.size(); i++) {
    int id = current_.at(state.loops[i].var);
    loop_position_[id] = static_cast<int>(i);
    loop_kind_[id] = state.loops[i].kind;
  }
  // Then ranges, in the same order: each depends only on earlier ones.
  for (auto &[r, id] : order) {
    Var &old = vars_[id];
    Expr zero = make_int(Int(32), 0), one = make_int(Int(32), 1);
    if (r->kind == Kind::Split) {
      old.tail = choose_tail(*r, old, pure, mode);
      Var &outer = vars_[old.a], &inner = vars_[old.b];
      outer.clipped = old.clipped;
      inner.clipped = old.clipped || old.tail == Tail::Guard || old.tail == Tail::Dynamic ||
                      old.tail == Tail::Shift;
      outer.min = inner.min = zero;
      outer.max = simplify(make_div(sub(old.max, old.min), old.factor));
      inner.max = sub(old.factor, one);
      if (old.tail == Tail::Dynamic) {
        // How the outer variable's value follows from loops is known when all tails are.
        Name at = loop_name(outer.name) + ".of" + std::to_string(id);
        outer_values_.emplace_back(at, old.a);
        Expr left = make_sub(old.max, make_add(old.min, make_mul(make_var(at), old.factor)));
        inner.max = simplify(make_min(left, inner.max));
      }
    } else if (r->kind == Kind::Fuse) {
      Var &outer = vars_[old.b], &fused = vars_[old.a];
      fused.min = zero;
      Expr e_in = simplify(make_max(extent(old), zero));
      old.factor = outer.factor = e_in;
      fused.max = sub(make_mul(extent(outer), e_in), one);
      fused.clipped = true;
    } else {
      vars_[old.a].min = old.min;
      vars_[old.a].max = old.max;
      vars_[old.a].clipped = old.clipped;
    }
  }
  settle_outer_values();
}

void StageLoops::settle_outer_values() {
  Substitution map;
  std::function<void(Name, int)> settle = [&](Name at, int id) {  // one may be in terms of others
    if (map.count(at)) return;
    Expr value = value_of(id);
    bool in_terms_of_others = false;
    for (Name n : free_vars(value)) {
      for (auto &[other, other_id] : outer_values_) {
        if (other != n) continue;
        settle(other, other_id);
        in_terms_of_others = true;
      }
    }
    map[at] = in_terms_of_others ? simplify(substitute(map, value)) : value;
  };
  for (auto &[at, id] : outer_values_) settle(at, id);
  if (!map.empty()) {
    for (Var &v : vars_) {
      for (Expr *e : {&v.min, &v.max, &v.factor}) {
        if (e->defined()) *e = simplify(substitute(map, *e));
      }
    }
  }
  values_.clear();
}

// Whether `e` can be asked before the stage's loops start.
bool StageLoops::evaluable_outside(const Expr &e) const {
  std::unordered_set<Name> loops;
  for (auto &[id, pos] : loop_position_) loops.insert(loop_name(vars_[id].name));
  for (auto &[at, id] : outer_values_) loops.insert(at);
  return !uses_any_var(e, loops);
}

StageLoops::Tail StageLoops::choose_tail(const schedule::Relation &r, const Var &old, bool pure,
                                         TailMode mode) {
  Expr e = extent(old);
  const int64_t *ce = as_const_int(e), *cf = as_const_int(old.factor);
  if (ce && cf && *cf > 0 && *ce % *cf == 0) return Tail::None;

  std::vector<int> in, out;
  loops_of(old.b, in);
  loops_of(old.a, out);
  auto fixed_length = [&](int id) {
    auto k = loop_kind_.find(id);
    return k != loop_kind_.end() &&
           (k->second == ForType::Vectorized || k->second == ForType::Unrolled);
  };
  bool in_vector = false;  // the inner part ends in a loop of fixed length
  for (auto &[id, pos] : loop_position_) {
    in_vector |= std::find(in.begin(), in.end(), pos) != in.end() && fixed_length(id);
  }
  if (pure && !r.exact) {
    bool shift =
        r.tail == TailStrategy::ShiftInwards || r.tail == TailStrategy::ShiftInwardsAndBlend;
    bool round = r.tail == TailStrategy::RoundUp || r.tail == TailStrategy::RoundUpAndBlend;
    if (round && !old.clipped) return Tail::Round;
    if (shift || round || r.tail == TailStrategy::Auto) {
      if (mode == TailMode::Guard) {
        for (auto &[id, pos] : loop_position_) {
          if (std::find(in.begin(), in.end(), pos) != in.end() &&
              loop_kind_[id] == ForType::Unrolled)
            loop_kind_[id] = ForType::Serial;
        }
      } else if ((shift || in_vector) && evaluable_outside(e)) {
        return Tail::Shift;
      }
    }
  }
  // The inner loops can simply end early if every loop of the outer part is outside of them, and if none that would is
  // a loop of fixed length.
  bool outside =
      *std::max_element(in.begin(), in.end()) < *std::min_element(out.begin(), out.end());
  const int last = loop_that_ends(old.b);
  const bool ends_early =
      !fixed_length(last) || (pure && !r.exact && mode == TailMode::Guard && last == old.b &&
                              loop_kind_.at(last) == ForType::Vectorized);
  // The outer part's value must be known already: that of a loop fused later is not.
  return outside && ends_early && !is_fused(old.a) ? Tail::Dynamic : Tail::Guard;
}

// The loop that gets fewer iterations where a variable gets fewer values.
int StageLoops::loop_that_ends(int id) const {
  while (vars_[id].how != Var::IsLoop) id = vars_[id].a;
  return id;
}

bool StageLoops::is_fused(int id) const {
  const Var &v = vars_[id];
  if (v.how == Var::IsSplit) return is_fused(v.a) || is_fused(v.b);
  if (v.how == Var::IsRenamed) return is_fused(v.a);
  return v.how == Var::IsFuseInner || v.how == Var::IsFuseOuter;
}

void StageLoops::loops_of(int id, std::vector<int> &positions) const {
  const Var &v = vars_[id];
  switch (v.how) {
    case Var::IsLoop: {  // extern stages have no loops
      auto at = loop_position_.find(id);
      if (at != loop_position_.end()) positions.push_back(at->second);
      break;
    }
    case Var::IsSplit:
      loops_of(v.a, positions);
      loops_of(v.b, positions);
      break;
    default: loops_of(v.a, positions); break;
  }
}

Expr StageLoops::base(const Var &v, const Expr &outer, bool mark_likely) const {
  Expr offset = make_mul(outer, v.factor);
  if (v.tail == Tail::Shift && mark_likely) offset = make_likely(offset);
  if (v.tail == Tail::Shift) offset = make_min(offset, make_sub(extent(v), v.factor));
  return make_add(offset, v.min);
}

Expr StageLoops::value_of(int id, bool likely) const {
  Expr &known = values_[{id, likely}];
  if (!known.defined()) known = compute_value(id, likely);
  return known;
}

Expr StageLoops::compute_value(int id, bool likely) const {
  const Var &v = vars_[id];
  switch (v.how) {
    case Var::IsLoop: return make_var(loop_name(v.name));
    case Var::IsSplit:
      return simplify(make_add(base(v, value_of(v.a, likely), likely), value_of(v.b, likely)));
    case Var::IsFuseInner:
      return simplify(make_add(make_mod(value_of(v.a, likely), v.factor), v.min));
    case Var::IsFuseOuter:
      return simplify(make_add(make_div(value_of(v.a, likely), v.factor), v.min));
    case Var::IsRenamed: return value_of(v.a, likely);
  }
  return {};
}

Expr StageLoops::value(Name root) const { return value_of(root_ids_.at(root), true); }
Expr StageLoops::loop_min(Name loop) const { return vars_[current_.at(loop)].min; }
ForType StageLoops::loop_kind(Name loop) const { return loop_kind_.at(current_.at(loop)); }
Expr StageLoops::loop_extent(Name loop) const { return extent(vars_[current_.at(loop)]); }

int StageLoops::lanes(Name loop) const {
  int id = current_.at(loop);
  if (loop_kind_.at(id) != ForType::Vectorized) return 0;
  for (size_t i = vars_.size(); i-- > 0;) {  // under its first name
    if (vars_[i].how == Var::IsRenamed && vars_[i].a == id) id = static_cast<int>(i);
  }
  for (const Var &v : vars_) {
    if (v.how != Var::IsSplit || v.b != id || v.tail != Tail::Dynamic) continue;
    const int64_t *factor = as_const_int(v.factor);
    return factor ? static_cast<int>(*factor) : 0;
  }
  return 0;
}

bool StageLoops::is_full(int id, const std::unordered_set<Name> &fixed) const {
  std::vector<int> positions;
  loops_of(id, positions);
  for (auto &[loop, pos] : loop_position_) {
    if (std::find(positions.begin(), positions.end(), pos) != positions.end() &&
        fixed.count(vars_[loop].name))
      return false;
  }
  return true;
}

// Do loops of `id` go beyond its range?
bool StageLoops::rounds(int id) const {
  const Var &v = vars_[id];
  if (v.how == Var::IsRenamed) return rounds(v.a);
  if (v.how != Var::IsSplit || (v.tail != Tail::None && v.tail != Tail::Round))
    return false;  // clipped
  return v.tail == Tail::Round || rounds(v.a) || rounds(v.b);
}

// The largest value that the loops of `id` reach, rounding tails included. Not simplified, as ranges are not.
Expr StageLoops::touched_max(int id) const {
  const Var &v = vars_[id];
  if (v.how == Var::IsRenamed) return touched_max(v.a);
  if (!rounds(id)) return v.max;
  return make_add(base(v, touched_max(v.a)), touched_max(v.b));
}

Interval StageLoops::range_of(int id, const std::unordered_set<Name> &fixed) const {
  const Var &v = vars_[id];
  if (v.how == Var::IsRenamed) return range_of(v.a, fixed);
  if (is_full(id, fixed)) return {v.min, touched_max(id), {}};
  switch (v.how) {
    case Var::IsLoop: return Interval::point(make_var(loop_name(v.name)));
    case Var::IsSplit: {
      Interval o = range_of(v.a, fixed), i = range_of(v.b, fixed);
      if (is_full(v.b, fixed) && v.tail == Tail::Dynamic)
        i = {make_int(Int(32), 0), sum(v.factor, make_int(Int(32), -1)), {}};
      // Of the ranges' own values: a loop of one iteration that does not stand around yet has no variable.
      if (o.is_point() && i.is_point())
        return Interval::point(simplify(make_add(base(v, o.min), i.min)));
      Interval r{make_add(base(v, o.min), i.min), make_add(base(v, o.max), i.max), {}};
      if (v.tail == Tail::Guard || v.tail == Tail::Dynamic) r.max = make_min(r.max, v.max);
      return r;
    }
    case Var::IsFuseInner:
    case Var::IsFuseOuter: {
      Interval f = range_of(v.a, fixed);
      if (f.is_point()) {
        const Expr part =
            v.how == Var::IsFuseInner ? make_mod(f.min, v.factor) : make_div(f.min, v.factor);
        return Interval::point(simplify(make_add(part, v.min)));
      }
      if (v.how == Var::IsFuseInner) return {v.min, v.max, {}};
      return {make_add(make_div(f.min, v.factor), v.min),
              make_add(make_div(f.max, v.factor), v.min),
              {}};
    }
    case Var::IsRenamed: break;
  }
  return {};
}

Interval StageLoops::range(Name root, const std::unordered_set<Name> &fixed) const {
  Interval r = range_of(root_ids_.at(root), fixed);
  if (r.is_point()) return Interval::point(simplify(r.min));
  return {simplify(r.min), simplify(r.max), {}};
}

std::map<int, Expr> StageLoops::guards(const std::unordered_set<Name> &fixed) const {
  std::map<int, Expr> result;
  for (int id = 0; id < static_cast<int>(vars_.size()); id++) {
    const Var &v = vars_[id];
    if (v.how == Var::IsSplit && v.tail == Tail::Guard && range_of(id, fixed).is_point())
      result[id] = make_le(value_of(id), v.max);
  }
  return result;
}

Expr StageLoops::fits() const {
  Expr all;
  for (const Var &v : vars_) {
    if (v.how != Var::IsSplit || v.tail != Tail::Shift) continue;
    Expr c = simplify(make_ge(extent(v), v.factor));
    all = all.defined() ? make_and(all, c) : c;
  }
  return all;
}

Expr StageLoops::rounding_slack(Name root) const {
  // Every rounding split below the root adds less than the product of all factors below it.
  Expr slack = make_int(Int(32), 0);
  std::vector<std::pair<int, Expr>> work{{root_ids_.at(root), make_int(Int(32), 1)}};
  while (!work.empty()) {
    auto [id, scale] = work.back();
    work.pop_back();
    const Var &v = vars_[id];
    if (v.how == Var::IsRenamed) work.push_back({v.a, scale});
    if (v.how != Var::IsSplit) continue;
    Expr unit = make_mul(v.factor, scale);
    if (v.tail == Tail::Round) slack = make_add(slack, make_sub(unit, make_int(Int(32), 1)));
    work.push_back({v.a, unit});
    work.push_back({v.b, scale});
  }
  return simplify(slack);
}

}  // namespace calotype::lower
