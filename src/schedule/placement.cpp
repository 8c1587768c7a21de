// Judges compute and store levels, and how loops may nest. Consumers are judged before their producers.
//
// A stage runs at its Func's sites: a site is a place inside a loop of a consumer's stage; a Func at root has none. A
// level "loop v of h" is legal if climbing from every reader, site by site, always meets that loop. Pure Funcs that are
// inlined vanish first: what they read is read by their readers. Inlined Funcs with updates run in their readers'
// innermost loop. Tests: test/unit/schedule/placement_test.cpp.
#include "placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "../ir/visit.h"
#include "legality.h"
#include "loop_groups.h"
#include "replay.h"

namespace calotype::schedule {

namespace {

using ir::ForType;

// A place in the loops of one variant of a stage (variants_of: specializations): in the body of loop `loop`; -1: inside
// all of them.
struct Site {
  int func, stage, variant, loop;
  bool operator<(const Site &o) const {
    return std::tie(func, stage, variant, loop) < std::tie(o.func, o.stage, o.variant, o.loop);
  }
};

// A loop that climbing looks for, and the stages in which it was met.
struct Goal {
  int func, stage;
  std::string var;
  std::set<Site> *met = nullptr;
};

struct FuncInfo {
  const ir::Function *f = nullptr;
  const FuncState *s = nullptr;
  std::vector<std::vector<const StageState *>> variants;  ///< of each stage
  bool substituted = false;                               ///< inlined and pure: it vanishes
  std::vector<Site>
      readers;  ///< stages that read it, after substitution (none if it vanishes); loop == -1
  std::vector<Site> direct;    ///< stages that read it before substitution
  std::vector<Site> sites;     ///< empty: at root
  bool misplaced = false;      ///< its level was refused: nothing follows from it
  bool inside_vector = false;  ///< runs in a vectorised loop
};

class Placement {
public:
  Placement(const ir::Program &p, const ScheduleState &state) : p_(p), state_(state) {}

  std::vector<PlacementFault> run() {
    collect();
    for (size_t i = info_.size(); i-- > 0;) judge(static_cast<int>(i));
    for (const auto &[last, names] : funcs_between(p_, state_)) {
      for (ir::Name n : names) judge_between_members(index_.at(n), index_.at(last));
    }
    std::stable_sort(faults_.begin(), faults_.end(),
                     [&](const PlacementFault &a, const PlacementFault &b) {
                       return index_.at(a.func) < index_.at(b.func);
                     });
    return std::move(faults_);
  }

private:
  // ---- who reads whom ----------------------------------------------------------------------------
  static std::vector<ir::Name> calls_of(const ir::Function &f, const ir::Definition &d) {
    std::set<ir::Name> names;
    const auto walk = [&](const Expr &e) {
      if (!e.defined()) return;
      ir::for_each_expr(e, [&](const Expr &x) {
        const auto *call = x.as<ir::Call>();
        if (call && call->call_type == ir::CallType::Halide && call->name != f.name)
          names.insert(call->name);
      });
    };
    for (const Expr &e : d.args) walk(e);
    for (const Expr &e : d.values) walk(e);
    walk(d.predicate);
    return {names.begin(), names.end()};
  }

  void collect() {
    info_.resize(p_.funcs.size());
    for (size_t i = 0; i < info_.size(); i++) {
      FuncInfo &info = info_[i];
      info.f = &p_.funcs[i];
      info.s = &state_.of(info.f->name);
      info.substituted =
          info.s->compute.is_inlined() && !info.f->has_updates() && !p_.is_output(info.f->name);
      index_[info.f->name] = static_cast<int>(i);
      for (const StageState &stage : info.s->stages) info.variants.push_back(variants_of(stage));
    }
    for (const ir::Function &f : p_.funcs) {
      for (int stage = 0; stage < f.stages(); stage++) {
        if (!state_.of(f.name).stages[stage].shared.in_order) continue;
        const auto group = group_of(p_, state_, f.name, stage);
        for (const GroupMember &m : group) in_order_[{index_.at(m.func), m.stage}] = group;
      }
    }
    // Producers come first, so what a substituted Func reads is known when its readers ask.
    std::vector<std::set<int>> through(info_.size());
    for (size_t i = 0; i < info_.size(); i++) {
      const ir::Function &f = *info_[i].f;
      for (int stage = 0; stage < f.stages(); stage++) {
        std::set<int> reads;
        for (ir::Name name : calls_of(f, f.definitions[stage])) {
          const auto it = index_.find(name);
          if (it == index_.end()) continue;
          info_[it->second].direct.push_back({static_cast<int>(i), stage, 0, -1});
          if (info_[it->second].substituted) {
            reads.insert(through[it->second].begin(), through[it->second].end());
          } else {
            reads.insert(it->second);
          }
        }
        if (info_[i].substituted) {
          through[i] = std::move(reads);
        } else {
          for (int j : reads) add_readers(j, static_cast<int>(i), stage);
        }
      }
    }
  }

