// Evaluates one expression over arrays of operands, through the interpreter's register programs.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "ir/interpret_program.h"
#include "ir/nodes.h"

namespace calotype::test {

/// An expression over the variables "x", "y", "z" of the given types, compiled once.
class BatchFunction {
public:
  BatchFunction(const Expr &e, const std::vector<Type> &types, bool fma = true) {
    static const char *const names[] = {"x", "y", "z"};
    ir::interpreter::CompileOptions options;
    options.fma = fma;
    std::vector<ir::Name> inputs;
    for (size_t i = 0; i < types.size(); i++) inputs.emplace_back(names[i]);
    program_ = ir::interpreter::Program::compile({e}, inputs, types, options);
    frame_.resize(static_cast<size_t>(program_->registers()) * ir::interpreter::kSlotBytes);
  }

  /// out[i] = e(x[i], y[i] ...); C++ types equal to the expression's.
  template <typename R, typename... Args>
  std::vector<R> operator()(const std::vector<Args> &...args) {
    const size_t n = std::min({args.size()...});
    std::vector<R> out(n);
    for (size_t at = 0; at < n; at += ir::interpreter::kBatch) {
      const size_t lanes = std::min<size_t>(ir::interpreter::kBatch, n - at);
      int input = 0;
      (std::memcpy(program_->input(frame_.data(), input++), args.data() + at, lanes * sizeof(Args)),
       ...);
      program_->run(frame_.data(), false, 0, static_cast<int>(lanes), nullptr);
      std::memcpy(out.data() + at, program_->output(frame_.data(), 0), lanes * sizeof(R));
    }
    return out;
  }

private:
  std::unique_ptr<ir::interpreter::Program> program_;
  std::vector<char> frame_;
};

inline Expr variable(const char *name, Type t) { return ir::make_var(name, t); }

/// A fixed sequence of pseudo-random bits.
class Bits {
public:
  explicit Bits(uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dull;
  }

private:
  uint64_t state_;
};

template <typename To, typename From> To bit_copy(From x) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To r;
  std::memcpy(&r, &x, sizeof r);
  return r;
}

}  // namespace calotype::test
