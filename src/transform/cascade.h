// One-pass cascades of reductions: what `online()` needs to know about an algorithm, as data.
//
// A cascade is a chain of reductions over one domain where later ones use the results of earlier ones: a row maximum,
// the sum of exp(x - maximum), a weighted sum. plan_online finds, by factoring the definitions, how an accumulator that
// was made with older results is brought up to newer ones (the repair), what may wait until the end, and why all that
// is legal; or refuses (S0801 to S0814). Nothing here knows of schedules. docs/online.md explains both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../base/diagnostic.h"
#include "../ir/function.h"

namespace calotype::transform {

enum class RepairClass {
  Independent,  ///< uses no earlier member
  Scale,        ///< the accumulator is multiplied
  Shift,        ///< max or min: something is added
  FiniteRank,   ///< several accumulators, transformed by a small matrix
};
enum class Combine { Add, Mul, Min, Max, And, Or, ArgMax, ArgMin };

/// The value of an earlier member as a member's Exprs name it: a Variable `symbol`. While the pass runs it stands for
/// the value so far, afterwards for the result.
struct Reference {
  ir::Name symbol;         ///< "M.ref"
  int member = 0;          ///< index in OnlinePlan::members
  int value = 0;           ///< index in Member::values
  std::vector<Expr> args;  ///< coordinates, in the referring member's Vars
  Type type;
};

/// A point that accumulators are relative to. Before a block is added its old value is exchanged for the new one.
struct Center {
  ir::Name before, now;  ///< Variables: "M.old", "M.new"
  Type type;
  Expr running;        ///< over references so far
  Expr last;           ///< over final references
  int reference = -1;  ///< index in Member::references if running and last are that reference alone
};

/// One running value. All Exprs are over the member's Vars.
struct Accumulator {
  ir::Name symbol;  ///< "O.acc"
  Type type;
  Expr identity;
  Expr term;  ///< of one point of the domain; centers: `now`
  Expr
      repair;  ///< the accumulator for the centers `now`, given all of them (by symbol) for `before`
};

struct Member {
  ir::Name func;
  int stage = 1;
  int value_index = 0;  ///< of an elementwise Tuple; 0 else
  bool counts = false;  ///< not a Func of the program: how many points the domain had so far
  SrcLoc loc;
  std::vector<ir::Name> args;
  Combine combine = Combine::Add;
  RepairClass repair_class = RepairClass::Independent;
  Expr predicate;             ///< of the domain, in this member's Vars; undefined: always
  std::vector<Expr> written;  ///< the term as written: over rvars, Vars and references
  std::vector<Expr> init;     ///< per value; undefined where it is the identity
  std::vector<Reference> references;
  std::vector<Center> centers;
  std::vector<Accumulator> accumulators;
  std::vector<Expr> values;  ///< results: over accumulators' symbols and references
  bool repairs_at_end =
      false;             ///< accumulators need a repair to the centers' `last` before `values`
  std::string deferred;  ///< what `values` applies at the end, in words; empty: nothing
};

struct Obligation {
  std::string name;  ///< "N1" ... "N8"
  std::string evidence;
};

/// |one pass - exact| <= (per_block * blocks + per_point * points of a block + fixed) * u * (sum of |what is accumulated|, times what the result multiplies
/// it with), where u
/// is the accumulators' unit roundoff, besides what the textbook form's own terms lose.
struct NumericBound {
  double per_block = 0, per_point = 1, fixed = 0;
};

struct OnlinePlan {
  ir::Name func;  ///< the Func that carries `online`: the last member
  int stage = 1;
  ir::Name var;                              ///< the RVar blocks are cut from
  std::vector<ir::ReductionVariable> rvars;  ///< the shared domain, in the last member's names
  std::vector<Member> members;               ///< earlier before later
  std::vector<Obligation> obligations;
  NumericBound bound;
  std::vector<ir::Name> inlined;          ///< pure Funcs between the members
  std::vector<ir::Name> read_afterwards;  ///< Funcs that read earlier members' results
  const Member &last() const { return members.back(); }
};

struct OnlineRequest {
  ir::Name func;
  int stage = 1;
  ir::Name var;
  std::vector<ir::Name> members;
  SrcLoc loc;  ///< of the directive
};

struct OnlineResult {
  std::optional<OnlinePlan> plan;
  Diagnostic refusal;  ///< set if there is no plan
  explicit operator bool() const { return plan.has_value(); }
};

CALO_EXPORT OnlineResult plan_online(const ir::Program &p, const OnlineRequest &request);

/// What `explain` prints: cascade, classes, repair, what waits, obligations, bound.
CALO_EXPORT std::string certificate(const OnlinePlan &plan);

/// a (+) b for every value of an accumulator list (argmax: all of them at once; the left one came first).
CALO_EXPORT std::vector<Expr> combine(const Member &m, const std::vector<Expr> &left,
                                      const std::vector<Expr> &right);
CALO_EXPORT const char *to_string(Combine c);
CALO_EXPORT const char *to_string(RepairClass c);

}  // namespace calotype::transform
