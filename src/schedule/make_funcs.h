// Directives that make Funcs: in, clone_in, rfactor. They rewrite the program of a Scheduled; the algorithm it came from
// stays as it was. Values stay the same, but for the rounding of a float reduction that rfactor splits.
#pragma once

#include "associative.h"
#include "replay.h"

namespace calotype::schedule {

/// Applies a directive for which makes_func() holds. Leaves `s` as it was where the answer is no. `d.made` is set.
Reason make_func(ReplayContext &cx, Scheduled &s, const Directive &d);

/// The parts of make_func.
Reason make_wrapper_or_clone(ReplayContext &cx, Scheduled &s, const Directive &d);
Reason make_partial(ReplayContext &cx, Scheduled &s, const Directive &d);
/// Applies `online`: the cascade's Funcs give way to those of its one-pass form (transform/online_rewrite.h). online.cpp
Reason make_online(ReplayContext &cx, Scheduled &s, const Directive &d);
/// S0109 if d.made is the name of something else.
Reason check_made_name(const Scheduled &s, const Directive &d);
/// Puts `f` behind the Func at `after` (-1: first) into the program.
void insert_func(Scheduled &s, int after, ir::Function f, FuncState state);
/// Every expression of a definition through `change`.
void change_definition(ir::Definition &d, const std::function<Expr(const Expr &)> &change);

}  // namespace calotype::schedule
