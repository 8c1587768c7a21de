// See pipeline_call.h.
#include "pipeline_call.h"

#include <cstdio>
#include <new>

namespace calotype::driver {

namespace {

[[noreturn]] void too_large(const std::string &name, Type t, const std::vector<int32_t> &sizes) {
  double bytes = t.bytes();
  for (int32_t n : sizes) bytes *= n;
  char text[64];
  std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
  raise(Diagnostic("R0104", lang::recent_position(),
                   "no memory for the buffer " + name + " of " + text));
}

}  // namespace

Call::Call(const Pipeline &p, std::shared_ptr<const Compiled> code, JITUserContext *user)
    : code_(std::move(code)), handlers_(JitCache::of(p).handlers) {
  if (user) override_handlers(user->handlers);
  install_handlers();
  context_.handler_context = user ? user : &default_user_;
}

void Call::add_outputs(const std::vector<halide_buffer_t *> &outs) {
  size_t next = 0, wanted = 0;
  for (const auto &a : code_->function().args)
    wanted += a.kind == lower::LoweredArgument::Kind::OutputBuffer;
  if (outs.size() != wanted) {
    raise(Diagnostic("L0105", lang::recent_position(),
                     "realize into " + std::to_string(outs.size()) + " buffers")
              .because("the pipeline " + code_->function().name.str() + " has " +
                       std::to_string(wanted) + " output buffers"));
  }
  scalars_.resize(code_->function().args.size());
  args_.resize(code_->function().args.size());
  for (size_t i = 0; i < args_.size(); i++) {
    const lower::LoweredArgument &a = code_->function().args[i];
    switch (a.kind) {
      case lower::LoweredArgument::Kind::OutputBuffer: args_[i] = outs[next++]; break;
      case lower::LoweredArgument::Kind::InputScalar: args_[i] = scalar(a, i); break;
      case lower::LoweredArgument::Kind::InputBuffer:
        args_[i] = a.param->buffer ? a.param->buffer->raw() : nullptr;
        break;
    }
  }
}

int Call::run_plain() {
  code_->run(args_, &context_);
  return context_.error().code;
}

void Call::need_inputs() const {
  for (size_t i = 0; i < args_.size(); i++) {
    const lower::LoweredArgument &a = code_->function().args[i];
    if (args_[i] || a.kind == lower::LoweredArgument::Kind::OutputBuffer) continue;
    raise(Diagnostic("L0401", lang::recent_position(), "the input " + a.name + " has no buffer")
              .because("it is " + to_string(a.type) + " with " +
                           counted(static_cast<size_t>(a.dimensions), "dimension"),
                       a.param->loc)
              .fix(a.name + ".set(buffer) before realize, or infer_input_bounds to make one"));
  }
}

void Call::run() {
  need_memory();
  code_->run(args_, &context_);
}

void Call::infer_inputs() {
  std::vector<Shape> shapes(args_.size());
  std::vector<const void *> query = args_;
  for (size_t i = 0; i < args_.size(); i++) {
    if (args_[i]) continue;
    const lower::LoweredArgument &a = code_->function().args[i];
    shapes[i].dims.resize(a.dimensions);
    shapes[i].raw.dim = shapes[i].dims.data();
    shapes[i].raw.dimensions = a.dimensions;
    shapes[i].raw.type = halide_type_t(a.type);
    query[i] = &shapes[i].raw;
  }
  code_->run(query, &context_);
  for (size_t i = 0; i < args_.size(); i++) {
    if (!args_[i]) bind(code_->function().args[i], shapes[i]);
  }
}

void Call::need_memory() const {
  for (size_t i = 0; i < args_.size(); i++) {
    const lower::LoweredArgument &a = code_->function().args[i];
    if (a.kind == lower::LoweredArgument::Kind::InputScalar || !args_[i]) continue;
    const auto *b = static_cast<const halide_buffer_t *>(args_[i]);
    if (!b->is_bounds_query() || b->number_of_elements() == 0) continue;
    const bool input = a.kind == lower::LoweredArgument::Kind::InputBuffer;
    raise(Diagnostic("R0101", lang::recent_position(),
                     code_->function().name.str() + ": the " + (input ? "input " : "output ") +
                         a.name + " has no memory: its host pointer is null")
              .fix("allocate the buffer, or use infer_input_bounds to ask for its size"));
  }
}

const void *Call::scalar(const lower::LoweredArgument &a, size_t i) {
  if (!a.param->is_set) {
    raise(Diagnostic("L0401", lang::recent_position(), "the parameter " + a.name + " has no value")
              .because("it is " + to_string(a.type), a.param->loc)
              .fix(a.name + ".set(value) before realize"));
  }
  scalars_[i] = a.param->bits;
  return &scalars_[i];
}

void Call::bind(const lower::LoweredArgument &a, const Shape &shape) {
  for (const halide_dimension_t &d : shape.dims) {
    if (d.extent >= 0) continue;
    raise(Diagnostic("B0101", a.param->loc,
                     "the region that is read of " + a.name + " is empty or unbounded"));
  }
  lang::RuntimeBuffer buffer(halide_type_t(a.type), nullptr, shape.dims);
  try {
    buffer.allocate();
  } catch (const std::exception &) {  // no memory, or more bytes than can be counted
    std::vector<int32_t> sizes;
    for (const halide_dimension_t &d : shape.dims) sizes.push_back(d.extent);
    too_large(a.name, a.type, sizes);
  }
  const_cast<ir::Parameter &>(*a.param).buffer =
      lang::make_contents(std::move(buffer), a.name).get();
}

void Call::override_handlers(const JITHandlers &h) {
  if (h.custom_print) handlers_.custom_print = h.custom_print;
  if (h.custom_malloc) handlers_.custom_malloc = h.custom_malloc;
  if (h.custom_free) handlers_.custom_free = h.custom_free;
  if (h.custom_do_task) handlers_.custom_do_task = h.custom_do_task;
  if (h.custom_do_par_for) handlers_.custom_do_par_for = h.custom_do_par_for;
  if (h.custom_error) handlers_.custom_error = h.custom_error;
  if (h.custom_trace) handlers_.custom_trace = h.custom_trace;
}

void Call::install_handlers() {
  runtime::JitHandlers &r = context_.handlers;
  r.print = reinterpret_cast<decltype(r.print)>(handlers_.custom_print);
  r.error = reinterpret_cast<decltype(r.error)>(handlers_.custom_error);
  r.malloc = reinterpret_cast<decltype(r.malloc)>(handlers_.custom_malloc);
  r.free = reinterpret_cast<decltype(r.free)>(handlers_.custom_free);
  r.do_par_for = reinterpret_cast<decltype(r.do_par_for)>(handlers_.custom_do_par_for);
  r.do_task = reinterpret_cast<decltype(r.do_task)>(handlers_.custom_do_task);
  r.trace = reinterpret_cast<decltype(r.trace)>(handlers_.custom_trace);
}

}  // namespace calotype::driver
