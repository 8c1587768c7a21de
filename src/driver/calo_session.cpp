// From a request to an algorithm and the schedules asked for.
#include <algorithm>
#include <filesystem>

#include "../schedule/text.h"
#include "calo.h"
#include "generator.h"
#include "program.h"

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

Choice from_file(const Algorithm &a, const std::string &path) {
  Choice c;
  c.path = path;
  c.label = fs::path(path).stem().string();
  const schedule::Schedule file = schedule::load_schedule(path);
  schedule::check_conditions(file, a.parameters);
  c.schedule = driver::effective_schedule(a.embedded, file);
  return c;
}

void add_folder(const Request &r, const Algorithm &a, const std::string &folder,
                std::vector<Choice> &all, std::vector<std::string> *skipped) {
  std::vector<std::string> files;
  for (const auto &entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".sched") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  std::string first;
  try {
    all.push_back(choose(r, a, folder));
    first = fs::path(all.back().path).filename();
  } catch (const Error &e) {
    if (e.diagnostic().code != "S0004" || files.empty()) throw;  // variants alone are enough here
  }
  for (const std::string &file : files) {
    if (fs::path(file).filename() == first) continue;
    const std::string why = schedule::why_schedule_file_does_not_fit(file, a.target, a.parameters);
    if (why.empty()) {
      all.push_back(from_file(a, file));
    } else {
      skipped->push_back(fs::path(file).stem().string() + ": " + why);
    }
  }
}

// ---- the algorithm --------------------------------------------------------------------------------

Target target_of(const Request &r) {
  if (!r.target.empty()) return Target(r.target);
  for (const auto &[name, value] : r.settings) {
    if (name == "target") return Target(value);
  }
  return r.verb == "build" ? get_target_from_environment() : get_jit_target_from_environment();
}

std::string listed(const std::vector<std::string> &names) {
  std::string list;
  for (const std::string &n : names) list += (list.empty() ? "" : ", ") + n;
  return list;
}

std::string generator_of(const Request &r) {
  if (!r.generator.empty()) return r.generator;
  const std::vector<std::string> names = driver::generator_names();
  if (names.size() == 1) return names[0];
  if (names.empty()) {
    raise(Diagnostic("L0501", {}, r.source + " registers no generator")
              .fix("HALIDE_REGISTER_GENERATOR(Class, name) at its end"));
  }
  raise(Diagnostic("L0501", {}, r.source + " has several generators: " + listed(names))
            .fix("choose one: -g " + names[0]));
}

void refuse_unknown_arguments(const Algorithm &a) {
  std::vector<std::string> known;
  for (const auto &[name, value] : a.parameters) known.push_back(name);
  for (const ir::ParameterRef &p : a.program.params) {
    if (!p->embedded) known.push_back(p->name);
  }
  for (const ir::Name out : a.program.outputs) {
    const size_t n = a.program.find(out)->types.size();
    for (size_t k = 0; k < n; k++) {
      known.push_back(n > 1 ? out + "." + std::to_string(k) : out.str());
    }
  }
  for (const auto &[name, value] : a.arguments) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    Diagnostic d("L0502", {}, a.program.name + " has no argument or parameter named " + name);
    const std::vector<std::string> near = nearest_names(name, known);
    if (!near.empty()) d.help.push_back("did you mean " + near[0] + "?");
    d.help.push_back("it has " + listed(known));
    raise(std::move(d));
  }
}

}  // namespace

Algorithm load_algorithm(const Request &r) {
  Algorithm a;
  a.target = target_of(r);
  load_generators(r.source);
  const auto generator = driver::create_generator(generator_of(r), GeneratorContext(a.target));
  a.stub = generator->stub_source();
  for (const auto &[name, value] : r.settings) {
    if (name == "target") continue;
    if (generator->has_generator_param(name)) {
      generator->set_generator_param(name, value);
    } else {
      a.arguments.emplace_back(name, value);
    }
  }
  if (!generator->schedule_path().empty() && !r.schedules.empty()) {
    raise(Diagnostic("L0502", {}, "both schedule= and --schedule were given")
              .fix("they mean the same: leave one out"));
  }
  a.parameters = generator->parameter_values();
  const Pipeline pipeline = generator->build_pipeline();
  const double start = now_ms();
  a.program = driver::program_of(pipeline, a.target);
  a.embedded = driver::schedule_of(pipeline, a.program);
  a.program_ms = now_ms() - start;
  refuse_unknown_arguments(a);
  return a;
}

std::string numeric_mode(const Target &t) {
  if (t.has_feature(Target::StrictFloat)) return "strict_float";
  return t.fuses_multiply_add() ? "fma" : "nofma";
}

Choice choose(const Request &r, const Algorithm &a, const std::string &given) {
  if (given.empty()) {
    if (!r.variant.empty()) {
      raise(Diagnostic("S0005", {}, "--variant " + r.variant + " needs a folder of schedules")
                .fix("--schedule FOLDER"));
    }
    Choice c;
    c.path = a.embedded.origin;  // of the generator argument schedule=, if there is one
    c.label = c.path.empty() ? "embedded" : fs::path(c.path).stem().string();
    c.schedule = a.embedded;
    return c;
  }
  if (!fs::is_directory(given)) return from_file(a, given);
  return from_file(a, schedule::choose_schedule_file(given, a.target, r.variant, a.parameters));
}

std::vector<Choice> choose_all(const Request &r, const Algorithm &a,
                               std::vector<std::string> *skipped) {
  std::vector<Choice> all;
  if (r.schedules.empty()) all.push_back(choose(r, a, ""));
  for (const std::string &given : r.schedules) {
    if (fs::is_directory(given) && !r.chosen && r.variant.empty()) {
      add_folder(r, a, given, all, skipped);
    } else {
      all.push_back(choose(r, a, given));
    }
  }
  return all;
}

}  // namespace calotype::cli
