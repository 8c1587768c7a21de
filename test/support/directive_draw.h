// One random directive of a given kind, as text, likely to be legal where it is drawn for.
#pragma once

#include <string>
#include <vector>

#include "random_program.h"
#include "schedule_draft.h"

namespace calotype::test {

/// The stage, or the specialization of one, that a directive is said of.
struct Subject {
  ir::Name func;
  int stage = 0;
  std::vector<int> specializations;  ///< indices, outermost first
  std::string who;                   ///< as text: "f.update(0).specialize(n > 3)"
};
Subject subject(const ir::Name &func, int stage);
/// Its last specialization.
Subject specialized(const Subject &s, const ScheduleDraft &draft, const std::string &condition);

class DirectiveDraw {
public:
  /// `mins`, `extents`: of the outputs in one run: what bound() may promise.
  DirectiveDraw(const ScheduleDraft &draft, Dice &dice, std::vector<int> mins,
                std::vector<int> extents)
      : draft_(draft), dice_(dice), mins_(std::move(mins)), extents_(std::move(extents)) {}

  /// The line, or empty where nothing of this kind makes sense. `tail`: its name; "-": none; "?": any.
  /// `want_rvar`: about a loop of the reduction.
  std::string line(schedule::DirectiveKind kind, const Subject &s, const std::string &tail = "?",
                   bool want_rvar = false);
  /// A condition over the first output's buffer that holds at some sizes.
  std::string condition();
  /// A loop around all that reads `f`, as the arguments of compute_at; empty: none.
  std::string level(const ir::Name &f);
  std::string fresh(const std::string &base, const char *suffix);

private:
  const std::vector<schedule::Loop> &loops(const Subject &s) const;
  std::string call(const Subject &s, schedule::DirectiveKind kind, const std::string &args) const;
  std::string loop_line(schedule::DirectiveKind kind, const Subject &s, const std::string &tail,
                        bool want_rvar);
  std::string func_line(schedule::DirectiveKind kind, const Subject &s);
  std::string made_line(schedule::DirectiveKind kind, const Subject &s);
  std::string number_line(schedule::DirectiveKind kind, const Subject &s, size_t at,
                          const std::string &tail);
  std::string tile(const Subject &s, size_t at, const std::string &tail);
  std::string reorder(const Subject &s);
  std::string shared(const Subject &s);
  std::string tail_text(const Subject &s, bool reduction, const std::string &tail);
  std::string bound_line(schedule::DirectiveKind kind, const Subject &s);
  int factor();

  const ScheduleDraft &draft_;
  Dice &dice_;
  std::vector<int> mins_, extents_;
  int names_ = 0;
};

}  // namespace calotype::test
