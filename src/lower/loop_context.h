// What the builder of loops knows at the point of the loop tree it is at: the loops, storage and stages around it, and
// what the symbols of regions mean there.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "../analysis/interval.h"
#include "../analysis/simplify.h"
#include "infer_bounds.h"
#include "passes.h"
#include "slide_window.h"
#include "stage_loops.h"

namespace calotype::lower {

inline Expr c32(int64_t v) { return ir::make_int(Int(32), v); }

struct Let {
  ir::Name name;
  Expr value;
};
ir::Stmt with_lets(const std::vector<Let> &lets, ir::Stmt body);
/// Memory for high-water marks around s.
ir::Stmt with_marks(const std::vector<ir::Name> &marks, ir::Stmt s);

/// A loop being inside of.
struct OpenLoop {
  ir::Name name;  ///< f.s0.xo
  ir::ForType kind;
  Expr min, extent;
  std::vector<ir::Name> marks;  ///< high-water marks that start here

  analysis::Interval range() const;
};

/// Storage around the current point whose Func is computed deeper.
struct OpenStore {
  size_t depth = 0;      ///< loops open when the storage began
  analysis::Box bounds;  ///< symbols
  /// The ring that every place that computes the Func agreed on so far; dim -1: none.
  bool planned = false;
  int fold_dim = -1;
  int64_t fold_factor = 0;
  /// What a ring in each dimension needs in all of those places; 0: not known, because ...
  std::vector<int64_t> needs;
  std::vector<std::string> no_ring;
  int walk_dim = -1;  ///< a window slides in it
  bool walk_down = false;

  void agree_on_fold(const Slide &s);
};

/// hoist_storage: memory allocated further out, as large as any of the stores inside needs; each use begins at its own
/// corner of it.
struct Hoist {
  size_t depth = 0;  ///< loops open where the memory begins
  std::vector<Expr> extents;
};

/// A stage whose loops are being built.
struct OpenStage {
  schedule::StageRef stage;
  const StageLoops *loops;
  std::unordered_set<ir::Name> fixed;
  std::unordered_set<int> guarded;  ///< the stage's guards that were asked further out
  Expr
      active;  ///< directly inside a shared loop: whether this is one of the stage's own iterations
};

/// Region symbols in terms of open loops, through all symbols defined below the program's start; sliding left out.
/// A Func that is computed at several places, one inside another, has the same symbols at each: a meaning holds until
/// the place that gave it is built, then the one around it holds again.
class RegionSymbols {
public:
  void define(ir::Name symbol, const Expr &e);
  /// How many definitions there have been; forgets those after the first `down_to`.
  size_t count() const { return log_.size(); }
  void forget(size_t down_to);
  Expr expand(const Expr &e) const;
  analysis::Box expand(analysis::Box box) const;

private:
  std::unordered_map<ir::Name, Expr> meaning_;
  std::vector<std::pair<ir::Name, Expr>> log_;  // what each definition replaced
};

struct LoopContext {
  explicit LoopContext(PassContext &pass)
      : cx(pass), program(pass.program), state(*pass.state), regions(pass.program, *pass.state) {}

  PassContext &cx;
  const ir::Program &program;
  const schedule::ScheduleState &state;
  RegionFinder regions;
  TailMode mode = TailMode::Shift;
  analysis::Facts facts;  ///< conditions of the specializations being built
  std::vector<OpenLoop> loops;
  std::vector<OpenStage *> stages;
  std::unordered_map<ir::Name, OpenStore> stores;
  std::unordered_map<ir::Name, Hoist> hoists;
  std::unordered_map<ir::Name, Slide> slides;  ///< of Funcs with a mark
  RegionSymbols symbols;
  int queries = 0;              ///< of extern stages so far
  bool queries_inputs = false;  ///< some ask for images

  OpenStage &open_of(const schedule::StageRef &s) const;
  /// What the open loops run over.
  ir::Scope<analysis::Interval> loop_ranges() const;
};

/// A Func's region must be bounded; `who` needs or writes it.
void check_bounded(const ir::Function &f, const analysis::Box &region, const std::string &who);

}  // namespace calotype::lower