  void add_readers(int producer, int func, int stage) {
    for (size_t v = 0; v < info_[func].variants[stage].size(); v++)
      info_[producer].readers.push_back({func, stage, static_cast<int>(v), -1});
  }

  // ---- climbing ----------------------------------------------------------------------------------
  const StageState &state_of(int func, int stage, int variant) const {
    return *info_[func].variants[stage][variant];
  }
  const std::vector<Loop> &loops_of(const Site &at) const {
    return state_of(at.func, at.stage, at.variant).loops;
  }
  int loop_index(int func, int stage, int variant, const std::string &var) const {
    return find_loop(*info_[func].f, state_of(func, stage, variant).loops, var);
  }
  // The first variant of a stage that has a loop of this name; -1: none.
  int variant_with(int func, int stage, const std::string &var) const {
    for (size_t v = 0; v < info_[func].variants[stage].size(); v++) {
      if (loop_index(func, stage, static_cast<int>(v), var) >= 0) return static_cast<int>(v);
    }
    return -1;
  }

  // The loop of the stage at `from` that is the goal's: its own, or, in an in-order group, the one it shares with the
  // goal's stage. -1: none.
  int goal_loop(const Site &from, const Goal &goal) const {
    if (from.func == goal.func) {
      if (goal.stage >= 0 && goal.stage != from.stage) return -1;
      return loop_index(from.func, from.stage, from.variant, goal.var);
    }
    if (goal.func < 0) return -1;
    const auto at = in_order_.find({from.func, from.stage});
    if (at == in_order_.end()) return -1;
    const std::vector<GroupMember> &group = at->second;
    for (const GroupMember &m : group) {
      const bool there = m.func == info_[goal.func].f->name && goal.stage == m.stage;
      if (!there) continue;
      const int depth = static_cast<int>(info_[goal.func].s->stages[m.stage].loops.size()) -
                        loop_index(goal.func, m.stage, 0, goal.var);
      const int i = static_cast<int>(loops_of(from).size()) - depth;
      return depth <= std::max(group[0].depth, m.depth) ? i : -1;
    }
    return -1;
  }

  // Does every run of the code at `from` lie inside the goal's loop?
  bool inside(const Site &from, const Goal &goal, std::map<Site, bool> &memo) const {
    const int i = goal_loop(from, goal);
    if (i >= 0 && from.loop <= i) {
      if (goal.met) goal.met->insert({from.func, from.stage, from.variant, i});
      return true;
    }
    if (from.func == goal.func) return false;
    const auto it = memo.find(from);
    if (it != memo.end()) return it->second;
    const std::vector<Site> &sites = info_[from.func].sites;
    bool all = !sites.empty();
    for (const Site &site : sites) all = inside(site, goal, memo) && all;
    return memo[from] = all;
  }

  bool all_readers_inside(const FuncInfo &info, const Goal &goal,
                          const Site **outside = nullptr) const {
    std::map<Site, bool> memo;
    const Site *first = nullptr;  // by name: the order of Funcs is not the same in C++ and in text
    for (const Site &reader : info.readers) {
      if (inside(reader, goal, memo)) continue;
      if (!outside) return false;
      if (!first || name_of(reader.func) < name_of(first->func)) first = &reader;
    }
    if (first) *outside = first;
    return !first;
  }

