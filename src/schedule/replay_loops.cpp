// Directives on the loops of one stage. Each handler checks everything first and then changes a copy of the stage, so that
// a refused directive leaves no trace. Tests: test/unit/schedule/replay_test.cpp.
#include <algorithm>
#include <unordered_set>

#include "../ir/equal.h"
#include "../ir/print.h"
#include "replay_base.h"

namespace calotype::schedule {

namespace {

using ir::ForType;

const char *kind_word(ForType t) {
  switch (t) {
    case ForType::Parallel: return "parallel";
    case ForType::Vectorized: return "vectorised";
    case ForType::Unrolled: return "unrolled";
    default: return "serial";
  }
}

// A loop's name, a dot, a letter: the inner loop that vectorize (v), unroll (u), parallel (t) make themselves.
std::string implicit_inner(const std::string &var, const char *letter) {
  return var + "." + letter;
}

bool is_identifier(const std::string &s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.';
  });
}

class LoopReplay : public ReplayBase {
public:
  using ReplayBase::ReplayBase;

  void run() {
    if (check_subject() && find_specialization(&stage_) && shape_args()) stage_directive();
  }

private:
  bool reordered_ = false;  ///< dependent loops change their order, which atomic allows

  // ---- names and loops ---------------------------------------------------------------------------
  StageState &stage() { return *stage_; }

  bool loop_of(const StageState &s, const Arg &a, int *index) {
    *index = find_loop(f_, s.loops, a.text);
    if (*index >= 0) return true;
    return refuse(no_such_loop(directive(), a.loc.defined() ? a.loc : d_.loc, a.text, subject(), s,
                               *index == -2));
  }

  // Names that `var` has derived from, itself included: they may be used again for what derives from it.
  static std::unordered_set<ir::Name> lineage(const StageState &s, const Names &vars) {
    std::unordered_set<ir::Name> line(vars.begin(), vars.end());
    for (size_t i = s.relations.size(); i-- > 0;) {
      const Relation &r = s.relations[i];
      if (r.kind == Relation::Kind::Fuse) {
        if (line.count(r.old)) line.insert({r.inner, r.outer});
      } else if (line.count(r.outer) || (r.kind == Relation::Kind::Split && line.count(r.inner))) {
        line.insert(r.old);
      }
    }
    return line;
  }

  // May `a` name a new loop that replaces (all of) `olds`?
  bool check_new_name(const StageState &s, const Arg &a, const Names &olds) {
    if (!is_identifier(a.text)) return refuse("S0105", a.loc, "\"" + a.text + "\" is no name");
    const ir::Name name = a.text;
    if (std::find(olds.begin(), olds.end(), name) != olds.end()) return true;
    for (const Loop &loop : s.loops) {
      if (loop.var == name) {
        return refuse("S0109", a.loc, "loop name " + a.text + " is already used in " + subject(),
                      "the loops are: " + loop_list(s));
      }
    }
    bool used = false;
    for (const Loop &loop : initial_loops(f_, d_.stage)) used |= loop.var == name;
    SrcLoc where;
    for (const Relation &r : s.relations) {
      if (r.old == name || r.outer == name || r.inner == name) {
        used = true;
        where = r.loc;
      }
    }
    if (!used || lineage(s, olds).count(name)) return true;
    Diagnostic d("S0109", a.loc.defined() ? a.loc : d_.loc,
                 "loop name " + a.text + " was used before in " + subject());
    d.why.push_back({a.text + " named another loop, from which others derive", where});
    return refuse(std::move(d));
  }

  bool check_two_new_names(const StageState &s, const Arg &a, const Arg &b, const Names &olds) {
    if (!check_new_name(s, a, olds) || !check_new_name(s, b, olds)) return false;
    if (a.text != b.text) return true;
    return refuse("S0114", b.loc, directive() + " gives both new loops the name " + b.text,
                  "a loop is known by its name", "give one of them another name");
  }

  bool check_size(const StageState &s) {
    if (s.loops.size() <= kMaxLoops && s.relations.size() <= kMaxRelations) return true;
    return refuse("S0002", d_.loc, subject() + " is split too often",
                  "a stage has at most " + std::to_string(kMaxLoops) + " loops and " +
                      std::to_string(kMaxRelations) + " splits, fuses and renames");
  }

