// See cpp_calls.h.
#include "cpp_calls.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/diagnostic.h"
#include "calotype.h"
#include "driver/program.h"
#include "ir/visit.h"
#include "schedule/apply.h"
#include "schedule/text.h"

namespace calotype::test {

using schedule::Arg;
using schedule::Directive;
using schedule::DirectiveKind;

namespace {

struct NotSayable {};

// Calls by name become calls of bodies.
class Linker final : public ir::IRMutator {
public:
  explicit Linker(const std::map<std::string, Ref<ir::FunctionBody>> &bodies) : bodies_(bodies) {}
  Expr mutate(const Expr &e) override {
    const Expr r = ir::IRMutator::mutate(e);
    const auto *call = r.as<ir::Call>();
    if (!call || call->call_type != ir::CallType::Halide) return r;
    const auto body = bodies_.find(call->name);
    return ir::make_func_call(call->type, call->name, call->args, call->value_index,
                              body == bodies_.end() ? nullptr : body->second.get());
  }

private:
  const std::map<std::string, Ref<ir::FunctionBody>> &bodies_;
};

class Caller {
public:
  Caller(const ir::Program &p, const schedule::Schedule &s) : p_(p) {
    for (const ir::Function &f : p.funcs) add(f);
    for (const Directive &d : s.directives) say(d);
  }
  Pipeline pipeline() {
    std::vector<Func> outputs;
    for (ir::Name n : p_.outputs) outputs.push_back(func(n));
    return Pipeline(outputs, {}, p_.name);
  }

private:
  void add(const ir::Function &f) {
    Ref<ir::FunctionBody> body(new ir::FunctionBody);
    static uint64_t ids = uint64_t(1) << 40;  // apart from those of Funcs made otherwise
    body->id = ++ids;
    body->name = f.name;
    body->args = f.args;
    body->types = f.types;
    Linker link(bodies_);
    for (ir::Definition d : f.definitions) {
      for (Expr &e : d.args) e = link.mutate(e);
      for (Expr &e : d.values) e = link.mutate(e);
      if (d.predicate.defined()) d.predicate = link.mutate(d.predicate);
      body->definitions.push_back(std::move(d));
    }
    bodies_[f.name] = body;
    funcs_.emplace(f.name, Func(body));
  }
  Func &func(const std::string &name) {
    const auto it = funcs_.find(name);
    if (it == funcs_.end()) throw NotSayable();
    return it->second;
  }

  // ---- arguments -----------------------------------------------------------------------------------
  static VarOrRVar var(const Arg &a) {
    if (a.kind != Arg::Kind::Name) throw NotSayable();
    return VarOrRVar(Var(a.text), SrcLoc::here());
  }
  static std::vector<VarOrRVar> vars(const std::vector<Arg> &args) {
    std::vector<VarOrRVar> all;
    for (const Arg &a : args) {
      if (a.kind == Arg::Kind::List) return vars(a.items);
      all.push_back(var(a));
    }
    return all;
  }
  static Expr number(const Arg &a) {
    if (a.kind != Arg::Kind::Expr) throw NotSayable();
    return a.expr;
  }
  static TailStrategy tail(const Directive &d, size_t at) {
    TailStrategy t = TailStrategy::Auto;
    if (at < d.args.size() && !schedule::find_tail(d.args[at].text, &t)) throw NotSayable();
    if (d.args.size() > at + 1) throw NotSayable();
    return t;
  }
  template <typename E>
  static E word(const std::string &text, std::initializer_list<std::pair<const char *, E>> all) {
    for (const auto &w : all) {
      if (text == w.first) return w.second;
    }
    throw NotSayable();
  }
  static LoopAlignStrategy align(const Arg &a) {
    return word<LoopAlignStrategy>(a.text, {{"AlignStart", LoopAlignStrategy::AlignStart},
                                            {"AlignEnd", LoopAlignStrategy::AlignEnd},
                                            {"NoAlign", LoopAlignStrategy::NoAlign},
                                            {"Auto", LoopAlignStrategy::Auto}});
  }
  LoopLevel level(const Arg &a) {
    if (a.kind != Arg::Kind::Level) throw NotSayable();
    return LoopLevel(func(a.func), Var(a.text), a.stage);
  }
  static bool flag(const Directive &d, size_t at, bool otherwise) {
    return at < d.args.size() ? d.args[at].text == "true" : otherwise;
  }