  // Calls visit(site of the loop) for the loops around `from`, innermost first, until it returns false.
  template <typename F> bool climb(const Site &from, std::set<Site> &seen, const F &visit) const {
    if (!seen.insert(from).second) return true;
    const auto &loops = loops_of(from);
    for (size_t i = from.loop < 0 ? 0 : from.loop; i < loops.size(); i++) {
      if (!visit(Site{from.func, from.stage, from.variant, static_cast<int>(i)})) return false;
    }
    for (const Site &site : info_[from.func].sites) {
      if (!climb(site, seen, visit)) return false;
    }
    return true;
  }

  // ---- messages ----------------------------------------------------------------------------------
  std::string name_of(int func) const { return info_[func].f->name; }
  std::string full_loop(const Site &at) const {
    return name_of(at.func) + "." + loops_of(at)[at.loop].var;
  }
  std::string stage_text(const Site &at) const {
    return variant_name(name_of(at.func), at.stage, state_of(at.func, at.stage, at.variant));
  }
  std::string level_text(const Level &l) const {
    if (l.is_root()) return "root";
    if (l.is_inlined()) return "its readers";
    return l.func + "." + l.var;
  }

  // "sharpen.y > blur_y.yo > blur_y.yi": the loops around a stage of `func`, outermost first.
  std::string loops_around(int func, int stage, int variant = 0) const {
    std::vector<std::string> inner_first;
    std::set<Site> seen;
    Site at{func, stage, variant, -1};
    while (seen.insert(at).second && inner_first.size() < 64) {
      const auto &loops = loops_of(at);
      for (size_t i = at.loop < 0 ? 0 : at.loop; i < loops.size(); i++) {
        inner_first.push_back(full_loop({at.func, at.stage, at.variant, static_cast<int>(i)}));
      }
      if (info_[at.func].sites.empty()) break;
      at = info_[at.func].sites[0];
    }
    std::string text;
    for (size_t i = inner_first.size(); i-- > 0;) text += inner_first[i] + (i ? " > " : "");
    return text;
  }

  std::string readers_text(const FuncInfo &info) const {
    std::string text = "reads: ";
    for (size_t i = 0; i < info.readers.size() && i < 8; i++) {
      const Site &r = info.readers[i];
      const SrcLoc loc = info_[r.func].f->definitions[r.stage].loc;
      text += (i ? ", " : "") + stage_text(r);
      if (loc.defined()) text += " (" + to_string(loc) + ")";
    }
    if (info.readers.size() > 8) text += ", ...";
    return text;
  }

  // Loops of which a producer may be computed, near its readers first.
  std::vector<std::string> legal_places(const FuncInfo &info) const {
    std::vector<std::string> places;
    if (info.readers.empty()) return places;
    int tries = 0;
    std::set<Site> seen;
    climb(info.readers[0], seen, [&](const Site &at) {
      const Goal goal{at.func, -1, loops_of(at)[at.loop].var};
      if (!vector_around(at) && all_readers_inside(info, goal)) {
        const std::string place = "compute_at(" + name_of(at.func) + ", " + goal.var + ")";
        if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
      }
      return places.size() < 4 && ++tries < 64;
    });
    return places;
  }

  std::string help_for(const FuncInfo &info) const {
    std::string text = "use compute_root()";
    for (const std::string &place : legal_places(info)) text += ", or " + place;
    return text;
  }

  void fault(int func, ir::Name consumer, Diagnostic d) {
    faults_.push_back({info_[func].f->name, consumer, std::move(d)});
  }

  // ---- one Func ----------------------------------------------------------------------------------
  void judge(int i) {
    FuncInfo &info = info_[i];
    if (info.substituted) return judge_substituted(i);
    if (info.s->compute.kind == Level::Kind::At) {
      judge_compute_at(i);
    } else if (info.s->compute.is_inlined()) {
      for (const Site &r : info.readers)
        info.sites.push_back({r.func, r.stage, r.variant, loops_of(r).empty() ? -1 : 0});
    }
    for (const Site &site : info.sites) {
      info.inside_vector |= vector_around(site);
      info.misplaced |= info_[site.func].misplaced;
    }
    if (!info.misplaced && judge_store(i)) judge_hoist(i);
    judge_loops(i);
  }

