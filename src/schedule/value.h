// Numbers in schedules: expressions over constants, `let` names, parameters, buffer dimensions and vec(type), given a
// meaning for one program and one target, and folded where they are constant.
#pragma once

#include <string>
#include <vector>

#include "../base/diagnostic.h"
#include "../base/target.h"
#include "../ir/function.h"
#include "../ir/visit.h"
#include "directive.h"

namespace calotype::schedule {

/// vec(type) is the lanes of the target's vectors: a Variable of this name until a target is known.
CALO_EXPORT Expr vec_of(Type t);
/// name.extent(0), name.min(0), name.stride(0): the Variables "name.extent.0" ...
CALO_EXPORT Expr buffer_field(const std::string &buffer, const std::string &field, int dimension);

/// What names in expressions mean.
struct ValueScope {
  const ir::Program &program;
  const Target &target;
  const ir::Substitution &lets;  ///< `let` names, their values already resolved
  bool any_type = false;         ///< parameters may be floats and bools: conditions
};
/// `e` with all names resolved and constants folded; undefined and `*why` filled if a name has no meaning.
CALO_EXPORT Expr resolve_value(const Expr &e, const ValueScope &scope, SrcLoc loc, Diagnostic *why);
/// The value of an integer expression made of constants alone.
CALO_EXPORT bool constant_value(const Expr &e, int64_t *value);

}  // namespace calotype::schedule
