// A Pipeline's algorithm and schedule as data, for the command line and tests.
#pragma once

#include "../base/target.h"
#include "../ir/function.h"
#include "../schedule/directive.h"

namespace calotype {
class Pipeline;
}

namespace calotype::driver {

/// Whether numbers are settled, and how, for code that runs on `t`.
CALO_EXPORT ir::ProgramOptions program_options(const Target &t);

/// The program of a Pipeline; freezes its Funcs.
CALO_EXPORT ir::Program program_of(const Pipeline &p, const Target &t);

/// The schedule in force: the one loaded into the Pipeline, or (or after) the directives written in C++.
/// Gives unnamed Vars their names and adds parameters that only directives mention to `program`.
CALO_EXPORT schedule::Schedule schedule_of(const Pipeline &p, ir::Program &program);

}  // namespace calotype::driver
