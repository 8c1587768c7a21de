// See artifacts.h.
#include "artifacts.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "../base/diagnostic.h"
#include "../base/stack.h"
#include "../codegen/c_header.h"
#include "../codegen/c_source.h"
#include "../codegen/object.h"
#include "../ir/print.h"
#include "../lower/pipeline.h"
#include "../schedule/apply.h"
#include "../schedule/text.h"

namespace calotype::driver {

namespace fs = std::filesystem;
using codegen::ObjectForm;

namespace {

/// A build with what was made of it.
struct Job {
  const Build *build;
  lower::LoweredFunction lowered;
  std::string symbol;  ///< of this target's function
};

std::string object_form(const Job &j, ObjectForm form) {
  return codegen::compile_object(j.lowered, j.build->target, j.symbol, form);
}

/// The head that makes a printed schedule a file of its own, for the pipeline it belongs to.
schedule::Schedule complete(const Build &b) {
  schedule::Schedule full = schedule::resolve(b.program, b.schedule);
  if (full.pipeline.empty()) full.pipeline = b.program.name.str();
  if (full.target.empty()) full.target = "any";
  return full;
}

/// A kind of which there is one file per target. `make` is null for the kinds that are made of all targets.
struct Kind {
  const char *name, *ending;
  std::string (*make)(const Job &j);
};
const Kind kKinds[] = {
    {"object", ".o", [](const Job &j) { return object_form(j, ObjectForm::Object); }},
    {"static_library", ".a", nullptr},
    {"c_header", ".h", nullptr},
    {"c_source", ".c",
     [](const Job &j) { return codegen::compile_c_source(j.lowered, j.build->target, j.symbol); }},
    {"llvm_assembly", ".ll", [](const Job &j) { return object_form(j, ObjectForm::LlvmAssembly); }},
    {"bitcode", ".bc", [](const Job &j) { return object_form(j, ObjectForm::Bitcode); }},
    {"assembly", ".s", [](const Job &j) { return object_form(j, ObjectForm::Assembly); }},
    {"registration", ".registration.cpp", nullptr},
    {"cpp_stub", ".stub.h", nullptr},
    {"stmt", ".stmt", [](const Job &j) { return ir::to_string(j.lowered.body); }},
    {"schedule", ".sched",
     [](const Job &j) { return schedule::print_schedule(complete(*j.build)); }},
    {"schedule_cpp", ".schedule.h",
     [](const Job &j) {
       const Build &b = *j.build;
       return schedule::print_schedule_cpp(schedule::resolve(b.program, b.schedule), b.program);
     }},
};

const char *const kElsewhere[] = {"compiler_log", "conceptual_stmt",  "conceptual_stmt_html",
                                  "device_code",  "featurization",    "function_info_header",
                                  "hlpipe",       "python_extension", "pytorch_wrapper",
                                  "stmt_html"};

const Kind &find_kind(const std::string &name) {
  std::vector<std::string> names;
  for (const Kind &k : kKinds) {
    if (name == k.name) return k;
    names.push_back(k.name);
  }
  for (const char *e : kElsewhere) {
    if (name != e) continue;
    raise(Diagnostic("L0901", {}, "files of kind " + name + " are not available yet")
              .fix("there are " + artifact_kind_list()));
  }
  Diagnostic d("L0502", {}, "there is no kind of file called " + name);
  const std::vector<std::string> near = nearest_names(name, names);
  if (!near.empty()) d.help.push_back("did you mean " + near[0] + "?");
  d.help.push_back("there are " + artifact_kind_list());
  raise(std::move(d));
}

// ---- names ----------------------------------------------------------------------------------------

std::string function_name(const ArtifactRequest &r) {
  const std::string name =
      r.function.empty() ? codegen::c_identifier(r.builds[0].program.name.str()) : r.function;
  const std::string why =
      codegen::is_c_identifier(name)
          ? codegen::why_reserved(name)
          : "the name of a compiled function is a C identifier: letters, digits and _";
  if (why.empty()) return name;
  raise(Diagnostic("T0105", {}, "the function cannot be called " + name)
            .because(why)
            .fix("give another name: -f NAME, or the name in the call"));
}

std::string file_base(const ArtifactRequest &r, const std::string &function) {
  const std::string base = r.base.empty() ? function : r.base;
  if (base.find('/') == std::string::npos && base != "." && base != "..") return base;
  raise(Diagnostic("T0105", {}, "the files cannot be called " + base)
            .because("it is the name of a file without its folder and ending")
            .fix("-o says the folder, -n the name"));
}

// ---- several targets ------------------------------------------------------------------------------

[[noreturn]] void refuse_targets(const std::string &what, const std::string &why) {
  raise(Diagnostic("T0101", {}, "the targets do not go into one library: " + what).because(why));
}

/// A processor that runs `later` must not always run `earlier`, which is asked first.
void check_order(const Target &earlier, const Target &later) {
  if (earlier == later) refuse_targets(later.to_string(), "it stands there twice");
  const uint32_t first = codegen::processor_bits(earlier), then = codegen::processor_bits(later);
  if ((first & ~then) != 0) return;
  const std::string both = earlier.to_string() + " and " + later.to_string();
  raise(Diagnostic("T0101", {}, "the targets do not go together: " + both)
            .because("the second one would never be chosen: what can run it runs the first one, "
                     "which stands before it")
            .fix("the best target first, the one that fits all last"));
}

void check_targets(const std::vector<Build> &builds) {
  if (builds.empty()) raise(Diagnostic("T0101", {}, "there is no target to compile for"));
  const Target &last = builds.back().target;
  for (size_t i = 0; i + 1 < builds.size(); i++) {
    const Target &t = builds[i].target;
    const std::string both = t.to_string() + " and " + last.to_string();
    if (t.os != last.os || t.arch != last.arch || t.bits != last.bits) {
      refuse_targets(both, "they are for different machines");
    }
    for (Target::Feature f : {Target::UserContext, Target::NoRuntime}) {
      if (t.has_feature(f) != last.has_feature(f)) {
        refuse_targets(both, "all or none have user_context, and no_runtime");
      }
    }
  }
  for (size_t i = 0; i < builds.size(); i++) {
    for (size_t k = 0; k < i; k++) check_order(builds[k].target, builds[i].target);
  }
}

void check_signatures(const std::vector<Job> &jobs) {
  for (const Job &j : jobs) {
    const auto &a = jobs[0].lowered.args, &b = j.lowered.args;
    bool same = a.size() == b.size();
    for (size_t i = 0; same && i < a.size(); i++) {
      same = a[i].kind == b[i].kind && a[i].name == b[i].name && a[i].type == b[i].type &&
             a[i].dimensions == b[i].dimensions;
    }
    if (!same) {
      refuse_targets(jobs[0].build->target.to_string() + " and " + j.build->target.to_string(),
                     "the generator gives them different arguments");
    }
  }
}

// ---- contents -------------------------------------------------------------------------------------

class Maker {
public:
  explicit Maker(const ArtifactRequest &r) : r_(r) {
    check_targets(r.builds);
    function_ = function_name(r);
    base_ = file_base(r, function_);
    for (const Build &b : r.builds) {
      std::string symbol = function_;
      if (several()) symbol += "_" + codegen::c_identifier(b.target.to_string());
      jobs_.push_back({&b, lower_build(b, function_), symbol});
    }
    check_signatures(jobs_);
  }

