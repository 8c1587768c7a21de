// Expressions of the text form: precedence climbing over the tokens, building with nodes.h's makers, so that what was
// printed comes back as the same nodes. Operands are checked before the makers see them: text may be anybody's.
// Tests: test/unit/ir/parse_test.cpp.
#include "expr_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "../base/stack.h"
#include "spelling.h"
#include "verify.h"

namespace calotype::ir {

namespace {

constexpr int kMostLanes = 65535;
constexpr int kDeep = 200;       // nesting that the caller's stack carries
constexpr int kChainFactor = 8;  // depth of a tree / depth of nesting

struct Operator {
  const char *text;
  int precedence;
  NodeKind kind;
};
constexpr Operator kOperators[] = {
    {"||", 1, NodeKind::Or}, {"&&", 2, NodeKind::And}, {"==", 3, NodeKind::EQ},
    {"!=", 3, NodeKind::NE}, {"<", 4, NodeKind::LT},   {"<=", 4, NodeKind::LE},
    {">", 4, NodeKind::GT},  {">=", 4, NodeKind::GE},  {"+", 5, NodeKind::Add},
    {"-", 5, NodeKind::Sub}, {"*", 6, NodeKind::Mul},  {"/", 6, NodeKind::Div},
    {"%", 6, NodeKind::Mod}};

const Operator *find_operator(const Token &t) {
  if (t.kind != Token::Punctuation) return nullptr;
  for (const Operator &op : kOperators) {
    if (t.text == op.text) return &op;
  }
  return nullptr;
}

std::string show(const Token &t) {
  if (t.kind == Token::End) return "the end of the text";
  if (t.kind == Token::Bad) return t.text;
  if (t.kind == Token::String) return "a string";
  return "'" + (t.text.size() > 60 ? t.text.substr(0, 60) + "..." : t.text) + "'";
}

}  // namespace

SrcLoc named_origin(SrcLoc origin) {
  if (!origin.file) origin.file = "<text>";
  return origin;
}

struct ExprParser::Nested {
  explicit Nested(ExprParser *parser) : p(parser) {
    if (++p->nesting_ > p->context_.max_depth) {
      p->fail_limit(p->lexer_.peek().loc,
                    "nested deeper than " + std::to_string(p->context_.max_depth) + " levels");
    }
  }
  ~Nested() { p->nesting_--; }
  ExprParser *p;
};

ExprParser::ExprParser(const std::string &text, size_t begin, const ParseContext &context,
                       SrcLoc origin)
    : text_(text), context_(context), origin_(named_origin(origin)), lexer_(text, begin, origin_) {}

// --- Errors and small steps --------------------------------------------------------------------------------------

void ExprParser::fail(SrcLoc at, const std::string &what, const std::string &help) const {
  if (std::strcmp(origin_.file, "<text>") == 0) register_text(origin_.file, text_);
  Diagnostic d(context_.code, at, what);
  if (!help.empty()) d.help.push_back(help);
  raise(std::move(d));
}

void ExprParser::fail_limit(SrcLoc at, const std::string &what) const {
  raise(Diagnostic(context_.limit_code, at, what));
}

void ExprParser::fail_unexpected(const char *expected) const {
  const Token &t = lexer_.peek();
  if (t.kind == Token::Bad) fail(t.loc, t.text);
  fail(t.loc, std::string("expected ") + expected + ", found " + show(t));
}

bool ExprParser::accept(const char *punctuation) {
  if (!lexer_.peek().is(punctuation)) return false;
  lexer_.take();
  return true;
}

bool ExprParser::accept_word(const char *word) {
  if (!lexer_.peek().is_word(word)) return false;
  lexer_.take();
  return true;
}

void ExprParser::expect(const char *punctuation) {
  if (!accept(punctuation)) fail_unexpected((std::string("'") + punctuation + "'").c_str());
}

void ExprParser::expect_word(const char *word) {
  if (!accept_word(word)) fail_unexpected((std::string("'") + word + "'").c_str());
}

void ExprParser::open(const char *punctuation) {
  expect(punctuation);
  brackets_++;
}

void ExprParser::close(const char *punctuation) {
  expect(punctuation);
  brackets_--;
}

bool ExprParser::ended() const {
  return newline_ends_ && brackets_ == 0 && lexer_.peek().on_new_line;
}

void ExprParser::expect_end(const char *after) {
  if (lexer_.peek().kind != Token::End)
    fail_unexpected((std::string("the end after ") + after).c_str());
}

std::string ExprParser::name(const char *what) {
  const Token &t = lexer_.peek();
  if (t.kind != Token::Identifier) fail_unexpected(what);
  if (!t.quoted && is_reserved(t.text, NameUse::Variable)) {
    fail(t.loc, "'" + t.text + "' is a word of the language",
         "write `" + t.text + "` in backquotes for a name");
  }
  return lexer_.take().text;
}

int ExprParser::integer(int least, int most, const char *what) {
  const bool negated = accept("-");
  const Token t = lexer_.peek();
  int value = 0;
  if (t.kind != Token::Number) fail_unexpected(what);
  const char *end = t.text.data() + t.text.size();
  auto [stop, error] = std::from_chars(t.text.data(), end, value);
  if (negated) value = -value;
  if (error != std::errc() || stop != end || value < least || value > most) {
    fail(t.loc, std::string(what) + " must be between " + std::to_string(least) + " and " +
                    std::to_string(most));
  }
  lexer_.take();
  return value;
}

Type ExprParser::type() {
  const Token t = lexer_.peek();
  const Type result = t.kind == Token::Identifier && !t.quoted ? parse_type(t.text) : Type();
  if (result.bits() == 0) fail_unexpected("a type such as i32, u8, f32 or bool");
  lexer_.take();
  return result;
}

Type ExprParser::suffix_or(Type implied) {
  std::string text;
  return lexer_.take_type_suffix(&text) ? parse_type(text) : implied;
}

Type ExprParser::storage_type(const std::string &name, int element) const {
  const std::vector<Type> *types = storage_.find(name);
  return types && static_cast<size_t>(element) < types->size() ? (*types)[element] : Int(32);
}

ParameterRef ExprParser::parameter(const std::string &name, Type t, bool is_buffer, SrcLoc at) {
  Ref<Parameter> &p = params_[name];
  if (!p) {
    p = new Parameter;
    p->name = name;
    p->type = t.element_of();
    p->loc = at;
  }
  p->is_buffer |= is_buffer;
  return p;
}

ExprParser::Parsed ExprParser::finish(Expr e, int depth, SrcLoc at) const {
  if (depth >= kChainFactor * context_.max_depth) {
    fail_limit(at, "more than " + std::to_string(kChainFactor * context_.max_depth) +
                       " operations in one chain");
  }
  return {std::move(e), depth + 1, false};
}

ExprParser::Parsed ExprParser::checked(Expr e, int depth, SrcLoc at) const {
  const std::string problem = node_problem(e);
  if (!problem.empty()) fail(at, problem);
  return finish(std::move(e), depth, at);
}

// --- Operators ---------------------------------------------------------------------------------------------------

Expr ExprParser::expression() { return binary(1).e; }

ExprParser::Parsed ExprParser::binary(int least_precedence) {
  Parsed left = unary();
  while (!ended()) {
    const Operator *op = find_operator(lexer_.peek());
    if (!op || op->precedence < least_precedence) break;
    const Token token = lexer_.take();
    left = combine(token, std::move(left), binary(op->precedence + 1));
  }
  return left;
}

// Gives an untyped constant the type t if t holds it.
void ExprParser::adapt(Parsed &p, Type t) const {
  t = t.element_of();
  if (!p.literal || t == p.e.type()) return;
  if (const IntImm *i = p.e.as<IntImm>()) {
    if (!t.is_bool() && !t.is_handle() && t.can_represent(i->value)) p.e = make_int(t, i->value);
  } else if (const FloatImm *f = p.e.as<FloatImm>()) {
    if (t.is_float()) p.e = make_float(t, f->value);
  }
}

void ExprParser::agree(Parsed &a, Parsed &b, const std::string &op, SrcLoc at) const {
  adapt(a, b.e.type());
  adapt(b, a.e.type());
  const Type x = a.e.type(), y = b.e.type();
  if (x.element_of() != y.element_of() ||
      (x.lanes() != y.lanes() && x.is_vector() && y.is_vector())) {
    fail(at, "the operands of " + op + " have types " + to_string(x) + " and " + to_string(y),
         "convert one, as in " + to_string(x.element_of()) + "(...)");
  }
}

ExprParser::Parsed ExprParser::combine(const Token &op, Parsed a, Parsed b) {
  const NodeKind kind = find_operator(op)->kind;
  agree(a, b, op.text, op.loc);
  const Type t = a.e.type();
  if ((kind == NodeKind::And || kind == NodeKind::Or) && !t.is_bool()) {
    fail(op.loc, op.text + " needs bool operands, not " + to_string(t));
  }
  if (t.is_handle() && kind != NodeKind::EQ && kind != NodeKind::NE) {
    fail(op.loc, op.text + " is not defined for handles");
  }
  return finish(make_binary(kind, a.e, b.e), std::max(a.depth, b.depth), op.loc);
}

ExprParser::Parsed ExprParser::unary() {
  Nested level(this);
  if (nesting_ % kDeep == 0) {  // a nested call runs directly
    Parsed result;
    run_on_large_stack([&] { result = primary(); });
    return result;
  }
  return primary();
}

// --- Operands ----------------------------------------------------------------------------------------------------

ExprParser::Parsed ExprParser::primary() {
  const Token t = lexer_.peek();
  if (t.kind == Token::Number) return number(false);
  if (t.kind == Token::Identifier) return word();
  if (t.kind == Token::String) return {make_string(lexer_.take().text), 1, false};
  if (t.is("(")) return parenthesised();
  if (t.is("@")) {
    lexer_.take();
    const Token token = lexer_.peek();
    name("a parameter's name");
    if (lexer_.peek().is("[") && !ended()) return load(token, token.text, true);
    if (lexer_.peek().is("(") && !ended()) return image(token, token.text);
    return variable(token, token.text, true);
  }
  if (accept("-")) return negative(t.loc);
  if (accept("!")) {
    Parsed a = unary();
    if (!a.e.type().is_bool()) fail(t.loc, "! needs a bool operand, not " + to_string(a.e.type()));
    return finish(make_not(a.e), a.depth, t.loc);
  }
  fail_unexpected("an expression");
}

ExprParser::Parsed ExprParser::negative(SrcLoc at) {
  const Token &t = lexer_.peek();
  if (lexer_.adjacent() && t.kind == Token::Number) return number(true);
  if (lexer_.adjacent() && (t.is_word("inf") || t.is_word("nan")))
    return float_word(lexer_.take(), true);
  Parsed a = unary();
  const Type type = a.e.type();
  if (type.is_bool() || type.is_handle()) fail(at, "- is not defined for " + to_string(type));
  const Expr zero = type.is_float() ? make_float(type, -0.0) : make_zero(type);
  return finish(make_sub(zero, a.e), a.depth, at);
}

ExprParser::Parsed ExprParser::number(bool negated) {
  const Token t = lexer_.take();
  std::string digits = t.text, suffix;
  const bool hex = digits.compare(0, 2, "0x") == 0;
  const bool is_float32 = !hex && digits.back() == 'f';
  if (is_float32) digits.pop_back();
  const bool is_float = is_float32 || (!hex && digits.find_first_of(".eE") != std::string::npos);
  const bool typed = is_float32 || lexer_.take_type_suffix(&suffix);
  Type type = is_float32 ? Float(32) : typed ? parse_type(suffix) : is_float ? Float(64) : Int(32);
  if (type.is_vector() || type.is_handle() || type.is_bool() || (is_float && !type.is_float())) {
    fail(t.loc, "a number cannot have the type " + to_string(type));
  }
  const char *begin = digits.data(), *end = begin + digits.size();
  if (type == Float(32)) {
    float value = 0;
    const auto result = std::from_chars(begin, end, value);
    if (result.ec != std::errc()) fail(t.loc, "the number does not fit f32");
    return {make_float(type, negated ? -value : value), 1, !typed};
  }
  if (type.is_float()) {
    double value = 0;
    const auto result = std::from_chars(begin, end, value);
    if (result.ec != std::errc()) fail(t.loc, "the number does not fit f64");
    return {make_float(type, negated ? -value : value), 1, !typed};
  }
  uint64_t magnitude = 0;
  const auto result = std::from_chars(begin + (hex ? 2 : 0), end, magnitude, hex ? 16 : 10);
  const uint64_t limit = negated ? (type.is_int() ? type.max_uint() + 1 : 0) : type.max_uint();
  if (result.ec != std::errc() || magnitude > limit) {
    fail(t.loc, (negated ? "-" : "") + t.text + " does not fit " + to_string(type),
         typed ? "" : "a wider constant is written with its type, as in " + t.text + ":i64");
  }
  return {make_int(type, static_cast<int64_t>(negated ? 0 - magnitude : magnitude)), 1, !typed};
}

ExprParser::Parsed ExprParser::float_word(const Token &t, bool negated) {
  const Type type = suffix_or(Float(64));
  if (!type.is_float() || type.is_vector())
    fail(t.loc, t.text + " cannot have the type " + to_string(type));
  const double value = t.text == "inf" ? __builtin_inf() : __builtin_nan("");
  return {make_float(type, negated ? -value : value), 1, false};
}

// float_bits(0x7ff8...):f32 is the double of these bits: how unusual NaNs are written.
ExprParser::Parsed ExprParser::float_bits() {
  open("(");
  const Token t = lexer_.take();
  uint64_t bits = 0;
  const bool hex = t.kind == Token::Number && t.text.compare(0, 2, "0x") == 0;
  if (!hex || std::from_chars(t.text.data() + 2, t.text.data() + t.text.size(), bits, 16).ec !=
                  std::errc()) {
    fail(t.loc, "expected the bits of a double in hexadecimal");
  }
  close(")");
  const Type type = suffix_or(Float(64));
  if (!type.is_float() || type.is_vector())
    fail(t.loc, "float_bits cannot have the type " + to_string(type));
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return {make_float(type, value), 1, false};
}

ExprParser::Parsed ExprParser::parenthesised() {
  open("(");
  Parsed inside = lexer_.peek().is_word("let") ? lets() : binary(1);
  close(")");
  return inside;
}

// let a = v in let b = w in body: in a loop, however many there are.
ExprParser::Parsed ExprParser::lets() {
  std::vector<std::pair<Name, Expr>> bound;
  int depth = 0;
  const SrcLoc at = lexer_.peek().loc;
  while (accept_word("let")) {
    const Name n = name("a name");
    expect("=");
    Parsed value = binary(1);
    expect_word("in");
    vars_.push(n, value.e.type());
    depth = std::max(depth, value.depth);
    bound.emplace_back(n, value.e);
  }
  Parsed body = binary(1);
  depth = std::max(depth, body.depth);
  for (size_t i = bound.size(); i-- > 0;) {
    vars_.pop(bound[i].first);
    body = finish(make_let(bound[i].first, bound[i].second, body.e), depth++, at);
  }
  return body;
}

ExprParser::Parsed ExprParser::word() {
  const Token t = lexer_.take();
  if (t.quoted) return named(t);
  if (t.text == "true" || t.text == "false") return {make_bool(t.text == "true"), 1, false};
  if (t.text == "extern" || t.text == "pure_extern") return external(t.text == "pure_extern");
  if (t.text == "float_bits") return float_bits();
  if (t.text == "nan" || t.text == "inf") return float_word(t, false);
  const Type type = parse_type(t.text);
  if (type.bits() > 0) {
    if (!lexer_.peek().is("(") || ended()) return {make_var(t.text), 1, false};  // as in vec(u16)
  } else if (is_reserved(t.text, NameUse::Variable)) {
    fail(t.loc, "'" + t.text + "' is a word of the language",
         "write `" + t.text + "` in backquotes for a name");
  }
  return named(t);
}

ExprParser::Parsed ExprParser::named(const Token &token) {
  std::string param;
  const bool is_param = lexer_.peek().is("@") && lexer_.adjacent();
  if (is_param) {
    lexer_.take();
    param = name("a parameter's name");
  }
  if (lexer_.peek().is("(") && !ended()) return is_param ? image(token, param) : call(token);
  if (lexer_.peek().is("[") && !ended()) return load(token, param, is_param);
  return variable(token, param, is_param);
}

ExprParser::Parsed ExprParser::variable(const Token &token, const std::string &param,
                                        bool is_param) {
  const Type *known = is_param ? nullptr : vars_.find(token.text);
  if (!known && context_.variable) {
    const Expr given = context_.variable(token.text, token.loc);
    if (given.defined()) {
      const Type wanted = suffix_or(given.type());
      if (wanted != given.type())
        fail(token.loc, token.text + " has type " + to_string(given.type()));
      return {given, 1, false};
    }
  }
  const Type t = suffix_or(is_param ? storage_type(token.text, 0) : known ? *known : Int(32));
  // A variable that is named otherwise than its parameter is a field of a buffer: input.min.0@input.
  const bool of_buffer = param != token.text;
  return {make_var(token.text, t, is_param ? parameter(param, t, of_buffer, token.loc) : nullptr),
          1, false};
}

ExprParser::Parsed ExprParser::load(const Token &token, const std::string &param, bool is_param) {
  open("[");
  Parsed index = binary(1), predicate;
  if (accept_word("if")) predicate = binary(1);
  close("]");
  const Type t = suffix_or(storage_type(token.text, 0)).element_of();
  const Type i = index.e.type();
  if (!i.is_int_or_uint() || i.is_bool())
    fail(token.loc, "the index of " + token.text + " is no integer but " + to_string(i));
  if (predicate.e.defined() && predicate.e.type() != Bool(i.lanes())) {
    fail(token.loc, "the predicate has type " + to_string(predicate.e.type()) + ", not " +
                        to_string(Bool(i.lanes())));
  }
  ParameterRef p = is_param ? parameter(param, t, true, token.loc) : nullptr;
  return finish(make_load(t, token.text, index.e, predicate.e, p),
                std::max(index.depth, predicate.depth), token.loc);
}

std::vector<Expr> ExprParser::arguments(int *depth) {
  std::vector<Expr> args;
  *depth = 0;
  open("(");
  while (!lexer_.peek().is(")")) {
    if (!args.empty()) expect(",");
    Parsed p = binary(1);
    *depth = std::max(*depth, p.depth);
    args.push_back(p.e);
  }
  close(")");
  return args;
}

void ExprParser::arity(const std::vector<Expr> &args, size_t n, const Token &token) const {
  if (args.size() == n) return;
  fail(token.loc, token.text + " takes " + std::to_string(n) +
                      (n == 1 ? " argument, not " : " arguments, not ") +
                      std::to_string(args.size()));
}

// --- Calls -------------------------------------------------------------------------------------------------------

ExprParser::Parsed ExprParser::call(const Token &token) {
  if (!token.quoted) {
    bool known = false;
    Parsed p = builtin(token, &known);
    if (known) return p;
  }
  return func(token);
}

ExprParser::Parsed ExprParser::builtin(const Token &token, bool *known) {
  *known = true;
  const std::string &word = token.text;
  ReduceOp reduction;
  if (word == "ramp") return ramp(token.loc);
  if (word == "shuffle") return shuffle(token.loc);
  if (read_reduce_op(word, &reduction)) return reduce(reduction, token.loc);
  const Type cast = parse_type(word);
  const int lanes = read_broadcast_word(word);
  const Intrinsic op = intrinsic_by_name(word);
  int depth = 0;
  if (cast.bits() > 0) {
    const std::vector<Expr> args = arguments(&depth);
    arity(args, 1, token);
    if (cast.is_vector() && cast.lanes() != args[0].type().lanes()) {
      fail(token.loc, "a cast keeps the number of lanes",
           "write x" + std::to_string(cast.lanes()) + "(...) to broadcast");
    }
    return checked(make_cast(cast, args[0]), depth, token.loc);
  }
  if (lanes > 0) {
    const std::vector<Expr> args = arguments(&depth);
    arity(args, 1, token);
    if (int64_t(args[0].type().lanes()) * lanes > kMostLanes) fail(token.loc, "too many lanes");
    return finish(make_broadcast(args[0], lanes), depth, token.loc);
  }
  if (word == "reinterpret") {
    open("(");
    const Type to = type();
    expect(",");
    Parsed value = binary(1);
    close(")");
    const Type from = value.e.type();
    if (to.bits() * to.lanes() != from.bits() * from.lanes()) {
      fail(token.loc, to_string(from) + " and " + to_string(to) + " have different sizes");
    }
    return finish(make_reinterpret(to, value.e), value.depth, token.loc);
  }
  if (word == "min" || word == "max" || word == "select") {
    open("(");
    std::vector<Parsed> args;
    while (!lexer_.peek().is(")")) {
      if (!args.empty()) expect(",");
      args.push_back(binary(1));
      depth = std::max(depth, args.back().depth);
    }
    close(")");
    const size_t n = word == "select" ? 3 : 2;
    arity(std::vector<Expr>(args.size()), n, token);
    Parsed &a = args[n - 2], &b = args[n - 1];
    agree(a, b, word, token.loc);
    if (n == 2) {
      if (a.e.type().is_handle()) fail(token.loc, word + " is not defined for handles");
      return finish(make_binary(word == "min" ? NodeKind::Min : NodeKind::Max, a.e, b.e), depth,
                    token.loc);
    }
    const Type c = args[0].e.type(), t = a.e.type().is_vector() ? a.e.type() : b.e.type();
    if (!c.is_bool())
      fail(token.loc, "the condition of select has type " + to_string(c) + ", not bool");
    if (c.is_vector() && t.is_vector() && c.lanes() != t.lanes())
      fail(token.loc, "select of different lanes");
    return finish(make_select(args[0].e, a.e, b.e), depth, token.loc);
  }
  if (op != Intrinsic::None) {
    const std::vector<Expr> args = arguments(&depth);
    const Type t = suffix_or(implied_type(op, args));
    return checked(make_intrinsic(t, op, args), depth, token.loc);
  }
  *known = false;
  return {};
}

// An image parameter's or embedded image's value.
ExprParser::Parsed ExprParser::image(const Token &token, const std::string &param) {
  int depth = 0;
  const std::vector<Expr> args = arguments(&depth);
  const Type t = suffix_or(storage_type(token.text, 0));
  Ref<Call> n = new Call;
  n->type = t;
  n->name = token.text;
  n->args = args;
  n->call_type = CallType::Image;
  n->op = Intrinsic::None;
  n->value_index = 0;
  n->param = parameter(param, t, true, token.loc);
  return checked(Expr(n.get()), depth, token.loc);
}

ExprParser::Parsed ExprParser::func(const Token &token) {
  int depth = 0;
  std::vector<Expr> args = arguments(&depth);
  const size_t dot = token.text.rfind('.');
  if (context_.member && !token.quoted && dot != std::string::npos) {
    const std::string object = token.text.substr(0, dot), member = token.text.substr(dot + 1);
    const Expr given = context_.member(object, member, args, token.loc);
    if (!given.defined()) fail(token.loc, "'" + object + "' has no '" + member + "'");
    return {given, depth + 1, false};
  }
  if (context_.call && !token.quoted) {
    const Expr given = context_.call(token.text, args, token.loc);
    if (given.defined()) return {given, depth + 1, false};
  }
  if (known_funcs_ &&
      std::find(known_funcs_->begin(), known_funcs_->end(), token.text) == known_funcs_->end()) {
    std::string near;
    for (const std::string &n : nearest_names(token.text, *known_funcs_))
      near += (near.empty() ? "" : ", ") + n;
    fail(token.loc, "no Func '" + token.text + "' is declared above",
         near.empty() ? "" : "did you mean " + near + "?");
  }
  int index = 0;
  if (lexer_.peek().is(".") && lexer_.adjacent()) {
    lexer_.take();
    index = integer(0, 1000, "the number of a Tuple element");
  }
  const Type t = suffix_or(storage_type(token.text, index));
  return checked(make_func_call(t, token.text, std::move(args), index), depth, token.loc);
}

ExprParser::Parsed ExprParser::external(bool pure) {
  const Token token = lexer_.peek();
  if (token.kind != Token::Identifier) fail_unexpected("the name of a C function");
  lexer_.take();
  int depth = 0;
  std::vector<Expr> args = arguments(&depth);
  const Type t = suffix_or(Int(32));
  return finish(make_extern_call(t, token.text, std::move(args), pure), depth, token.loc);
}

ExprParser::Parsed ExprParser::ramp(SrcLoc at) {
  open("(");
  Parsed base = binary(1);
  expect(",");
  Parsed stride = binary(1);
  expect(",");
  const int lanes = integer(2, kMostLanes, "the number of lanes");
  close(")");
  agree(base, stride, "ramp", at);
  if (base.e.type().lanes() != stride.e.type().lanes() ||
      int64_t(base.e.type().lanes()) * lanes > kMostLanes) {
    fail(at, "the base and the stride of a ramp have equal lanes, and at most 65535 in all");
  }
  if (base.e.type().is_handle()) fail(at, "ramp is not defined for handles");
  return finish(make_ramp(base.e, stride.e, lanes), std::max(base.depth, stride.depth), at);
}

ExprParser::Parsed ExprParser::shuffle(SrcLoc at) {
  std::vector<int> indices;
  std::vector<Expr> vectors;
  int depth = 0, lanes = 0;
  open("(");
  open("[");
  while (!lexer_.peek().is("]")) {
    if (!indices.empty()) expect(",");
    indices.push_back(integer(0, INT32_MAX, "the number of a lane"));
  }
  close("]");
  while (accept(",")) {
    Parsed v = binary(1);
    if (!vectors.empty() && v.e.type().element_of() != vectors[0].type().element_of()) {
      fail(at, "shuffle of different types");
    }
    lanes += v.e.type().lanes();
    depth = std::max(depth, v.depth);
    vectors.push_back(v.e);
  }
  close(")");
  if (vectors.empty() || indices.empty() || indices.size() > kMostLanes)
    fail(at, "shuffle needs vectors and lanes");
  for (int i : indices) {
    if (i >= lanes)
      fail(at, "there is no lane " + std::to_string(i) + " among " + std::to_string(lanes));
  }
  return finish(make_shuffle(std::move(vectors), std::move(indices)), depth, at);
}

ExprParser::Parsed ExprParser::reduce(ReduceOp op, SrcLoc at) {
  open("(");
  Parsed value = binary(1);
  expect(",");
  const int lanes = integer(1, kMostLanes, "the number of lanes");
  close(")");
  if (value.e.type().lanes() % lanes != 0)
    fail(at, "the number of lanes does not divide that of the operand");
  return checked(make_vector_reduce(op, value.e, lanes), value.depth, at);
}

}  // namespace calotype::ir
