// See random_schedule.h. Consumers come first, as their loops are the places where producers may be computed.
#include "random_schedule.h"

#include <algorithm>
#include <set>

#include "base/diagnostic.h"
#include "ir/visit.h"
#include "random_program.h"
#include "schedule/apply.h"
#include "schedule/associative.h"
#include "schedule/text.h"

namespace calotype::test {

using ir::Name;

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

enum class Kind { Serial, Parallel, Vectorized, Unrolled };

struct Loop {
  std::string name;
  Kind kind = Kind::Serial;
  bool reduction = false;
  int64_t extent = -1;  // -1: not known
};
struct Site {
  int func, stage, loop;  // in the body of this loop; -1: inside all
};
struct FuncPlan {
  std::vector<std::vector<Loop>> stages;  // innermost first
  std::vector<Site> sites;
  std::vector<Site> readers;
  bool vanishes = false;
};

class ScheduleMaker {
public:
  ScheduleMaker(const ir::Program &p, uint64_t seed, const ScheduleShape &shape)
      : dice_(seed), shape_(shape) {
    scheduled_.program = p;
    scheduled_.state = schedule::initial_state(p);
    make_funcs(p);
    for (size_t i = 0; i < p_.funcs.size(); i++) {
      index_[p_.funcs[i].name] = static_cast<int>(i);
      inlined_.push_back(0);
    }
  }

  std::string make() {
    plans_.resize(p_.funcs.size());
    choose_inlined();
    for (size_t i = 0; i < p_.funcs.size(); i++) start_loops(static_cast<int>(i));
    std::vector<std::string> blocks;
    for (int i = static_cast<int>(p_.funcs.size()) - 1; i >= 0; i--) {
      lines_.clear();
      if (!plans_[i].vanishes) plan_func(i);
      for (std::string &line : lines_) blocks.push_back(std::move(line));
    }
    if (dice_.chance(shape_.mistakes)) {
      blocks.insert(blocks.begin() + dice_.below(static_cast<int>(blocks.size()) + 1), mistake());
    }
    std::string text = "calotype 1\n" + makers_;
    for (const std::string &b : blocks) text += b + "\n";
    return text;
  }

private:
  // ---- Funcs that directives make ------------------------------------------------------------------
  // Drawn first and applied, so that all else is drawn for the program they make. What is refused is left out.
  void make_funcs(const ir::Program &p) {
    if (!dice_.chance(35)) return;
    for (int n = 1 + dice_.below(3); n > 0; n--) {
      const std::string lines = makers_ + maker(dice_.pick(scheduled_.program.funcs));
      try {
        const Target t = get_host_target();
        const schedule::Schedule s =
            schedule::parse_schedule("calotype 1\n" + lines + "*.compute_root()\n", "makers");
        scheduled_ = schedule::apply(p, s, t);
        makers_ = lines;
      } catch (const Error &) {
      }
    }
  }
  std::string maker(const ir::Function &f) {
    std::vector<std::string> readers;
    for (const ir::Function &g : scheduled_.program.funcs) {
      for (const ir::Definition &d : g.definitions) {
        for (Name n : ir::called_funcs(d)) {
          if (n == f.name && g.name != f.name &&
              (readers.empty() || readers.back() != g.name.str()))
            readers.push_back(g.name);
        }
      }
    }
    if (f.has_updates() && dice_.chance(60)) return partial(f);
    if (dice_.chance(20) && !scheduled_.program.params.empty()) {
      const auto &param = dice_.pick(scheduled_.program.params);
      if (param->is_buffer) return param->name + ".in()\n";
    }
    if (readers.empty()) return "";
    if (dice_.chance(30)) return f.name + ".in()\n";
    return f.name + (dice_.chance(60) ? ".in(" : ".clone_in(") + dice_.pick(readers) + ")\n";
  }

