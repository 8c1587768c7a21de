// What all directives share while they are replayed: the refusal, and arguments brought into the shape that directives.def
// gives them, with numbers resolved. Internal to replay*.cpp.
#pragma once

#include <string>
#include <vector>

#include "replay.h"

namespace calotype::schedule {

class ReplayBase {
public:
  ReplayBase(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d)
      : cx_(cx), f_(f), s_(s), d_(d) {}
  Reason take_result() { return std::move(result_); }

protected:
  using Names = std::vector<ir::Name>;
  // All checks return false after they refused.

  // ---- saying no ---------------------------------------------------------------------------------
  bool refuse(Diagnostic d);
  bool refuse(const char *code, SrcLoc loc, std::string what, std::string why = {},
              std::string help = {});
  std::string subject() const;
  std::string directive() const;

  // ---- what every directive is checked for -------------------------------------------------------
  bool check_subject();
  bool refuse_stage();
  // The state that the directive is about, through the conditions of d_.under.
  bool find_specialization(StageState **state);
  // Brings the arguments into the order and kinds of directives.def: args_[i] belongs to params_of(kind)[i]; an optional
  // argument that is left out has no text, expression or items.
  bool shape_args();
  bool refuse_arity(std::string why, SrcLoc loc);
  // Accepts a bare name as a number (a let or a parameter) and resolves numbers.
  bool convert(const Arg &a, const ParamSpec &spec, Arg *out);
  bool refuse_tail_name(const Arg &a);
  static bool is_word(const std::string &text, const ParamSpec &spec);
  bool convert_words(const Arg &a, const ParamSpec &spec);
  bool refuse_word(const Arg &a, const ParamSpec &spec);
  // An integer scalar over parameters, as int32.
  bool resolve(Arg *a);
  // A condition over parameters of any type and buffer fields, as bool.
  bool resolve_condition(Arg *a);
  static bool uses_parameters(const Expr &e);
  bool gather_names(const std::vector<Arg> &args, std::vector<Arg> *out);
  // A constant of at least 1, or an expression that lowering evaluates.
  bool check_positive(const Arg &a, const char *what);
  static Expr at_least_one(const Expr &e);

  ReplayContext &cx_;
  const ir::Function &f_;
  FuncState &s_;
  const Directive &d_;
  Reason result_;
  std::vector<Expr> under_;  ///< d_.under, resolved
  std::vector<Arg> args_;    ///< in the order of params_of(kind)
  std::vector<bool> given_;  ///< false: left out
  std::vector<Arg> names_;   ///< of directives that take just names
};

/// A directive on the loops of one stage, and one on the Func as a whole.
Reason replay_on_loops(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d);
Reason replay_on_func(ReplayContext &cx, const ir::Function &f, FuncState &s, const Directive &d);

}  // namespace calotype::schedule
