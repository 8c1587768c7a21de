// Target machine, pass list and output of a module: see module.h.
//
// The pass list is short and fixed. Loops arrive rotated and without variables in memory, vectors arrive as vectors,
// so what is left to do is: scalars out of small local arrays, common subexpressions, invariants, local cleaning.
#include "module.h"

#include "../base/diagnostic.h"
#include "../runtime/runtime.h"

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
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) raise(Diagnostic("T0104", {}, "LLVM has no x86 code generator: " + error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, "x86-64", instructions_of(t).llvm, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default));
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
  const std::string features = instructions_of(t).llvm;
  const char *width = has_512_bits(t) ? "512" : "256";
  for (llvm::Function &f : m) {
    f.setDoesNotThrow();
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", "x86-64");
    if (f.hasFnAttribute(kBaseline)) continue;
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

// Only what the target names: code must run, and give the same bits, on every machine of that description. (Every
// processor with AVX has popcnt, every one with AVX2 has bmi1, bmi2 and lzcnt.)
Instructions instructions_of(const Target &t) {
  const char *const v4 =
      "+avx2,+avx512f,+avx512cd,+avx512bw,+avx512dq,+avx512vl,+popcnt,+bmi,+bmi2,+lzcnt,+f16c,";
  const char *const icelake =
      "+avx512ifma,+avx512vbmi,+avx512vbmi2,+avx512vnni,+avx512bitalg,+avx512vpopcntdq,";
  const uint32_t v4_cpu = calo_cpu_avx2 | calo_cpu_f16c | calo_cpu_avx512 | calo_cpu_skylake;
  const uint32_t icelake_cpu = v4_cpu | calo_cpu_cannonlake | calo_cpu_icelake;
  Instructions i;
  i.llvm = "+sse2,+cx16,";
  auto add = [&](Target::Feature f, const std::string &text, uint32_t cpu) {
    if (!t.has_feature(f)) return;
    i.llvm += text;
    i.cpu |= cpu;
  };
  add(Target::SSE41, "+sse4.1,", calo_cpu_sse41);
  add(Target::AVX, "+avx,+popcnt,", calo_cpu_avx);
  add(Target::AVX2, "+avx2,+popcnt,+bmi,+bmi2,+lzcnt,", calo_cpu_avx2);
  add(Target::F16C, "+f16c,", calo_cpu_f16c);
  add(Target::AVXVNNI, "+avxvnni,", calo_cpu_avxvnni);
  for (Target::Feature f : {Target::AVX512, Target::AVX512_KNL}) {
    add(f, "+avx2,+avx512f,+avx512cd,+f16c,+popcnt,+bmi,+bmi2,+lzcnt,",
        calo_cpu_avx2 | calo_cpu_f16c | calo_cpu_avx512);
  }
  add(Target::AVX512_Skylake, v4, v4_cpu);
  add(Target::AVX512_Cannonlake, std::string(v4) + "+avx512ifma,+avx512vbmi,",
      v4_cpu | calo_cpu_cannonlake);
  const std::string zen4 = std::string(v4) + icelake + "+avx512bf16,+gfni,";
  add(Target::AVX512_Zen4, zen4, icelake_cpu | calo_cpu_bf16);
  for (Target::Feature f : {Target::AVX512_Zen5, Target::AVX512_SapphireRapids, Target::AVX10_1}) {
    add(f, zen4 + "+avxvnni,", icelake_cpu | calo_cpu_bf16 | calo_cpu_avxvnni);
  }
  if (t.fuses_multiply_add()) {
    i.llvm += "+fma,";
    i.cpu |= calo_cpu_fma;
  }
  i.llvm.pop_back();
  return i;
}

std::unique_ptr<CompiledModule> make_module(const std::string &name, const Target &t) {
  auto m = std::make_unique<CompiledModule>();
  m->machine = make_machine(t);
  m->context = std::make_unique<llvm::LLVMContext>();
  m->context->setDiagnosticHandler(std::make_unique<Complaints>(&m->complaints));
  m->module = std::make_unique<llvm::Module>(name, *m->context);
  m->module->setTargetTriple(m->machine->getTargetTriple());
  m->module->setDataLayout(m->machine->createDataLayout());
  m->module->setPICLevel(llvm::PICLevel::BigPIC);
  return m;
}

void check_module(CompiledModule &m, const Target &t) {
  set_attributes(*m.module, t);
  verify(m, "as emitted");
}

std::unique_ptr<CompiledModule> emit_module(const lower::LoweredFunction &f, const Target &t,
                                            Interface interface, const std::string &symbol) {
  auto m = make_module(f.name.str(), t);
  Emitter emitter(*m->module, t, interface);
  emitter.function(f, symbol);
  check_module(*m, t);
  return m;
}

std::unique_ptr<CompiledModule> compile_module(const lower::LoweredFunction &f, const Target &t,
                                               Interface interface, const std::string &symbol) {
  auto m = emit_module(f, t, interface, symbol);
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

}  // namespace calotype::codegen
