// Checked constructors for user expressions: they adapt operand types as the language defines and refuse misuse with
// L diagnostics. The compiler's own passes use nodes.h's makers instead.
#pragma once

#include <string>
#include <vector>

#include "../base/source.h"
#include "nodes.h"

namespace calotype::ir {

/// Makes both operands one type, as the language defines (lossless constants adapt to the other operand; then: float
/// wins over integer, wider wins, signed/unsigned of equal width gives Int; broadcasts scalars to vectors).
/// `op` names the operation in messages. Throws L0101, L0102.
CALO_EXPORT void match_types(Expr &a, Expr &b, const char *op, SrcLoc loc = {});
/// a op b after match_types, for every binary node kind.
CALO_EXPORT Expr build_binary(NodeKind op, Expr a, Expr b, SrcLoc loc = {});
/// `e` as type `t` if it is a constant that `t` represents exactly (or rounds, for floats); L0104 otherwise.
CALO_EXPORT Expr lossless_constant(Type t, const Expr &e, SrcLoc loc = {});
/// Throws L0101 if undefined.
CALO_EXPORT void require_defined(const Expr &e, const char *what, SrcLoc loc = {});
/// "t12": unique in this process; for lowering's temporaries (a Program's own names are canonical).
CALO_EXPORT Name unique_name(const std::string &prefix);

}  // namespace calotype::ir
