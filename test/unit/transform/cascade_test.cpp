// Repair maps of known cascades, and what is refused.
#include "transform/cascade.h"

#include <doctest/doctest.h>

#include <iostream>

#include "base/diagnostic.h"
#include "ir/visit.h"
#include "support/check_diag.h"
#include "support/golden.h"
#include "transform/check.h"
#include "unit/ir/batch_function.h"
#include "unit/transform/cascades.h"

namespace calotype::test {
namespace {

using namespace transform;
using namespace cascades;

std::string check(const ir::Program &p, const OnlinePlan &plan) {
  CheckOptions o;
  std::string e;
  for (o.seed = 1; o.seed <= 3 && e.empty(); o.seed++) {
    e = check_in_fields(p, plan, o);
    if (!e.empty()) return "in a field: " + e;
    e = check_in_floats(p, plan, o);
    if (!e.empty()) return "in floats: " + e;
  }
  return e;
}

TEST_CASE("online: known cascades have the class they should, and hold") {
  for (const Known &k : known_cascades()) {
    const std::string text = cascade_text(k.funcs);
    INFO(std::string(k.name));
    const OnlineResult r = plan_of(text, k.members);
    CHECK_MESSAGE(r, render(r.refusal));
    if (!r) continue;
    const Member &m = r.plan->last();
    INFO(certificate(*r.plan));
    CHECK(std::string(to_string(m.repair_class)) == to_string(k.repair_class));
    CHECK(m.accumulators.size() == k.accumulators);
    CHECK(check(ir::parse_program(text), *r.plan) == "");
  }
}

// ---- what a wrong plan looks like ----------------------------------------------------------------------

/// A plan of the known cascade `name` with its program.
struct Plan {
  ir::Program program;
  OnlinePlan plan;
  explicit Plan(const std::string &name) {
    for (const Known &k : known_cascades()) {
      if (name != k.name) continue;
      const std::string text = cascade_text(k.funcs);
      program = ir::parse_program(text);
      plan = *plan_of(text, k.members).plan;
    }
  }
  Accumulator &accumulator(size_t i = 0) { return plan.members.back().accumulators[i]; }
  std::string fields() const { return check_in_fields(program, plan); }
  std::string floats() const { return check_in_floats(program, plan); }
};

Expr exchanged(const Expr &e, const std::string &a, const std::string &b) {
  ir::Substitution map;
  map[a] = ir::make_var(b, Float(32));
  map[b] = ir::make_var(a, Float(32));
  return ir::substitute(map, e);
}

TEST_CASE("online: wrong plans are caught") {
  SUBCASE("the sum is not rescaled") {
    Plan p("weighted sum, normalised");
    p.accumulator().repair = ir::make_var("O.acc", Float(32));
    CHECK(p.fields() == "O: streaming with random references differs");
    CHECK(p.floats() != "");
  }
  SUBCASE("the factor is the inverse one") {
    Plan p("weighted sum, normalised");
    p.accumulator().repair = exchanged(p.accumulator().repair, "M.old", "M.new");
    CHECK(p.fields() != "");
  }
  SUBCASE("the quotient is forgotten") {
    Plan p("weighted sum, normalised");
    p.plan.members.back().values = {ir::make_var("O.acc", Float(32))};
    CHECK(p.fields() != "");
  }
  SUBCASE("an entry of the matrix is wrong") {
    Plan p("variance");
    const Expr row = p.accumulator(1).repair;
    p.accumulator(1).repair = ir::make_var(p.accumulator(1).symbol, Float(32));
    CHECK(p.fields() != "");
    p.accumulator(1).repair = row;
    CHECK(p.fields() == "");
  }
  SUBCASE("the last repair is left out") {
    Plan p("variance");
    p.plan.members.back().repairs_at_end = false;
    CHECK(p.floats() != "");
  }
  SUBCASE("terms at the older maximum") {
    Plan p("weighted sum");
    p.accumulator().term = exchanged(p.accumulator().term, "M.old", "M.new");
    CHECK(p.fields() != "");
  }
  SUBCASE("a guard is missing: -inf - -inf") {
    Plan p("masked inside");
    const ir::Select *same = p.accumulator().repair.as<ir::Select>();
    const ir::Select *lost = same->false_value.as<ir::Select>();
    p.accumulator().repair = lost->false_value;
    CHECK(p.fields() == "");  // no matter of algebra
    CHECK(p.floats().find("first block masked") != std::string::npos);
  }
  SUBCASE("the mask is dropped from the term") {
    Plan p("masked outside");
    p.accumulator().term = p.accumulator().term.as<ir::Select>()->true_value;
    CHECK(p.fields() != "");
  }
  SUBCASE("a mistake raises an internal error with the certificate") {
    Plan p("weighted sum");
    p.accumulator().repair = ir::make_var("O.acc", Float(32));
    CHECK_DIAG(verify_plan(p.program, p.plan), "X0001", "online: O.update(0) in one pass over r");
  }
}

TEST_CASE("online: certificates") {
  std::string all;
  for (const Known &k : known_cascades())
    all += std::string("== ") + k.name + "\n" +
           certificate(*plan_of(cascade_text(k.funcs), k.members).plan);
  CHECK_GOLDEN("transform/certificates", all);
}

// ---- at random -----------------------------------------------------------------------------------------

class RandomCascade {
public:
  explicit RandomCascade(uint64_t seed) : bits_(seed) {}

