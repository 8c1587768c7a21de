// Each app under each of its schedule files and without one, at odd, tiny and shifted sizes, bit for bit
// against the reference interpreter. The apps' own sources are compiled into this binary.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "../../apps/blur/algorithm.cpp"
#include "../../apps/unsharp/algorithm.cpp"
#include "driver/compiled.h"
#include "driver/generator.h"
#include "driver/program.h"
#include "ir/interpret.h"
#include "schedule/text.h"
#include "support/run_case.h"
#include "support/skip.h"

namespace {

namespace fs = std::filesystem;
using calotype::test::CaseBuffer;
namespace ir = calotype::ir;

struct Size {
  std::vector<int> mins, extents;
  int padding;  // elements between rows
};

/// [width, height, channels]; unsharp reads three channels from 0 on.
std::vector<Size> sizes(const std::string &app) {
  std::vector<Size> all = {
      {{0, 0, 0}, {1, 1, 3}, 0},      {{0, 0, 0}, {7, 1, 3}, 0},    {{0, 0, 0}, {1, 9, 3}, 5},
      {{0, 0, 0}, {33, 17, 3}, 0},    {{-5, 3, 0}, {70, 37, 3}, 3}, {{11, -40, 0}, {64, 32, 3}, 0},
      {{-1, -1, 0}, {131, 67, 3}, 1},
  };
  if (app == "blur") {
    all.push_back({{0, 0, 2}, {34, 9, 1}, 0});
    all.push_back({{3, 3, -1}, {17, 8, 5}, 2});
  }
  return all;
}

std::string name_of(const Size &s) {
  std::string text;
  for (size_t d = 0; d < s.extents.size(); d++) {
    text += (d ? " x " : "") + std::to_string(s.extents[d]) + " from " + std::to_string(s.mins[d]);
  }
  return text + ", padding " + std::to_string(s.padding);
}

ir::Program program_of(const std::string &app, const calotype::Target &t) {
  const auto generator = calotype::driver::create_generator(app, calotype::GeneratorContext(t));
  return calotype::driver::program_of(generator->build_pipeline(), t);
}

/// Empty, or how the compiled pipeline differs from the interpreter at this size.
std::string difference(const ir::Program &p, const calotype::driver::Compiled &compiled,
                       const Size &s, const calotype::Target &t) {
  const calotype::Type type = p.find(p.outputs[0])->types[0];
  const std::vector<int> padding(1, s.padding);
  CaseBuffer input(type, s.mins, s.extents, padding), output(type, s.mins, s.extents, padding),
      expected(type, s.mins, s.extents, padding);
  input.fill(7, true);
  ir::InterpretOptions options;
  options.fma = t.fuses_multiply_add();
  ir::interpret(p, {expected.raw()}, {{"input", input.raw()}}, {}, options);
  try {
    compiled.run({input.raw(), output.raw()});
  } catch (const calotype::Error &e) {
    return e.what();
  }
  if (!output.guards_intact() || !input.guards_intact()) return "written outside of a buffer";
  return output.first_difference(expected);
}

void check_all_sizes(const std::string &app, const calotype::schedule::Schedule &schedule,
                     const calotype::Target &t) {
  const ir::Program p = program_of(app, t);
  const calotype::driver::Compiled compiled(p, schedule, t);
  for (const Size &s : sizes(app)) {
    const std::string what = difference(p, compiled, s, t);
    CHECK_MESSAGE(what.empty(), app << " " << schedule.origin << " " << name_of(s) << ": " << what);
  }
}

bool lacks(const fs::path &file, const calotype::Target &host) {
  const std::string name = file.filename().string();
  return (name.find("avx2") != std::string::npos && !host.has_feature(calotype::Target::AVX2)) ||
         (name.find("avx512") != std::string::npos &&
          !host.has_feature(calotype::Target::AVX512_Skylake));
}

void check_app(const std::string &app) {
  const calotype::Target host = calotype::get_host_target();
  check_all_sizes(app, {}, host);
  int checked = 0;
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(CALO_SOURCE_DIR "/schedules/" + app)) {
    if (entry.path().extension() == ".sched") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files) {
    // A file for wider vectors than this machine has is still a legal schedule for it.
    const calotype::schedule::Schedule s = calotype::schedule::load_schedule(file.string());
    check_all_sizes(app, s, host);
    checked++;
    if (lacks(file, host))
      std::printf("[note] %s ran for %s\n", file.c_str(), host.to_string().c_str());
  }
  CHECK(checked >= 4);
}

}  // namespace

TEST_CASE("apps/blur: every schedule at every size has the interpreter's bits") {
  check_app("blur");
}
TEST_CASE("apps/unsharp: every schedule at every size has the interpreter's bits") {
  check_app("unsharp");
}

TEST_CASE("apps: targets without vectors or without fused multiply-add give their mode's bits") {
  for (const char *target : {"x86-64-linux", "x86-64-linux-sse41", "x86-64-linux-avx-sse41"}) {
    const calotype::Target t{std::string(target)};
    if (!calotype::why_not_runnable_here(t).empty()) continue;
    for (const char *app : {"blur", "unsharp"}) {
      const std::string file =
          std::string(CALO_SOURCE_DIR "/schedules/") + app + "/x86-64-avx2.sched";
      check_all_sizes(app, calotype::schedule::load_schedule(file), t);
    }
  }
}

TEST_CASE("apps: a schedule prints as text that loads as the same schedule") {
  for (const char *app : {"blur", "unsharp"}) {
    for (const auto &entry :
         fs::directory_iterator(std::string(CALO_SOURCE_DIR "/schedules/") + app)) {
      if (entry.path().extension() != ".sched") continue;
      const std::string once = calotype::schedule::print_schedule(
          calotype::schedule::load_schedule(entry.path().string()));
      const std::string twice = calotype::schedule::print_schedule(
          calotype::schedule::parse_schedule(once, "printed.sched"));
      CHECK(once == twice);
    }
  }
}
