// The algorithm: each pixel moves away from the mean of its four neighbours. The schedules are in schedules/.
#include "Halide.h"

class Sharpen : public Halide::Generator<Sharpen> {
public:
  GeneratorParam<float> strength{"strength", 1.0f};
  Input<Buffer<uint8_t, 2>> input{"input"};
  Output<Buffer<uint8_t, 2>> output{"output"};

  void generate() {
    Var x("x"), y("y");
    Func edge = Halide::BoundaryConditions::repeat_edge(input);
    Func value("value");
    value(x, y) = Halide::cast<float>(edge(x, y));
    Func mean("mean");
    mean(x, y) = (value(x - 1, y) + value(x + 1, y) + value(x, y - 1) + value(x, y + 1)) * 0.25f;
    const Halide::Expr sharp = value(x, y) + float(strength) * (value(x, y) - mean(x, y));
    output(x, y) = Halide::cast<uint8_t>(Halide::clamp(sharp, 0.0f, 255.0f));
  }
};

HALIDE_REGISTER_GENERATOR(Sharpen, sharpen)
