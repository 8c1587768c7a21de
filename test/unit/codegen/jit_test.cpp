// Compiling and running whole functions: arguments, loops, allocation, errors, parallel loops, targets.
#include "run.h"

#include "ir/visit.h"

#include <doctest/doctest.h>

#include <atomic>
#include <set>

using namespace codegen_test;

namespace {

Expr error(const char *reporter, std::vector<Expr> args) {
  args.insert(args.begin(), ir::make_string(reporter));
  return ir::make_intrinsic(Int(32), ir::Intrinsic::error, args);
}

Expr at(const char *array, Expr index) { return ir::make_load(Int(32), array, index); }

}  // namespace

TEST_CASE("codegen/jit: a loop of vectors writes every element") {
  std::vector<int32_t> out(64, -1);
  Expr i = ir::make_var("i");
  Expr index = ir::make_ramp(ir::make_mul(i, 8), 1, 8);
  ir::Stmt s =
      ir::make_for("i", 0, 8, ir::ForType::Serial,
                   ir::make_store("out", ir::make_mul(index, ir::make_broadcast(3, 8)), index));
  CHECK(run(s, {{"out", Int(32), out.data(), true}}) == 0);
  for (int k = 0; k < 64; k++) CHECK(out[k] == 3 * k);
}

TEST_CASE("codegen/jit: scalar arguments of every type arrive unchanged") {
  lower::LoweredFunction f;
  f.name = "scalars";
  struct Case {
    Type type;
    uint64_t bits;
  };
  std::vector<Case> cases = {{Int(8), 0x85},
                             {UInt(8), 0x85},
                             {Int(16), 0x8123},
                             {Int(32), 0x80000001u},
                             {UInt(64), ~uint64_t(0)},
                             {Float(32), 0x40490fdb},
                             {Float(64), 0x400921fb54442d18},
                             {Bool(), 1},
                             {Float(16), 0x3c01}};
  ir::Stmt s;
  std::vector<uint64_t> out(cases.size(), 0);
  std::vector<const void *> args;
  for (size_t i = 0; i < cases.size(); i++) {
    std::string name = "p" + std::to_string(i);
    f.args.push_back({lower::LoweredArgument::Kind::InputScalar, name, cases[i].type, 0, {}});
    args.push_back(&cases[i].bits);
    Expr v = ir::make_var(name, cases[i].type);
    if (v.type().is_float()) v = ir::make_reinterpret(UInt(v.type().bits()), v);
    s = ir::make_block(s, ir::make_store("out", ir::make_cast(UInt(64), v), static_cast<int>(i)));
  }
  f.args.push_back({lower::LoweredArgument::Kind::OutputBuffer, "out", UInt(64), 1, {}});
  Expr handle = ir::make_var("out.buffer", Handle());
  f.body = ir::make_let_stmt("out",
                             ir::make_intrinsic(Handle(), ir::Intrinsic::buffer_host, {handle}), s);
  halide_buffer_t buffer{};
  buffer.host = reinterpret_cast<uint8_t *>(out.data());
  args.push_back(&buffer);
  CHECK(codegen::compile_jit(f, get_host_target()).call(nullptr, args.data()) == 0);
  for (size_t i = 0; i < cases.size(); i++) {
    uint64_t expected = cases[i].bits;
    if (cases[i].type.is_int()) {
      int unused = 64 - cases[i].type.bits();
      expected = static_cast<uint64_t>(static_cast<int64_t>(expected << unused) >> unused);
    }
    CHECK(out[i] == expected);
  }
}

