// Each app under each of its schedule files and without one, at odd, tiny and shifted sizes, bit for bit
// against the reference interpreter. The apps' own sources are compiled into this binary.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unordered_map>

#include "../../apps/bilateral_grid/algorithm.cpp"
#include "../../apps/blur/algorithm.cpp"
#include "../../apps/harris/algorithm.cpp"
#include "../../apps/histogram/algorithm.cpp"
#include "../../apps/iir_blur/algorithm.cpp"
#include "../../apps/local_laplacian/algorithm.cpp"
#include "../../apps/softmax/algorithm.cpp"
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

/// An app, the shape of its output, and what else a run needs.
struct App {
  std::string name;
  bool any_channels = false;  // not three, from 0 on
  bool colour_input = true;   // three dimensions
  bool colour_output = true;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::unordered_map<std::string, float> floats;
  std::unordered_map<std::string, int32_t> ints;
};

const std::vector<App> &apps() {
  static const std::vector<App> all = {
      {"blur", true, true, true, {}, {}, {}},
      {"unsharp", false, true, true, {}, {}, {}},
      {"histogram", false, true, true, {}, {}, {}},
      {"harris", false, true, false, {}, {}, {}},
      {"iir_blur", true, true, true, {}, {{"alpha", 0.3f}}, {}},
      {"bilateral_grid", false, false, false, {}, {{"r_sigma", 0.125f}}, {}},
      // Few levels: each doubles the picture's surroundings that the interpreter computes.
      {"local_laplacian",
       false,
       true,
       true,
       {{"pyramid_levels", "3"}},
       {{"alpha", 0.75f}, {"beta", 0.5f}},
       {{"levels", 5}}},
      {"softmax", false, false, false, {}, {}, {}},
  };
  return all;
}

const App &app_named(const std::string &name) {
  for (const App &a : apps()) {
    if (a.name == name) return a;
  }
  throw std::runtime_error("no app " + name);
}

/// [width, height, channels] of a colour picture.
std::vector<Size> sizes(const App &app) {
  std::vector<Size> all = {
      {{0, 0, 0}, {1, 1, 3}, 0},      {{0, 0, 0}, {7, 1, 3}, 0},    {{0, 0, 0}, {1, 9, 3}, 5},
      {{0, 0, 0}, {33, 17, 3}, 0},    {{-5, 3, 0}, {70, 37, 3}, 3}, {{11, -40, 0}, {64, 32, 3}, 0},
      {{-1, -1, 0}, {131, 67, 3}, 1},
  };
  if (app.any_channels) {
    all.push_back({{0, 0, 2}, {34, 9, 1}, 0});
    all.push_back({{3, 3, -1}, {17, 8, 5}, 2});
  }
  return all;
}

/// The first two dimensions, or all three.
std::vector<int> part(const std::vector<int> &of, bool colour) {
  return std::vector<int>(of.begin(), of.begin() + (colour ? 3 : 2));
}

std::string name_of(const Size &s) {
  std::string text;
  for (size_t d = 0; d < s.extents.size(); d++) {
    text += (d ? " x " : "") + std::to_string(s.extents[d]) + " from " + std::to_string(s.mins[d]);
  }
  return text + ", padding " + std::to_string(s.padding);
}

ir::Program program_of(const App &app, const calotype::Target &t) {
  const auto generator =
      calotype::driver::create_generator(app.name, calotype::GeneratorContext(t));
  for (const auto &[name, value] : app.parameters) generator->set_generator_param(name, value);
  return calotype::driver::program_of(generator->build_pipeline(), t);
}

template <typename T> uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::unordered_map<std::string, uint64_t> scalars_of(const App &app) {
  std::unordered_map<std::string, uint64_t> all;
  for (const auto &[name, value] : app.floats) all[name] = bits_of(value);
  for (const auto &[name, value] : app.ints) all[name] = bits_of(value);
  return all;
}

