// async (see fork_async.h).
#include "fork_async.h"

#include <algorithm>

#include "../base/diagnostic.h"
#include "../ir/visit.h"

namespace calotype::lower {

using namespace ir;

namespace {

using Names = std::unordered_set<Name>;

const ProducerConsumer *as_produce(const Stmt &s, Name func) {
  const ProducerConsumer *p = s.as<ProducerConsumer>();
  return p && p->is_producer && p->name == func ? p : nullptr;
}

// What a statement reads, produces and names.
struct Uses {
  Names read, produced, named;
  explicit Uses(const Expr &e) { look(e); }
  explicit Uses(const Stmt &s) {
    for_each_expr(s, [&](const Expr &e) { note(e); });
    for_each_stmt(s, [&](const Stmt &x) {
      if (const ProducerConsumer *op = x.as<ProducerConsumer>(); op && op->is_producer)
        produced.insert(op->name);
      if (const Store *op = x.as<Store>()) named.insert(op->name);
      if (const Provide *op = x.as<Provide>()) named.insert(op->name);
    });
  }
  bool mentions(Name func) const { return read.count(func) || named.count(func); }

private:
  void look(const Expr &e) {
    for_each_expr(e, [&](const Expr &x) { note(x); });
  }
  void note(const Expr &e) {
    if (const Call *op = e.as<Call>(); op && op->call_type == CallType::Halide)
      read.insert(op->name);
    if (const Load *op = e.as<Load>()) named.insert(op->name);
    if (const Variable *op = e.as<Variable>()) named.insert(op->name);
  }
};
bool reads(const Stmt &s, Name func) { return s.defined() && Uses(s).read.count(func) > 0; }

// How often `func` is produced in turn, loops counted once.
int places(const Stmt &s, Name func) {
  if (!s.defined()) return 0;
  if (as_produce(s, func)) return 1;
  if (const Block *b = s.as<Block>()) return places(b->first, func) + places(b->rest, func);
  if (const IfThenElse *i = s.as<IfThenElse>())
    return std::max(places(i->then_case, func), places(i->else_case, func));
  if (const For *op = s.as<For>()) return places(op->body, func);
  if (const LetStmt *op = s.as<LetStmt>()) return places(op->body, func);
  if (const Allocate *op = s.as<Allocate>()) return places(op->body, func);
  if (const Realize *op = s.as<Realize>()) return places(op->body, func);
  if (const ProducerConsumer *op = s.as<ProducerConsumer>()) return places(op->body, func);
  return 0;
}

// One of the sides: the loops and conditions around what it keeps.
class Side : public IRMutator {
public:
  Side(const LoopContext &c, Name func, Names moved, bool keeps_effects)
      : moved_(std::move(moved)), func_(func), keeps_effects_(keeps_effects) {
    for (Name m : moved_) {
      for (Name arg : c.program.find(m)->args) marks_.insert(mark_name(m, arg));
    }
  }
  using IRMutator::mutate;
  using IRMutator::visit;
  Expr mutate(const Expr &e) override { return e; }

  Stmt visit(const LetStmt *op) override {
    Stmt body = mutate(op->body);
    if (!(keeps_effects_ && !is_pure(op->value)) && (is_no_op(body) || !uses_var(body, op->name)))
      return body;
    return make_let_stmt(op->name, op->value, body);
  }
  Stmt visit(const For *op) override {
    Stmt body = mutate(op->body);
    return is_no_op(body) ? body : make_for(op->name, op->min, op->extent, op->for_type, body);
  }
  Stmt visit(const Realize *op) override {
    Stmt body = mutate(op->body);
    if (!Uses(body).mentions(op->name)) return body;
    return make_realize(op->name, op->types, op->memory_type, op->bounds, op->condition, body);
  }
  Stmt visit(const Allocate *op) override {
    ScopedBinding<int> own(own_, op->name, 0);
    Stmt body = mutate(op->body);
    if (!Uses(body).mentions(op->name)) return body;
    return make_allocate(op->name, op->type, op->memory_type, op->extents, op->condition, body);
  }
  Stmt visit(const IfThenElse *op) override {
    Stmt t = mutate(op->then_case), e = op->else_case.defined() ? mutate(op->else_case) : Stmt();
    if (e.defined() && is_no_op(e)) e = Stmt();
    if (is_no_op(t) && !e.defined()) return t;
    return make_if(op->condition, t, e);
  }

protected:
  bool is_own(Name memory) const { return own_.contains(memory); }
  bool is_moved_mark(Name memory) const { return marks_.count(memory) > 0; }
  Expr state() const { return make_var(func_ + ".async.state", Handle()); }
  Stmt post(int what) const {
    return make_evaluate(make_extern_call(Int(32), "calo_async_post", {state(), c32(what)}, false));
  }
  Stmt wait(int what, const Stmt &then) const {
    const Name code = func_ + (what == 0 ? ".async.ready" : ".async.free");
    const Expr stopped =
        make_intrinsic(Int(32), Intrinsic::error, {make_string("calo_error_stopped")});
    return make_let_stmt(code,
                         make_extern_call(Int(32), "calo_async_wait", {state(), c32(what)}, false),
                         make_block(make_assert(make_eq(make_var(code), c32(0)), stopped), then));
  }

