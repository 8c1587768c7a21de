// What online() refuses: code, text, place.
#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "support/golden.h"
#include "unit/transform/cascades.h"

namespace calotype::test {
namespace {

using namespace transform;
using namespace cascades;

struct Refused {
  std::string code, text, funcs;
  std::vector<ir::Name> members;
  std::string func = "O", var = "r";
};

std::string O(const std::string &term) { return sum_of("O", "d, i", term); }

std::vector<Refused> refused() {
  return {
      // E1
      {"S0801",
       "`exp(@X(r, i)*M)` of O mixes what r runs over with M",
       kMax + O("exp(@X(r, i)*M(i))"),
       {"M"}},
      {"S0801", "`min(M, @X(r, i))`", kMax + O("min(M(i), @X(r, i))"), {"M"}},
      {"S0801", "`abs(@X(r, i) - M)`", kMax + O("abs(@X(r, i) - M(i))"), {"M"}},
      {"S0801", "`log(@X(r, i) + M)`", kMax + O("log(@X(r, i) + M(i))"), {"M"}},
      {"S0801", "exp(M - @X(r, i))", kMax + O("1.0f/(1.0f + exp(M(i) - @X(r, i)))"), {"M"}},
      {"S0801", "`tanh(@X(r, i) - M)`", kMax + O("tanh(@X(r, i) - M(i))"), {"M"}},
      {"S0801",
       "mixes what r runs over with M",
       kMax + O("exp(@X(r, i) - M(i)) + exp(@X(r, i) - 2.0f*M(i))"),
       {"M"}},
      {"S0801",
       "combines by product what uses M",
       kMax + reduction("O", "d, i", "1.0f", "O(d, i)*(@X(r, i) - M(i))"),
       {"M"}},
      {"S0801",
       "mixes what r runs over with S, T",
       kPlain + sum_of("T", "i", "@B(r, i)") +
           O("(@X(r, i) - S(i))*(@X(r, i) - S(i))*(@X(r, i) - S(i))*(@B(r, i) - T(i))"),
       {"S", "T"}},
      // E2
      {"S0802",
       "rounding in `floor(@X(r, i)/M)` of O is not separable",
       kMax + O("floor(@X(r, i)/M(i))*@V(r, d)"),
       {"M"}},
      {"S0802",
       "rounding in `f32(i8(@X(r, i)/M))`",
       kMax + O("f32(i8(@X(r, i)/M(i)))*@V(r, d)"),
       {"M"}},
      {"S0802", "rounding", kMax + O("f32(bf16(exp(@X(r, i) - M(i))))*@V(r, d)"), {"M"}},
      // E3
      {"S0803",
       "predicate `M < @X(r, i)` of O depends on a reduction of the same pass",
       kMax + O("select(M(i) < @X(r, i), @V(r, d), 0.0f)"),
       {"M"}},
      {"S0803",
       "depends on a reduction of the same pass",
       kMax + sum_of("O", "d, i", "@V(r, d)", "r in 0 +: 24 if @X(r, i) < M(i)"),
       {"M"}},
      // E4
      {"S0804",
       "M is consumed by L before the pass ends",
       kMax + kSum + O("exp(@X(r, i) - M(i))/L(i)*@V(r, d)"),
       {"M"}},
      {"S0804",
       "L is consumed by G before the pass ends",
       kMax + kSum + reduction("G", "i", "0.0f", "G(i) + L(i)*f32(q)", "q in 0 +: 3") +
           O("exp(@X(r, i) - M(i))*G(i)"),
       {"M", "L"}},
      // E5
      {"S0805",
       "O is indexed by r, which the pass runs over",
       kMax + "  func O(k, i): f32 {\n    O(k, i) = 0.0f\n    O(r, i) = exp(@X(r, i) - M(i)) for r "
              "in 0 +: 24\n  }\n",
       {"M"},
       "O"},
      {"S0805", "O reads M at r", kMax + O("exp(@X(r, i) - M(r))"), {"M"}},
      {"S0805",
       "P is in the list of online, but it is no reduction",
       kMax + pure_func("P", "k, i", "exp(@X(k, i) - M(i))") + O("P(r, i)"),
       {"M", "P"}},
      {"S0805", "O is indexed by i", kMax + O("exp(@X(r, i) - M(i))"), {"M"}, "O", "i"},
      // E6
      {"S0806",
       "different domains: M over [0, 24), O over [0, 23)",
       kMax + sum_of("O", "d, i", "exp(@X(r, i) - M(i))", "r in 0 +: 23"),
       {"M"}},
      {"S0806",
       "M counts where always, O where r < i",
       kMax + sum_of("O", "d, i", "exp(@X(r, i) - M(i))", "r in 0 +: 24 if r < i"),
       {"M"}},
      // E7
      {"S0807",
       "max in O with a factor that is not provably positive: `1.0f*S`",
       kPlain + max_of("O", "d, i", "@X(r, i)*S(i)"),
       {"S"}},
      // E8
      {"S0808",
       "the exponent `@X(r, i) - S` of O follows a reference that is not monotone",
       kPlain + O("exp(@X(r, i) - S(i))"),
       {"S"}},
      {"S0808", "not monotone", kMax + O("exp(@X(r, i) + M(i))"), {"M"}},
      {"S0808", "set_min_value(0)", kMax + O("exp((@X(r, i) - M(i))*@c)"), {"M"}},
      // E9
      {"S0809",
       "the factor of M may be infinite where O is not zero",
       kMax + O("exp(@B(r, i) - M(i))"),
       {"M"}},
      {"S0809",
       "may be infinite",
       max_of("M", "i", "select(r < i, @X(r, i), -inf:f32)") + O("exp(@X(r, i) - M(i))"),
       {"M"}},
      // E10
      {"S0810",
       "integer accumulator O depends on M",
       reduction("M", "i", "0", "max(M(i), r*i)", "r in 0 +: 24", "i32") +
           reduction("O", "d, i", "0", "O(d, i) + r*M(i)", "r in 0 +: 24", "i32"),
       {"M"}},
      // E11
      {"S0811",
       "O accumulates in f16",
       kMax + reduction("O", "d, i", "f16(0.0f)", "O(d, i) + f16(@X(r, i))", "r in 0 +: 24", "f16"),
       {"M"}},
      {"S0811",
       "is computed in f16",
       reduction("M", "i", "f16(-inf:f32)", "max(M(i), f16(@X(r, i)))", "r in 0 +: 24", "f16") +
           O("f32(exp(f16(@X(r, i)) - M(i)))"),
       {"M"}},
      // E12
      {"S0812", "O asks for strict_float", kMax + O("strict_float(exp(@X(r, i) - M(i)))"), {"M"}},
      // E13
      {"S0813",
       "has effects, inside the cascade of O",
       kMax + O("extern noise(@X(r, i)):f32*exp(@X(r, i) - M(i))"),
       {"M"}},
      {"S0813", "extern call", kMax + O("pure_extern gauss(@X(r, i) - M(i)):f32"), {"M"}},
      // E14
      {"S0814",
       "the order of the updates of O matters",
       kMax + reduction("O", "d, i", "0.0f", "O(d, i)*@V(r, d) + exp(@X(r, i) - M(i))"),
       {"M"}},
      {"S0814",
       "the order of the updates of O matters",
       kMax + reduction("O", "d, i", "0.0f", "exp(@X(r, i) - M(i)) - O(d, i)"),
       {"M"}},
      {"S0814",
       "O has 2 update definitions",
       kMax + "  func O(d, i): f32 {\n    O(d, i) = 0.0f\n    O(d, i) = O(d, i) + @X(r, i) - M(i) "
              "for r in 0 +: 24\n"
              "    O(d, i) = O(d, i)*2.0f\n  }\n",
       {"M"}},
      {"S0814",
       "the update of O writes 0 only",
       kMax + "  func O(d, i): f32 {\n    O(d, i) = 0.0f\n    O(0, i) = O(0, i) + exp(@X(r, i) - "
              "M(i)) for r in 0 +: 24\n"
              "  }\n",
       {"M"}},
      // names
      {"S0101", "there is no Func N", kMax + O("@X(r, i)"), {"N"}},
      {"S0103", "has no RVar q", kMax + O("exp(@X(r, i) - M(i))"), {"M"}, "O", "q"},
  };
}

TEST_CASE("online: refusals say what stands in the way, and where") {
  for (const Refused &k : refused()) {
    const std::string text = cascade_text(k.funcs);
    INFO(k.funcs);
    OnlineResult r;
    try {
      r = plan_of(text, k.members, k.func, k.var);
    } catch (const Error &e) {
      CHECK_MESSAGE(false, std::string(e.what()));
      continue;
    }
    CHECK_MESSAGE(!r, (r ? certificate(*r.plan) : std::string()));
    if (r) continue;
    const std::string shown = render(r.refusal);
    INFO(shown);
    CHECK(r.refusal.code == k.code);
    CHECK(shown.find(k.text) != std::string::npos);
    if (k.code[1] == '0' && k.code[2] == '8' && k.code != "S0805") CHECK(r.refusal.loc.line > 1);
    if (k.code[2] == '8') CHECK(!code_title(k.code).empty());
  }
}

}  // namespace
}  // namespace calotype::test
