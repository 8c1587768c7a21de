// The command line of ahead-of-time libraries: share/tools/RunGenMain.cpp calls run_main, and each
// pipeline's registration source calls halide_register_argv_and_metadata before main starts.
#pragma once

#include "../runtime/HalideRuntime.h"

namespace calotype::run {

/// Returns the exit code: 0, 1 (the pipeline or its arguments), 2 (usage). Nothing is thrown.
int run_main(int argc, char **argv);

}  // namespace calotype::run

extern "C" {
/// `pairs`: key, value, ..., null: known to nobody here, kept for those who pass them. May be null.
void halide_register_argv_and_metadata(int (*argv_call)(void **),
                                       const struct halide_filter_metadata_t *metadata,
                                       const char *const *pairs);
}
