#pragma once
/* The C interface between compiled pipelines and the programs that call them.
 *
 * Names, layouts and numbers follow the interface Halide publishes, so that callers, extern stages
 * and custom hooks written for it keep working. Valid as C99 and as C++11 or later.
 * Order: macros, element types, buffers, error codes, memory, printing and errors, threads,
 * tracing, devices, and last the description of a compiled function's arguments.
 * Functions declared here are defined by the ahead-of-time runtime (weak, so a program may replace
 * them). The JIT has the same behaviour behind other names: runtime.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <type_traits>
#endif

/* ---- Macros ------------------------------------------------------------------------------- */

#define HALIDE_NEVER_INLINE __attribute__((noinline))
#define HALIDE_ALWAYS_INLINE inline __attribute__((always_inline))

#ifdef __cplusplus
#if __cplusplus >= 201703L
#define HALIDE_MUST_USE_RESULT [[nodiscard]]
#else
#define HALIDE_MUST_USE_RESULT
#endif
#else
#define HALIDE_MUST_USE_RESULT
#endif

#ifndef HALIDE_ATTRIBUTE_ALIGN
#define HALIDE_ATTRIBUTE_ALIGN(x) __attribute__((aligned(x)))
#endif

#define HALIDE_ATTRIBUTE_DEPRECATED(x) __attribute__((deprecated(x)))

/* _Float16 in a C++ program: x86-64 has it from gcc 12 (SSE2) and clang 15 on. */
#if defined(__FLT16_MAX__) && defined(__x86_64__) && defined(__cplusplus)
#if (defined(__clang__) && __clang_major__ >= 15) || (!defined(__clang__) && __GNUC__ >= 13)
#define HALIDE_CPP_COMPILER_HAS_FLOAT16
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types ------------------------------------------------------------------------ */

