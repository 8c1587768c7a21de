// Files made from a program and its schedules: the one place where `calo build`, generator executables and
// Pipeline::compile_to_* end.
//
// A file is written beside its name and renamed, so that nobody sees half of it; its folder is made when missing.
// With several targets the library has one function per target and one that picks at run time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../base/target.h"
#include "../ir/function.h"
#include "../lower/lowered.h"
#include "../schedule/directive.h"

namespace calotype::driver {

/// A program for one target, with the schedule for it. (The target decides how numbers are settled, and
/// generators may ask for it: programs may differ.)
struct Build {
  ir::Program program;
  schedule::Schedule schedule;
  Target target;
};

struct ArtifactRequest {
  std::vector<std::string> kinds;  ///< published names: "object", "static_library" ...
  std::string directory = ".";
  std::string base;                   ///< of file names; empty: the function's name
  std::string function;               ///< in C; empty: the program's name
  std::vector<std::string> suffixes;  ///< of files per target, "-avx2"; empty: "-" and the target
  std::vector<Build> builds;          ///< best first; the last one takes what no other can run
  std::string stub;                   ///< GeneratorBase::stub_source(), where there is a generator
};

struct WrittenFile {
  std::string kind, path;
};

/// Throws L0502 (no such kind), L0901 (known elsewhere, not here), T0101 (targets that do not go together), T0105 (bad
/// name), R0201 (cannot write), and what compiling throws. Nothing is written before all of it has compiled.
CALO_EXPORT std::vector<WrittenFile> write_artifacts(const ArtifactRequest &r);

/// Files for one target under exactly these paths: pairs of kind and path.
CALO_EXPORT void write_artifacts_as(const std::vector<std::pair<std::string, std::string>> &files,
                                    const std::string &function, const Build &b);

/// The targets of "A,B", best first, without `jit`. Throws T0101 for an empty one.
CALO_EXPORT std::vector<Target> parse_targets(const std::string &list);

/// The runtime alone: kinds object, static_library, c_header.
CALO_EXPORT std::vector<WrittenFile> write_runtime(const std::vector<std::string> &kinds,
                                                   const std::string &directory,
                                                   const std::string &base);

/// Throws L0502 or L0901 unless the kind can be written.
CALO_EXPORT void check_artifact_kind(const std::string &kind);
/// "object, static_library, ..."
CALO_EXPORT std::string artifact_kind_list();

/// Writes a file whole or not at all; throws R0201 with the path and the system's words.
CALO_EXPORT void write_file(const std::string &path, const std::string &bytes);

/// The bytes of the ahead-of-time runtime's object.
std::string runtime_object();

/// Checked and lowered; errors and symbols name it `function` if that is not empty.
lower::LoweredFunction lower_build(const Build &b, const std::string &function);

}  // namespace calotype::driver
