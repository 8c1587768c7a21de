// The verbs that don't run anything: check, schedule, opt, build.
#include <algorithm>
#include <filesystem>

#include "../base/stack.h"
#include "../ir/parse.h"
#include "../ir/print.h"
#include "../lower/pipeline.h"
#include "../schedule/apply.h"
#include "../schedule/text.h"
#include "artifacts.h"
#include "calo.h"

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

std::string given_schedule(const Request &r) {
  return r.schedules.empty() ? "" : r.schedules.back();
}

/// The head that makes a printed schedule a file of its own, for the pipeline it belongs to.
schedule::Schedule complete(const Algorithm &a, const schedule::Schedule &s) {
  schedule::Schedule full = schedule::resolve(a.program, s);
  if (full.pipeline.empty()) full.pipeline = a.program.name.str();
  if (full.target.empty()) full.target = "any";
  return full;
}

// ---- opt --------------------------------------------------------------------------------------------

bool contains(const std::vector<std::string> &all, const std::string &one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// "03-simplify_flat.ir" comes after pass simplify_flat.
std::string pass_of_dump(const std::string &file) {
  const std::string stem = fs::path(file).stem().string();
  const size_t dash = stem.find('-');
  return dash == std::string::npos ? "" : stem.substr(dash + 1);
}

void require_pass(const std::string &name) {
  if (name.empty()) return;
  std::vector<std::string> names;
  for (const lower::PassInfo &p : lower::pass_list()) names.push_back(p.name);
  if (contains(names, name)) return;
  std::string list;
  for (const std::string &n : names) list += (list.empty() ? "" : ", ") + n;
  raise(Diagnostic("S0102", {}, "no such pass: " + name).fix("the passes are " + list));
}

std::vector<std::string> passes_to_run(const Request &r, bool from_file) {
  for (const auto &names : {r.only, r.skip}) {
    for (const std::string &n : names) require_pass(n);
  }
  require_pass(r.start_after);
  require_pass(r.stop_after);
  if (!r.only.empty()) return r.only;
  std::string after = r.start_after;
  if (after.empty() && from_file) after = pass_of_dump(r.from);
  std::vector<std::string> names, all;
  for (const lower::PassInfo &p : lower::pass_list()) all.push_back(p.name);
  size_t first = 0;
  const auto at = std::find(all.begin(), all.end(), after);
  if (at != all.end()) {
    first = static_cast<size_t>(at - all.begin()) + 1;
  } else if (from_file) {
    first = 2;  // building loops and checking buffers need the algorithm
  }
  for (size_t i = first; i < all.size(); i++) {
    if (!contains(r.skip, all[i])) names.push_back(all[i]);
    if (all[i] == r.stop_after) break;
  }
  return names;
}

int list_passes(const Request &r) {
  Json j = Json::array();
  for (const lower::PassInfo &p : lower::pass_list()) {
    j.push_back({{"name", p.name}, {"summary", p.summary}});
    if (!r.json) std::printf("%-18s %s\n", p.name, p.summary);
  }
  if (r.json) print(j);
  return 0;
}

}  // namespace

/// Verbs that run nothing take parameters of the generator alone.
void refuse_run_time_arguments(const Request &r, const Algorithm &a) {
  if (a.arguments.empty()) return;
  const std::string &name = a.arguments[0].first;
  raise(Diagnostic("L0502", {}, "calo " + r.verb + " takes no value for " + name)
            .because(name + " is an argument of the compiled pipeline, given when it runs"));
}

int check(const Request &r) {
  const Algorithm a = load_algorithm(r);
  refuse_run_time_arguments(r, a);
  std::vector<std::string> skipped;
  std::vector<std::string> names;
  for (const Choice &c : choose_all(r, a, &skipped)) {
    schedule::apply(a.program, c.schedule, a.target);
    names.push_back(c.path.empty() ? "embedded" : c.path);
  }
  if (r.json) {
    print(Json{{"pipeline", a.program.name.str()},
               {"target", a.target.to_string()},
               {"legal", true},
               {"schedules", names},
               {"skipped", skipped}});
    return 0;
  }
  for (const std::string &n : names) std::printf("%s: legal\n", n.c_str());
  for (const std::string &s : skipped) std::printf("skipped %s\n", s.c_str());
  return 0;
}

