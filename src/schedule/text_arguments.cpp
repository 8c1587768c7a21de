#include "text_arguments.h"

#include "value.h"

namespace calotype::schedule {

namespace {

constexpr int kMaxDepth = 256;

bool takes_first(DirectiveKind k, ParamSpec::Kind kind) {
  const auto &specs = params_of(k);
  return !specs.empty() && specs[0].kind == kind;
}

ir::ParseContext make_context() {
  ir::ParseContext cx;
  cx.variable = [](const std::string &name, SrcLoc) { return ir::make_var(name); };
  cx.call = [](const std::string &name, const std::vector<Expr> &args, SrcLoc at) -> Expr {
    const auto *v = name == "vec" && args.size() == 1 ? args[0].as<ir::Variable>() : nullptr;
    const Type t = v ? parse_type(v->name) : Type();
    if (t.bits() != 0) return vec_of(t);
    throw CompileError(
        Diagnostic("S0001", at, "a schedule cannot call " + name)
            .fix("there are vec(type), min, max, select, and fields like output.extent(0)"));
  };
  cx.member = [](const std::string &name, const std::string &member, const std::vector<Expr> &args,
                 SrcLoc at) -> Expr {
    static const std::pair<const char *, int> kShort[] = {
        {"width", 0}, {"height", 1}, {"channels", 2}};
    for (const auto &s : kShort) {
      if (args.empty() && member == s.first) return buffer_field(name, "extent", s.second);
    }
    const int64_t *k = args.size() == 1 ? ir::as_const_int(args[0]) : nullptr;
    const bool field = member == "min" || member == "extent" || member == "stride";
    if (field && k && *k >= 0 && *k < 64) return buffer_field(name, member, static_cast<int>(*k));
    throw CompileError(
        Diagnostic("S0001", at, "a buffer has no field " + member)
            .fix("there are min(d), extent(d), stride(d), width(), height(), channels()"));
  };
  return cx;
}

const ir::ParseContext &context() {
  static const ir::ParseContext made = make_context();
  return made;
}

void number_or_tail(Arg &a, bool optional) {
  TailStrategy tail;
  if (optional && find_tail(a.text, &tail)) {
    a.kind = Arg::Kind::Enum;
    return;
  }
  a.kind = Arg::Kind::Expr;
  a.expr = ir::make_var(a.text);
  a.text.clear();
}

// rfactor(r, u) is rfactor({r: u}).
void shape_maker(Directive &d) {
  if (d.args.size() != 2 || d.args[0].kind != Arg::Kind::Name || d.args[1].kind != Arg::Kind::Name)
    return;
  Arg item = d.args[1];
  item.key = d.args[0].text;
  d.args = {Arg::list({item}, d.args[0].loc)};
}

void shape_tile(Directive &d) {
  std::vector<Arg> &args = d.args;
  size_t n = args.size();
  TailStrategy tail;
  if (n > 0 && args[n - 1].kind == Arg::Kind::Name &&
      (find_tail(args[n - 1].text, &tail) || n == 7 || n == 9)) {
    args[n - 1].kind = Arg::Kind::Enum;
  }
  if (n > 0 && args[n - 1].kind == Arg::Kind::Enum) n--;
  if (n == 0) return;
  if (args[0].kind == Arg::Kind::List) {
    for (Arg &a : args[n - 1].items) {
      if (a.kind == Arg::Kind::Name) number_or_tail(a, false);
    }
  } else {
    for (size_t i = n >= 2 ? n - 2 : 0; i < n; i++) {
      if (args[i].kind == Arg::Kind::Name) number_or_tail(args[i], false);
    }
  }
}

// Names that stand for numbers or enumerators become such, as directives.def says.
void shape(Directive &d) {
  if (makes_func(d.kind)) return shape_maker(d);
  if (d.kind == DirectiveKind::tile) return shape_tile(d);
  const auto &specs = params_of(d.kind);
  for (size_t i = 0; i < d.args.size(); i++) {
    Arg &a = d.args[i];
    size_t s = i;
    if (!a.key.empty()) {
      s = 0;
      while (s < specs.size() && specs[s].name != a.key) s++;
    }
    if (s >= specs.size() || a.kind != Arg::Kind::Name) continue;
    const auto kind = specs[s].kind;
    if (kind == ParamSpec::Kind::Expr) number_or_tail(a, specs[s].optional);
    if (kind == ParamSpec::Kind::Condition) number_or_tail(a, false);
    if (kind == ParamSpec::Kind::Tail || kind == ParamSpec::Kind::Word ||
        kind == ParamSpec::Kind::Bool)
      a.kind = Arg::Kind::Enum;
  }
}

}  // namespace

void ArgumentParser::directive_arguments(Directive &d, bool known) {
  depth_ = 1;
  expect('(');
  if (known && d.kind == DirectiveKind::online) {
    online_args(d);
  } else if (known && takes_first(d.kind, ParamSpec::Kind::Level)) {
    level_args(d);
  } else if (known && takes_first(d.kind, ParamSpec::Kind::Funcs)) {
    std::vector<Arg> funcs;
    func_args(funcs, ')');
    d.args = one_or_list(std::move(funcs));
  } else if (known && takes_first(d.kind, ParamSpec::Kind::Func)) {
    func_then_arguments(d);
  } else {
    arguments(d.args, ')');
  }
  depth_ = 0;
  if (known) shape(d);
}

int ArgumentParser::update_index() {
  depth_ = 1;
  expect('(');
  skip_space(true);
  const int index = peek() == ')' ? 0 : integer();
  expect(')');
  depth_ = 0;
  return index;
}

// online(ko, {M, L})
void ArgumentParser::online_args(Directive &d) {
  skip_space(true);
  const size_t start = pos_;
  if (peek() == ')') return arguments(d.args, ')');
  std::string var = dotted();
  d.args.push_back(Arg::name(std::move(var), loc(start, pos_)));
  skip_space(true);
  if (peek() == ')') return arguments(d.args, ')');
  expect(',');
  skip_space(true);
  const size_t list_at = pos_;
  std::vector<Arg> funcs;
  func_args(funcs, ')');
  d.args.push_back(Arg::list(std::move(funcs), loc(list_at, pos_)));
}

// in(), in(g), in({g, h}), in(g, h)
void ArgumentParser::func_args(std::vector<Arg> &out, char close) {
  for (skip_space(true); peek() != close; skip_space(true)) {
    if (peek() == '{' && close == ')') {
      pos_++;
      func_args(out, '}');
    } else {
      const size_t start = pos_;
      std::string name = func_name();
      out.push_back(Arg::function(0, std::move(name), loc(start, pos_)));
    }
    skip_space(true);
    if (peek() == ',') {
      pos_++;
    } else if (peek() != close) {
      throw Mistake{
          syntax(pos_, std::string("expected \",\" or \"") + close + "\", found " + shown())};
    }
  }
  pos_++;
}

// prefetch(input, y, y, 2)
void ArgumentParser::func_then_arguments(Directive &d) {
  skip_space(true);
  if (peek() != ')') {
    const size_t start = pos_;
    const std::string func = func_name();
    d.args.push_back(Arg::level(0, func, -1, {}, loc(start, pos_)));
    d.args.back().func_loc = d.args.back().loc;
    skip_space(true);
    if (peek() == ',') pos_++;
  }
  arguments(d.args, ')');
}

// compute_at(output, yi), compute_at(output.update(0), r.x)
void ArgumentParser::level_args(Directive &d) {
  skip_space(true);
  const size_t start = pos_;
  if (peek() == ')') return arguments(d.args, ')');
  const std::string func = func_name();
  int stage = -1;
  skip_space(true);
  if (peek() == '.') {
    pos_++;
    const size_t at = pos_;
    if (word() != "update") throw Mistake{syntax(at, "expected update(i)")};
    const int outer = depth_;
    stage = update_index() + 1;
    depth_ = outer;
    skip_space(true);
  }
  if (peek() == ')' && (func == "root" || func == "inlined") && stage < 0) {
    d.args.push_back(Arg::level(0, {}, -1, func, loc(start, pos_)));
    pos_++;
    return;
  }
  expect(',');
  skip_space(true);
  const size_t var_at = pos_;
  const std::string var = dotted();
  d.args.push_back(Arg::level(0, func, stage, var, loc(var_at, pos_)));
  d.args.back().func_loc = loc(start, start + func.size());
  skip_space(true);
  if (peek() == ',') pos_++;
  arguments(d.args, ')');
}

void ArgumentParser::arguments(std::vector<Arg> &out, char close) {
  skip_space(true);
  if (peek() == close) {
    pos_++;
    return;
  }
  for (;;) {
    out.push_back(argument(close == '}'));
    skip_space(true);
    if (peek() == close) {
      pos_++;
      return;
    }
    if (peek() != ',')
      throw Mistake{
          syntax(pos_, std::string("expected \",\" or \"") + close + "\", found " + shown())};
    pos_++;
  }
}

Arg ArgumentParser::argument(bool in_list) {
  skip_space(true);
  const size_t start = pos_;
  if (is_name_letter(peek())) {
    const std::string name = dotted();
    skip_space(true);
    const bool key = in_list ? peek() == ':' && peek(1) != ':' : peek() == '=' && peek(1) != '=';
    if (key) {
      pos_++;
      skip_space(true);
      Arg a = value();
      a.key = name;
      return a;
    }
    pos_ = start;
  }
  return value();
}

Arg ArgumentParser::value() {
  const size_t start = pos_;
  if (++depth_ > kMaxDepth) {
    throw CompileError(Diagnostic("S0002", loc(start, start),
                                  "lists nested deeper than " + std::to_string(kMaxDepth)));
  }
  Arg a = value_inside();
  depth_--;
  a.loc = loc(start, pos_);
  return a;
}

Arg ArgumentParser::value_inside() {
  const size_t start = pos_;
  if (peek() == '{') {
    pos_++;
    std::vector<Arg> items;
    arguments(items, '}');
    return Arg::list(std::move(items));
  }
  if (peek() == '"') return string_value();
  if (is_name_letter(peek())) {
    std::string name = dotted();
    if (peek() == ':' && peek(1) == ':' && (name == "TailStrategy" || !words_of(name).empty())) {
      pos_ += 2;
      return Arg::enumerator(word());
    }
    const size_t end = pos_;
    skip_space(true);
    const bool alone = peek() == ',' || peek() == ')' || peek() == '}';
    pos_ = end;
    if (alone) return Arg::name(std::move(name));
    pos_ = start;
  }
  return Arg::value(expression());
}

Arg ArgumentParser::string_value() {
  const size_t start = pos_++;
  std::string s;
  while (peek() != '"') {
    if (peek() == '\0' || peek() == '\n') throw Mistake{syntax(start, "this string has no end")};
    if (peek() == '\\' && peek(1) != '\0') pos_++;
    s += text_[pos_++];
  }
  pos_++;
  Arg a;
  a.kind = Arg::Kind::String;
  a.text = std::move(s);
  return a;
}

Expr ArgumentParser::expression() {
  const size_t start = pos_;
  try {
    return ir::parse_expr_prefix(text_, &pos_, context(), loc(start, start));
  } catch (const CompileError &e) {
    Diagnostic d = e.diagnostic();
    if (d.code.empty() || d.code[0] != 'S') d.code = "S0001";
    if (!d.loc.defined()) d.loc = loc(start, start);
    pos_ = std::max(pos_, start);
    throw Mistake{std::move(d)};
  }
}

}  // namespace calotype::schedule
