// File tests of IR (see ir_file.h).
#include "support/ir_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <vector>

#include "base/diagnostic.h"
#include "ir/equal.h"
#include "ir/eval.h"
#include "ir/math.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/visit.h"
#include "support/golden.h"

namespace calotype::test {

using namespace ir;

namespace {

std::map<std::string, IrPass> &passes() {
  static std::map<std::string, IrPass> table;
  return table;
}

Stmt fold_constants(const Stmt &s) {
  return rewrite(s, [](const Expr &e) {
    const Expr folded = fold(e);
    return folded.defined() ? folded : e;
  });
}
const RegisterIrPass fold_pass("fold", fold_constants);
const RegisterIrPass expand_pass("expand_intrinsics",
                                 [](const Stmt &s) { return expand_intrinsics(s); });

struct Failure {
  std::string text;
};
[[noreturn]] void fail(const std::string &text) { throw Failure{text}; }

std::string trim(const std::string &s) {
  const size_t a = s.find_first_not_of(" \t"), b = s.find_last_not_of(" \t");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}

struct Directive {
  int line;
  std::string text;
};

struct File {
  std::string text, path, subject, body;  // body: the text without whole-line comments
  std::vector<std::string> options;
  std::map<std::string, std::vector<Directive>> directives;
  bool has_option(const std::string &o) const {
    return std::find(options.begin(), options.end(), o) != options.end();
  }
  const std::vector<Directive> &all(const std::string &key) const {
    static const std::vector<Directive> none;
    auto it = directives.find(key);
    return it == directives.end() ? none : it->second;
  }
};

// "; key: text" anywhere in a line.
void read_directive(const std::string &line, int number, File *file) {
  static const char *const keys[] = {"expect", "error", "violation", "var",
                                     "memory", "run",   "fails"};
  for (const char *key : keys) {
    const std::string mark = std::string("; ") + key + ":";
    const size_t at = line.find(mark);
    if (at == std::string::npos) continue;
    std::string rest = line.substr(at + mark.size());
    if (!rest.empty() && rest[0] == ' ') rest.erase(0, 1);
    file->directives[key].push_back({number, rest});
    return;
  }
}

File read(const std::string &text, const std::string &path) {
  File file;
  file.text = text;
  file.path = path;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); number++) {
    if (number == 1) {
      if (line.rfind("; test: ", 0) != 0) fail("the first line is not '; test: SUBJECT'");
      std::istringstream words(line.substr(8));
      words >> file.subject;
      for (std::string option; words >> option;) file.options.push_back(option);
    } else {
      read_directive(line, number, &file);
      if (trim(line)[0] != ';') file.body += line + "\n";
    }
  }
  return file;
}

bool is_program(const File &f) { return trim(f.body).rfind("program", 0) == 0; }

SrcLoc origin(const File &f) { return SrcLoc{intern_path(f.path), 1, 1}; }

std::string expected_text(const File &f) {
  std::string text;
  for (const Directive &d : f.all("expect")) text += d.text + "\n";
  return text;
}

void compare_text(const std::string &expected, const std::string &actual) {
  if (expected != actual)
    fail("the text differs from what is expected\n" + line_difference(expected, actual));
}

// --- print, parse, verify ----------------------------------------------------------------------------------------

void test_print(const File &f) {
  std::string printed;
  if (f.has_option("expr"))
    printed = to_string(parse_expr(f.text, {}, origin(f))) + "\n";
  else if (is_program(f))
    printed = to_string(parse_program(f.text, origin(f)));
  else
    printed = to_string(parse_stmt(f.text, origin(f)));
  compare_text(f.all("expect").empty() ? f.body : expected_text(f), printed);
}

void parse_any(const File &f) {
  if (f.has_option("expr"))
    parse_expr(f.text, {}, origin(f));
  else if (is_program(f))
    parse_program(f.text, origin(f));
  else
    parse_stmt(f.text, origin(f));
}

