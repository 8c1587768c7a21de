// The reference interpreter's edges: parameters, images in, pictures out. What happens between is in
// interpret_stages.cpp. Tests: test/unit/ir/interpret_test.cpp, against plain C++ loops.
#include "interpret.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "../base/diagnostic.h"
#include "../base/stack.h"
#include "../runtime/HalideRuntime.h"
#include "interpret_stages.h"

namespace calotype::ir {

namespace interpreter {

namespace {

std::string comma_list(const std::vector<std::string> &v) {
  std::string s;
  for (const std::string &x : v) s += (s.empty() ? "" : ", ") + x;
  return s;
}

Scalar buffer_scalar(const halide_buffer_t *b, Type t, const std::string &name) {
  if (!b->host) raise(Diagnostic("R0101", {}, "buffer " + name + " has no host memory"));
  const Type given(b->type);
  if (given.element_of() != t.element_of()) {
    raise(Diagnostic(
        "R0101", {},
        "buffer " + name + " has type " + to_string(given) + ", expected " + to_string(t)));
  }
  return scalar_of(t);
}

void check_rank(const halide_buffer_t *b, int dimensions, const std::string &name) {
  if (b->dimensions == dimensions) return;
  raise(Diagnostic("R0101", {},
                   "buffer " + name + " has " + std::to_string(b->dimensions) +
                       " dimensions, expected " + std::to_string(dimensions)));
}

}  // namespace

InterpretReport Interpreter::run(const std::vector<halide_buffer_t *> &outputs) {
  name_output_buffers(outputs);
  check_requirements();
  for (const Function &f : p_.funcs) add_stages(f);
  for (auto &s : stages_) compile(*s);
  size_t next = 0;
  for (Name name : p_.outputs) {
    const Function *f = p_.find(name);
    std::vector<halide_buffer_t *> elements(outputs.begin() + next,
                                            outputs.begin() + next + f->types.size());
    next += f->types.size();
    compute_output(*last_.at(name), elements);
  }
  return std::move(report_);
}

void Interpreter::run_program(const Program &p, char *frame, bool self, int begin, int end) {
  if (begin >= end) return;
  report_.operations += static_cast<uint64_t>(p.size(self)) * (end - begin);
  if (options_.max_operations && report_.operations > options_.max_operations) {
    raise(Diagnostic("R0106", {},
                     "the interpreter exceeded its limit of " +
                         std::to_string(options_.max_operations) + " operations"));
  }
  p.run(frame, self, begin, end, this);
}

void Interpreter::requirement_failed(const Call *op, const std::string &message) {
  const StringImm *where = op->args[2].as<StringImm>(), *text = op->args[3].as<StringImm>();
  Diagnostic d("R0105", {}, p_.name + ": requirement failed: " + (text ? text->value : ""));
  const size_t colon = where ? where->value.rfind(':') : std::string::npos;
  if (colon != std::string::npos) {
    d.loc = SrcLoc{intern_path(where->value.substr(0, colon)),
                   std::atoi(where->value.c_str() + colon + 1)};
  }
  if (!message.empty()) d.why.push_back({message, {}});
  raise(std::move(d));
}

void Interpreter::check_requirements() {
  CompileOptions options;
  options.fma = options_.fma;
  options.resolver = this;
  options.where = "a requirement";
  for (const Expr &e : p_.requirements) {
    const auto program = Program::compile({e}, {}, {}, options);
    std::vector<char> frame(static_cast<size_t>(program->registers() + 1) * kSlotBytes);
    run_program(*program, frame.data(), false, 0, 1);
  }
}

// The first few are enough to find the cause.
void Interpreter::unspecified(const std::string &what) {
  constexpr size_t kMost = 10;
  if (std::find(report_.unspecified.begin(), report_.unspecified.end(), what) ==
          report_.unspecified.end() &&
      report_.unspecified.size() < kMost) {
    report_.unspecified.push_back(what);
  }
}

// Whether two elements share an address: then the buffer has no defined contents. Where each stride passes the reach of
// all smaller ones there are none; other layouts are looked at element by element.
bool overlaps_itself(const halide_buffer_t &b) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, steps
  for (int d = 0; d < b.dimensions; d++) {
    if (b.dim[d].extent <= 0) return false;
    if (b.dim[d].extent > 1)
      dims.emplace_back(std::abs(int64_t(b.dim[d].stride)), b.dim[d].extent - 1);
  }
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  bool nested = true;
  for (const auto &[stride, steps] : dims) {
    nested = nested && stride > reach;
    reach += stride * steps;
  }
  if (nested) return false;
  std::unordered_set<int64_t> offsets{0};
  for (const auto &[stride, steps] : dims) {
    std::unordered_set<int64_t> next;
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i <= steps; i++) {
        if (!next.insert(offset + i * stride).second) return true;
      }
    }
    offsets = std::move(next);
  }
  return false;
}