  /// (path, bytes) of all files of one kind.
  std::vector<std::pair<std::string, std::string>> files(const Kind &k) const {
    std::vector<std::pair<std::string, std::string>> all;
    if (!k.make) {
      all.emplace_back(path("", k.ending), whole(k.name));
      return all;
    }
    for (size_t i = 0; i < jobs_.size(); i++) {
      std::string suffix = several() ? "-" + jobs_[i].build->target.to_string() : "";
      if (i < r_.suffixes.size()) suffix = r_.suffixes[i];
      all.emplace_back(path(suffix, k.ending), k.make(jobs_[i]));
    }
    if (several() && k.name == std::string("object")) {
      all.emplace_back(path("-dispatch", k.ending), dispatcher());
    }
    return all;
  }

  std::string whole(const std::string &kind) const {
    const Job &last = jobs_.back();
    if (kind == "c_header") {
      std::string targets;
      for (const Job &j : jobs_)
        targets += (targets.empty() ? "" : ", ") + j.build->target.to_string();
      return codegen::c_header(last.lowered, last.build->target, function_, targets);
    }
    if (kind == "registration") return codegen::registration_source(function_);
    if (kind == "cpp_stub") {
      if (r_.stub.empty())
        raise(Diagnostic("L0502", {}, "a cpp_stub calls a generator, and here is none"));
      return r_.stub;
    }
    std::vector<std::pair<std::string, std::string>> members;
    for (const Job &j : jobs_) {
      members.emplace_back(j.symbol + ".o", object_form(j, ObjectForm::Object));
    }
    if (several()) members.emplace_back(function_ + ".o", dispatcher());
    if (!last.build->target.has_feature(Target::NoRuntime)) {
      members.emplace_back("calotype_runtime.o", runtime_object());
    }
    return codegen::make_archive(members);
  }

private:
  bool several() const { return r_.builds.size() > 1; }

  std::string path(const std::string &suffix, const char *ending) const {
    return (fs::path(r_.directory) / (base_ + suffix + ending)).string();
  }

