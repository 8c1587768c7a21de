// See calo_work.h. A Func's points are the product of the extents around its definition (lower/walk_loops.h).
#include "calo_work.h"

#include <cmath>
#include <utility>

#include "../ir/print.h"
#include "../ir/visit.h"
#include "../lower/walk_loops.h"

namespace calotype::cli {

using ir::Name;

namespace {

// ---- the cost of a definition ------------------------------------------------------------------------

bool is_operation(const ir::IRNode *node) {
  using K = ir::NodeKind;
  switch (node->node_type) {
    case K::Cast:
    case K::Select:
    case K::Not: return true;
    case K::Add:
    case K::Sub:
    case K::Mul:
    case K::Div:
    case K::Mod:
    case K::Min:
    case K::Max:
    case K::EQ:
    case K::NE:
    case K::LT:
    case K::LE:
    case K::GT:
    case K::GE:
    case K::And:
    case K::Or: return true;
    case K::Call: {
      const ir::Intrinsic op = static_cast<const ir::Call *>(node)->op;
      return op != ir::Intrinsic::None && ir::intrinsic_class(op) != ir::IntrinsicClass::Marker;
    }
    default: return false;
  }
}

/// One point of a definition: operations on values (a fused multiply-add counts two; index arithmetic
/// is not counted), bytes loaded, bytes stored. Shared subexpressions count once.
class CostCounter final : public ir::IRGraphVisitor {
public:
  using ir::IRGraphVisitor::visit;
  Cost cost;
  void visit(const ir::Call *op) override {
    const bool load = op->call_type == ir::CallType::Halide || op->call_type == ir::CallType::Image;
    if (load) {
      cost.bytes_read += op->type.bytes();  // its arguments are indices
    } else {
      ir::IRGraphVisitor::visit(op);
    }
  }

protected:
  bool enter(const ir::IRNode *node) override {
    if (!ir::IRGraphVisitor::enter(node)) return false;
    if (is_operation(node)) {
      const bool fused = node->node_type == ir::NodeKind::Call &&
                         static_cast<const ir::Call *>(node)->op == ir::Intrinsic::fma;
      cost.operations += fused ? 2 : 1;
    }
    return true;
  }
};

Cost cost_of(const ir::Definition &d) {
  CostCounter counter;
  for (const Expr &value : d.values) {
    counter.cost.bytes_written += value.type().bytes();
    counter.visit_expr(value);
  }
  return counter.cost;
}

/// The operations on float16 and bfloat16 values of a Func: computed in float32 and rounded after each one.
class EmulatedFinder final : public ir::IRGraphVisitor {
public:
  std::set<std::string> found;

protected:
  bool enter(const ir::IRNode *node) override {
    if (!ir::IRGraphVisitor::enter(node)) return false;
    if (node->node_type == ir::NodeKind::Select || !is_operation(node)) return true;
    const Type t = static_cast<const ir::BaseExprNode *>(node)->type;
    if (!t.is_float() || t.bits() != 16) return true;
    const std::string type = type_text(t.element_of());
    if (node->node_type == ir::NodeKind::Call) {
      found.insert(type + " " + static_cast<const ir::Call *>(node)->name.str());
    } else {
      static const std::map<ir::NodeKind, const char *> kNames = {
          {ir::NodeKind::Add, "+"},   {ir::NodeKind::Sub, "-"},    {ir::NodeKind::Mul, "*"},
          {ir::NodeKind::Div, "/"},   {ir::NodeKind::Mod, "%"},    {ir::NodeKind::Min, "min"},
          {ir::NodeKind::Max, "max"}, {ir::NodeKind::Cast, "cast"}};
      const auto it = kNames.find(node->node_type);
      if (it != kNames.end()) found.insert(type + " " + it->second);
    }
    return true;
  }
};

// ---- the walk ---------------------------------------------------------------------------------------

/// Counts, and writes the nest as it passes by.
class Walker final : public lower::LoopWalk {
public:
  Walker(const lower::PassContext &cx, ir::EvalContext sizes, bool sizes_known)
      : LoopWalk(std::move(sizes), sizes_known), cx_(cx) {}
  Work work;

protected:
  void at_unknown_let(const ir::LetStmt *op) override {
    if (!known()) line("let " + op->name + " = " + ir::to_string(op->value));
  }

  void at_loop(const ir::For *op, int64_t min, int64_t extent) override {
    const std::string what = std::string(kind(op->for_type)) + " " + op->name;
    if (extent < 0) {
      line(what + " from " + show(op->min) + " for " + show(op->extent));
    } else {
      line(what + " in [" + std::to_string(min) + ", " + std::to_string(min + extent - 1) + "]");
    }
  }

  void at_realize(const ir::Realize *op, double elements) override {
    std::string extents;
    for (const ir::Range &r : op->bounds)
      extents += (extents.empty() ? "" : " x ") + show(r.extent);
    double bytes = 0;
    for (const Type &t : op->types) bytes += t.bytes() * elements;
    line("store " + op->name + " [" + extents + "]" +
         (std::isnan(bytes) ? "" : ", " + bytes_text(bytes)));
    if (!again()) work.funcs[op->name].storage_bytes = bytes;
  }

