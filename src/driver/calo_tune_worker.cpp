// Both ends of the process that measures schedules. Requests and answers are lines:
//   reference PATH          the schedule file whose result counts      ok | failed TEXT
//   measure LIMIT_NS PATH   times a schedule file                       ok NS | wrong TEXT | refused TEXT | failed TEXT
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>

#include "../schedule/text.h"
#include "calo_tune.h"

extern char **environ;

namespace calotype::cli {

namespace fs = std::filesystem;

namespace {

constexpr double kStartSeconds = 120;   // loading a generator compiles it where the cache has none
constexpr double kCompileSeconds = 20;  // beyond a run's own limit
constexpr double kEnoughNs = 0.15e9;    // of repeated runs of one schedule
constexpr int kMostRuns = 12, kFewestRuns = 3;
constexpr double kReorderedError = 1e-3;

/// A schedule file of this process's own, gone when it ends.
class ScratchFile {
public:
  explicit ScratchFile(const std::string &text) {
    char name[] = "/tmp/calo-tune-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0) raise(Diagnostic("R0201", {}, "no temporary file can be made"));
    path_ = name;
    close(file);
    write_text(path_, text);
  }
  ScratchFile(const ScratchFile &) = delete;
  ~ScratchFile() { unlink(path_.c_str()); }
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

std::string one_line(std::string text) {
  for (char &c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

// ---- the parent -------------------------------------------------------------------------------------------

Worker::Worker(std::vector<std::string> command, int threads, std::string reference)
    : command_(std::move(command)), threads_(threads), reference_(std::move(reference)) {}

Worker::~Worker() { stop(); }

bool Worker::start(double seconds) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return false;
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return false;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is for the parent
  std::vector<std::string> words = command_;
  std::vector<char *> argv;
  for (std::string &w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  const std::string threads = "HL_NUM_THREADS=" + std::to_string(threads_);
  std::vector<std::string> variables;
  for (char **e = environ; *e; e++) {
    if (std::string(*e).rfind("HL_NUM_THREADS=", 0) != 0) variables.emplace_back(*e);
  }
  variables.push_back(threads);
  std::vector<char *> environment;
  for (std::string &v : variables) environment.push_back(v.data());
  environment.push_back(nullptr);
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const int failed =
      posix_spawn(&pid_, self.c_str(), &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  buffer_.clear();
  if (failed) {
    pid_ = -1;
    stop();
    return false;
  }
  const ScratchFile file("calotype 1\n" + reference_);
  if (!send("reference " + file.path())) return false;
  const std::string answer = receive(std::min(seconds, kStartSeconds));
  if (answer == "ok") return true;
  why_ = answer.empty() ? "the measuring process ended at its start" : answer;
  stop();
  return false;
}

void Worker::stop() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  int status;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

bool Worker::send(const std::string &line) {
  const std::string text = line + "\n";
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = write(to_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

std::string Worker::receive(double seconds) {
  const double end = now_ms() + 1e3 * seconds;
  for (;;) {
    const size_t newline = buffer_.find('\n');
    if (newline != std::string::npos) {
      std::string line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      return line;
    }
    const double left = end - now_ms();
    if (left <= 0) return {};
    pollfd p = {from_, POLLIN, 0};
    const int ready = poll(&p, 1, static_cast<int>(std::min(left, 1e6)) + 1);
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t n = read(from_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    buffer_.append(bytes, static_cast<size_t>(n));
  }
}

autoscheduler::Measurement Worker::ask(const std::string &text, double give_up_after_ns,
                                       double seconds) {
  autoscheduler::Measurement m;
  const ScratchFile file("calotype 1\n" + text);
  if (!send("measure " + std::to_string(give_up_after_ns) + " " + file.path())) {
    stop();
    m.status = "failed: the measuring process was gone";
    return m;
  }
  const double start = now_ms();
  const std::string answer = receive(seconds);
  if (answer.rfind("ok ", 0) == 0) {
    m.ns = std::stod(answer.substr(3));
    return m;
  }
  if (answer.empty()) {
    m.status = now_ms() - start >= 1e3 * seconds ? "too slow" : "crashed";
    stop();
  } else {
    m.status = answer;
  }
  return m;
}

autoscheduler::Measurement Worker::measure(const std::string &text, double give_up_after_ns,
                                           double seconds) {
  signal(SIGPIPE, SIG_IGN);
  const double begin = now_ms();
  if (pid_ <= 0 && !start(seconds)) {
    autoscheduler::Measurement m;
    m.status = "no worker: " + why_;
    return m;
  }
  const double left = seconds - 1e-3 * (now_ms() - begin),
               own = kCompileSeconds + 4 * give_up_after_ns * 1e-9;
  autoscheduler::Measurement m = ask(text, give_up_after_ns, std::min(left, own));
  if (m.status == "too slow" && left < own) m.status = "out of time";
  return m;
}

// ---- the child ----------------------------------------------------------------------------------------------

namespace {

/// Runs schedules on one set of arguments.
class Bench {
public:
  explicit Bench(const Request &r) : r_(r), a_(load_algorithm(r)) {}

  std::string reference(const std::string &path) {
    const std::unique_ptr<driver::Compiled> c = compile(path);
    filter_ = filter_of(a_, *c);
    values_ = read_arguments(r_, a_, filter_);
    for (size_t i = 0; i < filter_.args.size(); i++) {
      if (filter_.args[i].is_output()) outputs_.push_back(i);
    }
    for (const size_t i : outputs_) names_.push_back(filter_.args[i].name);
    for (const size_t i : outputs_) expected_.push_back(run::allocate_like(values_.images[i]));
    run(*c, expected_);
    for (const size_t i : outputs_) produced_.push_back(run::allocate_like(values_.images[i]));
    return "ok";
  }

  std::string measure(const std::string &path, double limit_ns) {
    const std::unique_ptr<driver::Compiled> c = compile(path);
    double best = run(*c, produced_), spent = best;
    const std::string difference = first_difference(names_, produced_, expected_);
    if (!difference.empty() &&
        (c->reordered().empty() || largest_error(produced_, expected_) > kReorderedError))
      return "wrong " + one_line(difference);
    for (int i = 1; i < kMostRuns && (i < kFewestRuns || spent < kEnoughNs) && best < limit_ns;
         i++) {
      const double ns = run(*c, produced_);
      best = std::min(best, ns);
      spent += ns;
    }
    return "ok " + std::to_string(best);
  }

private:
  std::unique_ptr<driver::Compiled> compile(const std::string &path) const {
    return std::make_unique<driver::Compiled>(a_.program, schedule::load_schedule(path), a_.target,
                                              false);
  }

  double run(const driver::Compiled &c, std::vector<Image> &outputs) {
    std::vector<void *> argv = values_.argv();
    for (size_t k = 0; k < outputs_.size(); k++) argv[outputs_[k]] = outputs[k].raw_buffer();
    const std::vector<const void *> pointers(argv.begin(), argv.end());
    const double start = now_ms();
    c.run(pointers);
    return 1e6 * (now_ms() - start);
  }

  const Request &r_;
  Algorithm a_;
  run::Filter filter_;
  run::Values values_;
  std::vector<size_t> outputs_;
  std::vector<std::string> names_;
  std::vector<Image> expected_, produced_;
};

void limit_memory() {
  const auto pages = static_cast<rlim_t>(sysconf(_SC_PHYS_PAGES));
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) / 4 * 3;
  const rlimit data = {bytes, bytes}, none = {0, 0};
  setrlimit(RLIMIT_DATA, &data);
  setrlimit(RLIMIT_CORE, &none);
}

std::string answer(Bench &bench, const std::string &line) {
  const size_t space = line.find(' ');
  const std::string verb = line.substr(0, space), rest = line.substr(space + 1);
  try {
    if (verb == "reference") return bench.reference(rest);
    const size_t next = rest.find(' ');
    return bench.measure(rest.substr(next + 1), std::stod(rest.substr(0, next)));
  } catch (const CompileError &e) {
    return "refused " + e.diagnostic().code + " " + one_line(e.diagnostic().what);
  } catch (const std::exception &e) {
    return "failed " + one_line(e.what());
  }
}

}  // namespace

int tune_worker(const Request &r) {
  limit_memory();
  const int out = dup(1);  // a pipeline that prints must not answer
  dup2(2, 1);
  Bench bench(r);
  for (std::string line; std::getline(std::cin, line);) {
    const std::string text = answer(bench, line) + "\n";
    if (write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 1;
  }
  return 0;
}

}  // namespace calotype::cli
