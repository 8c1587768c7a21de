// The golden-file helper itself: a test helper that never fails would hide everything else.
#include "support/golden.h"

using calotype::test::golden_difference;
using calotype::test::line_difference;

TEST_CASE("golden: equal texts have no difference") {
  CHECK(line_difference("a\nb\n", "a\nb\n") == "");
}

TEST_CASE("golden: a changed line is shown from both sides with its number") {
  CHECK(line_difference("a\nb\nc\n", "a\nx\nc\n") == "- 2: b\n+ 2: x\n");
}

TEST_CASE("golden: added and removed lines are shown") {
  CHECK(line_difference("a\nc\n", "a\nb\nc\n") == "+ 2: b\n");
  CHECK(line_difference("a\nb\n", "a\n") == "- 2: b\n");
}

TEST_CASE("golden: texts that differ in the final newline are not equal") {
  CHECK(line_difference("a\n", "a") != "");
}

TEST_CASE("golden: a missing file is a failure that says how to bless") {
  if (std::getenv("CALO_BLESS")) return;  // would write the file
  const std::string difference = golden_difference("golden/none", "text\n");
  CHECK(difference.find("has no golden file") != std::string::npos);
  CHECK(difference.find("CALO_BLESS=1") != std::string::npos);
}
