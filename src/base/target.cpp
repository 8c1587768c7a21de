// Target strings, what one feature implies, vector widths, and the features of this machine.
// A Target's feature set is closed: it holds everything that its members imply, so "has at least" is a subset test;
// text shows only what the rest does not imply. Tests: test/unit/base/target_test.cpp.
#include "target.h"

#include "diagnostic.h"
#include "options.h"

#include <algorithm>
#include <bitset>
#include <iterator>

namespace calotype {

namespace {

using Features = std::bitset<Target::FeatureEnd>;

template <typename T> struct Word {
  T value;
  const char *text;
};
constexpr Word<Target::Arch> kArchs[] = {
    {Target::X86, "x86"},         {Target::ARM, "arm"},          {Target::POWERPC, "powerpc"},
    {Target::Hexagon, "hexagon"}, {Target::WebAssembly, "wasm"}, {Target::RISCV, "riscv"}};
constexpr Word<Target::OS> kSystems[] = {{Target::Linux, "linux"},
                                         {Target::Windows, "windows"},
                                         {Target::OSX, "osx"},
                                         {Target::Android, "android"},
                                         {Target::IOS, "ios"},
                                         {Target::QuRT, "qurt"},
                                         {Target::NoOS, "noos"},
                                         {Target::Fuchsia, "fuchsia"},
                                         {Target::WebAssemblyRuntime, "wasmrt"}};
constexpr Word<Target::Feature> kFeatures[] = {
#define FEATURE(Name, spelling) {Target::Name, spelling},
#include "features.def"
#undef FEATURE
};

template <typename T, size_t N>
const T *find_word(const Word<T> (&words)[N], const std::string &text) {
  for (const Word<T> &w : words) {
    if (text == w.text) return &w.value;
  }
  return nullptr;
}
template <typename T, size_t N> std::string word_of(const Word<T> (&words)[N], T value) {
  for (const Word<T> &w : words) {
    if (w.value == value) return w.text;
  }
  return "unknown";
}

// first implies second, directly.
constexpr std::pair<Target::Feature, Target::Feature> kImplies[] = {
    {Target::AVX, Target::SSE41},
    {Target::AVX2, Target::AVX},
    {Target::FMA, Target::AVX},
    {Target::FMA4, Target::AVX},
    {Target::F16C, Target::AVX},
    {Target::AVXVNNI, Target::AVX2},
    {Target::AVX512, Target::AVX2},
    {Target::AVX512, Target::FMA},
    {Target::AVX512, Target::F16C},
    {Target::AVX512_KNL, Target::AVX512},
    {Target::AVX512_Skylake, Target::AVX512},
    {Target::AVX512_Cannonlake, Target::AVX512_Skylake},
    {Target::AVX512_Zen4, Target::AVX512_Cannonlake},
    {Target::AVX512_Zen5, Target::AVX512_Zen4},
    {Target::AVX512_Zen5, Target::AVXVNNI},
    {Target::AVX512_SapphireRapids, Target::AVX512_Zen4},
    {Target::AVX512_SapphireRapids, Target::AVXVNNI},
    {Target::AVX10_1, Target::AVX512_Zen4},
    {Target::CUDACapability30, Target::CUDA},
    {Target::CUDACapability32, Target::CUDACapability30},
    {Target::CUDACapability35, Target::CUDACapability32},
    {Target::CUDACapability50, Target::CUDACapability35},
    {Target::CUDACapability61, Target::CUDACapability50},
    {Target::CUDACapability70, Target::CUDACapability61},
    {Target::CUDACapability75, Target::CUDACapability70},
    {Target::CUDACapability80, Target::CUDACapability75},
    {Target::CUDACapability86, Target::CUDACapability80},
    {Target::CUDACapability90, Target::CUDACapability86},
    {Target::CUDACapability100, Target::CUDACapability90},
    {Target::HVX_v62, Target::HVX_128},
    {Target::HVX_v65, Target::HVX_v62},
    {Target::HVX_v66, Target::HVX_v65},
    {Target::HVX_v68, Target::HVX_v66},
    {Target::SVE2, Target::SVE},
    {Target::ARMv81a, Target::ARMv8a},
    {Target::ARMv82a, Target::ARMv81a},
};

// x86 instruction sets: what must be present for code to run.
constexpr Target::Feature kInstructionSets[] = {Target::SSE41,
                                                Target::AVX,
                                                Target::AVX2,
                                                Target::FMA,
                                                Target::FMA4,
                                                Target::F16C,
                                                Target::AVX512,
                                                Target::AVX512_KNL,
                                                Target::AVX512_Skylake,
                                                Target::AVX512_Cannonlake,
                                                Target::AVX512_Zen4,
                                                Target::AVX512_Zen5,
                                                Target::AVX512_SapphireRapids,
                                                Target::AVX10_1,
                                                Target::AVXVNNI};

// Features that code generation acts on; any other one is refused by name, since ignoring it would give another program than
// was asked for. (Buffers are large and the runtime is hosted in any case.)
constexpr Target::Feature kMeaningful[] = {Target::SSE41,
                                           Target::AVX,
                                           Target::AVX2,
                                           Target::FMA,
                                           Target::F16C,
                                           Target::AVX512,
                                           Target::AVX512_KNL,
                                           Target::AVX512_Skylake,
                                           Target::AVX512_Cannonlake,
                                           Target::AVX512_Zen4,
                                           Target::AVX512_Zen5,
                                           Target::AVX512_SapphireRapids,
                                           Target::AVX10_1,
                                           Target::AVXVNNI,
                                           Target::JIT,
                                           Target::Debug,
                                           Target::CheckUnsafePromises,
                                           Target::StrictFloat,
                                           Target::LargeBuffers,
                                           Target::UserContext,
                                           Target::NoRuntime,
                                           Target::TraceLoads,
                                           Target::TraceStores,
                                           Target::TraceRealizations,
                                           Target::TracePipeline};

Features implied_by(Target::Feature f) {
  Features all;
  all.set(f);
  for (bool grew = true; grew;) {
    grew = false;
    for (auto [from, to] : kImplies) {
      if (all.test(from) && !all.test(to)) all.set(to), grew = true;
    }
  }
  return all;
}

[[noreturn]] void bad_target(const std::string &text, const std::string &why,
                             const std::string &token = {}) {
  Diagnostic d("T0101", {}, "bad target string '" + text + "': " + why);
  if (!token.empty()) {
    std::vector<std::string> names = {"host", "trace_all"};
    for (auto &w : kArchs) names.push_back(w.text);
    for (auto &w : kSystems) names.push_back(w.text);
    for (auto &w : kFeatures) names.push_back(w.text);
    std::string list;
    for (const std::string &n : nearest_names(token, names)) list += (list.empty() ? "" : ", ") + n;
    if (!list.empty()) d.help.push_back("did you mean " + list + "?");
  }
  d.help.push_back(
      "a target is architecture, bits, system and features, as in x86-64-linux-avx2-fma or "
      "host-no_asserts");
  raise(std::move(d));
}

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == '-')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <typename T> void set_once(T &field, T value, const std::string &text, const char *what) {
  if (field != T() && field != value) bad_target(text, std::string("it names two ") + what);
  field = value;
}

bool read_vector_bits(const std::string &part, Target &t) {
  const std::string head = "vector_bits_";
  if (part.compare(0, head.size(), head) != 0) return false;
  const std::string digits = part.substr(head.size());
  if (digits.empty() || digits.size() > 5 ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return false;
  t.vector_bits = std::stoi(digits);
  return t.vector_bits % 8 == 0;
}

// One part of a target string after `host` has been dealt with; false if it means nothing.
bool read_part(const std::string &part, Target &t, const std::string &text) {
  if (auto *arch = find_word(kArchs, part)) {
    set_once(t.arch, *arch, text, "architectures");
  } else if (auto *os = find_word(kSystems, part)) {
    set_once(t.os, *os, text, "operating systems");
  } else if (part == "32" || part == "64") {
    set_once(t.bits, part == "32" ? 32 : 64, text, "sizes in bits");
  } else if (auto *feature = find_word(kFeatures, part)) {
    t.set_feature(*feature);
  } else if (part == "trace_all") {
    t.set_features({Target::TraceLoads, Target::TraceStores, Target::TraceRealizations});
  } else {
    return read_vector_bits(part, t);
  }
  return true;
}

#if defined(__x86_64__) || defined(__i386__)
// The compiler's runtime asks cpuid and xgetbv: a feature counts only if the system saves its registers.
void add_machine_features(Target &t) {
  __builtin_cpu_init();
  auto add = [&](bool present, Target::Feature f) {
    if (present) t.set_feature(f);
  };
  add(__builtin_cpu_supports("sse4.1"), Target::SSE41);
  add(__builtin_cpu_supports("avx"), Target::AVX);
  add(__builtin_cpu_supports("avx2"), Target::AVX2);
  add(__builtin_cpu_supports("fma"), Target::FMA);
  add(__builtin_cpu_supports("f16c"), Target::F16C);
  const bool base = __builtin_cpu_supports("avx512f") &&
                    t.features_all_of({Target::AVX2, Target::FMA, Target::F16C});
  const bool skylake = base && __builtin_cpu_supports("avx512cd") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl");
  const bool cannonlake =
      skylake && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi");
  const bool zen4 =
      cannonlake && __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vnni") &&
      __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("avx512vpopcntdq") &&
      __builtin_cpu_supports("avx512bf16");
  const bool vnni = __builtin_cpu_supports("avxvnni");
  add(base, Target::AVX512);
  add(skylake, Target::AVX512_Skylake);
  add(cannonlake, Target::AVX512_Cannonlake);
  add(zen4, Target::AVX512_Zen4);
  add(zen4 && vnni && __builtin_cpu_supports("avx512vp2intersect"), Target::AVX512_Zen5);
  add(zen4 && vnni && __builtin_cpu_supports("amx-int8"), Target::AVX512_SapphireRapids);
  add(vnni && __builtin_cpu_supports("avx2"), Target::AVXVNNI);
}
#else
void add_machine_features(Target &) {}
#endif

Target detect_host() {
  Target t;
#if defined(__x86_64__) || defined(__i386__)
  t.arch = Target::X86;
#elif defined(__aarch64__) || defined(__arm__)
  t.arch = Target::ARM;
#elif defined(__powerpc__)
  t.arch = Target::POWERPC;
#elif defined(__riscv)
  t.arch = Target::RISCV;
#endif
#if defined(__linux__)
  t.os = Target::Linux;
#elif defined(__APPLE__)
  t.os = Target::OSX;
#endif
  t.bits = static_cast<int>(8 * sizeof(void *));
  add_machine_features(t);
  return t;
}

int x86_vector_bytes(const Target &t, const Type &type) {
  const bool narrow = type.is_int_or_uint() && type.bits() < 32;
  if (t.has_feature(Target::AVX512_Skylake) || (t.has_feature(Target::AVX512) && !narrow))
    return 64;
  if (t.has_feature(Target::AVX2) || (t.has_feature(Target::AVX) && type.is_float())) return 32;
  return 16;
}

int vector_bytes(const Target &t, const Type &type) {
  if (t.vector_bits > 0) return t.vector_bits / 8;
  if (t.arch == Target::X86) return x86_vector_bytes(t, type);
  if (t.arch == Target::Hexagon) return t.has_feature(Target::HVX_128) ? 128 : 8;
  if (t.arch == Target::WebAssembly && !t.has_feature(Target::WasmSimd128)) return 8;
  if (t.arch == Target::ARM && t.has_feature(Target::NoNEON)) return 8;
  return 16;
}

}  // namespace

Target::Target(OS o, Arch a, int b, const std::vector<Feature> &features)
    : os(o), arch(a), bits(b) {
  set_features(features);
}

Target::Target(const std::string &text) {
  std::vector<std::string> parts = split(text);
  size_t first = 0;
  if (parts[0] == "host") {
    *this = get_host_target();
    first = 1;
  }
  for (size_t i = first; i < parts.size(); i++) {
    if (parts[i].empty()) bad_target(text, "it has an empty part");
    if (!read_part(parts[i], *this, text))
      bad_target(text, "'" + parts[i] + "' is not known", parts[i]);
  }
  if (arch == ArchUnknown) bad_target(text, "it names no architecture");
  if (bits == 0) bad_target(text, "it does not say 32 or 64 bits");
  if (os == OSUnknown) bad_target(text, "it names no operating system");
}

bool Target::validate_target_string(const std::string &text) {
  try {
    Target t(text);
    return true;
  } catch (const CompileError &) {
    return false;
  }
}

bool Target::has_masked_moves(int element_bytes) const {
  const bool bytes_too = features_any_of({AVX512_Skylake, AVX512_Cannonlake, AVX512_Zen4,
                                          AVX512_Zen5, AVX512_SapphireRapids, AVX10_1});
  const bool words = bytes_too || features_any_of({AVX, AVX2, AVX512, AVX512_KNL});
  return element_bytes >= 4 ? words : bytes_too;
}
bool Target::features_any_of(const std::vector<Feature> &fs) const {
  return std::any_of(fs.begin(), fs.end(), [&](Feature f) { return has_feature(f); });
}

bool Target::features_all_of(const std::vector<Feature> &fs) const {
  return std::all_of(fs.begin(), fs.end(), [&](Feature f) { return has_feature(f); });
}

// Setting a feature sets what it implies; clearing one clears what implies it.
void Target::set_feature(Feature f, bool value) {
  if (f == FeatureEnd) return;
  const Features implied = implied_by(f);
  for (int i = 0; i < FeatureEnd; i++) {
    uint64_t &word = features_[i / 64];
    const uint64_t bit = uint64_t(1) << i % 64;
    if (value && implied.test(i)) word |= bit;
    if (!value && (word & bit) && implied_by(static_cast<Feature>(i)).test(f)) word &= ~bit;
  }
}

void Target::set_features(const std::vector<Feature> &fs, bool value) {
  for (Feature f : fs) set_feature(f, value);
}

Target Target::with_feature(Feature f) const {
  Target t = *this;
  t.set_feature(f);
  return t;
}

Target Target::without_feature(Feature f) const {
  Target t = *this;
  t.set_feature(f, false);
  return t;
}

bool Target::has_gpu_feature() const {
  return features_any_of({CUDA, OpenCL, Metal, D3D12Compute, Vulkan, WebGPU, OpenGLCompute});
}

bool Target::supports_type(const Type &t) const {
  if (t.is_bfloat()) return t.bits() == 16;
  if (!t.is_float()) return t.bits() <= 64;
  if (t.bits() == 64) return !features_any_of({Metal, D3D12Compute, OpenGLCompute, WebGPU});
  return t.bits() == 32 || t.bits() == 16;
}

int Target::natural_vector_size(const Type &t) const {
  return t.bytes() == 0 ? 1 : std::max(1, vector_bytes(*this, t) / t.bytes());
}

bool Target::fuses_multiply_add() const {
  switch (arch) {
    case X86: return has_feature(FMA) || has_feature(FMA4);
    case ARM: return bits == 64;
    case POWERPC:
    case RISCV: return true;
    default: return false;
  }
}

std::string Target::to_string() const {
  std::string s = word_of(kArchs, arch) + "-" + std::to_string(bits) + "-" + word_of(kSystems, os);
  std::vector<std::string> names;
  for (int i = 0; i < FeatureEnd; i++) {
    const Feature f = static_cast<Feature>(i);
    bool implied = false;
    for (auto [from, to] : kImplies) implied |= to == f && has_feature(from);
    if (has_feature(f) && !implied) names.push_back(word_of(kFeatures, f));
  }
  std::sort(names.begin(), names.end());
  for (const std::string &n : names) s += "-" + n;
  if (vector_bits > 0) s += "-vector_bits_" + std::to_string(vector_bits);
  return s;
}

bool Target::operator==(const Target &o) const {
  return os == o.os && arch == o.arch && bits == o.bits && vector_bits == o.vector_bits &&
         std::equal(std::begin(features_), std::end(features_), std::begin(o.features_));
}

Target get_host_target() {
  static const Target *host = new Target(detect_host());
  return *host;
}

Target get_target_from_environment() {
  return options().target.empty() ? get_host_target() : Target(options().target);
}

Target get_jit_target_from_environment() {
  Target t = options().jit_target.empty() ? get_host_target() : Target(options().jit_target);
  const std::string why = why_not_runnable_here(t);
  if (!why.empty()) {
    raise(Diagnostic("T0102", {}, "target " + t.to_string() + " cannot run on this machine")
              .because(why)
              .fix("set HL_JIT_TARGET to host or leave it unset"));
  }
  return t.with_feature(Target::JIT);
}

std::string why_not_compilable(const Target &t) {
  if (t.arch != Target::X86 || t.bits != 64 || t.os != Target::Linux)
    return "code can be generated for x86-64-linux";
  for (int i = 0; i < Target::FeatureEnd; i++) {
    const Target::Feature f = static_cast<Target::Feature>(i);
    if (!t.has_feature(f)) continue;
    const bool known =
        std::find(std::begin(kMeaningful), std::end(kMeaningful), f) != std::end(kMeaningful);
    if (!known) return "its feature " + word_of(kFeatures, f) + " has no meaning here yet";
  }
  return {};
}

std::string why_not_runnable_here(const Target &t) {
  const Target host = get_host_target();
  if (t.arch != host.arch || t.bits != host.bits || t.os != host.os) {
    return "this machine is " + Target(host.os, host.arch, host.bits).to_string() + ", not " +
           Target(t.os, t.arch, t.bits).to_string();
  }
  std::string missing;
  for (Target::Feature f : kInstructionSets) {
    if (t.has_feature(f) && !host.has_feature(f))
      missing += (missing.empty() ? "" : ", ") + word_of(kFeatures, f);
  }
  return missing.empty() ? "" : "this processor (" + host.to_string() + ") lacks " + missing;
}

}  // namespace calotype
