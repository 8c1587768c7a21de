// IR to text. The text parses back to an equal program (parse.h).
//
// Expressions look like C. A type stands where it does not follow from the context, behind a colon:
//   3  3:u8  -5:i16  true  1.5 (f64)  1.5f  inf:f32  "text"       constants; int32 where nothing is said
//   x  w:f32  @gain:f32  output.min.0@output                      variables; @: a parameter, here of its own name
//   u16(x)  reinterpret(f32, x)  x8(e)  ramp(base, stride, 8)     casts; broadcast to 8 lanes; vectors
//   a + b * c  a == b && !c  min(a, b)  select(c, a, b)  abs(x)   operations and intrinsics
//   f(x, y)  f(x, y).1:u16  @input(x, y):u16  extern g(x):f32     values of Funcs (Tuple elements), images, C functions
//   f[i]  f[i if p]:u16  @input[i]:u8                             loads, with a predicate
//   (let t = a in t + t)   shuffle([0, 2], a, b)   reduce_add(v, 4)
// Statements, one a line; `a +: n` is the n values from a; let, allocate and realize hold to the end of their block:
//   let t = e      for y in 0 +: n { }      parallel y in ...      f(x, y) = v if p      f[i] = v      assert c, e
//   produce f { }      if c { } else { }      realize f:u16 [0 +: n] in heap if c      allocate f:u16 [n]
// Names that are no plain identifiers stand in backquotes. `;` and `#` start comments.
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
CALO_EXPORT std::string to_string(
    const Program &p);  ///< `program name { param ...; func ...; output ...; }`
/// The start of the text, at most about `longest` characters, then "...": for messages. Cheap even where an Expr that
/// shares its parts has an enormous text.
CALO_EXPORT std::string to_short_string(const Expr &e, size_t longest = 120);
CALO_EXPORT std::string to_short_string(const Stmt &s, size_t longest = 120);  ///< its first line
CALO_EXPORT std::ostream &operator<<(std::ostream &o, const Stmt &s);
}  // namespace ir
}  // namespace calotype
