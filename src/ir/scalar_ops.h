// The meaning of operations on single lanes, written from nodes.def and intrinsics.def (internal to ir's evaluator).
// A lane is 64 bits as in Value: integers sign- or zero-extended to their type, floats of every width as a double's bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "nodes.h"

namespace calotype::ir {

/// What a result may depend on besides its operands.
struct ScalarFlags {
  bool unspecified = false;  ///< signed 32- or 64-bit overflow happened (the result wraps)
  bool fma_matters = false;  ///< rounding once and rounding twice differ
};

inline double lane_to_double(uint64_t lane) {
  double d;
  std::memcpy(&d, &lane, sizeof d);
  return d;
}
inline uint64_t lane_of_double(double d) {
  uint64_t lane;
  std::memcpy(&lane, &d, sizeof lane);
  return lane;
}
/// The low t.bits() bits of an integer as a lane of integer type t.
inline uint64_t wrap_lane(Type t, uint64_t v) {
  if (t.bits() >= 64) return v;
  const int shift = 64 - t.bits();
  return t.is_int() ? static_cast<uint64_t>(static_cast<int64_t>(v << shift) >> shift)
                    : v << shift >> shift;
}

/// a op b for the binary nodes (comparisons give 0 or 1); t: the operands' element type. False: not defined for t.
bool scalar_binary(NodeKind op, Type t, uint64_t a, uint64_t b, uint64_t *out, ScalarFlags *flags);
uint64_t scalar_cast(Type to, Type from, uint64_t v);
/// The bits of a lane as they lie in memory, and back; only for types of at most 64 bits.
uint64_t lane_to_memory(Type t, uint64_t lane);
uint64_t lane_from_memory(Type t, uint64_t bits);
bool scalar_reduce(ReduceOp op, Type t, uint64_t a, uint64_t b, uint64_t *out, ScalarFlags *flags);

/// Intrinsics with a direct meaning here: class Core (but if_then_else), and the exact integer ones of class Expand.
bool has_scalar_meaning(Intrinsic op);
struct ScalarCall {
  Intrinsic op;
  Type result;
  const Type *types;  // of the arguments
  const uint64_t *args;
  int count;
  bool fma;
};
bool scalar_intrinsic(const ScalarCall &call, uint64_t *out, ScalarFlags *flags);

}  // namespace calotype::ir
