// Ready-made Funcs: inline reductions, edges of images, lambda.
#include "prelude.h"

#include "../ir/visit.h"
#include "internal.h"

namespace calotype {

namespace lang {
namespace {

enum class Reduce { Sum, Product, Maximum, Minimum, SaturatingSum, ArgMax, ArgMin };

const char *reduce_name(Reduce op) {
  switch (op) {
    case Reduce::Sum: return "sum";
    case Reduce::Product: return "product";
    case Reduce::Maximum: return "maximum";
    case Reduce::Minimum: return "minimum";
    case Reduce::SaturatingSum: return "saturating_sum";
    case Reduce::ArgMax: return "argmax";
    case Reduce::ArgMin: return "argmin";
  }
  return "";
}

/// The value before any point of the domain has been seen.
Expr initial_value(Reduce op, Type t) {
  switch (op) {
    case Reduce::Product: return ir::make_one(t);
    case Reduce::Maximum:
    case Reduce::ArgMax: return t.min();
    case Reduce::Minimum:
    case Reduce::ArgMin: return t.max();
    default: return ir::make_zero(t);
  }
}

Expr step(Reduce op, const Expr &so_far, const Expr &e) {
  switch (op) {
    case Reduce::Sum: return so_far + e;
    case Reduce::Product: return so_far * e;
    case Reduce::Maximum: return max(so_far, e);
    case Reduce::Minimum: return min(so_far, e);
    case Reduce::SaturatingSum: return saturating_add(so_far, e);
    default: return {};
  }
}

/// The expression of an inline reduction, its free variables turned into the new Func's dimensions.
class Reduction {
public:
  Reduction(Reduce op, const Ref<ir::ReductionDomain> &given, const Expr &e, const Func &f,
            SrcLoc at)
      : op_(op), e_(e), f_(f), at_(at) {
    note_position(at);
    ir::require_defined(e, (std::string("the argument of ") + reduce_name(op)).c_str(), at);
    domain_ = given ? given : inferred();
    find_free_variables();
  }

  Expr single() {
    FuncRef left = f_(dimensions_, at_);
    left = initial_value(op_, e_.type());
    const Expr so_far = call_func(f_.function().get(), dimension_exprs(), 0, at_);
    define_update({step(op_, so_far, e_)});
    return call_func(f_.function().get(), outer_, 0, at_);
  }

  Tuple with_place() {
    std::vector<Expr> start, found;
    for (size_t i = 0; i < domain_->vars.size(); i++) {
      start.push_back(ir::make_zero(Int(32)));
      found.push_back(ir::make_var(domain_->vars[i].var));
    }
    start.push_back(initial_value(op_, e_.type()));
    found.push_back(e_);
    f_(dimensions_, at_) = Tuple(start);
    const auto so_far = [&](size_t i) {
      return call_func(f_.function().get(), dimension_exprs(), static_cast<int>(i), at_);
    };
    const Expr best = so_far(found.size() - 1);
    const Expr better = op_ == Reduce::ArgMax ? e_ > best : e_ < best;
    std::vector<Expr> values;
    for (size_t i = 0; i < found.size(); i++) values.push_back(select(better, found[i], so_far(i)));
    define_update(values);
    std::vector<Expr> results;
    for (size_t i = 0; i < found.size(); i++) {
      results.push_back(call_func(f_.function().get(), outer_, static_cast<int>(i), at_));
    }
    return Tuple(results);
  }

private:
  Ref<ir::ReductionDomain> inferred() const {
    Ref<ir::ReductionDomain> domain;
    for (const ir::ReductionLink *link : links_in({e_})) {
      if (domain && !domain.same_as(link->domain)) {
        raise(
            Diagnostic("L0207", at_,
                       std::string(reduce_name(op_)) + " of an expression with RVars of two RDoms")
                .because("one RDom", domain->loc)
                .because("the other", link->domain->loc)
                .fix("say which one: " + std::string(reduce_name(op_)) + "(r, e)"));
      }
      domain = link->domain;
    }
    if (!domain) {
      raise(Diagnostic("L0301", at_,
                       std::string(reduce_name(op_)) + " of an expression without an RVar")
                .because("an inline reduction walks over the RDom whose RVars its expression uses")
                .fix("use an RVar, or name the RDom: " + std::string(reduce_name(op_)) + "(r, e)"));
    }
    return domain;
  }

