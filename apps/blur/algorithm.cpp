// A 3x3 box blur of 16-bit samples: the mean of three neighbours along x, then along y, each rounded
// down. Beyond the edges the border sample repeats. Sums are 32-bit, so full white stays full white.
// Reference: check.py. Schedules: schedules/blur.
#include "Halide.h"

using namespace Halide;

class Blur : public Generator<Blur> {
public:
  Input<Buffer<uint16_t, 3>> input{"input"};     // [width, height, channels]
  Output<Buffer<uint16_t, 3>> output{"output"};  // the same extents

  void generate() {
    Func edge = BoundaryConditions::repeat_edge(input);
    blur_x(x, y, c) = mean(edge(x - 1, y, c), edge(x, y, c), edge(x + 1, y, c));
    output(x, y, c) = mean(blur_x(x, y - 1, c), blur_x(x, y, c), blur_x(x, y + 1, c));

    input.set_estimates({{0, 6400}, {0, 4800}, {0, 1}});
    output.set_estimates({{0, 6400}, {0, 4800}, {0, 1}});
  }

private:
  Var x{"x"}, y{"y"}, c{"c"};
  Func blur_x{"blur_x"};

  static Expr mean(const Expr &a, const Expr &b, const Expr &d) {
    return cast<uint16_t>((cast<uint32_t>(a) + cast<uint32_t>(b) + cast<uint32_t>(d)) / 3);
  }
};

HALIDE_REGISTER_GENERATOR(Blur, blur)
