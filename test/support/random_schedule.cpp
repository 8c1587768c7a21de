// See random_schedule.h. Consumers come first, as their loops are the places where producers may be computed. Each
// schedule has a focus, one cell of the coverage table, that is tried first wherever it may fit; so a run covers all
// cells about equally often, whatever else is drawn.
#include "random_schedule.h"

#include <algorithm>
#include <functional>
#include <set>

#include "directive_draw.h"
#include "ir/visit.h"
#include "random_program.h"

namespace calotype::test {

using ir::Name;
using schedule::DirectiveKind;

namespace {

constexpr int64_t kInlineLimit = 300;  // nodes of an expression after inlining

// Nodes of f's pure values, with what `inlined` Funcs add.
int64_t inlined_size(const ir::Program &p, size_t func, const std::vector<int64_t> &inlined) {
  int64_t n = 0;
  for (const ir::Definition &d : p.funcs[func].definitions) {
    for (const Expr &e : d.values) {
      ir::for_each_expr(e, [&](const Expr &x) {
        n++;
        const auto *call = x.as<ir::Call>();
        if (!call || call->call_type != ir::CallType::Halide) return;
        for (size_t i = 0; i < func; i++) {
          if (p.funcs[i].name == call->name) n += inlined[i];
        }
      });
    }
  }
  return n;
}

bool is_bound(DirectiveKind k) {
  return k == DirectiveKind::bound || k == DirectiveKind::bound_extent ||
         k == DirectiveKind::align_bounds || k == DirectiveKind::align_extent;
}
bool is_placement(DirectiveKind k) {
  return k == DirectiveKind::compute_root || k == DirectiveKind::compute_at ||
         k == DirectiveKind::compute_inline;
}
bool needs_window(DirectiveKind k) {
  return k == DirectiveKind::store_at || k == DirectiveKind::store_root ||
         k == DirectiveKind::fold_storage || k == DirectiveKind::hoist_storage ||
         k == DirectiveKind::hoist_storage_root;
}
// Of inner Funcs only: where they are computed and stored.
bool is_inner_only(DirectiveKind k) {
  return is_placement(k) || needs_window(k) || k == DirectiveKind::reorder_storage ||
         k == DirectiveKind::store_in || k == DirectiveKind::align_storage ||
         k == DirectiveKind::bound_storage || k == DirectiveKind::memoize ||
         k == DirectiveKind::in || k == DirectiveKind::clone_in;
}
bool is_update_only(DirectiveKind k) {
  return k == DirectiveKind::rfactor || k == DirectiveKind::atomic ||
         k == DirectiveKind::allow_race_conditions;
}
bool takes_tail(DirectiveKind k) {
  for (const schedule::ParamSpec &s : schedule::params_of(k)) {
    if (s.kind == schedule::ParamSpec::Kind::Tail) return true;
  }
  return false;
}
// Those of a stage as a whole, not of one of its loops.
bool has_loop(DirectiveKind k) {
  for (const schedule::ParamSpec &s : schedule::params_of(k)) {
    using Kind = schedule::ParamSpec::Kind;
    if (s.kind == Kind::Var || s.kind == Kind::Vars) return true;
  }
  return k == DirectiveKind::rfactor;
}

class ScheduleMaker {
public:
  ScheduleMaker(const ir::Program &p, uint64_t seed, const ScheduleShape &shape)
      : dice_(seed),
        shape_(shape),
        draft_(p, get_host_target()),
        draw_(draft_, dice_, shape.mins, shape.extents) {
    static const std::vector<CoverageCell> cells = possible_cells();
    focus_ = dice_.pick(cells);
  }

  RandomSchedule make() {
    make_funcs();
    bounds();
    choose_inlined();
    std::vector<Name> order;
    for (const ir::Function &f : draft_.program().funcs) order.push_back(f.name);
    if (focus_.kind == DirectiveKind::compute_with || dice_.chance(15)) share(order);
    for (size_t i = order.size(); i-- > 0;) plan(order[i]);
    for (size_t i = order.size(); i-- > 0 && !focused_;) {
      if (!inlined_.count(order[i])) try_focus(order[i]);
    }
    return {draft_.text(), draft_.cells(), draft_.refused()};
  }

private:
  const ir::Function &func(Name f) const { return *draft_.program().find(f); }
  bool is_output(Name f) const { return draft_.program().is_output(f); }

