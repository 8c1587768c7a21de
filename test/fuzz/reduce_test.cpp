// Failures injected on purpose: what calo reduce leaves is what they need, and no more.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "driver/reduce.h"
#include "support/check_diag.h"
#include "support/shell.h"
#include "support/skip.h"

using namespace calotype;
using namespace calotype::test;
using driver::FailingCase;

namespace {

const char *const kCase = R"(# a remark
program p {
  param in0: u8[2]
  func f0(x, y): u8 {
    f0(x, y) = @in0(x, y) + 1:u8
  }
  func f1(x, y): u8 {
    f1(x, y) = f0(x, y) + f0(x + 1, y)*3:u8
    f1(x, y) = f1(x, y) + 2:u8 for r.x in 0 +: 3
  }
  func f2(x, y): u8 {
    f2(x, y) = f1(x, y - 1) + f1(x, y + 1)
  }
  output f2
}
--- schedule
calotype 1
f2.tile(x, y, xo, yo, xi, yi, 8, 4)
f2.parallel(yo)
f1.compute_at(f2, xo)
f1.update(0).reorder(y, x)
f0.compute_root()
f0.vectorize(x, 8)
f0.parallel(y)
--- run padding=3 seed=7 0+100 -5+33
--- run seed=8 special=1 3+17 0+1
)";

bool has(const std::string &s, const char *part) { return s.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("reduce: a case as text comes back as it was") {
  const FailingCase c = driver::parse_case(kCase);
  CHECK(c.runs.size() == 2);
  CHECK(c.runs[0].mins == std::vector<int>{0, -5});
  CHECK(c.runs[0].settings.at("padding") == 3);
  CHECK(driver::to_text(c, "a remark") == kCase);
  CHECK_DIAG(driver::parse_case("--- run seed=x"), "S0150", "seed=x");
  CHECK_DIAG(driver::parse_case("--- run 1+"), "S0150", "1+");
}

TEST_CASE("reduce: keeps what an injected failure needs and drops the rest") {
  // Seen where f0 runs in parallel, is read at an offset and the second dimension is larger than 4.
  const auto fails = [](const FailingCase &c) {
    bool large = false;
    for (const auto &r : c.runs) large |= r.extents[1] > 4;
    return large && has(c.schedule, "f0.parallel(y)") && has(c.program, "f0(x + 1, y)");
  };
  const FailingCase small = driver::reduce(driver::parse_case(kCase), fails, 20);
  CHECK(fails(small));
  CHECK(small.schedule == "calotype 1\nf0.parallel(y)\n");
  REQUIRE(small.runs.size() == 1);
  CHECK(small.runs[0].extents == std::vector<int>{0, 5});
  CHECK(small.runs[0].mins == std::vector<int>{0, 0});
  CHECK(small.runs[0].settings.count("padding") == 0);
  CHECK_FALSE(has(small.program, "for r.x"));  // the update is not needed
  CHECK_FALSE(has(small.program, "*3"));
  CHECK_FALSE(has(small.program, "@in0"));
}

TEST_CASE("reduce: sizes in arguments shrink where a generator gives the program") {
  FailingCase c;
  c.schedule = "calotype 1\na.compute_root()\nb.compute_root()\n";
  c.arguments = {"input=random:0:[640,480,3]", "radius=12"};
  const auto fails = [](const FailingCase &f) {
    return has(f.schedule, "b.compute_root()") && !has(f.arguments[0], ",1,") &&
           !has(f.arguments[0], ",0,");
  };
  c = driver::reduce(c, fails, 10);
  CHECK(c.schedule == "calotype 1\nb.compute_root()\n");
  CHECK(c.arguments[0] == "input=random:0:[0,2,0]");
  CHECK(c.arguments[1] == "radius=12");
}

TEST_CASE("calo reduce: a case file under a command that fails") {
  const std::string calo = CALO_SDK_DIR "/bin/calo";
  if (shell("test -x " + calo).code != 0) CALO_SKIP("calo is not built");
  const std::string file = temporary("seen.ir"), out = temporary("small.ir");
  write_text_file(file, kCase);
  // Status 3 is the failure; anything else is another one.
  const std::string checker =
      "'grep -q vectorize {} || exit 4; grep -q \"f1.compute_at\" {} && exit 3; exit 0'";
  const ShellResult r =
      shell(calo + " reduce " + file + " --json --seconds 30 -o " + out + " --command " + checker);
  CAPTURE(r.out);
  REQUIRE(r.code == 0);
  const auto json = nlohmann::json::parse(r.out, nullptr, false);
  CHECK(json["status"] == 3);
  CHECK(json["schedule_lines"] == std::vector<int>{8, 3});
  const FailingCase small = driver::parse_case(read_file(out));
  CHECK(small.schedule == "calotype 1\nf1.compute_at(f2, xo)\nf0.vectorize(x, 8)\n");
  CHECK(shell(calo + " reduce " + file + " --command true").out.find("error[S0150]") !=
        std::string::npos);
  CHECK(shell(calo + " reduce " + file).out.find("--command") != std::string::npos);
}

TEST_CASE("calo reduce: a generator under a schedule and a command of one's own") {
  const std::string calo = CALO_SDK_DIR "/bin/calo";
  if (shell("test -x " + calo).code != 0) CALO_SKIP("calo is not built");
  const std::string schedule = temporary("seen.sched"), out = temporary("small_blur.ir");
  write_text_file(schedule,
                  "calotype 1\noutput.tile(x, y, xo, yo, xi, yi, 64, 32)\n"
                  "output.parallel(yo)\noutput.vectorize(xi)\nblur_x.compute_at(output, xo)\n"
                  "blur_x.vectorize(x, 8)\n");
  // The failure: a legal schedule that computes blur_x in vectors.
  const ShellResult r =
      shell("CALO_CACHE=off " + calo + " reduce " CALO_SOURCE_DIR "/apps/blur/algorithm.cpp " +
            "--schedule " + schedule + " 'input=random:0:[64,48,3]' --seconds 60 -o " + out +
            " --command 'grep -q \"blur_x.vectorize\" {schedule} && grep -q compute_at {schedule} "
            "&& test -n {arguments} && exit 1 || exit 0'");
  CAPTURE(r.out);
  REQUIRE(r.code == 0);
  const FailingCase small = driver::parse_case(read_file(out));
  CHECK(small.schedule == "calotype 1\nblur_x.compute_at(output, xo)\nblur_x.vectorize(x, 8)\n");
  REQUIRE(small.arguments.size() == 1);
  CHECK(small.arguments[0] == "input=random:0:[0,0,0]");
}
