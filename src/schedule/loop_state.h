// The state that directives build: each stage's loops and how they derive from the definition's variables, each Func's
// compute and store level, storage order and bounds. Cheap to copy. What lowering reads.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "../base/source.h"
#include "../ir/function.h"
#include "enums.h"

namespace calotype::schedule {

/// One loop of a stage, or a Var of it while directives are applied.
struct Loop {
  ir::Name var;
  ir::ForType kind = ir::ForType::Serial;
  bool reduction = false;  ///< an RVar, or derived from one
  SrcLoc loc;              ///< the directive that last gave it its kind
  Partition partition = Partition::Auto;
  SrcLoc partition_loc;
};

/// How loops derive from one another; in the order applied. A name may come back for a loop derived from the one that
/// had it: split(x, x, xi) gives {old x, outer x, inner xi}. So read the list forwards for ranges (take `old` out of the map,
/// then put the new loops in) and backwards for values (take the new loops out, then put `old` in). Loops that derive from
/// different variables never share a name.
///   Split:  old = outer * factor + inner (within old's range, by tail)
///   Fuse:   old is the fused loop: inner = old % extent(inner), outer = old / extent(inner), plus their mins
///   Rename: old is called outer now
struct Relation {
  enum class Kind { Split, Fuse, Rename } kind;
  ir::Name old, outer, inner;
  Expr factor;                             ///< int32; at least 1 (max(..., 1) unless constant)
  TailStrategy tail = TailStrategy::Auto;  ///< resolved: never a value that legality refuses
  bool exact = false;  ///< reductions: iterations beyond the edge must never run
  SrcLoc loc;
};

/// Fetches what `func` (a Func or an input) will be read of `offset` iterations of loop `from` later, at each iteration of
/// loop `at`.
struct Prefetch {
  ir::Name func, at, from;
  Expr offset;
  PrefetchBoundStrategy strategy = PrefetchBoundStrategy::GuardWithIf;
  SrcLoc loc;
};

/// The loops from the outermost to `var` run together with those of another stage.
/// in_order: a group that `online` made. Its stages have one loop in common, over the same iterations; in each they run one
/// after the other, in the program's order, and read what earlier ones have written.
struct SharedLoops {
  ir::Name func;  ///< undefined: nothing shared
  int stage = 0;
  ir::Name var;
  std::unordered_map<ir::Name, LoopAlignStrategy> align;  ///< by loop; those not named: all_align
  LoopAlignStrategy all_align = LoopAlignStrategy::Auto;
  bool in_order = false;
  SrcLoc loc;
  bool defined() const { return !func.empty(); }
};

/// How one stage runs. Where the stage is specialized, this is what runs if no specialization applies, and each
/// specialization holds the state of its own that it got when it was made.
struct Specialization;
struct StageState {
  std::vector<Loop> loops;  ///< innermost first
  std::vector<Relation> relations;
  bool atomic = false;     ///< iterations that combine into one element may run at once: proved
  bool races = false;      ///< allow_race_conditions: nothing is proved
  bool any_order = false;  ///< under atomic: the order of dependent loops was changed
  std::vector<Prefetch> prefetches;
  SharedLoops shared;
  std::vector<Specialization> specializations;  ///< the first whose condition holds runs
  std::vector<Expr> assumed;  ///< of a specialization: the conditions under which it runs
  std::string failure;        ///< message of specialize_fail: this state itself never runs
  SrcLoc failure_loc;         ///< defined: specialize_fail was said
  bool fails() const { return failure_loc.defined(); }
};
struct Specialization {
  Expr condition;
  StageState state;
  SrcLoc loc;
};

/// Where a Func is computed or stored.
struct Level {
  enum class Kind { Inlined, Root, At } kind = Kind::Inlined;
  ir::Name func;   ///< At: the consumer
  int stage = -1;  ///< At: its stage; -1: every stage that has the loop and needs the producer
  ir::Name var;    ///< At: a loop of that stage
  SrcLoc loc;
  bool is_root() const { return kind == Kind::Root; }
  bool is_inlined() const { return kind == Kind::Inlined; }
};

/// What bound, bound_extent, align_bounds, align_extent said of one dimension.
struct Bound {
  ir::Name var;
  Expr min, extent;  ///< undefined where not given
  Expr modulus,
      remainder;  ///< range widened so that min % modulus == remainder and extent % modulus == 0
  bool align_extent_only = false;
  SrcLoc loc;
};

/// What fold_storage, align_storage, bound_storage said of one dimension in memory. Undefined: nothing.
struct StorageDim {
  ir::Name var;
  Expr fold, align, bound;
  bool fold_forward = true;
  SrcLoc fold_loc, align_loc, bound_loc;
};

/// A dimension along which the update walks from 0 up, each step from the one before; the pure definition gives what stands
/// before the first, at -1. Readers outside of the walk read its end alone, so that `slots` steps exist at once.
struct Scan {
  ir::Name dim;  ///< empty: none
  int slots = 0;
  ir::Name
      with;  ///< the Func at whose place it is computed, if nothing else is said (compute is Inlined)
  bool defined() const { return !dim.empty(); }
};

/// The loop of another stage that a name among this Func's loops stands for: what `online` made of its block loop.
struct LoopAlias {
  ir::Name var;  ///< empty: none
  ir::Name func;
  int stage = 0;
};

struct FuncState {
  std::vector<StageState> stages;
  Level compute,
      store;  ///< Inlined Funcs with updates are computed at their readers' innermost loop
  std::vector<ir::Name> storage_order;  ///< innermost first; all dimensions
  std::vector<Bound> bounds;
  std::vector<StorageDim> storage;
  Level hoist;  ///< where the memory is allocated; inlined: at the storage level
  ir::MemoryType memory = ir::MemoryType::Auto;
  bool memoize = false;
  Expr evict_key;  ///< of memoize; undefined: none
  SrcLoc memo_loc;
  bool trace_loads = false, trace_stores = false, trace_realizations = false;
  std::vector<std::string> trace_tags;
  Scan scan;
  LoopAlias block_loop;
  SrcLoc memory_loc;
  SrcLoc storage_loc;
  SrcLoc loops_loc;  ///< the first directive on loops; undefined: none
  bool touched =
      false;  ///< some directive was about loops, bounds or storage order: the Func must not stay inlined
};

struct ScheduleState {
  std::unordered_map<ir::Name, FuncState> funcs;
  const FuncState &of(ir::Name func) const { return funcs.at(func); }
};

/// A Func that a directive made.
struct MadeFunc {
  enum class Kind { Wrapper, Clone, Partial } kind = Kind::Wrapper;
  ir::Name of;              ///< the Func or input it was made from
  bool everywhere = false;  ///< Wrapper: for all readers that have none of their own
};

/// What a schedule makes of an algorithm: the program, with the Funcs that directives made (in, clone_in, rfactor) in
/// it, and how each of its Funcs runs. Everything after legality works on this; the interpreter keeps the original.
struct Scheduled {
  ir::Program program;
  ScheduleState state;
  /// Floating-point reductions whose order the schedule changed, as "rfactor on sum.update(0)": results may differ in
  /// rounding from the interpreter's. Empty: the same bits.
  std::vector<std::string> reordered;
  std::vector<std::string> certificates;  ///< of each `online`: what was proved of it
  std::unordered_map<ir::Name, MadeFunc> made;
  const FuncState &of(ir::Name func) const { return state.of(func); }
};

/// The state before any directive: definition order of loops, outputs at root, everything else inlined.
CALO_EXPORT ScheduleState initial_state(const ir::Program &p);
CALO_EXPORT FuncState initial_func_state(const ir::Program &p, const ir::Function &f);
/// The loops of one stage before any directive.
CALO_EXPORT std::vector<Loop> initial_loops(const ir::Function &f, int stage);

/// The index in `loops` that `text` means: a loop's name, an RVar's last part ("x" for "r.x") where that is unambiguous,
/// or "_k" for the Func's dimension k. -1: none; -2: ambiguous.
CALO_EXPORT int find_loop(const ir::Function &f, const std::vector<Loop> &loops,
                          const std::string &text);
/// Extents of the stage's live loops that are constant: split factors, bounds, constant RDoms and what derives from them.
CALO_EXPORT std::unordered_map<ir::Name, int64_t> constant_extents(const ir::Function &f,
                                                                   const FuncState &s, int stage);
/// The same for one specialization (or the state itself) of that stage.
CALO_EXPORT std::unordered_map<ir::Name, int64_t> constant_extents(const ir::Function &f,
                                                                   const std::vector<Bound> &bounds,
                                                                   const StageState &s, int stage);
/// The states that may run: `s` itself unless it fails, and all specializations, nested ones too.
CALO_EXPORT std::vector<const StageState *> variants_of(const StageState &s);
/// `e` with what the conditions fix put in (parameters equal to constants) and folded.
CALO_EXPORT Expr under_conditions(const Expr &e, const std::vector<Expr> &conditions);
/// Which of the definition's variables each live loop derives from.
CALO_EXPORT std::unordered_map<ir::Name, std::vector<ir::Name>> root_vars(const ir::Function &f,
                                                                          const StageState &s,
                                                                          int stage);
/// "yo, xo, yi, xi": outermost first.
CALO_EXPORT std::string loop_list(const StageState &s);
/// "blur", "blur.update(0)".
CALO_EXPORT std::string stage_name(const std::string &func, int stage);
/// The same with ".specialize(condition)" for each condition it runs under.
CALO_EXPORT std::string variant_name(const std::string &func, int stage, const StageState &s);

}  // namespace calotype::schedule
