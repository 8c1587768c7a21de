// Index arithmetic and addresses of the Emitter: see emit.h.
//
// An Int32 index is carried out in 64 bits, where it cannot overflow, as a linear form over leaves:
// loop counters, parameters, minima, maxima and products of other forms. Forms see through lets, so
// equal terms cancel: what a Func computed per tile stores at (x + xo * 16) - xo * 16 + 3 gets a
// constant address, and LLVM then keeps it in registers. Equal arithmetic is emitted once per region
// (index_values_).
//
// An address is built outermost loop first (host, then what changes with each inner loop, then the
// constant), so that each partial sum is invariant in the loops further in and neighbouring accesses
// share all but the constant.
#include "emit.h"

#include "../base/diagnostic.h"

#include <algorithm>

namespace calotype::codegen {

using ir::NodeKind;

namespace {

// First number of a key: what was computed.
enum Operation : int64_t { kSum, kExtend, kProduct, kMin, kMax, kQuotient, kRemainder };

// Coefficients wrap like the 64-bit arithmetic that they stand for.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

Expr sum(const Expr &a, const Expr &b, bool minus) {
  const int64_t *x = ir::as_const_int(a), *y = ir::as_const_int(b);
  if (x && y) return ir::make_int(a.type(), minus ? *x - *y : *x + *y);
  if (y && *y == 0) return a;
  if (x && *x == 0 && !minus) return b;
  return minus ? ir::make_sub(a, b) : ir::make_add(a, b);
}

Expr times(const Expr &a, const Expr &b) {
  const int64_t *x = ir::as_const_int(a), *y = ir::as_const_int(b);
  if (x && y) return ir::make_int(a.type(), *x * *y);
  if ((x && *x == 0) || (y && *y == 1)) return a;
  if ((y && *y == 0) || (x && *x == 1)) return b;
  return ir::make_mul(a, b);
}

const ir::Call *as_marker(const Expr &e) {
  const auto *c = e.as<ir::Call>();
  bool intrinsic =
      c && (c->call_type == ir::CallType::PureIntrinsic || c->call_type == ir::CallType::Intrinsic);
  return intrinsic && ir::intrinsic_class(c->op) == ir::IntrinsicClass::Marker ? c : nullptr;
}

}  // namespace

// ---- forms ---------------------------------------------------------------------------------------

Emitter::Form Emitter::leaf(Value *v, int depth) {
  Form f;
  if (const auto *c = llvm::dyn_cast<llvm::ConstantInt>(v)) {
    f.constant = c->getSExtValue();
    return f;
  }
  auto id = leaf_ids_.insert({v, static_cast<int>(leaves_.size())});
  if (id.second) leaves_.push_back({v, depth});
  f.terms.push_back({id.first->second, 1});
  return f;
}

Emitter::Form Emitter::scaled(const Form &a, int64_t scale) { return combine(Form(), a, scale); }

// a + scale * b
Emitter::Form Emitter::combine(const Form &a, const Form &b, int64_t scale) {
  Form r;
  r.constant = wrap_add(a.constant, wrap_mul(scale, b.constant));
  auto x = a.terms.begin(), y = b.terms.begin();
  while (x != a.terms.end() || y != b.terms.end()) {
    bool take_x = y == b.terms.end() || (x != a.terms.end() && x->first <= y->first);
    bool take_y = x == a.terms.end() || (y != b.terms.end() && y->first <= x->first);
    int id = take_x ? x->first : y->first;
    int64_t c = wrap_add(take_x ? x->second : 0, take_y ? wrap_mul(scale, y->second) : 0);
    if (c != 0) r.terms.push_back({id, c});
    if (take_x) ++x;
    if (take_y) ++y;
  }
  return r;
}

int Emitter::depth_of(const Form &f) const {
  int d = 0;
  for (const auto &t : f.terms) d = std::max(d, leaves_[t.first].depth);
  return d;
}

void Emitter::append(Key *key, const Form &f) {
  key->push_back(static_cast<int64_t>(f.terms.size()));
  for (const auto &t : f.terms) {
    key->push_back(t.first);
    key->push_back(t.second);
  }
  key->push_back(f.constant);
}

Value *Emitter::remember(Key key, Value *v) {
  if (index_values_.insert({key, v}).second) index_log_.push_back(std::move(key));
  return v;
}

template <typename F> Emitter::Form Emitter::remembered(Key key, int depth, F make) {
  auto it = index_values_.find(key);
  return leaf(it != index_values_.end() ? it->second : remember(std::move(key), make()), depth);
}

// Outermost terms first, so that the sum of the first terms is shared with forms that begin alike.
Value *Emitter::materialise(const Form &f) {
  depth_ = std::max(depth_, depth_of(f));
  if (f.terms.empty()) return b_.getInt64(static_cast<uint64_t>(f.constant));
  if (f.terms.size() == 1 && f.terms[0].second == 1 && f.constant == 0) {
    return leaves_[f.terms[0].first].value;
  }
  Key key = {kSum};
  append(&key, f);
  auto it = index_values_.find(key);
  if (it != index_values_.end()) return it->second;
  Form rest = f;
  if (f.constant != 0) {
    rest.constant = 0;
    Value *v = b_.CreateAdd(materialise(rest), b_.getInt64(static_cast<uint64_t>(f.constant)));
    return remember(std::move(key), v);
  }
  size_t last = 0;  // the deepest term is added last
  for (size_t i = 1; i < f.terms.size(); i++) {
    if (leaves_[f.terms[i].first].depth >= leaves_[f.terms[last].first].depth) last = i;
  }
  auto term = f.terms[last];
  rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(last));
  bool minus = term.second < 0 && !rest.terms.empty();
  Value *v = leaves_[term.first].value;
  int64_t c = minus ? wrap_mul(term.second, -1) : term.second;
  if (c != 1) v = b_.CreateMul(v, b_.getInt64(static_cast<uint64_t>(c)));
  if (!rest.terms.empty()) {
    Value *before = materialise(rest);
    v = minus ? b_.CreateSub(before, v) : b_.CreateAdd(before, v);
  }
  return remember(std::move(key), v);
}

