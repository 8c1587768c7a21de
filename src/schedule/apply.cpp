// Replays a schedule: let names and globs first, then directive by directive, then the placement of the whole. Mistakes
// that only follow from an earlier one are not reported. Tests: test/unit/schedule/apply_test.cpp.
#include "apply.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "legality.h"
#include "make_funcs.h"
#include "placement.h"
#include "replay.h"
#include "value.h"

namespace calotype::schedule {

namespace {

const char *const kOutermost = "__outermost";  // Var::outermost()
constexpr size_t kMaxMistakes = 20;
constexpr size_t kMaxDirectives = 100000;  ///< after globs are expanded

bool is_glob(const std::string &s) { return s.find_first_of("*?") != std::string::npos; }

// `*` any text, `?` one character; everything else, brackets too, is literal. Linear in practice: one retry point.
bool matches(const std::string &glob, const std::string &text) {
  size_t g = 0, t = 0, star = std::string::npos, mark = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
      g++;
      t++;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      mark = t;
    } else if (star != std::string::npos) {
      g = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') g++;
  return g == glob.size();
}

bool is_bound_directive(DirectiveKind k) {
  return k == DirectiveKind::bound || k == DirectiveKind::bound_extent ||
         k == DirectiveKind::align_bounds || k == DirectiveKind::align_extent;
}

class Applier {
public:
  Applier(const ir::Program &p, const Target &t, bool stop_at_first)
      : scheduled_{p, initial_state(p), {}, {}, {}},
        t_(t),
        cx_{scheduled_.program, t, {}, {}},
        stop_(stop_at_first) {}

  Scheduled run(const Schedule &s) {
    check_head(s);
    resolve_lets(s);
    std::unordered_set<std::string> to_come;  // Funcs that directives make: their bounds wait
    for (const Directive &d : s.directives) {
      for (const std::string &name : names_made(d)) to_come.insert(name);
    }
    apply_bounds(s, [&](const Directive &d) { return to_come.count(d.func) == 0; });
    for (const Directive &d : s.directives) {
      if (is_bound_directive(d.kind)) continue;
      apply_one(d);
      const std::vector<std::string> made = names_made(d);
      if (made.empty() || !p_.find(made[0])) continue;
      apply_bounds(s, [&](const Directive &b) {
        return std::find(made.begin(), made.end(), b.func) != made.end();
      });
    }
    finish(p_, state_);
    note_orders();
    for (const PlacementFault &fault : placement_faults(p_, state_)) {
      if (!failed_.count(fault.func) && !failed_.count(fault.consumer))
        report(with_use(fault.diagnostic, s, fault.func));
    }
    if (!mistakes_.empty()) throw_all();
    return std::move(scheduled_);
  }

private:
  [[noreturn]] void throw_all() {
    std::stable_sort(
        mistakes_.begin(), mistakes_.end(), [](const Diagnostic &a, const Diagnostic &b) {
          if (a.loc.file != b.loc.file || a.loc.column == 0 || b.loc.column == 0) return false;
          return a.loc.line != b.loc.line ? a.loc.line < b.loc.line : a.loc.column < b.loc.column;
        });
    throw CompileError(mistakes_);
  }

  // What stands in a named block is wrong where the block is used.
  static Diagnostic with_use(Diagnostic why, const Directive &d) {
    if (d.use_loc.defined()) why.why.push_back({"in the named block used here", d.use_loc});
    return why;
  }
  // The same for the judgement of the whole, which knows places only.
  Diagnostic with_use(Diagnostic why, const Schedule &s, ir::Name func) const {
    const auto here = [&](const SrcLoc &loc) {
      return loc.file == why.loc.file && loc.line == why.loc.line && loc.column == why.loc.column;
    };
    for (const Directive &d : s.directives) {
      if (!d.use_loc.defined() || d.func != func) continue;
      bool found = here(d.loc);
      for (const Arg &a : d.args) found |= here(a.loc);
      if (found) return with_use(std::move(why), d);
    }
    return why;
  }

  void report(Diagnostic d) {
    mistakes_.push_back(std::move(d));
    if (stop_ || mistakes_.size() >= kMaxMistakes) throw_all();
  }

