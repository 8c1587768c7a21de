// Judges compute_with: may these stages run in shared loops? Their Funcs must be computed at one place, must not read one
// another, and the shared loops must be alike. Then any order of the iterations of different members gives the same
// values, so that nothing else needs proof. Tests: test/unit/lower/compute_with_test.cpp.
#include <algorithm>
#include <set>

#include "loop_groups.h"
#include "placement.h"
#include "replay.h"

namespace calotype::schedule {

namespace {

using ir::Name;

class Sharing {
public:
  Sharing(const ir::Program &p, const ScheduleState &state) : p_(p), state_(state) {}

  std::vector<PlacementFault> run() {
    for (const ir::Function &f : p_.funcs) {
      for (int k = 0; k < f.stages(); k++) {
        const SharedLoops &s = state_.of(f.name).stages[k].shared;
        if (s.defined() && !judge(f, k, s)) return std::move(faults_);
      }
    }
    for (const ir::Function &f : p_.funcs) judge_order(f);
    return std::move(faults_);
  }

private:
  bool refuse(const ir::Function &f, int stage, const SharedLoops &s, std::string why,
              std::string help = {}, SrcLoc at = {}) {
    Diagnostic d(
        "S0133", s.loc,
        stage_name(f.name, stage) + " cannot share loops with " + stage_name(s.func, s.stage));
    d.why.push_back({std::move(why), at});
    if (!help.empty()) d.help.push_back(std::move(help));
    faults_.push_back({f.name, s.func, std::move(d)});
    return false;
  }

  static std::string level_text(const Level &l) {
    return l.is_root() ? "root" : l.is_inlined() ? "its readers" : l.func + "." + l.var;
  }

  bool judge(const ir::Function &f, int stage, const SharedLoops &s) {
    const ir::Function &g = *p_.find(s.func);
    const FuncState &fs = state_.of(f.name), &gs = state_.of(g.name);
    if (f.name == g.name) {
      return refuse(f, stage, s,
                    "stages of one Func run one after the other: each reads what the "
                    "one before has written");
    }
    if (gs.stages[s.stage].shared.defined()) {
      const SharedLoops &first = gs.stages[s.stage].shared;
      return refuse(f, stage, s,
                    stage_name(s.func, s.stage) + " itself shares loops with " +
                        stage_name(first.func, first.stage),
                    "share with " + stage_name(first.func, first.stage), first.loc);
    }
    for (const auto &[func, state] : {std::make_pair(&f, &fs), std::make_pair(&g, &gs)}) {
      if (state->compute.is_inlined() && !p_.is_output(func->name))
        return refuse(f, stage, s, func->name + " is computed inline: it has no loops of its own",
                      func->name + ".compute_root(), or compute_at a loop around all readers");
    }
    for (const auto &[func, state] : {std::make_pair(&f, &fs), std::make_pair(&g, &gs)}) {
      if (func->extern_stage() || state->memoize)
        return refuse(
            f, stage, s,
            func->name + (state->memoize ? " is memoized: it runs as a whole or not at all"
                                         : " is computed by a C function"));
    }
    const Level &a = fs.compute, &b = gs.compute;
    if (a.kind != b.kind || a.func != b.func || a.stage != b.stage || a.var != b.var) {
      return refuse(
          f, stage, s,
          f.name + " is computed at " + level_text(a) + ", " + g.name + " at " + level_text(b),
          "compute both at one place", a.loc);
    }
    for (const auto &[state, k] : {std::make_pair(&fs, stage), std::make_pair(&gs, s.stage)}) {
      const auto &special = state->stages[k].specializations;
      if (!special.empty())
        return refuse(f, stage, s, "one of them is specialized: its loops differ from run to run",
                      {}, special[0].loc);
    }
    return judge_reads(f, stage, s) && judge_loops(f, stage, s);
  }

  // Everything that a Func reads, directly or through others, with the Func through which.
  std::unordered_map<Name, Name> reads(Name func) const {
    std::unordered_map<Name, Name> through;
    std::vector<Name> work{func};
    while (!work.empty()) {
      const Name n = work.back();
      work.pop_back();
      for (const ir::Definition &d : p_.find(n)->definitions) {
        for (Name read : ir::called_funcs(d)) {
          if (read == n || !p_.find(read)) continue;
          if (through.emplace(read, n).second) work.push_back(read);
        }
      }
    }
    return through;
  }

