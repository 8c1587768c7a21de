// See failing_case.h.
#include "failing_case.h"

#include <charconv>
#include <sstream>

#include "../base/diagnostic.h"

namespace calotype::driver {

namespace {

template <typename T> bool whole_number(const std::string &s, T *value) {
  const auto r = std::from_chars(s.data(), s.data() + s.size(), *value);
  return r.ec == std::errc() && r.ptr == s.data() + s.size();
}

FailingRun parse_run(const std::string &line) {
  FailingRun run;
  std::istringstream words(line);
  for (std::string w; words >> w;) {
    const size_t eq = w.find('='), plus = w.find('+', 1);
    uint64_t setting = 0;
    int min = 0, extent = 0;
    if (eq != std::string::npos && whole_number(w.substr(eq + 1), &setting)) {
      run.settings[w.substr(0, eq)] = setting;
    } else if (plus != std::string::npos && whole_number(w.substr(0, plus), &min) &&
               whole_number(w.substr(plus + 1), &extent)) {
      run.mins.push_back(min);
      run.extents.push_back(extent);
    } else {
      raise(Diagnostic("S0150", {}, "this case cannot be read: " + w)
                .because("a run is made of name=number and min+extent")
                .fix("--- run seed=1 0+17 0+33"));
    }
  }
  return run;
}

}  // namespace

std::string to_text(const FailingCase &c, const std::string &remark) {
  std::ostringstream out;
  std::istringstream lines(remark);
  for (std::string line; std::getline(lines, line);) out << "# " << line << "\n";
  out << c.program << "--- schedule\n" << c.schedule;
  if (!c.schedule.empty() && c.schedule.back() != '\n') out << "\n";
  if (!c.arguments.empty()) out << "--- arguments\n";
  for (const std::string &a : c.arguments) out << a << "\n";
  for (const FailingRun &r : c.runs) {
    out << "--- run";
    for (const auto &s : r.settings) out << " " << s.first << "=" << s.second;
    for (size_t d = 0; d < r.mins.size(); d++) out << " " << r.mins[d] << "+" << r.extents[d];
    out << "\n";
  }
  return out.str();
}

FailingCase parse_case(const std::string &text) {
  FailingCase c;
  enum { Program, Schedule, Arguments } part = Program;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("--- schedule", 0) == 0) {
      part = Schedule;
    } else if (line.rfind("--- arguments", 0) == 0) {
      part = Arguments;
    } else if (line.rfind("--- run", 0) == 0) {
      c.runs.push_back(parse_run(line.substr(7)));
    } else if (part == Schedule) {
      c.schedule += line + "\n";
    } else if (part == Arguments) {
      c.arguments.push_back(line);
    } else if (line.empty() || line[0] != '#') {
      c.program += line + "\n";
    }
  }
  return c;
}

}  // namespace calotype::driver
