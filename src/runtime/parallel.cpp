// Parallel loops: one queue of loops, worked on by a team of threads that lives as long as the process.
//
// The team is one OpenMP region of LLVM's libomp, opened at run time with dlopen(RTLD_LOCAL) and
// entered through __kmpc_fork_call, the entry point that compilers use. A host thread forks it once,
// because a region per loop would make each loop pay for a fork and a join and would let two callers
// start two teams. Without libomp the same function runs on plain threads; queue and waiting are ours.
//
// A caller puts its loop (a Job, on its own stack) on the queue, works on it, takes it off, and waits
// for those still inside. Whoever waits helps: with jobs of the same root loop that are nested at
// least as deep as the awaited one, which keeps its stack as shallow as the nest (Note [helping]).
// Threads without work spin for kSpinTime, then sleep. Tests: test/unit/runtime/parallel_test.cpp.

#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

namespace calotype::runtime {
namespace {

// Longer than the gap between the loops of one pipeline, far below what a person notices as load.
constexpr int64_t kSpinTime = 60000;  // ns
constexpr int kMostThreads = 256;
// A claim takes 1/(kShare * threads) of what is left: the last ones are single iterations, so uneven
// iterations still end together, and a loop of a million tiny ones isn't a million claims.
constexpr int kShare = 4;

void pause() { __builtin_ia32_pause(); }

int cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return std::max(1, CPU_COUNT(&set));
  }
  return std::max(1, int(sysconf(_SC_NPROCESSORS_ONLN)));
}

int default_threads() {
  const char *text = getenv("HL_NUM_THREADS");
  const int asked = text ? atoi(text) : 0;
  return std::min(asked > 0 ? asked : cores(), kMostThreads);
}

// ---- the team -----------------------------------------------------------------------------------

/// The three entry points of libomp that a forked region needs; all null where there is no libomp.
/// Declarations as in the ABI that clang generates calls to.
struct OpenMp {
  struct Ident {
    int32_t reserved1, flags, reserved2, reserved3;
    const char *source;
  };
  using Micro = void (*)(int32_t *thread, int32_t *bound, ...);
  void (*fork_call)(Ident *, int32_t argc, Micro, ...) = nullptr;
  void (*push_num_threads)(Ident *, int32_t thread, int32_t n) = nullptr;
  int32_t (*thread_num)(Ident *) = nullptr;

  explicit operator bool() const { return fork_call && push_num_threads && thread_num; }

  /// Called by one host thread at a time.
  static const OpenMp &get() {
    static OpenMp table;
    static bool loaded = false;
    if (!loaded) {
      table = load();
      loaded = true;
    }
    return table;
  }

private:
  template <typename F> static void find(void *library, const char *name, F &function) {
    function = reinterpret_cast<F>(dlsym(library, name));
  }

  static OpenMp load() {
    OpenMp table;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    // ThreadSanitizer can't see how libomp hands work over and calls it a race; gcc 12's
    // LeakSanitizer dies on the thread-local storage of a library opened at run time.
    return table;
#endif
    for (const char *name : {"/usr/lib/llvm-22/lib/libomp.so.5", "/usr/lib/llvm-22/lib/libomp.so",
                             "libomp.so.5", "libomp.so"}) {
      void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        continue;
      }
      find(library, "__kmpc_fork_call", table.fork_call);
      find(library, "__kmpc_push_num_threads", table.push_num_threads);
      find(library, "__kmpc_global_thread_num", table.thread_num);
      if (table) {
        break;
      }
      dlclose(library);
      table = OpenMp();
    }
    return table;
  }
};

/// What each member of a team runs.
struct Work {
  void (*run)(void *);
  void *arg;
};

void openmp_member(int32_t *, int32_t *, Work *work) { work->run(work->arg); }

void *thread_member(void *work) {
  static_cast<Work *>(work)->run(static_cast<Work *>(work)->arg);
  return nullptr;
}

