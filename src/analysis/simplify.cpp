// The simplifier's entry points.
#include "simplify.h"

#include <algorithm>

#include "../base/diagnostic.h"

#include "bounds.h"
#include "simplifier.h"

namespace calotype::analysis {

namespace {
const Facts kNoFacts;
constexpr size_t kMostRemembered = 1 << 18;  // nodes; then it starts anew
thread_local Simplifier *remembering = nullptr;
}  // namespace

SimplifyScope::SimplifyScope() : before_(remembering) { remembering = new Simplifier(kNoFacts); }

SimplifyScope::~SimplifyScope() {
  delete remembering;
  remembering = before_;
}

Expr simplify(const Expr &e) {
  if (!e.defined()) return e;
  if (!remembering) return Simplifier(kNoFacts).mutate(e);
  if (remembering->size() > kMostRemembered) {
    delete std::exchange(remembering, nullptr);
    remembering = new Simplifier(kNoFacts);
  }
  return remembering->simplify(e);
}

Expr simplify(const Expr &e, const Facts &facts) {
  if (!e.defined()) return e;
  return Simplifier(facts).mutate(e);
}

ir::Stmt simplify(const ir::Stmt &s, const Facts &facts) {
  if (!s.defined()) return s;
  return Simplifier(facts).mutate(s);
}

bool can_prove(const Expr &condition, const Facts &facts) {
  CALO_ASSERT(condition.defined() && condition.type().is_bool());
  return Simplifier(facts).prove(condition);
}

bool constant_upper_bound(const Expr &e, const ir::Scope<Interval> &scope, int64_t *bound,
                          const Facts &facts) {
  Simplifier s(facts);
  std::optional<int64_t> direct = s.upper_bound(e);
  Interval i = bounds_of_expr(e, scope);
  std::optional<int64_t> outer = i.has_upper() ? s.upper_bound(i.max) : std::nullopt;
  if (!direct && !outer) return false;
  *bound = !direct ? *outer : !outer ? *direct : std::min(*direct, *outer);
  return true;
}

bool constant_lower_bound(const Expr &e, const ir::Scope<Interval> &scope, int64_t *bound,
                          const Facts &facts) {
  Simplifier s(facts);
  std::optional<int64_t> direct = s.lower_bound(e);
  Interval i = bounds_of_expr(e, scope);
  std::optional<int64_t> outer = i.has_lower() ? s.lower_bound(i.min) : std::nullopt;
  if (!direct && !outer) return false;
  *bound = !direct ? *outer : !outer ? *direct : std::max(*direct, *outer);
  return true;
}

}  // namespace calotype::analysis
