// exp, log, sin ... and the compound integer operations, as IR over core operations: one definition for every target
// and the interpreter.
#pragma once

#include "nodes.h"

namespace calotype::ir {

/// The core-operation form of an intrinsic of class Expand (one step: the result may contain further ones).
CALO_EXPORT Expr expand_intrinsic(const Call *op);
/// Expands all intrinsics of class Expand and drops Markers, to the end.
CALO_EXPORT Expr expand_intrinsics(const Expr &e);
CALO_EXPORT Stmt expand_intrinsics(const Stmt &s);

}  // namespace calotype::ir
