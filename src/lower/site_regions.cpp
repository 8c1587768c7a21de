// Regions at sites, and the sliding windows they allow (see site_regions.h).
#include "site_regions.h"

#include "../analysis/bounds.h"
#include "../analysis/linear.h"
#include "extern_stages.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using schedule::LoopNode;
using namespace ir;

namespace {

// a >= b for all iterations of the open loops?
bool at_least(const LoopContext &c, const Expr &a, const Expr &b) {
  Expr diff = simplify(make_sub(c.symbols.expand(a), c.symbols.expand(b)));
  int64_t low;
  return analysis::constant_lower_bound(diff, c.loop_ranges(), &low) && low >= 0;
}

// Intersects what one iteration needs with what is stored: both contain the truth, so their intersection does.
void clamp_to_storage(const LoopContext &c, Interval &range, const Interval &stored) {
  if (!at_least(c, range.min, stored.min)) range.min = simplify(make_max(range.min, stored.min));
  if (!at_least(c, stored.max, range.max)) range.max = simplify(make_min(range.max, stored.max));
}

// Emits the lets of one stage variable and turns `range` into the symbols.
void define_range(LoopContext &c, const Function &f, int stage, Name v, Interval &range,
                  const Slide *slide, std::vector<Let> &lets,
                  std::unordered_map<Name, Expr> &maxes) {
  Name min_name = StageLoops::min_symbol(f.name, stage, v),
       max_name = StageLoops::max_symbol(f.name, stage, v);
  c.symbols.define(min_name, range.min);
  c.symbols.define(max_name, range.max);
  if (slide) range = slide->rest(range);
  lets.push_back({min_name, range.min});
  Expr min = make_var(min_name);
  int64_t difference;
  if (!slide && analysis::constant_difference(range.max, range.min, &difference)) {
    Expr max = simplify(make_add(min, c32(difference)));
    maxes[v] = max;
    range = {min, max, {}};
  } else {
    lets.push_back({max_name, range.max});
    range = {min, make_var(max_name), {}};
  }
}

Slide plan_slide_here(LoopContext &c, const Function &f, const FuncRegion &r, OpenStore &store) {
  SlideQuestion q;
  q.func = &f;
  for (const Interval &i : r.required)
    q.region.push_back({c.symbols.expand(i.min), c.symbols.expand(i.max), {}});
  for (const Interval &i : r.stored)
    q.stored.push_back({c.symbols.expand(i.min), c.symbols.expand(i.max), {}});
  if (f.extern_stage() || asks_c_function(q.region)) {
    Slide none;
    none.report = f.extern_stage() ? "no: a C function computes what it is asked for"
                                   : "no: a C function decides what it needs";
    none.needs.resize(q.region.size());
    none.no_ring.assign(q.region.size(), "a C function touches it");
    store.agree_on_fold(none);
    return none;
  }
  for (size_t i = store.depth; i < c.loops.size(); i++) {
    q.loops.push_back({c.loops[i].name, c.loops[i].kind, c.loops[i].min, c.loops[i].extent});
  }
  const std::vector<Name> &order = c.state.of(f.name).storage_order;
  if (!f.args.empty()) q.innermost_storage = order.empty() ? f.args[0] : order[0];
  for (Name a : f.args) {
    Expr slack = c32(0);
    for (const schedule::StageState *v : schedule::variants_of(c.state.of(f.name).stages[0])) {
      Expr other = StageLoops(f, 0, *v, TailMode::Shift, {}).rounding_slack(a);
      slack = is_const_zero(slack) ? other : make_max(slack, other);
    }
    q.rounding_slack.push_back(simplify(slack));
  }
  Slide s = plan_slide(q);
  store.agree_on_fold(s);
  if (s.dim >= 0) {
    c.loops[store.depth + s.first_loop].marks.push_back(s.mark);
    c.cx.storage[f.name].folds = s.fold_report;
  }
  return s;
}

}  // namespace

void find_regions(LoopContext &c, const LoopNode &parent, RegionFinder::Site &site,
                  const std::unordered_map<Name, Box> &given, SiteRegions &here) {
  std::vector<Let> &lets = here.lets;
  auto &marks = here.marks;
  auto &constant_max = here.constant_max;
  site.below.clear();
  for (const auto &child : parent.children) site.below.push_back(child.get());
  site.on_produced_here = [&](const Function &f, FuncRegion &r) {
    check_bounded(f, r.required, "its readers need");
    auto store = c.stores.find(f.name);
    bool outer_store = store != c.stores.end();
    Slide slide;
    if (outer_store) {
      slide = plan_slide_here(c, f, r, store->second);
      c.cx.storage[f.name].slides = slide.report;
    }
    auto &maxes = constant_max[f.name];
    maxes.assign(f.stages(), {});
    for (int k = 0; k < f.stages(); k++) {
      const Definition &d = f.definitions[k];
      for (size_t i = 0; i < f.args.size(); i++) {
        Name v = pure_arg(f, d, i);
        if (v.empty()) continue;
        Interval &range = r.stage_ranges[k][v];
        bool slid = slide.dim == static_cast<int>(i);
        if (outer_store) clamp_to_storage(c, range, store->second.bounds[i]);
        define_range(c, f, k, v, range, slid ? &slide : nullptr, lets, maxes[k]);
      }
      for (const ReductionVariable &rv : d.rvars) {
        define_range(c, f, k, rv.var, r.stage_ranges[k][rv.var], nullptr, lets, maxes[k]);
      }
    }
    if (slide.dim >= 0) {
      marks[f.name] = slide.mark;
      c.slides[f.name] = slide;
    }
  };
  site.on_extern = [&](const Function &f, const FuncRegion &r) {
    return query_extern(c, f, r, site.root, lets);
  };
  RegionFinder::Result found = c.regions.at(site, given);
  for (auto &[name, region] : found.funcs) here.found.funcs.emplace(name, std::move(region));
  for (auto &[name, box] : found.inputs) here.found.inputs.emplace(name, std::move(box));
}

}  // namespace calotype::lower
