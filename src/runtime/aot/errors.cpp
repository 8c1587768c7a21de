// The published error reporters, for extern stages and programs written against them: each words its
// message, passes it to halide_error and returns its code. Compiled functions use the calo_error_*
// reporters, which know more (error.cpp).

#include "../runtime.h"

using calotype::runtime::RuntimeError;
using calotype::runtime::Text;
using calotype::runtime::to_text;

namespace {

Text named(const char *s) { return s ? s : "(unnamed)"; }
Text range(int64_t min, int64_t max) { return to_text(min) + " .. " + to_text(max); }

int fail(void *cx, int code, Text what) {
  RuntimeError e;
  e.code = code;
  e.what = static_cast<Text &&>(what);
  calotype::runtime::report(cx, e);
  return code;
}

template <typename Given>
int limit(void *cx, int code, const char *name, const char *side, Given given, Given bound) {
  return fail(cx, code,
              "parameter " + named(name) + " is " + to_text(given) + ", expected at " + side + " " +
                  to_text(bound));
}

}  // namespace

// ---- buffers ------------------------------------------------------------------------------------

int halide_error_buffer_argument_is_null(void *cx, const char *buffer_name) {
  return fail(cx, halide_error_code_buffer_argument_is_null,
              "buffer " + named(buffer_name) + " is a null pointer");
}
int halide_error_buffer_is_null(void *cx, const char *routine) {
  return fail(cx, halide_error_code_buffer_is_null, named(routine) + " was given a null buffer");
}
int halide_error_host_is_null(void *cx, const char *func_name) {
  return fail(cx, halide_error_code_host_is_null, named(func_name) + " has no host memory");
}
int halide_error_bad_type(void *cx, const char *func_name, uint32_t type_given,
                          uint32_t correct_type) {
  return calo_error_bad_type(cx, func_name, func_name, correct_type, type_given);
}
int halide_error_bad_dimensions(void *cx, const char *func_name, int32_t dimensions_given,
                                int32_t correct_dimensions) {
  return fail(cx, halide_error_code_bad_dimensions,
              named(func_name) + " has " + to_text(dimensions_given) + " dimensions, expected " +
                  to_text(correct_dimensions));
}
int halide_error_buffer_extents_negative(void *cx, const char *buffer_name, int dimension,
                                         int extent) {
  return fail(cx, halide_error_code_buffer_extents_negative,
              "buffer " + named(buffer_name) + " has extent " + to_text(extent) + " in dimension " +
                  to_text(dimension));
}
int halide_error_buffer_allocation_too_large(void *cx, const char *buffer_name,
                                             uint64_t allocation_size, uint64_t max_size) {
  return fail(cx, halide_error_code_buffer_allocation_too_large,
              "buffer " + named(buffer_name) + " spans " + to_text(allocation_size) +
                  " bytes, at most " + to_text(max_size));
}
int halide_error_buffer_extents_too_large(void *cx, const char *buffer_name, int64_t actual_size,
                                          int64_t max_size) {
  return fail(cx, halide_error_code_buffer_extents_too_large,
              "buffer " + named(buffer_name) + " has " + to_text(actual_size) +
                  " elements, at most " + to_text(max_size));
}
int halide_error_access_out_of_bounds(void *cx, const char *func_name, int dimension,
                                      int min_touched, int max_touched, int min_valid,
                                      int max_valid) {
  return fail(cx, halide_error_code_access_out_of_bounds,
              named(func_name) + " is accessed at " + range(min_touched, max_touched) +
                  " in dimension " + to_text(dimension) + ", given " + range(min_valid, max_valid));
}
int halide_error_constraint_violated(void *cx, const char *var, int val,
                                     const char *constrained_var, int constrained_val) {
  return fail(cx, halide_error_code_constraint_violated,
              named(var) + " is " + to_text(val) + ", expected " + named(constrained_var) + " (" +
                  to_text(constrained_val) + ")");
}
int halide_error_constraints_make_required_region_smaller(void *cx, const char *buffer_name,
                                                          int dimension, int constrained_min,
                                                          int constrained_extent, int required_min,
                                                          int required_extent) {
  return fail(cx, halide_error_code_constraints_make_required_region_smaller,
              "the constraints on " + named(buffer_name) + " leave " +
                  range(constrained_min, int64_t(constrained_min) + constrained_extent - 1) +
                  " in dimension " + to_text(dimension) + ", required " +
                  range(required_min, int64_t(required_min) + required_extent - 1));
}
int halide_error_unaligned_host_ptr(void *cx, const char *func_name, int alignment) {
  return fail(
      cx, halide_error_code_unaligned_host_ptr,
      "the memory of " + named(func_name) + " is not aligned to " + to_text(alignment) + " bytes");
}

// ---- parameters and requirements ------------------------------------------------------------------

