// The first realize of a one-line pipeline in a fresh process, in ms: what a person waits for. Compiled
// once with our headers and once with Halide's.
#include "Halide.h"

#include <chrono>
#include <cstdio>

int main() {
  const auto start = std::chrono::steady_clock::now();
  Halide::Func f;
  Halide::Var x;
  f(x) = x * 2 + 1;
  Halide::Buffer<int> out = f.realize({16});
  const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
  if (out(7) != 15) return 1;
  std::printf("%.3f\n", ms.count());
  return 0;
}
