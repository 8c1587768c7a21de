// The search on random programs: always a legal schedule, the same one twice, with the interpreter's bits.
#include "autoscheduler/search.h"

#include <doctest/doctest.h>

#include "autoscheduler/plan.h"
#include "autoscheduler/work.h"
#include "base/diagnostic.h"
#include "calotype.h"
#include "driver/program.h"
#include "ir/print.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support/fuzz_case.h"
#include "support/random_program.h"

using namespace calotype;
namespace as = calotype::autoscheduler;

namespace {

const Target kTarget("x86-64-linux-avx2-fma-f16c");

as::Problem problem_of(const ir::Program &p, int extent) {
  as::Problem problem{p, kTarget, {}, 2};
  for (const ir::Name out : p.outputs) {
    const ir::Function &f = *p.find(out);
    for (size_t k = 0; k < f.types.size(); k++) {
      const std::string name = f.types.size() > 1 ? f.name + "." + std::to_string(k) : f.name.str();
      for (int d = 0; d < f.dimensions(); d++) {
        const std::string dim = "." + std::to_string(d);
        problem.sizes.vars[name + ".min" + dim] = ir::Value::of_int(Int(32), 0);
        problem.sizes.vars[name + ".extent" + dim] = ir::Value::of_int(Int(32), extent);
      }
    }
  }
  return problem;
}

ir::Program stencils() {
  Var x("x"), y("y");
  Func in("in"), across("across"), output("output");
  in(x, y) = cast<float>(x * 3 + y) / 7.0f;
  across(x, y) = in(x - 1, y) + in(x, y) + in(x + 1, y);
  output(x, y) = across(x, y - 1) + across(x, y) + across(x, y + 1);
  return driver::program_of(Pipeline(output), kTarget);
}

}  // namespace

TEST_CASE(
    "autoscheduler: by the model alone the answer is legal, repeatable and has the interpreter's "
    "bits") {
  for (uint64_t seed = 1; seed <= 12; seed++) {
    CAPTURE(seed);
    const ir::Program p = test::random_program(seed);
    const as::Problem problem = problem_of(p, 64);
    as::SearchOptions o;
    o.budget_seconds = 0;
    o.seed = seed;
    const as::SearchResult first = as::search(problem, o), second = as::search(problem, o);
    CHECK(first.best.text == second.best.text);
    CHECK(first.best.predicted == second.best.predicted);
    CHECK_NOTHROW(schedule::apply(
        p, schedule::parse_schedule("calotype 1\n" + first.best.text, "found"), kTarget));
    test::FuzzCase c;
    c.program = ir::to_string(p);
    c.schedule = "calotype 1\n" + first.best.text;
    const std::vector<int> zeros(4, 0), odd = {33, 7, 3, 2};
    c.runs.push_back({{zeros, odd}, seed, false});
    const test::FuzzVerdict v = test::judge(c);
    CHECK_MESSAGE(v.kind != test::FuzzVerdict::Fail, v.text);
  }
}

TEST_CASE("autoscheduler: refused directives are left out, the others stay") {
  const ir::Program p = stencils();
  const as::Problem problem = problem_of(p, 64);
  schedule::Scheduled s;
  CHECK(as::legal_part(problem, "output.vectorize(x, 8)\nacross.compute_at(output, nowhere)\n",
                       &s) == "output.vectorize(x, 8)\n");
  CHECK(as::legal_part(problem, "output.parallel(y).vectorize(z, 8)\n", &s) ==
        "output.parallel(y)\n");
  CHECK(s.state.of("output").stages[0].loops.back().kind == ir::ForType::Parallel);
}

TEST_CASE("autoscheduler: the model prefers storing to recomputing and vectors to scalars") {
  const ir::Program p = stencils();
  const as::Problem problem = problem_of(p, 1024);
  const as::Machine m = as::machine_for(problem);
  const auto cost = [&](const std::string &text) {
    return as::predict(
        problem, schedule::apply(p, schedule::parse_schedule("calotype 1\n" + text, "t"), kTarget),
        m);
  };
  const double scalar = cost("in.compute_root()\nacross.compute_root()\n");
  const double vectors = cost(
      "output.vectorize(x, 8)\nin.compute_root().vectorize(x, "
      "8)\nacross.compute_root().vectorize(x, 8)\n");
  const double slides =
      cost("output.vectorize(x, 8)\nacross.store_root().compute_at(output, y).vectorize(x, 8)\n");
  const double threads =
      cost("output.parallel(y).vectorize(x, 8)\nacross.compute_at(output, y).vectorize(x, 8)\n");
  const double redundant =
      cost("output.vectorize(x, 8)\nacross.compute_at(output, y).vectorize(x, 8)\n");
  CHECK(vectors < scalar);
  CHECK(slides < vectors);
  CHECK(slides < redundant);
  CHECK(threads < redundant);
}

TEST_CASE("autoscheduler: measured times count, failures are passed over") {
  const ir::Program p = stencils();
  const as::Problem problem = problem_of(p, 256);
  as::SearchOptions o;
  o.budget_seconds = 3;
  int asked = 0;
  std::string fast;
  o.measure = [&](const std::string &text, double) {
    asked++;
    as::Measurement m;
    if (asked == 1) {
      m.status = "crashed";
    } else {
      m.ns = asked == 3 ? 10 : 1000 + asked;
      if (asked == 3) fast = text;
    }
    return m;
  };
  o.stop = [&] { return asked >= 6; };
  const as::SearchResult r = as::search(problem, o);
  CHECK(r.failed == 1);
  CHECK(r.measured >= 4);
  CHECK(r.best.text == fast);
  CHECK(r.best.measured == 10);
}

TEST_CASE("autoscheduler: a definition's work") {
  Var x("x"), y("y");
  Func a("a"), f("f");
  a(x, y) = cast<float>(x + y);
  f(x, y) = a(x, y) * a(x + 1, y) + a(y, x) + a(0, y);
  const ir::Program p = driver::program_of(Pipeline(f), kTarget);
  const as::Work w = as::work_of(*p.find("f"), p.find("f")->pure());
  REQUIRE(w.reads.size() == 4);
  int dense = 0, strided = 0, broadcast = 0;
  for (const as::Read &r : w.reads) {
    dense += r.access == as::Access::Dense;
    strided += r.access == as::Access::Strided;
    broadcast += r.access == as::Access::Broadcast;
  }
  CHECK(dense == 2);
  CHECK(strided == 1);
  CHECK(broadcast == 1);
  CHECK(w.calls.at("a") == 4);
  CHECK(w.operations > 0);
}

TEST_CASE("autoscheduler: numbers of a given schedule are changed, promises are not") {
  schedule::Schedule s = schedule::parse_schedule(
      "calotype 1\noutput.bound(x, 0, 64).split(y, yo, yi, 32).vectorize(x, 8)\n", "t");
  std::mt19937_64 random(1);
  bool changed = false;
  for (int i = 0; i < 20; i++) {
    REQUIRE(as::mutate_number(s, random));
    const std::string text = schedule::print_schedule(s);
    CHECK(text.find("bound(x, 0, 64)") != std::string::npos);
    changed = changed || text.find("yi, 32)") == std::string::npos;
  }
  CHECK(changed);
  schedule::Schedule none = schedule::parse_schedule("calotype 1\noutput.parallel(y)\n", "t");
  CHECK(!as::mutate_number(none, random));
}
