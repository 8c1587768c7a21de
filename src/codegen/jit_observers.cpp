// See jit_observers.h. The map's format: tools/perf/Documentation/jit-interface.txt of Linux.
#include "jit_observers.h"

#include "../base/options.h"

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/Debugging/DebugInfoSupport.h>
#include <llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h>
#include <llvm/ExecutionEngine/Orc/Debugging/PerfSupportPlugin.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderPerf.h>

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <mutex>

namespace calotype::codegen {
namespace {

namespace orc = llvm::orc;
namespace jitlink = llvm::jitlink;

// Keeps the names of functions that nothing but their own object refers to, as bodies of parallel loops are, and with
// `write_map` appends all of them to the map.
class FunctionNames : public orc::ObjectLinkingLayer::Plugin {
public:
  explicit FunctionNames(bool write_map) : write_map_(write_map) {}
  void modifyPassConfig(orc::MaterializationResponsibility &, jitlink::LinkGraph &,
                        jitlink::PassConfiguration &passes) override {
    passes.PrePrunePasses.push_back([this](jitlink::LinkGraph &g) {
      keep(g);
      return llvm::Error::success();
    });
    if (!write_map_) return;
    passes.PostFixupPasses.push_back([this](jitlink::LinkGraph &g) {
      append(g);
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(orc::MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(orc::JITDylib &, orc::ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(orc::JITDylib &, orc::ResourceKey, orc::ResourceKey) override {}

private:
  void keep(jitlink::LinkGraph &g) {
    for (jitlink::Symbol *s : g.defined_symbols()) {
      if (s->isCallable()) s->setLive(true);
    }
  }
  // A profile without names is no reason to fail: a file that cannot be written is left out.
  void append(jitlink::LinkGraph &g) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    FILE *file = std::fopen(path.c_str(), "ae");
    if (!file) return;
    for (jitlink::Symbol *s : g.defined_symbols()) {
      if (!s->hasName() || !s->isCallable() || s->getSize() == 0) continue;
      std::fprintf(file, "%" PRIx64 " %" PRIx64 " %s\n", s->getAddress().getValue(),
                   static_cast<uint64_t>(s->getSize()), (*s->getName()).str().c_str());
    }
    std::fclose(file);
  }
  const bool write_map_;
  std::mutex mutex_;
};

}  // namespace

llvm::Expected<std::unique_ptr<orc::ObjectLayer>> make_linking_layer(
    orc::ExecutionSession &session) {
  auto layer = std::make_unique<orc::ObjectLinkingLayer>(session);
  const Options &o = options();
  if (!o.perf.empty()) layer->addPlugin(std::make_shared<FunctionNames>(o.perf == "map"));
  if (o.perf == "dump") {
    layer->addPlugin(std::make_shared<orc::DebugInfoPreservationPlugin>());
    auto address = [](auto *f) { return orc::ExecutorAddr::fromPtr(f); };
    layer->addPlugin(std::make_shared<orc::PerfSupportPlugin>(
        session.getExecutorProcessControl(), address(&llvm_orc_registerJITLoaderPerfStart),
        address(&llvm_orc_registerJITLoaderPerfEnd), address(&llvm_orc_registerJITLoaderPerfImpl),
        true, false));
  }
  llvm::Error error = llvm::Error::success();
  auto debugger = std::make_shared<orc::ELFDebugObjectPlugin>(session, true, true, error);
  if (error) return error;
  layer->addPlugin(std::move(debugger));
  return layer;
}

}  // namespace calotype::codegen