  /// Vars, and RVars of other RDoms, become dimensions; the call passes them on.
  void find_free_variables() {
    e_ = drop_links(e_, domain_.get());
    ir::Substitution inner;
    std::vector<Expr> roots{e_};
    if (domain_->predicate.defined()) roots.push_back(domain_->predicate);
    for (const Expr &root : roots) {
      ir::for_each_expr(root, [&](const Expr &x) { note_variable(x, inner); });
    }
    if (!inner.empty()) {
      e_ = ir::replace(e_, [&](const Expr &x) -> Expr {
        const ir::ReductionLink *link = link_of(x);
        return link ? inner.at(link->domain->vars[link->index].var) : Expr();
      });
    }
  }

  void note_variable(const Expr &x, ir::Substitution &inner) {
    const ir::Variable *v = x.as<ir::Variable>();
    if (!v || v->name == "$random") return;
    const ir::ReductionLink *link = link_of(x);
    if (v->param && !link) return;
    if (!link) {
      for (const ir::ReductionVariable &r : domain_->vars) {
        if (r.var == v->name) return;
      }
    }
    for (const Expr &seen : outer_) {
      if (seen.as<ir::Variable>()->name == v->name) return;
    }
    outer_.push_back(x);
    const Var dimension = link ? Var() : var_of(x);
    if (link) inner[v->name] = dimension;
    dimensions_.push_back(dimension);
  }

  std::vector<Expr> dimension_exprs() const { return {dimensions_.begin(), dimensions_.end()}; }

  /// The update walks over the domain even where e_ uses none of its RVars.
  void define_update(std::vector<Expr> values) {
    ir::FunctionBody &f = *f_.function();
    define_over(f, dimension_exprs(), std::move(values), domain_, at_);
  }

