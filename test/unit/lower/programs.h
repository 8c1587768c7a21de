// Small programs for tests of lowering, as text; and what tests ask of a lowered one.
#pragma once

#include <functional>
#include <string>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "lower/pipeline.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support/run_case.h"

namespace calotype::test {

/// Three columns, then three rows, of an image; edges read beyond the output by one.
inline std::string blur_text() {
  return "program blur {\n"
         "  param in0: u16[2]\n"
         "  func bx(x, y): u16 {\n"
         "    bx(x, y) = (@in0(x - 1, y) + @in0(x, y) + @in0(x + 1, y)) / 3:u16\n"
         "  }\n"
         "  func out(x, y): u16 {\n"
         "    out(x, y) = (bx(x, y - 1) + bx(x, y) + bx(x, y + 1)) / 3:u16\n"
         "  }\n"
         "  output out\n"
         "}\n";
}

/// A program and schedule text (without its head line), lowered.
struct LoweredCase {
  ir::Program program;
  schedule::Scheduled scheduled;
  lower::PassContext context;
  lower::LoweredFunction lowered;

  LoweredCase(const std::string &text, const std::string &lines)
      : program(ir::parse_program(text)) {
    Target t = get_host_target();
    scheduled =
        schedule::apply(program, schedule::parse_schedule("calotype 1\n" + lines, "test.sched"), t);
    lowered = lower::lower(scheduled, t, context);
  }
  std::string slides(const std::string &func) const { return context.storage.at(func).slides; }
  std::string folds(const std::string &func) const { return context.storage.at(func).folds; }
};

inline CaseResult run_lines(const std::string &program, const std::string &lines,
                            const CaseSize &size, uint64_t seed = 1) {
  return run_case(ir::parse_program(program), "calotype 1\n" + lines, size, seed);
}

/// Runs one compiled case at every extent of the first dimension from 1 to `last`.
inline std::string first_difference(const std::string &program, const std::string &lines, int last,
                                    int second = 5, int min = 0) {
  ir::Program p = ir::parse_program(program);
  CompiledCase c(p, schedule::parse_schedule("calotype 1\n" + lines, "test.sched"),
                 get_host_target());
  if (c.compiled().kind != CaseResult::Same) return c.compiled().text;
  for (int n = 1; n <= last; n++) {
    CaseResult r = c.run({{min, -2, 0, 0}, {n, second, 2, 2}, 0}, static_cast<uint64_t>(n));
    if (r.kind != CaseResult::Same) return "extent " + std::to_string(n) + ": " + r.text;
  }
  return {};
}

}  // namespace calotype::test
