// Reads schedule files. Grammar: docs/schedules.md. A statement is a line or a chain that goes on while lines start with
// a dot; after a mistake reading goes on with the next line, so one run reports independent mistakes.
// Tests: test/unit/schedule/text_test.cpp.
#include "text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "../ir/parse.h"
#include "value.h"

namespace calotype::schedule {

namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxDirectives = 100000;
constexpr int kMaxDepth = 256;
constexpr size_t kMaxMistakes = 20;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }

// Thrown and caught inside the parser: the statement is given up, the diagnostic is kept.
struct Mistake {
  Diagnostic diagnostic;
};

class Parser {
public:
  Parser(const std::string &text, const std::string &path) : text_(text), file_(intern_path(path)) {
    schedule_.origin = path;
    for (size_t i = 0; i <= text.size(); i++) {
      if (i == 0 || text[i - 1] == '\n') lines_.push_back(i);
    }
  }

  // The directives of a block, put in where it is used: `text` is the body with the arguments in it, `origin` says where
  // each of its characters comes from.
  Parser(const std::string &text, const std::vector<size_t> &origin, const Parser &file)
      : text_(text), file_(file.file_), lines_(file.lines_), origin_(&origin) {
    versioned_ = true;
  }

  Schedule run() {
    if (text_.size() > kMaxBytes) {
      throw CompileError(
          Diagnostic("S0002", loc(0, 0), "schedule of " + std::to_string(text_.size()) + " bytes")
              .because("the limit is " + std::to_string(kMaxBytes)));
    }
    statements();
    if (!versioned_ && mistakes_.empty())
      report(syntax(0, "a schedule starts with the line: calotype 1"));
    if (!mistakes_.empty()) throw CompileError(mistakes_);
    return std::move(schedule_);
  }

  void statements() {
    while (skip_space(true), pos_ < text_.size()) {
      try {
        statement();
      } catch (const Mistake &m) {
        report(m.diagnostic);
        skip_line();
      }
    }
  }

  // The head lines alone, mistakes ignored: for the choice among files.
  Schedule run_head() {
    while (skip_space(true), pos_ < text_.size() && schedule_.directives.empty()) {
      const size_t start = pos_;
      try {
        if (!head_line(word())) break;
      } catch (const Mistake &) {
        pos_ = start;
      }
      skip_line();
    }
    return std::move(schedule_);
  }

private:
  // ---- characters --------------------------------------------------------------------------------
  char peek(size_t ahead = 0) const {
    return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
  }

