// calo reduce: shrinks what makes a command fail. The command is run by the shell on each candidate, so that a failure of any
// kind can be followed: a crash, a wrong result that `run --check` finds, an error of a certain code, another program's
// judgement.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../schedule/text.h"
#include "calo.h"
#include "reduce.h"

namespace calotype::cli {

namespace {

constexpr size_t kKeptOutput = 1 << 20;

/// How a command ended: equal for the same failure.
struct Outcome {
  int status = 0;    ///< exit status, or 128 + signal
  std::string code;  ///< of the first error that it printed: "S0112"
  std::string output;
  bool same_failure(const Outcome &o) const { return status == o.status && code == o.code; }
};

std::string first_code(const std::string &output) {
  for (const char *mark : {"error[", "\"code\": \""}) {
    const size_t at = output.find(mark);
    if (at != std::string::npos) return output.substr(at + std::string(mark).size(), 5);
  }
  return {};
}

Outcome run_command(const std::string &command) {
  Outcome o;
  FILE *pipe = popen(("( " + command + " ) 2>&1").c_str(), "r");
  if (!pipe) raise(Diagnostic("R0106", {}, "no shell can be started for the command"));
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    if (o.output.size() < kKeptOutput) o.output.append(buffer, n);
  }
  const int status = pclose(pipe);
  o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  o.code = first_code(o.output);
  return o;
}

std::string quoted(const std::string &word) {
  std::string s = "'";
  for (char c : word) s += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return s + "'";
}

std::string replaced(std::string text, const std::string &what, const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// A folder of its own for the candidates, removed at the end.
class Scratch {
public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "calo-reduce-XXXXXX").string();
    if (!mkdtemp(name.data()))
      raise(Diagnostic("R0201", {}, "no folder for candidates can be made in " + name));
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  std::string file(const std::string &name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

class Judge {
public:
  explicit Judge(const Request &r) : r_(r), is_case_(is_case_file(r.source)) {
    if (r_.command.empty()) {
      if (is_case_)
        raise(Diagnostic("S0150", {}, "nothing says how " + r.source + " fails")
                  .fix("--command 'program {}', which fails where the case {} fails"));
      command_ = quoted(executable_folder() + "/calo") + " run --check " + quoted(r.source) +
                 " --schedule {schedule} {arguments}" +
                 (r.target.empty() ? "" : " --target " + quoted(r.target)) +
                 (r.generator.empty() ? "" : " --generator " + quoted(r.generator));
    } else {
      command_ = r_.command;
    }
  }
  static bool is_case_file(const std::string &path) {
    return path.size() > 3 && path.compare(path.size() - 3, 3, ".ir") == 0;
  }

  driver::FailingCase given() const {
    if (is_case_) return driver::parse_case(read_text(r_.source));
    driver::FailingCase c;
    const Algorithm a = load_algorithm(r_);
    const Choice choice = choose(r_, a, r_.schedules.empty() ? "" : r_.schedules[0]);
    c.schedule = choice.path.empty() ? schedule::print_schedule(choice.schedule)
                                     : schedule::read_schedule_text(choice.path);
    c.arguments = r_.words;
    if (!r_.arguments.output_extents.empty())
      c.arguments.push_back("--output_extents=" + r_.arguments.output_extents);
    if (r_.estimate_all) c.arguments.push_back("--estimate_all");
    return c;
  }

  Outcome operator()(const driver::FailingCase &c) const {
    const std::string whole = scratch_.file("case.ir"), schedule = scratch_.file("any.sched");
    write_text(whole, driver::to_text(c));
    write_text(schedule, c.schedule);
    std::string arguments;
    for (const std::string &a : c.arguments)
      arguments += (arguments.empty() ? "" : " ") + quoted(a);
    return run_command(replaced(
        replaced(replaced(command_, "{schedule}", quoted(schedule)), "{arguments}", arguments),
        "{}", quoted(whole)));
  }

private:
  const Request &r_;
  bool is_case_;
  std::string command_;
  Scratch scratch_;
};

std::string result_file(const Request &r) {
  const std::string stem = std::filesystem::path(r.source).stem().string();
  const std::string name = "reduced-" + stem + ".ir";
  return std::filesystem::is_directory(r.out) ? r.out + "/" + name : r.out;
}

size_t count_lines(const std::string &s) {
  return static_cast<size_t>(std::count(s.begin(), s.end(), '\n'));
}

}  // namespace

int reduce(const Request &r) {
  const Judge judge(r);
  const driver::FailingCase before = judge.given();
  const Outcome wanted = judge(before);
  if (wanted.status == 0) {
    raise(
        Diagnostic("S0150", {}, "there is nothing to reduce: the command does not fail")
            .because("it ended with status 0 on the case as it was given")
            .fix("--command 'program {}' must end with another status where the failure is seen"));
  }
  int tried = 0;
  const driver::FailingCase after = driver::reduce(
      before,
      [&](const driver::FailingCase &c) {
        tried++;
        return judge(c).same_failure(wanted);
      },
      r.seconds);
  const std::string remark = "status " + std::to_string(wanted.status) +
                             (wanted.code.empty() ? "" : ", error " + wanted.code);
  const std::string file = result_file(r);
  write_text(file, driver::to_text(after, remark));
  if (r.json) {
    print(Json{{"file", file},
               {"status", wanted.status},
               {"code", wanted.code},
               {"tried", tried},
               {"schedule_lines", {count_lines(before.schedule), count_lines(after.schedule)}},
               {"program_lines", {count_lines(before.program), count_lines(after.program)}}});
    return 0;
  }
  std::printf("%s\n%s: %s; schedule %zu to %zu lines, program %zu to %zu, %d candidates tried\n",
              driver::to_text(after).c_str(), file.c_str(), remark.c_str(),
              count_lines(before.schedule), count_lines(after.schedule),
              count_lines(before.program), count_lines(after.program), tried);
  return 0;
}

}  // namespace calotype::cli
