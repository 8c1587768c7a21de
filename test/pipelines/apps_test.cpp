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
#include "../../apps/conv_layer/algorithm.cpp"
#include "../../apps/gemm/algorithm.cpp"
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

std::string name_of(const Size &s) {
  std::string text;
  for (size_t d = 0; d < s.extents.size(); d++) {
    text += (d ? " x " : "") + std::to_string(s.extents[d]) + " from " + std::to_string(s.mins[d]);
  }
  return text + ", padding " + std::to_string(s.padding);
}

/// The buffers of one run.
struct Run {
  std::vector<std::pair<std::string, Size>> inputs;
  Size output;
};

/// [width, height, channels] of colour pictures, or their first two dimensions.
std::vector<Run> pictures(bool any_channels, bool colour_input, bool colour_output) {
  std::vector<Size> all = {
      {{0, 0, 0}, {1, 1, 3}, 0},      {{0, 0, 0}, {7, 1, 3}, 0},    {{0, 0, 0}, {1, 9, 3}, 5},
      {{0, 0, 0}, {33, 17, 3}, 0},    {{-5, 3, 0}, {70, 37, 3}, 3}, {{11, -40, 0}, {64, 32, 3}, 0},
      {{-1, -1, 0}, {131, 67, 3}, 1},
  };
  if (any_channels) {  // not three, from 0 on
    all.push_back({{0, 0, 2}, {34, 9, 1}, 0});
    all.push_back({{3, 3, -1}, {17, 8, 5}, 2});
  }
  const auto part = [](Size s, bool colour) {
    s.mins.resize(colour ? 3 : 2);
    s.extents.resize(colour ? 3 : 2);
    return s;
  };
  std::vector<Run> runs;
  for (const Size &s : all)
    runs.push_back({{{"input", part(s, colour_input)}}, part(s, colour_output)});
  return runs;
}

/// Products of matrices with so many columns, rows and terms.
std::vector<Run> products() {
  std::vector<Run> runs;
  const auto add = [&](int columns, int rows, int terms, int x, int y, int k, int padding) {
    runs.push_back(
        {{{"a", {{k, y}, {terms, rows}, padding}}, {"b", {{x, k}, {columns, terms}, padding}}},
         {{x, y}, {columns, rows}, padding}});
  };
  for (int columns : {1, 7, 33, 100}) {
    for (int rows : {1, 7, 33}) add(columns, rows, 33, 0, 0, 0, 0);
  }
  add(16, 6, 1, 0, 0, 0, 0);
  add(5, 4, 0, 0, 0, 0, 0);  // no terms
  add(33, 7, 100, -5, 3, 2, 3);
  add(100, 100, 7, 0, 0, 0, 1);
  add(130, 100, 300, 1, -1, 0, 0);  // several blocks of each
  return runs;
}

/// Layers of so many channels in and out, [channels, x, y, n].
std::vector<Run> layers() {
  std::vector<Run> runs;
  const auto add = [&](int in, int out, int width, int height, int n) {
    runs.push_back({{{"input", {{0, 0, 0, 0}, {in, width + 2, height + 2, n}, 0}},
                     {"filter", {{0, 0, 0, 0}, {out, 3, 3, in}, 0}},
                     {"bias", {{0}, {out}, 0}}},
                    {{0, 0, 0, 0}, {out, width, height, n}, 0}});
  };
  add(1, 1, 1, 1, 1);
  add(3, 16, 7, 5, 1);
  add(5, 33, 13, 3, 2);
  add(16, 40, 20, 2, 1);
  add(7, 64, 6, 4, 3);
  return runs;
}

/// An app, the sizes it runs at, and what else a run needs.
struct App {
  std::string name;
  std::vector<Run> runs;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::unordered_map<std::string, float> floats;
  std::unordered_map<std::string, int32_t> ints;
};

const std::vector<App> &apps() {
  static const std::vector<App> all = {
      {"blur", pictures(true, true, true), {}, {}, {}},
      {"unsharp", pictures(false, true, true), {}, {}, {}},
      {"histogram", pictures(false, true, true), {}, {}, {}},
      {"harris", pictures(false, true, false), {}, {}, {}},
      {"iir_blur", pictures(true, true, true), {}, {{"alpha", 0.3f}}, {}},
      {"bilateral_grid", pictures(false, false, false), {}, {{"r_sigma", 0.125f}}, {}},
      // Few levels: each doubles the picture's surroundings that the interpreter computes.
      {"local_laplacian",
       pictures(false, true, true),
       {{"pyramid_levels", "3"}},
       {{"alpha", 0.75f}, {"beta", 0.5f}},
       {{"levels", 5}}},
      {"softmax", pictures(false, false, false), {}, {}, {}},
      {"gemm", products(), {}, {}, {}},
      {"gemm", products(), {{"type", "bf16"}}, {}, {}},
      {"gemm", products(), {{"type", "s8"}}, {}, {}},
      {"conv_layer", layers(), {}, {}, {}},
  };
  return all;
}

