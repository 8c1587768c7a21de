// Random pipelines under random schedules against the reference interpreter, bit by bit. On the way: every refusal must be
// one that the schedule explains, and C++ calls must be refused for the same reason as text.
//
// CALO_SEED: where to start (1); CALO_SECONDS: how long (else a fixed number of programs); CALO_KEEP_GOING=1: report
// every failure instead of stopping at the fifth; CALO_COVERAGE=file: adds up coverage there over several runs;
// CALO_CASE=file: judge and shrink that file instead; CALO_PAIR=seed-k: that pair alone. Failures are shrunk and written to test/fuzz/found (or CALO_FOUND);
// every file there is run as a test.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support/cpp_calls.h"
#include "support/fuzz_case.h"
#include "support/fuzz_coverage.h"
#include "support/random_program.h"
#include "support/random_schedule.h"
#include "support/refusals.h"
#include "support/schedule_mistakes.h"

using namespace calotype;
using namespace calotype::test;

namespace {

const std::string kFound = std::string(CALO_SOURCE_DIR) + "/test/fuzz/found/";
constexpr int kEnoughHits = 50;
constexpr int kDefaultPrograms = 60, kSchedules = 3;

long env(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::atol(text) : otherwise;
}

std::string found_folder() {
  const char *folder = std::getenv("CALO_FOUND");
  return folder ? std::string(folder) + "/" : kFound;
}

// ---- sizes -----------------------------------------------------------------------------------------------------
FuzzRun random_run(Dice &dice) {
  FuzzRun r;
  int64_t budget = 3000;
  for (int d = 0; d < 5; d++) {
    int n = dice.pick(std::vector<int>{1, 2, 3, 7, 7, 8, 16, 17, 33, 33, 64, 100});
    if (d > 1) n = dice.pick(std::vector<int>{1, 2, 3, 5, 7});
    while (n > budget) n = (n + 1) / 2;
    budget /= std::max(n, 1);
    if (dice.chance(1)) n = 0;
    r.size.extents.push_back(n);
    r.size.mins.push_back(dice.pick(std::vector<int>{0, 0, 0, 1, -1, -5, 3, 17, -100}));
  }
  r.size.padding = dice.pick(std::vector<int>{0, 0, 3, 16});
  r.size.margin = dice.pick(std::vector<int>{0, 0, 0, 1, 5});
  r.size.stride = dice.pick(std::vector<int>{1, 1, 1, 1, 2, 3});
  r.seed = dice.bits() % 100000;
  r.special_floats = dice.chance(30);
  return r;
}

class Fuzzer {
public:
  explicit Fuzzer(long seed) : seed_(seed) {}
  /// The one pair that an earlier run called "seed-k".
  explicit Fuzzer(const std::string &pair) : seed_(std::atol(pair.c_str())), only_(pair) {}

  void run() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("fuzz: seed %ld\n", seed_);
    std::fflush(stdout);
    const char *kept = std::getenv("CALO_COVERAGE");
    if (kept) coverage_.load(kept);
    if (!only_.empty()) {
      one_program(static_cast<uint64_t>(seed_));
      totals();
      CHECK(failures_ == 0);
      return;
    }
    long seconds = env("CALO_SECONDS", 0);
    auto start = std::chrono::steady_clock::now();
    for (long i = 0;; i++) {
      double passed =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds > 0 ? passed > static_cast<double>(seconds)
                      : i >= env("CALO_ITERS", kDefaultPrograms))
        break;
      one_program(static_cast<uint64_t>(seed_ + i));
      if (i % 100 == 99) {  // a long run that is stopped has not run for nothing
        totals();
        if (kept) coverage_.save(kept);
      }
      if (failures_ >= 5 && !env("CALO_KEEP_GOING", 0)) break;
    }
    if (kept) coverage_.save(kept);
    std::printf("%s%d cells below %d\n", coverage_.table(kEnoughHits).c_str(),
                coverage_.below(kEnoughHits), kEnoughHits);
    totals();
    CHECK(failures_ == 0);
  }

