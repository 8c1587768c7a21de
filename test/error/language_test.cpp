// Misuse of the language in C++: each row is refused with its code, names the line of the call where one is at fault, and says
// why or what to do.
#include "cases.h"

using namespace calotype;
using namespace calotype::test;

namespace {

Var x("x"), y("y"), z("z");

/// f(x, y) = x + y, defined.
Func plane(const char *name = "plane") {
  Func f(name);
  f(x, y) = x + y;
  return f;
}
Func pair() {
  Func f("pair");
  f(x) = Tuple(x, cast<float>(x));
  return f;
}
/// A sum over r of 4.
Func total(RDom &r) {
  Func f("total");
  f(x) = 0;
  f(x) += x * r;
  return f;
}
void use(const Expr &) {}

}  // namespace

TEST_CASE("misuse: expressions") {
  Expr none;
  ImageParam im(UInt(8), 2, "im");
  const size_t n = check_cases(
      {
          {"sum with nothing", "L0101", "undefined", [&] { use(none + 1); }},
          {"negation of nothing", "L0101", "undefined", [&] { use(-none); }},
          {"comparison with nothing", "L0101", "undefined", [&] { use(x < none); }},
          {"select of nothing", "L0101", "undefined", [&] { use(select(none, 1, 2)); }},
          {"cast of nothing", "L0101", "undefined", [&] { use(cast<float>(none)); }},
          {"min with nothing", "L0101", "undefined", [&] { use(min(none, 3)); }},
          {"clamp by nothing", "L0101", "undefined", [&] { use(clamp(x, none, 3)); }},
          {"sqrt of nothing", "L0101", "undefined", [&] { use(sqrt(none)); }},
          {"select of a number", "L0103", "bool", [&] { use(select(x, 1, 2)); }},
          {"and of numbers", "L0103", "bool", [&] { use(x && y); }},
          {"not of a number", "L0103", "bool", [&] { use(!Expr(x)); }},
          {"bits of floats", "L0103", "", [&] { use(cast<float>(x) & cast<float>(y)); }},
          {"shift of a float", "L0103", "", [&] { use(cast<float>(x) << 2); }},
          {"complement of a float", "L0103", "", [&] { use(~cast<float>(x)); }, true, false},
          {"popcount of a float", "L0103", "", [&] { use(popcount(cast<float>(x))); }},
          {"constant too large", "L0104", "300", [&] { use(cast<uint8_t>(x) + 300); }},
          {"constant below zero", "L0104", "-1", [&] { use(cast<uint8_t>(x) + -1); }},
          {"reinterpret to another size", "L0103", "", [&] { use(reinterpret<double>(x)); }},
          {"too few coordinates", "L0204", "1 coordinate", [&] { use(plane()(x)); }},
          {"too many coordinates", "L0204", "3 coordinates", [&] { use(plane()(x, y, z)); }},
          {"coordinate of a float", "L0103", "not an integer", [&] { use(plane()(x, 1.5f)); }},
          {"coordinate that is nothing", "L0101", "", [&] { use(plane()(x, none)); }},
          {"image with too few coordinates", "L0204", "im", [&] { use(im(x)); }},
          {"image with a float coordinate", "L0103", "not an integer", [&] { use(im(x, 0.5f)); }},
          {"dimension that an image lacks", "L0105", "dimension 5", [&] { im.dim(5); }, false},
          {"dimension below zero", "L0105", "dimension -1", [&] { im.dim(-1); }, false},
          {"several values used as one", "L0212", "2 values", [&] { use(pair()(x) + 1); }},
          {"value that a Tuple lacks", "L0212", "value 4", [&] { use(pair()(x)[4]); }},
          {"value below zero", "L0212", "", [&] { use(pair()(x)[-1]); }, true, false},
          {"element of a Tuple that is not there", "L0212", "element 7",
           [&] { use(Tuple(x, y)[7]); }, false, false},
          {"Tuple of nothing", "L0208", "", [] { Tuple t{std::vector<Expr>()}; }, false, false},
          {"print of nothing", "L0101", "", [&] { use(print(none)); }},
          {"require of a number", "L0103", "", [&] { use(require(x, y)); }, true, false},
          {"an undefined Func", "L0201", "before it is defined", [] { use(Func("f")(x)); }},
          {"an undefined Func's value", "L0201", "", [] { Func("f").value(); }, false},
          {"an undefined Func's type", "L0201", "", [] { Func("f").type(); }, false},
      },
      "language_test.cpp");
  CHECK(n >= 35);
}

