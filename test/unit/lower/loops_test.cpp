// The shape of lowered loops: partitioning, vectors, small outputs.
#include <doctest/doctest.h>

#include <algorithm>

#include "ir/verify.h"
#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {

// Loops named `name` in program order, with the number of clamps (min, max) directly or deeply inside.
std::vector<int> clamps_in_loops(const ir::Stmt &s, const std::string &name) {
  class Finder final : public ir::IRMutator {
  public:
    explicit Finder(std::string n) : name_(std::move(n)) {}
    using IRMutator::visit;
    std::vector<int> found;
    ir::Stmt visit(const ir::For *op) override {
      if (op->name.str().find(name_) == std::string::npos) return IRMutator::visit(op);
      int n = 0;
      ir::for_each_expr(op->body, [&](const Expr &e) { n += e.as<ir::Min>() || e.as<ir::Max>(); });
      found.push_back(n);
      return ir::Stmt(op);
    }

  private:
    std::string name_;
  };
  Finder f(name);
  f.mutate(s);
  return f.found;
}

const char *const kClamped =
    "program clamped {\n"
    "  param in0: u8[2]\n"
    "  param w: i32 bits=60:u64\n"
    "  func out(x, y): u8 {\n"
    "    out(x, y) = @in0(max(min(likely(x - 1), 60), 0), y) / 2:u8 + @in0(max(min(likely(x + 1), "
    "60), 0), y) / 2:u8\n"
    "  }\n"
    "  output out\n"
    "}\n";
}  // namespace

TEST_CASE("partitioning: the steady state has no clamps") {
  LoweredCase c(kClamped, "");
  std::vector<int> clamps = clamps_in_loops(c.lowered.body, "out.s0.x");
  REQUIRE(clamps.size() >= 2);
  CHECK(*std::min_element(clamps.begin(), clamps.end()) == 0);
  CHECK(*std::max_element(clamps.begin(), clamps.end()) > 0);
}

TEST_CASE("partitioning: values stay at every size and position") {
  for (const char *lines :
       {"", "out.vectorize(x, 8)\n", "out.split(x, xo, xi, 16).vectorize(xi, 8)\n",
        "out.parallel(y).vectorize(x, 16, GuardWithIf)\n"}) {
    for (int min : {-70, -3, 0, 40, 100}) {
      INFO(lines << " min " << min);
      CHECK(first_difference(kClamped, lines, 35, 2, min) == "");
    }
  }
}

TEST_CASE("vectors: a vectorised loop becomes lanes, no loop is left of it") {
  LoweredCase c(blur_text(), "out.vectorize(x, 8)\n");
  bool ramps = false;
  ir::for_each_expr(c.lowered.body, [&](const Expr &e) {
    const auto *load = e.as<ir::Load>();
    ramps |= load && load->type == UInt(16, 8);
  });
  CHECK(ramps);
  ir::StmtProperties flat;
  flat.no_vector_loops = flat.flat_storage = true;
  CHECK(ir::verify(c.lowered.body, flat).empty());
}

TEST_CASE("vectors: every lane count gives the same picture") {
  for (int lanes : {1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64}) {
    INFO(lanes);
    std::string n = std::to_string(lanes);
    CHECK(first_difference(blur_text(), "out.vectorize(x, " + n + ")\n", 12, 2) == "");
    CHECK(run_lines(blur_text(),
                    "out.vectorize(y, " + n + ")\nbx.compute_root().vectorize(x, " + n + ")\n",
                    {{-9, 4}, {37, 21}, 3})
              .kind == CaseResult::Same);
  }
}

TEST_CASE("loops: fused, renamed and reordered loops") {
  for (const char *lines :
       {"out.fuse(x, y, t).parallel(t)\n", "out.fuse(x, y, t).vectorize(t, 8)\n",
        "out.rename(x, u).reorder(y, u)\n",
        "out.split(x, xo, xi, 4).fuse(xo, y, t).parallel(t).vectorize(xi)\n", "out.fuse(y, x, t)\n",
        "out.fuse(x, y, t).split(t, to, ti, 7).unroll(ti)\nbx.compute_at(out, to)\n"}) {
    INFO(lines);
    CHECK(first_difference(blur_text(), lines, 20, 6) == "");
  }
}

TEST_CASE("unrolling: copies of a loop that ends early") {
  CHECK(first_difference(blur_text(), "out.unroll(x, 3).unroll(y, 2)\n", 14, 5) == "");
  CHECK(first_difference(blur_text(), "out.unroll(x, 3, GuardWithIf)\nbx.compute_at(out, x)\n", 14,
                         5) == "");
}
