// plan_online, and what every user of a plan needs: names, the merge of two lists of accumulators.
#include "cascade.h"

#include "collect.h"
#include "obligations.h"

namespace calotype::transform {

using namespace ir;

OnlineResult plan_online(const Program &p, const OnlineRequest &request) {
  OnlineResult result;
  try {
    OnlinePlan plan = collect_cascade(p, request);
    solve_cascade(p, request, plan);
    note_obligations(plan);
    result.plan = std::move(plan);
  } catch (const Refusal &r) {
    result.refusal = r.diagnostic;
    if (!result.refusal.loc.defined() && !result.refusal.why.empty())
      result.refusal.loc = result.refusal.why[0].loc;
    if (request.loc.defined()) {  // the directive is what is refused; the Func's place explains
      if (result.refusal.loc.defined() && result.refusal.code != "S0101")
        result.refusal.why.push_back({"the Func", result.refusal.loc});
      result.refusal.loc = request.loc;
    }
  }
  return result;
}

std::vector<Expr> combine(const Member &m, const std::vector<Expr> &left,
                          const std::vector<Expr> &right) {
  std::vector<Expr> r;
  if (m.combine == Combine::ArgMax || m.combine == Combine::ArgMin) {
    const size_t key = static_cast<size_t>(m.value_index);
    const Expr better = m.combine == Combine::ArgMax ? make_gt(right[key], left[key])
                                                     : make_lt(right[key], left[key]);
    for (size_t i = 0; i < left.size(); i++) r.push_back(make_select(better, right[i], left[i]));
    return r;
  }
  for (size_t i = 0; i < left.size(); i++) r.push_back(apply(m.combine, left[i], right[i]));
  return r;
}

const char *to_string(Combine c) {
  switch (c) {
    case Combine::Add: return "sum";
    case Combine::Mul: return "product";
    case Combine::Min: return "min";
    case Combine::Max: return "max";
    case Combine::And: return "and";
    case Combine::Or: return "or";
    case Combine::ArgMax: return "argmax";
    case Combine::ArgMin: return "argmin";
  }
  return "";
}

const char *to_string(RepairClass c) {
  switch (c) {
    case RepairClass::Independent: return "independent";
    case RepairClass::Scale: return "scale";
    case RepairClass::Shift: return "shift";
    case RepairClass::FiniteRank: return "finite rank";
  }
  return "";
}

}  // namespace calotype::transform
