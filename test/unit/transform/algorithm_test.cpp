// Cascades as people write them: C++ algorithms, settled, with Funcs between the reductions.
#include <doctest/doctest.h>

#include "calotype.h"
#include "support/check_diag.h"
#include "support/golden.h"
#include "transform/cascade.h"
#include "transform/check.h"
#include "unit/lang/support.h"

namespace calotype::test {
namespace {

using namespace transform;

OnlineResult plan_of_program(const ir::Program &p, std::vector<ir::Name> members,
                             const std::string &func, const std::string &var) {
  OnlineRequest request;
  request.func = func;
  request.var = var;
  request.members = std::move(members);
  return plan_online(p, request);
}

/// Plans and verifies; the certificate, or the refusal.
std::string outcome(const ir::Program &p, std::vector<ir::Name> members, const std::string &func,
                    const std::string &var) {
  const OnlineResult r = plan_of_program(p, std::move(members), func, var);
  if (!r) return render(r.refusal);
  verify_plan(p, *r.plan);
  return certificate(*r.plan);
}

struct Attention {
  ImageParam q{Float(32), 3, "Q"}, k{Float(32), 3, "K"}, v{Float(32), 3, "V"};
  Var d{"d"}, i{"i"}, j{"j"}, h{"h"};
  Func s{"S"}, scores{"scores"}, m{"M"}, p{"P"}, l{"L"}, o{"O"}, lse{"LSE"};

  explicit Attention(bool causal) {
    RDom e(0, q.dim(0).extent(), "e"), r(0, k.dim(1).extent(), "r");
    const Expr scale = 1.0f / sqrt(cast<float>(q.dim(0).extent()));
    s(j, i, h) = 0.0f;
    s(j, i, h) += q(e, i, h) * k(e, j, h / 2);
    Expr x = s(j, i, h) * scale;
    if (causal) {
      const Expr valid = j <= i + k.dim(1).extent() - q.dim(1).extent();
      x = select(valid, x, -std::numeric_limits<float>::infinity());
    }
    scores(j, i, h) = x;
    m(i, h) = Float(32).min();
    m(i, h) = max(m(i, h), scores(r, i, h));
    p(j, i, h) = exp(scores(j, i, h) - m(i, h));
    l(i, h) = 0.0f;
    l(i, h) += p(r, i, h);
    o(d, i, h) = 0.0f;
    o(d, i, h) += p(r, i, h) / l(i, h) * v(d, r, h / 2);
    lse(i, h) = m(i, h) + log(l(i, h));
  }
};

TEST_CASE("online: attention as the textbook has it") {
  for (bool causal : {false, true}) {
    Attention a(causal);
    const ir::Program p = program({a.o, a.lse}, true);
    CHECK_GOLDEN(causal ? "transform/attention_causal" : "transform/attention",
                 outcome(p, {"M", "L"}, "O", "r.x"));
  }
}

TEST_CASE("online: log-sum-exp alone") {
  Attention a(true);
  const ir::Program p = program({a.lse}, true);
  const OnlineResult r = plan_of_program(p, {"M"}, "L", "r.x");
  REQUIRE(r);
  CHECK(r.plan->read_afterwards == std::vector<ir::Name>{"LSE"});
  verify_plan(p, *r.plan);
}

TEST_CASE("online: LayerNorm and its weights' product from one pass over the data") {
  ImageParam x(Float(32), 2, "X"), w(Float(32), 2, "W");
  Var i("i"), c("c");
  Func sum("sum"), mean("mean"), diff("diff"), var("var"), out("out");
  RDom r(0, x.dim(0).extent(), "r");
  const Expr n = cast<float>(x.dim(0).extent());
  sum(i) = 0.0f;
  sum(i) += x(r, i);
  mean(i) = sum(i) / n;
  Var k("k");
  diff(k, i) = x(k, i) - mean(i);
  var(i) = 0.0f;
  var(i) += diff(r, i) * diff(r, i);
  out(c, i) = 0.0f;
  out(c, i) += diff(r, i) / sqrt(var(i) / n + 1e-5f) * w(c, r);
  CHECK_GOLDEN("transform/layernorm", outcome(program({out}, true), {"sum", "var"}, "out", "r.x"));
}

TEST_CASE("online: an argmax may run along, and give the maximum") {
  ImageParam x(Float(32), 2, "X");
  Var i("i");
  RDom r(0, x.dim(0).extent(), "r");
  Func best("best"), total("total");
  best(i) = Tuple(0, Float(32).min());
  const Expr better = x(r, i) > best(i)[1];
  best(i) = Tuple(select(better, r.x, best(i)[0]), select(better, x(r, i), best(i)[1]));
  total(i) = 0.0f;
  total(i) += exp(x(r, i) - best(i)[1]);
  const ir::Program p = program({total, best}, true);
  const OnlineResult a = plan_of_program(p, {"best"}, "total", "r.x");
  CHECK_MESSAGE(a, render(a.refusal));
  REQUIRE(a);
  CHECK(a.plan->members[0].combine == Combine::ArgMax);
  CHECK(a.plan->members[0].accumulators.size() == 2);
  CHECK(a.plan->last().repair_class == RepairClass::Scale);
  verify_plan(p, *a.plan);
}

TEST_CASE("online: a parameter that scales needs a sign") {
  ImageParam x(Float(32), 2, "X");
  Var i("i");
  RDom r(0, 24, "r");
  for (bool known : {false, true}) {
    Param<float> t("t");
    if (known) t.set_min_value(0.0f);
    Func m("M"), l("L");
    m(i) = Float(32).min();
    m(i) = max(m(i), x(r, i));
    l(i) = 0.0f;
    l(i) += exp((x(r, i) - m(i)) * t);
    const ir::Program p = program({l}, true);
    const OnlineResult a = plan_of_program(p, {"M"}, "L", "r.x");
    CHECK(static_cast<bool>(a) == known);
    if (a) {
      verify_plan(p, *a.plan);
    } else {
      CHECK(a.refusal.code == "S0808");
    }
  }
}

TEST_CASE("online: a temperature made of the row's maximum is refused with the factor named") {
  ImageParam x(Float(32), 2, "X");
  Var i("i");
  RDom r(0, 24, "r");
  Func m("M"), l("L");
  m(i) = Float(32).min();
  m(i) = max(m(i), x(r, i));
  l(i) = 0.0f;
  l(i) += exp((x(r, i) - m(i)) / (1.0f + abs(m(i))));
  const OnlineResult a = plan_of_program(program({l}, true), {"M"}, "L", "r.x");
  REQUIRE(!a);
  CHECK(a.refusal.code == "S0801");
  CHECK(render(a.refusal).find("mixes what r.x runs over with M") != std::string::npos);
}

TEST_CASE("online: tuples of plain reductions") {
  ImageParam x(Float(32), 2, "X");
  Var i("i");
  RDom r(0, 24, "r");
  Func s("S"), v("V");
  s(i) = Tuple(0.0f, 0.0f);
  s(i) = Tuple(s(i)[0] + x(r, i), s(i)[1] + x(r, i) * x(r, i));
  v(i) = 0.0f;
  v(i) += (x(r, i) - s(i)[0] / 24.0f) * s(i)[1];
  const ir::Program p = program({v}, true);
  const OnlineResult a = plan_of_program(p, {"S"}, "V", "r.x");
  CHECK_MESSAGE(a, render(a.refusal));
  REQUIRE(a);
  CHECK(a.plan->last().repair_class == RepairClass::FiniteRank);
  verify_plan(p, *a.plan);
}

}  // namespace
}  // namespace calotype::test
