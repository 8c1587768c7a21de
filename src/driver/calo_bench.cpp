// run: one schedule, files in, files out. bench: several schedules side by side on the same arguments,
// alternating, each result compared bit for bit with the others and with the interpreter's.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "../base/source.h"
#include "../run/progress.h"
#include "calo.h"

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

constexpr double kBudgetMs = 3000;  // per schedule; a slow one gets fewer samples
constexpr int kFewest = 3;
constexpr double kReorderedError =
    1e-3;  ///< beyond it a reordered reduction is not merely rounded differently
constexpr uint64_t kSmall = 1 << 16;  // output values up to which the interpreter always checks

struct Candidate {
  Choice choice;
  std::unique_ptr<driver::Compiled> compiled;
  std::vector<Image> outputs;
  std::vector<double> times;
  double compile_ms = 0, spent = 0;
  std::string difference;  ///< from the reference; empty: the same bits
  double error =
      0;  ///< where the schedule reorders a floating-point reduction: largest, relative to the largest value
  bool reordered() const { return !compiled->reordered().empty(); }
  bool acceptable() const {
    return difference.empty() || (reordered() && error <= kReorderedError);
  }
};

/// The arguments that all candidates share; each has outputs of its own.
struct Setup {
  run::Filter filter;
  run::Values values;
  std::vector<size_t> outputs;  ///< which arguments they are
  std::vector<std::string> output_names() const {
    std::vector<std::string> names;
    for (size_t i : outputs) names.push_back(filter.args[i].name);
    return names;
  }
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
double least(const std::vector<double> &v) { return *std::min_element(v.begin(), v.end()); }

/// `keep`: compiled code may come from the disk cache; not where compiling is timed.
Candidate compile(const Algorithm &a, Choice choice, bool keep, bool quiet) {
  const run::Progress progress("compiling " + a.program.name.str(), !quiet);
  Candidate c;
  const double start = now_ms();
  c.compiled = std::make_unique<driver::Compiled>(a.program, choice.schedule, a.target, keep);
  c.compile_ms = now_ms() - start + a.program_ms;
  c.choice = std::move(choice);
  return c;
}

Setup prepare(const Request &r, const Algorithm &a, std::vector<Candidate> &all) {
  const run::Progress progress("reading arguments", !r.json);
  Setup s;
  s.filter = filter_of(a, *all[0].compiled);
  s.values = read_arguments(r, a, s.filter);
  for (size_t i = 0; i < s.filter.args.size(); i++) {
    if (s.filter.args[i].is_output()) s.outputs.push_back(i);
  }
  for (Candidate &c : all) {
    for (size_t i : s.outputs) c.outputs.push_back(run::allocate_like(s.values.images[i]));
  }
  return s;
}

double time_once(Candidate &c, Setup &s) {
  std::vector<void *> argv = s.values.argv();
  for (size_t k = 0; k < s.outputs.size(); k++) argv[s.outputs[k]] = c.outputs[k].raw_buffer();
  const std::vector<const void *> pointers(argv.begin(), argv.end());
  const double start = now_ms();
  c.compiled->run(pointers);
  return now_ms() - start;
}

std::string schedule_text(const Choice &c) {
  return c.path.empty() ? "the schedule written in C++" : c.path;
}

Json outputs_json(const Setup &s, const std::vector<Image> &outputs) {
  Json all = Json::array();
  for (size_t k = 0; k < outputs.size(); k++) {
    const size_t i = s.outputs[k];
    Json o{{"name", s.filter.args[i].name},
           {"type", type_text(Type(outputs[k].type()))},
           {"extents", extents_of(outputs[k])}};
    if (!s.values.files[i].empty()) o["file"] = s.values.files[i];
    all.push_back(std::move(o));
  }
  return all;
}

[[noreturn]] void differs(const Choice &c, const std::string &difference) {
  raise(Diagnostic(
            "X0001", {},
            "under " + schedule_text(c) + " " + difference + " as the reference interpreter has it")
            .fix("this is a mistake in Calotype, not in your program: please report it"));
}

uint64_t value_count(const std::vector<Image> &outputs) {
  uint64_t n = 0;
  for (const Image &o : outputs) {
    uint64_t all = 1;
    for (int e : extents_of(o)) all *= static_cast<uint64_t>(std::max(e, 0));
    n += all;
  }
  return n;
}

/// Alternates between the candidates, so that what else the machine does meets all of them.
void sample(std::vector<Candidate> &all, Setup &s, const Request &r) {
  const run::Progress progress("timing " + s.filter.name, !r.json);
  for (Candidate &c : all) c.spent = time_once(c, s);  // warms up; counts only as time spent
  for (int round = 0; round < std::max(r.samples, 1); round++) {
    for (Candidate &c : all) {
      if (round >= kFewest && c.spent > kBudgetMs) continue;
      c.times.push_back(time_once(c, s));
      c.spent += c.times.back();
    }
  }
}

/// Picture formats take what pictures hold, everything else goes to npy.
std::string ending_for(const Image &image) {
  const Type t(image.type());
  const bool samples = t == UInt(8) || t == UInt(16) || t == Float(32);
  const int channels = image.dimensions() == 3 ? image.dim(2).extent() : 1;
  const bool shape = image.dimensions() == 2 || image.dimensions() == 3;
  return samples && shape && channels >= 1 && channels <= 4 ? ".png" : ".npy";
}

std::string save_outputs(const Request &r, const Setup &s, const Candidate &c) {
  fs::create_directories(r.save);
  std::string first;
  for (size_t i = 0; i < c.outputs.size(); i++) {
    std::string stem = s.filter.name + "-" + c.choice.label;
    if (c.outputs.size() > 1) stem += "-" + s.filter.args[s.outputs[i]].name;
    const std::string file = (fs::path(r.save) / (stem + ending_for(c.outputs[i]))).string();
    save(file, c.outputs[i]);
    if (first.empty()) first = file;
  }
  return first;
}

/// The candidate that others are compared with: the one without directives, else the slowest.
size_t baseline(const std::vector<Candidate> &all) {
  size_t slowest = 0;
  for (size_t i = 0; i < all.size(); i++) {
    if (all[i].choice.schedule.directives.empty()) return i;
    if (least(all[i].times) > least(all[slowest].times)) slowest = i;
  }
  return slowest;
}

struct Verdict {
  bool interpreter = false;
  size_t reference = 0;  ///< without interpreter: the candidate that others are compared with
  double interpreter_ms = 0;
  bool all_same = true;
};

/// Fills in each candidate's difference from the interpreter (where asked for, or cheap), else from one of them.
std::vector<Image> reference_of(const Request &r, const Algorithm &a, Setup &s) {
  const run::Progress progress("interpreting " + s.filter.name, !r.json);
  return interpret(a, s.filter, s.values);
}

Verdict compare(const Request &r, const Algorithm &a, Setup &s, std::vector<Candidate> &all) {
  Verdict v;
  // One that keeps the order of reductions, if there is one.
  while (v.reference < all.size() && all[v.reference].reordered()) v.reference++;
  if (v.reference == all.size()) v.reference = 0;
  std::vector<Image> reference = all[v.reference].outputs;
  if (r.check || value_count(reference) <= kSmall) {
    const double start = now_ms();
    reference = reference_of(r, a, s);
    v.interpreter_ms = now_ms() - start;
    v.interpreter = true;
  }
  for (Candidate &c : all) {
    c.difference = first_difference(s.output_names(), c.outputs, reference);
    if (c.reordered()) c.error = largest_error(c.outputs, reference);
    v.all_same = v.all_same && c.acceptable();
  }
  return v;
}

std::string milliseconds(double ms) {
  char out[32];
  std::snprintf(out, sizeof out, ms < 100 ? "%.2f" : "%.0f", ms);
  return out;
}

std::string verdict(const Candidate &c) {
  if (c.difference.empty()) return "yes";
  if (!c.reordered()) return "NO: " + c.difference;
  char error[32];
  std::snprintf(error, sizeof error, "%.1e", c.error);
  std::string text = std::string(c.acceptable() ? "" : "NO: ") + "error " + error + " (";
  for (const std::string &what : c.compiled->reordered())
    text += (text.back() == '(' ? "" : ", ") + what;
  return text + ")";
}

void print_table(const Algorithm &a, const std::vector<Candidate> &all,
                 const std::vector<std::string> &skipped, const Verdict &v) {
  size_t width = 8;
  for (const Candidate &c : all) width = std::max(width, c.choice.label.size());
  std::printf("%s  %s  %s\n", a.program.name.c_str(),
              all[0].outputs.empty() ? "" : shape_text(all[0].outputs[0]).c_str(),
              a.target.to_string().c_str());
  const int w = static_cast<int>(width);
  std::printf("%-*s  %9s  %9s  %9s  %10s  %s\n", w, "schedule", "ms (min)", "median", "speed-up",
              "compile ms", v.interpreter ? "interpreter's bits" : "same bits");
  const Candidate &base = all[baseline(all)];
  for (const Candidate &c : all) {
    std::printf("%-*s  %9s  %9s  %8.1fx  %10.1f  %s\n", w, c.choice.label.c_str(),
                milliseconds(least(c.times)).c_str(), milliseconds(median(c.times)).c_str(),
                least(base.times) / least(c.times), c.compile_ms, verdict(c).c_str());
  }
  for (const std::string &s : skipped) std::printf("%s\n", ("skipped " + s).c_str());
  if (v.interpreter) {
    std::printf("reference interpreter: %s ms\n", milliseconds(v.interpreter_ms).c_str());
  }
}

Json results_json(const Algorithm &a, const Setup &s, const std::vector<Candidate> &all,
                  const std::vector<std::string> &skipped, const Verdict &v) {
  Json results = Json::array();
  const Candidate &base = all[baseline(all)];
  for (const Candidate &c : all) {
    Json one{{"schedule", c.choice.label},
             {"file", c.choice.path},
             {"ms", least(c.times)},
             {"median_ms", median(c.times)},
             {"times_ms", c.times},
             {"compile_ms", c.compile_ms},
             {"speed_up", least(base.times) / least(c.times)},
             {"same_bits", c.difference.empty()}};
    if (!c.difference.empty()) one["difference"] = c.difference;
    if (c.reordered()) {
      one["reordered"] = c.compiled->reordered();
      one["relative_error"] = c.error;
    }
    results.push_back(std::move(one));
  }
  return Json{{"pipeline", a.program.name.str()},
              {"target", a.target.to_string()},
              {"numerics", numeric_mode(a.target)},
              {"outputs", outputs_json(s, all[0].outputs)},
              {"reference", v.interpreter ? "interpreter" : all[v.reference].choice.label},
              {"baseline", base.choice.label},
              {"results", results},
              {"skipped", skipped}};
}

}  // namespace

