// Rendering, exception types and nearest names.
#include "base/diagnostic.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

using namespace calotype;

TEST_CASE("diagnostic: rendering has place, code, excerpt, facts and help") {
  const char *file = intern_path("test/bad.sched");
  register_text(file, "calotype 1\nblur_x.compute_at(blur_y, xi)\n");
  Diagnostic d =
      Diagnostic("S0104", SrcLoc{file, 2, 27, 29}, "blur_x cannot be computed at blur_y.xi")
          .because("sharpen also reads blur_x, and it runs outside the loop blur_y.xi")
          .because("reads: sharpen", SrcLoc{"algorithm.cpp", 24})
          .because("loops: sharpen.y > blur_y.yo")
          .fix("use a loop around all readers")
          .fix("or compute_root()");
  CHECK(render(d) ==
        "test/bad.sched:2:27: error[S0104]: blur_x cannot be computed at blur_y.xi\n"
        "   2 | blur_x.compute_at(blur_y, xi)\n"
        "     |                           ^^\n"
        "  why:  sharpen also reads blur_x, and it runs outside the loop blur_y.xi\n"
        "        reads: sharpen (algorithm.cpp:24)\n"
        "  loops: sharpen.y > blur_y.yo\n"
        "  help: use a loop around all readers\n"
        "        or compute_root()\n");
}

TEST_CASE("diagnostic: without a place only the text is rendered") {
  CHECK(render(Diagnostic("L0101", {}, "undefined Expr")) == "error[L0101]: undefined Expr\n");
}

TEST_CASE("diagnostic: the code's letter chooses the exception") {
  CHECK_THROWS_AS(raise(Diagnostic("R0101", {}, "x")), RuntimeError);
  CHECK_THROWS_AS(raise(Diagnostic("X0001", {}, "x")), InternalError);
  for (const char *code : {"L0101", "S0101", "B0101", "T0101"}) {
    CHECK_THROWS_AS(raise(Diagnostic(code, {}, "x")), CompileError);
  }
  try {
    raise(Diagnostic("X0001", {}, "x"));
  } catch (const Error &e) {
    CHECK(e.diagnostic().severity == Severity::Internal);
    CHECK(std::string(e.what()).find("internal error[X0001]: x") == 0);
  }
}

TEST_CASE("diagnostic: one exception carries several mistakes") {
  CompileError e(
      std::vector<Diagnostic>{Diagnostic("S0101", {}, "one"), Diagnostic("S0102", {}, "two")});
  CHECK(e.diagnostics().size() == 2);
  CHECK(std::string(e.what()) == "error[S0101]: one\nerror[S0102]: two\n");
}

TEST_CASE("diagnostic: a failed assertion names its condition and place") {
  try {
    CALO_ASSERT(1 + 1 == 3, "sums are wrong");
    FAIL("not reached");
  } catch (const InternalError &e) {
    const std::string text = e.what();
    CHECK(text.find("sums are wrong") != std::string::npos);
    CHECK(text.find("1 + 1 == 3") != std::string::npos);
    CHECK(text.find("diagnostic_test.cpp") != std::string::npos);
  }
}

TEST_CASE(
    "diagnostic: every code has a title and a known letter, and codes are sorted within a letter") {
  std::vector<std::string> codes;
#define CODE(code, title) codes.push_back(#code);
#include "base/codes.def"
#undef CODE
  for (size_t i = 0; i < codes.size(); i++) {
    CHECK(code_title(codes[i]) != "");
    CHECK(std::string("LSBTRPX").find(codes[i][0]) != std::string::npos);
    if (i > 0 && codes[i][0] == codes[i - 1][0]) CHECK(codes[i - 1] < codes[i]);
  }
  CHECK(code_title("S9999") == "");
}

TEST_CASE("nearest_names: finds misspelt, swapped, cased and shortened names, nearest first") {
  const std::vector<std::string> names = {"compute_root", "compute_at", "store_at",
                                          "blur_x",       "blur_y",     "GuardWithIf"};
  CHECK(nearest_names("compute_rot", names).at(0) == "compute_root");
  CHECK(nearest_names("comptue_at", names).at(0) == "compute_at");
  CHECK(nearest_names("guardwithif", names).at(0) == "GuardWithIf");
  CHECK(nearest_names("blur", names) == std::vector<std::string>{"blur_x", "blur_y"});
  CHECK(nearest_names("zzz", names).empty());
  CHECK(nearest_names("store_at", names, 1) == std::vector<std::string>{"store_at"});
}

TEST_CASE("nearest_names: endless names are ignored") {
  CHECK(nearest_names(std::string(100000, 'a'), {std::string(100000, 'b')}).empty());
}
