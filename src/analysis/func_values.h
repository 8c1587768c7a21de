// What values a Func can have, found from its definitions: for indices that are computed by other Funcs.
//
// f(x) = clamp(g(x), 0, 10) lies in 0 .. 10 wherever it is read. Ends are constants or use parameters only. Values
// that are read where nothing computed them do not exist: regions see to that. Tests: test/unit/analysis/bounds_test.cpp
#pragma once

#include <unordered_map>
#include <vector>

#include "../ir/function.h"
#include "interval.h"

namespace calotype::analysis {

class CALO_EXPORT FuncValues {
public:
  explicit FuncValues(const ir::Program &p) : program_(p) {}
  /// Of one Tuple element, over all arguments and all of the Func's definitions. maybe_nan: it, but not the ends, may
  /// be NaN.
  Interval of(ir::Name func, int value_index, bool *maybe_nan) const;

private:
  struct Range {
    Interval interval;
    bool maybe_nan = false;
  };
  Range find(const ir::Function &f, size_t value_index) const;

  const ir::Program &program_;
  mutable std::unordered_map<ir::Name, std::vector<Range>> known_;  ///< empty while being found
};

}  // namespace calotype::analysis
