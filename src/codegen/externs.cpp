// Table of callable C functions: see externs.h. The types follow from the declarations, so they cannot drift apart.
#include "externs.h"

#include "../runtime/runtime.h"

#include <cstring>

namespace calotype::codegen {
namespace {

template <typename T> struct CType {
  static Type get() { return type_of<T>(); }
};
template <typename T> struct CType<T *> {
  static Type get() { return Handle(); }
};
template <> struct CType<halide_task_t> {
  static Type get() { return Handle(); }
};
template <> struct CType<void> {
  static Type get() { return Type(); }
};

template <typename R, typename... Ps>
ExternFunction with_context(const char *name, const char *object_name, R (*)(void *, Ps...)) {
  return {name, object_name, true, CType<R>::get(), {CType<Ps>::get()...}};
}

template <typename R, typename... Ps> ExternFunction plain(const char *name, R (*)(Ps...)) {
  return {name, name, false, CType<R>::get(), {CType<Ps>::get()...}};
}

const std::vector<ExternFunction> &table() {
#define PUBLISHED(f, name) with_context(#f, name, &f)
#define OWN(f) with_context(#f, #f, &f)
  static const std::vector<ExternFunction> all = {
      PUBLISHED(calo_malloc, "halide_malloc"),
      PUBLISHED(calo_free, "halide_free"),
      PUBLISHED(calo_par_for, "halide_do_par_for"),
      PUBLISHED(calo_print, "halide_print"),
      PUBLISHED(calo_trace, "halide_trace"),
      OWN(calo_print_values),
      OWN(calo_memo_lookup),
      OWN(calo_memo_store),
      OWN(calo_trace_event),
      OWN(calo_user_context),
      OWN(calo_run_concurrently),
      plain("calo_async_begin", &calo_async_begin),
      plain("calo_async_wait", &calo_async_wait),
      plain("calo_async_post", &calo_async_post),
      plain("calo_error_stopped", &calo_error_stopped),
      plain("calo_device_dirty", &calo_device_dirty),
      plain("calo_overlaps_itself", &calo_overlaps_itself),
      OWN(calo_error_buffer_null),
      OWN(calo_error_host_null),
      OWN(calo_error_bad_type),
      OWN(calo_error_bad_rank),
      OWN(calo_error_extent_negative),
      OWN(calo_error_constraint),
      OWN(calo_error_constraint_expr),
      OWN(calo_error_constraint_region),
      OWN(calo_error_out_of_bounds),
      OWN(calo_error_buffer_bytes),
      OWN(calo_error_buffer_elements),
      OWN(calo_error_unaligned_host),
      OWN(calo_error_device_dirty),
      OWN(calo_error_buffers_overlap),
      OWN(calo_error_param_too_small_i64),
      OWN(calo_error_param_too_small_u64),
      OWN(calo_error_param_too_small_f64),
      OWN(calo_error_param_too_large_i64),
      OWN(calo_error_param_too_large_u64),
      OWN(calo_error_param_too_large_f64),
      OWN(calo_error_requirement_failed),
      OWN(calo_error_requirement_values),
      OWN(calo_error_explicit_bounds),
      OWN(calo_error_fold_factor),
      OWN(calo_error_storage_bound),
      OWN(calo_error_split_factor),
      OWN(calo_error_specialize_fail),
      OWN(calo_error_out_of_memory),
      OWN(calo_error_extern_stage),
      OWN(calo_error_internal),
      OWN(calo_error_cannot_run),
  };
#undef OWN
#undef PUBLISHED
  return all;
}

}  // namespace

const ExternFunction *find_extern(const std::string &name) {
  for (const ExternFunction &f : table()) {
    if (name == f.name) return &f;
  }
  return nullptr;
}

}  // namespace calotype::codegen