  Reduce op_;
  Expr e_;
  Func f_;
  SrcLoc at_;
  Ref<ir::ReductionDomain> domain_;
  std::vector<Expr> outer_;      ///< what the caller's definition passes
  std::vector<Var> dimensions_;  ///< the same inside the Func
};

Expr reduce(Reduce op, const RDom *r, const Expr &e, const Func &f, SrcLoc at) {
  return Reduction(op, r ? r->domain() : Ref<ir::ReductionDomain>(), e, f, at).single();
}
Tuple reduce_with_place(Reduce op, const RDom *r, const Expr &e, const Func &f, SrcLoc at) {
  return Reduction(op, r ? r->domain() : Ref<ir::ReductionDomain>(), e, f, at).with_place();
}

}  // namespace
}  // namespace lang

#define CALO_REDUCTION(name, Op)                                             \
  Expr name(const Expr &e, const std::string &n, SrcLoc at) {                \
    return lang::reduce(lang::Reduce::Op, nullptr, e, Func(n, at), at);      \
  }                                                                          \
  Expr name(const RDom &r, const Expr &e, const std::string &n, SrcLoc at) { \
    return lang::reduce(lang::Reduce::Op, &r, e, Func(n, at), at);           \
  }
#define CALO_REDUCTION_INTO(name, Op)                                              \
  CALO_REDUCTION(name, Op)                                                         \
  Expr name(const Expr &e, const Func &f) {                                        \
    return lang::reduce(lang::Reduce::Op, nullptr, e, f, lang::recent_position()); \
  }                                                                                \
  Expr name(const RDom &r, const Expr &e, const Func &f) {                         \
    return lang::reduce(lang::Reduce::Op, &r, e, f, lang::recent_position());      \
  }
#define CALO_REDUCTION_PLACE(name, Op)                                             \
  Tuple name(const Expr &e, const std::string &n, SrcLoc at) {                     \
    return lang::reduce_with_place(lang::Reduce::Op, nullptr, e, Func(n, at), at); \
  }                                                                                \
  Tuple name(const RDom &r, const Expr &e, const std::string &n, SrcLoc at) {      \
    return lang::reduce_with_place(lang::Reduce::Op, &r, e, Func(n, at), at);      \
  }
CALO_REDUCTION_INTO(sum, Sum)
CALO_REDUCTION_INTO(product, Product)
CALO_REDUCTION_INTO(maximum, Maximum)
CALO_REDUCTION_INTO(minimum, Minimum)
CALO_REDUCTION(saturating_sum, SaturatingSum)
CALO_REDUCTION_PLACE(argmax, ArgMax)
CALO_REDUCTION_PLACE(argmin, ArgMin)
#undef CALO_REDUCTION_PLACE
#undef CALO_REDUCTION_INTO
#undef CALO_REDUCTION

// ---- lambda -------------------------------------------------------------------------------------

namespace {
Func make_lambda(const std::vector<Var> &vars, const Expr &e, SrcLoc at) {
  Func f(std::string(), at);
  f(vars, at) = e;
  return f;
}
}  // namespace

Func lambda(const Expr &e, SrcLoc at) { return make_lambda({_}, e, at); }
Func lambda(const Var &x, const Expr &e, SrcLoc at) { return make_lambda({x}, e, at); }
Func lambda(const Var &x, const Var &y, const Expr &e, SrcLoc at) {
  return make_lambda({x, y}, e, at);
}
Func lambda(const Var &x, const Var &y, const Var &z, const Expr &e, SrcLoc at) {
  return make_lambda({x, y, z}, e, at);
}
Func lambda(const Var &x, const Var &y, const Var &z, const Var &w, const Expr &e, SrcLoc at) {
  return make_lambda({x, y, z, w}, e, at);
}
Func lambda(const Var &x, const Var &y, const Var &z, const Var &w, const Var &v, const Expr &e,
            SrcLoc at) {
  return make_lambda({x, y, z, w, v}, e, at);
}

// ---- edges --------------------------------------------------------------------------------------

namespace BoundaryConditions {

Source::Source(const Func &f, SrcLoc where) : func(f), at(where) {}
Source::Source(const Func &f, const Region &r, SrcLoc where) : func(f), bounds(r), at(where) {}
Source::Source(const Source &o) = default;
Source::~Source() = default;

Source::Source(const ImageParam &p, SrcLoc where) : func(p), at(where) {
  lang::note_position(at);
  for (int i = 0; i < p.dimensions(); i++) bounds.push_back({p.dim(i).min(), p.dim(i).extent()});
}

namespace {

/// One condition on its way: the source's value at coordinates that stay inside.
class Edge {
public:
  Edge(const Source &s, const Region &given, const char *name, SrcLoc at)
      : source_(s.func),
        bounds_(given.empty() ? s.bounds : given),
        result(std::string(name), at),
        at_(at) {
    lang::note_position(at);
    if (!source_.defined()) {
      raise(Diagnostic("L0201", at, std::string(name) + " of a Func that is not defined yet")
                .because("the Func", source_.function()->loc));
    }
    if (bounds_.empty() && source_.dimensions() > 0) {
      raise(Diagnostic("L0105", at, std::string(name) + " of a Func needs bounds")
                .because("a Func has a value everywhere; only images have edges of their own")
                .fix(std::string(name) + "(f, {{0, width}, {0, height}})"));
    }
    if (static_cast<int>(bounds_.size()) > source_.dimensions()) {
      raise(Diagnostic("L0204", at,
                       std::string(name) + " with bounds of " + std::to_string(bounds_.size()) +
                           " dimensions")
                .because("the source has " + std::to_string(source_.dimensions()),
                         source_.function()->loc));
    }
    for (int i = 0; i < source_.dimensions(); i++) vars_.push_back(Var::implicit(i));
    bounds_.resize(vars_.size());
    for (Range &r : bounds_) {
      if (r.min.defined() != r.extent.defined()) {
        raise(Diagnostic("L0105", at, "a min without an extent, or an extent without a min"));
      }
      if (r.min.defined()) r = {cast(Int(32), r.min), cast(Int(32), r.extent)};
    }
  }

  size_t size() const { return vars_.size(); }
  bool has_edge(size_t i) const { return bounds_[i].min.defined(); }
  Expr var(size_t i) const { return vars_[i]; }
  Expr min(size_t i) const { return bounds_[i].min; }
  Expr extent(size_t i) const { return bounds_[i].extent; }
  Expr max(size_t i) const { return min(i) + extent(i) - 1; }

  /// Reads of every value of the source at these coordinates.
  std::vector<Expr> read(const std::vector<Expr> &coords) const {
    std::vector<Expr> values;
    for (int i = 0; i < source_.outputs(); i++) {
      values.push_back(lang::call_func(source_.function().get(), coords, i, at_));
    }
    return values;
  }

  Func finish(const std::vector<Expr> &values) {
    result(vars_, at_) = Tuple(values);
    return result;
  }

  /// The result reads the source at f(i), dimension by dimension.
  template <typename F> Func map_coordinates(const F &f) {
    std::vector<Expr> coords;
    for (size_t i = 0; i < size(); i++) coords.push_back(has_edge(i) ? f(i) : var(i));
    return finish(read(coords));
  }

