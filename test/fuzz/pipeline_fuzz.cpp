// Random pipelines under random schedules against the reference interpreter, bit by bit.
//
// CALO_SEED: where to start (1); CALO_SECONDS: how long (else a fixed number of programs); CALO_KEEP_GOING=1: report
// every failure instead of stopping at the fifth; CALO_CASE=file: judge and shrink that file instead. Failures are
// shrunk and written to test/fuzz/found; every file there is run as a test.
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
#include "schedule/text.h"
#include "support/fuzz_case.h"
#include "support/random_program.h"
#include "support/random_schedule.h"

using namespace calotype;
using namespace calotype::test;

namespace {

const std::string kFound = std::string(CALO_SOURCE_DIR) + "/test/fuzz/found/";
constexpr int kDefaultPrograms = 60, kSchedules = 3;

long env(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::atol(text) : otherwise;
}

// ---- what was exercised --------------------------------------------------------------------------------------------
class Coverage {
public:
  void count(const FuzzCase &c) {
    ir::Program p = ir::parse_program(c.program);
    schedule::Schedule s = schedule::parse_schedule(c.schedule, "case.sched");
    for (const schedule::Directive &d : s.directives) {
      std::string tail = "-";
      for (const schedule::Arg &a : d.args) {
        for (const char *t : kTails) {
          if (a.text == t) tail = t;
        }
      }
      const char *stage = d.stage > 0 ? "update" : p.is_output(d.func) ? "output" : "inner";
      hits_[std::string(schedule::directive_name(d.kind)) + " " + tail][stage]++;
    }
  }
  void print() const {
    std::printf("%-42s %8s %8s %8s\n", "accepted directives", "output", "inner", "update");
    for (auto &[name, by] : hits_) {
      auto n = [&by = by](const char *k) { return by.count(k) ? by.at(k) : 0; };
      std::printf("%-42s %8d %8d %8d\n", name.c_str(), n("output"), n("inner"), n("update"));
    }
  }

private:
  static constexpr const char *kTails[] = {"RoundUp",
                                           "GuardWithIf",
                                           "Predicate",
                                           "PredicateLoads",
                                           "PredicateStores",
                                           "ShiftInwards",
                                           "ShiftInwardsAndBlend",
                                           "RoundUpAndBlend",
                                           "Auto"};
  std::map<std::string, std::map<std::string, int>> hits_;
};

// ---- sizes -----------------------------------------------------------------------------------------------------
FuzzRun random_run(Dice &dice) {
  FuzzRun r;
  int64_t budget = 3000;
  for (int d = 0; d < 5; d++) {
    int n = dice.pick(std::vector<int>{1, 2, 3, 7, 8, 16, 17, 33, 64, 100});
    if (d > 1) n = dice.pick(std::vector<int>{1, 2, 3, 5});
    while (n > budget) n = (n + 1) / 2;
    budget /= std::max(n, 1);
    if (dice.chance(1)) n = 0;
    r.size.extents.push_back(n);
    r.size.mins.push_back(dice.pick(std::vector<int>{0, 0, 0, 1, -1, -5, 3, 17, -100}));
  }
  r.size.padding = dice.pick(std::vector<int>{0, 0, 3, 16});
  r.seed = dice.bits() % 100000;
  r.special_floats = dice.chance(30);
  return r;
}

class Fuzzer {
public:
  explicit Fuzzer(long seed) : seed_(seed) {}

  void run() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("fuzz: seed %ld\n", seed_);
    std::fflush(stdout);
    long seconds = env("CALO_SECONDS", 0);
    auto start = std::chrono::steady_clock::now();
    for (long i = 0;; i++) {
      double passed =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (seconds > 0 ? passed > static_cast<double>(seconds)
                      : i >= env("CALO_ITERS", kDefaultPrograms))
        break;
      one_program(static_cast<uint64_t>(seed_ + i));
      if (failures_ >= 5 && !env("CALO_KEEP_GOING", 0)) break;
    }
    coverage_.print();
    std::printf("%d programs, %d pairs compared, %d refused (", programs_, passed_, refused_);
    for (auto &[code, n] : codes_) std::printf("%s %d, ", code.c_str(), n);
    std::printf("), %d runs refused, %d too slow to finish, %d failures\n", refused_runs_, slow_,
                failures_);
    CHECK(failures_ == 0);
  }

private:
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
      fail("program-" + std::to_string(seed), {}, {FuzzVerdict::Fail, "generator", e.what(), 0});
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
      s.mistakes = 12;
      s.most_directives = dice.pick(std::vector<int>{1, 2, 3, 5});
      c.schedule =
          k == 0 ? plain_schedule(p) : random_schedule(p, seed * 31 + static_cast<uint64_t>(k), s);
      std::string name = std::to_string(seed) + "-" + std::to_string(k);
      if (env("CALO_SHOW", 0)) std::printf("%s\n", to_text(c, name).c_str());
      auto before = std::chrono::steady_clock::now();
      FuzzVerdict v = judge_apart(c);
      double used =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
      if (used > static_cast<double>(env("CALO_SLOW", 30))) {
        std::printf("fuzz: %s takes %.1f s\n%s", name.c_str(), used, to_text(c, "slow").c_str());
      }
      if (k == 0 && v.kind == FuzzVerdict::Refused)
        v.kind = FuzzVerdict::Fail, v.signature = "plain refused " + v.signature;
      count(name, c, v);
      if (k == 0 && v.kind == FuzzVerdict::Fail) break;  // the schedules would repeat it
    }
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
      passed_++;
      refused_runs_ += v.refused_runs;
      coverage_.count(c);
    }
  }

  void fail(const std::string &name, const FuzzCase &c, const FuzzVerdict &v) {
    failures_++;
    std::string remark = "seed " + name + ": " + v.signature + "\n" + v.text;
    bool seen = !kinds_.insert(v.signature).second;
    FuzzCase small = seen ? c : shrink(c, v.signature, static_cast<int>(env("CALO_SHRINK", 60)));
    FuzzVerdict again = judge_apart(small);
    std::string text = to_text(small, "seed " + name + ": " + v.signature + "\n" + again.text);
    if (seen) {
      std::printf("\nFAILURE again: %s: %s\n", name.c_str(), v.signature.c_str());
    } else {
      std::printf("\nFAILURE %s\n%s\nshrunk to:\n%s", name.c_str(), remark.c_str(), text.c_str());
    }
    std::fflush(stdout);
    std::ofstream(kFound + name + ".ir") << text;
  }

  long seed_;
  int programs_ = 0, passed_ = 0, refused_ = 0, refused_runs_ = 0, failures_ = 0, slow_ = 0;
  std::map<std::string, int> codes_;
  std::set<std::string> kinds_;
  Coverage coverage_;
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
      std::printf("%s", to_text(c, v.signature + "\n" + judge_apart(c).text).c_str());
    }
    CHECK(v.kind != FuzzVerdict::Fail);
    return;
  }
  Fuzzer(env("CALO_SEED", 1)).run();
}
