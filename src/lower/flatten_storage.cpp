// Multi-dimensional access becomes linear: index = sum of (arg - min) * stride. Dimension order in memory is the
// schedule's storage order, the first dense. Tuples become one allocation per element; all values of a Tuple are
// computed before any is stored.
#include <utility>
#include "../analysis/simplify.h"

#include "../base/diagnostic.h"
#include "../ir/visit.h"
#include "passes.h"

namespace calotype::lower {

using analysis::simplify;
using namespace ir;

namespace {

Expr c32(int64_t v) { return make_int(Int(32), v); }

class Flattener final : public IRMutator {
public:
  explicit Flattener(const PassContext &cx) : cx_(cx) {}
  using IRMutator::visit;

  Stmt visit(const Realize *op) override {
    const schedule::FuncState &fs = cx_.state->of(op->name);
    const Function &f = *cx_.program.find(op->name);
    size_t n = op->bounds.size();
    std::vector<size_t> order(n);
    for (size_t i = 0; i < n; i++) order[i] = i;
    if (fs.storage_order.size() == n) {
      for (size_t i = 0; i < n; i++) {
        for (size_t d = 0; d < n; d++) {
          if (f.args[d] == fs.storage_order[i]) order[i] = d;
        }
      }
    }
    Layout layout;
    layout.mins.resize(n);
    layout.strides.resize(n);
    layout.extents.resize(n);
    std::vector<Expr> extents;
    std::vector<std::pair<Name, Expr>> lets;
    Expr stride = c32(1);
    for (size_t d : order) {
      layout.mins[d] = op->bounds[d].min;
      layout.strides[d] = stride;
      Expr extent = aligned(fs, f.args[d], simplify(op->bounds[d].extent));
      layout.extents[d] = simplify(op->bounds[d].extent);
      extents.push_back(extent);
      stride = simplify(make_mul(stride, extent));
      if (!as_const_int(stride)) {
        Name name = op->name + ".stride." + std::to_string(d) + ".next";
        lets.emplace_back(name, stride);
        stride = make_var(name);
      }
    }
    layouts_.push(op->name, layout);
    Stmt body = mutate(op->body);
    layouts_.pop(op->name);
    for (size_t i = op->types.size(); i-- > 0;) {
      body = make_allocate(element_name(op->name, i, op->types.size()), op->types[i],
                           op->memory_type, extents, op->condition, body);
    }
    for (size_t i = lets.size(); i-- > 0;)
      body = make_let_stmt(lets[i].first, lets[i].second, body);
    return body;
  }

  Stmt visit(const Provide *op) override {
    std::vector<Expr> args, values;
    for (const Expr &a : op->args) args.push_back(mutate(a));
    for (const Expr &v : op->values) values.push_back(mutate(v));
    size_t n = values.size();
    if (n > 1 && atomic_ && atomic_->shared) return separately(op, args, values);
    std::vector<Stmt> stores;
    for (size_t i = 0; i < n; i++) {
      if (as_intrinsic(values[i], Intrinsic::undef)) continue;
      Name name = element_name(op->name, i, n);
      Expr value =
          n > 1 ? make_var(op->name + ".value." + std::to_string(i), values[i].type()) : values[i];
      stores.push_back(make_store(name, value, index(op->name, name, args), op->predicate,
                                  param_of(op->name, i)));
    }
    Stmt s = make_block(stores);
    if (n > 1) {
      for (size_t i = n; i-- > 0;)
        s = make_let_stmt(op->name + ".value." + std::to_string(i), values[i], s);
    }
    return s;
  }

  Stmt visit(const Atomic *op) override {
    const Atomic *outer = atomic_;
    atomic_ = op;
    Stmt body = mutate(op->body);
    atomic_ = outer;
    return separate_.defined() ? std::exchange(separate_, {})
                               : make_atomic(op->name, op->stage, op->shared, body);
  }

