// In-process code: see jit.h. One LLJIT for the process, one JITDylib per function; a library sees nothing but its own
// code and the runtime's table of symbols.
#include "jit.h"

#include "../base/diagnostic.h"
#include "../base/disk_cache.h"
#include "../runtime/runtime.h"
#include "jit_observers.h"
#include "module.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/Orc/AbsoluteSymbols.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace calotype::codegen {
namespace {

namespace orc = llvm::orc;

[[noreturn]] void cannot_link(llvm::Error e) {
  raise(Diagnostic("T0104", {}, "compiled code cannot be loaded")
            .because(llvm::toString(std::move(e))));
}

template <typename T> T checked(llvm::Expected<T> value) {
  if (!value) cannot_link(value.takeError());
  return std::move(*value);
}

/// The process's linker. Never destroyed: code may still run while the process exits.
struct Linker {
  std::unique_ptr<orc::LLJIT> jit;
  orc::SymbolMap symbols;
  std::atomic<uint64_t> libraries{0};

  Linker() {
    orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
    auto made = orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(machine))
                    .setPlatformSetUp(orc::setUpInactivePlatform)
                    .setLinkProcessSymbolsByDefault(false)
                    .setObjectLinkingLayerCreator(make_linking_layer)
                    .create();
    jit = checked(std::move(made));
    size_t count = 0;
    const runtime::Symbol *table = runtime::jit_symbols(&count);
    for (size_t i = 0; i < count; i++) {
      auto address = orc::ExecutorAddr::fromPtr(table[i].address);
      symbols[jit->mangleAndIntern(table[i].name)] = {address, llvm::JITSymbolFlags::Exported};
    }
  }

  static Linker &get() {
    static auto *linker = new Linker;
    return *linker;
  }
};

using Entry = int (*)(void *, const void *const *);

/// An object file in memory, as LLVM takes it.
class StringBuffer final : public llvm::MemoryBuffer {
public:
  explicit StringBuffer(std::string bytes) : bytes_(std::move(bytes)) {
    init(bytes_.data(), bytes_.data() + bytes_.size(), false);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }

private:
  const std::string bytes_;
};

std::string compile_object(CompiledModule &m) {
  optimise(m);
  llvm::SmallVector<char, 0> object;
  emit_file(m, llvm::CodeGenFileType::ObjectFile, object);
  return std::string(object.begin(), object.end());
}

/// Who compiles for whom: this library, LLVM, the target.
std::string identity_of(const Target &t) {
  static const std::string compilers =
      build_id_of(reinterpret_cast<const void *>(&compile_jit)) + " " +
      build_id_of(reinterpret_cast<const void *>(&llvm::WriteBitcodeToFile));
  return "jit 1 " + compilers + " " + t.to_string();
}

/// The object of a function: kept by an earlier process, or compiled. Emission is repeated either way: it
/// takes a twentieth of what LLVM takes, and its result holds everything that the object depends on.
/// `foreign`: the C functions that it calls by the program's wish.
std::string object_of(const lower::LoweredFunction &f, const Target &t, bool keep,
                      std::vector<std::string> *foreign) {
  auto m = emit_module(f, t, Interface::Jit, f.name.str());
  for (const llvm::Function &g : *m->module) {
    if (g.isDeclaration() && g.hasFnAttribute(kForeignFunction))
      foreign->push_back(g.getName().str());
  }
  DiskCache *cache = keep ? shared_cache("jit") : nullptr;
  if (!cache) return compile_object(*m);
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::WriteBitcodeToFile(*m->module, stream);
  const std::string identity = identity_of(t);
  const std::string key = Hash().add(identity).add(text.data(), text.size()).text();
  std::string object;
  if (cache->get(key, identity, &object)) return object;
  object = compile_object(*m);
  cache->put(key, identity, object);
  return object;
}

// C functions by name: given, or exported by the process.
orc::SymbolMap find_foreign(Linker &linker, const std::vector<std::string> &names,
                            const ForeignSymbols &externs) {
  orc::SymbolMap found;
  for (const std::string &name : names) {
    void *address = nullptr;
    for (const auto &[known, at] : externs) address = known == name ? at : address;
    if (!address) address = dlsym(RTLD_DEFAULT, name.c_str());
    if (!address) {
      raise(
          Diagnostic("T0104", {}, "the C function " + name + " is not found in this process")
              .fix("pass it: pipeline.set_jit_externs({{\"" + name + "\", " + name +
                   "}}), or export it: extern \"C\" HALIDE_EXPORT_SYMBOL, linked with -rdynamic"));
    }
    found[linker.jit->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(address),
                                                llvm::JITSymbolFlags::Exported};
  }
  return found;
}

}  // namespace

struct JitFunction::Impl {
  orc::JITDylib *library = nullptr;
  Entry entry = nullptr;
  ~Impl() {
    if (!library) return;
    llvm::Error e = Linker::get().jit->getExecutionSession().removeJITDylib(*library);
    llvm::consumeError(std::move(e));  // nothing to tell, nobody to tell it to
  }
};

JitFunction::JitFunction() = default;
JitFunction::~JitFunction() = default;
JitFunction::JitFunction(JitFunction &&) noexcept = default;
JitFunction &JitFunction::operator=(JitFunction &&) noexcept = default;

int JitFunction::call(void *user_context, const void *const *args) const {
  CALO_ASSERT(impl_ != nullptr, "call of an empty JitFunction");
  return impl_->entry(user_context, args);
}

JitFunction compile_jit(const lower::LoweredFunction &f, const Target &t, bool keep,
                        const ForeignSymbols &externs) {
  std::string why = why_not_runnable_here(t);
  if (!why.empty()) {
    raise(Diagnostic("T0102", {}, "target " + t.to_string() + " cannot run on this machine")
              .because(why));
  }
  std::vector<std::string> names;
  auto object = std::make_unique<StringBuffer>(object_of(f, t, keep, &names));
  Linker &linker = Linker::get();
  orc::SymbolMap foreign = find_foreign(linker, names, externs);
  JitFunction result;
  result.impl_ = std::make_unique<JitFunction::Impl>();
  std::string name = "pipeline" + std::to_string(linker.libraries++);
  orc::JITDylib &library = linker.jit->getExecutionSession().createBareJITDylib(name);
  result.impl_->library = &library;
  if (auto e = library.define(orc::absoluteSymbols(linker.symbols))) cannot_link(std::move(e));
  if (!foreign.empty()) {
    if (auto e = library.define(orc::absoluteSymbols(std::move(foreign))))
      cannot_link(std::move(e));
  }
  if (auto e = linker.jit->addObjectFile(library, std::move(object))) cannot_link(std::move(e));
  orc::ExecutorAddr address = checked(linker.jit->lookup(library, f.name.str()));
  result.impl_->entry = address.toPtr<Entry>();
  return result;
}

}  // namespace calotype::codegen
