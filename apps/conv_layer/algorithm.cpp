// One layer of a convolutional network: for each of a batch of pictures with many channels, each output channel is the
// sum over a window of all input channels, weighted by a filter, plus a bias; negative sums become 0.
//
//   sum(c, x, y, n) = bias(c) + sum over i, dx, dy of filter(c, dx, dy, i) input(i, x + dx, y + dy, n)
//   output(c, x, y, n) = max(sum(c, x, y, n), 0)
//
// The input is larger than the output by the window's size less one. Products are added in the order of channels, then
// columns, then rows, each fused into the sum where the target can. `weight` is the filter in that order, for schedules
// that copy parts of it; it costs nothing where it is inlined.
// Reference: check.py. Schedules: schedules/conv_layer.
#include "Halide.h"

using namespace Halide;

class ConvLayer : public Generator<ConvLayer> {
public:
  Input<Buffer<float, 4>> input{"input"};     // [channels, width, height, pictures]
  Input<Buffer<float, 4>> filter{"filter"};   // [output channels, columns, rows, channels]
  Input<Buffer<float, 1>> bias{"bias"};       // [output channels]
  Output<Buffer<float, 4>> output{"output"};  // [output channels, width, height, pictures]

  void generate() {
    RDom r({{input.dim(0).min(), input.dim(0).extent()}, {0, 3}, {0, 3}}, "r");
    sum(c, x, y, n) = bias(c);
    weight(c, i, dx, dy) = filter(c, dx, dy, i);
    sum(c, x, y, n) += weight(c, r.x, r.y, r.z) * input(r.x, x + r.y, y + r.z, n);
    output(c, x, y, n) = max(sum(c, x, y, n), 0.0f);

    input.set_estimates({{0, 128}, {0, 102}, {0, 82}, {0, 5}});
    filter.set_estimates({{0, 128}, {0, 3}, {0, 3}, {0, 128}});
    bias.set_estimates({{0, 128}});
    output.set_estimates({{0, 128}, {0, 100}, {0, 80}, {0, 5}});
  }

private:
  Var c{"c"}, x{"x"}, y{"y"}, n{"n"}, i{"i"}, dx{"dx"}, dy{"dy"};
  Func weight{"weight"}, sum{"sum"};
};

HALIDE_REGISTER_GENERATOR(ConvLayer, conv_layer)