  void accept(StageState next) {
    next.any_order |= reordered_;
    stage() = std::move(next);
    s_.touched = true;
    if (!s_.loops_loc.defined()) s_.loops_loc = d_.loc;
  }

  // ---- splits ------------------------------------------------------------------------------------
  bool refuse_tail(TailStrategy tail, SrcLoc loc, const std::string &var, std::string why,
                   std::string help) {
    return refuse(
        "S0113", loc,
        std::string(tail_name(tail)) + " cannot be used to split " + var + " of " + subject(),
        std::move(why), std::move(help));
  }

  bool resolve_tail(const Loop &loop, bool divides, TailStrategy asked, SrcLoc loc,
                    TailStrategy *tail) {
    *tail = asked;
    switch (asked) {
      case TailStrategy::GuardWithIf:
      case TailStrategy::Predicate:
      case TailStrategy::PredicateStores: return true;
      default: break;
    }
    if (loop.reduction) {
      *tail = TailStrategy::GuardWithIf;
      if (asked == TailStrategy::Auto || divides) return true;
      return refuse_tail(asked, loc, loop.var,
                         loop.var + " belongs to a reduction, whose iterations must each run once",
                         "use GuardWithIf, Predicate or Auto");
    }
    if (divides) {
      *tail = TailStrategy::RoundUp;  // nothing to round: no guard needed
      return true;
    }
    if (d_.stage == 0 || asked == TailStrategy::ShiftInwardsAndBlend ||
        asked == TailStrategy::RoundUpAndBlend)
      return true;
    *tail = TailStrategy::GuardWithIf;
    if (asked == TailStrategy::Auto) return true;
    if (asked == TailStrategy::ShiftInwards) {
      return refuse_tail(asked, loc, loop.var,
                         "it computes some elements twice, and an update would change them twice",
                         "use GuardWithIf, Predicate, ShiftInwardsAndBlend or Auto");
    }
    return refuse_tail(
        asked, loc, loop.var, "it stores elements beyond those asked for, and an update may not",
        "use GuardWithIf, Predicate or Auto, or promise an extent that the factor divides: " +
            f_.name + ".bound_extent(" + loop.var + ", ...)");
  }

  // A constant extent smaller than the factor leaves a shifted block no room.
  bool check_room(const StageState &s, const Loop &loop, const Expr &factor, TailStrategy tail,
                  SrcLoc loc) {
    const bool shifts =
        tail == TailStrategy::ShiftInwards || tail == TailStrategy::ShiftInwardsAndBlend;
    const int64_t *n = ir::as_const_int(factor);
    const auto extents = constant_extents_of(s);
    const auto extent = extents.find(loop.var);
    if (!shifts || !n || extent == extents.end() || extent->second >= *n) return true;
    return refuse_tail(tail, loc, loop.var,
                       "extent " + std::to_string(extent->second) + " is smaller than factor " +
                           std::to_string(*n),
                       "use a smaller factor, or GuardWithIf or Auto");
  }

  std::unordered_map<ir::Name, int64_t> constant_extents_of(const StageState &s) {
    return constant_extents(f_, s_.bounds, s, d_.stage);
  }

  bool divides(const StageState &s, ir::Name var, const Expr &factor) {
    const int64_t *n = ir::as_const_int(factor);
    if (!n || *n < 1) return false;
    if (*n == 1) return true;
    const auto extents = constant_extents_of(s);
    const auto it = extents.find(var);
    return it != extents.end() && it->second % *n == 0;
  }

  struct SplitRequest {
    int loop;
    std::string outer, inner;
    Arg factor;
    TailStrategy tail;
    SrcLoc tail_loc;
  };

  // Auto on a loop of constant extent needs no choice at run time.
  TailStrategy settle_auto(const StageState &s, const Loop &loop, const Expr &factor,
                           TailStrategy tail) {
    const int64_t *n = ir::as_const_int(factor);
    const auto extents = constant_extents_of(s);
    const auto it = extents.find(loop.var);
    if (tail != TailStrategy::Auto || !n || it == extents.end() || *n <= it->second) return tail;
    return TailStrategy::GuardWithIf;
  }

