// Tokens of the text form of IR. Nothing throws here: a Bad token is reported only when the parser needs it, so that an
// expression can be read from the front of a text in another grammar.
#include "lexer.h"

#include <algorithm>

#include "../base/type.h"
#include "spelling.h"

namespace calotype::ir {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

Lexer::Lexer(const std::string &text, size_t begin, SrcLoc origin)
    : text_(text),
      pos_(begin),
      last_end_(begin),
      line_start_(begin),
      origin_(origin),
      line_(std::max(1, origin.line)) {
  scan();
}

Token Lexer::take() {
  Token taken = token_;
  last_end_ = taken.end;
  scan();
  return taken;
}

bool Lexer::take_type_suffix(std::string *type_text) {
  if (!token_.is(":") || !adjacent()) return false;
  size_t end = token_.end;
  while (continues_identifier(at(end)) && at(end) != '.') end++;
  const std::string word = text_.substr(token_.end, end - token_.end);
  if (parse_type(word).bits() == 0) return false;
  take();
  take();
  *type_text = word;
  return true;
}

SrcLoc Lexer::place(size_t begin, size_t end) const {
  const bool first_line = line_ == std::max(1, origin_.line);
  const int shift = first_line ? std::max(1, origin_.column) : 1;
  return SrcLoc{origin_.file, line_, static_cast<int>(begin - line_start_) + shift,
                static_cast<int>(end - line_start_) + shift};
}

void Lexer::skip_space() {
  token_.on_new_line = false;
  for (; pos_ < text_.size(); pos_++) {
    const char c = text_[pos_];
    if (c == '\n') {
      line_++;
      line_start_ = pos_ + 1;
      token_.on_new_line = true;
    } else if (c == ';' || c == '#') {
      while (pos_ + 1 < text_.size() && text_[pos_ + 1] != '\n') pos_++;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

void Lexer::scan() {
  const SrcLoc before = token_.loc;
  token_ = Token();
  skip_space();
  const bool on_new_line = token_.on_new_line;
  const size_t begin = pos_;
  const char c = at(pos_);
  if (pos_ >= text_.size()) {
    token_.kind = Token::End;
  } else if (is_digit(c)) {
    scan_number();
  } else if (starts_identifier(c)) {
    scan_identifier();
  } else if (c == '`' || c == '"') {
    scan_quoted(c);
  } else {
    static const char *const pairs[] = {"==", "!=", "<=", ">=", "&&", "||", "+:"};
    token_.kind = Token::Punctuation;
    token_.text = std::string(1, c);
    for (const char *pair : pairs) {
      if (c == pair[0] && at(pos_ + 1) == pair[1]) token_.text = pair;
    }
    pos_ += token_.text.size();
    while ((static_cast<unsigned char>(at(pos_)) & 0xc0) == 0x80)
      token_.text += text_[pos_++];  // rest of UTF-8
  }
  token_.on_new_line = on_new_line;
  token_.begin = begin;
  token_.end = pos_;
  token_.loc = place(begin, std::max(pos_, begin + 1));
  if (token_.kind == Token::End &&
      before.line > 0) {  // what is missing belongs behind what is there
    token_.loc = SrcLoc{before.file, before.line, before.end_column, before.end_column + 1};
  }
}

void Lexer::scan_number() {
  const size_t begin = pos_;
  token_.kind = Token::Number;
  if (at(pos_) == '0' && at(pos_ + 1) == 'x' && hex_value(at(pos_ + 2)) >= 0) {
    pos_ += 2;
    while (hex_value(at(pos_)) >= 0) pos_++;
  } else {
    while (is_digit(at(pos_))) pos_++;
    if (at(pos_) == '.' && is_digit(at(pos_ + 1))) {
      pos_++;
      while (is_digit(at(pos_))) pos_++;
    }
    const bool sign = at(pos_ + 1) == '+' || at(pos_ + 1) == '-';
    if ((at(pos_) == 'e' || at(pos_) == 'E') && is_digit(at(pos_ + 1 + sign))) {
      pos_ += 1 + sign;
      while (is_digit(at(pos_))) pos_++;
    }
    if (at(pos_) == 'f' && !continues_identifier(at(pos_ + 1))) pos_++;
  }
  token_.text = text_.substr(begin, pos_ - begin);
  if (starts_identifier(at(pos_))) {
    while (continues_identifier(at(pos_))) pos_++;
    token_.kind = Token::Bad;
    token_.text = "'" + text_.substr(begin, std::min<size_t>(pos_ - begin, 60)) +
                  "' is neither a number nor a name";
  }
}

void Lexer::scan_identifier() {
  const size_t begin = pos_;
  while (continues_identifier(at(pos_))) pos_++;
  while (at(pos_ - 1) == '.') pos_--;  // a name does not end with a dot
  token_.kind = Token::Identifier;
  token_.text = text_.substr(begin, pos_ - begin);
}

void Lexer::scan_quoted(char quote) {
  token_.kind = Token::Bad;
  token_.quoted = true;
  std::string value;
  for (pos_++; pos_ < text_.size() && text_[pos_] != '\n'; pos_++) {
    char c = text_[pos_];
    if (c == quote) {
      pos_++;
      token_.kind = quote == '"' ? Token::String : Token::Identifier;
      token_.text = value;
      return;
    }
    if (c == '\\') {
      c = at(++pos_);
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x' && hex_value(at(pos_ + 1)) >= 0 && hex_value(at(pos_ + 2)) >= 0) {
        c = static_cast<char>(hex_value(at(pos_ + 1)) * 16 + hex_value(at(pos_ + 2)));
        pos_ += 2;
      } else if (c != '\\' && c != '"' && c != '`') {
        token_.text = "unknown escape in quotes";
        return;
      }
    }
    value += c;
  }
  token_.text = quote == '"' ? "the string is not closed on its line"
                             : "the name in backquotes is not closed on its line";
}

}  // namespace calotype::ir
