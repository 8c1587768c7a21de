// The choice of a schedule file from a folder.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "schedule/text.h"
#include "support/check_diag.h"

using namespace calotype;
using schedule::choose_schedule_file;

namespace {
// A folder that vanishes with the test.
class Folder {
public:
  Folder() {
    char name[] = "/tmp/calotype_choose_XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() {
    for (const std::string &f : files_) unlink((path + "/" + f).c_str());
    rmdir(path.c_str());
  }
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  Folder &add(const std::string &file, const std::string &head = {}) {
    std::ofstream(path + "/" + file) << "calotype 1\n" << head;
    files_.push_back(file);
    return *this;
  }
  std::string choose(
      const std::string &target, const std::string &variant = {},
      const std::vector<std::pair<std::string, std::string>> &parameters = {}) const {
    return choose_schedule_file(path, Target(target), variant, parameters).substr(path.size() + 1);
  }
  std::string path;

private:
  std::vector<std::string> files_;
};
const char *const kPlain = "x86-64-linux";
const char *const kAvx2 = "x86-64-linux-sse41-avx-f16c-fma-avx2";
const char *const kAvx512 = "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake";
}  // namespace

TEST_CASE("choose: the most demanding file that fits wins") {
  Folder f;
  f.add("any.sched").add("x86-64-avx2.sched").add("x86-64-avx512.sched").add("readme.txt");
  CHECK(f.choose(kPlain) == "any.sched");
  CHECK(f.choose(kAvx2) == "x86-64-avx2.sched");
  CHECK(f.choose(kAvx512) == "x86-64-avx512.sched");
}

TEST_CASE("choose: variants must be named") {
  Folder f;
  f.add("any.sched").add("x86-64-avx2-rows.sched").add("any-rows.sched");
  CHECK(f.choose(kAvx2) == "any.sched");
  CHECK(f.choose(kAvx2, "rows") == "x86-64-avx2-rows.sched");
  CHECK(f.choose(kPlain, "rows") == "any-rows.sched");
}

TEST_CASE("choose: a device file beats CPU files where the target names the device") {
  Folder f;
  f.add("x86-64-avx512.sched").add("cuda.sched").add("cuda-80.sched");
  CHECK(f.choose(kAvx512) == "x86-64-avx512.sched");
  CHECK(f.choose("x86-64-linux-cuda-cuda_capability_70") == "cuda.sched");
  CHECK(f.choose("x86-64-linux-cuda-cuda_capability_86") == "cuda-80.sched");
}

TEST_CASE("choose: conditions restrict and then win") {
  Folder f;
  f.add("any.sched")
      .add("any@type=bf16.sched", "when type == bf16\n")
      .add("any-slow.sched", "when type == f32\n");
  CHECK(f.choose(kPlain, "", {{"type", "i8"}}) == "any.sched");
  CHECK(f.choose(kPlain, "", {{"type", "bf16"}}) == "any@type=bf16.sched");
  CHECK_DIAG(f.choose(kPlain, "slow", {{"type", "i8"}}), "S0004", "it is for type == f32");
}

TEST_CASE("choose: a condition over no parameter of the generator is refused") {
  Folder lines, name;
  lines.add("any.sched", "when tpye == bf16\n");
  const std::vector<std::pair<std::string, std::string>> parameters{{"type", "bf16"}, {"k", "3"}};
  CHECK_DIAG_AT(lines.choose(kPlain, "", parameters), "S0003", "did you mean type?", "2:6");
  CHECK_DIAG(lines.choose(kPlain, "", parameters), "S0003", "its parameters: type, k");
  CHECK_DIAG(lines.choose(kPlain), "S0003", "the generator has no parameters");
  name.add("any@tpye=bf16.sched");
  CHECK_DIAG(name.choose(kPlain, "", parameters), "S0003", "a generator parameter tpye");
}

TEST_CASE("choose: a single file's conditions hold too") {
  Folder f;
  f.add("any.sched", "when type == bf16\n");
  const schedule::Schedule s = schedule::load_schedule(f.path + "/any.sched");
  schedule::check_conditions(s, {{"type", "bf16"}});
  CHECK_DIAG_AT(schedule::check_conditions(s, {{"type", "i8"}}), "S0003", "here type is i8", "2:6");
  CHECK_DIAG(schedule::check_conditions(s, {{"tape", "i8"}}), "S0003", "did you mean tape?");
}

TEST_CASE("choose: says what is there and why it does not fit") {
  Folder f;
  f.add("x86-64-avx512.sched").add("blur.sched");
  CHECK_DIAG(f.choose(kPlain), "S0004", "x86-64-avx512.sched: the target has not all features");
  CHECK_DIAG(f.choose(kPlain), "S0004", "blur.sched: its name starts with no known target");
  CHECK_DIAG(choose_schedule_file("/nonexistent", Target(kPlain)), "S0005", "cannot be read");
}

TEST_CASE("choose: the target line must equal the name's") {
  Folder f;
  f.add("any.sched", "target x86-64-avx2\n");
  CHECK_DIAG(f.choose(kPlain), "S0003", "does not fit the file's name");
}
