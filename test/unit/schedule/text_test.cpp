// Schedule files: what they may say, what comes back, what is refused.
#include <doctest/doctest.h>

#include "programs.h"
#include "run.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;
using schedule::parse_schedule;
using schedule::print_schedule;

namespace {
schedule::Schedule parsed(const std::string &lines) {
  return parse_schedule("calotype 1\n" + lines, "test.sched");
}
// Canonical text is its own canonical form.
std::string canonical(const std::string &lines) {
  const std::string once = print_schedule(parsed(lines));
  CHECK(print_schedule(parse_schedule(once, "again.sched")) == once);
  return once;
}
}  // namespace

TEST_CASE("text: head lines") {
  const auto s = parsed(
      "pipeline blur  # which\ntarget x86-64-avx2\nwhen type == bf16\nbase embedded\nlet n = 4 * "
      "8\n");
  CHECK(s.pipeline == "blur");
  CHECK(s.target == "x86-64-avx2");
  REQUIRE(s.when.size() == 1);
  CHECK(s.when[0] == std::make_pair(std::string("type"), std::string("bf16")));
  CHECK(s.base_embedded);
  CHECK(s.lets.size() == 1);
}

TEST_CASE("text: chains, updates and positions") {
  const auto s = parsed(
      "f.compute_root()\n  # a remark\n  .parallel(y)\n  .update(0).split(r.x, ro, ri, 8, "
      "GuardWithIf)\ng[1].vectorize(_0, 8)\n");
  REQUIRE(s.directives.size() == 4);
  CHECK(s.directives[1].loc.line == 4);
  CHECK(s.directives[1].loc.column == 4);
  CHECK(s.directives[2].stage == 1);
  CHECK(s.directives[2].args[0].text == "r.x");
  CHECK(s.directives[2].args[4].kind == schedule::Arg::Kind::Enum);
  CHECK(s.directives[3].func == "g[1]");
  CHECK(s.directives[3].args[1].kind == schedule::Arg::Kind::Expr);
}

TEST_CASE("text: a Func may be named like a keyword") {
  CHECK(parsed("target.compute_root()\nlet.compute_root()\n").directives.size() == 2);
}

TEST_CASE("text: canonical form") {
  CHECK(canonical("pipeline blur\nlet rows=32\n output . split(y,yo,yi, rows*2) .parallel( yo "
                  ");\noutput.vectorize(x, vec(u16))\n"
                  "blur_x.store_at(output,yo).compute_at(output.update(0),yi)\n") ==
        "calotype 1\npipeline blur\nlet rows = 32\n"
        "output.split(y, yo, yi, rows * 2).parallel(yo).vectorize(x, vec(u16))\n"
        "blur_x.store_at(output, yo).compute_at(output.update(0), yi)\n");
}

TEST_CASE("text: everything an argument can be comes back") {
  canonical(
      "f.reorder({x, y})\nf.tile({x, y}, {xi, yi}, {a + 1, min(b, 4)}, RoundUp)\n"
      "f.specialize(output.stride(0) == 1 && (n > 3 || n < -2))\nf.specialize_fail(\"no "
      "\\\"way\\\"\")\n"
      "f.split(x, xo, xi, factor=(a - 1) * 2 / 3 % 4, tail=Auto)\nf.rfactor({ro: u})\n"
      "f.split(x, a, b, select(n > 3, 4, 8)).bound(x, input.min(0), "
      "input.extent(0))\nf.store_at(root)\n");
}

TEST_CASE("text: what follows specialize is said of the specialization") {
  const std::string text = canonical(
      "f.specialize(n > 3).vectorize(x, 8).specialize(f.stride(0) == 1).unroll(y, 2)\n"
      "f.parallel(y)\nf.specialize(n > 3).parallel(y)\n");
  CHECK(text ==
        "calotype 1\n"
        "f.specialize(n > 3).vectorize(x, 8).specialize(f.stride(0) == 1).unroll(y, 2)\n"
        "f.parallel(y).specialize(n > 3).parallel(y)\n");
  const auto s = parsed("f.specialize(n > 3).vectorize(x, 8).update(0).unroll(y, 2)\n");
  REQUIRE(s.directives.size() == 3);
  CHECK(s.directives[1].under.size() == 1);
  CHECK(s.directives[2].under.empty());
}

