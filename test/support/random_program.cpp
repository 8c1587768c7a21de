// See random_program.h.
#include "random_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/diagnostic.h"
#include "ir/print.h"
#include "ir/settle.h"
#include "ir/verify.h"
#include "lang/float16.h"

namespace calotype::test {

using namespace ir;  // makers

int Dice::weighted(const std::vector<int> &weights) {
  int total = 0;
  for (int w : weights) total += w;
  int r = below(total);
  for (size_t i = 0; i < weights.size(); i++) {
    r -= weights[i];
    if (r < 0) return static_cast<int>(i);
  }
  return 0;
}

namespace {

constexpr double kFuncBound = 1e6;  // signed values of Funcs never exceed it
constexpr double kVarBound = 1e5;   // nor do coordinates exceed this

// An expression with a bound of its magnitude; the bound matters for Int(32) and Int(64) only.
struct Value {
  Expr e;
  double bound = 0;
};

bool overflows(Type t) { return t.is_int() && t.bits() >= 32; }
Expr c32(int64_t v) { return make_int(Int(32), v); }

class ProgramMaker {
public:
  ProgramMaker(uint64_t seed, const ProgramShape &shape) : dice_(seed), shape_(shape) {}

  Program make() {
    program_.name = "p";
    int images = dice_.between(0, 9) == 0 ? 0 : dice_.between(1, 2);
    for (int i = 0; i < images; i++) add_image("in" + std::to_string(i));
    for (int i = dice_.below(3); i > 0; i--) add_scalar("s" + std::to_string(i - 1));
    int n = dice_.between(shape_.min_funcs, shape_.max_funcs);
    for (int i = 0; i < n; i++) add_func(i, i + 1 == n);
    finish_params();
    for (Function &f : program_.funcs) settle(f, shape_.fma);
    std::vector<std::string> problems = verify(program_);
    CALO_ASSERT(problems.empty(), problems.empty() ? "" : problems[0] + "\n" + to_string(program_));
    return std::move(program_);
  }

private:
  struct Vars {
    std::vector<Expr> coordinates;  ///< what indices are made of; pure ones first
    size_t pure = 0;
  };

  // ---- types and parameters ----------------------------------------------------------------------
  Type any_type() {
    const std::vector<Type> types = {UInt(8), Int(8),    UInt(16),  Int(16),   UInt(32),
                                     Int(32), Int(64),   UInt(64),  Float(32), Float(64),
                                     Bool(),  Float(16), BFloat(16)};
    std::vector<int> weights = {20, 8, 18, 10, 8, 18, 5, 2, 20, 5, 3, 4, 4};
    if (!shape_.floats) weights[8] = weights[9] = weights[11] = weights[12] = 0;
    return types[static_cast<size_t>(dice_.weighted(weights))];
  }
  Type integer_type() {
    return dice_.pick(
        std::vector<Type>{UInt(8), Int(8), UInt(16), Int(16), UInt(32), Int(32), Int(64)});
  }

  void add_image(const std::string &name) {
    auto *p = new Parameter();
    p->name = name;
    p->type = any_type();
    p->is_buffer = true;
    p->dimensions = std::min(dice_.weighted({1, 25, 50, 20, 4}), shape_.max_dims);
    p->dims.resize(static_cast<size_t>(p->dimensions));
    params_.push_back(ParameterRef(p));
    images_.push_back(params_.back());
  }
  void add_scalar(const std::string &name) {
    auto *p = new Parameter();
    p->name = name;
    p->type = dice_.chance(50) ? Int(32) : any_type();
    if (p->type.is_float()) {
      float f = static_cast<float>(dice_.between(-40, 40)) / 8;
      double d = f;
      if (p->type.bits() == 32) {
        uint32_t u;
        std::memcpy(&u, &f, 4);
        p->bits = u;
      } else if (p->type.bits() == 16) {
        p->bits = lang::float_to_bits16(d, p->type.is_bfloat() ? 7 : 10);
      } else {
        std::memcpy(&p->bits, &d, 8);
      }
    } else {
      p->bits = static_cast<uint64_t>(dice_.between(1, p->type.is_bool() ? 1 : 9));
    }
    p->is_set = true;
    params_.push_back(ParameterRef(p));
    scalars_.push_back(params_.back());
  }
  void finish_params() {
    for (const ParameterRef &p : params_) {
      if (used_.count(p->name)) program_.params.push_back(p);
    }
  }

