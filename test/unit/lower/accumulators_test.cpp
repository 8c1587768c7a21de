// Elements that loops update, kept in registers (keep_accumulators), and guards decided before the loops that do not
// change them (partition_loops): what is kept, what must not be, and the interpreter's bits at every size.
#include <doctest/doctest.h>

#include <regex>
#include <sstream>

#include "codegen/object.h"
#include "programs.h"

using namespace calotype;
using namespace calotype::test;

namespace {

// out(x, y) = sum of a(k, y) * b(x, k) over `terms`, then more updates.
std::string product(const std::string &terms = "0 +: 21", const std::string &type = "f32",
                    const std::string &more = "") {
  return "program p {\n  param a: " + type + "[2]\n  param b: " + type +
         "[2]\n  func out(x, y): " + type + " {\n    out(x, y) = 0:" + type +
         "\n    out(x, y) = out(x, y) + @a(k.x, y) * @b(x, k.x) for k.x in " + terms + "\n" + more +
         "  }\n  output out\n}\n";
}

const char *const kTile =
    "out.update(0).split(x, x, xi, 8).split(y, y, yi, 3).reorder(xi, yi, k.x, x, y)"
    ".vectorize(xi, 4).unroll(xi).unroll(yi)\n";

// What registers are made for, each once, outermost first; "" if nothing is kept.
std::string kept(const std::string &program, const std::string &lines) {
  const LoweredCase c(program, lines);
  const std::string text = ir::to_string(c.lowered.body);
  const std::regex memory("allocate (\\S+) \\[([0-9, ]+)\\] in register");
  std::string all;
  for (std::sregex_iterator i(text.begin(), text.end(), memory), end; i != end; ++i) {
    const std::string one = (*i)[1].str() + " " + (*i)[2].str();
    if (all.find(one) == std::string::npos) all += (all.empty() ? "" : "; ") + one;
  }
  return all;
}

}  // namespace

TEST_CASE("keep_accumulators: a register tile, at every size") {
  CHECK(kept(product(), kTile) == "out.kept.0:f32 24");
  for (const char *type : {"f32", "i32", "u8"}) {
    CHECK(first_difference(product("0 +: 21", type), kTile, 19, 7, -3) == "");
    CHECK(first_difference(product("3 +: 0", type), kTile, 9, 4) == "");  // no terms
  }
  // The reduction in blocks, its tail in and outside of the kept loop.
  const std::string blocks =
      "out.update(0).split(k.x, ko, ki, 4).split(x, x, xi, 8).reorder(xi, ki, ko, x, y)"
      ".vectorize(xi).unroll(ki)\n";
  CHECK(kept(product(), blocks) == "out.kept.0:f32 8");
  CHECK(first_difference(product(), blocks, 19) == "");
}

TEST_CASE("keep_accumulators: a single element, Tuples, several updates, lanes that combine") {
  CHECK(kept(product(), "out.update(0).reorder(k.x, x, y)\n") == "out.kept.0:f32 1");
  CHECK(first_difference(product(), "out.update(0).reorder(k.x, x, y)\n", 9) == "");
  const std::string two =
      product("0 +: 21", "f32", "    out(x, y) = out(x, y) - @a(j.x, y) for j.x in 0 +: 5\n");
  CHECK(kept(two, std::string(kTile) + "out.update(1).reorder(j.x, x, y)\n")
            .find("; out.kept.0:f32 1") != std::string::npos);
  CHECK(first_difference(two, kTile, 19, 7) == "");
  const std::string best =
      "program p {\n  param in0: u8[2]\n  func f(x): {i32, u8} {\n    f(x) = {-7, 255:u8}\n"
      "    f(x) = {select(@in0(x, r.x) < f(x).1, r.x, f(x)), select(@in0(x, r.x) < f(x).1, "
      "@in0(x, r.x), f(x).1)} for r.x in 0 +: 29\n  }\n"
      "  func out(x, y): i32 {\n    out(x, y) = f(x) * 256 + i32(f(x).1) + y\n  }\n  output "
      "out\n}\n";
  const char *const columns =
      "f.compute_root().update(0).split(x, x, xi, 8).reorder(xi, r.x, x).vectorize(xi)\n";
  CHECK(kept(best, columns).find("f.kept.1:u8 8") != std::string::npos);
  CHECK(first_difference(best, columns, 19) == "");
  const char *const lanes =
      "out.update(0).atomic().split(k.x, ko, ki, 8).reorder(ki, ko, x, y).vectorize(ki)\n";
  CHECK(kept(product("0 +: 21", "i32"), lanes) == "out.kept.0:i32 1");
  CHECK(first_difference(product("0 +: 21", "i32"), lanes, 9) == "");
}

