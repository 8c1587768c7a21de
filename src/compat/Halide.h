// The same language under the names that Halide programs use: namespace Halide, HALIDE_ macros.
//
// Compatibility is of interface and meaning; the implementation is calotype's. Names of what is not
// available yet compile and are refused by name when used (L0901).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>  // programs name files of compile_to and parameters by it

#include "../calotype.h"
#include "../driver/gengen.h"
#include "../ir/definition.h"  // what Func::function() gives

namespace Halide {

using namespace calotype;

using Parameter = calotype::ir::Parameter;
namespace Internal {
using calotype::ir::Parameter;
using Dimension = calotype::lang::Dimension;
using calotype::JITSharedRuntime;
using calotype::promise_clamped;
using calotype::driver::generate_filter_main;
}  // namespace Internal

}  // namespace Halide

#define HALIDE_VERSION_MAJOR 21
#define HALIDE_WITH_EXCEPTIONS 1
#define HALIDE_EXPORT_SYMBOL CALO_EXPORT

/// Expr name(Expr ...): a call of the C function `name`. HalidePureExtern: one without effects, that the compiler may
/// call once for equal arguments.
#define CALO_EXTERN_TYPE(t) ::calotype::type_of<t>()
#define CALO_EXTERN_1(pure, rt, name, t1)                                                          \
  inline ::calotype::Expr name(const ::calotype::Expr &a) {                                        \
    return ::calotype::lang::extern_call(CALO_EXTERN_TYPE(rt), #name, {CALO_EXTERN_TYPE(t1)}, {a}, \
                                         pure);                                                    \
  }
#define CALO_EXTERN_2(pure, rt, name, t1, t2)                                                     \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b) {            \
    return ::calotype::lang::extern_call(                                                         \
        CALO_EXTERN_TYPE(rt), #name, {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2)}, {a, b}, pure); \
  }
#define CALO_EXTERN_3(pure, rt, name, t1, t2, t3)                                             \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,          \
                               const ::calotype::Expr &c) {                                   \
    return ::calotype::lang::extern_call(                                                     \
        CALO_EXTERN_TYPE(rt), #name,                                                          \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3)}, {a, b, c}, pure); \
  }
#define CALO_EXTERN_4(pure, rt, name, t1, t2, t3, t4)                                             \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,              \
                               const ::calotype::Expr &c, const ::calotype::Expr &d) {            \
    return ::calotype::lang::extern_call(                                                         \
        CALO_EXTERN_TYPE(rt), #name,                                                              \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4)}, \
        {a, b, c, d}, pure);                                                                      \
  }
#define CALO_EXTERN_5(pure, rt, name, t1, t2, t3, t4, t5)                                        \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,             \
                               const ::calotype::Expr &c, const ::calotype::Expr &d,             \
                               const ::calotype::Expr &e) {                                      \
    return ::calotype::lang::extern_call(                                                        \
        CALO_EXTERN_TYPE(rt), #name,                                                             \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4), \
         CALO_EXTERN_TYPE(t5)},                                                                  \
        {a, b, c, d, e}, pure);                                                                  \
  }
#define CALO_EXTERN_6(pure, rt, name, t1, t2, t3, t4, t5, t6)                                    \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,             \
                               const ::calotype::Expr &c, const ::calotype::Expr &d,             \
                               const ::calotype::Expr &e, const ::calotype::Expr &f) {           \
    return ::calotype::lang::extern_call(                                                        \
        CALO_EXTERN_TYPE(rt), #name,                                                             \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4), \
         CALO_EXTERN_TYPE(t5), CALO_EXTERN_TYPE(t6)},                                            \
        {a, b, c, d, e, f}, pure);                                                               \
  }
#define CALO_EXTERN_7(pure, rt, name, t1, t2, t3, t4, t5, t6, t7)                                \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,             \
                               const ::calotype::Expr &c, const ::calotype::Expr &d,             \
                               const ::calotype::Expr &e, const ::calotype::Expr &f,             \
                               const ::calotype::Expr &g) {                                      \
    return ::calotype::lang::extern_call(                                                        \
        CALO_EXTERN_TYPE(rt), #name,                                                             \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4), \
         CALO_EXTERN_TYPE(t5), CALO_EXTERN_TYPE(t6), CALO_EXTERN_TYPE(t7)},                      \
        {a, b, c, d, e, f, g}, pure);                                                            \
  }
#define CALO_EXTERN_8(pure, rt, name, t1, t2, t3, t4, t5, t6, t7, t8)                             \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,              \
                               const ::calotype::Expr &c, const ::calotype::Expr &d,              \
                               const ::calotype::Expr &e, const ::calotype::Expr &f,              \
                               const ::calotype::Expr &g, const ::calotype::Expr &h) {            \
    return ::calotype::lang::extern_call(                                                         \
        CALO_EXTERN_TYPE(rt), #name,                                                              \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4),  \
         CALO_EXTERN_TYPE(t5), CALO_EXTERN_TYPE(t6), CALO_EXTERN_TYPE(t7), CALO_EXTERN_TYPE(t8)}, \
        {a, b, c, d, e, f, g, h}, pure);                                                          \
  }
