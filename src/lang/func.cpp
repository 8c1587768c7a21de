// Func and FuncRef: building definitions and asking about them.
#include "func.h"

#include "../ir/visit.h"
#include "internal.h"
#include "later.h"

namespace calotype {

namespace lang {

Directives::~Directives() = default;

std::string shown_name(const ir::FunctionBody &f) {
  return f.name.empty() ? "(unnamed Func)" : f.name;
}

void refuse_later(const std::string &what, SrcLoc at) {
  raise(Diagnostic("L0901", at, what + " is not available yet"));
}

namespace {

Ref<RefCounted> make_body(const std::string &name, SrcLoc at) {
  auto *body = new ir::FunctionBody;
  body->id = next_id();
  body->name = name;
  body->loc = at;
  note_position(at);
  return body;
}

Expr combine(Update op, const Expr &a, const Expr &b) {
  switch (op) {
    case Update::Add: return a + b;
    case Update::Sub: return a - b;
    case Update::Mul: return a * b;
    case Update::Div: return a / b;
  }
  return {};
}

/// The value that an undefined Func has before `f(...) op= e`.
Expr neutral(Update op, Type t) {
  return op == Update::Add || op == Update::Sub ? ir::make_zero(t) : ir::make_one(t);
}

/// The left side of the definition that an undefined Func gets before `f(args) op= values`.
std::vector<Expr> initial_args(const std::vector<Expr> &args, const std::vector<Expr> &values) {
  std::vector<Expr> result;
  int implicit = 0;
  for (const Expr &root : values) {
    ir::require_defined(root, "the right side of a definition", recent_position());
    ir::for_each_expr(root, [&](const Expr &e) {
      const ir::Variable *v = e.as<ir::Variable>();
      if (v && !v->param && Var::is_implicit(v->name.str())) {
        implicit = std::max(implicit, 1 + std::atoi(v->name.c_str() + 1));
      }
    });
  }
  for (const Expr &e : args) {
    const ir::Variable *v = e.as<ir::Variable>();
    if (!v || v->param) {
      result.push_back(Var());
    } else if (v->name == "_") {
      for (int i = 0; i < implicit; i++) result.push_back(Var::implicit(i));
    } else {
      result.push_back(e);
    }
  }
  return result;
}

void need_definition(const ir::FunctionBody &f, const char *what, SrcLoc at) {
  if (f.defined()) return;
  raise(
      Diagnostic("L0201", at, std::string(what) + " of " + shown_name(f) + " before it is defined")
          .because("the Func", f.loc));
}

}  // namespace
}  // namespace lang

using lang::body_of;

// ---- FuncTupleElementRef ------------------------------------------------------------------------

FuncTupleElementRef::FuncTupleElementRef(const FuncRef &ref, int index)
    : body_(ref.body_), args_(ref.args_), loc_(ref.loc_), index_(index) {}

FuncTupleElementRef::operator Expr() const {
  if (index_ < 0) {
    raise(
        Diagnostic("L0212", loc_,
                   "value " + std::to_string(index_) + " of " + lang::shown_name(body_of(body_))));
  }
  return lang::call_func(body_, args_, index_, loc_);
}

Stage FuncTupleElementRef::assign(const Expr &e) {
  std::vector<Expr> values;
  lang::need_definition(body_of(body_), "an assignment to one value", loc_);
  for (size_t i = 0; i < body_of(body_).types.size(); i++) {
    const bool own = static_cast<int>(i) == index_;
    values.push_back(own ? e : lang::call_func(body_, args_, static_cast<int>(i), loc_));
  }
  if (index_ < 0 || index_ >= static_cast<int>(values.size())) {
    raise(Diagnostic("L0212", loc_,
                     "an assignment to value " + std::to_string(index_) + " of " +
                         lang::shown_name(body_of(body_)) + ", which has " +
                         std::to_string(values.size())));
  }
  return Stage(body_, lang::define(body_of(body_), args_, values, loc_));
}

Stage FuncTupleElementRef::operator=(const Expr &e) { return assign(e); }
Stage FuncTupleElementRef::operator=(const FuncRef &e) { return assign(e); }
Stage FuncTupleElementRef::operator+=(const Expr &e) { return assign(Expr(*this) + e); }
Stage FuncTupleElementRef::operator-=(const Expr &e) { return assign(Expr(*this) - e); }
Stage FuncTupleElementRef::operator*=(const Expr &e) { return assign(Expr(*this) * e); }
Stage FuncTupleElementRef::operator/=(const Expr &e) { return assign(Expr(*this) / e); }

// ---- FuncRef ------------------------------------------------------------------------------------

FuncRef::FuncRef(Ref<RefCounted> body, const lang::Coordinate *coords, size_t n, SrcLoc at)
    : body_(std::move(body)), args_(lang::exprs_of(coords, n)), loc_(at) {
  lang::note_position(at);
}

FuncRef::operator Expr() const { return lang::call_func(body_, args_, -1, loc_); }

size_t FuncRef::size() const {
  lang::need_definition(body_of(body_), "the number of values", loc_);
  return body_of(body_).types.size();
}

Ref<ir::FunctionBody> FuncRef::function() const { return lang::body_ref(body_); }

Tuple::Tuple(const FuncRef &f) {
  for (size_t i = 0; i < f.size(); i++) exprs_.push_back(f[static_cast<int>(i)]);
}

Stage FuncRef::operator=(const Expr &e) {
  return Stage(body_, lang::define(body_of(body_), args_, {e}, loc_));
}
Stage FuncRef::operator=(const Tuple &e) {
  return Stage(body_, lang::define(body_of(body_), args_, e.as_vector(), loc_));
}
Stage FuncRef::operator=(const FuncRef &e) {
  if (body_of(e.body_).types.size() > 1) return *this = Tuple(e);
  return *this = Expr(e);
}

Stage FuncRef::update(lang::Update op, const std::vector<Expr> &values) {
  ir::FunctionBody &f = body_of(body_);
  if (!f.defined()) {
    std::vector<Expr> init;
    const std::vector<Expr> args = lang::initial_args(args_, values);
    for (const Expr &e : values) init.push_back(lang::neutral(op, e.type()));
    lang::define(f, args, init, loc_);
  }
  if (values.size() != f.types.size()) {
    raise(Diagnostic("L0208", loc_,
                     "an update of " + lang::shown_name(f) + " has " +
                         std::to_string(values.size()) + " values, the Func " +
                         std::to_string(f.types.size()))
              .because("the Func", f.loc));
  }
  std::vector<Expr> results;
  for (size_t i = 0; i < values.size(); i++) {
    const Expr self = lang::call_func(body_, args_, static_cast<int>(i), loc_);
    results.push_back(lang::combine(op, self, values[i]));
  }
  return Stage(body_, lang::define(f, args_, results, loc_));
}

Stage FuncRef::operator+=(const Expr &e) { return update(lang::Update::Add, {e}); }
Stage FuncRef::operator-=(const Expr &e) { return update(lang::Update::Sub, {e}); }
Stage FuncRef::operator*=(const Expr &e) { return update(lang::Update::Mul, {e}); }
Stage FuncRef::operator/=(const Expr &e) { return update(lang::Update::Div, {e}); }
Stage FuncRef::operator+=(const Tuple &e) { return update(lang::Update::Add, e.as_vector()); }
Stage FuncRef::operator-=(const Tuple &e) { return update(lang::Update::Sub, e.as_vector()); }
Stage FuncRef::operator*=(const Tuple &e) { return update(lang::Update::Mul, e.as_vector()); }
Stage FuncRef::operator/=(const Tuple &e) { return update(lang::Update::Div, e.as_vector()); }
Stage FuncRef::operator+=(const FuncRef &e) { return *this += Tuple(e); }
Stage FuncRef::operator-=(const FuncRef &e) { return *this -= Tuple(e); }
Stage FuncRef::operator*=(const FuncRef &e) { return *this *= Tuple(e); }
Stage FuncRef::operator/=(const FuncRef &e) { return *this /= Tuple(e); }

// ---- Func ---------------------------------------------------------------------------------------

Func::Func(const std::string &name, SrcLoc at) : body_(lang::make_body(name, at)) {}

Func::Func(Type type, int dimensions, const std::string &name, SrcLoc at)
    : Func(std::vector<Type>{type}, dimensions, name, at) {}

Func::Func(const std::vector<Type> &types, int dimensions, const std::string &name, SrcLoc at)
    : Func(name, at) {
  body_of(body_).required_types = types;
  body_of(body_).required_dimensions = dimensions;
}

Func::Func(const Expr &e, SrcLoc at) : Func(std::string(), at) {
  (*this)(std::vector<Var>{_}, at) = e;
}

Func::Func(Ref<ir::FunctionBody> body) : body_(body.get()) {}

FuncRef Func::operator()(const std::vector<Var> &coords, SrcLoc at) const {
  return (*this)(std::vector<Expr>(coords.begin(), coords.end()), at);
}

FuncRef Func::operator()(const std::vector<Expr> &coords, SrcLoc at) const {
  std::vector<lang::Coordinate> all;
  for (const Expr &e : coords) all.emplace_back(e, at);
  return FuncRef(body_, all.data(), all.size(), at);
}

std::string Func::name() const { return body_of(body_).name; }

std::vector<Var> Func::args() const {
  std::vector<Var> vars;
  for (const Expr &e : defined() ? body_of(body_).definitions[0].args : std::vector<Expr>()) {
    vars.emplace_back(lang::var_of(e));
  }
  return vars;
}

int Func::dimensions() const { return body_of(body_).dimensions(); }
bool Func::defined() const { return body_of(body_).defined(); }

Type Func::type() const {
  if (types().size() != 1) {
    raise(Diagnostic("L0212", lang::recent_position(),
                     "the type of " + lang::shown_name(body_of(body_)) + ", which has " +
                         std::to_string(types().size()) + " values"));
  }
  return types()[0];
}

const std::vector<Type> &Func::types() const {
  const ir::FunctionBody &f = body_of(body_);
  if (!f.defined() && !f.required_types.empty()) return f.required_types;
  lang::need_definition(f, "the type", lang::recent_position());
  return f.types;
}

int Func::outputs() const { return static_cast<int>(types().size()); }

Expr Func::value() const {
  const Tuple all = values();
  if (all.size() != 1) {
    raise(Diagnostic("L0212", lang::recent_position(),
                     "the value of a Func of several values: use values()"));
  }
  return all[0];
}

Tuple Func::values() const {
  lang::need_definition(body_of(body_), "the value", lang::recent_position());
  return Tuple(body_of(body_).definitions[0].values);
}

namespace {
const ir::Definition &update_of(const Ref<RefCounted> &body, int i) {
  const ir::FunctionBody &f = body_of(body);
  if (i < 0 || i + 1 >= static_cast<int>(f.definitions.size())) {
    const size_t n = f.definitions.empty() ? 0 : f.definitions.size() - 1;
    raise(Diagnostic("L0203", lang::recent_position(),
                     lang::shown_name(f) + " has no update definition " + std::to_string(i))
              .because("it has " + std::to_string(n) + " update definitions", f.loc));
  }
  return f.definitions[i + 1];
}
}  // namespace

std::vector<Expr> Func::update_args(int i) const { return update_of(body_, i).args; }
Tuple Func::update_values(int i) const { return Tuple(update_of(body_, i).values); }
Expr Func::update_value(int i) const { return update_of(body_, i).values[0]; }

std::vector<RVar> Func::rvars(int i) const {
  std::vector<RVar> result;
  for (const ir::ReductionVariable &v : update_of(body_, i).rvars) result.emplace_back(v.var.str());
  return result;
}

int Func::num_update_definitions() const {
  return defined() ? static_cast<int>(body_of(body_).definitions.size()) - 1 : 0;
}

Ref<ir::FunctionBody> Func::function() const { return lang::body_ref(body_); }

Stage Func::update(int i, SrcLoc at) {
  lang::note_position(at);
  update_of(body_, i);
  return Stage(body_, i + 1);
}

OutputImageParam Func::output_buffer(SrcLoc at) const {
  const std::vector<OutputImageParam> all = output_buffers(at);
  if (all.size() != 1) {
    raise(Diagnostic("L0212", at,
                     "output_buffer() of a Func of several values: use output_buffers()"));
  }
  return all[0];
}

std::vector<OutputImageParam> Func::output_buffers(SrcLoc at) const {
  lang::need_definition(body_of(body_), "the output buffer", at);
  std::vector<OutputImageParam> result;
  for (const Ref<ir::Parameter> &p : ir::output_parameters(body_of(body_))) result.emplace_back(p);
  return result;
}

Func &Func::set_estimate(const Var &v, const Expr &min, const Expr &extent, SrcLoc at) {
  lang::note_position(at);
  const ir::FunctionBody &f = body_of(body_);
  for (size_t i = 0; i < f.args.size(); i++) {
    if (f.args[i] != v.name()) continue;
    for (OutputImageParam &p : output_buffers(at))
      p.dim(static_cast<int>(i)).set_estimate(min, extent);
    return *this;
  }
  raise(Diagnostic("L0205", at, lang::shown_name(f) + " has no dimension " + v.name())
            .because("the Func", f.loc));
}

Func &Func::set_estimates(const Region &estimates, SrcLoc at) {
  lang::note_position(at);
  for (OutputImageParam &p : output_buffers(at)) p.set_estimates(estimates);
  return *this;
}

// ---- refused ------------------------------------------------------------------------------------

void Func::refuse(const char *what, const std::string &detail) const {
  lang::refuse_later(std::string(what) + (detail.empty() ? "" : "(\"" + detail + "\")"),
                     lang::recent_position());
}
Func Func::copy_to_device(DeviceAPI, SrcLoc at) { lang::refuse_later("Func::copy_to_device", at); }
Func Func::copy_to_host(SrcLoc at) { lang::refuse_later("Func::copy_to_host", at); }
void Func::debug_to_file(const std::string &, SrcLoc at) {
  lang::refuse_later("Func::debug_to_file", at);
}

}  // namespace calotype
