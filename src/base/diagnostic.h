// Diagnostics as data: code, severity, place, what, why, help; and the exceptions that carry them.
// Shape of the rendering and style of the texts: CONTRIBUTING.md, "Diagnostics". Codes: codes.def.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "export.h"
#include "source.h"

namespace calotype {

enum class Severity { Error, Warning, Remark, Internal };

/// A fact that explains a diagnostic, with its own place where it has one.
struct Note {
  std::string text;
  SrcLoc loc;
};

struct Diagnostic {
  std::string code;  ///< "S0104": a line of codes.def
  Severity severity = Severity::Error;
  SrcLoc loc;
  std::string what;               ///< one line, lower case, no advice
  std::vector<Note> why;          ///< the violated rule and the facts that violate it
  std::vector<std::string> help;  ///< how to fix it

  Diagnostic() = default;
  CALO_EXPORT Diagnostic(std::string c, SrcLoc l, std::string w);
  CALO_EXPORT Diagnostic &&because(std::string text, SrcLoc at = {}) &&;
  CALO_EXPORT Diagnostic &&fix(std::string text) &&;
};

/// The full text people see: place, severity, code, what, source excerpt, why, help.
CALO_EXPORT std::string render(const Diagnostic &d);
/// The title of a code in codes.def, or empty.
CALO_EXPORT std::string code_title(const std::string &code);

/// Base of everything Calotype throws. what() is render(diagnostic).
class CALO_EXPORT Error : public std::runtime_error {
public:
  explicit Error(Diagnostic d);
  Error(std::vector<Diagnostic> all);  ///< several independent mistakes of one schedule file
  const Diagnostic &diagnostic() const { return (*all_)[0]; }
  const std::vector<Diagnostic> &diagnostics() const { return *all_; }

private:
  std::shared_ptr<std::vector<Diagnostic>> all_;
};

/// The program, schedule or target is wrong (codes L, S, B, T, G).
struct CALO_EXPORT CompileError : Error {
  using Error::Error;
  ~CompileError() override;
};
/// A compiled pipeline refused its arguments or failed while running (codes R).
struct CALO_EXPORT RuntimeError : Error {
  using Error::Error;
  ~RuntimeError() override;
};
/// A mistake in Calotype itself (codes X): please report it.
struct CALO_EXPORT InternalError : Error {
  using Error::Error;
  ~InternalError() override;
};

/// Throws the exception type that belongs to the code's letter.
[[noreturn]] CALO_EXPORT void raise(Diagnostic d);

/// The `n` names of `candidates` nearest to `name` by edit distance, nearest first; only plausible ones.
CALO_EXPORT std::vector<std::string> nearest_names(const std::string &name,
                                                   const std::vector<std::string> &candidates,
                                                   size_t n = 3);

[[noreturn]] CALO_EXPORT void internal_failure(const char *condition, const char *file, int line,
                                               const std::string &more = {});

}  // namespace calotype

/// Checks an invariant of Calotype itself; throws InternalError. Never for user mistakes.
#define CALO_ASSERT(cond, ...) \
  ((cond) ? (void)0 : ::calotype::internal_failure(#cond, __FILE__, __LINE__, ##__VA_ARGS__))
