// Pipeline, Realization and Func's methods that compile and run.
#include "pipeline.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "../base/stack.h"
#include "../codegen/jit.h"
#include "../ir/print.h"
#include "../ir/visit.h"
#include "../lang/internal.h"
#include "../runtime/runtime.h"
#include "../schedule/apply.h"
#include "../schedule/loop_nest.h"
#include "../schedule/text.h"
#include "callable.h"
#include "compiled.h"
#include "program.h"

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

// ---- compiled code, kept while nothing changes --------------------------------------------------

namespace driver {

namespace {

using lang::Directives;

/// What code depends on besides definitions: directives by version, constraints by identity.
struct Stamp {
  std::vector<std::pair<const ir::FunctionBody *, uint64_t>> funcs;
  std::vector<std::pair<ir::ParameterRef, std::vector<Expr>>> constraints;
  std::vector<std::pair<ir::ParameterRef, uint64_t>> images;  // those may have directives (in)

  static uint64_t version(const ir::Parameter &p) {
    const auto *image = dynamic_cast<const lang::ImageParameter *>(&p);
    return image && image->directives ? image->directives->version : 0;
  }
  static uint64_t version(const ir::FunctionBody *f) {
    return f->attachment ? static_cast<const lang::Directives *>(f->attachment.get())->version : 0;
  }
  static std::vector<Expr> constraints_of(const ir::Parameter &p) {
    std::vector<Expr> all{p.min_value, p.max_value, Expr(p.host_alignment * 2 + p.trace_loads)};
    for (const ir::DimConstraint &d : p.dims) all.insert(all.end(), {d.min, d.extent, d.stride});
    return all;
  }
  bool current() const {
    for (const auto &[f, v] : funcs) {
      if (version(f) != v) return false;
    }
    for (const auto &[p, v] : images) {
      if (version(*p) != v) return false;
    }
    for (const auto &[p, old] : constraints) {
      const std::vector<Expr> now = constraints_of(*p);
      if (now.size() != old.size() ||
          now[2].as<ir::IntImm>()->value != old[2].as<ir::IntImm>()->value)
        return false;
      for (size_t i = 0; i < now.size(); i++) {
        if (i != 2 && !now[i].same_as(old[i])) return false;
      }
    }
    return true;
  }
};

}  // namespace

/// Shared by copies of a Pipeline, and by all calls of one Func's realize. Refers to Funcs by address
/// only (they live as long as the outputs), or Func, cache and Func would keep each other alive.
struct JitCache final : RefCounted {
  std::mutex mutex;
  JITHandlers handlers;
  bool has_file = false;
  schedule::Schedule file;
  codegen::ForeignSymbols externs;
  std::vector<Expr> requirements;
  std::shared_ptr<const Compiled> code;
  Stamp stamp;

