// Names of the language whose meaning is not available yet: programs that mention them compile, and
// using one throws L0901 with its name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "func.h"

namespace calotype {

namespace lang {
/// Throws L0901 with the name.
[[noreturn]] CALO_EXPORT void refuse_name(const char *name);
}  // namespace lang

/// A compiled unit: several functions and buffers.
class CALO_EXPORT Module {
public:
  const std::vector<std::string> &functions() const;
};

struct AutoschedulerParams {
  std::string name;
  std::vector<std::pair<std::string, std::string>> extra;
  CALO_EXPORT AutoschedulerParams();
  CALO_EXPORT AutoschedulerParams(const std::string &n,
                                  const std::vector<std::pair<std::string, std::string>> &e = {});
};

/// Gradients of Funcs.
class CALO_EXPORT Derivative {
public:
  template <typename... Args> Func operator()(const Args &...) const { refuse(); }

private:
  [[noreturn]] void refuse() const;
};
CALO_EXPORT Derivative propagate_adjoints(const Func &output);
CALO_EXPORT Derivative propagate_adjoints(const Func &output, const Func &adjoint);
CALO_EXPORT Derivative propagate_adjoints(const Func &output, const Buffer<float, -1> &adjoint);

CALO_EXPORT const halide_device_interface_t *get_device_interface_for_device_api(
    DeviceAPI api, const Target &t = Target(), const char *error_site = nullptr);

/// _0 and its kin by number.
template <int N> struct ImplicitVar {
  Var to_var() const { return Var::implicit(N); }
  operator Var() const { return to_var(); }
  operator Expr() const { return to_var(); }
};

}  // namespace calotype