  // ---- constants and wrapping --------------------------------------------------------------------
  Value constant(Type t) {
    if (t.is_bool()) return {make_bool(dice_.chance(50)), 1};
    if (t.is_float()) {
      const std::vector<double> values = {0,   1,     -1,      0.5,  2,   3,
                                          0.1, -0.25, 1.0 / 3, 7.75, 100, -1e-3};
      double v = dice_.pick(values);
      if (t.bits() == 16) v = std::round(v * 16) / 16;  // both 16-bit types hold it
      return {make_float(t, v), std::abs(v)};
    }
    int64_t v = dice_.between(t.is_int() ? -5 : 0, 9);
    if (dice_.chance(25)) v = dice_.between(t.is_int() ? -128 : 0, t.is_int() ? 127 : 255);
    return {make_const(t, static_cast<double>(v)), std::abs(static_cast<double>(v))};
  }
  Value nonzero(Type t) {
    for (;;) {
      Value v = constant(t);
      if (!is_const_zero(v.e)) return v;
    }
  }
  static Value wrap(Value v, double limit) {
    if (!overflows(v.e.type()) || v.bound <= limit) return v;
    return {make_mod(v.e, make_const(v.e.type(), 1021)), 1021};
  }
  static double limit_of(Type t) { return t.bits() == 32 ? 1e9 : 1e17; }
  static Value bounded(Value v) { return wrap(std::move(v), limit_of(v.e.type())); }

  static Value cast(Type t, Value v) {
    Type from = v.e.type();
    if (from == t) return v;
    double bound = v.bound;
    if (!overflows(from)) bound = from.is_float() ? 1e300 : std::pow(2.0, from.bits());
    Value r{make_cast(t, v.e), std::min(bound, std::pow(2.0, t.bits() - 1))};
    return wrap(r, kFuncBound);
  }

  // ---- leaves ------------------------------------------------------------------------------------
  Expr param_use(const ParameterRef &p) {
    used_.insert(p->name);
    return make_var(p->name, p->type, p);
  }

  Value leaf(Type t, const Vars &vars) {
    switch (dice_.weighted(
        {20, calls_left_ > 0 ? 60 : 0, calls_left_ > 0 && !images_.empty() ? 35 : 0, 12, 8})) {
      case 1:
        if (!program_.funcs.empty()) return cast(t, func_call(vars));
        break;
      case 2: return cast(t, image_call(vars));
      case 3:
        if (!vars.coordinates.empty()) return cast(t, {dice_.pick(vars.coordinates), kVarBound});
        break;
      case 4:
        if (!scalars_.empty()) {
          const ParameterRef &p = dice_.pick(scalars_);
          return cast(t, {param_use(p), 16});
        }
        break;
      default: break;
    }
    return constant(t);
  }

  Value func_call(const Vars &vars) {
    // Funcs that nobody reads yet come first.
    std::vector<int> fresh;
    for (size_t i = 0; i < program_.funcs.size(); i++) {
      if (!read_.count(static_cast<int>(i))) fresh.push_back(static_cast<int>(i));
    }
    int i = !fresh.empty() && dice_.chance(60)
                ? dice_.pick(fresh)
                : dice_.below(static_cast<int>(program_.funcs.size()));
    return call_of(i, vars);
  }
  Value call_of(int i, const Vars &vars) {
    calls_left_--;
    read_.insert(i);
    const Function &f = program_.funcs[static_cast<size_t>(i)];
    int element = dice_.below(static_cast<int>(f.types.size()));
    return {make_func_call(f.types[static_cast<size_t>(element)], f.name,
                           indices(f.dimensions(), vars), element),
            kFuncBound};
  }
  Value image_call(const Vars &vars) {
    calls_left_--;
    const ParameterRef &p = dice_.pick(images_);
    used_.insert(p->name);
    Value v{make_image_call(p->type, p, indices(p->dimensions, vars)),
            std::pow(2.0, p->type.bits() - 1)};
    return wrap(v, kFuncBound);
  }

