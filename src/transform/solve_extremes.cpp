// Max, min and argmax: shifts, positive factors. See solve.h.
#include "solve.h"

#include <cmath>

namespace calotype::transform {

using namespace ir;

void MemberSolver::extreme(const Expr &f) {
  if (shifted(f)) return;
  const Stripped s = strip(f);
  const Expr core = s.core.defined() ? convert(s.core, t_) : make_one(t_);
  m_.repair_class = RepairClass::Scale;
  check_positive(s);
  const Side side = sides_.of(core);
  if (side != Side::R && side != Side::Both) {
    keep(core, acc_);
  } else {
    const Polynomial p = factoring_.run(core);
    const std::vector<Exponential> exponents = shared_exponents(p, core);
    const std::vector<Group> groups = grouped(p);
    if (groups.size() != 1 || !bare(groups[0].r)) throw Stuck{"S0801", core};
    scale(core, p, exponents);
  }
  finish(s, s.wrapped(acc_));
}

void MemberSolver::check_positive(const Stripped &s) {
  if (s.wraps.empty()) return;
  const Name name("positive");
  KnownSigns known = known_;
  known[name] = {false, false, true};
  const Expr h = s.wrapped(make_var(name, t_));
  if (signs_of(h, known).not_negative()) return;
  refuse("S0807", func().loc,
         std::string(to_string(m_.combine)) + " in " + m_.func +
             " with a factor that is not provably positive: `" + pretty(s.wrapped(make_one(t_))) +
             "`",
         "only a positive factor keeps the order of what it multiplies",
         "take the " + std::string(to_string(m_.combine)) +
             " without the factor, or make its sign evident (a sum of exponentials, abs, a "
             "parameter with set_min_value(0))",
         m_.loc);
}

bool MemberSolver::shifted(const Expr &f) {
  std::vector<Addend> parts, loop, reduced;
  split_sum(f, false, parts);
  bool mixed = false;
  for (const Addend &a : parts) {
    const Side side = sides_.of(a.e);
    mixed = mixed || side == Side::Both;
    (side == Side::R ? reduced : loop).push_back(a);
  }
  Expr core = join_sum(loop, t_);
  if (mixed && !shifted_product(f, core, reduced)) return false;
  m_.repair_class = RepairClass::Shift;
  keep(core, acc_);
  Stripped s;  // one after the other, as written: x - m first, which cancels
  for (const Addend &a : reduced) {
    s.wraps.push_back([a](const Expr &x) {
      const Expr r = convert(a.e, x.type());
      return a.negative ? make_sub(x, r) : make_add(x, r);
    });
  }
  finish(s, s.wrapped(acc_));
  return true;
}

bool MemberSolver::shifted_product(const Expr &f, Expr &core, std::vector<Addend> &reduced) {
  Polynomial p, k;
  std::vector<Addend> r;
  try {
    p = factoring_.run(f);
  } catch (const Stuck &) {
    return false;
  }
  for (const Monomial &m : p) {
    const Side side = factoring_.side(m);
    if (side == Side::Both) return false;
    if (side != Side::R) {
      k.push_back(m);
      continue;
    }
    Monomial positive = m;
    positive.coefficient = std::abs(m.coefficient);
    r.push_back({emit(positive, t_), m.coefficient < 0});
  }
  core = emit(k, t_);
  reduced = std::move(r);
  return true;
}

void MemberSolver::best() {
  const size_t key = static_cast<size_t>(m_.value_index);
  for (const Expr &w : m_.written) {
    const Side side = sides_.of(w);
    if (side != Side::R && side != Side::Both) continue;
    refuse("S0807", func().loc, "`" + pretty(w) + "` of " + m_.func + " uses " + used_members(w),
           "the place of a largest value is kept, not repaired",
           "take the argmax of what does not depend on " + used_members(w) +
               ": a positive factor or a shift does not change it",
           m_.loc);
  }
  std::vector<Expr> symbols;
  for (size_t i = 0; i < m_.written.size(); i++) {
    t_ = m_.written[i].type();
    acc_ = make_var(m_.func + "." + std::to_string(i) + ".acc", t_);
    symbols.push_back(acc_);
    keep(m_.written[i], acc_);
    if (i != key) m_.accumulators.back().identity = make_zero(t_);
  }
  const bool largest = m_.combine == Combine::ArgMax;
  const Expr better =
      largest ? make_gt(symbols[key], m_.init[key]) : make_lt(symbols[key], m_.init[key]);
  for (size_t i = 0; i < symbols.size(); i++)
    m_.values.push_back(make_select(better, symbols[i], m_.init[i]));
}

}  // namespace calotype::transform
