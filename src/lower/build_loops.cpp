// From the loop tree to loops: walks the tree from the root, finds at each site the regions its Funcs must provide
// (infer_bounds.h), names them by lets, and builds storage, loops and definitions below them.
//
// Pure stages whose blocks end in vectors are built twice where their extent is not known: blocks that shift inwards
// where the extent allows, else loops that end early (stage_loops.h).
// Sliding windows are decided here, while the loops between storage and computation are at hand: slide_window.h.
#include <algorithm>
#include <functional>
#include <utility>

#include "../analysis/bounds.h"
#include "../analysis/linear.h"
#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/print.h"
#include "../schedule/memo_key.h"
#include "../schedule/order.h"
#include "infer_bounds.h"
#include "passes.h"
#include "slide_window.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using schedule::LoopNode;
using schedule::StageRef;
using namespace ir;

namespace {

Expr c32(int64_t v) { return make_int(Int(32), v); }

class LoopBuilder {
public:
  explicit LoopBuilder(PassContext &cx)
      : cx_(cx), program_(cx.program), state_(*cx.state), regions_(cx.program, *cx.state) {}

  Stmt build() {
    RegionFinder::Site site;
    site.root = true;
    std::unordered_map<Name, Box> given;
    for (Name out : program_.outputs) {
      const Function &f = *program_.find(out);
      Box box;
      std::string buffer = output_buffer(f);
      for (int d = 0; d < f.dimensions(); d++) {
        Expr min = make_var(buffer + ".min." + std::to_string(d));
        Expr extent = make_var(buffer + ".extent." + std::to_string(d));
        box.push_back({min, make_sub(make_add(min, extent), c32(1)), {}});
      }
      given[out] = box;
    }
    at_root_ = true;
    return build_site(*cx_.tree, site, given);
  }

  static std::string output_buffer(const Function &f) {
    return f.types.size() > 1 ? f.name + ".0" : f.name.str();
  }

private:
  struct OpenStage;
  // A loop being inside of.
  struct OpenLoop {
    Name name;  // f.s0.xo
    ForType kind;
    Expr min, extent;
    std::vector<Name> marks;  // high-water marks that start here
  };
  struct OpenStore {
    size_t depth = 0;  // loops open when the storage began
    Box bounds;        // symbols
    // The ring that every place that computes the Func agreed on so far; dim -1: none.
    bool planned = false;
    int fold_dim = -1;
    int64_t fold_factor = 0;
    // What a ring in each dimension needs in all of those places; 0: not known, because ...
    std::vector<int64_t> needs;
    std::vector<std::string> no_ring;
    int walk_dim = -1;  // a window slides in it
    bool walk_down = false;

    void agree_on_fold(const Slide &s) {
      const int dim = s.dim >= 0 && s.fold_factor > 0 ? s.dim : -1;
      if (s.dim >= 0) {
        walk_dim = s.dim;
        walk_down = s.down;
      }
      if (!planned) {
        fold_dim = dim;
        fold_factor = s.fold_factor;
        needs = s.needs;
        no_ring = s.no_ring;
        planned = true;
        return;
      }
      if (dim != fold_dim) {
        fold_dim = -1;
      } else {
        fold_factor = std::max(fold_factor, s.fold_factor);
      }
      for (size_t d = 0; d < needs.size(); d++) {
        if (no_ring[d].empty()) no_ring[d] = s.no_ring[d];
        needs[d] = needs[d] > 0 && s.needs[d] > 0 ? std::max(needs[d], s.needs[d]) : 0;
      }
    }
  };
  struct Let {
    Name name;
    Expr value;
  };

  // Builds everything at one site: lets of regions around storage, producers and the rest.
  Stmt build_site(const LoopNode &parent, RegionFinder::Site site,
                  const std::unordered_map<Name, Box> &given) {
    SiteRegions here;
    const size_t outer = meaning_log_.size();
    bool root = at_root_;
    at_root_ = false;
    find_regions(parent, site, given, here);
    if (root) {
      if (queries_inputs_) {
        for (const Let &l : here.lets) cx_.early_lets.emplace_back(l.name, l.value);
      }
      check_promises(here.found);
      for (auto &[name, box] : here.found.inputs) cx_.input_regions[name] = expand(box);
      for (auto &[name, region] : here.found.funcs) {
        bool bounded = false;
        for (const schedule::Bound &b : state_.of(name).bounds) bounded |= b.extent.defined();
        if (bounded) cx_.bounded_reads[name] = expand(region.read);
      }
      for (Name out : program_.outputs)
        cx_.output_regions[out] = expand(here.found.funcs.at(out).stored);
    }
    Stmt body = build_children(parent, site, here.found, here.marks, here.constant_max);
    forget_meanings(outer);
    return with_lets(here.lets, body);
  }

  // Loops cannot be shared with a Func that nothing needs: it has no loops.
  [[noreturn]] void refuse_unread_member(const LoopNode &n, const RegionFinder::Result &found) {
    std::string unread;
    SrcLoc loc;
    for (const StageRef &m : n.members) {
      if (!found.funcs.count(m.func)) unread = m.func;
      for (const schedule::StageState &st : state_.of(m.func).stages) {
        if (st.shared.defined()) loc = st.shared.loc;
      }
    }
    raise(Diagnostic("S0133", loc, "loops cannot be shared with " + unread)
              .because("nothing that is computed reads " + unread + ", so it has no loops")
              .fix("leave compute_with away"));
  }

  static Stmt with_lets(const std::vector<Let> &lets, Stmt body) {
    for (size_t i = lets.size(); i-- > 0;) body = make_let_stmt(lets[i].name, lets[i].value, body);
    return body;
  }

  // What the Funcs below one site must provide; lets that name it; what is known of those computed directly there.
  struct SiteRegions {
    std::vector<Let> lets;
    std::unordered_map<Name, Name> marks;  // Func -> its high-water mark to advance after producing
    std::unordered_map<Name, std::vector<std::unordered_map<Name, Expr>>> constant_max;
    RegionFinder::Result found;
  };

  void find_regions(const LoopNode &parent, RegionFinder::Site &site,
                    const std::unordered_map<Name, Box> &given, SiteRegions &here) {
    std::vector<Let> &lets = here.lets;
    auto &marks = here.marks;
    auto &constant_max = here.constant_max;
    site.below.clear();
    for (const auto &c : parent.children) site.below.push_back(c.get());
    site.on_produced_here = [&](const Function &f, FuncRegion &r) {
      check_bounded(f, r.required, "its readers need");
      auto store = stores_.find(f.name);
      bool outer_store = store != stores_.end();
      Slide slide;
      if (outer_store) {
        slide = plan_slide(f, r, store->second);
        cx_.storage[f.name].slides = slide.report;
      }
      auto &maxes = constant_max[f.name];
      maxes.assign(f.stages(), {});
      for (int k = 0; k < f.stages(); k++) {
        const Definition &d = f.definitions[k];
        for (size_t i = 0; i < f.args.size(); i++) {
          Name v = pure_arg(f, d, i);
          if (v.empty()) continue;
          Interval &range = r.stage_ranges[k][v];
          bool slid = slide.dim == static_cast<int>(i);
          if (outer_store) clamp_to_storage(range, store->second.bounds[i]);
          define_range(f, k, v, range, slid ? &slide : nullptr, lets, maxes[k]);
        }
        for (const ReductionVariable &rv : d.rvars) {
          define_range(f, k, rv.var, r.stage_ranges[k][rv.var], nullptr, lets, maxes[k]);
        }
      }
      if (slide.dim >= 0) {
        marks[f.name] = slide.mark;
        slides_[f.name] = slide;
      }
    };
    site.on_extern = [&](const Function &f, const FuncRegion &r) {
      return query_extern(f, r, site.root, lets);
    };
    RegionFinder::Result found = regions_.at(site, given);
    for (auto &[name, region] : found.funcs) here.found.funcs.emplace(name, std::move(region));
    for (auto &[name, box] : found.inputs) here.found.inputs.emplace(name, std::move(box));
  }

