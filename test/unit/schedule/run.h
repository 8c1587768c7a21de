// Applies schedule text to a program; lines count from 1 behind the version line.
#pragma once

#include <string>

#include "schedule/apply.h"
#include "schedule/text.h"

namespace calotype::test {

inline Target test_target() { return Target("x86-64-linux-sse41-avx-f16c-fma-avx2"); }

/// Line n of `lines` is reported as line n + 1.
inline schedule::ScheduleState run_schedule(const ir::Program &p, const std::string &lines) {
  return schedule::apply(p, schedule::parse_schedule("calotype 1\n" + lines, "test.sched"),
                         test_target())
      .state;
}

/// "y, xo, xi!v": the loops of a stage, outermost first, with ! and a letter for those that are not serial.
inline std::string loops_of(const schedule::ScheduleState &s, const std::string &func,
                            int stage = 0) {
  std::string text;
  const auto &loops = s.of(func).stages[stage].loops;
  for (size_t i = loops.size(); i-- > 0;) {
    text += loops[i].var.str();
    if (loops[i].kind == ir::ForType::Vectorized) text += "!v";
    if (loops[i].kind == ir::ForType::Unrolled) text += "!u";
    if (loops[i].kind == ir::ForType::Parallel) text += "!p";
    if (i > 0) text += ", ";
  }
  return text;
}

}  // namespace calotype::test