  std::vector<Expr> indices(int n, const Vars &vars) {
    std::vector<Expr> result;
    for (int i = 0; i < n; i++) result.push_back(index(i, vars));
    return result;
  }

  Expr shifted(const Expr &e, int most = 3) {
    int k = dice_.between(-most, most);
    if (k == 0 || dice_.chance(30)) return e;
    return k > 0 ? make_add(e, c32(k)) : make_sub(e, c32(-k));
  }

  Expr index(int position, const Vars &vars) {
    const std::vector<Expr> &all = vars.coordinates;
    if (all.empty())
      return dice_.chance(70) || calls_left_ <= 0 ? c32(dice_.between(-3, 5)) : gathered(vars);
    Expr v = static_cast<size_t>(position) < vars.pure && dice_.chance(80)
                 ? all[static_cast<size_t>(position)]
                 : dice_.pick(all);
    bool wide = widenings_ < 3;
    switch (dice_.weighted({55, wide ? 6 : 0, 7, 5, 8, 4, wide && all.size() > 1 ? 5 : 0, 3,
                            calls_left_ > 0 ? 5 : 0, 4})) {
      case 1: widenings_++; return shifted(make_mul(v, c32(2)));
      case 2: return shifted(make_div(v, c32(dice_.between(2, 3))), 1);
      case 3: return make_sub(c32(dice_.between(-3, 20)), v);
      case 4: {  // a boundary condition
        int lo = dice_.between(-8, 4), hi = lo + dice_.between(0, 60);
        Expr inner = dice_.chance(70) ? make_likely(shifted(v)) : shifted(v);
        return make_max(make_min(inner, c32(hi)), c32(lo));
      }
      case 5: return c32(dice_.between(-3, 5));
      case 6: widenings_++; return make_add(v, dice_.pick(all));
      case 7: return make_mod(shifted(v), c32(dice_.between(2, 9)));
      case 8: return gathered(vars);
      case 9: {  // mirrored once, or a coordinate that a scalar moves
        if (!scalars_.empty() && dice_.chance(50)) {
          const ParameterRef &p = dice_.pick(scalars_);
          if (p->type == Int(32)) return make_add(v, param_use(p));
        }
        return make_select(make_lt(v, c32(0)), make_sub(c32(-1), v), v);
      }
      default: return shifted(v);
    }
  }
  // An index that depends on data: bounded by its type or clamped.
  Expr gathered(const Vars &vars) {
    Expr e = make_cast(Int(32), leaf(dice_.chance(60) ? UInt(8) : Int(16), vars).e);
    int lo = dice_.between(-2, 2), hi = lo + dice_.between(0, 30);
    return make_max(make_min(e, c32(hi)), c32(lo));
  }

