// The table of everything that compiled code may call.
//
// The JIT resolves names here and nowhere else, so a name missing from the table is an error when the
// code is linked, never a stray call into whatever the process happens to export.

#include "runtime.h"

#include <cstring>

namespace calotype::runtime {

const Symbol *jit_symbols(size_t *count) {
#define CALO_SYMBOL(name)                  \
  {                                        \
    #name, reinterpret_cast<void *>(&name) \
  }
  static const Symbol kTable[] = {
      CALO_SYMBOL(calo_async_begin),
      CALO_SYMBOL(calo_async_post),
      CALO_SYMBOL(calo_async_wait),
      CALO_SYMBOL(calo_device_dirty),
      CALO_SYMBOL(calo_error_bad_rank),
      CALO_SYMBOL(calo_error_bad_type),
      CALO_SYMBOL(calo_error_buffer_bytes),
      CALO_SYMBOL(calo_error_buffer_elements),
      CALO_SYMBOL(calo_error_buffer_null),
      CALO_SYMBOL(calo_error_buffers_overlap),
      CALO_SYMBOL(calo_error_cannot_run),
      CALO_SYMBOL(calo_error_constraint),
      CALO_SYMBOL(calo_error_constraint_expr),
      CALO_SYMBOL(calo_error_constraint_region),
      CALO_SYMBOL(calo_error_device_dirty),
      CALO_SYMBOL(calo_error_explicit_bounds),
      CALO_SYMBOL(calo_error_extent_negative),
      CALO_SYMBOL(calo_error_extern_stage),
      CALO_SYMBOL(calo_error_fold_factor),
      CALO_SYMBOL(calo_error_host_null),
      CALO_SYMBOL(calo_error_internal),
      CALO_SYMBOL(calo_error_out_of_bounds),
      CALO_SYMBOL(calo_error_out_of_memory),
      CALO_SYMBOL(calo_error_param_too_large_f64),
      CALO_SYMBOL(calo_error_param_too_large_i64),
      CALO_SYMBOL(calo_error_param_too_large_u64),
      CALO_SYMBOL(calo_error_param_too_small_f64),
      CALO_SYMBOL(calo_error_param_too_small_i64),
      CALO_SYMBOL(calo_error_param_too_small_u64),
      CALO_SYMBOL(calo_error_requirement_failed),
      CALO_SYMBOL(calo_error_requirement_values),
      CALO_SYMBOL(calo_error_specialize_fail),
      CALO_SYMBOL(calo_error_split_factor),
      CALO_SYMBOL(calo_error_stopped),
      CALO_SYMBOL(calo_error_storage_bound),
      CALO_SYMBOL(calo_error_unaligned_host),
      CALO_SYMBOL(calo_free),
      CALO_SYMBOL(calo_malloc),
      CALO_SYMBOL(calo_memo_lookup),
      CALO_SYMBOL(calo_memo_store),
      CALO_SYMBOL(calo_overlaps_itself),
      CALO_SYMBOL(calo_par_for),
      CALO_SYMBOL(calo_print),
      CALO_SYMBOL(calo_print_values),
      CALO_SYMBOL(calo_run_concurrently),
      CALO_SYMBOL(calo_trace),
      CALO_SYMBOL(calo_trace_event),
      CALO_SYMBOL(calo_user_context),
      CALO_SYMBOL(memcpy),
      CALO_SYMBOL(memmove),
      CALO_SYMBOL(memset),
  };
#undef CALO_SYMBOL
  *count = sizeof kTable / sizeof kTable[0];
  return kTable;
}

}  // namespace calotype::runtime
