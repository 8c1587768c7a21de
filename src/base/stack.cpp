// A thread with a large stack, joined at once.
#include "stack.h"

#include <pthread.h>

#include <exception>

namespace calotype {

namespace {
thread_local bool on_large_stack = false;

struct Job {
  const std::function<void()> *f;
  std::exception_ptr error;
};

void *run(void *p) {
  Job *job = static_cast<Job *>(p);
  on_large_stack = true;
  try {
    (*job->f)();
  } catch (...) {
    job->error = std::current_exception();
  }
  return nullptr;
}
}  // namespace

void run_on_large_stack(const std::function<void()> &f) {
  if (on_large_stack) return f();
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  Job job{&f, nullptr};
  pthread_t thread;
  bool started = false;
  for (size_t size = size_t(1) << 30; size >= (size_t(1) << 24) && !started;
       size /= 4) {  // under tight limits: less
    pthread_attr_setstacksize(&attr, size);
    started = pthread_create(&thread, &attr, run, &job) == 0;
  }
  pthread_attr_destroy(&attr);
  if (!started) return f();
  pthread_join(thread, nullptr);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace calotype
