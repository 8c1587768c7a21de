// Picks the schedule file of a folder for a target. A file name is TARGET[@KEY=VALUE...][-VARIANT].sched; the target is
// the longest known prefix. Of the files that fit, device files beat CPU files, then more features win, then more `when`
// conditions. Tests: test/unit/schedule/choose_file_test.cpp.
#include <dirent.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <tuple>

#include "../base/diagnostic.h"
#include "text.h"

namespace calotype::schedule {

namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;

struct TargetName {
  const char *name;
  int rank;  ///< more is more demanding
  bool device;
};
constexpr TargetName kTargets[] = {
    {"any", 0, false},        {"x86-64", 1, false},      {"x86-64-sse41", 2, false},
    {"x86-64-avx", 3, false}, {"x86-64-avx2", 4, false}, {"x86-64-avx512", 5, false},
    {"cuda", 0, true},
};

struct FileName {
  std::string file, target, variant;
  Parameters conditions;
  int rank = 0;
  bool device = false;
};

bool is_border(const std::string &s, size_t at) {
  return at == s.size() || s[at] == '-' || s[at] == '@';
}

bool read_target(const std::string &stem, FileName *name) {
  size_t best = 0;
  for (const TargetName &t : kTargets) {
    const size_t n = std::strlen(t.name);
    if (stem.compare(0, n, t.name) != 0 || !is_border(stem, n) || n <= best) continue;
    best = n;
    name->rank = t.rank;
    name->device = t.device;
  }
  if (best == 4 && name->device && stem.compare(0, 5, "cuda-") == 0) {
    size_t end = 5;
    while (end < stem.size() && std::isdigit(static_cast<unsigned char>(stem[end]))) end++;
    if (end > 5 && end < 9 && is_border(stem, end)) {
      name->rank = std::stoi(stem.substr(5, end - 5));
      best = end;
    }
  }
  name->target = stem.substr(0, best);
  return best > 0;
}

// "@type=bf16@k=64-naive" behind the target.
bool read_rest(const std::string &rest, FileName *name) {
  size_t at = 0;
  while (at < rest.size() && rest[at] == '@') {
    const size_t end = std::min(rest.find_first_of("@-", at + 1), rest.size());
    const size_t equal = rest.find('=', at);
    if (equal == std::string::npos || equal >= end) return false;
    name->conditions.emplace_back(rest.substr(at + 1, equal - at - 1),
                                  rest.substr(equal + 1, end - equal - 1));
    at = end;
  }
  if (at < rest.size()) name->variant = rest.substr(at + 1);
  return at == rest.size() || !name->variant.empty();
}

bool has_avx512(const Target &t) {
  return t.features_any_of({Target::AVX512_Skylake, Target::AVX512_Cannonlake, Target::AVX512_Zen4,
                            Target::AVX512_Zen5, Target::AVX512_SapphireRapids, Target::AVX10_1});
}
bool has_avx2(const Target &t) {
  return has_avx512(t) || t.features_all_of({Target::AVX2, Target::FMA, Target::F16C});
}

int cuda_capability(const Target &t) {
  static const std::pair<Target::Feature, int> kCapabilities[] = {
      {Target::CUDACapability30, 30},   {Target::CUDACapability32, 32},
      {Target::CUDACapability35, 35},   {Target::CUDACapability50, 50},
      {Target::CUDACapability61, 61},   {Target::CUDACapability70, 70},
      {Target::CUDACapability75, 75},   {Target::CUDACapability80, 80},
      {Target::CUDACapability86, 86},   {Target::CUDACapability90, 90},
      {Target::CUDACapability100, 100},
  };
  int most = 0;
  for (const auto &c : kCapabilities) {
    if (t.has_feature(c.first)) most = c.second;
  }
  return most;
}

bool fits_target(const FileName &f, const Target &t) {
  if (f.target == "any") return true;
  if (f.device) return t.has_feature(Target::CUDA) && (f.rank == 0 || cuda_capability(t) >= f.rank);
  if (t.arch != Target::X86 || t.bits != 64) return false;
  switch (f.rank) {
    case 1: return true;
    case 2: return has_avx2(t) || t.features_any_of({Target::SSE41, Target::AVX, Target::AVX2});
    case 3: return has_avx2(t) || t.features_any_of({Target::AVX, Target::AVX2});
    case 4: return has_avx2(t);
    default: return has_avx512(t);
  }
}

// Empty if every condition holds.
std::string unmet(const Parameters &conditions, const Parameters &parameters) {
  for (const auto &c : conditions) {
    if (std::find(parameters.begin(), parameters.end(), c) == parameters.end())
      return c.first + " == " + c.second;
  }
  return {};
}

// A condition over no parameter would never hold, and its file never be chosen.
void refuse_unknown(const std::string &name, const Schedule &head, const std::string &path,
                    const Parameters &parameters) {
  std::vector<std::string> known;
  for (const auto &p : parameters) known.push_back(p.first);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const auto at = head.when_locs.find(name);
  Diagnostic d("S0003",
               at == head.when_locs.end() ? SrcLoc{intern_path(path), 0, 0, 0} : at->second,
               "the schedule is for a generator parameter " + name + ", which there is not");
  std::string all;
  for (const std::string &k : known) all += (all.empty() ? "" : ", ") + k;
  d.why.push_back({all.empty() ? "the generator has no parameters" : "its parameters: " + all, {}});
  for (const std::string &near : nearest_names(name, known))
    d.help.push_back("did you mean " + near + "?");
  throw CompileError(d);
}

std::vector<std::string> schedule_files(const std::string &folder) {
  std::vector<std::string> files;
  DIR *dir = opendir(folder.c_str());
  if (!dir) {
    throw CompileError(Diagnostic("S0005", SrcLoc{intern_path(folder), 0, 0, 0},
                                  "folder " + folder + " cannot be read")
                           .because(std::strerror(errno)));
  }
  const std::string ending = ".sched";
  while (const dirent *entry = readdir(dir)) {
    const std::string file = entry->d_name;
    if (file.size() > ending.size() &&
        file.compare(file.size() - ending.size(), ending.size(), ending) == 0) {
      files.push_back(file);
    }
  }
  closedir(dir);
  std::sort(files.begin(), files.end());
  return files;
}

class Chooser {
public:
  Chooser(const std::string &folder, const Target &target, const std::string &variant,
          const Parameters &parameters)
      : folder_(folder), target_(target), variant_(variant), parameters_(parameters) {}