  bool add(const std::string &line) {
    return !line.empty() && draft_.add(line, dice_.chance(8));  // rounding is hard to compare
  }
  bool try_line(DirectiveKind k, const Subject &s, int tries, const std::string &tail = "?",
                bool rvar = false) {
    for (int i = 0; i < tries; i++) {
      if (add(draw_.line(k, s, tail, rvar))) return true;
    }
    return false;
  }

  // ---- the focus ---------------------------------------------------------------------------------
  bool fits_focus(const Subject &s) const {
    if (s.stage > 0) return focus_.stage == "update" || focus_.stage == "rvar";
    return focus_.stage == (is_output(s.func) ? "output" : "inner");
  }
  bool try_focus(const Subject &s) {
    if (focused_ || !fits_focus(s)) return false;
    const bool rvar = focus_.stage == "rvar";
    if (rvar && takes_tail(focus_.kind) && dice_.chance(50))
      draft_.add(s.who + ".atomic()\n", false);
    if (focus_.kind == DirectiveKind::specialize_fail) try_line(DirectiveKind::specialize, s, 1);
    // In updates these ask for a promised extent that the factor divides.
    static const std::set<std::string> dividing = {"RoundUp", "ShiftInwards", "PredicateLoads"};
    if (s.stage > 0 && dividing.count(focus_.tail)) {
      for (int i = func(s.func).dimensions(); i > 0; i--)
        try_line(DirectiveKind::bound, subject(s.func, 0), 1);
    }
    focused_ = try_line(focus_.kind, s, 5, focus_.tail, rvar);
    return focused_;
  }
  void try_focus(Name f) {
    for (int k = 0; k < func(f).stages(); k++) try_focus(subject(f, k));
  }

  // ---- the whole -----------------------------------------------------------------------------------
  void make_funcs() {
    const std::vector<ir::Function> &funcs = draft_.program().funcs;
    if (schedule::makes_func(focus_.kind)) {
      for (int n = 0; n < 8 && !focused_; n++) {
        const ir::Function &f = dice_.pick(funcs);
        const int stage = focus_.kind == DirectiveKind::rfactor ? f.stages() - 1 : 0;
        focused_ = add(draw_.line(focus_.kind, subject(f.name, stage)));
      }
    }
    if (!dice_.chance(25)) return;
    for (int n = 1 + dice_.below(2); n > 0; n--) {
      const ir::Function f = dice_.pick(funcs);
      for (int k = 1; k < f.stages(); k++)
        add(draw_.line(DirectiveKind::rfactor, subject(f.name, k)));
      add(draw_.line(dice_.chance(50) ? DirectiveKind::in : DirectiveKind::clone_in,
                     subject(f.name, 0)));
    }
  }

  void bounds() {
    const std::vector<DirectiveKind> kinds = {DirectiveKind::bound, DirectiveKind::bound_extent,
                                              DirectiveKind::align_bounds,
                                              DirectiveKind::align_extent};
    std::vector<Name> names;
    for (const ir::Function &f : draft_.program().funcs) names.push_back(f.name);
    for (Name f : names) {
      if (is_bound(focus_.kind)) try_focus(f);
      if (dice_.chance(is_output(f) ? 12 : 5)) add(draw_.line(dice_.pick(kinds), subject(f, 0)));
    }
  }

  void choose_inlined() {
    const ir::Program &p = draft_.program();
    const int percent = dice_.pick(std::vector<int>{0, 20, 40, 80});
    std::vector<int64_t> sizes(p.funcs.size(), 0);
    for (size_t i = 0; i < p.funcs.size(); i++) {
      const ir::Function &f = p.funcs[i];
      if (p.is_output(f.name) || f.has_updates() || draft_.scheduled().of(f.name).touched) continue;
      const int64_t size = inlined_size(p, i, sizes);
      if (size > kInlineLimit || !dice_.chance(percent)) continue;
      inlined_.insert(f.name);
      sizes[i] = size;
    }
  }

