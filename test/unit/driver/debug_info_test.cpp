// Debug lines and names of compiled code, read back by the tools that people use: objects by llvm-dwarfdump and nm, JIT code
// by perf's map and jit dump and by gdb.
#include <doctest/doctest.h>

#include <filesystem>

#include "calotype.h"
#include "support/shell.h"
#include "support/skip.h"

using namespace calotype;
using test::shell;
using test::temporary;
namespace fs = std::filesystem;

namespace {

#define NEED_TOOL(name) \
  if (shell("command -v " name).code != 0) CALO_SKIP("%s is not installed", name)

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}
std::string line(int n) { return "(" + std::to_string(n) + ")"; }

struct Sum {
  Func rows{"rows"}, sum{"sum"};
  Var x{"x"}, y{"y"};
  int at_rows = 0, at_update = 0;
  Sum() {
    at_rows = __LINE__ + 1;
    rows(x, y) = cast<float>(x) * sin(cast<float>(y));
    at_update = __LINE__ + 2;
    sum(x, y) = rows(x, y) + rows(x + 1, y);
    sum(x, 0) += 1.0f;
    rows.compute_at(sum, y);
    sum.parallel(y).vectorize(x, 8);
  }
  std::string object(const std::string &target) {
    const std::string file = temporary("sum" + target + ".o");
    sum.compile_to_object(file, {}, "sum_all", Target(target));
    return file;
  }
};

}  // namespace

TEST_CASE("debug info: an object names Func, loop and source line of its instructions") {
  NEED_TOOL("llvm-dwarfdump-22");
  Sum s;
  const std::string file = s.object("x86-64-linux-avx2-fma-debug");
  const test::ShellResult verified = shell("llvm-dwarfdump-22 --verify " + file);
  CHECK_MESSAGE(verified.code == 0, verified.out);
  const std::string info = shell("llvm-dwarfdump-22 --debug-info " + file).out;
  CHECK(contains(info, "debug_info_test.cpp"));
  CHECK(contains(info, "DW_AT_linkage_name\t(\"sum_all.par.sum.y\")"));
  CHECK(contains(info, "DW_TAG_inlined_subroutine"));
  // Which line each name stands for.
  auto line_of = [&](const std::string &name) {
    const size_t at = info.find("DW_AT_name\t(\"" + name + "\")");
    if (at == std::string::npos) return std::string("no " + name);
    const size_t number = info.find("DW_AT_decl_line", at);
    return info.substr(info.find('(', number), info.find(')', number) + 1 - info.find('(', number));
  };
  CHECK(line_of("rows.x") == line(s.at_rows));
  CHECK(line_of("rows") == line(s.at_rows));
  CHECK(line_of("sum.update(0).x") == line(s.at_update));
  CHECK(contains(shell("nm " + file).out, " t sum_all.par.sum.y\n"));
}

TEST_CASE("debug info: instructions are the same with it and without") {
  NEED_TOOL("objcopy");
  Sum s;
  const std::string plain = s.object("x86-64-linux-avx2-fma"),
                    debug = s.object("x86-64-linux-avx2-fma-debug");
  CHECK(!contains(shell("nm -a " + plain).out, ".debug_info"));
  for (const std::string &file : {plain, debug}) {
    REQUIRE(shell("objcopy -O binary --only-section=.text " + file + " " + file + ".text").code ==
            0);
  }
  CHECK(fs::file_size(plain + ".text") > 100);
  CHECK(test::read_file(plain + ".text") == test::read_file(debug + ".text"));
}

namespace {
/// Runs blur by the built command under these variables; `then` sees its process number as $p.
test::ShellResult run_blur(const std::string &variables, const std::string &then) {
  return shell("CALO_CACHE=" + temporary("cache") + " " + variables +
               " " CALO_SDK_DIR "/bin/calo run " CALO_SOURCE_DIR
               "/apps/blur/algorithm.cpp --schedule " +
               CALO_SOURCE_DIR "/schedules/blur/any-tiled.sched input=random:0:[200,100,1] >" +
               temporary("out") + " 2>&1 & p=$!; wait $p && " + then);
}
}  // namespace

TEST_CASE("debug info: perf finds the names of JIT code in its map") {
  if (!fs::exists(CALO_SDK_DIR "/bin/calo")) CALO_SKIP("calo is not built");
  const test::ShellResult r =
      run_blur("CALO_PERF=map", "cat /tmp/perf-$p.map && rm /tmp/perf-$p.map");
  REQUIRE_MESSAGE(r.code == 0, r.out);
  CHECK(contains(r.out, " blur\n"));
}

TEST_CASE("debug info: a jit dump holds the lines of JIT code") {
  if (!fs::exists(CALO_SDK_DIR "/bin/calo")) CALO_SKIP("calo is not built");
  const std::string folder = temporary("dumps");
  fs::create_directories(folder);
  const test::ShellResult r = run_blur("CALO_PERF=dump CALO_DEBUG_INFO=1 JITDUMPDIR=" + folder,
                                       "cat " + folder + "/.debug/jit/*/jit-$p.dump");
  REQUIRE_MESSAGE(r.code == 0, r.out);
  CHECK(contains(r.out, "DTiJ"));
  CHECK(contains(r.out, "apps/blur/algorithm.cpp"));
}
