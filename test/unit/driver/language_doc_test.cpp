// docs/language.md: its examples compile against the SDK and hold. Each is a function body, or a class with
// what follows it; all go into one program.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/skip.h"

namespace fs = std::filesystem;

namespace {

struct Example {
  int line;
  std::string text;
};

std::vector<Example> examples(const std::string &file) {
  std::ifstream in(file);
  std::vector<Example> all;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    number++;
    if (line == "```cpp") {
      inside = true;
      all.push_back({number + 1, {}});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      all.back().text += line + "\n";
    }
  }
  return all;
}

std::string program(const std::vector<Example> &all, const std::string &file) {
  std::ostringstream functions, main;
  for (const Example &e : all) {
    const bool declares = e.text.rfind("struct ", 0) == 0;
    const std::string name = "example_" + std::to_string(e.line);
    if (!declares) functions << "static void " << name << "() {\n";
    functions << "#line " << e.line << " \"" << file << "\"\n" << e.text;
    if (!declares) {
      functions << "}\n";
      main << "  " << name << "();\n";
    }
  }
  return "#include \"calotype.h\"\n#include <cstdio>\nusing namespace calotype;\nstatic int failed "
         "= 0;\n"
         "#define check(...) (void)((__VA_ARGS__) || (failed++, std::printf(\"line %d: %s\\n\", "
         "__LINE__, "
         "#__VA_ARGS__)))\n" +
         functions.str() + "int main() {\n" + main.str() + "  return failed != 0;\n}\n";
}

}  // namespace

TEST_CASE("language.md: every example compiles and holds") {
  if (!fs::exists(CALO_SDK_DIR "/lib/libcalotype.so")) CALO_SKIP("the SDK is not built");
  const std::string doc = CALO_SOURCE_DIR "/docs/language.md";
  const std::vector<Example> all = examples(doc);
  REQUIRE(all.size() >= 7);
  char name[] = "/tmp/calo_language.XXXXXX";
  const fs::path folder = mkdtemp(name);
  std::ofstream(folder / "doc.cpp") << program(all, "docs/language.md");
  const std::string command = "cd " + folder.string() +
                              " && (c++ -std=c++17 -O0 doc.cpp -o doc -I" CALO_SDK_DIR
                              "/include -L" CALO_SDK_DIR "/lib -lcalotype -Wl,-rpath," CALO_SDK_DIR
                              "/lib && CALO_CACHE=off ./doc) >log 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream log;
  log << std::ifstream(folder / "log").rdbuf();
  CHECK_MESSAGE(status == 0, log.str());
  fs::remove_all(folder);
}
