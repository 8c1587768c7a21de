// Rendering of diagnostics, the exceptions that carry them, and the search for names like a misspelt one.
// The shape of the text is shown in CONTRIBUTING.md, "Diagnostics". Tests: test/unit/base/diagnostic_test.cpp.
#include "diagnostic.h"

#include <algorithm>
#include <cstring>

namespace calotype {

namespace {

struct CodeLine {
  const char *code, *title;
};
constexpr CodeLine kCodes[] = {
#define CODE(code, title) {#code, title},
#include "codes.def"
#undef CODE
};

const char *severity_word(Severity s) {
  switch (s) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Remark: return "remark";
    case Severity::Internal: return "internal error";
  }
  return "error";
}

bool starts_with(const std::string &s, const char *head) { return s.rfind(head, 0) == 0; }

// "label" on the first line, later lines of the text aligned below it.
void append_labelled(std::string &out, const char *label, const std::string &text) {
  std::string indent(std::strlen(label), ' ');
  out += label;
  for (char c : text) {
    out += c;
    if (c == '\n') out += indent;
  }
  out += '\n';
}

// Notes share one "why:", except a loop nest, which has a line of its own.
void append_notes(std::string &out, const std::vector<Note> &notes) {
  bool first = true;
  for (const Note &note : notes) {
    std::string text = note.text;
    if (note.loc.defined()) text += " (" + to_string(note.loc) + ")";
    if (starts_with(text, "loops: ")) {
      append_labelled(out, "  loops: ", text.substr(7));
    } else {
      append_labelled(out, first ? "  why:  " : "        ", text);
      first = false;
    }
  }
}

std::string render_all(const std::vector<Diagnostic> &all) {
  std::string text;
  for (const Diagnostic &d : all) text += render(d);
  return text;
}

Diagnostic with_severity_of_code(Diagnostic d) {
  if (!d.code.empty() && d.code[0] == 'X') d.severity = Severity::Internal;
  return d;
}

// Edits that turn a into b: insert, delete, replace, swap neighbours (2 each), change of case (1).
int edit_cost(const std::string &a, const std::string &b) {
  const size_t n = a.size(), m = b.size();
  std::vector<int> before(m + 1), last(m + 1), now(m + 1);
  for (size_t j = 0; j <= m; j++) last[j] = static_cast<int>(2 * j);
  for (size_t i = 1; i <= n; i++) {
    now[0] = static_cast<int>(2 * i);
    for (size_t j = 1; j <= m; j++) {
      const char x = a[i - 1], y = b[j - 1];
      const int replace = x == y ? 0 : (x ^ y) == 0x20 ? 1 : 2;
      now[j] = std::min({last[j - 1] + replace, last[j] + 2, now[j - 1] + 2});
      if (i > 1 && j > 1 && x == b[j - 2] && a[i - 2] == y)
        now[j] = std::min(now[j], before[j - 2] + 2);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[m];
}

}  // namespace

Diagnostic::Diagnostic(std::string c, SrcLoc l, std::string w)
    : code(std::move(c)), loc(l), what(std::move(w)) {}
Diagnostic &&Diagnostic::because(std::string text, SrcLoc at) && {
  why.push_back({std::move(text), at});
  return std::move(*this);
}
Diagnostic &&Diagnostic::fix(std::string text) && {
  help.push_back(std::move(text));
  return std::move(*this);
}

std::string render(const Diagnostic &d) {
  std::string out;
  if (d.loc.defined()) out += to_string(d.loc) + ": ";
  out += severity_word(d.severity);
  if (!d.code.empty()) out += "[" + d.code + "]";
  out += ": " + d.what + "\n" + excerpt(d.loc);
  append_notes(out, d.why);
  bool first = true;
  for (const std::string &help : d.help) {
    append_labelled(out, first ? "  help: " : "        ", help);
    first = false;
  }
  return out;
}

std::string code_title(const std::string &code) {
  for (const CodeLine &line : kCodes) {
    if (code == line.code) return line.title;
  }
  return "";
}

Error::Error(Diagnostic d) : Error(std::vector<Diagnostic>{std::move(d)}) {}

Error::Error(std::vector<Diagnostic> all)
    : std::runtime_error(render_all(all)),
      all_(std::make_shared<std::vector<Diagnostic>>(std::move(all))) {
  if (all_->empty()) all_->push_back(Diagnostic("X0001", {}, "an error without a diagnostic"));
}

CompileError::~CompileError() = default;
RuntimeError::~RuntimeError() = default;
InternalError::~InternalError() = default;

void raise(Diagnostic d) {
  d = with_severity_of_code(std::move(d));
  const char letter = d.code.empty() ? 'X' : d.code[0];
  if (letter == 'R') throw RuntimeError(std::move(d));
  if (letter == 'X') throw InternalError(std::move(d));
  throw CompileError(std::move(d));
}

std::vector<std::string> nearest_names(const std::string &name,
                                       const std::vector<std::string> &candidates, size_t n) {
  constexpr size_t kLongest =
      80;  // names beyond this are not compared: the cost is quadratic in the length
  std::vector<std::pair<int, std::string>> scored;
  if (name.size() > kLongest) return {};
  for (const std::string &candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest) continue;
    int cost = edit_cost(name, candidate);
    const int plausible = 2 * static_cast<int>((std::max(name.size(), candidate.size()) + 2) / 3);
    const bool extends =
        name.size() >= 2 && candidate.size() >= 2 &&
        (starts_with(candidate, name.c_str()) || starts_with(name, candidate.c_str()));
    if (extends) cost = std::min(cost, plausible);
    if (cost <= plausible) scored.emplace_back(cost, candidate);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto &[cost, candidate] : scored) {
    if (names.size() == n) break;
    if (std::find(names.begin(), names.end(), candidate) == names.end())
      names.push_back(std::move(candidate));
  }
  return names;
}

void internal_failure(const char *condition, const char *file, int line, const std::string &more) {
  const char *inside = std::strstr(file, "src/");
  Diagnostic d("X0001", SrcLoc{inside ? inside : file, line, 0, 0},
               more.empty() ? std::string("this should hold: ") + condition : more);
  if (!more.empty()) d.why.push_back({std::string("this should hold: ") + condition, {}});
  d.help.push_back("this is a mistake in Calotype, not in your program: please report it");
  raise(std::move(d));
}

}  // namespace calotype
