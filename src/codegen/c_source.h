// A lowered function as C source: portable C99 for gcc and clang on any machine, vectors as loops over lanes.
#pragma once

#include <string>

#include "../base/target.h"
#include "../lower/lowered.h"

namespace calotype::codegen {

/// A whole source file with the published interface (object.h). It includes only the C library's headers, gives the
/// bits that the compiled object gives, and links with the ahead-of-time runtime and -lm. Throws T0103 for what C has no
/// type or function for.
CALO_EXPORT std::string compile_c_source(const lower::LoweredFunction &f, const Target &t,
                                         const std::string &symbol);

}  // namespace calotype::codegen
