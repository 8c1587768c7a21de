// What code is generated for: architecture, operating system and features, as one string.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export.h"
#include "type.h"

namespace calotype {

/// A compilation target, written `arch-bits-os-feature-feature...`, e.g. `x86-64-linux-avx2-fma`, or `host-...`.
/// Names of devices that Calotype does not support parse and are refused when code is asked for.
struct CALO_EXPORT Target {
  enum OS {
    OSUnknown = 0,
    Linux,
    Windows,
    OSX,
    Android,
    IOS,
    QuRT,
    NoOS,
    Fuchsia,
    WebAssemblyRuntime
  };
  enum Arch { ArchUnknown = 0, X86, ARM, POWERPC, Hexagon, WebAssembly, RISCV };
  enum Feature {
#define FEATURE(Name, spelling) Name,
#include "features.def"
#undef FEATURE
    FeatureEnd
  };

  OS os = OSUnknown;
  Arch arch = ArchUnknown;
  int bits = 0;
  int vector_bits = 0;

  Target() = default;
  Target(OS o, Arch a, int b, const std::vector<Feature> &features = {});
  /// Parses a target string; throws CompileError T0101 with the nearest names.
  explicit Target(const std::string &text);
  explicit Target(const char *text) : Target(std::string(text)) {}
  static bool validate_target_string(const std::string &text);

  bool has_feature(Feature f) const { return f < FeatureEnd && features_[f / 64] >> f % 64 & 1; }
  bool features_any_of(const std::vector<Feature> &fs) const;
  /// Whether one instruction moves the wanted lanes of a vector of such elements between memory and registers.
  bool has_masked_moves(int element_bytes) const;
  bool features_all_of(const std::vector<Feature> &fs) const;
  void set_feature(Feature f, bool value = true);
  void set_features(const std::vector<Feature> &fs, bool value = true);
  Target with_feature(Feature f) const;
  Target without_feature(Feature f) const;
  bool has_gpu_feature() const;
  bool supports_type(const Type &t) const;
  bool has_unknowns() const { return os == OSUnknown || arch == ArchUnknown || bits == 0; }

  /// Lanes of one vector register for elements of type `t` (at least 1).
  int natural_vector_size(const Type &t) const;
  template <typename T> int natural_vector_size() const {
    return natural_vector_size(type_of<T>());
  }
  /// Whether floating-point multiply-add is one instruction here: numeric mode `fma` or `nofma`.
  bool fuses_multiply_add() const;

  std::string to_string() const;
  bool operator==(const Target &o) const;
  bool operator!=(const Target &o) const { return !(*this == o); }

private:
  uint64_t features_[(FeatureEnd + 63) / 64] = {};  // no std::bitset: it is costly to parse
};

/// This machine, by cpuid.
CALO_EXPORT Target get_host_target();
/// HL_TARGET if set, else the host.
CALO_EXPORT Target get_target_from_environment();
/// HL_JIT_TARGET if set, else the host. Throws T0102 if it cannot run here.
CALO_EXPORT Target get_jit_target_from_environment();
/// Why no code can be generated for `t`: another machine, or a feature that has no meaning yet, by its name. Empty if it can.
CALO_EXPORT std::string why_not_compilable(const Target &t);
/// Why code for `t` cannot run in this process; empty if it can.
CALO_EXPORT std::string why_not_runnable_here(const Target &t);

}  // namespace calotype
