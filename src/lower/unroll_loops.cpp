// Loops of kind Unrolled become copies of their bodies, in order.
#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

constexpr int64_t kLargestUnroll = 65536;  // reliability.md G6: product of unroll factors
/// Operations in all copies of a loop's body together: about three seconds of code generation.
constexpr int64_t kLargestBody = 32768;

class Unroller final : public IRMutator {
public:
  explicit Unroller(const PassContext &cx) : cx_(cx) {}
  using IRMutator::visit;
  Stmt visit(const For *op) override {
    if (op->for_type != ForType::Unrolled) return IRMutator::visit(op);
    Expr extent = analysis::simplify(op->extent);
    const int64_t *n = as_const_int(extent);
    if (!n)
      raise(Diagnostic("S0112", place_of(op->name),
                       "loop " + op->name + " cannot be unrolled: its extent is not a constant")
                .fix("unroll(" + op->name + ", factor), or bound() the dimension"));
    int64_t outer = copies_;
    copies_ *= std::max<int64_t>(*n, 1);
    if (copies_ > kLargestUnroll)
      refuse(op->name, *n, copies_, "copies of its body", kLargestUnroll);
    Stmt body = mutate(op->body);
    copies_ = outer;
    int64_t operations = 0;
    for_each_expr(body, [&](const Expr &e) { operations += !is_const(e); });
    if (*n > 1 && operations * *n > kLargestBody)
      refuse(op->name, *n, operations * *n, "operations", kLargestBody);
    std::vector<Stmt> all;
    for (int64_t i = 0; i < *n; i++) {
      all.push_back(
          substitute(op->name, analysis::simplify(make_add(op->min, make_int(Int(32), i))), body));
    }
    return make_block(all);
  }

private:
  [[noreturn]] void refuse(Name loop, int64_t n, int64_t makes, const char *what, int64_t limit) {
    raise(Diagnostic("S0112", place_of(loop),
                     "unrolling loop " + loop + " " + std::to_string(n) + " times makes " +
                         std::to_string(makes) + " " + what + "; the limit is " +
                         std::to_string(limit))
              .fix("unroll by a smaller factor, or vectorize the loop"));
  }

  // Of the directive that unrolls it.
  SrcLoc place_of(Name loop) const {
    if (!cx_.state) return {};
    for (const Function &f : cx_.program.funcs) {
      const std::vector<schedule::StageState> &stages = cx_.state->of(f.name).stages;
      for (size_t k = 0; k < stages.size(); k++) {
        for (const schedule::Loop &l : stages[k].loops) {
          if (f.name + ".s" + std::to_string(k) + "." + l.var.str() == loop.str()) return l.loc;
        }
      }
    }
    return {};
  }

  const PassContext &cx_;

private:
  int64_t copies_ = 1;
};

}  // namespace

Stmt unroll_loops(const Stmt &s, PassContext &cx) { return Unroller(cx).mutate(s); }

}  // namespace calotype::lower
