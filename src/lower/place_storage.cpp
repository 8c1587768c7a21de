// Stack or heap for every allocation. Code generation keeps the stack memory of one function (the pipeline, or the body
// of a parallel loop) for as long as the function runs, and lets copies of one allocation (unrolled or cut loops) follow
// one another in the same place; a parallel body may run on the stack of the thread that started it. So what counts is,
// for each function, the sum of its places, plus the most that a parallel body inside it needs.
//
// Memory that is to become registers takes no place. What store_in asked for comes first, then what the innermost loops allocate: an allocation on the heap costs most where
// it is made most often. Tests: test/unit/lower/memory_test.cpp.
#include <algorithm>
#include <map>

#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

// Memory in one function's frame that copies of one allocation take turns in.
struct Place {
  int frame = 0;
  int64_t bytes = 0;
  int loops = 0;       // around the outermost of its allocations
  bool asked = false;  // store_in(Stack) or a scalar that lowering made
  bool on_stack = false;
};

struct Frame {
  int parent = -1;
  int64_t own = 0;
  std::map<std::pair<std::string, int64_t>, std::vector<int>> free;
};

class Planner final : public IRVisitor {
public:
  explicit Planner(PassContext &cx) : cx_(cx) { frames_.emplace_back(); }
  using IRVisitor::visit;

  void visit(const For *op) override {
    const int outer = frame_;
    if (op->for_type == ForType::Parallel) {
      frames_.emplace_back();
      frames_.back().parent = outer;
      frame_ = static_cast<int>(frames_.size()) - 1;
    }
    loops_++;
    IRVisitor::visit(op);
    loops_--;
    frame_ = outer;
  }

  void visit(const Allocate *op) override {
    if (stays_in_registers(op)) return IRVisitor::visit(op);
    const int64_t bytes = constant_bytes(op);
    const bool asked =
        op->memory_type == MemoryType::Stack || op->memory_type == MemoryType::Register;
    if (asked && bytes < 0) refuse_size(op);
    if (bytes < 0 || bytes > kStackBudget || op->memory_type == MemoryType::Heap) {
      if (asked) refuse_budget(op, bytes);
      of_allocation[op] = -1;
      IRVisitor::visit(op);
      return;
    }
    Frame &frame = frames_[frame_];
    auto &free = frame.free[{op->name, bytes}];
    int id;
    if (free.empty()) {
      id = static_cast<int>(places.size());
      places.push_back({frame_, bytes, loops_, asked, false});
    } else {
      id = free.back();
      free.pop_back();
      places[id].asked |= asked;
      places[id].loops = std::max(places[id].loops, loops_);
    }
    of_allocation[op] = id;
    IRVisitor::visit(op);
    frames_[places[id].frame].free[{op->name, bytes}].push_back(id);
  }

  void decide() {
    std::vector<int> order(places.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const Place &p = places[a], &q = places[b];
      if (p.asked != q.asked) return p.asked;
      if (p.asked) return p.bytes < q.bytes;
      return p.loops != q.loops ? p.loops > q.loops : p.bytes < q.bytes;
    });
    for (int i : order) {
      Place &p = places[i];
      frames_[p.frame].own += p.bytes;
      if (deepest() > kStackBudget) {
        frames_[p.frame].own -= p.bytes;
        if (p.asked) refuse_budget(allocation_of(i), p.bytes);
      } else {
        p.on_stack = true;
      }
    }
    cx_.stack_bytes = deepest();
  }

  // Stack bytes of the thread that needs most.
  int64_t deepest() const {
    std::vector<int64_t> below(frames_.size());
    for (size_t i = frames_.size(); i-- > 1;) {  // children come after their parents
      int64_t &outer = below[frames_[i].parent];
      outer = std::max(outer, frames_[i].own + below[i]);
    }
    return frames_[0].own + below[0];
  }

  // What keep_accumulators made: no memory to be placed.
  bool stays_in_registers(const Allocate *op) const {
    return op->memory_type == MemoryType::Register && !func_of(op->name);
  }

  static int64_t constant_bytes(const Allocate *op) {
    int64_t bytes = op->type.bytes() * op->type.lanes();
    for (const Expr &e : op->extents) {
      const int64_t *n = as_const_int(e);
      if (!n || *n < 0 || (*n > 0 && bytes > INT32_MAX / *n)) return -1;
      bytes *= *n;
    }
    return bytes;
  }

  std::vector<Place> places;
  std::map<const Allocate *, int> of_allocation;  // -1: heap

