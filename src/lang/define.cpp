// Definitions: what f(x, y) = e means, and every mistake that can be made in it.
#include <algorithm>
#include <functional>

#include "../base/stack.h"
#include "../ir/visit.h"
#include "internal.h"

namespace calotype::lang {

namespace {

using ir::Name;

std::string count(size_t n, const char *what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// The plain Var that `e` is (no parameter, no RVar), or empty.
Name plain_var(const Expr &e) {
  const ir::Variable *v = e.as<ir::Variable>();
  return v && !v->param ? v->name : Name();
}

bool is_placeholder(const Expr &e) { return plain_var(e) == "_"; }

/// One more than the largest n of a _n in `es`.
int implicit_count(const std::vector<Expr> &es) {
  int n = 0;
  for (const Expr &root : es) {
    ir::for_each_expr(root, [&](const Expr &e) {
      const Name v = plain_var(e);
      if (Var::is_implicit(v)) n = std::max(n, 1 + std::atoi(v.c_str() + 1));
    });
  }
  return n;
}

/// One definition on its way into a Func.
class Definer {
public:
  Definer(ir::FunctionBody &f, std::vector<Expr> args, std::vector<Expr> values, SrcLoc at)
      : f_(f), args_(std::move(args)), values_(std::move(values)), at_(at) {}

  void set_domain(const Ref<ir::ReductionDomain> &domain) { domain_ = domain; }

  int run() {
    check_values();
    if (f_.frozen) frozen();
    const bool pure = !f_.defined();
    if (pure) {
      make_pure();
    } else {
      make_update();
    }
    ir::Definition d;
    d.loc = at_;
    take_domain(d);
    check_variables(d);
    d.args = std::move(args_);
    d.values = std::move(values_);
    finish(d);
    if (pure) {
      for (const Expr &e : d.args) f_.args.push_back(plain_var(e));
      for (const Expr &e : d.values) f_.types.push_back(e.type());
      if (!f_.loc.defined()) f_.loc = at_;
    }
    f_.definitions.push_back(std::move(d));
    return static_cast<int>(f_.definitions.size()) - 1;
  }

private:
  std::string who() const { return shown_name(f_); }

  void check_values() {
    for (const Expr &e : values_) {
      ir::require_defined(e, ("the value of " + who()).c_str(), at_);
      if (e.type().is_vector() || (e.type().is_handle() && e.as<ir::StringImm>())) {
        raise(
            Diagnostic("L0103", at_, who() + " cannot have values of type " + to_string(e.type())));
      }
    }
    for (const Expr &e : args_) ir::require_defined(e, ("a coordinate of " + who()).c_str(), at_);
  }

  [[noreturn]] void frozen() const {
    raise(Diagnostic("L0209", at_, who() + " gets a definition after it was used")
              .because("the Func", f_.loc)
              .because(
                  "another Func or a compiled pipeline already reads it, and would change with it")
              .fix("give all definitions of a Func before its first use"));
  }

  // ---- the first definition ---------------------------------------------------------------------

  void make_pure() {
    const int n = implicit_count(values_);
    size_t at = placeholder(args_);
    if (at < args_.size()) {
      args_.erase(args_.begin() + static_cast<long>(at));
      for (int i = 0; i < n; i++)
        args_.insert(args_.begin() + static_cast<long>(at) + i, Var::implicit(i));
    }
    for (size_t i = 0; i < args_.size(); i++) check_pure_arg(i);
    for (size_t i = 0; i < args_.size(); i++) pure_.push_back(plain_var(args_[i]));
    const auto links = links_in(values_);
    if (!links.empty()) {
      raise(Diagnostic("L0205", at_,
                       "the first definition of " + who() + " uses the RVar " + links[0]->name)
                .because("only updates walk over a reduction domain", links[0]->domain->loc)
                .fix("define " + who() + " first, then update it: f(x) = 0; f(x) += g(x, " +
                     links[0]->name + ")")
                .fix("or use an inline reduction: sum(...)"));
    }
    check_required();
  }

  size_t placeholder(const std::vector<Expr> &es) const {
    size_t found = es.size();
    for (size_t i = 0; i < es.size(); i++) {
      if (!is_placeholder(es[i])) continue;
      if (found < es.size()) {
        raise(Diagnostic("L0214", at_, "_ stands twice among the coordinates of " + who()));
      }
      found = i;
    }
    return found;
  }

  void check_pure_arg(size_t i) {
    const Expr &e = args_[i];
    if (const ir::ReductionLink *link = link_of(e)) {
      raise(Diagnostic(
                "L0206", at_,
                "the first definition of " + who() + " has the RVar " + link->name + " on its left")
                .because("only updates walk over a reduction domain", link->domain->loc)
                .fix("give " + who() + " a pure definition first: f(x) = 0"));
    }
    const Name v = plain_var(e);
    if (v.empty()) {
      const auto links = links_in({e});
      raise(Diagnostic(links.empty() ? "L0215" : "L0206", at_,
                       "coordinate " + std::to_string(i) + " of the first definition of " + who() +
                           " is not a Var")
                .because("the first definition gives the value at every point, so its left side "
                         "names the dimensions")
                .fix("write f(x, y) = ... first; later definitions may use any expression on the "
                     "left"));
    }
    for (size_t j = 0; j < i; j++) {
      if (plain_var(args_[j]) == v) {
        raise(Diagnostic("L0211", at_, who() + " has the Var " + v.str() + " twice on its left"));
      }
    }
  }

  void check_required() const {
    if (f_.required_dimensions >= 0 && static_cast<int>(args_.size()) != f_.required_dimensions) {
      raise(Diagnostic("L0204", at_, who() + " is defined with " + count(args_.size(), "dimension"))
                .because("it was declared with " + std::to_string(f_.required_dimensions), f_.loc));
    }
    if (f_.required_types.empty()) return;
    bool fits = f_.required_types.size() == values_.size();
    std::string declared, given;
    for (const Type &t : f_.required_types) declared += " " + to_string(t);
    for (const Expr &e : values_) given += " " + to_string(e.type());
    for (size_t i = 0; fits && i < values_.size(); i++)
      fits = values_[i].type() == f_.required_types[i];
    if (fits) return;
    raise(Diagnostic("L0213", at_, who() + " is defined with the type" + given)
              .because("it was declared with the type" + declared, f_.loc)
              .fix("cast the value: cast<" + declared.substr(1) + ">(e)"));
  }

  // ---- updates ----------------------------------------------------------------------------------

  void make_update() {
    expand_update_placeholder();
    if (args_.size() != f_.args.size()) {
      raise(Diagnostic("L0204", at_,
                       "an update of " + who() + " has " + count(args_.size(), "coordinate"))
                .because(who() + " has " + count(f_.args.size(), "dimension"),
                         f_.definitions[0].loc));
    }
    if (values_.size() != f_.types.size()) {
      raise(Diagnostic("L0208", at_,
                       "an update of " + who() + " has " + count(values_.size(), "value"))
                .because("its first definition has " + std::to_string(f_.types.size()),
                         f_.definitions[0].loc));
    }
    check_redefinition();
    for (size_t i = 0; i < values_.size(); i++) match_type(i);
    args_ = index_exprs(std::move(args_), who(), at_);
    for (size_t i = 0; i < args_.size(); i++) {
      if (plain_var(args_[i]) == f_.args[i]) pure_.push_back(f_.args[i]);
    }
  }

  /// `_` on the left stands for the Func's own Vars there, and _n on the right for the n-th of them.
  void expand_update_placeholder() {
    const size_t at = placeholder(args_);
    if (at == args_.size()) return;
    if (args_.size() - 1 > f_.args.size()) return;  // reported as a wrong number of coordinates
    const size_t n = f_.args.size() - (args_.size() - 1);
    args_.erase(args_.begin() + static_cast<long>(at));
    ir::Substitution names;
    for (size_t i = 0; i < n; i++) {
      const Expr v = ir::make_var(f_.args[at + i]);
      args_.insert(args_.begin() + static_cast<long>(at + i), v);
      names[Name("_" + std::to_string(i))] = v;
    }
    for (Expr &e : values_) e = ir::substitute(names, e);
  }

  /// f(u, v) = ... where f(x, y) was defined: meant as another Func, more likely than as an update.
  void check_redefinition() const {
    bool all_vars = !args_.empty(), same = true;
    for (size_t i = 0; i < args_.size(); i++) {
      all_vars = all_vars && !plain_var(args_[i]).empty();
      same = same && plain_var(args_[i]) == f_.args[i];
    }
    if (!all_vars || same) return;
    std::string vars;
    for (Name a : f_.args) vars += (vars.empty() ? "" : ", ") + a.str();
    raise(
        Diagnostic("L0202", at_, who() + " is defined again with other Vars")
            .because("its first definition has the Vars " + vars, f_.definitions[0].loc)
            .because("an update names a dimension by the Var of the first definition, in its place")
            .fix("write " + who() + "(" + vars + ") for an update, or take a new Func"));
  }

  void match_type(size_t i) {
    Expr &e = values_[i];
    const Type t = f_.types[i];
    if (e.type() == t) return;
    if (ir::is_const(e) && !e.as<ir::Cast>()) {
      e = ir::lossless_constant(t, e, at_);
      return;
    }
    raise(Diagnostic("L0213", at_, "an update of " + who() + " has the type " + to_string(e.type()))
              .because("its first definition has the type " + to_string(t), f_.definitions[0].loc)
              .fix("cast the value to " + to_string(t)));
  }

  // ---- both -------------------------------------------------------------------------------------

  void take_domain(ir::Definition &d) {
    if (domain_) {
      domain_->frozen = true;
      d.rvars = domain_->vars;
      d.predicate = domain_->predicate;
      return;
    }
    std::vector<Expr> all = args_;
    all.insert(all.end(), values_.begin(), values_.end());
    const auto links = links_in(all);
    if (links.empty()) return;
    const Ref<ir::ReductionDomain> domain = links[0]->domain;
    for (const ir::ReductionLink *link : links) {
      if (link->domain.same_as(domain)) continue;
      raise(Diagnostic("L0207", at_, "an update of " + who() + " uses RVars of two RDoms")
                .because(links[0]->name + " belongs to this one", domain->loc)
                .because(link->name + " belongs to another", link->domain->loc)
                .fix("make one RDom of all dimensions: RDom r(0, w, 0, h)"));
    }
    domain->frozen = true;
    d.rvars = domain->vars;
    d.predicate = domain->predicate;
    for (Expr &e : args_) e = drop_links(e);
    for (Expr &e : values_) e = drop_links(e);
  }

  void check_variables(const ir::Definition &d) const {
    std::vector<Expr> all = args_;
    all.insert(all.end(), values_.begin(), values_.end());
    if (d.predicate.defined()) all.push_back(d.predicate);
    for (const Expr &root : all) {
      for (Name v : ir::free_vars(root)) check_variable(d, v);
    }
  }

  void check_variable(const ir::Definition &d, Name v) const {
    if (v == "$random") return;
    if (std::find(pure_.begin(), pure_.end(), v) != pure_.end()) return;
    for (const ir::ReductionVariable &r : d.rvars) {
      if (r.var == v) return;
    }
    if (v == "_" || Var::is_implicit(v)) {
      raise(
          Diagnostic("L0214", at_,
                     "the right side of " + who() + " has implicit dimensions, its left side none")
              .because("_ on the right stands for dimensions that _ on the left must name")
              .fix("write _ on the left too: f(x, _) = g(x, _)"));
    }
    std::string vars;
    for (Name a : pure_) vars += (vars.empty() ? "" : ", ") + a.str();
    raise(Diagnostic("L0205", at_,
                     "the definition of " + who() + " uses " + shown_var(v) +
                         ", which its left side does not have")
              .because(pure_.empty() ? "its left side has no Vars"
                                     : "the Vars of its left side: " + vars)
              .fix("add " + shown_var(v) + " to the left side, or use a constant or an RVar"));
  }

  static std::string shown_var(Name v) { return v.str()[0] == '$' ? "an unnamed Var" : v.str(); }

  /// Calls of f itself lose their pointer (no cycles of references), calls of others freeze them, and
  /// random numbers get their coordinates.
  void finish(ir::Definition &d) {
    std::vector<Expr> coordinates;
    for (const Expr &e : d.args) coordinates.push_back(e);
    for (const ir::ReductionVariable &r : d.rvars) coordinates.push_back(ir::make_var(r.var));
    int randoms = static_cast<int>(f_.definitions.size()) * 64;
    const auto settle = [&](const Expr &e) -> Expr {
      const ir::Call *c = e.as<ir::Call>();
      if (!c) return e;
      if (c->op == ir::Intrinsic::random && c->args.size() == 1)
        return place_random(c, coordinates, &randoms);
      if (c->call_type != ir::CallType::Halide || !c->func) return e;
      if (c->func.get() == &f_)
        return ir::make_func_call(c->type, c->name, c->args, c->value_index);
      const_cast<ir::FunctionBody *>(c->func.get())->frozen = true;
      return e;
    };
    for (Expr &e : d.args) e = ir::rewrite(e, settle);
    for (Expr &e : d.values) e = ir::rewrite(e, settle);
    if (d.predicate.defined()) d.predicate = ir::rewrite(d.predicate, settle);
    for (const ir::ReductionVariable &r : d.rvars) {
      ir::rewrite(r.min, settle);
      ir::rewrite(r.extent, settle);
    }
  }

  static Expr place_random(const ir::Call *c, std::vector<Expr> args, int *randoms) {
    Expr seed = c->args[0];
    if (plain_var(seed) == "$random")
      seed = ir::make_var("$random." + std::to_string((*randoms)++));
    args.push_back(seed);
    return ir::make_intrinsic(c->type, ir::Intrinsic::random, std::move(args));
  }

  ir::FunctionBody &f_;
  std::vector<Expr> args_, values_;
  SrcLoc at_;
  Ref<ir::ReductionDomain> domain_;  ///< given; null: found by the RVars in use
  std::vector<Name> pure_;           ///< Vars that the left side has in their place
};

}  // namespace

namespace {
constexpr size_t kDeepest = 20000;  // levels of nesting that every later pass carries on its stack
constexpr size_t kShallow = 500;    // levels that the caller's stack carries

// Runs `work` on a stack that suits the depth of the definition.
void on_fitting_stack(const std::vector<Expr> &args, const std::vector<Expr> &values, SrcLoc at,
                      const std::function<void()> &work) {
  size_t deepest = 0;
  for (const Expr &e : args) deepest = std::max(deepest, ir::depth(e, kDeepest + 1));
  for (const Expr &e : values) deepest = std::max(deepest, ir::depth(e, kDeepest + 1));
  if (deepest > kDeepest) {
    raise(Diagnostic(
              "L0216", at,
              "the expression is nested more than " + std::to_string(kDeepest) + " operations deep")
              .fix("name a part of it by a Func of its own, or use an RDom"));
  }
  if (deepest <= kShallow) return work();
  run_on_large_stack([&] {
    note_position(at);
    work();
  });
}
}  // namespace

void require_small(const Expr &e, const std::string &what, SrcLoc at) {
  constexpr double kLargest = 10000;
  if (!e.defined() || ir::tree_size(e, kLargest) < kLargest) return;
  raise(Diagnostic("L0216", at, what + " has more than 10000 operations")
            .because("what an expression shares with itself counts as often as it is used"));
}

int define(ir::FunctionBody &f, std::vector<Expr> args, std::vector<Expr> values, SrcLoc at) {
  note_position(at);
  if (ir::is_extern(f)) {
    raise(Diagnostic("L0202", at,
                     shown_name(f) + " is an extern stage, which has no further definitions")
              .because("its definition", f.definitions[0].loc)
              .fix("write another Func that reads it"));
  }
  int stage = 0;
  on_fitting_stack(args, values, at,
                   [&] { stage = Definer(f, std::move(args), std::move(values), at).run(); });
  return stage;
}

int define_over(ir::FunctionBody &f, std::vector<Expr> args, std::vector<Expr> values,
                const Ref<ir::ReductionDomain> &domain, SrcLoc at) {
  note_position(at);
  int stage = 0;
  on_fitting_stack(args, values, at, [&] {
    Definer definer(f, std::move(args), std::move(values), at);
    definer.set_domain(domain);
    stage = definer.run();
  });
  return stage;
}

std::vector<Expr> exprs_of(const Coordinate *coords, size_t n) {
  std::vector<Expr> es;
  for (size_t i = 0; i < n; i++) es.push_back(coords[i].expr);
  return es;
}

std::vector<Expr> expand_placeholder(const std::vector<Expr> &args, int dimensions,
                                     const std::string &who, SrcLoc at) {
  std::vector<Expr> result;
  bool found = false;
  const int missing = dimensions - static_cast<int>(args.size()) + 1;
  for (const Expr &e : args) {
    ir::require_defined(e, ("a coordinate of " + who).c_str(), at);
    if (is_placeholder(e) && !found) {
      found = true;
      for (int i = 0; i < missing; i++) result.push_back(Var::implicit(i));
    } else {
      result.push_back(e);
    }
  }
  if (static_cast<int>(result.size()) != dimensions) {
    raise(Diagnostic("L0204", at, who + " is used with " + count(args.size(), "coordinate"))
              .because("it has " + count(static_cast<size_t>(dimensions), "dimension"))
              .fix("give one coordinate per dimension; _ stands for all that are left"));
  }
  return result;
}

std::vector<Expr> index_exprs(std::vector<Expr> coords, const std::string &who, SrcLoc at) {
  for (Expr &e : coords) {
    if (e.type() == Int(32)) continue;
    if (!e.type().is_int_or_uint() || e.type().is_vector()) {
      raise(Diagnostic("L0103", at,
                       "a coordinate of " + who + " is " + to_string(e.type()) + ", not an integer")
                .fix("cast it: cast<int>(e)"));
    }
    e = ir::make_cast(Int(32), e);
  }
  return coords;
}

Expr call_func(const Ref<RefCounted> &f, std::vector<Expr> args, int value_index, SrcLoc at) {
  note_position(at);
  const Ref<ir::FunctionBody> body = body_ref(f);
  const std::string who = shown_name(*body);
  if (is_handle(*body)) {
    raise(Diagnostic("L0217", at, "a Func that a directive makes is used in a definition")
              .because("in, clone_in and rfactor return Funcs to be scheduled; the program reads "
                       "them by itself",
                       body->loc)
              .fix("use the Func it was made from"));
  }
  if (!body->defined()) {
    raise(Diagnostic("L0201", at, who + " is used before it is defined")
              .because("the Func", body->loc)
              .because("what it gives is not known yet; a first definition cannot use the Func "
                       "itself either")
              .fix("write " + who + "(x, y, ...) = ... first"));
  }
  if (value_index < 0 && body->types.size() != 1) {
    raise(Diagnostic("L0212", at,
                     who + " has " + count(body->types.size(), "value") + " and is used as one")
              .because("the Func", body->loc)
              .fix("pick one: f(x)[0], or write Tuple(f(x))"));
  }
  if (value_index >= static_cast<int>(body->types.size())) {
    raise(Diagnostic("L0212", at,
                     "value " + std::to_string(value_index) + " of " + who + ", which has " +
                         std::to_string(body->types.size()))
              .because("the Func", body->loc));
  }
  const int index = std::max(value_index, 0);
  args = index_exprs(expand_placeholder(args, body->dimensions(), who, at), who, at);
  return ir::make_func_call(body->types[index], who, std::move(args), index, body);
}

}  // namespace calotype::lang
