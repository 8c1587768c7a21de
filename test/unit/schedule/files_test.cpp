// The schedule files of the repository. Those in test/error are wrong, and their comments say how:
//   # program: blur              one of programs.h
//   # error: S0103 4:14 text     code, place (may be left out) and a part of the message; one line per mistake
// Those in test/schedules are right; their canonical text and the loops they make are goldens.
#include <doctest/doctest.h>

#include <set>

#include "files.h"
#include "programs.h"
#include "run.h"
#include "support/check_diag.h"
#include "support/golden.h"

using namespace calotype;
using namespace calotype::test;

namespace {

std::vector<Diagnostic> mistakes_of(const std::string &text, const std::string &path,
                                    const ir::Program &p) {
  try {
    schedule::apply(p, schedule::parse_schedule(text, path), test_target());
  } catch (const CompileError &e) {
    return e.diagnostics();
  }
  return {};
}

// "S0103 4:14 text" or "S0103 text"
struct Expected {
  std::string code, place, text;
  explicit Expected(const std::string &line) {
    code = line.substr(0, 5);
    text = line.size() > 6 ? line.substr(6) : std::string();
    const size_t space = text.find(' ');
    if (!text.empty() && text[0] >= '0' && text[0] <= '9' && text.find(':') < space) {
      place = text.substr(0, space);
      text = text.substr(space + 1);
    }
  }
};

std::string difference(const std::string &file) {
  const std::string path = "test/error/" + file, text = read_file(path);
  const auto programs = comments(text, "program"), errors = comments(text, "error");
  if (programs.size() != 1 || errors.empty()) return file + ": says no program or no error";
  const ir::Program p = program_named(programs[0]);
  if (p.funcs.empty()) return file + ": there is no program " + programs[0];
  const auto found = mistakes_of(text, path, p);
  if (found.empty()) return file + ": was accepted";
  std::string wrong;
  for (const std::string &line : errors) {
    const Expected e(line);
    const std::string d = diag_difference(CompileError(found), e.code, e.text, e.place);
    if (!d.empty()) wrong += file + ": " + d;
  }
  if (found.size() != errors.size())
    wrong += file + ": " + std::to_string(found.size()) + " mistakes reported\n";
  return wrong;
}

}  // namespace

TEST_CASE("error files: each mistake is reported as its file says, and no other") {
  const auto files = files_in("test/error", ".sched");
  REQUIRE(files.size() >= 30);
  for (const std::string &file : files) {
    const std::string wrong = difference(file);
    CHECK_MESSAGE(wrong.empty(), wrong);
  }
}

TEST_CASE("error files: every schedule code has one") {
  const std::set<std::string> elsewhere = {
      "S0004", "S0005", "S0116",
      "S0118", "S0131", "S0150"};  // folders, unreadable files, lowering; S08: no directive yet
  std::set<std::string> covered;
  for (const std::string &file : files_in("test/error", ".sched"))
    covered.insert(file.substr(0, 5));
#define CODE(code, title)                                                                    \
  if (#code[0] == 'S' && std::string(#code).rfind("S08", 0) != 0 && !elsewhere.count(#code)) \
    CHECK_MESSAGE(covered.count(#code), #code " has no file in test/error");
#include "base/codes.def"
#undef CODE
}

TEST_CASE("schedule files: canonical text and loops") {
  const auto files = files_in("test/schedules", ".sched");
  REQUIRE(files.size() >= 5);
  for (const std::string &file : files) {
    const std::string text = read_file("test/schedules/" + file);
    const auto programs = comments(text, "program");
    REQUIRE_MESSAGE(programs.size() == 1, file);
    const ir::Program p = program_named(programs[0]);
    const auto s = schedule::parse_schedule(text, "test/schedules/" + file);
    const std::string canonical = schedule::print_schedule(s);
    CHECK(schedule::print_schedule(schedule::parse_schedule(canonical, "canonical")) == canonical);
    const auto state = schedule::apply(p, s, test_target()).state;
    std::string shown = canonical;
    for (const ir::Function &f : p.funcs) {
      for (int stage = 0; stage < f.stages(); stage++) {
        shown += "# " + schedule::stage_name(f.name, stage) + ": " +
                 loops_of(state, f.name, stage) + "\n";
      }
    }
    CHECK_GOLDEN("schedule/" + file.substr(0, file.size() - 6),
                 shown + schedule::print_schedule_cpp(s, p));
  }
}

TEST_CASE("schedule files: those of the apps print to text that parses back to the same") {
  size_t count = 0;
  for (const std::string &app : files_in("schedules", "")) {
    for (const std::string &file : files_in("schedules/" + app, ".sched")) {
      const std::string path = "schedules/" + app + "/" + file;
      const std::string canonical =
          schedule::print_schedule(schedule::parse_schedule(read_file(path), path));
      CHECK(schedule::print_schedule(schedule::parse_schedule(canonical, "canonical")) ==
            canonical);
      count++;
    }
  }
  CHECK(count >= 4);
}
