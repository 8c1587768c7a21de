// The entry to replaying, and refusals that several files word alike. Tests: test/unit/schedule/replay_test.cpp.
#include "replay.h"

#include "replay_base.h"

namespace calotype::schedule {

Reason replay(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d) {
  return is_func_level(d.kind) ? replay_on_func(cx, f, s, d) : replay_on_loops(cx, f, s, d);
}

Diagnostic no_such_loop(const std::string &what, SrcLoc loc, const std::string &name,
                        const std::string &stage, const StageState &s, bool ambiguous) {
  std::vector<std::string> names;
  for (const Loop &loop : s.loops) names.push_back(loop.var);
  const std::string now = s.loops.empty() ? stage + " has no loops"
                                          : "its loops here, outermost first: " + loop_list(s);
  if (ambiguous) {
    Diagnostic d("S0103", loc, name + " may mean several loops of " + stage);
    d.why.push_back({now, {}});
    d.help.push_back("write the RVar's full name");
    return d;
  }
  Diagnostic d("S0103", loc, stage + " has no loop " + name + " for " + what);
  d.why.push_back({now, {}});
  for (const Relation &r : s.relations) {
    if (r.old == name && r.kind != Relation::Kind::Fuse) {
      d.why.push_back(
          {name + " became " + (r.inner.empty() ? r.outer.str() : r.outer + " and " + r.inner),
           r.loc});
    } else if (r.kind == Relation::Kind::Fuse && (r.inner == name || r.outer == name)) {
      d.why.push_back({name + " became part of " + r.old, r.loc});
    }
  }
  for (const std::string &near : nearest_names(name, names))
    d.help.push_back("did you mean " + near + "?");
  return d;
}

Diagnostic no_such_func(const std::string &name, const ir::Program &p, SrcLoc loc) {
  std::vector<std::string> names;
  for (const ir::Function &f : p.funcs) names.push_back(f.name);
  Diagnostic d("S0101", loc,
               name.empty() ? "the Func named here is not part of pipeline " + p.name
                            : "there is no Func " + name + " in " + p.name);
  const std::vector<std::string> near = nearest_names(name, names);
  for (const std::string &n : near) d.help.push_back("did you mean " + n + "?");
  if (near.empty()) {
    std::string all;
    for (size_t i = 0; i < names.size() && i < 20; i++) all += (i ? ", " : "") + names[i];
    if (names.size() > 20) all += ", ...";
    d.why.push_back({"its Funcs are: " + all, {}});
  }
  return d;
}

}  // namespace calotype::schedule
