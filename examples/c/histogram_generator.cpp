// How often each byte occurs in an image.
#include "Halide.h"

class Histogram : public Halide::Generator<Histogram> {
public:
  Input<Buffer<uint8_t, 2>> input{"input"};
  Output<Buffer<uint32_t, 1>> output{"output"};

  void generate() {
    Var i("i");
    Halide::RDom r(input);
    output(i) = Halide::cast<uint32_t>(0);
    output(Halide::cast<int>(input(r.x, r.y))) += Halide::cast<uint32_t>(1);
  }
};

HALIDE_REGISTER_GENERATOR(Histogram, histogram)
