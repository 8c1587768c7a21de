// Compiles expressions to register programs, and runs them. Idea: SSA values first (equal ones numbered once), then two
// instruction lists, those that depend on reading the Func itself apart, then registers by last use.
#include "interpret_program.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>

#include "../base/diagnostic.h"
#include "math.h"

namespace calotype::ir::interpreter {

Machine::~Machine() = default;
Resolver::~Resolver() = default;

int64_t lane_as_int(const void *lanes, Scalar s, int i) {
  const auto at = [&](auto zero) { return static_cast<const decltype(zero) *>(lanes)[i]; };
  switch (s) {
    case Scalar::I8: return at(int8_t());
    case Scalar::I16: return at(int16_t());
    case Scalar::I32: return at(int32_t());
    case Scalar::I64: return at(int64_t());
    case Scalar::U8:
    case Scalar::Bool: return at(uint8_t());
    case Scalar::U16: return at(uint16_t());
    case Scalar::U32: return at(uint32_t());
    case Scalar::U64: return static_cast<int64_t>(at(uint64_t()));
    case Scalar::F64: return static_cast<int64_t>(at(double()));
    default: return static_cast<int64_t>(at(float()));
  }
}

namespace {

template <typename T> void fill(void *dst, T v) {
  T *d = static_cast<T *>(dst);
  for (int i = 0; i < kBatch; i++) d[i] = v;
}

// `bits`: integers in the low bits, floats as the bits of a double.
void fill_constant(void *dst, Scalar s, uint64_t bits) {
  double f;
  std::memcpy(&f, &bits, sizeof f);
  switch (s) {
    case Scalar::I8:
    case Scalar::U8:
    case Scalar::Bool: return fill(dst, static_cast<uint8_t>(bits));
    case Scalar::I16:
    case Scalar::U16: return fill(dst, static_cast<uint16_t>(bits));
    case Scalar::I32:
    case Scalar::U32: return fill(dst, static_cast<uint32_t>(bits));
    case Scalar::I64:
    case Scalar::U64: return fill(dst, bits);
    case Scalar::F32: return fill(dst, static_cast<float>(f));
    case Scalar::F64: return fill(dst, f);
    case Scalar::F16: return fill(dst, round_to_float16(static_cast<float>(f)));
    case Scalar::BF16: return fill(dst, round_to_bfloat16(static_cast<float>(f)));
  }
}

uint64_t bits_of(double v) {
  uint64_t b;
  std::memcpy(&b, &v, sizeof b);
  return b;
}

}  // namespace

// An SSA value: the result of an instruction, an input or a constant.
class Compiler {
public:
  Compiler(Program *p, const CompileOptions &options) : p_(p), options_(options) {}

  void compile(const std::vector<Expr> &exprs, const std::vector<Name> &inputs,
               const std::vector<Type> &types) {
    p_->inputs_ = static_cast<int>(inputs.size());
    for (size_t i = 0; i < inputs.size(); i++) {
      scope_[inputs[i]].push_back({new_value(scalar_of(types[i])), kNoLet});
    }
    std::vector<int> results;
    for (const Expr &e : exprs) results.push_back(value_of(e));
    finish(results);
  }

private:
  struct Value {
    Scalar type;
    bool self = false;     // depends on reading the Func itself
    int constant = -1;     // number of the constant
    int instruction = -1;  // number in code_
    int reg = -1;
    int last_use = -1;
  };
  using Key = std::tuple<int, int, int, int, int, int>;

  Program *p_;
  const CompileOptions &options_;
  std::vector<Value> values_;
  std::vector<Program::Instruction> code_;  // operands are values until finish
  std::map<Key, int> numbered_;
  std::map<std::pair<int, uint64_t>, int> constants_;
  struct Binding {
    int value;
    int level;  // number of Lets around it; kNoLet for inputs
  };
  static constexpr int kNoLet = 1 << 30;
  std::unordered_map<Name, std::vector<Binding>> scope_;
  // Values of nodes that read no Let outside themselves, and of the others inside the innermost Let.
  std::unordered_map<const IRNode *, int> closed_, memo_;
  int level_ = 0;
  int touched_ = kNoLet;  // outermost Let that the node being compiled reads

  int new_value(Scalar t) {
    values_.push_back({t});
    return static_cast<int>(values_.size()) - 1;
  }

