// A program under a schedule as running code: the one way from data to a call that everything in the
// driver shares. Tests: test/pipelines.
#pragma once

#include <string>
#include <vector>

#include "../base/target.h"
#include "../codegen/jit.h"
#include "../lower/pipeline.h"
#include "../schedule/directive.h"

namespace calotype::driver {

/// The schedule that counts when a file was given: the file's alone, or after the embedded one where
/// the file says `base embedded`. Precedence as designed; nothing else adds directives.
CALO_EXPORT schedule::Schedule effective_schedule(const schedule::Schedule &embedded,
                                                  const schedule::Schedule &file);

/// Throws the error that stands in `cx` (a runtime::JitContext) after a call returned `code`.
[[noreturn]] CALO_EXPORT void raise_runtime_error(const void *cx, int code);

/// Checked, lowered and compiled for this process. Thread-safe once made.
class CALO_EXPORT Compiled {
public:
  /// Throws what schedule::apply, lower::lower and codegen::compile_jit throw. Works on a large stack.
  /// `keep`: compiled code may come from the disk cache.
  Compiled(const ir::Program &p, const schedule::Schedule &s, const Target &t, bool keep = true,
           const codegen::ForeignSymbols &externs = {});

  const Target &target() const { return target_; }
  const lower::LoweredFunction &function() const { return function_; }
  /// Scheduled::reordered: why values may differ in rounding from the interpreter's.
  const std::vector<std::string> &reordered() const { return reordered_; }
  /// `args[i]` belongs to function().args[i]: a halide_buffer_t * or a pointer to the scalar. Embedded
  /// images are added here. Throws RuntimeError; outputs then hold anything.
  void run(const std::vector<const void *> &args) const;
  /// The same with the caller's runtime::JitContext; a failure is left to its error handler if it has one.
  void run(const std::vector<const void *> &args, void *cx) const;

private:
  Target target_;
  lower::LoweredFunction function_;
  std::vector<std::string> reordered_;
  codegen::JitFunction code_;
};

}  // namespace calotype::driver