  // The stages that would read a substituted Func if it were computed.
  void find_readers(int i) {
    std::set<int> seen{i};
    std::vector<int> work{i};
    std::set<std::pair<int, int>> readers;
    while (!work.empty()) {
      const int j = work.back();
      work.pop_back();
      for (const Site &r : info_[j].direct) {
        if (!info_[r.func].substituted) {
          readers.insert({r.func, r.stage});
        } else if (seen.insert(r.func).second) {
          work.push_back(r.func);
        }
      }
    }
    info_[i].readers.clear();
    for (const auto &r : readers) add_readers(i, r.first, r.second);
  }

  void judge_substituted(int i) {
    const FuncInfo &info = info_[i];
    if (info.s->store.is_inlined() && info.s->hoist.is_inlined() && !info.s->touched) return;
    find_readers(i);
    const FuncState &s = *info.s;
    const std::string name = info.f->name;
    if (!s.store.is_inlined()) {
      Diagnostic d("S0115", s.store.loc, name + " has a storage level but is computed inline");
      d.why.push_back(
          {"compute_root or compute_at is missing: an inlined Func has no storage", {}});
      d.help.push_back("add " + name + "." + help_for(info).substr(4));
      return fault(i, {}, std::move(d));
    }
    SrcLoc loc = s.loops_loc.defined() ? s.loops_loc : s.storage_loc;
    if (!loc.defined() && !s.bounds.empty()) loc = s.bounds[0].loc;
    Diagnostic d(
        "S0108", loc,
        "a directive on the loops or storage of " + name + ", which is inlined and has none");
    d.why.push_back({name + " is substituted where it is read", info.f->loc});
    d.help.push_back("compute it somewhere: " + help_for(info).substr(4));
    fault(i, {}, std::move(d));
  }

  bool vector_around(const Site &site) const {
    const auto &loops = loops_of(site);
    for (size_t i = site.loop < 0 ? 0 : site.loop; i < loops.size(); i++) {
      if (loops[i].kind == ForType::Vectorized) return true;
    }
    return info_[site.func].inside_vector;
  }

  void refuse_level(int i, const Level &l, Diagnostic d) {
    d.help.push_back(help_for(info_[i]));
    info_[i].misplaced = true;
    fault(i, l.func, std::move(d));
  }

  // The consumer that a level names, or -1 after saying what is wrong with it.
  int consumer_of(int i, const Level &l, const char *verb) {
    const FuncInfo &info = info_[i];
    const std::string what = info.f->name + " cannot be " + verb + " at " + level_text(l);
    const auto it = index_.find(l.func);
    if (it == index_.end()) {
      refuse_level(i, l, no_such_func(l.func, p_, l.loc));
      return -1;
    }
    const int h = it->second;
    if (h == i) {
      refuse_level(i, l,
                   Diagnostic("S0104", l.loc, what)
                       .because("that is a loop of " + info.f->name + " itself"));
      return -1;
    }
    if (info_[h].substituted) {
      refuse_level(i, l,
                   Diagnostic("S0104", l.loc, what)
                       .because(l.func + " is inlined: it has no loops, its readers compute it",
                                info_[h].f->loc));
      return -1;
    }
    bool known = false;
    for (int stage = 0; stage < info_[h].f->stages(); stage++) {
      known |= (l.stage < 0 || l.stage == stage) && variant_with(h, stage, l.var) >= 0;
    }
    if (known) return h;
    const int stage = l.stage < 0 ? 0 : l.stage;
    Diagnostic d = no_such_loop(verb == std::string("stored") ? "store_at" : "compute_at", l.loc,
                                l.var, stage_name(l.func, stage), info_[h].s->stages[stage], false);
    info_[i].misplaced = true;
    if (d.help.empty()) d.help.push_back(help_for(info));
    fault(i, l.func, std::move(d));
    return -1;
  }

  void judge_compute_at(int i) {
    FuncInfo &info = info_[i];
    const Level &l = info.s->compute;
    const int h = consumer_of(i, l, "computed");
    if (h < 0) return;
    std::set<Site> places;
    const Site *outside = nullptr;
    if (info_[h].misplaced) return drop(i);
    const Goal goal{h, l.stage, l.var, &places};
    if (!all_readers_inside(info, goal, &outside)) {
      if (info_[outside->func].misplaced) return drop(i);
      return refuse_outside(i, h, *outside);
    }
    for (const Site &site : places) {
      if (vector_around(site)) return refuse_in_vector(i, site.func, site);
      info.sites.push_back(site);
    }
  }