/// Empty, or how the compiled pipeline differs from the interpreter at this size.
std::string difference(const App &app, const ir::Program &p,
                       const calotype::driver::Compiled &compiled, const Size &s,
                       const calotype::Target &t) {
  const calotype::Type type = p.find(p.outputs[0])->types[0];
  const std::vector<int> padding(1, s.padding);
  const auto buffer = [&](bool colour) {
    return CaseBuffer(type, part(s.mins, colour), part(s.extents, colour), padding);
  };
  CaseBuffer input = buffer(app.colour_input), output = buffer(app.colour_output),
             expected = buffer(app.colour_output);
  input.fill(7, true);
  const std::unordered_map<std::string, uint64_t> scalars = scalars_of(app);
  ir::InterpretOptions options;
  options.fma = t.fuses_multiply_add();
  ir::interpret(p, {expected.raw()}, {{"input", input.raw()}}, scalars, options);
  std::vector<const void *> arguments;
  for (const auto &argument : compiled.function().args) {
    using Kind = calotype::lower::LoweredArgument::Kind;
    if (argument.kind == Kind::InputScalar) {
      arguments.push_back(&scalars.at(argument.name));
    } else {
      arguments.push_back(argument.kind == Kind::InputBuffer ? input.raw() : output.raw());
    }
  }
  try {
    compiled.run(arguments);
  } catch (const calotype::Error &e) {
    return e.what();
  }
  if (!output.guards_intact() || !input.guards_intact()) return "written outside of a buffer";
  return output.first_difference(expected);
}

void check_all_sizes(const App &app, const calotype::schedule::Schedule &schedule,
                     const calotype::Target &t) {
  const ir::Program p = program_of(app, t);
  const calotype::driver::Compiled compiled(p, schedule, t);
  for (const Size &s : sizes(app)) {
    const std::string what = difference(app, p, compiled, s, t);
    CHECK_MESSAGE(what.empty(),
                  app.name << " " << schedule.origin << " " << name_of(s) << ": " << what);
  }
}

bool lacks(const fs::path &file, const calotype::Target &host) {
  const std::string name = file.filename().string();
  return (name.find("avx2") != std::string::npos && !host.has_feature(calotype::Target::AVX2)) ||
         (name.find("avx512") != std::string::npos &&
          !host.has_feature(calotype::Target::AVX512_Skylake));
}

std::vector<fs::path> schedule_files(const std::string &app) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(CALO_SOURCE_DIR "/schedules/" + app)) {
    if (entry.path().extension() == ".sched") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void check_app(const std::string &name) {
  const App &app = app_named(name);
  const calotype::Target host = calotype::get_host_target();
  int checked = 0;
  for (const fs::path &file : schedule_files(name)) {
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
TEST_CASE("apps/histogram: every schedule at every size has the interpreter's bits") {
  check_app("histogram");
}
TEST_CASE("apps/harris: every schedule at every size has the interpreter's bits") {
  check_app("harris");
}
TEST_CASE("apps/iir_blur: every schedule at every size has the interpreter's bits") {
  check_app("iir_blur");
}
TEST_CASE("apps/bilateral_grid: every schedule at every size has the interpreter's bits") {
  check_app("bilateral_grid");
}
TEST_CASE("apps/local_laplacian: every schedule at every size has the interpreter's bits") {
  check_app("local_laplacian");
}
TEST_CASE("apps/softmax: every schedule at every size has the interpreter's bits") {
  check_app("softmax");
}

TEST_CASE("apps: without a schedule, where none is needed, the same bits") {
  for (const char *name : {"blur", "unsharp", "harris"}) {
    check_all_sizes(app_named(name), {}, calotype::get_host_target());
  }
}

TEST_CASE("apps: targets without vectors or without fused multiply-add give their mode's bits") {
  for (const char *target : {"x86-64-linux", "x86-64-linux-sse41", "x86-64-linux-avx-sse41"}) {
    const calotype::Target t{std::string(target)};
    if (!calotype::why_not_runnable_here(t).empty()) continue;
    for (const App &app : apps()) {
      const std::string file = CALO_SOURCE_DIR "/schedules/" + app.name + "/x86-64-avx2.sched";
      check_all_sizes(app, calotype::schedule::load_schedule(file), t);
    }
  }
}

TEST_CASE("apps: a schedule prints as text that loads as the same schedule") {
  for (const App &app : apps()) {
    for (const fs::path &file : schedule_files(app.name)) {
      const std::string once =
          calotype::schedule::print_schedule(calotype::schedule::load_schedule(file.string()));
      const std::string twice = calotype::schedule::print_schedule(
          calotype::schedule::parse_schedule(once, "printed.sched"));
      CHECK(once == twice);
    }
  }
}
