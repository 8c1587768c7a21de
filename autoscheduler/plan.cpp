#include "plan.h"

#include <algorithm>

#include "../src/ir/nodes.h"

namespace calotype::autoscheduler {

namespace {

size_t index(int i) { return static_cast<size_t>(i); }

/// The loop names of a Func under its plan.
struct LoopNames {
  std::string strip, tile, row, x, packed;
  LoopNames(const FuncFacts &f, const FuncPlan &p) {
    x = f.dims.empty() ? "" : f.dims[0];
    if (f.dims.size() >= 2) row = f.dims[1];
    if (p.strip > 0 && !row.empty()) {
      strip = row + "_o";
      row = row + "_i";
    }
    if (p.rows > 1 && !row.empty()) {
      packed = f.dims[1] + "_p";
      if (strip.empty())
        row = f.dims[1] + "_o";
      else
        row = f.dims[1] + "_r";
    }
    if (p.tile > 0 && !x.empty()) {
      tile = x + "_o";
      x = x + "_i";
    }
  }
  /// The outermost loop over rows.
  const std::string &outer() const { return strip.empty() ? row : strip; }
};

std::string call(const std::string &name, const std::vector<std::string> &args) {
  std::string text = "." + name + "(";
  for (size_t i = 0; i < args.size(); i++) text += (i ? ", " : "") + args[i];
  return text + ")";
}

std::string placement(const Facts &facts, const Plan &plan, const FuncPlan &f) {
  if (f.where == Where::Root) return ".compute_root()";
  const FuncFacts &anchor = facts.funcs[index(f.anchor)];
  const FuncPlan &its = plan.funcs[index(f.anchor)];
  const LoopNames loops(anchor, its);
  const auto at = [&](const char *what, const std::string &loop) {
    return loop.empty() ? std::string() : call(what, {anchor.name, loop});
  };
  switch (f.where) {
    case Where::Strip: return at("compute_at", loops.outer());
    case Where::Tile: return at("compute_at", loops.tile.empty() ? loops.outer() : loops.tile);
    case Where::Row: return at("compute_at", loops.row);
    case Where::Slide:
      return loops.strip.empty() ? at("compute_at", loops.row)
                                 : at("store_at", loops.strip) + at("compute_at", loops.row);
    default: return "";
  }
}

/// Loops of stage `s`, in the order given in the header.
std::string loops_text(const FuncFacts &f, const FuncPlan &p, size_t s) {
  const StageFacts &stage = f.stages[s];
  if (f.dims.empty() || !stage.walks[0]) return "";
  const bool rows = f.dims.size() >= 2 && stage.walks[1];
  FuncPlan own = p;
  if (!rows) own.strip = own.rows = 0;
  const LoopNames loops(f, own);
  std::string text;
  const auto number = [](int64_t n) { return std::to_string(n); };
  std::string y = rows ? f.dims[1] : "";
  if (own.strip > 0) {
    text += call("split", {y, loops.strip, y + "_i", number(own.strip)});
    y += "_i";
  }
  if (own.rows > 1) text += call("split", {y, loops.row, loops.packed, number(own.rows)});
  if (own.tile > 0) text += call("split", {f.dims[0], loops.tile, loops.x, number(own.tile)});
  const bool third = f.dims.size() >= 3 && stage.walks[2];
  const bool unrolled = third && p.third == Third::Unrolled;
  if (unrolled && f.output && s == 0) text += call("bound", {f.dims[2], "0", number(f.extents[2])});
  std::vector<std::string> order;  // innermost first
  if (unrolled) order.push_back(f.dims[2]);
  if (!loops.packed.empty()) order.push_back(loops.packed);
  order.push_back(loops.x);
  if (p.reductions_outside) order.insert(order.end(), stage.rvars.begin(), stage.rvars.end());
  if (third && p.third == Third::Inside) order.push_back(f.dims[2]);
  if (rows) order.push_back(loops.row);
  if (!loops.tile.empty()) order.push_back(loops.tile);
  if (!loops.strip.empty()) order.push_back(loops.strip);
  const bool ordered =
      order.size() > 1 && (s > 0 || third || !loops.packed.empty() || !loops.tile.empty());
  if (ordered) text += call("reorder", order);
  if (p.parallel) {
    if (third && p.third == Third::Outside) text += call("parallel", {f.dims[2]});
    if (rows) text += call("parallel", {loops.outer()});
  }
  if (p.lanes > 1) text += call("vectorize", {loops.x, number(p.lanes)});
  if (unrolled) text += call("unroll", {f.dims[2]});
  if (!loops.packed.empty()) text += call("unroll", {loops.packed});
  if (p.unroll_rows && rows && loops.packed.empty()) text += call("unroll", {loops.row});
  return text;
}

}  // namespace

std::string directives_of(const Facts &facts, const Plan &plan) {
  std::string text;
  for (size_t i = facts.funcs.size(); i-- > 0;) {  // readers first, as people write them
    const FuncFacts &f = facts.funcs[i];
    const FuncPlan &p = plan.funcs[i];
    if (!f.output && p.where == Where::Inline) continue;
    std::string line = f.output ? "" : placement(facts, plan, p);
    line += loops_text(f, p, 0);
    if (!line.empty()) text += f.name + line + "\n";
    for (size_t s = 1; s < f.stages.size(); s++) {
      const std::string update = loops_text(f, p, s);
      if (!update.empty())
        text += f.name + ".update(" + std::to_string(s - 1) + ")" + update + "\n";
    }
  }
  return text;
}

// ---- starting points -----------------------------------------------------------------------------------

namespace {

int native_lanes(const Problem &p, const FuncFacts &f) {
  const int bytes = p.target.has_feature(Target::AVX512_Skylake) ? 64
                    : p.target.has_feature(Target::AVX2)         ? 32
                                                                 : 16;
  return std::max(1, bytes * 8 / std::max(8, f.bits));
}

/// Lanes that the innermost dimension can fill.
int lanes_for(const FuncFacts &f, int wanted) {
  const int64_t extent = f.extents.empty() ? 1 : f.extents[0];
  while (wanted > 1 && wanted > extent) wanted /= 2;
  return wanted;
}

void vectorise(const Problem &p, const FuncFacts &f, FuncPlan &plan) {
  plan.lanes = lanes_for(f, native_lanes(p, f));
  if (plan.lanes <= 1) plan.lanes = 0;
}

/// Strips that give every thread several, of at least 4 rows.
int64_t strip_for(const Problem &p, const FuncFacts &f) {
  if (f.dims.size() < 2) return 0;
  int64_t strip = 64;
  while (strip > 4 && f.extents[1] / strip < 4 * p.threads) strip /= 2;
  return f.extents[1] > strip ? strip : 0;
}

bool worth_inlining(const FuncFacts &f, double at_most) {
  return f.may_inline && (!f.may_store || (f.calls <= 1 ? f.operations <= 4 * at_most
                                                        : f.operations * f.calls <= at_most));
}

void make_root(const Problem &p, const FuncFacts &f, FuncPlan &plan) {
  plan.where = Where::Root;
  plan.parallel = f.dims.size() >= 2 && p.threads > 1;
  plan.strip = plan.parallel ? strip_for(p, f) : 0;
  vectorise(p, f, plan);
}

}  // namespace

Plan simple_plan(const Problem &p, const Facts &facts, double inline_at_most) {
  Plan plan;
  plan.funcs.resize(facts.funcs.size());
  for (size_t i = 0; i < facts.funcs.size(); i++) {
    const FuncFacts &f = facts.funcs[i];
    if (f.output || (f.may_store && !worth_inlining(f, inline_at_most)))
      make_root(p, f, plan.funcs[i]);
  }
  return plan;
}

Plan sliding_plan(const Problem &p, const Facts &facts, double inline_at_most) {
  Plan plan = simple_plan(p, facts, inline_at_most);
  for (size_t i = facts.funcs.size(); i-- > 0;) {
    const FuncFacts &f = facts.funcs[i];
    FuncPlan &its = plan.funcs[i];
    if (f.output || its.where != Where::Root || f.dims.size() < 2) continue;
    // all readers in one Func's loops: the reader itself, or where the readers are computed
    int anchor = -1;
    bool one = true;
    for (int r : f.readers) {
      int at = r;
      while (at >= 0 && plan.funcs[index(at)].where != Where::Root &&
             !facts.funcs[index(at)].output) {
        const FuncPlan &reader = plan.funcs[index(at)];
        at = reader.where == Where::Inline
                 ? (facts.funcs[index(at)].readers.empty() ? -1
                                                           : facts.funcs[index(at)].readers.back())
                 : reader.anchor;
      }
      one = one && at >= 0 && (anchor < 0 || anchor == at);
      anchor = at;
    }
    if (!one || anchor < 0 || facts.funcs[index(anchor)].dims.size() < 2) continue;
    its = FuncPlan();
    its.where = Where::Slide;
    its.anchor = anchor;
    vectorise(p, f, its);
  }
  return plan;
}

// ---- changes ---------------------------------------------------------------------------------------------

namespace {

class Mutation {
public:
  Mutation(Plan &plan, const Problem &p, const Facts &facts, std::mt19937_64 &random)
      : plan_(plan), p_(p), facts_(facts), random_(random) {}

