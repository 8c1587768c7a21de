// Directives as C++ calls: each appends one record to its Func's list. Nothing is judged here.
#include <algorithm>
#include <utility>

#include "func.h"
#include "internal.h"
#include "param.h"

namespace calotype {

using schedule::Arg;
using schedule::DirectiveKind;

namespace lang {

Directives &directives_of(ir::FunctionBody &f) {
  if (!f.attachment) f.attachment = new Directives;
  return *static_cast<Directives *>(f.attachment.get());
}

namespace {

const char *tail_text(TailStrategy t) {
  switch (t) {
    case TailStrategy::RoundUp: return "RoundUp";
    case TailStrategy::GuardWithIf: return "GuardWithIf";
    case TailStrategy::Predicate: return "Predicate";
    case TailStrategy::PredicateLoads: return "PredicateLoads";
    case TailStrategy::PredicateStores: return "PredicateStores";
    case TailStrategy::ShiftInwards: return "ShiftInwards";
    case TailStrategy::ShiftInwardsAndBlend: return "ShiftInwardsAndBlend";
    case TailStrategy::RoundUpAndBlend: return "RoundUpAndBlend";
    case TailStrategy::Auto: return "Auto";
  }
  return "Auto";
}

const char *memory_text(MemoryType m) {
  switch (m) {
    case MemoryType::Auto: return "Auto";
    case MemoryType::Heap: return "Heap";
    case MemoryType::Stack: return "Stack";
    case MemoryType::Register: return "Register";
    case MemoryType::GPUShared: return "GPUShared";
    case MemoryType::GPUTexture: return "GPUTexture";
    case MemoryType::LockedCache: return "LockedCache";
    case MemoryType::VTCM: return "VTCM";
    case MemoryType::AMXTile: return "AMXTile";
  }
  return "Auto";
}

const char *partition_text(Partition p) {
  switch (p) {
    case Partition::Auto: return "Auto";
    case Partition::Never: return "Never";
    case Partition::Always: return "Always";
  }
  return "Auto";
}

const char *align_text(LoopAlignStrategy a) {
  switch (a) {
    case LoopAlignStrategy::AlignStart: return "AlignStart";
    case LoopAlignStrategy::AlignEnd: return "AlignEnd";
    case LoopAlignStrategy::NoAlign: return "NoAlign";
    case LoopAlignStrategy::Auto: return "Auto";
  }
  return "Auto";
}

const char *prefetch_text(PrefetchBoundStrategy s) {
  switch (s) {
    case PrefetchBoundStrategy::Clamp: return "Clamp";
    case PrefetchBoundStrategy::GuardWithIf: return "GuardWithIf";
    case PrefetchBoundStrategy::NonFaulting: return "NonFaulting";
  }
  return "GuardWithIf";
}

void require_small(const Arg &a, SrcLoc at) {
  lang::require_small(a.expr, "the argument of a directive", at);
  for (const Arg &i : a.items) require_small(i, at);
}

void append(const Ref<RefCounted> &body, int stage, DirectiveKind kind, std::vector<Arg> args,
            SrcLoc at, const std::vector<Expr> &under = {}) {
  ir::FunctionBody &f = body_of(body);
  note_position(at);
  for (const Arg &a : args) require_small(a, at);
  schedule::Directive d;
  d.kind = kind;
  d.func_id = f.id;
  d.stage = stage;
  d.under = under;
  d.args = std::move(args);
  d.loc = at;
  d.func_loc = f.loc;
  d.sequence = next_id();
  Directives &list = directives_of(f);
  list.list.push_back(std::move(d));
  list.version = next_id();
}

Arg name_arg(const VarOrRVar &v) { return Arg::name(v.text, v.loc); }

/// Numbers in directives are int32 expressions; null Exprs are mistakes of the call.
Arg number(const Expr &e, SrcLoc at) {
  ir::require_defined(e, "an argument of a directive", at);
  return Arg::value(e.type().is_int_or_uint() && e.type() != Int(32) ? cast(Int(32), e) : e, at);
}

std::vector<Arg> name_args(const std::vector<VarOrRVar> &vars) {
  std::vector<Arg> args;
  for (const VarOrRVar &v : vars) args.push_back(name_arg(v));
  return args;
}

void add_tail(std::vector<Arg> &args, TailStrategy tail, SrcLoc at) {
  if (tail != TailStrategy::Auto) args.push_back(Arg::enumerator(tail_text(tail), at));
}

Arg level_arg(const Ref<RefCounted> &body, int stage, const std::string &var, SrcLoc at) {
  return Arg::level(body_of(body).id, std::string(), stage, var, at);
}

}  // namespace
}  // namespace lang

using lang::append;
using lang::name_arg;
using lang::name_args;
using lang::number;

// ---- LoopLevel ----------------------------------------------------------------------------------

LoopLevel::LoopLevel(const Func &f, const VarOrRVar &v, int stage, SrcLoc at)
    : kind_(Kind::At), body_(f.function().get()), var_(v.text), stage_(stage), loc_(at) {}

LoopLevel LoopLevel::root(SrcLoc at) {
  LoopLevel l;
  l.kind_ = Kind::Root;
  l.loc_ = at;
  return l;
}

LoopLevel LoopLevel::inlined(SrcLoc at) {
  LoopLevel l;
  l.kind_ = Kind::Inlined;
  l.loc_ = at;
  return l;
}

// ---- Stage --------------------------------------------------------------------------------------

struct Stage::Record {
  DirectiveKind kind;
  std::vector<Arg> args;
  SrcLoc loc;
};

void Stage::record(Record &&r) { append(body_, index_, r.kind, std::move(r.args), r.loc, under_); }

std::string Stage::name() const {
  const std::string base = lang::shown_name(lang::body_of(body_));
  return index_ ? base + ".update(" + std::to_string(index_ - 1) + ")" : base;
}

Stage &Stage::split(const VarOrRVar &old, const VarOrRVar &outer, const VarOrRVar &inner,
                    const Expr &factor, TailStrategy tail) {
  Record r{DirectiveKind::split, name_args({old, outer, inner}), old.loc};
  r.args.push_back(number(factor, old.loc));
  lang::add_tail(r.args, tail, old.loc);
  record(std::move(r));
  return *this;
}

Stage &Stage::fuse(const VarOrRVar &inner, const VarOrRVar &outer, const VarOrRVar &fused) {
  record({DirectiveKind::fuse, name_args({inner, outer, fused}), inner.loc});
  return *this;
}

Stage &Stage::serial(const VarOrRVar &v) {
  record({DirectiveKind::serial, name_args({v}), v.loc});
  return *this;
}
Stage &Stage::parallel(const VarOrRVar &v) {
  record({DirectiveKind::parallel, name_args({v}), v.loc});
  return *this;
}
Stage &Stage::vectorize(const VarOrRVar &v) {
  record({DirectiveKind::vectorize, name_args({v}), v.loc});
  return *this;
}
Stage &Stage::unroll(const VarOrRVar &v) {
  record({DirectiveKind::unroll, name_args({v}), v.loc});
  return *this;
}

Stage &Stage::parallel(const VarOrRVar &v, const Expr &task, TailStrategy tail) {
  Record r{DirectiveKind::parallel, {name_arg(v), number(task, v.loc)}, v.loc};
  lang::add_tail(r.args, tail, v.loc);
  record(std::move(r));
  return *this;
}
Stage &Stage::vectorize(const VarOrRVar &v, const Expr &lanes, TailStrategy tail) {
  Record r{DirectiveKind::vectorize, {name_arg(v), number(lanes, v.loc)}, v.loc};
  lang::add_tail(r.args, tail, v.loc);
  record(std::move(r));
  return *this;
}
Stage &Stage::unroll(const VarOrRVar &v, const Expr &factor, TailStrategy tail) {
  Record r{DirectiveKind::unroll, {name_arg(v), number(factor, v.loc)}, v.loc};
  lang::add_tail(r.args, tail, v.loc);
  record(std::move(r));
  return *this;
}

Stage &Stage::tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &xo, const VarOrRVar &yo,
                   const VarOrRVar &xi, const VarOrRVar &yi, const Expr &fx, const Expr &fy,
                   TailStrategy tail) {
  Record r{DirectiveKind::tile, name_args({x, y, xo, yo, xi, yi}), x.loc};
  r.args.push_back(number(fx, x.loc));
  r.args.push_back(number(fy, x.loc));
  lang::add_tail(r.args, tail, x.loc);
  record(std::move(r));
  return *this;
}

