// Misuse of schedules: each row is refused with its code where the mistake is, with a reason or advice, from text and from
// C++ calls alike.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "base/diagnostic.h"
#include "ir/parse.h"
#include "lower/pipeline.h"
#include "schedule/apply.h"
#include "schedule/text.h"
#include "support/cpp_calls.h"

using namespace calotype;
using namespace calotype::test;

namespace {

const std::map<std::string, const char *> kPrograms = {
    {"blur", R"(program blur {
  param input: u8[2]
  param gain: f32 bits=1065353216:u64
  param n: i32 bits=3:u64
  func bx(x, y): u16 {
    bx(x, y) = u16(@input(x, y)) + u16(@input(x + 1, y)) + u16(@n) + u16(@gain)
  }
  func out(x, y): u16 {
    out(x, y) = bx(x, y - 1) + bx(x, y) + bx(x, y + 1)
  }
  output out
})"},
    {"sum", R"(program sums {
  func img(x, y): f32 {
    img(x, y) = f32(x + y)
  }
  func s(x, y): f32 {
    s(x, y) = 0.0f
    s(x, y) = s(x, y) + img(x + r.x, y + r.y) for r.x in 0 +: 3, r.y in 0 +: 5
  }
  func out(x, y): f32 {
    out(x, y) = s(x, y)*2.0f
  }
  output out
})"},
    {"scan", R"(program scans {
  func c(x): i32 {
    c(x) = x
    c(r.x) = c(r.x - 1) + 1 for r.x in 1 +: 20
  }
  func out(x): i32 {
    out(x) = c(x)
  }
  output out
})"},
    {"diamond", R"(program diamond {
  func f(x, y): i32 {
    f(x, y) = x + y
  }
  func g(x, y): i32 {
    g(x, y) = f(x, y) + f(x + 1, y)
  }
  func h(x, y): i32 {
    h(x, y) = f(x, y)
  }
  func out(x, y): i32 {
    out(x, y) = g(x, y) + h(x, y)
  }
  output out
})"},
    {"best", R"(program best {
  param input: i32[2]
  func b(y): {i32, i32} {
    b(y) = {-1000, 0}
    b(y) = {select(@input(r.x, y) > b(y), @input(r.x, y), b(y)), select(@input(r.x, y) > b(y), r.x, b(y).1)} for r.x in 0 +: 9
  }
  func out(y): i32 {
    out(y) = b(y) + b(y).1
  }
  output out
})"},
};

struct Row {
  const char *program, *text, *code, *said;
  int line = 0;       ///< of the mistake, counted from the first line of `text`; 0: the last
  bool calls = true;  ///< false: the types of C++ rule it out
};

