// Prints a schedule as a block of C++ statements that Calotype and Halide both compile. RVars are fetched from the Func
// (f.rvars(i)), other loops are declared as Vars or RVars of their names, which both languages compare by name. The inner
// loop that vectorize(x, 8) makes has no name in C++: where a schedule uses it, split and vectorize stand instead.
// Tests: test/unit/schedule/text_test.cpp.
#include <algorithm>
#include <map>
#include <set>

#include "apply.h"
#include "text.h"
#include "value_text.h"

namespace calotype::schedule {

namespace {

const std::set<std::string> &reserved_words() {
  static const auto *words = new std::set<std::string>{
      "auto",     "bool",     "break",     "case",     "char",   "class",    "const",    "default",
      "delete",   "do",       "double",    "else",     "enum",   "extern",   "false",    "float",
      "for",      "goto",     "if",        "inline",   "int",    "long",     "new",      "or",
      "and",      "not",      "xor",       "private",  "public", "register", "return",   "short",
      "signed",   "sizeof",   "static",    "struct",   "switch", "this",     "throw",    "true",
      "try",      "typedef",  "union",     "unsigned", "using",  "void",     "volatile", "while",
      "template", "typename", "namespace", "operator", "friend", "export"};
  return *words;
}

class CppPrinter {
public:
  CppPrinter(const Schedule &s, const ir::Program &p) : s_(resolve(p, s)), p_(p) {
    for (const auto &entry : p.renamed) unnamed_.insert(entry.second);
    for (Directive &d : s_.directives) {
      for (Arg &a : d.args) name_positions(a, a.kind == Arg::Kind::Level ? a.func : d.func);
      for (const Arg &a : d.args) collect_names(a);
    }
    for (const Directive &d : s_.directives) {
      learn_reductions(d);
      subjects_.insert(d.func);
      for (const Arg &a : d.args) note_subjects(a);
    }
  }

  std::string run() {
    std::string body;
    for (const auto &let : s_.lets) {
      body += "  const Expr " + let_name(let.first) + " = " + value(let.second) + ";\n";
    }
    std::string line;
    const Directive *last = nullptr;
    for (const Directive &d : s_.directives) {
      if (!d.made.empty()) {
        if (last) body += line + ";\n";
        last = nullptr;
        body += "  Func " + cpp_name(d.made) + " = " + subject(d) + directive(d) + ";\n";
        continue;
      }
      if (d.kind == DirectiveKind::online) {
        if (last) body += line + ";\n";
        last = nullptr;
        const std::string list = "online_" + cpp_name(d.func);
        body += "  const std::vector<Func> " + list + " = " + subject(d) + directive(d) + ";\n";
        const std::vector<std::string> made = online_funcs(d);
        for (size_t i = 0; i < made.size(); i++) {
          if (subjects_.count(made[i]))
            body += "  Func " + cpp_name(made[i]) + " = " + list + "[" + std::to_string(i) + "];\n";
        }
        continue;
      }
      // A chain returns Func& or Stage&: those of the whole Func are not to be had from a Stage.
      const bool goes_on = last && last->func == d.func && last->stage == d.stage &&
                           last->under.empty() && d.under.empty() && !ends_chain(*last);
      if (!goes_on) {
        if (last) body += line + ";\n";
        line = "  " + subject(d);
      }
      line += directive(d);
      last = &d;
    }
    if (last) body += line + ";\n";
    return "{\n" + declarations() + body + "}\n";
  }

private:
  std::string subject(const Directive &d) {
    std::string text =
        cpp_name(d.func) + (d.stage > 0 ? ".update(" + std::to_string(d.stage - 1) + ")" : "");
    for (const Expr &c : d.under) text += ".specialize(" + value(c) + ")";
    return text;
  }
  static bool ends_chain(const Directive &d) {
    return d.kind == DirectiveKind::specialize || d.kind == DirectiveKind::specialize_fail;
  }

  struct Declared {
    std::string name;
    bool reduction;
    bool operator<(const Declared &o) const {
      return reduction != o.reduction ? o.reduction : name < o.name;
    }
  };
  using Stage = std::pair<std::string, int>;

