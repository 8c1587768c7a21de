// What one point of a definition costs, counted on its expression.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "../src/ir/function.h"

namespace calotype::autoscheduler {

/// How a read's address moves when the definition's innermost dimension does.
enum class Access { Dense, Broadcast, Strided };

struct Read {
  std::string name;  ///< of a Func or an input
  Access access = Access::Dense;
  int bytes = 1;
  bool input = false;
};

struct Work {
  double operations = 0;  ///< in simple vector instructions; divisions and roots weigh more
  int bits = 8;           ///< of the widest value computed with
  std::vector<Read> reads;
  std::map<std::string, int> calls;  ///< of each Func that is read
};

Work work_of(const ir::Function &f, const ir::Definition &d);

}  // namespace calotype::autoscheduler
