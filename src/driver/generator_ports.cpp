// See generator_ports.h.
#include "generator_ports.h"

#include <algorithm>

#include "../ir/nodes.h"
#include "../lang/internal.h"
#include "generator.h"

namespace calotype::driver {

Port::Port(const std::string &name, Kind kind, bool is_output, Type type, int dimensions, SrcLoc at)
    : name_(name),
      kind_(kind),
      is_output_(is_output),
      types_fixed_(type.bits() != 0),
      dims_fixed_(dimensions >= 0),
      dims_(dimensions),
      loc_(at),
      owner_(&owner_of(name)) {
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
       (given_ ? "it was asked for as " : "it is declared as ") + listed(types_));
  types_ = std::move(t);
}
void Port::set_dimensions(int d) {
  need(!dims_fixed_ || d == dims_,
       "the rank of " + name_ + " cannot be set to " + std::to_string(d),
       (given_ ? "it was asked for as " : "it is declared as ") + std::to_string(dims_));
  dims_ = d;
}
void Port::keep_given() {
  given_ = given_ || (!types_fixed_ && has_types()) || (!dims_fixed_ && has_dims());
  types_fixed_ = has_types();
  dims_fixed_ = has_dims();
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
    : name_(name.text), loc_(name.at), owner_(&owner_of(name.text)), size_(size) {
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
    if (given_) ports_.back()->keep_given();
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
  for (Port *p : ports_) p->set_types(t);
  if (given_ && !types_.empty() && types_ != t) {
    raise(Diagnostic("L0501", loc_, "the type of " + name_ + " cannot be set to " + listed(t))
              .because("it was asked for as " + listed(types_)));
  }
  types_ = t;
}
void PortArrayBase::set_dimensions(int d) {
  for (Port *p : ports_) p->set_dimensions(d);
  if (given_ && dims_ >= 0 && dims_ != d) {
    raise(
        Diagnostic("L0501", loc_, "the rank of " + name_ + " cannot be set to " + std::to_string(d))
            .because("it was asked for as " + std::to_string(dims_)));
  }
  dims_ = d;
}
void PortArrayBase::keep_given() {
  given_ = true;
  for (Port *p : ports_) p->keep_given();
}

}  // namespace calotype::driver
