// See schedule_mistakes.h.
#include "schedule_mistakes.h"

namespace calotype::test {

ScheduleMistake random_mistake(const ir::Program &p, Dice &dice) {
  const ir::Function &f = dice.pick(p.funcs), &g = dice.pick(p.funcs);
  const auto var = [&](const ir::Function &of) {
    return of.args.empty() ? std::string("x") : of.args[dice.below(of.dimensions())].str();
  };
  const std::string v = var(f), w = var(g), n = f.name.str(), m = g.name.str();
  const std::string none = f.args.empty() ? "S0103" : "";  // no loop is called v
  // What follows from where the Func is: inlined, an output, its loops renamed by then.
  const std::set<std::string> anywhere = {"S0103", "S0104", "S0106", "S0107", "S0108", "S0109",
                                          "S0111", "S0112", "S0113", "S0115", "S0117"};
  const auto with = [&](std::set<std::string> more) {
    more.insert(anywhere.begin(), anywhere.end());
    return more;
  };
  const std::vector<ScheduleMistake> all = {
      {"nothing.compute_root()", {"S0101"}},
      {n + ".vectorize(zz, 4)", {"S0103"}},
      {n + ".compute_at(nothing, " + w + ")", {"S0101", "S0108"}},
      {n + ".compute_at(" + m + ", " + w + ")", anywhere, false},
      {n + ".store_at(" + m + ", " + w + ")", anywhere, false},
      {n + ".compute_with(" + m + ", " + w + ")", with({"S0133", "S0134", "S0105"}), false},
      {n + ".hoist_storage(" + m + ", " + w + ")", anywhere, false},
      {n + ".split(" + v + ", a, a, 4)", {"S0114", "S0103", "S0117"}},
      {n + ".split(" + v + ", a, b, 0)", {"S0110", "S0103", "S0117"}},
      {n + ".split(" + v + ", a, b, -3)", {"S0110", "S0103", "S0117"}},
      {n + ".split(" + v + ", a, b, 1000000000)", with({"S0110"}), false},
      {n + ".split(" + v + ", a, b, " + v + ")", {"S0103", "S0110"}},
      {n + ".split(" + v + ", a, b, 4, Sideways)", {"S0105"}},
      {n + ".split(" + v + ", a, b, zz)", {"S0103"}},
      {n + ".split(" + v + ", a, b, 4, 5)", {"S0105"}},
      {n + ".reorder(" + v + ", " + v + ")", {"S0114", "S0103"}},
      {n + ".vectorize(" + v + ", 100000)", {"S0110", "S0103", "S0112", "S0117"}},
      {n + ".vectorize(" + v + ")", anywhere, false},
      {n + ".unroll(" + v + ")", anywhere, false},
      {n + ".unroll(" + v + ", 100000)", with({"S0110"}), false},
      {n + ".update(7).parallel(" + v + ")", {"S0106"}},
      {n + ".update(0).vectorize(" + v + ", 4)", anywhere, false},
      {n + ".fuse(" + v + ", " + v + ", t)", {"S0114", "S0103"}},
      {n + ".bound(" + v + ", 5, 1)", with({"S0110", "S0116"}), false},
      {n + ".bound_extent(" + v + ", 0)", {"S0110", "S0103"}},
      {n + ".align_bounds(" + v + ", 0)", {"S0110", "S0103"}},
      {n + ".align_bounds(zz, 4)", {"S0103"}},
      {n + ".reorder_storage(" + v + ", " + v + ")", {"S0114", "S0108", "S0103"}},
      {n + ".frobnicate(" + v + ")", {"S0102"}},
      {n + ".compute_inline()", anywhere, false},
      {n + ".store_root()", anywhere, false},
      {n + ".rfactor(" + v + ", u)", {"S0108", "S0103", "S0106", "S0123"}},
      {n + ".update(0).rfactor({" + v + ": u})", with({"S0122", "S0123", "S0134"}), false},
      {n + ".in(" + m + ")", with({"S0121"}), false},
      {n + ".clone_in()", {"S0105", "S0108"}},
      {"let " + m + " = " + n + ".in()", {"S0109", "S0121"}},
      {n + ".atomic()", {"S0124", "S0106", "S0108"}},
      {n + ".update(0).atomic().parallel(" + v + ")", with({"S0124"}), false},
      {"def b(f)\n  f.parallel(q)\nend\nb(" + n + ")", {"S0103"}},
      {"b(" + n + ")", {"S0125"}},
      {n + ".specialize_fail(\"no\")", with({"S0134"}), false},
      {n + ".specialize(nothing > 3)", {"S0103"}},
      {n + ".specialize(1 > 2).vectorize(zz, 4)", {"S0103"}},
      {n + ".store_in(VTCM)", {"S0130", "S0108"}},
      {n + ".store_in(Attic)", {"S0105"}},
      {n + ".fold_storage(" + v + ", 0)", {"S0110", "S0108", "S0103"}},
      {n + ".bound_storage(" + v + ", -1)", {"S0110", "S0108", "S0103"}},
      {n + ".align_storage(" + v + ", 0)", {"S0110", "S0108", "S0103"}},
      {n + ".always_partition(zz)", {"S0103"}},
      {n + ".partition(" + v + ", Sometimes)", {"S0105"}},
      {n + ".gpu_blocks(" + v + ")", {"S0130", "S0103"}},
      {n + ".async()", {"S0901"}},
      {n + ".prefetch(" + m + ", " + v + ", " + v + ", 2)", {"S0901"}},
      {n + ".tile(" + v + ", " + w + ", a, b, c, d, 3, 4)", with({"S0114"}), false},
      {n + ".tile(" + v + ", " + v + ", a, b, c, d, 3, 4)", {"S0103", "S0114", "S0117"}},
      {n + ".tile({" + v + "}, {a, b}, {c}, {3})", {"S0105"}},
      {n + ".split(" + v + ", a, b", {"S0001"}},
      {n + ".memoize(zz)", {"S0103", "S0108"}},
      {n + ".rename(zz, q)", {"S0103"}},
      {n + ".serial()", {"S0105"}},
  };
  return dice.pick(all);
}

}  // namespace calotype::test
