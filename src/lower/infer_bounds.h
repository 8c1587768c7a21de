// Regions required of Funcs and inputs at a site of the loop tree.
//
// A site is the body of a loop of one stage (its owner), a stage's innermost point, or the root. At a site, what a Func
// must provide is the hull of what all stages below the site read of it, each with its variables ranging over what
// it still runs below the site. Funcs whose loops start below the site take part with the region they need themselves,
// so the answer is found from the outputs backwards.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../analysis/bounds.h"
#include "../ir/function.h"
#include "../schedule/loop_nest.h"
#include "stage_loops.h"

namespace calotype::lower {

/// One stage's root variables at a site.
using VarRanges = std::unordered_map<ir::Name, analysis::Interval>;

/// What is known of one Func at a site.
struct FuncRegion {
  analysis::Box read;      ///< by its readers
  analysis::Box required;  ///< the same after bound() and align_bounds()
  std::vector<VarRanges>
      stage_ranges;      ///< what each stage's root variables run over (before rounding tails)
  analysis::Box stored;  ///< everything its stages write and its readers read
};

class RegionFinder {
public:
  RegionFinder(const ir::Program &p, const schedule::ScheduleState &s)
      : program_(p), state_(s), values_(p) {}

  struct Owner {
    schedule::StageRef stage;
    VarRanges ranges;  ///< of its root variables
  };
  struct Site {
    bool root = false;
    std::vector<Owner> owners;  ///< none at the root; several where an in-order group shares a loop
    std::vector<const schedule::LoopNode *> below;  ///< the site's children
    /// Called for each Func produced directly at the site, readers first, once its region is known. It may change the
    /// stage ranges in place to the symbols that the stages' loops use; what these Funcs read follows from them.
    std::function<void(const ir::Function &, FuncRegion &)> on_produced_here;
    /// Called for each extern stage below the site, with the region it must provide there: gives the regions of the
    /// Funcs and images that its C function asks for.
    std::function<std::vector<std::pair<ir::Name, analysis::Box>>(const ir::Function &,
                                                                  const FuncRegion &)>
        on_extern;
  };
  struct Result {
    std::unordered_map<ir::Name, FuncRegion> funcs;      ///< Funcs produced below the site
    std::unordered_map<ir::Name, analysis::Box> inputs;  ///< images read below the site
  };
  /// `given`: regions imposed on Funcs (outputs at the root).
  Result at(const Site &site, const std::unordered_map<ir::Name, analysis::Box> &given = {}) const;

private:
  void add_reads(const ir::Function &f, int stage, const VarRanges &ranges,
                 std::unordered_map<ir::Name, analysis::Box> &into) const;
  void start_scan(const ir::Function &f, VarRanges &ranges) const;
  FuncRegion region_of(const ir::Function &f, bool here, const analysis::Box &required) const;
  void round_ranges(const ir::Function &f, bool here, VarRanges &ranges,
                    analysis::Box &stored) const;
  void apply_bounds(const ir::Function &f, bool here, analysis::Box &box) const;

  const ir::Program &program_;
  const schedule::ScheduleState &state_;
  const analysis::FuncValues values_;
};

/// Ranges of one definition's variables as a scope for bounds analysis.
ir::Scope<analysis::Interval> scope_of(const VarRanges &ranges);
/// The pure argument that dimension `d` of this definition is indexed by, or the empty name.
ir::Name pure_arg(const ir::Function &f, const ir::Definition &d, size_t dim);

}  // namespace calotype::lower
