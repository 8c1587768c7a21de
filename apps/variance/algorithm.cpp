// The variance of each row, as textbooks write it: the mean of the squared distances from the mean.
//
//   total(y) = sum over x of input(x, y),  mean(y) = total(y) / columns
//   squares(y) = sum over x of (input(x, y) - mean(y))^2
//   output(y) = squares(y) / columns
//
// Sums run from left to right in float32. Reference: check.py. Schedules: schedules/variance.
#include "Halide.h"

using namespace Halide;

class Variance : public Generator<Variance> {
public:
  Input<Buffer<float, 2>> input{"input"};     // [columns, rows]
  Output<Buffer<float, 1>> output{"output"};  // [rows]

  void generate() {
    const Expr columns = input.dim(0).extent();
    RDom r(0, columns, "r");
    total(y) = 0.0f;
    total(y) += input(r, y);
    mean(y) = total(y) / cast<float>(columns);
    squares(y) = 0.0f;
    squares(y) += (input(r, y) - mean(y)) * (input(r, y) - mean(y));
    output(y) = squares(y) / cast<float>(columns);

    input.set_estimates({{0, 1024}, {0, 4096}});
    output.set_estimates({{0, 4096}});
  }

private:
  Var y{"y"};
  Func total{"total"}, mean{"mean"}, squares{"squares"};
};

HALIDE_REGISTER_GENERATOR(Variance, variance)
