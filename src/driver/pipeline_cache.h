// What a Pipeline keeps between runs: its handlers, its loaded schedule, its compiled code and what that depends on.
// Internal.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../codegen/jit.h"
#include "../lang/internal.h"
#include "compiled.h"
#include "pipeline.h"
#include "program.h"

namespace calotype::driver {

/// What code depends on besides definitions: directives by version, constraints by identity.
struct Stamp {
  std::vector<std::pair<const ir::FunctionBody *, uint64_t>> funcs;
  std::vector<std::pair<ir::ParameterRef, std::vector<Expr>>> constraints;
  std::vector<std::pair<ir::ParameterRef, uint64_t>> images;  // those may have directives (in)
  bool current() const;
};

/// Shared by copies of a Pipeline, and by all calls of one Func's realize. Refers to Funcs by address
/// only (they live as long as the outputs), or Func, cache and Func would keep each other alive.
struct JitCache final : RefCounted {
  std::mutex mutex;
  JITHandlers handlers;
  bool has_file = false;
  schedule::Schedule file;
  codegen::ForeignSymbols externs;
  std::vector<Expr> requirements;
  std::shared_ptr<const Compiled> code;
  Stamp stamp;

  static JitCache &of(const Pipeline &p) { return p.cache(); }
  static std::vector<ir::ParameterRef> args_of(const Pipeline &p) { return p.args_; }
};

/// "1 size", "2 sizes".
std::string counted(size_t n, const std::string &what);
/// Throws L0201, L0217.
std::vector<Ref<ir::FunctionBody>> bodies_of(const Pipeline &p);
Target jit_target(const Target &t);
/// Compiles unless the code that is kept is still right.
std::shared_ptr<const Compiled> code_for(const Pipeline &p, const Target &asked);

}  // namespace calotype::driver
