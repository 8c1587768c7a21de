// What a fuzzing run has exercised: each directive with each tail on each kind of stage, in pairs that were compiled, run and
// compared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule_draft.h"

namespace calotype::test {

class FuzzCoverage {
public:
  void count(const std::vector<CoverageCell> &cells);
  /// Counts kept from earlier runs (file of `kind tail stage n` lines) are added; save writes the sum.
  void load(const std::string &file);
  void save(const std::string &file) const;
  /// The table: `-` where a directive cannot be said, `!` behind what was met fewer than `enough` times.
  std::string table(int enough) const;
  /// How many cells that can be met were met fewer than `enough` times.
  int below(int enough) const;

private:
  int hits(const CoverageCell &c) const;
  std::map<std::string, int> hits_;
};

}  // namespace calotype::test
