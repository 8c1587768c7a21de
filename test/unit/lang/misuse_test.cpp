// Each mistake in the language: its code, what it says, and the line of the call.
#include <doctest/doctest.h>

#include "support.h"
#include "support/check_diag.h"

using namespace calotype;
using calotype::test::program;

namespace {
Var x("x"), y("y");
// As SrcLoc::here() counts: the line where a macro's use begins, if it has several.
#define HERE (std::to_string(__builtin_LINE()).c_str())
}  // namespace

TEST_CASE("misuse: an undefined Func") {
  Func f("nothing"), g("g");
  CHECK_DIAG_AT(g(x) = f(x) + 1, "L0201", "nothing is used before it is defined", HERE);
  CHECK_DIAG(program({f}), "L0201", "nothing is used before it is defined");
  CHECK_DIAG(f.realize({4}), "L0201", "nothing");
  CHECK_DIAG(f.output_buffer(), "L0201", "output buffer of nothing");
}

TEST_CASE("misuse: a Func in its own first definition") {
  Func f("f");
  CHECK_DIAG_AT(f(x) = f(x - 1) + 1, "L0201", "cannot use the Func itself", HERE);
}

TEST_CASE("misuse: RVars on the wrong side") {
  Func f("f"), g("g"), h("h");
  RDom r(0, 10, "r"), s(0, 5, "s");
  CHECK_DIAG_AT(f(r) = 1, "L0206", "the RVar r.x on its left", HERE);
  CHECK_DIAG_AT(f(r + 1) = 1, "L0206", "is not a Var", HERE);
  CHECK_DIAG_AT(f(x) = r + x, "L0205", "the first definition of f uses the RVar r.x", HERE);
  g(x) = 0;
  CHECK_DIAG_AT(g(r) = g(s) + 1, "L0207", "RVars of two RDoms", HERE);
  CHECK_DIAG(sum(r.x + s.x), "L0207", "two RDoms");
  CHECK_DIAG_AT(sum(x + 1), "L0301", "without an RVar", HERE);
}

TEST_CASE("misuse: wrong coordinates") {
  Func f("f"), g("g");
  CHECK_DIAG_AT(f(x + 1) = 1, "L0215", "coordinate 0 of the first definition of f is not a Var",
                HERE);
  CHECK_DIAG_AT(f(x, x) = 1, "L0211", "the Var x twice", HERE);
  CHECK_DIAG_AT(f(x) = x + y, "L0205", "uses y, which its left side does not have", HERE);
  f(x, y) = 0;
  CHECK_DIAG_AT(g(x) = f(x), "L0204", "f is used with 1 coordinate", HERE);
  CHECK_DIAG_AT(f(x) = 1, "L0204", "an update of f has 1 coordinate", HERE);
  CHECK_DIAG_AT(f(x, cast<float>(y)) = 1, "L0103", "not an integer", HERE);
  Var u("u"), v("v");
  CHECK_DIAG_AT(f(u, v) = 1, "L0202", "f is defined again with other Vars", HERE);
  CHECK_DIAG_AT(f(x, 0) = y, "L0205", "uses y", HERE);
  CHECK_DIAG_AT(f(_, _) = 1, "L0214", "_ stands twice", HERE);
  ImageParam im(UInt(8), 2, "im");
  CHECK_DIAG_AT(im(x, y, 0), "L0204", "im is used with 3 coordinates", HERE);
  CHECK_DIAG(im.dim(2), "L0105", "dimension 2 of im");
}

TEST_CASE("misuse: definitions after use") {
  Func f("f"), g("g");
  f(x) = x;
  f(x) += 1;
  g(x) = f(x);
  CHECK_DIAG_AT(f(x) += 1, "L0209", "f gets a definition after it was used", HERE);
}

TEST_CASE("misuse: Tuples of different sizes and Tuples as single values") {
  Func t("t"), f("f");
  t(x) = Tuple(x, 2);
  CHECK_DIAG_AT(t(x) = Tuple(1, 2, 3), "L0208", "has 3 values", HERE);
  CHECK_DIAG_AT(t(x) = Expr(1), "L0208", "has 1 value", HERE);
  CHECK_DIAG_AT(t(x) += Tuple(1, 2, 3), "L0208", "has 3 values", HERE);
  CHECK_DIAG_AT(f(x) = t(x) + 1, "L0212", "t has 2 values and is used as one", HERE);
  CHECK_DIAG_AT(f(x) = t(x)[2] + 1, "L0212", "value 2 of t", HERE);
  CHECK_DIAG(t.type(), "L0212", "the type of t");
  CHECK_DIAG(Tuple(std::vector<Expr>()), "L0208", "a Tuple needs an element");
  Tuple pair(x, y);
  CHECK_DIAG(pair[2], "L0212", "element 2");
}

TEST_CASE("misuse: types of definitions") {
  Func f("f"), g(UInt(8), 2, "g"), s("s");
  f(x) = cast<uint8_t>(x);
  CHECK_DIAG_AT(f(x) = x, "L0213", "an update of f has the type i32", HERE);
  CHECK_DIAG_AT(f(x) = 300, "L0104", "300 does not fit the type u8", HERE);
  f(x) = 3;  // a constant that fits adapts
  CHECK_DIAG_AT(g(x, y) = x, "L0213", "g is defined with the type i32", HERE);
  CHECK_DIAG_AT(g(x) = cast<uint8_t>(x), "L0204", "g is defined with 1 dimension", HERE);
  CHECK_DIAG(s(x) = Expr("text"), "L0103", "cannot have values of type");
  CHECK_DIAG(s(x) = Expr(), "L0101", "undefined expression");
}

