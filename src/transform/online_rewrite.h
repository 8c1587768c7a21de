// A plan as a program: the cascade's reductions replaced by block partials, states that follow them, and results.
//
// The rewritten program is an ordinary one. A state has the number of the block as its last dimension:
//   O.part(d, i, t)  = sum over the points of block t of O's term, relative to the centers after block t
//   O.state(d, i, t) = repair(O.state(d, i, t - 1)) (+) O.part(d, i, t),  from the identity at t = -1
//   O.now(d, i, t)   = the value of O after block t, as later members refer to it
//   O(d, i)          = the result, of O.state at the last block
// so the interpreter runs it as it stands, which checks the rewriting. Lowering runs the states' updates as one group:
// one loop over blocks with the stages in the order given inside; only blocks t and t - 1 of a state are alive there, so
// the block dimension folds to two slots (or one, where a repair reads no old center: `needs_old` false). The parts
// are computed inside that loop, by their own loops, so that they vectorise and tile as any reduction does.
//
// Exponentials and the like that several parts (or repairs) have, or that one has at every point of a dimension they do not
// depend on, are pure Funcs O.term0 ... (O.repair0 ...) over the loop variables they use, so that they can be computed once.
//
// Split-K: with more than one split the parts, states and values have a dimension `s` before t, each split runs over
// its own blocks, and
//   O.merge(d, i, s) = repair(O.merge(d, i, s - 1)) (+) repair(O.state(d, i, s, last block)), both to O.whole's centers
//   O.whole(d, i, s) = the value of O over splits 0 to s
#pragma once

#include "cascade.h"

namespace calotype::transform {

struct OnlineStage {
  ir::Name func;   ///< the state Func; its update 0 runs in the group
  ir::Name part;   ///< the Func of block partials it consumes
  ir::Name now;    ///< the values later members read; empty for the last member
  ir::Name merge;  ///< the Func that merges splits, by its update 0; empty if there is one split
  bool needs_old = false;  ///< some later or own repair reads this member's value before the block
};

struct OnlineRewrite {
  ir::Program program;
  ir::Name block_var;  ///< the RVar over blocks, shared by all stages
  Expr blocks;         ///< its extent; it starts at 0. Of one split
  ir::Name split_var;  ///< the RVar over splits, shared by the merges; empty if there is one
  std::vector<OnlineStage> stages;  ///< in the order within one iteration
  std::vector<ir::Name> shared;     ///< O.term0 ..., O.repair0 ...
  std::vector<ir::Name>
      results;  ///< pure Funcs that hold the members' results, under the members' names
};

/// `block`: points of plan.var in one block, an int32 Expr of at least 1. `splits`: undefined for none, else the same.
CALO_EXPORT OnlineRewrite rewrite_online(const ir::Program &p, const OnlinePlan &plan,
                                         const Expr &block, const Expr &splits = {});

}  // namespace calotype::transform