  bool judge_reads(const ir::Function &f, int stage, const SharedLoops &s) {
    if (s.in_order) return true;
    for (Name a : funcs_sharing(p_, state_, f.name)) {
      const auto read = reads(a);
      for (Name b : funcs_sharing(p_, state_, f.name)) {
        const auto it = read.find(b);
        if (it == read.end()) continue;
        const std::string how = it->second == a ? "" : " through " + it->second;
        return refuse(f, stage, s,
                      a + " reads " + b + how +
                          ": an iteration would need values that later iterations compute",
                      "compute " + b + " at a loop of " + a + " instead: " + b + ".compute_at(" +
                          a + ", ...)",
                      p_.find(a)->loc);
      }
    }
    return true;
  }

  bool judge_loops(const ir::Function &f, int stage, const SharedLoops &s) {
    const ir::Function &g = *p_.find(s.func);
    const StageState &fs = state_.of(f.name).stages[stage], &gs = state_.of(g.name).stages[s.stage];
    const int i = find_loop(f, fs.loops, s.var), j = find_loop(g, gs.loops, s.var);
    if (i < 0 || j < 0) {
      const bool mine = i < 0;
      faults_.push_back(
          {f.name, s.func,
           no_such_loop("compute_with", s.loc, s.var,
                        mine ? stage_name(f.name, stage) : stage_name(s.func, s.stage),
                        mine ? fs : gs, false)});
      return false;
    }
    std::string mine, theirs;
    bool alike = fs.loops.size() - i == gs.loops.size() - j;
    for (size_t k = fs.loops.size(); k-- > static_cast<size_t>(i);) mine += describe(fs.loops[k]);
    for (size_t k = gs.loops.size(); k-- > static_cast<size_t>(j);) theirs += describe(gs.loops[k]);
    for (size_t k = 0; alike && i + k < fs.loops.size(); k++) {
      const Loop &l = fs.loops[i + k], &m = gs.loops[j + k];
      alike = l.kind == m.kind && l.var == m.var;
    }
    if (!alike) {
      return refuse(
          f, stage, s, "the loops to share are not alike:" + mine + " and" + theirs,
          "give both stages the same loops, by name and kind, from the outermost to " + s.var);
    }
    for (size_t k = static_cast<size_t>(i); k < fs.loops.size(); k++) {
      const Loop &l = fs.loops[k];
      if (l.kind != ir::ForType::Serial && l.kind != ir::ForType::Parallel)
        return refuse(f, stage, s,
                      "loop " + l.var +
                          " does not run as a loop: how long the shared one is "
                          "differs from run to run",
                      "share loops further out, or make it serial", l.loc);
    }
    for (const auto &[loop, align] : s.align) {
      (void)align;
      const int at = find_loop(f, fs.loops, loop);
      if (at >= i) continue;
      if (at < 0) {
        faults_.push_back(
            {f.name, s.func,
             no_such_loop("compute_with", s.loc, loop, stage_name(f.name, stage), fs, false)});
        return false;
      }
      return refuse(f, stage, s, "loop " + loop + " is not shared: it lies inside " + s.var);
    }
    return true;
  }

  static std::string describe(const Loop &l) {
    const char *kind = l.kind == ir::ForType::Parallel     ? "!p"
                       : l.kind == ir::ForType::Vectorized ? "!v"
                       : l.kind == ir::ForType::Unrolled   ? "!u"
                                                           : "";
    return " " + l.var + kind;
  }

  // Groups of several stages of the same Funcs may cross.
  void judge_order(const ir::Function &f) {
    const std::vector<Name> funcs = funcs_sharing(p_, state_, f.name);
    if (funcs.size() < 2 || funcs[0] != f.name) return;
    if (!order_of_stages(p_, state_, funcs).empty()) return;
    for (Name name : funcs) {
      for (size_t k = 0; k < state_.of(name).stages.size(); k++) {
        const SharedLoops &s = state_.of(name).stages[k].shared;
        if (!s.defined()) continue;
        refuse(*p_.find(name), static_cast<int>(k), s,
               "with the other compute_with of these Funcs no order of their stages is left",
               "share stages in the order in which each Func has them");
        return;
      }
    }
  }

  const ir::Program &p_;
  const ScheduleState &state_;
  std::vector<PlacementFault> faults_;
};

}  // namespace

std::vector<PlacementFault> sharing_faults(const ir::Program &p, const ScheduleState &state) {
  return Sharing(p, state).run();
}

}  // namespace calotype::schedule