  // ---- one Func --------------------------------------------------------------------------------------
  void place(Name f) {
    if (is_output(f) || placed_.count(f)) return;
    const bool inner = focus_.stage == "inner" && !focused_;
    const bool window = inner && needs_window(focus_.kind);
    if (inner && is_placement(focus_.kind) && try_focus(subject(f, 0))) {
      if (focus_.kind != DirectiveKind::compute_inline) return;
    }
    if (func(f).has_updates() && !window && dice_.chance(12)) return;  // where its readers are
    const Subject s = subject(f, 0);
    bool at = (window || dice_.chance(70)) && try_line(DirectiveKind::compute_at, s, 5);
    if (!at) add(s.who + ".compute_root()\n");
    if (!at) return;
    if (focus_.kind == DirectiveKind::fold_storage && window)
      try_line(DirectiveKind::store_root, s, 1) || try_line(DirectiveKind::store_at, s, 6);
    if (!dice_.chance(45)) return;
    if (dice_.chance(40) && try_line(DirectiveKind::store_root, s, 1)) return;
    try_line(DirectiveKind::store_at, s, 4);
  }

  void plan(Name f) {
    if (inlined_.count(f)) return;
    place(f);
    for (int k = 0; k < func(f).stages(); k++) {
      const Subject s = subject(f, k);
      if (!schedule::makes_func(focus_.kind) && !is_bound(focus_.kind) && dice_.chance(85))
        try_focus(s);
      if (k > 0 && dice_.chance(30)) try_line(DirectiveKind::atomic, s, 1);
      for (int n = dice_.below(shape_.most_directives + 1); n > 0; n--) add(some_directive(s));
      if (dice_.chance(10)) specialize(s, 0);
      if (dice_.chance(40)) try_line(DirectiveKind::vectorize, s, 2);
    }
    storage(f);
  }

  std::string some_directive(const Subject &s) {
    static const std::vector<std::pair<DirectiveKind, int>> kinds = {
        {DirectiveKind::split, 28},
        {DirectiveKind::vectorize, 18},
        {DirectiveKind::unroll, 12},
        {DirectiveKind::parallel, 14},
        {DirectiveKind::reorder, 22},
        {DirectiveKind::fuse, 10},
        {DirectiveKind::tile, 10},
        {DirectiveKind::rename, 4},
        {DirectiveKind::serial, 3},
        {DirectiveKind::partition, 3},
        {DirectiveKind::never_partition, 2},
        {DirectiveKind::never_partition_all, 2},
        {DirectiveKind::always_partition, 2},
        {DirectiveKind::always_partition_all, 2}};
    std::vector<int> weights;
    for (const auto &k : kinds) weights.push_back(k.second);
    const DirectiveKind kind = kinds[static_cast<size_t>(dice_.weighted(weights))].first;
    return draw_.line(kind, s, "?", s.stage > 0 && dice_.chance(50));
  }

  // A copy of the stage as it is now, with directives of its own.
  void specialize(const Subject &s, int depth) {
    const std::string c = draw_.condition();
    if (!add(s.who + ".specialize(" + c + ")\n")) return;
    const Subject copy = specialized(s, draft_, c);
    for (int n = 1 + dice_.below(3); n > 0; n--) add(some_directive(copy));
    if (depth < 1 && dice_.chance(20)) specialize(copy, depth + 1);
    if (dice_.chance(6)) try_line(DirectiveKind::specialize_fail, s, 1);
  }

  void storage(Name f) {
    if (is_output(f)) {
      if (dice_.chance(2)) add(f.str() + ".trace_stores()\n");
      return;
    }
    static const std::vector<DirectiveKind> rare = {
        DirectiveKind::store_in,          DirectiveKind::align_storage,
        DirectiveKind::hoist_storage,     DirectiveKind::fold_storage,
        DirectiveKind::bound_storage,     DirectiveKind::hoist_storage_root,
        DirectiveKind::memoize,           DirectiveKind::trace_loads,
        DirectiveKind::trace_realizations};
    if (dice_.chance(15)) add(draw_.line(DirectiveKind::reorder_storage, subject(f, 0)));
    if (dice_.chance(20)) add(draw_.line(dice_.pick(rare), subject(f, 0)));
  }

  // Does `f` read `g`, directly or through others?
  bool reads(Name f, Name g) const {
    for (const ir::Definition &d : func(f).definitions) {
      for (Name n : ir::called_funcs(d)) {
        if (n != f && draft_.program().find(n) && (n == g || reads(n, g))) return true;
      }
    }
    return false;
  }

