// Index arithmetic (Int(32), Int(64), scalars and vectors) through linear forms.
//
// Normal forms. A sum is terms in ir::compare order, positive coefficients before negative ones, the constant last. A
// product of non-constants is its sorted factors, constant factors and signs pulled out. a / k and a % k have no part
// that is a multiple of k left in `a`, so their constant lies in [0, k). min and max have common parts pulled out, and
// the largest constant of their non-constant operands; a constant operand comes last.
//
// Values that a program computes (loads, calls, parameters: is_data) may lie anywhere in their type, unlike indices.
// Sums and products of them may be regrouped, since they wrap, but min, max, division and comparison only where no
// intermediate value gets larger than what the program wrote.
#include <algorithm>

#include "simplifier.h"

namespace calotype::analysis {

using namespace ir;

namespace {

/// Forms of shared sub-expressions longer than this stay terms: flattening them everywhere would be quadratic.
constexpr size_t kMaxSharedTerms = 48;
/// Operands of a min or max that are compared pairwise.
constexpr size_t kMaxPairs = 6;
constexpr int kQuickSteps = 16;

bool is_single(const LinearForm &f, int64_t coefficient) {
  return f.terms.size() == 1 && f.terms[0].second == coefficient;
}

void add_to(LinearForm *into, const LinearForm &f, int64_t k) {
  into->constant = wrap_add(into->constant, wrap_mul(k, f.constant));
  for (auto &[e, c] : f.terms) into->terms.emplace_back(e, wrap_mul(c, k));
}

bool fits(Type t, int64_t v) { return t.bits() == 64 || (v >= INT32_MIN && v <= INT32_MAX); }

bool index_operands(const Expr &e, Expr *a, Expr *b) {
  switch (e.kind()) {
#define CALO_BINARY(K) \
  case NodeKind::K:    \
    *a = e.as<K>()->a; \
    *b = e.as<K>()->b; \
    return true;
    CALO_BINARY(Add)
    CALO_BINARY(Sub)
    CALO_BINARY(Mul)
    CALO_BINARY(Div)
    CALO_BINARY(Mod)
    CALO_BINARY(Min)
    CALO_BINARY(Max)
#undef CALO_BINARY
    default: return false;
  }
}

void factors_of(const Expr &e, std::vector<Expr> *out) {
  if (const Mul *m = e.as<Mul>()) {
    if (out->size() < 16) {
      factors_of(m->a, out);
      factors_of(m->b, out);
      return;
    }
  }
  out->push_back(e);
}

/// An order of operands that only looks at their terms; the constant comes last.
bool operand_before(const LinearForm &a, const LinearForm &b) {
  size_t n = std::min(a.terms.size(), b.terms.size());
  for (size_t i = 0; i < n; i++) {
    if (int c = compare(a.terms[i].first, b.terms[i].first)) return c < 0;
    if (a.terms[i].second != b.terms[i].second) return a.terms[i].second > b.terms[i].second;
  }
  return a.terms.size() > b.terms.size();
}

/// What to take out of all operands of a min or max. Shifting all operands shifts it alike, so that equal shapes result.
int64_t constant_to_pull(const std::vector<LinearForm> &operands, bool shift, Type t) {
  bool first = true;
  int64_t c = 0;
  for (const LinearForm &f : operands) {
    if (shift && f.terms.empty()) continue;
    if (first) {
      c = f.constant;
    } else if (shift) {
      c = std::max(c, f.constant);
    } else {
      // Towards zero only.
      c = (c < 0) != (f.constant < 0) ? 0
          : c < 0                     ? std::max(c, f.constant)
                                      : std::min(c, f.constant);
    }
    first = false;
  }
  for (const LinearForm &f : operands) {
    if (!fits(t, wrap_sub(f.constant, c))) return 0;
  }
  return c;
}

}  // namespace

const LinearForm &Simplifier::form_of(const Expr &e) {
  auto it = forms_.find(e.get());
  if (it != forms_.end()) return it->second;
  Expr key = intern(e);
  if (!key.same_as(e)) return form_of(key);
  LinearForm f = linear_form(key);
  for (auto &t : f.terms) t.first = intern(t.first);
  return forms_.emplace(key.get(), std::move(f)).first->second;
}

// Sums are walked from the top as far as nobody else uses the parts, so that a long sum is merged once.
void Simplifier::gather(const Expr &e, int64_t k, bool root, LinearForm *into) {
  if (root || e->ref_count() == 1) {
    if (const Add *op = e.as<Add>()) {
      gather(op->a, k, false, into);
      return gather(op->b, k, false, into);
    }
    if (const Sub *op = e.as<Sub>()) {
      gather(op->a, k, false, into);
      return gather(op->b, wrap_sub(0, k), false, into);
    }
    if (const Mul *op = e.as<Mul>()) {
      if (const int64_t *c = as_const_int(op->b))
        return gather(op->a, wrap_mul(k, *c), false, into);
      if (const int64_t *c = as_const_int(op->a))
        return gather(op->b, wrap_mul(k, *c), false, into);
      Expr a = mutate(op->a), b = mutate(op->b);
      if (const int64_t *c = as_const_int(b)) return add_to(into, form_of(a), wrap_mul(k, *c));
      if (const int64_t *c = as_const_int(a)) return add_to(into, form_of(b), wrap_mul(k, *c));
      return add_to(into, product(a, b), k);
    }
  }
  if (const int64_t *c = as_const_int(e)) {
    into->constant = wrap_add(into->constant, wrap_mul(k, *c));
    return;
  }
  Expr s = mutate(e);
  const LinearForm &f = form_of(s);
  if (f.terms.size() > kMaxSharedTerms)
    add_to(into, atom(s), k);
  else
    add_to(into, f, k);
}

LinearForm Simplifier::product(const Expr &a, const Expr &b) {
  LinearForm fa = form_of(a), fb = form_of(b);
  if (fa.terms.empty()) return scale(fb, fa.constant);
  if (fb.terms.empty()) return scale(fa, fb.constant);
  if (a.type().is_vector()) {
    // A ramp times a broadcast is a ramp.
    for (int swap = 0; swap < 2; swap++) {
      const Ramp *r = (swap ? b : a).as<Ramp>();
      const Broadcast *s = (swap ? a : b).as<Broadcast>();
      if (!r || !s || !r->base.type().is_scalar() || !s->value.type().is_scalar()) continue;
      Expr e = make_ramp(mutate(make_mul(r->base, s->value)), mutate(make_mul(r->stride, s->value)),
                         r->lanes);
      return form_of(e);
    }
  }
  int64_t k = 1;
  for (LinearForm *f : {&fa, &fb}) {
    int64_t g = gcd(content(*f), f->constant);
    if (f->terms[0].second < 0) g = -g;
    if (g != 0 && g != 1) {
      *f = divide_exactly(*f, g);
      k = wrap_mul(k, g);
    }
  }
  std::vector<Expr> factors;
  factors_of(to_expr(fa, a.type()), &factors);
  factors_of(to_expr(fb, b.type()), &factors);
  std::sort(factors.begin(), factors.end(), ExprLess());
  Expr e = factors[0];
  for (size_t i = 1; i < factors.size(); i++) e = make_mul(e, factors[i]);
  return scale(atom(e), k);
}

// (a / k) * k + a % k = a, scaled; a - (a / k) * k = a % k; min(a, b) + max(a, b) = a + b.
Expr Simplifier::build(LinearForm f, Type t) {
  for (size_t i = 0; i < f.terms.size() && f.terms.size() > 1; i++) {
    const auto [e, c] = f.terms[i];
    const Div *d = e.as<Div>();
    const int64_t *k = d ? as_const_int(d->b) : nullptr;
    if (!k || *k < 2 || c % *k != 0) continue;
    // Worth it only if all of a's terms go away.
    const int64_t times = -(c / *k);
    const LinearForm &a = form_of(d->a);
    bool covered = std::all_of(a.terms.begin(), a.terms.end(), [&](auto &x) {
      return std::any_of(f.terms.begin(), f.terms.end(), [&](auto &y) {
        return y.first.same_as(x.first) && y.second == wrap_mul(x.second, times);
      });
    });
    if (!covered) continue;
    LinearForm rest = f;
    rest.terms.erase(rest.terms.begin() + static_cast<long>(i));
    rest = combine(rest, 1, a, -times);
    return build(combine(rest, 1, modulo(a, *k, t), times), t);
  }
  for (size_t i = 0; i < f.terms.size(); i++) {
    const auto [e, c] = f.terms[i];
    Expr partner, sum;
    int64_t factor = 1;
    if (const Mod *m = e.as<Mod>()) {
      const int64_t *k = as_const_int(m->b);
      if (!k || *k < 2) continue;
      partner = intern(make_div(m->a, m->b));
      sum = m->a;
      factor = *k;
    } else if (const Min *mn = e.as<Min>()) {
      partner = intern(make_max(mn->a, mn->b));
    } else {
      continue;
    }
    for (size_t j = 0; j < f.terms.size(); j++) {
      if (!f.terms[j].first.same_as(partner) || f.terms[j].second != wrap_mul(c, factor)) continue;
      LinearForm add = sum.defined()
                           ? form_of(sum)
                           : combine(form_of(e.as<Min>()->a), 1, form_of(e.as<Min>()->b), 1);
      f.terms.erase(f.terms.begin() + static_cast<long>(std::max(i, j)));
      f.terms.erase(f.terms.begin() + static_cast<long>(std::min(i, j)));
      return build(combine(f, 1, add, c), t);
    }
  }
  return intern(to_expr(f, t));
}

bool Simplifier::is_data(const Expr &e) {
  auto it = memo_->data.find(e.get());
  if (it != memo_->data.end()) return it->second;
  bool r = compute_is_data(e);
  memo_->data.emplace(e.get(), r);
  memo_->keep.push_back(e);
  return r;
}

bool Simplifier::compute_is_data(const Expr &e) {
  if (!is_index(e.type())) return e.type().is_float();
  ConstInterval r = memo_->ranges.of(e);
  const int64_t limit = int64_t(1) << (e.type().bits() - 4);
  if (r.min_defined && r.max_defined && r.min > -limit && r.max < limit) return false;
  switch (e.kind()) {
    case NodeKind::IntImm: return false;
    case NodeKind::Variable:
      // Sizes of buffers are indices, scalar parameters are data.
      return (e.as<Variable>()->param.defined() && !e.as<Variable>()->param->is_buffer) ||
             data_variables_.count(e.as<Variable>()->name);
    case NodeKind::Call: {
      const Call *op = e.as<Call>();
      if (op->op == Intrinsic::likely || op->op == Intrinsic::likely_if_innermost)
        return is_data(op->args[0]);
      return op->op == Intrinsic::None || intrinsic_class(op->op) != IntrinsicClass::Buffer;
    }
    case NodeKind::Cast: {
      const Expr &v = e.as<Cast>()->value;
      return is_index(v.type()) ? is_data(v) : true;
    }
    case NodeKind::Select:
      return is_data(e.as<Select>()->true_value) || is_data(e.as<Select>()->false_value);
    case NodeKind::Broadcast: return is_data(e.as<Broadcast>()->value);
    case NodeKind::Ramp: return is_data(e.as<Ramp>()->base) || is_data(e.as<Ramp>()->stride);
    case NodeKind::Let: return is_data(e.as<Let>()->value) || is_data(e.as<Let>()->body);
    case NodeKind::Not:
    case NodeKind::Load:
    case NodeKind::Reinterpret:
    case NodeKind::Shuffle:
    case NodeKind::VectorReduce: return true;
    default: {
      Expr a, b;
      return !index_operands(e, &a, &b) || is_data(a) || is_data(b);
    }
  }
}

bool Simplifier::may_shift(const LinearForm &f) {
  return std::none_of(f.terms.begin(), f.terms.end(),
                      [&](auto &term) { return is_data(term.first); });
}

LinearForm Simplifier::divide(LinearForm f, int64_t k, Type t) {
  if (f.terms.empty()) return {{}, floor_div(f.constant, k)};
  if (k == 1) return f;
  const bool shift = may_shift(f);
  const LinearForm written = f;
  // Multiples of k come out exactly.
  LinearForm out;
  for (auto &[e, c] : f.terms) {
    if (c / k != 0) out.terms.emplace_back(e, c / k);
  }
  out.constant = shift ? floor_div(f.constant, k) : f.constant / k;
  f = combine(f, 1, out, -k);
  if (!shift && !f.terms.empty() && !is_single(f, 1)) {
    // What is left of data could be larger than the whole.
    f = written;
    out = {};
  }
  if (f.terms.empty()) return combine(out, 1, {{}, floor_div(f.constant, k)}, 1);

  ModulusRemainder m = memo_->residues.of(f);
  if (m.modulus == 0) return combine(out, 1, {{}, floor_div(m.remainder, k)}, 1);
  int64_t g = gcd(m.modulus, k);
  // f = g*u + r: which r in [0, g) does not matter to the quotient, so take the least that keeps the constant in [0, k).
  if (g > 1 && shift) f.constant = std::max<int64_t>(0, f.constant - floor_mod(m.remainder, g));

  // f = g*u + v with v within one cell of width g: the quotient is (u + cell) / (k / g).
  std::vector<int64_t> widths{k};
  for (auto &term : f.terms) widths.push_back(gcd(k, term.second));
  std::sort(widths.begin(), widths.end(), std::greater<int64_t>());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  for (int64_t width : widths) {
    if (width < 2) break;
    LinearForm u, v;
    v.constant = f.constant;
    for (auto &term : f.terms) {
      if (term.second % width == 0)
        u.terms.emplace_back(term.first, term.second / width);
      else
        v.terms.push_back(term);
    }
    ConstInterval r = memo_->ranges.of(v);
    if (!r.min_defined || !r.max_defined || floor_div(r.min, width) != floor_div(r.max, width))
      continue;
    u.constant = floor_div(r.min, width);
    if (width == k) return combine(out, 1, u, 1);
    return combine(out, 1, divide(std::move(u), k / width, t), 1);
  }

  // (a / j + c) / k = (a + c * j) / (j * k)
  if (is_single(f, 1) && (shift || f.constant == 0)) {
    const Div *d = f.terms[0].first.as<Div>();
    const int64_t *j = d ? as_const_int(d->b) : nullptr;
    int64_t jk;
    if (j && *j > 1 && !mul_overflows(*j, k, &jk) && jk <= INT32_MAX) {
      LinearForm inner = form_of(d->a);
      inner.constant = wrap_add(inner.constant, wrap_mul(f.constant, *j));
      return combine(out, 1, divide(std::move(inner), jk, t), 1);
    }
  }
  Expr q = make_div(build(std::move(f), t), make_int(t, k));
  return combine(out, 1, atom(q), 1);
}

LinearForm Simplifier::modulo(LinearForm f, int64_t k, Type t) {
  // Modulo a power of two wrapping does no harm.
  const bool power_of_two = (k & (k - 1)) == 0;
  // x % j may be replaced by x where its coefficient times j is a multiple of k.
  for (size_t i = 0; i < f.terms.size(); i++) {
    const Mod *m = f.terms[i].first.as<Mod>();
    const int64_t *j = m ? as_const_int(m->b) : nullptr;
    int64_t c = f.terms[i].second;
    if (!j || *j < 2 || floor_mod(wrap_mul(c % k, *j % k), k) != 0) continue;
    const bool alone = f.constant == 0 && is_single(f, 1);
    if (!power_of_two && !alone && !(may_shift(form_of(m->a)) && may_shift(f))) continue;
    LinearForm rest = f;
    rest.terms.erase(rest.terms.begin() + static_cast<long>(i));
    f = combine(rest, 1, form_of(m->a), c);
    i = static_cast<size_t>(-1);
  }
  const bool shift = power_of_two || may_shift(f);
  const LinearForm written = f;
  for (auto &term : f.terms) term.second %= k;
  f.terms.erase(
      std::remove_if(f.terms.begin(), f.terms.end(), [](auto &x) { return x.second == 0; }),
      f.terms.end());
  f.constant = shift || f.terms.empty() ? floor_mod(f.constant, k) : f.constant % k;
  if (f.terms.empty()) return f;
  if (!shift && !is_single(f, 1)) f = written;  // as in divide

  ModulusRemainder m = memo_->residues.of(f);
  if (m.modulus % k == 0) return {{}, floor_mod(m.remainder, k)};

  std::vector<int64_t> widths{k};
  for (auto &term : f.terms) widths.push_back(gcd(k, term.second));
  std::sort(widths.begin(), widths.end(), std::greater<int64_t>());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  for (int64_t width : widths) {
    if (width < 2) break;
    LinearForm u, v;
    v.constant = f.constant;
    for (auto &term : f.terms) {
      if (term.second % width == 0)
        u.terms.emplace_back(term.first, term.second / width);
      else
        v.terms.push_back(term);
    }
    ConstInterval r = memo_->ranges.of(v);
    if (!r.min_defined || !r.max_defined || floor_div(r.min, width) != floor_div(r.max, width))
      continue;
    int64_t cell = floor_div(r.min, width);
    v.constant -= cell * width;
    if (width == k) return v;
    u.constant = cell;
    return combine(modulo(std::move(u), k / width, t), width, v, 1);
  }
  return atom(make_mod(build(std::move(f), t), make_int(t, k)));
}

// Works on min; a max of f is the min of -f with every bound turned round (sign).
LinearForm Simplifier::min_max(bool is_min, std::vector<LinearForm> operands, Type t) {
  const int64_t sign = is_min ? 1 : -1;
  // min(min(a, b) + c, d) = min(a + c, b + c, d)
  for (size_t i = 0; i < operands.size() && operands.size() < 300; i++) {
    while (is_single(operands[i], 1)) {
      const Expr e = operands[i].terms[0].first;
      const Min *mn = e.as<Min>();
      const Max *mx = e.as<Max>();
      if (is_min ? !mn : !mx) break;
      int64_t c = operands[i].constant;
      LinearForm a = form_of(is_min ? mn->a : mx->a), b = form_of(is_min ? mn->b : mx->b);
      if (c != 0 && !(may_shift(a) && may_shift(b))) break;
      a.constant = wrap_add(a.constant, c);
      b.constant = wrap_add(b.constant, c);
      if (!fits(t, a.constant) || !fits(t, b.constant)) break;
      operands[i] = std::move(a);
      operands.push_back(std::move(b));
    }
  }
  // Operands that differ by a constant.
  std::stable_sort(operands.begin(), operands.end(), operand_before);
  size_t kept = 0;
  for (size_t i = 1; i < operands.size(); i++) {
    if (same_terms(operands[kept], operands[i])) {
      if ((operands[i].constant < operands[kept].constant) == is_min)
        operands[kept].constant = operands[i].constant;
    } else if (++kept != i) {
      operands[kept] = std::move(operands[i]);
    }
  }
  operands.resize(kept + 1);
  // The constant is last; the type's own limits are no limits.
  if (operands.size() > 1 && operands.back().terms.empty()) {
    int64_t c = operands.back().constant, low = t.element_of().min_int();
    int64_t high = static_cast<int64_t>(t.element_of().max_uint());
    if (is_min ? c >= high : c <= low)
      operands.pop_back();
    else if (is_min ? c <= low : c >= high)
      return operands.back();
  }
  // Operands that another one beats.
  if (operands.size() <= kMaxPairs) {
    for (size_t i = 0; i < operands.size(); i++) {
      for (size_t j = 0; j < operands.size(); j++) {
        if (i == j || !not_negative(combine(operands[j], sign, operands[i], -sign), kQuickSteps))
          continue;
        operands.erase(operands.begin() + static_cast<long>(j));  // i is at least as good
        if (j < i) i--;
        j--;
      }
    }
  }
  if (operands.size() == 1) return operands[0];

  // min(max(x, a), b) with constants a <= b: max(min(x, b), a).
  if (is_min && operands.size() == 2 && operands[1].terms.empty() && is_single(operands[0], 1)) {
    if (const Max *m = operands[0].terms[0].first.as<Max>()) {
      if (const int64_t *a = as_const_int(m->b)) {
        int64_t c = operands[0].constant;
        LinearForm x = form_of(m->a);
        const bool moves = c == 0 || (may_shift(x) && fits(t, wrap_add(*a, c)));
        if (!moves) return finish_min_max(is_min, std::move(operands), t);
        x.constant = wrap_add(x.constant, c);
        return min_max(false, {min_max(true, {x, operands[1]}, t), {{}, wrap_add(*a, c)}}, t);
      }
    }
  }

  return finish_min_max(is_min, std::move(operands), t);
}

// Common terms, a constant, and a common factor come out.
LinearForm Simplifier::finish_min_max(bool is_min, std::vector<LinearForm> operands, Type t) {
  LinearForm out;
  for (auto &term : operands[0].terms) {
    bool common = std::all_of(operands.begin() + 1, operands.end(), [&](const LinearForm &f) {
      return std::any_of(f.terms.begin(), f.terms.end(), [&](auto &x) {
        return x.second == term.second && x.first.same_as(term.first);
      });
    });
    if (common) out.terms.push_back(term);
  }
  bool shift = true;
  std::vector<LinearForm> rest;
  for (const LinearForm &f : operands) {
    shift = shift && may_shift(f);
    rest.push_back(out.terms.empty() ? f : combine(f, 1, out, -1));
  }
  out.constant = constant_to_pull(rest, shift, t);
  for (LinearForm &f : rest) f.constant = wrap_sub(f.constant, out.constant);
  // Of a sum of data, a part may be larger than the whole.
  bool pull = true;
  for (size_t i = 0; i < rest.size() && !shift; i++) {
    bool within = rest[i].terms.empty() ||
                  (is_single(rest[i], 1) && (rest[i].constant == 0 || is_single(operands[i], 1)));
    pull = pull && within;
  }
  if (pull)
    operands = std::move(rest);
  else
    out = {};
  int64_t g = 0;
  for (const LinearForm &f : operands) g = gcd(gcd(g, content(f)), f.constant);
  if (g > 1) {
    for (LinearForm &f : operands) f = divide_exactly(f, g);
  }
  std::stable_sort(operands.begin(), operands.end(), operand_before);
  Expr e;
  for (LinearForm &f : operands) {
    Expr x = build(std::move(f), t);
    e = !e.defined() ? x : is_min ? make_min(e, x) : make_max(e, x);
  }
  return combine(out, 1, atom(e), g > 1 ? g : 1);
}

Expr Simplifier::visit_index(const Expr &e) {
  const Type t = e.type();
  switch (e.kind()) {
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul: {
      LinearForm f;
      gather(e, 1, true, &f);
      normalise(f);
      return build(std::move(f), t);
    }
    case NodeKind::Div:
    case NodeKind::Mod: {
      const bool is_div = e.kind() == NodeKind::Div;
      Expr a = mutate(is_div ? e.as<Div>()->a : e.as<Mod>()->a),
           b = mutate(is_div ? e.as<Div>()->b : e.as<Mod>()->b);
      const int64_t *k = as_const_int(b);
      if (k && *k == 0) return make_zero(t);
      if (k && *k < 0 && *k > INT32_MIN) {
        // Euclidean: a / -k = -(a / k), a % -k = a % k.
        if (is_div) return build(scale(divide(form_of(a), -*k, t), -1), t);
        return build(modulo(form_of(a), -*k, t), t);
      }
      if (k && *k > 0)
        return build(is_div ? divide(form_of(a), *k, t) : modulo(form_of(a), *k, t), t);
      if (is_const_zero(a)) return a;
      return is_div ? make_div(a, b) : make_mod(a, b);
    }
    default: {
      const bool is_min = e.kind() == NodeKind::Min;
      // Chains are flattened from the top, as sums are. What occurs twice counts once.
      std::vector<LinearForm> operands;
      std::unordered_set<const IRNode *> taken;
      std::vector<Expr> work{is_min ? e.as<Min>()->b : e.as<Max>()->b,
                             is_min ? e.as<Min>()->a : e.as<Max>()->a};
      while (!work.empty()) {
        Expr x = std::move(work.back());
        work.pop_back();
        if (!taken.insert(x.get()).second) continue;
        const Min *mn = x.as<Min>();
        const Max *mx = x.as<Max>();
        if (is_min ? mn != nullptr : mx != nullptr) {
          work.push_back(is_min ? mn->b : mx->b);
          work.push_back(is_min ? mn->a : mx->a);
        } else {
          operands.push_back(form_of(mutate(x)));
        }
      }
      return build(min_max(is_min, std::move(operands), t), t);
    }
  }
}

}  // namespace calotype::analysis