  void check_bounded(const Function &f, const Box &region, const std::string &who) {
    for (size_t d = 0; d < region.size(); d++) {
      const Interval &i = region[d];
      if (i.bounded()) continue;
      Diagnostic diag("B0101", f.loc,
                      "the region of " + f.name + " that " + who + " is unbounded in dimension " +
                          std::to_string(d) + " (" + f.args[d] + ")");
      if (!i.unbounded_because.empty()) diag.why.push_back({i.unbounded_because, {}});
      diag.help.push_back("clamp the index, or bound() the dimension");
      raise(std::move(diag));
    }
  }

  // Intersects what one iteration needs with what is stored: both contain the truth, so their intersection does.
  void clamp_to_storage(Interval &range, const Interval &stored) {
    if (!at_least(range.min, stored.min)) range.min = simplify(make_max(range.min, stored.min));
    if (!at_least(stored.max, range.max)) range.max = simplify(make_min(range.max, stored.max));
  }

  // a >= b for all iterations of the open loops?
  bool at_least(const Expr &a, const Expr &b) {
    Expr diff = simplify(make_sub(expand(a), expand(b)));
    int64_t low;
    Scope<Interval> scope;
    for (const OpenLoop &l : loops_) {
      scope.push(l.name, {l.min, simplify(make_sub(make_add(l.min, l.extent), c32(1))), {}});
    }
    return analysis::constant_lower_bound(diff, scope, &low) && low >= 0;
  }

  // Emits the lets of one stage variable and turns `range` into the symbols.
  void define_range(const Function &f, int stage, Name v, Interval &range, const Slide *slide,
                    std::vector<Let> &lets, std::unordered_map<Name, Expr> &maxes) {
    Name min_name = StageLoops::min_symbol(f.name, stage, v),
         max_name = StageLoops::max_symbol(f.name, stage, v);
    define_meaning(min_name, range.min);
    define_meaning(max_name, range.max);
    if (slide) range = slide->rest(range);
    lets.push_back({min_name, range.min});
    Expr min = make_var(min_name);
    int64_t difference;
    if (!slide && analysis::constant_difference(range.max, range.min, &difference)) {
      Expr max = simplify(make_add(min, c32(difference)));
      maxes[v] = max;
      range = {min, max, {}};
    } else {
      lets.push_back({max_name, range.max});
      range = {min, make_var(max_name), {}};
    }
  }

  // A region symbol in terms of open loops, through all symbols defined below the program's start; sliding left out.
  // A Func that is computed at several places, one inside another, has the same symbols at each: a meaning holds until
  // the place that gave it is built, then the one around it holds again.
  void define_meaning(Name symbol, const Expr &e) {
    Expr meaning = expand(e);
    Expr &at = meaning_[symbol];
    meaning_log_.emplace_back(symbol, at);
    at = meaning;
  }
  void forget_meanings(size_t down_to) {
    for (; meaning_log_.size() > down_to; meaning_log_.pop_back()) {
      auto &[symbol, before] = meaning_log_.back();
      if (before.defined()) {
        meaning_[symbol] = before;
      } else {
        meaning_.erase(symbol);
      }
    }
  }

  Expr expand(const Expr &e) const {
    Expr r = e;
    for (int round = 0; round < 64; round++) {
      Substitution map;
      for (Name n : free_vars(r)) {
        auto it = meaning_.find(n);
        if (it != meaning_.end()) map[n] = it->second;
      }
      if (map.empty()) break;
      r = simplify(substitute(map, r));
    }
    return r;
  }

  Box expand(Box box) const {
    for (Interval &i : box) {
      if (i.min.defined()) i.min = expand(i.min);
      if (i.max.defined()) i.max = expand(i.max);
    }
    return box;
  }

  Slide plan_slide(const Function &f, const FuncRegion &r, OpenStore &store) {
    SlideQuestion q;
    q.func = &f;
    for (const Interval &i : r.required) q.region.push_back({expand(i.min), expand(i.max), {}});
    for (const Interval &i : r.stored) q.stored.push_back({expand(i.min), expand(i.max), {}});
    if (f.extern_stage() || asks_c_function(q.region)) {
      Slide none;
      none.report = f.extern_stage() ? "no: a C function computes what it is asked for"
                                     : "no: a C function decides what it needs";
      none.needs.resize(q.region.size());
      none.no_ring.assign(q.region.size(), "a C function touches it");
      store.agree_on_fold(none);
      return none;
    }
    for (size_t i = store.depth; i < loops_.size(); i++) {
      q.loops.push_back({loops_[i].name, loops_[i].kind, loops_[i].min, loops_[i].extent});
    }
    const std::vector<Name> &order = state_.of(f.name).storage_order;
    if (!f.args.empty()) q.innermost_storage = order.empty() ? f.args[0] : order[0];
    for (Name a : f.args) {
      Expr slack = c32(0);
      for (const schedule::StageState *v : schedule::variants_of(state_.of(f.name).stages[0])) {
        Expr other = StageLoops(f, 0, *v, TailMode::Shift, {}).rounding_slack(a);
        slack = is_const_zero(slack) ? other : make_max(slack, other);
      }
      q.rounding_slack.push_back(simplify(slack));
    }
    Slide s = lower::plan_slide(q);
    store.agree_on_fold(s);
    if (s.dim >= 0) {
      loops_[store.depth + s.first_loop].marks.push_back(s.mark);
      cx_.storage[f.name].folds = s.fold_report;
    }
    return s;
  }

  Stmt build_children(
      const LoopNode &parent, const RegionFinder::Site &site, const RegionFinder::Result &found,
      const std::unordered_map<Name, Name> &marks,
      const std::unordered_map<Name, std::vector<std::unordered_map<Name, Expr>>> &constant_max) {
    std::vector<Stmt> stmts;
    for (const auto &child : parent.children) {
      const LoopNode &n = *child;
      bool unread = (n.kind == LoopNode::Kind::Produce || n.kind == LoopNode::Kind::Store) &&
                    !found.funcs.count(n.func);
      switch (n.kind) {
        case LoopNode::Kind::Store:
          if (unread) {
            stmts.push_back(build_children(n, site, found, marks, constant_max));
          } else {
            stmts.push_back(build_store(n, site, found, marks, constant_max));
          }
          break;
        case LoopNode::Kind::Hoist:
          stmts.push_back(build_hoist(n, site, found, marks, constant_max));
          break;
        case LoopNode::Kind::Produce: {
          std::vector<Name> funcs;
          if (n.members.empty()) funcs.push_back(n.func);
          for (const StageRef &m : n.members) funcs.push_back(m.func);
          funcs.erase(std::remove_if(funcs.begin(), funcs.end(),
                                     [&](Name f) { return !found.funcs.count(f); }),
                      funcs.end());
          if (funcs.empty()) break;
          if (funcs.size() < n.members.size()) refuse_unread_member(n, found);
          std::vector<Stmt> all{build_produce(n, constant_max)};
          for (Name f : funcs) {
            all[0] = make_producer(f, all[0]);
            if (state_.of(f).memoize)
              all[0] = memoized(*program_.find(f), found.funcs.at(f), all[0]);
            auto mark = marks.find(f);
            if (mark != marks.end()) all.push_back(advance_mark(f, mark->second));
          }
          auto guard = guards_.find(funcs[0]);
          Stmt s = make_block(all);
          stmts.push_back(guard != guards_.end() ? make_if(guard->second, s) : s);
          break;
        }
        case LoopNode::Kind::Branch:
        case LoopNode::Kind::Case: CALO_ASSERT(false, "a specialization outside of its Func");
        case LoopNode::Kind::Loop:
        case LoopNode::Kind::Compute: {
          if (n.members.size() > 1) {
            stmts.push_back(n.in_order ? build_loop_in_order(n) : build_shared_loop(n));
            break;
          }
          // In a shared loop a member runs in its own iterations only.
          OpenStage &open = open_of(n.members[0]);
          const Expr active = std::exchange(open.active, Expr());
          Stmt s = n.kind == LoopNode::Kind::Loop ? build_loop(n) : build_compute(n.members[0]);
          open.active = active;
          stmts.push_back(active.defined() ? make_if(active, s) : s);
          break;
        }
        case LoopNode::Kind::Root: break;
      }
    }
    return make_block(stmts);
  }

