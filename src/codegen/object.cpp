// See object.h.
#include "object.h"

#include "../base/diagnostic.h"
#include "module.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

namespace calotype::codegen {
namespace {

std::string bytes_of(CompiledModule &m, ObjectForm form) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  switch (form) {
    case ObjectForm::Object: emit_file(m, llvm::CodeGenFileType::ObjectFile, bytes); break;
    case ObjectForm::Assembly: emit_file(m, llvm::CodeGenFileType::AssemblyFile, bytes); break;
    case ObjectForm::Bitcode: llvm::WriteBitcodeToFile(*m.module, stream); break;
    case ObjectForm::LlvmAssembly: m.module->print(stream, nullptr); break;
  }
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

std::string compile_object(const lower::LoweredFunction &f, const Target &t,
                           const std::string &symbol, ObjectForm form) {
  return bytes_of(*compile_module(f, t, Interface::Object, symbol), form);
}

std::string compile_dispatcher(const lower::LoweredFunction &f, const std::string &symbol,
                               const std::vector<std::pair<Target, std::string>> &choices) {
  const Target &last = choices.back().first;
  auto m = make_module(symbol, last);
  Emitter emitter(*m->module, last, Interface::Object);
  std::vector<Emitter::Choice> list;
  for (const auto &[target, name] : choices) list.push_back({target, name});
  emitter.dispatcher(f, symbol, list);
  check_module(*m, last);
  optimise(*m);
  return bytes_of(*m, ObjectForm::Object);
}

uint32_t processor_bits(const Target &t) { return instructions_of(t).cpu; }

std::string make_archive(const std::vector<std::pair<std::string, std::string>> &members) {
  std::vector<llvm::NewArchiveMember> list;
  for (const auto &[name, bytes] : members) {
    list.emplace_back(llvm::MemoryBufferRef(bytes, name));
    list.back().Perms = 0644;
  }
  auto made = llvm::writeArchiveToBuffer(list, llvm::SymtabWritingMode::NormalSymtab,
                                         llvm::object::Archive::K_GNU, true, false);
  if (!made) {
    raise(Diagnostic("T0104", {}, "cannot make the static library")
              .because(llvm::toString(made.takeError())));
  }
  return std::string((*made)->getBufferStart(), (*made)->getBufferEnd());
}

}  // namespace calotype::codegen
