// What people write by hand, callbacks of the schedule language, and hostile text.
#include "ir/parse.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "ir/equal.h"
#include "ir/print.h"
#include "support/ir_gen.h"

using namespace calotype;
using namespace calotype::ir;

namespace {

std::string reprint(const std::string &text, const ParseContext &cx = {}) {
  return to_string(parse_expr(text, cx));
}

// The first line of the message, or what was parsed.
template <typename Parse> std::string message(Parse parse, const std::string &code) {
  try {
    return "parsed: " + parse();
  } catch (const CompileError &e) {
    CHECK(e.diagnostic().code == code);
    return to_string(e.diagnostic().loc) + ": " + e.diagnostic().what;
  }
}
std::string error(const std::string &text, const ParseContext &cx = {}) {
  return message([&] { return to_string(parse_expr(text, cx)); }, "S0001");
}
std::string stmt_error(const std::string &text) {
  return message([&] { return to_string(parse_stmt(text, SrcLoc{"t.ir", 1, 1})); }, "L0601");
}
std::string program_error(const std::string &text) {
  return message([&] { return to_string(parse_program(text, SrcLoc{"t.ir", 1, 1})); }, "L0601");
}

}  // namespace

TEST_CASE("parse: precedence and associativity are those of C") {
  CHECK(reprint("a + b * c - d / e % f") == "a + b*c - d/e % f");
  CHECK(reprint("a < b && c == d || !e:bool") == "a < b && c == d || !e:bool");
  CHECK(equal(parse_expr("a - b - c"), parse_expr("(a - b) - c")));
  CHECK(!equal(parse_expr("a - b - c"), parse_expr("a - (b - c)")));
  CHECK(reprint("-x") == "0 - x");
  CHECK(reprint("x -1") == "x - 1");
  CHECK(reprint("x - -1") == "x - -1");
}

TEST_CASE("parse: a constant takes the type of its partner") {
  CHECK(reprint("w:u8 + 1") == "w:u8 + 1:u8");
  CHECK(reprint("2*w:f32 > 0.5") == "2.0f*w:f32 > 0.5f");
  CHECK(reprint("min(w:u16, 3)") == "min(w:u16, 3:u16)");
  CHECK(reprint("select(x > 1, w:f64, 0)") == "select(x > 1, w:f64, 0.0)");
  CHECK(reprint("v:i32x4 + 1") == "v:i32x4 + x4(1)");
  CHECK(error("w:u8 + 300") == "<text>:1:6: the operands of + have types u8 and i32");
  CHECK(error("w:u8 + x") == "<text>:1:6: the operands of + have types u8 and i32");
}

TEST_CASE("parse: numbers") {
  CHECK(reprint("0x10") == "16");
  CHECK(reprint("-9223372036854775808:i64") == "-9223372036854775808:i64");
  CHECK(reprint("18446744073709551615:u64") == "18446744073709551615:u64");
  CHECK(reprint("1e3") == "1000.0");
  CHECK(reprint("3f") == "3.0f");
  CHECK(reprint("1:f32") == "1.0f");
  CHECK(error("256:u8") == "<text>:1:1: 256 does not fit u8");
  CHECK(error("-1:u8") == "<text>:1:2: -1 does not fit u8");
  CHECK(error("3000000000") == "<text>:1:1: 3000000000 does not fit i32");
  CHECK(error("99999999999999999999:u64") == "<text>:1:1: 99999999999999999999 does not fit u64");
  CHECK(error("1.5:i32") == "<text>:1:1: a number cannot have the type i32");
  CHECK(error("12abc") == "<text>:1:1: '12abc' is neither a number nor a name");
}

TEST_CASE("parse: comments and line breaks") {
  CHECK(reprint("a +  # one\n b ; two\n") == "a + b");
  CHECK(reprint("a\n+ b") == "a + b");
  CHECK(to_string(parse_stmt("f[0] = a +\n  b\nf[1] = (a\n  - b)\n-x\n")) ==
        "f[0] = a + b\nf[1] = a - b\n0 - x\n");
}

