// See schedule_draft.h.
#include "schedule_draft.h"

#include "schedule/apply.h"
#include "schedule/text.h"

namespace calotype::test {

const std::vector<std::string> &stage_kinds() {
  static const std::vector<std::string> kinds = {"output", "inner", "update", "rvar"};
  return kinds;
}

std::string tail_of(const schedule::Directive &d) {
  TailStrategy tail;
  for (const schedule::Arg &a : d.args) {
    if (a.kind != schedule::Arg::Kind::Expr && schedule::find_tail(a.text, &tail)) return a.text;
  }
  return "-";
}

ScheduleDraft::ScheduleDraft(const ir::Program &p, const Target &t)
    : algorithm_(p), target_(t), scheduled_(schedule::apply(p, {}, t)) {}

bool ScheduleDraft::add(const std::string &lines, bool reordered) {
  const std::string whole = text_ + lines;
  try {
    const schedule::Schedule s =
        schedule::resolve(algorithm_, schedule::parse_schedule(whole, "case.sched"));
    schedule::Scheduled after = schedule::apply(algorithm_, s, target_);
    if (!reordered && after.reordered.size() > scheduled_.reordered.size()) return false;
    const schedule::Schedule old =
        schedule::resolve(algorithm_, schedule::parse_schedule(text_, "case.sched"));
    for (size_t i = old.directives.size(); i < s.directives.size(); i++)
      note(s.directives[i], after);
    scheduled_ = std::move(after);
    text_ = whole;
    return true;
  } catch (const CompileError &e) {
    refused_.push_back({whole, e.diagnostics()});
    return false;
  }
}

// Loops that the directive did away with are looked for in the state before.
void ScheduleDraft::note(const schedule::Directive &d, const schedule::Scheduled &after) {
  std::string stage = after.program.is_output(d.func) ? "output" : "inner";
  if (d.stage > 0) {
    stage = "update";
    const ir::Function *now = after.program.find(d.func), *old = program().find(d.func);
    for (const schedule::Arg &a : d.args) {
      if (a.kind != schedule::Arg::Kind::Name && a.kind != schedule::Arg::Kind::List) continue;
      const std::string name = a.items.empty() ? a.text : a.items[0].key;
      const auto is_reduction = [&](const ir::Function *f, const schedule::Scheduled &s) {
        if (!f || d.stage >= f->stages()) return false;
        const auto &loops = s.of(f->name).stages[static_cast<size_t>(d.stage)].loops;
        const int at = schedule::find_loop(*f, loops, name);
        return at >= 0 && loops[static_cast<size_t>(at)].reduction;
      };
      if (is_reduction(old, scheduled_) || is_reduction(now, after)) stage = "rvar";
    }
    if (d.kind == schedule::DirectiveKind::rfactor) stage = "rvar";
  }
  cells_.push_back({d.kind, tail_of(d), stage});
}

}  // namespace calotype::test
