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

/// An empty module for `t`.
std::unique_ptr<CompiledModule> make_module(const std::string &name, const Target &t);
/// Sets the attributes of what was emitted into it and verifies it. Throws T0104.
void check_module(CompiledModule &m, const Target &t);
/// Emits and checks; the function's name in the module is `symbol`. Throws T0103, T0104.
std::unique_ptr<CompiledModule> emit_module(const lower::LoweredFunction &f, const Target &t,
                                            Interface interface, const std::string &symbol);
/// Runs the passes of module.cpp.
void optimise(CompiledModule &m);
/// emit_module and optimise.
std::unique_ptr<CompiledModule> compile_module(const lower::LoweredFunction &f, const Target &t,
                                               Interface interface, const std::string &symbol);
/// The instructions that code for `t` takes for granted.
struct Instructions {
  std::string llvm;  ///< LLVM's feature string
  uint32_t cpu = 0;  ///< bits for calo_cpu_has
};
Instructions instructions_of(const Target &t);
/// Runs LLVM's code generator. Throws T0104.
void emit_file(CompiledModule &m, llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out);

}  // namespace calotype::codegen
