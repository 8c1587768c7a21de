// Loops of kind Unrolled become copies of their bodies, in order.
#include "../analysis/simplify.h"
#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using namespace ir;

namespace {

constexpr int64_t kLargestUnroll = 65536;  // reliability.md G6: product of unroll factors

class Unroller final : public IRMutator {
public:
  using IRMutator::visit;
  Stmt visit(const For *op) override {
    if (op->for_type != ForType::Unrolled) return IRMutator::visit(op);
    Expr extent = analysis::simplify(op->extent);
    const int64_t *n = as_const_int(extent);
    if (!n)
      raise(Diagnostic("S0112", {},
                       "loop " + op->name + " cannot be unrolled: its extent is not a constant")
                .fix("unroll(" + op->name + ", factor), or bound() the dimension"));
    int64_t outer = copies_;
    copies_ *= std::max<int64_t>(*n, 1);
    if (copies_ > kLargestUnroll) {
      raise(Diagnostic("S0112", {},
                       "unrolling loop " + op->name + " makes " + std::to_string(copies_) +
                           " copies of its body; the limit is " + std::to_string(kLargestUnroll)));
    }
    Stmt body = mutate(op->body);
    copies_ = outer;
    std::vector<Stmt> all;
    for (int64_t i = 0; i < *n; i++) {
      all.push_back(
          substitute(op->name, analysis::simplify(make_add(op->min, make_int(Int(32), i))), body));
    }
    return make_block(all);
  }

private:
  int64_t copies_ = 1;
};

}  // namespace

Stmt unroll_loops(const Stmt &s, PassContext &) { return Unroller().mutate(s); }

}  // namespace calotype::lower