TEST_CASE("codegen/jit: buffer fields are read and set") {
  halide_dimension_t dims[] = {{-3, 10, 1}, {5, 20, 10}};
  halide_buffer_t buffer{};
  buffer.dim = dims;
  buffer.dimensions = 2;
  buffer.type = UInt(16);
  std::vector<int32_t> out(10, -1);
  lower::LoweredFunction f;
  f.name = "fields";
  f.args.push_back({lower::LoweredArgument::Kind::InputBuffer, "in", UInt(16), 2, {}});
  f.args.push_back({lower::LoweredArgument::Kind::OutputBuffer, "out", Int(32), 1, {}});
  Expr in = ir::make_var("in.buffer", Handle());
  auto field = [&](ir::Intrinsic op, std::vector<Expr> more = {}) {
    more.insert(more.begin(), in);
    return ir::make_intrinsic(op == ir::Intrinsic::buffer_is_bounds_query ? Bool() : Int(32), op,
                              more);
  };
  std::vector<Expr> values = {field(ir::Intrinsic::buffer_min, {0}),
                              field(ir::Intrinsic::buffer_extent, {1}),
                              field(ir::Intrinsic::buffer_stride, {1}),
                              field(ir::Intrinsic::buffer_type_code),
                              field(ir::Intrinsic::buffer_dimensions),
                              ir::make_cast(Int(32), field(ir::Intrinsic::buffer_is_bounds_query))};
  ir::Stmt s;
  for (size_t i = 0; i < values.size(); i++)
    s = ir::make_block(s, ir::make_store("out", values[i], static_cast<int>(i)));
  s = ir::make_block(s, ir::make_evaluate(ir::make_intrinsic(
                            Int(32), ir::Intrinsic::buffer_set_bounds, {in, 1, 7, 8, 9})));
  Expr handle = ir::make_var("out.buffer", Handle());
  f.body = ir::make_let_stmt("out",
                             ir::make_intrinsic(Handle(), ir::Intrinsic::buffer_host, {handle}), s);
  halide_buffer_t result{};
  result.host = reinterpret_cast<uint8_t *>(out.data());
  const void *args[] = {&buffer, &result};
  CHECK(codegen::compile_jit(f, get_host_target()).call(nullptr, args) == 0);
  CHECK(out[0] == -3);
  CHECK(out[1] == 20);
  CHECK(out[2] == 10);
  CHECK(out[3] == (1 | 16 << 8 | 1 << 16));
  CHECK(out[4] == 2);
  CHECK(out[5] == 1);
  CHECK(dims[1].min == 7);
  CHECK(dims[1].extent == 8);
  CHECK(dims[1].stride == 9);
}

TEST_CASE("codegen/jit: loops of any extent run as often as they should") {
  for (int extent : {-5, 0, 1, 2, 9}) {
    std::vector<int32_t> out(12, 0);
    int32_t given[] = {-1, extent};
    Expr i = ir::make_var("i");
    ir::Stmt body =
        ir::make_store("out", ir::make_add(at("out", ir::make_add(i, 1)), 1), ir::make_add(i, 1));
    for (bool constant : {false, true}) {
      Expr n = constant ? Expr(extent) : at("given", 1);
      REQUIRE(run(ir::make_for("i", at("given", 0), n, ir::ForType::Serial, body),
                  {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}) == 0);
    }
    for (int k = 0; k < 12; k++) CHECK(out[k] == (k < extent ? 2 : 0));
  }
}

TEST_CASE("codegen/jit: branches choose, shadowed lets keep apart") {
  std::vector<int32_t> out(4, 0);
  Expr x = ir::make_var("x");
  Expr twice = ir::make_add(x, x);  // one node under two meanings of x
  Expr both =
      ir::make_add(ir::make_let("x", 5, twice), ir::make_add(twice, ir::make_let("x", 100, twice)));
  ir::Stmt s = ir::make_let_stmt("x", 1, ir::make_store("out", both, 0));
  s = ir::make_block(s, ir::make_if(ir::make_lt(at("out", 0), 5), ir::make_store("out", 1, 1),
                                    ir::make_store("out", 2, 1)));
  s = ir::make_block(s, ir::make_if(ir::make_gt(at("out", 0), 5), ir::make_store("out", 3, 2)));
  REQUIRE(run(s, {{"out", Int(32), out.data(), true}}) == 0);
  CHECK(out[0] == 10 + 2 + 200);
  CHECK(out[1] == 2);
  CHECK(out[2] == 3);
}

