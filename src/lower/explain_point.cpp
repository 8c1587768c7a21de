// See explain_point.h. Regions come from the same analysis as lowering's, on a state without any directive, so that no
// tail or alignment widens them. Tests: test/unit/lower/slide_test.cpp.
#include "explain_point.h"

#include <algorithm>

#include "../analysis/simplify.h"
#include "infer_bounds.h"

namespace calotype::lower {

using analysis::simplify;
using namespace ir;

namespace {

Expr c32(int64_t v) { return make_int(Int(32), v); }

// Where each variable of the pure definition stands: value, and the range it is in.
struct Standing {
  Expr value, min, extent;
};

bool has_fixed_length(const schedule::StageState &s, Name loop) {
  for (const schedule::Loop &l : s.loops) {
    if (l.var == loop) return l.kind == ForType::Vectorized || l.kind == ForType::Unrolled;
  }
  return false;
}

void split(std::unordered_map<Name, Standing> &at, const schedule::Relation &r,
           const schedule::StageState &s) {
  const Standing old = at.at(r.old);
  at.erase(r.old);
  const Expr offset = make_sub(old.value, old.min), outer = make_div(offset, r.factor);
  const bool shifts = r.tail == TailStrategy::ShiftInwards ||
                      r.tail == TailStrategy::ShiftInwardsAndBlend ||
                      (r.tail == TailStrategy::Auto && has_fixed_length(s, r.inner));
  Expr base = make_mul(outer, r.factor);
  if (shifts) base = make_max(make_min(base, make_sub(old.extent, r.factor)), c32(0));
  const Expr blocks = make_div(make_add(old.extent, make_sub(r.factor, c32(1))), r.factor);
  at[r.outer] = {simplify(outer), c32(0), simplify(blocks)};
  at[r.inner] = {simplify(make_sub(offset, base)), c32(0), r.factor};
}

void fuse(std::unordered_map<Name, Standing> &at, const schedule::Relation &r) {
  const Standing in = at.at(r.inner), out = at.at(r.outer);
  at.erase(r.inner);
  at.erase(r.outer);
  const Expr value =
      make_add(make_mul(make_sub(out.value, out.min), in.extent), make_sub(in.value, in.min));
  at[r.old] = {simplify(value), c32(0), simplify(make_mul(in.extent, out.extent))};
}

std::vector<PointLoop> loops_at(const Function &f, const schedule::StageState &s,
                                const std::vector<int> &point) {
  const std::string buffer = f.types.size() > 1 ? f.name + ".0" : f.name.str();
  std::unordered_map<Name, Standing> at;
  for (size_t d = 0; d < f.args.size(); d++) {
    at[f.args[d]] = {c32(point[d]), make_var(buffer + ".min." + std::to_string(d)),
                     make_var(buffer + ".extent." + std::to_string(d))};
  }
  for (const schedule::Relation &r : s.relations) {
    switch (r.kind) {
      case schedule::Relation::Kind::Split: split(at, r, s); break;
      case schedule::Relation::Kind::Fuse: fuse(at, r); break;
      case schedule::Relation::Kind::Rename: {
        const Standing old = at.at(r.old);
        at.erase(r.old);
        at[r.outer] = old;
        break;
      }
    }
  }
  std::vector<PointLoop> loops;
  for (size_t i = s.loops.size(); i-- > 0;)
    loops.push_back({s.loops[i].var, s.loops[i].kind, at.at(s.loops[i].var).value});
  return loops;
}

}  // namespace

PointAnswer explain_point(const PassContext &cx, Name output, const std::vector<int> &point) {
  const Program &p = cx.program;
  schedule::ScheduleState plain = schedule::initial_state(p);
  for (auto &[name, state] : plain.funcs)
    state.compute.kind = state.store.kind = schedule::Level::Kind::Root;
  const auto tree = schedule::build_loop_tree(p, plain);
  RegionFinder::Site site;
  site.root = true;
  for (const auto &c : tree->children) site.below.push_back(c.get());
  analysis::Box box;
  for (int v : point) box.push_back(analysis::Interval::point(c32(v)));
  const RegionFinder::Result found = RegionFinder(p, plain).at(site, {{output, box}});

  PointAnswer answer;
  answer.loops = loops_at(*p.find(output), cx.state->of(output).stages[0], point);
  for (size_t i = p.funcs.size(); i-- > 0;) {
    const auto f = found.funcs.find(p.funcs[i].name);
    if (f != found.funcs.end() && f->first != output)
      answer.needs.push_back({f->first, false, f->second.read});
  }
  for (const ParameterRef &param : p.params) {
    const auto image = found.inputs.find(param->name);
    if (image != found.inputs.end()) answer.needs.push_back({image->first, true, image->second});
  }
  return answer;
}

}  // namespace calotype::lower
