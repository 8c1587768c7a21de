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
};

/// A node of the loop tree. Children run in order.
///   Root     the whole program
///   Store    storage of `func` lives for the children
///   Produce  the children compute (all stages of) `func`
///   Loop     one loop; `members` are the stages that run in it (one, unless loops are shared), outermost loops first
///   Compute  the definition of members[0] at one point
struct LoopNode {
  enum class Kind { Root, Store, Produce, Loop, Compute } kind = Kind::Root;
  ir::Name func;
  std::vector<StageRef> members;
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
