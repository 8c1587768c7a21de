// Compiling and running whole functions: arguments, loops, allocation, errors, parallel loops.
#include "run.h"

#include "ir/visit.h"

#include <doctest/doctest.h>

using namespace codegen_test;

TEST_CASE("codegen/jit: a loop of vectors writes every element") {
  std::vector<int32_t> out(64, -1);
  Expr i = ir::make_var("i");
  Expr index = ir::make_ramp(ir::make_mul(i, 8), 1, 8);
  ir::Stmt s = ir::make_for("i", 0, 8, ir::ForType::Serial,
                            ir::make_store("out", ir::make_mul(index, ir::make_broadcast(3, 8)), index));
  CHECK(run(s, {{"out", Int(32), out.data(), true}}) == 0);
  for (int k = 0; k < 64; k++) CHECK(out[k] == 3 * k);
}