TEST_CASE("codegen/jit: an expression that shares its parts a hundred levels deep compiles") {
  std::vector<uint32_t> out(1, 0);
  Expr e = ir::make_load(UInt(32), "in", 0);
  for (int i = 0; i < 100; i++) e = ir::make_add(e, e);
  Expr wide_index = at("zero", 0);
  for (int i = 0; i < 100; i++) wide_index = ir::make_add(wide_index, wide_index);
  uint32_t one[] = {3};
  int32_t zero[] = {0};
  ir::Stmt s = ir::make_store("out", ir::make_add(e, ir::make_load(UInt(32), "in", wide_index)), 0);
  REQUIRE(run(s, {{"in", UInt(32), one},
                  {"zero", Int(32), zero},
                  {"out", UInt(32), out.data(), true}}) == 0);
  CHECK(out[0] == 3);
}

TEST_CASE("codegen/jit: allocations on stack and heap hold their values and are given back") {
  for (ir::MemoryType m : {ir::MemoryType::Auto, ir::MemoryType::Stack, ir::MemoryType::Heap}) {
    for (bool constant : {true, false}) {
      const int n = 100;
      std::vector<int32_t> out(n, -1);
      int32_t given[] = {n};
      Expr i = ir::make_var("i"), j = ir::make_var("j");
      ir::Stmt fill = ir::make_for("i", 0, n, ir::ForType::Serial,
                                   ir::make_store("tmp", ir::make_mul(i, i), i));
      ir::Stmt use =
          ir::make_for("j", 0, n, ir::ForType::Serial, ir::make_store("out", at("tmp", j), j));
      ir::Stmt s = ir::make_block(ir::make_producer("tmp", fill), ir::make_consumer("tmp", use));
      Expr extent = constant ? Expr(n) : at("given", 0);
      s = ir::make_allocate("tmp", Int(32), m, {extent}, ir::make_bool(true), s);
      int64_t before = runtime::memory_stats().live_bytes;
      REQUIRE(run(s, {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}) == 0);
      CHECK(runtime::memory_stats().live_bytes == before);
      for (int k = 0; k < n; k++) CHECK(out[k] == k * k);
    }
  }
}

TEST_CASE(
    "codegen/jit: an assertion that fails reports, frees what is allocated and returns the code") {
  int32_t given[] = {64, 5};
  Expr n = at("given", 0);
  std::vector<int32_t> out(1, 0);
  auto fails = [&](Expr condition) {
    ir::Stmt check = ir::make_assert(
        condition, error("calo_error_storage_bound",
                         {ir::make_string("test"), ir::make_string("f"), ir::make_string("x"),
                          at("given", 1), ir::make_const(Int(64), 9)}));
    ir::Stmt s = ir::make_block(check, ir::make_store("out", 1, 0));
    s = ir::make_allocate("b", Int(32), ir::MemoryType::Heap, {n, n}, ir::make_bool(true), s);
    s = ir::make_for("i", 0, 3, ir::ForType::Serial, s);
    return ir::make_allocate("a", UInt(8), ir::MemoryType::Heap, {n}, ir::make_bool(true), s);
  };
  int64_t before = runtime::memory_stats().live_bytes;
  runtime::JitContext context;
  CHECK(run(fails(ir::make_gt(n, 0)),
            {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}, get_host_target(),
            &context) == 0);
  CHECK(context.error().code == 0);
  CHECK(out[0] == 1);
  out[0] = 0;
  CHECK(run(fails(ir::make_gt(n, 64)),
            {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}, get_host_target(),
            &context) == -45);
  CHECK(context.error().code == -45);
  CHECK(out[0] == 0);
  CHECK(runtime::memory_stats().live_bytes == before);
}

