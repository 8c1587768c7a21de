// What NAME_metadata() of a compiled function tells about its arguments, before it becomes constants. Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../base/target.h"
#include "../lower/lowered.h"

namespace calotype::codegen {

/// The parts of a halide_filter_argument_t.
struct ArgumentFacts {
  std::string name;
  int kind = 0;  ///< halide_argument_kind_t
  int dimensions = 0;
  uint32_t type = 0;                                  ///< the four bytes of a halide_type_t
  std::optional<uint64_t> value, min, max, estimate;  ///< of scalars: bits
  /// Of buffers: min and extent of each dimension in turn; empty if nothing is known.
  std::vector<std::optional<int64_t>> estimates;
};

/// In call order, the user context first where the target has it.
std::vector<ArgumentFacts> argument_facts(const lower::LoweredFunction &f, const Target &t);

}  // namespace calotype::codegen
