// Smooths a grey picture without smearing its edges: pixels are gathered into a coarse grid over place and
// brightness, the grid is blurred, and each pixel reads its new value where it lies in the grid.
//
//   grid cell (x, y, z): sum and number of the pixels in the `cell` x `cell` square around (x, y) * cell
//     whose value / r_sigma rounds to z
//   blur: weights (1 4 6 4 1) / 16 along z, x and y, of sums and numbers alike
//   output: sum / number, both interpolated linearly between the eight cells around (x, y, value)
//
// Values are in 0..1; others are treated as the nearest of these. Beyond the edges the border pixel repeats.
// Reference: check.py. Schedules: schedules/bilateral_grid.
#include "Halide.h"

using namespace Halide;

class BilateralGrid : public Generator<BilateralGrid> {
public:
  GeneratorParam<int> cell{"cell", 8, 2, 64};  // pixels; even
  Input<Buffer<float, 2>> input{"input"};      // [width, height]
  Input<float> r_sigma{"r_sigma", 0.1f};       // brightness of one cell
  Output<Buffer<float, 2>> output{"output"};   // the same extents

  void generate() {
    Func edge = BoundaryConditions::repeat_edge(input);
    value(x, y) = clamp(edge(x, y), 0.0f, 1.0f);

    RDom p(0, cell, 0, cell, "p");
    Expr px = x * cell + p.x - cell / 2, py = y * cell + p.y - cell / 2;
    depth(x, y) = value(x, y) * (1.0f / r_sigma);
    seen(x, y) = value(x, y);
    bin(x, y) = cast<int>(depth(x, y) + 0.5f);
    grid(x, y, z) = Tuple(0.0f, 0.0f);
    grid(x, y, bin(px, py)) += Tuple(seen(px, py), 1.0f);

    blur(blur_z, [&](int i) { return grid(x, y, z + i); });
    blur(blur_x, [&](int i) { return blur_z(x + i, y, z); });
    blur(blur_y, [&](int i) { return blur_x(x, y + i, z); });

    // Along y first: that is shared by the pixels of a row, and by all brightnesses.
    Expr yf = cast<float>(y % cell) / cell, xf = cast<float>(x % cell) / cell;
    row(x, y, z) = between(blur_y(x, y / cell, z), blur_y(x, y / cell + 1, z), yf);
    Expr zi = cast<int>(depth(x, y)), zf = depth(x, y) - zi;
    Tuple near = between(row(x / cell, y, zi), row(x / cell + 1, y, zi), xf);
    Tuple far = between(row(x / cell, y, zi + 1), row(x / cell + 1, y, zi + 1), xf);
    Tuple at = between(near, far, zf);
    output(x, y) = at[0] / at[1];

    r_sigma.set_estimate(0.1f);
    input.set_estimates({{0, 1536}, {0, 2560}});
    output.set_estimates({{0, 1536}, {0, 2560}});
  }

private:
  Var x{"x"}, y{"y"}, z{"z"};
  Func value{"value"}, depth{"depth"}, seen{"seen"}, bin{"bin"}, grid{"grid"}, row{"row"};
  Func blur_z{"blur_z"}, blur_x{"blur_x"}, blur_y{"blur_y"};

  /// Linear interpolation of sums and numbers.
  static Tuple between(const Tuple &zero, const Tuple &one, const Expr &weight) {
    return Tuple(lerp(zero[0], one[0], weight), lerp(zero[1], one[1], weight));
  }

  /// blurred(x, y, z): five neighbours `at` -2 .. 2, weighted, sum and number.
  template <typename At> void blur(Func blurred, const At &at) {
    const auto part = [&](int k) {
      return (6.0f * at(0)[k] + 4.0f * (at(-1)[k] + at(1)[k]) + (at(-2)[k] + at(2)[k])) / 16.0f;
    };
    blurred(x, y, z) = Tuple(part(0), part(1));
  }
};

HALIDE_REGISTER_GENERATOR(BilateralGrid, bilateral_grid)
