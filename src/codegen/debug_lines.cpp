// See debug_lines.h. Tests: test/unit/codegen/debug_lines_test.cpp.
#include "debug_lines.h"

#include "../base/options.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace calotype::codegen {
namespace {

constexpr uint32_t kDwarfVersion = 4;  // what every debugger and profiler in use reads

// "output.s1.r" is stage 1's loop r: where the stage's number starts and ends, or npos.
struct StagePart {
  size_t begin = std::string::npos, end = std::string::npos;
};

StagePart stage_part(const std::string &loop) {
  for (size_t dot = loop.find(".s"); dot != std::string::npos; dot = loop.find(".s", dot + 1)) {
    size_t end = dot + 2;
    while (end < loop.size() && loop[end] >= '0' && loop[end] <= '9') end++;
    if (end > dot + 2 && (end == loop.size() || loop[end] == '.')) return {dot, end};
  }
  return {};
}

}  // namespace

bool wants_debug_info(const Target &t) {
  return options().debug_info || t.has_feature(Target::Debug);
}

std::string loop_label(const std::string &loop) {
  const StagePart s = stage_part(loop);
  if (s.begin == std::string::npos) return loop;
  const std::string digits = loop.substr(s.begin + 2, s.end - s.begin - 2);
  const std::string func = loop.substr(0, s.begin), var = loop.substr(s.end);
  if (digits == "0") return func + var;
  return func + ".update(" + std::to_string(std::stoul(digits) - 1) + ")" + var;
}

DebugLines::DebugLines(llvm::Module &module, const lower::LoweredFunction &f) : builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Max, "Dwarf Version", kDwarfVersion);
  for (const lower::StageSource &s : f.sources) {
    stages_.emplace(s.func.str() + ".s" + std::to_string(s.stage), s.loc);
    stages_.emplace(s.func.str(), s.loc);
    if (s.loc.defined()) pipeline_ = s.loc;  // the last one is an output's
  }
  builder_.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C99),
                             file_of(pipeline_), "Calotype", true, "", 0);
  type_ = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
}

const SrcLoc &DebugLines::source_of(const std::string &label) const {
  const StagePart s = stage_part(label);
  auto it = stages_.find(label.substr(0, s.end));
  return it != stages_.end() && it->second.defined() ? it->second : pipeline_;
}

llvm::DIFile *DebugLines::file_of(const SrcLoc &at) {
  const llvm::StringRef path = at.defined() ? at.file : "pipeline";
  llvm::SmallString<128> folder;
  if (!llvm::sys::path::is_absolute(path)) llvm::sys::fs::current_path(folder);
  return builder_.createFile(path, folder);
}

llvm::DISubprogram *DebugLines::subprogram(const std::string &name, const std::string &symbol,
                                           const SrcLoc &at) {
  const unsigned line = static_cast<unsigned>(at.line);
  llvm::DIFile *file = file_of(at);
  return builder_.createFunction(
      file, name, symbol, file, line, type_, line, llvm::DINode::FlagZero,
      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
}

llvm::DebugLoc DebugLines::function(llvm::Function *f, const std::string &label) {
  const SrcLoc &at = source_of(label);
  llvm::DISubprogram *p = subprogram(loop_label(label), f->getName().str(), at);
  f->setSubprogram(p);
  return llvm::DILocation::get(f->getContext(), static_cast<unsigned>(at.line), 0, p);
}

llvm::DebugLoc DebugLines::inside(const std::string &label, const llvm::DebugLoc &around) {
  const SrcLoc &at = source_of(label);
  llvm::DISubprogram *&p = loops_[label];
  if (!p) p = subprogram(loop_label(label), "", at);
  llvm::DILocation *outer = around.get();
  llvm::LLVMContext &cx = outer->getContext();
  // Each copy of a loop is an inlining of its own.
  auto *site = llvm::DILocation::getDistinct(cx, outer->getLine(), outer->getColumn(),
                                             outer->getScope(), outer->getInlinedAt());
  return llvm::DILocation::get(cx, static_cast<unsigned>(at.line), 0, p, site);
}

}  // namespace calotype::codegen
