// See func_values.h. A Func's arguments and reduction variables become variables of a Bounder.
#include "func_values.h"

#include "../ir/visit.h"
#include "bounder.h"

namespace calotype::analysis {

namespace {

/// Beyond this, definitions are not looked into: the search is to stay cheap beside everything else.
constexpr size_t kMaxSize = 2000;

bool small(const Expr &e) {
  size_t n = 0;
  ir::for_each_expr(e, [&](const Expr &) { n++; });
  return n <= kMaxSize;
}

}  // namespace

Interval FuncValues::of(ir::Name func, int value_index, bool *maybe_nan) const {
  const ir::Function *f = program_.find(func);
  const auto index = static_cast<size_t>(value_index);
  if (!f || index >= f->types.size()) return Interval::everything();
  if (!known_.count(func)) {
    known_[func];  // a Func that reads itself finds nothing known
    std::vector<Range> found;
    for (size_t i = 0; i < f->types.size(); i++) found.push_back(find(*f, i));
    known_[func] = std::move(found);
  }
  const std::vector<Range> &ranges = known_[func];
  if (ranges.empty()) {
    *maybe_nan = true;
    return Interval::everything();
  }
  *maybe_nan = *maybe_nan || ranges[index].maybe_nan;
  return ranges[index].interval;
}

FuncValues::Range FuncValues::find(const ir::Function &f, size_t value_index) const {
  Range result;
  for (size_t stage = 0; stage < f.definitions.size(); stage++) {
    const ir::Definition &d = f.definitions[stage];
    const Expr &value = d.values[value_index];
    if (!small(value)) return {Interval::everything(), true};
    Bounder bounder(this);
    ir::Substitution renamed;
    for (size_t i = 0; i < f.args.size() + d.rvars.size(); i++) {
      const ir::Name n = i < f.args.size() ? f.args[i] : d.rvars[i - f.args.size()].var;
      const ir::Name inner(n + "~" + std::to_string(i));
      bounder.push(inner, Interval::everything());
      renamed[n] = ir::make_var(inner);
    }
    for (size_t i = 0; i < d.rvars.size(); i++) {
      const Expr min = ir::substitute(renamed, d.rvars[i].min);
      const Expr last = ir::make_sub(ir::make_add(min, ir::substitute(renamed, d.rvars[i].extent)),
                                     ir::make_one(min.type()));
      bounder.exchange(f.args.size() + i, {min, last, {}});
    }
    const Interval one = bounder.value(ir::substitute(renamed, value), &result.maybe_nan);
    result.interval = stage == 0 ? one : hull(result.interval, one);
    if (!result.interval.has_lower() && !result.interval.has_upper()) break;
  }
  return result;
}

}  // namespace calotype::analysis
