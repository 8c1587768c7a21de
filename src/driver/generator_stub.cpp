// The header that calls a Generator from C++: files of kind cpp_stub. It knows the Generator by its registered name, so that
// only its source must be linked.
#include "generator.h"

namespace calotype {

namespace {

/// "a::b::name": the namespaces and the class.
struct ClassName {
  std::vector<std::string> spaces;
  std::string name;
};

ClassName class_name(const std::string &text) {
  ClassName c;
  size_t at = 0;
  for (size_t end; (end = text.find("::", at)) != std::string::npos; at = end + 2) {
    if (end > at) c.spaces.push_back(text.substr(at, end - at));
  }
  c.name = text.substr(at);
  return c;
}

std::string quoted(const std::string &text) {
  std::string s = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s + "\"";
}

std::string element_type(const driver::Port &p) {
  return p.kind() == driver::Port::Kind::Scalar && !p.is_output() ? "Halide::Expr" : "Halide::Func";
}

}  // namespace

std::string GeneratorBase::stub_source() const {
  const std::string &full = stub_name_.empty() ? registered_name_ : stub_name_;
  const ClassName c = class_name(full);
  std::string guard = "CALOTYPE_STUB_" + full + "_H", opened, closed;
  for (char &ch : guard) ch = ch == ':' ? '_' : ch;
  for (const std::string &space : c.spaces) {
    opened += "namespace " + space + " {\n";
    closed = "}  // namespace " + space + "\n" + closed;
  }
  std::string inputs, bound, outputs, taken, params, set;
  for (const Slot &s : input_slots_) {
    const std::string name = s.port ? s.port->name() : s.array->name();
    const bool scalars = s.array && !s.array->ports().empty() &&
                         element_type(*s.array->ports()[0]) == "Halide::Expr";
    const std::string type = s.port    ? element_type(*s.port)
                             : scalars ? "std::vector<Halide::Expr>"
                                       : "std::vector<Halide::Func>";
    inputs += "    " + type + " " + name + ";\n";
    bound += (bound.empty() ? "" : ", ") + std::string("calotype::driver::bound_inputs(inputs.") +
             name + ")";
  }
  for (const Slot &s : output_slots_) {
    const std::string name = s.port ? s.port->name() : s.array->name();
    outputs += std::string("    ") + (s.port ? "Halide::Func " : "std::vector<Halide::Func> ") +
               name + ";\n";
    taken += s.port ? "    result." + name + " = calotype::driver::output_funcs(*generator, " +
                          quoted(name) + ")[0];\n"
                    : "    result." + name + " = calotype::driver::output_funcs(*generator, " +
                          quoted(name) + ");\n";
  }
  for (const driver::ParamBase *p : params_) {
    if (p->name() == "target") continue;  // the context's
    params += "    calotype::driver::ParamText " + p->name() + " = " + quoted(p->to_string()) + ";";
    std::string names;
    for (const std::string &n : p->choices()) names += (names.empty() ? "  // " : ", ") + n;
    params += names + "\n";
    set += "    set(" + quoted(p->name()) + ", " + quoted(p->to_string()) + ", params." +
           p->name() + ");\n";
  }
  return "// Calls the generator " + registered_name_ +
         " from C++; link the source that registers it. Made by Calotype.\n"
         "#ifndef " +
         guard + "\n#define " + guard +
         "\n\n#include <string>\n#include <vector>\n\n"
         "#include \"Halide.h\"\n\n" +
         opened + "class " + c.name +
         " {\npublic:\n"
         "  struct Inputs {\n" +
         inputs +
         "  };\n"
         "  /// As text; what is not changed keeps the generator's own value.\n"
         "  struct GeneratorParams {\n" +
         params +
         "  };\n"
         "  struct Outputs {\n" +
         outputs +
         "    Halide::Target target;\n  };\n\n"
         "  static Outputs generate(const Halide::GeneratorContext &context, const Inputs "
         "&inputs,\n"
         "                          const GeneratorParams &params = GeneratorParams()) {\n"
         "    const auto generator = calotype::driver::create_generator(" +
         quoted(registered_name_) +
         ", context);\n"
         "    const auto set = [&](const char *name, const char *own, const "
         "calotype::driver::ParamText &value) {\n"
         "      if (value.text != own) generator->set_generator_param(name, value.text);\n"
         "    };\n    (void)set;\n    (void)params;\n    (void)inputs;\n" +
         set + "    generator->apply_inputs({" + bound +
         "});\n"
         "    Outputs result;\n" +
         taken +
         "    result.target = context.target();\n"
         "    return result;\n  }\n};\n" +
         closed + "\n#endif\n";
}

std::vector<Func> driver::output_funcs(const GeneratorBase &g, const std::string &name) {
  std::vector<Func> all;
  for (const GeneratorBase::Slot &s : g.output_slots_) {
    if ((s.port ? s.port->name() : s.array->name()) != name) continue;
    if (s.port) return s.port->funcs();
    for (const Port *p : s.array->ports()) all.push_back(p->funcs().at(0));
  }
  return all;
}

}  // namespace calotype