  int constant(Scalar t, uint64_t bits) {
    auto [it, added] = constants_.try_emplace({static_cast<int>(t), bits}, 0);
    if (!added) return it->second;
    const size_t at = p_->constants_.size();
    p_->constants_.resize(at + kSlotBytes);
    fill_constant(p_->constants_.data() + at, t, bits);
    const int v = it->second = new_value(t);
    values_[v].constant = static_cast<int>(at / kSlotBytes);
    return v;
  }

  bool depends_on_self(const Program::Instruction &in) const {
    bool self = in.a >= 0 && values_[in.a].self;
    self |= in.b >= 0 && values_[in.b].self;
    self |= in.c >= 0 && values_[in.c].self;
    for (int arg : in.args) self |= values_[arg].self;
    return self;
  }

  int emit(Program::Instruction in, Scalar type, bool self = false) {
    const int v = new_value(type);
    values_[v].self = self || depends_on_self(in);
    values_[v].instruction = static_cast<int>(code_.size());
    in.dst = v;
    in.size = scalar_size(type);
    code_.push_back(std::move(in));
    return v;
  }

  // One loop over at most three operands; equal ones are computed once.
  int emit_loop(Loop loop, int tag, Scalar type, int a, int b = -1, int c = -1) {
    CALO_ASSERT(loop != nullptr, "operation unknown to the interpreter");
    const Key key{tag, static_cast<int>(type), static_cast<int>(values_[a].type), a, b, c};
    auto it = numbered_.find(key);
    if (it != numbered_.end()) return it->second;
    Program::Instruction in;
    in.loop = loop;
    in.a = a;
    in.b = b;
    in.c = c;
    return numbered_[key] = emit(std::move(in), type);
  }

  int value_of(const Expr &e) {
    if (auto it = closed_.find(e.get()); it != closed_.end()) return it->second;
    if (auto it = memo_.find(e.get()); it != memo_.end()) {
      touched_ = 0;  // some Let: which one was not kept
      return it->second;
    }
    const int before = touched_;
    touched_ = kNoLet;
    const int v = compile_node(e);
    (touched_ == kNoLet ? closed_ : memo_)[e.get()] = v;
    touched_ = std::min(touched_, before);
    p_->keep_.push_back(e);
    return v;
  }

  int compile_node(const Expr &e) {
    if (!e.type().is_scalar()) internal("vector in a definition");
    switch (e.kind()) {
      case NodeKind::IntImm:
        return constant(scalar_of(e.type()), static_cast<uint64_t>(e.as<IntImm>()->value));
      case NodeKind::UIntImm: return constant(scalar_of(e.type()), e.as<UIntImm>()->value);
      case NodeKind::FloatImm:
        return constant(scalar_of(e.type()), bits_of(e.as<FloatImm>()->value));
      case NodeKind::Variable: return variable(e.as<Variable>());
      case NodeKind::Cast: {
        const int a = value_of(e.as<Cast>()->value);
        const Scalar to = scalar_of(e.type());
        return emit_loop(loop_of_cast(values_[a].type, to), 1000, to, a);
      }
      case NodeKind::Reinterpret: {
        const int a = value_of(e.as<Reinterpret>()->value);
        const Scalar to = scalar_of(e.type());
        return emit_loop(loop_of_reinterpret(values_[a].type, to), 1001, to, a);
      }
      case NodeKind::Not: {
        const int a = value_of(e.as<Not>()->a);
        return emit_loop(loop_of_node(NodeKind::Not, Scalar::Bool), static_cast<int>(NodeKind::Not),
                         Scalar::Bool, a);
      }
      case NodeKind::Select: {
        const Select *s = e.as<Select>();
        const int c = value_of(s->condition), t = value_of(s->true_value),
                  f = value_of(s->false_value);
        return emit_loop(loop_of_node(NodeKind::Select, values_[t].type),
                         static_cast<int>(NodeKind::Select), values_[t].type, c, t, f);
      }
      case NodeKind::Let: return let(e.as<Let>());
      case NodeKind::Call: return call(e.as<Call>());
      default: return binary(e);
    }
  }

