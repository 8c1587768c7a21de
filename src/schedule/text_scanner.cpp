#include "text_scanner.h"

#include <algorithm>
#include <cstdint>

#include "../base/source.h"

namespace calotype::schedule {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_name_char(char c) { return is_name_letter(c) || is_digit(c); }

TextScanner::TextScanner(const std::string &text, const std::string &path)
    : text_(text), file_(intern_path(path)) {
  for (size_t i = 0; i <= text.size(); i++) {
    if (i == 0 || text[i - 1] == '\n') lines_.push_back(i);
  }
}

TextScanner::TextScanner(const std::string &text, const std::vector<size_t> &origin,
                         const TextScanner &file)
    : text_(text), file_(file.file_), lines_(file.lines_), origin_(&origin) {}

char TextScanner::peek(size_t ahead) const {
  return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
}

// Blanks, and with `lines` also ends of lines and comments.
void TextScanner::skip_space(bool lines) {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
      pos_++;
    } else if (c == '#') {
      while (pos_ < text_.size() && text_[pos_] != '\n') pos_++;
    } else {
      return;
    }
  }
}
void TextScanner::skip_line() {
  while (pos_ < text_.size() && text_[pos_] != '\n') pos_++;
}
bool TextScanner::at_line_end() {
  skip_space(false);
  return pos_ >= text_.size() || text_[pos_] == '\n';
}
void TextScanner::expect_line_end() {
  if (peek() == ';') pos_++;
  if (!at_line_end()) throw Mistake{syntax(pos_, "expected the end of the line, found " + shown())};
}

std::string TextScanner::shown() const {
  if (pos_ >= text_.size()) return "the end of the file";
  const char c = text_[pos_];
  if (c == '\n') return "the end of the line";
  if (is_name_char(c)) return "\"" + word_at(pos_) + "\"";
  if (c < 32 || c > 126) return "a character that is no printable ASCII";
  return std::string("\"") + c + "\"";
}
std::string TextScanner::word_at(size_t p) const {
  size_t end = p;
  while (end < text_.size() && is_name_char(text_[end])) end++;
  return text_.substr(p, end - p);
}

SrcLoc TextScanner::loc(size_t start, size_t end) const {
  if (origin_) {
    end = std::max(end, start) - start;
    start = (*origin_)[std::min(start, origin_->size() - 1)];
    end += start;
  }
  const size_t line = std::upper_bound(lines_.begin(), lines_.end(), start) - lines_.begin();
  const int column = static_cast<int>(start - lines_[line - 1]) + 1;
  return SrcLoc{file_, static_cast<int>(line), column,
                column + static_cast<int>(std::max<size_t>(end - start, 1))};
}
Diagnostic TextScanner::syntax(size_t at, std::string what) const {
  return Diagnostic("S0001", loc(at, at + std::max<size_t>(word_at(at).size(), 1)),
                    std::move(what));
}

// ---- words -------------------------------------------------------------------------------------
std::string TextScanner::word() {
  if (!is_name_letter(peek())) throw Mistake{syntax(pos_, "expected a name, found " + shown())};
  std::string w = word_at(pos_);
  pos_ += w.size();
  return w;
}

// "x", "r.x", "x.v": parts joined by dots.
std::string TextScanner::dotted() {
  std::string name = word();
  while (peek() == '.' && is_name_char(peek(1))) {
    pos_++;
    name += "." + word_at(pos_);
    pos_ += word_at(pos_).size();
  }
  return name;
}

// A Func's name or a glob: "blur_x", "g[1]", "down_*", "g[*]".
std::string TextScanner::func_name() {
  const size_t start = pos_;
  const auto glob = [](char c) { return c == '*' || c == '?'; };
  if (!is_name_letter(peek()) && !glob(peek()))
    throw Mistake{syntax(pos_, "expected a Func's name, found " + shown())};
  while (is_name_char(peek()) || glob(peek())) pos_++;
  while (peek() == '[') {
    const size_t close = text_.find(']', pos_);
    if (close == std::string::npos || close - pos_ > 12)
      throw Mistake{syntax(pos_, "expected an index and ]")};
    for (size_t i = pos_ + 1; i < close; i++) {
      if (!is_digit(text_[i]) && !glob(text_[i]))
        throw Mistake{syntax(i, "expected an index or *")};
    }
    pos_ = close + 1;
  }
  return text_.substr(start, pos_ - start);
}

int TextScanner::integer() {
  const size_t start = pos_;
  int64_t n = 0;
  while (is_digit(peek()) && pos_ - start < 10) n = n * 10 + (text_[pos_++] - '0');
  if (pos_ == start || is_name_char(peek()) || n > INT32_MAX)
    throw Mistake{syntax(start, "expected an index")};
  return static_cast<int>(n);
}

void TextScanner::expect(char c) {
  skip_space(depth_ > 0);
  if (peek() != c)
    throw Mistake{syntax(pos_, std::string("expected \"") + c + "\", found " + shown())};
  pos_++;
}

}  // namespace calotype::schedule
