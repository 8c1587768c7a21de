// Internal to transform: reading a cascade off a Program, and refusing.
#pragma once

#include <string>

#include "cascade.h"
#include "factor.h"

namespace calotype::transform {

/// Thrown inside plan_online.
struct Refusal {
  Diagnostic diagnostic;
};
[[noreturn]] void refuse(const char *code, SrcLoc loc, std::string what, std::string why,
                         std::string help, SrcLoc why_at = {});

/// For messages and certificates: M.ref as M, M.old as M, M.new as M', without type suffixes.
std::string pretty(const Expr &e, size_t longest = 120);

/// Members with everything but what the repair needs (from centers on), in order; the pure Funcs between them put in.
OnlinePlan collect_cascade(const ir::Program &p, const OnlineRequest &request);

/// Finds classes, accumulators and repairs, and proves the obligations.
void solve_cascade(const ir::Program &p, const OnlineRequest &request, OnlinePlan &plan);

/// What each side of a member's Exprs is: rvars against references and centers.
Sides sides_of(const OnlinePlan &plan, const Member &m);
Expr identity_of(Combine c, Type t);
/// The operator applied to two values; not for ArgMax and ArgMin.
Expr apply(Combine c, const Expr &a, const Expr &b);

}  // namespace calotype::transform
