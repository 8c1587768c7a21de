// Generators: construction, parameters, building the Pipeline, the registry.
#include "generator.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "../lang/internal.h"

namespace calotype {

template class GeneratorParam<Target>;

namespace driver {

namespace {
/// The Generator whose members are being constructed on this thread.
thread_local GeneratorBase *under_construction = nullptr;

GeneratorBase &current(const std::string &member) {
  if (!under_construction) {
    raise(Diagnostic("L0501", lang::recent_position(), member + " is made outside of a Generator")
              .because("inputs, outputs and GeneratorParams are members of a class derived from "
                       "Generator"));
  }
  return *under_construction;
}
}  // namespace

// ---- parameters ---------------------------------------------------------------------------------

ParamBase::ParamBase(const std::string &name) : name_(name) {
  current(name).params_.push_back(this);
}
ParamBase::~ParamBase() = default;

void ParamBase::bad_value(const std::string &text, const std::string &expected) const {
  Diagnostic d("L0502", {}, "the generator parameter " + name_ + " cannot be \"" + text + "\"");
  d.why.push_back({"it takes " + expected, {}});
  std::string names;
  for (const std::string &c : choices()) names += (names.empty() ? "" : ", ") + c;
  if (!names.empty()) d.help.push_back("names: " + names);
  raise(std::move(d));
}

bool parse_value(const std::string &text, bool *value) {
  if (text != "true" && text != "false") return false;
  *value = text == "true";
  return true;
}
bool parse_value(const std::string &text, long long *value) {
  char *end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, 10);
  return !text.empty() && *end == 0 && errno == 0;
}
bool parse_value(const std::string &text, unsigned long long *value) {
  char *end = nullptr;
  errno = 0;
  *value = std::strtoull(text.c_str(), &end, 10);
  return !text.empty() && text[0] != '-' && *end == 0 && errno == 0;
}
bool parse_value(const std::string &text, double *value) {
  char *end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0;
}
bool parse_value(const std::string &text, Type *value) {
  *value = parse_type(text);
  return value->bits() != 0;
}
bool parse_value(const std::string &text, Target *value) {
  *value = Target(text);  // throws T0101 with the nearest names
  return true;
}
bool parse_value(const std::string &text, LoopLevel *value) {
  if (text != "root" && text != "inlined") return false;
  *value = text == "root" ? LoopLevel::root() : LoopLevel::inlined();
  return true;
}

std::string print_value(bool v) { return v ? "true" : "false"; }
std::string print_value(long long v) { return std::to_string(v); }
std::string print_value(unsigned long long v) { return std::to_string(v); }
std::string print_value(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}

// ---- ports --------------------------------------------------------------------------------------

Port::Port(const std::string &name, Kind kind, bool is_output, Type type, int dimensions, SrcLoc at)
    : name_(name), kind_(kind), is_output_(is_output), dims_(dimensions), loc_(at) {
  if (type.bits()) types_.push_back(type);
  GeneratorBase &g = current(name);
  for (const auto *list : {&g.inputs_, &g.outputs_}) {
    for (const Port *p : *list)
      need(p->name() != name, name + " is declared twice", "ports are told apart by name");
  }
  (is_output ? g.outputs_ : g.inputs_).push_back(this);
}
Port::~Port() = default;
void Port::open() {}
std::vector<Ref<ir::Parameter>> Port::params() const { return {}; }
std::vector<Func> Port::funcs() const { return {}; }

void Port::need(bool ok, const std::string &what, const std::string &why) const {
  if (!ok) raise(Diagnostic("L0501", loc_, what).because(why));
}

const std::vector<Type> &Port::types() const {
  need(has_types(), "the type of " + name_ + " is not known",
       "neither the Generator nor " + name_ + ".type=... gave it");
  return types_;
}
Type Port::type() const {
  need(types().size() == 1, name_ + " has several types", "use types()");
  return types_[0];
}
int Port::dims() const {
  need(has_dims(), "the rank of " + name_ + " is not known",
       "neither the Generator nor " + name_ + ".dim=... gave it");
  return dims_;
}

InputImage::InputImage(const std::string &name, Kind kind, Type type, int dimensions, SrcLoc at)
    : Port(name, kind, false, type, dimensions, at) {}
InputImage::~InputImage() = default;

void InputImage::open() {
  if (image_.defined()) return;
  const Type t = type();
  image_ = ImageParam(t, dims(), name_, loc_);
}

const ImageParam &InputImage::image() const {
  if (!image_.defined() && has_types() && has_dims()) const_cast<InputImage *>(this)->open();
  need(image_.defined(), "the input " + name_ + " is used too early",
       "its type and rank are still open");
  return image_;
}

std::vector<Ref<ir::Parameter>> InputImage::params() const { return {image().parameter()}; }

InputImage::operator Func() const {
  if (!func_.defined()) func_ = image();
  return func_;
}

BoundaryConditions::Source InputImage::boundary_source() const {
  return BoundaryConditions::Source(image(), loc());
}

InputImage &InputImage::set_estimates(std::initializer_list<Range> estimates) {
  return set_estimates(Region(estimates));
}

OutputFunc &OutputFunc::set_estimates(std::initializer_list<Range> estimates, SrcLoc at) {
  Func::set_estimates(Region(estimates), at);
  return *this;
}

InputImage &InputImage::set_estimates(const Region &estimates) {
  ImageParam p = image();
  p.set_estimates(estimates);
  return *this;
}

InputImage &InputImage::set_estimate(const Var &v, const Expr &min, const Expr &extent) {
  const Func f = *this;
  const std::vector<Var> args = f.args();
  for (size_t i = 0; i < args.size(); i++) {
    if (args[i].same_as(v)) image().dim(static_cast<int>(i)).set_estimate(min, extent);
  }
  return *this;
}

InputImage &InputImage::set_host_alignment(int bytes) {
  ImageParam p = image();
  p.set_host_alignment(bytes);
  return *this;
}

InputScalar::InputScalar(const std::string &name, Type t, SrcLoc at)
    : Port(name, Kind::Scalar, false, t, 0, at), param_(lang::make_scalar_parameter(t, name, at)) {}
InputScalar::~InputScalar() = default;
std::vector<Ref<ir::Parameter>> InputScalar::params() const { return {param_}; }

void InputScalar::set_estimate(const Expr &e) { param_->estimate = cast(type(), e); }

OutputFunc::OutputFunc(const std::string &name, Kind kind, Type type, int dimensions, SrcLoc at)
    : Port(name, kind, true, type, dimensions, at), Func(name, at) {}
OutputFunc::OutputFunc(const std::string &name, Kind kind, const std::vector<Type> &types,
                       int dimensions, SrcLoc at)
    : OutputFunc(name, kind, Type(), dimensions, at) {
  types_ = types;
}
OutputFunc::~OutputFunc() = default;
std::vector<Func> OutputFunc::funcs() const { return {*this}; }

void OutputFunc::open() {
  if (Func::defined()) return;
  ir::FunctionBody &f = *function();
  f.required_types = types_;
  f.required_dimensions = dims_;
}

OutputFunc &OutputFunc::operator=(const Func &f) {
  if (Func::defined()) {
    raise(Diagnostic("L0202", loc_, "the output " + Port::name() + " is defined twice")
              .because("the first definition", function()->loc));
  }
  if (!f.defined()) {
    raise(Diagnostic("L0201", loc_,
                     "the output " + Port::name() + " is given a Func without a definition")
              .because("the Func", f.function()->loc));
  }
  const std::string name = Port::name();
  const auto &outputs = current(name).outputs();
  const bool taken = std::any_of(outputs.begin(), outputs.end(), [&](const Port *p) {
    return p != this && !p->funcs().empty() && p->funcs()[0].same_as(f);
  });
  if (taken) {  // two outputs of one Func: this one reads it
    (*this)(std::vector<Var>{_}, loc_) = Tuple(f(std::vector<Var>{_}, loc_));
    return *this;
  }
  static_cast<Func &>(*this) = f;
  function()->name = name;
  return *this;
}

void OutputFunc::set_host_alignment(int bytes) {
  OutputImageParam p = output_buffer();
  p.set_host_alignment(bytes);
}

// ---- registry -----------------------------------------------------------------------------------

namespace {
struct Entry {
  const void *key;
  std::string name;
  GeneratorFactory factory;
  std::vector<std::pair<std::string, std::string>> preset;
  SrcLoc loc;
};
struct Registry {
  std::mutex mutex;
  std::vector<Entry> entries;
};
Registry &registry() {
  static auto *r = new Registry;  // plugins may outlive static objects
  return *r;
}
}  // namespace

GeneratorRegistration::GeneratorRegistration(const char *name, GeneratorFactory factory, SrcLoc at)
    : GeneratorRegistration(name, factory, {}, at) {}

GeneratorRegistration::GeneratorRegistration(
    const char *name, GeneratorFactory factory,
    std::vector<std::pair<std::string, std::string>> preset, SrcLoc at)
    : key_(this) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().entries.push_back({key_, name, factory, std::move(preset), at});
}

