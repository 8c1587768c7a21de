// Compiled functions as files: objects with the published interface, what an object is made of as text, libraries.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../base/target.h"
#include "../lower/lowered.h"

namespace calotype::codegen {

enum class ObjectForm { Object, Assembly, Bitcode, LlvmAssembly };

/// One lowered function with the published interface: int SYMBOL(arguments), int SYMBOL_argv(void **),
/// const halide_filter_metadata_t *SYMBOL_metadata(void). Refers to the runtime by name. Embedded images are
/// constants in it. It refuses at run time, with an error code, a processor that lacks what `t` names. Deterministic.
/// Throws T0103 (operation not available), T0104.
CALO_EXPORT std::string compile_object(const lower::LoweredFunction &f, const Target &t,
                                       const std::string &symbol, ObjectForm form);

/// An object with SYMBOL over functions compiled for several targets, best first (pairs of target and symbol; all with
/// the arguments of `f`): each call goes to the first that the processor can run.
CALO_EXPORT std::string compile_dispatcher(
    const lower::LoweredFunction &f, const std::string &symbol,
    const std::vector<std::pair<Target, std::string>> &choices);

/// Groups of instructions that code for `t` needs, as runtime.h's calo_cpu_* bits: what the dispatcher asks for.
CALO_EXPORT uint32_t processor_bits(const Target &t);

/// A static library of these members (name, bytes) with its symbol table, without dates or owners.
CALO_EXPORT std::string make_archive(
    const std::vector<std::pair<std::string, std::string>> &members);

}  // namespace calotype::codegen