  std::string run() {
    for (const std::string &file : schedule_files(folder_)) consider(file);
    if (best_.empty()) none();
    return best_;
  }

private:
  void consider(const std::string &file) {
    FileName name;
    name.file = file;
    const std::string stem = file.substr(0, file.size() - 6);
    if (!read_target(stem, &name)) return reject(file, "its name starts with no known target");
    if (!read_rest(stem.substr(name.target.size()), &name))
      return reject(file, "its name is not understood");
    if (name.variant != variant_) {
      return reject(
          file, name.variant.empty() ? "it is no variant" : "it is the variant " + name.variant);
    }
    if (!fits_target(name, target_))
      return reject(file, "the target has not all features of " + name.target);
    const std::string path = folder_ + "/" + file;
    const Schedule head = parse_schedule_head(read_schedule_text(path), path);
    if (!head.target.empty() && head.target != name.target) {
      throw CompileError(
          Diagnostic("S0003", SrcLoc{intern_path(path), 0, 0, 0},
                     "the line `target " + head.target + "` does not fit the file's name")
              .because("the name says " + name.target)
              .fix("make them equal"));
    }
    Parameters conditions = head.when;
    for (const auto &c : name.conditions) {
      if (std::find(conditions.begin(), conditions.end(), c) == conditions.end())
        conditions.push_back(c);
    }
    for (const auto &c : conditions) refuse_unknown(c.first, head, path, parameters_);
    const std::string missing = unmet(conditions, parameters_);
    if (!missing.empty()) return reject(file, "it is for " + missing);
    const auto rank = std::make_tuple(name.device, name.rank, conditions.size());
    if (!best_.empty() && rank <= best_rank_) return;
    best_ = path;
    best_rank_ = rank;
  }

  void reject(const std::string &file, const std::string &why) {
    rejected_.push_back(file + ": " + why);
  }

  [[noreturn]] void none() {
    Diagnostic d("S0004", SrcLoc{intern_path(folder_), 0, 0, 0},
                 "no schedule for " + target_.to_string() +
                     (variant_.empty() ? "" : ", variant " + variant_) + " in " + folder_);
    if (rejected_.empty()) d.why.push_back({"the folder holds no .sched file", {}});
    for (size_t i = 0; i < rejected_.size() && i < 20; i++) d.why.push_back({rejected_[i], {}});
    d.help.push_back("add any.sched, which fits every target, or name a file");
    throw CompileError(d);
  }

  const std::string &folder_;
  const Target &target_;
  const std::string &variant_;
  const Parameters &parameters_;
  std::vector<std::string> rejected_;
  std::string best_;
  std::tuple<bool, int, size_t> best_rank_;
};

}  // namespace

std::string choose_schedule_file(const std::string &folder, const Target &target,
                                 const std::string &variant, const Parameters &parameters) {
  return Chooser(folder, target, variant, parameters).run();
}

bool is_schedule_target(const std::string &name) {
  FileName read;
  return read_target(name, &read) && read.target == name;
}

void check_conditions(const Schedule &s, const Parameters &parameters) {
  for (const auto &condition : s.when) {
    refuse_unknown(condition.first, s, s.origin, parameters);
    const std::string missing = unmet({condition}, parameters);
    if (missing.empty()) continue;
    const auto at = s.when_locs.find(condition.first);
    Diagnostic d("S0003", at == s.when_locs.end() ? SrcLoc() : at->second,
                 "the schedule is for " + missing);
    for (const auto &[name, value] : parameters) {
      if (name == condition.first) d.why.push_back({"here " + name + " is " + value, {}});
    }
    throw CompileError(std::move(d));
  }
}

std::string why_schedule_file_does_not_fit(const std::string &path, const Target &target,
                                           const Parameters &parameters) {
  const size_t slash = path.rfind('/');
  std::string stem = slash == std::string::npos ? path : path.substr(slash + 1);
  stem = stem.substr(0, stem.rfind(".sched"));
  FileName name;
  if (!read_target(stem, &name)) return "its name starts with no known target";
  if (!read_rest(stem.substr(name.target.size()), &name)) return "its name is not understood";
  if (!fits_target(name, target)) return "the target has not all features of " + name.target;
  for (const Parameters &conditions :
       {name.conditions, parse_schedule_head(read_schedule_text(path), path).when}) {
    const std::string missing = unmet(conditions, parameters);
    if (!missing.empty()) return "it is for " + missing;
  }
  return {};
}

}  // namespace calotype::schedule
