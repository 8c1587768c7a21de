// Places in sources, and the lines they point at. Texts that live in memory are registered; others are read from disk.
// Tests: test/unit/base/source_test.cpp.
#include "source.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace calotype {

namespace {

constexpr size_t kWidest = 160;  // columns of a source line that an excerpt shows

std::mutex &mutex() {
  static auto *m = new std::mutex;  // never destroyed: messages may be rendered while statics die
  return *m;
}
std::unordered_map<std::string, std::string> &texts() {
  static auto *t = new std::unordered_map<std::string, std::string>;
  return *t;
}

bool line_of_text(const std::string &text, int line, std::string *out) {
  size_t start = 0;
  for (int i = 1; i < line; i++) {
    start = text.find('\n', start);
    if (start == std::string::npos) return false;
    start++;
  }
  *out = text.substr(start, text.find('\n', start) - start);
  return true;
}

bool find_line(const SrcLoc &loc, std::string *out) {
  {
    std::lock_guard<std::mutex> lock(mutex());
    auto it = texts().find(loc.file);
    if (it != texts().end()) return line_of_text(it->second, loc.line, out);
  }
  std::ifstream in(loc.file);
  for (int i = 0; i < loc.line; i++) {
    if (!std::getline(in, *out)) return false;
  }
  return true;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}  // UTF-8

// Control characters must not reach a terminal.
std::string printable(std::string s) {
  for (char &c : s) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return s;
}

// Columns of the terminal that s[from, to) takes.
size_t columns(const std::string &s, size_t from, size_t to) {
  size_t n = 0;
  for (size_t i = from; i < std::min(to, s.size()); i++) n += !continues_character(s[i]);
  const size_t past = std::max(from, s.size());
  return n + (to > past ? to - past : 0);
}

}  // namespace

std::string to_string(const SrcLoc &loc) {
  if (!loc.defined()) return "";
  std::string s = loc.file;
  if (loc.line > 0) {
    s += ":" + std::to_string(loc.line);
    if (loc.column > 0) s += ":" + std::to_string(loc.column);
  }
  return s;
}

const char *intern_path(const std::string &path) {
  std::lock_guard<std::mutex> lock(mutex());
  static auto *paths = new std::unordered_set<std::string>;
  return paths->insert(path).first->c_str();
}

std::string excerpt(const SrcLoc &loc) {
  std::string line;
  if (!loc.defined() || loc.line <= 0 || !find_line(loc, &line)) return "";
  line = printable(line);
  size_t begin = loc.column > 0 ? static_cast<size_t>(loc.column - 1) : 0;
  begin = std::min(begin, line.size());
  size_t end = loc.end_column > loc.column ? static_cast<size_t>(loc.end_column - 1) : begin + 1;
  size_t first = 0;
  if (line.size() > kWidest) {
    first = begin > kWidest / 2 ? begin - kWidest / 2 : 0;
    while (first < line.size() && continues_character(line[first])) first++;
    line = line.substr(first, kWidest);
    begin -= std::min(begin, first);
    end = std::min(end - std::min(end, first), line.size() + 1);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  char number[16];
  std::snprintf(number, sizeof number, "%4d", loc.line);
  const std::string margin(std::string(number).size(), ' ');
  std::string text = std::string(number) + " | " + line + "\n";
  if (loc.column > 0) {
    text += margin + " | " + std::string(columns(line, 0, begin), ' ') +
            std::string(std::max<size_t>(1, columns(line, begin, std::min(end, line.size() + 1))),
                        '^') +
            "\n";
  }
  return text;
}

void register_text(const char *interned_path, const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex());
  texts()[interned_path] = text;
}

}  // namespace calotype
