// in and clone_in: a Func between another one (or an input) and some of its readers. Tests:
// test/unit/schedule/make_funcs_test.cpp.
#include "make_funcs.h"

#include <algorithm>

#include "../ir/visit.h"

namespace calotype::schedule {

namespace {

using ir::Name;

std::string list_text(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 20; i++) text += (i ? ", " : "") + names[i];
  return names.size() > 20 ? text + ", ..." : text;
}

class Wrapping {
public:
  Wrapping(ReplayContext &cx, Scheduled &s, const Directive &d) : cx_(cx), s_(s), d_(d) {}

  Reason run() {
    if (Reason r = find_subject(); !r) return r;
    if (Reason r = find_readers(); !r) return r;
    if (Reason r = check_made_name(s_, d_); !r) return r;
    ir::Function made = clone() ? copy_of(*s_.program.find(d_.func)) : wrapper();
    FuncState state;
    if (clone()) state = s_.of(d_.func);
    for (const auto &[reader, target] : readers_) redirect(reader, target);
    const bool initial = !clone();
    insert_func(s_, subject_, std::move(made), std::move(state));
    if (initial)
      s_.state.funcs[d_.made] = initial_func_state(s_.program, *s_.program.find(d_.made));
    keep_for_extern_readers();
    MadeFunc &note = s_.made[d_.made];
    note.kind = clone() ? MadeFunc::Kind::Clone : MadeFunc::Kind::Wrapper;
    note.of = d_.func;
    note.everywhere = !clone() && d_.args.empty();
    return {};
  }

private:
  // A C function takes buffers: what it reads cannot be substituted away.
  void keep_for_extern_readers() {
    for (const ir::Function &f : s_.program.funcs) {
      if (f.extern_stage() && reads(f, d_.made))
        s_.state.funcs[d_.made].compute.kind = Level::Kind::Root;
    }
  }

  bool clone() const { return d_.kind == DirectiveKind::clone_in; }
  std::string directive() const { return directive_name(d_.kind); }

  int index_of(Name func) const {
    for (size_t i = 0; i < s_.program.funcs.size(); i++) {
      if (s_.program.funcs[i].name == func) return static_cast<int>(i);
    }
    return -1;
  }

  // A Func, or a buffer that the program reads.
  Reason find_subject() {
    subject_ = index_of(d_.func);
    if (subject_ < 0) {
      for (const ir::ParameterRef &p : s_.program.params) {
        if (p->is_buffer && p->name == d_.func) image_ = p;
      }
    }
    const SrcLoc at = d_.func_loc.defined() ? d_.func_loc : d_.loc;
    if (subject_ < 0 && !image_) return no(no_such_func(d_.func, s_.program, at));
    if (subject_ >= 0 && d_.stage == 0) return {};
    if (image_ && !clone() && d_.stage == 0) return {};
    Diagnostic d("S0108", d_.loc,
                 directive() + " makes no sense on " + stage_name(d_.func, d_.stage));
    d.why.push_back({image_ ? d_.func + " is an input: it has no definition to copy"
                            : directive() + " is said of the Func as a whole",
                     {}});
    d.help.push_back(d_.func + (image_ ? ".in(...)" : "." + directive() + "(...)"));
    return no(std::move(d));
  }

  bool reads(const ir::Function &f, Name target) const {
    bool found = false;
    for (const ir::Definition &def : f.definitions) {
      ir::Definition copy = def;
      change_definition(copy, [&](const Expr &e) -> Expr {
        ir::for_each_expr(e, [&](const Expr &x) { found |= is_read(x, target); });
        return e;
      });
    }
    return found;
  }
  bool is_read(const Expr &x, Name target) const {
    const auto *call = x.as<ir::Call>();
    if (!call || call->name != target) return false;
    return target == d_.func && image_ ? call->call_type == ir::CallType::Image
                                       : call->call_type == ir::CallType::Halide;
  }

  // What `f` reads in the subject's stead: itself, or wrappers for all, which give way to one of `f`'s own.
  Name read_as(const ir::Function &f) const {
    if (reads(f, d_.func)) return d_.func;
    for (const auto &made : s_.made) {
      if (made.second.of == d_.func && made.second.everywhere && reads(f, made.first))
        return made.first;
    }
    return {};
  }
  bool is_wrapper(Name func) const {
    const auto it = s_.made.find(func);
    return it != s_.made.end() && it->second.of == d_.func &&
           it->second.kind == MadeFunc::Kind::Wrapper;
  }

  Reason find_readers() {
    const std::vector<Arg> asked = func_items(d_.args);
    std::vector<std::string> all;
    for (const ir::Function &f : s_.program.funcs) {
      if (f.name == d_.func || is_wrapper(f.name)) continue;
      if (reads(f, d_.func)) all.push_back(f.name);
    }
    if (asked.empty()) {
      if (clone()) {
        return no(Diagnostic("S0105", d_.loc, "wrong arguments of clone_in")
                      .because("it needs the Funcs that are to read the copy")
                      .fix("it is used as " + signature(d_.kind)));
      }
      for (const std::string &name : all) readers_.push_back({index_of(name), d_.func});
      return all.empty() ? nobody_reads() : Reason();
    }
    for (const Arg &a : asked) {
      if (Reason r = ask(a, all); !r) return r;
    }
    return {};
  }

  Reason nobody_reads() const {
    Diagnostic d("S0121", d_.loc,
                 "nothing reads " + d_.func + " that " + directive() + " could serve");
    if (s_.program.is_output(d_.func))
      d.why.push_back({"it is an output of " + s_.program.name + ": the caller reads it", {}});
    for (const auto &made : s_.made) {
      if (made.second.of == d_.func)
        d.why.push_back({"its readers read " + made.first + ", made from it before", {}});
    }
    d.help.push_back("remove it");
    return no(std::move(d));
  }

