// Debug information of compiled code (DWARF): every instruction belongs to a loop and to a line of a definition. Each loop, and each place where a
// Func is computed, is described as a function that was inlined there, so that debuggers and profilers show
//   blur_x.x (algorithm.cpp:19) < blur_x < output.yi < output.yo
// as they show inlined calls. Internal.
#pragma once

#include "../base/target.h"
#include "../lower/lowered.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <unordered_map>

namespace calotype::codegen {

/// Whether code for `t` carries debug information: the feature `debug`, or CALO_DEBUG_INFO=1.
bool wants_debug_info(const Target &t);
/// "output.s1.r" as people read it: "output.update(0).r".
std::string loop_label(const std::string &loop);

class DebugLines {
public:
  DebugLines(llvm::Module &module, const lower::LoweredFunction &f);
  /// To be called when all code is emitted.
  void finish() { builder_.finalize(); }
  /// Gives `f` debug information under the name `label`; the place of its first instruction.
  llvm::DebugLoc function(llvm::Function *f, const std::string &label);
  /// The place of what is inside of `label`: a loop, or a Func where it is computed. `around`: the place outside.
  llvm::DebugLoc inside(const std::string &label, const llvm::DebugLoc &around);

private:
  const SrcLoc &source_of(const std::string &label) const;
  llvm::DIFile *file_of(const SrcLoc &at);
  llvm::DISubprogram *subprogram(const std::string &name, const std::string &symbol,
                                 const SrcLoc &at);

  llvm::DIBuilder builder_;
  llvm::DISubroutineType *type_ = nullptr;
  SrcLoc pipeline_;
  std::unordered_map<std::string, SrcLoc> stages_;  ///< "blur_x.s0" and "blur_x"
  std::unordered_map<std::string, llvm::DISubprogram *> loops_;
};

}  // namespace calotype::codegen
