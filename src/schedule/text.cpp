// Reads schedule files. Grammar: docs/schedules.md. A statement is a line or a chain that goes on while lines start with
// a dot; after a mistake reading goes on with the next line, so one run reports independent mistakes.
// Tests: test/unit/schedule/text_test.cpp.
#include "text.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "text_arguments.h"
#include "value.h"

namespace calotype::schedule {

namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxDirectives = 100000;
constexpr size_t kMaxMistakes = 20;

class Parser : private ArgumentParser {
public:
  Parser(const std::string &text, const std::string &path) : ArgumentParser(text, path) {
    schedule_.origin = path;
  }

  // The directives of a block, put in where it is used.
  Parser(const std::string &text, const std::vector<size_t> &origin, const Parser &file)
      : ArgumentParser(text, origin, file) {
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
  void report(Diagnostic d) {
    if (d.code == "S0001" && d.why.empty() && d.help.empty())
      d.help.push_back(
          "a line is func.directive(argument, ...), a let, a block or its use, or before them a "
          "line of "
          "the head: docs/schedules.md, Files");
    mistakes_.push_back(std::move(d));
    if (mistakes_.size() >= kMaxMistakes) throw CompileError(mistakes_);
  }

  // ---- lines -------------------------------------------------------------------------------------
  void statement() {
    const size_t start = pos_;
    depth_ = 0;
    if (is_name_letter(peek())) {
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
        throw Mistake{Diagnostic("S0109", loc(name_at, pos_), "let " + name + " is given twice")
                          .fix("give one of them another name")};
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
        throw Mistake{Diagnostic("S0114", loc(at, pos_),
                                 "block " + block.name + " names " + block.params.back() + " twice")
                          .fix("give one of the parameters another name")};
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
      if (!is_name_letter(c) || in_string || in_comment) {
        copy(std::string(1, c), at, true);
        before = c;
        at++;
        continue;
      }
      const std::string w = word_at(at);
      const auto param = std::find(block.params.begin(), block.params.end(), w);
      if (param == block.params.end() || before == '.' || is_name_char(before)) {
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
    directive_arguments(d, known);
    if (!known) return;
    if (schedule_.directives.size() >= kMaxDirectives) {
      throw CompileError(Diagnostic("S0002", d.loc,
                                    "more than " + std::to_string(kMaxDirectives) + " directives"));
    }
    if (d.kind == DirectiveKind::specialize && d.args.size() == 1 && d.args[0].expr.defined())
      subject.under.push_back(d.args[0].expr);
    schedule_.directives.push_back(std::move(d));
  }

  bool versioned_ = false;
  std::vector<Block> blocks_;
  Schedule schedule_;
  std::vector<Diagnostic> mistakes_;
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
