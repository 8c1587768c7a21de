// Extern stages and C functions: see extern.h.
#include "extern.h"

#include "internal.h"

namespace calotype {

ExternFuncArgument::ExternFuncArgument(const Func &f, SrcLoc at) {
  const int n = f.outputs();
  const std::vector<Expr> origin(static_cast<size_t>(f.dimensions()), Expr(0));
  for (int i = 0; i < n; i++) exprs_.push_back(lang::call_func(f.function().get(), origin, i, at));
}

ExternFuncArgument::ExternFuncArgument(const ImageParam &p, SrcLoc at)
    : exprs_{p(std::vector<Expr>(static_cast<size_t>(p.dimensions()), Expr(0)), at)} {}

ExternFuncArgument::ExternFuncArgument(const Expr &e, SrcLoc at) : exprs_{e} {
  ir::require_defined(e, "an argument of an extern stage", at);
}

JITExtern::JITExtern(const Pipeline &) {
  lang::refuse_later("a Pipeline as JITExtern", lang::recent_position());
}
JITExtern::JITExtern(const Func &) {
  lang::refuse_later("a Func as JITExtern", lang::recent_position());
}

Expr user_context_value() { return ir::make_extern_call(Handle(), "calo_user_context", {}, true); }

namespace lang {

Expr extern_call(Type result, const char *name, const std::vector<Type> &params,
                 const std::vector<Expr> &args, bool pure) {
  std::vector<Expr> converted;
  for (size_t i = 0; i < args.size(); i++) {
    const Expr &e = args[i];
    const Type t = params[i];
    ir::require_defined(e, (std::string("an argument of ") + name).c_str(), recent_position());
    if (e.type().element_of() != t && ir::is_const(e) && !e.as<ir::Cast>() && !t.is_handle()) {
      converted.push_back(ir::lossless_constant(t, e, recent_position()));
    } else if (e.type() != t) {
      raise(Diagnostic("L0102", recent_position(),
                       "argument " + std::to_string(i) + " of the C function " + name + " is " +
                           to_string(e.type()))
                .because("it takes " + to_string(t))
                .fix("cast it"));
    } else {
      converted.push_back(e);
    }
  }
  return ir::make_extern_call(result, name, std::move(converted), pure);
}

namespace {

/// The Itanium C++ ABI's name of `int NAME(parameters)`, NAME perhaps with namespaces, for parameters that are
/// buffers or scalars.
std::string mangled(const std::string &name, const std::vector<Expr> &args, size_t outputs) {
  std::vector<std::string> parts;
  for (size_t from = 0;;) {
    const size_t to = name.find("::", from);
    parts.push_back(name.substr(from, to == std::string::npos ? to : to - from));
    if (to == std::string::npos) break;
    from = to + 2;
  }
  std::string text = parts.size() > 1 ? "_ZN" : "_Z";
  for (const std::string &p : parts) text += std::to_string(p.size()) + p;
  if (parts.size() > 1) text += "E";
  // Namespaces, then halide_buffer_t and its pointer may be referred to again.
  size_t next = parts.size() - 1;
  std::string buffer;
  const auto pointer = [&] {
    text += buffer.empty() ? "P15halide_buffer_t" : buffer;
    next++;  // the struct; the pointer follows
    if (buffer.empty()) buffer = "S" + std::string(next == 0 ? "" : std::to_string(next - 1)) + "_";
  };
  for (const Expr &e : args) {
    const ir::Call *c = e.as<ir::Call>();
    if (c && (c->call_type == ir::CallType::Halide || c->call_type == ir::CallType::Image)) {
      pointer();
      continue;
    }
    const Type t = e.type();
    static const char *const kSigned[] = {"a", "s", "i", "l"};
    static const char *const kUnsigned[] = {"h", "t", "j", "m"};
    const int k = t.bits() == 8 ? 0 : t.bits() == 16 ? 1 : t.bits() == 32 ? 2 : 3;
    text += t.is_bool()    ? "b"
            : t.is_float() ? (t.bits() == 32 ? "f" : "d")
            : t.is_int()   ? kSigned[k]
            : t.is_uint()  ? kUnsigned[k]
                           : "Pv";
  }
  for (size_t i = 0; i < outputs; i++) pointer();
  return text;
}

}  // namespace

void define_extern(ir::FunctionBody &f, const std::string &name,
                   const std::vector<ExternFuncArgument> &args, const std::vector<Type> &types,
                   const std::vector<Var> &vars, NameMangling mangling, DeviceAPI api, SrcLoc at) {
  note_position(at);
  if (api != DeviceAPI::Host && api != DeviceAPI::None)
    refuse_later("Func::define_extern(\"" + name + "\") on a device", at);
  if (f.defined()) {
    raise(Diagnostic("L0202", at, shown_name(f) + " is defined again, by an extern stage")
              .because("its first definition", f.definitions[0].loc)
              .fix("take a new Func"));
  }
  if (types.empty()) raise(Diagnostic("L0208", at, "an extern stage without values"));
  std::vector<Expr> operands;
  for (const ExternFuncArgument &a : args) {
    if (!a.defined())
      raise(Diagnostic("L0101", at, "an argument of the extern stage " + name + " is undefined"));
    operands.insert(operands.end(), a.exprs().begin(), a.exprs().end());
  }
  const std::string symbol =
      mangling == NameMangling::CPlusPlus ? mangled(name, operands, types.size()) : name;
  operands.insert(operands.begin(), ir::make_string(symbol));
  std::vector<Expr> values;
  for (const Type &t : types)
    values.push_back(ir::make_intrinsic(t, ir::Intrinsic::extern_stage, operands));
  define(f, std::vector<Expr>(vars.begin(), vars.end()), std::move(values), at);
}

}  // namespace lang

namespace {
std::vector<Var> anonymous(int n) {
  std::vector<Var> vars;
  for (int i = 0; i < n; i++) vars.push_back(Var::implicit(i));
  return vars;
}
}  // namespace

void Func::define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                         Type t, int dimensions, NameMangling m, DeviceAPI api, SrcLoc at) {
  define_extern(function, args, std::vector<Type>{t}, anonymous(dimensions), m, api, at);
}
void Func::define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                         Type t, const std::vector<Var> &vars, NameMangling m, DeviceAPI api,
                         SrcLoc at) {
  define_extern(function, args, std::vector<Type>{t}, vars, m, api, at);
}
void Func::define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                         const std::vector<Type> &types, int dimensions, NameMangling m,
                         DeviceAPI api, SrcLoc at) {
  define_extern(function, args, types, anonymous(dimensions), m, api, at);
}
void Func::define_extern(const std::string &function, const std::vector<ExternFuncArgument> &args,
                         const std::vector<Type> &types, const std::vector<Var> &vars,
                         NameMangling m, DeviceAPI api, SrcLoc at) {
  lang::define_extern(lang::body_of(body_), function, args, types, vars, m, api, at);
}

bool Func::is_extern() const { return ir::is_extern(lang::body_of(body_)); }

}  // namespace calotype