  // ---- expressions -------------------------------------------------------------------------------
  Value value(Type t, int depth, const Vars &vars) {
    if (t.is_bool()) return {condition(depth, vars), 1};
    if (depth <= 0 || dice_.chance(12)) return leaf(t, vars);
    switch (dice_.weighted({30, 16, 12, 12, 9, t.is_float() ? 4 : 8, 10, 16})) {
      case 0: return sum(t, depth, vars);
      case 1: return product(t, depth, vars);
      case 2: return extreme(t, depth, vars);
      case 3: return choice(t, depth, vars);
      case 4: return cast(t, value(any_type(), depth - 1, vars));
      case 5: return quotient(t, depth, vars);
      case 6: {
        Value v = leaf(t, vars);
        if (dice_.chance(90)) return v;
        // Holds for every integer: a check that must neither fail nor get in the way.
        Expr c = leaf(UInt(8), vars).e;
        return {make_intrinsic(t, Intrinsic::require,
                               {make_lt(make_cast(Int(32), c), c32(256)), v.e, make_string(""),
                                make_string("a byte"), make_string("is"), c}),
                v.bound};
      }
      default:
        return t.is_float() ? float_intrinsic(t, depth, vars) : integer_intrinsic(t, depth, vars);
    }
  }
  Value sum(Type t, int depth, const Vars &vars) {
    Value a = value(t, depth - 1, vars), b = value(t, depth - 1, vars);
    Expr e = dice_.chance(65) ? make_add(a.e, b.e) : make_sub(a.e, b.e);
    return bounded({e, a.bound + b.bound});
  }
  Value product(Type t, int depth, const Vars &vars) {
    Value a = value(t, depth - 1, vars),
          b = dice_.chance(50) ? constant(t) : value(t, depth - 1, vars);
    if (overflows(t) && a.bound * b.bound > limit_of(t)) a = wrap(a, 2000), b = wrap(b, 2000);
    return bounded({make_mul(a.e, b.e), a.bound * b.bound});
  }
  Value extreme(Type t, int depth, const Vars &vars) {
    Value a = value(t, depth - 1, vars),
          b = dice_.chance(40) ? constant(t) : value(t, depth - 1, vars);
    return {dice_.chance(50) ? make_min(a.e, b.e) : make_max(a.e, b.e), std::max(a.bound, b.bound)};
  }
  Value choice(Type t, int depth, const Vars &vars) {
    Expr c = condition(depth - 1, vars);
    Value a = value(t, depth - 1, vars), b = value(t, depth - 1, vars);
    return {make_select(c, a.e, b.e), std::max(a.bound, b.bound)};
  }
  Value quotient(Type t, int depth, const Vars &vars) {
    Value a = value(t, depth - 1, vars),
          b = dice_.chance(75) ? nonzero(t) : value(t, depth - 1, vars);
    bool div = t.is_float() ? dice_.chance(85) : dice_.chance(50);
    return {div ? make_div(a.e, b.e) : make_mod(a.e, b.e), std::max(a.bound, b.bound)};
  }
  Expr condition(int depth, const Vars &vars) {
    switch (dice_.weighted(
        {45, depth > 0 ? 15 : 0, depth > 0 ? 6 : 0, vars.coordinates.empty() ? 0 : 34})) {
      case 1: {
        Expr a = condition(depth - 1, vars), b = condition(depth - 1, vars);
        return dice_.chance(50) ? make_and(a, b) : make_or(a, b);
      }
      case 2: return make_not(condition(depth - 1, vars));
      case 3: {
        Expr v = dice_.pick(vars.coordinates);
        if (dice_.chance(35))
          return make_eq(make_mod(v, c32(dice_.between(2, 5))), c32(dice_.below(3)));
        Expr k = vars.coordinates.size() > 1 && dice_.chance(25) ? dice_.pick(vars.coordinates)
                                                                 : c32(dice_.between(-4, 30));
        return dice_.chance(50) ? make_lt(v, k) : make_ge(v, k);
      }
      default: {
        Type t = any_type();
        while (t.is_bool()) t = any_type();
        Expr a = value(t, depth - 1, vars).e,
             b = dice_.chance(50) ? constant(t).e : value(t, depth - 1, vars).e;
        const std::vector<NodeKind> ops = {NodeKind::EQ, NodeKind::NE, NodeKind::LT,
                                           NodeKind::LE, NodeKind::GT, NodeKind::GE};
        return make_binary(dice_.pick(ops), a, b);
      }
    }
  }
  Value float_intrinsic(Type t, int depth, const Vars &vars) {
    using I = Intrinsic;
    Expr a = value(t, depth - 1, vars).e;
    std::vector<I> simple = {I::sqrt,  I::floor, I::ceil,  I::trunc,
                             I::round, I::abs,   I::floor, I::abs};
    if (shape_.functions && t.bits() == 32 && dice_.chance(25))
      simple = {I::exp, I::log, I::sin, I::cos, I::tanh, I::fast_exp};
    if (dice_.chance(8)) return {make_intrinsic(t, I::strict_float, {a}), 0};
    return {make_intrinsic(t, dice_.pick(simple), {a}), 0};
  }
  Value integer_intrinsic(Type t, int depth, const Vars &vars) {
    using I = Intrinsic;
    Value a = value(t, depth - 1, vars);
    auto next_power = [](double x, double y) {
      return std::pow(2.0, std::ceil(std::log2(std::max(x, y) + 1)));
    };
    switch (dice_.below(9)) {
      case 0:
      case 1: {
        Value b = value(t, depth - 1, vars);
        return bounded(
            {make_intrinsic(
                 t, dice_.pick(std::vector<I>{I::bitwise_and, I::bitwise_or, I::bitwise_xor}),
                 {a.e, b.e}),
             next_power(a.bound, b.bound)});
      }
      case 2: return bounded({make_intrinsic(t, I::bitwise_not, {a.e}), a.bound + 1});
      case 3:
        return {make_intrinsic(t, I::shift_right, {a.e, make_const(t, dice_.below(t.bits()))}),
                a.bound};
      case 4:
        if (overflows(t)) return a;
        return {make_intrinsic(t, I::shift_left, {a.e, make_const(t, dice_.below(t.bits()))}), 0};
      case 5: {
        Value b = value(t, depth - 1, vars);
        return wrap({make_intrinsic(t, dice_.chance(50) ? I::saturating_add : I::saturating_sub,
                                    {a.e, b.e}),
                     a.bound + b.bound},
                    limit_of(t));
      }
      case 6: {
        if (t.bits() > 32) return a;
        Value b = value(t, depth - 1, vars);
        return {
            make_intrinsic(t, dice_.pick(std::vector<I>{I::halving_add, I::rounding_halving_add}),
                           {a.e, b.e}),
            std::max(a.bound, b.bound) + 1};
      }
      case 7: {
        if (!t.is_uint())
          return {make_intrinsic(t, dice_.chance(50) ? I::popcount : I::count_leading_zeros, {a.e}),
                  64};
        Type from = dice_.chance(50) ? t : Int(t.bits());
        Expr b = value(from, depth - 1, vars).e, c = value(from, depth - 1, vars).e;
        return {from.is_int() && dice_.chance(50) ? make_intrinsic(t, I::abs, {b})
                                                  : make_intrinsic(t, I::absd, {b, c}),
                0};
      }
      default: {
        if (t.bits() == 8)
          return {make_intrinsic(t, I::saturating_cast, {value(integer_type(), depth - 1, vars).e}),
                  0};
        Type narrow = t.with_bits(t.bits() / 2);
        Value b = value(narrow, depth - 1, vars), c = value(narrow, depth - 1, vars);
        if (dice_.chance(50))
          return bounded(
              {make_intrinsic(t, I::widening_add, {b.e, c.e}), std::pow(2.0, narrow.bits() + 1)});
        return bounded({make_intrinsic(t, I::widening_mul, {b.e, c.e}),
                        std::pow(2.0, 2.0 * narrow.bits() - 1)});
      }
    }
  }

