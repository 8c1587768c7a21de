// The table of rewrite rules, as data: every row is matched by one small matcher (rules.cpp) and each has a proof in
// test/unit/analysis/rules_test.cpp (Z3, or all 8-bit values).
//
// Patterns are text. x y z w: expressions of one type T (the same letter twice: equal expressions). p q r: conditions.
// c0 c1 c2: integer constants of T. n m: lanes. Integers: constants of T; tmin, tmax: T's limits. Operators and calls:
// + - * / % < <= == != && || !, min max select ramp broadcast. On the right and in `when`, arithmetic on constants is
// computed, wrapping to T; `when` compares constants as mathematical integers and may be empty.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../ir/nodes.h"

namespace calotype::analysis {

/// The types T that a rule is for. Integer: both below and every other integer type; these rules must survive wrapping.
enum class RuleTypes : uint8_t { Index, Unsigned, Integer, Bool, Any };

struct Rule {
  const char *name;
  const char *from;
  const char *to;
  const char *when;
  RuleTypes types;
};

/// A parsed pattern.
struct Pattern {
  enum class Kind : uint8_t { Any, Condition, Constant, Lanes, Literal, Limit, Node };
  Kind kind = Kind::Any;
  int id = 0;  ///< Any, Condition, Constant, Lanes: which; Limit: 0 tmin, 1 tmax; Node: arity
  int64_t value = 0;     ///< Literal
  bool is_bool = false;  ///< Literal: true or false
  ir::NodeKind node = ir::NodeKind::Add;
  std::vector<Pattern> args;
};
/// Throws InternalError on text that is no pattern. Comparisons in `when` may use > and >= too.
Pattern parse_pattern(const std::string &text);

struct CompiledRule {
  const Rule *rule;
  Pattern from, to, when;
  bool has_when;
};
/// All rules: rules_arith.cpp, rules_logic.cpp, rules_vector.cpp.
const std::vector<CompiledRule> &all_rules();
/// The right side of the first rule that matches, or undefined. Sub-expressions of `e` must be interned.
Expr apply_first_rule(const Expr &e, const Rule **used = nullptr);
/// The same for one rule.
Expr apply_rule(const CompiledRule &rule, const Expr &e);
bool rule_is_for(RuleTypes types, Type t);

extern const std::vector<Rule> kArithRules, kLogicRules, kVectorRules;

}  // namespace calotype::analysis
