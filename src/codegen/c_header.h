// The C declarations of a compiled function: the header that AOT users include. No LLVM in it.
#pragma once

#include <string>

#include "../base/target.h"
#include "../lower/lowered.h"

namespace calotype::codegen {

/// "int blur(struct halide_buffer_t *input, float sigma, struct halide_buffer_t *output)", without a semicolon.
std::string c_signature(const lower::LoweredFunction &f, const Target &t,
                        const std::string &symbol);
/// "uint16_t"; "_Bool" would differ between C and C++, so bools are bool.
std::string c_type(Type t);
/// `name` as a C identifier: what is none of its characters becomes an underscore.
std::string c_identifier(const std::string &name);
bool is_c_identifier(const std::string &name);
/// Why no function of C or C++ may have this name, though it is an identifier; or empty.
std::string why_reserved(const std::string &name);
/// A whole header, for C and C++, that needs no other file of ours. `targets`: what it was compiled for, in words.
CALO_EXPORT std::string c_header(const lower::LoweredFunction &f, const Target &t,
                                 const std::string &symbol, const std::string &targets);
/// A C++ source that makes the function known to a main such as share/tools/RunGenMain.cpp, before it starts.
std::string registration_source(const std::string &symbol);

}  // namespace calotype::codegen