  // The outer loop keeps a parallel or unrolled loop's kind, and so does the inner one.
  bool split_loop(StageState &s, const SplitRequest &q) {
    const Loop old = s.loops[q.loop];
    if (old.kind == ForType::Vectorized) return refuse_vectorised(old);
    if (!check_positive(q.factor, "factor")) return false;
    const bool exact_fit = divides(s, old.var, q.factor.expr);
    TailStrategy tail;
    if (!resolve_tail(old, exact_fit, q.tail, q.tail_loc, &tail)) return false;
    if (!check_room(s, old, q.factor.expr, tail, q.tail_loc)) return false;
    Relation r;
    r.kind = Relation::Kind::Split;
    r.old = old.var;
    r.outer = q.outer;
    r.inner = q.inner;
    r.factor = at_least_one(q.factor.expr);
    r.tail = settle_auto(s, old, q.factor.expr, tail);
    r.exact = old.reduction;
    r.loc = d_.loc;
    Loop outer = old, inner = old;
    outer.var = r.outer;
    inner.var = r.inner;
    s.loops[q.loop] = inner;
    s.loops.insert(s.loops.begin() + q.loop + 1, outer);
    s.relations.push_back(std::move(r));
    return check_size(s);
  }

  bool refuse_vectorised(const Loop &loop) {
    Diagnostic d("S0117", d_.loc,
                 directive() + " meets the vectorised loop " + loop.var + " of " + subject());
    d.why.push_back({loop.var + " was vectorised before", loop.loc});
    d.help.push_back(std::string(directive()) + " first, then vectorize");
    return refuse(std::move(d));
  }

  TailStrategy tail_arg(size_t i) {
    TailStrategy tail = TailStrategy::Auto;
    if (given_[i]) find_tail(args_[i].text, &tail);
    return tail;
  }

  bool split() {
    StageState next = stage();
    int loop = 0;
    if (!loop_of(next, args_[0], &loop)) return false;
    if (!check_two_new_names(next, args_[1], args_[2], {next.loops[loop].var})) return false;
    if (!split_loop(next,
                    {loop, args_[1].text, args_[2].text, args_[3], tail_arg(4), args_[4].loc}))
      return false;
    accept(std::move(next));
    return true;
  }

  // ---- fuse, rename, reorder, tile ---------------------------------------------------------------
  bool fuse() {
    StageState next = stage();
    int inner = 0, outer = 0;
    if (!loop_of(next, args_[0], &inner) || !loop_of(next, args_[1], &outer)) return false;
    if (inner == outer)
      return refuse("S0114", args_[1].loc, "fuse joins " + args_[1].text + " with itself",
                    "fuse makes one loop of two", "name another loop of the stage");
    for (int i : {inner, outer}) {
      if (next.loops[i].kind == ForType::Serial) continue;
      Diagnostic d("S0117", d_.loc,
                   "fuse meets the " + std::string(kind_word(next.loops[i].kind)) + " loop " +
                       next.loops[i].var + " of " + subject());
      d.why.push_back({next.loops[i].var + " got its kind before", next.loops[i].loc});
      d.help.push_back("fuse first, then say how the fused loop runs");
      return refuse(std::move(d));
    }
    const Loop in = next.loops[inner], out = next.loops[outer];
    if (!check_new_name(next, args_[2], {in.var, out.var})) return false;
    Names order;
    for (const Loop &loop : next.loops) {
      if (loop.var != out.var) order.push_back(loop.var);
      if (loop.var == in.var) order.push_back(out.var);
    }
    if (!check_order(next, order)) return false;
    Relation r;
    r.kind = Relation::Kind::Fuse;
    r.old = args_[2].text;
    r.inner = in.var;
    r.outer = out.var;
    r.loc = d_.loc;
    r.exact = in.reduction || out.reduction;
    next.loops[inner].var = r.old;
    next.loops[inner].reduction = r.exact;
    next.loops.erase(next.loops.begin() + outer);
    next.relations.push_back(std::move(r));
    if (!check_size(next)) return false;
    accept(std::move(next));
    return true;
  }

