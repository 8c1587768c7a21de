// Unsharp masking of a colour picture: luma is sharpened by its difference from a gaussian of itself,
// and each pixel's colours are scaled by what happened to its luma, so that hues stay.
//
//   luma    = 0.299 r + 0.587 g + 0.114 b               smooth = gaussian (7 taps, sigma 1.5), y then x
//   sharp   = 2 luma - smooth                           output = input * sharp / max(luma, 1/1024)
//
// Values are in 0..1 and may leave it (files clamp). Beyond the edges the border pixel repeats.
// Reference: check.py. Schedules: schedules/unsharp.
#include "Halide.h"

#include <cmath>

using namespace Halide;

class Unsharp : public Generator<Unsharp> {
public:
  Input<Buffer<float, 3>> input{"input"};     // [width, height, 3]
  Output<Buffer<float, 3>> output{"output"};  // the same extents

  void generate() {
    Func edge = BoundaryConditions::repeat_edge(input);
    luma(x, y) = 0.299f * edge(x, y, 0) + 0.587f * edge(x, y, 1) + 0.114f * edge(x, y, 2);
    gauss_y(x, y) = weighted(luma(x, y), luma(x, y - 1) + luma(x, y + 1),
                             luma(x, y - 2) + luma(x, y + 2), luma(x, y - 3) + luma(x, y + 3));
    gauss_x(x, y) =
        weighted(gauss_y(x, y), gauss_y(x - 1, y) + gauss_y(x + 1, y),
                 gauss_y(x - 2, y) + gauss_y(x + 2, y), gauss_y(x - 3, y) + gauss_y(x + 3, y));
    sharp(x, y) = 2.0f * luma(x, y) - gauss_x(x, y);
    gain(x, y) = sharp(x, y) / max(luma(x, y), 1.0f / 1024.0f);
    output(x, y, c) = gain(x, y) * input(x, y, c);

    input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    output.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
  }

private:
  Var x{"x"}, y{"y"}, c{"c"};
  Func luma{"luma"}, gauss_y{"gauss_y"}, gauss_x{"gauss_x"}, sharp{"sharp"}, gain{"gain"};

  /// The gaussian of one axis: the centre and the sums of the pairs at distance 1, 2 and 3.
  static Expr weighted(const Expr &centre, const Expr &one, const Expr &two, const Expr &three) {
    const double sigma = 1.5;
    double weight[4], total = 0;
    for (int i = 0; i < 4; i++) {
      weight[i] = std::exp(-i * i / (2 * sigma * sigma));
      total += i == 0 ? weight[i] : 2 * weight[i];
    }
    const auto w = [&](int i) { return static_cast<float>(weight[i] / total); };
    return w(0) * centre + w(1) * one + w(2) * two + w(3) * three;
  }
};

HALIDE_REGISTER_GENERATOR(Unsharp, unsharp)
