#pragma once
// What compiled code calls while it runs, and what the front end sees of it.
//
// The JIT resolves symbols from jit_symbols() and from nowhere else. Everything takes the user
// context that the compiled function was given: null, or a JitContext. Failures are recorded there
// by whichever thread meets them and come back as an integer code; nothing here throws, prints
// (unless there is no context to tell) or exits. The ahead-of-time runtime wraps the same functions
// under their published halide_* names. This folder includes nothing but std and itself.

// libcalotype has the JIT's host (jit_context.cpp, symbols.cpp), the object inside static libraries has
// the published hooks (aot/); memory, threads and messages are the same source in both.

#if CALO_AOT_RUNTIME
#pragma GCC visibility push(default)  // C functions only: the rest stays inside the object
#endif
#include "HalideRuntime.h"
#if CALO_AOT_RUNTIME
#pragma GCC visibility pop
#endif

#include "sync.h"
#include "text.h"

namespace calotype::runtime {

// ---- context ------------------------------------------------------------------------------------

/// Replacements for the runtime's own behaviour; null keeps the default. Each gets
/// JitContext::handler_context where that is set, else the JitContext itself.
struct JitHandlers {
  void (*print)(void *cx, const char *text) = nullptr;
  void (*error)(void *cx, const char *message) = nullptr;
  void *(*malloc)(void *cx, size_t bytes) = nullptr;
  void (*free)(void *cx, void *ptr) = nullptr;
  int (*do_par_for)(void *cx, halide_task_t f, int min, int size, uint8_t *closure) = nullptr;
  int (*do_task)(void *cx, halide_task_t f, int index, uint8_t *closure) = nullptr;
  int32_t (*trace)(void *cx, const halide_trace_event_t *event) = nullptr;
};

/// One failure, in the parts a diagnostic has. `code` is the published (negative) integer that the
/// compiled function returns.
struct RuntimeError {
  int code = 0;
  Text what;   ///< one line: pipeline, argument, expected and given
  Text why;    ///< facts, or empty
  Text where;  ///< "file:line" of the Func concerned, or empty
  Text help;   ///< a remedy, or empty

  /// The code in base/codes.def ("R0102"), which groups the integers.
  const char *diagnostic() const;
  /// The message as a person reads it: `where: error[R0102]: what`, then why and help lines.
  Text text() const;
};

/// One call of a compiled function. The caller makes it, passes its address as the user context and
/// reads the error afterwards. Of several failures (parallel loops) the first is kept.
struct JitContext {
  JitHandlers handlers;
  void *handler_context = nullptr;

  /// Keeps the first error and tells handlers.error about it. Safe from any thread.
  void record(const RuntimeError &error);
  /// The recorded error; code 0 where there is none. Call it when the function has returned.
  RuntimeError error() const;
  void clear();
  /// What a handler gets as its first argument.
  void *for_handlers() const {
    return handler_context ? handler_context : const_cast<JitContext *>(this);
  }

private:
  mutable Mutex mutex_;
  RuntimeError first_;
};

// ---- what memory, threads and messages ask of their host ----------------------------------------

/// Makes a failure known. JIT: records it in the JitContext `cx`, or prints where cx is null. Ahead of
/// time: calls halide_error.
void report(void *cx, const RuntimeError &error) noexcept;
/// Runs one iteration: the task itself, or the replacement that is installed.
int run_task(void *cx, halide_task_t task, int index, uint8_t *closure);

// ---- symbols for the JIT ------------------------------------------------------------------------

struct Symbol {
  const char *name;
  void *address;
};

/// Everything compiled code may refer to: the calo_* functions below, memcpy, memset and memmove.
/// The table is constant; `count` receives its length.
const Symbol *jit_symbols(size_t *count);

// ---- memory, for the front end and tests --------------------------------------------------------

struct MemoryStats {
  int64_t live_bytes = 0;    ///< handed out and not returned, as requested
  int64_t peak_bytes = 0;    ///< highest live_bytes since reset_memory_peak()
  int64_t cached_bytes = 0;  ///< returned, kept for reuse
  int64_t allocations = 0;   ///< calls that returned memory
  int64_t system_calls = 0;  ///< of these, served by the system and not by the pool
};
MemoryStats memory_stats();
void reset_memory_peak();

/// Aligned to kAlignment bytes; null when there is no memory or `bytes` is absurd. Zero bytes give a
/// unique address. Thread-safe. The pool keeps at most kPoolLimit bytes of returned blocks.
void *allocate(uint64_t bytes);
void deallocate(void *ptr);
/// Returns all cached blocks to the system.
void release_pool();

constexpr size_t kAlignment = 128;
constexpr int64_t kPoolLimit = int64_t(256) << 20;

// ---- threads, for the front end and tests -------------------------------------------------------

/// The default do_par_for; calo_par_for without its handler.
int run_loop(void *cx, halide_task_t task, int min, int size, uint8_t *closure);

/// Where the calling thread is among loops that run: what threads started for an iteration inherit.
struct LoopPosition {
  const void *root = nullptr;
  int depth = 0;
};
LoopPosition loop_position();
void set_loop_position(LoopPosition p);

/// 0 restores the default (HL_NUM_THREADS, else one per core); returns the number before.
/// Takes effect for the next loop that starts while no other runs.
int set_num_threads(int n);
int num_threads();
/// Joins the workers; the next parallel loop starts new ones. Not from inside a parallel loop.
void shutdown_threads();
/// What the workers run on: "openmp" (libomp was found), "threads" (the runtime's own), or "none"
/// while there are none; they start in the background of the first loop.
const char *thread_backend();
/// False: don't use libomp even where there is one. For tests and benchmarks; no loop may run.
void allow_openmp(bool allow);

}  // namespace calotype::runtime

