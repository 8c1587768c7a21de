// All lowering passes in running order, each with its contract. The table that runs them: pipeline.cpp.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <memory>

#include "../analysis/interval.h"
#include "../base/target.h"
#include "../ir/function.h"
#include "../schedule/loop_nest.h"
#include "../schedule/loop_state.h"
#include "lowered.h"

namespace calotype::lower {

/// What lowering decided about one Func's storage, for `calo explain`.
struct StorageReport {
  std::string slides;  ///< "over y in output.yi", or why not
  std::string folds;   ///< "y to 4", or why not
  std::string memory;  ///< "stack, 512 B", "heap", and why
};

/// Bytes of a thread's stack that all Funcs of a pipeline may take together; what does not fit goes to the heap.
constexpr int64_t kStackBudget = 64 << 10;

/// Everything passes share. A pass that learns something for later puts it into a field here or into the IR.
struct PassContext {
  const ir::Program *algorithm = nullptr;  ///< with the Funcs that directives made
  ir::Program program;                     ///< inlined Funcs substituted away
  const schedule::ScheduleState *state = nullptr;
  Target target;
  std::unique_ptr<schedule::LoopNode> tree;
  std::vector<LoweredArgument> args;
  std::vector<ir::ParameterRef> embedded;
  std::unordered_map<ir::Name, analysis::Box> input_regions;   ///< gives: build_loops
  std::unordered_map<ir::Name, analysis::Box> output_regions;  ///< what stages of outputs touch
  /// What readers need of Funcs whose range bound() fixes: to be checked once. gives: build_loops
  std::unordered_map<ir::Name, analysis::Box> bounded_reads;
  std::unordered_map<ir::Name, StorageReport> storage;
  /// Names that an outermost call of extern stages' bounds queries defines; regions of inputs may be made of them.
  std::vector<std::pair<ir::Name, Expr>> early_lets;
  std::vector<Expr>
      promises;  ///< conditions that a caller's arguments must meet, as calls of require
  /// By loop: whether it may be cut (partition, never_partition ...). gives: build_loops
  std::unordered_map<ir::Name, Partition> partition;
  int64_t stack_bytes = 0;  ///< of the thread that needs most. gives: place_storage
  /// Inputs that an output Func may overwrite while it runs: it alone reads them, in its only stage, at the place it
  /// writes. Such a run must not compute a block twice: the variable in_place_flag(output) tells.
  std::unordered_map<ir::Name, std::vector<std::string>> in_place;
};

/// Name of the bool that is true when `output` shares memory with an input. Defined by check_buffers.
inline ir::Name in_place_flag(ir::Name output) { return output + ".in_place"; }
/// Fills PassContext::in_place.
void find_in_place(PassContext &cx);

/// Builds loops, storage and their bounds from the loop tree: For, Realize, Provide, ProducerConsumer, with lets for every
/// region. Slides windows and folds storage on the way, where the loops between storage and computation are known.
/// gives  unique names on each path; every region bounded       tests test/unit/lower/build_loops_test.cpp
ir::Stmt build_loops(const ir::Stmt &ignored, PassContext &cx);

/// Puts the trace events in that directives and the target ask for.
/// needs  loops as build_loops makes them                        tests test/pipelines/trace_test.cpp
ir::Stmt trace_events(const ir::Stmt &s, PassContext &cx);

/// Elements that a serial loop updates again and again live in memory of type Register while it runs.
/// needs  Funcs' storage not flat yet; after trace_events        tests test/unit/lower/accumulators_test.cpp
ir::Stmt keep_accumulators(const ir::Stmt &s, PassContext &cx);

/// Wraps the program in checks of its arguments, and in the answer to bounds queries.
/// needs  input_regions, output_regions                          tests test/unit/lower/check_buffers_test.cpp
ir::Stmt check_buffers(const ir::Stmt &s, PassContext &cx);

/// Replaces loops of kind Unrolled by copies of their bodies.
/// needs  constant extents (legality)                            again no change
ir::Stmt unroll_loops(const ir::Stmt &s, PassContext &cx);

/// Provide, Realize and Func calls become Store, Allocate and Load: one allocation per Tuple element.
/// gives  flat_storage                                           again no change
ir::Stmt flatten_storage(const ir::Stmt &s, PassContext &cx);

/// Replaces loops of kind Vectorized by vector operations; conditions on lanes become predicates.
/// needs  flat_storage, constant extents                         gives no_vector_loops
ir::Stmt vectorize_loops(const ir::Stmt &s, PassContext &cx);

/// Cuts loops into prologue, steady state and epilogue so that `likely` conditions are decided in the steady state; those
/// that a loop does not change are decided before it.
/// order  after vectorize_loops (conditions then speak of whole vectors)
ir::Stmt partition_loops(const ir::Stmt &s, PassContext &cx);

/// Expands math and compound integer intrinsics; drops markers.  order last: analyses know the compact forms
ir::Stmt expand_math(const ir::Stmt &s, PassContext &cx);

/// Decides for each allocation between stack and heap, within the stack budget of the whole pipeline, and reports it.
/// needs  flat_storage; last of those that copy code            gives no memory type Auto
ir::Stmt place_storage(const ir::Stmt &s, PassContext &cx);

/// analysis/simplify on the whole program.
ir::Stmt simplify_program(const ir::Stmt &s, PassContext &cx);

}  // namespace calotype::lower
