// The bytes of the ahead-of-time runtime (src/runtime/aot), as CMake built them: what static libraries
// contain. Carried in libcalotype, so there is no file to look for.
#include "artifacts.h"

__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    "calo_runtime_object_begin:\n"
    ".incbin \"" CALO_AOT_OBJECT
    "\"\n"
    "calo_runtime_object_end:\n"
    ".balign 16\n"
    ".text\n");

extern "C" {
extern const char calo_runtime_object_begin[] __attribute__((visibility("hidden")));
extern const char calo_runtime_object_end[] __attribute__((visibility("hidden")));
}

namespace calotype::driver {

std::string runtime_object() {
  return std::string(calo_runtime_object_begin, calo_runtime_object_end);
}

}  // namespace calotype::driver