  // Blanks, and with `lines` also ends of lines and comments.
  void skip_space(bool lines) {
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
  void skip_line() {
    while (pos_ < text_.size() && text_[pos_] != '\n') pos_++;
  }
  bool at_line_end() {
    skip_space(false);
    return pos_ >= text_.size() || text_[pos_] == '\n';
  }
  void expect_line_end() {
    if (peek() == ';') pos_++;
    if (!at_line_end())
      throw Mistake{syntax(pos_, "expected the end of the line, found " + shown())};
  }

  std::string shown() const {
    if (pos_ >= text_.size()) return "the end of the file";
    const char c = text_[pos_];
    if (c == '\n') return "the end of the line";
    if (is_word(c)) return "\"" + word_at(pos_) + "\"";
    if (c < 32 || c > 126) return "a character that is no printable ASCII";
    return std::string("\"") + c + "\"";
  }
  std::string word_at(size_t p) const {
    size_t end = p;
    while (end < text_.size() && is_word(text_[end])) end++;
    return text_.substr(p, end - p);
  }

  SrcLoc loc(size_t start, size_t end) const {
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
  Diagnostic syntax(size_t at, std::string what) const {
    return Diagnostic("S0001", loc(at, at + std::max<size_t>(word_at(at).size(), 1)),
                      std::move(what));
  }
  void report(Diagnostic d) {
    mistakes_.push_back(std::move(d));
    if (mistakes_.size() >= kMaxMistakes) throw CompileError(mistakes_);
  }

  // ---- words -------------------------------------------------------------------------------------
  std::string word() {
    if (!is_letter(peek())) throw Mistake{syntax(pos_, "expected a name, found " + shown())};
    std::string w = word_at(pos_);
    pos_ += w.size();
    return w;
  }

  // "x", "r.x", "x.v": parts joined by dots.
  std::string dotted() {
    std::string name = word();
    while (peek() == '.' && is_word(peek(1))) {
      pos_++;
      name += "." + word_at(pos_);
      pos_ += word_at(pos_).size();
    }
    return name;
  }

  // A Func's name or a glob: "blur_x", "g[1]", "down_*", "g[*]".
  std::string func_name() {
    const size_t start = pos_;
    const auto glob = [](char c) { return c == '*' || c == '?'; };
    if (!is_letter(peek()) && !glob(peek()))
      throw Mistake{syntax(pos_, "expected a Func's name, found " + shown())};
    while (is_word(peek()) || glob(peek())) pos_++;
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

  int integer() {
    const size_t start = pos_;
    int64_t n = 0;
    while (is_digit(peek()) && pos_ - start < 10) n = n * 10 + (text_[pos_++] - '0');
    if (pos_ == start || is_word(peek()) || n > INT32_MAX)
      throw Mistake{syntax(start, "expected an index")};
    return static_cast<int>(n);
  }

  void expect(char c) {
    skip_space(depth_ > 0);
    if (peek() != c)
      throw Mistake{syntax(pos_, std::string("expected \"") + c + "\", found " + shown())};
    pos_++;
  }

  // ---- lines -------------------------------------------------------------------------------------
  void statement() {
    const size_t start = pos_;
    depth_ = 0;
    if (is_letter(peek())) {
      const std::string first = word();
      if (head_line(first)) return;
      if (peek() == '(' && versioned_) return use_block(first, start);
    }
    pos_ = start;
    if (!versioned_) {
      versioned_ = true;  // say it once
      report(syntax(start, "a schedule starts with the line: calotype 1"));
    }
    chain();
  }

  // A keyword is one only before a blank: a Func may be called `target`.
  bool head_line(const std::string &first) {
    const size_t start = pos_ - first.size();
    if (peek() != ' ' && peek() != '\t') return false;
    const bool keyword = first == "calotype" || first == "pipeline" || first == "target" ||
                         first == "when" || first == "base" || first == "let" || first == "def";
    if (!keyword) return false;
    skip_space(false);
    if (origin_ && first != "let") {
      throw Mistake{Diagnostic("S0125", loc(start, pos_), first + " cannot stand in a named block")
                        .because("a block holds directives, and Funcs that directives make")};
    }
    if (first == "let") return let(), true;
    if (first == "def") return define_block(start), true;
    if (!schedule_.directives.empty()) {
      throw Mistake{
          syntax(start, first + " belongs to the head of the file, before the first directive")};
    }
    if (first == "calotype") version(start);
    if (first == "pipeline") once(&schedule_.pipeline, start, rest_of_line());
    if (first == "target") target(start);
    if (first == "when") when();
    if (first == "base") base(start);
    expect_line_end();
    return true;
  }

  void target(size_t start) {
    const size_t at = pos_;
    const std::string name = rest_of_line();
    if (!is_schedule_target(name)) {
      throw Mistake{syntax(at, "no schedule is for a target called " + name)
                        .fix("any, x86-64, x86-64-sse41, x86-64-avx, x86-64-avx2, x86-64-avx512, "
                             "cuda, cuda-80 ...")};
    }
    once(&schedule_.target, start, name);
  }

  void version(size_t start) {
    const size_t at = pos_;
    if (rest_of_line() != "1")
      throw Mistake{syntax(at, "only version 1 of schedule files is known")};
    if (versioned_) throw Mistake{syntax(start, "calotype 1 is said twice")};
    versioned_ = true;
  }

  std::string rest_of_line() {
    const size_t start = pos_;
    while (pos_ < text_.size() && text_[pos_] != '\n' && text_[pos_] != '#') pos_++;
    size_t end = pos_;
    while (end > start && std::strchr(" \t\r", text_[end - 1])) end--;
    for (size_t i = start; i < end; i++) {
      if (text_[i] < 33 || text_[i] > 126) throw Mistake{syntax(i, "expected one word")};
    }
    if (end == start) throw Mistake{syntax(start, "expected a word, found " + shown())};
    return text_.substr(start, end - start);
  }

  void once(std::string *value, size_t start, std::string text) {
    if (!value->empty()) throw Mistake{syntax(start, word_at(start) + " is said twice")};
    *value = std::move(text);
  }

  void when() {
    const size_t name_at = pos_;
    std::string name = dotted();
    schedule_.when_locs.emplace(name, loc(name_at, pos_));
    skip_space(false);
    if (peek() != '=' || peek(1) != '=')
      throw Mistake{syntax(pos_, "expected \"==\", found " + shown())};
    pos_ += 2;
    skip_space(false);
    schedule_.when.emplace_back(std::move(name), rest_of_line());
  }

  void base(size_t start) {
    if (rest_of_line() != "embedded") throw Mistake{syntax(start, "only base embedded is known")};
    if (schedule_.base_embedded) throw Mistake{syntax(start, "base embedded is said twice")};
    schedule_.base_embedded = true;
  }

  void let() {
    const size_t name_at = pos_;
    const std::string name = word();
    for (const auto &old : schedule_.lets) {
      if (old.first == name)
        throw Mistake{Diagnostic("S0109", loc(name_at, pos_), "let " + name + " is given twice")};
    }
    skip_space(false);
    expect('=');
    skip_space(false);
    if (is_func_chain()) return chain(name, loc(name_at, name_at + name.size()));
    if (origin_)
      throw Mistake{
          Diagnostic("S0125", loc(name_at, name_at + name.size()), "a block cannot name a number")
              .fix("give it as an argument")};
    const size_t value_at = pos_;
    schedule_.lets.emplace_back(name, expression());
    schedule_.let_locs.emplace(name, loc(value_at, pos_));
    expect_line_end();
  }

  // Does a Func and a directive come next, as in `let part = total.update(0).rfactor({ro: u})`? Else it is a number.
  bool is_func_chain() {
    const size_t back = pos_;
    bool chain = false;
    try {
      func_name();
      if (next_link()) {
        pos_++;
        skip_space(true);
        const std::string first = word();
        DirectiveKind kind;
        chain = first == "update" || find_directive(first, &kind);
      }
    } catch (const Mistake &) {
      chain = false;
    }
    pos_ = back;
    return chain;
  }

  // ---- named blocks ------------------------------------------------------------------------------
  struct Block {
    std::string name;
    std::vector<std::string> params;
    size_t start = 0, end = 0;  ///< of the body in the text
    SrcLoc loc;
  };

  // def name(func, var, n) ... end
  void define_block(size_t start) {
    Block block;
    const size_t name_at = pos_;
    block.name = word();
    block.loc = loc(start, pos_);
    if (find_block(block.name))
      throw Mistake{
          Diagnostic("S0109", loc(name_at, pos_), "block " + block.name + " is given twice")
              .because("the first one", find_block(block.name)->loc)};
    depth_ = 1;
    expect('(');
    for (skip_space(true); peek() != ')'; skip_space(true)) {
      const size_t at = pos_;
      block.params.push_back(word());
      if (std::count(block.params.begin(), block.params.end(), block.params.back()) > 1)
        throw Mistake{
            Diagnostic("S0114", loc(at, pos_),
                       "block " + block.name + " names " + block.params.back() + " twice")};
      skip_space(true);
      if (peek() == ',') {
        pos_++;
      } else if (peek() != ')') {
        throw Mistake{syntax(pos_, "expected \",\" or \")\", found " + shown())};
      }
    }
    pos_++;
    depth_ = 0;
    if (!at_line_end())
      throw Mistake{syntax(pos_, "expected the end of the line, found " + shown())};
    block.start = pos_;
    if (!skip_to_end(&block.end)) {
      throw Mistake{Diagnostic("S0125", block.loc, "block " + block.name + " has no end")
                        .fix("a line that says: end")};
    }
    blocks_.push_back(std::move(block));
  }

  // Behind the line `end`.
  bool skip_to_end(size_t *end) {
    while (pos_ < text_.size()) {
      skip_line();
      if (pos_ < text_.size()) pos_++;
      const size_t line = pos_;
      skip_space(false);
      if (word_at(pos_) == "def") return false;
      if (word_at(pos_) != "end") continue;
      pos_ += 3;
      if (!at_line_end()) continue;
      *end = line;
      return true;
    }
    return false;
  }

  const Block *find_block(const std::string &name) const {
    for (const Block &b : blocks_) {
      if (b.name == name) return &b;
    }
    return nullptr;
  }

  // name(output, xi, 4): the block's directives stand here.
  void use_block(const std::string &name, size_t start) {
    const SrcLoc here = loc(start, pos_);
    const Block *block = find_block(name);
    if (origin_)
      throw Mistake{
          Diagnostic("S0125", here, "a block cannot use block " + name)
              .because("blocks hold directives only, so that a file's size bounds its work")};
    if (!block) {
      Diagnostic d("S0125", here, "there is no block " + name);
      std::vector<std::string> names;
      for (const Block &b : blocks_) names.push_back(b.name);
      for (const std::string &near : nearest_names(name, names))
        d.help.push_back("did you mean " + near + "?");
      d.help.push_back("directives are said of a Func: f." + name +
                       "(...); blocks are made above by def");
      throw Mistake{std::move(d)};
    }
    const std::vector<std::string> args = block_arguments();
    if (args.size() != block->params.size()) {
      throw Mistake{Diagnostic("S0125", here,
                               "block " + name + " takes " + std::to_string(block->params.size()) +
                                   " arguments, not " + std::to_string(args.size()))
                        .because("the block", block->loc)};
    }
    expect_line_end();
    std::vector<size_t> origin;
    const std::string body = expanded(*block, args, &origin);
    origin.push_back(block->end);
    Parser inner(body, origin, *this);
    const size_t before = schedule_.directives.size();
    inner.schedule_ = std::move(schedule_);
    inner.statements();
    schedule_ = std::move(inner.schedule_);
    for (size_t i = before; i < schedule_.directives.size(); i++)
      schedule_.directives[i].use_loc = here;
    for (Diagnostic &d : inner.mistakes_) {
      d.why.push_back({"in block " + name + ", used here", here});
      report(std::move(d));
    }
  }

  // Texts between commas, up to the closing parenthesis.
  std::vector<std::string> block_arguments() {
    const size_t open = pos_;
    pos_++;
    std::vector<std::string> args;
    std::string text;
    int depth = 0;
    for (;; pos_++) {
      const char c = peek();
      if (c == '\0' || c == '\n' || c == '#')
        throw Mistake{syntax(open, "this list of arguments has no end in its line")};
      if (depth == 0 && (c == ',' || c == ')')) {
        const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
        const bool empty = first == std::string::npos;
        if (empty && (c == ',' || !args.empty()))
          throw Mistake{syntax(pos_, "expected an argument, found " + shown())};
        if (!empty) args.push_back(text.substr(first, last - first + 1));
        text.clear();
        if (c == ')') break;
        continue;
      }
      if (c == '(' || c == '[' || c == '{') depth++;
      if (c == ')' || c == ']' || c == '}') depth--;
      text += c;
    }
    pos_++;
    return args;
  }

  // The body with arguments in the place of parameters; names behind a dot are directives and parts of names.
  std::string expanded(const Block &block, const std::vector<std::string> &args,
                       std::vector<size_t> *origin) const {
    std::string out;
    const auto copy = [&](const std::string &text, size_t at, bool moving) {
      for (size_t i = 0; i < text.size(); i++) origin->push_back(at + (moving ? i : 0));
      out += text;
    };
    char before = '\n';
    bool in_string = false, in_comment = false;
    for (size_t at = block.start; at < block.end;) {
      const char c = text_[at];
      if (c == '\n') in_string = in_comment = false;
      if (c == '"' && !in_comment) in_string = !in_string;
      if (c == '#' && !in_string) in_comment = true;
      if (!is_letter(c) || in_string || in_comment) {
        copy(std::string(1, c), at, true);
        before = c;
        at++;
        continue;
      }
      const std::string w = word_at(at);
      const auto param = std::find(block.params.begin(), block.params.end(), w);
      if (param == block.params.end() || before == '.' || is_word(before)) {
        copy(w, at, true);
      } else {
        copy(args[static_cast<size_t>(param - block.params.begin())], at, false);
      }
      before = 'x';
      at += w.size();
    }
    return out;
  }

  // ---- directives --------------------------------------------------------------------------------
  // The directives behind one that makes a Func are about that Func. `let`: its name, if there is one.
  void chain(const std::string &let = {}, SrcLoc let_loc = {}) {
    const size_t start = pos_;
    const size_t first = schedule_.directives.size();
    std::string func = func_name();
    SrcLoc func_loc = loc(start, pos_);
    skip_space(false);
    if (peek() != '.')
      throw Mistake{
          syntax(pos_, "expected \".\" and a directive after " + func + ", found " + shown())};
    Directive subject;
    subject.func = func;
    subject.func_loc = func_loc;
    while (next_link()) {
      pos_++;
      skip_space(true);
      const size_t name_at = pos_;
      const std::string name = word();
      if (name == "update") {
        subject.stage = update_index() + 1;
        subject.under.clear();
        continue;
      }
      const size_t before = schedule_.directives.size();
      directive(name, name_at, subject);
      if (schedule_.directives.size() == before) continue;  // no such directive
      Directive &d = schedule_.directives.back();
      if (!makes_func(d.kind)) continue;
      d.made = free_made_name(d);
      d.made_loc = d.loc;
      subject = Directive();
      subject.func = d.made;
      subject.func_loc = d.loc;
    }
    expect_line_end();
    if (!let.empty()) name_made_func(first, let, let_loc);
  }

  // The last Func that the chain makes is called `let`.
  void name_made_func(size_t first, const std::string &let, SrcLoc let_loc) {
    std::vector<Directive> &all = schedule_.directives;
    size_t maker = all.size();
    while (maker > first && !makes_func(all[maker - 1].kind)) maker--;
    if (maker == first) {
      throw Mistake{Diagnostic("S0105", let_loc, "let " + let + " names no Func")
                        .because("none of these directives makes one: in, clone_in, rfactor do")};
    }
    all[maker - 1].made = let;
    all[maker - 1].made_loc = let_loc;
    for (size_t i = maker; i < all.size(); i++) {
      all[i].func = let;
      all[i].func_loc = let_loc;
    }
  }

  // The name of a Func that `d` makes if nobody names it. The same request makes the same Func, but for rfactor.
  std::string free_made_name(const Directive &d) const {
    const std::string base = default_made_name(d);
    std::string name = base;
    for (int n = 2;; n++) {
      bool taken = false;
      for (const Directive &other : schedule_.directives) {
        if (&other == &d || other.made != name) continue;
        taken = d.kind == DirectiveKind::rfactor || default_made_name(other) != base;
      }
      if (!taken) return name;
      name = base + "_" + std::to_string(n);
    }
  }

  // A dot here, or at the start of one of the next lines.
  bool next_link() {
    const size_t back = pos_;
    skip_space(true);
    if (peek() == '.') return true;
    pos_ = back;
    return false;
  }

  int update_index() {
    depth_ = 1;
    expect('(');
    skip_space(true);
    const int index = peek() == ')' ? 0 : integer();
    expect(')');
    depth_ = 0;
    return index;
  }

  // What follows specialize(c) in a chain is said of the specialization.
  void directive(const std::string &name, size_t at, Directive &subject) {
    Directive d = subject;
    d.loc = loc(at, pos_);
    const bool known = find_directive(name, &d.kind);
    if (!known) {
      Diagnostic unknown("S0102", d.loc, "there is no directive " + name);
      for (const std::string &near : nearest_names(name, directive_names()))
        unknown.help.push_back("did you mean " + near + "?");
      report(std::move(unknown));
    }
    depth_ = 1;
    expect('(');
    if (known && d.kind == DirectiveKind::online) {
      online_args(d);
    } else if (known && takes_first(d.kind, ParamSpec::Kind::Level)) {
      level_args(d);
    } else if (known && takes_first(d.kind, ParamSpec::Kind::Funcs)) {
      std::vector<Arg> funcs;
      func_args(funcs, ')');
      d.args = one_or_list(std::move(funcs));
    } else if (known && takes_first(d.kind, ParamSpec::Kind::Func)) {
      func_then_arguments(d);
    } else {
      arguments(d.args, ')');
    }
    depth_ = 0;
    if (!known) return;
    shape(d);
    if (schedule_.directives.size() >= kMaxDirectives) {
      throw CompileError(Diagnostic("S0002", d.loc,
                                    "more than " + std::to_string(kMaxDirectives) + " directives"));
    }
    if (d.kind == DirectiveKind::specialize && d.args.size() == 1 && d.args[0].expr.defined())
      subject.under.push_back(d.args[0].expr);
    schedule_.directives.push_back(std::move(d));
  }

  // online(ko, {M, L})
  void online_args(Directive &d) {
    skip_space(true);
    const size_t start = pos_;
    if (peek() == ')') return arguments(d.args, ')');
    std::string var = dotted();
    d.args.push_back(Arg::name(std::move(var), loc(start, pos_)));
    skip_space(true);
    if (peek() == ')') return arguments(d.args, ')');
    expect(',');
    skip_space(true);
    const size_t list_at = pos_;
    std::vector<Arg> funcs;
    func_args(funcs, ')');
    d.args.push_back(Arg::list(std::move(funcs), loc(list_at, pos_)));
  }

  // in(), in(g), in({g, h}), in(g, h)
  void func_args(std::vector<Arg> &out, char close) {
    for (skip_space(true); peek() != close; skip_space(true)) {
      if (peek() == '{' && close == ')') {
        pos_++;
        func_args(out, '}');
      } else {
        const size_t start = pos_;
        std::string name = func_name();
        out.push_back(Arg::function(0, std::move(name), loc(start, pos_)));
      }
      skip_space(true);
      if (peek() == ',') {
        pos_++;
      } else if (peek() != close) {
        throw Mistake{
            syntax(pos_, std::string("expected \",\" or \"") + close + "\", found " + shown())};
      }
    }
    pos_++;
  }

  static bool takes_first(DirectiveKind k, ParamSpec::Kind kind) {
    const auto &specs = params_of(k);
    return !specs.empty() && specs[0].kind == kind;
  }

  // prefetch(input, y, y, 2)
  void func_then_arguments(Directive &d) {
    skip_space(true);
    if (peek() != ')') {
      const size_t start = pos_;
      const std::string func = func_name();
      d.args.push_back(Arg::level(0, func, -1, {}, loc(start, pos_)));
      d.args.back().func_loc = d.args.back().loc;
      skip_space(true);
      if (peek() == ',') pos_++;
    }
    arguments(d.args, ')');
  }

  // compute_at(output, yi), compute_at(output.update(0), r.x)
  void level_args(Directive &d) {
    skip_space(true);
    const size_t start = pos_;
    if (peek() == ')') return arguments(d.args, ')');
    const std::string func = func_name();
    int stage = -1;
    skip_space(true);
    if (peek() == '.') {
      pos_++;
      const size_t at = pos_;
      if (word() != "update") throw Mistake{syntax(at, "expected update(i)")};
      const int outer = depth_;
      stage = update_index() + 1;
      depth_ = outer;
      skip_space(true);
    }
    if (peek() == ')' && (func == "root" || func == "inlined") && stage < 0) {
      d.args.push_back(Arg::level(0, {}, -1, func, loc(start, pos_)));
      pos_++;
      return;
    }
    expect(',');
    skip_space(true);
    const size_t var_at = pos_;
    const std::string var = dotted();
    d.args.push_back(Arg::level(0, func, stage, var, loc(var_at, pos_)));
    d.args.back().func_loc = loc(start, start + func.size());
    skip_space(true);
    if (peek() == ',') pos_++;
    arguments(d.args, ')');
  }

  void arguments(std::vector<Arg> &out, char close) {
    skip_space(true);
    if (peek() == close) {
      pos_++;
      return;
    }
    for (;;) {
      out.push_back(argument(close == '}'));
      skip_space(true);
      if (peek() == close) {
        pos_++;
        return;
      }
      if (peek() != ',')
        throw Mistake{
            syntax(pos_, std::string("expected \",\" or \"") + close + "\", found " + shown())};
      pos_++;
    }
  }

  Arg argument(bool in_list) {
    skip_space(true);
    const size_t start = pos_;
    if (is_letter(peek())) {
      const std::string name = dotted();
      skip_space(true);
      const bool key = in_list ? peek() == ':' && peek(1) != ':' : peek() == '=' && peek(1) != '=';
      if (key) {
        pos_++;
        skip_space(true);
        Arg a = value();
        a.key = name;
        return a;
      }
      pos_ = start;
    }
    return value();
  }

  Arg value() {
    const size_t start = pos_;
    if (++depth_ > kMaxDepth) {
      throw CompileError(Diagnostic("S0002", loc(start, start),
                                    "lists nested deeper than " + std::to_string(kMaxDepth)));
    }
    Arg a = value_inside();
    depth_--;
    a.loc = loc(start, pos_);
    return a;
  }

  Arg value_inside() {
    const size_t start = pos_;
    if (peek() == '{') {
      pos_++;
      std::vector<Arg> items;
      arguments(items, '}');
      return Arg::list(std::move(items));
    }
    if (peek() == '"') return string_value();
    if (is_letter(peek())) {
      std::string name = dotted();
      if (peek() == ':' && peek(1) == ':' && (name == "TailStrategy" || !words_of(name).empty())) {
        pos_ += 2;
        return Arg::enumerator(word());
      }
      const size_t end = pos_;
      skip_space(true);
      const bool alone = peek() == ',' || peek() == ')' || peek() == '}';
      pos_ = end;
      if (alone) return Arg::name(std::move(name));
      pos_ = start;
    }
    return Arg::value(expression());
  }

  Arg string_value() {
    const size_t start = pos_++;
    std::string s;
    while (peek() != '"') {
      if (peek() == '\0' || peek() == '\n') throw Mistake{syntax(start, "this string has no end")};
      if (peek() == '\\' && peek(1) != '\0') pos_++;
      s += text_[pos_++];
    }
    pos_++;
    Arg a;
    a.kind = Arg::Kind::String;
    a.text = std::move(s);
    return a;
  }

  Expr expression() {
    const size_t start = pos_;
    try {
      return ir::parse_expr_prefix(text_, &pos_, context_, loc(start, start));
    } catch (const CompileError &e) {
      Diagnostic d = e.diagnostic();
      if (d.code.empty() || d.code[0] != 'S') d.code = "S0001";
      if (!d.loc.defined()) d.loc = loc(start, start);
      pos_ = std::max(pos_, start);
      throw Mistake{std::move(d)};
    }
  }

  static ir::ParseContext make_context() {
    ir::ParseContext cx;
    cx.variable = [](const std::string &name, SrcLoc) { return ir::make_var(name); };
    cx.call = [](const std::string &name, const std::vector<Expr> &args, SrcLoc at) -> Expr {
      const auto *v = name == "vec" && args.size() == 1 ? args[0].as<ir::Variable>() : nullptr;
      const Type t = v ? parse_type(v->name) : Type();
      if (t.bits() != 0) return vec_of(t);
      throw CompileError(
          Diagnostic("S0001", at, "a schedule cannot call " + name)
              .fix("there are vec(type), min, max, select, and fields like output.extent(0)"));
    };
    cx.member = [](const std::string &name, const std::string &member,
                   const std::vector<Expr> &args, SrcLoc at) -> Expr {
      static const std::pair<const char *, int> kShort[] = {
          {"width", 0}, {"height", 1}, {"channels", 2}};
      for (const auto &s : kShort) {
        if (args.empty() && member == s.first) return buffer_field(name, "extent", s.second);
      }
      const int64_t *k = args.size() == 1 ? ir::as_const_int(args[0]) : nullptr;
      const bool field = member == "min" || member == "extent" || member == "stride";
      if (field && k && *k >= 0 && *k < 64) return buffer_field(name, member, static_cast<int>(*k));
      throw CompileError(
          Diagnostic("S0001", at, "a buffer has no field " + member)
              .fix("there are min(d), extent(d), stride(d), width(), height(), channels()"));
    };
    return cx;
  }

  // Names that stand for numbers or enumerators become such, as directives.def says.
  void shape(Directive &d) {
    if (makes_func(d.kind)) return shape_maker(d);
    if (d.kind == DirectiveKind::tile) return shape_tile(d);
    const auto &specs = params_of(d.kind);
    for (size_t i = 0; i < d.args.size(); i++) {
      Arg &a = d.args[i];
      size_t s = i;
      if (!a.key.empty()) {
        s = 0;
        while (s < specs.size() && specs[s].name != a.key) s++;
      }
      if (s >= specs.size() || a.kind != Arg::Kind::Name) continue;
      const auto kind = specs[s].kind;
      if (kind == ParamSpec::Kind::Expr) number_or_tail(a, specs[s].optional);
      if (kind == ParamSpec::Kind::Condition) number_or_tail(a, false);
      if (kind == ParamSpec::Kind::Tail || kind == ParamSpec::Kind::Word ||
          kind == ParamSpec::Kind::Bool)
        a.kind = Arg::Kind::Enum;
    }
  }

  // rfactor(r, u) is rfactor({r: u}).
  static void shape_maker(Directive &d) {
    if (d.args.size() != 2 || d.args[0].kind != Arg::Kind::Name ||
        d.args[1].kind != Arg::Kind::Name)
      return;
    Arg item = d.args[1];
    item.key = d.args[0].text;
    d.args = {Arg::list({item}, d.args[0].loc)};
  }

  static void number_or_tail(Arg &a, bool optional) {
    TailStrategy tail;
    if (optional && find_tail(a.text, &tail)) {
      a.kind = Arg::Kind::Enum;
      return;
    }
    a.kind = Arg::Kind::Expr;
    a.expr = ir::make_var(a.text);
    a.text.clear();
  }

  static void shape_tile(Directive &d) {
    std::vector<Arg> &args = d.args;
    size_t n = args.size();
    TailStrategy tail;
    if (n > 0 && args[n - 1].kind == Arg::Kind::Name &&
        (find_tail(args[n - 1].text, &tail) || n == 7 || n == 9)) {
      args[n - 1].kind = Arg::Kind::Enum;
    }
    if (n > 0 && args[n - 1].kind == Arg::Kind::Enum) n--;
    if (n == 0) return;
    if (args[0].kind == Arg::Kind::List) {
      for (Arg &a : args[n - 1].items) {
        if (a.kind == Arg::Kind::Name) number_or_tail(a, false);
      }
    } else {
      for (size_t i = n >= 2 ? n - 2 : 0; i < n; i++) {
        if (args[i].kind == Arg::Kind::Name) number_or_tail(args[i], false);
      }
    }
  }

  const std::string &text_;
  const char *file_;
  size_t pos_ = 0;
  int depth_ = 0;
  bool versioned_ = false;
  std::vector<size_t> lines_;
  const std::vector<size_t> *origin_ = nullptr;  ///< of a block put in: places in the file
  std::vector<Block> blocks_;
  Schedule schedule_;
  std::vector<Diagnostic> mistakes_;
  const ir::ParseContext context_ = make_context();
};

}  // namespace

Schedule parse_schedule(const std::string &text, const std::string &path) {
  register_text(intern_path(path), text.size() <= kMaxBytes ? text : std::string());
  return Parser(text, path).run();
}

Schedule parse_schedule_head(const std::string &text, const std::string &path) {
  const std::string bounded = text.substr(0, kMaxBytes);
  return Parser(bounded, path).run_head();
}

std::string read_schedule_text(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::string text;
  if (in) {
    text.resize(kMaxBytes + 1);
    in.read(&text[0], static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(in.gcount()));
    if (in.eof() || text.size() > kMaxBytes) return text;
  }
  throw CompileError(Diagnostic("S0005", SrcLoc{intern_path(path), 0, 0, 0},
                                "schedule file " + path + " cannot be read")
                         .because(in ? "it is no regular file" : std::strerror(errno)));
}

Schedule load_schedule(const std::string &path) {
  return parse_schedule(read_schedule_text(path), path);
}

}  // namespace calotype::schedule