  // ---- directives ----------------------------------------------------------------------------------
  void say(const Directive &d) {
    for (const Arg &a : d.args) {
      if (a.kind == Arg::Kind::String && d.kind != DirectiveKind::specialize_fail &&
          d.kind != DirectiveKind::add_trace_tag)
        throw NotSayable();
    }
    Func &f = func(d.func);
    if (d.stage > f.num_update_definitions()) throw NotSayable();  // L0203 at the call
    if (schedule::makes_func(d.kind)) return make(f, d);
    if (schedule::is_func_level(d.kind)) {
      if (d.stage > 0 || !d.under.empty()) throw NotSayable();
      return say_of_func(f, d);
    }
    Stage s(f.function().get(), d.stage, d.under);
    say_of_stage(s, d);
  }

  void make(Func &f, const Directive &d) {
    if (!d.under.empty()) throw NotSayable();
    std::optional<Func> made;
    if (d.kind == DirectiveKind::rfactor) {
      std::vector<std::pair<RVar, Var>> pairs;
      if (d.args.size() == 2 && d.args[0].kind == Arg::Kind::Name) {
        pairs.emplace_back(RVar(d.args[0].text), Var(d.args[1].text));
      } else {
        for (const Arg &item : d.args.at(0).items)
          pairs.emplace_back(RVar(item.key), Var(item.text));
      }
      made = Stage(f.function().get(), d.stage).rfactor(pairs);
    } else {
      std::vector<Func> readers;
      for (const Arg &a : schedule::func_items(d.args)) readers.push_back(func(a.func));
      if (d.kind == DirectiveKind::clone_in) {
        made = f.clone_in(readers);
      } else {
        made = readers.empty() ? f.in() : f.in(readers);
      }
    }
    if (!funcs_.emplace(d.made, *made).second)
      throw NotSayable();  // handles have no names to clash
  }

  void say_of_func(Func &f, const Directive &d) {
    const auto v = [&](size_t i) { return Var(var(d.args.at(i)).text); };
    const auto n = [&](size_t i) { return number(d.args.at(i)); };
    switch (d.kind) {
      case DirectiveKind::compute_root: f.compute_root(); break;
      case DirectiveKind::compute_inline: f.compute_inline(); break;
      case DirectiveKind::compute_at: f.compute_at(level(d.args.at(0))); break;
      case DirectiveKind::store_root: f.store_root(); break;
      case DirectiveKind::store_at: f.store_at(level(d.args.at(0))); break;
      case DirectiveKind::hoist_storage_root: f.hoist_storage_root(); break;
      case DirectiveKind::hoist_storage: f.hoist_storage(level(d.args.at(0))); break;
      case DirectiveKind::bound: f.bound(v(0), n(1), n(2)); break;
      case DirectiveKind::bound_extent: f.bound_extent(v(0), n(1)); break;
      case DirectiveKind::align_bounds:
        f.align_bounds(v(0), n(1), d.args.size() > 2 ? n(2) : Expr());
        break;
      case DirectiveKind::align_extent: f.align_extent(v(0), n(1)); break;
      case DirectiveKind::bound_storage: f.bound_storage(v(0), n(1)); break;
      case DirectiveKind::align_storage: f.align_storage(v(0), n(1)); break;
      case DirectiveKind::fold_storage: f.fold_storage(v(0), n(1), flag(d, 2, true)); break;
      case DirectiveKind::reorder_storage: {
        std::vector<Var> all;
        for (const VarOrRVar &w : vars(d.args)) all.emplace_back(w.text);
        f.reorder_storage(all);
        break;
      }
      case DirectiveKind::store_in:
        f.store_in(word<MemoryType>(d.args.at(0).text, {{"Auto", MemoryType::Auto},
                                                        {"Heap", MemoryType::Heap},
                                                        {"Stack", MemoryType::Stack},
                                                        {"VTCM", MemoryType::VTCM},
                                                        {"GPUShared", MemoryType::GPUShared},
                                                        {"Register", MemoryType::Register}}));
        break;
      case DirectiveKind::memoize:
        if (!d.args.empty()) throw NotSayable();  // a name is no Expr
        f.memoize();
        break;
      case DirectiveKind::trace_loads: f.trace_loads(); break;
      case DirectiveKind::trace_stores: f.trace_stores(); break;
      case DirectiveKind::trace_realizations: f.trace_realizations(); break;
      case DirectiveKind::add_trace_tag: f.add_trace_tag(d.args.at(0).text); break;
      default: throw NotSayable();
    }
  }