  Stmt advance_mark(Name func, Name mark) {
    const Function &f = *program_.find(func);
    int dim = 0;
    while (mark_name(func, f.args[dim]) != mark) dim++;
    const Slide &slide = slides_.at(func);
    return make_store(mark,
                      slide.advanced(make_var(StageLoops::min_symbol(func, 0, f.args[dim])),
                                     make_var(StageLoops::max_symbol(func, 0, f.args[dim]))),
                      c32(0));
  }

  Stmt build_store(
      const LoopNode &n, const RegionFinder::Site &site, const RegionFinder::Result &found,
      const std::unordered_map<Name, Name> &marks,
      const std::unordered_map<Name, std::vector<std::unordered_map<Name, Expr>>> &constant_max) {
    const Function &f = *program_.find(n.func);
    const FuncRegion &r = found.funcs.at(n.func);
    bool computed_here = constant_max.count(n.func) > 0;
    std::vector<Let> lets;
    Region bounds;
    Box symbols;
    check_bounded(f, r.stored, "its updates write");
    for (int d = 0; d < f.dimensions(); d++) {
      Expr extent = simplify(make_sub(make_add(r.stored[d].max, c32(1)), r.stored[d].min));
      Name min_name = f.name + ".store." + f.args[d] + ".min",
           max_name = f.name + ".store." + f.args[d] + ".max";
      lets.push_back({min_name, r.stored[d].min});
      define_meaning(min_name, r.stored[d].min);
      define_meaning(max_name, r.stored[d].max);
      Expr min = make_var(min_name), max = make_var(max_name);
      if (as_const_int(extent)) {
        max = simplify(make_add(min, make_sub(extent, c32(1))));
      } else {
        lets.push_back({max_name, r.stored[d].max});
        extent = make_max(make_sub(make_add(max, c32(1)), min), c32(0));
      }
      symbols.push_back({min, max, {}});
      bounds.push_back({min, extent});
    }
    OpenStore open;
    open.depth = loops_.size();
    open.bounds = symbols;
    if (!computed_here) stores_[n.func] = open;
    const size_t outer = meaning_log_.size();
    Stmt body = build_children(n, site, found, marks, constant_max);
    forget_meanings(outer);
    if (!computed_here) {
      open = stores_[n.func];
      stores_.erase(n.func);
    }
    if (open.planned && open.fold_dim < 0 && cx_.storage[n.func].folds.rfind("folds", 0) == 0) {
      cx_.storage[n.func].folds = "not folded: the places that compute it need different rings";
    }
    fold_scan(f, open);
    fold_as_asked(f, bounds, open);
    if (open.fold_dim >= 0) {
      Range &b = bounds[open.fold_dim];
      b = {c32(0), c32(open.fold_factor)};
      body = fold(body, n.func, open.fold_dim, open.fold_factor);
    }
    body = bound_storage(f, bounds, body);
    settle_size(f, bounds);
    auto hoisted = hoists_.find(n.func);
    if (hoisted != hoists_.end()) {
      body = share_memory(f, bounds, hoisted->second, body);
    } else {
      body = make_realize(n.func, f.types, state_.of(n.func).memory, bounds, {}, body);
    }
    for (size_t i = lets.size(); i-- > 0;) body = make_let_stmt(lets[i].name, lets[i].value, body);
    return body;
  }

  // Every access to a Func, its coordinates changed by `to`.
  using Coordinates = std::function<void(std::vector<Expr> &)>;
  static Stmt relocate(const Stmt &s, Name func, const Coordinates &to) {
    class Mover final : public IRMutator {
    public:
      Mover(Name f, const Coordinates &c) : func_(f), to_(c) {}
      using IRMutator::visit;
      Expr visit(const Call *op) override {
        Expr e = IRMutator::visit(op);
        const Call *c = e.as<Call>();
        if (c->call_type != CallType::Halide || c->name != func_) return e;
        std::vector<Expr> args = c->args;
        to_(args);
        return make_func_call(c->type, c->name, args, c->value_index, c->func);
      }
      Stmt visit(const Provide *op) override {
        Stmt st = IRMutator::visit(op);
        const Provide *p = st.as<Provide>();
        if (p->name != func_) return st;
        std::vector<Expr> args = p->args;
        to_(args);
        return make_provide(p->name, p->values, args, p->predicate);
      }

    private:
      Name func_;
      const Coordinates &to_;
    };
    return Mover(func, to).mutate(s);
  }

  // Every access to the folded dimension goes to its place in the ring.
  static Stmt fold(const Stmt &s, Name func, int dim, int64_t factor) {
    return relocate(s, func,
                    [&](std::vector<Expr> &args) { args[dim] = make_mod(args[dim], c32(factor)); });
  }

  const schedule::StorageDim *storage_dim(const Function &f, size_t d) const {
    for (const schedule::StorageDim &s : state_.of(f.name).storage) {
      if (s.var == f.args[d]) return &s;
    }
    return nullptr;
  }

  // Of a scan, as many steps exist as are read at once.
  void fold_scan(const Function &f, OpenStore &open) {
    const schedule::Scan &scan = state_.of(f.name).scan;
    if (!scan.defined()) return;
    open.planned = true;
    open.needs.assign(f.args.size(), 0);
    open.no_ring.assign(f.args.size(), "all of it is read at its end");
    open.fold_dim =
        static_cast<int>(std::find(f.args.begin(), f.args.end(), scan.dim) - f.args.begin());
    open.fold_factor = scan.slots;
    open.needs[static_cast<size_t>(open.fold_dim)] = scan.slots;
    cx_.storage[f.name].folds = "folds " + scan.dim + " to " + std::to_string(scan.slots);
  }

  // fold_storage: the ring asked for, if it is large enough for what must exist at once.
  void fold_as_asked(const Function &f, const Region &bounds, OpenStore &open) {
    for (int d = 0; d < f.dimensions(); d++) {
      const schedule::StorageDim *dim = storage_dim(f, static_cast<size_t>(d));
      if (!dim || !dim->fold.defined()) continue;
      const int64_t asked = *as_const_int(dim->fold);
      int64_t need = 0;
      std::string why;
      if (open.planned) {
        need = open.needs[d];
        why = open.no_ring[d];
      } else if (const int64_t *all = as_const_int(bounds[d].extent)) {  // computed in one go
        need = *all;
      } else {
        why = "all of it is computed before any of it is read";
      }
      const std::string what =
          f.name + " cannot be folded in " + dim->var + " to " + std::to_string(asked);
      if (state_.of(f.name).memoize) {
        raise(Diagnostic("S0132", dim->fold_loc, what)
                  .because("it is memoized: all of what is kept must exist at once")
                  .fix("leave fold_storage or memoize away"));
      }
      if (need == 0 || need > asked) {
        Diagnostic diag("S0132", dim->fold_loc, what);
        diag.why.push_back(
            {need > 0 ? "at once " + std::to_string(need) + " of it must exist" : why, {}});
        const std::string &slides = cx_.storage[f.name].slides;
        if (!slides.empty()) diag.why.push_back({f.name + " " + slides, {}});
        diag.help.push_back(
            need > 0       ? "use a factor of at least " + std::to_string(need)
            : open.planned ? "leave it away: storage is folded unasked where that can be proved"
                           : "store it outside of the loop that computes it: store_at, compute_at");
        raise(std::move(diag));
      }
      if (open.walk_dim == d && open.walk_down == dim->fold_forward) {
        raise(Diagnostic("S0132", dim->fold_loc, what)
                  .because(std::string("its window moves ") +
                           (open.walk_down ? "downwards" : "upwards"))
                  .fix(std::string("fold_forward=") + (open.walk_down ? "false" : "true")));
      }
      open.fold_dim = d;
      open.fold_factor = asked;
      cx_.storage[f.name].folds = "folds " + dim->var + " to " + std::to_string(asked) +
                                  " (asked; needs " + std::to_string(need) + ")";
    }
  }

