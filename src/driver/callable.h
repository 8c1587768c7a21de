// Callable: a compiled pipeline as a C++ function of its inputs, in the order asked for, then its outputs.
// Tests: test/pipelines/callable_test.cpp.
#pragma once

#include <cstring>
#include <memory>
#include <type_traits>

#include "../lang/float16.h"
#include "pipeline.h"

namespace calotype {

class CALO_EXPORT Callable {
public:
  Callable() = default;
  bool defined() const { return state_ != nullptr; }

  /// callable(inputs..., outputs...), perhaps with a JITUserContext * first. Buffers as halide_buffer_t *, Buffer or
  /// Runtime::Buffer; scalars of exactly their parameter's type. Throws L0105 (number), L0102 (type) and what a run throws;
  /// with a custom error handler it returns the error's code instead. 0: done.
  template <typename... Args> int operator()(const Args &...args) const {
    const Arg all[] = {Arg(), make_arg(args)...};  // never empty
    return call(all + 1, sizeof...(args));
  }
  /// The same as a function object, which a std::function<int(Args...)> holds. Types are checked here, against a first
  /// call's.
  template <typename... Args> auto make_std_function() const {
    const Callable self = *this;
    const Arg types[] = {Arg(), type_arg<typename std::decay<Args>::type>()...};
    check(types + 1, sizeof...(Args));
    return [self](Args... args) -> int { return self(args...); };
  }

private:
  friend class Func;
  friend class Pipeline;
  struct Arg {
    enum Kind { Context, BufferArg, Scalar } kind = Scalar;
    const void *pointer = nullptr;  ///< a buffer or context
    uint64_t bits = 0;
    Type type;  ///< of a scalar
  };
  struct State;

  static Arg make_arg(JITUserContext *c) { return {Arg::Context, c, 0, Type()}; }
  static Arg make_arg(halide_buffer_t *b) { return {Arg::BufferArg, b, 0, Type()}; }
  static Arg make_arg(const halide_buffer_t *b) { return {Arg::BufferArg, b, 0, Type()}; }
  template <typename T, int D> static Arg make_arg(const Buffer<T, D> &b) {
    return {Arg::BufferArg, b.raw_buffer(), 0, Type()};
  }
  template <typename T, int D, int S>
  static Arg make_arg(const Halide::Runtime::Buffer<T, D, S> &b) {
    return {Arg::BufferArg, b.raw_buffer(), 0, Type()};
  }
  template <typename T, typename std::enable_if<std::is_arithmetic<T>::value ||
                                                    std::is_same<T, float16_t>::value ||
                                                    std::is_same<T, bfloat16_t>::value,
                                                int>::type = 0>
  static Arg make_arg(T v) {
    Arg a{Arg::Scalar, nullptr, 0, type_of<T>()};
    std::memcpy(&a.bits, &v, sizeof v);
    return a;
  }
  template <typename T> static Arg type_arg() {
    Arg a;
    if constexpr (std::is_same<T, JITUserContext *>::value) {
      a.kind = Arg::Context;
    } else if constexpr (std::is_arithmetic<T>::value || std::is_same<T, float16_t>::value ||
                         std::is_same<T, bfloat16_t>::value) {
      a.type = type_of<T>();
    } else {
      a.kind = Arg::BufferArg;
    }
    return a;
  }

  int call(const Arg *args, size_t n) const;
  size_t check(const Arg *args, size_t n) const;
  std::shared_ptr<const State> state_;
};

/// Refused by L0901.
template <typename... Args> Callable create_callable_from_generator(const Args &...) {
  lang::refuse_name("create_callable_from_generator");
}

}  // namespace calotype
