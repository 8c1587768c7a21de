// Pipeline: Funcs made runnable. Realization and the arguments of realize; compilation to text.
//
// Compiled code is kept until a schedule, a constraint or the target changes; definitions can't change
// once compiled. Errors of a run are thrown here, after the generated code has returned its code.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../base/diagnostic.h"
#include "../base/target.h"
#include "../lang/extern.h"
#include "../lang/func.h"
#include "../lang/later.h"
#include "../lang/param.h"

namespace calotype {

/// An argument of a compiled pipeline.
struct CALO_EXPORT Argument {
  enum Kind { InputScalar = 0, InputBuffer = 1, OutputBuffer = 2 } kind = InputScalar;
  std::string name;
  Type type;
  int dimensions = 0;
  ir::ParameterRef param;
  Argument() = default;
  Argument(const ir::ParameterRef &p, bool output = false);
  Argument(const OutputImageParam &p) : Argument(p.parameter().get()) {}
  template <typename T> Argument(const Param<T> &p) : Argument(p.parameter().get()) {}
  bool is_buffer() const { return kind != InputScalar; }
  bool is_scalar() const { return kind == InputScalar; }
  bool is_input() const { return kind != OutputBuffer; }
  bool is_output() const { return kind == OutputBuffer; }
};

/// The buffers that realize() made: one per output and Tuple element.
class CALO_EXPORT Realization {
public:
  explicit Realization(std::vector<Buffer<void, -1>> images) : images_(std::move(images)) {}
  template <typename T, int D, typename... Rest>
  Realization(const Buffer<T, D> &first, const Rest &...rest)
      : images_{Buffer<void, -1>(first), Buffer<void, -1>(rest)...} {}
  size_t size() const { return images_.size(); }
  const Buffer<void, -1> &operator[](size_t i) const { return images_.at(i); }
  Buffer<void, -1> &operator[](size_t i) { return images_.at(i); }
  /// The only buffer; throws L0208 if there are several, L0403 for another type.
  template <typename T, int D> operator Buffer<T, D>() const { return Buffer<T, D>(only()); }

private:
  const Buffer<void, -1> &only() const;
  std::vector<Buffer<void, -1>> images_;
};

/// What to compute into.
struct CALO_EXPORT RealizationArg {
  std::vector<halide_buffer_t *> raw;
  std::vector<Buffer<void, -1>> held;  ///< keeps the memory alive where it is ours to keep
  RealizationArg(halide_buffer_t *b) : raw{b} {}
  RealizationArg(const Realization &r);
  RealizationArg(const std::vector<Buffer<void, -1>> &bs);
  template <typename T, int D>
  RealizationArg(const Buffer<T, D> &b)
      : RealizationArg(std::vector<Buffer<void, -1>>{Buffer<void, -1>(b)}) {}
  template <typename T, int D, int S>
  RealizationArg(Halide::Runtime::Buffer<T, D, S> &b) : raw{b.raw_buffer()} {}
  template <typename T, int D, int S>
  RealizationArg(Halide::Runtime::Buffer<T, D, S> &&b) : raw{b.raw_buffer()} {}
  template <typename T, int D, typename T2, int D2, typename... Rest>
  RealizationArg(const Buffer<T, D> &first, const Buffer<T2, D2> &second, const Rest &...rest)
      : RealizationArg(std::vector<Buffer<void, -1>>{
            Buffer<void, -1>(first), Buffer<void, -1>(second), Buffer<void, -1>(rest)...}) {}
};

/// Replacements for the runtime's behaviour under JIT; null keeps the default. With custom_error set,
/// a failed realize returns instead of throwing.
struct JITHandlers {
  void (*custom_print)(JITUserContext *, const char *) = nullptr;
  void *(*custom_malloc)(JITUserContext *, size_t) = nullptr;
  void (*custom_free)(JITUserContext *, void *) = nullptr;
  int (*custom_do_task)(JITUserContext *, int (*)(JITUserContext *, int, uint8_t *), int,
                        uint8_t *) = nullptr;
  int (*custom_do_par_for)(JITUserContext *, int (*)(JITUserContext *, int, uint8_t *), int, int,
                           uint8_t *) = nullptr;
  void (*custom_error)(JITUserContext *, const char *) = nullptr;
  int32_t (*custom_trace)(JITUserContext *, const halide_trace_event_t *) = nullptr;
};
struct JITUserContext {
  JITHandlers handlers;
};

/// Kinds of files that compile_to writes; those not named in its documentation are refused by L0901.
enum class OutputFileType {
  assembly,
  bitcode,
  c_header,
  c_source,
  compiler_log,
  conceptual_stmt,
  conceptual_stmt_html,
  cpp_stub,
  device_code,
  featurization,
  function_info_header,
  hlpipe,
  llvm_assembly,
  object,
  python_extension,
  pytorch_wrapper,
  registration,
  schedule,
  static_library,
  stmt,
  stmt_html
};
using OutputFiles = std::vector<std::pair<OutputFileType, std::string>>;

/// What all pipelines of the process share.
struct CALO_EXPORT JITSharedRuntime {
  /// Bounds what memoized Funcs keep (16 MB at first); 0 keeps nothing.
  static void memoization_cache_set_size(int64_t bytes);
  /// Drops what was kept under this key of memoize(EvictionKey(key)).
  static void memoization_cache_evict(uint64_t eviction_key);
};

namespace driver {
struct JitCache;
}  // namespace driver

/// One or more output Funcs and all they depend on.
class CALO_EXPORT Pipeline {
public:
  using RealizationArg = calotype::RealizationArg;