  // bound_storage: so much is allocated, and the run fails where more is needed.
  Stmt bound_storage(const Function &f, Region &bounds, Stmt body) {
    for (int d = 0; d < f.dimensions(); d++) {
      const schedule::StorageDim *dim = storage_dim(f, static_cast<size_t>(d));
      if (!dim || !dim->bound.defined()) continue;
      const Expr need = simplify(bounds[d].extent);
      const int64_t *n = as_const_int(need), *most = as_const_int(dim->bound);
      if (n && most && *n > *most) {
        raise(Diagnostic("S0131", dim->bound_loc,
                         "the storage of " + f.name + " in " + dim->var + " is bounded to " +
                             std::to_string(*most) + ", but " + std::to_string(*n) + " are needed")
                  .fix("bound_storage(" + dim->var + ", " + std::to_string(*n) + ")"));
      }
      bounds[d].extent = dim->bound;
      int64_t bounded;
      if (most && most_of(need, &bounded) && bounded <= *most) continue;
      Expr fail =
          make_intrinsic(Int(32), Intrinsic::error,
                         {make_string("calo_error_storage_bound"), make_string(cx_.program.name),
                          make_string(f.name), make_string(dim->var.str()),
                          make_cast(Int(64), dim->bound), make_cast(Int(64), need)});
      body = make_block(make_assert(make_le(need, dim->bound), fail), body);
    }
    return body;
  }

  bool touched_by_c(const Function &f) const {
    if (f.extern_stage()) return true;
    for (const Function &g : program_.funcs) {
      if (!g.extern_stage()) continue;
      const std::vector<Name> reads = called_funcs(g.pure());
      if (std::find(reads.begin(), reads.end(), f.name) != reads.end()) return true;
    }
    return false;
  }

  // The most that an extent can be in any iteration of the loops around, if that is known.
  bool most_of(const Expr &extent, int64_t *most) const {
    Scope<Interval> scope;
    for (const OpenLoop &l : loops_)
      scope.push(l.name, {l.min, simplify(make_sub(make_add(l.min, l.extent), c32(1))), {}});
    return analysis::constant_upper_bound(simplify(expand(extent)), scope, most);
  }

  // Storage that is small in every iteration gets the size of the largest: no request to the heap, constant strides.
  void settle_size(const Function &f, Region &bounds) const {
    std::vector<int64_t> most(bounds.size());
    double bytes = 0;
    for (const Type &t : f.types) bytes += t.bytes();
    for (size_t d = 0; d < bounds.size(); d++) {
      if (const int64_t *n = as_const_int(bounds[d].extent)) {
        most[d] = *n;
      } else if (!most_of(bounds[d].extent, &most[d])) {
        return;
      }
      bytes *= static_cast<double>(std::max<int64_t>(most[d], 1));
    }
    // C functions and traces see what is there, no more.
    if (touched_by_c(f) || state_.of(f.name).memoize || state_.of(f.name).trace_realizations)
      return;
    const MemoryType asked = state_.of(f.name).memory;
    const bool stack = asked == MemoryType::Stack || asked == MemoryType::Register;
    if (bytes > static_cast<double>(stack ? INT32_MAX : kStackBudget)) return;
    for (size_t d = 0; d < bounds.size(); d++)
      bounds[d].extent = c32(std::max<int64_t>(most[d], 0));
  }

  // hoist_storage: memory allocated further out, as large as any of the stores inside needs; each use begins at its
  // own corner of it.
  struct Hoist {
    size_t depth = 0;  // loops open where the memory begins
    std::vector<Expr> extents;
  };

  Stmt build_hoist(
      const LoopNode &n, const RegionFinder::Site &site, const RegionFinder::Result &found,
      const std::unordered_map<Name, Name> &marks,
      const std::unordered_map<Name, std::vector<std::unordered_map<Name, Expr>>> &constant_max) {
    const Function &f = *program_.find(n.func);
    if (touched_by_c(f) || state_.of(f.name).memoize) {
      raise(Diagnostic("S0131", state_.of(f.name).hoist.loc,
                       "the storage of " + f.name + " cannot be hoisted")
                .because(state_.of(f.name).memoize
                             ? "it is memoized: what is kept is its own memory"
                             : "a C function reads or writes its memory")
                .fix("leave hoist_storage away"));
    }
    Hoist hoist;
    hoist.depth = loops_.size();
    hoists_[n.func] = hoist;
    Stmt body = build_children(n, site, found, marks, constant_max);
    hoist = hoists_[n.func];
    hoists_.erase(n.func);
    if (hoist.extents.empty() && f.dimensions() > 0) return body;  // nothing below reads it
    Region bounds;
    for (const Expr &e : hoist.extents) bounds.push_back({c32(0), e});
    return make_realize(n.func, f.types, state_.of(n.func).memory, bounds, {}, body);
  }

  Stmt share_memory(const Function &f, const Region &bounds, Hoist &hoist, const Stmt &body) {
    Scope<Interval> between;
    for (size_t i = hoist.depth; i < loops_.size(); i++) {
      const OpenLoop &l = loops_[i];
      between.push(
          l.name,
          {expand(l.min), expand(simplify(make_sub(make_add(l.min, l.extent), c32(1)))), {}});
    }
    const bool first = hoist.extents.empty();
    hoist.extents.resize(bounds.size());
    for (size_t d = 0; d < bounds.size(); d++) {
      Expr extent = expand(bounds[d].extent);
      Expr largest = extent;
      for (size_t i = loops_.size();
           i-- > hoist.depth;) {  // inner ranges may depend on outer loops
        Scope<Interval> one;
        one.push(loops_[i].name, *between.find(loops_[i].name));
        const Interval all = analysis::bounds_of_expr(largest, one);
        if (!all.has_upper()) {
          raise(Diagnostic("S0131", state_.of(f.name).hoist.loc,
                           "the storage of " + f.name + " cannot be hoisted out of loop " +
                               loops_[i].name.str())
                    .because("how much it needs in " + f.args[d] +
                             " in that loop's iterations is not bounded by what is known outside")
                    .fix("bound_storage(" + f.args[d] + ", n), or hoist it less far"));
        }
        largest = simplify(all.max);
      }
      hoist.extents[d] = first ? largest : simplify(make_max(hoist.extents[d], largest));
    }
    return relocate(body, f.name, [&](std::vector<Expr> &args) {
      for (size_t d = 0; d < args.size(); d++) {
        if (!is_const_zero(bounds[d].min)) args[d] = make_sub(args[d], bounds[d].min);
      }
    });
  }

  using ConstantMax = std::unordered_map<Name, std::vector<std::unordered_map<Name, Expr>>>;
  Stmt build_produce(const LoopNode &n, const ConstantMax &constant_max) {
    std::vector<Stmt> stmts;
    for (const auto &child : n.children) {
      if (child->kind == LoopNode::Kind::Loop && child->members.size() > 1) {
        stmts.push_back(build_shared_stages(*child, constant_max));
        continue;
      }
      const auto known = constant_max.find(stage_of(*child).func);
      if (known == constant_max.end()) continue;  // of several Funcs, one that nothing here reads
      stmts.push_back(build_stage(*program_.find(known->first), *child, known->second));
    }
    return make_block(stmts);
  }

