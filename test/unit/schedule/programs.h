// Small programs built by hand, so that schedule tests need neither the language nor the parser of programs.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "ir/function.h"
#include "ir/nodes.h"
#include "schedule/directive.h"

namespace calotype::test {

inline Expr var(const std::string &name) { return ir::make_var(name); }
inline Expr num(int n) { return ir::make_int(Int(32), n); }
inline Expr call(const std::string &func, std::vector<Expr> args, Type t = Int(32)) {
  return ir::make_func_call(t, func, std::move(args));
}
inline Expr operator+(const Expr &a, const Expr &b) { return ir::make_add(a, b); }
inline Expr operator-(const Expr &a, const Expr &b) { return ir::make_sub(a, b); }

/// Builds a Program Func by Func, producers first; the last one is the output.
class ProgramBuilder {
public:
  explicit ProgramBuilder(const std::string &name) { p_.name = name; }

  ProgramBuilder &func(const std::string &name, const std::vector<std::string> &args,
                       const Expr &value) {
    ir::Function f;
    f.name = name;
    f.id = p_.funcs.size() + 1;
    ir::Definition d;
    for (const std::string &a : args) {
      f.args.push_back(a);
      d.args.push_back(var(a));
    }
    d.values = {value};
    d.loc = SrcLoc{"algorithm.cpp", static_cast<int>(10 + p_.funcs.size()), 0, 0};
    f.loc = d.loc;
    f.types = {value.type()};
    f.definitions = {d};
    p_.funcs.push_back(f);
    return *this;
  }
  /// An update of the last Func. rvars: name, extent (undefined: a parameter's).
  ProgramBuilder &update(const std::vector<Expr> &args, const Expr &value,
                         const std::vector<std::pair<std::string, Expr>> &rvars = {}) {
    ir::Definition d;
    d.args = args;
    d.values = {value};
    d.loc = SrcLoc{"algorithm.cpp", static_cast<int>(50 + p_.funcs.size()), 0, 0};
    for (const auto &r : rvars) d.rvars.push_back({r.first, num(0), r.second});
    p_.funcs.back().definitions.push_back(d);
    return *this;
  }
  ProgramBuilder &param(const std::string &name, Type t = Int(32)) {
    auto *param = new ir::Parameter();
    param->name = name;
    param->type = t;
    p_.params.push_back(param);
    return *this;
  }
  Expr param_value(const std::string &name) const {
    for (const auto &param : p_.params) {
      if (param->name == name) return ir::make_var(name, param->type, param);
    }
    return {};
  }
  ir::Program build() {
    ir::Program p = p_;
    if (p.outputs.empty()) p.outputs = {p.funcs.back().name};
    return p;
  }

private:
  ir::Program p_;
};

/// output(x, y) = blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1), blur_x(x, y) = in(x - 1, y) + in(x + 1, y), in = x + y.
inline ir::Program blur_program() {
  const Expr x = var("x"), y = var("y");
  return ProgramBuilder("blur")
      .func("in", {"x", "y"}, x + y)
      .func("blur_x", {"x", "y"}, call("in", {x - num(1), y}) + call("in", {x + num(1), y}))
      .func("output", {"x", "y"},
            call("blur_x", {x, y - num(1)}) + call("blur_x", {x, y}) +
                call("blur_x", {x, y + num(1)}))
      .build();
}

/// output = g + h, g(x, y) = f(x, y) + f(x + 1, y), h(x, y) = f(x, y), f(x, y) = x + y.
inline ir::Program diamond_program() {
  const Expr x = var("x"), y = var("y");
  return ProgramBuilder("diamond")
      .func("f", {"x", "y"}, x + y)
      .func("g", {"x", "y"}, call("f", {x, y}) + call("f", {x + num(1), y}))
      .func("h", {"x", "y"}, call("f", {x, y}))
      .func("output", {"x", "y"}, call("g", {x, y}) + call("h", {x, y}))
      .build();
}

/// sum(x, y) = 0; sum(x, y) += in(x + r.x, y + r.y); output = sum: r is 3 by 5.
inline ir::Program sum_program(Type t = Int(32)) {
  const Expr x = var("x"), y = var("y"), rx = var("r.x"), ry = var("r.y");
  return ProgramBuilder("sums")
      .func("in", {"x", "y"}, ir::make_cast(t, x + y))
      .func("sum", {"x", "y"}, ir::make_zero(t))
      .update({x, y}, call("sum", {x, y}, t) + call("in", {x + rx, y + ry}, t),
              {{"r.x", num(3)}, {"r.y", num(5)}})
      .func("output", {"x", "y"}, call("sum", {x, y}, t))
      .build();
}

/// scan(x) = x; scan(r.x) = scan(r.x - 1) + 1: no reduction, each step needs the one before.
inline ir::Program scan_program() {
  const Expr r = var("r.x");
  return ProgramBuilder("scans")
      .func("scan", {"x"}, var("x"))
      .update({r}, call("scan", {r - num(1)}) + num(1), {{"r.x", num(5)}})
      .build();
}

/// The programs that files name.
/// The rows of a softmax times a matrix: maxima, sums of exponentials, weighted sums over r.
inline ir::Program softmax_program() {
  const Type f = Float(32);
  const Expr d = var("d"), i = var("i"), r = var("r.x");
  const std::vector<std::pair<std::string, Expr>> domain{{"r.x", num(100)}};
  const Expr e =
      ir::make_intrinsic(f, ir::Intrinsic::exp, {call("in", {r, i}, f) - call("M", {i}, f)});
  return ProgramBuilder("softmax")
      .func("in", {"x", "y"}, ir::make_cast(f, var("x") - var("y")))
      .func("M", {"i"}, ir::make_float(f, -INFINITY))
      .update({i}, ir::make_max(call("M", {i}, f), call("in", {r, i}, f)), domain)
      .func("L", {"i"}, ir::make_zero(f))
      .update({i}, call("L", {i}, f) + e, domain)
      .func("O", {"d", "i"}, ir::make_zero(f))
      .update({d, i},
              call("O", {d, i}, f) +
                  ir::make_div(ir::make_mul(e, call("in", {d, r}, f)), call("L", {i}, f)),
              domain)
      .func("output", {"d", "i"}, call("O", {d, i}, f))
      .build();
}

inline ir::Program program_named(const std::string &name) {
  if (name == "blur") return blur_program();
  if (name == "diamond") return diamond_program();
  if (name == "sum") return sum_program();
  if (name == "scan") return scan_program();
  if (name == "softmax") return softmax_program();
  if (name == "sum_f32") return sum_program(Float(32));
  return {};
}

}  // namespace calotype::test
