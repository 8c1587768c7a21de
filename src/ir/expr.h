// Expr and Stmt: handles to immutable IR nodes. Light enough for the public headers; the nodes are in nodes.h.
#pragma once

#include <cstdint>
#include <string>

#include "../base/ref.h"
#include "../base/type.h"

namespace calotype {

namespace ir {

enum class NodeKind : uint8_t {
#define FIELD(T, n)
#define EXPR(Name, fields) Name,
#define STMT(Name, fields) Name,
#include "nodes.def"
#undef FIELD
#undef EXPR
#undef STMT
};

/// Base of all IR nodes.
struct CALO_EXPORT IRNode : RefCounted {
  explicit IRNode(NodeKind k) : node_type(k) {}
  ~IRNode() override;
  const NodeKind node_type;
};
/// Base of expression nodes.
struct CALO_EXPORT BaseExprNode : IRNode {
  explicit BaseExprNode(NodeKind k) : IRNode(k) {}
  ~BaseExprNode() override;
  Type type;
};
struct CALO_EXPORT BaseStmtNode : IRNode {
  explicit BaseStmtNode(NodeKind k) : IRNode(k) {}
  ~BaseStmtNode() override;
};

}  // namespace ir

/// A value: an expression over Vars, RVars, parameters, buffers and Funcs. Immutable; copies share the node.
/// Undefined by default. C++ numbers convert to constants of their own type, which operators then adapt to the
/// other operand (ir/build.h, match_types).
class CALO_EXPORT Expr : public Ref<const ir::BaseExprNode> {
public:
  Expr() = default;
  Expr(const ir::BaseExprNode *n) : Ref(n) {}
  explicit Expr(bool x);
  explicit Expr(int8_t x);
  explicit Expr(int16_t x);
  Expr(int32_t x);
  explicit Expr(long x);
  explicit Expr(long long x);
  explicit Expr(uint8_t x);
  explicit Expr(uint16_t x);
  explicit Expr(uint32_t x);
  explicit Expr(unsigned long x);
  explicit Expr(unsigned long long x);
  Expr(float x);
  explicit Expr(double x);
  Expr(const std::string &s);
  Expr(const char *s) : Expr(std::string(s)) {}

  Type type() const { return ptr_ ? ptr_->type : Type(); }
  ir::NodeKind kind() const { return ptr_->node_type; }
  /// The node as a `T`, or null if it is another kind (or undefined).
  template <typename T> const T *as() const {
    return ptr_ && ptr_->node_type == T::kKind ? static_cast<const T *>(ptr_) : nullptr;
  }
};

namespace ir {

/// A statement of the lowered program. Immutable; copies share the node.
class CALO_EXPORT Stmt : public Ref<const BaseStmtNode> {
public:
  Stmt() = default;
  Stmt(const BaseStmtNode *n) : Ref(n) {}
  NodeKind kind() const { return ptr_->node_type; }
  template <typename T> const T *as() const {
    return ptr_ && ptr_->node_type == T::kKind ? static_cast<const T *>(ptr_) : nullptr;
  }
};

}  // namespace ir
}  // namespace calotype