  int binary(const Expr &e) {
    Expr a, b;
    switch (e.kind()) {
#define BINARY_NODE(Node) \
  case NodeKind::Node:    \
    a = e.as<Node>()->a;  \
    b = e.as<Node>()->b;  \
    break;
#include "binary_nodes.def"
#undef BINARY_NODE
      default: internal("node has no place in a definition");
    }
    const int x = value_of(a), y = value_of(b);
    if (options_.track_unspecified) watch_overflow(e, x, y);
    return emit_loop(loop_of_node(e.kind(), values_[x].type), static_cast<int>(e.kind()),
                     scalar_of(e.type()), x, y);
  }

  void watch_overflow(const Expr &e, int a, int b) {
    if (!e.type().is_int() || e.type().bits() < 32) return;
    const char *const name = e.kind() == NodeKind::Add   ? "addition"
                             : e.kind() == NodeKind::Sub ? "subtraction"
                             : e.kind() == NodeKind::Mul ? "multiplication"
                                                         : nullptr;
    if (!name) return;
    Program::Instruction in;
    in.kind = Program::Instruction::Overflow;
    in.a = a;
    in.b = b;
    in.c = -1;
    in.type = values_[a].type;
    in.site = static_cast<int>(e.kind());
    in.text = to_string(e.type()) + " " + name + " overflows in " + options_.where;
    emit(std::move(in), Scalar::Bool);
  }

  int variable(const Variable *op) {
    auto it = scope_.find(op->name);
    if (!op->param.defined() && it != scope_.end() && !it->second.empty()) {
      touched_ = std::min(touched_, it->second.back().level);
      return it->second.back().value;
    }
    if (!op->param.defined()) internal("free variable " + op->name.str());
    uint64_t bits = options_.resolver->parameter_bits(op);
    const Scalar s = scalar_of(op->type);
    if (s == Scalar::F32) {
      float f;
      std::memcpy(&f, &bits, sizeof f);
      bits = bits_of(f);
    } else if (s == Scalar::F16) {
      bits = bits_of(float16_from_bits(static_cast<uint16_t>(bits)));
    } else if (s == Scalar::BF16) {
      const uint32_t wide = static_cast<uint32_t>(bits) << 16;
      float f;
      std::memcpy(&f, &wide, sizeof f);
      bits = bits_of(f);
    } else if (s == Scalar::Bool) {
      bits = (bits & 0xff) != 0;
    }
    return constant(s, bits);
  }

  int let(const Let *op) {
    const int v = value_of(op->value);
    const int before = touched_;
    touched_ = kNoLet;
    scope_[op->name].push_back({v, level_++});
    std::unordered_map<const IRNode *, int> outer;
    outer.swap(memo_);  // nodes below may read another value of this name than elsewhere
    const int body = value_of(op->body);
    memo_.swap(outer);
    scope_[op->name].pop_back();
    if (touched_ >= --level_) touched_ = kNoLet;  // only this Let, or ones inside
    touched_ = std::min(touched_, before);
    return body;
  }

  int call(const Call *op) {
    if (op->call_type == CallType::Halide || op->call_type == CallType::Image) return read(op);
    if (op->call_type == CallType::Extern || op->call_type == CallType::PureExtern) {
      raise(
          Diagnostic("L0901", {}, "the interpreter cannot call the C function " + op->name.str()));
    }
    switch (op->op) {
      case Intrinsic::if_then_else: return branch(op);
      case Intrinsic::return_second: return value_of(op->args[1]);
      case Intrinsic::require: return require(op);
      case Intrinsic::print: return value_of(op->args[0]);
      case Intrinsic::print_when: return value_of(op->args[1]);
      case Intrinsic::undef: return undef(op);
      case Intrinsic::extern_stage:
        raise(Diagnostic("L0901", {},
                         "the interpreter cannot run the extern stage " +
                             op->args[0].as<StringImm>()->value)
                  .because("it knows definitions only, and this one is a C function"));
      case Intrinsic::bool_to_mask: {
        const int a = value_of(op->args[0]);
        const Scalar t = scalar_of(op->type);
        const int yes = constant(t, ~uint64_t(0)), no = constant(t, 0);
        return emit_loop(loop_of_node(NodeKind::Select, t), static_cast<int>(NodeKind::Select), t,
                         a, yes, no);
      }
      default: break;
    }
    switch (intrinsic_class(op->op)) {
      case IntrinsicClass::Marker: return value_of(op->args[0]);
      case IntrinsicClass::Expand: {
        const Expr expanded = expand_intrinsic(op);
        p_->keep_.push_back(expanded);
        return value_of(expanded);
      }
      case IntrinsicClass::Core: break;
      default: internal("intrinsic " + op->name.str() + " has no place in a definition");
    }
    int args[3] = {-1, -1, -1};
    for (size_t i = 0; i < op->args.size(); i++) args[i] = value_of(op->args[i]);
    const Scalar t = values_[args[0]].type, amount = args[1] >= 0 ? values_[args[1]].type : t;
    const Loop loop = loop_of_intrinsic(op->op, t, amount, options_.fma);
    return emit_loop(loop, 2000 + static_cast<int>(op->op), scalar_of(op->type), args[0], args[1],
                     args[2]);
  }