  void check_head(const Schedule &s) {
    if (s.pipeline.empty() || p_.name == s.pipeline) return;
    Diagnostic d("S0003", {}, "this schedule is for pipeline " + s.pipeline + ", not " + p_.name);
    d.help.push_back("load it into " + s.pipeline + ", or change its `pipeline` line");
    if (!s.origin.empty()) d.loc = SrcLoc{intern_path(s.origin), 0, 0, 0};
    throw CompileError(d);
  }

  void resolve_lets(const Schedule &s) {
    for (const auto &let : s.lets) {
      Diagnostic why;
      const ValueScope scope{p_, t_, cx_.lets};
      const auto at = s.let_locs.find(let.first);
      const SrcLoc loc = at == s.let_locs.end() ? SrcLoc{} : at->second;
      const Expr value = resolve_value(let.second, scope, loc, &why);
      if (!value.defined()) {
        why.why.push_back({"in let " + let.first, {}});
        report(std::move(why));
        cx_.lets[let.first] = ir::make_int(Int(32), 1);  // uses of it are not wrong too
      } else {
        cx_.lets[let.first] = value;
      }
    }
  }

  // Bounds count from the start: they tell which extents are constant.
  void apply_bounds(const Schedule &s, const std::function<bool(const Directive &)> &which) {
    for (const Directive &d : s.directives) {
      if (is_bound_directive(d.kind) && which(d)) apply_one(d);
    }
  }

  // A Func is made from a stage as a whole: its specializations, and stages that share its loops, would not follow.
  bool is_specialized(const Directive &d) const {
    if (!d.under.empty()) return true;
    const ir::Function *f = p_.find(d.func);
    const bool of_stage = d.kind == DirectiveKind::rfactor || d.kind == DirectiveKind::online;
    if (!f || !of_stage || d.stage >= f->stages()) return false;
    const StageState &s = state_.of(f->name).stages[static_cast<size_t>(d.stage)];
    return !s.specializations.empty() || s.shared.defined();
  }
  Diagnostic of_specialization(const Directive &d) const {
    return Diagnostic("S0134", d.loc,
                      std::string(directive_name(d.kind)) + " of a specialized stage of " + d.func)
        .because("it makes a Func from the stage as a whole")
        .fix("say it before specialize and compute_with");
  }

  void apply_maker(const Directive &d) {
    const std::vector<std::string> made = names_made(d);
    if (failed_.count(d.func) && !p_.find(d.func)) {  // the Func it is about was not made
      failed_.insert(made.begin(), made.end());
      return;
    }
    const Reason reason = is_specialized(d)                 ? no(of_specialization(d))
                          : d.kind == DirectiveKind::online ? make_online(cx_, scheduled_, d)
                                                            : make_func(cx_, scheduled_, d);
    if (reason) return;
    if (!follows(reason.diagnostic, d)) report(with_use(reason.diagnostic, d));
    failed_.insert(made.begin(), made.end());
    failed_.insert(d.func);
  }

  void apply_one(const Directive &d) {
    if (makes_func(d.kind) || d.kind == DirectiveKind::online) return apply_maker(d);
    if (failed_.count(d.func) && !p_.find(d.func)) return;
    const ir::Function *f = p_.find(d.func);
    if (!f) return unknown_func(d);
    const std::string key = stage_name(d.func, d.stage);
    const Reason reason = replay(cx_, *f, state_.funcs.at(f->name), d);
    if (reason) return;
    if (!follows(reason.diagnostic, d)) report(with_use(reason.diagnostic, d));
    failed_.insert(f->name);
    for (const Arg &a : d.args) poison(a, key);
  }

  // Float reductions whose iterations no longer run in the order of the definition.
  void note_orders() {
    for (const ir::Function &f : p_.funcs) {
      const FuncState &s = state_.of(f.name);
      for (int stage = 1; stage < f.stages(); stage++) {
        const std::string name = stage_name(f.name, stage);
        bool races = false, atomic = false;
        for (const StageState *st : variants_of(s.stages[static_cast<size_t>(stage)])) {
          races |= st->races;
          atomic |= st->atomic && !cx_.order.reduction_of(f, stage).exact &&
                    (st->any_order || runs_dependent_at_once(f, stage, *st));
        }
        if (races) scheduled_.reordered.push_back("allow_race_conditions on " + name);
        if (atomic) scheduled_.reordered.push_back("atomic on " + name);
      }
    }
  }
  bool runs_dependent_at_once(const ir::Function &f, int stage, const StageState &st) {
    const OrderFacts &facts = cx_.order.of(f, stage);
    const auto roots = root_vars(f, st, stage);
    return std::any_of(st.loops.begin(), st.loops.end(), [&](const Loop &l) {
      const bool at_once = l.kind == ir::ForType::Parallel || l.kind == ir::ForType::Vectorized;
      return at_once && !facts.is_free(roots.at(l.var));
    });
  }

