// Directives that make Funcs: in, clone_in, rfactor; their names, their text, their refusals.
#include <doctest/doctest.h>

#include "ir/print.h"
#include "programs.h"
#include "run.h"
#include "support/check_diag.h"

using namespace calotype;
using namespace calotype::test;

namespace {

schedule::Schedule parsed(const std::string &lines) {
  return schedule::parse_schedule("calotype 1\n" + lines, "test.sched");
}
schedule::Scheduled made(const ir::Program &p, const std::string &lines) {
  return schedule::apply(p, parsed(lines), test_target());
}
std::string func(const schedule::Scheduled &s, const std::string &name) {
  const ir::Function *f = s.program.find(name);
  return f ? ir::to_string(*f) : "none";
}
std::string names(const schedule::Scheduled &s) {
  std::string text;
  for (const ir::Function &f : s.program.funcs) text += (text.empty() ? "" : " ") + f.name.str();
  return text;
}
std::string printed(const ir::Program &p, const std::string &lines) {
  return schedule::print_schedule(schedule::resolve(p, parsed(lines)));
}
bool has(const std::string &text, const std::string &part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

}  // namespace

TEST_CASE("in: a wrapper stands between a Func and its readers") {
  const auto all = made(diamond_program(), "f.in().compute_root()\n");
  CHECK(names(all) == "f f_in g h output");
  CHECK(has(func(all, "g"), "f_in(x, y) + f_in(x + 1, y)"));
  CHECK(has(func(all, "h"), "f_in(x, y)"));
  CHECK(has(func(all, "f_in"), "f_in(x, y) = f(x, y)"));
  const auto one =
      made(diamond_program(), "let w = f.in(g)\nw.compute_at(g, y)\ng.compute_root()\n");
  CHECK(names(one) == "f w g h output");
  CHECK(has(func(one, "g"), "w(x, y)"));
  CHECK(has(func(one, "h"), "f(x, y)"));
  const auto both = made(diamond_program(), "f.in({g, h}).compute_root().vectorize(x, 8)\n");
  CHECK(names(both) == "f f_in_g_h g h output");
  CHECK(loops_of(both.state, "f_in_g_h") == "y, x, x.v!v");
}

TEST_CASE("in: a reader's own wrapper comes before the one for all, in either order") {
  for (const char *lines : {"f.in().compute_root()\nf.in(g).compute_root()\n",
                            "f.in(g).compute_root()\nf.in().compute_root()\n"}) {
    const auto s = made(diamond_program(), lines);
    CHECK(has(func(s, "g"), "f_in_g(x, y)"));
    CHECK(has(func(s, "h"), "f_in(x, y)"));
    CHECK(has(func(s, "f_in_g"), "= f(x, y)"));
  }
}

TEST_CASE("in: the same request is the same Func; wrappers may be wrapped") {
  const auto s = made(diamond_program(), "f.in(g).compute_root()\nf.in(g).vectorize(x, 8)\n");
  CHECK(names(s) == "f f_in_g g h output");
  CHECK(loops_of(s.state, "f_in_g") == "y, x, x.v!v");
  const auto twice = made(diamond_program(), "f.in(g).in(g).compute_root()\n");
  CHECK(has(func(twice, "g"), "f_in_g_in_g(x, y)"));
  CHECK(has(func(twice, "f_in_g_in_g"), "= f_in_g(x, y)"));
}

TEST_CASE("clone_in: a copy with the directives so far") {
  const auto s =
      made(diamond_program(), "f.compute_root().vectorize(x, 4)\nf.clone_in(h).unroll(y, 2)\n");
  CHECK(names(s) == "f f_clone_in_h g h output");
  CHECK(has(func(s, "f_clone_in_h"), "f_clone_in_h(x, y) = x + y"));
  CHECK(has(func(s, "h"), "f_clone_in_h(x, y)"));
  CHECK(loops_of(s.state, "f_clone_in_h") == "y, y.u!u, x, x.v!v");
  CHECK(loops_of(s.state, "f") == "y, x, x.v!v");
  const auto updates =
      made(sum_program(), "sum.clone_in(output).compute_root().update(0).unroll(r.x)\n");
  CHECK(has(func(updates, "sum_clone_in_output"), "sum_clone_in_output(x, y) + `in`("));
}

TEST_CASE("rfactor: partial results, and their reduction") {
  const auto s = made(sum_program(),
                      "let part = sum.update(0).rfactor({r.y: u})\npart.compute_root()\n"
                      "sum.compute_root()\n");
  CHECK(names(s) == "in part sum output");
  CHECK(has(func(s, "part"), "part(x, y, u) = 0"));
  CHECK(has(func(s, "part"), "part(x, y, u) + `in`(x + r.x, y + u) for r.x in 0 +: 3"));
  CHECK(has(func(s, "sum"), "sum(x, y) + part(x, y, r.y) for r.y in 0 +: 5"));
  CHECK(loops_of(s.state, "part", 1) == "y, x, u, r.x");
  CHECK(loops_of(s.state, "sum", 1) == "y, x, r.y");
  CHECK(s.reordered.empty());
  const auto f = made(sum_program(Float(32)), "sum.update(0).rfactor(r.y, u).compute_root()\n");
  REQUIRE(f.reordered.size() == 1);
  CHECK(f.reordered[0] == "rfactor on sum.update(0)");
  CHECK(names(f) == "in sum_by_u sum output");
}

TEST_CASE("rfactor: after a split") {
  const auto s = made(sum_program(),
                      "sum.update(0).split(r.y, ro, ri, 2)\n"
                      "let part = sum.update(0).rfactor({ro: u})\npart.compute_root()\n");
  CHECK(has(func(s, "part"), "for r.x in 0 +: 3, ri in 0 +: 2 if"));
  CHECK(has(func(s, "sum"), "for ro in 0 +: 3"));
  const auto both = made(sum_program(),
                         "sum.update(0).fuse(r.x, r.y, t).split(t, to, ti, 4)"
                         ".rfactor({ti: u}).compute_root().vectorize(u)\n");
  CHECK(has(func(both, "sum"), "for ti in 0 +: 4"));
}

TEST_CASE("made Funcs: printing and loading give the same program") {
  for (const char *lines :
       {"let w = f.in(g)\nw.compute_at(g, y).vectorize(x, 8)\ng.compute_root()\n",
        "f.in().compute_root()\nf.clone_in(g).compute_root()\n", "f.in({g, h}).compute_root()\n"}) {
    const std::string text = printed(diamond_program(), lines);
    const auto again = schedule::parse_schedule(text, "again.sched");
    CHECK(schedule::print_schedule(again) == text);
    const auto a = made(diamond_program(), lines);
    const auto b = schedule::apply(diamond_program(), again, test_target());
    CHECK(ir::to_string(a.program) == ir::to_string(b.program));
    for (const ir::Function &f : a.program.funcs)
      CHECK(loops_of(a.state, f.name) == loops_of(b.state, f.name));
  }
  const std::string sum = printed(sum_program(), "sum.update(0).rfactor(r.y, u).compute_root()\n");
  CHECK(has(sum, "let sum_by_u = sum.update(0).rfactor({r.y: u})\nsum_by_u.compute_root()\n"));
  const std::string cpp =
      schedule::print_schedule_cpp(parsed("let part = sum.update(0).rfactor({r.y: "
                                          "u})\npart.compute_root().update(0).parallel(u)\n"),
                                   sum_program());
  CHECK(has(cpp, "Func part = sum.update(0).rfactor({{sum.rvars(0)[1], u}});"));
  CHECK(has(cpp, "part.compute_root();"));
}

TEST_CASE("made Funcs: refusals") {
  const auto diamond = [](const std::string &l) { return made(diamond_program(), l); };
  const auto sums = [](const std::string &l) { return made(sum_program(), l); };
  CHECK_DIAG_AT(diamond("output.in().compute_root()\n"), "S0121", "nothing reads output", "2:8");
  CHECK_DIAG_AT(diamond("g.in(h)\n"), "S0121", "h does not read g", "2:6");
  CHECK_DIAG(diamond("f.in({g, g})\n"), "S0114", "g twice");
  CHECK_DIAG(diamond("f.in(nothing)\n"), "S0101", "nothing");
  CHECK_DIAG(diamond("f.clone_in()\n"), "S0105", "clone_in");
  CHECK_DIAG(diamond("let h = f.in(g)\n"), "S0109", "h is already used");
  CHECK_DIAG(diamond("let w = f.compute_root()\n"), "S0105", "names no Func");
  CHECK_DIAG(diamond("f.in(g)\nf.in({g, h})\n"), "S0121", "g does not read f");
  CHECK_DIAG(diamond("f.in(g).vectorize(x, 8)\n"), "S0108", "f_in_g, which is inlined");
  CHECK_DIAG(sums("sum.rfactor({r.x: u})\n"), "S0108", "pure definition");
  CHECK_DIAG(sums("sum.update(1).rfactor({r.x: u})\n"), "S0106", "sum.update(1)");
  CHECK_DIAG(sums("sum.update(0).rfactor({x: u})\n"), "S0123", "no loop of the reduction");
  CHECK_DIAG(sums("sum.update(0).rfactor({q: u})\n"), "S0103", "q");
  CHECK_DIAG(sums("sum.update(0).rfactor({r.x: y})\n"), "S0109", "y is already used");
  CHECK_DIAG(sums("sum.update(0).unroll(r.x).rfactor({r.y: u})\n"), "S0123", "got its kind");
  CHECK_DIAG(sums("sum.update(0).split(x, xo, xi, 4).rfactor({r.y: u})\n"), "S0123", "was changed");
  CHECK_DIAG(sums("sum.update(0).rfactor(r.x)\n"), "S0105", "rfactor");
  const auto scan = [](const std::string &l) { return made(scan_program(), l); };
  CHECK_DIAG(scan("scan.update(0).rfactor({r.x: u})\n"), "S0122", "not the element it writes");
  CHECK_DIAG(scan("scan.update(0).atomic()\n"), "S0124", "cannot be atomic");
  CHECK_DIAG(scan("scan.update(0).atomic(true)\n"), "S0124", "does not replace the proof");
}

TEST_CASE("atomic: makes dependent loops parallel and vectorised") {
  const auto s =
      made(sum_program(), "sum.compute_root().update(0).atomic().parallel(r.y).vectorize(r.x)\n");
  CHECK(loops_of(s.state, "sum", 1) == "y, x, r.y!p, r.x!v");
  CHECK(s.reordered.empty());
  const auto f =
      made(sum_program(Float(32)), "sum.compute_root().update(0).atomic().vectorize(r.x)\n");
  REQUIRE(f.reordered.size() == 1);
  CHECK(f.reordered[0] == "atomic on sum.update(0)");
  const auto turned =
      made(sum_program(Float(32)), "sum.compute_root().update(0).atomic().reorder(r.y, r.x)\n");
  CHECK(turned.reordered.size() == 1);
  const auto free =
      made(sum_program(Float(32)), "sum.compute_root().update(0).atomic().parallel(y)\n");
  CHECK(free.reordered.empty());
  CHECK_DIAG(made(sum_program(), "sum.compute_root().update(0).parallel(r.y)\n"), "S0111",
             "sum.update(0).atomic()");
  CHECK_DIAG(made(sum_program(), "sum.compute_root().update(0).parallel(r.y)\n"), "S0111",
             "rfactor({r.y: u})");
  const auto raced = made(sum_program(Float(32)),
                          "sum.compute_root().update(0).allow_race_conditions().parallel(r.y)\n");
  CHECK(raced.reordered[0] == "allow_race_conditions on sum.update(0)");
}

TEST_CASE("named blocks: directives under a name, put in where it is used") {
  const std::string block =
      "def register_tile(func, x, n)\n  func.vectorize(x, n)\n  func.unroll(y, 2)\nend\n";
  const auto s = made(blur_program(), block +
                                          "blur_x.compute_root()\nregister_tile(output, x, 8)\n"
                                          "register_tile(blur_x, x, vec(i32) * 2)\n");
  CHECK(loops_of(s.state, "output") == "y, y.u!u, x, x.v!v");
  CHECK(loops_of(s.state, "blur_x") == "y, y.u!u, x, x.v!v");
  CHECK(has(schedule::print_schedule(parsed(block + "register_tile(output, x, 8)\n")),
            "output.vectorize(x, 8).unroll(y, 2)"));
  const auto wrong = [&](const std::string &l) { return made(blur_program(), l); };
  // Both places: where the block says it, and where it is used.
  CHECK_DIAG_AT(wrong(block + "register_tile(output, z, 8)\n"), "S0103", "no loop z", "3:18");
  CHECK_DIAG(wrong(block + "register_tile(output, z, 8)\n"), "S0103", "6:1");
  CHECK_DIAG(wrong(block + "register_tile(output, x)\n"), "S0125", "takes 3 arguments, not 2");
  CHECK_DIAG(wrong(block + "register_tle(output, x, 8)\n"), "S0125", "did you mean register_tile?");
  CHECK_DIAG(wrong("def a(f)\n  f.parallel(y)\n"), "S0125", "has no end");
  CHECK_DIAG(wrong("def a(f)\n  a(f)\nend\na(output)\n"), "S0125", "cannot use block");
  CHECK_DIAG(wrong("def a(f)\n  let n = 3\nend\na(output)\n"), "S0125", "cannot name a number");
  CHECK_DIAG(wrong("def a(f)\n  pipeline x\nend\na(output)\n"), "S0125", "pipeline cannot stand");
  CHECK_DIAG(wrong("def a(f, f)\nend\n"), "S0114", "f twice");
  CHECK_DIAG(wrong("def a(f)\nend\ndef a(f)\nend\n"), "S0109", "given twice");
  CHECK_DIAG(wrong("def a(f)\n  f.vectorize(x,\nend\na(output)\n"), "S0001", "used here");
}
