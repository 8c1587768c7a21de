// What a schedule makes a machine do: points, operations and bytes per Func, found by walking the loops at the sizes that the
// generator estimates. Part of `calo explain`.
#pragma once

#include <map>
#include <set>
#include <string>

#include "../lower/pipeline.h"
#include "calo.h"

namespace calotype::cli {

/// Of one point.
struct Cost {
  double operations = 0, bytes_read = 0, bytes_written = 0;
};

struct StageWork {
  double points = 0;
  Cost per_point;
};
struct FuncWork {
  std::map<int, StageWork> stages;
  double storage_bytes = -1;  ///< -1: none of its own, or not known
};

struct Work {
  std::string nest;  ///< the loops, with their ranges
  std::map<ir::Name, FuncWork> funcs;
};
/// Walks what build_loops made. `known`: `sizes` holds those of all arguments; else the nest has formulas and there are no
/// numbers.
Work work_of(const lower::PassContext &cx, const ir::Stmt &loops, ir::EvalContext sizes,
             bool known);
/// Sizes of all arguments at the generator's estimates; `missing` names the first without.
ir::EvalContext estimates_of(const Algorithm &a, std::string *missing);
/// The operations on float16 and bfloat16 values of a Func: computed in float32 and rounded after each one.
std::set<std::string> emulated(const ir::Function &f);
std::string bytes_text(double n);

}  // namespace calotype::cli