Stage &Stage::tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &xi, const VarOrRVar &yi,
                   const Expr &fx, const Expr &fy, TailStrategy tail) {
  return tile(x, y, x, y, xi, yi, fx, fy, tail);
}

Stage &Stage::tile(const std::vector<VarOrRVar> &previous, const std::vector<VarOrRVar> &outers,
                   const std::vector<VarOrRVar> &inners, const std::vector<Expr> &factors,
                   TailStrategy tail) {
  const size_t n = previous.size();
  if (n == 0 || outers.size() != n || inners.size() != n || factors.size() != n) {
    raise(Diagnostic("S0105", lang::recent_position(), "tile of lists of different lengths")
              .because(std::to_string(n) + " loops, " + std::to_string(outers.size()) +
                       " outer and " + std::to_string(inners.size()) + " inner names, " +
                       std::to_string(factors.size()) + " factors"));
  }
  std::vector<VarOrRVar> order = inners;
  for (size_t i = 0; i < n; i++) {
    split(previous[i], outers[i], inners[i], factors[i], tail);
    order.push_back(outers[i]);
  }
  return n > 1 ? reorder(order, previous[0].loc) : *this;
}

Stage &Stage::reorder(const std::vector<VarOrRVar> &vars, SrcLoc at) {
  record({DirectiveKind::reorder, name_args(vars), at});
  return *this;
}

