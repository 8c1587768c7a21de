// Brings out (or softens) the detail of a 16-bit colour picture at every scale, and leaves edges alone.
//
// The brightness is remapped once for each of `levels` reference values: differences from the reference are
// scaled by beta, small ones by alpha more. Each remapped picture is cut into bands by a pyramid; in each
// band a pixel takes the band of those two references that its own brightness lies between. The bands add
// up to the new brightness, and each pixel's colours are scaled by what happened to its brightness.
//
//   grey = (0.299 r + 0.587 g + 0.114 b) / 65535         at(j): the brightness in steps between references
//   remapped(k) = k' + beta d + alpha d / (1 + t^2)^2    k' = k / (levels-1), d = grey - k', t = d (levels-1)
//   smaller: weights (1 3 3 1) / 8 along x and y, every second pixel
//   larger: linear between pixels, whose centres lie a quarter apart
//   bands: picture - larger(smaller(picture)); the last is the smallest picture itself
//   output = input (new grey + 1/64) / (grey + 1/64), kept within 0..65535
//
// alpha = 0, beta = 1 leaves the picture as it is. Beyond the edges the border pixel repeats.
// Reference: check.py. Schedules: schedules/local_laplacian.
#include "Halide.h"

#include <string>
#include <vector>

using namespace Halide;

class LocalLaplacian : public Generator<LocalLaplacian> {
public:
  GeneratorParam<int> pyramid_levels{"pyramid_levels", 8, 1, 16};
  Input<Buffer<uint16_t, 3>> input{"input"};  // [width, height, 3]
  Input<int> levels{"levels", 8};             // reference values; at least 2
  Input<float> alpha{"alpha", 1.0f};          // small differences: 0 keeps them, -1 takes them away
  Input<float> beta{"beta", 1.0f};            // all differences: below 1 evens out the brightness
  Output<Buffer<uint16_t, 3>> output{"output"};  // the same extents

  void generate() {
    const int last = pyramid_levels - 1;
    Func edge = BoundaryConditions::repeat_edge(input);
    Expr red = cast<float>(edge(x, y, 0)), green = cast<float>(edge(x, y, 1));
    Expr blue = cast<float>(edge(x, y, 2));
    std::vector<Func> grey = named("grey"), remapped = named("remapped"), band = named("band");
    std::vector<Func> result = named("result");
    grey[0](x, y) = (0.299f * red + 0.587f * green + 0.114f * blue) / 65535.0f;

    Expr steps = cast<float>(levels - 1);
    Expr reference = k / steps, d = grey[0](x, y) - reference, t = d * steps, fall = 1.0f + t * t;
    remapped[0](x, y, k) = reference + beta * d + alpha * d / (fall * fall);

    for (int j = 1; j <= last; j++) {
      const std::string number = std::to_string(j);
      smaller(grey[j], grey[j - 1], "grey_across_" + number);
      smaller(remapped[j], remapped[j - 1], "remapped_across_" + number, k);
    }
    for (int j = last; j >= 0; j--) {
      const std::string number = std::to_string(j);
      Expr at = grey[j](x, y) * steps, below = clamp(cast<int>(at), 0, levels - 2);
      Expr part = clamp(at - below, 0.0f, 1.0f);
      if (j == last) {
        band[j](x, y) = lerp(remapped[j](x, y, below), remapped[j](x, y, below + 1), part);
        result[j](x, y) = band[j](x, y);
        continue;
      }
      Func large = larger(remapped[j + 1], "remapped", number, k);
      const auto difference = [&](const Expr &of) {
        return remapped[j](x, y, of) - large(x, y, of);
      };
      band[j](x, y) = lerp(difference(below), difference(below + 1), part);
      result[j](x, y) = band[j](x, y) + larger(result[j + 1], "result", number)(x, y);
    }

    const float least = 1.0f / 64;
    gain(x, y) = (result[0](x, y) + least) / (grey[0](x, y) + least);
    output(x, y, c) = cast<uint16_t>(clamp(input(x, y, c) * gain(x, y) + 0.5f, 0.0f, 65535.0f));

    levels.set_estimate(8);
    alpha.set_estimate(1.0f);
    beta.set_estimate(1.0f);
    input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    output.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
  }

private:
  Var x{"x"}, y{"y"}, c{"c"}, k{"k"};
  Func gain{"gain"};

  /// A Func for each level of a pyramid: name, name_1, name_2 ...
  std::vector<Func> named(const std::string &name) {
    std::vector<Func> all;
    for (int j = 0; j < pyramid_levels; j++) {
      all.push_back(Func(j == 0 ? name : name + "_" + std::to_string(j)));
    }
    return all;
  }

  /// half: `full` at every second pixel of both axes; `across` is the step in between.
  template <typename... More>
  void smaller(Func half, Func full, const std::string &across_name, const More &...more) {
    Func across(across_name);
    across(x, y, more...) = taps(full(2 * x - 1, y, more...), full(2 * x, y, more...),
                                 full(2 * x + 1, y, more...), full(2 * x + 2, y, more...));
    half(x, y, more...) = taps(across(x, 2 * y - 1, more...), across(x, 2 * y, more...),
                               across(x, 2 * y + 1, more...), across(x, 2 * y + 2, more...));
  }
  static Expr taps(const Expr &a, const Expr &b, const Expr &d, const Expr &e) {
    return ((b + d) * 3.0f + (a + e)) / 8.0f;
  }

  /// `half` at twice its size. The pixel at i / 2 is nearest, (i - 1) / 2 or (i + 1) / 2 is that one too, and
  /// the other of these lies on the far side: three quarters of the near one, a quarter of the far one.
  template <typename... More>
  Func larger(Func half, const std::string &name, const std::string &number, const More &...more) {
    Func wide(name + "_wide_" + number), large(name + "_large_" + number);
    wide(x, y, more...) = between(half((x - 1) / 2, y, more...), half(x / 2, y, more...),
                                  half((x + 1) / 2, y, more...));
    large(x, y, more...) = between(wide(x, (y - 1) / 2, more...), wide(x, y / 2, more...),
                                   wide(x, (y + 1) / 2, more...));
    return large;
  }
  static Expr between(const Expr &a, const Expr &b, const Expr &d) {
    return ((a + d) + 2.0f * b) / 4.0f;
  }
};

HALIDE_REGISTER_GENERATOR(LocalLaplacian, local_laplacian)
