// The command for people: calo VERB SOURCE [options] [name=value ...]. Parses, dispatches, and turns every
// failure into a message (or, with --json, an object) and an exit code: 1 the user's mistake, 2 usage.
// Nothing escapes: exceptions end here. The verbs are in calo_*.cpp.
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>

#include "../base/stack.h"
#include "artifacts.h"
#include "calo.h"

namespace calotype::cli {

namespace {

struct Verb {
  const char *name, *help;
  int (*function)(const Request &);
};
constexpr Verb kVerbs[] = {
    {"run", "run a pipeline on files: input=photo.png output=result.png", run},
    {"bench", "time several schedules side by side and compare their results bit for bit", bench},
    {"check", "say whether a schedule is legal", check},
    {"explain", "show Funcs, loops, storage and costs under a schedule, or explain a code (S0104)",
     explain},
    {"schedule", "print the schedule in effect", print_schedule},
    {"opt", "run passes on a lowered program", opt},
    {"build", "write compiled files", build},
    {"tune", "search for a schedule and write it as a file", tune},
    {"reduce", "shrink the schedule, sizes and program that make a command fail", reduce},
};

bool is(const Verb &v, const char *name) { return std::string(v.name) == name; }

void add_options(CLI::App &app, const Verb &v, Request &r) {
  CLI::Option *source =
      app.add_option("source", r.source, "generator source (.cpp) or plugin (.so)");
  if (!is(v, "opt")) source->required();
  app.add_option("arguments", r.words, "name=value: arguments and generator parameters");
  app.add_option("--schedule", r.schedules, "schedule file, or folder to choose from by target")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("--variant", r.variant, "the named file of a folder")->type_name("NAME");
  app.add_option("--target", r.target, "what to compile for (default: this machine)")
      ->type_name("TARGET");
  app.add_option("-g,--generator", r.generator, "which generator, where the source has several")
      ->type_name("NAME");
  app.add_flag("--json", r.json, "machine-readable output");
  if (is(v, "reduce")) {
    app.add_option("--command", r.command,
                   "what fails: {schedule} and {arguments}, or {} for the whole case, stand for a "
                   "candidate (default: calo run --check)")
        ->type_name("COMMAND");
    app.add_option("--seconds", r.seconds, "how long to go on")->type_name("N");
    app.add_option("-o,--output", r.out, "file or folder for the result")->type_name("PATH");
  }
  if (is(v, "run") || is(v, "bench") || is(v, "tune") || is(v, "reduce")) {
    app.add_option("--output_extents", r.arguments.output_extents,
                   "[w,h,...] where no input tells, or estimate")
        ->type_name("EXTENTS");
    app.add_option("--default_input_buffers", r.arguments.default_buffers,
                   "for inputs not given: random:0:auto, zero:auto ...")
        ->type_name("SOURCE");
    app.add_option("--default_input_scalars", r.arguments.default_scalars,
                   "for scalars not given: the first that exists of estimate,default,NUMBER")
        ->type_name("VALUES");
    app.add_flag("--estimate_all", r.estimate_all, "inputs, scalars and sizes as estimated");
  }
  if (is(v, "run") || is(v, "bench")) {
    app.add_flag("--check", r.check, "compare with the reference interpreter, bit for bit");
  }
  if (is(v, "tune")) {
    app.add_option("--budget", r.budget,
                   "how long to search: 60s, 10min; 0: by the cost model alone")
        ->type_name("TIME");
    app.add_option("--threads", r.threads, "that the schedule shall use (default: all)")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    app.add_option("-o,--output", r.out, "the schedule file (default: printed)")->type_name("FILE");
    app.add_option("--from", r.seeds, "a schedule file to start from")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("--log", r.log, "keeps measurements, and uses those that it has")
        ->type_name("FILE");
    app.add_option("--seed", r.seed, "of the search's random numbers")->type_name("N");
    app.add_flag("--worker", r.worker, "")->group("");  // serves another calo tune
  }
  if (is(v, "bench") || is(v, "check")) {
    app.add_flag("--chosen", r.chosen, "of a folder only the file that the target chooses");
  }
  if (is(v, "bench")) {
    app.add_option("--samples", r.samples, "runs of each schedule")->type_name("N");
    app.add_option("--save", r.save, "write each schedule's outputs there")->type_name("FOLDER");
  }
  if (is(v, "explain")) {
    app.add_option("--at", r.at, "a point: what it needs, and which iterations compute it")
        ->type_name("'output(X, Y)'");
  }
  if (is(v, "schedule")) app.add_option("--as", r.form, "text or cpp")->type_name("FORM");
  if (is(v, "opt")) {
    app.add_option("--from", r.from, "a program as text (CALO_DUMP writes such files)")
        ->type_name("FILE");
    app.add_option("--pass", r.only, "run these passes alone")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--skip", r.skip, "leave these passes out")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--start-after", r.start_after, "first pass: the one after this");
    app.add_option("--stop-after", r.stop_after, "last pass");
    app.add_flag("--list", r.list, "list the passes");
  }
  if (is(v, "build")) {
    app.add_option(
           "-e,--emit", r.emit,
           "kinds of files (default: static_library,c_header): " + driver::artifact_kind_list())
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("-o,--output", r.out, "folder for the files")->type_name("FOLDER");
    app.add_option("-n,--name", r.name, "name of the files (default: the function's)")
        ->type_name("NAME");
    app.add_option("-f,--function", r.function, "name of the C function (default: the pipeline's)")
        ->type_name("NAME");
  }
}

void split_words(Request &r) {
  for (const std::string &word : r.words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      raise(Diagnostic("L0502", {}, "expected name=value, not " + word));
    }
    const std::string name = word.substr(0, equals);
    for (const auto &earlier : r.settings) {
      if (earlier.first == name) raise(Diagnostic("L0502", {}, name + " was given twice"));
    }
    r.settings.emplace_back(name, word.substr(equals + 1));
  }
}