void test_parse(const File &f) {
  const std::vector<Directive> &errors = f.all("error");
  if (errors.size() != 1) fail("a parse test has one '; error: CODE TEXT'");
  const std::string code = errors[0].text.substr(0, errors[0].text.find(' '));
  const std::string part = trim(errors[0].text.substr(code.size()));
  try {
    parse_any(f);
  } catch (const CompileError &e) {
    const Diagnostic &d = e.diagnostic();
    if (d.code != code) fail("code " + d.code + " instead of " + code);
    if (d.loc.line != errors[0].line) fail("the error is in line " + std::to_string(d.loc.line));
    if (d.what.find(part) == std::string::npos) fail("the message is: " + d.what);
    return;
  }
  fail("no error");
}

StmtProperties properties(const File &f) {
  StmtProperties p;
  p.closed = f.has_option("closed");
  p.unique_names = f.has_option("unique_names");
  p.flat_storage = f.has_option("flat_storage");
  p.no_vector_loops = f.has_option("no_vector_loops");
  for (const std::string &option : f.options) {
    if (option.rfind("free=", 0) != 0) continue;
    std::istringstream names(option.substr(5));
    for (std::string n; std::getline(names, n, ',');) p.free.push_back(n);
  }
  return p;
}

void test_verify(const File &f) {
  const std::vector<std::string> found = is_program(f)
                                             ? verify(parse_program(f.text, origin(f)))
                                             : verify(parse_stmt(f.text, origin(f)), properties(f));
  const std::vector<Directive> &expected = f.all("violation");
  for (size_t i = 0; i < std::max(found.size(), expected.size()); i++) {
    if (i >= found.size()) fail("not found: " + expected[i].text);
    if (i >= expected.size()) fail("not expected: " + found[i]);
    if (found[i].find(expected[i].text) == std::string::npos) {
      fail("expected: " + expected[i].text + "\nfound: " + found[i]);
    }
  }
}

// --- run ---------------------------------------------------------------------------------------------------------

Value constant(const std::string &text, Type wanted) {
  // A sum with a zero of the wanted type gives a bare constant that type.
  Expr e = parse_expr(text);
  if (wanted.bits() > 0 && e.type() != wanted) {
    const std::string typed = trim(text) + ":" + to_string(wanted);
    const bool bare = text.find(':') == std::string::npos && !wanted.is_bool();
    if (!bare) fail("'" + text + "' is no constant of type " + to_string(wanted));
    e = parse_expr(typed);
  }
  const std::optional<Value> v = evaluate(e);
  if (!v) fail("'" + text + "' is no constant");
  return *v;
}

// "[1, 2, 3]" or a single constant.
std::vector<uint64_t> elements(const std::string &text, Type t) {
  std::string list = trim(text);
  if (!list.empty() && list[0] == '[') {
    if (list.back() != ']') fail("expected ']' at the end of: " + text);
    list = list.substr(1, list.size() - 2);
  }
  std::vector<uint64_t> lanes;
  std::istringstream in(list);
  for (std::string item; std::getline(in, item, ',');) lanes.push_back(constant(item, t).lanes[0]);
  return lanes;
}

EvalContext context(const File &f) {
  EvalContext cx;
  for (const Directive &d : f.all("var")) {
    const size_t equals = d.text.find('=');
    if (equals == std::string::npos) fail("expected '; var: NAME = VALUE'");
    cx.vars[trim(d.text.substr(0, equals))] = constant(d.text.substr(equals + 1), Type());
  }
  for (const Directive &d : f.all("memory")) {
    const size_t colon = d.text.find(':'), sign = d.text.find_first_of("=*");
    if (colon == std::string::npos || sign == std::string::npos)
      fail("expected '; memory: NAME:TYPE = [VALUES]'");
    const std::string name = trim(d.text.substr(0, colon));
    const Type t = parse_type(trim(d.text.substr(colon + 1, sign - colon - 1)));
    if (t.bits() == 0) fail("no type in: " + d.text);
    cx.memory_types[name] = t;
    if (d.text[sign] == '=')
      cx.memory[name] = elements(d.text.substr(sign + 1), t);
    else
      cx.memory[name].assign(std::stoul(d.text.substr(sign + 1)), 0);
  }
  return cx;
}

std::string show(const std::vector<uint64_t> &lanes, Type t) {
  std::string s = "[";
  for (uint64_t lane : lanes) {
    double d;
    std::memcpy(&d, &lane, sizeof d);
    if (s.size() > 1) s += ", ";
    s += t.is_float()  ? to_string(make_float(Float(64), d))
         : t.is_uint() ? std::to_string(lane)
                       : std::to_string(static_cast<int64_t>(lane));
  }
  return s + "]";
}

