// Sharpens a made-up picture and prints a row of it.
#include "HalideBuffer.h"
#include "sharpen.h"

#include <cstdio>

int main() {
  Halide::Runtime::Buffer<uint8_t, 2> in(64, 48), out(64, 48);
  in.for_each_element([&](int x, int y) { in(x, y) = x / 8 % 2 == y / 8 % 2 ? 60 : 180; });
  if (const int code = sharpen(in, out)) {
    std::printf("failed with code %d\n", code);
    return 1;
  }
  for (int x = 0; x < 12; x++) std::printf("%d ", out(x, 20));
  std::printf("\n");
  return 0;
}
