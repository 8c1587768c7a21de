// Layer normalisation of each row, as textbooks write it: less its mean, over the root of its variance, scaled and shifted
// by column.
//
//   total(y) = sum over x of input(x, y),  mean(y) = total(y) / columns
//   squares(y) = sum over x of (input(x, y) - mean(y))^2,  variance(y) = squares(y) / columns
//   output(x, y) = (input(x, y) - mean(y)) / sqrt(variance(y) + epsilon) scale(x) + shift(x)
//
// Sums run from left to right in float32. Reference: check.py. Schedules: schedules/layernorm.
#include "Halide.h"

using namespace Halide;

class LayerNorm : public Generator<LayerNorm> {
public:
  Input<Buffer<float, 2>> input{"input"};                  // [columns, rows]
  Input<Buffer<float, 1>> scale{"scale"}, shift{"shift"};  // [columns]
  Input<float> epsilon{"epsilon", 1e-5f};
  Output<Buffer<float, 2>> output{"output"};  // [columns, rows]

  void generate() {
    const Expr columns = input.dim(0).extent();
    RDom r(0, columns, "r");
    total(y) = 0.0f;
    total(y) += input(r, y);
    mean(y) = total(y) / cast<float>(columns);
    squares(y) = 0.0f;
    squares(y) += (input(r, y) - mean(y)) * (input(r, y) - mean(y));
    root(y) = sqrt(squares(y) / cast<float>(columns) + epsilon);
    output(x, y) = (input(x, y) - mean(y)) / root(y) * scale(x) + shift(x);

    epsilon.set_estimate(1e-5f);
    input.set_estimates({{0, 1024}, {0, 4096}});
    scale.set_estimates({{0, 1024}});
    shift.set_estimates({{0, 1024}});
    output.set_estimates({{0, 1024}, {0, 4096}});
  }

private:
  Var x{"x"}, y{"y"};
  Func total{"total"}, mean{"mean"}, squares{"squares"}, root{"root"};
};

HALIDE_REGISTER_GENERATOR(LayerNorm, layernorm)
