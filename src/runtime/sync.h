#pragma once
// Locks and threads for the runtime, on pthreads alone (see text.h for the reason). std::lock_guard and
// std::atomic are templates that leave nothing to link, so they serve as they are.

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace calotype::runtime {

class Mutex {
public:
  constexpr Mutex() = default;
  Mutex(const Mutex &) = delete;
  Mutex &operator=(const Mutex &) = delete;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Condition {
public:
  constexpr Condition() = default;
  Condition(const Condition &) = delete;
  Condition &operator=(const Condition &) = delete;
  /// `m` is held; returns, holding it, when `done()`.
  template <typename Done> void wait(Mutex &m, Done done) {
    while (!done()) {
      pthread_cond_wait(&condition_, &m.mutex_);
    }
  }
  void notify_one() { pthread_cond_signal(&condition_); }
  void notify_all() { pthread_cond_broadcast(&condition_); }

private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

/// A thread that may or may not run. Not joined by its destructor.
class Thread {
public:
  /// False if the system gives no thread.
  bool start(void *(*body)(void *), void *arg) {
    running_ = pthread_create(&thread_, nullptr, body, arg) == 0;
    return running_;
  }
  bool joinable() const { return running_; }
  void join() {
    pthread_join(thread_, nullptr);
    running_ = false;
  }
  void detach() {
    pthread_detach(thread_);
    running_ = false;
  }

private:
  pthread_t thread_ = {};
  bool running_ = false;
};

inline int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1000000000 + t.tv_nsec;
}

}  // namespace calotype::runtime
