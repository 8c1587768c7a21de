// From Funcs as the language builds them to a Program: what the outputs reach, in an order where producers come first,
// under canonical names. See Note [canonical names].
#include "function.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "../base/diagnostic.h"
#include "settle.h"
#include "visit.h"

namespace calotype::ir {

ReductionLink::~ReductionLink() = default;

namespace {
const Call *extern_stage_of(const std::vector<Definition> &definitions) {
  if (definitions.size() != 1 || definitions[0].values.empty()) return nullptr;
  return as_intrinsic(definitions[0].values[0], Intrinsic::extern_stage);
}
}  // namespace

bool is_extern(const FunctionBody &f) { return extern_stage_of(f.definitions) != nullptr; }
const Call *Function::extern_stage() const { return extern_stage_of(definitions); }

const Function *Program::find(Name func) const {
  if (index_.size() != funcs.size()) {
    index_.clear();
    for (size_t i = 0; i < funcs.size(); i++) index_[funcs[i].name] = static_cast<int>(i);
  }
  const auto it = index_.find(func);
  return it == index_.end() ? nullptr : &funcs[it->second];
}

bool Program::is_output(Name func) const {
  return std::find(outputs.begin(), outputs.end(), func) != outputs.end();
}

namespace {

/// All Exprs of a definition, in the order in which uses count: left side, right side, domain, predicate.
template <typename F> void for_each_root(const Definition &d, const F &f) {
  for (const Expr &e : d.args) f(e);
  for (const Expr &e : d.values) f(e);
  for (const ReductionVariable &v : d.rvars) {
    f(v.min);
    f(v.extent);
  }
  if (d.predicate.defined()) f(d.predicate);
}

template <typename F> void map_roots(Definition &d, const F &f) {
  for (Expr &e : d.args) e = f(e);
  for (Expr &e : d.values) e = f(e);
  for (ReductionVariable &v : d.rvars) {
    v.min = f(v.min);
    v.extent = f(v.extent);
  }
  if (d.predicate.defined()) d.predicate = f(d.predicate);
}

bool is_reserved(Name n) { return !n.empty() && n.str()[0] == '$'; }

std::string shown_name(const FunctionBody &f) { return f.name.empty() ? "(unnamed Func)" : f.name; }

/// What one body refers to, in order of first use.
struct Uses {
  std::vector<FunctionBody *> funcs;
  std::vector<ParameterRef> params;
};

class Collector final : public IRGraphVisitor {
public:
  explicit Collector(Uses &uses) : uses_(uses) {}
  using IRGraphVisitor::visit;
  void visit(const Variable *op) override {
    if (op->param) add_param(op->param);
  }
  void visit(const Call *op) override {
    if (op->func && funcs_.insert(op->func.get()).second) {
      uses_.funcs.push_back(const_cast<FunctionBody *>(op->func.get()));
    }
    if (op->param) add_param(op->param);
    IRGraphVisitor::visit(op);
  }
  void add_param(const ParameterRef &p) {
    if (params_.insert(p.get()).second) uses_.params.push_back(p);
  }

private:
  Uses &uses_;
  std::unordered_set<const FunctionBody *> funcs_;
  std::unordered_set<const Parameter *> params_;
};

Uses uses_of(const FunctionBody &f) {
  Uses uses;
  Collector collect(uses);
  for (const Definition &d : f.definitions) {
    for_each_root(d, [&](const Expr &e) { collect.visit_expr(e); });
  }
  return uses;
}

/// Depth-first over calls, without recursion: chains of Funcs may be long.
class GraphWalk {
public:
  std::vector<FunctionBody *> order;  ///< producers first
  std::vector<ParameterRef> params;

  void visit(FunctionBody *root) {
    if (done_.count(root)) return;
    enter(root);
    while (!stack_.empty()) {
      Frame &top = stack_.back();
      if (top.next == top.uses.funcs.size()) {
        leave();
      } else {
        FunctionBody *callee = top.uses.funcs[top.next++];
        if (open_.count(callee)) cycle(callee);
        if (!done_.count(callee)) enter(callee);
      }
    }
  }

  void add_param(const ParameterRef &p) {
    if (seen_params_.insert(p.get()).second) params.push_back(p);
  }

private:
  struct Frame {
    FunctionBody *f;
    Uses uses;
    size_t next = 0;
  };

