// Required regions (see infer_bounds.h).
#include "infer_bounds.h"

#include <algorithm>

#include "../analysis/linear.h"
#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using ir::Name;
using schedule::LoopNode;

ir::Scope<Interval> scope_of(const VarRanges &ranges) {
  ir::Scope<Interval> scope;
  for (auto &[name, interval] : ranges) scope.push(name, interval);
  return scope;
}

Name pure_arg(const ir::Function &f, const ir::Definition &d, size_t dim) {
  const ir::Variable *v = d.args[dim].as<ir::Variable>();
  return v && !v->param && v->name == f.args[dim] ? v->name : Name();
}

namespace {

void collect(const LoopNode &n, bool direct, std::unordered_set<Name> &produced,
             std::unordered_set<Name> &here, std::unordered_set<std::string> &stages) {
  switch (n.kind) {
    case LoopNode::Kind::Produce:
      produced.insert(n.func);
      if (direct) here.insert(n.func);
      for (const schedule::StageRef &m : n.members) {
        produced.insert(m.func);
        if (direct) here.insert(m.func);
      }
      direct = false;
      break;
    case LoopNode::Kind::Compute:
      stages.insert(n.members[0].func + "." + std::to_string(n.members[0].stage));
      break;
    case LoopNode::Kind::Branch:
    case LoopNode::Kind::Loop: direct = false; break;
    default: break;  // Store: its children belong to the same site
  }
  for (const auto &c : n.children) collect(*c, direct, produced, here, stages);
}

Interval simplified(const Interval &i) {
  Interval r = i;
  if (r.min.defined()) r.min = simplify(r.min);
  if (r.max.defined()) r.max = r.max.same_as(i.min) ? r.min : simplify(r.max);
  return r;
}

void merge_into(std::unordered_map<Name, Box> &into, Name name, const Box &box) {
  auto it = into.find(name);
  if (it == into.end()) {
    into[name] = box;
  } else {
    analysis::merge(it->second, box);
    for (Interval &i : it->second) i = simplified(i);
  }
}

}  // namespace

void RegionFinder::add_reads(const ir::Function &f, int stage, const VarRanges &ranges,
                             std::unordered_map<Name, Box> &into) const {
  if (f.extern_stage()) return;  // on_extern
  const ir::Definition &d = f.definitions[stage];
  ir::Scope<Interval> scope = scope_of(ranges);
  auto reads = [&](const Expr &e) {
    if (!e.defined()) return;
    for (auto &[name, box] : analysis::regions_read(e, scope, &values_))
      merge_into(into, name, box);
  };
  for (const Expr &e : d.args) reads(e);
  for (const Expr &e : d.values) reads(e);
  for (const ir::ReductionVariable &r : d.rvars) {
    reads(r.min);
    reads(r.extent);
  }
  reads(d.predicate);
}

// bound() fixes a range, align_bounds() widens it. `here`: this very range; else it is the hull of ranges further down,
// each of which is widened where it is computed: those that keep their own min may end that much later.
void RegionFinder::apply_bounds(const ir::Function &f, bool here, Box &box) const {
  auto one = ir::make_int(Int(32), 1);
  for (const schedule::Bound &b : state_.of(f.name).bounds) {
    size_t d = std::find(f.args.begin(), f.args.end(), b.var) - f.args.begin();
    if (d >= box.size()) continue;
    Interval &i = box[d];
    if (b.extent.defined()) {
      if (b.min.defined()) i.min = b.min;
      const Expr start = here || b.min.defined() ? i.min : i.max;
      i.max = simplify(ir::make_sub(ir::make_add(start, b.extent), one));
    }
    if (b.modulus.defined()) {
      Expr m = b.modulus;
      if (!b.align_extent_only) {
        Expr r = b.remainder.defined() ? b.remainder : ir::make_int(Int(32), 0);
        i.min = simplify(ir::make_add(ir::make_mul(ir::make_div(ir::make_sub(i.min, r), m), m), r));
      }
      if (!here && b.align_extent_only) {
        i.max = simplify(ir::make_add(i.max, ir::make_sub(m, one)));
        continue;
      }
      Expr e = ir::make_add(ir::make_sub(i.max, i.min), m);  // extent - 1 + m: rounds up
      i.max = simplify(ir::make_sub(ir::make_add(i.min, ir::make_mul(ir::make_div(e, m), m)), one));
    }
  }
}

// What a scan's update writes needs no value before.
void RegionFinder::start_scan(const ir::Function &f, VarRanges &ranges) const {
  const schedule::Scan &scan = state_.of(f.name).scan;
  if (!scan.defined()) return;
  const Expr first = ir::make_int(Int(32), -1);
  ranges[scan.dim] = {first, first, {}};
}