  const Names moved_;  // the async Func, and those that go with it
  const Name func_;

private:
  const bool keeps_effects_;  // of what is bound to names that nothing uses
  Names marks_;
  Scope<int> own_;  // memory that each side has for itself
};

class ProducerSide final : public Side {
public:
  ProducerSide(const LoopContext &c, Name func, const Names &moved, SrcLoc loc)
      : Side(c, func, moved, false), loc_(loc) {}
  using Side::visit;

  Stmt visit(const ProducerConsumer *op) override {
    if (!op->is_producer || !moved_.count(op->name)) return mutate(op->body);
    const Stmt produce = make_producer(op->name, op->body);
    return op->name == func_ ? wait(1, make_block(produce, post(0))) : produce;
  }
  Stmt visit(const For *op) override {
    if (op->for_type != ForType::Concurrent) return Side::visit(op);
    const IfThenElse *sides = op->body.as<IfThenElse>();  // of another async Func
    const bool first = places(sides->then_case, func_) > 0;
    if (first && places(sides->else_case, func_) > 0) {
      raise(Diagnostic("S0137", loc_, func_ + " is produced on both sides of another async Func")
                .because("one thread produces what several loops compute in turn")
                .fix("leave async of one of them away"));
    }
    return mutate(first ? sides->then_case : sides->else_case);
  }
  Stmt visit(const Block *op) override {
    Stmt first = mutate(op->first), rest = mutate(op->rest);
    return is_no_op(first) ? rest : is_no_op(rest) ? first : make_block(first, rest);
  }
  Stmt visit(const Store *op) override {
    return is_own(op->name) || is_moved_mark(op->name) ? Stmt(op) : make_no_op();
  }
  Stmt visit(const Provide *) override { return make_no_op(); }
  Stmt visit(const Atomic *) override { return make_no_op(); }
  Stmt visit(const AssertStmt *) override { return make_no_op(); }
  Stmt visit(const Evaluate *) override { return make_no_op(); }

private:
  SrcLoc loc_;
};

class ConsumerSide final : public Side {
public:
  ConsumerSide(const LoopContext &c, Name func, const Names &moved) : Side(c, func, moved, true) {}
  using Side::visit;

  Stmt visit(const Block *op) override {
    std::vector<Stmt> all = flat(Stmt(op));
    size_t at = 0;
    while (at < all.size() && !as_produce(all[at], func_)) at++;
    std::vector<Stmt> before, after;
    for (size_t i = 0; i < all.size(); i++) {
      if (i == at) continue;
      (i < at ? before : after).push_back(mutate(all[i]));
    }
    if (at < all.size()) before.push_back(consume(make_block(after)));
    return make_block(before);
  }
  Stmt visit(const ProducerConsumer *op) override {
    if (op->is_producer && op->name == func_) return consume(make_no_op());
    if (op->is_producer && moved_.count(op->name)) return make_no_op();
    Stmt body = mutate(op->body);
    return is_no_op(body)    ? body
           : op->is_producer ? make_producer(op->name, body)
                             : make_consumer(op->name, body);
  }
  Stmt visit(const For *op) override {
    if (op->for_type == ForType::Concurrent) return Side::visit(op);
    loops_++;
    Stmt s = Side::visit(op);
    loops_--;
    return s;
  }
  Stmt visit(const Store *op) override {
    return is_moved_mark(op->name) && !is_own(op->name) ? make_no_op() : Stmt(op);
  }

private:
  static std::vector<Stmt> flat(const Stmt &s) {
    std::vector<Stmt> all;
    const std::function<void(const Stmt &)> add = [&](const Stmt &x) {
      Stmt at = x;
      while (const Block *b = at.as<Block>()) {
        add(b->first);
        at = b->rest;
      }
      all.push_back(at);
    };
    add(s);
    return all;
  }

