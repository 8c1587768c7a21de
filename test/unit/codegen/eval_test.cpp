// Random expressions, compiled and run, against the evaluator, which shares no code with LLVM.
#include "column.h"
#include "run.h"

#include "ir/eval.h"
#include "ir/math.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "support/ir_gen.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

using namespace codegen_test;

namespace {

/// The generator uses one name at many types: a name per type, so that each has one value.
class NamePerType : public ir::IRMutator {
public:
  using IRMutator::visit;
  Expr visit(const ir::Variable *op) override {
    return ir::make_var(op->name + "." + to_string(op->type), op->type);
  }
  Expr visit(const ir::Let *op) override {
    Expr value = mutate(op->value);
    return ir::make_let(op->name + "." + to_string(value.type()), value, mutate(op->body));
  }
};

/// A column of `lanes` elements with the lanes of a Value, and back.
Column column_of(const ir::Value &v) {
  Column c(v.type.element_of(), v.lanes.size());
  for (size_t i = 0; i < v.lanes.size(); i++) {
    Scalar s;
    s.whole = static_cast<Wide>(v.as_int(static_cast<int>(i)));
    if (v.type.is_float()) s.real = static_cast<long double>(v.as_float(static_cast<int>(i)));
    c.set(i, s);
  }
  return c;
}

ir::Value random_value(Type t, std::mt19937 &random) {
  std::vector<Scalar> choices = edges(t.element_of());
  ir::Value v;
  v.type = t;
  for (int i = 0; i < t.lanes(); i++) {
    const Scalar &s = choices[random() % choices.size()];
    ir::Value one = t.is_float() ? ir::Value::of_float(t.element_of(), static_cast<double>(s.real))
                                 : ir::Value::of_int(t.element_of(), static_cast<int64_t>(s.whole));
    v.lanes.push_back(one.lanes[0]);
  }
  return v;
}

void compare(uint32_t seed, int count, const Target &target) {
  test::IrGenerator generator(seed);
  generator.calls = generator.loads = generator.params = generator.odd_names = false;
  std::mt19937 random(seed);
  ir::EvalContext cx;
  cx.fma = target.fuses_multiply_add();
  std::vector<Expr> exprs;
  std::map<std::string, Type> free;
  for (int i = 0; i < count; i++) {
    Expr e = NamePerType().mutate(generator.expr(generator.any_type(), 4));
    exprs.push_back(e);
    ir::for_each_expr(e, [&](const Expr &n) {
      if (const auto *v = n.as<ir::Variable>()) free[v->name.str()] = v->type;
    });
  }
  std::vector<Column> columns;
  columns.reserve(free.size() + exprs.size());
  std::vector<Array> arrays;
  std::vector<std::pair<std::string, Expr>> lets;
  auto dense = [](Type t) { return t.is_scalar() ? Expr(0) : ir::make_ramp(0, 1, t.lanes()); };
  for (const auto &v : free) {
    ir::Value value = random_value(v.second, random);
    cx.vars[v.first] = value;
    columns.push_back(column_of(value));
    std::string memory = v.first + ".in";
    arrays.push_back({memory, v.second.element_of(), columns.back().data()});
    lets.push_back({v.first, ir::make_load(v.second, memory, dense(v.second))});
  }
  ir::Stmt body;
  for (size_t i = 0; i < exprs.size(); i++) {
    Type t = exprs[i].type();
    columns.emplace_back(t.element_of(), t.lanes());
    std::string memory = "out" + std::to_string(i);
    arrays.push_back({memory, t.element_of(), columns.back().data(), true});
    body = ir::make_block(body, ir::make_store(memory, ir::expand_intrinsics(exprs[i]), dense(t)));
  }
  for (const auto &l : lets) body = ir::make_let_stmt(l.first, l.second, body);
  REQUIRE(run(body, arrays, target) == 0);
  for (size_t i = 0; i < exprs.size(); i++) {
    std::optional<ir::Value> expected = ir::evaluate(exprs[i], cx);
    if (!expected) continue;
    Column e = column_of(*expected);
    const Column &got = columns[free.size() + i];
    CHECK(got.guards_intact());
    for (size_t k = 0; k < e.size; k++) {
      bool equal = same(e.type, got.bits(k), e.bits(k));
      CHECK_MESSAGE(equal, "seed " << seed << " on " << target.to_string() << ", lane " << k << ": "
                                   << ir::to_string(exprs[i]) << "\n  compiled " << got.bits(k)
                                   << ", evaluated " << e.bits(k));
      if (!equal) break;
    }
  }
}

}  // namespace

TEST_CASE("codegen/eval: compiled random expressions have the evaluator's values") {
  for (uint32_t seed = 1; seed <= 30; seed++) compare(seed, 10, get_host_target());
  for (uint32_t seed = 31; seed <= 45; seed++) compare(seed, 10, Target("x86-64-linux"));
}

TEST_CASE("codegen/eval: many compiled random expressions have the evaluator's values" *
          doctest::test_suite("slow")) {
  for (uint32_t seed = 1000; seed < 2000; seed++) {
    compare(seed, 10, seed % 3 ? get_host_target() : Target("x86-64-linux"));
  }
}
