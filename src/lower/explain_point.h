// What one point of an output needs of every Func and input, by their definitions alone, and which iterations of the
// output's loops compute it: for `calo explain --at`.
#pragma once

#include <vector>

#include "passes.h"

namespace calotype::lower {

struct PointNeed {
  ir::Name name;  ///< a Func or an input
  bool input = false;
  analysis::Box region;  ///< in terms of sizes and parameters
};

/// One loop of the output, and the iteration in which it computes the point.
struct PointLoop {
  ir::Name loop;
  ir::ForType kind = ir::ForType::Serial;
  Expr iteration;
};

struct PointAnswer {
  std::vector<PointLoop> loops;  ///< of the pure definition, outermost first
  std::vector<PointNeed> needs;  ///< readers first, inputs last
};

/// `cx`: as lower() left it.
CALO_EXPORT PointAnswer explain_point(const PassContext &cx, ir::Name output,
                                      const std::vector<int> &point);

}  // namespace calotype::lower