void Interpreter::name_output_buffers(const std::vector<halide_buffer_t *> &outputs) {
  size_t next = 0;
  for (Name name : p_.outputs) {
    const Function *f = p_.find(name);
    CALO_ASSERT(f != nullptr);
    for (size_t i = 0; i < f->types.size(); i++, next++) {
      if (next >= outputs.size() || !outputs[next]) {
        raise(Diagnostic("R0101", f->loc, "no buffer for output " + name.str()));
      }
      check_rank(outputs[next], f->dimensions(), name);
      buffer_scalar(outputs[next], f->types[i], name);
      if (overlaps_itself(*outputs[next])) {
        raise(Diagnostic("R0101", f->loc,
                         "buffer " + name.str() + " overlaps itself: elements of it share memory"));
      }
      if (i < f->outputs.size() && f->outputs[i].defined())
        output_buffers_[f->outputs[i]->name] = outputs[next];
    }
  }
}

const halide_buffer_t *Interpreter::buffer_of(const ParameterRef &p) {
  auto it = inputs_.find(p->name);
  const halide_buffer_t *b = it != inputs_.end() ? it->second : nullptr;
  if (!b && p->buffer.defined()) b = p->buffer->raw();
  if (auto out = output_buffers_.find(p->name); !b && out != output_buffers_.end()) b = out->second;
  if (!b) raise(Diagnostic("L0401", p->loc, "no buffer is given for the input " + p->name));
  check_rank(b, p->dimensions, p->name);
  return b;
}

uint64_t Interpreter::parameter_bits(const Variable *op) {
  const ParameterRef &p = op->param;
  if (!p->is_buffer) {
    if (auto it = scalars_.find(p->name); it != scalars_.end()) return it->second;
    if (!p->is_set) raise(Diagnostic("L0401", p->loc, "parameter " + p->name + " has no value"));
    return p->bits;
  }
  // A field: "<name>.min.<dimension>", also extent and stride.
  const std::string &n = op->name.str();
  const size_t last = n.rfind('.'), first = n.rfind('.', last - 1);
  CALO_ASSERT(last != std::string::npos && first != std::string::npos && first < last, n);
  const std::string field = n.substr(first + 1, last - first - 1);
  const halide_buffer_t *b = buffer_of(p);
  const int d = std::atoi(n.c_str() + last + 1);
  CALO_ASSERT(d >= 0 && d < b->dimensions, n);
  const halide_dimension_t &dim = b->dim[d];
  CALO_ASSERT(field == "min" || field == "extent" || field == "stride", n);
  return static_cast<uint64_t>(static_cast<int64_t>(field == "min"      ? dim.min
                                                    : field == "extent" ? dim.extent
                                                                        : dim.stride));
}

int Interpreter::image(const Call *op) {
  const halide_buffer_t *b = buffer_of(op->param);
  images_.push_back({b, buffer_scalar(b, op->type, op->param->name), op->param, compiling_});
  return static_cast<int>(images_.size()) - 1;
}

namespace {

[[noreturn]] void outside(const Image &im, const int32_t *const *at, int lane, int d) {
  const halide_dimension_t &dim = im.buffer->dim[d];
  std::vector<std::string> point;
  for (int k = 0; k < im.buffer->dimensions; k++) point.push_back(std::to_string(at[k][lane]));
  const std::string input = im.param->name;
  raise(
      Diagnostic(
          "R0102", im.reader->def->loc.defined() ? im.reader->def->loc : im.reader->func->loc,
          im.reader->func->name + " reads " + input + "(" + comma_list(point) + "): index " +
              std::to_string(at[d][lane]) + " in dimension " + std::to_string(d) + " is outside [" +
              std::to_string(dim.min) + ", " + std::to_string(dim.min + dim.extent - 1) + "]")
          .fix("give " + input + " a boundary condition, such as BoundaryConditions::repeat_edge(" +
               input + "), or clamp the index"));
}

// One element of memory into a register lane: bool is a byte, half floats become floats.
void load_element(Scalar s, int bytes, const uint8_t *from, char *to) {
  if (s == Scalar::F16 || s == Scalar::BF16) {
    uint16_t h;
    std::memcpy(&h, from, 2);
    float f;
    if (s == Scalar::F16) {
      f = float16_from_bits(h);
    } else {
      const uint32_t wide = static_cast<uint32_t>(h) << 16;
      std::memcpy(&f, &wide, 4);
    }
    std::memcpy(to, &f, 4);
  } else if (s == Scalar::Bool) {
    *to = *from != 0;
  } else {
    std::memcpy(to, from, bytes);
  }
}
void store_element(Scalar s, int bytes, const char *from, uint8_t *to) {
  if (s == Scalar::F16 || s == Scalar::BF16) {
    float f;
    std::memcpy(&f, from, 4);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    const uint16_t h = s == Scalar::F16 ? float16_bits(f) : static_cast<uint16_t>(bits >> 16);
    std::memcpy(to, &h, 2);
  } else {
    std::memcpy(to, from, bytes);
  }
}
int memory_bytes(Scalar s) { return s == Scalar::F16 || s == Scalar::BF16 ? 2 : scalar_size(s); }

}  // namespace