  // ---- Funcs -------------------------------------------------------------------------------------
  void add_func(int number, bool last) {
    Function f;
    f.name = "f" + std::to_string(number);
    f.id = static_cast<uint64_t>(number + 1);
    int dims = std::min(dice_.weighted({last ? 1 : 3, 22, 45, 25, 5}), shape_.max_dims);
    const std::vector<std::vector<std::string>> names = {
        {"x", "y", "z", "w"}, {"x", "y", "c", "n"}, {"i", "j", "k", "l"}};
    const auto &set = names[static_cast<size_t>(dice_.weighted({75, 15, 10}))];
    for (int i = 0; i < dims; i++) f.args.push_back(set[static_cast<size_t>(i)]);
    f.types.push_back(any_type());
    if (dice_.chance(14)) f.types.push_back(dice_.chance(40) ? f.types[0] : any_type());
    if (f.types.size() > 1 && dice_.chance(20)) f.types.push_back(any_type());

    Definition d;
    Vars vars;
    for (Name a : f.args) {
      d.args.push_back(make_var(a));
      vars.coordinates.push_back(d.args.back());
    }
    vars.pure = f.args.size();
    bool updated = shape_.updates && dice_.chance(35);
    calls_left_ = dice_.between(1, 4);
    for (size_t i = 0; i < f.types.size(); i++) {
      const Type t = f.types[i];
      Value v = updated && dice_.chance(60) ? constant(t) : value(t, shape_.depth, vars);
      if (last && i + 1 == f.types.size()) v = use_everything(t, v, d.values, vars);
      d.values.push_back(wrap(v, kFuncBound).e);
    }
    f.definitions.push_back(d);
    bool output = last || dice_.chance(6);
    if (updated) {
      add_update(f, number, 0, output);
      if (dice_.chance(30)) add_update(f, number, 1, output);
    }
    if (output) {
      program_.outputs.push_back(f.name);
      read_.insert(number);
    }
    program_.funcs.push_back(std::move(f));
  }