  /// Of a solvable class: an exponential of a masked or scaled value less its maximum, quotients, moments.
  std::string member() {
    const std::string x = element();
    funcs_ = max_of("M", "i", x) + kPlain + kMean;
    const std::string e = "exp(" + scaled("(" + x + " - M(i))") + ")";
    std::string term = pick(3) ? e : "exp((" + x + " - M(i)) - log(L(i)))";
    funcs_ += sum_of("L", "i", pick(2) ? e : "exp(" + x + " - M(i))");
    if (pick(2)) term = term + "/L(i)";
    if (pick(2)) term = term + "*@V(r, d)";
    if (pick(3) == 0) term = "select(r + i < @n, " + term + ", 0.0f)";
    switch (pick(6)) {
      case 0: term = "(@X(r, i) - mean(i))*(@X(r, i) - mean(i))*@V(r, d)/L(i)"; break;
      case 1: term = "(@B(r, i) - mean(i))*" + term; break;
      case 2: term = "(@X(r, i) - mean(i))*@W(d)*@V(r, d)*(1.0f/sqrt(L(i)))"; break;
      case 3: term = term + "*(@B(r, i) + S(i))"; break;
      default: break;
    }
    return funcs_ + sum_of("O", "d, i", term);
  }

  /// A member with something put in that no factor repairs.
  std::string non_member() {
    static const char *const kPoison[] = {
        "tanh(@X(r, i) - M(i))", "floor(@X(r, i)/M(i))", "exp(@X(r, i)*M(i))",
        "abs(@X(r, i) - S(i))",  "min(@X(r, i), M(i))",  "select(@X(r, i) < S(i), 1.0f, 2.0f)",
        "log(@B(r, i) + L(i))",  "sqrt(@X(r, i) + S(i))"};
    const std::string m = member();
    const size_t at = m.rfind(" for r in");
    return m.substr(0, at) + "*" + kPoison[pick(8)] + m.substr(at);
  }

