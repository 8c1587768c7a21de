// Numbered dumps of the program after each pass, and the table of pass times (CALO_DUMP, CALO_TIME_PASSES).
#pragma once

#include <string>
#include <vector>

#include "export.h"

namespace calotype {

/// One per compilation. Writes `NN-pass.ir` into options().dump_dir; on destruction prints the times if asked for.
class CALO_EXPORT DumpWriter {
public:
  explicit DumpWriter(const std::string &pipeline);
  ~DumpWriter();
  DumpWriter(const DumpWriter &) = delete;
  DumpWriter &operator=(const DumpWriter &) = delete;
  /// Whether anybody wants the program's text.
  bool wanted() const;
  /// Records a pass; `text` empty: the program did not change.
  void pass(int number, const std::string &name, const std::string &text, double ms);

private:
  struct Row {
    std::string name;
    double ms;
    bool changed;
  };
  std::string pipeline_;
  std::vector<Row> rows_;
};

}  // namespace calotype
