// The command line of a generator executable: GenGen's flags over the same artifacts as `calo build`.
#include "gengen.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "artifacts.h"
#include "generator.h"
#include "program.h"

namespace calotype::driver {

namespace {

using Words = std::vector<std::string>;

constexpr const char *kUsage =
    "usage: %s -o FOLDER -g GENERATOR [options] [target=TARGET,...] [schedule=FILE|FOLDER] "
    "[name=value ...]\n"
    "       %s -o FOLDER -r RUNTIME [-e KINDS] [target=TARGET]\n"
    "  -g NAME    the generator (may be left out where there is one)\n"
    "  -o FOLDER  where the files go; made when missing\n"
    "  -f NAME    the C function (default: the generator)\n"
    "  -n NAME    of the files, without ending (default: the function)\n"
    "  -e KINDS   comma-separated (default: static_library,c_header):\n"
    "             %s\n"
    "  -r NAME    write the runtime alone, as static_library, object or c_header\n"
    "  -p FILES   load these generator plugins first, comma-separated\n"
    "  -t SECONDS give up after that long\n"
    "  -v 0|1     1: name the files written\n"
    "  -s NAME    an autoscheduler; there is none yet\n"
    "  target=    what to compile for (default: HL_TARGET, else this machine); of several, the "
    "first that a\n"
    "             processor can run is used there, and the last takes what is left\n"
    "  schedule=  a schedule file, or a folder to choose from by target\n";

/// A mistake in how the command was called: exit code 2 would be usual, GenGen's callers expect 1.
[[noreturn]] void usage_error(const std::string &what, const std::string &fix = {}) {
  Diagnostic d("L0502", {}, what);
  if (!fix.empty()) d.help.push_back(fix);
  raise(std::move(d));
}

Words split(const std::string &list) {
  Words all;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end > at) all.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

struct Command {
  std::string generator, function, base, folder, runtime, seconds, verbose, autoscheduler;
  std::string kinds = "static_library,c_header", plugins;
  std::vector<std::pair<std::string, std::string>> values;
  std::string targets;
  bool has_target = false, help = false;

  std::string *flag(const std::string &word) {
    const std::pair<const char *, std::string *> flags[] = {
        {"-g", &generator}, {"-f", &function},     {"-n", &base},    {"-o", &folder},
        {"-r", &runtime},   {"-e", &kinds},        {"-p", &plugins}, {"-t", &seconds},
        {"-v", &verbose},   {"-s", &autoscheduler}};
    for (const auto &[name, value] : flags) {
      if (word == name) return value;
    }
    return nullptr;
  }
};

Command parse(int argc, char **argv) {
  Command c;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "-h" || word == "--help") {
      c.help = true;
    } else if (std::string *value = c.flag(word)) {
      if (++i == argc) usage_error(word + " needs a value");
      *value = argv[i];
    } else if (word[0] == '-') {
      usage_error("unknown option " + word, "-h lists the options");
    } else {
      const size_t equals = word.find('=');
      if (equals == std::string::npos || equals == 0) {
        usage_error("expected name=value, not " + word, "-h lists the options");
      }
      const std::string name = word.substr(0, equals), text = word.substr(equals + 1);
      for (const auto &earlier : c.values) {
        if (earlier.first == name) usage_error(name + " was given twice");
      }
      if (name == "target") {
        if (c.has_target) usage_error("target was given twice");
        c.targets = text;
        c.has_target = true;
      } else {
        c.values.emplace_back(name, text);
      }
    }
  }
  return c;
}

void load_plugins(const std::string &list) {
  for (const std::string &file : split(list)) {
    const std::string path = file.find('/') == std::string::npos ? "./" + file : file;
    if (!dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      raise(Diagnostic("T0203", {}, "cannot load the plugin " + file).because(dlerror()));
    }
  }
}

void start_clock(const std::string &seconds) {
  long long n = 0;
  if (!parse_value(seconds, &n) || n < 0 || n > 1000000) {
    usage_error("-t takes a number of seconds, not " + seconds);
  }
  signal(SIGALRM, [](int) {
    constexpr char kText[] = "error: the time given by -t has passed\n";
    if (write(2, kText, sizeof kText - 1) < 0) _exit(2);
    _exit(1);
  });
  alarm(static_cast<unsigned>(n));  // 0: no limit
}

