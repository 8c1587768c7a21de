// Makers of IR nodes and questions about constants.
#include "nodes.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "../base/diagnostic.h"
#include "function.h"

namespace calotype {

// --- Constants from C++ numbers ----------------------------------------------------------------------------------
Expr::Expr(bool x) : Expr(ir::make_bool(x)) {}
Expr::Expr(int8_t x) : Expr(ir::make_int(Int(8), x)) {}
Expr::Expr(int16_t x) : Expr(ir::make_int(Int(16), x)) {}
Expr::Expr(int32_t x) : Expr(ir::make_int(Int(32), x)) {}
Expr::Expr(long x) : Expr(ir::make_int(Int(64), x)) {}
Expr::Expr(long long x) : Expr(ir::make_int(Int(64), x)) {}
Expr::Expr(uint8_t x) : Expr(ir::make_uint(UInt(8), x)) {}
Expr::Expr(uint16_t x) : Expr(ir::make_uint(UInt(16), x)) {}
Expr::Expr(uint32_t x) : Expr(ir::make_uint(UInt(32), x)) {}
Expr::Expr(unsigned long x) : Expr(ir::make_uint(UInt(64), x)) {}
Expr::Expr(unsigned long long x) : Expr(ir::make_uint(UInt(64), x)) {}
Expr::Expr(float x) : Expr(ir::make_float(Float(32), x)) {}
Expr::Expr(double x) : Expr(ir::make_float(Float(64), x)) {}
Expr::Expr(const std::string &s) : Expr(ir::make_string(s)) {}

namespace ir {

IRNode::~IRNode() = default;
BaseExprNode::~BaseExprNode() = default;
BaseStmtNode::~BaseStmtNode() = default;
BufferHandle::~BufferHandle() = default;
Parameter::~Parameter() = default;
ReductionDomain::~ReductionDomain() = default;
FunctionBody::~FunctionBody() = default;
#define FIELD(T, n)
#define EXPR(Name, fields) Name::~Name() = default;
#define STMT(Name, fields) Name::~Name() = default;
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT

// --- Intrinsics --------------------------------------------------------------------------------------------------
namespace {
struct IntrinsicInfo {
  const char *name;
  IntrinsicClass cls;
};
const IntrinsicInfo kIntrinsics[] = {
    {"", IntrinsicClass::None},
#define INTRINSIC(name, cls) {#name, IntrinsicClass::cls},
#include "intrinsics.def"
#undef INTRINSIC
};

template <typename T> T *new_expr(Type t) {
  T *n = new T;
  n->type = t;
  return n;
}

int64_t wrap_int(int bits, int64_t v) {
  if (bits >= 64) return v;
  int shift = 64 - bits;
  return static_cast<int64_t>(static_cast<uint64_t>(v) << shift) >> shift;
}

uint64_t wrap_uint(int bits, uint64_t v) {
  return bits >= 64 ? v : v & ((uint64_t(1) << bits) - 1);
}
}  // namespace

const char *intrinsic_name(Intrinsic op) { return kIntrinsics[static_cast<int>(op)].name; }
IntrinsicClass intrinsic_class(Intrinsic op) { return kIntrinsics[static_cast<int>(op)].cls; }

Intrinsic intrinsic_by_name(const std::string &name) {
  static const auto *table = [] {
    auto *t = new std::unordered_map<std::string, Intrinsic>();
    for (size_t i = 1; i < sizeof(kIntrinsics) / sizeof(kIntrinsics[0]); i++)
      (*t)[kIntrinsics[i].name] = static_cast<Intrinsic>(i);
    return t;
  }();
  auto it = table->find(name);
  return it == table->end() ? Intrinsic::None : it->second;
}

// --- Constants ---------------------------------------------------------------------------------------------------
Expr make_int(Type t, int64_t value) {
  if (t.is_vector()) return make_broadcast(make_int(t.element_of(), value), t.lanes());
  if (t.is_uint()) return make_uint(t, static_cast<uint64_t>(value));
  if (t.is_float()) return make_float(t, static_cast<double>(value));
  CALO_ASSERT(t.is_int());
  IntImm *n = new_expr<IntImm>(t);
  n->value = wrap_int(t.bits(), value);
  return n;
}

Expr make_uint(Type t, uint64_t value) {
  if (t.is_vector()) return make_broadcast(make_uint(t.element_of(), value), t.lanes());
  if (t.is_int()) return make_int(t, static_cast<int64_t>(value));
  if (t.is_float()) return make_float(t, static_cast<double>(value));
  CALO_ASSERT(t.is_uint());
  UIntImm *n = new_expr<UIntImm>(t);
  n->value = wrap_uint(t.bits(), value);
  return n;
}

Expr make_float(Type t, double value) {
  if (t.is_vector()) return make_broadcast(make_float(t.element_of(), value), t.lanes());
  CALO_ASSERT(t.is_float());
  FloatImm *n = new_expr<FloatImm>(t);
  n->value = round_to(t, value);
  return n;
}

Expr make_const(Type t, double value) {
  if (t.is_float()) return make_float(t, value);
  CALO_ASSERT(value == std::floor(value), "constant is not an integer");
  if (t.is_int()) return make_int(t, static_cast<int64_t>(value));
  return make_uint(t, value < 0 ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                : static_cast<uint64_t>(value));
}

Expr make_zero(Type t) {
  if (t.is_handle()) return make_reinterpret(t, make_uint(UInt(64, t.lanes()), 0));
  return make_int(t, 0);
}
Expr make_one(Type t) { return make_int(t, 1); }
Expr make_bool(bool value, int lanes) { return make_uint(UInt(1, lanes), value); }

Expr make_string(const std::string &text) {
  StringImm *n = new_expr<StringImm>(Handle());
  n->value = text;
  return n;
}

// --- Operations --------------------------------------------------------------------------------------------------
Expr make_cast(Type t, Expr value) {
  CALO_ASSERT(value.defined());
  t = t.with_lanes(value.type().lanes());
  if (t == value.type()) return value;
  if (const Broadcast *b = value.as<Broadcast>())
    return make_broadcast(make_cast(t.element_of(), b->value), b->lanes);
  if (t.is_int_or_uint() && t.bits() > 1) {
    if (const IntImm *i = value.as<IntImm>()) return make_int(t, i->value);
    if (const UIntImm *i = value.as<UIntImm>()) return make_uint(t, i->value);
  } else if (t.is_float() && t.bits() >= 32 && !t.is_bfloat()) {
    if (const IntImm *i = value.as<IntImm>()) {
      return make_float(
          t, t.bits() == 32 ? static_cast<float>(i->value) : static_cast<double>(i->value));
    }
    if (const UIntImm *i = value.as<UIntImm>()) {
      return make_float(
          t, t.bits() == 32 ? static_cast<float>(i->value) : static_cast<double>(i->value));
    }
    if (const FloatImm *f = value.as<FloatImm>()) return make_float(t, f->value);
  }
  Cast *n = new_expr<Cast>(t);
  n->value = std::move(value);
  return n;
}

Expr make_reinterpret(Type t, Expr value) {
  CALO_ASSERT(value.defined() &&
              t.bits() * t.lanes() == value.type().bits() * value.type().lanes());
  if (t == value.type()) return value;
  Reinterpret *n = new_expr<Reinterpret>(t);
  n->value = std::move(value);
  return n;
}

Expr make_var(Name name, Type t, Ref<const Parameter> param) {
  Variable *n = new_expr<Variable>(t);
  n->name = name;
  n->param = std::move(param);
  return n;
}

namespace {
void match_lanes(Expr &a, Expr &b) {
  if (a.type().lanes() == b.type().lanes()) return;
  if (a.type().is_scalar())
    a = make_broadcast(a, b.type().lanes());
  else if (b.type().is_scalar())
    b = make_broadcast(b, a.type().lanes());
}

template <typename T> Expr new_binary(Type t, Expr a, Expr b) {
  T *n = new_expr<T>(t);
  n->a = std::move(a);
  n->b = std::move(b);
  return n;
}

template <typename T> Expr make_arith(Expr a, Expr b) {
  CALO_ASSERT(a.defined() && b.defined());
  match_lanes(a, b);
  CALO_ASSERT(a.type() == b.type(),
              "operand types differ: " + to_string(a.type()) + ", " + to_string(b.type()));
  Type t = a.type();
  return new_binary<T>(t, std::move(a), std::move(b));
}

template <typename T> Expr make_compare(Expr a, Expr b) {
  CALO_ASSERT(a.defined() && b.defined());
  match_lanes(a, b);
  CALO_ASSERT(a.type() == b.type(),
              "operand types differ: " + to_string(a.type()) + ", " + to_string(b.type()));
  int lanes = a.type().lanes();
  return new_binary<T>(Bool(lanes), std::move(a), std::move(b));
}
}  // namespace

Expr make_add(Expr a, Expr b) { return make_arith<Add>(std::move(a), std::move(b)); }
Expr make_sub(Expr a, Expr b) { return make_arith<Sub>(std::move(a), std::move(b)); }
Expr make_mul(Expr a, Expr b) { return make_arith<Mul>(std::move(a), std::move(b)); }
Expr make_div(Expr a, Expr b) { return make_arith<Div>(std::move(a), std::move(b)); }
Expr make_mod(Expr a, Expr b) { return make_arith<Mod>(std::move(a), std::move(b)); }
Expr make_min(Expr a, Expr b) { return make_arith<Min>(std::move(a), std::move(b)); }
Expr make_max(Expr a, Expr b) { return make_arith<Max>(std::move(a), std::move(b)); }
Expr make_eq(Expr a, Expr b) { return make_compare<EQ>(std::move(a), std::move(b)); }
Expr make_ne(Expr a, Expr b) { return make_compare<NE>(std::move(a), std::move(b)); }
Expr make_lt(Expr a, Expr b) { return make_compare<LT>(std::move(a), std::move(b)); }
Expr make_le(Expr a, Expr b) { return make_compare<LE>(std::move(a), std::move(b)); }
Expr make_gt(Expr a, Expr b) { return make_compare<GT>(std::move(a), std::move(b)); }
Expr make_ge(Expr a, Expr b) { return make_compare<GE>(std::move(a), std::move(b)); }

Expr make_and(Expr a, Expr b) {
  CALO_ASSERT(a.type().is_bool() && b.type().is_bool());
  return make_arith<And>(std::move(a), std::move(b));
}
Expr make_or(Expr a, Expr b) {
  CALO_ASSERT(a.type().is_bool() && b.type().is_bool());
  return make_arith<Or>(std::move(a), std::move(b));
}
Expr make_not(Expr a) {
  CALO_ASSERT(a.defined() && a.type().is_bool());
  Not *n = new_expr<Not>(a.type());
  n->a = std::move(a);
  return n;
}

Expr make_binary(NodeKind op, Expr a, Expr b) {
  switch (op) {
    case NodeKind::Add: return make_add(std::move(a), std::move(b));
    case NodeKind::Sub: return make_sub(std::move(a), std::move(b));
    case NodeKind::Mul: return make_mul(std::move(a), std::move(b));
    case NodeKind::Div: return make_div(std::move(a), std::move(b));
    case NodeKind::Mod: return make_mod(std::move(a), std::move(b));
    case NodeKind::Min: return make_min(std::move(a), std::move(b));
    case NodeKind::Max: return make_max(std::move(a), std::move(b));
    case NodeKind::EQ: return make_eq(std::move(a), std::move(b));
    case NodeKind::NE: return make_ne(std::move(a), std::move(b));
    case NodeKind::LT: return make_lt(std::move(a), std::move(b));
    case NodeKind::LE: return make_le(std::move(a), std::move(b));
    case NodeKind::GT: return make_gt(std::move(a), std::move(b));
    case NodeKind::GE: return make_ge(std::move(a), std::move(b));
    case NodeKind::And: return make_and(std::move(a), std::move(b));
    case NodeKind::Or: return make_or(std::move(a), std::move(b));
    default: CALO_ASSERT(false, "not a binary operation"); return {};
  }
}

Expr make_select(Expr condition, Expr t, Expr f) {
  CALO_ASSERT(condition.defined() && condition.type().is_bool());
  match_lanes(t, f);
  CALO_ASSERT(t.type() == f.type(), "select of different types");
  if (condition.type().is_vector() && t.type().is_scalar()) {
    t = make_broadcast(t, condition.type().lanes());
    f = make_broadcast(f, condition.type().lanes());
  }
  Select *n = new_expr<Select>(t.type());
  n->condition = std::move(condition);
  n->true_value = std::move(t);
  n->false_value = std::move(f);
  return n;
}

Expr make_load(Type t, Name name, Expr index, Expr predicate, Ref<const Parameter> param) {
  Load *n = new_expr<Load>(t.with_lanes(index.type().lanes()));
  n->name = name;
  n->predicate = predicate.defined() ? predicate : make_bool(true, index.type().lanes());
  n->index = std::move(index);
  n->param = std::move(param);
  return n;
}

Expr make_ramp(Expr base, Expr stride, int lanes) {
  CALO_ASSERT(base.defined() && stride.defined() && lanes > 1 && base.type() == stride.type());
  Ramp *n = new_expr<Ramp>(base.type().with_lanes(base.type().lanes() * lanes));
  n->base = std::move(base);
  n->stride = std::move(stride);
  n->lanes = lanes;
  return n;
}

Expr make_broadcast(Expr value, int lanes) {
  CALO_ASSERT(value.defined() && lanes >= 1);
  if (lanes == 1) return value;
  Broadcast *n = new_expr<Broadcast>(value.type().with_lanes(value.type().lanes() * lanes));
  n->value = std::move(value);
  n->lanes = lanes;
  return n;
}

namespace {
Call *new_call(Type t, Name name, std::vector<Expr> args, CallType ct) {
  Call *n = new_expr<Call>(t);
  n->name = name;
  n->args = std::move(args);
  n->call_type = ct;
  n->op = Intrinsic::None;
  n->value_index = 0;
  return n;
}
}  // namespace

Expr make_intrinsic(Type t, Intrinsic op, std::vector<Expr> args) {
  IntrinsicClass cls = intrinsic_class(op);
  Call *n = new_call(t, intrinsic_name(op), std::move(args),
                     cls == IntrinsicClass::Effect ? CallType::Intrinsic : CallType::PureIntrinsic);
  n->op = op;
  return n;
}

Expr make_func_call(Type t, Name name, std::vector<Expr> args, int value_index,
                    Ref<const FunctionBody> func) {
  Call *n = new_call(t, name, std::move(args), CallType::Halide);
  n->value_index = value_index;
  n->func = std::move(func);
  return n;
}

Expr make_image_call(Type t, Ref<const Parameter> image, std::vector<Expr> args) {
  Call *n = new_call(t, image->name, std::move(args), CallType::Image);
  n->param = std::move(image);
  return n;
}

Expr make_extern_call(Type t, Name name, std::vector<Expr> args, bool pure) {
  return new_call(t, name, std::move(args), pure ? CallType::PureExtern : CallType::Extern);
}

Expr make_let(Name name, Expr value, Expr body) {
  Let *n = new_expr<Let>(body.type());
  n->name = name;
  n->value = std::move(value);
  n->body = std::move(body);
  return n;
}

Expr make_shuffle(std::vector<Expr> vectors, std::vector<int> indices) {
  CALO_ASSERT(!vectors.empty() && !indices.empty());
  Shuffle *n = new_expr<Shuffle>(vectors[0].type().with_lanes(static_cast<int>(indices.size())));
  n->vectors = std::move(vectors);
  n->indices = std::move(indices);
  return n;
}

Expr make_vector_reduce(ReduceOp op, Expr value, int lanes) {
  CALO_ASSERT(value.type().lanes() % lanes == 0);
  VectorReduce *n = new_expr<VectorReduce>(value.type().with_lanes(lanes));
  n->op = op;
  n->value = std::move(value);
  return n;
}

Expr make_likely(Expr e) {
  Type t = e.type();
  return make_intrinsic(t, Intrinsic::likely, {std::move(e)});
}

// --- Statements --------------------------------------------------------------------------------------------------
Stmt make_let_stmt(Name name, Expr value, Stmt body) {
  LetStmt *n = new LetStmt;
  n->name = name;
  n->value = std::move(value);
  n->body = std::move(body);
  return n;
}

Stmt make_assert(Expr condition, Expr message) {
  AssertStmt *n = new AssertStmt;
  n->condition = std::move(condition);
  n->message = std::move(message);
  return n;
}

namespace {
Stmt make_pc(Name name, bool is_producer, Stmt body) {
  ProducerConsumer *n = new ProducerConsumer;
  n->name = name;
  n->is_producer = is_producer;
  n->body = std::move(body);
  return n;
}
}  // namespace

Stmt make_producer(Name name, Stmt body) { return make_pc(name, true, std::move(body)); }
Stmt make_consumer(Name name, Stmt body) { return make_pc(name, false, std::move(body)); }

Stmt make_atomic(Name name, int stage, bool shared, Stmt body) {
  Atomic *n = new Atomic;
  n->name = name;
  n->stage = stage;
  n->shared = shared;
  n->body = std::move(body);
  return n;
}

Stmt make_for(Name name, Expr min, Expr extent, ForType type, Stmt body) {
  For *n = new For;
  n->name = name;
  n->min = std::move(min);
  n->extent = std::move(extent);
  n->for_type = type;
  n->body = std::move(body);
  return n;
}

Stmt make_store(Name name, Expr value, Expr index, Expr predicate, Ref<const Parameter> param) {
  CALO_ASSERT(value.type().lanes() == index.type().lanes());
  Store *n = new Store;
  n->name = name;
  n->predicate = predicate.defined() ? predicate : make_bool(true, index.type().lanes());
  n->value = std::move(value);
  n->index = std::move(index);
  n->param = std::move(param);
  return n;
}

Stmt make_provide(Name name, std::vector<Expr> values, std::vector<Expr> args, Expr predicate) {
  Provide *n = new Provide;
  n->name = name;
  n->predicate = predicate.defined() ? predicate : make_bool(true);
  n->values = std::move(values);
  n->args = std::move(args);
  return n;
}

Stmt make_allocate(Name name, Type t, MemoryType m, std::vector<Expr> extents, Expr condition,
                   Stmt body) {
  Allocate *n = new Allocate;
  n->name = name;
  n->type = t;
  n->memory_type = m;
  n->extents = std::move(extents);
  n->condition = condition.defined() ? condition : make_bool(true);
  n->body = std::move(body);
  return n;
}

Stmt make_realize(Name name, std::vector<Type> types, MemoryType m, Region bounds, Expr condition,
                  Stmt body) {
  Realize *n = new Realize;
  n->name = name;
  n->types = std::move(types);
  n->memory_type = m;
  n->bounds = std::move(bounds);
  n->condition = condition.defined() ? condition : make_bool(true);
  n->body = std::move(body);
  return n;
}

Stmt make_block(Stmt first, Stmt rest) {
  if (!first.defined() || is_no_op(first)) return rest.defined() ? rest : first;
  if (!rest.defined() || is_no_op(rest)) return first;
  if (const Block *b = first.as<Block>()) {  // keep chains right-nested
    return make_block(b->first, make_block(b->rest, rest));
  }
  Block *n = new Block;
  n->first = std::move(first);
  n->rest = std::move(rest);
  return n;
}

Stmt make_block(const std::vector<Stmt> &stmts) {
  Stmt result;
  for (size_t i = stmts.size(); i-- > 0;) result = make_block(stmts[i], result);
  return result.defined() ? result : make_no_op();
}

Stmt make_if(Expr condition, Stmt then_case, Stmt else_case) {
  IfThenElse *n = new IfThenElse;
  n->condition = std::move(condition);
  n->then_case = std::move(then_case);
  n->else_case = std::move(else_case);
  return n;
}

Stmt make_evaluate(Expr value) {
  Evaluate *n = new Evaluate;
  n->value = std::move(value);
  return n;
}

Stmt make_no_op() { return make_evaluate(make_int(Int(32), 0)); }

bool is_no_op(const Stmt &s) {
  const Evaluate *e = s.as<Evaluate>();
  return e && is_const(e->value);
}

// --- Questions ---------------------------------------------------------------------------------------------------
namespace {
const Expr &strip_broadcast(const Expr &e) {
  const Expr *p = &e;
  while (const Broadcast *b = p->as<Broadcast>()) p = &b->value;
  return *p;
}
}  // namespace

bool is_const(const Expr &e) {
  if (!e.defined()) return false;
  const Expr &s = strip_broadcast(e);
  if (const Cast *c = s.as<Cast>()) return is_const(c->value);
  return s.as<IntImm>() || s.as<UIntImm>() || s.as<FloatImm>() || s.as<StringImm>();
}

const int64_t *as_const_int(const Expr &e) {
  const IntImm *i = e.defined() ? strip_broadcast(e).as<IntImm>() : nullptr;
  return i ? &i->value : nullptr;
}
const uint64_t *as_const_uint(const Expr &e) {
  const UIntImm *i = e.defined() ? strip_broadcast(e).as<UIntImm>() : nullptr;
  return i ? &i->value : nullptr;
}
const double *as_const_float(const Expr &e) {
  const FloatImm *f = e.defined() ? strip_broadcast(e).as<FloatImm>() : nullptr;
  return f ? &f->value : nullptr;
}

bool is_const_value(const Expr &e, int64_t value) {
  if (const int64_t *i = as_const_int(e)) return *i == value;
  if (const uint64_t *u = as_const_uint(e)) return value >= 0 && *u == static_cast<uint64_t>(value);
  if (const double *f = as_const_float(e)) return *f == static_cast<double>(value);
  return false;
}
bool is_const_zero(const Expr &e) { return is_const_value(e, 0); }
bool is_const_one(const Expr &e) { return is_const_value(e, 1); }

bool is_positive_const(const Expr &e) {
  if (const int64_t *i = as_const_int(e)) return *i > 0;
  if (const uint64_t *u = as_const_uint(e)) return *u > 0;
  if (const double *f = as_const_float(e)) return *f > 0;
  return false;
}
bool is_negative_const(const Expr &e) {
  if (const int64_t *i = as_const_int(e)) return *i < 0;
  if (const double *f = as_const_float(e)) return *f < 0;
  return false;
}

const Call *as_intrinsic(const Expr &e, Intrinsic op) {
  const Call *c = e.as<Call>();
  return c && c->op == op && op != Intrinsic::None ? c : nullptr;
}

}  // namespace ir
}  // namespace calotype