// ---- functions that compiled code calls ---------------------------------------------------------
// C linkage, plain C types; hidden in libcalotype. `cx` is the user context. Every calo_error_*
// returns its code (negative), so that generated code can `return calo_error_...(...)`. Strings may
// be null where marked [or null]. Dimension numbers count from 0.

#if CALO_AOT_RUNTIME
#pragma GCC visibility push(default)
#endif
extern "C" {

/// Groups of instructions that code is compiled for, as calo_cpu_has takes them.
enum {
  calo_cpu_sse41 = 1 << 0,
  calo_cpu_avx = 1 << 1,   ///< popcnt too
  calo_cpu_avx2 = 1 << 2,  ///< bmi, bmi2 and lzcnt too
  calo_cpu_fma = 1 << 3,
  calo_cpu_f16c = 1 << 4,
  calo_cpu_avx512 = 1 << 5,      ///< f and cd
  calo_cpu_skylake = 1 << 6,     ///< bw, dq and vl
  calo_cpu_cannonlake = 1 << 7,  ///< ifma and vbmi
  calo_cpu_icelake = 1 << 8,     ///< vbmi2, vnni, bitalg, vpopcntdq, gfni
  calo_cpu_bf16 = 1 << 9,
  calo_cpu_avxvnni = 1 << 10
};

/// What code compiled for instructions that are not here returns; beside calo_error_code_t.
enum {
  calo_error_code_cannot_run = -102,
  calo_error_code_stopped = -103,
  calo_error_code_no_thread = -104
};

/// Memory for one allocation of a Func; null: return calo_error_out_of_memory. Negative `bytes`
/// (an overflowed product) give null.
void *calo_malloc(void *cx, int64_t bytes);
/// Null is allowed.
void calo_free(void *cx, void *ptr);

/// Runs f(cx, i, closure) for min <= i < min + size in any order, on several threads. Returns when all
/// iterations that began have ended: 0, or the first non-zero result, after which no iteration starts.
/// May be called inside an iteration. size <= 0 does nothing.
int calo_par_for(void *cx, halide_task_t f, int min, int size, uint8_t *closure);

/// As calo_par_for, but iterations may wait for one another, by calo_async_wait on `state`: each has a thread. When one
/// fails, waits of the others fail too; the code of the first is returned, once all have ended.
int calo_run_concurrently(void *cx, halide_task_t f, int size, uint8_t *closure, void *state);
/// Words of 8 bytes that calo_async_begin needs.
enum { calo_async_words = 16 };
/// Makes the state of two that run concurrently, one producing what the other consumes: `ahead` is how often the
/// producer may produce before the consumer is done with the first.
int32_t calo_async_begin(void *state, int32_t ahead);
/// Waits until `what` (0: a value is there, for the consumer; 1: a place is free, for the producer) was posted once
/// more than waited for. calo_error_code_stopped: the other side has failed, and reported it.
int32_t calo_async_wait(void *state, int32_t what);
int32_t calo_async_post(void *state, int32_t what);
/// calo_error_code_stopped; the other side has reported why.
int32_t calo_error_stopped(void);

/// Whether the processor and the system have all of these calo_cpu_* bits.
bool calo_cpu_has(uint32_t bits);

void calo_print(void *cx, const char *text);
/// Returns the event's id; without a handler calo_default_trace.
int32_t calo_trace(void *cx, const halide_trace_event_t *event);
/// Prints the event as a line of text and returns a number that no other event has.
int32_t calo_default_trace(void *cx, const halide_trace_event_t *event);
/// The pointer that the program gave as its user context, for user_context_value().
void *calo_user_context(void *cx);

// Results kept between runs: memoize.cpp. The key is the text, the values, and type and bounds of the buffers.

/// 1 where the buffers were filled from what is kept, else 0.
int32_t calo_memo_lookup(void *cx, const char *key, uint64_t evict_key, const uint64_t *values,
                         int32_t value_count, halide_buffer_t *const *buffers,
                         int32_t buffer_count);
/// Keeps a copy of the buffers, if there is room for it. Returns 0.
int32_t calo_memo_store(void *cx, const char *key, uint64_t evict_key, const uint64_t *values,
                        int32_t value_count, halide_buffer_t *const *buffers, int32_t buffer_count);
/// Bounds what is kept (16 MB at first), dropping what was used longest ago; 0 keeps nothing.
void calo_memo_set_size(int64_t bytes);
/// Drops what was kept under this eviction key (0 is none).
void calo_memo_evict(uint64_t evict_key);
void calo_memo_clear(void);
int64_t calo_memo_bytes(void);

// Text of values, one 64-bit slot each: see message.cpp.

void calo_print_values(void *cx, const char *format, const uint64_t *values);
/// One event out of its parts; `type` packs a halide_type_t.
int32_t calo_trace_event(void *cx, const char *func, const char *tag, uint32_t type, int32_t event,
                         int32_t parent, int32_t value_index, int32_t dimensions, void *value,
                         int32_t *coordinates);

// Arguments. `arg` is the argument's name ("input"); types are the four bytes of a halide_type_t
// (code | bits << 8 | lanes << 16).

/// The halide_buffer_t pointer is null. -12
int calo_error_buffer_null(void *cx, const char *pipeline, const char *arg);
/// host is null though this is no bounds query. -34
int calo_error_host_null(void *cx, const char *pipeline, const char *arg);
/// -3
int calo_error_bad_type(void *cx, const char *pipeline, const char *arg, uint32_t expected,
                        uint32_t given);
/// The number of dimensions. -43
int calo_error_bad_rank(void *cx, const char *pipeline, const char *arg, int expected, int given);
/// -28
int calo_error_extent_negative(void *cx, const char *pipeline, const char *arg, int dim,
                               int extent);
/// A property that the program or the schedule fixed. `property` is "stride", "min" or "extent";
/// reported as `output.stride.0`. `because` [or null] says who asked. -8
int calo_error_constraint(void *cx, const char *pipeline, const char *arg, const char *property,
                          int dim, int64_t required, int64_t given, const char *because);
/// Any other constraint, as text: "output.stride.1 == output.extent.0 * 3" with both values. -8
int calo_error_constraint_expr(void *cx, const char *pipeline, const char *constraint, int64_t left,
                               int64_t right);
/// A constrained region doesn't contain what the pipeline needs of the argument. -7
int calo_error_constraint_region(void *cx, const char *pipeline, const char *arg, int dim,
                                 int constrained_min, int constrained_max, int required_min,
                                 int required_max);
/// Reads (or, for an output, writes) required_min .. required_max, but the buffer has given_min ..
/// given_max. `func` [or null] is the Func that reads, `where` [or null] its "file:line", `hint`
/// [or null] the remedy; null gives the general one. -4
int calo_error_out_of_bounds(void *cx, const char *pipeline, const char *arg, int dim,
                             int64_t required_min, int64_t required_max, int64_t given_min,
                             int64_t given_max, const char *func, const char *where,
                             const char *hint);
/// Bytes spanned exceed the limit of the target. -5
int calo_error_buffer_bytes(void *cx, const char *pipeline, const char *arg, int64_t bytes,
                            int64_t limit);
/// The product of the extents exceeds the limit. -6
int calo_error_buffer_elements(void *cx, const char *pipeline, const char *arg, int64_t elements,
                               int64_t limit);
/// Whether the newest copy of a halide_buffer_t is on a device.
bool calo_device_dirty(const void *buffer);
/// host isn't a multiple of `alignment` bytes, as its type or a promise asks. -24
int calo_error_unaligned_host(void *cx, const char *pipeline, const char *arg, int alignment);
/// Device memory is newer than host, and the pipeline has no device code. -44
int calo_error_device_dirty(void *cx, const char *pipeline, const char *arg);
/// Whether two elements of a halide_buffer_t may lie at one address, or it is not known cheaply that
/// none do. Extents are 0 or more, and the buffer spans less than 2^60 elements.
bool calo_overlaps_itself(const void *buffer);
/// `output` overlaps `other` and the pipeline doesn't read `other` only where it writes. `other`
/// [or null: itself]. -101
int calo_error_buffers_overlap(void *cx, const char *pipeline, const char *output,
                               const char *other);

// Scalars out of their declared range. -9, -10

int calo_error_param_too_small_i64(void *cx, const char *pipeline, const char *arg, int64_t given,
                                   int64_t least);
int calo_error_param_too_small_u64(void *cx, const char *pipeline, const char *arg, uint64_t given,
                                   uint64_t least);
int calo_error_param_too_small_f64(void *cx, const char *pipeline, const char *arg, double given,
                                   double least);
int calo_error_param_too_large_i64(void *cx, const char *pipeline, const char *arg, int64_t given,
                                   int64_t most);
int calo_error_param_too_large_u64(void *cx, const char *pipeline, const char *arg, uint64_t given,
                                   uint64_t most);
int calo_error_param_too_large_f64(void *cx, const char *pipeline, const char *arg, double given,
                                   double most);

// While running.

/// require(condition, message) or Pipeline::add_requirement; `where` [or null] is "file:line". -27
int calo_error_requirement_failed(void *cx, const char *pipeline, const char *condition,
                                  const char *message, const char *where);
/// The same with the message made of values: see message.cpp. -27
int calo_error_requirement_values(void *cx, const char *pipeline, const char *condition,
                                  const char *where, const char *format, const uint64_t *values);
/// bound() or align_bounds of `func`.`var` doesn't cover what its consumers need. -2
int calo_error_explicit_bounds(void *cx, const char *pipeline, const char *func, const char *var,
                               int64_t bound_min, int64_t bound_max, int64_t required_min,
                               int64_t required_max, const char *where);
/// fold_storage(var, factor) of `func` is smaller than what one iteration of `loop` keeps. -26
int calo_error_fold_factor(void *cx, const char *pipeline, const char *func, const char *var,
                           int factor, const char *loop, int64_t required);
/// bound_storage(var, provided) of `func`. -45
int calo_error_storage_bound(void *cx, const char *pipeline, const char *func, const char *var,
                             int64_t provided, int64_t required);
/// split(var, outer, inner, factor) of `func` with a factor below 1. -46
int calo_error_split_factor(void *cx, const char *pipeline, const char *func, const char *var,
                            int64_t factor);
/// specialize_fail(message) was reached. -31
int calo_error_specialize_fail(void *cx, const char *pipeline, const char *message);
/// No memory for `func`; `bytes` < 0 means that the size overflows. -11
int calo_error_out_of_memory(void *cx, const char *pipeline, const char *func, int64_t bytes);
/// An extern stage returned a code that is no success. Returns `result`, so nothing is lost.
int calo_error_extern_stage(void *cx, const char *pipeline, const char *stage, int result);
/// The code was compiled for `target`, which needs the features `lacks`; not all are here. -102
int calo_error_cannot_run(void *cx, const char *pipeline, const char *target, const char *lacks);
/// A fault of the compiler, not of the user. -22
int calo_error_internal(void *cx, const char *pipeline, const char *message);

}  // extern "C"
#if CALO_AOT_RUNTIME
#pragma GCC visibility pop
#endif