  void enter(FunctionBody *f) {
    if (!f->defined()) {
      Diagnostic d("L0201", f->loc, shown_name(*f) + " is used before it is defined");
      d.why.push_back({"a pipeline needs a definition of every Func that it reaches", {}});
      if (!stack_.empty()) {
        d.why.push_back({shown_name(*stack_.back().f) + " reads it", stack_.back().f->loc});
      }
      d.help.push_back("write " + shown_name(*f) + "(x, y, ...) = ... first");
      raise(std::move(d));
    }
    open_.insert(f);
    stack_.push_back({f, uses_of(*f)});
  }

  void leave() {
    Frame &top = stack_.back();
    for (const ParameterRef &p : top.uses.params) add_param(p);
    order.push_back(top.f);
    open_.erase(top.f);
    done_.insert(top.f);
    stack_.pop_back();
  }

  [[noreturn]] void cycle(FunctionBody *callee) {
    Diagnostic d("L0210", callee->loc, shown_name(*callee) + " is defined by way of itself");
    std::string path;
    bool inside = false;
    for (const Frame &f : stack_) {
      inside = inside || f.f == callee;
      if (!inside) continue;
      path += shown_name(*f.f) + " -> ";
      d.why.push_back({shown_name(*f.f), f.f->loc});
    }
    d.why.insert(d.why.begin(), {"it calls, in turn: " + path + shown_name(*callee), {}});
    d.help.push_back(
        "use an update over an RDom for a recurrence: f(x) = ...; f(r) = f(r - 1) + ...");
    raise(std::move(d));
  }

  std::vector<Frame> stack_;
  std::unordered_set<FunctionBody *> open_, done_;
  std::unordered_set<const Parameter *> seen_params_;
};

/// Canonical names of Funcs; see Note [canonical names].
std::unordered_map<const FunctionBody *, Name> name_funcs(
    std::vector<FunctionBody *> funcs, const std::unordered_set<std::string> &taken) {
  std::sort(funcs.begin(), funcs.end(),
            [](const FunctionBody *a, const FunctionBody *b) { return a->id < b->id; });
  std::unordered_map<std::string, int> bearers, next;
  for (const FunctionBody *f : funcs) bearers[f->name]++;
  std::unordered_map<const FunctionBody *, Name> names;
  for (const FunctionBody *f : funcs) {
    const std::string base = f->name.empty() ? "f" : f->name;
    const bool alone = !f->name.empty() && bearers[base] == 1 && !taken.count(base);
    names[f] = alone ? base : base + "[" + std::to_string(next[base]++) + "]";
  }
  return names;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// `from` becomes `to` where it stands as a whole name.
std::string with_name(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    const size_t end = at + from.size();
    const bool whole =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    if (whole) text.replace(at, from.size(), to);
    at += whole ? to.size() : 1;
  }
  return text;
}

/// Gives parameters and buffer fields ("in.extent.0") in Exprs the names that the parameters have.
class ParameterNames : public IRGraphMutator {
public:
  using IRGraphMutator::visit;
  Expr visit(const Variable *op) override { return op->param ? parameter(op) : Expr(op); }
  Expr visit(const Call *op) override {
    Expr e = IRGraphMutator::visit(op);
    const auto *c = e.as<Call>();
    if (c && c->op == Intrinsic::require && !e.same_as(op)) {
      std::vector<Expr> args = c->args;
      rename_text(op, args);
      return make_intrinsic(c->type, c->op, std::move(args));
    }
    if (c && c->call_type == CallType::Image && c->name != c->param->name)
      return make_image_call(c->type, c->param, c->args);
    return e;
  }

protected:
  /// A requirement holds its condition as text too.
  static void rename_text(const Call *op, std::vector<Expr> &args) {
    const auto *text = op->args.size() > 3 ? op->args[3].as<StringImm>() : nullptr;
    if (!text) return;
    std::string now = text->value;
    for_each_expr(op->args[0], [&](const Expr &e) {
      if (const auto *v = e.as<Variable>()) {
        if (v->param) now = with_name(now, v->name, parameter(v).as<Variable>()->name);
      } else if (const auto *c = e.as<Call>()) {
        if (c->param) now = with_name(now, c->name, c->param->name);
      }
    });
    args[3] = make_string(now);
  }

