// The proof that an update is a reduction (associative.h). Three ways, tried in this order:
//   each value alone   self combined with something that does not read self, through a table of operations
//   the best of all    Tuples that keep the key that compares best and what belongs to it (argmin, argmax)
//   polynomials        Tuples whose values are sums of products of old and new values (complex products): the identity is
//                      guessed, the associative law checked as an identity of polynomials
// Tests: test/unit/schedule/associative_test.cpp.
#include "associative.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "../ir/equal.h"
#include "../ir/print.h"
#include "../ir/visit.h"

namespace calotype::schedule {

namespace {

using namespace ir;  // makers and nodes

std::string short_text(const Expr &e) {
  std::string text = to_string(e);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

// ---- the table ----------------------------------------------------------------------------------

struct Operation {
  Combine op;
  Expr a, b;               ///< the operands
  bool left_only = false;  ///< self may stand in a only: a - b
};

// The operation at the top of `e`, if the table knows it for this type.
std::optional<Operation> operation(const Expr &e) {
  const Type t = e.type();
  const auto take = [](Combine op, const auto *node, bool left_only = false) {
    return Operation{op, node->a, node->b, left_only};
  };
  if (const auto *n = e.as<Add>()) return take(Combine::Add, n);
  if (const auto *n = e.as<Sub>()) return take(Combine::Add, n, true);
  if (const auto *n = e.as<Mul>()) return take(Combine::Mul, n);
  if (const auto *n = e.as<Min>()) return take(Combine::Min, n);
  if (const auto *n = e.as<Max>()) return take(Combine::Max, n);
  if (const auto *n = e.as<And>()) return take(Combine::And, n);
  if (const auto *n = e.as<Or>()) return take(Combine::Or, n);
  const std::pair<Intrinsic, Combine> calls[] = {
      {Intrinsic::bitwise_and, Combine::BitAnd},
      {Intrinsic::bitwise_or, Combine::BitOr},
      {Intrinsic::bitwise_xor, Combine::BitXor},
      {Intrinsic::saturating_add, Combine::SaturatingAdd}};
  for (const auto &c : calls) {
    const Call *call = as_intrinsic(e, c.first);
    if (!call) continue;
    if (c.second == Combine::SaturatingAdd && !t.is_uint()) return {};
    return Operation{c.second, call->args[0], call->args[1], false};
  }
  // a * b + c, the product being what is added.
  if (const Call *call = as_intrinsic(e, Intrinsic::fma)) {
    return Operation{Combine::Add, call->args[2], make_mul(call->args[0], call->args[1]), true};
  }
  return {};
}

bool wraps(Combine op) {
  return op == Combine::Add || op == Combine::Mul || op == Combine::BitAnd ||
         op == Combine::BitOr || op == Combine::BitXor;
}

// ---- each value alone ---------------------------------------------------------------------------

class ValueProver {
public:
  ValueProver(const Function &f, const Definition &d) : f_(f), d_(d) {}

  bool reads_self(const Expr &e) const {
    bool reads = false;
    if (e.defined()) for_each_expr(e, [&](const Expr &x) { reads |= is_self(x); });
    return reads;
  }
  // Element `index` of the Func at the very place that is written.
  bool is_own(const Expr &e, int index) const {
    const Call *call = e.as<Call>();
    if (!call || !is_self(e) || call->value_index != index) return false;
    for (size_t i = 0; i < d_.args.size(); i++) {
      if (!equal(call->args[i], d_.args[i])) return false;
    }
    return true;
  }
  bool reads_others(const Expr &e, int index) const {
    bool others = false;
    for_each_expr(e, [&](const Expr &x) { others |= is_self(x) && !is_own(x, index); });
    return others;
  }
  // Reads of self that are not at the place written.
  Expr misplaced(const Expr &e) const {
    Expr found;
    for_each_expr(e, [&](const Expr &x) {
      if (is_self(x) && !is_own(x, x.as<Call>()->value_index)) found = x;
    });
    return found;
  }

  // Empty if value `index` is old value `op` something; else why not.
  std::string prove(int index, Combine *op) {
    const Expr &value = d_.values[index];
    *op = Combine::None;
    if (is_own(value, index)) {
      *op = Combine::Keep;
      return {};
    }
    if (!reads_self(value))
      return short_text(value) + " does not read the old value: the last iteration wins";
    why_.clear();
    if (accumulates(value, index, value.type().bits(), op)) return {};
    return why_;
  }

private:
  bool is_self(const Expr &e) const {
    const Call *call = e.as<Call>();
    return call && call->call_type == CallType::Halide && call->name == f_.name;
  }
  bool fail(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

  // Is `e` = old value `op` terms? `bits`: only so many low bits of it are used.
  bool accumulates(const Expr &e, int index, int bits, Combine *op) {
    if (is_own(e, index)) return true;
    if (const Select *s = e.as<Select>()) {
      if (reads_self(s->condition))
        return fail(short_text(s->condition) + " decides by the old value");
      return accumulates(s->true_value, index, bits, op) &&
             accumulates(s->false_value, index, bits, op);
    }
    if (const Cast *c = e.as<Cast>()) return through_cast(c, e, index, bits, op);
    const std::optional<Operation> o = operation(e);
    if (!o) return fail(not_in_table(e));
    if (*op == Combine::None) *op = o->op;
    if (*op != o->op)
      return fail(short_text(e) + " mixes " + combine_word(*op) + " and " + combine_word(o->op));
    if (bits < e.type().bits() && !wraps(o->op)) return fail(not_in_table(e));
    const bool in_a = reads_self(o->a), in_b = reads_self(o->b);
    if (in_a && in_b) return fail(short_text(e) + " uses the old value twice");
    if (in_b && o->left_only)
      return fail(short_text(e) + " uses the old value where the operation has no identity");
    return accumulates(in_a ? o->a : o->b, index, bits, op);
  }

  // Low bits of sums and products depend on low bits alone, so widening and narrowing integers changes nothing.
  bool through_cast(const Cast *c, const Expr &e, int index, int bits, Combine *op) {
    const bool integers = c->type.is_int_or_uint() && c->value.type().is_int_or_uint() &&
                          !c->type.is_bool() && !c->value.type().is_bool();
    if (!integers || c->type.bits() < bits || c->value.type().bits() < bits)
      return fail(short_text(e) + " rounds or narrows the result of each step");
    if (!accumulates(c->value, index, bits, op)) return false;
    if (*op == Combine::None || wraps(*op)) return true;
    return fail(short_text(e) + " changes the type between steps");
  }

  static std::string not_in_table(const Expr &e) {
    if (as_intrinsic(e, Intrinsic::saturating_add)) {
      return short_text(e) +
             " saturates at both ends, so its order matters: (a + b) - c, a + (b - c)";
    }
    return short_text(e) + " is no sum, product, min, max, and, or, xor of the old value";
  }

  const Function &f_;
  const Definition &d_;
  std::string why_;
};

Expr left(int i, Type t) { return make_var(left_value(i), t); }
Expr right(int i, Type t) { return make_var(right_value(i), t); }

// ---- the best of all ----------------------------------------------------------------------------

struct Better {
  bool less = false;  ///< smaller is better
  Expr candidate;
};

class BestProver {
public:
  BestProver(const Function &f, const Definition &d, const ValueProver &values)
      : f_(f), d_(d), values_(values) {}

  bool prove(Reduction *out) {
    const int n = static_cast<int>(d_.values.size());
    for (key_ = 0; key_ < n; key_++) {
      if (find_key() && all_follow(n)) {
        fill(n, out);
        return true;
      }
    }
    return false;
  }
  const std::string &because() const { return because_; }

private:
  // `c` true: the candidate is strictly better than the key's old value.
  bool comparison(const Expr &c, Better *b, bool *takes) const {
    const auto match = [&](const auto *op, bool strict_less) {
      if (!op) return false;
      const bool own_a = values_.is_own(op->a, key_), own_b = values_.is_own(op->b, key_);
      if (own_a == own_b) return false;
      b->candidate = own_a ? op->b : op->a;
      b->less = own_a != strict_less;  // candidate < old, or old > candidate
      return !values_.reads_self(b->candidate);
    };
    *takes = true;
    if (match(c.as<LT>(), true)) return true;
    if (match(c.as<GT>(), false)) return true;
    *takes = false;  // old <= candidate: keep
    if (const LE *op = c.as<LE>()) {
      if (!values_.is_own(op->a, key_) || values_.reads_self(op->b)) return false;
      *b = {true, op->b};
      return true;
    }
    if (const GE *op = c.as<GE>()) {
      if (!values_.is_own(op->a, key_) || values_.reads_self(op->b)) return false;
      *b = {false, op->b};
      return true;
    }
    return false;
  }

  bool find_key() {
    const Expr &v = d_.values[key_];
    const auto extreme = [&](const auto *op, bool less) {
      if (!op) return false;
      const bool own_a = values_.is_own(op->a, key_), own_b = values_.is_own(op->b, key_);
      if (own_a == own_b) return false;
      better_ = {less, own_a ? op->b : op->a};
      return !values_.reads_self(better_.candidate);
    };
    if (extreme(v.as<Min>(), true) || extreme(v.as<Max>(), false)) return true;
    const Select *s = v.as<Select>();
    bool takes;
    if (!s || !comparison(s->condition, &better_, &takes)) return false;
    const Expr &taken = takes ? s->true_value : s->false_value;
    const Expr &kept = takes ? s->false_value : s->true_value;
    return values_.is_own(kept, key_) && equal(taken, better_.candidate);
  }

  bool all_follow(int n) {
    for (int i = 0; i < n; i++) {
      if (i == key_) continue;
      const Select *s = d_.values[i].as<Select>();
      Better b;
      bool takes;
      if (!s || !comparison(s->condition, &b, &takes) || b.less != better_.less ||
          !equal(b.candidate, better_.candidate))
        return no(d_.values[i]);
      const Expr &taken = takes ? s->true_value : s->false_value;
      const Expr &kept = takes ? s->false_value : s->true_value;
      if (!values_.is_own(kept, i) || values_.reads_self(taken)) return no(d_.values[i]);
    }
    return true;
  }
  bool no(const Expr &e) {
    because_ = short_text(e) + " does not follow value " + std::to_string(key_) +
               ", which keeps the " + (better_.less ? "smallest" : "largest");
    return false;
  }

  void fill(int n, Reduction *out) const {
    const Type t = f_.types[key_];
    const Expr old = left(key_, t), now = right(key_, t);
    const Expr better = better_.less ? make_lt(now, old) : make_gt(now, old);
    for (int i = 0; i < n; i++) {
      out->combined.push_back(make_select(better, right(i, f_.types[i]), left(i, f_.types[i])));
      out->identity.push_back(i == key_ ? identity_of(better_.less ? Combine::Min : Combine::Max, t)
                                        : make_zero(f_.types[i]));
    }
    out->commutative = false;  // the first of equals is kept
    out->exact = !t.is_float();
  }

  const Function &f_;
  const Definition &d_;
  const ValueProver &values_;
  int key_ = 0;
  Better better_;
  std::string because_;
};

// ---- polynomials --------------------------------------------------------------------------------

// A sum of monomials: products of symbols, with integer coefficients.
using Monomial = std::vector<int>;  // sorted
using Polynomial = std::map<Monomial, int64_t>;

constexpr size_t kMostTerms = 4096;

class PolynomialProver {
public:
  PolynomialProver(const Function &f, const Definition &d, const ValueProver &values)
      : f_(f), d_(d), values_(values), n_(static_cast<int>(d.values.size())) {}

  bool prove(Reduction *out) {
    if (n_ > 4) return false;
    for (Type t : f_.types) {
      if (t.is_bool() || t != f_.types[0]) return false;
    }
    for (int i = 0; i < n_; i++) values_of_.push_back(convert(d_.values[i]));
    if (failed_) return false;
    for (int guess = 0; guess < 1 << n_; guess++) {
      if (!has_identity(guess) || !obeys()) continue;
      fill(guess, out);
      return true;
    }
    return false;
  }

private:
  // Symbols: 0 .. n-1 old values, n .. 2n-1 and 2n .. 3n-1 two operands more, then atoms.
  int old_symbol(int i) const { return i; }
  int symbol(int operand, int i) const { return operand * n_ + i; }

  Polynomial convert(const Expr &e) {
    Polynomial p;
    if (failed_) return p;
    int64_t c;
    if (whole(e, &c)) return constant(c);
    for (int i = 0; i < n_; i++) {
      if (values_.is_own(e, i)) return {{{old_symbol(i)}, 1}};
    }
    if (const Add *op = e.as<Add>()) return sum(convert(op->a), convert(op->b), 1);
    if (const Sub *op = e.as<Sub>()) return sum(convert(op->a), convert(op->b), -1);
    if (const Mul *op = e.as<Mul>()) return product(convert(op->a), convert(op->b));
    if (const Call *op = as_intrinsic(e, Intrinsic::fma))
      return sum(product(convert(op->args[0]), convert(op->args[1])), convert(op->args[2]), 1);
    if (values_.reads_self(e)) {
      failed_ = true;
      return p;
    }
    return {{{atom(e)}, 1}};
  }

  int atom(const Expr &e) {
    for (size_t i = 0; i < atoms_.size(); i++) {
      if (equal(atoms_[i], e)) return 3 * n_ + static_cast<int>(i);
    }
    atoms_.push_back(e);
    return 3 * n_ + static_cast<int>(atoms_.size()) - 1;
  }
  static bool whole(const Expr &e, int64_t *c) {
    if (const int64_t *i = as_const_int(e)) return *c = *i, *i > -1000 && *i < 1000;
    const double *d = as_const_float(e);
    if (!d || *d != static_cast<double>(static_cast<int>(*d))) return false;
    *c = static_cast<int>(*d);
    return true;
  }

  static Polynomial constant(int64_t c) {
    Polynomial p;
    if (c != 0) p[{}] = c;
    return p;
  }
  Polynomial sum(Polynomial a, const Polynomial &b, int64_t sign) {
    for (const auto &m : b) {
      if ((a[m.first] += sign * m.second) == 0) a.erase(m.first);
    }
    if (a.size() > kMostTerms) failed_ = true;
    return a;
  }
  Polynomial product(const Polynomial &a, const Polynomial &b) {
    Polynomial p;
    if (a.size() * b.size() > kMostTerms) failed_ = true;
    if (failed_) return p;
    for (const auto &x : a) {
      for (const auto &y : b) {
        Monomial m = x.first;
        m.insert(m.end(), y.first.begin(), y.first.end());
        std::sort(m.begin(), m.end());
        if ((p[m] += x.second * y.second) == 0) p.erase(m);
      }
    }
    return p;
  }
  Polynomial replace_symbols(const Polynomial &p, const std::map<int, Polynomial> &map) {
    Polynomial result;
    for (const auto &m : p) {
      Polynomial term = constant(m.second);
      for (int s : m.first) {
        const auto it = map.find(s);
        term = product(term, it == map.end() ? Polynomial{{{s}, 1}} : it->second);
      }
      result = sum(std::move(result), term, 1);
    }
    return result;
  }

  // With these zeros and ones as old values, are the results single new values? They become the right operand.
  bool has_identity(int guess) {
    std::map<int, Polynomial> start, rename;
    for (int i = 0; i < n_; i++) start[old_symbol(i)] = constant(guess >> i & 1);
    for (int i = 0; i < n_; i++) {
      const Polynomial p = replace_symbols(values_of_[i], start);
      if (p.size() != 1 || p.begin()->second != 1 || p.begin()->first.size() != 1) return false;
      const int s = p.begin()->first[0];
      if (!rename.emplace(s, Polynomial{{{symbol(1, i)}, 1}}).second) return false;
      new_value_[i] = s;
    }
    law_.clear();
    for (int i = 0; i < n_; i++) {
      law_.push_back(replace_symbols(values_of_[i], rename));
      for (const auto &m : law_[i]) {
        for (int s : m.first) {
          if (s >= 3 * n_) return false;  // something else takes part
        }
      }
      // The identity on the right.
      std::map<int, Polynomial> end;
      for (int j = 0; j < n_; j++) end[symbol(1, j)] = constant(guess >> j & 1);
      if (replace_symbols(law_[i], end) != Polynomial{{{old_symbol(i)}, 1}}) return false;
    }
    return !failed_;
  }

  // (a b) c = a (b c)
  bool obeys() {
    std::map<int, Polynomial> first, shift, second;
    for (int i = 0; i < n_; i++) shift[symbol(1, i)] = {{{symbol(2, i)}, 1}};
    for (int i = 0; i < n_; i++) first[symbol(0, i)] = law_[i];
    std::map<int, Polynomial> up = shift;
    for (int i = 0; i < n_; i++) up[symbol(0, i)] = {{{symbol(1, i)}, 1}};
    for (int i = 0; i < n_; i++) second[symbol(1, i)] = replace_symbols(law_[i], up);
    commutes_ = true;
    for (int i = 0; i < n_; i++) {
      std::map<int, Polynomial> swap;
      for (int j = 0; j < n_; j++) {
        swap[symbol(0, j)] = {{{symbol(1, j)}, 1}};
        swap[symbol(1, j)] = {{{symbol(0, j)}, 1}};
      }
      commutes_ = commutes_ && replace_symbols(law_[i], swap) == law_[i];
      const Polynomial a = replace_symbols(replace_symbols(law_[i], shift), first);
      const Polynomial b = replace_symbols(law_[i], second);
      if (a != b) return false;
    }
    return !failed_;
  }

  void fill(int guess, Reduction *out) const {
    const Type t = f_.types[0];
    for (int i = 0; i < n_; i++) {
      out->identity.push_back((guess >> i & 1) ? make_one(t) : make_zero(t));
      out->combined.push_back(replace(d_.values[i], [&](const Expr &x) -> Expr {
        for (int j = 0; j < n_; j++) {
          if (values_.is_own(x, j)) return left(j, t);
          if (equal(x, atoms_[new_value_.at(j) - 3 * n_])) return right(j, t);
        }
        return {};
      }));
    }
    out->commutative = commutes_;
    out->exact = !t.is_float();
  }

  const Function &f_;
  const Definition &d_;
  const ValueProver &values_;
  int n_;
  bool failed_ = false, commutes_ = true;
  std::vector<Expr> atoms_;
  std::vector<Polynomial> values_of_, law_;
  std::map<int, int> new_value_;
};

bool prove_alone(const Function &f, const Definition &d, ValueProver &values, Reduction *r) {
  for (size_t i = 0; i < d.values.size(); i++) {
    const int index = static_cast<int>(i);
    if (values.reads_others(d.values[i], index)) {
      r->because = short_text(d.values[i]) + " reads other values of " + f.name + " than its own";
      return false;
    }
    Combine op;
    r->because = values.prove(index, &op);
    if (!r->because.empty()) return false;
    const Type t = f.types[i];
    r->ops.push_back(op);
    r->identity.push_back(identity_of(op, t));
    r->combined.push_back(combine(op, left(index, t), right(index, t)));
    r->exact = r->exact && (!t.is_float() || op == Combine::Keep);
  }
  return true;
}

// Nothing but the values may depend on what the update writes.
bool reads_only_own(const Definition &d, const ValueProver &values, Reduction *r) {
  for (const Expr &e : d.args) {
    if (values.reads_self(e)) {
      r->because = "which elements it writes depends on values it writes: " + short_text(e);
      return false;
    }
  }
  if (values.reads_self(d.predicate)) {
    r->because = "whether it writes depends on values it writes: " + short_text(d.predicate);
    return false;
  }
  for (const Expr &e : d.values) {
    const Expr other = values.misplaced(e);
    if (!other.defined()) continue;
    r->because = "it reads " + short_text(other) + ", which is not the element it writes";
    return false;
  }
  return true;
}

}  // namespace

Name left_value(int i) { return "$left" + std::to_string(i); }
Name right_value(int i) { return "$right" + std::to_string(i); }

const char *combine_word(Combine op) {
  switch (op) {
    case Combine::Add: return "sum";
    case Combine::Mul: return "product";
    case Combine::Min: return "min";
    case Combine::Max: return "max";
    case Combine::And: return "and";
    case Combine::Or: return "or";
    case Combine::BitAnd: return "bitwise and";
    case Combine::BitOr: return "bitwise or";
    case Combine::BitXor: return "bitwise xor";
    case Combine::SaturatingAdd: return "saturating sum";
    case Combine::Keep: return "unchanged value";
    case Combine::None: break;
  }
  return "combination";
}

Expr combine(Combine op, const Expr &a, const Expr &b) {
  switch (op) {
    case Combine::Add: return make_add(a, b);
    case Combine::Mul: return make_mul(a, b);
    case Combine::Min: return make_min(a, b);
    case Combine::Max: return make_max(a, b);
    case Combine::And: return make_and(a, b);
    case Combine::Or: return make_or(a, b);
    case Combine::BitAnd: return make_intrinsic(a.type(), Intrinsic::bitwise_and, {a, b});
    case Combine::BitOr: return make_intrinsic(a.type(), Intrinsic::bitwise_or, {a, b});
    case Combine::BitXor: return make_intrinsic(a.type(), Intrinsic::bitwise_xor, {a, b});
    case Combine::SaturatingAdd: return make_intrinsic(a.type(), Intrinsic::saturating_add, {a, b});
    case Combine::Keep: return a;
    case Combine::None: break;
  }
  return {};
}

Expr identity_of(Combine op, Type t) {
  switch (op) {
    // -0 + x = x for every x; 0 + -0 would be 0.
    case Combine::Add: return t.is_float() ? make_float(t, -0.0) : make_zero(t);
    case Combine::Mul: return make_one(t);
    case Combine::Min: return t.is_bool() ? make_bool(true) : t.max();
    case Combine::Max: return t.is_bool() ? make_bool(false) : t.min();
    case Combine::And: return make_bool(true);
    case Combine::BitAnd:
      return t.is_bool()   ? make_bool(true)
             : t.is_uint() ? make_uint(t, ~uint64_t(0) >> (64 - t.bits()))
                           : make_int(t, -1);
    default: return make_zero(t);
  }
}

Reduction prove_reduction(const Function &f, int stage) {
  Reduction r;
  const Definition &d = f.definitions[stage];
  r.loc = d.loc;
  if (stage == 0) {
    r.because = "it is a pure definition, no reduction";
    return r;
  }
  ValueProver values(f, d);
  if (!reads_only_own(d, values, &r)) return r;
  Reduction alone = r;
  if (prove_alone(f, d, values, &alone)) {
    alone.proved = true;
    return alone;
  }
  r.because = alone.because;
  if (d.values.size() > 1) {
    r.ops.assign(d.values.size(), Combine::None);
    BestProver best(f, d, values);
    PolynomialProver polynomials(f, d, values);
    r.proved = best.prove(&r) || polynomials.prove(&r);
    if (!r.proved && !best.because().empty()) r.because = best.because();
  }
  return r;
}

}  // namespace calotype::schedule