  // Some calls that were drawn are in no expression.
  Value use_everything(Type t, Value v, const std::vector<Expr> &others, const Vars &vars) {
    std::set<Name> called(program_.outputs.begin(), program_.outputs.end());
    Definition mine;
    mine.values = others;
    mine.values.push_back(v.e);
    for (Name n : called_funcs(mine)) called.insert(n);
    for (const Function &f : program_.funcs) {
      for (const Definition &d : f.definitions) {
        for (Name n : called_funcs(d)) {
          if (n != f.name) called.insert(n);
        }
      }
    }
    for (size_t i = 0; i < program_.funcs.size(); i++) {
      if (called.count(program_.funcs[i].name)) continue;
      calls_left_ = 2;
      Value c = cast(t, call_of(static_cast<int>(i), vars));
      if (t.is_bool()) {
        v.e = make_or(v.e, c.e);
      } else {
        v = bounded({make_add(v.e, c.e), v.bound + c.bound});
      }
    }
    return v;
  }

  // ---- updates -----------------------------------------------------------------------------------
  Expr add_rvar(Definition &d, int number, int stage, int min, int extent) {
    static const char *letters[] = {"x", "y", "z"};
    ReductionVariable r;
    r.var = "r" + std::to_string(number) + std::to_string(stage) + "." + letters[d.rvars.size()];
    r.min = c32(min);
    r.extent = c32(extent);
    if (dice_.chance(10)) {
      for (const ParameterRef &p : scalars_) {
        if (p->type == Int(32)) r.extent = param_use(p);
      }
    }
    d.rvars.push_back(r);
    return make_var(r.var);
  }

