// From Funcs to Programs: definitions, names, order, parameters.
#include <doctest/doctest.h>

#include "support.h"
#include "support/check_diag.h"

using namespace calotype;
using calotype::test::program;
using calotype::test::text;

namespace {
Var x("x"), y("y"), z("z");

std::vector<std::string> names(const ir::Program &p) {
  std::vector<std::string> all;
  for (const ir::Function &f : p.funcs) all.push_back(f.name.str());
  return all;
}
using Strings = std::vector<std::string>;
}  // namespace

TEST_CASE("func: pure and update definitions become data") {
  Func f("f");
  RDom r(0, 5);
  f(x, y) = x + y;
  f(x, 0) = 7;
  f(r, y) += f(r - 1, y) * 2;
  CHECK(text(f) ==
        "f(x, y) = x + y\n"
        "f(x, 0) = 7\n"
        "f(r.x, y) = f(r.x, y) + f(r.x - 1, y)*2 for r.x in 0 +: 5\n");
  CHECK(f.num_update_definitions() == 2);
  CHECK(f.update_args(1).size() == 2);
  CHECK(f.rvars(1)[0].name() == "r.x");
}

TEST_CASE("func: an update of an undefined Func starts from 0 or 1") {
  RDom r(0, 4);
  Func a("a"), b("b"), h("h");
  a(x) += x;
  b(x) *= cast<float>(r);
  ImageParam im(UInt(8), 1, "im");
  h(im(r)) += 1;
  CHECK(text(a).find("a(x) = 0\n") != std::string::npos);
  CHECK(text(b).find("b(x) = 1.0f\n") != std::string::npos);
  CHECK(h.dimensions() == 1);
  CHECK(text(h).find("for r.x in 0 +: 4") != std::string::npos);
}

TEST_CASE("func: _ stands for the dimensions that are left") {
  Func g("g"), f("f"), all("all"), h("h");
  g(x, y, z) = x + y * z;
  f(x, _) = g(x, _);
  f(3, _) += g(1, _);
  CHECK(text(f) ==
        "f(x, _0, _1) = g(x, _0, _1)\n"
        "f(3, _0, _1) = f(3, _0, _1) + g(1, _0, _1)\n");
  all(_) = g(_) + 1;
  CHECK(all.dimensions() == 3);
  Func named("named");
  named(x, y) = x;
  named(_) += all(0, _);
  CHECK(text(named).find("named(x, y) = named(x, y) + all(0, x, y)") != std::string::npos);
  CHECK_DIAG(h(x, y) = g(x, _), "L0214", "the right side of h has implicit dimensions");
  CHECK(Func(g(_) * 2).dimensions() == 3);
}

TEST_CASE("func: unnamed Vars and Funcs get names from the program alone") {
  Var u, v;
  Func a, b, c("c"), c2("c");
  a(u) = u;
  b(v, u) = a(v) + u;
  c(u) = b(u, u);
  c2(u) = c(u);
  const ir::Program p = program({c2});
  CHECK(names(p) == Strings{"f[0]", "f[1]", "c[0]", "c[1]"});
  CHECK(ir::to_string(p.funcs[1]) == "`f[1]`(v1, v0) = `f[0]`(v1) + v0\n");
  CHECK(p.outputs[0] == "c[1]");
}

TEST_CASE("func: an explicit name that one Func has stays beside unnamed ones") {
  Func f("f"), unnamed;
  unnamed(x) = x;
  f(x) = unnamed(x);
  CHECK(names(program({f})) == Strings{"f[0]", "f"});
}

TEST_CASE("func: an inner Func with a parameter's name is numbered") {
  ImageParam im(UInt(8), 1, "input");
  Func inner("input"), out("out");
  inner(x) = im(x);
  out(x) = inner(x);
  CHECK(names(program({out})) == Strings{"input[0]", "out"});
}

TEST_CASE("program: producers come first, and only what is reached") {
  Func a("a"), b("b"), c("c"), unused("unused"), out("out");
  a(x) = x;
  b(x) = a(x);
  c(x) = a(x) + b(x);
  unused(x) = a(x);
  out(x) = c(x) + b(x);
  CHECK(names(program({out})) == Strings{"a", "b", "c", "out"});
  CHECK(names(program({b, c})) == Strings{"a", "b", "c"});
}

TEST_CASE("program: a chain of many Funcs needs no stack") {
  Func last("first");
  last(x) = x;
  for (int i = 0; i < 20000; i++) {
    Func next("next");
    next(x) = last(x);
    last = next;
  }
  CHECK(program({last}).funcs.size() == 20001);
}

