// Lowering: a program and its loop state in, one function of flat loops out.
#pragma once

#include <string>
#include <vector>

#include "../base/target.h"
#include "passes.h"

namespace calotype::lower {

/// Throws CompileError (B codes where a region cannot be bounded, S0901 for what is not available yet).
/// `args`: parameters in the order asked for by the caller; empty: inputs in the program's order, then outputs.
CALO_EXPORT LoweredFunction lower(const schedule::Scheduled &scheduled, const Target &target);

/// The same, with what lowering learned on the way (for explain).
/// `cx` refers to `scheduled` afterwards.
CALO_EXPORT LoweredFunction lower(const schedule::Scheduled &scheduled, const Target &target,
                                  PassContext &cx);

/// The loops alone, as build_loops makes them, for those who count what would run (walk_loops.h). `cx` as above.
CALO_EXPORT ir::Stmt loops_of(const schedule::Scheduled &scheduled, const Target &target,
                              PassContext &cx);

/// Names of all passes in order with their summaries.
struct PassInfo {
  const char *name;
  const char *summary;
};
CALO_EXPORT std::vector<PassInfo> pass_list();
/// Runs the named pass alone on a statement.
CALO_EXPORT ir::Stmt run_pass(const std::string &name, const ir::Stmt &s, PassContext &cx);

}  // namespace calotype::lower
