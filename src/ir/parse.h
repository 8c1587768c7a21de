// Text to IR, the inverse of print.h, which shows the grammar. Bounded depth and size; errors are Diagnostics with line
// and column.
#pragma once

#include <functional>
#include <string>

#include "function.h"
#include "nodes.h"

namespace calotype::ir {

/// How names in an expression get meaning. Each may be empty. Callbacks may throw their own Diagnostics.
struct ParseContext {
  /// The Variable (or other Expr) that a name means, `x` or `@x`; undefined: an int32 Variable.
  /// A type's name in an argument list, as in vec(u16), is not asked for: it is an int32 Variable of that name.
  std::function<Expr(const std::string &name, SrcLoc at)> variable;
  /// A method-like access `name.member(args)`, e.g. output.stride(0) in schedules; undefined: an error.
  std::function<Expr(const std::string &name, const std::string &member,
                     const std::vector<Expr> &args, SrcLoc at)>
      member;
  /// A call `name(args)` that is not a known function; undefined: a call of a Func.
  std::function<Expr(const std::string &name, const std::vector<Expr> &args, SrcLoc at)> call;

  int max_depth =
      256;  ///< nesting; chains like a + b + c + ... may have eight times as many operands
  const char *code = "S0001";        ///< diagnostic code of syntax and type errors
  const char *limit_code = "S0002";  ///< of text that is too deep or too large
};

/// Parses one expression that fills `text`. `origin`: position of its first character.
/// A constant without a type suffix takes the other operand's type where that holds it (x + 1 for any x); otherwise
/// operands must agree.
CALO_EXPORT Expr parse_expr(const std::string &text, const ParseContext &context = {},
                            SrcLoc origin = {});
/// Parses the longest expression that starts at text[*pos], whose position is `origin`; leaves *pos behind it. A line
/// break outside parentheses ends it, unless an operand is still missing.
CALO_EXPORT Expr parse_expr_prefix(const std::string &text, size_t *pos,
                                   const ParseContext &context, SrcLoc origin);
/// Errors: L0601 syntax or types, L0602 too deep (20,000) or too large (256 MiB).
CALO_EXPORT Stmt parse_stmt(const std::string &text, SrcLoc origin = {});
/// As parse_stmt. Positions of the text become the Funcs' and parameters' locations; ids count from 1.
CALO_EXPORT Program parse_program(const std::string &text, SrcLoc origin = {});

}  // namespace calotype::ir