Emitter::Symbol Emitter::index_symbol(const Form &f) {
  Symbol s;
  s.is_index = true;
  s.form = f;
  s.depth = depth_of(f);
  s.type = Int(32);
  return s;
}

// Anything else: evaluated as it is, then extended.
Emitter::Form Emitter::plain(const Expr &e) {
  int before = depth_;
  depth_ = 0;
  Value *v = expr(e);
  int depth = depth_;
  depth_ = std::max(depth_, before);
  if (v->getType() == b_.getInt64Ty()) return leaf(v, depth);
  Key key = {kExtend, static_cast<int64_t>(reinterpret_cast<uintptr_t>(v))};
  return remembered(std::move(key), depth, [&] {
    return e.type().is_uint() ? b_.CreateZExtOrTrunc(v, b_.getInt64Ty())
                              : b_.CreateSExtOrTrunc(v, b_.getInt64Ty());
  });
}

// A node that several expressions share is looked into once per statement, like expr.
Emitter::Form Emitter::form(const Expr &e) {
  bool index = e.type().is_int() && e.type().bits() >= 32 && e.type().is_scalar();
  if (!index) return plain(e);
  bool leaf_kind = e.kind() == NodeKind::IntImm || e.kind() == NodeKind::Variable;
  if (e.get()->ref_count() == 1 || leaf_kind) return compute_form(e);
  uintptr_t key = reinterpret_cast<uintptr_t>(e.get()) + 1;  // + 0: its plain value
  auto it = cache_.find(key);
  if (it != cache_.end()) return it->second.form;
  Form f = compute_form(e);
  if (cache_.insert({key, {nullptr, depth_of(f), e, f}}).second) cache_log_.push_back(key);
  return f;
}

Emitter::Form Emitter::compute_form(const Expr &e) {
  switch (e.kind()) {
    case NodeKind::IntImm: {
      Form f;
      f.constant = e.as<ir::IntImm>()->value;
      return f;
    }
    case NodeKind::Variable: {
      const Symbol *s = symbols_.find(e.as<ir::Variable>()->name);
      if (!s || !s->is_index) return plain(e);
      depth_ = std::max(depth_, s->depth);
      return s->form;
    }
    case NodeKind::Add: {
      Form a = form(e.as<ir::Add>()->a);
      return combine(a, form(e.as<ir::Add>()->b), 1);
    }
    case NodeKind::Sub: {
      Form a = form(e.as<ir::Sub>()->a);
      return combine(a, form(e.as<ir::Sub>()->b), -1);
    }
    case NodeKind::Mul: return product(e.as<ir::Mul>()->a, e.as<ir::Mul>()->b);
    case NodeKind::Min: return extreme(e.as<ir::Min>()->a, e.as<ir::Min>()->b, true);
    case NodeKind::Max: return extreme(e.as<ir::Max>()->a, e.as<ir::Max>()->b, false);
    case NodeKind::Div:
      if (!ir::is_positive_const(e.as<ir::Div>()->b)) return plain(e);
      return quotient(e.as<ir::Div>()->a, e.as<ir::Div>()->b, false);
    case NodeKind::Mod:
      if (!ir::is_positive_const(e.as<ir::Mod>()->b)) return plain(e);
      return quotient(e.as<ir::Mod>()->a, e.as<ir::Mod>()->b, true);
    case NodeKind::Cast: {
      const Expr &inner = e.as<ir::Cast>()->value;
      return e.type() == Int(64) && inner.type() == Int(32) ? form(inner) : plain(e);
    }
    case NodeKind::Call: {
      const ir::Call *marker = as_marker(e);
      return marker ? form(marker->args[0]) : plain(e);
    }
    default: return plain(e);
  }
}

