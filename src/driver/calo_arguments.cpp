// Arguments in RunGen's form: name=value, where the value of a buffer is a file, random:SEED:[w,h,...],
// zero:[...], constant:V:[...] or identity:[...], and that of a scalar is a number, true, false or
// default. An output's value is the file to write. Sizes: the order, see extents_of_output.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "../io/image.h"
#include "../ir/interpret.h"
#include "../ir/visit.h"
#include "calo.h"

namespace calotype::cli {

namespace {

[[noreturn]] void bad_value(const std::string &name, const std::string &value,
                            const std::string &expected) {
  raise(Diagnostic("R0101", {}, "argument " + name + "=" + value + ": expected " + expected));
}

bool parse_int(const std::string &text, int64_t *value) {
  if (text.empty()) return false;
  char *end = nullptr;
  errno = 0;
  *value = std::strtoll(text.c_str(), &end, 0);
  return *end == 0 && errno == 0;
}

bool parse_float(const std::string &text, double *value) {
  if (text.empty()) return false;
  char *end = nullptr;
  *value = std::strtod(text.c_str(), &end);
  return *end == 0;
}

/// "[512,512,3]"
bool parse_extents(const std::string &text, std::vector<int> *extents) {
  extents->clear();
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  std::string item;
  for (size_t i = 1; i < text.size(); i++) {
    if (text[i] != ',' && i + 1 < text.size()) {
      item += text[i];
      continue;
    }
    int64_t value;
    if (item.empty() && extents->empty() && i + 1 == text.size()) return true;  // []
    if (!parse_int(item, &value) || value < 0 || value > INT32_MAX) return false;
    extents->push_back(static_cast<int>(value));
    item.clear();
  }
  return true;
}

/// The bits of a number as a scalar of type t, or false.
bool parse_scalar(const std::string &text, Type t, uint64_t *bits) {
  *bits = 0;
  if (t.is_bool()) {
    *bits = text == "true" || text == "1";
    return *bits || text == "false" || text == "0";
  }
  if (t == Float(32) || t == Float(64)) {
    double value;
    if (!parse_float(text, &value)) return false;
    const float narrow = static_cast<float>(value);
    if (t.bits() == 32) std::memcpy(bits, &narrow, 4);
    if (t.bits() == 64) std::memcpy(bits, &value, 8);
    return true;
  }
  if (t == UInt(64)) {
    char *end = nullptr;
    errno = 0;
    *bits = std::strtoull(text.c_str(), &end, 0);
    return !text.empty() && text[0] != '-' && *end == 0 && errno == 0;
  }
  int64_t value;
  if (!t.is_int_or_uint() || !parse_int(text, &value)) return false;
  if (!t.can_represent(value)) return false;
  *bits = static_cast<uint64_t>(value);
  if (t.bits() < 64) *bits &= (uint64_t(1) << t.bits()) - 1;
  return true;
}

std::string scalar_expected(Type t) {
  if (t.is_bool()) return "true or false";
  return "a number of type " + type_text(t);
}

// ---- buffers ------------------------------------------------------------------------------------------

std::vector<int> estimated_extents(const ir::Parameter &p) {
  std::vector<int> extents;
  for (const ir::DimConstraint &d : p.dims) {
    int64_t value;
    if (!d.extent_estimate.defined() || !evaluate_int(d.extent_estimate, {}, &value)) return {};
    extents.push_back(static_cast<int>(value));
  }
  return extents;
}

Image made_up_input(const ir::Parameter &p, const std::string &text) {
  const std::string kind = text.substr(0, text.find(':'));
  const size_t last = text.rfind(':');
  const std::string middle =
      last > kind.size() ? text.substr(kind.size() + 1, last - kind.size() - 1) : "";
  const std::string size = text.substr(last + 1);
  std::vector<int> extents;
  if (size == "estimate") {
    extents = estimated_extents(p);
  } else if (!parse_extents(size, &extents)) {
    bad_value(p.name, text,
              kind + (kind == "zero" || kind == "identity" ? ":" : ":VALUE:") +
                  "[extents], dimension 0 first, or estimate for the extents");
  }
  if (static_cast<int>(extents.size()) != p.dimensions) {
    bad_value(p.name, text,
              std::to_string(p.dimensions) + " extents, as the argument has dimensions");
  }
  const Image image = allocate(p.type, extents, &p);
  if (kind == "random") {
    int64_t seed;
    if (!parse_int(middle, &seed)) bad_value(p.name, text, "random:SEED:[extents]");
    fill_random(image, p.type, static_cast<uint64_t>(seed));
    return image;
  }
  uint64_t bits = 0;
  const std::string value = kind == "constant" ? middle : kind == "identity" ? "1" : "0";
  if (!parse_scalar(value, p.type, &bits)) bad_value(p.name, text, scalar_expected(p.type));
  fill_constant(image, p.type, bits, kind == "identity");
  return image;
}

bool is_made_up(const std::string &text) {
  for (const char *head : {"random:", "zero:", "constant:", "identity:"}) {
    if (text.rfind(head, 0) == 0) return true;
  }
  return false;
}

Image input_file(const ir::Parameter &p, const std::string &path) {
  io::Array array;
  try {
    array = io::load(path);
  } catch (const io::FileError &e) {
    raise(Diagnostic("R0201", {}, e.what()));
  }
  std::vector<int> extents = array.extents;
  while (static_cast<int>(extents.size()) > p.dimensions && extents.back() == 1) extents.pop_back();
  while (static_cast<int>(extents.size()) < p.dimensions) extents.push_back(1);
  if (static_cast<int>(extents.size()) != p.dimensions) {
    raise(Diagnostic("R0101", {},
                     "argument " + p.name + " has " + std::to_string(p.dimensions) +
                         " dimensions, but " + path + " holds " + extents_text(array.extents)));
  }
  const Image image = allocate(p.type, extents, &p);
  try {
    io::convert(array, *const_cast<halide_buffer_t *>(image.raw_buffer()));
  } catch (const std::invalid_argument &e) {
    raise(Diagnostic("R0101", {}, "argument " + p.name + ": " + e.what() + " (" + path + ")"));
  }
  return image;
}

// ---- outputs -----------------------------------------------------------------------------------------

/// Per dimension: the generator's own constraint, else --output_extents, else the extent of the first
/// input of the same rank.
void size_output(Output &o, const ir::Parameter *constraints, const std::vector<int> *asked,
                 const Image *like, int rank, const ir::EvalContext &cx) {
  for (int d = 0; d < rank; d++) {
    int64_t min = 0, extent = -1;
    if (constraints && d < static_cast<int>(constraints->dims.size())) {
      const ir::DimConstraint &c = constraints->dims[d];
      if (c.min.defined()) evaluate_int(c.min, cx, &min);
      if (c.extent.defined()) evaluate_int(c.extent, cx, &extent);
    }
    if (extent < 0 && asked) extent = asked->at(d);
    if (extent < 0 && like) extent = like->dim(d).extent();
    if (extent < 0) {
      raise(Diagnostic("R0202", {},
                       "the size of output " + o.name + " is not known: no input has its " +
                           std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions"))
                .fix("say --output_extents=[w,h,...], dimension 0 first"));
    }
    o.mins.push_back(static_cast<int>(min));
    o.extents.push_back(static_cast<int>(extent));
  }
}

std::vector<int> asked_extents(const Request &r, int rank, const std::string &output) {
  std::vector<int> extents;
  if (!parse_extents(r.output_extents, &extents) || static_cast<int>(extents.size()) != rank) {
    raise(Diagnostic("R0202", {},
                     "--output_extents=" + r.output_extents + " does not give the " +
                         std::to_string(rank) + " extents of output " + output)
              .fix("[w,h,...], dimension 0 first"));
  }
  return extents;
}

const std::string *find_setting(const Settings &settings, const std::string &name) {
  for (const auto &[key, value] : settings) {
    if (key == name) return &value;
  }
  return nullptr;
}

void read_inputs(const Algorithm &a, Arguments &args) {
  for (const ir::ParameterRef &p : a.program.params) {
    if (p->embedded) continue;
    const std::string *value = find_setting(a.arguments, p->name);
    if (p->is_buffer) {
      if (!value) {
        raise(Diagnostic("L0401", p->loc, "input " + p->name + " was not given")
                  .fix(p->name + "=FILE, or " + p->name + "=random:0:[extents], zero:[extents], " +
                       "constant:VALUE:[extents]"));
      }
      args.inputs[p->name] =
          is_made_up(*value) ? made_up_input(*p, *value) : input_file(*p, *value);
      continue;
    }
    uint64_t bits = p->bits;
    if (!value || *value == "default") {
      if (!p->is_set) {
        raise(Diagnostic("L0401", p->loc, "input " + p->name + " was not given")
                  .fix(p->name + "=VALUE, " + scalar_expected(p->type)));
      }
    } else if (!parse_scalar(*value, p->type, &bits)) {
      bad_value(p->name, *value, scalar_expected(p->type));
    }
    args.scalars[p->name] = bits;
  }
}

ir::EvalContext sizes_of(const Algorithm &a, const Arguments &args) {
  ir::EvalContext cx;
  for (const auto &[name, image] : args.inputs) {
    std::vector<int> mins;
    for (int d = 0; d < image.dimensions(); d++) mins.push_back(image.dim(d).min());
    define_sizes(name, mins, extents_of(image), cx);
  }
  for (const ir::ParameterRef &p : a.program.params) {
    const auto it = args.scalars.find(p->name);
    if (it == args.scalars.end() || p->type.is_float() || p->type.is_handle()) continue;
    int64_t value = static_cast<int64_t>(it->second);
    if (p->type.is_int() && p->type.bits() < 64) {
      const int unused = 64 - p->type.bits();
      value = static_cast<int64_t>(it->second << unused) >> unused;
    }
    cx.vars[p->name] = ir::Value::of_int(p->type, value);
  }
  return cx;
}

void read_outputs(const Request &r, const Algorithm &a, Arguments &args) {
  const ir::EvalContext cx = sizes_of(a, args);
  for (const ir::Name name : a.program.outputs) {
    const ir::Function &f = *a.program.find(name);
    const int rank = f.dimensions();
    const Image *like = nullptr;
    for (const ir::ParameterRef &p : a.program.params) {
      if (!like && p->is_buffer && !p->embedded && p->dimensions == rank)
        like = &args.inputs[p->name];
    }
    std::vector<int> asked;
    if (!r.output_extents.empty()) asked = asked_extents(r, rank, name);
    for (size_t k = 0; k < f.types.size(); k++) {
      Output o;
      o.name = f.types.size() > 1 ? name + "." + std::to_string(k) : name.str();
      o.type = f.types[k];
      const std::string *file = find_setting(a.arguments, o.name);
      if (file) o.file = *file;
      const ir::Parameter *p = k < f.outputs.size() ? f.outputs[k].get() : nullptr;
      size_output(o, p, asked.empty() ? nullptr : &asked, like, rank, cx);
      o.order = storage_order(rank, p);
      args.outputs.push_back(std::move(o));
    }
  }
}

}  // namespace

// ---- shared ---------------------------------------------------------------------------------------------

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

Arguments read_arguments(const Request &r, const Algorithm &a) {
  Arguments args;
  read_inputs(a, args);
  read_outputs(r, a, args);
  return args;
}

std::vector<Image> make_outputs(const Arguments &a) {
  std::vector<Image> outputs;
  for (const Output &o : a.outputs) outputs.push_back(o.make());
  return outputs;
}

std::vector<const void *> argument_pointers(const lower::LoweredFunction &f, Arguments &a,
                                            std::vector<Image> &outputs) {
  using Kind = lower::LoweredArgument::Kind;
  std::vector<const void *> pointers;
  size_t output = 0;
  for (const lower::LoweredArgument &arg : f.args) {
    switch (arg.kind) {
      case Kind::OutputBuffer: pointers.push_back(outputs.at(output++).raw_buffer()); break;
      case Kind::InputBuffer: pointers.push_back(a.inputs.at(arg.name).raw_buffer()); break;
      case Kind::InputScalar: pointers.push_back(&a.scalars.at(arg.name)); break;
    }
  }
  return pointers;
}

std::vector<Image> interpret(const Algorithm &a, Arguments &args) {
  std::vector<Image> outputs = make_outputs(args);
  std::vector<halide_buffer_t *> raw;
  for (Image &o : outputs) raw.push_back(o.raw_buffer());
  std::unordered_map<std::string, halide_buffer_t *> inputs;
  for (auto &[name, image] : args.inputs) inputs[name] = image.raw_buffer();
  ir::InterpretOptions options;
  options.fma = a.target.fuses_multiply_add();
  ir::interpret(a.program, raw, inputs, {args.scalars.begin(), args.scalars.end()}, options);
  return outputs;
}

}  // namespace calotype::cli