  bool rename() {
    StageState next = stage();
    int i = 0;
    if (!loop_of(next, args_[0], &i) || !check_new_name(next, args_[1], {next.loops[i].var}))
      return false;
    Relation r;
    r.kind = Relation::Kind::Rename;
    r.old = next.loops[i].var;
    r.outer = args_[1].text;
    r.exact = next.loops[i].reduction;
    r.loc = d_.loc;
    next.loops[i].var = r.outer;
    if (r.old != r.outer) next.relations.push_back(std::move(r));
    if (!check_size(next)) return false;
    accept(std::move(next));
    return true;
  }

  // Would the loops in `order` run dependent iterations in another order than now?
  bool check_order(const StageState &s, const Names &order) {
    const OrderFacts &facts = cx_.order.of(f_, d_.stage);
    if (facts.commutative || facts.dependent.empty() || stage().races) return true;
    const bool any_order = stage().atomic && reduction().commutative;
    const auto roots = root_vars(f_, s, d_.stage);
    Names before, after;
    for (const Loop &loop : s.loops) {
      if (!facts.is_free(roots.at(loop.var))) before.push_back(loop.var);
    }
    for (ir::Name v : order) {
      if (!facts.is_free(roots.at(v))) after.push_back(v);
    }
    size_t i = 0;
    while (i < before.size() && before[i] == after[i]) i++;
    if (i == before.size()) return true;
    if (any_order) {
      reordered_ = true;
      return true;
    }
    Diagnostic d(
        "S0111", d_.loc,
        directive() + " cannot let " + after[i] + " of " + subject() + " run inside " + before[i]);
    d.why.push_back(
        {"it would change the order of a reduction: " + facts.ordered_because, facts.loc});
    for (ir::Name loop : {before[i], after[i]}) {
      for (ir::Name v : roots.at(loop)) {
        const auto it = facts.dependent.find(v);
        if (it != facts.dependent.end()) d.why.push_back({it->second, {}});
      }
    }
    d.help.push_back("keep these loops in the order they have, outermost first: " +
                     text_of(before));
    if (reduction().proved && reduction().commutative)
      d.help.push_back("or say " + subject() + ".atomic() first: any order is allowed then");
    return refuse(std::move(d));
  }

  const Reduction &reduction() { return cx_.order.reduction_of(f_, d_.stage); }

  static std::string text_of(const Names &innermost_first) {
    std::string text;
    for (size_t i = innermost_first.size(); i-- > 0;) text += innermost_first[i] + (i ? ", " : "");
    return text;
  }

  bool reorder_loops(StageState &s, const std::vector<Arg> &names) {
    std::vector<int> wanted;
    for (const Arg &a : names) {
      int i = 0;
      if (!loop_of(s, a, &i)) return false;
      if (std::find(wanted.begin(), wanted.end(), i) != wanted.end()) {
        return refuse("S0114", a.loc, directive() + " names " + a.text + " twice",
                      "each loop has one place in the order", "leave one of them out");
      }
      wanted.push_back(i);
    }
    std::vector<int> places = wanted;
    std::sort(places.begin(), places.end());
    std::vector<Loop> loops = s.loops;
    for (size_t k = 0; k < wanted.size(); k++) loops[places[k]] = s.loops[wanted[k]];
    Names order;
    for (const Loop &loop : loops) order.push_back(loop.var);
    if (!check_order(s, order)) return false;
    s.loops = std::move(loops);
    return true;
  }

  bool reorder() {
    if (names_.empty()) return refuse_arity("it needs the loops' names", {});
    StageState next = stage();
    if (!reorder_loops(next, names_)) return false;
    accept(std::move(next));
    return true;
  }

  struct TileRequest {
    std::vector<Arg> vars, outers, inners, factors;
    TailStrategy tail = TailStrategy::Auto;
    SrcLoc tail_loc;
  };

