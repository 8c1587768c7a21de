// Softmax along rows, as textbooks write it: of each row the exponentials over their sum. The row's largest
// value is subtracted first, which cancels in the quotient and keeps the exponentials finite.
//
//   peak(y) = max over x of input(x, y)
//   power(x, y) = exp(input(x, y) - peak(y))
//   total(y) = sum over x of power(x, y)
//   output(x, y) = power(x, y) / total(y)
//
// The sum runs from left to right in float32. A row that is -infinity everywhere, or holds a NaN, gives NaN.
// Reference: check.py. Schedules: schedules/softmax.
#include "Halide.h"

using namespace Halide;

class Softmax : public Generator<Softmax> {
public:
  Input<Buffer<float, 2>> input{"input"};     // [columns, rows]
  Output<Buffer<float, 2>> output{"output"};  // the same extents

  void generate() {
    RDom r(input.dim(0).min(), input.dim(0).extent(), "r");
    peak(y) = Float(32).min();
    peak(y) = max(peak(y), input(r, y));
    power(x, y) = exp(input(x, y) - peak(y));
    total(y) = 0.0f;
    total(y) += power(r, y);
    output(x, y) = power(x, y) / total(y);

    input.set_estimates({{0, 1024}, {0, 4096}});
    output.set_estimates({{0, 1024}, {0, 4096}});
  }

private:
  Var x{"x"}, y{"y"};
  Func peak{"peak"}, power{"power"}, total{"total"};
};

HALIDE_REGISTER_GENERATOR(Softmax, softmax)