// ---- failures -----------------------------------------------------------------------------------------

void report(const Request &r, const std::vector<Diagnostic> &all) {
  if (r.json) {
    Json errors = Json::array();
    for (const Diagnostic &d : all) errors.push_back(to_json(d));
    print(Json{{"errors", errors}});
    return;
  }
  std::fflush(stdout);
  for (const Diagnostic &d : all) {
    if (d.code == "T0202" && !d.why.empty()) {  // the compiler's own words first, as it wrote them
      std::fprintf(stderr, "%s\nerror[T0202]: %s\n", d.why[0].text.c_str(), d.what.c_str());
    } else {
      std::fprintf(stderr, "%s", render(d).c_str());
    }
  }
}

int guarded(const Verb &v, Request &r) {
  int code = 1;
  std::vector<Diagnostic> diagnostics;
  const auto work = [&] {
    try {
      split_words(r);
      code = v.function(r);
    } catch (const Error &e) {
      diagnostics = e.diagnostics();
    } catch (const std::bad_alloc &) {
      diagnostics.push_back(Diagnostic("R0104", {}, "out of memory"));
    } catch (const std::exception &e) {
      diagnostics.push_back(Diagnostic("X0001", {}, e.what()));
    } catch (...) {
      diagnostics.push_back(Diagnostic("X0001", {}, "an exception of unknown type"));
    }
  };
  run_on_large_stack(work);
  if (!diagnostics.empty()) report(r, diagnostics);
  return code;
}

int usage_error(CLI::App &app, const CLI::ParseError &e, bool json) {
  if (e.get_exit_code() == 0) return app.exit(e);  // --help
  if (json) {
    print(Json{{"errors", {{{"code", "usage"}, {"severity", "error"}, {"what", e.what()}}}}});
  } else {
    app.exit(e);
  }
  return 2;
}

int start(int argc, char **argv) {
  CLI::App app("Runs, checks and explains image and tensor pipelines under schedules.", "calo");
  app.set_version_flag("--version", std::string("calo ") + CALO_VERSION);
  app.require_subcommand(1);
  Request requests[std::size(kVerbs)];
  CLI::App *commands[std::size(kVerbs)];
  for (size_t i = 0; i < std::size(kVerbs); i++) {
    commands[i] = app.add_subcommand(kVerbs[i].name, kVerbs[i].help);
    add_options(*commands[i], kVerbs[i], requests[i]);
  }
  bool json = false;
  for (int i = 1; i < argc; i++) json = json || std::string(argv[i]) == "--json";
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &e) {
    return usage_error(app, e, json);
  }
  for (size_t i = 0; i < std::size(kVerbs); i++) {
    requests[i].verb = kVerbs[i].name;
    if (commands[i]->parsed()) return guarded(kVerbs[i], requests[i]);
  }
  return 2;
}

}  // namespace

Json to_json(const Diagnostic &d) {
  static const char *const kSeverities[] = {"error", "warning", "remark", "internal"};
  Json j{
      {"code", d.code}, {"severity", kSeverities[static_cast<int>(d.severity)]}, {"what", d.what}};
  const auto place = [](Json &at, const SrcLoc &loc) {
    if (!loc.defined()) return;
    at["file"] = loc.file;
    if (loc.line > 0) at["line"] = loc.line;
    if (loc.column > 0) at["column"] = loc.column;
  };
  place(j, d.loc);
  j["why"] = Json::array();
  for (const Note &n : d.why) {
    Json note{{"text", n.text}};
    place(note, n.loc);
    j["why"].push_back(std::move(note));
  }
  j["help"] = d.help;
  return j;
}

void print(const Json &j) {
  const std::string text = j.dump(1, ' ', false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

double now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace calotype::cli

int main(int argc, char **argv) {
  try {
    return calotype::cli::start(argc, argv);
  } catch (const std::exception &e) {
    std::fprintf(stderr, "calo: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "calo: an exception of unknown type\n");
  }
  return 1;
}