TEST_CASE("codegen/jit: memory that cannot be had is an error, overflowing sizes included") {
  int32_t given[] = {0x7fffffff};
  Expr n = at("given", 0);
  std::vector<int32_t> out(1, 0);
  for (int dimensions : {2, 3}) {
    std::vector<Expr> extents(dimensions, n);
    ir::Stmt s = ir::make_allocate(
        "a", Float(64), ir::MemoryType::Auto, extents, ir::make_bool(true),
        ir::make_store("out", ir::make_cast(Int(32), ir::make_load(Float(64), "a", 0)), 0));
    runtime::JitContext context;
    CHECK(run(s, {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}, get_host_target(),
              &context) == -11);
    CHECK(context.error().code == -11);
  }
}

TEST_CASE("codegen/jit: an allocation whose condition is false is not made") {
  int32_t given[] = {0x7fffffff, 0};
  std::vector<int32_t> out(1, 0);
  Expr wanted = ir::make_ne(at("given", 1), 0);
  ir::Stmt s = ir::make_allocate(
      "a", Int(32), ir::MemoryType::Heap, {at("given", 0), at("given", 0)}, wanted,
      ir::make_if(wanted, ir::make_store("out", at("a", 0), 0), ir::make_store("out", 4, 0)));
  CHECK(run(s, {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}) == 0);
  CHECK(out[0] == 4);
}

TEST_CASE("codegen/jit: parallel loops see the values around them, nested too") {
  const int w = 33, h = 17;
  std::vector<int32_t> out(w * h, -1);
  Expr x = ir::make_var("x"), y = ir::make_var("y"), k = ir::make_var("k");
  // Captured: a let, a vector let, a bool let, an allocation, outer loop variables.
  Expr value = ir::make_add(at("tmp", x), ir::make_mul(y, k));
  value = ir::make_select(ir::make_var("flag", Bool()), value, ir::make_int(Int(32), 0));
  Expr lane = ir::make_shuffle({ir::make_var("steps", Int(32, 8))}, {2});
  ir::Stmt s =
      ir::make_store("out", ir::make_add(value, lane), ir::make_add(ir::make_mul(y, w), x));
  s = ir::make_for("x", 0, w, ir::ForType::Parallel, s);
  s = ir::make_for("y", 0, h, ir::ForType::Parallel, s);
  ir::Stmt fill =
      ir::make_for("i", 0, w, ir::ForType::Serial,
                   ir::make_store("tmp", ir::make_mul(ir::make_var("i"), 7), ir::make_var("i")));
  s = ir::make_allocate("tmp", Int(32), ir::MemoryType::Auto, {w}, ir::make_bool(true),
                        ir::make_block(fill, s));
  s = ir::make_let_stmt("steps", ir::make_ramp(k, k, 8), s);
  s = ir::make_let_stmt("flag", ir::make_gt(k, 0), s);
  s = ir::make_let_stmt("k", at("given", 0), s);
  int32_t given[] = {1000};
  REQUIRE(run(s, {{"given", Int(32), given}, {"out", Int(32), out.data(), true}}) == 0);
  for (int j = 0; j < h; j++) {
    for (int i = 0; i < w; i++) CHECK(out[j * w + i] == 7 * i + 1000 * j + 3000);
  }
}

TEST_CASE("codegen/jit: an error inside a parallel loop comes out once, memory freed") {
  int32_t given[] = {13, 64};
  Expr i = ir::make_var("i"), n = at("given", 1);
  ir::Stmt s = ir::make_assert(
      ir::make_ne(i, at("given", 0)),
      error("calo_error_specialize_fail", {ir::make_string("test"), ir::make_string("thirteen")}));
  s = ir::make_allocate("b", Int(32), ir::MemoryType::Heap, {n}, ir::make_bool(true), s);
  s = ir::make_for("i", 0, 40, ir::ForType::Parallel, s);
  s = ir::make_allocate("a", Int(32), ir::MemoryType::Heap, {n}, ir::make_bool(true), s);
  int64_t before = runtime::memory_stats().live_bytes;
  runtime::JitContext context;
  CHECK(run(s, {{"given", Int(32), given}}, get_host_target(), &context) == -31);
  CHECK(context.error().code == -31);
  CHECK(runtime::memory_stats().live_bytes == before);
}

