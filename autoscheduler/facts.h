// What the search knows of a pipeline: Funcs, who reads whom, sizes, and which of them can be stored at all.
#pragma once

#include <string>
#include <vector>

#include "../src/base/target.h"
#include "../src/ir/eval.h"
#include "../src/ir/function.h"

namespace calotype::autoscheduler {

/// A pipeline at the sizes it is tuned for. `sizes` holds "input.extent.0" ... of all arguments.
struct Problem {
  ir::Program program;
  Target target;
  ir::EvalContext sizes;
  int threads = 1;
};

struct StageFacts {
  std::vector<std::string> rvars;  ///< innermost first
  std::vector<bool> walks;  ///< per dimension: a loop of this stage (on updates: a plain Var)
};

struct FuncFacts {
  std::string name;
  std::vector<std::string> dims;  ///< innermost first
  std::vector<int64_t>
      extents;  ///< of what the outputs need, where all Funcs are stored; 1 if not known
  std::vector<StageFacts> stages;  ///< pure definition first
  std::vector<int> readers;        ///< indices, each once
  int calls = 0;                   ///< in all readers' definitions
  double operations = 0;           ///< of one point of the pure definition
  int bits = 0;                    ///< of the widest value
  bool output = false;
  bool may_inline = false;  ///< one pure definition in the language
  bool may_store = false;   ///< its region is bounded
};

struct Facts {
  std::vector<FuncFacts> funcs;  ///< producers first
  int find(const std::string &name) const;
};

/// Throws what the pipeline throws under the schedule without directives.
CALO_EXPORT Facts facts_of(const Problem &p);

}  // namespace calotype::autoscheduler