  static Expr parameter(const Variable *op) {
    std::string name = op->param->name;
    if (op->param->is_buffer) {
      const std::string &old = op->name.str();
      const size_t last = old.rfind('.');
      const size_t field = last == std::string::npos || last == 0 ? last : old.rfind('.', last - 1);
      if (field != std::string::npos) name += old.substr(field);
    }
    return op->name == name ? Expr(op) : make_var(name, op->type, op->param);
  }
};

/// Rewrites a body's Exprs into the Program's form.
class Canonicalizer final : public ParameterNames {
public:
  Canonicalizer(const std::unordered_map<const FunctionBody *, Name> &funcs,
                const std::unordered_map<Name, Name> &vars, Name self, int index)
      : funcs_(funcs), vars_(vars), self_(self), index_(index) {}
  using ParameterNames::visit;

  Expr visit(const Variable *op) override {
    if (op->param) return parameter(op);
    const std::string &name = op->name.str();
    if (name.compare(0, 8, "$random.") == 0) {
      return make_int(op->type, static_cast<int64_t>(index_) * 1024 + std::stoll(name.substr(8)));
    }
    const auto it = vars_.find(op->name);
    return it == vars_.end() ? Expr(op) : make_var(it->second, op->type);
  }

  Expr visit(const Call *op) override {
    bool changed = false;
    std::vector<Expr> args = mutate(op->args, &changed);
    if (op->call_type == CallType::Halide) {
      const Name name = op->func ? funcs_.at(op->func.get()) : self_;
      return make_func_call(op->type, name, std::move(args), op->value_index);
    }
    if (op->call_type == CallType::Image && (changed || op->name != op->param->name)) {
      return make_image_call(op->type, op->param, std::move(args));
    }
    if (!changed) return op;
    if (op->op == Intrinsic::require) rename_text(op, args);
    return make_intrinsic_like(op, std::move(args));
  }
  using IRGraphMutator::mutate;

private:
  static Expr make_intrinsic_like(const Call *op, std::vector<Expr> args) {
    if (op->op != Intrinsic::None) return make_intrinsic(op->type, op->op, std::move(args));
    return make_extern_call(op->type, op->name, std::move(args),
                            op->call_type == CallType::PureExtern);
  }

  const std::unordered_map<const FunctionBody *, Name> &funcs_;
  const std::unordered_map<Name, Name> &vars_;
  Name self_;
  int index_;
};

/// Canonical names v0, v1 ... for unnamed Vars in order of first use, skipping names in use.
std::unordered_map<Name, Name> name_vars(const std::vector<FunctionBody *> &order) {
  std::vector<Name> reserved;
  std::unordered_set<Name> seen;
  const auto note = [&](Name n) {
    if (seen.insert(n).second && is_reserved(n)) reserved.push_back(n);
  };
  for (const FunctionBody *f : order) {
    for (Name n : f->args) note(n);
    for (const Definition &d : f->definitions) {
      for (const ReductionVariable &v : d.rvars) note(v.var);
    }
  }
  std::unordered_map<Name, Name> map;
  int next = 0;
  for (Name n : reserved) {
    Name name;
    do {
      name = "v" + std::to_string(next++);
    } while (seen.count(name));
    map[n] = name;
  }
  return map;
}

/// param_0, image_0, buffer_0 ...: the next one that is not taken.
void name_parameter(const ParameterRef &p, std::unordered_set<std::string> &taken) {
  const std::string kind = p->name.substr(0, p->name.find('_') + 1);
  std::string name;
  for (int n = 0; !taken.insert(name = kind + std::to_string(n)).second;) n++;
  if (p->name != name) const_cast<Parameter &>(*p).name = name;
}

/// Names the unnamed ones in the pipeline's order, whatever the process made before.
void name_parameters(const std::vector<ParameterRef> &params) {
  std::unordered_set<std::string> taken;
  for (const ParameterRef &p : params) {
    if (!p->unnamed) taken.insert(p->name);
  }
  for (const ParameterRef &p : params) {
    if (p->unnamed) name_parameter(p, taken);
  }
}

/// Constraints under the present names of the parameters that they mention.
void rename_constraints(const Parameter &p) {
  ParameterNames names;
  auto renew = [&](Expr &e) {
    if (!e.defined()) return;
    Expr now = names.mutate(e);
    if (!now.same_as(e)) e = now;
  };
  Parameter &q = const_cast<Parameter &>(p);
  for (Expr *e : {&q.min_value, &q.max_value}) renew(*e);
  for (DimConstraint &d : q.dims) {
    for (Expr *e : {&d.min, &d.extent, &d.stride}) renew(*e);
  }
}

void check_parameter_names(const std::vector<ParameterRef> &params) {
  std::unordered_map<std::string, ParameterRef> by_name;
  for (const ParameterRef &p : params) {
    const auto [it, fresh] = by_name.insert({p->name, p});
    if (fresh) continue;
    if (p->embedded || it->second->embedded) {  // nobody passes it by name: it may have another
      Parameter *loser = const_cast<Parameter *>((p->embedded ? p : it->second).get());
      if (!p->embedded) it->second = p;
      int n = 1;
      while (by_name.count(p->name + "_" + std::to_string(n))) n++;
      loser->name = p->name + "_" + std::to_string(n);
      by_name[loser->name] = loser;
      continue;
    }
    raise(Diagnostic("L0404", p->loc, "two parameters are called " + p->name)
              .because("the other one", it->second->loc)
              .because("arguments of a pipeline are told apart by name")
              .fix("give one of them another name"));
  }
}

Function make_function(const FunctionBody &body, Name name) {
  Function f;
  f.name = name;
  f.id = body.id;
  // The first definition tells more than the declaration: members of a class all stand where it is constructed.
  f.loc = !body.definitions.empty() && body.definitions[0].loc.defined() ? body.definitions[0].loc
                                                                         : body.loc;
  f.args = body.args;
  f.types = body.types;
  f.definitions = body.definitions;
  return f;
}

class ProgramBuilder {
public:
  ProgramBuilder(const std::string &name, const std::vector<Ref<FunctionBody>> &outputs,
                 const std::vector<ParameterRef> &args)
      : outputs_(outputs) {
    program_.name = name;
    for (const ParameterRef &p : args) walk_.add_param(p);
  }