Emitter::Form Emitter::product(const Expr &a, const Expr &b) {
  Form x = form(a), y = form(b);
  if (x.terms.empty()) std::swap(x, y);
  if (y.terms.empty()) return scaled(x, y.constant);
  if (y.terms < x.terms) std::swap(x, y);
  Key key = {kProduct};
  append(&key, x);
  append(&key, y);
  return remembered(std::move(key), std::max(depth_of(x), depth_of(y)), [&] {
    Value *u = materialise(x);
    return b_.CreateMul(u, materialise(y));
  });
}

Emitter::Form Emitter::extreme(const Expr &a, const Expr &b, bool is_min) {
  Form x = form(a), y = form(b);
  Form difference = combine(x, y, -1);
  if (difference.terms.empty()) return (difference.constant < 0) == is_min ? x : y;
  Key key = {is_min ? kMin : kMax};
  append(&key, x);
  append(&key, y);
  return remembered(std::move(key), std::max(depth_of(x), depth_of(y)), [&] {
    Value *u = materialise(x);
    auto id = is_min ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
    return b_.CreateBinaryIntrinsic(id, u, materialise(y));
  });
}

Emitter::Form Emitter::quotient(const Expr &a, const Expr &b, bool remainder) {
  Form x = form(a);
  int64_t d = *ir::as_const_int(b);
  Key key = {remainder ? kRemainder : kQuotient, d};
  append(&key, x);
  return remembered(std::move(key), depth_of(x), [&] {
    NodeKind op = remainder ? NodeKind::Mod : NodeKind::Div;
    Value *divisor = b_.getInt64(static_cast<uint64_t>(d));
    return ops_.binary(op, Int(64), materialise(x), divisor);
  });
}

// ---- addresses -----------------------------------------------------------------------------------

std::optional<Emitter::Linear> Emitter::linear(const Expr &index) {
  Type scalar = index.type().element_of();
  if (const auto *op = index.as<ir::Ramp>()) {
    if (op->base.type().is_vector()) return std::nullopt;
    return Linear{op->base, op->stride, op->lanes};
  }
  if (const auto *op = index.as<ir::Broadcast>()) {
    if (op->value.type().is_vector()) return std::nullopt;
    return Linear{op->value, ir::make_zero(scalar), op->lanes};
  }
  if (const auto *op = as_marker(index)) return linear(op->args[0]);
  bool minus = index.kind() == NodeKind::Sub;
  if (index.kind() == NodeKind::Add || minus) {
    auto a = linear(minus ? index.as<ir::Sub>()->a : index.as<ir::Add>()->a);
    if (!a) return std::nullopt;
    auto b = linear(minus ? index.as<ir::Sub>()->b : index.as<ir::Add>()->b);
    if (!b) return std::nullopt;
    return Linear{sum(a->base, b->base, minus), sum(a->stride, b->stride, minus), a->lanes};
  }
  if (const auto *op = index.as<ir::Mul>()) {
    auto a = linear(op->a);
    if (!a) return std::nullopt;
    auto b = linear(op->b);
    if (!b) return std::nullopt;
    if (ir::is_const_zero(a->stride)) std::swap(a, b);
    if (!ir::is_const_zero(b->stride)) return std::nullopt;
    return Linear{times(a->base, b->base), times(a->stride, b->base), a->lanes};
  }
  return std::nullopt;
}

Value *Emitter::host(const ir::Name &name) {
  const Symbol *s = symbols_.find(name);
  CALO_ASSERT(s != nullptr, "memory " + name.str() + " is not defined where it is used");
  depth_ = std::max(depth_, s->depth);
  return s->value;
}

Value *Emitter::offset(Type element, Value *pointer, Value *elements) {
  return b_.CreateGEP(ops_.memory_type(element.element_of()), pointer, elements);
}

