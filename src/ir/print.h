// IR to text. The text parses back to an equal program (parse.h).
#pragma once

#include <ostream>
#include <string>

#include "function.h"
#include "nodes.h"

namespace calotype {
CALO_EXPORT std::ostream &operator<<(std::ostream &o, const Expr &e);
namespace ir {
CALO_EXPORT std::string to_string(const Expr &e);
CALO_EXPORT std::string to_string(const Stmt &s);  ///< two spaces per level, one statement a line
CALO_EXPORT std::string to_string(const Program &p);  ///< `program name { param ...; func ...; output ...; }`
CALO_EXPORT std::ostream &operator<<(std::ostream &o, const Stmt &s);
}  // namespace ir
}  // namespace calotype
