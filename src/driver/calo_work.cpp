// See calo_work.h.
//
// Each loop stands at an iteration in its middle (the one before it first, so that sliding windows have moved on, and where
// a window starts the first one counts for itself), and a Func's points are the product of the extents around its
// definition.
#include "calo_work.h"

#include <cmath>
#include <utility>

#include "../ir/print.h"
#include "../ir/visit.h"

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

class Walker {
public:
  Walker(const lower::PassContext &cx, ir::EvalContext sizes, bool known)
      : cx_(cx), values_(std::move(sizes)), known_(known) {}

  void walk(const ir::Stmt &s, int depth) {
    if (!s.defined()) return;
    using K = ir::NodeKind;
    switch (s.kind()) {
      case K::LetStmt: return let(s.as<ir::LetStmt>(), depth);
      case K::ProducerConsumer: return walk(s.as<ir::ProducerConsumer>()->body, depth);
      case K::Atomic: return walk(s.as<ir::Atomic>()->body, depth);
      case K::For: return loop(s.as<ir::For>(), depth);
      case K::Realize: return realize(s.as<ir::Realize>(), depth);
      case K::Allocate: return mark(s.as<ir::Allocate>(), depth);
      case K::Block:
        walk(s.as<ir::Block>()->first, depth);
        return walk(s.as<ir::Block>()->rest, depth);
      case K::IfThenElse: return branch(s.as<ir::IfThenElse>(), depth);
      case K::Provide: return provide(s.as<ir::Provide>(), depth);
      case K::Store: return store(s.as<ir::Store>());
      default: return;
    }
  }

  const std::string &text() const { return text_; }
  const std::map<Name, FuncWork> &work() const { return work_; }

private:
  void line(int depth, const std::string &what) {
    if (quiet_ == 0) text_ += std::string(2 * static_cast<size_t>(depth), ' ') + what + "\n";
  }

  bool value(const Expr &e, int64_t *v) const { return known_ && evaluate_int(e, values_, v); }
  /// The value at the estimates, else the formula.
  std::string show(const Expr &e) const {
    int64_t v;
    return value(e, &v) ? std::to_string(v) : ir::to_string(e);
  }

  void let(const ir::LetStmt *op, int depth) {
    const std::optional<ir::Value> v = ir::evaluate(op->value, values_);
    if (v) {
      values_.vars[op->name] = *v;
    } else {
      values_.vars.erase(op->name);
      if (!known_ && depth >= 0) {
        line(depth, "let " + op->name + " = " + ir::to_string(op->value));
      }
    }
    walk(op->body, depth);
  }

  static const char *kind(ir::ForType t) {
    switch (t) {
      case ir::ForType::Parallel: return "parallel";
      case ir::ForType::Vectorized: return "vectorized";
      case ir::ForType::Unrolled: return "unrolled";
      default: return "for";
    }
  }

  void loop(const ir::For *op, int depth) {
    int64_t min, extent;
    if (!value(op->min, &min) || !value(op->extent, &extent)) {
      line(depth, std::string(kind(op->for_type)) + " " + op->name + " from " + show(op->min) +
                      " for " + show(op->extent));
      const double before = points_;
      points_ = std::nan("");
      values_.vars.erase(op->name);
      walk(op->body, depth + 1);
      points_ = before;
      return;
    }
    line(depth, std::string(kind(op->for_type)) + " " + op->name + " in [" + std::to_string(min) +
                    ", " + std::to_string(min + extent - 1) + "]");
    const bool windows_start = std::exchange(fresh_marks_, false);
    const int64_t middle = min + std::max<int64_t>(extent, 1) / 2;
    double times = static_cast<double>(std::max<int64_t>(extent, 0));
    if (windows_start && extent > 1) {  // the first iteration computes a whole window
      quiet_++;
      at_iteration(op, min, depth, 1);
      quiet_--;
      times -= 1;
    }
    if (middle > min &&
        loops_ < kDeepest) {  // moves the marks of sliding windows to where they'd be
      quiet_++;
      at_iteration(op, middle - 1, depth, 0);
      quiet_--;
    }
    at_iteration(op, middle, depth, times);
  }

  /// Walks one iteration, whose definitions count `times`.
  void at_iteration(const ir::For *op, int64_t i, int depth, double times) {
    const double before = points_;
    points_ *= times;
    loops_++;
    set(op->name, i);
    around_.push_back(op->name);
    walk(op->body, depth + 1);
    around_.pop_back();
    loops_--;
    points_ = before;
  }

