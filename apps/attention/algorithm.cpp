// Scaled dot-product attention as textbooks write it. Of each query the weighted mean of the values, weighted by the softmax
// of its scores against all keys:
//
//   S(k, i) = sum over d of Q(d, i) K(d, k)
//   X(k, i) = S(k, i) / sqrt(head_dim) + B(k, i) where query i sees key k, else -infinity
//   M(i) = max over k of X(k, i)
//   P(k, i) = exp(X(k, i) - M(i))
//   L(i) = sum over k of P(k, i)
//   A(d, i) = sum over k of P(k, i) / L(i) V(d, k)
//   O(d, i) = A(d, i),  LSE(i) = M(i) + log(L(i))
//
// of each head and batch. Sums run in float32, in the order of the keys; a query that sees no key gives NaN.
// The schedules, not this file, make one pass of it: schedules/attention. Reference: check.py.
#include "Halide.h"

using namespace Halide;

class Attention : public Generator<Attention> {
public:
  GeneratorParam<Type> type{
      "type", Float(32), {{"f32", Float(32)}, {"bf16", BFloat(16)}, {"f16", Float(16)}}};
  GeneratorParam<bool> lse{"lse", false};        // another output: log of the sums of exponentials
  GeneratorParam<bool> causal{"causal", false};  // query i sees keys up to i + keys - queries
  GeneratorParam<int> window{"window", 0};       // ... and the last so many of these; 0: all
  GeneratorParam<bool> bias{"bias", false};      // another input, added to the scores
  GeneratorParam<int> kv_groups{"kv_groups", 1, 1, 1024};  // query heads that share keys and values

  Input<Buffer<void, 4>> Q{"Q"};   // [head_dim, queries, heads, batch]
  Input<Buffer<void, 4>> K{"K"};   // [head_dim, keys, heads / kv_groups, batch]
  Input<Buffer<void, 4>> V{"V"};   // the same extents
  Output<Buffer<void, 4>> O{"O"};  // [head_dim, queries, heads, batch]

  void configure() {
    for (auto *input : {&Q, &K, &V}) input->set_type(type);
    O.set_type(type);
    if (bias) B = add_input<Buffer<float, 4>>("B");      // [keys, queries, heads, batch]
    if (lse) LSE = add_output<Buffer<float, 3>>("LSE");  // [queries, heads, batch]
  }

  void generate() {
    const Expr keys = K.dim(1).extent(), position = i + keys - Q.dim(1).extent();
    const Expr scale = 1.0f / sqrt(cast<float>(Q.dim(0).extent()));
    const Expr shared = h / kv_groups;
    RDom e(0, Q.dim(0).extent(), "e"), r(0, keys, "r");

    S(k, i, h, b) = 0.0f;
    S(k, i, h, b) += cast<float>(Q(e, i, h, b)) * cast<float>(K(e, k, shared, b));
    Expr score = S(k, i, h, b) * scale;
    if (B) score += (*B)(k, i, h, b);
    Expr sees;
    if (causal) sees = k <= position;
    if (window > 0) sees = sees.defined() ? sees && position - k < window : position - k < window;
    X(k, i, h, b)
    = sees.defined() ? select(sees, score, -std::numeric_limits<float>::infinity()) : score;
    M(i, h, b) = -std::numeric_limits<float>::infinity();
    M(i, h, b) = max(M(i, h, b), X(r, i, h, b));
    P(k, i, h, b) = exp(X(k, i, h, b) - M(i, h, b));
    L(i, h, b) = 0.0f;
    L(i, h, b) += P(r, i, h, b);
    A(d, i, h, b) = 0.0f;
    A(d, i, h, b) += P(r, i, h, b) / L(i, h, b) * cast<float>(V(d, r, shared, b));
    O(d, i, h, b) = cast(type, A(d, i, h, b));
    if (LSE) (*LSE)(i, h, b) = M(i, h, b) + log(L(i, h, b));

    for (auto *input : {&Q, &K, &V}) input->set_estimates({{0, 64}, {0, 1024}, {0, 8}, {0, 1}});
    O.set_estimates({{0, 64}, {0, 1024}, {0, 8}, {0, 1}});
    if (B) B->set_estimates({{0, 1024}, {0, 1024}, {0, 8}, {0, 1}});
    if (LSE) LSE->set_estimates({{0, 1024}, {0, 8}, {0, 1}});
  }

private:
  GeneratorInput<Buffer<float, 4>> *B = nullptr;
  GeneratorOutput<Buffer<float, 3>> *LSE = nullptr;
  Var d{"d"}, k{"k"}, i{"i"}, h{"h"}, b{"b"};
  Func S{"S"}, X
  {"X"}, M{"M"}, P{"P"}, L{"L"}, A{"A"};
};

HALIDE_REGISTER_GENERATOR(Attention, attention)
