// tune: searches for a schedule and writes it as a file like those that people write.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../base/disk_cache.h"
#include "../ir/function.h"
#include "../schedule/text.h"
#include "calo_tune.h"

namespace calotype::cli {

namespace fs = std::filesystem;
using autoscheduler::Candidate;
using autoscheduler::Measurement;

namespace {

std::atomic<bool> interrupted{false};
void interrupt(int) { interrupted = true; }

/// Ctrl-C ends the search, not the program, while this lives.
class InterruptGuard {
public:
  InterruptGuard() {
    struct sigaction action = {};
    action.sa_handler = interrupt;
    sigaction(SIGINT, &action, &before_);
  }
  InterruptGuard(const InterruptGuard &) = delete;
  ~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }

private:
  struct sigaction before_ = {};
};

/// "60s", "90", "10min".
double seconds_of(const std::string &text) {
  size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception &) {
  }
  const std::string unit = text.substr(used);
  const double scale = unit == "min" || unit == "m" ? 60 : unit == "h" ? 3600 : 1;
  const bool known = unit.empty() || unit == "s" || scale > 1;
  if (!(value >= 0 && value <= 1e6) || !known) {
    raise(Diagnostic("L0502", {}, "--budget " + text + " is no time")
              .fix("--budget 60s; 0: the model alone"));
  }
  return value * scale;
}

std::string machine_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(": ") + 2);
  }
  return "unknown processor";
}

std::string today() {
  const std::time_t t = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&t));
  return text;
}

/// The target that the file's name says, else the widest that the code's target has.
std::string target_line(const std::string &path, const Target &t) {
  std::string stem = fs::path(path).stem().string();
  for (std::string name = stem; !name.empty(); name = name.substr(0, name.rfind('-'))) {
    if (schedule::is_schedule_target(name)) return name;
    if (name.find('-') == std::string::npos) break;
  }
  if (t.has_feature(Target::AVX512_Skylake)) return "x86-64-avx512";
  if (t.features_all_of({Target::AVX2, Target::FMA, Target::F16C})) return "x86-64-avx2";
  return "any";
}

/// Sizes of all arguments as the command line gives them: found by binding them to the pipeline.
ir::EvalContext sizes_given(const Request &r, const Algorithm &a, const std::string &reference) {
  const driver::Compiled c(
      a.program, schedule::parse_schedule("calotype 1\n" + reference, "reference"), a.target);
  const run::Filter f = filter_of(a, c);
  const run::Values v = read_arguments(r, a, f);
  ir::EvalContext cx;
  cx.fma = a.target.fuses_multiply_add();
  for (size_t i = 0; i < f.args.size(); i++) {
    const ir::Parameter *p = c.function().args[i].param.get();
    if (f.args[i].is_buffer()) {
      std::vector<int> mins;
      for (int d = 0; d < v.images[i].dimensions(); d++) mins.push_back(v.images[i].dim(d).min());
      define_sizes(f.args[i].name, mins, extents_of(v.images[i]), cx);
    } else if (p && !p->type.is_float() && !p->type.is_handle()) {
      cx.vars[f.args[i].name] = ir::Value::of_int(p->type, static_cast<int64_t>(v.scalars[i]));
    }
  }
  return cx;
}

std::string sizes_text(const Algorithm &a, const ir::EvalContext &sizes) {
  std::string text;
  for (const ir::Name out : a.program.outputs) {
    const ir::Function &f = *a.program.find(out);
    const std::string buffer = f.types.size() > 1 ? f.name + ".0" : f.name.str();
    text += (text.empty() ? "" : ", ") + f.name;
    for (int d = 0; d < f.dimensions(); d++) {
      const auto v = sizes.vars.find(buffer + ".extent." + std::to_string(d));
      text +=
          (d ? " x " : " ") + (v == sizes.vars.end() ? "?" : std::to_string(v->second.as_int()));
    }
  }
  return text;
}

std::string pipeline_hash(const Algorithm &a) {
  Hash h;
  for (const ir::Function &f : a.program.funcs) h.add(ir::to_string(f));
  return h.text();
}

std::string time_text(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, ns < 1e6 ? "%.1f us" : "%.2f ms",
                ns < 1e6 ? ns / 1e3 : ns / 1e6);
  return text;
}

/// The text of a file given as a seed, without its head.
std::string seed_text(const Algorithm &a, const std::string &path) {
  schedule::Schedule s = schedule::load_schedule(path);
  if (!s.pipeline.empty() && s.pipeline != a.program.name.str()) {
    raise(Diagnostic("S0003", {},
                     path + " is for pipeline " + s.pipeline + ", not " + a.program.name));
  }
  s.pipeline.clear();
  s.target.clear();
  s.when.clear();
  const std::string text = schedule::print_schedule(s);
  return text.substr(text.find('\n') + 1);
}

struct Tuning {
  const Request &r;
  Algorithm a;
  autoscheduler::Problem problem;
  std::string reference;  ///< directives
  double budget = 60;     ///< seconds
  double begin_ms = 0;
  double left() const { return budget - 1e-3 * (now_ms() - begin_ms); }
};

