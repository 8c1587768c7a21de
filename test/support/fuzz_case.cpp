// See fuzz_case.h.
#include "fuzz_case.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <sstream>

#include "base/diagnostic.h"
#include "driver/reduce.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "ir/visit.h"
#include "random_program.h"
#include "refusals.h"
#include "runtime/HalideRuntime.h"
#include "schedule/text.h"

namespace calotype::test {

using namespace ir;  // makers

namespace {

// What a child process is doing, for its parent: c compiles, r runs; 0: there is no child.
volatile char *stage_page() {
  static auto *page = static_cast<volatile char *>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  return page;
}

// A program that recomputes much runs for long without being wrong: it gets a few seconds of its child process.
constexpr rlim_t kRunSeconds = 6;
void begin_runs() {
  if (*stage_page() != 'c') return;  // not in a child
  *stage_page() = 'r';
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const rlim_t end = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + kRunSeconds;
  const rlimit cpu{end, end + 5};
  setrlimit(RLIMIT_CPU, &cpu);
}

bool contains(const std::string &s, const char *what) { return s.find(what) != std::string::npos; }

// Does the program itself ask more of an output's buffer than the caller may have given? Its readers may need more of it,
// its updates may write at fixed places.
bool needs_larger_outputs(const Program &p) {
  for (const Function &f : p.funcs) {
    for (const Definition &d : f.definitions) {
      for (Name n : called_funcs(d)) {
        if (n != f.name && p.is_output(n)) return true;
      }
    }
  }
  return writes_fixed_places(p);
}

// Sizes that every factor drawn divides.
CaseSize rounded(CaseSize size) {
  for (int &m : size.mins) m = 0;
  for (size_t d = 0; d < size.extents.size(); d++) size.extents[d] = d < 2 ? 96 : d == 2 ? 16 : 4;
  return size;
}

std::string first_words(const std::string &s) {
  std::string r;
  for (char c : s) {
    if (c == '\n' || r.size() >= 40) break;
    if (c < '0' || c > '9') r += c;
  }
  return r;
}

}  // namespace

FuzzVerdict judge(const FuzzCase &c) {
  FuzzVerdict v;
  auto fail = [&](std::string signature, std::string text) {
    v.kind = FuzzVerdict::Fail;
    v.signature = std::move(signature);
    v.text = std::move(text);
    return v;
  };
  try {
    Program p = parse_program(c.program);
    std::string text = to_string(p);
    if (to_string(parse_program(text)) != text)
      return fail("print", "program does not print back:\n" + text);
    Target t = get_host_target();
    schedule::Schedule s;
    try {
      s = schedule::parse_schedule(c.schedule, "case.sched");
    } catch (const CompileError &e) {
      v.kind = FuzzVerdict::Refused;
      v.text = e.what();
      return v;
    }
    std::string printed = schedule::print_schedule(s);
    if (schedule::print_schedule(schedule::parse_schedule(printed, "printed.sched")) != printed) {
      return fail("print", "schedule does not print back:\n" + printed);
    }
    CompiledCase compiled(p, s, t);
    const CaseResult &r = compiled.compiled();
    if (r.kind == CaseResult::Failed)
      return fail("compile " + r.code + first_words(r.text), r.text);
    if (r.kind == CaseResult::Refused) {
      const std::string why = unexplained_refusal(c.schedule, r.diagnostics);
      if (!why.empty()) return fail("refused " + why, r.text);
      v.kind = FuzzVerdict::Refused;
      v.signature = r.code;
      v.text = r.text;
      return v;
    }
    const bool larger = needs_larger_outputs(p);
    begin_runs();
    for (const FuzzRun &run : c.runs) {
      CaseResult result = compiled.run(run.size, run.seed, run.special_floats);
      const bool rounds = result.error == halide_error_code_access_out_of_bounds ||
                          result.error == halide_error_code_constraint_violated;
      if (rounds && explains_run_failure(c.schedule, result.error)) {
        v.refused_runs++;
        result = compiled.run(rounded(run.size), run.seed, run.special_floats);
      }
      if (result.kind == CaseResult::Different) return fail("different", result.text);
      if (result.kind == CaseResult::Same) {
        v.compared_runs++;
        continue;
      }
      if (contains(result.text, "would be huge")) continue;
      const bool explained = explains_run_failure(c.schedule, result.error) ||
                             (larger && result.error == halide_error_code_access_out_of_bounds);
      if (!explained) return fail("run " + first_words(result.text), result.text);
      v.refused_runs++;
    }
  } catch (const Error &e) {
    return fail("exception " + e.diagnostic().code, e.what());
  } catch (const std::exception &e) {
    return fail(std::string("exception ") + e.what(), e.what());
  }
  return v;
}

Apart run_apart(const std::function<std::string()> &work, int seconds) {
  int ends[2];
  if (pipe(ends) != 0) return {Apart::Done, 0, work()};
  *stage_page() = 'c';
  const pid_t child = fork();
  if (child < 0) {
    *stage_page() = 0;
    return {Apart::Done, 0, work()};
  }
  if (child == 0) {
    close(ends[0]);
    for (int s : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGALRM, SIGXCPU}) signal(s, SIG_DFL);
    // Time of the processor: a busy machine is no hang. The alarm is for waits that never end.
    const rlim_t limit = static_cast<rlim_t>(seconds);
    const rlimit cpu{limit, limit + 5};
    setrlimit(RLIMIT_CPU, &cpu);
    alarm(static_cast<unsigned>(seconds) * 6);
    const std::string text = "+" + work();  // nothing at all means that it died
    for (size_t done = 0; done < std::min<size_t>(text.size(), 200000);) {
      const ssize_t n = write(ends[1], text.data() + done, text.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGALRM || signal == SIGXCPU) return {Apart::Late, signal, {}};
  if (signal != 0 || text.empty()) return {Apart::Crashed, signal, {}};
  return {Apart::Done, 0, text.substr(1)};
}

FuzzVerdict judge_apart(const FuzzCase &c, int seconds) {
  const Apart a = run_apart(
      [&] {
        const FuzzVerdict mine = judge(c);
        return std::to_string(mine.kind) + " " + std::to_string(mine.refused_runs) + " " +
               std::to_string(mine.compared_runs) + "\n" + mine.signature + "\n" + mine.text;
      },
      seconds);
  FuzzVerdict v;
  if (a.end != Apart::Done) {
    const bool runs = *stage_page() == 'r', late = a.end == Apart::Late;
    v.kind = late && runs ? FuzzVerdict::Slow : FuzzVerdict::Fail;
    v.signature = late ? "hang" : std::string("crash in ") + (runs ? "run" : "compile");
    v.text = v.signature + ", signal " + std::to_string(a.signal);
    return v;
  }
  std::istringstream in(a.text);
  std::string line;
  std::getline(in, line);
  int kind = 0;
  std::istringstream(line) >> kind >> v.refused_runs >> v.compared_runs;
  v.kind = static_cast<FuzzVerdict::Kind>(kind);
  std::getline(in, v.signature);
  std::getline(in, v.text, '\0');
  return v;
}

// ---- text and shrinking ----------------------------------------------------------------------------------------

namespace {

driver::FailingCase failing(const FuzzCase &c) {
  driver::FailingCase f{c.program, c.schedule, {}, {}};
  for (const FuzzRun &r : c.runs) {
    driver::FailingRun run{r.size.mins, r.size.extents, {{"seed", r.seed}}};
    if (r.special_floats) run.settings["special"] = 1;
    if (r.size.padding) run.settings["padding"] = static_cast<uint64_t>(r.size.padding);
    if (r.size.margin) run.settings["margin"] = static_cast<uint64_t>(r.size.margin);
    if (r.size.stride != 1) run.settings["stride"] = static_cast<uint64_t>(r.size.stride);
    f.runs.push_back(std::move(run));
  }
  return f;
}

FuzzCase fuzz_case(const driver::FailingCase &f) {
  FuzzCase c{f.program, f.schedule, {}};
  for (const driver::FailingRun &r : f.runs) {
    const auto setting = [&](const char *name, uint64_t otherwise) {
      const auto it = r.settings.find(name);
      return it == r.settings.end() ? otherwise : it->second;
    };
    FuzzRun run;
    run.size.mins = r.mins;
    run.size.extents = r.extents;
    run.size.padding = static_cast<int>(setting("padding", 0));
    run.size.margin = static_cast<int>(setting("margin", 0));
    run.size.stride = static_cast<int>(setting("stride", 1));
    run.seed = setting("seed", 1);
    run.special_floats = setting("special", 0) != 0;
    c.runs.push_back(std::move(run));
  }
  return c;
}

}  // namespace

std::string to_text(const FuzzCase &c, const std::string &remark) {
  return driver::to_text(failing(c), remark);
}

FuzzCase parse_case(const std::string &text) { return fuzz_case(driver::parse_case(text)); }

FuzzCase shrink(FuzzCase c, const std::string &signature, int seconds) {
  const auto fails = [&](const driver::FailingCase &f) {
    const FuzzVerdict v = judge_apart(fuzz_case(f));
    return v.kind == FuzzVerdict::Fail && v.signature == signature;
  };
  return fuzz_case(driver::reduce(failing(c), fails, seconds));
}

}  // namespace calotype::test
