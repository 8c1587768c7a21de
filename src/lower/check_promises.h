// Promises about values of indices, checked before anything runs where loops alone decide them.
#pragma once

#include "loop_context.h"

namespace calotype::lower {

/// Adds to the pass's promises; `found`: regions at the root.
void check_promises(LoopContext &c, const RegionFinder::Result &found);

}  // namespace calotype::lower