TEST_CASE("misuse: definitions") {
  RDom r(0, 4, "r"), q(0, 3, "q");
  Expr none;
  const size_t n = check_cases(
      {
          {"nothing as a value", "L0101", "the value of f",
           [&] {
             Func f("f");
             f(x) = none;
           }},
          {"text as a value", "L0103", "type",
           [] {
             Func f("f");
             f(x) = Expr("text");
           },
           true, false},
          {"a Func in its own first definition", "L0201", "itself",
           [] {
             Func f("f");
             f(x) = f(x - 1);
           }},
          {"an expression on the left", "L0215", "not a Var",
           [] {
             Func f("f");
             f(x + 1) = 1;
           }},
          {"a constant on the left", "L0215", "not a Var",
           [] {
             Func f("f");
             f(3) = 1;
           }},
          {"one Var twice", "L0211", "twice",
           [] {
             Func f("f");
             f(x, x) = 1;
           },
           true, false},
          {"a Var that the left lacks", "L0205", "uses y",
           [] {
             Func f("f");
             f(x) = y;
           }},
          {"an RVar on the left", "L0206", "RVar",
           [&] {
             Func f("f");
             f(r) = 1;
           }},
          {"an RVar on the right", "L0205", "RVar",
           [&] {
             Func f("f");
             f(x) = r + x;
           }},
          {"the same Func again", "L0202", "again",
           [] {
             Func f = plane();
             Var u("u"), v("v");
             f(u, v) = 1;
           }},
          {"an update of fewer coordinates", "L0204", "1 coordinate",
           [] {
             Func f = plane();
             f(x) = 1;
           }},
          {"an update of more coordinates", "L0204", "3 coordinates",
           [] {
             Func f = plane();
             f(x, y, z) = 1;
           }},
          {"an update of another type", "L0104", "1.5",
           [] {
             Func f = plane();
             f(x, y) = 1.5f;
           }},
          {"an update of several values", "L0208", "2 values",
           [] {
             Func f = plane();
             f(x, y) = Tuple(1, 2);
           }},
          {"an update of one value of two", "L0208", "1 value",
           [] {
             Func f = pair();
             f(x) = Expr(1);
           }},
          {"two RDoms in one update", "L0207", "two RDoms",
           [&] {
             Func f = plane();
             f(r, y) = f(q, y);
           }},
          {"a new Var in an update", "L0205", "uses z",
           [] {
             Func f = plane();
             f(x, 0) = z;
           }},
          {"a definition after use", "L0209", "after it was used",
           [] {
             Func f = plane(), g;
             g(x, y) = f(x, y);
             f(x, y) += 1;
           }},
          {"an RVar's update of a Func of another type", "L0213", "",
           [&] {
             Func f = plane();
             f(r, y) = cast<double>(r);
           }},
          {"a float index", "L0103", "not an integer",
           [] {
             Func f = plane();
             f(cast<float>(x), y) = 1;
           }},
          {"another type than declared", "L0213", "declared",
           [] {
             Func f(UInt(8), 1, "f");
             f(x) = x;
           }},
          {"another rank than declared", "L0204", "declared",
           [] {
             Func f(UInt(8), 1, "f");
             f(x, y) = cast<uint8_t>(x);
           }},
          {"fewer values than declared", "L0213", "declared",
           [] {
             Func f({UInt(8), UInt(8)}, 1, "f");
             f(x) = cast<uint8_t>(x);
           }},
          {"a placeholder twice", "L0214", "twice",
           [] {
             Func f("f");
             f(_, _) = 1;
           },
           true, false},
          {"an update that is not there", "L0203", "no update definition 0",
           [] { plane().update(); }},
          {"an update below zero", "L0203", "-1", [&] { total(r).update(-1); }},
          {"update_value that is not there", "L0203", "", [] { plane().update_value(2); }, false},
          {"a Var without a name", "L0214", "cannot be called", [] { Var v(""); }, true, false},
          {"a Var with a reserved name", "L0214", "cannot be called", [] { Var v("$x"); }, true,
           false},
          {"Tuple sum of another size", "L0208", "3 values",
           [] {
             Func f = pair();
             f(x) += Tuple(1, 2.0f, 3);
           }},
          {"a Func made by a directive in a definition", "L0217", "",
           [] {
             Func f = plane(), g;
             g(x, y) = f(x, y);
             use(f.in(g)(x, y));
           }},
      },
      "language_test.cpp");
  CHECK(n >= 30);
}

