// See refusals.h.
#include "refusals.h"

#include <map>
#include <set>

#include "runtime/HalideRuntime.h"
#include "schedule/directive.h"
#include "schedule/text.h"
#include "schedule_draft.h"

namespace calotype::test {

using schedule::Directive;
using schedule::DirectiveKind;
using Codes = std::set<std::string>;

namespace {

// Of every directive: names that mean nothing, arguments of the wrong kind, no such update.
const Codes kCommon = {"S0101", "S0103", "S0105", "S0106", "S0108"};
// Of every directive about loops: what they do to one another, limits, what may be computed inside.
const Codes kLoops = {"S0002", "S0104", "S0107", "S0111", "S0112",
                      "S0117", "S0124", "S0133", "S0134"};
const Codes kFactors = {"S0110", "S0113"};
const Codes kNames = {"S0109", "S0114"};
const Codes kStorage = {"S0110", "S0115", "S0117", "S0130", "S0131", "S0132"};

Codes operator+(Codes a, const Codes &b) {
  a.insert(b.begin(), b.end());
  return a;
}

Codes codes_of(DirectiveKind k) {
  switch (k) {
    case DirectiveKind::split:
    case DirectiveKind::tile: return kLoops + kFactors + kNames;
    case DirectiveKind::vectorize:
    case DirectiveKind::unroll:
    case DirectiveKind::parallel: return kLoops + kFactors + kNames;
    case DirectiveKind::fuse:
    case DirectiveKind::rename: return kLoops + kNames;
    case DirectiveKind::reorder: return kLoops + Codes{"S0114"};
    case DirectiveKind::serial: return kLoops;
    case DirectiveKind::compute_root:
    case DirectiveKind::compute_inline: return {"S0104", "S0118"};
    case DirectiveKind::compute_at: return {"S0104", "S0107"};
    case DirectiveKind::store_at:
    case DirectiveKind::store_root: return {"S0104", "S0107", "S0115"};
    case DirectiveKind::hoist_storage:
    case DirectiveKind::hoist_storage_root: return {"S0104", "S0107", "S0115", "S0131"};
    case DirectiveKind::bound:
    case DirectiveKind::bound_extent:
    case DirectiveKind::align_bounds:
    case DirectiveKind::align_extent: return {"S0110", "S0116", "S0117"};
    case DirectiveKind::reorder_storage: return {"S0114"};
    case DirectiveKind::store_in:
    case DirectiveKind::fold_storage:
    case DirectiveKind::align_storage:
    case DirectiveKind::bound_storage: return kStorage;
    case DirectiveKind::in:
    case DirectiveKind::clone_in: return {"S0109", "S0114", "S0121"};
    case DirectiveKind::rfactor:
      return {"S0109", "S0111", "S0114", "S0117", "S0122", "S0123", "S0134"};
    case DirectiveKind::atomic:
    case DirectiveKind::allow_race_conditions: return {"S0124", "S0134"};
    case DirectiveKind::specialize: return {"S0104", "S0110", "S0133", "S0134"};
    case DirectiveKind::specialize_fail: return {"S0117", "S0133", "S0134"};
    case DirectiveKind::compute_with: return {"S0117", "S0133", "S0134", "S0104"};
    case DirectiveKind::partition:
    case DirectiveKind::never_partition:
    case DirectiveKind::never_partition_all:
    case DirectiveKind::always_partition:
    case DirectiveKind::always_partition_all: return {"S0117", "S0134"};
    case DirectiveKind::memoize: return {"S0115", "S0133"};
    case DirectiveKind::trace_loads:
    case DirectiveKind::trace_stores:
    case DirectiveKind::trace_realizations:
    case DirectiveKind::add_trace_tag: return {};
    default: return schedule::needs_device(k) ? Codes{"S0130"} : Codes{"S0901"};
  }
}

bool same(const SrcLoc &a, const SrcLoc &b) {
  return a.line == b.line && a.column == b.column && a.line > 0;
}
bool is_at(const schedule::Arg &a, const SrcLoc &loc) {
  if (same(a.loc, loc) || same(a.func_loc, loc)) return true;
  for (const schedule::Arg &item : a.items) {
    if (is_at(item, loc)) return true;
  }
  return false;
}
bool is_at(const Directive &d, const SrcLoc &loc) {
  if (same(d.loc, loc) || same(d.func_loc, loc) || same(d.use_loc, loc) || same(d.made_loc, loc))
    return true;
  for (const schedule::Arg &a : d.args) {
    if (is_at(a, loc)) return true;
  }
  return false;
}

std::string unexplained(const schedule::Schedule &s, const Diagnostic &d) {
  if (d.severity == Severity::Internal || d.code[0] == 'X') return "internal error";
  // A region without bounds is the algorithm's and the whole schedule's.
  if (d.code == "B0101" || d.code == "S0118") return "";
  if (d.code[0] != 'S') return "not a refusal of a schedule";
  if (!d.loc.defined()) return "no place";
  std::string kinds;
  for (const Directive &directive : s.directives) {
    if (!is_at(directive, d.loc)) continue;
    const Codes allowed = kCommon + codes_of(directive.kind);
    if (allowed.count(d.code)) return d.why.empty() && d.help.empty() ? "no reason, no advice" : "";
    kinds += std::string(" ") + schedule::directive_name(directive.kind);
  }
  return kinds.empty() ? "no directive at its place" : "not a code of" + kinds;
}

}  // namespace

std::string unexplained_refusal(const std::string &schedule, const std::vector<Diagnostic> &said) {
  schedule::Schedule s;
  try {
    s = schedule::parse_schedule(schedule, "case.sched");
  } catch (const CompileError &) {
    return "";  // the text itself is wrong: the parser's own tests judge what it says
  }
  if (said.empty()) return "nothing was said";
  for (const Diagnostic &d : said) {
    const std::string why = unexplained(s, d);
    if (!why.empty()) return d.code + ": " + why;
  }
  return "";
}

bool explains_run_failure(const std::string &schedule, int code) {
  static const std::map<int, std::set<DirectiveKind>> causes = {
      {halide_error_code_explicit_bounds_too_small,
       {DirectiveKind::bound, DirectiveKind::bound_extent}},
      {halide_error_code_specialize_fail, {DirectiveKind::specialize_fail}},
      {halide_error_code_storage_bound_too_small, {DirectiveKind::bound_storage}},
      {halide_error_code_constraint_violated,
       {DirectiveKind::bound, DirectiveKind::bound_extent, DirectiveKind::align_bounds,
        DirectiveKind::align_extent}},
      // What is computed of an output is rounded up or fixed.
      {halide_error_code_access_out_of_bounds,
       {DirectiveKind::bound, DirectiveKind::bound_extent, DirectiveKind::align_bounds,
        DirectiveKind::align_extent}},
  };
  static const std::set<std::string> rounding = {"RoundUp",         "PredicateLoads",
                                                 "PredicateStores", "ShiftInwards",
                                                 "RoundUpAndBlend", "ShiftInwardsAndBlend"};
  const auto cause = causes.find(code);
  for (const Directive &d : schedule::parse_schedule(schedule, "case.sched").directives) {
    if (cause != causes.end() && cause->second.count(d.kind)) return true;
    if (code == halide_error_code_access_out_of_bounds && rounding.count(tail_of(d))) return true;
  }
  return false;
}

}  // namespace calotype::test
