// Makes code in this process known to debuggers and profilers. Internal.
#pragma once

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <memory>

namespace calotype::codegen {

/// A linker of objects into this process. CALO_PERF=map appends each function to /tmp/perf-PID.map, CALO_PERF=dump writes
/// a jit dump with code and lines for `perf inject --jit`; objects with debug information are registered with gdb.
llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> make_linking_layer(
    llvm::orc::ExecutionSession &session);

}  // namespace calotype::codegen