  // What a pass's later stages read of earlier ones exists inside the pass alone, one block at a time.
  void judge_between_members(int i, int last) {
    const FuncInfo &info = info_[i];
    if (info.substituted || info.misplaced || info_[last].misplaced) return;
    const StageState &update = info_[last].s->stages[1];
    const Goal goal{last, 1, update.loops.back().var};
    std::map<Site, bool> memo;
    bool within = !info.sites.empty();
    for (const Site &site : info.sites) within = inside(site, goal, memo) && within;
    if (within) return;
    Diagnostic d("S0816", info.s->compute.loc.defined() ? info.s->compute.loc : info.f->loc,
                 info.f->name + " cannot be computed at " + level_text(info.s->compute));
    d.why.push_back(
        {"it reads what the pass has computed so far, which exists in the block loop alone",
         info.f->loc});
    d.help.push_back("compute it inside the block loop: compute_at(" + name_of(last) +
                     ".update(0), " + goal.var + ")");
    fault(i, name_of(last), std::move(d));
  }

  // The consumer's own place was refused: no judgement.
  void drop(int i) { info_[i].misplaced = true; }

  void refuse_outside(int i, int h, const Site &outside) {
    const FuncInfo &info = info_[i];
    const Level &l = info.s->compute;
    Diagnostic d("S0104", l.loc, info.f->name + " cannot be computed at " + level_text(l));
    const std::string reader = stage_text(outside);
    const bool alone = info.readers.size() == 1;
    const bool other_branch = outside.func == h && variant_with(h, outside.stage, l.var) >= 0 &&
                              loop_index(h, outside.stage, outside.variant, l.var) < 0;
    if (other_branch) {
      const StageState &branch = state_of(h, outside.stage, outside.variant);
      d.why.push_back({(branch.assumed.empty() ? reader + " without a specialization" : reader) +
                           " has no loop " + l.var + "; its loops: " + loop_list(branch),
                       {}});
    }
    d.why.push_back({reader + (alone ? " reads " : " also reads ") + info.f->name +
                         ", and it runs outside the loop " + level_text(l),
                     {}});
    d.why.push_back({readers_text(info), {}});
    int stage = l.stage;
    for (int s = 0; stage < 0 && s < info_[h].f->stages(); s++) {
      if (variant_with(h, s, l.var) >= 0) stage = s;
    }
    stage = std::max(stage, 0);
    d.why.push_back(
        {"loops: " + loops_around(h, stage, std::max(variant_with(h, stage, l.var), 0)), {}});
    const std::vector<std::string> places = legal_places(info);
    std::string help = "use a loop around all readers: compute_root()";
    for (const std::string &place : places) help += ", or " + place;
    d.help.push_back(std::move(help));
    info_[i].misplaced = true;
    fault(i, l.func, std::move(d));
  }

  void refuse_in_vector(int i, int h, const Site &site) {
    const Level &l = info_[i].s->compute;
    Diagnostic d("S0104", l.loc, info_[i].f->name + " cannot be computed at " + level_text(l));
    const auto &loops = loops_of(site);
    const Loop *vector = nullptr;
    for (size_t k = site.loop < 0 ? 0 : site.loop; k < loops.size(); k++) {
      if (loops[k].kind == ForType::Vectorized) vector = &loops[k];
    }
    if (vector) {
      d.why.push_back(
          {"loop " + l.func + "." + vector->var + " is vectorised: its iterations run as one",
           vector->loc});
    } else {
      d.why.push_back({l.func + " runs inside a vectorised loop of its reader", {}});
    }
    d.why.push_back({"loops: " + loops_around(h, site.stage, site.variant), {}});
    refuse_level(i, l, std::move(d));
  }