int run(const Request &r) {
  const Algorithm a = load_algorithm(r);
  const std::string given = r.schedules.empty() ? "" : r.schedules.back();
  const Choice choice = choose(r, a, given);
  std::vector<Candidate> one;
  one.push_back(compile(a, choice, true, r.json));
  Candidate &c = one[0];
  Setup s = prepare(r, a, one);
  double ms;
  {
    const run::Progress progress("running " + s.filter.name, !r.json);
    ms = time_once(c, s);
  }
  if (r.check) {
    const std::vector<Image> expected = reference_of(r, a, s);
    c.difference = first_difference(s.output_names(), c.outputs, expected);
    if (c.reordered()) c.error = largest_error(c.outputs, expected);
    if (!c.acceptable()) differs(choice, c.difference);
  }
  for (size_t k = 0; k < c.outputs.size(); k++) {
    const std::string &file = s.values.files[s.outputs[k]];
    if (!file.empty()) save(file, c.outputs[k]);
  }
  if (r.json) {
    print(Json{{"pipeline", a.program.name.str()},
               {"schedule", choice.path},
               {"target", a.target.to_string()},
               {"numerics", numeric_mode(a.target)},
               {"ms", ms},
               {"compile_ms", c.compile_ms},
               {"outputs", outputs_json(s, c.outputs)},
               {"checked", r.check}});
  } else {
    std::printf("%s: %s, %s, %s ms%s\n", a.program.name.c_str(), schedule_text(choice).c_str(),
                a.target.to_string().c_str(), milliseconds(ms).c_str(),
                !r.check               ? ""
                : c.difference.empty() ? ", the interpreter's bits"
                                       : (", " + verdict(c)).c_str());
  }
  return 0;
}

int bench(const Request &r) {
  const Algorithm a = load_algorithm(r);
  std::vector<std::string> skipped;
  std::vector<Choice> choices = choose_all(r, a, &skipped);
  std::vector<Candidate> all;
  for (Choice &c : choices) all.push_back(compile(a, std::move(c), false, r.json));
  Setup s = prepare(r, a, all);
  sample(all, s, r);
  const Verdict v = compare(r, a, s, all);
  if (r.json) {
    print(results_json(a, s, all, skipped, v));
  } else {
    print_table(a, all, skipped, v);
  }
  if (!r.save.empty()) {
    for (const Candidate &c : all) {
      const std::string file = save_outputs(r, s, c);
      if (!r.json) std::printf("wrote %s\n", file.c_str());
    }
  }
  return v.all_same ? 0 : 1;
}

}  // namespace calotype::cli
