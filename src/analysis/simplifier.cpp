// The simplifier's facts: learning from conditions, binding names, forgetting at the end of a scope. Each set of facts
// has its own memo, so that a result never outlives what it rests on.
#include "simplifier.h"

namespace calotype::analysis {

using namespace ir;

Simplifier::Simplifier(const Facts &facts)
    : memo_(std::make_unique<SimplifierMemo>(&ranges_, &residues_)) {
  ranges_.set_outer(&facts.ranges);
  residues_.set_outer(&facts.alignments);
  given_ = std::make_unique<Assume>(this);
  for (const Expr &t : facts.truths) given_->truth(mutate(t));
}

Simplifier::Assume::Assume(Simplifier *s)
    : s_(s), truths_(s->truths_.size()), bools_(s->bool_order_.size()) {}

Simplifier::Assume::~Assume() {
  while (s_->truths_.size() > truths_) {
    for (auto &term : s_->truths_.back().terms) {
      auto it = s_->truths_about_.find(term.first.get());
      it->second.pop_back();
      if (it->second.empty()) s_->truths_about_.erase(it);
    }
    s_->truths_.pop_back();
  }
  while (s_->bool_order_.size() > bools_) {
    s_->bools_.erase(s_->bool_order_.back());
    s_->bool_order_.pop_back();
  }
  for (Name n : ranges_) s_->ranges_.pop(n);
  for (Name n : residues_) s_->residues_.pop(n);
  for (Name n : replaced_) s_->replacements_.pop(n);
  for (Name n : data_) s_->data_variables_.erase(n);
  for (Name n : active_) {
    auto it = s_->active_.find(n);
    if (--it->second == 0) s_->active_.erase(it);
  }
  if (outer_) s_->memo_ = std::move(outer_);
}

void Simplifier::Assume::fresh_memo() {
  if (keep_memo_) return;
  if (!outer_) outer_ = std::move(s_->memo_);
  s_->memo_ = std::make_unique<SimplifierMemo>(&s_->ranges_, &s_->residues_);
}

Name Simplifier::Assume::bind(Name n) {
  Name fresh = n;
  if (s_->active_.count(n)) {
    for (int i = 1; s_->active_.count(fresh) || s_->seen_.count(fresh) || s_->taken_.count(fresh);
         i++) {
      fresh = Name(n + "." + std::to_string(i));
    }
    s_->taken_.insert(fresh);
  }
  if (!s_->seen_.insert(n).second) fresh_memo();
  s_->seen_.insert(fresh);
  s_->active_[fresh]++;
  active_.push_back(fresh);
  // Whatever the caller's facts or an outer variable said about this name is not about this one.
  s_->ranges_.push(fresh, {});
  ranges_.push_back(fresh);
  s_->residues_.push(fresh, {});
  residues_.push_back(fresh);
  if (s_->replacements_.contains(n)) {
    s_->replacements_.push(n, {});
    replaced_.push_back(n);
  }
  return fresh;
}

void Simplifier::Assume::bind_to(Name n, const Expr &value) {
  if (!s_->seen_.insert(n).second) fresh_memo();
  replace(n, value);
}

void Simplifier::Assume::replace(Name n, const Expr &value) {
  s_->replacements_.push(n, value);
  replaced_.push_back(n);
  for (Name v : free_vars(value)) {
    s_->active_[v]++;
    active_.push_back(v);
  }
}

void Simplifier::Assume::data(Name n) {
  if (s_->data_variables_.insert(n).second) data_.push_back(n);
}

void Simplifier::Assume::range(Name n, ConstInterval r) {
  if (!r.min_defined && !r.max_defined) return;
  if (const ConstInterval *old = s_->ranges_.find(n)) r = const_intersection(*old, r);
  fresh_memo();
  s_->ranges_.push(n, r);
  ranges_.push_back(n);
  learned_ = true;
}

void Simplifier::Assume::residue(Name n, ModulusRemainder r) {
  if (r.modulus == 1) return;
  fresh_memo();
  s_->residues_.push(n, r);
  residues_.push_back(n);
  learned_ = true;
}

void Simplifier::Assume::non_negative(const LinearForm &f) {
  if (f.terms.empty()) return;
  fresh_memo();
  learned_ = true;
  if (f.terms.size() == 1) {
    // k*v + c >= 0 is a range of v.
    auto &[e, k] = f.terms[0];
    if (const Variable *v = e.as<Variable>()) {
      if (k > 0)
        range(v->name, {true, false, -floor_div(f.constant, k), 0});
      else if (k != INT64_MIN)
        range(v->name, {false, true, 0, floor_div(f.constant, -k)});
      return;
    }
  }
  for (auto &term : f.terms) s_->truths_about_[term.first.get()].push_back(s_->truths_.size());
  s_->truths_.push_back(f);
}

void Simplifier::Assume::truth(const Expr &condition, bool value) {
  if (const Broadcast *b = condition.as<Broadcast>()) return truth(b->value, value);
  if (condition.type().is_vector() || is_const(condition)) return;
  if (const Call *c = condition.as<Call>()) {
    if (c->op == Intrinsic::likely || c->op == Intrinsic::likely_if_innermost)
      truth(s_->intern(c->args[0]), value);
  }
  if (const Not *n = condition.as<Not>()) return truth(n->a, !value);
  if (const And *a = condition.as<And>()) {
    if (value) {
      truth(a->a, true);
      return truth(a->b, true);
    }
  }
  if (const Or *o = condition.as<Or>()) {
    if (!value) {
      truth(o->a, false);
      return truth(o->b, false);
    }
  }
  if (!is_pure(condition)) return;
  Expr key = s_->intern(condition);
  for (Name v : free_vars(key)) {
    s_->active_[v]++;
    active_.push_back(v);
  }
  fresh_memo();
  learned_ = true;
  if (s_->bools_.emplace(key.get(), value).second) s_->bool_order_.push_back(key.get());
  auto difference = [&](const Expr &a, const Expr &b, int64_t extra) {  // a - b + extra >= 0
    if (!is_index(a.type())) return;
    LinearForm f = combine(s_->form_of(a), 1, s_->form_of(b), -1);
    f.constant = wrap_add(f.constant, extra);
    non_negative(f);
  };
  if (const LE *c = key.as<LE>()) value ? difference(c->b, c->a, 0) : difference(c->a, c->b, -1);
  if (const LT *c = key.as<LT>()) value ? difference(c->b, c->a, -1) : difference(c->a, c->b, 0);
  const EQ *eq = key.as<EQ>();
  const NE *ne = key.as<NE>();
  if ((eq && value) || (ne && !value)) {
    const Expr &a = eq ? eq->a : ne->a, &b = eq ? eq->b : ne->b;
    difference(a, b, 0);
    difference(b, a, 0);
  }
}

bool Simplifier::prove(const Expr &condition) {
  Expr c = mutate(condition);
  if (is_const_one(c)) return true;
  if (is_const(c)) return false;
  if (const Broadcast *b = c.as<Broadcast>()) return prove(b->value);
  if (const And *op = c.as<And>()) return prove(op->a) && prove(op->b);
  if (const Or *op = c.as<Or>()) {
    if (prove(op->a)) return true;
    Assume assume(this);
    assume.truth(op->a, false);
    return prove(op->b);
  }
  if (const Call *op = c.as<Call>()) {
    if (op->op == Intrinsic::likely || op->op == Intrinsic::likely_if_innermost)
      return prove(op->args[0]);
  }
  constexpr int kSteps = 600;
  auto at_least = [&](const Expr &a, const Expr &b, int64_t extra) {  // a - b + extra >= 0
    if (!is_index(a.type())) return false;
    LinearForm f = combine(form_of(a), 1, form_of(b), -1);
    f.constant = wrap_add(f.constant, extra);
    return not_negative(f, kSteps);
  };
  if (const LE *op = c.as<LE>()) return at_least(op->b, op->a, 0);
  if (const LT *op = c.as<LT>()) return at_least(op->b, op->a, -1);
  if (const EQ *op = c.as<EQ>()) return at_least(op->a, op->b, 0) && at_least(op->b, op->a, 0);
  if (const NE *op = c.as<NE>()) return at_least(op->a, op->b, -1) || at_least(op->b, op->a, -1);
  return false;
}

std::optional<int64_t> Simplifier::lower_bound(const Expr &e) {
  Expr s = mutate(e);
  if (is_index(s.type())) return lower(form_of(s), INT64_MAX, 300);
  ConstInterval r = memo_->ranges.of(s);
  return r.min_defined ? std::optional<int64_t>(r.min) : std::nullopt;
}

std::optional<int64_t> Simplifier::upper_bound(const Expr &e) {
  Expr s = mutate(e);
  if (is_index(s.type())) {
    std::optional<int64_t> r = lower(scale(form_of(s), -1), INT64_MAX, 300);
    return r && *r != INT64_MIN ? std::optional<int64_t>(-*r) : std::nullopt;
  }
  ConstInterval r = memo_->ranges.of(s);
  return r.max_defined ? std::optional<int64_t>(r.max) : std::nullopt;
}

}  // namespace calotype::analysis
