// C functions in pipelines: extern stages (Func::define_extern), extern scalar functions (the HalideExtern macros) and what
// the JIT finds their names by. Tests: test/unit/driver/extern_test.cpp.
//
// An extern stage is one call of `int f(halide_buffer_t *in..., scalars..., halide_buffer_t *out...)` that computes a region.
// Buffers whose host and device are null ask it what region of its inputs it needs for the outputs' bounds: it sets min
// and extent of their dimensions and computes nothing. It returns 0 or an error code, which the pipeline then fails with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "func.h"

namespace calotype {

/// An argument of an extern stage: a Func, an ImageParam or a Buffer (one halide_buffer_t * for each of its values), or a
/// scalar Expr over parameters.
class CALO_EXPORT ExternFuncArgument {
public:
  ExternFuncArgument() = default;
  ExternFuncArgument(const Func &f, SrcLoc at = SrcLoc::here());
  ExternFuncArgument(const ImageParam &p, SrcLoc at = SrcLoc::here());
  ExternFuncArgument(const Expr &e, SrcLoc at = SrcLoc::here());
  ExternFuncArgument(int e, SrcLoc at = SrcLoc::here()) : ExternFuncArgument(Expr(e), at) {}
  ExternFuncArgument(float e, SrcLoc at = SrcLoc::here()) : ExternFuncArgument(Expr(e), at) {}
  ExternFuncArgument(double e, SrcLoc at = SrcLoc::here()) : ExternFuncArgument(Expr(e), at) {}
  template <typename T>
  ExternFuncArgument(const Param<T> &p, SrcLoc at = SrcLoc::here())
      : ExternFuncArgument(Expr(p), at) {}
  template <typename T, int D>
  ExternFuncArgument(const Buffer<T, D> &b, SrcLoc at = SrcLoc::here())
      : exprs_{b(std::vector<Expr>(static_cast<size_t>(b.dimensions()), Expr(0)), at)} {}

  bool defined() const { return !exprs_.empty(); }
  const std::vector<Expr> &exprs() const { return exprs_; }

private:
  std::vector<Expr> exprs_;  ///< calls at 0 for buffers
};

/// A C function's address, whatever its type.
struct ExternCFunction {
  void *address = nullptr;
  ExternCFunction() = default;
  template <typename R, typename... Args>
  ExternCFunction(R (*f)(Args...)) : address(reinterpret_cast<void *>(f)) {}
};

/// What a name stands for in code that runs in this process. Without one, the process's exported symbols are searched.
class CALO_EXPORT JITExtern {
public:
  JITExtern(const ExternCFunction &f) : address_(f.address) {}
  template <typename R, typename... Args>
  JITExtern(R (*f)(Args...)) : address_(reinterpret_cast<void *>(f)) {}
  /// Another pipeline as an extern stage: refused by L0901.
  JITExtern(const Pipeline &p);
  JITExtern(const Func &f);
  void *address() const { return address_; }

private:
  void *address_ = nullptr;
};

/// The user context that the running pipeline was given: for passing to C functions.
CALO_EXPORT Expr user_context_value();

}  // namespace calotype
