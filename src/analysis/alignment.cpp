// Residues of integer expressions. A residue (m, r) says x = m*k + r; m = 0 says x = r. Types that wrap only keep what
// survives wrapping: the modulus' common divisor with 2^bits.
#include "alignment.h"

#include "linear_ops.h"
#include "residues.h"

namespace calotype::analysis {

using namespace ir;

namespace {

ModulusRemainder normal(int64_t m, int64_t r) {
  if (m < 0) m = wrap_sub(0, m);
  if (m < 0) return {};
  return {m, m == 0 ? r : floor_mod(r, m)};
}

/// What is left of `a` when its value wraps to `t`.
ModulusRemainder wrapped(ModulusRemainder a, Type t) {
  if (a.modulus == 0) return {0, wrap_to(t, a.remainder)};
  if (t.bits() >= 63) return a;
  int64_t m = gcd(a.modulus, int64_t(1) << t.bits());
  return normal(m, a.remainder);
}

}  // namespace

ModulusRemainder unify(ModulusRemainder a, ModulusRemainder b) {
  int64_t d;
  if (__builtin_sub_overflow(a.remainder, b.remainder, &d)) return {};
  int64_t m = gcd(gcd(a.modulus, b.modulus), d);
  return normal(m, a.remainder);
}

ModulusRemainder residue_add(ModulusRemainder a, ModulusRemainder b) {
  int64_t r;
  if (add_overflows(a.remainder, b.remainder, &r)) return {};
  return normal(gcd(a.modulus, b.modulus), r);
}

ModulusRemainder residue_mul(ModulusRemainder a, ModulusRemainder b) {
  // (ma*i + ra) * (mb*j + rb): every product but ra*rb is a multiple of the modulus.
  int64_t mm, mr, rm, r;
  if (mul_overflows(a.modulus, b.modulus, &mm) || mul_overflows(a.modulus, b.remainder, &mr) ||
      mul_overflows(a.remainder, b.modulus, &rm) || mul_overflows(a.remainder, b.remainder, &r)) {
    return {};
  }
  return normal(gcd(gcd(mm, mr), rm), r);
}

ModulusRemainder Residues::of(const LinearForm &f) {
  ModulusRemainder r{0, f.constant};
  for (auto &[e, c] : f.terms) r = residue_add(r, residue_mul({0, c}, of(e)));
  return r;
}

ModulusRemainder Residues::of(const Expr &e) {
  if (!e.type().is_int_or_uint() || e.type().bits() == 1) return {};
  auto it = memo_.find(e.get());
  if (it != memo_.end()) return it->second;
  ModulusRemainder r = compute(e);
  memo_.emplace(e.get(), r);
  keep_.push_back(e);
  return r;
}

ModulusRemainder Residues::of_let(const Let *op) {
  ModulusRemainder value = of(op->value);
  ScopedBinding<ModulusRemainder> bind(lets_, op->name, value);
  if (seen_.insert(op->name).second) return of(op->body);
  // Another variable of this name was seen: what the memo holds may be about that one.
  auto outer = std::move(memo_);
  memo_.clear();
  ModulusRemainder r = of(op->body);
  memo_ = std::move(outer);
  return r;
}

ModulusRemainder Residues::of_call(const Call *op) {
  switch (op->op) {
    case Intrinsic::likely:
    case Intrinsic::likely_if_innermost: return of(op->args[0]);
    case Intrinsic::return_second: return of(op->args[1]);
    case Intrinsic::if_then_else:
      return op->args.size() > 2 ? unify(of(op->args[1]), of(op->args[2])) : ModulusRemainder();
    case Intrinsic::shift_left: {
      const int64_t *c = as_const_int(op->args[1]);
      if (!c || *c < 0 || *c >= op->type.bits() || *c > 61) return {};
      return wrapped(residue_mul(of(op->args[0]), {0, int64_t(1) << *c}), op->type);
    }
    default: return {};
  }
}

ModulusRemainder Residues::compute(const Expr &e) {
  const Type t = e.type();
  auto arith = [&](ModulusRemainder r) { return is_index(t) ? r : wrapped(r, t); };
  switch (e.kind()) {
    case NodeKind::IntImm: return {0, e.as<IntImm>()->value};
    case NodeKind::UIntImm: {
      uint64_t v = e.as<UIntImm>()->value;
      return v > static_cast<uint64_t>(INT64_MAX) ? ModulusRemainder()
                                                  : ModulusRemainder{0, static_cast<int64_t>(v)};
    }
    case NodeKind::Cast: {
      const Expr &v = e.as<Cast>()->value;
      if (!v.type().is_int_or_uint()) return {};
      return t.can_represent(v.type()) ? of(v) : wrapped(of(v), t);
    }
    case NodeKind::Variable: {
      Name n = e.as<Variable>()->name;
      seen_.insert(n);
      if (const ModulusRemainder *r = lets_.find(n)) return *r;
      const ModulusRemainder *r = scope_ ? scope_->find(n) : nullptr;
      return r ? *r : ModulusRemainder();
    }
    case NodeKind::Add: return arith(residue_add(of(e.as<Add>()->a), of(e.as<Add>()->b)));
    case NodeKind::Sub:
      return arith(residue_add(of(e.as<Sub>()->a), residue_mul({0, -1}, of(e.as<Sub>()->b))));
    case NodeKind::Mul: return arith(residue_mul(of(e.as<Mul>()->a), of(e.as<Mul>()->b)));
    case NodeKind::Div: {
      ModulusRemainder a = of(e.as<Div>()->a), b = of(e.as<Div>()->b);
      if (b.modulus != 0 || b.remainder <= 0 || a.modulus % b.remainder != 0) return {};
      return normal(a.modulus / b.remainder, floor_div(a.remainder, b.remainder));
    }
    case NodeKind::Mod: {
      ModulusRemainder a = of(e.as<Mod>()->a), b = of(e.as<Mod>()->b);
      if (b.modulus != 0 || b.remainder == 0 || b.remainder == INT64_MIN) return {};
      if (a.modulus == 0) return {0, floor_mod(a.remainder, b.remainder)};
      int64_t g = gcd(a.modulus, b.remainder);
      if (g == b.remainder || g == -b.remainder) return {0, floor_mod(a.remainder, g)};
      return normal(g, a.remainder);
    }
    case NodeKind::Min: return unify(of(e.as<Min>()->a), of(e.as<Min>()->b));
    case NodeKind::Max: return unify(of(e.as<Max>()->a), of(e.as<Max>()->b));
    case NodeKind::Select:
      return unify(of(e.as<Select>()->true_value), of(e.as<Select>()->false_value));
    case NodeKind::Broadcast: return of(e.as<Broadcast>()->value);
    case NodeKind::Ramp: {
      // base + stride * k for some k.
      ModulusRemainder steps = residue_mul(of(e.as<Ramp>()->stride), {1, 0});
      return arith(residue_add(of(e.as<Ramp>()->base), steps));
    }
    case NodeKind::Let: return of_let(e.as<Let>());
    case NodeKind::Call: return of_call(e.as<Call>());
    default: return {};
  }
}

ModulusRemainder modulus_remainder(const Expr &e, const Scope<ModulusRemainder> &scope) {
  return Residues(&scope).of(e);
}

}  // namespace calotype::analysis
