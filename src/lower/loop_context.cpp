// Bookkeeping of the builder of loops (see loop_context.h).
#include "loop_context.h"

#include <algorithm>

#include "../base/diagnostic.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using schedule::StageRef;
using namespace ir;

Stmt with_lets(const std::vector<Let> &lets, Stmt body) {
  for (size_t i = lets.size(); i-- > 0;) body = make_let_stmt(lets[i].name, lets[i].value, body);
  return body;
}

Interval OpenLoop::range() const {
  return {min, simplify(make_sub(make_add(min, extent), c32(1))), {}};
}

void OpenStore::agree_on_fold(const Slide &s) {
  const int dim = s.dim >= 0 && s.fold_factor > 0 ? s.dim : -1;
  if (s.dim >= 0) {
    walk_dim = s.dim;
    walk_down = s.down;
  }
  if (!planned) {
    fold_dim = dim;
    fold_factor = s.fold_factor;
    needs = s.needs;
    no_ring = s.no_ring;
    planned = true;
    return;
  }
  if (dim != fold_dim) {
    fold_dim = -1;
  } else {
    fold_factor = std::max(fold_factor, s.fold_factor);
  }
  for (size_t d = 0; d < needs.size(); d++) {
    if (no_ring[d].empty()) no_ring[d] = s.no_ring[d];
    needs[d] = needs[d] > 0 && s.needs[d] > 0 ? std::max(needs[d], s.needs[d]) : 0;
  }
}

void RegionSymbols::define(Name symbol, const Expr &e) {
  Expr meaning = expand(e);
  Expr &at = meaning_[symbol];
  log_.emplace_back(symbol, at);
  at = meaning;
}

void RegionSymbols::forget(size_t down_to) {
  for (; log_.size() > down_to; log_.pop_back()) {
    auto &[symbol, before] = log_.back();
    if (before.defined()) {
      meaning_[symbol] = before;
    } else {
      meaning_.erase(symbol);
    }
  }
}

Expr RegionSymbols::expand(const Expr &e) const {
  Expr r = e;
  for (int round = 0; round < 64; round++) {
    Substitution map;
    for (Name n : free_vars(r)) {
      auto it = meaning_.find(n);
      if (it != meaning_.end()) map[n] = it->second;
    }
    if (map.empty()) break;
    r = simplify(substitute(map, r));
  }
  return r;
}

Box RegionSymbols::expand(Box box) const {
  for (Interval &i : box) {
    if (i.min.defined()) i.min = expand(i.min);
    if (i.max.defined()) i.max = expand(i.max);
  }
  return box;
}

OpenStage &LoopContext::open_of(const StageRef &s) const {
  for (size_t i = stages.size(); i-- > 0;) {
    OpenStage &open = *stages[i];
    if (open.stage.func == s.func && open.stage.stage == s.stage) return open;
  }
  CALO_ASSERT(false, "a loop outside of its stage");
  return *stages.back();
}

Scope<Interval> LoopContext::loop_ranges() const {
  Scope<Interval> scope;
  for (const OpenLoop &l : loops) scope.push(l.name, l.range());
  return scope;
}

void check_bounded(const Function &f, const Box &region, const std::string &who) {
  for (size_t d = 0; d < region.size(); d++) {
    const Interval &i = region[d];
    if (i.bounded()) continue;
    Diagnostic diag("B0101", f.loc,
                    "the region of " + f.name + " that " + who + " is unbounded in dimension " +
                        std::to_string(d) + " (" + f.args[d] + ")");
    if (!i.unbounded_because.empty()) diag.why.push_back({i.unbounded_because, {}});
    diag.help.push_back("clamp the index, or bound() the dimension");
    raise(std::move(diag));
  }
}

Stmt with_marks(const std::vector<Name> &marks, Stmt s) {
  for (Name mark : marks) {
    Stmt init = make_store(mark, c32(kNoMark), c32(0));
    s = make_allocate(mark, Int(32), MemoryType::Stack, {c32(1)}, {}, make_block(init, s));
  }
  return s;
}

}  // namespace calotype::lower
