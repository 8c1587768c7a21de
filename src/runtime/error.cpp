// Run-time failures of compiled code: worded once, reported, returned as a code.
//
// report() is the host's: jit_context.cpp keeps the first failure for the front end, aot/hooks.cpp calls
// halide_error. Nothing throws from here: words that find no memory are dropped, the code isn't.
// Tests: test/unit/runtime/error_test.cpp.

#include "runtime.h"

#include <cstdio>
#include <cstdlib>

namespace calotype::runtime {

const char *RuntimeError::diagnostic() const {
  switch (code) {
    case halide_error_code_buffer_argument_is_null:
    case halide_error_code_host_is_null:
    case halide_error_code_bad_type:
    case halide_error_code_bad_dimensions:
    case halide_error_code_buffer_extents_negative:
    case halide_error_code_buffer_allocation_too_large:
    case halide_error_code_buffer_extents_too_large:
    case halide_error_code_unaligned_host_ptr:
    case halide_error_code_device_dirty_with_no_device_support:
    case calo_error_code_buffers_overlap: return "R0101";
    case halide_error_code_access_out_of_bounds: return "R0102";
    case halide_error_code_constraint_violated:
    case halide_error_code_constraints_make_required_region_smaller:
    case halide_error_code_param_too_small:
    case halide_error_code_param_too_large: return "R0103";
    case halide_error_code_out_of_memory: return "R0104";
    case halide_error_code_requirement_failed: return "R0105";
    case calo_error_code_no_thread: return "R0107";
    case halide_error_code_internal_error: return "X0001";
    default: return "R0106";
  }
}

Text RuntimeError::text() const {
  Text s = where.empty() ? Text() : where + ": ";
  s += "error[" + Text(diagnostic()) + "]: " + what;
  if (!why.empty()) {
    s += "\n  why:  " + why;
  }
  if (!help.empty()) {
    s += "\n  help: " + help;
  }
  return s;
}

namespace {

Text text_of(const char *s) { return s ? s : "(unnamed)"; }

Text type_name(uint32_t bits) {
  const halide_type_t t = halide_type_t::from_u32(bits);
  static const char *const kNames[] = {"int", "uint", "float", "handle", "bfloat"};
  const bool known = t.code <= halide_type_bfloat;
  Text s = t == halide_type_t(halide_type_uint, 1, t.lanes)
               ? Text("bool")
               : (known ? Text(kNames[t.code]) : "code" + to_text(int(t.code)) + "_") +
                     to_text(int(t.bits));
  return t.lanes == 1 ? s : s + "x" + to_text(int(t.lanes));
}

Text range(int64_t min, int64_t max) {
  return max < min ? Text("nothing") : to_text(min) + " .. " + to_text(max);
}

/// Builds the message with `fill(RuntimeError &)`, reports it, returns the code.
template <typename Fill> int fail(void *cx, int code, const char *pipeline, Fill fill) noexcept {
  RuntimeError error;
  error.code = code;
  error.what = text_of(pipeline) + ": ";
  fill(error);
  report(cx, error);
  return code;
}

template <typename Number>
int fail_param(void *cx, int code, const char *pipeline, const char *arg, Number given,
               Number limit) noexcept {
  const bool small = code == halide_error_code_param_too_small;
  return fail(cx, code, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " is " + to_text(given) + ", expected at " +
              (small ? "least " : "most ") + to_text(limit);
  });
}

}  // namespace
}  // namespace calotype::runtime

using calotype::runtime::fail;
using calotype::runtime::fail_param;
using calotype::runtime::range;
using calotype::runtime::RuntimeError;
using calotype::runtime::Text;
using calotype::runtime::text_of;
using calotype::runtime::to_text;
using calotype::runtime::type_name;
// ---- arguments ----------------------------------------------------------------------------------

int calo_error_buffer_null(void *cx, const char *pipeline, const char *arg) {
  return fail(cx, halide_error_code_buffer_argument_is_null, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " is a null pointer, expected a buffer";
  });
}

int calo_error_host_null(void *cx, const char *pipeline, const char *arg) {
  return fail(cx, halide_error_code_host_is_null, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " has no host memory";
    e.help = "allocate the buffer, or copy it to the host before the call";
  });
}

int calo_error_bad_type(void *cx, const char *pipeline, const char *arg, uint32_t expected,
                        uint32_t given) {
  return fail(cx, halide_error_code_bad_type, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " has elements of type " + type_name(given) +
              ", expected " + type_name(expected);
  });
}

bool calo_device_dirty(const void *buffer) {
  return static_cast<const halide_buffer_t *>(buffer)->device_dirty();
}

int calo_error_bad_rank(void *cx, const char *pipeline, const char *arg, int expected, int given) {
  return fail(cx, halide_error_code_bad_dimensions, pipeline, [&](RuntimeError &e) {
    if (given < 0) {
      e.what += "argument " + text_of(arg) + " does not describe its dimensions, expected " +
                to_text(expected);
      e.why = "dim is null, or dimensions negative";
      return;
    }
    e.what += "argument " + text_of(arg) + " has " + to_text(given) + " dimension" +
              (given == 1 ? "" : "s") + ", expected " + to_text(expected);
  });
}

