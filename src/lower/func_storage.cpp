// Storage of Funcs (see func_storage.h).
#include "func_storage.h"

#include <algorithm>

#include "../analysis/bounds.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "extern_stages.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using schedule::LoopNode;
using namespace ir;

namespace {

// Every access to a Func, its coordinates changed by `to`.
using Coordinates = std::function<void(std::vector<Expr> &)>;
Stmt relocate(const Stmt &s, Name func, const Coordinates &to) {
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
Stmt fold(const Stmt &s, Name func, int dim, int64_t factor) {
  return relocate(s, func,
                  [&](std::vector<Expr> &args) { args[dim] = make_mod(args[dim], c32(factor)); });
}

const schedule::StorageDim *storage_dim(LoopContext &c, const Function &f, size_t d) {
  for (const schedule::StorageDim &s : c.state.of(f.name).storage) {
    if (s.var == f.args[d]) return &s;
  }
  return nullptr;
}

// Of a scan, as many steps exist as are read at once.
void fold_scan(LoopContext &c, const Function &f, OpenStore &open) {
  const schedule::Scan &scan = c.state.of(f.name).scan;
  if (!scan.defined()) return;
  open.planned = true;
  open.needs.assign(f.args.size(), 0);
  open.no_ring.assign(f.args.size(), "all of it is read at its end");
  open.fold_dim =
      static_cast<int>(std::find(f.args.begin(), f.args.end(), scan.dim) - f.args.begin());
  open.fold_factor = scan.slots;
  open.needs[static_cast<size_t>(open.fold_dim)] = scan.slots;
  c.cx.storage[f.name].folds = "folds " + scan.dim + " to " + std::to_string(scan.slots);
}

// fold_storage: the ring asked for, if it is large enough for what must exist at once.
void fold_as_asked(LoopContext &c, const Function &f, const Region &bounds, OpenStore &open) {
  for (int d = 0; d < f.dimensions(); d++) {
    const schedule::StorageDim *dim = storage_dim(c, f, static_cast<size_t>(d));
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
    if (c.state.of(f.name).memoize) {
      raise(Diagnostic("S0132", dim->fold_loc, what)
                .because("it is memoized: all of what is kept must exist at once")
                .fix("leave fold_storage or memoize away"));
    }
    if (need == 0 || need > asked) {
      Diagnostic diag("S0132", dim->fold_loc, what);
      diag.why.push_back(
          {need > 0 ? "at once " + std::to_string(need) + " of it must exist" : why, {}});
      const std::string &slides = c.cx.storage[f.name].slides;
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
    c.cx.storage[f.name].folds = "folds " + dim->var + " to " + std::to_string(asked) +
                                 " (asked; needs " + std::to_string(need) + ")";
  }
}

// The most that an extent can be in any iteration of the loops around, if that is known.
bool most_of(LoopContext &c, const Expr &extent, int64_t *most) {
  return analysis::constant_upper_bound(simplify(c.symbols.expand(extent)), c.loop_ranges(), most);
}

// bound_storage: so much is allocated, and the run fails where more is needed.
Stmt bound_storage(LoopContext &c, const Function &f, Region &bounds, Stmt body) {
  for (int d = 0; d < f.dimensions(); d++) {
    const schedule::StorageDim *dim = storage_dim(c, f, static_cast<size_t>(d));
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
    if (most && most_of(c, need, &bounded) && bounded <= *most) continue;
    Expr fail =
        make_intrinsic(Int(32), Intrinsic::error,
                       {make_string("calo_error_storage_bound"), make_string(c.cx.program.name),
                        make_string(f.name), make_string(dim->var.str()),
                        make_cast(Int(64), dim->bound), make_cast(Int(64), need)});
    body = make_block(make_assert(make_le(need, dim->bound), fail), body);
  }
  return body;
}

// Storage that is small in every iteration gets the size of the largest: no request to the heap, constant strides.
void settle_size(LoopContext &c, const Function &f, Region &bounds) {
  std::vector<int64_t> most(bounds.size());
  double bytes = 0;
  for (const Type &t : f.types) bytes += t.bytes();
  for (size_t d = 0; d < bounds.size(); d++) {
    if (const int64_t *n = as_const_int(bounds[d].extent)) {
      most[d] = *n;
    } else if (!most_of(c, bounds[d].extent, &most[d])) {
      return;
    }
    bytes *= static_cast<double>(std::max<int64_t>(most[d], 1));
  }
  // C functions and traces see what is there, no more.
  if (touched_by_c(c.program, f) || c.state.of(f.name).memoize ||
      c.state.of(f.name).trace_realizations)
    return;
  const MemoryType asked = c.state.of(f.name).memory;
  const bool stack = asked == MemoryType::Stack || asked == MemoryType::Register;
  if (bytes > static_cast<double>(stack ? INT32_MAX : kStackBudget)) return;
  for (size_t d = 0; d < bounds.size(); d++) bounds[d].extent = c32(std::max<int64_t>(most[d], 0));
}

Stmt share_memory(LoopContext &c, const Function &f, const Region &bounds, Hoist &hoist,
                  const Stmt &body) {
  Scope<Interval> between;
  for (size_t i = hoist.depth; i < c.loops.size(); i++) {
    const OpenLoop &l = c.loops[i];
    between.push(l.name, {c.symbols.expand(l.min), c.symbols.expand(l.range().max), {}});
  }
  const bool first = hoist.extents.empty();
  hoist.extents.resize(bounds.size());
  for (size_t d = 0; d < bounds.size(); d++) {
    Expr extent = c.symbols.expand(bounds[d].extent);
    Expr largest = extent;
    for (size_t i = c.loops.size(); i-- > hoist.depth;) {  // inner ranges may depend on outer loops
      Scope<Interval> one;
      one.push(c.loops[i].name, *between.find(c.loops[i].name));
      const Interval all = analysis::bounds_of_expr(largest, one);
      if (!all.has_upper()) {
        raise(Diagnostic("S0131", c.state.of(f.name).hoist.loc,
                         "the storage of " + f.name + " cannot be hoisted out of loop " +
                             c.loops[i].name.str())
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

}  // namespace

Stmt build_store(LoopContext &c, const LoopNode &n, const SiteRegions &here,
                 const std::function<Stmt()> &inside) {
  const Function &f = *c.program.find(n.func);
  const FuncRegion &r = here.found.funcs.at(n.func);
  bool computed_here = here.constant_max.count(n.func) > 0;
  std::vector<Let> lets;
  Region bounds;
  Box symbols;
  check_bounded(f, r.stored, "its updates write");
  for (int d = 0; d < f.dimensions(); d++) {
    Expr extent = simplify(make_sub(make_add(r.stored[d].max, c32(1)), r.stored[d].min));
    Name min_name = f.name + ".store." + f.args[d] + ".min",
         max_name = f.name + ".store." + f.args[d] + ".max";
    lets.push_back({min_name, r.stored[d].min});
    c.symbols.define(min_name, r.stored[d].min);
    c.symbols.define(max_name, r.stored[d].max);
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
  open.depth = c.loops.size();
  open.bounds = symbols;
  if (!computed_here) c.stores[n.func] = open;
  const size_t outer = c.symbols.count();
  Stmt body = inside();
  c.symbols.forget(outer);
  if (!computed_here) {
    open = c.stores[n.func];
    c.stores.erase(n.func);
  }
  if (open.planned && open.fold_dim < 0 && c.cx.storage[n.func].folds.rfind("folds", 0) == 0) {
    c.cx.storage[n.func].folds = "not folded: the places that compute it need different rings";
  }
  fold_scan(c, f, open);
  fold_as_asked(c, f, bounds, open);
  if (open.fold_dim >= 0) {
    Range &b = bounds[open.fold_dim];
    b = {c32(0), c32(open.fold_factor)};
    body = fold(body, n.func, open.fold_dim, open.fold_factor);
  }
  body = bound_storage(c, f, bounds, body);
  settle_size(c, f, bounds);
  auto hoisted = c.hoists.find(n.func);
  if (hoisted != c.hoists.end()) {
    body = share_memory(c, f, bounds, hoisted->second, body);
  } else {
    body = make_realize(n.func, f.types, c.state.of(n.func).memory, bounds, {}, body);
  }
  return with_lets(lets, body);
}

Stmt build_hoist(LoopContext &c, const LoopNode &n, const std::function<Stmt()> &inside) {
  const Function &f = *c.program.find(n.func);
  if (touched_by_c(c.program, f) || c.state.of(f.name).memoize) {
    raise(Diagnostic("S0131", c.state.of(f.name).hoist.loc,
                     "the storage of " + f.name + " cannot be hoisted")
              .because(c.state.of(f.name).memoize ? "it is memoized: what is kept is its own memory"
                                                  : "a C function reads or writes its memory")
              .fix("leave hoist_storage away"));
  }
  Hoist hoist;
  hoist.depth = c.loops.size();
  c.hoists[n.func] = hoist;
  Stmt body = inside();
  hoist = c.hoists[n.func];
  c.hoists.erase(n.func);
  if (hoist.extents.empty() && f.dimensions() > 0) return body;  // nothing below reads it
  Region bounds;
  for (const Expr &e : hoist.extents) bounds.push_back({c32(0), e});
  return make_realize(n.func, f.types, c.state.of(n.func).memory, bounds, {}, body);
}

}  // namespace calotype::lower
