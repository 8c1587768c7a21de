// Internal to transform: what was proved of a solved plan, in words, and its numeric bound.
#pragma once

#include "cascade.h"

namespace calotype::transform {

void note_obligations(OnlinePlan &plan);

}  // namespace calotype::transform
