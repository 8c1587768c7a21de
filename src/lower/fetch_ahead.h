// prefetch: at each iteration of a loop, what later iterations will read is brought near. It reads and changes nothing.
#pragma once

#include "site_regions.h"

namespace calotype::lower {

/// What the stage of `loop` asked for at this loop, to run before its body; undefined: nothing. `here`: the body's regions.
ir::Stmt fetch_ahead(LoopContext &c, const schedule::LoopNode &loop, const SiteRegions &here);

}  // namespace calotype::lower
