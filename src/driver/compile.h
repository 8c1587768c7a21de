// From a program and a schedule to code that can be called: what Pipeline and the command line share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../base/target.h"
#include "../codegen/jit.h"
#include "../ir/function.h"
#include "../lower/lowered.h"
#include "../runtime/runtime.h"
#include "../schedule/directive.h"
#include "../schedule/loop_state.h"

namespace calotype {
class Pipeline;
}

namespace calotype::driver {

/// Code and everything it was made from.
struct CompiledPipeline {
  Target target;
  ir::Program program;
  schedule::Schedule schedule;  ///< resolved
  schedule::ScheduleState state;
  lower::LoweredFunction lowered;
  codegen::JitFunction code;  ///< empty unless compiled for this process
};

/// Legality, lowering and (if `run_here`) code for this process, on a large stack. Throws CompileError.
CALO_EXPORT std::shared_ptr<CompiledPipeline> compile(ir::Program program, schedule::Schedule schedule,
                                                      const Target &target, bool run_here = true);

/// Whether numbers are settled, and how, for code that runs on `t`.
CALO_EXPORT ir::ProgramOptions program_options(const Target &t);

/// The program of a Pipeline and the schedule written in C++ (or loaded into it), for `t`.
CALO_EXPORT ir::Program program_of(const Pipeline &p, const Target &t);
CALO_EXPORT schedule::Schedule schedule_of(const Pipeline &p, ir::Program &program);

/// Calls the code. `args` as in JitFunction::call, embedded ones left out: those are added here. Throws RuntimeError.
CALO_EXPORT void run(const CompiledPipeline &p, const std::vector<const void *> &args,
                     runtime::JitContext &context);
/// The exception that belongs to what the runtime recorded.
[[noreturn]] CALO_EXPORT void throw_runtime_error(const runtime::RuntimeError &e);

/// A bounds query: outputs have shapes, inputs named in `unknown` (positions in args) get theirs filled in.
/// Buffers of these have null hosts; dims must have room.
CALO_EXPORT void query_bounds(const CompiledPipeline &p, const std::vector<const void *> &args,
                              runtime::JitContext &context);

}  // namespace calotype::driver
