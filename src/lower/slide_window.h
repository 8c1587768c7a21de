// Sliding windows and ring buffers: whether a Func computed inside loops, but stored outside of them, may skip what
// earlier iterations computed, and how much storage is live at once.
//
// A high-water mark remembers the last slice computed in one dimension. Each iteration computes [first, max], first
// being one past the mark; it starts anew whenever the loop `first_loop` is entered. A walk downwards is the same walk in
// the negated coordinate: the mark holds minus the lowest slice.
#pragma once

#include <string>
#include <vector>

#include "../analysis/interval.h"
#include "../ir/function.h"

namespace calotype::lower {

struct SlideQuestion {
  struct Loop {
    ir::Name name;
    ir::ForType kind;
    Expr min, extent;
  };
  const ir::Function *func = nullptr;
  analysis::Box region;              ///< required by one iteration, in terms of the loops
  analysis::Box stored;              ///< everything that one iteration writes and reads
  std::vector<Loop> loops;           ///< between storage and computation, outermost first
  ir::Name innermost_storage;        ///< the dimension that lies densely in memory
  std::vector<Expr> rounding_slack;  ///< per dimension
};

struct Slide {
  int dim = -1;           ///< -1: does not slide
  bool down = false;      ///< the window moves to smaller coordinates
  ir::Name mark;          ///< scalar in memory: the last slice computed
  size_t first_loop = 0;  ///< index into SlideQuestion::loops
  bool from_mark =
      false;  ///< start at the mark even if the window begins later (the walk may step back)
  int64_t step =
      0;  ///< slices by which the window's end advances at most per iteration; 0: not known
  int64_t fold_factor = 0;  ///< slices of the ring that is made unasked; 0: none
  /// Slices that must exist at once, per dimension: what a ring needs. 0: not known, because ...
  std::vector<int64_t> needs;
  std::vector<std::string> no_ring;
  std::string report, fold_report;
  /// The part of the range [min, max] that is left to compute.
  analysis::Interval rest(const analysis::Interval &range) const;
  /// What the mark becomes when [min, max] has been computed.
  Expr advanced(const Expr &min, const Expr &max) const;

private:
  Expr first(const Expr &min) const;
};

constexpr int64_t kNoMark = -0x7fffffff;  ///< the mark before anything is computed

ir::Name mark_name(ir::Name func, ir::Name dim);
Slide plan_slide(const SlideQuestion &q);

}  // namespace calotype::lower
