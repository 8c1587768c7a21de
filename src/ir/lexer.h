// Splits the text form of IR into tokens, one ahead of the parser (internal to ir).
#pragma once

#include <string>

#include "../base/source.h"

namespace calotype::ir {

struct Token {
  enum Kind { End, Identifier, Number, String, Punctuation, Bad };
  Kind kind = End;
  std::string text;  ///< String, quoted Identifier: without quotes and escapes; Bad: what is wrong
  bool quoted = false;  ///< Identifier in backquotes: never a keyword
  bool on_new_line = false;
  size_t begin = 0, end = 0;  ///< offsets in the text
  SrcLoc loc;
  bool is(const char *punctuation) const { return kind == Punctuation && text == punctuation; }
  bool is_word(const char *word) const { return kind == Identifier && !quoted && text == word; }
};

class Lexer {
public:
  /// `origin`: place of text[begin]. `text` must outlive the lexer.
  Lexer(const std::string &text, size_t begin, SrcLoc origin);
  const Token &peek() const { return token_; }
  Token take();
  size_t last_end() const { return last_end_; }  ///< end of the last token taken
  /// True if the next token touches the last one taken.
  bool adjacent() const { return token_.begin == last_end_; }
  /// If ":" + a type stand directly behind the last token: takes both.
  bool take_type_suffix(std::string *type_text);

private:
  const std::string &text_;
  size_t pos_, last_end_, line_start_;
  SrcLoc origin_;
  int line_;
  Token token_;

  void skip_space();
  void scan();
  void scan_number();
  void scan_identifier();
  void scan_quoted(char quote);
  SrcLoc place(size_t begin, size_t end) const;
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
};

}  // namespace calotype::ir
