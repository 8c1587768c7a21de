// docs/schedules.md: every directive has its section, every example does what its `loops` lines say.
#include <doctest/doctest.h>

#include <sstream>

#include "files.h"
#include "programs.h"
#include "run.h"

using namespace calotype;
using namespace calotype::test;

namespace {

std::vector<std::string> examples(const std::string &text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```sched") {
      inside = true;
      found.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      found.back() += line + "\n";
    }
  }
  return found;
}

// "sum.update(0)" -> "sum", 1
std::pair<std::string, int> stage_of(const std::string &name) {
  const size_t at = name.find(".update(");
  if (at == std::string::npos) return {name, 0};
  return {name.substr(0, at), std::stoi(name.substr(at + 8)) + 1};
}

}  // namespace

TEST_CASE("schedules.md: every example applies and makes the loops it shows") {
  const auto all = examples(read_file("docs/schedules.md"));
  REQUIRE(all.size() >= 20);
  for (const std::string &example : all) {
    CAPTURE(example);
    const auto programs = comments(example, "program");
    const auto p = program_named(programs.empty() ? "blur" : programs[0]);
    const bool whole = example.find("calotype 1\n") != std::string::npos;
    const auto state =
        whole ? schedule::apply(p, schedule::parse_schedule(example, "docs"), test_target()).state
              : run_schedule(p, example);
    std::istringstream lines(example);
    int shown = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("# loops ", 0) != 0) continue;
      const size_t colon = line.find(": ");
      const auto stage = stage_of(line.substr(8, colon - 8));
      CHECK(loops_of(state, stage.first, stage.second) == line.substr(colon + 2));
      shown++;
    }
    CHECK(shown > 0);
  }
}

TEST_CASE("schedules.md: has a section for every directive and names those to come") {
  const std::string text = read_file("docs/schedules.md");
  const std::string later = text.substr(text.find("## Directives for devices"));
  const auto check = [&](schedule::DirectiveKind kind) {
    const std::string name = schedule::directive_name(kind);
    if (schedule::is_available(kind)) {
      CHECK_MESSAGE(text.find("\n### " + name + "\n") != std::string::npos, name);
    } else {
      const bool named = later.find(" " + name + ",") != std::string::npos ||
                         later.find("\n" + name + ",") != std::string::npos ||
                         later.find(name + ".") != std::string::npos;
      CHECK_MESSAGE(named, name);
    }
  };
#define DIRECTIVE(name, args, doc) check(schedule::DirectiveKind::name);
#include "schedule/directives.def"
#undef DIRECTIVE
}
