// Loops whose iterations wait for one another: the producer of an async Func beside its consumer.
//
// Each iteration has a thread, so that what one waits for can always run: no number of workers is too small, and waiting
// in one never stands on the stack of another (unlike helping, parallel.cpp, which runs what waits for nobody). Where the
// program asked for one thread, the iterations take turns: one runs until it must wait. Tests: test/unit/runtime/async_test.cpp.

#include "runtime.h"
#include "sync.h"

#include <mutex>
#include <new>

namespace calotype::runtime {
namespace {

/// One thread runs, the others wait for their turn.
class Turn {
public:
  void take() {
    const std::lock_guard<Mutex> lock(mutex_);
    free_.wait(mutex_, [&] { return !taken_; });
    taken_ = true;
  }
  void give() {
    const std::lock_guard<Mutex> lock(mutex_);
    taken_ = false;
    free_.notify_one();
  }

private:
  Mutex mutex_;
  Condition free_;
  bool taken_ = false;
};
/// Of the threads that must take turns; null: all run at once.
thread_local Turn *t_turn = nullptr;

struct State {
  Mutex mutex;
  Condition changed;
  int64_t count[2] = {0, 0};
  bool stopped = false;

  void stop() {
    const std::lock_guard<Mutex> lock(mutex);
    stopped = true;
    changed.notify_all();
  }
};
static_assert(sizeof(State) <= 8 * calo_async_words, "the state fits its memory");

struct Iteration {
  void *cx;
  halide_task_t task;
  int index;
  uint8_t *closure;
  State *state;
  LoopPosition position;
  Turn *turn;
  int code;
  Thread thread;

  void run() {
    code = run_task(cx, task, index, closure);
    if (code != 0) {
      state->stop();
    }
  }
};

void *run_on_thread(void *iteration) {
  Iteration &i = *static_cast<Iteration *>(iteration);
  set_loop_position(i.position);
  t_turn = i.turn;
  if (t_turn) {
    t_turn->take();
  }
  i.run();
  if (t_turn) {
    t_turn->give();
  }
  return nullptr;
}

constexpr int kMost = 2;  // a producer and its consumer

}  // namespace
}  // namespace calotype::runtime

namespace rt = calotype::runtime;

int calo_run_concurrently(void *cx, halide_task_t f, int size, uint8_t *closure, void *state) {
  rt::Turn turn, *const outer = rt::t_turn;
  if (!outer && rt::num_threads() == 1) {
    rt::t_turn = &turn;
    turn.take();
  }
  rt::Iteration all[rt::kMost];
  int started = 0, code = 0;
  for (int i = 0; i < size && i < rt::kMost; i++) {
    all[i] = {cx,         f, i, closure, static_cast<rt::State *>(state), rt::loop_position(),
              rt::t_turn, 0, {}};
  }
  const int mine = size < rt::kMost ? size - 1 : rt::kMost - 1;  // the consumer runs here
  for (; started < mine; started++) {
    if (!all[started].thread.start(rt::run_on_thread, &all[started])) {
      all[0].state->stop();
      rt::RuntimeError error;
      error.code = code = calo_error_code_no_thread;
      error.what = "the system gave no thread for an async Func";
      rt::report(cx, error);
      break;
    }
  }
  if (code == 0 && mine >= 0) {
    all[mine].run();
  }
  if (rt::t_turn) {
    rt::t_turn->give();
  }
  for (int i = 0; i < started; i++) {
    all[i].thread.join();
  }
  if (outer) {
    outer->take();
  }
  rt::t_turn = outer;
  for (int i = 0; i <= mine; i++) {  // the one that failed by itself before those that it stopped
    if (all[i].code != 0 && (code == 0 || code == calo_error_code_stopped)) {
      code = all[i].code;
    }
  }
  return code;
}

int32_t calo_async_begin(void *state, int32_t ahead) {
  (new (state) rt::State)->count[1] = ahead;
  return 0;
}

int32_t calo_error_stopped(void) { return calo_error_code_stopped; }

int32_t calo_async_wait(void *state, int32_t what) {
  rt::State &s = *static_cast<rt::State *>(state);
  const auto take = [&] {
    if (s.stopped) {
      return true;
    }
    if (s.count[what] == 0) {
      return false;
    }
    s.count[what]--;
    return true;
  };
  {
    const std::lock_guard<rt::Mutex> lock(s.mutex);
    if (take()) {
      return s.stopped ? calo_error_code_stopped : 0;
    }
  }
  if (rt::t_turn) {
    rt::t_turn->give();
  }
  bool stopped;
  {
    const std::lock_guard<rt::Mutex> lock(s.mutex);
    s.changed.wait(s.mutex, take);
    stopped = s.stopped;
  }
  if (rt::t_turn) {
    rt::t_turn->take();
  }
  return stopped ? calo_error_code_stopped : 0;
}

int32_t calo_async_post(void *state, int32_t what) {
  rt::State &s = *static_cast<rt::State *>(state);
  const std::lock_guard<rt::Mutex> lock(s.mutex);
  s.count[what]++;
  s.changed.notify_all();
  return 0;
}
