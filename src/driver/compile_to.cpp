// Pipeline::compile_to_* and Func::compile_to_*: requests to driver/artifacts.h.
#include <filesystem>

#include "../lang/internal.h"
#include "artifacts.h"
#include "pipeline.h"
#include "program.h"

namespace calotype {

namespace {

namespace fs = std::filesystem;

Target file_target(const Target &t) {
  const Target chosen = t.has_unknowns() && t == Target() ? get_target_from_environment() : t;
  return chosen.without_feature(Target::JIT);
}

driver::Build build_of(const Pipeline &p, const Target &t) {
  driver::Build b;
  b.target = file_target(t);
  b.program = driver::program_of(p, b.target);
  b.schedule = driver::schedule_of(p, b.program);
  return b;
}

driver::ArtifactRequest request(const std::string &prefix, const std::string &function) {
  const fs::path path(prefix);
  driver::ArtifactRequest r;
  r.directory = path.has_parent_path() ? path.parent_path().string() : ".";
  r.base = path.filename().string();
  r.function = function;
  return r;
}

const char *kind_name(OutputFileType kind) {
#define CALO_KIND(name) \
  case OutputFileType::name: return #name;
  switch (kind) {
    CALO_KIND(assembly)
    CALO_KIND(bitcode)
    CALO_KIND(c_header)
    CALO_KIND(c_source)
    CALO_KIND(compiler_log)
    CALO_KIND(conceptual_stmt)
    CALO_KIND(conceptual_stmt_html)
    CALO_KIND(cpp_stub)
    CALO_KIND(device_code)
    CALO_KIND(featurization)
    CALO_KIND(function_info_header)
    CALO_KIND(hlpipe)
    CALO_KIND(llvm_assembly)
    CALO_KIND(object)
    CALO_KIND(python_extension)
    CALO_KIND(pytorch_wrapper)
    CALO_KIND(registration)
    CALO_KIND(schedule)
    CALO_KIND(static_library)
    CALO_KIND(stmt)
    CALO_KIND(stmt_html)
  }
#undef CALO_KIND
  return "unknown";
}

}  // namespace

Pipeline Pipeline::with_args(const std::vector<Argument> &args, const std::string &name) const {
  Pipeline p = *this;
  p.args_.clear();
  for (const Argument &a : args) p.args_.push_back(a.param);
  if (!name.empty()) p.name_ = name;
  return p;
}

void Pipeline::compile_to(const OutputFiles &files, const std::vector<Argument> &args,
                          const std::string &function, const Target &t) {
  std::vector<std::pair<std::string, std::string>> named;
  for (const auto &[kind, path] : files) named.emplace_back(kind_name(kind), path);
  driver::write_artifacts_as(named, function, build_of(with_args(args, {}), t));
}

void Pipeline::compile_to_lowered_stmt(const std::string &file, const std::vector<Argument> &args,
                                       StmtOutputFormat format, const Target &t) {
  compile_to({{format == HTML ? OutputFileType::stmt_html : OutputFileType::stmt, file}}, args, {},
             t);
}

#define CALO_COMPILE_TO(kind, type)                                                            \
  void Pipeline::compile_to_##kind(const std::string &file, const std::vector<Argument> &args, \
                                   const std::string &function, const Target &t) {             \
    compile_to({{OutputFileType::type, file}}, args, function, t);                             \
  }                                                                                            \
  void Func::compile_to_##kind(const std::string &file, const std::vector<Argument> &args,     \
                               const std::string &function, const Target &t) {                 \
    pipeline().compile_to_##kind(file, args, function, t);                                     \
  }
CALO_COMPILE_TO(llvm_assembly, llvm_assembly)
CALO_COMPILE_TO(bitcode, bitcode)
CALO_COMPILE_TO(assembly, assembly)
CALO_COMPILE_TO(object, object)
CALO_COMPILE_TO(header, c_header)
CALO_COMPILE_TO(c, c_source)
#undef CALO_COMPILE_TO

void Pipeline::compile_to_file(const std::string &prefix, const std::vector<Argument> &args,
                               const std::string &function, const Target &t) {
  compile_to({{OutputFileType::object, prefix + ".o"}, {OutputFileType::c_header, prefix + ".h"}},
             args, function, t);
}

void Pipeline::compile_to_static_library(const std::string &prefix,
                                         const std::vector<Argument> &args,
                                         const std::string &function, const Target &t) {
  compile_to(
      {{OutputFileType::static_library, prefix + ".a"}, {OutputFileType::c_header, prefix + ".h"}},
      args, function, t);
}

void Pipeline::compile_to_multitarget_static_library(const std::string &prefix,
                                                     const std::vector<Argument> &args,
                                                     const std::vector<Target> &targets) {
  driver::ArtifactRequest r = request(prefix, fs::path(prefix).filename().string());
  r.kinds = {"static_library", "c_header"};
  for (const Target &t : targets) r.builds.push_back(build_of(with_args(args, {}), t));
  driver::write_artifacts(r);
}

void Pipeline::compile_to_multitarget_object_files(const std::string &prefix,
                                                   const std::vector<Argument> &args,
                                                   const std::vector<Target> &targets,
                                                   const std::vector<std::string> &suffixes) {
  driver::ArtifactRequest r = request(prefix, fs::path(prefix).filename().string());
  r.kinds = {"object", "c_header"};
  for (const Target &t : targets) r.builds.push_back(build_of(with_args(args, {}), t));
  r.suffixes = suffixes;
  driver::write_artifacts(r);
  if (!targets.empty() && !targets.back().has_feature(Target::NoRuntime)) {
    driver::write_runtime({"object"}, r.directory, r.base + "_runtime");
  }
}

void Func::compile_to_lowered_stmt(const std::string &file, const std::vector<Argument> &args,
                                   StmtOutputFormat format, const Target &t) {
  pipeline().compile_to_lowered_stmt(file, args, format, t);
}
void Func::compile_to(const OutputFiles &files, const std::vector<Argument> &args,
                      const std::string &function, const Target &t) {
  pipeline().compile_to(files, args, function, t);
}
void Func::compile_to_file(const std::string &prefix, const std::vector<Argument> &args,
                           const std::string &function, const Target &t) {
  pipeline().compile_to_file(prefix, args, function, t);
}
void Func::compile_to_static_library(const std::string &prefix, const std::vector<Argument> &args,
                                     const std::string &function, const Target &t) {
  pipeline().compile_to_static_library(prefix, args, function, t);
}
void Func::compile_to_multitarget_static_library(const std::string &prefix,
                                                 const std::vector<Argument> &args,
                                                 const std::vector<Target> &targets) {
  pipeline().compile_to_multitarget_static_library(prefix, args, targets);
}
void Func::compile_to_multitarget_object_files(const std::string &prefix,
                                               const std::vector<Argument> &args,
                                               const std::vector<Target> &targets,
                                               const std::vector<std::string> &suffixes) {
  pipeline().compile_to_multitarget_object_files(prefix, args, targets, suffixes);
}
}  // namespace calotype
