// Histogram equalisation of an 8-bit colour picture: brightness is spread so that each level is used by
// about as many pixels; a pixel's three samples move by what its brightness moves, so that hues stay.
//
//   luma  = (77 r + 150 g + 29 b + 128) / 256            count(v): pixels whose luma is v
//   level(v) = 255 (pixels darker than v + half of those at v) / all pixels, rounded to nearest
//   output = input + level(luma) - luma, kept within 0..255
//
// Half of a level's own pixels count, so that a picture of one colour becomes medium grey.
// Reference: check.py. Schedules: schedules/histogram.
#include "Halide.h"

using namespace Halide;

class Histogram : public Generator<Histogram> {
public:
  Input<Buffer<uint8_t, 3>> input{"input"};     // [width, height, 3]
  Output<Buffer<uint8_t, 3>> output{"output"};  // any part of it

  void generate() {
    Expr r = cast<uint16_t>(input(x, y, 0)), g = cast<uint16_t>(input(x, y, 1));
    Expr b = cast<uint16_t>(input(x, y, 2));
    luma(x, y) = cast<uint8_t>((77 * r + 150 * g + 29 * b + 128) / 256);

    RDom pixel({{input.dim(0).min(), input.width()}, {input.dim(1).min(), input.height()}},
               "pixel");
    count(v) = cast<uint32_t>(0);
    count(luma(pixel.x, pixel.y)) += cast<uint32_t>(1);

    RDom step(1, 255, "step");
    darker(v) = cast<uint32_t>(0);
    darker(step) = darker(step - 1) + count(step - 1);

    Expr all = cast<uint64_t>(input.width()) * cast<uint64_t>(input.height());
    Expr twice = cast<uint64_t>(darker(v)) * 2 + count(v);
    shift(v) = cast<int16_t>((255 * twice + all) / (2 * all)) - cast<int16_t>(v);

    move(x, y) = shift(cast<int32_t>(luma(x, y)));
    output(x, y, c) = saturating_cast<uint8_t>(cast<int16_t>(input(x, y, c)) + move(x, y));

    input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    output.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
  }

private:
  Var x{"x"}, y{"y"}, c{"c"}, v{"v"};
  Func luma{"luma"}, count{"count"}, darker{"darker"}, shift{"shift"}, move{"move"};
};

HALIDE_REGISTER_GENERATOR(Histogram, histogram)