  // `rest` reads what was produced once more.
  Stmt consume(const Stmt &rest) const {
    if (loops_ > 0) return wait(0, make_block(rest, post(1)));
    return reads(rest, func_) ? wait_late(rest) : rest;
  }

  // Waits before the first statement that reads it, so that what does not read it runs meanwhile.
  Stmt wait_late(const Stmt &s) const {
    if (const Block *b = s.as<Block>()) {
      return reads(b->first, func_) ? make_block(wait_late(b->first), b->rest)
                                    : make_block(b->first, wait_late(b->rest));
    }
    if (const LetStmt *op = s.as<LetStmt>()) {
      if (!Uses(op->value).read.count(func_))
        return make_let_stmt(op->name, op->value, wait_late(op->body));
    }
    if (const Realize *op = s.as<Realize>()) {
      return make_realize(op->name, op->types, op->memory_type, op->bounds, op->condition,
                          wait_late(op->body));
    }
    if (const Allocate *op = s.as<Allocate>()) {
      return make_allocate(op->name, op->type, op->memory_type, op->extents, op->condition,
                           wait_late(op->body));
    }
    if (const ProducerConsumer *op = s.as<ProducerConsumer>()) {
      Stmt body = wait_late(op->body);
      return op->is_producer ? make_producer(op->name, body) : make_consumer(op->name, body);
    }
    if (const For *op = s.as<For>()) {
      const IfThenElse *sides = op->body.as<IfThenElse>();
      if (op->for_type == ForType::Concurrent &&
          reads(sides->then_case, func_) != reads(sides->else_case, func_)) {
        const bool first = reads(sides->then_case, func_);
        Stmt body =
            make_if(sides->condition, first ? wait_late(sides->then_case) : sides->then_case,
                    first ? sides->else_case : wait_late(sides->else_case));
        return make_for(op->name, op->min, op->extent, op->for_type, body);
      }
    }
    return wait(0, s);
  }

  int loops_ = 0;
};

// The async Func, and those that its production reads and that these loops produce beside it.
Names moved_with(Name func, const Stmt &body) {
  std::unordered_map<Name, Names> reads_of;
  for_each_stmt(body, [&](const Stmt &s) {
    const ProducerConsumer *p = s.as<ProducerConsumer>();
    if (!p || !p->is_producer) return;
    const Uses uses(p->body);
    Names outer;  // what it produces itself it need not be given
    for (Name n : uses.read) {
      if (!uses.produced.count(n) && n != p->name) outer.insert(n);
    }
    reads_of[p->name].insert(outer.begin(), outer.end());
  });
  Names moved{func};
  std::vector<Name> work{func};
  while (!work.empty()) {
    const Name at = work.back();
    work.pop_back();
    for (Name n : reads_of[at]) {
      if (reads_of.count(n) && moved.insert(n).second) work.push_back(n);
    }
  }
  return moved;
}

}  // namespace

Stmt fork_async(const LoopContext &c, const Function &f, const Stmt &body, int32_t ahead) {
  const SrcLoc loc = c.state.of(f.name).async_loc;
  const int found = places(body, f.name);
  if (found == 0) return body;  // nothing here reads it
  const Names moved = moved_with(f.name, body);
  const Stmt produce = ProducerSide(c, f.name, moved, loc).mutate(body);
  const Stmt consume = ConsumerSide(c, f.name, moved).mutate(body);
  const Uses consumed(consume);
  for (Name m : moved) {
    if (m == f.name || !consumed.read.count(m)) continue;
    raise(Diagnostic("S0137", loc, f.name + " cannot be produced beside its readers")
              .because("it reads " + m + ", which the same loop computes and its readers read too")
              .fix("compute " + m + " outside of that loop, or leave async away"));
  }
  const Name name = f.name + ".async";
  const Expr state = make_var(name + ".state", Handle());
  Stmt s = make_for(name, c32(0), c32(2), ForType::Concurrent,
                    make_if(make_eq(make_var(name), c32(0)), produce, consume));
  const Expr begin =
      make_extern_call(Int(32), "calo_async_begin", {state, c32(found > 1 ? 1 : ahead)}, false);
  constexpr int kWords = 16;  // calo_async_words
  return make_allocate(name + ".state", UInt(64), MemoryType::Stack, {c32(kWords)}, {},
                       make_block(make_evaluate(begin), s));
}

}  // namespace calotype::lower
