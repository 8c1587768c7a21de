// RVar and RDom: the points a reduction walks over, in order, the first dimension innermost.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "expr.h"
#include "var.h"

namespace calotype {

namespace ir {
struct ReductionDomain;
}
class OutputImageParam;
template <typename T, int D> class Buffer;

/// A half-open range of one dimension.
struct Range {
  Expr min, extent;
};
using Region = std::vector<Range>;

/// One dimension of an RDom, or (made from a name) a loop over a part of one.
class CALO_EXPORT RVar {
public:
  RVar();
  explicit RVar(const std::string &name);
  explicit RVar(const char *name) : RVar(std::string(name)) {}
  const std::string &name() const;
  /// Undefined unless it belongs to an RDom.
  Expr min() const;
  Expr extent() const;
  operator const Expr &() const { return expr_; }

private:
  friend class RDom;
  explicit RVar(Expr e) : expr_(std::move(e)) {}
  Expr expr_;
};

namespace lang {

/// An end of an RDom's range, or its name as the last argument.
struct CALO_EXPORT DomainArgument {
  Expr expr;
  std::string name;
  SrcLoc loc;
  bool is_name = false;
  DomainArgument(const char *n) : name(n), is_name(true) {}
  DomainArgument(const std::string &n) : name(n), is_name(true) {}
  template <typename T, typename std::enable_if<!std::is_convertible<const T &, std::string>::value,
                                                int>::type = 0>
  DomainArgument(const T &e, SrcLoc at = SrcLoc::here()) : loc(at) {
    Coordinate c(e, at);
    expr = c.expr;
  }
};

}  // namespace lang

/// A box of RVars, and optionally a predicate that narrows it.
class CALO_EXPORT RDom {
public:
  RVar x, y, z, w;  ///< the first four dimensions

  RDom();
  /// RDom(min, extent, min, extent, ..., name). Throws L0301 for undefined or non-integer ends.
  template <typename... Args>
  RDom(const lang::DomainArgument &min, const lang::DomainArgument &extent, const Args &...rest) {
    make({min, extent, lang::DomainArgument(rest)...});
  }
  RDom(const Region &ranges, const std::string &name = {}, SrcLoc at = SrcLoc::here());
  /// All points of a buffer.
  template <typename T, int D>
  RDom(const Buffer<T, D> &b, SrcLoc at = SrcLoc::here()) : RDom(b.region(), std::string(), at) {}
  RDom(const OutputImageParam &p, SrcLoc at = SrcLoc::here());

  bool defined() const { return domain_.defined(); }
  bool same_as(const RDom &o) const { return domain_.same_as(o.domain_); }
  int dimensions() const;
  std::string name() const;
  /// Keeps only points where `predicate` holds; may use the RVars, Vars and Funcs. Throws L0302 after
  /// the domain has been used in a definition.
  void where(const Expr &predicate, SrcLoc at = SrcLoc::here());
  /// Throws L0301 if out of range.
  RVar operator[](int i) const;
  /// The only RVar; throws L0301 for more than one dimension.
  operator RVar() const;
  operator Expr() const;
  Ref<ir::ReductionDomain> domain() const;

private:
  void make(const std::vector<lang::DomainArgument> &args);
  void init(const Region &ranges, const std::string &name, SrcLoc at);
  Ref<RefCounted> domain_;
};

/// A loop named in a directive, with the line of the call.
struct CALO_EXPORT VarOrRVar {
  std::string text;
  bool is_rvar = false;
  SrcLoc loc;
  VarOrRVar(const Var &v, SrcLoc at = SrcLoc::here()) : text(v.name()), loc(at) {}
  VarOrRVar(const RVar &r, SrcLoc at = SrcLoc::here()) : text(r.name()), is_rvar(true), loc(at) {}
  VarOrRVar(const RDom &r, SrcLoc at = SrcLoc::here()) : VarOrRVar(RVar(r), at) {}
  VarOrRVar(const std::string &name, bool r, SrcLoc at = SrcLoc::here())
      : text(name), is_rvar(r), loc(at) {}
  const std::string &name() const { return text; }
};

}  // namespace calotype