void Interpreter::read_image(int image, const int32_t *const *at, int begin, int end, void *out) {
  const Image &im = images_[image];
  const int bytes = memory_bytes(im.type), size = scalar_size(im.type);
  int64_t offset[kBatch];
  std::fill(offset + begin, offset + end, 0);
  bool missing[kBatch] = {};
  uint8_t instead[8];
  std::fill(instead, instead + 8, static_cast<uint8_t>(options_.outside));
  for (int d = 0; d < im.buffer->dimensions; d++) {
    const halide_dimension_t &dim = im.buffer->dim[d];
    for (int i = begin; i < end; i++) {
      const int64_t x = static_cast<int64_t>(at[d][i]) - dim.min;
      if (x >= 0 && x < dim.extent) {
        offset[i] += x * dim.stride;
      } else if (options_.outside < 0) {
        outside(im, at, i, d);
      } else {
        missing[i] = true;
      }
    }
  }
  char *to = static_cast<char *>(out);
  for (int i = begin; i < end; i++) {
    const uint8_t *from = missing[i] ? instead : im.buffer->host + offset[i] * bytes;
    load_element(im.type, bytes, from, to + i * size);
  }
}

// --- Outputs -----------------------------------------------------------------------------------------------------------

void Interpreter::compute_output(Stage &s, const std::vector<halide_buffer_t *> &buffers) {
  const int dimensions = s.func->dimensions();
  Coordinates at(dimensions);
  for (size_t e = 0; e < buffers.size(); e++) {  // a Tuple's buffers may differ in shape
    halide_buffer_t *b = buffers[e];
    const Scalar type = scalar_of(s.func->types[e]);
    const int size = scalar_size(type), bytes = memory_bytes(type);
    std::vector<int64_t> x(dimensions);
    bool more = true;
    for (int d = 0; d < dimensions; d++) {
      x[d] = b->dim[d].min;
      more = more && b->dim[d].extent > 0;
    }
    int64_t offsets[kBatch];
    uint64_t values[kBatch];
    while (more) {
      int n = 0;
      for (; n < kBatch && more; n++) {
        offsets[n] = 0;
        for (int d = 0; d < dimensions; d++) {
          at.values[d][n] = static_cast<int32_t>(x[d]);
          offsets[n] += (x[d] - b->dim[d].min) * b->dim[d].stride;
        }
        int d = 0;
        while (d < dimensions && ++x[d] == static_cast<int64_t>(b->dim[d].min) + b->dim[d].extent) {
          x[d] = b->dim[d].min;
          d++;
        }
        more = d < dimensions;
      }
      fetch(s, false, static_cast<int>(e), at.at, 0, n, values);
      const char *from = reinterpret_cast<const char *>(values);
      for (int i = 0; i < n; i++)
        store_element(type, bytes, from + i * size, b->host + offsets[i] * bytes);
    }
  }
}

}  // namespace interpreter

namespace {

// The memory of buffers, padding included.
std::vector<uint8_t> bytes_of(const std::vector<halide_buffer_t *> &buffers) {
  std::vector<uint8_t> all;
  for (const halide_buffer_t *b : buffers) {
    int64_t first = 0, last = 0;
    bool empty = false;
    for (int d = 0; d < b->dimensions; d++) {
      const int64_t span = static_cast<int64_t>(b->dim[d].extent - 1) * b->dim[d].stride;
      empty = empty || b->dim[d].extent <= 0;
      (span < 0 ? first : last) += span;
    }
    const int64_t size = (b->type.bits + 7) / 8;
    if (!empty) all.insert(all.end(), b->host + first * size, b->host + (last + 1) * size);
  }
  return all;
}

}  // namespace

InterpretReport interpret(const Program &p, const std::vector<halide_buffer_t *> &outputs,
                          const std::unordered_map<std::string, halide_buffer_t *> &inputs,
                          const std::unordered_map<std::string, uint64_t> &scalars,
                          const InterpretOptions &options) {
  InterpretReport report;
  const auto run = [&](int outside) {
    InterpretOptions o = options;
    o.outside = outside;
    run_on_large_stack(
        [&] { report = interpreter::Interpreter(p, inputs, scalars, o).run(outputs); });
  };
  try {
    run(options.outside);
  } catch (const Error &e) {
    if (!options.ignore_unused_reads || e.diagnostic().code != "R0102") throw;
    run(0);
    const std::vector<uint8_t> with_zeros = bytes_of(outputs);
    run(0x5b);
    if (bytes_of(outputs) != with_zeros) throw;
  }
  return report;
}

}  // namespace calotype::ir