int print_schedule(const Request &r) {
  const Algorithm a = load_algorithm(r);
  refuse_run_time_arguments(r, a);
  const Choice choice = choose(r, a, given_schedule(r));
  const schedule::Schedule s = complete(a, choice.schedule);
  schedule::apply(a.program, s, a.target);  // what is printed is legal
  if (r.form != "text" && r.form != "cpp") {
    raise(Diagnostic("L0502", {}, "--as " + r.form + ": expected text or cpp"));
  }
  const std::string text =
      r.form == "cpp" ? schedule::print_schedule_cpp(s, a.program) : schedule::print_schedule(s);
  if (r.json) {
    print(Json{{"pipeline", a.program.name.str()},
               {"schedule", choice.path},
               {"target", a.target.to_string()},
               {"form", r.form},
               {"text", text}});
  } else {
    std::printf("%s", text.c_str());
  }
  return 0;
}

int opt(const Request &r) {
  if (r.list) return list_passes(r);
  if (r.from.empty() && r.source.empty()) {
    raise(Diagnostic("L0502", {}, "opt needs a program")
              .fix("--from FILE.ir, or a generator source"));
  }
  lower::PassContext cx;
  schedule::Scheduled scheduled;
  Algorithm a;
  ir::Stmt s;
  const bool from_file = !r.from.empty();
  if (from_file) {
    const std::string text = read_text(r.from);
    const char *path = intern_path(r.from);
    register_text(path, text);
    s = ir::parse_stmt(text, SrcLoc{path, 1, 1, 0});
    cx.target = r.target.empty() ? get_host_target() : Target(r.target);
  } else {
    a = load_algorithm(r);
    const Choice c = choose(r, a, given_schedule(r));
    scheduled = schedule::apply(a.program, c.schedule, a.target);
    lower::lower(scheduled, a.target, cx);  // fills the context; the passes run again below
  }
  const std::vector<std::string> names = passes_to_run(r, from_file);
  run_on_large_stack([&] {
    for (const std::string &name : names) s = lower::run_pass(name, s, cx);
  });
  const std::string text = ir::to_string(s);
  if (r.json) {
    print(Json{{"passes", names}, {"text", text}});
  } else {
    std::printf("%s", text.c_str());
  }
  return 0;
}

/// The target of --target A,B or target=A,B, one request each; the parameters are the same.
std::vector<Request> one_per_target(const Request &r) {
  std::string list = r.target;
  bool given = !list.empty();
  for (const auto &[name, value] : r.settings) {
    if (name != "target" || given) continue;
    list = value;
    given = true;
  }
  if (!given) return {r};
  std::vector<Request> all;
  for (const Target &t : driver::parse_targets(list)) {
    all.push_back(r);
    all.back().target = t.to_string();
  }
  return all;
}

int build(const Request &r) {
  driver::ArtifactRequest files;
  files.kinds = r.emit;
  if (files.kinds.empty()) files.kinds = {"static_library", "c_header"};
  for (const std::string &kind : files.kinds) driver::check_artifact_kind(kind);
  files.directory = r.out;
  files.base = r.name;
  files.function = r.function;
  for (const Request &one : one_per_target(r)) {
    const Algorithm a = load_algorithm(one);
    refuse_run_time_arguments(r, a);
    files.stub = a.stub;
    files.builds.push_back({a.program, choose(one, a, given_schedule(one)).schedule, a.target});
  }
  Json written = Json::array();
  for (const driver::WrittenFile &f : driver::write_artifacts(files)) {
    written.push_back(f.path);
    if (!r.json) std::printf("wrote %s\n", f.path.c_str());
  }
  if (r.json) {
    print(Json{{"pipeline", files.builds[0].program.name.str()}, {"files", written}});
  }
  return 0;
}

}  // namespace calotype::cli