TEST_CASE("program: parameters in order of first use, with those of constraints") {
  Param<int> p("p"), q("q", 3, 0, 10), width("width");
  ImageParam im(UInt(8), 2, "im");
  im.dim(0).set_extent(width);
  Func f("f");
  f(x, y) = im(x, y) + q + p;
  const ir::Program prog = program({f});
  Strings params;
  for (const auto &param : prog.params) params.push_back(param->name);
  CHECK(params == Strings{"im", "q", "p", "width"});
  const ir::Program ordered =
      ir::make_program("t", {f.function()}, {width.parameter().get(), p.parameter().get()}, {});
  params.clear();
  for (const auto &param : ordered.params) params.push_back(param->name);
  CHECK(params == Strings{"width", "p", "im", "q"});
}

TEST_CASE("program: two parameters of one name are refused") {
  Param<int> a("p"), b("p");
  Func f("f"), g("p");
  f(x) = a + b;
  CHECK_DIAG(program({f}), "L0404", "two parameters are called p");
  g(x) = a;
  CHECK_DIAG(program({g}), "L0404", "an input and an output are both called p");
}

TEST_CASE("program: an embedded Buffer is one parameter however often it is read") {
  Buffer<int> b(4);
  b.set_name("table");
  Func f("f"), g("g");
  f(x) = b(x) + b(x + 1);
  g(x) = f(x) + b(0);
  const ir::Program p = program({g});
  REQUIRE(p.params.size() == 1);
  CHECK(p.params[0]->embedded);
  CHECK(p.params[0]->name == "table");
}

TEST_CASE("program: a Func that reaches itself is refused with the way round") {
  Ref<ir::FunctionBody> a(new ir::FunctionBody), b(new ir::FunctionBody);
  a->name = "a";
  b->name = "b";
  a->id = 1;
  b->id = 2;
  for (const auto &f : {a, b}) {
    f->args = {"x"};
    f->types = {Int(32)};
  }
  const auto reads = [](const Ref<ir::FunctionBody> &f) {
    ir::Definition d;
    d.args = {ir::make_var("x")};
    d.values = {ir::make_func_call(Int(32), f->name, {ir::make_var("x")}, 0, f)};
    return d;
  };
  a->definitions = {reads(b)};
  b->definitions = {reads(a)};
  CHECK_DIAG(ir::make_program("t", {a}, {}, {}), "L0210", "a -> b -> a");
  b->definitions.clear();  // or the two would keep each other alive
}

TEST_CASE("program: settling is optional") {
  Func f("f");
  f(x) = cast<float>(x) * 2.0f + 1.0f;
  CHECK(ir::to_string(program({f}, false).funcs[0]).find("fma") == std::string::npos);
  CHECK(ir::to_string(program({f}, true).funcs[0]).find("fma") != std::string::npos);
}

TEST_CASE("func: random numbers depend on coordinates and on their place") {
  Func f("f"), g("g"), h("h");
  f(x, y) = random_int() + random_int();
  g(x, y) = random_int(5) - random_int(5);
  h(x, y) = f(x, y) + g(x, y);
  const ir::Program p = program({h});
  const std::string shown = ir::to_string(p);
  CHECK(shown.find("random(x, y, 0)") != std::string::npos);
  CHECK(shown.find("random(x, y, 1)") != std::string::npos);
  CHECK(shown.find("random(x, y, 5)") != std::string::npos);
}

TEST_CASE("tuple: Funcs of several values") {
  Func t("t"), u("u");
  t(x) = Tuple(x, cast<float>(x));
  t(x) += Tuple(1, 2.0f);
  t(x)[1] = t(x)[1] * 3.0f;
  u(x) = t(x);
  CHECK(u.outputs() == 2);
  CHECK(t.num_update_definitions() == 2);
  CHECK(text(t).find("t(x) = {t(x), t(x).1*3.0f}") != std::string::npos);
}

TEST_CASE("rdom: dimensions, names and predicates") {
  RDom r(0, 4, 1, 5, "dom");
  CHECK(r.dimensions() == 2);
  CHECK(r.y.name() == "dom.y");
  CHECK(text(r.y.min()) == "1");
  r.where(r.x < r.y);
  Func f("f");
  f(x) = 0;
  f(x) += r.x * r.y;
  CHECK(text(f).find("for dom.x in 0 +: 4, dom.y in 1 +: 5 if dom.x < dom.y") != std::string::npos);
  CHECK_DIAG(r.where(r.x > 1), "L0302", "where() after the RDom dom was used");
  ImageParam im(UInt(8), 2, "im");
  RDom all(im);
  CHECK(text(all.y.extent()).find("im.extent.1") != std::string::npos);
}
