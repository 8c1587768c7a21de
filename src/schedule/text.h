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
/// The head lines (pipeline, target, when, base, lets before the first directive) of a text that may hold mistakes.
CALO_EXPORT Schedule parse_schedule_head(const std::string &text, const std::string &path);
/// The file's bytes, one more than the size limit at most. Throws S0005.
CALO_EXPORT std::string read_schedule_text(const std::string &path);
/// Canonical text; parses back to an equal Schedule.
CALO_EXPORT std::string print_schedule(const Schedule &s);
/// The same directives as a block of C++ statements, for Halide's header too. Globs are expanded and Funcs are variables
/// in scope, called as cpp_name() says; Vars and RVars are declared in the block. vec(type) becomes a question to
/// get_target(), which generators have.
CALO_EXPORT std::string print_schedule_cpp(const Schedule &s, const ir::Program &p);

/// The C++ variable that stands for a Func or a name: "g[0]" is g_0.
CALO_EXPORT std::string cpp_name(const std::string &name);

/// The file of `folder` for `target` (design: folder choice), or for `variant` if not empty.
/// `parameters`: generator parameters for `when` lines. Throws S0004 listing what is there and why it does not fit.
CALO_EXPORT std::string choose_schedule_file(
    const std::string &folder, const Target &target, const std::string &variant = {},
    const std::vector<std::pair<std::string, std::string>> &parameters = {});
/// Whether a `target` line, or a file's name, may say this: any, x86-64-avx2, cuda-80 ...
CALO_EXPORT bool is_schedule_target(const std::string &name);
/// Throws S0003 unless `parameters` are what the `when` lines of `s` say.
CALO_EXPORT void check_conditions(
    const Schedule &s, const std::vector<std::pair<std::string, std::string>> &parameters);
/// Why a file of a folder, variant or not, is not for `target`: "the target has not all features of x86-64-avx512".
/// Empty if it is.
CALO_EXPORT std::string why_schedule_file_does_not_fit(
    const std::string &path, const Target &target,
    const std::vector<std::pair<std::string, std::string>> &parameters = {});

}  // namespace calotype::schedule
