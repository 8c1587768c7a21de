// Golden files: see golden.h. Difference = the lines between the common head and the common tail,
// which is exact for one change and good enough to read for several.
#include "support/golden.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace calotype::test {

namespace {

constexpr size_t kMostLines = 20;  // of each side that a failure prints

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void print_range(std::ostream &out, char sign, const std::vector<std::string> &lines, size_t from,
                 size_t to) {
  for (size_t i = from; i < to && i < from + kMostLines; i++) {
    out << sign << ' ' << i + 1 << ": " << lines[i] << '\n';
  }
  if (to > from + kMostLines) out << sign << " ... " << to - from - kMostLines << " more\n";
}

bool is_set(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value && std::string(value) != "0";
}

}  // namespace

std::string line_difference(const std::string &expected, const std::string &actual) {
  if (expected == actual) return "";
  const auto a = lines_of(expected), b = lines_of(actual);
  size_t head = 0;
  const size_t shorter = std::min(a.size(), b.size());
  while (head < shorter && a[head] == b[head]) head++;
  size_t tail = 0;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) tail++;
  std::ostringstream out;
  if (head == a.size() && head == b.size()) return "they differ in the final newline only\n";
  print_range(out, '-', a, head, a.size() - tail);
  print_range(out, '+', b, head, b.size() - tail);
  return out.str();
}

std::string golden_difference(const std::string &name, const std::string &text) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(CALO_SOURCE_DIR) / "test" / "golden" / (name + ".txt");
  std::ifstream in(path, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in && expected == text) return "";
  if (is_set("CALO_BLESS")) {
    if (is_set("CI")) return "CALO_BLESS is refused when CI is set";
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return "";
  }
  const std::string what = in ? "differs from" : "has no golden file";
  return "the text " + what + " test/golden/" + name + ".txt\n" + line_difference(expected, text) +
         "CALO_BLESS=1 accepts the new text";
}

}  // namespace calotype::test
