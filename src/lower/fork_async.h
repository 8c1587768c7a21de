// async: the code in a Func's storage becomes two sides that run at once, one that produces it and one that consumes it.
//
//   realize f { for y: { produce f   out(y) = ... f ... } }
//   -->  realize f { allocate f.async.state   begin(ahead)
//          concurrent f.async in [0, 2):
//            if f.async == 0: for y: { wait(1)  produce f  post(0) }      1: a place is free
//            else:            for y: { wait(0)  out(y) = ... f ...  post(1) } }
//
// Both sides run the loops between storage and computation; what these loops keep in memory (high-water marks, ring
// positions) each has for itself. Funcs that the producer reads and that the same loops compute move to its side.
#pragma once

#include <cstdint>

#include "loop_context.h"

namespace calotype::lower {

constexpr int32_t kAnyAhead = INT32_MAX;  ///< nothing that is produced overwrites what is consumed

/// `body`: what stands in f's storage. The producer may have produced `ahead` times before the consumer is done with the
/// first; where f is produced at several places in turn: once.
ir::Stmt fork_async(const LoopContext &c, const ir::Function &f, const ir::Stmt &body,
                    int32_t ahead);

}  // namespace calotype::lower
