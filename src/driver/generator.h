// Generator: a pipeline as a class with named inputs, outputs and parameters, found by name.
//
//   class Blur : public Generator<Blur> {
//    public:
//     GeneratorParam<int> radius{"radius", 1};
//     Input<Buffer<uint8_t, 2>> input{"input"};
//     Output<Buffer<uint8_t, 2>> output{"output"};
//     void generate() { output(x, y) = ...; }
//   };
//   HALIDE_REGISTER_GENERATOR(Blur, blur)
//
// Members register themselves with the Generator that is being constructed. configure(), if there is
// one, runs before inputs take their types; schedule(), if there is one, after generate().
//
// From another Generator: auto blur = context().apply<Blur>(f); Func g = blur->output;
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "generator_params.h"
#include "generator_ports.h"
#include "pipeline.h"

namespace calotype {

class GeneratorBase;

/// What a Generator is made for.
class CALO_EXPORT GeneratorContext {
public:
  explicit GeneratorContext(const Target &t = get_host_target()) : target_(t) {}
  const Target &target() const { return target_; }
  const Target &get_target() const { return target_; }
  GeneratorContext with_target(const Target &t) const { return GeneratorContext(t); }
  /// A Generator with its parameters still to be set.
  template <typename T> std::unique_ptr<T> create() const { return T::create(*this); }
  /// Made, its inputs bound in their order, and run: its outputs are Funcs of the caller's program.
  template <typename T, typename... Args> std::unique_ptr<T> apply(const Args &...args) const {
    std::unique_ptr<T> g = T::create(*this);
    g->apply(args...);
    return g;
  }

private:
  Target target_;
};

/// The names of the language as members, so that a Generator needs no `using namespace`.
struct NamesInterface {
  using Expr = calotype::Expr;
  using Var = calotype::Var;
  using RVar = calotype::RVar;
  using RDom = calotype::RDom;
  using Func = calotype::Func;
  using Tuple = calotype::Tuple;
  using Type = calotype::Type;
  using Target = calotype::Target;
  using LoopLevel = calotype::LoopLevel;
  using TailStrategy = calotype::TailStrategy;
  using MemoryType = calotype::MemoryType;
  using Pipeline = calotype::Pipeline;
  using ImageParam = calotype::ImageParam;
  using ExternFuncArgument = calotype::ExternFuncArgument;
  template <typename T> using Param = calotype::Param<T>;
  template <typename T> using GeneratorParam = calotype::GeneratorParam<T>;
  template <typename T = void, int D = -1> using Buffer = calotype::Buffer<T, D>;
  template <typename T> using Input = GeneratorInput<T>;
  template <typename T> using Output = GeneratorOutput<T>;

  static Type Int(int bits, int lanes = 1) { return calotype::Int(bits, lanes); }
  static Type UInt(int bits, int lanes = 1) { return calotype::UInt(bits, lanes); }
  static Type Float(int bits, int lanes = 1) { return calotype::Float(bits, lanes); }
  static Type Bool(int lanes = 1) { return calotype::Bool(lanes); }
  static Expr cast(Type t, const Expr &e) { return calotype::cast(t, e); }
  template <typename T> static Expr cast(const Expr &e) { return calotype::cast<T>(e); }
  template <typename T> static Type type_of() { return calotype::type_of<T>(); }
};

namespace driver {
/// Throws L0501 with the nearest names.
CALO_EXPORT std::unique_ptr<GeneratorBase> create_generator(const std::string &name,
                                                            const GeneratorContext &context);

/// Members made in its life belong to this Generator; the previous one comes back at its end.
struct CALO_EXPORT ConstructionScope {
  explicit ConstructionScope(GeneratorBase *g = nullptr);
  ~ConstructionScope();
  ConstructionScope(const ConstructionScope &) = delete;

private:
  GeneratorBase *before_;
};

/// The values of one argument of apply(): one, or those of a vector.
template <typename T> std::vector<BoundInput> bound_inputs(const T &value) {
  if constexpr (std::is_base_of<PortArrayBase, T>::value) {
    std::vector<BoundInput> all;
    for (const auto &v : value) all.emplace_back(v);
    return all;
  } else {
    return {BoundInput(value)};
  }
}
template <typename T> std::vector<BoundInput> bound_inputs(const std::vector<T> &values) {
  return std::vector<BoundInput>(values.begin(), values.end());
}
/// The Funcs of an output, or of an array of them, by name. For stubs.
CALO_EXPORT std::vector<Func> output_funcs(const GeneratorBase &g, const std::string &name);
}  // namespace driver

/// What a Generator is to those who run it.
class CALO_EXPORT GeneratorBase : public NamesInterface {
  // First, since members register themselves while they are constructed.
  std::vector<driver::ParamBase *> params_;
  struct Slot {
    driver::Port *port;
    driver::PortArrayBase *array;
  };
  std::vector<Slot> input_slots_, output_slots_;  // as declared
  std::vector<driver::Port *> inputs_, outputs_;  // arrays spread out
  std::vector<std::string> names_;                // of params, ports and arrays
  std::vector<std::shared_ptr<void>> owned_;
  driver::PortArrayBase *filling_ = nullptr;  // the array whose elements are being made
  std::string registered_name_, stub_name_, schedule_;
  bool built_ = false;

public:
  GeneratorBase();
  GeneratorBase(const GeneratorBase &) = delete;
  GeneratorBase &operator=(const GeneratorBase &) = delete;
  virtual ~GeneratorBase();