  void say_of_stage(Stage &s, const Directive &d) {
    const auto v = [&](size_t i) { return var(d.args.at(i)); };
    const auto n = [&](size_t i) { return number(d.args.at(i)); };
    const bool split = d.args.size() > 1;
    switch (d.kind) {
      case DirectiveKind::split: s.split(v(0), v(1), v(2), n(3), tail(d, 4)); break;
      case DirectiveKind::fuse: s.fuse(v(0), v(1), v(2)); break;
      case DirectiveKind::reorder: s.reorder(vars(d.args)); break;
      case DirectiveKind::tile: tile(s, d); break;
      case DirectiveKind::rename: s.rename(v(0), v(1)); break;
      case DirectiveKind::vectorize:
        split ? s.vectorize(v(0), n(1), tail(d, 2)) : s.vectorize(v(0));
        break;
      case DirectiveKind::unroll: split ? s.unroll(v(0), n(1), tail(d, 2)) : s.unroll(v(0)); break;
      case DirectiveKind::parallel:
        split ? s.parallel(v(0), n(1), tail(d, 2)) : s.parallel(v(0));
        break;
      case DirectiveKind::serial: s.serial(v(0)); break;
      case DirectiveKind::atomic: s.atomic(flag(d, 0, false)); break;
      case DirectiveKind::allow_race_conditions: s.allow_race_conditions(); break;
      case DirectiveKind::specialize: s.specialize(d.args.at(0).expr); break;
      case DirectiveKind::specialize_fail: s.specialize_fail(d.args.at(0).text); break;
      case DirectiveKind::compute_with: compute_with(s, d); break;
      case DirectiveKind::partition:
        s.partition(v(0), word<Partition>(d.args.at(1).text, {{"Auto", Partition::Auto},
                                                              {"Never", Partition::Never},
                                                              {"Always", Partition::Always}}));
        break;
      case DirectiveKind::never_partition: s.never_partition(vars(d.args)); break;
      case DirectiveKind::never_partition_all: s.never_partition_all(); break;
      case DirectiveKind::always_partition: s.always_partition(vars(d.args)); break;
      case DirectiveKind::always_partition_all: s.always_partition_all(); break;
      case DirectiveKind::gpu_blocks: s.gpu_blocks(vars(d.args)); break;
      default: throw NotSayable();
    }
  }

  // In C++ a tile of lists is said as splits and a reorder, whose mistakes are theirs.
  void tile(Stage &s, const Directive &d) {
    if (d.args.at(0).kind == Arg::Kind::List) throw NotSayable();
    const size_t names = d.args.at(4).kind == Arg::Kind::Name ? 6 : 4;
    std::vector<VarOrRVar> v;
    for (size_t i = 0; i < names; i++) v.push_back(var(d.args.at(i)));
    const Expr fx = number(d.args.at(names)), fy = number(d.args.at(names + 1));
    const TailStrategy t = tail(d, names + 2);
    if (names == 6) {
      s.tile(v[0], v[1], v[2], v[3], v[4], v[5], fx, fy, t);
    } else {
      s.tile(v[0], v[1], v[2], v[3], fx, fy, t);
    }
  }