#define CALO_EXTERN_9(pure, rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9)                        \
  inline ::calotype::Expr name(                                                                  \
      const ::calotype::Expr &a, const ::calotype::Expr &b, const ::calotype::Expr &c,           \
      const ::calotype::Expr &d, const ::calotype::Expr &e, const ::calotype::Expr &f,           \
      const ::calotype::Expr &g, const ::calotype::Expr &h, const ::calotype::Expr &i) {         \
    return ::calotype::lang::extern_call(                                                        \
        CALO_EXTERN_TYPE(rt), #name,                                                             \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4), \
         CALO_EXTERN_TYPE(t5), CALO_EXTERN_TYPE(t6), CALO_EXTERN_TYPE(t7), CALO_EXTERN_TYPE(t8), \
         CALO_EXTERN_TYPE(t9)},                                                                  \
        {a, b, c, d, e, f, g, h, i}, pure);                                                      \
  }
#define CALO_EXTERN_10(pure, rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10)                  \
  inline ::calotype::Expr name(const ::calotype::Expr &a, const ::calotype::Expr &b,             \
                               const ::calotype::Expr &c, const ::calotype::Expr &d,             \
                               const ::calotype::Expr &e, const ::calotype::Expr &f,             \
                               const ::calotype::Expr &g, const ::calotype::Expr &h,             \
                               const ::calotype::Expr &i, const ::calotype::Expr &j) {           \
    return ::calotype::lang::extern_call(                                                        \
        CALO_EXTERN_TYPE(rt), #name,                                                             \
        {CALO_EXTERN_TYPE(t1), CALO_EXTERN_TYPE(t2), CALO_EXTERN_TYPE(t3), CALO_EXTERN_TYPE(t4), \
         CALO_EXTERN_TYPE(t5), CALO_EXTERN_TYPE(t6), CALO_EXTERN_TYPE(t7), CALO_EXTERN_TYPE(t8), \
         CALO_EXTERN_TYPE(t9), CALO_EXTERN_TYPE(t10)},                                           \
        {a, b, c, d, e, f, g, h, i, j}, pure);                                                   \
  }
#define HalideExtern_1(rt, name, t1) CALO_EXTERN_1(false, rt, name, t1)
#define HalidePureExtern_1(rt, name, t1) CALO_EXTERN_1(true, rt, name, t1)
#define HalideExtern_2(rt, name, t1, t2) CALO_EXTERN_2(false, rt, name, t1, t2)
#define HalidePureExtern_2(rt, name, t1, t2) CALO_EXTERN_2(true, rt, name, t1, t2)
#define HalideExtern_3(rt, name, t1, t2, t3) CALO_EXTERN_3(false, rt, name, t1, t2, t3)
#define HalidePureExtern_3(rt, name, t1, t2, t3) CALO_EXTERN_3(true, rt, name, t1, t2, t3)
#define HalideExtern_4(rt, name, t1, t2, t3, t4) CALO_EXTERN_4(false, rt, name, t1, t2, t3, t4)
#define HalidePureExtern_4(rt, name, t1, t2, t3, t4) CALO_EXTERN_4(true, rt, name, t1, t2, t3, t4)
#define HalideExtern_5(rt, name, t1, t2, t3, t4, t5) \
  CALO_EXTERN_5(false, rt, name, t1, t2, t3, t4, t5)
#define HalidePureExtern_5(rt, name, t1, t2, t3, t4, t5) \
  CALO_EXTERN_5(true, rt, name, t1, t2, t3, t4, t5)
#define HalideExtern_6(rt, name, t1, t2, t3, t4, t5, t6) \
  CALO_EXTERN_6(false, rt, name, t1, t2, t3, t4, t5, t6)
#define HalidePureExtern_6(rt, name, t1, t2, t3, t4, t5, t6) \
  CALO_EXTERN_6(true, rt, name, t1, t2, t3, t4, t5, t6)
#define HalideExtern_7(rt, name, t1, t2, t3, t4, t5, t6, t7) \
  CALO_EXTERN_7(false, rt, name, t1, t2, t3, t4, t5, t6, t7)
#define HalidePureExtern_7(rt, name, t1, t2, t3, t4, t5, t6, t7) \
  CALO_EXTERN_7(true, rt, name, t1, t2, t3, t4, t5, t6, t7)
#define HalideExtern_8(rt, name, t1, t2, t3, t4, t5, t6, t7, t8) \
  CALO_EXTERN_8(false, rt, name, t1, t2, t3, t4, t5, t6, t7, t8)
#define HalidePureExtern_8(rt, name, t1, t2, t3, t4, t5, t6, t7, t8) \
  CALO_EXTERN_8(true, rt, name, t1, t2, t3, t4, t5, t6, t7, t8)
#define HalideExtern_9(rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9) \
  CALO_EXTERN_9(false, rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9)
#define HalidePureExtern_9(rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9) \
  CALO_EXTERN_9(true, rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9)
#define HalideExtern_10(rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10) \
  CALO_EXTERN_10(false, rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10)
#define HalidePureExtern_10(rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10) \
  CALO_EXTERN_10(true, rt, name, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10)
