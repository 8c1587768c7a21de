// What a compiled function says of its arguments: regions needed, and the messages for what does not fit.
#include <doctest/doctest.h>

#include <memory>

#include "codegen/jit.h"
#include "programs.h"
#include "runtime/runtime.h"

using namespace calotype;
using namespace calotype::test;

namespace {

// A compiled program with one input and one output, called with any buffers.
class Function {
public:
  Function(const std::string &program, const std::string &lines)
      : case_(program, lines), jit_(codegen::compile_jit(case_.lowered, get_host_target())) {}
  int call(halide_buffer_t *in, halide_buffer_t *out) {
    const void *args[] = {in, out};
    context_ = std::make_unique<runtime::JitContext>();
    return jit_.call(context_.get(), args);
  }
  std::string message() const { return context_->error().text(); }

private:
  LoweredCase case_;
  codegen::JitFunction jit_;
  std::unique_ptr<runtime::JitContext> context_;
};

bool has(const std::string &s, const char *what) {
  INFO(s);
  bool found = s.find(what) != std::string::npos;
  CHECK(found);
  return found;
}
}  // namespace

TEST_CASE("arguments: a bounds query answers with the region that is read") {
  Function f(blur_text(), "out.vectorize(x, 8)\nbx.compute_at(out, y)\n");
  CaseBuffer in(UInt(16), {0, 0}, {0, 0}), out(UInt(16), {10, -3}, {33, 7});
  in.raw()->host = nullptr;
  REQUIRE(f.call(in.raw(), out.raw()) == 0);
  CHECK(in.raw()->dim[0].min == 9);
  CHECK(in.raw()->dim[0].extent == 35);
  CHECK(in.raw()->dim[1].min == -4);
  CHECK(in.raw()->dim[1].extent == 9);
}

TEST_CASE("arguments: schedules that round up tell what they read") {
  Function f(blur_text(), "bx.compute_root().vectorize(x, 8, RoundUp)\n");
  CaseBuffer in(UInt(16), {0, 0}, {0, 0}), out(UInt(16), {0, 0}, {33, 7});
  in.raw()->host = nullptr;
  REQUIRE(f.call(in.raw(), out.raw()) == 0);
  CHECK(in.raw()->dim[0].min == -1);
  CHECK(in.raw()->dim[0].extent == 42);  // 40 columns of bx, one more on either side
}

TEST_CASE("arguments: a read outside an input names buffer, dimension and both ranges") {
  Function f(blur_text(), "");
  CaseBuffer in(UInt(16), {0, 0}, {32, 9}), out(UInt(16), {1, 1}, {30, 9});
  CHECK(f.call(in.raw(), out.raw()) != 0);
  has(f.message(), "blur");
  has(f.message(), "in0");
  has(f.message(), "dimension 1");
  has(f.message(), "required 0 .. 10");
  has(f.message(), "given 0 .. 8");
}

TEST_CASE("arguments: null, type and rank") {
  Function f(blur_text(), "out.vectorize(x, 8)\n");
  CaseBuffer in(UInt(16), {0, 0}, {32, 9}), out(UInt(16), {1, 1}, {30, 7});
  REQUIRE(f.call(in.raw(), out.raw()) == 0);
  CHECK(f.call(nullptr, out.raw()) != 0);
  has(f.message(), "in0");
  CaseBuffer bytes(UInt(8), {0, 0}, {32, 9});
  CHECK(f.call(bytes.raw(), out.raw()) != 0);
  has(f.message(), "uint16");
  CaseBuffer flat(UInt(16), {0}, {32 * 9});
  CHECK(f.call(flat.raw(), out.raw()) != 0);
  has(f.message(), "2");
}

TEST_CASE("arguments: bound() is checked against the caller's buffer") {
  CHECK(run_lines(blur_text(), "out.bound(x, 0, 16).vectorize(x)\n", {{0, 0}, {16, 3}, 0}).kind ==
        CaseResult::Same);
  CaseResult r = run_lines(blur_text(), "out.bound(x, 0, 16).vectorize(x)\n", {{0, 0}, {17, 3}, 0});
  CHECK(r.kind == CaseResult::Failed);
  has(r.text, "out");
}