private:
  void totals() const {
    std::printf("%d programs, %d pairs compared, %d refused (", programs_, passed_, refused_);
    for (auto &[code, n] : codes_) std::printf("%s %d, ", code.c_str(), n);
    std::printf("), %d runs refused, %d too slow to finish; ", refused_runs_, slow_);
    std::printf(
        "%d directives refused while drawing, %d mistakes made, %d schedules said as calls; "
        "%d failures\n",
        drawn_refused_, mistakes_, called_, failures_);
  }
  void one_program(uint64_t seed) {
    Dice dice(seed * 7919);
    ProgramShape shape;
    shape.fma = get_host_target().fuses_multiply_add();
    if (dice.chance(8)) shape.max_funcs = 12;
    if (dice.chance(30)) shape.max_funcs = 3;
    shape.depth = dice.between(1, 3);
    ir::Program p;
    try {
      p = random_program(seed, shape);
    } catch (const std::exception &e) {
      fail("program-" + std::to_string(seed), {}, {FuzzVerdict::Fail, "generator", e.what()});
      return;
    }
    programs_++;
    FuzzCase c;
    c.program = ir::to_string(p);
    for (int k = 0; k <= kSchedules; k++) {
      c.runs = {random_run(dice), random_run(dice)};
      ScheduleShape s;
      s.mins = c.runs[0].size.mins;
      s.extents = c.runs[0].size.extents;
      s.most_directives = dice.pick(std::vector<int>{1, 2, 3, 5});
      RandomSchedule drawn;
      drawn.text = plain_schedule(p);
      if (k > 0) drawn = random_schedule(p, seed * 31 + static_cast<uint64_t>(k), s);
      c.schedule = drawn.text;
      std::string name = std::to_string(seed) + "-" + std::to_string(k);
      if (!only_.empty() && name != only_) continue;
      if (env("CALO_SHOW", 0)) std::printf("%s\n", to_text(c, name).c_str());
      auto before = std::chrono::steady_clock::now();
      FuzzVerdict v = judge_apart(c);
      if (v.kind == FuzzVerdict::Pass && v.compared_runs > 0) coverage_.count(drawn.cells);
      double used =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
      if (used > static_cast<double>(env("CALO_SLOW", 30))) {
        std::printf("fuzz: %s takes %.1f s\n%s", name.c_str(), used, to_text(c, "slow").c_str());
      }
      if (k == 0 && v.kind == FuzzVerdict::Refused)
        v.kind = FuzzVerdict::Fail, v.signature = "plain refused " + v.signature;
      count(name, c, v);
      if (k == 0 && v.kind == FuzzVerdict::Fail) break;  // the schedules would repeat it
      Dice own(seed * 131 + static_cast<uint64_t>(k));
      judge_refusals(p, c, drawn, own, name);
    }
  }

  // What was refused on the way, one more mistake on purpose, and the same said as calls.
  void judge_refusals(const ir::Program &p, FuzzCase c, const RandomSchedule &drawn, Dice &dice,
                      const std::string &name) {
    std::vector<std::string> said = {drawn.text};
    if (!drawn.refused.empty()) said.push_back(dice.pick(drawn.refused).schedule);
    ScheduleMistake mistake;
    if (dice.chance(30)) {
      mistake = random_mistake(p, dice);
      said.push_back(drawn.text + mistake.line + "\n");
      mistakes_++;
    }
    drawn_refused_ += static_cast<int>(drawn.refused.size());
    called_ += static_cast<int>(said.size());
    const Apart a = run_apart([&] { return wrong_refusal(p, drawn, said, mistake); }, 20);
    FuzzVerdict v{FuzzVerdict::Fail, "crash while schedules are judged"};
    if (a.end == Apart::Done) {
      std::istringstream in(a.text);
      std::getline(in, v.signature);
      if (v.signature.empty()) return;
      std::getline(in, v.text, '\f');
      c.schedule.clear();
      std::getline(in, c.schedule, '\f');
    }
    fail(name, c, v);
  }
  // "why\ntext\fschedule" of the first that is wrong, or empty.
  static std::string wrong_refusal(const ir::Program &p, const RandomSchedule &drawn,
                                   const std::vector<std::string> &said,
                                   const ScheduleMistake &mistake) {
    for (const RefusedPiece &r : drawn.refused) {
      const std::string why = unexplained_refusal(r.schedule, r.said);
      if (!why.empty()) return "refusal " + why + "\n" + render(r.said[0]) + "\f" + r.schedule;
    }
    if (!mistake.line.empty()) {
      const std::string got = first_code(p, said.back());
      if (got.empty() ? mistake.always : mistake.codes.count(got) == 0)
        return "mistake got " + (got.empty() ? "accepted" : got) + "\n" + mistake.line + "\f" +
               said.back();
    }
    for (const std::string &schedule : said) {
      const std::string differ = calls_differ_from_text(p, schedule, get_host_target());
      if (!differ.empty()) return "calls differ\n" + differ + "\f" + schedule;
    }
    return "";
  }
  static std::string first_code(const ir::Program &p, const std::string &schedule) {
    try {
      schedule::apply(p, schedule::parse_schedule(schedule, "case.sched"), get_host_target(), true);
    } catch (const CompileError &e) {
      return e.diagnostic().code;
    }
    return "";
  }

  void count(const std::string &name, const FuzzCase &c, const FuzzVerdict &v) {
    if (v.kind == FuzzVerdict::Refused) {
      refused_++;
      codes_[v.signature.empty() ? "syntax" : v.signature]++;
      if (env("CALO_SHOW_REFUSED", 0)) std::printf("%s: %s\n", name.c_str(), v.text.c_str());
    } else if (v.kind == FuzzVerdict::Fail) {
      fail(name, c, v);
    } else if (v.kind == FuzzVerdict::Slow) {
      slow_++;
    } else {
      passed_ += v.compared_runs > 0;
      refused_runs_ += v.refused_runs;
    }
  }

  void fail(const std::string &name, const FuzzCase &c, const FuzzVerdict &v) {
    failures_++;
    std::string remark = "seed " + name + ": " + v.signature + "\n" + v.text;
    bool seen = !kinds_.insert(v.signature).second;
    FuzzCase small = seen ? c : shrink(c, v.signature, static_cast<int>(env("CALO_SHRINK", 60)));
    FuzzVerdict again = judge_apart(small);
    if (again.kind != FuzzVerdict::Fail)
      again.text = v.text;  // no failure of a run: shown as it is
    std::string text = to_text(small, "seed " + name + ": " + v.signature + "\n" + again.text);
    if (seen) {
      std::printf("\nFAILURE again: %s: %s\n", name.c_str(), v.signature.c_str());
    } else {
      std::printf("\nFAILURE %s\n%s\nshrunk to:\n%s", name.c_str(), remark.c_str(), text.c_str());
    }
    std::fflush(stdout);
    std::ofstream(found_folder() + name + ".ir") << text;
  }

  long seed_;
  std::string only_;  ///< "seed-k": the one pair to judge
  int programs_ = 0, passed_ = 0, refused_ = 0, refused_runs_ = 0, failures_ = 0, slow_ = 0;
  std::map<std::string, int> codes_;
  std::set<std::string> kinds_;
  int drawn_refused_ = 0, mistakes_ = 0, called_ = 0;
  FuzzCoverage coverage_;
};

