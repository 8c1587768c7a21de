// Runs every .ir file below test/ir and test/fuzz/found.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/ir_file.h"

using calotype::test::run_ir_file;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_below(const fs::path &folder) {
  std::vector<fs::path> files;
  if (fs::exists(folder)) {
    for (const auto &entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".ir") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void run_all(const fs::path &folder, size_t at_least) {
  const fs::path root = fs::path(CALO_SOURCE_DIR) / "test";
  const std::vector<fs::path> files = files_below(root / folder);
  CHECK(files.size() >= at_least);
  for (const fs::path &file : files) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const std::string problem =
        run_ir_file(text.str(), fs::relative(file, root).replace_extension("").generic_string());
    CHECK_MESSAGE(problem.empty(), problem);
  }
}

bool fails(const std::string &text, const std::string &part) {
  return run_ir_file(text, "ir/none").find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("ir files: every file is as it says") { run_all("ir", 10); }

TEST_CASE("ir files: a file that is not as it says fails") {
  CHECK(fails("f[0] = 1\n", "the first line is not"));
  CHECK(fails("; test: nothing\nf[0] = 1\n", "no subject is called 'nothing'"));
  CHECK(fails("; test: print\nf[0]=1\n", "- 1: f[0]=1"));
  CHECK(fails("; test: print\nf[0]=1\n; expect: f[0] = 2\n", "+ 1: f[0] = 1"));
  CHECK(fails("; test: parse\nf[0] = )  ; error: L0601 expected an operand\n", "the message is"));
  CHECK(fails("; test: parse\nf[0] = 1  ; error: L0601 x\n", "no error"));
  CHECK(fails("; test: parse\nf[0] = )\n; error: L0601 x\n", "the error is in line 2"));
  CHECK(fails("; test: parse\nf[0] = )  ; error: L0102 x\n", "code L0601 instead of L0102"));
  CHECK(fails("; test: verify closed\nf[x] = 1\n", "not expected: variable x"));
  CHECK(fails("; test: verify\nf[x] = 1\n; violation: variable x\n", "not found: variable x"));
  CHECK(fails("; test: run\n; memory: f:i32 * 1\nf[0] = 1\n; run: f == [2]\n",
              "f is [1]\nexpected [2]"));
  CHECK(fails("; test: run\n; memory: f:i32 * 1\nf[1] = 1\n; run: f == [2]\n",
              "outside its 1 elements"));
  CHECK(fails("; test: run\nf[0] = 1\n", "has '; run:'"));
  CHECK(fails("; test: fold\nf[0] = 1 + 1\n; expect: f[0] = 3\n", "+ 1: f[0] = 2"));
}