  int read(const Call *op) {
    Program::Instruction in;
    in.a = in.b = in.c = -1;
    for (const Expr &a : op->args) {
      int v = value_of(a);
      if (values_[v].type != Scalar::I32) {
        v = emit_loop(loop_of_cast(values_[v].type, Scalar::I32), 1000, Scalar::I32, v);
      }
      in.args.push_back(v);
    }
    bool self = false;
    in.kind = op->call_type == CallType::Image ? Program::Instruction::ReadImage
                                               : Program::Instruction::ReadFunc;
    in.site = op->call_type == CallType::Image ? options_.resolver->image(op)
                                               : options_.resolver->func_site(op, &self);
    in.index = op->value_index;
    p_->has_self_ |= self;
    return emit(std::move(in), scalar_of(op->type), self);
  }

  int undef(const Call *op) {
    const int v = constant(scalar_of(op->type), 0);
    if (options_.track_unspecified) {
      Program::Instruction in;
      in.kind = Program::Instruction::Overflow;
      in.a = in.b = v;
      in.c = -1;
      in.site = -1;
      in.text = "undef is read in " + options_.where;
      emit(std::move(in), Scalar::Bool);
    }
    return v;
  }

  int require(const Call *op) {
    Program::Instruction in;
    in.kind = Program::Instruction::Require;
    in.a = value_of(op->args[0]);
    in.b = in.c = -1;
    in.op = op;
    for (size_t i = 4; i < op->args.size(); i++) {
      if (!op->args[i].as<StringImm>()) in.args.push_back(value_of(op->args[i]));
    }
    p_->keep_.push_back(op);
    emit(std::move(in), Scalar::Bool);
    return value_of(op->args[1]);
  }

  // Only the lanes that chose a side run it: a program of its own, whose inputs are everything in scope.
  int branch(const Call *op) {
    Program::Instruction in;
    in.kind = Program::Instruction::Branch;
    in.a = value_of(op->args[0]);
    in.b = in.c = -1;
    std::vector<Name> names;
    std::vector<Type> types;
    for (const auto &[name, stack] : scope_) {
      if (stack.empty()) continue;
      names.push_back(name);
      const Binding &b = stack.back();
      types.push_back(type_of(values_[b.value].type));
      in.args.push_back(b.value);
      in.arg_sizes.push_back(scalar_size(values_[b.value].type));
      touched_ = std::min(touched_, b.level);
    }
    in.then_part = Program::compile({op->args[1]}, names, types, options_);
    in.else_part = Program::compile({op->args[2]}, names, types, options_);
    const bool self = in.then_part->has_self() || in.else_part->has_self();
    p_->has_self_ |= self;
    return emit(std::move(in), scalar_of(op->type), self);
  }

  static Type type_of(Scalar s) {
    static const Type types[] = {Int(8),    Int(16),    Int(32),  Int(64),   UInt(8),
                                 UInt(16),  UInt(32),   UInt(64), Float(32), Float(64),
                                 Float(16), BFloat(16), Bool()};
    return types[static_cast<int>(s)];
  }

  [[noreturn]] static void internal(const std::string &what) {
    raise(Diagnostic("X0001", {}, "interpreter: " + what));
  }

