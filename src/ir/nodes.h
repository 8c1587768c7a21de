// IR nodes: immutable, reference-counted, generated from nodes.def (kinds, fields and meaning are there).
// `T::make(...)` checks operand types with CALO_ASSERT; user-facing checks with user-facing messages are in build.h.
#pragma once

#include <string>
#include <vector>

#include "definition.h"
#include "enums.h"
#include "expr.h"
#include "name.h"
#include "parameter.h"

namespace calotype::ir {

enum class CallType : uint8_t {
  Extern,      ///< a C function with effects
  PureExtern,  ///< a C function of its arguments alone
  Halide,  ///< value `value_index` of a Func at args (func null: the Func being defined, or found by name)
  Image,          ///< a load from an image parameter or embedded buffer at args
  Intrinsic,      ///< an operation with effects (intrinsics.def)
  PureIntrinsic,  ///< an operation without (intrinsics.def)
};

enum class Intrinsic : uint8_t {
  None,
#define INTRINSIC(name, cls) name,
#include "intrinsics.def"
#undef INTRINSIC
};
enum class IntrinsicClass : uint8_t { None, Core, Expand, Marker, Buffer, Effect };
CALO_EXPORT const char *intrinsic_name(Intrinsic op);
CALO_EXPORT IntrinsicClass intrinsic_class(Intrinsic op);
/// Intrinsic::None if there is none of that name.
CALO_EXPORT Intrinsic intrinsic_by_name(const std::string &name);

enum class ReduceOp : uint8_t { Add, Mul, Min, Max, And, Or, SaturatingAdd };

struct Range {
  Expr min, extent;
};
using Region = std::vector<Range>;

#define FIELD(T, n) T n;
#define EXPR(Name_, fields)                            \
  struct CALO_EXPORT Name_ final : BaseExprNode {      \
    static constexpr NodeKind kKind = NodeKind::Name_; \
    Name_() : BaseExprNode(kKind) {}                   \
    ~Name_() override;                                 \
    fields                                             \
  };
#define STMT(Name_, fields)                            \
  struct CALO_EXPORT Name_ final : BaseStmtNode {      \
    static constexpr NodeKind kKind = NodeKind::Name_; \
    Name_() : BaseStmtNode(kKind) {}                   \
    ~Name_() override;                                 \
    fields                                             \
  };
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT

// --- Makers. Types of the results follow from the operands. -------------------------------------------------------
CALO_EXPORT Expr
make_int(Type t, int64_t value);  ///< any scalar or vector (broadcast) numeric type; wraps to t
CALO_EXPORT Expr make_uint(Type t, uint64_t value);
CALO_EXPORT Expr make_float(Type t, double value);  ///< rounds to t
CALO_EXPORT Expr make_const(Type t, double value);  ///< integers must be exact
CALO_EXPORT Expr make_zero(Type t);
CALO_EXPORT Expr make_one(Type t);
CALO_EXPORT Expr make_bool(bool value, int lanes = 1);
CALO_EXPORT Expr make_string(const std::string &text);
CALO_EXPORT Expr
make_cast(Type t, Expr value);  ///< no node if the type is already t; lanes follow the value
CALO_EXPORT Expr make_reinterpret(Type t, Expr value);
CALO_EXPORT Expr make_var(Name name, Type t = Int(32), Ref<const Parameter> param = {});
/// Add..Mod, Min, Max: same types. EQ..GE: same types, bool result. And, Or: bools.
CALO_EXPORT Expr make_binary(NodeKind op, Expr a, Expr b);
CALO_EXPORT Expr make_add(Expr a, Expr b);
CALO_EXPORT Expr make_sub(Expr a, Expr b);
CALO_EXPORT Expr make_mul(Expr a, Expr b);
CALO_EXPORT Expr make_div(Expr a, Expr b);
CALO_EXPORT Expr make_mod(Expr a, Expr b);
CALO_EXPORT Expr make_min(Expr a, Expr b);
CALO_EXPORT Expr make_max(Expr a, Expr b);
CALO_EXPORT Expr make_eq(Expr a, Expr b);
CALO_EXPORT Expr make_ne(Expr a, Expr b);
CALO_EXPORT Expr make_lt(Expr a, Expr b);
CALO_EXPORT Expr make_le(Expr a, Expr b);
CALO_EXPORT Expr make_gt(Expr a, Expr b);
CALO_EXPORT Expr make_ge(Expr a, Expr b);
CALO_EXPORT Expr make_and(Expr a, Expr b);
CALO_EXPORT Expr make_or(Expr a, Expr b);
CALO_EXPORT Expr make_not(Expr a);
CALO_EXPORT Expr make_select(Expr condition, Expr t, Expr f);
CALO_EXPORT Expr make_load(Type t, Name name, Expr index, Expr predicate = {},
                           Ref<const Parameter> param = {});
CALO_EXPORT Expr make_ramp(Expr base, Expr stride, int lanes);
CALO_EXPORT Expr make_broadcast(Expr value, int lanes);
CALO_EXPORT Expr make_intrinsic(Type t, Intrinsic op,
                                std::vector<Expr> args);  ///< call type by the op's class
CALO_EXPORT Expr make_func_call(Type t, Name name, std::vector<Expr> args, int value_index = 0,
                                Ref<const FunctionBody> func = {});
CALO_EXPORT Expr make_image_call(Type t, Ref<const Parameter> image, std::vector<Expr> args);
CALO_EXPORT Expr make_extern_call(Type t, Name name, std::vector<Expr> args, bool pure);
CALO_EXPORT Expr make_let(Name name, Expr value, Expr body);
CALO_EXPORT Expr make_shuffle(std::vector<Expr> vectors, std::vector<int> indices);
CALO_EXPORT Expr make_vector_reduce(ReduceOp op, Expr value, int lanes);
CALO_EXPORT Expr make_likely(Expr e);

CALO_EXPORT Stmt make_let_stmt(Name name, Expr value, Stmt body);
CALO_EXPORT Stmt make_assert(Expr condition, Expr message);  ///< message: an `error` intrinsic call
CALO_EXPORT Stmt make_producer(Name name, Stmt body);
CALO_EXPORT Stmt make_consumer(Name name, Stmt body);
CALO_EXPORT Stmt make_atomic(Name name, int stage, bool shared, Stmt body);
CALO_EXPORT Stmt make_for(Name name, Expr min, Expr extent, ForType type, Stmt body);
CALO_EXPORT Stmt make_store(Name name, Expr value, Expr index, Expr predicate = {},
                            Ref<const Parameter> param = {});
CALO_EXPORT Stmt make_provide(Name name, std::vector<Expr> values, std::vector<Expr> args,
                              Expr predicate = {});
CALO_EXPORT Stmt make_allocate(Name name, Type t, MemoryType m, std::vector<Expr> extents,
                               Expr condition, Stmt body);
CALO_EXPORT Stmt make_realize(Name name, std::vector<Type> types, MemoryType m, Region bounds,
                              Expr condition, Stmt body);
CALO_EXPORT Stmt make_block(Stmt first,
                            Stmt rest);  ///< either may be undefined; nests to the right
CALO_EXPORT Stmt make_block(const std::vector<Stmt> &stmts);
CALO_EXPORT Stmt make_if(Expr condition, Stmt then_case, Stmt else_case = {});
CALO_EXPORT Stmt make_evaluate(Expr value);
CALO_EXPORT Stmt make_no_op();
CALO_EXPORT bool is_no_op(const Stmt &s);

// --- Questions about constants (looking through Broadcast) ---------------------------------------------------------
CALO_EXPORT bool is_const(const Expr &e);  ///< a literal, or a cast or broadcast of one
CALO_EXPORT const int64_t *as_const_int(const Expr &e);  ///< scalar or broadcast IntImm
CALO_EXPORT const uint64_t *as_const_uint(const Expr &e);
CALO_EXPORT const double *as_const_float(const Expr &e);
CALO_EXPORT bool is_const_value(const Expr &e, int64_t value);  ///< of any numeric type
CALO_EXPORT bool is_const_zero(const Expr &e);
CALO_EXPORT bool is_const_one(const Expr &e);
CALO_EXPORT bool is_positive_const(const Expr &e);
CALO_EXPORT bool is_negative_const(const Expr &e);
CALO_EXPORT bool is_pure(const Expr &e);  ///< no effects: may be duplicated or dropped
/// The call if `e` is a call of intrinsic `op`, else null.
CALO_EXPORT const Call *as_intrinsic(const Expr &e, Intrinsic op);

}  // namespace calotype::ir