  const Func &source() const { return source_; }

private:
  Func source_;
  Region bounds_;
  std::vector<Var> vars_;

public:
  Func result;

private:
  SrcLoc at_;
};

/// Never outside, whatever the arithmetic before says; tells bounds inference so too.
Expr inside(const Edge &e, size_t i, const Expr &coord) { return clamp(coord, e.min(i), e.max(i)); }

}  // namespace

Func repeat_edge(const Source &s, const Region &bounds, SrcLoc at) {
  Edge e(s, bounds, "repeat_edge", at);
  return e.map_coordinates([&](size_t i) { return inside(e, i, likely(e.var(i))); });
}

Func constant_exterior(const Source &s, const Tuple &value, const Region &bounds, SrcLoc at) {
  Edge e(s, bounds, "constant_exterior", at);
  Expr outside;
  std::vector<Expr> coords;
  for (size_t i = 0; i < e.size(); i++) {
    if (!e.has_edge(i)) {
      coords.push_back(e.var(i));
      continue;
    }
    const Expr out = e.var(i) < e.min(i) || e.var(i) > e.max(i);
    outside = outside.defined() ? outside || out : out;
    coords.push_back(inside(e, i, likely(e.var(i))));
  }
  std::vector<Expr> values = e.read(coords);
  if (value.size() != values.size()) {
    raise(Diagnostic("L0208", at,
                     "constant_exterior with " + std::to_string(value.size()) + " values")
              .because("the source has " + std::to_string(values.size()),
                       e.source().function()->loc));
  }
  for (size_t i = 0; outside.defined() && i < values.size(); i++) {
    const Type t = values[i].type();
    const Expr c =
        ir::is_const(value[i]) ? ir::lossless_constant(t, value[i], at) : cast(t, value[i]);
    values[i] = select(outside, c, likely(values[i]));
  }
  return e.finish(values);
}

Func constant_exterior(const Source &s, const Expr &value, const Region &bounds, SrcLoc at) {
  return constant_exterior(s, Tuple(value), bounds, at);
}

Func repeat_image(const Source &s, const Region &bounds, SrcLoc at) {
  Edge e(s, bounds, "repeat_image", at);
  return e.map_coordinates([&](size_t i) {
    const Expr wrapped = e.min(i) + (e.var(i) - e.min(i)) % e.extent(i);
    const Expr within = e.var(i) >= e.min(i) && e.var(i) <= e.max(i);
    return inside(e, i, select(within, likely(e.var(i)), wrapped));
  });
}

Func mirror_image(const Source &s, const Region &bounds, SrcLoc at) {
  Edge e(s, bounds, "mirror_image", at);
  return e.map_coordinates([&](size_t i) {
    // Position in a period of twice the extent; its second half runs backwards.
    const Expr period = 2 * e.extent(i);
    const Expr at_period = (e.var(i) - e.min(i)) % period;
    const Expr folded = e.min(i) + min(at_period, period - 1 - at_period);
    const Expr within = e.var(i) >= e.min(i) && e.var(i) <= e.max(i);
    return inside(e, i, select(within, likely(e.var(i)), folded));
  });
}

Func mirror_interior(const Source &s, const Region &bounds, SrcLoc at) {
  Edge e(s, bounds, "mirror_interior", at);
  return e.map_coordinates([&](size_t i) {
    // The outermost points are the mirrors and occur once per period. An extent of 1 gives period 0,
    // where % is 0 too.
    const Expr period = 2 * e.extent(i) - 2;
    const Expr at_period = (e.var(i) - e.min(i)) % period;
    const Expr folded = e.min(i) + min(at_period, period - at_period);
    const Expr within = e.var(i) >= e.min(i) && e.var(i) <= e.max(i);
    return inside(e, i, select(within, likely(e.var(i)), folded));
  });
}

Region region_of_pairs(const Expr *e, size_t n) {
  if (n % 2 != 0) {
    raise(Diagnostic("L0105", lang::recent_position(),
                     "the bounds of an edge are " + std::to_string(n) + " values")
              .because("they are pairs of a min and an extent, one for each dimension"));
  }
  Region r;
  for (size_t i = 0; i < n; i += 2) r.push_back({e[i], e[i + 1]});
  return r;
}

Func repeat_edge(const Source &s) { return repeat_edge(s, Region(), s.at); }
Func constant_exterior(const Source &s, const Expr &value) {
  return constant_exterior(s, Tuple(value), Region(), s.at);
}
Func constant_exterior(const Source &s, const Tuple &value) {
  return constant_exterior(s, value, Region(), s.at);
}
Func repeat_image(const Source &s) { return repeat_image(s, Region(), s.at); }
Func mirror_image(const Source &s) { return mirror_image(s, Region(), s.at); }
Func mirror_interior(const Source &s) { return mirror_interior(s, Region(), s.at); }

}  // namespace BoundaryConditions

}  // namespace calotype
