// Helpers of the code generation tests: LoweredFunctions over plain arrays, run by the JIT.
#pragma once

#include "base/diagnostic.h"
#include "codegen/jit.h"
#include "codegen/object.h"
#include "ir/nodes.h"
#include "runtime/HalideRuntime.h"
#include "runtime/runtime.h"

#include <string>
#include <vector>

namespace codegen_test {

using namespace calotype;  // NOLINT: a test's own namespace
using ir::make_int;

/// A buffer argument over `data`.
struct Array {
  std::string name;
  Type type;
  void *data;
  bool output = false;
};

/// The function with `body`, in which each array's memory bears its name.
inline lower::LoweredFunction function(const ir::Stmt &body, const std::vector<Array> &arrays) {
  lower::LoweredFunction f;
  f.name = "test";
  ir::Stmt s = body;
  for (const Array &a : arrays) {
    lower::LoweredArgument arg;
    arg.kind = a.output ? lower::LoweredArgument::Kind::OutputBuffer
                        : lower::LoweredArgument::Kind::InputBuffer;
    arg.name = a.name;
    arg.type = a.type;
    arg.dimensions = 1;
    f.args.push_back(arg);
    Expr handle = ir::make_var(a.name + ".buffer", Handle());
    s = ir::make_let_stmt(a.name,
                          ir::make_intrinsic(Handle(), ir::Intrinsic::buffer_host, {handle}), s);
  }
  f.body = s;
  return f;
}

/// Compiles `body` and runs it on the arrays.
inline int run(const ir::Stmt &body, const std::vector<Array> &arrays,
               const Target &t = get_host_target(), void *context = nullptr) {
  std::vector<halide_buffer_t> buffers(arrays.size());
  std::vector<const void *> args;
  for (size_t i = 0; i < arrays.size(); i++) {
    buffers[i] = halide_buffer_t();
    buffers[i].host = static_cast<uint8_t *>(arrays[i].data);
    args.push_back(&buffers[i]);
  }
  codegen::JitFunction compiled = codegen::compile_jit(function(body, arrays), t);
  return compiled.call(context, args.data());
}

}  // namespace codegen_test
