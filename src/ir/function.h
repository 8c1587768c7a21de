// An algorithm as data: Funcs with their pure and update definitions, no schedule inside.
//
// Two forms. FunctionBody is what the language builds step by step: shared, named as the user named it, its calls
// point at other bodies. Program is what everything after the language works on: plain values, every Func under its
// canonical name, calls resolved by name, numerics settled, in an order where producers come first.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "definition.h"
#include "nodes.h"

namespace calotype::ir {

/// A Func of a Program.
struct Function {
  Name name;  ///< canonical: the explicit name, g[0] g[1] for repeated ones, f[i] for unnamed ones
  uint64_t id = 0;  ///< FunctionBody::id
  SrcLoc loc;
  std::vector<Name> args;
  std::vector<Type> types;
  std::vector<Definition> definitions;
  std::vector<ParameterRef> outputs;  ///< as FunctionBody::outputs; empty if not an output
  int dimensions() const { return static_cast<int>(args.size()); }
  bool has_updates() const { return definitions.size() > 1; }
  int stages() const { return static_cast<int>(definitions.size()); }
  const Definition &pure() const { return definitions[0]; }
  /// The call of a C function that computes it, or null: its arguments are the C function's name, calls at 0 for buffers,
  /// scalars.
  const Call *extern_stage() const;
};

/// A whole algorithm.
struct CALO_EXPORT Program {
  Name name;
  std::vector<Function> funcs;  ///< producers before consumers
  std::vector<Name> outputs;    ///< in argument order
  std::vector<Expr>
      requirements;  ///< calls of Intrinsic::require over parameters alone, checked first
  std::vector<ParameterRef> params;  ///< all parameters used (embedded ones too), in argument order
  std::unordered_map<Name, Name>
      renamed;  ///< unnamed Vars: reserved name ("$v3") to canonical one ("v0")

  const Function *find(Name func) const;
  bool is_output(Name func) const;

private:
  mutable std::unordered_map<Name, int> index_;
};

/// Options of make_program.
struct ProgramOptions {
  bool settle = true;  ///< numeric settling (ir/settle.h); off under strict_float
  bool fma = true;     ///< numeric mode: `fma` or `nofma`
};

/// Collects everything `outputs` reach, freezes it, gives canonical names, orders it, renames unnamed Vars and RVars,
/// and settles the numerics. Parameters: `args` as asked for, then the others in order of first use (Funcs producers first,
/// definitions in order, then what constraints mention). Undefined and unset parameters are no mistake here.
/// Throws L0201 (a Func without definition), L0210 (cycle), L0404 (two parameters with one name).
CALO_EXPORT Program make_program(const std::string &name,
                                 const std::vector<Ref<FunctionBody>> &outputs,
                                 const std::vector<ParameterRef> &args,
                                 const ProgramOptions &options);

/// Adds a parameter that only directives or requirements mention, and names it if it is unnamed.
CALO_EXPORT void add_parameter(Program &program, const ParameterRef &p);
/// `e` with parameters, and fields of buffers, under the names that they have now: make_program names unnamed ones.
CALO_EXPORT Expr with_parameter_names(const Expr &e);

/// Everything `outputs` reach, producers first. Throws L0201, L0210.
CALO_EXPORT std::vector<FunctionBody *> reachable_funcs(
    const std::vector<Ref<FunctionBody>> &outputs);

/// The parameters that describe `f`'s output buffers, made if there are none yet (dimension 0 dense, nothing else
/// required). Requires a definition.
CALO_EXPORT std::vector<Ref<Parameter>> &output_parameters(FunctionBody &f);

/// Names of the Funcs that a definition's right and left sides read, in order of first use, without repeats.
CALO_EXPORT std::vector<Name> called_funcs(const Definition &d);

/// The Func as readable text: `blur_x(x, y) = ...` one line per definition.
CALO_EXPORT std::string to_string(const Function &f);

}  // namespace calotype::ir