Stage &Stage::rename(const VarOrRVar &old, const VarOrRVar &name) {
  record({DirectiveKind::rename, name_args({old, name}), old.loc});
  return *this;
}

Stage &Stage::unscheduled(SrcLoc at) {
  lang::note_position(at);
  return *this;
}

// ---- Stage: refused when the pipeline is compiled -----------------------------------------------

Stage Stage::specialize(const Expr &condition, SrcLoc at) {
  ir::require_defined(condition, "the condition of specialize", at);
  record({DirectiveKind::specialize, {Arg::value(condition, at)}, at});
  std::vector<Expr> under = under_;
  under.push_back(condition);
  return Stage(body_, index_, std::move(under));
}

void Stage::specialize_fail(const std::string &message, SrcLoc at) {
  Arg text = Arg::name(message, at);
  text.kind = Arg::Kind::String;
  record({DirectiveKind::specialize_fail, {text}, at});
}

Stage &Stage::atomic(bool override_test, SrcLoc at) {
  record({DirectiveKind::atomic, {Arg::enumerator(override_test ? "true" : "false", at)}, at});
  return *this;
}
Stage &Stage::allow_race_conditions(SrcLoc at) {
  record({DirectiveKind::allow_race_conditions, {}, at});
  return *this;
}

namespace {
Arg align_arg(LoopAlignStrategy align, SrcLoc at) {
  return Arg::enumerator(lang::align_text(align), at);
}
Arg align_arg(const LoopAlignments &align, SrcLoc at) {
  std::vector<Arg> items;
  for (const auto &a : align) {
    items.push_back(align_arg(a.second, a.first.loc));
    items.back().key = a.first.text;
  }
  return Arg::list(std::move(items), at);
}
}  // namespace