protected:
  bool enter(const IRNode *node) override { return node->node_type >= NodeKind::LetStmt; }

private:
  const Allocate *allocation_of(int place) const {
    for (const auto &[op, id] : of_allocation) {
      if (id == place) return op;
    }
    return nullptr;
  }

  // The Func whose (element of a Tuple's) storage this is.
  const Function *func_of(Name allocation) const {
    const std::string &name = allocation;
    if (const Function *f = cx_.program.find(name)) return f;
    return cx_.program.find(name.substr(0, name.rfind('.')));
  }
  SrcLoc asked_at(Name allocation) const {
    const Function *f = func_of(allocation);
    return f ? cx_.state->of(f->name).memory_loc : SrcLoc();
  }

  [[noreturn]] void refuse_size(const Allocate *op) const {
    raise(Diagnostic("S0131", asked_at(op->name),
                     op->name.str() + " cannot be stored on the stack: its size is not constant")
              .because("the stack holds memory of a size that is known when code is made")
              .fix("bound() or bound_storage() its dimensions, compute less of it at once, or "
                   "store_in(Heap)"));
  }
  [[noreturn]] void refuse_budget(const Allocate *op, int64_t bytes) const {
    raise(Diagnostic("S0131", asked_at(op->name),
                     op->name.str() + " cannot be stored on the stack: it takes " +
                         std::to_string(bytes) + " bytes")
              .because("all stages of a pipeline that store_in(Stack) have " +
                       std::to_string(kStackBudget) + " bytes of a thread's stack together")
              .fix("compute less of it at once, or store_in(Heap)"));
  }

  PassContext &cx_;
  std::vector<Frame> frames_;
  int frame_ = 0, loops_ = 0;
};

class Marker final : public IRMutator {
public:
  Marker(const Planner &plan, PassContext &cx) : plan_(plan), cx_(cx) {}
  using IRMutator::visit;
  Expr mutate(const Expr &e) override { return e; }
  Stmt mutate(const Stmt &s) override { return IRMutator::mutate(s); }

  Stmt visit(const Allocate *op) override {
    if (plan_.stays_in_registers(op)) return IRMutator::visit(op);
    const int id = plan_.of_allocation.at(op);
    const bool stack = id >= 0 && plan_.places[id].on_stack;
    report(op, stack);
    return make_allocate(op->name, op->type, stack ? MemoryType::Stack : MemoryType::Heap,
                         op->extents, op->condition, mutate(op->body));
  }

private:
  void report(const Allocate *op, bool stack) {
    const std::string &name = op->name;
    const Function *f = cx_.program.find(name);
    if (!f) f = cx_.program.find(name.substr(0, name.rfind('.')));
    if (!f || (f->name != name && f->types.size() < 2)) return;  // a mark
    std::string &text = cx_.storage[f->name].memory;
    const int64_t bytes = Planner::constant_bytes(op);
    if (stack) {
      text = "stack, " + std::to_string(bytes) + " bytes";
    } else if (bytes < 0) {
      text = "heap: its size is known when the pipeline runs";
    } else if (op->memory_type == MemoryType::Heap) {
      text = "heap, as asked";
    } else {
      text = "heap: " + std::to_string(bytes) + " bytes would exceed the stack budget of " +
             std::to_string(kStackBudget);
    }
  }

  const Planner &plan_;
  PassContext &cx_;
};

}  // namespace

Stmt place_storage(const Stmt &s, PassContext &cx) {
  Planner plan(cx);
  plan.visit_stmt(s);
  plan.decide();
  return Marker(plan, cx).mutate(s);
}

}  // namespace calotype::lower