TEST_CASE("keep_accumulators: what must stay in memory") {
  // Threads meet at one element.
  CHECK(kept(product("0 +: 21", "i32"), "out.update(0).atomic().parallel(k.x)\n") == "");
  // A recurrence: the element moves with the loop.
  const std::string scan =
      "program p {\n  param in0: i32[2]\n  func out(x, y): i32 {\n    out(x, y) = @in0(x, y)\n"
      "    out(r.x, y) = out(r.x - 1, y) + out(r.x, y) for r.x in 1 +: 12\n  }\n  output out\n}\n";
  CHECK(kept(scan, "") == "");
  // Other elements of the Func are read: they may be the kept ones.
  const std::string neighbours =
      "program p {\n  param in0: i32[2]\n  func f(x): i32 {\n    f(x) = @in0(x, 0)\n"
      "    f(0) = f(0) + f(r.x) * 3 for r.x in 0 +: 7\n  }\n"
      "  func out(x, y): i32 {\n    out(x, y) = f(x) + y\n  }\n  output out\n}\n";
  CHECK(kept(neighbours, "f.compute_root().bound(x, 0, 40)\n") == "");
  CHECK(first_difference(neighbours, "f.compute_root().bound(x, 0, 40)\n", 9) == "");
  // Two iterations of an unrolled loop at one element.
  const std::string halves =
      "program p {\n  param in0: i32[2]\n  func f(x): i32 {\n    f(x) = 0\n"
      "    f(r.x / 2) = f(r.x / 2) + @in0(r.y, r.x) for r.x in 0 +: 8, r.y in 0 +: 5\n  }\n"
      "  func out(x, y): i32 {\n    out(x, y) = f(x) + y\n  }\n  output out\n}\n";
  const char *const unrolled =
      "f.compute_root().bound(x, 0, 40).update(0).reorder(r.x, r.y).unroll(r.x)\n";
  CHECK(kept(halves, unrolled) == "");
  CHECK(first_difference(halves, unrolled, 9) == "");
  // Which elements an iteration updates depends on the iteration.
  const std::string triangle = product("0 +: 21 if k.x <= x", "i32");
  CHECK(kept(triangle, kTile) == "");
  CHECK(first_difference(triangle, kTile, 19, 7) == "");
  // Too many for any processor's registers.
  CHECK(kept(product(),
             "out.update(0).split(x, x, xi, 128).split(y, y, yi, 8).reorder(xi, yi, k.x, x, y)"
             ".vectorize(xi, 8).unroll(xi).unroll(yi)\n") == "");
}

TEST_CASE("keep_accumulators: conditions of whole iterations, and producers inside the loop") {
  const std::string some = product("0 +: 21 if k.x % 3 != 1", "i32");
  CHECK(kept(some, kTile) == "out.kept.0:i32 24");
  CHECK(first_difference(some, kTile, 19, 7) == "");
  const std::string staged =
      "program p {\n  param a: i32[2]\n  param b: i32[2]\n  func s(x, k): i32 {\n"
      "    s(x, k) = @b(x, k) * 3\n  }\n  func out(x, y): i32 {\n    out(x, y) = 0\n"
      "    out(x, y) = out(x, y) + @a(k.x, y) * s(x, k.x) for k.x in 0 +: 21\n  }\n  output "
      "out\n}\n";
  const std::string inside =
      std::string(kTile) + "s.compute_at(out.update(0), k.x).vectorize(x, 4)\n";
  CHECK(kept(staged, inside) == "out.kept.0:i32 24");
  CHECK(first_difference(staged, inside, 19, 7) == "");
}

TEST_CASE("partition_loops: guards that a loop does not change are decided before it") {
  // In the steady state the loop over k.x holds no condition and no mask.
  const LoweredCase c(product(), kTile);
  bool bare = false;
  ir::for_each_stmt(c.lowered.body, [&](const ir::Stmt &s) {
    const ir::For *loop = s.as<ir::For>();
    if (!loop || loop->name.str().find("k.x") == std::string::npos) return;
    int conditions = 0, stores = 0;
    ir::for_each_stmt(loop->body, [&](const ir::Stmt &inner) {
      conditions += inner.as<ir::IfThenElse>() != nullptr;
      const ir::Store *store = inner.as<ir::Store>();
      stores += store != nullptr;
      conditions += store && store->predicate.defined() && !ir::is_const_one(store->predicate);
    });
    bare |= conditions == 0 && stores == 6;
  });
  CHECK(bare);
  // Unless loops are not to be cut.
  CHECK(first_difference(product(), std::string(kTile) + "out.update(0).never_partition_all()\n",
                         19, 7) == "");
}

TEST_CASE("keep_accumulators: registers in the assembly of a steady state") {
  // Panels of both matrices are copied, so that addresses in the loop are constants from one register each.
  const std::string panels =
      "program p {\n  param a: f32[2]\n  param b: f32[2]\n"
      "  func left(k, y): f32 {\n    left(k, y) = @a(k, y)\n  }\n"
      "  func right(x, k): f32 {\n    right(x, k) = @b(x, k)\n  }\n"
      "  func out(x, y): f32 {\n    out(x, y) = 0:f32\n"
      "    out(x, y) = fma(left(k.x, y), right(x, k.x), out(x, y)) for k.x in 0 +: 256\n  }\n"
      "  output out\n}\n";
  const Target t("x86-64-linux-avx-avx2-f16c-fma-sse41");
  const ir::Program p = ir::parse_program(panels);
  const schedule::Schedule s = schedule::parse_schedule(
      "calotype 1\nout.update(0).split(x, x, xi, 16).split(y, yo, y, 96).split(y, y, yi, 6)"
      ".reorder(xi, yi, k.x, y, x, yo).vectorize(xi, 8).unroll(xi).unroll(yi)\n"
      "left.compute_at(out.update(0), yo).vectorize(k, 8)\n"
      "right.compute_at(out.update(0), x).vectorize(x, 8)\n",
      "test.sched");
  std::istringstream text(codegen::compile_object(lower::lower(schedule::apply(p, s, t), t), t, "f",
                                                  codegen::ObjectForm::Assembly));
  // The twelve products of one step make a loop of their own, in which nothing is stored.
  int products = 0, stores = 0, tight = 0;
  for (std::string line; std::getline(text, line);) {
    const bool label = line.rfind(".LBB", 0) == 0, jump = line.rfind("\tj", 0) == 0;
    const bool last_is_memory = !line.empty() && line.back() == ')';
    products += line.find("vfmadd231ps") != std::string::npos;
    stores += line.find("\tvmov") == 0 && last_is_memory;
    if (jump && products == 12 && stores == 0) tight++;
    if (label || jump) products = stores = 0;
  }
  CHECK(tight > 0);
}
