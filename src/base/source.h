// Where something was written: a C++ call or a line of a text file.
#pragma once

#include <string>

#include "export.h"

namespace calotype {

/// A place in a source. `file` is a literal or interned (see intern_path): SrcLocs are cheap to copy and never dangle.
/// column 0 means unknown (C++ calls know only the line).
struct SrcLoc {
  const char *file = nullptr;
  int line = 0;
  int column = 0;
  int end_column = 0;  ///< one past the last column of the underlined span; 0 = unknown
  bool defined() const { return file != nullptr; }
  /// The caller's position when used as a default argument.
  static constexpr SrcLoc here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return SrcLoc{file, line, 0, 0};
  }
};

/// "file:line:column", leaving out what is unknown. Empty if undefined.
CALO_EXPORT std::string to_string(const SrcLoc &loc);
/// A pointer to an everlasting copy of `path` (one per distinct path).
CALO_EXPORT const char *intern_path(const std::string &path);
/// The text of `loc`'s line with a caret line below, or empty if the file cannot be read.
/// Text registered by register_text (schedules that live in memory) is found too.
CALO_EXPORT std::string excerpt(const SrcLoc &loc);
CALO_EXPORT void register_text(const char *interned_path, const std::string &text);

}  // namespace calotype
