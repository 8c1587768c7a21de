// What lowering produces and code generation takes: one function of plain loops over flat memory.
#pragma once

#include <string>
#include <vector>

#include "../ir/function.h"

namespace calotype::lower {

/// An argument of the compiled function, in calling order. In the body a buffer's halide_buffer_t is the Handle variable
/// `name.buffer`, its host pointer the memory called `name` (bound by a LetStmt to buffer_host(name.buffer)); a scalar is
/// the variable `name`.
struct LoweredArgument {
  enum class Kind { InputScalar, InputBuffer, OutputBuffer } kind;
  std::string name;
  Type type;
  int dimensions = 0;
  ir::ParameterRef param;  ///< may be null for outputs without constraints
};

/// Where a stage of a Func is defined: 0 is the pure definition, i the update i - 1.
struct StageSource {
  ir::Name func;
  int stage = 0;
  SrcLoc loc;
};

struct LoweredFunction {
  ir::Name name;
  std::vector<LoweredArgument> args;
  ir::Stmt body;
  std::vector<ir::ParameterRef>
      embedded;  ///< images used directly: arguments the front end always passes itself
  std::vector<StageSource> sources;  ///< producers first, for debug information
};

}  // namespace calotype::lower
