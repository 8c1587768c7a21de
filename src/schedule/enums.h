// Enumerations that directives take, under the names programs use. Public.
#pragma once

namespace calotype {

/// What happens where a split factor does not divide the extent.
enum class TailStrategy {
  RoundUp,      ///< compute up to the next multiple: more is computed and required than asked for
  GuardWithIf,  ///< skip what lies beyond: masks, nothing is read or written outside
  Predicate,    ///< as GuardWithIf; loads and stores are predicated rather than branched around
  PredicateLoads,   ///< loads are predicated, stores round up
  PredicateStores,  ///< stores are predicated, loads round up
  ShiftInwards,  ///< the last block moves back to end at the edge: some values are computed twice
  ShiftInwardsAndBlend,  ///< as ShiftInwards, keeping what was stored before where blocks overlap
  RoundUpAndBlend,       ///< as RoundUp, keeping what lies beyond the edge
  Auto,  ///< works at any size: ShiftInwards where the extent allows, else predication; updates: GuardWithIf
};

enum class LoopAlignStrategy { AlignStart, AlignEnd, NoAlign, Auto };
enum class Partition { Auto, Never, Always };
enum class PrefetchBoundStrategy { Clamp, GuardWithIf, NonFaulting };
enum class DeviceAPI {
  None,
  Host,
  Default_GPU,
  CUDA,
  OpenCL,
  Metal,
  Hexagon,
  HexagonDma,
  D3D12Compute,
  Vulkan,
  WebGPU,
  OpenGLCompute
};

}  // namespace calotype
