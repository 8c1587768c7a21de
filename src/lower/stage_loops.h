// The loops of one stage as arithmetic: what each loop runs over, what value each variable of the definition has in
// terms of the loops, and what part of its range is touched while some loops stand still.
//
// Root variables (pure Vars and RVars) range over [min, max], symbols `f.s0.x.min` and `f.s0.x.max` that the builder
// defines where the stage starts. Tails (design: one mechanism):
//   shift   base = min + min(outer * factor, extent - factor): only where extent >= factor (fits())
//   guard   inner loops end early where they can, else the point is skipped by a condition (guards())
//   round   the range touched grows to a multiple of the factor
#pragma once

#include <map>
#include <unordered_set>
#include <vector>

#include "../analysis/interval.h"
#include "../ir/function.h"
#include "../schedule/loop_state.h"

namespace calotype::lower {

/// How `Auto` and `ShiftInwards` tails of pure stages are built. Shift: blocks that end in vector or unrolled loops move
/// inwards (right only where fits() holds), others end early. Guard: all end early, and those vector and unrolled loops
/// run serially.
enum class TailMode { Shift, Guard };

class StageLoops {
public:
  /// `max_is`: for root variables of constant extent, the maximum as min + constant; undefined: the symbol.
  StageLoops(const ir::Function &f, int stage, const schedule::StageState &state, TailMode mode,
             const std::unordered_map<ir::Name, Expr> &max_is);

  ir::Name loop_name(ir::Name var) const;  ///< f.s0.xo
  static ir::Name min_symbol(ir::Name func, int stage, ir::Name var);
  static ir::Name max_symbol(ir::Name func, int stage, ir::Name var);

  const std::vector<ir::Name> &roots() const { return roots_; }
  Expr loop_min(ir::Name loop) const;
  Expr loop_extent(ir::Name loop) const;
  ir::ForType loop_kind(ir::Name loop) const;
  /// The value of a root variable in terms of the loop variables; all but the last of shifted blocks are marked likely.
  Expr value(ir::Name root) const;
  /// What the root touches while the loops `fixed` (by name of loop) stand at their current iteration and the others run.
  analysis::Interval range(ir::Name root, const std::unordered_set<ir::Name> &fixed) const;
  /// Conditions under which a point is computed, where loops alone do not ensure them: those that the loops `fixed` decide
  /// at their current iteration, each by a number of its own.
  std::map<int, Expr> guards(const std::unordered_set<ir::Name> &fixed) const;
  /// True everywhere that the shifting tails are right; undefined if there are none. In terms of the root symbols.
  Expr fits() const;
  /// Upper bound of how far beyond max a root's rounding tails reach, for regions not known yet. 0: none.
  Expr rounding_slack(ir::Name root) const;

private:
  enum class Tail { None, Shift, Guard, Dynamic, Round };
  struct Var {
    ir::Name name;
    Expr min, max;
    enum { IsLoop, IsSplit, IsFuseInner, IsFuseOuter, IsRenamed } how = IsLoop;
    int a = -1, b = -1;  // split: outer, inner; fuse: fused, the other; rename: new
    Expr factor;
    Tail tail = Tail::None;
    bool clipped =
        false;  // must not be rounded up: what lies beyond max belongs to others, or to nobody
  };

  int add(ir::Name name);
  void apply_relations(const schedule::StageState &state, bool pure, TailMode mode);
  void settle_outer_values();
  Tail choose_tail(const schedule::Relation &r, const Var &old, bool pure, TailMode mode);
  bool evaluable_outside(const Expr &e) const;
  Expr base(const Var &split, const Expr &outer, bool mark_likely = false) const;
  Expr value_of(int id, bool likely = false) const;
  Expr compute_value(int id, bool likely) const;
  analysis::Interval range_of(int id, const std::unordered_set<ir::Name> &fixed) const;
  Expr touched_max(int id) const;
  bool rounds(int id) const;
  bool is_full(int id, const std::unordered_set<ir::Name> &fixed) const;
  bool is_fused(int id) const;
  int loop_that_ends(int id) const;
  void loops_of(int id, std::vector<int> &positions) const;
  Expr extent(const Var &v) const;

  ir::Name func_;
  int stage_;
  std::vector<Var> vars_;
  std::unordered_map<ir::Name, int> current_;  // name -> id of the newest variable of that name
  std::unordered_map<ir::Name, int> root_ids_;
  std::vector<ir::Name> roots_;
  std::unordered_map<int, int> loop_position_;  // id -> position, innermost 0
  std::unordered_map<int, ir::ForType> loop_kind_;
  std::vector<std::pair<ir::Name, int>>
      outer_values_;  // stand-ins, while ranges are found, for values of these ids
  mutable std::map<std::pair<int, bool>, Expr> values_;  // memo of value_of
};

}  // namespace calotype::lower
