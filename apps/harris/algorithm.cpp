// Harris corner response of a colour picture: large where the brightness changes in two directions.
//
//   grey = 0.299 r + 0.587 g + 0.114 b
//   dx, dy = Sobel's sums of differences of grey (eight times the gradient)
//   xx, xy, yy = dx dx, dx dy, dy dy summed over 3 x 3 pixels
//   output = (xx yy - xy xy) - 0.04 (xx + yy)^2
//
// Values are in 0..1; the response of a sharp corner is above 1, that of an edge negative. Beyond the edges the border pixel repeats.
// Reference: check.py. Schedules: schedules/harris.
#include "Halide.h"

using namespace Halide;

class Harris : public Generator<Harris> {
public:
  Input<Buffer<float, 3>> input{"input"};     // [width, height, 3]
  Output<Buffer<float, 2>> output{"output"};  // [width, height]

  void generate() {
    Func edge = BoundaryConditions::repeat_edge(input);
    grey(x, y) = 0.299f * edge(x, y, 0) + 0.587f * edge(x, y, 1) + 0.114f * edge(x, y, 2);

    // Along one axis the difference of two neighbours, along the other a sum of three (1 2 1).
    const auto slope = [&](int ax, int ay) {
      const auto difference = [&](int i) {
        return grey(x + ax + i * ay, y + ay + i * ax) - grey(x - ax + i * ay, y - ay + i * ax);
      };
      return difference(-1) + 2.0f * difference(0) + difference(1);
    };
    dx(x, y) = slope(1, 0);
    dy(x, y) = slope(0, 1);

    Expr xx = around([&](int i, int j) { return dx(x + i, y + j) * dx(x + i, y + j); });
    Expr xy = around([&](int i, int j) { return dx(x + i, y + j) * dy(x + i, y + j); });
    Expr yy = around([&](int i, int j) { return dy(x + i, y + j) * dy(x + i, y + j); });
    Expr trace = xx + yy;
    output(x, y) = xx * yy - xy * xy - 0.04f * trace * trace;

    input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    output.set_estimates({{0, 1536}, {0, 2560}});
  }

private:
  Var x{"x"}, y{"y"};
  Func grey{"grey"}, dx{"dx"}, dy{"dy"};

  /// The sum over the 3 x 3 pixels around one: columns first.
  template <typename At> static Expr around(const At &at) {
    const auto column = [&](int i) { return at(i, -1) + at(i, 0) + at(i, 1); };
    return column(-1) + column(0) + column(1);
  }
};

HALIDE_REGISTER_GENERATOR(Harris, harris)