int halide_error_param_too_small_i64(void *cx, const char *name, int64_t val, int64_t least) {
  return limit(cx, halide_error_code_param_too_small, name, "least", val, least);
}
int halide_error_param_too_small_u64(void *cx, const char *name, uint64_t val, uint64_t least) {
  return limit(cx, halide_error_code_param_too_small, name, "least", val, least);
}
int halide_error_param_too_small_f64(void *cx, const char *name, double val, double least) {
  return limit(cx, halide_error_code_param_too_small, name, "least", val, least);
}
int halide_error_param_too_large_i64(void *cx, const char *name, int64_t val, int64_t most) {
  return limit(cx, halide_error_code_param_too_large, name, "most", val, most);
}
int halide_error_param_too_large_u64(void *cx, const char *name, uint64_t val, uint64_t most) {
  return limit(cx, halide_error_code_param_too_large, name, "most", val, most);
}
int halide_error_param_too_large_f64(void *cx, const char *name, double val, double most) {
  return limit(cx, halide_error_code_param_too_large, name, "most", val, most);
}
int halide_error_requirement_failed(void *cx, const char *condition, const char *message) {
  return fail(cx, halide_error_code_requirement_failed,
              "requirement failed: " + named(condition) + ": " + (message ? message : ""));
}

// ---- while running ------------------------------------------------------------------------------

int halide_error_bounds_inference_call_failed(void *cx, const char *extern_stage_name, int result) {
  return fail(cx, result,
              "the bounds query of the extern stage " + named(extern_stage_name) + " returned " +
                  to_text(result));
}
int halide_error_extern_stage_failed(void *cx, const char *extern_stage_name, int result) {
  return fail(cx, result,
              "the extern stage " + named(extern_stage_name) + " returned " + to_text(result));
}
int halide_error_explicit_bounds_too_small(void *cx, const char *func_name, const char *var_name,
                                           int min_bound, int max_bound, int min_required,
                                           int max_required) {
  return fail(cx, halide_error_code_explicit_bounds_too_small,
              "the bounds of " + named(func_name) + " in " + named(var_name) + " are " +
                  range(min_bound, max_bound) + ", required " + range(min_required, max_required));
}
int halide_error_bad_fold(void *cx, const char *func_name, const char *var_name,
                          const char *loop_name) {
  return fail(cx, halide_error_code_bad_fold,
              "the storage of " + named(func_name) + " is folded in " + named(var_name) +
                  " but does not move in one direction with " + named(loop_name));
}
int halide_error_bad_extern_fold(void *cx, const char *func_name, int dim, int min, int extent,
                                 int valid_min, int fold_factor) {
  return fail(cx, halide_error_code_bad_extern_fold,
              "an extern stage needs " + range(min, int64_t(min) + extent - 1) + " of " +
                  named(func_name) + " in dimension " + to_text(dim) + ", folded by " +
                  to_text(fold_factor) + " from " + to_text(valid_min));
}
int halide_error_fold_factor_too_small(void *cx, const char *func_name, const char *var_name,
                                       int fold_factor, const char *loop_name,
                                       int required_extent) {
  return fail(cx, halide_error_code_fold_factor_too_small,
              "the storage of " + named(func_name) + " is folded in " + named(var_name) + " by " +
                  to_text(fold_factor) + ", one iteration of " + named(loop_name) + " needs " +
                  to_text(required_extent));
}
int halide_error_storage_bound_too_small(void *cx, const char *func_name, const char *var_name,
                                         int provided_size, int required_size) {
  return fail(cx, halide_error_code_storage_bound_too_small,
              "the storage of " + named(func_name) + " is bounded to " + to_text(provided_size) +
                  " in " + named(var_name) + ", required " + to_text(required_size));
}
int halide_error_split_factor_not_positive(void *cx, const char *func_name, const char *orig,
                                           const char *outer, const char *inner,
                                           const char *factor_str, int factor) {
  return fail(cx, halide_error_code_split_factor_not_positive,
              "split(" + named(orig) + ", " + named(outer) + ", " + named(inner) + ", " +
                  named(factor_str) + ") of " + named(func_name) + ": the factor is " +
                  to_text(factor));
}
int halide_error_specialize_fail(void *cx, const char *message) {
  return fail(cx, halide_error_code_specialize_fail,
              Text("no specialization fits: ") + (message ? message : ""));
}
int halide_error_out_of_memory(void *cx) {
  return fail(cx, halide_error_code_out_of_memory, "out of memory");
}
int halide_error_debug_to_file_failed(void *cx, const char *func, const char *filename,
                                      int error_code) {
  return fail(
      cx, halide_error_code_debug_to_file_failed,
      "cannot write " + named(func) + " to " + named(filename) + ": " + to_text(error_code));
}

// ---- devices ------------------------------------------------------------------------------------

int halide_error_host_and_device_dirty(void *cx) {
  return fail(cx, halide_error_code_host_and_device_dirty,
              "both copies of a buffer are marked as the newest");
}
int halide_error_no_device_interface(void *cx) {
  return fail(cx, halide_error_code_no_device_interface, "the buffer belongs to no device");
}
int halide_error_device_interface_no_device(void *cx) {
  return fail(cx, halide_error_code_device_interface_no_device,
              "the buffer names a device but has no memory there");
}
int halide_error_device_dirty_with_no_device_support(void *cx, const char *buffer_name) {
  return calo_error_device_dirty(cx, buffer_name, buffer_name);
}
