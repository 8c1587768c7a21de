// What is declared and refused.
#include "later.h"

#include "internal.h"

namespace calotype {

namespace {
[[noreturn]] void refuse(const char *what) { lang::refuse_later(what, lang::recent_position()); }
}  // namespace

AutoschedulerParams::AutoschedulerParams() = default;
AutoschedulerParams::AutoschedulerParams(const std::string &n,
                                         const std::vector<std::pair<std::string, std::string>> &e)
    : name(n), extra(e) {}

void lang::refuse_name(const char *name) { calotype::refuse(name); }
void Derivative::refuse() const { calotype::refuse("Derivative"); }
const std::vector<std::string> &Module::functions() const { refuse("Module::functions"); }

Derivative propagate_adjoints(const Func &) { refuse("propagate_adjoints"); }
Derivative propagate_adjoints(const Func &, const Func &) { refuse("propagate_adjoints"); }
Derivative propagate_adjoints(const Func &, const Buffer<float, -1> &) {
  refuse("propagate_adjoints");
}

const halide_device_interface_t *get_device_interface_for_device_api(DeviceAPI, const Target &,
                                                                     const char *) {
  refuse("get_device_interface_for_device_api");
}

}  // namespace calotype