  GeneratorParam<Target> target;

  Target get_target() const { return target; }
  GeneratorContext context() const { return GeneratorContext(target); }
  /// There is none yet: a parameter autoscheduler=NAME is refused by L0901.
  bool using_autoscheduler() const { return false; }
  template <typename T> int natural_vector_size() const {
    return get_target().template natural_vector_size<T>();
  }
  int natural_vector_size(const Type &t) const { return get_target().natural_vector_size(t); }

  /// Sets a GeneratorParam, `input.type`, `input.dim` or `input.size` of a port that left them open, or
  /// `schedule`: a file, or a folder to choose from by target. Throws L0502 with the nearest names.
  void set_generator_param(const std::string &name, const std::string &value);
  /// Whether set_generator_param knows the name.
  bool has_generator_param(const std::string &name) const;
  /// Values of all parameters but `target`, ports left open included, as `when` lines compare them.
  std::vector<std::pair<std::string, std::string>> parameter_values() const;
  void set_generator_param_values(const std::vector<std::pair<std::string, std::string>> &values);
  /// Runs configure, generate and schedule; checks that outputs have the types they declare; loads the
  /// schedule that the parameter `schedule` names. Throws L0501, S0003, S0004.
  Pipeline build_pipeline();
  /// The parameter `schedule`, or empty.
  const std::string &schedule_path() const { return schedule_; }

  const std::vector<driver::ParamBase *> &generator_params() const { return params_; }
  const std::vector<driver::Port *> &inputs() const { return inputs_; }
  const std::vector<driver::Port *> &outputs() const { return outputs_; }
  void set_registered_name(const std::string &n) { registered_name_ = n; }
  const std::string &registered_name() const { return registered_name_; }

  /// For configure(): further inputs and outputs.
  template <typename T, typename... Args>
  GeneratorInput<T> *add_input(const driver::Named &name, const Args &...args) {
    return add<GeneratorInput<T>, std::is_array<T>::value>(name, args...);
  }
  template <typename T, typename... Args>
  GeneratorOutput<T> *add_output(const driver::Named &name, const Args &...args) {
    return add<GeneratorOutput<T>, std::is_array<T>::value>(name, args...);
  }

