// Random well-typed programs for fuzzing: stencils, resampling, gathers, reductions, scans, scatters, tuples, several
// outputs. Deterministic in the seed. Everything that the language leaves unspecified is avoided: signed 32- and 64-bit
// values are kept small by `% 1021`, shifts stay inside the type. Expressions are settled as make_program would.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "ir/function.h"

namespace calotype::test {

/// A seeded source of choices.
class Dice {
public:
  explicit Dice(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  int below(int n) { return n <= 1 ? 0 : static_cast<int>(engine_() % static_cast<uint64_t>(n)); }
  int between(int lo, int hi) { return lo + below(hi - lo + 1); }  ///< both inclusive
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &v) {
    return v[static_cast<size_t>(below(static_cast<int>(v.size())))];
  }
  /// An index with probability proportional to its weight.
  int weighted(const std::vector<int> &weights);
  uint64_t bits() { return engine_(); }

private:
  std::mt19937_64 engine_;
};

struct ProgramShape {
  int min_funcs = 2, max_funcs = 6;
  int max_dims = 4;
  int depth = 3;                                         ///< of expressions
  bool updates = true, floats = true, functions = true;  ///< functions: exp, sin ...
  bool fma = true;                                       ///< numeric mode to settle for
};

ir::Program random_program(uint64_t seed, const ProgramShape &shape = {});

/// Whether an update of an output writes elsewhere than at its own pure coordinates: such outputs must be large enough,
/// and a run may be refused for that.
bool writes_fixed_places(const ir::Program &p);

}  // namespace calotype::test
