// Stages that run in shared loops (compute_with), as groups: one stage leads, the others share some of its outermost
// loops. Placement refuses what cannot be shared; the loop tree builds one loop for all members.
#pragma once

#include <vector>

#include "loop_state.h"

namespace calotype::schedule {

/// One stage in a group; `depth` outermost loops are shared.
struct GroupMember {
  ir::Name func;
  int stage = 0;
  int depth = 0;
};

/// The members of a stage's group, its leader first, which shares as many loops as any of them; just the stage itself if
/// it shares none.
std::vector<GroupMember> group_of(const ir::Program &p, const ScheduleState &state, ir::Name func,
                                  int stage);
/// Do the group's stages run one after the other in each iteration (online)?
bool runs_in_order(const ir::Program &p, const ScheduleState &state,
                   const std::vector<GroupMember> &group);
/// Funcs through which members of in-order groups read other ones, by the group's last member: they are computed inside
/// the group's loop.
std::unordered_map<ir::Name, std::vector<ir::Name>> funcs_between(const ir::Program &p,
                                                                  const ScheduleState &state);
/// Funcs that share loops, directly or by way of others, in the program's order; just the Func itself if it shares none.
std::vector<ir::Name> funcs_sharing(const ir::Program &p, const ScheduleState &state,
                                    ir::Name func);
/// The stages of these Funcs in an order that keeps each Func's and runs groups at once; each item is led by its group's
/// leader. Empty: there is no such order.
std::vector<std::vector<GroupMember>> order_of_stages(const ir::Program &p,
                                                      const ScheduleState &state,
                                                      const std::vector<ir::Name> &funcs);
/// The program's Funcs, producers first, with those that share loops next to each other; what lies between
/// members of in-order groups is there too, in the program's order.
std::vector<const ir::Function *> grouped_order(const ir::Program &p, const ScheduleState &state);

}  // namespace calotype::schedule
