// Between the compiler's view of a pipeline and that of src/run, which parses arguments, reads files and
// finds sizes for the command and for ahead-of-time libraries alike.
#include <cstring>

#include "../ir/interpret.h"
#include "../ir/nodes.h"
#include "calo.h"

namespace calotype::cli {

namespace {

std::optional<int64_t> constant(const Expr &e) {
  int64_t value = 0;
  if (!e.defined() || !evaluate_int(e, {}, &value)) return std::nullopt;
  return value;
}

/// The bits of a constant as a scalar of type t.
std::optional<uint64_t> scalar_bits(const Expr &e, Type t) {
  if (!e.defined()) return std::nullopt;
  const std::optional<ir::Value> v = ir::evaluate(ir::make_cast(t, e), {});
  if (!v || v->lanes.empty()) return std::nullopt;
  uint64_t bits = v->lanes[0];  // floats of every width: those of a double
  if (t == Float(32)) {
    const auto narrow = static_cast<float>(v->as_float());
    bits = 0;
    std::memcpy(&bits, &narrow, 4);
  }
  return bits;
}

run::ArgumentInfo info_of(const lower::LoweredArgument &a) {
  using Kind = lower::LoweredArgument::Kind;
  run::ArgumentInfo i;
  i.name = a.name;
  i.type = halide_type_t(a.type);
  i.dimensions = a.dimensions;
  i.kind = a.kind == Kind::OutputBuffer  ? halide_argument_kind_output_buffer
           : a.kind == Kind::InputBuffer ? halide_argument_kind_input_buffer
                                         : halide_argument_kind_input_scalar;
  if (!a.param) return i;
  if (!i.is_buffer()) {
    if (a.param->is_set) i.value = a.param->bits;
    i.estimate = scalar_bits(a.param->estimate, a.type);
  }
  for (const ir::DimConstraint &d : a.param->dims) {
    i.estimates.push_back({constant(d.min_estimate), constant(d.extent_estimate)});
  }
  return i;
}

}  // namespace

run::Filter filter_of(const Algorithm &a, const driver::Compiled &c) {
  run::Filter f;
  f.name = a.program.name.str();
  f.target = a.target.to_string();
  for (const lower::LoweredArgument &arg : c.function().args) f.args.push_back(info_of(arg));
  f.call = [&c](void **argv) {
    c.run(std::vector<const void *>(argv, argv + c.function().args.size()));
  };
  return f;
}

void raise_run_error(const run::Error &e, const Algorithm *a) {
  Diagnostic d(e.code, {}, e.what());
  if (!e.help.empty()) d.help.push_back(e.help);
  if (a) {
    for (const ir::ParameterRef &p : a->program.params) {
      if (p->name == e.argument) d.loc = p->loc;
    }
  }
  raise(std::move(d));
}

run::Values read_arguments(const Request &r, const Algorithm &a, const run::Filter &f) {
  run::Options o = r.arguments;
  o.values = a.arguments;
  if (r.estimate_all) {
    o.default_buffers = "random:0:estimate_then_auto";
    o.default_scalars = "estimate,default";
    o.output_extents = "estimate";
  }
  try {
    return run::bind(f, o);
  } catch (const run::Error &e) {
    raise_run_error(e, &a);
  }
}

void define_sizes(const std::string &buffer, const std::vector<int> &mins,
                  const std::vector<int> &extents, ir::EvalContext &cx) {
  int64_t stride = 1;
  for (size_t d = 0; d < extents.size(); d++) {
    const std::string dim = "." + std::to_string(d);
    cx.vars[buffer + ".min" + dim] = ir::Value::of_int(Int(32), mins[d]);
    cx.vars[buffer + ".extent" + dim] = ir::Value::of_int(Int(32), extents[d]);
    cx.vars[buffer + ".stride" + dim] = ir::Value::of_int(Int(32), stride);
    stride *= extents[d];
  }
}

bool evaluate_int(const Expr &e, const ir::EvalContext &cx, int64_t *value) {
  const std::optional<ir::Value> v = ir::evaluate(e, cx);
  if (!v || v->type.is_float() || v->lanes.empty()) return false;
  *value = v->as_int();
  return true;
}

std::vector<Image> interpret(const Algorithm &a, const run::Filter &f, run::Values &v) {
  std::vector<Image> outputs;
  std::unordered_map<std::string, halide_buffer_t *> inputs;
  std::unordered_map<std::string, uint64_t> scalars;
  for (size_t i = 0; i < f.args.size(); i++) {
    if (f.args[i].is_output()) {
      outputs.push_back(run::allocate_like(v.images[i]));
    } else if (f.args[i].is_buffer()) {
      inputs[f.args[i].name] = v.images[i].raw_buffer();
    } else {
      scalars[f.args[i].name] = v.scalars[i];
    }
  }
  std::vector<halide_buffer_t *> raw;
  bool empty = true;  // then there is no memory either
  for (Image &o : outputs) {
    raw.push_back(o.raw_buffer());
    empty = empty && o.number_of_elements() == 0;
  }
  if (empty) return outputs;
  ir::InterpretOptions options;
  options.fma = a.target.fuses_multiply_add();
  options.ignore_unused_reads = true;  // as compiled code does
  ir::interpret(a.program, raw, inputs, scalars, options);
  return outputs;
}

}  // namespace calotype::cli
