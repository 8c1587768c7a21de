// Dispatch over expression kinds, and everything that is neither index arithmetic nor a comparison: lets, casts, calls,
// selects, loads, and integers that wrap. Float arithmetic stays as it is written.
#include <algorithm>

#include "../base/diagnostic.h"
#include "../ir/eval.h"
#include "../ir/visit.h"
#include "rules.h"
#include "simplifier.h"

namespace calotype::analysis {

using namespace ir;

namespace {

/// Replaces the children of one node by what a simplifier makes of them.
class ChildMutator : public IRMutator {
public:
  explicit ChildMutator(Simplifier *s) : s_(s) {}
  Expr mutate(const Expr &e) override { return s_->mutate(e); }
  Expr children(const Expr &e) { return IRMutator::mutate(e); }
  using IRMutator::mutate;

private:
  Simplifier *s_;
};

bool operands_of(const Expr &e, Expr *a, Expr *b) {
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

bool int_value(const Expr &e, int64_t *v) {
  if (const int64_t *i = as_const_int(e)) return *v = *i, true;
  const uint64_t *u = as_const_uint(e);
  if (!u || *u > static_cast<uint64_t>(INT64_MAX)) return false;
  return *v = static_cast<int64_t>(*u), true;
}

/// Constant operands of types whose values and products fit 64 bits.
Expr fold_narrow(const Expr &e) {
  Expr a, b;
  int64_t x, y, r;
  const Type t = e.type();
  if (t.bits() > 32 || !operands_of(e, &a, &b) || !int_value(a, &x) || !int_value(b, &y)) return {};
  switch (e.kind()) {
    case NodeKind::Add: r = x + y; break;
    case NodeKind::Sub: r = x - y; break;
    case NodeKind::Mul: r = wrap_mul(x, y); break;
    case NodeKind::Div: r = floor_div(x, y); break;
    case NodeKind::Mod: r = floor_mod(x, y); break;
    case NodeKind::Min: r = std::min(x, y); break;
    default: r = std::max(x, y); break;
  }
  return make_int(t, r);
}

bool is_commutative(NodeKind k) {
  return k == NodeKind::Add || k == NodeKind::Mul || k == NodeKind::Min || k == NodeKind::Max;
}

/// All operands are constants: nothing a float operation rounds is reassociated, it is only computed.
Expr fold_constants(const Expr &e) {
  Expr a, b;
  bool constant = false;
  if (operands_of(e, &a, &b)) {
    constant = is_const(a) && is_const(b);
  } else if (const Cast *c = e.as<Cast>()) {
    constant = is_const(c->value);
  } else if (const Reinterpret *r = e.as<Reinterpret>()) {
    constant = is_const(r->value) && !e.type().is_handle() && !r->value.type().is_handle();
  } else if (const Call *call = e.as<Call>()) {
    constant = call->call_type == CallType::PureIntrinsic &&
               intrinsic_class(call->op) == IntrinsicClass::Core;
    for (const Expr &x : call->args) constant = constant && is_const(x) && !x.type().is_handle();
  }
  return constant ? fold(e) : Expr();
}

constexpr int kMaxRuleDepth = 64;

}  // namespace

Expr Simplifier::mutate(const Expr &e) {
  if (!e.defined()) return e;
  auto it = memo_->exprs.find(e.get());
  if (it != memo_->exprs.end()) return it->second;
  Expr r = intern(visit(e));
  for (int i = 0; i < kMaxRuleDepth; i++) {
    Expr better = apply_first_rule(r);
    if (!better.defined()) break;
    memo_->exprs.emplace(r.get(), r);  // should a rule ever lead back here
    better = mutate(better);
    memo_->exprs.erase(r.get());
    if (better.same_as(r)) break;
    r = better;
  }
  if (r.type().is_bool()) {
    if (const bool *value = known(r)) r = intern(make_bool(*value));
  }
  memo_->exprs[e.get()] = r;
  memo_->exprs[r.get()] = r;
  memo_->keep.push_back(e);
  return r;
}

std::vector<Expr> Simplifier::mutate_all(const std::vector<Expr> &es) {
  std::vector<Expr> r;
  r.reserve(es.size());
  for (const Expr &e : es) r.push_back(mutate(e));
  return r;
}

Expr Simplifier::visit_children(const Expr &e) { return ChildMutator(this).children(e); }

Expr Simplifier::visit(const Expr &e) {
  const Type t = e.type();
  switch (e.kind()) {
    case NodeKind::IntImm:
    case NodeKind::UIntImm:
    case NodeKind::FloatImm:
    case NodeKind::StringImm: return e;
    case NodeKind::Variable: {
      Name n = e.as<Variable>()->name;
      seen_.insert(n);
      const Expr *r = replacements_.find(n);
      if (r && r->defined()) return *r;
      if (t.is_int_or_uint()) {
        ConstInterval range = memo_->ranges.of(e);
        if (range.min_defined && range.max_defined && range.min == range.max)
          return make_int(t, range.min);
      }
      return e;
    }
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::Min:
    case NodeKind::Max: {
      if (is_index(t)) return visit_index(e);
      Expr s = visit_children(e);
      if (!t.is_int_or_uint() || t.bits() > 32) {
        Expr folded = fold_constants(s);
        if (folded.defined()) return folded;
      }
      if (!t.is_int_or_uint()) return t.is_vector() ? hoist_broadcast(s) : s;
      Expr folded = fold_narrow(s);
      if (folded.defined()) return folded;
      Expr a, b;
      operands_of(s, &a, &b);
      if (e.kind() == NodeKind::Min || e.kind() == NodeKind::Max) {
        ConstInterval ra = memo_->ranges.of(a), rb = memo_->ranges.of(b);
        bool a_low = ra.max_defined && rb.min_defined && ra.max <= rb.min;
        bool b_low = rb.max_defined && ra.min_defined && rb.max <= ra.min;
        if (a_low || b_low) return a_low == (e.kind() == NodeKind::Min) ? a : b;
      }
      // Equal sums of types that wrap get one shape; constants stand on the right for the rules.
      if (e.kind() == NodeKind::Sub && is_const(b) && t.bits() > 1 && !is_const_zero(b)) {
        int64_t v;
        if (int_value(b, &v)) s = make_add(a, make_int(t, wrap_sub(0, v)));
      } else if (is_commutative(e.kind()) && !is_const(b) && (is_const(a) || compare(a, b) > 0)) {
        s = make_binary(e.kind(), b, a);
      }
      return t.is_vector() ? hoist_broadcast(s) : s;
    }
    case NodeKind::EQ:
    case NodeKind::NE:
    case NodeKind::LT:
    case NodeKind::LE:
    case NodeKind::GT:
    case NodeKind::GE: {
      Expr s = visit_compare(e);
      return t.is_vector() ? hoist_broadcast(s) : s;
    }
    case NodeKind::And: return visit_and(e.as<And>());
    case NodeKind::Or: return visit_or(e.as<Or>());
    case NodeKind::Not: return negated(mutate(e.as<Not>()->a));
    case NodeKind::Cast: return visit_cast(e.as<Cast>());
    case NodeKind::Select: return visit_select(e.as<Select>());
    case NodeKind::Load: return visit_load(e.as<Load>());
    case NodeKind::Let: return visit_let(e.as<Let>());
    case NodeKind::Call: return visit_call(e.as<Call>());
    case NodeKind::Ramp:
    case NodeKind::Broadcast:
    case NodeKind::Shuffle:
    case NodeKind::VectorReduce: return visit_vector(e);
    default: {
      Expr s = visit_children(e), folded = fold_constants(s);
      return folded.defined() ? folded : s;
    }
  }
}

bool Simplifier::is_cheap(const Expr &value) {
  if (is_const(value) || value.as<Variable>()) return true;
  if (const Broadcast *b = value.as<Broadcast>()) return is_cheap(b->value);
  if (const Ramp *r = value.as<Ramp>()) return is_const(r->stride) && is_cheap(r->base);
  if (!is_index(value.type()) || !value.type().is_scalar()) return false;
  const LinearForm &f = form_of(value);
  return f.terms.size() == 1 && f.terms[0].second == 1 && f.terms[0].first.as<Variable>();
}

void Simplifier::learn_let(Assume &assume, Name n, const Expr &value) {
  if (!value.type().is_int_or_uint() || !value.type().is_scalar() || !is_pure(value)) return;
  assume.range(n, memo_->ranges.of(value));
  assume.residue(n, memo_->residues.of(value));
  if (!is_index(value.type())) return;
  if (is_data(value)) assume.data(n);
  // n - value is zero; big sums are rarely of use in a proof.
  const LinearForm &f = form_of(value);
  if (f.terms.empty() || f.terms.size() > 6) return;
  LinearForm d = combine(atom(make_var(n, value.type())), 1, f, -1);
  if (d.terms.size() < 2) return;
  assume.non_negative(d);
  assume.non_negative(scale(d, -1));
}

Expr Simplifier::visit_let(const Let *op) {
  Expr value = mutate(op->value);
  Assume assume(this);
  if (is_cheap(value)) {
    assume.bind_to(op->name, value);
    return mutate(op->body);
  }
  Name n = assume.bind(op->name);
  if (n != op->name) assume.replace(op->name, intern(make_var(n, value.type())));
  assume.about_new_name();
  learn_let(assume, n, value);
  Expr body = mutate(op->body);
  if (is_const(body) || (is_pure(value) && !uses_var(body, n))) return body;
  return make_let(n, value, body);
}

Expr Simplifier::visit_cast(const Cast *op) {
  const Type t = op->type;
  Expr v = mutate(op->value);
  if (const Cast *inner = v.as<Cast>()) {
    Type outer = t.element_of(), middle = v.type().element_of(),
         source = inner->value.type().element_of();
    bool ints = outer.is_int_or_uint() && middle.is_int_or_uint() && source.is_int_or_uint();
    bool widened =
        middle.can_represent(source) && middle.code() != Type::Handle && !middle.is_handle();
    bool cut_twice = ints && outer.bits() <= middle.bits() && outer.bits() > 1;
    // Through floats only where both steps are exact.
    if ((ints && (widened || cut_twice) && !(middle.is_bool() && !source.is_bool())) ||
        (widened && outer.is_float() && middle.is_float() && source.is_float())) {
      return make_cast(t, inner->value);
    }
  }
  int64_t value;
  if (t.is_bool() && int_value(v, &value)) return make_bool(value != 0, t.lanes());
  // A condition that is known to be 0 or 1, a value that only fits one way: ranges decide.
  if (t.is_int_or_uint() && v.type().is_int_or_uint() && !is_const(v)) {
    ConstInterval r = memo_->ranges.of(v);
    if (r.min_defined && r.max_defined && r.min == r.max && is_pure(v)) {
      return t.is_bool() ? make_bool(r.min != 0, t.lanes()) : make_int(t, r.min);
    }
  }
  Expr r = make_cast(t, v), folded = fold_constants(r);
  return folded.defined() ? folded : r;
}

Expr Simplifier::visit_select(const Select *op) {
  Expr c = mutate(op->condition);
  if (is_const_one(c)) return mutate(op->true_value);
  if (is_const_zero(c)) return mutate(op->false_value);
  Expr t = mutate(op->true_value), f = mutate(op->false_value);
  if (t.same_as(f)) return t;
  if (const Call *l = c.as<Call>()) {
    if (l->op == Intrinsic::likely && is_const(l->args[0])) return is_const_one(l->args[0]) ? t : f;
  }
  if (const Broadcast *b = c.as<Broadcast>()) {
    if (b->value.type().is_scalar()) c = b->value;
  }
  // Conditions that differ from the usual shape by a negation.
  if (const NE *ne = c.as<NE>()) return make_select(make_eq(ne->a, ne->b), f, t);
  return hoist_broadcast(make_select(c, t, f));
}

Expr Simplifier::visit_load(const Load *op) {
  Expr predicate = mutate(op->predicate);
  if (is_const_zero(predicate)) return make_zero(op->type);
  Expr index = mutate(op->index);
  const Broadcast *b = index.as<Broadcast>();
  if (b && b->value.type().is_scalar() && is_const_one(predicate)) {
    return make_broadcast(
        intern(make_load(op->type.element_of(), op->name, b->value, {}, op->param)), b->lanes);
  }
  return make_load(op->type.element_of(), op->name, index, predicate, op->param);
}

Expr Simplifier::visit_call(const Call *op) {
  const Expr e(op);
  switch (op->op) {
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost: {
      Expr v = mutate(op->args[0]);
      if (is_const(v)) return v;
      if (const Call *inner = v.as<Call>()) {
        if (inner->op == op->op) return v;
      }
      return make_intrinsic(op->type, op->op, {v});
    }
    case Intrinsic::if_then_else: {
      Expr c = mutate(op->args[0]);
      if (is_const_one(c)) return mutate(op->args[1]);
      if (is_const_zero(c) && op->args.size() > 2) return mutate(op->args[2]);
      std::vector<Expr> args{c};
      for (size_t i = 1; i < op->args.size(); i++) {
        Assume assume(this);
        assume.truth(c, i == 1);
        args.push_back(mutate(op->args[i]));
      }
      if (args.size() > 2 && args[1].same_as(args[2]) && is_pure(c)) return args[1];
      return make_intrinsic(op->type, op->op, args);
    }
    case Intrinsic::shift_left:
    case Intrinsic::shift_right: {
      int64_t k;
      Expr b = mutate(op->args[1]);
      if (!is_index(op->type) || !int_value(b, &k) || k < 0 || k > 30) break;
      Expr a = op->args[0], scale_by = make_int(op->type, int64_t(1) << k);
      return mutate(op->op == Intrinsic::shift_left ? make_mul(a, scale_by)
                                                    : make_div(a, scale_by));
    }
    case Intrinsic::bitwise_and: {
      int64_t k;
      Expr b = mutate(op->args[1]);
      if (!is_index(op->type) || !int_value(b, &k) || k <= 0 || k > INT32_MAX - 1 ||
          (k & (k + 1)) != 0)
        break;
      return mutate(make_mod(op->args[0], make_int(op->type, k + 1)));
    }
    default: break;
  }
  Expr s = visit_children(e), folded = fold_constants(s);
  return folded.defined() ? folded : s;
}

}  // namespace calotype::analysis
