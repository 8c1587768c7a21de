// Generators: construction, parameters, building the Pipeline, the registry.
#include "generator.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "../ir/nodes.h"
#include "../lang/internal.h"
#include "../schedule/text.h"

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
  GeneratorBase &g = current(name);
  g.claim(name, lang::recent_position());
  g.params_.push_back(this);
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
std::string legal_types() {
  return "bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, "
         "float32, "
         "float64";
}
bool parse_value(const std::string &text, Type *value) {
  const Type t = parse_type(text);  // programs as text know more types: u9, vectors
  const int bits = t.bits();
  const bool word = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (t.lanes() != 1 || t.is_handle() || !(word || t.is_bool())) return false;
  *value = t;
  return true;
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
std::string print_value(const LoopLevel &v) {
  return v.is_root()      ? "root"
         : v.is_inlined() ? "inlined"
         : v.defined()    ? "at a loop"
                          : "undefined";
}
std::string print_value(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", v);
  return text;
}

// ---- ports --------------------------------------------------------------------------------------

Port::Port(const std::string &name, Kind kind, bool is_output, Type type, int dimensions, SrcLoc at)
    : name_(name),
      kind_(kind),
      is_output_(is_output),
      types_fixed_(type.bits() != 0),
      dims_fixed_(dimensions >= 0),
      dims_(dimensions),
      loc_(at),
      owner_(&current(name)) {
  if (types_fixed_) types_.push_back(type);
  owner_->claim(name, at);
  if (owner_->filling_) return;  // the array that this is an element of stands for it
  (is_output ? owner_->output_slots_ : owner_->input_slots_).push_back({this, nullptr});
  owner_->spread();
}
Port::~Port() = default;
void Port::open() {}
std::vector<Ref<ir::Parameter>> Port::params() const { return {}; }
std::vector<Func> Port::funcs() const { return {}; }

void Port::need(bool ok, const std::string &what, const std::string &why) const {
  if (!ok) raise(Diagnostic("L0501", loc_, what).because(why));
}

void Port::bind(const BoundInput &) {}

namespace {
std::string listed(const std::vector<Type> &types) {
  std::string text;
  for (const Type &t : types) text += (text.empty() ? "" : ", ") + calotype::to_string(t);
  return text;
}
}  // namespace

void Port::set_types(std::vector<Type> t) {
  need(!types_fixed_ || t == types_, "the type of " + name_ + " cannot be set to " + listed(t),
       "it is declared as " + listed(types_));
  types_ = std::move(t);
}
void Port::set_dimensions(int d) {
  need(!dims_fixed_ || d == dims_,
       "the rank of " + name_ + " cannot be set to " + std::to_string(d),
       "it is declared as " + std::to_string(dims_));
  dims_ = d;
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
  if (bound_ || image_.defined()) return;
  const Type t = type();
  image_ = ImageParam(t, dims(), name_, loc_);
}

const ImageParam &InputImage::image() const {
  if (!bound_ && !image_.defined() && has_types() && has_dims())
    const_cast<InputImage *>(this)->open();
  need(!bound_ || image_.defined(), "the size of the input " + name_ + " is not known",
       "it was given a Func, which is defined everywhere");
  need(image_.defined(), "the input " + name_ + " is used too early",
       "its type and rank are still open");
  return image_;
}

std::vector<Ref<ir::Parameter>> InputImage::params() const {
  if (bound_) return {};
  return {image().parameter()};
}

void InputImage::bind(const BoundInput &value) {
  need(!value.scalar.defined(), "the input " + name_ + " is given a number",
       "it takes a Func, an ImageParam, a Buffer or an input");
  const std::vector<Type> given =
      value.image.defined() ? std::vector<Type>{value.image.type()} : value.func.types();
  const int rank = value.image.defined() ? value.image.dimensions() : value.func.dimensions();
  set_types(given);
  set_dimensions(rank);
  image_ = value.image;
  func_ = value.func;
  bound_ = true;
}

Expr InputImage::load(const lang::Coordinate *coords, size_t n, SrcLoc at) const {
  return (*this)(lang::exprs_of(coords, n), at);
}
Expr InputImage::operator()(const std::vector<Expr> &coords, SrcLoc at) const {
  if (bound_ && !image_.defined()) return func_(coords, at);
  return image()(coords, at);
}
Expr InputImage::operator()(const std::vector<Var> &coords, SrcLoc at) const {
  return (*this)(std::vector<Expr>(coords.begin(), coords.end()), at);
}
Func InputImage::in(SrcLoc at) const {
  if (bound_ && !image_.defined()) return func_.in(at);
  return image().in(at);
}

Func InputImage::in(const Func &consumer, SrcLoc at) const {
  return in(std::vector<Func>{consumer}, at);
}
Func InputImage::in(const std::vector<Func> &consumers, SrcLoc at) const {
  if (bound_ && !image_.defined()) return func_.in(consumers, at);
  return image().in(consumers, at);
}

InputImage::operator Func() const {
  if (!func_.defined()) func_ = image();
  return func_;
}

BoundaryConditions::Source InputImage::boundary_source() const {
  if (bound_ && !image_.defined()) return BoundaryConditions::Source(func_);
  return BoundaryConditions::Source(image(), loc());
}

BoundInput::BoundInput(const Func &f) : func(f) {
  if (f.defined()) return;
  raise(Diagnostic("L0201", f.function()->loc, "apply() is given a Func without a definition"));
}
BoundInput::BoundInput(const ImageParam &p) : image(p) {}
BoundInput::BoundInput(const InputImage &input) : image(input.image_) {
  if (input.bound_ && !image.defined()) func = input.func_;
  if (!input.bound_) image = input.image();
}
BoundInput::~BoundInput() = default;

ImageParam BoundInput::of_load(const Expr &load) {
  const ir::Call *call = load.as<ir::Call>();
  CALO_ASSERT(call && call->param, "a load from a Buffer");
  return ImageParam(Ref<ir::Parameter>(const_cast<ir::Parameter *>(call->param.get())));
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
namespace {
/// Constants are what C++ writes them as: 1 for a float is 1.0.
bool is_constant_of(const Expr &e, const Type &t) {
  if (const auto *i = e.as<ir::IntImm>()) return t.can_represent(i->value);
  if (const auto *u = e.as<ir::UIntImm>()) return t.can_represent(u->value);
  if (const auto *f = e.as<ir::FloatImm>()) return t.is_float() || t.can_represent(f->value);
  return false;
}
}  // namespace

void InputScalar::bind(const BoundInput &value) {
  const std::string mine = calotype::to_string(type());
  need(value.scalar.defined(), "the input " + name_ + " is given a Func",
       "it takes a number or an Expr of type " + mine);
  const Expr &e = value.scalar;
  const bool same = e.type() == type();
  need(same || is_constant_of(e, type()),
       "the input " + name_ + " is given a value of type " + calotype::to_string(e.type()),
       "it takes " + mine);
  bound_ = same ? e : cast(type(), e);
}
std::vector<Ref<ir::Parameter>> InputScalar::params() const {
  if (bound_.defined()) return {};
  return {param_};
}

void InputScalar::set_estimate(const Expr &e) { param_->estimate = cast(type(), e); }

OutputFunc::OutputFunc(const std::string &name, Kind kind, Type type, int dimensions, SrcLoc at)
    : Port(name, kind, true, type, dimensions, at), Func(name, at) {}
OutputFunc::OutputFunc(const std::string &name, Kind kind, const std::vector<Type> &types,
                       int dimensions, SrcLoc at)
    : OutputFunc(name, kind, Type(), dimensions, at) {
  types_ = types;
  types_fixed_ = !types.empty();
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
  const auto &outputs = owner_->outputs();
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

// ---- arrays -------------------------------------------------------------------------------------

PortArrayBase::PortArrayBase(const Named &name, bool is_output, int size)
    : name_(name.text), loc_(name.at), owner_(&current(name.text)), size_(size) {
  owner_->claim(name_, loc_);
  (is_output ? owner_->output_slots_ : owner_->input_slots_).push_back({nullptr, this});
}
PortArrayBase::~PortArrayBase() = default;

size_t PortArrayBase::size() const {
  if (size_ < 0) {
    raise(
        Diagnostic("L0501", loc_, "the size of " + name_ + " is not known")
            .fix(name_ + ".size=N on the command line, or " + name_ + ".resize(n) in configure()"));
  }
  return static_cast<size_t>(size_);
}

void PortArrayBase::fill() {
  if (size_ < 0 || ports_.size() == static_cast<size_t>(size_)) return;
  const ConstructionScope scope(owner_);
  owner_->filling_ = this;
  for (int i = 0; i < size_; i++) {
    ports_.push_back(make(name_ + "_" + std::to_string(i)));
    if (!types_.empty()) ports_.back()->set_types(types_);
    if (dims_ >= 0) ports_.back()->set_dimensions(dims_);
  }
  owner_->filling_ = nullptr;
  owner_->spread();
}

void PortArrayBase::resize(size_t n) {
  if (size_ >= 0 && static_cast<size_t>(size_) != n) {
    raise(
        Diagnostic("L0501", loc_, "the size of " + name_ + " cannot be set to " + std::to_string(n))
            .because("it is " + std::to_string(size_) + " already"));
  }
  size_ = static_cast<int>(n);
  fill();
}

void PortArrayBase::set_types(const std::vector<Type> &t) {
  types_ = t;
  for (Port *p : ports_) p->set_types(t);
}
void PortArrayBase::set_dimensions(int d) {
  dims_ = d;
  for (Port *p : ports_) p->set_dimensions(d);
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
}

namespace driver {
ConstructionScope::ConstructionScope(GeneratorBase *g) : before_(under_construction) {
  if (g) under_construction = g;
}
ConstructionScope::~ConstructionScope() { under_construction = before_; }
}  // namespace driver

/// Members are told apart by name, on command lines and as C parameters.
void GeneratorBase::claim(const std::string &name, SrcLoc at) {
  const bool word = !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
                    std::all_of(name.begin(), name.end(),
                                [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (!word) {
    raise(Diagnostic("L0501", at, "\"" + name + "\" is no name for a member of a Generator")
              .because("names are C identifiers: letters, digits and underscores"));
  }
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    raise(Diagnostic("L0501", at, name + " is declared twice")
              .because("parameters, inputs and outputs are told apart by name"));
  }
  names_.push_back(name);
}

/// Lists ports in the order of their declaration, arrays element by element.
void GeneratorBase::spread() {
  inputs_.clear();
  outputs_.clear();
  for (const bool output : {false, true}) {
    std::vector<driver::Port *> &all = output ? outputs_ : inputs_;
    for (const Slot &s : output ? output_slots_ : input_slots_) {
      if (s.port) all.push_back(s.port);
      if (s.array) all.insert(all.end(), s.array->ports().begin(), s.array->ports().end());
    }
  }
}

// ---- parameters by name -------------------------------------------------------------------------

namespace {

[[noreturn]] void refuse_value(const std::string &name, const std::string &value,
                               const std::string &expected) {
  raise(Diagnostic("L0502", {}, name + " cannot be \"" + value + "\"")
            .because("it takes " + expected));
}

/// "uint8", or "uint8,float32" for a Tuple.
std::vector<Type> parse_types(const std::string &name, const std::string &text) {
  std::vector<Type> types;
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    Type t;
    if (!driver::parse_value(text.substr(start, comma - start), &t)) {
      refuse_value(name, text, "a type: " + driver::legal_types());
    }
    types.push_back(t);
    start = comma + 1;
  }
  return types;
}

int parse_count(const std::string &name, const std::string &text, int most) {
  long long n = 0;
  if (!driver::parse_value(text, &n) || n < 0 || n > most) {
    refuse_value(name, text, "a whole number from 0 to " + std::to_string(most));
  }
  return static_cast<int>(n);
}

constexpr int kMostPorts = 1024;
constexpr int kMostRank = 64;

}  // namespace

/// True if `name` is that of a field of this port.
bool GeneratorBase::set_port_param(const Slot &slot, const std::string &name,
                                   const std::string &value) {
  const std::string port = slot.port ? slot.port->name() : slot.array->name();
  const bool type = name == port + ".type", dim = name == port + ".dim";
  const bool size = slot.array && name == port + ".size";
  if (!type && !dim && !size) return false;
  try {
    if (type && slot.port) slot.port->set_types(parse_types(name, value));
    if (type && slot.array) slot.array->set_types(parse_types(name, value));
    if (dim && slot.port) slot.port->set_dimensions(parse_count(name, value, kMostRank));
    if (dim && slot.array) slot.array->set_dimensions(parse_count(name, value, kMostRank));
    if (size) slot.array->resize(static_cast<size_t>(parse_count(name, value, kMostPorts)));
  } catch (const Error &e) {  // the declaration says otherwise: here that is a bad value
    Diagnostic d = e.diagnostic();
    d.code = "L0502";
    raise(std::move(d));
  }
  return true;
}

void GeneratorBase::set_generator_param(const std::string &name, const std::string &value) {
  std::vector<std::string> names;
  for (driver::ParamBase *p : params_) {
    if (p->name() == name) return p->set_from_string(value);
    names.push_back(p->name());
  }
  for (const auto *slots : {&input_slots_, &output_slots_}) {
    for (const Slot &s : *slots) {
      if (set_port_param(s, name, value)) return;
    }
  }
  if (name == "schedule") {
    schedule_ = value;
    return;
  }
  if (name == "autoscheduler" || name.rfind("autoscheduler.", 0) == 0) {
    raise(Diagnostic("L0901", {}, name + "=" + value + ": there is no autoscheduler yet")
              .fix("schedule=FILE or schedule=FOLDER uses a schedule that was written"));
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

bool GeneratorBase::has_generator_param(const std::string &name) const {
  if (name == "schedule" || name == "autoscheduler" || name.rfind("autoscheduler.", 0) == 0) {
    return true;
  }
  for (const driver::ParamBase *p : params_) {
    if (p->name() == name) return true;
  }
  for (const auto *slots : {&input_slots_, &output_slots_}) {
    for (const Slot &s : *slots) {
      const std::string port = s.port ? s.port->name() : s.array->name();
      if (name == port + ".type" || name == port + ".dim") return true;
      if (s.array && name == port + ".size") return true;
    }
  }
  return false;
}

std::vector<std::pair<std::string, std::string>> GeneratorBase::parameter_values() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const driver::ParamBase *p : params_) {
    if (p->name() != "target") all.emplace_back(p->name(), p->to_string());
  }
  return all;
}

void GeneratorBase::set_generator_param_values(
    const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values) set_generator_param(name, value);
}

// ---- running ------------------------------------------------------------------------------------

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

void GeneratorBase::bind_slot(const Slot &slot, const std::vector<driver::BoundInput> &values) {
  if (slot.array) {
    slot.array->resize(values.size());
    for (size_t i = 0; i < values.size(); i++) slot.array->ports()[i]->bind(values[i]);
    return;
  }
  if (values.size() != 1) {
    raise(Diagnostic("L0501", slot.port->loc(),
                     "the input " + slot.port->name() + " is given " +
                         std::to_string(values.size()) + " values")
              .because("it is no array"));
  }
  slot.port->bind(values[0]);
}

void GeneratorBase::run_stages(const std::vector<std::vector<driver::BoundInput>> *values) {
  if (built_)
    raise(Diagnostic("L0501", {}, "the generator " + registered_name_ + " is built twice"));
  built_ = true;
  const driver::ConstructionScope scope(this);  // configure() and generate() may make further ports
  call_configure();
  if (values) {
    if (values->size() != input_slots_.size()) {
      raise(Diagnostic("L0501", lang::recent_position(),
                       "apply() with " + std::to_string(values->size()) + " values")
                .because("the generator has " + std::to_string(input_slots_.size()) + " inputs"));
    }
    for (size_t i = 0; i < values->size(); i++) bind_slot(input_slots_[i], (*values)[i]);
  }
  for (const auto *slots : {&input_slots_, &output_slots_}) {
    for (const Slot &s : *slots) {
      if (s.array) s.array->size();  // throws while open
    }
  }
  for (driver::Port *p : inputs_) p->open();
  for (driver::Port *p : outputs_) p->open();
  call_generate();
  call_schedule();
  if (outputs_.empty())
    raise(Diagnostic("L0501", {}, "the generator " + registered_name_ + " has no output"));
  for (const driver::Port *p : outputs_) check_output(*p);
}

void GeneratorBase::apply_inputs(const std::vector<std::vector<driver::BoundInput>> &values) {
  run_stages(&values);
}

Pipeline GeneratorBase::build_pipeline() {
  run_stages(nullptr);
  std::vector<Func> funcs;
  std::vector<Argument> args;
  for (const driver::Port *p : outputs_) {
    for (const Func &f : p->funcs()) funcs.push_back(f);
  }
  for (const driver::Port *p : inputs_) {
    for (const Ref<ir::Parameter> &q : p->params()) args.emplace_back(q.get());
  }
  Pipeline pipeline(funcs, args, registered_name_.empty() ? "pipeline" : registered_name_);
  if (schedule_.empty()) return pipeline;
  std::error_code error;
  const bool folder = std::filesystem::is_directory(schedule_, error);
  pipeline.load_schedule(
      folder ? schedule::choose_schedule_file(schedule_, target, {}, parameter_values())
             : schedule_);
  return pipeline;
}

}  // namespace calotype
