// bounds_of_expr: the scope's variables become variables of a Bounder, under names that their ends cannot mention.
#include "bounds.h"

#include "../ir/visit.h"
#include "bounder.h"

namespace calotype::analysis {

Interval bounds_of_expr(const Expr &e, const ir::Scope<Interval> &scope, const FuncValues *values) {
  if (!e.defined()) return Interval::everything("an undefined expression");
  Bounder bounder(values);
  ir::Substitution renamed;
  for (ir::Name n : ir::free_vars(e)) {
    const Interval *range = scope.find(n);
    if (!range) continue;
    ir::Name inner(n + "~");
    bounder.push(inner, *range);
    renamed[n] = ir::make_var(inner, range->has_lower()   ? range->min.type()
                                     : range->has_upper() ? range->max.type()
                                                          : Int(32));
  }
  return bounder.of(renamed.empty() ? e : ir::substitute(renamed, e));
}

}  // namespace calotype::analysis