  std::string dispatcher() const {
    std::vector<std::pair<Target, std::string>> choices;
    for (const Job &j : jobs_) choices.emplace_back(j.build->target, j.symbol);
    return codegen::compile_dispatcher(jobs_.back().lowered, function_, choices);
  }

  const ArtifactRequest &r_;
  std::string function_, base_;
  std::vector<Job> jobs_;
};

[[noreturn]] void cannot_write(const std::string &path, const std::string &why) {
  raise(Diagnostic("R0201", {}, "cannot write " + path).because(why));
}

}  // namespace

// ---- the interface ----------------------------------------------------------------------------------

std::string artifact_kind_list() {
  std::string list;
  for (const Kind &k : kKinds) list += (list.empty() ? "" : ", ") + std::string(k.name);
  return list;
}

void check_artifact_kind(const std::string &kind) { find_kind(kind); }

std::vector<Target> parse_targets(const std::string &list) {
  std::vector<Target> all;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end == at) {
      raise(Diagnostic("T0101", {}, "target=" + list + " holds an empty target")
                .fix("leave target= out for this machine, or separate targets by single commas"));
    }
    all.push_back(Target(list.substr(at, end - at)).without_feature(Target::JIT));
    at = end + 1;
  }
  return all;
}

lower::LoweredFunction lower_build(const Build &b, const std::string &function) {
  lower::LoweredFunction f;
  run_on_large_stack([&] {
    schedule::Scheduled s = schedule::apply(b.program, schedule::resolve(b.program, b.schedule),
                                            b.target, b.schedule.origin.empty());
    if (!function.empty()) s.program.name = function;
    f = lower::lower(s, b.target);
  });
  return f;
}

std::vector<WrittenFile> write_artifacts(const ArtifactRequest &r) {
  std::vector<const Kind *> kinds;
  for (const std::string &kind : r.kinds) kinds.push_back(&find_kind(kind));
  const Maker maker(r);
  std::vector<WrittenFile> written;
  std::vector<std::string> contents;
  for (const Kind *k : kinds) {
    for (auto &[path, bytes] : maker.files(*k)) {
      written.push_back({k->name, path});
      contents.push_back(std::move(bytes));
    }
  }
  for (size_t i = 0; i < written.size(); i++) write_file(written[i].path, contents[i]);
  return written;
}

void write_artifacts_as(const std::vector<std::pair<std::string, std::string>> &files,
                        const std::string &function, const Build &b) {
  for (const auto &[kind, path] : files) find_kind(kind);
  ArtifactRequest r;
  r.function = function;
  r.builds = {b};
  const Maker maker(r);
  std::vector<std::string> contents;
  for (const auto &[kind, path] : files) contents.push_back(maker.files(find_kind(kind))[0].second);
  for (size_t i = 0; i < files.size(); i++) write_file(files[i].second, contents[i]);
}

std::vector<WrittenFile> write_runtime(const std::vector<std::string> &kinds,
                                       const std::string &directory, const std::string &base) {
  std::vector<WrittenFile> written;
  for (const std::string &kind : kinds) {
    const std::string path = (fs::path(directory) / base).string();
    if (kind == "object") {
      write_file(path + ".o", runtime_object());
      written.push_back({kind, path + ".o"});
    } else if (kind == "static_library") {
      write_file(path + ".a", codegen::make_archive({{"calotype_runtime.o", runtime_object()}}));
      written.push_back({kind, path + ".a"});
    } else if (kind == "c_header") {
      write_file(path + ".h", "#include \"HalideRuntime.h\"\n");
      written.push_back({kind, path + ".h"});
    } else {
      find_kind(kind);
      raise(Diagnostic("L0502", {}, "the runtime alone cannot be written as " + kind)
                .fix("with -r: object, static_library, c_header"));
    }
  }
  return written;
}

void write_file(const std::string &path, const std::string &bytes) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) cannot_write(path, "its folder cannot be made: " + error.message());
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    // A device or pipe is written as it is; renaming a file over it would replace it.
    if (fs::is_directory(path, error)) cannot_write(path, "it is a folder");
    FILE *f = std::fopen(path.c_str(), "wb");
    const bool ok = f && std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size();
    if (!f || std::fclose(f) != 0 || !ok) cannot_write(path, std::strerror(errno));
    return;
  }
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  FILE *f = std::fopen(temporary.c_str(), "wb");
  if (!f) cannot_write(path, std::strerror(errno));
  bool ok = std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size();
  int why = ok ? 0 : errno;
  if (std::fclose(f) != 0 && ok) {
    ok = false;
    why = errno;
  }
  if (ok && std::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (ok) why = errno;
  std::remove(temporary.c_str());
  cannot_write(path, std::strerror(why));
}

}  // namespace calotype::driver
