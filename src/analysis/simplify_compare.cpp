// Conditions. Comparisons of indices become `form <= 0`, `form == 0` or `form != 0`, are decided where the prover can,
// and are written with positive terms on the left, negative ones on the right and only LT and LE. In `a && b`, b is
// simplified knowing a (and the other way round); in `a || b`, knowing that a is false.
#include <cstdlib>

#include "simplifier.h"

#include "../ir/eval.h"
#include "../ir/visit.h"

namespace calotype::analysis {

using namespace ir;

namespace {

constexpr int kCompareSteps = 60;

/// Positive terms of f, and its negative ones negated.
void split_signs(const LinearForm &f, LinearForm *positive, LinearForm *negative) {
  for (auto &[e, c] : f.terms) {
    if (c > 0)
      positive->terms.emplace_back(e, c);
    else
      negative->terms.emplace_back(e, wrap_sub(0, c));
  }
}

/// All terms are broadcasts of scalars: the form of the scalars.
bool scalar_form(const LinearForm &f, LinearForm *scalar) {
  scalar->constant = f.constant;
  for (auto &[e, c] : f.terms) {
    const Broadcast *b = e.as<Broadcast>();
    if (!b || !b->value.type().is_scalar()) return false;
    scalar->terms.emplace_back(b->value, c);
  }
  normalise(*scalar);
  return true;
}

bool reads_memory(const Expr &e) {
  bool found = false;
  for_each_expr(e, [&](const Expr &x) {
    const Call *c = x.as<Call>();
    if (x.as<Load>() || (c && c->op == Intrinsic::None)) found = true;
  });
  return found;
}

/// Worth learning from: it compares indices somewhere.
bool is_index_condition(const Expr &e) {
  if (const And *op = e.as<And>()) return is_index_condition(op->a) || is_index_condition(op->b);
  if (const Or *op = e.as<Or>()) return is_index_condition(op->a) || is_index_condition(op->b);
  if (const Not *op = e.as<Not>()) return is_index_condition(op->a);
  if (const LT *op = e.as<LT>()) return is_index(op->a.type());
  if (const LE *op = e.as<LE>()) return is_index(op->a.type());
  if (const EQ *op = e.as<EQ>()) return is_index(op->a.type());
  if (const NE *op = e.as<NE>()) return is_index(op->a.type());
  return e.as<Variable>() != nullptr;
}

}  // namespace

const bool *Simplifier::known(const Expr &condition) const {
  auto it = bools_.find(condition.get());
  return it == bools_.end() ? nullptr : &it->second;
}

Expr Simplifier::at_most_zero(LinearForm f, Type t, bool split, const Expr &written) {
  const int lanes = t.lanes();
  if (f.terms.empty()) return make_bool(f.constant <= 0, lanes);
  if (t.is_vector()) {
    LinearForm s;
    if ((!written.defined() || may_shift(f)) && scalar_form(f, &s))
      return make_broadcast(intern(at_most_zero(std::move(s), t.element_of(), split)), lanes);
  }
  int64_t g = content(f);
  if (g > 1) {
    int64_t limit = floor_div(wrap_sub(0, f.constant), g);  // u <= limit
    f.constant = 0;
    f = divide_exactly(f, g);
    f.constant = wrap_sub(0, limit);
  }
  LinearForm terms = f;
  terms.constant = 0;
  ModulusRemainder m = memo_->residues.of(terms);
  if (m.modulus > 1) {
    int64_t limit = wrap_sub(0, f.constant);
    f.constant = wrap_sub(0, limit - floor_mod(wrap_sub(limit, m.remainder), m.modulus));
  }
  LinearForm minus = scale(f, -1);
  if (not_negative(minus, kCompareSteps)) return make_bool(true, lanes);
  LinearForm above = f;
  above.constant = wrap_sub(above.constant, 1);
  if (not_negative(above, kCompareSteps)) return make_bool(false, lanes);
  if (f.terms.size() == 1 && std::abs(f.terms[0].second) == 1) {
    // The type's limits: x <= -c, or x >= c.
    const bool below = f.terms[0].second == 1;
    const int64_t low = t.element_of().min_int(),
                  high = static_cast<int64_t>(t.element_of().max_uint());
    const int64_t limit = below ? wrap_sub(0, f.constant) : f.constant;
    if (below ? limit >= high : limit <= low) return make_bool(true, lanes);
    if (below ? limit < low : limit > high) return make_bool(false, lanes);
  }
  if (written.defined() && !may_shift(f)) return written;

  if (f.terms.size() == 1) {
    const auto &[e, c] = f.terms[0];
    const Div *d = e.as<Div>();
    const int64_t *k = d ? as_const_int(d->b) : nullptr;
    int64_t bound;
    if (k && *k > 1 && !mul_overflows(f.constant, *k, &bound) && std::abs(bound) < INT32_MAX / 2) {
      // a / k <= -c: a <= -c*k + k - 1; and a / k >= c: a >= c*k.
      LinearForm a = form_of(d->a);
      if (a.terms.size() > 1 && !may_shift(a)) return plain_comparison(f, t);
      if (c == 1) {
        a.constant = wrap_add(a.constant, bound - (*k - 1));
        return at_most_zero(std::move(a), t, split);
      }
      a = scale(a, -1);
      a.constant = wrap_add(a.constant, bound);
      return at_most_zero(std::move(a), t, split);
    }
  }
  // A side of a min or max that is decided drops out.
  for (size_t i = 0; split && t.is_scalar() && i < f.terms.size(); i++) {
    const auto [e, c] = f.terms[i];
    const Min *mn = e.as<Min>();
    const Max *mx = e.as<Max>();
    if (!mn && !mx) continue;
    bool both = mn ? c < 0 : c > 0;  // both sides must hold
    LinearForm rest = f;
    rest.terms.erase(rest.terms.begin() + static_cast<long>(i));
    LinearForm side[2] = {combine(rest, 1, form_of(mn ? mn->a : mx->a), c),
                          combine(rest, 1, form_of(mn ? mn->b : mx->b), c)};
    if (!may_shift(side[0]) || !may_shift(side[1])) continue;
    for (int s = 0; s < 2; s++) {
      Expr one = at_most_zero(side[s], t, false);
      if (is_const_one(one) == both && is_const(one)) return at_most_zero(side[1 - s], t, true);
      if (is_const(one)) return one;
    }
  }
  return plain_comparison(f, t);
}

Expr Simplifier::plain_comparison(const LinearForm &f, Type t) {
  LinearForm positive, negative;
  split_signs(f, &positive, &negative);
  if (f.constant > 0 && !negative.terms.empty()) {
    negative.constant = 1 - f.constant;
    if (negative.constant < 0) {  // P + c < N reads better than P < N - c
      positive.constant = -negative.constant;
      negative.constant = 0;
    }
    return make_lt(build(std::move(positive), t), build(std::move(negative), t));
  }
  negative.constant = wrap_sub(0, f.constant);
  if (positive.terms.empty()) {
    positive.constant = f.constant;
    negative.constant = 0;
  }
  return make_le(build(std::move(positive), t), build(std::move(negative), t));
}

Expr Simplifier::is_zero(LinearForm f, Type t) {
  const int lanes = t.lanes();
  if (f.terms.empty()) return make_bool(f.constant == 0, lanes);
  if (t.is_vector()) {
    LinearForm s;
    if (scalar_form(f, &s))
      return make_broadcast(intern(is_zero(std::move(s), t.element_of())), lanes);
  }
  int64_t g = content(f);
  if (g > 1) {
    if (f.constant % g != 0) return make_bool(false, lanes);
    f = divide_exactly(f, g);
  }
  ModulusRemainder m = memo_->residues.of(f);
  if (m.modulus == 0) return make_bool(m.remainder == 0, lanes);
  if (m.remainder != 0) return make_bool(false, lanes);
  LinearForm above = f, below = scale(f, -1);
  above.constant = wrap_sub(above.constant, 1);
  below.constant = wrap_sub(below.constant, 1);
  if (not_negative(above, kCompareSteps) || not_negative(below, kCompareSteps))
    return make_bool(false, lanes);
  ConstInterval r = memo_->ranges.of(f);
  if (r.min_defined && r.max_defined && r.min == 0 && r.max == 0) return make_bool(true, lanes);
  if (!truths_.empty() && not_negative(f, kCompareSteps) &&
      not_negative(scale(f, -1), kCompareSteps)) {
    return make_bool(true, lanes);
  }
  if (f.terms[0].second < 0) f = scale(f, -1);
  LinearForm positive, negative;
  split_signs(f, &positive, &negative);
  negative.constant = wrap_sub(0, f.constant);
  return make_eq(build(std::move(positive), t), build(std::move(negative), t));
}

Expr Simplifier::visit_compare(const Expr &e) {
  Expr a, b;
  bool negate_equal = false, swap = false, strict = false, equality = false;
  switch (e.kind()) {
    case NodeKind::EQ: a = e.as<EQ>()->a, b = e.as<EQ>()->b, equality = true; break;
    case NodeKind::NE:
      a = e.as<NE>()->a, b = e.as<NE>()->b, equality = true, negate_equal = true;
      break;
    case NodeKind::LT: a = e.as<LT>()->a, b = e.as<LT>()->b, strict = true; break;
    case NodeKind::LE: a = e.as<LE>()->a, b = e.as<LE>()->b; break;
    case NodeKind::GT: a = e.as<GT>()->a, b = e.as<GT>()->b, strict = true, swap = true; break;
    default: a = e.as<GE>()->a, b = e.as<GE>()->b, swap = true; break;
  }
  const Type t = a.type();
  if (is_index(t)) {
    // a - b as one sum.
    LinearForm f;
    if (swap) std::swap(a, b);
    Expr sa = mutate(a), sb = mutate(b);
    f = combine(form_of(sa), 1, form_of(sb), -1);
    // Parts may belong together now (div and mod pairs).
    f = form_of(build(std::move(f), t));
    if (equality) {
      Expr r = is_zero(std::move(f), t);
      return negate_equal ? negated(intern(r)) : r;
    }
    if (strict) f.constant = wrap_add(f.constant, 1);
    // One term against a constant cannot overflow.
    Expr written;
    if (f.terms.size() > 1) written = strict ? make_lt(sa, sb) : make_le(sa, sb);
    return at_most_zero(std::move(f), t, true, written);
  }
  a = mutate(a);
  b = mutate(b);
  if (swap) std::swap(a, b);
  const int lanes = t.lanes();
  if (t.is_int_or_uint()) {
    if (a.same_as(b)) return make_bool(equality ? !negate_equal : !strict, lanes);
    Expr probe = equality ? (negate_equal ? make_ne(a, b) : make_eq(a, b))
                 : strict ? make_lt(a, b)
                          : make_le(a, b);
    ConstInterval r = memo_->ranges.of(probe);
    if (r.min == r.max) return make_bool(r.min != 0, lanes);
    if (t.is_bool() && equality) {
      // b == true is b; of two unknowns nothing better is known.
      if (is_const(a)) std::swap(a, b);
      if (is_const_one(b)) return negate_equal ? negated(a) : a;
      if (is_const_zero(b)) return negate_equal ? a : negated(a);
    }
    return probe;
  }
  Expr r = equality ? (negate_equal ? make_ne(a, b) : make_eq(a, b))
           : strict ? make_lt(a, b)
                    : make_le(a, b);
  if (is_const(a) && is_const(b) && !t.is_handle()) {
    Expr folded = fold(r);
    if (folded.defined()) return folded;
  }
  return r;
}

Expr Simplifier::negated(const Expr &c) {
  if (is_const_one(c)) return make_zero(c.type());
  if (is_const_zero(c)) return make_bool(true, c.type().lanes());
  if (const Not *op = c.as<Not>()) return op->a;
  if (const Broadcast *op = c.as<Broadcast>()) return make_broadcast(negated(op->value), op->lanes);
  if (const EQ *op = c.as<EQ>()) return make_ne(op->a, op->b);
  if (const NE *op = c.as<NE>()) return make_eq(op->a, op->b);
  const LT *lt = c.as<LT>();
  const LE *le = c.as<LE>();
  if (lt && is_index(lt->a.type())) return mutate(make_le(lt->b, lt->a));
  if (le && is_index(le->a.type())) return mutate(make_lt(le->b, le->a));
  // Not for floats: !(a < b) holds for NaN, b <= a does not.
  if (lt && lt->a.type().is_int_or_uint()) return make_le(lt->b, lt->a);
  if (le && le->a.type().is_int_or_uint()) return make_lt(le->b, le->a);
  if (const And *op = c.as<And>()) return make_or(negated(op->a), negated(op->b));
  if (const Or *op = c.as<Or>()) return make_and(negated(op->a), negated(op->b));
  return make_not(c);
}

Expr Simplifier::visit_and(const And *op) {
  Expr a = mutate(op->a);
  if (is_const_zero(a)) return a;
  if (is_const_one(a)) return mutate(op->b);
  Expr b = mutate(op->b);
  if (is_const_zero(b) || is_const_one(b)) return is_const_one(b) ? a : b;
  if (a.same_as(b)) return a;
  if (a.type().is_scalar() && is_index_condition(a) && is_index_condition(b) && !reads_memory(b)) {
    Assume assume(this);
    assume.truth(a);
    if (assume.learned()) b = mutate(b);
    if (is_const_one(b)) return a;
    if (is_const_zero(b)) return b;
  }
  if (a.type().is_scalar() && !a.as<And>() && is_index_condition(a) && is_index_condition(b)) {
    Assume assume(this);
    assume.truth(b);
    if (assume.learned()) {
      Expr c = mutate(a);
      if (is_const_one(c)) return b;
      if (is_const_zero(c)) return c;
    }
  }
  if (intern(negated(a)).same_as(b)) return make_zero(a.type());
  return make_and(a, b);
}

Expr Simplifier::visit_or(const Or *op) {
  Expr a = mutate(op->a);
  if (is_const_one(a)) return a;
  if (is_const_zero(a)) return mutate(op->b);
  Expr b = mutate(op->b);
  if (is_const_zero(b) || is_const_one(b)) return is_const_zero(b) ? a : b;
  if (a.same_as(b)) return a;
  if (a.type().is_scalar() && is_index_condition(a) && is_index_condition(b) && !reads_memory(b)) {
    Assume assume(this);
    assume.truth(a, false);
    if (assume.learned()) b = mutate(b);
    if (is_const_zero(b)) return a;
    if (is_const_one(b)) return b;
  }
  if (a.type().is_scalar() && !a.as<Or>() && is_index_condition(a) && is_index_condition(b)) {
    Assume assume(this);
    assume.truth(b, false);
    if (assume.learned()) {
      Expr c = mutate(a);
      if (is_const_zero(c)) return b;
      if (is_const_one(c)) return c;
    }
  }
  if (intern(negated(a)).same_as(b)) return make_bool(true, a.type().lanes());
  return make_or(a, b);
}

}  // namespace calotype::analysis
