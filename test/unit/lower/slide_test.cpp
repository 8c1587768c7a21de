// Windows that slide through nested loops, split tails and several Funcs: every row is computed once, which the loops'
// own counts show; and what `calo explain --at` answers.
#include <doctest/doctest.h>

#include "ir/eval.h"
#include "lower/explain_point.h"
#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {

const char *kChain =
    "program p {\n"
    "  func f(x, y): i32 {\n"
    "    f(x, y) = x + y * 3\n"
    "  }\n"
    "  func g(x, y): i32 {\n"
    "    g(x, y) = f(x, y - 1) + f(x, y) + f(x, y + 1)\n"
    "  }\n"
    "  func out(x, y): i32 {\n"
    "    out(x, y) = g(x, y - 1) + g(x, y + 1)\n"
    "  }\n"
    "  output out\n"
    "}\n";

// Runs the loops that build_loops makes, at one size, and counts the points of `func` that are computed.
class Counter {
public:
  Counter(const LoweredCase &c, const std::string &func, int width, int height) : func_(func) {
    const auto size = [&](const char *field, int d, int v) {
      values_.vars[ir::Name("out." + std::string(field) + "." + std::to_string(d))] =
          ir::Value::of_int(Int(32), v);
    };
    size("min", 0, 0), size("extent", 0, width), size("min", 1, 5), size("extent", 1, height);
    lower::PassContext cx = {};
    cx.program = c.context.program;
    cx.state = c.context.state;
    cx.target = c.context.target;
    run(lower::run_pass("build_loops", {}, cx));
  }
  int64_t points = 0;

private:
  int64_t value(const Expr &e) {
    const auto v = ir::evaluate(e, values_);
    REQUIRE(v.has_value());
    return static_cast<int64_t>(v->lanes[0]);
  }
  int32_t int_value(const Expr &e) { return static_cast<int32_t>(value(e)); }

  void run(const ir::Stmt &s) {
    if (!s.defined()) return;
    if (const auto *let = s.as<ir::LetStmt>()) {
      const auto v = ir::evaluate(let->value, values_);
      REQUIRE(v.has_value());
      values_.vars[let->name] = *v;
      run(let->body);
    } else if (const auto *loop = s.as<ir::For>()) {
      const int32_t min = int_value(loop->min), extent = int_value(loop->extent);
      for (int32_t i = min; i < min + extent; i++) {
        values_.vars[loop->name] = ir::Value::of_int(Int(32), i);
        run(loop->body);
      }
    } else if (const auto *pc = s.as<ir::ProducerConsumer>()) {
      run(pc->body);
    } else if (const auto *b = s.as<ir::Block>()) {
      run(b->first);
      run(b->rest);
    } else if (const auto *r = s.as<ir::Realize>()) {
      run(r->body);
    } else if (const auto *a = s.as<ir::Allocate>()) {
      values_.memory[a->name] = {0};
      values_.memory_types[a->name] = a->type;
      run(a->body);
    } else if (const auto *st = s.as<ir::Store>()) {
      values_.memory[st->name] = ir::evaluate(st->value, values_)->lanes;
    } else if (const auto *branch = s.as<ir::IfThenElse>()) {
      run(value(branch->condition) ? branch->then_case : branch->else_case);
    } else if (const auto *p = s.as<ir::Provide>()) {
      points += p->name == func_;
    }
  }

  ir::EvalContext values_;
  std::string func_;
};

int64_t count(const char *program, const std::string &lines, const std::string &func, int width,
              int height) {
  return Counter(LoweredCase(program, lines), func, width, height).points;
}

}  // namespace

TEST_CASE("slide: each row once, through a split loop") {
  for (int height : {8, 16, 17, 1, 30}) {
    CAPTURE(height);
    CHECK(count(kChain,
                "out.split(y, yo, yi, 8)\ng.store_root().compute_at(out, yi)\nf.compute_root()\n",
                "g", 4, height) == 4 * (height + 2));
    CHECK(count(kChain, "out.split(y, yo, yi, 8)\ng.store_root().compute_at(out, yo)\n", "g", 4,
                height) == 4 * (height + 2));
    CHECK(
        count(kChain,
              "out.split(y, yo, yi, 8).split(yi, ym, yj, 3)\ng.store_root().compute_at(out, yj)\n",
              "g", 4, height) == 4 * (height + 2));
  }
}

TEST_CASE("slide: several Funcs together") {
  const std::string together =
      "out.split(y, yo, yi, 8)\ng.store_root().compute_at(out, yi)\n"
      "f.store_root().compute_at(out, yi)\n";
  for (int height : {16, 19}) {
    CHECK(count(kChain, together, "g", 4, height) == 4 * (height + 2));
    CHECK(count(kChain, together, "f", 4, height) == 4 * (height + 4));
  }
  CHECK(first_difference(kChain, together, 9, 19) == "");
}

TEST_CASE("slide: tails that shift inwards compute no row twice") {
  const std::string lines =
      "out.split(y, yo, yi, 8, ShiftInwards)\ng.store_root().compute_at(out, yi)\n";
  CHECK(count(kChain, lines, "g", 4, 19) == 4 * 21);
  CHECK(first_difference(kChain, "out.split(y, yo, yi, 8)\ng.store_root().compute_at(out, yi)\n", 9,
                         19) == "");
}

TEST_CASE("slide: what does not slide says at which step that fails") {
  CHECK(LoweredCase(kChain, "out.parallel(y)\ng.compute_at(out, y)\n").context.storage.count("g") ==
        1);
  const char *both =
      "program p {\n  func f(x, y): i32 {\n    f(x, y) = x + y\n  }\n"
      "  func out(x, y): i32 {\n    out(x, y) = f(x + y, y) + f(x + y, y + 1)\n  }\n  output "
      "out\n}\n";
  CHECK(LoweredCase(both, "f.store_root().compute_at(out, y)\n").slides("f").find("moves in") !=
        std::string::npos);
}

TEST_CASE("explain --at: regions and iterations of one point") {
  const LoweredCase c(
      kChain,
      "out.split(y, yo, yi, 8).vectorize(x, 4)\ng.store_root().compute_at(out, yi)\n"
      "f.compute_root()\n");
  const lower::PointAnswer a = lower::explain_point(c.context, "out", {17, 33});
  REQUIRE(a.needs.size() == 2);
  CHECK(a.needs[0].name == "g");
  CHECK(ir::to_string(a.needs[0].region[1].min) == "32");
  CHECK(ir::to_string(a.needs[0].region[1].max) == "34");
  CHECK(a.needs[1].name == "f");
  CHECK(ir::to_string(a.needs[1].region[1].min) == "31");
  CHECK(ir::to_string(a.needs[1].region[1].max) == "35");
  REQUIRE(a.loops.size() == 4);
  CHECK(a.loops[0].loop == "yo");
  CHECK(a.loops[3].loop == "x.v");
  ir::EvalContext sizes;
  for (const char *n : {"out.min.0", "out.min.1"}) sizes.vars[n] = ir::Value::of_int(Int(32), 0);
  for (const char *n : {"out.extent.0", "out.extent.1"})
    sizes.vars[n] = ir::Value::of_int(Int(32), 100);
  const int64_t want[] = {4, 1, 4, 1};
  for (size_t i = 0; i < 4; i++) {
    const auto v = ir::evaluate(a.loops[i].iteration, sizes);
    REQUIRE(v.has_value());
    CHECK(static_cast<int64_t>(v->lanes[0]) == want[i]);
  }
}
