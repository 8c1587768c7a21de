// Trace events: what Funcs (and images) that directives or the target's trace features name load, store, realize,
// produce and consume, in program order.
//
//   let trace.pipeline = trace(p, begin_pipeline)          tags ... outputs' begin_realization ...
//     let f.trace = trace(f, begin_realization, parent trace.pipeline, bounds)
//       let f.produce.trace = ...  body  trace(f, end_produce, parent f.produce.trace) ...
//
// An event's parent is the innermost open event about its Func, else the pipeline's. When a run fails, the closing events
// of what was open are missing.
#include <algorithm>

#include "../ir/visit.h"
#include "../runtime/HalideRuntime.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

Expr c32(int64_t v) { return make_int(Int(32), v); }

class Tracer final : public IRMutator {
public:
  explicit Tracer(PassContext &cx) : cx_(cx), pipeline_("trace.pipeline") {
    all_loads_ = cx.target.has_feature(Target::TraceLoads);
    all_stores_ = cx.target.has_feature(Target::TraceStores);
    all_realizations_ = cx.target.has_feature(Target::TraceRealizations);
    any_ = all_loads_ || all_stores_ || all_realizations_ ||
           cx.target.has_feature(Target::TracePipeline);
    for (const Function &f : cx.program.funcs) {
      const schedule::FuncState &s = cx.state->of(f.name);
      any_ =
          any_ || s.trace_loads || s.trace_stores || s.trace_realizations || !s.trace_tags.empty();
    }
    for (const ParameterRef &p : cx.program.params) any_ = any_ || p->trace_loads;
  }

  Stmt run(const Stmt &program) {
    if (!any_) return program;
    std::vector<Stmt> before, after;
    for (const Function &f : cx_.program.funcs) {
      for (const std::string &tag : cx_.state->of(f.name).trace_tags)
        before.push_back(event(f.name, halide_trace_tag, make_var(pipeline_), {}, tag));
    }
    Stmt body = mutate(program);
    for (Name out : cx_.program.outputs) {
      if (!realizations_of(out)) continue;
      const Function &f = *cx_.program.find(out);
      Region bounds;
      const std::string buffer = f.types.size() > 1 ? f.name + ".0" : f.name.str();
      for (int d = 0; d < f.dimensions(); d++) {
        bounds.push_back({make_var(buffer + ".min." + std::to_string(d)),
                          make_var(buffer + ".extent." + std::to_string(d))});
      }
      const Name id = out + ".trace";
      body = make_block(body, event(out, halide_trace_end_realization, make_var(id), bounds));
      body = make_let_stmt(
          id, call(out, halide_trace_begin_realization, make_var(pipeline_), bounds), body);
    }
    before.push_back(body);
    before.push_back(event(cx_.program.name, halide_trace_end_pipeline, make_var(pipeline_), {}));
    return make_let_stmt(pipeline_, call(cx_.program.name, halide_trace_begin_pipeline, c32(0), {}),
                         make_block(before));
  }

  using IRMutator::visit;
  Stmt visit(const Realize *op) override {
    if (!realizations_of(op->name)) return IRMutator::visit(op);
    const Name id = op->name + ".trace";
    bounds_[op->name] = op->bounds;
    open_[op->name].push_back(id);
    Stmt body = mutate(op->body);
    open_[op->name].pop_back();
    body =
        make_block(body, event(op->name, halide_trace_end_realization, make_var(id), op->bounds));
    body = make_let_stmt(
        id, call(op->name, halide_trace_begin_realization, make_var(pipeline_), op->bounds), body);
    return make_realize(op->name, op->types, op->memory_type, op->bounds, op->condition, body);
  }

  Stmt visit(const ProducerConsumer *op) override {
    if (!op->is_producer || !realizations_of(op->name)) return IRMutator::visit(op);
    return make_producer(op->name, within(op->name, ".produce.trace", halide_trace_produce,
                                          halide_trace_end_produce, op->body));
  }

  // What follows the production of a Func, in its storage, consumes it.
  Stmt visit(const Block *op) override {
    const ProducerConsumer *p = op->first.as<ProducerConsumer>();
    if (!p || !p->is_producer || !realizations_of(p->name) || !bounds_.count(p->name))
      return IRMutator::visit(op);
    Stmt produce = mutate(op->first);
    return make_block(produce, within(p->name, ".consume.trace", halide_trace_consume,
                                      halide_trace_end_consume, op->rest));
  }