FuncRegion RegionFinder::region_of(const ir::Function &f, bool here, const Box &required) const {
  FuncRegion r;
  r.read = r.required = required;
  apply_bounds(f, here, r.required);
  r.stage_ranges.resize(f.stages());
  r.stored = r.required;
  Box needed =
      r.required;  // of the values that stage k must leave: what readers and later stages read
  for (int k = f.stages() - 1; k >= 0; k--) {
    const ir::Definition &d = f.definitions[k];
    VarRanges &ranges = r.stage_ranges[k];
    for (size_t i = 0; i < f.args.size(); i++) {
      Name v = pure_arg(f, d, i);
      if (!v.empty()) ranges[v] = needed[i];
    }
    if (k == 0) start_scan(f, ranges);
    for (const ir::ReductionVariable &rv : d.rvars) {
      Expr last = simplify(ir::make_sub(ir::make_add(rv.min, rv.extent), ir::make_int(Int(32), 1)));
      ranges[rv.var] = Interval{simplify(rv.min), last, {}};
    }
    if (k == 0) {
      analysis::merge(r.stored, needed);
      break;
    }
    ir::Scope<Interval> scope = scope_of(ranges);
    Box written(f.args.size());
    for (size_t i = 0; i < f.args.size(); i++)
      written[i] = analysis::bounds_of_expr(d.args[i], scope, &values_);
    analysis::merge(r.stored, written);
    std::unordered_map<Name, Box> reads;
    add_reads(f, k, ranges, reads);
    auto self = reads.find(f.name);
    if (self != reads.end()) analysis::merge(needed, self->second);
    for (Interval &i : needed) i = simplified(i);
  }
  for (Interval &i : r.stored) i = simplified(i);
  return r;
}

// Rounding tails of the pure stage compute, and so read, more: those of a specialization where its condition holds.
void RegionFinder::round_ranges(const ir::Function &f, bool here, VarRanges &ranges,
                                Box &stored) const {
  std::vector<Expr> rounded(f.args.size());
  for (const schedule::StageState *v : schedule::variants_of(state_.of(f.name).stages[0])) {
    StageLoops loops(f, 0, *v, TailMode::Shift, {});
    for (size_t d = 0; d < f.args.size(); d++) {
      const Interval &range = ranges.at(f.args[d]);
      const Expr slack = loops.rounding_slack(f.args[d]);
      if (ir::is_const_zero(slack)) continue;
      Expr max;
      if (here) {  // this very range
        ir::Substitution symbols{{StageLoops::min_symbol(f.name, 0, f.args[d]), range.min},
                                 {StageLoops::max_symbol(f.name, 0, f.args[d]), range.max}};
        max = ir::substitute(symbols, loops.range(f.args[d], {}).max);
      } else {  // computed deeper: a part of it that ends anywhere
        max = ir::make_add(range.max, slack);
      }
      for (const Expr &c : v->assumed) max = ir::make_select(c, max, range.max);
      rounded[d] = rounded[d].defined() ? ir::make_max(rounded[d], max) : max;
    }
  }
  for (size_t d = 0; d < f.args.size(); d++) {
    if (!rounded[d].defined()) continue;
    Interval &range = ranges.at(f.args[d]);
    range.max = simplify(rounded[d]);
    stored[d].max = simplify(ir::make_max(stored[d].max, range.max));
  }
}

RegionFinder::Result RegionFinder::at(const Site &site,
                                      const std::unordered_map<Name, Box> &given) const {
  std::unordered_set<Name> produced, here;
  std::unordered_set<std::string> stages;
  for (const LoopNode *n : site.below) collect(*n, true, produced, here, stages);

  Result result;
  std::unordered_map<Name, Box> reads = given;
  for (const Owner &o : site.owners) {
    if (stages.count(o.stage.func + "." + std::to_string(o.stage.stage)))
      add_reads(*program_.find(o.stage.func), o.stage.stage, o.ranges, reads);
  }
  for (size_t i = program_.funcs.size(); i-- > 0;) {
    const ir::Function &f = program_.funcs[i];
    if (!produced.count(f.name)) continue;
    auto it = reads.find(f.name);
    if (it == reads.end()) continue;  // nothing below reads it
    FuncRegion region = region_of(f, here.count(f.name) > 0, it->second);
    if (here.count(f.name) && site.on_produced_here) site.on_produced_here(f, region);
    for (int k = 0; k < f.stages(); k++) {
      VarRanges ranges = region.stage_ranges[k];
      if (k == 0) round_ranges(f, here.count(f.name) > 0, ranges, region.stored);
      add_reads(f, k, ranges, reads);
    }
    if (f.extern_stage() && site.on_extern) {
      for (auto &[name, box] : site.on_extern(f, region)) merge_into(reads, name, box);
    }
    result.funcs[f.name] = std::move(region);
  }
  for (auto &[name, box] : reads) {
    if (!program_.find(name)) result.inputs[name] = box;
  }
  return result;
}

}  // namespace calotype::lower