  Expr visit(const Call *op) override {
    if (op->op == Intrinsic::buffer_make) return buffer(op);
    if (op->op == Intrinsic::prefetch) {
      const Expr read = mutate(op->args[0]);
      const Load *l = read.as<Load>();
      const Type t = l->type;
      return make_intrinsic(
          Int(32), Intrinsic::prefetch,
          {make_var(l->name, Handle()), l->index, c32(t.code() | t.bits() << 8 | 1 << 16)});
    }
    if (op->call_type != CallType::Halide && op->call_type != CallType::Image)
      return IRMutator::visit(op);
    std::vector<Expr> args;
    for (const Expr &a : op->args) args.push_back(mutate(a));
    if (op->call_type == CallType::Image) {
      return make_load(op->type, op->name, index({}, op->name, args), {}, op->param);
    }
    const Function &f = *cx_.program.find(op->name);
    Name name = element_name(op->name, op->value_index, f.types.size());
    return make_load(op->type, name, index(op->name, name, args), {},
                     param_of(op->name, op->value_index));
  }

private:
  // Values that are combined each by itself, by whole threads: one atomic update each.
  Stmt separately(const Provide *op, const std::vector<Expr> &args,
                  const std::vector<Expr> &values) {
    std::vector<Stmt> stores;
    for (size_t i = 0; i < values.size(); i++) {
      Name name = element_name(op->name, i, values.size());
      Stmt store = make_store(name, values[i], index(op->name, name, args), op->predicate,
                              param_of(op->name, i));
      stores.push_back(make_atomic(atomic_->name, atomic_->stage, true, store));
    }
    return separate_ = make_block(stores);
  }

  struct Layout {
    std::vector<Expr> mins, strides, extents;
  };

  // align_storage pads a dimension, so that the next one's stride is a multiple.
  static Expr aligned(const schedule::FuncState &fs, Name dim, const Expr &extent) {
    for (const schedule::StorageDim &s : fs.storage) {
      if (s.var != dim || !s.align.defined()) continue;
      Expr up = make_sub(make_add(extent, s.align), c32(1));
      return simplify(make_mul(make_div(up, s.align), s.align));
    }
    return extent;
  }

  // (func, value index, min, extent ...) becomes (memory, offset, packed type, min, extent, stride ...).
  Expr buffer(const Call *op) {
    const std::string func = op->args[0].as<StringImm>()->value;
    if (func.empty()) return IRMutator::visit(op);
    const Function &f = *cx_.program.find(func);
    const size_t i = static_cast<size_t>(*as_const_int(op->args[1]));
    const Name name = element_name(func, i, f.types.size());
    const Layout *layout = layouts_.find(func);
    const size_t n = static_cast<size_t>(f.dimensions());
    const bool whole = op->args.size() == 2 && n > 0;
    if (whole && !layout) return make_var(name + ".buffer", Handle());
    std::vector<Expr> mins, dims;
    for (size_t d = 0; d < n; d++) {
      Expr min = whole ? layout->mins[d] : mutate(op->args[2 + 2 * d]);
      Expr extent = whole ? layout->extents[d] : mutate(op->args[3 + 2 * d]);
      Expr stride = layout ? layout->strides[d] : make_var(name + ".stride." + std::to_string(d));
      mins.push_back(min);
      dims.insert(dims.end(), {min, extent, stride});
    }
    const Type t = f.types[i];
    std::vector<Expr> args{make_var(name, Handle()), index(func, name, mins),
                           c32(t.code() | t.bits() << 8 | 1 << 16)};
    args.insert(args.end(), dims.begin(), dims.end());
    return make_intrinsic(Handle(), Intrinsic::buffer_make, args);
  }

  static Name element_name(Name func, size_t i, size_t n) {
    return n > 1 ? Name(func + "." + std::to_string(i)) : func;
  }

  // Outputs are parameters: their memory belongs to the caller.
  ParameterRef param_of(Name func, size_t i) const {
    if (layouts_.contains(func)) return {};
    const Function *f = cx_.program.find(func);
    return f && i < f->outputs.size() ? f->outputs[i] : ParameterRef();
  }

  Expr index(Name func, Name buffer, const std::vector<Expr> &args) const {
    const Layout *layout = func.empty() ? nullptr : layouts_.find(func);
    Expr result;
    for (size_t d = 0; d < args.size(); d++) {
      Expr min = layout ? layout->mins[d] : make_var(buffer + ".min." + std::to_string(d));
      Expr stride = layout ? layout->strides[d] : make_var(buffer + ".stride." + std::to_string(d));
      Expr term = make_mul(make_sub(make_cast(Int(32), args[d]), min), stride);
      result = result.defined() ? make_add(result, term) : term;
    }
    return result.defined() ? result : c32(0);
  }

  const PassContext &cx_;
  const Atomic *atomic_ = nullptr;  ///< around
  Stmt separate_;                   ///< what stands in its place
  Scope<Layout> layouts_;
};

}  // namespace

Stmt flatten_storage(const Stmt &s, PassContext &cx) { return Flattener(cx).mutate(s); }

}  // namespace calotype::lower
