// Applies one directive to the state of its Func, or says why not. The common core of apply.h and legality.h.
#pragma once

#include "../ir/visit.h"
#include "legality.h"
#include "order.h"

namespace calotype::schedule {

/// What replaying needs besides the state.
struct ReplayContext {
  const ir::Program &program;
  const Target &target;
  OrderCache order;
  ir::Substitution lets;  ///< values of `let` names
};
/// Leaves `s` as it was where the answer is no. `d.func` names `f`;
Reason replay(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d);

/// Limits that keep compile time bounded, whatever a schedule says.
constexpr int kMaxLoops = 64;            ///< live loops of one stage
constexpr int kMaxRelations = 256;       ///< splits, fuses, renames of one stage
constexpr int kMaxLanes = 1024;          ///< lanes of a vectorised loop
constexpr int kMaxUnrolled = 4096;       ///< copies of a stage's body
constexpr int kMaxSpecializations = 32;  ///< of one stage

/// Refusals that several files word alike.
Diagnostic no_such_loop(const std::string &what, SrcLoc loc, const std::string &name,
                        const std::string &stage, const StageState &s, bool ambiguous);
Diagnostic no_such_func(const std::string &name, const ir::Program &p, SrcLoc loc);
/// Empty if legal.
inline Reason no(Diagnostic d) {
  Reason r;
  r.legal = false;
  r.diagnostic = std::move(d);
  return r;
}

}  // namespace calotype::schedule
