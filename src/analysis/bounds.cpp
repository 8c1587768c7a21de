// Bounds of expressions. So far only what the simplifier links against: nothing is known (sound, not tight).
#include "bounds.h"

namespace calotype::analysis {

Interval bounds_of_expr(const Expr &, const ir::Scope<Interval> &) { return Interval::everything("bounds are not written yet"); }

}  // namespace calotype::analysis
