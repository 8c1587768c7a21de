// Helpers of the language's tests: programs as text, and their values by the interpreter.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "calotype.h"
#include "ir/function.h"
#include "ir/interpret.h"
#include "ir/nodes.h"
#include "ir/print.h"

namespace calotype::test {

inline ir::Program program(const std::vector<Func> &outputs, bool settle = false) {
  std::vector<Ref<ir::FunctionBody>> bodies;
  for (const Func &f : outputs) bodies.push_back(f.function());
  ir::ProgramOptions options;
  options.settle = settle;
  return ir::make_program("test", bodies, {}, options);
}

inline std::string text(const Expr &e) { return ir::to_string(e); }
/// One Func of the program, as text.
inline std::string text(const Func &f) {
  const ir::Program p = program({f});
  return ir::to_string(*p.find(p.outputs[0]));
}

/// f over `region` (its mins and extents), by the interpreter; ImageParams give what they are bound to.
template <typename T> void interpret_into(const Func &f, const Buffer<T> &out) {
  const ir::Program p = program({f}, true);
  std::unordered_map<std::string, halide_buffer_t *> inputs;
  for (const ir::ParameterRef &q : p.params) {
    if (q->is_buffer && q->buffer) inputs[q->name] = q->buffer->raw();
  }
  ir::interpret(p, {out.raw_buffer()}, inputs);
}

template <typename T> std::vector<T> interpret_row(const Func &f, int min, int extent) {
  Buffer<T> out(extent);
  out.set_min(min);
  interpret_into(f, out);
  return std::vector<T>(out.begin(), out.end());
}

template <typename T> T interpret_scalar(const Func &f) {
  Buffer<T> out = Buffer<T>::make_scalar();
  interpret_into(f, out);
  return out();
}

}  // namespace calotype::test
