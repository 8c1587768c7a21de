// The product of two matrices, from the definition.
//
//   output(x, y) = sum over k of a(k, y) b(x, k)
//
// As arrays (rows of columns, dimension 0 innermost) that is a @ b. The parameter `type` says what the elements are:
//   f32    float32, summed in float32 in the order of k, each product fused into the sum where the target can
//   bf16   bfloat16, exact products summed in float32 in the order of k
//   s8     int8, summed in int32: exact for up to 2^17 terms, modulo 2^32 beyond
// `left` and `right` are the elements in the type that products are made in; they cost nothing where they are
// inlined, and are where a schedule can have panels of the matrices copied.
// Reference: check.py. Schedules: schedules/gemm.
#include "Halide.h"

using namespace Halide;

class Gemm : public Generator<Gemm> {
public:
  enum class Element { F32, BF16, S8 };
  GeneratorParam<Element> type{
      "type", Element::F32, {{"f32", Element::F32}, {"bf16", Element::BF16}, {"s8", Element::S8}}};
  Input<Buffer<>> a{"a", 2};             // [terms, rows]
  Input<Buffer<>> b{"b", 2};             // [columns, terms]
  Output<Buffer<>> output{"output", 2};  // [columns, rows]

  void configure() {
    a.set_type(element());
    b.set_type(element());
    output.set_type(sum_type());
  }

  void generate() {
    RDom k(a.dim(0).min(), a.dim(0).extent(), "k");
    const Type factor = type == Element::S8 ? Int(16) : Float(32);
    left(i, y) = cast(factor, a(i, y));
    right(x, i) = cast(factor, b(x, i));
    output(x, y) = cast(sum_type(), 0);
    output(x, y) += cast(sum_type(), left(k, y)) * cast(sum_type(), right(x, k));

    a.set_estimates({{0, 2048}, {0, 2048}});
    b.set_estimates({{0, 2048}, {0, 2048}});
    output.set_estimates({{0, 2048}, {0, 2048}});
  }

private:
  Var x{"x"}, y{"y"}, i{"i"};
  Func left{"left"}, right{"right"};

  Type element() const {
    if (type == Element::S8) return Int(8);
    return type == Element::BF16 ? BFloat(16) : Float(32);
  }
  Type sum_type() const { return type == Element::S8 ? Int(32) : Float(32); }
};

HALIDE_REGISTER_GENERATOR(Gemm, gemm)