const App &app_named(const std::string &name) {
  for (const App &a : apps()) {
    if (a.name == name) return a;
  }
  throw std::runtime_error("no app " + name);
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

/// Empty, or how the compiled pipeline differs from the interpreter in this run.
std::string difference(const App &app, const ir::Program &p,
                       const calotype::driver::Compiled &compiled, const Run &run,
                       const calotype::Target &t) {
  const auto buffer = [](calotype::Type type, const Size &s) {
    return CaseBuffer(type, s.mins, s.extents, {s.padding});
  };
  const calotype::Type type = p.find(p.outputs[0])->types[0];
  CaseBuffer output = buffer(type, run.output), expected = buffer(type, run.output);
  std::unordered_map<std::string, CaseBuffer> inputs;
  std::unordered_map<std::string, halide_buffer_t *> raw;
  for (const auto &[name, size] : run.inputs) {
    for (const ir::ParameterRef &param : p.params) {
      if (param->name != name) continue;
      CaseBuffer &input = inputs.emplace(name, buffer(param->type, size)).first->second;
      input.fill(7 + raw.size(), true);
      raw[name] = input.raw();
    }
  }
  const std::unordered_map<std::string, uint64_t> scalars = scalars_of(app);
  ir::InterpretOptions options;
  options.fma = t.fuses_multiply_add();
  ir::interpret(p, {expected.raw()}, raw, scalars, options);
  std::vector<const void *> arguments;
  for (const auto &argument : compiled.function().args) {
    using Kind = calotype::lower::LoweredArgument::Kind;
    if (argument.kind == Kind::InputScalar) {
      arguments.push_back(&scalars.at(argument.name));
    } else {
      const bool is_input = argument.kind == Kind::InputBuffer;
      arguments.push_back(is_input ? raw.at(argument.name) : output.raw());
    }
  }
  try {
    compiled.run(arguments);
  } catch (const calotype::Error &e) {
    return e.what();
  }
  bool intact = output.guards_intact();
  for (const auto &[name, input] : inputs) intact &= input.guards_intact();
  if (!intact) return "written outside of a buffer";
  return output.first_difference(expected);
}

void check_all_sizes(const App &app, const calotype::schedule::Schedule &schedule,
                     const calotype::Target &t) {
  const ir::Program p = program_of(app, t);
  const calotype::driver::Compiled compiled(p, schedule, t);
  for (const Run &run : app.runs) {
    const std::string what = difference(app, p, compiled, run, t);
    CHECK_MESSAGE(what.empty(),
                  app.name << " " << schedule.origin << " " << name_of(run.output) << ": " << what);
  }
}

bool lacks(const fs::path &file, const calotype::Target &host) {
  const std::string name = file.filename().string();
  return (name.find("avx2") != std::string::npos && !host.has_feature(calotype::Target::AVX2)) ||
         (name.find("avx512") != std::string::npos &&
          !host.has_feature(calotype::Target::AVX512_Skylake));
}

/// All schedule files of an app, whatever parameters they are made for.
std::vector<fs::path> schedule_files(const std::string &app) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(CALO_SOURCE_DIR "/schedules/" + app)) {
    if (entry.path().extension() == ".sched") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Is a file made for other parameters (TARGET@key=value)?
bool is_for_others(const fs::path &file, const App &app) {
  const std::string name = file.filename().string();
  const size_t at = name.find('@');
  if (at == std::string::npos) return false;
  for (const auto &[key, value] : app.parameters) {
    if (name.compare(at + 1, key.size() + value.size() + 1, key + "=" + value) == 0) return false;
  }
  return true;
}

void check_app(const App &app) {
  const calotype::Target host = calotype::get_host_target();
  int checked = 0;
  for (const fs::path &file : schedule_files(app.name)) {
    if (is_for_others(file, app)) continue;
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
  check_app(app_named("blur"));
}
TEST_CASE("apps/unsharp: every schedule at every size has the interpreter's bits") {
  check_app(app_named("unsharp"));
}
TEST_CASE("apps/histogram: every schedule at every size has the interpreter's bits") {
  check_app(app_named("histogram"));
}
TEST_CASE("apps/harris: every schedule at every size has the interpreter's bits") {
  check_app(app_named("harris"));
}
TEST_CASE("apps/iir_blur: every schedule at every size has the interpreter's bits") {
  check_app(app_named("iir_blur"));
}
TEST_CASE("apps/bilateral_grid: every schedule at every size has the interpreter's bits") {
  check_app(app_named("bilateral_grid"));
}
TEST_CASE("apps/local_laplacian: every schedule at every size has the interpreter's bits") {
  check_app(app_named("local_laplacian"));
}
TEST_CASE("apps/softmax: every schedule at every size has the interpreter's bits") {
  check_app(app_named("softmax"));
}

TEST_CASE("apps/gemm: every schedule at every size, with every type, has the interpreter's bits") {
  for (const App &app : apps()) {
    if (app.name == "gemm") check_app(app);
  }
}
TEST_CASE("apps/conv_layer: every schedule at every size has the interpreter's bits") {
  check_app(app_named("conv_layer"));
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
      for (const fs::path &file : schedule_files(app.name)) {
        if (file.filename().string().rfind("x86-64-avx2", 0) != 0 || is_for_others(file, app))
          continue;
        check_all_sizes(app, calotype::schedule::load_schedule(file.string()), t);
      }
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