  // rfactor, now and then of a split loop. Rounding of floats cannot be compared: exact reductions only, mostly.
  std::string partial(const ir::Function &f) {
    const int stage = 1 + dice_.below(f.stages() - 1);
    const schedule::Reduction r = schedule::prove_reduction(f, stage);
    if (!r.proved || (!r.exact && !dice_.chance(5))) return "";
    const auto &loops = scheduled_.of(f.name).stages[static_cast<size_t>(stage)].loops;
    std::vector<std::string> rvars;
    for (const schedule::Loop &l : loops) {
      if (l.reduction) rvars.push_back(l.var);
    }
    if (rvars.empty()) return "";
    const std::string who = f.name + ".update(" + std::to_string(stage - 1) + ").";
    std::string loop = dice_.pick(rvars), text;
    if (dice_.chance(50)) {
      const std::string o = fresh("p", "o"), i = fresh("p", "i");
      text = who + "split(" + loop + ", " + o + ", " + i + ", " + std::to_string(factor()) + ")\n";
      loop = dice_.chance(70) ? o : i;
    }
    return text + who + "rfactor({" + loop + ": " + fresh("u", "") + "})\n";
  }

  const ir::Function &func(int i) const { return p_.funcs[static_cast<size_t>(i)]; }

  void choose_inlined() {
    int percent = dice_.pick(std::vector<int>{0, 20, 40, 80});
    for (size_t i = 0; i < p_.funcs.size(); i++) {
      const ir::Function &f = p_.funcs[i];
      if (p_.is_output(f.name) || f.has_updates()) continue;
      int64_t size = inlined_size(p_, i, inlined_);
      if (size > kInlineLimit || !dice_.chance(percent)) continue;
      plans_[i].vanishes = true;
      inlined_[i] = size;
    }
  }

  void start_loops(int i) {
    const ir::Function &f = func(i);
    const schedule::FuncState &s = scheduled_.of(f.name);
    for (int stage = 0; stage < f.stages(); stage++) {
      const auto extents = schedule::constant_extents(f, s, stage);
      std::vector<Loop> loops;
      for (const schedule::Loop &l : s.stages[static_cast<size_t>(stage)].loops) {
        const auto n = extents.find(l.var);
        loops.push_back({l.var, Kind::Serial, l.reduction, n == extents.end() ? -1 : n->second});
      }
      plans_[i].stages.push_back(loops);
    }
  }

