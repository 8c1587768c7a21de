// The question "would this directive be legal now?". What is legal is decided where directives are applied (replay.cpp)
// and, for the whole, in placement.cpp. Tests: test/unit/schedule/replay_test.cpp.
#include "legality.h"

#include "make_funcs.h"
#include "replay.h"

namespace calotype::schedule {

Reason check_directive(const ir::Program &p, const ScheduleState &state, const Directive &d,
                       const Target &t) {
  if (makes_func(d.kind)) {
    Scheduled scratch{p, state, {}, {}, {}};
    ReplayContext makers{scratch.program, t, {}, {}};
    return make_func(makers, scratch, d);
  }
  const ir::Function *f = p.find(d.func);
  if (!f) return no(no_such_func(d.func, p, d.func_loc.defined() ? d.func_loc : d.loc));
  ReplayContext cx{p, t, {}, {}};
  FuncState copy = state.of(f->name);
  return replay(cx, *f, copy, d);
}

}  // namespace calotype::schedule
