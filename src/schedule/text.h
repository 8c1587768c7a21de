// Schedule files: text to Schedule and back. Grammar: docs/schedules.md. Bounded: 1 MiB, depth 256, 100,000 directives.
#pragma once

#include <string>
#include <vector>

#include "../base/target.h"
#include "../ir/function.h"
#include "directive.h"

namespace calotype::schedule {

/// Parses a schedule text. `path` is for messages (registered with base/source.h for excerpts). Collects up to 20
/// independent mistakes, then throws CompileError S0001...
CALO_EXPORT Schedule parse_schedule(const std::string &text, const std::string &path);
CALO_EXPORT Schedule load_schedule(const std::string &path);
/// Canonical text; parses back to an equal Schedule.
CALO_EXPORT std::string print_schedule(const Schedule &s);
/// The same directives as C++ statements over Funcs named as in the schedule (declared elsewhere as variables of
/// these names, or looked up by the caller), for Halide's header too.
CALO_EXPORT std::string print_schedule_cpp(const Schedule &s, const ir::Program &p);

/// The file of `folder` for `target` (design: folder choice), or for `variant` if not empty.
/// `parameters`: generator parameters for `when` lines. Throws S0004 listing what is there and why it does not fit.
CALO_EXPORT std::string choose_schedule_file(const std::string &folder, const Target &target,
                                             const std::string &variant = {},
                                             const std::vector<std::pair<std::string, std::string>> &parameters = {});

}  // namespace calotype::schedule