  void add_update(Function &f, int number, int stage, bool output) {
    Definition d;
    for (Name a : f.args) d.args.push_back(make_var(a));
    int dims = f.dimensions();
    std::vector<Expr> self = d.args;  // where the update reads the Func itself
    Vars vars;
    bool scattered = dims > 0 && (!output || dice_.chance(20));
    int j = dims > 0 ? dice_.below(dims) : 0;  // the dimension that is not pure
    int kind = dice_.weighted(
        {35, scattered ? 22 : 0, scattered ? 18 : 0, 15, scattered ? 7 : 0, scattered ? 8 : 0});
    // What rfactor and atomic can prove: the old value combined with something else, nothing around it.
    const bool plain = (kind == 0 || kind == 2) && dice_.chance(55);
    bool reads_self = true;
    size_t at = static_cast<size_t>(j);
    auto pure_vars = [&](bool all) {
      for (size_t i = 0; i < f.args.size(); i++) {
        if (all || i != at) vars.coordinates.push_back(make_var(f.args[i]));
      }
      vars.pure = vars.coordinates.size();
    };
    calls_left_ = dice_.between(1, 3);
    switch (kind) {
      case 1: {  // a scan, forwards or backwards
        pure_vars(false);
        Expr r = add_rvar(d, number, stage, dice_.between(-2, 4), dice_.between(1, 12));
        vars.coordinates.push_back(r);
        if (dice_.chance(70)) {
          d.args[at] = self[at] = r;
          self[at] = make_sub(r, c32(1));
        } else {
          int c = dice_.between(4, 15);
          d.args[at] = make_sub(c32(c), r);
          self[at] = make_sub(c32(c + 1), r);
        }
        break;
      }
      case 2: {  // a histogram or scatter to places that data choose
        pure_vars(false);
        vars.coordinates.push_back(
            add_rvar(d, number, stage, dice_.between(-1, 2), dice_.between(1, 10)));
        if (dice_.chance(40))
          vars.coordinates.push_back(add_rvar(d, number, stage, 0, dice_.between(1, 5)));
        d.args[at] = self[at] = gathered(vars);
        break;
      }
      case 3: pure_vars(true); break;  // pointwise
      case 4:                          // one slice
        pure_vars(false);
        d.args[at] = self[at] = c32(dice_.between(-1, 4));
        reads_self = dice_.chance(50);
        break;
      case 5: {  // a strided scatter
        pure_vars(false);
        Expr r = add_rvar(d, number, stage, dice_.between(-2, 2), dice_.between(1, 8));
        vars.coordinates.push_back(r);
        d.args[at] = self[at] = shifted(make_mul(r, c32(dice_.between(1, 2))));
        reads_self = dice_.chance(50);
        break;
      }
      default: {  // a reduction at each point
        pure_vars(true);
        vars.coordinates.push_back(
            add_rvar(d, number, stage, dice_.between(-2, 1), dice_.between(1, 7)));
        if (dice_.chance(35))
          vars.coordinates.push_back(
              add_rvar(d, number, stage, dice_.between(-1, 1), dice_.between(1, 5)));
        break;
      }
    }
    if (plain) {
      d.values = reduction_values(f, self, vars);
    } else {
      for (size_t i = 0; i < f.types.size(); i++)
        d.values.push_back(update_value(f, self, i, reads_self, vars));
    }
    if (!d.rvars.empty() && dice_.chance(25)) d.predicate = condition(1, vars);
    f.definitions.push_back(d);
  }

