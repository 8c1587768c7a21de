// Var, RVar and RDom.
#include "rdom.h"

#include "../ir/visit.h"
#include "internal.h"
#include "param.h"

namespace calotype {

// ---- Var ----------------------------------------------------------------------------------------

namespace lang {

uint64_t next_id() {
  static std::atomic<uint64_t> counter{0};
  return ++counter;
}

ir::Name reserved_name(const char *kind) {
  return ir::Name("$" + std::string(kind) + std::to_string(next_id()));
}

}  // namespace lang

Var::Var() : expr_(ir::make_var(lang::reserved_name("v"))) {}

Var::Var(const std::string &name, SrcLoc at) {
  if (name.empty() || name[0] == '$') {
    raise(Diagnostic("L0214", at, "a Var cannot be called \"" + name + "\"")
              .because("names are not empty and do not start with $, which unnamed Vars use"));
  }
  expr_ = ir::make_var(name);
}

const std::string &Var::name() const { return expr_.as<ir::Variable>()->name.str(); }

Var lang::var_of(const Expr &variable) {
  Var v("v");
  v.expr_ = variable;
  return v;
}

Var Var::implicit(int n) { return Var("_" + std::to_string(n)); }

bool Var::is_implicit(const std::string &name) {
  if (name.size() < 2 || name[0] != '_') return false;
  return name.find_first_not_of("0123456789", 1) == std::string::npos;
}

Var Var::outermost() { return Var("__outermost"); }

// Other files' static objects may use these, so they are made before those.
#define CALO_EARLY __attribute__((init_priority(200)))
CALO_EARLY const Var _("_");
CALO_EARLY const Var _0("_0"), _1("_1"), _2("_2"), _3("_3"), _4("_4");
CALO_EARLY const Var _5("_5"), _6("_6"), _7("_7"), _8("_8"), _9("_9");
#undef CALO_EARLY

// ---- RVar ---------------------------------------------------------------------------------------

RVar::RVar() : expr_(ir::make_var(lang::reserved_name("r"))) {}
RVar::RVar(const std::string &name) : expr_(ir::make_var(name)) {}

const std::string &RVar::name() const { return expr_.as<ir::Variable>()->name.str(); }

Expr RVar::min() const {
  const ir::ReductionLink *link = lang::link_of(expr_);
  return link ? link->domain->vars[link->index].min : Expr();
}

Expr RVar::extent() const {
  const ir::ReductionLink *link = lang::link_of(expr_);
  return link ? link->domain->vars[link->index].extent : Expr();
}

namespace lang {

const ir::ReductionLink *link_of(const Expr &e) {
  const ir::Variable *v = e.as<ir::Variable>();
  return v && v->param ? dynamic_cast<const ir::ReductionLink *>(v->param.get()) : nullptr;
}

std::vector<const ir::ReductionLink *> links_in(const std::vector<Expr> &es) {
  std::vector<const ir::ReductionLink *> links;
  for (const Expr &root : es) {
    if (!root.defined()) continue;
    ir::for_each_expr(root, [&](const Expr &e) {
      const ir::ReductionLink *link = link_of(e);
      if (!link) return;
      for (const ir::ReductionLink *seen : links) {
        if (seen->domain.same_as(link->domain) && seen->index == link->index) return;
      }
      links.push_back(link);
    });
  }
  return links;
}

Expr drop_links(const Expr &e, const ir::ReductionDomain *domain) {
  return ir::rewrite(e, [domain](const Expr &x) -> Expr {
    const ir::ReductionLink *link = link_of(x);
    if (!link || (domain && link->domain.get() != domain)) return x;
    return ir::make_var(x.as<ir::Variable>()->name, x.type());
  });
}

}  // namespace lang

// ---- RDom ---------------------------------------------------------------------------------------

namespace {

const char *const kDimensionNames[] = {"x", "y", "z", "w"};

std::string dimension_name(size_t i) {
  return i < 4 ? kDimensionNames[i] : "d" + std::to_string(i);
}

Expr domain_end(const Expr &e, const char *which, size_t i, SrcLoc at) {
  const std::string what = std::string(which) + " of dimension " + std::to_string(i);
  if (!e.defined()) raise(Diagnostic("L0301", at, "the " + what + " of an RDom is undefined"));
  if (!e.type().is_int_or_uint() || e.type().is_bool() || e.type().is_vector()) {
    raise(Diagnostic("L0301", at,
                     "the " + what + " of an RDom is " + to_string(e.type()) + ", not an integer"));
  }
  const Expr i32 = ir::make_cast(Int(32), e);
  const int64_t *given = ir::as_const_int(e);
  const uint64_t *unsigned_given = ir::as_const_uint(e);
  if ((given && !Int(32).can_represent(*given)) ||
      (unsigned_given && !Int(32).can_represent(*unsigned_given))) {
    raise(Diagnostic("L0301", at, "the " + what + " of an RDom does not fit 32 bits"));
  }
  return i32;
}

void check_domain_end(const Expr &e, SrcLoc at) {
  ir::for_each_expr(e, [&](const Expr &x) {
    const ir::Variable *v = x.as<ir::Variable>();
    if (lang::link_of(x)) {
      raise(Diagnostic("L0301", at, "the range of an RDom depends on the RVar " + v->name.str())
                .because("the ranges of an RDom are a box that is known before it is walked")
                .fix("walk the whole box and narrow it: r.where(r.y <= r.x)"));
    }
    if (v && !v->param) {
      raise(Diagnostic("L0301", at, "the range of an RDom depends on the Var " + v->name.str())
                .because("the ranges of an RDom are the same at every point of the Func")
                .fix("walk the largest box and narrow it: r.where(r.x < " + v->name.str() + ")"));
    }
  });
}

RVar no_rvar() { return RVar(std::string("(no RVar)")); }

}  // namespace

RDom::RDom() : x(no_rvar()), y(no_rvar()), z(no_rvar()), w(no_rvar()) {}

RDom::RDom(const Region &ranges, const std::string &name, SrcLoc at) : RDom() {
  init(ranges, name, at);
}

RDom::RDom(const OutputImageParam &p, SrcLoc at) : RDom() {
  Region ranges;
  for (int i = 0; i < p.dimensions(); i++) ranges.push_back({p.dim(i).min(), p.dim(i).extent()});
  init(ranges, {}, at);
}

void RDom::make(const std::vector<lang::DomainArgument> &args) {
  x = y = z = w = no_rvar();
  const SrcLoc at = args[0].loc;
  std::string name;
  size_t n = args.size();
  if (args.back().is_name) name = args[--n].name;
  for (size_t i = 0; i < n; i++) {
    if (args[i].is_name)
      raise(Diagnostic("L0301", at, "a name stands between the ranges of an RDom"));
  }
  if (n % 2) {
    raise(Diagnostic("L0301", at, "an RDom was given a min without an extent")
              .because("its arguments are min, extent, min, extent, ... and possibly a name"));
  }
  Region ranges;
  for (size_t i = 0; i < n; i += 2) ranges.push_back({args[i].expr, args[i + 1].expr});
  init(ranges, name, at);
}

void RDom::init(const Region &ranges, const std::string &name, SrcLoc at) {
  lang::note_position(at);
  if (ranges.empty()) raise(Diagnostic("L0301", at, "an RDom needs at least one dimension"));
  auto *domain = new ir::ReductionDomain;
  domain_ = domain;
  domain->name = name.empty() ? "r" : name;
  domain->loc = at;
  for (size_t i = 0; i < ranges.size(); i++) {
    ir::ReductionVariable v;
    v.var = domain->name + "." + dimension_name(i);
    v.min = domain_end(ranges[i].min, "min", i, at);
    v.extent = domain_end(ranges[i].extent, "extent", i, at);
    check_domain_end(v.min, at);
    check_domain_end(v.extent, at);
    domain->vars.push_back(v);
  }
  RVar *const members[] = {&x, &y, &z, &w};
  for (size_t i = 0; i < 4 && i < ranges.size(); i++) *members[i] = (*this)[static_cast<int>(i)];
}

Ref<ir::ReductionDomain> RDom::domain() const {
  return static_cast<ir::ReductionDomain *>(domain_.get());
}

int RDom::dimensions() const { return domain_ ? static_cast<int>(domain()->vars.size()) : 0; }
std::string RDom::name() const { return domain_ ? domain()->name : std::string(); }

namespace {
[[noreturn]] void undefined_domain() {
  raise(Diagnostic("L0301", lang::recent_position(), "an RDom that was never given a range is used")
            .fix("RDom r(min, extent, ...);"));
}
}  // namespace

RVar RDom::operator[](int i) const {
  if (!domain_) undefined_domain();
  if (i < 0 || i >= dimensions()) {
    raise(Diagnostic(
        "L0301", domain_ ? domain()->loc : lang::recent_position(),
        "dimension " + std::to_string(i) + " of an RDom of " + std::to_string(dimensions())));
  }
  auto *link = new ir::ReductionLink;
  const Ref<const ir::Parameter> keep(link);
  link->domain = domain();
  link->index = i;
  link->name = link->domain->vars[i].var.str();
  link->type = Int(32);
  return RVar(ir::make_var(link->domain->vars[i].var, Int(32), keep));
}

RDom::operator RVar() const {
  if (!domain_) undefined_domain();
  if (dimensions() != 1) {
    raise(Diagnostic("L0301", domain_ ? domain()->loc : lang::recent_position(),
                     "an RDom of " + std::to_string(dimensions()) + " dimensions used as one RVar")
              .fix("name the dimension: r.x, r.y, r[2] ..."));
  }
  return (*this)[0];
}

RDom::operator Expr() const { return RVar(*this); }

void RDom::where(const Expr &predicate, SrcLoc at) {
  lang::note_position(at);
  if (!domain_) raise(Diagnostic("L0302", at, "where() on an RDom that was never given a range"));
  ir::require_defined(predicate, "the predicate of an RDom", at);
  ir::ReductionDomain &d = *domain();
  if (d.frozen) {
    raise(Diagnostic("L0302", at, "where() after the RDom " + d.name + " was used in a definition")
              .because("the RDom", d.loc)
              .fix("call where() before the definition that uses it"));
  }
  if (!predicate.type().is_bool() || predicate.type().is_vector()) {
    raise(Diagnostic("L0302", at,
                     "the predicate of an RDom is " + to_string(predicate.type()) + ", not bool"));
  }
  for (const ir::ReductionLink *link : lang::links_in({predicate})) {
    if (link->domain.get() != &d) {
      raise(Diagnostic("L0302", at,
                       "the predicate of " + d.name + " uses " + link->name + " of another RDom")
                .because("the other RDom", link->domain->loc));
    }
  }
  const Expr p = lang::drop_links(predicate, &d);
  d.predicate = d.predicate.defined() ? ir::make_and(d.predicate, p) : p;
}

}  // namespace calotype
