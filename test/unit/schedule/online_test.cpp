// online as a directive: the loops and Funcs it makes, its text, what is refused and where.
#include <doctest/doctest.h>

#include "files.h"
#include "lower/pipeline.h"
#include "programs.h"
#include "run.h"
#include "schedule/apply.h"
#include "schedule/loop_nest.h"
#include "schedule/text.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {

const std::string kBlocks =
    "O.compute_root().update(0).split(r.x, ko, ki, 16).reorder(d, ki, ko, i)";
const std::string kOnline = kBlocks + ".online(ko, {M, L})\n";

schedule::Scheduled softmax(const std::string &lines) {
  return schedule::apply(softmax_program(),
                         schedule::parse_schedule("calotype 1\n" + lines, "test.sched"),
                         test_target());
}
std::string nest(const std::string &lines) {
  const schedule::Scheduled s = softmax(lines);
  return schedule::to_string(
      *schedule::build_loop_tree(schedule::inline_funcs(s.program, s.state), s.state));
}
bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("online: the stages of the pass follow one another in one loop over blocks") {
  const std::string text = nest(kOnline);
  CAPTURE(text);
  size_t at = 0;
  for (const char *next :
       {"for i:", "store M_state:",
        "for ko of M_state.update(0), L_state.update(0), "
        "O_state.update(0):",
        "produce M_part:", "M_state.update(0)(...)", "produce L_part:", "L_state.update(0)(...)",
        "produce O_part:", "O_state.update(0)(...)", "for d:", "O(...)"}) {
    const size_t found = text.find(next, at);
    CHECK_MESSAGE(found != std::string::npos, next);
    at = found;
  }
}

TEST_CASE("online: what is computed at the block loop serves all stages of a block") {
  const std::string text = nest(kOnline + "in.compute_at(O, ko)\nO_term0.compute_at(O, ko)\n");
  CAPTURE(text);
  const size_t loop = text.find("for ko of"), in = text.find("produce in:"),
               part = text.find("produce M_part:"), term = text.find("produce O_term0:");
  CHECK(loop < in);
  CHECK(in < part);
  CHECK(part < term);
  CHECK(term < text.find("produce L_part:"));
  CHECK(text.find("produce in:", in + 1) == std::string::npos);
}

TEST_CASE("online: printed, read back, and as C++") {
  const std::string lines = kOnline + "M_part.update(0).unroll(ki, 4)\n";
  const schedule::Schedule s = schedule::parse_schedule("calotype 1\n" + lines, "test.sched");
  const std::string text = schedule::print_schedule(schedule::resolve(softmax_program(), s));
  CHECK(has(text, ".online(ko, {M, L})"));
  CHECK(nest(text.substr(text.find('\n') + 1)) == nest(lines));
  const std::string cpp = schedule::print_schedule_cpp(s, softmax_program());
  CAPTURE(cpp);
  CHECK(has(cpp, "const std::vector<Func> online_O = O.update(0).online(ko_r, {M, L});"));
  CHECK(has(cpp, "Func M_part = online_O[0];"));
}

TEST_CASE("online: the schedule changes the order of additions, and says so") {
  const schedule::Scheduled s = softmax(kOnline);
  REQUIRE(s.reordered.size() == 1);
  CHECK(s.reordered[0] == "online on O.update(0)");
  REQUIRE(s.certificates.size() == 1);
  CHECK(has(s.certificates[0], "N1"));
}

TEST_CASE("online: refused with the place of the directive") {
  CHECK_DIAG(softmax("O.compute_root().online(r.x, {M, L})\n"), "S0108", "pure definition");
  CHECK_DIAG(softmax("O.compute_root().update(1).online(r.x, {M, L})\n"), "S0106", "O.update(1)");
  CHECK_DIAG(softmax("O.compute_root().update(0).online(q, {M, L})\n"), "S0103", "q");
  CHECK_DIAG(softmax("O.compute_root().update(0).online(r.x)\n"), "S0105", "online");
  CHECK_DIAG(softmax("O.compute_root().update(0).online(r.x, {M, Z})\n"), "S0101", "Z");
  CHECK_DIAG(softmax("O.compute_root().update(0).online(r.x, {M, M, L})\n"), "S0114", "M twice");
  CHECK_DIAG(softmax("O.compute_root().update(0).online(r.x, {M})\n"), "S0804", "L");
  CHECK_DIAG(softmax("O.compute_root().update(0).online(i, {M, L})\n"), "S0815", "pure variable");
  CHECK_DIAG(softmax("O.compute_root().update(0).split(r.x, ko, ki, 16).reorder(d, ko, i, ki)"
                     ".online(ko, {M, L})\n"),
             "S0815", "lies outside");
  CHECK_DIAG(softmax("O.compute_root().update(0).reorder(r.x, d, i).online(r.x, {M, L})\n"
                     "L_part.compute_at(O, i)\n"),
             "S0816", "exists in the block loop alone");
  CHECK_DIAG(softmax("M.update(0).unroll(r.x, 2)\n" + kOnline), "S0815", "before online");
  CHECK_DIAG(softmax(kOnline + "M_state.update(0).split(ko, a, b, 2)\n"), "S0133", "not alike");
  CHECK_DIAG(softmax(kOnline + "M_state.update(0).parallel(ko)\n"), "S0111", "ko");
  CHECK_DIAG(softmax(kOnline + "M_state.compute_root()\n"), "S0133", "computed at");
  try {
    softmax("O.compute_root().update(0).online(r.x, {M})\n");
    FAIL("accepted");
  } catch (const CompileError &e) {
    CHECK(e.diagnostics()[0].loc.line == 2);
    CHECK(e.diagnostics()[0].loc.column == 28);
  }
}
