// See fuzz_coverage.h.
#include "fuzz_coverage.h"

#include <cstdio>
#include <fstream>
#include <set>

#include "random_schedule.h"

namespace calotype::test {

namespace {
std::string key(const CoverageCell &c) {
  return std::string(schedule::directive_name(c.kind)) + " " + c.tail + " " + c.stage;
}
}  // namespace

void FuzzCoverage::count(const std::vector<CoverageCell> &cells) {
  std::set<std::string> once;  // a schedule that says it twice is one hit
  for (const CoverageCell &c : cells) {
    if (once.insert(key(c)).second) hits_[key(c)]++;
  }
}

int FuzzCoverage::hits(const CoverageCell &c) const {
  const auto it = hits_.find(key(c));
  return it == hits_.end() ? 0 : it->second;
}

void FuzzCoverage::load(const std::string &file) {
  std::ifstream in(file);
  std::string kind, tail, stage;
  for (int n = 0; in >> kind >> tail >> stage >> n;) {
    hits_[kind.append(" ").append(tail).append(" ").append(stage)] += n;
    kind.clear();
  }
}

void FuzzCoverage::save(const std::string &file) const {
  std::ofstream out(file);
  for (const auto &h : hits_) out << h.first << " " << h.second << "\n";
}

std::string FuzzCoverage::table(int enough) const {
  std::map<std::string, std::map<std::string, int>> rows;
  for (const CoverageCell &c : possible_cells())
    rows[std::string(schedule::directive_name(c.kind)) + " " + c.tail][c.stage] = hits(c);
  char text[160];
  std::string all;
  std::snprintf(text, sizeof text, "%-40s", "pairs compared that hold it");
  all += text;
  for (const std::string &stage : stage_kinds()) {
    std::snprintf(text, sizeof text, " %8s", stage.c_str());
    all += text;
  }
  all += "\n";
  for (const auto &row : rows) {
    std::snprintf(text, sizeof text, "%-40s", row.first.c_str());
    all += text;
    for (const std::string &stage : stage_kinds()) {
      const auto n = row.second.find(stage);
      const std::string shown =
          n == row.second.end() ? "-" : std::to_string(n->second) + (n->second < enough ? "!" : "");
      std::snprintf(text, sizeof text, " %8s", shown.c_str());
      all += text;
    }
    all += "\n";
  }
  return all;
}

int FuzzCoverage::below(int enough) const {
  int n = 0;
  for (const CoverageCell &c : possible_cells()) n += hits(c) < enough;
  return n;
}

}  // namespace calotype::test