  /// Anything at all.
  std::string anything() {
    funcs_ = max_of("M", "i", pick(2) ? "@X(r, i)" : element()) + kPlain + kMean +
             sum_of("L", "i", "exp(@X(r, i) - M(i))");
    const std::string term = tree(4);
    return funcs_ + (pick(4) ? sum_of("O", "d, i", term) : max_of("O", "d, i", term));
  }

private:
  uint64_t pick(uint64_t n) { return (bits_.next() >> 20) % n; }
  std::string scaled(const std::string &e) {
    static const char *const kScale[] = {"", "*0.5f", "*0.3f", "*3.0f"};
    return e + kScale[pick(4)];
  }
  std::string element() {
    std::string x = scaled("@X(r, i)");
    if (pick(3) == 0) x = x + " + @B(r, i)";
    if (pick(4) == 0) x = "20.0f*tanh(" + x + ")";
    if (pick(2)) x = "select(r <= i + @n, " + x + ", -inf:f32)";
    return x;
  }
  std::string tree(int depth) {
    static const char *const kLeaves[] = {"@X(r, i)", "@V(r, d)", "@B(r, i)", "M(i)", "L(i)",
                                          "S(i)",     "mean(i)",  "2.0f",     "0.3f", "@W(i)"};
    if (depth == 0 || pick(6) == 0) return kLeaves[pick(10)];
    const std::string a = tree(depth - 1);
    switch (pick(9)) {
      case 0: return "(" + a + " + " + tree(depth - 1) + ")";
      case 1: return "(" + a + " - " + tree(depth - 1) + ")";
      case 2:
      case 3: return a + "*" + tree(depth - 1);
      case 4: return a + "/(" + tree(depth - 1) + ")";
      case 5: return "exp(@X(r, i) - M(i))*" + a;
      case 6: return "exp(" + a + ")";
      case 7: return "select(r < i, " + a + ", " + (pick(2) ? "0.0f" : tree(depth - 1)) + ")";
      default: return "(" + a + " - mean(i))*(" + a + " - mean(i))";
    }
  }
  std::string funcs_;
  Bits bits_;
};

TEST_CASE("online: random members of the solvable classes are solved, and hold") {
  for (uint64_t seed = 1; seed <= 120; seed++) {
    const std::string text = cascade_text(RandomCascade(seed).member());
    INFO(text);
    const OnlineResult r = plan_of(text, {"M", "L", "S"});
    CHECK_MESSAGE(r, render(r.refusal));
    if (!r) continue;
    INFO(certificate(*r.plan));
    CHECK(check(ir::parse_program(text), *r.plan) == "");
  }
}

TEST_CASE("online: random non-members are refused") {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    const std::string text = cascade_text(RandomCascade(seed).non_member());
    INFO(text);
    const OnlineResult r = plan_of(text, {"M", "L", "S"});
    CHECK_MESSAGE(!r, (r ? certificate(*r.plan) : std::string()));
    if (r) continue;
    CHECK(r.refusal.code.substr(0, 3) == "S08");
    CHECK(!r.refusal.what.empty());
    CHECK(r.refusal.loc.line > 1);
  }
}

void check_whatever_is_accepted(uint64_t first, uint64_t last, int at_least) {
  int accepted = 0;
  for (uint64_t seed = first; seed <= last; seed++) {
    const std::string text = cascade_text(RandomCascade(seed).anything());
    INFO(text);
    const OnlineResult r = plan_of(text, {"M", "L", "S"});
    if (!r) continue;
    accepted++;
    INFO(certificate(*r.plan));
    CHECK(check_in_fields(ir::parse_program(text), *r.plan) == "");
    // max and min drop the NaN that an overflowing factor gives (0*inf), so one form may show what the other hides
    if (r.plan->last().combine != Combine::Add) continue;
    CheckOptions o;
    o.same_infinities = false;  // terms that overflow do so elsewhere in another order
    CHECK(check_in_floats(ir::parse_program(text), *r.plan, o) == "");
  }
  CHECK(accepted >= at_least);
}

TEST_CASE("online: whatever is accepted holds") { check_whatever_is_accepted(1, 300, 50); }

TEST_SUITE("slow") {
  TEST_CASE("online: whatever is accepted holds, many") {
    check_whatever_is_accepted(301, 6000, 1000);
  }
}

}  // namespace
}  // namespace calotype::test