  Reason ask(const Arg &a, const std::vector<std::string> &all) {
    const SrcLoc at = a.loc.defined() ? a.loc : d_.loc;
    const int i = index_of(a.func);
    if (i < 0) return no(no_such_func(a.func, s_.program, at));
    const ir::Function &f = s_.program.funcs[static_cast<size_t>(i)];
    for (const auto &other : readers_) {
      if (other.first == i)
        return no(Diagnostic("S0114", at, directive() + " names " + a.func + " twice")
                      .fix("name each reader once"));
    }
    const Name target = f.name == d_.func ? Name() : read_as(f);
    if (!target.empty()) {
      readers_.push_back({i, target});
      return {};
    }
    Diagnostic d("S0121", at, a.func + " does not read " + d_.func);
    if (f.name == d_.func) d.why.push_back({"a Func's own reads are part of its definition", {}});
    for (const auto &made : s_.made) {
      if (made.second.of == d_.func && reads(f, made.first))
        d.why.push_back(
            {a.func + " reads " + made.first + ", made from " + d_.func + " before", {}});
    }
    d.why.push_back({all.empty() ? "nothing reads it" : "it is read by: " + list_text(all), f.loc});
    for (const std::string &name : all) {
      d.help.push_back("use " + directive() + "(" + name + ")");
      break;
    }
    return no(std::move(d));
  }

  ir::Function wrapper() const {
    ir::Function f;
    f.name = d_.made;
    f.id = d_.made_id;
    f.loc = d_.loc;
    ir::Definition def;
    def.loc = d_.loc;
    if (image_) {
      for (int i = 0; i < image_->dimensions; i++) f.args.push_back("_" + std::to_string(i));
      f.types = {image_->type};
    } else {
      const ir::Function &g = s_.program.funcs[static_cast<size_t>(subject_)];
      f.args = g.args;
      f.types = g.types;
    }
    for (Name v : f.args) def.args.push_back(ir::make_var(v));
    for (size_t i = 0; i < f.types.size(); i++) {
      def.values.push_back(
          image_ ? ir::make_image_call(f.types[i], image_, def.args)
                 : ir::make_func_call(f.types[i], d_.func, def.args, static_cast<int>(i)));
    }
    f.definitions.push_back(std::move(def));
    return f;
  }

  ir::Function copy_of(const ir::Function &g) const {
    ir::Function f = g;
    f.name = d_.made;
    f.id = d_.made_id;
    f.loc = d_.loc;
    f.outputs.clear();
    for (ir::Definition &def : f.definitions)
      change_definition(def, [&](const Expr &e) { return renamed(e, g.name); });
    return f;
  }

  // Reads of `target` become reads of the Func made.
  Expr renamed(const Expr &e, Name target) const {
    return ir::rewrite(e, [&](const Expr &x) -> Expr {
      if (!is_read(x, target)) return x;
      const auto *call = x.as<ir::Call>();
      return ir::make_func_call(call->type, d_.made, call->args, call->value_index);
    });
  }

  void redirect(int reader, Name target) {
    ir::Function &f = s_.program.funcs[static_cast<size_t>(reader)];
    for (ir::Definition &def : f.definitions)
      change_definition(def, [&](const Expr &e) { return renamed(e, target); });
    cx_.order.forget(f.name);
  }

  ReplayContext &cx_;
  Scheduled &s_;
  const Directive &d_;
  int subject_ = -1;                           ///< index of the Func; -1: an input
  ir::ParameterRef image_;                     ///< the input
  std::vector<std::pair<int, Name>> readers_;  ///< index, and what is read now
};

}  // namespace

void change_definition(ir::Definition &d, const std::function<Expr(const Expr &)> &change) {
  const auto each = [&](Expr &e) {
    if (e.defined()) e = change(e);
  };
  for (Expr &e : d.args) each(e);
  for (Expr &e : d.values) each(e);
  for (ir::ReductionVariable &r : d.rvars) {
    each(r.min);
    each(r.extent);
  }
  each(d.predicate);
}

void insert_func(Scheduled &s, int after, ir::Function f, FuncState state) {
  const Name name = f.name;
  s.program.funcs.insert(s.program.funcs.begin() + after + 1, std::move(f));
  s.state.funcs[name] = std::move(state);
}

Reason check_made_name(const Scheduled &s, const Directive &d) {
  const SrcLoc at = d.made_loc.defined() ? d.made_loc : d.loc;
  const ir::Function *f = s.program.find(d.made);
  bool used = f != nullptr;
  for (const ir::ParameterRef &p : s.program.params) used |= p->name == d.made;
  if (!used) return {};
  Diagnostic why("S0109", at, "the name " + d.made + " is already used in " + s.program.name);
  if (f) why.why.push_back({"by this Func", f->loc});
  why.help.push_back("give another one: let NAME = " + stage_name(d.func, d.stage) + "." +
                     directive_name(d.kind) + "(...)");
  return no(std::move(why));
}

Reason make_wrapper_or_clone(ReplayContext &cx, Scheduled &s, const Directive &d) {
  return Wrapping(cx, s, d).run();
}

Reason make_func(ReplayContext &cx, Scheduled &s, const Directive &d) {
  if (d.kind == DirectiveKind::rfactor) return make_partial(cx, s, d);
  return make_wrapper_or_clone(cx, s, d);
}

}  // namespace calotype::schedule
