// A Program as Funcs of the language, and a schedule as calls on them: what a user who writes C++ would have said.
#pragma once

#include <string>

#include "base/target.h"
#include "ir/function.h"
#include "schedule/directive.h"

namespace calotype::test {

struct CalledSchedule {
  bool sayable =
      true;  ///< false: no C++ call can say this (globs, other Funcs, texts that are no number)
  std::string thrown_code, thrown_what, thrown_why;  ///< of the first mistake; empty: legal
};

/// Says the schedule by calls and applies it. Each call happens where its directive stands.
CalledSchedule call_schedule(const ir::Program &p, const schedule::Schedule &s, const Target &t);

/// How the two disagree about one schedule, or empty: the code, text and reasons of the first mistake.
std::string calls_differ_from_text(const ir::Program &p, const std::string &schedule,
                                   const Target &t);

}  // namespace calotype::test