GeneratorRegistration::~GeneratorRegistration() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto &all = registry().entries;
  all.erase(std::remove_if(all.begin(), all.end(), [&](const Entry &e) { return e.key == key_; }),
            all.end());
}

std::vector<std::string> generator_names() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  std::vector<std::string> names;
  for (const Entry &e : registry().entries) names.push_back(e.name);
  return names;
}

std::unique_ptr<GeneratorBase> create_generator(const std::string &name,
                                                const GeneratorContext &context) {
  Entry entry{};
  std::vector<std::string> names = generator_names();
  {
    std::lock_guard<std::mutex> lock(registry().mutex);
    for (const Entry &e : registry().entries) {  // the latest of one name: a plugin built anew
      if (e.name == name) entry = e;
    }
  }
  if (!entry.factory) {
    Diagnostic d("L0501", {}, "no Generator is called " + name);
    std::string near;
    for (const std::string &n : nearest_names(name, names)) near += (near.empty() ? "" : ", ") + n;
    if (near.empty()) {
      for (const std::string &n : names) near += (near.empty() ? "" : ", ") + n;
    }
    d.help.push_back(near.empty() ? "none is registered: HALIDE_REGISTER_GENERATOR(Class, name)"
                                  : "there is " + near);
    raise(std::move(d));
  }
  std::unique_ptr<GeneratorBase> g = entry.factory(context);
  g->set_registered_name(name);
  g->set_generator_param_values(entry.preset);
  return g;
}

}  // namespace driver

