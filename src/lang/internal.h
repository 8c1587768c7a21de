// What the language's own files share and users don't see.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "../base/diagnostic.h"
#include "../ir/build.h"
#include "../ir/function.h"
#include "../schedule/directive.h"
#include "func.h"

namespace calotype::lang {

inline ir::FunctionBody &body_of(const Ref<RefCounted> &r) {
  return *static_cast<ir::FunctionBody *>(r.get());
}
inline Ref<ir::FunctionBody> body_ref(const Ref<RefCounted> &r) {
  return static_cast<ir::FunctionBody *>(r.get());
}
/// "f", or a description of an unnamed Func.
std::string shown_name(const ir::FunctionBody &f);

/// FunctionBody::attachment: the directives written in C++, in call order.
struct Directives final : RefCounted {
  std::vector<schedule::Directive> list;
  uint64_t version = 0;                     ///< grows with every change
  std::vector<Ref<ir::FunctionBody>> made;  ///< handles of the Funcs that these directives make
  std::string request;    ///< of a handle: the directive that made it; empty: a Func of the program
  Ref<RefCounted> cache;  ///< Func::realize's compiled code (driver/pipeline.cpp)
  ~Directives() override;
};
Directives &directives_of(ir::FunctionBody &f);
/// Does `f` stand for a Func that a directive makes (in, clone_in, rfactor)?
bool is_handle(const ir::FunctionBody &f);

/// What an ImageParam makes: ImageParam::in() needs a place for its directives.
struct ImageParameter final : ir::Parameter {
  Ref<Directives> directives;
  ~ImageParameter() override;
};

/// A number that no earlier call returned.
uint64_t next_id();
ir::Name reserved_name(const char *kind);

/// The reduction domain whose RVar `e` is, or null.
const ir::ReductionLink *link_of(const Expr &e);
/// The links of all RVars in `es`, one per RVar, in order of first use.
std::vector<const ir::ReductionLink *> links_in(const std::vector<Expr> &es);
/// Without the links of `domain` (null: of all domains).
Expr drop_links(const Expr &e, const ir::ReductionDomain *domain = nullptr);

[[noreturn]] void refuse_later(const std::string &what, SrcLoc at);

/// L0216 for an expression outside definitions with more operations than are compiled; `what` it is.
void require_small(const Expr &e, const std::string &what, SrcLoc at);

/// Adds a definition to `f`, pure if it is the first one. Returns the stage.
int define(ir::FunctionBody &f, std::vector<Expr> args, std::vector<Expr> values, SrcLoc at);
/// An update whose domain is given: `values` name its RVars as plain Variables.
int define_over(ir::FunctionBody &f, std::vector<Expr> args, std::vector<Expr> values,
                const Ref<ir::ReductionDomain> &domain, SrcLoc at);
/// The call of `f` at `args`; `_` stands for as many implicit Vars as are missing.
Expr call_func(const Ref<RefCounted> &f, std::vector<Expr> args, int value_index, SrcLoc at);
/// Replaces `_` by implicit Vars so that there are `dimensions` coordinates; L0204 otherwise.
std::vector<Expr> expand_placeholder(const std::vector<Expr> &args, int dimensions,
                                     const std::string &who, SrcLoc at);
std::vector<Expr> exprs_of(const Coordinate *coords, size_t n);
/// Coordinates as int32.
std::vector<Expr> index_exprs(std::vector<Expr> coords, const std::string &who, SrcLoc at);

}  // namespace calotype::lang
