// A schedule as data: a list of directive records. C++ calls, schedule files and the autoscheduler all write this list;
// apply.h replays it.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../base/source.h"
#include "../ir/expr.h"
#include "enums.h"

namespace calotype::schedule {

/// One kind per line of directives.def (name, arguments, documentation).
enum class DirectiveKind {
#define DIRECTIVE(name, args, doc) name,
#include "directives.def"
#undef DIRECTIVE
};
CALO_EXPORT const char *directive_name(DirectiveKind k);
CALO_EXPORT bool find_directive(const std::string &name, DirectiveKind *kind);
CALO_EXPORT std::vector<std::string> directive_names();  ///< those that are available
CALO_EXPORT bool is_available(DirectiveKind k);          ///< on a target without devices
CALO_EXPORT bool needs_device(DirectiveKind k);          ///< a GPU's, a DSP's: "device:"
CALO_EXPORT std::string signature(DirectiveKind k);      ///< "split(var, newvar outer, ...)"
/// Said of a Func as a whole (compute_at, bound ...), not of the loops of one of its stages.
CALO_EXPORT bool is_func_level(DirectiveKind k);

/// Makes a Func (in, clone_in, rfactor): Directive::made.
CALO_EXPORT bool makes_func(DirectiveKind k);

/// One parameter of a directive, from directives.def.
struct ParamSpec {
  enum class Kind {
    Var,
    NewVar,
    Expr,
    Tail,
    Vars,
    Level,
    Func,
    Funcs,
    Word,  ///< an enumerator of `type`
    Bool,
    String,
    Condition,
    Other
  } kind = Kind::Other;
  std::string name;  ///< what it is for: "factor"; the kind's word where nothing else is said
  bool optional = false;
  std::string type = {};  ///< Word: the enumeration
};
CALO_EXPORT const std::vector<ParamSpec> &params_of(DirectiveKind k);

/// The enumerators of "MemoryType", "Partition" ...; empty: no such enumeration.
CALO_EXPORT const std::vector<std::string> &words_of(const std::string &type);
CALO_EXPORT bool find_tail(const std::string &name, TailStrategy *tail);
CALO_EXPORT const char *tail_name(TailStrategy t);

/// One argument of a directive, as written.
struct CALO_EXPORT Arg {
  enum class Kind { Name, Expr, Enum, List, Level, String, Func };
  Kind kind = Kind::Name;
  std::string text;  ///< Name: a loop or dimension ("x", "r.x", "_0"); Enum: "GuardWithIf"; String
  Expr expr;         ///< Expr: a scalar expression (factors, bounds)
  std::vector<Arg> items;  ///< List: {a, b}
  std::string key;  ///< key=value options, {key: value} in lists; empty for positional arguments
  // Level: the loop `text` of a Func; the Func itself where there is no text
  std::string func;  ///< canonical Func name; from C++ empty until resolved, then found by func_id
  uint64_t func_id = 0;
  int stage = -1;   ///< -1: whichever stage has that loop
  SrcLoc func_loc;  ///< Level: the Func's name in a file
  SrcLoc loc;       ///< the argument; of a Level, its loop

  static Arg name(std::string text, SrcLoc loc = {});
  static Arg value(Expr e, SrcLoc loc = {});
  static Arg enumerator(std::string text, SrcLoc loc = {});
  static Arg list(std::vector<Arg> items, SrcLoc loc = {});
  static Arg level(uint64_t func_id, std::string func, int stage, std::string loop,
                   SrcLoc loc = {});
  static Arg function(uint64_t func_id, std::string func, SrcLoc loc = {});
};

/// `func.update(stage).specialize(under[0]) ... .kind(args)`.
struct Directive {
  DirectiveKind kind;
  std::string
      func;  ///< canonical name or glob; from C++ empty until resolved, then found by func_id
  uint64_t func_id = 0;
  int stage = 0;            ///< 0: the pure definition; i + 1: update(i)
  std::vector<Expr> under;  ///< conditions of the specialization it is said of, outermost first
  std::vector<Arg> args;
  SrcLoc loc;       ///< the directive's name in a file, the call in C++
  SrcLoc func_loc;  ///< the Func's name in a file
  SrcLoc use_loc;   ///< where the named block was used that it stands in
  /// Directives that make Funcs: the name of the one they make; from C++ empty until resolved, then found by made_id.
  std::string made;
  uint64_t made_id = 0;
  SrcLoc made_loc;                   ///< the name in `let NAME = ...`
  std::vector<uint64_t> online_ids;  ///< of online, from C++: of the Funcs online_funcs names
  uint64_t sequence = 0;             ///< C++ calls: order of the calls in this process
};

/// The canonical name of the Func that `d` makes, where nobody gave one: f_in_g, f_in, f_clone_in_g, sum_by_u.
CALO_EXPORT std::string default_made_name(const Directive &d);
/// The Funcs that an `online` directive makes: for each Func listed, then its own, the partial reduction of a block
/// ("L_part"); then the same of what is kept from block to block ("L_state").
CALO_EXPORT std::vector<std::string> online_funcs(const Directive &d);
CALO_EXPORT std::string plain(const std::string &func);       ///< "g[0]" -> "g_0": as names may be
CALO_EXPORT std::string part_name(const std::string &func);   ///< "L_part"
CALO_EXPORT std::string state_name(const std::string &func);  ///< "L_state"
/// The names of all Funcs that `d` makes.
CALO_EXPORT std::vector<std::string> names_made(const Directive &d);
/// The Funcs among `args`, lists flattened; and how they are written: alone, or as one list.
CALO_EXPORT std::vector<Arg> func_items(const std::vector<Arg> &args);
CALO_EXPORT std::vector<Arg> one_or_list(std::vector<Arg> items);

/// A list of directives with its head.
struct Schedule {
  std::string origin;          ///< file path, or empty for the one written in C++
  std::string pipeline;        ///< `pipeline` line: must equal the program's name if not empty
  std::string target;          ///< `target` line, only selects
  bool base_embedded = false;  ///< `base embedded`: the C++ schedule stays and this one is appended
  std::vector<std::pair<std::string, Expr>> lets;
  std::vector<std::pair<std::string, std::string>>
      when;  ///< `when type == bf16`: generator parameters
  std::unordered_map<std::string, SrcLoc> let_locs, when_locs;  ///< values of lets, names of whens
  std::vector<Directive> directives;
};

}  // namespace calotype::schedule
