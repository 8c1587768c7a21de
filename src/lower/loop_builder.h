// Builds loops from the loop tree: one walk, whose parts for shared loops lie in shared_loops.cpp.
#pragma once

#include <unordered_map>
#include <vector>

#include "../schedule/order.h"
#include "site_regions.h"

namespace calotype::lower {

class LoopBuilder {
public:
  explicit LoopBuilder(PassContext &cx) : c_(cx) {}
  ir::Stmt build();

private:
  using LoopNode = schedule::LoopNode;
  using StageRef = schedule::StageRef;
  using MaxIs =
      std::unordered_map<ir::Name, Expr>;  ///< a stage's root variables of constant extent

  /// Everything at one site: lets of regions around storage, producers and the rest.
  ir::Stmt build_site(const LoopNode &parent, RegionFinder::Site site,
                      const std::unordered_map<ir::Name, analysis::Box> &given);
  ir::Stmt build_children(const LoopNode &parent, const SiteRegions &here);
  [[noreturn]] void refuse_unread_member(const LoopNode &n, const RegionFinder::Result &found);
  ir::Stmt advance_mark(ir::Name func, ir::Name mark);

  ir::Stmt build_produce(const LoopNode &n, const ConstantMax &constant_max);
  /// One stage: its specializations, or its loops in the two versions that small and large regions want.
  ir::Stmt build_stage(const ir::Function &f, const LoopNode &n,
                       const std::vector<MaxIs> &constant_max);
  /// if c0: loops of the first specialization, else if c1: ...
  ir::Stmt build_branch(const ir::Function &f, const LoopNode &n,
                        const std::vector<MaxIs> &constant_max);
  /// Root variables whose extent the conditions of a specialization fix.
  void know_extents(const ir::Function &f, const StageRef &s, MaxIs &max_is);
  void know_extent(const ir::Function &f, const StageRef &s, ir::Name v, MaxIs &max_is);
  /// Where blocks may shift inwards; undefined if none do.
  Expr may_shift(const ir::Function &f, int stage, const StageLoops &loops) const;
  bool proved_here(const Expr &condition) const;
  ir::Stmt with_stage(const StageRef &s, const StageLoops &loops, const LoopNode &n);
  /// A stage of no loops at all: its point may still be a site.
  ir::Stmt build_innermost(const LoopNode &n);
  RegionFinder::Site owner_site(const StageRef &stage);
  ir::Stmt build_loop(const LoopNode &n);
  ir::Stmt build_compute(const StageRef &s);
  /// Marks an update whose iterations may meet at one element while they run at once.
  ir::Stmt combined(const StageRef &s, const ir::Stmt &provide);

  /// Several stages under one loop, in the two versions that small and large regions want.
  ir::Stmt build_shared_stages(const LoopNode &n, const ConstantMax &constant_max);
  ir::Stmt shared_version(const LoopNode &n, const ConstantMax &constant_max, TailMode mode);
  ir::Stmt build_shared_loop(const LoopNode &n);
  /// One loop for an in-order group, whose stages all run over the same iterations.
  ir::Stmt build_loop_in_order(const LoopNode &n);
  /// The body of a shared loop: what each member's producers must provide, in that member's iterations.
  ir::Stmt build_shared_site(const LoopNode &n, std::vector<Let> lets);
  LoopAlignStrategy align_of(const StageRef &s, ir::Name loop) const;

  LoopContext c_;
  schedule::OrderCache order_;
  bool at_root_ = false;
  std::unordered_map<ir::Name, Expr> guards_;  // in a shared loop: when to produce a member's Funcs
};

}  // namespace calotype::lower
