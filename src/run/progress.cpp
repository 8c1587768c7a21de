// See progress.h.
#include "progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace calotype::run {

Progress::Progress(const std::string &what, bool wanted) {
  if (wanted && isatty(2)) thread_ = std::thread(&Progress::watch, this, what);
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Progress::watch(const std::string &what) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (int seconds = 1; !done_; seconds++) {
    if (changed_.wait_for(lock, std::chrono::seconds(1), [&] { return done_; })) {
      if (seconds > 3) std::fprintf(stderr, "\r\033[K");
      return;
    }
    if (seconds >= 3) std::fprintf(stderr, "\r\033[K%s ... %d s", what.c_str(), seconds);
    std::fflush(stderr);
  }
}

}  // namespace calotype::run