  Pipeline() = default;
  Pipeline(const Func &output);
  Pipeline(const Pipeline &) = default;
  Pipeline &operator=(const Pipeline &) = default;
  ~Pipeline();
  Pipeline(const std::vector<Func> &outputs);
  /// `args` come first in the order of arguments. `name` is what a schedule file calls it.
  Pipeline(const std::vector<Func> &outputs, const std::vector<Argument> &args,
           const std::string &name);

  bool defined() const { return !outputs_.empty(); }
  const std::vector<Func> &outputs() const { return outputs_; }
  const std::string &name() const { return name_; }

  Realization realize(std::vector<int32_t> sizes = {}, const Target &t = Target());
  Realization realize(JITUserContext *context, std::vector<int32_t> sizes = {},
                      const Target &t = Target());
  void realize(RealizationArg out, const Target &t = Target());
  void realize(JITUserContext *context, RealizationArg out, const Target &t = Target());
  void infer_input_bounds(const std::vector<int32_t> &sizes, const Target &t = Target());
  void infer_input_bounds(RealizationArg out, const Target &t = Target());
  void compile_jit(const Target &t = Target());

  /// The file's schedule takes the place of the one written in C++ (`base embedded` extends it).
  void load_schedule(const std::string &path);
  /// The same with the schedule's text; `origin` stands for the file in messages.
  void load_schedule_text(const std::string &text, const std::string &origin = "schedule");
  /// The schedule in force as a schedule file's text.
  std::string schedule_text();