TEST_CASE("misuse: domains, parameters, buffers, edges") {
  RDom r(0, 4, "r");
  Expr none;
  ImageParam im(UInt(8), 2, "im");
  Param<uint8_t> p("p");
  const size_t n = check_cases(
      {
          {"a domain of nothing", "L0301", "undefined", [&] { RDom d(0, none); }, true, false},
          {"a domain of a float", "L0301", "not an integer", [] { RDom d(0, 1.5f); }, true, false},
          {"a domain that depends on a Var", "L0301", "Var x", [] { RDom d(0, x); }},
          {"a domain that depends on a domain", "L0301", "RVar", [&] { RDom d(0, r.x); }},
          {"a min alone", "L0301", "without an extent", [] { RDom d(0, 4, 0); }, true, false},
          {"a dimension that a domain lacks", "L0301", "dimension 3", [&] { r[3]; }, false, false},
          {"a domain of two as one", "L0301", "2 dimensions",
           [] {
             RDom d(0, 4, 0, 4);
             use(Expr(d) + 1);
           },
           false},
          {"a domain without a range", "L0205", "no RVar",
           [] {
             RDom d;
             Func f = plane();
             f(x, y) += d.x;
           },
           true},
          {"where of a number", "L0302", "not bool",
           [&] {
             RDom d(0, 4);
             d.where(d.x + 1);
           },
           true, false},
          {"where of nothing", "L0101", "predicate",
           [&] {
             RDom d(0, 4);
             d.where(none);
           }},
          {"where after use", "L0302", "",
           [] {
             RDom d(0, 4);
             total(d);
             d.where(d.x > 1);
           }},
          {"sum without an RVar", "L0301", "without an RVar", [] { use(sum(x + 1)); }},
          {"argmax without an RVar", "L0301", "without an RVar", [] { argmax(x + 1); }},
          {"maximum of two domains", "L0207", "two RDoms",
           [&] {
             RDom d(0, 4);
             use(maximum(r.x + d.x));
           },
           true},
          {"a value that does not fit", "L0104", "p", [&] { p.set(300); }},
          {"a value below zero", "L0104", "p", [&] { p.set(-1); }},
          {"a buffer of another type", "L0403", "im", [&] { im.set(Buffer<float>(3, 3)); }},
          {"a buffer of another rank", "L0403", "im", [&] { im.set(Buffer<uint8_t>(3)); }},
          {"a buffer as another type", "L0403", "",
           [] {
             Buffer<uint8_t> b(3);
             Buffer<float, 1> c(b);
           },
           false},
          {"an undefined buffer", "L0101", "undefined Buffer", [] { Buffer<int>().width(); },
           false},
          {"edge of a Func without bounds", "L0105", "bounds",
           [] { BoundaryConditions::repeat_edge(plane()); }},
          {"edge of more dimensions", "L0204", "3",
           [] { BoundaryConditions::repeat_edge(plane(), {{0, 1}, {0, 1}, {0, 1}}); }},
          {"exterior of two values for one", "L0208", "2 values",
           [] { BoundaryConditions::constant_exterior(plane(), Tuple(1, 2), {{0, 4}, {0, 4}}); }},
          {"edge of an undefined Func", "L0201", "not defined",
           [] { BoundaryConditions::mirror_image(Func("f"), {{0, 4}}); }},
      },
      "language_test.cpp");
  CHECK(n >= 24);
}

