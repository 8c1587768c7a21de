// Compares generated text with test/golden/<suite>/<case>.txt.
//
//   CHECK_GOLDEN("schedule/blur_untouched", printed);
//
// CALO_BLESS=1 writes the file instead (refused when CI is set). A failure shows the first lines that
// differ and says how to bless.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace calotype::test {

/// Empty when `text` equals the golden file `name`; otherwise what differs, ready to print.
std::string golden_difference(const std::string &name, const std::string &text);

/// The first differing lines of two texts with line numbers, "-" expected, "+" actual; empty if equal.
std::string line_difference(const std::string &expected, const std::string &actual);

}  // namespace calotype::test

#define CHECK_GOLDEN(name, text)                                                       \
  do {                                                                                 \
    const std::string calo_difference = calotype::test::golden_difference(name, text); \
    CHECK_MESSAGE(calo_difference.empty(), calo_difference);                           \
  } while (false)
