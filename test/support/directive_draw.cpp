// See directive_draw.h. What is drawn need not be legal: the draft judges it.
#include "directive_draw.h"

#include <algorithm>
#include <set>

#include "ir/visit.h"

namespace calotype::test {

using schedule::DirectiveKind;
using Strings = std::vector<std::string>;

Subject subject(const ir::Name &func, int stage) {
  std::string who = func.str();
  if (stage > 0) who += ".update(" + std::to_string(stage - 1) + ")";
  return {func, stage, {}, who};
}

namespace {

const schedule::StageState &state_of(const ScheduleDraft &draft, const Subject &s) {
  const schedule::StageState *state =
      &draft.scheduled().of(s.func).stages[static_cast<size_t>(s.stage)];
  for (int i : s.specializations) state = &state->specializations[static_cast<size_t>(i)].state;
  return *state;
}

std::string joined(const Strings &words) {
  std::string text;
  for (const std::string &w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

}  // namespace

Subject specialized(const Subject &s, const ScheduleDraft &draft, const std::string &condition) {
  Subject r = s;
  r.specializations.push_back(static_cast<int>(state_of(draft, s).specializations.size()) - 1);
  r.who += ".specialize(" + condition + ")";
  return r;
}

const std::vector<schedule::Loop> &DirectiveDraw::loops(const Subject &s) const {
  return state_of(draft_, s).loops;
}

std::string DirectiveDraw::call(const Subject &s, DirectiveKind kind,
                                const std::string &args) const {
  return s.who + "." + schedule::directive_name(kind) + "(" + args + ")\n";
}

std::string DirectiveDraw::fresh(const std::string &base, const char *suffix) {
  std::string b;
  for (char c : base) b += c == '.' ? '_' : c;
  return b.substr(0, 8) + suffix + std::to_string(names_++);
}

int DirectiveDraw::factor() {
  return dice_.pick(std::vector<int>{1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16});
}

std::string DirectiveDraw::line(DirectiveKind kind, const Subject &s, const std::string &tail,
                                bool want_rvar) {
  if (schedule::makes_func(kind)) return made_line(kind, s);
  if (!schedule::is_func_level(kind)) return loop_line(kind, s, tail, want_rvar);
  return s.stage == 0 && s.specializations.empty() ? func_line(kind, s) : std::string();
}

std::string DirectiveDraw::condition() {
  const ir::Program &p = draft_.program();
  const ir::Function &f = *p.find(p.outputs[0]);
  if (f.dimensions() == 0) return dice_.chance(50) ? "1 > 0" : "2 < 1";
  const size_t d = static_cast<size_t>(dice_.below(f.dimensions()));
  const bool known = d < extents_.size() && extents_[d] > 0;
  const std::string extent = f.name.str() + ".extent(" + std::to_string(d) + ")",
                    n = std::to_string(known ? extents_[d] : 8);
  return dice_.pick(Strings{extent + " == " + n, extent + " >= 8", extent + " < " + n,
                            extent + " % 4 == 0 && " + extent + " > 2"});
}

// ---- loops of stages -----------------------------------------------------------------------------------------------
std::string DirectiveDraw::tail_text(const Subject &s, bool reduction, const std::string &tail) {
  if (tail == "-") return "";
  if (tail != "?") return ", " + tail;
  if (dice_.chance(35)) return "";
  static const Strings all = {"GuardWithIf",     "Predicate", "PredicateStores",
                              "PredicateLoads",  "RoundUp",   "ShiftInwards",
                              "RoundUpAndBlend", "Auto",      "ShiftInwardsAndBlend"};
  if (reduction) return ", " + all[static_cast<size_t>(dice_.weighted({5, 3, 0, 0, 0, 0, 0, 2}))];
  if (s.stage > 0)
    return ", " + all[static_cast<size_t>(dice_.weighted({5, 3, 3, 0, 0, 0, 3, 2, 3}))];
  return ", " + dice_.pick(all);
}

std::string DirectiveDraw::loop_line(DirectiveKind kind, const Subject &s, const std::string &tail,
                                     bool want_rvar) {
  const auto &l = loops(s);
  switch (kind) {
    case DirectiveKind::atomic:
      return call(s, kind, dice_.pick(Strings{"", "", "", "true", "override=false"}));
    case DirectiveKind::allow_race_conditions:
    case DirectiveKind::never_partition_all:
    case DirectiveKind::always_partition_all: return call(s, kind, "");
    case DirectiveKind::specialize: return call(s, kind, condition());
    case DirectiveKind::specialize_fail: return call(s, kind, "\"no specialization fits\"");
    case DirectiveKind::compute_with: return shared(s);
    default: break;
  }
  if (l.empty()) return "";
  std::vector<size_t> places;
  for (size_t i = 0; i < l.size(); i++) {
    if (l[i].reduction == want_rvar || dice_.chance(10)) places.push_back(i);
  }
  if (places.empty()) return "";
  const size_t at = dice_.pick(places);
  const std::string v = l[at].var;
  switch (kind) {
    case DirectiveKind::split:
    case DirectiveKind::vectorize:
    case DirectiveKind::unroll:
    case DirectiveKind::parallel: return number_line(kind, s, at, tail);
    case DirectiveKind::tile: return tile(s, at, tail);
    case DirectiveKind::fuse: {
      if (l.size() < 2) return "";
      const size_t other = at + 1 < l.size() ? at + 1 : at - 1;
      return call(s, kind,
                  l[std::min(at, other)].var.str() + ", " + l[std::max(at, other)].var.str() +
                      ", " + fresh(v, "f"));
    }
    case DirectiveKind::reorder: return reorder(s);
    case DirectiveKind::rename: return call(s, kind, v + ", " + fresh(v, "n"));
    case DirectiveKind::serial: return call(s, kind, v);
    case DirectiveKind::partition:
      return call(s, kind, v + ", " + dice_.pick(Strings{"Auto", "Never", "Always"}));
    case DirectiveKind::never_partition:
    case DirectiveKind::always_partition: {
      const std::string &other = dice_.pick(l).var.str();
      return call(s, kind, other != v && dice_.chance(40) ? v + ", " + other : v);
    }
    default: return "";
  }
}

std::string DirectiveDraw::number_line(DirectiveKind kind, const Subject &s, size_t at,
                                       const std::string &tail) {
  const schedule::Loop &l = loops(s)[at];
  const std::string v = l.var;
  const bool vector = kind == DirectiveKind::vectorize;
  if (kind == DirectiveKind::split) {
    std::string outer = dice_.chance(20) && !l.reduction ? v : fresh(v, "o"),
                inner = outer != v && dice_.chance(10) && !l.reduction ? v : fresh(v, "i");
    return call(s, kind,
                v + ", " + outer + ", " + inner + ", " + std::to_string(factor()) +
                    tail_text(s, l.reduction, tail));
  }
  const auto extents = schedule::constant_extents(*draft_.program().find(s.func),
                                                  draft_.scheduled().of(s.func).bounds,
                                                  state_of(draft_, s), s.stage);
  const auto known = extents.find(l.var);
  const bool whole = kind == DirectiveKind::parallel ||
                     (known != extents.end() && known->second <= (vector ? 32 : 8) &&
                      known->second >= (vector ? 2 : 0));
  if (whole && (tail == "-" || tail == "?") && dice_.chance(60)) return call(s, kind, v);
  const std::vector<int> lanes = {2, 3, 4, 4, 5, 8, 8, 16, 16, 32}, copies = {2, 2, 3, 4},
                         tasks = {1, 2, 3, 5, 8};
  const int n = dice_.pick(vector ? lanes : kind == DirectiveKind::unroll ? copies : tasks);
  return call(s, kind, v + ", " + std::to_string(n) + tail_text(s, l.reduction, tail));
}

std::string DirectiveDraw::tile(const Subject &s, size_t at, const std::string &tail) {
  const auto &l = loops(s);
  if (l.size() < 2 || l.size() > 6) return "";
  const size_t a = at + 1 < l.size() ? at : at - 1, b = a + 1;
  const std::string x = l[a].var, y = l[b].var, xo = fresh(x, "o"), yo = fresh(y, "o"),
                    xi = fresh(x, "i"), yi = fresh(y, "i");
  const std::string fx = std::to_string(factor()), fy = std::to_string(factor()),
                    t = tail_text(s, l[a].reduction || l[b].reduction, tail);
  switch (dice_.below(4)) {
    case 0:
      return call(s, DirectiveKind::tile,
                  joined({x, y, xi, yi, fx, fy}) + t);  // the outer loops keep the names
    case 1:
      return call(s, DirectiveKind::tile,
                  "{" + joined({x, y}) + "}, {" + joined({xo, yo}) + "}, {" + joined({xi, yi}) +
                      "}, {" + joined({fx, fy}) + "}" + t);
    default: return call(s, DirectiveKind::tile, joined({x, y, xo, yo, xi, yi, fx, fy}) + t);
  }
}

std::string DirectiveDraw::reorder(const Subject &s) {
  Strings names, rest;
  for (const schedule::Loop &l : loops(s)) {
    if (dice_.chance(75)) names.push_back(l.var);
  }
  for (size_t i = names.size(); i > 1; i--)
    std::swap(names[i - 1], names[static_cast<size_t>(dice_.below(static_cast<int>(i)))]);
  if (names.size() < 2) return "";
  const std::string all = joined(names);
  return call(s, DirectiveKind::reorder, dice_.chance(15) ? "{" + all + "}" : all);
}

// With a stage that has an outermost loop of the same name.
std::string DirectiveDraw::shared(const Subject &s) {
  const auto &mine = loops(s);
  if (mine.empty()) return "";
  std::vector<std::string> levels;
  for (const ir::Function &f : draft_.program().funcs) {
    if (f.name == s.func) continue;
    for (int k = 0; k < f.stages(); k++) {
      const auto &other = draft_.scheduled().of(f.name).stages[static_cast<size_t>(k)].loops;
      size_t n = 0;
      while (n < std::min(mine.size(), other.size()) &&
             mine[mine.size() - 1 - n].var == other[other.size() - 1 - n].var)
        n++;
      if (n > 0)
        levels.push_back(
            subject(f.name, k).who + ", " +
            mine[mine.size() - 1 - static_cast<size_t>(dice_.below(static_cast<int>(n)))]
                .var.str());
    }
  }
  if (levels.empty()) return "";
  const std::string level = dice_.pick(levels);
  const std::string loop = level.substr(level.find(", ") + 2);
  return call(s, DirectiveKind::compute_with,
              level + dice_.pick(Strings{"", ", AlignStart", ", AlignEnd", ", NoAlign", ", Auto",
                                         ", {" + loop + ": AlignEnd}"}));
}

// ---- Funcs -----------------------------------------------------------------------------------------------------
// The loops of all stages that read `f`, directly or through others.
std::string DirectiveDraw::level(const ir::Name &f) {
  std::set<std::string> readers{f.str()};
  Strings levels;
  for (const ir::Function &g : draft_.program().funcs) {
    bool reads = false;
    for (const ir::Definition &d : g.definitions) {
      for (ir::Name n : ir::called_funcs(d)) reads |= n != g.name && readers.count(n.str()) > 0;
    }
    if (!reads) continue;
    readers.insert(g.name.str());
    const schedule::FuncState &state = draft_.scheduled().of(g.name);
    if (state.compute.is_inlined() && !draft_.program().is_output(g.name)) continue;
    for (int k = 0; k < g.stages(); k++) {
      for (const schedule::Loop &l : state.stages[static_cast<size_t>(k)].loops) {
        levels.push_back((dice_.chance(70) ? g.name.str() : subject(g.name, k).who) + ", " +
                         l.var.str());
      }
    }
    if (dice_.chance(5)) levels.push_back(g.name.str() + ", __outermost");
  }
  return levels.empty() ? std::string() : dice_.pick(levels);
}

std::string DirectiveDraw::bound_line(DirectiveKind kind, const Subject &s) {
  const ir::Function &f = *draft_.program().find(s.func);
  const int d = dice_.below(f.dimensions());
  const std::string v = f.args[static_cast<size_t>(d)];
  const bool output = draft_.program().is_output(s.func),
             known = static_cast<size_t>(d) < extents_.size() && extents_[d] > 0;
  if (kind == DirectiveKind::align_bounds || kind == DirectiveKind::align_extent) {
    const int m = dice_.pick(std::vector<int>{2, 3, 4, 8});
    std::string text = v + ", " + std::to_string(m);
    if (kind == DirectiveKind::align_bounds && !output && dice_.chance(40))
      text += ", " + std::to_string(dice_.below(m));
    return call(s, kind, text);
  }
  std::string extent = output && known ? std::to_string(extents_[d]) : "96",
              min = output && known ? std::to_string(mins_[d]) : "-40";
  return call(s, kind, v + ", " + (kind == DirectiveKind::bound ? min + ", " : "") + extent);
}

std::string DirectiveDraw::func_line(DirectiveKind kind, const Subject &s) {
  const ir::Function &f = *draft_.program().find(s.func);
  switch (kind) {
    case DirectiveKind::compute_root:
    case DirectiveKind::compute_inline:
    case DirectiveKind::store_root:
    case DirectiveKind::hoist_storage_root:
    case DirectiveKind::memoize:
    case DirectiveKind::trace_loads:
    case DirectiveKind::trace_stores:
    case DirectiveKind::trace_realizations: return call(s, kind, "");
    case DirectiveKind::add_trace_tag: return call(s, kind, "\"a tag\"");
    case DirectiveKind::store_in:
      return call(s, kind,
                  dice_.pick(Strings{"Heap", "Heap", "Auto", "Auto", "Stack", "Register"}));
    case DirectiveKind::compute_at:
    case DirectiveKind::store_at:
    case DirectiveKind::hoist_storage: {
      const std::string where = level(s.func);
      return where.empty() ? "" : call(s, kind, where);
    }
    default: break;
  }
  if (f.dimensions() == 0) return "";
  const std::string v = f.args[static_cast<size_t>(dice_.below(f.dimensions()))];
  switch (kind) {
    case DirectiveKind::bound:
    case DirectiveKind::bound_extent:
    case DirectiveKind::align_bounds:
    case DirectiveKind::align_extent: return bound_line(kind, s);
    case DirectiveKind::reorder_storage: {
      if (f.dimensions() < 2) return "";
      Strings dims(f.args.begin(), f.args.end());
      for (size_t i = dims.size(); i > 1; i--)
        std::swap(dims[i - 1], dims[static_cast<size_t>(dice_.below(static_cast<int>(i)))]);
      return call(s, kind, joined(dims));
    }
    case DirectiveKind::fold_storage:
      return call(s, kind,
                  v + ", " + std::to_string(dice_.pick(std::vector<int>{2, 3, 4, 8, 16, 32})) +
                      dice_.pick(Strings{"", "", "", ", fold_forward=false", ", true"}));
    case DirectiveKind::align_storage:
      return call(s, kind,
                  v + ", " + std::to_string(dice_.pick(std::vector<int>{1, 3, 4, 16, 32})));
    case DirectiveKind::bound_storage:
      return call(s, kind,
                  v + ", " + std::to_string(dice_.pick(std::vector<int>{8, 64, 256, 256, 512})));
    default: return "";
  }
}

// ---- Funcs that directives make --------------------------------------------------------------------------------
std::string DirectiveDraw::made_line(DirectiveKind kind, const Subject &s) {
  const ir::Program &p = draft_.program();
  if (kind == DirectiveKind::rfactor) {
    Strings rvars;
    for (const schedule::Loop &l : loops(s)) {
      if (l.reduction) rvars.push_back(l.var);
    }
    if (s.stage == 0 || rvars.empty()) return "";
    std::string loop = dice_.pick(rvars), before;
    if (dice_.chance(50)) {
      const std::string o = fresh("p", "o"), i = fresh("p", "i");
      before =
          s.who + ".split(" + loop + ", " + o + ", " + i + ", " + std::to_string(factor()) + ")\n";
      loop = dice_.chance(70) ? o : i;
    } else if (rvars.size() > 1 && dice_.chance(25)) {
      return call(
          s, kind,
          "{" + rvars[0] + ": " + fresh("u", "") + ", " + rvars[1] + ": " + fresh("u", "") + "}");
    }
    const std::string u = fresh("u", "");
    return before + call(s, kind, dice_.chance(30) ? loop + ", " + u : "{" + loop + ": " + u + "}");
  }
  if (s.stage != 0 || !s.specializations.empty()) return "";
  if (kind == DirectiveKind::in && dice_.chance(15)) {
    for (const ir::ParameterRef &param : p.params) {
      if (param->is_buffer && dice_.chance(60)) return param->name + ".in()\n";
    }
  }
  Strings readers;
  for (const ir::Function &g : p.funcs) {
    for (const ir::Definition &d : g.definitions) {
      for (ir::Name n : ir::called_funcs(d)) {
        if (n == s.func && g.name != s.func && (readers.empty() || readers.back() != g.name.str()))
          readers.push_back(g.name);
      }
    }
  }
  if (readers.empty()) return "";
  if (kind == DirectiveKind::in && dice_.chance(40)) return call(s, kind, "");
  const std::string one = dice_.pick(readers), two = dice_.pick(readers);
  return call(s, kind, one != two && dice_.chance(50) ? "{" + one + ", " + two + "}" : one);
}

}  // namespace calotype::test