int calo_error_extent_negative(void *cx, const char *pipeline, const char *arg, int dim,
                               int extent) {
  return fail(cx, halide_error_code_buffer_extents_negative, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " has extent " + to_text(extent) + " in dimension " +
              to_text(dim) + ", expected 0 or more";
  });
}

int calo_error_constraint(void *cx, const char *pipeline, const char *arg, const char *property,
                          int dim, int64_t required, int64_t given, const char *because) {
  return fail(cx, halide_error_code_constraint_violated, pipeline, [&](RuntimeError &e) {
    e.what += text_of(arg) + "." + text_of(property) + "." + to_text(dim) + " is " +
              to_text(given) + ", expected " + to_text(required);
    e.why = because ? because : "";
    if (Text(property ? property : "") == "stride" && dim == 0) {
      e.help =
          "pass a buffer whose dimension 0 is dense, or free the stride: dim(0)."
          "set_stride(Expr()) on " +
          text_of(arg);
    }
  });
}

int calo_error_constraint_expr(void *cx, const char *pipeline, const char *constraint, int64_t left,
                               int64_t right) {
  return fail(cx, halide_error_code_constraint_violated, pipeline, [&](RuntimeError &e) {
    e.what += "the constraint " + text_of(constraint) + " does not hold: left " + to_text(left) +
              ", right " + to_text(right);
  });
}

int calo_error_constraint_region(void *cx, const char *pipeline, const char *arg, int dim,
                                 int constrained_min, int constrained_max, int required_min,
                                 int required_max) {
  return fail(cx, halide_error_code_constraints_make_required_region_smaller, pipeline,
              [&](RuntimeError &e) {
                e.what += "the constraints on " + text_of(arg) + " leave " +
                          range(constrained_min, constrained_max) + " in dimension " +
                          to_text(dim) + ", required " + range(required_min, required_max);
              });
}

int calo_error_out_of_bounds(void *cx, const char *pipeline, const char *arg, int dim,
                             int64_t required_min, int64_t required_max, int64_t given_min,
                             int64_t given_max, const char *func, const char *where,
                             const char *hint) {
  return fail(cx, halide_error_code_access_out_of_bounds, pipeline, [&](RuntimeError &e) {
    e.what += text_of(arg) + " is " + (func ? "read" : "accessed") +
              " outside its bounds in dimension " + to_text(dim) + ": required " +
              range(required_min, required_max) + ", given " + range(given_min, given_max);
    e.where = where ? where : "";
    if (func) {
      e.why = Text(func) + " reads " + text_of(arg) + " there";
      e.help =
          "pass a larger buffer, or read through a boundary condition: "
          "BoundaryConditions::repeat_edge(" +
          text_of(arg) + ")";
    }
    if (hint) {
      e.help = hint;
    }
  });
}

int calo_error_buffer_bytes(void *cx, const char *pipeline, const char *arg, int64_t bytes,
                            int64_t limit) {
  return fail(cx, halide_error_code_buffer_allocation_too_large, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " spans " +
              (bytes < 0 ? Text("too many") : to_text(bytes)) + " bytes, at most " +
              to_text(limit) + " can be addressed";
  });
}

int calo_error_buffer_elements(void *cx, const char *pipeline, const char *arg, int64_t elements,
                               int64_t limit) {
  return fail(cx, halide_error_code_buffer_extents_too_large, pipeline, [&](RuntimeError &e) {
    e.what += "argument " + text_of(arg) + " has " +
              (elements < 0 ? Text("too many") : to_text(elements)) + " elements, at most " +
              to_text(limit) + " can be addressed";
  });
}

int calo_error_unaligned_host(void *cx, const char *pipeline, const char *arg, int alignment) {
  return fail(cx, halide_error_code_unaligned_host_ptr, pipeline, [&](RuntimeError &e) {
    e.what +=
        "the memory of " + text_of(arg) + " is not aligned to " + to_text(alignment) + " bytes";
    e.why = "its element type or set_host_alignment() asks for that";
  });
}

int calo_error_device_dirty(void *cx, const char *pipeline, const char *arg) {
  return fail(cx, halide_error_code_device_dirty_with_no_device_support, pipeline,
              [&](RuntimeError &e) {
                e.what += "the newest copy of " + text_of(arg) +
                          " is on a device, and this pipeline has no device code";
                e.help = "copy_to_host() before the call";
              });
}

int calo_error_buffers_overlap(void *cx, const char *pipeline, const char *output,
                               const char *other) {
  return fail(cx, calo_error_code_buffers_overlap, pipeline, [&](RuntimeError &e) {
    if (!other) {
      e.what += text_of(output) + " shares memory with itself";
      e.why = "its strides put several elements at one address, or it takes too long to tell";
      e.help = "pass an output in which every element has memory of its own";
      return;
    }
    e.what += text_of(output) + " and " + text_of(other) + " share memory";
    e.why = "writing " + text_of(output) + " would change elements of " + text_of(other) +
            " that are still needed";
    e.help = "pass separate buffers";
  });
}

// ---- scalars ------------------------------------------------------------------------------------

