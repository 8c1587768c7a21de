// Tables of misuse: what is done wrong, the code it must get, a part of what is said, and the place that must be named.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "calotype.h"

namespace calotype::test {

struct MisuseCase {
  const char *name;
  const char *code, *text;
  std::function<void()> act;
  bool placed = true;   ///< names the file and line of this table's row
  bool advised = true;  ///< says why, or how to fix it
};

/// What is wrong with what was thrown, or empty.
inline std::string judge(const MisuseCase &c, const char *file) {
  try {
    c.act();
  } catch (const InternalError &e) {
    return std::string("internal error: ") + e.what();
  } catch (const Error &e) {
    const Diagnostic &d = e.diagnostic();
    const std::string shown = render(d);
    std::string wrong;
    if (d.code != c.code) wrong += "not " + std::string(c.code) + "; ";
    if (shown.find(c.text) == std::string::npos)
      wrong += "does not say \"" + std::string(c.text) + "\"; ";
    if (c.placed && (!d.loc.defined() || std::string(d.loc.file).find(file) == std::string::npos))
      wrong += "does not name this file; ";
    if (c.advised && d.why.empty() && d.help.empty()) wrong += "neither reason nor advice; ";
    return wrong.empty() ? "" : wrong + "\n" + shown;
  } catch (const std::exception &e) {
    return std::string("another exception: ") + e.what();
  }
  return "accepted";
}

/// Runs a table; returns how many cases it has.
inline size_t check_cases(const std::vector<MisuseCase> &cases, const char *file) {
  for (const MisuseCase &c : cases) {
    const std::string wrong = judge(c, file);
    const std::string name = c.name;
    CHECK_MESSAGE(wrong.empty(), name << ": " << wrong);
  }
  return cases.size();
}

}  // namespace calotype::test