  static bool has_effects(const Definition &d) {
    bool any = false;
    for (const Expr &e : d.values) {
      for_each_expr(e, [&](const Expr &x) {
        const Call *c = x.as<Call>();
        any = any || (c && (c->call_type == CallType::Extern || c->op == Intrinsic::print ||
                            c->op == Intrinsic::print_when));
      });
    }
    return any;
  }

  // ---- shared loops (compute_with) -----------------------------------------------------------------
  // Several stages under one loop, in the two versions that small and large regions want.
  Stmt build_shared_stages(const LoopNode &n, const ConstantMax &constant_max) {
    Expr fits;
    for (const StageRef &m : n.members) {
      if (mode_ == TailMode::Guard) break;
      Expr f = StageLoops(*program_.find(m.func), m.stage, *m.state, TailMode::Shift,
                          constant_max.at(m.func)[m.stage])
                   .fits();
      if (f.defined() && has_effects(program_.find(m.func)->definitions[m.stage]))
        f = make_bool(false);
      if (f.defined() && cx_.in_place.count(m.func))
        f = make_and(f, make_not(make_var(in_place_flag(m.func), Bool())));
      if (f.defined()) fits = fits.defined() ? make_and(fits, f) : f;
    }
    if (fits.defined()) fits = simplify(fits);
    if (!fits.defined() || is_const_one(fits)) return shared_version(n, constant_max, mode_);
    Stmt small = shared_version(n, constant_max, TailMode::Guard);
    return is_const_zero(fits)
               ? small
               : make_if(fits, shared_version(n, constant_max, TailMode::Shift), small);
  }

  Stmt shared_version(const LoopNode &n, const ConstantMax &constant_max, TailMode mode) {
    std::vector<StageLoops> loops;
    std::vector<OpenStage> open;
    loops.reserve(n.members.size());  // addresses are kept
    open.reserve(n.members.size());
    const size_t outside = stage_stack_.size();
    for (const StageRef &m : n.members) {
      loops.emplace_back(*program_.find(m.func), m.stage, *m.state, mode,
                         constant_max.at(m.func)[m.stage]);
      open.push_back({m, &loops.back(), {}, {}});
      stage_stack_.push_back(&open.back());
    }
    const TailMode saved = std::exchange(mode_, mode);
    Stmt s = n.in_order ? build_loop_in_order(n) : build_shared_loop(n);
    mode_ = saved;
    stage_stack_.resize(outside);
    return s;
  }

  // One loop for several stages. It runs over the hull of their iterations, laid on one another as their alignment says;
  // each stage runs in its own ones. Elsewhere its loop variable stands at its first or last iteration.
  Stmt build_shared_loop(const LoopNode &n) {
    struct Member {
      OpenStage *open;
      OpenLoop loop;
      Expr max, shift, low, high;  // own iteration = shared one + shift; own range in shared ones
    };
    std::vector<Member> members;
    const Name var = n.loop.var;
    for (const StageRef &s : n.members) {
      Member m;
      m.open = &open_of(s);
      m.loop = {m.open->loops->loop_name(var),
                m.open->loops->loop_kind(var),
                m.open->loops->loop_min(var),
                m.open->loops->loop_extent(var),
                {}};
      m.max = simplify(make_sub(make_add(m.loop.min, m.loop.extent), c32(1)));
      const Member &leader = members.empty() ? m : members[0];
      switch (align_of(s, var)) {
        case LoopAlignStrategy::AlignStart:
          m.shift = simplify(make_sub(m.loop.min, leader.loop.min));
          break;
        case LoopAlignStrategy::AlignEnd: m.shift = simplify(make_sub(m.max, leader.max)); break;
        default: m.shift = c32(0); break;
      }
      m.low = simplify(make_sub(m.loop.min, m.shift));
      m.high = simplify(make_sub(m.max, m.shift));
      members.push_back(std::move(m));
    }
    // The hull of those that run at all in this iteration of the loops around.
    Expr low = members[0].low, high = members[0].high, active = members[0].open->active;
    for (size_t i = 1; i < members.size(); i++) {
      const Member &m = members[i];
      Expr a = m.open->active, l = make_min(low, m.low), h = make_max(high, m.high);
      if (a.defined()) {
        l = make_select(make_and(active, a), l, make_select(active, low, m.low));
        h = make_select(make_and(active, a), h, make_select(active, high, m.high));
        active = make_or(active, a);
      }
      low = l;
      high = h;
    }
    const Name shared = members[0].loop.name + ".shared";
    const Expr at = make_var(shared), first = make_var(shared + ".min"),
               last = make_var(shared + ".max");
    std::vector<Let> lets;
    std::vector<Expr> outer;
    const size_t depth = loops_.size();
    for (Member &m : members) {
      const Expr own = simplify(make_add(at, m.shift));
      const Name flag = m.loop.name + ".runs";
      Expr runs = make_and(make_ge(own, m.loop.min), make_le(own, m.max));
      if (m.open->active.defined()) runs = make_and(m.open->active, runs);
      lets.push_back({flag, runs});
      lets.push_back({m.loop.name, make_max(make_min(own, m.max), m.loop.min)});
      outer.push_back(std::exchange(m.open->active, make_var(flag, Bool())));
      if (n.loop.partition != Partition::Auto) cx_.partition[shared] = n.loop.partition;
      m.open->fixed.insert(var);
      loops_.push_back(m.loop);
    }
    Stmt body = build_shared_site(n, lets);
    std::vector<Name> marks;
    for (size_t i = members.size(); i-- > 0;) {
      members[i].open->active = outer[i];
      members[i].open->fixed.erase(var);
      for (Name mark : loops_[depth + i].marks) marks.push_back(mark);
    }
    loops_.resize(depth);
    Expr extent = make_max(make_sub(make_add(last, c32(1)), first), c32(0));
    Stmt s = make_for(shared, first, extent, members[0].loop.kind, body);
    s = with_lets({{shared + ".min", low}, {shared + ".max", high}}, s);
    return with_marks(marks, s);
  }

  // One loop for an in-order group, whose stages all run over the same iterations. What is read below is what any of them
  // reads, in terms of the first one's loop.
  Stmt build_loop_in_order(const LoopNode &n) {
    const Name var = n.loop.var;
    const OpenStage &first = open_of(n.members[0]);
    const OpenLoop loop{first.loops->loop_name(var),
                        first.loops->loop_kind(var),
                        first.loops->loop_min(var),
                        first.loops->loop_extent(var),
                        {}};
    if (n.loop.partition != Partition::Auto) cx_.partition[loop.name] = n.loop.partition;
    const size_t outer = meaning_log_.size();
    const Expr at = make_var(loop.name);
    RegionFinder::Site site;
    std::vector<Let> lets;
    Substitution to_first;
    for (const StageRef &m : n.members) {
      OpenStage &open = open_of(m);
      open.fixed.insert(var);
      site.owners.push_back(owner_site(m).owners[0]);
      const Name own = open.loops->loop_name(var);
      if (own == loop.name) continue;
      define_meaning(own, at);
      lets.push_back({own, at});
      to_first[own] = at;
    }
    for (RegionFinder::Owner &o : site.owners) {
      for (auto &[root, range] : o.ranges)
        range = {substitute(to_first, range.min), substitute(to_first, range.max), {}};
    }
    loops_.push_back(loop);
    Stmt body = with_lets(lets, build_site(n, site, {}));
    const std::vector<Name> marks = loops_.back().marks;
    loops_.pop_back();
    for (const StageRef &m : n.members) open_of(m).fixed.erase(var);
    forget_meanings(outer);
    return with_marks(marks, make_for(loop.name, loop.min, loop.extent, loop.kind, body));
  }

