// The pass table and its runner: checks, dumps and times passes. Reading kPasses top to bottom is reading the compiler.
#include "pipeline.h"

#include <chrono>
#include <cstdio>

#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../base/dump.h"
#include "../base/options.h"
#include "../base/stack.h"
#include "../ir/math.h"
#include "../ir/print.h"
#include "../ir/verify.h"
#include "../ir/visit.h"

namespace calotype::lower {

using ir::Stmt;

namespace {

struct Pass {
  const char *name;
  const char *summary;
  Stmt (*run)(const Stmt &, PassContext &);
  bool flat;        // afterwards: flat storage
  bool no_vectors;  // afterwards: no vectorised or unrolled loops
};

const Pass kPasses[] = {
    {"build_loops", "loops, storage and regions from the loop tree", build_loops, false, false},
    {"trace_events", "calls of the tracer", trace_events, false, false},
    {"keep_accumulators", "registers for what loops update", keep_accumulators, false, false},
    {"check_buffers", "argument checks and bounds queries", check_buffers, false, false},
    {"flatten_storage", "linear memory access", flatten_storage, true, false},
    {"simplify_flat", "simplification", simplify_program, true, false},
    {"unroll_loops", "copies of unrolled bodies", unroll_loops, true, false},
    {"vectorize_loops", "vector operations and predicates", vectorize_loops, true, true},
    {"simplify_vectors", "simplification", simplify_program, true, true},
    {"partition_loops", "prologue, steady state, epilogue", partition_loops, true, true},
    {"simplify_steady", "simplification", simplify_program, true, true},
    {"pair_products", "two products of narrow integers at once", pair_products, true, true},
    {"place_storage", "stack or heap, within the budget", place_storage, true, true},
    {"expand_math", "polynomials and compound integer operations", expand_math, true, true},
};

std::vector<LoweredArgument> arguments(const ir::Program &p,
                                       std::vector<ir::ParameterRef> *embedded) {
  using Kind = LoweredArgument::Kind;
  std::vector<LoweredArgument> args;
  for (const ir::ParameterRef &param : p.params) {
    if (param->embedded) {
      embedded->push_back(param);
    } else {
      args.push_back({param->is_buffer ? Kind::InputBuffer : Kind::InputScalar, param->name,
                      param->type, param->dimensions, param});
    }
  }
  for (ir::Name out : p.outputs) {
    const ir::Function &f = *p.find(out);
    for (size_t i = 0; i < f.types.size(); i++) {
      std::string name = f.types.size() > 1 ? f.name + "." + std::to_string(i) : f.name.str();
      ir::ParameterRef param = i < f.outputs.size() ? f.outputs[i] : ir::ParameterRef();
      args.push_back({Kind::OutputBuffer, name, f.types[i], f.dimensions(), param});
    }
  }
  return args;
}

void verify_after(const Pass &pass, const Stmt &s) {
  ir::StmtProperties properties;
  properties.flat_storage = pass.flat;
  properties.no_vector_loops = pass.no_vectors;
  std::vector<std::string> faults = ir::verify(s, properties);
  if (faults.empty()) return;
  Diagnostic d("X0002", {}, std::string("the program is not well formed after pass ") + pass.name);
  for (size_t i = 0; i < faults.size() && i < 5; i++) d.why.push_back({faults[i], {}});
  raise(std::move(d));
}

Stmt run_passes(PassContext &cx) {
  const Options &o = options();
  DumpWriter dump(cx.program.name);
  const analysis::SimplifyScope scope;
  Stmt s;
  int number = 0;
  for (const Pass &pass : kPasses) {
    auto start = std::chrono::steady_clock::now();
    Stmt next = pass.run(s, cx);
    double ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    dump.pass(number++, pass.name,
              next.same_as(s) ? std::string()
              : dump.wanted() ? ir::to_string(next)
                              : std::string(),
              ms);
    s = next;
    if (o.verify) verify_after(pass, s);
  }
  return s;
}

// Under the target feature `debug` every promise is checked at each point where it is used.
ir::Program with_checked_promises(ir::Program p) {
  auto checked = [](const Expr &e) -> Expr {
    const ir::Call *c = e.as<ir::Call>();
    if (!c ||
        (c->op != ir::Intrinsic::unsafe_promise_clamped && c->op != ir::Intrinsic::promise_clamped))
      return e;
    Expr holds =
        ir::make_and(ir::make_ge(c->args[0], c->args[1]), ir::make_le(c->args[0], c->args[2]));
    Expr value = ir::make_intrinsic(
        c->type, ir::Intrinsic::require,
        {holds, c->args[0], ir::make_string(""), ir::make_string(ir::to_string(holds)),
         ir::make_string("a promise does not hold: the value is"), c->args[0],
         ir::make_string("promised from"), c->args[1], ir::make_string("to"), c->args[2]});
    return ir::make_intrinsic(c->type, c->op, {value, c->args[1], c->args[2]});
  };
  for (ir::Function &f : p.funcs) {
    for (ir::Definition &d : f.definitions) {
      for (Expr &e : d.values) e = ir::rewrite(e, checked);
      for (Expr &e : d.args) e = ir::rewrite(e, checked);
    }
  }
  return p;
}

}  // namespace

Stmt simplify_program(const Stmt &s, PassContext &) { return analysis::simplify(s); }
Stmt expand_math(const Stmt &s, PassContext &) { return ir::expand_intrinsics(s); }

static void prepare(const schedule::Scheduled &scheduled, const Target &target, PassContext &cx) {
  const std::string why = why_not_compilable(target);
  if (!why.empty()) {
    raise(Diagnostic("T0103", {}, "no code for the target " + target.to_string()).because(why));
  }
  cx.algorithm = &scheduled.program;
  cx.program = schedule::inline_funcs(scheduled.program, scheduled.state);
  if (target.features_any_of({Target::Debug, Target::CheckUnsafePromises}))
    cx.program = with_checked_promises(cx.program);
  cx.state = &scheduled.state;
  cx.target = target;
  cx.embedded.clear();
  cx.args = arguments(scheduled.program, &cx.embedded);
}

LoweredFunction lower(const schedule::Scheduled &scheduled, const Target &target, PassContext &cx) {
  LoweredFunction result;
  run_on_large_stack([&] {
    prepare(scheduled, target, cx);
    result.name = scheduled.program.name;
    result.args = cx.args;
    result.embedded = cx.embedded;
    for (const ir::Function &f : scheduled.program.funcs) {
      for (int i = 0; i < f.stages(); i++)
        result.sources.push_back({f.name, i, f.definitions[static_cast<size_t>(i)].loc});
    }
    result.body = run_passes(cx);
  });
  return result;
}

Stmt loops_of(const schedule::Scheduled &scheduled, const Target &target, PassContext &cx) {
  Stmt loops;
  run_on_large_stack([&] {
    const analysis::SimplifyScope scope;
    prepare(scheduled, target, cx);
    loops = build_loops({}, cx);
  });
  return loops;
}

LoweredFunction lower(const schedule::Scheduled &scheduled, const Target &target) {
  PassContext cx;
  return lower(scheduled, target, cx);
}

std::vector<PassInfo> pass_list() {
  std::vector<PassInfo> list;
  for (const Pass &p : kPasses) list.push_back({p.name, p.summary});
  return list;
}

Stmt run_pass(const std::string &name, const Stmt &s, PassContext &cx) {
  for (const Pass &p : kPasses) {
    if (p.name == name) return p.run(s, cx);
  }
  std::vector<std::string> names;
  for (const Pass &p : kPasses) names.push_back(p.name);
  Diagnostic d("S0102", {}, "no such pass: " + name);
  for (const std::string &n : nearest_names(name, names)) d.help.push_back(n);
  raise(std::move(d));
}

}  // namespace calotype::lower
