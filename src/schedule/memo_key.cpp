// See memo_key.h.
#include "memo_key.h"

#include <unordered_set>

#include "../base/disk_cache.h"
#include "../ir/equal.h"
#include "../ir/visit.h"

namespace calotype::schedule {

namespace {

class KeyFinder final : public ir::IRVisitor {
public:
  KeyFinder(const ir::Program &p, MemoKey &key) : p_(p), key_(key) {}

  void func(const ir::Function &f) {
    if (!seen_.insert(f.name).second) return;
    hash_.add(ir::to_string(f));
    for (const ir::Definition &d : f.definitions) {
      for (const Expr &e : d.args) root(e);
      for (const Expr &e : d.values) root(e);
      for (const ir::ReductionVariable &v : d.rvars) {
        root(v.min);
        root(v.extent);
      }
      root(d.predicate);
    }
  }
  std::string text() const { return hash_.text(); }

  using IRVisitor::visit;
  void visit(const ir::Variable *op) override {
    if (op->param) add(op);
  }
  void visit(const ir::Call *op) override {
    if (op->op == ir::Intrinsic::memoize_tag) {
      for (size_t i = 1; i < op->args.size(); i++) add_tag(op->args[i]);
      return;
    }
    if (op->call_type == ir::CallType::Image) {
      fail("it reads the input " + op->name.str() + ", whose pixels are no part of a key",
           "memoize_tag(" + op->name.str() +
               "(...), version), with a Param that changes with the pixels");
    }
    if (op->call_type == ir::CallType::Halide) {
      if (const ir::Function *g = p_.find(op->name)) func(*g);
    }
    IRVisitor::visit(op);
  }

private:
  void root(const Expr &e) {
    if (e.defined()) e.get() ? visit_expr(e) : void();
  }
  void fail(std::string why, std::string fix) {
    if (!key_.fault.empty()) return;
    key_.fault = std::move(why);
    key_.fix = std::move(fix);
  }
  void add_tag(const Expr &e) {
    ir::for_each_expr(e, [&](const Expr &x) {
      const ir::Variable *v = x.as<ir::Variable>();
      const ir::Call *c = x.as<ir::Call>();
      const bool varies =
          (v && !v->param) ||
          (c && (c->call_type == ir::CallType::Image || c->call_type == ir::CallType::Halide));
      if (varies) {
        fail("a key of memoize_tag depends on more than parameters",
             "give memoize_tag keys over Params alone");
      }
    });
    add(e);
  }
  void add(const Expr &e) {
    for (const Expr &known : key_.values) {
      if (ir::equal(known, e)) return;
    }
    key_.values.push_back(e);
  }

  const ir::Program &p_;
  MemoKey &key_;
  Hash hash_;
  std::unordered_set<ir::Name> seen_;
};

}  // namespace

MemoKey memo_key(const ir::Program &p, const ir::Function &f) {
  MemoKey key;
  KeyFinder finder(p, key);
  finder.func(f);
  key.text = f.name + ":" + finder.text();
  return key;
}

}  // namespace calotype::schedule
