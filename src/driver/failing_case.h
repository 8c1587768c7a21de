// What a failure is seen with: a program, a schedule and how to run them. As text, for files that are kept and for commands
// that judge them:
//   # remarks
//   program ...                     as ir/print.h writes it; absent where a generator gives it
//   --- schedule
//   calotype 1 ...
//   --- arguments                   words of a command line, one per line
//   --- run seed=1 0+17 -5+33       name=value settings; min+extent of each dimension of the outputs
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../base/export.h"

namespace calotype::driver {

struct FailingRun {
  std::vector<int> mins, extents;
  std::map<std::string, uint64_t> settings;
};
struct FailingCase {
  std::string program, schedule;
  std::vector<std::string> arguments;
  std::vector<FailingRun> runs;
};

CALO_EXPORT std::string to_text(const FailingCase &c, const std::string &remark = {});
/// Throws S0150 where a run's line is none.
CALO_EXPORT FailingCase parse_case(const std::string &text);

}  // namespace calotype::driver
