// Param, ImageParam and the constraints of buffers.
#include "param.h"

#include "internal.h"

namespace calotype {

namespace lang {

namespace {
// Until a pipeline names it, an unnamed parameter has a name that no other one has.
void set_name(ir::Parameter &p, const std::string &name, const char *kind) {
  p.unnamed = name.empty();
  p.name = p.unnamed ? kind + std::to_string(next_id()) : name;
}
}  // namespace

Ref<ir::Parameter> make_scalar_parameter(Type t, const std::string &name, SrcLoc at) {
  Ref<ir::Parameter> p(new ir::Parameter);
  set_name(*p, name, "param_");
  p->type = t;
  p->loc = at;
  return p;
}

Expr parameter_expr(const Ref<ir::Parameter> &p) { return ir::make_var(p->name, p->type, p); }

void set_parameter_bits(ir::Parameter &p, Type given, uint64_t bits, SrcLoc at) {
  if (given != p.type) {
    Diagnostic d(
        "L0104", at,
        "the value does not fit the parameter " + p.name + " of type " + to_string(p.type));
    d.why.push_back({"the parameter", p.loc});
    raise(std::move(d));
  }
  p.bits = bits;
  p.is_set = true;
}

// ---- Dimension ----------------------------------------------------------------------------------

namespace {

Expr field(const Ref<ir::Parameter> &p, const char *name, int d) {
  return ir::make_var(p->name + "." + name + "." + std::to_string(d), Int(32), p);
}

ir::DimConstraint &constraint(ir::Parameter &p, int d) {
  if (p.dims.size() <= static_cast<size_t>(d)) p.dims.resize(d + 1);
  return p.dims[d];
}

Expr as_index(const Expr &e) {
  require_small(e, "the constraint of a buffer", recent_position());
  return e.defined() ? cast(Int(32), e) : e;
}

}  // namespace

Expr Dimension::min() const { return field(param_, "min", d_); }
Expr Dimension::extent() const { return field(param_, "extent", d_); }
Expr Dimension::stride() const { return field(param_, "stride", d_); }
Expr Dimension::max() const { return min() + extent() - 1; }
Expr Dimension::min_estimate() const { return constraint(*param_, d_).min_estimate; }
Expr Dimension::extent_estimate() const { return constraint(*param_, d_).extent_estimate; }

Dimension Dimension::set_min(const Expr &e) {
  constraint(*param_, d_).min = as_index(e);
  return *this;
}
Dimension Dimension::set_extent(const Expr &e) {
  constraint(*param_, d_).extent = as_index(e);
  return *this;
}
Dimension Dimension::set_stride(const Expr &e) {
  constraint(*param_, d_).stride = as_index(e);
  return *this;
}
Dimension Dimension::set_bounds(const Expr &min, const Expr &extent) {
  return set_min(min).set_extent(extent);
}
Dimension Dimension::set_estimate(const Expr &min, const Expr &extent) {
  constraint(*param_, d_).min_estimate = as_index(min);
  constraint(*param_, d_).extent_estimate = as_index(extent);
  return *this;
}
Dimension Dimension::dim(int i) const { return OutputImageParam(param_).dim(i); }

}  // namespace lang

// ---- OutputImageParam ---------------------------------------------------------------------------

namespace {
const Ref<ir::Parameter> &held(const Ref<ir::Parameter> &p) {
  if (!p) {
    raise(
        Diagnostic("L0101", lang::recent_position(), "an ImageParam without type and rank is used")
            .fix("make it with both: ImageParam(UInt(8), 2)"));
  }
  return p;
}
}  // namespace

const std::string &OutputImageParam::name() const { return held(param_)->name; }
Type OutputImageParam::type() const { return held(param_)->type; }
int OutputImageParam::dimensions() const { return held(param_)->dimensions; }
int OutputImageParam::host_alignment() const { return held(param_)->host_alignment; }

lang::Dimension OutputImageParam::dim(int i) const {
  if (i < 0 || i >= dimensions()) {
    raise(Diagnostic("L0105", lang::recent_position(),
                     "dimension " + std::to_string(i) + " of " + name() + ", which has " +
                         std::to_string(dimensions()))
              .because("the buffer", param_->loc));
  }
  return lang::Dimension(param_, i);
}

OutputImageParam &OutputImageParam::set_host_alignment(int bytes) {
  held(param_)->host_alignment = bytes;
  return *this;
}

OutputImageParam &OutputImageParam::set_estimates(const Region &estimates) {
  for (size_t i = 0; i < estimates.size(); i++) {
    dim(static_cast<int>(i)).set_estimate(estimates[i].min, estimates[i].extent);
  }
  return *this;
}

// ---- ImageParam ---------------------------------------------------------------------------------

ImageParam::ImageParam(Type t, int dimensions, const std::string &name, SrcLoc at) {
  lang::note_position(at);
  if (t.bits() == 0 || t.is_vector() || dimensions < 0) {
    raise(Diagnostic("L0103", at, "an ImageParam needs a scalar type and a rank of at least 0"));
  }
  param_ = new lang::ImageParameter;
  lang::set_name(*param_, name, "image_");
  param_->type = t;
  param_->is_buffer = true;
  param_->dimensions = dimensions;
  param_->dims.resize(dimensions);
  if (dimensions > 0) param_->dims[0].stride = 1;
  param_->loc = at;
}

Expr ImageParam::load(const lang::Coordinate *coords, size_t n, SrcLoc at) const {
  lang::note_position(at);
  const std::string who = held(param_)->name;
  std::vector<Expr> args =
      lang::expand_placeholder(lang::exprs_of(coords, n), dimensions(), who, at);
  return ir::make_image_call(param_->type, param_, lang::index_exprs(std::move(args), who, at));
}

Expr ImageParam::operator()(const std::vector<Expr> &coords, SrcLoc at) const {
  std::vector<lang::Coordinate> all;
  for (const Expr &e : coords) all.emplace_back(e, at);
  return load(all.data(), all.size(), at);
}

Expr ImageParam::operator()(const std::vector<Var> &coords, SrcLoc at) const {
  return (*this)(std::vector<Expr>(coords.begin(), coords.end()), at);
}

ImageParam::operator Func() const {
  Func f(name() + "_im", param_->loc);
  f(std::vector<Var>{_}, param_->loc) = (*this)(std::vector<Var>{_}, param_->loc);
  return f;
}

namespace {
std::string ranked(int n) { return std::to_string(n) + (n == 1 ? " dimension" : " dimensions"); }
}  // namespace

void ImageParam::bind(const Ref<RefCounted> &contents, SrcLoc at) {
  lang::note_position(at);
  auto *c = static_cast<lang::BufferContents *>(contents.get());
  held(param_);
  if (!c) {
    param_->buffer = nullptr;
    return;
  }
  const Type given = c->buffer.type();
  if (given != type() || c->buffer.dimensions() != dimensions()) {
    raise(Diagnostic("L0403", at, "a buffer does not fit the parameter " + name())
              .because("the parameter is " + to_string(type()) + " with " + ranked(dimensions()),
                       param_->loc)
              .because("the buffer is " + to_string(given) + " with " +
                       ranked(c->buffer.dimensions())));
  }
  param_->buffer = c;
}

Buffer<void, -1> ImageParam::get() const {
  return Buffer<void, -1>(
      Ref<lang::BufferContents>(static_cast<lang::BufferContents *>(held(param_)->buffer.get())));
}

void ImageParam::reset() { held(param_)->buffer = nullptr; }

void ImageParam::trace_loads(SrcLoc at) const {
  lang::note_position(at);
  param_->trace_loads = true;
}

}  // namespace calotype
