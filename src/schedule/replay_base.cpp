// Refusals and arguments (see replay_base.h). Tests: test/unit/schedule/replay_test.cpp.
#include "replay_base.h"

#include <algorithm>
#include <limits>

#include "../ir/equal.h"
#include "../ir/print.h"
#include "../ir/visit.h"
#include "value.h"
#include "value_text.h"

namespace calotype::schedule {

namespace {

const char *arg_word(Arg::Kind k) {
  switch (k) {
    case Arg::Kind::Name: return "a name";
    case Arg::Kind::Expr: return "a number";
    case Arg::Kind::Enum: return "an enumerator";
    case Arg::Kind::List: return "a list";
    case Arg::Kind::Level: return "a loop of a Func";
    case Arg::Kind::String: return "a string";
    case Arg::Kind::Func: return "a Func";
  }
  return "something else";
}

const char *wanted_word(ParamSpec::Kind k) {
  switch (k) {
    case ParamSpec::Kind::Var: return "the name of a loop or dimension";
    case ParamSpec::Kind::NewVar: return "a new name";
    case ParamSpec::Kind::Expr: return "a number";
    case ParamSpec::Kind::Tail: return "a TailStrategy";
    case ParamSpec::Kind::Vars: return "a list of names";
    case ParamSpec::Kind::Level: return "a Func and one of its loops";
    case ParamSpec::Kind::Funcs: return "a list of Funcs";
    case ParamSpec::Kind::Func: return "a Func or an input";
    case ParamSpec::Kind::Word: return "an enumerator";
    case ParamSpec::Kind::Bool: return "true or false";
    case ParamSpec::Kind::String: return "a string";
    case ParamSpec::Kind::Condition: return "a condition";
    case ParamSpec::Kind::Other: return "something else";
  }
  return "something else";
}

}  // namespace

bool ReplayBase::refuse(Diagnostic d) {
  if (result_.legal) result_ = no(std::move(d));
  return false;
}

bool ReplayBase::refuse(const char *code, SrcLoc loc, std::string what, std::string why,
                        std::string help) {
  Diagnostic d(code, loc.defined() ? loc : d_.loc, std::move(what));
  if (!why.empty()) d.why.push_back({std::move(why), {}});
  if (!help.empty()) d.help.push_back(std::move(help));
  return refuse(std::move(d));
}

std::string ReplayBase::subject() const {
  std::string text = stage_name(f_.name, d_.stage);
  for (const Expr &c : under_) text += ".specialize(" + value_text(c, ValueStyle::Schedule) + ")";
  return text;
}

bool ReplayBase::find_specialization(StageState **state) {
  StageState *s = &s_.stages[d_.stage];
  for (const Expr &c : d_.under) {
    Arg condition = Arg::value(c, d_.loc);
    if (!resolve_condition(&condition)) return false;
    auto it = std::find_if(
        s->specializations.begin(), s->specializations.end(),
        [&](const Specialization &sp) { return ir::equal(sp.condition, condition.expr); });
    if (it == s->specializations.end()) {
      return refuse("S0134", d_.loc,
                    subject() + " has no specialization for " + value_text(c, ValueStyle::Schedule),
                    "specialize with this condition was refused, or not said");
    }
    under_.push_back(condition.expr);
    s = &it->state;
  }
  *state = s;
  return true;
}

std::string ReplayBase::directive() const { return directive_name(d_.kind); }

bool ReplayBase::check_subject() {
  if (needs_device(d_.kind)) {
    return refuse("S0130", d_.loc, directive() + " needs a device that the target does not have",
                  "the target is " + cx_.target.to_string() + ", a CPU",
                  "remove it, or keep it in a schedule file for a target that has the device");
  }
  if (s_.substituted.defined()) {
    Diagnostic d("S0108", d_.loc, directive() + " makes no sense on " + f_.name);
    d.why.push_back({"it was substituted into its readers by eager_inline", s_.substituted});
    d.help.push_back("remove one of them");
    return refuse(std::move(d));
  }
  if (d_.stage < 0 || d_.stage >= f_.stages()) return refuse_stage();
  if (is_func_level(d_.kind) && !d_.under.empty()) {
    return refuse(
        "S0108", d_.loc, directive() + " does not belong to one specialization of " + f_.name,
        directive() + " is said of the Func as a whole", f_.name + "." + directive() + "(...)");
  }
  if (is_func_level(d_.kind) && d_.stage > 0) {
    return refuse("S0108", d_.loc, directive() + " does not belong to one update of " + f_.name,
                  directive() + " is said of the Func as a whole",
                  f_.name + "." + directive() + "(...)");
  }
  return true;
}

bool ReplayBase::refuse_stage() {
  const int updates = f_.stages() - 1;
  std::string why = f_.name + " has no update definition";
  if (updates == 1) why = f_.name + " has one update definition: update(0)";
  if (updates > 1) {
    why = f_.name + " has " + std::to_string(updates) +
          " update definitions: update(0) to update(" + std::to_string(updates - 1) + ")";
  }
  return refuse("S0106", d_.loc, "there is no " + subject(), std::move(why));
}

bool ReplayBase::shape_args() {
  if (d_.kind == DirectiveKind::tile) return true;
  const std::vector<ParamSpec> &specs = params_of(d_.kind);
  args_.assign(specs.size(), Arg());
  given_.assign(specs.size(), false);
  if (specs.size() == 1 && specs[0].kind == ParamSpec::Kind::Vars)
    return gather_names(d_.args, &names_);
  size_t next = 0;
  for (const Arg &a : d_.args) {
    size_t i = next;
    if (!a.key.empty()) {
      i = 0;
      while (i < specs.size() && specs[i].name != a.key) i++;
    } else if (i < specs.size() && specs[i].optional && specs[i].kind == ParamSpec::Kind::Expr &&
               a.kind == Arg::Kind::Enum) {
      i++;  // vectorize(x, GuardWithIf) would skip the factor: said below
      return refuse_arity("the tail strategy needs a factor before it", a.loc);
    }
    if (i >= specs.size() || given_[i]) {
      return refuse_arity(
          a.key.empty() ? "there are too many arguments" : "there is no place for " + a.key + "=",
          a.loc);
    }
    if (!convert(a, specs[i], &args_[i])) return false;
    given_[i] = true;
    if (a.key.empty()) next = i + 1;
  }
  for (size_t i = 0; i < specs.size(); i++) {
    if (!given_[i] && !specs[i].optional)
      return refuse_arity("the argument " + specs[i].name + " is missing", {});
  }
  return true;
}

bool ReplayBase::refuse_arity(std::string why, SrcLoc loc) {
  return refuse("S0105", loc, "wrong arguments of " + directive(), std::move(why),
                "it is used as " + signature(d_.kind));
}

bool ReplayBase::convert(const Arg &a, const ParamSpec &spec, Arg *out) {
  *out = a;
  bool fits = false;
  switch (spec.kind) {
    case ParamSpec::Kind::Var:
    case ParamSpec::Kind::NewVar: fits = a.kind == Arg::Kind::Name; break;
    case ParamSpec::Kind::Level: fits = a.kind == Arg::Kind::Level && !a.text.empty(); break;
    case ParamSpec::Kind::Func: fits = a.kind == Arg::Kind::Level && a.text.empty(); break;
    case ParamSpec::Kind::String: fits = a.kind == Arg::Kind::String; break;
    case ParamSpec::Kind::Bool:
      fits = (a.kind == Arg::Kind::Enum || a.kind == Arg::Kind::Name) &&
             (a.text == "true" || a.text == "false");
      break;
    case ParamSpec::Kind::Word: {
      if (a.kind == Arg::Kind::List) return convert_words(a, spec);
      const bool word = a.kind == Arg::Kind::Enum || a.kind == Arg::Kind::Name;
      if (word && !is_word(a.text, spec)) return refuse_word(a, spec);
      fits = word;
      break;
    }
    case ParamSpec::Kind::Condition:
      if (a.kind == Arg::Kind::Name) *out = Arg::value(ir::make_var(a.text), a.loc);
      if (out->kind == Arg::Kind::Expr && out->expr.defined()) return resolve_condition(out);
      break;
    case ParamSpec::Kind::Tail: {
      TailStrategy tail;
      fits = (a.kind == Arg::Kind::Enum || a.kind == Arg::Kind::Name) && find_tail(a.text, &tail);
      if (a.kind == Arg::Kind::Enum && !fits) return refuse_tail_name(a);
      break;
    }
    case ParamSpec::Kind::Expr:
      if (a.kind == Arg::Kind::Name) *out = Arg::value(ir::make_var(a.text), a.loc);
      fits = out->kind == Arg::Kind::Expr && out->expr.defined();
      break;
    case ParamSpec::Kind::Other: fits = a.kind == Arg::Kind::String; break;
    default: break;
  }
  if (!fits) {
    return refuse_arity(spec.name + " is " + arg_word(a.kind) +
                            (a.text.empty() ? "" : " (" + a.text + ")") + ", expected " +
                            wanted_word(spec.kind),
                        a.loc);
  }
  return out->kind != Arg::Kind::Expr || resolve(out);
}

bool ReplayBase::is_word(const std::string &text, const ParamSpec &spec) {
  const auto &words = words_of(spec.type);
  return std::find(words.begin(), words.end(), text) != words.end();
}

// {yo: AlignStart, yi: NoAlign}
bool ReplayBase::convert_words(const Arg &a, const ParamSpec &spec) {
  for (const Arg &item : a.items) {
    const bool word = item.kind == Arg::Kind::Enum || item.kind == Arg::Kind::Name;
    if (item.key.empty() || !word || spec.type != "LoopAlignStrategy")
      return refuse_arity(spec.name + " is a list without loop names", item.loc);
    if (!is_word(item.text, spec)) return refuse_word(item, spec);
  }
  return true;
}

bool ReplayBase::refuse_word(const Arg &a, const ParamSpec &spec) {
  std::string help = "one of";
  for (const std::string &w : words_of(spec.type)) help += " " + w;
  return refuse("S0105", a.loc, "there is no " + spec.type + " " + a.text, {}, std::move(help));
}

bool ReplayBase::refuse_tail_name(const Arg &a) {
  std::vector<std::string> all;
  for (int i = 0; i <= static_cast<int>(TailStrategy::Auto); i++)
    all.push_back(tail_name(static_cast<TailStrategy>(i)));
  std::string help = "one of";
  for (const std::string &name : all) help += " " + name;
  return refuse("S0105", a.loc, "there is no TailStrategy " + a.text, {}, std::move(help));
}

bool ReplayBase::resolve(Arg *a) {
  const ValueScope scope{cx_.program, cx_.target, cx_.lets};
  Diagnostic why;
  Expr e = resolve_value(a->expr, scope, a->loc.defined() ? a->loc : d_.loc, &why);
  if (!e.defined()) return refuse(std::move(why));
  if (!e.type().is_int_or_uint() || !e.type().is_scalar() || e.type().is_bool()) {
    return refuse("S0110", a->loc,
                  "a number in " + directive() + " is no integer: " + ir::to_string(e));
  }
  int64_t value = 0;
  if (constant_value(e, &value)) {
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max()) {
      return refuse("S0110", a->loc, std::to_string(value) + " does not fit 32 bits");
    }
    e = ir::make_int(Int(32), value);
  } else if (!uses_parameters(e)) {
    return refuse("S0110", a->loc, ir::to_string(e) + " does not fit " + to_string(e.type()));
  }
  a->expr = under_conditions(ir::make_cast(Int(32), e), under_);
  return true;
}