// The text's first line is line 2 of the file.
const std::vector<Row> kRows = {
    // ---- Funcs, directives, loops that do not exist ----
    {"blur", "blurx.compute_root()", "S0101", "its Funcs are: bx, out"},
    {"blur", "bx.compute_at(ouput, y)", "S0101", "did you mean out"},
    {"blur", "bx.compute_root()\nout.compute_with(nobody, y)", "S0101", "nobody"},
    {"blur", "zz_*.compute_root()", "S0101", "matches zz_*"},
    {"diamond", "f.compute_root()\nf.in(q).compute_root()", "S0101", "q"},
    {"diamond", "f.clone_in(q).compute_root()", "S0101", "q"},
    {"blur", "out.vectorise(x, 8)", "S0102", "did you mean vectorize"},
    {"blur", "out.(x)", "S0001", ""},
    {"blur", "out.compute_root", "S0001", "", 2},
    {"blur", "out.split(x, xo, xi, 8", "S0001", "", 2},
    {"blur", "out.split(x, xo, xi 8)", "S0001", ""},
    {"blur", "out.split(x, xo, xi, 8))", "S0001", ""},
    {"blur", "out.split(x, xo, xi, 8) trailing", "S0001", ""},
    {"blur", "out.update(zero).parallel(y)", "S0001", ""},
    {"blur", "out[3.compute_root()", "S0001", ""},
    {"blur", "let = 3", "S0001", ""},
    {"blur", "let a 3", "S0001", ""},
    {"blur", "out.add_trace_tag(\"no end)", "S0001", ""},
    {"blur", "out.vectorize(z, 8)", "S0103", "no loop z"},
    {"blur", "out.split(x, xo, xi, 8)\nout.parallel(x)", "S0103", "no loop x"},
    {"blur", "out.fuse(x, q, t)", "S0103", "no loop q"},
    {"blur", "out.reorder(y, q)", "S0103", "no loop q"},
    {"blur", "out.rename(q, t)", "S0103", "no loop q"},
    {"blur", "out.serial(q)", "S0103", "no loop q"},
    {"blur", "out.tile(x, q, a, b, c, d, 4, 4)", "S0103", "no loop q"},
    {"blur", "out.unroll(_5)", "S0103", "_5"},
    {"blur", "bx.compute_at(out, q)", "S0103", "q"},
    {"blur", "bx.compute_at(out, y).store_at(out, q)", "S0103", "q"},
    {"blur", "bx.compute_at(out, x).hoist_storage(out, q)", "S0103", "q"},
    {"blur", "out.bound(q, 0, 8)", "S0103", "q"},
    {"blur", "out.align_bounds(q, 8)", "S0103", "q"},
    {"blur", "bx.compute_root().reorder_storage(y, q)", "S0103", "q"},
    {"blur", "bx.compute_root().fold_storage(q, 4)", "S0103", "q"},
    {"blur", "bx.compute_root().align_storage(q, 4)", "S0103", "q"},
    {"blur", "bx.compute_root().bound_storage(q, 4)", "S0103", "q"},
    {"blur", "out.split(x, xo, xi, m)", "S0103", "no number is called m"},
    {"blur", "out.split(x, xo, xi, input.extent(7))", "S0103", "input.extent"},
    {"blur", "out.specialize(nothing > 3)", "S0103", "nothing"},
    {"blur", "out.specialize(n > 3).vectorize(q, 4)", "S0103", "no loop q"},
    {"blur", "out.partition(q, Never)", "S0103", "no loop q"},
    {"blur", "out.never_partition(q)", "S0103", "no loop q"},
    {"sum", "s.compute_root().update(0).rfactor({r.z: u})", "S0103", "r.z"},
    // ---- arguments ----
    {"blur", "out.split(x, xo, xi)", "S0105", "factor"},
    {"blur", "out.split(x, xo, xi, 8, GuardWithIf, 3)", "S0105", ""},
    {"blur", "out.split(x, xo, xi, 8, Sideways)", "S0105", ""},
    {"blur", "out.vectorize()", "S0105", ""},
    {"blur", "out.vectorize(3)", "S0105", ""},
    {"blur", "out.parallel(\"y\")", "S0105", ""},
    {"blur", "bx.compute_at(out)", "S0001", ""},
    {"blur", "out.bound(x, 0)", "S0105", ""},
    {"blur", "bx.compute_root().store_in(Attic)", "S0105", "Attic"},
    {"blur", "out.partition(x, Sometimes)", "S0105", "Sometimes"},
    {"blur", "out.never_partition()", "S0105", ""},
    {"blur", "out.tile({x, y}, {xo}, {xi, yi}, {4, 4})", "S0105", "lengths"},
    {"blur", "out.specialize_fail(3)", "S0105", "", 0, false},
    {"blur", "out.memoize(3, 4)", "S0105", ""},
    {"sum", "s.compute_root().update(0).rfactor({})", "S0105", ""},
    {"sum", "s.compute_root().update(0).atomic(perhaps)", "S0105", "", 0, false},
    {"diamond", "g.compute_root()\nh.compute_root()\nh.compute_with(g, y, Sideways)", "S0105",
     "Sideways"},
    {"blur", "out.reorder()", "S0105", ""},
    // ---- stages and kinds of Funcs ----
    {"blur", "out.update(0).parallel(y)", "S0106", "no update"},
    {"sum", "s.compute_root().update(1).parallel(y)", "S0106", "update"},
    {"blur", "out.atomic()", "S0124", ""},
    {"blur", "out.compute_at(out, y)", "S0108", "output"},
    {"blur", "out.compute_inline()", "S0108", "output"},
    {"blur", "out.store_in(Stack)", "S0108", "output"},
    {"blur", "out.reorder_storage(y, x)", "S0108", "output"},
    {"blur", "out.fold_storage(y, 4)", "S0108", "output"},
    {"blur", "out.memoize()", "S0108", "output"},
    {"blur", "out.hoist_storage_root()", "S0108", "output"},
    {"blur", "bx.compute_root().memoize()", "S0108", "pixels"},
    {"blur", "bx.vectorize(x, 8)", "S0108", "inlined"},
    {"blur", "bx.trace_loads()", "S0108", "inlined"},
    {"sum", "s.update(0).compute_root()", "S0108", "update"},
    {"sum", "s.compute_root().rfactor({x: u})", "S0108", "pure"},
    {"blur", "out.specialize(n > 3).compute_root()", "S0108", "whole"},
    {"blur", "input.clone_in(bx).compute_root()", "S0108", "input"},
    // ---- names ----
    {"blur", "out.split(x, y, xi, 8)", "S0109", "already used"},
    {"blur", "out.rename(x, y)", "S0109", "already used"},
    {"blur", "out.tile(x, y, xi, yi, 4, 4)\nout.split(x, yi, q, 2)", "S0109", "yi"},
    {"diamond", "let h = f.in(g)", "S0109", "already used"},
    {"diamond", "f.compute_root()\nlet s = f.in(g)\nlet h = f.in(g)", "S0109", "already used"},
    {"sum", "s.compute_root().update(0).rfactor({r.x: y})", "S0109", "y"},
    {"blur", "let a = 3\nlet a = 4", "S0109", "a"},
    {"blur", "def a(f)\nf.parallel(y)\nend\ndef a(f)\nf.parallel(y)\nend", "S0109", "a", 4},
    {"blur", "out.split(x, a, a, 8)", "S0114", "a"},
    {"blur", "out.fuse(x, x, t)", "S0114", "x"},
    {"blur", "out.reorder(x, y, x)", "S0114", "x"},
    {"blur", "bx.compute_root().reorder_storage(x, x)", "S0114", "x"},
    {"sum", "s.compute_root().update(0).rfactor({r.x: u, r.x: v})", "S0114", "r.x"},
    {"diamond", "f.in({g, g}).compute_root()", "S0114", "g"},
    // ---- numbers ----
    {"blur", "out.split(x, xo, xi, 0)", "S0110", "0"},
    {"blur", "out.split(x, xo, xi, 2 - 5)", "S0110", "-3"},
    {"blur", "out.split(x, xo, xi, 1000000000000)", "S0001", "does not fit"},
    {"blur", "out.vectorize(x, 2000)", "S0110", "2000"},
    {"blur", "out.vectorize(x, n)", "S0110", "constant"},
    {"blur", "out.unroll(x, n)", "S0110", "constant"},
    {"blur", "out.unroll(x, 100000)", "S0110", ""},
    {"blur", "out.bound(x, 0, 0)", "S0110", ""},
    {"blur", "out.bound_extent(x, -4)", "S0110", ""},
    {"blur", "out.align_bounds(x, 0)", "S0110", ""},
    {"blur", "bx.compute_root().align_storage(x, 0)", "S0110", ""},
    {"blur", "bx.compute_root().align_storage(x, n)", "S0110", "constant"},
    {"blur", "bx.compute_root().fold_storage(y, 0)", "S0110", ""},
    {"blur", "bx.compute_root().bound_storage(x, -1)", "S0110", ""},
    {"blur", "out.parallel(y, 0)", "S0110", ""},
    {"blur", "out.split(x, xo, xi, 7 / 0)", "S0110", ""},
    // ---- order, tails, vectors ----
    {"scan", "c.compute_root().update(0).parallel(r.x)", "S0111", "r.x"},
    {"scan", "c.compute_root().update(0).vectorize(r.x, 4)", "S0111", "r.x"},
    {"sum", "s.compute_root().update(0).reorder(r.y, r.x)", "S0111", ""},
    {"sum", "s.compute_root().update(0).fuse(r.x, r.y, t).parallel(t)", "S0111", ""},
    {"sum", "s.compute_root().update(0).parallel(r.y)", "S0111", "r.y"},
    {"scan", "c.compute_root().update(0).atomic()", "S0124", ""},
    {"scan", "c.compute_root().update(0).rfactor({r.x: u})", "S0122", ""},
    {"sum", "s.compute_root().update(0).rfactor({x: u})", "S0123", "x"},
    {"sum", "s.compute_root().update(0).unroll(r.x)\nlet p = s.update(0).rfactor({r.y: u})",
     "S0123", ""},
    {"best", "b.compute_root().update(0).atomic().parallel(r.x)", "S0124", ""},
    {"blur", "out.vectorize(x, 8).vectorize(y, 4)", "S0112", ""},
    {"blur", "out.vectorize(x, 8).parallel(x.v)", "S0117", ""},
    {"blur", "out.vectorize(x, 8).unroll(x.v)", "S0117", ""},
    {"blur", "out.vectorize(x, 8).fuse(x.v, y, t)", "S0117", ""},
    {"blur", "out.vectorize(x, 8).split(x.v, a, b, 2)", "S0117", ""},
    {"blur", "out.vectorize(x)", "S0112", "constant"},
    {"blur", "out.unroll(y)", "S0112", "constant"},
    {"blur", "out.bound_extent(y, 10000).unroll(y)", "S0112", ""},
    {"sum", "s.compute_root().update(0).split(x, xo, xi, 8, ShiftInwards)", "S0113", ""},
    {"sum", "s.compute_root().update(0).split(x, xo, xi, 8, RoundUp)", "S0113", ""},
    {"sum", "s.compute_root().update(0).unroll(r.x, 2, RoundUpAndBlend)", "S0113", ""},
    {"sum", "s.compute_root().update(0).unroll(r.y, 2, ShiftInwards)", "S0113", ""},
    // ---- places ----
    {"blur", "out.split(x, xo, xi, 8).vectorize(xi)\nbx.compute_at(out, xi)", "S0104", "vector"},
    {"diamond", "g.compute_root()\nh.compute_root()\nf.compute_at(g, y)", "S0104", "h"},
    {"diamond", "f.compute_at(g, y)", "S0104", "inlined"},
    {"blur", "out.parallel(y)\nbx.store_root().compute_at(out, y)", "S0107", "parallel"},
    {"blur", "out.split(y, yo, yi, 8).parallel(yi)\nbx.store_at(out, yo).compute_at(out, yi)",
     "S0107", "parallel"},
    {"blur", "bx.store_root()", "S0115", ""},
    {"blur", "bx.compute_at(out, y).store_at(out, x)", "S0115", ""},
    {"blur", "bx.compute_at(out, y).hoist_storage(out, x)", "S0115", ""},
    {"blur", "out.parallel(y)\nbx.compute_at(out, x).hoist_storage_root()", "S0107", "parallel"},
    // ---- contradictions ----
    {"blur", "out.bound_extent(x, 8).bound_extent(x, 16)", "S0117", ""},
    {"blur", "out.bound_extent(y, 8).parallel(y).vectorize(y)", "S0117", ""},
    {"blur", "bx.compute_root().store_in(Heap).store_in(Stack)", "S0117", ""},
    {"blur", "bx.compute_root().align_storage(x, 8).align_storage(x, 16)", "S0117", ""},
    {"blur", "bx.compute_root().bound_storage(x, 80).bound_storage(x, 160)", "S0117", ""},
    {"blur", "out.specialize(n > 1)\nout.specialize_fail(\"a\")\nout.specialize_fail(\"b\")",
     "S0117", ""},
    {"blur", "out.vectorize(x, 8).always_partition(x.v)", "S0117", ""},
    // ---- made Funcs ----
    {"diamond", "g.in(h).compute_root()", "S0121", "does not read"},
    {"blur", "out.in().compute_root()", "S0121", ""},
    {"diamond", "h.clone_in(g).compute_root()", "S0121", "does not read"},
    // ---- storage ----
    {"blur", "bx.compute_root().store_in(VTCM)", "S0130", "VTCM"},
    {"blur", "bx.compute_root().store_in(GPUShared)", "S0130", "GPUShared"},
    {"blur", "bx.compute_root().store_in(Stack)", "S0131", ""},
    {"blur", "bx.store_root().compute_at(out, y).fold_storage(y, 2)", "S0132", "3"},
    {"blur", "bx.compute_root().fold_storage(y, 4)", "S0132", ""},
    {"blur", "bx.store_root().compute_at(out, y).fold_storage(y, 8, fold_forward=false)", "S0132",
     ""},
    {"blur", "bx.store_root().compute_at(out, y).fold_storage(y, 4).fold_storage(x, 4)", "S0132",
     ""},
    // ---- shared loops, specializations ----
    {"diamond", "f.compute_root()\ng.compute_root()\ng.compute_with(f, y)", "S0133", "reads"},
    {"diamond", "g.compute_root()\nh.compute_root().parallel(y)\nh.compute_with(g, y)", "S0133",
     ""},
    {"diamond", "g.compute_root()\nh.compute_at(out, y)\nh.compute_with(g, y)", "S0133", ""},
    {"sum", "s.compute_root()\ns.update(0).compute_with(s, y)", "S0133", ""},
    {"blur", "out.specialize_fail(\"never\")", "S0134", ""},
    {"blur", "out.specialize(n > 1)\nout.specialize_fail(\"no\")\nout.specialize(n > 2)", "S0134",
     ""},
    {"sum", "s.compute_root().update(0).specialize(1 > 2)\ns.update(0).rfactor({r.x: u})", "S0134",
     ""},
    // ---- blocks, heads ----
    {"blur", "rows(out)", "S0125", "no block rows"},
    {"blur", "def rows(f, n)\nf.unroll(y, n)\nend\nrows(out)", "S0125", "2 arguments"},
    {"blur", "def rows(f)\nf.parallel(y)", "S0125", "", 1},
    {"blur", "def rows(f)\nf.parallel(q)\nend\nrows(out)", "S0103", "block used here", 2},
    {"blur", "pipeline sharpen", "S0003", "sharpen"},
    {"blur", "target pdp-11", "S0001", ""},
    // ---- beside and ahead ----
    {"blur", "bx.compute_root().trace_realizations().async()", "S0137", "async"},
    {"blur", "bx.compute_root().ring_buffer(2)", "S0139", "ring_buffer"},
    {"blur", "out.prefetch(bx, y, y, 2)", "S0136", "prefetch"},
    // ---- not there ----
    {"blur", "out.gpu_blocks(y)", "S0130", "gpu_blocks"},
    {"blur", "out.gpu_tile(x, y, xi, yi, 8, 8)", "S0130", "gpu_tile"},
    {"blur", "out.hexagon(y)", "S0130", "hexagon"},
};