/// Runs `work` on n threads, this one among them, and returns when all have returned.
void run_team(int n, Work work, bool openmp) {
  if (openmp) {
    static OpenMp::Ident place = {0, 2, 0, 0, ";calotype;run_team;0;0;;"};  // 2: a kmpc call
    const OpenMp &omp = OpenMp::get();
    omp.push_num_threads(&place, omp.thread_num(&place), n);
    omp.fork_call(&place, 1, reinterpret_cast<OpenMp::Micro>(openmp_member), &work);
    return;
  }
  Thread others[kMostThreads];
  for (int i = 1; i < n; i++) {  // where the system gives no more threads, fewer will do
    if (!others[i].start(thread_member, &work)) {
      break;
    }
  }
  work.run(work.arg);
  for (Thread &t : others) {
    if (t.joinable()) {
      t.join();
    }
  }
}

// ---- jobs ---------------------------------------------------------------------------------------

/// One parallel loop. Lives on its caller's stack: nobody may touch it after leaving it, except the
/// caller, who waits until inside == 0.
struct Job {
  halide_task_t task;
  void *cx;
  uint8_t *closure;
  int64_t end;
  int depth;        // 1 for a loop that isn't inside another
  const Job *root;  // the outermost loop around it, or itself
  int share;        // see kShare
  std::atomic<int64_t> next;
  std::atomic<int> code{0};
  std::atomic<int> inside{0};              // threads at work in it, the caller not counted
  Job *older = nullptr, *newer = nullptr;  // queue links, under the pool's mutex

  bool has_work() const { return next.load(std::memory_order_relaxed) < end; }