TEST_CASE("text: enumerators, Funcs and maps of the other directives") {
  CHECK(canonical("f.store_in(MemoryType::Stack).fold_storage(y, 4, fold_forward=false)\n"
                  "g.prefetch(in[1], y, y, 2, Clamp).compute_with(f.update(0), y, {y: "
                  "AlignEnd}).partition(x, Never)\n") ==
        "calotype 1\nf.store_in(Stack).fold_storage(y, 4, fold_forward=false)\n"
        "g.prefetch(in[1], y, y, 2, Clamp).compute_with(f.update(0), y, {y: AlignEnd})"
        ".partition(x, Never)\n");
}

TEST_CASE("text: long chains are broken at a directive") {
  const std::string text = canonical(
      "f.split(x, a, b, 8).split(a, c, d, 8).split(c, e, g, 8).split(e, h, i, 8).split(h, j, k, "
      "8).split(j, l, m, 8)\n");
  size_t longest = 0, line = 0;
  for (char c : text) {
    line = c == '\n' ? 0 : line + 1;
    longest = std::max(longest, line);
  }
  CHECK(longest <= 100);
}

TEST_CASE("text: print, load and apply give the same state") {
  const std::string lines =
      "output.tile(x, y, xo, yo, xi, yi, 64, 32).fuse(xo, yo, t).parallel(t).vectorize(xi, 8)\n"
      "blur_x.compute_at(output, t).vectorize(x, 8, RoundUp).unroll(y, 2)\n";
  const auto a = run_schedule(blur_program(), lines);
  const auto s = parse_schedule(print_schedule(parsed(lines)), "again.sched");
  const auto b = schedule::apply(blur_program(), s, test_target());
  for (const char *f : {"output", "blur_x"}) CHECK(loops_of(a, f) == loops_of(b.state, f));
}

TEST_CASE("text: syntax errors have line and column") {
  CHECK_DIAG_AT(parsed("output.split(x, xo, xi, 8\n"), "S0001", "expected", "3:1");
  CHECK_DIAG_AT(parsed("output split(x)\n"), "S0001", "expected \".\"", "2:8");
  CHECK_DIAG_AT(parsed("output.split(x, , y)\n"), "S0001", "", "2:17");
  CHECK_DIAG_AT(parsed("output.parallel(y) junk\n"), "S0001",
                "expected the end of the line, found \"junk\"", "2:20");
  CHECK_DIAG_AT(parsed("output.parallel(y %)\n"), "S0001", "", "2:20");
  CHECK_DIAG_AT(parsed("let = 3\n"), "S0001", "expected a name", "2:5");
  CHECK_DIAG_AT(parsed("g[x].parallel(y)\n"), "S0001", "index", "2:3");
  CHECK_DIAG_AT(parsed("f.specialize_fail(\"open\n"), "S0001", "no end", "2:19");
  CHECK_DIAG_AT(parsed("f.update(-1).parallel(y)\n"), "S0001", "index", "2:10");
  CHECK_DIAG_AT(parsed("f.vectorize(x, vec(nothing))\n"), "S0001", "", "2:16");
  CHECK_DIAG_AT(parsed("f.parallel(y)\npipeline late\n"), "S0001", "head of the file", "3:1");
}

TEST_CASE("text: the version line is required, once, and known") {
  CHECK_DIAG(parse_schedule("", "test.sched"), "S0001", "calotype 1");
  CHECK_DIAG(parse_schedule("output.parallel(y)\n", "test.sched"), "S0001", "calotype 1");
  CHECK_DIAG(parse_schedule("calotype 2\n", "test.sched"), "S0001", "only version 1");
  CHECK_DIAG(parsed("calotype 1\n"), "S0001", "twice");
  CHECK_DIAG(parsed("pipeline a\npipeline b\n"), "S0001", "twice");
}

