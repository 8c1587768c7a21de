// See run_case.h.
#include "run_case.h"

#include <cmath>
#include <cstring>
#include <random>
#include <unordered_map>

#include "base/diagnostic.h"
#include "codegen/c_source.h"
#include "codegen/jit.h"
#include "codegen/object.h"
#include "driver/artifacts.h"
#include "ir/interpret.h"
#include "lang/float16.h"
#include "lower/pipeline.h"
#include "runtime/runtime.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "shell.h"

namespace calotype::test {

namespace {
constexpr size_t kGuard = 256;
constexpr uint8_t kGuardByte = 0xa5;

std::string coordinates(const std::vector<int> &at) {
  std::string s = "(";
  for (size_t i = 0; i < at.size(); i++) s += (i ? ", " : "") + std::to_string(at[i]);
  return s + ")";
}
}  // namespace

CaseBuffer::CaseBuffer(Type t, const std::vector<int> &mins, const std::vector<int> &extents,
                       const std::vector<int> &padding, int first_stride)
    : type_(t), raw_() {
  int64_t stride = first_stride;
  for (size_t d = 0; d < extents.size(); d++) {
    halide_dimension_t dim = {};
    dim.min = mins[d];
    dim.extent = extents[d];
    dim.stride = static_cast<int32_t>(stride);
    dims_.push_back(dim);
    stride *= std::max(extents[d], 0) + (d < padding.size() ? padding[d] : 0);
  }
  size_t bytes = static_cast<size_t>(std::max<int64_t>(stride, 0)) * t.bytes();
  memory_.assign(bytes + 2 * kGuard + 64, kGuardByte);
  size_t base = reinterpret_cast<uintptr_t>(memory_.data()) + kGuard;
  host_offset_ = kGuard + (64 - base % 64) % 64;
  raw_.host = memory_.data() + host_offset_;
  raw_.type = halide_type_t(t);
  raw_.dimensions = static_cast<int32_t>(dims_.size());
  raw_.dim = dims_.data();
}

namespace {
// Calls f(coordinates, element offset) for every element.
template <typename F> void for_each(const std::vector<halide_dimension_t> &dims, F f) {
  for (const halide_dimension_t &d : dims) {
    if (d.extent <= 0) return;
  }
  std::vector<int> at;
  for (const halide_dimension_t &d : dims) at.push_back(d.min);
  for (;;) {
    int64_t offset = 0;
    for (size_t d = 0; d < dims.size(); d++)
      offset += int64_t(at[d] - dims[d].min) * dims[d].stride;
    if (!f(at, offset)) return;
    size_t d = 0;
    while (d < dims.size() && ++at[d] == dims[d].min + dims[d].extent) {
      at[d] = dims[d].min;
      d++;
    }
    if (d == dims.size()) return;
  }
}
}  // namespace

void CaseBuffer::fill(uint64_t seed, bool special_floats) {
  std::mt19937_64 rng(seed);
  int bytes = type_.bytes();
  for_each(dims_, [&](const std::vector<int> &, int64_t offset) {
    uint8_t *p = raw_.host + offset * bytes;
    uint64_t r = rng();
    if (type_.is_float()) {
      double v = static_cast<double>(static_cast<int64_t>(r % 4001) - 2000) / 16.0;
      if (special_floats && r >> 60 == 0) {
        const double specials[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0, 1e30, -1e30, 1e-40};
        v = specials[(r >> 50) % 8];
      }
      if (bytes == 2) {
        const uint16_t h = lang::float_to_bits16(v, type_.is_bfloat() ? 7 : 10);
        std::memcpy(p, &h, 2);
      } else if (bytes == 4) {
        float f = static_cast<float>(v);
        std::memcpy(p, &f, 4);
      } else {
        std::memcpy(p, &v, 8);
      }
    } else if (type_.is_bool()) {
      *p = r & 1;
    } else {
      if (r >> 62 == 0) r &= 15;
      r = r * 0x9e3779b97f4a7c15ull >> (r >> 62 ? 0 : 60);
      std::memcpy(p, &r, static_cast<size_t>(bytes));
    }
    return true;
  });
}

std::vector<uint8_t> CaseBuffer::bytes() const {
  const auto first = memory_.begin() + static_cast<long>(host_offset_);
  return {first, first + static_cast<long>(memory_.size() - 2 * kGuard - 64)};
}

bool CaseBuffer::guards_intact() const {
  for (size_t i = 0; i < host_offset_; i++) {
    if (memory_[i] != kGuardByte) return false;
  }
  for (size_t i = memory_.size() - kGuard; i < memory_.size(); i++) {
    if (memory_[i] != kGuardByte) return false;
  }
  return true;
}

namespace {
double float_at(Type t, const uint8_t *p) {
  if (t.bytes() == 4) {
    float f;
    std::memcpy(&f, p, 4);
    return static_cast<double>(f);
  }
  double v = 0;
  if (t.bytes() == 8) std::memcpy(&v, p, 8);
  return v;
}
}  // namespace

std::string CaseBuffer::first_beyond(const CaseBuffer &other, double bound) const {
  std::string result;
  if (!type_.is_float()) return result;
  for_each(dims_, [&](const std::vector<int> &at, int64_t offset) {
    const double a = float_at(type_, raw_.host + offset * type_.bytes());
    const double b = float_at(type_, other.raw_.host + offset * type_.bytes());
    if (!std::isfinite(a) || !std::isfinite(b) || std::abs(a - b) <= bound) return true;
    result = "at " + coordinates(at) + ": compiled " + std::to_string(a) + ", interpreter " +
             std::to_string(b) + ", allowed " + std::to_string(bound);
    return false;
  });
  return result;
}

double CaseBuffer::largest() const {
  double most = 0;
  if (!type_.is_float()) return most;
  for_each(dims_, [&](const std::vector<int> &, int64_t offset) {
    const double a = float_at(type_, raw_.host + offset * type_.bytes());
    if (std::isfinite(a)) most = std::max(most, std::abs(a));
    return true;
  });
  return most;
}

std::string CaseBuffer::first_difference(const CaseBuffer &other) const {
  std::string result;
  int bytes = type_.bytes();
  for_each(dims_, [&](const std::vector<int> &at, int64_t offset) {
    const uint8_t *a = raw_.host + offset * bytes, *b = other.raw_.host + offset * bytes;
    if (std::memcmp(a, b, static_cast<size_t>(bytes)) == 0) return true;
    auto show = [&](const uint8_t *p) {
      if (type_.is_float()) {
        double v = 0;
        if (bytes == 4) {
          float f;
          std::memcpy(&f, p, 4);
          v = f;
        } else if (bytes == 2) {
          uint16_t h;
          std::memcpy(&h, p, 2);
          v = lang::bits16_to_float(h, type_.is_bfloat() ? 7 : 10);
        } else {
          std::memcpy(&v, p, 8);
        }
        char text[64];
        std::snprintf(text, sizeof text, "%.9g (%a)", v, v);
        return std::isnan(v) ? std::string("nan") : std::string(text);
      }
      uint64_t v = 0;
      std::memcpy(&v, p, static_cast<size_t>(bytes));
      if (type_.is_int())
        return std::to_string(static_cast<int64_t>(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
      return std::to_string(v);
    };
    std::string x = show(a), y = show(b);
    if (x == "nan" && y == "nan") return true;
    result = "at " + coordinates(at) + ": compiled " + x + ", interpreter " + y;
    return false;
  });
  return result;
}

// --- Compiling and running ---------------------------------------------------------------------------------------

struct CompiledCase::Impl {
  ir::Program program;
  Target target;
  lower::LoweredFunction lowered;
  codegen::JitFunction jit;
  std::unique_ptr<SharedObject> library;
  int (*argv)(void **) = nullptr;
  CaseResult compiled;
  bool reordered = false;  ///< the schedule changes the order of a floating-point reduction
  bool races = false;      ///< the schedule gave up the proof that results are the same

  int call(runtime::JitContext *cx, const std::vector<const void *> &args) const {
    if (!argv) return jit.call(cx, args.data());
    return argv(const_cast<void **>(args.data()));  // embedded images are in the object
  }

  void compile(CaseBackend backend) {
    if (backend == CaseBackend::Jit) {
      jit = codegen::compile_jit(lowered, target);
      return;
    }
    const bool object = backend == CaseBackend::Object;
    const std::string file = temporary(object ? "case.o" : "case.c");
    driver::write_file(file, object
                                 ? codegen::compile_object(lowered, target, "case_under_test",
                                                           codegen::ObjectForm::Object)
                                 : codegen::compile_c_source(lowered, target, "case_under_test"));
    const bool clang = backend == CaseBackend::CClang;
    library = std::make_unique<SharedObject>(
        file, clang ? "clang-22" : "cc", "-O1 -std=c99 -Wall -Wextra -Werror -Wno-unused-function");
    argv = library->find<int(void **)>("case_under_test_argv");
    if (!argv) compiled = {CaseResult::Failed, library->failure, ""};
  }
};

CompiledCase::CompiledCase(const ir::Program &p, const schedule::Schedule &s, const Target &t,
                           CaseBackend backend)
    : impl_(new Impl) {
  impl_->program = p;
  impl_->target = t;
  try {
    const schedule::Scheduled scheduled = schedule::apply(p, s, t);
    impl_->reordered = !scheduled.reordered.empty();
    for (const std::string &what : scheduled.reordered)
      impl_->races |= what.rfind("allow_race_conditions", 0) == 0;
    impl_->lowered = lower::lower(scheduled, t);
    impl_->compile(backend);
  } catch (const InternalError &e) {
    impl_->compiled = {CaseResult::Failed, e.what(), e.diagnostic().code};
  } catch (const Error &e) {
    impl_->compiled = {CaseResult::Refused, e.what(), e.diagnostic().code, 0, e.diagnostics()};
  }
}
CompiledCase::~CompiledCase() = default;
const CaseResult &CompiledCase::compiled() const { return impl_->compiled; }

CaseResult CompiledCase::run(const CaseSize &size, uint64_t seed, bool special_floats,
                             CaseProbe *probe) const {
  if (impl_->compiled.kind != CaseResult::Same) return impl_->compiled;
  using Kind = lower::LoweredArgument::Kind;
  std::vector<lower::LoweredArgument> args = impl_->lowered.args;
  for (const ir::ParameterRef &p : impl_->lowered.embedded) {
    args.push_back({Kind::InputBuffer, p->name, p->type, p->dimensions, p});
  }
  auto first = [](const std::vector<int> &v, int n) {
    return std::vector<int>(v.begin(), v.begin() + n);
  };

  // Ask how large the inputs must be.
  std::vector<std::unique_ptr<CaseBuffer>> buffers(args.size()), expected(args.size());
  std::vector<uint64_t> scalars(args.size());
  std::vector<const void *> pointers(args.size());
  for (size_t i = 0; i < args.size(); i++) {
    const lower::LoweredArgument &a = args[i];
    if (a.kind == Kind::InputScalar) {
      scalars[i] = a.param->bits;
      pointers[i] = &scalars[i];
      continue;
    }
    bool output = a.kind == Kind::OutputBuffer;
    std::vector<int> zero(a.dimensions, 0);
    buffers[i] = std::make_unique<CaseBuffer>(
        a.type, output ? first(size.mins, a.dimensions) : zero,
        output ? first(size.extents, a.dimensions) : zero,
        output ? std::vector<int>{size.padding, size.padding / 2} : std::vector<int>());
    if (!output) buffers[i]->raw()->host = nullptr;
    pointers[i] = buffers[i]->raw();
  }
  runtime::JitContext context;
  int code = 0;
  context.handlers.trace = [](void *, const halide_trace_event_t *) -> int32_t { return 1; };
  auto failed = [&](const std::string &what) {
    return CaseResult{
        CaseResult::Failed,
        what + " gave " + std::to_string(code) + ": " + std::string(context.error().text()), "",
        code};
  };
  code = impl_->call(&context, pointers);
  if (code != 0) return failed("bounds query");
  std::unordered_map<std::string, halide_buffer_t *> inputs;
  for (size_t i = 0; i < args.size(); i++) {
    if (args[i].kind != Kind::InputBuffer) continue;
    std::vector<int> mins, extents;
    int64_t total = 1;
    for (int d = 0; d < args[i].dimensions; d++) {
      const halide_dimension_t &dim = buffers[i]->raw()->dim[d];
      const bool free = args[i].param && d < static_cast<int>(args[i].param->dims.size()) &&
                        !args[i].param->dims[static_cast<size_t>(d)].min.defined() &&
                        !args[i].param->dims[static_cast<size_t>(d)].extent.defined();
      const int margin = free && dim.extent > 0 ? size.margin : 0;
      mins.push_back(dim.min - margin);
      extents.push_back(std::max(dim.extent, 0) + 2 * margin);
      total *= extents.back();
    }
    if (total > (1 << 24))
      return {CaseResult::Failed, "input " + args[i].name + " would be huge", ""};
    const bool any_stride =
        args[i].param && !args[i].param->dims.empty() && !args[i].param->dims[0].stride.defined();
    buffers[i] = std::make_unique<CaseBuffer>(args[i].type, mins, extents,
                                              std::vector<int>{size.padding, size.padding / 2},
                                              any_stride ? size.stride : 1);
    buffers[i]->fill(seed * 31 + i, special_floats);
    pointers[i] = buffers[i]->raw();
    inputs[args[i].name] = buffers[i]->raw();
  }
  if (probe) {
    context.handlers.malloc = probe->malloc;
    context.handlers.free = probe->free;
    if (probe->around) probe->around(true);
  }
  code = impl_->call(&context, pointers);
  if (probe && probe->around) probe->around(false);
  if (code != 0) {
    // A bound() that does not hold at this size is the schedule's promise broken: refused at run time.
    bool promise = code == halide_error_code_explicit_bounds_too_small;
    CaseResult r = failed("run");
    if (promise) r.kind = CaseResult::Refused, r.code = "S0116";
    return r;
  }

  if (probe) {
    probe->outputs.clear();
    for (size_t i = 0; i < args.size(); i++) {
      if (args[i].kind == Kind::OutputBuffer) probe->outputs.push_back(buffers[i]->bytes());
    }
    return {};
  }
  std::vector<halide_buffer_t *> outputs;
  for (size_t i = 0; i < args.size(); i++) {
    if (args[i].kind != Kind::OutputBuffer) continue;
    expected[i] = std::make_unique<CaseBuffer>(args[i].type, first(size.mins, args[i].dimensions),
                                               first(size.extents, args[i].dimensions),
                                               std::vector<int>{size.padding, size.padding / 2});
    outputs.push_back(expected[i]->raw());
  }
  ir::InterpretOptions options;
  options.fma = impl_->target.fuses_multiply_add();
  options.ignore_unused_reads = true;  // inputs are as large as the bounds query asks
  try {
    ir::interpret(impl_->program, outputs, inputs, {}, options);
  } catch (const Error &e) {
    return {CaseResult::Failed, std::string("interpreter: ") + e.what(), e.diagnostic().code};
  }
  for (size_t i = 0; i < args.size(); i++) {
    if (buffers[i] && !buffers[i]->guards_intact()) {
      return {CaseResult::Different, args[i].name + ": written outside of the buffer", ""};
    }
    if (!expected[i] || impl_->races) continue;
    std::string difference;
    if (!impl_->reordered) {
      difference = buffers[i]->first_difference(*expected[i]);
    } else if (!special_floats) {
      double scale = expected[i]->largest();
      for (const auto &b : buffers) scale = std::max(scale, b ? b->largest() : 0);
      difference = buffers[i]->first_beyond(*expected[i], 1e-4 * scale);
    }
    if (!difference.empty()) return {CaseResult::Different, args[i].name + " " + difference, ""};
  }
  return {};
}

CaseResult run_case(const ir::Program &p, const std::string &schedule, const CaseSize &size,
                    uint64_t seed, const Target &t) {
  schedule::Schedule s;
  try {
    s = schedule::parse_schedule(schedule, "case.sched");
  } catch (const Error &e) {
    return {CaseResult::Refused, e.what(), e.diagnostic().code};
  }
  return CompiledCase(p, s, t).run(size, seed);
}

}  // namespace calotype::test