TEST_CASE("parse: errors have a place and say what was expected") {
  CHECK(error("") == "<text>:1:1: expected an expression, found the end of the text");
  CHECK(error("a + ") == "<text>:1:4: expected an expression, found the end of the text");
  CHECK(error("(a") == "<text>:1:3: expected ')', found the end of the text");
  CHECK(error("a b") == "<text>:1:3: expected the end after the expression, found 'b'");
  CHECK(error("a\n +\n )") == "<text>:3:2: expected an expression, found ')'");
  CHECK(error("min(a)") == "<text>:1:1: min takes 2 arguments, not 1");
  CHECK(error("bitwise_and(a)") == "<text>:1:1: bitwise_and takes 2 arguments, not 1");
  CHECK(error("select(a, b, c)") == "<text>:1:1: the condition of select has type i32, not bool");
  CHECK(error("a && b") == "<text>:1:3: && needs bool operands, not i32");
  CHECK(error("\"abc") == "<text>:1:1: the string is not closed on its line");
  CHECK(error("let") == "<text>:1:1: 'let' is a word of the language");
  CHECK(error("shuffle([9], ramp(0, 1, 4))") == "<text>:1:1: there is no lane 9 among 4");
  CHECK(error("x70000(a)").find("parsed") == 0);  // no broadcast word: a Func
  CHECK(error("x60000(x60000(a))") == "<text>:1:1: too many lanes");
  CHECK(error("reinterpret(f64, a)") == "<text>:1:1: i32 and f64 have different sizes");
  CHECK(error("u8x4(a)") == "<text>:1:1: a cast keeps the number of lanes");
}

TEST_CASE("parse: positions count from the origin") {
  try {
    parse_expr("a +\n  ?", {}, SrcLoc{"s.sched", 7, 27});
    FAIL("not reached");
  } catch (const CompileError &e) {
    CHECK(to_string(e.diagnostic().loc) == "s.sched:8:3");
  }
  try {
    parse_expr("a ?", {}, SrcLoc{"s.sched", 7, 27});
    FAIL("not reached");
  } catch (const CompileError &e) {
    CHECK(to_string(e.diagnostic().loc) == "s.sched:7:29");
  }
}

TEST_CASE("parse: a prefix ends where the expression does") {
  const auto prefix = [](const std::string &text, size_t from) {
    size_t pos = from;
    const Expr e = parse_expr_prefix(text, &pos, {}, SrcLoc{"s", 1, 1});
    return to_string(e) + "|" + text.substr(pos);
  };
  CHECK(prefix("f.split(x, xo, 2*n + 1)", 15) == "2*n + 1|)");
  CHECK(prefix("a, b", 0) == "a|, b");
  CHECK(prefix("a }", 0) == "a| }");
  CHECK(prefix("ro: u}", 0) == "ro|: u}");
  CHECK(prefix("rows\nf.compute_root()", 0) == "rows|\nf.compute_root()");
  CHECK(prefix("a == 1).vectorize(x)", 0) == "a == 1|).vectorize(x)");
  CHECK(prefix("a \"not closed", 0) == "a| \"not closed");
}

TEST_CASE("parse: callbacks give names their meaning") {
  ParseContext cx;
  cx.variable = [](const std::string &name, SrcLoc) {
    return name == "gain" ? make_var("gain", Float(32)) : Expr();
  };
  cx.member = [](const std::string &name, const std::string &member, const std::vector<Expr> &args,
                 SrcLoc) {
    return member == "stride" ? make_var(name + ".stride." + to_string(args[0])) : Expr();
  };
  cx.call = [](const std::string &name, const std::vector<Expr> &args, SrcLoc) {
    const Variable *v = args.empty() ? nullptr : args[0].as<Variable>();
    return name == "vec" && v ? make_int(Int(32), 32 / parse_type(v->name).bytes()) : Expr();
  };
  CHECK(reprint("gain > 1", cx) == "gain:f32 > 1.0f");
  CHECK(reprint("@gain", cx) == "gain:f32");
  CHECK(reprint("output.stride(0) == 1", cx) == "output.stride.0 == 1");
  CHECK(reprint("vec(u16)*2", cx) == "16*2");
  CHECK(reprint("n + (let gain = 2 in gain)", cx) == "n + (let gain = 2 in gain)");
  CHECK(error("output.strid(0)", cx) == "<text>:1:1: 'output' has no 'strid'");
  CHECK(error("gain:f64", cx) == "<text>:1:1: gain has type f32");
}

