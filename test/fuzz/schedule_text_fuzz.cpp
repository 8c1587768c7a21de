// Schedule texts with mistakes in every place: characters and lines dropped, doubled, moved, replaced by others and by words
// of the language. Whatever the text is, it is accepted or refused with a code; what is accepted prints to a text that means
// the same.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/diagnostic.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support/fuzz_case.h"
#include "support/random_program.h"
#include "support/random_schedule.h"

using namespace calotype;
using namespace calotype::test;

namespace {

const std::vector<std::string> kWords = {".update(0)",
                                         ".update(99999999999)",
                                         ".update(-1)",
                                         "{",
                                         "}",
                                         "(",
                                         ")",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "=",
                                         ".",
                                         "..",
                                         "*",
                                         "\"",
                                         "`",
                                         "#",
                                         "\n",
                                         "\r\n",
                                         "\t",
                                         std::string(1, '\0'),
                                         "\xff\xfe",
                                         "\xc3",
                                         "-1",
                                         "0",
                                         "2147483648",
                                         "-9223372036854775808",
                                         "1e400",
                                         "nan",
                                         "vec(u8)",
                                         "vec(",
                                         "0x10",
                                         "x",
                                         "y",
                                         "_0",
                                         "_99999",
                                         "r.x",
                                         "x.v.v.v",
                                         "__outermost",
                                         "root",
                                         "inlined",
                                         "GuardWithIf",
                                         "RoundUp",
                                         "let a = a\n",
                                         "let a = 1 / 0\n",
                                         "def b(f)\n",
                                         "end\n",
                                         "b(b)\n",
                                         "calotype 1\n",
                                         "target any\n",
                                         "when a == b\n",
                                         "base embedded\n",
                                         ".in()",
                                         ".in({})",
                                         ".clone_in()",
                                         ".specialize(1 > 0)",
                                         ".specialize(",
                                         ".specialize_fail(\"\")",
                                         ".rfactor({x: x})",
                                         ".compute_with(f0, x)",
                                         ".fold_storage(x, 1)",
                                         ".memoize(0)",
                                         ".tile(x, y, x, y, 1, 1)",
                                         ".split(x, x, x, 1)",
                                         "$v3",
                                         "f0",
                                         "f[0]",
                                         "f*",
                                         "&&",
                                         "||",
                                         "%",
                                         "/",
                                         "min(",
                                         "select(1 > 0, 1, 2)",
                                         ":i64",
                                         "@in0"};

std::string mutated(const std::string &text, Dice &dice) {
  std::string s = text;
  for (int n = 1 + dice.below(3); n > 0; n--) {
    const size_t at = static_cast<size_t>(dice.below(static_cast<int>(s.size()) + 1));
    const size_t length = std::min<size_t>(static_cast<size_t>(1 + dice.below(12)), s.size() - at);
    switch (dice.below(6)) {
      case 0: s.erase(at, length); break;
      case 1: s.insert(at, s.substr(at, length)); break;
      case 2: s.insert(at, dice.pick(kWords)); break;
      case 3: s.replace(at, length, dice.pick(kWords)); break;
      case 4:
        if (at < s.size()) s[at] = static_cast<char>(dice.below(256));
        break;
      default: {  // a line somewhere else
        const size_t begin = s.rfind('\n', at == 0 ? 0 : at - 1) + 1;
        const size_t end = std::min(s.find('\n', begin), s.size() - 1);
        if (begin >= s.size() || end < begin) break;
        const std::string line = s.substr(begin, end + 1 - begin);
        s.erase(begin, line.size());
        s.insert(std::min(s.size(), s.find('\n', dice.below(static_cast<int>(s.size()) + 1)) + 1),
                 line);
        break;
      }
    }
  }
  return s;
}

// What is wrong with how the text is taken, or empty.
std::string fault(const ir::Program &p, const std::string &text, const Target &t) {
  try {
    const schedule::Schedule s = schedule::parse_schedule(text, "mutant.sched");
    const std::string printed = schedule::print_schedule(s);
    if (schedule::print_schedule(schedule::parse_schedule(printed, "printed.sched")) != printed)
      return "does not print back:\n" + printed;
    schedule::apply(p, s, t);
  } catch (const CompileError &e) {
    for (const Diagnostic &d : e.diagnostics()) {
      if (d.code.empty() || d.code[0] == 'X') return render(d);
    }
  } catch (const std::exception &e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("fuzz: texts of schedules that were damaged") {
  const char *more = std::getenv("CALO_MUTANTS");
  const int programs = 12, mutants = more ? std::atoi(more) : 120;
  const Target t = get_host_target();
  for (uint64_t seed = 1; seed <= programs; seed++) {
    const ir::Program p = random_program(seed);
    ScheduleShape shape;
    shape.mins = {0, 0, 0, 0};
    shape.extents = {16, 16, 4, 4};
    const std::string text = random_schedule(p, seed, shape).text;
    // All of a program's mutants in one child; it says which one it is at.
    const Apart a = run_apart(
        [&]() -> std::string {
          Dice dice(seed);
          for (int k = 0; k < mutants; k++) {
            const std::string m = mutated(text, dice);
            const std::string wrong = fault(p, m, t);
            if (!wrong.empty()) return wrong + "\nof the text:\n" + m;
          }
          return "";
        },
        60 + mutants / 10);
    CHECK_MESSAGE(a.end == Apart::Done,
                  "seed " << seed << " crashes or hangs, signal " << a.signal);
    CHECK_MESSAGE(a.text.empty(), "seed " << seed << ": " << a.text);
  }
}
