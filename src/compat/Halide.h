// The same language under the names that Halide programs use: namespace Halide, HALIDE_ macros.
//
// Compatibility is of interface and meaning; the implementation is calotype's. Names of what is not
// available yet compile and are refused by name when used (L0901, S0901).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../calotype.h"
#include "../ir/definition.h"  // what Func::function() gives

namespace Halide {

using namespace calotype;

using Parameter = calotype::ir::Parameter;
namespace Internal {
using calotype::ir::Parameter;
using Dimension = calotype::lang::Dimension;
}  // namespace Internal

}  // namespace Halide

#define HALIDE_VERSION_MAJOR 21
#define HALIDE_WITH_EXCEPTIONS 1
#define HALIDE_EXPORT_SYMBOL CALO_EXPORT

/// Extern C functions as Exprs: refused by L0901 when called.
#define CALO_EXTERN(name)                                             \
  template <typename... Args>::calotype::Expr name(const Args &...) { \
    ::calotype::lang::refuse_extern(#name);                           \
  }
#define HalideExtern_1(rt, name, t1) CALO_EXTERN(name)
#define HalideExtern_2(rt, name, t1, t2) CALO_EXTERN(name)
#define HalideExtern_3(rt, name, t1, t2, t3) CALO_EXTERN(name)
#define HalideExtern_4(rt, name, t1, t2, t3, t4) CALO_EXTERN(name)
#define HalideExtern_5(rt, name, t1, t2, t3, t4, t5) CALO_EXTERN(name)
#define HalidePureExtern_1(rt, name, t1) CALO_EXTERN(name)
#define HalidePureExtern_2(rt, name, t1, t2) CALO_EXTERN(name)
#define HalidePureExtern_3(rt, name, t1, t2, t3) CALO_EXTERN(name)