  void unknown_func(const Directive &d) {
    const SrcLoc loc = d.func_loc.defined() ? d.func_loc : d.loc;
    const std::string where = to_string(loc);
    if (!unknown_.insert(where + d.func).second) return;  // one chain, one message
    Diagnostic why = no_such_func(d.func, p_, loc);
    if (is_glob(d.func)) why.what = "no Func of " + p_.name + " matches " + d.func;
    std::vector<std::string> names;
    for (const ir::Function &f : p_.funcs) names.push_back(f.name);
    for (const std::string &near : nearest_names(d.func, names)) failed_.insert(near);
    report(std::move(why));
  }

  // Names that a failed directive would have made are missing afterwards, and that is no new mistake.
  void poison(const Arg &a, const std::string &stage) {
    for (const Arg &item : a.items) poison(item, stage);
    if (a.kind == Arg::Kind::Name) poisoned_.insert(stage + ":" + a.text);
  }
  bool mentions_poisoned(const Arg &a, const std::string &stage) const {
    if (a.kind == Arg::Kind::Name && poisoned_.count(stage + ":" + a.text)) return true;
    return std::any_of(a.items.begin(), a.items.end(),
                       [&](const Arg &i) { return mentions_poisoned(i, stage); });
  }
  bool follows(const Diagnostic &why, const Directive &d) const {
    const std::string stage = stage_name(d.func, d.stage);
    if (why.code == "S0002") return failed_.count(d.func) > 0;
    if (why.code == "S0134" && !d.under.empty()) return failed_.count(d.func) > 0;
    if (why.code != "S0103") return false;
    return std::any_of(d.args.begin(), d.args.end(),
                       [&](const Arg &a) { return mentions_poisoned(a, stage); });
  }

  Scheduled scheduled_;
  const ir::Program &p_ = scheduled_.program;
  ScheduleState &state_ = scheduled_.state;
  const Target &t_;
  ReplayContext cx_;
  bool stop_;
  std::vector<Diagnostic> mistakes_;
  std::unordered_set<ir::Name> failed_;
  std::unordered_set<std::string> poisoned_, unknown_;
};

// Unnamed Vars of C++ programs have reserved names ("$v3"), which depend on what else the process made. Those that
// definitions use have canonical names in the program; those that only directives use get theirs here.
class Renamer {
public:
  Renamer(const ir::Program &p, const Schedule &s) : map_(p.renamed) {
    for (const auto &entry : map_) used_.insert(entry.second);
    for (const ir::Function &f : p.funcs) {
      used_.insert(f.args.begin(), f.args.end());
      for (const ir::Definition &d : f.definitions) {
        for (const ir::ReductionVariable &r : d.rvars) used_.insert(r.var);
      }
    }
    for (const Directive &d : s.directives) {
      for (const Arg &a : d.args) note(a);
    }
  }

  void rename(Arg &a) {
    for (Arg &item : a.items) rename(item);
    rename(a.key);
    if (a.kind == Arg::Kind::Name || a.kind == Arg::Kind::Level) rename(a.text);
  }

private:
  void rename(std::string &text) {
    if (text.empty() || text[0] != '$') return;
    const auto it = map_.find(text);
    if (it != map_.end()) {
      text = it->second;
      return;
    }
    ir::Name name;
    do {
      name = "v" + std::to_string(next_++);
    } while (!used_.insert(name).second);
    map_[text] = name;
    text = name;
  }
  void note(const Arg &a) {
    for (const Arg &item : a.items) note(item);
    if (a.kind == Arg::Kind::Name || a.kind == Arg::Kind::Level) used_.insert(a.text);
  }