TEST_CASE("misuse: updates that do not exist") {
  Func f("f");
  CHECK_DIAG_AT(f.update(), "L0203", "f has no update definition 0", HERE);
  f(x) = x;
  f(x) += 1;
  f.update(0).vectorize(x, 4);
  CHECK_DIAG_AT(f.update(1), "L0203", "f has no update definition 1", HERE);
  CHECK_DIAG(f.update(-1), "L0203", "-1");
}

TEST_CASE("misuse: RDoms") {
  CHECK_DIAG_AT(RDom(0, Expr()), "L0301", "the extent of dimension 0 of an RDom is undefined",
                HERE);
  CHECK_DIAG_AT(RDom(0, 1.5f), "L0301", "not an integer", HERE);
  CHECK_DIAG_AT(RDom(0, x), "L0301", "depends on the Var x", HERE);
  RDom none;
  CHECK_DIAG(none[0], "L0301", "never given a range");
  CHECK_DIAG(sum(Expr(none)), "L0301", "never given a range");
  RDom r(0, 4, 0, 4);
  CHECK_DIAG_AT(RDom(0, r.x), "L0301", "depends on the RVar r.x", HERE);
  CHECK_DIAG_AT(RDom(0, 4, 0), "L0301", "a min without an extent", HERE);
  CHECK_DIAG(r[2], "L0301", "dimension 2 of an RDom of 2");
  CHECK_DIAG(Expr(r) + 1, "L0301", "2 dimensions used as one RVar");
  CHECK_DIAG_AT(r.where(r.x + 1), "L0302", "not bool", HERE);
  CHECK_DIAG_AT(r.where(Expr()), "L0101", "predicate", HERE);
  CHECK_DIAG(RDom().where(x > 0), "L0302", "never given a range");
}

TEST_CASE("misuse: values of parameters") {
  Param<uint8_t> p("p");
  CHECK_DIAG_AT(p.set(300), "L0104", "does not fit the parameter p", HERE);
  CHECK_DIAG_AT(p.set(-1), "L0104", "does not fit", HERE);
  p.set(200);
  CHECK(p.get() == 200);
  ImageParam im(UInt(8), 2, "im");
  CHECK_DIAG_AT(im.set(Buffer<uint16_t>(3, 3)), "L0403", "does not fit the parameter im", HERE);
  CHECK_DIAG_AT(im.set(Buffer<uint8_t>(3)), "L0403", "1 dimension", HERE);
  Buffer<uint8_t> b(3, 3);
  im.set(b);
  CHECK(im.get().same_as(b));
  CHECK_DIAG((Buffer<int, 2>(b)), "L0403", "another type or rank");
  CHECK_DIAG((Buffer<uint8_t, 3>(b)), "L0403", "3 dimensions");
  CHECK_DIAG(Buffer<int>().width(), "L0101", "undefined Buffer");
}

TEST_CASE("misuse: names") {
  CHECK_DIAG_AT(Var(""), "L0214", "cannot be called", HERE);
  CHECK_DIAG_AT(Var("$a"), "L0214", "cannot be called", HERE);
}

TEST_CASE("misuse: what is not available yet is refused by name") {
  Func f("f"), g("g");
  f(x) = x;
  f(x) += 1;
  RDom r(0, 4);
  Func made = f.in();
  CHECK_DIAG_AT(Expr(made(x)), "L0217", "used in a definition", HERE);
  CHECK_DIAG(made.realize({4}), "L0217", "no output");
  CHECK_DIAG(f.compile_to_module({}), "L0901", "compile_to_module");
  CHECK_DIAG(propagate_adjoints(f), "L0901", "propagate_adjoints");
  CHECK_DIAG(JITExtern(f), "L0901", "a Func as JITExtern");
  CHECK_DIAG(Callable()(1, 2), "L0101", "empty Callable");
}

TEST_CASE("misuse: sizes of Buffers") {
  CHECK_DIAG(Buffer<float>(1 << 30, 1 << 30, 4), "R0104", "of 1.84e+10 GB; a buffer may span");
  CHECK_DIAG(Buffer<uint8_t>(std::vector<int>{1 << 30, 1 << 24}, "wide"), "R0104",
             "no memory for the buffer wide of 1.8e+07 GB");
  CHECK_DIAG(Buffer<float>::make_interleaved(1 << 30, 1 << 20, 3), "R0104", "GB");
  CHECK_DIAG(Buffer<float>(3, -1), "L0105", "the negative size -1");
  CHECK_DIAG(ImageParam(UInt(8), 1).set(Buffer<uint8_t>(2, 2)), "L0403",
             "the parameter is u8 with 1 dimension (");
}

TEST_CASE("misuse: edges") {
  Func f("f"), undefined("undefined");
  f(x, y) = x;
  CHECK_DIAG_AT(BoundaryConditions::repeat_edge(f), "L0105", "repeat_edge of a Func needs bounds",
                HERE);
  CHECK_DIAG_AT(BoundaryConditions::repeat_edge(undefined), "L0201", "not defined yet", HERE);
  CHECK_DIAG_AT(BoundaryConditions::mirror_image(f, {{0, 1}, {0, 1}, {0, 1}}), "L0204",
                "bounds of 3", HERE);
  CHECK_DIAG_AT(BoundaryConditions::constant_exterior(f, Tuple(1, 2), {{0, 4}}), "L0208",
                "2 values", HERE);
  CHECK_DIAG_AT(BoundaryConditions::repeat_image(f, {{0, Expr()}}), "L0105",
                "a min without an extent", HERE);
}