  // ---- who reads a Func, and where it may go -------------------------------------------------------
  void find_readers(int i) {
    for (int j = i + 1; j < static_cast<int>(p_.funcs.size()); j++) {
      for (int k = 0; k < func(j).stages(); k++) {
        bool reads = false;
        for (Name n : ir::called_funcs(func(j).definitions[k])) reads |= n == func(i).name;
        if (!reads) continue;
        if (plans_[j].vanishes) {
          for (const Site &s : plans_[j].readers) plans_[i].readers.push_back(s);
        } else {
          plans_[i].readers.push_back({j, k, -1});
        }
      }
    }
  }
  int loop_index(int f, int stage, const std::string &name) const {
    const auto &loops = plans_[f].stages[stage];
    for (size_t i = 0; i < loops.size(); i++) {
      if (loops[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }
  bool inside(const Site &from, int h, const std::string &name, std::set<int> *stages,
              int depth = 0) const {
    if (depth > 12) return false;
    if (from.func == h) {
      int i = loop_index(h, from.stage, name);
      if (i < 0 || from.loop > i) return false;
      if (stages) stages->insert(from.stage);
      return true;
    }
    if (plans_[from.func].sites.empty()) return false;
    for (const Site &s : plans_[from.func].sites) {
      if (!inside(s, h, name, stages, depth + 1)) return false;
    }
    return true;
  }
  struct Place {
    int func, stage, loop;
  };
  // Loops around a site, innermost first.
  void climb(const Site &from, std::vector<Place> &out, int depth = 0) const {
    if (depth > 12) return;
    const auto &loops = plans_[from.func].stages[from.stage];
    for (size_t i = from.loop < 0 ? 0 : static_cast<size_t>(from.loop); i < loops.size(); i++) {
      out.push_back({from.func, from.stage, static_cast<int>(i)});
    }
    if (!plans_[from.func].sites.empty()) climb(plans_[from.func].sites[0], out, depth + 1);
  }
  bool vector_around(const Place &p) const {
    std::vector<Place> up;
    climb({p.func, p.stage, p.loop}, up);
    for (const Place &q : up) {
      if (loop(q).kind == Kind::Vectorized) return true;
    }
    return false;
  }
  const Loop &loop(const Place &q) const { return plans_[q.func].stages[q.stage][q.loop]; }

  void place(int i) {
    FuncPlan &plan = plans_[i];
    const std::string &name = func(i).name;
    if (p_.is_output(name)) return;
    find_readers(i);
    if (plan.readers.empty() || dice_.chance(30)) {
      line(i, 0, "compute_root()");
      return;
    }
    if (func(i).has_updates() && dice_.chance(15)) {  // stays where its readers are
      for (const Site &r : plan.readers)
        plan.sites.push_back({r.func, r.stage, plans_[r.func].stages[r.stage].empty() ? -1 : 0});
      in_vector_ = false;
      for (const Site &r : plan.sites)
        in_vector_ |= r.loop >= 0 && vector_around({r.func, r.stage, r.loop});
      return;
    }
    std::vector<Place> up, legal;
    climb(plan.readers[0], up);
    for (const Place &q : up) {
      bool all = !vector_around(q);
      for (const Site &r : plan.readers) all = all && inside(r, q.func, loop(q).name, nullptr);
      if (all) legal.push_back(q);
    }
    if (legal.empty()) {
      line(i, 0, "compute_root()");
      return;
    }
    size_t at = static_cast<size_t>(dice_.below(static_cast<int>(legal.size())));
    const Place &q = legal[at];
    std::set<int> stages;
    for (const Site &r : plan.readers) inside(r, q.func, loop(q).name, &stages);
    for (int k : stages) plan.sites.push_back({q.func, k, loop_index(q.func, k, loop(q).name)});
    std::string text = "compute_at(" + level(q) + ")";
    if (dice_.chance(50)) {
      std::vector<std::string> outer;
      bool root = true;
      for (size_t k = at; k < legal.size(); k++) {
        if (k > at && loop(legal[k - 1]).kind == Kind::Parallel) {
          root = false;
          break;
        }
        outer.push_back("store_at(" + level(legal[k]) + ")");
      }
      for (const Place &w : up) root = root && loop(w).kind != Kind::Parallel;
      if (root) outer.push_back("store_root()");
      text = dice_.chance(50) ? outer.back() + "." + text : dice_.pick(outer) + "." + text;
    }
    line(i, 0, text);
  }
  std::string level(const Place &q) const { return func(q.func).name + ", " + loop(q).name; }

  // ---- loops -------------------------------------------------------------------------------------
  void line(int i, int stage, const std::string &text) {
    std::string who = func(i).name;
    if (stage > 0) who += ".update(" + std::to_string(stage - 1) + ")";
    lines_.push_back(who + special_ + "." + text);
  }

  // A condition over the first output's buffer that holds at some sizes.
  std::string condition() {
    const ir::Function &f = *p_.find(p_.outputs[0]);
    if (f.dimensions() == 0) return "1 > 0";
    const int d = dice_.below(f.dimensions());
    const bool known = static_cast<size_t>(d) < shape_.extents.size() && shape_.extents[d] > 0;
    const std::string extent = f.name + ".extent(" + std::to_string(d) + ")",
                      n = std::to_string(known ? shape_.extents[d] : 8);
    return dice_.pick(std::vector<std::string>{
        extent + " == " + n, extent + " >= 8", extent + " < " + n, f.name + ".min(0) >= 0",
        extent + " % 4 == 0 && " + f.name + ".stride(0) == 1"});
  }

  // A copy of the stage as it is now, with loops that keep their names: Funcs may be computed at them.
  void specialize(int i, int stage) {
    const std::vector<Loop> general = plans_[i].stages[stage];
    const std::string c = condition(), outer = special_;
    special_ += ".specialize(" + c + ")";
    vectorize_something(i, stage);
    for (int n = dice_.below(3); n > 0; n--) {
      auto &loops = plans_[i].stages[stage];
      if (loops.empty()) break;
      const size_t at = static_cast<size_t>(dice_.below(static_cast<int>(loops.size())));
      if (loops[at].kind == Kind::Vectorized || loops[at].kind == Kind::Unrolled) continue;
      line(i, stage,
           dice_.chance(50) ? "unroll(" + loops[at].name + ", 2)"
                            : "never_partition(" + loops[at].name + ")");
      if (lines_.back().find(".unroll") != std::string::npos)
        split_loop(loops, at, loops[at].name, loops[at].name + ".u", 2, Kind::Unrolled,
                   loops[at].kind);
    }
    if (outer.empty() && dice_.chance(20)) specialize(i, stage);
    special_ = outer;
    plans_[i].stages[stage] = general;
  }

  // Loops shared with a Func at the same place: both plain, so that they are alike; refused where one reads the other.
  void share(int i) {
    if (!dice_.chance(10) || func(i).dimensions() == 0) return;
    for (int j = i + 1; j < static_cast<int>(plans_.size()); j++) {
      if (plans_[j].vanishes || func(j).dimensions() == 0 || !dice_.chance(40)) continue;
      const int a = dice_.below(func(i).stages()), b = dice_.below(func(j).stages());
      const auto &mine = plans_[i].stages[a], &other = plans_[j].stages[b];
      if (mine.empty() || other.empty() || mine.back().name != other.back().name) continue;
      const std::string stage =
          func(j).name + (b > 0 ? ".update(" + std::to_string(b - 1) + ")" : std::string());
      line(i, a,
           "compute_with(" + stage + ", " + mine.back().name +
               dice_.pick(std::vector<std::string>{"", ", AlignStart", ", AlignEnd", ", NoAlign"}) +
               ")");
      return;
    }
  }

  // Where its memory lies and how it is laid out.
  void storage(int i) {
    const ir::Function &f = func(i);
    if (p_.is_output(f.name) || f.dimensions() == 0) return;
    const std::string v = f.args[static_cast<size_t>(dice_.below(f.dimensions()))];
    if (dice_.chance(10))
      line(i, 0,
           dice_.pick(std::vector<std::string>{"store_in(Heap)", "store_in(Heap)", "store_in(Auto)",
                                               "store_in(Stack)"}));
    if (dice_.chance(10))
      line(i, 0,
           "align_storage(" + v + ", " + std::to_string(dice_.pick(std::vector<int>{2, 3, 8, 16})) +
               ")");
    if (dice_.chance(6)) line(i, 0, "bound_storage(" + v + ", 96)");
    if (dice_.chance(6))
      line(i, 0,
           "fold_storage(" + v + ", " +
               std::to_string(dice_.pick(std::vector<int>{2, 3, 4, 5, 8, 32})) +
               (dice_.chance(20) ? ", false)" : ")"));
    bool parallel = false;
    for (const FuncPlan &plan : plans_) {
      for (const auto &loops : plan.stages) {
        for (const Loop &l : loops) parallel |= l.kind == Kind::Parallel;
      }
    }
    if (!plans_[i].sites.empty() && dice_.chance(parallel ? 3 : 15))
      line(i, 0, "hoist_storage_root()");
  }

  void plan_func(int i) {
    in_vector_ = false;
    place(i);
    bound(i);
    for (int k = 0; k < func(i).stages(); k++) {
      atomic_ = k > 0 && dice_.chance(30) && choose_atomic(i, k);
      for (int n = dice_.below(shape_.most_directives + 1); n > 0; n--) directive(i, k);
      if (dice_.chance(12)) specialize(i, k);
      if (dice_.chance(40)) vectorize_something(i, k);
      if (dice_.chance(10)) line(i, k, "never_partition_all()");
    }
    atomic_ = false;
    storage(i);
    share(i);
    const ir::Function &f = func(i);
    if (!p_.is_output(f.name) && f.dimensions() > 1 && dice_.chance(20)) {
      std::vector<std::string> dims(f.args.begin(), f.args.end());
      line(i, 0, "reorder_storage(" + shuffled(dims) + ")");
    }
    if (!p_.is_output(f.name) && dice_.chance(5)) {
      line(i, 0,
           dice_.pick(std::vector<std::string>{"trace_stores()", "trace_loads()",
                                               "trace_realizations()"}));
    }
    bool images = false;
    for (const ir::ParameterRef &param : p_.params) images = images || param->is_buffer;
    if (!p_.is_output(f.name) && dice_.chance(images ? 1 : 20)) line(i, 0, "memoize()");
  }

  bool choose_atomic(int i, int stage) {
    const schedule::Reduction r = schedule::prove_reduction(func(i), stage);
    if (!r.proved || (!r.exact && !dice_.chance(5))) return false;
    line(i, stage, "atomic()");
    return true;
  }

  std::string shuffled(std::vector<std::string> v) {
    for (size_t i = v.size(); i > 1; i--)
      std::swap(v[i - 1], v[static_cast<size_t>(dice_.below(static_cast<int>(i)))]);
    std::string text;
    for (const std::string &s : v) text += (text.empty() ? "" : ", ") + s;
    return text;
  }

  void bound(int i) {
    const ir::Function &f = func(i);
    if (f.dimensions() == 0) return;
    int d = dice_.below(f.dimensions());
    const std::string v = f.args[d];
    bool output = p_.is_output(f.name),
         known = static_cast<size_t>(d) < shape_.extents.size() && shape_.extents[d] > 0;
    if (output && known && dice_.chance(15)) {
      std::string n = std::to_string(shape_.extents[d]);
      bool with_min = dice_.chance(50);
      line(i, 0,
           with_min ? "bound(" + v + ", " + std::to_string(shape_.mins[d]) + ", " + n + ")"
                    : "bound_extent(" + v + ", " + n + ")");
      for (Loop &l : plans_[i].stages[0]) {
        if (l.name == v) l.extent = shape_.extents[d];
      }
    } else if (!output && dice_.chance(10)) {
      int m = dice_.pick(std::vector<int>{2, 3, 4, 8});
      std::string text = "align_bounds(" + v + ", " + std::to_string(m);
      if (dice_.chance(40)) text += ", " + std::to_string(dice_.below(m));
      line(i, 0, text + ")");
    } else if (!output && dice_.chance(3)) {  // far more than needed
      line(i, 0, "bound(" + v + ", -40, 90)");
    }
  }

  std::string fresh(const std::string &base, const char *suffix) {
    std::string b;
    for (char c : base) b += c == '.' ? '_' : c;
    return b + suffix + std::to_string(names_++);
  }

  std::string tail(int i, int stage, bool reduction) {
    if (dice_.chance(35)) return "";
    static const std::vector<std::string> all = {
        "GuardWithIf",    "Predicate",       "PredicateStores",
        "PredicateLoads", "ShiftInwards",    "ShiftInwardsAndBlend",
        "RoundUp",        "RoundUpAndBlend", "Auto"};
    std::vector<int> w = {14, 10, 6, 6, 14, 6, 12, 6, 4};
    if (p_.is_output(func(i).name)) w[6] = w[3] = 3;
    if (stage > 0) w[6] = w[4] = w[3] = 0;
    if (reduction) w[5] = w[7] = w[2] = 0;
    return ", " + all[static_cast<size_t>(dice_.weighted(w))];
  }
  int factor() { return dice_.pick(std::vector<int>{1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16, 32}); }
  int lanes() { return dice_.pick(std::vector<int>{2, 3, 4, 4, 4, 5, 8, 8, 8, 16, 16, 32}); }

  bool stage_has_vector(const std::vector<Loop> &loops) const {
    for (const Loop &l : loops) {
      if (l.kind == Kind::Vectorized) return true;
    }
    return false;
  }

  void split_loop(std::vector<Loop> &loops, size_t at, const std::string &outer,
                  const std::string &inner, int n, Kind in, Kind out) {
    Loop old = loops[at];
    loops[at] = {inner, in, old.reduction, n};
    loops.insert(loops.begin() + static_cast<long>(at) + 1,
                 {outer, out, old.reduction, old.extent >= 0 ? (old.extent + n - 1) / n : -1});
  }

  void vectorize_something(int i, int stage) {
    auto &loops = plans_[i].stages[stage];
    if (loops.empty() || in_vector_ || stage_has_vector(loops)) return;
    size_t at = 0;
    while (at + 1 < loops.size() && ((loops[at].reduction && !atomic_) ||
                                     loops[at].kind != Kind::Serial || dice_.chance(15)))
      at++;
    vectorize(i, stage, at);
  }
  void vectorize(int i, int stage, size_t at) {
    auto &loops = plans_[i].stages[stage];
    Loop &l = loops[at];
    if (l.kind != Kind::Serial || (l.reduction && !atomic_) || in_vector_ ||
        stage_has_vector(loops))
      return;
    for (size_t k = 0; k < at; k++) {
      if (loops[k].kind == Kind::Parallel) return;
    }
    if (l.extent >= 2 && l.extent <= 32 && dice_.chance(50)) {
      line(i, stage, "vectorize(" + l.name + ")");
      l.kind = Kind::Vectorized;
      return;
    }
    int n = lanes();
    line(i, stage,
         "vectorize(" + l.name + ", " + std::to_string(n) + tail(i, stage, l.reduction) + ")");
    std::string outer = l.name;
    split_loop(loops, at, outer, outer + ".v", n, Kind::Vectorized, Kind::Serial);
  }

  void directive(int i, int stage) {
    auto &loops = plans_[i].stages[stage];
    if (loops.empty()) return;
    size_t at = static_cast<size_t>(dice_.below(static_cast<int>(loops.size())));
    Loop &l = loops[at];
    switch (dice_.weighted({30, 18, 12, 12, loops.size() > 1 ? 22 : 0, loops.size() > 1 ? 12 : 0,
                            loops.size() > 1 ? 10 : 0, 4, 3})) {
      case 0: {
        if (l.kind == Kind::Vectorized || loops.size() > 8) return;
        int n = factor();
        std::string o = dice_.chance(20) ? l.name : fresh(l.name, "o"),
                    in = o != l.name && dice_.chance(10) ? l.name : fresh(l.name, "i");
        if (o.find('.') != std::string::npos || in.find('.') != std::string::npos)
          o = fresh(l.name, "o"), in = fresh(l.name, "i");
        line(i, stage,
             "split(" + l.name + ", " + o + ", " + in + ", " + std::to_string(n) +
                 tail(i, stage, l.reduction) + ")");
        split_loop(loops, at, o, in, n, l.kind, l.kind);
        break;
      }
      case 1: vectorize(i, stage, at); break;
      case 2: {
        if (l.kind != Kind::Serial) return;
        if (l.extent >= 0 && l.extent <= 8 && dice_.chance(60)) {
          line(i, stage, "unroll(" + l.name + ")");
          l.kind = Kind::Unrolled;
          return;
        }
        int n = dice_.pick(std::vector<int>{2, 2, 3, 4});
        line(i, stage,
             "unroll(" + l.name + ", " + std::to_string(n) + tail(i, stage, l.reduction) + ")");
        std::string outer = l.name;
        split_loop(loops, at, outer, outer + ".u", n, Kind::Unrolled, Kind::Serial);
        break;
      }
      case 3: {
        if (l.kind != Kind::Serial || (l.reduction && !atomic_) || in_vector_) return;
        for (size_t k = at + 1; k < loops.size(); k++) {
          if (loops[k].kind == Kind::Vectorized) return;
        }
        if (dice_.chance(25)) {
          int n = factor();
          line(i, stage,
               "parallel(" + l.name + ", " + std::to_string(n) + tail(i, stage, false) + ")");
          std::string outer = l.name;
          split_loop(loops, at, outer, outer + ".t", n, Kind::Serial, Kind::Parallel);
        } else {
          line(i, stage, "parallel(" + l.name + ")");
          l.kind = Kind::Parallel;
        }
        break;
      }
      case 4: reorder(i, stage); break;
      case 5: fuse(i, stage); break;
      case 6: tile(i, stage); break;
      case 7: {
        std::string n = fresh(l.name, "n");
        line(i, stage, "rename(" + l.name + ", " + n + ")");
        l.name = n;
        break;
      }
      default:
        line(i, stage, "serial(" + l.name + ")");
        l.kind = Kind::Serial;
        break;
    }
  }

  void reorder(int i, int stage) {
    auto &loops = plans_[i].stages[stage];
    std::vector<size_t> places;
    for (size_t k = 0; k < loops.size(); k++) {
      if (dice_.chance(75)) places.push_back(k);
    }
    if (places.size() < 2) return;
    std::vector<Loop> old = loops;
    std::vector<size_t> from = places;
    for (size_t k = from.size(); k > 1; k--)
      std::swap(from[k - 1], from[static_cast<size_t>(dice_.below(static_cast<int>(k)))]);
    // Loops of a reduction keep their order, mostly.
    if (!atomic_ && !dice_.chance(10)) {
      std::vector<size_t> red;
      for (size_t k : from) {
        if (old[k].reduction) red.push_back(k);
      }
      std::sort(red.begin(), red.end());
      size_t next = 0;
      for (size_t &k : from) {
        if (old[k].reduction) k = red[next++];
      }
    }
    std::vector<Loop> result = old;
    std::string text;
    for (size_t k = 0; k < places.size(); k++) {
      result[places[k]] = old[from[k]];
      text += (k ? ", " : "") + old[from[k]].name;
    }
    // A parallel loop must not end up inside a vector.
    bool vector = false;
    for (size_t k = result.size(); k-- > 0;) {
      if (vector && result[k].kind == Kind::Parallel) return;
      vector |= result[k].kind == Kind::Vectorized;
    }
    line(i, stage, "reorder(" + text + ")");
    loops = result;
  }

  void fuse(int i, int stage) {
    auto &loops = plans_[i].stages[stage];
    size_t in = static_cast<size_t>(dice_.below(static_cast<int>(loops.size()) - 1)), out = in + 1;
    if (dice_.chance(10)) out = static_cast<size_t>(dice_.below(static_cast<int>(loops.size())));
    if (in == out || loops[in].kind != Kind::Serial || loops[out].kind != Kind::Serial) return;
    std::string name = fresh(loops[in].name, "f");
    line(i, stage, "fuse(" + loops[in].name + ", " + loops[out].name + ", " + name + ")");
    int64_t n =
        loops[in].extent >= 0 && loops[out].extent >= 0 ? loops[in].extent * loops[out].extent : -1;
    loops[in] = {name, Kind::Serial, loops[in].reduction || loops[out].reduction, n};
    loops.erase(loops.begin() + static_cast<long>(out));
  }

  void tile(int i, int stage) {
    auto &loops = plans_[i].stages[stage];
    if (loops.size() > 6) return;
    size_t a = static_cast<size_t>(dice_.below(static_cast<int>(loops.size()) - 1)), b = a + 1;
    if (loops[a].kind == Kind::Vectorized || loops[b].kind == Kind::Vectorized) return;
    if (loops[a].reduction && loops[b].reduction) return;
    Loop x = loops[a], y = loops[b];
    int fx = factor(), fy = factor();
    std::string xo = fresh(x.name, "o"), yo = fresh(y.name, "o"), xi = fresh(x.name, "i"),
                yi = fresh(y.name, "i");
    line(i, stage,
         "tile(" + x.name + ", " + y.name + ", " + xo + ", " + yo + ", " + xi + ", " + yi + ", " +
             std::to_string(fx) + ", " + std::to_string(fy) +
             tail(i, stage, x.reduction || y.reduction) + ")");
    split_loop(loops, b, yo, yi, fy, y.kind, y.kind);
    split_loop(loops, a, xo, xi, fx, x.kind, x.kind);
    std::swap(loops[a + 1], loops[a + 2]);  // xi xo yi yo -> xi yi xo yo
  }

  // ---- mistakes ----------------------------------------------------------------------------------
  std::string mistake() {
    const ir::Function &f = dice_.pick(p_.funcs), &g = dice_.pick(p_.funcs);
    std::string v = f.args.empty() ? "x" : f.args[dice_.below(f.dimensions())].str();
    std::string w = g.args.empty() ? "x" : g.args[dice_.below(g.dimensions())].str();
    const std::vector<std::string> wrong = {
        "nothing.compute_root()",
        f.name + ".vectorize(zz, 4)",
        f.name + ".compute_at(" + g.name + ", " + w + ")",
        f.name + ".store_at(" + g.name + ", " + w + ")",
        f.name + ".split(" + v + ", a, a, 4)",
        f.name + ".split(" + v + ", a, b, 0)",
        f.name + ".split(" + v + ", a, b, -3)",
        f.name + ".split(" + v + ", a, b, 1000000000)",
        f.name + ".split(" + v + ", a, b, " + v + ")",
        f.name + ".split(" + v + ", a, b, 4, Sideways)",
        f.name + ".reorder(" + v + ", " + v + ")",
        f.name + ".vectorize(" + v + ", 100000)",
        f.name + ".vectorize(" + v + ")",
        f.name + ".unroll(" + v + ")",
        f.name + ".unroll(" + v + ", 100000)",
        f.name + ".update(7).parallel(" + v + ")",
        f.name + ".update(0).vectorize(" + v + ", 4)",
        f.name + ".fuse(" + v + ", " + v + ", t)",
        f.name + ".bound(" + v + ", 5, 1)",
        f.name + ".bound_extent(" + v + ", 0)",
        f.name + ".align_bounds(" + v + ", 0)",
        f.name + ".reorder_storage(" + v + ", " + v + ")",
        f.name + ".frobnicate(" + v + ")",
        f.name + ".compute_inline()",
        f.name + ".store_root()",
        f.name + ".rfactor(" + v + ", u)",
        f.name + ".update(0).rfactor({" + v + ": u})",
        f.name + ".in(" + g.name + ")",
        f.name + ".clone_in()",
        "let " + g.name + " = " + f.name + ".in()",
        f.name + ".atomic()",
        f.name + ".update(0).atomic().parallel(" + v + ")",
        "def b(f)\n  f.parallel(q)\nend\nb(" + f.name + ")",
        f.name + ".specialize_fail(\"no\")",
        f.name + ".specialize(nothing > 3)",
        f.name + ".specialize(1 > 2).vectorize(zz, 4)",
        f.name + ".store_in(VTCM)",
        f.name + ".fold_storage(" + v + ", 0)",
        f.name + ".hoist_storage(" + g.name + ", " + w + ")",
        f.name + ".bound_storage(" + v + ", -1)",
        f.name + ".always_partition(zz)",
        f.name + ".compute_with(" + g.name + ", " + w + ")",
        f.name + ".gpu_blocks(" + v + ")",
        f.name + ".tile(" + v + ", " + w + ", a, b, c, d, 3, 4)",
        f.name + ".split(" + v + ", a, b",
    };
    return dice_.pick(wrong);
  }

  schedule::Scheduled scheduled_;  ///< with the Funcs made
  const ir::Program &p_ = scheduled_.program;
  std::string makers_;
  bool atomic_ = false;  ///< of the stage that directives are drawn for
  Dice dice_;
  ScheduleShape shape_;
  std::unordered_map<std::string, int> index_;
  std::vector<int64_t> inlined_;
  std::vector<FuncPlan> plans_;
  std::vector<std::string> lines_;
  std::string special_;  ///< ".specialize(c)" of the copy that lines are about
  bool in_vector_ = false;
  int names_ = 0;
};

}  // namespace

std::string random_schedule(const ir::Program &p, uint64_t seed, const ScheduleShape &shape) {
  return ScheduleMaker(p, seed, shape).make();
}

std::string plain_schedule(const ir::Program &p) {
  std::vector<int64_t> inlined(p.funcs.size(), 0);
  std::string text = "calotype 1\n";
  for (size_t i = 0; i < p.funcs.size(); i++) {
    const ir::Function &f = p.funcs[i];
    if (p.is_output(f.name) || f.has_updates()) continue;
    int64_t size = inlined_size(p, i, inlined);
    if (size > kInlineLimit) {
      text += f.name + ".compute_root()\n";
    } else {
      inlined[i] = size;
    }
  }
  return text;
}

}  // namespace calotype::test
