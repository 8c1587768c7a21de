// One program under one schedule: compiled and run in process, and compared bit by bit with the reference interpreter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/target.h"
#include "ir/function.h"
#include "runtime/HalideRuntime.h"
#include "schedule/directive.h"

namespace calotype::test {

/// A buffer that owns its memory, with a guard of known bytes on both sides.
class CaseBuffer {
public:
  /// `padding`: elements left between the slices of each dimension; `stride`: of the first dimension.
  CaseBuffer(Type t, const std::vector<int> &mins, const std::vector<int> &extents,
             const std::vector<int> &padding = {}, int stride = 1);
  halide_buffer_t *raw() { return &raw_; }
  /// Random values of every kind: small and extreme integers; floats with NaN, infinities and signed zeros now and then.
  void fill(uint64_t seed, bool special_floats);
  bool guards_intact() const;
  std::vector<uint8_t> bytes() const;  ///< without the guards
  /// Where the first element differs (all NaNs count as one value), or empty.
  std::string first_difference(const CaseBuffer &other) const;
  /// For floating-point reductions in another order: finite floats may differ by `bound`; all else is not compared.
  std::string first_beyond(const CaseBuffer &other, double bound) const;
  double largest() const;  ///< of finite floats, by magnitude

private:
  Type type_;
  std::vector<halide_dimension_t> dims_;
  std::vector<uint8_t> memory_;
  size_t host_offset_ = 0;
  halide_buffer_t raw_;
};

struct CaseSize {
  std::vector<int> mins, extents;  ///< of every output (first dimensions if it has fewer)
  int padding = 0;                 ///< elements between rows
  int margin = 0;  ///< of inputs around what is asked for: what runs is a crop of them
  int stride = 1;  ///< of the inputs' first dimension, where they do not ask for another
};

struct CaseResult {
  enum Kind { Same, Refused, Different, Failed } kind = Same;
  std::string text;  ///< what differs; the diagnostic of a refusal or failure
  std::string code;
  int error = 0;                             ///< halide_error_code_t of a run that failed
  std::vector<Diagnostic> diagnostics = {};  ///< of a refusal
};

/// A run looked into: what its memory comes from, what it left in the outputs. Nothing is compared.
struct CaseProbe {
  void *(*malloc)(void *cx, size_t bytes) = nullptr;
  void (*free)(void *cx, void *memory) = nullptr;
  std::function<void(bool begins)> around = {};  ///< called before and after the compiled function
  std::vector<std::vector<uint8_t>> outputs = {};
};

/// What turns the lowered program into code: the JIT, an object file, or C source under a compiler.
enum class CaseBackend { Jit, Object, CGcc, CClang };

/// A program compiled once, run at several sizes.
class CompiledCase {
public:
  CompiledCase(const ir::Program &p, const schedule::Schedule &s, const Target &t,
               CaseBackend backend = CaseBackend::Jit);
  ~CompiledCase();
  /// The refusal, if compiling was refused (Same: it was not).
  const CaseResult &compiled() const;
  CaseResult run(const CaseSize &size, uint64_t seed, bool special_floats = false,
                 CaseProbe *probe = nullptr) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Compiles and runs once; a schedule given as text.
CaseResult run_case(const ir::Program &p, const std::string &schedule, const CaseSize &size,
                    uint64_t seed = 1, const Target &t = get_host_target());

}  // namespace calotype::test
