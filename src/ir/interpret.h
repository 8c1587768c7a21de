// The reference interpreter: evaluates a Program by its definitions, knowing no schedule, bounds inference or LLVM.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "function.h"

namespace calotype::ir {

struct InterpretOptions {
  bool fma = true;              ///< numeric mode of the explicit fma nodes
  uint64_t max_operations = 0;  ///< 0: no limit; else RuntimeError R0106 when exceeded
  int outside = -1;  ///< bytes that reads outside of inputs find; -1: such reads are refused
  /// Accept reads outside of inputs where no output depends on what would be found there: compiled code leaves them out.
  /// Decided by running twice more with different bytes in their place.
  bool ignore_unused_reads = false;
  bool track_unspecified = false;  ///< fill InterpretReport::unspecified; slower
};
struct InterpretReport {
  uint64_t operations = 0;  ///< scalar operations executed
  std::vector<std::string>
      unspecified;  ///< signed 32/64-bit overflow, undef values met (first few)
};
/// Computes every output over the whole of its buffer. `outputs`: one per output and Tuple element, in order.
/// `inputs`: parameter name -> buffer; scalar parameters use their own value or `scalars` (bits) if present.
/// Reading outside an input throws RuntimeError R0102 naming reader Func, source line, dimension, index and bounds.
CALO_EXPORT InterpretReport
interpret(const Program &p, const std::vector<halide_buffer_t *> &outputs,
          const std::unordered_map<std::string, halide_buffer_t *> &inputs,
          const std::unordered_map<std::string, uint64_t> &scalars = {},
          const InterpretOptions &options = {});

}  // namespace calotype::ir