  // tile(x, y, xo, yo, xi, yi, fx, fy), without xo and yo the outer loops keep the names; or lists of equal length:
  // tile({x, y}, {xo, yo}, {xi, yi}, {fx, fy}), tile({x, y}, {xi, yi}, {fx, fy}).
  bool shape_tile(TileRequest *t) {
    std::vector<Arg> args = d_.args;
    if (!args.empty() && args.back().kind != Arg::Kind::List &&
        find_tail(args.back().text, &t->tail)) {
      t->tail_loc = args.back().loc;
      args.pop_back();
    } else if (!args.empty() && args.back().kind == Arg::Kind::Enum) {
      return refuse_tail_name(args.back());
    }
    std::vector<std::vector<Arg>> groups;
    if (!args.empty() && args[0].kind == Arg::Kind::List) {
      for (const Arg &a : args)
        groups.push_back(a.kind == Arg::Kind::List ? a.items : std::vector<Arg>{a});
    } else if (args.size() == 6 || args.size() == 8) {
      for (size_t i = 0; i < args.size(); i += 2) groups.push_back({args[i], args[i + 1]});
    }
    if (groups.size() == 3) groups.insert(groups.begin() + 1, groups[0]);
    if (groups.size() != 4)
      return refuse_arity("it takes two loops, the names of the new ones and two factors", {});
    for (const auto &g : groups) {
      if (g.empty() || g.size() != groups[0].size())
        return refuse_arity("its lists have different lengths", {});
    }
    for (size_t g = 0; g < 4; g++) {
      const ParamSpec::Kind kind = g == 0  ? ParamSpec::Kind::Var
                                   : g < 3 ? ParamSpec::Kind::NewVar
                                           : ParamSpec::Kind::Expr;
      const ParamSpec spec{kind, g == 3 ? "factor" : "loop", false};
      for (Arg &a : groups[g]) {
        const Arg given = a;
        if (!convert(given, spec, &a)) return false;
      }
    }
    t->vars = groups[0];
    t->outers = groups[1];
    t->inners = groups[2];
    t->factors = groups[3];
    return true;
  }

  bool tile() {
    TileRequest t;
    if (!shape_tile(&t)) return false;
    StageState next = stage();
    const size_t n = t.vars.size();
    std::vector<Arg> order = t.inners;
    for (size_t i = 0; i < n; i++) {
      for (size_t j = 0; j < i; j++) {
        if (t.vars[i].text == t.vars[j].text)
          return refuse("S0114", t.vars[i].loc, "tile names " + t.vars[i].text + " twice",
                        "each loop is split once", "name another loop of the stage");
      }
      int loop = 0;
      if (!loop_of(next, t.vars[i], &loop)) return false;
      // An outer loop that keeps a shortened name ("x" for "r.x") keeps the full one.
      Arg outer = t.outers[i];
      if (outer.text == t.vars[i].text) outer.text = next.loops[loop].var;
      if (!check_two_new_names(next, outer, t.inners[i], {next.loops[loop].var})) return false;
      if (!split_loop(next, {loop, outer.text, t.inners[i].text, t.factors[i], t.tail, t.tail_loc}))
        return false;
      order.push_back(outer);
    }
    if (!reorder_loops(next, order)) return false;
    accept(std::move(next));
    return true;
  }

  // ---- how loops run -----------------------------------------------------------------------------
  bool check_race_free(const StageState &s, const Loop &loop) {
    const OrderFacts &facts = cx_.order.of(f_, d_.stage);
    const auto roots = root_vars(f_, s, d_.stage);
    const auto &vars = roots.at(loop.var);
    if (facts.is_free(vars) || s.races) return true;
    if (s.atomic) return check_atomic(s, loop, roots);
    Diagnostic d("S0111", d_.loc,
                 directive() + " cannot run the iterations of " + loop.var + " of " + subject() +
                     " at once");
    for (ir::Name v : vars) {
      const auto it = facts.dependent.find(v);
      if (it != facts.dependent.end()) d.why.push_back({it->second, facts.loc});
    }
    std::string free;
    for (const Loop &other : s.loops) {
      if (facts.is_free(roots.at(other.var))) free += (free.empty() ? "" : ", ") + other.var.str();
    }
    d.help.push_back(free.empty() ? "run the loop serially"
                                  : "use a loop whose iterations are independent: " + free);
    suggest_proof(loop, d);
    return refuse(std::move(d));
  }

