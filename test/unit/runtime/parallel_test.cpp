// Parallel loops on 1, 2, 8 and 64 threads, with and without libomp: every iteration once, nesting,
// errors, hooks, several callers, fork. No test depends on timing.

#include "runtime/runtime.h"

#include "support/skip.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rt = calotype::runtime;

namespace {

/// Calls body(i) as a task; its result is the task's.
template <typename Body> int par_for(int min, int size, Body body, void *cx = nullptr) {
  auto task = [](void *, int i, uint8_t *closure) {
    return (*reinterpret_cast<Body *>(closure))(i);
  };
  return calo_par_for(cx, task, min, size, reinterpret_cast<uint8_t *>(&body));
}

/// Runs check under every backend and thread count; restores both.
template <typename Check> void for_each_team(Check check) {
  for (bool openmp : {true, false}) {
    rt::allow_openmp(openmp);
    for (int threads : {1, 2, 8, 64}) {
      rt::set_num_threads(threads);
      CAPTURE(openmp);
      CAPTURE(threads);
      check();
    }
  }
  rt::set_num_threads(0);
  rt::allow_openmp(true);
}

/// Counts of leaves below a nest of loops with these sizes.
int nest(const std::vector<int> &sizes, size_t level, std::atomic<int64_t> &leaves) {
  if (level == sizes.size()) {
    leaves++;
    return 0;
  }
  return par_for(0, sizes[level], [&](int) { return nest(sizes, level + 1, leaves); });
}

/// Threads that ran a loop of n iterations, none of which ends before all have begun: fewer threads
/// than n can't get through it.
int together(int n) {
  std::atomic<int> begun{0};
  std::mutex mutex;
  std::set<std::thread::id> threads;
  par_for(0, n, [&](int) {
    begun++;
    while (begun < n) {
      std::this_thread::yield();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
    return 0;
  });
  return int(threads.size());
}

}  // namespace

TEST_CASE("par_for: every iteration runs exactly once") {
  for_each_team([] {
    for (int size : {1, 2, 3, 7, 100, 5000}) {
      std::vector<std::atomic<int>> runs(size);
      const int code = par_for(-3, size, [&](int i) {
        runs[i + 3]++;
        return 0;
      });
      CHECK(code == 0);
      int once = 0;
      for (auto &r : runs) {
        once += r == 1;
      }
      CHECK(once == size);
    }
  });
}

TEST_CASE("par_for: an empty or negative size runs nothing") {
  for_each_team([] {
    std::atomic<int> runs{0};
    auto body = [&](int) { return ++runs; };
    CHECK(par_for(5, 0, body) == 0);
    CHECK(par_for(5, -3, body) == 0);
    CHECK(runs == 0);
  });
}

TEST_CASE("par_for: the largest int is a legal last iteration") {
  for_each_team([] {
    std::atomic<int64_t> sum{0};
    const int min = INT32_MAX - 9;
    CHECK(par_for(min, 10, [&](int i) {
            sum += i - min;
            return 0;
          }) == 0);
    CHECK(sum == 45);
  });
}

TEST_CASE("par_for: what iterations wrote is visible after the loop") {
  for_each_team([] {
    std::vector<int> plain(3000, 0);  // no atomics: the loop's end orders the writes
    for (int round = 1; round <= 20; round++) {
      par_for(0, 3000, [&](int i) {
        plain[i] += i;
        return 0;
      });
    }
    int wrong = 0;
    for (int i = 0; i < 3000; i++) {
      wrong += plain[i] != 20 * i;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("par_for: nested loops run every leaf once, four deep and uneven too") {
  for_each_team([] {
    std::atomic<int64_t> leaves{0};
    CHECK(nest({16, 16}, 0, leaves) == 0);
    CHECK(leaves == 256);
    leaves = 0;
    CHECK(nest({3, 1, 5, 2, 7}, 0, leaves) == 0);
    CHECK(leaves == 3 * 5 * 2 * 7);
    leaves = 0;
    CHECK(par_for(0, 40, [&](int i) {
            return par_for(0, i % 7, [&](int j) {
              return par_for(0, j, [&](int) {
                leaves++;
                return 0;
              });
            });
          }) == 0);
    int64_t expected = 0;
    for (int i = 0; i < 40; i++) {
      expected += (i % 7) * (i % 7 - 1) / 2;
    }
    CHECK(leaves == expected);
  });
}

TEST_CASE("par_for: helping keeps the stack as shallow as the nest") {
  rt::set_num_threads(8);
  static thread_local int t_inside = 0;  // outer iterations stacked on this thread
  std::atomic<int> most{0};
  par_for(0, 400, [&](int) {
    const int now = ++t_inside;
    int seen = most;
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
    par_for(0, 5, [](int) { return 0; });
    t_inside--;
    return 0;
  });
  CHECK(most == 1);
  rt::set_num_threads(0);
}

TEST_CASE("par_for: an error stops the rest and is returned once") {
  for_each_team([] {
    std::atomic<int> runs{0};
    const int code = par_for(0, 1000000, [&](int i) {
      runs++;
      return i == 10 ? -27 : 0;
    });
    CHECK(code == -27);
    CHECK(runs >= 1);
    CHECK(runs < 1000000);
    // Nothing of it is left: the next loop is whole.
    runs = 0;
    CHECK(par_for(0, 100, [&](int) {
            runs++;
            return 0;
          }) == 0);
    CHECK(runs == 100);
  });
}

TEST_CASE("par_for: an error in a nested loop comes out of the outer one") {
  for_each_team([] {
    CHECK(par_for(0, 20, [](int i) {
            return par_for(0, 20, [i](int j) { return i == 13 && j == 7 ? -4 : 0; });
          }) == -4);
  });
}

TEST_CASE("par_for: an exception in an iteration becomes an error") {
  for_each_team([] {
    rt::JitContext cx;
    CHECK(par_for(
              0, 50, [](int i) -> int { return i == 20 ? throw std::runtime_error("x") : 0; },
              &cx) == halide_error_code_generic_error);
    CHECK(std::string(cx.error().what).find("exception") != std::string::npos);
  });
}

TEST_CASE("par_for: several callers at once each get their own result") {
  for_each_team([] {
    std::atomic<int> good{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; c++) {
      callers.emplace_back([&, c] {
        for (int round = 0; round < 20; round++) {
          std::atomic<int64_t> sum{0};
          const int code = par_for(0, 30, [&](int i) {
            par_for(0, 3, [&](int j) {
              sum += i * j;
              return 0;
            });
            return c == 3 && i == 29 ? -5 : 0;
          });
          good += code == (c == 3 ? -5 : 0) && (c == 3 || sum == 435 * 3);
        }
      });
    }
    for (std::thread &t : callers) {
      t.join();
    }
    CHECK(good == 80);
  });
}

TEST_CASE("par_for: as many threads take part as were asked for") {
  for (bool openmp : {true, false}) {
    rt::allow_openmp(openmp);
    rt::set_num_threads(4);
    CHECK(together(4) == 4);
    if (!openmp) {
      CHECK(std::string(rt::thread_backend()) == "threads");
    } else {
      CHECK(std::string(rt::thread_backend()) != "none");
    }
  }
  rt::set_num_threads(0);
  rt::allow_openmp(true);
}

TEST_CASE("threads: the count is settable, and 0 restores the default") {
  const int usual = rt::num_threads();
  CHECK(usual >= 1);
  CHECK(rt::set_num_threads(5) == usual);
  CHECK(rt::set_num_threads(0) == 5);
  CHECK(rt::num_threads() == usual);
  setenv("HL_NUM_THREADS", "3", 1);
  rt::set_num_threads(0);
  CHECK(rt::num_threads() == 3);
  setenv("HL_NUM_THREADS", "nonsense", 1);
  rt::set_num_threads(0);
  CHECK(rt::num_threads() >= 1);
  unsetenv("HL_NUM_THREADS");
  rt::set_num_threads(0);
}

TEST_CASE("threads: shutting down ends the workers, the next loop starts new ones") {
  rt::set_num_threads(4);
  for (int round = 0; round < 3; round++) {
    CHECK(together(4) == 4);
    CHECK(std::string(rt::thread_backend()) != "none");
    rt::shutdown_threads();
    CHECK(std::string(rt::thread_backend()) == "none");
  }
  rt::set_num_threads(0);
}

TEST_CASE("threads: the count may change from inside a loop") {
  rt::set_num_threads(4);
  std::atomic<int> runs{0};
  for (int round = 0; round < 4; round++) {
    par_for(0, 20, [&](int i) {
      rt::set_num_threads(1 + i % 4);
      return par_for(0, 10, [&](int) {
        runs++;
        return 0;
      });
    });
  }
  CHECK(runs == 800);
  rt::set_num_threads(0);
}

TEST_CASE("hooks: a custom do_par_for runs the loop, tasks still get the context") {
  struct Own {
    int loops = 0;
  } own;
  rt::JitContext cx;
  cx.handler_context = &own;
  cx.handlers.do_par_for = [](void *user, halide_task_t f, int min, int size, uint8_t *closure) {
    static_cast<Own *>(user)->loops++;
    for (int i = min + size - 1; i >= min; i--) {  // backwards, as a stranger might
      if (const int code = f(user, i, closure)) {
        return code;
      }
    }
    return 0;
  };
  std::vector<int> order;
  auto task = [](void *context, int i, uint8_t *closure) {
    reinterpret_cast<std::vector<int> *>(closure)->push_back(i);
    return i == 2 ? calo_error_out_of_memory(context, "p", "f", 8) : 0;
  };
  CHECK(calo_par_for(&cx, task, 1, 4, reinterpret_cast<uint8_t *>(&order)) == -11);
  CHECK(order == std::vector<int>{4, 3, 2});
  CHECK(own.loops == 1);
  CHECK(cx.error().code == -11);  // recorded where the task was told to
}

TEST_CASE("hooks: a custom do_task wraps each iteration") {
  static std::atomic<int> wrapped;
  wrapped = 0;
  for_each_team([] {
    rt::JitContext cx;
    cx.handlers.do_task = [](void *user, halide_task_t f, int i, uint8_t *closure) {
      wrapped++;
      return f(user, i, closure);
    };
    std::atomic<int> runs{0};
    const int before = wrapped;
    CHECK(par_for(
              0, 30,
              [&](int) {
                runs++;
                return 0;
              },
              &cx) == 0);
    CHECK(runs == 30);
    CHECK(wrapped - before == 30);
  });
}

TEST_CASE("threads: a forked child can run loops of its own") {
#if defined(__SANITIZE_THREAD__)
  CALO_SKIP("ThreadSanitizer ends a forked child that starts threads");
#endif
  rt::set_num_threads(4);
  std::atomic<int64_t> leaves{0};
  nest({8, 4}, 0, leaves);  // the parent has a team
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that hangs dies, and the parent notices
    std::atomic<int64_t> own{0};
    nest({8, 4}, 0, own);
    _exit(own == 32 ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  leaves = 0;
  nest({8, 4}, 0, leaves);
  CHECK(leaves == 32);
  rt::set_num_threads(0);
}