  // ---- storage -----------------------------------------------------------------------------------
  bool judge_store(int i) {
    const FuncInfo &info = info_[i];
    const Level &store = info.s->store, &compute = info.s->compute;
    if (store.is_inlined() || (store.is_root() && compute.is_root())) return true;
    const std::string name = info.f->name;
    if (compute.is_inlined()) {
      Diagnostic d(
          "S0115", store.loc,
          name + " is stored at " + level_text(store) + " but no computation level was given");
      d.why.push_back({"compute_root or compute_at is missing", {}});
      d.help.push_back("add " + name + "." + help_for(info).substr(4));
      fault(i, store.func, std::move(d));
      return false;
    }
    Goal goal{-1, -1, {}};
    if (store.kind == Level::Kind::At) {
      const int h = consumer_of(i, store, "stored");
      if (h < 0) return false;
      goal = {h, store.stage, store.var};
      std::map<Site, bool> memo;
      bool contained = !compute.is_root();
      for (const Site &site : info.sites) contained = contained && inside(site, goal, memo);
      if (!contained) return refuse_store(i), false;
    }
    for (const Site &site : info.sites) {
      if (!judge_between(i, site, goal, store)) return false;
    }
    return true;
  }

  // Memory around the storage level, with no parallel loop between.
  void judge_hoist(int i) {
    const FuncInfo &info = info_[i];
    const Level &hoist = info.s->hoist, &store = info.s->store;
    if (hoist.is_inlined()) return;
    if (store.is_inlined()) {
      Diagnostic d("S0115", hoist.loc,
                   "the storage of " + info.f->name + " is hoisted, but it has no level");
      d.why.push_back({"it is computed in its readers' innermost loop", {}});
      d.help.push_back("add " + info.f->name + "." + help_for(info).substr(4));
      return fault(i, hoist.func, std::move(d));
    }
    Goal goal{-1, -1, {}};
    if (hoist.kind == Level::Kind::At) {
      const int h = consumer_of(i, hoist, "stored");
      if (h < 0) return;
      goal = {h, hoist.stage, hoist.var};
      std::map<Site, bool> memo;
      bool contained = !store.is_root();
      for (const Site &site : info.sites) {
        contained = contained && inside(site, goal, memo) && !store_outside(site, store, goal);
      }
      if (!contained) {
        Diagnostic d("S0115", hoist.loc,
                     "the storage of " + info.f->name + " is hoisted to " + level_text(hoist) +
                         " but begins at " + level_text(store));
        d.why.push_back({"it must be hoisted to its storage level or a loop around it", store.loc});
        d.help.push_back("hoist it further out, or leave hoist_storage away");
        return fault(i, hoist.func, std::move(d));
      }
    }
    for (const Site &site : info.sites) {
      if (!judge_between(i, site, goal, hoist)) return;
    }
  }

  // Does the storage level lie outside of the goal, seen from this computation?
  bool store_outside(const Site &from, const Level &store, const Goal &goal) const {
    if (store.kind != Level::Kind::At) return true;
    std::set<Site> seen;
    bool met = false;
    climb_until(from, goal, seen, [&](const Site &at) {
      met |=
          info_[at.func].f->name == store.func && loops_of(at)[at.loop].var == full_var(at, store);
      return true;
    });
    const bool same = info_[goal.func].f->name == store.func && goal.var == store.var;
    return !met && !same;
  }
  std::string full_var(const Site &at, const Level &l) const {
    const int k = loop_index(at.func, at.stage, at.variant, l.var);
    return k < 0 ? std::string() : loops_of(at)[k].var.str();
  }

  void refuse_store(int i) {
    const FuncInfo &info = info_[i];
    const Level &store = info.s->store, &compute = info.s->compute;
    Diagnostic d("S0115", store.loc,
                 info.f->name + " is stored at " + level_text(store) + " but computed at " +
                     level_text(compute));
    d.why.push_back(
        {"the storage level must be the computation level or a loop around it", compute.loc});
    for (const Site &site : info.sites) {
      d.why.push_back({"loops: " + loops_around(site.func, site.stage, site.variant), {}});
      break;
    }
    d.help.push_back(
        "store it further out, or leave the storage level away: it is then the computation level");
    fault(i, store.func, std::move(d));
  }

