// Compiles lowered functions into this process and runs them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../base/target.h"
#include "../lower/lowered.h"

namespace calotype::codegen {

/// A compiled function that can be called. Thread-safe once made. Holds its code.
class CALO_EXPORT JitFunction {
public:
  JitFunction();
  ~JitFunction();
  JitFunction(JitFunction &&) noexcept;
  JitFunction &operator=(JitFunction &&) noexcept;
  /// Runs it. `args[i]` belongs to LoweredFunction::args[i] then ::embedded: a halide_buffer_t * for buffers, a pointer to
  /// the value for scalars. `user_context` goes to the runtime's hooks (runtime.h, JitContext). Returns 0 or an error code.
  int call(void *user_context, const void *const *args) const;
  explicit operator bool() const { return impl_ != nullptr; }
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Addresses of C functions by the names that programs call them by.
using ForeignSymbols = std::vector<std::pair<std::string, void *>>;

/// Throws T0102 (target cannot run here), T0103 (operation not available), T0104. With `keep` the object
/// comes from the disk cache where it has it, and goes there: what LLVM would be given is the key.
/// C functions that are not in `externs` are looked up in the process.
CALO_EXPORT JitFunction compile_jit(const lower::LoweredFunction &f, const Target &t,
                                    bool keep = true, const ForeignSymbols &externs = {});

}  // namespace calotype::codegen
