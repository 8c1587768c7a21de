// Program and schedule to callable code, and calling it.
#include "compile.h"

#include <cstdlib>

#include "../base/diagnostic.h"
#include "../base/stack.h"
#include "../lower/pipeline.h"
#include "../schedule/apply.h"

namespace calotype::driver {

ir::ProgramOptions program_options(const Target &t) {
  ir::ProgramOptions options;
  options.settle = !t.has_feature(Target::StrictFloat);
  options.fma = t.fuses_multiply_add();
  return options;
}

std::shared_ptr<CompiledPipeline> compile(ir::Program program, schedule::Schedule schedule, const Target &target,
                                          bool run_here) {
  auto result = std::make_shared<CompiledPipeline>();
  run_on_large_stack([&] {
    result->target = target;
    result->program = std::move(program);
    result->schedule = schedule::resolve(result->program, schedule);
    result->state =
        schedule::apply(result->program, result->schedule, target, result->schedule.origin.empty());
    result->lowered = lower::lower(result->program, result->state, target);
    if (run_here) result->code = codegen::compile_jit(result->lowered, target);
  });
  return result;
}

namespace {

/// The diagnostic code for one of the runtime's integers (HalideRuntime.h).
const char *code_of(int code) {
  switch (code) {
    case halide_error_code_access_out_of_bounds: return "R0102";
    case halide_error_code_constraint_violated:
    case halide_error_code_constraints_make_required_region_smaller:
    case halide_error_code_explicit_bounds_too_small:
    case halide_error_code_param_too_small:
    case halide_error_code_param_too_large: return "R0103";
    case halide_error_code_out_of_memory: return "R0104";
    case halide_error_code_requirement_failed: return "R0105";
    case halide_error_code_bad_type:
    case halide_error_code_bad_dimensions:
    case halide_error_code_buffer_argument_is_null:
    case halide_error_code_buffer_is_null:
    case halide_error_code_host_is_null:
    case halide_error_code_buffer_extents_negative:
    case halide_error_code_buffer_allocation_too_large:
    case halide_error_code_buffer_extents_too_large:
    case halide_error_code_unaligned_host_ptr:
    case halide_error_code_device_dirty_with_no_device_support:
    case calo_error_code_buffers_overlap: return "R0101";
    default: return "R0106";
  }
}

/// "file:line" back to a position.
SrcLoc parse_position(const std::string &where) {
  const size_t colon = where.rfind(':');
  if (colon == std::string::npos) return {};
  SrcLoc loc;
  loc.file = intern_path(where.substr(0, colon));
  loc.line = std::atoi(where.c_str() + colon + 1);
  return loc;
}

int call(const CompiledPipeline &p, const std::vector<const void *> &args, runtime::JitContext &context) {
  CALO_ASSERT(args.size() == p.lowered.args.size(), "wrong number of arguments");
  std::vector<const void *> all = args;
  for (const ir::ParameterRef &e : p.lowered.embedded) all.push_back(e->buffer->raw());
  return p.code.call(&context, all.data());
}

}  // namespace

void throw_runtime_error(const runtime::RuntimeError &e) {
  Diagnostic d(code_of(e.code), parse_position(e.where), e.what.empty() ? "the pipeline failed" : e.what);
  if (!e.why.empty()) d.why.push_back({e.why, {}});
  d.why.push_back({"the pipeline returned " + std::to_string(e.code), {}});
  if (!e.help.empty()) d.help.push_back(e.help);
  raise(std::move(d));
}

void run(const CompiledPipeline &p, const std::vector<const void *> &args, runtime::JitContext &context) {
  const int code = call(p, args, context);
  if (code == 0) return;
  if (context.handlers.error) return;  // the handler has been told: it decides
  runtime::RuntimeError e = context.error();
  if (e.code == 0) e.code = code;
  throw_runtime_error(e);
}

void query_bounds(const CompiledPipeline &p, const std::vector<const void *> &args, runtime::JitContext &context) {
  run(p, args, context);
}

}  // namespace calotype::driver