#if defined(__cplusplus)
typedef enum halide_type_code_t : uint8_t {
#else
typedef enum halide_type_code_t {
#endif
  halide_type_int = 0,    /* two's complement */
  halide_type_uint = 1,   /* unsigned; bool is one bit of it */
  halide_type_float = 2,  /* IEEE 754 */
  halide_type_handle = 3, /* a pointer, 64 bits */
  halide_type_bfloat = 4  /* the upper half of a 32-bit IEEE float */
} halide_type_code_t;

/* Four bytes: what an element is, its width, and how many of them make one value. */
struct halide_type_t {
#ifdef __cplusplus
  halide_type_code_t code;
#else
  uint8_t code;
#endif
  uint8_t bits;
  uint16_t lanes;

#ifdef __cplusplus
  constexpr halide_type_t() : code(halide_type_int), bits(0), lanes(0) {}

  constexpr halide_type_t(halide_type_code_t c, uint8_t width, uint16_t count = 1)
      : code(c), bits(width), lanes(count) {}

  static constexpr halide_type_t from_u32(uint32_t v) {
    return halide_type_t((halide_type_code_t)(v & 255u), (uint8_t)(v >> 8), (uint16_t)(v >> 16));
  }

  /* code | bits << 8 | lanes << 16: the four bytes read as a little-endian integer. */
  constexpr uint32_t as_u32() const {
    return (uint32_t)code | (uint32_t)bits << 8 | (uint32_t)lanes << 16;
  }

  constexpr bool operator==(const halide_type_t &o) const { return as_u32() == o.as_u32(); }
  constexpr bool operator!=(const halide_type_t &o) const { return as_u32() != o.as_u32(); }

  /* A total order for use as a map key; it means nothing else. */
  constexpr bool operator<(const halide_type_t &o) const { return as_u32() < o.as_u32(); }

  /* Bytes of one lane, a started byte counted whole. */
  constexpr int bytes() const { return (bits + 7) / 8; }

  constexpr halide_type_t with_lanes(uint16_t n) const { return halide_type_t(code, bits, n); }
  constexpr halide_type_t element_of() const { return with_lanes(1); }
#endif
};

/* ---- Buffers ------------------------------------------------------------------------------ */

/* Coordinates min .. min + extent - 1 are valid; stride counts elements, not bytes. */
typedef struct halide_dimension_t {
#ifdef __cplusplus
  int32_t min = 0, extent = 0, stride = 0;
  uint32_t flags = 0; /* none is defined; must be zero */

  halide_dimension_t() = default;
  halide_dimension_t(int32_t first, int32_t count, int32_t step, uint32_t f = 0)
      : min(first), extent(count), stride(step), flags(f) {}

  bool operator==(const halide_dimension_t &o) const {
    return min == o.min && extent == o.extent && stride == o.stride && flags == o.flags;
  }
  bool operator!=(const halide_dimension_t &o) const { return !(*this == o); }
#else
  int32_t min, extent, stride;
  uint32_t flags;
#endif
} halide_dimension_t;

typedef enum {
  halide_buffer_flag_host_dirty = 1,  /* host memory is newer than the device's copy */
  halide_buffer_flag_device_dirty = 2 /* the device's copy is newer than host memory */
} halide_buffer_flags;

struct halide_buffer_t;
typedef struct halide_device_interface_t halide_device_interface_t;
struct halide_device_interface_impl_t;

int halide_device_sync(void *cx, struct halide_buffer_t *buf);

/* A view of dense or strided memory on host, device or both. It owns nothing: neither host, nor
 * device, nor dim. host points at the element whose coordinates are the mins. */
/* clang-format off */
typedef struct halide_buffer_t {
    uint64_t device; /* a handle that the interface understands; 0 means no device memory */
    const halide_device_interface_t *device_interface;
    uint8_t *host;  /* null: not in host memory */
    uint64_t flags; /* halide_buffer_flags */
    struct halide_type_t type;
    int32_t dimensions; halide_dimension_t *dim; /* [dimensions], 0 innermost by habit */
    void *padding;                               /* must be null */
  /* clang-format on */

#ifdef __cplusplus
  bool get_flag(halide_buffer_flags f) const { return (flags & (uint64_t)f) != 0; }
  void set_flag(halide_buffer_flags f, bool on) {
    flags = on ? flags | (uint64_t)f : flags & ~(uint64_t)f;
  }
  bool host_dirty() const { return get_flag(halide_buffer_flag_host_dirty); }
  bool device_dirty() const { return get_flag(halide_buffer_flag_device_dirty); }
  void set_host_dirty(bool on = true) { set_flag(halide_buffer_flag_host_dirty, on); }
  void set_device_dirty(bool on = true) { set_flag(halide_buffer_flag_device_dirty, on); }

  /* Product of the extents, whatever the strides; 1 for zero dimensions. */
  size_t number_of_elements() const {
    size_t n = 1;
    for (int d = 0; d < dimensions; d++) {
      n *= (size_t)dim[d].extent;
    }
    return n;
  }

  /* Lowest and one-past-highest byte that any valid coordinate touches (strides may be negative);
     * equal for an empty buffer. */
  uint8_t *begin() const { return host + (is_empty() ? 0 : reach(-1)) * type.bytes(); }
  uint8_t *end() const { return host + (is_empty() ? 0 : reach(+1) + 1) * type.bytes(); }
  size_t size_in_bytes() const { return (size_t)(end() - begin()); }

  /* Address of one element; pos has `dimensions` coordinates and is not range-checked. */
  uint8_t *address_of(const int *pos) const {
    ptrdiff_t offset = 0;
    for (int d = 0; d < dimensions; d++) {
      offset += (ptrdiff_t)dim[d].stride * ((ptrdiff_t)pos[d] - dim[d].min);
    }
    return host + offset * type.bytes();
  }

  /* A pipeline given such a buffer writes the region it needs into dim and does nothing else. */
  bool is_bounds_query() const { return host == nullptr && device == 0; }

  /* A call of the runtime, which therefore has to be linked where this is used. */
  int device_sync(void *cx = nullptr) { return ::halide_device_sync(cx, this); }

private:
  bool is_empty() const {
    for (int d = 0; d < dimensions; d++) {
      if (dim[d].extent <= 0) {
        return true;
      }
    }
    return false;
  }
  /* Offset in elements of the farthest corner in the direction of `sign`. */
  ptrdiff_t reach(int sign) const {
    ptrdiff_t sum = 0;
    for (int d = 0; d < dimensions; d++) {
      const ptrdiff_t span = (ptrdiff_t)dim[d].stride * (dim[d].extent - 1);
      sum += (span > 0) == (sign > 0) ? span : 0;
    }
    return sum;
  }
#endif
} halide_buffer_t;

/* ---- Error codes -------------------------------------------------------------------------- */

/* What a compiled function returns; a number once published is never used again. */
enum halide_error_code_t {
  halide_error_code_success = 0,
  halide_error_code_generic_error = -1,

  /* the arguments */
  halide_error_code_buffer_argument_is_null = -12,
  halide_error_code_buffer_is_null = -38,
  halide_error_code_host_is_null = -34,
  halide_error_code_bad_type = -3,
  halide_error_code_bad_dimensions = -43,
  halide_error_code_buffer_extents_negative = -28,
  halide_error_code_buffer_allocation_too_large = -5,
  halide_error_code_buffer_extents_too_large = -6,
  halide_error_code_access_out_of_bounds = -4,
  halide_error_code_constraint_violated = -8,
  halide_error_code_constraints_make_required_region_smaller = -7,
  halide_error_code_unaligned_host_ptr = -24,
  halide_error_code_param_too_small = -9,
  halide_error_code_param_too_large = -10,
  halide_error_code_requirement_failed = -27,

  /* the schedule met values it can't serve */
  halide_error_code_explicit_bounds_too_small = -2,
  halide_error_code_bad_fold = -25,
  halide_error_code_bad_extern_fold = -35,
  halide_error_code_fold_factor_too_small = -26,
  halide_error_code_storage_bound_too_small = -45,
  halide_error_code_split_factor_not_positive = -46,
  halide_error_code_specialize_fail = -31,
  halide_error_code_vscale_invalid = -47,

  /* resources and tools */
  halide_error_code_out_of_memory = -11,
  halide_error_code_debug_to_file_failed = -13,
  halide_error_code_cannot_profile_pipeline = -48,
  halide_error_code_internal_error = -22,

  /* devices */
  halide_error_code_no_device_interface = -19,
  halide_error_code_incompatible_device_interface = -42,
  halide_error_code_device_interface_no_device = -36,
  halide_error_code_device_dirty_with_no_device_support = -44,
  halide_error_code_host_and_device_dirty = -37,
  halide_error_code_device_run_failed = -23,
  halide_error_code_device_malloc_failed = -16,
  halide_error_code_device_free_failed = -18,
  halide_error_code_device_sync_failed = -17,
  halide_error_code_copy_to_device_failed = -15,
  halide_error_code_copy_to_host_failed = -14,
  halide_error_code_device_wrap_native_failed = -32,
  halide_error_code_device_detach_native_failed = -33,
  halide_error_code_device_buffer_copy_failed = -39,
  halide_error_code_device_crop_unsupported = -40,
  halide_error_code_device_crop_failed = -41
};

/* Codes that only Calotype returns; below -100 so that they never meet a published one. */
enum calo_error_code_t {
  calo_error_code_buffers_overlap = -101 /* output memory shared with another buffer unsafely */
};

/* ---- Memory ------------------------------------------------------------------------------- */

/* Aligned for the widest vector of the target; null when there is no memory. */
void *halide_malloc(void *cx, size_t bytes);
void halide_free(void *cx, void *ptr);
void *halide_default_malloc(void *cx, size_t bytes);
void halide_default_free(void *cx, void *ptr);

/* Each halide_set_custom_* returns what was installed before. */
typedef void *(*halide_malloc_t)(void *cx, size_t bytes);
typedef void (*halide_free_t)(void *cx, void *ptr);
halide_malloc_t halide_set_custom_malloc(halide_malloc_t f);
halide_free_t halide_set_custom_free(halide_free_t f);

/* ---- Printing and errors ------------------------------------------------------------------ */

void halide_print(void *cx, const char *text);
void halide_default_print(void *cx, const char *text);
typedef void (*halide_print_t)(void *cx, const char *text);
halide_print_t halide_set_custom_print(halide_print_t print);

/* Called once per failure, before the compiled function returns its code. The default prints and
 * returns; a replacement may return too. */
void halide_error(void *cx, const char *text);
void halide_default_error(void *cx, const char *text);
typedef void (*halide_error_handler_t)(void *cx, const char *text);
halide_error_handler_t halide_set_error_handler(halide_error_handler_t handler);

/* Reporters: they word the message, pass it to halide_error and return the code. */
int halide_error_buffer_argument_is_null(void *cx, const char *buffer_name);
int halide_error_buffer_is_null(void *cx, const char *routine);
int halide_error_host_is_null(void *cx, const char *func_name);
int halide_error_bad_type(void *cx, const char *func_name, uint32_t type_given,
                          uint32_t correct_type);
int halide_error_bad_dimensions(void *cx, const char *func_name, int32_t dimensions_given,
                                int32_t correct_dimensions);
int halide_error_buffer_extents_negative(void *cx, const char *buffer_name, int dimension,
                                         int extent);
int halide_error_buffer_allocation_too_large(void *cx, const char *buffer_name,
                                             uint64_t allocation_size, uint64_t max_size);
int halide_error_buffer_extents_too_large(void *cx, const char *buffer_name, int64_t actual_size,
                                          int64_t max_size);
int halide_error_access_out_of_bounds(void *cx, const char *func_name, int dimension,
                                      int min_touched, int max_touched, int min_valid,
                                      int max_valid);
int halide_error_constraint_violated(void *cx, const char *var, int val,
                                     const char *constrained_var, int constrained_val);
int halide_error_constraints_make_required_region_smaller(void *cx, const char *buffer_name,
                                                          int dimension, int constrained_min,
                                                          int constrained_extent, int required_min,
                                                          int required_extent);
int halide_error_unaligned_host_ptr(void *cx, const char *func_name, int alignment);
int halide_error_param_too_small_i64(void *cx, const char *param_name, int64_t val,
                                     int64_t min_val);
int halide_error_param_too_small_u64(void *cx, const char *param_name, uint64_t val,
                                     uint64_t min_val);
int halide_error_param_too_small_f64(void *cx, const char *param_name, double val, double min_val);
int halide_error_param_too_large_i64(void *cx, const char *param_name, int64_t val,
                                     int64_t max_val);
int halide_error_param_too_large_u64(void *cx, const char *param_name, uint64_t val,
                                     uint64_t max_val);
int halide_error_param_too_large_f64(void *cx, const char *param_name, double val, double max_val);
int halide_error_requirement_failed(void *cx, const char *condition, const char *message);
int halide_error_bounds_inference_call_failed(void *cx, const char *extern_stage_name, int result);
int halide_error_extern_stage_failed(void *cx, const char *extern_stage_name, int result);
int halide_error_explicit_bounds_too_small(void *cx, const char *func_name, const char *var_name,
                                           int min_bound, int max_bound, int min_required,
                                           int max_required);
int halide_error_bad_fold(void *cx, const char *func_name, const char *var_name,
                          const char *loop_name);
int halide_error_bad_extern_fold(void *cx, const char *func_name, int dim, int min, int extent,
                                 int valid_min, int fold_factor);
int halide_error_fold_factor_too_small(void *cx, const char *func_name, const char *var_name,
                                       int fold_factor, const char *loop_name, int required_extent);
int halide_error_storage_bound_too_small(void *cx, const char *func_name, const char *var_name,
                                         int provided_size, int required_size);
int halide_error_split_factor_not_positive(void *cx, const char *func_name, const char *orig,
                                           const char *outer, const char *inner,
                                           const char *factor_str, int factor);
int halide_error_specialize_fail(void *cx, const char *message);
int halide_error_out_of_memory(void *cx);
int halide_error_debug_to_file_failed(void *cx, const char *func, const char *filename,
                                      int error_code);
int halide_error_host_and_device_dirty(void *cx);
int halide_error_no_device_interface(void *cx);
int halide_error_device_interface_no_device(void *cx);
int halide_error_device_dirty_with_no_device_support(void *cx, const char *buffer_name);

/* ---- Threads ------------------------------------------------------------------------------ */

/* One iteration of a parallel loop; non-zero stops the loop and becomes its result. */
typedef int (*halide_task_t)(void *cx, int task_number, uint8_t *closure);

int halide_do_par_for(void *cx, halide_task_t task, int min, int size, uint8_t *closure);
int halide_do_task(void *cx, halide_task_t f, int idx, uint8_t *closure);
int halide_default_do_par_for(void *cx, halide_task_t task, int min, int size, uint8_t *closure);
int halide_default_do_task(void *cx, halide_task_t f, int idx, uint8_t *closure);

typedef int (*halide_do_par_for_t)(void *, halide_task_t, int, int, uint8_t *);
typedef int (*halide_do_task_t)(void *, halide_task_t, int, uint8_t *);
halide_do_par_for_t halide_set_custom_do_par_for(halide_do_par_for_t do_par_for);
halide_do_task_t halide_set_custom_do_task(halide_do_task_t do_task);

/* ---- Processors --------------------------------------------------------------------------- */

/* Bits of halide_can_use_target_features: the instruction sets among the features of targets. */
typedef enum halide_target_feature_t {
  halide_target_feature_sse41 = 4,
  halide_target_feature_avx = 5,
  halide_target_feature_avx2 = 6,
  halide_target_feature_fma = 7,
  halide_target_feature_f16c = 9,
  halide_target_feature_avx512 = 48,
  halide_target_feature_avx512_knl = 49,
  halide_target_feature_avx512_skylake = 50,
  halide_target_feature_avx512_cannonlake = 51,
  halide_target_feature_avx512_zen4 = 52,
  halide_target_feature_avx512_zen5 = 53,
  halide_target_feature_avx512_sapphirerapids = 54,
  halide_target_feature_avx10_1 = 55,
  halide_target_feature_avxvnni = 56
} halide_target_feature_t;

/* Whether the processor and the system can run code for these features: bit i % 64 of features[i / 64] stands for
 * feature i, `count` words are read, and other features ask for nothing. A library for several targets asks it, best
 * target first, so a replacement that says no chooses a lesser one. */
int halide_can_use_target_features(int count, const uint64_t *features);
int halide_default_can_use_target_features(int count, const uint64_t *features);
typedef int (*halide_can_use_target_features_t)(int count, const uint64_t *features);
halide_can_use_target_features_t halide_set_custom_can_use_target_features(
    halide_can_use_target_features_t can_use);

/* Threads of parallel loops, the caller's included. 0 restores the default: HL_NUM_THREADS, else
 * one per core. Returns the number before. */
int halide_set_num_threads(int n);
int halide_get_num_threads(void);

/* Joins all worker threads; the next parallel loop starts them again. */
void halide_shutdown_thread_pool(void);

/* ---- Tracing ------------------------------------------------------------------------------ */

#if defined(__cplusplus)
typedef enum halide_trace_event_code_t : int {
#else
typedef enum halide_trace_event_code_t {
#endif
  /* clang-format off */
  halide_trace_begin_pipeline = 8, halide_trace_end_pipeline = 9,
  halide_trace_begin_realization = 2, halide_trace_end_realization = 3,
  halide_trace_produce = 4, halide_trace_end_produce = 5,
  halide_trace_consume = 6, halide_trace_end_consume = 7,
  halide_trace_load = 0, halide_trace_store = 1, halide_trace_tag = 10
  /* clang-format on */
} halide_trace_event_code_t;

/* What halide_trace gets. For a load or store of n lanes: value has n elements, and coordinates
 * holds n numbers per Func dimension, the lanes of one dimension side by side. For realizations and
 * produce: min and extent of each dimension in turn. */
typedef struct halide_trace_event_t {
  const char *func;
  void *value;          /* [lanes] */
  int32_t *coordinates; /* [dimensions] */
  const char *trace_tag;
  struct halide_type_t type; /* of value, lanes included */
  halide_trace_event_code_t event;
  /* What halide_trace returned for the enclosing event; which element of a Tuple; see above. */
  int32_t parent_id, value_index, dimensions;
} halide_trace_event_t;

/* Returns a number that later events use as their parent_id. */
int32_t halide_trace(void *cx, const struct halide_trace_event_t *event);
int32_t halide_default_trace(void *cx, const struct halide_trace_event_t *event);
typedef int32_t (*halide_trace_t)(void *cx, const struct halide_trace_event_t *);
halide_trace_t halide_set_custom_trace(halide_trace_t trace);

/* ---- Devices ------------------------------------------------------------------------------ */

/* Shapes of its members: what acts on one buffer, what needs an api too, what cuts src into dst. */
typedef int halide_device_op_t(void *cx, struct halide_buffer_t *buf);
typedef int halide_device_api_op_t(void *cx, struct halide_buffer_t *buf,
                                   const struct halide_device_interface_t *api);

/* The operations of one device API. Programs pass pointers to it around; they call the functions
 * below instead of its members. */
struct halide_device_interface_t {
  halide_device_api_op_t *device_malloc;
  halide_device_op_t *device_free, *device_sync;
  void (*device_release)(void *cx, const struct halide_device_interface_t *api);
  halide_device_op_t *copy_to_host;
  halide_device_api_op_t *copy_to_device, *device_and_host_malloc;
  halide_device_op_t *device_and_host_free;
  int (*buffer_copy)(void *cx, struct halide_buffer_t *src,
                     const struct halide_device_interface_t *dst_api, struct halide_buffer_t *dst);
  int (*device_crop)(void *cx, const struct halide_buffer_t *src, struct halide_buffer_t *dst);
  int (*device_slice)(void *cx, const struct halide_buffer_t *src, int slice_dim, int slice_pos,
                      struct halide_buffer_t *dst);
  halide_device_op_t *device_release_crop;
  int (*wrap_native)(void *cx, struct halide_buffer_t *buf, uint64_t handle,
                     const struct halide_device_interface_t *api);
  halide_device_op_t *detach_native;
  int (*compute_capability)(void *cx, int *major, int *minor);
  const struct halide_device_interface_impl_t *impl;
};

int halide_device_malloc(void *cx, struct halide_buffer_t *buf,
                         const struct halide_device_interface_t *api);
int halide_device_free(void *cx, struct halide_buffer_t *buf);
int halide_copy_to_host(void *cx, struct halide_buffer_t *buf);
int halide_copy_to_device(void *cx, struct halide_buffer_t *buf,
                          const struct halide_device_interface_t *api);
int halide_buffer_copy(void *cx, struct halide_buffer_t *src,
                       const struct halide_device_interface_t *dst_api,
                       struct halide_buffer_t *dst);
int halide_device_crop(void *cx, const struct halide_buffer_t *src, struct halide_buffer_t *dst);
int halide_device_slice(void *cx, const struct halide_buffer_t *src, int slice_dim, int slice_pos,
                        struct halide_buffer_t *dst);
int halide_device_release_crop(void *cx, struct halide_buffer_t *buf);
int halide_device_wrap_native(void *cx, struct halide_buffer_t *buf, uint64_t handle,
                              const struct halide_device_interface_t *api);
int halide_device_detach_native(void *cx, struct halide_buffer_t *buf);
void halide_device_release(void *cx, const struct halide_device_interface_t *api);

/* ---- Description of a compiled function --------------------------------------------------- */

/* clang-format off */
/* One scalar of any type, by the member of its name; 8 bytes. */
struct halide_scalar_value_t {
    union {
        void *handle;
        bool b;
        int8_t i8; int16_t i16; int32_t i32; int64_t i64;
        uint8_t u8; uint16_t u16; uint32_t u32; uint64_t u64;
        float f32; double f64;
    } u;
#ifdef __cplusplus
    halide_scalar_value_t() { u.u64 = 0; }
#endif
};

enum halide_argument_kind_t {
    halide_argument_kind_output_buffer = 2, /* Func results */
    halide_argument_kind_input_buffer = 1,
    halide_argument_kind_input_scalar = 0
};

struct halide_filter_argument_t {
    const char *name;
    int32_t kind, dimensions; /* halide_argument_kind_t; 0 for scalars */
    struct halide_type_t type;
    /* Scalars only, null where the generator said nothing. */
    const struct halide_scalar_value_t *scalar_def, *scalar_min, *scalar_max, *scalar_estimate;
    /* Buffers only: [2 * dimensions] pointers to min, extent of each dimension; each may be null. */
    const int64_t *const *buffer_estimates;
};

/* The <name>_metadata() function of a compiled pipeline returns one. */
struct halide_filter_metadata_t {
#ifdef __cplusplus
    static const int32_t VERSION = 1;
#endif
    int32_t version, num_arguments;
    const struct halide_filter_argument_t *arguments; /* [num_arguments], in call order */
    const char *target, *name;
};
/* clang-format on */

#ifdef __cplusplus
} /* extern "C" */

/* ---- halide_type_of<T>() ------------------------------------------------------------------ */

/* Anything that is no number is a handle: pointers, and classes held by pointer. */
namespace halide_runtime_detail {

template <typename T> constexpr halide_type_t type_of() {
  return std::is_same<T, bool>::value ? halide_type_t(halide_type_uint, 1)
         : std::is_floating_point<T>::value
             ? halide_type_t(halide_type_float, (uint8_t)(8 * sizeof(T)))
         : std::is_integral<T>::value
             ? halide_type_t(std::is_signed<T>::value ? halide_type_int : halide_type_uint,
                             (uint8_t)(8 * sizeof(T)))
             : halide_type_t(halide_type_handle, 64);
}

}  // namespace halide_runtime_detail

/* A program specialises this for an element type of its own, such as a float16 class. */
template <typename T> struct halide_type_of_helper {
  static constexpr halide_type_t value() { return halide_runtime_detail::type_of<T>(); }
};

#ifdef HALIDE_CPP_COMPILER_HAS_FLOAT16
template <> struct halide_type_of_helper<_Float16> {
  static constexpr halide_type_t value() { return halide_type_t(halide_type_float, 16); }
};
#endif

template <typename T> constexpr halide_type_t halide_type_of() {
  return halide_type_of_helper<typename std::remove_cv<T>::type>::value();
}

#endif /* __cplusplus */