  // The body of a shared loop: what each member's producers must provide, in that member's iterations.
  Stmt build_shared_site(const LoopNode &n, std::vector<Let> lets) {
    SiteRegions here;
    RegionFinder::Site site;
    std::vector<Name> guarded;
    const size_t outer = meaning_log_.size();
    for (const StageRef &s : n.members) {
      site = owner_site(s);
      find_regions(n, site, {}, here);
      for (const auto &known : here.constant_max) {
        if (guards_.emplace(known.first, open_of(s).active).second) guarded.push_back(known.first);
      }
    }
    lets.insert(lets.end(), here.lets.begin(), here.lets.end());
    Stmt body = build_children(n, site, here.found, here.marks, here.constant_max);
    forget_meanings(outer);
    for (Name f : guarded) guards_.erase(f);
    return with_lets(lets, body);
  }

  LoopAlignStrategy align_of(const StageRef &s, Name loop) const {
    const schedule::SharedLoops &shared = s.state->shared;
    for (const auto &[name, align] : shared.align) {
      const auto &loops = s.state->loops;
      const int i = schedule::find_loop(*program_.find(s.func), loops, name);
      if (i >= 0 && loops[i].var == loop) return align;
    }
    return shared.all_align;
  }

  // One stage: its specializations, or its loops in the two versions that small and large regions want.
  Stmt build_stage(const Function &f, const LoopNode &n,
                   const std::vector<std::unordered_map<Name, Expr>> &constant_max) {
    if (n.kind == LoopNode::Kind::Branch) return build_branch(f, n, constant_max);
    const StageRef s = stage_of(n);
    auto max_is = constant_max[s.stage];
    know_extents(f, s, max_is);
    StageLoops shifted(f, s.stage, *s.state, mode_, max_is);
    Expr fits = mode_ == TailMode::Shift ? shifted.fits() : Expr();
    if (fits.defined() && proved_here(fits)) fits = make_bool(true);
    if (fits.defined() && has_effects(f.definitions[s.stage])) {
      fits = make_bool(false);  // a block that shifts inwards would have them twice
    } else if (fits.defined() && cx_.in_place.count(f.name)) {
      fits = make_and(fits, make_not(make_var(in_place_flag(f.name), Bool())));
    }
    if (!fits.defined() || is_const_one(fits)) return with_stage(s, shifted, n);
    StageLoops guarded(f, s.stage, *s.state, TailMode::Guard, max_is);
    TailMode saved = mode_;
    mode_ = TailMode::Guard;
    Stmt small = with_stage(s, guarded, n);
    mode_ = saved;
    return is_const_zero(fits) ? small : make_if(fits, with_stage(s, shifted, n), small);
  }

  // if c0: loops of the first specialization, else if c1: ...
  Stmt build_branch(const Function &f, const LoopNode &n,
                    const std::vector<std::unordered_map<Name, Expr>> &constant_max) {
    Stmt result;
    for (size_t i = n.children.size(); i-- > 0;) {
      const LoopNode &c = *n.children[i];
      Stmt body;
      if (c.children.empty()) {
        Expr fail = make_intrinsic(
            Int(32), Intrinsic::error,
            {make_string("calo_error_specialize_fail"), make_string(cx_.program.name),
             make_string(c.members[0].state->failure)});
        body = make_assert(make_bool(false), fail);
      } else {
        if (c.condition.defined()) facts_.truths.push_back(c.condition);
        body = build_stage(f, *c.children[0], constant_max);
        if (c.condition.defined()) facts_.truths.pop_back();
      }
      result = result.defined() ? make_if(c.condition, body, result) : body;
    }
    return result;
  }

  // Root variables whose extent the conditions of a specialization fix.
  void know_extents(const Function &f, const StageRef &s, std::unordered_map<Name, Expr> &max_is) {
    if (s.state->assumed.empty()) return;
    for (size_t d = 0; d < f.args.size(); d++) {
      Name v = pure_arg(f, f.definitions[s.stage], d);
      if (!v.empty()) know_extent(f, s, v, max_is);
    }
    for (const ReductionVariable &r : f.definitions[s.stage].rvars)
      know_extent(f, s, r.var, max_is);
  }
  void know_extent(const Function &f, const StageRef &s, Name v,
                   std::unordered_map<Name, Expr> &max_is) {
    Expr min = make_var(StageLoops::min_symbol(f.name, s.stage, v)),
         max = make_var(StageLoops::max_symbol(f.name, s.stage, v));
    Expr last =
        simplify(schedule::under_conditions(make_sub(expand(max), expand(min)), s.state->assumed));
    if (as_const_int(last) && !max_is.count(v)) max_is[v] = simplify(make_add(min, last));
  }

  bool proved_here(const Expr &condition) const {
    return !facts_.truths.empty() && analysis::can_prove(expand(condition), facts_);
  }

  static StageRef stage_of(const LoopNode &n) {
    if (n.kind == LoopNode::Kind::Loop || n.kind == LoopNode::Kind::Compute ||
        n.kind == LoopNode::Kind::Branch)
      return n.members[0];
    for (const auto &c :
         n.children) {  // a stage without loops whose reader needs storage around it
      if (c->kind != LoopNode::Kind::Produce) return stage_of(*c);
    }
    CALO_ASSERT(false, "a stage without a definition");
    return {};
  }

  Stmt with_stage(const StageRef &s, const StageLoops &loops, const LoopNode &n) {
    OpenStage open{s, &loops, {}, {}};
    stage_stack_.push_back(&open);
    Stmt result;
    if (n.kind == LoopNode::Kind::Loop) {
      result = build_loop(n);
    } else {
      result = build_innermost(n);
    }
    stage_stack_.pop_back();
    return result;
  }

  // A stage of no loops at all: its point may still be a site.
  Stmt build_innermost(const LoopNode &n) {
    struct Borrowed {  // the tree keeps the node, whatever is thrown
      LoopNode parent;
      ~Borrowed() { parent.children[0].release(); }
    } borrowed;
    borrowed.parent.children.push_back(std::unique_ptr<LoopNode>(const_cast<LoopNode *>(&n)));
    return build_site(borrowed.parent, owner_site(stage_of(n)), {});
  }

  RegionFinder::Site owner_site(const StageRef &stage) {
    OpenStage &open = open_of(stage);
    RegionFinder::Site site;
    RegionFinder::Owner owner{open.stage, {}};
    for (Name v : open.loops->roots()) owner.ranges[v] = open.loops->range(v, open.fixed);
    site.owners.push_back(std::move(owner));
    return site;
  }

  [[noreturn]] static void refuse_unknown_extent(Name func, const schedule::Loop &loop) {
    const bool vector = loop.kind == ForType::Vectorized;
    const std::string verb = vector ? "vectorize" : "unroll";
    raise(Diagnostic("S0112", loop.loc,
                     func.str() + " cannot " + verb + " " + loop.var.str() +
                         ": how far this loop runs is not a constant")
              .fix(verb + "(" + loop.var.str() + ", n) for blocks of n, or bound() the dimension"));
  }

  Stmt build_loop(const LoopNode &n) {
    OpenStage &open = open_of(n.members[0]);
    Name var = n.loop.var;
    OpenLoop loop{open.loops->loop_name(var),
                  open.loops->loop_kind(var),
                  open.loops->loop_min(var),
                  open.loops->loop_extent(var),
                  {}};
    bool fixed_length = loop.kind == ForType::Vectorized || loop.kind == ForType::Unrolled;
    if (fixed_length && !as_const_int(loop.extent)) {
      if (mode_ == TailMode::Shift) refuse_unknown_extent(open.stage.func, n.loop);
      loop.kind = ForType::Serial;
    }
    if (n.loop.partition != Partition::Auto) cx_.partition[loop.name] = n.loop.partition;
    loops_.push_back(loop);
    open.fixed.insert(var);
    Stmt body = build_site(n, owner_site(n.members[0]), {});
    open.fixed.erase(var);
    loop = loops_.back();
    loops_.pop_back();
    return with_marks(loop.marks, make_for(loop.name, loop.min, loop.extent, loop.kind, body));
  }

