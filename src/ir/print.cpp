// The text form of IR (see print.h). Every construct here has its counterpart in parse.cpp.
// A type is left out where the reader can know it: int32, or the type that an enclosing let, loop, realize, allocate or
// Func declaration gives the name. Tests: test/unit/ir/print_test.cpp.
#include "print.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "../base/stack.h"
#include "spelling.h"
#include "visit.h"

namespace calotype::ir {

namespace {

constexpr int kDeep =
    400;  // nesting that the caller's stack carries; beyond, printing moves to a large one
enum Precedence { kLowest, kOr, kAnd, kEquality, kRelation, kSum, kProduct, kUnary };

struct Operator {
  const char *text;
  Precedence precedence;
};

Operator operator_of(NodeKind k) {
  switch (k) {
    case NodeKind::Or: return {" || ", kOr};
    case NodeKind::And: return {" && ", kAnd};
    case NodeKind::EQ: return {" == ", kEquality};
    case NodeKind::NE: return {" != ", kEquality};
    case NodeKind::LT: return {" < ", kRelation};
    case NodeKind::LE: return {" <= ", kRelation};
    case NodeKind::GT: return {" > ", kRelation};
    case NodeKind::GE: return {" >= ", kRelation};
    case NodeKind::Add: return {" + ", kSum};
    case NodeKind::Sub: return {" - ", kSum};
    case NodeKind::Mul: return {"*", kProduct};
    case NodeKind::Div: return {"/", kProduct};
    case NodeKind::Mod: return {" % ", kProduct};
    default: return {nullptr, kLowest};
  }
}

uint64_t bits_of(double x) {
  uint64_t u;
  std::memcpy(&u, &x, sizeof u);
  return u;
}

// The fewest digits that read back as x, in the precision of the type; independent of the locale.
std::string shortest_digits(double x, bool is_float32) {
  char buffer[40];
  char *end = buffer + sizeof buffer;
  end = (is_float32 ? std::to_chars(buffer, end, static_cast<float>(x))
                    : std::to_chars(buffer, end, x))
            .ptr;
  std::string s(buffer, end);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

std::string quote_string(const std::string &text) {
  static const char digits[] = "0123456789abcdef";
  std::string s = "\"";
  for (char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      s += '\\', s += c;
    else if (c == '\n')
      s += "\\n";
    else if (u < 0x20 || u >= 0x7f)
      s += "\\x", s += digits[u >> 4], s += digits[u & 15];
    else
      s += c;
  }
  return s + "\"";
}

bool always(const Expr &predicate) { return is_const_one(predicate) && predicate.type().is_bool(); }

class Printer {
public:
  std::string out;
  size_t longest = SIZE_MAX;
  bool full() const { return out.size() > longest; }

  void expr(const Expr &e, int precedence = kLowest);
  void stmt(const Stmt &s) { block(s); }
  void program(const Program &p);
  void definition(const Function &f, const Definition &d);
  void declare(const Function &f) { storage_.push(f.name, f.types); }

private:
  int depth_ = 0;
  std::string indent_;
  Scope<Type> vars_;                  // what a bare variable means
  Scope<std::vector<Type>> storage_;  // element types of Funcs, buffers and allocations

  void put(const std::string &s) { out += s; }
  void begin_line() { out += indent_; }
  void end_line() { out += '\n'; }
  void annotate(Type actual, Type implied) {
    if (actual != implied) put(":" + to_string(actual));
  }
  Type storage_type(Name name, int element, int lanes) const {
    const std::vector<Type> *types = storage_.find(name);
    const bool known = types && element >= 0 && static_cast<size_t>(element) < types->size();
    return (known ? (*types)[element] : Int(32)).with_lanes(lanes);
  }
  template <typename List, typename Each> void comma_list(const List &list, Each each) {
    bool first = true;
    for (const auto &item : list) {
      if (full()) return;
      if (!first) put(", ");
      first = false;
      each(item);
    }
  }
  void exprs(const std::vector<Expr> &es) {
    comma_list(es, [&](const Expr &e) { expr(e); });
  }
  void call_text(const std::string &name, const std::vector<Expr> &args) {
    put(name + "(");
    exprs(args);
    put(")");
  }
  void name_with_param(Name name, const ParameterRef &param, NameUse use) {
    if (!param) return put(quote_name(name, use));
    if (param->name == name.str()) return put("@" + quote_name(name, NameUse::Variable));
    put(quote_name(name, use) + "@" + quote_name(param->name, NameUse::Variable));
  }

  void node(const Expr &e, int precedence);
  void float_imm(const FloatImm *op);
  void variable(const Variable *op);
  void call(const Call *op);
  void let(const Expr &e);
  void shuffle(const Shuffle *op);
  void access(Name name, const ParameterRef &param, const Expr &index, const Expr &predicate);

  void block(const Stmt &s);
  Stmt opening(const Stmt &s, std::vector<Name> *lets, std::vector<Name> *stores);
  void statement(const Stmt &s);
  void simple_statement(const Stmt &s);
  void braces(const Stmt &body);
  void loop(const For *op);
  void if_chain(const IfThenElse *op);
  void types(const std::vector<Type> &ts);
  void range(const Expr &min, const Expr &extent);
  void guard(const Expr &condition) {
    if (!always(condition)) put(" if "), expr(condition);
  }
  void values(const std::vector<Expr> &es);
  void function(const Function &f);
  void parameter(const Parameter &p);
  void constraint(const char *key, const Expr &e) {
    if (e.defined()) put(std::string(" ") + key + "="), expr(e);
  }
};

void Printer::expr(const Expr &e, int precedence) {
  if (full()) return;
  if (!e.defined()) return put("undefined");
  if (++depth_ == kDeep) {
    run_on_large_stack([&] { node(e, precedence); });
  } else {
    node(e, precedence);
  }
  depth_--;
}

void Printer::node(const Expr &e, int precedence) {
  const Operator binary = operator_of(e.kind());
  if (binary.text) {
    const Add *op = static_cast<const Add *>(e.get());  // all binary nodes have the same fields
    const bool parentheses = binary.precedence < precedence;
    if (parentheses) put("(");
    expr(op->a, binary.precedence);
    put(binary.text);
    expr(op->b, binary.precedence + 1);
    if (parentheses) put(")");
    return;
  }
  switch (e.kind()) {
    case NodeKind::IntImm:
      put(std::to_string(e.as<IntImm>()->value));
      return annotate(e.type(), Int(32));
    case NodeKind::UIntImm:
      if (e.type().is_bool()) return put(e.as<UIntImm>()->value ? "true" : "false");
      return put(std::to_string(e.as<UIntImm>()->value) + ":" + to_string(e.type()));
    case NodeKind::FloatImm: return float_imm(e.as<FloatImm>());
    case NodeKind::StringImm: return put(quote_string(e.as<StringImm>()->value));
    case NodeKind::Cast: return call_text(to_string(e.type().element_of()), {e.as<Cast>()->value});
    case NodeKind::Reinterpret:
      put("reinterpret(" + to_string(e.type()) + ", ");
      expr(e.as<Reinterpret>()->value);
      return put(")");
    case NodeKind::Variable: return variable(e.as<Variable>());
    case NodeKind::Min: return call_text("min", {e.as<Min>()->a, e.as<Min>()->b});
    case NodeKind::Max: return call_text("max", {e.as<Max>()->a, e.as<Max>()->b});
    case NodeKind::Not: put("!"); return expr(e.as<Not>()->a, kUnary);
    case NodeKind::Select: {
      const Select *op = e.as<Select>();
      return call_text("select", {op->condition, op->true_value, op->false_value});
    }
    case NodeKind::Load: {
      const Load *op = e.as<Load>();
      access(op->name, op->param, op->index, op->predicate);
      return annotate(op->type.element_of(), storage_type(op->name, 0, 1));
    }
    case NodeKind::Ramp: {
      const Ramp *op = e.as<Ramp>();
      put("ramp(");
      exprs({op->base, op->stride});
      return put(", " + std::to_string(op->lanes) + ")");
    }
    case NodeKind::Broadcast:
      return call_text("x" + std::to_string(e.as<Broadcast>()->lanes), {e.as<Broadcast>()->value});
    case NodeKind::Call: return call(e.as<Call>());
    case NodeKind::Let: return let(e);
    case NodeKind::Shuffle: return shuffle(e.as<Shuffle>());
    case NodeKind::VectorReduce:
      put(std::string(reduce_op_word(e.as<VectorReduce>()->op)) + "(");
      expr(e.as<VectorReduce>()->value);
      return put(", " + std::to_string(e.type().lanes()) + ")");
    default: return put("?");
  }
}

void Printer::float_imm(const FloatImm *op) {
  const double x = op->value;
  const Type t = op->type;
  const bool is_float32 = t == Float(32);
  if (std::isnan(x)) {
    const bool plain = bits_of(x) == 0x7ff8000000000000ull;
    char bits[32];
    std::snprintf(bits, sizeof bits, "float_bits(0x%llx)",
                  static_cast<unsigned long long>(bits_of(x)));
    put(plain ? "nan" : bits);
    return annotate(t, Float(64));
  }
  if (std::isinf(x)) {
    put(x < 0 ? "-inf" : "inf");
    return annotate(t, Float(64));
  }
  put(shortest_digits(x, is_float32));
  if (is_float32) return put("f");
  annotate(t, Float(64));
}

void Printer::variable(const Variable *op) {
  name_with_param(op->name, op->param, NameUse::Variable);
  const Type *known = vars_.find(op->name);
  annotate(op->type, op->param ? storage_type(op->name, 0, 1) : known ? *known : Int(32));
}

void Printer::call(const Call *op) {
  switch (op->call_type) {
    case CallType::Extern:
    case CallType::PureExtern:
      put(op->call_type == CallType::Extern ? "extern " : "pure_extern ");
      call_text(quote_name(op->name, NameUse::Call), op->args);
      return annotate(op->type, Int(32));
    case CallType::Intrinsic:
    case CallType::PureIntrinsic:
      call_text(op->name, op->args);
      return annotate(op->type, implied_type(op->op, op->args));
    case CallType::Image:
      name_with_param(op->name, op->param, NameUse::Call);
      call_text("", op->args);
      return annotate(op->type, storage_type(op->name, 0, 1));
    case CallType::Halide:
      call_text(quote_name(op->name, NameUse::Call), op->args);
      if (op->value_index != 0) put("." + std::to_string(op->value_index));
      return annotate(op->type, storage_type(op->name, op->value_index, 1));
  }
}

// A chain of lets shares one pair of parentheses and is printed in a loop.
void Printer::let(const Expr &e) {
  std::vector<Name> names;
  put("(");
  const Expr *body = &e;
  for (const Let *op; (op = body->as<Let>()) && !full(); body = &op->body) {
    put("let " + quote_name(op->name, NameUse::Variable) + " = ");
    expr(op->value);
    put(" in ");
    vars_.push(op->name, op->value.type());
    names.push_back(op->name);
  }
  expr(*body);
  for (Name n : names) vars_.pop(n);
  put(")");
}

void Printer::shuffle(const Shuffle *op) {
  put("shuffle([");
  comma_list(op->indices, [&](int i) { put(std::to_string(i)); });
  put("], ");
  exprs(op->vectors);
  put(")");
}

void Printer::access(Name name, const ParameterRef &param, const Expr &index,
                     const Expr &predicate) {
  name_with_param(name, param, NameUse::Variable);
  put("[");
  expr(index);
  guard(predicate);
  put("]");
}

// --- Statements --------------------------------------------------------------------------------------------------

// Statements of one nesting level, in a loop: Blocks, and the bodies of let, allocate and realize, which hold to the
// end of the level. One of these that ends earlier gets braces of its own.
void Printer::block(const Stmt &s) {
  std::vector<Name> lets, stores;
  Stmt rest = s;
  while (rest.defined() && !full()) {
    if (const Block *b = rest.as<Block>()) {
      const NodeKind k = b->first.defined() ? b->first.kind() : NodeKind::Evaluate;
      const bool opens = k == NodeKind::LetStmt || k == NodeKind::Allocate ||
                         k == NodeKind::Realize || k == NodeKind::Block;
      if (opens) {
        begin_line();
        braces(b->first);
        end_line();
      } else {
        statement(b->first);
      }
      rest = b->rest;
    } else {
      rest = opening(rest, &lets, &stores);
    }
  }
  for (Name n : lets) vars_.pop(n);
  for (Name n : stores) storage_.pop(n);
}

// Prints a statement that may hold to the end of the level and returns its body; undefined for others.
Stmt Printer::opening(const Stmt &s, std::vector<Name> *lets, std::vector<Name> *stores) {
  if (const LetStmt *op = s.as<LetStmt>()) {
    begin_line();
    put("let " + quote_name(op->name, NameUse::Variable) + " = ");
    expr(op->value);
    end_line();
    vars_.push(op->name, op->value.type());
    lets->push_back(op->name);
    return op->body;
  }
  if (const Allocate *op = s.as<Allocate>()) {
    begin_line();
    put("allocate " + quote_name(op->name, NameUse::Variable) + ":" + to_string(op->type) + " [");
    exprs(op->extents);
    put("]");
    if (op->memory_type != MemoryType::Auto)
      put(std::string(" in ") + memory_type_word(op->memory_type));
    guard(op->condition);
    end_line();
    storage_.push(op->name, {op->type.element_of()});
    stores->push_back(op->name);
    return op->body;
  }
  if (const Realize *op = s.as<Realize>()) {
    begin_line();
    put("realize " + quote_name(op->name, NameUse::Variable) + ":");
    types(op->types);
    put(" [");
    comma_list(op->bounds, [&](const Range &r) { range(r.min, r.extent); });
    put("]");
    if (op->memory_type != MemoryType::Auto)
      put(std::string(" in ") + memory_type_word(op->memory_type));
    guard(op->condition);
    end_line();
    storage_.push(op->name, op->types);
    stores->push_back(op->name);
    return op->body;
  }
  statement(s);
  return {};
}

void Printer::statement(const Stmt &s) {
  if (++depth_ == kDeep) {
    run_on_large_stack([&] { simple_statement(s); });
  } else {
    simple_statement(s);
  }
  depth_--;
}

void Printer::simple_statement(const Stmt &s) {
  begin_line();
  if (!s.defined()) {
    put("undefined");
  } else if (const AssertStmt *assertion = s.as<AssertStmt>()) {
    put("assert ");
    exprs({assertion->condition, assertion->message});
  } else if (const ProducerConsumer *pc = s.as<ProducerConsumer>()) {
    put(std::string(pc->is_producer ? "produce " : "consume ") +
        quote_name(pc->name, NameUse::Variable) + " ");
    braces(pc->body);
  } else if (const Atomic *a = s.as<Atomic>()) {
    put(std::string(a->shared ? "atomic " : "combine ") + quote_name(a->name, NameUse::Variable) +
        " " + std::to_string(a->stage) + " ");
    braces(a->body);
  } else if (const For *f = s.as<For>()) {
    loop(f);
  } else if (const Store *store = s.as<Store>()) {
    access(store->name, store->param, store->index, store->predicate);
    put(" = ");
    expr(store->value);
  } else if (const Provide *provide = s.as<Provide>()) {
    call_text(quote_name(provide->name, NameUse::Call), provide->args);
    values(provide->values);
    guard(provide->predicate);
  } else if (const IfThenElse *branch = s.as<IfThenElse>()) {
    if_chain(branch);
  } else if (const Evaluate *evaluate = s.as<Evaluate>()) {
    expr(evaluate->value);
  }
  end_line();
}

void Printer::braces(const Stmt &body) {
  put("{\n");
  indent_ += "  ";
  block(body);
  indent_.resize(indent_.size() - 2);
  begin_line();
  put("}");
}

void Printer::range(const Expr &min, const Expr &extent) {
  expr(min);
  put(" +: ");
  expr(extent);
}

void Printer::loop(const For *op) {
  put(std::string(for_type_word(op->for_type)) + " " + quote_name(op->name, NameUse::Variable) +
      " in ");
  range(op->min, op->extent);
  put(" ");
  ScopedBinding<Type> bind(vars_, op->name, op->min.type());
  braces(op->body);
}

void Printer::if_chain(const IfThenElse *op) {
  while (true) {
    put("if ");
    expr(op->condition);
    put(" ");
    braces(op->then_case);
    if (!op->else_case.defined()) return;
    put(" else ");
    const IfThenElse *next = op->else_case.as<IfThenElse>();
    if (!next) return braces(op->else_case);
    op = next;
  }
}

void Printer::types(const std::vector<Type> &ts) {
  if (ts.size() == 1) return put(to_string(ts[0]));
  put("{");
  comma_list(ts, [&](Type t) { put(to_string(t)); });
  put("}");
}

void Printer::values(const std::vector<Expr> &es) {
  put(" = ");
  if (es.size() == 1) return expr(es[0]);
  put("{");
  exprs(es);
  put("}");
}

// --- Programs ----------------------------------------------------------------------------------------------------

void Printer::definition(const Function &f, const Definition &d) {
  call_text(quote_name(f.name, NameUse::Call), d.args);
  values(d.values);
  if (!d.rvars.empty()) put(" for ");
  comma_list(d.rvars, [&](const ReductionVariable &r) {
    put(quote_name(r.var, NameUse::Variable) + " in ");
    range(r.min, r.extent);
  });
  if (d.predicate.defined()) put(" if "), expr(d.predicate);
}

void Printer::function(const Function &f) {
  begin_line();
  put("func " + quote_name(f.name, NameUse::Call) + "(");
  comma_list(f.args, [&](Name n) { put(quote_name(n, NameUse::Variable)); });
  put("): ");
  types(f.types);
  put(" {\n");
  declare(f);  // stays: later Funcs read it
  indent_ += "  ";
  for (const Definition &d : f.definitions) {
    begin_line();
    definition(f, d);
    end_line();
  }
  indent_.resize(indent_.size() - 2);
  begin_line();
  put("}\n");
}

// "param name: type[dims] key=value ..."
void Printer::parameter(const Parameter &p) {
  begin_line();
  put("param " + quote_name(p.name, NameUse::Variable) + ": " + to_string(p.type));
  if (p.is_buffer) put("[" + std::to_string(p.dimensions) + "]");
  if (p.embedded) put(" embedded");
  if (p.host_alignment != 0) put(" align=" + std::to_string(p.host_alignment));
  if (p.is_set && !p.is_buffer) put(" bits=" + std::to_string(p.bits) + ":u64");
  constraint("min", p.min_value);
  constraint("max", p.max_value);
  constraint("estimate", p.estimate);
  for (size_t i = 0; i < p.dims.size(); i++) {
    const std::string dim = "dim" + std::to_string(i);
    constraint((dim + ".min").c_str(), p.dims[i].min);
    constraint((dim + ".extent").c_str(), p.dims[i].extent);
    constraint((dim + ".stride").c_str(), p.dims[i].stride);
    constraint((dim + ".min_estimate").c_str(), p.dims[i].min_estimate);
    constraint((dim + ".extent_estimate").c_str(), p.dims[i].extent_estimate);
  }
  end_line();
}

void Printer::program(const Program &p) {
  put("program " + quote_name(p.name, NameUse::Call) + " {\n");
  indent_ = "  ";
  for (const ParameterRef &param : p.params) {
    parameter(*param);
    storage_.push(param->name, {param->type});
  }
  for (const Function &f : p.funcs) function(f);
  for (Name name : p.outputs) {
    begin_line();
    put("output " + quote_name(name, NameUse::Call));
    const Function *f = p.find(name);
    if (f && !f->outputs.empty()) {
      put(" {\n");
      indent_ += "  ";
      for (const ParameterRef &param : f->outputs) parameter(*param);
      indent_.resize(indent_.size() - 2);
      begin_line();
      put("}");
    }
    end_line();
  }
  put("}\n");
}

std::string shortened(std::string text, size_t longest) {
  if (text.size() <= longest) return text;
  text.resize(longest);
  return text + "...";
}

}  // namespace

std::string to_string(const Expr &e) {
  Printer p;
  p.expr(e);
  return std::move(p.out);
}

std::string to_string(const Stmt &s) {
  Printer p;
  if (s.defined()) p.stmt(s);
  return std::move(p.out);
}

std::string to_string(const Program &program) {
  Printer p;
  p.program(program);
  return std::move(p.out);
}

std::string to_string(const Function &f) {
  std::string text;
  for (const Definition &d : f.definitions) {
    Printer p;
    p.declare(f);
    p.definition(f, d);
    text += p.out + "\n";
  }
  return text;
}

std::string to_short_string(const Expr &e, size_t longest) {
  Printer p;
  p.longest = longest;
  p.expr(e);
  return shortened(std::move(p.out), longest);
}

std::string to_short_string(const Stmt &s, size_t longest) {
  Printer p;
  p.longest = longest;
  if (s.defined()) p.stmt(s);
  return shortened(p.out.substr(0, p.out.find('\n')), longest);
}

std::ostream &operator<<(std::ostream &o, const Stmt &s) { return o << to_string(s); }

}  // namespace calotype::ir

namespace calotype {
std::ostream &operator<<(std::ostream &o, const Expr &e) { return o << ir::to_string(e); }
}  // namespace calotype
