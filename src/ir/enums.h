// Enumerations that IR nodes hold and that the public language names too.
#pragma once

#include <cstdint>

namespace calotype::ir {

enum class ForType : uint8_t {
  Serial,
  Parallel,
  Vectorized,
  Unrolled,
  GPUBlock,
  GPUThread,
  GPULane,
  Concurrent  ///< iterations may wait for one another: each has a thread of its own
};
enum class MemoryType : uint8_t {
  Auto,
  Heap,
  Stack,
  Register,
  GPUShared,
  GPUTexture,
  LockedCache,
  VTCM,
  AMXTile
};

}  // namespace calotype::ir
