// online: every cascade that transform knows, by the directive, compiled, against the algorithm by the interpreter.
#include <doctest/doctest.h>

#include "programs.h"
#include "unit/transform/cascades.h"

using namespace calotype;
using namespace calotype::test;

namespace {

std::string list_of(const std::vector<ir::Name> &members) {
  std::string text;
  for (ir::Name m : members) text += (text.empty() ? "" : ", ") + m.str();
  return "{" + text + "}";
}

// Scalar parameters as numbers.
std::string with_numbers(std::string text) {
  for (const auto &[name, value] : {std::make_pair("@n", "2"), std::make_pair("@c", "1.0f")}) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, 2, value);
  }
  return text;
}

}  // namespace

TEST_CASE("online: known cascades give what the algorithm gives, at any size of blocks") {
  int run = 0;
  for (const cascades::Known &k : cascades::known_cascades()) {
    INFO(std::string(k.name));
    const std::string text = with_numbers(cascade_text(k.funcs));
    const ir::Program p = ir::parse_program(text);
    const bool one_rvar = p.find("O")->definitions[1].rvars.size() == 1;
    for (int block : {1, 7, 64}) {
      const std::string lines = "O.update(0).split(r, ko, ki, " + std::to_string(block) +
                                ").online(ko, " + list_of(k.members) + ")\n";
      INFO(lines);
      const CaseResult r = run_lines(text, lines, {{0, 0}, {3, 5}, 0});
      if (!one_rvar) {  // the other RVar lies outside
        CHECK(r.code == "S0815");
        continue;
      }
      CHECK_MESSAGE(r.kind == CaseResult::Same, r.text);
      run++;
    }
  }
  CHECK(run > 50);
}