  /// Takes the iterations [first, last) for this thread.
  bool claim(int64_t &first, int64_t &last) {
    first = next.load(std::memory_order_relaxed);
    while (first < end) {
      last = first + std::max<int64_t>(1, (end - first) / share);
      if (next.compare_exchange_weak(first, last, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void fail(int value) {
    int none = 0;
    code.compare_exchange_strong(none, value);
    next.store(end);  // nobody starts another iteration
  }
};

/// The loop whose iteration this thread is running.
struct Position {
  const Job *root = nullptr;
  int depth = 0;
};
thread_local Position t_position;

void work_on(Job &job) {
  const Position before = t_position;
  t_position = {job.root, job.depth};
  int64_t first, last;
  while (job.claim(first, last)) {
    for (int64_t i = first; i < last && job.code.load(std::memory_order_relaxed) == 0; i++) {
      const int code = run_task(job.cx, job.task, int(i), job.closure);
      if (code != 0) {
        job.fail(code);
      }
    }
  }
  t_position = before;
}

// ---- the pool -----------------------------------------------------------------------------------

class Pool {
public:
  int set_wanted(int n) {
    return wanted_.exchange(n <= 0 ? default_threads() : std::min(n, kMostThreads));
  }
  int wanted() const { return wanted_.load(std::memory_order_relaxed); }

  const char *backend() const { return backend_.load(); }
  void allow_openmp(bool allow) {
    shutdown(true);
    openmp_allowed_ = allow;
  }

  int run(void *cx, halide_task_t task, int min, int size, uint8_t *closure) {
    const bool outermost = t_position.depth == 0;
    if (outermost) {
      enter();
    }
    Job job{task,
            cx,
            closure,
            int64_t(min) + size,
            t_position.depth + 1,
            t_position.root,
            kShare * team_.load(std::memory_order_relaxed),
            {min}};
    if (outermost) {
      job.root = &job;
    }
    push(job);
    work_on(job);
    remove(job);
    wait_for(job);
    if (outermost) {
      const std::lock_guard<Mutex> lock(team_mutex_);
      callers_--;
    }
    return job.code.load();
  }

  /// With `must` false gives up when a loop is running: at exit, perhaps called from inside one.
  void shutdown(bool must) {
    const std::lock_guard<Mutex> lock(team_mutex_);
    if (must || callers_ == 0) {
      stop_team();
    } else if (host_.joinable()) {
      host_.detach();
    }
  }

private:
  // Who starts and ends teams; callers_ counts outermost loops that run.
  Mutex team_mutex_;
  Thread host_;
  std::atomic<int> team_{1};  // threads, a caller included
  int callers_ = 0;
  bool openmp_allowed_ = true;
  const int available_ = cores();
  std::atomic<const char *> backend_{"none"};
  std::atomic<int> wanted_{default_threads()};

  Mutex mutex_;  // the queue and all sleeping
  Job *newest_ = nullptr;
  Condition work_came_, job_left_;
  int idle_ = 0;                     // workers asleep
  std::atomic<int> waiting_{0};      // callers asleep or about to be
  std::atomic<uint64_t> pushes_{0};  // changes when a job is pushed
  std::atomic<bool> stop_{false};

  void enter() {
    const std::lock_guard<Mutex> lock(team_mutex_);
    if (callers_ == 0 && team_.load() != wanted()) {
      stop_team();
      start_team(wanted());
    }
    callers_++;
  }

  /// Returns at once: opening libomp takes a millisecond, in which the caller can work alone.
  void start_team(int n) {
    team_ = n;
    host_.start(host, this);  // where there is no thread to be had callers do everything themselves
  }

  static void *host(void *pool) {
    Pool &p = *static_cast<Pool *>(pool);
    const bool openmp = p.openmp_allowed_ && OpenMp::get();
    p.backend_ = openmp ? "openmp" : "threads";
    run_team(p.team_.load() - 1, {[](void *q) { static_cast<Pool *>(q)->serve(); }, pool}, openmp);
    return nullptr;
  }

  void stop_team() {
    if (host_.joinable()) {
      {
        const std::lock_guard<Mutex> lock(mutex_);
        stop_ = true;
      }
      work_came_.notify_all();
      host_.join();
      stop_ = false;
    }
    team_ = 1;
    backend_ = "none";
  }

  void push(Job &job) {
    int sleepers;
    {
      const std::lock_guard<Mutex> lock(mutex_);
      job.older = newest_;
      if (newest_) {
        newest_->newer = &job;
      }
      newest_ = &job;
      pushes_++;
      sleepers = idle_;
    }
    const int64_t useful = job.end - job.next.load(std::memory_order_relaxed) - 1;
    if (sleepers > useful) {
      for (int64_t i = 0; i < useful; i++) {
        work_came_.notify_one();
      }
    } else if (sleepers > 0) {
      work_came_.notify_all();
    }
    if (waiting_.load() > 0) {
      wake_callers();
    }
  }

  void remove(Job &job) {
    const std::lock_guard<Mutex> lock(mutex_);
    if (job.newer) {
      job.newer->older = job.older;
    } else {
      newest_ = job.older;
    }
    if (job.older) {
      job.older->newer = job.newer;
    }
  }

  /// The newest job that has work, and of `root`'s family only those at least `depth` deep.
  Job *join(const Job *root, int depth) {
    const std::lock_guard<Mutex> lock(mutex_);
    for (Job *job = newest_; job; job = job->older) {
      if ((!root || (job->root == root && job->depth >= depth)) && job->has_work()) {
        job->inside++;
        return job;
      }
    }
    return nullptr;
  }

  void work_and_leave(Job &job) {
    work_on(job);
    job.inside--;  // from here on the job may be gone
    if (waiting_.load() > 0) {
      wake_callers();
    }
  }

  void wake_callers() {
    {
      const std::lock_guard<Mutex> lock(mutex_);
    }  // none is between its test and its sleep
    job_left_.notify_all();
  }

  /// Spins until done() or for kSpinTime; not at all where there are more threads than cores.
  template <typename Done> bool spin(Done done) const {
    if (team_.load(std::memory_order_relaxed) > available_) {
      return done();
    }
    const int64_t until = now_ns() + kSpinTime;
    do {
      for (int i = 0; i < 32; i++) {
        if (done()) {
          return true;
        }
        pause();
      }
    } while (now_ns() < until);
    return false;
  }

  void wait_for(Job &job) {
    while (job.inside.load() != 0) {
      const uint64_t seen = pushes_.load();
      if (Job *other = join(job.root, job.depth)) {
        work_and_leave(*other);
        continue;
      }
      auto changed = [&] { return job.inside.load() == 0 || pushes_.load() != seen; };
      if (!spin(changed)) {
        const std::lock_guard<Mutex> lock(mutex_);
        waiting_++;
        job_left_.wait(mutex_, changed);
        waiting_--;
      }
    }
  }

  /// A worker's life.
  void serve() {
    while (!stop_.load()) {
      const uint64_t seen = pushes_.load();
      if (Job *job = join(nullptr, 0)) {
        work_and_leave(*job);
        continue;
      }
      auto changed = [&] { return stop_.load() || pushes_.load() != seen; };
      if (!spin(changed)) {
        const std::lock_guard<Mutex> lock(mutex_);
        idle_++;
        work_came_.wait(mutex_, changed);
        idle_--;
      }
    }
  }
};

std::atomic<Pool *> g_pool{nullptr};

/// Null where there is no memory for it.
Pool *make_pool() {
  void *memory = malloc(sizeof(Pool));
  return memory ? new (memory) Pool : nullptr;
}

/// In a forked child the team is gone and its locks may be held by nobody: start over, without
/// libomp, whose state is in doubt as well. The old pool is left where it is.
void forget_pool_in_child() {
  Pool *old = g_pool.load();
  Pool *fresh = old ? make_pool() : nullptr;
  if (fresh) {
    fresh->set_wanted(old->wanted());
    fresh->allow_openmp(false);
    g_pool = fresh;
    t_position = Position();
  }
}

void make_first_pool() {
  g_pool = make_pool();
  pthread_atfork(nullptr, nullptr, forget_pool_in_child);
}

/// Never destroyed, since destructors of a program's statics may still run pipelines; only the
/// threads are joined when the library goes. Null where there is no memory for it.
Pool *pool() {
  static pthread_once_t made = PTHREAD_ONCE_INIT;
  pthread_once(&made, make_first_pool);
  return g_pool.load();
}

struct AtExit {
  ~AtExit() {
    if (Pool *p = g_pool.load()) {
      p->shutdown(false);
    }
  }
} g_at_exit;

}  // namespace

int run_loop(void *cx, halide_task_t task, int min, int size, uint8_t *closure) {
  Pool *p = size > 1 ? pool() : nullptr;
  if (p && p->wanted() > 1) {
    return p->run(cx, task, min, size, closure);
  }
  for (int64_t i = min, end = int64_t(min) + size; i < end; i++) {
    if (const int code = run_task(cx, task, int(i), closure)) {
      return code;
    }
  }
  return 0;
}

LoopPosition loop_position() { return {t_position.root, t_position.depth}; }
void set_loop_position(LoopPosition p) { t_position = {static_cast<const Job *>(p.root), p.depth}; }

int set_num_threads(int n) { return pool() ? pool()->set_wanted(n) : 1; }
int num_threads() { return pool() ? pool()->wanted() : 1; }
void shutdown_threads() {
  if (pool()) {
    pool()->shutdown(true);
  }
}
const char *thread_backend() { return pool() ? pool()->backend() : "none"; }
void allow_openmp(bool allow) {
  if (pool()) {
    pool()->allow_openmp(allow);
  }
}

}  // namespace calotype::runtime

// Note [helping]
// A thread that waits for a job of depth d, called from an iteration at depth d - 1, runs iterations
// of depth >= d only. Loops started by those have depth > d, and waiting for them allows only depth
// > d again. So depth grows with each level of helping, and the stack holds at most one iteration per
// nesting level twice over. Were any job allowed, an iteration of the outer loop could be started
// on top of one that waits, and on that another, as deep as the loop is long, each with its scratch
// memory. Jobs of other roots are not helped, or a short loop would return only after a stranger's
// long iteration. Progress: a waiting thread waits for threads that are inside its job; they run,
// or wait for deeper jobs, and the deepest ones wait for nobody.
