// Rewrite rules on ramps and broadcasts. Lane-wise operations on broadcasts only are hoisted by code
// (simplify_vector.cpp), and index types merge ramps through linear forms; these rows serve the rest.
#include "rules.h"

namespace calotype::analysis {

const std::vector<Rule> kVectorRules = {
    // name, from, to, when, types
    {"ramp without stride", "ramp(x, 0, n)", "broadcast(x, n)", "", RuleTypes::Integer},
    {"broadcast twice", "broadcast(broadcast(x, n), m)", "broadcast(x, n * m)", "", RuleTypes::Any},
    {"ramp plus broadcast", "ramp(x, y, n) + broadcast(z, n)", "ramp(x + z, y, n)", "",
     RuleTypes::Integer},
    {"broadcast plus ramp", "broadcast(z, n) + ramp(x, y, n)", "ramp(x + z, y, n)", "",
     RuleTypes::Integer},
    {"ramp minus broadcast", "ramp(x, y, n) - broadcast(z, n)", "ramp(x - z, y, n)", "",
     RuleTypes::Integer},
    {"ramp plus ramp", "ramp(x, y, n) + ramp(z, w, n)", "ramp(x + z, y + w, n)", "",
     RuleTypes::Integer},
    {"ramp minus ramp", "ramp(x, y, n) - ramp(z, w, n)", "ramp(x - z, y - w, n)", "",
     RuleTypes::Integer},
    {"ramp times broadcast", "ramp(x, y, n) * broadcast(z, n)", "ramp(x * z, y * z, n)", "",
     RuleTypes::Integer},
};

}  // namespace calotype::analysis