  Program build(const ProgramOptions &options) {
    for (const Ref<FunctionBody> &f : outputs_) {
      CALO_ASSERT(f.defined());
      walk_.visit(f.get());
    }
    add_constraint_params();
    name_parameters(walk_.params);
    check_parameter_names(walk_.params);
    for (const ParameterRef &p : walk_.params) rename_constraints(*p);
    for (const Ref<FunctionBody> &f : outputs_) {
      for (const Ref<Parameter> &p : f->outputs) rename_constraints(*p);
    }
    program_.params = walk_.params;
    std::unordered_set<std::string> taken;
    for (const ParameterRef &p : program_.params) taken.insert(p->name);
    check_outputs(taken);
    names_ = name_funcs(walk_.order, taken);
    program_.renamed = name_vars(walk_.order);
    for (size_t i = 0; i < walk_.order.size(); i++) add(*walk_.order[i], static_cast<int>(i));
    if (options.settle) {
      for (Function &f : program_.funcs) settle(f, options.fma);
    }
    for (const Ref<FunctionBody> &f : outputs_) program_.outputs.push_back(names_.at(f.get()));
    return std::move(program_);
  }

private:
  void add(FunctionBody &body, int index) {
    body.frozen = true;
    Function f = make_function(body, names_.at(&body));
    Canonicalizer canonical(names_, program_.renamed, f.name, index);
    for (Name &n : f.args) n = renamed(n);
    for (Definition &d : f.definitions) {
      map_roots(d, [&](const Expr &e) { return canonical.mutate(e); });
      for (ReductionVariable &v : d.rvars) v.var = renamed(v.var);
    }
    for (const Ref<FunctionBody> &o : outputs_) {
      if (o.get() == &body) set_outputs(f, body);
    }
    program_.funcs.push_back(std::move(f));
  }

  void set_outputs(Function &f, FunctionBody &body) {
    if (!f.outputs.empty()) return;
    output_parameters(body);
    for (size_t i = 0; i < body.outputs.size(); i++) {
      Parameter &p = *body.outputs[i];
      p.name = body.outputs.size() == 1 ? f.name.str() : f.name + "." + std::to_string(i);
      f.outputs.push_back(body.outputs[i].get());
    }
  }

  Name renamed(Name n) const {
    const auto it = program_.renamed.find(n);
    return it == program_.renamed.end() ? n : it->second;
  }

