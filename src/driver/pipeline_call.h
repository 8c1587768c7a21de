// One run of compiled code: arguments in their order, the caller's hooks, buffers for inputs that have none. Internal.
#pragma once

#include <memory>
#include <vector>

#include "../runtime/runtime.h"
#include "pipeline_cache.h"

namespace calotype::driver {

/// One call on its way: values of scalars are copied, so that another thread may set them meanwhile.
class Call {
public:
  Call(const Pipeline &p, std::shared_ptr<const Compiled> code, JITUserContext *user);

  void add_outputs(const std::vector<halide_buffer_t *> &outs);

  /// All arguments at once, for Callable.
  void set_args(std::vector<const void *> args) { args_ = std::move(args); }
  int run_plain();

  void need_inputs() const;

  void run();

  /// Makes buffers for inputs that have none.
  void infer_inputs();

private:
  // A buffer without memory asks a compiled function for bounds; here values were asked for.
  void need_memory() const;

  struct Shape {
    halide_buffer_t raw{};
    std::vector<halide_dimension_t> dims;
  };

  const void *scalar(const lower::LoweredArgument &a, size_t i);

  static void bind(const lower::LoweredArgument &a, const Shape &shape);

  void override_handlers(const JITHandlers &h);

  /// JITUserContext * and void * are passed alike: the types differ for the reader only.
  void install_handlers();

  std::shared_ptr<const Compiled> code_;
  JITHandlers handlers_;
  JITUserContext default_user_;
  runtime::JitContext context_;
  std::vector<const void *> args_;
  std::vector<uint64_t> scalars_;
};

}  // namespace calotype::driver
