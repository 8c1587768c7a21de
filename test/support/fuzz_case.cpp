// See fuzz_case.h. Shrinking is greedy: try the largest removals first, keep each one after which the same failure is
// still seen, until none is left or time is up.
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

// ---- text ------------------------------------------------------------------------------------------------------

std::string to_text(const FuzzCase &c, const std::string &remark) {
  std::ostringstream out;
  std::istringstream lines(remark);
  for (std::string line; std::getline(lines, line);) out << "# " << line << "\n";
  out << c.program << "--- schedule\n" << c.schedule;
  if (!c.schedule.empty() && c.schedule.back() != '\n') out << "\n";
  for (const FuzzRun &r : c.runs) {
    out << "--- run seed=" << r.seed << " special=" << r.special_floats
        << " padding=" << r.size.padding << " margin=" << r.size.margin
        << " stride=" << r.size.stride;
    for (size_t d = 0; d < r.size.mins.size(); d++)
      out << " " << r.size.mins[d] << "+" << r.size.extents[d];
    out << "\n";
  }
  return out.str();
}

FuzzCase parse_case(const std::string &text) {
  FuzzCase c;
  std::istringstream in(text);
  int part = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("--- schedule", 0) == 0) {
      part = 1;
    } else if (line.rfind("--- run", 0) == 0) {
      FuzzRun r;
      std::istringstream words(line.substr(7));
      for (std::string w; words >> w;) {
        const size_t eq = w.find('='), plus = w.find('+');
        if (eq != std::string::npos) {
          unsigned long long n = std::stoull(w.substr(eq + 1));
          const std::string key = w.substr(0, eq);
          if (key == "seed") r.seed = n;
          if (key == "special") r.special_floats = n != 0;
          if (key == "padding") r.size.padding = static_cast<int>(n);
          if (key == "margin") r.size.margin = static_cast<int>(n);
          if (key == "stride") r.size.stride = static_cast<int>(n);
        } else if (plus != std::string::npos) {
          r.size.mins.push_back(std::stoi(w.substr(0, plus)));
          r.size.extents.push_back(std::stoi(w.substr(plus + 1)));
        }
      }
      c.runs.push_back(r);
    } else if (part == 1) {
      c.schedule += line + "\n";
    } else if (line.empty() || line[0] != '#') {
      c.program += line + "\n";
    }
  }
  return c;
}

// ---- shrinking -------------------------------------------------------------------------------------------------

namespace {

class Shrinker {
public:
  Shrinker(FuzzCase c, std::string signature, int seconds)
      : best_(std::move(c)),
        signature_(std::move(signature)),
        end_(std::chrono::steady_clock::now() + std::chrono::seconds(seconds)) {}

  FuzzCase run() {
    bool changed = true;
    while (changed && !late()) {
      changed = drop_runs();
      changed |= drop_directives();
      changed |= drop_outputs();
      changed |= drop_definitions();
      changed |= simplify_values();
      changed |= drop_params();
      changed |= smaller_sizes();
    }
    return best_;
  }

private:
  bool late() const { return std::chrono::steady_clock::now() > end_; }
  bool keep(const FuzzCase &c) {
    if (late()) return false;
    FuzzVerdict v = judge_apart(c);
    if (v.kind != FuzzVerdict::Fail || v.signature != signature_) return false;
    best_ = c;
    return true;
  }
  bool keep(const Program &p) {
    if (!verify(p).empty()) return false;
    FuzzCase c = best_;
    c.program = to_string(p);
    return keep(c);
  }

  bool drop_runs() {
    bool changed = false;
    for (size_t i = best_.runs.size(); i-- > 0 && best_.runs.size() > 1;) {
      FuzzCase c = best_;
      c.runs.erase(c.runs.begin() + static_cast<long>(i));
      changed |= keep(c);
    }
    return changed;
  }

  static std::vector<std::string> lines_of(const std::string &s) {
    std::vector<std::string> lines;
    std::istringstream in(s);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }
  static std::string joined(const std::vector<std::string> &lines) {
    std::string s;
    for (const std::string &line : lines) s += line + "\n";
    return s;
  }
  bool drop_directives() {
    bool changed = false;
    for (size_t size = 8; size > 0; size /= 2) {
      for (size_t i = lines_of(best_.schedule).size(); i-- > 1;) {
        std::vector<std::string> lines = lines_of(best_.schedule);
        if (i + size > lines.size()) continue;
        lines.erase(lines.begin() + static_cast<long>(i),
                    lines.begin() + static_cast<long>(i + size));
        FuzzCase c = best_;
        c.schedule = joined(lines);
        changed |= keep(c);
      }
    }
    return changed;
  }

  bool drop_outputs() {
    bool changed = false;
    for (size_t i = 0; i < parse_program(best_.program).outputs.size(); i++) {
      Program p = parse_program(best_.program);
      if (p.outputs.size() < 2) break;
      p.outputs.erase(p.outputs.begin() + static_cast<long>(i));
      changed |= keep(without_unread(p));
    }
    return changed;
  }
  bool drop_definitions() {
    bool changed = false;
    Program now = parse_program(best_.program);
    for (size_t f = now.funcs.size(); f-- > 0;) {
      for (size_t k = f < now.funcs.size() ? now.funcs[f].definitions.size() : 0; k-- > 1;) {
        for (bool whole : {true, false}) {
          Program p = parse_program(best_.program);
          if (f >= p.funcs.size() || k >= p.funcs[f].definitions.size()) continue;
          Definition &d = p.funcs[f].definitions[k];
          if (!whole && !d.predicate.defined()) continue;
          if (whole) {
            p.funcs[f].definitions.erase(p.funcs[f].definitions.begin() + static_cast<long>(k));
          } else {
            d.predicate = Expr();
          }
          changed |= keep(without_unread(p));
        }
      }
      now = parse_program(best_.program);
    }
    return changed;
  }

