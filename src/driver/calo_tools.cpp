// The verbs that don't run anything: check, schedule, opt, build.
#include <algorithm>
#include <filesystem>

#include "../base/stack.h"
#include "../codegen/jit.h"
#include "../ir/parse.h"
#include "../ir/print.h"
#include "../lower/pipeline.h"
#include "../schedule/apply.h"
#include "../schedule/text.h"
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

// ---- build ------------------------------------------------------------------------------------------

struct Artifact {
  const char *name, *ending;
};
constexpr Artifact kArtifacts[] = {
    {"llvm_assembly", ".ll"}, {"assembly", ".s"},     {"object", ".o"},
    {"stmt", ".stmt"},        {"schedule", ".sched"}, {"schedule_cpp", ".schedule.h"},
};

std::string artifact_ending(const std::string &name) {
  std::string list;
  for (const Artifact &a : kArtifacts) {
    if (name == a.name) return a.ending;
    list += std::string(list.empty() ? "" : ", ") + a.name;
  }
  raise(Diagnostic("L0901", {}, "output " + name + " is not available").fix("-e takes " + list));
}

std::string artifact(const std::string &name, const Algorithm &a, const schedule::Schedule &s,
                     const lower::LoweredFunction &f) {
  if (name == "llvm_assembly") return codegen::compile_to_llvm_ir(f, a.target);
  if (name == "assembly") return codegen::compile_to_assembly(f, a.target);
  if (name == "object") return codegen::compile_to_object(f, a.target);
  if (name == "stmt") return ir::to_string(f.body);
  if (name == "schedule") return schedule::print_schedule(complete(a, s));
  return schedule::print_schedule_cpp(schedule::resolve(a.program, s), a.program);
}

}  // namespace

int check(const Request &r) {
  const Algorithm a = load_algorithm(r);
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

int build(const Request &r) {
  const Algorithm a = load_algorithm(r);
  const Choice choice = choose(r, a, given_schedule(r));
  std::vector<std::string> kinds = r.emit;
  if (kinds.empty()) kinds = {"object"};
  for (const std::string &kind : kinds) artifact_ending(kind);  // refuse before anything is written
  const lower::LoweredFunction f =
      lower::lower(schedule::apply(a.program, choice.schedule, a.target), a.target);
  std::error_code error;
  fs::create_directories(r.out, error);
  const std::string stem = r.name.empty() ? a.program.name.str() : r.name;
  Json files = Json::array();
  for (const std::string &kind : kinds) {
    const std::string file = (fs::path(r.out) / (stem + artifact_ending(kind))).string();
    write_text(file, artifact(kind, a, choice.schedule, f));
    files.push_back(file);
    if (!r.json) std::printf("wrote %s\n", file.c_str());
  }
  if (r.json) print(Json{{"pipeline", a.program.name.str()}, {"files", files}});
  return 0;
}

}  // namespace calotype::cli
