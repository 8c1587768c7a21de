// Linear forms. Vector expressions have linear forms too: their terms are broadcast(t), ramp(0, t, n) and whatever
// else is a vector, so that sums of broadcasts and ramps merge like scalars do; to_expr puts them together again.
#include <algorithm>

#include "../ir/equal.h"
#include "linear_ops.h"

namespace calotype::analysis {

using namespace ir;

namespace {

/// Nodes that one linear form may look at; sub-expressions beyond that stay terms (shared nodes could be exponential).
constexpr int kVisitLimit = 20000;

struct Collector {
  LinearForm form;
  int visits = 0;

  void add(const Expr &e, int64_t k);
  void add_lanes(const Expr &scalar, int64_t k, int lanes, const Expr &original);
  void add_stride(const Expr &stride, int64_t k, int lanes, const Expr &original);
  void term(const Expr &e, int64_t k) { form.terms.emplace_back(e, k); }
};

bool is_atom(const Expr &e) { return !e.as<Add>() && !e.as<Sub>() && !e.as<Mul>() && !is_const(e); }

void Collector::add(const Expr &e, int64_t k) {
  if (const int64_t *c = as_const_int(e)) {
    form.constant = wrap_add(form.constant, wrap_mul(k, *c));
    return;
  }
  if (++visits > kVisitLimit) return term(e, k);
  switch (e.kind()) {
    case NodeKind::Add: add(e.as<Add>()->a, k); return add(e.as<Add>()->b, k);
    case NodeKind::Sub: add(e.as<Sub>()->a, k); return add(e.as<Sub>()->b, wrap_sub(0, k));
    case NodeKind::Mul: {
      const Mul *op = e.as<Mul>();
      if (const int64_t *c = as_const_int(op->b)) return add(op->a, wrap_mul(k, *c));
      if (const int64_t *c = as_const_int(op->a)) return add(op->b, wrap_mul(k, *c));
      return term(e, k);
    }
    case NodeKind::Broadcast: {
      const Broadcast *op = e.as<Broadcast>();
      return op->value.type().is_scalar() ? add_lanes(op->value, k, op->lanes, e) : term(e, k);
    }
    case NodeKind::Ramp: {
      const Ramp *op = e.as<Ramp>();
      if (!op->base.type().is_scalar()) return term(e, k);
      bool pure = is_const_zero(op->base);
      if (!pure) add_lanes(op->base, k, op->lanes, {});
      return add_stride(op->stride, k, op->lanes, pure ? e : Expr());
    }
    default: return term(e, k);
  }
}

void Collector::add_lanes(const Expr &scalar, int64_t k, int lanes, const Expr &original) {
  if (original.defined() && is_atom(scalar)) return term(original, k);
  LinearForm inner = linear_form(scalar);
  form.constant = wrap_add(form.constant, wrap_mul(k, inner.constant));
  for (auto &[t, c] : inner.terms) term(make_broadcast(t, lanes), wrap_mul(k, c));
}

void Collector::add_stride(const Expr &stride, int64_t k, int lanes, const Expr &original) {
  if (original.defined() && (is_const_one(stride) || is_atom(stride))) return term(original, k);
  LinearForm inner = linear_form(stride);
  Type t = stride.type();
  if (inner.constant)
    term(make_ramp(make_zero(t), make_one(t), lanes), wrap_mul(k, inner.constant));
  for (auto &[s, c] : inner.terms) term(make_ramp(make_zero(t), s, lanes), wrap_mul(k, c));
}

Expr scaled(const Expr &term, int64_t c, Type t) {
  return c == 1 ? term : make_mul(term, make_int(t, c));
}

/// Positive terms first, then negative ones subtracted, then the constant.
Expr sum_of(const std::vector<std::pair<Expr, int64_t>> &terms, int64_t constant, Type t) {
  Expr sum;
  constant = wrap_to(t, constant);
  for (auto &[e, c64] : terms) {
    int64_t c = wrap_to(t, c64);
    if (c > 0) sum = sum.defined() ? make_add(sum, scaled(e, c, t)) : scaled(e, c, t);
  }
  for (auto &[e, c64] : terms) {
    int64_t c = wrap_to(t, c64);
    if (c >= 0) continue;
    if (!sum.defined() && constant == 0 && c != -1) {
      sum = scaled(e, c, t);
      continue;
    }
    if (!sum.defined()) {
      sum = make_int(t, constant);
      constant = 0;
    }
    // The most negative coefficient has no counterpart.
    sum = c == t.min_int() ? make_add(sum, scaled(e, c, t)) : make_sub(sum, scaled(e, -c, t));
  }
  if (!sum.defined()) return make_int(t, constant);
  if (constant > 0 || constant == t.min_int()) return make_add(sum, make_int(t, constant));
  if (constant < 0) return make_sub(sum, make_int(t, -constant));
  return sum;
}

}  // namespace

void normalise(LinearForm &f) {
  auto &v = f.terms;
  std::sort(v.begin(), v.end(),
            [](const auto &a, const auto &b) { return compare(a.first, b.first) < 0; });
  size_t out = 0;
  for (size_t i = 0; i < v.size(); i++) {
    if (out > 0 && equal(v[out - 1].first, v[i].first)) {
      v[out - 1].second = wrap_add(v[out - 1].second, v[i].second);
    } else {
      if (out > 0 && v[out - 1].second == 0) out--;
      if (out != i) v[out] = v[i];
      out++;
    }
  }
  if (out > 0 && v[out - 1].second == 0) out--;
  v.resize(out);
}

LinearForm linear_form(const Expr &e) {
  Collector c;
  c.add(e, 1);
  normalise(c.form);
  return std::move(c.form);
}

LinearForm combine(const LinearForm &a, int64_t ka, const LinearForm &b, int64_t kb) {
  LinearForm r;
  r.constant = wrap_add(wrap_mul(a.constant, ka), wrap_mul(b.constant, kb));
  r.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  auto push = [&](const Expr &e, int64_t c) {
    if (c != 0) r.terms.emplace_back(e, c);
  };
  while (i < a.terms.size() || j < b.terms.size()) {
    int order = i == a.terms.size()   ? 1
                : j == b.terms.size() ? -1
                                      : compare(a.terms[i].first, b.terms[j].first);
    if (order < 0) {
      push(a.terms[i].first, wrap_mul(a.terms[i].second, ka));
      i++;
    } else if (order > 0) {
      push(b.terms[j].first, wrap_mul(b.terms[j].second, kb));
      j++;
    } else {
      push(a.terms[i].first,
           wrap_add(wrap_mul(a.terms[i].second, ka), wrap_mul(b.terms[j].second, kb)));
      i++, j++;
    }
  }
  return r;
}

LinearForm scale(const LinearForm &f, int64_t k) {
  LinearForm r;
  if (k == 0) return r;
  r.constant = wrap_mul(f.constant, k);
  r.terms = f.terms;
  for (auto &t : r.terms) t.second = wrap_mul(t.second, k);
  return r;
}

LinearForm divide_exactly(const LinearForm &f, int64_t k) {
  LinearForm r;
  r.constant = floor_div(f.constant, k);
  r.terms = f.terms;
  for (auto &t : r.terms) t.second = floor_div(t.second, k);
  return r;
}

bool same_terms(const LinearForm &a, const LinearForm &b) {
  if (a.terms.size() != b.terms.size()) return false;
  for (size_t i = 0; i < a.terms.size(); i++) {
    if (a.terms[i].second != b.terms[i].second || !equal(a.terms[i].first, b.terms[i].first))
      return false;
  }
  return true;
}

int64_t coefficient_of(const LinearForm &f, const Expr &term) {
  for (auto &[e, c] : f.terms) {
    if (equal(e, term)) return c;
  }
  return 0;
}

int64_t content(const LinearForm &f) {
  int64_t g = 0;
  for (auto &t : f.terms) g = gcd(g, t.second);
  return g;
}

Expr to_expr(const LinearForm &f, Type t) {
  if (t.is_scalar()) return sum_of(f.terms, f.constant, t);
  const int lanes = t.lanes();
  Type s = t.element_of();
  std::vector<std::pair<Expr, int64_t>> base, stride, rest;
  int64_t unit_stride = 0;
  for (auto &[e, c] : f.terms) {
    const Broadcast *b = e.as<Broadcast>();
    const Ramp *r = e.as<Ramp>();
    if (b && b->value.type().is_scalar()) {
      base.emplace_back(b->value, c);
    } else if (r && r->base.type().is_scalar() && is_const_zero(r->base)) {
      if (const int64_t *k = as_const_int(r->stride))
        unit_stride = wrap_add(unit_stride, wrap_mul(c, *k));
      else
        stride.emplace_back(r->stride, c);
    } else {
      rest.emplace_back(e, c);
    }
  }
  Expr sum = rest.empty() ? Expr() : sum_of(rest, 0, t);
  Expr b = sum_of(base, f.constant, s);
  Expr st = sum_of(stride, unit_stride, s);
  if (!is_const_zero(st))
    b = make_ramp(b, st, lanes);
  else if (sum.defined() && is_const_zero(b))
    return sum;
  else
    b = make_broadcast(b, lanes);
  return sum.defined() ? make_add(sum, b) : b;
}

bool constant_difference(const Expr &a, const Expr &b, int64_t *difference) {
  if (!a.defined() || !b.defined() || a.type() != b.type() || !is_index(a.type())) return false;
  LinearForm d = combine(linear_form(a), 1, linear_form(b), -1);
  if (!d.terms.empty()) return false;
  *difference = d.constant;
  return true;
}

}  // namespace calotype::analysis
