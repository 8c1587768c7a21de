// CHECK_DIAG(expression, code, text): the expression throws a Calotype error that holds a diagnostic with this code
// whose rendering contains the text. CHECK_DIAG_AT also checks line and column ("7:27").
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "base/diagnostic.h"

namespace calotype::test {

/// Empty if one of the diagnostics fits; otherwise what was thrown instead.
inline std::string diag_difference(const Error &e, const std::string &code, const std::string &text,
                                   const std::string &place = {}) {
  std::string all;
  for (const Diagnostic &d : e.diagnostics()) {
    const std::string shown = render(d);
    std::string at = std::to_string(d.loc.line);
    if (d.loc.column) at += ":" + std::to_string(d.loc.column);
    if (d.code == code && shown.find(text) != std::string::npos && (place.empty() || at == place))
      return {};
    all += shown;
  }
  return "expected " + code + (place.empty() ? "" : " at " + place) + " with \"" + text +
         "\", got:\n" + all;
}

template <typename F>
std::string diag_mismatch(const F &run, const std::string &code, const std::string &text,
                          const std::string &place = {}) {
  try {
    run();
  } catch (const Error &e) {
    return diag_difference(e, code, text, place);
  } catch (const std::exception &e) {
    return std::string("expected a diagnostic, got another exception: ") + e.what();
  }
  return "expected " + code + ", nothing was thrown";
}

}  // namespace calotype::test

#define CHECK_DIAG_AT(expression, code, text, place)                                              \
  do {                                                                                            \
    const std::string calo_mismatch =                                                             \
        calotype::test::diag_mismatch([&] { static_cast<void>(expression); }, code, text, place); \
    CHECK_MESSAGE(calo_mismatch.empty(), calo_mismatch);                                          \
  } while (false)
#define CHECK_DIAG(expression, code, text) CHECK_DIAG_AT(expression, code, text, "")