const char *kFile = "misuse.sched";

std::string text_of(const Row &r) { return "calotype 1\n" + std::string(r.text) + "\n"; }

std::vector<Diagnostic> said(const ir::Program &p, const std::string &text) {
  const Target t("x86-64-linux-sse41");
  try {
    lower::lower(schedule::apply(p, schedule::parse_schedule(text, kFile), t), t);
  } catch (const CompileError &e) {
    return e.diagnostics();
  }
  return {};
}

std::string wrong(const Row &r, const ir::Program &p) {
  const std::string text = text_of(r);
  const std::vector<Diagnostic> all = said(p, text);
  if (all.empty()) return "accepted";
  const Diagnostic &d = all[0];
  const std::string shown = render(d);
  std::string w;
  if (d.code != r.code) w += "not " + std::string(r.code) + "; ";
  if (shown.find(r.said) == std::string::npos)
    w += "does not say \"" + std::string(r.said) + "\"; ";
  const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  const int line = r.line > 0 ? r.line + 1 : lines;
  if (std::string(r.code) != "S0003" && (d.loc.line != line || d.loc.column < 1))
    w += "names line " + std::to_string(d.loc.line) + ", not " + std::to_string(line) + "; ";
  if (!d.loc.defined() || std::string(d.loc.file) != kFile) w += "names no file; ";
  if (d.why.empty() && d.help.empty()) w += "neither reason nor advice; ";
  return w.empty() ? w : w + "\n" + shown;
}

}  // namespace

TEST_CASE("misuse: schedules as text and as calls") {
  for (const Row &r : kRows) {
    const ir::Program p = ir::parse_program(kPrograms.at(r.program));
    const std::string w = wrong(r, p);
    const std::string name = std::string(r.program) + ": " + r.text + "\n";
    CHECK_MESSAGE(w.empty(), name << w);
    const std::string code = r.code;
    if (code == "S0003" || !r.calls) continue;
    const std::string differ = calls_differ_from_text(p, text_of(r), Target("x86-64-linux-sse41"));
    CHECK_MESSAGE(differ.empty(), name << differ);
  }
  CHECK(kRows.size() >= 150);
}
