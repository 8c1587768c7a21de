// See c_header.h.
#include "c_header.h"

#include <cctype>
#include <set>

#include "../ir/build.h"
#include "../ir/print.h"

namespace calotype::codegen {

using Kind = lower::LoweredArgument::Kind;

std::string c_type(Type t) {
  if (t.is_handle()) return "void *";
  if (t.is_bool()) return "bool";
  if (t.is_float()) return t.bits() == 64 ? "double" : t.bits() == 32 ? "float" : "uint16_t";
  return (t.is_uint() ? "uint" : "int") + std::to_string(t.bits()) + "_t";
}

bool is_c_identifier(const std::string &name) {
  return !name.empty() && c_identifier(name) == name;
}

std::string why_reserved(const std::string &name) {
  static const std::set<std::string> keywords = {"alignas",
                                                 "alignof",
                                                 "and",
                                                 "and_eq",
                                                 "asm",
                                                 "auto",
                                                 "bitand",
                                                 "bitor",
                                                 "bool",
                                                 "break",
                                                 "case",
                                                 "catch",
                                                 "char",
                                                 "char16_t",
                                                 "char32_t",
                                                 "char8_t",
                                                 "class",
                                                 "co_await",
                                                 "co_return",
                                                 "co_yield",
                                                 "compl",
                                                 "concept",
                                                 "const",
                                                 "const_cast",
                                                 "consteval",
                                                 "constexpr",
                                                 "constinit",
                                                 "continue",
                                                 "decltype",
                                                 "default",
                                                 "delete",
                                                 "do",
                                                 "double",
                                                 "dynamic_cast",
                                                 "else",
                                                 "enum",
                                                 "explicit",
                                                 "export",
                                                 "extern",
                                                 "false",
                                                 "float",
                                                 "for",
                                                 "friend",
                                                 "goto",
                                                 "if",
                                                 "inline",
                                                 "int",
                                                 "long",
                                                 "mutable",
                                                 "namespace",
                                                 "new",
                                                 "noexcept",
                                                 "not",
                                                 "not_eq",
                                                 "nullptr",
                                                 "operator",
                                                 "or",
                                                 "or_eq",
                                                 "private",
                                                 "protected",
                                                 "public",
                                                 "register",
                                                 "reinterpret_cast",
                                                 "requires",
                                                 "restrict",
                                                 "return",
                                                 "short",
                                                 "signed",
                                                 "sizeof",
                                                 "static",
                                                 "static_assert",
                                                 "static_cast",
                                                 "struct",
                                                 "switch",
                                                 "template",
                                                 "this",
                                                 "thread_local",
                                                 "throw",
                                                 "true",
                                                 "try",
                                                 "typedef",
                                                 "typeid",
                                                 "typename",
                                                 "typeof",
                                                 "typeof_unqual",
                                                 "union",
                                                 "unsigned",
                                                 "using",
                                                 "virtual",
                                                 "void",
                                                 "volatile",
                                                 "wchar_t",
                                                 "while",
                                                 "xor",
                                                 "xor_eq"};
  // those that compiled code and its runtime call: they would call the new function instead
  static const std::set<std::string> library = {
      "abort",  "acos",    "acosh",  "aligned_alloc", "asin",    "asinh",    "atan",   "atan2",
      "atanh",  "calloc",  "ceil",   "cos",           "cosh",    "exit",     "exp",    "fabs",
      "fflush", "floor",   "fmod",   "fprintf",       "fputs",   "free",     "fwrite", "getenv",
      "log",    "malloc",  "memcmp", "memcpy",        "memmove", "memset",   "pow",    "printf",
      "puts",   "realloc", "round",  "sin",           "sinh",    "snprintf", "sqrt",   "strlen",
      "strcmp", "tan",     "tanh",   "trunc",         "write"};
  if (keywords.count(name)) return name + " is a keyword of C or C++";
  if (name == "main") return "main is where a program starts";
  if (library.count(name)) return name + " is a function of the C library";
  for (const char *prefix : {"halide_", "calo_"}) {
    if (name.rfind(prefix, 0) == 0)
      return std::string("names in ") + prefix + " belong to the runtime";
  }
  return {};
}

std::string c_identifier(const std::string &name) {
  std::string s;
  for (char c : name) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return s.empty() || std::isdigit(static_cast<unsigned char>(s[0])) ? "_" + s : s;
}

std::string c_signature(const lower::LoweredFunction &f, const Target &t,
                        const std::string &symbol) {
  std::string params;
  auto add = [&](const std::string &type, const std::string &name) {
    params += (params.empty() ? "" : ", ") + type + (type.back() == '*' ? "" : " ") + name;
  };
  if (t.has_feature(Target::UserContext)) add("void const *", "_user_context");
  for (const lower::LoweredArgument &a : f.args) {
    const bool scalar = a.kind == Kind::InputScalar;
    add(scalar ? c_type(a.type) : "struct halide_buffer_t *", "_" + c_identifier(a.name));
  }
  return "int " + symbol + "(" + (params.empty() ? "void" : params) + ")";
}

namespace {

/// "input: uint16, 3 dimensions"
std::string describe(const lower::LoweredArgument &a) {
  std::string s = a.name + ": " + to_string(a.type);
  if (a.kind != Kind::InputScalar) {
    s += ", " + std::to_string(a.dimensions) + " dimension" + (a.dimensions == 1 ? "" : "s");
  }
  if (a.kind == Kind::OutputBuffer) s += ", output";
  if (a.kind == Kind::InputScalar && a.param) {
    auto limit = [&](const char *what, const Expr &e) {
      if (e.defined()) s += std::string(", ") + what + " " + ir::to_string(e);
    };
    limit("at least", a.param->min_value);
    limit("at most", a.param->max_value);
  }
  return s;
}

}  // namespace

std::string c_header(const lower::LoweredFunction &f, const Target &t, const std::string &symbol,
                     const std::string &targets) {
  const std::string guard = "CALOTYPE_" + symbol + "_H";
  std::string s = "#ifndef " + guard + "\n#define " + guard + "\n";
  s += "/* " + symbol + ", compiled by Calotype for " + targets + ".\n";
  for (const lower::LoweredArgument &a : f.args) s += " *   " + describe(a) + "\n";
  s += " * Returns 0, or a negative code after calling halide_error. A buffer whose host and "
       "device are\n"
       " * null is filled in with the region that the others make necessary, and nothing is "
       "computed.\n"
       " * HalideRuntime.h has the types. */\n";
  s += "#include <stdbool.h>\n#include <stdint.h>\n\n";
  s += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  s += "struct halide_buffer_t;\nstruct halide_filter_metadata_t;\n\n";
  s += c_signature(f, t, symbol) + ";\n\n";
  s += "/* The same with pointers to the arguments, in order: buffers as they are, scalars by "
       "address. */\n";
  s += "int " + symbol + "_argv(void **args);\n\n";
  s += "/* Names, types and estimates of the arguments. */\n";
  s += "const struct halide_filter_metadata_t *" + symbol + "_metadata(void);\n\n";
  s += "#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n#endif\n";
  return s;
}

std::string registration_source(const std::string &symbol) {
  const std::string argv = symbol + "_argv", metadata = symbol + "_metadata";
  std::string s =
      "// Makes " + symbol + " known to a main such as RunGenMain.cpp before it starts.\n";
  s += "struct halide_filter_metadata_t;\n\n";
  s += "extern \"C\" {\n";
  s += "int " + argv + "(void **args);\n";
  s += "const struct halide_filter_metadata_t *" + metadata + "(void);\n";
  s += "void halide_register_argv_and_metadata(int (*argv_call)(void **),\n"
       "                                       const struct halide_filter_metadata_t *metadata,\n"
       "                                       const char *const *pairs);\n}\n\n";
  s += "namespace {\nstruct Register_" + symbol + " {\n  Register_" + symbol + "() {\n";
  s += "    halide_register_argv_and_metadata(" + argv + ", " + metadata + "(), nullptr);\n";
  s += "  }\n} register_" + symbol + ";\n}  // namespace\n";
  return s;
}

}  // namespace calotype::codegen