  /// Binds inputs, by position, and runs configure, generate and schedule: the outputs are Funcs of the caller's program.
  void apply_inputs(const std::vector<std::vector<driver::BoundInput>> &values);
  /// A C++ header with a class that calls this Generator by its name: files of kind cpp_stub. Before it has run.
  std::string stub_source() const;

protected:
  virtual void call_configure() = 0;
  virtual void call_generate() = 0;
  virtual void call_schedule() = 0;

private:
  friend class driver::ParamBase;
  friend class driver::Port;
  friend class driver::PortArrayBase;
  friend CALO_EXPORT std::vector<Func> driver::output_funcs(const GeneratorBase &g,
                                                            const std::string &name);
  friend struct driver::ConstructionScope;
  friend CALO_EXPORT std::unique_ptr<GeneratorBase> driver::create_generator(
      const std::string &name, const GeneratorContext &context);
  template <typename P, bool IsArray, typename... Args>
  P *add(const driver::Named &name, const Args &...args) {
    const driver::ConstructionScope scope(this);
    std::shared_ptr<P> p;
    if constexpr (IsArray) {
      p = std::make_shared<P>(name, args...);
    } else {
      p = std::make_shared<P>(name.text, args..., name.at);
    }
    owned_.push_back(p);
    return p.get();
  }
  void claim(const std::string &name, SrcLoc at);
  void spread();
  void run_stages(const std::vector<std::vector<driver::BoundInput>> *values);
  void bind_slot(const Slot &slot, const std::vector<driver::BoundInput> &values);
  bool set_port_param(const Slot &slot, const std::string &name, const std::string &value);
  void check_output(const driver::Port &p) const;
};

namespace driver {
template <typename T, typename = void> struct HasConfigure : std::false_type {};
template <typename T>
struct HasConfigure<T, decltype(void(std::declval<T &>().configure()))> : std::true_type {};
template <typename T, typename = void> struct HasSchedule : std::false_type {};
template <typename T>
struct HasSchedule<T, decltype(void(std::declval<T &>().schedule()))> : std::true_type {};
}  // namespace driver

template <typename T> class Generator : public GeneratorBase {
public:
  static std::unique_ptr<T> create(const GeneratorContext &context) {
    return std::unique_ptr<T>(make(context));
  }
  /// The caller owns it.
  static T *make(const GeneratorContext &context) {
    const driver::ConstructionScope scope;
    T *g = new T;
    g->target.set(context.target());
    return g;
  }
  static std::unique_ptr<T> create(const GeneratorContext &context, const std::string &name) {
    auto g = create(context);
    g->set_registered_name(name);
    return g;
  }

  /// From within generate(): another Generator for the same target, with its parameters still to be set.
  template <typename Other> std::unique_ptr<Other> create() const {
    return this->context().template create<Other>();
  }
  /// From within generate(): another Generator, run on these inputs.
  template <typename Other, typename... Args>
  std::unique_ptr<Other> apply(const Args &...args) const {
    return this->context().template apply<Other>(args...);
  }

  /// Runs the Generator on Funcs, images, Buffers, numbers, and vectors of them for arrays, in the order of
  /// its inputs. Its outputs are Funcs then: `Func f = g->output`.
  template <typename... Args> void apply(const Args &...args) {
    apply_inputs({driver::bound_inputs(args)...});
  }

protected:
  void call_configure() override {
    if constexpr (driver::HasConfigure<T>::value) static_cast<T *>(this)->configure();
  }
  void call_generate() override { static_cast<T *>(this)->generate(); }
  void call_schedule() override {
    if constexpr (driver::HasSchedule<T>::value) static_cast<T *>(this)->schedule();
  }
};

// ---- registry -----------------------------------------------------------------------------------

namespace driver {

/// Makes a Generator that the caller owns. (A plain pointer: the smart one of each class is costly to compile.)
using GeneratorFactory = GeneratorBase *(*)(const GeneratorContext &);

/// Registers for as long as it lives: a plugin's entries go when it is closed.
class CALO_EXPORT GeneratorRegistration {
public:
  /// `stub`: the class of its stub, "name::space::name", or empty.
  GeneratorRegistration(const char *name, GeneratorFactory factory, const char *stub,
                        SrcLoc at = SrcLoc::here());
  GeneratorRegistration(const char *name, GeneratorFactory factory,
                        std::vector<std::pair<std::string, std::string>> preset,
                        SrcLoc at = SrcLoc::here());
  GeneratorRegistration(const GeneratorRegistration &) = delete;
  ~GeneratorRegistration();

private:
  const void *key_;
};

template <typename T> GeneratorBase *make_generator(const GeneratorContext &context) {
  return T::make(context);
}

/// Names in order of registration.
CALO_EXPORT std::vector<std::string> generator_names();

}  // namespace driver

using GeneratorParamsMap = std::vector<std::pair<std::string, std::string>>;

}  // namespace calotype

/// Makes a Generator known by name; a third argument names the class of its stub.
#define HALIDE_REGISTER_GENERATOR(CLASS, NAME, ...)                                   \
  static const ::calotype::driver::GeneratorRegistration calo_registration_of_##NAME( \
      #NAME, &::calotype::driver::make_generator<CLASS>, "" #__VA_ARGS__);
/// The same Generator under another name, with parameters set: {{"radius", "2"}}.
#define HALIDE_REGISTER_GENERATOR_ALIAS(ALIAS, NAME, ...)                              \
  static const ::calotype::driver::GeneratorRegistration calo_registration_of_##ALIAS( \
      #ALIAS,                                                                          \
      [](const ::calotype::GeneratorContext &context) {                                \
        return ::calotype::driver::create_generator(#NAME, context).release();         \
      },                                                                               \
      __VA_ARGS__);