  // What else would make such iterations legal, as far as the definition allows it.
  void suggest_proof(const Loop &loop, Diagnostic &d) {
    const Reduction &r = reduction();
    if (!r.proved) {
      d.why.push_back({"neither atomic nor rfactor can help: " + r.because, r.loc});
      return;
    }
    if (r.commutative || d_.kind == DirectiveKind::vectorize)
      d.help.push_back("or say " + subject() + ".atomic() first");
    if (loop.reduction) {
      d.help.push_back("or reduce in parts: let part = " + subject() + ".rfactor({" + loop.var +
                       ": u}), then part.compute_root() and a directive on its loop u");
    }
  }

  // atomic() was proved; what is left are combinations that keep their order, or that need several values at once.
  bool check_atomic(const StageState &s, const Loop &loop,
                    const std::unordered_map<ir::Name, Names> &roots) {
    const Reduction &r = reduction();
    const bool vector = d_.kind == DirectiveKind::vectorize;
    const bool together = !r.ops.empty() && r.ops[0] == Combine::None;
    Diagnostic d("S0124", d_.loc,
                 directive() + " cannot run the iterations of " + loop.var + " of " + subject() +
                     " at once, though it is atomic");
    if (!vector && together) {
      d.why.push_back(
          {"its values belong together, and no instruction updates several at once", r.loc});
    } else if (!r.commutative) {
      const OrderFacts &facts = cx_.order.of(f_, d_.stage);
      const Loop *inner = nullptr;
      for (const Loop &l : s.loops) {
        if (l.var == loop.var) break;
        if (!facts.is_free(roots.at(l.var))) inner = &l;
      }
      if (vector && !inner) return true;
      d.why.push_back(
          {"parts must be combined in the order of the definition (of equal candidates the first "
           "is kept)" +
               (inner ? ", and " + inner->var + " runs inside" : std::string()),
           r.loc});
    } else {
      return true;
    }
    d.help.push_back("reduce in parts: let part = " + subject() + ".rfactor({" + loop.var +
                     ": u})");
    return refuse(std::move(d));
  }

  // ---- atomic, allow_race_conditions -------------------------------------------------------------
  bool atomic() {
    if (d_.stage == 0) {
      return refuse("S0124", d_.loc, "atomic makes no sense on the pure definition of " + f_.name,
                    "its iterations write different elements", "say it of an update");
    }
    const Reduction &r = reduction();
    if (!r.proved) {
      Diagnostic d("S0124", d_.loc, subject() + " cannot be atomic");
      d.why.push_back({r.because, r.loc});
      if (given_[0] && args_[0].text == "true") {
        d.why.push_back(
            {"atomic(true) does not replace the proof: the values would depend on the schedule",
             {}});
      }
      d.help.push_back(
          "atomic takes sums, products, min, max, and, or, xor of the old value, argmin and "
          "argmax; "
          "allow_race_conditions() gives up the promise of equal values");
      return refuse(std::move(d));
    }
    StageState next = stage();
    next.atomic = true;
    accept(std::move(next));
    return true;
  }

  bool allow_race_conditions() {
    StageState next = stage();
    next.races = true;
    accept(std::move(next));
    return true;
  }

  bool mark(StageState &s, int i, ForType kind) {
    Loop &loop = s.loops[i];
    if (kind != ForType::Serial && loop.kind != ForType::Serial && loop.kind != kind) {
      Diagnostic d(
          "S0117", d_.loc,
          "loop " + loop.var + " of " + subject() + " cannot be " + kind_word(kind) + " too");
      d.why.push_back({"it is " + std::string(kind_word(loop.kind)) + " already", loop.loc});
      d.help.push_back("split it, or make it serial(" + loop.var + ") first");
      return refuse(std::move(d));
    }
    if ((kind == ForType::Parallel || kind == ForType::Vectorized) && !check_race_free(s, loop))
      return false;
    loop.kind = kind;
    loop.loc = d_.loc;
    return true;
  }

  bool check_count(const Arg &a, ForType kind) {
    if (kind == ForType::Parallel) return true;
    const int64_t *n = ir::as_const_int(a.expr);
    const int64_t most = kind == ForType::Vectorized ? kMaxLanes : kMaxUnrolled;
    const char *what = kind == ForType::Vectorized ? "lanes" : "copies";
    if (!n) {
      return refuse(
          "S0110", a.loc,
          directive() + " needs a constant number of " + what + ", not " + ir::to_string(a.expr),
          "code is made for a fixed number");
    }
    if (*n >= 1 && *n <= most) return true;
    return refuse("S0110", a.loc, directive() + " of " + std::to_string(*n) + " " + what,
                  "it must be 1 to " + std::to_string(most));
  }

