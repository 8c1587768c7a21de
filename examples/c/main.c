/* Counts the bytes of a made-up image. */
#include "HalideRuntime.h"
#include "histogram.h"

#include <stdio.h>

static halide_buffer_t buffer(void *data, halide_type_code_t code, int bits, halide_dimension_t *dims,
                              int dimensions) {
  halide_buffer_t b = {0};
  b.host = data;
  b.type.code = code;
  b.type.bits = (uint8_t)bits;
  b.type.lanes = 1;
  b.dimensions = dimensions;
  b.dim = dims;
  return b;
}

int main(void) {
  enum { WIDTH = 100, HEIGHT = 40 };
  static uint8_t image[HEIGHT][WIDTH];
  uint32_t counts[256];
  for (int y = 0; y < HEIGHT; y++) {
    for (int x = 0; x < WIDTH; x++) image[y][x] = (uint8_t)(x / 10);
  }
  halide_dimension_t image_dims[2] = {{0, WIDTH, 1, 0}, {0, HEIGHT, WIDTH, 0}};
  halide_dimension_t count_dims[1] = {{0, 256, 1, 0}};
  halide_buffer_t in = buffer(image, halide_type_uint, 8, image_dims, 2);
  halide_buffer_t out = buffer(counts, halide_type_uint, 32, count_dims, 1);
  const int code = histogram(&in, &out);
  if (code != 0) return 1;
  printf("%u %u %u\n", counts[0], counts[9], counts[10]);

  /* What can go wrong comes back as a code; the reason was printed by then. */
  out.type.bits = 64;
  printf("%d\n", histogram(&in, &out));
  return 0;
}
