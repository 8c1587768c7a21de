// A schedule under construction, as text: each piece is kept only if the legality module accepts the whole with it. What
// was accepted and what was refused is recorded.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/target.h"
#include "ir/function.h"
#include "schedule/directive.h"
#include "schedule/loop_state.h"

namespace calotype::test {

/// What coverage counts: a directive, its tail ("-": none) and what kind of stage it was said of.
struct CoverageCell {
  schedule::DirectiveKind kind;
  std::string tail, stage;
};
/// "output" and "inner": pure definitions; "update": of an update, about its pure loops or all of it; "rvar": about a
/// loop of a reduction.
const std::vector<std::string> &stage_kinds();
/// The tail's name among a directive's arguments; "-": none.
std::string tail_of(const schedule::Directive &d);

/// One piece that was refused: the schedule with it, and what was said.
struct RefusedPiece {
  std::string schedule;
  std::vector<Diagnostic> said;
};

class ScheduleDraft {
public:
  ScheduleDraft(const ir::Program &p, const Target &t);

  /// Appends lines if the schedule stays legal. `reordered` refuses those that change the order of float reductions.
  bool add(const std::string &lines, bool reordered = true);

  const schedule::Scheduled &scheduled() const { return scheduled_; }
  const ir::Program &program() const { return scheduled_.program; }
  std::string text() const { return text_; }
  const std::vector<CoverageCell> &cells() const { return cells_; }
  const std::vector<RefusedPiece> &refused() const { return refused_; }

private:
  void note(const schedule::Directive &d, const schedule::Scheduled &before);

  ir::Program algorithm_;
  Target target_;
  schedule::Scheduled scheduled_;
  std::string text_ = "calotype 1\n";
  std::vector<CoverageCell> cells_;
  std::vector<RefusedPiece> refused_;
};

}  // namespace calotype::test
