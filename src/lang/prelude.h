// Ready-made Funcs: inline reductions, edges of images, lambda, short casts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "expr.h"
#include "func.h"
#include "rdom.h"
#include "tuple.h"

namespace calotype {

// ---- inline reductions --------------------------------------------------------------------------
// Each makes a Func of the Vars that e uses, with one update over the RDom whose RVars e uses (or the
// one given). Without an RVar: L0301. maximum and minimum start from the type's ends, argmax and
// argmin give (the RVars' values, the extremum) and keep the first of equals.

CALO_EXPORT Expr sum(const Expr &e, const std::string &name = "sum", SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr product(const Expr &e, const std::string &name = "product",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr maximum(const Expr &e, const std::string &name = "maximum",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr minimum(const Expr &e, const std::string &name = "minimum",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr saturating_sum(const Expr &e, const std::string &name = "saturating_sum",
                                SrcLoc at = SrcLoc::here());
CALO_EXPORT Tuple argmax(const Expr &e, const std::string &name = "argmax",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Tuple argmin(const Expr &e, const std::string &name = "argmin",
                         SrcLoc at = SrcLoc::here());
/// Over all of `r`, whether e uses its RVars or not.
CALO_EXPORT Expr sum(const RDom &r, const Expr &e, const std::string &name = "sum",
                     SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr product(const RDom &r, const Expr &e, const std::string &name = "product",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr maximum(const RDom &r, const Expr &e, const std::string &name = "maximum",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr minimum(const RDom &r, const Expr &e, const std::string &name = "minimum",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Expr saturating_sum(const RDom &r, const Expr &e,
                                const std::string &name = "saturating_sum",
                                SrcLoc at = SrcLoc::here());
CALO_EXPORT Tuple argmax(const RDom &r, const Expr &e, const std::string &name = "argmax",
                         SrcLoc at = SrcLoc::here());
CALO_EXPORT Tuple argmin(const RDom &r, const Expr &e, const std::string &name = "argmin",
                         SrcLoc at = SrcLoc::here());
/// The same as an update of the Func given, which directives may then schedule.
CALO_EXPORT Expr sum(const Expr &e, const Func &f);
CALO_EXPORT Expr product(const Expr &e, const Func &f);
CALO_EXPORT Expr maximum(const Expr &e, const Func &f);
CALO_EXPORT Expr minimum(const Expr &e, const Func &f);
CALO_EXPORT Expr sum(const RDom &r, const Expr &e, const Func &f);
CALO_EXPORT Expr product(const RDom &r, const Expr &e, const Func &f);
CALO_EXPORT Expr maximum(const RDom &r, const Expr &e, const Func &f);
CALO_EXPORT Expr minimum(const RDom &r, const Expr &e, const Func &f);

// ---- lambda -------------------------------------------------------------------------------------

CALO_EXPORT Func lambda(const Expr &e, SrcLoc at = SrcLoc::here());
CALO_EXPORT Func lambda(const Var &x, const Expr &e, SrcLoc at = SrcLoc::here());
CALO_EXPORT Func lambda(const Var &x, const Var &y, const Expr &e, SrcLoc at = SrcLoc::here());
CALO_EXPORT Func lambda(const Var &x, const Var &y, const Var &z, const Expr &e,
                        SrcLoc at = SrcLoc::here());
CALO_EXPORT Func lambda(const Var &x, const Var &y, const Var &z, const Var &w, const Expr &e,
                        SrcLoc at = SrcLoc::here());
CALO_EXPORT Func lambda(const Var &x, const Var &y, const Var &z, const Var &w, const Var &v,
                        const Expr &e, SrcLoc at = SrcLoc::here());

// ---- edges --------------------------------------------------------------------------------------

namespace BoundaryConditions {

/// What a condition is put on: a Func, an ImageParam, a Buffer (or a generator's input), with the
/// bounds that its own size gives.
struct CALO_EXPORT Source {
  Func func;
  Region bounds;  ///< {min, extent} per dimension; undefined Exprs: no edge there
  SrcLoc at;      ///< of the call that it is an argument of
  Source(const Func &f, SrcLoc where = SrcLoc::here());
  Source(const ImageParam &p, SrcLoc where = SrcLoc::here());
  Source(const Source &o);
  ~Source();
  template <typename T, int D>
  Source(const Buffer<T, D> &b, SrcLoc where = SrcLoc::here())
      : Source(Func(b, where), b.region(), where) {}
  template <typename T, typename = decltype(std::declval<const T &>().boundary_source())>
  Source(const T &input, SrcLoc where = SrcLoc::here()) : Source(input.boundary_source()) {
    at = where;
  }

private:
  Source(const Func &f, const Region &r, SrcLoc where);
};

// Without bounds, or with {}, the source's own. (No default arguments: each call would compile a vector; and the place of a
// call without bounds comes with its source, or {} could be a place.)

/// Outside the bounds: the value of the nearest point inside.
CALO_EXPORT Func repeat_edge(const Source &s);
CALO_EXPORT Func repeat_edge(const Source &s, const Region &bounds, SrcLoc at = SrcLoc::here());
/// Outside the bounds: `value`.
CALO_EXPORT Func constant_exterior(const Source &s, const Expr &value);
CALO_EXPORT Func constant_exterior(const Source &s, const Expr &value, const Region &bounds,
                                   SrcLoc at = SrcLoc::here());
CALO_EXPORT Func constant_exterior(const Source &s, const Tuple &value);
CALO_EXPORT Func constant_exterior(const Source &s, const Tuple &value, const Region &bounds,
                                   SrcLoc at = SrcLoc::here());
/// The image over and over.
CALO_EXPORT Func repeat_image(const Source &s);
CALO_EXPORT Func repeat_image(const Source &s, const Region &bounds, SrcLoc at = SrcLoc::here());
/// Mirrored at the edges: ... 1 0 | 0 1 2 | 2 1 ...
CALO_EXPORT Func mirror_image(const Source &s);
CALO_EXPORT Func mirror_image(const Source &s, const Region &bounds, SrcLoc at = SrcLoc::here());
/// Mirrored at the outermost points: ... 2 1 | 0 1 2 | 1 0 ...
CALO_EXPORT Func mirror_interior(const Source &s);
CALO_EXPORT Func mirror_interior(const Source &s, const Region &bounds, SrcLoc at = SrcLoc::here());

/// {min, extent} pairs of the `n` Exprs. Throws L0105 for an odd number.
CALO_EXPORT Region region_of_pairs(const Expr *e, size_t n);
// Bounds as min, extent, min, extent ... behind the other arguments.
#define CALO_EDGE(name)                                                                  \
  template <typename... Rest>                                                            \
  Func name(const Source &s, const Expr &min, const Expr &extent, const Rest &...rest) { \
    const Expr all[] = {min, extent, Expr(rest)...};                                     \
    return name(s, region_of_pairs(all, 2 + sizeof...(rest)), s.at);                     \
  }
CALO_EDGE(repeat_edge)
CALO_EDGE(repeat_image)
CALO_EDGE(mirror_image)
CALO_EDGE(mirror_interior)
#undef CALO_EDGE
template <typename Value, typename... Rest>
Func constant_exterior(const Source &s, const Value &value, const Expr &min, const Expr &extent,
                       const Rest &...rest) {
  const Expr all[] = {min, extent, Expr(rest)...};
  return constant_exterior(s, value, region_of_pairs(all, 2 + sizeof...(rest)), s.at);
}

}  // namespace BoundaryConditions

// ---- short casts --------------------------------------------------------------------------------

namespace ConciseCasts {
#define CALO_CONCISE(name, type) \
  inline Expr name(const Expr &e) { return calotype::cast(type, e); }
#define CALO_CONCISE_SAT(name, type)                                                   \
  inline Expr name##_sat(const Expr &e) { return calotype::saturating_cast(type, e); } \
  CALO_CONCISE(name, type)
CALO_CONCISE_SAT(i8, Int(8))
CALO_CONCISE_SAT(i16, Int(16))
CALO_CONCISE_SAT(i32, Int(32))
CALO_CONCISE_SAT(i64, Int(64))
CALO_CONCISE_SAT(u8, UInt(8))
CALO_CONCISE_SAT(u16, UInt(16))
CALO_CONCISE_SAT(u32, UInt(32))
CALO_CONCISE_SAT(u64, UInt(64))
CALO_CONCISE(f16, Float(16))
CALO_CONCISE(bf16, BFloat(16))
CALO_CONCISE(f32, Float(32))
CALO_CONCISE(f64, Float(64))
#undef CALO_CONCISE_SAT
#undef CALO_CONCISE
}  // namespace ConciseCasts

}  // namespace calotype