  void compute_with(Stage &s, const Directive &d) {
    const Arg &with = d.args.at(0);
    if (with.kind != Arg::Kind::Level) throw NotSayable();
    const Stage other(func(with.func).function().get(), std::max(with.stage, 0));
    if (d.args.size() < 2) {
      s.compute_with(other, Var(with.text));
    } else if (d.args[1].kind == Arg::Kind::List) {
      LoopAlignments all;
      for (const Arg &item : d.args[1].items) all.emplace_back(Var(item.key), align(item));
      s.compute_with(other, Var(with.text), all);
    } else {
      s.compute_with(other, Var(with.text), align(d.args[1]));
    }
  }

  const ir::Program &p_;
  std::map<std::string, Ref<ir::FunctionBody>> bodies_;
  std::map<std::string, Func> funcs_;
};

// "reads: a, b" in the order of the alphabet: a program built from Funcs may have them in another order.
std::string in_order(const std::string &line) {
  if (line.rfind("reads: ", 0) != 0) return line;
  std::vector<std::string> parts;
  for (size_t at = 7; at <= line.size();) {
    const size_t end = std::min(line.find(", ", at), line.size());
    parts.push_back(line.substr(at, end - at));
    at = end + 2;
  }
  std::sort(parts.begin(), parts.end());
  std::string text;
  for (const std::string &part : parts) text += part + ",";
  return text;
}

// Without the places, which differ: "(case.sched:2:4)" in a text, where a block was used.
std::string reasons(const Diagnostic &d) {
  std::string all;
  for (const Note &n : d.why) {
    if (n.text.rfind("in the named block", 0) == 0) continue;
    std::string text;
    for (size_t at = 0; at < n.text.size(); at++) {
      if (n.text[at] == '(' && (n.text.compare(at, 11, "(case.sched") == 0 ||
                                n.text.find("cpp_calls.cpp", at) < n.text.find(')', at)))
        at = n.text.find(')', at) + 1;
      if (at < n.text.size()) text += n.text[at];
    }
    all += in_order(text) + "\n";
  }
  return all;
}

}  // namespace

CalledSchedule call_schedule(const ir::Program &p, const schedule::Schedule &s, const Target &t) {
  CalledSchedule r;
  try {
    // As the text is resolved: globs are expanded and Funcs made have their names.
    Caller caller(p, schedule::resolve(p, s));
    const Pipeline pipeline = caller.pipeline();
    ir::Program program = driver::program_of(pipeline, t);
    const schedule::Schedule said = driver::schedule_of(pipeline, program);
    schedule::apply(program, said, t, true);
  } catch (const NotSayable &) {
    r.sayable = false;
  } catch (const std::out_of_range &) {  // fewer arguments than any call has
    r.sayable = false;
  } catch (const CompileError &e) {
    r.thrown_code = e.diagnostic().code;
    r.thrown_what = e.diagnostic().what;
    r.thrown_why = reasons(e.diagnostic());
  }
  return r;
}

std::string calls_differ_from_text(const ir::Program &p, const std::string &schedule,
                                   const Target &t) {
  schedule::Schedule s;
  std::string code, what, why;
  // An output of several values is known by its first one in a text.
  const auto normal = [](std::string text) {
    for (size_t at = 0; (at = text.find(".0.", at)) != std::string::npos;) text.erase(at, 2);
    return text;
  };
  try {
    s = schedule::parse_schedule(schedule, "case.sched");
  } catch (const CompileError &) {
    return "";  // no list of directives to say
  }
  try {
    schedule::apply(p, s, t, true);
  } catch (const CompileError &e) {
    code = e.diagnostic().code;
    what = e.diagnostic().what;
    why = reasons(e.diagnostic());
  }
  const CalledSchedule c = call_schedule(p, s, t);
  if (!c.sayable || (c.thrown_code == code && normal(c.thrown_what) == normal(what) &&
                     normal(c.thrown_why) == normal(why)))
    return "";
  return "text: " + code + " " + what + "\n" + why + "calls: " + c.thrown_code + " " +
         c.thrown_what + "\n" + c.thrown_why;
}

}  // namespace calotype::test
