// run: one schedule, files in, files out. bench: several schedules side by side on the same arguments,
// alternating, each result compared bit for bit with the others and with the interpreter's.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "../base/source.h"
#include "calo.h"

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

constexpr double kBudgetMs = 3000;  // per schedule; a slow one gets fewer samples
constexpr int kFewest = 3;
constexpr uint64_t kSmall = 1 << 16;  // output values up to which the interpreter always checks

struct Candidate {
  Choice choice;
  std::unique_ptr<driver::Compiled> compiled;
  std::vector<Image> outputs;
  std::vector<double> times;
  double compile_ms = 0, spent = 0;
  std::string difference;  ///< from the reference; empty: the same bits
};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t n = v.size();
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
double least(const std::vector<double> &v) { return *std::min_element(v.begin(), v.end()); }

/// `keep`: compiled code may come from the disk cache; not where compiling is timed.
Candidate compile(const Algorithm &a, Choice choice, Arguments &args, bool keep) {
  Candidate c;
  const double start = now_ms();
  c.compiled = std::make_unique<driver::Compiled>(a.program, choice.schedule, a.target, keep);
  c.compile_ms = now_ms() - start + a.program_ms;
  c.choice = std::move(choice);
  c.outputs = make_outputs(args);
  return c;
}

double time_once(Candidate &c, Arguments &args) {
  const std::vector<const void *> pointers =
      argument_pointers(c.compiled->function(), args, c.outputs);
  const double start = now_ms();
  c.compiled->run(pointers);
  return now_ms() - start;
}

std::string schedule_text(const Choice &c) {
  return c.path.empty() ? "the schedule written in C++" : c.path;
}

Json outputs_json(const Arguments &args, const std::vector<Image> &outputs) {
  Json all = Json::array();
  for (size_t i = 0; i < outputs.size(); i++) {
    Json o{{"name", args.outputs[i].name},
           {"type", type_text(args.outputs[i].type)},
           {"extents", args.outputs[i].extents}};
    if (!args.outputs[i].file.empty()) o["file"] = args.outputs[i].file;
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

uint64_t values(const Arguments &args) {
  uint64_t n = 0;
  for (const Output &o : args.outputs) {
    uint64_t all = 1;
    for (int e : o.extents) all *= static_cast<uint64_t>(e);
    n += all;
  }
  return n;
}

/// Alternates between the candidates, so that what else the machine does meets all of them.
void sample(std::vector<Candidate> &all, Arguments &args, int samples) {
  for (Candidate &c : all) c.spent = time_once(c, args);  // warms up; counts only as time spent
  for (int round = 0; round < samples; round++) {
    for (Candidate &c : all) {
      if (round >= kFewest && c.spent > kBudgetMs) continue;
      c.times.push_back(time_once(c, args));
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

std::string save_outputs(const Request &r, const Algorithm &a, const Arguments &args,
                         const Candidate &c) {
  fs::create_directories(r.save);
  std::string first;
  for (size_t i = 0; i < c.outputs.size(); i++) {
    std::string stem = a.program.name + "-" + c.choice.label;
    if (c.outputs.size() > 1) stem += "-" + args.outputs[i].name;
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
  double interpreter_ms = 0;
  bool all_same = true;
};

/// Fills in each candidate's difference from the interpreter (where asked for, or cheap), else from the first.
Verdict compare(const Request &r, const Algorithm &a, Arguments &args,
                std::vector<Candidate> &all) {
  Verdict v;
  std::vector<Image> reference = all[0].outputs;
  if (r.check || values(args) <= kSmall) {
    const double start = now_ms();
    reference = interpret(a, args);
    v.interpreter_ms = now_ms() - start;
    v.interpreter = true;
  }
  for (Candidate &c : all) {
    c.difference = first_difference(args, c.outputs, reference);
    v.all_same = v.all_same && c.difference.empty();
  }
  return v;
}

std::string milliseconds(double ms) {
  char out[32];
  std::snprintf(out, sizeof out, ms < 100 ? "%.2f" : "%.0f", ms);
  return out;
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
                least(base.times) / least(c.times), c.compile_ms,
                c.difference.empty() ? "yes" : ("NO: " + c.difference).c_str());
  }
  for (const std::string &s : skipped) std::printf("%s\n", ("skipped " + s).c_str());
  if (v.interpreter) {
    std::printf("reference interpreter: %s ms\n", milliseconds(v.interpreter_ms).c_str());
  }
}

Json results_json(const Algorithm &a, const Arguments &args, const std::vector<Candidate> &all,
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
    results.push_back(std::move(one));
  }
  return Json{{"pipeline", a.program.name.str()},
              {"target", a.target.to_string()},
              {"numerics", numeric_mode(a.target)},
              {"outputs", outputs_json(args, all[0].outputs)},
              {"reference", v.interpreter ? "interpreter" : all[0].choice.label},
              {"baseline", base.choice.label},
              {"results", results},
              {"skipped", skipped}};
}

}  // namespace

int run(const Request &r) {
  const Algorithm a = load_algorithm(r);
  const std::string given = r.schedules.empty() ? "" : r.schedules.back();
  const Choice choice = choose(r, a, given);
  Arguments args = read_arguments(r, a);
  Candidate c = compile(a, choice, args, true);
  const double ms = time_once(c, args);
  if (r.check) {
    const std::string difference = first_difference(args, c.outputs, interpret(a, args));
    if (!difference.empty()) differs(choice, difference);
  }
  for (size_t i = 0; i < c.outputs.size(); i++) {
    if (!args.outputs[i].file.empty()) save(args.outputs[i].file, c.outputs[i]);
  }
  if (r.json) {
    print(Json{{"pipeline", a.program.name.str()},
               {"schedule", choice.path},
               {"target", a.target.to_string()},
               {"numerics", numeric_mode(a.target)},
               {"ms", ms},
               {"compile_ms", c.compile_ms},
               {"outputs", outputs_json(args, c.outputs)},
               {"checked", r.check}});
  } else {
    std::printf("%s: %s, %s, %s ms%s\n", a.program.name.c_str(), schedule_text(choice).c_str(),
                a.target.to_string().c_str(), milliseconds(ms).c_str(),
                r.check ? ", the interpreter's bits" : "");
  }
  return 0;
}

int bench(const Request &r) {
  const Algorithm a = load_algorithm(r);
  std::vector<std::string> skipped;
  std::vector<Choice> choices = choose_all(r, a, &skipped);
  Arguments args = read_arguments(r, a);
  std::vector<Candidate> all;
  for (Choice &c : choices) all.push_back(compile(a, std::move(c), args, false));
  sample(all, args, std::max(r.samples, 1));
  const Verdict v = compare(r, a, args, all);
  if (r.json) {
    print(results_json(a, args, all, skipped, v));
  } else {
    print_table(a, all, skipped, v);
  }
  if (!r.save.empty()) {
    for (const Candidate &c : all) {
      const std::string file = save_outputs(r, a, args, c);
      if (!r.json) std::printf("wrote %s\n", file.c_str());
    }
  }
  return v.all_same ? 0 : 1;
}

}  // namespace calotype::cli
