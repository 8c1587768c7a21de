// explain: what a schedule makes of an algorithm. Funcs with where they are computed and what storage they
// get, the loop nest with its ranges, estimates of work and traffic per Func (calo_work.h), one point, an error code.
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "../base/stack.h"
#include "../ir/print.h"
#include "../lower/explain_point.h"
#include "../schedule/apply.h"
#include "calo_work.h"

namespace calotype::cli {

namespace fs = std::filesystem;
using ir::Name;

namespace {

// ---- the report ------------------------------------------------------------------------------------------

std::string level_text(const schedule::Level &l) {
  if (l.is_inlined()) return "inlined";
  if (l.is_root()) return "root";
  return l.func + "." + l.var;
}

std::string count_text(double n) {
  char out[32];
  if (std::isnan(n)) return "?";
  if (n < 1e4) {
    std::snprintf(out, sizeof out, "%.0f", n);
  } else if (n < 1e7) {
    std::snprintf(out, sizeof out, "%.1f k", n / 1e3);
  } else if (n < 1e10) {
    std::snprintf(out, sizeof out, "%.1f M", n / 1e6);
  } else {
    std::snprintf(out, sizeof out, "%.1f G", n / 1e9);
  }
  return out;
}

struct Report {
  lower::PassContext cx;
  schedule::Scheduled scheduled;
  std::string missing;
  Work work;
};

void fill(const Algorithm &a, const Choice &choice, Report &r) {
  r.scheduled = schedule::apply(a.program, choice.schedule, a.target);
  lower::lower(r.scheduled, a.target, r.cx);
  ir::EvalContext sizes = estimates_of(a, &r.missing);
  run_on_large_stack([&] {
    const ir::Stmt loops = lower::run_pass("build_loops", {}, r.cx);
    r.work = work_of(r.cx, loops, std::move(sizes), r.missing.empty());
  });
}

Cost total(const FuncWork &w, double *points) {
  Cost sum;
  *points = 0;
  for (const auto &[stage, s] : w.stages) {
    *points += s.points;
    sum.operations += s.points * s.per_point.operations;
    sum.bytes_read += s.points * s.per_point.bytes_read;
    sum.bytes_written += s.points * s.per_point.bytes_written;
  }
  return sum;
}

std::string signature(const ir::Function &f) {
  std::string text = f.name + "(";
  for (size_t i = 0; i < f.args.size(); i++) text += (i ? ", " : "") + f.args[i].str();
  text += ") ";
  for (size_t i = 0; i < f.types.size(); i++) text += (i ? ", " : "") + type_text(f.types[i]);
  return text;
}

bool is_computed(const Algorithm &a, const Report &r, const ir::Function &f) {
  return a.program.is_output(f.name) || !r.scheduled.of(f.name).compute.is_inlined() ||
         f.has_updates();
}

Json func_json(const Algorithm &a, const Report &r, const ir::Function &f) {
  const schedule::FuncState &s = r.scheduled.of(f.name);
  Json j{{"name", f.name.str()}, {"source", to_string(f.pure().loc)}};
  std::vector<std::string> args, types;
  for (const Name n : f.args) args.push_back(n);
  for (const Type t : f.types) types.push_back(type_text(t));
  j["args"] = args;
  j["types"] = types;
  j["updates"] = f.stages() - 1;
  const std::set<std::string> slow = emulated(f);
  if (!slow.empty()) j["emulated"] = slow;
  if (!is_computed(a, r, f)) {
    j["compute"] = "inlined";
    return j;
  }
  j["compute"] = level_text(s.compute);
  j["store"] = level_text(s.store);
  const auto report = r.cx.storage.find(f.name);
  if (report != r.cx.storage.end()) {
    j["slides"] = report->second.slides;
    j["folds"] = report->second.folds;
    j["memory"] = report->second.memory;
  }
  const auto work = r.work.funcs.find(f.name);
  if (work == r.work.funcs.end() || !r.missing.empty()) return j;
  double points;
  const Cost c = total(work->second, &points);
  if (std::isnan(points)) return j;
  j["points"] = points;
  j["flops"] = c.operations;
  j["bytes_read"] = c.bytes_read;
  j["bytes_written"] = c.bytes_written;
  if (work->second.storage_bytes >= 0) j["storage_bytes"] = work->second.storage_bytes;
  return j;
}

void print_func(const Algorithm &a, const Report &r, const ir::Function &f) {
  const schedule::FuncState &s = r.scheduled.of(f.name);
  std::printf("  %s   %s", signature(f).c_str(), to_string(f.pure().loc).c_str());
  if (f.has_updates()) std::printf("   %d updates", f.stages() - 1);
  std::printf("\n");
  std::string slow;
  for (const std::string &op : emulated(f)) slow += (slow.empty() ? "" : ", ") + op;
  if (!slow.empty()) {
    std::printf("      warning: emulated, in float32 with a rounding after each operation: %s\n",
                slow.c_str());
  }
  if (!is_computed(a, r, f)) {
    std::printf("      inlined\n");
    return;
  }
  if (a.program.is_output(f.name)) {
    std::printf("      output\n");
  } else if (s.compute.is_inlined()) {
    std::printf("      computed at its readers' innermost loop\n");
  } else {
    std::printf("      computed at %s, stored at %s\n", level_text(s.compute).c_str(),
                level_text(s.store).c_str());
  }
  const auto report = r.cx.storage.find(f.name);
  if (report != r.cx.storage.end()) {
    const bool both = !report->second.slides.empty() && !report->second.folds.empty();
    if (!report->second.slides.empty() || !report->second.folds.empty())
      std::printf("      %s%s%s\n", report->second.slides.c_str(), both ? ", " : "",
                  report->second.folds.c_str());
    if (!report->second.memory.empty()) std::printf("      %s\n", report->second.memory.c_str());
  }
  const auto work = r.work.funcs.find(f.name);
  if (work == r.work.funcs.end() || !r.missing.empty()) return;
  double points;
  const Cost c = total(work->second, &points);
  std::printf("      points %s   operations %s   read %s   written %s", count_text(points).c_str(),
              count_text(c.operations).c_str(), bytes_text(c.bytes_read).c_str(),
              bytes_text(c.bytes_written).c_str());
  if (work->second.storage_bytes >= 0) {
    std::printf("   storage %s", bytes_text(work->second.storage_bytes).c_str());
  }
  std::printf("\n");
}

// ---- one point ---------------------------------------------------------------------------------------

// "output(17, 33)"
std::pair<std::string, std::vector<int>> parse_point(const Algorithm &a, const std::string &text) {
  const auto refuse = [&](const std::string &why) {
    raise(Diagnostic("L0502", {}, "--at " + text + " is no point of an output")
              .because(why)
              .fix("--at 'output(17, 33)'"));
  };
  const size_t open = text.find('(');
  const std::string name = text.substr(0, open);
  std::vector<int> point;
  size_t at = open == std::string::npos ? text.size() : open + 1;
  bool closed = false;
  while (at < text.size() && !closed) {
    char *end = nullptr;
    const long v = std::strtol(text.c_str() + at, &end, 10);
    const bool number = end != text.c_str() + at && v >= INT32_MIN && v <= INT32_MAX;
    at = static_cast<size_t>(end - text.c_str());
    if (number) point.push_back(static_cast<int>(v));
    while (at < text.size() && text[at] == ' ') at++;
    closed = at < text.size() && text[at] == ')';
    if (!closed && (!number || at >= text.size() || text[at] != ','))
      refuse("expected whole numbers between parentheses");
    at++;
  }
  if (!closed || at != text.size()) refuse("expected a name and whole numbers in parentheses");
  if (!a.program.is_output(name)) refuse(name + " is no output of " + a.program.name);
  const int rank = a.program.find(name)->dimensions();
  if (static_cast<int>(point.size()) != rank)
    refuse(name + " has " + std::to_string(rank) + " dimensions");
  return {name, point};
}

std::string region_text(const ir::Function *f, const analysis::Box &box, const ir::EvalContext &cx,
                        double *count) {
  const auto end = [&](const Expr &e) -> std::string {
    int64_t v;
    if (!e.defined()) return "unbounded";
    return evaluate_int(e, cx, &v) ? std::to_string(v) : ir::to_string(e);
  };
  std::string text;
  for (size_t d = 0; d < box.size(); d++) {
    const std::string dim = f ? f->args[d].str() : "dimension " + std::to_string(d);
    int64_t low = 0, high = -1;
    const bool known = box[d].bounded() && evaluate_int(box[d].min, cx, &low) &&
                       evaluate_int(box[d].max, cx, &high);
    *count *= known ? static_cast<double>(std::max<int64_t>(high - low + 1, 0)) : std::nan("");
    text += (d ? ", " : "") + dim + " in [" + end(box[d].min) + ", " + end(box[d].max) + "]";
  }
  return text;
}

int explain_at(const Request &r, const Algorithm &a, const Report &report) {
  const auto [name, point] = parse_point(a, r.at);
  std::string missing;
  const ir::EvalContext sizes = estimates_of(a, &missing);
  const lower::PointAnswer answer = lower::explain_point(report.cx, name, point);
  Json loops = Json::array(), needs = Json::array();
  std::string iteration, text;
  for (const lower::PointLoop &l : answer.loops) {
    int64_t v;
    const std::string value =
        evaluate_int(l.iteration, sizes, &v) ? std::to_string(v) : ir::to_string(l.iteration);
    iteration += (iteration.empty() ? "" : ", ") + l.loop + " = " + value;
    loops.push_back(Json{{"loop", l.loop.str()}, {"iteration", value}});
  }
  for (const lower::PointNeed &need : answer.needs) {
    const ir::Function *f = need.input ? nullptr : report.scheduled.program.find(need.name);
    double count = 1;
    const std::string region = region_text(f, need.region, sizes, &count);
    std::string where = "an input";
    if (f) {
      const schedule::FuncState &s = report.scheduled.of(f->name);
      const bool here = s.compute.kind == schedule::Level::Kind::At && s.compute.func == name;
      where = s.compute.is_inlined()
                  ? "computed where it is read"
                  : "computed at " + level_text(s.compute) + ", stored at " + level_text(s.store);
      for (const lower::PointLoop &l : answer.loops) {
        int64_t v;
        if (here && l.loop == s.compute.var && evaluate_int(l.iteration, sizes, &v))
          where += ", for this point in iteration " + l.loop + " = " + std::to_string(v);
      }
      const auto slides = report.cx.storage.find(f->name);
      if (slides != report.cx.storage.end() && !slides->second.slides.empty())
        where += "; " + slides->second.slides;
    }
    text += "  " + need.name + "  " + region + ": " + count_text(count) +
            (count == 1 ? " value" : " values") + "\n      " + where + "\n";
    Json j{{"name", need.name.str()}, {"region", region}, {"where", where}};
    if (!std::isnan(count)) j["values"] = count;
    needs.push_back(std::move(j));
  }
  if (r.json) {
    print(Json{{"point", r.at}, {"iteration", loops}, {"needs", needs}});
    return 0;
  }
  std::printf("%s\n  computed in %s\n\nneeds\n%s", r.at.c_str(),
              iteration.empty() ? "one go" : ("iteration " + iteration).c_str(), text.c_str());
  return 0;
}

// ---- codes ------------------------------------------------------------------------------------------

bool is_code(const std::string &text) {
  return text.size() == 5 && std::isupper(static_cast<unsigned char>(text[0])) &&
         text.find_first_not_of("0123456789", 1) == std::string::npos;
}

/// The section of errors.md whose heading names the code, or empty.
std::string documented(const std::string &code) {
  const std::string bin = executable_folder();
  for (const std::string &place :
       {bin + "/../share/calotype/errors.md", bin + "/../../../docs/errors.md",
        std::string("docs/errors.md")}) {
    if (!fs::exists(place)) continue;
    const std::string text = read_text(place);
    const size_t head = text.find("# " + code);
    if (head == std::string::npos) continue;
    const size_t start = text.rfind('\n', head) + 1;
    size_t end = text.find("\n#", head);
    if (end == std::string::npos) end = text.size() - 1;
    return text.substr(start, end + 1 - start);
  }
  return {};
}

int explain_code(const Request &r) {
  const std::string title = code_title(r.source), text = documented(r.source);
  if (title.empty()) raise(Diagnostic("L0502", {}, "no error code " + r.source));
  if (r.json) {
    Json j{{"code", r.source}, {"title", title}};
    if (!text.empty()) j["text"] = text;
    print(j);
  } else if (text.empty()) {
    std::printf("%s: %s\n", r.source.c_str(), title.c_str());
  } else {
    std::printf("%s", text.c_str());
  }
  return 0;
}

}  // namespace

int explain(const Request &r) {
  if (is_code(r.source) && !fs::exists(r.source)) return explain_code(r);
  const Algorithm a = load_algorithm(r);
  const Choice choice = choose(r, a, r.schedules.empty() ? "" : r.schedules.back());
  Report report;
  fill(a, choice, report);
  const std::string schedule_name = choice.path.empty() ? "written in C++" : choice.path;
  if (!r.at.empty()) return explain_at(r, a, report);
  if (r.json) {
    Json funcs = Json::array();
    for (const ir::Function &f : report.scheduled.program.funcs)
      funcs.push_back(func_json(a, report, f));
    print(Json{{"pipeline", a.program.name.str()},
               {"target", a.target.to_string()},
               {"numerics", numeric_mode(a.target)},
               {"schedule", schedule_name},
               {"estimates", report.missing.empty()},
               {"reordered", report.scheduled.reordered},
               {"online", report.scheduled.certificates},
               {"stack_bytes", report.cx.stack_bytes},
               {"funcs", funcs},
               {"loop_nest", report.work.nest}});
    return 0;
  }
  std::printf("pipeline %s\nschedule %s\ntarget   %s, numerics %s\n\nfuncs\n",
              a.program.name.c_str(), schedule_name.c_str(), a.target.to_string().c_str(),
              numeric_mode(a.target).c_str());
  std::printf("stack    %s of %s\n", bytes_text(double(report.cx.stack_bytes)).c_str(),
              bytes_text(double(lower::kStackBudget)).c_str());
  for (const std::string &what : report.scheduled.reordered)
    std::printf("order    values may differ from the interpreter's: %s\n", what.c_str());
  for (const ir::Function &f : report.scheduled.program.funcs) print_func(a, report, f);
  if (report.missing.empty()) {
    std::printf("\nloops, at the estimated sizes, in the middle of the loops around\n");
  } else {
    std::printf("\nloops (no numbers: %s has no estimates)\n", report.missing.c_str());
  }
  std::printf("%s", report.work.nest.c_str());
  for (const std::string &c : report.scheduled.certificates) std::printf("\n%s", c.c_str());
  return 0;
}

}  // namespace calotype::cli