  // vectorize(x, 8), unroll(x, 4), parallel(x, task): the outer loop keeps the name.
  bool run_as(ForType kind, const char *letter) {
    StageState next = stage();
    int i = 0;
    if (!loop_of(next, args_[0], &i)) return false;
    if (given_.size() > 1 && given_[1]) {
      if (!check_count(args_[1], kind)) return false;
      const std::string var = next.loops[i].var;
      Arg inner = Arg::name(implicit_inner(var, letter), d_.loc);
      for (int n = 2; name_exists(next, inner.text); n++)
        inner.text = implicit_inner(var, letter) + std::to_string(n);
      if (!split_loop(next, {i, var, inner.text, args_[1], tail_arg(2), args_[2].loc}))
        return false;
      next.loops[i].kind = ForType::Serial;  // a kind the old loop had stays with the outer one
      if (kind == ForType::Parallel) i++;
      // One lane is no vector.
      const int64_t *n = ir::as_const_int(args_[1].expr);
      if (kind == ForType::Vectorized && n && *n == 1) kind = ForType::Serial;
    }
    if (!mark(next, i, kind)) return false;
    accept(std::move(next));
    return true;
  }

  static bool name_exists(const StageState &s, const std::string &name) {
    for (const Loop &loop : s.loops) {
      if (loop.var == name) return true;
    }
    for (const Relation &r : s.relations) {
      if (r.old == name || r.outer == name || r.inner == name) return true;
    }
    return false;
  }

  // ---- specializations, partitioning, prefetching, sharing -----------------------------------------
  static size_t count_variants(const StageState &s) {
    size_t n = 1;
    for (const Specialization &sp : s.specializations) n += count_variants(sp.state);
    return n;
  }

  // A copy of the stage as it is now; said again for the same condition, it means the same specialization.
  bool specialize() {
    const Expr &condition = args_[0].expr;
    for (const Specialization &sp : stage().specializations) {
      if (ir::equal(sp.condition, condition)) return true;
    }
    if (stage().fails()) {
      Diagnostic d("S0134", d_.loc, "specialize after specialize_fail of " + subject());
      d.why.push_back({"specialize_fail says that nothing else applies", stage().failure_loc});
      d.help.push_back("put it before specialize_fail");
      return refuse(std::move(d));
    }
    if (count_variants(s_.stages[d_.stage]) > kMaxSpecializations) {
      return refuse("S0134", d_.loc, subject() + " is specialized too often",
                    "a stage has at most " + std::to_string(kMaxSpecializations) +
                        " specializations: each is code of its own");
    }
    Specialization sp;
    sp.condition = condition;
    sp.loc = d_.loc;
    sp.state = stage();
    sp.state.specializations.clear();
    sp.state.assumed.push_back(condition);
    for (Relation &r : sp.state.relations) r.factor = under_conditions(r.factor, sp.state.assumed);
    StageState next = stage();
    next.specializations.push_back(std::move(sp));
    accept(std::move(next));
    return true;
  }

  bool specialize_fail() {
    if (stage().specializations.empty()) {
      return refuse("S0134", d_.loc, subject() + " has no specialization: it would always fail", {},
                    "specialize(condition) for the cases that are wanted, then specialize_fail");
    }
    if (stage().fails()) {
      Diagnostic d("S0117", d_.loc, "specialize_fail is said twice of " + subject());
      d.why.push_back({"it was said before", stage().failure_loc});
      return refuse(std::move(d));
    }
    StageState next = stage();
    next.failure = args_[0].text;
    next.failure_loc = d_.loc;
    accept(std::move(next));
    return true;
  }

  bool partition(const std::vector<Arg> &names, Partition policy) {
    if (names.empty()) return refuse_arity("it needs the loops' names", {});
    StageState next = stage();
    for (const Arg &a : names) {
      int i = 0;
      if (!loop_of(next, a, &i)) return false;
      next.loops[i].partition = policy;
      next.loops[i].partition_loc = d_.loc;
    }
    accept(std::move(next));
    return true;
  }