std::string only_generator() {
  const Words names = generator_names();
  if (names.size() == 1) return names[0];
  if (names.empty()) {
    raise(Diagnostic("L0501", {}, "no generator is registered in this program")
              .fix("HALIDE_REGISTER_GENERATOR(Class, name) in one of its sources"));
  }
  std::string list;
  for (const std::string &n : names) list += (list.empty() ? "" : ", ") + n;
  usage_error("there are several generators: " + list, "choose one: -g " + names[0]);
}

std::vector<Target> targets_of(const Command &c) {
  if (!c.has_target) return {get_target_from_environment().without_feature(Target::JIT)};
  return parse_targets(c.targets);
}

Build build_for(const Command &c, const std::string &name, const Target &t, std::string *stub) {
  const auto generator = create_generator(name, GeneratorContext(t));
  *stub = generator->stub_source();
  for (const auto &[param, value] : c.values) generator->set_generator_param(param, value);
  const Pipeline pipeline = generator->build_pipeline();
  Build b;
  b.target = t;
  b.program = program_of(pipeline, t);
  b.schedule = schedule_of(pipeline, b.program);
  return b;
}

void usage(FILE *to, const char *program) {
  std::fprintf(to, kUsage, program, program, artifact_kind_list().c_str());
  std::string list;
  for (const std::string &n : generator_names()) list += (list.empty() ? "" : ", ") + n;
  std::fprintf(to, "generators: %s\n", list.empty() ? "none" : list.c_str());
}

int run(int argc, char **argv) {
  const Command c = parse(argc, argv);
  if (c.help || argc < 2) {
    load_plugins(c.plugins);
    usage(c.help ? stdout : stderr, argv[0]);
    return c.help ? 0 : 1;
  }
  if (!c.seconds.empty()) start_clock(c.seconds);
  if (!c.autoscheduler.empty()) {
    raise(Diagnostic("L0901", {}, "-s " + c.autoscheduler + ": there is no autoscheduler yet")
              .fix("schedule=FILE or schedule=FOLDER uses a schedule that was written"));
  }
  if (c.folder.empty()) usage_error("-o FOLDER is missing", "-o . writes into this folder");
  const Words kinds = split(c.kinds);
  for (const std::string &k : kinds) check_artifact_kind(k);
  load_plugins(c.plugins);
  std::vector<WrittenFile> written;
  if (!c.runtime.empty()) {
    if (!c.generator.empty()) {
      usage_error("-r writes the runtime alone and takes no -g",
                  "a static_library contains the runtime unless its target says no_runtime");
    }
    if (!c.values.empty() || !c.function.empty() || !c.base.empty()) {
      const std::string what = !c.values.empty()     ? c.values[0].first + "="
                               : !c.function.empty() ? "-f"
                                                     : "-n";
      usage_error("-r writes the runtime alone and takes no " + what,
                  "its files are named after -r; of values it takes target= alone");
    }
    for (const Target &t : targets_of(c)) {
      const std::string why = why_not_compilable(t);
      if (!why.empty())
        raise(Diagnostic("T0103", {}, "no code for the target " + t.to_string()).because(why));
    }
    written = write_runtime(kinds, c.folder, c.runtime);
  } else {
    ArtifactRequest r;
    r.kinds = kinds;
    r.directory = c.folder;
    r.base = c.base;
    r.function = c.function;
    const std::string name = c.generator.empty() ? only_generator() : c.generator;
    for (const Target &t : targets_of(c)) r.builds.push_back(build_for(c, name, t, &r.stub));
    written = write_artifacts(r);
  }
  if (c.verbose == "1") {
    for (const WrittenFile &f : written) std::printf("wrote %s\n", f.path.c_str());
  }
  return 0;
}

}  // namespace

int generate_filter_main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const Error &e) {
    for (const Diagnostic &d : e.diagnostics()) std::fprintf(stderr, "%s", render(d).c_str());
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "error[R0104]: out of memory\n");
  } catch (const std::exception &e) {
    std::fprintf(stderr, "error[X0001]: %s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "error[X0001]: an exception of unknown type\n");
  }
  return 1;
}

}  // namespace calotype::driver
