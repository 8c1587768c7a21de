// `-e registration` and RunGenMain.cpp: an ahead-of-time library becomes a program that runs on files, as someone with
// the SDK alone builds it. It must give what `calo run` gives, byte for byte.
#include <doctest/doctest.h>

#include <filesystem>

#include "calotype.h"
#include "driver/artifacts.h"
#include "support/shell.h"
#include "support/skip.h"

using calotype::test::shell;
using calotype::test::ShellResult;
using calotype::test::temporary;
namespace fs = std::filesystem;

namespace {

const std::string kSdk = CALO_SDK_DIR, kApp = CALO_SOURCE_DIR "/apps/blur/algorithm.cpp",
                  kSchedules = " --schedule " CALO_SOURCE_DIR "/schedules/blur ",
                  kPhoto = CALO_SOURCE_DIR "/apps/support/images/chelsea.png";

ShellResult link(const std::string &files, const std::string &program,
                 const std::string &last = "") {
  return shell("c++ -std=c++17 -Wall -Wextra -Werror " + kSdk + "/share/tools/RunGenMain.cpp " +
               files + " -L" + kSdk + "/lib -lcalotype_rungen -lpng -ljpeg -ltiff -lpthread -ldl " +
               last + " -o " + temporary(program));
}

bool contains(const ShellResult &r, const std::string &part) {
  return r.out.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("registration: a library linked with RunGenMain gives calo run's file") {
  if (!fs::exists(kSdk + "/bin/calo") || !fs::exists(kSdk + "/lib/libcalotype_rungen.a"))
    CALO_SKIP("the SDK is not built");
  const std::string lib = temporary("lib"), program = temporary("blur.rungen") + " ";
  const ShellResult made = shell(kSdk + "/bin/calo build " + kApp + kSchedules +
                                 "-e static_library,registration -o " + lib);
  REQUIRE_MESSAGE(made.code == 0, made.out);
  CHECK(contains(made, "wrote " + lib + "/blur.registration.cpp\n"));
  const ShellResult linked = link(lib + "/blur.registration.cpp " + lib + "/blur.a", "blur.rungen");
  REQUIRE_MESSAGE(linked.code == 0, linked.out);

  const ShellResult described = shell(program + "--describe");
  CHECK(described.code == 0);
  CHECK_MESSAGE(contains(described, "input: input, 3-dimensional buffer of uint16"), described.out);
  CHECK_MESSAGE(contains(described, "output: output, 3-dimensional buffer of uint16"),
                described.out);

  const std::string here = temporary("here.png"), there = temporary("there.png");
  const ShellResult ran = shell(program + "input=" + kPhoto + " output=" + here);
  REQUIRE_MESSAGE(ran.code == 0, ran.out);
  const ShellResult calo = shell("CALO_CACHE=off " + kSdk + "/bin/calo run " + kApp + kSchedules +
                                 "input=" + kPhoto + " output=" + there);
  REQUIRE_MESSAGE(calo.code == 0, calo.out);
  CHECK(calotype::test::read_file(here).size() > 1000);
  CHECK(calotype::test::read_file(here) == calotype::test::read_file(there));

  const ShellResult timed = shell(
      program + "--estimate_all --benchmarks=all --benchmark_min_time=0.01 --parsable_output");
  CHECK_MESSAGE(timed.code == 0, timed.out);
  CHECK_MESSAGE(contains(timed, "blur BEST_TIME_MSEC_PER_ITER "), timed.out);
  const ShellResult sized = shell(program + "input=random:1:auto --output_extents=[33,7,3] " +
                                  "--verbose output=" + temporary("small.npy"));
  CHECK_MESSAGE(sized.code == 0, sized.out);
  CHECK_MESSAGE(contains(sized, "output: 33 x 7 x 3\n"), sized.out);
  CHECK(shell(program + "input=" + temporary("missing.png")).code == 1);
  CHECK(shell(program + "input=" + kPhoto + " --output_extents=[3]").code == 1);
}

TEST_CASE("registration: several pipelines share a main, also with a user context or no runtime") {
  if (!fs::exists(kSdk + "/lib/libcalotype_rungen.a")) CALO_SKIP("the SDK is not built");
  using namespace calotype;
  ImageParam in(UInt(8), 2, "in");
  Var x("x"), y("y");
  Func plus("plus"), minus("minus");
  plus(x, y) = in(x, y) + cast<uint8_t>(1);
  minus(x, y) = in(x, y) - cast<uint8_t>(1);
  const Target host = get_host_target();
  const auto build = [&](Func f, const std::string &name, const Target &t) {
    const std::string base = temporary(name);
    f.compile_to({{OutputFileType::static_library, base + ".a"},
                  {OutputFileType::registration, base + ".registration.cpp"}},
                 {in}, name, t);
    return base + ".registration.cpp " + base + ".a ";
  };
  const std::string bare = build(minus, "minus", host.with_feature(Target::NoRuntime));
  CHECK(link(bare, "bare").code != 0);
  const ShellResult alone = link(bare, "bare", "-lcalotype_runtime");
  CHECK_MESSAGE(alone.code == 0, alone.out);
  CHECK(shell(temporary("bare") + " in=constant:7:[4,3]").code == 0);
  const std::string files = build(plus, "plus", host.with_feature(Target::UserContext)) + bare;
  const ShellResult linked = link(files, "both");
  REQUIRE_MESSAGE(linked.code == 0, linked.out);
  const std::string both = temporary("both") + " ";
  const ShellResult which = shell(both + "in=constant:7:[4,3]");
  CHECK(which.code == 2);
  CHECK_MESSAGE(contains(which, "several pipelines are linked: --name= one of "), which.out);
  for (const char *name : {"plus", "minus"}) {
    const std::string out = temporary(name) + ".pgm";
    const ShellResult r = shell(both + "--name=" + name + " in=constant:7:[4,3] output=" + out);
    CHECK_MESSAGE(r.code == 1, "the output is called like the Func");
    const ShellResult right =
        shell(both + "--name=" + name + " in=constant:7:[4,3] " + name + "=" + out);
    REQUIRE_MESSAGE(right.code == 0, right.out);
    const std::string bytes = test::read_file(out);
    CHECK(bytes.back() == (name[0] == 'p' ? 8 : 6));
  }
}

TEST_CASE("registration: the source is the same for any target, and needs no header") {
  using namespace calotype;
  Var x("x");
  Func f("f");
  f(x) = x;
  const std::string file = temporary("f.cpp");
  f.compile_to({{OutputFileType::registration, file}}, {}, "f");
  const std::string text = test::read_file(file);
  CHECK(text.find("#include") == std::string::npos);
  CHECK(shell("c++ -std=c++11 -Wall -Wextra -Werror -Wpedantic -fsyntax-only " + file).code == 0);
  f.compile_to({{OutputFileType::registration, file}}, {}, "f", Target("x86-64-linux"));
  CHECK(test::read_file(file) == text);
}
