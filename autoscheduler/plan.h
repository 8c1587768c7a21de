// A point of the search space: for each Func where it is computed and how its loops are cut. Becomes a schedule file.
//
// The loops of a stored Func over dimensions x, y, z.., outermost first:
//   z ..          parallel too, where `parallel`
//   y_o           strips of `strip` rows (y itself without strips); parallel
//   x_o           tiles of `tile` columns, where tiled
//   y_i           the rows of a strip, `rows` at a time
//   x (or x_i)    vectorised by `lanes`
//   y_p           `rows` rows at once, unrolled
//   z             here, unrolled, where `third` says so: colours, whose number is then promised
// Rows within a strip are where producers slide: stored per strip, computed per y_i.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "../src/schedule/directive.h"
#include "facts.h"

namespace calotype::autoscheduler {

enum class Where {
  Inline,
  Root,
  Strip,  ///< stored and computed per y_o of the anchor
  Tile,   ///< per x_o
  Row,    ///< per y_i
  Slide,  ///< stored per strip, computed per row
};

/// Where the third dimension's loop is.
enum class Third {
  Outside,   ///< of rows
  Inside,    ///< of rows, around columns
  Unrolled,  ///< innermost: at most kMostUnrolled iterations
};
constexpr int64_t kMostUnrolled = 4;

struct FuncPlan {
  Where where = Where::Inline;
  int anchor = -1;  ///< the Func in whose loops it is computed
  bool parallel = false;
  int64_t strip = 0, tile = 0, rows = 0;  ///< 0: not cut
  int lanes = 0;                          ///< 0: not vectorised
  bool unroll_rows = false;               ///< of a Func in another's tile: all its rows at once
  Third third = Third::Outside;
  bool reductions_outside = true;  ///< updates: x innermost, then the RVars
};

struct Plan {
  std::vector<FuncPlan> funcs;
};

/// The plan as directives, without head.
std::string directives_of(const Facts &facts, const Plan &plan);

/// Everything inlined or at root, vectorised and parallel.
Plan simple_plan(const Problem &p, const Facts &facts, double inline_at_most);
/// The same with stored Funcs that have one reader sliding down its strips.
Plan sliding_plan(const Problem &p, const Facts &facts, double inline_at_most);

/// Changes one decision, or those that only pay together (a register tile).
void mutate(Plan &plan, const Problem &p, const Facts &facts, std::mt19937_64 &random);

/// Changes a number (a factor, a width) of a schedule that nobody planned; false if it has none.
bool mutate_number(schedule::Schedule &s, std::mt19937_64 &random);

}  // namespace calotype::autoscheduler