  // --- Registers -------------------------------------------------------------------------------------------------
  // Order: instructions without self, then those with. The second list runs many times after the first, so what it
  // reads of the first stays alive to the end.
  void finish(const std::vector<int> &results) {
    std::vector<int> order;
    std::vector<bool> self(code_.size());
    for (size_t i = 0; i < code_.size(); i++) self[i] = values_[code_[i].dst].self;
    for (size_t i = 0; i < code_.size(); i++) {
      if (!self[i]) order.push_back(static_cast<int>(i));
    }
    const int border = static_cast<int>(order.size());
    for (size_t i = 0; i < code_.size(); i++) {
      if (self[i]) order.push_back(static_cast<int>(i));
    }
    const int end = static_cast<int>(order.size()) + 1;
    const auto use = [&](int v, int at) {
      if (v < 0) return;
      const bool from_first = !values_[v].self && at >= border;
      values_[v].last_use = std::max(values_[v].last_use, from_first ? end : at);
    };
    for (int at = 0; at < static_cast<int>(order.size()); at++) {
      const Program::Instruction &in = code_[order[at]];
      use(in.a, at);
      use(in.b, at);
      use(in.c, at);
      for (int arg : in.args) use(arg, at);
    }
    for (int v : results) values_[v].last_use = end;
    for (int i = 0; i < p_->inputs_; i++) values_[i].last_use = end;
    assign_registers(order);
    for (int at = 0; at < static_cast<int>(order.size()); at++) {
      Program::Instruction in = std::move(code_[order[at]]);
      if (in.a >= 0) in.a = place(in.a);
      if (in.b >= 0) in.b = place(in.b);
      if (in.c >= 0) in.c = place(in.c);
      for (int &arg : in.args) arg = place(arg);
      in.dst = values_[in.dst].reg;
      (at < border ? p_->code_ : p_->self_code_).push_back(std::move(in));
    }
    for (int v : results) {
      p_->outputs_.push_back(place(v));
      p_->output_types_.push_back(values_[v].type);
      p_->output_self_.push_back(values_[v].self);
    }
  }

  int place(int v) const {
    return values_[v].constant >= 0 ? ~values_[v].constant : values_[v].reg;
  }

  void assign_registers(const std::vector<int> &order) {
    int next = 0;
    for (int i = 0; i < p_->inputs_; i++) values_[i].reg = next++;
    std::vector<int> free;
    std::vector<std::vector<int>> dies(order.size() + 2);
    for (const Value &v : values_) {
      if (v.instruction >= 0 && v.last_use >= 0)
        dies[v.last_use].push_back(static_cast<int>(&v - values_.data()));
    }
    for (size_t at = 0; at < order.size(); at++) {
      Value &v = values_[code_[order[at]].dst];
      // The result may not share a register with an operand: loops read lanes after writing others only in Branch.
      if (free.empty())
        v.reg = next++;
      else {
        v.reg = free.back();
        free.pop_back();
      }
      for (int d : dies[at]) free.push_back(values_[d].reg);
      if (v.last_use < 0) free.push_back(v.reg);  // a require's result
    }
    p_->registers_ = next;
  }
};

std::unique_ptr<Program> Program::compile(const std::vector<Expr> &exprs,
                                          const std::vector<Name> &inputs,
                                          const std::vector<Type> &input_types,
                                          const CompileOptions &options) {
  auto p = std::make_unique<Program>();
  Compiler(p.get(), options).compile(exprs, inputs, input_types);
  return p;
}

namespace {

template <typename T>
bool overflows_as(int kind, const void *a, const void *b, int begin, int end) {
  const T *x = static_cast<const T *>(a), *y = static_cast<const T *>(b);
  bool any = false;
  for (int i = begin; i < end; i++) {
    T r;
    any |= kind == static_cast<int>(NodeKind::Add)   ? __builtin_add_overflow(x[i], y[i], &r)
           : kind == static_cast<int>(NodeKind::Sub) ? __builtin_sub_overflow(x[i], y[i], &r)
                                                     : __builtin_mul_overflow(x[i], y[i], &r);
  }
  return any;
}
// kind -1: undef, always reported.
bool overflows(int kind, Scalar t, const void *a, const void *b, int begin, int end) {
  if (kind < 0) return true;
  return t == Scalar::I32 ? overflows_as<int32_t>(kind, a, b, begin, end)
                          : overflows_as<int64_t>(kind, a, b, begin, end);
}

}  // namespace

// --- Running -----------------------------------------------------------------------------------------------------
void Program::run(char *frame, bool self, int begin, int end, Machine *machine) const {
  for (const Instruction &in : self ? self_code_ : code_) {
    if (in.loop)
      in.loop(slot(frame, in.dst), slot(frame, in.a), slot(frame, in.b), slot(frame, in.c), begin,
              end);
    else
      run_one(in, frame, begin, end, machine);
  }
}

// As compiled code words it (runtime/message.cpp).
std::string Program::message_of(const Instruction &in, char *frame, int lane) const {
  std::string text;
  size_t next = 0;
  for (size_t i = 4; i < in.op->args.size(); i++) {
    if (i > 4) text += ' ';
    if (const StringImm *s = in.op->args[i].as<StringImm>()) {
      text += s->value;
      continue;
    }
    const Type t = in.op->args[i].type();
    const Scalar s = scalar_of(t);
    const char *at = static_cast<const char *>(slot(frame, in.args[next++])) +
                     static_cast<size_t>(lane) * static_cast<size_t>(scalar_size(s));
    char number[400];
    if (t.is_float()) {
      double d;
      float f;
      if (s == Scalar::F64) {
        std::memcpy(&d, at, sizeof d);
      } else {
        std::memcpy(&f, at, sizeof f);
        d = f;
      }
      std::snprintf(number, sizeof number, s == Scalar::F64 ? "%e" : "%f", d);
    } else {
      uint64_t bits = 0;
      std::memcpy(&bits, at, static_cast<size_t>(scalar_size(s)));
      const int shift = 64 - 8 * scalar_size(s);
      const int64_t value = static_cast<int64_t>(bits << shift) >> shift;
      if (t.is_int())
        std::snprintf(number, sizeof number, "%lld", static_cast<long long>(value));
      else
        std::snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(bits));
    }
    text += number;
  }
  return text;
}