  std::vector<Argument> infer_arguments() const;
  JITHandlers &jit_handlers();
  /// What the names of extern stages and C functions stand for; other names are looked up in the process.
  void set_jit_externs(const std::vector<std::pair<std::string, JITExtern>> &externs);
  template <typename Map, typename = typename Map::mapped_type>
  void set_jit_externs(const Map &externs) {
    set_jit_externs(std::vector<std::pair<std::string, JITExtern>>(externs.begin(), externs.end()));
  }
  void apply_autoscheduler(const Target &t, const AutoschedulerParams &params);
  /// Each run first checks `condition`, over parameters alone; where it fails, R0105 with the message.
  template <typename... Args> void add_requirement(const Expr &condition, const Args &...message) {
    add_requirement(std::vector<Expr>{condition, Expr(message)...});
  }
  template <typename P> void add_custom_lowering_pass(P *pass) {
    delete pass;
    lang::refuse_name("Pipeline::add_custom_lowering_pass");
  }
  /// The loops on standard error, as the schedule makes them.
  void print_loop_nest();
  std::string loop_nest();
  // Files: driver/compile_to.cpp. `args` come first in the order of arguments; `function` is the name in C,
  // by default the pipeline's; the target is by default HL_TARGET or this machine.
  void compile_to_lowered_stmt(const std::string &file, const std::vector<Argument> &args,
                               StmtOutputFormat format = Text, const Target &t = Target());
  void compile_to_llvm_assembly(const std::string &file, const std::vector<Argument> &args,
                                const std::string &function = {}, const Target &t = Target());
  void compile_to_bitcode(const std::string &file, const std::vector<Argument> &args,
                          const std::string &function = {}, const Target &t = Target());
  void compile_to_assembly(const std::string &file, const std::vector<Argument> &args,
                           const std::string &function = {}, const Target &t = Target());
  void compile_to_object(const std::string &file, const std::vector<Argument> &args,
                         const std::string &function = {}, const Target &t = Target());
  void compile_to_header(const std::string &file, const std::vector<Argument> &args,
                         const std::string &function = {}, const Target &t = Target());
  void compile_to_c(const std::string &file, const std::vector<Argument> &args,
                    const std::string &function = {}, const Target &t = Target());
  /// prefix.o and prefix.h
  void compile_to_file(const std::string &prefix, const std::vector<Argument> &args,
                       const std::string &function = {}, const Target &t = Target());
  /// prefix.a, with the runtime unless the target says no_runtime, and prefix.h
  void compile_to_static_library(const std::string &prefix, const std::vector<Argument> &args,
                                 const std::string &function = {}, const Target &t = Target());
  /// prefix.a, which picks the best of the targets at run time (the last one fits all), and prefix.h. The
  /// function is called like the files.
  void compile_to_multitarget_static_library(const std::string &prefix,
                                             const std::vector<Argument> &args,
                                             const std::vector<Target> &targets);
  /// The same as objects: one per target, prefix-dispatch.o, the runtime as prefix_runtime.o. `suffixes`, one
  /// per target, stand for the target in the files' names.
  void compile_to_multitarget_object_files(const std::string &prefix,
                                           const std::vector<Argument> &args,
                                           const std::vector<Target> &targets,
                                           const std::vector<std::string> &suffixes = {});
  /// A file of each kind under exactly the path given.
  void compile_to(const OutputFiles &files, const std::vector<Argument> &args,
                  const std::string &function, const Target &t = Target());
  template <typename Map, typename = typename Map::mapped_type>
  void compile_to(const Map &files, const std::vector<Argument> &args, const std::string &function,
                  const Target &t = Target()) {
    compile_to(OutputFiles(files.begin(), files.end()), args, function, t);
  }

private:
  friend class Func;
  friend struct driver::JitCache;
  void add_requirement(const std::vector<Expr> &condition_and_message);
  driver::JitCache &cache() const;
  Pipeline with_args(const std::vector<Argument> &args, const std::string &name) const;
  std::vector<Func> outputs_;
  std::vector<ir::ParameterRef> args_;
  std::string name_;
  Ref<RefCounted> cache_;
};

/// Compiles and runs an expression without free variables.
template <typename T> T evaluate(const Expr &e) {
  Func f;
  f() = cast(type_of<T>(), e);
  const Buffer<T, 0> b = f.realize();
  return b();
}
namespace lang {
template <typename T> void take_result(const Buffer<void, -1> &b, T *out) {
  *out = Buffer<T, 0>(b)();
}
}  // namespace lang
/// The values of a Tuple, one pointer each.
template <typename... Ts> void evaluate(const Tuple &t, Ts *...out) {
  Func f;
  f() = t;
  const Realization r = f.realize();
  size_t i = 0;
  (lang::take_result(r[i++], out), ...);
}
template <typename T> T evaluate_may_gpu(const Expr &e) { return evaluate<T>(e); }
template <typename... Ts> void evaluate_may_gpu(const Tuple &t, Ts *...out) { evaluate(t, out...); }

}  // namespace calotype