  Stmt visit(const Provide *op) override {
    std::vector<Expr> args, values;
    for (const Expr &a : op->args) args.push_back(mutate(a));
    const bool traced = all_stores_ || cx_.state->of(op->name).trace_stores;
    for (size_t i = 0; i < op->values.size(); i++) {
      Expr v = mutate(op->values[i]);
      if (traced && !as_intrinsic(v, Intrinsic::undef))
        v = with_event(op->name, halide_trace_store, static_cast<int>(i), v, args);
      values.push_back(v);
    }
    return make_provide(op->name, values, args, op->predicate);
  }

  Expr visit(const Call *op) override {
    if (op->op == Intrinsic::prefetch) return op;  // no read
    Expr e = IRMutator::visit(op);
    if (op->call_type == CallType::Halide && cx_.program.find(op->name) &&
        (all_loads_ || cx_.state->of(op->name).trace_loads))
      return with_event(op->name, halide_trace_load, op->value_index, e, e.as<Call>()->args);
    if (op->call_type == CallType::Image && (all_loads_ || op->param->trace_loads))
      return with_event(op->name, halide_trace_load, 0, e, e.as<Call>()->args);
    return e;
  }

private:
  bool realizations_of(Name func) const {
    return cx_.program.find(func) && (all_realizations_ || cx_.state->of(func).trace_realizations);
  }

  Expr parent_of(Name func) const {
    auto it = open_.find(func);
    if (it != open_.end() && !it->second.empty()) return make_var(it->second.back());
    if (cx_.program.is_output(func) && realizations_of(func)) return make_var(func + ".trace");
    return make_var(pipeline_);
  }

  static Expr call(Name func, halide_trace_event_code_t code, const Expr &parent,
                   const Region &bounds, const std::string &tag = {}) {
    std::vector<Expr> args{make_string(func.str()), c32(code), parent, c32(0),
                           make_string(tag),        c32(0)};
    for (const Range &r : bounds) {
      args.push_back(r.min);
      args.push_back(r.extent);
    }
    return make_intrinsic(Int(32), Intrinsic::trace, args);
  }
  static Stmt event(Name func, halide_trace_event_code_t code, const Expr &parent,
                    const Region &bounds, const std::string &tag = {}) {
    return make_evaluate(call(func, code, parent, bounds, tag));
  }

  Stmt within(Name func, const char *suffix, halide_trace_event_code_t begin,
              halide_trace_event_code_t end, const Stmt &s) {
    const Name id = func + suffix;
    const Region bounds = bounds_.count(func) ? bounds_.at(func) : Region();
    const Expr parent = parent_of(func);
    open_[func].push_back(id);
    Stmt body = mutate(s);
    open_[func].pop_back();
    body = make_block(body, event(func, end, make_var(id), bounds));
    return make_let_stmt(id, call(func, begin, parent, bounds), body);
  }

  // let v = value in (trace(...), v)
  Expr with_event(Name func, halide_trace_event_code_t code, int index, const Expr &value,
                  const std::vector<Expr> &at) {
    const Name name("trace.v" + std::to_string(names_++));
    const Expr v = make_var(name, value.type());
    std::vector<Expr> args{make_string(func.str()), c32(code), parent_of(func), c32(index),
                           make_string(""),         v};
    for (const Expr &a : at) args.push_back(make_cast(Int(32), a));
    const Expr traced = make_intrinsic(Int(32), Intrinsic::trace, args);
    return make_let(name, value,
                    make_intrinsic(value.type(), Intrinsic::return_second, {traced, v}));
  }

  PassContext &cx_;
  const Name pipeline_;
  bool any_ = false, all_loads_ = false, all_stores_ = false, all_realizations_ = false;
  std::unordered_map<Name, Region> bounds_;           // of storage around
  std::unordered_map<Name, std::vector<Name>> open_;  // ids of open events about a Func
  int names_ = 0;
};

}  // namespace

Stmt trace_events(const Stmt &s, PassContext &cx) { return Tracer(cx).run(s); }

}  // namespace calotype::lower