TEST_CASE("text: an unknown directive names its neighbours and the rest of the chain is read") {
  CHECK_DIAG_AT(parsed("output.vectorise(x, 8).parallell(y)\n"), "S0102", "did you mean vectorize?",
                "2:8");
  CHECK_DIAG_AT(parsed("output.vectorise(x, 8).parallell(y)\n"), "S0102", "did you mean parallel?",
                "2:24");
}

TEST_CASE("text: independent mistakes are collected") {
  try {
    parsed("output.split(\nblur..x\nf.parallel(y)\ng.nothing()\n");
    FAIL("no error");
  } catch (const CompileError &e) {
    CHECK(e.diagnostics().size() >= 2);
  }
}

TEST_CASE("text: what is not available yet is refused by name") {
  CHECK_DIAG_AT(parsed("def name(f, x, n)\n"), "S0125", "has no end", "2:1");
}

TEST_CASE("text: sizes and depths are bounded") {
  CHECK_DIAG(parse_schedule(std::string(2 << 20, '#'), "test.sched"), "S0002", "bytes");
  CHECK_DIAG(parsed("f.reorder(" + std::string(5000, '{') + "\n"), "S0002", "nested deeper");
  CHECK_DIAG(parsed("f.split(x, a, b, " + std::string(5000, '(') + "\n"), "S0002", "");
  std::string many;
  for (int i = 0; i < 60000; i++) many += "f.a()\n";
  CHECK_DIAG(parsed(many), "S0102", "");
}

TEST_CASE("text: any prefix and any flipped byte is accepted or refused, never worse") {
  const std::string text =
      "calotype 1\npipeline blur\ntarget any\nlet n = vec(u16) * 2\noutput.tile(x, y, xo, yo, xi, "
      "yi, n, 8, Auto).parallel(yo)\n"
      "g[*].update(0).reorder({r.x, y}).specialize(output.stride(0) == 1)\nf.compute_at(g, x) # "
      "end\n";
  const auto survives = [](const std::string &t) {
    try {
      print_schedule(parse_schedule(t, "fuzz.sched"));
    } catch (const CompileError &e) {
      return e.diagnostic().code[0] == 'S';
    }
    return true;
  };
  for (size_t n = 0; n <= text.size(); n++) CHECK(survives(text.substr(0, n)));
  for (size_t i = 0; i < text.size(); i++) {
    for (char c : {'\0', '(', ')', '{', '.', '\n', '"', '9', static_cast<char>(0xff), '`', '@'}) {
      std::string t = text;
      t[i] = c;
      CHECK(survives(t));
    }
  }
}

TEST_CASE("text: files that cannot be read are named") {
  CHECK_DIAG(schedule::load_schedule("/nonexistent/x.sched"), "S0005", "/nonexistent/x.sched");
  CHECK_DIAG(schedule::load_schedule("/"), "S0005", "");
}

TEST_CASE("cpp: names, declarations and tails") {
  const auto p = sum_program();
  const auto s = parsed(
      "let n = vec(i32)\nsum.compute_at(output, yo).update(0).split(r.x, ro, ri, 2).reorder(x, ri, "
      "ro, y).unroll(ri)\n"
      "output.split(y, yo, yi, 4, GuardWithIf).vectorize(x, n).reorder(x.v, x)\n");
  CHECK(schedule::print_schedule_cpp(s, p) ==
        "{\n"
        "  Var x(\"x\"), x_v(\"x_v\"), y(\"y\"), yi(\"yi\"), yo(\"yo\");\n"
        "  RVar ri_r(\"ri\"), ro_r(\"ro\");\n"
        "  const Expr n_let = get_target().natural_vector_size(Int(32));\n"
        "  sum.compute_at(output, yo);\n"
        "  sum.update(0).split(sum.rvars(0)[0], ro_r, ri_r, 2).reorder(x, ri_r, ro_r, "
        "y).unroll(ri_r);\n"
        "  output.split(y, yo, yi, 4, TailStrategy::GuardWithIf).split(x, x, x_v, "
        "n_let).vectorize(x_v).reorder(x_v, x);\n"
        "}\n");
  CHECK(schedule::cpp_name("g[1]") == "g_1");
  CHECK(schedule::cpp_name("new") == "new_");
}
