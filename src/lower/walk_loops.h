// Walks a program of loops at given sizes and counts how often everything happens, without running it.
//
// Each loop stands at an iteration in its middle, whose work counts for all. Where windows slide, the iteration before is
// walked first, so that the marks are where they would be, and the first one, which computes a whole window, counts for
// itself. For explain and the autoscheduler.
#pragma once

#include <map>
#include <vector>

#include "../ir/eval.h"
#include "../ir/function.h"
#include "../ir/nodes.h"

namespace calotype::lower {

class CALO_EXPORT LoopWalk {
public:
  /// `known`: `sizes` holds those of all arguments; else nothing but lets is evaluated.
  explicit LoopWalk(ir::EvalContext sizes, bool known = true)
      : values_(std::move(sizes)), known_(known) {}
  virtual ~LoopWalk();
  void walk(const ir::Stmt &s);

protected:
  struct Frame {
    const ir::For *loop;
    int64_t extent;  ///< -1: not known at these sizes
  };
  /// Loops around, outermost first.
  const std::vector<Frame> &around() const { return around_; }
  /// Of loops, storage and conditions that are not known, around this place.
  int depth() const { return depth_; }
  /// How often this place is reached; NaN where a loop around has no known extent.
  double times() const { return times_; }
  /// This place was or will be visited in another iteration too, for most of its times.
  bool again() const { return again_ > 0; }
  bool known() const { return known_; }
  bool value(const Expr &e, int64_t *v) const;
  /// Which definition of `f` a Provide belongs to. To be asked once per at_provide.
  int stage_of(const ir::Function &f);

  // The places, before what they hold; each may be visited more than once, with its share of times().
  virtual void at_provide(const ir::Provide *) {}
  virtual void at_realize(const ir::Realize *, double /*elements*/) {}
  virtual void at_loop(const ir::For *, int64_t /*min*/, int64_t /*extent, or -1*/) {}
  virtual void at_unknown_let(const ir::LetStmt *) {}
  virtual void at_unknown_branch(const ir::IfThenElse *, bool /*its else*/) {}

private:
  void loop(const ir::For *op);
  void iteration(const ir::For *op, int64_t i, int64_t extent, double times);
  void let(const ir::LetStmt *op);
  void realize(const ir::Realize *op);
  void mark(const ir::Allocate *op);
  void store(const ir::Store *op);
  void branch(const ir::IfThenElse *op);
  void inside(const ir::Stmt &s);

  ir::EvalContext values_;
  bool known_;
  std::vector<Frame> around_;
  std::map<ir::Name, int> seen_;  ///< Provides outside of loops of their own
  double times_ = 1;
  int again_ = 0, marks_ = 0, depth_ = 0;
  bool fresh_marks_ = false;  ///< between a mark's storage and the loop that its window walks
};

}  // namespace calotype::lower
