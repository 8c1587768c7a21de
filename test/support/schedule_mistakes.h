// Directives that are wrong on purpose, with the codes they may get.
#pragma once

#include <set>
#include <string>

#include "ir/function.h"
#include "random_program.h"

namespace calotype::test {

struct ScheduleMistake {
  std::string line;
  std::set<std::string> codes;  ///< one of these, unless it happens to be legal
  bool always = true;           ///< wrong in every program
};

/// One directive more for a schedule of `p`.
ScheduleMistake random_mistake(const ir::Program &p, Dice &dice);

}  // namespace calotype::test