Value *Emitter::address(const ir::Name &name, Type element, const Expr &scalar_index) {
  Form f = form(scalar_index);
  std::map<int, Form> by_depth;
  for (const auto &t : f.terms) by_depth[leaves_[t.first].depth].terms.push_back(t);
  Value *p = host(name);
  for (const auto &group : by_depth) p = offset(element, p, materialise(group.second));
  if (f.constant == 0) return p;
  return offset(element, p, b_.getInt64(static_cast<uint64_t>(f.constant)));
}

void Emitter::split_uniform(const Expr &index, Expr *rest, Expr *common) {
  *rest = index;
  *common = ir::make_zero(index.type().element_of());
  for (;;) {
    bool minus = rest->kind() == NodeKind::Sub;
    if (rest->kind() != NodeKind::Add && !minus) break;
    Expr a = minus ? rest->as<ir::Sub>()->a : rest->as<ir::Add>()->a;
    Expr b = minus ? rest->as<ir::Sub>()->b : rest->as<ir::Add>()->b;
    auto uniform = linear(b);
    if (!uniform || !ir::is_const_zero(uniform->stride)) {
      uniform = minus ? std::nullopt : linear(a);
      if (!uniform || !ir::is_const_zero(uniform->stride)) break;
      std::swap(a, b);
    }
    *common = sum(*common, uniform->base, minus);
    *rest = a;
  }
}

std::optional<Emitter::ClampedRamp> Emitter::clamped_ramp(const Expr &index) {
  ClampedRamp r;
  Expr e = index;
  while (e.kind() == NodeKind::Min || e.kind() == NodeKind::Max) {
    bool is_min = e.kind() == NodeKind::Min;
    Expr a = is_min ? e.as<ir::Min>()->a : e.as<ir::Max>()->a;
    Expr b = is_min ? e.as<ir::Min>()->b : e.as<ir::Max>()->b;
    auto bound = linear(b);
    if (!bound || !ir::is_const_zero(bound->stride)) {
      std::swap(a, b);
      bound = linear(b);
      if (!bound || !ir::is_const_zero(bound->stride)) return std::nullopt;
    }
    r.bounds.insert(r.bounds.begin(), {is_min, bound->base});
    e = a;
  }
  auto ramp = linear(e);
  if (index.type().element_of() != Int(32) || r.bounds.empty() || !ramp ||
      !ir::is_const_one(ramp->stride))
    return std::nullopt;
  r.base = ramp->base;
  return r;
}

// A vector index in 64 bits: sums and products are widened to their operands, so that a coordinate times a stride
// cannot overflow. (x86 multiplies sign-extended 32-bit lanes to 64 bits in one instruction.)
Value *Emitter::wide_lanes(const Expr &e) {
  const int n = e.type().lanes();
  if (e.type().element_of() == Int(32)) {
    auto both = [&](const Expr &a, const Expr &b) {
      Value *x = wide_lanes(a), *y = wide_lanes(b);
      return ops_.binary(e.kind(), Int(64, n), x, y);
    };
    if (const auto *op = e.as<ir::Add>()) return both(op->a, op->b);
    if (const auto *op = e.as<ir::Sub>()) return both(op->a, op->b);
    if (const auto *op = e.as<ir::Mul>()) return both(op->a, op->b);
    const auto *op = e.as<ir::Broadcast>();
    if (op && op->value.type().is_scalar()) return ops_.splat(wide(op->value), n);
  }
  Value *v = expr(e);
  llvm::Type *t = ops_.type(Int(64, n));
  return e.type().is_uint() ? b_.CreateZExtOrTrunc(v, t) : b_.CreateSExtOrTrunc(v, t);
}

// Lane by lane. What all lanes add is taken out first, so that only the rest is computed as a vector.
std::vector<Value *> Emitter::lane_addresses(const ir::Name &name, Type element,
                                             const Expr &index) {
  int n = index.type().lanes();
  std::vector<Value *> result;
  if (auto at = linear(index)) {
    Value *first = address(name, element, at->base);
    Form stride = form(at->stride);
    for (int k = 0; k < n; k++) {
      result.push_back(k == 0 ? first : offset(element, first, materialise(scaled(stride, k))));
    }
    return result;
  }
  Expr rest, common;
  split_uniform(index, &rest, &common);
  Value *base = address(name, element, common), *v = wide_lanes(rest);
  for (int k = 0; k < n; k++) result.push_back(offset(element, base, ops_.lane(v, k)));
  return result;
}

}  // namespace calotype::codegen