  /// Constraints may mention further parameters, whose constraints may ...
  void add_constraint_params() {
    Uses uses;
    Collector collect(uses);
    std::unordered_set<const Parameter *> own_outputs;
    for (const Ref<FunctionBody> &f : outputs_) {
      for (const Ref<Parameter> &p : f->outputs) {
        own_outputs.insert(p.get());
        visit_constraints(*p, collect);
      }
    }
    // `uses` and the walk's list both grow; each parameter is looked at once.
    for (size_t i = 0, j = 0; i < walk_.params.size() || j < uses.params.size();) {
      if (j < uses.params.size()) {
        if (!own_outputs.count(uses.params[j].get())) walk_.add_param(uses.params[j]);
        j++;
      } else {
        visit_constraints(*walk_.params[i++], collect);
      }
    }
    remove_outputs(own_outputs);
  }

  void remove_outputs(const std::unordered_set<const Parameter *> &own_outputs) {
    auto &params = walk_.params;  // a definition may read out.extent.0: that is no input
    params.erase(
        std::remove_if(params.begin(), params.end(),
                       [&](const ParameterRef &p) { return own_outputs.count(p.get()) != 0; }),
        params.end());
  }

  static void visit_constraints(const Parameter &p, Collector &collect) {
    for (const Expr &e : {p.min_value, p.max_value}) {
      if (e.defined()) collect.visit_expr(e);
    }
    for (const DimConstraint &d : p.dims) {
      for (const Expr &e : {d.min, d.extent, d.stride}) {
        if (e.defined()) collect.visit_expr(e);
      }
    }
  }

  void check_outputs(const std::unordered_set<std::string> &taken) const {
    for (const Ref<FunctionBody> &f : outputs_) {
      if (!taken.count(f->name)) continue;
      Diagnostic d("L0404", f->loc, "an input and an output are both called " + f->name);
      for (const ParameterRef &p : walk_.params) {
        if (p->name == f->name) d.why.push_back({"the input", p->loc});
      }
      d.help.push_back("give one of them another name");
      raise(std::move(d));
    }
  }

  const std::vector<Ref<FunctionBody>> &outputs_;
  GraphWalk walk_;
  Program program_;
  std::unordered_map<const FunctionBody *, Name> names_;
};

}  // namespace

void add_parameter(Program &program, const ParameterRef &p) {
  std::unordered_set<std::string> taken;
  for (const ParameterRef &q : program.params) taken.insert(q->name);
  if (p->unnamed) name_parameter(p, taken);
  program.params.push_back(p);
}

Expr with_parameter_names(const Expr &e) { return e.defined() ? ParameterNames().mutate(e) : e; }

Program make_program(const std::string &name, const std::vector<Ref<FunctionBody>> &outputs,
                     const std::vector<ParameterRef> &args, const ProgramOptions &options) {
  return ProgramBuilder(name, outputs, args).build(options);
}

std::vector<FunctionBody *> reachable_funcs(const std::vector<Ref<FunctionBody>> &outputs) {
  GraphWalk walk;
  for (const Ref<FunctionBody> &f : outputs) walk.visit(f.get());
  return walk.order;
}

std::vector<Ref<Parameter>> &output_parameters(FunctionBody &f) {
  CALO_ASSERT(f.defined());
  while (f.outputs.size() < f.types.size()) {
    Ref<Parameter> p(new Parameter);
    const std::string index = f.types.size() == 1 ? "" : "." + std::to_string(f.outputs.size());
    p->name = (f.name.empty() ? "f" : f.name) + index;
    p->type = f.types[f.outputs.size()];
    p->is_buffer = true;
    p->dimensions = f.dimensions();
    p->loc = f.loc;
    p->dims.resize(f.dimensions());
    if (f.dimensions() > 0) p->dims[0].stride = 1;
    f.outputs.push_back(p);
  }
  return f.outputs;
}

std::vector<Name> called_funcs(const Definition &d) {
  std::vector<Name> names;
  std::unordered_set<Name> seen;
  for_each_root(d, [&](const Expr &root) {
    for_each_expr(root, [&](const Expr &e) {
      const Call *c = e.as<Call>();
      if (c && c->call_type == CallType::Halide && seen.insert(c->name).second)
        names.push_back(c->name);
    });
  });
  return names;
}

// Note [canonical names]
// An explicit name that one Func of the program has stays. Funcs that share a name become g[0], g[1] ... in order of
// creation; unnamed ones f[0], f[1] ... in the same way (numbered together with explicit "f"s if these are several). An
// inner Func with the name of a parameter is numbered too, since both become memory in lowered code. So names depend on
// the program alone, never on what else the process built.

}  // namespace calotype::ir