bool ReplayBase::resolve_condition(Arg *a) {
  const ValueScope scope{cx_.program, cx_.target, cx_.lets, true};
  Diagnostic why;
  Expr e = resolve_value(a->expr, scope, a->loc.defined() ? a->loc : d_.loc, &why);
  if (!e.defined()) return refuse(std::move(why));
  if (!e.type().is_scalar() || e.type().is_handle()) {
    return refuse("S0110", a->loc, directive() + " takes one condition, not " + ir::to_string(e));
  }
  int64_t value = 0;
  if (!e.type().is_bool()) e = ir::make_ne(e, ir::make_zero(e.type()));
  if (constant_value(e, &value)) e = ir::make_bool(value != 0);
  a->expr = e;
  return true;
}

bool ReplayBase::uses_parameters(const Expr &e) {
  bool uses = false;
  ir::for_each_expr(e, [&](const Expr &x) { uses |= x.as<ir::Variable>() != nullptr; });
  return uses;
}

bool ReplayBase::gather_names(const std::vector<Arg> &args, std::vector<Arg> *out) {
  for (const Arg &a : args) {
    if (a.kind == Arg::Kind::List) {
      if (!gather_names(a.items, out)) return false;
    } else if (a.kind == Arg::Kind::Name && a.key.empty()) {
      out->push_back(a);
    } else {
      return refuse_arity(std::string("expected names, found ") + arg_word(a.kind), a.loc);
    }
  }
  return true;
}

bool ReplayBase::check_positive(const Arg &a, const char *what) {
  const int64_t *value = ir::as_const_int(a.expr);
  if (!value || *value >= 1) return true;
  return refuse("S0110", a.loc,
                std::string(what) + " of " + directive() + " is " + std::to_string(*value),
                "it must be at least 1");
}

Expr ReplayBase::at_least_one(const Expr &e) {
  return ir::as_const_int(e) ? e : ir::make_max(e, ir::make_int(Int(32), 1));
}

}  // namespace calotype::schedule
