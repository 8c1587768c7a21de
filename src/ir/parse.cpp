// Statements and programs of the text form, on top of expr_parser.cpp. The statements of one block are read in a loop and
// put together from the end, as let, allocate and realize hold to the end of their block; only braces nest.
// Tests: test/unit/ir/parse_test.cpp and print_test.cpp.
#include "parse.h"

#include "../base/stack.h"
#include "expr_parser.h"
#include "spelling.h"

namespace calotype::ir {

namespace {

constexpr size_t kLargestExpr = size_t(1) << 20, kLargestProgram = size_t(1) << 28;

ParseContext program_context() {
  ParseContext cx;
  cx.max_depth =
      20000;  // on a 1 GiB stack: 50 KiB a level; more than 64 MiB confuses the address sanitizer
  cx.code = "L0601";
  cx.limit_code = "L0602";
  return cx;
}

void check_size(const std::string &text, size_t most, const char *code, SrcLoc origin) {
  if (text.size() > most) {
    raise(Diagnostic(code, origin,
                     "the text has " + std::to_string(text.size()) + " bytes, more than " +
                         std::to_string(most)));
  }
}

class Parser : public ExprParser {
public:
  using ExprParser::ExprParser;
  Stmt whole_stmt();
  Program whole_program();

private:
  // A statement of a block that is not put together yet: of opening ones only the head is here.
  struct Line {
    Stmt stmt;
    Name let;  // let: name, value
    Expr value;
    Ref<const Allocate> allocate;
    Ref<const Realize> realize;
  };
  std::vector<std::string> func_names_;

  Stmt block(bool in_braces);
  Stmt assemble(const std::vector<Line> &lines);
  Line line();
  Line let();
  Line allocation();
  Line realization();
  Stmt simple();
  Stmt braces();
  Stmt loop(ForType t);
  Stmt branch();
  Stmt assertion();
  Stmt store_or_value();
  void end_of_line();
  void range(Expr *min, Expr *extent);
  std::vector<Expr> values();
  std::vector<Type> types();
  MemoryType memory();
  Expr guard();  // "if condition", or true
  Expr condition();

