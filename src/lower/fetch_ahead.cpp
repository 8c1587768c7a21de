// Prefetches (see fetch_ahead.h).
//
//   for yo: { let f.fetch0.0.min = ...                       the region read with yo + offset in yo's place
//             if (it lies within f) for f.fetch0.1: for f.fetch0.0: prefetch(f(min + i * elements of a line, ...))  ... }
#include "fetch_ahead.h"

#include <algorithm>

#include "../base/diagnostic.h"
#include "../ir/visit.h"

namespace calotype::lower {

using analysis::Box;
using analysis::Interval;
using analysis::simplify;
using schedule::LoopNode;
using namespace ir;

namespace {

constexpr int kLine = 64;  // bytes that one prefetch brings

[[noreturn]] void refuse(const schedule::Prefetch &p, Name func, std::string why) {
  raise(Diagnostic("S0136", p.loc, func + " cannot fetch " + p.func + " ahead")
            .because(std::move(why))
            .fix("prefetch what that loop reads from outside of it"));
}

// The memory's own range: of the storage around, or of the caller's buffer.
Box bounds_of(const LoopContext &c, Name name, size_t dimensions) {
  const auto stored = c.storage.find(name);
  if (stored != c.storage.end()) return stored->second;
  std::string buffer = name.str();
  if (const Function *f = c.program.find(name)) buffer += f->types.size() > 1 ? ".0" : "";
  Box box;
  for (size_t d = 0; d < dimensions; d++) {
    Expr min = make_var(buffer + ".min." + std::to_string(d));
    Expr extent = make_var(buffer + ".extent." + std::to_string(d));
    box.push_back({min, make_sub(make_add(min, extent), c32(1)), {}});
  }
  return box;
}

// Reads at these coordinates, one for each value of a Tuple.
std::vector<Expr> reads_at(const LoopContext &c, Name name, const std::vector<Expr> &at) {
  std::vector<Expr> reads;
  if (const Function *f = c.program.find(name)) {
    for (size_t i = 0; i < f->types.size(); i++)
      reads.push_back(make_func_call(f->types[i], name, at, static_cast<int>(i)));
  }
  for (const ParameterRef &p : c.program.params) {
    if (p->is_buffer && p->name == name) reads.push_back(make_image_call(p->type, p, at));
  }
  return reads;
}

// Dimensions as they lie in memory, the dense one first.
std::vector<size_t> storage_order(const LoopContext &c, Name name, size_t dimensions) {
  std::vector<size_t> order;
  if (const Function *f = c.program.find(name)) {
    for (Name v : c.state.of(name).storage_order)
      order.push_back(
          static_cast<size_t>(std::find(f->args.begin(), f->args.end(), v) - f->args.begin()));
  }
  for (size_t d = order.size(); d < dimensions; d++) order.push_back(d);
  return order;
}

Stmt fetch(LoopContext &c, const schedule::Prefetch &p, Box region) {
  const Box memory = bounds_of(c, p.func, region.size());
  const std::string prefix = p.func + ".fetch" + std::to_string(c.fetches++) + ".";
  std::vector<Let> lets;
  std::vector<Expr> at(region.size());
  Expr within = make_bool(true);
  for (size_t d = 0; d < region.size(); d++) {
    Interval &i = region[d];
    if (p.strategy == PrefetchBoundStrategy::Clamp) {
      i.min = make_max(i.min, memory[d].min);
      i.max = make_min(i.max, memory[d].max);
    }
    const Name min = prefix + std::to_string(d) + ".min", max = prefix + std::to_string(d) + ".max";
    lets.push_back({min, simplify(i.min)});
    lets.push_back({max, simplify(i.max)});
    i = {make_var(min), make_var(max), {}};
    if (p.strategy == PrefetchBoundStrategy::GuardWithIf)
      within =
          make_and(within, make_and(make_ge(i.min, memory[d].min), make_le(i.max, memory[d].max)));
  }
  const std::vector<size_t> order = storage_order(c, p.func, region.size());
  std::vector<int> steps(region.size(), 1);
  const std::vector<Expr> shape = reads_at(c, p.func, std::vector<Expr>(region.size(), c32(0)));
  if (!order.empty()) steps[order[0]] = std::max(1, kLine / shape[0].type().bytes());
  for (size_t d = 0; d < region.size(); d++)
    at[d] = make_add(region[d].min, make_mul(make_var(prefix + std::to_string(d)), c32(steps[d])));
  std::vector<Stmt> lines;
  for (const Expr &read : reads_at(c, p.func, at))
    lines.push_back(make_evaluate(make_intrinsic(Int(32), Intrinsic::prefetch, {read})));
  Stmt s = make_block(lines);
  for (size_t d : order) {
    const Expr extent = make_max(make_sub(make_add(region[d].max, c32(1)), region[d].min), c32(0));
    const Expr n = make_div(make_add(extent, c32(steps[d] - 1)), c32(steps[d]));
    s = make_for(prefix + std::to_string(d), c32(0), simplify(n), ForType::Serial, s);
  }
  if (!is_const_one(within)) s = make_if(simplify(within), s);
  return with_lets(lets, s);
}

}  // namespace

Stmt fetch_ahead(LoopContext &c, const LoopNode &loop, const SiteRegions &here) {
  const schedule::StageRef &stage = loop.members[0];
  const Function &f = *c.program.find(stage.func);
  const auto &loops = stage.state->loops;
  std::vector<Stmt> all;
  for (const schedule::Prefetch &p : stage.state->prefetches) {
    const int at = schedule::find_loop(f, loops, p.at);
    if (loops[static_cast<size_t>(at)].var != loop.loop.var) continue;
    const int from = schedule::find_loop(f, loops, p.from);
    const RegionFinder::Result &found = here.found;
    if (found.funcs.count(p.func))
      refuse(p, f.name, p.func + " is computed inside of loop " + p.at + ", when it is needed");
    auto read = found.outside.find(p.func);
    if (read == found.outside.end()) {
      read = found.inputs.find(p.func);
      if (read == found.inputs.end())
        refuse(p, f.name, "nothing in loop " + p.at + " reads " + p.func);
    }
    check_bounded(f, read->second, "is to be fetched ahead");
    Box region = c.symbols.expand(read->second);
    const Name ahead = c.open_of(stage).loops->loop_name(loops[static_cast<size_t>(from)].var);
    const Substitution later{{ahead, make_add(make_var(ahead), p.offset)}};
    for (Interval &i : region) {
      i.min = substitute(later, i.min);
      i.max = substitute(later, i.max);
    }
    all.push_back(fetch(c, p, std::move(region)));
  }
  return all.empty() ? Stmt() : make_block(all);
}

}  // namespace calotype::lower
