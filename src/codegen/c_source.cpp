// Functions, statements and the interface of the CEmitter: see c_emit.h.
#include "c_source.h"

#include "../base/diagnostic.h"
#include "../base/stack.h"
#include "../lang/buffer.h"
#include "c_emit.h"
#include "c_header.h"
#include "metadata.h"

namespace calotype::codegen {

using ir::NodeKind;
using Kind = lower::LoweredArgument::Kind;

namespace {

constexpr int64_t kStackBudget = 16 << 10;  // bytes of one array; beyond that the heap

/// Every name that a statement reads or writes.
class UsedNames : public ir::IRGraphVisitor {
public:
  std::set<ir::Name> names;
  using IRVisitor::visit;
  void visit(const ir::Variable *op) override { names.insert(op->name); }
  void visit(const ir::Load *op) override {
    names.insert(op->name);
    IRVisitor::visit(op);
  }
  void visit(const ir::Store *op) override {
    names.insert(op->name);
    IRVisitor::visit(op);
  }
};

std::string c_name_of(Type t) {
  if (t.bits() == 0) return "void";
  return t.is_handle() ? "const void *" : c_type(t);
}

}  // namespace

CEmitter::CEmitter(const lower::LoweredFunction &f, const Target &t, std::string symbol)
    : f_(f), target_(t), symbol_(std::move(symbol)) {}

// ---- writing ------------------------------------------------------------------------------------------------------

void CEmitter::line(const std::string &text) {
  out_.append(static_cast<size_t>(2 * depth_), ' ');
  out_ += text;
  out_ += '\n';
}
void CEmitter::open(const std::string &text) {
  line(text);
  depth_++;
}
void CEmitter::close(const std::string &text) {
  depth_--;
  line(text);
}

std::string CEmitter::fresh(const std::string &hint) {
  return c_identifier(hint) + "_" + std::to_string(next_++);
}

std::string CEmitter::call_text(const ExternFunction &f, const std::vector<std::string> &args) {
  const std::string name = f.object_name;
  std::string params = f.takes_context ? "void *" : "";
  for (const Type &t : f.params) params += (params.empty() ? "" : ", ") + c_name_of(t);
  const bool allocates = name == "halide_malloc", frees = name == "halide_free",
             loops = name == "halide_do_par_for";
  std::string declaration =
      c_name_of(f.result) + " " + name + "(" + (params.empty() ? "void" : params) + ");";
  if (allocates) declaration = "void *halide_malloc(void *, size_t);";
  if (frees) declaration = "void halide_free(void *, void *);";
  if (loops) {
    declaration =
        "int halide_do_par_for(void *, int (*)(void *, int, uint8_t *), int, int, uint8_t *);";
  }
  externs_.insert(declaration);
  std::string text = name + "(";
  if (f.takes_context) text += "cx";
  for (size_t i = 0; i < args.size(); i++) text += (i || f.takes_context ? ", " : "") + args[i];
  return text + ")";
}

void CEmitter::leave(const std::string &code) {
  if (frees_.empty()) return line("return " + code + ";");
  const std::string name = fresh("code");
  line("const int " + name + " = " + code + ";");
  for (size_t i = frees_.size(); i-- > 0;)
    line(call_text(*find_extern("calo_free"), {frees_[i]}) + ";");
  line("return " + name + ";");
}

std::string CEmitter::error_call(const ir::Call *op) {
  const auto *name = op->args.empty() ? nullptr : op->args[0].as<ir::StringImm>();
  CALO_ASSERT(name != nullptr, "an error without a reporter");
  const std::vector<Expr> rest(op->args.begin() + 1, op->args.end());
  const Expr report = ir::make_extern_call(Int(32), name->value, rest, false);
  return extern_call(report.as<ir::Call>()).text;
}

// ---- statements ---------------------------------------------------------------------------------------------------

void CEmitter::bind(const ir::Name &name, const Expr &value) {
  Symbol s;
  s.wide = value.type().is_scalar() && carries_wide(value);
  const Value v = s.wide ? wide(value) : expr(value);
  s.type = value.type();
  s.text = v.text;
  symbols_.push(name, s);
}

void CEmitter::stmt(const ir::Stmt &s) {
  std::vector<ir::Name> bound;
  for (const ir::BaseStmtNode *at = s.get(); at;) {
    const ir::BaseStmtNode *next = nullptr;
    cache_ = Cache();
    switch (at->node_type) {
      case NodeKind::Block: {
        const auto *op = static_cast<const ir::Block *>(at);
        if (op->first.defined()) stmt(op->first);
        next = op->rest.get();
        break;
      }
      case NodeKind::LetStmt: {
        const auto *op = static_cast<const ir::LetStmt *>(at);
        bind(op->name, op->value);
        bound.push_back(op->name);
        next = op->body.get();
        break;
      }
      case NodeKind::ProducerConsumer:
        next = static_cast<const ir::ProducerConsumer *>(at)->body.get();
        break;
      case NodeKind::AssertStmt: assertion(static_cast<const ir::AssertStmt *>(at)); break;
      case NodeKind::For: loop(static_cast<const ir::For *>(at)); break;
      case NodeKind::Store: store(static_cast<const ir::Store *>(at)); break;
      case NodeKind::Allocate: allocate(static_cast<const ir::Allocate *>(at)); break;
      case NodeKind::IfThenElse: {
        const auto *op = static_cast<const ir::IfThenElse *>(at);
        const Value c = expr(op->condition);
        std::string text = c.text;
        if (c.type.is_vector()) {
          text = fresh("all");
          line("bool " + text + " = true; for (int i = 0; i < " + std::to_string(c.type.lanes()) +
               "; i++) " + text + " &= " + c.text + ".v[i];");
        }
        open("if (" + text + ") {");
        stmt(op->then_case);
        close();
        if (op->else_case.defined()) {
          open("else {");
          stmt(op->else_case);
          close();
        }
        break;
      }
      case NodeKind::Evaluate: {
        const Expr &value = static_cast<const ir::Evaluate *>(at)->value;
        if (!ir::is_const(value)) expr(value);
        break;
      }
      default:
        CALO_ASSERT(false, "a statement that lowering should have removed reached the C back end");
    }
    at = next;
  }
  for (size_t i = bound.size(); i-- > 0;) symbols_.pop(bound[i]);
  cache_ = Cache();
}

void CEmitter::assertion(const ir::AssertStmt *op) {
  if (ir::is_const_one(op->condition)) return;
  const Value c = expr(op->condition);
  const auto *error = ir::as_intrinsic(op->message, ir::Intrinsic::error);
  CALO_ASSERT(error != nullptr, "the message of an assertion is no error call");
  open("if (!" + c.text + ") {");
  leave(error_call(error));
  close();
}

void CEmitter::loop(const ir::For *op) {
  if (op->for_type == ir::ForType::Concurrent)
    raise(Diagnostic("T0103", {}, "no C source for async").fix("-e object has code for it"));
  CALO_ASSERT(op->for_type == ir::ForType::Serial || op->for_type == ir::ForType::Parallel,
              "loop " + op->name.str() + " of this kind should have been lowered");
  const std::string min = wide(op->min).text, extent = wide(op->extent).text;
  if (op->for_type == ir::ForType::Parallel) return parallel_loop(op, min, extent);
  const std::string i = fresh(op->name.str());
  open("for (int64_t " + i + " = " + min + ", end_" + i + " = " + min + " + " + extent + "; " + i +
       " < end_" + i + "; " + i + "++) {");
  symbols_.push(op->name, {i, Int(32), true});
  stmt(op->body);
  symbols_.pop(op->name);
  close();
}

// int BODY(context, i, closure): the closure holds what the body uses of the values around it.
void CEmitter::parallel_loop(const ir::For *op, const std::string &min, const std::string &extent) {
  UsedNames used;
  used.visit_stmt(op->body);
  std::vector<Capture> captured;
  for (const ir::Name &n : used.names) {
    const Symbol *s = n == op->name ? nullptr : symbols_.find(n);
    if (s) captured.push_back({n, *s, s->wide ? "int64_t" : type_name(s->type)});
  }
  const std::string name = fresh(symbol_ + "_" + op->name.str());
  std::string fields, values;
  for (size_t i = 0; i < captured.size(); i++) {
    fields += captured[i].type + " f" + std::to_string(i) + "; ";
    values += (i ? ", " : "") + captured[i].symbol.text;
  }
  if (captured.empty()) {
    fields = "int none; ";
    values = "0";
  }
  const std::string closure = fresh("closure"), code = fresh("code");
  line("const struct " + name + "_closure " + closure + " = {" + values + "};");
  line("const int " + code + " = " +
       call_text(*find_extern("calo_par_for"),
                 {name, "(int)" + min, "(int)" + extent, "(uint8_t *)(uintptr_t)&" + closure}) +
       ";");
  open("if (" + code + " != 0) {");
  leave(code);
  close();

  std::string outer_out, outer_mask;
  ir::Scope<Symbol> outer_symbols;
  std::vector<std::string> outer_frees;
  int outer_depth = 0;
  const auto swap_frames = [&] {
    std::swap(outer_out, out_);
    std::swap(outer_symbols, symbols_);
    std::swap(outer_frees, frees_);
    std::swap(outer_depth, depth_);
  };
  swap_frames();
  line("struct " + name + "_closure { " + fields + "};");
  const std::string type = out_;
  out_.clear();
  open("static int " + name + "(void *cx, int index, uint8_t *data) {");
  line("const struct " + name + "_closure *c = (const struct " + name +
       "_closure *)(const void *)data;");
  line("(void)cx; (void)c;");
  line("const int64_t loop = index;");
  line("(void)loop;");
  for (size_t i = 0; i < captured.size(); i++) {
    Symbol s = captured[i].symbol;
    s.text = fresh(captured[i].name.str());
    line(captured[i].type + " const " + s.text + " = c->f" + std::to_string(i) + ";");
    symbols_.push(captured[i].name, s);
  }
  symbols_.push(op->name, {"loop", Int(32), true});
  stmt(op->body);
  line("return 0;");
  close();
  functions_ += type + out_ + "\n";  // loops inside this one are there already
  swap_frames();
}

void CEmitter::store(const ir::Store *op) {
  const Symbol *memory = symbols_.find(op->name);
  CALO_ASSERT(memory != nullptr, "memory " + op->name.str() + " is not defined where it is used");
  const Value value = expr(op->value), at = wide(op->index);
  const Type t = value.type;
  const std::string i = t.is_vector() ? "i" : "";
  std::string text = "((" + memory_type(t) + " *)" + memory->text + ")[" + lane(at, i) +
                     "] = " + lane(value, i) + ";";
  if (op->predicate.defined() && !ir::is_const_one(op->predicate)) {
    text = "if (" + lane(expr(op->predicate), i) + ") " + text;
  }
  if (t.is_vector()) text = "for (int i = 0; i < " + std::to_string(t.lanes()) + "; i++) " + text;
  line(text);
}

void CEmitter::allocate(const ir::Allocate *op) {
  int64_t bytes = op->type.bytes() * op->type.lanes();
  for (const Expr &e : op->extents) {
    const int64_t *n = ir::as_const_int(e);
    const bool small = n && bytes >= 0 && *n >= 0 && *n <= kStackBudget;
    bytes = small ? bytes * *n : -1;
    if (bytes > kStackBudget) bytes = -1;
  }
  const bool on_stack = bytes >= 0 && op->memory_type != ir::MemoryType::Heap;
  const std::string name = fresh(op->name.str());
  if (on_stack) {
    line("CALO_ALIGNED(64) uint8_t " + name + "[" + std::to_string(std::max<int64_t>(bytes, 1)) +
         "];");
  } else {
    heap_allocation(op, name);
    frees_.push_back(name);
  }
  symbols_.push(op->name, {"(void *)" + name, Handle(), false});
  stmt(op->body);
  symbols_.pop(op->name);
  if (!on_stack) {
    line(call_text(*find_extern("calo_free"), {name}) + ";");
    frees_.pop_back();
  }
}

void CEmitter::heap_allocation(const ir::Allocate *op, const std::string &name) {
  const std::string bytes = fresh("bytes"), wrong = fresh("overflow");
  line("int64_t " + bytes + " = " + std::to_string(op->type.bytes() * op->type.lanes()) +
       "; bool " + wrong + " = false;");
  for (const Expr &e : op->extents) {
    const std::string n = wide(e).text;
    line(wrong + " |= __builtin_mul_overflow(" + bytes + ", " + n + " > 0 ? " + n + " : 0, &" +
         bytes + ");");
  }
  line("if (" + wrong + ") " + bytes + " = -1;");
  std::string wanted = "true";
  if (op->condition.defined()) wanted = expr(op->condition).text;
  line("void *" + name + " = " + wanted + " ? " +
       call_text(*find_extern("calo_malloc"), {"(size_t)" + bytes}) + " : NULL;");
  open("if (" + wanted + " && " + name + " == NULL) {");
  leave(call_text(*find_extern("calo_error_out_of_memory"),
                  {string_text(f_.name.str()), string_text(op->name.str()), bytes}));
  close();
}

// ---- the interface ------------------------------------------------------------------------------------------------

void CEmitter::body_function() {
  std::string params = "void *cx", unused = "(void)cx;";
  for (const lower::LoweredArgument &a : f_.args) {
    const bool scalar = a.kind == Kind::InputScalar;
    const std::string name = fresh(a.name);
    unused += " (void)" + name + ";";
    params += ", " + (scalar ? c_type(a.type) + " " : std::string("void *")) + name;
    if (scalar) {
      symbols_.push(a.name, {name, a.type, false});
    } else {
      symbols_.push(a.name + ".buffer", {name, Handle(), false});
    }
  }
  for (const ir::ParameterRef &p : f_.embedded) {
    symbols_.push(p->name + ".buffer", {embedded_image(*p), Handle(), false});
  }
  open("static int " + symbol_ + "_body(" + params + ") {");
  line(unused);
  stmt(f_.body);
  line("return 0;");
  close();
}

void CEmitter::wrappers() {
  const bool context = target_.has_feature(Target::UserContext);
  std::string args = context ? "(void *)(uintptr_t)_user_context" : "NULL";
  std::string from_list = context ? "*(void **)args[0]" : "NULL";
  for (size_t i = 0; i < f_.args.size(); i++) {
    const lower::LoweredArgument &a = f_.args[i];
    const std::string slot = "args[" + std::to_string(i + context) + "]";
    args += ", _" + c_identifier(a.name);
    from_list +=
        ", " + (a.kind == Kind::InputScalar ? "*(const " + c_type(a.type) + " *)" + slot : slot);
  }
  line("");
  line("struct halide_buffer_t;");
  line("struct halide_filter_metadata_t;");
  line(c_signature(f_, target_, symbol_) + ";");
  line("int " + symbol_ + "_argv(void **args);");
  line("const struct halide_filter_metadata_t *" + symbol_ + "_metadata(void);");
  line("");
  open(c_signature(f_, target_, symbol_) + " {");
  line("return " + symbol_ + "_body(" + args + ");");
  close();
  line("");
  open("int " + symbol_ + "_argv(void **args) {");
  line("(void)args;");
  line("return " + symbol_ + "_body(" + from_list + ");");
  close();
}

void CEmitter::metadata() {
  std::string list;
  const auto facts = argument_facts(f_, target_);
  for (size_t k = 0; k < facts.size(); k++) {
    const ArgumentFacts &a = facts[k];
    const std::string stem = symbol_ + "_argument" + std::to_string(k);
    std::string values;
    int n = 0;
    for (const auto &bits : {a.value, a.min, a.max, a.estimate}) {
      const std::string name = stem + "_value" + std::to_string(n++);
      if (bits) line("static const uint64_t " + name + " = " + std::to_string(*bits) + "ULL;");
      values += bits ? ", &" + name : ", NULL";
    }
    std::string estimates = "NULL";
    if (!a.estimates.empty()) {
      std::string pointers;
      for (size_t i = 0; i < a.estimates.size(); i++) {
        const std::string name = stem + "_estimate" + std::to_string(i);
        if (a.estimates[i])
          line("static const int64_t " + name + " = " + literal_text(Int(64), *a.estimates[i]) +
               ";");
        pointers += (i ? ", " : "") + (a.estimates[i] ? "&" + name : std::string("NULL"));
      }
      estimates = stem + "_estimates";
      line("static const int64_t *const " + estimates + "[] = {" + pointers + "};");
    }
    list += "  {" + string_text(a.name) + ", " + std::to_string(a.kind) + ", " +
            std::to_string(a.dimensions) + ", " + std::to_string(a.type) + "u" + values + ", " +
            estimates + "},\n";
  }
  if (!facts.empty())
    line("static const calo_argument " + symbol_ + "_arguments[] = {\n" + list + "};");
  line("");
  open("const struct halide_filter_metadata_t *" + symbol_ + "_metadata(void) {");
  line("static const calo_metadata all = {" +
       std::to_string(int(halide_filter_metadata_t::VERSION)) + ", " +
       std::to_string(facts.size()) + ", " + (facts.empty() ? "NULL" : symbol_ + "_arguments") +
       ", " + string_text(target_.to_string()) + ", " + string_text(symbol_) + "};");
  line("return (const struct halide_filter_metadata_t *)(const void *)&all;");
  close();
}

/// Defines a buffer over a dense copy of the image; gives a pointer to it.
std::string CEmitter::embedded_image(const ir::Parameter &p) {
  const lang::RuntimeBuffer dense = lang::RuntimeBuffer(*p.buffer->raw()).copy();
  const halide_buffer_t &raw = *dense.raw_buffer();
  const size_t bytes = raw.size_in_bytes();
  const std::string name = fresh(symbol_ + "_" + p.name);
  std::string text = "CALO_ALIGNED(128) static const uint8_t " + name + "_data[] = {";
  for (size_t i = 0; i < std::max<size_t>(bytes, 1); i++) {
    text += (i % 32 == 0 ? "\n  " : "") + std::to_string(i < bytes ? raw.begin()[i] : 0) + ",";
  }
  text += "};\nstatic const calo_dim " + name + "_dims[] = {";
  for (int d = 0; d < raw.dimensions; d++) {
    const halide_dimension_t &at = raw.dim[d];
    text += "{" + std::to_string(at.min) + ", " + std::to_string(at.extent) + ", " +
            std::to_string(at.stride) + ", 0}, ";
  }
  if (raw.dimensions == 0) text += "{0, 0, 0, 0}";
  text += "};\nstatic const calo_buffer " + name + " = {0, NULL, (uint8_t *)(uintptr_t)(" + name +
          "_data + " + std::to_string(raw.host - raw.begin()) + "), 0, " +
          std::to_string(raw.type.as_u32()) + "u, " + std::to_string(raw.dimensions) +
          ", (calo_dim *)(uintptr_t)" + name + "_dims, NULL};\n";
  functions_ += text;
  return "(void *)(uintptr_t)&" + name;
}

std::string CEmitter::head() {
  std::string s = "/* " + symbol_ + ", written by Calotype for " + target_.to_string() +
                  ".\n * cc -O3 -ffp-contract=off " + symbol_ +
                  ".c ... libcalotype_runtime.a -lpthread -ldl -lm */\n";
  s += c_prelude();
  for (const Type &t : vectors_) {
    s += "typedef struct { " + c_type(t.element_of()) + " v[" + std::to_string(t.lanes()) +
         "]; } " + type_name(t) + ";\n";
  }
  s += "\n";
  for (const std::string &e : externs_) s += e + "\n";
  return s + "\n";
}

std::string CEmitter::source() {
  body_function();
  functions_ += out_;
  out_.clear();
  wrappers();
  metadata();
  return head() + functions_ + out_;
}

std::string compile_c_source(const lower::LoweredFunction &f, const Target &t,
                             const std::string &symbol) {
  std::string text;
  run_on_large_stack([&] { text = CEmitter(f, t, symbol).source(); });
  return text;
}

}  // namespace calotype::codegen
