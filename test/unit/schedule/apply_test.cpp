// Whole schedules: globs, lets, several mistakes at once, heads.
#include <doctest/doctest.h>

#include "programs.h"
#include "run.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {
auto blur(const std::string &lines) { return run_schedule(blur_program(), lines); }
std::vector<Diagnostic> mistakes(const std::string &lines, bool stop_at_first = false) {
  try {
    const auto s = schedule::parse_schedule("calotype 1\n" + lines, "test.sched");
    schedule::apply(blur_program(), s, test_target(), stop_at_first);
  } catch (const CompileError &e) {
    return e.diagnostics();
  }
  return {};
}
}  // namespace

TEST_CASE("apply: the schedule of the documentation") {
  const auto s = blur(
      "let rows = 32\n"
      "output.split(y, yo, yi, rows).parallel(yo).vectorize(x, vec(u16))\n"
      "blur_x.store_at(output, yo).compute_at(output, yi).vectorize(x, vec(u16))\n");
  CHECK(loops_of(s, "output") == "yo!p, yi, x, x.v!v");
  CHECK(loops_of(s, "blur_x") == "y, x, x.v!v");
}

TEST_CASE("apply: a glob stands for all Funcs it matches") {
  const auto s = blur("*.compute_root()\nblur_*.parallel(y)\n");
  CHECK(s.of("in").compute.is_root());
  CHECK(loops_of(s, "blur_x") == "y!p, x");
  CHECK(loops_of(s, "in") == "y, x");
  CHECK_DIAG_AT(blur("down_*.compute_root()\n"), "S0101", "no Func of blur matches down_*", "2:1");
}

TEST_CASE("apply: an unknown Func is said once per chain, with its neighbours") {
  CHECK_DIAG_AT(blur("blurx.compute_root().parallel(y)\n"), "S0101", "did you mean blur_x?", "2:1");
  CHECK(mistakes("blurx.compute_root().parallel(y)\n").size() == 1);
}

TEST_CASE("apply: independent mistakes are collected in the order of the file") {
  const auto all = mistakes("output.split(z, zo, zi, 8)\nblur_x.compute_root().vectorize(x, 0)\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0].code == "S0103");
  CHECK(all[1].code == "S0110");
}

TEST_CASE("apply: what follows from a mistake is not reported") {
  const auto all =
      mistakes("output.split(z, zo, zi, 8).vectorize(zi)\nblur_x.compute_at(output, zo)\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].code == "S0103");
}

TEST_CASE("apply: a let over an unknown name is refused where it stands") {
  CHECK_DIAG_AT(blur("let a = b + 1\nblur_x.compute_root()\n"), "S0103", "no number is called b",
                "2:9");
}

TEST_CASE("apply: outermost of a Func is where that Func is computed") {
  auto s = blur("blur_x.compute_at(output, __outermost)\n");
  CHECK(s.of("blur_x").compute.is_root());
  s = blur("in.compute_at(blur_x, __outermost)\nblur_x.compute_at(output, y)\n");
  CHECK(s.of("in").compute.func == "output");
  CHECK(s.of("in").compute.var == "y");
  CHECK_DIAG(blur("in.compute_at(blur_x, __outermost)\n"), "S0104", "blur_x");
}

TEST_CASE("apply: stops at the first mistake when told so, and at twenty always") {
  std::string lines;
  for (int i = 0; i < 50; i++) lines += "output.parallel(z" + std::to_string(i) + ")\n";
  CHECK(mistakes(lines, true).size() == 1);
  CHECK(mistakes(lines).size() == 20);
}

TEST_CASE("apply: a schedule for another pipeline is refused") {
  CHECK_DIAG(blur("pipeline sharpen\n"), "S0003", "for pipeline sharpen, not blur");
}

TEST_CASE("apply: an unknown number is named once") {
  const auto all = mistakes("output.split(x, xo, xi, row)\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].code == "S0103");
  CHECK(all[0].what == "no number is called row");
  CHECK(mistakes("let a = b\noutput.split(x, xo, xi, a).split(y, yo, yi, a)\n").size() == 1);
}

TEST_CASE("apply: let names are resolved in order and may not grow without bound") {
  std::string lines = "let a0 = 1\n";
  for (int i = 1; i < 200; i++) {
    const std::string a = "a" + std::to_string(i - 1);
    lines += "let a" + std::to_string(i) + " = " + a + " + " + a + " - " + a + "\n";
  }
  CHECK(ir::is_const_value(blur(lines + "output.split(x, xo, xi, a199 * 4)\n")
                               .of("output")
                               .stages[0]
                               .relations[0]
                               .factor,
                           4));
}

TEST_CASE("resolve: fills names of C++ calls by id and drops those of other programs") {
  schedule::Schedule s;
  schedule::Directive d;
  d.kind = schedule::DirectiveKind::compute_at;
  d.func_id = 2;  // blur_x
  d.args = {schedule::Arg::level(3, "", -1, "y")};
  s.directives.push_back(d);
  d.func_id = 99;
  s.directives.push_back(d);
  const auto r = schedule::resolve(blur_program(), s);
  REQUIRE(r.directives.size() == 1);
  CHECK(r.directives[0].func == "blur_x");
  CHECK(r.directives[0].args[0].func == "output");
  CHECK(schedule::apply(blur_program(), s, test_target()).of("blur_x").compute.var == "y");
}

TEST_CASE("resolve: unnamed Vars get canonical names") {
  auto p = blur_program();
  p.renamed[ir::Name("$v7")] = "x";
  schedule::Schedule s;
  schedule::Directive d;
  d.kind = schedule::DirectiveKind::split;
  d.func = "output";
  d.args = {schedule::Arg::name("$v7"), schedule::Arg::name("$v8"), schedule::Arg::name("v0"),
            schedule::Arg::value(8)};
  s.directives.push_back(d);
  d.args = {schedule::Arg::name("$v8"), schedule::Arg::name("$v9"), schedule::Arg::name("$v8"),
            schedule::Arg::value(4)};
  s.directives.push_back(d);
  CHECK(loops_of(schedule::apply(p, s, test_target()).state, "output") == "y, v2, v1, v0");
}