// A LoopLevel without a stage means the pure definition.
Stage &Stage::compute_with(const LoopLevel &level, LoopAlignStrategy align, SrcLoc at) {
  Record r{DirectiveKind::compute_with, {}, at};
  if (level.body_)
    r.args.push_back(lang::level_arg(level.body_, std::max(level.stage_, 0), level.var_, at));
  if (align != LoopAlignStrategy::Auto) r.args.push_back(align_arg(align, at));
  record(std::move(r));
  return *this;
}
Stage &Stage::compute_with(const LoopLevel &level, const LoopAlignments &align, SrcLoc at) {
  Record r{DirectiveKind::compute_with, {}, at};
  if (level.body_)
    r.args.push_back(lang::level_arg(level.body_, std::max(level.stage_, 0), level.var_, at));
  r.args.push_back(align_arg(align, at));
  record(std::move(r));
  return *this;
}
Stage &Stage::compute_with(const Stage &s, const VarOrRVar &v, LoopAlignStrategy align) {
  Record r{DirectiveKind::compute_with, {lang::level_arg(s.body_, s.index_, v.text, v.loc)}, v.loc};
  if (align != LoopAlignStrategy::Auto) r.args.push_back(align_arg(align, v.loc));
  record(std::move(r));
  return *this;
}
Stage &Stage::compute_with(const Stage &s, const VarOrRVar &v, const LoopAlignments &align) {
  record({DirectiveKind::compute_with,
          {lang::level_arg(s.body_, s.index_, v.text, v.loc), align_arg(align, v.loc)},
          v.loc});
  return *this;
}

Stage &Stage::partition(const VarOrRVar &v, Partition p) {
  record({DirectiveKind::partition,
          {name_arg(v), Arg::enumerator(lang::partition_text(p), v.loc)},
          v.loc});
  return *this;
}
Stage &Stage::never_partition_all(SrcLoc at) {
  record({DirectiveKind::never_partition_all, {}, at});
  return *this;
}
Stage &Stage::always_partition_all(SrcLoc at) {
  record({DirectiveKind::always_partition_all, {}, at});
  return *this;
}
Stage &Stage::never_partition(const std::vector<VarOrRVar> &vars, SrcLoc at) {
  record({DirectiveKind::never_partition, name_args(vars), at});
  return *this;
}
Stage &Stage::always_partition(const std::vector<VarOrRVar> &vars, SrcLoc at) {
  record({DirectiveKind::always_partition, name_args(vars), at});
  return *this;
}

Stage &Stage::prefetch(const Func &f, const VarOrRVar &at, const VarOrRVar &from,
                       const Expr &offset, PrefetchBoundStrategy strategy) {
  Record r{DirectiveKind::prefetch, {}, at.loc};
  r.args = {lang::level_arg(f.function().get(), -1, {}, at.loc), name_arg(at), name_arg(from),
            number(offset, at.loc), Arg::enumerator(lang::prefetch_text(strategy), at.loc)};
  record(std::move(r));
  return *this;
}
Stage &Stage::prefetch(const ImageParam &image, const VarOrRVar &at, const VarOrRVar &from,
                       const Expr &offset, PrefetchBoundStrategy strategy) {
  Record r{DirectiveKind::prefetch, {}, at.loc};
  r.args = {Arg::level(0, image.name(), -1, {}, at.loc), name_arg(at), name_arg(from),
            number(offset, at.loc), Arg::enumerator(lang::prefetch_text(strategy), at.loc)};
  record(std::move(r));
  return *this;
}

Stage &Stage::hexagon(const VarOrRVar &x) {
  record({DirectiveKind::hexagon, name_args({x}), x.loc});
  return *this;
}