  // No parallel loop from inside the store level (goal; func -1: root) down to the computation at `site`.
  bool judge_between(int i, const Site &site, const Goal &goal, const Level &outer) {
    std::set<Site> seen;
    const Loop *parallel = nullptr;
    std::string where;
    const bool passed = climb_until(site, goal, seen, [&](const Site &at) {
      const Loop &l = loops_of(at)[at.loop];
      if (l.kind != ForType::Parallel) return true;
      parallel = &l;
      where = full_loop(at);
      return false;
    });
    if (passed) return true;
    const FuncInfo &info = info_[i];
    Diagnostic d("S0107", outer.loc,
                 info.f->name + " is stored at " + level_text(outer) + " and computed at " +
                     level_text(info.s->compute) + ", with the parallel loop " + where +
                     " between");
    d.why.push_back({"iterations of " + where + " run at once and would write the same storage",
                     parallel->loc});
    d.why.push_back({"loops: " + loops_around(site.func, site.stage, site.variant), {}});
    d.help.push_back("store it inside the parallel loop: " + inside_parallel(site, where));
    fault(i, outer.func, std::move(d));
    return false;
  }

  std::string inside_parallel(const Site &site, const std::string &where) const {
    std::string help;
    std::set<Site> seen;
    climb(site, seen, [&](const Site &at) {
      help = "store_at(" + name_of(at.func) + ", " + loops_of(at)[at.loop].var + ")";
      return full_loop(at) != where;
    });
    return help;
  }

  template <typename F>
  bool climb_until(const Site &from, const Goal &goal, std::set<Site> &seen, const F &visit) const {
    if (!seen.insert(from).second) return true;
    const auto &loops = loops_of(from);
    size_t end = loops.size();
    const int found = goal_loop(from, goal);
    const bool there = found >= 0 || from.func == goal.func;
    if (found >= 0) end = static_cast<size_t>(found);
    for (size_t i = from.loop < 0 ? 0 : from.loop; i < end; i++) {
      if (!visit(Site{from.func, from.stage, from.variant, static_cast<int>(i)})) return false;
    }
    if (there) return true;
    for (const Site &site : info_[from.func].sites) {
      if (!climb_until(site, goal, seen, visit)) return false;
    }
    return true;
  }

  // ---- how loops nest ----------------------------------------------------------------------------
  void judge_loops(int i) {
    const FuncInfo &info = info_[i];
    for (int stage = 0; stage < info.f->stages(); stage++) {
      for (size_t v = 0; v < info.variants[stage].size(); v++) {
        const Site at{i, stage, static_cast<int>(v), -1};
        if (!judge_nesting(at)) break;  // one mistake, not one for each specialization
        if (!judge_extents(at)) break;
        if (!judge_partition(at)) break;
      }
    }
  }

  // A loop that runs as lanes or copies is no loop that could be cut.
  bool judge_partition(const Site &at) {
    for (const Loop &l : loops_of(at)) {
      const bool vector = l.kind == ForType::Vectorized;
      if (l.partition != Partition::Always || (!vector && l.kind != ForType::Unrolled)) continue;
      Diagnostic d("S0117", l.partition_loc,
                   "loop " + l.var + " of " + stage_text(at) + " cannot be partitioned");
      d.why.push_back({vector ? "it is vectorised: its iterations are lanes"
                              : "it is unrolled: its iterations are copies of the body",
                       l.loc});
      d.help.push_back("partition a loop around it");
      fault(at.func, {}, std::move(d));
      return false;
    }
    return true;
  }

  bool judge_nesting(const Site &at) {
    const int i = at.func;
    const FuncInfo &info = info_[i];
    const auto &loops = loops_of(at);
    const std::string name = stage_text(at);
    const Loop *outer = nullptr;
    for (size_t k = loops.size(); k-- > 0;) {
      const Loop &l = loops[k];
      const bool vector = l.kind == ForType::Vectorized, parallel = l.kind == ForType::Parallel;
      if ((vector || parallel) && (outer || info.inside_vector)) {
        const std::string word = vector ? "vectorised" : "parallel";
        Diagnostic d("S0112", l.loc,
                     word + " loop " + l.var + " of " + name + " lies inside a vectorised loop");
        if (outer)
          d.why.push_back(
              {"loop " + outer->var + " is vectorised too: one stage has one vector loop",
               outer->loc});
        if (!outer)
          d.why.push_back({name + " is computed inside a vectorised loop of its reader", {}});
        d.help.push_back("unroll one of them, or leave it serial");
        fault(i, {}, std::move(d));
        return false;
      }
      if (vector) outer = &l;
    }
    return true;
  }

