// From the loop tree to loops: walks the tree from the root, finds at each site the regions its Funcs must provide
// (infer_bounds.h), names them by lets, and builds storage, loops and definitions below them.
//
// Pure stages whose blocks end in vectors are built twice where their extent is not known: blocks that shift inwards
// where the extent allows, else loops that end early (stage_loops.h).
// Sliding windows are decided here, while the loops between storage and computation are at hand: slide_window.h.
#include <algorithm>

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

    void agree_on_fold(int dim, int64_t factor) {
      if (!planned) {
        fold_dim = dim;
        fold_factor = factor;
      } else if (dim != fold_dim) {
        fold_dim = -1;
      } else {
        fold_factor = std::max(fold_factor, factor);
      }
      planned = true;
    }
  };
  struct Let {
    Name name;
    Expr value;
  };

  // Builds everything at one site: lets of regions around storage, producers and the rest.
  Stmt build_site(const LoopNode &parent, RegionFinder::Site site,
                  const std::unordered_map<Name, Box> &given) {
    std::vector<Let> lets;
    std::unordered_map<Name, Name> marks;  // Func -> its high-water mark to advance after producing
    std::unordered_map<Name, std::vector<std::unordered_map<Name, Expr>>> constant_max;
    for (const auto &c : parent.children) site.below.push_back(c.get());
    bool root = at_root_;
    at_root_ = false;

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
      if (slide.dim >= 0) marks[f.name] = slide.mark;
    };
    site.on_extern = [&](const Function &f, const FuncRegion &r) {
      return query_extern(f, r, root, lets);
    };
    RegionFinder::Result found = regions_.at(site, given);
    if (root) {
      if (queries_inputs_) {
        for (const Let &l : lets) cx_.early_lets.emplace_back(l.name, l.value);
      }
      check_promises(found);
      for (auto &[name, box] : found.inputs) cx_.input_regions[name] = expand(box);
      for (auto &[name, region] : found.funcs) {
        bool bounded = false;
        for (const schedule::Bound &b : state_.of(name).bounds) bounded |= b.extent.defined();
        if (bounded) cx_.bounded_reads[name] = expand(region.read);
      }
      for (Name out : program_.outputs)
        cx_.output_regions[out] = expand(found.funcs.at(out).stored);
    }
    Stmt body = build_children(parent, site, found, marks, constant_max);
    for (size_t i = lets.size(); i-- > 0;) body = make_let_stmt(lets[i].name, lets[i].value, body);
    return body;
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
    meaning_[min_name] = expand(range.min);
    meaning_[max_name] = expand(range.max);
    Expr first = slide ? slide->first(range.min) : range.min;
    lets.push_back({min_name, first});
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
    if (f.extern_stage() || asks_c_function(q.region)) {
      Slide none;
      none.report = f.extern_stage() ? "no: a C function computes what it is asked for"
                                     : "no: a C function decides what it needs";
      store.agree_on_fold(-1, 0);
      return none;
    }
    for (size_t i = store.depth; i < loops_.size(); i++) {
      q.loops.push_back({loops_[i].name, loops_[i].kind, loops_[i].min, loops_[i].extent});
    }
    const std::vector<Name> &order = state_.of(f.name).storage_order;
    if (!f.args.empty()) q.innermost_storage = order.empty() ? f.args[0] : order[0];
    const schedule::StageState &st = state_.of(f.name).stages[0];
    StageLoops loops(f, 0, st, TailMode::Shift, {});
    for (Name a : f.args) q.rounding_slack.push_back(loops.rounding_slack(a));
    Slide s = lower::plan_slide(q);
    store.agree_on_fold(s.dim >= 0 && s.fold_factor > 0 ? s.dim : -1, s.fold_factor);
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
        case LoopNode::Kind::Produce: {
          if (unread) break;
          Stmt produce = make_producer(n.func, build_produce(n, constant_max.at(n.func)));
          if (state_.of(n.func).memoize) {
            produce = memoized(*program_.find(n.func), found.funcs.at(n.func), produce);
          }
          stmts.push_back(produce);
          auto mark = marks.find(n.func);
          if (mark != marks.end()) stmts.push_back(advance_mark(n.func, mark->second));
          break;
        }
        case LoopNode::Kind::Loop: stmts.push_back(build_loop(n)); break;
        case LoopNode::Kind::Compute: stmts.push_back(build_compute(n.members[0])); break;
        case LoopNode::Kind::Root: break;
      }
    }
    return make_block(stmts);
  }

  Stmt advance_mark(Name func, Name mark) {
    const Function &f = *program_.find(func);
    int dim = 0;
    while (mark_name(func, f.args[dim]) != mark) dim++;
    Expr last = make_var(StageLoops::max_symbol(func, 0, f.args[dim]));
    Expr old = make_load(Int(32), mark, c32(0));
    return make_store(mark, make_max(old, last), c32(0));
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
      meaning_[min_name] = expand(r.stored[d].min);
      meaning_[max_name] = expand(r.stored[d].max);
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
    Stmt body = build_children(n, site, found, marks, constant_max);
    if (!computed_here) {
      open = stores_[n.func];
      stores_.erase(n.func);
    }
    if (open.planned && open.fold_dim < 0 && cx_.storage[n.func].folds.rfind("folds", 0) == 0) {
      cx_.storage[n.func].folds = "not folded: the places that compute it need different rings";
    }
    if (open.fold_dim >= 0) {
      Range &b = bounds[open.fold_dim];
      b = {c32(0), c32(open.fold_factor)};
      body = fold(body, n.func, open.fold_dim, open.fold_factor);
    }
    body = make_realize(n.func, f.types, state_.of(n.func).memory, bounds, {}, body);
    for (size_t i = lets.size(); i-- > 0;) body = make_let_stmt(lets[i].name, lets[i].value, body);
    return body;
  }

  // Every access to the folded dimension goes to its place in the ring.
  static Stmt fold(const Stmt &s, Name func, int dim, int64_t factor) {
    class Folder final : public IRMutator {
    public:
      Folder(Name f, int d, Expr n) : func_(f), dim_(d), factor_(std::move(n)) {}
      using IRMutator::visit;
      Expr visit(const Call *op) override {
        Expr e = IRMutator::visit(op);
        const Call *c = e.as<Call>();
        if (c->call_type != CallType::Halide || c->name != func_) return e;
        std::vector<Expr> args = c->args;
        args[dim_] = make_mod(args[dim_], factor_);
        return make_func_call(c->type, c->name, args, c->value_index, c->func);
      }
      Stmt visit(const Provide *op) override {
        Stmt st = IRMutator::visit(op);
        const Provide *p = st.as<Provide>();
        if (p->name != func_) return st;
        std::vector<Expr> args = p->args;
        args[dim_] = make_mod(args[dim_], factor_);
        return make_provide(p->name, p->values, args, p->predicate);
      }

    private:
      Name func_;
      int dim_;
      Expr factor_;
    };
    return Folder(func, dim, c32(factor)).mutate(s);
  }

  Stmt build_produce(const LoopNode &n,
                     const std::vector<std::unordered_map<Name, Expr>> &constant_max) {
    const Function &f = *program_.find(n.func);
    std::vector<Stmt> stmts;
    for (const auto &child : n.children) {
      const StageRef s = stage_of(*child);
      const schedule::StageState &st = state_.of(f.name).stages[s.stage];
      StageLoops shifted(f, s.stage, st, mode_, constant_max[s.stage]);
      Expr fits = mode_ == TailMode::Shift ? shifted.fits() : Expr();
      if (fits.defined() && has_effects(f.definitions[s.stage])) {
        fits = make_bool(false);  // a block that shifts inwards would have them twice
      } else if (fits.defined() && cx_.in_place.count(f.name)) {
        fits = make_and(fits, make_not(make_var(in_place_flag(f.name), Bool())));
      }
      if (!fits.defined() || is_const_one(fits)) {
        stmts.push_back(with_stage(s, shifted, *child));
        continue;
      }
      StageLoops guarded(f, s.stage, st, TailMode::Guard, constant_max[s.stage]);
      TailMode saved = mode_;
      mode_ = TailMode::Guard;
      Stmt small = with_stage(s, guarded, *child);
      mode_ = saved;
      if (is_const_zero(fits)) {
        stmts.push_back(small);
      } else {
        Stmt large = with_stage(s, shifted, *child);
        stmts.push_back(make_if(fits, large, small));
      }
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

  static StageRef stage_of(const LoopNode &n) {
    if (n.kind == LoopNode::Kind::Loop || n.kind == LoopNode::Kind::Compute) return n.members[0];
    for (const auto &c :
         n.children) {  // a stage without loops whose reader needs storage around it
      if (c->kind != LoopNode::Kind::Produce) return stage_of(*c);
    }
    CALO_ASSERT(false, "a stage without a definition");
    return {};
  }

  Stmt with_stage(const StageRef &s, const StageLoops &loops, const LoopNode &n) {
    OpenStage open{s, &loops, {}};
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
    return build_site(borrowed.parent, owner_site(), {});
  }

  RegionFinder::Site owner_site() {
    OpenStage &open = *stage_stack_.back();
    RegionFinder::Site site;
    site.owner = open.stage;
    for (Name v : open.loops->roots()) site.owner_ranges[v] = open.loops->range(v, open.fixed);
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
    OpenStage &open = *stage_stack_.back();
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
    loops_.push_back(loop);
    open.fixed.insert(var);
    Stmt body = build_site(n, owner_site(), {});
    open.fixed.erase(var);
    loop = loops_.back();
    loops_.pop_back();
    Stmt s = make_for(loop.name, loop.min, loop.extent, loop.kind, body);
    for (Name mark : loop.marks) {
      Stmt init = make_store(mark, c32(kNoMark), c32(0));
      s = make_allocate(mark, Int(32), MemoryType::Stack, {c32(1)}, {}, make_block(init, s));
    }
    return s;
  }

  Stmt build_compute(const StageRef &s) {
    const Function &f = *program_.find(s.func);
    const Definition &d = f.definitions[s.stage];
    const StageLoops &loops = *stage_stack_.back()->loops;
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
    const schedule::StageState &st = state_.of(s.func).stages[s.stage];
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
  };

  PassContext &cx_;
  const Program &program_;
  const schedule::ScheduleState &state_;
  RegionFinder regions_;
  schedule::OrderCache order_;
  bool at_root_ = false;
  TailMode mode_ = TailMode::Shift;
  std::vector<OpenLoop> loops_;
  std::vector<OpenStage *> stage_stack_;
  std::unordered_map<Name, OpenStore>
      stores_;  // storage around the current point whose Func is computed deeper
  std::unordered_map<Name, Expr> meaning_;  // region symbols, sliding left out
  int queries_ = 0;                         // of extern stages so far
  bool queries_inputs_ = false;             // some ask for images
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