Stage &Stage::gpu_threads(const std::vector<VarOrRVar> &vars, DeviceAPI) {
  record({DirectiveKind::gpu_threads, name_args(vars), vars.empty() ? SrcLoc() : vars[0].loc});
  return *this;
}
Stage &Stage::gpu_blocks(const std::vector<VarOrRVar> &vars, DeviceAPI) {
  record({DirectiveKind::gpu_blocks, name_args(vars), vars.empty() ? SrcLoc() : vars[0].loc});
  return *this;
}
Stage &Stage::gpu_lanes(const VarOrRVar &x, DeviceAPI) {
  record({DirectiveKind::gpu_lanes, name_args({x}), x.loc});
  return *this;
}
Stage &Stage::gpu_single_thread(DeviceAPI, SrcLoc at) {
  record({DirectiveKind::gpu_single_thread, {}, at});
  return *this;
}
Stage &Stage::gpu(const VarOrRVar &bx, const VarOrRVar &tx, DeviceAPI) {
  record({DirectiveKind::gpu, name_args({bx, tx}), bx.loc});
  return *this;
}
Stage &Stage::gpu(const VarOrRVar &bx, const VarOrRVar &by, const VarOrRVar &tx,
                  const VarOrRVar &ty, DeviceAPI) {
  record({DirectiveKind::gpu, name_args({bx, by, tx, ty}), bx.loc});
  return *this;
}
Stage &Stage::gpu(const VarOrRVar &bx, const VarOrRVar &by, const VarOrRVar &bz,
                  const VarOrRVar &tx, const VarOrRVar &ty, const VarOrRVar &tz, DeviceAPI) {
  record({DirectiveKind::gpu, name_args({bx, by, bz, tx, ty, tz}), bx.loc});
  return *this;
}

namespace {
std::vector<Arg> gpu_tile_args(const std::vector<VarOrRVar> &vars, const std::vector<Expr> &factors,
                               TailStrategy tail) {
  std::vector<Arg> args = name_args(vars);
  for (const Expr &e : factors) args.push_back(number(e, vars[0].loc));
  lang::add_tail(args, tail, vars[0].loc);
  return args;
}
}  // namespace

Stage &Stage::gpu_tile(const VarOrRVar &x, const VarOrRVar &bx, const VarOrRVar &tx, const Expr &fx,
                       TailStrategy tail, DeviceAPI) {
  record({DirectiveKind::gpu_tile, gpu_tile_args({x, bx, tx}, {fx}, tail), x.loc});
  return *this;
}
Stage &Stage::gpu_tile(const VarOrRVar &x, const VarOrRVar &tx, const Expr &fx, TailStrategy tail,
                       DeviceAPI) {
  record({DirectiveKind::gpu_tile, gpu_tile_args({x, tx}, {fx}, tail), x.loc});
  return *this;
}
Stage &Stage::gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &bx,
                       const VarOrRVar &by, const VarOrRVar &tx, const VarOrRVar &ty,
                       const Expr &fx, const Expr &fy, TailStrategy tail, DeviceAPI) {
  record({DirectiveKind::gpu_tile, gpu_tile_args({x, y, bx, by, tx, ty}, {fx, fy}, tail), x.loc});
  return *this;
}
Stage &Stage::gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &tx,
                       const VarOrRVar &ty, const Expr &fx, const Expr &fy, TailStrategy tail,
                       DeviceAPI) {
  record({DirectiveKind::gpu_tile, gpu_tile_args({x, y, tx, ty}, {fx, fy}, tail), x.loc});
  return *this;
}
Stage &Stage::gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &z,
                       const VarOrRVar &tx, const VarOrRVar &ty, const VarOrRVar &tz,
                       const Expr &fx, const Expr &fy, const Expr &fz, TailStrategy tail,
                       DeviceAPI) {
  record(
      {DirectiveKind::gpu_tile, gpu_tile_args({x, y, z, tx, ty, tz}, {fx, fy, fz}, tail), x.loc});
  return *this;
}
Stage &Stage::gpu_tile(const VarOrRVar &x, const VarOrRVar &y, const VarOrRVar &z,
                       const VarOrRVar &bx, const VarOrRVar &by, const VarOrRVar &bz,
                       const VarOrRVar &tx, const VarOrRVar &ty, const VarOrRVar &tz,
                       const Expr &fx, const Expr &fy, const Expr &fz, TailStrategy tail,
                       DeviceAPI) {
  record({DirectiveKind::gpu_tile,
          gpu_tile_args({x, y, z, bx, by, bz, tx, ty, tz}, {fx, fy, fz}, tail), x.loc});
  return *this;
}