  bool judge_extents(const Site &at) {
    const int i = at.func, stage = at.stage;
    const FuncInfo &info = info_[i];
    const StageState &state = state_of(i, stage, at.variant);
    const auto known = constant_extents(*info.f, info.s->bounds, state, stage);
    const bool output = p_.is_output(info.f->name);
    int64_t copies = 1;
    bool ok = true;
    for (const Loop &l : state.loops) {
      const bool vector = l.kind == ForType::Vectorized;
      if (!vector && l.kind != ForType::Unrolled) continue;
      const auto it = known.find(l.var);
      // A producer's extents may turn out constant when its region is known: lowering judges those.
      if (it == known.end()) {
        if (output || l.reduction) refuse_extent(at, l);
        ok = ok && !(output || l.reduction);
        continue;
      }
      const int64_t most = vector ? kMaxLanes : kMaxUnrolled;
      if (!vector)
        copies = std::min<int64_t>(copies, kMaxUnrolled) *
                 std::min<int64_t>(it->second, kMaxUnrolled + 1);
      if (it->second > most || copies > kMaxUnrolled) {
        Diagnostic d("S0112", l.loc,
                     "loop " + l.var + " of " + stage_text(at) + " is too long to be " +
                         (vector ? "vectorised" : "unrolled"));
        d.why.push_back({"its extent is " + std::to_string(it->second) + "; at most " +
                             std::to_string(most) + (vector ? " lanes" : " copies of a stage") +
                             " are made",
                         {}});
        d.help.push_back(std::string("use ") + (vector ? "vectorize" : "unroll") + "(" + l.var +
                         ", n)");
        fault(i, {}, std::move(d));
        return false;
      }
    }
    return ok;
  }

  void refuse_extent(const Site &at, const Loop &l) {
    const int i = at.func, stage = at.stage;
    const FuncInfo &info = info_[i];
    const bool vector = l.kind == ForType::Vectorized;
    const std::string word = vector ? "vectorize" : "unroll";
    Diagnostic d("S0112", l.loc,
                 "loop " + l.var + " of " + stage_text(at) + " cannot be " +
                     (vector ? "vectorised" : "unrolled") + ": its extent is not constant");
    std::string help = "use " + word + "(" + l.var + ", n)";
    const auto roots = root_vars(*info.f, state_of(i, stage, at.variant), stage).at(l.var);
    const auto &args = info.f->args;
    if (roots.size() == 1 && std::find(args.begin(), args.end(), roots[0]) != args.end()) {
      help += ", or promise its extent: bound_extent(" + roots[0] + ", n)";
    }
    d.why.push_back({l.reduction ? "its RDom's extent is known when the pipeline runs"
                                 : "the caller decides the size of an output",
                     {}});
    d.help.push_back(std::move(help));
    fault(i, {}, std::move(d));
  }

  const ir::Program &p_;
  const ScheduleState &state_;
  std::vector<FuncInfo> info_;
  std::map<ir::Name, int> index_;
  std::map<std::pair<int, int>, std::vector<GroupMember>> in_order_;  ///< func, stage -> its group
  std::vector<PlacementFault> faults_;
};

}  // namespace

std::vector<PlacementFault> placement_faults(const ir::Program &p, const ScheduleState &state) {
  std::vector<PlacementFault> faults = Placement(p, state).run();
  if (faults.empty()) faults = sharing_faults(p, state);
  if (faults.empty()) faults = prefetch_faults(p, state);
  if (faults.empty()) faults = async_faults(p, state);
  return faults;
}

std::vector<Diagnostic> check_placement(const ir::Program &p, const ScheduleState &state,
                                        const Target &) {
  std::vector<Diagnostic> all;
  for (PlacementFault &fault : placement_faults(p, state))
    all.push_back(std::move(fault.diagnostic));
  return all;
}

}  // namespace calotype::schedule
