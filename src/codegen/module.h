// From a lowered function to an optimised LLVM module and from there to bytes or text. Internal.
#pragma once

#include "emit.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/CodeGen.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace calotype::codegen {

/// A module with what it lives in. Move only.
struct CompiledModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  std::string complaints;  ///< what LLVM reported as errors
};

/// Emits and verifies. Throws T0103, T0104.
std::unique_ptr<CompiledModule> emit_module(const lower::LoweredFunction &f, const Target &t,
                                            Interface interface);
/// Runs the passes of module.cpp.
void optimise(CompiledModule &m);
/// Both.
std::unique_ptr<CompiledModule> compile_module(const lower::LoweredFunction &f, const Target &t,
                                               Interface interface);
/// Runs LLVM's code generator. Throws T0104.
void emit_file(CompiledModule &m, llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out);

}  // namespace calotype::codegen
