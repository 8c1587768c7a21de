// docs/errors.md: one entry per code of codes.def, in its order, with the same title and something to say.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Entry {
  std::string code, title, text;
};

const std::vector<Entry> &codes() {
  static const std::vector<Entry> all = {
#define CODE(code, title) {#code, title, {}},
#include "base/codes.def"
#undef CODE
  };
  return all;
}

std::vector<Entry> entries() {
  std::ifstream in(CALO_SOURCE_DIR "/docs/errors.md");
  std::vector<Entry> all;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("### ", 0) == 0) {
      const size_t colon = line.find(": ");
      REQUIRE_MESSAGE(colon != std::string::npos, line);
      all.push_back({line.substr(4, colon - 4), line.substr(colon + 2), {}});
      inside = true;
    } else if (line.rfind("## ", 0) == 0) {
      inside = false;
    } else if (inside) {
      all.back().text += line + "\n";
    }
  }
  return all;
}

}  // namespace

TEST_CASE("errors.md: has an entry for every code, under its title") {
  const std::vector<Entry> documented = entries();
  for (const Entry &code : codes()) {
    bool found = false;
    for (const Entry &e : documented) {
      if (e.code != code.code) continue;
      found = true;
      CHECK_MESSAGE(e.title == code.title, code.code);
    }
    CHECK_MESSAGE(found, "docs/errors.md says nothing about " << code.code << ": " << code.title);
  }
}

TEST_CASE("errors.md: entries are codes that exist, once, in order, with a text") {
  std::set<std::string> known;
  for (const Entry &code : codes()) known.insert(code.code);
  std::set<std::string> seen;
  const std::string order = "LSBTGDRPX";
  std::string last;
  for (const Entry &e : entries()) {
    CHECK_MESSAGE(known.count(e.code), e.code << " is no code");
    CHECK_MESSAGE(seen.insert(e.code).second, e.code << " stands twice");
    CHECK_MESSAGE(e.text.size() > 40, e.code << " explains nothing");
    if (!last.empty()) {
      const bool sorted =
          last[0] == e.code[0] ? last < e.code : order.find(last[0]) < order.find(e.code[0]);
      CHECK_MESSAGE(sorted, e.code << " stands after " << last);
    }
    last = e.code;
  }
}
