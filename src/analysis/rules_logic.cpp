// Rewrite rules on conditions, select and comparisons.
#include "rules.h"

namespace calotype::analysis {

const std::vector<Rule> kLogicRules = {
    // name, from, to, when, types
    {"select of equals", "select(p, x, x)", "x", "", RuleTypes::Any},
    {"select by true", "select(true, x, y)", "x", "", RuleTypes::Any},
    {"select by false", "select(false, x, y)", "y", "", RuleTypes::Any},
    {"select by not", "select(!p, x, y)", "select(p, y, x)", "", RuleTypes::Any},
    {"select again, true", "select(p, select(p, x, y), z)", "select(p, x, z)", "", RuleTypes::Any},
    {"select again, false", "select(p, x, select(p, y, z))", "select(p, x, z)", "", RuleTypes::Any},
    {"select both true", "select(p, select(q, x, y), y)", "select(p && q, x, y)", "",
     RuleTypes::Any},
    {"select either true", "select(p, x, select(q, x, y))", "select(p || q, x, y)", "",
     RuleTypes::Any},
    {"select condition", "select(p, true, false)", "p", "", RuleTypes::Bool},
    {"select negation", "select(p, false, true)", "!p", "", RuleTypes::Bool},
    {"select and", "select(p, q, false)", "p && q", "", RuleTypes::Bool},
    {"select or", "select(p, true, q)", "p || q", "", RuleTypes::Bool},
    {"select is min", "select(x < y, x, y)", "min(x, y)", "", RuleTypes::Any},
    {"select is max", "select(x < y, y, x)", "max(y, x)", "", RuleTypes::Any},
    {"select is min or equal", "select(x <= y, x, y)", "min(x, y)", "", RuleTypes::Integer},
    {"select is max or equal", "select(x <= y, y, x)", "max(x, y)", "", RuleTypes::Integer},

    {"and nested", "(p && q) && q", "p && q", "", RuleTypes::Bool},
    {"and nested left", "(p && q) && p", "p && q", "", RuleTypes::Bool},
    {"and nested right", "p && (p && q)", "p && q", "", RuleTypes::Bool},
    {"or nested", "(p || q) || q", "p || q", "", RuleTypes::Bool},
    {"or nested left", "(p || q) || p", "p || q", "", RuleTypes::Bool},
    {"or nested right", "p || (p || q)", "p || q", "", RuleTypes::Bool},
    {"and absorbs or", "p && (p || q)", "p", "", RuleTypes::Bool},
    {"and absorbs or, right", "p && (q || p)", "p", "", RuleTypes::Bool},
    {"and absorbs or, left", "(p || q) && p", "p", "", RuleTypes::Bool},
    {"or absorbs and", "p || (p && q)", "p", "", RuleTypes::Bool},
    {"or absorbs and, right", "p || (q && p)", "p", "", RuleTypes::Bool},
    {"or absorbs and, left", "(p && q) || p", "p", "", RuleTypes::Bool},
    {"and of or with not", "p && (!p || q)", "p && q", "", RuleTypes::Bool},
    {"or of and with not", "p || (!p && q)", "p || q", "", RuleTypes::Bool},
    {"double not", "!!p", "p", "", RuleTypes::Bool},

    {"less both ways", "x < y && y < x", "false", "", RuleTypes::Integer},
    {"equal to two", "x == c0 && x == c1", "false", "c0 != c1", RuleTypes::Integer},
    {"different from two", "x != c0 || x != c1", "true", "c0 != c1", RuleTypes::Integer},
    {"equal after adding", "x + c0 == c1", "x == c1 - c0", "", RuleTypes::Integer},
    {"different after adding", "x + c0 != c1", "x != c1 - c0", "", RuleTypes::Integer},
    {"less than min", "x < min(x, y)", "false", "", RuleTypes::Integer},
    {"max less than", "max(x, y) < x", "false", "", RuleTypes::Integer},
};

}  // namespace calotype::analysis
