// The regions of the Funcs below one site, named by lets; whether those computed there slide over what they did before.
#pragma once

#include <unordered_map>
#include <vector>

#include "loop_context.h"

namespace calotype::lower {

/// By Func computed at a site: per stage, the maxima of root variables of constant extent, as min + constant.
using ConstantMax = std::unordered_map<ir::Name, std::vector<std::unordered_map<ir::Name, Expr>>>;

/// What the Funcs below one site must provide; lets that name it; what is known of those computed directly there.
struct SiteRegions {
  std::vector<Let> lets;
  std::unordered_map<ir::Name, ir::Name>
      marks;  ///< Func -> its high-water mark to advance after producing
  ConstantMax constant_max;
  RegionFinder::Result found;
};

/// Adds to `here` what the children of `parent` need; `given`: regions imposed on Funcs.
void find_regions(LoopContext &c, const schedule::LoopNode &parent, RegionFinder::Site &site,
                  const std::unordered_map<ir::Name, analysis::Box> &given, SiteRegions &here);

}  // namespace calotype::lower
