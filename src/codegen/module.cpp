// Target machine, pass list and output of a module: see module.h.
//
// The pass list is short and fixed. Loops arrive rotated and without variables in memory, vectors arrive as vectors,
// so what is left to do is: scalars out of small local arrays, common subexpressions, invariants, local cleaning.
#include "module.h"

#include "../base/diagnostic.h"
#include "jit.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <mutex>

namespace calotype::codegen {
namespace {

// Only what the target names: code must run, and give the same bits, on every machine of that description. (Every
// processor with AVX has popcnt, every one with AVX2 has bmi1, bmi2 and lzcnt.)
std::string feature_string(const Target &t) {
  const char *const v4 =
      "+avx2,+avx512f,+avx512cd,+avx512bw,+avx512dq,+avx512vl,+popcnt,+bmi,+bmi2,+lzcnt,+f16c,";
  const char *const icelake =
      "+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni,+avx512bitalg,+avx512vpopcntdq,";
  std::string s = "+sse2,+cx16,";
  auto add = [&](Target::Feature f, const std::string &text) {
    if (t.has_feature(f)) s += text;
  };
  add(Target::SSE41, "+sse4.1,");
  add(Target::AVX, "+avx,+popcnt,");
  add(Target::AVX2, "+avx2,+popcnt,+bmi,+bmi2,+lzcnt,");
  add(Target::F16C, "+f16c,");
  add(Target::AVXVNNI, "+avxvnni,");
  add(Target::AVX512, "+avx2,+avx512f,+avx512cd,+f16c,+popcnt,+bmi,+bmi2,+lzcnt,");
  add(Target::AVX512_KNL, "+avx2,+avx512f,+avx512cd,+f16c,+popcnt,+bmi,+bmi2,+lzcnt,");
  add(Target::AVX512_Skylake, v4);
  add(Target::AVX512_Cannonlake, std::string(v4) + "+avx512ifma,+avx512vbmi,");
  add(Target::AVX512_Zen4, std::string(v4) + icelake + "+avx512bf16,+gfni,");
  add(Target::AVX512_Zen5, std::string(v4) + icelake + "+avx512bf16,+gfni,+avxvnni,");
  add(Target::AVX512_SapphireRapids, std::string(v4) + icelake + "+avx512bf16,+gfni,+avxvnni,");
  add(Target::AVX10_1, std::string(v4) + icelake + "+avx512bf16,+gfni,+avxvnni,");
  if (t.fuses_multiply_add()) s += "+fma,";
  s.pop_back();
  return s;
}

bool has_512_bits(const Target &t) {
  return t.features_any_of({Target::AVX512, Target::AVX512_KNL, Target::AVX512_Skylake,
                            Target::AVX512_Cannonlake, Target::AVX512_Zen4, Target::AVX512_Zen5,
                            Target::AVX512_SapphireRapids, Target::AVX10_1});
}

// Addresses come as base, offset and induction variable already; loop strength reduction makes blur and unsharp no faster
// (measured), is super-linear on branchy programs and deep loop nests, and has no other switch.
void leave_out_strength_reduction() {
  auto &all = llvm::cl::getRegisteredOptions();
  auto it = all.find("disable-lsr");
  if (it != all.end()) static_cast<llvm::cl::opt<bool> *>(it->second)->setValue(true);
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target &t) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    leave_out_strength_reduction();
  });
  if (t.arch != Target::X86 || t.bits != 64 || t.os != Target::Linux) {
    raise(Diagnostic("T0103", {}, "no code for the target " + t.to_string())
              .because("code can be generated for x86-64-linux"));
  }
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) raise(Diagnostic("T0104", {}, "LLVM has no x86 code generator: " + error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "x86-64", feature_string(t), options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
}

// LLVM's own handler prints and exits.
class Complaints : public llvm::DiagnosticHandler {
public:
  explicit Complaints(std::string *text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;
    llvm::raw_string_ostream stream(*text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream << "\n";
    return true;
  }

private:
  std::string *text_;
};

void set_attributes(llvm::Module &m, const Target &t) {
  std::string features = feature_string(t);
  const char *width = has_512_bits(t) ? "512" : "256";
  for (llvm::Function &f : m) {
    f.setDoesNotThrow();
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", "x86-64");
    f.addFnAttr("target-features", features);
    f.addFnAttr("prefer-vector-width", width);
    f.addFnAttr("min-legal-vector-width", width);
  }
}

void verify(const CompiledModule &m, const char *when) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyModule(*m.module, &stream)) return;
  raise(Diagnostic("T0104", {}, std::string("LLVM refuses the module ") + when).because(text));
}

}  // namespace

void optimise(CompiledModule &m) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(m.machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);

  llvm::FunctionPassManager passes;
  auto licm = [] {
    return llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true);
  };
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(licm());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(licm());
  for (llvm::Function &f : *m.module) {
    if (!f.isDeclaration()) passes.run(f, functions);
  }
}

std::unique_ptr<CompiledModule> emit_module(const lower::LoweredFunction &f, const Target &t,
                                            Interface interface) {
  auto m = std::make_unique<CompiledModule>();
  m->machine = make_machine(t);
  m->context = std::make_unique<llvm::LLVMContext>();
  m->context->setDiagnosticHandler(std::make_unique<Complaints>(&m->complaints));
  m->module = std::make_unique<llvm::Module>(f.name.str(), *m->context);
  m->module->setTargetTriple(m->machine->getTargetTriple());
  m->module->setDataLayout(m->machine->createDataLayout());
  m->module->setPICLevel(llvm::PICLevel::BigPIC);
  Emitter emitter(*m->module, t, interface);
  emitter.function(f);
  set_attributes(*m->module, t);
  verify(*m, "as emitted");
  return m;
}

std::unique_ptr<CompiledModule> compile_module(const lower::LoweredFunction &f, const Target &t,
                                               Interface interface) {
  auto m = emit_module(f, t, interface);
  optimise(*m);
  return m;
}

void emit_file(CompiledModule &m, llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  bool unable = m.machine->addPassesToEmitFile(passes, stream, nullptr, type, true);
  if (unable) raise(Diagnostic("T0104", {}, "LLVM cannot write this kind of file"));
  passes.run(*m.module);
  if (!m.complaints.empty()) {
    raise(Diagnostic("T0104", {}, "LLVM cannot select instructions").because(m.complaints));
  }
}

std::string compile_to_llvm_ir(const lower::LoweredFunction &f, const Target &t) {
  auto m = compile_module(f, t, Interface::Jit);
  std::string text;
  llvm::raw_string_ostream stream(text);
  m->module->print(stream, nullptr);
  return text;
}

std::string compile_to_assembly(const lower::LoweredFunction &f, const Target &t) {
  auto m = compile_module(f, t, Interface::Jit);
  llvm::SmallVector<char, 0> text;
  emit_file(*m, llvm::CodeGenFileType::AssemblyFile, text);
  return std::string(text.begin(), text.end());
}

std::string compile_to_object(const lower::LoweredFunction &f, const Target &t) {
  auto m = compile_module(f, t, Interface::Object);
  llvm::SmallVector<char, 0> bytes;
  emit_file(*m, llvm::CodeGenFileType::ObjectFile, bytes);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace calotype::codegen