  Ref<Parameter> parameter_line(bool declare);
  void attribute(Parameter *p, const Token &key);
  Expr attribute_value();
  Function function(uint64_t id);
  Definition definition(const Function &f);
  void output(Program *p);
};

// --- Blocks ------------------------------------------------------------------------------------------------------

Stmt Parser::whole_stmt() {
  newline_ends_ = true;
  Stmt s = block(false);
  expect_end("the statement");
  return s;
}

Stmt Parser::block(bool in_braces) {
  std::vector<Line> lines;
  while (lexer_.peek().kind != Token::End && !(in_braces && lexer_.peek().is("}")))
    lines.push_back(line());
  return assemble(lines);
}

Stmt Parser::assemble(const std::vector<Line> &lines) {
  Stmt rest;
  for (size_t i = lines.size(); i-- > 0;) {
    const Line &l = lines[i];
    if (l.stmt.defined()) {
      rest = rest.defined() ? make_block(l.stmt, rest) : l.stmt;
      continue;
    }
    if (!rest.defined()) rest = make_no_op();
    if (const Allocate *a = l.allocate.get()) {
      storage_.pop(a->name);
      rest = make_allocate(a->name, a->type, a->memory_type, a->extents, a->condition, rest);
    } else if (const Realize *r = l.realize.get()) {
      storage_.pop(r->name);
      rest = make_realize(r->name, r->types, r->memory_type, r->bounds, r->condition, rest);
    } else {
      vars_.pop(l.let);
      rest = make_let_stmt(l.let, l.value, rest);
    }
  }
  return rest.defined() ? rest : make_no_op();
}

void Parser::end_of_line() {
  const Token &t = lexer_.peek();
  if (t.kind != Token::End && !t.on_new_line && !t.is("}")) fail_unexpected("the end of the line");
}

Parser::Line Parser::line() {
  const Token &t = lexer_.peek();
  Line l;
  if (t.is_word("let"))
    l = let();
  else if (t.is_word("allocate"))
    l = allocation();
  else if (t.is_word("realize"))
    l = realization();
  else
    l.stmt = simple();
  end_of_line();
  return l;
}

Parser::Line Parser::let() {
  Line l;
  lexer_.take();
  l.let = name("a name");
  expect("=");
  l.value = expression();
  vars_.push(l.let, l.value.type());
  return l;
}

Parser::Line Parser::allocation() {
  Line l;
  lexer_.take();
  Ref<Allocate> a = new Allocate;
  a->name = name("a name");
  expect(":");
  a->type = type();
  open("[");
  while (!lexer_.peek().is("]")) {
    if (!a->extents.empty()) expect(",");
    a->extents.push_back(expression());
  }
  close("]");
  a->memory_type = memory();
  a->condition = guard();
  storage_.push(a->name, {a->type.element_of()});
  l.allocate = a;
  return l;
}

Parser::Line Parser::realization() {
  Line l;
  lexer_.take();
  Ref<Realize> r = new Realize;
  r->name = name("a name");
  expect(":");
  r->types = types();
  open("[");
  while (!lexer_.peek().is("]")) {
    if (!r->bounds.empty()) expect(",");
    Range bound;
    range(&bound.min, &bound.extent);
    r->bounds.push_back(bound);
  }
  close("]");
  r->memory_type = memory();
  r->condition = guard();
  storage_.push(r->name, r->types);
  l.realize = r;
  return l;
}

// --- Statements --------------------------------------------------------------------------------------------------

Stmt Parser::simple() {
  const Token t = lexer_.peek();
  ForType loop_type;
  if (t.is("{")) return braces();
  if (t.kind == Token::Identifier && !t.quoted) {
    if (read_for_type(t.text, &loop_type)) return loop(loop_type);
    if (t.text == "if") return branch();
    if (t.text == "assert") return assertion();
    if (t.text == "produce" || t.text == "consume") {
      lexer_.take();
      const Name n = name("the name of a Func");
      Stmt body = braces();
      return t.text == "produce" ? make_producer(n, body) : make_consumer(n, body);
    }
  }
  if (t.kind == Token::Identifier && !t.quoted && (t.text == "atomic" || t.text == "combine")) {
    lexer_.take();
    const Name n = name("the name of a Func");
    const int stage = integer(0, 1 << 20, "the number of a definition");
    return make_atomic(n, stage, t.text == "atomic", braces());
  }
  return store_or_value();
}

Stmt Parser::braces() {
  if (++nesting_ > context_.max_depth)
    fail_limit(lexer_.peek().loc, "statements are nested too deep");
  const int outer = brackets_;
  brackets_ = 0;  // line breaks count again
  expect("{");
  Stmt body = block(true);
  expect("}");
  brackets_ = outer;
  nesting_--;
  return body;
}

void Parser::range(Expr *min, Expr *extent) {
  const SrcLoc at = lexer_.peek().loc;
  *min = expression();
  expect("+:");
  *extent = expression();
  if (min->type() != extent->type()) {
    fail(at, "min and extent have types " + to_string(min->type()) + " and " +
                 to_string(extent->type()));
  }
}

Stmt Parser::loop(ForType t) {
  lexer_.take();
  const Name n = name("the name of a loop");
  Expr min, extent;
  expect_word("in");
  range(&min, &extent);
  ScopedBinding<Type> bind(vars_, n, min.type());
  return make_for(n, min, extent, t, braces());
}

Expr Parser::condition() {
  const SrcLoc at = lexer_.peek().loc;
  Expr c = expression();
  if (!c.type().is_bool()) fail(at, "a condition is bool, not " + to_string(c.type()));
  return c;
}

Expr Parser::guard() { return !ended() && accept_word("if") ? condition() : make_bool(true); }

// A chain of `else if` is read in a loop.
Stmt Parser::branch() {
  std::vector<std::pair<Expr, Stmt>> cases;
  Stmt otherwise;
  lexer_.take();
  while (true) {
    Expr c = condition();
    cases.emplace_back(c, braces());
    if (!lexer_.peek().is_word("else")) break;
    lexer_.take();
    if (accept_word("if")) continue;
    otherwise = braces();
    break;
  }
  for (size_t i = cases.size(); i-- > 0;)
    otherwise = make_if(cases[i].first, cases[i].second, otherwise);
  return otherwise;
}

Stmt Parser::assertion() {
  lexer_.take();
  Expr c = condition();
  expect(",");
  return make_assert(c, expression());
}

std::vector<Expr> Parser::values() {
  std::vector<Expr> vs;
  if (!lexer_.peek().is("{")) return {expression()};
  open("{");
  while (!lexer_.peek().is("}")) {
    if (!vs.empty()) expect(",");
    vs.push_back(expression());
  }
  close("}");
  return vs;
}

// f(x, y) = v, f[i] = v, or an expression for its effects.
Stmt Parser::store_or_value() {
  const SrcLoc at = lexer_.peek().loc;
  Expr left = expression();
  if (!lexer_.peek().is("=") || ended()) return make_evaluate(left);
  const Call *call = left.as<Call>();
  const Load *load = left.as<Load>();
  if (!load && !(call && call->call_type == CallType::Halide && call->value_index == 0)) {
    fail(at, "only f(...) and f[...] can be assigned to");
  }
  lexer_.take();
  if (call) {
    std::vector<Expr> vs = values();
    return make_provide(call->name, std::move(vs), call->args, guard());
  }
  Expr value = expression();
  const int lanes = load->index.type().lanes();
  if (value.type().lanes() != lanes) {
    fail(at, "the value has " + std::to_string(value.type().lanes()) + " lanes, the index " +
                 std::to_string(lanes));
  }
  return make_store(load->name, value, load->index, load->predicate, load->param);
}

std::vector<Type> Parser::types() {
  if (!lexer_.peek().is("{")) return {type()};
  std::vector<Type> ts;
  open("{");
  while (!lexer_.peek().is("}")) {
    if (!ts.empty()) expect(",");
    ts.push_back(type());
  }
  close("}");
  return ts;
}

MemoryType Parser::memory() {
  MemoryType m = MemoryType::Auto;
  if (ended() || !accept_word("in")) return m;
  const Token t = lexer_.peek();
  if (t.kind != Token::Identifier || !read_memory_type(t.text, &m)) {
    fail_unexpected("a place in memory (heap, stack, register, gpu_shared ...)");
  }
  lexer_.take();
  return m;
}

// --- Programs ----------------------------------------------------------------------------------------------------

Program Parser::whole_program() {
  newline_ends_ = true;
  known_funcs_ = &func_names_;
  Program p;
  expect_word("program");
  p.name =
      lexer_.peek().kind == Token::Identifier ? lexer_.take().text : name("the program's name");
  expect("{");
  while (!lexer_.peek().is("}")) {
    const Token t = lexer_.peek();
    if (t.is_word("param"))
      p.params.push_back(parameter_line(true));
    else if (t.is_word("func"))
      p.funcs.push_back(function(p.funcs.size() + 1));
    else if (t.is_word("output"))
      output(&p);
    else
      fail_unexpected("param, func, output or '}'");
    end_of_line();
  }
  expect("}");
  expect_end("the program");
  return p;
}

// param name: type[dimensions] key=value ...
Ref<Parameter> Parser::parameter_line(bool declare) {
  expect_word("param");
  const SrcLoc at = lexer_.peek().loc;
  const std::string n = name("a parameter's name");
  expect(":");
  Ref<Parameter> p = new Parameter;
  p->name = n;
  p->loc = at;
  p->type = type();
  if (accept("[")) {
    p->is_buffer = true;
    p->dimensions = integer(0, 1000, "the number of dimensions");
    p->dims.resize(p->dimensions);
    expect("]");
  }
  // Constraints may name this or other parameters: they get stand-ins of the same names, never the object itself,
  // which would then own itself.
  const auto outer = params_;
  params_.clear();
  while (lexer_.peek().kind == Token::Identifier && !lexer_.peek().on_new_line)
    attribute(p.get(), lexer_.take());
  params_ = outer;
  if (declare) {
    if (params_.count(n)) fail(at, "parameter '" + n + "' is declared twice");
    params_[n] = p;
    storage_.push(n, {p->type});
  }
  return p;
}

Expr Parser::attribute_value() {
  expect("=");
  return expression();
}

void Parser::attribute(Parameter *p, const Token &key) {
  const std::string &k = key.text;
  if (k == "embedded") {
    p->embedded = true;
  } else if (k == "align") {
    expect("=");
    p->host_alignment = integer(1, 1 << 20, "an alignment");
  } else if (k == "bits") {
    const Expr value = attribute_value();
    const uint64_t *bits = as_const_uint(value);
    if (!bits) fail(key.loc, "bits is a u64 constant");
    p->bits = *bits;
    p->is_set = true;
  } else if (k == "min") {
    p->min_value = attribute_value();
  } else if (k == "max") {
    p->max_value = attribute_value();
  } else if (k == "estimate") {
    p->estimate = attribute_value();
  } else {
    for (size_t i = 0; i < p->dims.size(); i++) {
      const std::string dim = "dim" + std::to_string(i) + ".";
      DimConstraint &c = p->dims[i];
      if (k == dim + "min") return void(c.min = attribute_value());
      if (k == dim + "extent") return void(c.extent = attribute_value());
      if (k == dim + "stride") return void(c.stride = attribute_value());
      if (k == dim + "min_estimate") return void(c.min_estimate = attribute_value());
      if (k == dim + "extent_estimate") return void(c.extent_estimate = attribute_value());
    }
    fail(key.loc, "a parameter has no '" + k + "'",
         "embedded, align, bits, min, max, estimate; dim0.min, dim0.extent, dim0.stride, "
         "dim0.min_estimate, ...");
  }
}

Function Parser::function(uint64_t id) {
  Function f;
  f.id = id;
  expect_word("func");
  f.loc = lexer_.peek().loc;
  if (lexer_.peek().kind != Token::Identifier) fail_unexpected("the name of a Func");
  const Token head = lexer_.take();
  f.name = head.text;
  for (const std::string &n : func_names_) {
    if (n == head.text) fail(head.loc, "Func '" + n + "' is declared twice");
  }
  open("(");
  while (!lexer_.peek().is(")")) {
    if (!f.args.empty()) expect(",");
    f.args.push_back(name("an argument"));
  }
  close(")");
  expect(":");
  f.types = types();
  func_names_.push_back(f.name);
  storage_.push(f.name, f.types);
  expect("{");
  while (!lexer_.peek().is("}")) {
    f.definitions.push_back(definition(f));
    end_of_line();
  }
  expect("}");
  if (f.definitions.empty()) fail(head.loc, "Func '" + f.name + "' has no definition");
  return f;
}

Definition Parser::definition(const Function &f) {
  Definition d;
  d.loc = lexer_.peek().loc;
  const Expr left = expression();
  const Call *call = left.as<Call>();
  if (!call || call->call_type != CallType::Halide || call->name != f.name ||
      call->value_index != 0) {
    fail(d.loc, "expected a definition of " + f.name);
  }
  expect("=");
  d.args = call->args;
  d.values = values();
  if (!ended() && accept_word("for")) {
    do {
      ReductionVariable r;
      r.var = name("an RVar");
      expect_word("in");
      range(&r.min, &r.extent);
      d.rvars.push_back(r);
    } while (accept(","));
  }
  if (!ended() && accept_word("if")) d.predicate = condition();
  return d;
}

void Parser::output(Program *p) {
  expect_word("output");
  const Token t = lexer_.peek();
  if (t.kind != Token::Identifier) fail_unexpected("the name of a Func");
  lexer_.take();
  Function *func = nullptr;
  for (Function &f : p->funcs) {
    if (f.name == t.text) func = &f;
  }
  if (!func) fail(t.loc, "no Func '" + t.text + "' is declared above");
  p->outputs.push_back(t.text);
  if (!accept("{")) return;
  while (!lexer_.peek().is("}")) func->outputs.push_back(parameter_line(false)), end_of_line();
  expect("}");
}

}  // namespace

Expr parse_expr_prefix(const std::string &text, size_t *pos, const ParseContext &context,
                       SrcLoc origin) {
  check_size(text, kLargestProgram, context.limit_code, origin);
  ExprParser p(text, *pos, context, origin);
  p.end_at_newline(true);
  Expr e = p.expression();
  *pos = p.last_end();
  return e;
}

Expr parse_expr(const std::string &text, const ParseContext &context, SrcLoc origin) {
  check_size(text, context.max_depth > 256 ? kLargestProgram : kLargestExpr, context.limit_code,
             origin);
  ExprParser p(text, 0, context, origin);
  Expr e = p.expression();
  p.expect_end("the expression");
  return e;
}

Stmt parse_stmt(const std::string &text, SrcLoc origin) {
  const ParseContext cx = program_context();
  check_size(text, kLargestProgram, cx.limit_code, origin);
  Stmt s;
  run_on_large_stack([&] { s = Parser(text, 0, cx, origin).whole_stmt(); });
  return s;
}

Program parse_program(const std::string &text, SrcLoc origin) {
  const ParseContext cx = program_context();
  check_size(text, kLargestProgram, cx.limit_code, origin);
  Program p;
  run_on_large_stack([&] { p = Parser(text, 0, cx, origin).whole_program(); });
  return p;
}

}  // namespace calotype::ir