void Program::run_one(const Instruction &in, char *frame, int begin, int end,
                      Machine *machine) const {
  if (in.kind == Instruction::Branch) return run_branch(in, frame, begin, end, machine);
  if (in.kind == Instruction::Require) {
    const uint8_t *ok = static_cast<const uint8_t *>(slot(frame, in.a));
    for (int i = begin; i < end; i++) {
      if (!ok[i]) machine->requirement_failed(in.op, message_of(in, frame, i));
    }
    return;
  }
  if (in.kind == Instruction::Overflow) {
    if (overflows(in.site, in.type, slot(frame, in.a), slot(frame, in.b), begin, end)) {
      machine->unspecified(in.text);
    }
    return;
  }
  constexpr int kMaxDimensions = 16;
  CALO_ASSERT(in.args.size() <= kMaxDimensions);
  const int32_t *at[kMaxDimensions];
  for (size_t d = 0; d < in.args.size(); d++) at[d] = as_int32(slot(frame, in.args[d]));
  if (in.kind == Instruction::ReadFunc)
    machine->read_func(in.site, in.index, at, begin, end, slot(frame, in.dst));
  else
    machine->read_image(in.site, at, begin, end, slot(frame, in.dst));
}

void Program::run_branch(const Instruction &in, char *frame, int begin, int end,
                         Machine *machine) const {
  const uint8_t *cond = static_cast<const uint8_t *>(slot(frame, in.a));
  char *dst = static_cast<char *>(slot(frame, in.dst));
  for (const bool side : {true, false}) {
    const Program &p = side ? *in.then_part : *in.else_part;
    int lanes[kBatch], n = 0;
    for (int i = begin; i < end; i++) {
      if ((cond[i] != 0) == side) lanes[n++] = i;
    }
    if (n == 0) continue;
    std::vector<char> inner(static_cast<size_t>(p.registers()) * kSlotBytes);
    for (size_t k = 0; k < in.args.size(); k++) {
      const char *from = static_cast<const char *>(slot(frame, in.args[k]));
      char *to = static_cast<char *>(p.input(inner.data(), static_cast<int>(k)));
      const int size = in.arg_sizes[k];
      for (int i = 0; i < n; i++) std::memcpy(to + i * size, from + lanes[i] * size, size);
    }
    p.run(inner.data(), false, 0, n, machine);
    p.run(inner.data(), true, 0, n, machine);
    const char *result = static_cast<const char *>(p.output(inner.data(), 0));
    for (int i = 0; i < n; i++)
      std::memcpy(dst + lanes[i] * in.size, result + i * in.size, in.size);
  }
}

}  // namespace calotype::ir::interpreter
