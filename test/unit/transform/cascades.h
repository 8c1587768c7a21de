// Small cascades as text, for the tests of online().
#pragma once

#include <string>

#include "ir/parse.h"
#include "transform/cascade.h"

namespace calotype::test {

/// A program around Funcs that reduce over r in [0, 24): x is @X(r, i), v is @V(r, d).
inline std::string cascade_text(const std::string &funcs, const std::string &output = "O") {
  return "program cascade {\n"
         "  param X: f32[2]\n  param V: f32[2]\n  param W: f32[1]\n  param B: f32[2]\n"
         "  param c: f32\n  param n: i32\n" +
         funcs + "  output " + output + "\n}\n";
}
inline std::string reduction(const std::string &name, const std::string &args,
                             const std::string &init, const std::string &update,
                             const std::string &domain = "r in 0 +: 24",
                             const std::string &type = "f32") {
  const std::string left = name + "(" + args + ")";
  return "  func " + left + ": " + type + " {\n    " + left + " = " + init + "\n    " + left +
         " = " + update + " for " + domain + "\n  }\n";
}
inline std::string pure_func(const std::string &name, const std::string &args,
                             const std::string &value, const std::string &type = "f32") {
  const std::string left = name + "(" + args + ")";
  return "  func " + left + ": " + type + " {\n    " + left + " = " + value + "\n  }\n";
}
inline std::string sum_of(const std::string &name, const std::string &args, const std::string &term,
                          const std::string &domain = "r in 0 +: 24") {
  return reduction(name, args, "0.0f", name + "(" + args + ") + " + term, domain);
}
inline std::string max_of(const std::string &name, const std::string &args, const std::string &term,
                          const std::string &domain = "r in 0 +: 24") {
  return reduction(name, args, "-inf:f32", "max(" + name + "(" + args + "), " + term + ")", domain);
}

inline transform::OnlineResult plan_of(const std::string &text, std::vector<ir::Name> members,
                                       const std::string &func = "O",
                                       const std::string &var = "r") {
  transform::OnlineRequest request;
  request.func = func;
  request.var = var;
  request.members = std::move(members);
  return transform::plan_online(ir::parse_program(text, SrcLoc{"cascade.txt", 1, 1, 0}), request);
}

namespace cascades {

inline const std::string kMax = max_of("M", "i", "@X(r, i)");
inline const std::string kSum = sum_of("L", "i", "exp(@X(r, i) - M(i))");
inline const std::string kPlain = sum_of("S", "i", "@X(r, i)");
inline const std::string kMean = pure_func("mean", "i", "S(i)*0.0416666679f");

struct Known {
  const char *name;
  std::string funcs;
  std::vector<ir::Name> members;
  transform::RepairClass repair_class = transform::RepairClass::Scale;
  size_t accumulators = 1;
};

inline std::vector<Known> known_cascades() {
  using transform::RepairClass;
  const std::string m = kMax, l = kSum, s = kPlain + kMean;
  const auto sum = [](const std::string &term) { return sum_of("O", "d, i", term); };
  const auto max = [](const std::string &term) { return max_of("O", "d, i", term); };
  const std::string masked = "select(r <= i + @n, @X(r, i)*0.125f, -inf:f32)";
  const std::string masked_max = max_of("M", "i", masked);
  const auto C = RepairClass::Scale;
  const auto R = RepairClass::FiniteRank;
  const auto H = RepairClass::Shift;
  const auto I = RepairClass::Independent;
  return {
      {"softmax denominator", m + sum("exp(@X(r, i) - M(i))"), {"M"}, C, 1},
      {"weighted sum", m + sum("exp(@X(r, i) - M(i))*@V(r, d)"), {"M"}, C, 1},
      {"weighted sum, normalised",
       m + l + sum("exp(@X(r, i) - M(i))/L(i)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"masked inside",
       masked_max + sum_of("L", "i", "exp(" + masked + " - M(i))") +
           sum("exp(" + masked + " - M(i))/L(i)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"masked outside",
       masked_max + sum("select(r <= i + @n, exp(@X(r, i)*0.125f - M(i))*@V(r, d), 0.0f)"),
       {"M"},
       C,
       1},
      {"masked outside, opposite",
       masked_max + sum("select(r > i + @n, 0.0f, exp(@X(r, i)*0.125f - M(i))*@V(r, d))"),
       {"M"},
       C,
       1},
      {"mask lifted",
       masked_max + sum("exp(select(r <= i + @n, @X(r, i)*0.125f - M(i), -inf:f32))*@V(r, d)"),
       {"M"},
       C,
       1},
      {"bias and soft cap",
       max_of("M", "i", "20.0f*tanh(@X(r, i)/20.0f) + @B(r, i)") +
           sum("exp(20.0f*tanh(@X(r, i)/20.0f) + @B(r, i) - M(i))*@V(r, d)"),
       {"M"},
       C,
       1},
      {"temperature", m + sum("exp((@X(r, i) - M(i))*0.3f)*@V(r, d)"), {"M"}, C, 1},
      {"grouped heads", m + l + sum("exp(@X(r, i/4) - M(i/4))/L(i/4)*@V(r, d)"), {"M", "L"}, C, 1},
      {"dropout",
       m + l + sum("select(@B(r, i) > 0.1f, exp(@X(r, i) - M(i))/L(i), 0.0f)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"sink",
       m + reduction("L", "i", "exp(@W(i) - M(i))", "L(i) + exp(@X(r, i) - M(i))") +
           sum("exp(@X(r, i) - M(i))/L(i)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"sink in the maximum too",
       reduction("M", "i", "@W(i)", "max(M(i), @X(r, i))") +
           reduction("L", "i", "exp(@W(i) - M(i))", "L(i) + exp(@X(r, i) - M(i))") +
           sum("exp(@X(r, i) - M(i))/L(i)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"base 2", m + sum("pow(2.0f, @X(r, i) - M(i))"), {"M"}, C, 1},
      {"log-sum-exp in the exponent",
       m + l + pure_func("E", "i", "M(i) + log(L(i))") + sum("exp(@X(r, i) - E(i))*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"smallest",
       reduction("M", "i", "inf:f32", "min(M(i), @X(r, i))") + sum("exp(M(i) - @X(r, i))*@V(r, d)"),
       {"M"},
       C,
       1},
      {"variance", s + sum("(@X(r, i) - mean(i))*(@X(r, i) - mean(i))"), {"S"}, R, 3},
      {"third moment",
       s + sum("(@X(r, i) - mean(i))*(@X(r, i) - mean(i))*(@X(r, i) - mean(i))"),
       {"S"},
       R,
       4},
      {"LayerNorm then dot",
       s + sum_of("Q", "i", "(@X(r, i) - mean(i))*(@X(r, i) - mean(i))") +
           sum("(@X(r, i) - mean(i))*(1.0f/sqrt(Q(i)*0.0416666679f + 0.001f))*@V(r, d)"),
       {"S", "Q"},
       R,
       2},
      {"RMSNorm then dot",
       sum_of("S", "i", "@X(r, i)*@X(r, i)") +
           sum("@X(r, i)*@V(r, d)/sqrt(S(i)*0.0416666679f + 0.001f)"),
       {"S"},
       C,
       1},
      {"covariance",
       s + sum_of("T", "d", "@V(r, d)") + sum("(@X(r, i) - mean(i))*(@V(r, d) - T(d)/24.0f)"),
       {"S", "T"},
       R,
       4},
      {"weighted mean",
       sum_of("A", "i", "@B(r, i)*@B(r, i)") + sum_of("S", "i", "@B(r, i)*@B(r, i)*@X(r, i)") +
           sum("@B(r, i)*@B(r, i)*(@X(r, i) - S(i)/A(i))*(@X(r, i) - S(i)/A(i))"),
       {"A", "S"},
       R,
       3},
      {"dQ with inner delta",
       m + sum_of("D", "i", "exp(@X(r, i) - M(i))*@B(r, i)") +
           sum("exp(@X(r, i) - M(i))*(@B(r, i) - D(i))*@V(r, d)"),
       {"M", "D"},
       R,
       2},
      {"scaled by the largest size",
       max_of("A", "i", "abs(@X(r, i))") + sum("@X(r, i)/A(i)*@V(r, d)"),
       {"A"},
       C,
       1},
      {"max of log-softmax", m + l + max("@X(r, i) - M(i) - log(L(i))"), {"M", "L"}, H, 1},
      {"max of log of softmax", m + l + max("log(exp(@X(r, i) - M(i))/L(i))"), {"M", "L"}, H, 1},
      {"max of softmax", m + l + max("exp(@X(r, i) - M(i))/L(i)"), {"M", "L"}, C, 1},
      {"min of softmax",
       m + l + reduction("O", "d, i", "inf:f32", "min(O(d, i), exp(@X(r, i) - M(i))/L(i))"),
       {"M", "L"},
       C,
       1},
      {"safe quotient",
       masked_max + sum_of("L", "i", "exp(" + masked + " - M(i))") +
           sum("select(L(i) == 0.0f, 0.0f, exp(" + masked + " - M(i))/L(i))*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"masked outside, normalised",
       masked_max + sum_of("L", "i", "select(r <= i + @n, exp(@X(r, i)*0.125f - M(i)), 0.0f)") +
           sum("select(r <= i + @n, exp(@X(r, i)*0.125f - M(i))/L(i), 0.0f)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"independent", m + sum("@X(r, i)*@V(r, d)"), {"M"}, I, 1},
      {"predicate of the domain",
       max_of("M", "i", "@X(r, i)", "r in 0 +: 24 if r <= i + @n") +
           sum_of("L", "i", "exp(@X(r, i) - M(i))", "r in 0 +: 24 if r <= i + @n") +
           sum_of("O", "d, i", "exp(@X(r, i) - M(i))/L(i)*@V(r, d)", "r in 0 +: 24 if r <= i + @n"),
       {"M", "L"},
       C,
       1},
      {"other names of the loop",
       max_of("M", "i", "@X(q, i)", "q in 0 +: 24") +
           sum_of("L", "j", "exp(@X(k, j) - M(j))", "k in 0 +: 24") +
           sum("exp(@X(r, i) - M(i))/L(i)*@V(r, d)"),
       {"M", "L"},
       C,
       1},
      {"two loops",
       max_of("M", "i", "@X(r + 4*s, i)", "r in 0 +: 4, s in 0 +: 6") +
           sum_of("O", "d, i", "exp(@X(r + 4*s, i) - M(i))*@V(r + 4*s, d)",
                  "r in 0 +: 4, s in 0 +: 6"),
       {"M"},
       C,
       1},
  };
}

}  // namespace cascades
}  // namespace calotype::test