  void set(Name name, int64_t v) { values_.vars[name] = ir::Value::of_int(Int(32), v); }

  void realize(const ir::Realize *op, int depth) {
    double elements = 1;
    std::string extents;
    for (const ir::Range &r : op->bounds) {
      int64_t e;
      elements *= value(r.extent, &e) ? static_cast<double>(e) : std::nan("");
      extents += (extents.empty() ? "" : " x ") + show(r.extent);
    }
    double bytes = 0;
    for (const Type &t : op->types) bytes += t.bytes() * elements;
    std::string size = std::isnan(bytes) ? "" : ", " + bytes_text(bytes);
    line(depth, "store " + op->name + " [" + extents + "]" + size);
    if (quiet_ == 0) work_[op->name].storage_bytes = bytes;
    walk(op->body, depth + 1);
  }

  void mark(const ir::Allocate *op, int depth) {
    values_.memory[op->name] = {0};
    values_.memory_types[op->name] = op->type;
    fresh_marks_ = true;
    walk(op->body, depth);
  }

  void store(const ir::Store *op) {  // only marks are flat so early
    const std::optional<ir::Value> v = ir::evaluate(op->value, values_);
    const auto at = values_.memory.find(op->name);
    if (at == values_.memory.end()) return;
    if (v) {
      at->second = v->lanes;
    } else {
      values_.memory.erase(at);  // not known any more
    }
  }

  void branch(const ir::IfThenElse *op, int depth) {
    int64_t c;
    if (value(op->condition, &c)) {
      walk(c ? op->then_case : op->else_case, depth);
      return;
    }
    line(depth, "if " + ir::to_string(op->condition));
    walk(op->then_case, depth + 1);
    if (!op->else_case.defined()) return;
    if (known_) {  // which side runs differs between iterations: the first stands for both
      const double before = std::exchange(points_, 0);
      quiet_++;
      walk(op->else_case, depth + 1);
      quiet_--;
      points_ = before;
    } else {
      line(depth, "else");
      walk(op->else_case, depth + 1);
    }
  }

  void provide(const ir::Provide *op, int depth) {
    const ir::Function *f = cx_.program.find(op->name);
    if (!f) return;
    const int stage = stage_of(*f, op);
    std::string args;
    for (const Name &a : f->args) args += (args.empty() ? "" : ", ") + a.str();
    line(depth, op->name + "(" + args + ") = ..." +
                    (stage > 0 ? "   update " + std::to_string(stage - 1) : ""));
    StageWork &w = work_[op->name].stages[stage];
    w.points += points_;
    w.per_point = cost_of(f->definitions[static_cast<size_t>(stage)]);
  }

  /// By the innermost loop or value around that belongs to a stage: "f.s1.x". Without any, definitions appear in order,
  /// and a Func may be produced at several places: counts round.
  int stage_of(const ir::Function &f, const ir::Provide *op) {
    if (!f.has_updates()) return 0;
    const std::string prefix = op->name + ".s";
    for (size_t i = around_.size(); i-- > 0;) {
      const std::string &name = around_[i];
      const size_t dot = name.find('.', prefix.size());
      if (name.rfind(prefix, 0) != 0 || dot == std::string::npos) continue;
      const std::string number = name.substr(prefix.size(), dot - prefix.size());
      if (!number.empty() && number.size() < 6 &&
          number.find_first_not_of("0123456789") == std::string::npos)
        return std::min(std::stoi(number), f.stages() - 1);
    }
    const int n = seen_[op->name]++;
    return n % f.stages();
  }

public:
private:
  static constexpr int kDeepest =
      10;  // loops inside which the iteration before is walked too (2^n walks)

  const lower::PassContext &cx_;
  ir::EvalContext values_;
  bool known_;
  int quiet_ = 0, loops_ = 0;
  bool fresh_marks_ = false;  // between a mark's storage and the loop that its window walks
  double points_ = 1;
  std::string text_;
  std::map<Name, FuncWork> work_;
  std::map<Name, int> seen_;
  std::vector<Name> around_;  ///< loops around
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
  walker.walk(loops, 1);
  return {walker.text(), walker.work()};
}

}  // namespace calotype::cli