  void run() {
    const size_t i = below(facts_.funcs.size());
    const FuncFacts &f = facts_.funcs[i];
    FuncPlan &its = plan_.funcs[i];
    if (!f.output && (its.where == Where::Inline || below(3) == 0)) return place(i, its);
    switch (below(7)) {
      case 0: its.strip = f.dims.size() < 2 ? 0 : pick({0, 4, 8, 16, 32, 64, 128}); break;
      case 1: its.tile = pick({0, 0, 32, 64, 128, 256, 512, int64_t{native_lanes(p_, f)}}); break;
      case 2: its.rows = f.dims.size() < 2 ? 0 : pick({0, 0, 2, 3, 4, 6, 8}); break;
      case 3:
        its.lanes = lanes_for(f, static_cast<int>(native_lanes(p_, f) * pick({1, 1, 2, 4})));
        break;
      case 4: {
        const bool few = f.dims.size() >= 3 && f.extents[2] <= kMostUnrolled;
        its.third = static_cast<Third>(below(few ? 3 : 2));
        break;
      }
      case 5:
        if (its.where == Where::Root || f.output)
          its.parallel = !its.parallel;
        else
          its.unroll_rows = !its.unroll_rows;
        break;
      default: its.reductions_outside = !its.reductions_outside; break;
    }
  }

private:
  size_t below(size_t n) { return n ? random_() % n : 0; }
  int64_t pick(std::initializer_list<int64_t> all) { return *(all.begin() + below(all.size())); }