std::string read(const std::string &path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

}  // namespace

TEST_CASE("fuzz: failures found before stay fixed") {
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(kFound)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string &file : files) {
    FuzzVerdict v = judge_apart(parse_case(read(file)));
    INFO(file << ": " << v.text);
    CHECK(v.kind != FuzzVerdict::Fail);
  }
}

TEST_CASE("fuzz: random pipelines under random schedules have the interpreter's bits") {
  if (const char *file = std::getenv("CALO_CASE")) {
    FuzzCase c = parse_case(read(file));
    FuzzVerdict v = judge_apart(c);
    std::printf("%s: %s\n%s\n",
                v.kind == FuzzVerdict::Fail      ? "fails"
                : v.kind == FuzzVerdict::Refused ? "refused"
                                                 : "passes",
                v.signature.c_str(), v.text.c_str());
    if (v.kind == FuzzVerdict::Fail && env("CALO_SHRINK", 120) > 0) {
      c = shrink(c, v.signature, static_cast<int>(env("CALO_SHRINK", 120)));
      const std::string text = to_text(c, v.signature + "\n" + judge_apart(c).text);
      std::printf("%s", text.c_str());
      std::ofstream(found_folder() + std::filesystem::path(file).filename().string()) << text;
    }
    CHECK(v.kind != FuzzVerdict::Fail);
    return;
  }
  if (const char *pair = std::getenv("CALO_PAIR")) return Fuzzer(std::string(pair)).run();
  Fuzzer(env("CALO_SEED", 1)).run();
}