  std::unordered_map<ir::Name, ir::Name> map_;
  std::unordered_set<ir::Name> used_;
  int next_ = 0;
};

// Gives directives the names of their Funcs: those of the program, and those that earlier directives made.
class Resolver {
public:
  Resolver(const ir::Program &p, const Schedule &s) : p_(p), s_(s), renamer_(p, s) {
    for (const ir::Function &f : p.funcs) {
      names_.push_back(f.name);
      if (f.id != 0) by_id_[f.id] = f.name;
    }
    for (const ir::ParameterRef &param : p.params) params_.insert(param->name);
    for (const Directive &d : s.directives) {
      for (const std::string &name : names_made(d)) params_.insert(name);
    }
  }

  Schedule run() {
    Schedule out = s_;
    out.directives.clear();
    for (Directive d : s_.directives) {
      if (!fill(d.func, d.func_id)) continue;
      for (Arg &a : d.args) {
        fill_levels(a);
        renamer_.rename(a);
      }
      if (makes_func(d.kind)) {
        if (!resolve_maker(d)) continue;
        push(out, std::move(d));
      } else if (d.kind == DirectiveKind::online) {
        const std::vector<std::string> made = online_funcs(d);
        for (size_t i = 0; i < d.online_ids.size(); i++) by_id_[d.online_ids[i]] = made[i];
        const auto at = std::find(names_.begin(), names_.end(), d.func);
        names_.insert(at, made.begin(), made.end());
        push(out, std::move(d));
      } else if (is_glob(d.func) && !is_func(d.func)) {
        expand(out, d);
      } else {
        push(out, std::move(d));
      }
    }
    return out;
  }

private:
  bool is_func(const std::string &name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  bool fill(std::string &func, uint64_t id) const {
    if (!func.empty() || id == 0) {
      const auto alias = alias_.find(func);
      if (alias != alias_.end()) func = alias->second;
      return true;
    }
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return false;
    func = it->second;
    return true;
  }
  void fill_levels(Arg &a) const {
    for (Arg &item : a.items) fill_levels(item);
    if (a.kind == Arg::Kind::Level || a.kind == Arg::Kind::Func) fill(a.func, a.func_id);
  }

  static void push(Schedule &out, Directive d) {
    if (out.directives.size() >= kMaxDirectives) {
      throw CompileError(
          Diagnostic("S0002", d.loc, "the schedule expands to more than 100000 directives"));
    }
    out.directives.push_back(std::move(d));
  }

  void expand(Schedule &out, const Directive &d) const {
    bool expanded = false;
    for (const std::string &name : names_) {
      if (!matches(d.func, name)) continue;
      expanded = true;
      Directive copy = d;
      copy.func = name;
      push(out, std::move(copy));
    }
    if (!expanded) push(out, d);
  }

  // False: what it asks for was made before, or is about Funcs of other programs.
  bool resolve_maker(Directive &d) {
    if (d.kind != DirectiveKind::rfactor) {
      std::vector<Arg> funcs;
      bool foreign = false;
      for (const Arg &a : func_items(d.args)) {
        if (a.func.empty()) {
          foreign = true;
        } else if (is_glob(a.func) && !is_func(a.func)) {
          expand_argument(a, &funcs);
        } else {
          funcs.push_back(a);
        }
      }
      if (foreign && funcs.empty()) return false;
      d.args = one_or_list(std::move(funcs));
      const std::string key = request(d);
      const auto before = requests_.find(key);
      const bool named = before != requests_.end() && !d.made.empty() && d.made != before->second;
      if (named && is_func(d.made)) {
        throw CompileError(Diagnostic("S0109", d.made_loc.defined() ? d.made_loc : d.loc,
                                      "the name " + d.made + " is already used in " + p_.name.str())
                               .because("the Func asked for was made before, as " + before->second)
                               .fix("give it a name that is free, or leave the let away"));
      }
      if (before != requests_.end()) {
        if (named) alias_[d.made] = before->second;
        if (d.made_id != 0) by_id_[d.made_id] = before->second;
        return false;
      }
      if (d.made.empty()) d.made = free_name(default_made_name(d));
      requests_[key] = d.made;
    } else if (d.made.empty()) {
      d.made = free_name(default_made_name(d));
    }
    if (d.made_id != 0) by_id_[d.made_id] = d.made;
    const auto at = std::find(names_.begin(), names_.end(), d.func);
    names_.insert(at == names_.end() ? names_.begin() : at + 1, d.made);
    return true;
  }

  void expand_argument(const Arg &a, std::vector<Arg> *funcs) const {
    bool expanded = false;
    for (const std::string &name : names_) {
      if (!matches(a.func, name)) continue;
      expanded = true;
      funcs->push_back(Arg::function(0, name, a.loc));
    }
    if (!expanded) funcs->push_back(a);
  }

  static std::string request(const Directive &d) {
    std::vector<std::string> readers;
    for (const Arg &a : func_items(d.args)) readers.push_back(a.func);
    std::sort(readers.begin(), readers.end());
    std::string key = std::string(directive_name(d.kind)) + " " + stage_name(d.func, d.stage);
    for (const std::string &r : readers) key += " " + r;
    return key;
  }

  std::string free_name(const std::string &base) const {
    std::string name = base;
    for (int n = 2; is_func(name) || params_.count(name); n++)
      name = base + "_" + std::to_string(n);
    return name;
  }

  const ir::Program &p_;
  const Schedule &s_;
  Renamer renamer_;
  std::vector<std::string> names_;  ///< of Funcs so far, in the program's order
  std::unordered_set<std::string> params_;
  std::unordered_map<uint64_t, std::string> by_id_;
  std::unordered_map<std::string, std::string> alias_;     ///< a second name -> the first
  std::unordered_map<std::string, std::string> requests_;  ///< what was asked for -> the Func made
};

// Outside of all loops of a Func is where that Func is computed itself, which may be said in the same way.
void resolve_outermost(const ScheduleState &state, Level &level) {
  for (size_t steps = 0; steps <= state.funcs.size(); steps++) {
    if (level.kind != Level::Kind::At || level.var != kOutermost) return;
    const Level &consumer = state.of(level.func).compute;
    if (consumer.is_inlined()) return;  // it has no place of its own: refused like an unknown loop
    const SrcLoc loc = level.loc;
    level = consumer;
    level.loc = loc;
  }
}

// A level at the block loop of `online`, which the states' updates have now.
void resolve_alias(const ir::Program &p, const ScheduleState &state, Level &level) {
  if (level.kind != Level::Kind::At) return;
  const ir::Function *f = p.find(level.func);
  if (!f) return;
  const LoopAlias &alias = state.of(f->name).block_loop;
  if (alias.var.empty()) return;
  std::vector<Loop> loops = state.of(f->name).stages[0].loops;
  loops.emplace_back();
  loops.back().var = alias.var;
  loops.back().reduction = true;
  if (find_loop(*f, loops, level.var) + 1 != static_cast<int>(loops.size())) return;
  level.func = alias.func;
  level.stage = alias.stage;
  level.var = alias.var;
}

void resolve_level(const ir::Program &p, const ScheduleState &state, Level &level) {
  resolve_alias(p, state, level);
  if (level.kind != Level::Kind::At) return;
  const ir::Function *f = p.find(level.func);
  if (!f) return;
  const auto &stages = state.of(f->name).stages;
  for (size_t s = 0; s < stages.size(); s++) {
    if (level.stage >= 0 && level.stage != static_cast<int>(s)) continue;
    for (const StageState *v : variants_of(stages[s])) {
      const int i = find_loop(*f, v->loops, level.var);
      if (i < 0) continue;
      level.var = v->loops[i].var;
      return;
    }
  }
}

}  // namespace

Scheduled apply(const ir::Program &p, const Schedule &s, const Target &t, bool stop_at_first) {
  return Applier(p, t, stop_at_first).run(resolve(p, s));
}

Schedule resolve(const ir::Program &p, const Schedule &s) { return Resolver(p, s).run(); }

void finish(const ir::Program &p, ScheduleState &state) {
  for (auto &entry : state.funcs) {
    FuncState &s = entry.second;
    if (s.compute.is_inlined() && !s.scan.with.empty()) s.compute = state.of(s.scan.with).compute;
  }
  for (auto &entry : state.funcs) {
    FuncState &s = entry.second;
    for (Level *l : {&s.compute, &s.store, &s.hoist}) resolve_outermost(state, *l);
    if (s.store.is_inlined()) s.store = s.compute;
    resolve_level(p, state, s.compute);
    resolve_level(p, state, s.store);
    resolve_level(p, state, s.hoist);
  }
}

}  // namespace calotype::schedule