  // "_0" is the name of dimension 0.
  void name_positions(Arg &a, const std::string &func) {
    for (Arg &item : a.items) name_positions(item, func);
    const ir::Function *f = p_.find(func);
    const bool name = a.kind == Arg::Kind::Name || a.kind == Arg::Kind::Level;
    if (!name || !f || a.text.size() < 2 || a.text.size() > 3 || a.text[0] != '_' ||
        is_dimension(func, a.text))
      return;
    if (a.text.find_first_not_of("0123456789", 1) != std::string::npos) return;
    const size_t k = std::stoul(a.text.substr(1));
    if (k < f->args.size()) a.text = f->args[k];
  }

  void collect_names(const Arg &a) {
    if (a.kind == Arg::Kind::Name || a.kind == Arg::Kind::Level) mentioned_.insert(a.text);
    for (const Arg &item : a.items) collect_names(item);
  }

  const ir::Definition *definition(const std::string &func, int stage) const {
    const ir::Function *f = p_.find(func);
    return f && stage >= 0 && stage < f->stages() ? &f->definitions[stage] : nullptr;
  }

  // The RVar that a name means in a stage, or -1.
  int rvar_index(const std::string &func, int stage, const std::string &name) const {
    const ir::Definition *d = definition(func, stage);
    if (!d) return -1;
    for (size_t i = 0; i < d->rvars.size(); i++) {
      const std::string &var = d->rvars[i].var;
      const size_t dot = var.rfind('.');
      if (var == name ||
          (dot != std::string::npos && var.substr(dot + 1) == name && !is_dimension(func, name))) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
  bool is_dimension(const std::string &func, const std::string &name) const {
    const ir::Function *f = p_.find(func);
    return f && std::find(f->args.begin(), f->args.end(), ir::Name(name)) != f->args.end();
  }
  bool is_reduction(const std::string &func, int stage, const std::string &name) const {
    const auto it = reductions_.find({func, stage});
    return (it != reductions_.end() && it->second.count(name)) ||
           rvar_index(func, stage, name) >= 0;
  }

  // New loops are RVars where the old ones are.
  void learn_reductions(const Directive &d) {
    std::vector<std::string> names;
    bool reduction = false;
    if (d.kind == DirectiveKind::rfactor) return learn_partial(d);
    for (const Arg &a : d.args) flatten(a, &names);
    if (d.kind == DirectiveKind::fuse && names.size() == 3) {
      reduction =
          is_reduction(d.func, d.stage, names[0]) || is_reduction(d.func, d.stage, names[1]);
      if (reduction) reductions_[{d.func, d.stage}].insert(names[2]);
    } else if (d.kind == DirectiveKind::tile) {
      const size_t n =
          d.args.size() > 0 && d.args[0].kind == Arg::Kind::List ? d.args[0].items.size() : 2;
      for (size_t i = 0; i < names.size() && n > 0; i++) mark_if(d, names[i % n], names[i]);
    } else if (!names.empty()) {
      const bool makes = d.kind == DirectiveKind::split || d.kind == DirectiveKind::rename;
      for (size_t i = 1; makes && i < names.size(); i++) mark_if(d, names[0], names[i]);
      for (const char *letter : {".v", ".u", ".t"}) mark_if(d, names[0], names[0] + letter);
    }
  }
  // Loops that rfactor does not keep belong to the partial Func's update.
  void learn_partial(const Directive &d) {
    std::set<std::string> left = reductions_[{d.func, d.stage}];
    if (const ir::Definition *def = definition(d.func, d.stage)) {
      for (const ir::ReductionVariable &r : def->rvars) left.insert(r.var);
    }
    for (const Arg &a : d.args) {
      for (const Arg &item : a.items) left.erase(item.key);
    }
    reductions_[{d.made, 1}] = left;
  }
  void mark_if(const Directive &d, const std::string &old, const std::string &made) {
    if (is_reduction(d.func, d.stage, old) && rvar_index(d.func, d.stage, made) < 0) {
      reductions_[{d.func, d.stage}].insert(made);
    }
  }
  static void flatten(const Arg &a, std::vector<std::string> *names) {
    if (a.kind == Arg::Kind::Name) names->push_back(a.text);
    for (const Arg &item : a.items) flatten(item, names);
  }

  // ---- pieces of C++ -----------------------------------------------------------------------------
  std::string let_name(const std::string &name) const {
    for (const auto &let : s_.lets) {
      if (let.first == name) return cpp_name(name) + "_let";
    }
    return cpp_name(name);
  }
  std::string value(const Expr &e) const {
    return value_text(e, ValueStyle::Cpp, [this](const std::string &n) { return let_name(n); });
  }

  std::string loop(const std::string &func, int stage, const std::string &name) {
    const ir::Function *f = p_.find(func);
    const int r = rvar_index(func, stage, name);
    const auto it = reductions_.find({func, stage});
    const bool derived = it != reductions_.end() && it->second.count(name);
    if (r >= 0 && !derived)
      return cpp_name(func) + ".rvars(" + std::to_string(stage - 1) + ")[" + std::to_string(r) +
             "]";
    // A Var without a name in the program can only be fetched.
    for (size_t i = 0; f && !derived && unnamed_.count(name) && i < f->args.size(); i++) {
      if (f->args[i] == name) return cpp_name(func) + ".args()[" + std::to_string(i) + "]";
    }
    declared_.insert({name, derived});
    return identifier({name, derived});
  }

  // Vars share a scope with the Funcs' variables.
  std::string identifier(const Declared &d) const {
    std::string id = cpp_name(d.name) + (d.reduction ? "_r" : "");
    for (const ir::Function &f : p_.funcs) {
      if (cpp_name(f.name) == id) return id + "_var";
    }
    for (const ir::ParameterRef &param : p_.params) {
      if (cpp_name(param->name) == id) return id + "_var";
    }
    return id;
  }

  std::string declarations() const {
    std::string text;
    for (bool reduction : {false, true}) {
      std::string list;
      for (const Declared &d : declared_) {
        if (d.reduction != reduction) continue;
        std::string name = d.name;  // a dot would mean a Func's own loop to Halide
        std::replace(name.begin(), name.end(), '.', '_');
        list += (list.empty() ? "" : ", ") + identifier(d) + "(\"" + name + "\")";
      }
      if (!list.empty()) text += std::string(reduction ? "  RVar " : "  Var ") + list + ";\n";
    }
    return text;
  }

  std::string level(const Arg &a) {
    if (a.func.empty()) return a.text == "root" ? "LoopLevel::root()" : "LoopLevel::inlined()";
    if (a.text.empty()) return cpp_name(a.func);
    int stage = a.stage;
    const ir::Function *f = p_.find(a.func);
    for (int i = 0; stage < 0 && f && i < f->stages(); i++) {
      if (is_reduction(a.func, i, a.text)) stage = i;
    }
    const std::string var = loop(a.func, std::max(stage, 0), a.text);
    if (a.stage < 0) return cpp_name(a.func) + ", " + var;
    return "LoopLevel(" + cpp_name(a.func) + ", " + var + ", " + std::to_string(a.stage) + ")";
  }

  // The enumeration of the argument at place `i`; empty: no enumerator.
  static std::string enumeration(const Directive &d, size_t i, const Arg &a) {
    const auto &specs = params_of(d.kind);
    if (a.kind == Arg::Kind::Enum && (a.text == "true" || a.text == "false")) return "bool";
    const bool word = i < specs.size() && specs[i].kind == ParamSpec::Kind::Word;
    if (word && (a.kind == Arg::Kind::Enum || a.kind == Arg::Kind::Name)) return specs[i].type;
    return a.kind == Arg::Kind::Enum ? "TailStrategy" : "";
  }

  std::string arg(const Directive &d, const Arg &a, size_t place = SIZE_MAX) {
    const std::string type = enumeration(d, place, a);
    if (!type.empty()) return type == "bool" ? a.text : type + "::" + a.text;
    switch (a.kind) {
      case Arg::Kind::Name: return loop(d.func, d.stage, a.text);
      case Arg::Kind::Expr: return value(a.expr);
      case Arg::Kind::Enum: return a.text;
      case Arg::Kind::Level: return level(a);
      case Arg::Kind::String: return "\"" + a.text + "\"";
      case Arg::Kind::Func: return cpp_name(a.func);
      case Arg::Kind::List: break;
    }
    std::string text = "{";
    for (size_t i = 0; i < a.items.size(); i++) {
      const Arg &item = a.items[i];
      text += i ? ", " : "";
      if (d.kind == DirectiveKind::compute_with && !item.key.empty()) {
        text += "{" + loop(d.func, d.stage, item.key) + ", LoopAlignStrategy::" + item.text + "}";
      } else {
        text += arg(d, item);
      }
    }
    return text + "}";
  }

  // The arguments in the order of directives.def, keys dropped.
  static std::vector<Arg> in_order(const Directive &d) {
    const auto &specs = params_of(d.kind);
    std::vector<Arg> args = d.args;
    std::stable_sort(args.begin(), args.end(), [&](const Arg &a, const Arg &b) {
      const auto rank = [&](const Arg &x) {
        for (size_t i = 0; i < specs.size() && !x.key.empty(); i++) {
          if (specs[i].name == x.key) return static_cast<int>(i);
        }
        return 0;
      };
      return rank(a) < rank(b);
    });
    return args;
  }

  std::string directive(const Directive &d) {
    std::vector<Arg> args = in_order(d);
    const char *name = directive_name(d.kind);
    std::string inner;
    if (d.kind == DirectiveKind::rfactor) return partial(d);
    if (makes_used_loop(d, &inner)) return expanded(d, args, inner);
    std::string text = std::string(".") + name + "(";
    for (size_t i = 0; i < args.size(); i++) text += (i ? ", " : "") + arg(d, args[i], i);
    return text + ")";
  }

  std::string partial(const Directive &d) {
    std::string text;
    for (const Arg &a : d.args) {
      for (const Arg &item : a.items) {
        text += (text.empty() ? "{" : ", {") + loop(d.func, d.stage, item.key) + ", " +
                loop(d.made, 0, item.text) + "}";
      }
    }
    return ".rfactor({" + text + "})";
  }

  void note_subjects(const Arg &a) {
    if (a.kind == Arg::Kind::Func || a.kind == Arg::Kind::Level) subjects_.insert(a.func);
    for (const Arg &item : a.items) note_subjects(item);
  }

  // Is the loop that this vectorize, unroll or parallel makes named elsewhere?
  bool makes_used_loop(const Directive &d, std::string *inner) const {
    const char *letter = d.kind == DirectiveKind::vectorize  ? ".v"
                         : d.kind == DirectiveKind::unroll   ? ".u"
                         : d.kind == DirectiveKind::parallel ? ".t"
                                                             : nullptr;
    if (!letter || d.args.size() < 2) return false;
    *inner = d.args[0].text + letter;
    return mentioned_.count(*inner) > 0;
  }

  std::string expanded(const Directive &d, const std::vector<Arg> &args, const std::string &inner) {
    const std::string old = arg(d, args[0]), made = loop(d.func, d.stage, inner);
    std::string text = ".split(" + old + ", " + old + ", " + made;
    for (size_t i = 1; i < args.size(); i++) text += ", " + arg(d, args[i]);
    const std::string marked = d.kind == DirectiveKind::parallel ? old : made;
    return text + ")." + directive_name(d.kind) + "(" + marked + ")";
  }

  Schedule s_;
  const ir::Program &p_;
  std::set<std::string> mentioned_;
  std::set<std::string> unnamed_;  ///< canonical names of Vars that have none in the program
  std::map<Stage, std::set<std::string>> reductions_;
  std::set<Declared> declared_;
  std::set<std::string> subjects_;  ///< Funcs that directives speak of
};

}  // namespace

std::string cpp_name(const std::string &name) {
  std::string id;
  for (char c : name) {
    const bool word =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (word) {
      id += c;
    } else if (c != ']') {
      id += '_';
    }
  }
  if (id.empty() || (id[0] >= '0' && id[0] <= '9')) id = "_" + id;
  return reserved_words().count(id) ? id + "_" : id;
}

std::string print_schedule_cpp(const Schedule &s, const ir::Program &p) {
  return CppPrinter(s, p).run();
}

}  // namespace calotype::schedule
