// Places and excerpts.
#include "base/source.h"

#include <doctest/doctest.h>

using namespace calotype;

TEST_CASE("source: a place prints what is known of it") {
  CHECK(to_string(SrcLoc{}) == "");
  CHECK(to_string(SrcLoc{"a.cpp", 7}) == "a.cpp:7");
  CHECK(to_string(SrcLoc{"a.cpp", 7, 3}) == "a.cpp:7:3");
  CHECK(to_string(SrcLoc{"a.cpp"}) == "a.cpp");
}

TEST_CASE("source: equal paths are interned once") {
  CHECK(intern_path("x/y") == intern_path(std::string("x/") + "y"));
}

TEST_CASE("source: an excerpt of a registered text points at the columns") {
  const char *file = intern_path("memory.txt");
  register_text(file, "first\n\tab cd\nlast");
  CHECK(excerpt(SrcLoc{file, 2, 5, 7}) == "   2 |  ab cd\n     |     ^^\n");
  CHECK(excerpt(SrcLoc{file, 3, 0}) == "   3 | last\n");
  CHECK(excerpt(SrcLoc{file, 3, 5}) == "   3 | last\n     |     ^\n");  // just behind the end
  CHECK(excerpt(SrcLoc{file, 4, 1}) == "");
}

TEST_CASE("source: characters beyond ASCII take one column") {
  const char *file = intern_path("utf8.txt");
  register_text(file, "\xc3\xa9 = x\n");
  CHECK(excerpt(SrcLoc{file, 1, 6, 7}) == "   1 | \xc3\xa9 = x\n     |     ^\n");
}

TEST_CASE("source: a very long line is cut around the place") {
  const char *file = intern_path("long.txt");
  register_text(file, std::string(5000, 'a') + "HERE" + std::string(5000, 'b'));
  const std::string text = excerpt(SrcLoc{file, 1, 5001, 5005});
  CHECK(text.size() < 400);
  CHECK(text.find("HERE") != std::string::npos);
  const size_t second = text.find('\n') + 1;
  CHECK(text.find("HERE") == text.find("^^^^", second) - second);
}

TEST_CASE("source: a file that cannot be read has no excerpt") {
  CHECK(excerpt(SrcLoc{"no/such/file", 1, 1}) == "");
}

TEST_CASE("source: a file on disk is read") {
  CHECK(excerpt(SrcLoc{CALO_SOURCE_DIR "/test/unit/base/source_test.cpp", 1, 4, 10}) ==
        "   1 | // Places and excerpts.\n     |    ^^^^^^\n");
}
