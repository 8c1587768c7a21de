// Which inputs an output may overwrite while it runs (see passes.h).
#include "passes.h"

#include "../ir/visit.h"

namespace calotype::lower {

using namespace ir;

void find_in_place(PassContext &cx) {
  for (Name out : cx.program.outputs) {
    const Function &f = *cx.program.find(out);
    if (f.has_updates() || f.types.size() != 1) continue;
    std::unordered_map<std::string, bool>
        same_place;  // image -> every read is at the place written
    for (const Function &g : cx.program.funcs) {
      for (const Definition &d : g.definitions) {
        auto look = [&](const Expr &e, bool in_value) {
          if (!e.defined()) return;
          for_each_expr(e, [&](const Expr &x) {
            const Call *c = x.as<Call>();
            if (!c || c->call_type != CallType::Image) return;
            bool same = in_value && g.name == out && c->args.size() == f.args.size() &&
                        c->type == f.types[0];
            for (size_t i = 0; same && i < c->args.size(); i++) {
              const Variable *v = c->args[i].as<Variable>();
              same = v && !v->param && v->name == f.args[i];
            }
            auto it = same_place.emplace(c->name.str(), true).first;
            it->second &= same;
          });
        };
        for (const Expr &e : d.values) look(e, true);
        for (const Expr &e : d.args) look(e, false);
        look(d.predicate, false);
      }
    }
    for (auto &[image, same] : same_place) {
      if (same) cx.in_place[out].push_back(image);
    }
  }
}

}  // namespace calotype::lower