  void at_unknown_branch(const ir::IfThenElse *op, bool other) override {
    line(other ? "else" : "if " + ir::to_string(op->condition));
  }

  void at_provide(const ir::Provide *op) override {
    const ir::Function *f = cx_.program.find(op->name);
    if (!f) return;
    const int stage = stage_of(*f);
    std::string args;
    for (const Name &a : f->args) args += (args.empty() ? "" : ", ") + a.str();
    line(op->name + "(" + args + ") = ..." +
         (stage > 0 ? "   update " + std::to_string(stage - 1) : ""));
    StageWork &w = work.funcs[op->name].stages[stage];
    w.points += times();
    w.per_point = cost_of(f->definitions[static_cast<size_t>(stage)]);
  }

private:
  void line(const std::string &what) {
    if (!again()) work.nest += std::string(2 * static_cast<size_t>(depth() + 1), ' ') + what + "\n";
  }
  /// The value at the estimates, else the formula.
  std::string show(const Expr &e) const {
    int64_t v;
    return value(e, &v) ? std::to_string(v) : ir::to_string(e);
  }
  static const char *kind(ir::ForType t) {
    switch (t) {
      case ir::ForType::Parallel: return "parallel";
      case ir::ForType::Vectorized: return "vectorized";
      case ir::ForType::Unrolled: return "unrolled";
      default: return "for";
    }
  }
  const lower::PassContext &cx_;
};

// ---- estimates ------------------------------------------------------------------------------------------

bool define_estimates(const std::string &buffer, const ir::Parameter *p, int rank,
                      ir::EvalContext &cx) {
  std::vector<int> mins, extents;
  for (int d = 0; d < rank; d++) {
    int64_t min = 0, extent = 0;
    if (!p || d >= static_cast<int>(p->dims.size())) return false;
    const ir::DimConstraint &c = p->dims[static_cast<size_t>(d)];
    const Expr &m = c.min_estimate.defined() ? c.min_estimate : c.min;
    const Expr &e = c.extent_estimate.defined() ? c.extent_estimate : c.extent;
    if (m.defined() && !evaluate_int(m, cx, &min)) return false;
    if (!e.defined() || !evaluate_int(e, cx, &extent)) return false;
    mins.push_back(static_cast<int>(min));
    extents.push_back(static_cast<int>(extent));
  }
  define_sizes(buffer, mins, extents, cx);
  return true;
}

}  // namespace

std::string bytes_text(double bytes) {
  char out[32];
  if (bytes < 10e3) {
    std::snprintf(out, sizeof out, "%.0f B", bytes);
  } else if (bytes < 10e6) {
    std::snprintf(out, sizeof out, "%.1f KB", bytes / 1e3);
  } else {
    std::snprintf(out, sizeof out, "%.1f MB", bytes / 1e6);
  }
  return out;
}

std::set<std::string> emulated(const ir::Function &f) {
  EmulatedFinder finder;
  for (const ir::Definition &d : f.definitions) {
    for (const Expr &e : d.values) finder.visit_expr(e);
  }
  return finder.found;
}

ir::EvalContext estimates_of(const Algorithm &a, std::string *missing) {
  ir::EvalContext cx;
  cx.fma = a.target.fuses_multiply_add();
  for (const ir::ParameterRef &p : a.program.params) {
    if (p->embedded) {
      std::vector<int> mins, extents;
      const halide_buffer_t *raw = p->buffer->raw();
      for (int d = 0; d < raw->dimensions; d++) {
        mins.push_back(raw->dim[d].min);
        extents.push_back(raw->dim[d].extent);
      }
      define_sizes(p->name, mins, extents, cx);
    } else if (p->is_buffer) {
      if (!define_estimates(p->name, p.get(), p->dimensions, cx)) *missing = p->name;
    } else if (!p->type.is_float() && !p->type.is_handle()) {
      int64_t v;
      if (p->estimate.defined() && evaluate_int(p->estimate, cx, &v)) {
        cx.vars[p->name] = ir::Value::of_int(p->type, v);
      } else if (p->is_set) {
        cx.vars[p->name] = ir::Value::of_int(p->type, static_cast<int64_t>(p->bits));
      }
    }
  }
  for (const Name out : a.program.outputs) {
    const ir::Function &f = *a.program.find(out);
    for (size_t k = 0; k < f.types.size(); k++) {
      const std::string name = f.types.size() > 1 ? f.name + "." + std::to_string(k) : f.name.str();
      const ir::Parameter *p = k < f.outputs.size() ? f.outputs[k].get() : nullptr;
      if (!define_estimates(name, p, f.dimensions(), cx)) *missing = name;
    }
  }
  return cx;
}

Work work_of(const lower::PassContext &cx, const ir::Stmt &loops, ir::EvalContext sizes,
             bool known) {
  Walker walker(cx, std::move(sizes), known);
  walker.walk(loops);
  return std::move(walker.work);
}

}  // namespace calotype::cli