std::string report_text(const Tuning &t, const autoscheduler::SearchResult &result) {
  const std::string target = target_line(t.r.out, t.a.target);
  std::string head =
      "# Found by calo tune, seed " + std::to_string(t.r.seed) + ", budget " + t.r.budget +
      ", on " + today() + ".\n# " + machine_name() + ", " + std::to_string(t.problem.threads) +
      (t.problem.threads == 1 ? " thread" : " threads") + ", target " + t.a.target.to_string() +
      ",\n# calotype " + CALO_VERSION + "; " + sizes_text(t.a, t.problem.sizes) + ": " +
      (result.best.measured >= 0
           ? time_text(result.best.measured) + " measured"
           : "not measured, " + time_text(result.best.predicted) + " predicted") +
      ".\n";
  return head + "calotype 1\npipeline " + t.a.program.name.str() + "\ntarget " + target + "\n" +
         result.best.text;
}

std::vector<std::string> worker_command(const Request &r, const Target &target) {
  std::vector<std::string> words = {"calo",     "tune",     r.source,
                                    "--worker", "--target", target.to_string()};
  if (!r.generator.empty()) words.insert(words.end(), {"-g", r.generator});
  for (const std::string &w : r.words) words.push_back(w);
  if (r.estimate_all) words.emplace_back("--estimate_all");
  if (!r.arguments.output_extents.empty())
    words.insert(words.end(), {"--output_extents", r.arguments.output_extents});
  if (!r.arguments.default_buffers.empty())
    words.insert(words.end(), {"--default_input_buffers", r.arguments.default_buffers});
  if (!r.arguments.default_scalars.empty())
    words.insert(words.end(), {"--default_input_scalars", r.arguments.default_scalars});
  return words;
}

autoscheduler::SearchResult run_search(Tuning &t) {
  const Request &r = t.r;
  autoscheduler::SearchOptions o;
  o.seed = r.seed;
  for (const std::string &path : r.seeds) o.seeds.push_back(seed_text(t.a, path));
  o.stop = [] { return interrupted.load(); };
  Worker worker(worker_command(r, t.a.target), t.problem.threads, t.reference);
  TuneLog log(r.log, pipeline_hash(t.a) + "; " + sizes_text(t.a, t.problem.sizes) + "; " +
                         t.a.target.to_string() + "; " + machine_name() + "; " +
                         std::to_string(t.problem.threads) + " threads; calotype " + CALO_VERSION);
  if (log.size() > 0 && !r.json)
    std::fprintf(stderr, "%zu measurements from %s\n", log.size(), r.log.c_str());
  if (t.budget > 0) {
    o.measure = [&](const std::string &text, double give_up_after) {
      if (const Measurement *known = log.find(text)) return *known;
      const Measurement m = worker.measure(text, give_up_after, std::max(t.left(), 0.1));
      if (m.status == "out of time") return m;
      log.add(text, m);
      if (m.ns < 0 && !r.json) std::fprintf(stderr, "  not usable: %s\n", m.status.c_str());
      return m;
    };
  }
  if (t.budget > 0) {
    o.remeasure = [&](const std::string &text, double give_up_after) {
      return worker.measure(text, give_up_after, std::max(0.05 * t.budget, t.left()));
    };
  }
  o.progress = [&](const Candidate &best, int measured, double seconds) {
    if (r.json) return;
    std::fprintf(stderr, "%6.1f s  %3d measured  best %s\n", seconds, measured,
                 time_text(best.measured).c_str());
  };
  const InterruptGuard guard;
  // a twentieth of the time is the finalists'
  o.budget_seconds = t.budget > 0 ? std::max(t.left() - 0.05 * t.budget, 0.1) : 0;
  return autoscheduler::search(t.problem, o);
}

}  // namespace

int tune(const Request &given) {
  if (given.worker) return tune_worker(given);
  Request r = given;
  Tuning t{r, load_algorithm(r), autoscheduler::Problem(), {}, seconds_of(r.budget), now_ms()};
  t.problem.program = t.a.program;
  t.problem.target = t.a.target;
  t.problem.threads = r.threads > 0
                          ? r.threads
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (t.a.arguments.empty() && r.arguments.output_extents.empty()) r.estimate_all = true;
  std::string missing;
  if (r.estimate_all) {
    t.problem.sizes = estimates_of(t.a, &missing);
    if (!missing.empty()) {
      raise(Diagnostic("R0101", {}, missing + " has no estimates, and no size was given")
                .fix("give arguments as to `calo run`, or set_estimates in the generator"));
    }
  }
  t.reference = autoscheduler::reference_directives(t.a.program, t.a.target);
  if (!r.estimate_all) t.problem.sizes = sizes_given(r, t.a, t.reference);
  const autoscheduler::SearchResult result = run_search(t);
  const std::string text = report_text(t, result);
  if (r.out == "." || r.out == "-") {
    if (!r.json) std::printf("%s", text.c_str());
  } else {
    write_text(r.out, text);
  }
  if (r.json) {
    print(Json{{"pipeline", t.a.program.name.str()},
               {"target", t.a.target.to_string()},
               {"file", r.out},
               {"schedule", text},
               {"measured_ns", result.best.measured},
               {"predicted_ns", result.best.predicted},
               {"considered", result.considered},
               {"refused", result.refused},
               {"measured", result.measured},
               {"failed", result.failed}});
  } else {
    std::fprintf(stderr, "%d considered, %d measured, %d of them not usable\n", result.considered,
                 result.measured, result.failed);
  }
  return 0;
}

}  // namespace calotype::cli
