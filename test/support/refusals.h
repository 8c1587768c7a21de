// Which refusals a schedule may get: each must point at a directive that may get its code. What the table allows is what
// docs/schedules.md lists under "Errors".
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace calotype::test {

/// Why a refusal of this schedule is not explained by it: no place, no such directive there, a code that the directive
/// cannot get, no reason or advice. Empty: it is explained.
std::string unexplained_refusal(const std::string &schedule, const std::vector<Diagnostic> &said);

/// The same for a run that failed with `code` (halide_error_code_t): what in the schedule can make it.
bool explains_run_failure(const std::string &schedule, int code);

}  // namespace calotype::test
