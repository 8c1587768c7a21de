// What the files of the `calo` command share: the request as parsed, an algorithm as loaded from a
// generator, a schedule as chosen, arguments as read from files.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../base/diagnostic.h"
#include "../base/target.h"
#include "../ir/eval.h"
#include "../ir/function.h"
#include "../lower/lowered.h"
#include "../run/filter.h"
#include "../schedule/directive.h"
#include "compiled.h"

namespace calotype::cli {

using Json = nlohmann::ordered_json;
using run::Image;
using run::Settings;

/// A command line, parsed.
struct Request {
  std::string verb;
  std::string source;                  ///< generator source, plugin, or explain's code
  std::vector<std::string> words;      ///< name=value as typed
  Settings settings;                   ///< words, split
  std::vector<std::string> schedules;  ///< --schedule, files and folders
  std::string variant, target, generator;
  bool json = false;
  run::Options arguments;  ///< all of it but `values`
  bool estimate_all = false;
  bool check = false;   ///< compare with the interpreter
  bool chosen = false;  ///< of a folder only the file that the target chooses
  int samples = 10;
  std::string save;           ///< bench: folder for pictures
  std::string form = "text";  ///< schedule --as
  std::string from, start_after, stop_after;
  std::string at;  ///< explain: "output(17, 33)"
  std::vector<std::string> only, skip;
  bool list = false;
  std::vector<std::string> emit;
  std::string out = ".", name, function;
  // tune
  std::string budget = "60s", log;
  std::vector<std::string> seeds;
  uint64_t seed = 0;
  int threads = 0;  ///< 0: what the machine has
  bool worker = false;
  std::string command;  ///< reduce: what fails
  int seconds = 120;    ///< reduce: how long
};

// ---- calo_plugin.cpp --------------------------------------------------------------------------------

/// Loads the generators of a source, compiled unless the cache has it, or of a shared object, into this
/// process for good. Throws CompileError T0202 with the compiler's words in why[0], T0201, T0203.
void load_generators(const std::string &source);
/// Directory of this executable, from /proc.
std::string executable_folder();
std::string read_text(const std::string &path);  ///< throws R0201
void write_text(const std::string &path, const std::string &text);

// ---- calo_session.cpp -------------------------------------------------------------------------------

/// A generator's pipeline as data.
struct Algorithm {
  ir::Program program;
  schedule::Schedule embedded;  ///< written in C++
  Target target;
  Settings parameters;  ///< of the generator
  Settings arguments;   ///< the settings that are none
  std::string stub;     ///< the generator's
  double program_ms = 0;
};
Algorithm load_algorithm(const Request &r);

/// A schedule to use, with what people call it.
struct Choice {
  std::string path;   ///< empty: the one written in C++
  std::string label;  ///< "any-tiled", or "embedded"
  schedule::Schedule schedule;
};
/// The schedule that --schedule, --variant and the target select; `given` is one --schedule or empty.
Choice choose(const Request &r, const Algorithm &a, const std::string &given);
/// What --schedule names, as bench wants it: all files of a folder that run on the target, its choice
/// first (that one only, with --chosen). `skipped`: "x86-64-avx512: needs avx512_skylake".
std::vector<Choice> choose_all(const Request &r, const Algorithm &a,
                               std::vector<std::string> *skipped);
std::string numeric_mode(const Target &t);
/// Sizes of all arguments at the generator's estimates; `missing` names the first without.
ir::EvalContext estimates_of(const Algorithm &a, std::string *missing);

// ---- calo_arguments.cpp -----------------------------------------------------------------------------

/// A compiled pipeline as src/run sees it. Refers to `c`.
run::Filter filter_of(const Algorithm &a, const driver::Compiled &c);
/// Raises what run::bind throws.
run::Values read_arguments(const Request &r, const Algorithm &a, const run::Filter &f);
/// The outputs of the reference interpreter, in the program's order.
std::vector<Image> interpret(const Algorithm &a, const run::Filter &f, run::Values &v);
/// Turns run::Error into a Diagnostic; `a` may be null.
[[noreturn]] void raise_run_error(const run::Error &e, const Algorithm *a);
/// The names that sizes have in Exprs: "input.extent.0" ...
void define_sizes(const std::string &buffer, const std::vector<int> &mins,
                  const std::vector<int> &extents, ir::EvalContext &cx);
bool evaluate_int(const Expr &e, const ir::EvalContext &cx, int64_t *value);

// ---- calo_buffers.cpp --------------------------------------------------------------------------------

/// Empty if all bits are equal (every NaN counts as the same value); else the first difference.
std::string first_difference(const std::vector<std::string> &names, const std::vector<Image> &x,
                             const std::vector<Image> &y);
/// The largest difference between values, relative to the largest value of `y`.
double largest_error(const std::vector<Image> &x, const std::vector<Image> &y);
void save(const std::string &file, const Image &image);  ///< throws R0201
std::vector<int> extents_of(const Image &image);
std::string extents_text(const std::vector<int> &extents);  ///< "512 x 512 x 3"
std::string shape_text(const Image &image);                 ///< "512 x 512 x 3 uint16"
std::string type_text(Type t);

// ---- the verbs; each returns the exit code ------------------------------------------------------------

int run(const Request &r);
int bench(const Request &r);
int check(const Request &r);
int explain(const Request &r);
int print_schedule(const Request &r);
int opt(const Request &r);
int build(const Request &r);
int tune(const Request &r);
int reduce(const Request &r);

Json to_json(const Diagnostic &d);
void print(const Json &j);
double now_ms();

}  // namespace calotype::cli