  /// Somewhere else: in a reader's loops, or where a reader is, at root, or nowhere.
  void place(size_t i, FuncPlan &its) {
    const FuncFacts &f = facts_.funcs[i];
    const size_t choice = below(f.may_inline ? 8 : 6);
    if (choice >= 6 || !f.may_store || f.readers.empty()) {
      if (f.may_inline) its = FuncPlan();
      return;
    }
    if (choice == 0) return make_root(p_, f, its);
    int anchor = f.readers[below(f.readers.size())];
    while (!facts_.funcs[index(anchor)].output && plan_.funcs[index(anchor)].where != Where::Root &&
           (plan_.funcs[index(anchor)].where == Where::Inline || below(2) == 0)) {
      const FuncPlan &reader = plan_.funcs[index(anchor)];
      const std::vector<int> &readers = facts_.funcs[index(anchor)].readers;
      const int up = reader.where == Where::Inline
                         ? (readers.empty() ? -1 : readers[below(readers.size())])
                         : reader.anchor;
      if (up < 0) break;
      anchor = up;
    }
    its = FuncPlan();
    its.anchor = anchor;
    const Where levels[] = {Where::Strip, Where::Tile, Where::Row, Where::Slide, Where::Slide};
    its.where = levels[below(5)];
    FuncPlan &around = plan_.funcs[index(anchor)];
    vectorise(p_, f, its);
    if (its.where != Where::Tile) return;
    if (below(2) == 0) {  // a register tile: a vector or two of columns, some rows, all unrolled
      around.tile = native_lanes(p_, facts_.funcs[index(anchor)]) * pick({1, 2});
      around.rows = pick({2, 4, 8});
      around.strip = 0;
      its.unroll_rows = true;
    } else if (around.tile == 0) {
      around.tile = pick({64, 128, 256});
    }
  }

  Plan &plan_;
  const Problem &p_;
  const Facts &facts_;
  std::mt19937_64 &random_;
};

}  // namespace

void mutate(Plan &plan, const Problem &p, const Facts &facts, std::mt19937_64 &random) {
  Mutation(plan, p, facts, random).run();
}

bool mutate_number(schedule::Schedule &s, std::mt19937_64 &random) {
  std::vector<schedule::Arg *> numbers;
  for (schedule::Directive &d : s.directives) {
    using K = schedule::DirectiveKind;
    if (d.kind == K::bound || d.kind == K::bound_extent) continue;  // promises, not choices
    for (schedule::Arg &a : d.args) {
      const auto *n = a.kind == schedule::Arg::Kind::Expr ? a.expr.as<ir::IntImm>() : nullptr;
      if (n && n->value >= 2) numbers.push_back(&a);
    }
  }
  if (numbers.empty()) return false;
  schedule::Arg &a = *numbers[random() % numbers.size()];
  const int64_t n = a.expr.as<ir::IntImm>()->value;
  const int64_t near[] = {2 * n, n / 2, n + n / 2, n - n / 4, n + 1};
  a.expr = ir::make_int(a.expr.type(), std::max<int64_t>(1, near[random() % 5]));
  return true;
}

}  // namespace calotype::autoscheduler
