// What the files of `calo tune` share: the worker that measures schedules in a process of its own, and the log.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "autoscheduler/search.h"
#include "calo.h"

namespace calotype::cli {

/// A process that loads the generator and its arguments once, then times schedules on request. It is run by exec with
/// limits on memory, watched, and started again when it dies or hangs: a bad schedule costs a row of the log only.
class Worker {
public:
  /// `command`: this program's arguments for the worker. `reference`: directives whose result all others must have.
  Worker(std::vector<std::string> command, int threads, std::string reference);
  Worker(const Worker &) = delete;
  ~Worker();
  /// Takes `seconds` at most, starting the process included.
  autoscheduler::Measurement measure(const std::string &text, double give_up_after_ns,
                                     double seconds);

private:
  bool start(double seconds);
  void stop();
  bool send(const std::string &line);
  /// A line; empty where none came in time, or the process ended.
  std::string receive(double seconds);
  autoscheduler::Measurement ask(const std::string &text, double give_up_after_ns, double seconds);

  std::vector<std::string> command_;
  int threads_;
  std::string reference_, buffer_, why_;
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

/// The other side: serves requests on standard input until it closes.
int tune_worker(const Request &r);

/// Measurements that outlive the process: a line each, with a checksum; lines that do not fit theirs are ignored. Several
/// processes may append to one file.
class TuneLog {
public:
  /// `path` empty: nothing is kept. `key`: whatever a time depends on besides the schedule. Throws R0201.
  TuneLog(std::string path, std::string key);
  const autoscheduler::Measurement *find(const std::string &text) const;
  void add(const std::string &text, const autoscheduler::Measurement &m);
  size_t size() const { return rows_.size(); }

private:
  std::string path_, key_;
  std::map<std::string, autoscheduler::Measurement> rows_;
};

}  // namespace calotype::cli
