// The state that directives build: each stage's loops and how they derive from the definition's variables, each Func's
// compute and store level, storage order and bounds. Cheap to copy. What lowering reads.
#pragma once

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
};

/// How loops derive from one another; in the order applied.
///   Split:  old = outer * factor + inner (within old's range, by tail)
///   Fuse:   old is the fused loop: inner = old % extent(inner), outer = old / extent(inner), plus their mins
///   Rename: old is called outer now
struct Relation {
  enum class Kind { Split, Fuse, Rename } kind;
  ir::Name old, outer, inner;
  Expr factor;
  TailStrategy tail = TailStrategy::Auto;  ///< resolved: never a value that legality refuses
  bool exact = false;                      ///< reductions: iterations beyond the edge must never run
  SrcLoc loc;
};

struct StageState {
  std::vector<Loop> loops;  ///< innermost first
  std::vector<Relation> relations;
};

/// Where a Func is computed or stored.
struct Level {
  enum class Kind { Inlined, Root, At } kind = Kind::Inlined;
  ir::Name func;    ///< At: the consumer
  int stage = -1;   ///< At: its stage; -1: every stage that has the loop and needs the producer
  ir::Name var;     ///< At: a loop of that stage
  SrcLoc loc;
  bool is_root() const { return kind == Kind::Root; }
  bool is_inlined() const { return kind == Kind::Inlined; }
};

/// What bound, bound_extent, align_bounds, align_extent said of one dimension.
struct Bound {
  ir::Name var;
  Expr min, extent;          ///< undefined where not given
  Expr modulus, remainder;   ///< range widened so that min % modulus == remainder and extent % modulus == 0
  bool align_extent_only = false;
  SrcLoc loc;
};

struct FuncState {
  std::vector<StageState> stages;
  Level compute, store;   ///< Inlined Funcs with updates are computed at their readers' innermost loop
  std::vector<ir::Name> storage_order;  ///< innermost first; all dimensions
  std::vector<Bound> bounds;
  ir::MemoryType memory = ir::MemoryType::Auto;
  SrcLoc storage_loc;
};

struct ScheduleState {
  std::unordered_map<ir::Name, FuncState> funcs;
  const FuncState &of(ir::Name func) const { return funcs.at(func); }
};

/// The state before any directive: definition order of loops, outputs at root, everything else inlined.
CALO_EXPORT ScheduleState initial_state(const ir::Program &p);

}  // namespace calotype::schedule
