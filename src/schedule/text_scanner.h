// The characters and words of a schedule file, with the places of mistakes. The base of the parser in text.cpp.
#pragma once

#include <string>
#include <vector>

#include "../base/diagnostic.h"

namespace calotype::schedule {

/// Thrown and caught inside the parser: the statement is given up, the diagnostic is kept.
struct Mistake {
  Diagnostic diagnostic;
};

bool is_name_letter(char c);
bool is_name_char(char c);

/// A position in a text and what stands there.
class TextScanner {
public:
  TextScanner(const std::string &text, const std::string &path);
  /// A text made of parts of `file`: `origin` says where each of its characters comes from.
  TextScanner(const std::string &text, const std::vector<size_t> &origin, const TextScanner &file);

protected:
  char peek(size_t ahead = 0) const;
  void skip_space(bool lines);
  void skip_line();
  bool at_line_end();
  void expect_line_end();
  /// What stands here, for messages.
  std::string shown() const;
  std::string word_at(size_t p) const;
  SrcLoc loc(size_t start, size_t end) const;
  Diagnostic syntax(size_t at, std::string what) const;

  std::string word();
  std::string dotted();
  std::string func_name();
  int integer();
  /// `c` comes next; inside of parentheses it may stand on a later line.
  void expect(char c);

  const std::string &text_;
  const char *file_;
  size_t pos_ = 0;
  int depth_ = 0;
  std::vector<size_t> lines_;
  const std::vector<size_t> *origin_ = nullptr;  ///< of a block put in: places in the file
};

}  // namespace calotype::schedule