  // Sums, products, minima ... of each value by itself; of several values also the best with where it was found, and
  // products of complex numbers. Values stay small enough that signed sums cannot overflow: the domain has 60 points.
  std::vector<Expr> reduction_values(const Function &f, const std::vector<Expr> &self,
                                     const Vars &vars) {
    std::vector<Expr> own, terms, values;
    for (size_t i = 0; i < f.types.size(); i++) {
      own.push_back(make_func_call(f.types[i], f.name, self, static_cast<int>(i)));
      Value g = value(f.types[i], 2, vars);
      if (overflows(f.types[i])) g = {make_mod(g.e, make_const(f.types[i], 1021)), 1021};
      terms.push_back(g.e);
    }
    if (own.size() == 2 && !f.types[0].is_bool() && dice_.chance(50)) {
      if (f.types[0] == f.types[1] && !overflows(f.types[0]) && dice_.chance(40)) {
        values = {make_sub(make_mul(own[0], terms[0]), make_mul(own[1], terms[1])),
                  make_add(make_mul(own[0], terms[1]), make_mul(own[1], terms[0]))};
      } else {
        const Expr better =
            dice_.chance(50) ? make_lt(terms[0], own[0]) : make_gt(terms[0], own[0]);
        for (size_t i = 0; i < 2; i++) values.push_back(make_select(better, terms[i], own[i]));
      }
      return values;
    }
    for (size_t i = 0; i < own.size(); i++) {
      const Expr a = dice_.chance(80) ? own[i] : terms[i],
                 b = own[i].same_as(a) ? terms[i] : own[i];
      if (f.types[i].is_bool()) {
        values.push_back(dice_.chance(50) ? make_or(a, b) : make_and(a, b));
        continue;
      }
      switch (dice_.weighted(
          {50, 12, 12, overflows(f.types[i]) ? 0 : 12, 8, f.types[i].is_float() ? 0 : 8})) {
        case 1: values.push_back(make_min(a, b)); break;
        case 2: values.push_back(make_max(a, b)); break;
        case 3: values.push_back(make_mul(a, b)); break;
        case 4: values.push_back(make_sub(own[i], terms[i])); break;
        case 5: {
          using I = Intrinsic;
          values.push_back(make_intrinsic(
              f.types[i], dice_.pick(std::vector<I>{I::bitwise_and, I::bitwise_or, I::bitwise_xor}),
              {a, b}));
          break;
        }
        default: values.push_back(make_add(a, b)); break;
      }
    }
    return values;
  }

  Expr update_value(const Function &f, const std::vector<Expr> &self, size_t element,
                    bool reads_self, const Vars &vars) {
    Type t = f.types[element];
    Value g = value(t, 2, vars);
    if (!reads_self) return wrap(g, kFuncBound).e;
    const size_t others = f.types.size();
    size_t from = others > 1 && dice_.chance(20) ? (element + 1) % others : element;
    Value own =
        cast(t, {make_func_call(f.types[from], f.name, self, static_cast<int>(from)), kFuncBound});
    if (t.is_bool()) return dice_.chance(50) ? make_or(own.e, g.e) : make_and(own.e, g.e);
    Value r;
    switch (dice_.weighted({45, 10, 10, 15, 10, 10})) {
      case 1: r = {make_sub(own.e, g.e), own.bound + g.bound}; break;
      case 2: {
        Value a = wrap(own, 2000), b = wrap(g, 2000);
        r = {make_mul(a.e, b.e), a.bound * b.bound};
        break;
      }
      case 3:
        r = {dice_.chance(50) ? make_min(own.e, g.e) : make_max(own.e, g.e),
             std::max(own.bound, g.bound)};
        break;
      case 4:
        r = {make_select(make_lt(own.e, g.e), g.e, own.e), std::max(own.bound, g.bound)};
        break;
      case 5: {
        Value c = constant(t), a = wrap(own, 2000);
        r = {make_add(make_mul(a.e, c.e), g.e), a.bound * c.bound + g.bound};
        break;
      }
      default: r = {make_add(own.e, g.e), own.bound + g.bound}; break;
    }
    return wrap(r, kFuncBound).e;
  }

  Dice dice_;
  ProgramShape shape_;
  Program program_;
  std::vector<ParameterRef> params_, images_, scalars_;
  std::set<std::string> used_;
  std::set<int> read_;
  int calls_left_ = 0, widenings_ = 0;
};

}  // namespace

Program random_program(uint64_t seed, const ProgramShape &shape) {
  return ProgramMaker(seed, shape).make();
}

bool writes_fixed_places(const Program &p) {
  for (Name out : p.outputs) {
    const Function &f = *p.find(out);
    for (size_t k = 1; k < f.definitions.size(); k++) {
      for (size_t i = 0; i < f.args.size(); i++) {
        const Variable *v = f.definitions[k].args[i].as<Variable>();
        if (!v || v->name != f.args[i]) return true;
      }
    }
  }
  return false;
}

}  // namespace calotype::test
