// Generators: construction, parameters, building the Pipeline, the registry.
#include "generator.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <mutex>

#include "../ir/nodes.h"
#include "../lang/internal.h"
#include "../schedule/text.h"

namespace calotype {

namespace driver {

namespace {
/// The Generator whose members are being constructed on this thread.
thread_local GeneratorBase *under_construction = nullptr;

}  // namespace

GeneratorBase &owner_of(const std::string &member) {
  if (!under_construction) {
    raise(Diagnostic("L0501", lang::recent_position(), member + " is made outside of a Generator")
              .because("inputs, outputs and GeneratorParams are members of a class derived from "
                       "Generator"));
  }
  return *under_construction;
}

// ---- registry -----------------------------------------------------------------------------------

namespace {
struct Entry {
  const void *key;
  std::string name;
  GeneratorFactory factory;
  std::vector<std::pair<std::string, std::string>> preset;
  std::string stub;
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

GeneratorRegistration::GeneratorRegistration(const char *name, GeneratorFactory factory,
                                             const char *stub, SrcLoc at)
    : key_(this) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().entries.push_back({key_, name, factory, {}, stub, at});
}

GeneratorRegistration::GeneratorRegistration(
    const char *name, GeneratorFactory factory,
    std::vector<std::pair<std::string, std::string>> preset, SrcLoc at)
    : key_(this) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().entries.push_back({key_, name, factory, std::move(preset), {}, at});
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
  std::unique_ptr<GeneratorBase> g(entry.factory(context));
  g->set_registered_name(name);
  if (!entry.stub.empty()) g->stub_name_ = entry.stub;
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
    slot.port ? slot.port->keep_given() : slot.array->keep_given();
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
  if (folder) {
    pipeline.load_schedule(
        schedule::choose_schedule_file(schedule_, target, {}, parameter_values()));
  } else {
    schedule::check_conditions(schedule::load_schedule(schedule_), parameter_values());
    pipeline.load_schedule(schedule_);
  }
  return pipeline;
}

}  // namespace calotype
