// The rewritten program against the one it came from, both by the interpreter; and compiled.
#include "transform/online_rewrite.h"

#include <doctest/doctest.h>

#include <cmath>

#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "support/golden.h"
#include "support/run_case.h"
#include "unit/ir/batch_function.h"
#include "unit/transform/cascades.h"

namespace calotype::test {
namespace {

using namespace transform;
using namespace cascades;

/// A float buffer of extents {w, h}.
class Plane {
public:
  Plane(int w, int h) : data(static_cast<size_t>(w) * h) {
    dims_[0] = {0, w, 1, 0};
    dims_[1] = {0, h, w, 0};
  }
  halide_buffer_t *raw(int dimensions = 2) {
    raw_ = {};
    raw_.type = Float(32);
    raw_.dimensions = dimensions;
    raw_.dim = dims_;
    raw_.host = reinterpret_cast<uint8_t *>(data.data());
    return &raw_;
  }
  void fill(uint64_t seed, float size) {
    Bits bits(seed);
    for (float &v : data) {
      const double unit = static_cast<double>(bits.next() >> 11) / 9007199254740992.0;
      v = size * static_cast<float>(2 * unit - 1);
    }
  }
  std::vector<float> data;

private:
  halide_dimension_t dims_[2];
  halide_buffer_t raw_;
};

/// O over 3 x 6 points; n: shifts the masks.
std::vector<float> run(const ir::Program &p, uint64_t seed, float size, int n) {
  Plane x(48, 8), v(48, 8), w(8, 1), b(48, 8), out(3, 6);
  x.fill(seed, size), v.fill(seed + 1, 1), w.fill(seed + 2, 1), b.fill(seed + 3, 1);
  const int dimensions = p.find(p.outputs[0])->dimensions();
  ir::interpret(p, {out.raw(dimensions)},
                {{"X", x.raw()}, {"V", v.raw()}, {"W", w.raw(1)}, {"B", b.raw()}},
                {{"n", static_cast<uint32_t>(n)}, {"c", 0x3f800000}});
  return out.data;
}

std::string difference(const std::vector<float> &a, const std::vector<float> &b, double size) {
  for (size_t i = 0; i < a.size(); i++) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    const double scale = std::max<double>(std::abs(a[i]), size);
    if (std::abs(a[i] - b[i]) <= 3e-5 * scale) continue;
    return "at " + std::to_string(i) + ": " + std::to_string(a[i]) + " against " +
           std::to_string(b[i]);
  }
  return {};
}

TEST_CASE("online: the rewritten program gives what the algorithm gives") {
  for (const Known &k : known_cascades()) {
    INFO(std::string(k.name));
    const ir::Program p = ir::parse_program(cascade_text(k.funcs));
    const OnlineResult r = plan_of(cascade_text(k.funcs), k.members);
    REQUIRE(r);
    for (int block : {1, 5, 8, 24, 100}) {
      if (r.plan->rvars.size() > 1 && block > 4) continue;
      const OnlineRewrite w = rewrite_online(p, *r.plan, ir::make_int(Int(32), block));
      INFO(ir::to_string(w.program));
      const auto problems = ir::verify(w.program);
      CHECK_MESSAGE(problems.empty(), (problems.empty() ? "" : problems[0]));
      // n = -40: nothing valid; 2: the first rows lack the later blocks; 40: all valid
      for (int n : {-40, 2, 40}) {
        CHECK(difference(run(p, 7, 3, n), run(w.program, 7, 3, n), 1) == "");
      }
    }
  }
}

TEST_CASE("online: split over the loop, merged states give what the algorithm gives") {
  for (const Known &k : known_cascades()) {
    INFO(std::string(k.name));
    const ir::Program p = ir::parse_program(cascade_text(k.funcs));
    const OnlineResult r = plan_of(cascade_text(k.funcs), k.members);
    REQUIRE(r);
    if (r.plan->rvars.size() > 1) continue;
    for (int splits : {1, 2, 3, 7}) {
      const OnlineRewrite w =
          rewrite_online(p, *r.plan, ir::make_int(Int(32), 5), ir::make_int(Int(32), splits));
      INFO(ir::to_string(w.program));
      const auto problems = ir::verify(w.program);
      CHECK_MESSAGE(problems.empty(), (problems.empty() ? "" : problems[0]));
      CHECK(w.stages.back().merge == "O.merge");
      for (int n : {-40, 2, 40}) {
        CHECK(difference(run(p, 11, 3, n), run(w.program, 11, 3, n), 1) == "");
      }
    }
  }
}

TEST_CASE("online: lengths that no block divides") {
  for (int length : {0, 1, 7, 33}) {
    const std::string domain = "r in 2 +: " + std::to_string(length);
    const std::string text = cascade_text(
        max_of("M", "i", "@X(r, i)", domain) + sum_of("L", "i", "exp(@X(r, i) - M(i))", domain) +
        sum_of("O", "d, i", "exp(@X(r, i) - M(i))/L(i)*@V(r, d)", domain));
    const OnlineResult r = plan_of(text, {"M", "L"});
    REQUIRE(r);
    const ir::Program p = ir::parse_program(text);
    for (int block : {1, 4, 7, 64}) {
      const OnlineRewrite w = rewrite_online(p, *r.plan, ir::make_int(Int(32), block));
      CHECK(difference(run(p, 3, 3, 0), run(w.program, 3, 3, 0), 1) == "");
    }
  }
}

TEST_CASE("online: the shape of the rewritten program") {
  for (const Known &k : known_cascades()) {
    if (std::string(k.name) != "weighted sum, normalised" && std::string(k.name) != "variance")
      continue;
    const std::string text = cascade_text(k.funcs);
    const OnlineRewrite w = rewrite_online(ir::parse_program(text), *plan_of(text, k.members).plan,
                                           ir::make_int(Int(32), 8));
    std::string all = ir::to_string(w.program) + "group over " + w.block_var + " of " +
                      ir::to_string(w.blocks) + " blocks\n";
    for (const OnlineStage &s : w.stages)
      all += "  " + s.part + " -> " + s.func + (s.needs_old ? " (old value read)" : "") + "\n";
    CHECK_GOLDEN(std::string(k.name) == "variance" ? "transform/rewrite_variance"
                                                   : "transform/rewrite_attention",
                 all);
  }
}

TEST_CASE("online: the rewritten program compiles, with all states at root") {
  const std::string text =
      cascade_text(kMax + kSum + sum_of("O", "d, i", "exp(@X(r, i) - M(i))/L(i)*@V(r, d)"));
  const OnlineRewrite w = rewrite_online(ir::parse_program(text), *plan_of(text, {"M", "L"}).plan,
                                         ir::make_int(Int(32), 8));
  schedule::Schedule at_root;
  for (const OnlineStage &stage : w.stages) {
    for (const ir::Name &n : {stage.part, stage.func}) {
      schedule::Directive d;
      d.kind = schedule::DirectiveKind::compute_root;
      d.func = n;
      at_root.directives.push_back(d);
    }
  }
  const CompiledCase compiled(w.program, at_root, get_host_target());
  const CaseResult c = compiled.run({{0, 0}, {3, 6}}, 1);
  INFO(c.text);
  CHECK(c.kind == CaseResult::Same);
}

}  // namespace
}  // namespace calotype::test