TEST_CASE("parse: statements with mistakes") {
  CHECK(stmt_error("for x in 0 {") == "t.ir:1:12: expected '+:', found '{'");
  CHECK(stmt_error("f[0] = 1 2") == "t.ir:1:10: expected the end of the line, found '2'");
  CHECK(stmt_error("a + b = 1") == "t.ir:1:1: only f(...) and f[...] can be assigned to");
  CHECK(stmt_error("if a {\n}\n") == "t.ir:1:4: a condition is bool, not i32");
  CHECK(stmt_error("if true {\n  f[0] = 1\n") ==
        "t.ir:2:11: expected '}', found the end of the text");
  CHECK(stmt_error("}") == "t.ir:1:1: expected an expression, found '}'");
  CHECK(stmt_error("allocate f:u9q [1]") ==
        "t.ir:1:12: expected a type such as i32, u8, f32 or bool, found 'u9q'");
  CHECK(stmt_error("realize f:u8 [0 +: 1] in cellar") ==
        "t.ir:1:26: expected a place in memory (heap, stack, register, gpu_shared ...), found "
        "'cellar'");
  CHECK(stmt_error("f[ramp(0, 1, 4)] = 1") == "t.ir:1:1: the value has 1 lanes, the index 4");
}

TEST_CASE("parse: programs with mistakes") {
  CHECK(program_error("program p {\nfunc f(x): i32 {\n f(x) = g(x)\n}\n}") ==
        "t.ir:3:9: no Func 'g' is declared above");
  CHECK(program_error("program p {\noutput f\n}") == "t.ir:2:8: no Func 'f' is declared above");
  CHECK(program_error("program p {\nparam a: i32 colour=3\n}") ==
        "t.ir:2:14: a parameter has no 'colour'");
  CHECK(program_error("program p {\nfunc f(x): i32 {\n}\n}") ==
        "t.ir:2:6: Func 'f' has no definition");
  CHECK(program_error("program p {\nfunc f(x): i32 {\n g(x) = 1\n}\n}") ==
        "t.ir:3:2: no Func 'g' is declared above");
  CHECK(program_error("nonsense") == "t.ir:1:1: expected 'program', found 'nonsense'");
}

TEST_CASE("parse: deep text from strangers is refused, not followed") {
  const auto code = [](auto parse) {
    try {
      parse();
    } catch (const CompileError &e) {
      return e.diagnostic().code;
    }
    return std::string("parsed");
  };
  const std::string open(300, '('), close(300, ')'), more(1000000, '('), minus(1000000, '-'),
      nots(1000000, '!');
  CHECK(code([&] { parse_expr(open + "a" + close); }) == "S0002");
  CHECK(code([&] { parse_expr(std::string(200, '(') + "a" + std::string(200, ')')); }) == "parsed");
  CHECK(code([&] { parse_expr(more); }) == "S0002");
  CHECK(code([&] { parse_stmt("f[0] = " + more); }) == "L0602");
  CHECK(code([&] { parse_stmt("f[0] = " + minus); }) == "L0602");
  CHECK(code([&] { parse_stmt("f[0] = " + nots); }) == "L0602");
  std::string chain = "a", braces;
  for (int i = 0; i < 5000; i++) chain += " + a";
  CHECK(code([&] { parse_expr(chain); }) == "S0002");
  for (int i = 0; i < 100000; i++) braces += "{";
  CHECK(code([&] { parse_stmt(braces); }) == "L0602");
  CHECK(code([&] { parse_expr(std::string(2000000, ' ')); }) == "S0002");
}

TEST_CASE("parse: damaged text never does more than throw a CompileError") {
  test::IrGenerator gen(5);
  std::mt19937 random(6);
  for (int i = 0; i < 1500; i++) {
    std::string text = to_string(gen.stmt(3));
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0 && !text.empty(); edits--) {
      const size_t at = random() % text.size();
      static const char chars[] = "()[]{}@:+-*/%<>=!&|,.;#`\"\\0179xfulet \n\x80";
      switch (random() % 3) {
        case 0: text.erase(at, 1 + random() % 5); break;
        case 1: text.insert(at, 1, chars[random() % (sizeof chars - 1)]); break;
        default: text[at] = chars[random() % (sizeof chars - 1)]; break;
      }
    }
    try {
      const Stmt s = parse_stmt(text);
      CHECK(equal(s, parse_stmt(to_string(s))));  // what is accepted prints and reads back
    } catch (const CompileError &e) {
      CHECK(e.diagnostic().loc.line >= 1);
    }
  }
}
