// One failing or passing combination of program, schedule and sizes, as text; and how it is judged.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/run_case.h"

namespace calotype::test {

struct FuzzRun {
  CaseSize size;
  uint64_t seed = 1;
  bool special_floats = false;
};

struct FuzzCase {
  std::string program;  ///< ir::to_string(Program)
  std::string schedule;
  std::vector<FuzzRun> runs;
};

struct FuzzVerdict {
  enum Kind { Pass, Refused, Fail, Slow } kind = Pass;
  std::string signature;  ///< of failures: the same failure has the same one
  std::string text = {};
  int compared_runs = 0;  ///< runs whose results were compared
  int refused_runs = 0;   ///< runs refused for a reason that the schedule or program gives
};

/// Compiles and runs the case. Refusals that the schedule explains (refusals.h) are fine; internal errors, values that
/// differ and errors without such a reason are failures.
FuzzVerdict judge(const FuzzCase &c);
/// Runs `work` in a child process and returns what it returned, or how it ended. `seconds` of processor time.
struct Apart {
  enum End { Done, Crashed, Late } end = Done;
  int signal = 0;
  std::string text;
};
Apart run_apart(const std::function<std::string()> &work, int seconds);
/// judge in a child process: crashes become verdicts, and so do compilations that take too long; a program that only
/// runs for long is Slow, no failure.
FuzzVerdict judge_apart(const FuzzCase &c, int seconds = 40);

std::string to_text(const FuzzCase &c, const std::string &remark);
FuzzCase parse_case(const std::string &text);

/// The smallest case with the same signature that dropping directives, runs, Funcs and terms leads to.
FuzzCase shrink(FuzzCase c, const std::string &signature, int seconds);

}  // namespace calotype::test
