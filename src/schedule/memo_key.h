// What the values of a Func depend on besides coordinates: the key by which memoize remembers them.
#pragma once

#include <string>
#include <vector>

#include "../ir/function.h"

namespace calotype::schedule {

struct MemoKey {
  std::string text;  ///< names the definitions of all that the Func reads
  std::vector<Expr>
      values;              ///< scalars over parameters, or the keys that memoize_tag gives instead
  std::string fault, fix;  ///< why there is no key (it reads an input), or empty
};

/// Follows the definitions of `f` and of everything it reads. Tests: test/pipelines/memoize_test.cpp.
MemoKey memo_key(const ir::Program &p, const ir::Function &f);

}  // namespace calotype::schedule
