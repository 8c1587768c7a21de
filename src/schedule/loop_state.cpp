// The state of loops before any directive, and questions about it: which loop a name means, which extents are constant,
// which variables of the definition a loop derives from. Tests: test/unit/schedule/loop_state_test.cpp.
#include "loop_state.h"

#include <algorithm>
#include <limits>

#include "../ir/visit.h"
#include "value.h"
#include "value_text.h"

namespace calotype::schedule {

namespace {

// "_3" -> 3, else -1.
int position_of(const std::string &text) {
  if (text.size() < 2 || text.size() > 4 || text[0] != '_') return -1;
  int k = 0;
  for (size_t i = 1; i < text.size(); i++) {
    if (text[i] < '0' || text[i] > '9') return -1;
    k = k * 10 + (text[i] - '0');
  }
  return k;
}

int find_exact(const std::vector<Loop> &loops, const std::string &text) {
  for (size_t i = 0; i < loops.size(); i++) {
    if (loops[i].var == text) return static_cast<int>(i);
  }
  return -1;
}

bool ends_with(const std::string &s, const std::string &tail) {
  return s.size() > tail.size() && s.compare(s.size() - tail.size(), tail.size(), tail) == 0;
}

const int64_t *constant(const Expr &e) { return e.defined() ? ir::as_const_int(e) : nullptr; }

using Extents = std::unordered_map<ir::Name, int64_t>;

void split_extent(Extents &known, const Relation &r) {
  const auto it = known.find(r.old);
  const bool old_known = it != known.end();
  const int64_t old = old_known ? it->second : 0;
  if (old_known) known.erase(it);
  known.erase(r.outer);
  known.erase(r.inner);
  const int64_t *factor = constant(r.factor);
  if (!factor || *factor < 1) return;
  known[r.inner] = *factor;
  if (old_known) known[r.outer] = (old + *factor - 1) / *factor;
}

void fuse_extent(Extents &known, const Relation &r) {
  const auto inner = known.find(r.inner), outer = known.find(r.outer);
  const bool both = inner != known.end() && outer != known.end();
  const int64_t product = both ? inner->second * outer->second : 0;
  known.erase(r.inner);
  known.erase(r.outer);
  known.erase(r.old);
  // Extents of int32 loops: a larger product is no constant worth knowing.
  if (both && product <= std::numeric_limits<int32_t>::max()) known[r.old] = product;
}

void rename_extent(Extents &known, const Relation &r) {
  const auto it = known.find(r.old);
  if (it == known.end()) return;
  const int64_t extent = it->second;
  known.erase(it);
  known[r.outer] = extent;
}

// Calls f(variable, value) for what a condition fixes.
template <typename F> void for_each_fixed(const Expr &condition, const F &f) {
  if (const auto *both = condition.as<ir::And>()) {
    for_each_fixed(both->a, f);
    for_each_fixed(both->b, f);
  } else if (const auto *eq = condition.as<ir::EQ>()) {
    const auto variable = [](Expr e) {
      const auto *cast = e.as<ir::Cast>();
      const Expr inner = cast && cast->value.as<ir::Variable>() ? cast->value : e;
      return inner.as<ir::Variable>() && inner.type().is_int_or_uint() ? inner : Expr();
    };
    int64_t value = 0;
    for (const auto &[v, c] : {std::make_pair(eq->a, eq->b), std::make_pair(eq->b, eq->a)}) {
      const Expr var = variable(v);
      if (var.defined() && constant_value(c, &value) && var.type().can_represent(value)) {
        f(var.as<ir::Variable>()->name,
          var.type().is_uint() ? ir::make_uint(var.type(), static_cast<uint64_t>(value))
                               : ir::make_int(var.type(), value));
      }
    }
  } else if (const auto *flag = condition.as<ir::Variable>()) {
    f(flag->name, ir::make_bool(true));
  } else if (const auto *no = condition.as<ir::Not>()) {
    if (const auto *off = no->a.as<ir::Variable>()) f(off->name, ir::make_bool(false));
  }
}

// Extents of an output that conditions fix: "out.extent.0 == 16".
void assume_extents(const ir::Function &f, const std::vector<Expr> &assumed, Extents &known) {
  for (const Expr &condition : assumed) {
    for_each_fixed(condition, [&](ir::Name name, const Expr &value) {
      const int64_t *n = ir::as_const_int(value);
      for (size_t d = 0; n && d < f.args.size(); d++) {
        const std::string field = ".extent." + std::to_string(d);
        bool same = name == f.name + field || name == f.name + ".0" + field;
        for (const ir::ParameterRef &p : f.outputs) same |= p && name == p->name + field;
        if (same) known[f.args[d]] = *n;
      }
    });
  }
}

}  // namespace

Expr under_conditions(const Expr &e, const std::vector<Expr> &conditions) {
  if (!e.defined()) return e;
  ir::Substitution map;
  for (const Expr &c : conditions)
    for_each_fixed(c, [&](ir::Name name, const Expr &value) { map[name] = value; });
  if (map.empty()) return e;
  const Expr result = ir::substitute(map, e);
  int64_t value = 0;
  if (!ir::is_const(result) && result.type().is_int() && constant_value(result, &value) &&
      result.type().can_represent(value))
    return ir::make_int(result.type(), value);
  return result;
}

std::vector<const StageState *> variants_of(const StageState &s) {
  std::vector<const StageState *> all;
  if (!s.fails()) all.push_back(&s);
  for (const Specialization &sp : s.specializations) {
    for (const StageState *v : variants_of(sp.state)) all.push_back(v);
  }
  return all;
}

std::string variant_name(const std::string &func, int stage, const StageState &s) {
  std::string text = stage_name(func, stage);
  for (const Expr &c : s.assumed)
    text += ".specialize(" + value_text(c, ValueStyle::Schedule) + ")";
  return text;
}

std::vector<Loop> initial_loops(const ir::Function &f, int stage) {
  const ir::Definition &d = f.definitions[stage];
  std::vector<Loop> loops;
  if (f.extern_stage()) return loops;  // its C function has its own
  for (const ir::ReductionVariable &r : d.rvars) {
    Loop loop;
    loop.var = r.var;
    loop.reduction = true;
    loops.push_back(loop);
  }
  for (size_t i = 0; i < d.args.size(); i++) {
    const auto *v = d.args[i].as<ir::Variable>();
    if (!v || v->name != f.args[i] || v->param) continue;
    Loop loop;
    loop.var = v->name;
    loops.push_back(loop);
  }
  return loops;
}

FuncState initial_func_state(const ir::Program &p, const ir::Function &f) {
  FuncState s;
  for (int stage = 0; stage < f.stages(); stage++) {
    s.stages.emplace_back();
    s.stages.back().loops = initial_loops(f, stage);
  }
  s.storage_order = f.args;
  if (!p.is_output(f.name)) return s;
  s.compute.kind = s.store.kind = Level::Kind::Root;
  // What set_bounds says of an output's buffer is checked when the pipeline runs, and so is a fact here.
  for (size_t d = 0; d < f.args.size() && !f.outputs.empty(); d++) {
    const ir::ParameterRef &out = f.outputs[0];
    if (!out.defined() || d >= out->dims.size()) continue;
    const ir::DimConstraint &c = out->dims[d];
    if (!c.extent.defined() || !ir::as_const_int(c.extent)) continue;
    Bound b;
    b.var = f.args[d];
    b.extent = c.extent;
    if (c.min.defined() && ir::as_const_int(c.min)) b.min = c.min;
    b.loc = out->loc;
    s.bounds.push_back(std::move(b));
  }
  return s;
}

ScheduleState initial_state(const ir::Program &p) {
  ScheduleState state;
  for (const ir::Function &f : p.funcs) state.funcs.emplace(f.name, initial_func_state(p, f));
  // A C function takes and gives buffers: nothing around it can be substituted away.
  for (const ir::Function &f : p.funcs) {
    if (!f.extern_stage()) continue;
    state.funcs.at(f.name).compute.kind = Level::Kind::Root;
    for (ir::Name g : ir::called_funcs(f.pure()))
      state.funcs.at(g).compute.kind = Level::Kind::Root;
  }
  return state;
}

int find_loop(const ir::Function &f, const std::vector<Loop> &loops, const std::string &text) {
  const int exact = find_exact(loops, text);
  if (exact >= 0) return exact;
  const int position = position_of(text);
  if (position >= 0 && position < f.dimensions()) {
    const int i = find_exact(loops, f.args[position]);
    if (i >= 0) return i;
  }
  int found = -1;
  for (size_t i = 0; i < loops.size(); i++) {
    if (!loops[i].reduction || !ends_with(loops[i].var, "." + text)) continue;
    if (found >= 0) return -2;
    found = static_cast<int>(i);
  }
  return found;
}

std::unordered_map<ir::Name, int64_t> constant_extents(const ir::Function &f, const FuncState &s,
                                                       int stage) {
  return constant_extents(f, s.bounds, s.stages[stage], stage);
}

std::unordered_map<ir::Name, int64_t> constant_extents(const ir::Function &f,
                                                       const std::vector<Bound> &bounds,
                                                       const StageState &s, int stage) {
  Extents known;
  assume_extents(f, s.assumed, known);
  for (const Bound &b : bounds) {
    if (const int64_t *e = constant(b.extent)) known[b.var] = *e;
  }
  for (const ir::ReductionVariable &r : f.definitions[stage].rvars) {
    if (const int64_t *e = constant(r.extent)) known[r.var] = *e;
  }
  for (const Relation &r : s.relations) {
    switch (r.kind) {
      case Relation::Kind::Split: split_extent(known, r); break;
      case Relation::Kind::Fuse: fuse_extent(known, r); break;
      case Relation::Kind::Rename: rename_extent(known, r); break;
    }
  }
  return known;
}

std::unordered_map<ir::Name, std::vector<ir::Name>> root_vars(const ir::Function &f,
                                                              const StageState &s, int stage) {
  std::unordered_map<ir::Name, std::vector<ir::Name>> roots;
  for (const Loop &loop : initial_loops(f, stage)) roots[loop.var] = {loop.var};
  const auto take = [&](ir::Name var) {
    std::vector<ir::Name> vars = std::move(roots[var]);
    roots.erase(var);
    return vars;
  };
  for (const Relation &r : s.relations) {
    if (r.kind == Relation::Kind::Fuse) {
      std::vector<ir::Name> vars = take(r.inner);
      for (ir::Name v : take(r.outer)) {
        if (std::find(vars.begin(), vars.end(), v) == vars.end()) vars.push_back(v);
      }
      roots[r.old] = std::move(vars);
    } else {
      std::vector<ir::Name> vars = take(r.old);
      if (r.kind == Relation::Kind::Split) roots[r.inner] = vars;
      roots[r.outer] = std::move(vars);
    }
  }
  return roots;
}

std::string loop_list(const StageState &s) {
  std::string text;
  for (size_t i = s.loops.size(); i-- > 0;) {
    text += s.loops[i].var;
    if (i > 0) text += ", ";
  }
  return text;
}

std::string stage_name(const std::string &func, int stage) {
  return stage == 0 ? func : func + ".update(" + std::to_string(stage - 1) + ")";
}

}  // namespace calotype::schedule
