// Definitions of Funcs and reduction domains, and the Func under construction. Light: part of the public headers.
#pragma once

#include <string>
#include <vector>

#include "../base/source.h"
#include "expr.h"
#include "name.h"
#include "parameter.h"

namespace calotype::ir {

/// One dimension of a reduction domain. Its variable appears in Exprs as a Variable of this name.
struct ReductionVariable {
  Name var;  ///< "r.x": canonical within a Program
  Expr min, extent;
};
/// A reduction domain: an ordered box of RVars, the first innermost, and a predicate (undefined: always).
struct CALO_EXPORT ReductionDomain : RefCounted {
  std::string name;
  std::vector<ReductionVariable> vars;
  Expr predicate;
  SrcLoc loc;
  bool frozen = false;  ///< used in a definition: where() is refused
  ~ReductionDomain() override;
};

/// While a program is being written, an RVar's Variable carries this as its parameter, so that an Expr alone says which
/// domain it walks over. A definition drops it: afterwards the RVar is a Variable like any other.
struct CALO_EXPORT ReductionLink : Parameter {
  Ref<ReductionDomain> domain;
  int index = 0;
  ~ReductionLink() override;
};

/// One definition: f(args) = values, for every point of rvars where the predicate holds.
struct Definition {
  std::vector<Expr> args;                ///< pure: Variables, one per dimension, innermost first
  std::vector<Expr> values;              ///< one per Tuple element
  std::vector<ReductionVariable> rvars;  ///< empty for pure definitions; first is innermost
  Expr predicate;                        ///< undefined: always
  SrcLoc loc;
};

/// A Func while the user builds it.
struct CALO_EXPORT FunctionBody : RefCounted {
  uint64_t id = 0;         ///< order of creation in this process; never printed
  std::string name;        ///< explicit name, or empty
  SrcLoc loc;              ///< where the Func was made
  std::vector<Name> args;  ///< pure argument names
  std::vector<Type> types;
  std::vector<Type> required_types;  ///< of the definition to come; empty: any
  int required_dimensions = -1;      ///< -1: any
  std::vector<Definition>
      definitions;      ///< [0] pure, then updates; Calls of itself have func == null
  bool frozen = false;  ///< used by another Func or compiled: no further definitions
  std::vector<Ref<Parameter>>
      outputs;  ///< one per Tuple element: constraints on its buffer when it is an output
  Ref<RefCounted> attachment;  ///< the language's own (directives)
  bool defined() const { return !definitions.empty(); }
  int dimensions() const { return static_cast<int>(args.size()); }
  ~FunctionBody() override;
};

/// Whether a C function computes it: its only definition's values are calls of Intrinsic::extern_stage.
CALO_EXPORT bool is_extern(const FunctionBody &f);

}  // namespace calotype::ir
