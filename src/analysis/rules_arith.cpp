// Rewrite rules on arithmetic. Index types get most of this from linear forms; these rows serve the types that wrap,
// and nested min and max. Constants stand on the right (simplify_expr.cpp puts them there).
#include "rules.h"

namespace calotype::analysis {

const std::vector<Rule> kArithRules = {
    // name, from, to, when, types
    {"add zero", "x + 0", "x", "", RuleTypes::Integer},
    {"add constants", "(x + c0) + c1", "x + (c0 + c1)", "", RuleTypes::Integer},
    {"subtract zero", "x - 0", "x", "", RuleTypes::Integer},
    {"subtract itself", "x - x", "0", "", RuleTypes::Integer},
    {"add then subtract", "(x + y) - y", "x", "", RuleTypes::Integer},
    {"add then subtract left", "(x + y) - x", "y", "", RuleTypes::Integer},
    {"subtract then add", "(x - y) + y", "x", "", RuleTypes::Integer},
    {"multiply by zero", "x * 0", "0", "", RuleTypes::Integer},
    {"multiply by one", "x * 1", "x", "", RuleTypes::Integer},
    {"multiply constants", "(x * c0) * c1", "x * (c0 * c1)", "", RuleTypes::Integer},
    {"divide by one", "x / 1", "x", "", RuleTypes::Integer},
    {"divide zero", "0 / x", "0", "", RuleTypes::Integer},
    {"divide by zero", "x / 0", "0", "", RuleTypes::Integer},
    {"divide twice", "(x / c0) / c1", "x / (c0 * c1)", "c0 > 0 && c1 > 0 && c0 * c1 <= tmax",
     RuleTypes::Integer},
    {"remainder by one", "x % 1", "0", "", RuleTypes::Integer},
    {"remainder by zero", "x % 0", "0", "", RuleTypes::Integer},
    {"remainder of zero", "0 % x", "0", "", RuleTypes::Integer},
    {"remainder twice", "(x % c0) % c1", "x % c1", "c1 > 0 && c0 > 0 && c0 % c1 == 0",
     RuleTypes::Integer},

    {"min of one", "min(x, x)", "x", "", RuleTypes::Any},
    {"max of one", "max(x, x)", "x", "", RuleTypes::Any},
    {"min with largest", "min(x, tmax)", "x", "", RuleTypes::Integer},
    {"min with smallest", "min(x, tmin)", "tmin", "", RuleTypes::Integer},
    {"max with smallest", "max(x, tmin)", "x", "", RuleTypes::Integer},
    {"max with largest", "max(x, tmax)", "tmax", "", RuleTypes::Integer},
    {"min constants", "min(min(x, c0), c1)", "min(x, min(c0, c1))", "", RuleTypes::Integer},
    {"max constants", "max(max(x, c0), c1)", "max(x, max(c0, c1))", "", RuleTypes::Integer},
    {"min repeated", "min(min(x, y), y)", "min(x, y)", "", RuleTypes::Integer},
    {"min repeated left", "min(min(x, y), x)", "min(x, y)", "", RuleTypes::Integer},
    {"max repeated", "max(max(x, y), y)", "max(x, y)", "", RuleTypes::Integer},
    {"max repeated left", "max(max(x, y), x)", "max(x, y)", "", RuleTypes::Integer},
    {"min absorbs max", "min(max(x, y), y)", "y", "", RuleTypes::Integer},
    {"min absorbs max left", "min(max(x, y), x)", "x", "", RuleTypes::Integer},
    {"max absorbs min", "max(min(x, y), y)", "y", "", RuleTypes::Integer},
    {"max absorbs min left", "max(min(x, y), x)", "x", "", RuleTypes::Integer},
    {"max over clamped", "max(min(x, c0), c1)", "c1", "c0 <= c1", RuleTypes::Integer},
    {"min over clamped", "min(max(x, c0), c1)", "c1", "c1 <= c0", RuleTypes::Integer},
    {"clamp order", "min(max(x, c0), c1)", "max(min(x, c1), c0)", "c0 <= c1", RuleTypes::Integer},
};

}  // namespace calotype::analysis
