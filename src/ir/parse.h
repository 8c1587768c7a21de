// Text to IR, the inverse of print.h. Bounded depth and size; errors are Diagnostics with line and column.
#pragma once

#include <functional>
#include <string>

#include "function.h"
#include "nodes.h"

namespace calotype::ir {

/// How names in an expression get meaning. Each may be empty.
struct ParseContext {
  /// The Variable (or other Expr) that a bare name means; undefined: an int32 Variable.
  std::function<Expr(const std::string &name, SrcLoc at)> variable;
  /// A method-like access `name.member(args)`, e.g. output.stride(0) in schedules; undefined: an error.
  std::function<Expr(const std::string &name, const std::string &member, const std::vector<Expr> &args, SrcLoc at)>
      member;
  /// A call `name(args)` that is not a known function; undefined: a call of a Func.
  std::function<Expr(const std::string &name, const std::vector<Expr> &args, SrcLoc at)> call;
};

/// Parses one expression that fills `text`. `origin`: position of its first character.
CALO_EXPORT Expr parse_expr(const std::string &text, const ParseContext &context = {}, SrcLoc origin = {});
/// Parses the longest expression that starts at text[*pos]; leaves *pos behind it.
CALO_EXPORT Expr parse_expr_prefix(const std::string &text, size_t *pos, const ParseContext &context, SrcLoc origin);
CALO_EXPORT Stmt parse_stmt(const std::string &text, SrcLoc origin = {});
CALO_EXPORT Program parse_program(const std::string &text, SrcLoc origin = {});

}  // namespace calotype::ir
