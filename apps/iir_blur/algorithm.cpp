// A wide blur at a cost that does not depend on its width: along each axis a recursive filter runs forth
// and back, each value moving the running mean a fraction `alpha` towards itself.
//
//   forth:  f(0) = v(0),   f(i) = f(i-1) + alpha (v(i) - f(i-1))
//   back:   b(n-1) = f(n-1),   b(i) = b(i+1) + alpha (f(i) - b(i+1))
//
// First along y, then along x; the second time on the transposed picture, so that neighbouring columns
// are neighbours in memory in both scans. 0 < alpha <= 1; 1 leaves the picture as it is.
// Reference: check.py. Schedules: schedules/iir_blur.
#include "Halide.h"

using namespace Halide;

class IirBlur : public Generator<IirBlur> {
public:
  Input<Buffer<float, 3>> input{"input"};  // [width, height, channels]
  Input<float> alpha{"alpha", 0.1f};
  Output<Buffer<float, 3>> output{"output"};  // the same extents

  void generate() {
    const Expr left = input.dim(0).min(), top = input.dim(1).min();
    source(x, y, c) = input(x, y, c);
    scan(down, source, top, input.height());
    turned(x, y, c) = down(y, x, c);
    scan(across, turned, left, input.width());
    output(x, y, c) = across(y, x, c);

    alpha.set_estimate(0.1f);
    input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    output.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
  }

private:
  Var x{"x"}, y{"y"}, c{"c"};
  Func source{"source"}, down{"down"}, turned{"turned"}, across{"across"};

  /// blurred: `of` filtered along its second dimension, which has `size` elements from `first` on.
  void scan(Func blurred, Func of, const Expr &first, const Expr &size) {
    const Expr last = first + size - 1;
    RDom forth(1, size - 1, "forth"), back(1, size - 1, "back");
    const auto towards = [&](const Expr &mean, const Expr &value) {
      return mean + alpha * (value - mean);
    };
    blurred(x, y, c) = undef<float>();
    blurred(x, first, c) = of(x, first, c);
    blurred(x, first + forth, c) =
        towards(blurred(x, first + forth - 1, c), of(x, first + forth, c));
    blurred(x, last - back, c) =
        towards(blurred(x, last - back + 1, c), blurred(x, last - back, c));
  }
};

HALIDE_REGISTER_GENERATOR(IirBlur, iir_blur)