TEST_CASE("misuse: running and compiling") {
  ImageParam im(UInt(8), 2, "im");
  Param<int> p("p");
  const auto reads = [&] {
    Func f("f");
    f(x, y) = im(x, y);
    return f;
  };
  const size_t n = check_cases(
      {
          {"an undefined Func", "L0201", "", [] { Func("f").realize({4}); }, false},
          {"an input without a buffer", "L0401", "im", [&] { reads().realize({4, 4}); }, false},
          {"too few sizes", "L0105", "", [] { plane().realize({4}); }, false},
          {"too many sizes", "L0105", "", [] { plane().realize({4, 4, 4}); }, false},
          {"a negative size", "L0105", "", [] { plane().realize({-4, 4}); }, false, false},
          {"sizes beyond memory", "R0104", "memory", [] { plane().realize({1 << 30, 1 << 30}); },
           false, false},
          {"a buffer of another type", "R0101", "", [] { plane().realize(Buffer<float>(4, 4)); },
           false, false},
          {"a buffer of another rank", "R0101", "", [] { plane().realize(Buffer<int>(4)); }, false,
           false},
          {"two buffers for one output", "L0105", "2 buffers",
           [] {
             Buffer<int> a(4, 4), b(4, 4);
             plane().realize({a, b});
           },
           false},
          {"one buffer for two values", "L0105", "1 buffer", [] { pair().realize(Buffer<int>(4)); },
           false},
          {"an input that is too small", "R0102", "im",
           [&] {
             im.set(Buffer<uint8_t>(2, 2));
             reads().realize({4, 4});
             im.reset();
           },
           false},
          {"a target that is none", "T0101", "", [] { plane().realize({4, 4}, Target("pdp-11")); },
           false},
          {"a target of another machine", "T0103", "",
           [] { plane().realize({4, 4}, Target("arm-64-linux")); }, false},
          {"a file name without a folder", "R0201", "",
           [] { plane().compile_to_object("/dev/null/all.o", {}, "f"); }, false},
          {"a bad function name", "T0105", "",
           [] { plane().compile_to_object("/tmp/f.o", {}, "no name"); }, false},
          {"an empty Callable", "L0101", "Callable", [] { Callable()(1); }, false, false},
          {"an unbounded region", "B0101", "unbounded",
           [] {
             Func f("f"), g("g"), h("h");
             f(x) = x;
             h(x) = x * x;
             g(x) = f(h(x));
             f.compute_root();
             h.compute_root();
             g.realize({4});
           },
           false},
          {"a directive by name of no loop", "S0103", "no loop q",
           [] {
             Func f = plane();
             f.vectorize(Var("q"), 4);
             f.realize({4, 4});
           }},
          {"a consumer of another pipeline", "S0101", "",
           [] {
             Func f = plane(), g = plane("other"), h("h");
             h(x, y) = f(x, y);
             f.compute_at(g, x);
             h.realize({4, 4});
           }},
          {"a factor that is no constant", "S0110", "constant",
           [&] {
             Func f("f");
             f(x) = x + p;
             f.vectorize(x, p);
             f.realize({4});
           }},
          {"a LoopLevel never set", "S0103", "never set",
           [] {
             Func f = plane();
             f.compute_at(LoopLevel());
           },
           true, false},
          {"a tile of different lengths", "S0105", "lengths",
           [] {
             Func f = plane();
             f.tile({x, y}, {x}, {x, y}, {4, 4});
           },
           false},
          {"nothing as a factor", "L0101", "",
           [] {
             Func f = plane();
             f.split(x, y, z, Expr());
           }},
          {"nothing as a condition", "L0101", "specialize", [] { plane().specialize(Expr()); }},
          {"a device", "S0130", "gpu_blocks",
           [] {
             Func f = plane();
             f.gpu_blocks(x);
             f.realize({4, 4});
           }},
          {"a ring in the loop that fills it", "S0139", "ring of copies",
           [] {
             Func f = plane(), g("g");
             g(x, y) = f(x, y);
             f.compute_at(g, y).ring_buffer(2);
             g.realize({4, 4});
           }},
          {"two parameters of one name", "L0404", "same",
           [] {
             Param<int> a("same"), b("same");
             Func f("f");
             f(x) = a + b;
             f.realize({4});
           },
           false},
          {"a promise that is broken", "R0103", "",
           [&] {
             ImageParam q(UInt(8), 1, "q");
             q.dim(0).set_bounds(0, 8);
             q.set(Buffer<uint8_t>(4));
             Func f("f");
             f(x) = q(x);
             f.realize({4});
           },
           false, false},
          {"a requirement that fails", "R0105", "positive",
           [] {
             Func f("f");
             f(x) = require(x < 2, x, "positive");
             f.realize({4});
           },
           false, false},
          {"a bound that is too small", "R0103", "",
           [] {
             Func f = plane();
             f.bound(x, 0, 2);
             f.realize({4, 4});
           },
           false},
      },
      "language_test.cpp");
  CHECK(n >= 30);
}
