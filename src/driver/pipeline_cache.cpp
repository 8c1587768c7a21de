// See pipeline_cache.h. Also a Pipeline as data: its program and the directives written in C++ (program.h).
#include "pipeline_cache.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "../ir/visit.h"

namespace calotype::driver {

namespace {

using lang::Directives;

uint64_t version(const ir::Parameter &p) {
  const auto *image = dynamic_cast<const lang::ImageParameter *>(&p);
  return image && image->directives ? image->directives->version : 0;
}
uint64_t version(const ir::FunctionBody *f) {
  return f->attachment ? static_cast<const lang::Directives *>(f->attachment.get())->version : 0;
}
std::vector<Expr> constraints_of(const ir::Parameter &p) {
  std::vector<Expr> all{p.min_value, p.max_value, Expr(p.host_alignment * 2 + p.trace_loads)};
  for (const ir::DimConstraint &d : p.dims) all.insert(all.end(), {d.min, d.extent, d.stride});
  return all;
}

/// Calls `visit` on the Funcs of a Pipeline and on the handles of those that directives make.
void each_body(const Directives &list, const std::function<void(const ir::FunctionBody *)> &visit) {
  for (const Ref<ir::FunctionBody> &made : list.made) {
    visit(made.get());
    each_body(lang::directives_of(*made), visit);
  }
}
void each_body(const Pipeline &p, const ir::Program &program,
               const std::function<void(const ir::FunctionBody *)> &visit) {
  for (const ir::FunctionBody *f : ir::reachable_funcs(bodies_of(p))) {
    visit(f);
    if (f->attachment) each_body(*static_cast<const Directives *>(f->attachment.get()), visit);
  }
  for (const ir::ParameterRef &q : program.params) {
    const auto *image = dynamic_cast<const lang::ImageParameter *>(q.get());
    if (image && image->directives) each_body(*image->directives, visit);
  }
}

/// Gives names of unnamed Vars in directives: the Program's, or the next free ones.
class DirectiveNames {
public:
  explicit DirectiveNames(ir::Program &program) : program_(program) {
    for (const auto &[from, to] : program.renamed) used_.insert(to.str());
    for (const ir::Function &f : program.funcs) {
      for (ir::Name n : f.args) used_.insert(n.str());
    }
  }
  void note(const schedule::Arg &a) {
    if (!a.text.empty() && a.text[0] != '$') used_.insert(a.text);
    for (const schedule::Arg &i : a.items) note(i);
  }
  void rename(schedule::Arg &a) {
    for (std::string *name : {&a.text, &a.key}) {
      if (!name->empty() && (*name)[0] == '$') *name = canonical(*name);
    }
    for (schedule::Arg &i : a.items) rename(i);
  }

private:
  std::string canonical(const std::string &reserved) {
    const auto it = program_.renamed.find(reserved);
    if (it != program_.renamed.end()) return it->second;
    const std::string base(1, reserved[1]);  // "$v12" is the 12th unnamed Var
    std::string name;
    do {
      name = base + std::to_string(next_++);
    } while (!used_.insert(name).second);
    program_.renamed[reserved] = name;
    return name;
  }
  ir::Program &program_;
  std::unordered_set<std::string> used_;
  int next_ = 0;
};

/// Parameters that only directives and requirements mention are arguments too.
void add_params(const Expr &expr, ir::Program &program) {
  if (!expr.defined()) return;
  ir::for_each_expr(expr, [&](const Expr &e) {
    const ir::Variable *v = e.as<ir::Variable>();
    if (!v || !v->param) return;
    const auto is_same = [&](const ir::ParameterRef &p) { return p.same_as(v->param); };
    for (const ir::Function &f : program.funcs) {
      if (std::any_of(f.outputs.begin(), f.outputs.end(), is_same)) return;
    }
    if (std::none_of(program.params.begin(), program.params.end(), is_same))
      ir::add_parameter(program, v->param);
  });
}

void add_params(const schedule::Arg &a, ir::Program &program) {
  for (const schedule::Arg &i : a.items) add_params(i, program);
  add_params(a.expr, program);
}

void rename_parameters(schedule::Arg &a) {
  for (schedule::Arg &i : a.items) rename_parameters(i);
  a.expr = ir::with_parameter_names(a.expr);
}

std::vector<schedule::Directive> written_directives(const Pipeline &p, ir::Program &program) {
  std::vector<schedule::Directive> all;
  each_body(p, program, [&](const ir::FunctionBody *f) {
    if (!f->attachment) return;
    const auto &list = static_cast<const Directives *>(f->attachment.get())->list;
    all.insert(all.end(), list.begin(), list.end());
  });
  for (const ir::ParameterRef &q : program.params) {
    const auto *image = dynamic_cast<const lang::ImageParameter *>(q.get());
    if (image && image->directives)
      all.insert(all.end(), image->directives->list.begin(), image->directives->list.end());
  }
  std::sort(all.begin(), all.end(),
            [](const auto &a, const auto &b) { return a.sequence < b.sequence; });
  DirectiveNames names(program);
  for (const schedule::Directive &d : all) {
    for (const schedule::Arg &a : d.args) names.note(a);
  }
  for (schedule::Directive &d : all) {
    for (schedule::Arg &a : d.args) {
      names.rename(a);
      add_params(a, program);
      rename_parameters(a);
    }
    for (Expr &e : d.under) {
      e = ir::with_parameter_names(e);
    }
  }
  return all;
}

Stamp stamp_of(const Pipeline &p, const ir::Program &program) {
  Stamp s;
  each_body(p, program, [&](const ir::FunctionBody *f) { s.funcs.push_back({f, version(f)}); });
  for (const ir::ParameterRef &q : program.params) {
    s.constraints.push_back({q, constraints_of(*q)});
    s.images.push_back({q, version(*q)});
  }
  for (const ir::Function &f : program.funcs) {
    for (const ir::ParameterRef &q : f.outputs) s.constraints.push_back({q, constraints_of(*q)});
  }
  return s;
}

}  // namespace

bool Stamp::current() const {
  for (const auto &[f, v] : funcs) {
    if (version(f) != v) return false;
  }
  for (const auto &[p, v] : images) {
    if (version(*p) != v) return false;
  }
  for (const auto &[p, old] : constraints) {
    const std::vector<Expr> now = constraints_of(*p);
    if (now.size() != old.size() ||
        now[2].as<ir::IntImm>()->value != old[2].as<ir::IntImm>()->value)
      return false;
    for (size_t i = 0; i < now.size(); i++) {
      if (i != 2 && !now[i].same_as(old[i])) return false;
    }
  }
  return true;
}

std::string counted(size_t n, const std::string &what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::vector<Ref<ir::FunctionBody>> bodies_of(const Pipeline &p) {
  if (!p.defined()) {
    raise(Diagnostic("L0201", lang::recent_position(), "a Pipeline without outputs is used"));
  }
  std::vector<Ref<ir::FunctionBody>> bodies;
  for (const Func &f : p.outputs()) {
    bodies.push_back(f.function());
    if (!lang::is_handle(*bodies.back())) continue;
    raise(
        Diagnostic("L0217", lang::recent_position(), "a Func that a directive makes is no output")
            .because("in, clone_in and rfactor return Funcs to be scheduled", bodies.back()->loc));
  }
  return bodies;
}

Target jit_target(const Target &t) {
  return t.has_unknowns() && t == Target() ? get_jit_target_from_environment() : t;
}

std::shared_ptr<const Compiled> code_for(const Pipeline &p, const Target &asked) {
  const Target t = jit_target(asked);
  JitCache &cache = JitCache::of(p);
  std::lock_guard<std::mutex> lock(cache.mutex);
  if (cache.code && cache.code->target() == t && cache.stamp.current()) return cache.code;
  ir::Program program = program_of(p, t);
  schedule::Schedule s = schedule_of(p, program);
  Stamp stamp = stamp_of(p, program);
  cache.code = std::make_shared<const Compiled>(program, s, t, true, cache.externs);
  cache.stamp = std::move(stamp);
  return cache.code;
}

ir::ProgramOptions program_options(const Target &t) {
  ir::ProgramOptions options;
  options.settle = !t.has_feature(Target::StrictFloat);
  options.fma = t.fuses_multiply_add();
  return options;
}

ir::Program program_of(const Pipeline &p, const Target &t) {
  ir::Program program =
      ir::make_program(p.name(), bodies_of(p), JitCache::args_of(p), program_options(t));
  program.requirements = JitCache::of(p).requirements;
  for (Expr &e : program.requirements) {
    add_params(e, program);
    e = ir::with_parameter_names(e);
  }
  return program;
}

schedule::Schedule schedule_of(const Pipeline &p, ir::Program &program) {
  const JitCache &cache = JitCache::of(p);
  if (cache.has_file && !cache.file.base_embedded) return cache.file;
  schedule::Schedule written;
  written.directives = written_directives(p, program);
  return cache.has_file ? effective_schedule(written, cache.file) : written;
}

}  // namespace calotype::driver
