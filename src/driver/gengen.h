// The command line of generator executables; share/tools/GenGen.cpp is their main program.
#pragma once

#include "../base/export.h"

namespace calotype::driver {

/// GenGen's flags (-h lists them) over every generator that this program registers. Returns the exit code.
CALO_EXPORT int generate_filter_main(int argc, char **argv);

}  // namespace calotype::driver