  bool partition_all(Partition policy) {
    StageState next = stage();
    for (Loop &loop : next.loops) {
      loop.partition = policy;
      loop.partition_loc = d_.loc;
    }
    accept(std::move(next));
    return true;
  }

  static LoopAlignStrategy align_of(const std::string &word) {
    return word == "AlignStart" ? LoopAlignStrategy::AlignStart
           : word == "AlignEnd" ? LoopAlignStrategy::AlignEnd
           : word == "NoAlign"  ? LoopAlignStrategy::NoAlign
                                : LoopAlignStrategy::Auto;
  }

  // What can be said of the other stage is judged when all is said: placement.cpp.
  bool compute_with() {
    const Arg &a = args_[0];
    if (!d_.under.empty()) {
      return refuse("S0133", d_.loc, subject() + " cannot share loops",
                    "a specialization runs in loops of its own",
                    "say compute_with of a stage that has no specializations");
    }
    const ir::Function *other = cx_.program.find(a.func);
    if (!other)
      return refuse(no_such_func(a.func, cx_.program, a.func_loc.defined() ? a.func_loc : a.loc));
    const int other_stage = std::max(a.stage, 0);
    if (other_stage >= other->stages()) {
      return refuse("S0106", a.loc, "there is no " + stage_name(a.func, other_stage),
                    a.func + " has " + std::to_string(other->stages() - 1) + " update definitions");
    }
    StageState next = stage();
    if (next.shared.defined()) {
      Diagnostic d("S0117", d_.loc, "compute_with is said twice of " + subject());
      d.why.push_back(
          {"it shares loops with " + stage_name(next.shared.func, next.shared.stage) + " already",
           next.shared.loc});
      d.help.push_back("give it once");
      return refuse(std::move(d));
    }
    SharedLoops shared;
    shared.func = other->name;
    shared.stage = other_stage;
    shared.var = a.text;
    shared.loc = d_.loc;
    for (const Arg &item : args_[1].items) shared.align[item.key] = align_of(item.text);
    if (given_[1] && args_[1].items.empty()) shared.all_align = align_of(args_[1].text);
    next.shared = std::move(shared);
    accept(std::move(next));
    return true;
  }

  static Partition partition_of(const std::string &word) {
    return word == "Never"    ? Partition::Never
           : word == "Always" ? Partition::Always
                              : Partition::Auto;
  }

  bool stage_directive() {
    switch (d_.kind) {
      case DirectiveKind::compute_with: return compute_with();
      case DirectiveKind::specialize: return specialize();
      case DirectiveKind::specialize_fail: return specialize_fail();
      case DirectiveKind::partition: return partition({args_[0]}, partition_of(args_[1].text));
      case DirectiveKind::never_partition: return partition(names_, Partition::Never);
      case DirectiveKind::always_partition: return partition(names_, Partition::Always);
      case DirectiveKind::never_partition_all: return partition_all(Partition::Never);
      case DirectiveKind::always_partition_all: return partition_all(Partition::Always);
      case DirectiveKind::split: return split();
      case DirectiveKind::fuse: return fuse();
      case DirectiveKind::rename: return rename();
      case DirectiveKind::reorder: return reorder();
      case DirectiveKind::tile: return tile();
      case DirectiveKind::vectorize: return run_as(ForType::Vectorized, "v");
      case DirectiveKind::unroll: return run_as(ForType::Unrolled, "u");
      case DirectiveKind::parallel: return run_as(ForType::Parallel, "t");
      case DirectiveKind::atomic: return atomic();
      case DirectiveKind::allow_race_conditions: return allow_race_conditions();
      case DirectiveKind::serial: return run_as(ForType::Serial, "s");
      default: return refuse("S0901", d_.loc, directive() + " is not available yet");
    }
  }

  StageState *stage_ = nullptr;
};

}  // namespace

Reason replay_on_loops(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d) {
  LoopReplay replay(cx, f, s, d);
  replay.run();
  return replay.take_result();
}

}  // namespace calotype::schedule
