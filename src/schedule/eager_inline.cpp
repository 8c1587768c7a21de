// eager_inline (see make_funcs.h). Tests: test/pipelines/prefetch_test.cpp.
#include "loop_nest.h"
#include "make_funcs.h"

namespace calotype::schedule {

Reason inline_now(ReplayContext &cx, Scheduled &s, const Directive &d) {
  const ir::Function *f = s.program.find(d.func);
  FuncState &state = s.state.funcs.at(f->name);
  const auto refused = [&](std::string why, std::string help, SrcLoc at = {}) {
    Diagnostic no_way("S0108", d.loc, f->name + " cannot be substituted at once");
    no_way.why.push_back({std::move(why), at});
    no_way.help.push_back(std::move(help));
    return no(std::move(no_way));
  };
  if (s.program.is_output(f->name))
    return refused("it is an output of " + s.program.name, "remove it");
  if (f->has_updates())
    return refused("it has updates, which need memory", "compute_at or compute_root() it");
  if (f->extern_stage()) return refused("it is an extern stage", "remove it");
  if (state.touched || !state.compute.is_inlined()) {
    const SrcLoc at = state.loops_loc.defined() ? state.loops_loc : state.compute.loc;
    return refused("directives before this one say how it is computed", "remove those, or this one",
                   at);
  }
  for (const ir::Function &g : s.program.funcs) {
    if (!g.extern_stage()) continue;
    for (ir::Name read : ir::called_funcs(g.pure())) {
      if (read == f->name)
        return refused("extern stage " + g.name + " reads it, which takes buffers", "remove it");
    }
  }
  const ir::Function callee = *f;
  for (ir::Function &g : s.program.funcs) {
    if (g.name != callee.name && substitute_func(g, callee)) cx.order.forget(g.name);
  }
  state.substituted = d.loc;
  return {};
}

}  // namespace calotype::schedule
