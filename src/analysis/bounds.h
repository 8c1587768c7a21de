// Bounds of expressions and of the regions that code touches.
#pragma once

#include <unordered_map>

#include "func_values.h"
#include "interval.h"

namespace calotype::analysis {

/// An interval that contains every value `e` takes while variables in `scope` range over theirs (their ends may use
/// variables outside the scope; those count as fixed symbols). Tight for affine expressions, min, max, clamp, select,
/// div and mod by constants, casts, lets; loads of narrow types are bounded by the type. Results are simplified.
/// Vector-valued e: bounds all lanes.
/// `values`: what is known of the Funcs that e calls, or null: then only their types count.
CALO_EXPORT Interval bounds_of_expr(const Expr &e, const ir::Scope<Interval> &scope,
                                    const FuncValues *values = nullptr);

/// Regions of Funcs and images that evaluating `e` may read: calls of kind Halide and Image. Conditions that guard reads
/// (select, if_then_else on affine comparisons of scope variables) narrow them where that is safe: both sides of a Select
/// are evaluated, so only if_then_else and likely/clamped indices count.
CALO_EXPORT std::unordered_map<ir::Name, Box> regions_read(const Expr &e,
                                                           const ir::Scope<Interval> &scope,
                                                           const FuncValues *values = nullptr);

/// Regions that `s` may touch before storage is flat: Provide (writes) and calls (reads). Loop variables range over
/// their loops, lets are looked through, IfThenElse conditions on loop variables narrow.
CALO_EXPORT std::unordered_map<ir::Name, Box> regions_touched(const ir::Stmt &s,
                                                              const ir::Scope<Interval> &scope,
                                                              bool reads = true,
                                                              bool writes = true);
/// The region of one Func or image only.
CALO_EXPORT Box region_touched(const ir::Stmt &s, ir::Name func, const ir::Scope<Interval> &scope,
                               bool reads = true, bool writes = true);

/// Constant bounds by types and literals alone, quick. `vars`: known constant ranges.
CALO_EXPORT ConstInterval const_bounds(const Expr &e, const ir::Scope<ConstInterval> &vars = {});

}  // namespace calotype::analysis
