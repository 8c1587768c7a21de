// The published hooks of the ahead-of-time runtime: each has a default, a setter, and, being weak in the
// finished object, a place for the program's own function of that name.
//
// Compiled with -fsemantic-interposition, so that calls in here reach a program's own functions too.
// Compiled functions call halide_malloc, halide_do_par_for ... and the calo_error_* reporters, which end in
// halide_error. The user context is the program's and only passed on.

#include "../runtime.h"

#include <atomic>
#include <cstdio>

namespace rt = calotype::runtime;

namespace {

/// A replaceable function. Programs install theirs while nothing runs, or at least expect no order.
template <typename F> class Hook {
public:
  explicit constexpr Hook(F f) : installed_(f), default_(f) {}
  F set(F f) { return installed_.exchange(f ? f : default_); }
  F get() const { return installed_.load(std::memory_order_relaxed); }

private:
  std::atomic<F> installed_;
  F default_;
};

Hook<halide_malloc_t> g_malloc{halide_default_malloc};
Hook<halide_free_t> g_free{halide_default_free};
Hook<halide_print_t> g_print{halide_default_print};
Hook<halide_error_handler_t> g_error{halide_default_error};
Hook<halide_do_par_for_t> g_do_par_for{halide_default_do_par_for};
Hook<halide_do_task_t> g_do_task{halide_default_do_task};
Hook<halide_trace_t> g_trace{halide_default_trace};
Hook<halide_can_use_target_features_t> g_can_use{halide_default_can_use_target_features};

}  // namespace

// ---- what the shared source asks of its host ----------------------------------------------------

void rt::report(void *cx, const RuntimeError &error) noexcept {
  halide_error(cx, (error.text() + "\n").c_str());
}

int rt::run_task(void *cx, halide_task_t task, int index, uint8_t *closure) {
  return halide_do_task(cx, task, index, closure);
}

void *calo_user_context(void *cx) { return cx; }
void calo_print(void *cx, const char *text) { halide_print(cx, text); }
int32_t calo_trace(void *cx, const halide_trace_event_t *event) { return halide_trace(cx, event); }

// ---- memory -------------------------------------------------------------------------------------

void *halide_default_malloc(void *, size_t bytes) { return rt::allocate(bytes); }
void halide_default_free(void *, void *ptr) { rt::deallocate(ptr); }
void *halide_malloc(void *cx, size_t bytes) { return g_malloc.get()(cx, bytes); }
void halide_free(void *cx, void *ptr) { g_free.get()(cx, ptr); }
halide_malloc_t halide_set_custom_malloc(halide_malloc_t f) { return g_malloc.set(f); }
halide_free_t halide_set_custom_free(halide_free_t f) { return g_free.set(f); }

// ---- printing and errors ------------------------------------------------------------------------

void halide_default_print(void *, const char *text) {
  fputs(text, stdout);
  fflush(stdout);
}
void halide_default_error(void *, const char *text) { fputs(text, stderr); }
void halide_print(void *cx, const char *text) { g_print.get()(cx, text); }
void halide_error(void *cx, const char *text) { g_error.get()(cx, text); }
halide_print_t halide_set_custom_print(halide_print_t f) { return g_print.set(f); }
halide_error_handler_t halide_set_error_handler(halide_error_handler_t f) { return g_error.set(f); }

// ---- processors -----------------------------------------------------------------------------------

int halide_default_can_use_target_features(int count, const uint64_t *features) {
  constexpr uint32_t kSkylake = calo_cpu_avx512 | calo_cpu_skylake;
  constexpr uint32_t kZen4 = kSkylake | calo_cpu_cannonlake | calo_cpu_icelake | calo_cpu_bf16;
  constexpr struct {
    int feature;
    uint32_t cpu;
  } kNeeds[] = {{halide_target_feature_sse41, calo_cpu_sse41},
                {halide_target_feature_avx, calo_cpu_avx},
                {halide_target_feature_avx2, calo_cpu_avx2},
                {halide_target_feature_fma, calo_cpu_fma},
                {halide_target_feature_f16c, calo_cpu_f16c},
                {halide_target_feature_avx512, calo_cpu_avx512},
                {halide_target_feature_avx512_knl, calo_cpu_avx512},
                {halide_target_feature_avx512_skylake, kSkylake},
                {halide_target_feature_avx512_cannonlake, kSkylake | calo_cpu_cannonlake},
                {halide_target_feature_avx512_zen4, kZen4},
                {halide_target_feature_avx512_zen5, kZen4 | calo_cpu_avxvnni},
                {halide_target_feature_avx512_sapphirerapids, kZen4 | calo_cpu_avxvnni},
                {halide_target_feature_avx10_1, kZen4 | calo_cpu_avxvnni},
                {halide_target_feature_avxvnni, calo_cpu_avxvnni}};
  uint32_t cpu = 0;
  for (const auto &n : kNeeds) {
    const int word = n.feature / 64;
    if (word < count && (features[word] >> n.feature % 64 & 1)) cpu |= n.cpu;
  }
  return calo_cpu_has(cpu);
}
int halide_can_use_target_features(int count, const uint64_t *features) {
  return g_can_use.get()(count, features);
}
halide_can_use_target_features_t halide_set_custom_can_use_target_features(
    halide_can_use_target_features_t f) {
  return g_can_use.set(f);
}

// ---- threads ------------------------------------------------------------------------------------

int halide_default_do_par_for(void *cx, halide_task_t task, int min, int size, uint8_t *closure) {
  return rt::run_loop(cx, task, min, size, closure);
}
int halide_default_do_task(void *cx, halide_task_t f, int index, uint8_t *closure) {
  return f(cx, index, closure);
}
int halide_do_par_for(void *cx, halide_task_t task, int min, int size, uint8_t *closure) {
  return g_do_par_for.get()(cx, task, min, size, closure);
}
int halide_do_task(void *cx, halide_task_t f, int index, uint8_t *closure) {
  return g_do_task.get()(cx, f, index, closure);
}
halide_do_par_for_t halide_set_custom_do_par_for(halide_do_par_for_t f) {
  return g_do_par_for.set(f);
}
halide_do_task_t halide_set_custom_do_task(halide_do_task_t f) { return g_do_task.set(f); }
int halide_set_num_threads(int n) { return rt::set_num_threads(n); }
int halide_get_num_threads(void) { return rt::num_threads(); }
void halide_shutdown_thread_pool(void) { rt::shutdown_threads(); }

// ---- tracing ------------------------------------------------------------------------------------

int32_t halide_default_trace(void *cx, const halide_trace_event_t *event) {
  return calo_default_trace(cx, event);
}
int32_t halide_trace(void *cx, const halide_trace_event_t *event) {
  return g_trace.get()(cx, event);
}
halide_trace_t halide_set_custom_trace(halide_trace_t f) { return g_trace.set(f); }
