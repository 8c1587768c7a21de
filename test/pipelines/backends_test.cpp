// Objects and C source against the reference interpreter: random programs under random schedules, and the apps.
#include <doctest/doctest.h>

#include "driver/generator.h"
#include "driver/program.h"
#include "schedule/text.h"
#include "support/random_program.h"
#include "support/random_schedule.h"
#include "support/run_case.h"
#include "support/shell.h"
#include "support/skip.h"

using namespace calotype;
using test::CaseBackend;
using test::CaseResult;

namespace {

void check_case(uint64_t seed, CaseBackend backend, int *same) {
  const Target t = get_host_target();
  test::ProgramShape shape;
  shape.fma = t.fuses_multiply_add();
  const ir::Program p = test::random_program(seed, shape);
  test::ScheduleShape how;
  how.mins = {0, -3, 2, 0};
  how.extents = {37, 9, 3, 2};
  const std::string text = test::random_schedule(p, seed, how).text;
  CAPTURE(seed);
  CAPTURE(text);
  const schedule::Schedule s = schedule::parse_schedule(text, "case.sched");
  const test::CaseSize size{how.mins, how.extents, 0};
  // What the JIT refuses or cannot run at this size is judged by the fuzzer.
  if (test::CompiledCase(p, s, t).run(size, seed, true).kind != CaseResult::Same) return;
  const test::CompiledCase c(p, s, t, backend);
  if (c.compiled().code == "T0103" && backend != CaseBackend::Object)
    return;  // 16-bit floats, require
  REQUIRE_MESSAGE(c.compiled().kind == CaseResult::Same, c.compiled().text);
  const CaseResult r = c.run(size, seed, true);
  CHECK_MESSAGE(r.kind == CaseResult::Same, r.text);
  *same += r.kind == CaseResult::Same;
}

void check_seeds(CaseBackend backend, uint64_t first, uint64_t count) {
  int same = 0;
  for (uint64_t seed = first; seed < first + count; seed++) check_case(seed, backend, &same);
  CHECK(same > static_cast<int>(count) / 4);  // enough programs ran
}

void check_app(const std::string &app, const std::string &schedule, CaseBackend backend) {
  const Target t = get_host_target();
  const auto generator = driver::create_generator(app, GeneratorContext(t));
  const ir::Program p = driver::program_of(generator->build_pipeline(), t);
  const std::string path = CALO_SOURCE_DIR "/schedules/" + app + "/" + schedule + ".sched";
  const test::CompiledCase c(p, schedule::load_schedule(path), t, backend);
  REQUIRE_MESSAGE(c.compiled().kind == CaseResult::Same, c.compiled().text);
  for (const auto &extents : std::vector<std::vector<int>>{{1, 1, 3}, {67, 35, 3}, {130, 64, 3}}) {
    const CaseResult r = c.run({{0, 0, 0}, extents, 1}, 5);
    CHECK_MESSAGE(r.kind == CaseResult::Same, app << " " << schedule << ": " << r.text);
  }
}

void check_apps(CaseBackend backend) {
  for (const char *app : {"blur", "unsharp"}) {
    check_app(app, "any-tiled", backend);
    if (get_host_target().has_feature(Target::AVX2)) check_app(app, "x86-64-avx2", backend);
  }
}

bool has_clang() { return test::shell("clang-22 --version").code == 0; }

}  // namespace

TEST_CASE("backends: objects have the interpreter's bits") {
  check_apps(CaseBackend::Object);
  check_seeds(CaseBackend::Object, 1, 12);
}

TEST_CASE("backends: C source under gcc has the interpreter's bits") {
  check_apps(CaseBackend::CGcc);
  check_seeds(CaseBackend::CGcc, 101, 12);
}

TEST_CASE("backends: C source under clang has the interpreter's bits") {
  if (!has_clang()) CALO_SKIP("clang-22 is not installed");
  check_apps(CaseBackend::CClang);
  check_seeds(CaseBackend::CClang, 201, 12);
}

TEST_SUITE("slow") {
  TEST_CASE("backends: many random programs as objects and C") {
    check_seeds(CaseBackend::Object, 1000, 150);
    check_seeds(CaseBackend::CGcc, 2000, 150);
    if (has_clang()) check_seeds(CaseBackend::CClang, 3000, 150);
  }
}
