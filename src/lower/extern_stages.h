// Stages that C functions compute, and values kept between runs: both hand a Func's memory out as buffers.
#pragma once

#include <utility>
#include <vector>

#include "loop_context.h"

namespace calotype::lower {

/// Asks the C function, at this site, what it needs for the region that f must provide:
///   let f.query0.1 = a buffer without memory ..., f.query0.code = the call, f.query0.1.min.0 = what it wrote ...
std::vector<std::pair<ir::Name, analysis::Box>> query_extern(LoopContext &c, const ir::Function &f,
                                                             const FuncRegion &r, bool root,
                                                             std::vector<Let> &lets);
/// Does the region depend on what a C function answers?
bool asks_c_function(const analysis::Box &region);
/// Does a C function read or write the Func's memory?
bool touched_by_c(const ir::Program &p, const ir::Function &f);
ir::Stmt run_extern(const ir::Function &f, const StageLoops &loops);
/// if (!lookup(key, buffers)) { produce; store(key, buffers) }
ir::Stmt memoized(const LoopContext &c, const ir::Function &f, const FuncRegion &r,
                  const ir::Stmt &produce);

}  // namespace calotype::lower