  static Stmt with_marks(const std::vector<Name> &marks, Stmt s) {
    for (Name mark : marks) {
      Stmt init = make_store(mark, c32(kNoMark), c32(0));
      s = make_allocate(mark, Int(32), MemoryType::Stack, {c32(1)}, {}, make_block(init, s));
    }
    return s;
  }

  Stmt build_compute(const StageRef &s) {
    const Function &f = *program_.find(s.func);
    const Definition &d = f.definitions[s.stage];
    const StageLoops &loops = *open_of(s).loops;
    if (f.extern_stage()) return run_extern(f, loops);
    Substitution map;
    std::vector<Let> lets;
    for (Name v : loops.roots()) {
      Expr value = loops.value(v);
      if (value.as<Variable>()) {
        map[v] = value;
      } else {
        Name at = f.name + ".s" + std::to_string(s.stage) + "." + v.str() + ".at";
        lets.push_back({at, value});
        map[v] = make_var(at);
      }
    }
    std::vector<Expr> values, args;
    for (const Expr &e : d.values) values.push_back(substitute(map, e));
    for (const Expr &e : d.args) args.push_back(substitute(map, e));
    Stmt body = make_provide(f.name, values, args);
    body = combined(s, body);
    if (d.predicate.defined()) body = make_if(substitute(map, d.predicate), body);
    for (const Expr &g : loops.guards())
      body = make_if(make_likely(g), body);  // apart: some are scalar in vector code
    for (size_t i = lets.size(); i-- > 0;) body = make_let_stmt(lets[i].name, lets[i].value, body);
    return body;
  }

  // ---- extern stages -----------------------------------------------------------------------------

  static constexpr const char *kQuery = ".query";

  static bool is_buffer(const Expr &e) {
    const Call *c = e.as<Call>();
    return c && (c->call_type == CallType::Halide || c->call_type == CallType::Image);
  }
  static Expr packed(Type t) { return c32(t.code() | t.bits() << 8 | 1 << 16); }

  // A buffer without memory.
  static Expr shape_only(Type t, const Box &box) {
    std::vector<Expr> args{make_string(""), c32(0), packed(t)};
    for (const Interval &i : box) {
      Expr extent = make_max(make_sub(make_add(i.max, c32(1)), i.min), c32(0));
      args.insert(args.end(), {i.min, extent, c32(0)});
    }
    return make_intrinsic(Handle(), Intrinsic::buffer_make, args);
  }

  // Asks the C function, at this site, what it needs for the region that f must provide:
  //   let f.query0.1 = a buffer without memory ..., f.query0.code = the call, f.query0.1.min.0 = what it wrote ...
  std::vector<std::pair<Name, Box>> query_extern(const Function &f, const FuncRegion &r, bool root,
                                                 std::vector<Let> &lets) {
    const Call *stage = f.extern_stage();
    const std::string prefix = f.name + kQuery + std::to_string(queries_++);
    std::vector<Expr> args{stage->args[0]};
    std::vector<std::pair<Name, Expr>> asked;  // handle, call
    for (size_t i = 1; i < stage->args.size(); i++) {
      const Expr &a = stage->args[i];
      if (!is_buffer(a)) {
        args.push_back(a);
        continue;
      }
      const Name handle = prefix + "." + std::to_string(i);
      const Interval zero{c32(0), c32(-1), {}};
      lets.push_back({handle, shape_only(a.type(), Box(a.as<Call>()->args.size(), zero))});
      args.push_back(make_var(handle, Handle()));
      asked.emplace_back(handle, a);
    }
    Box region;
    for (Name v : f.args) region.push_back(r.stage_ranges[0].at(v));
    for (size_t i = 0; i < f.types.size(); i++) {
      const Name handle = prefix + ".out" + std::to_string(i);
      lets.push_back({handle, shape_only(f.types[i], region)});
      args.push_back(make_var(handle, Handle()));
    }
    lets.push_back({prefix + ".code", make_intrinsic(Int(32), Intrinsic::extern_stage, args)});
    std::vector<std::pair<Name, Box>> needs;
    for (const auto &[handle, call] : asked) {
      const Call *c = call.as<Call>();
      const bool image = c->call_type == CallType::Image;
      if (image && !root) continue;  // the root asked for everything
      queries_inputs_ |= image;
      Box box;
      for (size_t d = 0; d < c->args.size(); d++) {
        const Expr h = make_var(handle, Handle()), dim = c32(static_cast<int64_t>(d));
        const Name min = handle + ".min." + std::to_string(d),
                   max = handle + ".max." + std::to_string(d);
        lets.push_back({min, make_intrinsic(Int(32), Intrinsic::buffer_min, {h, dim})});
        Expr extent = make_intrinsic(Int(32), Intrinsic::buffer_extent, {h, dim});
        lets.push_back({max, make_sub(make_add(make_var(min), extent), c32(1))});
        box.push_back({make_var(min), make_var(max), {}});
      }
      needs.emplace_back(c->name, std::move(box));
    }
    return needs;
  }

  static bool asks_c_function(const Box &region) {
    for (const Interval &i : region) {
      for (const Expr &e : {i.min, i.max}) {
        if (!e.defined()) continue;
        for (Name n : free_vars(e)) {
          if (n.str().find(kQuery) != std::string::npos) return true;
        }
      }
    }
    return false;
  }

  // The Func's memory as a buffer: all of it, or this part.
  static Expr memory_of(Name func, size_t value_index, const Box &part) {
    std::vector<Expr> args{make_string(func.str()), c32(static_cast<int64_t>(value_index))};
    for (const Interval &i : part) {
      args.push_back(i.min);
      args.push_back(make_max(make_sub(make_add(i.max, c32(1)), i.min), c32(0)));
    }
    return make_intrinsic(Handle(), Intrinsic::buffer_make, args);
  }

  Stmt run_extern(const Function &f, const StageLoops &loops) {
    const Call *stage = f.extern_stage();
    std::vector<Expr> args{stage->args[0]};
    for (size_t i = 1; i < stage->args.size(); i++) {
      const Expr &a = stage->args[i];
      const Call *c = a.as<Call>();
      if (!is_buffer(a)) {
        args.push_back(a);
      } else if (c->call_type == CallType::Image) {
        args.push_back(make_var(c->name + ".buffer", Handle()));
      } else {
        args.push_back(memory_of(c->name, static_cast<size_t>(c->value_index), {}));
      }
    }
    Box region;
    for (Name v : f.args) region.push_back(loops.range(v, {}));
    for (size_t i = 0; i < f.types.size(); i++) args.push_back(memory_of(f.name, i, region));
    return make_evaluate(make_intrinsic(Int(32), Intrinsic::extern_stage, args));
  }

  // ---- memoize -----------------------------------------------------------------------------------

  // if (!lookup(key, buffers)) { produce; store(key, buffers) }
  Stmt memoized(const Function &f, const FuncRegion &r, const Stmt &produce) {
    if (stores_.count(f.name)) {
      raise(Diagnostic("S0115", state_.of(f.name).memo_loc,
                       f.name + " cannot be memoized: it is stored outside of where it is computed")
                .because("what is kept is one whole computation, not the part that a window adds")
                .fix("leave out store_at and store_root, or put the storage where it is computed"));
    }
    const schedule::MemoKey key = schedule::memo_key(program_, *cx_.program.find(f.name));
    std::vector<Expr> args{make_string(cx_.program.name + "." + key.text)};
    const Expr evict = state_.of(f.name).evict_key;
    args.push_back(evict.defined() ? make_cast(UInt(64), evict) : make_uint(UInt(64), 0));
    args.push_back(c32(static_cast<int64_t>(key.values.size())));
    args.insert(args.end(), key.values.begin(), key.values.end());
    for (size_t i = 0; i < f.types.size(); i++) args.push_back(memory_of(f.name, i, r.required));
    const Name hit = f.name + ".hit";
    Stmt miss =
        make_block(produce, make_evaluate(make_intrinsic(Int(32), Intrinsic::memo_store, args)));
    Stmt s = make_if(make_eq(make_var(hit), c32(0)), miss);
    return make_let_stmt(hit, make_intrinsic(Int(32), Intrinsic::memo_lookup, args), s);
  }