  // Two Funcs at root whose outermost loops are alike, run together: neither may read the other.
  void share(const std::vector<Name> &order) {
    std::vector<std::pair<Name, Name>> pairs;
    for (Name f : order) {
      for (Name g : order) {
        const bool apart =
            f != g && !inlined_.count(f) && !inlined_.count(g) && !reads(f, g) && !reads(g, f);
        if (apart && func(f).dimensions() > 0 && func(g).dimensions() > 0 &&
            func(f).args.back() == func(g).args.back())
          pairs.emplace_back(f, g);
      }
    }
    for (int tries = 0; tries < 3 && !pairs.empty(); tries++) {
      const auto [f, g] = dice_.pick(pairs);
      for (Name n : {f, g}) {
        if (!is_output(n)) add(n.str() + ".compute_root()\n");
      }
      const Subject mine = subject(f, dice_.below(func(f).stages())),
                    other = subject(g, dice_.below(func(g).stages()));
      const std::string v = func(f).args.back();
      std::string loop = v;
      if (dice_.chance(50)) {
        const std::string more = dice_.pick(
            std::vector<std::string>{".parallel(" + v + ")\n", ".serial(" + v + ")\n",
                                     ".split(" + v + ", shared, inside, 4)\n",
                                     ".split(" + v + ", shared, inside, 3, GuardWithIf)\n"});
        const bool split = draft_.add(mine.who + more + other.who + more) &&
                           more.find("shared") != std::string::npos;
        if (split) loop = dice_.chance(50) ? "shared" : "inside";
      }
      const std::string align = dice_.pick(std::vector<std::string>{
          "", ", AlignStart", ", AlignEnd", ", NoAlign", ", {" + loop + ": AlignEnd}"});
      if (!add(mine.who + ".compute_with(" + other.who + ", " + loop + align + ")\n")) continue;
      focused_ |= focus_.kind == DirectiveKind::compute_with;
      placed_.insert(f);
      placed_.insert(g);
      return;
    }
  }

  Dice dice_;
  ScheduleShape shape_;
  ScheduleDraft draft_;
  DirectiveDraw draw_;
  CoverageCell focus_;
  bool focused_ = false;
  std::set<Name> inlined_, placed_;
};

}  // namespace

RandomSchedule random_schedule(const ir::Program &p, uint64_t seed, const ScheduleShape &shape) {
  return ScheduleMaker(p, seed, shape).make();
}

std::vector<CoverageCell> possible_cells() {
  static const std::vector<std::string> tails = {
      "-",       "Auto",         "GuardWithIf",          "Predicate",       "PredicateLoads",
      "RoundUp", "ShiftInwards", "ShiftInwardsAndBlend", "PredicateStores", "RoundUpAndBlend"};
  const std::set<std::string> of_rvars = {"-", "Auto", "GuardWithIf", "Predicate",
                                          "PredicateStores"};
  std::vector<CoverageCell> cells;
  const auto kind = [&](DirectiveKind k) {
    if (!schedule::is_available(k)) return;
    for (const std::string &stage : stage_kinds()) {
      const bool update = stage == "update" || stage == "rvar";
      if (update && schedule::is_func_level(k)) continue;
      if (update && schedule::makes_func(k) != (k == DirectiveKind::rfactor)) continue;
      if (!update && is_update_only(k)) continue;
      if (stage == "output" && is_inner_only(k)) continue;
      if (stage == "rvar" && !has_loop(k)) continue;
      if (stage == "update" && k == DirectiveKind::rfactor) continue;
      for (const std::string &tail : tails) {
        if (tail != "-" && !takes_tail(k)) break;
        if (stage == "rvar" && !of_rvars.count(tail)) continue;
        cells.push_back({k, tail, stage});
      }
    }
  };
#define DIRECTIVE(name, args, doc) kind(DirectiveKind::name);
#include "schedule/directives.def"
#undef DIRECTIVE
  return cells;
}

std::string plain_schedule(const ir::Program &p) {
  std::vector<int64_t> inlined(p.funcs.size(), 0);
  std::string text = "calotype 1\n";
  for (size_t i = 0; i < p.funcs.size(); i++) {
    const ir::Function &f = p.funcs[i];
    if (p.is_output(f.name)) continue;
    int64_t size = inlined_size(p, i, inlined);
    if (size > kInlineLimit || f.has_updates()) {
      text += f.name + ".compute_root()\n";
    } else {
      inlined[i] = size;
    }
  }
  return text;
}

}  // namespace calotype::test
