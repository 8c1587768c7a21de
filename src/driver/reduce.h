// Delta debugging: the smallest case that still fails.
#pragma once

#include <functional>

#include "failing_case.h"

namespace calotype::driver {

/// Drops directives of the schedule, runs, outputs, Funcs, definitions, terms and parameters of the program, and makes sizes
/// smaller, the largest steps first, as long as `fails` says so of what is left; greedy, until no step helps or the
/// time is over. `fails` is asked of well-formed programs only; `c` itself is taken to fail.
CALO_EXPORT FailingCase reduce(FailingCase c, const std::function<bool(const FailingCase &)> &fails,
                               int seconds);

}  // namespace calotype::driver