TEST_CASE("codegen/jit: what cannot be compiled is refused with a reason") {
  ir::Stmt unknown = ir::make_evaluate(
      ir::make_extern_call(Int(32), "no_such_function", {ir::make_string("true")}, false));
  try {
    run(unknown, {});
    FAIL("a call of an unknown C function was compiled");
  } catch (const CompileError &e) {
    CHECK(e.diagnostic().code == "T0104");
    CHECK(e.diagnostic().what.find("no_such_function") != std::string::npos);
  }
  lower::LoweredFunction f;
  f.name = "nothing";
  f.body = ir::make_no_op();
  try {
    codegen::compile_jit(f, Target("arm-64-linux"));
    FAIL("code for another processor was loaded");
  } catch (const CompileError &e) {
    CHECK(e.diagnostic().code == "T0102");
  }
}

TEST_CASE("codegen/jit: functions outlive each other and may be compiled from several threads") {
  std::vector<codegen::JitFunction> kept;
  for (int k = 0; k < 6; k++) {
    lower::LoweredFunction f;
    f.name = "same_name";
    Expr handle = ir::make_var("out.buffer", Handle());
    f.args.push_back({lower::LoweredArgument::Kind::OutputBuffer, "out", Int(32), 1, {}});
    f.body =
        ir::make_let_stmt("out", ir::make_intrinsic(Handle(), ir::Intrinsic::buffer_host, {handle}),
                          ir::make_store("out", k, 0));
    kept.push_back(codegen::compile_jit(f, get_host_target()));
  }
  kept.erase(kept.begin() + 2, kept.begin() + 4);
  std::set<int> seen;
  for (const codegen::JitFunction &f : kept) {
    int32_t out = -1;
    halide_buffer_t buffer{};
    buffer.host = reinterpret_cast<uint8_t *>(&out);
    const void *args[] = {&buffer};
    CHECK(f.call(nullptr, args) == 0);
    seen.insert(out);
  }
  CHECK(seen == std::set<int>{0, 1, 4, 5});
}

TEST_CASE("codegen/jit: text and objects name the pipeline") {
  lower::LoweredFunction f;
  f.name = "brighten";
  f.args.push_back({lower::LoweredArgument::Kind::InputScalar, "by", UInt(8), 0, {}});
  f.args.push_back({lower::LoweredArgument::Kind::OutputBuffer, "out", UInt(8), 1, {}});
  Expr handle = ir::make_var("out.buffer", Handle());
  f.body =
      ir::make_let_stmt("out", ir::make_intrinsic(Handle(), ir::Intrinsic::buffer_host, {handle}),
                        ir::make_store("out", ir::make_var("by", UInt(8)), 0));
  Target t("x86-64-linux-avx-avx2-sse41");
  auto made = [&](codegen::ObjectForm form) {
    return codegen::compile_object(f, t, "brighten", form);
  };
  CHECK(made(codegen::ObjectForm::LlvmAssembly).find("define i32 @brighten(") != std::string::npos);
  CHECK(made(codegen::ObjectForm::Assembly).find("brighten:") != std::string::npos);
  CHECK(made(codegen::ObjectForm::Bitcode).substr(0, 2) == "BC");
  const std::string object = made(codegen::ObjectForm::Object);
  CHECK(object.substr(0, 4) ==
        "\x7f"
        "ELF");
  CHECK(object.find("brighten_argv") != std::string::npos);
}