int calo_error_param_too_small_i64(void *cx, const char *pipeline, const char *arg, int64_t given,
                                   int64_t least) {
  return fail_param(cx, halide_error_code_param_too_small, pipeline, arg, given, least);
}

int calo_error_param_too_small_u64(void *cx, const char *pipeline, const char *arg, uint64_t given,
                                   uint64_t least) {
  return fail_param(cx, halide_error_code_param_too_small, pipeline, arg, given, least);
}

int calo_error_param_too_small_f64(void *cx, const char *pipeline, const char *arg, double given,
                                   double least) {
  return fail_param(cx, halide_error_code_param_too_small, pipeline, arg, given, least);
}

int calo_error_param_too_large_i64(void *cx, const char *pipeline, const char *arg, int64_t given,
                                   int64_t most) {
  return fail_param(cx, halide_error_code_param_too_large, pipeline, arg, given, most);
}

int calo_error_param_too_large_u64(void *cx, const char *pipeline, const char *arg, uint64_t given,
                                   uint64_t most) {
  return fail_param(cx, halide_error_code_param_too_large, pipeline, arg, given, most);
}

int calo_error_param_too_large_f64(void *cx, const char *pipeline, const char *arg, double given,
                                   double most) {
  return fail_param(cx, halide_error_code_param_too_large, pipeline, arg, given, most);
}

// ---- while running ------------------------------------------------------------------------------

int calo_error_requirement_failed(void *cx, const char *pipeline, const char *condition,
                                  const char *message, const char *where) {
  return fail(cx, halide_error_code_requirement_failed, pipeline, [&](RuntimeError &e) {
    e.what += "requirement failed: " + text_of(condition);
    e.why = message ? message : "";
    e.where = where ? where : "";
  });
}

int calo_error_explicit_bounds(void *cx, const char *pipeline, const char *func, const char *var,
                               int64_t bound_min, int64_t bound_max, int64_t required_min,
                               int64_t required_max, const char *where) {
  return fail(cx, halide_error_code_explicit_bounds_too_small, pipeline, [&](RuntimeError &e) {
    e.what += "the bounds of " + text_of(func) + " in " + text_of(var) + " are " +
              range(bound_min, bound_max) + ", required " + range(required_min, required_max);
    e.where = where ? where : "";
  });
}

int calo_error_fold_factor(void *cx, const char *pipeline, const char *func, const char *var,
                           int factor, const char *loop, int64_t required) {
  return fail(cx, halide_error_code_fold_factor_too_small, pipeline, [&](RuntimeError &e) {
    e.what += "the storage of " + text_of(func) + " is folded in " + text_of(var) + " by " +
              to_text(factor) + ", but one iteration of " + text_of(loop) + " needs " +
              to_text(required);
  });
}

int calo_error_storage_bound(void *cx, const char *pipeline, const char *func, const char *var,
                             int64_t provided, int64_t required) {
  return fail(cx, halide_error_code_storage_bound_too_small, pipeline, [&](RuntimeError &e) {
    e.what += "the storage of " + text_of(func) + " is bounded to " + to_text(provided) + " in " +
              text_of(var) + ", required " + to_text(required);
  });
}

int calo_error_split_factor(void *cx, const char *pipeline, const char *func, const char *var,
                            int64_t factor) {
  return fail(cx, halide_error_code_split_factor_not_positive, pipeline, [&](RuntimeError &e) {
    e.what += "the loop " + text_of(var) + " of " + text_of(func) + " is split by " +
              to_text(factor) + ", expected 1 or more";
  });
}

int calo_error_specialize_fail(void *cx, const char *pipeline, const char *message) {
  return fail(cx, halide_error_code_specialize_fail, pipeline, [&](RuntimeError &e) {
    e.what += "no specialization fits";
    e.why = message ? message : "";
  });
}

int calo_error_out_of_memory(void *cx, const char *pipeline, const char *func, int64_t bytes) {
  return fail(cx, halide_error_code_out_of_memory, pipeline, [&](RuntimeError &e) {
    e.what += bytes < 0 ? "the size of " + text_of(func) + " overflows"
                        : "no memory for " + text_of(func) + ", " + to_text(bytes) + " bytes";
  });
}

int calo_error_extern_stage(void *cx, const char *pipeline, const char *stage, int result) {
  return fail(cx, result, pipeline, [&](RuntimeError &e) {
    e.what += "the extern stage " + text_of(stage) + " returned " + to_text(result);
  });
}

int calo_error_cannot_run(void *cx, const char *pipeline, const char *target, const char *lacks) {
  return fail(cx, calo_error_code_cannot_run, pipeline, [&](RuntimeError &e) {
    e.what += "compiled for " + text_of(target) + ", which this processor cannot run";
    e.why = "it lacks one of " + text_of(lacks);
    e.help =
        "compile for several targets, the last one x86-64-linux: it takes what the others leave";
  });
}

int calo_error_internal(void *cx, const char *pipeline, const char *message) {
  return fail(cx, halide_error_code_internal_error, pipeline,
              [&](RuntimeError &e) { e.what += "internal error: " + text_of(message); });
}