void compare_lanes(const std::string &what, const std::vector<uint64_t> &expected,
                   const std::vector<uint64_t> &found, Type t) {
  bool same = expected.size() == found.size();
  for (size_t i = 0; same && i < found.size(); i++) {
    double a, b;
    std::memcpy(&a, &expected[i], sizeof a);
    std::memcpy(&b, &found[i], sizeof b);
    same = expected[i] == found[i] || (t.is_float() && std::isnan(a) && std::isnan(b));
  }
  if (!same) fail(what + " is " + show(found, t) + "\nexpected " + show(expected, t));
}

void run_expr(const File &f) {
  const Expr e = parse_expr(f.text, {}, origin(f));
  const std::optional<Value> v = evaluate(e, context(f));
  if (!f.all("fails").empty()) {
    if (v) fail("it has a value");
    return;
  }
  if (!v) fail("it has no value");
  for (const Directive &d : f.all("run")) {
    if (d.text.rfind("==", 0) != 0) fail("expected '; run: == VALUE'");
    compare_lanes("the value", elements(d.text.substr(2), e.type().element_of()), v->lanes,
                  e.type());
  }
}

void run_stmt(const File &f, const Stmt &s, const std::string &when) {
  if (f.all("run").empty() && f.all("fails").empty()) return;
  EvalContext cx = context(f);
  const std::string error = execute(s, cx);
  if (!f.all("fails").empty()) {
    if (error.find(f.all("fails")[0].text) == std::string::npos || error.empty())
      fail(when + "it stops with: " + error);
    return;
  }
  if (!error.empty()) fail(when + error);
  for (const Directive &d : f.all("run")) {
    const size_t sign = d.text.find("==");
    if (sign == std::string::npos) fail("expected '; run: NAME == [VALUES]'");
    const std::string name = trim(d.text.substr(0, sign));
    if (!cx.memory.count(name)) fail("no memory called " + name);
    const Type t = cx.memory_types[name];
    compare_lanes(when + name, elements(d.text.substr(sign + 2), t), cx.memory[name], t);
  }
}

void test_run(const File &f) {
  if (f.all("run").empty() && f.all("fails").empty())
    fail("a run test has '; run:' or '; fails:' lines");
  if (f.has_option("expr")) return run_expr(f);
  run_stmt(f, parse_stmt(f.text, origin(f)), "");
}

// --- passes ------------------------------------------------------------------------------------------------------

void test_pass(const File &f, const IrPass &pass) {
  const Stmt before = parse_stmt(f.text, origin(f));
  const std::vector<std::string> wrong = verify(before, properties(f));
  if (!wrong.empty()) fail("the program is not well formed: " + wrong[0]);
  const Stmt after = pass(before);
  const std::vector<std::string> broken = verify(after, properties(f));
  if (!broken.empty()) fail("the result is not well formed: " + broken[0]);
  const std::string text = to_string(after);
  if (!equal(parse_stmt(text), after)) fail("the result does not read back equal:\n" + text);
  run_stmt(f, before, "before: ");
  run_stmt(f, after, "after: ");
  if (!f.all("expect").empty()) return compare_text(expected_text(f), text);
  const std::string difference = golden_difference(f.path, text);
  if (!difference.empty()) fail(difference);
}

void test_file(const File &f) {
  if (f.subject == "print") return test_print(f);
  if (f.subject == "parse") return test_parse(f);
  if (f.subject == "verify") return test_verify(f);
  if (f.subject == "run") return test_run(f);
  auto pass = passes().find(f.subject);
  if (pass == passes().end()) fail("no subject is called '" + f.subject + "'");
  test_pass(f, pass->second);
}

}  // namespace

RegisterIrPass::RegisterIrPass(const std::string &name, IrPass pass) {
  passes()[name] = std::move(pass);
}

std::string run_ir_file(const std::string &text, const std::string &path) {
  try {
    test_file(read(text, path));
  } catch (const Failure &failure) {
    return path + ": " + failure.text;
  } catch (const std::exception &e) {
    return path + ": " + e.what();
  }
  return "";
}

}  // namespace calotype::test
