// Replays a schedule: let names and globs first, then directive by directive, then the placement of the whole. Mistakes
// that only follow from an earlier one are not reported. Tests: test/unit/schedule/apply_test.cpp.
#include "apply.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "legality.h"
#include "placement.h"
#include "replay.h"
#include "value.h"

namespace calotype::schedule {

namespace {

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
      : scheduled_{p, initial_state(p), {}},
        t_(t),
        cx_{scheduled_.program, t, {}, {}},
        stop_(stop_at_first) {}

  Scheduled run(const Schedule &s) {
    check_head(s);
    resolve_lets(s);
    for (bool bounds : {true, false}) {
      for (const Directive &d : s.directives) {
        if (is_bound_directive(d.kind) == bounds) apply_one(d);
      }
    }
    finish(p_, state_);
    for (const PlacementFault &fault : placement_faults(p_, state_)) {
      if (!failed_.count(fault.func) && !failed_.count(fault.consumer)) report(fault.diagnostic);
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

  void report(Diagnostic d) {
    mistakes_.push_back(std::move(d));
    if (stop_ || mistakes_.size() >= kMaxMistakes) throw_all();
  }

  void check_head(const Schedule &s) {
    if (s.pipeline.empty() || p_.name == s.pipeline) return;
    Diagnostic d("S0003", {}, "this schedule is for pipeline " + s.pipeline + ", not " + p_.name);
    if (!s.origin.empty()) d.loc = SrcLoc{intern_path(s.origin), 0, 0, 0};
    throw CompileError(d);
  }

  void resolve_lets(const Schedule &s) {
    for (const auto &let : s.lets) {
      Diagnostic why;
      const ValueScope scope{p_, t_, cx_.lets};
      const SrcLoc file = s.origin.empty() ? SrcLoc{} : SrcLoc{intern_path(s.origin), 0, 0, 0};
      const Expr value = resolve_value(let.second, scope, file, &why);
      if (!value.defined()) {
        why.why.push_back({"in let " + let.first, {}});
        report(std::move(why));
        cx_.lets[let.first] = ir::make_int(Int(32), 1);  // uses of it are not wrong too
      } else {
        cx_.lets[let.first] = value;
      }
    }
  }

  void apply_one(const Directive &d) {
    const ir::Function *f = p_.find(d.func);
    if (!f) return unknown_func(d);
    const std::string key = stage_name(d.func, d.stage);
    const Reason reason = replay(cx_, *f, state_.funcs.at(f->name), d);
    if (reason) return;
    if (!follows(reason.diagnostic, d)) report(reason.diagnostic);
    failed_.insert(f->name);
    for (const Arg &a : d.args) poison(a, key);
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
    const bool names = a.kind == Arg::Kind::Name || a.kind == Arg::Kind::Level;
    if (!names || a.text.empty() || a.text[0] != '$') return;
    const auto it = map_.find(a.text);
    if (it != map_.end()) {
      a.text = it->second;
      return;
    }
    ir::Name name;
    do {
      name = "v" + std::to_string(next_++);
    } while (!used_.insert(name).second);
    map_[a.text] = name;
    a.text = name;
  }

private:
  void note(const Arg &a) {
    for (const Arg &item : a.items) note(item);
    if (a.kind == Arg::Kind::Name || a.kind == Arg::Kind::Level) used_.insert(a.text);
  }

  std::unordered_map<ir::Name, ir::Name> map_;
  std::unordered_set<ir::Name> used_;
  int next_ = 0;
};

void resolve_level(const ir::Program &p, const ScheduleState &state, Level &level) {
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

Schedule resolve(const ir::Program &p, const Schedule &s) {
  Renamer renamer(p, s);
  std::unordered_map<uint64_t, const ir::Function *> by_id;
  for (const ir::Function &f : p.funcs) by_id[f.id] = &f;
  const auto fill = [&](std::string &func, uint64_t id) {
    if (!func.empty() || id == 0) return true;
    const auto it = by_id.find(id);
    if (it == by_id.end()) return false;
    func = it->second->name;
    return true;
  };
  Schedule out = s;
  out.directives.clear();
  for (Directive d : s.directives) {
    if (!fill(d.func, d.func_id)) continue;
    for (Arg &a : d.args) {
      if (a.kind == Arg::Kind::Level) fill(a.func, a.func_id);
      renamer.rename(a);
    }
    bool expanded = false;
    if (is_glob(d.func) && !p.find(d.func)) {
      for (const ir::Function &f : p.funcs) {
        if (!matches(d.func, f.name)) continue;
        if (out.directives.size() >= kMaxDirectives) {
          throw CompileError(
              Diagnostic("S0002", d.loc, "the schedule expands to more than 100000 directives"));
        }
        expanded = true;
        Directive copy = d;
        copy.func = f.name;
        out.directives.push_back(std::move(copy));
      }
    }
    if (!expanded) out.directives.push_back(std::move(d));
  }
  return out;
}

void finish(const ir::Program &p, ScheduleState &state) {
  for (auto &entry : state.funcs) {
    FuncState &s = entry.second;
    if (s.store.is_inlined()) s.store = s.compute;
    resolve_level(p, state, s.compute);
    resolve_level(p, state, s.store);
    resolve_level(p, state, s.hoist);
  }
}

}  // namespace calotype::schedule
