// Evaluates expressions and lowered statements on the host, straight from nodes.def's meaning, sharing no code with LLVM.
// Used for constant folding, by tests of IR, and as the oracle for code generation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nodes.h"

namespace calotype::ir {

/// A scalar or vector value; lane i in lanes[i]: integers in two's complement in the low bits (sign-extended for Int,
/// zero-extended for UInt), floats of every width as the bits of a double.
struct CALO_EXPORT Value {
  Type type;
  std::vector<uint64_t> lanes;
  int64_t as_int(int lane = 0) const { return static_cast<int64_t>(lanes[lane]); }
  double as_float(int lane = 0) const;
  static Value of_int(Type t, int64_t v);
  static Value of_float(Type t, double v);
};

/// Memory and names that evaluation may read.
struct EvalContext {
  std::map<std::string, Value> vars;
  std::map<std::string, std::vector<uint64_t>>
      memory;  ///< buffers for Load/Store, one Value lane per element
  std::map<std::string, Type> memory_types;
  bool fma = true;
};
/// The value, or nothing if `e` needs something unknown (a free variable, a Func, an extern call).
CALO_EXPORT std::optional<Value> evaluate(const Expr &e, const EvalContext &cx = {});
/// Runs a lowered statement (flat storage) against cx.memory. Returns an error text, empty if it ran to the end.
CALO_EXPORT std::string execute(const Stmt &s, EvalContext &cx);
/// Folds `op` applied to constant operands; undefined if not all are constants or the result is unspecified.
CALO_EXPORT Expr fold(const Expr &e);

}  // namespace calotype::ir
