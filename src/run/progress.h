// One line on the terminal while something takes long: what it is and for how many seconds already.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace calotype::run {

/// Prints from the third second on, to standard error where that is a terminal; cleans up at its end.
class Progress {
public:
  explicit Progress(const std::string &what, bool wanted = true);
  Progress(const Progress &) = delete;
  ~Progress();

private:
  void watch(const std::string &what);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace calotype::run
