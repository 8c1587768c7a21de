// explain: what a schedule makes of an algorithm. Funcs with where they are computed and what storage they
// get, the loop nest with its ranges, and estimates of work and traffic per Func.
//
// Numbers come from walking the program that build_loops made at the sizes the generator estimates: each
// loop stands at an iteration in its middle (the one before it first, so that sliding windows have moved
// on, and where a window starts the first one counts for itself), and a Func's points are the product of
// the extents around its definition. No estimates: ranges as
// formulas, and no numbers.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "../base/stack.h"
#include "../ir/print.h"
#include "../ir/visit.h"
#include "../lower/explain_point.h"
#include "../lower/pipeline.h"
#include "../schedule/apply.h"
#include "calo.h"

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

using ir::Name;

// ---- the cost of a definition ------------------------------------------------------------------------

struct Cost {
  double operations = 0, bytes_read = 0, bytes_written = 0;
};

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

std::set<std::string> emulated(const ir::Function &f) {
  EmulatedFinder finder;
  for (const ir::Definition &d : f.definitions) {
    for (const Expr &e : d.values) finder.visit_expr(e);
  }
  return finder.found;
}

// ---- the walk ---------------------------------------------------------------------------------------

struct StageWork {
  double points = 0;
  Cost per_point;
};
struct FuncWork {
  std::map<int, StageWork> stages;
  double storage_bytes = -1;  ///< -1: none of its own, or not known
};

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
  static std::string bytes_text(double bytes) {
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

namespace {

// ---- the report ------------------------------------------------------------------------------------------

std::string level_text(const schedule::Level &l) {
  if (l.is_inlined()) return "inlined";
  if (l.is_root()) return "root";
  return l.func + "." + l.var;
}

std::string count_text(double n) {
  char out[32];
  if (std::isnan(n)) return "?";
  if (n < 1e4) {
    std::snprintf(out, sizeof out, "%.0f", n);
  } else if (n < 1e7) {
    std::snprintf(out, sizeof out, "%.1f k", n / 1e3);
  } else if (n < 1e10) {
    std::snprintf(out, sizeof out, "%.1f M", n / 1e6);
  } else {
    std::snprintf(out, sizeof out, "%.1f G", n / 1e9);
  }
  return out;
}

struct Report {
  lower::PassContext cx;
  schedule::Scheduled scheduled;
  std::string nest, missing;
  std::map<Name, FuncWork> work;
};

void fill(const Algorithm &a, const Choice &choice, Report &r) {
  r.scheduled = schedule::apply(a.program, choice.schedule, a.target);
  lower::lower(r.scheduled, a.target, r.cx);
  ir::EvalContext sizes = estimates_of(a, &r.missing);
  run_on_large_stack([&] {
    const ir::Stmt loops = lower::run_pass("build_loops", {}, r.cx);
    Walker walker(r.cx, std::move(sizes), r.missing.empty());
    walker.walk(loops, 1);
    r.nest = walker.text();
    r.work = walker.work();
  });
}

Cost total(const FuncWork &w, double *points) {
  Cost sum;
  *points = 0;
  for (const auto &[stage, s] : w.stages) {
    *points += s.points;
    sum.operations += s.points * s.per_point.operations;
    sum.bytes_read += s.points * s.per_point.bytes_read;
    sum.bytes_written += s.points * s.per_point.bytes_written;
  }
  return sum;
}

std::string signature(const ir::Function &f) {
  std::string text = f.name + "(";
  for (size_t i = 0; i < f.args.size(); i++) text += (i ? ", " : "") + f.args[i].str();
  text += ") ";
  for (size_t i = 0; i < f.types.size(); i++) text += (i ? ", " : "") + type_text(f.types[i]);
  return text;
}

bool is_computed(const Algorithm &a, const Report &r, const ir::Function &f) {
  return a.program.is_output(f.name) || !r.scheduled.of(f.name).compute.is_inlined() ||
         f.has_updates();
}

Json func_json(const Algorithm &a, const Report &r, const ir::Function &f) {
  const schedule::FuncState &s = r.scheduled.of(f.name);
  Json j{{"name", f.name.str()}, {"source", to_string(f.pure().loc)}};
  std::vector<std::string> args, types;
  for (const Name n : f.args) args.push_back(n);
  for (const Type t : f.types) types.push_back(type_text(t));
  j["args"] = args;
  j["types"] = types;
  j["updates"] = f.stages() - 1;
  const std::set<std::string> slow = emulated(f);
  if (!slow.empty()) j["emulated"] = slow;
  if (!is_computed(a, r, f)) {
    j["compute"] = "inlined";
    return j;
  }
  j["compute"] = level_text(s.compute);
  j["store"] = level_text(s.store);
  const auto report = r.cx.storage.find(f.name);
  if (report != r.cx.storage.end()) {
    j["slides"] = report->second.slides;
    j["folds"] = report->second.folds;
    j["memory"] = report->second.memory;
  }
  const auto work = r.work.find(f.name);
  if (work == r.work.end() || !r.missing.empty()) return j;
  double points;
  const Cost c = total(work->second, &points);
  if (std::isnan(points)) return j;
  j["points"] = points;
  j["flops"] = c.operations;
  j["bytes_read"] = c.bytes_read;
  j["bytes_written"] = c.bytes_written;
  if (work->second.storage_bytes >= 0) j["storage_bytes"] = work->second.storage_bytes;
  return j;
}

void print_func(const Algorithm &a, const Report &r, const ir::Function &f) {
  const schedule::FuncState &s = r.scheduled.of(f.name);
  std::printf("  %s   %s", signature(f).c_str(), to_string(f.pure().loc).c_str());
  if (f.has_updates()) std::printf("   %d updates", f.stages() - 1);
  std::printf("\n");
  std::string slow;
  for (const std::string &op : emulated(f)) slow += (slow.empty() ? "" : ", ") + op;
  if (!slow.empty()) {
    std::printf("      warning: emulated, in float32 with a rounding after each operation: %s\n",
                slow.c_str());
  }
  if (!is_computed(a, r, f)) {
    std::printf("      inlined\n");
    return;
  }
  if (a.program.is_output(f.name)) {
    std::printf("      output\n");
  } else if (s.compute.is_inlined()) {
    std::printf("      computed at its readers' innermost loop\n");
  } else {
    std::printf("      computed at %s, stored at %s\n", level_text(s.compute).c_str(),
                level_text(s.store).c_str());
  }
  const auto report = r.cx.storage.find(f.name);
  if (report != r.cx.storage.end()) {
    const bool both = !report->second.slides.empty() && !report->second.folds.empty();
    if (!report->second.slides.empty() || !report->second.folds.empty())
      std::printf("      %s%s%s\n", report->second.slides.c_str(), both ? ", " : "",
                  report->second.folds.c_str());
    if (!report->second.memory.empty()) std::printf("      %s\n", report->second.memory.c_str());
  }
  const auto work = r.work.find(f.name);
  if (work == r.work.end() || !r.missing.empty()) return;
  double points;
  const Cost c = total(work->second, &points);
  std::printf("      points %s   operations %s   read %s   written %s", count_text(points).c_str(),
              count_text(c.operations).c_str(), Walker::bytes_text(c.bytes_read).c_str(),
              Walker::bytes_text(c.bytes_written).c_str());
  if (work->second.storage_bytes >= 0) {
    std::printf("   storage %s", Walker::bytes_text(work->second.storage_bytes).c_str());
  }
  std::printf("\n");
}

// ---- one point ---------------------------------------------------------------------------------------

// "output(17, 33)"
std::pair<std::string, std::vector<int>> parse_point(const Algorithm &a, const std::string &text) {
  const auto refuse = [&](const std::string &why) {
    raise(Diagnostic("L0502", {}, "--at " + text + " is no point of an output")
              .because(why)
              .fix("--at 'output(17, 33)'"));
  };
  const size_t open = text.find('(');
  const std::string name = text.substr(0, open);
  std::vector<int> point;
  size_t at = open == std::string::npos ? text.size() : open + 1;
  bool closed = false;
  while (at < text.size() && !closed) {
    char *end = nullptr;
    const long v = std::strtol(text.c_str() + at, &end, 10);
    const bool number = end != text.c_str() + at && v >= INT32_MIN && v <= INT32_MAX;
    at = static_cast<size_t>(end - text.c_str());
    if (number) point.push_back(static_cast<int>(v));
    while (at < text.size() && text[at] == ' ') at++;
    closed = at < text.size() && text[at] == ')';
    if (!closed && (!number || at >= text.size() || text[at] != ','))
      refuse("expected whole numbers between parentheses");
    at++;
  }
  if (!closed || at != text.size()) refuse("expected a name and whole numbers in parentheses");
  if (!a.program.is_output(name)) refuse(name + " is no output of " + a.program.name);
  const int rank = a.program.find(name)->dimensions();
  if (static_cast<int>(point.size()) != rank)
    refuse(name + " has " + std::to_string(rank) + " dimensions");
  return {name, point};
}

std::string region_text(const ir::Function *f, const analysis::Box &box, const ir::EvalContext &cx,
                        double *count) {
  const auto end = [&](const Expr &e) -> std::string {
    int64_t v;
    if (!e.defined()) return "unbounded";
    return evaluate_int(e, cx, &v) ? std::to_string(v) : ir::to_string(e);
  };
  std::string text;
  for (size_t d = 0; d < box.size(); d++) {
    const std::string dim = f ? f->args[d].str() : "dimension " + std::to_string(d);
    int64_t low = 0, high = -1;
    const bool known = box[d].bounded() && evaluate_int(box[d].min, cx, &low) &&
                       evaluate_int(box[d].max, cx, &high);
    *count *= known ? static_cast<double>(std::max<int64_t>(high - low + 1, 0)) : std::nan("");
    text += (d ? ", " : "") + dim + " in [" + end(box[d].min) + ", " + end(box[d].max) + "]";
  }
  return text;
}

int explain_at(const Request &r, const Algorithm &a, const Report &report) {
  const auto [name, point] = parse_point(a, r.at);
  std::string missing;
  const ir::EvalContext sizes = estimates_of(a, &missing);
  const lower::PointAnswer answer = lower::explain_point(report.cx, name, point);
  Json loops = Json::array(), needs = Json::array();
  std::string iteration, text;
  for (const lower::PointLoop &l : answer.loops) {
    int64_t v;
    const std::string value =
        evaluate_int(l.iteration, sizes, &v) ? std::to_string(v) : ir::to_string(l.iteration);
    iteration += (iteration.empty() ? "" : ", ") + l.loop + " = " + value;
    loops.push_back(Json{{"loop", l.loop.str()}, {"iteration", value}});
  }
  for (const lower::PointNeed &need : answer.needs) {
    const ir::Function *f = need.input ? nullptr : report.scheduled.program.find(need.name);
    double count = 1;
    const std::string region = region_text(f, need.region, sizes, &count);
    std::string where = "an input";
    if (f) {
      const schedule::FuncState &s = report.scheduled.of(f->name);
      const bool here = s.compute.kind == schedule::Level::Kind::At && s.compute.func == name;
      where = s.compute.is_inlined()
                  ? "computed where it is read"
                  : "computed at " + level_text(s.compute) + ", stored at " + level_text(s.store);
      for (const lower::PointLoop &l : answer.loops) {
        int64_t v;
        if (here && l.loop == s.compute.var && evaluate_int(l.iteration, sizes, &v))
          where += ", for this point in iteration " + l.loop + " = " + std::to_string(v);
      }
      const auto slides = report.cx.storage.find(f->name);
      if (slides != report.cx.storage.end() && !slides->second.slides.empty())
        where += "; " + slides->second.slides;
    }
    text += "  " + need.name + "  " + region + ": " + count_text(count) +
            (count == 1 ? " value" : " values") + "\n      " + where + "\n";
    Json j{{"name", need.name.str()}, {"region", region}, {"where", where}};
    if (!std::isnan(count)) j["values"] = count;
    needs.push_back(std::move(j));
  }
  if (r.json) {
    print(Json{{"point", r.at}, {"iteration", loops}, {"needs", needs}});
    return 0;
  }
  std::printf("%s\n  computed in %s\n\nneeds\n%s", r.at.c_str(),
              iteration.empty() ? "one go" : ("iteration " + iteration).c_str(), text.c_str());
  return 0;
}

// ---- codes ------------------------------------------------------------------------------------------

bool is_code(const std::string &text) {
  return text.size() == 5 && std::isupper(static_cast<unsigned char>(text[0])) &&
         text.find_first_not_of("0123456789", 1) == std::string::npos;
}

/// The section of errors.md whose heading names the code, or empty.
std::string documented(const std::string &code) {
  const std::string bin = executable_folder();
  for (const std::string &place :
       {bin + "/../share/calotype/errors.md", bin + "/../../../docs/errors.md",
        std::string("docs/errors.md")}) {
    if (!fs::exists(place)) continue;
    const std::string text = read_text(place);
    const size_t head = text.find("# " + code);
    if (head == std::string::npos) continue;
    const size_t start = text.rfind('\n', head) + 1;
    size_t end = text.find("\n#", head);
    if (end == std::string::npos) end = text.size() - 1;
    return text.substr(start, end + 1 - start);
  }
  return {};
}

int explain_code(const Request &r) {
  const std::string title = code_title(r.source), text = documented(r.source);
  if (title.empty()) raise(Diagnostic("L0502", {}, "no error code " + r.source));
  if (r.json) {
    Json j{{"code", r.source}, {"title", title}};
    if (!text.empty()) j["text"] = text;
    print(j);
  } else if (text.empty()) {
    std::printf("%s: %s\n", r.source.c_str(), title.c_str());
  } else {
    std::printf("%s", text.c_str());
  }
  return 0;
}

}  // namespace

int explain(const Request &r) {
  if (is_code(r.source) && !fs::exists(r.source)) return explain_code(r);
  const Algorithm a = load_algorithm(r);
  const Choice choice = choose(r, a, r.schedules.empty() ? "" : r.schedules.back());
  Report report;
  fill(a, choice, report);
  const std::string schedule_name = choice.path.empty() ? "written in C++" : choice.path;
  if (!r.at.empty()) return explain_at(r, a, report);
  if (r.json) {
    Json funcs = Json::array();
    for (const ir::Function &f : report.scheduled.program.funcs)
      funcs.push_back(func_json(a, report, f));
    print(Json{{"pipeline", a.program.name.str()},
               {"target", a.target.to_string()},
               {"numerics", numeric_mode(a.target)},
               {"schedule", schedule_name},
               {"estimates", report.missing.empty()},
               {"reordered", report.scheduled.reordered},
               {"online", report.scheduled.certificates},
               {"stack_bytes", report.cx.stack_bytes},
               {"funcs", funcs},
               {"loop_nest", report.nest}});
    return 0;
  }
  std::printf("pipeline %s\nschedule %s\ntarget   %s, numerics %s\n\nfuncs\n",
              a.program.name.c_str(), schedule_name.c_str(), a.target.to_string().c_str(),
              numeric_mode(a.target).c_str());
  std::printf("stack    %s of %s\n", Walker::bytes_text(double(report.cx.stack_bytes)).c_str(),
              Walker::bytes_text(double(lower::kStackBudget)).c_str());
  for (const std::string &what : report.scheduled.reordered)
    std::printf("order    values may differ from the interpreter's: %s\n", what.c_str());
  for (const ir::Function &f : report.scheduled.program.funcs) print_func(a, report, f);
  if (report.missing.empty()) {
    std::printf("\nloops, at the estimated sizes, in the middle of the loops around\n");
  } else {
    std::printf("\nloops (no numbers: %s has no estimates)\n", report.missing.c_str());
  }
  std::printf("%s", report.nest.c_str());
  for (const std::string &c : report.scheduled.certificates) std::printf("\n%s", c.c_str());
  return 0;
}

}  // namespace calotype::cli