// ---- Func: where it is computed and stored ------------------------------------------------------

Func &Func::compute_root(SrcLoc at) {
  append(body_, 0, DirectiveKind::compute_root, {}, at);
  return *this;
}
Func &Func::compute_inline(SrcLoc at) {
  append(body_, 0, DirectiveKind::compute_inline, {}, at);
  return *this;
}
Func &Func::compute_at(const Func &consumer, const VarOrRVar &v) {
  append(body_, 0, DirectiveKind::compute_at, {lang::level_arg(consumer.body_, -1, v.text, v.loc)},
         v.loc);
  return *this;
}
Func &Func::compute_at(const LoopLevel &level, SrcLoc at) {
  if (level.is_root()) return compute_root(at);
  if (level.is_inlined()) return compute_inline(at);
  if (!level.defined())
    raise(Diagnostic("S0103", at, "compute_at of a LoopLevel that was never set"));
  append(body_, 0, DirectiveKind::compute_at,
         {lang::level_arg(level.body_, level.stage_, level.var_, at)}, at);
  return *this;
}
Func &Func::store_root(SrcLoc at) {
  append(body_, 0, DirectiveKind::store_root, {}, at);
  return *this;
}
Func &Func::store_at(const Func &consumer, const VarOrRVar &v) {
  append(body_, 0, DirectiveKind::store_at, {lang::level_arg(consumer.body_, -1, v.text, v.loc)},
         v.loc);
  return *this;
}
Func &Func::store_at(const LoopLevel &level, SrcLoc at) {
  if (level.is_root()) return store_root(at);
  if (!level.body_) raise(Diagnostic("S0103", at, "store_at of a LoopLevel that is no loop"));
  append(body_, 0, DirectiveKind::store_at,
         {lang::level_arg(level.body_, level.stage_, level.var_, at)}, at);
  return *this;
}
Func &Func::hoist_storage_root(SrcLoc at) {
  append(body_, 0, DirectiveKind::hoist_storage_root, {}, at);
  return *this;
}
Func &Func::hoist_storage(const Func &consumer, const VarOrRVar &v) {
  append(body_, 0, DirectiveKind::hoist_storage,
         {lang::level_arg(consumer.body_, -1, v.text, v.loc)}, v.loc);
  return *this;
}
Func &Func::hoist_storage(const LoopLevel &level, SrcLoc at) {
  if (!level.body_) return hoist_storage_root(at);
  append(body_, 0, DirectiveKind::hoist_storage,
         {lang::level_arg(level.body_, level.stage_, level.var_, at)}, at);
  return *this;
}

// ---- Func: bounds and storage -------------------------------------------------------------------

namespace {
Arg dimension(const Var &v, SrcLoc at) { return Arg::name(v.name(), at); }
}  // namespace