// ---- GeneratorBase ------------------------------------------------------------------------------

GeneratorBase::GeneratorBase() : target((driver::under_construction = this, "target"), Target()) {}

GeneratorBase::~GeneratorBase() {
  if (driver::under_construction == this) driver::under_construction = nullptr;
  for (driver::Port *p : owned_) delete p;
}

void GeneratorBase::own(driver::Port *p) { owned_.push_back(p); }

void GeneratorBase::set_generator_param(const std::string &name, const std::string &value) {
  std::vector<std::string> names;
  for (driver::ParamBase *p : params_) {
    if (p->name() == name) return p->set_from_string(value);
    names.push_back(p->name());
  }
  for (const auto *list : {&inputs_, &outputs_}) {
    for (driver::Port *p : *list) {
      if (name == p->name() + ".type") {
        const Type t = parse_type(value);
        if (t.bits() == 0)
          raise(Diagnostic("L0502", {}, "\"" + value + "\" is no type, for " + name));
        return p->set_type(t);
      }
      if (name == p->name() + ".dim") {
        long long d = 0;
        if (!driver::parse_value(value, &d) || d < 0 || d > 64) {
          raise(Diagnostic("L0502", {}, "\"" + value + "\" is no rank, for " + name));
        }
        return p->set_dimensions(static_cast<int>(d));
      }
    }
  }
  Diagnostic d("L0502", {}, "the generator " + registered_name_ + " has no parameter " + name);
  std::string near;
  for (const std::string &n : nearest_names(name, names)) near += (near.empty() ? "" : ", ") + n;
  if (near.empty()) {
    for (const std::string &n : names) near += (near.empty() ? "" : ", ") + n;
  }
  d.help.push_back("it has " + near);
  raise(std::move(d));
}

void GeneratorBase::set_generator_param_values(
    const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values) set_generator_param(name, value);
}

void GeneratorBase::check_output(const driver::Port &p) const {
  for (const Func &f : p.funcs()) {
    if (!f.defined()) {
      raise(Diagnostic("L0501", p.loc(),
                       "generate() gave the output " + p.name() + " no definition"));
    }
    std::string declared, given;
    bool fits = !p.has_dims() || f.dimensions() == p.dims();
    if (!fits) {
      declared = std::to_string(p.dims()) + " dimensions";
      given = std::to_string(f.dimensions()) + " dimensions";
    } else if (p.has_types() && f.types() != p.types()) {
      fits = false;
      for (const Type &t : p.types()) declared += (declared.empty() ? "" : ", ") + to_string(t);
      for (const Type &t : f.types()) given += (given.empty() ? "" : ", ") + to_string(t);
    }
    if (fits) continue;
    raise(Diagnostic("L0501", p.loc(), "the output " + p.name() + " is not what it was declared as")
              .because("declared: " + declared)
              .because("defined: " + given, f.function()->loc));
  }
}

Pipeline GeneratorBase::build_pipeline() {
  if (built_)
    raise(Diagnostic("L0501", {}, "the generator " + registered_name_ + " is built twice"));
  built_ = true;
  driver::under_construction = this;  // configure() and generate() may make further ports
  call_configure();
  for (driver::Port *p : inputs_) p->open();
  for (driver::Port *p : outputs_) p->open();
  call_generate();
  call_schedule();
  driver::under_construction = nullptr;
  if (outputs_.empty())
    raise(Diagnostic("L0501", {}, "the generator " + registered_name_ + " has no output"));
  std::vector<Func> funcs;
  std::vector<Argument> args;
  for (const driver::Port *p : outputs_) {
    check_output(*p);
    for (const Func &f : p->funcs()) funcs.push_back(f);
  }
  for (const driver::Port *p : inputs_) {
    for (const Ref<ir::Parameter> &q : p->params()) args.emplace_back(q.get());
  }
  return Pipeline(funcs, args, registered_name_.empty() ? "pipeline" : registered_name_);
}

}  // namespace calotype