  static Program without_unread(const Program &p) {
    Program r;
    r.name = p.name;
    r.params = p.params;
    r.outputs = p.outputs;
    std::vector<Name> read = p.outputs;
    for (size_t i = p.funcs.size(); i-- > 0;) {
      bool needed = false;
      for (Name n : read) needed |= n == p.funcs[i].name;
      if (!needed) continue;
      for (const Definition &d : p.funcs[i].definitions) {
        for (Name n : called_funcs(d)) read.push_back(n);
      }
      r.funcs.insert(r.funcs.begin(), p.funcs[i]);
    }
    return r;
  }

  bool drop_params() {
    bool changed = false;
    for (size_t i = parse_program(best_.program).params.size(); i-- > 0;) {
      Program p = parse_program(best_.program);
      std::string name = p.params[i]->name;
      p.params.erase(p.params.begin() + static_cast<long>(i));
      std::string text = to_string(p);
      if (contains(text, ("@" + name).c_str())) continue;
      changed |= keep(p);
    }
    return changed;
  }

  // Every expression of a program: right sides, left sides, predicates.
  static std::vector<Expr *> slots(Program &p) {
    std::vector<Expr *> all;
    for (Function &f : p.funcs) {
      for (size_t k = 0; k < f.definitions.size(); k++) {
        Definition &d = f.definitions[k];
        for (Expr &e : d.values) all.push_back(&e);
        if (d.predicate.defined()) all.push_back(&d.predicate);
        if (k > 0) {
          for (Expr &e : d.args) all.push_back(&e);
        }
      }
    }
    return all;
  }

  class Replacer final : public IRMutator {
  public:
    Replacer(int position, Expr by) : position_(position), by_(std::move(by)) {}
    Expr mutate(const Expr &e) override {
      if (count_++ == position_) return by_;
      return IRMutator::mutate(e);
    }

  private:
    int position_, count_ = 0;
    Expr by_;
  };
  // Sub-expressions in the order that Replacer counts them.
  class Lister final : public IRMutator {
  public:
    std::vector<Expr> found;
    Expr mutate(const Expr &e) override {
      found.push_back(e);
      return IRMutator::mutate(e);
    }
  };
  static std::vector<Expr> list(const Expr &e) {
    Lister l;
    l.mutate(e);
    return l.found;
  }

  bool try_replace(size_t slot, int position, const Expr &by) {
    Program p = parse_program(best_.program);
    Expr *e = slots(p)[slot];
    *e = Replacer(position, by).mutate(*e);
    return keep(without_unread(p));
  }

  bool simplify_values() {
    bool changed = false;
    Program now = parse_program(best_.program);
    size_t n = slots(now).size();
    for (size_t slot = 0; slot < n && !late(); slot++) {
      for (int position = 0; !late(); position++) {
        Program p = parse_program(best_.program);
        if (slot >= slots(p).size()) break;
        std::vector<Expr> parts = list(*slots(p)[slot]);
        if (position >= static_cast<int>(parts.size())) break;
        const Expr &e = parts[static_cast<size_t>(position)];
        std::vector<Expr> tries;
        bool leaf = is_const(e) || e.as<Variable>();
        if (!leaf) {
          std::vector<Expr> inner = list(e);
          if (!e.type().is_handle() && inner.size() > 1) tries.push_back(make_const(e.type(), 1));
          for (size_t k = 1; k < inner.size() && tries.size() < 6; k++) {
            if (inner[k].type() == e.type()) tries.push_back(inner[k]);
          }
        }
        for (const Expr &by : tries) {
          if (equal_text(by, e)) continue;
          if (try_replace(slot, position, by)) {
            changed = true;
            position--;
            break;
          }
        }
      }
    }
    return changed;
  }
  static bool equal_text(const Expr &a, const Expr &b) { return to_string(a) == to_string(b); }

  bool smaller_sizes() {
    bool changed = false;
    for (size_t r = 0; r < best_.runs.size(); r++) {
      for (size_t d = 0; d < best_.runs[r].size.mins.size(); d++) {
        FuzzCase c = best_;
        if (c.runs[r].size.mins[d] != 0) {
          c.runs[r].size.mins[d] = 0;
          changed |= keep(c);
        }
        for (int n : {1, 2, 3, 5, 8, 16, 33}) {
          c = best_;
          if (n >= c.runs[r].size.extents[d]) break;
          c.runs[r].size.extents[d] = n;
          if (keep(c)) {
            changed = true;
            break;
          }
        }
      }
      FuzzCase c = best_;
      if (c.runs[r].size.padding || c.runs[r].special_floats || c.runs[r].size.margin ||
          c.runs[r].size.stride != 1) {
        c.runs[r].size.padding = c.runs[r].size.margin = 0;
        c.runs[r].size.stride = 1;
        c.runs[r].special_floats = false;
        changed |= keep(c);
      }
    }
    return changed;
  }

  FuzzCase best_;
  std::string signature_;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

FuzzCase shrink(FuzzCase c, const std::string &signature, int seconds) {
  return Shrinker(std::move(c), signature, seconds).run();
}

}  // namespace calotype::test
