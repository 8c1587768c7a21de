// The loop tree of a scheduled program: which loops run, in which order, what is stored and computed where.
// Lowering builds code from it; print_loop_nest, messages and the autoscheduler read it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loop_state.h"

namespace calotype::schedule {

struct StageRef {
  ir::Name func;
  int stage = 0;
  const StageState *state = nullptr;  ///< of the specialization, in the tree
};

/// A node of the loop tree. Children run in order.
///   Root     the whole program
///   Hoist    memory of `func` is allocated for the children, which hold its Store
///   Store    storage of `func` lives for the children
///   Produce  the children compute (all stages of) `func`; of all Funcs of `members` where those share loops
///   Loop     one loop; `members` are the stages that run in it (one, unless loops are shared), outermost loops first;
///            in_order: of an in-order group (SharedLoops)
///   Compute  the definition of members[0] at one point
///   Branch   the first child (a Case) whose condition holds
///   Case     one specialization of members[0]: its loops; no children: it fails with specialize_fail's message
struct LoopNode {
  enum class Kind { Root, Hoist, Store, Produce, Loop, Compute, Branch, Case } kind = Kind::Root;
  Expr condition;  ///< Case; undefined: always
  ir::Name func;
  std::vector<StageRef> members;
  bool in_order = false;
  Loop loop;
  std::vector<std::unique_ptr<LoopNode>> children;
};

/// The Program after inlined Funcs are substituted away (ir-level; same as lowering's first step).
/// Requires a legal state.
CALO_EXPORT std::unique_ptr<LoopNode> build_loop_tree(const ir::Program &inlined,
                                                      const ScheduleState &state);
CALO_EXPORT std::string to_string(const LoopNode &tree);

/// Substitutes Funcs that are Inlined and have no updates into their readers; drops them from the list.
CALO_EXPORT ir::Program inline_funcs(const ir::Program &p, const ScheduleState &state);

}  // namespace calotype::schedule
