// Storage of Funcs: how large it is, what of it is live at once (rings), where its memory comes from.
#pragma once

#include <functional>

#include "site_regions.h"

namespace calotype::lower {

/// The storage of n's Func around what `inside` builds. `here`: the site that the storage is at.
ir::Stmt build_store(LoopContext &c, const schedule::LoopNode &n, const SiteRegions &here,
                     const std::function<ir::Stmt()> &inside);
/// Memory for the storage of n's Func, which begins further inside.
ir::Stmt build_hoist(LoopContext &c, const schedule::LoopNode &n,
                     const std::function<ir::Stmt()> &inside);

}  // namespace calotype::lower
