// Runs work on a large stack, so that recursion over deep programs cannot overflow the caller's.
#pragma once

#include <functional>

#include "export.h"

namespace calotype {

/// Calls `f` on a 1 GiB stack (address space only; pages are touched as used) and returns when it is done. Exceptions
/// pass through. Nested calls run directly. Cost: about 30 us.
CALO_EXPORT void run_on_large_stack(const std::function<void()> &f);

}  // namespace calotype
