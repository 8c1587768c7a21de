// Pipeline, Realization and Func's methods that compile and run.
#include "pipeline.h"

#include <cstdio>

#include "../ir/visit.h"
#include "../schedule/apply.h"
#include "../schedule/loop_nest.h"
#include "../schedule/text.h"
#include "callable.h"
#include "pipeline_call.h"

namespace calotype {

// ---- arguments and results ----------------------------------------------------------------------

Argument::Argument(const ir::ParameterRef &p, bool output)
    : kind(output         ? OutputBuffer
           : p->is_buffer ? InputBuffer
                          : InputScalar),
      name(p->name),
      type(p->type),
      dimensions(p->dimensions),
      param(p) {}

const Buffer<void, -1> &Realization::only() const {
  if (images_.size() != 1) {
    raise(Diagnostic("L0208", lang::recent_position(),
                     "a realization of " + std::to_string(images_.size()) + " buffers used as one")
              .fix("pick one: r[0]"));
  }
  return images_[0];
}

RealizationArg::RealizationArg(const Realization &r) {
  for (size_t i = 0; i < r.size(); i++) held.push_back(r[i]);
  for (const auto &b : held) raw.push_back(b.raw_buffer());
}

RealizationArg::RealizationArg(const std::vector<Buffer<void, -1>> &bs) : held(bs) {
  for (const auto &b : held) raw.push_back(b.raw_buffer());
}

namespace driver {

namespace {

/// New buffers of these sizes for all outputs.
std::vector<Buffer<void, -1>> make_outputs(const Pipeline &p, const std::vector<int32_t> &sizes) {
  std::vector<Buffer<void, -1>> all;
  for (const Func &f : p.outputs()) {
    if (static_cast<int>(sizes.size()) != f.dimensions()) {
      raise(Diagnostic("L0105", lang::recent_position(),
                       "realize of " + lang::shown_name(*f.function()) + " with " +
                           counted(sizes.size(), "size"))
                .because("it has " + counted(static_cast<size_t>(f.dimensions()), "dimension"),
                         f.function()->loc)
                .fix("give one size per dimension, innermost first: realize({width, height})"));
    }
    for (int32_t n : sizes) {
      if (n >= 0) continue;
      raise(Diagnostic("L0105", lang::recent_position(),
                       "realize with the negative size " + std::to_string(n)));
    }
    const std::string name = f.name();
    for (const Type &t : f.types()) {
      all.emplace_back(t, sizes, name);
    }
  }
  return all;
}

/// Shapes of outputs for a bounds query: the memory is never touched, only looked at for null.
std::vector<Buffer<void, -1>> output_shapes(const Pipeline &p, const std::vector<int32_t> &sizes) {
  static char nothing[64];
  std::vector<Buffer<void, -1>> all;
  for (const Func &f : p.outputs()) {
    if (static_cast<int>(sizes.size()) != f.dimensions()) return make_outputs(p, sizes);  // throws
    for (const Type &t : f.types()) all.emplace_back(t, static_cast<void *>(nothing), sizes);
  }
  return all;
}

}  // namespace

}  // namespace driver

void JITSharedRuntime::memoization_cache_set_size(int64_t bytes) { calo_memo_set_size(bytes); }
void JITSharedRuntime::memoization_cache_evict(uint64_t key) { calo_memo_evict(key); }

// ---- Pipeline -----------------------------------------------------------------------------------

namespace {
std::string default_name(const std::vector<Func> &outputs) {
  return outputs.empty() || outputs[0].name().empty() ? "pipeline" : outputs[0].name();
}
}  // namespace

Pipeline::~Pipeline() = default;
Pipeline::Pipeline(const Func &output) : Pipeline(std::vector<Func>{output}) {}

Pipeline::Pipeline(const std::vector<Func> &outputs)
    : outputs_(outputs), name_(default_name(outputs)), cache_(new driver::JitCache) {}

Pipeline::Pipeline(const std::vector<Func> &outputs, const std::vector<Argument> &args,
                   const std::string &name)
    : Pipeline(outputs) {
  for (const Argument &a : args) args_.push_back(a.param);
  if (!name.empty()) name_ = name;
}

driver::JitCache &Pipeline::cache() const {
  driver::bodies_of(*this);
  return *static_cast<driver::JitCache *>(cache_.get());
}

Realization Pipeline::realize(std::vector<int32_t> sizes, const Target &t) {
  return realize(nullptr, std::move(sizes), t);
}

Realization Pipeline::realize(JITUserContext *context, std::vector<int32_t> sizes,
                              const Target &t) {
  ir::reachable_funcs(driver::bodies_of(*this));  // throws L0201, L0210 before sizes are judged
  Realization r(driver::make_outputs(*this, sizes));
  realize(context, RealizationArg(r), t);
  return r;
}

void Pipeline::realize(RealizationArg out, const Target &t) { realize(nullptr, std::move(out), t); }

void Pipeline::realize(JITUserContext *context, RealizationArg out, const Target &t) {
  driver::Call call(*this, driver::code_for(*this, t), context);
  call.add_outputs(out.raw);
  call.need_inputs();
  call.run();
}

void Pipeline::infer_input_bounds(const std::vector<int32_t> &sizes, const Target &t) {
  ir::reachable_funcs(driver::bodies_of(*this));  // throws L0201, L0210 before sizes are judged
  infer_input_bounds(RealizationArg(driver::output_shapes(*this, sizes)), t);
}

void Pipeline::infer_input_bounds(RealizationArg out, const Target &t) {
  driver::Call call(*this, driver::code_for(*this, t), nullptr);
  call.add_outputs(out.raw);
  call.infer_inputs();
}

void Pipeline::compile_jit(const Target &t) { driver::code_for(*this, t); }

void Pipeline::load_schedule(const std::string &path) {
  schedule::Schedule s = schedule::load_schedule(path);
  driver::JitCache &c = cache();
  std::lock_guard<std::mutex> lock(c.mutex);
  c.file = std::move(s);
  c.has_file = true;
  c.code = nullptr;
}

void Pipeline::load_schedule_text(const std::string &text, const std::string &origin) {
  schedule::Schedule s = schedule::parse_schedule(text, origin);
  driver::JitCache &c = cache();
  std::lock_guard<std::mutex> lock(c.mutex);
  c.file = std::move(s);
  c.has_file = true;
  c.code = nullptr;
}

std::string Pipeline::schedule_text() {
  ir::Program program = driver::program_of(*this, driver::jit_target(Target()));
  const schedule::Schedule s = driver::schedule_of(*this, program);
  return schedule::print_schedule(schedule::resolve(program, s));
}

std::vector<Argument> Pipeline::infer_arguments() const {
  const ir::Program program = driver::program_of(*this, driver::jit_target(Target()));
  std::vector<Argument> args;
  for (const ir::ParameterRef &p : program.params) {
    if (!p->embedded) args.emplace_back(p);
  }
  return args;
}

JITHandlers &Pipeline::jit_handlers() { return cache().handlers; }

void Pipeline::set_jit_externs(const std::vector<std::pair<std::string, JITExtern>> &externs) {
  driver::JitCache &c = cache();
  std::lock_guard<std::mutex> lock(c.mutex);
  c.externs.clear();
  for (const auto &[name, f] : externs) c.externs.emplace_back(name, f.address());
  c.code = nullptr;
}
void Pipeline::apply_autoscheduler(const Target &, const AutoschedulerParams &) {
  lang::refuse_later("Pipeline::apply_autoscheduler", lang::recent_position());
}
void Pipeline::add_requirement(const std::vector<Expr> &condition_and_message) {
  std::vector<Expr> rest = condition_and_message;
  const Expr condition = rest[0];
  lang::require_small(condition, "a requirement of the pipeline", lang::recent_position());
  rest[0] = condition;  // the value that require() gives
  driver::JitCache &c = cache();
  const Expr check = lang::require_list(condition, rest);
  for (ir::Name v : ir::free_vars(condition)) {
    bool is_parameter = false;
    ir::for_each_expr(condition, [&](const Expr &e) {
      const ir::Variable *var = e.as<ir::Variable>();
      is_parameter = is_parameter || (var && var->name == v && var->param);
    });
    if (is_parameter) continue;
    raise(
        Diagnostic("L0205", lang::recent_position(),
                   "a requirement of the pipeline uses " + v.str())
            .because("it is checked once, before anything is computed")
            .fix("write it over Params and dimensions of ImageParams, or use require() in a Func"));
  }
  std::lock_guard<std::mutex> lock(c.mutex);
  c.requirements.push_back(check);
  c.code = nullptr;
}

std::string Pipeline::loop_nest() {
  const Target t = driver::jit_target(Target());
  ir::Program program = driver::program_of(*this, t);
  const schedule::Schedule s = schedule::resolve(program, driver::schedule_of(*this, program));
  const schedule::Scheduled scheduled = schedule::apply(program, s, t, s.origin.empty());
  return schedule::to_string(*schedule::build_loop_tree(
      schedule::inline_funcs(scheduled.program, scheduled.state), scheduled.state));
}

void Pipeline::print_loop_nest() { std::fputs(loop_nest().c_str(), stderr); }

// ---- Callable -----------------------------------------------------------------------------------

struct Callable::State {
  Pipeline pipeline;
  std::shared_ptr<const driver::Compiled> code;
};

Callable Pipeline::compile_to_callable(const std::vector<Argument> &args, const Target &t) {
  Pipeline p = with_args(args, {});
  Ref<RefCounted> own(new driver::JitCache);  // its argument order is its own
  const driver::JitCache &mine = cache();
  auto &copy = *static_cast<driver::JitCache *>(own.get());
  copy.handlers = mine.handlers;
  copy.has_file = mine.has_file;
  copy.file = mine.file;
  copy.externs = mine.externs;
  copy.requirements = mine.requirements;
  p.cache_ = own;
  auto state = std::make_shared<Callable::State>();
  state->pipeline = p;
  state->code = driver::code_for(p, t);
  size_t inputs = 0;
  for (const lower::LoweredArgument &a : state->code->function().args) {
    if (a.kind == lower::LoweredArgument::Kind::OutputBuffer) continue;
    if (inputs++ < args.size()) continue;
    raise(Diagnostic("L0105", lang::recent_position(),
                     "the input " + a.name + " is not among the arguments of compile_to_callable")
              .fix("name every Param and ImageParam that the pipeline uses"));
  }
  Callable c;
  c.state_ = std::move(state);
  return c;
}

// Which is the first that belongs to the pipeline: a context comes before.
size_t Callable::check(const Arg *args, size_t n) const {
  if (!state_) raise(Diagnostic("L0101", lang::recent_position(), "an empty Callable is called"));
  const std::vector<lower::LoweredArgument> &wanted = state_->code->function().args;
  const size_t first = n > 0 && args[0].kind == Arg::Context ? 1 : 0;
  if (n - first != wanted.size()) {
    raise(Diagnostic("L0105", lang::recent_position(),
                     "a Callable is called with " + std::to_string(n - first) + " arguments")
              .because("the pipeline " + state_->code->function().name.str() + " has " +
                       std::to_string(wanted.size()) + ", inputs first, outputs last"));
  }
  for (size_t i = 0; i < wanted.size(); i++) {
    const lower::LoweredArgument &w = wanted[i];
    const bool scalar = w.kind == lower::LoweredArgument::Kind::InputScalar;
    const Arg &a = args[first + i];
    if (scalar ? a.kind == Arg::Scalar && a.type == w.type : a.kind == Arg::BufferArg) continue;
    raise(Diagnostic("L0102", lang::recent_position(),
                     "argument " + std::to_string(i) + " of a Callable, " + w.name + ", is " +
                         (a.kind == Arg::Scalar      ? "a number of type " + to_string(a.type)
                          : a.kind == Arg::BufferArg ? std::string("a buffer")
                                                     : std::string("a context")))
              .because("it is " + (scalar ? "a number of type " + to_string(w.type)
                                          : "a buffer of " + to_string(w.type))));
  }
  return first;
}

int Callable::call(const Arg *args, size_t n) const {
  const size_t first = check(args, n);
  auto *user = first ? static_cast<JITUserContext *>(const_cast<void *>(args[0].pointer)) : nullptr;
  driver::Call run(state_->pipeline, state_->code, user);
  std::vector<const void *> pointers;
  for (size_t i = first; i < n; i++)
    pointers.push_back(args[i].kind == Arg::Scalar ? &args[i].bits : args[i].pointer);
  run.set_args(std::move(pointers));
  return run.run_plain();
}

// ---- Func: the same through a Pipeline of one output ---------------------------------------------

Pipeline Func::pipeline() const {
  Pipeline p(*this);
  lang::Directives &mine = lang::directives_of(lang::body_of(body_));
  if (mine.cache) {
    p.cache_ = mine.cache;
  } else {
    mine.cache = p.cache_;
  }
  return p;
}

Realization Func::realize(const std::vector<int32_t> &sizes, const Target &t) {
  return pipeline().realize(sizes, t);
}
Realization Func::realize(JITUserContext *context, const std::vector<int32_t> &sizes,
                          const Target &t) {
  return pipeline().realize(context, sizes, t);
}
void Func::realize(RealizationArg out, const Target &t) { pipeline().realize(std::move(out), t); }
void Func::realize(JITUserContext *context, RealizationArg out, const Target &t) {
  pipeline().realize(context, std::move(out), t);
}
void Func::infer_input_bounds(const std::vector<int32_t> &sizes, const Target &t) {
  pipeline().infer_input_bounds(sizes, t);
}
void Func::infer_input_bounds(RealizationArg out, const Target &t) {
  pipeline().infer_input_bounds(std::move(out), t);
}
void Func::compile_jit(const Target &t) { pipeline().compile_jit(t); }
std::vector<Argument> Func::infer_arguments() const { return pipeline().infer_arguments(); }
JITHandlers &Func::jit_handlers() { return pipeline().jit_handlers(); }
void Func::print_loop_nest() { pipeline().print_loop_nest(); }
Module Func::compile_to_module(const std::vector<Argument> &, const std::string &, const Target &) {
  lang::refuse_later("Func::compile_to_module", lang::recent_position());
}
Callable Func::compile_to_callable(const std::vector<Argument> &args, const Target &t) {
  return pipeline().compile_to_callable(args, t);
}
}  // namespace calotype