Func &Func::bound(const Var &v, const Expr &min, const Expr &extent, SrcLoc at) {
  append(body_, 0, DirectiveKind::bound, {dimension(v, at), number(min, at), number(extent, at)},
         at);
  return *this;
}
Func &Func::bound_extent(const Var &v, const Expr &extent, SrcLoc at) {
  append(body_, 0, DirectiveKind::bound_extent, {dimension(v, at), number(extent, at)}, at);
  return *this;
}
Func &Func::align_bounds(const Var &v, const Expr &modulus, const Expr &remainder, SrcLoc at) {
  std::vector<Arg> args{dimension(v, at), number(modulus, at)};
  if (remainder.defined()) args.push_back(number(remainder, at));
  append(body_, 0, DirectiveKind::align_bounds, std::move(args), at);
  return *this;
}
Func &Func::align_extent(const Var &v, const Expr &modulus, SrcLoc at) {
  append(body_, 0, DirectiveKind::align_extent, {dimension(v, at), number(modulus, at)}, at);
  return *this;
}
Func &Func::bound_storage(const Var &v, const Expr &bound, SrcLoc at) {
  append(body_, 0, DirectiveKind::bound_storage, {dimension(v, at), number(bound, at)}, at);
  return *this;
}
Func &Func::align_storage(const Var &v, const Expr &alignment, SrcLoc at) {
  append(body_, 0, DirectiveKind::align_storage, {dimension(v, at), number(alignment, at)}, at);
  return *this;
}
Func &Func::fold_storage(const Var &v, const Expr &factor, bool forward, SrcLoc at) {
  std::vector<Arg> args{dimension(v, at), number(factor, at)};
  if (!forward) args.push_back(Arg::enumerator("false", at));
  append(body_, 0, DirectiveKind::fold_storage, std::move(args), at);
  return *this;
}
Func &Func::reorder_storage(const std::vector<Var> &vars, SrcLoc at) {
  std::vector<VarOrRVar> all;
  for (const Var &v : vars) all.emplace_back(v, at);
  return storage_order(all, at);
}
Func &Func::storage_order(const std::vector<VarOrRVar> &vars, SrcLoc at) {
  append(body_, 0, DirectiveKind::reorder_storage, name_args(vars), at);
  return *this;
}
Func &Func::store_in(MemoryType m, SrcLoc at) {
  append(body_, 0, DirectiveKind::store_in, {Arg::enumerator(lang::memory_text(m), at)}, at);
  return *this;
}

// ---- Func: refused when the pipeline is compiled ------------------------------------------------

Func &Func::async(SrcLoc at) {
  append(body_, 0, DirectiveKind::async, {}, at);
  return *this;
}
Func &Func::ring_buffer(const Expr &extent, SrcLoc at) {
  append(body_, 0, DirectiveKind::ring_buffer, {number(extent, at)}, at);
  return *this;
}
Func &Func::memoize(const EvictionKey &key, SrcLoc at) {
  std::vector<Arg> args;
  if (key.key.defined()) args.push_back(Arg::value(key.key, at));
  append(body_, 0, DirectiveKind::memoize, std::move(args), at);
  return *this;
}
Func &Func::trace_loads(SrcLoc at) {
  append(body_, 0, DirectiveKind::trace_loads, {}, at);
  return *this;
}
Func &Func::trace_stores(SrcLoc at) {
  append(body_, 0, DirectiveKind::trace_stores, {}, at);
  return *this;
}
Func &Func::trace_realizations(SrcLoc at) {
  append(body_, 0, DirectiveKind::trace_realizations, {}, at);
  return *this;
}
Func &Func::add_trace_tag(const std::string &tag, SrcLoc at) {
  Arg text = Arg::name(tag, at);
  text.kind = Arg::Kind::String;
  append(body_, 0, DirectiveKind::add_trace_tag, {text}, at);
  return *this;
}
Func &Func::eager_inline(SrcLoc at) {
  append(body_, 0, DirectiveKind::eager_inline, {}, at);
  return *this;
}
Func &Func::no_profiling(SrcLoc at) {
  append(body_, 0, DirectiveKind::no_profiling, {}, at);
  return *this;
}

std::ostream &operator<<(std::ostream &o, MemoryType m) { return o << lang::memory_text(m); }
std::ostream &operator<<(std::ostream &o, TailStrategy t) { return o << schedule::tail_name(t); }

}  // namespace calotype
