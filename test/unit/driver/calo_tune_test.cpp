// calo tune as a person uses it, on a small blur.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/shell.h"
#include "support/skip.h"

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

using namespace calotype::test;

const std::string kCalo = CALO_SDK_DIR "/bin/calo";
const std::string kBlur = CALO_SOURCE_DIR "/apps/blur/algorithm.cpp";
const std::string kSmall = " input=random:1:[301,203,3] --output_extents=[301,203,3] ";

#define NEED_CALO() \
  if (!fs::exists(kCalo)) CALO_SKIP("%s is not built", kCalo.c_str())

ShellResult tune(const std::string &arguments) {
  return shell(kCalo + " tune " + kBlur + kSmall + arguments);
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("calo tune: writes a legal schedule within its budget") {
  NEED_CALO();
  const std::string file = temporary("x86-64-avx2-tuned.sched");
  tune("--budget 0");  // compiles the generator
  const auto start = std::chrono::steady_clock::now();
  const ShellResult r = tune("--budget 4s -o " + file);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CAPTURE(r.out);
  CHECK(r.code == 0);
  CHECK(seconds < 15);  // 4.3 on a machine that does nothing else
  CHECK(contains(read_file(file), "target x86-64-avx2\n"));
  CHECK(contains(read_file(file), "# Found by calo tune, seed 0"));
  CHECK(shell(kCalo + " check " + kBlur + " --schedule " + file).code == 0);
}

TEST_CASE("calo tune: without measuring the answer is the same twice") {
  NEED_CALO();
  const ShellResult first = tune("--budget 0 --seed 3"), second = tune("--budget 0 --seed 3");
  CHECK(first.code == 0);
  CHECK(first.out == second.out);
  CHECK(contains(first.out, "pipeline blur\n"));
}

TEST_CASE("calo tune: a log is resumed, and torn lines are passed over") {
  NEED_CALO();
  const std::string log = temporary("tune.log"), one = temporary("one.sched");
  std::string rows;
  for (const char *budget : {"2s", "8s", "30s"}) {  // a busy machine measures nothing in the first
    CHECK(tune(std::string("--budget ") + budget + " --log " + log + " -o " + one).code == 0);
    rows = read_file(log);
    if (contains(rows, "\"status\":\"ok\"")) break;
  }
  CHECK(contains(rows, "\"status\":\"ok\""));
  write_text_file(log, rows + rows.substr(0, rows.size() / 3));  // a copy that was cut off
  const ShellResult again = tune("--budget 1s --log " + log);
  CHECK(again.code == 0);
  CHECK(contains(again.out, " measurements from "));
}

TEST_CASE("calo tune: a seed joins the candidates") {
  NEED_CALO();
  const std::string seed = temporary("any-seed.sched"), out = temporary("any.sched");
  write_text_file(seed, "calotype 1\npipeline blur\ntarget any\noutput.vectorize(x, 16)\n");
  CHECK(tune("--budget 0 --from " + seed + " -o " + out).code == 0);
  CHECK(contains(read_file(out), "target any\n"));
  write_text_file(seed, "calotype 1\npipeline other\noutput.vectorize(x, 16)\n");
  const ShellResult wrong = tune("--budget 0 --from " + seed);
  CHECK(wrong.code == 1);
  CHECK(contains(wrong.out, "S0003"));
}

TEST_CASE("calo tune: says what it cannot do") {
  NEED_CALO();
  const ShellResult time = tune("--budget soon");
  CHECK(time.code == 1);
  CHECK(contains(time.out, "--budget soon is no time"));
  CHECK(tune("--threads 0").code == 2);
  const ShellResult log = tune("--budget 1s --log /no/such/folder/log");
  CHECK(log.code == 1);
  CHECK(contains(log.out, "R0201"));
}