  static JitCache &of(const Pipeline &p) { return p.cache(); }
  static std::vector<ir::ParameterRef> args_of(const Pipeline &p) { return p.args_; }
};

namespace {

std::string counted(size_t n, const std::string &what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::vector<Ref<ir::FunctionBody>> bodies_of(const Pipeline &p) {
  if (!p.defined()) {
    raise(Diagnostic("L0201", lang::recent_position(), "a Pipeline without outputs is used"));
  }
  std::vector<Ref<ir::FunctionBody>> bodies;
  for (const Func &f : p.outputs()) {
    bodies.push_back(f.function());
    if (!lang::is_handle(*bodies.back())) continue;
    raise(
        Diagnostic("L0217", lang::recent_position(), "a Func that a directive makes is no output")
            .because("in, clone_in and rfactor return Funcs to be scheduled", bodies.back()->loc));
  }
  return bodies;
}

/// Calls `visit` on the Funcs of a Pipeline and on the handles of those that directives make.
void each_body(const Directives &list, const std::function<void(const ir::FunctionBody *)> &visit) {
  for (const Ref<ir::FunctionBody> &made : list.made) {
    visit(made.get());
    each_body(lang::directives_of(*made), visit);
  }
}
void each_body(const Pipeline &p, const ir::Program &program,
               const std::function<void(const ir::FunctionBody *)> &visit) {
  for (const ir::FunctionBody *f : ir::reachable_funcs(bodies_of(p))) {
    visit(f);
    if (f->attachment) each_body(*static_cast<const Directives *>(f->attachment.get()), visit);
  }
  for (const ir::ParameterRef &q : program.params) {
    const auto *image = dynamic_cast<const lang::ImageParameter *>(q.get());
    if (image && image->directives) each_body(*image->directives, visit);
  }
}

/// Gives names of unnamed Vars in directives: the Program's, or the next free ones.
class DirectiveNames {
public:
  explicit DirectiveNames(ir::Program &program) : program_(program) {
    for (const auto &[from, to] : program.renamed) used_.insert(to.str());
    for (const ir::Function &f : program.funcs) {
      for (ir::Name n : f.args) used_.insert(n.str());
    }
  }
  void note(const schedule::Arg &a) {
    if (!a.text.empty() && a.text[0] != '$') used_.insert(a.text);
    for (const schedule::Arg &i : a.items) note(i);
  }
  void rename(schedule::Arg &a) {
    for (std::string *name : {&a.text, &a.key}) {
      if (!name->empty() && (*name)[0] == '$') *name = canonical(*name);
    }
    for (schedule::Arg &i : a.items) rename(i);
  }

private:
  std::string canonical(const std::string &reserved) {
    const auto it = program_.renamed.find(reserved);
    if (it != program_.renamed.end()) return it->second;
    const std::string base(1, reserved[1]);  // "$v12" is the 12th unnamed Var
    std::string name;
    do {
      name = base + std::to_string(next_++);
    } while (!used_.insert(name).second);
    program_.renamed[reserved] = name;
    return name;
  }
  ir::Program &program_;
  std::unordered_set<std::string> used_;
  int next_ = 0;
};

/// Parameters that only directives and requirements mention are arguments too.
void add_params(const Expr &expr, ir::Program &program) {
  if (!expr.defined()) return;
  ir::for_each_expr(expr, [&](const Expr &e) {
    const ir::Variable *v = e.as<ir::Variable>();
    if (!v || !v->param) return;
    const auto is_same = [&](const ir::ParameterRef &p) { return p.same_as(v->param); };
    for (const ir::Function &f : program.funcs) {
      if (std::any_of(f.outputs.begin(), f.outputs.end(), is_same)) return;
    }
    if (std::none_of(program.params.begin(), program.params.end(), is_same))
      program.params.push_back(v->param);
  });
}

void add_params(const schedule::Arg &a, ir::Program &program) {
  for (const schedule::Arg &i : a.items) add_params(i, program);
  add_params(a.expr, program);
}

std::vector<schedule::Directive> written_directives(const Pipeline &p, ir::Program &program) {
  std::vector<schedule::Directive> all;
  each_body(p, program, [&](const ir::FunctionBody *f) {
    if (!f->attachment) return;
    const auto &list = static_cast<const Directives *>(f->attachment.get())->list;
    all.insert(all.end(), list.begin(), list.end());
  });
  for (const ir::ParameterRef &q : program.params) {
    const auto *image = dynamic_cast<const lang::ImageParameter *>(q.get());
    if (image && image->directives)
      all.insert(all.end(), image->directives->list.begin(), image->directives->list.end());
  }
  std::sort(all.begin(), all.end(),
            [](const auto &a, const auto &b) { return a.sequence < b.sequence; });
  DirectiveNames names(program);
  for (const schedule::Directive &d : all) {
    for (const schedule::Arg &a : d.args) names.note(a);
  }
  for (schedule::Directive &d : all) {
    for (schedule::Arg &a : d.args) {
      names.rename(a);
      add_params(a, program);
    }
  }
  return all;
}

Target jit_target(const Target &t) {
  return t.has_unknowns() && t == Target() ? get_jit_target_from_environment() : t;
}

Stamp stamp_of(const Pipeline &p, const ir::Program &program) {
  Stamp s;
  each_body(p, program,
            [&](const ir::FunctionBody *f) { s.funcs.push_back({f, Stamp::version(f)}); });
  for (const ir::ParameterRef &q : program.params) {
    s.constraints.push_back({q, Stamp::constraints_of(*q)});
    s.images.push_back({q, Stamp::version(*q)});
  }
  for (const ir::Function &f : program.funcs) {
    for (const ir::ParameterRef &q : f.outputs)
      s.constraints.push_back({q, Stamp::constraints_of(*q)});
  }
  return s;
}

std::shared_ptr<const Compiled> code_for(const Pipeline &p, const Target &asked) {
  const Target t = jit_target(asked);
  JitCache &cache = JitCache::of(p);
  std::lock_guard<std::mutex> lock(cache.mutex);
  if (cache.code && cache.code->target() == t && cache.stamp.current()) return cache.code;
  ir::Program program = program_of(p, t);
  schedule::Schedule s = schedule_of(p, program);
  Stamp stamp = stamp_of(p, program);
  cache.code = std::make_shared<const Compiled>(program, s, t, true, cache.externs);
  cache.stamp = std::move(stamp);
  return cache.code;
}

[[noreturn]] void too_large(const std::string &name, Type t, const std::vector<int32_t> &sizes) {
  double bytes = t.bytes();
  for (int32_t n : sizes) bytes *= n;
  char text[64];
  std::snprintf(text, sizeof text, "%.3g GB", bytes / 1e9);
  raise(Diagnostic("R0104", lang::recent_position(),
                   "no memory for the buffer " + name + " of " + text));
}

/// One call on its way: values of scalars are copied, so that another thread may set them meanwhile.
class Call {
public:
  Call(const Pipeline &p, std::shared_ptr<const Compiled> code, JITUserContext *user)
      : code_(std::move(code)), handlers_(JitCache::of(p).handlers) {
    if (user) override_handlers(user->handlers);
    install_handlers();
    context_.handler_context = user ? user : &default_user_;
  }

  void add_outputs(const std::vector<halide_buffer_t *> &outs) {
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

  /// All arguments at once, for Callable.
  void set_args(std::vector<const void *> args) { args_ = std::move(args); }
  int run_plain() {
    code_->run(args_, &context_);
    return context_.error().code;
  }

  void need_inputs() const {
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

  void run() {
    need_memory();
    code_->run(args_, &context_);
  }

  /// Makes buffers for inputs that have none.
  void infer_inputs() {
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

private:
  // A buffer without memory asks a compiled function for bounds; here values were asked for.
  void need_memory() const {
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

  struct Shape {
    halide_buffer_t raw{};
    std::vector<halide_dimension_t> dims;
  };

  const void *scalar(const lower::LoweredArgument &a, size_t i) {
    if (!a.param->is_set) {
      raise(
          Diagnostic("L0401", lang::recent_position(), "the parameter " + a.name + " has no value")
              .because("it is " + to_string(a.type), a.param->loc)
              .fix(a.name + ".set(value) before realize"));
    }
    scalars_[i] = a.param->bits;
    return &scalars_[i];
  }

  static void bind(const lower::LoweredArgument &a, const Shape &shape) {
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

  void override_handlers(const JITHandlers &h) {
    if (h.custom_print) handlers_.custom_print = h.custom_print;
    if (h.custom_malloc) handlers_.custom_malloc = h.custom_malloc;
    if (h.custom_free) handlers_.custom_free = h.custom_free;
    if (h.custom_do_task) handlers_.custom_do_task = h.custom_do_task;
    if (h.custom_do_par_for) handlers_.custom_do_par_for = h.custom_do_par_for;
    if (h.custom_error) handlers_.custom_error = h.custom_error;
    if (h.custom_trace) handlers_.custom_trace = h.custom_trace;
  }

  /// JITUserContext * and void * are passed alike: the types differ for the reader only.
  void install_handlers() {
    runtime::JitHandlers &r = context_.handlers;
    r.print = reinterpret_cast<decltype(r.print)>(handlers_.custom_print);
    r.error = reinterpret_cast<decltype(r.error)>(handlers_.custom_error);
    r.malloc = reinterpret_cast<decltype(r.malloc)>(handlers_.custom_malloc);
    r.free = reinterpret_cast<decltype(r.free)>(handlers_.custom_free);
    r.do_par_for = reinterpret_cast<decltype(r.do_par_for)>(handlers_.custom_do_par_for);
    r.do_task = reinterpret_cast<decltype(r.do_task)>(handlers_.custom_do_task);
    r.trace = reinterpret_cast<decltype(r.trace)>(handlers_.custom_trace);
  }

  std::shared_ptr<const Compiled> code_;
  JITHandlers handlers_;
  JITUserContext default_user_;
  runtime::JitContext context_;
  std::vector<const void *> args_;
  std::vector<uint64_t> scalars_;
};

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
      try {
        all.emplace_back(t, sizes, name);
      } catch (const Error &) {
        throw;
      } catch (const std::exception &) {  // no memory, or more bytes than can be counted
        too_large(name, t, sizes);
      }
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

ir::ProgramOptions program_options(const Target &t) {
  ir::ProgramOptions options;
  options.settle = !t.has_feature(Target::StrictFloat);
  options.fma = t.fuses_multiply_add();
  return options;
}

ir::Program program_of(const Pipeline &p, const Target &t) {
  ir::Program program =
      ir::make_program(p.name(), bodies_of(p), JitCache::args_of(p), program_options(t));
  program.requirements = JitCache::of(p).requirements;
  for (const Expr &e : program.requirements) add_params(e, program);
  return program;
}

schedule::Schedule schedule_of(const Pipeline &p, ir::Program &program) {
  const JitCache &cache = JitCache::of(p);
  if (cache.has_file && !cache.file.base_embedded) return cache.file;
  schedule::Schedule written;
  written.directives = written_directives(p, program);
  return cache.has_file ? effective_schedule(written, cache.file) : written;
}

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
