#include "walk_loops.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace calotype::lower {

namespace {
constexpr int kDeepest = 10;  // loops inside which the iteration before is walked too (2^n walks)
}  // namespace

LoopWalk::~LoopWalk() = default;

bool LoopWalk::value(const Expr &e, int64_t *v) const {
  if (!known_ || !e.defined()) return false;
  const std::optional<ir::Value> r = ir::evaluate(e, values_);
  if (!r || r->type.is_float() || r->lanes.empty()) return false;
  *v = r->as_int();
  return true;
}

void LoopWalk::walk(const ir::Stmt &s) {
  if (!s.defined()) return;
  using K = ir::NodeKind;
  switch (s.kind()) {
    case K::LetStmt: return let(s.as<ir::LetStmt>());
    case K::ProducerConsumer: return walk(s.as<ir::ProducerConsumer>()->body);
    case K::Atomic: return walk(s.as<ir::Atomic>()->body);
    case K::For: return loop(s.as<ir::For>());
    case K::Realize: return realize(s.as<ir::Realize>());
    case K::Allocate: return mark(s.as<ir::Allocate>());
    case K::Block: walk(s.as<ir::Block>()->first); return walk(s.as<ir::Block>()->rest);
    case K::IfThenElse: return branch(s.as<ir::IfThenElse>());
    case K::Provide: return at_provide(s.as<ir::Provide>());
    case K::Store: return store(s.as<ir::Store>());
    default: return;
  }
}

void LoopWalk::let(const ir::LetStmt *op) {
  const std::optional<ir::Value> v = ir::evaluate(op->value, values_);
  if (v) {
    values_.vars[op->name] = *v;
  } else {
    values_.vars.erase(op->name);
    at_unknown_let(op);
  }
  walk(op->body);
}

void LoopWalk::inside(const ir::Stmt &s) {
  depth_++;
  walk(s);
  depth_--;
}

void LoopWalk::loop(const ir::For *op) {
  int64_t min, extent;
  if (!value(op->min, &min) || !value(op->extent, &extent)) {
    at_loop(op, 0, -1);
    const double before = std::exchange(times_, std::nan(""));
    values_.vars.erase(op->name);
    around_.push_back({op, -1});
    inside(op->body);
    around_.pop_back();
    times_ = before;
    return;
  }
  extent = std::max<int64_t>(extent, 0);
  at_loop(op, min, extent);
  const bool windows_start = std::exchange(fresh_marks_, false);
  const int64_t middle = min + std::max<int64_t>(extent, 1) / 2;
  auto times = static_cast<double>(extent);
  if (windows_start && extent > 1) {
    again_++;
    iteration(op, min, extent, 1);
    again_--;
    times -= 1;
  }
  if (marks_ > 0 && middle > min && around_.size() < kDeepest) {
    again_++;
    iteration(op, middle - 1, extent, 0);
    again_--;
  }
  iteration(op, middle, extent, times);
}

void LoopWalk::iteration(const ir::For *op, int64_t i, int64_t extent, double times) {
  const double before = times_;
  times_ = times == 0 ? 0 : times_ * times;  // not NaN
  around_.push_back({op, extent});
  values_.vars[op->name] = ir::Value::of_int(Int(32), i);
  inside(op->body);
  around_.pop_back();
  times_ = before;
}

void LoopWalk::realize(const ir::Realize *op) {
  double elements = 1;
  for (const ir::Range &r : op->bounds) {
    int64_t e;
    elements *= value(r.extent, &e) ? static_cast<double>(e) : std::nan("");
  }
  at_realize(op, elements);
  inside(op->body);
}

void LoopWalk::mark(const ir::Allocate *op) {
  values_.memory[op->name] = {0};
  values_.memory_types[op->name] = op->type;
  fresh_marks_ = true;
  marks_++;
  walk(op->body);
  marks_--;
}

void LoopWalk::store(const ir::Store *op) {  // only marks are flat so early
  const auto at = values_.memory.find(op->name);
  if (at == values_.memory.end()) return;
  const std::optional<ir::Value> v = ir::evaluate(op->value, values_);
  if (v) {
    at->second = v->lanes;
  } else {
    values_.memory.erase(at);  // not known any more
  }
}

void LoopWalk::branch(const ir::IfThenElse *op) {
  int64_t c;
  if (value(op->condition, &c)) return walk(c ? op->then_case : op->else_case);
  at_unknown_branch(op, false);
  inside(op->then_case);
  if (!op->else_case.defined()) return;
  if (!known_) {
    at_unknown_branch(op, true);
    return inside(op->else_case);
  }
  // Which side runs differs between iterations: the first stands for both.
  const double before = std::exchange(times_, 0);
  again_++;
  inside(op->else_case);
  again_--;
  times_ = before;
}

// By the innermost loop around that belongs to a stage: "f.s1.x". Without any, definitions appear in order, and a Func may
// be produced at several places: counts round.
int LoopWalk::stage_of(const ir::Function &f) {
  if (!f.has_updates()) return 0;
  const std::string prefix = f.name + ".s";
  for (size_t i = around_.size(); i-- > 0;) {
    const std::string &name = around_[i].loop->name;
    const size_t dot = name.find('.', prefix.size());
    if (name.rfind(prefix, 0) != 0 || dot == std::string::npos) continue;
    const std::string number = name.substr(prefix.size(), dot - prefix.size());
    if (!number.empty() && number.size() < 6 &&
        number.find_first_not_of("0123456789") == std::string::npos)
      return std::min(std::stoi(number), f.stages() - 1);
  }
  return seen_[f.name]++ % f.stages();
}

}  // namespace calotype::lower
