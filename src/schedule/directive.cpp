// The tables behind directive records: names, parameters and availability from directives.def, and the makers of
// arguments. Tests: test/unit/schedule/directive_test.cpp.
#include "directive.h"

#include <cstring>
#include <unordered_map>

namespace calotype::schedule {

namespace {

struct Line {
  const char *name, *args, *doc;
};
constexpr Line kLines[] = {
#define DIRECTIVE(name, args, doc) {#name, args, doc},
#include "directives.def"
#undef DIRECTIVE
};
constexpr size_t kCount = sizeof(kLines) / sizeof(kLines[0]);

const Line &line_of(DirectiveKind k) { return kLines[static_cast<size_t>(k)]; }

struct TailLine {
  TailStrategy tail;
  const char *name;
};
constexpr TailLine kTails[] = {
    {TailStrategy::RoundUp, "RoundUp"},
    {TailStrategy::GuardWithIf, "GuardWithIf"},
    {TailStrategy::Predicate, "Predicate"},
    {TailStrategy::PredicateLoads, "PredicateLoads"},
    {TailStrategy::PredicateStores, "PredicateStores"},
    {TailStrategy::ShiftInwards, "ShiftInwards"},
    {TailStrategy::ShiftInwardsAndBlend, "ShiftInwardsAndBlend"},
    {TailStrategy::RoundUpAndBlend, "RoundUpAndBlend"},
    {TailStrategy::Auto, "Auto"},
};

ParamSpec::Kind kind_of_word(const std::string &word) {
  using Kind = ParamSpec::Kind;
  if (word == "var" || word == "rvar") return Kind::Var;
  if (word == "newvar") return Kind::NewVar;
  if (word == "expr") return Kind::Expr;
  if (word == "Tail") return Kind::Tail;
  if (word == "vars") return Kind::Vars;
  if (word == "level") return Kind::Level;
  if (word == "funcs") return Kind::Funcs;
  if (word == "func") return Kind::Func;
  if (word == "bool") return Kind::Bool;
  if (word == "string") return Kind::String;
  if (word == "cond") return Kind::Condition;
  if (!words_of(word).empty()) return Kind::Word;
  return Kind::Other;
}

// "expr lanes?" -> {Expr, "lanes", optional}
ParamSpec parse_param(std::string text) {
  ParamSpec spec;
  if (!text.empty() && text.back() == '?') {
    spec.optional = true;
    text.pop_back();
  }
  const size_t space = text.find(' ');
  spec.kind = kind_of_word(text.substr(0, space));
  spec.name = space == std::string::npos ? text : text.substr(space + 1);
  if (spec.kind == ParamSpec::Kind::Tail) spec.name = "tail";
  if (spec.kind == ParamSpec::Kind::Word) spec.type = text.substr(0, space);
  return spec;
}

std::vector<ParamSpec> parse_params(const std::string &args) {
  std::vector<ParamSpec> specs;
  for (size_t at = 0; at < args.size();) {
    size_t comma = args.find(", ", at);
    if (comma == std::string::npos) comma = args.size();
    specs.push_back(parse_param(args.substr(at, comma - at)));
    at = comma + 2;
  }
  return specs;
}

}  // namespace

const char *directive_name(DirectiveKind k) { return line_of(k).name; }

bool find_directive(const std::string &name, DirectiveKind *kind) {
  static const auto *table = [] {
    auto *t = new std::unordered_map<std::string, DirectiveKind>();
    for (size_t i = 0; i < kCount; i++) (*t)[kLines[i].name] = static_cast<DirectiveKind>(i);
    return t;
  }();
  const auto it = table->find(name);
  if (it == table->end()) return false;
  *kind = it->second;
  return true;
}

std::vector<std::string> directive_names() {
  std::vector<std::string> names;
  for (size_t i = 0; i < kCount; i++) {
    if (is_available(static_cast<DirectiveKind>(i))) names.push_back(kLines[i].name);
  }
  return names;
}

bool needs_device(DirectiveKind k) { return std::strncmp(line_of(k).doc, "device:", 7) == 0; }

bool is_available(DirectiveKind k) {
  return std::strncmp(line_of(k).doc, "later:", 6) != 0 && !needs_device(k);
}

std::string signature(DirectiveKind k) {
  return std::string(line_of(k).name) + "(" + line_of(k).args + ")";
}

bool is_func_level(DirectiveKind k) {
  switch (k) {
    case DirectiveKind::compute_root:
    case DirectiveKind::compute_at:
    case DirectiveKind::compute_inline:
    case DirectiveKind::store_at:
    case DirectiveKind::store_root:
    case DirectiveKind::bound:
    case DirectiveKind::bound_extent:
    case DirectiveKind::align_bounds:
    case DirectiveKind::align_extent:
    case DirectiveKind::reorder_storage:
    case DirectiveKind::memoize:
    case DirectiveKind::trace_loads:
    case DirectiveKind::trace_stores:
    case DirectiveKind::trace_realizations:
    case DirectiveKind::add_trace_tag:
    case DirectiveKind::store_in:
    case DirectiveKind::hoist_storage:
    case DirectiveKind::hoist_storage_root:
    case DirectiveKind::fold_storage:
    case DirectiveKind::align_storage:
    case DirectiveKind::bound_storage: return true;
    default: return false;
  }
}

bool makes_func(DirectiveKind k) {
  return k == DirectiveKind::in || k == DirectiveKind::clone_in || k == DirectiveKind::rfactor;
}

const std::vector<ParamSpec> &params_of(DirectiveKind k) {
  static const auto *table = [] {
    auto *t = new std::vector<std::vector<ParamSpec>>();
    for (const Line &line : kLines) t->push_back(parse_params(line.args));
    return t;
  }();
  return (*table)[static_cast<size_t>(k)];
}

const std::vector<std::string> &words_of(const std::string &type) {
  static const auto *table = new std::unordered_map<std::string, std::vector<std::string>>{
      {"LoopAlignStrategy", {"AlignStart", "AlignEnd", "NoAlign", "Auto"}},
      {"Partition", {"Auto", "Never", "Always"}},
      {"PrefetchBoundStrategy", {"Clamp", "GuardWithIf", "NonFaulting"}},
      {"MemoryType",
       {"Auto", "Heap", "Stack", "Register", "GPUShared", "GPUTexture", "LockedCache", "VTCM",
        "AMXTile"}},
  };
  static const auto *none = new std::vector<std::string>();
  const auto it = table->find(type);
  return it == table->end() ? *none : it->second;
}

bool find_tail(const std::string &name, TailStrategy *tail) {
  for (const TailLine &line : kTails) {
    if (name == line.name) {
      *tail = line.tail;
      return true;
    }
  }
  return false;
}

const char *tail_name(TailStrategy t) {
  for (const TailLine &line : kTails) {
    if (line.tail == t) return line.name;
  }
  return "?";
}

Arg Arg::name(std::string text, SrcLoc loc) {
  Arg a;
  a.text = std::move(text);
  a.loc = loc;
  return a;
}

Arg Arg::value(Expr e, SrcLoc loc) {
  Arg a;
  a.kind = Kind::Expr;
  a.expr = std::move(e);
  a.loc = loc;
  return a;
}

Arg Arg::enumerator(std::string text, SrcLoc loc) {
  Arg a;
  a.kind = Kind::Enum;
  a.text = std::move(text);
  a.loc = loc;
  return a;
}

Arg Arg::list(std::vector<Arg> items, SrcLoc loc) {
  Arg a;
  a.kind = Kind::List;
  a.items = std::move(items);
  a.loc = loc;
  return a;
}

Arg Arg::level(uint64_t func_id, std::string func, int stage, std::string loop, SrcLoc loc) {
  Arg a;
  a.kind = Kind::Level;
  a.func_id = func_id;
  a.func = std::move(func);
  a.stage = stage;
  a.text = std::move(loop);
  a.loc = loc;
  return a;
}

Arg Arg::function(uint64_t func_id, std::string func, SrcLoc loc) {
  Arg a;
  a.kind = Kind::Func;
  a.func_id = func_id;
  a.func = std::move(func);
  a.loc = loc;
  return a;
}

// "g[0]" -> "g_0": part of a name that a `let` may have.
std::string plain(const std::string &name) {
  std::string text;
  for (char c : name) {
    if (c == ']') continue;
    const bool word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    text += word ? c : '_';
  }
  return text;
}

std::vector<Arg> func_items(const std::vector<Arg> &args) {
  std::vector<Arg> funcs;
  for (const Arg &a : args) {
    if (a.kind == Arg::Kind::Func) funcs.push_back(a);
    for (const Arg &item : func_items(a.items)) funcs.push_back(item);
  }
  return funcs;
}

std::vector<Arg> one_or_list(std::vector<Arg> items) {
  if (items.size() <= 1) return items;
  const SrcLoc at = items[0].loc;
  return {Arg::list(std::move(items), at)};
}

std::string default_made_name(const Directive &d) {
  std::string name = plain(d.func) + (d.kind == DirectiveKind::rfactor ? "_by" : "_");
  if (d.kind != DirectiveKind::rfactor) name += directive_name(d.kind);
  for (const Arg &a : func_items(d.args)) name += "_" + plain(a.func);
  if (d.kind != DirectiveKind::rfactor) return name;
  for (const Arg &a : d.args) {
    for (const Arg &item : a.items) name += "_" + plain(item.text);
  }
  if (d.args.size() == 2) name += "_" + plain(d.args[1].text);  // rfactor(r, u)
  return name;
}

std::string part_name(const std::string &func) { return plain(func) + "_part"; }
std::string state_name(const std::string &func) { return plain(func) + "_state"; }

std::vector<std::string> online_funcs(const Directive &d) {
  std::vector<std::string> members, names;
  for (const Arg &a : func_items(d.args)) members.push_back(a.func);
  members.push_back(d.func);
  for (const std::string &m : members) names.push_back(part_name(m));
  for (const std::string &m : members) names.push_back(state_name(m));
  return names;
}

std::vector<std::string> names_made(const Directive &d) {
  if (d.kind == DirectiveKind::online) return online_funcs(d);
  return makes_func(d.kind) ? std::vector<std::string>{d.made} : std::vector<std::string>{};
}

}  // namespace calotype::schedule