  // ---- promises ----------------------------------------------------------------------------------

  // Each of these names at most once, in sums and constant multiples: an interval of it is exact.
  static bool is_affine(const Expr &e, std::unordered_set<Name> &used) {
    if (is_const(e)) return true;
    if (const Variable *v = e.as<Variable>()) return v->param || used.insert(v->name).second;
    if (const Add *op = e.as<Add>()) return is_affine(op->a, used) && is_affine(op->b, used);
    if (const Sub *op = e.as<Sub>()) return is_affine(op->a, used) && is_affine(op->b, used);
    if (const Mul *op = e.as<Mul>()) return as_const_int(op->b) && is_affine(op->a, used);
    return false;
  }
  static bool is_uniform(const Expr &e) {
    bool yes = true;
    for_each_expr(e, [&](const Expr &x) {
      const Variable *v = x.as<Variable>();
      yes = yes && !(v && !v->param) && !x.as<Call>();
    });
    return yes;
  }

  // Promises about indices that loops alone decide are checked once, before anything runs.
  void check_promises(const RegionFinder::Result &found) {
    for (const Function &f : program_.funcs) {
      auto it = found.funcs.find(f.name);
      if (it == found.funcs.end()) continue;
      for (int k = 0; k < f.stages(); k++) {
        const Definition &d = f.definitions[k];
        if (d.predicate.defined()) continue;  // points that never run would count
        VarRanges ranges = it->second.stage_ranges[k];
        Box all;
        for (auto &[name, i] : ranges) all.push_back({expand(i.min), expand(i.max), {}});
        if (asks_c_function(all)) continue;
        Scope<Interval> scope;
        for (auto &[name, i] : ranges) scope.push(name, {expand(i.min), expand(i.max), {}});
        auto look = [&](const Expr &root) {
          for_each_expr(root, [&](const Expr &x) {
            const Call *c = x.as<Call>();
            if (c &&
                (c->op == Intrinsic::unsafe_promise_clamped || c->op == Intrinsic::promise_clamped))
              check_promise(f, d, c, scope);
          });
        };
        for (const Expr &e : d.values) look(e);
        for (const Expr &e : d.args) look(e);
      }
    }
  }

  void check_promise(const Function &f, const Definition &d, const Call *c,
                     const Scope<Interval> &scope) {
    std::unordered_set<Name> used;
    if (!is_affine(c->args[0], used) || !is_uniform(c->args[1]) || !is_uniform(c->args[2])) return;
    const Interval i = analysis::bounds_of_expr(c->args[0], scope);
    if (!i.bounded()) return;
    const Expr holds = simplify(make_and(make_ge(i.min, c->args[1]), make_le(i.max, c->args[2])));
    if (is_const_one(holds)) return;
    cx_.promises.push_back(make_intrinsic(
        Bool(), Intrinsic::require,
        {holds, make_bool(true), make_string(d.loc.defined() ? to_string(d.loc) : ""),
         make_string("promise_clamped(" + ir::to_string(c->args[0]) + ", ...) in " + f.name),
         make_string("the values go from"), i.min, make_string("to"), i.max,
         make_string("promised were"), c->args[1], make_string("to"), c->args[2]}));
  }

  // ---- updates that meet --------------------------------------------------------------------------

  // Marks an update whose iterations may meet at one element while they run at once.
  Stmt combined(const StageRef &s, const Stmt &provide) {
    const schedule::StageState &st = *s.state;
    if (!st.atomic) return provide;
    const Function &f = *program_.find(s.func);
    const schedule::OrderFacts &facts = order_.of(f, s.stage);
    const auto roots = schedule::root_vars(f, st, s.stage);
    bool shared = false, lanes = false;
    for (const schedule::Loop &loop : st.loops) {
      if (facts.is_free(roots.at(loop.var))) continue;
      shared |= loop.kind == ForType::Parallel;
      lanes |= loop.kind == ForType::Vectorized;
    }
    return shared || lanes ? make_atomic(s.func, s.stage, shared, provide) : provide;
  }

  struct OpenStage {
    StageRef stage;
    const StageLoops *loops;
    std::unordered_set<Name> fixed;
    Expr
        active;  // directly inside a shared loop: whether this is one of the stage's own iterations
  };
  OpenStage &open_of(const StageRef &s) const {
    for (size_t i = stage_stack_.size(); i-- > 0;) {
      OpenStage &open = *stage_stack_[i];
      if (open.stage.func == s.func && open.stage.stage == s.stage) return open;
    }
    CALO_ASSERT(false, "a loop outside of its stage");
    return *stage_stack_.back();
  }

  PassContext &cx_;
  const Program &program_;
  const schedule::ScheduleState &state_;
  RegionFinder regions_;
  schedule::OrderCache order_;
  bool at_root_ = false;
  TailMode mode_ = TailMode::Shift;
  analysis::Facts facts_;  ///< conditions of the specializations being built
  std::vector<OpenLoop> loops_;
  std::vector<OpenStage *> stage_stack_;
  std::unordered_map<Name, OpenStore>
      stores_;  // storage around the current point whose Func is computed deeper
  std::unordered_map<Name, Expr> guards_;   // in a shared loop: when to produce a member's Funcs
  std::unordered_map<Name, Slide> slides_;  // of Funcs with a mark
  std::unordered_map<Name, Hoist> hoists_;  // memory around the current point
  std::unordered_map<Name, Expr> meaning_;  // region symbols, sliding left out
  std::vector<std::pair<Name, Expr>> meaning_log_;  // what each definition replaced
  int queries_ = 0;                                 // of extern stages so far
  bool queries_inputs_ = false;                     // some ask for images
};

}  // namespace

void find_in_place(PassContext &cx) {
  for (Name out : cx.program.outputs) {
    const Function &f = *cx.program.find(out);
    if (f.has_updates() || f.types.size() != 1) continue;
    std::unordered_map<std::string, bool>
        same_place;  // image -> every read is at the place written
    for (const Function &g : cx.program.funcs) {
      for (const Definition &d : g.definitions) {
        auto look = [&](const Expr &e, bool in_value) {
          if (!e.defined()) return;
          for_each_expr(e, [&](const Expr &x) {
            const Call *c = x.as<Call>();
            if (!c || c->call_type != CallType::Image) return;
            bool same = in_value && g.name == out && c->args.size() == f.args.size() &&
                        c->type == f.types[0];
            for (size_t i = 0; same && i < c->args.size(); i++) {
              const Variable *v = c->args[i].as<Variable>();
              same = v && !v->param && v->name == f.args[i];
            }
            auto it = same_place.emplace(c->name.str(), true).first;
            it->second &= same;
          });
        };
        for (const Expr &e : d.values) look(e, true);
        for (const Expr &e : d.args) look(e, false);
        look(d.predicate, false);
      }
    }
    for (auto &[image, same] : same_place) {
      if (same) cx.in_place[out].push_back(image);
    }
  }
}

Stmt build_loops(const Stmt &, PassContext &cx) {
  find_in_place(cx);
  cx.tree = schedule::build_loop_tree(cx.program, *cx.state);
  return LoopBuilder(cx).build();
}

}  // namespace calotype::lower
